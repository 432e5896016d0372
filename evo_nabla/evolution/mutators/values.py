"""Mutators of tensors' elements: special values, ties, structured matrices, redrawn seeds and ranges."""

from __future__ import annotations

import math
import random
from typing import Optional

from evo_nabla.call import Argument, Call, Content, Fill, Number, Seeded, TensorArgument, Values
from evo_nabla.evolution.anatomy import Anatomy
from evo_nabla.evolution.contents import (
    elements,
    family,
    fit,
    fresh,
    integer_range,
    suited,
    values_of,
    with_content,
    with_values,
)
from evo_nabla.evolution.context import Context, Mutation
from evo_nabla.evolution.randomness import chance, pick
from evo_nabla.evolution.specials import special_integer, special_real
from evo_nabla.evolution.surgery import substitute

# Ranges that seeds are redrawn over: the usual, the positive, the unit interval, the wide, and tails on either side.
RANGES: tuple[tuple[float, float], ...] = (
    (-1.0, 1.0), (-3.0, 3.0), (0.0, 1.0), (0.1, 2.0), (-0.99, 0.99), (1.0, 4.0), (-2.0, -0.1),
    (-100.0, 100.0), (-1e4, 1e4), (-1e-3, 1e-3), (30.0, 50.0), (-50.0, -30.0), (700.0, 1100.0), (-800.0, -700.0),
)  # fmt: skip
INTEGER_RANGES: tuple[tuple[int, int], ...] = ((0, 2), (0, 3), (-2, 3), (-8, 8), (0, 128))
MATRIX_KINDS = ("spd", "symmetric", "lower", "upper", "orthogonal")
VECTOR_KINDS = ("normal", "integer", "sorted", "repeated", "distinct", "permutation")

Tensors = tuple[tuple[str, TensorArgument], ...]


def special(dtype: str) -> Number:
    """A special value of any dtype; of a complex one, special parts, often only one of them."""
    kind = family(dtype)
    if kind == "floating":
        return special_real(dtype)
    if kind == "complex":
        real = special_real(dtype)
        return complex(real, 0.0 if chance(0.4) else special_real(dtype))
    return fit(special_integer(), dtype)


def _put(tensor: TensorArgument, value: Number, count: int) -> Optional[TensorArgument]:
    """The tensor with `count` of its elements, at random places, set to `value`."""
    values = values_of(tensor)
    if not values:
        return None
    for position in random.sample(range(len(values)), min(count, len(values))):
        values[position] = value
    return with_values(tensor, values)


def _change_one(anatomy: Anatomy, tensors: Tensors, count: int, value: Optional[Number] = None) -> Optional[Call]:
    if not tensors:
        return None
    path, tensor = pick(tensors)
    changed = _put(tensor, special(tensor.dtype) if value is None else value, count)
    return None if changed is None else substitute(anatomy.call, {path: changed})


