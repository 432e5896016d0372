"""Source lines and branches of what was built with GCC's --coverage, the user's own extension or the library itself.

Counters are read in memory and compared around each mode; gcov is asked, at the end of a call, when a function has
counted what no combination of its earlier counts explains.
"""

from __future__ import annotations

import mmap
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Sequence, Set, Tuple

import numpy as np

from .gcov_basis import Basis
from .gcov_counters import MASTER, Image, Unit, loaded, loads, roots
from .gcov_tool import Notes, Sources, Tool, ToolError, find_tool, narrow, notes_of
from .protocol import Features

_PATIENCE = 2.0  # seconds of a call in which gcov may be started; what is left waits until it is reached again
_DATA_PATH = re.compile(rb"(/[\x20-\x7e\x80-\xff]*\.gcda)\0")

_Moved = Dict[int, np.ndarray]  # function of an image → its counts


class _Measured:
    """One loaded object that was built with --coverage."""

    def __init__(self, units: List[Unit], path: str) -> None:
        self.image = Image(units)
        self.notes = [notes_of(unit.data, path) for unit in units]
        self.read = [False] * len(units)  # whether gcov has said of the unit what it is made of
        self._bases: Dict[int, Basis] = {}

    def new(self) -> _Moved:
        """What has moved and may say something new."""
        moved = self.image.moved()
        return {function: counts for function, counts in moved.items() if self._basis(function).extend(counts)}

    def forget(self, functions: Sequence[int]) -> None:
        """Take what these functions count from here on for new."""
        for function in functions:
            self._bases.pop(function, None)
        self.image.forget_movements()

    def _basis(self, function: int) -> Basis:
        return self._bases.setdefault(function, Basis())


class GcovObserver:
    """Lines named "ops.cpp:12" and branches named "ops.cpp:12.1", each for the mode that executed it first."""

    kind = "gcov"

    def __init__(self, packages: Sequence[str], folders: Sequence[str]) -> None:
        """`packages`: the library's package folders; `folders`: the user's folders of modules, whose shared objects may
        be loaded later. Raises ImportError where nothing was built with --coverage or gcov cannot read it."""
        if sys.platform != "linux" or sys.maxsize < 2**32 or sys.byteorder != "little":
            raise ImportError("the counters of --coverage are read on Linux alone, on 64-bit little-endian machines")
        self._waiting, tool = _readable([*_loaded_from(packages), *_lying_in(folders)])
        self._folder = tempfile.mkdtemp(prefix="gcov-")
        self._tool = Tool(tool, self._folder, Sources(packages, folders))
        self._measured: Dict[int, _Measured] = {}  # by the address of the object's root
        self._loads = -1
        self._cut = 0
        self._seen: Set[str] = set()
        self._mode = "direct"
        self._measuring = self._running = False
        self._news: Dict[str, List[Tuple[_Measured, _Moved]]] = {}

    def start(self) -> None:
        """Nothing: the counters count anyway."""

    def begin(self) -> None:
        """A call begins."""
        self._measuring = True

    def resume(self) -> None:
        """Note where the counters stand."""
        if not self._measuring:
            return
        if self._waiting:
            self._look()
        for measured in self._measured.values():
            measured.image.note()
        self._running = True

    def pause(self) -> None:
        """What has moved is the present mode's."""
        if not self._running:
            return
        self._running = False
        for measured in self._measured.values():
            moved = measured.new()
            if moved:
                self._news.setdefault(self._mode, []).append((measured, moved))

    def enter(self, mode: str) -> None:
        """A mode begins."""
        running = self._running
        self.pause()
        self._mode = mode
        if running:
            self.resume()

    def drain(self) -> Features:
        """The names of what the call executed first, sorted, by mode."""
        self.pause()
        self._measuring = False
        if not self._news:
            return {}
        news, self._news = self._news, {}
        features: Features = {}
        deadline = time.monotonic() + _PATIENCE
        for mode, moves in news.items():
            names = set().union(*(self._executed(measured, moved, deadline) for measured, moved in moves)) - self._seen
            if names:
                self._seen |= names
                features[mode] = sorted(names)
        return features

    def stop(self) -> None:
        """Remove what was written for gcov."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _look(self) -> None:
        """Measure the objects that were loaded meanwhile."""
        number = loads()
        if number == self._loads:
            return
        self._loads = number
        for path in list(self._waiting):
            library = loaded(path)
            if library is None:
                continue
            self._waiting.remove(path)
            for root, units in roots(library).items():
                if root not in self._measured and any(len(unit.functions) for unit in units):
                    self._measured[root] = _Measured(units, path)

    def _executed(self, measured: _Measured, moved: _Moved, deadline: float) -> Set[str]:
        """What these counts mean, as far as there is time."""
        names: Set[str] = set()
        owners = measured.image.owners
        for number in sorted({int(owners[function]) for function in moved}):
            own = {function: counts for function, counts in moved.items() if owners[function] == number}
            if time.monotonic() < deadline:
                names |= self._ask(measured, number, own)
            else:
                measured.forget(list(own))
        return names

    def _ask(self, measured: _Measured, number: int, moved: _Moved) -> Set[str]:
        unit, notes = measured.image.units[number], measured.notes[number]
        try:
            if notes is None or notes.stamp != unit.stamp:
                raise ToolError(f"the notes (.gcno) of {unit.data} are {'of another build' if notes else 'missing'}")
            rows = measured.image.functions
            identified = {(int(rows[f, 0]), int(rows[f, 1]), int(rows[f, 2])): counts for f, counts in moved.items()}
            executed = self._tool.executed(unit, notes, identified)
        except ToolError as error:
            print(f"evo_nabla: no gcov coverage: {error}", file=sys.stderr)
            measured.image.unwatch(np.flatnonzero(measured.image.owners == number))
            return set()
        if not measured.read[number]:
            self._narrow(measured, number, notes, executed.files)
        return executed.names

    def _narrow(self, measured: _Measured, number: int, notes: Notes, files: Sequence[str]) -> None:
        """Look no longer at a unit's functions that have no line in the files that count."""
        measured.read[number] = True
        image = measured.image
        functions = np.flatnonzero(image.owners == number)
        self._cut += 1
        path = Path(self._folder, f"{self._cut}.gcno")
        measured.notes[number], mention = narrow(notes, image.functions[functions], files, path)
        image.unwatch(functions[~mention])


