"""Lines and branches of objects built with gcc --coverage come once, with the mode that executed them first."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_nabla.call import Call, call_from_json
from evo_nabla.executor import Limits, Worker, WorkerSettings
from evo_nabla.target.observers import Observers
from evo_nabla.target.observers.gcov_basis import Basis
from tests.native import build

ROOT = Path(__file__).parents[2]

SOURCE = """int leaf(int x) { return x * 3; }
int choose(int x) {
  if (x < 0)
    return leaf(-x);
  return leaf(x) + 1;
}
int count(int n) {
  int sum = 0;
  for (int k = 0; k < n; k++)
    sum += leaf(k);
  return sum;
}
"""

# In a process of its own, which ends in order, so that libgcov writes what has counted for gcov to read.
PROGRAM = """
import ctypes, json, sys
from evo_nabla.target.observers.gcov import GcovObserver
observer = GcovObserver([], [sys.argv[1]])
small = ctypes.CDLL(sys.argv[1] + "/libsmall.so")
observer.start()
small.leaf(0)  # between calls: nobody's
def drained(function, *arguments):
    observer.begin()
    for mode, argument in zip(("direct", "reverse"), arguments):
        observer.enter(mode)
        observer.resume()
        function(argument)
        observer.pause()
    return observer.drain()
steps = [
    drained(small.choose, -1, 1), drained(small.choose, 1, -1),
    drained(small.count, 0, 2), drained(small.count, 3, 9),
]
observer.stop()
print(json.dumps(steps))
"""


def require_gcc() -> None:
    """Skip, with a word, where there is no GCC or no gcov."""
    compiler = shutil.which("c++") or ""
    said = (
        subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout if compiler else ""
    )
    if "Free Software Foundation" not in said:
        pytest.skip("no GCC (c++): nothing can be built with --coverage as it does it")
    if not shutil.which("gcov"):
        pytest.skip("no gcov: install the package that GCC is from")


def build_small(folder: Path) -> Path:
    require_gcc()
    return build(folder, "--coverage", "-O0", source=SOURCE)


def missing(folder: Path) -> str:
    """Why the objects in a folder cannot be observed."""
    observers = Observers(["gcov"], [], [str(folder)])
    assert observers.kinds == ()
    return observers.missing["gcov"]


def test_lines_and_branches_are_named_once_and_by_the_mode_that_executed_them(tmp_path: Path) -> None:
    build_small(tmp_path)
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    choose, again, count, further = json.loads(done.stdout)
    names = {mode: {name.removeprefix("libsmall.c:") for name in found} for mode, found in choose.items()}
    # The `then` is what no counter of its own counts: the line after it is found all the same.
    assert names == {"direct": {"1", "2", "3", "3.0", "4"}, "reverse": {"3.1", "5"}}
    assert again == {}
    assert "libsmall.c:10" in count["reverse"]
    assert "libsmall.c:9.0" in count["reverse"]
    assert further == {}  # a loop that runs more often is nothing new
    assert {name for step in (choose, count) for found in step.values() for name in found} == executed(tmp_path)


def executed(folder: Path) -> set[str]:
    """What gcov says by itself of what the process left when it ended."""
    (data,) = folder.glob("*.gcda")
    command = ["gcov", "--json-format", "--stdout", "--branch-probabilities", data.name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    names = set()
    for file in json.loads(done.stdout)["files"]:
        for line in file["lines"]:
            place = f"{Path(file['file']).name}:{line['line_number']}"
            names |= {place} if line["count"] else set()
            names |= {f"{place}.{index}" for index, branch in enumerate(line["branches"]) if branch["count"]}
    return names


def test_without_anything_to_observe_the_reason_is_told(tmp_path: Path) -> None:
    assert missing(tmp_path) == "no shared object built with --coverage in the library or a --path folder"
    build(tmp_path, source=SOURCE)
    assert missing(tmp_path) == "no shared object built with --coverage in the library or a --path folder"


def test_missing_notes_and_a_missing_or_wrong_gcov_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = build_small(tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()
    monkeypatch.setenv("PATH", str(tools))
    assert missing(tmp_path).endswith("its gcov is needed, and there is none")
    (tools / "gcov").write_text("#!/bin/sh\necho 'gcov (GCC) 9.4.0'\n")
    (tools / "gcov").chmod(0o755)
    assert missing(tmp_path).endswith(f"its gcov is needed, and {tools / 'gcov'} is 9")
    (notes,) = tmp_path.glob("*.gcno")
    notes.unlink()
    assert missing(tmp_path) == f"{path}: its notes are missing: {notes}"


Counts = st.lists(st.integers(0, 2**40), min_size=3, max_size=3)


@given(st.lists(Counts, min_size=1, max_size=3), st.lists(st.integers(-5, 5), min_size=3, max_size=3))
def test_what_earlier_counts_add_up_to_is_not_new(rows: list[list[int]], factors: list[int]) -> None:
    basis = Basis()
    new = [basis.extend(np.array(row)) for row in rows]
    assert new[0] == any(rows[0])
    combined = sum(factor * np.array(row) for factor, row in zip(factors, rows, strict=False))
    assert not basis.extend(combined)
    assert not any(basis.extend(np.array(row)) for row in rows)


EXTENSION = """#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

