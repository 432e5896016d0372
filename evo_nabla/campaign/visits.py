"""Visits: what the next generation calls, first the seeds of every API in turn, then whom the scheduler names."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from evo_nabla.evolution.feedback import Offspring, Strategy
from evo_nabla.evolution.scheduler import Scheduler

# Calls in one generation: enough to make a message's cost small, few enough that a kill loses little.
BATCH = 32
# How many of them one visit to an API takes. What APIs have to give differs by orders of magnitude: short visits tell
# early which do, before most of a short campaign is spent on the others.
VISIT = 8
# How many seeds each API gets before the scheduler decides: one, so that all APIs are soon seen. The others are the
# first calls of the visits that it decides on, so that evolution begins within the first minutes.
SEED_ROUNDS = (1,)


class Visits:
    """Fills generations. `visits` says how often each API was visited when the campaign was last stopped."""

    def __init__(self, strategy: Strategy, scheduler: Scheduler, visits: Mapping[str, int]) -> None:
        self._strategy = strategy
        self._scheduler = scheduler
        self._waiting = deque(
            (api, count)
            for number, count in enumerate(SEED_ROUNDS)
            for api in strategy.apis
            if visits.get(api, 0) <= number and strategy.pending(api)
        )

    @property
    def phase(self) -> str:
        """What the campaign is doing, for people."""
        return "running seeds" if self._waiting else "evolving"

    def next_batch(self, limit: int) -> list[Offspring]:
        """At most `limit` calls; none when no API has a call to propose any more."""
        batch: list[Offspring] = []
        while self._waiting and len(batch) < limit:
            api, count = self._waiting.popleft()
            batch += self._strategy.propose(api, min(count, self._strategy.pending(api), limit - len(batch)))
        # An API can run dry while others do not: ask a few times before giving up.
        for _ in range(2 * len(self._strategy.apis) + limit // VISIT):
            if len(batch) >= limit:
                break
            api = self._scheduler.next()
            visit = self._strategy.propose(api, min(VISIT, limit - len(batch)))
            if not visit:
                self._scheduler.reward(api, 0.0, 0.0)
            batch += visit
        return batch
