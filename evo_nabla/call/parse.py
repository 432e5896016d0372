"""From plain JSON values to a call; whatever is wrong becomes one CallError that names the place."""

from __future__ import annotations

import re
from itertools import chain
from math import isfinite, prod
from typing import Any, Callable, Dict, List, Tuple

from .arguments import (
    CONTIGUOUS,
    Argument,
    Content,
    DtypeArgument,
    Fill,
    Layout,
    ListArgument,
    MappingArgument,
    NamedArguments,
    Number,
    ObjectArgument,
    ReferenceArgument,
    SameArgument,
    Seeded,
    SliceArgument,
    TensorArgument,
    TupleArgument,
    Values,
)
from .call import Call, Init
from .dtypes import BOOL, COMPLEX, DTYPES, FLOATING, INTEGER, Dtype
from .errors import CallError
from .kinds import check_kind, default_range
from .layouts import KINDS, extent, strides_of
from .materialise import MAX_ELEMENTS
from .paths import check_paths, join

MAX_DIMENSIONS = 32
"""NumPy 1's limit."""

MAX_DEPTH = 64
"""How deep arguments, and the JSON of extras, may nest."""

MAX_INTEGER_BITS = 2048
"""Below the shortest limit that a Python can be given on digits in text (640)."""

_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*\Z")
_NON_FINITE = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
_MEMBERS = frozenset(("api", "args", "kwargs", "init", "diff"))
_TENSOR_MEMBERS = frozenset(
    ("shape", "dtype", "values", "fill", "seed", "range", "kind", "layout", "strides", "offset")
)  # fmt: skip


def call_from_json(document: object) -> Call:
    """Read a call from a plain JSON value (what ``json.loads`` gives); CallError says what is wrong and where."""
    if not isinstance(document, dict):
        raise CallError("", f"a call is a JSON object, not {_describe(document)}")
    extra = []
    for key, value in document.items():
        if key in _MEMBERS:
            continue
        if key != "id" and not (isinstance(key, str) and key.startswith("x-")):
            raise CallError("", f"unknown member {key!r} (a call has {_list(_MEMBERS)}, id and x-*)")
        _check_extra(value, key, 0)
        extra.append((key, value))
    if "api" not in document:
        raise CallError("api", "missing")
    call = Call(
        _dotted(document["api"], "api", "dotted import path of a callable"),
        _positional(document.get("args", []), "args", 0),
        _keywords(document.get("kwargs", {}), "kwargs", 0),
        _init(document["init"]) if "init" in document else None,
        _diff(document["diff"]) if "diff" in document else None,
        tuple(extra),
    )
    if "." not in call.api:
        raise CallError("api", f"{call.api!r} names no member of a module: expected something like 'torch.add'")
    return check_paths(call)


def argument_from_json(value: object, path: str = "") -> Argument:
    """Read one argument from a plain JSON value; `path` is where errors say it stands."""
    return _argument(value, path, 0)


def _init(value: object) -> Init:
    members = _object(value, "init")
    _only(members, ("args", "kwargs"), "init")
    return Init(
        _positional(members.get("args", []), "init.args", 0), _keywords(members.get("kwargs", {}), "init.kwargs", 0)
    )


def _diff(value: object) -> Tuple[str, ...]:
    items = _list_of(value, "diff")
    for index, item in enumerate(items):
        if not isinstance(item, str):
            raise CallError(f"diff[{index}]", f"expected a path such as 'args.0', not {_describe(item)}")
    return tuple(items)


def _positional(value: object, path: str, depth: int) -> Tuple[Argument, ...]:
    items = _list_of(value, path)
    if depth > MAX_DEPTH:
        raise CallError(path, f"nested more than {MAX_DEPTH} deep")
    return tuple([_argument(item, f"{path}.{index}", depth + 1) for index, item in enumerate(items)])


def _keywords(value: object, path: str, depth: int) -> NamedArguments:
    members = _object(value, path)
    for name in members:
        if not (isinstance(name, str) and name.isidentifier()):
            raise CallError(path, f"{name!r} is not the name of a parameter")
    return _named(members, path, depth)


def _named(members: Dict[str, Any], path: str, depth: int) -> NamedArguments:
    if depth > MAX_DEPTH:
        raise CallError(path, f"nested more than {MAX_DEPTH} deep")
    return tuple([(name, _argument(item, join(path, name), depth + 1)) for name, item in members.items()])


