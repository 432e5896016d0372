"""Mutators of shapes: a dimension renamed everywhere, batches, ones to broadcast, empty and 0-d tensors."""

from __future__ import annotations

import random
from typing import Optional

from evo_nabla.call import Argument, Call, TensorArgument
from evo_nabla.evolution.anatomy import Anatomy
from evo_nabla.evolution.contents import cast, elements, reshaped
from evo_nabla.evolution.context import Context, Mutation
from evo_nabla.evolution.randomness import chance, pick
from evo_nabla.evolution.specials import boundary_size
from evo_nabla.evolution.surgery import substitute

LARGEST_SIZE = 33

Shape = tuple[int, ...]
Tensors = tuple[tuple[str, TensorArgument], ...]


def _with_shapes(anatomy: Anatomy, context: Context, shapes: list[tuple[str, TensorArgument, Shape]]) -> Optional[Call]:
    """The call with these tensors reshaped; None if nothing changes or a tensor would grow beyond the bound."""
    changes: dict[str, Argument] = {}
    for path, tensor, shape in shapes:
        if shape == tensor.shape:
            continue
        if not context.allows(shape) and elements(shape) > elements(tensor.shape):
            return None
        changes[path] = reshaped(tensor, shape)
    return substitute(anatomy.call, changes) if changes else None


def _of_some_tensor(anatomy: Anatomy, least_dimensions: int = 0) -> Optional[tuple[str, TensorArgument]]:
    eligible = [item for item in anatomy.tensors if len(item[1].shape) >= least_dimensions]
    return pick(eligible) if eligible else None


