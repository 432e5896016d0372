"""Seed files: the calls bundled for a library or given by the user, indexed by API and parsed only when asked for."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from evo_nabla.call import Call, CallError, call_from_text, write_calls
from evo_nabla.call.jsonl import bare_line

BUNDLED = Path(__file__).resolve().parents[2] / "seeds"
"""Where the seeds that this project harvested lie, one file per library."""

# How write_calls begins a line: the API can be read off without parsing the call.
_BEGINNING = re.compile(rb'\{"api":"([\w.]+)"')

_Line = tuple[int, bytes]


class Seeds:
    """The calls of one JSONL file (gzip if its name ends in .gz).

    Reading the file costs its decompression; a call is parsed when it is asked for. CallError names file and line:
    ``calls.jsonl:17: args.0.tensor.shape[1]: negative dimension -3``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines: dict[str, list[_Line]] = {}
        for number, text in enumerate(_read(path).split(b"\n"), 1):
            if bare_line(text):
                self._lines.setdefault(self._api(number, text), []).append((number, text))

    def __len__(self) -> int:
        """How many calls the file holds."""
        return sum(len(lines) for lines in self._lines.values())

    def __iter__(self) -> Iterator[Call]:
        """Every call, API by API."""
        return self.matching(())

    def apis(self) -> list[str]:
        """The APIs that have seeds, sorted."""
        return sorted(self._lines)

    def calls(self, api: str) -> list[Call]:
        """The seeds of one API in the file's order; none for an API that has no seeds."""
        return [self._parse(number, text) for number, text in self._lines.get(api, ())]

    def matching(self, globs: Sequence[str]) -> Iterator[Call]:
        """The seeds of every API that matches one of `globs` (none: every API), API by API; only these are parsed."""
        for api in self.apis():
            if not globs or any(fnmatchcase(api, glob) for glob in globs):
                yield from self.calls(api)

    def _api(self, number: int, text: bytes) -> str:
        beginning = _BEGINNING.match(text)
        return beginning[1].decode("utf-8", "replace") if beginning else self._parse(number, text).api

    def _parse(self, number: int, text: bytes) -> Call:
        try:
            return call_from_text(text)
        except CallError as error:
            place = f"{self.path}:{number}"
            raise CallError(f"{place}: {error.path}" if error.path else place, error.problem) from None


def bundled_path(library: str) -> Path:
    """Where the bundled seeds of a library lie, whether or not they exist."""
    return BUNDLED / f"{library}.jsonl.gz"


def bundled_seeds(library: str) -> Seeds:
    """The seeds that come with evo_nabla for a library. CallError says how to make them where there are none."""
    path = bundled_path(library)
    if not path.exists():
        raise CallError(
            str(path), f"no seeds are bundled for {library}: make them with `evo-nabla seeds harvest {library}`"
        )
    return Seeds(path)


def user_seeds(path: Path) -> Seeds:
    """The seeds of a user's own file, every line of it read and found good. Raises CallError."""
    seeds = Seeds(path)
    for _ in seeds:
        pass
    if not len(seeds):
        raise CallError(str(path), "holds no calls")
    return seeds


def write_seeds(path: Path, calls: Iterable[Call]) -> int:
    """Writes calls grouped by API, those of one API in the order given, and says how many."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_calls(path, sorted(calls, key=lambda call: call.api))


def _read(path: Path) -> bytes:
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if path.name.endswith(".gz") else raw
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CallError(str(path), f"damaged gzip data: {error}") from None
    except OSError as error:
        raise CallError(str(path), f"cannot be read: {error.strerror or error}") from None
