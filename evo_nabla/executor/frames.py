"""The driver's end of the wire: encodes commands, and takes a worker's bytes apart without trusting them."""

from __future__ import annotations

import json
import struct
from typing import Any

from .errors import WorkerGarbledError

MAX_FRAME = 64 * 1024 * 1024  # bytes
_LENGTH = struct.Struct("<I")


def encode(command: dict[str, Any]) -> bytes:
    """One frame; raises ValueError for non-finite numbers, which calls write as {"float": "nan"}."""
    payload = json.dumps(command, allow_nan=False, separators=(",", ":")).encode("utf-8")
    if len(payload) > MAX_FRAME:
        raise ValueError(f"a batch of {len(payload)} bytes is more than a frame holds ({MAX_FRAME}): make it smaller")
    return _LENGTH.pack(len(payload)) + payload


class Decoder:
    """Bytes in, documents out."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """Add what was read from the pipe."""
        self._buffer += data

    def next(self) -> dict[str, Any] | None:
        """The next whole frame, or None if more bytes are needed; raises WorkerGarbledError."""
        if len(self._buffer) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._buffer)
        if length > MAX_FRAME:
            raise WorkerGarbledError(f"the worker announced a frame of {length} bytes")
        end = _LENGTH.size + length
        if len(self._buffer) < end:
            return None
        payload = bytes(self._buffer[_LENGTH.size : end])
        del self._buffer[:end]
        return _document(payload)


def _document(payload: bytes) -> dict[str, Any]:
    try:
        document = json.loads(payload, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise WorkerGarbledError(f"the worker sent a frame that is not JSON: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("kind"), str):
        raise WorkerGarbledError("the worker sent a frame without a kind")
    return document


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
