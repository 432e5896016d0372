"""The typed reading of an API's signature as a worker describes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evo_nabla.call import Argument, CallError, argument_from_json

from .reading import Fields, boolean, choice, sequence, text


@dataclass(frozen=True)
class Parameter:
    """One parameter: `kind` is positional, keyword or var; `has_default` tells a default of None from no default;
    `choices` are the texts that the documentation names."""

    name: str
    kind: str
    has_default: bool
    default: Argument
    type: str | None
    choices: tuple[str, ...]

    @classmethod
    def from_json(cls, document: object, place: str = "parameter") -> Parameter:
        """Read one; raises ValueError naming the place."""
        fields = Fields(document, place)
        given = isinstance(document, dict) and "default" in document
        return cls(
            name=fields.read("name", text),
            kind=fields.read("kind", choice("positional", "keyword", "var")),
            has_default=given,
            default=fields.read("default", _argument) if given else None,
            type=fields.read("type", text) if fields.has("type") else None,
            choices=fields.read("choices", sequence(text)) if fields.has("choices") else (),
        )


@dataclass(frozen=True)
class Signature:
    """The parameters of an API; those of a module class are its forward's, and `init` holds the constructor's."""

    parameters: tuple[Parameter, ...]
    method: bool
    module: bool
    init: tuple[Parameter, ...] = ()

    @classmethod
    def from_json(cls, document: object, place: str = "signature") -> Signature:
        """Read one; raises ValueError naming the place."""
        fields = Fields(document, place)
        parameters = sequence(Parameter.from_json)
        return cls(
            parameters=fields.read("parameters", parameters),
            method=fields.read("method", boolean),
            module=fields.read("module", boolean),
            init=fields.read("init", parameters) if fields.has("init") else (),
        )


def _argument(value: Any, place: str) -> Argument:
    try:
        return argument_from_json(value)
    except CallError as error:
        raise ValueError(f"{place}: {error}") from None
