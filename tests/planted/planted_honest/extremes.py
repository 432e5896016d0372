"""The ends of the number line and of a function's domain: zeros, poles, overflow, NaN and infinity."""

from __future__ import annotations

import torch
from torch import Tensor


def power(x: Tensor, y: Tensor) -> Tensor:
    """x ** y with zero base or zero exponent."""
    return x**y


def power_zero(x: Tensor) -> Tensor:
    """x ** 0, constant even at zero."""
    return x**0


def zero_power(y: Tensor) -> Tensor:
    """0 ** y for positive y."""
    return 0.0**y


def sinc(x: Tensor) -> Tensor:
    """A removable singularity at zero."""
    return torch.sinc(x)


def log_sum_exp(x: Tensor) -> Tensor:
    """The log of a sum of exponentials that overflow one by one."""
    return torch.logsumexp(x, -1)


def shifted_log_sum_exp(x: Tensor) -> Tensor:
    """The same by hand, with a detached shift whose two shares of the gradient cancel."""
    shift = x.detach().amax(-1, keepdim=True)
    return (x - shift).exp().sum(-1).log() + shift.squeeze(-1)


def square_root(x: Tensor) -> Tensor:
    """Infinite slope at zero."""
    return x.sqrt()


def logarithm(x: Tensor) -> Tensor:
    """A pole at zero."""
    return x.log()


def x_log_x(x: Tensor) -> Tensor:
    """x log x with the value 0 at zero, where its slope is infinite."""
    return torch.xlogy(x, x)


def guarded_square_root(x: Tensor) -> Tensor:
    """The root made safe by two `where`s: no NaN from the branch not taken."""
    positive = x > 0
    return torch.where(positive, torch.where(positive, x, torch.ones_like(x)).sqrt(), torch.zeros_like(x))


def reciprocal(x: Tensor) -> Tensor:
    """A pole at zero."""
    return 1 / x


def square(x: Tensor) -> Tensor:
    """Squares that underflow or overflow."""
    return x * x


def product(x: Tensor) -> Tensor:
    """A product with zeros among its factors."""
    return x.prod(-1)


def running_product(x: Tensor) -> Tensor:
    """A cumulative product with a zero among its factors."""
    return x.cumprod(-1)


def inverse_error_function(x: Tensor) -> Tensor:
    """Slopes of 1e10 and more near plus or minus one."""
    return torch.erfinv(x)


def log_gamma(x: Tensor) -> Tensor:
    """Poles at the non-positive integers."""
    return torch.lgamma(x)


def digamma(x: Tensor) -> Tensor:
    """Poles at the non-positive integers."""
    return torch.digamma(x)


def polygamma(x: Tensor) -> Tensor:
    """A high order, of small values at large inputs."""
    return torch.polygamma(3, x)


def tangent(x: Tensor) -> Tensor:
    """A pole near π/2."""
    return x.tan()


def arc_cosine(x: Tensor) -> Tensor:
    """Infinite slope at the domain's ends, NaN beyond."""
    return x.acos()


def masked_softmax(x: Tensor) -> Tensor:
    """A softmax with one entry masked by minus infinity."""
    return x.masked_fill(torch.arange(x.shape[-1]) == 0, float("-inf")).softmax(-1)


def normalised(x: Tensor) -> Tensor:
    """x over its norm, guarded by an epsilon, at zero."""
    return torch.nn.functional.normalize(x, dim=-1)


def ordinary(x: Tensor) -> Tensor:
    """A smooth function, for inputs that are not numbers or not finite."""
    return x.sin() * x.exp()


def saturated(x: Tensor) -> Tensor:
    """A sigmoid far out in its tail."""
    return x.sigmoid()


def complementary_error_function(x: Tensor) -> Tensor:
    """Values of 1e-40 and below."""
    return torch.erfc(x)
