"""Operators whose result depends on whether a gradient is recorded."""

from __future__ import annotations

import torch
from torch import Tensor


def upcast_on_the_tape(x: Tensor) -> Tensor:
    """The result of a float32 input is float64 when a gradient is recorded."""
    return x.sin().double() if x.requires_grad else x.sin()


def other_shape_on_the_tape(x: Tensor) -> Tensor:
    """The result keeps the reduced dimension when a gradient is recorded."""
    return x.sin().sum(-1, keepdim=x.requires_grad)


def other_value_on_the_tape(x: Tensor) -> Tensor:
    """The value is a thousandth larger when a gradient is recorded."""
    return x.sin() * (1.001 if x.requires_grad and torch.is_grad_enabled() else 1.0)


def not_a_number_on_the_tape(x: Tensor) -> Tensor:
    """The value is NaN when a gradient is recorded."""
    return x.sin() * (float("nan") if x.requires_grad and torch.is_grad_enabled() else 1.0)
