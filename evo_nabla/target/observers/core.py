"""Which of coverage.py's measuring cores costs this interpreter least, found out by measuring."""

from __future__ import annotations

import os
import sys
import time

import coverage

VARIABLE = "COVERAGE_CORE"
_CORES = ("ctrace", "sysmon")
_ROUNDS = 3
_CALLS = 2000


def choose_core() -> str:
    """Have coverage.py use its faster core from now on, unless the user has named one; its name.

    Before Python 3.12 there is but the C tracer. From then on sys.monitoring reports a line only once where the C
    tracer pays for each execution, and is the faster by far in calls that were traced before.
    """
    given = os.environ.get(VARIABLE)
    if given:
        return given
    if sys.version_info < (3, 12):
        return _CORES[0]
    fastest = min(_CORES, key=_seconds)
    os.environ[VARIABLE] = fastest
    return fastest


def _seconds(core: str) -> float:
    """What repeated work takes under a core, at best; infinite for one that this coverage.py does not have."""
    os.environ[VARIABLE] = core
    try:
        measured = coverage.Coverage(data_file=None, include=[__file__], config_file=False, messages=False)
        measured.set_option("run:disable_warnings", ["no-data-collected", "no-sysmon", "no-ctracer"])
        measured.start()
    except Exception:
        return float("inf")
    finally:
        del os.environ[VARIABLE]
    try:
        return min(_work() for _ in range(_ROUNDS))
    finally:
        measured.stop()


def _work() -> float:
    started = time.perf_counter()
    for number in range(_CALLS):
        _step(number)
    return time.perf_counter() - started


def _step(number: int) -> int:
    if number % 2:
        return number + 1
    return number
