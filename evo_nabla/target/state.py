"""Python's and NumPy's own global state: noted once, put back after every call that changed it."""

from __future__ import annotations

import builtins
import decimal
import faulthandler
import gc
import locale
import os
import random
import signal
import socket
import sys
import threading
import warnings
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

import numpy as np

from .frames import raise_descriptor

# Handlers for these are what a call may leave behind and what would hurt the next one; asking for all 64 costs 50 µs.
_SIGNALS = [
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGPIPE, signal.SIGCHLD,
    signal.SIGUSR1, signal.SIGUSR2, signal.SIGPROF, signal.SIGVTALRM,
]  # fmt: skip
_TIMERS = [signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF]


class _Setting(NamedTuple):
    """One piece of global state: how to read it as a value that compares, and how to put a value back."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], Any]


def _attribute(owner: Any, name: str) -> _Setting:
    return _Setting(f"{owner.__name__}.{name}", lambda: getattr(owner, name), lambda value: setattr(owner, name, value))


def _write_environment(saved: Dict[bytes, bytes]) -> None:
    for name in set(os.environb) - set(saved):
        del os.environb[name]
    os.environb.update(saved)


def _write_path(saved: Tuple[str, ...]) -> None:
    sys.path[:] = saved


def _write_filters(saved: Tuple[Any, ...]) -> None:
    warnings.resetwarnings()
    warnings.filters[:] = list(saved)  # type: ignore[index]


def _write_precision(digits: int) -> None:
    decimal.getcontext().prec = digits


def _write_handlers(saved: List[Any]) -> None:
    for number, handler in zip(_SIGNALS, saved):
        signal.signal(number, handler if handler is not None else signal.SIG_DFL)


def _stop_timers(_: Any) -> None:
    for timer in _TIMERS:
        signal.setitimer(timer, 0.0)


def _print_options() -> Dict[str, Any]:
    # NumPy 2 reports override_repr and refuses to be given it back.
    return {name: value for name, value in np.get_printoptions().items() if name != "override_repr"}


def _settings(folder: str) -> List[_Setting]:
    settings = [
        _Setting("working folder", _folder, lambda _: _enter(folder)),
        _Setting("environment", lambda: dict(os.environb.items()), _write_environment),
        _Setting("sys.path", lambda: tuple(sys.path), _write_path),
        _Setting("recursion limit", sys.getrecursionlimit, sys.setrecursionlimit),
        _Setting("switch interval", sys.getswitchinterval, sys.setswitchinterval),
        _Setting("warning filters", lambda: tuple(warnings.filters), _write_filters),
        _Setting("signal handlers", lambda: [signal.getsignal(number) for number in _SIGNALS], _write_handlers),
        _Setting("timers", lambda: [signal.getitimer(timer)[0] for timer in _TIMERS], _stop_timers),
        _Setting("profiler", sys.getprofile, sys.setprofile),
        _Setting("garbage collection", gc.isenabled, lambda on: gc.enable() if on else gc.disable()),
        _Setting("locale", lambda: locale.setlocale(locale.LC_ALL), lambda name: locale.setlocale(locale.LC_ALL, name)),
        _Setting("socket timeout", socket.getdefaulttimeout, socket.setdefaulttimeout),
        _Setting("decimal precision", lambda: decimal.getcontext().prec, _write_precision),
        _Setting("NumPy errors", np.geterr, lambda saved: np.seterr(**saved)),
        _Setting("NumPy printing", _print_options, lambda saved: np.set_printoptions(**saved)),
    ]  # fmt: skip
    names = ("stdin", "stdout", "stderr", "excepthook", "displayhook", "unraisablehook")
    settings += [_attribute(sys, name) for name in names]
    settings += [_attribute(threading, "excepthook"), _attribute(warnings, "showwarning")]
    settings += [_attribute(builtins, name) for name in ("print", "open", "input", "__import__")]
    return settings


def _enter(folder: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)  # the call may have removed it
    os.chdir(folder)


def _folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 — Path.cwd() takes three times as long, at every call
    except OSError:
        return ""  # the call removed it


class GlobalState:
    """A picture of the state as it should be; `restore` puts back what differs."""

    def __init__(self, folder: str) -> None:
        """`folder` becomes the working folder of every call."""
        _enter(folder)
        self._saved = [(setting, setting.read()) for setting in _settings(folder)]
        self._umask = os.umask(0o077)
        self._descriptors = [(number, raise_descriptor(os.dup(number)), _identity(number)) for number in (0, 1, 2)]
        self._faults = raise_descriptor(os.dup(2))
        faulthandler.enable(self._faults)

    def seed(self, number: int) -> None:
        """Seed Python's and NumPy's generators, so that a call draws the same whatever ran before it."""
        random.seed(number)
        np.random.seed(number)

    def restore(self) -> List[str]:
        """Put back what a call changed; returns the names of what had changed."""
        changed = []
        for setting, saved in self._saved:
            if setting.read() != saved:
                setting.write(saved)
                changed.append(setting.name)
        if os.umask(0o077) != 0o077:
            changed.append("umask")
        for number, copy, identity in self._descriptors:
            if _identity(number) != identity:
                os.dup2(copy, number)
                changed.append(f"descriptor {number}")
        if not faulthandler.is_enabled():
            faulthandler.enable(self._faults)
            changed.append("fault handler")
        return changed


def _identity(descriptor: int) -> Tuple[int, int]:
    try:
        status = os.fstat(descriptor)
    except OSError:
        return (-1, -1)
    return (status.st_dev, status.st_ino)
