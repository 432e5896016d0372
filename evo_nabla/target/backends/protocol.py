"""What the oracle asks of a library: calls prepared as differentiable functions of NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Optional, Protocol

import numpy as np

from evo_nabla.call import Call

Arrays = list[np.ndarray]
OptionalArrays = list[Optional[np.ndarray]]


class ModeError(Exception):
    """One mode of a call could not be carried out.

    `problem` is "raised" (the library refused or failed), "unsupported" (the library says that the
    derivative does not exist) or "internal" (an internal assertion of the library).
    """

    def __init__(self, problem: str, message: str) -> None:
        super().__init__(message)
        self.problem = problem
        self.message = message


class RefusedError(Exception):
    """The call cannot be built here: no such API, an argument the library does not have, or one that is denied."""


class Leaf(NamedTuple):
    """One differentiated input: its path in the call ("param:weight" for a module's parameter), shape, dtype name
    under test and value (storage dtype of evo_nabla.call.dtypes).

    `tied` says that elements of the tensor share memory (an expanded layout); see Program.project.
    """

    path: str
    shape: tuple[int, ...]
    dtype: str
    value: np.ndarray
    tied: bool


class Description(NamedTuple):
    """Shape, dtype name and device of one tensor, to be compared between modes."""

    shape: tuple[int, ...]
    dtype: str
    device: str


class Primal(NamedTuple):
    """The result of a plain call: differentiable (floating and complex) outputs, and the others for comparison."""

    values: Arrays
    descriptions: list[Description]
    others: Arrays
    changed_inputs: bool


class Pullback(NamedTuple):
    """The result of reverse mode: outputs, gradients (None where the library gave none), what may be differentiated.

    Descriptions are those of the call itself; a function made by `reverse` leaves them empty.
    """

    values: Arrays
    descriptions: list[Description]
    gradients: OptionalArrays
    gradient_descriptions: list[Description | None]
    differentiable: list[bool]


class Pushforward(NamedTuple):
    """The result of forward mode: outputs and tangents (None where the library gave none), described likewise."""

    values: Arrays
    descriptions: list[Description]
    tangents: OptionalArrays
    tangent_descriptions: list[Description | None]


class Function(Protocol):
    """A differentiable function of arrays to arrays. Complex gradients pair with the real inner product
    Re Σ conj(g) v, that is g = ∂L/∂Re + i ∂L/∂Im; a backend whose library differs conjugates.

    Every method raises ModeError.
    """

    def value(self, xs: Sequence[np.ndarray]) -> Arrays: ...

    def pull(self, xs: Sequence[np.ndarray], us: Sequence[np.ndarray]) -> Pullback:
        """Reverse mode: Jᵀu."""
        ...

    def push(self, xs: Sequence[np.ndarray], vs: Sequence[np.ndarray]) -> Pushforward:
        """Forward mode: Jv."""
        ...

    def reverse(self, outputs: int) -> Function:
        """The function (x, u) ↦ Jᵀu, itself differentiable; `outputs` is how many this function has."""
        ...

    def forward(self, vs: Sequence[np.ndarray]) -> Function:
        """The function x ↦ Jv for fixed v, itself differentiable."""
        ...


class Program(Protocol):
    """A call made ready: every evaluation builds its arguments afresh."""

    leaves: list[Leaf]
    stateful: bool  # the API is an object whose state could leak from one evaluation to the next
    random: bool  # the direct run drew from the library's generators
    lowest: str  # the dtype name of the least precise floating tensor among inputs and outputs

    def direct(self) -> Primal:
        """Run the call plainly once; raises ModeError."""
        ...

    def function(self, functional: bool = False) -> Function | None:
        """The call as a function of its leaves. `functional` asks for the library's functional transforms
        in place of its tape; None where it has none."""
        ...

    def replay(self, steps: Sequence[Sequence[np.ndarray]]) -> list[Arrays]:
        """Evaluate one instance at several points, each written in place into the same tensor objects."""
        ...

    def project(self, leaf: int, array: np.ndarray) -> np.ndarray:
        """The array that the leaf's memory layout would hold after `array` is written into it."""
        ...


class Clock:
    """Seconds spent in the library's own code, as against the oracle's."""

    def __init__(self) -> None:
        self.library = 0.0


class Backend(Protocol):
    """One library in this interpreter."""

    name: str
    version: str
    package_folders: list[str]
    clock: Clock
    modes: tuple[str, ...]

    def prepare(self, call: Call, precise: bool = False) -> Program:
        """Make a call ready; with `precise` every floating tensor becomes float64 and every complex one complex128
        with the same (rounded) values. Raises RefusedError."""
        ...

    def seed(self, number: int) -> None:
        """Set the library's random state."""
        ...

    def reset(self) -> None:
        """Restore the library's global state between calls."""
        ...
