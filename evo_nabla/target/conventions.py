"""Documented differences between a library's modes that are no bugs, read from one data file with their reasons."""

from __future__ import annotations

import fnmatch
import json
import re
from functools import cache
from pathlib import Path
from re import Pattern
from typing import NamedTuple

from evo_nabla.call import Call

_FILE = Path(__file__).with_name("conventions.json")


class Rule(NamedTuple):
    """An API whose gradient differs from its function's by contract: always, or when an argument is given (by name,
    or by its position; of the constructor where the API is a class)."""

    api: str
    label: str
    reason: str
    argument: str | None
    position: int | None


def _is_given(call: Call, name: str, position: int | None) -> bool:
    args, kwargs = (call.args, call.kwargs) if call.init is None else (call.init.args, call.init.kwargs)
    for keyword, value in kwargs:
        if keyword == name:
            return value is not None and value is not False
    if position is None or position >= len(args):
        return False
    return args[position] is not None and args[position] is not False


class Conventions:
    """The conventions of one library.

    `unsupported` patterns are how the library says that a derivative is not implemented, `contracts` are refusals
    that it documents, and `apis` names those whose gradient differs from their function's by contract.
    """

    def __init__(
        self,
        unsupported: list[tuple[Pattern[str], str]],
        contracts: list[tuple[Pattern[str], str]],
        apis: list[Rule],
        structures: list[tuple[str, str, str]],
    ) -> None:
        self._unsupported = unsupported
        self._contracts = contracts
        self._apis = apis
        self._structures = structures
        # Asked for every call: one look-up an API.
        self._found: dict[str, list[Rule]] = {}
        self._shaped: dict[str, list[tuple[str, str]]] = {}

    @classmethod
    def of(cls, library: str) -> Conventions:
        """The conventions of a library, by name; empty for one that has none."""
        return _load(library)

    def is_unsupported(self, message: str) -> bool:
        """Whether an error message says that a derivative is not implemented."""
        return any(pattern.search(message) for pattern, _ in self._unsupported)

    def excuse(self, message: str) -> str | None:
        """Why an exception of an AD mode is a documented contract and no bug, or None."""
        for pattern, reason in self._contracts:
            if pattern.search(message):
                return reason
        return None

    def of_call(self, call: Call) -> tuple[str, str] | None:
        """(label, reason) when the call's gradient differs from its function's by contract, else None."""
        if call.api not in self._found:
            self._found[call.api] = [rule for rule in self._apis if fnmatch.fnmatchcase(call.api, rule.api)]
        for rule in self._found[call.api]:
            if rule.argument is None or _is_given(call, rule.argument, rule.position):
                return rule.label, rule.reason
        return None

    def structures(self, api: str) -> list[tuple[str, str]]:
        """(argument path, structure) of the inputs that an API takes to be Hermitian or triangular: directions must
        keep that structure, since the gradient is only meant along it."""
        if api not in self._shaped:
            self._shaped[api] = [
                (path, structure) for glob, path, structure in self._structures if fnmatch.fnmatchcase(api, glob)
            ]
        return self._shaped[api]


@cache
def _load(library: str) -> Conventions:
    data = json.loads(_FILE.read_text(encoding="utf-8")).get(library, {})
    return Conventions(
        [(re.compile(item["pattern"], re.IGNORECASE), item["reason"]) for item in data.get("unsupported", [])],
        [(re.compile(item["pattern"], re.IGNORECASE), item["reason"]) for item in data.get("contracts", [])],
        [
            Rule(item["api"], item["label"], item["reason"], item.get("argument"), item.get("position"))
            for item in data.get("apis", [])
        ],
        [(item["api"], item["argument"], item["structure"]) for item in data.get("structures", [])],
    )
