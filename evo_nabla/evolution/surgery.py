"""Changes to a call in many places at once, and the repair of the paths (`diff`, `same`) that a change leaves dangling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace as with_fields

from evo_nabla.call import (
    Argument,
    Call,
    CallError,
    Init,
    ListArgument,
    MappingArgument,
    ObjectArgument,
    SameArgument,
    TensorArgument,
    TupleArgument,
    walk,
)
from evo_nabla.call.dtypes import differentiable
from evo_nabla.call.paths import check_paths, join

Named = tuple[tuple[str, Argument], ...]
Changes = Mapping[str, Argument]


def substitute(call: Call, changes: Changes) -> Call:
    """The call with the argument at each of these paths replaced, all at once; paths that do not exist are ignored."""
    if not changes:
        return call
    init = call.init
    if init is not None and _touched("init", changes):
        init = Init(_positional("init.args", init.args, changes), _named("init.kwargs", init.kwargs, changes))
    args, kwargs = _positional("args", call.args, changes), _named("kwargs", call.kwargs, changes)
    return with_fields(call, args=args, kwargs=kwargs, init=init)


def _positional(prefix: str, items: tuple[Argument, ...], changes: Changes) -> tuple[Argument, ...]:
    if not _touched(prefix, changes):
        return items
    return tuple([_changed(f"{prefix}.{i}", item, changes) for i, item in enumerate(items)])


def _named(prefix: str, items: Named, changes: Changes) -> Named:
    if not _touched(prefix, changes):
        return items
    return tuple([(name, _changed(join(prefix, name), item, changes)) for name, item in items])


def _touched(prefix: str, changes: Changes) -> bool:
    start = prefix + "."
    return any(path.startswith(start) for path in changes)


def _changed(path: str, argument: Argument, changes: Changes) -> Argument:
    if path in changes:
        return changes[path]
    if isinstance(argument, (ListArgument, TupleArgument)):
        items = _positional(path, argument.items, changes)
        return argument if items is argument.items else type(argument)(items)
    if isinstance(argument, MappingArgument):
        named = _named(path, argument.items, changes)
        return argument if named is argument.items else MappingArgument(named)
    if isinstance(argument, ObjectArgument) and _touched(path, changes):
        args = _positional(f"{path}.args", argument.args, changes)
        return ObjectArgument(argument.path, args, _named(f"{path}.kwargs", argument.kwargs, changes))
    return argument


def with_keyword(call: Call, path: str, argument: Argument) -> Call:
    """The call with a further keyword argument at "kwargs.name" or "init.kwargs.name"."""
    name = path.rpartition(".")[2]
    if path.startswith("init."):
        init = call.init or Init()
        return with_fields(call, init=Init(init.args, (*init.kwargs, (name, argument))))
    return with_fields(call, kwargs=(*call.kwargs, (name, argument)))


def without_slot(call: Call, path: str) -> Call | None:
    """The call without this keyword or last positional argument; None for one in the middle, whose loss would shift the rest."""
    where, _, slot = path.rpartition(".")
    holder = call.init if where.startswith("init") else call
    if holder is None:
        return None
    args, kwargs = holder.args, holder.kwargs
    if where.endswith("kwargs"):
        kwargs = tuple([item for item in kwargs if item[0] != slot])
    elif int(slot) == len(args) - 1:
        args = args[:-1]
    else:
        return None
    if isinstance(holder, Init):
        return with_fields(call, init=Init(args, kwargs))
    return with_fields(call, args=args, kwargs=kwargs)


def repaired(call: Call) -> Call:
    """The call with dangling paths mended: `diff` keeps what is still a differentiable tensor, a lost `same` becomes null."""
    if call.diff:
        call = _with_mended_diff(call)
    # A broken `same` may be the target of another: each round mends one, and there are few.
    while True:
        try:
            return check_paths(call)
        except CallError as error:
            path = error.path.removesuffix(".same")
            if path == error.path:
                raise
            call = substitute(call, {path: None})


def _with_mended_diff(call: Call) -> Call:
    wanted = set(call.diff or ())
    kept = [
        path
        for path, node in walk(call)
        if path in wanted and isinstance(node, TensorArgument) and differentiable(node.dtype)
    ]
    return with_fields(call, diff=tuple(kept) or None)


def target_of(call: Call, same: SameArgument) -> Argument:
    """What stands at the path that `same` names; null if nothing does."""
    return next((node for path, node in walk(call) if path == same.path), None)
