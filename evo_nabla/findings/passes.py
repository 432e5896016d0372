"""The ways to make a call simpler, each a generator of candidates, boldest first."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from evo_nabla.call.arguments import (
    CONTIGUOUS,
    Argument,
    Fill,
    Layout,
    ListArgument,
    Number,
    Seeded,
    TensorArgument,
    TupleArgument,
    Values,
)
from evo_nabla.call.call import Call
from evo_nabla.call.dtypes import BOOL, COMPLEX, DTYPES, FLOATING
from evo_nabla.call.errors import CallError
from evo_nabla.call.materialise import materialise
from evo_nabla.call.paths import differentiated, remove, replace, walk

Pass = Callable[[Call], Iterator[Call]]
Change = Callable[[TensorArgument], TensorArgument]

MAX_WRITTEN = 256  # a seeded tensor with more entries stays seeded
MAX_SINGLE = 32  # entries of a larger tensor are changed in chunks only


def fewer_arguments(call: Call) -> Iterator[Call]:
    """Keyword arguments and trailing arguments dropped, the constructor's too; others replaced by None."""
    paths = [path for path, _ in walk(call)]
    for path in reversed(paths):
        if _is_droppable(call, path):
            yield from _attempt(remove, call, path)
    for path, node in walk(call):
        if node is not None and path.count(".") == 1 and path != "args.0":
            yield from _attempt(replace, call, path, None)


def _is_droppable(call: Call, path: str) -> bool:
    if path.startswith(("kwargs.", "init.kwargs.")):
        return True
    last = f"args.{len(call.args) - 1}"
    init_last = f"init.args.{len(call.init.args) - 1}" if call.init is not None else ""
    return path in (last, init_last) or path.count(".") > 1 + path.startswith("init.")


def fewer_differentiated(call: Call) -> Iterator[Call]:
    """One input differentiated, or one fewer."""
    chosen = differentiated(call)
    if len(chosen) < 2:
        return
    for path in chosen:
        yield dataclasses.replace(call, diff=(path,))
    for path in chosen:
        yield dataclasses.replace(call, diff=tuple(other for other in chosen if other != path))


