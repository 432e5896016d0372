"""Tests of the lock: one writer, a clear refusal, and no lock left behind by the dead."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evo_nabla.campaign.errors import LockedError
from evo_nabla.campaign.lock import CampaignLock

HOLDER = """
import sys, time
from pathlib import Path
from evo_nabla.campaign.lock import CampaignLock
with CampaignLock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_writer_is_told_who_the_first_is_and_the_kernel_frees_a_dead_ones_lock(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(LockedError, match=f"process {holder.pid} on "), CampaignLock(tmp_path):
            pass
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        with CampaignLock(tmp_path):
            pass


def test_a_lock_can_be_taken_again_after_release(tmp_path: Path) -> None:
    lock = CampaignLock(tmp_path / "new")
    for _ in range(2):
        lock.acquire()
        with pytest.raises(LockedError, match=str(os.getpid())):
            CampaignLock(tmp_path / "new").acquire()
        lock.release()
        lock.release()
