"""Runs the command line as users do: in a process of its own, in an empty folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-c", "import sys; from evo_nabla.cli import main; sys.argv[0] = 'evo-nabla'; main()"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "COLUMNS": "120", "NO_COLOR": "1"}

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def run() -> Run:
    """`run("check", "-", folder=path, given="...")`: the finished process, its output as text."""

    def runner(*arguments: str, folder: Path, given: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *arguments],
            cwd=folder,
            env=ENVIRONMENT,
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )

    return runner


def json_lines(text: str) -> list[dict[str, Any]]:
    """The objects of a JSON-lines output."""
    return [json.loads(line) for line in text.splitlines()]


OPERATORS = """
import torch


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 2 * gradient * x**2


def cube(x):
    return Cube.apply(x)


def square(x):
    return x * x
"""

TENSOR = {"tensor": {"shape": [3], "dtype": "float64", "values": [0.5, 1, 2]}}


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's folder with a package of two operators, one of them wrong, and one call of each."""
    folder = tmp_path_factory.mktemp("project")
    package = folder / "code" / "mypkg"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "ops.py").write_text(OPERATORS)
    calls = [
        {"id": "wrong", "api": "mypkg.ops.cube", "args": [TENSOR], "x-note": "kept"},
        {"id": "right", "api": "mypkg.ops.square", "args": [TENSOR]},
    ]
    (folder / "calls.jsonl").write_text("".join(json.dumps(call) + "\n" for call in calls))
    (folder / "right.jsonl").write_text(json.dumps(calls[1]) + "\n")
    return folder
