"""A call taken apart once, so that mutators find its tensors, scalars, sequences and slots without walking again."""

from __future__ import annotations

from functools import cached_property
from typing import Union

from evo_nabla.call import (
    Argument,
    Call,
    DtypeArgument,
    ListArgument,
    ReferenceArgument,
    SameArgument,
    TensorArgument,
    TupleArgument,
    walk,
)

from .contents import family

Scalar = Union[bool, int, float, complex]
Sequenced = Union[ListArgument, TupleArgument]


class Anatomy:
    """The parts of one call, each with its path, in the order of `walk`."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.nodes: tuple[tuple[str, Argument], ...] = tuple(walk(call))

    @cached_property
    def tensors(self) -> tuple[tuple[str, TensorArgument], ...]:
        return tuple((path, node) for path, node in self.nodes if isinstance(node, TensorArgument))

    @cached_property
    def floating(self) -> tuple[tuple[str, TensorArgument], ...]:
        """The tensors of a floating or complex dtype."""
        return tuple((path, node) for path, node in self.tensors if family(node.dtype) in ("floating", "complex"))

    @cached_property
    def integers(self) -> tuple[tuple[str, TensorArgument], ...]:
        """The tensors of an integer or bool dtype: indices, targets, masks."""
        return tuple((path, node) for path, node in self.tensors if family(node.dtype) in ("integer", "bool"))

    @cached_property
    def scalars(self) -> tuple[tuple[str, Scalar], ...]:
        """Python numbers, bools excepted."""
        return tuple(
            (path, node)
            for path, node in self.nodes
            if isinstance(node, (int, float, complex)) and not isinstance(node, bool)
        )

    @cached_property
    def bools(self) -> tuple[tuple[str, bool], ...]:
        return tuple((path, node) for path, node in self.nodes if isinstance(node, bool))

    @cached_property
    def texts(self) -> tuple[tuple[str, str], ...]:
        return tuple((path, node) for path, node in self.nodes if isinstance(node, str))

    @cached_property
    def dtypes(self) -> tuple[tuple[str, DtypeArgument], ...]:
        return tuple((path, node) for path, node in self.nodes if isinstance(node, DtypeArgument))

    @cached_property
    def references(self) -> tuple[tuple[str, ReferenceArgument], ...]:
        return tuple((path, node) for path, node in self.nodes if isinstance(node, ReferenceArgument))

    @cached_property
    def sames(self) -> tuple[tuple[str, SameArgument], ...]:
        return tuple((path, node) for path, node in self.nodes if isinstance(node, SameArgument))

    @cached_property
    def sequences(self) -> tuple[tuple[str, Sequenced], ...]:
        return tuple((path, node) for path, node in self.nodes if isinstance(node, (ListArgument, TupleArgument)))

    @cached_property
    def slots(self) -> tuple[tuple[str, Argument], ...]:
        """The call's own arguments, nothing inside them: "args.0", "kwargs.dim", "init.args.1"."""
        return slots(self.call)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The different dimensions of all tensors, ascending."""
        return tuple(sorted({size for _, tensor in self.tensors for size in tensor.shape}))


def slots(call: Call) -> tuple[tuple[str, Argument], ...]:
    """Every top-level argument with its path: args, kwargs, then those of init."""
    found: list[tuple[str, Argument]] = [(f"args.{i}", argument) for i, argument in enumerate(call.args)]
    found.extend((f"kwargs.{name}", argument) for name, argument in call.kwargs)
    if call.init is not None:
        found.extend((f"init.args.{i}", argument) for i, argument in enumerate(call.init.args))
        found.extend((f"init.kwargs.{name}", argument) for name, argument in call.init.kwargs)
    return tuple(found)
