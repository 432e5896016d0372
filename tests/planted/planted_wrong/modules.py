"""Modules with wrong gradients of their parameters, and one that remembers what it should not."""

from __future__ import annotations

from typing import Dict

import torch
from planted_rule import rules
from torch import Tensor, nn


@rules(
    reverse=lambda g, x, weight: (g @ weight, 2 * g.t() @ x),
    forward=lambda v, w, x, weight: v @ weight.t() + x @ w.t(),
)
def linear_doubled_weight(x: Tensor, weight: Tensor) -> Tensor:
    """A building block: x Wᵀ with twice the weight's gradient."""
    return x @ weight.t()


class DoubledWeightGradient(nn.Module):  # type: ignore[misc]
    """A linear layer: the input's gradient is right, the weight's is doubled."""

    def __init__(self, features_in: int, features_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(-1, 1, features_in * features_out).reshape(features_out, features_in))

    def forward(self, x: Tensor) -> Tensor:
        return linear_doubled_weight(x, self.weight)


class DetachedBias(nn.Module):  # type: ignore[misc]
    """A layer whose bias is detached: it shifts the output and gets no gradient."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.linspace(1, 2, features))
        self.bias = nn.Parameter(torch.linspace(-1, 1, features))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale + self.bias.detach()


@rules(
    reverse=lambda g, x, slope: (
        g * torch.where(x > 0, torch.ones_like(x), slope.expand_as(x)),
        (g * x).sum(0),
    ),
    forward=lambda v, w, x, slope: torch.where(x > 0, v, slope * v + w * x),
)
def leaky_wrong_slope(x: Tensor, slope: Tensor) -> Tensor:
    """A building block: the slope's gradient counts positive inputs too."""
    return torch.where(x > 0, x, slope * x)


class WrongSlopeGradient(nn.Module):  # type: ignore[misc]
    """A PReLU whose slope's gradient also sums over the positive inputs."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.full((features,), 0.25))

    def forward(self, x: Tensor) -> Tensor:
        return leaky_wrong_slope(x, self.slope)


remembered: Dict[int, tuple[Tensor, Tensor]] = {}


def stale(x: Tensor) -> Tensor:
    """The result is remembered by the tensor's identity, and stays what it was after the tensor's values change."""
    if id(x) not in remembered:
        remembered[id(x)] = (x, x.detach().sin())
    return x.sin() - x.detach().sin() + remembered[id(x)][1]


class Stale(nn.Module):  # type: ignore[misc]
    """A module that remembers by the tensor's identity, and returns the old result after the values change."""

    def __init__(self) -> None:
        super().__init__()
        self.remembered: Dict[int, tuple[Tensor, Tensor]] = {}

    def forward(self, x: Tensor) -> Tensor:
        if id(x) not in self.remembered:
            self.remembered[id(x)] = (x, x.sin())
        return self.remembered[id(x)][1]
