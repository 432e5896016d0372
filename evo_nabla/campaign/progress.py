"""A snapshot of a running campaign: everything a monitor shows, as plain values."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from evo_nabla.corpus.store import OperatorYield


@dataclass(frozen=True)
class Progress:
    """A campaign at one moment.

    Times are seconds. `seconds`, `calls`, `valid` and `differentiated` count over all sessions; the `session_`
    numbers and the workers' count since this start. `calls_per_second` is over the last few seconds. `rules` is how
    many differentiation rules the library has, as far as they are measured; `stability` the share of native features
    that the same call reached once more.
    """

    target: str
    strategy: str
    phase: str
    seconds: float
    calls: int
    session_seconds: float
    session_calls: int
    calls_per_second: float
    valid: int
    differentiated: int
    visited: int
    apis: int
    generation: int
    entries: int
    since_feature: float
    features: dict[str, int] = field(default_factory=dict)
    rules: int = 0
    stability: float | None = None
    findings: dict[str, int] = field(default_factory=dict)
    confirmed: int = 0
    pending: int = 0
    unshrunk: int = 0
    inconclusive: dict[str, int] = field(default_factory=dict)
    restarts: int = 0
    crashes: int = 0
    hangs: int = 0
    operators: tuple[OperatorYield, ...] = ()
    current: tuple[str, ...] = ()
    budget: str = "no end"
    notice: str = ""

    @property
    def overall_per_second(self) -> float:
        """Calls per second of this session as a whole."""
        return self.session_calls / self.session_seconds if self.session_seconds > 0 else 0.0

    @property
    def valid_rate(self) -> float:
        """The share of calls the library accepted."""
        return self.valid / self.calls if self.calls else 0.0

    @property
    def differentiated_rate(self) -> float:
        """The share of calls in which some gradient was compared."""
        return self.differentiated / self.calls if self.calls else 0.0

    def to_json(self) -> dict[str, Any]:
        """The snapshot as a JSON object, with the rates a reader would compute."""
        document = asdict(self)
        document["overall_per_second"] = round(self.overall_per_second, 2)
        document["valid_rate"] = round(self.valid_rate, 4)
        document["differentiated_rate"] = round(self.differentiated_rate, 4)
        for key in ("seconds", "session_seconds", "calls_per_second", "since_feature"):
            document[key] = round(document[key], 3)
        return document
