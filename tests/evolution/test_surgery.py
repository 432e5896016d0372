"""Changes reach exactly the places named, and dangling paths are mended."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from evo_nabla.call import Call, SameArgument, call_from_json, call_to_json, get, walk
from evo_nabla.call.paths import check_paths
from evo_nabla.evolution.surgery import repaired, substitute, target_of, with_keyword, without_slot
from tests.call.strategies import calls, scalars

from .material import call, index, tensor


@settings(max_examples=100, deadline=None)
@given(calls(), scalars, st.integers(0, 2**32))
def test_one_change_changes_one_place(origin: Call, argument: object, seed: int) -> None:
    paths = [path for path, _ in walk(origin)]
    if not paths:
        return
    path = random.Random(seed).choice(paths)
    changed = substitute(origin, {path: argument})  # type: ignore[dict-item]
    assert repr(get(changed, path)) == repr(argument)
    outside = [p for p in paths if p != path and not p.startswith(path + ".") and not path.startswith(p + ".")]
    for other in outside:
        assert get(changed, other) == get(origin, other) or get(origin, other) != get(origin, other)


@settings(max_examples=100, deadline=None)
@given(calls(), st.integers(0, 2**32), st.integers(1, 4))
def test_whatever_is_lost_the_mended_call_is_one(origin: Call, seed: int, losses: int) -> None:
    generator = random.Random(seed)
    paths = [path for path, _ in walk(origin)]
    lost = generator.sample(paths, min(losses, len(paths)))
    mended = repaired(substitute(origin, dict.fromkeys(lost)))
    check_paths(mended)
    assert call_from_json(call_to_json(mended)) == mended


def test_a_changed_call_does_not_keep_its_origins_name() -> None:
    origin = call_from_json({"api": "torch.add", "args": [1, 2], "id": "seed-1", "x-note": "of a bug"})
    assert substitute(origin, {"args.0": 3}).extra == ()


def test_diff_follows_its_tensors() -> None:
    origin = call("torch.add", tensor(2), tensor(2), diff=["args.0", "args.1"])
    assert repaired(substitute(origin, {"args.0": 3.0})).diff == ("args.1",)
    whole = call("torch.mul", tensor(2), 2.0, diff=["args.0"])
    integer = substitute(whole, {"args.0": call("torch.neg", index([1], [1])).args[0]})
    assert repaired(integer).diff is None


def test_a_lost_same_becomes_null_and_so_does_one_of_it() -> None:
    origin = call("torch.stack", [tensor(2), {"same": "args.0.0"}])
    assert repaired(substitute(origin, {"args.0.0": 1.0})) == substitute(origin, {"args.0.0": 1.0})
    broken = substitute(origin, {"args.0.0": SameArgument("args.7")})
    assert repaired(broken).args == call("torch.stack", [None, {"same": "args.0.0"}]).args


def test_target_of_a_same() -> None:
    origin = call("torch.add", tensor(2), {"same": "args.0"})
    assert target_of(origin, SameArgument("args.0")) == origin.args[0]
    assert target_of(origin, SameArgument("args.5")) is None


def test_slots_come_and_go() -> None:
    origin = call("torch.nn.Linear", tensor(2, 3), init={"args": [3, 4], "kwargs": {"bias": True}})
    without = without_slot(origin, "init.kwargs.bias")
    assert without is not None and without.init is not None and without.init.kwargs == ()
    assert with_keyword(without, "init.kwargs.bias", True) == origin
    assert without_slot(origin, "init.args.0") is None
    shorter = without_slot(origin, "init.args.1")
    assert shorter is not None and shorter.init is not None and shorter.init.args == (3,)
    added = with_keyword(origin, "kwargs.out", None)
    assert added.kwargs == (("out", None),)
    assert without_slot(added, "kwargs.out") == origin
