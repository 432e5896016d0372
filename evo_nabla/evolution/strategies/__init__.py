"""The strategies by name: evo (ours), freefuzz and random (baselines), all made from seeds and signatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evo_nabla.call import Call
from evo_nabla.evolution.feedback import Strategy
from evo_nabla.evolution.signatures import Signatures

from .evo import EvoStrategy
from .freefuzz import FreeFuzzStrategy
from .random import RandomStrategy

STRATEGIES = ("evo", "freefuzz", "random")


def make_strategy(name: str, seeds: Mapping[str, Sequence[Call]], signatures: Signatures) -> Strategy:
    """A strategy over these seeds (API → calls, in order); signatures may lack APIs. ValueError for an unknown name."""
    if name == "evo":
        return EvoStrategy(seeds, signatures)
    if name == "freefuzz":
        return FreeFuzzStrategy(seeds, signatures)
    if name == "random":
        return RandomStrategy(seeds)
    raise ValueError(f"unknown strategy {name!r} (known: {', '.join(STRATEGIES)})")


__all__ = ["STRATEGIES", "EvoStrategy", "FreeFuzzStrategy", "RandomStrategy", "make_strategy"]
