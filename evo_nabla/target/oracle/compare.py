"""Tolerances and the dimensionless discrepancy: a difference over what it is allowed."""

from __future__ import annotations

import math
from typing import NamedTuple, Union

import numpy as np

Real = Union[float, np.ndarray]


class Precision(NamedTuple):
    """What a dtype allows: rounding unit, largest and smallest normal value, relative tolerance of a derivative."""

    eps: float
    largest: float
    smallest: float
    tolerance: float


# Relative tolerances of derivatives: float64 is judged on its own; the others against the float64 result of the same
# rounded inputs, with about √ε to ε^⅓ of room for the roundings inside an operator.
PRECISIONS: dict[str, Precision] = {
    "float64": Precision(2.0**-52, 1.7976931348623157e308, 2.0**-1022, 1e-8),
    "float32": Precision(2.0**-23, 3.4028234663852886e38, 2.0**-126, 2e-3),
    "float16": Precision(2.0**-10, 65504.0, 2.0**-14, 5e-2),
    "bfloat16": Precision(2.0**-7, 3.3895313892515355e38, 2.0**-126, 2e-1),
    "float8_e4m3fn": Precision(2.0**-3, 448.0, 2.0**-6, 1.0),
    "float8_e5m2": Precision(2.0**-2, 57344.0, 2.0**-14, 1.0),
    "float8_e4m3fnuz": Precision(2.0**-3, 240.0, 2.0**-7, 1.0),
    "float8_e5m2fnuz": Precision(2.0**-2, 57344.0, 2.0**-15, 1.0),
}
PRECISIONS["complex128"] = PRECISIONS["float64"]
PRECISIONS["complex64"] = PRECISIONS["float32"]
PRECISIONS["complex32"] = PRECISIONS["float16"]

# Two analytic modes in float64 differ by their roundings, which a sum's terms bound.
ANALYTIC = 1e-8
ANALYTIC_OF_TERMS = 1e-12
# An analytic mode against differences: their error bar comes on top.
NUMERICAL = 1e-7


def discrepancy(a: Real, b: Real, relative: float, error: Real = 0.0) -> np.ndarray:
    """|a − b| over relative · max(|a|, |b|) + error, entry by entry.

    Equal values (two NaNs, two infinities of one sign) give 0; a non-finite against a finite one gives infinity.
    """
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    result = np.abs(a - b) / (relative * np.maximum(np.abs(a), np.abs(b)) + error)
    equal = (a == b) | (np.isnan(a) & np.isnan(b))
    result = np.where(equal, 0.0, result)
    return np.where(np.isnan(result), np.inf, result)


def gap(a: float, b: float, relative: float, error: float = 0.0) -> float:
    """The same for two numbers, an order of magnitude faster."""
    if a == b or (a != a and b != b):
        return 0.0
    allowed = relative * max(abs(a), abs(b)) + error
    found = abs(a - b) / allowed if allowed else math.inf
    return math.inf if found != found else found


def largest(values: np.ndarray) -> float:
    """The largest entry; 0 for none."""
    return float(np.max(values)) if values.size else 0.0
