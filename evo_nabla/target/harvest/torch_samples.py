"""Sample calls out of torch's own databases of operators and modules, as live objects."""

from __future__ import annotations

import contextlib
import itertools
import operator
import random
import re
import zlib
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

import numpy as np
import torch

from .apis import is_helper
from .names import PublicNames, resolve

Arguments = Tuple[Sequence[Any], Mapping[str, Any]]

FULL, FEW = "full", "few"
"""How many samples are wanted: of the operator itself in its main dtypes, or of a variant and the narrow dtypes."""

# The dtypes worth their own samples, most telling first. The first that an operator supports is its main one.
MAIN_DTYPES = (torch.float64, torch.float32, torch.complex128, torch.int64, torch.bool, torch.uint8)
NARROW_DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.int64)
FOREACH_TENSORS = 3
# Internal operators, and backward ones: their inputs must fit each other as only the library's own rules make them.
INTERNAL_OPERATOR = re.compile(r"^_|backward")
# Properties of a tensor that are tensors themselves.
TENSOR_PROPERTIES = ("T", "H", "mT", "mH", "real", "imag")


class Sample(NamedTuple):
    """One way to call an API: live arguments, and from which entry of a database it comes."""

    api: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    dtype: torch.dtype
    wanted: str
    origin: str
    init: Optional[Arguments] = None


def seed_everything(name: str) -> None:
    """Puts every generator that sample functions draw from into a state that depends on `name` alone."""
    number = zlib.crc32(name.encode())
    torch.manual_seed(number)
    random.seed(number)
    np.random.seed(number)


class OrderedItertools:
    """itertools for torch's sample functions: sets of options come in order, not in that of this process's hashes."""

    def __getattr__(self, name: str) -> Any:
        return getattr(itertools, name)

    def product(self, *pools: Iterable[Any], **repeat: int) -> Iterator[Tuple[Any, ...]]:
        """itertools.product with sets sorted."""
        return itertools.product(
            *(sorted(pool) if isinstance(pool, (set, frozenset)) else pool for pool in pools), **repeat
        )


def operator_infos() -> List[Any]:
    """The operator database of the installed torch. Raises ImportError where `expecttest` is missing."""
    from torch.testing._internal import common_methods_invocations as database

    database.itertools = OrderedItertools()
    return list(database.op_db)


def module_infos() -> List[Any]:
    """The module database of the installed torch."""
    from torch.testing._internal.common_modules import module_db

    return list(module_db)


def foreach_infos() -> List[Any]:
    """The database of operators on lists of tensors (torch._foreach_add and so on), which torch keeps apart."""
    from torch.testing._internal import common_methods_invocations as database

    kinds = [name for name in sorted(vars(database)) if name.startswith("foreach_") and name.endswith("_op_db")]
    return [info for kind in kinds for info in getattr(database, kind)]


def operator_name(info: Any) -> str:
    """linalg.svd, or norm.nuc where an operator has several entries."""
    return f"{info.name}.{info.variant_test_name}" if info.variant_test_name else str(info.name)


def dtypes_of(info: Any) -> List[Tuple[torch.dtype, str]]:
    """The dtypes an operator is sampled in: its main one and complex128 in full, a few samples of the others."""
    supported = set(info.dtypes or ())
    main = next((dtype for dtype in MAIN_DTYPES if dtype in supported), None)
    if main is None:
        return []
    chosen = [(main, FULL)]
    if main != torch.complex128 and torch.complex128 in supported:
        differentiable = not info.supports_autograd or torch.complex128 in set(info.supported_backward_dtypes("cpu"))
        chosen.append((torch.complex128, FULL if info.supports_autograd and differentiable else FEW))
    chosen.extend((dtype, FEW) for dtype in NARROW_DTYPES if dtype in supported and dtype != main)
    return chosen


def operator_samples(info: Any, dtype: torch.dtype, wanted: str, names: PublicNames) -> Iterator[Sample]:
    """The samples of one operator in one dtype: of its public function, its methods, in-place forms and aliases."""
    origin = "opinfo:" + operator_name(info)
    records_gradients = bool(info.supports_autograd) and (dtype.is_floating_point or dtype.is_complex)
    seed_everything(f"{origin}:{dtype}")
    targets = _targets(info, names)
    for sample in list(info.sample_inputs_func(info, torch.device("cpu"), dtype, records_gradients)):
        args, kwargs = (sample.input, *sample.args), dict(sample.kwargs)
        for api, function, share in targets:
            share = wanted if share == FULL else FEW
            if api is not None:
                yield Sample(api, args, kwargs, dtype, share, origin)
            else:
                yield from recorded(function, args, kwargs, Sample("", (), {}, dtype, share, origin), names)


def foreach_samples(info: Any, dtype: torch.dtype, wanted: str) -> Iterator[Sample]:
    """The samples of one operator on lists, and of its in-place form, with lists cut to their last few tensors: the
    database makes twenty, the first of 400 elements."""
    origin = "foreach:" + str(info.name)
    seed_everything(f"{origin}:{dtype}")
    for sample in list(info.sample_inputs_func(info, torch.device("cpu"), dtype, True)):
        length = len(sample.input)
        args = [
            value[-FOREACH_TENSORS:] if isinstance(value, (list, tuple)) and len(value) == length else value
            for value in (sample.input, *sample.args)
        ]
        for suffix, function in (("", info.method_variant), ("_", info.inplace_variant)):
            if function is not None:
                yield Sample(f"torch.{info.name}{suffix}", args, dict(sample.kwargs), dtype, wanted, origin)


