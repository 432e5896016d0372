"""What can be wrong with a shared object that coverage is to be measured in."""

from __future__ import annotations

from pathlib import Path


class ImageError(Exception):
    """A file that cannot be measured; the message names the file and what is wrong with it."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class MeasurementError(Exception):
    """A saved measurement that cannot be read, written or compared; the message says which and why."""
