"""The values and sizes where operators break: zeros, domain edges, tails, overflow thresholds, vector widths."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from .randomness import pick

# Kinks at 0 and ±1, removable singularities, halves on which rounding ties, poles of tan and gamma.
EDGES: tuple[float, ...] = (
    1.0, -1.0, 0.5, -0.5, 1.5, 2.0, -2.0, 2.5, 3.0, -3.0, 4.0, 6.0, -6.0,
    math.pi, -math.pi, math.pi / 2, -math.pi / 2, math.e, -1 / math.e, 1 - 2**-53, 1 + 2**-52,
)  # fmt: skip

# Where tanh (19.06), erf, sigmoid and softplus (log 2**53 = 36.7) saturate, and past it.
SATURATED: tuple[float, ...] = (
    9.0, -9.0, 19.5, -19.5, 20.0, -20.0, 26.5, -26.5, 38.0, -38.0, 41.0, -41.0, 88.0, -88.0, 104.0, -104.0,
)  # fmt: skip

# Where exp, exp2 and gamma overflow or underflow; then square roots of the greatest values, and these.
THRESHOLDS: dict[str, tuple[float, ...]] = {
    "float64": (709.8, -709.8, 710.5, -745.2, 1024.25, 1023.75, -1074.5, 171.7, 1e154, 1.4e154, 1e308, -1e308, 1.7e308),
    "float32": (88.75, -88.75, -103.98, 128.25, 127.75, -149.5, 35.05, 1e19, 2e19, 1e38, -1e38, 3.4e38),
    "float16": (11.1, -11.1, -17.4, 16.25, 15.75, -24.5, 8.3, 255.0, 257.0, 6e4, -6e4, 65504.0),
    "bfloat16": (88.5, -88.5, -93.0, 128.0, 127.5, -134.0, 34.0, 1e19, 2e19, 1e38, -1e38, 3.3e38),
}
TINY: dict[str, tuple[float, ...]] = {
    "float64": (2e-16, -2e-16, 1e-8, -1e-8, 1e-154, 1e-290, 2.3e-308, 5e-324, -5e-324),
    "float32": (1e-7, -1e-7, 3e-4, -3e-4, 1e-19, 1e-37, 1.2e-38, 1.5e-45, -1.5e-45),
    "float16": (1e-3, 2e-3, -2e-3, 3e-2, 2.5e-4, 6.2e-5, 6e-8, -6e-8),
    "bfloat16": (8e-3, -8e-3, 9e-2, 1e-19, 1e-37, 1.2e-38, 1e-40),
}
REAL_OF = {"complex128": "float64", "complex64": "float32"}
NON_FINITE: tuple[float, ...] = (math.inf, -math.inf, math.nan)

INTEGERS: tuple[int, ...] = (0, 1, -1, 2, -2, 3, -3, 4, 5, 7, 8, 10, 16, -16, 31, 32, 63, 64, 127, -128)

# Around the lanes of SSE, AVX2 and AVX-512 vectors (4, 8 and 16 floats) and their doubles; empty and single ones.
SIZES: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33)


def special_real(dtype: str) -> float:
    """A special value of `dtype`, exactly zero most often of all; of a complex dtype, one for its parts."""
    real = REAL_OF.get(dtype, dtype)
    drawn = random.random()
    if drawn < 0.3:
        return 0.0 if drawn < 0.25 else -0.0
    if drawn < 0.5:
        return pick(EDGES)
    if drawn < 0.7:
        return pick(SATURATED)
    if drawn < 0.85:
        return pick(THRESHOLDS.get(real, SATURATED))
    if drawn < 0.97:
        return pick(TINY.get(real, EDGES))
    return pick(NON_FINITE)


def special_integer() -> int:
    return 0 if random.random() < 0.25 else pick(INTEGERS)


def boundary_size(present: Sequence[int], largest: int) -> int:
    """A dimension: one the call has already (so that sizes coincide), or a boundary size up to `largest`."""
    if present and random.random() < 0.3:
        return pick(present)
    allowed = [size for size in SIZES if size <= largest]
    # Small sizes break rules, large ones cross vector widths; half of the draws are small.
    return pick(allowed[:5]) if random.random() < 0.5 else pick(allowed)
