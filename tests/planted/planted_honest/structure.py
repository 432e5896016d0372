"""Awkward inputs, outputs and graphs: in-place, unused, integer, empty, aliased."""

from __future__ import annotations

import os
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor


def in_place_on_a_clone(x: Tensor) -> Tensor:
    """Changes a copy in place."""
    y = x.clone()
    y[..., 0] = 0
    y.mul_(2)
    return y * x


def in_place_on_the_input(x: Tensor) -> Tensor:
    """Changes its input in place, as every `add_` does; a leaf that requires a gradient refuses it."""
    return x.mul_(3)


def unused(a: Tensor, b: Tensor) -> Tensor:
    """The second input is not used: its gradient is None, and zero."""
    return a.sin()


def unused_by_value(a: Tensor, b: Tensor) -> Tensor:
    """Only the second input's shape is used."""
    return a.sin() * b.shape[0]


def constant(x: Tensor) -> Tensor:
    """Does not depend on its input at all."""
    return torch.ones(3, dtype=x.dtype)


def only_integers(x: Tensor) -> Tensor:
    """An integer result."""
    return x.argmax(-1)


def integer_and_floating(x: Tensor) -> Tuple[Tensor, Tensor]:
    """One result with a gradient, and one that cannot have any."""
    values, indices = x.topk(2)
    return values, indices


def indexed(x: Tensor, index: Tensor) -> Tensor:
    """Rows chosen by an integer tensor, with repeats."""
    return x[index]


def integer_factor(x: Tensor, n: Tensor) -> Tensor:
    """A floating tensor times an integer tensor."""
    return x.sin() * n


def mask(x: Tensor, keep: Tensor) -> Tensor:
    """Entries chosen by a bool tensor."""
    return x[keep]


def smooth(x: Tensor) -> Tensor:
    """A smooth function, for inputs of odd shapes and layouts."""
    return x.sin() * x


def total(x: Tensor) -> Tensor:
    """A sum, of no elements too."""
    return (x * x).sum()


def mean(x: Tensor) -> Tensor:
    """A mean, NaN of no elements."""
    return (x * x).mean()


def two_inputs(a: Tensor, b: Tensor) -> Tensor:
    """A product of two, which may be one object."""
    return a * b.sin()


def broadcast(a: Tensor, b: Tensor) -> Tensor:
    """Inputs that broadcast."""
    return a * b.exp()


def the_input_itself(x: Tensor) -> Tensor:
    """Returns the very object it was given."""
    return x


def view(x: Tensor) -> Tensor:
    """Returns a view of the input."""
    return x.transpose(0, -1)


def overlapping(x: Tensor) -> Tensor:
    """Windows that overlap in memory."""
    return x.unfold(0, 2, 1) ** 2


def many(x: Tensor) -> Dict[str, List[Optional[Tensor]]]:
    """Results within lists and mappings, one of them None."""
    return {"values": [x.sin(), None, x.cos()], "more": [x * 2]}


def same_result_twice(x: Tensor) -> Tuple[Tensor, Tensor]:
    """The same tensor twice among the results."""
    y = x.sin()
    return y, y


def no_gradient(x: Tensor) -> Tensor:
    """Evaluated without the tape on purpose."""
    with torch.no_grad():
        return x.floor()


def inner_gradient(x: Tensor) -> Tensor:
    """Takes a gradient itself, on a tape of its own."""
    with torch.enable_grad():
        y = x * 1 if x.requires_grad else (x * 1).requires_grad_()
        (gradient,) = torch.autograd.grad((y**3).sum(), y, create_graph=True)
    return gradient


def talkative(x: Tensor) -> Tensor:
    """Floods the standard streams, at the level of file descriptors."""
    for descriptor in (1, 2):
        for _line in range(2000):
            os.write(descriptor, b"warning: this operator says more than anybody wants to hear\n")
    return x.sin()


def refused(x: Tensor) -> Tensor:
    """Refuses its input in every mode."""
    raise ValueError("expected a tensor of four dimensions")
