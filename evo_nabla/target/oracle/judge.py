"""The judgement of one call, step by step in the order of the plan: state, status, outputs, derivatives by order."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from evo_nabla.call import Call, call_hash
from evo_nabla.target.backends.protocol import (
    Backend,
    Description,
    Function,
    ModeError,
    Primal,
    Program,
    Pullback,
    Pushforward,
    RefusedError,
)
from evo_nabla.target.conventions import Conventions
from evo_nabla.target.observers import enter

from .compare import ANALYTIC, PRECISIONS, discrepancy, largest
from .directions import projection
from .investigate import condition, noise, perturbed
from .levels import Level, Problem, Readings, draw, read_all
from .lowprecision import judge_low_level
from .memory import INVESTIGATED_SHARE, Circumstances, Memory
from .reference import judge_reference
from .space import OutOfTimeError, Pulled, RealFunction, Space, Vector, same_metadata
from .state import judge_replay
from .values import judge_values
from .verdict import Judgement


class JudgeOptions(NamedTuple):
    """How far to go with a call: order of differentiation, `thorough` for confirmation and `check` (functional
    transforms too), the limits of elements and CPU seconds after which the rest is left out."""

    order: int = 2
    thorough: bool = False
    seed: int = 0
    elements_in: int = 2**16
    elements_out: int = 2**16
    seconds: float = 5.0


_PRECISE = ("float64", "complex128")
# Functional transforms differ from the tape in few formulas and cost as much again: one call in eight runs them.
_TRANSFORM_SHARE = 8
_NESTED_FORWARD_SHARE = 4
_REPLAY_SHARE = 4
_FIRST_CALLS = 8


def judge(backend: Backend, call: Call, options: JudgeOptions, memory: Memory | None = None) -> dict[str, Any]:
    """Run a call through the oracle; the report's JSON value (docs/architecture.md), less what the worker adds.

    With a memory, and unless `thorough`, disagreements that it knows are not investigated again.
    """
    # Once for all the arithmetic below, which meets NaN and infinity everywhere: a context for each would cost more
    # than the arithmetic.
    with np.errstate(all="ignore"):
        return _judged(backend, call, options, memory)


def _judged(backend: Backend, call: Call, options: JudgeOptions, memory: Memory | None) -> dict[str, Any]:
    judgement = Judgement()
    try:
        program = backend.prepare(call)
    except RefusedError as error:
        judgement.status = "rejected"
        judgement.doubt(f"refused: {_line(str(error))}")
        return judgement.to_json()
    except ModeError as error:
        _reject(judgement, error)
        return judgement.to_json()
    try:
        _Trial(backend, call, options, program, judgement, memory).run()
    except OutOfTimeError:
        judgement.doubt(f"time: the call took more than {options.seconds:g} s")
    return judgement.to_json()


def _reject(judgement: Judgement, error: ModeError) -> None:
    judgement.status = "rejected"
    judgement.modes["direct"] = "rejected"
    judgement.doubt(f"rejected: {_line(error.message)}")
    if error.problem == "internal":
        judgement.add("internal_assert", "direct", 0, _line(error.message))


def _line(text: str) -> str:
    """The first line of a message, shortened."""
    first = text.strip().splitlines()[0] if text.strip() else ""
    return first if len(first) <= 300 else first[:297] + "..."


class _Trial:
    """One call on its way through the judgement."""

    def __init__(
        self,
        backend: Backend,
        call: Call,
        options: JudgeOptions,
        program: Program,
        judgement: Judgement,
        memory: Memory | None,
    ) -> None:
        self.backend, self.call, self.options, self.judgement = backend, call, options, judgement
        self.program, self.memory = program, memory
        self.hash = int(call_hash(call)[:8], 16)
        self.random = np.random.RandomState((self.hash + options.seed) % 2**32)
        self.deadline = time.thread_time() + options.seconds
        self.conventions = Conventions.of(backend.name)
        self.precision = PRECISIONS.get(program.lowest, PRECISIONS["float64"])
        self.convention = self.conventions.of_call(call)
        self.deterministic = True
        self.contract: str | None = None

    def run(self) -> None:
        """Judge; what is found goes to the judgement."""
        if self.memory is not None:
            self.memory.visit(self.call.api)
        primal = self._direct_twice()
        if primal is None or not self._worth_differentiating(primal):
            return
        lowest = self.program.lowest
        self.precision = PRECISIONS.get(lowest, PRECISIONS["float64"])
        level = self._first_level(self.program, primal, self.random)
        if lowest in _PRECISE:
            self._climb(level, primal, None)
        else:
            self._climb(level, primal, self._precise_level(level))
        if (
            self.deterministic
            and not self.judgement.findings
            and not self.program.random
            and self._chosen(_REPLAY_SHARE)
        ):
            enter("direct")
            judge_replay(self.program, self.judgement, level)

    # -- order 0 -------------------------------------------------------------------------------------------------

    def _direct_twice(self) -> Primal | None:
        try:
            first = self.program.direct()
        except ModeError as error:
            _reject(self.judgement, error)
            return None
        try:
            second = self.program.direct()
        except ModeError as error:
            self.judgement.doubt(f"nondeterministic: the second run raised {_line(error.message)}")
            return None
        self.judgement.modes["direct"] = "ok"
        if not _equal(first.values + first.others, second.values + second.others):
            self.judgement.doubt("nondeterministic: two direct runs differ")
            self.deterministic = False
        return second

    def _worth_differentiating(self, primal: Primal) -> bool:
        elements_in = sum(leaf.value.size for leaf in self.program.leaves)
        elements_out = sum(value.size for value in primal.values)
        if elements_in > self.options.elements_in or elements_out > self.options.elements_out:
            self.judgement.doubt(f"too large: {elements_in} elements in, {elements_out} out")
            return False
        return bool(self.program.leaves) and bool(primal.values)

    # -- orders ≥ 1 ----------------------------------------------------------------------------------------------

    def _precise_level(self, level: Level) -> Level | None:
        """The same level of the same (rounded) inputs in float64; None if the call does not run there."""
        try:
            program = self.backend.prepare(self.call, precise=True)
            primal = program.direct()
        except (RefusedError, ModeError):
            self.judgement.doubt("no reference: the call does not run in float64")
            return None
        if program.lowest not in _PRECISE:
            self.judgement.doubt(f"no reference: the call rounds to {program.lowest} by itself")
            return None
        if [value.shape for value in primal.values] != [value.shape for value in self.program.direct().values]:
            self.judgement.doubt("no reference: another result in float64")
            return None
        if len(program.leaves) != len(self.program.leaves):
            self.judgement.doubt("no reference: other inputs in float64")
            return None
        precise = self._first_level(program, primal, self.random)
        if precise.u.size != level.u.size or precise.x.size != level.x.size:
            self.judgement.doubt("no reference: another result in float64")
            return None
        precise.u, precise.v = level.u, level.v
        return precise

    def _first_level(self, program: Program, primal: Primal, random: np.random.RandomState) -> Level:
        """Order 1 of a program, with directions drawn from `random`; outputs that are not finite get no weight."""
        values = [leaf.value for leaf in program.leaves]
        domain, codomain = Space(values), Space(primal.values)
        function = program.function()
        assert function is not None
        project = projection(program, domain, self.conventions.structures(self.call.api), self.call)
        x, outputs = domain.flatten(values), codomain.flatten(primal.values)
        # The half of a matrix that an API does not read may hold anything, and its derivative formulas may use it.
        shaped = project(x)
        if not np.array_equal(shaped, x, equal_nan=True):
            x, project = (shaped, project) if _gives(function, domain, shaped, primal) else (x, _unchanged)
        u = draw(random, np.ones(codomain.size))
        u = np.where(np.isfinite(outputs), u, 0.0)
        return Level(RealFunction(function, domain, codomain, self.deadline), x, u, project(draw(random, x)), project)

    def _climb(self, level: Level, primal: Primal, precise: Level | None) -> None:
        """Judge order after order, as long as the order below gave something to differentiate."""
        unavailable: dict[str, Any] = {}
        below: Readings | None = None
        for order in range(1, self.options.order + 1):
            left_out = self._left_out(order)
            readings = read_all(level, unavailable, left_out)
            if order == 1:
                _discount_undifferentiable(readings)
            self._note_problems(order, readings)
            if not self.deterministic:
                return  # what the modes give cannot be compared, whether they run can
            if order == 1:
                level, readings = self._declared(level, readings, primal, precise)
                self._compare_primals(readings, primal)
                self._compare_metadata(readings, primal)
            elif below is not None:
                self._compare_recorded(level, readings, below)
            if not readings.given:
                return
            self.judgement.differentiated = True
            found = len(self.judgement.findings)
            self._judge_level(level, readings, precise)
            if left_out and len(self.judgement.findings) > found:
                # A finding is known by the modes that show it, so that all are asked now.
                del self.judgement.findings[found:]
                self._read_left_out(level, readings, unavailable, left_out)
                self._judge_level(level, readings, precise)
            unavailable.update(readings.problems)
            reverse = readings.given.get("reverse" if order == 1 else "r" * order)
            if order == self.options.order or reverse is None or self._blocked(order):
                return
            below = readings
            level = level.above(self.random)
            if precise is not None:
                upper = precise.above(self.random)
                upper.u, upper.v = level.u, level.v
                precise = upper

    def _left_out(self, order: int) -> tuple[str, ...]:
        """Modes that this call does without. Forward over forward runs through nested functional transforms in
        Python, and costs as much as the three other modes of order 2 together: after the first calls of an API,
        one in four has it."""
        if order == 1 or self._chosen(_NESTED_FORWARD_SHARE):
            return ()
        return ("ff" + "r" * (order - 2),)

    def _read_left_out(
        self, level: Level, readings: Readings, unavailable: dict[str, Problem], left_out: tuple[str, ...]
    ) -> None:
        """Read the modes that were left out, into the readings of the others."""
        further = read_all(level, unavailable, tuple(mode for mode in level.modes if mode not in left_out))
        self._note_problems(level.order, further)
        readings.given.update(further.given)
        readings.problems.update(further.problems)

    def _chosen(self, share: int) -> bool:
        """Whether this call has a check that, after the first calls of an API, one in `share` calls has."""
        if self.options.thorough or self.hash % share == 0:
            return True
        return self.memory is None or self.memory.visits(self.call.api) <= _FIRST_CALLS

    def _blocked(self, order: int) -> bool:
        """Whether the next order would only repeat what this one found, or time is up."""
        if any(finding.order <= order and finding.kind != "precision" for finding in self.judgement.findings):
            return True
        if time.thread_time() > self.deadline:
            self.judgement.doubt(f"time: order {order + 1} left out")
            return True
        return False

    def _judge_level(self, level: Level, readings: Readings, precise: Level | None) -> None:
        if precise is None:
            if self.program.lowest not in _PRECISE:
                return
            if not np.all(np.isfinite(level.x)):
                self.judgement.doubt("non-finite input")
                return
            judge_reference(self.call, level, readings, self.judgement)
            judge_values(level, readings, self.judgement, self._circumstances(level))
            self._transforms(level, readings)
            return
        judge_low_level(
            level, readings, precise, self.precision, self.program.lowest, self.judgement, self._circumstances(level)
        )

    def _circumstances(self, level: Level) -> Circumstances:
        memory = None if self.options.thorough else self.memory
        chosen = self.hash % INVESTIGATED_SHARE == 0
        return Circumstances(self._excuse(level), memory, (self.call.api, self.program.lowest), chosen)

    def _excuse(self, level: Level) -> str | None:
        """Why a differing derivative of this API is no bug, by a documented convention."""
        if self.contract is not None:
            return f"convention: {self.contract}"
        if self.convention is None:
            return None
        label, reason = self.convention
        domain, codomain = level.function.domain, level.function.codomain
        if label == "gauge" and not (domain.is_complex or codomain.is_complex):
            return None
        if label == "subspace" and not (domain.is_complex or _is_oblong(domain.parts[0].shape)):
            return None
        return f"convention: {label}: {reason}"

    def _declared(self, level: Level, readings: Readings, primal: Primal, precise: Level | None) -> Any:
        """Leave out of u the outputs that the library declares not differentiable, if it differentiates others."""
        reverse = readings.given.get("reverse")
        if reverse is None or not isinstance(reverse.result.raw, Pullback):
            return level, readings
        kept = reverse.result.raw.differentiable
        if all(kept) or not any(kept):
            return level, readings
        mask = np.ones(level.u.size)
        for part, keep in zip(level.function.codomain.parts, kept):
            if not keep:
                mask[part.start : part.stop] = 0.0
        level.u = level.u * mask
        if precise is not None:
            precise.u = level.u
        return level, read_all(level, {})

    # -- statuses, outputs, metadata -----------------------------------------------------------------------------

    def _note_problems(self, order: int, readings: Readings) -> None:
        modes = self.judgement.modes
        for mode in readings.given:
            modes[mode] = "ok"
        for mode, (problem, message) in readings.problems.items():
            modes[mode] = "unsupported" if problem == "unsupported" else "raised"
            if problem == "internal":
                self.judgement.add("internal_assert", mode, order, _line(message))
            elif problem == "raised":
                excuse = self.conventions.excuse(message)
                if excuse is not None:
                    # What one mode refuses by contract, another may answer as it likes.
                    self.contract = excuse
                    self.judgement.doubt(f"convention: {excuse}")
                    continue
                works = ", ".join(readings.given) or "direct"
                self.judgement.add(
                    "status", mode, order, _line(message), detail={"works": works, "raised": _line(message)}
                )

    def _compare_primals(self, readings: Readings, primal: Primal) -> None:
        """The same outputs in every mode, NaN and infinity patterns included."""
        for mode, reading in readings.given.items():
            found = reading.result.raw.values
            if len(found) != len(primal.values):
                self.judgement.add("output", mode, 0, f"{len(found)} outputs instead of {len(primal.values)}")
                continue
            if any(a.shape != b.shape for a, b in zip(found, primal.values)) or _equal(found, primal.values):
                continue
            self._judge_outputs(mode, found, primal)

    def _judge_outputs(self, mode: str, found: Sequence[np.ndarray], primal: Primal) -> None:
        space = Space(primal.values)
        a, b = space.flatten(found), space.flatten(primal.values)
        scale = largest(np.abs(b[np.isfinite(b)]))
        eps = self.precision.eps
        worst = largest(discrepancy(a, b, 64 * eps, 64 * eps * scale))
        if worst <= 1:
            return
        if self.program.random:
            self.judgement.doubt("random numbers are drawn differently when gradients are recorded")
            return
        spread = self._output_spread(space, b)
        worst = largest(discrepancy(a, b, 64 * eps, 64 * eps * scale + 16 * spread))
        if worst <= 1:
            self.judgement.doubt(
                "ill-conditioned: outputs differ between modes by what a rounding of the input explains"
            )
            return
        index = int(np.argmax(discrepancy(a, b, 64 * eps, 64 * eps * scale + 16 * spread)))
        values = {"direct": float(b[index]), mode: float(a[index])}
        self.judgement.add("output", mode, 0, f"the output differs from the direct call's ({mode})", worst, values)

    def _output_spread(self, space: Space, base: Vector) -> Vector:
        function = self.program.function()
        assert function is not None
        domain = Space([leaf.value for leaf in self.program.leaves])
        x = domain.flatten([leaf.value for leaf in self.program.leaves])
        spread = np.zeros(base.size)
        random = np.random.RandomState(5)
        for _ in range(3):
            try:
                other = space.flatten(function.value(domain.unflatten(perturbed(x, self.precision.eps, random))))
            except ModeError:
                continue
            spread = np.fmax(spread, np.abs(other - base))
        return spread

    def _compare_metadata(self, readings: Readings, primal: Primal) -> None:
        """Outputs with the direct call's shape, dtype and device; gradients with their input's, tangents with their
        output's."""
        leaves = [Description(leaf.shape, leaf.dtype, "cpu") for leaf in self.program.leaves]
        for mode, reading in readings.given.items():
            raw = reading.result.raw
            derivative = raw.gradient_descriptions if isinstance(raw, Pullback) else raw.tangent_descriptions
            expected = leaves if isinstance(raw, Pullback) else raw.descriptions
            for what, problem in (
                ("output", same_metadata(primal.descriptions, raw.descriptions)),
                ("gradient" if isinstance(raw, Pullback) else "tangent", same_metadata(expected, derivative)),
            ):
                if problem is not None:
                    self.judgement.add("metadata", mode, 1, f"{what}: {problem}")

    def _compare_recorded(self, level: Level, readings: Readings, below: Readings) -> None:
        """The gradient itself must be the same whether or not it is recorded for another differentiation."""
        lower, name = level.below, _reverse_name(level)
        before = below.given.get(name)
        if lower is None or before is None or self.program.random:
            return
        eps = self.precision.eps
        scale = largest(np.abs(before.vector[np.isfinite(before.vector)]))
        for mode in ("r" + level.inner, "f" + level.inner):
            reading = readings.given.get(mode)
            if reading is None:
                continue
            found = discrepancy(reading.result.outputs, before.vector, ANALYTIC, 2**10 * eps * scale)
            if largest(found) <= 1:
                continue
            spread = 16 * noise(lower, {name: before}, eps)[name].vector + 4 * eps * condition(lower) * scale
            found = discrepancy(reading.result.outputs, before.vector, ANALYTIC, 2**10 * eps * scale + spread)
            if largest(found) <= 1:
                self.judgement.doubt("ill-conditioned: the gradient differs when it is recorded, within rounding")
                continue
            index = int(np.argmax(found))
            values = {name: float(before.vector[index]), mode: float(reading.result.outputs[index])}
            self.judgement.add(
                "gradient", mode, level.order - 1, "the gradient differs when it is recorded", largest(found), values
            )
            return

    def _transforms(self, level: Level, readings: Readings) -> None:
        """At order 2 the library's functional transforms must give what its tape gives."""
        if level.order != 2 or "rr" not in readings.given:
            return
        if not self.options.thorough and self.hash % _TRANSFORM_SHARE:
            return
        function = self.program.function(functional=True)
        if function is None:
            return
        below = level.below
        assert below is not None
        real = RealFunction(function, below.function.domain, below.function.codomain).reverse()
        tape = readings.given["rr"]
        enter("func_rr")
        try:
            pulled: Pulled = real.pull(level.x, level.u)
        except ModeError as error:
            self.judgement.modes["func_rr"] = "unsupported" if error.problem != "internal" else "raised"
            return
        self.judgement.modes["func_rr"] = "ok"
        terms = pulled.gradient * level.v
        number, size = float(terms.sum()), float(np.abs(terms).sum())
        error_bar = 1e-9 * (size if np.isfinite(size) else 0.0)
        found = float(discrepancy(number, tape.number, ANALYTIC, error_bar))
        if found > 1 and np.isfinite(tape.number):
            values = {"rr": tape.number, "func_rr": number}
            self.judgement.add(
                "transform",
                "func_rr",
                2,
                "the functional transforms' second derivative differs from the tape's",
                found,
                values,
            )


