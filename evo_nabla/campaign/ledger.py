"""The ledger: a campaign's counts and its map of seen features in memory, and what of them the store lacks."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field

from evo_nabla.call import canonical_text
from evo_nabla.corpus.store import ApiTally, FindingSummary, FirstReach, Generation, KeptCall, Store
from evo_nabla.coverage.nativemap import NATIVE
from evo_nabla.coverage.weights import weight_of
from evo_nabla.evolution.feedback import Evaluated, Feedback, Offspring
from evo_nabla.executor.report import Report

# A call that raises its API's largest discrepancy is kept, if by enough that the list of records stays short.
IMPROVEMENT = 2.0
SMALLEST_KEPT_DISCREPANCY = 1e-3

VALID = frozenset({"ok", "unsupported"})
# What killed its worker, or could not be run, is no parent: a finding records it, the corpus does not.
NEVER_KEPT = frozenset({"crashed", "hung", "denied", "invalid"})

# The mode of what the oracle itself reaches in the library: making tensors, reading values.
HARNESS = "harness"

MAX_REASON = 40
_DETAIL = re.compile(r"[\d:;,('\"\[]")


@dataclass
class Totals:
    """Sums over all calls of the campaign."""

    calls: int = 0
    valid: int = 0
    differentiated: int = 0
    crashes: int = 0
    hangs: int = 0
    inconclusive: dict[str, int] = field(default_factory=dict)
    native: int = 0  # features of native code, as they were reached first in some worker
    unstable: int = 0  # of these, not reached when the same call was run once more


class Ledger:
    """Judges reports by what was seen before: which features are new, which calls are kept, what each API gave."""

    def __init__(self, store: Store) -> None:
        self.apis = {tally.name: tally for tally in store.apis()}
        self.seen = store.features()
        self.findings = {finding.signature: finding for finding in store.findings()}
        self.totals = Totals(**(store.state("totals") or {}))
        self.generation: int = store.state("generation") or 0
        self._entries = store.entry_features()
        self._feature_count = sum(map(len, self.seen.values()))
        self._open()

    @property
    def entries(self) -> int:
        """The number of kept calls."""
        return len(self._entries)

    def feature_counts(self) -> dict[str, int]:
        """How many features of each kind were seen."""
        return {kind: len(names) for kind, names in self.seen.items()}

    def visit(self, api: str) -> ApiTally:
        """Count a visit to an API."""
        tally = self._tally(api)
        tally.visits += 1
        return tally

    def fold(self, offspring: Offspring, report: Report) -> Evaluated:
        """Take one report in, and give the feedback that the strategy learns from."""
        tally = self._tally(offspring.call.api)
        new = self._new_features(report)
        self._count(tally, report)
        discrepancy = discrepancy_of(report)
        record = discrepancy >= max(SMALLEST_KEPT_DISCREPANCY, IMPROVEMENT * tally.discrepancy)
        tally.discrepancy = max(tally.discrepancy, discrepancy)
        novelty = novelty_of(new, report.unstable)
        if novelty or (record and report.status not in NEVER_KEPT):
            self._keep(offspring, report, new)
        tally.reward += novelty
        return Evaluated(
            offspring,
            Feedback(
                novelty=novelty,
                discrepancy=discrepancy,
                valid=report.status in VALID,
                differentiated=report.differentiated,
                seconds=report.seconds.total,
                features=tuple(
                    f"{kind}:{name}"
                    for kind, name, mode in report.reached()
                    if mode != HARNESS and name not in report.unstable
                ),
            ),
        )

    def record(self, finding: FindingSummary) -> None:
        """Add a finding, or replace what was known of it."""
        self.findings[finding.signature] = finding
        self._findings[finding.signature] = finding

    def close_generation(self) -> Generation:
        """What changed since the last generation was closed; the next one is opened."""
        self.generation += 1
        return self.unsaved()

    def unsaved(self) -> Generation:
        """What changed since the last generation was closed, as part of that one."""
        generation = Generation(
            number=self.generation,
            apis=[self.apis[name] for name in self._touched],
            entries=self._kept,
            widened=self._widened,
            features=self._reached,
            findings=list(self._findings.values()),
            states={"totals": asdict(self.totals)},
        )
        self._open()
        return generation

    def _open(self) -> None:
        self._touched: dict[str, None] = {}
        self._kept: list[KeptCall] = []
        self._widened: dict[str, int] = {}
        self._reached: list[FirstReach] = []
        self._findings: dict[str, FindingSummary] = {}

    def _tally(self, api: str) -> ApiTally:
        """The tally of an API that this generation changes."""
        self._touched[api] = None
        return self.apis.setdefault(api, ApiTally(api))

    def _new_features(self, report: Report) -> dict[tuple[str, str], str]:
        """Features that no call had reached, as (kind, name), with the mode that did."""
        if report.status in NEVER_KEPT:
            return {}
        new: dict[tuple[str, str], str] = {}
        for kind, name, mode in report.reached():
            if name not in self.seen.get(kind, ()):
                new.setdefault((kind, name), mode)
        return new

    def _count(self, tally: ApiTally, report: Report) -> None:
        valid = report.status in VALID
        differentiated = valid and report.differentiated
        totals = self.totals
        totals.calls += 1
        totals.valid += valid
        totals.differentiated += differentiated
        totals.crashes += report.status == "crashed"
        totals.hangs += report.status == "hung"
        totals.native += sum(kind in NATIVE for kind, _, _ in report.reached())
        totals.unstable += len(report.unstable)
        tally.calls += 1
        tally.valid += valid
        tally.differentiated += differentiated
        tally.seconds += report.seconds.total
        if report.verdict == "inconclusive":
            reason = reason_class(report.reason)
            totals.inconclusive[reason] = totals.inconclusive.get(reason, 0) + 1

    def _keep(self, offspring: Offspring, report: Report, new: Mapping[tuple[str, str], str]) -> None:
        """Keep a call, or widen what an earlier run of the same call has reached."""
        for (kind, name), mode in new.items():
            self.seen.setdefault(kind, set()).add(name)
            self._feature_count += 1
            self._reached.append(FirstReach(self._feature_count, kind, name, mode, offspring.hash, self.generation + 1))
        earlier = self._entries.get(offspring.hash)
        self._entries[offspring.hash] = (earlier or 0) + len(new)
        if earlier is not None:
            if new:
                self._widened[offspring.hash] = self._entries[offspring.hash]
            return
        self._kept.append(
            KeptCall(
                hash=offspring.hash,
                number=len(self._entries),
                api=offspring.call.api,
                call=canonical_text(offspring.call),
                features=len(new),
                novelty=novelty_of(new, report.unstable),
                discrepancy=discrepancy_of(report),
                verdict=report.verdict,
                parents=list(offspring.parents),
                operator=offspring.operator,
                generation=self.generation + 1,
                seconds=report.seconds.total,
            )
        )


def novelty_of(new: Mapping[tuple[str, str], str], unstable: Collection[str] = ()) -> float:
    """What new features, given as (kind, name) with the mode that reached them, count for together: nothing where the
    oracle's own work reached them, or where the same call does not reach them again."""
    return math.fsum(weight_of(kind) for (kind, name), mode in new.items() if mode != HARNESS and name not in unstable)


def discrepancy_of(report: Report) -> float:
    """The discrepancy that counts: none where the oracle could not judge, none that is not finite."""
    return report.discrepancy if report.verdict != "inconclusive" and math.isfinite(report.discrepancy) else 0.0


def reason_class(reason: str) -> str:
    """The part of a reason that calls share: what stands before its first number, colon, quote or bracket."""
    shared = _DETAIL.split(reason, maxsplit=1)[0].strip()
    return shared[:MAX_REASON] or "unexplained"
