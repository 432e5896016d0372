"""Asks the system's gcov what counters mean: source lines and branches by name."""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
import subprocess
import sysconfig
from pathlib import Path
from typing import Any, Container, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

import numpy as np

from .gcov_counters import RELEASES, Unit, release_of

_SECONDS = 5.0  # that one run may take; a unit with torch's headers takes 0.2
_SYSTEM = ("/usr/include", "/usr/lib", "/usr/local/include")
_COMPILER = ("/include/c++/", "/lib/gcc/")  # wherever it is installed
_DATA, _NOTES = 0x67636461, 0x67636E6F
_FUNCTION, _ARCS, _IDENTITY = 0x01000000, 0x01A10000, 12


class Notes(NamedTuple):
    """A .gcno file, which the compiler wrote beside the object file."""

    path: Path
    release: int
    stamp: int


class ToolError(Exception):
    """gcov did not answer; the message is one line."""


def notes_of(data: str, near: str) -> Optional[Notes]:
    """The notes that belong to a .gcda path as the compiler knew it, or else beside the shared object."""
    path = Path(data).with_suffix(".gcno")
    for candidate in (path, Path(near).with_name(path.name)):
        try:
            with candidate.open("rb") as stream:
                magic, version, stamp = struct.unpack("<III", stream.read(12))
        except (OSError, struct.error):
            continue
        if magic == _NOTES:
            return Notes(candidate, release_of(version), stamp)
    return None


def find_tool(release: int) -> str:
    """The gcov of a GCC release, whose notes no other can be trusted with; raises ImportError."""
    if release not in RELEASES:
        raise ImportError(f"compiled by GCC {release}; known are {RELEASES[0]} to {RELEASES[-1]}")
    found = ""
    for name in (f"gcov-{release}", "gcov"):
        path = shutil.which(name)
        if path is None:
            continue
        said = subprocess.run([path, "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        version = re.search(rb"\)\s+(\d+)\.", said.stdout)
        if version and int(version.group(1)) == release:
            return path
        found = found or f", and {path} is {version.group(1).decode() if version else 'another program'}"
    raise ImportError(f"compiled by GCC {release}: its gcov is needed{found or ', and there is none'}")


class Sources:
    """Which source files count, and what they are called."""

    def __init__(self, packages: Sequence[str], folders: Sequence[str]) -> None:
        """`packages`: the library's package folders; `folders`: the user's, which always count."""
        self._folders = sorted((os.path.realpath(folder) for folder in folders), key=len, reverse=True)
        self._parents = [str(Path(package).resolve().parent) for package in packages]
        python = (sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib", "include"))
        installed = [*_SYSTEM, *python, *(f"{package}/include" for package in packages)]
        self._installed = [os.path.realpath(folder) for folder in installed]

    def name(self, file: str, working_folder: str) -> Optional[str]:
        """The name of a source file as gcov gives it; None if it is a header of the compiler or of something that is
        installed, of which every source file brings thousands of lines."""
        path = os.path.realpath(Path(working_folder, file))
        for folder in self._folders:
            if _within(path, folder):
                return os.path.relpath(path, folder)
        if any(part in path for part in _COMPILER) or any(_within(path, folder) for folder in self._installed):
            return None
        for folder in (*self._parents, working_folder):
            if _within(path, folder):
                return os.path.relpath(path, folder)
        return path


def _within(path: str, folder: str) -> bool:
    return path.startswith(folder + os.sep)


class Executed(NamedTuple):
    """What counters mean: names of lines, "ops.cpp:12", and of branches, "ops.cpp:12.1"; and the files that count."""

    names: Set[str]
    files: List[str]


class Tool:
    """One gcov, with a folder for the files that it reads."""

    def __init__(self, path: str, folder: str, sources: Sources) -> None:
        self._command = [path, "--json-format", "--stdout", "--branch-probabilities", "unit.gcda"]
        self._folder = Path(folder)
        self._sources = sources
        self._environment = {**os.environ, "LC_ALL": "C"}  # a call may change the process's own

    def executed(self, unit: Unit, notes: Notes, functions: Dict[Tuple[int, int, int], np.ndarray]) -> Executed:
        """What was executed if only these functions of a unit have counted; raises ToolError."""
        link = self._folder / "unit.gcno"
        try:
            (self._folder / "unit.gcda").write_bytes(_data_file(unit, functions))
            if link.is_symlink():
                link.unlink()
            link.symlink_to(notes.path)
            done = subprocess.run(
                self._command,
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=True,
            )
            return self._read(json.loads(done.stdout.decode("utf-8", "replace")))
        except (OSError, subprocess.SubprocessError, ValueError, LookupError, TypeError) as error:
            raise ToolError(f"gcov failed on {notes.path}: {' '.join(str(error).split())}") from None

    def _read(self, document: Any) -> Executed:
        executed = Executed(set(), [])
        for file in document["files"]:
            name = self._sources.name(file["file"], document["current_working_directory"])
            if name is not None:
                executed.files.append(file["file"])
                executed.names.update(_names(name, file["lines"]))
        return executed


def _names(file: str, lines: Sequence[Any]) -> Iterator[str]:
    for line in lines:
        if line["count"] > 0:
            place = f"{file}:{line['line_number']}"
            yield place
            for index, branch in enumerate(line["branches"]):
                if branch["count"] > 0:
                    yield f"{place}.{index}"


def _data_file(unit: Unit, functions: Dict[Tuple[int, int, int], np.ndarray]) -> bytes:
    """A .gcda file with these functions alone. Since release 12 it has a checksum, and lengths are in bytes."""
    scale = 4 if unit.release >= 12 else 1
    parts = [struct.pack("<III", _DATA, unit.version, unit.stamp)]
    if unit.release >= 12:
        parts.append(struct.pack("<I", unit.checksum))
    for identity, counts in functions.items():
        parts.append(struct.pack("<IIIII", _FUNCTION, 3 * scale, *identity))
        parts.append(struct.pack("<II", _ARCS, 2 * len(counts) * scale))
        parts.append(counts.astype("<i8").tobytes())
    parts.append(struct.pack("<I", 0))
    return b"".join(parts)


def narrow(notes: Notes, functions: np.ndarray, files: Sequence[str], path: Path) -> Tuple[Notes, np.ndarray]:
    """Write to `path` what the notes say of the functions (rows that begin with their identity) that mention one of
    these files; these notes, and by function whether it does. Of a unit with torch's headers that is one in a hundred,
    which gcov reads in milliseconds.

    The notes are cut where functions are announced, and not read, for their format changes from release to release.
    A function that is not found counts as mentioning.
    """
    data = notes.path.read_bytes()
    numbers = {struct.pack("<III", *map(int, row[:3])): number for number, row in enumerate(functions)}
    announced = list(_announcements(data, numbers))
    names = re.compile(b"|".join(re.escape(os.fsencode(Path(file).name)) for file in files) or b"(?!)")
    mention = np.ones(len(functions), bool)
    kept = [data[: announced[0]] if announced else data]
    for place, end in zip(announced, [*announced[1:], len(data)]):
        number = numbers[data[place + 8 : place + 8 + _IDENTITY]]
        mention[number] = names.search(data, place, end) is not None
        if mention[number]:
            kept.append(data[place:end])
    path.write_bytes(b"".join(kept))
    return notes._replace(path=path), mention


def _announcements(data: bytes, identities: Container[bytes]) -> Iterator[int]:
    tag = struct.pack("<I", _FUNCTION)
    place = data.find(tag)
    while place >= 0:
        if data[place + 8 : place + 8 + _IDENTITY] in identities:
            yield place
        place = data.find(tag, place + 1)
