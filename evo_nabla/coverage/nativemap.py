"""The campaign's map of native code: what to plant in a worker, and what its hits mean as features.

Three kinds of features. A `function` and a `block` are named by library and address in the file, which stay the same as
long as the library's build does: "libtorch_cpu.so:0x1a2b3c". A `rule` is one of the library's differentiation rules,
named as the library does: "AddmmBackward0".
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .blocks import leaders
from .cache import Cache, Leaders
from .elf import Addresses, ElfFile, Image
from .errors import ImageError
from .names import SymbolNames, area, demangle
from .rules import rules_of

FUNCTION, BLOCK, RULE = "function", "block", "rule"
NATIVE = (FUNCTION, BLOCK)

Features = dict[str, dict[str, list[str]]]  # by kind and by the mode that reached them


class Module(Protocol):
    """A shared object as a worker reports it."""

    @property
    def name(self) -> str:
        """Its file's name: the first part of its features' names."""

    @property
    def path(self) -> str:
        """Its file."""

    @property
    def build_id(self) -> str:
        """In hexadecimal; "" if it has none."""


class Named(NamedTuple):
    """A function or block in words: the function's demangled name (library+0xaddress if it has none), its source
    area ("" if unknown), and the offset inside the function."""

    library: str
    function: str
    area: str
    offset: int


@dataclass(frozen=True)
class Totals:
    """How much of one library was reached: functions of all, and blocks of those known so far."""

    functions: int
    all_functions: int
    blocks: int
    known_blocks: int


class Library:
    """One mapped shared object and what this campaign has seen of it."""

    def __init__(self, name: str, file: ElfFile, image: Image, known: Leaders) -> None:
        self.name = name
        self.image = image
        self.known = known
        self.dirty = False
        self.seen: NDArray[np.bool_] = np.zeros(len(image.starts), np.bool_)
        self.seen_blocks: set[int] = set()
        self._code = file.code()
        self.names = SymbolNames(file.symbols())
        self.rules = rules_of(self.names)

    def holds(self, address: int) -> bool:
        """Whether there is code of functions at an address."""
        return len(self.image.starts) > 0 and int(self.image.starts[0]) <= address < self.image.text[1]

    def see(self, address: int) -> bool:
        """Note a hit; whether it is a function's start. Raises ValueError for an address outside the code."""
        if not self.holds(address):
            raise ValueError(f"{self.name} has no code at {address:#x}")
        index = self._index(address)
        if int(self.image.starts[index]) == address:
            self.seen[index] = True
            return True
        self.seen_blocks.add(address)
        return False

    def leaders_of(self, start: int) -> tuple[int, ...]:
        """The blocks of the function that starts there, descended into when first asked for."""
        if start not in self.known:
            end = self.image.end_of(self._index(start))
            low = self.image.text[0]
            self.known[start] = tuple(leaders(self._code[start - low : end - low].tobytes(), start))
            self.dirty = True
        return self.known[start]

    def to_plant(self) -> Addresses:
        """All functions that were not seen, and all blocks not seen of those that were."""
        rest = self.image.starts[~self.seen]
        blocks = [
            leader
            for start in self.image.starts[self.seen].tolist()
            for leader in self.leaders_of(start)
            if leader not in self.seen_blocks
        ]
        return np.sort(np.concatenate([rest, np.array(blocks, np.uint64)]))

    def function_of(self, address: int) -> int:
        """Where the function that holds an address starts."""
        return int(self.image.starts[self._index(address)])

    def totals(self) -> Totals:
        """How much was reached."""
        known_blocks = sum(len(self.leaders_of(start)) for start in self.image.starts[self.seen].tolist())
        return Totals(int(self.seen.sum()), len(self.seen), len(self.seen_blocks), known_blocks)

    def _index(self, address: int) -> int:
        return max(0, int(np.searchsorted(self.image.starts, np.uint64(address), "right")) - 1)


