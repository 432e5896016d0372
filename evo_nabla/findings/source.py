"""Writes a call as Python code that a maintainer can read: its tensors, and the one expression that calls the API."""

from __future__ import annotations

import keyword
import math
import re
from dataclasses import dataclass, replace

import numpy as np

from evo_nabla.call.arguments import (
    Argument,
    DtypeArgument,
    Fill,
    ListArgument,
    MappingArgument,
    ObjectArgument,
    ReferenceArgument,
    SameArgument,
    Seeded,
    SliceArgument,
    TensorArgument,
    TupleArgument,
)
from evo_nabla.call.call import Call, Init
from evo_nabla.call.layouts import strides_of
from evo_nabla.call.materialise import materialise
from evo_nabla.call.paths import differentiated, get, join, split, walk

MAX_LITERAL = 256  # a drawn tensor with more entries than this is drawn again by the script instead of being listed
MAX_NESTED = 64  # a listed tensor with more entries than this is one flat list
WIDTH = 110

# What `import torch` alone makes reachable; anything else is looked up by a helper in the script.
_EAGER = (
    "torch.nn.",
    "torch.Tensor.",
    "torch.linalg.",
    "torch.special.",
    "torch.fft.",
    "torch.ops.",
    "torch.distributions.",
)
_RESERVED = frozenset({"torch", "np", "sys", "nan", "inf", "call", "arguments", "parameters", "module", "target"})


@dataclass(frozen=True)
class TensorSource:
    """One tensor of the call: its name in the script, its path in the call, and the code that makes it."""

    name: str
    path: str
    code: str
    differentiated: bool
    dtype: str


@dataclass(frozen=True)
class CallSource:
    """A call as code. `target` makes the module or object that is called, where there is one."""

    tensors: tuple[TensorSource, ...]
    local: tuple[str, ...]
    expression: str
    target: str | None

    @property
    def text(self) -> str:
        return "\n".join([*(tensor.code for tensor in self.tensors), *self.local, self.target or "", self.expression])

    def uses(self, word: str) -> bool:
        return word in self.text


class SourceError(ValueError):
    """A call that cannot be written as code, with the path of what is in the way."""


def call_source(call: Call) -> CallSource:
    """The code of a call to PyTorch.

    Numbers are written by `repr`, names only if they are identifiers, so nothing in a call can become code.
    Raises SourceError for a name that is not one.
    """
    return _Writer(call).write()


def _with_init(call: Call) -> Call:
    """A module class that is named without `init` is made without arguments."""
    head, _, leaf = call.api.rpartition(".")
    if call.init is None and head.startswith("torch.nn") and leaf[:1].isupper():
        return replace(call, init=Init())
    return call


