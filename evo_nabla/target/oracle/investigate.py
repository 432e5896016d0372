"""What explains a disagreement that is no bug: kinks, edges of the domain, rounding at an ill-conditioned point."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from ..backends.protocol import ModeError
from .compare import ANALYTIC, ANALYTIC_OF_TERMS, NUMERICAL, discrepancy, largest
from .levels import Level, Reading, draw
from .numerical import Estimate, Sides, ladder, sides
from .space import Vector

_PERTURBATIONS = 3
_ULPS = 4
# A perturbation of a few roundings bounds the roundings inside the operator up to a moderate factor.
_NOISE_FACTOR = 8.0
_MOVES = 3
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
    with np.errstate(all="ignore"):
        return np.asarray((values * factors)[inverse.reshape(x.shape)])


def noise(level: Level, readings: Dict[str, Reading], eps: float) -> Dict[str, Noise]:
    """The noise of each analytic mode at the level's point."""
    found = {mode: Noise(0.0, np.zeros(reading.vector.size)) for mode, reading in readings.items()}
    random = np.random.RandomState(7)
    for _ in range(_PERTURBATIONS):
        x = level.project(perturbed(level.x, eps, random))
        for mode, reading in readings.items():
            try:
                other = level.read(mode, x)
            except ModeError:
                continue
            with np.errstate(all="ignore"):
                number = abs(other.number - reading.number)
                vector = np.abs(other.vector - reading.vector)
            previous = found[mode]
            found[mode] = Noise(
                max(previous.number, number if np.isfinite(number) else np.inf),
                np.maximum(previous.vector, np.where(np.isfinite(vector), vector, np.inf)),
            )
    return found


def compare_all(
    level: Level, readings: Dict[str, Reading], estimate: Optional[Estimate], noises: Optional[Dict[str, Noise]] = None
) -> List[Pair]:
    """Every pair of modes with its discrepancy: numbers by contraction, and forward mode against differences entry
    by entry, since both live in the codomain."""
    pairs = []
    modes = list(readings)
    for i, a in enumerate(modes):
        for b in modes[i + 1 :]:
            ra, rb = readings[a], readings[b]
            error = ANALYTIC_OF_TERMS * max(_finite(ra.terms), _finite(rb.terms))
            if noises is not None:
                error += _NOISE_FACTOR * (noises[a].number + noises[b].number)
            pairs.append(Pair(a, b, float(discrepancy(ra.number, rb.number, ANALYTIC, error))))
    if estimate is not None:
        number, bar = estimate.along(level.u)
        for mode, reading in readings.items():
            if not np.isfinite(number):
                continue
            own = ANALYTIC_OF_TERMS * _finite(reading.terms)
            if noises is not None:
                own += _NOISE_FACTOR * noises[mode].number
            found = float(discrepancy(reading.number, number, NUMERICAL, bar + own))
            if mode == "f" + level.inner or mode == "forward":
                found = max(found, _entrywise(level, reading, estimate, noises and noises[mode]))
            pairs.append(Pair(mode, level.numerical, found))
    return pairs


def _finite(value: float) -> float:
    return value if np.isfinite(value) else 0.0


def _entrywise(level: Level, reading: Reading, estimate: Estimate, own: Optional[Noise]) -> float:
    """The largest discrepancy of an entry of Jv against its difference, over the entries that have both."""
    error = estimate.error + 1e-13 * largest(np.abs(np.where(estimate.finite, estimate.value, 0.0)))
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
    """Look closely at a point: the whole ladder of steps, and both sides."""
    weighed = level.u != 0
    refined = ladder(level.function.value, level.x, level.v, level.u.size)
    both = sides(level.function.value, level.x, level.v, level.u.size)
    return Nature(refined, both, bool(np.any(both.kink & weighed)), bool(np.any(both.edge & weighed)))


def moved_points(level: Level) -> List[Level]:
    """The level at a few nearby points, away from a kink."""
    random = np.random.RandomState(11)
    return [
        level.at(level.x + _MOVE_RADIUS * (1 + index) * level.project(draw(random, level.x))) for index in range(_MOVES)
    ]


def suspects(readings: Dict[str, Reading], pairs: List[Pair], numerical: str) -> Tuple[str, List[str]]:
    """The odd modes out: those outside the largest group that agree with each other, the numerical mode's group
    winning a tie. Returns (joined names, the names)."""
    modes = list(readings)
    names = modes + [numerical] if any(numerical in (p.a, p.b) for p in pairs) else modes
    apart = {(p.a, p.b) for p in pairs if p.discrepancy > 1} | {(p.b, p.a) for p in pairs if p.discrepancy > 1}
    groups = [[b for b in names if (a, b) not in apart] for a in names]
    best = max(groups, key=lambda group: (numerical in group, len(group)))
    if numerical in names:
        outside = [mode for mode in modes if (mode, numerical) in apart]
    else:
        outside = [mode for mode in modes if mode not in best]
    outside = outside or [mode for mode in modes if mode not in best] or modes
    return "+".join(outside), outside
