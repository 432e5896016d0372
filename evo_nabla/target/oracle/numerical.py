"""Numerical differentiation along a direction, with an error bar, and the nature of the point it was taken at.

Central differences at several steps are extrapolated to step zero (Richardson; Ridders' tableau: C. J. F. Ridders,
"Accurate computation of F'(x) and F'(x)F''(x)", Advances in Engineering Software 4, 1982). The change between
the tableau's last two columns, and the rounding error of the differences, are the error. How large the roundings of
the function itself are is measured (J. J. Moré and S. M. Wild, "Estimating computational noise", SIAM J. Sci. Comput.
33, 2011), since an operator may compute in a lower precision, or cancel inside, without showing it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Callable, NamedTuple

import numpy as np

from evo_nabla.target.backends.protocol import ModeError

Vector = np.ndarray
Evaluate = Callable[[Vector], Vector]

_EPS = float(np.finfo(np.float64).eps)
# Steps are multiples of the direction, whose entries are of the size of x's. With the second step half the first, the
# second difference is good to its truncation h²/6 ≈ 1e-8 (which the extrapolation measures, and removes) and the
# rounding error ε/h ≈ 1e-12.
_STEP = 2.0**-11
_SINGLE_STEP = 2.0**-16
_LADDER_FIRST = 2.0**-4
_LADDER_RATIO = 4.0
_LADDER_LEVELS = 11
_LADDER_COLUMNS = 5
# Where truncation is negligible and rounding not yet large.
_FINE_FIRST, _FINE_LAST = 2.0**-18, 2.0**-22
_NOISE_STEP = 2.0**-14
_NOISE_POINTS = 7
_LARGE_ENTRY = 1e-3
# The tableau's columns amplify a rounding, and the measured size is a mean: a bound is several times as large.
_NOISE_FACTOR = 64.0


class Estimate(NamedTuple):
    """A directional derivative d/dt f(x + t v) at 0: value and error bar (m,), and which entries are finite."""

    value: Vector
    error: Vector
    finite: Vector

    def along(self, u: Vector) -> tuple[float, float]:
        """⟨u, value⟩ and its error bar; NaN when an entry that u weighs has no value."""
        if not self.finite.all():
            weighed = u != 0
            if not self.finite[weighed].all():
                return float("nan"), float("inf")
            return float(u[weighed] @ self.value[weighed]), float(np.abs(u[weighed]) @ self.error[weighed])
        return float(u @ self.value), float(np.abs(u) @ self.error)


def _at(evaluate: Evaluate, x: Vector, size: int) -> Vector:
    try:
        return evaluate(x)
    except ModeError:
        return np.full(size, np.nan)


def _differences(
    evaluate: Evaluate, x: Vector, v: Vector, steps: list[float], size: int
) -> tuple[list[Vector], Vector]:
    """Central differences at each step and the largest |f| met, for the rounding error."""
    found, largest = [], np.zeros(size)
    for h in steps:
        ahead, behind = _at(evaluate, x + h * v, size), _at(evaluate, x - h * v, size)
        found.append((ahead - behind) / (2 * h))
        np.maximum(largest, np.abs(ahead), out=largest)
    return found, largest


def unknown(size: int) -> Estimate:
    """No derivative at all."""
    return Estimate(np.full(size, np.nan), np.full(size, np.inf), np.zeros(size, dtype=bool))


def single(evaluate: Evaluate, x: Vector, v: Vector, size: int) -> Estimate:
    """The derivative from one step, two evaluations. The error bar is that of rounding alone: the truncation, h²/6 of
    the third derivative or 4e-11 of it, is not measured, so that it can confirm a derivative but not contradict one."""
    (value,), largest = _differences(evaluate, x, v, [_SINGLE_STEP], size)
    error = 4 * _EPS * largest / _SINGLE_STEP
    return Estimate(value, error, np.isfinite(value) & np.isfinite(error))


def quick(evaluate: Evaluate, x: Vector, v: Vector, size: int) -> Estimate:
    """The derivative from two steps, four evaluations: extrapolated once; the change is the error bar, about 1e-8
    for functions smooth at x's scale."""
    (a, b), largest = _differences(evaluate, x, v, [_STEP, _STEP / 2], size)
    best = b + (b - a) / 3
    error = np.abs(best - b) + 4 * _EPS * largest / _STEP
    return Estimate(best, error, np.isfinite(best) & np.isfinite(error))


def noise_of(samples: Sequence[Vector]) -> Vector:
    """The size of the roundings in equally spaced samples of a function, entry by entry, from their fourth and higher
    differences, which a smooth part does not reach; zero for fewer than five samples."""
    row = np.array(samples)
    sigma = np.zeros(row.shape[1:])
    for k in range(1, len(samples)):
        row = np.diff(row, axis=0)
        if k >= 4:
            gamma = math.factorial(k) ** 2 / math.factorial(2 * k)
            sigma = np.fmax(sigma, np.sqrt(gamma * np.mean(row**2, axis=0)))
    return sigma


def noise_points(x: Vector, v: Vector, step: float) -> list[Vector]:
    """Where to sample for `noise_of`: along v, beside x and not at it, for x may lie on a branch of its own."""
    return [x + i * step * v for i in range(1, _NOISE_POINTS + 1)]