def _discount_undifferentiable(readings: Readings) -> None:
    """Outputs without any tangent, that record no gradient either or say that there is none, are declared not
    differentiable: whoever asks for their gradient is told so by an exception."""
    forward = readings.given.get("forward")
    if forward is not None:
        raw = forward.result.raw
        if not isinstance(raw, Pushforward) or any(tangent is not None for tangent in raw.tangents):
            return
    reverse, refusal = readings.given.get("reverse"), readings.problems.get("reverse")
    if reverse is not None:
        if not isinstance(reverse.result.raw, Pullback) or any(reverse.result.raw.differentiable):
            return
        del readings.given["reverse"]
        readings.problems["reverse"] = Problem("unsupported", "the outputs do not require a gradient")
    elif refusal is None or refusal.problem != "unsupported":
        return
    if forward is not None:
        del readings.given["forward"]
        readings.problems["forward"] = Problem("unsupported", "the outputs have no tangent")


def _gives(function: Function, domain: Space, x: Vector, primal: Primal) -> bool:
    """Whether the function has the primal's outputs at x, up to rounding."""
    try:
        found = function.value(domain.unflatten(x))
    except ModeError:
        return False
    space = Space(primal.values)
    if [value.shape for value in found] != [value.shape for value in primal.values]:
        return False
    return largest(discrepancy(space.flatten(found), space.flatten(primal.values), 1e-6)) <= 1


def _unchanged(vector: Vector) -> Vector:
    return vector


def _is_oblong(shape: Sequence[int]) -> bool:
    return len(shape) >= 2 and shape[-1] != shape[-2]


def _reverse_name(level: Level) -> str:
    return "reverse" if level.order == 2 else "r" * (level.order - 1)


def _equal(a: Sequence[np.ndarray], b: Sequence[np.ndarray]) -> bool:
    return len(a) == len(b) and all(
        x.shape == y.shape and np.array_equal(x, y, equal_nan=x.dtype.kind in "fc") for x, y in zip(a, b)
    )
