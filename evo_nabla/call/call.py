"""A call: one API with its arguments, its canonical text and its hash."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Optional, Tuple

from .arguments import Argument, NamedArguments, Written, by_name
from .serialise import call_document

Json = Any

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True, eq=False)
class Init(Written):
    """The arguments with which a module class is constructed before it is called."""

    args: Tuple[Argument, ...] = ()
    kwargs: NamedArguments = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "kwargs", by_name(self.kwargs))


@dataclass(frozen=True, eq=False)
class Call(Written):
    """One concrete invocation.

    `api` is a dotted import path; `diff` the paths of the differentiated tensors (None: every floating and complex
    one, see `paths.differentiated`); `extra` the top-level ``id`` and ``x-*`` members, kept but not part of the hash.
    """

    api: str
    args: Tuple[Argument, ...] = ()
    kwargs: NamedArguments = ()
    init: Optional[Init] = None
    diff: Optional[Tuple[str, ...]] = None
    extra: Tuple[Tuple[str, Json], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "kwargs", by_name(self.kwargs))


def canonical_text(call: Call) -> str:
    """The call's one written form: JSON in ASCII, keys sorted, no spaces, extras left out."""
    return _CANONICAL.encode(call_document(call))


def call_hash(call: Call) -> str:
    """32 hexadecimal digits of BLAKE2b over the canonical text; the same in every process, Python and NumPy."""
    return hashlib.blake2b(canonical_text(call).encode("ascii"), digest_size=16).hexdigest()
