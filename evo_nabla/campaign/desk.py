"""The findings desk: records what workers report at once, and has it confirmed and shrunk beside the fuzzing."""

from __future__ import annotations

import concurrent.futures
import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType

from evo_nabla.call import Call, call_from_json, canonical_text
from evo_nabla.corpus.store import FindingSummary
from evo_nabla.evolution.feedback import Offspring
from evo_nabla.executor import Finding as Observation
from evo_nabla.executor import Report, Worker, WorkerSettings
from evo_nabla.findings import Case, Findings, Signature, Versions, observations

FOLDER_NAME = "findings"
NEW, CONFIRMED, UNCONFIRMED, DUPLICATE = "new", "confirmed", "unconfirmed", "duplicate"


@dataclass(frozen=True)
class _Sighting:
    call: Call
    report: Report
    provenance: dict[str, object]
    generation: int


class _Apart:
    """A worker that runs every batch in a process of its own, as findings want it."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def run(self, calls: Sequence[Call], *, thorough: bool = False) -> list[Report]:
        """As Worker.run_apart."""
        return self._worker.run_apart(calls, thorough=thorough)


class Desk:
    """The findings of a campaign, by signature.

    One thread at a time works on findings: while it confirms and shrinks, what is reported meanwhile is recorded as
    new and waits. So the fuzzing never waits for a confirmation, and a killed driver forgets no finding.
    """

    def __init__(
        self, folder: Path, settings: WorkerSettings, versions: Versions, recorded: dict[str, FindingSummary]
    ) -> None:
        self._rows = dict(recorded)
        self._settings = replace(settings, observers=())
        self._findings = Findings(folder / FOLDER_NAME, self._confirming_worker, versions)
        self._worker: Worker | None = None
        self._inbox: list[_Sighting] = []
        self._thread = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="findings")
        self._slice: concurrent.futures.Future[list[Case]] | None = None
        self._changed = self._requeue()

    def __enter__(self) -> Desk:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the work at once; what is pending is taken up by the next session."""
        if self._worker is not None:
            self._worker.abort()
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._findings.close()

    @property
    def pending(self) -> int:
        """How many findings wait to be confirmed."""
        return sum(row.status == NEW for row in self._rows.values())

    @property
    def unshrunk(self) -> int:
        """How many confirmed findings wait to be shrunk, and have no folder yet."""
        return sum(row.status == CONFIRMED and not row.folder for row in self._rows.values())

    @property
    def unfinished(self) -> bool:
        """Whether any finding waits for anything."""
        return any(_is_unfinished(row) for row in self._rows.values())

    @property
    def problems(self) -> list[str]:
        """What of the earlier findings could not be read."""
        return self._findings.problems

    def consider(self, offspring: Offspring, report: Report, generation: int) -> list[FindingSummary]:
        """Record the findings of a report; the rows that are new or were sighted again."""
        if report.verdict != "finding" or (report.crash is not None and not report.crash.confirmed):
            return []
        changed = []
        for signature, seen in observations(offspring.call, report):
            key = key_of(signature)
            row = self._rows.get(key) or _new_row(signature, offspring.call, seen, generation)
            self._rows[key] = replace(row, sightings=row.sightings + 1)
            changed.append(self._rows[key])
        provenance = {"generation": generation, "operators": list(offspring.operators), "parents": [*offspring.parents]}
        self._inbox.append(_Sighting(offspring.call, report, provenance, generation))
        return changed

    def turn(self, seconds: float, wait: float = 0.0) -> list[FindingSummary]:
        """Take what the last slice of work brought, waiting for it up to `wait`, and begin the next of `seconds`.

        The rows that changed. With `seconds` 0 no slice is begun. Raises WorkerStartError.
        """
        if self._slice is not None and not concurrent.futures.wait([self._slice], timeout=wait).done:
            return []
        changed, self._changed = self._changed, {}
        if self._slice is not None:
            finished, self._slice = self._slice, None
            for case in (*self._findings.unshrunk, *finished.result()):
                if not self._is_settled(case):
                    changed |= self._settle(case)
        changed |= self._sort_inbox()
        if seconds > 0 and self._findings.pending:
            self._slice = self._thread.submit(self._findings.process, seconds)
        return list(changed.values())

    def _requeue(self) -> dict[str, FindingSummary]:
        """Queue what an earlier session recorded and did not settle; the rows that it settled without recording it."""
        changed: dict[str, FindingSummary] = {}
        for case in self._findings.cases:
            if any(_is_unfinished(self._rows[key]) for key in self._keys(case)):
                changed |= self._settle(case)
        for row in self._rows.values():
            if _is_unfinished(row):
                signature = Signature.from_json(json.loads(row.signature))
                call = call_from_json(json.loads(row.call))
                provenance = {"generation": row.generation}
                self._findings.resume(signature, call, provenance, row.first_seen, row.sightings)
        return changed

    def _keys(self, case: Case) -> list[str]:
        """The recorded rows of a case's signatures."""
        keys = (key_of(signature) for signature in (*case.aliases, case.signature))
        return [key for key in keys if key in self._rows]

    def _sort_inbox(self) -> dict[str, FindingSummary]:
        """Hand waiting sightings to the collector; a row that counts as another finding is a duplicate from now on."""
        changed: dict[str, FindingSummary] = {}
        for sighting in self._inbox:
            cases = self._findings.consider(sighting.call, sighting.report, sighting.provenance)
            for case in cases:
                if not self._keys(case):  # it stands for all findings of its API and kind, being too many to list
                    row = _new_row(case.signature, case.call, case.observation, sighting.generation)
                    self._rows[row.signature] = changed[row.signature] = replace(row, sightings=case.sightings)
            known = {key for case in cases for key in self._keys(case)}
            for signature, _ in observations(sighting.call, sighting.report):
                key = key_of(signature)
                if key not in known and self._rows[key].status == NEW:
                    changed[key] = self._change(key, status=DUPLICATE)
        self._inbox.clear()
        return changed

    def _is_settled(self, case: Case) -> bool:
        """Whether a confirmed case that waits to be shrunk is recorded as such."""
        keys = self._keys(case)
        return not case.folder and any(self._rows[key].status == CONFIRMED == case.status for key in keys)

    def _settle(self, case: Case) -> dict[str, FindingSummary]:
        """Write a case that came to an end into its row; the rows of its other signatures are duplicates."""
        keys = self._keys(case)
        first = min(keys, key=lambda key: (self._rows[key].status == DUPLICATE, self._rows[key].generation))
        changed = {
            key: self._change(key, status=DUPLICATE, folder=case.folder and f"{FOLDER_NAME}/{case.folder}")
            for key in keys
            if key != first
        }
        seen = case.observation
        row = self._change(first, status=case.status, folder=case.folder and f"{FOLDER_NAME}/{case.folder}")
        if seen is not None:
            finite = seen.discrepancy if math.isfinite(seen.discrepancy) else None
            row = self._change(first, discrepancy=finite, message=seen.message, call=canonical_text(case.call))
        return {**changed, first: row}

    def _change(self, key: str, **values: object) -> FindingSummary:
        self._rows[key] = replace(self._rows[key], **values)  # type: ignore[arg-type]
        return self._rows[key]

    @contextmanager
    def _confirming_worker(self) -> Iterator[_Apart]:
        with Worker(self._settings) as worker:
            self._worker = worker
            try:
                yield _Apart(worker)
            finally:
                self._worker = None


def _is_unfinished(row: FindingSummary) -> bool:
    """Whether a row's finding waits to be confirmed, or to be shrunk."""
    return row.status == NEW or (row.status == CONFIRMED and not row.folder)


def _new_row(signature: Signature, call: Call, seen: Observation | None, generation: int) -> FindingSummary:
    return FindingSummary(
        signature=key_of(signature),
        api=signature.api,
        kind=signature.kind,
        suspect=signature.suspect,
        order=signature.order,
        discrepancy=seen.discrepancy if seen is not None and math.isfinite(seen.discrepancy) else None,
        message=seen.message if seen is not None else "",
        call=canonical_text(call),
        folder="",
        status=NEW,
        sightings=0,
        generation=generation,
        first_seen=datetime.now(timezone.utc).isoformat(timespec="seconds"),
    )


def key_of(signature: Signature) -> str:
    """A signature as the store's key, from which it can be read back."""
    return json.dumps(signature.to_json(), sort_keys=True)