def _function_noise(evaluate: Evaluate, x: Vector, v: Vector, size: int) -> Vector:
    """The size of f's roundings along v, entry by entry."""
    samples = [_at(evaluate, point, size) for point in noise_points(x, v, _NOISE_STEP)]
    sigma = noise_of(samples)
    # Few samples can agree by chance: every entry is taken to be as noisy, relatively, as the noisiest large one.
    magnitude = np.abs(samples[0])
    large = magnitude > _LARGE_ENTRY * np.max(magnitude, initial=0.0)
    relative = np.max(np.where(large & np.isfinite(sigma), sigma / magnitude, 0.0), initial=0.0)
    return np.asarray(np.fmax(sigma, relative * magnitude))


def ladder(evaluate: Evaluate, x: Vector, v: Vector, size: int) -> Estimate:
    """The derivative from the best cell, entry by entry, of a tableau of steps from 2⁻⁴ down to 2⁻²⁴."""
    sigma = _function_noise(evaluate, x, v, size)
    steps = [_LADDER_FIRST / _LADDER_RATIO**i for i in range(_LADDER_LEVELS)]
    best = np.full(size, np.nan)
    error = np.full(size, np.inf)
    differences, largest = _differences(evaluate, x, v, steps, size)
    previous: list[Vector] = []
    for level, difference in enumerate(differences):
        row = [difference]
        for column in range(1, min(level, _LADDER_COLUMNS) + 1):
            factor = _LADDER_RATIO ** (2 * column)
            row.append(row[-1] + (row[-1] - previous[column - 1]) / (factor - 1))
            change = np.maximum(np.abs(row[column] - row[column - 1]), np.abs(row[column] - previous[column - 1]))
            bar = change + (4 * _EPS * largest + _NOISE_FACTOR * sigma) / steps[level]
            better = np.isfinite(bar) & np.isfinite(row[column]) & (bar < error)
            best = np.where(better, row[column], best)
            error = np.where(better, bar, error)
        previous = row
    fine = [(d, 4 * _EPS * largest / h) for d, h in zip(differences, steps) if _FINE_LAST <= h <= _FINE_FIRST]
    best, error = _confirm_finely(best, error, fine)
    return Estimate(best, error, np.isfinite(error))


def _confirm_finely(best: Vector, error: Vector, fine: list[tuple[Vector, Vector]]) -> tuple[Vector, Vector]:
    """Take an entry that most fine differences contradict for unknown to the extent that they differ.

    Either may be deceived: coarse differences agree by accident across jumps, fine ones on the treads of a rounding.
    """
    gaps = np.array([np.abs(difference - best) - bar for difference, bar in fine])
    contradicted = np.median(gaps, axis=0) > np.maximum(error, 1e-6 * np.abs(best))
    middle = np.median([difference for difference, _ in fine], axis=0)
    return np.where(contradicted, middle, best), np.where(contradicted, np.abs(middle - best) + error, error)


class Sides(NamedTuple):
    """One-sided derivatives along v: `kink` where they differ, `edge` where one side has no value, entry by entry."""

    ahead: Vector
    behind: Vector
    kink: Vector
    edge: Vector


def sides(evaluate: Evaluate, x: Vector, v: Vector, size: int) -> Sides:
    """Tell kinks and edges of the domain from smooth points.

    The gap between the one-sided derivatives vanishes with the step where f is smooth; at a kink it stays. A jump
    makes them grow as 1/h, a cusp as a power of it: both count as kinks.
    """
    gaps, bars, slopes = [], [], []
    ahead = behind = np.full(size, np.nan)
    here = _at(evaluate, x, size)
    for h in (2.0**-9, 2.0**-13, 2.0**-17):
        f1, f2 = _at(evaluate, x + h * v, size), _at(evaluate, x + 2 * h * v, size)
        b1, b2 = _at(evaluate, x - h * v, size), _at(evaluate, x - 2 * h * v, size)
        ahead = (4 * f1 - f2 - 3 * here) / (2 * h)
        behind = (3 * here - 4 * b1 + b2) / (2 * h)
        scale = np.maximum.reduce([np.abs(here), np.abs(f1), np.abs(b1)])
        slopes.append(np.maximum(np.abs(ahead), np.abs(behind)))
        gaps.append(np.abs(ahead - behind))
        bars.append(1e-4 * (np.abs(ahead) + np.abs(behind)) + 16 * _EPS * scale / h)
    big = (gaps[0] > bars[0]) & (gaps[1] > bars[1]) & (gaps[2] > bars[2])
    lasting = gaps[2] > 0.3 * gaps[0]
    # A jump that is symmetric in x shows in no gap, but its slopes grow as 1/h.
    jump = (slopes[2] > 8 * slopes[1]) & (slopes[1] >= slopes[0]) & (slopes[2] * 2.0**-17 > 1e-10 * np.abs(here))
    edge = ~(np.isfinite(ahead) & np.isfinite(behind))
    return Sides(ahead, behind, ((big & lasting) | jump) & ~edge, edge)
