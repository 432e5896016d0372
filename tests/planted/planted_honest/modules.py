"""Modules that are right: with state, with randomness, with parameters of every use."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Stack(nn.Module):  # type: ignore[misc]
    """Two linear layers with a batch normalisation in training mode, which updates its running statistics."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.first = nn.Linear(features, 4)
        self.normalise = nn.BatchNorm1d(4)
        self.second = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(torch.tanh(self.normalise(self.first(x))))


class WithDropout(nn.Module):  # type: ignore[misc]
    """A layer followed by dropout in training mode."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.layer = nn.Linear(features, features)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.layer(x))


class UnusedParameter(nn.Module):  # type: ignore[misc]
    """One parameter is never used: no gradient, and rightly so."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(1.5))
        self.spare = nn.Parameter(torch.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        return x.sin() * self.scale


class FrozenParameter(nn.Module):  # type: ignore[misc]
    """One parameter is frozen by `requires_grad=False`."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(1.5))
        self.shift = nn.Parameter(torch.tensor(0.5), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale + self.shift


class SharedParameter(nn.Module):  # type: ignore[misc]
    """One parameter under two names."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.down = nn.Linear(features, features, bias=False)
        self.up = nn.Linear(features, features, bias=False)
        self.up.weight = self.down.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.up(torch.tanh(self.down(x)))


class Table(nn.Module):  # type: ignore[misc]
    """An embedding: integer input, repeated rows, only the weight has a gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Embedding(5, 3)

    def forward(self, index: Tensor) -> Tensor:
        return self.rows(index).sin()


class RunningMean(nn.Module):  # type: ignore[misc]
    """Keeps a running mean in a buffer that does not enter the result."""

    mean: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.mean = 0.9 * self.mean + 0.1 * x.detach().mean()
        return x.sin()


class Recurrent(nn.Module):  # type: ignore[misc]
    """A recurrent layer, with a tuple as its result."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.layer = nn.LSTM(features, 2)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        output, (hidden, _cell) = self.layer(x)
        return output, hidden
