"""What the kernel holds the worker to: memory, file size, core dumps, priority, and dying with the driver."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys

_MAX_FILE_BYTES = (
    256 * 1024 * 1024
)  # a call that writes without end into the worker's own folder must not fill the disk
_NICENESS = 5  # the driver, which holds the clock, must be scheduled first
_PR_SET_PDEATHSIG = 1


def die_with_driver() -> None:
    """Have the kernel kill this process when the driver ends, even in the middle of an endless call (Linux only;
    elsewhere the closed command pipe ends the worker after the call)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def bound_files() -> None:
    """No core dumps, no endless files, a lower priority. Python ignores SIGXFSZ: a write beyond is an OSError."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _lower(resource.RLIMIT_FSIZE, _MAX_FILE_BYTES)
    os.nice(_NICENESS)


def bound_memory(megabytes: int) -> None:
    """Bound the private writable memory of this process; beyond it allocations fail, which libraries report as an
    ordinary error of the call.

    RLIMIT_DATA and not RLIMIT_AS: the address space also counts read-only mappings of libraries and the reserved,
    untouched 64 MB arena of every thread (torch 1.11: 1.5 GB mapped, 0.12 GB of it data). What RLIMIT_DATA does not
    see (shared mappings, kernels older than 4.7) the driver finds by watching the resident size.
    """
    _lower(resource.RLIMIT_DATA, megabytes * 1024 * 1024)


def _lower(which: int, wanted: int) -> None:
    _, hard = resource.getrlimit(which)
    bound = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(which, (bound, bound))