class _Writer:
    def __init__(self, call: Call) -> None:
        self.call = _with_init(call)
        self.names: dict[str, str] = {}
        self.local: list[str] = []
        self.shared: dict[str, str] = {}

    def write(self) -> CallSource:
        chosen = set(differentiated(self.call))
        tensors = []
        for path, node in walk(self.call):
            if isinstance(node, TensorArgument) and not path.startswith("init."):
                name = self.names[path] = self._name(path)
                code = f"{name} = {tensor_code(node)}"
                tensors.append(TensorSource(name, path, code, path in chosen, node.dtype))
        self._share()
        arguments = [self.expression(node, f"args.{i}") for i, node in enumerate(self.call.args)]
        keywords = [_keyword(name, self.expression(node, join("kwargs", name))) for name, node in self.call.kwargs]
        target = self._target()
        return CallSource(tuple(tensors), tuple(self.local), self._invocation(arguments, keywords, target), target)

    def _name(self, path: str) -> str:
        head, *rest = split(path)
        name = "a" + "_".join(rest) if head == "args" else "_".join(rest)
        if not name.isidentifier() or keyword.iskeyword(name) or name in _RESERVED or name in self.names.values():
            name = f"k{len(self.names)}"
        return name

    def _share(self) -> None:
        """Give a name to whatever is passed a second time by `same`."""
        for _, node in walk(self.call):
            if isinstance(node, SameArgument) and node.path not in self.names and node.path not in self.shared:
                code = self.expression(get(self.call, node.path), node.path)
                self.shared[node.path] = f"shared{len(self.shared)}"
                self.local.append(f"{self.shared[node.path]} = {code}")

    def _target(self) -> str | None:
        if self.call.init is None:
            return None
        init = self.call.init
        arguments = [self.expression(node, f"init.args.{i}") for i, node in enumerate(init.args)]
        arguments += [_keyword(n, self.expression(node, join("init.kwargs", n))) for n, node in init.kwargs]
        return f"{dotted(self.call.api)}({', '.join(arguments)})"

    def _invocation(self, arguments: list[str], named: list[str], target: str | None) -> str:
        if self._in_place() and arguments:
            arguments[0] = f"{arguments[0]}.clone()"
        if target is not None:
            return _joined("target", [*arguments, *named])
        if self._is_method():
            return _joined(f"{arguments[0]}.{self.call.api.rsplit('.', 1)[1]}", [*arguments[1:], *named])
        return _joined(dotted(self.call.api), [*arguments, *named])

    def _is_method(self) -> bool:
        head, _, leaf = self.call.api.rpartition(".")
        first = self.call.args[0] if self.call.args else None
        return head == "torch.Tensor" and leaf.isidentifier() and isinstance(first, TensorArgument)

    def _in_place(self) -> bool:
        """A leaf that requires a gradient cannot be written to: its copy can."""
        leaf = self.call.api.rsplit(".", 1)[-1]
        named = dict(self.call.kwargs).get("inplace") or (self.call.init and dict(self.call.init.kwargs).get("inplace"))
        by_name = leaf.endswith("_") and not leaf.endswith("__")
        return (by_name or named is True) and bool(self.call.args) and isinstance(self.call.args[0], TensorArgument)

    def expression(self, node: Argument, path: str) -> str:
        if path in self.names:
            return self.names[path]
        if path in self.shared:
            return self.shared[path]
        if isinstance(node, SameArgument):
            return self.names.get(node.path) or self.shared[node.path]
        if isinstance(node, TensorArgument):
            return tensor_code(node)
        if isinstance(node, (ListArgument, TupleArgument)):
            items = [self.expression(item, f"{path}.{i}") for i, item in enumerate(node.items)]
            if isinstance(node, ListArgument):
                return f"[{', '.join(items)}]"
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        if isinstance(node, MappingArgument):
            pairs = (f"{name!r}: {self.expression(item, join(path, name))}" for name, item in node.items)
            return "{" + ", ".join(pairs) + "}"
        if isinstance(node, ObjectArgument):
            arguments = [self.expression(item, f"{path}.args.{i}") for i, item in enumerate(node.args)]
            arguments += [_keyword(n, self.expression(item, join(f"{path}.kwargs", n))) for n, item in node.kwargs]
            return f"{dotted(node.path)}({', '.join(arguments)})"
        return _scalar(node)


def _scalar(node: Argument) -> str:
    if isinstance(node, DtypeArgument):
        return f"torch.{_identifier(node.name)}"
    if isinstance(node, ReferenceArgument):
        return dotted(node.path)
    if isinstance(node, SliceArgument):
        return f"slice({node.start!r}, {node.stop!r}, {node.step!r})"
    if node is None or isinstance(node, (bool, int, float, complex)):
        return number(node)
    if isinstance(node, str):
        return repr(node)
    raise SourceError(f"{type(node).__name__} has no form as code")


def number(value: object) -> str:
    """A number as code that gives it back exactly; the script defines `nan` and `inf`."""
    if isinstance(value, complex):
        return f"complex({number(value.real)}, {number(value.imag)})"
    return repr(value)


def dotted(path: str) -> str:
    """The code that reaches a named object of the library."""
    if not all(_is_identifier(part) for part in path.split(".")):
        raise SourceError(f"{path!r} is not a dotted name")
    if path.startswith(_EAGER) or (path.startswith("torch.") and path.count(".") == 1):
        return path
    return f'locate("{path}")'


