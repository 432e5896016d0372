"""The kinds of seeded content: which dtypes and shapes each one suits, and the range drawn from by default."""

from __future__ import annotations

from math import prod
from typing import Dict, FrozenSet, Tuple, Union

from .dtypes import BOOL, COMPLEX, FLOATING, INTEGER, Dtype
from .errors import CallError

KINDS: Dict[str, FrozenSet[str]] = {
    "uniform": frozenset((BOOL, INTEGER, FLOATING, COMPLEX)),
    "normal": frozenset((FLOATING, COMPLEX)),
    "integer": frozenset((INTEGER, FLOATING, COMPLEX)),
    "sorted": frozenset((INTEGER, FLOATING)),
    "spd": frozenset((FLOATING, COMPLEX)),
    "symmetric": frozenset((BOOL, INTEGER, FLOATING, COMPLEX)),
    "lower": frozenset((BOOL, INTEGER, FLOATING, COMPLEX)),
    "upper": frozenset((BOOL, INTEGER, FLOATING, COMPLEX)),
    "orthogonal": frozenset((FLOATING, COMPLEX)),
    "permutation": frozenset((INTEGER, FLOATING, COMPLEX)),
    "distinct": frozenset((INTEGER, FLOATING, COMPLEX)),
    "repeated": frozenset((BOOL, INTEGER, FLOATING, COMPLEX)),
}
"""Every kind with the dtype families it is defined for; `materialise` says what each one is."""

MATRICES = frozenset(("spd", "symmetric", "lower", "upper", "orthogonal"))
SQUARE = frozenset(("spd", "symmetric"))

MAX_SIDE = 512
"""The longest side of an spd or orthogonal matrix: they are built in the time of its cube."""


def check_kind(kind: object, shape: Tuple[int, ...], dtype: Dtype, path: str) -> None:
    """Refuse an unknown kind, and one that the dtype or the shape does not suit."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise CallError(path, f"unknown kind {kind!r} (known: {', '.join(KINDS)})")
    if dtype.family not in KINDS[kind]:
        raise CallError(path, f"{kind} is not defined for {dtype.name}")
    if kind in MATRICES and len(shape) < 2:
        raise CallError(path, f"{kind} needs at least 2 dimensions, not {len(shape)}")
    if kind in SQUARE and shape[-1] != shape[-2]:
        raise CallError(path, f"{kind} needs square matrices, not {shape[-2]}×{shape[-1]}")
    if kind in ("spd", "orthogonal") and max(shape[-2:]) > MAX_SIDE:
        raise CallError(path, f"{kind} matrices may have sides up to {MAX_SIDE}, not {max(shape[-2:])}")
    if kind in ("sorted", "permutation") and not shape:
        raise CallError(path, f"{kind} needs at least 1 dimension")
    if kind == "permutation" and shape[-1] - 1 > dtype.highest:
        raise CallError(path, f"a permutation of {shape[-1]} does not fit in {dtype.name}")


def default_range(kind: str, shape: Tuple[int, ...], dtype: Dtype) -> Tuple[Union[int, float], Union[int, float]]:
    """[0, 1) for real numbers; for whole ones [0, 10), or as many as must be distinct."""
    if dtype.family != INTEGER:
        return (0.0, 10.0) if kind == "integer" else (0.0, 1.0)
    return (0, max(prod(shape), 1)) if kind == "distinct" else (0, 10)
