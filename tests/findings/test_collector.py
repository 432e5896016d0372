"""The collector: known findings counted, new ones confirmed, shrunk, written, and remembered over sessions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from evo_nabla.call import Call, call_from_json
from evo_nabla.executor import Crash, Report, Worker
from evo_nabla.executor import Finding as Observation
from evo_nabla.findings import Budget, Case, Findings, Versions, read_finding, signatures_of
from evo_nabla.findings.collector import UNCONFIRMED
from evo_nabla.findings.confirm import Runner

from .conftest import bug, written

Factory = Callable[[], AbstractContextManager[Runner]]
VERSIONS = Versions("torch", "2.13.0", "3.11.7", "2.4.6", "Linux x86_64")
SMALL = Budget(runs=60, seconds=60.0)


def wrong(kind: str = "gradient", suspect: str = "reverse", message: str = "", order: int = 1) -> Report:
    return Report("ok", "finding", findings=(Observation(kind, suspect, order, 2.0, {}, message, {}),))


class Laboratory:
    """A runner whose calls show a bug as long as `judge` says so."""

    def __init__(self, judge: Callable[[Call], Report]) -> None:
        self.judge, self.started, self.open = judge, 0, 0

    def run(self, calls: Sequence[Call], *, thorough: bool = False) -> list[Report]:
        return [self.judge(call) for call in calls]

    @contextmanager
    def __call__(self) -> Iterator[Runner]:
        self.started += 1
        self.open += 1
        try:
            yield self
        finally:
            self.open -= 1


def call(dtype: str = "float64", api: str = "torch.some") -> Call:
    return call_from_json({"api": api, "args": [written([1.5, 2.5], dtype)]})


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_dir())


def finish(findings: Findings) -> list[Case]:
    ended = []
    while findings.pending:
        ended += findings.process(5.0)
    return ended


def test_two_real_bugs_become_two_folders(tmp_path: Path, worker: Worker, factory: Factory, versions: Versions) -> None:
    with Findings(tmp_path, factory, versions, budget=SMALL) as findings:
        for name in ("ldexp", "scatter_add", "ldexp"):
            (report,) = worker.run([bug(name)], thorough=True)
            (case,) = findings.consider(bug(name), report, {"operator": name})
            assert case.status == "new"
        assert findings.pending == 2 and names(tmp_path) == []
        ended = finish(findings)
    assert [case.status for case in ended] == ["confirmed", "confirmed"]
    assert [case.sightings for case in ended] == [2, 1]
    assert [case.folder for case in ended] == names(tmp_path)
    found = read_finding(tmp_path / ended[1].folder / "finding.json")
    assert found.original == bug("scatter_add") and found.provenance == {"operator": "scatter_add"}
    assert found.shrinking_runs > 0 and found.call != found.original


@pytest.fixture
def one_step(monkeypatch: pytest.MonkeyPatch) -> float:
    """So many seconds of work are one step of it."""
    ticks = iter(range(10**9))
    monkeypatch.setattr("evo_nabla.findings.collector.time", SimpleNamespace(monotonic=lambda: next(ticks)))
    return 1.5


def test_all_are_confirmed_before_any_is_shrunk_by_one_worker(tmp_path: Path, one_step: float) -> None:
    runs: list[str] = []

    def judge(call: Call) -> Report:
        runs.append(call.api)
        return wrong() if call.args else Report("ok", "agree")

    laboratory = Laboratory(judge)
    with Findings(tmp_path, laboratory, VERSIONS) as findings:
        for api in ("torch.a", "torch.b", "torch.c"):
            findings.consider(call(api=api), wrong(), {})
        for _ in range(3):
            assert findings.process(one_step) == []
        assert runs == ["torch.a"] * 2 + ["torch.b"] * 2 + ["torch.c"] * 2
        assert [case.status for case in findings.unshrunk] == ["confirmed"] * 3
        assert names(tmp_path) == []
        assert [case.signature.api for case in finish(findings)] == ["torch.a", "torch.b", "torch.c"]
        assert findings.unshrunk == []
    assert (laboratory.started, laboratory.open, len(names(tmp_path))) == (1, 0, 3)


def test_what_is_not_shrunk_when_the_worker_is_released_is_shrunk_later(tmp_path: Path, one_step: float) -> None:
    laboratory = Laboratory(lambda call: wrong())
    findings = Findings(tmp_path, laboratory, VERSIONS)
    findings.consider(call(), wrong(), {})
    findings.process(one_step)
    findings.close()
    assert (findings.pending, laboratory.open) == (1, 0)
    assert [case.status for case in findings.drain(30.0)] == ["confirmed"]
    assert (laboratory.started, laboratory.open) == (2, 0)


def test_an_agreement_is_no_finding(tmp_path: Path) -> None:
    findings = Findings(tmp_path, Laboratory(lambda call: wrong()), VERSIONS)
    assert findings.consider(call(), Report("ok", "agree"), {}) == [] and findings.pending == 0


def test_a_crash_that_its_worker_could_not_repeat_is_none(tmp_path: Path) -> None:
    findings = Findings(tmp_path, Laboratory(lambda call: wrong()), VERSIONS)
    crash = Crash("SIGSEGV", None, "", confirmed=False)
    report = Report("crashed", "finding", findings=wrong("crash").findings, crash=crash)
    assert findings.consider(call(), report, {}) == [] and findings.pending == 0


def test_what_is_not_confirmed_is_recorded_and_not_tried_again(tmp_path: Path) -> None:
    laboratory = Laboratory(lambda call: Report("ok", "agree"))
    with Findings(tmp_path, laboratory, VERSIONS) as findings:
        findings.consider(call(), wrong(), {})
        (case,) = finish(findings)
        assert case.status == "unconfirmed" and case.folder == "" and names(tmp_path) == []
    (line,) = (tmp_path / UNCONFIRMED).read_text().splitlines()
    assert json.loads(line)["seen"] == 0
    with Findings(tmp_path, laboratory, VERSIONS) as again:
        (case,) = again.consider(call(), wrong(), {})
        assert case.status == "unconfirmed" and again.pending == 0 and again.problems == []


def test_known_findings_are_remembered_and_counted(tmp_path: Path) -> None:
    laboratory = Laboratory(lambda call: wrong())
    with Findings(tmp_path, laboratory, VERSIONS) as findings:
        findings.consider(call(), wrong(), {})
        finish(findings)
    with Findings(tmp_path, laboratory, VERSIONS) as again:
        (case,) = again.consider(call(), wrong(), {})
        assert case.status == "confirmed" and again.pending == 0
    (name,) = names(tmp_path)
    assert read_finding(tmp_path / name / "finding.json").sightings == 2
    assert laboratory.started == 1 and laboratory.open == 0


def test_a_broken_finding_is_named_and_left_alone(tmp_path: Path) -> None:
    laboratory = Laboratory(lambda call: wrong())
    with Findings(tmp_path, laboratory, VERSIONS) as findings:
        findings.consider(call(), wrong(), {})
        finish(findings)
    (name,) = names(tmp_path)
    (tmp_path / name / "finding.json").write_text("{")
    (tmp_path / UNCONFIRMED).write_text('{"signature": 3}\n')
    again = Findings(tmp_path, laboratory, VERSIONS)
    assert [problem.partition(": ")[0] for problem in again.problems] == [f"{name}/finding.json", f"{UNCONFIRMED}:1"]
    assert (tmp_path / name / "finding.json").read_text() == "{"
    again.consider(call(), wrong(), {})
    finish(again)
    assert names(tmp_path)[0] == name and len(names(tmp_path)) == 2


def test_a_line_cut_short_by_a_kill_spoils_no_other(tmp_path: Path) -> None:
    (tmp_path / UNCONFIRMED).write_text('{"signa')
    laboratory = Laboratory(lambda call: Report("ok", "agree"))
    findings = Findings(tmp_path, laboratory, VERSIONS)
    findings.consider(call(), wrong(), {})
    finish(findings)
    again = Findings(tmp_path, laboratory, VERSIONS)
    assert len(again.problems) == 1 and [case.status for case in again.cases] == ["unconfirmed"]


def test_one_bug_in_two_dtypes_is_one_finding(tmp_path: Path) -> None:
    findings = Findings(tmp_path, Laboratory(lambda call: wrong()), VERSIONS)
    for dtype in ("float16", "float64", "float32"):
        findings.consider(call(dtype), wrong(), {})
    assert findings.pending == 3
    finish(findings)
    (case,) = {id(case): case for case in findings.cases}.values()
    assert len(names(tmp_path)) == 1 and case.sightings == 3
    assert findings.consider(call("float16"), wrong(), {}) == [case]
    findings.close()
    assert read_finding(tmp_path / case.folder / "finding.json").sightings == 4
    (restored,) = Findings(tmp_path, Laboratory(lambda call: wrong()), VERSIONS).consider(call("float32"), wrong(), {})
    assert restored.folder == case.folder


def test_a_fault_of_low_precision_stays_one(tmp_path: Path) -> None:
    def judge(call: Call) -> Report:
        return wrong() if signatures_of(call, wrong())[0].dtype_class == "half" else Report("ok", "agree")

    findings = Findings(tmp_path, Laboratory(judge), VERSIONS)
    findings.consider(call("float16"), wrong(), {})
    (case,) = finish(findings)
    assert case.finding is not None and case.signature.dtype_class == "half"
    assert "all modes of the same call agree" in case.finding.float64


def test_one_broken_api_does_not_flood(tmp_path: Path) -> None:
    findings = Findings(tmp_path, Laboratory(lambda call: Report("ok", "agree")), VERSIONS, cap=3)
    cases = [findings.consider(call(), wrong("status", message=f"m{'x' * i}"), {})[0] for i in range(10)]
    assert findings.pending == 4 and len({id(case) for case in cases}) == 4
    assert cases[3] is cases[9] and cases[3].signature.dtype_class == "any" and cases[3].sightings == 7
    findings.consider(call(api="torch.other"), wrong("status", message="m"), {})
    assert findings.pending == 5


def test_a_merged_finding_is_confirmed_by_any_bug_of_its_kind(tmp_path: Path) -> None:
    findings = Findings(tmp_path, Laboratory(lambda call: wrong("status", "forward", "other")), VERSIONS, cap=0)
    findings.consider(call(), wrong("status", message="m"), {})
    (case,) = finish(findings)
    assert case.status == "confirmed" and case.observation is not None and case.observation.suspect == "forward"


def test_what_an_earlier_session_left_is_taken_up(tmp_path: Path) -> None:
    (signature,) = signatures_of(call(), wrong())
    findings = Findings(tmp_path, Laboratory(lambda call: wrong()), VERSIONS)
    findings.resume(signature, call(), {"generation": 4}, "2026-01-02T03:04:05+00:00", 7)
    findings.resume(signature, call(), {}, "later", 1)
    assert findings.pending == 1
    (case,) = finish(findings)
    assert (case.first_seen, case.sightings) == ("2026-01-02T03:04:05+00:00", 7)


def test_a_worker_that_does_not_start_loses_no_finding(tmp_path: Path) -> None:
    def broken() -> AbstractContextManager[Runner]:
        raise OSError("no such interpreter")

    findings = Findings(tmp_path, broken, VERSIONS)
    findings.consider(call(), wrong(), {})
    with pytest.raises(OSError, match="interpreter"):
        findings.process(1.0)
    assert findings.pending == 1


def test_closing_in_the_middle_keeps_the_case_and_ends_the_worker(tmp_path: Path) -> None:
    def judge(call: Call) -> Report:
        raise KeyboardInterrupt

    laboratory = Laboratory(judge)
    findings = Findings(tmp_path, laboratory, VERSIONS)
    findings.consider(call(), wrong(), {})
    with pytest.raises(KeyboardInterrupt):
        findings.process(1.0)
    findings.close()
    assert findings.pending == 1 and laboratory.open == 0


def test_draining_ends_with_the_worker_released(tmp_path: Path) -> None:
    laboratory = Laboratory(lambda call: wrong())
    findings = Findings(tmp_path, laboratory, VERSIONS)
    findings.consider(call(), wrong(), {})
    assert [case.status for case in findings.drain(30.0)] == ["confirmed"]
    assert laboratory.open == 0 and findings.drain(0.0) == []
