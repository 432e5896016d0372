"""State that leaks from one evaluation of an object to the next, seen by changing its inputs in place."""

from __future__ import annotations

import numpy as np

from evo_nabla.target.backends.protocol import ModeError, Program

from .compare import discrepancy, largest
from .levels import Level
from .space import Space
from .verdict import Judgement

_STEP = 2.0**-3


def judge_replay(program: Program, judgement: Judgement, level: Level) -> None:
    """Evaluate one instance at x and then, in the same tensor objects, at x + v/8; a cached result of the first shows
    as `stale`: a fresh pair of instances, called with fresh tensors, is the reference."""
    domain: Space = level.function.domain
    first, second = domain.unflatten(level.x), domain.unflatten(level.x + _STEP * level.v)
    try:
        in_place = program.replay([first, second])[-1]
        fresh = level.function.function.value(second)
    except ModeError:
        return
    codomain = level.function.codomain
    expected = [part.shape for part in codomain.parts]
    if [a.shape for a in in_place] != expected or [b.shape for b in fresh] != expected:
        return
    a, b = codomain.flatten(in_place), codomain.flatten(fresh)
    before = codomain.flatten(level.function.function.value(first))
    # Training statistics and the like change results a little from call to call, by design; a stale value is the
    # old one to the last bit although the input moved.
    stale = np.array_equal(a, before) and largest(discrepancy(a, b, 1e-6)) > 1
    if stale:
        index = int(np.argmax(discrepancy(a, b, 1e-6)))
        values = {"direct": float(b[index]), "in place": float(a[index])}
        judgement.add(
            "stale",
            "direct",
            0,
            "the input was changed in place, and the object returned its earlier result",
            values=values,
        )
