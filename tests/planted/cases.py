"""Reads the planted calls: each line of `calls/*.jsonl` is a call, and in `x-expect` what must be said of it.

`verdict` lists the verdicts allowed. For a finding, `kind` and `suspect` list what the first, most severe one may be
(several where the contract cannot tell them apart; modes that are wrong together are joined by "+"), and `order` the
order it may be found at, if that can be known.
`x-order` is the order to check at where it is not 2: higher where the fault is, lower where PyTorch's own second
derivative of an operator is at fault.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evo_nabla.call import Call, call_from_json
from evo_nabla.executor.report import Report

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    """One planted call with its expectation."""

    id: str
    call: Call
    order: int
    verdicts: tuple[str, ...]
    kinds: tuple[str, ...]
    suspects: tuple[str, ...]
    orders: tuple[int, ...]

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Case:
        """Read one line of the data files."""
        expected = document["x-expect"]
        return cls(
            document["id"],
            call_from_json(document),
            document.get("x-order", 2),
            tuple(expected["verdict"]),
            tuple(expected.get("kind", ())),
            tuple(expected.get("suspect", ())),
            tuple(expected.get("order", ())),
        )

    def objection(self, report: Report) -> str:
        """What is wrong with a report, in one line; empty if nothing is."""
        if report.verdict not in self.verdicts:
            said = f"{report.verdict} ({report.reason})" if not report.findings else _describe(report)
            return f"expected {' or '.join(self.verdicts)}, not {said}"
        if not report.findings:
            return ""
        first = report.findings[0]
        right = first.kind in self.kinds and first.suspect in self.suspects
        if right and (not self.orders or first.order in self.orders):
            return ""
        orders = "/".join(map(str, self.orders)) or "any"
        wanted = f"{'/'.join(self.kinds)} of {'/'.join(self.suspects)} at order {orders}"
        return f"expected {wanted}, not {_describe(report)}"


def _describe(report: Report) -> str:
    return "; ".join(f"{f.kind} of {f.suspect} at order {f.order} ({f.message})" for f in report.findings)
