"""Tests of the budget: what users write, and what they get."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_nabla.campaign.budget import Budget, duration, parse_budget
from evo_nabla.campaign.errors import CampaignError


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("60s", Budget(seconds=60)),
        ("5m", Budget(seconds=300)),
        ("2h", Budget(seconds=7200)),
        ("1h30m", Budget(seconds=5400)),
        ("0.5s", Budget(seconds=0.5)),
        (" 90 ", Budget(seconds=90)),
        ("10000 calls", Budget(calls=10000)),
        ("10,000c", Budget(calls=10000)),
        ("1 call", Budget(calls=1)),
    ],
)
def test_budgets_are_read(text: str, budget: Budget) -> None:
    assert parse_budget(text) == budget


@pytest.mark.parametrize("text", ["", "fast", "-5s", "0", "0c", "5 minutes please", "1e3", "nan", "infs", "c", "5m3"])
def test_other_budgets_are_refused_by_name(text: str) -> None:
    with pytest.raises(CampaignError, match="budget"):
        parse_budget(text)


@given(st.text())
def test_any_text_is_a_budget_or_an_error(text: str) -> None:
    try:
        budget = parse_budget(text)
    except CampaignError:
        return
    assert (budget.seconds or budget.calls or 0) > 0


@given(st.integers(1, 10**9), st.integers(0, 10**9))
def test_a_budget_of_calls_is_spent_to_the_call(limit: int, calls: int) -> None:
    budget = Budget(calls=limit)
    assert budget.spent(1e9, calls) == (budget.calls_left(calls) == 0) == (calls >= limit)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (59.9, "59s"), (185, "3m 05s"), (7380, "2h 03m"), (349200, "4d 01h")]
)
def test_durations_are_short(seconds: float, text: str) -> None:
    assert duration(seconds) == text
