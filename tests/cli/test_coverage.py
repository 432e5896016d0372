"""The coverage commands on a real program with children, and on the saved result."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from evo_nabla.cli import exits

from .conftest import Run

PROGRAM = """
import importlib.util, multiprocessing, subprocess, sys
assert importlib.util.find_spec("torch")  # as programs do that can do without
import torch

def determinant(n):
    x = torch.eye(n, dtype=torch.float64, requires_grad=True)
    torch.linalg.det(x).backward()
    return int(n)

if __name__ == "__main__":
    torch.ones(3, requires_grad=True).exp().sum().backward()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        print(pool.map(determinant, [2]))
        pool.close()
        pool.join()
    child = "import torch; torch.ones(2, requires_grad=True).erf().sum().backward()"
    subprocess.run([sys.executable, "-c", child], check=True)
    sys.exit(7)
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory, run: Run) -> Path:
    folder = tmp_path_factory.mktemp("measured")
    (folder / "program.py").write_text(PROGRAM)
    done = run("coverage", "run", "-o", "m.json.gz", "--", sys.executable, "program.py", folder=folder)
    assert done.returncode == 7, done.stderr
    assert done.stdout == "[2]\n"
    assert "saved in m.json.gz" in done.stderr
    return folder


def test_forked_and_spawned_children_count_too(measured: Path, run: Run) -> None:
    done = run("coverage", "report", "m.json.gz", "--json", folder=measured)
    assert done.returncode == exits.OK, done.stderr
    report = json.loads(done.stdout)
    if "native" in report["missing"]:
        pytest.skip(f"no native coverage: {report['missing']['native']}")
    executed = 711 - sum(map(len, report["rules_not_executed"].values()))
    assert report["of"]["rule"] == 711
    assert executed == report["features"]["rule"]
    unreached = {rule for names in report["rules_not_executed"].values() for rule in names}
    assert not {"ExpBackward0", "LinalgDetBackward0", "ErfBackward0", "SumBackward0"} & unreached
    assert report["features"]["function"] > 500
    assert report["features"]["block"] > report["features"]["function"]
    areas = {(row["kind"], row["area"]) for row in report["areas"]}
    assert ("function", "torch::autograd") in areas
    assert any(kind == "line" and area.startswith("torch/") for kind, area in areas)


def test_a_second_run_adds_and_differs(measured: Path, run: Run) -> None:
    program = "import torch; torch.ones(2, requires_grad=True).tan().sum().backward()"
    arguments = ("coverage", "run", "--no-lines", "--", sys.executable, "-c", program)
    assert run(*arguments[:2], "-o", "tan.json", *arguments[2:], folder=measured).returncode == exits.OK
    done = run("coverage", "diff", "tan.json", "m.json.gz", "--json", folder=measured)
    difference = json.loads(done.stdout)
    assert {row["kind"] for row in difference["only_a"]["areas"]} >= {"function"}
    assert "line" not in {row["kind"] for row in difference["only_a"]["areas"]}
    before = json.loads(run("coverage", "report", "tan.json", "--json", folder=measured).stdout)
    again = run("coverage", "run", "-o", "tan.json", "--append", "--", sys.executable, "-c", "", folder=measured)
    assert "nothing was measured" in again.stderr
    after = json.loads(run("coverage", "report", "tan.json", "--json", folder=measured).stdout)
    assert after["features"] == before["features"]


def test_exports_and_the_page(measured: Path, run: Run) -> None:
    done = run(
        "coverage", "export", "m.json.gz", "--lcov", "m.info", "--coveragepy", "m.data", "--json", "m.json",
        folder=measured,
    )  # fmt: skip
    assert done.returncode == exits.OK, done.stderr
    assert (measured / "m.info").read_text().count("FNDA:1,") > 100
    assert json.loads((measured / "m.json").read_text())["library"] == "torch"
    done = run("coverage", "html", "m.json.gz", "-o", "m.html", folder=measured)
    assert done.returncode == exits.OK, done.stderr
    page = (measured / "m.html").read_text()
    assert "Differentiation rules" in page
    assert "http" not in page


def test_a_program_that_traces_itself_is_left_its_tracer(measured: Path, run: Run) -> None:
    program = "import sys; own = lambda *_: None; sys.settrace(own); import torch; assert sys.gettrace() is own"
    done = run("coverage", "run", "-o", "own.json", "--", sys.executable, "-c", program, folder=measured)
    assert done.returncode == exits.OK, done.stderr
    assert "no line coverage: the program traces itself" in done.stderr


def test_bad_input_is_one_line(measured: Path, run: Run) -> None:
    (measured / "bad.json").write_text("{")
    for arguments, problem in (
        (("report", "bad.json"), "bad.json: not JSON"),
        (("report", "nowhere"), "no campaign in nowhere"),
        (("export", "m.json.gz"), "name at least one of"),
        (("run", "--", "./no-such-program"), "cannot run ./no-such-program"),
    ):
        done = run("coverage", *arguments, folder=measured)
        assert done.returncode == exits.BAD_INPUT
        assert problem in done.stderr
        assert len(done.stderr.splitlines()) == 1
