"""The toolbox holds DEAP's operators under their names, and both selections do what NSGA-II asks."""

from __future__ import annotations

import random

import pytest

from evo_nabla.call import Call
from evo_nabla.evolution.anatomy import Anatomy
from evo_nabla.evolution.individual import Individual, individual_from_json
from evo_nabla.evolution.mutators import MUTATORS
from evo_nabla.evolution.mutators.refine import Step
from evo_nabla.evolution.toolbox import evaluate, make_toolbox, select_parents, select_survivors

from .material import SEEDS, call, context, tensor


def individual(number: int, novelty: float, discrepancy: float) -> Individual:
    made = Individual(call("library.f", number), f"{number:032x}", novelty=novelty, discrepancy=discrepancy)
    made.fitness.values = evaluate(made)
    return made


def test_the_toolbox_holds_the_operators_of_the_evolution() -> None:
    random.seed(1)
    toolbox = make_toolbox(context())
    seed = SEEDS["torch.add"][0]
    for name in MUTATORS:
        mutant = toolbox.mutate(name, Anatomy(seed))
        assert mutant is None or isinstance(mutant, Call)
    children = toolbox.mate(Anatomy(seed), Anatomy(SEEDS["torch.add"][1]))
    assert [child.api for child in children] == ["torch.add", "torch.add"]
    made = toolbox.individual(seed, "0" * 32, novelty=3.0)
    assert list(toolbox.map(toolbox.evaluate, [made])) == [evaluate(made)]
    made.fitness.values = toolbox.evaluate(made)
    assert toolbox.select([made], 1) == [made]
    assert toolbox.parents([made], 5) == [made] * 5


def test_survivors_are_whole_fronts_first() -> None:
    random.seed(2)
    front = [individual(0, 9.0, 1e-5), individual(1, 5.0, 1e-3), individual(2, 1.0, 0.5)]
    dominated = [individual(3, 4.0, 1e-4), individual(4, 0.5, 0.1), individual(5, 0.0, 0.0)]
    survivors = select_survivors([*dominated, *front], 4)
    assert {survivor.hash for survivor in front} <= {survivor.hash for survivor in survivors}
    assert individual(5, 0.0, 0.0).hash not in [survivor.hash for survivor in survivors]


def test_the_extremes_of_a_front_survive_its_truncation() -> None:
    front = [individual(i, 20.0 - i, 10.0 ** (-5 + i / 5)) for i in range(20)]
    kept = select_survivors(front, 5)
    assert front[0] in kept
    assert front[19] in kept


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 32])
@pytest.mark.parametrize("count", [1, 3, 4, 16, 100])
def test_parents_of_any_population_in_any_number(size: int, count: int) -> None:
    random.seed(3)
    population = [individual(i, float(i), 0.0) for i in range(size)]
    select_survivors(population, size)
    parents = select_parents(population, count)
    assert len(parents) == count
    assert all(parent in population for parent in parents)


def test_better_individuals_are_parents_more_often() -> None:
    random.seed(4)
    population = [individual(i, float(i), 0.0) for i in range(16)]
    select_survivors(population, 16)
    parents = select_parents(population, 800)
    assert sum(parent.novelty >= 8 for parent in parents) > 500


def test_an_individual_survives_json() -> None:
    made = Individual(
        SEEDS["torch.cat"][0],
        "a" * 32,
        operators=("shape.rename", "values.zero"),
        parents=("b" * 32,),
        features=[f"line:{i}" for i in range(1000)],
        novelty=1000.0,
        discrepancy=0.25,
        trail=Step("args.0.0", 3, "toward", 0.5, 38.0),
    )
    made.discovered, made.fruitless = 7.0, 5
    read = individual_from_json(made.to_json())
    assert read.to_json() == made.to_json()
    assert read.call == made.call
    assert read.trail == made.trail
    assert len(read.features) <= 64
    assert evaluate(read) == evaluate(made)


def test_children_exchange_options_tensors_or_both() -> None:
    random.seed(5)
    first = call("torch.sum", tensor(2, 3), dim=0, keepdim=True)
    second = call("torch.sum", tensor(4, 5, seed=2), dim=1, keepdim=False)
    toolbox = make_toolbox(context())
    options, shapes = set(), set()
    for _ in range(200):
        one, other = toolbox.mate(Anatomy(first), Anatomy(second))
        assert {dict(one.kwargs)["dim"], dict(other.kwargs)["dim"]} == {0, 1}
        options.add((dict(one.kwargs)["dim"], dict(one.kwargs)["keepdim"]))
        shapes.add(one.args[0].shape)
    assert options == {(0, True), (1, False), (0, False), (1, True)}
    assert shapes == {(2, 3), (4, 5)}
