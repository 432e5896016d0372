"""Mutators of lists and tuples: items dropped, repeated, swapped, nested; a sequence made of one number and back."""

from __future__ import annotations

import random
from typing import Optional

from evo_nabla.call import Argument, Call, ListArgument, TupleArgument
from evo_nabla.evolution.anatomy import Anatomy, Sequenced
from evo_nabla.evolution.context import Context, Mutation
from evo_nabla.evolution.randomness import chance, pick
from evo_nabla.evolution.surgery import substitute

LONGEST = 8


def drop(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One item goes; the sequence may become empty."""
    found = _some(anatomy, 1)
    if found is None:
        return None
    path, sequence = found
    position = random.randrange(len(sequence.items))
    return _with_items(anatomy, path, sequence, sequence.items[:position] + sequence.items[position + 1 :])


def repeat(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One item comes twice."""
    found = _some(anatomy, 1)
    if found is None or len(found[1].items) >= LONGEST:
        return None
    path, sequence = found
    position = random.randrange(len(sequence.items))
    return _with_items(anatomy, path, sequence, sequence.items[: position + 1] + sequence.items[position:])


def swap(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """Two items change places, and as often two positional arguments of the call."""
    if chance(0.5) and len(anatomy.call.args) >= 2:
        first, second = random.sample(range(len(anatomy.call.args)), 2)
        args = anatomy.call.args
        return substitute(anatomy.call, {f"args.{first}": args[second], f"args.{second}": args[first]})
    found = _some(anatomy, 2)
    if found is None:
        return None
    path, sequence = found
    items = list(sequence.items)
    first, second = random.sample(range(len(items)), 2)
    items[first], items[second] = items[second], items[first]
    return _with_items(anatomy, path, sequence, tuple(items))


def wrap(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """A number or a sequence of numbers becomes a sequence of itself: 2 → [2], [0, 1] → [[0, 1]]."""
    eligible: list[tuple[str, Argument]] = [(path, node) for path, node in anatomy.scalars if type(node) is int]
    eligible += [(path, node) for path, node in anatomy.sequences if all(type(item) is int for item in node.items)]
    if not eligible:
        return None
    path, node = pick(eligible)
    repeats = pick((1, 1, 2, 3)) if isinstance(node, int) else 1
    return substitute(anatomy.call, {path: ListArgument((node,) * repeats)})


def unwrap(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """A sequence becomes one of its items."""
    found = _some(anatomy, 1)
    return None if found is None else substitute(anatomy.call, {found[0]: pick(found[1].items)})


def convert(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """A list becomes a tuple, or a tuple a list."""
    found = _some(anatomy, 0)
    if found is None:
        return None
    path, sequence = found
    other = TupleArgument if isinstance(sequence, ListArgument) else ListArgument
    return substitute(anatomy.call, {path: other(sequence.items)})


def _some(anatomy: Anatomy, least: int) -> Optional[tuple[str, Sequenced]]:
    eligible = [item for item in anatomy.sequences if len(item[1].items) >= least]
    return pick(eligible) if eligible else None


def _with_items(anatomy: Anatomy, path: str, sequence: Sequenced, items: tuple[Argument, ...]) -> Call:
    return substitute(anatomy.call, {path: type(sequence)(items)})


MUTATORS: dict[str, Mutation] = {
    "drop": drop,
    "repeat": repeat,
    "swap": swap,
    "wrap": wrap,
    "unwrap": unwrap,
    "convert": convert,
}
