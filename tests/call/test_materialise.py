"""Tensor arguments become the elements that their definitions say, to the bit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from evo_nabla.call import TensorArgument, argument_from_json, argument_to_json, materialise
from evo_nabla.call.dtypes import DTYPES, round_to
from evo_nabla.call.layouts import extent, strides_of

from .strategies import tensors


def build(**members: Any) -> Any:
    argument = argument_from_json({"tensor": {"shape": [3, 4], "dtype": "float64", **members}})
    assert isinstance(argument, TensorArgument)
    return materialise(argument)


def same_bits(one: Any, other: Any) -> bool:
    return bool(one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes())


@given(tensors())
def test_the_same_bytes_after_json(tensor: TensorArgument) -> None:
    array = materialise(tensor)
    assert array.shape == tensor.shape
    assert array.dtype == DTYPES[tensor.dtype].storage
    assert array.flags.c_contiguous
    again = argument_from_json(argument_to_json(tensor))
    assert isinstance(again, TensorArgument)
    assert same_bits(materialise(again), array)


@given(tensors())
def test_elements_are_values_of_the_dtype(tensor: TensorArgument) -> None:
    array = materialise(tensor)
    assert same_bits(round_to(array, tensor.dtype), array)


def test_plain_seeds_are_random_state_uniform() -> None:
    expected = np.random.RandomState(7).uniform(-1, 2, (3, 4))
    assert same_bits(build(seed=7, range=[-1, 2]), expected)
    assert same_bits(build(seed=7, range=[-1, 2], dtype="float16"), expected.astype("float16"))
    assert same_bits(build(seed=7, range=[-1, 2], dtype="float32"), expected.astype("float32"))
    assert same_bits(build(seed=7), np.random.RandomState(7).uniform(0, 1, (3, 4)))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_seeds_draw_the_real_part_first(dtype: str) -> None:
    random = np.random.RandomState(7)
    real, imaginary = random.uniform(-1, 2, (3, 4)), random.uniform(-1, 2, (3, 4))
    assert same_bits(build(seed=7, range=[-1, 2], dtype=dtype), (real + 1j * imaginary).astype(dtype))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_integer_seeds_are_randint(dtype: str) -> None:
    expected = np.random.RandomState(7).randint(3, 90, (3, 4)).astype(dtype)
    assert same_bits(build(seed=7, range=[3, 90], dtype=dtype), expected)


def test_bool_seeds_are_uniform_below_half() -> None:
    assert same_bits(build(seed=7, dtype="bool"), np.random.RandomState(7).uniform(0, 1, (3, 4)) < 0.5)
    assert build(seed=7, range=[0.6, 1], dtype="bool").sum() == 0


def test_the_whole_range_of_64_bits() -> None:
    high = build(seed=1, range=[2**63, 2**64], dtype="uint64", shape=[50])
    assert high.min() >= 2**63
    full = build(seed=1, range=[-(2**63), 2**63], dtype="int64", shape=[50])
    assert full.min() < -(2**60) < 2**60 < full.max()
    spread = build(seed=1, range=[-(2**63), 2**63], dtype="int64", shape=[4], kind="distinct")
    assert sorted(spread) == [-(2**63), -(2**62), 0, 2**62]


def test_explicit_values_round_as_numpy_does() -> None:
    values = [0.1, -0.0, 65520.0, 2.0**-25, 3e-8, {"float": "-inf"}, {"float": "nan"}, 1e300]
    doubles = np.array([0.1, -0.0, 65520.0, 2.0**-25, 3e-8, -np.inf, np.nan, 1e300])
    with np.errstate(over="ignore"):
        assert same_bits(build(shape=[8], values=values, dtype="float16"), doubles.astype("float16"))
        assert same_bits(build(shape=[8], values=values, dtype="float32"), doubles.astype("float32"))
    assert same_bits(build(shape=[], fill=-0.0), np.array(-0.0))


def test_nan_has_one_bit_pattern() -> None:
    from evo_nabla.call import Values

    negative = float(np.copysign(np.nan, -1.0))
    one = materialise(TensorArgument((2,), "float32", Values((negative, math.nan))))
    assert same_bits(one, np.array([np.nan, np.nan], "float32"))


BATCHED = {"shape": [2, 5, 5], "seed": 3, "range": [-2, 3]}


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_spd(dtype: str) -> None:
    array = build(**BATCHED, kind="spd", dtype=dtype)
    assert np.array_equal(array, np.conj(np.swapaxes(array, -1, -2)))
    assert np.linalg.eigvalsh(array).min() >= 1 - 1e-12
    factor = build(**BATCHED, dtype=dtype)
    assert np.allclose(array, factor @ np.conj(np.swapaxes(factor, -1, -2)) / 5 + np.eye(5))


@pytest.mark.parametrize("dtype", ["float64", "complex128", "int32", "bool"])
def test_symmetric_and_triangular(dtype: str) -> None:
    plain = build(**BATCHED, dtype=dtype)
    symmetric = build(**BATCHED, kind="symmetric", dtype=dtype)
    assert np.array_equal(symmetric, np.conj(np.swapaxes(symmetric, -1, -2)))
    assert np.array_equal(np.tril(symmetric, -1), np.tril(plain, -1))
    assert np.array_equal(build(**BATCHED, kind="lower", dtype=dtype), np.tril(plain))
    assert np.array_equal(build(**BATCHED, kind="upper", dtype=dtype), np.triu(plain))


@pytest.mark.parametrize("shape", [[4, 4], [2, 5, 3], [3, 5], [0, 0], [3, 0], [1, 1]])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_orthogonal(shape: list[int], dtype: str) -> None:
    array = build(shape=shape, seed=5, kind="orthogonal", dtype=dtype)
    if shape[-2] < shape[-1]:
        array = np.swapaxes(array, -1, -2)
    gram = np.conj(np.swapaxes(array, -1, -2)) @ array
    assert np.allclose(gram, np.eye(gram.shape[-1]), atol=1e-13)
    assert array.size == 0 or np.abs(array).min() > 0


def test_kinds_of_ordering_and_ties() -> None:
    assert (np.diff(build(seed=1, kind="sorted", shape=[3, 20])) >= 0).all()
    rows = build(seed=1, kind="permutation", shape=[3, 20], dtype="int64")
    assert (np.sort(rows) == np.arange(20)).all()
    assert not (rows[0] == rows[1]).all()
    assert len(set(build(seed=1, kind="distinct", shape=[10, 20]).ravel())) == 200
    assert sorted(build(seed=1, kind="distinct", shape=[10], dtype="int8")) == list(range(10))
    assert len(set(build(seed=1, kind="repeated", shape=[10, 20]).ravel())) == 3
    assert len(set(build(seed=1, kind="repeated", shape=[10, 20], dtype="complex64").ravel())) == 3
    whole = build(seed=1, kind="integer", range=[-3, 4], shape=[200])
    assert set(whole) == set(range(-3, 4))


def test_normal_has_the_mean_and_deviation_of_its_range() -> None:
    array = build(seed=1, kind="normal", range=[1, 5], shape=[2000])
    assert abs(array.mean() - 3) < 0.2
    assert abs(array.std() - 2) < 0.2


def _by_layout(tensor: TensorArgument) -> Any:
    """What a library would read back: the elements put into memory, then viewed with the strides."""
    array = materialise(tensor)
    strides, offset = strides_of(tensor.layout, tensor.shape)
    memory = np.zeros(max(extent(tensor.shape, strides, offset), 1), array.dtype)
    for index in np.ndindex(*tensor.shape):
        memory[offset + sum(i * s for i, s in zip(index, strides))] = array[index]
    size = memory.itemsize
    view = np.lib.stride_tricks.as_strided(memory[offset:], tensor.shape, [stride * size for stride in strides])
    return np.array(view)


@given(tensors())
def test_the_layout_holds_the_elements(tensor: TensorArgument) -> None:
    array = materialise(tensor)
    if array.size:
        assert same_bits(_by_layout(tensor), array)


def test_layouts_by_name() -> None:
    def strides(shape: list[int], layout: Any) -> Any:
        argument = argument_from_json({"tensor": {"shape": shape, "dtype": "int8", "fill": 0, "layout": layout}})
        assert isinstance(argument, TensorArgument)
        return strides_of(argument.layout, shape)

    assert strides([2, 3, 4], "contiguous") == ((12, 4, 1), 0)
    assert strides([2, 3, 4], "transposed") == ((12, 1, 3), 0)
    assert strides([3], "transposed") == ((1,), 0)
    assert strides([2, 3], "strided") == ((6, 2), 0)
    assert strides([1, 3, 4], "expanded") == ((4, 0, 1), 0)
    assert strides([], "expanded") == ((), 0)
    assert strides([2, 3, 4, 5], "channels_last") == ((60, 1, 15, 3), 0)
    assert strides([2, 3, 4, 5, 6], "channels_last") == ((360, 1, 90, 18, 3), 0)
    assert strides([2, 3], {"strides": [0, 5], "offset": 2}) == ((0, 5), 2)


def test_expanded_repeats_its_first_slice() -> None:
    expanded = build(values=list(range(12)), layout="expanded")
    assert expanded.tolist() == [[0, 1, 2, 3]] * 3
    overlapping = build(shape=[4], values=[1, 2, 3, 4], layout={"strides": [0], "offset": 3})
    assert overlapping.tolist() == [1, 1, 1, 1]


def test_bfloat16_and_float8_round_as_torch_does() -> None:
    torch = pytest.importorskip("torch")
    names = [name for name in DTYPES if name == "bfloat16" or name.startswith("float8")]
    # Torch reads float64 by way of float32, which rounds twice; float32 inputs show its rounding alone.
    random = np.random.RandomState(0)
    singles = np.concatenate([
        random.randint(0, 2**32, 20000, dtype=np.uint32).view("float32"),
        np.ldexp(random.uniform(-2, 2, 20000), random.randint(-25, 18, 20000)).astype("float32"),
        np.array([0, -0.0, np.inf, -np.inf, np.nan, 448, 464, 465, 480, 57344, 61440, 61439, 240, 248, 247], "float32"),
    ])  # fmt: skip
    for name in names:
        theirs = torch.from_numpy(singles).to(getattr(torch, name)).to(torch.float32).numpy()
        ours = round_to(singles, name)
        if name == "float8_e4m3fn":  # beyond the largest value some versions of torch saturate
            theirs = np.where(np.abs(singles) > 464, np.float32(np.nan), theirs)
        assert np.array_equal(ours, theirs, equal_nan=True), name
        assert np.array_equal(np.signbit(ours[ours == 0]), np.signbit(theirs[ours == 0])), name


def test_rounding_to_bfloat16_does_not_round_twice() -> None:
    just_above_half = 1 + 2.0**-8 + 2.0**-40  # float32 would drop the last bit and make it a tie
    assert round_to(np.array([just_above_half]), "bfloat16")[0] == 1 + 2.0**-7
