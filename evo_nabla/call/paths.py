"""Paths in a call ("args.0", "kwargs.dim", "init.args.0"): walking it, and changing it in one place."""

from __future__ import annotations

import re
from typing import Callable, Dict, Iterator, List, Optional, Tuple

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

_PART = re.compile(r"((?:\\.|[^.\\])*)\.", re.DOTALL)
_Change = Callable[[Argument], Tuple[Argument, ...]]
_MAY_HOLD_SAME = (SameArgument, ListArgument, TupleArgument, MappingArgument, ObjectArgument)


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


def split(path: str) -> List[str]:
    """The parts of a path, unescaped: the inverse of `join`."""
    return [re.sub(r"\\(.)", r"\1", part, flags=re.DOTALL) for part in _PART.findall(f"{path}.")]


def get(call: Call, path: str) -> Argument:
    """The argument at `path`; CallError if there is none."""
    for here, item in walk(call):
        if here == path:
            return item
    raise _nothing_at(path)


def replace(call: Call, path: str, argument: Argument) -> Call:
    """A call with `argument` at `path` instead.

    `diff` loses what no longer is a floating or complex tensor there, and falls back to None (all of them) when
    nothing is left of it. A `same` whose target has vanished becomes what stood there.
    """
    changed = _edit(call, path, lambda old: (argument,))
    return _mend(call, changed, lambda old: old)


def remove(call: Call, path: str) -> Call:
    """A call without the argument at `path`; later ones of the same list move up, and `diff` and `same` follow them."""
    changed = _edit(call, path, lambda old: ())
    parts = split(path)
    named = len(parts) > 2 and isinstance(dict(walk(call)).get(_joined(parts[:-1])), MappingArgument)
    moves = parts[-1].isdigit() and not named
    return _mend(call, changed, lambda old: _after_removal(old, path, moves))


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
    if _may_hold_same(call):
        seen: Dict[str, Argument] = {}
        for path, item in walk(call):
            if isinstance(item, SameArgument):
                _check_same(item, path, seen)
            seen[path] = item
    if not call.diff:
        return call
    nodes = dict(walk(call))
    _check_diff(call.diff, nodes)
    diff = call.diff if len(call.diff) == 1 else tuple([path for path in nodes if path in call.diff])
    return call if diff == call.diff else Call(call.api, call.args, call.kwargs, call.init, diff, call.extra)


def _may_hold_same(call: Call) -> bool:
    """Cheap to ask of the many calls without containers, which are not walked then."""
    top: List[Argument] = [*call.args, *[item for _, item in call.kwargs]]
    if call.init is not None:
        top += [*call.init.args, *[item for _, item in call.init.kwargs]]
    return any(isinstance(item, _MAY_HOLD_SAME) for item in top)


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


def _edit(call: Call, path: str, change: _Change) -> Call:
    parts = split(path)
    try:
        if parts[0] != "init":
            args, kwargs = _edit_both(call.args, call.kwargs, parts, change)
            return Call(call.api, args, kwargs, call.init, call.diff, call.extra)
        if call.init is None:
            raise KeyError(path)
        args, kwargs = _edit_both(call.init.args, call.init.kwargs, parts[1:], change)
    except (LookupError, ValueError):
        raise _nothing_at(path) from None
    return Call(call.api, call.args, call.kwargs, Init(args, kwargs), call.diff, call.extra)


def _edit_both(
    args: Tuple[Argument, ...], kwargs: NamedArguments, parts: List[str], change: _Change
) -> Tuple[Tuple[Argument, ...], NamedArguments]:
    if parts[0] == "args":
        return _edit_items(args, parts[1:], change), kwargs
    if parts[0] == "kwargs":
        return args, _edit_named(kwargs, parts[1:], change)
    raise KeyError(parts[0])


def _edit_items(items: Tuple[Argument, ...], parts: List[str], change: _Change) -> Tuple[Argument, ...]:
    index = range(len(items)).index(int(parts[0]))
    return (*items[:index], *_edit_argument(items[index], parts[1:], change), *items[index + 1 :])


def _edit_named(items: NamedArguments, parts: List[str], change: _Change) -> NamedArguments:
    index = [name for name, _ in items].index(parts[0])
    edited = _edit_argument(items[index][1], parts[1:], change)
    return (*items[:index], *[(parts[0], item) for item in edited], *items[index + 1 :])


