"""Mutators of memory layouts: transposed, strided, expanded and channels-last tensors of the same logical values."""

from __future__ import annotations

from typing import Optional

from evo_nabla.call import Call, Layout, TensorArgument
from evo_nabla.evolution.anatomy import Anatomy
from evo_nabla.evolution.contents import possible_layouts
from evo_nabla.evolution.context import Context, Mutation
from evo_nabla.evolution.randomness import pick
from evo_nabla.evolution.surgery import substitute


def single(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One tensor lies otherwise in memory."""
    eligible = [item for item in anatomy.tensors if item[1].shape]
    if not eligible:
        return None
    path, tensor = pick(eligible)
    kind = pick([kind for kind in possible_layouts(tensor.shape) if kind != tensor.layout.kind])
    return substitute(anatomy.call, {path: _laid_out(tensor, kind)})


def everywhere(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """Every tensor takes the same layout, as far as its shape can."""
    kind = pick(("transposed", "transposed", "strided", "expanded", "channels_last"))
    changes = {
        path: _laid_out(tensor, kind)
        for path, tensor in anatomy.tensors
        if kind in possible_layouts(tensor.shape) and kind != tensor.layout.kind
    }
    return substitute(anatomy.call, changes) if changes else None


def contiguous(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """Every tensor becomes contiguous."""
    changes = {
        path: _laid_out(node, "contiguous") for path, node in anatomy.tensors if node.layout.kind != "contiguous"
    }
    return substitute(anatomy.call, changes) if changes else None


def _laid_out(tensor: TensorArgument, kind: str) -> TensorArgument:
    return TensorArgument(tensor.shape, tensor.dtype, tensor.content, Layout(kind))


MUTATORS: dict[str, Mutation] = {"single": single, "everywhere": everywhere, "contiguous": contiguous}
