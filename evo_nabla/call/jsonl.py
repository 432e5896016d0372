"""Files of calls: one JSON object a line, plain or compressed with gzip."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from pathlib import Path
from typing import IO, Any, Dict, Iterable, Iterator, List, NoReturn, Tuple, Union, cast

from .call import Call
from .errors import CallError
from .parse import call_from_json
from .serialise import call_to_json

PathLike = Union[str, "os.PathLike[str]"]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_CHUNK = 600  # digits, below the shortest limit that a Python can be given (640)


def call_from_text(text: Union[str, bytes]) -> Call:
    """Read a call from JSON text (UTF-8 if bytes), strictly: no duplicate keys, no NaN or Infinity literals."""
    return call_from_json(_parse(text))


def bare_line(line: bytes) -> bytes:
    """A line without the white space around it and the byte order mark that some editors put before the first one."""
    line = line.strip()
    return line[len(_BYTE_ORDER_MARK) :].lstrip() if line.startswith(_BYTE_ORDER_MARK) else line


def read_calls(path: PathLike) -> Iterator[Call]:
    """The calls of a JSONL file (gzip if the name ends in .gz), one at a time; blank lines are skipped.

    CallError names file and line: ``calls.jsonl:17: args.0.tensor.shape[1]: negative dimension -3``.
    """
    name = os.fspath(path)
    line = 0
    try:
        with _open(name) as lines:
            for line, text in enumerate(lines, 1):
                text = bare_line(text)
                if text:
                    yield _located(text, f"{name}:{line}")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CallError(f"{name}:{line + 1}", f"damaged gzip data: {error}") from None
    except OSError as error:
        raise CallError(name, f"cannot be read: {error.strerror or error}") from None


def write_calls(path: PathLike, calls: Iterable[Call]) -> int:
    """Write calls as JSONL (gzip if the name ends in .gz) and say how many; the file appears whole or not at all.

    The same calls give the same bytes.
    """
    target = Path(path)
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    count = 0
    try:
        with partial.open("wb") as raw, _compressed(raw, target.name) as stream:
            for call in calls:
                text = json.dumps(call_to_json(call), separators=(",", ":"), allow_nan=False)
                stream.write(text.encode("ascii") + b"\n")
                count += 1
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return count


def _open(name: str) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(name, "rb")) if name.endswith(".gz") else Path(name).open("rb")


def _compressed(raw: IO[bytes], name: str) -> IO[bytes]:
    """No name and no time in the header, so that equal content is equal bytes."""
    return cast(IO[bytes], gzip.GzipFile("", "wb", fileobj=raw, mtime=0)) if name.endswith(".gz") else raw


def _located(text: bytes, place: str) -> Call:
    try:
        return call_from_text(text)
    except CallError as error:
        raise CallError(f"{place}: {error.path}" if error.path else place, error.problem) from None


def _parse(text: Union[str, bytes]) -> Any:
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        return _loaded(text)
    except UnicodeDecodeError as error:
        raise CallError("", f"not UTF-8: byte {error.start} is 0x{error.object[error.start]:02x}") from None
    except json.JSONDecodeError as error:
        raise CallError("", f"not JSON: {_reason(error)} at column {error.colno}") from None
    except RecursionError:
        raise CallError("", "nested too deep") from None
    except CallError:
        raise
    except ValueError as error:
        raise CallError("", f"not usable JSON: {error}") from None


def _loaded(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_members, parse_constant=_constant)
    except (json.JSONDecodeError, CallError):
        raise
    except ValueError:
        # An integer with more digits than this Python converts: read it all the same, so that whoever refuses it can
        # say where it stands. Only now, since a hook makes reading slower.
        return json.loads(text, object_pairs_hook=_members, parse_constant=_constant, parse_int=_long_integer)


def _long_integer(literal: str) -> int:
    sign, digits = (-1, literal[1:]) if literal.startswith("-") else (1, literal)
    value = 0
    for start in range(0, len(digits), _CHUNK):
        chunk = digits[start : start + _CHUNK]
        value = value * 10 ** len(chunk) + int(chunk)
    return sign * value


def _reason(error: json.JSONDecodeError) -> str:
    """What the parser says; some of its messages end in "at" already, for the position to follow."""
    return error.msg[: -len(" at")] if error.msg.endswith(" at") else error.msg


def _members(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise CallError("", f"key {twice[:40]!r} stands twice in one object")
    return members


def _constant(literal: str) -> NoReturn:
    word = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}[literal]
    raise CallError("", f'{literal} is not JSON: write {{"float": "{word}"}}')
