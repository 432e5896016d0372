"""Dotted public paths of torch's callables, in both directions: path → object and object → path."""

from __future__ import annotations

import importlib
import re
from typing import Any, Dict, Iterator, Optional, Tuple

import torch

# Where a callable is looked for, best name first: torch.conv2d is also torch.nn.functional.conv2d.
NAMESPACES = (
    "torch",
    "torch.nn.functional",
    "torch.linalg",
    "torch.special",
    "torch.fft",
    "torch.masked",
    "torch.signal.windows",
    "torch.Tensor",
    "torch.nn",
)
# Operators of Tensor that are public although their names begin with an underscore.
TENSOR_OPERATORS = re.compile(
    r"__(r|i)?(add|sub|mul|truediv|floordiv|mod|pow|matmul|and|or|xor|lshift|rshift)__$"
    r"|__(getitem|neg|pos|abs|invert)__$"
)


def resolve(path: str) -> Any:
    """The object at a dotted path; ImportError or AttributeError says which part is missing."""
    parts = path.split(".")
    found = importlib.import_module(parts[0])
    for depth, part in enumerate(parts[1:], start=2):
        if not hasattr(found, part) and hasattr(found, "__path__"):
            importlib.import_module(".".join(parts[:depth]))
        found = getattr(found, part)
    return found


def members(namespace: str) -> Iterator[Tuple[str, Any]]:
    """Public names of one namespace and what they stand for, sorted; nothing where this torch lacks the namespace."""
    try:
        owner = resolve(namespace)
    except (ImportError, AttributeError):
        return
    for name in sorted(dir(owner)):
        if name.startswith("_") and not (namespace == "torch.Tensor" and TENSOR_OPERATORS.match(name)):
            continue
        try:
            yield name, getattr(owner, name)
        except (AttributeError, RuntimeError):  # properties that refuse to be read on the class
            continue


class PublicNames:
    """The public path of every callable and named constant of torch, by identity."""

    def __init__(self) -> None:
        self._paths: Dict[int, str] = {}
        self._kept = []  # an id is only valid while its object lives
        for namespace in NAMESPACES:
            for name, member in members(namespace):
                if callable(member) or type(member) in (torch.memory_format, torch.layout):
                    self._kept.append(member)
                    self._paths.setdefault(id(member), f"{namespace}.{name}")

    def path(self, member: Any) -> Optional[str]:
        """The best public path that resolves to this very object, or None."""
        known = self._paths.get(id(member))
        if known is not None:
            return known
        qualified = getattr(member, "_qualified_op_name", None) or str(getattr(member, "_name", ""))
        if type(member).__name__ in ("OpOverload", "OpOverloadPacket") and qualified.startswith("aten::"):
            return self._resolving("torch.ops." + qualified.replace("::", "."), member)
        name = getattr(member, "__name__", "")
        if type(member).__name__ in ("method_descriptor", "wrapper_descriptor", "function") and name:
            return self._resolving("torch.Tensor." + name, member)
        return None

    def _resolving(self, path: str, member: Any) -> Optional[str]:
        try:
            return path if resolve(path) is member else None
        except (ImportError, AttributeError):
            return None
