"""What a worker has investigated already, so that an API with a known fault is not investigated anew at every call."""

from __future__ import annotations

from typing import NamedTuple, Sequence

# A disagreement costs fifty times an agreement to explain. Two that ended as findings of one pattern (API, dtype,
# order, which modes differ) are enough: a third would have the signature of the first.
_ENOUGH = 2
# One that was explained (a kink, rounding) four times is investigated in one call of four from then on.
_FAMILIAR = 4
INVESTIGATED_SHARE = 4

Pattern = tuple[str, ...]


class Memory:
    """Counts of findings and of explanations by pattern, and of calls by API."""

    def __init__(self) -> None:
        self._visits: dict[str, int] = {}
        self._found: dict[Pattern, int] = {}
        self._explained: dict[Pattern, int] = {}

    def visit(self, api: str) -> None:
        """A call of the API is judged."""
        self._visits[api] = self._visits.get(api, 0) + 1

    def visits(self, api: str) -> int:
        """How many calls of the API were judged, the present one included."""
        return self._visits.get(api, 0)

    def verdict(self, pattern: Pattern, chosen: bool) -> str | None:
        """What is said of a disagreement without investigating it; None for one that must be. `chosen` calls have
        even a familiar disagreement investigated."""
        if self._found.get(pattern, 0) >= _ENOUGH:
            return "repeats a finding of this API"
        if self._explained.get(pattern, 0) >= _FAMILIAR and not chosen:
            return "repeats a disagreement that was explained"
        return None

    def note(self, pattern: Pattern, finding: bool) -> None:
        """A disagreement of this pattern was investigated, and was or was not a finding."""
        counts = self._found if finding else self._explained
        counts[pattern] = counts.get(pattern, 0) + 1


class Circumstances(NamedTuple):
    """What bears on the judgement of a call's numbers besides the numbers: a documented convention that excuses a
    difference, what is remembered of the API in this dtype (None: investigate everything), and whether this call is
    one of those that have even a familiar disagreement investigated."""

    excuse: str | None
    memory: Memory | None
    subject: tuple[str, str]
    chosen: bool

    def pattern(self, order: int, modes: Sequence[str]) -> Pattern:
        """The pattern of a disagreement between these modes."""
        return (*self.subject, str(order), *sorted(modes))

    def verdict(self, pattern: Pattern) -> str | None:
        """What is said of the disagreement without investigating it, if it need not be."""
        return None if self.memory is None else self.memory.verdict(pattern, self.chosen)

    def note(self, pattern: Pattern, finding: bool) -> None:
        """The disagreement was investigated."""
        if self.memory is not None:
            self.memory.note(pattern, finding)