struct Scale : torch::autograd::Function<Scale> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, double factor) {
    context->saved_data["factor"] = factor;
    if (factor < 0)
      return x.mul(-factor);  // negative
    return x.mul(factor);
  }

  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* context, torch::autograd::variable_list gradients) {
    double factor = context->saved_data["factor"].toDouble();
    factor = factor < 0 ? -factor : factor;
    return {gradients[0].mul(factor), at::Tensor()};
  }
};

at::Tensor scale(const at::Tensor& x, double factor) {
  return Scale::apply(x, factor);
}

TORCH_LIBRARY(measured, library) {
  library.def("scale", scale);
}
"""
MODULE = """from pathlib import Path

import torch

torch.ops.load_library(str(Path(__file__).with_name("libscaling.so")))


def scale(x, factor):
    return torch.ops.measured.scale(x, factor)
"""


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a module of one operator in C++, built as torch's own extension builder does it."""
    require_gcc()
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        pytest.skip("no torch: no extension of it can be built")
    torch = Path(found.origin).parent
    folder = tmp_path_factory.mktemp("extension")
    (folder / "scaling.cpp").write_text(EXTENSION)
    (folder / "scaling.py").write_text(MODULE)
    headers = [f"-I{torch / 'include'}", f"-I{torch / 'include' / 'torch' / 'csrc' / 'api' / 'include'}"]
    options = ["--coverage", "-O0", "-fPIC", "-std=c++20", "-shared", *headers]
    libraries = [f"-L{torch / 'lib'}", "-ltorch", "-ltorch_cpu", "-lc10"]
    done = subprocess.run(
        ["c++", *options, "scaling.cpp", "-o", "libscaling.so", *libraries],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def scaled(factor: float, *values: float) -> Call:
    tensor = {"tensor": {"shape": [len(values)], "dtype": "float64", "values": list(values)}}
    return call_from_json({"api": "scaling.scale", "args": [tensor, factor]})


def lines_with(*words: str) -> set[str]:
    """The names of the extension's lines that contain one of these words."""
    numbered = enumerate(EXTENSION.splitlines(), start=1)
    return {f"scaling.cpp:{number}" for number, line in numbered if any(word in line for word in words)}


@pytest.mark.slow
def test_an_extension_of_torch_is_measured_mode_by_mode(extension: Path) -> None:
    settings = WorkerSettings(
        Path(sys.executable), "torch", paths=(extension,), observers=("gcov",), limits=Limits(seconds=30.0)
    )
    calls = [scaled(2.0, 1.0, 2.0), scaled(2.0, 1.0, 2.0), scaled(-2.0, 3.0), scaled(-3.0, 1.0), scaled(3.0, 1.0)]
    with Worker(settings) as worker:
        assert (worker.info.observers, worker.info.missing) == (("gcov",), {})
        reports = worker.run(calls)
    assert all(report.verdict == "agree" and report.differentiated for report in reports), reports
    positive, again, negative, *rest = (
        {mode: set(names) for mode, names in report.features.get("gcov", {}).items()} for report in reports
    )
    forward = lines_with('saved_data["factor"] = factor', "if (factor < 0)", "return x.mul(factor)", "::apply")
    backward = lines_with("toDouble", "factor < 0 ?", "gradients[0]")
    assert forward <= positive["direct"]
    assert backward <= positive["reverse"]
    assert not backward & positive["direct"]
    assert all(name.startswith("scaling.cpp:") for names in positive.values() for name in names)
    (branch,) = lines_with("if (factor < 0)")
    (taken,) = lines_with("// negative")
    assert again == {}
    assert taken in negative["direct"] - positive["direct"]
    assert {name for name in negative["direct"] if name.startswith(f"{branch}.")} - positive["direct"]
    assert rest == [{}, {}]
