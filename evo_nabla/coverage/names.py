"""What native code is called: demangled names of functions, and the source area that a name belongs to."""

from __future__ import annotations

import re

import cxxfilt
import numpy as np

from .elf import Symbols

_AREA_DEPTH = 2  # namespaces that make an area: at::native, torch::autograd, c10::impl
_ANONYMOUS = "anonymous"  # stands for "(anonymous namespace)", whose bracket and space would mislead
_CLOSED_BY = {"<": ">", "(": ")", "{": "}", "[": "]"}
_PREFIXES = re.compile(r"^(?:non-virtual|virtual|covariant return) thunk to ")
_LONGEST = 1 << 16  # bytes of a mangled name


def demangle(symbol: str) -> str:
    """The C++ name of a symbol; a symbol that is none stays as it is."""
    try:
        return str(cxxfilt.demangle(symbol, external_only=False))
    except cxxfilt.Error:
        return symbol


def area(name: str) -> str:
    """The outermost namespaces of a demangled name, "" where it has none.

    >>> area("void at::native::copy_impl<float>(at::Tensor&)")
    'at::native'
    """
    scopes = [scope for scope in _scopes(name)[:-1] if scope != _ANONYMOUS]
    # The standard library's templates live in the library that instantiates them, and their classes tell little.
    return "::".join(scopes[: 1 if scopes[:1] == ["std"] else _AREA_DEPTH])


def _scopes(name: str) -> list[str]:
    """The parts of a function's qualified name, without template arguments and parameters.

    A space outside all brackets ends the return type, which templates carry.
    """
    name = _PREFIXES.sub("", name).replace("(anonymous namespace)", _ANONYMOUS)
    parts: list[str] = []
    part, open_brackets = "", ""
    for at, letter in enumerate(name):
        if open_brackets:
            open_brackets = _inside(open_brackets, letter)
        elif letter == "(" or part == "operator":
            break
        elif letter in _CLOSED_BY:
            open_brackets = letter
        elif letter == " ":
            parts, part = [], ""
        elif name.startswith("::", at):
            parts.append(part)
            part = ""
        elif letter != ":":
            part += letter
    return [*parts, part]


def _inside(open_brackets: str, letter: str) -> str:
    """The brackets open after one more letter; < and > inside of parentheses are comparisons (or pair up anyway)."""
    innermost = open_brackets[-1]
    if letter == _CLOSED_BY[innermost]:
        return open_brackets[:-1]
    if letter in _CLOSED_BY and not (letter == "<" and innermost == "("):
        return open_brackets + letter
    return open_brackets


class SymbolNames:
    """The names of one library's functions."""

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols

    def at(self, address: int) -> str | None:
        """The symbol of the function that starts there, not demangled."""
        addresses = self._symbols.addresses
        index = int(np.searchsorted(addresses, np.uint64(address)))
        if index == len(addresses) or int(addresses[index]) != address:
            return None
        return self._text(int(self._symbols.names[index])) or None

    def beginning_with(self, prefix: str) -> list[tuple[int, str]]:
        """(address, symbol) of all functions whose symbol begins so."""
        # The terminator of the string before is part of the pattern: looking behind would make the search slow.
        pattern = re.compile(b"\0" + re.escape(prefix.encode("ascii")))
        offsets = [match.start() + 1 for match in pattern.finditer(self._symbols.strings.data)]
        matching = np.isin(self._symbols.names, np.array(offsets, np.uint32)).nonzero()[0]
        return [
            (int(self._symbols.addresses[index]), self._text(int(self._symbols.names[index]))) for index in matching
        ]

    def _text(self, offset: int) -> str:
        raw = self._symbols.strings[offset : offset + _LONGEST].tobytes()
        return raw.partition(b"\0")[0].decode("utf-8", "replace")
