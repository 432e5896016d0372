"""What a worker is told when it starts: which library, where, what to measure and how far it may go."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Limits:
    """How much one call may use."""

    seconds: float = 10.0
    memory_mb: int = 4096
    elements_in: int = 2**14  # differentiated; a call with more is run plainly and not judged further
    elements_out: int = 2**16
    start_seconds: float = 120.0  # for a worker, to import its library


@dataclass(frozen=True)
class WorkerSettings:
    """One target and the way it is run."""

    python: Path
    library: str
    paths: tuple[Path, ...] = ()
    observers: tuple[str, ...] = ("line",)
    order: int = 2
    limits: Limits = field(default_factory=Limits)
    seed: int = 0
    device: str = "cpu"

    def to_command(self) -> dict[str, Any]:
        """The `configure` frame."""
        return {
            "kind": "configure",
            "library": self.library,
            "paths": [str(path.resolve()) for path in self.paths],
            "device": self.device,
            "order": self.order,
            "observers": list(self.observers),
            "limits": asdict(self.limits),
            "seed": self.seed,
        }
