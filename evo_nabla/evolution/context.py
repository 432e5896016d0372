"""What a mutator may know besides the call: the argument pool, the signatures and the bound on elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Optional

from evo_nabla.call import Call

from .anatomy import Anatomy
from .contents import elements
from .pool import ArgumentPool
from .signatures import Signature, Signatures

MAX_ELEMENTS = 4096


@dataclass(frozen=True)
class Context:
    """Shared by all mutators of a strategy."""

    pool: ArgumentPool
    signatures: Signatures
    max_elements: int = MAX_ELEMENTS

    def signature(self, call: Call) -> Optional[Signature]:
        return self.signatures.get(call.api)

    def allows(self, shape: tuple[int, ...]) -> bool:
        return elements(shape) <= self.max_elements


Mutation = Callable[[Anatomy, Context], Optional[Call]]
"""A mutator: a changed call, or None where it has nothing to change."""
