"""The scripts: each shows its bug on its own, and is silent on an honest call rendered the same way."""

from __future__ import annotations

import ast
import contextlib
import io
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_nabla.call import Call, TensorArgument, call_from_json, walk
from evo_nabla.call.layouts import strides_of
from evo_nabla.call.materialise import materialise
from evo_nabla.executor import Finding, Worker
from evo_nabla.executor.report import KINDS
from evo_nabla.findings import Versions, reproducer
from evo_nabla.findings.reproducer import title
from evo_nabla.findings.source import SourceError, call_source, dotted

from .conftest import PLANTED, REAL_BUGS, bug, written

VERSIONS = Versions("torch", "2.13.0", "3.11.7", "2.4.6", "Linux x86_64")

HONEST: dict[str, dict[str, Any]] = {
    "kink": {"api": "torch.relu", "args": [written([0.0, 1.0, -1.0])]},
    "tail": {"api": "torch.tanh", "args": [written([19.5, 0.1, -300.0])]},
    "infinite slope": {"api": "torch.sqrt", "args": [written([0.0, 1.0])]},
    "underflow": {"api": "torch.square", "args": [written([1e-200])]},
    "module": {
        "api": "torch.nn.Conv1d",
        "args": [{"tensor": {"shape": [1, 2, 3], "dtype": "float64", "seed": 1, "range": [0, 1]}}],
        "init": {"args": [2, 1, 2], "kwargs": {}},
    },
    "random": {"api": "torch.nn.functional.dropout", "args": [written([0.5, 1.0, 2.0])], "kwargs": {"p": 0.5}},
    "in place": {"api": "torch.Tensor.add_", "args": [written([0.5, 1.0]), written([2.0])]},
    "complex": {
        "api": "torch.abs",
        "args": [{"tensor": {"shape": [2], "dtype": "complex128", "seed": 1, "range": [-1, 1]}}],
    },
    "half": {"api": "torch.mul", "args": [written([0.1, 0.3], "float16"), written([0.7], "float16")]},
    "same object": {"api": "torch.cat", "args": [[written([1.0]), {"same": "args.0.0"}]]},
    "no elements": {
        "api": "torch.mul",
        "args": [{"tensor": {"shape": [0, 2], "dtype": "float64", "fill": 1.0}}, written([1.0, 2.0])],
    },
    "layout": {
        "api": "torch.exp",
        "args": [{"tensor": {"shape": [2, 2], "dtype": "float32", "seed": 1, "range": [0, 1], "layout": "transposed"}}],
    },
}
SHOWN_BY: dict[str, tuple[str, str]] = {
    "vander": ("status", "reverse"),
    "group_norm": ("status", "reverse"),
    "ldexp": ("gradient", "reverse+forward"),
    "triangular_solve": ("gradient", "forward"),
    "scatter_add": ("status", "reverse"),
}


def observation(kind: str, suspect: str = "reverse", order: int = 1, detail: dict[str, Any] | None = None) -> Finding:
    return Finding(kind, suspect, order, 2.0, {}, "", detail or {})


def script(call: Call, kind: str, suspect: str = "reverse", order: int = 1, **detail: Any) -> str:
    return reproducer(call, observation(kind, suspect, order, detail), VERSIONS)


def run_here(text: str) -> tuple[int, str]:
    """The script's exit status and what it prints, without starting another Python."""
    namespace: dict[str, Any] = {"__name__": "repro"}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text, "repro.py", "exec"), namespace)  # a script of our own making, run as a user would
        status = namespace["main"]()
    return status, printed.getvalue()


