"""Features by source area: a C++ namespace for native code, a file for lines, the library for its rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from .nativemap import NATIVE, Named

LINE = "line"
GCOV = "gcov"  # lines and branches of what was built with --coverage


class Namer(Protocol):
    """Knows native code by name: `NativeMap`."""

    def describe(self, feature: str) -> Named:
        """A function or block in words; raises ValueError for what it does not know."""
        ...


class Row(NamedTuple):
    """One area of one kind: how many features of it."""

    kind: str
    area: str
    features: int


def area_of(kind: str, name: str, namer: Namer) -> str:
    """Where a feature belongs."""
    if kind in NATIVE:
        try:
            named = namer.describe(name)
        except ValueError:
            return name.rpartition(":")[0]
        return named.area or f"{named.library}: no namespace"
    if kind in (LINE, GCOV):
        return name.rpartition(":")[0]
    return "differentiation rules"


def by_area(features: Mapping[str, Iterable[str]], namer: Namer) -> list[Row]:
    """Counts by kind and area, kinds sorted, the largest areas first."""
    rows = []
    for kind, names in sorted(features.items()):
        counted = Counter(area_of(kind, name, namer) for name in names)
        rows += [Row(kind, area, count) for area, count in sorted(counted.items(), key=lambda row: (-row[1], row[0]))]
    return rows
