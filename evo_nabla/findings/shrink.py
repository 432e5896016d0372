"""Makes the call of a finding as small and plain as it can be while it still shows the same bug."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from evo_nabla.call.call import Call
from evo_nabla.call.canonical import call_hash
from evo_nabla.call.errors import CallError
from evo_nabla.call.parse import call_from_json
from evo_nabla.call.serialise import call_to_json

from .complexity import complexity
from .confirm import Runner, showing
from .passes import PASSES
from .signature import Signature

BATCH = 8


@dataclass(frozen=True)
class Budget:
    """The most that shrinking one finding may cost; `hurried_seconds` while others wait: most is gained early."""

    runs: int = 200
    seconds: float = 15.0
    hurried_seconds: float = 4.0


DEFAULT_BUDGET = Budget()


@dataclass(frozen=True)
class Shrunk:
    """The smallest call found, how many calls were run for it, and whether nothing smaller was left to try."""

    call: Call
    runs: int
    complete: bool


class Shrinker:
    """Greedy passes over a call until none of them finds anything simpler, or the budget is spent.

    A candidate counts if it is simpler (`complexity`) and its report shows the signature, whatever the dtypes.
    Candidates are tried in a fixed order, so the same library gives the same result, as long as time does not cut
    it short.
    """

    def __init__(
        self,
        runner: Runner,
        call: Call,
        signature: Signature,
        budget: Budget = DEFAULT_BUDGET,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.call = dataclasses.replace(call, extra=())
        self.runs = 0
        self._runner, self._signature, self._budget, self._clock = runner, signature, budget, clock
        self._used = 0.0
        self._deadline = 0.0
        self._settled = False
        self._tried = {call_hash(call)}
        # A crash costs a process each time, so what stands behind it in a batch would only wait longer.
        self._batch = 1 if signature.kind in ("crash", "hang") else BATCH

    def work(self, seconds: float, *, hurry: bool = False) -> bool:
        """Go on for about `seconds`; True when nothing is left to do. What was tried is not tried again."""
        most = min(self._budget.seconds, self._budget.hurried_seconds) if hurry else self._budget.seconds
        start = self._clock()
        self._deadline = start + min(seconds, most - self._used)
        while not self._settled and not self._pausing():
            self._settled = not self._all_passes() and not self._pausing()
        self._used += self._clock() - start
        return self._settled or self.runs >= self._budget.runs or self._used >= most

    def result(self) -> Shrunk:
        """The simplest call so far."""
        return Shrunk(self.call, self.runs, self._settled)

    def _all_passes(self) -> bool:
        """Whether any pass made the call simpler."""
        progress = False
        for candidates in PASSES:
            while not self._pausing() and self._improve(candidates):
                progress = True
        return progress

    def _pausing(self) -> bool:
        return self.runs >= self._budget.runs or self._clock() >= self._deadline

    def _improve(self, candidates: Callable[[Call], Iterator[Call]]) -> bool:
        """Take over the first candidate of a pass that is simpler and still shows the bug."""
        batch: list[Call] = []
        for candidate in self._simpler(candidates):
            batch.append(candidate)
            if len(batch) == min(self._batch, self._budget.runs - self.runs):
                if self._take(batch):
                    return True
                batch = []
                if self._pausing():
                    return False
        return bool(batch) and self._take(batch)

    def _simpler(self, candidates: Callable[[Call], Iterator[Call]]) -> Iterator[Call]:
        limit = complexity(self.call)
        for candidate in candidates(self.call):
            checked = valid(candidate)
            if checked is None or complexity(checked) >= limit:
                continue
            digest = call_hash(checked)
            if digest not in self._tried:
                self._tried.add(digest)
                yield checked

    def _take(self, batch: list[Call]) -> bool:
        self.runs += len(batch)
        for candidate, report in zip(batch, self._runner.run(batch, thorough=True), strict=True):
            if showing(candidate, report, self._signature) is not None:
                self.call = candidate
                return True
        return False


def valid(call: Call) -> Call | None:
    """The call as it would be read from disk; None if it is not one (a kind that does not suit the shape, say)."""
    try:
        return call_from_json(call_to_json(call))
    except (CallError, ValueError, OverflowError):
        return None
