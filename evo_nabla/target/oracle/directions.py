"""Directions that an input can really move in: shared memory stays shared, a Hermitian matrix stays Hermitian."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Callable, Mapping

import numpy as np

from evo_nabla.call import Call
from evo_nabla.target.backends.protocol import Program

from .space import Space, Vector


def projection(
    program: Program, domain: Space, structures: Sequence[tuple[str, str]], call: Call
) -> Callable[[Vector], Vector]:
    """The map of any direction to the nearest one that the program's inputs can move in.

    `structures` are the (argument path, structure) pairs that the API takes for granted.
    """
    keywords = dict(call.kwargs)
    shapers: dict[int, list[Callable[[np.ndarray], np.ndarray]]] = {}
    for index, leaf in enumerate(program.leaves):
        for path, structure in structures:
            if leaf.path == path and len(leaf.shape) >= 2 and leaf.shape[-1] == leaf.shape[-2]:
                shaper = _shaper(structure, keywords, any(item is True or item == "U" for item in call.args))
                if shaper is not None:
                    shapers.setdefault(index, []).append(shaper)
        if leaf.tied:
            shapers.setdefault(index, []).append(lambda array, index=index: program.project(index, array))  # type: ignore[misc]
    if not shapers:
        return lambda direction: direction

    def project(direction: Vector) -> Vector:
        arrays = domain.unflatten(direction)
        for index, chain in shapers.items():
            for shape in chain:
                arrays[index] = shape(arrays[index])
        return domain.flatten(arrays)

    return project


def _shaper(structure: str, keywords: Mapping[str, object], asked: bool) -> Callable[[np.ndarray], np.ndarray] | None:
    """`asked` says that the flag (hermitian, upper, UPLO) is given by position: the APIs concerned have no other."""
    if structure == "hermitian" or (structure == "hermitian if asked" and (asked or keywords.get("hermitian") is True)):
        upper = structure == "hermitian" and (asked or keywords.get("upper") is True)
        return _mirrored_upper if upper or keywords.get("UPLO") == "U" else _mirrored_lower
    if structure == "triangular":
        return _upper if asked or keywords.get("upper") is True else _lower
    return None


def _upper(array: np.ndarray) -> np.ndarray:
    return _real_diagonal(np.triu(array))


def _lower(array: np.ndarray) -> np.ndarray:
    return _real_diagonal(np.tril(array))


def _real_diagonal(array: np.ndarray) -> np.ndarray:
    """A triangular factor as Cholesky's decomposition gives it, whose diagonal is real."""
    if array.dtype.kind != "c":
        return array
    eye = np.eye(array.shape[-1], dtype=bool)
    return np.asarray(np.where(eye, array.real, array))


def _mirrored_lower(array: np.ndarray) -> np.ndarray:
    """The Hermitian matrix whose lower triangle this is: what an API that reads only that triangle sees."""
    strict = np.tril(array, -1)
    return np.asarray(_real_diagonal(np.tril(array)) + np.conj(np.swapaxes(strict, -1, -2)))


def _mirrored_upper(array: np.ndarray) -> np.ndarray:
    strict = np.triu(array, 1)
    return np.asarray(_real_diagonal(np.triu(array)) + np.conj(np.swapaxes(strict, -1, -2)))
