"""A worker that survives its calls: whatever a call does to the process costs that one call."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

from evo_nabla.call import Call, call_to_json

from .errors import (
    ChildDiedError,
    WorkerAnswerError,
    WorkerDiedError,
    WorkerGarbledError,
    WorkerGreedyError,
    WorkerLostError,
    WorkerSilentError,
    WorkerStartError,
)
from .planting import (
    NativeModule,
    Offsets,
    Planter,
    Plants,
    merged,
    native_modules,
    native_names,
    places_of,
    with_features,
)
from .process import Process
from .reading import Fields, anything, mapping, sequence, text
from .report import Crash, Finding, Report, Seconds
from .settings import WorkerSettings
from .signature import Signature

T = TypeVar("T")

_BATCH = 256  # calls a frame: what bounds the memory of both ends when a whole corpus is run
_ANSWER_SECONDS = 300.0  # for questions about the whole library
# What the C++ runtime prints when an allocation fails where nothing catches it: the limit's doing, not a bug.
_OUT_OF_MEMORY = ("std::bad_alloc", "MemoryError", "Cannot allocate memory")
# Libraries that a process which has imported them, and run one call on the CPU, can fork without harm to the child.
# Not those that start threads when they are imported: a child has none of them, but may wait for them.
_FORKING = frozenset({"torch"})
_CONFIRMING_PATIENCE = 2.0  # times the limit: a call that ends within it was slow, not hanging


@dataclass(frozen=True)
class WorkerInfo:
    """What a worker says of itself."""

    library: str
    version: str
    python: str
    numpy: str
    modes: tuple[str, ...]
    packages: tuple[str, ...]
    observers: tuple[str, ...]
    missing: dict[str, str]  # observers that were asked for and cannot run there, with the reason
    sandbox: str  # "landlock abi N", or "none: " and why not
    native: tuple[NativeModule, ...] = ()  # where probes can be planted

    @classmethod
    def from_json(cls, document: object) -> WorkerInfo:
        """Read a `ready` frame; raises ValueError naming the place."""
        fields = Fields(document, "ready")
        texts = sequence(text)
        return cls(
            library=fields.read("library", text),
            version=fields.read("version", text),
            python=fields.read("python", text),
            numpy=fields.read("numpy", text),
            modes=fields.read("modes", texts),
            packages=fields.read("packages", texts),
            observers=fields.read("observers", texts),
            missing=fields.read("missing", mapping(text)),
            sandbox=fields.read("sandbox", text),
            native=fields.read("native", native_modules) if fields.has("native") else (),
        )


class _RetiredError(Exception):
    """The worker ended in good order after a report, because the call left something behind."""


class _Reach(NamedTuple):
    """The names of native code that a call was the first to reach in its process, and where to plant on its account,
    by module."""

    names: frozenset[str]
    offsets: Mapping[str, Sequence[int]]


class Worker:
    """One target at work. The process behind it is replaced whenever a call ends it."""

    def __init__(self, settings: WorkerSettings, planter: Planter | None = None) -> None:
        """Start the process and wait until its library is imported; raises WorkerStartError. Without a planter no
        native code is observed."""
        self._settings = settings
        self._planter = planter
        self.restarts = 0
        self._aborted = False
        self._start()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Of the process that is at work now."""
        return self._process.pid

    def run(self, calls: Sequence[Call], *, thorough: bool = False) -> list[Report]:
        """One report per call, in order; a call that ends the worker is run once more in a fresh one.

        Raises WorkerStartError if the worker cannot be started again.
        """
        reports: list[Report] = []
        while len(reports) < len(calls):
            begun, process = len(reports), self._process
            ended = self._extend(reports, calls, thorough)
            # The hits first: a process that starts anew plants according to what has been seen.
            news = {index: self._translate(reports, index) for index in range(begun, len(reports))}
            if ended is not None:
                # A worker that dies after its last report has wronged nobody.
                self._replace(ended, reports, calls[len(reports)] if len(reports) < len(calls) else None, thorough)
            fresh = {index: reach for index, reach in news.items() if reach.names}
            if fresh:
                self._observe_again(reports, fresh, calls, thorough, process)
        return reports

    def run_apart(self, calls: Sequence[Call], *, thorough: bool = False) -> list[Report]:
        """One report per call, in order; like `run`, but without observers and in a process of its own, which costs no
        import. Nothing comes to it from earlier batches if the worker runs all of them so.

        A crash there is confirmed in another such process. Raises WorkerStartError.
        """
        if self._settings.library not in _FORKING or self._settings.device != "cpu":
            return self.run(calls, thorough=thorough)
        reports: list[Report] = []
        while len(reports) < len(calls):
            rest = calls[len(reports) : len(reports) + _BATCH]
            try:
                reports.extend(_run_batch_apart(self._process, self._settings, rest, thorough))
            except _RetiredError:
                continue  # a call left threads to its process, which has ended; the next goes on
            except ChildDiedError as fault:
                if len(reports) < len(calls):
                    again = self._confirm_apart(calls[len(reports)], thorough)
                    reports.append(_judge_again(_lost_child(self._process, fault), again))
            except WorkerLostError as fault:
                if self._aborted:
                    raise
                reports += self._recover(fault, calls[len(reports)] if len(reports) < len(calls) else None, thorough)
        return reports

    def plant(self, offsets: Mapping[str, Offsets]) -> int:
        """Plant probes at these addresses of the worker's modules, where there are none; how many were planted.

        A worker that cannot is replaced by one that is planted as the planter says. Raises WorkerStartError.
        """
        planted: list[int] = []
        self._with_plants(lambda plants: planted.append(plants.plant(offsets)))
        return sum(planted)

    def confirm(self, call: Call, *, thorough: bool = False) -> Report:
        """The report of one call in a fresh worker without observers; a crash or hang there is confirmed."""
        return _confirm(_confirming(self._settings), call, thorough)

    def describe(self, apis: Sequence[str]) -> dict[str, Signature | None]:
        """The signatures of APIs by path; None where nothing is known. Raises WorkerAnswerError."""
        signatures = self._ask({"kind": "describe", "apis": list(apis)}, "described", "signatures", mapping(_signature))
        return {api: signatures.get(api) for api in apis}

    def discover(self) -> list[str]:
        """The paths of all public APIs that can be fuzzed. Raises WorkerAnswerError."""
        return list(self._ask({"kind": "discover"}, "discovered", "apis", sequence(text)))

    def harvest(self, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Call `keep` with the JSON of every seed call that the library ships; returns the counts of what was kept
        and dropped. Raises WorkerAnswerError."""
        return self._ask({"kind": "harvest"}, "harvested", "counts", mapping(anything), keep)

    def memory_mb(self) -> float:
        """Resident size of the worker in MB."""
        return self._process.memory_mb()

    def close(self) -> None:
        """End the process and remove its folder."""
        self._process.close()

    def abort(self) -> None:
        """From another thread: end the process, so that a running batch raises WorkerLostError; then only close it."""
        self._aborted = True
        self._process.kill()

    def _start(self) -> None:
        self._process, self.info = _begin(self._settings)
        self._plants: Plants | None = None
        if self._planter is None or not self.info.native:
            return
        try:
            self._plants = Plants(self._process, self._planter, self.info.native)
        except (WorkerLostError, WorkerStartError) as error:
            self._process.close()
            raise WorkerStartError(f"the worker was lost while probes were planted: {error}") from None

    def _restart(self) -> None:
        self._process.close()
        self.restarts += 1
        self._start()

    def _extend(self, reports: list[Report], calls: Sequence[Call], thorough: bool) -> Exception | None:
        """Add the reports of the next batch as far as the worker gets; what ended it, if something did."""
        rest = calls[len(reports) : len(reports) + _BATCH]
        try:
            # Whatever came before a fault stays: list.extend keeps what it took from the generator.
            reports.extend(_run_batch(self._process, self._settings, rest, observe=True, thorough=thorough))
        except _RetiredError as ended:
            return ended
        except WorkerLostError as ended:
            if self._aborted:
                raise
            return ended
        return None

    def _replace(self, ended: Exception, reports: list[Report], blamed: Call | None, thorough: bool) -> None:
        """Go on with a fresh process, and with the report of the call that ended the one before."""
        if isinstance(ended, WorkerLostError):
            reports += self._recover(ended, blamed, thorough)
        else:
            self._restart()

    def _translate(self, reports: list[Report], index: int) -> _Reach:
        """Put features in the place of a report's hits; which they are, and where to plant on their account."""
        if self._plants is None:
            return _Reach(frozenset(), {})
        reports[index], offsets = self._plants.translate(reports[index])
        return _Reach(native_names(reports[index]), offsets)

    def _observe_again(
        self,
        reports: list[Report],
        fresh: Mapping[int, _Reach],
        calls: Sequence[Call],
        thorough: bool,
        process: Process,
    ) -> None:
        """Run calls that reached something new in a process once more (`fresh`: what, by the call's index), with the
        blocks of new functions planted, so that those they reach are known to be their own, and with their hits armed
        again: what is not hit then is unstable, and not looked at any more. A process that has taken that one's place
        was never hit there, and tells nothing of it. All else of the second report is forgotten, unless it tells of a
        crash."""
        self.plant(merged(reach.offsets for reach in fresh.values()))
        if self._process is process:
            hit = frozenset[str]().union(*(reach.names for reach in fresh.values()))
            self._with_plants(lambda plants: plants.rearm(places_of(hit)))
        waiting = list(fresh)
        further = []
        unstable: set[str] = set()
        while waiting:
            again: list[Report] = []
            armed = self._process is process
            ended = self._extend(again, [calls[index] for index in waiting], thorough)
            for position, index in enumerate(waiting[: len(again)]):
                reach = self._translate(again, position)
                further.append(reach.offsets)
                missed = fresh[index].names - reach.names if armed else frozenset[str]()
                unstable |= missed
                reports[index] = with_features(replace(reports[index], unstable=missed), again[position].features)
            lost: list[Report] = []
            if ended is not None:
                blamed = waiting[len(again)] if len(again) < len(waiting) else None
                self._replace(ended, lost, None if blamed is None else calls[blamed], thorough)
                if blamed is not None and lost and lost[0].verdict == "finding":
                    reports[blamed] = replace(lost[0], features=reports[blamed].features)
            waiting = waiting[len(again) + len(lost) :]
        self.plant(merged(further))
        if self._process is process:
            self._with_plants(lambda plants: plants.remove(places_of(unstable)))

    def _with_plants(self, act: Callable[[Plants], object]) -> None:
        """Do something to the probes; a worker that cannot is replaced."""
        try:
            if self._plants is not None:
                act(self._plants)
        except (WorkerLostError, WorkerStartError):
            if self._aborted:
                raise
            self._restart()

    def _recover(self, fault: WorkerLostError, blamed: Call | None, thorough: bool) -> list[Report]:
        if blamed is None:
            self._restart()
            return []
        report = _blame(self._process, fault)
        # Both at once: an import takes seconds.
        confirming = None if isinstance(fault, WorkerGreedyError) else _confirming(self._settings)
        try:
            self._restart()
        except WorkerStartError:
            if confirming is not None:
                confirming.process.close()
            raise
        return [report if confirming is None else _judge_again(report, _confirm(confirming, blamed, thorough))]

    def _confirm_apart(self, call: Call, thorough: bool) -> Report:
        """The report of a call that has ended its process, from another process; a crash or hang there is confirmed."""
        reports: list[Report] = []
        try:
            reports.extend(_run_batch_apart(self._process, self._settings, [call], thorough))
        except _RetiredError:
            pass
        except ChildDiedError as fault:
            reports = reports or [_confirmed(_lost_child(self._process, fault))]
        except WorkerLostError as fault:
            if self._aborted:
                raise
            reports = reports or [_confirmed(_blame(self._process, fault))]
            self._restart()
        return reports[0]

    def _ask(
        self,
        command: dict[str, Any],
        kind: str,
        field: str,
        reader: Callable[[object, str], T],
        keep: Callable[[dict[str, Any]], None] | None = None,
    ) -> T:
        """One field of the answer to a question, read; seeds that come before it go to `keep`."""
        try:
            self._process.send(command)
            document = self._process.receive(_ANSWER_SECONDS)
            while keep is not None and document["kind"] == "seed":
                keep(Fields(document, "seed").read("call", mapping(anything)))
                document = self._process.receive(_ANSWER_SECONDS)
            if document["kind"] == "failed":
                raise WorkerAnswerError(f"{document.get('reason')}")
            if document["kind"] != kind:
                raise WorkerGarbledError(f"{document['kind']!r} in answer to {command['kind']!r}")
            return Fields(document, kind).read(field, reader)
        except (WorkerLostError, ValueError) as error:
            self._restart()
            raise WorkerAnswerError(f"the worker could not {command['kind']}: {error}") from None


@dataclass
class _Confirming:
    """A fresh worker that may still be starting."""

    process: Process
    settings: WorkerSettings


def _begin(settings: WorkerSettings) -> tuple[Process, WorkerInfo]:
    process = Process(settings)
    try:
        return process, WorkerInfo.from_json(process.await_ready())
    except ValueError as error:
        process.close()
        raise WorkerStartError(f"the worker describes itself wrongly: {error}") from None
    except WorkerStartError:
        process.close()
        raise


def _confirming(settings: WorkerSettings) -> _Confirming:
    patient = replace(settings.limits, seconds=settings.limits.seconds * _CONFIRMING_PATIENCE)
    settings = replace(settings, observers=(), limits=patient)
    return _Confirming(Process(settings), settings)


def _confirm(fresh: _Confirming, call: Call, thorough: bool) -> Report:
    try:
        fresh.process.await_ready()
        return next(_run_batch(fresh.process, fresh.settings, [call], observe=False, thorough=thorough))
    except WorkerLostError as fault:
        return _confirmed(_blame(fresh.process, fault))
    finally:
        fresh.process.close()


def _run_batch(
    process: Process,
    settings: WorkerSettings,
    calls: Sequence[Call],
    *,
    observe: bool,
    thorough: bool,
    apart: bool = False,
) -> Iterator[Report]:
    """The reports of one batch as they come; raises a WorkerLostError at the call to blame, _RetiredError after one."""
    oracle = {"order": settings.order, "observe": observe, "thorough": thorough, "apart": apart}
    process.forget_output()
    process.send({"kind": "run", "batch": 0, "calls": [call_to_json(call) for call in calls], "oracle": oracle})
    expected = 0
    while True:
        document = process.receive(settings.limits.seconds)
        kind = document["kind"]
        if kind == "report" and expected < len(calls) and document.get("index") == expected:
            report = _report(document)
            process.forget_output()
            expected += 1
            yield report
        elif kind == "retired" and expected:
            raise _RetiredError
        elif kind == "finished" and expected == len(calls):
            return
        elif kind == "ended" and apart:
            raise _child_died(document)
        else:
            raise WorkerGarbledError(f"the worker sent {kind!r} out of turn")


def _run_batch_apart(
    process: Process, settings: WorkerSettings, calls: Sequence[Call], thorough: bool
) -> Iterator[Report]:
    """As _run_batch, in a child of the worker; raises ChildDiedError if it ended at a call and the worker lives."""
    try:
        yield from _run_batch(process, settings, calls, observe=False, thorough=thorough, apart=True)
    except _RetiredError:
        _await_end(process, settings)
        raise
    _await_end(process, settings)


def _await_end(process: Process, settings: WorkerSettings) -> None:
    """Wait until the worker has buried the child that ran its batch to the end."""
    document = process.receive(settings.limits.seconds)
    if document["kind"] != "ended":
        raise WorkerGarbledError(f"the worker sent {document['kind']!r} out of turn")


def _child_died(document: dict[str, Any]) -> ChildDiedError:
    number, code = document.get("signal"), document.get("exit_code")
    if not isinstance(number, int):
        return ChildDiedError("", code if isinstance(code, int) else None)
    try:
        return ChildDiedError(signal.Signals(number).name, None)
    except ValueError:
        return ChildDiedError(f"signal {number}", None)


def _report(document: dict[str, Any]) -> Report:
    try:
        report = Report.from_json(document.get("report"))
    except ValueError as error:
        raise WorkerGarbledError(f"the worker sent a malformed report: {error}") from None
    return report


def _blame(process: Process, fault: WorkerLostError) -> Report:
    """The report of the call that ended a worker, not yet confirmed."""
    signal_name, exit_code = process.end()
    if isinstance(fault, WorkerSilentError):
        signal_name, exit_code = "", None  # it was the driver that ended it
    return _lost(process, fault, signal_name, exit_code)


def _lost_child(process: Process, fault: ChildDiedError) -> Report:
    """The report of the call that ended a worker's child, not yet confirmed."""
    return _lost(process, fault, fault.signal_name, fault.exit_code)


def _lost(process: Process, fault: WorkerLostError, signal_name: str, exit_code: int | None) -> Report:
    crash = Crash(signal_name, exit_code, process.tail, confirmed=False)
    reason = f"{fault}, in mode {process.mode}" if process.mode else f"{fault}"
    report = Report(fault.status, "inconclusive", reason, seconds=Seconds(0.0, 0.0), crash=crash)
    if isinstance(fault, WorkerDiedError) and any(marker in process.tail for marker in _OUT_OF_MEMORY):
        return replace(report, status="rejected", reason=f"out of memory: {reason}")
    if isinstance(fault, WorkerGreedyError):
        return report
    finding = Finding(
        kind="hang" if report.status == "hung" else "crash",
        suspect=process.mode or "direct",
        order=0,
        discrepancy=float("inf"),
        values={},
        message=f"{fault}",
        detail={"signal": signal_name, "exit_code": exit_code},
    )
    return replace(report, verdict="finding", findings=(finding,))


def _confirmed(report: Report) -> Report:
    if report.verdict != "finding" or report.crash is None:
        return report
    return replace(report, crash=replace(report.crash, confirmed=True))


def _judge_again(first: Report, fresh: Report) -> Report:
    """What to believe of a call that ended its worker, given its report from a fresh one."""
    if first.verdict != "finding":
        return first
    if fresh.crash is not None and fresh.crash.confirmed:
        return fresh
    reason = f"{first.reason}; in a fresh worker: {fresh.status} {fresh.verdict}"
    return replace(first, verdict="inconclusive", findings=(), reason=reason)


def _signature(document: object, place: str) -> Signature | None:
    return None if document is None else Signature.from_json(document, place)
