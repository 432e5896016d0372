"""Differences with error bars: the true derivative lies within, and kinks, edges and noise are recognised."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_nabla.target.oracle.numerical import ladder, noise_of, quick, sides

SMOOTH: dict[str, tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]] = {
    "sin": (np.sin, np.cos),
    "exp": (np.exp, np.exp),
    "cube": (lambda x: x**3, lambda x: 3 * x**2),
    "rational": (lambda x: 1 / (1 + x * x), lambda x: -2 * x / (1 + x * x) ** 2),
}
points = st.lists(st.floats(-3, 3), min_size=1, max_size=5)


@pytest.mark.parametrize("name", sorted(SMOOTH))
@pytest.mark.parametrize("method", [quick, ladder])
@given(x=points)
def test_the_error_bar_holds_the_derivative(name: str, method: Callable[..., object], x: list[float]) -> None:
    function, derivative = SMOOTH[name]
    at, along = np.array(x), np.ones(len(x))
    estimate = method(function, at, along, at.size)
    allowed = 4 * estimate.error + 1e-10 * np.abs(derivative(at))  # type: ignore[attr-defined]
    assert np.all(np.abs(estimate.value - derivative(at)) <= allowed)  # type: ignore[attr-defined]
    assert np.all(estimate.error <= 1e-6 * (1 + np.abs(derivative(at))))  # type: ignore[attr-defined]


@given(exponent=st.integers(-250, 150))
def test_relative_steps_see_tiny_and_huge_gradients(exponent: int) -> None:
    x = np.array([1.7 * 10.0**exponent])
    estimate = quick(lambda t: t * 3.0, x, x.copy(), 1)
    assert abs(estimate.value[0] / (3.0 * x[0]) - 1) < 1e-9


def test_a_kink_an_edge_and_a_jump_are_told_from_a_smooth_point() -> None:
    at, along = np.zeros(1), np.ones(1)
    assert sides(np.abs, at, along, 1).kink[0]
    assert sides(np.sqrt, at, along, 1).edge[0]
    assert sides(np.sign, at, along, 1).kink[0]
    smooth = sides(np.sin, at, along, 1)
    assert not smooth.kink[0]
    assert not smooth.edge[0]
    assert not sides(np.abs, at + 0.3, along, 1).kink[0]


@given(digits=st.integers(3, 8))
def test_noise_is_measured(digits: int) -> None:
    step = 10.0**-digits
    samples = [np.round(np.sin(np.array([0.3 + i * 0.0171])) / step) * step for i in range(1, 8)]
    noise = noise_of(samples)[0]
    assert 0 < noise < 2 * step


def test_steps_across_jumps_do_not_confirm_each_other() -> None:
    # Coarse central differences of a staircase agree on the slope 1 that its treads deny.
    estimate = ladder(lambda x: np.floor(x * 16) / 16, np.array([0.53]), np.ones(1), 1)
    assert abs(estimate.value[0]) <= estimate.error[0] + 1e-9
