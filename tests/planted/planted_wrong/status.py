"""Operators of which one mode raises where the plain call succeeds."""

from __future__ import annotations

from typing import Any

import torch
from planted_rule import rules
from torch import Tensor


def raise_mismatch(*_: Any) -> Tensor:
    """An ordinary error of an untested rule."""
    raise RuntimeError("mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)")


def raise_attribute_error(*_: Any) -> Tensor:
    """A programming error of an untested rule."""
    raise AttributeError("'NoneType' object has no attribute 'shape'")


def fail_assertion(*_: Any) -> Tensor:
    """The text of a failed TORCH_INTERNAL_ASSERT."""
    raise RuntimeError(
        "isDifferentiableType(variable.scalar_type()) INTERNAL ASSERT FAILED "
        'at "../torch/csrc/autograd/engine.cpp":930, please report a bug to PyTorch. '
    )


def by_the_largest(g: Tensor, x: Tensor) -> Tensor:
    """The gradient of a sum of squares, by a reduction that no empty tensor has."""
    return g * 2 * x * (x.max() / x.max())


@rules(reverse=raise_mismatch, forward=lambda v, x: v * x.cos())
def raises_in_backward(x: Tensor) -> Tensor:
    """The backward raises an ordinary error."""
    return x.sin()


@rules(reverse=raise_attribute_error, forward=lambda v, x: v * x.cos())
def attribute_error_in_backward(x: Tensor) -> Tensor:
    """The backward raises a programming error."""
    return x.sin()


@rules(reverse=lambda g, x: g * x.cos(), forward=raise_mismatch)
def raises_in_forward_mode(x: Tensor) -> Tensor:
    """The forward-mode rule raises an ordinary error."""
    return x.sin()


@rules(reverse=by_the_largest, forward=lambda v, x: (2 * v * x).sum())
def raises_for_no_elements(x: Tensor) -> Tensor:
    """The backward raises for a tensor of no elements."""
    return (x * x).sum()


@rules(reverse=lambda g, x: g[:, :1] * x.cos()[:, :1], forward=lambda v, x: v * x.cos())
def gradient_of_other_shape(x: Tensor) -> Tensor:
    """The gradient has the wrong shape, which autograd refuses."""
    return x.sin()


@rules(reverse=lambda g, x: g * x.cos(), forward=lambda v, x: (v * x.cos())[:, :1])
def tangent_of_other_shape(x: Tensor) -> Tensor:
    """The tangent has the wrong shape, which forward mode refuses."""
    return x.sin()


@rules(reverse=lambda g, a, b: g * b, forward=lambda v, w, a, b: v * b + a * w)
def too_few_gradients(a: Tensor, b: Tensor) -> Tensor:
    """The backward returns one gradient for two inputs."""
    return a * b


@rules(reverse=fail_assertion, forward=lambda v, x: v * x.cos())
def internal_assert_in_backward(x: Tensor) -> Tensor:
    """An internal assertion fails in the backward."""
    return x.sin()


@rules(reverse=lambda g, x: g * x.cos(), forward=fail_assertion)
def internal_assert_in_forward_mode(x: Tensor) -> Tensor:
    """An internal assertion fails in forward mode."""
    return x.sin()


def internal_assert_in_the_call(x: Tensor) -> Tensor:
    """An internal assertion fails in the plain call."""
    return fail_assertion(x)


def raises_on_the_tape(x: Tensor) -> Tensor:
    """The call itself raises when a gradient is recorded."""
    if x.requires_grad and torch.is_grad_enabled():
        raise RuntimeError("expected scalar type Double but found Float")
    return x.sin()
