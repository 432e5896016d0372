"""A call: one API with its arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, Tuple

from .arguments import Argument, NamedArguments, Written, by_name

Json = Any


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
