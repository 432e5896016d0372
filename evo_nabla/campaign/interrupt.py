"""Ctrl-C and SIGTERM: the first asks the campaign to stop, the second ends the program at once."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType, TracebackType


class Interrupt:
    """While open, calls `stop` on the first SIGINT or SIGTERM and raises KeyboardInterrupt on the next."""

    _SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._asked = False
        self._before: dict[int, object] = {}

    def __enter__(self) -> Interrupt:
        self._before = {number: signal.signal(number, self._handle) for number in self._SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
        self._stop()
