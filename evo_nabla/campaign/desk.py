"""The findings desk of a campaign (first version: records signatures)."""

from __future__ import annotations

import math
from pathlib import Path

from evo_nabla.call import canonical_text
from evo_nabla.corpus.store import FindingSummary, Store
from evo_nabla.evolution.feedback import Offspring
from evo_nabla.executor import Report, WorkerSettings
from evo_nabla.findings.signature import observations


class Desk:
    def __init__(self, folder: Path, settings: WorkerSettings, store: Store) -> None:
        self._known = {finding.signature: finding for finding in store.findings()}
        self.pending = 0

    def __enter__(self) -> Desk:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def consider(self, offspring: Offspring, report: Report, generation: int) -> list[FindingSummary]:
        out = []
        for signature, seen in observations(offspring.call, report) if report.findings else ():
            known = self._known.get(signature.text)
            row = FindingSummary(
                signature.text,
                offspring.call.api,
                seen.kind,
                seen.suspect,
                seen.order,
                seen.discrepancy if math.isfinite(seen.discrepancy) else None,
                seen.message,
                canonical_text(offspring.call),
                "",
                "new",
                1 + (known.sightings if known else 0),
                generation,
            )
            self._known[signature.text] = row
            out.append(row)
        return out

    def process(self, seconds: float) -> list[FindingSummary]:
        return []
