"""The judgement of a level's numbers in float64: agreement, or what remains of a disagreement once explained."""

from __future__ import annotations

from typing import Any

import numpy as np

from evo_nabla.target.backends.protocol import ModeError, Pullback

from .compare import NUMERICAL, discrepancy, gap, largest
from .investigate import (
    Nature,
    Pair,
    compare_all,
    condition,
    has_hidden_kink,
    moved_points,
    nature,
    noise,
    suspects,
    unit,
)
from .levels import Level, Reading, Readings, read_all
from .memory import Circumstances
from .numerical import Estimate
from .verdict import Judgement

_EPS = 2.0**-52
# Differences that are known no better than this say nothing about a gradient.
_USEFUL_ERROR = 1e-2
_NEGLIGIBLE_ERROR = 1e-9
_SYMMETRY, _SYMMETRY_OF_TERMS, _SYMMETRY_NOISE = 1e-6, 1e-9, 64.0
# Full Jacobians, to say which entries differ, are taken up to this many inputs or outputs.
_JACOBIAN_SIZE = 24


def judge_values(level: Level, readings: Readings, judgement: Judgement, circumstances: Circumstances) -> None:
    """Compare the level's modes with each other and with differences, and note what comes of it."""
    if level.u.size and not np.any(level.u):
        judgement.doubt("non-finite output")
        return
    estimate = level.glance()
    pairs = compare_all(level, readings.given, estimate)
    if any(pair.discrepancy > 1 for pair in pairs) or not estimate.finite.all():
        estimate = level.estimate()
        pairs = compare_all(level, readings.given, estimate)
    _note_numbers(level, readings, estimate, judgement)
    worst = max((pair.discrepancy for pair in pairs), default=0.0)
    if worst <= 1 and _finite(readings):
        number, bar = estimate.along(level.u)
        if bar <= _USEFUL_ERROR * max(_size(readings), abs(number)) or _size(readings) <= bar < 1e-9:
            judgement.saw(worst)
            return
        _judge_without_quick(level, readings, judgement, circumstances.excuse)
        return
    if level.masked and not _finite(readings):
        judgement.doubt("non-finite output")
        return
    apart = [f"{pair.a} {pair.b}" for pair in pairs if pair.discrepancy > 1]
    pattern = circumstances.pattern(level.order, apart)
    familiar = circumstances.verdict(pattern)
    if familiar is not None:
        judgement.doubt(familiar)
        return
    before = len(judgement.findings)
    _explain(level, readings, judgement, circumstances.excuse, nature(level))
    circumstances.note(pattern, finding=len(judgement.findings) > before)


def _size(readings: Readings) -> float:
    return max((reading.terms for reading in readings.given.values() if np.isfinite(reading.terms)), default=0.0)


def _finite(readings: Readings) -> bool:
    return all(np.isfinite(reading.number) for reading in readings.given.values())


def _note_numbers(level: Level, readings: Readings, estimate: Estimate, judgement: Judgement) -> None:
    judgement.values = {mode: reading.number for mode, reading in readings.given.items()}
    judgement.values[level.numerical] = estimate.along(level.u)[0]


def _judge_without_quick(level: Level, readings: Readings, judgement: Judgement, excuse: str | None) -> None:
    """The analytic modes agree but the quick differences were too coarse to confirm them."""
    found = nature(level)
    if found.edge or found.kink:
        judgement.doubt("edge: no derivative on both sides" if found.edge else "kink: the modes agree on a convention")
        return
    number, bar = found.estimate.along(level.u)
    if not bar <= _USEFUL_ERROR * max(_size(readings), abs(number)):
        if _size(readings) > 0 or not np.isfinite(bar):
            judgement.doubt("differences do not converge")
            _judge_symmetry(level, readings, judgement, excuse)
        return
    pairs = compare_all(level, readings.given, found.estimate)
    if max((pair.discrepancy for pair in pairs), default=0.0) > 1:
        _explain(level, readings, judgement, excuse, found)


def asymmetry(level: Level, reading: Reading) -> tuple[float, float, float]:
    """(discrepancy, ⟨H v, w⟩, ⟨H w, v⟩) of the Hessian H of ⟨u, f⟩ by reverse over reverse, for a level of order 2."""
    assert level.below is not None
    inputs = level.below.x.size
    v, w = level.u, level.v[:inputs]
    swapped = level.at(level.x, w, level.v).read("rr")
    straight, crossed = reading.vector[:inputs] * w, swapped.vector[:inputs] * v
    terms = max(float(np.abs(straight).sum()), float(np.abs(crossed).sum()))
    rounding = _SYMMETRY_NOISE * noise(level, {"rr": reading}, _EPS)["rr"].number
    a, b = float(straight.sum()), float(crossed.sum())
    return gap(a, b, _SYMMETRY, _SYMMETRY_OF_TERMS * terms + rounding), a, b


def _judge_symmetry(level: Level, readings: Readings, judgement: Judgement, excuse: str | None) -> None:
    """Where differences say nothing, a Hessian that the modes agree on must at least be symmetric."""
    reading = readings.given.get("rr")
    if level.order != 2 or reading is None or excuse is not None:
        return
    try:
        found, straight, crossed = asymmetry(level, reading)
    except ModeError:
        return
    if found > 1:
        values = {"rr": straight, "rr transposed": crossed}
        judgement.add("asymmetry", "rr", 2, "the second derivative is not symmetric", found, values)


