"""How many calls a second one worker judges, API by API, and how much of that time is the library's own.

    python -m tools.bench.throughput APIS.txt [--library torch] [--python PATH] [--calls 20] [--observe/--no-observe]

The full check of a call: direct twice, reverse, forward, numerical with error bar, order 2 in all modes; coverage
observed. One process, one core. Calls are counted per CPU second of the worker process, as the figures of other
fuzzers are; the shares are of wall seconds inside the worker.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

import psutil

from evo_nabla.executor import Limits, Worker, WorkerSettings
from tools.bench.sample import read_apis, spread


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("apis", type=Path)
    parser.add_argument("--library", default="torch")
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--calls", type=int, default=20, help="seeds an API")
    parser.add_argument("--rounds", type=int, default=2, help="the first warms up and is not counted")
    parser.add_argument("--observe", action=argparse.BooleanOptionalAction, default=True)
    given = parser.parse_args()
    settings = WorkerSettings(
        python=given.python,
        library=given.library,
        observers=("line",) if given.observe else (),
        order=2,
        limits=Limits(),
        seed=0,
    )
    calls = spread(given.library, read_apis(given.apis), given.calls)
    totals: list[float] = []
    libraries, differentiated, spent = 0.0, 0, 0.0
    print(f"{'API':42} calls  CPU ms/call  library  compared  verdicts")
    with Worker(settings) as worker:
        for api, seeds in calls.items():
            for _ in range(given.rounds - 1):
                worker.run(seeds)
            before = _cpu_seconds(worker)
            reports = worker.run(seeds)
            cpu = _cpu_seconds(worker) - before
            spent += cpu
            seconds = [report.seconds.total for report in reports]
            own = sum(report.seconds.library for report in reports)
            compared = sum(report.differentiated for report in reports)
            verdicts = {word: sum(r.verdict == word for r in reports) for word in ("agree", "inconclusive", "finding")}
            mean = 1000 * cpu / max(len(seconds), 1)
            share = own / max(sum(seconds), 1e-9)
            print(f"{api:42} {len(seeds):5} {mean:12.2f}  {share:6.0%}  {compared:8}  {verdicts}")
            totals += seconds
            libraries += own
            differentiated += bool(compared)
    wall = sum(totals)
    print(
        f"\n{len(totals)} calls, {len(totals) / spent:.0f} per CPU second, {len(totals) / wall:.0f} per wall second, "
        f"median call {1000 * statistics.median(totals):.1f} ms; "
        f"outside the library's own modes {1 - libraries / wall:.0%}; "
        f"APIs with gradients compared: {differentiated} of {len(calls)}; slowest call {max(totals):.2f} s"
    )


def _cpu_seconds(worker: Worker) -> float:
    """User and system seconds that the worker process has used."""
    times = psutil.Process(worker.pid).cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    main()
