"""Live Python and torch objects as the arguments of a call."""

from __future__ import annotations

import zlib
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, cast

import numpy as np
import torch

from evo_nabla.call import (
    Argument,
    Call,
    Content,
    DtypeArgument,
    Init,
    Layout,
    ListArgument,
    MappingArgument,
    Number,
    ReferenceArgument,
    SameArgument,
    Seeded,
    SliceArgument,
    TensorArgument,
    TupleArgument,
    Values,
)
from evo_nabla.call.dtypes import DTYPES, differentiable
from evo_nabla.call.layouts import KINDS, strides_of

from .names import PublicNames

# Enough digits to keep values apart and matrices at their rank, tried in this order; None keeps all.
DIGITS = (4, 6, 9, None)
# Up to here values are written out even where a seeded draw would do.
FEW_ELEMENTS = 64
# Ranks of wider matrices cost more than the digits that they save.
RANK_SIDE = 64


class UnencodableError(ValueError):
    """The object has no form in a call; the message names its kind."""


class Encoder:
    """Turns live objects into arguments; `rounded` shortens floating values, `drawn` large plain tensors."""

    def __init__(self, names: PublicNames, rounded: bool = False, drawn: bool = False) -> None:
        self._names = names
        self._rounded = rounded
        self._drawn = drawn
        self._paths: Dict[int, str] = {}
        self._requiring: List[str] = []
        self._floating: List[str] = []

    def call(
        self,
        api: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        init: Optional[Tuple[Sequence[Any], Mapping[str, Any]]] = None,
        origin: str = "",
    ) -> Call:
        """A whole call. The same tensor object twice becomes one tensor and a reference to it; where only some floating
        tensors require gradients, `diff` says which. Raises UnencodableError."""
        self._paths, self._requiring, self._floating = {}, [], []
        constructed = None
        if init is not None:
            constructed = Init(self._positional(init[0], "init.args"), self._keywords(init[1], "init.kwargs"))
        self._requiring, self._floating = [], []  # constructor arguments are not differentiated
        positional, keywords = self._positional(args, "args"), self._keywords(kwargs, "kwargs")
        partial = bool(self._requiring) and self._requiring != self._floating
        return Call(
            api,
            positional,
            keywords,
            constructed,
            tuple(self._requiring) if partial else None,
            (("x-from", origin),) if origin else (),
        )

    def argument(self, value: Any, path: str = "") -> Argument:
        """One object; `path` is where it stands in the call. Raises UnencodableError."""
        if value is None or isinstance(value, (bool, int, float, complex, str)):
            return self._scalar(value)
        for kind, encode in self._by_type():
            if isinstance(value, kind):
                return encode(value, path)
        reference = "builtins.Ellipsis" if value is Ellipsis else self._names.path(value)
        if reference is None:
            raise UnencodableError(type(value).__name__)
        return ReferenceArgument(reference)

    def _by_type(self) -> Tuple[Tuple[Any, Callable[[Any, str], Argument]], ...]:
        return (
            (torch.Tensor, self._tensor),
            (
                tuple,
                lambda value, path: TupleArgument(self._positional(value, path)),
            ),  # torch.Size and named tuples too
            ((list, range), lambda value, path: ListArgument(self._positional(value, path))),
            (Mapping, lambda value, path: MappingArgument(self._keywords(value, path))),
            (torch.dtype, lambda value, path: self._dtype(value)),
            (slice, lambda value, path: SliceArgument(value.start, value.stop, value.step)),
            (torch.device, lambda value, path: self._device(value)),
            (np.generic, lambda value, path: self._scalar(value.item())),
        )

    def _scalar(self, value: Any) -> Argument:
        """The plain value: subclasses such as an enum's members lose what they add."""
        kinds: Tuple[Any, ...] = (bool, int, float, complex, str)
        plain = next((kind for kind in kinds if isinstance(value, kind)), None)
        return None if plain is None else cast(Argument, plain(value))

    def _positional(self, values: Sequence[Any], path: str) -> Tuple[Argument, ...]:
        return tuple(self.argument(value, f"{path}.{place}") for place, value in enumerate(values))

    def _keywords(self, values: Mapping[Any, Any], path: str) -> Tuple[Tuple[str, Argument], ...]:
        if not all(isinstance(name, str) for name in values):
            raise UnencodableError("dict with keys other than text")
        return tuple((name, self.argument(values[name], f"{path}.{name}")) for name in sorted(values))

    def _dtype(self, value: torch.dtype) -> Argument:
        name = dtype_name(value)
        if name not in DTYPES:
            raise UnencodableError(name)
        return DtypeArgument(name)

    def _device(self, value: torch.device) -> Argument:
        if value.type != "cpu":
            raise UnencodableError("device " + value.type)
        return "cpu"

    def _tensor(self, tensor: torch.Tensor, path: str) -> Argument:
        if id(tensor) in self._paths:
            return SameArgument(self._paths[id(tensor)])
        name = dtype_name(tensor.dtype)
        if (
            tensor.layout is not torch.strided
            or tensor.device.type != "cpu"
            or tensor.is_quantized
            or name not in DTYPES
        ):
            raise UnencodableError(f"{tensor.layout} tensor of {name} on {tensor.device.type}")
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or getattr(tensor, "is_nested", False):
            raise UnencodableError(type(tensor).__name__ + ", a subclass of Tensor")
        self._paths[id(tensor)] = path
        if differentiable(name):
            self._floating.append(path)
            if tensor.requires_grad:
                self._requiring.append(path)
        shape = tuple(tensor.shape)
        return TensorArgument(shape, name, self._content(elements_of(tensor), path), layout_of(tensor))

    def _content(self, elements: np.ndarray[Any, Any], path: str) -> Content:
        if self._drawn and elements.size > FEW_ELEMENTS:
            drawn = draw_like(elements, path)
            if drawn is not None:
                return drawn
        if self._rounded and elements.dtype.kind in "fc":
            elements = shortest(elements)
        return Values(tuple(elements.reshape(-1).tolist()))


