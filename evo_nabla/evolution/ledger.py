"""What was proposed for one API: its seeds in their order, each once, and the calls that need not be made again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evo_nabla.call import Call, call_hash

from .feedback import SEED, Evaluated, Offspring

# Hashes remembered per API. Older ones are forgotten, and a repeated call then costs one run.
REMEMBERED = 512


class Ledger:
    """Seeds count as done when they were learned, so that those in flight when a campaign is killed are run again."""

    def __init__(self, seeds: Sequence[Call]) -> None:
        self.seeds = tuple(seeds)
        self._hashes: dict[int, str] = {}
        self._proposed = 0
        self._learned = 0
        self._seen: dict[int, None] = {}

    @property
    def pending(self) -> int:
        return len(self.seeds) - self._proposed

    def take_seeds(self, count: int) -> list[Offspring]:
        """The next seeds, at most `count`."""
        positions = range(self._proposed, min(len(self.seeds), self._proposed + count))
        taken = [Offspring(self.seeds[i], (SEED,), hash=self.hash_of(i)) for i in positions]
        self._proposed += len(taken)
        for offspring in taken:
            self.admit(offspring.hash)
        return taken

    def hash_of(self, position: int) -> str:
        """The hash of a seed, computed once."""
        if position not in self._hashes:
            self._hashes[position] = call_hash(self.seeds[position])
        return self._hashes[position]

    def admit(self, hash: str) -> bool:
        """Whether this call was not proposed before, as far as remembered; it is remembered from now on."""
        key = int(hash[:16], 16)
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > REMEMBERED:
            del self._seen[next(iter(self._seen))]
        return True

    def note(self, results: Sequence[Evaluated]) -> None:
        """Count the seeds among learned results."""
        self._learned += sum(result.offspring.operators == (SEED,) for result in results)

    def state(self) -> dict[str, Any]:
        return {"learned": self._learned, "seen": list(self._seen)}

    def restore(self, state: dict[str, Any]) -> None:
        self._learned = self._proposed = min(int(state["learned"]), len(self.seeds))
        self._seen = dict.fromkeys(state["seen"])
