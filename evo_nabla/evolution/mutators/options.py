"""Mutators of options: flags and enumerations flipped, optional arguments dropped, made null or added."""

from __future__ import annotations

from typing import Optional

from evo_nabla.call import Argument, Call, DtypeArgument, ReferenceArgument, TensorArgument
from evo_nabla.evolution.anatomy import Anatomy
from evo_nabla.evolution.contents import cast, family, fresh, reshaped
from evo_nabla.evolution.context import Context, Mutation
from evo_nabla.evolution.randomness import chance, pick
from evo_nabla.evolution.signatures import Parameter, absent_parameters, parameter_at, parameter_name
from evo_nabla.evolution.surgery import substitute, with_keyword, without_slot

DTYPES = ("float64", "complex128", "float32", "complex64", "float16", "bfloat16", "int64")


def flip(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One flag changes, now and then all of them."""
    if not anatomy.bools:
        return None
    chosen = anatomy.bools if chance(0.15) else (pick(anatomy.bools),)
    return substitute(anatomy.call, {path: not flag for path, flag in chosen})


def text(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One text becomes another choice of its parameter, or one seen for a parameter of this name in any API."""
    if not anatomy.texts:
        return None
    path, present = pick(anatomy.texts)
    parameter = parameter_at(path, context.signature(anatomy.call)) if _is_slot(path) else None
    known: list[Argument] = list(parameter.choices) if parameter is not None else []
    if len(known) < 2 or chance(0.2):
        known = _seen(anatomy, context, path)
    others = [item for item in known if isinstance(item, str) and item != present]
    return substitute(anatomy.call, {path: pick(others)}) if others else None


def reference(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One named object of the library becomes another seen for a parameter of this name."""
    if not anatomy.references:
        return None
    path, present = pick(anatomy.references)
    seen = _seen(anatomy, context, path)
    others = [item for item in seen if isinstance(item, ReferenceArgument) and item.path != present.path]
    return substitute(anatomy.call, {path: pick(others)}) if others else None


def _seen(anatomy: Anatomy, context: Context, path: str) -> list[Argument]:
    """What this parameter was given in seeds: in this API's own first, in those of all APIs for its name after."""
    name = parameter_name(path, context.signature(anatomy.call)) if _is_slot(path) else path.rpartition(".")[2]
    own = list(context.pool.slotted(anatomy.call.api, name))
    return own if len(own) > 1 and chance(0.5) else own + [lent.argument for lent in context.pool.named(name)]


def _is_slot(path: str) -> bool:
    return path.removeprefix("init.").count(".") == 1


def nullify(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One argument after the first becomes null: a bias without its weight, a reduction over everything."""
    slots = [path for path, node in anatomy.slots if node is not None and path != "args.0"]
    return substitute(anatomy.call, {pick(slots): None}) if slots else None


def drop(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One keyword, or the last positional argument, is left out and takes its default."""
    slots = [path for path, _ in anatomy.slots if path != "args.0"]
    return without_slot(anatomy.call, pick(slots)) if slots else None


def reset(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """All keywords, of the call or of its construction, are left out."""
    paths = [path for path, _ in anatomy.slots if ".kwargs." in f".{path}"]
    if len(paths) < 2:
        return None
    call: Optional[Call] = anatomy.call
    for path in paths:
        call = without_slot(call, path) if call is not None else None
    return call


def add(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """One optional parameter that the call leaves out is given: borrowed, contrary to its default, or a tensor."""
    signature = context.signature(anatomy.call)
    absent = absent_parameters(anatomy.call, signature) if signature is not None else []
    if not absent:
        return _add_known(anatomy, context)
    path, parameter = pick(absent)
    argument = _value_for(anatomy, context, parameter)
    return None if argument is None else with_keyword(anatomy.call, path, argument)


def _add_known(anatomy: Anatomy, context: Context) -> Optional[Call]:
    """Without a signature: a keyword that another seed of this API has."""
    present = {name for name, _ in anatomy.call.kwargs}
    names = [name for name in context.pool.keywords(anatomy.call.api) if name not in present]
    if not names:
        return None
    name = pick(names)
    argument = adapted(anatomy, context, pick(context.pool.slotted(anatomy.call.api, name)))
    return with_keyword(anatomy.call, f"kwargs.{name}", argument)


def _value_for(anatomy: Anatomy, context: Context, parameter: Parameter) -> Argument:
    """A value for a parameter, null where nothing is known to suit it: from its own type, or borrowed by its name."""
    own = context.pool.slotted(anatomy.call.api, parameter.name)
    lent = [item.argument for item in context.pool.named(parameter.name)]
    borrowed = [item for item in (*own, *own, *lent) if item is not None]
    value = _value_of_type(anatomy, parameter)
    if borrowed and (value is None or chance(0.6)):
        return adapted(anatomy, context, pick(borrowed))
    return value


def _value_of_type(anatomy: Anatomy, parameter: Parameter) -> Argument:
    default, kind = parameter.default, parameter.type or ""
    if parameter.choices:
        return pick([choice for choice in parameter.choices if choice != default] or parameter.choices)
    if isinstance(default, bool):
        return not default
    if isinstance(default, (int, float)):
        return pick((default + 1, default - 1, default * 2, default * 0))
    if "Tensor" in kind:
        return _tensor_like(anatomy)
    if "dtype" in kind:
        return DtypeArgument(pick(DTYPES))
    if "int" in kind:
        return pick((-1, 0, 1, 2))
    return pick((0.5, 2.0, 0.0)) if "float" in kind or "Scalar" in kind else None


def _tensor_like(anatomy: Anatomy) -> Argument:
    """A floating tensor as optional operands are: a vector as long as some dimension, or of some tensor's shape."""
    if not anatomy.floating:
        return None
    model = pick(anatomy.floating)[1]
    shape = (pick(model.shape),) if model.shape and chance(0.7) else model.shape
    return TensorArgument(shape, model.dtype, fresh(model.dtype, shape))


def adapted(anatomy: Anatomy, context: Context, argument: Argument) -> Argument:
    """A borrowed argument made to fit: a floating tensor takes the call's dtype, and mostly dimensions the call has."""
    if not isinstance(argument, TensorArgument) or not anatomy.floating:
        return argument
    if family(argument.dtype) in ("floating", "complex") and chance(0.8):
        argument = cast(argument, pick(anatomy.floating)[1].dtype)
    if anatomy.sizes and chance(0.6):
        shape = tuple([size if size in anatomy.sizes else pick(anatomy.sizes) for size in argument.shape])
        argument = reshaped(argument, shape) if context.allows(shape) else argument
    return argument


MUTATORS: dict[str, Mutation] = {
    "flip": flip,
    "text": text,
    "reference": reference,
    "nullify": nullify,
    "drop": drop,
    "reset": reset,
    "add": add,
}