def _argument(value: Any, path: str, depth: int) -> Argument:
    kind = type(value)
    if kind is dict:
        return _tagged(value, path, depth)
    if kind is list:
        return ListArgument(_positional(value, path, depth))
    if value is None or kind is bool:
        return value  # type: ignore[no-any-return]
    if kind is int:
        return _integer(value, path)
    if kind is float:
        return _float(value, path)
    if kind is str:
        return _text(value, path)
    raise CallError(path, f"{kind.__name__} is not a JSON value")


def _tagged(members: Dict[str, Any], path: str, depth: int) -> Argument:
    if "new" in members:
        _only(members, ("new", "args", "kwargs"), path)
        return ObjectArgument(
            _dotted(members["new"], f"{path}.new", "dotted import path of a callable"),
            _positional(members.get("args", []), f"{path}.args", depth + 1),
            _keywords(members.get("kwargs", {}), f"{path}.kwargs", depth + 1),
        )
    if len(members) != 1:
        found = _list(members) if members else "none"
        raise CallError(path, f'an argument\'s object has one key, here {found} (a dictionary is {{"dict": …}})')
    ((tag, value),) = members.items()
    reader = _READERS.get(tag)
    if reader is None:
        raise CallError(path, f"unknown kind of argument {tag!r} (known: {_list([*_READERS, 'new'])})")
    return reader(value, path, depth)


def _read_tensor(value: object, path: str, depth: int) -> Argument:
    return _tensor(value, f"{path}.tensor")


def _read_tuple(value: object, path: str, depth: int) -> Argument:
    if type(value) is not list:
        raise CallError(f"{path}.tuple", f"expected a list, not {_describe(value)}")
    return TupleArgument(_positional(value, path, depth))


def _read_dict(value: object, path: str, depth: int) -> Argument:
    members = _object(value, f"{path}.dict")
    for name in members:
        _text(name, f"{path}.dict")
    return MappingArgument(_named(members, path, depth))


def _read_dtype(value: object, path: str, depth: int) -> Argument:
    return DtypeArgument(_dtype(value, f"{path}.dtype").name)


def _read_complex(value: object, path: str, depth: int) -> Argument:
    return _complex(value, f"{path}.complex", pair_only=True)


def _read_float(value: object, path: str, depth: int) -> Argument:
    if isinstance(value, str):
        return _non_finite(value, f"{path}.float")
    return _floating(value, f"{path}.float")


def _read_slice(value: object, path: str, depth: int) -> Argument:
    where = f"{path}.slice"
    items = _list_of(value, where)
    if len(items) != 3:
        raise CallError(where, f"expected [start, stop, step], not {len(items)} items")
    return SliceArgument(*[None if item is None else _integer(item, f"{where}[{i}]") for i, item in enumerate(items)])


def _read_ref(value: object, path: str, depth: int) -> Argument:
    return ReferenceArgument(_dotted(value, f"{path}.ref", "dotted path of an object of the library"))


def _read_same(value: object, path: str, depth: int) -> Argument:
    if not isinstance(value, str):
        raise CallError(f"{path}.same", f"expected a path such as 'args.0', not {_describe(value)}")
    return SameArgument(value)


_READERS: Dict[str, Callable[[object, str, int], Argument]] = {
    "tensor": _read_tensor,
    "tuple": _read_tuple,
    "dict": _read_dict,
    "dtype": _read_dtype,
    "complex": _read_complex,
    "float": _read_float,
    "slice": _read_slice,
    "ref": _read_ref,
    "same": _read_same,
}


def _tensor(value: object, path: str) -> TensorArgument:
    members = _object(value, path)
    if not _TENSOR_MEMBERS.issuperset(members):
        _only(members, _TENSOR_MEMBERS, path)
    for name in ("shape", "dtype"):
        if name not in members:
            raise CallError(f"{path}.{name}", "missing")
    shape = _shape(members["shape"], f"{path}.shape")
    dtype = _dtype(members["dtype"], f"{path}.dtype")
    content = _content(members, shape, dtype, path)
    if "layout" in members or "strides" in members or "offset" in members:
        return TensorArgument(shape, dtype.name, content, _layout(members, shape, path))
    return TensorArgument(shape, dtype.name, content)


