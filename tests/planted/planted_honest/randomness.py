"""Functions that draw random numbers, from the library's generator or from elsewhere."""

from __future__ import annotations

import os
import time

import torch
from torch import Tensor


def dropout(x: Tensor) -> Tensor:
    """Dropout: the same mask in every mode once the generator is reseeded."""
    return torch.nn.functional.dropout(x, 0.5, training=True)


def noisy(x: Tensor) -> Tensor:
    """Uniform noise added."""
    return x.sin() + torch.rand_like(x)


def masked(x: Tensor) -> Tensor:
    """A random mask multiplied."""
    return x * torch.bernoulli(torch.full_like(x, 0.5))


def reparametrised(mean: Tensor, deviation: Tensor) -> Tensor:
    """A normal sample, differentiable in its mean and deviation."""
    return mean + deviation * torch.randn_like(mean)


def shuffled(x: Tensor) -> Tensor:
    """Entries in a random order."""
    return x[torch.randperm(x.shape[0])] * torch.arange(x.shape[0])


def from_the_system(x: Tensor) -> Tensor:
    """Noise from the operating system, which no seed controls."""
    return x.sin() * (1 + int.from_bytes(os.urandom(4), "little") / 2**32)


def by_the_clock(x: Tensor) -> Tensor:
    """A factor that changes with the time."""
    return x.sin() * (1 + (time.perf_counter_ns() % 1_000_003) / 1_000_003)


counted = [0]


def counting(x: Tensor) -> Tensor:
    """A factor that grows with every call."""
    counted[0] += 1
    return x.sin() * counted[0]
