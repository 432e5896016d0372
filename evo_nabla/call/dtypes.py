"""Element types: their names, families, partners, limits, storage in NumPy, and rounding to the types NumPy lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple

import numpy as np

BOOL = "bool"
INTEGER = "integer"
FLOATING = "floating"
COMPLEX = "complex"


@dataclass(frozen=True)
class Dtype:
    """One element type.

    `bits` is the width of an element, `storage` the NumPy type that holds its values, `real` and `complex` the partner
    in the other family (None where there is none; a real type's `real` is itself).
    `lowest` and `highest` bound the finite values. For floating types and the parts of complex ones: `precision` counts
    significand bits including the hidden one, `eps` = 2**(1 - precision), `tiny` is the smallest normal number,
    `infinite` whether infinities exist (an overflow is NaN otherwise), `signed_zero` whether -0.0 does.
    """

    name: str
    family: str
    bits: int
    storage: str
    lowest: float
    highest: float
    real: Optional[str] = None
    complex: Optional[str] = None
    precision: int = 0
    eps: float = 0.0
    tiny: float = 0.0
    infinite: bool = True
    signed_zero: bool = True


def _integer(name: str) -> Dtype:
    limits = np.iinfo(name)
    return Dtype(name, INTEGER, limits.bits, name, int(limits.min), int(limits.max))


def _floating(
    name: str, bits: int, storage: str, precision: int, exponent: int, highest: float, partner: Optional[str],
    infinite: bool = True, signed_zero: bool = True,
) -> Dtype:  # fmt: skip
    """`exponent` is that of the smallest normal number."""
    return Dtype(
        name, FLOATING, bits, storage, -highest, highest, name, partner, precision, 2.0 ** (1 - precision),
        2.0**exponent, infinite, signed_zero,
    )  # fmt: skip


def _complex(name: str, part: Dtype, storage: str) -> Dtype:
    return Dtype(
        name, COMPLEX, 2 * part.bits, storage, part.lowest, part.highest, part.name, name, part.precision, part.eps,
        part.tiny,
    )  # fmt: skip


def _table() -> Dict[str, Dtype]:
    # float8 formats: Micikevicius et al., arXiv 2209.05433 (e4m3fn, e5m2); Noune et al., arXiv 2206.02915 (fnuz).
    half = _floating("float16", 16, "float16", 11, -14, 65504.0, "complex32")
    single = _floating("float32", 32, "float32", 24, -126, float(np.finfo("float32").max), "complex64")
    double = _floating("float64", 64, "float64", 53, -1022, float(np.finfo("float64").max), "complex128")
    rows = [
        Dtype("bool", BOOL, 8, "bool", 0, 1),
        *map(_integer, ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")),
        half,
        single,
        double,
        _floating("bfloat16", 16, "float32", 8, -126, float.fromhex("0x1.fep127"), "complex64"),
        _floating("float8_e4m3fn", 8, "float32", 4, -6, 448.0, None, infinite=False),
        _floating("float8_e5m2", 8, "float32", 3, -14, 57344.0, None),
        _floating("float8_e4m3fnuz", 8, "float32", 4, -7, 240.0, None, infinite=False, signed_zero=False),
        _floating("float8_e5m2fnuz", 8, "float32", 3, -15, 57344.0, None, infinite=False, signed_zero=False),
        _complex("complex32", half, "complex64"),
        _complex("complex64", single, "complex64"),
        _complex("complex128", double, "complex128"),
    ]
    return {row.name: row for row in rows}


DTYPES: Dict[str, Dtype] = _table()
NAMES: Tuple[str, ...] = tuple(DTYPES)


def differentiable(name: str) -> bool:
    """Whether tensors of this dtype have gradients: the floating and complex ones."""
    return DTYPES[name].family in (FLOATING, COMPLEX)


def round_to(array: np.ndarray[Any, Any], name: str) -> np.ndarray[Any, Any]:
    """`array` rounded to the values of dtype `name` (to nearest, ties to even), in that dtype's storage type.

    Overflow gives infinity, or NaN where the dtype has none; NaN is always the positive quiet one.
    Real to complex is exact; complex to real is not offered.
    """
    dtype = DTYPES[name]
    array = np.asarray(array)
    if dtype.family == COMPLEX:
        rounded = np.empty(array.shape, dtype.storage)
        part = dtype.real or "float64"
        rounded.real = round_to(array.real, part)
        rounded.imag = round_to(array.imag, part)
        return rounded
    if dtype.family != FLOATING:
        return array.astype(dtype.storage)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if dtype.storage != name:
            return _round_by_hand(array.astype(np.float64), dtype).astype(dtype.storage)
        return _one_nan(array.astype(dtype.storage))


def _round_by_hand(array: np.ndarray[Any, Any], dtype: Dtype) -> np.ndarray[Any, Any]:
    """float64 rounded to `dtype.precision` bits with gradual underflow; every step but the rint is exact."""
    lowest_exponent = int(np.frexp(dtype.tiny)[1])
    exponent = np.maximum(np.frexp(array)[1], lowest_exponent) - dtype.precision
    rounded = np.asarray(np.ldexp(np.rint(np.ldexp(array, -exponent)), exponent))
    over = np.abs(rounded) > dtype.highest
    rounded[over] = np.copysign(np.inf, rounded[over]) if dtype.infinite else np.nan
    if not dtype.signed_zero:
        rounded[rounded == 0] = 0.0
    return _one_nan(rounded)


def _one_nan(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array[np.isnan(array)] = np.nan
    return array