def smaller_shapes(call: Call) -> Iterator[Call]:
    """An axis length made 1, 2 or half as long wherever it occurs, in whole-number arguments too or not; axes gone."""
    tensors = _tensors(call)
    lengths = sorted({length for _, tensor in tensors for length in tensor.shape if length > 1}, reverse=True)
    for length in lengths:
        for shorter in sorted({1, 2, length // 2} - {length}):
            if shorter < length:
                yield _with_length(call, length, shorter, scalars=False)
                yield _with_length(call, length, shorter, scalars=True)
    for path, tensor in tensors:
        for axis, length in enumerate(tensor.shape):
            if length > 1:
                yield from _attempt(replace, call, path, _cut(tensor, axis, 1))
                yield from _attempt(replace, call, path, _cut(tensor, axis, length - 1))
    most = max((len(tensor.shape) for _, tensor in tensors), default=0)
    if most:
        yield _changed(call, lambda t: _dropped(t, 0) if len(t.shape) == most else t)
        yield _changed(call, lambda t: _dropped(t, 0) if t.shape else t)
    for path, tensor in tensors:
        for axis in range(len(tensor.shape)):
            yield from _attempt(replace, call, path, _dropped(tensor, axis))


def _with_length(call: Call, length: int, shorter: int, scalars: bool) -> Call:
    def cut(tensor: TensorArgument) -> TensorArgument:
        for axis, size in enumerate(tensor.shape):
            if size == length:
                tensor = _cut(tensor, axis, shorter)
        return tensor

    changed = _changed(call, cut)
    if scalars:
        for path, node in walk(call):
            if isinstance(node, int) and not isinstance(node, bool) and node == length:
                changed = replace(changed, path, shorter)
    return changed


def _cut(tensor: TensorArgument, axis: int, length: int) -> TensorArgument:
    """The first entries along an axis; a seeded tensor too large to write down is drawn anew."""
    shape = (*tensor.shape[:axis], length, *tensor.shape[axis + 1 :])
    content = tensor.content
    if isinstance(content, Fill) or (isinstance(content, Seeded) and math.prod(tensor.shape) > MAX_WRITTEN):
        return TensorArgument(shape, tensor.dtype, content, _suiting(tensor))
    return _written(materialise(tensor).take(range(length), axis), tensor)


def _dropped(tensor: TensorArgument, axis: int) -> TensorArgument:
    """Without an axis: the first of what lay along it."""
    shape = (*tensor.shape[:axis], *tensor.shape[axis + 1 :])
    if not tensor.shape[axis] or isinstance(tensor.content, Fill) or math.prod(tensor.shape) > MAX_WRITTEN:
        content = Fill(_one(tensor.dtype)) if not tensor.shape[axis] else tensor.content
        return TensorArgument(shape, tensor.dtype, content, CONTIGUOUS)
    array = materialise(tensor).take(0, axis)
    return dataclasses.replace(_written(np.asarray(array), tensor), layout=CONTIGUOUS)


def _suiting(tensor: TensorArgument) -> Layout:
    return CONTIGUOUS if tensor.layout.kind == "explicit" else tensor.layout


def plainer_dtypes(call: Call) -> Iterator[Call]:
    """Everything in double precision, complex numbers made real, int64; all at once, then one tensor at a time."""
    wider: list[Change] = [_real, _double, lambda t: _double(_real(t))]
    for change in wider:
        yield _changed(call, change)
    for path, tensor in _tensors(call):
        for change in wider:
            yield from _attempt(replace, call, path, change(tensor))


def in_double(call: Call) -> Call | None:
    """The call with every floating and complex tensor in double precision; None if they are already."""
    narrow = [tensor for _, tensor in _tensors(call) if _floating_double(tensor) is not tensor]
    return _changed(call, _floating_double) if narrow else None


def _floating_double(tensor: TensorArgument) -> TensorArgument:
    return _double(tensor) if DTYPES[tensor.dtype].family in (FLOATING, COMPLEX) else tensor


def _double(tensor: TensorArgument) -> TensorArgument:
    family = DTYPES[tensor.dtype].family
    if family in (FLOATING, COMPLEX):
        dtype = "float64" if family == FLOATING else "complex128"
        if dtype == tensor.dtype:
            return tensor
        if isinstance(tensor.content, Seeded) and math.prod(tensor.shape) > MAX_WRITTEN:
            return dataclasses.replace(tensor, dtype=dtype)
        return _written(materialise(tensor), dataclasses.replace(tensor, dtype=dtype))
    return tensor if family == BOOL else dataclasses.replace(tensor, dtype="int64")


def _real(tensor: TensorArgument) -> TensorArgument:
    dtype = DTYPES[tensor.dtype]
    if dtype.family != COMPLEX or dtype.real is None:
        return tensor
    real = dataclasses.replace(tensor, dtype=dtype.real)
    if isinstance(tensor.content, Seeded) and math.prod(tensor.shape) > MAX_WRITTEN:
        return real
    return _written(materialise(tensor).real, real)


def plainer_layouts(call: Call) -> Iterator[Call]:
    """Every tensor contiguous, then one after the other."""
    yield _changed(call, _contiguous)
    for path, tensor in _tensors(call):
        if tensor.layout.kind != "contiguous":
            yield from _attempt(replace, call, path, _contiguous(tensor))


def _contiguous(tensor: TensorArgument) -> TensorArgument:
    return dataclasses.replace(tensor, layout=CONTIGUOUS)


def plainer_values(call: Call) -> Iterator[Call]:
    """Entries written down; all alike; whole numbers; fewer digits; then in halves, quarters, and one by one."""
    yield _changed(call, _as_values)
    for path, tensor in _tensors(call):
        for plain in _plain_contents(tensor):
            yield from _attempt(replace, call, path, plain)
    for path, tensor in _tensors(call):
        for plain in _entry_by_entry(tensor):
            yield from _attempt(replace, call, path, plain)


def _plain_contents(tensor: TensorArgument) -> Iterator[TensorArgument]:
    if DTYPES[tensor.dtype].family in (FLOATING, COMPLEX):
        fills: Sequence[Number] = (1.0, 0.5, 0.0, 2.0, -1.0)
    else:
        fills = (0, 1) if DTYPES[tensor.dtype].family != BOOL else (True, False)
    for fill in fills:
        yield dataclasses.replace(tensor, content=Fill(fill))
    if math.prod(tensor.shape) > MAX_WRITTEN:
        return
    written = _as_values(tensor)
    yield written
    for digits in (0, 1, 2, 3):
        yield _mapped(written, lambda value, digits=digits: _rounded(value, digits))  # type: ignore[misc]


def _entry_by_entry(tensor: TensorArgument) -> Iterator[TensorArgument]:
    content = tensor.content
    if not isinstance(content, Values) or len(content.flat) > MAX_WRITTEN:
        return
    size = len(content.flat)
    chunk = (size + 1) // 2
    while chunk >= 1 and (chunk > 1 or size <= MAX_SINGLE):
        for start in range(0, size, chunk):
            for value in (1, 0, None):
                for digits in (0, 1, 2) if value is None else (0,):
                    flat = list(content.flat)
                    for i in range(start, min(start + chunk, size)):
                        flat[i] = _rounded(flat[i], digits) if value is None else _like(flat[i], value)
                    yield dataclasses.replace(tensor, content=Values(tuple(flat)))
        chunk = chunk // 2 if chunk > 1 else 0


def plainer_scalars(call: Call) -> Iterator[Call]:
    """Whole-number and floating arguments outside tensors nearer to 0 and 1, with fewer digits."""
    for path, node in walk(call):
        if isinstance(node, bool):
            continue
        if isinstance(node, int):
            for smaller in (1, 0, 2, node // 2):
                yield from _attempt(replace, call, path, smaller)
        elif isinstance(node, float):
            for plain in (1.0, 0.5, 0.0, 2.0, *(_rounded(node, digits) for digits in (0, 1, 2))):
                yield from _attempt(replace, call, path, plain)
        elif isinstance(node, (ListArgument, TupleArgument)) and len(node.items) > 1:
            yield from _attempt(replace, call, path, type(node)(node.items[:1]))


PASSES: tuple[Pass, ...] = (
    fewer_arguments,
    smaller_shapes,
    fewer_differentiated,
    plainer_layouts,
    plainer_dtypes,
    plainer_values,
    plainer_scalars,
)


def _tensors(call: Call) -> list[tuple[str, TensorArgument]]:
    return [(path, node) for path, node in walk(call) if isinstance(node, TensorArgument)]


def _changed(call: Call, change: Change) -> Call:
    """The call with every tensor changed."""
    for path, tensor in _tensors(call):
        changed = change(tensor)
        if changed is not tensor:
            call = replace(call, path, changed)
    return call


def _attempt(change: Callable[..., Call], call: Call, path: str, *argument: Argument) -> Iterator[Call]:
    """The changed call, if the change is possible at all."""
    try:
        yield change(call, path, *argument)
    except CallError:
        return


def _as_values(tensor: TensorArgument) -> TensorArgument:
    if isinstance(tensor.content, Seeded) and math.prod(tensor.shape) <= MAX_WRITTEN:
        return _written(materialise(tensor), tensor)
    return tensor


def _written(array: np.ndarray, tensor: TensorArgument) -> TensorArgument:
    """The entries of an array as a tensor of another's dtype and, where it suits, layout."""
    flat = tuple(array.reshape(-1).tolist())
    return TensorArgument(array.shape, tensor.dtype, Values(flat), _suiting(tensor))


def _mapped(tensor: TensorArgument, change: Callable[[Number], Number]) -> TensorArgument:
    if not isinstance(tensor.content, Values):
        return tensor
    return dataclasses.replace(tensor, content=Values(tuple(map(change, tensor.content.flat))))


def _rounded(value: Number, digits: int) -> Number:
    """A whole number for 0 digits, else that many significant ones; what is not finite stays."""
    if isinstance(value, (bool, int)):
        return value
    if isinstance(value, complex):
        real, imaginary = _rounded(value.real, digits), _rounded(value.imag, digits)
        return complex(float(real.real), float(imaginary.real))
    if not math.isfinite(value):
        return value
    return float(round(value)) if digits == 0 else float(f"{value:.{digits - 1}e}")


def _like(value: Number, number: int) -> Number:
    return type(value)(number)


def _one(dtype: str) -> Number:
    return {BOOL: True, FLOATING: 1.0, COMPLEX: 1.0}.get(DTYPES[dtype].family, 1)
