"""Ill-conditioned, oscillating and chaotic functions: small errors of the input are large errors of the derivative."""

from __future__ import annotations

import torch
from torch import Tensor


def solve(a: Tensor, b: Tensor) -> Tensor:
    """The solution of a linear system; for a Hilbert matrix ill-conditioned."""
    return torch.linalg.solve(a, b)


def hilbert_solve(b: Tensor) -> Tensor:
    """The solution of the Hilbert system of b's size, linear in b."""
    index = torch.arange(b.shape[0], dtype=b.dtype)
    return torch.linalg.solve(1 / (index[:, None] + index + 1), b)


def inverse(a: Tensor) -> Tensor:
    """The inverse of a nearly singular matrix."""
    return torch.linalg.inv(a)


def determinant(a: Tensor) -> Tensor:
    """The determinant of a matrix, singular or not."""
    return torch.linalg.det(a)


def versine_quotient(x: Tensor) -> Tensor:
    """(1 - cos x)/x² cancels all its digits at small x."""
    return (1 - x.cos()) / (x * x)


def logarithm_remainder(x: Tensor) -> Tensor:
    """log(1 + x) - x cancels all its digits at small x."""
    return (1 + x).log() - x


def variance(x: Tensor) -> Tensor:
    """The variance of numbers with a mean far larger than their spread."""
    return x.var()


def naive_variance(x: Tensor) -> Tensor:
    """E[x²] - E[x]², which cancels when the mean is large."""
    return (x * x).mean() - x.mean() ** 2


def chaos(x: Tensor) -> Tensor:
    """Sixty iterations of the logistic map: the derivative is about 2⁶⁰."""
    for _iteration in range(60):
        x = 3.99 * x * (1 - x)
    return x


def oscillation(x: Tensor) -> Tensor:
    """sin(10⁶ x), of wave length 6e-6."""
    return (1e6 * x).sin()


def fast_oscillation(x: Tensor) -> Tensor:
    """sin(10¹² x), faster than any difference of the input can see."""
    return (1e12 * x).sin()


def long_sum(x: Tensor) -> Tensor:
    """A cumulative sum of many terms of both signs."""
    return x.cumsum(0)


def eigenvalues(a: Tensor) -> Tensor:
    """The eigenvalues of a symmetric matrix, repeated ones among them."""
    return torch.linalg.eigvalsh(a + a.transpose(-1, -2))


def spectral_energy(a: Tensor) -> Tensor:
    """The sum of the squared eigenvalues: smooth even where two of them are equal."""
    return (eigenvalues(a) ** 2).sum(-1)


def projector(a: Tensor) -> Tensor:
    """The projector on the space of the two largest eigenvalues: independent of the vectors' gauge."""
    vectors = torch.linalg.eigh(a + a.transpose(-1, -2)).eigenvectors[..., -2:]
    return vectors @ vectors.transpose(-1, -2)


def eigenvectors(a: Tensor) -> Tensor:
    """Eigenvectors of a Hermitian matrix, which are determined up to a phase."""
    return torch.linalg.eigh(a + a.mH).eigenvectors if a.is_complex() else torch.linalg.eigh(a + a.mT).eigenvectors


def singular_vectors(a: Tensor) -> Tensor:
    """Left singular vectors, which are determined up to a sign."""
    return torch.linalg.svd(a, full_matrices=False).U


def singular_values(a: Tensor) -> Tensor:
    """Singular values, which have a kink at zero."""
    return torch.linalg.svdvals(a)


def pseudo_inverse(a: Tensor) -> Tensor:
    """The pseudo-inverse, which jumps with the rank."""
    return torch.linalg.pinv(a)


def cholesky(a: Tensor) -> Tensor:
    """The Cholesky factor of a matrix that is barely positive definite."""
    return torch.linalg.cholesky(a @ a.transpose(-1, -2) + 1e-10 * torch.eye(a.shape[-1], dtype=a.dtype))
