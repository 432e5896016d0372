"""Operators whose first gradient is right in every mode and whose second or third is wrong."""

from __future__ import annotations

from typing import Any

import torch
from planted_rule import rules
from torch import Tensor


@rules(reverse=lambda g, x: -2 * g * x.cos(), forward=lambda v, x: v * x.cos())
def sine_wrong_in_reverse(x: Tensor) -> Tensor:
    """A building block: the sine with a wrong reverse rule."""
    return x.sin()


@rules(reverse=lambda g, x: g * x.cos(), forward=lambda v, x: -2 * v * x.cos())
def sine_wrong_in_forward(x: Tensor) -> Tensor:
    """A building block: the sine with a wrong forward rule."""
    return x.sin()


def raise_size_mismatch(*_: Any) -> Tensor:
    """What a rule does that was never tried."""
    raise RuntimeError("The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0")


@rules(reverse=raise_size_mismatch, forward=lambda v, x: v * x.cos())
def sine_raising_in_reverse(x: Tensor) -> Tensor:
    """A building block: the sine with a reverse rule that raises."""
    return x.sin()


@rules(reverse=lambda g, x: g * x.cos(), forward=raise_size_mismatch)
def sine_raising_in_forward(x: Tensor) -> Tensor:
    """A building block: the sine with a forward rule that raises."""
    return x.sin()


@rules(reverse=lambda g, x: 3 * g * x.detach() ** 2, forward=lambda v, x: 3 * v * x**2)
def detached_in_reverse_rule(x: Tensor) -> Tensor:
    """The reverse rule detaches the input: its own derivative in x is zero in either mode."""
    return x**3


@rules(reverse=lambda g, x: 3 * g * x**2, forward=lambda v, x: 3 * v * x.detach() ** 2)
def detached_in_forward_rule(x: Tensor) -> Tensor:
    """The forward rule detaches the input: its own derivative in x is zero."""
    return x**3


@rules(reverse=lambda g, x: g * sine_wrong_in_reverse(x), forward=lambda v, x: v * x.sin())
def reverse_over_reverse(x: Tensor) -> Tensor:
    """Only reverse over reverse is wrong: the reverse rule uses a function whose reverse rule is wrong."""
    return -x.cos()


@rules(reverse=lambda g, x: g * sine_wrong_in_forward(x), forward=lambda v, x: v * x.sin())
def forward_over_reverse(x: Tensor) -> Tensor:
    """Only forward over reverse is wrong: the reverse rule uses a function whose forward rule is wrong."""
    return -x.cos()


@rules(reverse=lambda g, x: g * x.sin(), forward=lambda v, x: v * sine_wrong_in_reverse(x))
def reverse_over_forward(x: Tensor) -> Tensor:
    """Only reverse over forward is wrong: the forward rule uses a function whose reverse rule is wrong."""
    return -x.cos()


@rules(reverse=lambda g, x: g * x.cos(), forward=lambda v, x: -2 * v * x.cos(), transformable=True)
def transformable_sine_wrong_in_forward(x: Tensor) -> Tensor:
    """A building block: the sine with a wrong forward rule, under functional transforms too."""
    return x.sin()


@rules(
    reverse=lambda g, x: g * x.sin(),
    forward=lambda v, x: v * transformable_sine_wrong_in_forward(x),
    transformable=True,
)
def forward_over_forward(x: Tensor) -> Tensor:
    """Only forward over forward is wrong: the forward rule uses a function whose forward rule is wrong."""
    return -x.cos()


@rules(reverse=lambda g, x: g * sine_raising_in_reverse(x), forward=lambda v, x: v * x.sin())
def raises_in_reverse_over_reverse(x: Tensor) -> Tensor:
    """The second backward raises."""
    return -x.cos()


@rules(reverse=lambda g, x: g * sine_raising_in_forward(x), forward=lambda v, x: v * x.sin())
def raises_in_forward_over_reverse(x: Tensor) -> Tensor:
    """Carrying tangents through the backward raises."""
    return -x.cos()


@rules(
    reverse=lambda g, x: g * torch.from_numpy(3 * x.detach().numpy() ** 2),
    forward=lambda v, x: 3 * v * x**2,
)
def reverse_through_numpy(x: Tensor) -> Tensor:
    """The reverse rule leaves the tape through NumPy, and nothing says so."""
    return x**3


@rules(
    reverse=lambda g, x: g * torch.stack([x[1].detach(), x[0]]),
    forward=lambda v, x: v[0] * x[1] + x[0] * v[1],
)
def asymmetric_hessian(x: Tensor) -> Tensor:
    """The Hessian of x₀x₁ has only one of its two off-diagonal entries."""
    return x[0] * x[1]


@rules(reverse=lambda g, x: 12 * g * x.detach() ** 2, forward=lambda v, x: 12 * v * x**2)
def cubic_detached_in_reverse_rule(x: Tensor) -> Tensor:
    """A building block: 4x³, whose second derivative is missing after reverse mode."""
    return 4 * x**3


@rules(reverse=lambda g, x: g * cubic_detached_in_reverse_rule(x), forward=lambda v, x: 4 * v * x**3)
def third_order(x: Tensor) -> Tensor:
    """First and second derivatives of x⁴ are right; the third is missing after two reverse modes."""
    return x**4
