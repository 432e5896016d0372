"""Memory layouts: what is written is what torch reads."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given

from evo_nabla.call import TensorArgument, materialise
from evo_nabla.target.backends.memory import Memory
from tests.call.strategies import tensors


@given(tensors())
def test_torch_reads_what_was_written(argument: TensorArgument) -> None:
    memory = Memory(argument)
    value = materialise(argument)
    projected = memory.project(value)
    assert projected.shape == argument.shape
    assert np.array_equal(memory.project(projected), projected, equal_nan=projected.dtype.kind in "fc")
    if memory.is_plain or (value.dtype.kind in "u" and value.dtype.itemsize > 1):
        return
    view = torch.from_numpy(memory.buffer(value)).as_strided(memory.shape, memory.strides, memory.offset)
    assert np.array_equal(view.numpy(), projected, equal_nan=projected.dtype.kind in "fc")


@given(tensors())
def test_projection_is_the_value_that_the_language_means(argument: TensorArgument) -> None:
    value = materialise(argument)
    assert np.array_equal(Memory(argument).project(value), value, equal_nan=value.dtype.kind in "fc")