class NativeMap:
    """Answers the executor's two questions, from any of its threads; a context manager that owns a folder for the
    lists of what to plant. `skipped` says why a module that a worker reported is not measured."""

    def __init__(self, seen: Iterable[str] = (), cache: Cache | None = None) -> None:
        """`seen`: the names of functions and blocks that the campaign has seen in earlier sessions."""
        self._cache = cache if cache is not None else Cache()
        self._lock = threading.RLock()
        self._libraries: dict[str, Library] = {}
        self.skipped: dict[str, str] = {}
        self._earlier: dict[str, list[int]] = {}
        for feature in seen:
            name, address = _parse(feature)
            self._earlier.setdefault(name, []).append(address)
        self._folder = tempfile.TemporaryDirectory(prefix="evo_nabla-plant-")

    def __enter__(self) -> NativeMap:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Keep the leaders found for the next time."""
        with self._lock:
            self.save()
            self._folder.cleanup()

    def save(self) -> None:
        """Write what was found to the cache."""
        with self._lock:
            for library in self._libraries.values():
                if library.dirty:
                    self._cache.keep_leaders(library.image.build_id, library.image.text, library.known)
                    library.dirty = False

    # ---- what the executor asks ----

    def plan(self, modules: Sequence[Module]) -> dict[str, Path]:
        """For a worker that starts: the file with the addresses to plant, by module (NumPy's format, unsigned)."""
        with self._lock:
            plan = {}
            for module in modules:
                library = self._library(module)
                if library is not None:
                    plan[module.name] = self._list(library)
            return plan

    def translate(
        self, modules: Sequence[Module], hits: Mapping[str, Sequence[str]]
    ) -> tuple[Features, dict[str, list[int]]]:
        """What a worker's hits mean ("module index:hexadecimal address", by mode): the features, and the addresses to
        plant now, by module, since functions were reached there for the first time. Raises ValueError for hits that
        no module of these can have had."""
        features: Features = {}
        plant: dict[str, list[int]] = {}
        with self._lock:
            for mode, entries in hits.items():
                for entry in entries:
                    name, address = self._place(modules, entry)
                    library = self._libraries[name]
                    kind = FUNCTION if library.see(address) else BLOCK
                    features.setdefault(kind, {}).setdefault(mode, []).append(f"{name}:{address:#x}")
                    if kind == BLOCK:
                        continue
                    fresh = [leader for leader in library.leaders_of(address) if leader not in library.seen_blocks]
                    if fresh:
                        plant.setdefault(name, []).extend(fresh)
                    if address in library.rules:
                        features.setdefault(RULE, {}).setdefault(mode, []).append(library.rules[address])
        return features, plant

    # ---- what a report asks ----

    def load(self, modules: Iterable[Module]) -> None:
        """Get to know shared objects without planting in them; what cannot be is in `skipped`."""
        with self._lock:
            for module in modules:
                self._library(module)

    def rules(self) -> list[str]:
        """All differentiation rules of the libraries mapped so far, sorted: the denominator of rule coverage."""
        with self._lock:
            return sorted({rule for library in self._libraries.values() for rule in library.rules.values()})

    def totals(self) -> dict[str, Totals]:
        """How much was reached, by library."""
        with self._lock:
            return {name: library.totals() for name, library in self._libraries.items()}

    def describe(self, feature: str) -> Named:
        """A function or block in words; raises ValueError for what is no name of one, or of a library not mapped."""
        name, address = _parse(feature)
        with self._lock:
            if name not in self._libraries:
                raise ValueError(f"{feature}: no library {name} is mapped")
            library = self._libraries[name]
            start = library.function_of(address)
            symbol = library.names.at(start)
        if symbol is None:
            return Named(name, f"{name}+{start:#x}", "", address - start)
        function = demangle(symbol)
        return Named(name, function, area(function), address - start)

    # ---- inside ----

    def _library(self, module: Module) -> Library | None:
        if module.name in self._libraries:
            library = self._libraries[module.name]
            return library if library.image.build_id == module.build_id else None
        if module.name in self.skipped:
            return None
        try:
            library = self._open(module)
        except ImageError as error:
            self.skipped[module.name] = error.problem
            return None
        for address in self._earlier.pop(module.name, ()):
            if library.holds(address):  # else it was another build of that library
                library.see(address)
        self._libraries[module.name] = library
        return library

    def _open(self, module: Module) -> Library:
        path = Path(module.path)
        file = ElfFile(path)
        build_id, text = file.build_id(), file.text()
        if build_id != module.build_id:
            raise ImageError(path, "replaced by another build since the worker loaded it")
        starts = self._cache.starts(build_id, text)
        if starts is None:
            starts = file.function_starts()
            self._cache.keep_starts(build_id, starts)
        image = Image(path, build_id, text, starts)
        return Library(module.name, file, image, self._cache.leaders(build_id, text))

    def _list(self, library: Library) -> Path:
        path = Path(self._folder.name) / f"{library.name.replace('/', '_')}.npy"
        # Replaced whole: another worker may be reading the list that was there before.
        temporary = path.with_suffix(".new")
        with temporary.open("wb") as stream:
            np.save(stream, library.to_plant(), allow_pickle=False)
        return temporary.replace(path)

    def _place(self, modules: Sequence[Module], entry: str) -> tuple[str, int]:
        index, _, address = entry.partition(":")
        try:
            name, number = modules[int(index)].name, int(address, 16)
        except (ValueError, IndexError):
            raise ValueError(f"no hit: {entry!r}") from None
        if name not in self._libraries:
            raise ValueError(f"nothing was planted in {name}")
        return name, number


def _parse(feature: str) -> tuple[str, int]:
    name, _, address = feature.rpartition(":")
    try:
        return name, int(address, 16)
    except ValueError:
        raise ValueError(f"{feature!r} names no native code") from None