def _targets(info: Any, names: PublicNames) -> List[Tuple[Optional[str], Any, str]]:
    """(public path or None, callable, how many samples are wanted) for an operator and its variants, each once."""
    found: List[Tuple[Optional[str], Any, str]] = [(_preferred_path(info, names), info.op, FULL)]
    variants = [info.method_variant, info.inplace_variant, _method_of(info.operator_variant)]
    variants.append(_method_of(getattr(info, "inplace_operator_variant", None)))
    for alias in info.aliases:
        variants.extend((alias.op, alias.method_variant, alias.inplace_variant))
    known = {found[0][0]}
    for variant in variants:
        path = None if variant is None else names.path(variant)
        if path is not None and path not in known:
            known.add(path)
            found.append((path, variant, FEW))
        elif variant is not None and path is None and getattr(variant, "__name__", "") == "<lambda>":
            found.append((None, variant, FEW))
    return found


def _preferred_path(info: Any, names: PublicNames) -> Optional[str]:
    """The path under the database's own name where it leads to the same object, else the best public one."""
    path = info.name if info.name.startswith("torch.") else f"torch.{info.name}"
    try:
        if resolve(path) is info.op:
            return str(path).removesuffix(".default")
    except (ImportError, AttributeError):
        pass
    return names.path(info.op)


def _method_of(function: Any) -> Any:
    """torch.Tensor.__add__ for operator.add."""
    name = getattr(function, "__name__", "").strip("_")
    if function is None or (
        getattr(operator, name, None) is not function and getattr(operator, name + "_", None) is not function
    ):
        return None
    return getattr(torch.Tensor, f"__{name}__", None)


def recorded(
    function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], like: Sample, names: PublicNames
) -> List[Sample]:
    """The public calls that a wrapper such as `lambda x: torch.foo(x, 1)` makes, with the arguments it makes them with.

    Only the call that the entry is named after counts in full; a `torch.clone` on the way to it is not what is sampled.
    A wrapper that fails has still made the calls before.
    """
    args, kwargs = copied(args, kwargs)  # it may write into them
    with FunctionRecorder(names) as recorder, torch.no_grad(), contextlib.suppress(Exception):
        function(*args, **kwargs)
    name = like.origin.rpartition(":")[2]
    return [
        like._replace(api=api, args=own, kwargs=named, wanted=like.wanted if api.rpartition(".")[2] in name else FEW)
        for api, own, named in recorder.calls
    ]


class FunctionRecorder(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
    """Notes every public function called inside, with copies of its arguments; not those it calls in turn."""

    def __init__(self, names: PublicNames) -> None:
        super().__init__()
        self._names = names
        self.calls: List[Tuple[str, Sequence[Any], Mapping[str, Any]]] = []

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        path = self._path(function)
        if path is not None and not is_helper(path.rpartition(".")[2]):
            self.calls.append((path, *copied(args, kwargs or {})))
        return function(*args, **(kwargs or {}))

    def _path(self, function: Any) -> Optional[str]:
        if type(function).__name__ == "method-wrapper":  # a property's getter
            name = function.__self__.__name__
            return f"torch.Tensor.{name}" if name in TENSOR_PROPERTIES else None
        return self._names.path(function)


class OperatorRecorder(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]
    """Notes those of the given aten operators that run inside, with copies of their arguments."""

    def __init__(self, operators: Set[str]) -> None:
        super().__init__()
        self._operators = operators
        self.calls: List[Tuple[str, Sequence[Any], Mapping[str, Any]]] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        namespace, _, name = function._schema.name.partition("::")
        if namespace == "aten" and name in self._operators and "out" not in function._schema.overload_name:
            self.calls.append((f"torch.ops.aten.{name}", *copied(args, kwargs or {})))
        result = function(*args, **(kwargs or {}))
        if "empty" in name:  # what the memory held before must not end up in a seed
            for tensor in tensors_in((result,)):
                tensor.zero_()
        return result


def underlying_samples(info: Any, samples: Iterable[Sample], operators: Set[str]) -> Iterator[Sample]:
    """Calls of the aten operators that an operator's samples come down to."""
    for sample in samples:
        args, kwargs = copied(sample.args, sample.kwargs)
        with OperatorRecorder(operators) as recorder, torch.no_grad(), contextlib.suppress(Exception):
            info.op(*args, **kwargs)
        for api, own, named in recorder.calls:
            yield Sample(api, own, named, sample.dtype, FEW, sample.origin)


def module_samples(info: Any, dtype: torch.dtype, wanted: str) -> Iterator[Sample]:
    """The samples of one module class in one dtype, in training mode, which is how modules are made."""
    origin = "moduleinfo:" + str(info.name)
    seed_everything(f"{origin}:{dtype}")
    inputs = info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=True)
    for sample in list(inputs):
        if sample.forward_input is None:
            continue
        constructed = {
            name: value for name, value in sample.constructor_input.kwargs.items() if name not in ("device", "dtype")
        }
        yield Sample(
            f"torch.{info.name}",
            sample.forward_input.args,
            sample.forward_input.kwargs,
            dtype,
            wanted,
            origin,
            (sample.constructor_input.args, constructed),
        )


def copied(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Arguments:
    """The arguments with every tensor replaced by a copy of the same layout; what was one object stays one."""
    copies: Dict[int, Any] = {}
    return tuple(_copy(value, copies) for value in args), {name: _copy(value, copies) for name, value in kwargs.items()}


def _copy(value: Any, copies: Dict[int, Any]) -> Any:
    if isinstance(value, torch.Tensor):
        if id(value) not in copies:
            copies[id(value)] = value.detach().clone().requires_grad_(value.requires_grad)
        return copies[id(value)]
    if type(value) in (tuple, list):
        return type(value)(_copy(item, copies) for item in value)
    return value


def tensors_in(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    """The tensors among values and in lists, tuples and dicts of them."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)
        elif isinstance(value, Mapping):
            yield from tensors_in(value.values())
