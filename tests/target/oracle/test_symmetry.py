"""The Hessian's symmetry, asked of quadratic forms with known matrices."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from evo_nabla.target.oracle.levels import Level
from evo_nabla.target.oracle.space import Pulled, RealFunction
from evo_nabla.target.oracle.values import asymmetry


class Gradient:
    """(x, u) ↦ u·M x, the "gradient" of a form whose Hessian is M: pulling v back gives (Mᵀ v, …)."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = matrix

    def pull(self, x: np.ndarray, v: np.ndarray) -> Pulled:
        inputs = len(self.matrix)
        gradient = np.concatenate([x[inputs] * (self.matrix.T @ v), [v @ self.matrix @ x[:inputs]]])
        return Pulled(x[inputs] * (self.matrix @ x[:inputs]), gradient, cast(Any, None))


def level(matrix: np.ndarray) -> Level:
    def same(direction: np.ndarray) -> np.ndarray:
        return direction

    x, v, w = np.array([0.3, -0.7, 1.1]), np.array([1.0, -0.5, 0.75]), np.array([0.5, 0.625, -1.0, 0.5])
    function = cast(RealFunction, Gradient(matrix))
    below = Level(function, x, np.ones(1), v, same)
    return Level(function, np.append(x, 1.0), v, w, same, below)


def test_a_symmetric_hessian() -> None:
    root = np.arange(9.0).reshape(3, 3)
    at = level(root + root.T)
    assert asymmetry(at, at.read("rr"))[0] <= 1


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-5])
def test_an_asymmetric_hessian(size: float) -> None:
    matrix = np.eye(3)
    matrix[0, 1] += size
    at = level(matrix)
    found, straight, crossed = asymmetry(at, at.read("rr"))
    assert found > 1
    assert straight != crossed
