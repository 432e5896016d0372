"""Every planted fault must be found, with the right suspect; no honest operator may be reported."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from evo_nabla.executor import Limits, Worker, WorkerSettings

from .cases import FOLDER, Case

LINES = [line for path in sorted((FOLDER / "calls").glob("*.jsonl")) for line in path.read_text().splitlines()]
CASES = [Case.from_json(json.loads(line)) for line in LINES]


@pytest.fixture(scope="module")
def worker() -> Iterator[Callable[[int], Worker]]:
    """The worker that checks up to an order, one for all cases of that order."""
    with ExitStack() as stack:
        started: dict[int, Worker] = {}

        def of_order(order: int) -> Worker:
            if order not in started:
                limits = Limits(seconds=6.0)
                settings = WorkerSettings(
                    python=Path(sys.executable),
                    library="torch",
                    paths=(FOLDER,),
                    observers=(),
                    order=order,
                    limits=limits,
                    seed=0,
                )
                started[order] = stack.enter_context(Worker(settings))
            return started[order]

        yield of_order


def parameters(case: Case) -> ParameterSet:
    """A case under its name; one that hangs takes the limit, and thrice as long to be confirmed."""
    return pytest.param(case, id=case.id, marks=[pytest.mark.slow] if "hang" in case.kinds else [])


@pytest.mark.parametrize("case", [parameters(case) for case in CASES])
def test_verdict(case: Case, worker: Callable[[int], Worker]) -> None:
    (report,) = worker(case.order).run([case.call])
    assert case.objection(report) == ""


def members(module: str) -> set[str]:
    """The functions and classes that a planted module defines."""
    tree = ast.parse((FOLDER / (module.replace(".", "/") + ".py")).read_text())
    return {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def test_every_call_names_an_operator() -> None:
    for case in CASES:
        module, _, name = case.call.api.rpartition(".")
        assert name in members(module), case.id


@pytest.mark.parametrize("package", ["planted_wrong", "planted_honest"])
def test_there_are_enough_operators(package: str) -> None:
    assert len({case.call.api for case in CASES if case.call.api.startswith(f"{package}.")}) >= 60


def test_every_fault_is_expected_to_be_found() -> None:
    found = {case.call.api for case in CASES if case.verdicts == ("finding",)}
    assert found == {case.call.api for case in CASES if case.call.api.startswith("planted_wrong.")}
