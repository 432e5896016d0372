"""Paths in a call ("args.0", "kwargs.dim", "init.args.0"): walking it, and changing it in one place."""

from __future__ import annotations

import re
from typing import Dict, Iterator, List, Tuple, Union

from .arguments import (
    Argument,
    ListArgument,
    MappingArgument,
    NamedArguments,
    ObjectArgument,
    SameArgument,
    TensorArgument,
    TupleArgument,
)
from .call import Call, Init
from .dtypes import differentiable
from .errors import CallError

_PART = re.compile(r"(?:[^.\\]|\\.)*", re.DOTALL)
_Node = Union[Argument, Call, Init]
_CONTAINERS = (ListArgument, TupleArgument, MappingArgument, ObjectArgument)


def join(path: str, name: str) -> str:
    """`path` with one more part; a dot or backslash within the name is escaped by a backslash."""
    if "." in name or "\\" in name:
        name = name.replace("\\", "\\\\").replace(".", "\\.")
    return f"{path}.{name}"


def walk(call: Call) -> Iterator[Tuple[str, Argument]]:
    """Every argument with its path, depth first: args, then kwargs, then init's args and kwargs."""
    yield from _walk_both("", call.args, call.kwargs)
    if call.init is not None:
        yield from _walk_both("init.", call.init.args, call.init.kwargs)


def _walk_both(prefix: str, args: Tuple[Argument, ...], kwargs: NamedArguments) -> Iterator[Tuple[str, Argument]]:
    for index, item in enumerate(args):
        yield from walk_argument(item, f"{prefix}args.{index}")
    for name, item in kwargs:
        yield from walk_argument(item, join(f"{prefix}kwargs", name))


def walk_argument(argument: Argument, path: str) -> Iterator[Tuple[str, Argument]]:
    """The argument that stands at `path`, and all within it, each with its path."""
    yield path, argument
    if isinstance(argument, (ListArgument, TupleArgument)):
        for index, item in enumerate(argument.items):
            yield from walk_argument(item, f"{path}.{index}")
    elif isinstance(argument, MappingArgument):
        for name, item in argument.items:
            yield from walk_argument(item, join(path, name))
    elif isinstance(argument, ObjectArgument):
        yield from _walk_both(f"{path}.", argument.args, argument.kwargs)


def differentiated(call: Call) -> Tuple[str, ...]:
    """Paths of the inputs to differentiate: `call.diff`, or every floating and complex tensor outside `init`."""
    if call.diff is not None:
        return call.diff
    return tuple([
        path
        for path, item in _walk_both("", call.args, call.kwargs)
        if isinstance(item, TensorArgument) and differentiable(item.dtype)
    ])  # fmt: skip


def check_paths(call: Call) -> Call:
    """Refuse `diff` and `same` paths that lead nowhere; gives the call with `diff` in the order of `walk`."""
    if call.diff is None and not _mentions_same(call):
        return call
    seen: Dict[str, Argument] = {}
    for path, item in walk(call):
        if isinstance(item, SameArgument):
            _check_same(item, path, seen)
        seen[path] = item
    if call.diff is None:
        return call
    _check_diff(call.diff, seen)
    wanted = set(call.diff)
    diff = tuple([path for path in seen if path in wanted])
    return call if diff == call.diff else Call(call.api, call.args, call.kwargs, call.init, diff, call.extra)


def _mentions_same(call: Call) -> bool:
    top: List[Argument] = [*call.args, *[item for _, item in call.kwargs]]
    if call.init is not None:
        top += [*call.init.args, *[item for _, item in call.init.kwargs]]
    return any(isinstance(item, (SameArgument, *_CONTAINERS)) for item in top)


def _check_same(item: SameArgument, path: str, seen: Dict[str, Argument]) -> None:
    if item.path not in seen:
        raise CallError(f"{path}.same", f"no argument stands at {item.path!r} before it")
    if path.startswith(f"{item.path}."):
        raise CallError(f"{path}.same", f"stands within {item.path!r} itself")
    target = seen[item.path]
    if isinstance(target, SameArgument):
        raise CallError(f"{path}.same", f"{item.path!r} is itself the same as {target.path!r}: name that")


def _check_diff(diff: Tuple[str, ...], seen: Dict[str, Argument]) -> None:
    for index, path in enumerate(diff):
        if path not in seen:
            raise CallError(f"diff[{index}]", f"no argument stands at {path!r}")
        if not isinstance(seen[path], TensorArgument):
            raise CallError(f"diff[{index}]", f"{path!r} is not a tensor")
        if path in diff[:index]:
            raise CallError(f"diff[{index}]", f"{path!r} is named twice")
