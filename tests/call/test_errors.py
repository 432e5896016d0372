"""Bad input gives one CallError that names the place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_nabla.call import Call, CallError, call_from_json, call_from_text, call_to_json, materialise, walk
from evo_nabla.call.arguments import TensorArgument

from .strategies import calls, json_values

INF = float("inf")
NAN = float("nan")


def of_argument(value: Any, *more: Any) -> dict[str, Any]:
    return {"api": "torch.foo", "args": [value, *more]}


def of_tensor(**members: Any) -> dict[str, Any]:
    return of_argument({"tensor": {"shape": [2], "dtype": "float64", **members}})


X = {"tensor": {"shape": [1], "dtype": "float64", "fill": 0}}

BAD: list[tuple[Any, str]] = [
    ([], "a call is a JSON object, not a list of 0"),
    ({}, "api: missing"),
    ({"api": 3}, "api: expected the dotted import path of a callable, not 3"),
    ({"api": "torch"}, "api: 'torch' names no member of a module: expected something like 'torch.add'"),
    ({"api": "os.system('x')"}, "api: expected the dotted import path of a callable, not \"os.system('x')\""),
    ({"api": "torch.foo\n"}, "api: expected the dotted import path of a callable, not 'torch.foo\\n'"),
    ({"api": "torch.foo", "arg": []}, "unknown member 'arg' (a call has api, args, diff, init, kwargs, id and x-*)"),
    ({"api": "torch.foo", "args": {}}, "args: expected a list, not an object"),
    ({"api": "torch.foo", "kwargs": {"a b": 1}}, "kwargs: 'a b' is not the name of a parameter"),
    ({"api": "torch.foo", "init": []}, "init: expected an object, not a list of 0"),
    ({"api": "torch.foo", "init": {"arg": []}}, "init: unknown key 'arg' (known: args, kwargs)"),
    ({"api": "torch.foo", "x-a": [{"b": NAN}]}, 'x-a[0].b: nan is not JSON: write {"float": "nan"}'),
    ({"api": "torch.foo", "id": {1, 2}}, "id: set is not a JSON value"),
    (of_argument({"tnesor": {}}), "args.0: unknown kind of argument 'tnesor' (known: tensor, tuple, dict, "),
    (of_argument({}), "args.0: an argument's object has one key, here none (a dictionary is {\"dict\": …})"),
    (of_argument({"a": 1, "b": 2}), "args.0: an argument's object has one key, here a, b (a dictionary is"),
    (of_argument([1, {"tuple": 3}]), "args.0.1.tuple: expected a list, not 3"),
    (of_argument({"tuple": [{"dtype": "float23"}]}), "args.0.0.dtype: unknown dtype 'float23' (known: bool, "),
    (of_argument({"dict": {"k.1": {"slice": [1, 2]}}}), "args.0.k\\.1.slice: expected [start, stop, step], not 2"),
    (of_argument({"slice": [0, 1.5, None]}), "args.0.slice[1]: expected an integer, not 1.5"),
    (of_argument({"complex": [1]}), "args.0.complex: expected [real, imaginary], not 1 items"),
    (of_argument({"complex": 1}), "args.0.complex: expected [real, imaginary], not 1"),
    (of_argument({"float": "NaN"}), 'args.0.float: expected "nan", "inf", "-inf" or a number, not \'NaN\''),
    (of_argument(NAN), 'args.0: nan is not JSON: write {"float": "nan"}'),
    (of_argument(-INF), 'args.0: -inf is not JSON: write {"float": "-inf"}'),
    (of_argument(2**2048), "args.0: integer of 2049 bits, more than 2048"),
    (of_argument("\ud800"), "args.0: '\\ud800' holds half of a surrogate pair"),
    (of_argument((1, 2)), "args.0: tuple is not a JSON value"),
    (of_argument({"ref": "torch.__import__('os')"}), "args.0.ref: expected the dotted path of an object of the libr"),
    (of_argument({"new": "x()"}), "args.0.new: expected the dotted import path of a callable, not 'x()'"),
    (of_argument({"new": "a.b", "arg": 1}), "args.0: unknown key 'arg' (known: new, args, kwargs)"),
    (of_argument({"new": "a.b", "kwargs": {"x": {"ref": 1}}}), "args.0.kwargs.x.ref: expected the dotted path of"),
    (of_argument({"same": "args.1"}, X), "args.0.same: no argument stands at 'args.1' before it"),
    (of_argument([{"same": "args.0"}]), "args.0.0.same: stands within 'args.0' itself"),
    (of_argument(X, {"same": "args.0"}, {"same": "args.1"}), "args.2.same: 'args.1' is itself the same as 'args.0'"),
    (of_argument({"same": 0}), "args.0.same: expected a path such as 'args.0', not 0"),
    ({**of_argument(X), "diff": "args.0"}, "diff: expected a list, not 'args.0'"),
    ({**of_argument(X), "diff": ["args.0", "args.1"]}, "diff[1]: no argument stands at 'args.1'"),
    ({**of_argument(X, 3), "diff": ["args.1"]}, "diff[0]: 'args.1' is not a tensor"),
    ({**of_argument(X), "diff": ["args.0", "args.0"]}, "diff[1]: 'args.0' is named twice"),
    ({**of_argument(X), "diff": [0]}, "diff[0]: expected a path such as 'args.0', not 0"),
    (of_argument({"tensor": {"dtype": "float64", "fill": 0}}), "args.0.tensor.shape: missing"),
    (of_argument({"tensor": {"shape": [], "fill": 0}}), "args.0.tensor.dtype: missing"),
    (of_tensor(vlaues=[1]), "args.0.tensor: unknown key 'vlaues' (known: dtype, fill, kind, layout, offset, range, "),
    (of_tensor(), "args.0.tensor: needs exactly one of values, fill and seed, here none"),
    (of_tensor(fill=0, seed=1), "args.0.tensor: needs exactly one of values, fill and seed, here fill, seed"),
    (of_tensor(fill=0, range=[0, 1]), "args.0.tensor.range: goes with seed, not with fill"),
    (of_tensor(fill=0, shape=[2, -3]), "args.0.tensor.shape[1]: negative dimension -3"),
    (of_tensor(fill=0, shape=[2, True]), "args.0.tensor.shape[1]: expected an integer, not true"),
    (of_tensor(fill=0, shape=[2.0]), "args.0.tensor.shape[0]: expected an integer, not 2.0"),
    (of_tensor(fill=0, shape=[2**40]), "args.0.tensor.shape: 1099511627776 elements, more than 16777216"),
    (of_tensor(fill=0, shape=[2**20, 2**20]), "args.0.tensor.shape: 1099511627776 elements, more than 16777216"),
    (of_tensor(fill=0, shape=[0, 2**40]), "args.0.tensor.shape: 1099511627776 elements, more than 16777216"),
    (of_tensor(fill=0, shape=[1] * 33), "args.0.tensor.shape: 33 dimensions, more than 32"),
    (of_tensor(fill=0, dtype=None), "args.0.tensor.dtype: unknown dtype null (known: "),
    (of_tensor(values=[1]), "args.0.tensor.values: 1 values for shape [2], which has 2 elements"),
    (of_tensor(values=1), "args.0.tensor.values: one value for shape [2], which has 2 elements"),
    (of_tensor(values=[[1, 2]]), "args.0.tensor.values: expected lists of 2 along dimension 0, found one of 1"),
    (of_tensor(values=[[1], 2]), "args.0.tensor.values[0]: expected a number, not a list of 1"),
    (of_tensor(values=[1, "2"]), "args.0.tensor.values[1]: expected a number, not '2'"),
    (of_tensor(values=[1, True]), "args.0.tensor.values[1]: expected a number, not true"),
    (of_tensor(values=[1, NAN]), 'args.0.tensor.values[1]: nan is not JSON: write {"float": "nan"}'),
    (of_tensor(values=[1, 10**400]), "args.0.tensor.values[1]: an integer of 1329 bits is beyond float64"),
    (of_tensor(values=[1, {"float": "no"}]), 'args.0.tensor.values[1]: expected "nan", "inf", "-inf" or a number, n'),
    (of_tensor(dtype="int8", values=[1, {"float": "nan"}]), "args.0.tensor.values[1]: expected an integer, not an o"),
    (of_tensor(dtype="int8", values=[1, NAN]), "args.0.tensor.values[1]: expected an integer, not nan"),
    (of_tensor(dtype="int8", values=[1, True]), "args.0.tensor.values[1]: expected an integer, not true"),
    (of_tensor(dtype="int8", values=[1, 1.0]), "args.0.tensor.values[1]: expected an integer, not 1.0"),
    (of_tensor(dtype="int8", values=[1, 128]), "args.0.tensor.values[1]: 128 is outside int8's -128 … 127"),
    (of_tensor(dtype="uint64", fill=-1), "args.0.tensor.fill: -1 is outside uint64's 0 … 18446744073709551615"),
    (of_tensor(dtype="bool", values=[True, 1]), "args.0.tensor.values[1]: expected true or false in a bool tensor, "),
    (of_tensor(dtype="complex64", values=[[1, 2], [3]]), "args.0.tensor.values[1]: expected [real, imaginary], not "),
    (of_tensor(seed=-1), "args.0.tensor.seed: -1 is outside 0 … 2**32 - 1"),
    (of_tensor(seed=1, kind="unifrom"), "args.0.tensor.kind: unknown kind 'unifrom' (known: uniform, normal, "),
    (of_tensor(seed=1, kind=["spd"]), "args.0.tensor.kind: unknown kind ['spd'] (known: "),
    (of_tensor(seed=1, kind="spd"), "args.0.tensor.kind: spd needs at least 2 dimensions, not 1"),
    (of_tensor(seed=1, kind="spd", shape=[2, 3]), "args.0.tensor.kind: spd needs square matrices, not 2×3"),
    (of_tensor(seed=1, kind="spd", shape=[600, 600]), "args.0.tensor.kind: spd matrices may have sides up to 512, no"),
    (of_tensor(seed=1, kind="sorted", dtype="complex64"), "args.0.tensor.kind: sorted is not defined for complex64"),
    (of_tensor(seed=1, kind="sorted", shape=[]), "args.0.tensor.kind: sorted needs at least 1 dimension"),
    (of_tensor(seed=1, kind="permutation", dtype="int8", shape=[200]), "args.0.tensor.kind: a permutation of 200"),
    (of_tensor(seed=1, range=[0]), "args.0.tensor.range: expected [low, high], not 1 items"),
    (of_tensor(seed=1, range=[2, 1]), "args.0.tensor.range: low 2.0 is above high 1.0"),
    (of_tensor(seed=1, range=[-1e308, 1e308]), "args.0.tensor.range: [-1e+308, 1e+308) is not a finite interval"),
    (of_tensor(seed=1, range=[0, {"float": "inf"}]), "args.0.tensor.range[1]: expected a number, not an object"),
    (of_tensor(seed=1, range=[0, 0], dtype="int8"), "args.0.tensor.range: [0, 0) holds no integer"),
    (of_tensor(seed=1, range=[0, 1.5], dtype="int8"), "args.0.tensor.range[1]: expected an integer, not 1.5"),
    (of_tensor(seed=1, range=[0, 129], dtype="int8"), "args.0.tensor.range: [0, 129) reaches outside int8"),
    (of_tensor(seed=1, range=[0, 1], dtype="int8", kind="distinct"), "args.0.tensor.range: has fewer than 2 distinct "),
    (of_tensor(fill=0, layout="diagonal"), "args.0.tensor.layout: unknown layout 'diagonal' (known: contiguous, "),
    (of_tensor(fill=0, layout="channels_last"), "args.0.tensor.layout: channels_last needs 4 or 5 dimensions, not 1"),
    (of_tensor(fill=0, layout={"offset": 1}), "args.0.tensor.layout.strides: missing"),
    (of_tensor(fill=0, layout={"strides": [1, 1]}), "args.0.tensor.layout.strides: 2 strides for 1 dimensions"),
    (of_tensor(fill=0, layout={"strides": [-1]}), "args.0.tensor.layout.strides[0]: -1 is negative"),
    (of_tensor(fill=0, layout={"strides": [1], "offset": -1}), "args.0.tensor.layout.offset: -1 is negative"),
    (of_tensor(fill=0, layout={"strides": [2**24]}), "args.0.tensor.layout: reaches over 16777217 elements of memory"),
    (of_tensor(fill=0, layout={"strides": [1], "offset": 2**60}), "args.0.tensor.layout: reaches over 115292150460684"),
    (of_tensor(fill=0, layout="strided", strides=[1]), "args.0.tensor.strides: belongs inside layout"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "message"), BAD, ids=[message[:50] for _, message in BAD])
def test_bad_call(document: Any, message: str) -> None:
    with pytest.raises(CallError) as caught:
        call_from_json(document)
    text = str(caught.value)
    assert text.startswith(message)
    assert "\n" not in text
    assert text == (f"{caught.value.path}: {caught.value.problem}" if caught.value.path else caught.value.problem)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"api": "torch.add", "args": [1', "not JSON: Expecting ',' delimiter at column 32"),
        (b'{"api": "torch.\xff"}', "not UTF-8: byte 15 is 0xff"),
        (b'{"api": "torch.add", "api": "torch.mul"}', "key 'api' stands twice in one object"),
        (b'{"api": "torch.add", "kwargs": {"x": NaN}}', 'NaN is not JSON: write {"float": "nan"}'),
        (b'{"api": "torch.add", "args": [-Infinity]}', '-Infinity is not JSON: write {"float": "-inf"}'),
        (b'{"api": "torch.add", "args": [1e999]}', 'args.0: inf is not JSON: write {"float": "inf"}'),
        (b'{"api": "torch.add", "args": [' + b"9" * 1000 + b"]}", "args.0: integer of 3322 bits, more than 2048"),
        (b"[" * 100000, "nested too deep"),
        (b'{"api": "torch.add", "args": [' + b"[" * 70 + b"]" * 70 + b"]}", "args.0.0.0.0.0.0.0"),
        (b'{"api": "torch.add", "args": ' + b'[{"dict": {"a": ' * 50 + b"1" + b"}}]" * 50 + b"}", "args.0.a.0.a.0"),
        (b'{"api": "torch.add", "x-a": ' + b"[" * 70 + b"]" * 70 + b"}", "x-a[0][0]"),
        (b"", "not JSON: Expecting value at column 1"),
        (b"null", "a call is a JSON object, not null"),
    ],
)
def test_bad_text(text: bytes, message: str) -> None:
    with pytest.raises(CallError) as caught:
        call_from_text(text)
    assert str(caught.value).startswith(message)


def test_integers_longer_than_python_converts() -> None:
    with pytest.raises(CallError, match=r"not usable JSON|integer of"):
        call_from_text('{"api": "torch.add", "args": [' + "9" * 10000 + "]}")


@given(json_values)
def test_any_json_is_a_call_or_a_call_error(document: Any) -> None:
    with pytest.raises(CallError):
        call_from_json(document)
    try:
        call_from_json({"api": "torch.foo", "args": [document]})
    except CallError as error:
        assert error.path.startswith("args.0")


@given(st.binary(max_size=60))
def test_any_bytes_are_a_call_error(text: bytes) -> None:
    with pytest.raises(CallError):
        call_from_text(text)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) in a JSON value."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = []
    for key, inner in members:
        found += [(value, key), *_places(inner)]
    return found


@given(calls(), json_values, st.data())
def test_a_damaged_call_is_refused_or_sound(call: Call, junk: Any, data: st.DataObject) -> None:
    document = json.loads(json.dumps(call_to_json(call)))
    container, key = data.draw(st.sampled_from(_places(document)))
    container[key] = junk
    try:
        damaged = call_from_json(document)
    except CallError:
        return
    assert call_from_json(call_to_json(damaged)) == damaged
    for _, item in walk(damaged):
        if isinstance(item, TensorArgument):
            assert materialise(item).shape == item.shape


def test_call_errors_survive_pickling_between_processes() -> None:
    import pickle

    error = pickle.loads(pickle.dumps(CallError("args.0", "wrong")))
    assert str(error) == "args.0: wrong"
