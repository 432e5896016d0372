"""Reference derivatives of elementary functions, in extended precision, for errors that every mode shares.

In the tail of a function differences see nothing (1 + 1e-17 is 1), and all modes can round to the same wrong value.
Where an API is a known elementary function of one argument, its Taylor coefficients are computed in long double by
truncated power-series arithmetic (A. Griewank and A. Walther, Evaluating Derivatives, 2008, chapter 13), whose
15-bit exponent and 64-bit significand cover what float64 can represent.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from evo_nabla.call import Call, TensorArgument
from evo_nabla.target.backends.protocol import ModeError

from .compare import discrepancy, largest
from .levels import Level, Readings
from .space import Vector
from .verdict import Judgement

Array = np.ndarray
_LONG = np.longdouble
_TERMS = 3  # value, first and second derivative
_TOLERANCE = 1e-6
_SMALLEST_WEIGHT = 1e-6
# Below, float64 loses digits to gradual underflow; above, it is about to overflow.
_SMALLEST, _LARGEST = 1e-300, 1.79e308


class Series:
    """Taylor coefficients c[k] = f⁽ᵏ⁾(x)/k! of a function of x, entry by entry, in long double."""

    def __init__(self, coefficients: list[Array]) -> None:
        self.c = coefficients

    @classmethod
    def variable(cls, x: Array) -> Series:
        """The series of x itself."""
        value = x.astype(_LONG)
        return cls([value, np.ones_like(value)] + [np.zeros_like(value)] * (_TERMS - 2))

    def __add__(self, other: Series) -> Series:
        return Series([a + b for a, b in zip(self.c, other.c)])

    def __sub__(self, other: Series) -> Series:
        return Series([a - b for a, b in zip(self.c, other.c)])

    def __neg__(self) -> Series:
        return Series([-a for a in self.c])

    def __mul__(self, other: Series) -> Series:
        return Series([_total([self.c[j] * other.c[k - j] for j in range(k + 1)]) for k in range(_TERMS)])

    def __truediv__(self, other: Series) -> Series:
        quotient: list[Array] = []
        for k in range(_TERMS):
            known = _total([quotient[j] * other.c[k - j] for j in range(k)]) if k else _LONG(0)
            quotient.append((self.c[k] - known) / other.c[0])
        return Series(quotient)

    def plus(self, constant: float) -> Series:
        """This series plus a constant."""
        return Series([self.c[0] + _LONG(constant), *self.c[1:]])

    def times(self, constant: Any) -> Series:
        """This series times a constant."""
        return Series([a * constant for a in self.c])

    def where(self, condition: Array, other: Series) -> Series:
        """This series where the condition holds, the other elsewhere."""
        return Series([np.where(condition, a, b) for a, b in zip(self.c, other.c)])


def _total(terms: list[Array]) -> Array:
    result = terms[0]
    for term in terms[1:]:
        result = result + term
    return result


def _one(like: Series) -> Series:
    return Series([np.ones_like(like.c[0])] + [np.zeros_like(like.c[0])] * (_TERMS - 1))


def _exp(a: Series) -> Series:
    c = [np.exp(a.c[0])]
    for k in range(1, _TERMS):
        c.append(_total([_LONG(j) * a.c[j] * c[k - j] for j in range(1, k + 1)]) / _LONG(k))
    return Series(c)


def _integral(derivative: Series, value: Array) -> Series:
    """The function with this derivative and this value."""
    return Series([value] + [derivative.c[k - 1] / _LONG(k) for k in range(1, _TERMS)])


def _chain(derivative: Callable[[Series], Series], value: Callable[[Array], Array]) -> Callable[[Series], Series]:
    """A function of the plain variable given by its derivative as a series and its value."""
    return lambda x: _integral(derivative(x), value(x.c[0]))


def _sqrt(a: Series) -> Series:
    c = [np.sqrt(a.c[0])]
    for k in range(1, _TERMS):
        known = _total([c[j] * c[k - j] for j in range(1, k)]) if k > 1 else _LONG(0)
        c.append((a.c[k] - known) / (2 * c[0]))
    return Series(c)


def _log(a: Series) -> Series:
    return _integral(_one(a) / a, np.log(a.c[0]))


def _sigmoid(x: Series) -> Series:
    small = _exp(-x.where(x.c[0] >= 0, -x))
    right = _one(x) / small.plus(1.0)
    # For negative x, exp(x)/(1 + exp(x)): `small` has the slope of exp(−|x|), so build it anew.
    rising = _exp(x.where(x.c[0] < 0, x.times(_LONG(0))))
    left = rising / rising.plus(1.0)
    return right.where(x.c[0] >= 0, left)


def _tanh(x: Series) -> Series:
    twice = x.times(_LONG(2))
    shifted = _sigmoid(twice)
    return Series([np.tanh(x.c[0]), *[a * 2 for a in shifted.c[1:]]])


def _log_sigmoid(x: Series) -> Series:
    return _integral(_sigmoid(-x), -np.logaddexp(_LONG(0), -x.c[0]))


def _silu(x: Series) -> Series:
    return x * _sigmoid(x)


def _softsign(x: Series) -> Series:
    size = x.where(x.c[0] >= 0, -x)
    return x / size.plus(1.0)


def _sine(x: Series) -> Series:
    s, c = np.sin(x.c[0]), np.cos(x.c[0])
    return Series([s, c, -s / 2])


def _cosine(x: Series) -> Series:
    s, c = np.sin(x.c[0]), np.cos(x.c[0])
    return Series([c, -s, -c / 2])


def _tan(x: Series) -> Series:
    return _sine(x) / _cosine(x)


def _sinh(x: Series) -> Series:
    s, c = np.sinh(x.c[0]), np.cosh(x.c[0])
    return Series([s, c, s / 2])


def _cosh(x: Series) -> Series:
    s, c = np.sinh(x.c[0]), np.cosh(x.c[0])
    return Series([c, s, c / 2])


def _square(x: Series) -> Series:
    return x * x


def _reciprocal(x: Series) -> Series:
    return _one(x) / x


def _gaussian(scale: float, exponent: float) -> Callable[[Series], Series]:
    return lambda x: _exp((x * x).times(_LONG(-exponent))).times(_LONG(scale))


def _bessel_i0(x: Series) -> Series:
    """I₀ from its power series Σ (x²/4)ᵏ/(k!)² (DLMF 10.25.2), for |x| ≤ 20; NaN beyond."""
    quarter = (x * x).times(_LONG(0.25))
    total, term = _one(x), _one(x)
    for k in range(1, 60):
        term = (term * quarter).times(_LONG(1) / _LONG(k * k))
        total = total + term
    outside = np.abs(x.c[0]) > 20
    return Series([np.where(outside, np.nan, c) for c in total.c])


def _anywhere(value: Array) -> Array:
    """Stands for the value of a function that is defined everywhere, and whose derivatives alone are wanted."""
    return np.zeros_like(value)


_LN2, _LN10 = np.log(_LONG(2)), np.log(_LONG(10))
_PI = _LONG("3.14159265358979323846264338327950288")

# Names are an API's last part in lower case without underscores, so that one table serves functions, methods, modules
# and libraries: LogSigmoid, logsigmoid and log_sigmoid are one function.
FUNCTIONS: dict[str, Callable[[Series], Series]] = {
    "exp": _exp,
    "exp2": lambda x: _exp(x.times(_LN2)),
    "expm1": _chain(_exp, np.expm1),
    "log": _log,
    "log2": lambda x: _log(x).times(1 / _LN2),
    "log10": lambda x: _log(x).times(1 / _LN10),
    "log1p": _chain(lambda x: _one(x) / x.plus(1.0), np.log1p),
    "sqrt": _sqrt,
    "rsqrt": lambda x: _one(x) / _sqrt(x),
    "square": _square,
    "reciprocal": _reciprocal,
    "sin": _sine,
    "cos": _cosine,
    "tan": _tan,
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
    "asinh": _chain(lambda x: _one(x) / _sqrt((x * x).plus(1.0)), np.arcsinh),
    "arcsinh": _chain(lambda x: _one(x) / _sqrt((x * x).plus(1.0)), np.arcsinh),
    "atan": _chain(lambda x: _one(x) / (x * x).plus(1.0), np.arctan),
    "arctan": _chain(lambda x: _one(x) / (x * x).plus(1.0), np.arctan),
    "sigmoid": _sigmoid,
    "expit": _sigmoid,
    "logsigmoid": _log_sigmoid,
    "silu": _silu,
    "swish": _silu,
    "softsign": _softsign,
    "tanhshrink": lambda x: x - _tanh(x),
    "erf": _chain(_gaussian(2 / float(np.sqrt(np.pi)), 1.0), _anywhere),
    "erfc": _chain(_gaussian(-2 / float(np.sqrt(np.pi)), 1.0), _anywhere),
    "ndtr": _chain(_gaussian(1 / float(np.sqrt(2 * np.pi)), 0.5), _anywhere),
    "i0": _bessel_i0,
}
_LIBRARIES = ("torch", "jax", "tensorflow", "oneflow")


def _function_of(call: Call) -> Callable[[Series], Series] | None:
    """The elementary function that a call computes entry by entry, if it is one: a single real float64 tensor."""
    if call.api.partition(".")[0] not in _LIBRARIES or call.kwargs or len(call.args) != 1:
        return None
    if call.init is not None and (call.init.args or call.init.kwargs):
        return None
    argument = call.args[0]
    if not isinstance(argument, TensorArgument) or argument.dtype != "float64":
        return None
    return FUNCTIONS.get(call.api.rpartition(".")[2].replace("_", "").lower())


def judge_reference(call: Call, level: Level, readings: Readings, judgement: Judgement) -> None:
    """Compare first and second derivatives, entry by entry and relatively, with the reference where there is one."""
    function = _function_of(call)
    lowest = level if level.below is None else level.below
    inputs = lowest.x.size
    if function is None or level.order >= _TERMS or lowest.u.size != inputs:
        return
    series = function(Series.variable(level.x[:inputs]))
    reference = (series.c[level.order] * level.order).astype(np.float64)
    for mode in ("reverse", "forward") if level.order == 1 else ("rr", "rf"):
        if mode not in readings.given:
            continue
        derivative = _derivative(level, mode, readings, inputs)
        if derivative is None:
            continue
        known = (np.abs(reference) > _SMALLEST) & (np.abs(reference) < _LARGEST) & np.isfinite(series.c[0])
        off = np.where(known, discrepancy(derivative, reference, _TOLERANCE), 0.0)
        if largest(off) <= 1:
            continue
        index = int(np.argmax(off))
        value, x = float(derivative[index]), float(level.x[index])
        values = {mode: value, "reference": float(reference[index])}
        detail = {"reference": repr(float(reference[index])), "entry": {"input": index}, "x": repr(x)}
        message = f"{mode} gives {value:.6g} at x = {x!r}, where the derivative is {reference[index]:.6g}"
        judgement.add("precision", mode, level.order, message, float(off[index]), values, detail)
        return


def _derivative(level: Level, mode: str, readings: Readings, inputs: int) -> Vector | None:
    """f′ or f″, entry by entry, from a mode's vector: it is u f′, v f′ or u v f″, since the Jacobian is diagonal.

    Where the output is infinite the level's u is zero and hides the entry, and at tiny x its v is as tiny and makes the
    product underflow; then the mode is read again with weights
    of one (a precision finding needs no finite output: the derivative of 2ˣ is still representable past its overflow).
    """
    weight = level.v[:inputs] if mode == "forward" else level.u if level.below is None else level.x[inputs:] * level.u
    vector = readings.given[mode].vector
    if (level.below is None or np.all(level.x[inputs:] != 0)) and np.all(np.abs(weight) > _SMALLEST_WEIGHT):
        return np.asarray(vector[:inputs] / weight)
    if mode == "rf":
        return None
    ones = np.ones(level.u.size)
    point = level.x.copy()
    point[inputs:] = 1.0
    try:
        return level.function.pull(point, ones).gradient[:inputs]
    except ModeError:
        return None
