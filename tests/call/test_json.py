"""A call survives its JSON, has one canonical form, and one hash."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given

from evo_nabla.call import (
    Call,
    Init,
    ListArgument,
    MappingArgument,
    SameArgument,
    TensorArgument,
    TupleArgument,
    Values,
    argument_from_json,
    argument_to_json,
    call_from_json,
    call_from_text,
    call_hash,
    call_to_json,
    canonical_text,
)

from .strategies import arguments, calls


@given(calls())
def test_any_call_survives_json(call: Call) -> None:
    document = call_to_json(call)
    again = call_from_json(document)
    assert again == call
    assert call_to_json(again) == document
    assert call_from_text(json.dumps(document)) == call
    assert canonical_text(again) == canonical_text(call)
    assert hash(again) == hash(call)


@given(calls())
def test_canonical_text_reads_back_as_the_call_without_extras(call: Call) -> None:
    text = canonical_text(call)
    assert text.isascii()
    again = call_from_text(text)
    assert again == Call(call.api, call.args, call.kwargs, call.init, call.diff)
    assert canonical_text(again) == text


@given(arguments.filter(lambda item: "same" not in repr(item)))
def test_any_argument_survives_json(argument: Any) -> None:
    text = json.dumps(argument_to_json(argument), allow_nan=False)
    again = argument_from_json(json.loads(text))
    assert repr(again) == repr(argument)


def tensor(**members: Any) -> Any:
    document = {"api": "torch.abs", "args": [{"tensor": members}]}
    argument = call_from_json(document).args[0]
    assert isinstance(argument, TensorArgument)
    return argument


@pytest.mark.parametrize(
    ("shape", "dtype", "values", "flat"),
    [
        ([2, 3], "float64", [[1, 2.5, -1], [0, 3, 4]], (1.0, 2.5, -1.0, 0.0, 3.0, 4.0)),
        ([], "uint32", 6, (6,)),
        ([], "float32", [-3.5], (-3.5,)),
        ([1], "float64", 2, (2.0,)),
        ([2, 0], "float64", [[], []], ()),
        ([0], "bool", [], ()),
        ([2], "complex64", [[1, 2], [3, 4]], (1 + 2j, 3 + 4j)),
        ([2, 1], "complex64", [[[1, 2]], [[3, 4]]], (1 + 2j, 3 + 4j)),
        ([2, 2], "complex64", [[1, 2], [3, 4]], (1 + 0j, 2 + 0j, 3 + 0j, 4 + 0j)),
        ([], "complex128", [1, 2], (1 + 2j,)),
        ([], "complex128", [[1, 2]], (1 + 2j,)),
        ([2, 1], "int64", [[0], [2]], (0, 2)),
    ],
)
def test_values_may_be_nested_or_bare_and_are_kept_flat(shape: Any, dtype: str, values: Any, flat: Any) -> None:
    assert tensor(shape=shape, dtype=dtype, values=values).content == Values(flat)


def test_equal_calls_written_differently_have_one_hash() -> None:
    one = {
        "api": "torch.foo",
        "args": [{"tensor": {"shape": [2], "dtype": "float64", "values": [1, -0.0]}}],
        "kwargs": {"a": 1, "b": {"dict": {"z": None, "y": {"float": 2}}}},
        "diff": ["args.0"],
    }
    other = {
        "x-note": {"anything": [1, {}]},
        "diff": ["args.0"],
        "kwargs": {"b": {"dict": {"y": 2.0, "z": None}}, "a": 1},
        "args": [{"tensor": {"layout": "contiguous", "values": [1.0, -0.0], "dtype": "float64", "shape": [2]}}],
        "api": "torch.foo",
        "id": 17,
    }
    assert canonical_text(call_from_json(one)) == canonical_text(call_from_json(other))
    assert call_hash(call_from_json(one)) == call_hash(call_from_json(other))
    assert call_to_json(call_from_json(other))["x-note"] == {"anything": [1, {}]}


def test_what_differs_has_different_hashes() -> None:
    arguments: list[Any] = [1, 1.0, True, "1", None, 0.0, -0.0, 0, False, 1j, math.nan, math.inf, -math.inf, 2**100]
    arguments += [ListArgument((1,)), TupleArgument((1,)), MappingArgument((("1", 1),))]
    found = [Call("torch.foo", (argument,)) for argument in arguments]
    found += [Call("torch.foo"), Call("torch.foo", init=Init()), Call("torch.foo", diff=())]
    assert len({call_hash(call) for call in found}) == len(found)
    assert len(set(found)) == len(found)


def test_the_hash_is_the_one_published() -> None:
    text = '{"api":"torch.add","args":[{"tensor":{"dtype":"float32","shape":[2],"values":[0.5,{"float":"nan"}]}},3]}'
    call = call_from_text(text)
    assert canonical_text(call) == text
    assert call_hash(call) == "543ae3db551c965362e0ba759d446554"  # b2sum -l 128


def test_diff_comes_in_the_order_of_the_arguments() -> None:
    x = {"tensor": {"shape": [], "dtype": "float64", "fill": 1}}
    document = {"api": "torch.foo", "args": [x, [x]], "kwargs": {"w": x}, "diff": ["kwargs.w", "args.1.0", "args.0"]}
    assert call_from_json(document).diff == ("args.0", "args.1.0", "kwargs.w")


def test_the_same_object_twice_and_an_options_object() -> None:
    x = {"tensor": {"shape": [2], "dtype": "float64", "fill": -0.0}}
    options = {"new": "torch.nn.Options", "kwargs": {"like": {"same": "args.0"}}}
    document = {"api": "torch.foo", "args": [x, {"same": "args.0"}], "kwargs": {"options": options}}
    call = call_from_json(document)
    assert call.args[1] == SameArgument("args.0")
    assert call_to_json(call) == document


def test_calls_copy_to_themselves() -> None:
    import copy

    call = Call("torch.foo", (ListArgument((1, 2.0)),))
    assert copy.deepcopy(call) is call
