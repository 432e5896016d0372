"""A confirmed finding in full, as `finding.json` keeps it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from evo_nabla.call.call import Call
from evo_nabla.call.errors import CallError
from evo_nabla.call.parse import call_from_json
from evo_nabla.call.serialise import call_to_json
from evo_nabla.executor.reading import Fields, anything, integer, mapping, sequence, text
from evo_nabla.executor.report import Crash
from evo_nabla.executor.report import Finding as Observation

from .reproducer import Versions, title
from .signature import Signature

FORMAT = 1


class FindingError(ValueError):
    """A finding on disk that cannot be read, with the file and what is wrong in it."""


@dataclass(frozen=True)
class Finding:
    """A confirmed, deduplicated, minimised finding.

    `call` is the minimal call and `observation` what the oracle says of it; `aliases` are the signatures under which
    the same bug was seen before it was shrunk; `float64` says what the call does in double precision.
    """

    signature: Signature
    call: Call
    original: Call
    observation: Observation
    versions: Versions
    first_seen: str
    sightings: int
    provenance: Mapping[str, Any]
    seen: int
    runs: int
    shrinking_runs: int
    shrunk_completely: bool
    float64: str
    evo_nabla: str
    aliases: tuple[Signature, ...] = ()
    crash: Crash | None = None

    def sighted(self, sightings: int, aliases: tuple[Signature, ...]) -> Finding:
        """The same finding, seen more often or under more signatures."""
        return replace(self, sightings=sightings, aliases=aliases)

    def to_json(self) -> dict[str, Any]:
        """Everything, machine-readable."""
        return {
            "format": FORMAT,
            "evo_nabla": self.evo_nabla,
            "title": title(self.call, self.observation),
            "status": "confirmed",
            "signature": self.signature.to_json(),
            "hash": self.signature.hash,
            "aliases": [alias.to_json() for alias in self.aliases],
            "observation": self.observation.to_json(),
            "call": call_to_json(self.call),
            "original": call_to_json(self.original),
            "versions": asdict(self.versions),
            "first_seen": self.first_seen,
            "sightings": self.sightings,
            "provenance": dict(self.provenance),
            "confirmation": {"seen": self.seen, "runs": self.runs},
            "shrinking": {"runs": self.shrinking_runs, "complete": self.shrunk_completely},
            "float64": self.float64,
            "crash": None if self.crash is None else self.crash.to_json(),
        }

    @classmethod
    def from_json(cls, document: object, place: str = "finding") -> Finding:
        """The inverse of `to_json`; raises ValueError that names the place."""
        fields = Fields(document, place)
        if fields.read("format", integer) != FORMAT:
            raise ValueError(f"{place}.format: only {FORMAT} is known")
        confirmation = Fields(fields.read("confirmation", anything), f"{place}.confirmation")
        shrinking = Fields(fields.read("shrinking", anything), f"{place}.shrinking")
        return cls(
            signature=fields.read("signature", _signature),
            call=fields.read("call", _call),
            original=fields.read("original", _call),
            observation=fields.read("observation", Observation.from_json),
            versions=fields.read("versions", _versions),
            first_seen=fields.read("first_seen", text),
            sightings=fields.read("sightings", integer),
            provenance=fields.read("provenance", mapping(anything)),
            seen=confirmation.read("seen", integer),
            runs=confirmation.read("runs", integer),
            shrinking_runs=shrinking.read("runs", integer),
            shrunk_completely=shrinking.read("complete", anything) is True,
            float64=fields.read("float64", text),
            evo_nabla=fields.read("evo_nabla", text),
            aliases=fields.read("aliases", sequence(_signature)),
            crash=fields.read("crash", Crash.from_json) if fields.has("crash") else None,
        )


def read_finding(file: Path) -> Finding:
    """The finding in a `finding.json`; raises FindingError naming the file and the place in it."""
    try:
        return Finding.from_json(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        raise FindingError(f"{file.parent.name}/{file.name}: {error}") from None


def _signature(document: object, place: str) -> Signature:
    try:
        return Signature.from_json(document)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def _call(document: object, place: str) -> Call:
    try:
        return call_from_json(document)
    except CallError as error:
        raise ValueError(f"{place}: {error}") from None


def _versions(document: object, place: str) -> Versions:
    fields = Fields(document, place)
    names = ("library", "library_version", "python", "numpy", "platform")
    return Versions(*(fields.read(name, text) for name in names))
