"""Operators that are wrong for one element type only."""

from __future__ import annotations

import torch
from planted_rule import rules
from torch import Tensor


@rules(
    reverse=lambda g, x: 1.5 * g * x.cos() if x.dtype == torch.float32 else g * x.cos(),
    forward=lambda v, x: v * x.cos(),
)
def single_precision(x: Tensor) -> Tensor:
    """The gradient is half as large again for float32 only."""
    return x.sin()


@rules(
    reverse=lambda g, x: g * x.bfloat16().cos().float() if x.dtype == torch.float32 else g * x.cos(),
    forward=lambda v, x: v * x.cos(),
)
def low_precision_path(x: Tensor) -> Tensor:
    """The gradient of a float32 input is computed in bfloat16."""
    return x.sin()


@rules(
    reverse=lambda g, x: -g * x.exp() if x.dtype == torch.float16 else g * x.exp(),
    forward=lambda v, x: v * x.exp(),
)
def half_precision(x: Tensor) -> Tensor:
    """The gradient's sign is wrong for float16 only."""
    return x.exp()


@rules(
    reverse=lambda g, x: g * 2 if x.dtype == torch.bfloat16 else g * 2 * x,
    forward=lambda v, x: v * 2 * x,
)
def brain_float(x: Tensor) -> Tensor:
    """The gradient forgets the input for bfloat16 only."""
    return x * x


@rules(
    reverse=lambda g, z: g * z.exp() if z.dtype == torch.complex64 else g * z.exp().conj(),
    forward=lambda v, z: v * z.exp(),
)
def single_precision_complex(z: Tensor) -> Tensor:
    """The gradient lacks the conjugate for complex64 only."""
    return z.exp()
