"""Work done in a forked copy of this process, so that a crash or a hang in it costs only that piece."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import time
from typing import Any, Callable, Dict, Iterator

Message = Dict[str, Any]
Send = Callable[[Message], None]


class LostError(RuntimeError):
    """The copy died or took too long; what it had sent until then has been handed over."""


def isolated(work: Callable[[Send], None], seconds: float) -> Iterator[Message]:
    """Runs `work(send)` in a forked copy and yields the JSON messages it sends, in order.

    Raises LostError after the last message when the copy ended in another way than by returning within `seconds`.
    The caller should have no other threads in the library at work: a fork copies only this one.
    """
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(source)
        _run(work, sink)
    os.close(sink)
    pending, late = b"", False
    deadline = time.monotonic() + seconds
    try:
        while True:
            ready, _, _ = select.select([source], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(source, 1 << 16) if ready else b""
            if not chunk:
                late = not ready
                break
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                yield json.loads(line)
    finally:
        os.close(source)
        if late or pending:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if late:
        raise LostError(f"no end within {seconds:g} s")
    if os.WIFSIGNALED(status):
        raise LostError(signal.Signals(os.WTERMSIG(status)).name)
    if os.WEXITSTATUS(status):
        raise LostError(f"exit status {os.WEXITSTATUS(status)}")


def _run(work: Callable[[Send], None], sink: int) -> None:
    """The copy's whole life: it must not return into the caller's code, nor flush the caller's buffers again."""
    status = 1
    try:
        with os.fdopen(sink, "wb") as stream:
            work(lambda message: _write(stream, message))
        status = 0
    finally:
        os._exit(status)


def _write(stream: Any, message: Message) -> None:
    stream.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
    stream.flush()  # what was sent before a crash counts
