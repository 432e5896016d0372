"""Crossover of two calls of one API: options exchanged, tensors exchanged as a block, or arguments one by one."""

from __future__ import annotations

from evo_nabla.call import Argument, Call, TensorArgument

from .anatomy import Anatomy
from .contents import reshaped
from .randomness import chance, pick
from .surgery import substitute


def mate(first: Anatomy, second: Anatomy) -> tuple[Call, Call]:
    """Two children, complementary: what one takes from the other parent the other keeps. DEAP's form of a crossover.

    Arguments correspond by their path, so by position or name; what only one parent has stays with it. As after any
    change, the children's paths must be `repaired`.
    """
    paths = _exchanged(first, second)
    keep_shapes = chance(0.5)
    return (
        substitute(first.call, _taken(second, first, paths, keep_shapes)),
        substitute(second.call, _taken(first, second, paths, keep_shapes)),
    )


def _exchanged(first: Anatomy, second: Anatomy) -> list[str]:
    """The paths to exchange: all tensors (they belong together), all options, or each with even chance."""
    there = {path for path, _ in second.slots}
    common = [(path, argument) for path, argument in first.slots if path in there]
    form = pick(("tensors", "options", "each"))
    if form == "each":
        return [path for path, _ in common if chance(0.5)]
    return [path for path, argument in common if _holds_tensor(first, path) == (form == "tensors")]


def _holds_tensor(anatomy: Anatomy, path: str) -> bool:
    inside = path + "."
    return any(tensor == path or tensor.startswith(inside) for tensor, _ in anatomy.tensors)


def _taken(donor: Anatomy, host: Anatomy, paths: list[str], keep_shapes: bool) -> dict[str, Argument]:
    given, present = dict(donor.slots), dict(host.slots)
    taken: dict[str, Argument] = {}
    for path in paths:
        argument, old = given[path], present[path]
        if keep_shapes and isinstance(argument, TensorArgument) and isinstance(old, TensorArgument):
            argument = reshaped(argument, old.shape)
        taken[path] = argument
    return taken
