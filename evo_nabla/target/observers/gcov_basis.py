"""Tells whether counters can say anything new.

GCC counts only some of a function's arcs; gcov derives the others by addition and subtraction. So counts that are a
linear combination of earlier ones lead to arcs that those led to as well, and need not be given to gcov: a loop that
runs once more, a call made twice as often. A counter that becomes 1 for the first time is no such test: with one for a
function and one for its `else`, the `then` is first taken when neither is new. No function can ask for gcov more often
than it has counters.
"""

from __future__ import annotations

from typing import List, Tuple

import numpy as np

_PRIME = 2**31 - 1  # arithmetic modulo a prime is exact in 64 bits, and wrong for one combination in 2**31


class Basis:
    """The span of the counts of one function that have been seen."""

    def __init__(self) -> None:
        self._rows: List[Tuple[int, np.ndarray]] = []

    def extend(self, counts: np.ndarray) -> bool:
        """Add counts to the span; whether they were not in it."""
        rest = counts % _PRIME
        for pivot, row in self._rows:
            if rest[pivot]:
                rest = (rest - rest[pivot] * row) % _PRIME
        places = np.flatnonzero(rest)
        if not len(places):
            return False
        pivot = int(places[0])
        self._rows.append((pivot, rest * pow(int(rest[pivot]), _PRIME - 2, _PRIME) % _PRIME))
        return True
