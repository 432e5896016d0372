"""What explains a disagreement that is no bug: kinks, edges of the domain, rounding at an ill-conditioned point."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evo_nabla.target.backends.protocol import ModeError

from .compare import ANALYTIC, ANALYTIC_OF_TERMS, NUMERICAL, discrepancy, gap, largest
from .levels import Level, Reading, draw
from .numerical import Estimate, Sides, ladder, noise_of, noise_points, sides, unknown
from .space import Vector

_PERTURBATIONS = 3
_LINE_STEP = 2.0**-10
_ULPS = 4
# A perturbation of a few roundings bounds the roundings inside the operator up to a moderate factor.
_NOISE_FACTOR = 32.0
# An error bar is an estimate; before a disagreement is reported it must hold with a margin.
_SAFETY = 8.0
_MOVES = 3
# Full Jacobians are taken up to this many inputs or outputs.
_JACOBIAN_SIZE = 24
_RANK_TOLERANCE = 100 * 2.0**-52
# The radius of a move is far above the steps of `numerical.quick` (2⁻⁸), so that a kink is left behind.
_MOVE_RADIUS = 2.0**-4


class Pair(NamedTuple):
    """Two modes compared."""

    a: str
    b: str
    discrepancy: float


class Noise(NamedTuple):
    """How much an analytic mode's number and vector change when x changes by a few units in the last place."""

    number: float
    vector: Vector


def perturbed(x: Vector, eps: float, random: np.random.RandomState) -> Vector:
    """x changed by a few relative eps; equal entries change equally, so that ties stay ties, and zeros stay."""
    values, inverse = np.unique(x, return_inverse=True)
    factors = 1.0 + eps * _ULPS * (2.0 * random.random_sample(values.size) - 1.0)
    return np.asarray((values * factors)[inverse.reshape(x.shape)])


def _untied(vector: Vector, eps: float, random: np.random.RandomState) -> Vector:
    """The vector with every entry changed by a few relative eps, each by another amount: no two equal ones stay so."""
    size = vector.size
    places = (2.0 * random.permutation(size) + 1.0) / max(size, 1) - 1.0
    return np.asarray(vector * (1.0 + eps * _span(size) * places))


def _span(size: int) -> float:
    """How many eps `_untied` goes either way: enough for neighbouring places to be different floats."""
    return float(max(2 * _ULPS, 2 * size))


def noise(level: Level, readings: dict[str, Reading], eps: float, along_line: bool = True) -> dict[str, Noise]:
    """The noise of each analytic mode at the level's point.

    Three measures, the largest counts. A few roundings of x with ties kept, compared with the reading at x itself;
    of every entry for itself, compared with each other, since breaking a tie may move x off the very branch that is
    judged; and (if asked for) the scatter along v, which sees roundings coarser than those of x, where an operator
    cancels inside.
    """
    random = np.random.RandomState(7)
    kept = [level.project(perturbed(level.x, eps, random)) for _ in range(_PERTURBATIONS)]
    free = [_shaken(level, eps, random) for _ in range(_PERTURBATIONS + 1)]
    # The wider span of a large x is taken back, as far as the effect of roundings is linear.
    scale = 2 * _ULPS / _span(max(level.x.size, level.u.size))
    line = noise_points(level.x, level.v, _LINE_STEP) if along_line else []
    found = {}
    for mode, reading in readings.items():
        near = [reading, *_read_at([level.at(x) for x in kept], mode)]
        apart = _read_at(free, mode) or [reading]
        number = max(
            max(abs(other.number - reading.number) for other in near),
            (max(other.number for other in apart) - min(other.number for other in apart)) * scale,
        )
        vector = np.max([np.abs(other.vector - reading.vector) for other in near], axis=0)
        spread = np.ptp([other.vector for other in apart], axis=0) * scale
        scattered = _read_at([level.at(x) for x in line], mode)
        if scattered and len(scattered) == len(line):
            number = max(number, float(noise_of([np.array(other.number) for other in scattered])))
            spread = np.fmax(spread, noise_of([other.vector for other in scattered]))
        found[mode] = Noise(
            number if np.isfinite(number) else np.inf,
            np.where(np.isfinite(vector) & np.isfinite(spread), np.fmax(vector, spread), np.inf),
        )
    return found


