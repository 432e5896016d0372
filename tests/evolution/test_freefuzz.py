"""The FreeFuzz baseline follows the published algorithm: edit distances, its lists of values, its database by name."""

from __future__ import annotations

import math
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from evo_nabla.call import (
    Argument,
    Call,
    DtypeArgument,
    ListArgument,
    Seeded,
    TensorArgument,
    call_from_json,
    call_to_json,
)
from evo_nabla.evolution.anatomy import Anatomy
from evo_nabla.evolution.context import MAX_ELEMENTS
from evo_nabla.evolution.strategies import FreeFuzzStrategy
from evo_nabla.evolution.strategies.freefuzz import (
    FLOATS,
    INTEGERS,
    REACH,
    TEXTS,
    levenshtein,
    mutate_type,
    mutate_value,
    random_tensor,
    similarity,
)
from evo_nabla.evolution.surgery import repaired
from tests.call.strategies import arguments, calls

from .material import SEEDS, SIGNATURES, call, tensor

words = st.text("abc.()", max_size=12)


def plain_distance(first: str, second: str) -> int:
    row = list(range(len(second) + 1))
    for i, a in enumerate(first):
        above = row
        row = [i + 1]
        for j, b in enumerate(second):
            row.append(min(above[j + 1] + 1, row[j] + 1, above[j] + (a != b)))
    return row[-1]


@given(words, words)
def test_the_edit_distance(first: str, second: str) -> None:
    assert levenshtein(first, second) == plain_distance(first, second)


def test_similarity_is_one_for_equal_and_zero_for_disjoint_texts() -> None:
    assert similarity("torch.add", "torch.add") == similarity("", "") == 1.0
    assert similarity("aaaa", "bb") == 0.0
    assert similarity("torch.add(input, other)", "torch.sub(input, other)") > 0.8


def test_random_values_come_from_the_lists_or_nearby() -> None:
    random.seed(1)
    integers = {mutate_value(5) for _ in range(4000)}
    assert integers <= {*INTEGERS, *range(5 - REACH, 5 + REACH)}
    assert set(INTEGERS) <= integers
    floats = {mutate_value(0.5) for _ in range(4000)}
    assert set(FLOATS) <= floats <= {*FLOATS, *(0.5 + i for i in range(-REACH, REACH))}
    assert {mutate_value("none") for _ in range(500)} == {"none", *TEXTS}
    assert mutate_value(True) is False
    assert mutate_value(None) is None


def test_type_mutations_change_the_type() -> None:
    random.seed(2)
    assert {type(mutate_type(3)) for _ in range(100)} == {float, str, bool}
    mutated = [mutate_type(ListArgument((1, 2))) for _ in range(20)]
    assert all(isinstance(item, ListArgument) and not any(type(i) is int for i in item.items) for item in mutated)
    tensors = [mutate_type(random_tensor((2, 3), "float32")) for _ in range(300)]
    assert all(isinstance(item, TensorArgument) for item in tensors)
    shapes = {item.shape for item in tensors if isinstance(item, TensorArgument)}
    assert {len(shape) for shape in shapes} == {1, 2, 3}
    assert len({item.dtype for item in tensors if isinstance(item, TensorArgument)}) > 5
    assert {type(mutate_type(None)) for _ in range(300)} >= {int, str, float, bool, DtypeArgument, TensorArgument}


@settings(max_examples=100, deadline=None)
@given(arguments, st.integers(0, 2**32))
def test_any_argument_can_be_mutated(argument: Argument, seed: int) -> None:
    random.seed(seed)
    for mutate in (mutate_type, mutate_value):
        mutant = repaired(Call("a.f", (mutate(argument),)))
        assert call_from_json(call_to_json(mutant)) == mutant


@settings(max_examples=40, deadline=None)
@given(calls(), st.integers(0, 2**32))
def test_any_record_can_be_varied(record: Call, seed: int) -> None:
    random.seed(seed)
    strategy = FreeFuzzStrategy({record.api: [record]}, SIGNATURES)
    for child in strategy.propose(record.api, 4)[1:]:
        assert call_from_json(call_to_json(child.call)) == child.call
        assert all(node.content.__class__ is Seeded for _, node in Anatomy(child.call).tensors)


def test_mutations_are_at_least_one_and_at_most_one_an_argument() -> None:
    random.seed(3)
    strategy = FreeFuzzStrategy(SEEDS, SIGNATURES)
    seed = SEEDS["torch.nn.functional.group_norm"][0]
    counts = set()
    for _ in range(300):
        _, operators = strategy.vary(seed)
        counts.add(sum(operator != "freefuzz.type" for operator in operators))
    assert counts == {1, 2, 3, 4}


def test_database_values_come_from_like_named_parameters() -> None:
    random.seed(4)
    strategy = FreeFuzzStrategy(SEEDS, SIGNATURES)
    seed = SEEDS["torch.cat"][0]
    lent = set()
    for _ in range(600):
        mutant, operators = strategy.vary(seed)
        if operators == ("freefuzz.database",):
            lent.add(mutant.kwargs[0][1])
    assert 1 in lent


def test_tensors_keep_within_the_bound_of_all_strategies() -> None:
    random.seed(5)
    strategy = FreeFuzzStrategy({"a.f": [call("a.f", tensor(60, 60), tensor(2, 2))]}, {})
    for child in strategy.propose("a.f", 400):
        for _, node in Anatomy(child.call).tensors:
            assert math.prod(node.shape) <= MAX_ELEMENTS
