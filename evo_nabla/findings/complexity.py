"""Orders calls from simple to involved, so that shrinking always goes downhill and ends."""

from __future__ import annotations

import math
from collections.abc import Iterator

from evo_nabla.call.arguments import Argument, Fill, Number, Seeded, TensorArgument, Values
from evo_nabla.call.call import Call
from evo_nabla.call.paths import differentiated, walk

# The dtype that a maintainer would use first; all others count the more, the less common they are.
_DTYPE_RANK = {
    "float64": 0, "int64": 0, "bool": 0, "float32": 1, "int32": 1, "bfloat16": 2, "float16": 2,
    "complex128": 3, "complex64": 4,
}  # fmt: skip
_UNCOMMON = 5
_SEEDED_COST = 12.0  # an entry that must be drawn first is worse than any that can be written down

Complexity = tuple[int, int, int, int, float]


def complexity(call: Call) -> Complexity:
    """Compared in this order: arguments; elements, axes; layouts and dtypes; then how long the numbers are to write."""
    nodes = list(walk(call))
    tensors = [node for _, node in nodes if isinstance(node, TensorArgument)]
    present = sum(1 for _, node in nodes if node is not None)
    return (
        2 * present + sum(1 for _, node in nodes if node is None) + len(differentiated(call)),
        sum(math.prod(tensor.shape) for tensor in tensors),
        sum(len(tensor.shape) for tensor in tensors),
        sum(_form(tensor) for tensor in tensors),
        sum(_content(tensor) for tensor in tensors) + sum(_scalars(nodes)),
    )


def _form(tensor: TensorArgument) -> int:
    layout = {"contiguous": 0, "transposed": 1, "explicit": 3}.get(tensor.layout.kind, 2)
    return layout + _DTYPE_RANK.get(tensor.dtype, _UNCOMMON)


def _content(tensor: TensorArgument) -> float:
    content = tensor.content
    if isinstance(content, Seeded):
        return _SEEDED_COST * (2 + math.prod(tensor.shape))
    if isinstance(content, Fill):
        return number_cost(content.value)
    assert isinstance(content, Values)
    return sum(map(number_cost, content.flat)) + 0.5


def _scalars(nodes: list[tuple[str, Argument]]) -> Iterator[float]:
    for _, node in nodes:
        if isinstance(node, (int, float, complex)) and not isinstance(node, bool):
            yield number_cost(node)


def number_cost(value: Number) -> float:
    """One, zero and a half are the plainest; then small whole numbers, then the more digits the more."""
    if isinstance(value, complex):
        return 2.0 + number_cost(value.real) + number_cost(value.imag)
    if value in (0, 1):
        return 0.0 if value == 1 else 0.1
    if not math.isfinite(value):
        return 3.0
    negative = 0.3 if value < 0 else 0.0
    if value == int(value) and abs(value) < 1000:
        return 0.5 + 0.2 * len(str(abs(int(value)))) + 0.001 * abs(value) + negative
    return 1.0 + 0.5 * len(repr(abs(value)).replace(".", "").lstrip("0")) + negative
