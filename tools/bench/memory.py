"""How a worker's memory grows with the calls it has judged.

    python -m tools.bench.memory APIS.txt [--library torch] [--calls 100000]

Prints the resident size after every tenth of the calls, and the growth from one tenth to the end. Calls are the
seeds of the given APIs over and over, order 2, coverage observed.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path

from evo_nabla.executor import Limits, Worker, WorkerSettings
from tools.bench.sample import read_apis, spread

_BATCH = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("apis", type=Path)
    parser.add_argument("--library", default="torch")
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--seeds", type=int, default=40, help="seeds an API")
    given = parser.parse_args()
    settings = WorkerSettings(
        python=Path(sys.executable), library=given.library, observers=("line",), order=2, limits=Limits(), seed=0
    )
    pool = [call for calls in spread(given.library, read_apis(given.apis), given.seeds).values() for call in calls]
    stream = itertools.cycle(pool)
    sizes = []
    with Worker(settings) as worker:
        for done in range(_BATCH, given.calls + 1, _BATCH):
            worker.run(list(itertools.islice(stream, _BATCH)))
            if done % (given.calls // 10) == 0:
                sizes.append(worker.memory_mb())
                print(f"{done:8} calls  {sizes[-1]:8.1f} MB  {worker.restarts} restarts", flush=True)
    print(f"growth from {given.calls // 10} to {given.calls} calls: {sizes[-1] / sizes[0] - 1:+.1%}")


if __name__ == "__main__":
    main()
