"""A campaign's driver that is killed by the test: it logs every committed call, flushed to disk, after its commit."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from evo_nabla.campaign.budget import Budget
from evo_nabla.campaign.monitors import PlainMonitor
from evo_nabla.campaign.opening import open_campaign
from evo_nabla.corpus.store import Generation, Store


class LoggingStore:
    """Passes everything on to the store; `commit` writes the generation and its calls to a log once it is through."""

    def __init__(self, commit: Any, log: Path) -> None:
        self._commit = commit
        self._file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def __call__(self, store: Store, generation: Generation) -> None:
        self._commit(store, generation)
        lines = [f"generation {generation.number}", *(f"entry {entry.hash}" for entry in generation.entries)]
        os.write(self._file, "".join(f"{line}\n" for line in lines).encode())
        os.fsync(self._file)


def main(folder: Path, seeds: str, log: Path, apis: list[str]) -> None:
    """Fuzz until killed."""
    logging = LoggingStore(Store.commit, log)

    def commit(self: Store, generation: Generation) -> None:
        logging(self, generation)

    Store.commit = commit  # type: ignore[method-assign]
    given = {"workers": 1, "order": 1, "apis": tuple(apis), "seeds": seeds}
    with open_campaign(folder, "torch", given, budget=Budget(), monitor=PlainMonitor()) as campaign:
        campaign.run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), sys.argv[4:])
