"""Tests of the README: its examples run as they stand, and its commands and exit codes are those of the program."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from evo_nabla.cli import exits

from .conftest import COMMAND, ENVIRONMENT, ROOT, json_lines

README = (ROOT / "README.md").read_text(encoding="utf-8")


def example(name: str) -> str:
    """The shell lines that follow a marker in the README."""
    found = re.search(rf"<!-- example: {re.escape(name)} -->\n```bash\n(.*?)```", README, re.DOTALL)
    assert found is not None, name
    return found[1]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder with a .venv/bin/evo-nabla, where the README's commands can be run."""
    folder = tmp_path_factory.mktemp("checkout")
    script = folder / ".venv" / "bin" / "evo-nabla"
    script.parent.mkdir(parents=True)
    quoted = " ".join(f"'{word.replace(chr(39), chr(39) + chr(92) + chr(39) * 2)}'" for word in COMMAND)
    script.write_text(f'#!/bin/sh\nexec {quoted} "$@"\n')
    script.chmod(0o755)
    return folder


def shell(lines: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = ["bash", "-euc", lines]
    return subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=240
    )


def test_the_examples_run_and_find_the_wrong_gradient(checkout: Path) -> None:
    done = shell(example("own operator").replace("--budget 20s", "--budget 64c"), checkout)
    assert done.returncode == 0, done.stderr
    assert "mypkg.ops.cube" in done.stdout
    assert "gradient" in done.stdout
    reports = list(checkout.glob("corpus/demo/findings/*/finding.json"))
    assert reports
    assert any(json.loads(report.read_text())["signature"]["suspect"] == "reverse" for report in reports)
    done = shell(example("check"), checkout)
    assert done.returncode == exits.FINDINGS, done.stderr
    assert [line["verdict"] for line in json_lines(done.stdout)] == ["finding"]


def test_the_first_lines_are_the_two_commands() -> None:
    lines = [line.strip() for line in README.splitlines()[1:5] if line.strip()]
    assert [line.split("#")[0].strip() for line in lines] == ["make fuzz", "make test"]


def test_the_exit_codes_are_those_of_the_program() -> None:
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", README, re.MULTILINE)}
    assert listed == {
        exits.OK,
        exits.FINDINGS,
        exits.BAD_INPUT,
        exits.LOCKED,
        exits.TARGET_CANNOT_START,
        exits.INTERRUPTED,
    }
