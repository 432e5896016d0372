"""One order of differentiation: the function, the point and the directions, and what each mode reads there.

Order k is the first-order question asked of the function (x, u) ↦ Jᵀu of order k − 1, so one definition serves all
orders (as in JAX's check_grads). Every mode of a level reads one number, the derivative of ⟨u, f⟩ along v:

    reverse  ⟨Jᵀu, v⟩      forward  ⟨u, Jv⟩      numerical  d/dt ⟨u, f(x + t v)⟩ at 0

At order 2 the modes are named outer mode first: rr, fr and nr ask them of (x, u) ↦ Jᵀu; rf and ff ask them of
x ↦ Jv, which gives the same number once the part ⟨u̇, Jv⟩ of the direction (v̇, u̇) is added.
"""

from __future__ import annotations

from typing import Callable, NamedTuple

import numpy as np

from evo_nabla.target.backends.protocol import ModeError
from evo_nabla.target.observers import enter

from .numerical import Estimate, quick, single
from .space import Pulled, Pushed, RealFunction, Vector

_EIGHTHS = np.array([4, 5, 6, 7, 8, -4, -5, -6, -7, -8]) / 8.0

Project = Callable[[Vector], Vector]


class Reading(NamedTuple):
    """What an analytic mode gave: the number, the sum of its terms' sizes, and the vector that it was contracted from
    (a gradient in the domain for reverse mode, a tangent in the codomain for forward mode)."""

    number: float
    terms: float
    vector: Vector
    result: Pulled | Pushed


class Problem(NamedTuple):
    """Why a mode has no reading: "raised", "unsupported" or "internal", and the library's message."""

    problem: str
    message: str


def mode_name(outer: str, inner: str) -> str:
    """The name of a mode: outer letter and the modes below; at first order the full words."""
    if inner:
        return outer + inner
    return {"r": "reverse", "f": "forward", "n": "numerical"}[outer]


def draw(random: np.random.RandomState, x: Vector) -> Vector:
    """A direction at x: random signs times 4/8 … 8/8, of the size of the entry where that is far from 1.

    Eighths and powers of two are exact in every floating dtype. Steps along it are relative for tiny and huge entries.
    """
    direction = _EIGHTHS[random.randint(0, _EIGHTHS.size, x.size)]
    magnitude = np.abs(x)
    near = (magnitude >= 2.0**-10) & (magnitude <= 2.0**10)
    if not near.all():
        far = ~near & (magnitude != 0) & np.isfinite(magnitude)
        exponent = np.floor(np.log2(np.where(far, magnitude, 1.0)))
        direction *= np.where(far, np.exp2(np.clip(exponent, -1021, 1000)), 1.0)
    return direction