def _shape(value: object, path: str) -> Tuple[int, ...]:
    sizes = _list_of(value, path)
    if len(sizes) > MAX_DIMENSIONS:
        raise CallError(path, f"{len(sizes)} dimensions, more than {MAX_DIMENSIONS}")
    elements = 1
    for axis, size in enumerate(sizes):
        if type(size) is not int:
            raise CallError(f"{path}[{axis}]", f"expected an integer, not {_describe(size)}")
        if size < 0:
            raise CallError(f"{path}[{axis}]", f"negative dimension {_short(size)}")
        elements *= size or 1
    if elements > MAX_ELEMENTS:
        raise CallError(path, f"{_short(elements)} elements, more than {MAX_ELEMENTS} (a dimension of 0 counts as 1)")
    return tuple(sizes)


def _dtype(value: object, path: str) -> Dtype:
    found = DTYPES.get(value) if isinstance(value, str) else None
    if found is None:
        raise CallError(path, f"unknown dtype {_describe(value)} (known: {_list(DTYPES)})")
    return found


def _content(members: Dict[str, Any], shape: Tuple[int, ...], dtype: Dtype, path: str) -> Content:
    sources = [name for name in ("values", "fill", "seed") if name in members]
    if len(sources) != 1:
        raise CallError(path, f"needs exactly one of values, fill and seed, here {_list(sources) or 'none'}")
    source = sources[0]
    if source != "seed":
        for name in ("range", "kind"):
            if name in members:
                raise CallError(f"{path}.{name}", f"goes with seed, not with {source}")
    if source == "values":
        return Values(_values(members["values"], shape, dtype, f"{path}.values"))
    if source == "fill":
        return Fill(_elements([members["fill"]], dtype, f"{path}.fill", indexed=False)[0])
    return _seeded(members, shape, dtype, path)


def _seeded(members: Dict[str, Any], shape: Tuple[int, ...], dtype: Dtype, path: str) -> Seeded:
    seed = _integer(members["seed"], f"{path}.seed")
    if not 0 <= seed < 2**32:
        raise CallError(f"{path}.seed", f"{_short(seed)} is outside 0 … 2**32 - 1")
    kind = members.get("kind", "uniform")
    check_kind(kind, shape, dtype, f"{path}.kind")
    low, high = default_range(kind, shape, dtype)
    if "range" in members:
        low, high = _range(members["range"], dtype, f"{path}.range")
    if kind == "distinct" and dtype.family == INTEGER and high - low < prod(shape):
        raise CallError(f"{path}.range", f"has fewer than {prod(shape)} distinct integers")
    return Seeded(seed, low, high, kind)


def _range(value: object, dtype: Dtype, path: str) -> Tuple[Any, Any]:
    bounds = _list_of(value, path)
    if len(bounds) != 2:
        raise CallError(path, f"expected [low, high], not {len(bounds)} items")
    if dtype.family == INTEGER:
        low, high = [_integer(bound, f"{path}[{index}]") for index, bound in enumerate(bounds)]
        if low >= high:
            raise CallError(path, f"[{_short(low)}, {_short(high)}) holds no integer")
        if low < dtype.lowest or high - 1 > dtype.highest:
            raise CallError(path, f"[{_short(low)}, {_short(high)}) reaches outside {dtype.name}")
        return low, high
    # Bounds are plain numbers: {"float": "inf"} is no use as one.
    bottom, top = [_floating(bound, f"{path}[{index}]") for index, bound in enumerate(bounds)]
    if not isfinite(top - bottom):
        raise CallError(path, f"[{bottom}, {top}) is not a finite interval")
    if bottom > top:
        raise CallError(path, f"low {bottom} is above high {top}")
    return bottom, top


def _layout(members: Dict[str, Any], shape: Tuple[int, ...], path: str) -> Layout:
    if "layout" not in members:
        return _explicit({name: members[name] for name in ("strides", "offset") if name in members}, shape, path)
    for name in ("strides", "offset"):
        if name in members:
            raise CallError(f"{path}.{name}", "belongs inside layout")
    value = members["layout"]
    path = f"{path}.layout"
    if isinstance(value, dict):
        _only(value, ("strides", "offset"), path)
        return _explicit(value, shape, path)
    if not isinstance(value, str) or value not in KINDS:
        raise CallError(path, f"unknown layout {_describe(value)} (known: {_list(KINDS)}, or strides and offset)")
    if value == "channels_last" and len(shape) not in (4, 5):
        raise CallError(path, f"channels_last needs 4 or 5 dimensions, not {len(shape)}")
    return CONTIGUOUS if value == "contiguous" else _within_reach(Layout(value), shape, path)


