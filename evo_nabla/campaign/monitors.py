"""Monitors: where a running campaign's snapshots go, a live screen, lines of a log, or lines of JSON."""

from __future__ import annotations

import json
import sys
import time
from types import TracebackType
from typing import Protocol, TextIO

from rich.console import Console
from rich.live import Live

from .budget import duration
from .progress import Progress
from .screen import render


class Monitor(Protocol):
    """Something that shows snapshots; the campaign calls `show` often, and each monitor keeps its own pace."""

    def __enter__(self) -> Monitor: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def due(self) -> bool:
        """Whether a snapshot would be shown now: making one costs time."""
        ...

    def show(self, progress: Progress) -> None:
        """Show a snapshot now."""
        ...


class _Paced:
    """Keeps a monitor to one snapshot every `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._next = 0.0

    def due(self) -> bool:
        """Whether `seconds` have passed since the last snapshot."""
        if time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + self._seconds
        return True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """A log needs no end."""


class ScreenMonitor(_Paced):
    """A live screen of the whole terminal, twice a second."""

    def __init__(self, console: Console) -> None:
        super().__init__(0.5)
        self._live = Live(console=console, screen=True, auto_refresh=False)
        self._console = console

    def __enter__(self) -> ScreenMonitor:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def show(self, progress: Progress) -> None:
        """Draw the snapshot over the last one."""
        self._live.update(render(progress, self._console.width, self._console.height), refresh=True)


class PlainMonitor(_Paced):
    """One line of text every `seconds`, for logs and pipes."""

    def __init__(self, seconds: float = 5.0, file: TextIO | None = None) -> None:
        super().__init__(seconds)
        self._file = file or sys.stdout

    def __enter__(self) -> PlainMonitor:
        return self

    def show(self, progress: Progress) -> None:
        """Write the snapshot as one line."""
        print(plain_line(progress), file=self._file, flush=True)


class JsonMonitor(_Paced):
    """One JSON object a line every `seconds`, for programs."""

    def __init__(self, seconds: float = 5.0, file: TextIO | None = None) -> None:
        super().__init__(seconds)
        self._file = file or sys.stdout

    def __enter__(self) -> JsonMonitor:
        return self

    def show(self, progress: Progress) -> None:
        """Write the snapshot as one JSON object."""
        print(json.dumps({"event": "progress", **progress.to_json()}), file=self._file, flush=True)


def plain_line(progress: Progress) -> str:
    """The snapshot in one line: the numbers a reader of a log looks for first."""
    features = " ".join(f"{kind}={count}" for kind, count in sorted(progress.features.items())) or "none"
    parts = [
        duration(progress.seconds),
        progress.phase,
        f"calls={progress.calls}",
        f"per_second={progress.calls_per_second:.0f}",
        f"valid={progress.valid_rate:.1%}",
        f"differentiated={progress.differentiated_rate:.1%}",
        f"apis={progress.visited}/{progress.apis}",
        f"generation={progress.generation}",
        f"corpus={progress.entries}",
        f"features: {features}",
        f"findings={sum(progress.findings.values())} (confirmed {progress.confirmed}, pending {progress.pending})",
        f"restarts={progress.restarts} crashes={progress.crashes} hangs={progress.hangs}",
    ]
    return " | ".join([*parts, progress.notice] if progress.notice else parts)