def run_alone(text: str, folder: Path, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The script run as its reader runs it: one file in an empty folder, evo_nabla out of reach."""
    (folder / "repro.py").write_text(text)
    environment = {"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    return subprocess.run(
        [sys.executable, "repro.py"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", REAL_BUGS)
def test_real_bugs_of_torch_show_in_a_folder_of_their_own(name: str, tmp_path: Path) -> None:
    kind, suspect = SHOWN_BY[name]
    done = run_alone(script(bug(name), kind, suspect), tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert torch.__version__ in done.stdout


def test_an_honest_call_is_silent_in_a_folder_of_its_own(tmp_path: Path) -> None:
    done = run_alone(script(call_from_json(HONEST["tail"]), "gradient"), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", REAL_BUGS)
def test_the_numbers_of_the_suspect_stand_out(name: str) -> None:
    kind, suspect = SHOWN_BY[name]
    status, printed = run_here(script(bug(name), kind, suspect))
    assert status == 1
    assert ("differ by" in printed) == (kind == "gradient")


@pytest.mark.parametrize("kind", ["gradient", "nonfinite", "missing_gradient", "status", "output", "metadata", "stale"])
@pytest.mark.parametrize("name", HONEST)
def test_honest_calls_are_silent(name: str, kind: str) -> None:
    status, printed = run_here(script(call_from_json(HONEST[name]), kind))
    assert status == 0, printed


@pytest.mark.parametrize("kind", ["gradient", "transform", "asymmetry", "status"])
@pytest.mark.parametrize("name", ["module", "half", "in place"])
def test_honest_calls_are_silent_at_second_order(name: str, kind: str) -> None:
    status, printed = run_here(script(call_from_json(HONEST[name]), kind, order=2))
    assert status == 0, printed


def test_third_order_is_the_same_script() -> None:
    status, printed = run_here(script(call_from_json(HONEST["tail"]), "gradient", order=3))
    assert status == 0, printed
    assert "reverse, 3 times" in printed


def test_functional_transforms_of_det_show_their_second_derivative() -> None:
    identity = {"tensor": {"shape": [2, 2], "dtype": "float64", "values": [1.0, 0.0, 0.0, 1.0]}}
    status, printed = run_here(
        script(call_from_json({"api": "torch.linalg.det", "args": [identity]}), "transform", "func_rr", 2)
    )
    assert status == 1 and "nan" in printed  # pytorch/pytorch#192521


@pytest.mark.parametrize(("kind", "expected"), [("gradient", 0), ("status", 0), ("transform", 2)])
def test_a_torch_without_functional_transforms_is_no_bug(
    kind: str, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = script(call_from_json(HONEST["kink"]), kind, order=2)
    monkeypatch.delattr(torch, "func")  # as before 2.0
    status, printed = run_here(text)
    assert status == expected, printed


def test_a_cached_result_is_stale() -> None:
    document = {
        "api": "torch.distributions.transforms.AbsTransform",
        "args": [written([0.5, 0.25])],
        "init": {"args": [], "kwargs": {"cache_size": 1}},
    }
    assert run_here(script(call_from_json(document), "stale", "direct"))[0] == 1  # pytorch/pytorch#78346


def test_an_inaccurate_derivative_is_measured_against_the_reference() -> None:
    call = call_from_json({"api": "torch.expm1", "args": [written([1.0, -38.0])]})
    detail: dict[str, Any] = {"entry": {"input": 1}}
    assert run_here(script(call, "precision", reference="3.1391327920480296e-17", **detail))[0] == 1  # #192406
    call = call_from_json({"api": "torch.exp", "args": [written([1.0, -38.0])]})
    assert run_here(script(call, "precision", reference="3.1391327920480296e-17", **detail))[0] == 0


SECOND: dict[str, tuple[dict[str, Any], float]] = {
    "one input": ({"api": "torch.exp", "args": [written([-38.0, 1.0])]}, 3.1391327920480296e-17),
    "two inputs": ({"api": "torch.pow", "args": [written([3.0]), written([2.0])]}, 2.0),
    "two outputs": ({"api": "torch.var_mean", "args": [written([3.0, 1.0])]}, 1.0),
}


@pytest.mark.parametrize("name", SECOND)
def test_every_mode_gives_an_inaccurate_second_derivative_its_number(name: str) -> None:
    document, expected = SECOND[name]
    call = call_from_json(document)
    status, printed = run_here(script(call, "precision", order=2, reference=repr(expected), entry={"input": 0}))
    assert status == 0, printed
    numbers = {line[4:26].strip(): float(line[26:].split()[0]) for line in printed.splitlines()[1:]}
    assert {"reverse over reverse", "forward over reverse", "reverse over forward", "forward over forward"} < {*numbers}
    assert numbers == pytest.approx(dict.fromkeys(numbers, expected), rel=1e-6)


def test_an_inaccurate_second_derivative_shows_the_numbers_of_the_oracle(worker: Worker, versions: Versions) -> None:
    call = call_from_json({"api": "torch.expm1", "args": [written([1.0, -38.0])]})  # pytorch/pytorch#192406
    (report,) = worker.run([call], thorough=True)
    found = next(finding for finding in report.findings if (finding.kind, finding.order) == ("precision", 2))
    status, printed = run_here(reproducer(call, found, versions))
    assert status == 1
    numbers = {line[4:26].strip(): line[26:].split()[0] for line in printed.splitlines()[1:]}
    assert float(numbers["reverse over reverse"]) == found.values["rr"]
    assert float(numbers["reference"]) == found.values["reference"]
    assert float(numbers["forward over forward"]) in (found.values["rr"], found.values["reference"])


def test_low_precision_is_measured_against_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PLANTED))
    inputs = written([0.25, -0.75, 1.25], "bfloat16")
    call = call_from_json({"api": "planted_wrong.dtypes.brain_float", "args": [inputs]})
    values = {"reverse": 1.75, "forward": 2.1875, "float64": 2.1875}
    text = reproducer(call, Finding("precision", "reverse", 1, 1.3, values, "", {}), VERSIONS)
    assert run_here(text)[0] == 1
    assert run_here(script(call_from_json(HONEST["half"]), "precision"))[0] == 0


def test_a_half_precision_gradient_that_overflows_is_not_finite() -> None:
    small = written([0.002], "float16")
    call = call_from_json({"api": "torch.atan2", "args": [small, small]})
    assert run_here(script(call, "nonfinite"))[0] == 1  # pytorch/pytorch#193040


@pytest.mark.parametrize(
    ("operator", "kind", "expected"),
    [("segfault_in_backward", "crash", 1), ("abort_in_backward", "crash", 1), ("hang_in_backward", "hang", 1)],
)
def test_crashes_and_hangs_are_survived(operator: str, kind: str, expected: int, tmp_path: Path) -> None:
    call = call_from_json({"api": f"planted_wrong.crashes.{operator}", "args": [written([0.5])]})
    text = reproducer(call, observation(kind), VERSIONS, time_limit=12 if kind == "hang" else 120)
    done = run_alone(text, tmp_path, PLANTED)
    assert done.returncode == expected, done.stdout + done.stderr


def test_a_call_that_comes_back_is_no_crash(tmp_path: Path) -> None:
    done = run_alone(script(call_from_json(HONEST["tail"]), "crash"), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_where_the_call_is_refused_the_script_says_so() -> None:
    call = call_from_json({"api": "torch.matmul", "args": [written([1.0, 2.0]), written([1.0])]})
    assert [run_here(script(call, kind))[0] for kind in ("gradient", "status", "output", "metadata", "stale")] == [
        2
    ] * 5


@pytest.mark.parametrize("kind", KINDS)
def test_scripts_use_the_library_and_numpy_alone(kind: str) -> None:
    text = script(call_from_json(HONEST["module"]), kind, order=2, reference="1.0")
    imported = {
        alias.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import) for alias in node.names
    }
    assert imported <= {"copy", "functools", "subprocess", "sys", "numpy", "torch"}
    assert "evo_nabla." not in text.replace("evo_nabla saw", "")


NASTY = 'x"""\nimport os; os.system("true")\n"""\\'


@given(st.text(max_size=30) | st.just(NASTY))
@settings(max_examples=25, deadline=None)
def test_nothing_of_a_call_or_a_report_becomes_code(text: str) -> None:
    document = {
        "api": "torch.add",
        "args": [written([1.0]), {"dict": {text: text}}],
        "kwargs": {"alpha": [text, {"tuple": [text]}]},
    }
    finding = Finding("status", text, 1, 2.0, {text: 1.0}, text, {"works": text})
    versions = Versions(text, text, text, text, text)
    tree = ast.parse(reproducer(call_from_json(document), finding, versions))
    plain = ast.parse(script(call_from_json({"api": "torch.add", "args": [written([1.0])]}), "status"))
    assert _statements(tree) == _statements(plain)


def _statements(tree: ast.Module) -> list[str]:
    return [type(node).__name__ for node in ast.walk(tree) if isinstance(node, ast.stmt)]


@pytest.mark.parametrize("path", ["torch.a b", "torch.x();y", "torch.", "torch.if", 'torch."x"', "torch.é"])
def test_what_is_no_name_is_refused(path: str) -> None:
    with pytest.raises(SourceError):
        dotted(path)


tensors = st.builds(
    lambda shape, dtype, layout, content: {"shape": shape, "dtype": dtype, "layout": layout, **content},
    st.lists(st.integers(0, 4), max_size=3),
    st.sampled_from(["float64", "float32", "float16", "bfloat16", "complex64", "complex128", "int32", "bool"]),
    st.sampled_from(["contiguous", "transposed", "strided", "expanded"]),
    st.sampled_from(
        [{"seed": 5, "range": [0, 3]}, {"fill": 1}, {"fill": 0}, {"seed": 1, "range": [0, 9], "kind": "integer"}]
    ),
)


@given(tensors)
@settings(max_examples=60, deadline=None)
def test_tensors_are_written_exactly(document: dict[str, Any]) -> None:
    if document["dtype"] == "bool":
        document = {**document, "fill": True} if "fill" in document else {**document, "kind": "uniform"}
    call = call_from_json({"api": "torch.add", "args": [{"tensor": document}]})
    argument = next(node for _, node in walk(call) if isinstance(node, TensorArgument))
    namespace: dict[str, Any] = {}
    exec(compile(script(call, "output"), "repro.py", "exec"), namespace)
    (made,) = namespace["arguments"]()
    assert made.dtype == getattr(torch, argument.dtype) and tuple(made.shape) == argument.shape
    if argument.layout.kind != "expanded":  # its entries share memory, so what was meant for one is read as another
        expected = torch.from_numpy(np.array(materialise(argument)))
        assert torch.equal(made.to(expected.dtype), expected)
    if made.numel():
        strides, offset = strides_of(argument.layout, argument.shape)
        longer = [axis for axis, size in enumerate(argument.shape) if size > 1]
        assert [made.stride()[axis] for axis in longer] == [strides[axis] for axis in longer]
        assert made.storage_offset() == offset


def test_parameters_may_have_names_that_python_keeps_for_itself() -> None:
    document = {"api": "torch.Tensor.random_", "args": [written([1.0])], "kwargs": {"from": 2, "to": 3}}
    status, printed = run_here(script(call_from_json(document), "output"))
    assert status == 0 and "[[2.0]]" in printed


def test_large_drawn_tensors_are_drawn_again() -> None:
    document = {"tensor": {"shape": [40, 50], "dtype": "float64", "seed": 7, "range": [-1, 2]}}
    call = call_from_json({"api": "torch.exp", "args": [document]})
    (tensor,) = call_source(call).tensors
    assert "RandomState(7)" in tensor.code and len(tensor.code) < 200
    namespace: dict[str, Any] = {}
    exec(compile(script(call, "output"), "repro.py", "exec"), namespace)
    argument = next(node for _, node in walk(call) if isinstance(node, TensorArgument))
    assert np.array_equal(namespace["arguments"]()[0].numpy(), materialise(argument))


def test_non_finite_numbers_are_written_as_such() -> None:
    call = call_from_json({"api": "torch.exp", "args": [written([{"float": "nan"}, {"float": "-inf"}])]})
    namespace: dict[str, Any] = {}
    exec(compile(script(call, "output"), "repro.py", "exec"), namespace)
    assert torch.equal(namespace["arguments"]()[0].isnan(), torch.tensor([True, False]))


def test_the_worker_finds_what_the_scripts_show(worker: Worker, versions: Versions) -> None:
    """End to end without shrinking: what the oracle reports, its script shows."""
    for name in REAL_BUGS:
        (report,) = worker.run([bug(name)], thorough=True)
        found = report.findings[0]
        assert run_here(reproducer(bug(name), found, versions))[0] == 1, title(bug(name), found)
