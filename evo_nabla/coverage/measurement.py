"""What one run reached, whatever ran: features by kind, with the builds they belong to; saved, merged, compared."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from .errors import MeasurementError

_FORMAT = "evo_nabla coverage 1"
_FORMS = {
    "function": re.compile(r"[^:]+:0x[0-9a-f]{1,15}"),
    "block": re.compile(r"[^:]+:0x[0-9a-f]{1,15}"),
    "line": re.compile(r".+:[0-9]{1,9}", re.DOTALL),
}
_LARGEST = 1 << 30  # bytes, unpacked


class Build(NamedTuple):
    """One shared object that was measured; without its build-id its features' names mean nothing."""

    name: str
    path: str
    build_id: str


@dataclass(frozen=True)
class Measurement:
    """The features that a run of `title` (a command, a campaign) reached in a library.

    `missing` says of kinds that could not be measured why; `root` is the folder that the names of Python's files are
    relative to.
    """

    title: str
    library: str
    versions: tuple[str, ...]
    builds: tuple[Build, ...]
    features: Mapping[str, frozenset[str]]
    missing: dict[str, str]
    root: str

    def counts(self) -> dict[str, int]:
        """How many features of each kind, kinds sorted."""
        return {kind: len(names) for kind, names in sorted(self.features.items())}

    def minus(self, other: Measurement) -> dict[str, frozenset[str]]:
        """What this one reached and the other did not, by kind; raises MeasurementError for other builds."""
        self._same_builds(other)
        return {kind: names - other.features.get(kind, frozenset()) for kind, names in self.features.items()}

    def merged(self, other: Measurement) -> Measurement:
        """Both together: a feature counts once. Raises MeasurementError for other builds."""
        self._same_builds(other)
        kinds = {*self.features, *other.features}
        empty: frozenset[str] = frozenset()
        return Measurement(
            title=self.title if self.title == other.title else f"{self.title}; {other.title}",
            library=self.library,
            versions=tuple(sorted({*self.versions, *other.versions})),
            builds=tuple(sorted({*self.builds, *other.builds})),
            features={kind: self.features.get(kind, empty) | other.features.get(kind, empty) for kind in sorted(kinds)},
            missing={**self.missing, **other.missing},
            root=self.root or other.root,
        )

    def _same_builds(self, other: Measurement) -> None:
        if self.library != other.library:
            raise MeasurementError(f"{self.title} measured {self.library}, {other.title} {other.library}")
        ours = {build.name: build.build_id for build in self.builds}
        for build in other.builds:
            if ours.get(build.name, build.build_id) != build.build_id:
                raise MeasurementError(
                    f"{self.title} and {other.title} measured different builds of {build.name}: "
                    "their functions and blocks cannot be compared"
                )


def save(measurement: Measurement, path: Path) -> None:
    """Write it as JSON, packed if the name ends in .gz; replaces the file whole. Raises MeasurementError."""
    document = {
        "format": _FORMAT,
        "title": measurement.title,
        "library": measurement.library,
        "versions": list(measurement.versions),
        "builds": [build._asdict() for build in measurement.builds],
        "features": {kind: sorted(names) for kind, names in sorted(measurement.features.items())},
        "missing": dict(measurement.missing),
        "root": measurement.root,
    }
    data = json.dumps(document, indent=0, allow_nan=False).encode("utf-8")
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    try:
        temporary = path.with_name(f".{path.name}.new")
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
        temporary.replace(path)
    except (OSError, ValueError) as error:
        raise MeasurementError(f"{path}: cannot be written: {getattr(error, 'strerror', None) or error}") from None


def load(path: Path) -> Measurement:
    """Read a saved measurement; raises MeasurementError naming the file and the place in it."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise MeasurementError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > _LARGEST:
        raise MeasurementError(f"{path}: larger than {_LARGEST} bytes")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise MeasurementError(f"{path}: not JSON") from None
    try:
        return _read(document)
    except ValueError as error:
        raise MeasurementError(f"{path}: {error}") from None


def _read(document: Any) -> Measurement:
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise ValueError(f"not a saved measurement ({_FORMAT!r} expected)")
    builds = document.get("builds")
    if not isinstance(builds, list):
        raise ValueError("builds: a list expected")
    features = document.get("features")
    if not isinstance(features, dict):
        raise ValueError("features: an object expected")
    return Measurement(
        title=_text(document, "title"),
        library=_text(document, "library"),
        versions=_texts(document.get("versions"), "versions"),
        builds=tuple(_build(build, f"builds[{index}]") for index, build in enumerate(builds)),
        features={kind: frozenset(_names(kind, names)) for kind, names in features.items()},
        missing=_reasons(document.get("missing")),
        root=_text(document, "root"),
    )


def _text(document: Mapping[str, Any], key: str, place: str = "") -> str:
    value = document.get(key)
    if not isinstance(value, str):
        raise ValueError(f"{place}{key}: a text expected")
    return value


def _texts(value: Any, place: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{place}: a list of texts expected")
    return tuple(value)


def _names(kind: str, value: Any) -> tuple[str, ...]:
    """The names of one kind's features, each in its form."""
    names = _texts(value, f"features.{kind}")
    form = _FORMS.get(kind)
    for name in names:
        if form is not None and not form.fullmatch(name):
            raise ValueError(f"features.{kind}: {name!r} is no name of a {kind}")
    return names


def _build(document: Any, place: str) -> Build:
    if not isinstance(document, dict):
        raise ValueError(f"{place}: an object expected")
    return Build(*(_text(document, key, f"{place}.") for key in Build._fields))


def _reasons(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise ValueError("missing: an object of texts expected")
    return dict(value)


def merge_all(measurements: Iterable[Measurement]) -> Measurement:
    """All of them together; raises MeasurementError for none, or for different builds."""
    together: Measurement | None = None
    for measurement in measurements:
        together = measurement if together is None else together.merged(measurement)
    if together is None:
        raise MeasurementError("nothing to merge")
    return together
