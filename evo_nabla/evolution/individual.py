"""The individual of the evolution: a call with its fitness, its descent and what is known of its neighbourhood."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Optional

from evo_nabla.call import Call, call_from_json, canonical_text

from .anatomy import Anatomy
from .fitness import Fitness
from .mutators.refine import Step, step_from_json

# Of a call's features so many stand for all: a first seed can show thousands, later calls show a handful.
KEPT_FEATURES = 64


class Individual:
    """DEAP asks of an individual only its `fitness`.

    novelty: weighted number of features it was the first to show; discovered: the same summed over its offspring;
    fruitless: how many offspring showed nothing new; discrepancy: as the report gave it; trail: the numeric step that
    made it and raised the discrepancy; rarity: novelty, less what other calls show as well.
    """

    def __init__(
        self,
        call: Call,
        hash: str,
        *,
        operators: Sequence[str] = (),
        parents: Sequence[str] = (),
        features: Sequence[str] = (),
        novelty: float = 0.0,
        discrepancy: float = 0.0,
        trail: Optional[Step] = None,
    ) -> None:
        self.call = call
        self.hash = hash
        self.operators = tuple(operators)
        self.parents = tuple(parents)
        self.features = tuple(_sample(features))
        self.novelty = novelty
        self.rarity = novelty
        self.discrepancy = discrepancy
        self.trail = trail
        self.discovered = 0.0
        self.fruitless = 0
        self.fitness = Fitness()

    @cached_property
    def anatomy(self) -> Anatomy:
        return Anatomy(self.call)

    def release(self) -> None:
        """Forget the anatomy, made anew when needed: tens of thousands of individuals are no parents just now."""
        self.__dict__.pop("anatomy", None)

    @cached_property
    def _text(self) -> str:
        return canonical_text(self.call)

    def to_json(self) -> dict[str, Any]:
        """Its state as plain JSON; the call as its canonical text, which is small and made once."""
        return {
            "call": self._text,
            "hash": self.hash,
            "operators": list(self.operators),
            "parents": list(self.parents),
            "features": list(self.features),
            "novelty": self.novelty,
            "discrepancy": self.discrepancy,
            "trail": self.trail.to_json() if self.trail is not None else None,
            "discovered": self.discovered,
            "fruitless": self.fruitless,
        }


def individual_from_json(document: dict[str, Any]) -> Individual:
    """Read back what `to_json` wrote; its fitness is evaluated by whoever owns the population."""
    trail = document["trail"]
    individual = Individual(
        call_from_json(json.loads(document["call"])),
        document["hash"],
        operators=document["operators"],
        parents=document["parents"],
        features=document["features"],
        novelty=document["novelty"],
        discrepancy=document["discrepancy"],
        trail=step_from_json(trail) if trail is not None else None,
    )
    individual.discovered = document["discovered"]
    individual.fruitless = document["fruitless"]
    return individual


def _sample(features: Sequence[str]) -> Sequence[str]:
    """At most KEPT_FEATURES of them, evenly spaced."""
    stride = -(-len(features) // KEPT_FEATURES)
    return features[::stride] if stride > 1 else features
