"""Confirmation: twice, with the same signature, or not at all."""

from __future__ import annotations

from collections.abc import Sequence

from evo_nabla.call import Call
from evo_nabla.executor import Crash, Finding, Report, Worker
from evo_nabla.findings import Signature, confirm, signatures_of

from .conftest import bug

AGREE = Report("ok", "agree")
WRONG = Report("ok", "finding", findings=(Finding("gradient", "reverse", 1, 2.0, {}, "", {}),))


def crashed(confirmed: bool) -> Report:
    finding = Finding("crash", "reverse", 0, 1.0, {}, "", {})
    return Report("crashed", "finding", findings=(finding,), crash=Crash("SIGABRT", None, "", confirmed))


class Script:
    """A runner that gives the reports it was told to."""

    def __init__(self, *reports: Report) -> None:
        self.reports = list(reports)

    def run(self, calls: Sequence[Call], *, thorough: bool = False) -> list[Report]:
        assert thorough and len(calls) == 1
        return [self.reports.pop(0)]


def signature(report: Report) -> Signature:
    return signatures_of(bug("ldexp"), report)[0]


def test_twice_is_confirmed() -> None:
    result = confirm(Script(WRONG, WRONG), bug("ldexp"), signature(WRONG))
    assert result.confirmed and result.seen == 2 and result.report is WRONG


def test_once_is_not() -> None:
    result = confirm(Script(WRONG, AGREE), bug("ldexp"), signature(WRONG))
    assert not result.confirmed and (result.seen, result.runs) == (1, 2)


def test_never_needs_no_second_run() -> None:
    script = Script(AGREE, WRONG)
    assert not confirm(script, bug("ldexp"), signature(WRONG)).confirmed
    assert script.reports == [WRONG]


def test_another_bug_is_not_this_one() -> None:
    other = Report("ok", "finding", findings=(Finding("gradient", "forward", 1, 2.0, {}, "", {}),))
    assert not confirm(Script(other, other), bug("ldexp"), signature(WRONG)).confirmed


def test_a_crash_that_its_worker_could_not_repeat_is_none() -> None:
    assert confirm(Script(crashed(True), crashed(True)), bug("ldexp"), signature(crashed(True))).confirmed
    assert not confirm(Script(crashed(True), crashed(False)), bug("ldexp"), signature(crashed(True))).confirmed


def test_a_real_bug_is_confirmed(worker: Worker) -> None:
    call = bug("vander")
    (report,) = worker.run([call], thorough=True)
    result = confirm(worker, call, signatures_of(call, report)[0])
    assert result.confirmed and result.observation is not None and result.observation.suspect == "reverse"
