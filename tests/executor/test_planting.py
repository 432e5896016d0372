"""Workers observe the library's native code: blocks belong to the call that reached them, nothing is planted twice."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evo_nabla.call import Call, call_from_json
from evo_nabla.coverage.cache import Cache
from evo_nabla.coverage.nativemap import NativeMap
from evo_nabla.executor import Limits, Pool, Report, Worker, WorkerSettings
from evo_nabla.executor.planting import NativeModule, merged, with_features
from evo_nabla.target.observers import native

BLOCKING = Path(__file__).with_name("blocking_path")
TENSOR = {"tensor": {"shape": [2, 2], "dtype": "float64", "values": [1.0, 2.0, 0.5, 0.25]}}


def call(api: str, *args: object) -> Call:
    return call_from_json({"api": api, "args": list(args) or [TENSOR]})


def test_offsets_and_features_are_merged_once_and_in_order() -> None:
    assert merged([{"a": [3, 1]}, {}, {"a": [1, 2], "b": [7]}]) == {"a": [1, 2, 3], "b": [7]}
    report = Report("ok", "agree", features={"line": {"direct": ("x",)}, "block": {"direct": ("1",)}})
    report = with_features(report, {"block": {"direct": ["2"], "reverse": ["3"]}})
    assert report.features == {"line": {"direct": ("x",)}, "block": {"direct": ("1", "2"), "reverse": ("3",)}}
    assert with_features(report, {"block": {"fr": ["1", "3"]}}).features == report.features


def test_a_module_is_read_with_its_place() -> None:
    document = {"name": "libx.so", "path": "/libx.so", "build_id": "ab", "bias": 4096}
    assert NativeModule.from_json(document) == NativeModule("libx.so", "/libx.so", "ab", 4096)
    with pytest.raises(ValueError, match=r"^module\.bias: a whole number expected, not str$"):
        NativeModule.from_json({**document, "bias": "no"})


@pytest.fixture(scope="module")
def settings() -> WorkerSettings:
    if sys.platform != "linux" or platform.machine() != "x86_64":
        pytest.skip("probes are for Linux on x86-64")
    if not Path(native.__file__).with_name("_probe.abi3.so").exists():
        pytest.skip("the probe extension was not built: no C compiler at install")
    limits = Limits(seconds=30.0)
    return WorkerSettings(
        Path(sys.executable), "torch", paths=(BLOCKING,), observers=("native",), order=1, limits=limits
    )


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    return Cache(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def the_map(cache: Cache) -> Iterator[NativeMap]:
    with NativeMap(cache=cache) as made:
        yield made


@pytest.fixture(scope="module")
def worker(settings: WorkerSettings, the_map: NativeMap) -> Iterator[Worker]:
    with Worker(settings, the_map) as started:
        yield started


def names(report: Report, *kinds: str) -> set[str]:
    return {name for kind, name, mode in report.reached() if kind in kinds and mode != native.HARNESS}


@pytest.mark.slow
def test_a_call_is_told_its_functions_blocks_and_rules_once(worker: Worker, the_map: NativeMap) -> None:
    assert worker.info.observers == ("native",)
    assert "libtorch_cpu.so" in {module.name for module in worker.info.native}
    first, again = worker.run([call("torch.erf"), call("torch.erf")])
    assert (first.verdict, again.verdict) == ("agree", "agree")
    assert "native" not in first.features
    assert first.features["rule"] == {"reverse": ("ErfBackward0", *first.features["rule"]["reverse"][1:])}
    assert len(names(first, "block")) > 300
    assert not names(again, "function", "rule")
    assert len(names(again, "block")) < 0.02 * len(names(first, "block"))
    described = {the_map.describe(name).area for name in names(first, "function")}
    assert {"at::native", "torch::autograd", "c10::impl"} <= described


@pytest.mark.slow
def test_what_the_same_call_does_not_reach_again_is_unstable(worker: Worker, the_map: NativeMap) -> None:
    report, stable = worker.run([call("blocking.another_each_time"), call("torch.special.log_ndtr")])
    unstable = {the_map.describe(name).function for name in report.unstable}
    assert any("airy_ai" in function for function in unstable)
    assert not any("log_ndtr_kernel" in function for function in unstable)
    assert not any("airy_ai" in the_map.describe(name).function for name in names(stable, "function", "block"))
    # Probes that were taken away are not hit by whoever comes next.
    (later,) = worker.run([call("torch.special.airy_ai")])
    kernels = {the_map.describe(name).function for name in names(later, "function")}
    assert not any("airy_ai_kernel" in function for function in kernels)


@pytest.mark.slow
def test_a_worker_that_starts_later_does_not_plant_what_was_seen(
    settings: WorkerSettings, worker: Worker, the_map: NativeMap
) -> None:
    worker.run([call("torch.i0")])
    news = []
    for _ in range(2):
        with Pool(settings, 1, the_map) as pool:
            (report,) = pool.submit([call("torch.i0")]).result()
        assert report.verdict == "agree"
        assert not names(report, "function", "rule")
        news.append(len(names(report, "block")))
    # What a process runs only once, before the first worker's functions had their blocks planted, comes up once more.
    assert news[0] < 400
    assert news[1] < 40


@pytest.mark.slow
def test_a_crash_under_probes_alone_is_no_finding(worker: Worker) -> None:
    restarts = worker.restarts
    before, report, after = worker.run([call("torch.sin"), call("blocking.block_and_compute"), call("torch.sin")])
    assert worker.restarts == restarts + 1
    assert (report.status, report.verdict, report.findings) == ("crashed", "inconclusive", ())
    assert report.crash is not None
    assert (report.crash.signal, report.crash.confirmed) == ("SIGTRAP", False)
    assert "in a fresh worker: ok agree" in report.reason
    assert (before.verdict, after.verdict) == ("agree", "agree")
    assert not names(after, "function")


@pytest.mark.slow
def test_the_same_call_in_two_fresh_workers_reaches_the_same(settings: WorkerSettings, cache: Cache) -> None:
    runs = []
    for _ in range(2):
        with NativeMap(cache=cache) as fresh, Worker(replace(settings, paths=()), fresh) as worker:
            (report,) = worker.run([call("torch.linalg.det")])
            runs.append(names(report, "function", "block", "rule"))
    assert len(runs[0] & runs[1]) >= 0.95 * len(runs[0] | runs[1])


@pytest.mark.slow
def test_without_a_planter_nothing_is_planted(settings: WorkerSettings) -> None:
    with Worker(settings) as worker:
        (report,) = worker.run([call("torch.erf")])
    assert (report.verdict, report.features) == ("agree", {})
