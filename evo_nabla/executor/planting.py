"""Native probes seen from the driver: who decides where to plant, and how a worker's hits become features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from .errors import WorkerGarbledError, WorkerStartError
from .process import Process
from .reading import Fields, integer, sequence, text
from .report import Report

_NATIVE = ("function", "block")
_HITS = "native"  # the kind of features that are hits, not yet translated
_SECONDS = 60.0  # for planting a million probes on a busy machine

Offsets = Path | Sequence[int]  # a file of NumPy's format, or the addresses themselves


@dataclass(frozen=True)
class NativeModule:
    """A shared object that a worker has loaded; `bias` is what its loader added to the file's addresses."""

    name: str
    path: str
    build_id: str
    bias: int

    @classmethod
    def from_json(cls, document: object, place: str = "module") -> NativeModule:
        """Read one; raises ValueError naming the place."""
        fields = Fields(document, place)
        return cls(
            name=fields.read("name", text),
            path=fields.read("path", text),
            build_id=fields.read("build_id", text),
            bias=fields.read("bias", integer),
        )


def native_modules(document: object, place: str) -> tuple[NativeModule, ...]:
    """The field `native` of a `ready` frame."""
    return Fields(document, place).read("modules", sequence(NativeModule.from_json))


class Planter(Protocol):
    """The campaign's map of native code. Workers ask it from their threads."""

    def plan(self, modules: Sequence[NativeModule]) -> Mapping[str, Offsets]:
        """Where to plant in a worker that has just started, by module: whatever the campaign has not seen yet."""
        ...

    def translate(
        self, modules: Sequence[NativeModule], hits: Mapping[str, Sequence[str]]
    ) -> tuple[Mapping[str, Mapping[str, Sequence[str]]], Mapping[str, Sequence[int]]]:
        """Hits by mode: the features they are, by kind and mode, and where to plant in this worker now that it has
        reached new functions. Raises ValueError for what cannot be a hit."""
        ...


class Plants:
    """The probes of one worker process."""

    def __init__(self, process: Process, planter: Planter, modules: Sequence[NativeModule]) -> None:
        """Plant what the planter says; raises WorkerStartError or WorkerLostError."""
        self._process = process
        self._planter = planter
        self._modules = modules
        self.plant(planter.plan(modules))
        process.settle()  # the pages of code that were written to are the worker's own now

    def plant(self, offsets: Mapping[str, Offsets]) -> int:
        """Plant at these addresses, by module, where nothing is planted; how many were."""
        return self._act("plant", offsets)

    def rearm(self, offsets: Mapping[str, Offsets]) -> int:
        """Have probes that were hit be hit once more; how many."""
        return self._act("rearm", offsets)

    def remove(self, offsets: Mapping[str, Offsets]) -> int:
        """Take probes away; how many."""
        return self._act("remove", offsets)

    def _act(self, how: str, offsets: Mapping[str, Offsets]) -> int:
        modules = [
            {**_planting(name, places), "how": how}
            for name, places in offsets.items()
            if isinstance(places, Path) or places
        ]
        if not modules:
            return 0
        self._process.send({"kind": "plant", "modules": modules})
        answer = self._process.receive(_SECONDS)
        if answer["kind"] == "failed":
            raise WorkerStartError(f"the worker could not plant probes: {answer.get('reason')}")
        if answer["kind"] != "planted":
            raise WorkerGarbledError(f"{answer['kind']!r} in answer to 'plant'")
        try:
            return Fields(answer, "planted").read("count", integer)
        except ValueError as error:
            raise WorkerGarbledError(f"{error}") from None

    def translate(self, report: Report) -> tuple[Report, Mapping[str, Sequence[int]]]:
        """The report with features instead of hits, and where to plant on their account."""
        if _HITS not in report.features:
            return report, {}
        others = replace(report, features={kind: at for kind, at in report.features.items() if kind != _HITS})
        try:
            features, offsets = self._planter.translate(self._modules, report.features[_HITS])
        except ValueError:
            return others, {}  # a call has written over the worker's memory; what it hit is of no use
        return with_features(others, features), offsets


def merged(offsets: Iterable[Mapping[str, Sequence[int]]]) -> dict[str, list[int]]:
    """All addresses of several answers, by module, sorted, each once."""
    gathered: dict[str, set[int]] = {}
    for modules in offsets:
        for name, places in modules.items():
            gathered.setdefault(name, set()).update(places)
    return {name: sorted(places) for name, places in gathered.items()}


def with_features(report: Report, features: Mapping[str, Mapping[str, Sequence[str]]]) -> Report:
    """The report with those of these features that it has not, in whatever mode."""
    together = {kind: dict(modes) for kind, modes in report.features.items()}
    for kind, modes in features.items():
        own = together.setdefault(kind, {})
        known = {name for names in own.values() for name in names}
        for mode, names in modes.items():
            fresh = tuple(name for name in names if name not in known)
            if fresh:
                own[mode] = (*own.get(mode, ()), *fresh)
    return replace(report, features={kind: modes for kind, modes in together.items() if modes})


def native_names(report: Report) -> frozenset[str]:
    """The names of all native features of a translated report."""
    return frozenset(name for kind, name, _ in report.reached() if kind in _NATIVE)


def places_of(names: Iterable[str]) -> dict[str, list[int]]:
    """Addresses by module of native features' names ("libtorch_cpu.so:0x1a2b3c")."""
    found: dict[str, list[int]] = {}
    for name in sorted(names):
        module, _, address = name.rpartition(":")
        found.setdefault(module, []).append(int(address, 16))
    return found


def _planting(name: str, places: Offsets) -> dict[str, Any]:
    if isinstance(places, Path):
        return {"name": name, "file": str(places)}
    return {"name": name, "offsets": list(places)}
