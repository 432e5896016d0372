"""Memory layouts: the strides and the offset, in elements, that each kind means for a shape."""

from __future__ import annotations

from typing import Sequence, Tuple

from .arguments import Layout

KINDS = ("contiguous", "transposed", "strided", "expanded", "channels_last")


def strides_of(layout: Layout, shape: Sequence[int]) -> Tuple[Tuple[int, ...], int]:
    """Strides and offset in elements, so that element i lies at offset + Σ i·stride.

    contiguous: row-major. transposed: the last two axes are stored the other way round (row-major below two axes).
    strided: row-major with room for two elements in the place of each one. expanded: stride 0 along the first axis
    longer than one, row-major over the others. channels_last: axis 1 is stored innermost. explicit: as given.
    """
    ndim = len(shape)
    axes = list(range(ndim))
    if layout.kind == "explicit":
        return tuple(layout.strides or ()), layout.offset
    if layout.kind == "transposed" and ndim >= 2:
        axes[-2:] = [ndim - 1, ndim - 2]
    elif layout.kind == "channels_last":
        axes = [0, *range(2, ndim), 1]
    if layout.kind == "expanded":
        axis = next((axis for axis, size in enumerate(shape) if size > 1), None)
        if axis is not None:
            axes.remove(axis)
    return _packed(shape, axes, 2 if layout.kind == "strided" else 1), 0


def _packed(shape: Sequence[int], axes: Sequence[int], step: int) -> Tuple[int, ...]:
    """Strides that lay `axes` out row-major from steps of `step`; axes left out get stride 0."""
    strides = [0] * len(shape)
    for axis in reversed(axes):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


def extent(shape: Sequence[int], strides: Sequence[int], offset: int) -> int:
    """How many elements the memory behind a tensor must have: one past the farthest that it reaches."""
    if 0 in shape:
        return offset
    return offset + 1 + sum((size - 1) * stride for size, stride in zip(shape, strides))


def overlaps(layout: Layout) -> bool:
    """Whether two elements may share one place in memory."""
    return layout.kind in ("expanded", "explicit")
