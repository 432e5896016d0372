"""Calls of the shapes that real bug reports have: written by hand, read, kept and materialised."""

from __future__ import annotations

from typing import Any

import pytest

from evo_nabla.call import (
    ObjectArgument,
    TensorArgument,
    call_from_json,
    call_hash,
    call_to_json,
    differentiated,
    materialise,
    walk,
)


def seeded(*shape: int, **members: Any) -> dict[str, Any]:
    return {"tensor": {"shape": list(shape), "dtype": "float64", "seed": 1, **members}}


def values(dtype: str, shape: list[int], found: Any) -> dict[str, Any]:
    return {"tensor": {"dtype": dtype, "values": found, "shape": shape}}


KNOWN: list[dict[str, Any]] = [
    {"api": "lib.cumprod", "args": [seeded(10, dtype="float16", range=[-8, 0])], "kwargs": {"reverse": True}},
    {"api": "lib.select", "args": [values("uint32", [], 6), values("float32", [], -3.5)], "diff": ["args.1"]},
    {"api": "lib.ldexp", "args": [values("float64", [2], [0.0, 1.0]), values("int32", [2], [1, 1])]},
    {"api": "lib.nn.Conv1d", "args": [seeded(2, 3, 8)], "init": {"args": [3, 3, 3], "kwargs": {}}, "diff": ["args.0"]},
    {"api": "lib.new_ones", "args": [seeded(1, 1, 5, dtype="float32"), {"tuple": [2, 2]}]},
    {"api": "lib.window", "kwargs": {"beta": values("float64", [], 0.0), "dtype": {"dtype": "float64"}}},
    {"api": "lib.hinge", "args": [values("float64", [2, 3], [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])], "diff": ["args.0"]},
    {"api": "lib.solve", "args": [seeded(2, 2, range=[-1, 1]), seeded(2, 2, 2, kind="lower", range=[0.5, 1.5])]},
    {"api": "lib.scatter", "args": [seeded(10, 5), -1, seeded(13, 0, dtype="complex128")], "diff": ["args.0"]},
    {"api": "lib.pow", "args": [seeded(5, 4, dtype="bfloat16", range=[0.2, 1]), seeded(1, range=[0.5, 2])]},
    {"api": "lib.norm", "args": [seeded(2, 3, 4), 1, None, seeded(3)], "diff": ["args.0", "args.3"]},
    {"api": "lib.add", "args": [values("float32", [], 0.5), {"float": 1.0}], "diff": ["args.0"]},
    {"api": "lib.cat", "args": [[seeded(0), seeded(5, 5)]], "kwargs": {"dim": 1}, "diff": ["args.0.0", "args.0.1"]},
    {"api": "lib.loss", "args": [seeded(4, 3)], "kwargs": {"options": {"new": "lib.Options", "kwargs": {"size": 2}}}},
    {"api": "lib.outer", "args": [seeded(3), {"same": "args.0"}], "id": "twice", "x-versions": {"lib 1": "present"}},
]  # fmt: skip


@pytest.mark.parametrize("document", KNOWN, ids=[document["api"] for document in KNOWN])
def test_known_shapes_of_calls(document: dict[str, Any]) -> None:
    call = call_from_json(document)
    again = call_from_json(call_to_json(call))
    assert again == call
    assert call_hash(again) == call_hash(call)
    assert dict(call.extra) == {key: value for key, value in document.items() if key == "id" or key.startswith("x-")}
    assert set(differentiated(call)) >= set(document.get("diff", ()))
    for _, item in walk(call):
        if isinstance(item, TensorArgument):
            assert materialise(item).shape == item.shape


def test_an_options_object() -> None:
    options = dict(call_from_json(KNOWN[-2]).kwargs)["options"]
    assert options == ObjectArgument("lib.Options", (), (("size", 2),))
