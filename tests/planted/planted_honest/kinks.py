"""Kinks, ties and steps: points where a derivative is a convention, or jumps."""

from __future__ import annotations

import torch
from planted_rule import rules
from torch import Tensor


def relu(x: Tensor) -> Tensor:
    """A kink at zero, where the subgradient is 0."""
    return torch.relu(x)


def absolute(x: Tensor) -> Tensor:
    """A kink at zero, where the subgradient is 0."""
    return x.abs()


@rules(reverse=lambda g, x: g * (x >= 0).to(x), forward=lambda v, x: v * (x > 0).to(x))
def two_conventions(x: Tensor) -> Tensor:
    """At the kink the two modes take different, equally valid subgradients."""
    return x.clamp(min=0)


def largest(x: Tensor) -> Tensor:
    """The maximum over a dimension, with ties."""
    return x.max(-1).values


def largest_of_all(x: Tensor) -> Tensor:
    """The maximum of all entries, whose gradient is shared between ties."""
    return x.max()


def larger(a: Tensor, b: Tensor) -> Tensor:
    """The larger of two, where they are equal."""
    return torch.maximum(a, b)


def clamped(x: Tensor) -> Tensor:
    """Inputs exactly on the bounds."""
    return x.clamp(-1, 1)


def floor(x: Tensor) -> Tensor:
    """Steps: zero gradient, a jump at each integer."""
    return x.floor() + x.ceil()


def rounded(x: Tensor) -> Tensor:
    """Steps with jumps at the halves."""
    return x.round() * x


def sign(x: Tensor) -> Tensor:
    """A step at zero."""
    return x.sign() + x


def remainder(x: Tensor) -> Tensor:
    """A sawtooth, at its jumps."""
    return torch.remainder(x, 1)


def gathered_maximum(x: Tensor) -> Tensor:
    """The maximum by argmax and gather, with ties."""
    return x.gather(-1, x.argmax(-1, keepdim=True))


def sorted_values(x: Tensor) -> Tensor:
    """A sort with ties, weighted by the rank."""
    weight = torch.arange(x.shape[-1], dtype=x.dtype)
    return x.sort(-1).values * weight


def median(x: Tensor) -> Tensor:
    """The median with ties."""
    return x.median(-1).values


def hard_shrink(x: Tensor) -> Tensor:
    """A jump at the threshold."""
    return torch.nn.functional.hardshrink(x, 0.5)


def step(x: Tensor) -> Tensor:
    """A step by `where`: the gradient is one almost everywhere."""
    return torch.where(x > 0, x + 1, x)


def far_branch(x: Tensor) -> Tensor:
    """A branch on the data, far from the input."""
    return x.exp() if float(x.detach().sum()) < 100 else x * 1000


def far_kink(x: Tensor) -> Tensor:
    """A kink far from the input."""
    return torch.where(x > 10, x * x, 100 * x.sin())


def close_kink(x: Tensor) -> Tensor:
    """A kink 1e-7 beside the input, within any ordinary step."""
    return torch.where(x > 1 + 1e-7, 3 * x, x * x)


def norm(x: Tensor) -> Tensor:
    """The norm, whose subgradient at zero is 0."""
    return torch.linalg.vector_norm(x)


def distance(a: Tensor, b: Tensor) -> Tensor:
    """The distance between equal points."""
    return torch.dist(a, b)


def softplus(x: Tensor) -> Tensor:
    """Switches to the identity above a threshold of 20: a jump of 2e-9."""
    return torch.nn.functional.softplus(x)


def smooth_l1(a: Tensor, b: Tensor) -> Tensor:
    """Second derivative that jumps where |a - b| is one."""
    return torch.nn.functional.smooth_l1_loss(a, b)


def maximal_pool(x: Tensor) -> Tensor:
    """A pooling window of equal values."""
    return torch.nn.functional.max_pool1d(x, 2)
