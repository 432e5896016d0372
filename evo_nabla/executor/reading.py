"""Typed reading of JSON that nobody vouches for: every mismatch is a ValueError that names the place."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")


class Fields:
    """An object of the wire, read field by field."""

    def __init__(self, document: object, place: str) -> None:
        if not isinstance(document, dict):
            raise ValueError(f"{place}: an object expected, not {_kind(document)}")
        self._document: dict[str, Any] = document
        self.place = place

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self._document.get(name) is not None

    def read(self, name: str, reader: Callable[[object, str], T]) -> T:
        """A field through a reader of values; raises ValueError if it is missing or wrong."""
        if name not in self._document:
            raise ValueError(f"{self.place}.{name}: missing")
        return reader(self._document[name], f"{self.place}.{name}")


def text(value: object, place: str) -> str:
    """A string."""
    if not isinstance(value, str):
        raise ValueError(f"{place}: a text expected, not {_kind(value)}")
    return value


def boolean(value: object, place: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{place}: true or false expected, not {_kind(value)}")
    return value


def integer(value: object, place: str) -> int:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{place}: a whole number expected, not {_kind(value)}")
    return value


def number(value: object, place: str) -> float:
    """A number, or {"float": "nan" | "inf" | "-inf"}."""
    if isinstance(value, dict) and set(value) == {"float"} and value["float"] in ("nan", "inf", "-inf"):
        return float(value["float"])
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{place}: a number expected, not {_kind(value)}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{place}: a number beyond double precision") from None


def choice(*words: str) -> Callable[[object, str], str]:
    """One of some words."""

    def reader(value: object, place: str) -> str:
        if value not in words or not isinstance(value, str):
            raise ValueError(f"{place}: one of {', '.join(words)} expected, not {value!r}")
        return value

    return reader


def sequence(reader: Callable[[object, str], T]) -> Callable[[object, str], tuple[T, ...]]:
    """A list of values of one kind."""

    def read(value: object, place: str) -> tuple[T, ...]:
        if not isinstance(value, list):
            raise ValueError(f"{place}: a list expected, not {_kind(value)}")
        return tuple(reader(item, f"{place}[{index}]") for index, item in enumerate(value))

    return read


def mapping(reader: Callable[[object, str], T]) -> Callable[[object, str], dict[str, T]]:
    """An object whose values are all of one kind."""

    def read(value: object, place: str) -> dict[str, T]:
        if not isinstance(value, dict):
            raise ValueError(f"{place}: an object expected, not {_kind(value)}")
        return {name: reader(item, f"{place}.{name}") for name, item in value.items()}

    return read


def anything(value: object, place: str) -> Any:
    """Plain JSON of any form."""
    return value


def number_to_json(value: float) -> float | dict[str, str]:
    """The inverse of `number`."""
    if math.isfinite(value):
        return value
    return {"float": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}


def numbers_to_json(values: Mapping[str, float]) -> dict[str, float | dict[str, str]]:
    """`number_to_json` of every value."""
    return {name: number_to_json(value) for name, value in values.items()}


def _kind(value: object) -> str:
    return "null" if value is None else type(value).__name__
