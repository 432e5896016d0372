"""The parameters of an API as mutators see them: the name of an argument's path, and what may be added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Optional, Protocol

from evo_nabla.call import Argument, Call


class Parameter(Protocol):
    """One parameter: kind positional, keyword or var, `type` its annotation's text, `choices` the texts it may be."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def has_default(self) -> bool: ...

    @property
    def default(self) -> Argument: ...

    @property
    def type(self) -> Optional[str]: ...

    @property
    def choices(self) -> Sequence[str]: ...


class Signature(Protocol):
    """The parameters of one API, in order; a module class has those of its construction in `init`."""

    @property
    def parameters(self) -> Sequence[Parameter]: ...

    @property
    def init(self) -> Sequence[Parameter]: ...


Signatures = Mapping[str, Optional[Signature]]


def parameter_at(path: str, signature: Optional[Signature]) -> Optional[Parameter]:
    """The parameter that a top-level argument's path ("args.1", "init.kwargs.bias") stands for, where it is known."""
    if signature is None:
        return None
    parameters = signature.init if path.startswith("init.") else signature.parameters
    kind, _, slot = path.removeprefix("init.").partition(".")
    if kind == "kwargs":
        return next((parameter for parameter in parameters if parameter.name == slot), None)
    positional = [parameter for parameter in parameters if parameter.kind == "positional"]
    return positional[int(slot)] if int(slot) < len(positional) else None


def parameter_name(path: str, signature: Optional[Signature]) -> str:
    """The name of the parameter that a top-level argument's path stands for; "#2" where nothing names the position."""
    kind, _, slot = path.removeprefix("init.").partition(".")
    if kind == "kwargs":
        return slot
    parameter = parameter_at(path, signature)
    return parameter.name if parameter is not None else f"#{slot}"


def absent_parameters(call: Call, signature: Signature) -> list[tuple[str, Parameter]]:
    """The optional parameters this call does not give, each with the path it would have as a keyword."""
    absent = _absent("kwargs.", signature.parameters, len(call.args), {name for name, _ in call.kwargs})
    if call.init is not None:
        given = {name for name, _ in call.init.kwargs}
        absent += _absent("init.kwargs.", signature.init, len(call.init.args), given)
    return absent


def _absent(
    prefix: str, parameters: Sequence[Parameter], by_position: int, by_name: set[str]
) -> list[tuple[str, Parameter]]:
    positional = [parameter.name for parameter in parameters if parameter.kind == "positional"]
    given = by_name.union(positional[:by_position])
    return [
        (prefix + parameter.name, parameter)
        for parameter in parameters
        if parameter.kind != "var" and parameter.has_default and parameter.name not in given
    ]
