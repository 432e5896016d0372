"""What the commands print with: results on standard output, messages on standard error."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from rich.console import Console

console = Console(highlight=False)
messages = Console(stderr=True, highlight=False)


def print_json(document: Any, *, indent: int | None = 2) -> None:
    """Write a JSON document; `indent=None` puts it on one line."""
    print(json.dumps(document, indent=indent, allow_nan=False), flush=True)


def note(text: str) -> None:
    """Tell the user something that is no result."""
    messages.print(text, style="yellow", markup=False, soft_wrap=True)


def complain(text: str) -> None:
    """Tell the user what is wrong, in one line."""
    line = " ".join(text.split())
    with contextlib.suppress(OSError):  # there is nowhere left to say that standard error cannot be written
        print(f"evo-nabla: {line}", file=sys.stderr, flush=True)


def describe(error: OSError) -> str:
    """An error of the operating system in words: what could not be used, and why."""
    problem = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {problem}" if error.filename is not None else problem


class OutputError(OSError):
    """Standard output cannot be written; the message says why and what to do."""


class StandardOutput:
    """Standard output, whose own errors are told from those of files; a closed pipe stays one, at which Typer ends."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with self._own_errors():
            return self._stream.write(text)

    def flush(self) -> None:
        with self._own_errors():
            self._stream.flush()

    def give_up(self) -> None:
        """Drop what could not be written, or the interpreter would fail once more when it ends."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @contextlib.contextmanager
    def _own_errors(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            advice = (
                "make room there, or send the output elsewhere" if error.errno == errno.ENOSPC else "send it elsewhere"
            )
            raise OutputError(f"standard output cannot be written: {describe(error)}; {advice}") from error
