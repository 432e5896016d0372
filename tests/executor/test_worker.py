"""Whatever a call does to its worker costs that one call; the rest of its batch is run and judged."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from evo_nabla.call import Call, call_from_json
from evo_nabla.executor import Limits, Pool, Report, Worker, WorkerAnswerError, WorkerSettings, WorkerStartError

from .conftest import HOSTILE

TENSOR = {"tensor": {"shape": [2], "dtype": "float64", "values": [1.0, 2.0]}}


def call(api: str, *args: object) -> Call:
    return call_from_json({"api": api, "args": list(args) or [TENSOR]})


def hostile(name: str) -> Call:
    return call(f"hostile.{name}")


def run_between_calm_ones(worker: Worker, name: str) -> Report:
    """The report of one hostile call in the middle of a batch, whose other reports must be right."""
    before, report, after = worker.run([hostile("calm"), hostile(name), hostile("calm")])
    for calm in (before, after):
        assert (calm.status, calm.verdict, calm.differentiated) == ("ok", "agree", True), calm
        assert calm.crash is None
    return report


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "signal_name", "exit_code"),
    [
        ("segfault", "SIGSEGV", None),
        ("abort", "SIGABRT", None),
        ("overflow_stack", "SIGSEGV", None),
        ("leave_at_once", "", 3),
    ],
)
def test_a_crash_is_blamed_on_its_call_and_confirmed(
    worker: Worker, name: str, signal_name: str, exit_code: int | None
) -> None:
    restarts = worker.restarts
    report = run_between_calm_ones(worker, name)
    assert worker.restarts == restarts + 1
    assert (report.status, report.verdict) == ("crashed", "finding")
    assert report.crash is not None
    assert (report.crash.signal, report.crash.exit_code, report.crash.confirmed) == (signal_name, exit_code, True)
    (finding,) = report.findings
    assert (finding.kind, finding.suspect) == ("crash", "direct")
    if signal_name:
        assert f"in {name}" in report.crash.stderr_tail or "hostile.py" in report.crash.stderr_tail


@pytest.mark.parametrize(
    ("name", "signal_name", "exit_code"),
    [("segfault", "SIGSEGV", None), ("leave_at_once", "", 3), ("close_everything", "", 1)],
)
def test_a_crash_apart_costs_no_restart(worker: Worker, name: str, signal_name: str, exit_code: int | None) -> None:
    pid = worker.pid
    before, report, after = worker.run_apart([hostile("calm"), hostile(name), hostile("calm")])
    assert [calm.verdict for calm in (before, after)] == ["agree", "agree"]
    assert worker.pid == pid
    assert (report.status, report.verdict) == ("crashed", "finding")
    assert report.crash is not None
    assert (report.crash.signal, report.crash.exit_code, report.crash.confirmed) == (signal_name, exit_code, True)
    if signal_name:
        assert f"in {name}" in report.crash.stderr_tail


def test_what_runs_apart_leaves_nothing_behind(worker: Worker) -> None:
    pid = worker.pid
    together = worker.run_apart([hostile("mark"), hostile("expect_no_mark")])
    assert [report.status for report in together] == ["ok", "rejected"]
    names = ("expect_no_mark", "spin", "bomb", "fork_and_return", "change_state", "expect_state", "calm")
    statuses = [worker.run_apart([hostile(name)])[0].status for name in names]
    assert statuses == ["ok", "ok", "rejected", "ok", "ok", "ok", "ok"]
    assert worker.pid == pid


@pytest.mark.slow
def test_a_call_that_hangs_apart_is_confirmed(settings: WorkerSettings) -> None:
    with Worker(replace(settings, limits=replace(settings.limits, seconds=4.0))) as worker:
        report, after = worker.run_apart([hostile("never_end"), hostile("calm")])
    assert (report.status, report.verdict, after.verdict) == ("hung", "finding", "agree")
    assert report.crash is not None
    assert report.crash.confirmed


@pytest.mark.slow
@pytest.mark.parametrize("name", ["close_everything", "garble"])
def test_a_lost_pipe_costs_the_call_that_lost_it(worker: Worker, name: str) -> None:
    report = run_between_calm_ones(worker, name)
    assert report.status == "crashed"
    assert report.crash is not None
    assert report.crash.signal == ""


@pytest.mark.slow
def test_an_endless_call_hangs_with_its_stack(settings: WorkerSettings) -> None:
    with Worker(replace(settings, limits=replace(settings.limits, seconds=4.0))) as worker:
        report = run_between_calm_ones(worker, "never_end")
    assert (report.status, report.verdict) == ("hung", "finding")
    assert report.findings[0].kind == "hang"
    assert report.crash is not None
    assert report.crash.confirmed
    assert "in never_end" in report.crash.stderr_tail


def test_a_memory_bomb_is_rejected(worker: Worker) -> None:
    report = run_between_calm_ones(worker, "bomb")
    assert (report.status, report.verdict) == ("rejected", "inconclusive")
    assert report.findings == ()


@pytest.mark.parametrize(
    "name", ["flood", "close_output", "set_alarm", "read_input", "fork_and_leave", "fork_and_return"]
)
def test_a_nuisance_costs_nothing(worker: Worker, name: str) -> None:
    restarts = worker.restarts
    report = run_between_calm_ones(worker, name)
    assert report.status == "ok"
    assert worker.restarts == restarts


@pytest.mark.parametrize("name", ["leave", "interrupt", "raise_outside"])
def test_exceptions_that_are_not_errors_are_refusals(worker: Worker, name: str) -> None:
    restarts = worker.restarts
    report = run_between_calm_ones(worker, name)
    assert (report.status, report.findings) == ("rejected", ())
    assert worker.restarts == restarts


def test_state_and_files_are_put_back(worker: Worker) -> None:
    reports = worker.run([hostile(name) for name in ("change_state", "write_here", "expect_state")])
    assert [report.status for report in reports] == ["ok", "ok", "ok"], reports


def test_threads_that_go_on_cost_a_restart_and_nothing_else(worker: Worker) -> None:
    restarts = worker.restarts
    report = run_between_calm_ones(worker, "spin")
    assert report.status == "ok"
    assert worker.restarts == restarts + 1


def test_nothing_outside_is_written_removed_reached_or_killed(worker: Worker) -> None:
    abi = int(worker.info.sandbox.rsplit(" ", 1)[1]) if worker.info.sandbox.startswith("landlock abi") else 0
    if abi < 1:
        pytest.skip(worker.info.sandbox)
    refused = ["write_outside", "remove_outside"]
    refused += ["connect"] if abi >= 4 else []
    refused += ["kill_driver"] if abi >= 6 else []
    for name, report in zip(refused, worker.run([hostile(name) for name in refused]), strict=True):
        assert report.status == "rejected", name
        assert "PermissionError" in report.reason, (name, report.reason)
    assert sorted(path.name for path in HOSTILE.iterdir()) == ["hostile.py"]


def test_denied_apis_and_objects_are_refused_with_the_reason(worker: Worker) -> None:
    calls = [
        call("torch.save"),
        call("torch.set_default_dtype", {"dtype": "float32"}),
        call("os.system", "true"),
        call("hostile.calm", {"ref": "os.system"}),
        call("hostile.calm", {"tuple": [{"ref": "torch.serialization.os.system"}]}),
        call("hostile.calm", {"new": "torch.utils.data.DataLoader", "args": []}),
        call("hostile.os.system", "true"),
    ]
    reports = worker.run(calls)
    assert {report.status for report in reports} == {"denied"}
    assert all(report.reason for report in reports)
    assert reports[0].reason == "torch.save: writes files"


def test_a_batch_may_be_longer_than_a_frame_takes(worker: Worker) -> None:
    reports = worker.run([call("torch.save")] * 600)
    assert len(reports) == 600
    assert worker.run([]) == []


def test_a_worker_describes_and_discovers(worker: Worker) -> None:
    signatures = worker.describe(["torch.nn.functional.gelu", "torch.nosuch"])
    assert signatures["torch.nosuch"] is None
    gelu = signatures["torch.nn.functional.gelu"]
    assert gelu is not None
    assert "approximate" in [parameter.name for parameter in gelu.parameters]
    assert "torch.nn.functional.gelu" in worker.discover()


def test_confirm_gives_the_same_verdict_without_features(worker: Worker) -> None:
    report = worker.confirm(hostile("calm"))
    assert (report.status, report.verdict, report.features) == ("ok", "agree", {})


def test_lines_are_attributed_to_the_call_that_reached_them_first(settings: WorkerSettings) -> None:
    with Worker(replace(settings, observers=("line",))) as worker:
        first, again, other = worker.run([hostile("calm"), hostile("calm"), hostile("write_here")])
    if "line" in worker.info.missing:
        pytest.skip(worker.info.missing["line"])
    source = (HOSTILE / "hostile.py").read_text().splitlines()
    calm = source.index("def calm(x):") + 2
    assert f"hostile.py:{calm}" in first.features["line"]["direct"]
    assert any(name.startswith("torch/autograd/") for name in first.features["line"]["reverse"])
    assert not any(name.startswith("hostile.py") for _, name, _ in again.reached())
    written = source.index("def write_here(x):") + 2
    assert {f"hostile.py:{line}" for line in range(written, written + 4)} <= set(other.features["line"]["direct"])


def test_the_folder_goes_with_the_worker(
    settings: WorkerSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Worker(settings) as worker:
        worker.run([hostile("write_here")])
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_pool_returns_reports_in_the_order_of_submission(settings: WorkerSettings) -> None:
    batches = [[hostile("calm")], [call("torch.save")], [hostile("calm"), call("torch.nosuch")]]
    with Pool(settings, 2) as pool:
        statuses = [[report.status for report in reports] for reports in pool.map(batches)]
        assert statuses == [["ok"], ["denied"], ["ok", "rejected"]]
        assert pool.memory_mb() > 50


def script(folder: Path, text: str) -> Path:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo 'No module named numpy' >&2; exit 1", "ended with exit status 1: No module named numpy"),
        ("exec sleep 60", "no end within 1 s"),
        ("exec head -c 1000000 /dev/zero >/dev/fd/$5", "without a kind|not JSON|did not start"),
    ],
)
def test_a_worker_that_does_not_start_says_why(
    settings: WorkerSettings, tmp_path: Path, text: str, message: str
) -> None:
    broken = replace(settings, python=script(tmp_path, text), limits=Limits(start_seconds=1.0))
    with pytest.raises(WorkerStartError, match=message):
        Worker(broken)


def test_a_missing_interpreter_or_library_is_named(settings: WorkerSettings, tmp_path: Path) -> None:
    with pytest.raises(WorkerStartError, match="--python"):
        Worker(replace(settings, python=tmp_path / "nowhere"))
    with pytest.raises(WorkerStartError, match="nosuch"):
        Worker(replace(settings, library="nosuch"))


DRIVER = """
import sys
from pathlib import Path
from evo_nabla.call import call_from_json
from evo_nabla.executor import Limits, Worker, WorkerSettings
settings = WorkerSettings(Path(sys.executable), "torch", (Path(sys.argv[1]),), (), limits=Limits(seconds=300.0))
worker = Worker(settings)
print(worker.pid, flush=True)
worker.run([call_from_json({"api": "hostile.never_end", "args": [1.5]})])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")
def test_a_worker_dies_with_its_driver_in_the_middle_of_a_call() -> None:
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", DRIVER, str(HOSTILE)], stdout=subprocess.PIPE, cwd=root) as driver:
        assert driver.stdout is not None
        worker = psutil.Process(int(driver.stdout.readline()))
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    deadline = time.monotonic() + 60
    while worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_questions_that_cannot_be_answered_are_errors(settings: WorkerSettings, worker: Worker) -> None:
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(WorkerAnswerError, match="SIGKILL"):
        worker.discover()
    assert worker.run([hostile("calm")])[0].status == "ok"
