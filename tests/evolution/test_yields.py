"""Operators that earn are drawn more, the others never die, and a restored table draws the same."""

from __future__ import annotations

import json
import random

import pytest

from evo_nabla.evolution.yields import FLOOR, Yields

OPERATORS = [f"operator{i}" for i in range(10)]


def credit(yields: Yields, name: str, novelty: float = 0.0, climb: float = 0.0, valid: bool = True) -> None:
    yields.credit([name], valid=valid, differentiated=valid, novelty=novelty, climb=climb)


def taught() -> Yields:
    yields = Yields(OPERATORS)
    for _ in range(300):
        for name in OPERATORS:
            credit(yields, name, novelty=8.0 if name == "operator3" else 0.0, valid=name != "operator4")
    return yields


def test_all_start_alike() -> None:
    assert list(Yields(OPERATORS).probabilities().values()) == pytest.approx([0.1] * 10)


def test_what_earns_is_drawn_more_and_nothing_dies() -> None:
    chances = taught().probabilities()
    assert sum(chances.values()) == pytest.approx(1.0)
    assert max(chances, key=chances.__getitem__) == "operator3"
    assert min(chances, key=chances.__getitem__) == "operator4"
    assert chances["operator3"] > 0.6
    assert min(chances.values()) >= FLOOR / 10 - 1e-12


def test_probabilities_follow_a_change() -> None:
    yields = taught()
    for _ in range(400):
        credit(yields, "operator3")
        credit(yields, "operator7", climb=0.8)
    chances = yields.probabilities()
    assert chances["operator7"] > chances["operator3"]


def test_draws_follow_the_probabilities() -> None:
    yields = taught()
    random.seed(3)
    drawn = [yields.draw() for _ in range(5000)]
    for name, chance in yields.probabilities().items():
        assert drawn.count(name) / 5000 == pytest.approx(chance, abs=0.03)


def test_everybody_who_took_part_is_credited() -> None:
    yields = Yields(OPERATORS)
    yields.credit(["operator1", "operator2"], valid=True, differentiated=False, novelty=3.0, climb=0.0)
    rows = {row["operator"]: row for row in yields.table()}
    for name in ("operator1", "operator2"):
        assert (rows[name]["applied"], rows[name]["valid"], rows[name]["fruitful"]) == (1, 1, 1)
        assert rows[name]["novelty"] == 3.0
    assert rows["operator0"]["applied"] == 0
    assert [row["operator"] for row in yields.table()][:2] == ["operator1", "operator2"]


def test_a_restored_table_goes_on_alike() -> None:
    yields, other = taught(), Yields(OPERATORS)
    credit(yields, "operator5", novelty=100.0)
    other.restore(json.loads(json.dumps(yields.state(), sort_keys=True)))
    for table in (yields, other):
        for _ in range(100):
            credit(table, "operator6", novelty=2.0)
    assert other.probabilities() == yields.probabilities()
    assert other.table() == yields.table()


def test_a_table_of_other_operators_keeps_what_both_know() -> None:
    state = taught().state()
    other = Yields([*OPERATORS[:4], "newcomer"])
    other.restore(state)
    rows = {row["operator"]: row for row in other.table()}
    assert rows["operator3"]["applied"] == 300
    assert rows["newcomer"]["applied"] == 0
    assert sum(other.probabilities().values()) == pytest.approx(1.0)
