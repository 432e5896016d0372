"""Global state of Python and NumPy is put back after a call that changed it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# In a process of its own, since the state is the process's.
PROGRAM = """
import builtins, decimal, faulthandler, gc, locale, os, random, shutil, signal, socket, sys, threading, warnings
import numpy as np
from evo_nabla.target.state import GlobalState
state = GlobalState(sys.argv[1])
assert state.restore() == []
{change}
changed = state.restore()
assert changed == [{name!r}], changed
assert state.restore() == [], "not put back"
state.seed(3); first = random.random(), np.random.rand()
state.seed(3); assert first == (random.random(), np.random.rand())
"""


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ("os.chdir('/')", "working folder"),
        ("shutil.rmtree(sys.argv[1])", "working folder"),
        ("os.environ['HOME'] = '/'", "environment"),
        ("del os.environ['PATH']", "environment"),
        ("sys.path.insert(0, '/')", "sys.path"),
        ("sys.setrecursionlimit(5000)", "recursion limit"),
        ("warnings.simplefilter('error')", "warning filters"),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN)", "signal handlers"),
        ("signal.setitimer(signal.ITIMER_REAL, 1000)", "timers"),
        ("sys.setprofile(lambda *_: None)", "profiler"),
        ("gc.disable()", "garbage collection"),
        ("socket.setdefaulttimeout(1)", "socket timeout"),
        ("decimal.getcontext().prec = 3", "decimal precision"),
        ("np.seterr(all='raise')", "NumPy errors"),
        ("np.set_printoptions(precision=1)", "NumPy printing"),
        ("sys.stdout = None", "sys.stdout"),
        ("builtins.print = None", "builtins.print"),
        ("os.umask(0)", "umask"),
        ("os.close(1)", "descriptor 1"),
        ("os.dup2(os.open('/dev/null', os.O_WRONLY), 2)", "descriptor 2"),
        ("faulthandler.disable()", "fault handler"),
    ],
)
def test_what_a_call_changes_is_put_back(tmp_path: Path, change: str, name: str) -> None:
    program = PROGRAM.format(change=change, name=name)
    command = [sys.executable, "-c", program, str(tmp_path / "call")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
