"""What a worker has investigated already, so that an API with a known fault is not investigated anew at every call."""

from __future__ import annotations

from typing import NamedTuple, Sequence

# A disagreement costs fifty times an agreement to explain. Two that ended as findings of one pattern (API, dtype,
# order, which modes differ) are enough: a third would have the signature of the first.
_ENOUGH = 2

Pattern = tuple[str, ...]


class Memory:
    """Counts of findings by pattern."""

    def __init__(self) -> None:
        self._counts: dict[Pattern, int] = {}

    def is_known(self, pattern: Pattern) -> bool:
        """Whether enough findings of this pattern were made."""
        return self._counts.get(pattern, 0) >= _ENOUGH

    def note(self, pattern: Pattern) -> None:
        """A finding of this pattern was made."""
        self._counts[pattern] = self._counts.get(pattern, 0) + 1


class Circumstances(NamedTuple):
    """What bears on the judgement of a call's numbers besides the numbers: a documented convention that excuses a
    difference, and what is remembered of the API in this dtype (None: investigate everything)."""

    excuse: str | None
    memory: Memory | None
    subject: tuple[str, str]

    def pattern(self, order: int, modes: Sequence[str]) -> Pattern:
        """The pattern of a disagreement between these modes."""
        return (*self.subject, str(order), *sorted(modes))

    def is_known(self, pattern: Pattern) -> bool:
        """Whether the disagreement need not be investigated."""
        return self.memory is not None and self.memory.is_known(pattern)

    def note(self, pattern: Pattern) -> None:
        """The disagreement turned out to be a finding."""
        if self.memory is not None:
            self.memory.note(pattern)
