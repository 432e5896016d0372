"""Hypothesis strategies for calls and their parts: everything that `call_from_json` accepts, odd values included."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st

from evo_nabla.call import (
    Argument,
    Call,
    Content,
    DtypeArgument,
    Fill,
    Init,
    Layout,
    ListArgument,
    MappingArgument,
    ObjectArgument,
    ReferenceArgument,
    SameArgument,
    Seeded,
    SliceArgument,
    TensorArgument,
    TupleArgument,
    Values,
    replace,
    walk,
)
from evo_nabla.call.dtypes import BOOL, DTYPES, FLOATING, INTEGER, Dtype
from evo_nabla.call.kinds import KINDS, MATRICES, SQUARE

dtype_names = st.sampled_from(sorted(DTYPES))
shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)
names = st.sampled_from(["dim", "x", "out_dtype", "größe", "from", "lambda_"])
dotted = st.sampled_from(["torch.add", "torch.Tensor.add", "my_ops.deep.soft_sign", "torch.ops.aten.add.Tensor"])
floats = st.one_of(st.floats(), st.sampled_from([0.0, -0.0, 5e-324, -2.5e-310, math.inf, -math.inf, math.nan, 1e308]))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def elements(dtype: Dtype) -> st.SearchStrategy[Any]:
    """Elements of a tensor of this dtype."""
    if dtype.family == BOOL:
        return st.booleans()
    if dtype.family == INTEGER:
        return st.integers(int(dtype.lowest), int(dtype.highest))
    return floats if dtype.family == FLOATING else st.builds(complex, floats, floats)


def _suits(kind: str, shape: tuple[int, ...], dtype: Dtype) -> bool:
    if dtype.family not in KINDS[kind] or (kind in ("sorted", "permutation") and not shape):
        return False
    if kind in MATRICES and len(shape) < 2:
        return False
    return kind not in SQUARE or shape[-1] == shape[-2]


@st.composite
def seeded(draw: st.DrawFn, shape: tuple[int, ...], dtype: Dtype) -> Seeded:
    """Seeded content that suits the shape and the dtype."""
    kind = draw(st.sampled_from([kind for kind in KINDS if _suits(kind, shape, dtype)]))
    seed = draw(st.integers(0, 2**32 - 1))
    if dtype.family == INTEGER:
        room = math.prod(shape) if kind == "distinct" else 1
        if room > dtype.highest - dtype.lowest:
            kind, room = "uniform", 1
        low = draw(st.integers(int(dtype.lowest), int(dtype.highest) + 1 - max(room, 1)))
        high = draw(st.integers(low + max(room, 1), int(dtype.highest) + 1))
        return Seeded(seed, low, high, kind)
    bounds = sorted([draw(st.floats(-1e300, 1e300)), draw(st.floats(-1e300, 1e300))])
    return Seeded(seed, bounds[0], bounds[1], kind)


@st.composite
def contents(draw: st.DrawFn, shape: tuple[int, ...], dtype: Dtype) -> Content:
    """Any content that suits the shape and the dtype."""
    which = draw(st.sampled_from(["values", "fill", "seed"]))
    if which == "seed":
        return draw(seeded(shape, dtype))
    if which == "fill":
        return Fill(draw(elements(dtype)))
    size = math.prod(shape)
    return Values(tuple(draw(st.lists(elements(dtype), min_size=size, max_size=size))))


@st.composite
def layouts(draw: st.DrawFn, shape: tuple[int, ...]) -> Layout:
    """Any layout that suits the shape."""
    kinds = ["contiguous", "transposed", "strided", "expanded", "explicit"]
    kind = draw(st.sampled_from([*kinds, "channels_last"] if len(shape) in (4, 5) else kinds))
    if kind != "explicit":
        return Layout(kind)
    strides = draw(st.lists(st.integers(0, 20), min_size=len(shape), max_size=len(shape)))
    return Layout(kind, tuple(strides), draw(st.integers(0, 9)))


@st.composite
def tensors(draw: st.DrawFn, dtypes: st.SearchStrategy[str] = dtype_names) -> TensorArgument:
    """Any tensor argument of one of `dtypes`."""
    shape, name = draw(shapes), draw(dtypes)
    content = draw(contents(shape, DTYPES[name]))
    return TensorArgument(shape, name, content, draw(layouts(shape)))


bounds = st.none() | st.integers(-(2**70), 2**70)
scalars: st.SearchStrategy[Argument] = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**200), 2**200), floats, st.builds(complex, floats, floats), texts
)
leaves: st.SearchStrategy[Argument] = st.one_of(
    tensors(),
    scalars,
    dtype_names.map(DtypeArgument),
    st.builds(SliceArgument, bounds, bounds, bounds),
    dotted.map(ReferenceArgument),
)


def _containers(inner: st.SearchStrategy[Argument]) -> st.SearchStrategy[Argument]:
    items = st.lists(inner, max_size=3).map(tuple)
    return st.one_of(
        items.map(ListArgument),
        items.map(TupleArgument),
        _pairs(texts, inner).map(MappingArgument),
        st.builds(ObjectArgument, dotted, items, _pairs(names, inner)),
    )


def _pairs(keys: st.SearchStrategy[str], inner: st.SearchStrategy[Argument]) -> st.SearchStrategy[Any]:
    return st.dictionaries(keys, inner, max_size=3).map(lambda members: tuple(members.items()))


arguments = st.recursive(leaves, _containers, max_leaves=5)


@st.composite
def calls(draw: st.DrawFn) -> Call:
    """Any call, `same` arguments, `diff` and extras included."""
    args = tuple(draw(st.lists(arguments, max_size=3)))
    kwargs = draw(_pairs(names, arguments))
    init = draw(st.none() | st.builds(Init, st.lists(arguments, max_size=2).map(tuple), _pairs(names, arguments)))
    extra = draw(st.dictionaries(st.sampled_from(["id", "x-note", "x-"]), json_values, max_size=2))
    call = Call(draw(dotted), args, kwargs, init, None, tuple(extra.items()))
    call = _with_same(draw, call)
    tensor_paths = [path for path, item in walk(call) if isinstance(item, TensorArgument)]
    if not tensor_paths or not draw(st.booleans()):
        return call
    chosen = set(draw(st.lists(st.sampled_from(tensor_paths))))
    diff = tuple([path for path in tensor_paths if path in chosen])
    return Call(call.api, call.args, call.kwargs, call.init, diff, call.extra)


def _with_same(draw: st.DrawFn, call: Call) -> Call:
    """One leaf, at times, made the same as an earlier argument."""
    nodes = list(walk(call))
    places = [index for index, (_, item) in enumerate(nodes) if index and not hasattr(item, "items")]
    places = [index for index in places if not isinstance(nodes[index][1], ObjectArgument)]
    if not places or not draw(st.booleans()):
        return call
    index = draw(st.sampled_from(places))
    path = nodes[index][0]
    earlier = [other for other, _ in nodes[:index] if not path.startswith(f"{other}.")]
    return replace(call, path, SameArgument(draw(st.sampled_from(earlier)))) if earlier else call
