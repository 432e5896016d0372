"""One worker process: its pipes, its folder, what it printed, and its end."""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

from .errors import WorkerDiedError, WorkerGreedyError, WorkerLostError, WorkerSilentError
from .frames import Decoder, encode
from .settings import WorkerSettings
from .starting import not_started

_MAIN = Path(__file__).resolve().parents[1] / "target" / "main.py"
# No packages of the user's; the script's own folder is taken off the import path by the script (-P is for 3.11 on).
_FLAGS = ("-s", "-u")
_TAIL_BYTES = 16 * 1024  # of the output kept for a crash's report
_MODE_BYTES = 32
_WATCH_SECONDS = 0.05  # between two looks at the memory of a worker that is silent
_DUMP_SECONDS = 0.5  # a hanging worker gets these to write its Python stack before it is killed
# Passed on, since interpreters and libraries cannot start or behave differently without them; all else stays out.
_PASSED_ON = (
    "PATH",
    "LD_LIBRARY_PATH",
    "LANG",
    "LC_ALL",
    "TZ",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "CUDA_VISIBLE_DEVICES",
)

# The kernel's "die with the parent" means the parent's thread: this one lives as long as the driver.
_spawner = ThreadPoolExecutor(1, thread_name_prefix="spawn")


class Process:
    """A worker from start to end. Every method may raise a WorkerLostError, after which only `close` may be called."""

    def __init__(self, settings: WorkerSettings) -> None:
        """Start the process and send its configuration without waiting; raises WorkerStartError."""
        self._settings = settings
        self._limits = settings.limits
        self._folder = Path(tempfile.mkdtemp(prefix="evo_nabla-"))
        self._decoder = Decoder()
        self._tail = bytearray()
        self._page_file = tempfile.TemporaryFile()  # noqa: SIM115 — closed by close()
        self._page_file.truncate(_MODE_BYTES)
        self._page = mmap.mmap(self._page_file.fileno(), _MODE_BYTES)
        self._open: list[int] = []
        try:
            self._spawn(settings.python)
        except OSError as error:
            self._release()
            raise not_started(settings, error.strerror or type(error).__name__) from None
        self._imported_mb = 0.0
        self._statistics = psutil.Process(self._child.pid)
        with contextlib.suppress(WorkerDiedError):  # what it printed before it died is read in await_ready
            self.send(settings.to_command())

    @property
    def pid(self) -> int:
        """Of the worker; also its process group and session."""
        return self._child.pid

    @property
    def tail(self) -> str:
        """The end of what was printed since the last report."""
        if self._open:
            self._keep_output()
        return self._tail.decode("utf-8", "replace")

    @property
    def mode(self) -> str:
        """The mode of the call that the worker entered last."""
        return self._page[:].rstrip(b"\0").decode("ascii", "replace")

    def await_ready(self) -> dict[str, Any]:
        """The worker's description; raises WorkerStartError with the reason."""
        try:
            document = self.receive(self._limits.start_seconds)
        except WorkerLostError as fault:
            last = [line for line in self.tail.splitlines() if line.strip()][-1:]
            said = f": {last[0].strip()}" if last else ""
            raise not_started(self._settings, f"{fault}{said}") from None
        if document["kind"] == "failed":
            raise not_started(self._settings, str(document.get("reason")))
        if document["kind"] != "ready":
            raise not_started(self._settings, f"it answered {document['kind']!r} when it was configured")
        self.settle()
        return document

    def settle(self) -> None:
        """What the worker holds now belongs to the library, and not to the calls that come."""
        self._imported_mb = self.memory_mb()

    def send(self, command: dict[str, Any]) -> None:
        """Send one frame; raises WorkerLostError if the worker does not take it within a call's limit."""
        view = memoryview(encode(command))
        deadline = time.monotonic() + self._limits.seconds
        poller = select.poll()
        poller.register(self._commands, select.POLLOUT)
        poller.register(self._output, select.POLLIN)
        while view:
            poller.poll(1000 * _WATCH_SECONDS)
            self._keep_output()
            written = self._write(view)
            view = view[written:]
            if time.monotonic() > deadline and not written:
                raise WorkerSilentError("the worker does not read its commands")

    def receive(self, seconds: float) -> dict[str, Any]:
        """The next frame; raises a WorkerLostError if there is none within that time, or if the worker is lost."""
        deadline = time.monotonic() + seconds
        while True:
            document = self._decoder.next()
            if document is not None:
                return document
            left = deadline - time.monotonic()
            if left <= 0:
                self._abort()
                raise WorkerSilentError(f"no end within {seconds:g} s")
            ready = dict(self._poller.poll(1000 * min(left, _WATCH_SECONDS)))
            if self._output in ready:
                self._keep_output()
            if self._reports in ready:
                data = os.read(self._reports, 1 << 20)
                if not data:
                    raise self._death()
                self._decoder.feed(data)
            if not ready:
                self._watch_memory()

    def forget_output(self) -> None:
        """A call has been reported: what it printed is of no interest."""
        self._tail.clear()

    def memory_mb(self) -> float:
        """Resident size in MB."""
        try:
            return float(self._statistics.memory_info().rss) / 2**20
        except psutil.Error:
            return 0.0

    def end(self) -> tuple[str, int | None]:
        """End the process and its children; returns the signal that had ended it ("" if none) and its exit code
        (None if it was still alive)."""
        alive = self._child.poll() is None
        self._kill_group()
        code = self._child.wait()
        self._keep_output()
        if alive:
            return "", None
        if code < 0:
            try:
                return signal.Signals(-code).name, None
            except ValueError:
                return f"signal {-code}", None
        return "", code

    def kill(self) -> None:
        """Kill the process and its children and return at once; whoever reads from it finds it dead."""
        self._kill_group()

    def close(self) -> None:
        """End the process and remove its folder; may be called twice."""
        if self._open:
            self.end()
            self._release()

    def _spawn(self, python: Path) -> None:
        commands, self._commands = self._pipe()
        self._reports, reports = self._pipe()
        self._output, output = self._pipe()
        page = os.dup(self._page_file.fileno())
        self._open.append(page)
        given = (commands, reports, page)
        try:
            self._child = _spawner.submit(self._start, python, given, output).result()
        finally:
            for descriptor in (*given, output):
                self._open.remove(descriptor)
                os.close(descriptor)
        for descriptor in (self._commands, self._reports, self._output):
            os.set_blocking(descriptor, False)
        self._poller = select.poll()
        self._poller.register(self._reports, select.POLLIN)
        self._poller.register(self._output, select.POLLIN)

    def _start(self, python: Path, given: tuple[int, ...], output: int) -> subprocess.Popen[bytes]:
        environment = {name: value for name, value in os.environ.items() if name in _PASSED_ON}
        for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME"):
            folder = self._folder / name.lower()
            folder.mkdir()
            environment[name] = str(folder)
        # Sets of the library's iterate alike in every worker: one seed gives the same calls and the same coverage.
        environment["PYTHONHASHSEED"] = "0"
        # What was built with gcc --coverage would write its counts into the folder it was built in.
        environment["GCOV_PREFIX"] = str(self._folder)
        # A bare name is looked up on the PATH. Not resolved: a venv's python is a link that knows its venv.
        command = str(python) if python.parent == Path() else str(python.absolute())
        return subprocess.Popen(
            [command, *_FLAGS, str(_MAIN), *(str(descriptor) for descriptor in given)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=given,
            cwd=self._folder,
            env=environment,
            start_new_session=True,
        )

    def _write(self, view: memoryview) -> int:
        try:
            return os.write(self._commands, view)
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            raise self._death() from None

    def _pipe(self) -> tuple[int, int]:
        ends = os.pipe()
        self._open += ends
        return ends

    def _keep_output(self) -> None:
        """Read what the worker printed. A pipe and not a file: a flood is read, cut to its end and forgotten, and
        fills neither disk nor memory."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._output, 1 << 16):
                self._tail += data
                del self._tail[:-_TAIL_BYTES]
                if len(data) < 1 << 16:
                    return
            with contextlib.suppress(KeyError):
                self._poller.unregister(self._output)  # every writer has gone; polling it would spin

    def _watch_memory(self) -> None:
        # On top of what the library takes by itself, so that the worker's own limit, which lets an allocation fail and
        # the process live, comes first.
        if self.memory_mb() > self._limits.memory_mb + self._imported_mb:
            raise WorkerGreedyError(f"more than {self._limits.memory_mb} MB resident")

    def _abort(self) -> None:
        """Have a hanging worker write its Python stack into its output (faulthandler's answer to SIGABRT)."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGABRT)
        self._wait_while_reading(_DUMP_SECONDS)

    def _wait_while_reading(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self._child.poll() is None and time.monotonic() < deadline:
            self._keep_output()
            time.sleep(_WATCH_SECONDS / 10)

    def _death(self) -> WorkerDiedError:
        """The report pipe is closed: the worker has died, or a call has closed the pipe."""
        self._wait_while_reading(_DUMP_SECONDS)
        if self._child.poll() is None:
            return WorkerDiedError("the worker's end of the pipe was closed")
        name, code = self.end()
        return WorkerDiedError(f"ended by {name}" if name else f"ended with exit status {code}")

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def _release(self) -> None:
        for descriptor in self._open:
            os.close(descriptor)
        self._open.clear()
        self._page.close()
        self._page_file.close()
        shutil.rmtree(self._folder, ignore_errors=True)
