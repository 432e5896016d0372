"""The two objectives of a call: what is still to be learned around it, and how far its modes disagree."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from deap import base

# A discrepancy of 1 is a finding. Below a millionth of the allowed error there is rounding noise, no slope to climb.
SMALLEST_DISCREPANCY = 1e-6
FINDING = 1.0
NOTHING_TO_CLIMB = math.log10(SMALLEST_DISCREPANCY)


class Fitness(base.Fitness):  # type: ignore[misc]
    """DEAP's fitness with two objectives to maximise: (curiosity, discrepancy)."""

    weights = (1.0, 1.0)


def climbed(discrepancy: float) -> float:
    """The second objective: log10 of a discrepancy, between -6 and 0.

    Only disagreement below the threshold of a finding is a slope. A call that is a finding already has nothing left
    to climb: as a crashing input of a classical fuzzer it leaves the queue, or every parent would soon be a variation
    of one bug. Non-finite or negative numbers (no comparison was made) are at the bottom too.
    """
    if not math.isfinite(discrepancy) or discrepancy <= SMALLEST_DISCREPANCY or discrepancy >= FINDING:
        return NOTHING_TO_CLIMB
    return math.log10(discrepancy)


def curiosity(rarity: float, discovered: float, fruitless: int) -> float:
    """The first objective: the entropy, in nats, of what calls in the neighbourhood of an entry have shown.

    The local species are the features the entry and its offspring hit, each an incidence of one weighted by its
    rarity, and one abundant species, "nothing new", seen once for each fruitless offspring. With k = rarity +
    discovered and n = fruitless, S = k + n + 1, the maximum-likelihood entropy is

        H = log S - (n + 1) log(n + 1) / S,

    which for a newborn is log(1 + novelty) and falls to 0 as its offspring bring nothing. Source: Böhme, Manès, Cha,
    "Boosting Fuzzer Efficiency: An Information Theoretic Perspective", ESEC/FSE 2020, section 3. Their add-one
    smoothing over the features not seen locally is left out: a worker reports only what is new to it, so that the
    incidence of an old feature is unknown, and smoothing would rank an entry lower for having found more.
    """
    local = max(0.0, rarity + discovered)
    total = local + fruitless + 1
    return math.log(total) - (fruitless + 1) * math.log(fruitless + 1) / total


class FeatureStatistics:
    """How many calls of the corpus hit each feature of one API."""

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        self._counts: dict[str, int] = dict(counts or {})

    def add(self, features: Iterable[str]) -> None:
        for feature in features:
            self._counts[feature] = self._counts.get(feature, 0) + 1

    def discard(self, features: Iterable[str]) -> None:
        """Take back one call's hits, when it leaves the population."""
        for feature in features:
            count = self._counts.get(feature, 0)
            if count > 1:
                self._counts[feature] = count - 1
            else:
                self._counts.pop(feature, None)

    def count(self, feature: str) -> int:
        return self._counts.get(feature, 0)

    def rarity(self, features: Iterable[str]) -> float:
        """Σ 1 / (number of calls that hit it): a feature of one call alone counts 1, an abundant one nearly nothing."""
        counts = self._counts
        return math.fsum(1.0 / max(1, counts.get(feature, 1)) for feature in features)

    def __len__(self) -> int:
        return len(self._counts)
