"""What was found out about a library's code, kept in the user's cache folder under the library's build-id.

Only what takes longer to find out than to read: function starts and block leaders. (A symbol table of half a million
rows is read and sorted in a tenth of a second.) A file that is damaged counts as missing, and is written anew.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .elf import Addresses

# A change of what the files mean, or of how leaders are found, begins a new folder.
_FORMAT = "2"
_LIMIT = 1 << 30  # bytes; no file of ours is larger

Leaders = dict[int, tuple[int, ...]]  # by the function's start; the start itself is no leader


def cache_folder() -> Path:
    """$XDG_CACHE_HOME/evo_nabla, or ~/.cache/evo_nabla."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if Path(given).is_absolute() else Path.home() / ".cache") / "evo_nabla"


class Cache:
    """One folder a build-id. Processes may share it: files are replaced whole. A folder that cannot be written to
    only means that everything is found out again."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = (folder if folder is not None else cache_folder()) / f"native-{_FORMAT}"

    def starts(self, build_id: str, text: tuple[int, int]) -> Addresses | None:
        """The function starts inside .text, or None."""
        found = self._read(build_id, "starts")
        if found is None or found.ndim != 1 or not len(found):
            return None
        sound = found[0] >= text[0] and found[-1] < text[1] and bool((found[1:] > found[:-1]).all())
        return found if sound else None

    def keep_starts(self, build_id: str, starts: Addresses) -> None:
        """Keep function starts."""
        self._write(build_id, "starts", starts)

    def leaders(self, build_id: str, text: tuple[int, int]) -> Leaders:
        """The leaders of the functions descended into so far."""
        rows = self._read(build_id, "leaders")
        if rows is None or rows.ndim != 2 or rows.shape[1] != 2:
            return {}
        if not ((rows >= text[0]) & (rows < text[1])).all():
            return {}
        grouped: dict[int, list[int]] = {}
        for start, leader in rows.tolist():
            grouped.setdefault(start, []).append(leader)
        return {start: tuple(sorted({*found} - {start})) for start, found in grouped.items()}

    def keep_leaders(self, build_id: str, text: tuple[int, int], leaders: Leaders) -> None:
        """Keep leaders, with those that another process has kept meanwhile."""
        merged = {**self.leaders(build_id, text), **leaders}
        # A function of a single block is remembered by a row with its own start.
        rows = [(start, leader) for start, found in sorted(merged.items()) for leader in (start, *found)]
        self._write(build_id, "leaders", np.array(rows, np.uint64).reshape(-1, 2))

    def _read(self, build_id: str, name: str) -> NDArray[np.uint64] | None:
        path = self._folder / build_id / f"{name}.npy"
        try:
            if path.stat().st_size > _LIMIT:
                return None
            array = np.load(path, allow_pickle=False)
        except Exception:
            # A damaged header goes through Python's own parser, which may raise anything, TokenError among it.
            return None
        return array if isinstance(array, np.ndarray) and array.dtype == np.uint64 else None

    def _write(self, build_id: str, name: str, array: NDArray[np.uint64]) -> None:
        folder = self._folder / build_id
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(prefix=f".{name}-", suffix=".npy", dir=folder)
            try:
                with os.fdopen(descriptor, "wb") as stream:
                    np.save(stream, array, allow_pickle=False)
                Path(temporary).replace(folder / f"{name}.npy")
            except OSError:
                Path(temporary).unlink(missing_ok=True)