class _Candidate:
    """A shared object that was built with --coverage, and whether gcov can say what it counts."""

    def __init__(self, path: str, data: Sequence[str]) -> None:
        """`data`: the paths of its .gcda files."""
        self.path = path
        self.tool = self.reason = ""
        notes: Optional[Notes] = next(filter(None, (notes_of(file, path) for file in data)), None)
        try:
            if notes is None:
                raise ImportError(f"its notes are missing: {Path(data[0]).with_suffix('.gcno') if data else 'none'}")
            self.tool = find_tool(notes.release)
        except ImportError as error:
            self.reason = f"{path}: {error}"


def _readable(candidates: Sequence[_Candidate]) -> Tuple[List[str], str]:
    """The objects that one gcov can read, and that gcov; raises ImportError if there are none."""
    if not candidates:
        raise ImportError("no shared object built with --coverage in the library or a --path folder")
    tool = next((candidate.tool for candidate in candidates if candidate.tool), None)
    if tool is None:
        raise ImportError(candidates[0].reason)
    for candidate in candidates:
        if candidate.tool != tool:
            print(f"evo_nabla: no gcov coverage of {candidate.reason or candidate.path}", file=sys.stderr)
    return [candidate.path for candidate in candidates if candidate.tool == tool], tool


def _loaded_from(packages: Sequence[str]) -> Iterator[_Candidate]:
    """Those of the library, which is imported."""
    within = tuple(os.path.realpath(package) + os.sep for package in packages)
    mappings = os.fsdecode(Path("/proc/self/maps").read_bytes()).splitlines()
    paths = {mapping[mapping.index("/") :] for mapping in mappings if "/" in mapping and ".so" in mapping}
    for path in sorted(path for path in paths if path.startswith(within)):
        library = loaded(path)
        units = [unit for own in roots(library).values() for unit in own] if library else []
        if units:
            yield _Candidate(path, [unit.data for unit in units])


def _lying_in(folders: Sequence[str]) -> Iterator[_Candidate]:
    """Those of the user, which the first call may import."""
    for path in sorted({os.path.realpath(path) for folder in folders for path in Path(folder).rglob("*.so")}):
        try:
            with Path(path).open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
                if data.find(MASTER.encode()) >= 0:
                    yield _Candidate(path, sorted({os.fsdecode(found) for found in _DATA_PATH.findall(data)}))
        except (OSError, ValueError):
            continue  # not to be read, or empty
