"""The arguments of a call as immutable values: tensors, containers, dtypes, slices and named objects.

None, bool, int, float, complex and str stand for themselves. Everything here compares and hashes by what would be
written: 1, 1.0 and True differ, 0.0 and -0.0 differ, and NaN equals itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple, TypeVar, Union

Number = Union[bool, int, float, complex]

_Self = TypeVar("_Self", bound="Written")


class Written:
    """Base of the immutable values: equality by written form, and copies that are the object itself."""

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and repr(self) == repr(other))

    def __hash__(self) -> int:
        return hash(repr(self))

    def __copy__(self: _Self) -> _Self:
        return self

    def __deepcopy__(self: _Self, memo: Dict[int, Any]) -> _Self:
        return self


@dataclass(frozen=True, eq=False)
class Values(Written):
    """Explicit elements, flat and row-major: bool, int, float or complex as the tensor's dtype asks."""

    flat: Tuple[Number, ...]


@dataclass(frozen=True, eq=False)
class Fill(Written):
    """Every element is `value`."""

    value: Number


@dataclass(frozen=True, eq=False)
class Seeded(Written):
    """Pseudo-random elements in [low, high), rebuilt from `seed` by `materialise`, which defines each kind."""

    seed: int
    low: Number = 0.0
    high: Number = 1.0
    kind: str = "uniform"


Content = Union[Values, Fill, Seeded]


@dataclass(frozen=True, eq=False)
class Layout(Written):
    """How the elements lie in memory: a kind of `layouts.KINDS`, or "explicit" with strides and offset in elements."""

    kind: str = "contiguous"
    strides: Optional[Tuple[int, ...]] = None
    offset: int = 0


CONTIGUOUS = Layout()


@dataclass(frozen=True, eq=False)
class TensorArgument(Written):
    """A tensor: shape, dtype name (of `dtypes.NAMES`), content and memory layout."""

    shape: Tuple[int, ...]
    dtype: str
    content: Content
    layout: Layout = CONTIGUOUS


@dataclass(frozen=True, eq=False)
class ListArgument(Written):
    """A JSON list."""

    items: Tuple[Argument, ...]


@dataclass(frozen=True, eq=False)
class TupleArgument(Written):
    """``{"tuple": [...]}``."""

    items: Tuple[Argument, ...]


@dataclass(frozen=True, eq=False)
class MappingArgument(Written):
    """``{"dict": {...}}``, sorted by key: a call's dictionaries have no order of their own."""

    items: Tuple[Tuple[str, Argument], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", by_name(self.items))


@dataclass(frozen=True, eq=False)
class DtypeArgument(Written):
    """``{"dtype": "float32"}``: the library's dtype of that name."""

    name: str


@dataclass(frozen=True, eq=False)
class SliceArgument(Written):
    """``{"slice": [start, stop, step]}``."""

    start: Optional[int]
    stop: Optional[int]
    step: Optional[int]


@dataclass(frozen=True, eq=False)
class ReferenceArgument(Written):
    """``{"ref": "torch.channels_last"}``: a named object of the library."""

    path: str


@dataclass(frozen=True, eq=False)
class ObjectArgument(Written):
    """``{"new": path, "args": [...], "kwargs": {...}}``: an object made by calling `path` with its own arguments."""

    path: str
    args: Tuple[Argument, ...] = ()
    kwargs: Tuple[Tuple[str, Argument], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "kwargs", by_name(self.kwargs))


@dataclass(frozen=True, eq=False)
class SameArgument(Written):
    """``{"same": "args.0"}``: the very object that stands at that earlier path of the call."""

    path: str


Argument = Union[
    None,
    bool,
    int,
    float,
    complex,
    str,
    TensorArgument,
    ListArgument,
    TupleArgument,
    MappingArgument,
    DtypeArgument,
    SliceArgument,
    ReferenceArgument,
    ObjectArgument,
    SameArgument,
]

NamedArguments = Tuple[Tuple[str, Argument], ...]


def by_name(items: NamedArguments) -> NamedArguments:
    """Name-argument pairs in the order of their names."""
    return items if len(items) < 2 else tuple(sorted(items, key=_name))


def _name(item: Tuple[str, Argument]) -> str:
    return item[0]
