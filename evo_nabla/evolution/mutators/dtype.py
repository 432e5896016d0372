"""Mutators of dtypes: all floating tensors together, which keeps a call valid, one alone, and dtype arguments."""

from __future__ import annotations

from typing import Optional

from evo_nabla.call import Argument, Call, DtypeArgument, TensorArgument
from evo_nabla.call.dtypes import DTYPES
from evo_nabla.evolution.anatomy import Anatomy
from evo_nabla.evolution.contents import cast, family
from evo_nabla.evolution.context import Context, Mutation
from evo_nabla.evolution.randomness import chance, pick
from evo_nabla.evolution.surgery import substitute

# float64 twice: it is where derivatives are judged most sharply, and the way back from the others.
REAL = ("float64", "float64", "float32", "float16", "bfloat16")
COMPLEX = ("complex128", "complex128", "complex64")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
EVERY = ("float64", "float32", "float16", "bfloat16", "complex128", "complex64", *INTEGERS, "bool")


def together(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """All floating and complex tensors, and half of the time the dtype arguments, change to one real floating dtype."""
    return _together(anatomy, _other(REAL, anatomy.floating))


def together_complex(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """All floating tensors become complex."""
    return _together(anatomy, _other(COMPLEX, anatomy.floating))


def _other(names: tuple[str, ...], tensors: tuple[tuple[str, TensorArgument], ...]) -> str:
    present = {tensor.dtype for _, tensor in tensors}
    return pick([name for name in names if present != {name}])


def _together(anatomy: Anatomy, dtype: str) -> Optional[Call]:
    changes: dict[str, Argument] = {
        path: cast(tensor, dtype) for path, tensor in anatomy.floating if tensor.dtype != dtype
    }
    if changes and chance(0.5):
        changes.update({path: DtypeArgument(dtype) for path, node in anatomy.dtypes if _differentiable(node.name)})
    return substitute(anatomy.call, changes) if changes else None


def _differentiable(dtype: str) -> bool:
    return family(dtype) in ("floating", "complex")


def single(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One floating or complex tensor changes to another floating or complex dtype: the operands differ."""
    return _single(anatomy, anatomy.floating, (*REAL, *COMPLEX))


def complexify(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One real floating tensor becomes complex of its own precision, or one complex tensor real."""
    if not anatomy.floating:
        return None
    path, tensor = pick(anatomy.floating)
    dtype = DTYPES[tensor.dtype]
    partner = dtype.complex if dtype.family == "floating" else dtype.real
    return substitute(anatomy.call, {path: cast(tensor, partner)}) if partner else None


def to_integer(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One floating tensor becomes an integer or bool one."""
    return _single(anatomy, anatomy.floating, (*INTEGERS, "bool"))


def integer(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One integer or bool tensor takes another integer dtype or bool."""
    return _single(anatomy, anatomy.integers, (*INTEGERS, "bool"))


def from_integer(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One integer or bool tensor becomes floating or complex: wrong for an index, a new input for arithmetic."""
    return _single(anatomy, anatomy.integers, (*REAL, *COMPLEX))


def _single(
    anatomy: Anatomy, tensors: tuple[tuple[str, TensorArgument], ...], names: tuple[str, ...]
) -> Optional[Call]:
    if not tensors:
        return None
    path, tensor = pick(tensors)
    dtype = pick([name for name in names if name != tensor.dtype])
    return substitute(anatomy.call, {path: cast(tensor, dtype)})


def argument(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """A dtype argument names another dtype, most often a floating or complex one."""
    if not anatomy.dtypes:
        return None
    path, node = pick(anatomy.dtypes)
    names = (*REAL, *COMPLEX) if chance(0.8) else EVERY
    return substitute(anatomy.call, {path: DtypeArgument(pick([name for name in names if name != node.name]))})


MUTATORS: dict[str, Mutation] = {
    "together": together,
    "together_complex": together_complex,
    "single": single,
    "complexify": complexify,
    "to_integer": to_integer,
    "integer": integer,
    "from_integer": from_integer,
    "argument": argument,
}
