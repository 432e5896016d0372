"""What an ELF file says of its code: build-id, extent of .text, where every function starts, symbols.

pyelftools reads the headers; the tables, with up to a million rows, are read by NumPy. Function starts come from the
binary search table in .eh_frame_hdr, which every C++ library keeps for its exceptions, stripped or not. Source: Linux
Standard Base Core Specification 5.0, 10.6.2.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from elftools.elf.elffile import ELFFile
from numpy.typing import NDArray

from .errors import ImageError

Addresses = NDArray[np.uint64]

_MACHINE = "EM_X86_64"
_TABLE_ENCODING = 0x3B  # each entry relative to the section's start, signed, 4 bytes
_COUNT_ENCODING = 0x03  # absolute, unsigned, 4 bytes
_HEAD = struct.Struct("<BBBBiI")  # version, three encodings, pointer to .eh_frame, count
_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_FUNCTION_TYPES = (2, 10)  # STT_FUNC, STT_GNU_IFUNC
_NOTE_GNU_BUILD_ID = 3
_MAX_SECTIONS = 65_535


class Section(NamedTuple):
    """One section: where it is in memory (before loading) and in the file."""

    address: int
    offset: int
    size: int
    link: int


@dataclass(frozen=True)
class Image:
    """One shared object. Addresses are those of the file, before the loader's bias."""

    path: Path
    build_id: str  # hexadecimal
    text: tuple[int, int]
    starts: Addresses  # of functions inside .text, sorted, each once

    def end_of(self, index: int) -> int:
        """Where the function with that index ends at the latest: where the next one starts."""
        return int(self.starts[index + 1]) if index + 1 < len(self.starts) else self.text[1]


class Symbols(NamedTuple):
    """Names of functions by address: parallel arrays sorted by address, and the string table they point into."""

    addresses: Addresses
    names: NDArray[np.uint32]
    strings: NDArray[np.uint8]


class ElfFile:
    """An ELF file's sections, checked to lie inside the file; every problem is an ImageError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._bytes = np.memmap(path, np.uint8, "r")
        except OSError as error:
            raise ImageError(path, error.strerror or f"{error}") from None
        except ValueError:
            raise ImageError(path, "empty") from None
        self._sections, self._by_index = self._read_sections()

    def image(self) -> Image:
        """Build-id, text and function starts."""
        return Image(self.path, self.build_id(), self.text(), self.function_starts())

    def text(self) -> tuple[int, int]:
        """From where to where .text goes: the code that was compiled, without .plt."""
        text = self._section(".text")
        return text.address, text.address + text.size

    def function_starts(self) -> Addresses:
        """Where the functions in .text start, sorted; none in a library that only pulls in others."""
        low, high = self.text()
        starts = self._table_of_starts()
        return starts[(starts >= low) & (starts < high)]

    def build_id(self) -> str:
        """The linker's hash of the contents."""
        data = self._data(".note.gnu.build-id").tobytes()
        if len(data) >= 16:
            name_size, size, kind = struct.unpack_from("<III", data)
            if kind == _NOTE_GNU_BUILD_ID and name_size == 4 and 0 < size <= len(data) - 16:
                return data[16 : 16 + size].hex()
        raise ImageError(self.path, "the note .note.gnu.build-id holds no build-id")

    def code(self) -> NDArray[np.uint8]:
        """The bytes of .text."""
        return self._data(".text")

    def symbols(self) -> Symbols:
        """The functions of .symtab, or of .dynsym where the file is stripped."""
        name = ".symtab" if ".symtab" in self._sections else ".dynsym"
        if name not in self._sections:
            return Symbols(np.empty(0, np.uint64), np.empty(0, np.uint32), np.zeros(1, np.uint8))
        data = self._data(name)
        table = data[: len(data) // _SYMBOL.itemsize * _SYMBOL.itemsize].view(_SYMBOL)
        strings = self._contents(self._linked(name), f"the strings of {name}")
        kind = table["info"] & 15
        wanted = (table["section"] != 0) & ((kind == _FUNCTION_TYPES[0]) | (kind == _FUNCTION_TYPES[1]))
        table = table[wanted & (table["name"] < len(strings))]
        order = np.argsort(table["value"], kind="stable")
        return Symbols(table["value"][order], table["name"][order], strings)

    def _read_sections(self) -> tuple[dict[str, Section], list[Section]]:
        try:
            with self.path.open("rb") as stream:
                file = ELFFile(stream)
                if file.elfclass != 64 or not file.little_endian or file["e_machine"] != _MACHINE:
                    raise ImageError(self.path, f"not for x86-64 but {file['e_machine']}")
                if file.num_sections() > _MAX_SECTIONS:
                    raise ImageError(self.path, "too many sections")
                named = [(section.name, _section(section)) for section in file.iter_sections()]
        except ImageError:
            raise
        except Exception as error:
            # Of a damaged file pyelftools may raise anything, from its own errors to KeyError and UnicodeDecodeError.
            raise ImageError(self.path, f"not a sound ELF file ({_said(error)})") from None
        return dict(named), [section for _, section in named]

    def _section(self, name: str) -> Section:
        if name not in self._sections:
            raise ImageError(self.path, f"no section {name}")
        return self._sections[name]

    def _linked(self, name: str) -> Section:
        link = self._section(name).link
        if link >= len(self._by_index):
            raise ImageError(self.path, f"section {name} links to none")
        return self._by_index[link]

    def _data(self, name: str) -> NDArray[np.uint8]:
        return self._contents(self._section(name), f"section {name}")

    def _contents(self, section: Section, what: str) -> NDArray[np.uint8]:
        end = section.offset + section.size
        if end > len(self._bytes) or section.address + section.size >= 1 << 63:
            raise ImageError(self.path, f"{what} reaches beyond the end of the file")
        return self._bytes[section.offset : end]

    def _table_of_starts(self) -> Addresses:
        section, data = self._section(".eh_frame_hdr"), self._data(".eh_frame_hdr")
        if len(data) < _HEAD.size:
            raise ImageError(self.path, ".eh_frame_hdr is cut off")
        version, _, counted, encoding, _, count = _HEAD.unpack_from(data.tobytes()[: _HEAD.size])
        if version != 1 or counted != _COUNT_ENCODING or encoding != _TABLE_ENCODING:
            raise ImageError(self.path, f".eh_frame_hdr is encoded as {encoding:#x} and not {_TABLE_ENCODING:#x}")
        if 8 * count > len(data) - _HEAD.size:
            raise ImageError(self.path, f".eh_frame_hdr has no room for its {count} entries")
        entries = data[_HEAD.size : _HEAD.size + 8 * count].view("<i4")
        starts = np.unique(entries[::2].astype(np.int64) + section.address)
        return starts[starts >= 0].astype(np.uint64)


def _section(section: Any) -> Section:
    return Section(section["sh_addr"], section["sh_offset"], section["sh_size"], section["sh_link"])


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if f"{error}" else type(error).__name__
