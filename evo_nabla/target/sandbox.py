"""Landlock: from here on this process may write nowhere but into its own folder, and opens no TCP connection.

Ownership and times (chmod, chown, utime) are outside what Landlock can refuse; the deny list covers their callers.
Source of the numbers: linux/landlock.h and Documentation/userspace-api/landlock.rst.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from pathlib import Path
from typing import List, Tuple

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_WRITE_FILE = 1 << 1
# remove_dir, remove_file, make_char, make_dir, make_reg, make_sock, make_fifo, make_block, make_sym
_CHANGE_FOLDERS = sum(1 << bit for bit in range(4, 13))
_REFER = 1 << 13  # since ABI 2
_TRUNCATE = 1 << 14  # since ABI 3
_TCP = 0b11  # bind and connect, since ABI 4
_SCOPES = 0b11  # abstract Unix sockets and signals to processes outside, since ABI 6


class _RulesetAttributes(ctypes.Structure):
    _fields_ = [("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("access", ctypes.c_uint64), ("parent", ctypes.c_int32)]


class _RefusedError(OSError):
    """A system call that failed."""


def enter(folder: str, device: str) -> str:
    """Restrict this thread and all it starts later; returns "landlock abi N", or "none: " and why not.

    Call it before the library is imported: threads that exist already stay free.
    /dev/null stays writable. /dev/shm does not: only multiprocessing (denied) and some OpenMP runtimes (which do
    without) use it, and what lies there belongs to other programs. An accelerator's device files need both.
    """
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64", "riscv64", "ppc64le", "s390x"):
        return f"none: no Landlock on {sys.platform} {platform.machine()}"
    writable = [(folder, True), ("/dev/null", False)]
    if device != "cpu":
        writable += [("/dev", False), ("/dev/shm", True)]
    try:
        return f"landlock abi {_restrict(writable)}"
    except OSError as error:
        return f"none: {error.strerror}"


def _restrict(writable: List[Tuple[str, bool]]) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long

    def system(what: str, *arguments: object) -> int:
        result = int(libc.syscall(*(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments)))
        if result < 0:
            number = ctypes.get_errno()
            raise _RefusedError(number, f"{what}: {os.strerror(number)}")
        return result

    abi = system("Landlock", _CREATE_RULESET, 0, 0, _VERSION_FLAG)
    attributes, size = _ruleset(abi)
    ruleset = system("landlock_create_ruleset", _CREATE_RULESET, ctypes.byref(attributes), size, 0)
    try:
        for path, everything in writable:
            access = attributes.fs if everything else attributes.fs & (_WRITE_FILE | _TRUNCATE)
            _allow(system, ruleset, path, access)
        if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            raise _RefusedError(ctypes.get_errno(), "no_new_privs was refused")
        system("landlock_restrict_self", _RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return abi


def _ruleset(abi: int) -> Tuple[_RulesetAttributes, int]:
    """The rights to take away that this ABI knows, and the size of the structure that it knows, in bytes."""
    rights = _WRITE_FILE | _CHANGE_FOLDERS
    rights |= _REFER if abi >= 2 else 0
    rights |= _TRUNCATE if abi >= 3 else 0
    attributes = _RulesetAttributes(rights, _TCP if abi >= 4 else 0, _SCOPES if abi >= 6 else 0)
    return attributes, 24 if abi >= 6 else 16 if abi >= 4 else 8


def _allow(system: object, ruleset: int, path: str, access: int) -> None:
    if not Path(path).exists():
        return
    parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = _PathBeneath(access, parent)
        system("landlock_add_rule", _ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)  # type: ignore[operator]
    finally:
        os.close(parent)
