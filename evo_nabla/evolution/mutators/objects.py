"""Mutators of identity: the same tensor object given twice, and a shared one made separate again."""

from __future__ import annotations

from typing import Optional

from evo_nabla.call import Call, SameArgument
from evo_nabla.evolution.anatomy import Anatomy
from evo_nabla.evolution.context import Context, Mutation
from evo_nabla.evolution.randomness import pick
from evo_nabla.evolution.surgery import substitute, target_of


def same(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """A later tensor becomes the very object that an earlier one is."""
    pairs = [
        (earlier, later) for i, (earlier, _) in enumerate(anatomy.tensors) for later, _ in anatomy.tensors[i + 1 :]
    ]
    if not pairs:
        return None
    earlier, later = pick(pairs)
    return substitute(anatomy.call, {later: SameArgument(earlier)})


def apart(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """A shared object becomes an equal one of its own."""
    if not anatomy.sames:
        return None
    path, shared = pick(anatomy.sames)
    return substitute(anatomy.call, {path: target_of(anatomy.call, shared)})


MUTATORS: dict[str, Mutation] = {"same": same, "apart": apart}