def _shaken(level: Level, eps: float, random: np.random.RandomState) -> Level:
    """The level with every entry of x, u and v changed by a few relative eps: the operator's own matrices may be the
    ill-conditioned part, which then shows in how it treats u and v."""
    x, u, v = (
        vector + change(_untied(vector, eps, random) - vector)
        for vector, change in ((level.x, level.project), (level.u, _unchanged), (level.v, level.project))
    )
    return level.at(x, u, v)


def _unchanged(vector: Vector) -> Vector:
    return vector


def _read_at(levels: list[Level], mode: str) -> list[Reading]:
    readings = []
    for level in levels:
        try:
            readings.append(level.read(mode))
        except ModeError:
            continue
    return readings


def condition(level: Level) -> float:
    """The condition number of the call's Jacobian after rows and columns are scaled to one, over its numerical rank.

    An operator that solves with an ill-conditioned matrix of its own shows it in nothing but this. Scaling makes it 1
    for any diagonal Jacobian, however small some entries are. 1 for Jacobians that are large or cannot be had.
    """
    while level.below is not None:
        level = level.below
    if not 1 < max(level.x.size, level.u.size) <= _JACOBIAN_SIZE:
        return 1.0
    try:
        rows = [level.function.pull(level.x, unit(level.u.size, index)).gradient for index in range(level.u.size)]
    except ModeError:
        return 1.0
    jacobian = np.array(rows)
    if not np.all(np.isfinite(jacobian)) or not jacobian.size:
        return 1.0
    for axis in (1, 0):
        size = np.abs(jacobian).max(axis=axis, keepdims=True)
        jacobian = jacobian / np.where(size > 0, size, 1.0)
    singular = np.linalg.svd(jacobian, compute_uv=False)
    kept = singular[singular > _RANK_TOLERANCE * max(singular[0], 1e-300)]
    return float(kept[0] / kept[-1]) if kept.size else 1.0


def is_elementwise(level: Level) -> bool:
    """Whether the call computes every entry of one output from the same entry of one input: then a cotangent on every
    other entry gives no gradient in between."""
    while level.below is not None:
        level = level.below
    parts = (*level.function.domain.parts, *level.function.codomain.parts)
    if len(parts) != 2 or parts[0].shape != parts[1].shape:
        return False
    every_other = np.where(np.arange(level.u.size) % 2 == 0, level.u, 0.0)
    try:
        gradient = level.function.pull(level.x, every_other).gradient
    except ModeError:
        return False
    return gradient.size == every_other.size and not gradient[every_other == 0].any()


def unit(size: int, index: int) -> Vector:
    """A unit vector."""
    vector = np.zeros(size)
    vector[index] = 1.0
    return vector


def compare_all(
    level: Level,
    readings: dict[str, Reading],
    estimate: Estimate | None,
    noises: dict[str, Noise] | None = None,
    inherent: float = 0.0,
) -> list[Pair]:
    """Every pair of modes with its discrepancy: numbers by contraction, and forward mode against differences entry
    by entry, since both live in the codomain. `inherent` is a relative error that every reading has."""
    pairs = []
    modes = list(readings)
    for i, a in enumerate(modes):
        for b in modes[i + 1 :]:
            ra, rb = readings[a], readings[b]
            error = (ANALYTIC_OF_TERMS + inherent) * max(_finite(ra.terms), _finite(rb.terms))
            if noises is not None:
                error += _NOISE_FACTOR * (noises[a].number + noises[b].number)
            pairs.append(Pair(a, b, gap(ra.number, rb.number, ANALYTIC, error)))
    if estimate is not None:
        if noises is not None:
            estimate = estimate._replace(error=_SAFETY * estimate.error)
        number, bar = estimate.along(level.u)
        for mode, reading in readings.items():
            if not math.isfinite(number):
                continue
            own = (ANALYTIC_OF_TERMS + inherent) * _finite(reading.terms)
            if noises is not None:
                own += _NOISE_FACTOR * noises[mode].number
            found = gap(reading.number, number, NUMERICAL, bar + own)
            if mode == "f" + level.inner or mode == "forward":
                found = max(
                    found, _entrywise(level, reading, estimate, None if noises is None else noises[mode], inherent)
                )
            pairs.append(Pair(mode, level.numerical, found))
    return pairs


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0


