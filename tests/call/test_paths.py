"""Paths name the arguments of a call, and survive its changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_nabla.call import (
    Call,
    CallError,
    ListArgument,
    MappingArgument,
    SameArgument,
    call_from_json,
    call_to_json,
    differentiated,
    get,
    remove,
    replace,
    walk,
)
from evo_nabla.call.paths import join, split

from .strategies import calls, leaves, texts


def tensor(dtype: str = "float64") -> dict[str, Any]:
    return {"tensor": {"shape": [1], "dtype": dtype, "fill": dtype == "bool" or 0}}


def make(*args: Any, **members: Any) -> Call:
    return call_from_json({"api": "torch.foo", "args": list(args), **members})


@given(st.lists(texts))
def test_split_undoes_join(names: list[str]) -> None:
    path = "kwargs"
    for name in names:
        path = join(path, name)
    assert split(path) == ["kwargs", *names]


def test_walk_is_depth_first() -> None:
    options = {"new": "a.b", "args": [3], "kwargs": {"z": {"tuple": [4]}}}
    call = make([1, 2], kwargs={"d": {"dict": {"k.v": 5}}, "o": options}, init={"args": [6], "kwargs": {"n": 7}})
    assert [path for path, _ in walk(call)] == [
        "args.0", "args.0.0", "args.0.1", "kwargs.d", "kwargs.d.k\\.v", "kwargs.o", "kwargs.o.args.0",
        "kwargs.o.kwargs.z", "kwargs.o.kwargs.z.0", "init.args.0", "init.kwargs.n",
    ]  # fmt: skip
    assert get(call, "kwargs.o.kwargs.z.0") == 4
    assert get(call, "kwargs.d.k\\.v") == 5
    with pytest.raises(CallError, match=r"^args\.1: no argument stands here$"):
        get(call, "args.1")


def test_differentiated_by_default() -> None:
    call = make(tensor(), tensor("int64"), [tensor("complex64"), tensor("bool")], init={"args": [tensor()]})
    assert differentiated(call) == ("args.0", "args.2.0")
    assert differentiated(make(tensor(), tensor(), diff=["args.1"])) == ("args.1",)
    assert differentiated(make(tensor(), diff=[])) == ()


@given(calls(), st.data())
def test_replacing_by_itself_changes_nothing(call: Call, data: st.DataObject) -> None:
    nodes = list(walk(call))
    if nodes:
        path, item = data.draw(st.sampled_from(nodes))
        again = replace(call, path, item)
        assert (again.args, again.kwargs, again.init) == (call.args, call.kwargs, call.init)


@given(calls(), leaves, st.data())
def test_changed_calls_are_sound(call: Call, leaf: Any, data: st.DataObject) -> None:
    nodes = [path for path, _ in walk(call)]
    if not nodes:
        return
    path = data.draw(st.sampled_from(nodes))
    changed = replace(call, path, leaf)
    assert repr(get(changed, path)) == repr(leaf)
    assert call_from_json(json.loads(json.dumps(call_to_json(changed)))) == changed
    shorter = remove(call, path)
    assert call_from_json(json.loads(json.dumps(call_to_json(shorter)))) == shorter
    assert changed.extra == shorter.extra == call.extra


@pytest.mark.parametrize(
    "path", ["", "args", "args.3", "args.-1", "args.x", "args.0.0", "kwargs.no", "init.args.0", "x"]
)
def test_changing_what_is_not_there(path: str) -> None:
    call = make(1, 2, kwargs={"a": 3})
    with pytest.raises(CallError, match="no argument stands here"):
        replace(call, path, None)
    with pytest.raises(CallError, match="no argument stands here"):
        remove(call, path)


def test_diff_follows() -> None:
    x = tensor()
    call = make(x, 3, x, [x, x], kwargs={"w": x}, diff=["args.2", "args.3.1", "kwargs.w"])
    assert remove(call, "args.1").diff == ("args.1", "args.2.1", "kwargs.w")
    assert remove(call, "args.3.0").diff == ("args.2", "args.3.0", "kwargs.w")
    assert remove(call, "args.2").diff == ("args.2.1", "kwargs.w")
    assert remove(call, "kwargs.w").diff == ("args.2", "args.3.1")
    assert replace(call, "args.3", None).diff == ("args.2", "kwargs.w")
    assert replace(call, "args.3.0", None).diff == call.diff
    assert replace(make(tensor(), tensor(), diff=["args.1"]), "args.1", 0.5).diff is None
    assert remove(make(tensor(), 1, diff=[]), "args.1").diff == ()


def test_names_that_are_numbers_do_not_move() -> None:
    call = make({"dict": {"0": 1, "1": tensor()}}, diff=["args.0.1"])
    assert remove(call, "args.0.0").diff == ("args.0.1",)


def test_same_follows() -> None:
    x = tensor()
    call = make(1, x, {"same": "args.1"}, [{"same": "args.1"}])
    moved = remove(call, "args.0")
    assert moved.args[1:] == (SameArgument("args.0"), ListArgument((SameArgument("args.0"),)))
    heir = remove(call, "args.1")
    assert heir.args == (1, call.args[1], ListArgument((SameArgument("args.1"),)))
    assert replace(call, "args.1", 2.5).args[2] == SameArgument("args.1")


def test_same_within_what_vanished() -> None:
    call = make([tensor(), 3], {"same": "args.0"}, {"same": "args.0.0"}, {"same": "args.0.1"})
    changed = replace(call, "args.0", MappingArgument(()))
    assert changed.args == (MappingArgument(()), SameArgument("args.0"), get(call, "args.0.0"), 3)
    shorter = remove(call, "args.0")
    assert shorter.args == (call.args[0], SameArgument("args.0.0"), SameArgument("args.0.1"))
