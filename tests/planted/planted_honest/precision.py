"""Low precision: errors that are the element type's and nobody's fault."""

from __future__ import annotations

import torch
from torch import Tensor


def accumulated(x: Tensor) -> Tensor:
    """A sum of squares, row after row in the input's precision."""
    total = torch.zeros(x.shape[1:], dtype=x.dtype)
    for row in x:
        total = total + row * row
    return total.sum()


def summed(x: Tensor) -> Tensor:
    """A sum of squares."""
    return (x * x).sum()


def softmax(x: Tensor) -> Tensor:
    """A softmax, in bfloat16 three digits."""
    return x.softmax(-1)


def variance(x: Tensor) -> Tensor:
    """A variance of numbers with a large mean, in float32 without a digit."""
    return x.var()


def product(a: Tensor, b: Tensor) -> Tensor:
    """A matrix product whose terms cancel."""
    return a @ b


def layer_norm(x: Tensor) -> Tensor:
    """A normalisation of nearly equal entries."""
    return torch.nn.functional.layer_norm(x, x.shape[-1:])


def overflowing(x: Tensor) -> Tensor:
    """An exponential that overflows float16 and not float64."""
    return x.exp()


def underflowing(x: Tensor) -> Tensor:
    """A square that underflows float16 and not float64."""
    return x * x


def through_single_precision(x: Tensor) -> Tensor:
    """A float64 input computed in float32 by design: differences of the value see its rounding."""
    return x.float().sin().double()


def trigonometric(x: Tensor) -> Tensor:
    """A sine of a large angle: an ulp of the input is many turns."""
    return x.sin()
