"""From a call to plain JSON values."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, Dict, List

from .arguments import (
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
    SliceArgument,
    TensorArgument,
    TupleArgument,
    Values,
)
from .dtypes import BOOL, COMPLEX, DTYPES, FLOATING

if TYPE_CHECKING:
    from .call import Call

Document = Dict[str, Any]


def call_to_json(call: Call) -> Document:
    """The call as a plain JSON value, extras included; `call_from_json` reads it back to an equal call."""
    document = call_document(call)
    document.update(call.extra)
    return document


def call_document(call: Call) -> Document:
    """The call as a plain JSON value without its extras: what the canonical text and the hash are made of."""
    document: Document = {"api": call.api, "args": [argument_to_json(item) for item in call.args]}
    if call.kwargs:
        document["kwargs"] = _named(call.kwargs)
    if call.init is not None:
        document["init"] = {
            "args": [argument_to_json(item) for item in call.init.args],
            "kwargs": _named(call.init.kwargs),
        }
    if call.diff is not None:
        document["diff"] = list(call.diff)
    return document


def argument_to_json(argument: Argument) -> Any:
    """One argument as a plain JSON value."""
    if isinstance(argument, TensorArgument):
        return {"tensor": _tensor(argument)}
    if isinstance(argument, ListArgument):
        return [argument_to_json(item) for item in argument.items]
    if isinstance(argument, float):
        return float_to_json(argument)
    if argument is None or isinstance(argument, (bool, int, str)):
        return argument
    return _tagged(argument)


def _tagged(argument: Argument) -> Document:
    if isinstance(argument, complex):
        return {"complex": _pair(argument)}
    if isinstance(argument, TupleArgument):
        return {"tuple": [argument_to_json(item) for item in argument.items]}
    if isinstance(argument, MappingArgument):
        return {"dict": _named(argument.items)}
    if isinstance(argument, DtypeArgument):
        return {"dtype": argument.name}
    if isinstance(argument, SliceArgument):
        return {"slice": [argument.start, argument.stop, argument.step]}
    if isinstance(argument, ReferenceArgument):
        return {"ref": argument.path}
    if isinstance(argument, SameArgument):
        return {"same": argument.path}
    if isinstance(argument, ObjectArgument):
        return _object(argument)
    raise TypeError(f"{type(argument).__name__} is not an argument of a call")


def _object(argument: ObjectArgument) -> Document:
    document: Document = {"new": argument.path}
    if argument.args:
        document["args"] = [argument_to_json(item) for item in argument.args]
    if argument.kwargs:
        document["kwargs"] = _named(argument.kwargs)
    return document


def _named(items: NamedArguments) -> Document:
    return {name: argument_to_json(item) for name, item in items}


def _tensor(tensor: TensorArgument) -> Document:
    document: Document = {"shape": list(tensor.shape), "dtype": tensor.dtype}
    document.update(_content(tensor.content, DTYPES[tensor.dtype].family))
    if tensor.layout.kind != "contiguous":
        document["layout"] = _layout(tensor.layout)
    return document


def _content(content: Content, family: str) -> Document:
    if isinstance(content, Values):
        return {"values": _elements(content.flat, family)}
    if isinstance(content, Fill):
        return {"fill": _elements((content.value,), family)[0]}
    # The bounds of complex and bool draws are real numbers, so they are written like those of floating ones.
    if family in (BOOL, COMPLEX):
        family = FLOATING
    document: Document = {"seed": content.seed, "range": _elements((content.low, content.high), family)}
    if content.kind != "uniform":
        document["kind"] = content.kind
    return document


def _elements(flat: Any, family: str) -> List[Any]:
    if family == FLOATING:
        numbers = list(map(float, flat))
        return numbers if all(map(isfinite, numbers)) else list(map(float_to_json, numbers))
    if family == COMPLEX:
        return list(map(_pair, flat))
    return list(map(bool, flat)) if family == BOOL else list(map(int, flat))


def _layout(layout: Layout) -> Any:
    if layout.kind != "explicit":
        return layout.kind
    return {"strides": list(layout.strides or ()), "offset": layout.offset}


def _pair(value: Number) -> List[Any]:
    return [float_to_json(float(value.real)), float_to_json(float(value.imag))]


def float_to_json(value: float) -> Any:
    """A finite number as itself, the others as ``{"float": "nan" | "inf" | "-inf"}``."""
    return value if isfinite(value) else {"float": repr(float(value))}
