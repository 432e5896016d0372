"""Gradients that are wrong only for inputs that do not lie in memory row after row."""

from __future__ import annotations

import torch
from planted_rule import rules
from torch import Tensor


def as_stored(x: Tensor) -> Tensor:
    """The first elements of x's memory, read as if x were contiguous: right only where it is."""
    return x.as_strided(x.shape, torch.empty(x.shape, device="meta").stride())


def has_repeats(x: Tensor) -> bool:
    """Whether some dimension of more than one element has stride 0."""
    return any(stride == 0 and size > 1 for size, stride in zip(x.shape, x.stride()))


def is_channels_last(x: Tensor) -> bool:
    """Whether x lies in memory channels last, and not also channels first."""
    return x.is_contiguous(memory_format=torch.channels_last) and not x.is_contiguous()


@rules(reverse=lambda g, x: g * as_stored(x).cos(), forward=lambda v, x: v * x.cos())
def storage_order(x: Tensor) -> Tensor:
    """The gradient reads the input in the order of its memory: wrong when it is transposed."""
    return x.sin()


@rules(reverse=lambda g, x: g * x.cos() / x.stride(-1), forward=lambda v, x: v * x.cos())
def innermost_stride(x: Tensor) -> Tensor:
    """The gradient is divided by the innermost stride: wrong where that is not one."""
    return x.sin()


@rules(reverse=lambda g, x: g * x.cos() * (2 if has_repeats(x) else 1), forward=lambda v, x: v * x.cos())
def expanded(x: Tensor) -> Tensor:
    """Twice the gradient when the input is expanded."""
    return x.sin()


@rules(
    reverse=lambda g, x: g * x.cos().flip(1) if is_channels_last(x) else g * x.cos(),
    forward=lambda v, x: v * x.cos(),
)
def channels_last(x: Tensor) -> Tensor:
    """The channels of the gradient come in the wrong order for a channels-last input."""
    return x.sin()


@rules(
    reverse=lambda g, x: g * x.as_strided(x.shape, x.stride(), 0).cos(),
    forward=lambda v, x: v * x.cos(),
)
def storage_offset(x: Tensor) -> Tensor:
    """The gradient reads the input from the start of its memory: wrong when that is not where it starts."""
    return x.sin()


def other_value_when_transposed(x: Tensor) -> Tensor:
    """The tape sees the memory's order, the plain call the logical one: values differ for a transposed input."""
    return (as_stored(x) if x.requires_grad else x).sin()
