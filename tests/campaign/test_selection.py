"""Tests of the choice of seeds: the bound, and different structures first."""

from __future__ import annotations

from typing import Any

from evo_nabla.call import Call, call_from_json
from evo_nabla.campaign.selection import diverse, select_seeds


def call(api: str, shape: list[int], dtype: str = "float64", **kwargs: Any) -> Call:
    tensor = {"tensor": {"shape": shape, "dtype": dtype, "fill": 1}}
    return call_from_json({"api": api, "args": [tensor], "kwargs": kwargs})


CALLS = [call("torch.sin", [n]) for n in range(1, 9)] + [
    call("torch.linalg.det", [2, 2]),
    call("torch.sin", [2, 2]),
    call("torch.sin", [3], "complex128"),
    call("torch.cos", [3]),
]


def test_seeds_are_grouped_by_api_in_the_order_of_names() -> None:
    assert list(select_seeds(CALLS)) == ["torch.cos", "torch.linalg.det", "torch.sin"]


def test_different_structures_come_first_and_the_rest_follows_in_its_order() -> None:
    chosen = select_seeds(CALLS, limit=5)["torch.sin"]
    assert chosen[0] == CALLS[0]
    assert set(chosen[1:3]) == {CALLS[9], CALLS[10]}
    assert len(chosen) == len(set(chosen)) == 5


def test_every_call_is_chosen_once_when_the_bound_allows() -> None:
    calls = [call("torch.sum", [2], dim=0), call("torch.sum", [2], dim=0, keepdim=True), *CALLS]
    assert sorted(map(repr, diverse(calls, 100))) == sorted(map(repr, calls))
    assert diverse([], 5) == []
