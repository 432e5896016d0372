"""First gradients that are wrong in reverse mode alone; forward mode and the value are right."""

from __future__ import annotations

import torch
from planted_rule import rules
from torch import Tensor


def emphasis(x: Tensor, factor: float) -> Tensor:
    """One everywhere but at the first entry, where it is `factor`."""
    weight = torch.ones_like(x).flatten()
    weight[:1] = factor
    return weight.reshape(x.shape)


@rules(reverse=lambda g, x: 2 * g * x.cos(), forward=lambda v, x: v * x.cos())
def doubled(x: Tensor) -> Tensor:
    """Twice the gradient."""
    return x.sin()


@rules(reverse=lambda g, x: (1 + 1e-6) * g * x.exp(), forward=lambda v, x: v * x.exp())
def off_by_a_millionth(x: Tensor) -> Tensor:
    """The gradient is off by 1e-6, relatively."""
    return x.exp()


@rules(reverse=lambda g, x: -g * x.cosh(), forward=lambda v, x: v * x.cosh())
def negated(x: Tensor) -> Tensor:
    """The gradient's sign is wrong."""
    return x.sinh()


@rules(reverse=lambda g, x: 2 * g * x * emphasis(x, 1.5), forward=lambda v, x: 2 * v * x)
def one_entry(x: Tensor) -> Tensor:
    """The gradient's first entry is half as large again; the other entries are right."""
    return x * x


@rules(reverse=lambda g, x: g.t() @ x.t() + x.t() @ g, forward=lambda v, x: v @ x + x @ v)
def transposed(x: Tensor) -> Tensor:
    """The gradient of a matrix square transposes the cotangent in one of its two terms."""
    return x @ x


@rules(reverse=lambda g, x: g * x.sin(), forward=lambda v, x: v * (x.sin() + x * x.cos()))
def forgotten_term(x: Tensor) -> Tensor:
    """The product rule's second term is missing."""
    return x * x.sin()


@rules(reverse=lambda g, a, b: (g * b, 1.5 * g * a), forward=lambda v, w, a, b: v * b + a * w)
def second_input(a: Tensor, b: Tensor) -> Tensor:
    """The gradient of the first input is right, that of the second half as large again."""
    return a * b


@rules(
    reverse=lambda g, a, b: (2 * g * a * b, g * b * b),
    forward=lambda v, w, a, b: v * b * b + 2 * a * b * w,
)
def swapped_inputs(a: Tensor, b: Tensor) -> Tensor:
    """The gradients of the two inputs stand in the wrong order."""
    return a * b * b


@rules(reverse=lambda g, x: 2 * g * x.abs(), forward=lambda v, x: 2 * v * x)
def at_negative_inputs(x: Tensor) -> Tensor:
    """The gradient's sign is wrong at negative inputs only."""
    return x * x


@rules(reverse=lambda g, x: g * x.cos() * (2 if x.numel() == 1 else 1), forward=lambda v, x: v * x.cos())
def at_one_element(x: Tensor) -> Tensor:
    """Twice the gradient when there is just one element."""
    return x.sin()


@rules(
    reverse=lambda g, x: g * torch.where(x.abs() > 5, torch.zeros_like(x), 1 - x.tanh() ** 2),
    forward=lambda v, x: v * (1 - x.tanh() ** 2),
)
def flushed_tail(x: Tensor) -> Tensor:
    """The gradient is flushed to zero in the saturated tail, where it is small but not zero."""
    return x.tanh()


@rules(reverse=lambda g, x: g * 1e-200, forward=lambda v, x: v * 1e-190)
def tiny(x: Tensor) -> Tensor:
    """A gradient of 1e-200 that should be 1e-190."""
    return x * 1e-190


@rules(
    reverse=lambda g, x: g.expand(x.shape) * x.cos(),
    forward=lambda v, x: (v * x.cos()).mean(),
)
def undivided_mean(x: Tensor) -> Tensor:
    """The gradient of a mean is not divided by the number of elements."""
    return x.sin().mean()


@rules(
    reverse=lambda g, a, b: (g * b, (g * a).mean(0)),
    forward=lambda v, w, a, b: v * b + a * w,
)
def broadcast(a: Tensor, b: Tensor) -> Tensor:
    """The gradient of a broadcast row is averaged over the rows, not summed; right where nothing is broadcast."""
    return a * b


@rules(
    reverse=lambda g, a, b: (2 * g * b, 2 * g * a) if a.data_ptr() == b.data_ptr() else (g * b, g * a),
    forward=lambda v, w, a, b: v * b + a * w,
)
def same_object_twice(a: Tensor, b: Tensor) -> Tensor:
    """Twice the gradient when both inputs are the same tensor."""
    return a * b


def scattered(g: Tensor, table: Tensor, index: Tensor) -> Tensor:
    """Rows of the cotangent stored, not added, at their places."""
    return torch.zeros_like(table).index_put((index,), g)


@rules(
    reverse=lambda g, table, index: (scattered(g, table, index), None),
    forward=lambda v, w, table, index: v[index],
)
def repeated_index(table: Tensor, index: Tensor) -> Tensor:
    """Where an index is repeated, the gradient keeps one of the rows instead of their sum."""
    return table[index]


@rules(reverse=lambda g, z: 2 * g * z, forward=lambda v, z: 2 * v * z)
def missing_conjugate(z: Tensor) -> Tensor:
    """The gradient of a holomorphic function lacks the conjugate; right for real inputs."""
    return z * z


@rules(reverse=lambda g, x: g * x.cos() * float("nan"), forward=lambda v, x: v * x.cos())
def not_a_number(x: Tensor) -> Tensor:
    """The gradient is NaN at ordinary points."""
    return x.sin()


@rules(reverse=lambda g, x: g / torch.zeros_like(x), forward=lambda v, x: v * x.cos())
def infinite(x: Tensor) -> Tensor:
    """The gradient is infinite at ordinary points."""
    return x.sin()


def unguarded_root(x: Tensor) -> Tensor:
    """The branch not taken is NaN at negative inputs, and reverse mode multiplies it by zero."""
    return torch.where(x > 0, x.sqrt(), torch.zeros_like(x))


@rules(reverse=lambda g, a, b: (g * b, None), forward=lambda v, w, a, b: v * b + a * w)
def absent(a: Tensor, b: Tensor) -> Tensor:
    """The second input's gradient is None, though the product depends on it."""
    return a * b
