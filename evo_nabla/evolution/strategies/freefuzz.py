"""FreeFuzz as a baseline: random seeds; type, random-value and database-value mutations; no feedback.

After Wei, Deng, Yang, Zhang, "Free Lunch for Testing: Fuzzing Deep-Learning Libraries from Open Source", ICSE 2022
(arXiv 2201.06589), section 3.3 and table 1; its constants are those of the authors' published implementation.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from functools import lru_cache

from evo_nabla.call import (
    Argument,
    Call,
    DtypeArgument,
    ListArgument,
    Seeded,
    TensorArgument,
    TupleArgument,
)
from evo_nabla.call.dtypes import DTYPES
from evo_nabla.evolution.anatomy import Anatomy, slots
from evo_nabla.evolution.contents import CONTIGUOUS, elements, family
from evo_nabla.evolution.context import MAX_ELEMENTS
from evo_nabla.evolution.pool import ArgumentPool
from evo_nabla.evolution.randomness import chance, pick
from evo_nabla.evolution.signatures import Signatures, parameter_name
from evo_nabla.evolution.surgery import substitute

from .unguided import UnguidedStrategy

# Chances of the published implementation (its utils/probability.py); its paper leaves them open.
TYPE_MUTATION = 0.2
DATABASE_VALUE = 0.2
FROM_LIST = 0.2
CHANGE_DIMENSION = 0.3
ADD_DIMENSION = 0.5
CHANGE_SIZE = 0.3
CHANGE_DTYPE = 0.3

# Its lists of special values, and how far an ordinary number is moved.
INTEGERS = (-1024, -16, -1, 0, 1, 16, 1024)
FLOATS = (0.0, 1.0, -1.0, 63.0, -63.0, 1024.0, -1024.0, 1e20, -1e20)
TEXTS = ("mean", "sum", "max", "zeros", "reflect", "circular", "replicate")
REACH = 64

TENSOR_DTYPES = (
    "int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64", "bfloat16", "complex64", "complex128",
    "bool",
)  # fmt: skip


class FreeFuzzStrategy(UnguidedStrategy):
    """Seeds first as every strategy here, then mutants of random seeds."""

    name = "freefuzz"

    def __init__(self, seeds: Mapping[str, Sequence[Call]], signatures: Signatures) -> None:
        super().__init__(seeds)
        self._signatures = signatures
        self._pool = ArgumentPool(seeds, signatures)
        self._similar = lru_cache(maxsize=4096)(self._similar_apis)

    def vary(self, seed: Call) -> tuple[Call, tuple[str, ...]]:
        """Between one and as many mutations as the record has arguments, each of an argument drawn anew."""
        arguments = dict(slots(seed))
        paths = list(arguments)
        operators: list[str] = []
        for _ in range(random.randint(1, len(paths)) if paths else 0):
            path = pick(paths)
            if chance(TYPE_MUTATION):
                arguments[path] = mutate_type(arguments[path])
                operators.append("freefuzz.type")
            lent = self._from_database(seed.api, path) if chance(DATABASE_VALUE) else None
            if lent is None:
                arguments[path] = mutate_value(arguments[path])
                operators.append("freefuzz.value")
            else:
                arguments[path] = lent[0]
                operators.append("freefuzz.database")
        return _with_random_tensors(substitute(seed, arguments)), tuple(operators)

    def _from_database(self, api: str, path: str) -> tuple[Argument] | None:
        """An argument of the same name from an API drawn by its likeness to this one; None where no API has it."""
        name = parameter_name(path, self._signatures.get(api))
        apis, weights = self._similar(api, name)
        if not apis:
            return None
        offers = self._pool.slotted(random.choices(apis, weights)[0], name)
        return (pick(offers),) if offers else None

    def _similar_apis(self, api: str, name: str) -> tuple[tuple[str, ...], tuple[float, ...]]:
        """The APIs with a parameter of this name, with softmax weights of their definitions' normalised similarity."""
        own = self._definition(api)
        apis = self._pool.apis_with(name)
        return apis, tuple(math.exp(similarity(own, self._definition(other))) for other in apis)

    def _definition(self, api: str) -> str:
        """An API's definition as text: "torch.add(input, other, alpha)"."""
        signature = self._signatures.get(api)
        names = [parameter.name for parameter in signature.parameters] if signature is not None else []
        return f"{api}({', '.join(names)})"


def similarity(first: str, second: str) -> float:
    """1 - the Levenshtein distance over the longer length; between 0 and 1."""
    longest = max(len(first), len(second))
    return 1.0 - levenshtein(first, second) / longest if longest else 1.0


