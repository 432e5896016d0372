"""The settings of a campaign, what of them is fixed once it has begun, and how a resumed one takes them up again."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from .errors import CampaignError

LIBRARIES = ("torch",)
STRATEGIES = ("evo", "freefuzz", "random")
DEVICES = ("cpu",)
OBSERVERS = ("line", "native", "gcov")
DEFAULT_OBSERVERS = ("line", "native")
DEFAULT_HOME = Path("corpus")
DEFAULT_ORDER = 2
MAX_ORDER = 4
MAX_WORKERS = 256


@dataclass(frozen=True)
class CampaignSettings:
    """What a campaign fuzzes and how.

    `python` is the target's interpreter, `paths` go in front of its import path, `apis` are globs over API names
    (empty: every API that has seeds), `seeds` is a JSONL file of calls used beside or instead of the library's own,
    `observers` are the kinds of coverage that are measured.
    """

    library: str
    python: str = sys.executable
    paths: tuple[str, ...] = ()
    apis: tuple[str, ...] = ()
    seeds: str | None = None
    order: int = DEFAULT_ORDER
    workers: int = 1
    seed: int = 0
    strategy: str = "evo"
    device: str = "cpu"
    observers: tuple[str, ...] = DEFAULT_OBSERVERS

    def __post_init__(self) -> None:
        require_library(self.library)
        _one_of("strategy", self.strategy, STRATEGIES)
        _one_of("device", self.device, DEVICES)
        for observer in self.observers:
            _one_of("observer", observer, OBSERVERS)
        if not 1 <= self.order <= MAX_ORDER:
            raise CampaignError(f"order {self.order}: orders 1 to {MAX_ORDER} can be checked")
        if not 1 <= self.workers <= MAX_WORKERS:
            raise CampaignError(f"workers {self.workers}: give 1 to {MAX_WORKERS}")
        if not 0 <= self.seed < 2**63:
            raise CampaignError(f"seed {self.seed}: give 0 to 2**63 - 1")

    def to_json(self) -> dict[str, Any]:
        """The settings as the store keeps them."""
        document: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        return {key: list(value) if isinstance(value, tuple) else value for key, value in document.items()}


# Another value of one of these makes another campaign: what was measured so far would mean something else.
FIXED = ("library", "python", "paths", "apis", "seeds", "order", "seed", "strategy", "device", "observers")


def default_workers() -> int:
    """One worker for each core this process may use."""
    return len(os.sched_getaffinity(0))


def new_settings(library: str, given: Mapping[str, Any]) -> CampaignSettings:
    """The settings of a new campaign: what was `given` on the command line, defaults for the rest."""
    chosen = {"workers": default_workers(), **{key: value for key, value in given.items() if value is not None}}
    return CampaignSettings(library=library, **chosen)


def resumed_settings(stored: Mapping[str, Any], library: str, given: Mapping[str, Any]) -> CampaignSettings:
    """The settings of a campaign taken up again: the `stored` ones, and the workers that were `given`.

    Raises CampaignError when something else than the workers is given and differs.
    """
    names = {field.name for field in fields(CampaignSettings)}
    kept: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in stored.items() if key in names
    }
    settings = CampaignSettings(**kept)
    for key, value in {"library": library, **given}.items():
        if key in FIXED and value is not None and value != getattr(settings, key):
            raise CampaignError(
                f"this campaign was begun with {key} {_shown(getattr(settings, key))}, not {_shown(value)}; "
                "use another --folder, or --fresh to start anew"
            )
    workers = given.get("workers")
    return settings if workers is None else replace(settings, workers=workers)


def chosen_observers(kinds: Sequence[str] | None) -> tuple[str, ...] | None:
    """The observers that the user named, in whatever order and however often; None for none. Raises CampaignError."""
    for kind in kinds or ():
        _one_of("observer", kind, OBSERVERS)
    return tuple(kind for kind in OBSERVERS if kind in kinds) if kinds else None


def require_library(library: str) -> None:
    """Raise CampaignError for a library that this version does not fuzz."""
    _one_of("library", library, LIBRARIES)


def default_folder(library: str) -> Path:
    """Where a library's campaign lives unless the user says otherwise."""
    return DEFAULT_HOME / library


def _one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise CampaignError(f"{name} {value!r}: choose from {', '.join(choices)}")


def _shown(value: object) -> str:
    return " ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)