def _edit_argument(argument: Argument, parts: List[str], change: _Change) -> Tuple[Argument, ...]:
    if not parts:
        return change(argument)
    if isinstance(argument, ListArgument):
        return (ListArgument(_edit_items(argument.items, parts, change)),)
    if isinstance(argument, TupleArgument):
        return (TupleArgument(_edit_items(argument.items, parts, change)),)
    if isinstance(argument, MappingArgument):
        return (MappingArgument(_edit_named(argument.items, parts, change)),)
    if isinstance(argument, ObjectArgument):
        return (ObjectArgument(argument.path, *_edit_both(argument.args, argument.kwargs, parts, change)),)
    raise KeyError(parts[0])


def _after_removal(path: str, removed: str, moves: bool) -> Optional[str]:
    """Where an old path leads once `removed` is gone, None for what went with it; `moves`: later items move up."""
    if _is_within(path, removed):
        return None
    parts, gone = split(path), split(removed)
    last = len(gone) - 1
    if moves and len(parts) > last and parts[:last] == gone[:last] and int(parts[last]) > int(gone[last]):
        parts[last] = str(int(parts[last]) - 1)
        return _joined(parts)
    return path


def _joined(parts: List[str]) -> str:
    path = parts[0]
    for part in parts[1:]:
        path = join(path, part)
    return path


def _is_within(path: str, ancestor: str) -> bool:
    return path == ancestor or path.startswith(f"{ancestor}.")


def _mend(old: Call, new: Call, move: Callable[[str], Optional[str]]) -> Call:
    """`new` with the paths in its `diff` and `same` leading where those of `old` did."""
    if any(isinstance(item, SameArgument) for _, item in walk(new)):
        new = _Mender(old, new, move).mended()
    if new.diff is None:
        return new
    nodes = dict(walk(new))
    moved = [move(path) for path in new.diff]
    diff = tuple([path for path in moved if path is not None and _is_differentiable(nodes.get(path))])
    kept = diff if diff or not new.diff else None
    return Call(new.api, new.args, new.kwargs, new.init, kept, new.extra)


def _is_differentiable(argument: Argument) -> bool:
    return isinstance(argument, TensorArgument) and differentiable(argument.dtype)


class _Mender:
    """Leads each `same` of a changed call to where its target went, or puts the vanished target itself in its place."""

    def __init__(self, old: Call, new: Call, move: Callable[[str], Optional[str]]) -> None:
        self.old = dict(walk(old))
        self.call = new
        self.new = dict(walk(new))
        self.move = move
        self.heirs: Dict[str, str] = {}

    def mended(self) -> Call:
        call = self.call
        args, kwargs = self._both(call.args, call.kwargs, "")
        init = call.init and Init(*self._both(call.init.args, call.init.kwargs, "init."))
        return Call(call.api, args, kwargs, init, call.diff, call.extra)

    def _both(
        self, args: Tuple[Argument, ...], kwargs: NamedArguments, prefix: str
    ) -> Tuple[Tuple[Argument, ...], NamedArguments]:
        return self._items(args, f"{prefix}args"), self._named(kwargs, f"{prefix}kwargs")

    def _items(self, items: Tuple[Argument, ...], path: str) -> Tuple[Argument, ...]:
        return tuple([self._argument(item, f"{path}.{index}") for index, item in enumerate(items)])

    def _named(self, items: NamedArguments, path: str) -> NamedArguments:
        return tuple([(name, self._argument(item, join(path, name))) for name, item in items])

    def _argument(self, argument: Argument, path: str) -> Argument:
        if isinstance(argument, SameArgument):
            return self._same(argument, path)
        if isinstance(argument, ListArgument):
            return ListArgument(self._items(argument.items, path))
        if isinstance(argument, TupleArgument):
            return TupleArgument(self._items(argument.items, path))
        if isinstance(argument, MappingArgument):
            return MappingArgument(self._named(argument.items, path))
        if isinstance(argument, ObjectArgument):
            return ObjectArgument(argument.path, *self._both(argument.args, argument.kwargs, f"{path}."))
        return argument

    def _same(self, argument: SameArgument, path: str) -> Argument:
        target = argument.path
        for vanished, heir in self.heirs.items():
            if _is_within(target, vanished):
                return SameArgument(heir + target[len(vanished) :])
        moved = self.move(target)
        if moved is not None and moved in self.new:
            there = self.new[moved]
            return self._argument(there, path) if isinstance(there, SameArgument) else SameArgument(moved)
        if target not in self.old:
            return argument
        self.heirs[target] = path
        return self._argument(self.old[target], path)


def _nothing_at(path: str) -> CallError:
    return CallError(path, "no argument stands here")
