"""What is known of one call after it ran: the typed reading of a worker's report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from .reading import (
    Fields,
    anything,
    boolean,
    choice,
    integer,
    mapping,
    number,
    number_to_json,
    numbers_to_json,
    sequence,
    text,
)  # fmt: skip

STATUSES: Final = ("ok", "rejected", "unsupported", "crashed", "hung", "denied", "invalid")
VERDICTS: Final = ("agree", "inconclusive", "finding")
MODE_STATES: Final = ("ok", "unsupported", "rejected", "raised", "skipped")
KINDS: Final = (
    "crash", "hang", "internal_assert", "status", "output", "metadata", "gradient", "nonfinite", "missing_gradient",
    "precision", "stale", "asymmetry", "transform",
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """One disagreement: its kind, the suspect mode, the order it showed at and its size (dimensionless)."""

    kind: str
    suspect: str
    order: int
    discrepancy: float
    values: dict[str, float]
    message: str
    detail: dict[str, Any]

    @classmethod
    def from_json(cls, document: object, place: str = "finding") -> Finding:
        """Read one; raises ValueError naming the place."""
        fields = Fields(document, place)
        return cls(
            kind=fields.read("kind", choice(*KINDS)),
            suspect=fields.read("suspect", text),
            order=fields.read("order", integer),
            discrepancy=fields.read("discrepancy", number),
            values=fields.read("values", mapping(number)),
            message=fields.read("message", text),
            detail=fields.read("detail", mapping(anything)),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, as it came."""
        return {
            "kind": self.kind,
            "suspect": self.suspect,
            "order": self.order,
            "discrepancy": number_to_json(self.discrepancy),
            "values": numbers_to_json(self.values),
            "message": self.message,
            "detail": self.detail,
        }


@dataclass(frozen=True)
class Seconds:
    """Wall time of a call in its worker, and the part of it spent inside the library."""

    total: float
    library: float


@dataclass(frozen=True)
class Crash:
    """How a worker was lost: the signal's name or "", the exit code or None, the end of its output."""

    signal: str
    exit_code: int | None
    stderr_tail: str
    confirmed: bool

    @classmethod
    def from_json(cls, document: object, place: str = "crash") -> Crash:
        """Read one; raises ValueError naming the place."""
        fields = Fields(document, place)
        return cls(
            signal=fields.read("signal", text),
            exit_code=fields.read("exit_code", integer) if fields.has("exit_code") else None,
            stderr_tail=fields.read("stderr_tail", text),
            confirmed=fields.read("confirmed", boolean),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, as it came."""
        return {
            "signal": self.signal,
            "exit_code": self.exit_code,
            "stderr_tail": self.stderr_tail,
            "confirmed": self.confirmed,
        }


@dataclass(frozen=True)
class Report:
    """The outcome of one call; docs/architecture.md says what each field means.

    `unstable` names those of the features that the same call did not reach when it was run once more with them armed
    again; it is the driver's own and in no frame.
    """

    status: str
    verdict: str
    reason: str = ""
    findings: tuple[Finding, ...] = ()
    discrepancy: float = 0.0
    values: dict[str, float] = field(default_factory=dict)
    modes: dict[str, str] = field(default_factory=dict)
    differentiated: bool = False
    features: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    unstable: frozenset[str] = frozenset()
    seconds: Seconds = Seconds(0.0, 0.0)
    crash: Crash | None = None

    @classmethod
    def from_json(cls, document: object, place: str = "report") -> Report:
        """Read one; raises ValueError naming the place."""
        fields = Fields(document, place)
        report = cls(
            status=fields.read("status", choice(*STATUSES)),
            verdict=fields.read("verdict", choice(*VERDICTS)),
            reason=fields.read("reason", text),
            findings=fields.read("findings", sequence(Finding.from_json)),
            discrepancy=fields.read("discrepancy", number),
            values=fields.read("values", mapping(number)),
            modes=fields.read("modes", mapping(choice(*MODE_STATES))),
            differentiated=fields.read("differentiated", boolean),
            features=fields.read("features", mapping(mapping(sequence(text)))),
            seconds=fields.read("seconds", _seconds),
            crash=fields.read("crash", Crash.from_json) if fields.has("crash") else None,
        )
        if (report.verdict == "finding") != bool(report.findings):
            raise ValueError(f"{place}: verdict {report.verdict} with {len(report.findings)} findings")
        return report

    def reached(self) -> Iterator[tuple[str, str, str]]:
        """Every feature as (kind, name, the mode that reached it first)."""
        for kind, modes in self.features.items():
            for mode, names in modes.items():
                for name in names:
                    yield kind, name, mode

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, as it came."""
        document: dict[str, Any] = {
            "status": self.status,
            "verdict": self.verdict,
            "reason": self.reason,
            "findings": [finding.to_json() for finding in self.findings],
            "discrepancy": number_to_json(self.discrepancy),
            "values": numbers_to_json(self.values),
            "modes": dict(self.modes),
            "differentiated": self.differentiated,
            "features": {
                kind: {mode: list(names) for mode, names in modes.items()} for kind, modes in self.features.items()
            },
            "seconds": {"total": self.seconds.total, "library": self.seconds.library},
        }
        if self.crash is not None:
            document["crash"] = self.crash.to_json()
        return document


def _seconds(document: object, place: str) -> Seconds:
    fields = Fields(document, place)
    return Seconds(fields.read("total", number), fields.read("library", number))
