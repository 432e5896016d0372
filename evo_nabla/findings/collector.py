"""Takes in what workers report, and turns it into confirmed, shrunk findings on disk, in slices of time."""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from evo_nabla import __version__
from evo_nabla.call.call import Call
from evo_nabla.call.parse import call_from_json
from evo_nabla.call.serialise import call_to_json
from evo_nabla.executor.report import Finding as Observation
from evo_nabla.executor.report import Report

from .confirm import RUNS, Confirmation, Runner, WorkerFactory, confirm, showing
from .document import Finding
from .folder import FindingsFolder
from .passes import in_double
from .reproducer import Versions
from .shrink import DEFAULT_BUDGET, Budget, Shrinker
from .signature import Signature, dtype_class, observations

CAP = 12  # distinct signatures of one API and kind, beyond which they count as one
UNCONFIRMED = "unconfirmed.jsonl"

NEW, CONFIRMED, NOT_CONFIRMED = "new", "confirmed", "unconfirmed"


@dataclass
class Case:
    """One distinct finding from its first sighting on. `folder` is the name of its folder, empty until it is written;
    `observation` and `call` are the first ones seen until it is confirmed, then those of the minimal call."""

    signature: Signature
    call: Call
    observation: Observation | None
    provenance: Mapping[str, Any]
    first_seen: str
    status: str = NEW
    sightings: int = 0
    folder: str = ""
    finding: Finding | None = None
    aliases: list[Signature] = field(default_factory=list)


@dataclass
class _Job:
    """A confirmed case on its way to a folder."""

    case: Case
    confirmation: Confirmation
    shrinker: Shrinker


class _Lazy:
    """A runner that is started when it is first needed, and again after it was closed."""

    def __init__(self, factory: WorkerFactory) -> None:
        self._factory = factory
        self._stack = ExitStack()
        self._runner: Runner | None = None

    def run(self, calls: Sequence[Call], *, thorough: bool = False) -> list[Report]:
        """As the runner's own."""
        if self._runner is None:
            self._runner = self._stack.enter_context(self._factory())
        return self._runner.run(calls, thorough=thorough)

    def close(self) -> None:
        self._runner = None
        self._stack.close()


