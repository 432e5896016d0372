"""What the commands print with: results on standard output, messages on standard error."""

from __future__ import annotations

import json
import sys
from typing import Any

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
    print(f"evo-nabla: {line}", file=sys.stderr, flush=True)
