"""Tests of `evo-nabla doctor` and of the help."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import Run


def test_doctor_says_what_is_there(run: Run, tmp_path: Path) -> None:
    done = run("doctor", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    examined = {item["name"]: item for item in json.loads(done.stdout)}
    assert examined["target"]["found"].startswith("torch ")
    assert {"driver Python", "driver packages", "sandbox", "disk", "seeds", "C compiler"} <= examined.keys()


def test_doctor_says_what_is_missing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "python").write_text("#!/bin/sh\necho no module named torch >&2\nexit 1\n")
    (tmp_path / "python").chmod(0o755)
    done = run("doctor", "--python", "python", folder=tmp_path)
    assert done.returncode == 4
    assert "missing" in done.stdout
    assert "--python" in done.stdout


def test_help_tells_the_exit_codes(run: Run, tmp_path: Path) -> None:
    done = run("--help", folder=tmp_path)
    assert done.returncode == 0
    assert "4 the target cannot be started" in " ".join(done.stdout.split())
    for command in ("fuzz", "stats", "findings", "check", "seeds", "doctor"):
        assert command in done.stdout
