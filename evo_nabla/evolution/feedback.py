"""What passes between a strategy and the campaign: offspring out, feedback in, and the protocol of a strategy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from evo_nabla.call import Call, call_hash

Json = Any
SEED = "seed"


@dataclass(frozen=True)
class Offspring:
    """A proposed call, the operators that made it (in the order applied) and the hashes of its parents."""

    call: Call
    operators: tuple[str, ...]
    parents: tuple[str, ...] = ()
    hash: str = field(default="")

    def __post_init__(self) -> None:
        if not self.hash:
            object.__setattr__(self, "hash", call_hash(self.call))

    @property
    def operator(self) -> str:
        """One name for all of them: "shape.rename+values.zero"."""
        return "+".join(self.operators)


@dataclass(frozen=True)
class Feedback:
    """What running one offspring showed, in numbers that know nothing of the library.

    novelty: weighted number of features nobody had seen before; discrepancy: the largest finite one, 0 where the
    verdict is inconclusive or nothing was compared; valid: the library accepted the call; differentiated: some
    gradient was compared; seconds: what the call cost; features: those the worker reported.
    """

    novelty: float = 0.0
    discrepancy: float = 0.0
    valid: bool = False
    differentiated: bool = False
    seconds: float = 0.0
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Evaluated:
    """One offspring with its feedback."""

    offspring: Offspring
    feedback: Feedback


@runtime_checkable
class Strategy(Protocol):
    """A way to make new calls. All randomness comes from the global `random`."""

    name: str

    @property
    def apis(self) -> tuple[str, ...]:
        """The APIs it can propose calls of, in a fixed order."""
        ...

    def pending(self, api: str) -> int:
        """How many seeds of this API are still to be proposed."""
        ...

    def propose(self, api: str, count: int) -> list[Offspring]:
        """At most `count` calls: seeds, each once and first of all one, and new calls, none proposed before as far as
        remembered."""
        ...

    def learn(self, api: str, results: Sequence[Evaluated]) -> None:
        """Take the feedback of proposed calls in."""
        ...

    def yields(self) -> list[dict[str, Json]]:
        """One row per operator, for people: applied, valid, fruitful, novelty, climbed, probability."""
        ...

    def state(self) -> Json:
        """Everything needed to go on, as plain JSON: {"shared": …, "apis": {api: …}}."""
        ...

    def changes(self) -> Json:
        """As `state`, with only the APIs that changed since the last `state` or `changes`: what a checkpoint writes."""
        ...

    def restore(self, state: Json) -> None:
        """Go on from a `state` (or merged `changes`); proposed seeds that were never learned are proposed again."""
        ...
