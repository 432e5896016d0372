"""The judgement of float32, float16, bfloat16 and complex64: against the float64 result of the same rounded inputs."""

from __future__ import annotations

import numpy as np

from evo_nabla.target.backends.protocol import ModeError

from .compare import Precision, discrepancy, gap, largest
from .investigate import Noise, is_elementwise, noise, perturbed
from .levels import Level, Reading, Readings, read_all
from .memory import Circumstances
from .space import Pulled, Vector
from .values import judge_values
from .verdict import Judgement

# Intermediate results cannot have left the dtype's range where inputs, outputs and derivatives all lie this far inside.
_COMFORT_EXPONENT = 0.3
_ROUNDINGS_OF_A_SUM = 32


def judge_low_level(
    level: Level,
    readings: Readings,
    precise: Level,
    precision: Precision,
    dtype: str,
    judgement: Judgement,
    circumstances: Circumstances,
) -> None:
    """Compare every analytic mode with the same mode in float64, vector by vector."""
    both = read_all(precise, {}, tuple(mode for mode in precise.modes if mode not in readings.given))
    references = _references(both.given, readings.given)
    before = len(judgement.findings)
    # The float64 result of the same inputs must be right itself before it can be a reference.
    judge_values(precise, both, judgement, circumstances)
    if len(judgement.findings) > before:
        return
    judgement.values = {mode: reading.number for mode, reading in readings.given.items()}
    judgement.values.update({f"{mode} (float64)": reading.number for mode, reading in references.items()})
    off = {
        mode: found
        for mode, reference in references.items()
        if (found := _compare(level, readings.given[mode], reference, precision, None)) > 1
    }
    judgement.saw(max((f for f in off.values()), default=0.0))
    if not off:
        return
    if circumstances.excuse is not None:
        judgement.doubt(circumstances.excuse)
        return
    pattern = circumstances.pattern(level.order, list(off))
    familiar = circumstances.verdict(pattern)
    if familiar is not None:
        judgement.doubt(familiar)
        return
    if not _references_agree(references):
        judgement.doubt("no reference: the float64 modes disagree, or are not finite")
        return
    unbounded = [mode for mode in off if not np.all(np.isfinite(readings.given[mode].vector))]
    if unbounded:
        _judge_unbounded(level, readings, references, unbounded, precision, dtype, judgement)
    else:
        _judge_bounded(level, readings, precise, references, off, precision, dtype, judgement)
    circumstances.note(pattern, finding=len(judgement.findings) > before)


def _references(precise: dict[str, Reading], given: dict[str, Reading]) -> dict[str, Reading]:
    return {
        mode: precise[mode]
        for mode, reading in given.items()
        if mode in precise and precise[mode].vector.size == reading.vector.size
    }


def _references_agree(references: dict[str, Reading]) -> bool:
    numbers = [reading.number for reading in references.values()]
    terms = max((r.terms for r in references.values() if np.isfinite(r.terms)), default=0.0)
    return all(np.isfinite(numbers)) and all(
        float(discrepancy(numbers[0], other, 1e-6, 1e-9 * terms)) <= 1 for other in numbers[1:]
    )


def _compare(level: Level, reading: Reading, reference: Reading, precision: Precision, noises: Vector | None) -> float:
    """The largest discrepancy of an entry; values beyond the dtype's range may be infinite, below it zero."""
    expected = reference.vector
    error: float | Vector = 8 * precision.smallest
    space = level.function.domain if isinstance(reading.result, Pulled) else level.function.codomain
    if space.is_complex and space.size == expected.size:
        # A complex number is as good as its modulus says; one part of it may be all rounding.
        error = error + precision.tolerance * space.moduli(expected)
    if noises is not None:
        error = error + noises
    found = discrepancy(reading.vector, expected, precision.tolerance, error)
    beyond = (np.abs(expected) > precision.largest / 4) & ~(np.abs(reading.vector) < precision.largest / 64)
    # A non-finite float64 value is no reference.
    return largest(np.where(beyond | ~np.isfinite(expected), 0.0, found))


def _judge_unbounded(
    level: Level,
    readings: Readings,
    references: dict[str, Reading],
    unbounded: list[str],
    precision: Precision,
    dtype: str,
    judgement: Judgement,
) -> None:
    """NaN or infinity in a dtype of small range is a fault only where another mode shows that the dtype suffices, or
    where nothing comes near its limits."""
    right = [
        mode
        for mode in references
        if mode not in unbounded and _compare(level, readings.given[mode], references[mode], precision, None) <= 1
    ]
    if level.masked or (not right and not _comfortable(level, references, precision)):
        judgement.doubt(f"overflow or underflow within {dtype}")
        return
    values = {mode: reading.number for mode, reading in readings.given.items()}
    values["float64"] = references[unbounded[0]].number
    message = f"{' and '.join(unbounded)} not finite in {dtype}, where {' and '.join(right) or 'float64'} is"
    judgement.add("nonfinite", "+".join(unbounded), level.order, message, values=values)