class Findings:
    """The findings of one campaign.

    `worker_factory` starts a runner of which every `run` takes place in a process that has run nothing before; one is
    kept for all findings. What waits to be confirmed goes before what waits to be shrunk: whether a finding is one is
    known long before its call is small. `problems` names what could not be read from disk.
    """

    def __init__(
        self,
        folder: Path,
        worker_factory: WorkerFactory,
        versions: Versions,
        *,
        budget: Budget = DEFAULT_BUDGET,
        cap: int = CAP,
        now: Callable[[], datetime] = lambda: datetime.now(timezone.utc),
    ) -> None:
        self._folder = FindingsFolder(folder)
        self._versions, self._budget, self._cap, self._now = versions, budget, cap, now
        self._runner = _Lazy(worker_factory)
        self._cases: dict[Signature, Case] = {}
        self._distinct: Counter[tuple[str, str]] = Counter()
        self._queue: deque[Case] = deque()
        self._jobs: deque[_Job] = deque()
        self._unsaved: dict[str, Case] = {}
        self.problems: list[str] = []
        self._restore()

    def __enter__(self) -> Findings:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pending(self) -> int:
        """How many findings wait to be confirmed or to be shrunk, the one in work included."""
        return len(self._queue) + len(self._jobs)

    @property
    def unshrunk(self) -> list[Case]:
        """The confirmed cases that have no folder yet, since they wait to be shrunk."""
        return [job.case for job in self._jobs]

    @property
    def cases(self) -> list[Case]:
        """Every distinct finding, in the order of their first sightings; each once, whatever its aliases."""
        return list({id(case): case for case in self._cases.values()}.values())

    def consider(self, call: Call, report: Report, provenance: Mapping[str, Any]) -> list[Case]:
        """The cases of a report's findings: new ones are queued, known ones counted. Costs no run."""
        if report.verdict != "finding" and report.status not in ("crashed", "hung"):
            return []
        cases: list[Case] = []
        for signature, observation in observations(call, report):
            if report.crash is not None and not report.crash.confirmed:
                continue
            case = self._case(signature, call, observation, provenance)
            case.sightings += 1
            if case.folder:
                self._unsaved[case.folder] = case
            if not any(case is other for other in cases):
                cases.append(case)
        return cases

    def resume(
        self, signature: Signature, call: Call, provenance: Mapping[str, Any], first_seen: str, sightings: int
    ) -> None:
        """Queue a finding that an earlier session saw but did not come to confirm; nothing if it is known."""
        if signature not in self._cases:
            case = Case(signature, call, None, provenance, first_seen, sightings=sightings)
            self._add(case)
            self._queue.append(case)

    def process(self, seconds: float) -> list[Case]:
        """Confirm, shrink and write for about `seconds`; the cases that came to an end by it.

        A run of a call is never interrupted, so one slice may last a call's time limit longer.
        """
        deadline = time.monotonic() + seconds
        ended: list[Case] = []
        while self.pending and (left := deadline - time.monotonic()) > 0:
            case = self._confirm_next() if self._queue else self._shrink_next(left)
            if case is not None:
                ended.append(case)
        self._save_sightings()
        return ended

    def drain(self, seconds: float) -> list[Case]:
        """Work on everything pending until it is done or `seconds` are over, then release the worker."""
        ended = self.process(seconds)
        self.close()
        return ended

    def close(self) -> None:
        """Release the worker and save the sightings; what is pending stays so."""
        self._runner.close()
        self._save_sightings()

    # known signatures

    def _case(self, signature: Signature, call: Call, observation: Observation, provenance: Mapping[str, Any]) -> Case:
        known = self._cases.get(signature)
        if known is not None:
            return known
        if self._distinct[signature.api, signature.kind] >= self._cap:
            signature = signature.generalised()
            if signature in self._cases:
                return self._cases[signature]
        first_seen = self._now().isoformat(timespec="seconds")
        case = Case(signature, call, observation, provenance, first_seen)
        self._add(case)
        self._queue.append(case)
        return case

    def _add(self, case: Case) -> None:
        for signature in (case.signature, *case.aliases):
            self._cases.setdefault(signature, case)
        self._distinct[case.signature.api, case.signature.kind] += 1

    def _restore(self) -> None:
        findings, self.problems = self._folder.read()
        for name, finding in findings.items():
            case = Case(
                finding.signature,
                finding.call,
                finding.observation,
                finding.provenance,
                finding.first_seen,
                CONFIRMED,
                finding.sightings,
                name,
                finding,
                list(finding.aliases),
            )
            self._add(case)
        self._restore_unconfirmed()

    def _restore_unconfirmed(self) -> None:
        file = self._folder.path / UNCONFIRMED
        if not file.exists():
            return
        for number, line in enumerate(file.read_bytes().splitlines(), 1):
            try:
                case = _unconfirmed_from_json(json.loads(line))
            except (ValueError, RecursionError) as error:
                self.problems.append(f"{UNCONFIRMED}:{number}: {error}; skipped")
                continue
            if case.signature not in self._cases:
                self._add(case)

    # one case

    def _confirm_next(self) -> Case | None:
        """Confirm the case that waits longest; the case, if that was its end."""
        case = self._queue[0]
        confirmation = confirm(self._runner, case.call, case.signature)
        self._queue.popleft()
        if not confirmation.confirmed:
            return self._note_unconfirmed(case, confirmation)
        case.status, case.observation = CONFIRMED, confirmation.observation
        shrinker = Shrinker(self._runner, case.call, case.signature, self._budget)
        self._jobs.append(_Job(case, confirmation, shrinker))
        return None

    def _shrink_next(self, seconds: float) -> Case | None:
        """A slice of shrinking; the case, if that was its end. With others waiting, less is spent on each."""
        job = self._jobs[0]
        if not job.shrinker.work(seconds, hurry=len(self._jobs) > 1):
            return None
        case = self._note_confirmed(job)
        self._jobs.popleft()
        return case

    def _note_unconfirmed(self, case: Case, confirmation: Confirmation) -> Case:
        case.status = NOT_CONFIRMED
        line = {
            "signature": case.signature.to_json(),
            "call": call_to_json(case.call),
            "first_seen": case.first_seen,
            "seen": confirmation.seen,
            "runs": confirmation.runs,
        }
        self._folder.append(UNCONFIRMED, json.dumps(line))
        return case

    def _note_confirmed(self, job: _Job) -> Case:
        case, confirmation, shrunk = job.case, job.confirmation, job.shrinker.result()
        call = shrunk.call
        report = self._runner.run([call], thorough=True)[0]
        observation = showing(call, report, case.signature)
        if observation is None:  # it does not show every time: the call that was confirmed twice is the better one
            assert confirmation.report is not None and confirmation.observation is not None
            call, report, observation = case.call, confirmation.report, confirmation.observation
        signature = case.signature.seen_with(dtype_class(call))
        twin = self._cases.get(signature)
        if twin is not None and twin is not case:
            return self._merge(case, twin)
        aliases = [alias for alias in (case.signature,) if alias != signature]
        finding = Finding(
            signature=signature,
            call=call,
            original=case.call,
            observation=observation,
            versions=self._versions,
            first_seen=case.first_seen,
            sightings=case.sightings,
            provenance=case.provenance,
            seen=confirmation.seen,
            runs=RUNS,
            shrinking_runs=shrunk.runs,
            shrunk_completely=shrunk.complete,
            float64=_in_float64(self._runner, call, signature),
            evo_nabla=__version__,
            aliases=tuple(aliases),
            crash=report.crash,
        )
        case.folder = self._folder.write(finding)
        case.signature, case.aliases, case.finding = signature, aliases, finding
        case.call, case.observation, case.status = call, observation, CONFIRMED
        self._cases.setdefault(signature, case)
        return case

    def _merge(self, case: Case, twin: Case) -> Case:
        """Shrinking showed that a case is one already known: its sightings go there, and its signature leads there."""
        twin.sightings += case.sightings
        twin.aliases.append(case.signature)
        self._cases[case.signature] = twin
        self._distinct[case.signature.api, case.signature.kind] -= 1
        if twin.folder:
            self._unsaved[twin.folder] = twin
        return twin

    def _save_sightings(self) -> None:
        for name, case in self._unsaved.items():
            if case.finding is not None:
                case.finding = case.finding.sighted(case.sightings, tuple(case.aliases))
                self._folder.update(name, case.finding)
        self._unsaved.clear()


def _in_float64(runner: Runner, call: Call, signature: Signature) -> str:
    """What the same call does in double precision."""
    wide = in_double(call)
    if wide is None:
        return "the call above is in double precision already."
    report = runner.run([wide], thorough=True)[0]
    if showing(wide, report, signature) is not None:
        return "the same call shows the same there."
    if report.status != "ok":
        return f"the same call is {report.status} there ({report.reason})."
    if report.verdict == "agree":
        return "all modes of the same call agree there; the fault is of the lower precision."
    return f"the same call is {report.verdict} there ({report.reason or 'another finding'})."


def _unconfirmed_from_json(document: object) -> Case:
    if not isinstance(document, dict):
        raise ValueError("an object is expected")
    first_seen = document.get("first_seen")
    if not isinstance(first_seen, str):
        raise ValueError("first_seen: a text is expected")
    signature = Signature.from_json(document.get("signature"))
    return Case(signature, call_from_json(document.get("call")), None, {}, first_seen, NOT_CONFIRMED)
