"""Changes to a call in many places at once, and the repair of the paths that a change leaves dangling.

A changed call is another call: it does not keep the `id` and `x-*` members of the one it was made from.
"""

from __future__ import annotations

from collections.abc import Mapping

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
    return Call(call.api, args, kwargs, init, call.diff)


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
        init = Init(init.args, (*init.kwargs, (name, argument)))
        return Call(call.api, call.args, call.kwargs, init, call.diff)
    return Call(call.api, call.args, (*call.kwargs, (name, argument)), call.init, call.diff)


def without_slot(call: Call, path: str) -> Call | None:
    """The call without this keyword or last positional argument; None where the loss would shift other arguments."""
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
        return Call(call.api, call.args, call.kwargs, Init(args, kwargs), call.diff)
    return Call(call.api, args, kwargs, call.init, call.diff)


def repaired(call: Call) -> Call:
    """The call with dangling paths mended: `diff` keeps what is a differentiable tensor, a lost `same` becomes null."""
    if call.diff:
        call = _with_mended_diff(call)
    # A broken `same` may be the target of another: each round mends one, and there are few.
    broken = _broken_same(call)
    while broken is not None:
        call = substitute(call, {broken: None})
        broken = _broken_same(call)
    return call


def _broken_same(call: Call) -> str | None:
    try:
        check_paths(call)
    except CallError as error:
        return error.path.removesuffix(".same")
    return None


def _with_mended_diff(call: Call) -> Call:
    wanted = set(call.diff or ())
    kept = [
        path
        for path, node in walk(call)
        if path in wanted and isinstance(node, TensorArgument) and differentiable(node.dtype)
    ]
    return Call(call.api, call.args, call.kwargs, call.init, tuple(kept) or None)


def target_of(call: Call, same: SameArgument) -> Argument:
    """What stands at the path that `same` names; null if nothing does."""
    return next((node for path, node in walk(call) if path == same.path), None)
