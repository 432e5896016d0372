"""Writes the script that shows a finding without evo_nabla: only the library and NumPy, one file, readable."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2

from evo_nabla.call.call import Call
from evo_nabla.call.canonical import call_hash
from evo_nabla.call.dtypes import COMPLEX, DTYPES
from evo_nabla.executor.report import Finding as Observation

from .source import CallSource, SourceError, call_source

TEMPLATES = Path(__file__).parent / "templates"

# Relative tolerances between modes, per dtype: a few hundred roundings, so that honest derivatives never reach them.
RTOL = {
    "float64": 1e-6,
    "complex128": 1e-6,
    "float32": 1e-3,
    "complex64": 1e-3,
    "float16": 2e-2,
    "complex32": 2e-2,
    "bfloat16": 1e-1,
}
RTOL_FLOAT8 = 0.5
TIME_LIMIT = 60

_BITS = {name: (dtype.bits if dtype.family != COMPLEX else dtype.bits // 2) for name, dtype in DTYPES.items()}

_FRAGMENT = {
    "gradient": "compare",
    "nonfinite": "compare",
    "missing_gradient": "compare",
    "transform": "compare",
    "asymmetry": "compare",
    "status": "status",
    "internal_assert": "status",
    "output": "primal",
    "metadata": "primal",
    "precision": "precision",
    "stale": "stale",
    "crash": "child",
    "hang": "child",
}

_WHAT = {
    "gradient": "{order} derivatives of different modes disagree",
    "nonfinite": "a {order} derivative is not finite in one mode and a number in another",
    "missing_gradient": "a mode gives no {order} derivative where there is one",
    "transform": "the functional transforms and the tape disagree on the {order} derivative",
    "asymmetry": "the second derivative is not symmetric",
    "status": "the plain call works, but a mode raises",
    "internal_assert": "an internal assertion fails",
    "output": "the output depends on the mode in which the call is executed",
    "metadata": "shape, dtype or device of an output or a derivative is wrong",
    "precision": "the {order} derivative is inaccurate",
    "stale": "an earlier use of the same object changes the result",
    "crash": "the process dies",
    "hang": "the call never returns",
}

_MODE_NAMES = {
    "rr": "reverse over reverse",
    "fr": "forward over reverse",
    "rf": "reverse over forward",
    "ff": "forward over forward",
    "nr": "numerical over reverse",
    "func_rr": "torch.func.vjp, twice",
}
_ORDINALS = {0: "zeroth", 1: "first", 2: "second", 3: "third"}


@dataclass(frozen=True)
class Versions:
    """Where a finding was seen."""

    library: str
    library_version: str
    python: str
    numpy: str
    platform: str

    def __str__(self) -> str:
        return f"{self.library} {self.library_version}, Python {self.python}, NumPy {self.numpy}, {self.platform}"


def what(observation: Observation) -> str:
    """The finding in a few words, without the API's name."""
    return _WHAT[observation.kind].format(order=ordinal(observation.order))


def title(call: Call, observation: Observation) -> str:
    """One line that could head an issue."""
    suspect = f" (suspect: {mode_name(observation.suspect)})" if observation.suspect else ""
    return f"{call.api}: {what(observation)}{suspect}"


def mode_name(mode: str) -> str:
    """A mode's name written out."""
    return " + ".join(_MODE_NAMES.get(part, part) for part in mode.split("+"))


def ordinal(order: int) -> str:
    return _ORDINALS.get(order, f"{order}th")


def reproducer(call: Call, observation: Observation, versions: Versions, time_limit: float = TIME_LIMIT) -> str:
    """The text of `repro.py`.

    It exits 1 while the bug is there, 0 when it is gone, 2 where it cannot be run. Everything that comes from the
    call or the report is written as a number's `repr`, a checked identifier or a comment, never as code.
    Raises SourceError for a call that cannot be written, KeyError for a kind that has no script.
    """
    source = call_source(call)
    fragment = _FRAGMENT[observation.kind]
    if fragment == "precision" and "reference" not in observation.detail:
        fragment = "compare"  # a low precision, measured against the same call in float64
    order = max(observation.order, 1)
    context = {
        "kind": observation.kind,
        "order": order,
        "source": source,
        "module": source.target is not None,
        "target": source.target is not None,
        "differentiated": [i for i, tensor in enumerate(source.tensors) if tensor.differentiated],
        "seed": int(call_hash(call)[:8], 16),  # the worker seeds the library with the same number
        "parameter_dtype": _parameter_dtype(source),
        "low_precision": _lowest_rtol(source) > RTOL["float64"],
        "transform": observation.kind == "transform",
        "basis": fragment == "compare" and order <= 2,
        "modes": modes(observation.kind, order, source),
        "rtol": _rtol(source, observation),
        "rounding": 1e-13 if _lowest_rtol(source) == RTOL["float64"] else _rtol(source, observation),
        "numerical": "numerical over reverse" if order == 2 else "numerical",
        "reference": _reference(observation) if fragment == "precision" else "",
        "entry": _entry(observation),
        "time_limit": round(time_limit, 1),
        "locate": source.uses("locate("),
        "laid_out": source.uses("laid_out("),
    }
    environment = templates()
    parts = ["torch_call.jinja"]
    if fragment in ("compare", "status", "precision", "child"):
        parts.append("torch_modes.jinja")
    parts.append(f"torch_{fragment}.jinja")
    body = "".join(environment.get_template(part).render(context) for part in parts).strip("\n") + "\n"
    return environment.get_template("torch_repro.py.jinja").render(
        title=_plain(title(call, observation)),
        explanation=_plain(_explanation(observation)),
        values=[(_plain(mode_name(mode)), repr(value)) for mode, value in observation.values.items()],
        versions=_plain(str(versions)),
        foreign=_plain("" if (root := call.api.partition(".")[0]) == "torch" else root),
        module=context["module"],
        locate=context["locate"],
        child=fragment == "child",
        numpy="np." in body,
        nonfinite=_mentions(body, "nan") or _mentions(body, "inf"),
        body=body,
    )