def dtype_name(dtype: torch.dtype) -> str:
    """float32 for torch.float32."""
    return str(dtype).partition(".")[2]


def elements_of(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """The logical values of a tensor; the types that NumPy lacks come as the float64 or complex64 that holds them."""
    plain = tensor.detach().resolve_conj().resolve_neg()
    if plain.dtype == torch.complex32:
        plain = plain.to(torch.complex64)
    elif plain.is_floating_point() and plain.dtype not in (torch.float16, torch.float32):
        plain = plain.to(torch.float64)
    array: np.ndarray[Any, Any] = plain.numpy()
    return array


def layout_of(tensor: torch.Tensor) -> Layout:
    """The named layout that has the tensor's strides, else the strides themselves."""
    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    if tensor.is_contiguous():
        return Layout()
    for kind in KINDS:
        suits = kind != "channels_last" or len(shape) in (4, 5)
        if suits and strides_of(Layout(kind), shape) == (strides, 0):
            return Layout(kind)
    return Layout("explicit", strides, 0)


def shortest(elements: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements with as few digits as keep distinct values distinct and every matrix at its rank.

    Triangles, symmetry and exact values such as 0.5 or 1 survive any rounding of the entries one by one.
    """
    exact = float(np.finfo(elements.dtype).eps)
    for digits in DIGITS:
        if digits is None:
            break
        rounded = _significant(elements, digits)
        if _as_distinct(elements, rounded) and _ranks(elements, exact) == _ranks(rounded, exact):
            return rounded
    return elements


def draw_like(elements: np.ndarray[Any, Any], path: str) -> Optional[Seeded]:
    """A uniform draw over the same range; None for whatever has structure: zeros, ties, order, symmetry, lost rank."""
    if elements.dtype.kind not in "fc" or not np.isfinite(elements).all():
        return None
    parts = np.stack([elements.real, elements.imag]) if elements.dtype.kind == "c" else elements
    if _repeats(elements) or _ascends(elements) or _mirrored(elements):
        return None
    if any(rank < min(elements.shape[-2:]) for rank in _ranks(elements, float(np.finfo(elements.dtype).eps))):
        return None
    low, high = (float(f"{float(bound):.3g}") for bound in (parts.min(), parts.max()))
    if not low < high:
        return None
    return Seeded(zlib.crc32(f"{path}:{elements.shape}".encode()) % 10**6, low, high)


def _repeats(elements: np.ndarray[Any, Any]) -> bool:
    """Zeros of a triangle or a mask, ties: fewer distinct values than a draw has (narrow dtypes repeat by nature)."""
    distinct = len(np.unique(elements))
    return bool(distinct < 0.9 * elements.size) and bool((elements == 0).any() or distinct < elements.size // 4)


def _ascends(elements: np.ndarray[Any, Any]) -> bool:
    return elements.ndim > 0 and elements.shape[-1] > 2 and bool((np.diff(elements.real, axis=-1) >= 0).all())


def _mirrored(elements: np.ndarray[Any, Any]) -> bool:
    """Square matrices that are symmetric or Hermitian."""
    if elements.ndim < 2 or elements.shape[-1] != elements.shape[-2] or elements.shape[-1] < 2:
        return False
    mirror = np.swapaxes(elements, -1, -2)
    return bool(np.allclose(elements, mirror) or np.allclose(elements, mirror.conj()))


def _significant(elements: np.ndarray[Any, Any], digits: int) -> np.ndarray[Any, Any]:
    pattern = f"{{:.{digits}g}}"

    def rounded(number: Number) -> Number:
        if isinstance(number, complex):
            return complex(float(pattern.format(number.real)), float(pattern.format(number.imag)))
        return float(pattern.format(number))

    wide = np.complex128 if elements.dtype.kind == "c" else np.float64
    flat = [rounded(number) for number in elements.reshape(-1).tolist()]
    return np.array(flat, dtype=wide).reshape(elements.shape)


def _as_distinct(elements: np.ndarray[Any, Any], rounded: np.ndarray[Any, Any]) -> bool:
    return len(np.unique(elements)) == len(np.unique(rounded))


def _ranks(elements: np.ndarray[Any, Any], eps: float) -> List[int]:
    """Rank, at a relative precision of `eps`, of every matrix in a stack of small, finite ones; empty for the rest."""
    if elements.ndim < 2 or elements.size == 0 or not 1 < min(elements.shape[-2:]) <= RANK_SIDE:
        return []
    if not np.isfinite(elements).all():
        return []
    wide = elements.astype(np.complex128 if elements.dtype.kind == "c" else np.float64)
    values = np.linalg.svd(wide, compute_uv=False)
    smallest = 2 * max(elements.shape[-2:]) * eps * values[..., :1]
    ranks: np.ndarray[Any, Any] = (values > smallest).sum(axis=-1)
    return [int(rank) for rank in ranks.reshape(-1)]
