"""Mutators of `diff`: which of the call's tensors are differentiated."""

from __future__ import annotations

import random
from typing import Optional

from evo_nabla.call import Call
from evo_nabla.evolution.anatomy import Anatomy
from evo_nabla.evolution.context import Context, Mutation


def subset(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """Some, not all, of the floating and complex inputs are differentiated."""
    paths = [path for path, _ in anatomy.floating if not path.startswith("init.")]
    if len(paths) < 2:
        return None
    chosen = random.sample(paths, random.randrange(1, len(paths)))
    return _differentiating(anatomy.call, tuple([path for path in paths if path in chosen]))


def everything(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """Every floating and complex input is differentiated."""
    return None if anatomy.call.diff is None else _differentiating(anatomy.call, None)


def _differentiating(call: Call, diff: Optional[tuple[str, ...]]) -> Call:
    return Call(call.api, call.args, call.kwargs, call.init, diff)


MUTATORS: dict[str, Mutation] = {"subset": subset, "everything": everything}