def rename(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """Every dimension equal to n becomes m, in all tensors and, half of the time, in the integers that name it."""
    if not anatomy.sizes:
        return None
    old = pick(anatomy.sizes)
    new = boundary_size(anatomy.sizes, LARGEST_SIZE)
    shapes = [
        (path, tensor, tuple([new if size == old else size for size in tensor.shape]))
        for path, tensor in anatomy.tensors
    ]
    call = _with_shapes(anatomy, context, shapes)
    if call is not None and chance(0.5):
        named = {path: new for path, node in anatomy.scalars if type(node) is int and node == old}
        call = substitute(call, named)
    return call


def one_size(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One dimension of one tensor takes a boundary size, or one that another dimension has."""
    found = _of_some_tensor(anatomy, 1)
    if found is None:
        return None
    return _with_shapes(
        anatomy, context, [(*found, _one_size(found[1].shape, boundary_size(anatomy.sizes, LARGEST_SIZE)))]
    )


def _one_size(shape: Shape, size: int) -> Shape:
    axis = int(random.random() * len(shape))
    return (*shape[:axis], size, *shape[axis + 1 :])


def broadcast(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One dimension of one tensor becomes 1."""
    found = _of_some_tensor(anatomy, 1)
    return None if found is None else _with_shapes(anatomy, context, [(*found, _one_size(found[1].shape, 1))])


def empty_size(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One dimension of one tensor becomes 0."""
    found = _of_some_tensor(anatomy, 1)
    return None if found is None else _with_shapes(anatomy, context, [(*found, _one_size(found[1].shape, 0))])


def empty_vector(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One tensor gets shape (0,)."""
    found = _of_some_tensor(anatomy)
    return None if found is None else _with_shapes(anatomy, context, [(*found, (0,))])


def empty_everywhere(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """The same dimension, counted from the front or the back, becomes 0 in every tensor that has it."""
    front = chance(0.5)
    axis = int(random.random() * 3)

    def emptied(shape: Shape) -> Shape:
        if axis >= len(shape):
            return shape
        position = axis if front else len(shape) - 1 - axis
        return (*shape[:position], 0, *shape[position + 1 :])

    return _with_shapes(anatomy, context, [(path, tensor, emptied(tensor.shape)) for path, tensor in anatomy.tensors])


def scalar(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One tensor becomes 0-dimensional."""
    found = _of_some_tensor(anatomy)
    return None if found is None else _with_shapes(anatomy, context, [(*found, ())])


def scalar_everywhere(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """All tensors become 0-dimensional."""
    return _with_shapes(anatomy, context, [(path, tensor, ()) for path, tensor in anatomy.tensors])


def vector(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One tensor becomes a vector, as long as one of the call's dimensions or one element long."""
    found = _of_some_tensor(anatomy)
    if found is None:
        return None
    size = pick(anatomy.sizes) if anatomy.sizes and chance(0.6) else 1
    return _with_shapes(anatomy, context, [(*found, (size,))])


def batch(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One tensor gets a leading dimension, often as large as an existing one: batch and matrix sizes coincide."""
    found = _of_some_tensor(anatomy)
    if found is None:
        return None
    return _with_shapes(anatomy, context, [(*found, (_batch_size(anatomy), *found[1].shape))])


def batch_everywhere(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """All tensors, or all floating ones, get the same leading dimension."""
    size = _batch_size(anatomy)
    tensors: Tensors = anatomy.tensors if chance(0.7) else anatomy.floating
    return _with_shapes(anatomy, context, [(path, tensor, (size, *tensor.shape)) for path, tensor in tensors])


def _batch_size(anatomy: Anatomy) -> int:
    return pick(anatomy.sizes) if anatomy.sizes and chance(0.5) else pick((0, 1, 2, 2, 3))


def unbatch(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One tensor loses its first or its last dimension."""
    found = _of_some_tensor(anatomy, 1)
    if found is None:
        return None
    shape = found[1].shape
    return _with_shapes(anatomy, context, [(*found, shape[1:] if chance(0.7) else shape[:-1])])


def unbatch_everywhere(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """All tensors lose their first dimension."""
    return _with_shapes(anatomy, context, [(path, tensor, tensor.shape[1:]) for path, tensor in anatomy.tensors])


def insert_one(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One tensor gets a dimension of 1 somewhere."""
    found = _of_some_tensor(anatomy)
    if found is None:
        return None
    shape = found[1].shape
    axis = int(random.random() * (len(shape) + 1))
    return _with_shapes(anatomy, context, [(*found, (*shape[:axis], 1, *shape[axis:]))])


def square(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """The last two dimensions of every matrix become equal, and half of the time the dimensions before them too."""
    matrices = [item for item in anatomy.tensors if len(item[1].shape) >= 2]
    if not matrices:
        return None
    side = pick(pick(matrices)[1].shape)
    whole = chance(0.5)
    shapes = [
        (path, tensor, (side,) * len(tensor.shape) if whole else (*tensor.shape[:-2], side, side))
        for path, tensor in matrices
    ]
    return _with_shapes(anatomy, context, shapes)


def swap_axes(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """Two dimensions of one tensor change places."""
    found = _of_some_tensor(anatomy, 2)
    if found is None:
        return None
    shape = list(found[1].shape)
    first, second = random.sample(range(len(shape)), 2)
    shape[first], shape[second] = shape[second], shape[first]
    return _with_shapes(anatomy, context, [(*found, tuple(shape))])


def alike(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One tensor takes another's shape."""
    if len(anatomy.tensors) < 2:
        return None
    (path, tensor), (_, model) = random.sample(anatomy.tensors, 2)
    return _with_shapes(anatomy, context, [(path, tensor, model.shape)])


def smaller_index(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One integer tensor shrinks along some dimensions, sometimes to nothing, while its source keeps its shape."""
    indices = [item for item in anatomy.integers if item[1].shape and elements(item[1].shape)]
    if not indices:
        return None
    path, tensor = pick(indices)
    shape = tuple([_smaller(size) if chance(0.6) else size for size in tensor.shape])
    return _with_shapes(anatomy, context, [(path, tensor, shape)])


def empty_index(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One integer tensor loses all its elements, and often its dtype: an empty literal is mostly a floating one."""
    indices = [item for item in anatomy.integers if item[1].shape]
    if not indices:
        return None
    path, tensor = pick(indices)
    emptied = reshaped(tensor, (0,) if chance(0.4) else _one_size(tensor.shape, 0))
    dtype = pick((tensor.dtype, tensor.dtype, "float32", "float64", "complex64", "complex128"))
    return substitute(anatomy.call, {path: cast(emptied, dtype)})


def _smaller(size: int) -> int:
    return size - 1 if chance(0.5) else int(random.random() * size)


MUTATORS: dict[str, Mutation] = {
    "rename": rename,
    "one_size": one_size,
    "broadcast": broadcast,
    "empty_size": empty_size,
    "empty_vector": empty_vector,
    "empty_everywhere": empty_everywhere,
    "scalar": scalar,
    "scalar_everywhere": scalar_everywhere,
    "vector": vector,
    "batch": batch,
    "batch_everywhere": batch_everywhere,
    "unbatch": unbatch,
    "unbatch_everywhere": unbatch_everywhere,
    "insert_one": insert_one,
    "square": square,
    "swap_axes": swap_axes,
    "alike": alike,
    "smaller_index": smaller_index,
    "empty_index": empty_index,
}
