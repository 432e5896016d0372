"""Curiosity falls with fruitless offspring and rises with discoveries; discrepancy is a slope only below a finding."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_nabla.evolution.fitness import NOTHING_TO_CLIMB, FeatureStatistics, Fitness, climbed, curiosity

amounts = st.floats(0, 1e6)
counts = st.integers(0, 10**6)


@given(amounts)
def test_a_newborn_is_as_curious_as_its_novelty(novelty: float) -> None:
    assert curiosity(novelty, 0.0, 0) == pytest.approx(math.log1p(novelty))


@given(st.floats(0.1, 1e4), st.integers(0, 10**4), st.integers(1, 100))
def test_fruitless_offspring_lower_curiosity(rarity: float, fruitless: int, more: int) -> None:
    # An entry with few features is first a little of a surprise: entropy peaks where both species are equally likely.
    start = max(fruitless, math.ceil(rarity))
    assert curiosity(rarity, 0.0, start + more) < curiosity(rarity, 0.0, start)


@given(amounts, counts, st.floats(0.5, 100))
def test_discoveries_raise_curiosity(rarity: float, fruitless: int, discovered: float) -> None:
    assert curiosity(rarity, discovered, fruitless) >= curiosity(rarity, 0.0, fruitless)


@given(amounts, amounts, counts)
def test_curiosity_is_an_entropy(rarity: float, discovered: float, fruitless: int) -> None:
    value = curiosity(rarity, discovered, fruitless)
    assert -1e-9 <= value <= math.log(rarity + discovered + fruitless + 1) + 1e-9


def test_curiosity_is_the_entropy_of_the_counted_species() -> None:
    # Three features seen once each and "nothing new" seen 1 + 4 times.
    shares = [1 / 8, 1 / 8, 1 / 8, 5 / 8]
    assert curiosity(2.0, 1.0, 4) == pytest.approx(-sum(share * math.log(share) for share in shares))


@pytest.mark.parametrize("discrepancy", [0.0, -1.0, math.inf, math.nan, 1e-9, 1.0, 1e12])
def test_what_is_no_slope_is_at_the_bottom(discrepancy: float) -> None:
    assert climbed(discrepancy) == NOTHING_TO_CLIMB


@given(st.floats(1.1e-6, 0.99), st.floats(1.1e-6, 0.99))
def test_below_a_finding_more_is_better(first: float, second: float) -> None:
    assert (climbed(first) < climbed(second)) == (math.log10(first) < math.log10(second))
    assert NOTHING_TO_CLIMB < climbed(first) < 0


def test_fitness_dominates_as_both_objectives_say() -> None:
    assert Fitness((2.0, -1.0)).dominates(Fitness((1.0, -1.0)))
    assert not Fitness((2.0, -3.0)).dominates(Fitness((1.0, -1.0)))


@given(st.lists(st.lists(st.sampled_from("abcdef"), unique=True), max_size=6))
def test_statistics_forget_what_leaves(hits: list[list[str]]) -> None:
    statistics = FeatureStatistics()
    for features in hits:
        statistics.add(features)
    for feature in "abcdef":
        assert statistics.count(feature) == sum(feature in features for features in hits)
    for features in hits:
        assert statistics.rarity(features) == pytest.approx(
            sum(1 / sum(feature in others for others in hits) for feature in features)
        )
    for features in hits:
        statistics.discard(features)
    assert len(statistics) == 0
