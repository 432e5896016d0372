"""All mutators by name ("shape.rename", "values.zero"), each a function of a call's anatomy and the context."""

from __future__ import annotations

from types import ModuleType

from evo_nabla.evolution.context import Mutation

from . import borrow, dtype, inputs, layout, objects, options, scalars, sequences, shape, values

_MODULES: tuple[ModuleType, ...] = (shape, dtype, layout, values, scalars, options, borrow, objects, sequences, inputs)


def _named(module: ModuleType) -> dict[str, Mutation]:
    prefix = module.__name__.rpartition(".")[2]
    return {f"{prefix}.{name}": mutation for name, mutation in module.MUTATORS.items()}


MUTATORS: dict[str, Mutation] = {name: mutation for module in _MODULES for name, mutation in _named(module).items()}

__all__ = ["MUTATORS"]
