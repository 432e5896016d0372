"""The error that the store raises: one line that names the store and what to do."""

from __future__ import annotations


class StoreError(Exception):
    """A store that cannot be opened, read or written, or that is not a campaign's."""
