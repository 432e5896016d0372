"""Numeric refinement: small steps of one argument's numbers that climb the discrepancy, longer while they pay."""

from __future__ import annotations

import math
from dataclasses import dataclass
from dataclasses import replace as with_fields
from typing import Any, Optional

from evo_nabla.call import Call, Fill, Number, Seeded, TensorArgument
from evo_nabla.evolution.anatomy import Anatomy
from evo_nabla.evolution.contents import fit, suited, values_of, with_content, with_values
from evo_nabla.evolution.randomness import chance, pick
from evo_nabla.evolution.specials import special_real
from evo_nabla.evolution.surgery import substitute

FIRST_AMOUNTS = (1e-5, 1e-3, 1e-2, 0.05, 0.2, 0.5)
LONGEST_AMOUNT = 4.0


@dataclass(frozen=True)
class Step:
    """A direction for the numbers at `path`, all or the one at `position`.

    kind: "scale" multiplies by 1 + amount, "shift" adds amount, "toward" goes that share of the way to `target`.
    """

    path: str
    position: Optional[int]
    kind: str
    amount: float
    target: float = 0.0

    def longer(self) -> Step:
        """The same direction, further: what an improvement is followed by."""
        if self.kind == "toward":
            return with_fields(self, amount=min(0.9, 1.5 * self.amount))
        return with_fields(self, amount=math.copysign(min(LONGEST_AMOUNT, 2 * abs(self.amount)), self.amount))

    def to_json(self) -> list[Any]:
        return [self.path, self.position, self.kind, self.amount, self.target]

    def moved(self, value: Number) -> Number:
        """One number after the step; a non-finite one stays."""
        if not math.isfinite(value.real) or not math.isfinite(value.imag):
            return value
        if self.kind == "scale":
            return value * (1.0 + self.amount)
        if self.kind == "shift":
            return value + self.amount
        # Not value + amount (target - value): the difference of two huge numbers overflows.
        return value * (1.0 - self.amount) + self.target * self.amount


def step_from_json(document: list[Any]) -> Step:
    path, position, kind, amount, target = document
    return Step(path, position, kind, amount, target)


def draw_step(anatomy: Anatomy) -> Optional[Step]:
    """A first, random step of one floating tensor or number of the call."""
    paths = [path for path, _ in anatomy.floating]
    paths += [path for path, number in anatomy.scalars if isinstance(number, float)]
    if not paths:
        return None
    path = pick(paths)
    kind = pick(("scale", "shift", "toward"))
    amount = pick(FIRST_AMOUNTS)
    if kind != "toward" and chance(0.5):
        amount = -amount
    target = special_real("float64") if kind == "toward" else 0.0
    return Step(path, _position(anatomy, path), kind, amount, target if math.isfinite(target) else 0.0)


def _position(anatomy: Anatomy, path: str) -> Optional[int]:
    tensor = dict(anatomy.nodes)[path]
    if not isinstance(tensor, TensorArgument) or chance(0.5):
        return None
    values = values_of(tensor)
    return pick(range(len(values))) if values else None


def take(anatomy: Anatomy, step: Step) -> Optional[Call]:
    """The call after the step; None where nothing stands there that could move, or nothing moves."""
    node = dict(anatomy.nodes).get(step.path)
    if isinstance(node, float):
        moved = step.moved(node)
        return substitute(anatomy.call, {step.path: moved}) if moved != node else None
    if not isinstance(node, TensorArgument):
        return None
    tensor = _moved(node, step)
    return None if tensor is None else substitute(anatomy.call, {step.path: tensor})


def _moved(tensor: TensorArgument, step: Step) -> Optional[TensorArgument]:
    content = tensor.content
    if step.position is None and isinstance(content, Seeded):
        low, high = sorted((step.moved(content.low).real, step.moved(content.high).real))
        if not math.isfinite(high - low):
            return None
        moved = Seeded(content.seed, low, high, content.kind)
        return with_content(tensor, suited(moved, tensor.dtype, tensor.shape))
    if step.position is None and isinstance(content, Fill):
        return with_content(tensor, Fill(fit(step.moved(content.value), tensor.dtype)))
    values = values_of(tensor)
    if not values or (step.position is not None and step.position >= len(values)):
        return None
    if step.position is None:
        return with_values(tensor, [step.moved(value) for value in values])
    values[step.position] = step.moved(values[step.position])
    return with_values(tensor, values)
