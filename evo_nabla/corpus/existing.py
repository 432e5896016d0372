"""Looks at a SQLite file before a store opens it: a campaign's, one only just begun, or a file to keep away from."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path

from .errors import StoreError
from .tables import Base

ADVICE = "start anew with --fresh, which moves it aside, or use another --folder"
# What SQLite says of a file that is not one of its own, or no longer whole.
DAMAGED = ("file is not a database", "malformed", "unsupported file format", "no such table", "no such column")


def require_ours(path: Path, version: int) -> None:
    """Raise StoreError for a file that is no campaign's store, or one of another version; it is not written to.

    Opening it as a store would already change another program's database: the write-ahead log is a property of the
    file. A file without tables is left to the caller.
    """
    try:
        # Quoted as a URI, so that a path with a question mark names no option.
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            names = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            found = _version(connection) if "setting" in names else None
    except sqlite3.OperationalError:
        return  # locked, or not to be opened at all: the store's own opening says so
    except sqlite3.DatabaseError as error:
        raise StoreError(damaged(path, str(error))) from None
    if found is None and not names <= Base.metadata.tables.keys():
        raise StoreError(f"{path} is another program's database, no campaign's store; {ADVICE}")
    if found is not None and found != version:
        raise StoreError(f"{path}: schema version {found}, this evo_nabla reads {version}; {ADVICE}")


def _version(connection: sqlite3.Connection) -> object:
    """The schema version among the settings; None where there is none, or the settings are not a campaign's."""
    try:
        row = connection.execute("SELECT value FROM setting WHERE key = 'schema'").fetchone()
        return None if row is None else json.loads(row[0])
    except (sqlite3.OperationalError, ValueError, TypeError):
        return None


def damaged(path: Path, problem: str) -> str:
    """The line about a file that SQLite or the store cannot read."""
    return f"{path} is damaged, or no campaign's store ({problem}); {ADVICE}"