def levenshtein(first: str, second: str) -> int:
    """The edit distance, a column at a time in the bits of integers (Hyyrö 2003, after Myers, JACM 46, 1999)."""
    if not first:
        return len(second)
    places: dict[str, int] = {}
    for i, letter in enumerate(first):
        places[letter] = places.get(letter, 0) | 1 << i
    full, last = (1 << len(first)) - 1, 1 << (len(first) - 1)
    rising, falling, distance = full, 0, len(first)
    for letter in second:
        equal = places.get(letter, 0)
        diagonal = (((equal & rising) + rising) ^ rising) | equal | falling
        increase = falling | (~(diagonal | rising) & full)
        decrease = rising & diagonal
        distance += bool(increase & last) - bool(decrease & last)
        increase = (increase << 1 | 1) & full
        rising = ((decrease << 1) | (~(diagonal | increase) & full)) & full
        falling = increase & diagonal
    return distance


def _with_random_tensors(call: Call) -> Call:
    """FreeFuzz records only shapes and dtypes of tensors, so that every mutant has new random elements."""
    return substitute(call, {path: random_tensor(tensor.shape, tensor.dtype) for path, tensor in Anatomy(call).tensors})


def random_tensor(shape: tuple[int, ...], dtype: str) -> TensorArgument:
    """rand in [0, 1) for floating and complex dtypes, randint between random powers of two for integer ones."""
    seed = int(random.random() * 2**32)
    if family(dtype) != "integer":
        return TensorArgument(shape, dtype, Seeded(seed, 0.0, 1.0), CONTIGUOUS)
    lowest, highest = int(DTYPES[dtype].lowest), int(DTYPES[dtype].highest)
    low = max(lowest, -1 << random.randrange(16)) if lowest < 0 else 0
    return TensorArgument(shape, dtype, Seeded(seed, low, min(highest, 1 << random.randrange(16))), CONTIGUOUS)


def mutate_value(argument: Argument) -> Argument:
    """A random value of the same type: table 1's random value mutation."""
    if isinstance(argument, bool):
        return not argument
    if isinstance(argument, int):
        return pick(INTEGERS) if chance(FROM_LIST) else argument + random.randrange(-REACH, REACH)
    if isinstance(argument, float):
        return pick(FLOATS) if chance(FROM_LIST) else argument + float(random.randrange(-REACH, REACH))
    if isinstance(argument, str):
        return pick(TEXTS) if chance(FROM_LIST) else argument
    if isinstance(argument, TensorArgument):
        return random_tensor(argument.shape, argument.dtype)
    if isinstance(argument, DtypeArgument):
        return DtypeArgument(pick(TENSOR_DTYPES))
    if isinstance(argument, (ListArgument, TupleArgument)):
        return type(argument)(tuple([mutate_value(item) for item in argument.items]))
    return argument


def mutate_type(argument: Argument) -> Argument:
    """Another type: table 1's tensor dimension, tensor dtype, primitive, tuple and list mutations."""
    if isinstance(argument, TensorArgument):
        return _mutate_tensor(argument)
    if isinstance(argument, (bool, int, float, str)):
        return _initial(pick([kind for kind in (bool, int, float, str) if kind is not type(argument)]))
    if isinstance(argument, DtypeArgument):
        return DtypeArgument(pick(TENSOR_DTYPES))
    if isinstance(argument, (ListArgument, TupleArgument)):
        return type(argument)(tuple([mutate_type(item) for item in argument.items]))
    if argument is None:
        return _any_argument()
    return argument


def _initial(kind: type) -> Argument:
    if kind is bool:
        return chance(0.5)
    if kind is int:
        return mutate_value(0)
    return mutate_value(0.0) if kind is float else mutate_value("max")


def _any_argument() -> Argument:
    """What a null becomes: any of FreeFuzz's types, with its initial value."""
    kind = pick(("int", "text", "float", "null", "tuple", "list", "bool", "dtype", "reference", "tensor"))
    choices: dict[str, Argument] = {
        "int": pick(INTEGERS),
        "text": pick(TEXTS),
        "float": pick(FLOATS),
        "null": None,
        "tuple": TupleArgument((2, 3)),
        "list": ListArgument((2, 3)),
        "bool": chance(0.5),
        "dtype": DtypeArgument(pick(TENSOR_DTYPES)),
        "reference": None,
        "tensor": random_tensor((2, 2), "float32"),
    }
    return choices[kind]


def _mutate_tensor(tensor: TensorArgument) -> TensorArgument:
    shape = list(tensor.shape)
    if chance(CHANGE_DIMENSION):
        if chance(ADD_DIMENSION):
            shape.append(1)
        elif shape:
            shape.pop()
    for axis in range(len(shape)):
        if chance(CHANGE_SIZE):
            size = pick(INTEGERS) if chance(FROM_LIST) else shape[axis] + random.randrange(-REACH, REACH)
            shape[axis] = max(0, size)
    # FreeFuzz itself has no bound and was measured at 16 GB; every strategy here keeps the same one.
    bounded = tuple(shape) if elements(tuple(shape)) <= MAX_ELEMENTS else tensor.shape
    return random_tensor(bounded, pick(TENSOR_DTYPES) if chance(CHANGE_DTYPE) else tensor.dtype)
