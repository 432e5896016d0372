"""Documented differences between a library's modes that are no bugs, read from one data file with their reasons."""

from __future__ import annotations

import fnmatch
import json
import re
from functools import cache
from pathlib import Path
from re import Pattern

_FILE = Path(__file__).with_name("conventions.json")


class Conventions:
    """The conventions of one library.

    `unsupported` patterns are how the library says that a derivative is not implemented, `contracts` are refusals
    that it documents, and `apis` names those whose gradient differs from their function's by contract.
    """

    def __init__(
        self,
        unsupported: list[tuple[Pattern[str], str]],
        contracts: list[tuple[Pattern[str], str]],
        apis: list[tuple[str, str, str]],
        structures: list[tuple[str, str, str]],
    ) -> None:
        self._unsupported = unsupported
        self._contracts = contracts
        self._apis = apis
        self._structures = structures
        # Asked for every call: one look-up an API.
        self._found: dict[str, tuple[str, str] | None] = {}
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

    def of_api(self, api: str) -> tuple[str, str] | None:
        """(label, reason) when the API's gradient differs from its function's by contract, else None."""
        if api not in self._found:
            matching = ((label, reason) for glob, label, reason in self._apis if fnmatch.fnmatchcase(api, glob))
            self._found[api] = next(matching, None)
        return self._found[api]

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
        [(item["api"], item["label"], item["reason"]) for item in data.get("apis", [])],
        [(item["api"], item["argument"], item["structure"]) for item in data.get("structures", [])],
    )
