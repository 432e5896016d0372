"""Live torch objects survive the way into a call: values, layouts, identity, and what rounding must not lose."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_nabla.call import (
    Call,
    DtypeArgument,
    ReferenceArgument,
    SameArgument,
    Seeded,
    TensorArgument,
    Values,
    call_from_json,
    call_to_json,
    materialise,
)
from evo_nabla.target.harvest.encode import Encoder, UnencodableError, draw_like, shortest
from evo_nabla.target.harvest.names import PublicNames

NAMES = PublicNames()
DTYPES = (
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex128, torch.complex64,
    torch.int64, torch.int8, torch.uint8, torch.bool,
)  # fmt: skip


@st.composite
def tensors(draw: st.DrawFn) -> torch.Tensor:
    """Tensors of every dtype family with permuted, sliced and expanded memory."""
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**16)))
    base = (torch.randn(shape, generator=generator, dtype=torch.float64) * 5).to(draw(st.sampled_from(DTYPES)))
    if shape:
        base = base.permute(draw(st.permutations(range(len(shape)))))
        if draw(st.booleans()):
            base = base[..., :: draw(st.integers(1, 2))]
        if draw(st.booleans()):
            base = base[:1].expand(3, *base.shape[1:]) if base.shape[0] else base
    return base


@settings(max_examples=150, deadline=None)
@given(tensors())
def test_a_tensor_keeps_values_dtype_and_memory(tensor: torch.Tensor) -> None:
    call = Encoder(NAMES).call("torch.sin", (tensor,), {})
    assert call_from_json(call_to_json(call)) == call
    argument = call.args[0]
    assert isinstance(argument, TensorArgument)
    assert argument.dtype == str(tensor.dtype)[len("torch.") :]
    values = tensor.float() if tensor.dtype == torch.bfloat16 else tensor
    assert np.array_equal(materialise(argument), values.numpy(), equal_nan=True)
    if tensor.is_contiguous():
        assert argument.layout.kind == "contiguous"
    elif argument.layout.kind == "explicit":
        assert argument.layout.strides == tensor.stride()


def test_arguments_that_are_not_tensors() -> None:
    encoder = Encoder(NAMES)
    assert encoder.argument(torch.float32) == DtypeArgument("float32")
    assert encoder.argument(torch.channels_last) == ReferenceArgument("torch.channels_last")
    assert encoder.argument(torch.nn.functional.pairwise_distance).path.endswith("pairwise_distance")
    assert encoder.argument(torch.device("cpu")) == "cpu"
    assert encoder.argument(np.float64(0.5)) == 0.5
    assert encoder.argument(True) is True
    assert call_to_json(Call("torch.sin", (encoder.argument(torch.Size([2, 3])),)))["args"] == [{"tuple": [2, 3]}]
    assert call_to_json(Call("torch.sin", (encoder.argument(slice(1, None, 2)),)))["args"] == [{"slice": [1, None, 2]}]


@pytest.mark.parametrize(
    "value", [torch.Generator(), torch.eye(2).to_sparse(), {1: 2}, torch.empty(1, device="meta"), object()]
)
def test_what_has_no_form_is_refused(value: object) -> None:
    with pytest.raises(UnencodableError):
        Encoder(NAMES).argument(value)


def test_one_object_twice_stays_one_object() -> None:
    x = torch.randn(2)
    call = Encoder(NAMES).call("torch.stack", ([x, torch.randn(2), x],), {})
    assert call.args[0].items[2] == SameArgument("args.0.0")


def test_only_a_partial_choice_of_gradients_is_written() -> None:
    encoder = Encoder(NAMES)
    x, y = torch.randn(2, requires_grad=True), torch.randn(2)
    assert encoder.call("torch.add", (x, y), {}).diff == ("args.0",)
    assert encoder.call("torch.add", (x, x.detach().requires_grad_()), {}).diff is None
    assert encoder.call("torch.add", (y, y.clone()), {}).diff is None
    assert encoder.call("torch.add", (x, torch.tensor(1)), {}).diff is None


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**16), st.integers(2, 6), st.integers(1, 6))
def test_rounding_keeps_rank_triangle_symmetry_and_distinct_values(seed: int, size: int, rank: int) -> None:
    random = np.random.RandomState(seed)
    low = random.randn(size, min(rank, size)) @ random.randn(min(rank, size), size)
    for matrix in (low, low @ low.T, np.tril(random.randn(size, size))):
        rounded = shortest(matrix)
        assert np.allclose(rounded, matrix, rtol=1e-3)
        assert np.linalg.matrix_rank(rounded) == np.linalg.matrix_rank(matrix)
        assert len(np.unique(rounded)) == len(np.unique(matrix))
        assert np.array_equal(rounded == 0, matrix == 0)
    assert np.array_equal(shortest(low @ low.T), shortest(low @ low.T).T) == np.array_equal(
        low @ low.T, (low @ low.T).T
    )


def test_rounding_shortens_ordinary_values() -> None:
    assert shortest(np.array([0.123456789, -4.0, 1e-7 / 3])).tolist() == [0.1235, -4.0, 3.333e-08]
    close = np.array([1.0, 1.0 + 1e-12])
    assert np.array_equal(shortest(close), close)


def test_only_plain_large_tensors_become_draws() -> None:
    random = np.random.RandomState(0)
    plain = random.uniform(-3, 7, (10, 10))
    drawn = draw_like(plain, "args.0")
    assert drawn is not None
    assert -3 <= drawn.low < drawn.high <= 7
    structures = (
        np.tril(plain), plain + plain.T, np.sort(plain), np.outer(plain[0], plain[1]), plain.round(),
        np.full((9, 9), 2.0), np.where(plain > 6, np.nan, plain), np.arange(100),
    )  # fmt: skip
    for structured in structures:
        assert draw_like(structured, "args.0") is None
    tensor = torch.from_numpy(plain)
    assert isinstance(Encoder(NAMES, rounded=True, drawn=True).argument(tensor).content, Seeded)
    assert isinstance(Encoder(NAMES, rounded=True).argument(tensor.clone()).content, Values)
    assert isinstance(Encoder(NAMES, drawn=True).argument(tensor[:2, :3]).content, Values)
