"""The argument pool: arguments of all seeds by parameter name, by API and by type; FreeFuzz's database too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from evo_nabla.call import Argument, Call, TensorArgument

from .anatomy import slots
from .contents import elements, family
from .signatures import Signatures, parameter_name

# Kept per parameter name and per type: enough variety, and a bounded memory however large the seeds.
KEPT = 64
KEPT_ELEMENTS = 256

Item = TypeVar("Item")


@dataclass(frozen=True)
class Lent:
    """An argument that some API was called with."""

    api: str
    name: str
    argument: Argument


class ArgumentPool:
    """Built once from the seeds, in their order; holds no randomness."""

    def __init__(self, seeds: Mapping[str, Sequence[Call]], signatures: Signatures) -> None:
        self._by_name: dict[str, dict[str, Lent]] = {}
        self._by_slot: dict[tuple[str, str], dict[str, Argument]] = {}
        self._by_type: dict[str, dict[str, Argument]] = {}
        self._apis_of: dict[str, dict[str, None]] = {}
        keywords: dict[str, dict[str, None]] = {}
        for api, calls in seeds.items():
            for call in calls:
                keywords.setdefault(api, {}).update(dict.fromkeys(name for name, _ in call.kwargs))
                for path, argument in slots(call):
                    if not isinstance(argument, TensorArgument) or elements(argument.shape) <= KEPT_ELEMENTS:
                        self._keep(api, parameter_name(path, signatures.get(api)), argument)
        self._keywords = {api: tuple(names) for api, names in keywords.items()}
        self._named = {name: tuple(lent.values()) for name, lent in self._by_name.items()}
        self._slotted = {slot: tuple(arguments.values()) for slot, arguments in self._by_slot.items()}
        self._typed = {tag: tuple(arguments.values()) for tag, arguments in self._by_type.items()}
        self._apis = {name: tuple(apis) for name, apis in self._apis_of.items()}

    def named(self, name: str) -> tuple[Lent, ...]:
        """What any API was given for a parameter of this name."""
        return self._named.get(name, ())

    def slotted(self, api: str, name: str) -> tuple[Argument, ...]:
        """What this API was given for this parameter."""
        return self._slotted.get((api, name), ())

    def typed(self, tag: str) -> tuple[Argument, ...]:
        """Arguments of one type (see `type_tag`)."""
        return self._typed.get(tag, ())

    def apis_with(self, name: str) -> tuple[str, ...]:
        """The APIs whose seeds give a parameter of this name."""
        return self._apis.get(name, ())

    def keywords(self, api: str) -> tuple[str, ...]:
        """The keywords that this API's seeds use."""
        return self._keywords.get(api, ())

    def _keep(self, api: str, name: str, argument: Argument) -> None:
        # 1, 1.0 and True are equal to Python, and different arguments: what is written tells them apart.
        written = repr(argument)
        # Positions without a name ("#1") mean nothing in another API.
        if not name.startswith("#"):
            _add(self._by_name.setdefault(name, {}), f"{api} {written}", Lent(api, name, argument))
            self._apis_of.setdefault(name, {})[api] = None
        _add(self._by_slot.setdefault((api, name), {}), written, argument)
        _add(self._by_type.setdefault(type_tag(argument), {}), written, argument)


def _add(kept: dict[str, Item], key: str, item: Item) -> None:
    if len(kept) < KEPT:
        kept[key] = item


def type_tag(argument: Argument) -> str:
    """The kind of an argument, coarse enough that two of one kind can stand for each other."""
    if isinstance(argument, TensorArgument):
        return f"tensor:{family(argument.dtype)}"
    return type(argument).__name__
