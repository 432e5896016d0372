"""The elements that a tensor argument stands for, as a NumPy array.

Seeded content is made from `numpy.random.RandomState`, whose streams NumPy has frozen, and elementary operations in a
fixed order (no BLAS, no LAPACK, no reduction whose order is NumPy's own), so that every NumPy makes the same bytes.
"""

from __future__ import annotations

from math import prod
from typing import Any, Callable, Dict, Tuple

import numpy as np

from .arguments import Fill, Layout, Seeded, TensorArgument
from .dtypes import BOOL, COMPLEX, DTYPES, FLOATING, INTEGER, Dtype, round_to
from .layouts import overlaps, strides_of

MAX_ELEMENTS = 2**24
"""The most elements that a tensor, or the memory behind it, may have; more is refused when the call is read."""

Array = Any  # np.ndarray of any dtype: its type parameters differ between the NumPys this runs on
Shape = Tuple[int, ...]


def materialise(tensor: TensorArgument) -> Array:
    """The tensor's elements in C order and shape `tensor.shape`, rounded to its dtype, in `Dtype.storage`.

    bfloat16 and float8_* come as float32, complex32 as complex64, holding representable values. Where the layout makes
    elements share a place in memory, all of them have the value of the first one in row-major order.
    """
    dtype = DTYPES[tensor.dtype]
    array = np.ascontiguousarray(round_to(_drawn(tensor, dtype), dtype.name)).reshape(tensor.shape)
    return _shared(array, tensor.layout) if overlaps(tensor.layout) and array.size else array


def _drawn(tensor: TensorArgument, dtype: Dtype) -> Array:
    """The elements before rounding to the dtype."""
    content = tensor.content
    if isinstance(content, Seeded):
        draw = Draw(content, tensor.shape, dtype)
        return _KINDS[content.kind](draw)
    exact = {FLOATING: "float64", COMPLEX: "complex128"}.get(dtype.family, dtype.storage)
    if isinstance(content, Fill):
        return np.full(tensor.shape, content.value, exact)
    return np.array(content.flat, exact).reshape(tensor.shape)


def _shared(array: Array, layout: Layout) -> Array:
    strides, offset = strides_of(layout, array.shape)
    places = np.full(array.shape, offset, np.int64)
    for axis, (size, stride) in enumerate(zip(array.shape, strides)):
        places += (np.arange(size, dtype=np.int64) * stride).reshape(
            [-1 if i == axis else 1 for i in range(array.ndim)]
        )
    _, first, inverse = np.unique(places.ravel(), return_index=True, return_inverse=True)
    return array.ravel()[first][inverse.ravel()].reshape(array.shape)


class Draw:
    """One seeded tensor's random state and bounds; its methods are the draws that the kinds below are made of."""

    def __init__(self, content: Seeded, shape: Shape, dtype: Dtype) -> None:
        self.random = np.random.RandomState(content.seed)
        self.low: Any = content.low
        self.high: Any = content.high
        self.shape = shape
        self.family = dtype.family
        self.unsigned = dtype.name == "uint64"

    def parts(self, draw: Callable[[], Array]) -> Array:
        """`draw` once, or for complex dtypes twice: the real part, then the imaginary part."""
        return _complex(draw(), draw()) if self.family == COMPLEX else np.asarray(draw())

    def real(self, shape: Shape) -> Array:
        """Draws of real numbers of one part: integers for integer dtypes."""
        if self.family == INTEGER:
            # Only a uint64 has room for draws from 2**63 on.
            wide = self.unsigned and self.high > 2**63
            return self.random.randint(self.low, self.high, shape, dtype=np.uint64 if wide else np.int64)
        uniform = self.random.uniform(self.low, self.high, shape)
        return uniform < 0.5 if self.family == BOOL else uniform

    def uniform(self) -> Array:
        return self.parts(lambda: self.real(self.shape))

    def permutations(self, rows: int, length: int) -> Array:
        """`rows` permutations of range(length), drawn one after the other."""
        drawn = [self.random.permutation(length) for _ in range(rows)]
        return np.array(drawn, np.int64).reshape(rows, length)


def uniform(draw: Draw) -> Array:
    """RandomState(seed).uniform(low, high, shape); complex: real part, then imaginary part; integers:
    randint(low, high, shape); bool: that uniform draw < 0.5."""
    return draw.uniform()


def normal(draw: Draw) -> Array:
    """RandomState(seed).normal(mean, deviation, shape) with [low, high) = mean ± deviation; complex by parts."""
    mean, deviation = draw.low / 2 + draw.high / 2, draw.high / 2 - draw.low / 2
    return draw.parts(lambda: draw.random.normal(mean, deviation, draw.shape))


def integer(draw: Draw) -> Array:
    """Whole numbers: the floor of `uniform`, in whatever dtype; complex by parts."""
    return draw.uniform() if draw.family == INTEGER else draw.parts(lambda: np.floor(draw.real(draw.shape)))


def ascending(draw: Draw) -> Array:
    """`uniform` sorted along the last axis."""
    return np.sort(draw.uniform(), axis=-1)


def lower(draw: Draw) -> Array:
    """`uniform` with zeros above the diagonal of the last two axes."""
    return np.tril(draw.uniform())


