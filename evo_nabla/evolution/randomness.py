"""The state of the global `random`, the only source of chance (DEAP draws from it too), as plain JSON."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, TypeVar

Item = TypeVar("Item")


def random_state() -> list[Any]:
    """[version, [625 integers], null | float], as `random.getstate` gives it."""
    version, numbers, gauss = random.getstate()
    return [version, list(numbers), gauss]


def restore_random_state(state: Any) -> None:
    """Put the global generator back. A state that `random` refuses is a ValueError that says so."""
    try:
        version, numbers, gauss = state
        random.setstate((version, tuple(numbers), gauss))
    except (TypeError, ValueError) as error:
        raise ValueError(f"not a state of the random generator: {error}") from error


def pick(items: Sequence[Item]) -> Item:
    """One of a non-empty sequence, uniformly; `random.choice` without its generality, half its cost."""
    return items[int(random.random() * len(items))]


def chance(probability: float) -> bool:
    return random.random() < probability