def _keyword(name: str, value: str) -> str:
    """A named argument; some of torch's have names that Python keeps for itself, as `from` of random_."""
    if keyword.iskeyword(name):
        return f"**{{{name!r}: {value}}}"
    return f"{_identifier(name)}={value}"


def _identifier(name: str) -> str:
    if not _is_identifier(name):
        raise SourceError(f"{name!r} is not a name")
    return name


def _is_identifier(name: str) -> bool:
    return name.isidentifier() and name.isascii() and not keyword.iskeyword(name)


def _joined(function: str, arguments: list[str]) -> str:
    line = f"{function}({', '.join(arguments)})"
    if len(line) <= WIDTH:
        return line
    return f"{function}(\n" + "".join(f"        {argument},\n" for argument in arguments) + "    )"


def tensor_code(tensor: TensorArgument) -> str:
    """The code of one tensor, layout included; every entry exactly that of the call."""
    code = _plain_tensor(tensor)
    if tensor.layout.kind == "contiguous":
        return code
    strides, offset = strides_of(tensor.layout, tensor.shape)
    return f"laid_out({code}, strides={strides}, offset={offset})"


def _plain_tensor(tensor: TensorArgument) -> str:
    shape, dtype = tuple(tensor.shape), f"torch.{_identifier(tensor.dtype)}"
    size = math.prod(shape)
    if size == 0:
        return f"torch.zeros({shape}, dtype={dtype})"
    content = tensor.content
    if isinstance(content, Seeded) and size > MAX_LITERAL and content.kind == "uniform":
        drawn = _drawn(content, shape, tensor.dtype)
        if drawn is not None:
            return f"torch.tensor({drawn}, dtype={dtype})"
    if isinstance(content, Fill) and size > 1:
        return f"torch.full({shape}, {number(content.value)}, dtype={dtype})"
    array = materialise(tensor)
    if size > MAX_NESTED and len(shape) > 1:
        return f"torch.tensor({_entries(array.reshape(-1))}, dtype={dtype}).reshape{shape}"
    return f"torch.tensor({_entries(array)}, dtype={dtype})"


def _drawn(content: Seeded, shape: tuple[int, ...], dtype: str) -> str | None:
    low, high = number(content.low), number(content.high)
    if dtype in ("float64", "float32"):
        return f"np.random.RandomState({content.seed}).uniform({low}, {high}, {shape}).astype(np.{dtype})"
    return None


def _entries(array: np.ndarray) -> str:
    if array.ndim:
        return "[" + ", ".join(_entries(part) for part in array) + "]"
    return _shortest(array)


def _shortest(entry: np.ndarray) -> str:
    """The shortest decimal that rounds to the same entry, so that 0.1 of float32 is written 0.1."""
    value = entry.item()
    if entry.dtype == np.float32 and math.isfinite(value):
        short = float(str(entry[()]))
        return number(short if np.float32(short) == entry else value)
    return number(value)


_LOCATED = re.compile(r'locate\("([\w.]+)\.(\w+)"\)')


def call_as_python(source: CallSource) -> str:
    """The minimal call as a reader of the report wants it: imports, tensors, call."""
    lines = [tensor.code + (".requires_grad_()" if tensor.differentiated else "") for tensor in source.tensors]
    if source.target is not None:
        lines.append(f"target = {source.target}")
    lines += [*source.local, f"y = {source.expression}"]
    code = "\n".join(lines)
    head = ["import torch"]
    if "np." in code:
        head.insert(0, "import numpy as np")
    if re.search(r"(?<!\w)(nan|inf)\b", code):
        head.insert(0, "from math import inf, nan")
    head += [f"from {module} import {name}" for module, name in sorted(set(_LOCATED.findall(code)))]
    if "laid_out(" in code:
        head.append("\n# laid_out (see repro.py): the same values, but in memory with these strides")
    return "\n".join([*head, "", _LOCATED.sub(r"\2", code)])
