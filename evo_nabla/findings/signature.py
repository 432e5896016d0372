"""Says whether two findings are the same bug: a stable text and a short hash of what a bug looks like."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from evo_nabla.call.arguments import TensorArgument
from evo_nabla.call.call import Call
from evo_nabla.call.paths import differentiated, walk
from evo_nabla.executor.report import Finding as Observation
from evo_nabla.executor.report import Report

ANY = "any"
MAX_MESSAGE = 200
MAX_FRAMES = 3

# Only these kinds are told apart by what was said; of values that differ the message says nothing but numbers.
KINDS_WITH_MESSAGE = frozenset({"status", "internal_assert", "metadata"})

_DTYPE_CLASSES = {
    "float64": "double",
    "float32": "single",
    "float16": "half",
    "bfloat16": "half",
    "complex128": "complex double",
    "complex64": "complex single",
    "complex32": "complex half",
}


@dataclass(frozen=True)
class Signature:
    """What makes a bug this bug. `symptom` is a normalised message, crash frames, or empty."""

    api: str
    kind: str
    suspect: str
    order: int
    dtype_class: str
    symptom: str

    @property
    def text(self) -> str:
        """One line that is the same in every process and version of Python."""
        return " | ".join((self.api, self.kind, self.suspect, f"order {self.order}", self.dtype_class, self.symptom))

    @property
    def hash(self) -> str:
        """Eight hex digits of BLAKE2b(text)."""
        return hashlib.blake2b(self.text.encode(), digest_size=4).hexdigest()

    def to_json(self) -> dict[str, object]:
        return {
            "api": self.api,
            "kind": self.kind,
            "suspect": self.suspect,
            "order": self.order,
            "dtype_class": self.dtype_class,
            "symptom": self.symptom,
        }

    @classmethod
    def from_json(cls, document: object) -> Signature:
        """The inverse of `to_json`; raises ValueError naming the field that is missing or of the wrong type."""
        if not isinstance(document, dict):
            raise ValueError("signature: an object is expected")
        texts = {}
        for name in ("api", "kind", "suspect", "dtype_class", "symptom"):
            value = document.get(name)
            if not isinstance(value, str):
                raise ValueError(f"signature.{name}: a string is expected")
            texts[name] = value
        order = document.get("order")
        if not isinstance(order, int) or isinstance(order, bool):
            raise ValueError("signature.order: an integer is expected")
        return cls(texts["api"], texts["kind"], texts["suspect"], order, texts["dtype_class"], texts["symptom"])

    def generalised(self) -> Signature:
        """The signature that stands for all of an API and kind, once they are too many to report one by one."""
        return Signature(self.api, self.kind, ANY, 0, ANY, "")

    def seen_with(self, dtype_class: str) -> Signature:
        """The same bug in other dtypes; a generalised signature stays what it is."""
        return self if self.dtype_class == ANY else replace(self, dtype_class=dtype_class)

    def matches(self, other: Signature) -> bool:
        """The same bug, whatever the dtypes it was seen with; a generalised one is any bug of its API and kind."""
        if ANY in (self.dtype_class, other.dtype_class):
            return (self.api, self.kind) == (other.api, other.kind)
        return replace(self, dtype_class=ANY) == replace(other, dtype_class=ANY)


def signatures_of(call: Call, report: Report) -> list[Signature]:
    """The distinct signatures in a report, most severe first; empty when it reports nothing."""
    return [signature for signature, _ in observations(call, report)]


def observations(call: Call, report: Report) -> list[tuple[Signature, Observation]]:
    """The report's findings, each with its signature; of several with one signature the first.

    A crash or a hang that the report's status alone tells is a finding like the others.
    """
    found: dict[Signature, Observation] = {}
    for observation in _observed(report):
        found.setdefault(signature_of(call, report, observation), observation)
    return list(found.items())


def _observed(report: Report) -> Sequence[Observation]:
    kind = {"crashed": "crash", "hung": "hang"}.get(report.status)
    if kind is None or any(observation.kind == kind for observation in report.findings):
        return report.findings
    name = report.crash.signal if report.crash is not None else ""
    return [Observation(kind, "", 0, math.inf, {}, name or report.reason, {}), *report.findings]


def signature_of(call: Call, report: Report, observation: Observation) -> Signature:
    return Signature(
        api=call.api,
        kind=observation.kind,
        suspect=observation.suspect or ANY,
        order=observation.order,
        dtype_class=dtype_class(call),
        symptom=_symptom(report, observation),
    )


def _symptom(report: Report, observation: Observation) -> str:
    if observation.kind in ("crash", "hang"):
        tail = report.crash.stderr_tail if report.crash is not None else ""
        name = report.crash.signal if report.crash is not None else ""
        parts = [name, *crash_frames(tail)]
        return "; ".join(part for part in parts if part)
    if observation.kind in KINDS_WITH_MESSAGE:
        return normalise_message(observation.message)
    return ""


def dtype_class(call: Call) -> str:
    """The numbers a call differentiates: "half", "single", "double", "complex double", …, "mixed" or "none"."""
    tensors = {path: node for path, node in walk(call) if isinstance(node, TensorArgument)}
    chosen = [tensors[path].dtype for path in differentiated(call) if path in tensors]
    return class_of_dtypes(chosen or [tensor.dtype for tensor in tensors.values()])


def class_of_dtypes(dtypes: Iterable[str]) -> str:
    """The one class of several dtypes; integers and booleans do not count."""
    classes = {
        _DTYPE_CLASSES.get(dtype, "eighth") for dtype in dtypes if dtype.startswith(("float", "bfloat", "complex"))
    }
    if not classes:
        return "none"
    return classes.pop() if len(classes) == 1 else "mixed"


_CUT = re.compile(r"\s*(Exception raised from|C\+\+ CapturedTraceback|Traceback \(most recent call last\))", re.DOTALL)
_NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf)"
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?<!\w)'[^'\n]*'(?!\w)|\"[^\"\n]*\"|`[^`\n]*`"), "«»"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "@"),
    (re.compile(r"(?:(?<=\s)|(?<=^)|(?<=[(\[=:]))(?:~|\.{1,2})?/[^\s,:;)\]]+"), "/…"),
    (re.compile(r"[\[(]\s*" + _NUMBER + r"(?:\s*,\s*" + _NUMBER + r")*\s*,?\s*[\])]"), "#"),
    (re.compile(r"(?<![A-Za-z_\d])" + _NUMBER + r"(?![A-Za-z_])"), "#"),
    (re.compile(r"(?<![A-Za-z_\d])\d+(?=D\b|d\b|-D\b|-d\b)"), "#"),
    (re.compile(r"#(?:\s*,?\s*(?:x\s*)?#)+"), "#"),
    (re.compile(r"\s+"), " "),
)


def normalise_message(message: str) -> str:
    """What a message says without what one call put into it.

    Quoted words become «», addresses @, paths /…, numbers and shapes #; traces that follow are cut off.
    Idempotent, so that a stored symptom compares equal to itself.
    """
    text = _CUT.split(message, maxsplit=1)[0] or message
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text.strip()[:MAX_MESSAGE].strip()


_PYTHON_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line \d+,? in (?P<function>.+?)\s*$', re.MULTILINE)
_NATIVE_FRAME = re.compile(r'Binary file "(?P<file>[^"]+)", at (?P<function>[^\s\[+]+)\+0x')
_LAST_WORDS = re.compile(
    r"(Assertion .*failed.*|.*what\(\):.*|double free.*|free\(\): .*|malloc\(\): .*|corrupted .*|munmap_chunk.*"
    r"|.*Check failed:.*|.*INTERNAL ASSERT.*|Fatal Python error: .*|.*Sanitizer: .*)"
)
# Frames of the worker that ran the call, of the interpreter and of the machinery of signals say nothing about the bug.
_OUR_FRAMES = re.compile(r"(^|/)evo_nabla/(target|call)/|/lib/python3\.\d+/(?!(site|dist)-packages/)|^<frozen")
_NATIVE_NOISE = re.compile(r"^(_Py|Py[A-Z]|raise$|abort$|gsignal$|__|pthread_)|faulthandler")


def crash_frames(stderr_tail: str) -> list[str]:
    """The last words of a dying process, then its innermost frames, as written by faulthandler.

    A frame is `package/module.py:function` or `library.so:symbol`: no line numbers and no addresses,
    which change from build to build.
    """
    frames = [line for line in (_last_words(stderr_tail),) if line]
    native = [
        f"{PurePosixPath(match['file']).name}:{match['function']}"
        for match in _NATIVE_FRAME.finditer(stderr_tail)
        if not _NATIVE_NOISE.search(match["function"])
    ]
    python = [
        f"{_inside_package(match['file'])}:{match['function']}"
        for match in _PYTHON_FRAME.finditer(stderr_tail)
        if not _OUR_FRAMES.search(match["file"])
    ]
    return frames + (native[:MAX_FRAMES] or python[:MAX_FRAMES])


def told(stderr_tail: str) -> str:
    """The output of a dying process without what it says of evo_nabla and of the machine it ran on."""
    lines = []
    for line in stderr_tail.splitlines():
        frame = _PYTHON_FRAME.match(line) or _NATIVE_FRAME.search(line)
        if frame is None:
            lines += [] if line.startswith("Extension modules:") else [line]
        elif not _OUR_FRAMES.search(frame["file"]):
            lines.append(line.replace(frame["file"], _inside_package(frame["file"])))
    return "\n".join(lines).strip()


def _last_words(stderr_tail: str) -> str:
    said = [line.strip() for line in stderr_tail.splitlines() if _LAST_WORDS.fullmatch(line.strip())]
    own = [line for line in said if not line.startswith("Fatal Python error")]
    return normalise_message((own or said or [""])[-1])


def _inside_package(file: str) -> str:
    for marker in ("site-packages/", "dist-packages/"):
        if marker in file:
            return file.rsplit(marker, 1)[1]
    return PurePosixPath(file).name
