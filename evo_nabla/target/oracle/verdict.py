"""What the oracle says of a call: findings, reasons why nothing can be said, the numbers, and its JSON form."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

# Which finding speaks for the call when there are several: the lower, the more severe.
SEVERITY = (
    "internal_assert",
    "status",
    "metadata",
    "output",
    "missing_gradient",
    "gradient",
    "nonfinite",
    "stale",
    "transform",
    "asymmetry",
    "precision",
)
_RANK = {kind: rank for rank, kind in enumerate(SEVERITY)}


class Finding(NamedTuple):
    """One disagreement."""

    kind: str
    suspect: str
    order: int
    discrepancy: float
    values: dict[str, float]
    message: str
    detail: dict[str, Any]


class Judgement:
    """Collects what is learnt about one call."""

    def __init__(self) -> None:
        self.status = "ok"
        self.findings: list[Finding] = []
        self.reasons: list[str] = []
        self.modes: dict[str, str] = {}
        self.values: dict[str, float] = {}
        self.discrepancy = 0.0
        self.differentiated = False

    def add(
        self,
        kind: str,
        suspect: str,
        order: int,
        message: str,
        discrepancy: float = math.inf,
        values: dict[str, float] | None = None,
        detail: dict[str, Any] | None = None,
    ) -> None:
        """Note a finding."""
        self.findings.append(Finding(kind, suspect, order, discrepancy, values or {}, message, detail or {}))

    def doubt(self, reason: str) -> None:
        """Note a reason why a comparison is inconclusive."""
        if reason not in self.reasons:
            self.reasons.append(reason)

    def saw(self, discrepancy: float) -> None:
        """Note a discrepancy between modes; the largest finite one is kept, as the evolution's second objective."""
        if math.isfinite(discrepancy):
            self.discrepancy = max(self.discrepancy, discrepancy)

    def to_json(self) -> dict[str, Any]:
        """The report's JSON value, with non-finite numbers as objects."""
        self.findings.sort(key=lambda finding: (finding.order, _RANK.get(finding.kind, len(_RANK))))
        if self.findings:
            verdict = "finding"
        elif self.reasons or self.status != "ok":
            verdict = "inconclusive"
        else:
            verdict = "agree"
        values = self.findings[0].values if self.findings else self.values
        return {
            "status": self.status,
            "verdict": verdict,
            "reason": "; ".join(self.reasons),
            "findings": [_finding_json(finding) for finding in self.findings],
            "discrepancy": number_json(self.discrepancy),
            "values": {mode: number_json(value) for mode, value in values.items()},
            "modes": self.modes,
            "differentiated": self.differentiated,
        }


def _finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "suspect": finding.suspect,
        "order": finding.order,
        "discrepancy": number_json(finding.discrepancy),
        "values": {mode: number_json(value) for mode, value in finding.values.items()},
        "message": finding.message,
        "detail": finding.detail,
    }


def number_json(value: float) -> Any:
    """A float in strict JSON: non-finite ones as {"float": "nan" | "inf" | "-inf"}."""
    value = float(value)
    if math.isfinite(value):
        return value
    return {"float": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}
