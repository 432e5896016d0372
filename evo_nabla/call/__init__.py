"""The language everything speaks: calls as data, their canonical JSON, their hashes and the values they stand for."""

from .arguments import (
    Argument,
    Content,
    DtypeArgument,
    Fill,
    Layout,
    ListArgument,
    MappingArgument,
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
from .call import Call, Init, Json
from .canonical import call_hash, canonical_text
from .errors import CallError
from .jsonl import call_from_text, read_calls, write_calls
from .materialise import MAX_ELEMENTS, materialise
from .parse import argument_from_json, call_from_json
from .paths import differentiated, get, remove, replace, walk
from .serialise import argument_to_json, call_to_json

__all__ = [
    "MAX_ELEMENTS",
    "Argument",
    "Call",
    "CallError",
    "Content",
    "DtypeArgument",
    "Fill",
    "Init",
    "Json",
    "Layout",
    "ListArgument",
    "MappingArgument",
    "Number",
    "ObjectArgument",
    "ReferenceArgument",
    "SameArgument",
    "Seeded",
    "SliceArgument",
    "TensorArgument",
    "TupleArgument",
    "Values",
    "argument_from_json",
    "argument_to_json",
    "call_from_json",
    "call_from_text",
    "call_hash",
    "call_to_json",
    "canonical_text",
    "differentiated",
    "get",
    "materialise",
    "read_calls",
    "remove",
    "replace",
    "walk",
    "write_calls",
]
