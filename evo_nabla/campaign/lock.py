"""The lock on a campaign's folder: one writer at a time, and the second is told who the first is."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from pathlib import Path
from types import TracebackType
from typing import IO

from .errors import LockedError
from .place import make, naming

LOCK_NAME = "lock"


class CampaignLock:
    """An advisory lock (flock) on `folder`/lock; the kernel drops it when its holder dies, however it dies.

    The file stays after release: removing it would let two writers hold locks on two files of one name.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK_NAME
        self._file: IO[str] | None = None

    def acquire(self) -> None:
        """Take the lock, or raise LockedError naming the holder, or CampaignError where there can be no lock."""
        make(self._path.parent)
        with naming(self._path.parent):
            file = self._path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _holder(file)
            file.close()
            raise LockedError(
                f"{self._path.parent} is being fuzzed by {holder}; wait, stop that process, or use another --folder"
            ) from None
        file.seek(0)
        file.truncate()
        json.dump({"pid": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%F %T")}, file)
        file.flush()
        self._file = file

    def release(self) -> None:
        """Give the lock back; a second release does nothing."""
        if self._file is not None:
            self._file.seek(0)
            self._file.truncate()
            self._file.close()
            self._file = None

    def __enter__(self) -> CampaignLock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _holder(file: IO[str]) -> str:
    """Who holds the lock, as far as the file tells: it is empty for the instant between locking and writing."""
    file.seek(0)
    try:
        holder = json.load(file)
        return f"process {int(holder['pid'])} on {holder['host']} since {holder['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process"