class Level:
    """A function f at a point x with cotangent u and tangent v; `below` is the level whose gradient f is."""

    def __init__(
        self, function: RealFunction, x: Vector, u: Vector, v: Vector, project: Project, below: Level | None = None
    ) -> None:
        self.function, self.x, self.u, self.v = function, x, u, v
        self.project, self.below = project, below
        self.order: int = 1 if below is None else below.order + 1
        self.inner = "r" * (self.order - 1)
        self._mixed: RealFunction | None = None
        # Outputs that are not finite have no weight in u, yet 0 · ∞ spoils what reverse mode makes of them.
        self.masked: bool = below.masked if below is not None else not bool(np.all(u))

    @property
    def modes(self) -> tuple[str, ...]:
        """The analytic modes of this order."""
        if self.below is None:
            return ("reverse", "forward")
        mixed = "f" + self.inner[1:]
        return ("r" + self.inner, "f" + self.inner, "r" + mixed, "f" + mixed)

    @property
    def numerical(self) -> str:
        """The name of the numerical mode of this order."""
        return mode_name("n", self.inner)

    def at(self, x: Vector, u: Vector | None = None, v: Vector | None = None) -> Level:
        """The same level at another point, along other directions if given."""
        u, v = self.u if u is None else u, self.v if v is None else v
        other = Level(self.function, x, u, v, self.project, self.below)
        other.masked = self.masked
        return other

    def read(self, mode: str) -> Reading:
        """One analytic mode's reading; raises ModeError."""
        x = self.x
        enter(mode)
        if self.below is not None and mode[1] == "f":
            return self._read_mixed(mode)
        if mode[0] == "r":
            pulled = self.function.pull(x, self.u)
            terms = pulled.gradient * self.v
            return Reading(float(terms.sum()), float(np.abs(terms).sum()), pulled.gradient, pulled)
        pushed = self.function.push(x, self.v)
        terms = np.where(self.u != 0, pushed.tangent * self.u, 0.0) if self.masked else pushed.tangent * self.u
        return Reading(float(terms.sum()), float(np.abs(terms).sum()), pushed.tangent, pushed)

    def _read_mixed(self, mode: str) -> Reading:
        below, x = self.below, self.x
        assert below is not None
        if self._mixed is None:
            self._mixed = below.function.forward(below.v)
        inputs = below.x.size
        point, cotangent = x[:inputs], x[inputs:]
        along, cotangent_along = self.v[:inputs], self.v[inputs:]
        if mode[0] == "r":
            pulled = self._mixed.pull(point, cotangent)
            terms = np.concatenate([pulled.gradient * along, pulled.outputs * cotangent_along])
            return Reading(float(terms.sum()), float(np.abs(terms).sum()), pulled.gradient, pulled)
        pushed = self._mixed.push(point, along)
        terms = np.concatenate([pushed.tangent * cotangent, pushed.outputs * cotangent_along])
        return Reading(float(terms.sum()), float(np.abs(terms).sum()), pushed.tangent, pushed)

    def glance(self) -> Estimate:
        """The derivative of f along v by one central difference, enough where every mode agrees with it."""
        enter(self.numerical)
        return single(self.function.value, self.x, self.v, self.u.size)

    def estimate(self) -> Estimate:
        """The derivative of f along v by differences, quickly, with its error bar."""
        enter(self.numerical)
        return quick(self.function.value, self.x, self.v, self.u.size)

    def above(self, random: np.random.RandomState) -> Level:
        """The level of the next order: f becomes (x, u) ↦ Jᵀu, v its cotangent, and a fresh direction its tangent."""
        domain, inputs = self.function.reverse(), self.x.size
        point = np.concatenate([self.x, self.u])
        project = self.project

        def both(direction: Vector) -> Vector:
            return np.concatenate([project(direction[:inputs]), direction[inputs:]])

        return Level(domain, point, self.v, both(draw(random, point)), both, self)


class Readings(NamedTuple):
    """All analytic modes of a level."""

    given: dict[str, Reading]
    problems: dict[str, Problem]


def read_all(level: Level, unavailable: dict[str, Problem], left_out: tuple[str, ...] = ()) -> Readings:
    """Read every analytic mode but those left out; a mode built on one that failed below is not tried again."""
    given: dict[str, Reading] = {}
    problems: dict[str, Problem] = {}
    for mode in level.modes:
        if mode in left_out:
            continue
        known = _known_problem(mode, unavailable) if level.below is not None else None
        if known is not None:
            problems[mode] = Problem("unsupported", known.message)
            continue
        try:
            given[mode] = level.read(mode)
        except ModeError as error:
            problems[mode] = Problem(error.problem, error.message)
    return Readings(given, problems)


def _known_problem(mode: str, unavailable: dict[str, Problem]) -> Problem | None:
    """The problem of the mode's inner part, or of its outer mode at first order, if that failed already."""
    names: list[str] = [mode[1:] if len(mode) > 2 else {"r": "reverse", "f": "forward"}[mode[1]]]
    names.append({"r": "reverse", "f": "forward"}[mode[0]])
    for name in names:
        if name in unavailable:
            return unavailable[name]
    return None
