"""The worker's loop: takes batches of calls, judges each with the world put right before it, reports one by one."""

from __future__ import annotations

import mmap
import os
import platform
import shutil
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

import numpy as np

from evo_nabla.call import CallError, call_from_json

from . import backends, harvest, limits, sandbox
from .deny import DenyList
from .frames import Channel, raise_descriptor
from .observers import Observers, enter, listen
from .observers.native import NativeObserver, probes_megabytes
from .oracle.judge import JudgeOptions, judge
from .oracle.memory import Memory
from .state import GlobalState

_MODE_BYTES = 32  # of the page that tells the driver which mode runs; the rest of a longer name is cut
_PATIENCE = 0.05  # seconds that a call's own threads get to end
_FAILED = 3  # exit status of a worker that could not be configured

Json = Dict[str, Any]


def serve(commands: int, reports: int, page: int) -> int:
    """Configure this process as the driver says, then serve until the driver closes the pipe; the exit status."""
    channel = Channel(raise_descriptor(commands), raise_descriptor(reports))
    limits.die_with_driver()
    limits.bound_files()
    # Ctrl-C belongs to the driver; and so a call's own KeyboardInterrupt cannot fall between two calls.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    command = channel.receive()
    if command is None:
        return 0
    _show_modes(page)
    try:
        worker = _Worker(channel, command)
    except Exception as error:
        traceback.print_exc()
        channel.send({"kind": "failed", "reason": f"{type(error).__name__}: {error}"})
        return _FAILED
    channel.send(worker.description())
    worker.serve()
    # Not through the library's own clean-up, which may hang or crash after what was done to it.
    sys.stderr.flush()
    os._exit(0)


def _show_modes(page: int) -> None:
    """Write the running mode where the driver can still read it when this process has died."""
    shared = mmap.mmap(page, _MODE_BYTES)
    os.close(page)

    def show(mode: str) -> None:
        shared[:] = mode.encode("ascii", "replace")[:_MODE_BYTES].ljust(_MODE_BYTES, b"\0")

    listen(show)