def _comfortable(level: Level, references: dict[str, Reading], precision: Precision) -> bool:
    largest_safe = precision.largest**_COMFORT_EXPONENT
    vectors = [level.x, *(reference.vector for reference in references.values())]
    for vector in vectors:
        size = np.abs(vector[vector != 0])
        if size.size and (not np.all(np.isfinite(size)) or size.max() > largest_safe or size.min() < 1 / largest_safe):
            return False
    return True


def _judge_bounded(
    level: Level,
    readings: Readings,
    precise: Level,
    references: dict[str, Reading],
    off: dict[str, float],
    precision: Precision,
    dtype: str,
    judgement: Judgement,
) -> None:
    given = {mode: readings.given[mode] for mode in references}
    noises = noise(level, {mode: given[mode] for mode in off}, precision.eps, along_line=False)
    # At a pole, or where a coordinate falls between two cells, it is the exact derivative that a rounding changes.
    exact = noise(precise, {mode: references[mode] for mode in off}, precision.eps, along_line=False)
    still = {}
    for mode in off:
        explained = 8 * (noises[mode].vector + exact[mode].vector)
        found = _compare(level, given[mode], references[mode], precision, explained)
        if found > 1:
            still[mode] = found
    if not still:
        judgement.doubt(f"ill-conditioned in {dtype}: a rounding of the input explains the difference")
        return
    if not is_elementwise(precise) and _all_cancel(level, given, references, still, precision, noises):
        judgement.doubt(f"cancellation in {dtype}: what differs is rounding of larger terms")
        return
    if _unstable(level, precise, precision):
        judgement.doubt(f"unstable in {dtype}: the output itself is off by more than the tolerance")
        return
    values = {mode: reading.number for mode, reading in given.items()}
    values["float64"] = references[next(iter(still))].number
    right = [mode for mode in given if mode not in off]
    witnesses = " and ".join([*right, "float64"])
    message = f"{' and '.join(still)} in {dtype} disagree{'s' if len(still) == 1 else ''} with {witnesses}"
    # Modes that share a formula share its rounding: all of them together tell of precision, one alone of a fault.
    # So do entries too small to show in the number that the mode contracts to.
    close = all(
        gap(given[mode].number, references[mode].number, 0.0, precision.tolerance * references[mode].terms) <= 1
        for mode in still
    )
    kind = "precision" if close or (not right and len(still) > 1) else "gradient"
    judgement.add(kind, "+".join(still), level.order, message, max(still.values()), values)


def _all_cancel(
    level: Level,
    given: dict[str, Reading],
    references: dict[str, Reading],
    off: dict[str, float],
    precision: Precision,
    noises: dict[str, Noise],
) -> bool:
    """Whether the differences of every mode are roundings of the largest entries: sums over several entries cancel.

    In one mode all entries may: the largest is that of any mode which has the same inputs' or outputs' entries.
    """
    for mode in off:
        alike = [
            reference.vector[np.isfinite(reference.vector)]
            for reference in references.values()
            if isinstance(reference.result, Pulled) == isinstance(references[mode].result, Pulled)
        ]
        rounding = _ROUNDINGS_OF_A_SUM * precision.eps * max(largest(np.abs(vector)) for vector in alike)
        if _compare(level, given[mode], references[mode], precision, rounding + 8 * noises[mode].vector) > 1:
            return False
    return True


def _unstable(level: Level, precise: Level, precision: Precision) -> bool:
    """Whether the function's own value in this dtype is too far from the float64 one to expect a good derivative."""
    bottom_low, bottom = level, precise
    while bottom_low.below is not None and bottom.below is not None:
        bottom_low, bottom = bottom_low.below, bottom.below
    try:
        low = bottom_low.function.value(bottom_low.x)
        high = bottom.function.value(bottom.x)
        random = np.random.RandomState(3)
        shaken = bottom.function.value(perturbed(bottom.x, precision.eps, random))
    except ModeError:
        return True
    spread = 8 * np.abs(shaken - high)
    return largest(discrepancy(low, high, precision.tolerance / 4, spread)) > 1