def _explicit(members: Dict[str, Any], shape: Tuple[int, ...], path: str) -> Layout:
    if "strides" not in members:
        raise CallError(f"{path}.strides", "missing")
    strides = _list_of(members["strides"], f"{path}.strides")
    if len(strides) != len(shape):
        raise CallError(f"{path}.strides", f"{len(strides)} strides for {len(shape)} dimensions")
    checked = tuple([_natural(stride, f"{path}.strides[{axis}]") for axis, stride in enumerate(strides)])
    offset = _natural(members.get("offset", 0), f"{path}.offset")
    return _within_reach(Layout("explicit", checked, offset), shape, path)


def _within_reach(layout: Layout, shape: Tuple[int, ...], path: str) -> Layout:
    reach = extent(shape, *strides_of(layout, shape))
    if reach > MAX_ELEMENTS:
        raise CallError(path, f"reaches over {_short(reach)} elements of memory, more than {MAX_ELEMENTS}")
    return layout


def _natural(value: object, path: str) -> int:
    number = _integer(value, path)
    if number < 0:
        raise CallError(path, f"{_short(number)} is negative")
    return number


def _values(value: object, shape: Tuple[int, ...], dtype: Dtype, path: str) -> Tuple[Number, ...]:
    count = prod(shape)
    if not isinstance(value, list) or (dtype.family == COMPLEX and not shape and _is_pair(value)):
        if count != 1:
            raise CallError(path, f"one value for shape {list(shape)}, which has {count} elements")
        return _elements([value], dtype, path, indexed=False)
    if value and _is_nested(value, count, dtype):
        value = _unnest(value, shape, path)
    if len(value) != count:
        raise CallError(path, f"{len(value)} values for shape {list(shape)}, which has {count} elements")
    return _elements(value, dtype, path)


def _is_nested(values: List[Any], count: int, dtype: Dtype) -> bool:
    first = values[0]
    if type(first) is not list:
        return False
    return not (dtype.family == COMPLEX and len(values) == count and _is_pair(first))


def _is_pair(value: List[Any]) -> bool:
    return len(value) == 2 and type(value[0]) is not list and type(value[1]) is not list


def _unnest(values: List[Any], shape: Tuple[int, ...], path: str) -> List[Any]:
    level: List[Any] = [values]
    for axis, size in enumerate(shape):
        for item in level:
            if type(item) is not list:
                raise CallError(path, f"expected lists of {size} along dimension {axis}, found {_describe(item)}")
            if len(item) != size:
                raise CallError(path, f"expected lists of {size} along dimension {axis}, found one of {len(item)}")
        level = list(chain.from_iterable(level))
    return level


def _elements(values: List[Any], dtype: Dtype, path: str, indexed: bool = True) -> Tuple[Number, ...]:
    """The elements as the dtype's Python numbers; the slow way, one by one, only to name the wrong one."""
    kinds = set(map(type, values))
    if dtype.family == FLOATING and kinds == {float} and all(map(isfinite, values)):
        return tuple(values)
    if dtype.family == BOOL and kinds == {bool}:
        return tuple(values)
    if dtype.family == INTEGER and kinds == {int} and dtype.lowest <= min(values) and max(values) <= dtype.highest:
        return tuple(values)
    return tuple([
        _element(value, dtype, f"{path}[{index}]" if indexed else path) for index, value in enumerate(values)
    ])  # fmt: skip


def _element(value: Any, dtype: Dtype, path: str) -> Number:
    if dtype.family == FLOATING:
        return _real(value, path)
    if dtype.family == COMPLEX:
        return _complex(value, path)
    if dtype.family == BOOL:
        if type(value) is not bool:
            raise CallError(path, f"expected true or false in a bool tensor, not {_describe(value)}")
        return bool(value)
    number = _integer(value, path)
    if not dtype.lowest <= number <= dtype.highest:
        raise CallError(path, f"{_short(number)} is outside {dtype.name}'s {dtype.lowest} … {dtype.highest}")
    return number


