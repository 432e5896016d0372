"""First derivatives that are wrong in forward mode, or in both analytic modes alike."""

from __future__ import annotations

import torch
import torch.autograd.forward_ad
from planted_rule import rules
from torch import Tensor

from .reverse import emphasis


@rules(reverse=lambda g, x: g * x.cos(), forward=lambda v, x: 2 * v * x.cos())
def doubled_tangent(x: Tensor) -> Tensor:
    """Twice the tangent."""
    return x.sin()


@rules(reverse=lambda g, x: g * x.cosh(), forward=lambda v, x: -v * x.cosh())
def negated_tangent(x: Tensor) -> Tensor:
    """The tangent's sign is wrong."""
    return x.sinh()


@rules(reverse=lambda g, x: 2 * g * x, forward=lambda v, x: 2 * v * x * emphasis(x, 1.5))
def one_tangent_entry(x: Tensor) -> Tensor:
    """The tangent's first entry is half as large again; the other entries are right."""
    return x * x


@rules(reverse=lambda g, a, b: (g * b, g * a), forward=lambda v, w, a, b: v * b)
def forgotten_tangent(a: Tensor, b: Tensor) -> Tensor:
    """The tangent lacks the second input's share."""
    return a * b


@rules(reverse=lambda g, z: 2 * g * z.conj(), forward=lambda v, z: 2 * v * z.conj())
def conjugated_tangent(z: Tensor) -> Tensor:
    """The tangent of a holomorphic function conjugates its derivative; right for real inputs."""
    return z * z


@rules(reverse=lambda g, x: g * x.exp(), forward=lambda v, x: v * x.exp() * float("nan"))
def tangent_not_a_number(x: Tensor) -> Tensor:
    """The tangent is NaN at ordinary points."""
    return x.exp()


def root_of_guarded_input(x: Tensor) -> Tensor:
    """Zero at negative inputs; forward mode multiplies the root's infinite slope there by a zero tangent."""
    return torch.where(x > 0, x, torch.zeros_like(x)).sqrt()


@rules(reverse=lambda g, x: g * x.exp(), forward=lambda v, x: (v * x.exp()).float())
def tangent_in_single_precision(x: Tensor) -> Tensor:
    """The tangent comes in float32 with a float64 value."""
    return x.exp()


@rules(reverse=lambda g, x: 2 * g * x * x, forward=lambda v, x: 2 * v * x * x)
def both_analytic_modes(x: Tensor) -> Tensor:
    """Both rules say 2x² for the derivative of x³: only differences of the value disagree."""
    return x**3


def detached_factor(x: Tensor) -> Tensor:
    """One factor of a product is detached, so every analytic mode misses its share."""
    return x * x.detach().sin()


def detached_input(a: Tensor, b: Tensor) -> Tensor:
    """The second input is detached: no gradient for it, though the product depends on it."""
    return a * b.detach()


def other_value_in_forward_mode(x: Tensor) -> Tensor:
    """The value is a thousandth larger while a tangent is carried."""
    carried = torch.autograd.forward_ad.unpack_dual(x).tangent is not None
    return x.sin() * (1.001 if carried else 1.0)
