"""Every mutant is a valid call within bounds, and every trigger of real bugs is within few mutations of a seed."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evo_nabla.call import (
    Call,
    DtypeArgument,
    Fill,
    ListArgument,
    SameArgument,
    TensorArgument,
    Values,
    call_from_json,
    call_hash,
    call_to_json,
    materialise,
    walk,
)
from evo_nabla.call.dtypes import DTYPES
from evo_nabla.evolution.anatomy import Anatomy
from evo_nabla.evolution.contents import elements, values_of
from evo_nabla.evolution.crossover import mate
from evo_nabla.evolution.mutators import MUTATORS
from evo_nabla.evolution.mutators.refine import draw_step, step_from_json, take
from evo_nabla.evolution.surgery import repaired
from tests.call.strategies import calls

from .material import SEEDS, call, context, index, tensor

CONTEXT = context()
LENIENT = settings(max_examples=100, suppress_health_check=list(HealthCheck), deadline=None)


def check(mutant: Call, *origins: Call) -> None:
    """The mutant is a call of the language, can be made, and no tensor outgrew the bound or its parents'."""
    assert call_from_json(call_to_json(mutant)) == mutant
    largest = max((elements(node.shape) for origin in origins for _, node in Anatomy(origin).tensors), default=0)
    for _, node in Anatomy(mutant).tensors:
        assert elements(node.shape) <= max(CONTEXT.max_elements, largest)
        # A range as wide as float64 itself overflows when drawn from, which NumPy says and nobody minds.
        assert materialise(node).shape == node.shape


@LENIENT
@given(calls(), st.sampled_from(sorted(MUTATORS)), st.integers(0, 2**32))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_any_mutant_of_any_call_is_a_valid_call(origin: Call, name: str, seed: int) -> None:
    random.seed(seed)
    mutant = MUTATORS[name](Anatomy(origin), CONTEXT)
    if mutant is not None:
        check(repaired(mutant), origin)


@LENIENT
@given(st.sampled_from(sorted(SEEDS)), st.lists(st.sampled_from(sorted(MUTATORS)), max_size=12), st.integers(0, 2**32))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_chains_of_mutations_stay_valid(api: str, names: list[str], seed: int) -> None:
    random.seed(seed)
    origin = mutant = random.choice(SEEDS[api])
    for name in names:
        mutant = repaired(MUTATORS[name](Anatomy(mutant), CONTEXT) or mutant)
    check(mutant, origin)


@LENIENT
@given(calls(), calls(), st.integers(0, 2**32))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_children_of_any_two_calls_are_valid(first: Call, second: Call, seed: int) -> None:
    random.seed(seed)
    for child in mate(Anatomy(first), Anatomy(second)):
        check(repaired(child), first, second)


@LENIENT
@given(calls(), st.integers(0, 2**32))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_refined_calls_are_valid_and_steps_survive_json(origin: Call, seed: int) -> None:
    random.seed(seed)
    step = draw_step(Anatomy(origin))
    if step is None:
        return
    assert step_from_json(step.to_json()) == step
    for taken in (step, step.longer()):
        mutant = take(Anatomy(origin), taken)
        if mutant is not None:
            check(repaired(mutant), origin)


@pytest.mark.parametrize("name", sorted(MUTATORS))
def test_every_mutator_changes_some_ordinary_seed(name: str) -> None:
    random.seed(1)
    seeds = [seed for calls in SEEDS.values() for seed in calls]
    seeds += [
        call("torch.add", tensor(2, 3), {"same": "args.0"}),
        call("torch.mul", tensor(2, 3), tensor(2, 3, seed=2), diff=["args.0"]),
        call("torch.where", index([True, False], [2], "bool"), tensor(2), tensor(2)),
        call("torch.t", {"tensor": {"shape": [2, 3], "dtype": "float64", "seed": 1, "layout": "transposed"}}),
        call("torch.sum", tensor(2, 3), {"tuple": [0, 1]}, keepdim=True),
    ]
    changed = 0
    for seed in seeds:
        for _ in range(20):
            mutant = MUTATORS[name](Anatomy(seed), CONTEXT)
            changed += mutant is not None and call_hash(repaired(mutant)) != call_hash(seed)
    assert changed > 0


