"""Complex functions, holomorphic and not."""

from __future__ import annotations

import torch
from torch import Tensor


def absolute(z: Tensor) -> Tensor:
    """A real function of a complex number, with a kink at zero."""
    return z.abs()


def angle(z: Tensor) -> Tensor:
    """The argument, with a cut along the negative real axis and no limit at zero."""
    return z.angle()


def conjugate_product(z: Tensor) -> Tensor:
    """z times its conjugate: not holomorphic."""
    return z * z.conj()


def real_part(z: Tensor) -> Tensor:
    """Drops the imaginary part."""
    return z.real * 2


def square(z: Tensor) -> Tensor:
    """A holomorphic function."""
    return z * z


def logarithm(z: Tensor) -> Tensor:
    """A cut along the negative real axis."""
    return z.log()


def mixed(x: Tensor, z: Tensor) -> Tensor:
    """A real times a complex number: the real input's gradient is real."""
    return x * z.exp()


def spectrum(x: Tensor) -> Tensor:
    """The magnitude of a real signal's spectrum."""
    return torch.fft.rfft(x).abs()


def sign(z: Tensor) -> Tensor:
    """z over its absolute value, with no limit at zero."""
    return z.sgn()
