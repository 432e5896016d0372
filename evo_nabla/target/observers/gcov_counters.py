"""The counters that GCC's --coverage compiles into a shared object, read where they count.

Every such object carries a copy of libgcov of its own, hidden in it, and `__gcov_dump` is not even linked unless the
object's own code calls it. What each does export is `__gcov_master`, through which libgcov's copies find each other,
and from which all counters can be reached. The structures are those of libgcc/libgcov.h; Linux reads them in the same
way (kernel/gcov/gcc_4_7.c).
"""

from __future__ import annotations

import ctypes
import os
from typing import Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

import numpy as np

MASTER = "__gcov_master"
# The kinds of counters by GCC's release (gcc/gcov-counter.def), which move the fields behind them.
_KINDS = {9: 9, 10: 8, 11: 8, 12: 8, 13: 8, 14: 9, 15: 10}
RELEASES = range(min(_KINDS), max(_KINDS) + 1)
_process = ctypes.CDLL(None)
_KNOWN = 4096  # movements that are remembered to be nothing new


class Unit(NamedTuple):
    """One compiled source file in a loaded object."""

    release: int  # of the GCC that compiled it
    version: int  # as libgcov writes it
    stamp: int
    checksum: int
    data: str  # the path of the .gcda file that the object would write
    functions: np.ndarray  # a row for each function: three words that identify it, number of counters, their address


def release_of(version: int) -> int:
    """The GCC release that a version says, which is four characters: "B22*" is 12.2."""
    return (version >> 24) * 10 - ord("A") * 10 + (version >> 16 & 0xFF) - ord("0")


def loaded(path: str) -> Optional[ctypes.CDLL]:
    """A shared object, if it is loaded already."""
    try:
        return ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return None


def loads() -> int:
    """How many objects this process has loaded so far: tells in microseconds whether there may be a new one."""
    found = ctypes.c_ulonglong()
    _process.dl_iterate_phdr(_note_loads, ctypes.byref(found))
    return found.value


class _Header(ctypes.Structure):
    _fields_ = [
        ("address", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("segments", ctypes.c_void_p),
        ("count", ctypes.c_uint16),
        ("loads", ctypes.c_ulonglong),
    ]


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Header), ctypes.c_size_t, ctypes.POINTER(ctypes.c_ulonglong))
def _note_loads(header, _, found):  # type: ignore[no-untyped-def]
    found[0] = header[0].loads
    return 1


def roots(library: ctypes.CDLL) -> Dict[int, List[Unit]]:
    """The units of an object by the address of its root. Where the dynamic linker has found another object's master
    for it, those of that object are among them; an object without --coverage has none, or its dependencies'."""
    try:
        master = ctypes.addressof(ctypes.c_char.in_dll(library, MASTER))
    except ValueError:
        return {}
    return {root: list(_units(_word(root))) for root in _chain(_word(master + 8), 16)}


def _chain(address: int, following: int) -> Iterator[int]:
    seen: Set[int] = set()
    while address and address not in seen:
        seen.add(address)
        yield address
        address = _word(address + following)


def _units(first: int) -> Iterator[Unit]:
    for info in _chain(first, 8):
        version = _word(info) & 0xFFFFFFFF
        release = release_of(version)
        kinds = _KINDS.get(release)
        # Without the first merge function it is an object for other profiles, which counts no arcs.
        if kinds is None or not _word(info + 32):
            continue
        stamps = _word(info + 16)
        pointers = _words(np.arange(_word(info + 32 + 8 * kinds) & 0xFFFFFFFF) * 8 + _word(info + 40 + 8 * kinds))
        data = os.fsdecode(ctypes.string_at(_word(info + 24)))
        checksum = stamps >> 32 if release >= 12 else 0
        yield Unit(release, version, stamps & 0xFFFFFFFF, checksum, data, _functions(info, pointers))


def _functions(info: int, pointers: np.ndarray) -> np.ndarray:
    pointers = pointers[pointers != 0]
    # The linker keeps one of the many copies of an inline function; that copy's counters are another unit's.
    pointers = pointers[_words(pointers) == info]
    first, second, third, address = (_words(pointers + offset) for offset in (8, 16, 24, 32))
    low = np.int64(0xFFFFFFFF)
    return np.stack([first & low, first >> 32 & low, second & low, third & low, address], axis=1)


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def _words(addresses: np.ndarray) -> np.ndarray:
    """The words at many addresses. Signed, which no address in user space minds, and shifts and masks do not either."""
    if not len(addresses):
        return np.zeros(0, np.int64)
    low, high = int(addresses.min()), int(addresses.max())
    words: np.ndarray = _memory(low, (high - low) // 8 + 1)[(addresses - low) >> 3]
    return words


def _memory(address: int, words: int) -> np.ndarray:
    """A view of this process's memory."""
    return np.ctypeslib.as_array((ctypes.c_int64 * words).from_address(address))


class Image:
    """All counters of one loaded object, and which of them have moved. Functions are numbered."""

    def __init__(self, units: List[Unit]) -> None:
        """Watch all functions of these units, of which at least one has one."""
        self.units = units
        table = np.concatenate([unit.functions for unit in units])
        owners = np.repeat(np.arange(len(units)), [len(unit.functions) for unit in units])
        order = np.argsort(table[:, 4], kind="stable")
        self.functions, self.owners = table[order], owners[order]
        low = int(self.functions[0, 4])
        self._begins = (self.functions[:, 4] - low) >> 3
        self._memory = _memory(low, int((self._begins + self.functions[:, 3]).max()))
        self._known: Set[Tuple[bytes, bytes]] = set()
        self._watch(np.arange(len(self.functions)))

    def note(self) -> None:
        """What counts is what moves from here on."""
        self._noted = self._memory[self._places]

    def moved(self) -> Dict[int, np.ndarray]:
        """By function: how far its counters have moved since they were noted; nothing where all moved just so before.
        A function whose counters went backwards (something has reset them) is left out."""
        steps = self._memory[self._places] - self._noted
        moving = np.flatnonzero(steps)
        if not len(moving):
            return {}
        movement = (moving.tobytes(), steps[moving].tobytes())
        if movement in self._known:
            return {}
        if len(self._known) >= _KNOWN:
            self._known.clear()
        self._known.add(movement)
        moved: Dict[int, np.ndarray] = {}
        for index in np.unique(np.searchsorted(self._ends, moving, side="right")):
            counts = steps[self._ends[index] - self._lengths[index] : self._ends[index]]
            if counts.min() >= 0:
                moved[int(self._watched[index])] = counts
        return moved

    def forget_movements(self) -> None:
        """Tell of movements again that were told of before."""
        self._known.clear()

    def unwatch(self, functions: np.ndarray) -> None:
        """Look at these functions no longer."""
        self._watch(np.setdiff1d(self._watched, functions))

    def _watch(self, functions: np.ndarray) -> None:
        """Look at these functions alone, whose counters are gathered from where they lie among the others."""
        self._watched = functions
        self._lengths = self.functions[functions, 3]
        self._ends = np.cumsum(self._lengths)
        gaps = self._begins[functions] - (self._ends - self._lengths)
        self._places = np.repeat(gaps, self._lengths) + np.arange(self._lengths.sum())
        self.forget_movements()
        self.note()