def test_mutation_depends_on_nothing_but_the_global_generator() -> None:
    def draw() -> list[str]:
        random.seed(7)
        return [
            call_hash(repaired(mutation(Anatomy(seed), CONTEXT) or seed))
            for mutation in MUTATORS.values()
            for seeds in SEEDS.values()
            for seed in seeds
        ]

    assert draw() == draw()


# What triggered real bugs. Each predicate is about the call alone.

Predicate = Callable[[Call], bool]


def tensors_of(call: Call) -> list[TensorArgument]:
    return [node for _, node in walk(call) if isinstance(node, TensorArgument)]


def dtypes_of(call: Call) -> set[str]:
    return {node.dtype for node in tensors_of(call)}


def numbers_of(call: Call) -> list[complex]:
    return [value for node in tensors_of(call) for value in (values_of(node) or ())]


def has_value(value: float) -> Predicate:
    return lambda call: any(number == value for number in numbers_of(call))


def has_values_between(low: float, high: float) -> Predicate:
    return lambda call: any(low <= abs(number.real) <= high for number in numbers_of(call))


def all_dtypes_are(dtype: str) -> Predicate:
    return lambda call: dtypes_of(call) == {dtype}


def argument(path: str, test: Callable[[object], bool]) -> Predicate:
    return lambda call: any(found == path and test(node) for found, node in walk(call))


def shapes_of(call: Call) -> list[tuple[int, ...]]:
    return [node.shape for node in tensors_of(call)]


def repeated_singular_values(call: Call) -> bool:
    node = next(iter(tensors_of(call)), None)
    if node is None or len(node.shape) < 2 or 0 in node.shape or min(node.shape[-2:]) < 2:
        return False
    values = materialise(node).reshape(-1, *node.shape[-2:])[0].tolist()
    return all(
        value == (values[0][0] if i == j else 0) for i, row in enumerate(values) for j, value in enumerate(row)
    ) and bool(values[0][0])


def ties(call: Call) -> bool:
    node = tensors_of(call)[0]
    values = values_of(node) or []
    return len(values) > 1 and len(set(values)) < len(values) and len(set(values)) > 1


def smaller_index(call: Call) -> bool:
    nodes = tensors_of(call)
    if len(nodes) != 3 or nodes[0].shape != nodes[2].shape or DTYPES[nodes[1].dtype].family != "integer":
        return False
    pairs = list(zip(nodes[1].shape, nodes[2].shape))
    return len(nodes[1].shape) == 2 and all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def repeated_index(call: Call) -> bool:
    values = values_of(tensors_of(call)[1]) if len(tensors_of(call)) > 1 else None
    return bool(values) and len(set(values or ())) == 1 and len(values or ()) > 1


def layout_is(kind: str) -> Predicate:
    return lambda call: any(node.layout.kind == kind for node in tensors_of(call))


def keyword(name: str, test: Callable[[object], bool]) -> Predicate:
    return lambda call: any(found == name and test(value) for found, value in call.kwargs)


def is_constant(node: object) -> bool:
    return isinstance(node, TensorArgument) and isinstance(node.content, Fill)


ADD, ADD_SCALAR = SEEDS["torch.add"]
EXP2 = SEEDS["torch.exp2"][0]
GROUP_NORM, GROUP_NORM_BARE = SEEDS["torch.nn.functional.group_norm"]
SCATTER = SEEDS["torch.scatter_add"][0]
POOL = SEEDS["torch.nn.functional.avg_pool1d"][0]
ADAPTIVE = SEEDS["torch.nn.functional.adaptive_avg_pool2d"][0]
SUM = SEEDS["torch.sum"][0]
CONV = call("torch.nn.functional.conv2d", tensor(1, 2, 4, 4), tensor(4, 2, 3, 3), tensor(4))

