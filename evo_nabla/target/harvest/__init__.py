"""Seeds, names and signatures that a library ships itself, read inside the library's own interpreter."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, List, Optional

LIBRARIES = ("torch",)


class UnavailableError(RuntimeError):
    """This library, or this version of it, has nothing to harvest; the message says what is missing."""


def harvest(library: str, emit: Callable[[Dict[str, Any]], None]) -> Dict[str, Any]:
    """Calls `emit(call JSON)` for every seed, in the same order and with the same bytes for the same wheel.

    Every seed has run plainly once; `x-from` says where it comes from. Returns the counts
    {"seeds", "apis", "entries", "kept": {database: count}, "dropped": {reason: count}}. Raises UnavailableError.
    """
    _check(library)
    from evo_nabla.target.backends.torch import TorchBackend

    try:
        from .torch_harvest import Harvest
    except (ImportError, AttributeError) as error:
        raise UnavailableError(
            f"this torch's sample databases cannot be read (they need torch 2 and expecttest): {error}"
        ) from error
    return Harvest(TorchBackend(), emit).run()


def discover(library: str) -> List[str]:
    """The dotted paths of the library's public callables that take tensors, sorted. Raises UnavailableError."""
    _check(library)
    from . import apis

    return apis.discover()


def signatures(apis: Iterable[str]) -> Dict[str, Optional[Dict[str, Any]]]:
    """What is known of each API's parameters (see `parameters.Signatures.of`), None where nothing is."""
    from . import parameters

    return parameters.signatures(apis)


def _check(library: str) -> None:
    if library not in LIBRARIES:
        raise UnavailableError(f"nothing to harvest from {library} yet (known: {', '.join(LIBRARIES)})")