def _explain(
    level: Level, readings: Readings, judgement: Judgement, excuse: str | None, found: Nature, moved: bool = False
) -> None:
    judgement.values[level.numerical] = found.estimate.along(level.u)[0]
    if found.kink or (found.edge and not found.kink):
        if moved:
            return
        _judge_nearby(level, readings, judgement, excuse, found)
        return
    number, bar = found.estimate.along(level.u)
    if not (bar <= _USEFUL_ERROR * abs(number) or bar <= _NEGLIGIBLE_ERROR * _size(readings)):
        judgement.doubt("differences do not converge: not differentiable here, or too ill-conditioned")
        return
    noises = noise(level, readings.given, _EPS)
    pairs = compare_all(level, readings.given, found.estimate, noises)
    worst = max((pair.discrepancy for pair in pairs), default=0.0)
    if worst <= 1 and _finite(readings):
        judgement.saw(worst)
        plain = compare_all(level, readings.given, found.estimate)
        if max((pair.discrepancy for pair in plain), default=0.0) > 1:
            judgement.doubt("ill-conditioned: a rounding of the input explains the difference")
        return
    if excuse is not None:
        judgement.doubt(excuse)
        return
    inherent = 4 * _EPS * condition(level)
    pairs = compare_all(level, readings.given, found.estimate, noises, inherent)
    if max((pair.discrepancy for pair in pairs), default=0.0) <= 1 and _finite(readings):
        judgement.doubt("ill-conditioned: the Jacobian's own condition explains the difference")
        return
    if level.below is not None and not moved and has_hidden_kink(level):
        _judge_nearby(level, readings, judgement, excuse, found._replace(kink=True))
        return
    _report(level, readings, judgement, found, pairs, moved)


def _judge_nearby(level: Level, readings: Readings, judgement: Judgement, excuse: str | None, found: Nature) -> None:
    """At a kink or an edge the modes may follow different conventions: judge at a smooth point nearby instead."""
    word = "kink" if found.kink else "edge"
    agree = not any(pair.discrepancy > 1 for pair in compare_all(level, readings.given, None))
    judgement.doubt(
        f"{word}: {'the modes agree on a convention' if agree else 'the modes follow different conventions'}"
    )
    for nearby in moved_points(level):
        try:
            again = read_all(nearby, {})
        except ModeError:
            continue
        if not again.given or not _finite(again):
            continue
        estimate = nearby.estimate()
        pairs = compare_all(nearby, again.given, estimate)
        if max((pair.discrepancy for pair in pairs), default=0.0) <= 1:
            return
        there = nature(nearby)
        if there.kink or there.edge:
            continue
        trial = Judgement()
        _explain(nearby, again, trial, excuse, there, moved=True)
        if trial.findings:
            judgement.findings += trial.findings
            judgement.reasons.clear()
        return


def _report(
    level: Level, readings: Readings, judgement: Judgement, found: Nature, pairs: list[Pair], moved: bool
) -> None:
    number, bar = found.estimate.along(level.u)
    values = {mode: reading.number for mode, reading in readings.given.items()}
    values[level.numerical] = number
    unbounded = [mode for mode, reading in readings.given.items() if not np.isfinite(reading.number)]
    detail: dict[str, Any] = {"error_bar": bar}
    if moved:
        detail["moved_to"] = level.x.tolist() if level.x.size <= 64 else "a nearby point"
    if unbounded:
        message = f"{_verb(unbounded)} no finite value where differences converge to {number:.6g} ± {bar:.1g}"
        judgement.add("nonfinite", "+".join(unbounded), level.order, message, values=values, detail=detail)
        return
    suspect, outside = suspects(readings.given, pairs, level.numerical)
    worst = largest(np.array([pair.discrepancy for pair in pairs]))
    judgement.saw(worst)
    others = [mode for mode in values if mode not in outside]
    message = f"{_verb(outside, 'disagree')} with {' and '.join(others)}"
    kind = "missing_gradient" if _missing(level, readings, outside) else "gradient"
    detail.update(_worst_entries(level, readings))
    judgement.add(kind, suspect, level.order, message, worst, values, detail)


def _verb(modes: list[str], verb: str = "give") -> str:
    return f"{' and '.join(modes)} {verb}{'s' if len(modes) == 1 else ''}"


def _missing(level: Level, readings: Readings, outside: list[str]) -> bool:
    """Whether the suspect is reverse mode, and an input for which it gave no gradient at all explains the gap."""
    if "reverse" not in outside:
        return False
    raw = readings.given["reverse"].result.raw
    if not isinstance(raw, Pullback) or all(gradient is not None for gradient in raw.gradients):
        return False
    direction = level.v.copy()
    for part, gradient in zip(level.function.domain.parts, raw.gradients):
        if gradient is None:
            direction[part.start : part.stop] = 0.0
    number, bar = Level(level.function, level.x, level.u, direction, level.project).estimate().along(level.u)
    return largest(discrepancy(readings.given["reverse"].number, number, NUMERICAL, bar)) <= 1


def _worst_entries(level: Level, readings: Readings) -> dict[str, Any]:
    """Full Jacobians by reverse mode and by differences, to say which entry differs; small first-order calls only."""
    inputs, outputs = level.x.size, level.u.size
    if level.order != 1 or "reverse" not in readings.given or max(inputs, outputs) > _JACOBIAN_SIZE:
        return {}
    try:
        rows = [level.function.pull(level.x, unit(outputs, index)).gradient for index in range(outputs)]
        probes = (Level(level.function, level.x, level.u, unit(inputs, i), level.project) for i in range(inputs))
        columns = [probe.estimate().value for probe in probes]
    except ModeError:
        return {}
    analytic, numerical = np.array(rows), np.array(columns).T
    gap = np.where(np.isfinite(numerical), np.abs(analytic - numerical), 0.0)
    row, column = np.unravel_index(int(np.argmax(gap)), gap.shape)
    return {
        "entry": {"output": int(row), "input": int(column)},
        "entry_reverse": repr(float(analytic[row, column])),
        "entry_numerical": repr(float(numerical[row, column])),
    }