class _Worker:
    """One library, configured."""

    def __init__(self, channel: Channel, settings: Json) -> None:
        self._channel = channel
        self._in_call = self._forking = False
        os.register_at_fork(after_in_child=self._after_fork)
        self._seed = int(settings["seed"])
        self._limits = settings["limits"]
        self._library = str(settings["library"])
        self._paths = [str(path) for path in settings["paths"]]
        folder = Path.cwd()
        self._sandbox = sandbox.enter(str(folder), str(settings["device"]))
        sys.path[:0] = self._paths
        self._backend = backends.load(self._library)
        limits.bound_memory(int(self._limits["memory_mb"]) + self._probes_mb(settings["observers"]))
        self._deny = DenyList(self._library)
        self._memory = Memory()
        self._scratch = str(folder / "call")
        self._state = GlobalState(self._scratch)
        self._warm_up(int(settings["order"]))
        self._observers = Observers(settings["observers"], self._backend.package_folders, self._paths)
        native = self._observers.find(NativeObserver.kind)
        self._native = native if isinstance(native, NativeObserver) else None
        self._threads = len(sys._current_frames())
        self._handlers: Dict[str, Callable[[Json], None]] = {
            "run": self._run,
            "plant": self._plant,
            "describe": self._describe,
            "discover": self._discover,
            "harvest": self._harvest,
        }

    def _probes_mb(self, observers: List[str]) -> int:
        """Of private memory that observing takes, so that the calls have theirs."""
        if NativeObserver.kind not in observers:
            return 0
        return probes_megabytes(self._backend.package_folders, self._paths)

    def description(self) -> Json:
        """What the driver is told once: versions, modes, what is measured and how the process is held."""
        return {
            "kind": "ready",
            "library": self._library,
            "version": self._backend.version,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "modes": list(self._backend.modes),
            "packages": list(self._backend.package_folders),
            "observers": list(self._observers.kinds),
            "missing": self._observers.missing,
            "sandbox": self._sandbox,
            "native": {"modules": [module.to_json() for module in self._native.modules]} if self._native else None,
        }

    def serve(self) -> None:
        """Answer commands until the driver closes the pipe."""
        while True:
            command = self._channel.receive()
            if command is None:
                break
            self._answer(command)
        self._observers.stop()

    def _answer(self, command: Json) -> None:
        try:
            self._handlers[command["kind"]](command)
        except harvest.UnavailableError as error:
            self._channel.send({"kind": "failed", "reason": f"{error}"})

    def _warm_up(self, order: int) -> None:
        """Judge one harmless call before any is observed: what the library imports on first use (torch._dynamo: a
        second) must neither count as the first call's features nor against its time."""
        api = "jax.numpy.sin" if self._library == "jax" else f"{self._library}.sin"
        tensor = {"tensor": {"shape": [1], "dtype": "float64", "values": [0.5]}}
        patient = JudgeOptions(order=order, thorough=True, seconds=float("inf"))
        judge(self._backend, call_from_json({"api": api, "args": [tensor]}), patient)
        self._backend.reset()
        self._state.restore()

    def _describe(self, command: Json) -> None:
        self._channel.send({"kind": "described", "signatures": harvest.signatures(command["apis"])})

    def _discover(self, _: Json) -> None:
        self._channel.send({"kind": "discovered", "apis": harvest.discover(self._library)})

    def _harvest(self, _: Json) -> None:
        counts = harvest.harvest(self._library, lambda call: self._channel.send({"kind": "seed", "call": call}))
        self._channel.send({"kind": "harvested", "counts": counts})

    def _plant(self, command: Json) -> None:
        if self._native is None:
            self._channel.send({"kind": "failed", "reason": "native code is not observed here"})
            return
        try:
            count = sum(self._native.plant(module) for module in command["modules"])
        except (OSError, OverflowError, ValueError) as error:
            self._channel.send({"kind": "failed", "reason": _one_line(error)})
        else:
            self._channel.send({"kind": "planted", "count": count})

    def _run(self, command: Json) -> None:
        if command["oracle"].get("apart"):
            self._run_apart(command)
        else:
            self._run_here(command)

    def _run_apart(self, command: Json) -> None:
        """Run a batch in a child of this process. It starts with what the warm-up left, as a new worker does, if this
        process runs all its batches so; and its death costs no import."""
        sys.stdout.flush()
        sys.stderr.flush()
        self._forking = True
        child = os.fork()
        self._forking = False
        if child == 0:
            self._run_and_leave(command)
        _, status = os.waitpid(child, 0)
        self._tidy()
        ended = {"signal": os.WTERMSIG(status)} if os.WIFSIGNALED(status) else {"exit_code": os.WEXITSTATUS(status)}
        self._channel.send({"kind": "ended", **ended})

    def _run_and_leave(self, command: Json) -> None:
        """In the child of _run_apart, which must never come back from here: it would serve the driver as well."""
        status = 1
        try:
            limits.die_with_driver()  # asked anew: it does not pass to children; here the parent is the worker
            self._run_here(command)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)

    def _run_here(self, command: Json) -> None:
        batch, oracle = command["batch"], command["oracle"]
        options = JudgeOptions(
            order=int(oracle["order"]),
            thorough=bool(oracle["thorough"]),
            seed=self._seed,
            elements_in=int(self._limits["elements_in"]),
            elements_out=int(self._limits["elements_out"]),
            # The oracle stops by itself well before the driver takes the call for a hanging one.
            seconds=float(self._limits["seconds"]) / 2,
        )
        for index, document in enumerate(command["calls"]):
            started, library = time.perf_counter(), self._backend.clock.library
            report = self._report(document, options, observe=bool(oracle["observe"]))
            report["features"] = self._observers.drain() if oracle["observe"] else {}
            self._tidy()
            report["seconds"] = {
                "total": time.perf_counter() - started,
                "library": self._backend.clock.library - library,
            }
            self._channel.send({"kind": "report", "batch": batch, "index": index, "report": report})
            if self._threads_left():
                self._channel.send({"kind": "retired", "reason": "the call left threads running"})
                os._exit(0)
        self._channel.send({"kind": "finished", "batch": batch})

    def _report(self, document: Json, options: JudgeOptions, observe: bool) -> Json:
        try:
            call = call_from_json(document)
        except CallError as error:
            return _verdictless("invalid", f"{error}")
        reason = self._deny.refusal(call)
        if reason is not None:
            return _verdictless("denied", reason)
        self._state.seed(0)
        enter("direct")
        if observe:
            self._observers.begin()
        self._in_call = True
        try:
            return judge(self._backend, call, options, self._memory)
        except MemoryError:
            return _verdictless("rejected", "MemoryError: the memory limit of the worker")
        except Exception as error:
            # Ours, not the library's: the oracle turns what the library raises into outcomes.
            traceback.print_exc()
            return _verdictless("invalid", f"the oracle failed: {_one_line(error)}{_place(error)}")
        except BaseException as error:
            return _verdictless("rejected", f"raised {_one_line(error)}")
        finally:
            self._in_call = False

    def _after_fork(self) -> None:
        """In a child: it must not speak for the worker. The copy that a call makes ends here, or it would go on
        through the rest of the oracle and fork again at every evaluation."""
        if self._forking:
            return
        self._channel.close()
        if self._in_call:
            os._exit(0)

    def _tidy(self) -> None:
        self._backend.reset()
        self._state.restore()
        with os.scandir(self._scratch) as entries:
            left = [entry.path for entry in entries]
        for path in left:
            _remove(Path(path))

    def _threads_left(self) -> bool:
        """Whether Python threads of a call go on: they would slow every later call, and be blamed on it."""
        if len(sys._current_frames()) <= self._threads:
            return False
        deadline = time.monotonic() + _PATIENCE
        for thread in threading.enumerate():
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))
        return len(sys._current_frames()) > self._threads


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(str(path), ignore_errors=True)
    else:
        path.unlink()


def _verdictless(status: str, reason: str) -> Json:
    return {
        "status": status,
        "verdict": "inconclusive",
        "reason": reason,
        "findings": [],
        "discrepancy": 0.0,
        "values": {},
        "modes": {},
        "differentiated": False,
    }


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:500]


def _place(error: BaseException) -> str:
    frames: List[Any] = traceback.extract_tb(error.__traceback__)
    last: Optional[Any] = frames[-1] if frames else None
    return f" ({Path(last.filename).name}:{last.lineno})" if last else ""
