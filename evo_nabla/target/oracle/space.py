"""Lists of arrays seen as vectors of ℝⁿ (complex entries as real and imaginary part), and functions between them."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evo_nabla.target.backends.protocol import Arrays, Description, Function, Pullback, Pushforward

Vector = np.ndarray  # float64, one axis


class _Part(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype
    start: int
    stop: int
    is_complex: bool


class Space:
    """The real vector space of a list of arrays with given shapes and storage dtypes."""

    def __init__(self, like: Sequence[np.ndarray]) -> None:
        self.parts: list[_Part] = []
        start = 0
        for array in like:
            is_complex = array.dtype.kind == "c"
            stop = start + array.size * (2 if is_complex else 1)
            self.parts.append(_Part(array.shape, array.dtype, start, stop, is_complex))
            start = stop
        self.size = start
        self.is_complex = any(part.is_complex for part in self.parts)
        self._single = len(self.parts) == 1 and self.parts[0].dtype == np.float64

    def flatten(self, arrays: Sequence[np.ndarray | None]) -> Vector:
        """One float64 vector of all entries; None stands for zeros."""
        if self._single and arrays[0] is not None:
            return np.array(arrays[0], dtype=np.float64).reshape(-1)
        vector = np.zeros(self.size)
        for part, array in zip(self.parts, arrays):
            if array is None:
                continue
            if part.is_complex:
                flat = np.ascontiguousarray(array, dtype=np.complex128).reshape(-1).view(np.float64)
            elif array.dtype.kind == "c":
                # A complex gradient of a real input: its real part is what pairs with a real tangent.
                flat = array.real.reshape(-1)
            else:
                flat = array.reshape(-1)
            vector[part.start : part.stop] = flat
        return vector

    def unflatten(self, vector: Vector) -> Arrays:
        """The arrays of a vector, rounded to their storage dtypes."""
        if self._single:
            return [vector.reshape(self.parts[0].shape)]
        arrays = []
        for part in self.parts:
            flat = vector[part.start : part.stop]
            if part.is_complex:
                flat = np.ascontiguousarray(flat).view(np.complex128)
            arrays.append(flat.astype(part.dtype, copy=False).reshape(part.shape))
        return arrays

    def moduli(self, vector: Vector) -> Vector:
        """The moduli of a vector's complex entries, for both of their parts; zero for real entries."""
        found = np.zeros(self.size)
        for part in self.parts:
            if part.is_complex:
                modulus = np.hypot(vector[part.start : part.stop : 2], vector[part.start + 1 : part.stop : 2])
                found[part.start : part.stop] = np.repeat(modulus, 2)
        return found

    def __add__(self, other: Space) -> Space:
        combined = Space(())
        shift = self.size
        combined.parts = self.parts + [
            part._replace(start=part.start + shift, stop=part.stop + shift) for part in other.parts
        ]
        combined.size = self.size + other.size
        combined.is_complex = self.is_complex or other.is_complex
        return combined


class Pulled(NamedTuple):
    """Reverse mode's result in vectors: outputs y, gradient g = Jᵀu; `raw` keeps the arrays."""

    outputs: Vector
    gradient: Vector
    raw: Pullback


class Pushed(NamedTuple):
    """Forward mode's result in vectors: outputs y, tangent t = Jv; `raw` keeps the arrays."""

    outputs: Vector
    tangent: Vector
    raw: Pushforward


class OutOfTimeError(Exception):
    """The time for one call is over; what was not compared yet stays so."""


class RealFunction:
    """A Function as a map f: ℝⁿ → ℝᵐ. Its methods raise ModeError as the Function's do, and OutOfTimeError after the
    deadline (of time.thread_time)."""

    def __init__(self, function: Function, domain: Space, codomain: Space, deadline: float = math.inf) -> None:
        self.function, self.domain, self.codomain, self.deadline = function, domain, codomain, deadline

    def _check_time(self) -> None:
        if time.thread_time() > self.deadline:
            raise OutOfTimeError

    def value(self, x: Vector) -> Vector:
        """f(x)."""
        self._check_time()
        return self.codomain.flatten(self.function.value(self.domain.unflatten(x)))

    def pull(self, x: Vector, u: Vector) -> Pulled:
        """f(x) and Jᵀu."""
        self._check_time()
        raw = self.function.pull(self.domain.unflatten(x), self.codomain.unflatten(u))
        return Pulled(self.codomain.flatten(raw.values), self.domain.flatten(raw.gradients), raw)

    def push(self, x: Vector, v: Vector) -> Pushed:
        """f(x) and Jv."""
        self._check_time()
        raw = self.function.push(self.domain.unflatten(x), self.domain.unflatten(v))
        return Pushed(self.codomain.flatten(raw.values), self.codomain.flatten(raw.tangents), raw)

    def reverse(self) -> RealFunction:
        """(x, u) ↦ Jᵀu: ℝⁿ⁺ᵐ → ℝⁿ."""
        return RealFunction(
            self.function.reverse(len(self.codomain.parts)), self.domain + self.codomain, self.domain, self.deadline
        )

    def forward(self, v: Vector) -> RealFunction:
        """x ↦ Jv: ℝⁿ → ℝᵐ."""
        return RealFunction(self.function.forward(self.domain.unflatten(v)), self.domain, self.codomain, self.deadline)


def same_metadata(expected: Sequence[Description], found: Sequence[Description | None]) -> str | None:
    """What differs in shape, dtype or device, in words; None when nothing does. A missing entry is no difference."""
    if len(expected) != len(found):
        return f"{len(found)} tensors instead of {len(expected)}"
    for index, (a, b) in enumerate(zip(expected, found)):
        if b is None or a == b:
            continue
        for word, left, right in (
            ("shape", a.shape, b.shape),
            ("dtype", a.dtype, b.dtype),
            ("device", a.device, b.device),
        ):
            if left != right:
                return f"{word} of tensor {index} is {right} instead of {left}"
    return None
