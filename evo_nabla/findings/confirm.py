"""Confirms a finding: the same signature again, twice, each time in a process of its own, without observers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from evo_nabla.call.call import Call
from evo_nabla.executor.report import Finding as Observation
from evo_nabla.executor.report import Report

from .signature import Signature, observations

RUNS = 2
STATUS_KINDS = {"crash": "crashed", "hang": "hung"}


class Runner(Protocol):
    """What findings need of `executor.Worker`: its `run_apart`."""

    def run(self, calls: Sequence[Call], *, thorough: bool = False) -> list[Report]:
        """One report per call, in order."""
        ...


WorkerFactory = Callable[[], AbstractContextManager[Runner]]


@dataclass(frozen=True)
class Confirmation:
    """How a finding fared when it was run again, with the report and observation of the last run that showed it."""

    confirmed: bool
    seen: int
    runs: int
    report: Report | None
    observation: Observation | None


def confirm(runner: Runner, call: Call, signature: Signature, runs: int = RUNS) -> Confirmation:
    """Run the call again `runs` times; confirmed if every run shows the signature.

    A crash that the worker could not repeat in its own fresh process (`crash.confirmed` false) does not count.
    """
    seen, shown = 0, None
    for done in range(1, runs + 1):
        report = runner.run([call], thorough=True)[0]
        observation = showing(call, report, signature)
        if observation is None:
            return Confirmation(False, seen, done, shown and shown[0], shown and shown[1])
        seen, shown = seen + 1, (report, observation)
    return Confirmation(True, seen, runs, shown and shown[0], shown and shown[1])


def showing(call: Call, report: Report, signature: Signature) -> Observation | None:
    """The report's observation of this bug, whatever the dtypes; None if it does not show it."""
    status = STATUS_KINDS.get(signature.kind)
    if status is not None and (report.status != status or report.crash is None or not report.crash.confirmed):
        return None
    for found, observation in observations(call, report):
        if found.matches(signature):
            return observation
    return None
