"""Small shared objects built for a test, with the compiler that the probe extension needs too."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = """
int leaf(int x) { return x * 3; }
int choose(int x) { if (x < 0) return leaf(-x); return leaf(x) + 1; }
int count(int n) { int sum = 0; for (int k = 0; k < n; k++) { sum += leaf(k); if (sum > 1000) break; } return sum; }
int spin(int n) { volatile int k = 0; while (k < n) k++; return k; }
"""
COMPILER = shutil.which("cc") or ""


def build(folder: Path, *options: str, source: str = SOURCE, name: str = "libsmall.so") -> Path:
    """A shared object built from C; the test is skipped, with a word, where there is no compiler."""
    if not COMPILER:
        pytest.skip("no C compiler (cc): nothing native can be built")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.with_suffix(".c").write_text(source)
    command = [COMPILER, "-O1", "-fno-inline", "-fno-ipa-icf", "-shared", "-fPIC", "-pthread", "-Wl,--build-id"]
    done = subprocess.run(
        [*command, *options, str(path.with_suffix(".c")), "-o", str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return path