TRIGGERS: dict[str, tuple[Call, int, Predicate]] = {
    "an element exactly zero": (EXP2, 1, has_value(0.0)),
    "an element exactly zero in a 0-d keyword": (
        call("tf.signal.kaiser_window", 5, beta=tensor(low=1.0, high=2.0)), 1, has_value(0.0)),
    "all elements of all operands zero": (
        ADD, 1, lambda call: len(tensors_of(call)) == 2 and not any(numbers_of(call)) and len(numbers_of(call)) == 24),
    "real with complex": (ADD, 1, lambda call: {DTYPES[d].family for d in dtypes_of(call)} == {"floating", "complex"}),
    "float with half": (ADD, 1, lambda call: dtypes_of(call) == {"float64", "float16"}),
    "bfloat16 base, double exponent of another shape": (
        SEEDS["torch.pow"][0], 2,
        lambda call: dtypes_of(call) == {"bfloat16", "float64"} and len(set(shapes_of(call))) == 2),
    "complex throughout": (EXP2, 1, all_dtypes_are("complex128")),
    "complex module input": (SEEDS["torch.nn.Softsign"][0], 1, all_dtypes_are("complex128")),
    "float16 throughout": (ADD, 1, all_dtypes_are("float16")),
    "bfloat16 throughout": (ADD, 1, all_dtypes_are("bfloat16")),
    "float32 throughout": (CONV, 1, all_dtypes_are("float32")),
    "small float16 elements": (
        call("torch.atan2", tensor(1, low=0.1), tensor(1, seed=2, low=0.1)), 2,
        lambda call: dtypes_of(call) == {"float16"} and any(0 < abs(n.real) < 3e-3 for n in numbers_of(call))),
    "tail 38": (EXP2, 1, has_value(-38.0)),
    "tail 41": (EXP2, 1, has_value(41.0)),
    "tail 19.5": (EXP2, 1, has_value(19.5)),
    "tail 88 in float32": (
        call("torch.exp", tensor(4, dtype="float32")), 1, has_values_between(88.0, 89.0)),
    "overflow of exp": (EXP2, 1, has_value(709.8)),
    "overflow of exp2": (EXP2, 1, has_value(1024.25)),
    "overflow of exp in float16": (call("torch.exp", tensor(4, dtype="float16")), 1, has_value(11.1)),
    "huge": (EXP2, 1, has_value(1e308)),
    "tiny": (EXP2, 1, has_value(1e-290)),
    "subnormal": (EXP2, 1, has_value(5e-324)),
    "tiny but not zero": (EXP2, 1, has_value(2e-16)),
    "bias without weight, weight null": (
        GROUP_NORM, 1,
        lambda call: len(call.args) == 4 and call.args[2] is None and isinstance(call.args[3], TensorArgument)),
    "bias without weight, bias added": (
        GROUP_NORM_BARE, 1, keyword("bias", lambda node: isinstance(node, TensorArgument) and node.shape == (4,))),
    "last optional argument removed": (GROUP_NORM, 1, lambda call: len(call.args) == 3),
    "keyword removed": (ADD_SCALAR, 1, lambda call: not call.kwargs),
    "optional dtype added, complex": (SUM, 1, keyword("dtype", lambda node: node == DtypeArgument("complex128"))),
    "optional flag added": (SUM, 1, keyword("keepdim", lambda node: node is True)),
    "constructor's option added": (
        SEEDS["torch.nn.Linear"][1], 1,
        lambda call: call.init is not None and ("bias", False) in call.init.kwargs),
    "index smaller than its source": (SCATTER, 1, smaller_index),
    "index with repeats": (SCATTER, 1, repeated_index),
    "empty index": (
        SCATTER, 1,
        lambda call: len(tensors_of(call)) == 3 and [0 in shape for shape in shapes_of(call)] == [False, True, False]),
    "index of another integer dtype": (
        SCATTER, 1, argument("args.2", lambda node: isinstance(node, TensorArgument) and node.dtype == "int32")),
    "empty index of a complex dtype": (
        SCATTER, 2,
        argument("args.2", lambda node: isinstance(node, TensorArgument)
                 and 0 in node.shape and node.dtype.startswith("complex"))),
    "integer predicate": (
        call("torch.where", index([True, False], [2], "bool"), tensor(2), tensor(2)), 1,
        argument("args.0", lambda node: isinstance(node, TensorArgument) and node.dtype == "uint8")),
    "zero-size output asked for": (
        ADAPTIVE, 1,
        argument("args.1", lambda node: isinstance(node, ListArgument) and node.items == (0, 2))),
    "shape (0,) beside a matrix": (
        SEEDS["torch.cat"][0], 1, lambda call: (0,) in shapes_of(call) and (3, 5) in shapes_of(call)),
    "empty complex matrix": (
        call("torch.diagonal", tensor(2, 3)), 2,
        lambda call: dtypes_of(call) == {"complex128"} and all(len(s) == 2 and 0 in s for s in shapes_of(call))),
    "window larger than the input": (POOL, 1, argument("args.1", lambda node: type(node) is int and node > 6)),
    "window of a list larger than the input": (
        call("torch.nn.functional.avg_pool2d", tensor(1, 1, 3, 3), [2, 2]), 1,
        argument("args.1", lambda node: isinstance(node, ListArgument)
                 and any(type(item) is int and item > 3 for item in node.items))),
    "input smaller than the window": (
        POOL, 1, lambda call: call.args[1:] == (3,) and any(shape[-1:] in [(1,), (2,)] for shape in shapes_of(call))),
    "0-d tensor and a Python number": (
        ADD_SCALAR, 1, lambda call: shapes_of(call) == [()] and isinstance(call.args[1], float)),
    "0-d float32 tensor and a Python float": (
        ADD_SCALAR, 2, lambda call: shapes_of(call) == [()] and dtypes_of(call) == {"float32"}
        and isinstance(call.args[1], float)),
    "tensor to Python number": (ADD, 1, argument("args.1", lambda node: isinstance(node, float))),
    "Python number to 0-d tensor": (
        ADD_SCALAR, 1, argument("args.1", lambda node: isinstance(node, TensorArgument) and node.shape == ())),
    "repeated singular values": (SEEDS["torch.linalg.det"][0], 1, repeated_singular_values),
    "all ones": (
        SEEDS["torch.linalg.det"][0], 1, lambda call: bool(numbers_of(call)) and set(numbers_of(call)) == {1.0}),
    "ties": (SEEDS["torch.linalg.det"][0], 1, ties),
    "integer tensor among floating ones": (
        ADD, 1, lambda call: {DTYPES[d].family for d in dtypes_of(call)} == {"floating", "integer"}),
    "batch as large as the matrix": (
        SEEDS["torch.cholesky_solve"][0], 1, lambda call: shapes_of(call) == [(2, 2), (2, 2, 2)]),
    "one-dimensional right-hand side": (
        call("torch.linalg.lstsq", tensor(3, 3), tensor(3, 2, seed=2)), 1,
        lambda call: shapes_of(call) == [(3, 3), (3,)]),
    "second operand of one element": (ADD, 1, lambda call: shapes_of(call) == [(3, 4), (1,)]),
    "flag flipped": (SEEDS["torch.cholesky_solve"][0], 1, keyword("upper", lambda node: node is True)),
    "enumeration changed": (
        SEEDS["torch.nn.functional.gelu"][0], 1, keyword("approximate", lambda node: node == "tanh")),
    "named object changed": (
        SEEDS["torch.clone"][0], 1,
        keyword("memory_format", lambda node: "contiguous_format" in repr(node))),
    "two options at once": (SUM, 2, lambda call: len(call.kwargs) == 2),
    "axis as a nested list": (
        call("tf.math.reduce_logsumexp", tensor(1, 1), [0, 1]), 1,
        argument("args.1", lambda node: node == ListArgument((ListArgument((0, 1)),)))),
    "same object twice": (ADD, 1, argument("args.1", lambda node: node == SameArgument("args.0"))),
    "negative exponent of an integer dtype": (
        SEEDS["torch.ldexp"][0], 1,
        argument("args.1", lambda node: isinstance(node, TensorArgument) and node.dtype == "int32"
                 and any(value.real < 0 for value in values_of(node) or ()))),
    "negative dimension": (SCATTER, 1, argument("args.1", lambda node: node == -1)),
    "transposed": (ADD, 1, layout_is("transposed")),
    "strided": (ADD, 1, layout_is("strided")),
    "expanded": (ADD, 1, layout_is("expanded")),
    "channels last": (CONV, 1, layout_is("channels_last")),
    "a batch everywhere": (ADD, 1, lambda call: [len(shape) for shape in shapes_of(call)] == [3, 3]),
    "one dimension renamed everywhere": (
        ADD, 1, lambda call: len(set(shapes_of(call))) == 1 and (3, 4) not in shapes_of(call)
        and len(shapes_of(call)) == 2 and len(shapes_of(call)[0]) == 2 and 0 not in shapes_of(call)[0]),
    "a dimension renamed with the integer that names it": (
        SEEDS["torch.nn.Linear"][0], 1,
        lambda call: call.init is not None and type(call.init.args[0]) is int and call.init.args[0] not in (0, 3)
        and len(shapes_of(call)) == 1 and shapes_of(call)[0] == (2, call.init.args[0])),
    "broadcastable ones": (ADD, 1, lambda call: shapes_of(call) in ([(3, 4), (1, 4)], [(3, 4), (3, 1)])),
    "seed redrawn": (
        EXP2, 1, lambda call: isinstance(call.args[0], TensorArgument) and shapes_of(call) == [(4,)]
        and call.args[0] != EXP2.args[0] and not isinstance(call.args[0].content, (Values, Fill))),
    "special everywhere": (ADD, 1, lambda call: len(call.args) == 2 and all(map(is_constant, call.args))),
    "fewer inputs differentiated": (ADD, 1, lambda call: call.diff == ("args.1",)),
    "infinite": (EXP2, 1, lambda call: any(math.isinf(number.real) for number in numbers_of(call))),
    "nearly equal elements": (
        call("torch.maximum", tensor(3), tensor(3, seed=1)), 1,
        lambda call: len(numbers_of(call)) == 6
        and any(0 < abs(a - b) < 1e-12 for a in numbers_of(call) for b in numbers_of(call))),
    **{
        f"size {size}": (ADD, 1, lambda call, size=size: len(shapes_of(call)) == 2  # type: ignore[misc]
                         and all(size in shape for shape in shapes_of(call)))
        for size in (7, 8, 9, 15, 16, 17, 31, 32, 33)
    },
}  # fmt: skip

# Draws of one mutator each, all alike likely, within which a trigger must come up. The evolution makes as many in a few
# minutes at the speed of one core.
DRAWS = 8_000


@pytest.mark.parametrize("trigger", sorted(TRIGGERS))
def test_triggers_of_real_bugs_are_reached(trigger: str) -> None:
    origin, mutations, reached = TRIGGERS[trigger]
    assert not reached(origin), "the seed has the trigger already"
    random.seed(5)
    names = sorted(MUTATORS)
    anatomy = Anatomy(origin)
    for _ in range(DRAWS * mutations):
        mutant = MUTATORS[random.choice(names)](anatomy, CONTEXT)
        for _ in range(mutations - 1):
            if mutant is not None:
                mutant = MUTATORS[random.choice(names)](Anatomy(repaired(mutant)), CONTEXT) or mutant
        if mutant is not None and reached(repaired(mutant)):
            return
    pytest.fail(f"{trigger}: not reached in {DRAWS * mutations} draws")
