"""Derivatives that are not implemented, and say so."""

from __future__ import annotations

from typing import Any

import torch
from planted_rule import rules
from torch import Tensor
from torch.autograd.function import once_differentiable


def not_implemented(*_: Any) -> Tensor:
    """What PyTorch's own operators say."""
    raise RuntimeError("derivative for aten::planted is not implemented")


def no_forward_mode(*_: Any) -> Tensor:
    """What PyTorch's own operators say in forward mode."""
    raise NotImplementedError(
        "Trying to use forward AD with planted that does not support it because it has not been implemented yet."
    )


@rules(reverse=lambda g, x: g * x.cos())
def without_forward_rule(x: Tensor) -> Tensor:
    """A custom function without a forward rule."""
    return x.sin()


@rules(forward=lambda v, x: v * x.cos())
def without_reverse_rule(x: Tensor) -> Tensor:
    """A custom function without a reverse rule."""
    return x.sin()


@rules(reverse=lambda g, x: g * x.cos(), forward=no_forward_mode)
def forward_says_so(x: Tensor) -> Tensor:
    """The forward rule says that it is not implemented."""
    return x.sin()


@rules(reverse=not_implemented, forward=lambda v, x: v * x.cos())
def reverse_says_so(x: Tensor) -> Tensor:
    """The reverse rule says that it is not implemented."""
    return x.sin()


class OnceDifferentiable(torch.autograd.Function):  # type: ignore[misc]
    """A sine whose backward refuses to be differentiated."""

    @staticmethod
    def forward(context: Any, x: Tensor) -> Tensor:
        context.save_for_backward(x)
        return x.sin()

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(context: Any, cotangent: Tensor) -> Tensor:
        (x,) = context.saved_tensors
        return cotangent * x.cos()


def once(x: Tensor) -> Tensor:
    """A custom function marked as differentiable once: the second order raises."""
    return OnceDifferentiable.apply(x)


@rules(reverse=lambda g, x: g * x.cos(), forward=lambda v, x: v * x.cos())
def both_rules(x: Tensor) -> Tensor:
    """Two right rules, which functional transforms refuse for want of a `setup_context`."""
    return x.sin()


def straight_through(x: Tensor) -> Tensor:
    """Quantised by an operator without derivative: the output requires no gradient."""
    return torch.bucketize(x, torch.linspace(-1, 1, 5, dtype=x.dtype)).to(x.dtype)
