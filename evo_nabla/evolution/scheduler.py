"""The API scheduler: every API once, then a bandit that spends time where it earned features per second."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

# The prior of an API's rate of discovery: one event a second, believed as much as half a second's work.
PRIOR_EVENTS = 0.5
PRIOR_SECONDS = 0.5
# How much of an API's past counts after each visit. What an API yields falls with every visit (its code is used up), so
# that what it earned long ago says little: with 0.9 the last ten visits count.
MEMORY = 0.9
# Draws renewed at each decision, in turn: drawing thousands anew would cost more than the calls they schedule.
RENEWED = 64
# Below this many seconds a visit was not timed.
SHORTEST = 1e-4


class Scheduler:
    """Thompson sampling over Poisson rates.

    The events of a visit (log2 of 1 + its novelty, so that one flood of features is not a lasting promise) are taken to
    come at an unknown rate per second of that API; with a Gamma(a, b) prior the posterior is Gamma(a + events, b +
    seconds). The API with the highest draw is chosen; draws are renewed when a posterior changes, and in turn.
    Sources: Thompson, Biometrika 25, 1933; Chapelle and Li, "An empirical evaluation of Thompson sampling", NIPS 2011.
    Rewards that fall with every pull make this the rested rotting bandit of Levine, Crammer and Mannor, "Rotting
    bandits", NIPS 2017; it is met by forgetting on every pull (the discounted Thompson sampling of Raj and Kalyani,
    arXiv 1707.09727, forgets with time).
    """

    def __init__(self, apis: Sequence[str]) -> None:
        if not apis:
            raise ValueError("a scheduler needs at least one API")
        self.apis = tuple(apis)
        self._index = {api: i for i, api in enumerate(self.apis)}
        self._visits = [0] * len(self.apis)
        self._events = [0.0] * len(self.apis)
        self._seconds = [0.0] * len(self.apis)
        self._draws = [0.0] * len(self.apis)
        self._first = 0
        self._cursor = 0

    def next(self) -> str:
        """The API to visit: those never visited first, in order, then by the draw."""
        while self._first < len(self.apis) and self._visits[self._first]:
            self._first += 1
        chosen = self._first if self._first < len(self.apis) else self._best()
        self._visits[chosen] += 1
        # Renewed even before its reward is known, so that a second worker is not sent after the same lucky draw.
        self._draw(chosen)
        return self.apis[chosen]

    def reward(self, api: str, novelty: float, seconds: float) -> None:
        """What a visit earned (weighted new features) and cost (seconds); also of an API that was not asked for."""
        if api not in self._index:
            raise ValueError(f"{api} is not among the scheduled APIs")
        i = self._index[api]
        self._visits[i] = max(1, self._visits[i])
        self._events[i] = MEMORY * self._events[i] + math.log2(1.0 + max(0.0, novelty))
        self._seconds[i] = MEMORY * self._seconds[i] + max(SHORTEST, seconds)
        self._draw(i)

    def visits(self, api: str) -> int:
        """How often this API was chosen or rewarded."""
        return self._visits[self._index[api]]

    def rate(self, api: str) -> float:
        """The expected events per second of this API."""
        i = self._index[api]
        return (self._events[i] + PRIOR_EVENTS) / (self._seconds[i] + PRIOR_SECONDS)

    def state(self) -> dict[str, Any]:
        """{"apis": {api: [visits, events, seconds, draw]}, "cursor"}, of visited APIs."""
        rows = zip(self.apis, self._visits, self._events, self._seconds, self._draws, strict=True)
        return {"apis": {api: list(row) for api, *row in rows if row[0]}, "cursor": self._cursor}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a `state`; APIs that it does not know are new, those that are scheduled no more are forgotten."""
        self._first = 0
        self._cursor = int(state["cursor"]) % len(self.apis)
        for api, row in state["apis"].items():
            if api in self._index:
                i = self._index[api]
                self._visits[i], self._events[i] = int(row[0]), float(row[1])
                self._seconds[i], self._draws[i] = float(row[2]), float(row[3])

    def _best(self) -> int:
        for _ in range(min(RENEWED, len(self.apis))):
            self._draw(self._cursor)
            self._cursor = (self._cursor + 1) % len(self.apis)
        return self._draws.index(max(self._draws))

    def _draw(self, i: int) -> None:
        shape, scale = self._events[i] + PRIOR_EVENTS, 1.0 / (self._seconds[i] + PRIOR_SECONDS)
        self._draws[i] = random.gammavariate(shape, scale)
