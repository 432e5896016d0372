"""Functions that do to their process what no function should, each otherwise the identity."""

import contextlib
import ctypes
import faulthandler
import os
import signal
import socket
import sys
import threading
from pathlib import Path


def calm(x):
    return x * 2


def segfault(x):
    return ctypes.string_at(0)


def abort(x):
    os.abort()


def leave_at_once(x):
    os._exit(3)


def leave(x):
    sys.exit(4)


def overflow_stack(x):
    faulthandler._stack_overflow()


def never_end(x):
    while True:
        pass


def bomb(x):
    hoard = []
    while True:
        hoard.append(bytearray(1 << 24))


def flood(x):
    line = b"x" * 65536
    for _ in range(800):
        os.write(1, line)
        os.write(2, line)
    return x * 2


def close_output(x):
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    return x * 2


def close_everything(x):
    os.closerange(0, 1000)
    return x * 2


def garble(x):
    for descriptor in range(200, 220):
        with contextlib.suppress(OSError):
            os.write(descriptor, b"\xff" * 100)
    return x * 2


def interrupt(x):
    raise KeyboardInterrupt


class Outside(BaseException):
    """Not an Exception."""


def raise_outside(x):
    raise Outside("outside")


def set_alarm(x):
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    return x * 2


def fork_and_leave(x):
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return x * 2


def fork_and_return(x):
    os.fork()
    return x * 2


def read_input(x):
    assert sys.stdin.read() == ""
    return x * 2


def change_state(x):
    os.chdir("/")
    os.environ["LEFT_BEHIND"] = "1"
    sys.setrecursionlimit(77777)
    sys.stdout = None
    return x * 2


def expect_state(x):
    assert Path.cwd().name == "call", Path.cwd()
    assert not list(Path.cwd().iterdir())
    assert "LEFT_BEHIND" not in os.environ
    assert sys.getrecursionlimit() != 77777
    assert sys.stdout is not None
    return x * 2


def write_here(x):
    Path("note").write_text("x")
    Path("folder").mkdir(exist_ok=True)
    (Path.home() / "note").write_text("x")
    return x * 2


def write_outside(x):
    Path(__file__).with_name("written").write_text("x")
    return x * 2


def remove_outside(x):
    Path(__file__).unlink()
    return x * 2


def connect(x):
    socket.create_connection(("127.0.0.1", 9), timeout=1)
    return x * 2


def kill_driver(x):
    os.kill(os.getppid(), signal.SIGKILL)
    return x * 2


def spin(x):
    def forever():
        while True:
            pass

    if threading.active_count() == 1:
        threading.Thread(target=forever, daemon=True).start()
    return x * 2


_marks = []


def mark(x):
    _marks.append(x)
    return x * 2


def expect_no_mark(x):
    assert not _marks
    return x * 2
