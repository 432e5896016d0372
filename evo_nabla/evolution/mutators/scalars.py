"""Mutators of Python numbers: special values, signs, windows beyond the input, 0-d tensors and back."""

from __future__ import annotations

import random
from typing import Optional

from evo_nabla.call import Argument, Call, Fill, TensorArgument, Values
from evo_nabla.evolution.anatomy import Anatomy, Scalar
from evo_nabla.evolution.contents import family, values_of
from evo_nabla.evolution.context import Context, Mutation
from evo_nabla.evolution.randomness import chance, pick
from evo_nabla.evolution.specials import special_integer, special_real
from evo_nabla.evolution.surgery import substitute

# Larger integers would ask for outputs that only measure the limits.
LARGEST_INTEGER = 4096


def _numbers(anatomy: Anatomy, kind: type) -> list[tuple[str, Scalar]]:
    return [item for item in anatomy.scalars if type(item[1]) is kind]


def special(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One number becomes special: zero above all, edges, and tails for a float."""
    if not anatomy.scalars:
        return None
    path, number = pick(anatomy.scalars)
    if isinstance(number, complex):
        return substitute(anatomy.call, {path: complex(special_real("float64"), special_real("float64"))})
    return substitute(anatomy.call, {path: special_integer() if isinstance(number, int) else special_real("float64")})


def step(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One number goes up or down by one, or is doubled or halved."""
    if not anatomy.scalars:
        return None
    path, number = pick(anatomy.scalars)
    if isinstance(number, int):
        stepped: Scalar = pick((number + 1, number - 1, number * 2, number // 2))
        if abs(int(stepped.real)) > LARGEST_INTEGER:
            return None
    else:
        stepped = pick((number + 1, number - 1, number * 2, number / 2, number * 10, number / 10))
    return substitute(anatomy.call, {path: stepped})


def negate(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One number, or all, change sign: negative dimensions and exponents."""
    if not anatomy.scalars:
        return None
    chosen = anatomy.scalars if chance(0.2) else (pick(anatomy.scalars),)
    return substitute(anatomy.call, {path: -number for path, number in chosen})


def window(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One integer, or all integers of one sequence, become as large as a dimension of the input, or a little larger."""
    integers = _numbers(anatomy, int)
    if not integers or not anatomy.sizes:
        return None
    path, _ = pick(integers)
    size = pick(anatomy.sizes) + pick((0, 1, 1, 2))
    return substitute(anatomy.call, dict.fromkeys(_siblings(integers, path) if chance(0.5) else [path], size))


def _siblings(integers: list[tuple[str, Scalar]], path: str) -> list[str]:
    """The integers in the same sequence; of a slot of its own only itself."""
    parent = path.rpartition(".")[0]
    if parent.count(".") == 0 or parent in ("init.args", "init.kwargs"):
        return [path]
    return [other for other, _ in integers if other.rpartition(".")[0] == parent]


def axis(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One integer becomes an axis of some tensor, counted from the front or the back."""
    integers = _numbers(anatomy, int)
    if not integers or not anatomy.tensors:
        return None
    dimensions = max(1, len(pick(anatomy.tensors)[1].shape))
    return substitute(anatomy.call, {pick(integers)[0]: random.randrange(-dimensions, dimensions)})


def other_type(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One number changes its type: 2 and 2.0 and true and 2+0j are different arguments."""
    numbers: tuple[tuple[str, Scalar], ...] = (*anatomy.scalars, *anatomy.bools)
    if not numbers:
        return None
    path, number = pick(numbers)
    if isinstance(number, bool):
        return substitute(anatomy.call, {path: pick((int(number), float(number)))})
    if isinstance(number, int):
        return substitute(
            anatomy.call, {path: pick((_as_float(number), _as_float(number), bool(number), number + 0.5))}
        )
    if isinstance(number, float):
        return substitute(
            anatomy.call, {path: pick((_as_int(number), _as_int(number), complex(number, 0.0), complex(number, 1.0)))}
        )
    return substitute(anatomy.call, {path: number.real})


def _as_float(number: int) -> float:
    return float(number) if abs(number) <= 2**53 else 0.0


def _as_int(number: float) -> int:
    return int(number) if abs(number) <= LARGEST_INTEGER else 0


def to_tensor(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One number becomes a 0-d tensor, now and then of another dtype than the tensors beside it."""
    if not anatomy.scalars:
        return None
    path, number = pick(anatomy.scalars)
    if isinstance(number, int):
        dtype = "int64" if chance(0.5) else "float64"
    elif isinstance(number, complex):
        dtype = "complex128"
    else:
        dtype = pick(anatomy.floating)[1].dtype if anatomy.floating and chance(0.7) else pick(("float64", "float32"))
    value = {"complex": complex, "floating": float, "integer": int}[family(dtype)](number)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return None
    return substitute(anatomy.call, {path: TensorArgument((), dtype, Values((value,)))})


def from_tensor(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One tensor, not the only one, becomes a Python number: one of its elements, or 1 where it has none to spare."""
    if len(anatomy.tensors) < 2:
        return None
    path, tensor = pick(anatomy.tensors[1:] if chance(0.8) else anatomy.tensors)
    values = values_of(tensor)
    number: Argument = pick(values) if values else 1
    return substitute(anatomy.call, {path: number})


def fill_like(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One number becomes a tensor of an existing one's shape and dtype, filled with it: per-element exponents."""
    if not anatomy.scalars or not anatomy.floating:
        return None
    path, number = pick(anatomy.scalars)
    model = pick(anatomy.floating)[1]
    value = complex(number) if family(model.dtype) == "complex" else _as_real(number)
    return substitute(anatomy.call, {path: TensorArgument(model.shape, model.dtype, Fill(value))})


def _as_real(number: Scalar) -> float:
    return _as_float(number) if isinstance(number, int) else float(number.real)


MUTATORS: dict[str, Mutation] = {
    "special": special,
    "step": step,
    "negate": negate,
    "window": window,
    "axis": axis,
    "other_type": other_type,
    "to_tensor": to_tensor,
    "from_tensor": from_tensor,
    "fill_like": fill_like,
}
