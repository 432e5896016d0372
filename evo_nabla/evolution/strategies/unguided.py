"""What strategies without feedback share: seeds first, then one variation of a random seed after the other, counted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from evo_nabla.call import Call
from evo_nabla.evolution.anatomy import Anatomy
from evo_nabla.evolution.contents import elements
from evo_nabla.evolution.context import MAX_ELEMENTS
from evo_nabla.evolution.feedback import SEED, Evaluated, Offspring
from evo_nabla.evolution.ledger import Ledger
from evo_nabla.evolution.randomness import pick
from evo_nabla.evolution.surgery import repaired

ATTEMPTS = 12


class UnguidedStrategy(ABC):
    """Learns nothing but which seeds were run; its yields are counted for people only."""

    name: str

    def __init__(self, seeds: Mapping[str, Sequence[Call]]) -> None:
        self._ledgers = {api: Ledger(calls) for api, calls in seeds.items() if calls}
        self._changed: dict[str, None] = {}
        self._counts: dict[str, list[float]] = {}

    @abstractmethod
    def vary(self, seed: Call) -> tuple[Call, tuple[str, ...]]:
        """A new call made from a seed, and the operators that made it."""

    @property
    def apis(self) -> tuple[str, ...]:
        return tuple(self._ledgers)

    def pending(self, api: str) -> int:
        return self._ledger(api).pending

    def propose(self, api: str, count: int) -> list[Offspring]:
        ledger = self._ledger(api)
        batch = ledger.take_seeds(count)
        for _ in range(ATTEMPTS * (count - len(batch))):
            if len(batch) >= count:
                break
            call, operators = self.vary(pick(ledger.seeds))
            if not _bounded(call):
                continue
            offspring = Offspring(repaired(call), operators)
            if ledger.admit(offspring.hash):
                batch.append(offspring)
        self._changed[api] = None
        return batch

    def learn(self, api: str, results: Sequence[Evaluated]) -> None:
        self._ledger(api).note(results)
        self._changed[api] = None
        for result in results:
            for operator in result.offspring.operators:
                if operator != SEED:
                    self._count(operator, result)

    def yields(self) -> list[dict[str, Any]]:
        total = sum(row[0] for row in self._counts.values())
        return [
            {
                "operator": name,
                "applied": int(applied),
                "valid": int(valid),
                "fruitful": int(fruitful),
                "novelty": novelty,
                "climbed": 0,
                "probability": applied / total,
            }
            for name, (applied, valid, fruitful, novelty) in sorted(self._counts.items())
        ]

    def state(self) -> dict[str, Any]:
        self._changed.clear()
        apis = {api: ledger.state() for api, ledger in self._ledgers.items()}
        return {"shared": {"counts": self._copied_counts()}, "apis": apis}

    def changes(self) -> dict[str, Any]:
        apis = {api: self._ledgers[api].state() for api in self._changed}
        self._changed.clear()
        return {"shared": {"counts": self._copied_counts()}, "apis": apis}

    def restore(self, state: dict[str, Any]) -> None:
        self._counts = {name: list(row) for name, row in state["shared"]["counts"].items()}
        for api, ledger_state in state["apis"].items():
            if api in self._ledgers:
                self._ledgers[api].restore(ledger_state)
        self._changed.clear()

    def _count(self, operator: str, result: Evaluated) -> None:
        row = self._counts.setdefault(operator, [0, 0, 0, 0.0])
        feedback = result.feedback
        for i, amount in enumerate((1, feedback.valid, feedback.novelty > 0, feedback.novelty)):
            row[i] += amount

    def _copied_counts(self) -> dict[str, list[float]]:
        return {name: list(row) for name, row in self._counts.items()}

    def _ledger(self, api: str) -> Ledger:
        try:
            return self._ledgers[api]
        except KeyError:
            raise ValueError(f"{api} has no seeds to start from") from None


def _bounded(call: Call) -> bool:
    return all(elements(tensor.shape) <= MAX_ELEMENTS for _, tensor in Anatomy(call).tensors)
