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
                shaper = _shaper(structure, keywords, any(item is True for item in call.args))
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
    """`asked` says that the flag (hermitian, upper) is given by position: the APIs concerned have no other."""
    if structure == "hermitian" or (structure == "hermitian if asked" and (asked or keywords.get("hermitian") is True)):
        return _hermitian
    if structure == "triangular":
        return np.triu if asked or keywords.get("upper") is True else np.tril
    return None


def _hermitian(array: np.ndarray) -> np.ndarray:
    result: np.ndarray = (array + np.conj(np.swapaxes(array, -1, -2))) / 2
    return result
