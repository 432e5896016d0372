"""What native probes cost: to plant, to keep in memory, to hit, and once everything reached has been hit.

    python -m tools.bench.native APIS.txt [--library torch] [--calls 3] [--rounds 10] [--order 2]

In this process, which is a worker without its driver. Slow-down: the same calls, judged with probes on everything that
they do not reach and without any probe, by turns whose order alternates; each call's fastest run counts.
Stability: everything that was hit is armed again and the same call run; how much of the union both runs reach.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import tempfile
import time
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from evo_nabla.call import Call
from evo_nabla.coverage.cache import Cache
from evo_nabla.coverage.nativemap import NativeMap
from evo_nabla.executor import NativeModule
from evo_nabla.target import backends
from evo_nabla.target.observers import Observers
from evo_nabla.target.observers.native import HARNESS, NativeObserver
from evo_nabla.target.oracle.judge import JudgeOptions, judge
from tools.bench.sample import read_apis, spread

_REPEATS = 4  # of all calls in a turn; the first meets code that was just rewritten
_HOOKS = 20_000  # times that the observer's own calls are timed


class _Bench:
    """The library, its probes and some calls."""

    def __init__(self, library: str, order: int, cache: Path) -> None:
        self._backend = backends.load(library)
        self._options = JudgeOptions(order=order, seconds=float("inf"))
        self._map = NativeMap(cache=Cache(cache))
        self._observers = Observers(["native"], self._backend.package_folders, [])
        observer = self._observers.find("native")
        if not isinstance(observer, NativeObserver):
            raise SystemExit(f"native code cannot be observed: {self._observers.missing}")
        self.observer = observer
        self._modules = [NativeModule(m.name, m.path, m.build_id, m.bias) for m in observer.modules]

    def plan(self) -> dict[str, Path]:
        """The map's list of what no call has reached."""
        return self._map.plan(self._modules)

    def plant(self, plan: dict[str, Path]) -> int:
        """Plant a list; how many probes."""
        return sum(self.observer.plant({"name": name, "file": str(path)}) for name, path in plan.items())

    def judge(self, call: Call) -> tuple[float, set[str]]:
        """Seconds of one call, and its hits outside the harness."""
        self._observers.begin()
        started = time.perf_counter()
        judge(self._backend, call, self._options)
        seconds = time.perf_counter() - started
        modes = self._observers.drain().get("native", {})
        self._backend.reset()
        return seconds, {hit for mode, hits in modes.items() for hit in hits if mode != HARNESS}

    def learn(self, call: Call) -> int:
        """Run a call until it reaches nothing new; how many functions and blocks it had reached."""
        reached = 0
        for _ in range(8):
            _, hits = self.judge(call)
            if not hits:
                break
            _, plant = self._map.translate(self._modules, {"direct": sorted(hits)})
            for name, offsets in plant.items():
                self.observer.plant({"name": name, "offsets": offsets})
            reached += len(hits)
        return reached

    def seconds(self, calls: list[Call]) -> list[float]:
        """CPU seconds of each call, garbage collection kept out."""
        gc.collect()
        gc.disable()
        spent = []
        for call in calls:
            started = time.process_time()
            self.judge(call)
            spent.append(time.process_time() - started)
        gc.enable()
        return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("apis", type=Path)
    parser.add_argument("--library", default="torch")
    parser.add_argument("--calls", type=int, default=3, help="seeds an API")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--order", type=int, default=2)
    given = parser.parse_args()
    calls = [call for some in spread(given.library, read_apis(given.apis), given.calls).values() for call in some]
    with tempfile.TemporaryDirectory() as cache:
        bench = _Bench(given.library, given.order, Path(cache))
        for call in calls:
            bench.judge(call)  # what the library imports on first use is not to be measured
        _planting(bench)
        _hitting(bench, calls)
        _stability(bench, calls)
        _steady_state(bench, calls, given.rounds)
        bench.observer.stop()


def _planting(bench: _Bench) -> None:
    started = time.perf_counter()
    plan = bench.plan()
    planned = time.perf_counter() - started
    before = psutil.Process().memory_info().rss
    started = time.perf_counter()
    count = bench.plant(plan)
    planted = time.perf_counter() - started
    added = (psutil.Process().memory_info().rss - before) / 2**20
    print(
        f"{count:,} functions: map read in {planned:.2f} s (nothing cached), planted in {planted:.2f} s, {added:.0f} MB"
    )


def _hitting(bench: _Bench, calls: list[Call]) -> None:
    started = time.perf_counter()
    reached = sum(bench.learn(call) for call in calls)
    print(f"{len(calls)} calls reached {reached:,} functions and blocks in {time.perf_counter() - started:.1f} s")
    costs = []
    for call in calls:
        bench.observer.rearm()
        first, hits = bench.judge(call)
        again = min(bench.judge(call)[0] for _ in range(3))
        if len(hits) > 1000:
            costs.append(1e6 * (first - again) / len(hits))
    if costs:
        print(f"a first hit costs {statistics.median(costs):.1f} µs")


def _steady_state(bench: _Bench, calls: list[Call], rounds: int) -> None:
    probe = bench.observer
    plan = bench.plan()
    fastest = {planted: [float("inf")] * len(calls) for planted in (True, False)}
    for number in range(rounds):
        for planted in (True, False) if number % 2 else (False, True):
            if planted:
                bench.plant(plan)
                probe.rearm()
            else:
                probe.remove()
            for _ in range(_REPEATS):
                for index, seconds in enumerate(bench.seconds(calls)):
                    fastest[planted][index] = min(fastest[planted][index], seconds)
    ratios = [on / off - 1 for on, off in zip(fastest[True], fastest[False], strict=True)]
    total = sum(fastest[True]) / sum(fastest[False]) - 1
    print(f"slow-down with probes planted: {total:+.2%} in all, {statistics.median(ratios):+.2%} for the median call")
    started = time.perf_counter()
    for _ in range(_HOOKS):
        probe.enter("reverse")
        probe.resume()
        probe.pause()
    hook = (time.perf_counter() - started) / _HOOKS
    started = time.perf_counter()
    for _ in range(_HOOKS):
        probe.begin()
        probe.drain()
    drained = (time.perf_counter() - started) / _HOOKS
    print(f"the observer's own work: {1e6 * hook:.2f} µs a mode, {1e6 * drained:.2f} µs a call")


def _stability(bench: _Bench, calls: list[Call]) -> None:
    shares = []
    unstable: set[str] = set()
    for call in calls:
        runs = []
        for _ in range(2):
            bench.observer.rearm()
            runs.append(bench.judge(call)[1])
        if runs[0] | runs[1]:
            shares.append(len(runs[0] & runs[1]) / len(runs[0] | runs[1]))
            unstable |= runs[0] ^ runs[1]
    print(f"stability of the same call run again: mean {statistics.mean(shares):.2%}, least {min(shares):.2%}")
    print(f"unstable: {len(unstable)} functions and blocks, such as {sorted(unstable)[:5]}")


if __name__ == "__main__":
    main()
