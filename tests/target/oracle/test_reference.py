"""Extended-precision derivatives of elementary functions, against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_nabla.target.oracle.reference import FUNCTIONS, Series


def derivatives(name: str, x: float) -> tuple[float, float]:
    with np.errstate(all="ignore"):
        series = FUNCTIONS[name](Series.variable(np.array([x])))
    return float(series.c[1][0]), float(2 * series.c[2][0])


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@given(x=st.floats(0.1, 0.9))
def test_second_derivative_is_the_slope_of_the_first(name: str, x: float) -> None:
    h = 1e-4
    before, after = derivatives(name, x - h)[0], derivatives(name, x + h)[0]
    _, second = derivatives(name, x)
    assert math.isclose((after - before) / (2 * h), second, rel_tol=1e-4, abs_tol=1e-4)


def test_tails_that_float64_cannot_difference() -> None:
    assert math.isclose(derivatives("sigmoid", 38.0)[0], math.exp(-38.0), rel_tol=1e-12)
    assert math.isclose(derivatives("sigmoid", -38.0)[0], math.exp(-38.0), rel_tol=1e-12)
    assert math.isclose(derivatives("expm1", -38.0)[0], math.exp(-38.0), rel_tol=1e-12)
    assert math.isclose(derivatives("silu", 41.0)[1], -39 * math.exp(-41.0), rel_tol=1e-9)
    assert math.isclose(derivatives("i0", 1e-290)[0], 5e-291, rel_tol=1e-12)
    assert math.isclose(derivatives("exp2", 1024.25)[0], math.log(2) * 2.0**1023 * 2**1.25, rel_tol=1e-12)
    assert derivatives("tanh", 20.0)[0] > 0