def upper(draw: Draw) -> Array:
    """`uniform` with zeros below the diagonal of the last two axes."""
    return np.triu(draw.uniform())


def symmetric(draw: Draw) -> Array:
    """The lower triangle of `uniform` mirrored at the diagonal; Hermitian for complex dtypes, with a real diagonal."""
    drawn = draw.uniform()
    below = np.tril(drawn, -1)
    across = np.swapaxes(below, -1, -2)
    diagonal = np.tril(np.triu(drawn))
    if draw.family != COMPLEX:
        return below | across | diagonal if draw.family == BOOL else below + across + diagonal
    return _complex(below.real + across.real + diagonal.real, below.imag - across.imag)


def spd(draw: Draw) -> Array:
    """Symmetric (Hermitian) positive definite matrices A Aᴴ / n + I, where A is `uniform` and n its side.

    The sum over A's columns runs from the first to the last; complex products are
    (ac + bd) + i (bc − ad) for (a + ib) times the conjugate of (c + id).
    """
    matrix = draw.uniform()
    side = draw.shape[-1]
    real, imaginary = np.zeros(draw.shape), np.zeros(draw.shape)
    for column in range(side):
        a, b = matrix[..., :, column, None].real, matrix[..., :, column, None].imag
        c, d = np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)
        real += a * c + b * d
        imaginary += b * c - a * d
    real = real / max(side, 1) + np.eye(side)
    return _complex(real, imaginary / max(side, 1)) if draw.family == COMPLEX else real


def orthogonal(draw: Draw) -> Array:
    """Orthogonal (unitary) matrices, and orthonormal columns of tall ones, as products of Householder reflections.

    For m×n with m ≥ n: with R = RandomState.uniform(-1, 1) of shape (..., n, m) (complex: real part, then imaginary
    part) and Q the m×n identity, for each row v of R, first to last, Q ← Q − 2 v (vᴴ Q) / (vᴴ v). Sums run from the
    first to the last element. Wide matrices are the conjugate transposes of tall ones. `range` plays no part.
    """
    *batch, rows, columns = draw.shape
    tall, narrow = max(rows, columns), min(rows, columns)
    directions = draw.parts(lambda: draw.random.uniform(-1.0, 1.0, (*batch, narrow, tall)))
    real, imaginary = np.zeros((*batch, tall, narrow)), np.zeros((*batch, tall, narrow))
    real[...] = np.eye(tall, narrow)
    for index in range(narrow):
        a, b = directions[..., index, :, None].real, directions[..., index, :, None].imag
        scale = 2.0 / _ordered_sum(a * a + b * b)
        along = scale * _ordered_sum(a * real + b * imaginary)
        across = scale * _ordered_sum(a * imaginary - b * real)
        real -= a * along - b * across
        imaginary -= a * across + b * along
    if rows < columns:
        real, imaginary = np.swapaxes(real, -1, -2), -np.swapaxes(imaginary, -1, -2)
    return _complex(real, imaginary) if draw.family == COMPLEX else real


def permutation(draw: Draw) -> Array:
    """A permutation of 0 … n−1 along the last axis, RandomState.permutation row after row; complex by parts."""
    *batch, length = draw.shape
    return draw.parts(lambda: draw.permutations(prod(batch), length).reshape(draw.shape))


def distinct(draw: Draw) -> Array:
    """No ties: low + k · step for the n elements, k a permutation of 0 … n−1 and step = (high − low) / n, rounded
    down for integers; complex by parts. A narrow dtype may still round two of them to one."""
    count = prod(draw.shape)

    def part() -> Array:
        places = draw.permutations(1, count).reshape(draw.shape)
        if draw.family != INTEGER:
            return draw.low + places * ((draw.high - draw.low) / max(count, 1))
        # Modulo 2**64, where both int64 and uint64 come out right.
        step = np.uint64((draw.high - draw.low) // max(count, 1))
        sums = places.astype(np.uint64) * step + np.full(draw.shape, draw.low % 2**64, np.uint64)
        return sums if draw.unsigned else sums.view(np.int64)

    return draw.parts(part)


def repeated(draw: Draw) -> Array:
    """Ties: a palette of three values, drawn like `uniform` of shape (3,), then RandomState.randint(0, 3, shape) says
    which of them each element is."""
    palette = draw.parts(lambda: draw.real((3,)))
    return palette[draw.random.randint(0, 3, draw.shape, dtype=np.int64)]


def _ordered_sum(terms: Array) -> Array:
    """Sum along the last but one axis, kept as an axis; from first to last, where `np.sum` would pair terms up."""
    return np.cumsum(terms, axis=-2)[..., -1:, :]


def _complex(real: Array, imaginary: Array) -> Array:
    array = np.empty(np.shape(real), np.complex128)
    array.real, array.imag = real, imaginary
    return array


_KINDS: Dict[str, Callable[[Draw], Array]] = {
    "uniform": uniform,
    "normal": normal,
    "integer": integer,
    "sorted": ascending,
    "spd": spd,
    "symmetric": symmetric,
    "lower": lower,
    "upper": upper,
    "orthogonal": orthogonal,
    "permutation": permutation,
    "distinct": distinct,
    "repeated": repeated,
}
