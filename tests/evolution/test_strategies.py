"""All strategies: seeds once, no call twice, the same calls from the same seed, and a restored one goes on alike."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from typing import Any

import pytest

from evo_nabla.call import Call, TensorArgument, call_from_json, call_hash, call_to_json, canonical_text, walk
from evo_nabla.evolution.contents import values_of
from evo_nabla.evolution.feedback import SEED, Evaluated, Feedback, Offspring, Strategy
from evo_nabla.evolution.fitness import NOTHING_TO_CLIMB
from evo_nabla.evolution.randomness import random_state, restore_random_state
from evo_nabla.evolution.strategies import STRATEGIES, EvoStrategy, make_strategy
from evo_nabla.evolution.strategies.evo import CAPACITY, LOGGED, REFINE

from .material import SEEDS, SIGNATURES, call, tensor


def feedback_of(call: Call, seen: set[str]) -> Feedback:
    """A made-up library: the features of a call are its structure, its validity that operands have one dtype."""
    tensors = [node for _, node in walk(call) if isinstance(node, TensorArgument)]
    features = [f"shape {len(node.shape)} {min(node.shape, default=-1)}" for node in tensors]
    features += [f"{node.dtype} {node.layout.kind}" for node in tensors]
    features += [f"{name} {type(value).__name__}" for name, value in call.kwargs]
    new = [feature for feature in dict.fromkeys(features) if feature not in seen]
    seen.update(new)
    valid = len({node.dtype for node in tensors}) <= 1
    return Feedback(float(len(new)), 10.0 ** -(1 + len(features) % 5), valid, valid, 0.002, tuple(new))


def generation(strategy: Strategy, api: str, count: int, seen: set[str]) -> list[Offspring]:
    batch = strategy.propose(api, count)
    strategy.learn(api, [Evaluated(child, feedback_of(child.call, seen)) for child in batch])
    return batch


def history(strategy: Strategy, rounds: int, seen: set[str]) -> list[tuple[str, str, tuple[str, ...]]]:
    """What a strategy proposes over generations of all APIs."""
    proposed = []
    for _ in range(rounds):
        for api in strategy.apis:
            batch = generation(strategy, api, 8, seen)
            proposed += [(canonical_text(child.call), child.operator, child.parents) for child in batch]
    return proposed


def made(name: str) -> Strategy:
    return make_strategy(name, SEEDS, SIGNATURES)


@pytest.mark.parametrize("name", STRATEGIES)
def test_seeds_come_first_and_once(name: str) -> None:
    random.seed(1)
    strategy = made(name)
    assert isinstance(strategy, Strategy)
    assert strategy.apis == tuple(SEEDS)
    api = "torch.sum"
    assert strategy.pending(api) == 3
    first = generation(strategy, api, 2, set())
    assert [child.call for child in first] == SEEDS[api][:2]
    assert strategy.pending(api) == 1
    second = generation(strategy, api, 8, set())
    assert second[0].call == SEEDS[api][2]
    assert [child.operators == (SEED,) for child in second] == [True] + [False] * (len(second) - 1)
    assert len(second) == 8
    assert strategy.pending(api) == 0


@pytest.mark.parametrize("name", STRATEGIES)
def test_proposals_are_valid_calls_of_the_api_and_never_repeat(name: str) -> None:
    random.seed(2)
    strategy = made(name)
    seen: set[str] = set()
    for api in strategy.apis:
        hashes = []
        for _ in range(12):
            for child in generation(strategy, api, 16, seen):
                assert child.call.api == api
                assert call_from_json(call_to_json(child.call)) == child.call
                assert child.hash == call_hash(child.call)
                hashes.append(child.hash)
        assert len(set(hashes)) == len(hashes)
        assert len(hashes) > 100


@pytest.mark.parametrize("name", STRATEGIES)
def test_one_seed_gives_the_same_calls(name: str) -> None:
    def run(seed: int) -> list[tuple[str, str, tuple[str, ...]]]:
        random.seed(seed)
        return history(made(name), 4, set())

    assert run(3) == run(3)
    assert run(3) != run(4)


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_restored_strategy_goes_on_with_identical_proposals(name: str) -> None:
    random.seed(5)
    strategy, seen = made(name), set[str]()
    history(strategy, 5, seen)
    saved = json.loads(json.dumps([strategy.state(), random_state(), sorted(seen)], sort_keys=True, allow_nan=False))
    expected = history(strategy, 5, seen)

    random.seed(99)
    other = made(name)
    history(other, 1, set())
    other = made(name)
    other.restore(saved[0])
    restore_random_state(saved[1])
    assert history(other, 5, set(saved[2])) == expected
    assert other.yields() == strategy.yields()


@pytest.mark.parametrize("name", STRATEGIES)
def test_merged_changes_are_the_whole_state(name: str) -> None:
    random.seed(6)
    strategy = made(name)
    merged: dict[str, Any] = strategy.state()
    seen: set[str] = set()
    for api in [*strategy.apis[:3], strategy.apis[0]]:
        generation(strategy, api, 8, seen)
        changes = strategy.changes()
        assert list(changes["apis"]) == [api]
        merged = {"shared": changes["shared"], "apis": {**merged["apis"], **changes["apis"]}}
    assert merged == strategy.state()
    assert strategy.changes()["apis"] == {}


@pytest.mark.parametrize("name", STRATEGIES)
def test_seeds_in_flight_when_killed_are_proposed_again(name: str) -> None:
    random.seed(7)
    strategy = made(name)
    api = "torch.sum"
    generation(strategy, api, 1, set())
    in_flight = [child.call for child in strategy.propose(api, 8) if child.operators == (SEED,)]
    assert in_flight[:2] == SEEDS[api][1:3]
    restored = made(name)
    restored.restore(strategy.state())
    again = [child.call for child in restored.propose(api, 8) if child.operators == (SEED,)]
    assert again[: len(in_flight)] == in_flight


@pytest.mark.parametrize("name", STRATEGIES)
def test_yields_count_what_was_learned(name: str) -> None:
    random.seed(8)
    strategy = made(name)
    children = [child for _ in range(5) for child in generation(strategy, "torch.add", 16, set())]
    applied = sum(
        len(set(child.operators)) and len(child.operators) for child in children if child.parents or name != "evo"
    )
    seeds = sum(child.operators == (SEED,) for child in children)
    rows = strategy.yields()
    assert sum(row["applied"] for row in rows) == applied - (seeds if name != "evo" else 0)
    assert all(row["valid"] <= row["applied"] and row["fruitful"] <= row["applied"] for row in rows)
    assert set(rows[0]) == {"operator", "applied", "valid", "fruitful", "novelty", "climbed", "probability"}
    assert sum(row["probability"] for row in rows) == pytest.approx(1.0)


@pytest.mark.parametrize("name", STRATEGIES)
def test_an_unknown_api_and_an_unknown_strategy_are_named(name: str) -> None:
    with pytest.raises(ValueError, match=r"torch\.missing"):
        made(name).propose("torch.missing", 1)
    with pytest.raises(ValueError, match="evo, freefuzz, random"):
        make_strategy("clever", SEEDS, SIGNATURES)


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_call_without_arguments_runs_dry_and_does_not_hang(name: str) -> None:
    random.seed(9)
    strategy = make_strategy(name, {"torch.nn.Identity": [call("torch.nn.Identity")]}, {})
    assert [child.operators for child in strategy.propose("torch.nn.Identity", 4)] == [(SEED,)]
    assert strategy.propose("torch.nn.Identity", 4) == []


def test_a_random_state_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="not a state of the random generator"):
        restore_random_state([3, [1, 2], None])


# The evolution's own

FLAT = {"library.f": [call("library.f", tensor(4))]}


def learn(strategy: EvoStrategy, children: Sequence[Offspring], feedbacks: Sequence[Feedback]) -> None:
    strategy.learn(children[0].call.api, [Evaluated(*pair) for pair in zip(children, feedbacks, strict=True)])


def test_only_what_was_valid_and_taught_something_becomes_a_parent() -> None:
    random.seed(10)
    strategy = EvoStrategy(FLAT, {})
    seed = strategy.propose("library.f", 1)
    learn(strategy, seed, [Feedback(2.0, 0.0, True, True, 0.01, ("line:1", "line:2"))])
    children = strategy.propose("library.f", 4)
    learn(
        strategy,
        children,
        [
            Feedback(1.0, 0.0, False, False, 0.01, ("line:3",)),
            Feedback(0.0, 0.0, True, True, 0.01, ()),
            Feedback(1.0, 0.0, True, True, 0.01, ("line:4",)),
            Feedback(0.0, 0.3, True, True, 0.01, ()),
        ],
    )
    kept = {individual.hash: individual for individual in strategy.population("library.f")}
    assert set(kept) == {seed[0].hash, children[2].hash, children[3].hash}
    parent = kept[seed[0].hash]
    assert (parent.discovered, parent.fruitless) == (2.0, 2)
    assert kept[children[2].hash].parents == (seed[0].hash,)
    assert kept[children[2].hash].fitness.values == pytest.approx((math.log(2), NOTHING_TO_CLIMB))
    assert kept[children[3].hash].fitness.values == pytest.approx((0.0, math.log10(0.3)))


def test_features_that_others_show_too_make_an_individual_less_rare() -> None:
    random.seed(11)
    strategy = EvoStrategy({"library.f": [call("library.f", tensor(n)) for n in (1, 2, 3)]}, {})
    seeds = strategy.propose("library.f", 3)
    shown = [("a", "b"), ("a",), ("c",)]
    learn(strategy, seeds, [Feedback(float(len(f)), 0.0, True, True, 0.01, f) for f in shown])
    rarities = {individual.hash: individual.rarity for individual in strategy.population("library.f")}
    assert [rarities[seed.hash] for seed in seeds] == [1.5, 0.5, 1.0]


def test_a_population_keeps_the_best_and_is_bounded() -> None:
    random.seed(12)
    strategy = EvoStrategy(FLAT, {})
    best = ""
    for number in range(12):
        children = strategy.propose("library.f", 16)
        feedbacks = [Feedback(1.0, 0.0, True, True, 0.01, (f"line:{number}.{i}",)) for i in range(len(children))]
        if number == 5:
            feedbacks[3] = Feedback(40.0, 0.9, True, True, 0.01, tuple(f"block:{i}" for i in range(40)))
            best = children[3].hash
        learn(strategy, children, feedbacks)
        assert len(strategy.population("library.f")) <= CAPACITY
    assert best in [individual.hash for individual in strategy.population("library.f")]
    assert len(strategy.population("library.f")) == CAPACITY


def test_the_logbook_follows_both_objectives_and_is_bounded() -> None:
    random.seed(13)
    strategy = EvoStrategy(FLAT, {})
    for _ in range(LOGGED + 5):
        generation(strategy, "library.f", 1, set())
    assert len(strategy.logbook) == LOGGED
    assert strategy.logbook.select("generation")[-1] == LOGGED + 5
    assert (
        strategy.logbook.chapters["curiosity"].select("max")[-1]
        >= strategy.logbook.chapters["curiosity"].select("mean")[-1]
    )
    assert len(strategy.logbook.chapters["discrepancy"]) == LOGGED


def discrepancy_at(call: Call) -> float:
    """A slope of a disagreement towards the element value 137.3, a finding within 0.01 of it."""
    node = next((node for _, node in walk(call) if isinstance(node, TensorArgument)), None)
    values = [v.real for v in (values_of(node) or []) if math.isfinite(v.real)] if node is not None else []
    distance = min((abs(value - 137.3) for value in values), default=math.inf)
    return min(5.0, 0.01 / distance) if distance > 0 else 5.0


def best_discrepancy(strategy: Strategy, calls: int) -> tuple[float, int]:
    """The largest discrepancy found on the slope, and how many refinements were tried."""
    best, refined = 0.0, 0
    for _ in range(calls // 16):
        children = strategy.propose("library.f", 16)
        discrepancies = [discrepancy_at(child.call) for child in children]
        best = max([best, *discrepancies])
        refined += sum(REFINE in child.operators for child in children)
        results = [
            Evaluated(child, Feedback(0.0, discrepancy, True, True, 0.001, ()))
            for child, discrepancy in zip(children, discrepancies, strict=True)
        ]
        strategy.learn("library.f", results)
    return best, refined


def test_refinement_climbs_a_slope_that_blind_generation_does_not() -> None:
    for seed in range(2):
        random.seed(seed)
        best, refined = best_discrepancy(EvoStrategy(FLAT, {}), 800)
        random.seed(seed)
        blind, _ = best_discrepancy(make_strategy("random", FLAT, {}), 800)
        assert refined > 10
        assert best > 10 * blind


def stairs(call: Call, deepest: set[int]) -> Feedback:
    """A library with nested conditions: each is met only where all before it are."""
    tensors = [node for _, node in walk(call) if isinstance(node, TensorArgument)]
    node = tensors[0] if tensors else None
    conditions = [
        node is not None,
        node is not None and len(node.shape) == 2,
        node is not None and node.shape[-1:] >= (7,),
        node is not None and node.layout.kind == "transposed",
        node is not None and node.dtype == "float16",
        node is not None and 0.0 in (values_of(node) or ()),
    ]
    depth = next((i for i, met in enumerate(conditions) if not met), len(conditions))
    new = depth not in deepest
    deepest.add(depth)
    return Feedback(float(new), 0.0, True, True, 0.001, (f"line:{depth}",) if new else ())


def depths(name: str) -> list[int]:
    """How deep a strategy came in 960 calls, for each of four seeds."""
    found = []
    for seed in range(4):
        random.seed(seed)
        strategy = make_strategy(name, FLAT, {})
        reached: set[int] = set()
        for _ in range(60):
            children = strategy.propose("library.f", 16)
            strategy.learn("library.f", [Evaluated(child, stairs(child.call, reached)) for child in children])
        found.append(max(reached))
    return found


def test_novelty_leads_the_evolution_deeper_than_no_feedback() -> None:
    guided = depths("evo")
    assert guided.count(6) >= 2
    for name in ("random", "freefuzz"):
        assert all(deeper > blind for deeper, blind in zip(guided, depths(name), strict=True))
