"""The libraries under test: one file per library, all with the protocol of `protocol`."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from .protocol import Backend

# library → (module of this package, class)
_BACKENDS: dict[str, tuple[str, str]] = {"torch": ("torch", "TorchBackend")}


def libraries() -> tuple[str, ...]:
    """The names of the libraries that have a backend."""
    return tuple(_BACKENDS)


def load(library: str) -> Backend:
    """Import a library and return its backend; raises LookupError for an unknown name, ImportError as Python does."""
    if library not in _BACKENDS:
        raise LookupError(f"no backend for library {library!r}; there are: {', '.join(_BACKENDS)}")
    module, name = _BACKENDS[library]
    return cast(Backend, getattr(import_module(f"{__name__}.{module}"), name)())