def modes(kind: str, order: int, source: CallSource) -> list[tuple[str, str]]:
    """The modes that the script runs, by the name it prints and the function that does it."""
    named = {
        1: [
            ("reverse", "reverse_unrecorded"),
            ("reverse, recorded", "reverse"),
            ("forward", "forward"),
            ("numerical", "numerical"),
        ],
        2: [
            ("reverse over reverse", "reverse"),
            ("forward over reverse", "forward"),
            ("reverse over forward", "reverse_over_forward"),
            ("forward over forward", "forward_over_forward"),
            ("numerical over reverse", "numerical"),
        ],
    }.get(
        order, [(f"reverse, {order} times", "reverse"), ("forward over those", "forward"), ("numerical", "numerical")]
    )
    if kind == "transform":
        named = [*named, ("torch.func.vjp", "functional_reverse"), ("torch.func.jvp", "functional_forward")]
    if _lowest_rtol(source) > RTOL["float64"]:
        named = [*named, ("reverse in float64", "reverse_in_double")]
    return named


def _explanation(observation: Observation) -> str:
    suspect = f" ({mode_name(observation.suspect)} is the odd one out)" if observation.suspect else ""
    return f"What evo_nabla saw{suspect}: {'' if observation.values else observation.message}".rstrip()


def _plain(text: str) -> str:
    """Text that cannot end a docstring or a line, nor start an escape."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    return printable.replace("\\", "/").replace('"', "'")[:300]


def _mentions(body: str, word: str) -> bool:
    return any(token == word for token in _tokens(body))


def _tokens(body: str) -> Sequence[str]:
    return "".join(c if c.isalnum() or c in "_\"'" else " " for c in body).split()


def _lowest_rtol(source: CallSource) -> float:
    floating = [t.dtype for t in source.tensors if t.dtype.startswith(("float", "bfloat", "complex"))]
    return max((RTOL.get(dtype, RTOL_FLOAT8) for dtype in floating), default=RTOL["float64"])


def _rtol(source: CallSource, observation: Observation) -> float:
    """The tolerance of the dtype, tightened where the finding itself is smaller than that."""
    rtol = _lowest_rtol(source)
    spread = relative_spread(observation.values)
    if observation.kind != "nonfinite" and 0 < spread < 4 * rtol:
        # Outputs of one function are compared to the last bits, derivatives are only as good as their formulas.
        rtol = max(spread / 4, 1e-15 if observation.kind == "output" else rtol * 1e-3)
    return float(f"{rtol:.1e}")


def tolerance(call: Call, observation: Observation) -> float:
    """The relative difference between modes that the script of this finding allows."""
    try:
        return _rtol(call_source(call), observation)
    except SourceError:
        return RTOL["float64"]


def relative_spread(values: Mapping[str, float | None]) -> float:
    """The largest relative difference between any two modes' numbers; 0 where there are none to compare."""
    finite = [value for value in values.values() if value is not None and math.isfinite(value)]
    if len(finite) < 2:
        return 0.0
    low, high = min(finite), max(finite)
    largest = max(abs(low), abs(high))
    return (high - low) / largest if largest else 0.0


def _reference(observation: Observation) -> str:
    """The reference value of a precision finding as a number's code."""
    try:
        return repr(float(observation.detail["reference"]))
    except (KeyError, TypeError, ValueError):
        raise SourceError("detail.reference: a number is expected") from None


def _entry(observation: Observation) -> int:
    entry = observation.detail.get("entry")
    index = entry.get("input") if isinstance(entry, dict) else 0
    return index if isinstance(index, int) else 0


def _parameter_dtype(source: CallSource) -> str:
    """The dtype under test, which a module's parameters follow: the widest of the differentiated tensors."""
    dtypes = [t.dtype for t in source.tensors if t.differentiated and not t.dtype.startswith("float8")]
    bits = max((_BITS[dtype] for dtype in dtypes), default=64)
    if {"float16", "bfloat16"} <= set(dtypes):
        bits = max(bits, 32)
    if any(dtype.startswith("complex") for dtype in dtypes):
        return f"complex{2 * bits}"
    return "bfloat16" if bits == 16 and "bfloat16" in dtypes else f"float{bits}"


@cache
def templates() -> jinja2.Environment:
    """The templates of this package."""
    # Python source, not HTML: what is put in has been made harmless by `repr` and `_plain` above.
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,
    )