def _entrywise(level: Level, reading: Reading, estimate: Estimate, own: Noise | None, inherent: float) -> float:
    """The largest discrepancy of an entry of Jv against its difference, over the entries that have both."""
    error = estimate.error + (ANALYTIC_OF_TERMS + inherent) * largest(
        np.abs(np.where(estimate.finite, estimate.value, 0.0))
    )
    if own is not None:
        error = error + _NOISE_FACTOR * own.vector
    found = discrepancy(reading.vector, estimate.value, NUMERICAL, error)
    return largest(found[estimate.finite & (level.u != 0)])


class Nature(NamedTuple):
    """What the point is like along v: refined differences and one-sided derivatives, weighed by u."""

    estimate: Estimate
    sides: Sides
    kink: bool
    edge: bool


def nature(level: Level) -> Nature:
    """Look closely at a point: both sides, and where it is smooth the whole ladder of steps."""
    weighed = level.u != 0
    both = sides(level.function.value, level.x, level.v, level.u.size)
    kink, edge = bool(np.any(both.kink & weighed)), bool(np.any(both.edge & weighed))
    if kink or edge:
        return Nature(unknown(level.u.size), both, kink, edge)
    return Nature(ladder(level.function.value, level.x, level.v, level.u.size), both, kink, edge)


def has_hidden_kink(level: Level) -> bool:
    """Whether the call has a kink at x that v does not show: two tied operands moved by the same amount stay tied, and
    above order 1 reverse and forward mode carry their different conventions along. Any other direction tells."""
    while level.below is not None:
        level = level.below
    found = nature(level.at(level.x, v=level.project(_generic(np.random.RandomState(13), level.x))))
    return found.kink or found.edge


def moved_points(level: Level) -> list[Level]:
    """The level at a few nearby points, away from a kink."""
    random = np.random.RandomState(11)
    return [
        level.at(level.x + _MOVE_RADIUS * (1 + index) * level.project(_generic(random, level.x)))
        for index in range(_MOVES)
    ]


def _generic(random: np.random.RandomState, x: Vector) -> Vector:
    """A direction at x with nothing in common with x's own entries, which may all lie on a coarse grid."""
    return draw(random, x) * (0.5 + random.random_sample(x.size))


def suspects(readings: dict[str, Reading], pairs: list[Pair], numerical: str) -> tuple[str, list[str]]:
    """The odd modes out: those outside the largest group that agree with each other, the numerical mode's group
    winning a tie. Returns (joined names, the names)."""
    modes = list(readings)
    names = [*modes, numerical] if any(numerical in (p.a, p.b) for p in pairs) else modes
    apart = {(p.a, p.b) for p in pairs if p.discrepancy > 1} | {(p.b, p.a) for p in pairs if p.discrepancy > 1}
    groups = [[b for b in names if (a, b) not in apart] for a in names]
    best = max(groups, key=lambda group: (numerical in group, len(group)))
    if numerical in names:
        outside = [mode for mode in modes if (mode, numerical) in apart]
    else:
        outside = [mode for mode in modes if mode not in best]
    outside = outside or [mode for mode in modes if mode not in best] or modes
    return "+".join(outside), outside
