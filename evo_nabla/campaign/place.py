"""The folder of a campaign: whether it can be used, and its making; errors name it and say what to do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import CampaignError

ADVICE = "choose another folder with --folder"


def require_usable(folder: Path) -> None:
    """Raise CampaignError for a path that cannot become a campaign's folder; nothing is made."""
    with naming(folder):
        existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        what = "it is" if existing == folder else f"{existing} is"
        raise CampaignError(f"{folder} cannot be a campaign's folder: {what} not a folder; {ADVICE}")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise CampaignError(f"{folder} cannot be a campaign's folder: {existing} cannot be written to; {ADVICE}")


def make(folder: Path) -> None:
    """Make the folder, and those above it that are missing. Raises CampaignError."""
    require_usable(folder)
    with naming(folder):
        folder.mkdir(parents=True, exist_ok=True)


@contextmanager
def naming(folder: Path) -> Iterator[None]:
    """Turn what the operating system refuses into one line that names the folder."""
    try:
        yield
    except OSError as error:
        at = "" if error.filename is None or Path(error.filename) == folder else f" ({error.filename})"
        problem = error.strerror or type(error).__name__
        raise CampaignError(f"{folder} cannot be a campaign's folder: {problem}{at}; {ADVICE}") from error
