"""The evolution on the real PyTorch: most of its mutants are accepted, gradients are compared, lines are found."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from evo_nabla.evolution.feedback import SEED, Evaluated, Feedback
from evo_nabla.evolution.scheduler import Scheduler
from evo_nabla.evolution.strategies import make_strategy
from evo_nabla.executor import Limits, Report, Worker, WorkerSettings

from .material import SEEDS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed"),
]


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    limits = Limits(seconds=20.0, memory_mb=3000)
    with Worker(WorkerSettings(Path(sys.executable), "torch", limits=limits)) as started:
        yield started


def feedback_of(report: Report, seen: set[str]) -> Feedback:
    features = tuple(f"{kind}:{name}" for kind, name, _ in report.reached())
    novelty = len(set(features) - seen)
    seen.update(features)
    judged = report.verdict != "inconclusive" and math.isfinite(report.discrepancy)
    discrepancy = report.discrepancy if judged else 0.0
    valid = report.status in ("ok", "unsupported")
    return Feedback(float(novelty), discrepancy, valid, report.differentiated, report.seconds.total, features)


def test_the_evolution_on_torch(worker: Worker) -> None:
    random.seed(1)
    signatures = worker.describe(list(SEEDS))
    assert all(signatures.values())
    strategy = make_strategy("evo", SEEDS, signatures)
    scheduler = Scheduler(strategy.apis)
    seen: set[str] = set()
    learned: list[Evaluated] = []
    after_seeds = 0
    while len(learned) < 400:
        api = scheduler.next()
        batch = strategy.propose(api, 8)
        reports = worker.run([child.call for child in batch])
        results = [Evaluated(child, feedback_of(report, seen)) for child, report in zip(batch, reports, strict=True)]
        strategy.learn(api, results)
        novelty = sum(result.feedback.novelty for result in results)
        scheduler.reward(api, novelty, sum(result.feedback.seconds for result in results))
        learned += results
        if not any(strategy.pending(api) for api in strategy.apis) and not after_seeds:
            after_seeds = len(seen)
    mutants = [result.feedback for result in learned if result.offspring.operators != (SEED,)]
    seeds = [result.feedback for result in learned if result.offspring.operators == (SEED,)]
    assert len(seeds) == sum(map(len, SEEDS.values()))
    assert all(feedback.valid for feedback in seeds)
    assert sum(feedback.valid for feedback in mutants) > 0.55 * len(mutants)
    assert sum(feedback.differentiated for feedback in mutants) > 0.4 * len(mutants)
    assert len(seen) > after_seeds > 0
