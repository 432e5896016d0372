"""Shrinking: downhill, to a fixed point, within its budget, and never away from the bug."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_nabla.call import Call, TensorArgument, Values, call_from_json, canonical_text, walk
from evo_nabla.executor import Finding, Report, Worker
from evo_nabla.findings import Budget, Shrinker, Signature, signatures_of
from evo_nabla.findings.complexity import complexity
from evo_nabla.findings.confirm import showing
from evo_nabla.findings.passes import PASSES
from evo_nabla.findings.shrink import valid

from .conftest import bug

ENDLESS = Budget(runs=5000, seconds=math.inf)


class Laboratory:
    """A runner in which a call shows a bug exactly if a condition holds; counts what it is asked."""

    def __init__(self, condition: Callable[[Call], bool]) -> None:
        self.condition, self.runs = condition, 0

    def run(self, calls: Sequence[Call], *, thorough: bool = False) -> list[Report]:
        self.runs += len(calls)
        return [self.report(call) for call in calls]

    def report(self, call: Call) -> Report:
        if not self.condition(call):
            return Report("ok", "agree")
        return Report("ok", "finding", findings=(Finding("gradient", "reverse", 1, 2.0, {}, "", {}),))


def shrunk(call: Call, condition: Callable[[Call], bool], budget: Budget = ENDLESS) -> Shrinker:
    laboratory = Laboratory(condition)
    (signature,) = signatures_of(call, laboratory.report(call))
    shrinker = Shrinker(laboratory, call, signature, budget)
    while not shrinker.work(math.inf if budget is ENDLESS else 1.0):
        pass
    assert laboratory.runs == shrinker.runs
    return shrinker


def tensors(call: Call) -> list[TensorArgument]:
    return [node for _, node in walk(call) if isinstance(node, TensorArgument)]


BIG = call_from_json(
    {
        "api": "torch.some",
        "args": [
            {"tensor": {"shape": [6, 8], "dtype": "complex64", "seed": 3, "range": [-1, 1], "layout": "transposed"}},
            {"tensor": {"shape": [8, 4], "dtype": "float16", "seed": 4, "range": [-1, 1]}},
            17,
            [3.25, 8],
        ],
        "kwargs": {"alpha": 0.3717, "flag": True, "name": "text"},
        "init": {"args": [8, 4], "kwargs": {"bias": False}},
        "x-note": "kept by others",
    }
)


def test_everything_goes_that_does_not_matter() -> None:
    call = shrunk(BIG, lambda call: True).call
    assert call.kwargs == () and call.extra == () and call.init is not None and call.init.args == ()
    assert call.args == ()


def test_what_matters_stays() -> None:
    def condition(call: Call) -> bool:
        found = tensors(call)
        return len(found) == 2 and found[1].dtype == "float16" and dict(call.kwargs).get("flag") is True

    call = shrunk(BIG, condition).call
    first, second = tensors(call)
    assert first.dtype == "float64" and first.layout.kind == "contiguous" and first.shape == ()
    assert second.dtype == "float16" and second.shape == ()
    assert [name for name, _ in call.kwargs] == ["flag"]


def test_axes_of_one_length_shrink_together() -> None:
    def condition(call: Call) -> bool:
        found = tensors(call)
        return (
            len(found) == 2
            and all(len(t.shape) == 2 for t in found)
            and found[0].shape[1] == found[1].shape[0]
            and found[0].shape[1] >= 2
        )

    first, second = tensors(shrunk(BIG, condition).call)
    assert (first.shape, second.shape) == ((1, 2), (2, 1))


def test_the_one_entry_that_matters_is_kept() -> None:
    values = [0.123, 0.456, -0.789, 0.321, 0.654]
    call = call_from_json(
        {"api": "torch.f", "args": [{"tensor": {"shape": [5], "dtype": "float64", "values": values}}]}
    )
    (tensor,) = tensors(shrunk(call, lambda call: "-0.789" in canonical_text(call)).call)
    assert isinstance(tensor.content, Values)
    assert tensor.content.flat[-1] == -0.789 and set(tensor.content.flat[:-1]) <= {1.0}


def test_the_result_is_always_the_same() -> None:
    def condition(call: Call) -> bool:
        return sum(math.prod(tensor.shape) for tensor in tensors(call)) >= 7

    assert canonical_text(shrunk(BIG, condition).call) == canonical_text(shrunk(BIG, condition).call)


def test_pauses_change_nothing() -> None:
    def condition(call: Call) -> bool:
        return sum(math.prod(tensor.shape) for tensor in tensors(call)) >= 7

    ticks = iter(range(10**9))
    laboratory = Laboratory(condition)
    (signature,) = signatures_of(BIG, laboratory.report(BIG))
    paused = Shrinker(laboratory, BIG, signature, Budget(5000, 10**9), clock=lambda: float(next(ticks)))
    slices = 1
    while not paused.work(25.0):
        slices += 1
    assert slices > 1
    assert complexity(paused.call) <= complexity(shrunk(BIG, condition).call)
    assert paused.result().complete


def test_runs_are_bounded() -> None:
    shrinker = shrunk(BIG, lambda call: len(tensors(call)) == 2, Budget(runs=13, seconds=1e9))
    assert shrinker.runs <= 13 and not shrinker.result().complete


def test_seconds_are_bounded() -> None:
    ticks = iter(range(10**6))
    laboratory = Laboratory(lambda call: True)
    (signature,) = signatures_of(BIG, laboratory.report(BIG))
    shrinker = Shrinker(laboratory, BIG, signature, Budget(5000, 20.0), clock=lambda: float(next(ticks)))
    while not shrinker.work(5.0):
        pass
    assert shrinker.runs < 200 and not shrinker.result().complete


def test_less_is_spent_in_a_hurry_and_the_rest_once_there_is_none() -> None:
    ticks = iter(range(10**6))
    laboratory = Laboratory(lambda call: True)
    (signature,) = signatures_of(BIG, laboratory.report(BIG))
    budget = Budget(5000, seconds=1e6, hurried_seconds=10.0)
    shrinker = Shrinker(laboratory, BIG, signature, budget, clock=lambda: float(next(ticks)))
    assert shrinker.work(1e9, hurry=True)
    assert not shrinker.result().complete and 0 < shrinker.runs < 150
    assert shrinker.work(1e9) and shrinker.result().complete


DTYPES = ("float64", "float32", "float16", "bfloat16", "complex64", "complex128", "int64", "bool")
LAYOUTS = ("contiguous", "transposed", "strided", "expanded")
documents = st.builds(
    lambda shape, dtype, layout, seed, scalar: {
        "api": "torch.f",
        "args": [
            {"tensor": {"shape": shape, "dtype": dtype, "seed": seed, "range": [0, 3], "layout": layout}},
            scalar,
            [scalar, {"tuple": [scalar]}],
        ],
        "kwargs": {"k": {"tensor": {"shape": shape, "dtype": "float64", "fill": 0.25}}},
    },
    st.lists(st.integers(0, 5), max_size=3),
    st.sampled_from(DTYPES),
    st.sampled_from(LAYOUTS),
    st.integers(0, 9),
    st.none() | st.integers(-50, 50) | st.floats(-9, 9) | st.booleans() | st.text(max_size=4),
)


@settings(max_examples=40, deadline=None)
@given(documents)
def test_every_candidate_of_every_pass_can_be_judged(document: dict[str, object]) -> None:
    call = call_from_json(document)
    for candidates in PASSES:
        for candidate in candidates(call):
            checked = valid(candidate)
            if checked is not None:
                complexity(checked)


@settings(max_examples=15, deadline=None)
@given(documents, st.integers(0, 20))
def test_the_bug_is_never_lost(document: dict[str, object], size: int) -> None:
    call = call_from_json(document)

    def condition(call: Call) -> bool:
        return sum(math.prod(tensor.shape) for tensor in tensors(call)) >= size

    if condition(call):
        found = shrunk(call, condition, Budget(400, 1e9))
        assert condition(found.call) and complexity(found.call) <= complexity(call)


@pytest.mark.parametrize(("name", "elements"), [("ldexp", 4), ("scatter_add", 6)])
def test_real_bugs_become_small(worker: Worker, name: str, elements: int) -> None:
    call = bug(name)
    (report,) = worker.run([call], thorough=True)
    signature: Signature = signatures_of(call, report)[0]
    shrinker = Shrinker(worker, call, signature, Budget(runs=150, seconds=120.0))
    while not shrinker.work(30.0):
        pass
    small = shrinker.call
    assert showing(small, worker.run([small], thorough=True)[0], signature) is not None
    assert sum(math.prod(tensor.shape) for tensor in tensors(small)) <= elements
