"""Python lines of the library and of the user's own folders, measured by coverage.py."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Collection, Dict, Iterator, List, Sequence, Set

import coverage

from .core import choose_core
from .protocol import Features

# The C tracer counts calls and returns, and does not see the functions that switch it off return: its stack grows by a
# kilobyte a call. A new tracer now and then costs a millisecond.
_RENEWAL = 256


class LineTables:
    """coverage.py at work, and the lines that it has traced since they were last asked for.

    Lines are named by file and number, relative to the folder that holds the package: "torch/_tensor.py:531". The
    tracer's tables are read as it writes them, a set of line numbers for each file, which costs microseconds when
    nothing is new: cheap enough to ask at every mode. coverage.py's own way out, a flush into its database, costs 25
    to 30 µs for each file touched since the last one, 1.4 ms for the modes of a torch call, and could be afforded once
    a call at most.
    """

    def __init__(self, packages: Sequence[str], folders: Sequence[str]) -> None:
        """Begin to trace; `packages`: the library's package folders; `folders`: the user's folders of modules.

        Raises ImportError where coverage.py keeps its tables elsewhere.
        """
        self._roots = [str(Path(package).resolve().parent) for package in packages]
        self._roots += [str(Path(folder).resolve()) for folder in folders]
        includes = [str(Path(folder).resolve() / "*") for folder in (*packages, *folders)]
        choose_core()
        self._coverage = coverage.Coverage(data_file=None, include=includes, config_file=False, messages=False)
        self._coverage.set_option("run:disable_warnings", ["no-data-collected", "module-not-measured"])
        self._known: Dict[str, Set[int]] = {}
        self._total = 0
        self.start()

    def start(self) -> None:
        """Trace this thread and those it starts from now on, with a new tracer."""
        self._coverage.start()
        tables = getattr(getattr(self._coverage, "_collector", None), "data", None)
        # Not part of coverage.py's public interface, but alike from its release 5 to 7.
        if not isinstance(tables, dict):
            raise ImportError(f"coverage {coverage.__version__} keeps the lines it traces elsewhere")
        self._tables: Dict[str, Collection[int]] = tables

    def stop(self) -> None:
        """Trace no longer. coverage.py wants to find its own tracer in place."""
        self._coverage.stop()

    def fresh(self) -> List[str]:
        """The names of the lines traced since the last time."""
        total = sum(map(len, self._tables.values()))
        if total == self._total:
            return []
        self._total = total
        names: List[str] = []
        # A thread of the library may add a file meanwhile; making a list is one step under the interpreter's lock.
        for path, lines in list(self._tables.items()):
            known = self._known.setdefault(path, set())
            if len(lines) != len(known):
                new = set(lines) - known
                known.update(new)
                names += self._names(path, new)
        return names

    def _names(self, path: str, lines: Set[int]) -> Iterator[str]:
        root = next((root for root in self._roots if path.startswith(root + os.sep)), "")
        name = os.path.relpath(path, root) if root else path
        return (f"{name}:{line}" for line in lines)


class LineObserver:
    """The lines of every mode. Tracing pauses between modes and for questions, since what asks is Python too."""

    kind = "line"

    def __init__(self, packages: Sequence[str], folders: Sequence[str]) -> None:
        """As LineTables."""
        self._lines = LineTables(packages, folders)
        self._trace: Any = sys.gettrace()
        sys.settrace(None)
        self._news: Features = {}
        self._mode = "direct"
        self._tracing = False
        self._disturbed = False
        self._drains = 0

    def start(self) -> None:
        """Nothing: tracing waits for the first call."""

    def begin(self) -> None:
        """A call begins; tracing waits for `resume`."""
        self._tracing = True

    def resume(self) -> None:
        """Trace from here on."""
        if self._tracing:
            sys.settrace(self._trace)

    def pause(self) -> None:
        """Trace no longer, from the frame that resumed: coverage.py's tracer counts calls and returns."""
        if self._tracing:
            self._disturbed = self._disturbed or sys.gettrace() is not self._trace
            sys.settrace(None)

    def enter(self, mode: str) -> None:
        """What was reached until now belongs to the mode before."""
        self._collect()
        self._mode = mode

    def drain(self) -> Features:
        """Stop tracing; names of the lines never drained before, sorted, by mode."""
        sys.settrace(None)
        self._tracing = False
        self._collect()
        self._drains += 1
        if self._disturbed or self._drains % _RENEWAL == 0:
            self._start_afresh()
        news, self._news = self._news, {}
        return {mode: sorted(names) for mode, names in news.items()}

    def stop(self) -> None:
        """End tracing; coverage.py wants to find its own tracer in place."""
        sys.settrace(self._trace)
        self._lines.stop()

    def _start_afresh(self) -> None:
        """Begin with a new tracer: the call took the old one off, which then believes itself in the middle of that
        call's files; or its stack has grown long enough."""
        self.stop()
        self._lines.start()
        self._trace = sys.gettrace()
        sys.settrace(None)
        self._disturbed = False

    def _collect(self) -> None:
        """Note the lines reached since the last time as the present mode's."""
        names = self._lines.fresh()
        if names:
            self._news.setdefault(self._mode, []).extend(names)