def zero(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One element of a tensor, any dtype, becomes exactly zero."""
    return _change_one(anatomy, anatomy.tensors, 1, 0)


def one_special(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One element of a floating or complex tensor becomes special: an edge, a tail, a threshold, something tiny."""
    return _change_one(anatomy, anatomy.floating, 1)


def some_special(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """Several elements of one floating or complex tensor become special, each its own."""
    if not anatomy.floating:
        return None
    path, tensor = pick(anatomy.floating)
    values = values_of(tensor)
    if not values:
        return None
    mutated = [special(tensor.dtype) if chance(0.4) else value for value in values]
    return substitute(anatomy.call, {path: with_values(tensor, mutated)})


def all_special(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """Every element of one floating or complex tensor is the same special value; any size, as a fill."""
    if not anatomy.floating:
        return None
    path, tensor = pick(anatomy.floating)
    return substitute(anatomy.call, {path: with_content(tensor, Fill(special(tensor.dtype)))})


def everywhere_special(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """All floating and complex tensors are filled with one special value: zeros, ones, a tail in every operand."""
    if not anatomy.floating:
        return None
    value = special(pick(anatomy.floating)[1].dtype)
    changes: dict[str, Argument] = {
        path: with_content(tensor, Fill(fit(value, tensor.dtype))) for path, tensor in anatomy.floating
    }
    return substitute(anatomy.call, changes)


def one_integer(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One element of an integer or bool tensor becomes a special integer, negative ones included."""
    return _change_one(anatomy, anatomy.integers, 1)


def negate(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """The elements of one tensor, or some of them, change sign."""
    if not anatomy.tensors:
        return None
    path, tensor = pick(anatomy.tensors)
    content = tensor.content
    if isinstance(content, Seeded) and family(tensor.dtype) != "bool" and (chance(0.5) or values_of(tensor) is None):
        opposite = Seeded(content.seed, -content.high, -content.low, content.kind)
        flipped = suited(opposite, tensor.dtype, tensor.shape)
        return substitute(anatomy.call, {path: with_content(tensor, flipped)})
    values = values_of(tensor)
    if not values:
        return None
    whole = chance(0.4)
    return substitute(
        anatomy.call, {path: with_values(tensor, [-value if whole or chance(0.5) else value for value in values])}
    )


def ties(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """Elements of one tensor become equal: one copied over others, or all rounded to few values."""
    if not anatomy.tensors:
        return None
    path, tensor = pick(anatomy.tensors)
    values = values_of(tensor)
    if values is None or len(values) < 2:
        return None
    if chance(0.6):
        model = pick(values)
        mutated = [model if chance(0.5) else value for value in values]
        mutated[random.randrange(len(values))] = model
    else:
        few = random.sample(values, min(2, len(values)))
        mutated = [pick(few) for _ in values]
    return substitute(anatomy.call, {path: with_values(tensor, mutated)})


def whole_numbers(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """The elements of one floating tensor become whole numbers: ties among them, and kinks of floor and round."""
    if not anatomy.floating:
        return None
    path, tensor = pick(anatomy.floating)
    return _with_content(anatomy, path, tensor, fresh(tensor.dtype, tensor.shape, -3, 4, "integer"))


def equal_operands(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """A tensor takes the content of another of its shape: equal elements in two operands, but not the same object."""
    if len(anatomy.tensors) < 2:
        return None
    (path, tensor), (_, model) = random.sample(anatomy.tensors, 2)
    if tensor.shape != model.shape:
        return None
    if tensor.dtype == model.dtype:
        return _with_content(anatomy, path, tensor, model.content)
    values = values_of(model)
    return None if values is None else substitute(anatomy.call, {path: with_values(tensor, values)})


def matrix(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One floating tensor's matrices become a multiple of the identity or of ones, diagonal, singular or permuting."""
    found = _some_matrix(anatomy)
    if found is None:
        return None
    path, tensor = found
    rows, columns = tensor.shape[-2:]
    if not elements(tensor.shape) > 0 or values_of(tensor) is None:
        return None
    block = _structured(rows, columns)
    return substitute(anatomy.call, {path: with_values(tensor, block * (elements(tensor.shape) // len(block)))})


def _structured(rows: int, columns: int) -> list[Number]:
    scale = pick((1.0, 1.0, 1.0, -1.0, 2.0, 0.5, 1e-3, 1e3))
    form = pick(("identity", "identity", "ones", "diagonal", "repeated_diagonal", "rank_one", "permutation"))
    if form == "ones":
        return [scale] * (rows * columns)
    if form == "rank_one":
        return [scale * (1 + i) * (1 + j) for i in range(rows) for j in range(columns)]
    diagonal = [scale] * rows
    if form == "diagonal":
        diagonal = [scale * (1 + i) for i in range(rows)]
    elif form == "repeated_diagonal":
        diagonal = [scale * (1 + i // 2) for i in range(rows)]
    shift = int(form == "permutation")
    return [diagonal[i] if j == (i + shift) % columns else 0.0 for i in range(rows) for j in range(columns)]


def _some_matrix(anatomy: Anatomy) -> Optional[tuple[str, TensorArgument]]:
    matrices = [item for item in anatomy.floating if len(item[1].shape) >= 2]
    return pick(matrices) if matrices else None


def matrix_kind(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One floating matrix is redrawn symmetric, positive definite, triangular or orthogonal, or as a plain one."""
    found = _some_matrix(anatomy)
    if found is None:
        return None
    path, tensor = found
    kind = pick((*MATRIX_KINDS, "uniform"))
    return _with_content(anatomy, path, tensor, fresh(tensor.dtype, tensor.shape, -1.0, 1.0, kind))


def redraw(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """New random elements over the same range, or over another one, for one tensor."""
    if not anatomy.tensors:
        return None
    path, tensor = pick(anatomy.tensors)
    return _with_content(anatomy, path, tensor, _redrawn(tensor))


def redraw_everywhere(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """New random elements for all floating tensors, all over one range."""
    if not anatomy.floating:
        return None
    low, high = pick(RANGES)
    changes: dict[str, Argument] = {
        path: with_content(tensor, fresh(tensor.dtype, tensor.shape, low, high)) for path, tensor in anatomy.floating
    }
    return substitute(anatomy.call, changes)


def _redrawn(tensor: TensorArgument) -> Seeded:
    content = tensor.content
    if isinstance(content, Seeded) and chance(0.5):
        return Seeded(int(random.random() * 2**32), content.low, content.high, content.kind)
    kind = "uniform" if chance(0.6) else pick(VECTOR_KINDS)
    if family(tensor.dtype) in ("floating", "complex"):
        return fresh(tensor.dtype, tensor.shape, *pick(RANGES), kind)
    return fresh(tensor.dtype, tensor.shape, *_integer_range_of(tensor), kind)


def _integer_range_of(tensor: TensorArgument) -> tuple[int, int]:
    """The range the integers lie in already, which keeps indices valid, or half of the time a special one."""
    content = tensor.content
    if isinstance(content, Values) and content.flat and chance(0.5):
        numbers = [int(value.real) for value in content.flat]
        return min(numbers), max(numbers) + 1
    return pick(INTEGER_RANGES)


def repeat_index(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """The elements of one integer tensor all become one of them: an index with repeats."""
    indices = [item for item in anatomy.integers if family(item[1].dtype) == "integer"]
    if not indices:
        return None
    path, tensor = pick(indices)
    values = values_of(tensor)
    return None if not values else _with_content(anatomy, path, tensor, Fill(pick(values)))


def scale(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """All elements of one floating tensor are multiplied by a power of ten or two."""
    if not anatomy.floating:
        return None
    path, tensor = pick(anatomy.floating)
    factor = pick((1e-8, 1e-4, 1e-2, 0.1, 0.5, 2.0, 10.0, 100.0, 1e4, 1e8))
    content = tensor.content
    if isinstance(content, Seeded):
        low, high = content.low * factor, content.high * factor
        return _with_content(anatomy, path, tensor, Seeded(content.seed, low, high, content.kind))
    values = values_of(tensor)
    return (
        None
        if not values
        else substitute(anatomy.call, {path: with_values(tensor, [value * factor for value in values])})
    )


def neighbours(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One element becomes the next representable number above or below another: nearly a tie, nearly an edge."""
    if not anatomy.floating:
        return None
    path, tensor = pick(anatomy.floating)
    values = values_of(tensor)
    if not values:
        return None
    model = pick(values).real
    digits = {"float64": 0.0, "complex128": 0.0, "float16": 2**-10, "bfloat16": 2**-7}.get(tensor.dtype, 2**-23)
    step = (
        math.nextafter(model, pick((-math.inf, math.inf))) if digits == 0.0 else model * (1 + pick((-digits, digits)))
    )
    values[random.randrange(len(values))] = step
    return substitute(anatomy.call, {path: with_values(tensor, values)})


def extreme_integer(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One element of an integer tensor becomes the least or the greatest of its dtype."""
    whole = [item for item in anatomy.integers if family(item[1].dtype) == "integer"]
    if not whole:
        return None
    chosen = pick(whole)
    return _change_one(anatomy, (chosen,), 1, pick(integer_range(chosen[1].dtype)))


def _with_content(anatomy: Anatomy, path: str, tensor: TensorArgument, content: Content) -> Call:
    return substitute(anatomy.call, {path: with_content(tensor, content)})


MUTATORS: dict[str, Mutation] = {
    "zero": zero,
    "one_special": one_special,
    "some_special": some_special,
    "all_special": all_special,
    "everywhere_special": everywhere_special,
    "one_integer": one_integer,
    "extreme_integer": extreme_integer,
    "negate": negate,
    "ties": ties,
    "whole_numbers": whole_numbers,
    "equal_operands": equal_operands,
    "matrix": matrix,
    "matrix_kind": matrix_kind,
    "redraw": redraw,
    "redraw_everywhere": redraw_everywhere,
    "repeat_index": repeat_index,
    "scale": scale,
    "neighbours": neighbours,
}
