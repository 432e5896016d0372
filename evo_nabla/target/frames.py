"""The worker's end of the wire: frames of 4 bytes little-endian length and UTF-8 JSON over two pipes."""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import struct
from typing import Any, Dict, Optional

MAX_FRAME = 64 * 1024 * 1024  # bytes; the driver refuses longer ones too
_LENGTH = struct.Struct("<I")
# Above what libraries open, so that a call which closes or reuses low descriptors does not hit the pipes by accident.
_HIGH_DESCRIPTOR = 200


def raise_descriptor(descriptor: int) -> int:
    """Move a descriptor to a high number, closed on exec; the old number is closed."""
    high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGH_DESCRIPTOR)
    os.close(descriptor)
    return high


class FrameError(Exception):
    """The driver sent what is not a frame; the two ends are out of step and the worker must end."""


class Channel:
    """The two pipes to the driver."""

    def __init__(self, commands: int, reports: int) -> None:
        self._commands = commands
        self._reports = reports

    def receive(self) -> Optional[Dict[str, Any]]:
        """The next frame, or None once the driver has closed its end."""
        head = self._read(_LENGTH.size)
        if not head:
            return None
        (length,) = _LENGTH.unpack(head)
        if length > MAX_FRAME:
            raise FrameError(f"a frame of {length} bytes")
        document = json.loads(self._read(length))
        if not isinstance(document, dict):
            raise FrameError("a frame that is not an object")
        return document

    def send(self, document: Dict[str, Any]) -> None:
        """Write one frame; non-finite numbers become {"float": "nan"}. Raises OSError if the driver has gone."""
        try:
            text = json.dumps(document, allow_nan=False, separators=(",", ":"))
        except ValueError:
            text = json.dumps(_finite(document), allow_nan=False, separators=(",", ":"))
        payload = text.encode("utf-8", "backslashreplace")
        view = memoryview(_LENGTH.pack(len(payload)) + payload)
        while view:
            view = view[os.write(self._reports, view) :]

    def close(self) -> None:
        """Close both ends; for a child process that must not speak for the worker."""
        for descriptor in (self._commands, self._reports):
            with contextlib.suppress(OSError):  # the call that forked may have closed it
                os.close(descriptor)

    def _read(self, count: int) -> bytes:
        parts = []
        while count:
            part = os.read(self._commands, min(count, 1 << 20))
            if not part:
                return b""
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


def _finite(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
