"""The line observer names each line once, for the call that reached it first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

LIBRARY = """def double(x):
    if x < 0:
        return -2 * x
    return 2 * x


def stop_tracing(x):
    import sys
    sys.settrace(None)
    return x
"""

# In a process of its own: the observer and the coverage of this test run would fight for the one tracer.
PROGRAM = """
import json, sys
sys.path[:0] = [sys.argv[1], sys.argv[2]]
import library, own
from evo_nabla.target.observers.line import LineObserver
observer = LineObserver([sys.argv[1] + "/library"], [sys.argv[2]])
observer.start()
def drained(function, x):
    observer.begin()
    observer.resume()
    observer.enter("direct")
    function(x)
    observer.enter("reverse")
    function(-x)
    observer.pause()
    return observer.drain()
steps = [
    drained(library.double, 1), drained(library.double, 2),
    drained(library.stop_tracing, 1), drained(own.double, 1),
]
library.double(-5)
observer.stop()
print(json.dumps(steps))
"""


def test_lines_are_named_once_and_by_the_call_that_reached_them(tmp_path: Path) -> None:
    (tmp_path / "site" / "library").mkdir(parents=True)
    (tmp_path / "site" / "library" / "__init__.py").write_text(LIBRARY)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "own.py").write_text(LIBRARY)
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "site"), str(tmp_path / "mine")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, again, stopping, own = json.loads(done.stdout)
    assert first == {"direct": ["library/__init__.py:2", "library/__init__.py:4"], "reverse": ["library/__init__.py:3"]}
    assert again == {}
    assert stopping["direct"][:2] == ["library/__init__.py:8", "library/__init__.py:9"]
    assert own == {"direct": ["own.py:2", "own.py:4"], "reverse": ["own.py:3"]}


def test_the_core_is_measured_unless_the_user_names_one() -> None:
    program = "from evo_nabla.target.observers.core import choose_core; print(choose_core())"
    environment = {name: value for name, value in os.environ.items() if name != "COVERAGE_CORE"}
    chosen = {}
    for named in ("", "pytrace"):
        given = {**environment, "COVERAGE_CORE": named} if named else environment
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, env=given, capture_output=True, text=True, check=True
        )
        chosen[named] = done.stdout.strip()
    assert chosen["pytrace"] == "pytrace"
    assert chosen[""] in (("ctrace",) if sys.version_info < (3, 12) else ("ctrace", "sysmon"))