def _complex(value: Any, path: str, pair_only: bool = False) -> complex:
    if type(value) is list:
        if len(value) != 2:
            raise CallError(path, f"expected [real, imaginary], not {len(value)} items")
        return complex(_real(value[0], f"{path}[0]"), _real(value[1], f"{path}[1]"))
    if pair_only:
        raise CallError(path, f"expected [real, imaginary], not {_describe(value)}")
    return complex(_real(value, path), 0.0)


def _real(value: Any, path: str) -> float:
    """A JSON number, or {"float": "nan" | "inf" | "-inf"}."""
    if type(value) is dict:
        if set(value) != {"float"}:
            raise CallError(path, f"expected a number, not {_describe(value)}")
        inner = value["float"]
        return _non_finite(inner, path) if isinstance(inner, str) else _floating(inner, path)
    return _floating(value, path)


def _floating(value: Any, path: str) -> float:
    if type(value) is float:
        return _float(value, path)
    number = _integer(value, path, "a number")
    try:
        return float(number)
    except OverflowError:
        raise CallError(path, f"{_short(number)} is beyond float64") from None


def _float(value: float, path: str) -> float:
    if not isfinite(value):
        raise CallError(path, f'{value} is not JSON: write {{"float": "{value}"}}')
    return value


def _non_finite(value: str, path: str) -> float:
    if value not in _NON_FINITE:
        raise CallError(path, f'expected "nan", "inf", "-inf" or a number, not {_describe(value)}')
    return _NON_FINITE[value]


def _integer(value: Any, path: str, expected: str = "an integer") -> int:
    if type(value) is not int:
        raise CallError(path, f"expected {expected}, not {_describe(value)}")
    if value.bit_length() > MAX_INTEGER_BITS:
        raise CallError(path, f"integer of {value.bit_length()} bits, more than {MAX_INTEGER_BITS}")
    return value


def _text(value: Any, path: str) -> str:
    if type(value) is not str:
        raise CallError(path, f"expected a text, not {_describe(value)}")
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise CallError(path, f"{value!r} holds half of a surrogate pair") from None
    return value


def _dotted(value: Any, path: str, expected: str) -> str:
    if not isinstance(value, str) or not _DOTTED.match(value):
        raise CallError(path, f"expected the {expected}, not {_describe(value)}")
    return value


def _object(value: object, path: str) -> Dict[str, Any]:
    if type(value) is not dict:
        raise CallError(path, f"expected an object, not {_describe(value)}")
    return value


def _list_of(value: object, path: str) -> List[Any]:
    if type(value) is not list:
        raise CallError(path, f"expected a list, not {_describe(value)}")
    return value


def _only(members: Dict[str, Any], known: Any, path: str) -> None:
    for name in members:
        if name not in known:
            raise CallError(path, f"unknown key {name!r} (known: {_list(known)})")


def _check_extra(value: Any, path: str, depth: int) -> None:
    """Extras are kept untouched, so all that is asked of them is that they are JSON and can be written again."""
    if depth > MAX_DEPTH:
        raise CallError(path, f"nested more than {MAX_DEPTH} deep")
    kind = type(value)
    if kind is float:
        _float(value, path)
    elif kind is int:
        _integer(value, path)
    elif kind is list:
        for index, item in enumerate(value):
            _check_extra(item, f"{path}[{index}]", depth + 1)
    elif kind is dict:
        for name, item in value.items():
            if type(name) is not str:
                raise CallError(path, f"{_describe(name)} is not a JSON key")
            _check_extra(item, join(path, name), depth + 1)
    elif value is not None and kind not in (bool, str):
        raise CallError(path, f"{kind.__name__} is not a JSON value")


def _describe(value: object) -> str:
    """A value named in an error: short whatever it is."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return _short(value)
    if isinstance(value, str):
        return repr(value) if len(value) <= 40 else repr(value[:40]) + "…"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "an object" if isinstance(value, dict) else f"a {type(value).__name__}"


def _short(number: float) -> str:
    if isinstance(number, int) and number.bit_length() > 128:
        return f"an integer of {number.bit_length()} bits"
    return str(number)


def _list(names: Any) -> str:
    return ", ".join(sorted(map(str, names))) if isinstance(names, frozenset) else ", ".join(map(str, names))
