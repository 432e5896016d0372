"""Probes in a small library built for the test: hits, modes, re-arming, removal, threads, other handlers, refusals.

Each program runs in a process of its own, since what goes wrong with a probe ends the process.
"""

from __future__ import annotations

import json
import platform
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.native import build

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "evo_nabla" / "target" / "observers" / "_probe.abi3.so"

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="probes are for Linux on x86-64"
)

PROGRAM = """
import ctypes, json, os, signal, sys, threading
path, folder = sys.argv[1], sys.argv[2]
library = ctypes.CDLL(path)
where = json.loads(sys.argv[3])
from evo_nabla.target.observers.native import NativeObserver
def observe(*names):
    observer = NativeObserver([folder], [])
    observer.start()
    planted = observer.plant({"name": "libsmall.so", "offsets": [where[name] for name in names]})
    assert planted == len(names), planted
    return observer
def named(features):
    words = {f"0:{address:x}": name for name, address in where.items()}
    return {mode: sorted(words.get(hit, hit) for hit in hits) for mode, hits in features.items()}
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not EXTENSION.exists():
        pytest.skip("the probe extension was not built: no C compiler at install")
    return build(tmp_path_factory.mktemp("small"))


def run(small: Path, program: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program with the library loaded and the addresses of its functions known."""
    library = path or small
    done = subprocess.run(["nm", str(library)], capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    where = {row[2]: int(row[0], 16) for row in rows if len(row) == 3 and row[1] == "T"}
    command = [sys.executable, "-c", PROGRAM + program, str(library), str(library.parent), json.dumps(where)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def answer(small: Path, program: str) -> Any:
    """The JSON that a program which must succeed prints."""
    done = run(small, program)
    assert done.returncode == 0, done.stderr or done.returncode
    return json.loads(done.stdout)


def test_each_function_is_hit_once_in_the_mode_that_reached_it_first(small: Path) -> None:
    steps = answer(
        small,
        """
observer = observe("leaf", "choose", "count")
steps = []
observer.begin(); observer.enter("direct"); observer.resume()
assert library.choose(4) == 13
observer.enter("reverse")
assert library.choose(-4) == 12 and library.count(5) == 30
observer.pause()
steps.append(named(observer.drain()))
observer.begin(); observer.resume()
assert library.choose(4) == 13
steps.append(named(observer.drain()))
print(json.dumps(steps))
""",
    )
    assert steps == [{"direct": ["choose", "leaf"], "reverse": ["count"]}, {}]


def test_what_is_reached_while_paused_is_the_harness_s(small: Path) -> None:
    steps = answer(
        small,
        """
observer = observe("leaf", "choose", "count")
library.leaf(1)
observer.begin(); observer.enter("direct")
library.choose(1)
observer.resume(); library.count(2); observer.pause()
print(json.dumps(named(observer.drain())))
""",
    )
    assert steps == {"harness": ["choose", "leaf"], "direct": ["count"]}


def test_rearming_hits_again_and_removing_ends_it(small: Path) -> None:
    steps = answer(
        small,
        """
observer = observe("leaf", "choose")
from evo_nabla.target.observers import _probe
def call():
    library.choose(3)
    return len(_probe.drain())
code = ctypes.string_at(observer.modules[0].bias + where["count"], 8)
steps = [call(), call(), observer.rearm(), call(), observer.rearm()]
address = observer.modules[0].bias + where["leaf"]
steps += [_probe.remove(address.to_bytes(8, "little")), _probe.remove(address.to_bytes(8, "little")), call()]
steps += [observer.rearm(), call()]
steps += [observer.plant({"name": "libsmall.so", "offsets": [where["leaf"], where["leaf"], where["choose"]]}), call()]
observer.rearm()
observer.plant({"name": "libsmall.so", "offsets": [where["count"]]})
observer.stop()
assert ctypes.string_at(observer.modules[0].bias + where["count"], 8) == code
steps += [call(), signal.getsignal(signal.SIGTRAP) == signal.SIG_DFL]
print(json.dumps(steps))
""",
    )
    assert steps == [2, 0, 2, 2, 2, 1, 0, 1, 1, 1, 1, 1, 0, True]


def test_nothing_is_written_outside_the_library_s_code(small: Path) -> None:
    said = answer(
        small,
        """
observer = observe("leaf")
said = []
for name, offsets in (("libsmall.so", [1 << 40]), ("libsmall.so", [0]), ("libother.so", [0])):
    try:
        observer.plant({"name": name, "offsets": offsets})
    except ValueError as error:
        said.append(str(error).split()[-1])
print(json.dumps(said))
""",
    )
    assert said == ["code", "code", "'libother.so'"]


def test_threads_that_meet_on_probes_all_go_on(small: Path) -> None:
    hits = answer(
        small,
        """
observer = observe("leaf", "choose", "count")
from evo_nabla.target.observers import _probe
ended = []
def work():
    right = all(library.choose(k) == 3 * k + 1 and library.count(9) == 108 for k in range(20000))
    ended.append(right)
threads = [threading.Thread(target=work) for _ in range(6)]
for thread in threads: thread.start()
hits = rounds = 0
while any(thread.is_alive() for thread in threads):
    hits += len(_probe.drain()); rounds += 1
    _probe.rearm(None)
    if rounds % 5 == 0:
        _probe.remove(None)
        observer.plant({"name": "libsmall.so", "offsets": list(where.values())})
for thread in threads: thread.join()
assert ended == [True] * 6, ended
_probe.remove(None)
hits += len(_probe.drain())
print(json.dumps([hits, rounds, _probe.count()]))
""",
    )
    assert hits[0] >= 3
    assert hits[2] == 0


def test_a_child_process_goes_on_too(small: Path) -> None:
    statuses = answer(
        small,
        """
observer = observe("leaf", "choose")
child = os.fork()
if child == 0:
    os._exit(library.choose(2))
print(json.dumps([os.waitpid(child, 0)[1] >> 8, library.choose(2), len(observer._probe.drain())]))
""",
    )
    assert statuses == [7, 7, 2]


HANDLER = """
#include <signal.h>
static volatile int traps;
static struct sigaction old;
static void on(int number, siginfo_t *info, void *context) { traps++; }
static void first(int number, siginfo_t *info, void *context) {
    if (info->si_code <= 0) { traps++; return; }
    if (old.sa_flags & SA_SIGINFO) old.sa_sigaction(number, info, context);
}
void install(int over) {
    struct sigaction action = {0};
    action.sa_sigaction = over ? first : on;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, &old);
}
int seen(void) { return traps; }
void trap(void) { __asm__ volatile("int3"); }
int leaf(int x) { return x * 3; }
"""


def test_a_foreign_trap_goes_to_the_handler_that_was_there(tmp_path: Path, small: Path) -> None:
    path = build(tmp_path, source=HANDLER)
    done = run(
        small,
        """
library.install(0)
observer = observe("leaf")
library.trap()
os.kill(os.getpid(), signal.SIGTRAP)
assert library.leaf(2) == 6 and library.seen() == 2
assert len(observer._probe.drain()) == 1
observer.stop()
library.trap()
assert library.seen() == 3
""",
        path,
    )
    assert done.returncode == 0, done.stderr


def test_a_handler_installed_over_ours_may_hand_probes_on(tmp_path: Path, small: Path) -> None:
    path = build(tmp_path, source=HANDLER)
    done = run(
        small,
        """
observer = observe("leaf")
library.install(1)
assert library.leaf(2) == 6
observer.begin()
observer.rearm()
assert library.leaf(2) == 6 and len(observer._probe.drain()) == 2
os.kill(os.getpid(), signal.SIGTRAP)
assert library.seen() == 1
library.trap()  # nobody's: the two handlers must not hand it back and forth
""",
        path,
    )
    assert done.returncode == -signal.SIGTRAP, done.stderr


def test_a_python_handler_for_the_signal_still_runs(small: Path) -> None:
    got = answer(
        small,
        """
got = []
signal.signal(signal.SIGTRAP, lambda number, frame: got.append(number))
observer = observe("leaf")
library.leaf(1)
os.kill(os.getpid(), signal.SIGTRAP)
print(json.dumps([len(got), len(observer._probe.drain())]))
""",
    )
    assert got == [1, 1]


def test_a_foreign_trap_without_a_handler_ends_the_process_as_it_would(tmp_path: Path, small: Path) -> None:
    path = build(tmp_path, source=HANDLER)
    done = run(small, "observe('leaf'); library.trap(); print('went on')", path)
    assert (done.returncode, done.stdout) == (-signal.SIGTRAP, "")


def test_a_thread_that_blocks_the_signal_is_found_before_anything_is_planted(small: Path) -> None:
    done = run(
        small,
        """
stop = threading.Event()
def work():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTRAP])
    ready.set()
    stop.wait()
ready = threading.Event()
thread = threading.Thread(target=work)
thread.start()
ready.wait()
try:
    observe("leaf")
except ImportError as error:
    print(error)
stop.set()
thread.join()
library.leaf(1)
""",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("a thread of the library blocks SIGTRAP (")


def test_a_thread_that_blocks_the_signal_later_dies_on_a_probe(small: Path) -> None:
    done = run(
        small,
        """
observer = observe("leaf")
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTRAP])
library.leaf(1)
""",
    )
    assert done.returncode == -signal.SIGTRAP


def test_a_kernel_that_refuses_is_quoted(small: Path) -> None:
    done = run(
        small,
        """
from evo_nabla.target.observers import native
real = native._import_probe()
class Refusing:
    objects = staticmethod(real.objects)
    def make_writable(self, low, high):
        raise PermissionError(13, "Permission denied")
native._import_probe = Refusing
try:
    observe("leaf")
except ImportError as error:
    print(error)
""",
    )
    assert done.stdout == "the code of libsmall.so cannot be made writable: Permission denied\n", done.stderr


def test_a_refusal_of_the_kernel_s_own_comes_as_an_error(small: Path) -> None:
    done = run(
        small,
        """
from evo_nabla.target.observers import _probe
try:
    _probe.make_writable(0x1000, 0x2000)
except OSError as error:
    print(error.strerror)
""",
    )
    assert done.stdout == "Cannot allocate memory\n", done.stderr


@pytest.mark.parametrize(("machine", "system"), [("aarch64", "linux"), ("x86_64", "darwin")])
def test_other_machines_are_refused_in_words(monkeypatch: pytest.MonkeyPatch, machine: str, system: str) -> None:
    from evo_nabla.target.observers import Observers

    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(sys, "platform", system)
    observers = Observers(["native"], [], [])
    assert observers.missing == {"native": f"probes are made for Linux on x86-64, not for {system} on {machine}"}
    assert observers.kinds == ()


def test_a_missing_extension_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from evo_nabla.target.observers import Observers, native

    monkeypatch.setitem(sys.modules, "evo_nabla.target.observers._probe", None)
    monkeypatch.delattr("evo_nabla.target.observers._probe", raising=False)
    monkeypatch.setattr(native, "__file__", str(tmp_path / "native.py"))
    reason = Observers(["native"], [], []).missing["native"]
    assert reason == "the probe extension was not built: install a C compiler, then this package once more"


def test_a_library_without_a_build_id_is_left_out(tmp_path: Path, small: Path) -> None:
    path = build(tmp_path, "-Wl,--build-id=none")
    done = run(small, "observe('leaf')", path)
    assert "no shared object with a build-id is loaded from" in done.stderr


LOADED = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("_probe", sys.argv[1])
probe = importlib.util.module_from_spec(spec)
spec.loader.exec_module(probe)
assert probe.enable() and probe.objects() and probe.count() == 0 and probe.drain() == [] and probe.stop() == 0
print("%d.%d" % sys.version_info[:2])
"""


@pytest.mark.parametrize("version", ["3.9", "3.10", "3.11", "3.12", "3.13", "3.14"])
def test_one_build_loads_in_every_interpreter(small: Path, version: str) -> None:
    python = shutil.which(f"python{version}")
    if python is None or subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip(f"no Python {version} here")
    done = subprocess.run(
        [python, "-c", LOADED, str(EXTENSION)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"{version}\n"), done.stderr
