"""What each operator earned, counted, and the probabilities that follow from it: probability matching with a floor."""

from __future__ import annotations

import bisect
import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# Share of all draws that is spread evenly, so that no operator dies: with K operators each keeps at least FLOOR / K.
FLOOR = 0.25
# Weight of the newest credit in the running quality; 0.02 remembers about the last fifty applications.
ADAPTATION = 0.02
# A valid call is worth a little by itself: an operator that never makes one cannot find anything.
VALID_CREDIT = 0.05
DIFFERENTIATED_CREDIT = 0.05
# The start counts as so many credits: until an operator has many of its own, their mean is its quality.
FIRST_CREDITS = 4
# Optimistic start: everything is tried before it is judged.
FIRST_QUALITY = 1.0
# Qualities move slowly; recomputing the probabilities now and then costs nothing measurable.
REFRESH = 64


@dataclass
class Yield:
    """One operator's counts. `novelty` is the sum over its offspring, `climbed` how many rose in discrepancy."""

    applied: int = 0
    valid: int = 0
    fruitful: int = 0
    novelty: float = 0.0
    climbed: int = 0
    quality: float = FIRST_QUALITY


class Yields:
    """Credits operators and draws them.

    Probability matching (Goldberg 1990; in the form of Thierens, "An adaptive pursuit strategy for allocating operator
    probabilities", GECCO 2005): quality Q ← Q + α (credit - Q), and p_i = p_min + (1 - K p_min) Q_i / Σ Q.
    Matching and not pursuit: the best operator changes from API to API, so that the second best must stay likely.
    """

    def __init__(self, operators: Sequence[str]) -> None:
        self.operators = tuple(operators)
        self._yields = {name: Yield() for name in self.operators}
        self._cumulative: list[float] = []
        self._since_refresh = 0
        self._refresh()

    def draw(self) -> str:
        """An operator's name, by the present probabilities."""
        position = bisect.bisect_right(self._cumulative, random.random() * self._cumulative[-1])
        return self.operators[min(position, len(self.operators) - 1)]

    def credit(
        self, operators: Sequence[str], *, valid: bool, differentiated: bool, novelty: float, climb: float
    ) -> None:
        """Each operator that took part earns all of it: log2(1 + novelty), the climb, and a little for validity.

        novelty: weighted number of new features; climb: the rise of log10(discrepancy) over the parents', 1 at most.
        """
        earned = math.log2(1.0 + max(0.0, novelty)) + min(1.0, max(0.0, climb))
        earned += VALID_CREDIT * valid + DIFFERENTIATED_CREDIT * differentiated
        for name in operators:
            record = self._yields.get(name)
            if record is None:
                continue
            record.applied += 1
            record.valid += valid
            record.fruitful += novelty > 0
            record.novelty += novelty
            record.climbed += climb > 0
            record.quality += max(ADAPTATION, 1.0 / (FIRST_CREDITS + record.applied)) * (earned - record.quality)
        self._since_refresh += 1
        if self._since_refresh >= REFRESH:
            self._refresh()

    def probabilities(self) -> dict[str, float]:
        bounds = [0.0, *self._cumulative]
        return {name: bounds[i + 1] - bounds[i] for i, name in enumerate(self.operators)}

    def table(self) -> list[dict[str, Any]]:
        """One row per operator, most novelty first."""
        chances = self.probabilities()
        rows = [
            {
                "operator": name,
                "applied": record.applied,
                "valid": record.valid,
                "fruitful": record.fruitful,
                "novelty": record.novelty,
                "climbed": record.climbed,
                "probability": chances[name],
            }
            for name, record in self._yields.items()
        ]
        return sorted(rows, key=lambda row: (-float(row["novelty"]), str(row["operator"])))

    def state(self) -> dict[str, Any]:
        yields = {
            name: [record.applied, record.valid, record.fruitful, record.novelty, record.climbed, record.quality]
            for name, record in self._yields.items()
        }
        return {"yields": yields, "cumulative": list(self._cumulative), "since_refresh": self._since_refresh}

    def restore(self, state: dict[str, Any]) -> None:
        """Operators that the state does not know start afresh; those that exist no more are forgotten."""
        known = state["yields"]
        self._yields = {name: Yield(*known[name]) if name in known else Yield() for name in self.operators}
        if known.keys() == self._yields.keys():
            self._cumulative = [float(bound) for bound in state["cumulative"]]
            self._since_refresh = int(state["since_refresh"])
        else:
            self._refresh()

    def _refresh(self) -> None:
        count = len(self.operators)
        total = math.fsum(record.quality for record in self._yields.values())
        share = 1.0 - FLOOR
        chances = [FLOOR / count + share * (self._yields[name].quality / total) for name in self.operators]
        self._cumulative = list(itertools.accumulate(chances))
        self._since_refresh = 0
