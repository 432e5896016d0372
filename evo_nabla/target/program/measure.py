"""Measures from the library's import to the program's end: probes and traced lines, told to the driver as they come.

A thread asks twenty times a second what is new, so that a program which is killed or ends by `os._exit` loses no more
than that, and plants the blocks of functions that were reached. A forked child begins anew, with a connection of its
own.
"""

from __future__ import annotations

import atexit
import os
import platform
import socket
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any, Dict, List, Optional

from evo_nabla.target.frames import Channel, raise_descriptor
from evo_nabla.target.observers.core import VARIABLE
from evo_nabla.target.observers.line import LineTables
from evo_nabla.target.observers.native import NativeObserver

MODE = "program"  # the mode of all that a program reaches: it is no mode of the oracle's
_PERIOD = 0.05  # seconds

Json = Dict[str, Any]


def begin(library: ModuleType, settings: Json) -> None:
    """Start to measure; `library` has just been imported. Raises OSError when the driver is not there."""
    measurement = _Measurement(library, settings)
    atexit.register(measurement.end)
    os.register_at_fork(before=measurement.hold, after_in_parent=measurement.release, after_in_child=measurement.renew)
    _end_with_children_of_multiprocessing(measurement)
    measurement.go_on()


def _end_with_children_of_multiprocessing(measurement: _Measurement) -> None:
    """Processes of multiprocessing run no exit handlers but their own."""
    from multiprocessing import util

    util.register_after_fork(measurement, lambda forked: util.Finalize(forked, forked.end, exitpriority=-1000))


class _Measurement:
    """The measuring of this process."""

    def __init__(self, library: ModuleType, settings: Json) -> None:
        self._address = str(settings["socket"])
        self._version = str(getattr(library, "__version__", "unknown"))
        self._lock = threading.Lock()
        self._thread: Optional[threading.Thread] = None
        self._over = threading.Event()
        self._missing: Dict[str, str] = {}
        self._native: Optional[NativeObserver] = None
        self._lines: Optional[LineTables] = None
        package = Path(str(library.__file__)).resolve().parent
        folders, self._root = [str(package)], str(package.parent)
        try:
            self._native = NativeObserver(folders, [])
        except ImportError as error:
            self._missing["native"] = f"{error}"
        if settings["lines"]:
            self._trace(folders)
        self._connect()
        if self._native is not None:
            self._native.enter(MODE)
            self._resume()

    def _trace(self, folders: List[str]) -> None:
        """Begin to trace lines, unless the program does so itself: there is one tracer to a thread."""
        if sys.gettrace() is not None:
            self._missing["line"] = "the program traces itself"
            return
        core = os.environ.get(VARIABLE)
        try:
            self._lines = LineTables(folders, [])
        except ImportError as error:
            self._missing["line"] = f"{error}"
        finally:
            if core is None:  # the program's own affair, and its children's
                os.environ.pop(VARIABLE, None)

    def go_on(self) -> None:
        """Ask twenty times a second from now on."""
        if self._over.is_set():
            return
        self._thread = threading.Thread(target=self._poll, name="evo-nabla coverage", daemon=True)
        self._thread.start()

    def hold(self) -> None:
        """Keep the conversation still while the process forks, or the child would inherit a half of it."""
        self._lock.acquire()

    def release(self) -> None:
        """In the parent, after the fork."""
        self._lock.release()

    def renew(self) -> None:
        """In a child: its parent's connection and thread are not its own."""
        self._lock = threading.Lock()
        self._channel.close()
        try:
            self._connect()
        except OSError:
            self._over.set()
            return
        self.go_on()

    def end(self) -> None:
        """Tell the rest."""
        if self._over.is_set():
            return
        self._over.set()
        self._tell()
        if self._lines is not None:
            self._lines.stop()

    def _connect(self) -> None:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(self._address)
        descriptor = connection.detach()
        self._channel = Channel(raise_descriptor(os.dup(descriptor)), raise_descriptor(descriptor))
        native = {"modules": [module.to_json() for module in self._native.modules]} if self._native else None
        self._channel.send(
            {
                "kind": "measured",
                "pid": os.getpid(),
                "version": self._version,
                "python": platform.python_version(),
                "missing": self._missing,
                "root": self._root,
                "native": native,
            }
        )
        self._plant()

    def _plant(self) -> None:
        command = self._channel.receive()
        if command is None:
            raise ConnectionError("the driver has gone")
        if self._native is not None:
            for module in command["modules"]:
                self._native.plant(module)

    def _resume(self) -> None:
        if self._native is not None:
            self._native.begin()
            self._native.resume()

    def _poll(self) -> None:
        sys.settrace(None)  # this thread is no part of the program
        while not self._over.wait(_PERIOD):
            self._tell()

    def _tell(self) -> None:
        """Tell what was reached since the last time, and plant what the driver makes of it."""
        with self._lock:
            reached: Dict[str, Dict[str, List[str]]] = {}
            if self._native is not None:
                hits = [hit for names in self._native.drain().values() for hit in names]
                self._resume()
                if hits:
                    reached["native"] = {MODE: hits}
            lines = self._lines.fresh() if self._lines is not None else []
            if lines:
                reached["line"] = {MODE: lines}
            if not reached:
                return
            try:
                self._channel.send({"kind": "reached", "features": reached})
                self._plant()
            except OSError:
                self._over.set()  # the driver has gone; the program goes on
