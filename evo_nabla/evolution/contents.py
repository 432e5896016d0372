"""Tensors' contents: values out of seeds and fills, and content made to fit another shape or dtype."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from functools import lru_cache

from evo_nabla.call import CallError, Content, Fill, Layout, Number, Seeded, TensorArgument, Values
from evo_nabla.call.dtypes import COMPLEX, DTYPES, FLOATING, INTEGER
from evo_nabla.call.kinds import check_kind
from evo_nabla.call.materialise import materialise

# A tensor with more elements keeps its seed or fill: writing it out would cost more than running it.
WRITTEN_OUT = 256
CONTIGUOUS = Layout()

Shape = tuple[int, ...]


def family(dtype: str) -> str:
    """ "bool", "integer", "floating" or "complex"."""
    return DTYPES[dtype].family


def elements(shape: Shape) -> int:
    return math.prod(shape)


def fit(number: Number, dtype: str) -> Number:
    """The nearest thing to `number` in `dtype`: its real part, clamped to an integer's range, true unless zero."""
    kind = DTYPES[dtype].family
    if kind == COMPLEX:
        return complex(number)
    real = number.real
    if kind == FLOATING:
        return float(real)
    if kind != INTEGER:
        return bool(real)
    low, high = integer_range(dtype)
    if isinstance(real, float) and not math.isfinite(real):
        return high if real > 0 else low
    return max(low, min(high, round(real)))


def integer_range(dtype: str) -> tuple[int, int]:
    """The least and the greatest integer of an integer dtype."""
    return int(DTYPES[dtype].lowest), int(DTYPES[dtype].highest)


def values_of(tensor: TensorArgument) -> list[Number] | None:
    """The logical values, row-major, as Python numbers; None for a tensor too large to be written out."""
    count = elements(tensor.shape)
    if count > WRITTEN_OUT:
        return None
    content = tensor.content
    if isinstance(content, Values):
        return list(content.flat)
    if isinstance(content, Fill):
        return [content.value] * count
    return list(_drawn(tensor.shape, tensor.dtype, content.seed, content.low, content.high, content.kind))


# A parent's tensors are written out again for each of its children, and seeding a generator costs more than a mutation.
@lru_cache(maxsize=1024)
def _drawn(shape: Shape, dtype: str, seed: int, low: Number, high: Number, kind: str) -> tuple[Number, ...]:
    array = materialise(TensorArgument(shape, dtype, Seeded(seed, low, high, kind)))
    return tuple(array.ravel().tolist())


def with_content(tensor: TensorArgument, content: Content) -> TensorArgument:
    return TensorArgument(tensor.shape, tensor.dtype, content, tensor.layout)


def with_values(tensor: TensorArgument, values: Sequence[Number]) -> TensorArgument:
    """The tensor with these values, each made to fit its dtype."""
    return with_content(tensor, Values(tuple([fit(value, tensor.dtype) for value in values])))


def fresh(dtype: str, shape: Shape, low: float = -2.0, high: float = 2.0, kind: str = "uniform") -> Seeded:
    """A new random seed, its range and kind made to suit the dtype and the shape (see `suited`)."""
    return suited(Seeded(int(random.random() * 2**32), low, high, kind), dtype, shape)


def suited(content: Seeded, dtype: str, shape: Shape) -> Seeded:
    """The seed with a range this dtype allows (two integers at least); uniform where its kind does not suit."""
    kind = content.kind
    try:
        check_kind(kind, shape, DTYPES[dtype], "")
    except CallError:
        kind = "uniform"
    if DTYPES[dtype].family != INTEGER:
        return Seeded(content.seed, float(content.low.real), float(content.high.real), kind)
    least, greatest = integer_range(dtype)
    span = max(2, elements(shape)) if kind == "distinct" else 2
    if greatest - least < span:
        kind, span = "uniform", 2
    low = max(least, min(greatest - span, math.floor(content.low.real)))
    return Seeded(content.seed, low, max(low + span, min(greatest, math.ceil(content.high.real))), kind)


def reshaped(tensor: TensorArgument, shape: Shape) -> TensorArgument:
    """The tensor with another shape: a seed or fill stays, values repeat or are cut; an unfit layout is dropped."""
    if shape == tensor.shape:
        return tensor
    content: Content = tensor.content
    if isinstance(content, Values):
        content = _stretched(content, tensor.dtype, shape)
    elif isinstance(content, Seeded):
        content = suited(content, tensor.dtype, shape)
    return TensorArgument(shape, tensor.dtype, content, fitting_layout(tensor.layout, shape))


def _stretched(content: Values, dtype: str, shape: Shape) -> Content:
    old, count = content.flat, elements(shape)
    if not old or count > WRITTEN_OUT:
        numbers = [value.real for value in old if math.isfinite(value.real)]
        low, high = min(numbers, default=-1), max(numbers, default=1)
        return fresh(dtype, shape, max(low, -1e6), min(high, 1e6)) if low < high else Fill(fit(low, dtype))
    repeats = -(-count // len(old))
    return Values((old * repeats)[:count])


def is_square(shape: Shape) -> bool:
    return len(shape) >= 2 and shape[-1] == shape[-2]


def fitting_layout(layout: Layout, shape: Shape) -> Layout:
    """The layout, or contiguous where it needs other dimensions than `shape` has."""
    return layout if layout.kind in possible_layouts(shape) else CONTIGUOUS


def possible_layouts(shape: Shape) -> tuple[str, ...]:
    """The named layouts a tensor of this shape can have."""
    kinds = ["contiguous"]
    if len(shape) >= 1:
        kinds += ["strided", "expanded"]
    if len(shape) >= 2:
        kinds.append("transposed")
    if len(shape) in (4, 5):
        kinds.append("channels_last")
    return tuple(kinds)


def cast(tensor: TensorArgument, dtype: str) -> TensorArgument:
    """The tensor in another dtype: values converted, a seed's range made sensible there."""
    content: Content = tensor.content
    if isinstance(content, Values):
        content = Values(tuple([fit(value, dtype) for value in content.flat]))
    elif isinstance(content, Fill):
        content = Fill(fit(content.value, dtype))
    else:
        content = suited(content, dtype, tensor.shape)
    return TensorArgument(tensor.shape, dtype, content, tensor.layout)
