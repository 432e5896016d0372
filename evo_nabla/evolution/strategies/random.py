"""Random generation as a baseline: fresh arguments of a random seed's structure, no feedback."""

from __future__ import annotations

import random

from evo_nabla.call import Argument, Call, DtypeArgument, TensorArgument
from evo_nabla.evolution.anatomy import Anatomy
from evo_nabla.evolution.contents import CONTIGUOUS, family, fresh
from evo_nabla.evolution.randomness import chance, pick
from evo_nabla.evolution.surgery import substitute

from .unguided import UnguidedStrategy

LARGEST_SIZE = 8
LARGEST_NUMBER = 10
DTYPES_OF = {
    "floating": ("float64", "float32", "float16", "bfloat16"),
    "complex": ("complex128", "complex64"),
    "integer": ("int64", "int32", "int16", "int8", "uint8"),
    "bool": ("bool",),
}
OPERATOR = "random.generate"


class RandomStrategy(UnguidedStrategy):
    """A seed gives the nesting, the types and which dimensions are equal; everything else is drawn anew."""

    name = "random"

    def vary(self, seed: Call) -> tuple[Call, tuple[str, ...]]:
        anatomy = Anatomy(seed)
        sizes = {size: random.randint(1, LARGEST_SIZE) for size in anatomy.sizes}
        dtypes = {
            dtype: pick(DTYPES_OF[family(dtype)])
            for dtype in dict.fromkeys(tensor.dtype for _, tensor in anatomy.tensors)
        }
        drawn: dict[str, Argument] = {}
        for path, node in anatomy.nodes:
            if isinstance(node, TensorArgument):
                drawn[path] = _tensor(tuple([sizes[size] for size in node.shape]), dtypes[node.dtype])
            elif isinstance(node, DtypeArgument):
                drawn[path] = DtypeArgument(pick(DTYPES_OF[family(node.name)]))
            elif isinstance(node, (bool, int, float, complex)):
                drawn[path] = _number(node)
        return substitute(seed, drawn), (OPERATOR,)


def _tensor(shape: tuple[int, ...], dtype: str) -> TensorArgument:
    reach = pick((1.0, LARGEST_NUMBER, 100.0))
    return TensorArgument(shape, dtype, fresh(dtype, shape, 0.0 if chance(0.5) else -reach, reach), CONTIGUOUS)


def _number(number: bool | int | float | complex) -> Argument:
    if isinstance(number, bool):
        return chance(0.5)
    if isinstance(number, int):
        return random.randint(-LARGEST_NUMBER, LARGEST_NUMBER)
    if isinstance(number, float):
        return random.uniform(-LARGEST_NUMBER, LARGEST_NUMBER)
    return complex(random.uniform(-1, 1), random.uniform(-1, 1))
