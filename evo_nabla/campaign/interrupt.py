"""Ctrl-C and SIGTERM: the first asks the campaign to stop, the second ends the program at once."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType, TracebackType

INTERRUPTED = 130
_LEAVE_SCREEN = "\x1b[?1049l\x1b[?25h\n"


class Interrupt:
    """While open, the first SIGINT or SIGTERM calls `stop`, or raises KeyboardInterrupt while there is nothing to stop.

    The second one ends the process without any clean-up: the store is whole at every moment, and workers die with
    their driver.
    """

    _SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.stop: Callable[[], None] | None = None
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
            if sys.stdout.isatty():
                os.write(sys.stdout.fileno(), _LEAVE_SCREEN.encode())
            os._exit(INTERRUPTED)
        self._asked = True
        if self.stop is None:
            raise KeyboardInterrupt
        self.stop()
