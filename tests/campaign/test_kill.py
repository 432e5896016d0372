"""SIGKILL at random moments: the store stays whole, and nothing that was committed is lost."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evo_nabla.corpus.integrity import check_store
from evo_nabla.corpus.store import Store, sqlite_url

from .conftest import APIS

DRIVER = Path(__file__).with_name("kill_driver.py")
KILLS = 20
# No session is waited for longer than this, in seconds; one that commits nothing fails the test.
PATIENCE = 60.0


def log_lines(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def session(folder: Path, seeds: Path, log: Path, until: int | None, extra: float) -> None:
    """Run a driver until its log has more than `until` lines (None: at once), then `extra` seconds more; kill it."""
    command = [sys.executable, str(DRIVER), str(folder), str(seeds), str(log), *APIS]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    output = log.with_suffix(".out").open("ab")
    with output, subprocess.Popen(command, env=environment, stdout=output, stderr=output) as driver:
        deadline = time.monotonic() + PATIENCE
        while until is not None and len(log_lines(log)) <= until:
            assert driver.poll() is None, log.with_suffix(".out").read_text()
            assert time.monotonic() < deadline, "the driver commits nothing"
            time.sleep(0.01)
        time.sleep(extra)
        driver.kill()


@pytest.mark.slow
def test_killed_twenty_times_it_loses_nothing_committed(tmp_path: Path, seeds_file: Path) -> None:
    folder, log = tmp_path / "campaign", tmp_path / "commits"
    chance = random.Random(20)
    committed: set[str] = set()
    for number in range(KILLS):
        # Most kills fall among commits; every fourth at any moment of the start.
        starting = number % 4 == 3
        until = None if starting else len(log_lines(log))
        session(folder, seeds_file, log, until, chance.uniform(0.0, 2.0 if starting else 0.3))
        lines = log_lines(log)
        committed |= {line.split()[1] for line in lines if line.startswith("entry ")}
        last = max(int(line.split()[1]) for line in lines if line.startswith("generation "))
        with Store(sqlite_url(folder / "campaign.sqlite"), create=False) as store:
            assert check_store(store) == []
            assert committed <= store.entry_features().keys()
            # At most the generation whose commit was through before it was logged is more than the log says.
            assert last <= store.state("generation") <= last + 1
    assert committed
    assert last >= KILLS * 3 // 4
