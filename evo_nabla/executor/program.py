"""Runs any command and measures the library's coverage in it and in its child processes, in the workers' units."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import ProgramError, WorkerGarbledError
from .frames import Decoder, encode
from .planting import NativeModule, Planter, native_modules
from .reading import Fields, mapping, sequence, text

_SITE = Path(__file__).resolve().parents[1] / "target" / "program" / "site"
_HITS = "native"
_PATIENCE = 5.0  # seconds for the last words of processes that outlive the command
_CHUNK = 1 << 20


@dataclass
class Reached:
    """What a command and its children reached: feature names by kind, the library's versions, its shared objects,
    what could not be measured and why, the folder that holds the library's package (of the first process that spoke),
    and how many processes spoke."""

    features: dict[str, set[str]] = field(default_factory=dict)
    versions: set[str] = field(default_factory=set)
    modules: dict[str, NativeModule] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    root: str = ""
    processes: int = 0
    exit_code: int = 0


def run_measured(command: Sequence[str], library: str, planter: Planter, *, lines: bool = True) -> Reached:
    """Run the command to its end, with this process's standard streams; raises ProgramError if it cannot be run.

    Ctrl-C goes to the command too (same process group): what it reached until then is kept.
    """
    reached = Reached()
    with _Listener(planter, reached) as listener:
        settings = json.dumps({"library": library, "socket": str(listener.address), "lines": lines})
        environment = {**os.environ, "EVO_NABLA_MEASURE": settings}
        others = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join([str(_SITE), *([others] if others else [])])
        try:
            child = subprocess.Popen(list(command), env=environment)
        except OSError as error:
            raise ProgramError(f"cannot run {command[0]}: {error.strerror}") from None
        reached.exit_code = _wait(child)
    return reached


def _wait(child: subprocess.Popen[bytes]) -> int:
    while True:
        # The command gets the same Ctrl-C and ends as it likes.
        with contextlib.suppress(KeyboardInterrupt):
            return child.wait()


class _Listener:
    """Answers every measured process from a thread of its own."""

    def __init__(self, planter: Planter, reached: Reached) -> None:
        self._planter, self._reached = planter, reached
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> _Listener:
        self._folder = tempfile.TemporaryDirectory(prefix="evo_nabla-")
        self.address = Path(self._folder.name) / "driver"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(str(self.address))
        self._socket.listen(64)
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._acceptor.join()
        for thread in self._threads:
            thread.join(_PATIENCE)
        self._folder.cleanup()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._converse, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _converse(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, ValueError, WorkerGarbledError):
            frames = _frames(connection)
            hello = Fields(next(frames, None), "measured")
            modules = native_modules(hello.read("native", _anything), "native") if hello.has("native") else ()
            with self._lock:
                self._reached.processes += 1
                self._reached.versions.add(hello.read("version", text))
                self._reached.missing.update(hello.read("missing", mapping(text)))
                self._reached.root = self._reached.root or hello.read("root", text)
                self._note_modules(modules)
            plan = self._planter.plan(modules) if modules else {}
            _answer(connection, [{"name": name, "file": str(place)} for name, place in plan.items()])
            for frame in frames:
                features = Fields(frame, "reached").read("features", mapping(mapping(sequence(text))))
                _answer(connection, self._take(modules, features))

    def _note_modules(self, modules: Sequence[NativeModule]) -> None:
        """The first build of a module that is met is the one that features are named by."""
        for module in modules:
            if self._reached.modules.setdefault(module.name, module).build_id != module.build_id:
                self._reached.missing[module.name] = f"another build of it, in {module.path}, was not measured"

    def _take(
        self, modules: Sequence[NativeModule], features: Mapping[str, Mapping[str, Sequence[str]]]
    ) -> list[dict[str, Any]]:
        """Note what was reached; where to plant on its account."""
        found = {kind: modes for kind, modes in features.items() if kind != _HITS}
        plant: Mapping[str, Sequence[int]] = {}
        if _HITS in features:
            native, plant = self._planter.translate(modules, features[_HITS])
            found.update(native)
        with self._lock:
            for kind, modes in found.items():
                self._reached.features.setdefault(kind, set()).update(*modes.values())
        return [{"name": name, "offsets": list(places)} for name, places in plant.items()]


def _anything(value: object, _: str) -> object:
    return value


def _frames(connection: socket.socket) -> Iterator[dict[str, Any]]:
    decoder = Decoder()
    while True:
        document = decoder.next()
        if document is not None:
            yield document
            continue
        data = connection.recv(_CHUNK)
        if not data:
            return
        decoder.feed(data)


def _answer(connection: socket.socket, modules: list[dict[str, Any]]) -> None:
    connection.sendall(encode({"kind": "plant", "modules": modules}))
