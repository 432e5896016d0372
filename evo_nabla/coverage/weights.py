"""What a new feature of each kind counts for in the fitness."""

from __future__ import annotations

from typing import Final

# docs/experiments.md has the comparison that these come from. A function brings its blocks along, so it need not count
# for more than one of them; a differentiation rule is what an AD fuzzer is after, and there are few.
WEIGHTS: Final[dict[str, float]] = {"block": 1.0, "function": 1.0, "line": 1.0, "rule": 10.0}


def weight_of(kind: str) -> float:
    """The weight of one new feature; kinds not listed count as one."""
    return WEIGHTS.get(kind, 1.0)
