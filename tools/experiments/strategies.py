"""Compares strategies: native blocks beyond what the seeds reach, for the same number of calls, several seeds each.

    python -m tools.experiments.strategies APIS.txt --calls 6000 --trials 5 --jobs 2 --folder DIR
    python -m tools.experiments.strategies APIS.txt ... --weights rule=10 rule=1 rule=10,function=5

With --weights the strategy is evo, and what is compared are weights of new features in the fitness.

Every trial is a campaign of one worker, kept in its folder; a trial that is there already is not run again. What the
seeds reach is one more measurement, of every seed run once. A feature's number of calls is that of the generation that
reached it.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from scipy.stats import mannwhitneyu
from sqlalchemy import select
from sqlalchemy.orm import Session

from evo_nabla.campaign.campaign import STORE_NAME
from evo_nabla.campaign.visits import BATCH
from evo_nabla.corpus.seeds import bundled_seeds
from evo_nabla.corpus.store import Store, sqlite_url
from evo_nabla.corpus.tables import Feature
from evo_nabla.coverage.measurement import Measurement, load, save
from evo_nabla.coverage.nativemap import NativeMap
from evo_nabla.executor import Worker, WorkerSettings
from tools.bench.sample import read_apis

KINDS = ("block", "function", "rule", "line")
# Findings are not confirmed: that takes half of a machine, and changes no call.
_PROGRAM = (
    "import sys; from evo_nabla.coverage.weights import WEIGHTS; WEIGHTS.update({weights}); "
    "from evo_nabla.campaign.campaign import Campaign; "
    "Campaign._confirm = Campaign._confirm_rest = lambda *_: None; "
    "from evo_nabla.cli import main; sys.argv[0] = 'evo-nabla'; main()"
)
Seen = dict[str, frozenset[str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("apis", type=Path)
    parser.add_argument("--library", default="torch")
    parser.add_argument("--calls", type=int, default=6000)
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--strategies", default="evo,freefuzz")
    parser.add_argument("--weights", nargs="*", default=[], metavar="KIND=WEIGHT,...")
    given = parser.parse_args()
    apis = read_apis(given.apis)
    given.folder.mkdir(parents=True, exist_ok=True)
    seeds = _seeds_reach(given.library, apis, given.folder / "seeds.json.gz")
    print("seeds alone: " + ", ".join(f"{len(seeds[kind])} {kind}" for kind in KINDS if kind in seeds), flush=True)
    names = [f"evo:{weights}" for weights in given.weights] or given.strategies.split(",")
    jobs = [(strategy, trial) for trial in range(1, given.trials + 1) for strategy in names]
    with ThreadPoolExecutor(given.jobs) as pool:
        list(pool.map(lambda job: _trial(given.library, apis, given.calls, given.folder, *job), jobs))
    curves = {
        name: [_curves(_place(given.folder, name, trial), seeds) for trial in range(1, given.trials + 1)]
        for name in names
    }
    for kind in KINDS:
        _compare(kind, {name: [curve[kind] for curve in own] for name, own in curves.items()}, given.calls)


def _seeds_reach(library: str, apis: list[str], path: Path) -> Seen:
    """What every seed of the APIs reaches, run once, unmutated."""
    if not path.exists():
        bundled = bundled_seeds(library)
        features: dict[str, set[str]] = {}
        settings = WorkerSettings(python=Path(sys.executable), library=library, observers=("line", "native"))
        with NativeMap() as native, Worker(settings, native) as worker:
            for api in apis:
                for report in worker.run(list(bundled.calls(api))):
                    for kind, name, _ in report.reached():
                        features.setdefault(kind, set()).add(name)
            version = worker.info.version
        frozen = {kind: frozenset(names) for kind, names in features.items()}
        save(Measurement("seeds", library, (version,), (), frozen, {}, ""), path)
    return dict(load(path).features)


def _place(folder: Path, strategy: str, trial: int) -> Path:
    return folder / f"{strategy}-{trial}"


def _trial(library: str, apis: list[str], calls: int, folder: Path, strategy: str, trial: int) -> None:
    """Run one campaign, unless it was run to its end before."""
    place = _place(folder, strategy, trial)
    if (place / "done").exists():
        return
    strategy, _, weights = strategy.partition(":")
    changed = {kind: float(weight) for kind, _, weight in (pair.partition("=") for pair in weights.split(",")) if kind}
    command = [sys.executable, "-c", _PROGRAM.format(weights=changed)]
    command += ["fuzz", library, "--folder", str(place), "--strategy", strategy, "--seed", str(trial), "--workers", "1"]
    command += ["--budget", f"{calls}c", "--plain", "--fresh", *(word for api in apis for word in ("--apis", api))]
    with place.with_suffix(".log").open("w") as log:
        subprocess.run(command, stdout=log, stderr=log, check=True)
    (place / "done").touch()


def _curves(place: Path, seeds: Seen) -> dict[str, np.ndarray]:
    """By kind: at how many calls each feature beyond the seeds was reached, ascending."""
    reached: dict[str, list[int]] = {kind: [] for kind in KINDS}
    with Store(sqlite_url(place / STORE_NAME), create=False) as store, Session(store.engine) as session:
        for kind, name, generation in session.execute(select(Feature.kind, Feature.name, Feature.generation)):
            if kind in reached and name not in seeds.get(kind, frozenset()):
                reached[kind].append(generation * BATCH)
    return {kind: np.sort(np.array(calls)) for kind, calls in reached.items()}


def _compare(kind: str, trials: dict[str, list[np.ndarray]], calls: int) -> None:
    print(f"\n{kind}s beyond the seeds'")
    finals = {name: [len(curve) for curve in own] for name, own in trials.items()}
    for name, final in finals.items():
        print(f"  {name:10} median {statistics.median(final):8.0f}  trials {final}")
    first, *others = trials
    for other in others:
        a, b = finals[first], finals[other]
        gain = statistics.median(a) / max(statistics.median(b), 1) - 1
        goal = int(statistics.median(b))
        needed = [int(curve[goal - 1]) if 0 < goal <= len(curve) else calls for curve in trials[first]]
        share = statistics.median(needed) / calls
        wins = sum((x > y) + 0.5 * (x == y) for x in a for y in b) / (len(a) * len(b))
        p = mannwhitneyu(a, b, alternative="two-sided").pvalue
        print(
            f"  {first} against {other}: {gain:+.0%} in the median, A12 {wins:.2f}, p {p:.4f}; "
            f"calls to {other}'s median: {share:.0%} of {calls} (trials {needed})"
        )


if __name__ == "__main__":
    main()
