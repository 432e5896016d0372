"""Mutators that borrow: from another seed of this API, from a like-named parameter elsewhere, or by type."""

from __future__ import annotations

from typing import Optional

from evo_nabla.call import Argument, Call, TensorArgument
from evo_nabla.evolution.anatomy import Anatomy
from evo_nabla.evolution.contents import cast, reshaped
from evo_nabla.evolution.context import Context, Mutation
from evo_nabla.evolution.pool import type_tag
from evo_nabla.evolution.randomness import chance, pick
from evo_nabla.evolution.signatures import parameter_name
from evo_nabla.evolution.surgery import substitute


def own(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One argument becomes what another seed of this API has for the parameter."""
    if not anatomy.slots:
        return None
    path, argument = pick(anatomy.slots)
    name = parameter_name(path, context.signature(anatomy.call))
    return _lend(anatomy, path, argument, context.pool.slotted(anatomy.call.api, name))


def like_named(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One argument becomes what any API has for a parameter of this name."""
    if not anatomy.slots:
        return None
    path, argument = pick(anatomy.slots)
    lent = context.pool.named(parameter_name(path, context.signature(anatomy.call)))
    return _lend(anatomy, path, argument, tuple([item.argument for item in lent]))


def like_typed(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One argument, a nested one too, becomes another of its type."""
    if not anatomy.nodes:
        return None
    path, argument = pick(anatomy.nodes)
    return _lend(anatomy, path, argument, context.pool.typed(type_tag(argument)))


def _lend(anatomy: Anatomy, path: str, present: Argument, offers: tuple[Argument, ...]) -> Optional[Call]:
    if not offers:
        return None
    argument = pick(offers)
    if isinstance(argument, TensorArgument) and isinstance(present, TensorArgument):
        # The content is what is wanted; a foreign shape and dtype would mostly be refused.
        if chance(0.7):
            argument = reshaped(argument, present.shape)
        if chance(0.7):
            argument = cast(argument, present.dtype)
    return substitute(anatomy.call, {path: argument})


MUTATORS: dict[str, Mutation] = {"own": own, "like_named": like_named, "like_typed": like_typed}
