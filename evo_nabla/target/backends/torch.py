"""PyTorch, from 1.11 to the newest: calls as functions on the tape, on dual numbers and under functional transforms."""

from __future__ import annotations

import importlib
import inspect
import random
import re
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable

import numpy as np
import torch
import torch.autograd.forward_ad as forward_ad

from evo_nabla.call import (
    Argument,
    Call,
    DtypeArgument,
    ListArgument,
    MappingArgument,
    ObjectArgument,
    ReferenceArgument,
    SameArgument,
    SliceArgument,
    TensorArgument,
    TupleArgument,
    call_hash,
    differentiated,
    materialise,
)
from evo_nabla.target.conventions import Conventions
from evo_nabla.target.observers import pause, resume

from .memory import Memory
from .protocol import (
    Arrays,
    Clock,
    Description,
    Leaf,
    ModeError,
    OptionalArrays,
    Primal,
    Program,
    Pullback,
    Pushforward,
    RefusedError,
)

Tensor = Any  # torch.Tensor; mypy does not read torch
Tensors = list[Tensor]
Fill = Callable[[Tensors], Any]
TensorFunction = Callable[[Tensors], Tensors]

# NumPy lacks these; their arrays are float32 holding representable values, torch converts on the way in.
_STORED_AS_FLOAT32 = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
_PRECISE = {
    "float16": "float64",
    "bfloat16": "float64",
    "float32": "float64",
    "complex64": "complex128",
    "complex32": "complex128",
    **dict.fromkeys(_STORED_AS_FLOAT32, "float64"),
}
# From the least to the most precise; a call is judged by the least precise tensor it touches.
_PRECISION = (
    *(name for name in _STORED_AS_FLOAT32 if name.startswith("float8")),
    "bfloat16",
    "float16",
    "complex32",
    "float32",
    "complex64",
    "float64",
    "complex128",
)
_RANK = {name: rank for rank, name in enumerate(_PRECISION)}
_NAMES: dict[Any, str] = {
    getattr(torch, name): name
    for name in (
        *_PRECISION, "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
    )
    if hasattr(torch, name)
}  # fmt: skip
_NUMPY_OF: dict[Any, Any] = {
    torch.float16: np.float16,
    torch.float32: np.float32,
    torch.float64: np.float64,
    torch.complex64: np.complex64,
    torch.complex128: np.complex128,
}
_INTERNAL = re.compile(r"INTERNAL ASSERT FAILED|please report a bug to PyTorch", re.IGNORECASE)
# The dual level is torch's own context; `torch.func` came with 2.0.
_FUNC: Any = getattr(torch, "func", None)


def _dtype_name(dtype: Any) -> str:
    return _NAMES.get(dtype) or str(dtype).replace("torch.", "")


def _describe(tensor: Tensor) -> Description:
    return Description(tuple(tensor.shape), _dtype_name(tensor.dtype), tensor.device.type)


def _is_differentiable(tensor: Tensor) -> bool:
    return bool(tensor.is_floating_point() or tensor.is_complex())


def _to_numpy(tensor: Tensor) -> np.ndarray:
    """The values of a dense tensor; bfloat16 and float8 as float32, complex32 as complex64."""
    value = tensor.detach()
    if value.dtype is torch.float64 or value.dtype is torch.float32:
        try:
            return value.numpy()  # type: ignore[no-any-return]
        except (RuntimeError, TypeError):
            pass  # sparse, or a view that a bit marks as zero or negated
    if value._is_zerotensor():
        return np.zeros(tuple(value.shape), dtype=_NUMPY_OF.get(value.dtype, np.float32))
    if value.layout is not torch.strided:
        value = value.to_dense()
    if value.is_complex():
        value = value.resolve_conj()
    if value.is_neg():
        value = value.resolve_neg()
    name = _dtype_name(value.dtype)
    if name in _STORED_AS_FLOAT32:
        value = value.float()
    elif name == "complex32":
        value = value.to(torch.complex64)
    array: np.ndarray = value.numpy()
    return array


def _flatten(result: Any, into: Tensors) -> Tensors:
    """The tensors of a result, depth first; anything else is passed over."""
    if isinstance(result, torch.Tensor):
        into.append(result)
    elif isinstance(result, (tuple, list)):
        for item in result:
            _flatten(item, into)
    elif isinstance(result, dict):
        for item in result.values():
            _flatten(item, into)
    return into


def resolve(path: str) -> Any:
    """The object that a dotted path names: modules are imported as needed, properties become functions of self.

    Raises RefusedError when there is no such object.
    """
    parts = path.split(".")
    try:
        found: Any = importlib.import_module(parts[0])
    except Exception as error:
        raise RefusedError(f"{path}: cannot import {parts[0]}: {error}") from error
    for depth, part in enumerate(parts[1:], 2):
        try:
            found = getattr(found, part)
        except (AttributeError, RuntimeError) as error:
            if not inspect.ismodule(found):
                raise RefusedError(f"{path}: {'.'.join(parts[: depth - 1])} has no {part!r}") from error
            module = ".".join(parts[:depth])
            try:
                found = importlib.import_module(module)
            except ModuleNotFoundError as failure:
                if failure.name != module:
                    raise RefusedError(f"{path}: cannot import {module}: {failure}") from failure
                raise RefusedError(f"{path}: {'.'.join(parts[: depth - 1])} has no {part!r}") from failure
            except Exception as failure:
                raise RefusedError(f"{path}: cannot import {module}: {failure}") from failure
    return found


def _callable(path: str) -> Callable[..., Any]:
    found = resolve(path)
    if callable(found):
        return found  # type: ignore[no-any-return]
    getter = getattr(type(found), "__get__", None)
    if getter is None:
        raise RefusedError(f"{path} is not callable")
    return lambda instance: getter(found, instance, type(instance))


def _gradients(
    outputs: Tensors, inputs: Tensors, cotangents: Tensors, create_graph: bool = False
) -> tuple[Tensor | None, ...]:
    """torch.autograd.grad, None for inputs that outputs do not depend on, less its Python front: that compares shapes
    symbolically for the compiler's sake, which takes as long as a small backward pass itself."""
    found: tuple[Tensor | None, ...] = torch.autograd.Variable._execution_engine.run_backward(
        tuple(outputs), tuple(cotangents), create_graph, create_graph, tuple(inputs), True, accumulate_grad=False
    )
    return found


def _duals(tensors: Tensors, tangents: Tensors, level: int) -> Tensors:
    """forward_ad.make_dual of each, less its Python front."""
    return [torch._VF._make_dual(tensor, tangent, level=level) for tensor, tangent in zip(tensors, tangents)]


def _unpacked(duals: Tensors, level: int) -> list[tuple[Tensor, Tensor | None]]:
    """Primal and tangent of each dual tensor."""
    return [torch._VF._unpack_dual(dual, level=level) for dual in duals]


class _Slot:
    """A tensor argument: its memory, dtype and value."""

    def __init__(self, argument: TensorArgument, precise: bool) -> None:
        self.memory = Memory(argument)
        under_test = argument.dtype
        self.dtype = _PRECISE.get(under_test, under_test) if precise else under_test
        if not hasattr(torch, self.dtype):
            raise RefusedError(f"this torch has no dtype {self.dtype}")
        self.torch_dtype = getattr(torch, self.dtype)
        value = materialise(argument)
        if self.dtype != under_test:
            value = value.astype(self.dtype)
        self.value = self.memory.project(value)
        self._converted = self.dtype in _STORED_AS_FLOAT32 or self.dtype == "complex32"

    def build(self, value: np.ndarray) -> Tensor:
        """A fresh tensor of the given values."""
        memory = self.memory
        tensor = torch.from_numpy(np.array(value, order="C") if memory.is_plain else memory.buffer(value))
        if self._converted:
            tensor = tensor.to(self.torch_dtype)
        return tensor if memory.is_plain else tensor.as_strided(memory.shape, memory.strides, memory.offset)

    def holds(self, tensor: Tensor) -> bool:
        """Whether a tensor still has this slot's shape and values."""
        if tuple(tensor.shape) != self.value.shape or tensor.dtype != self.torch_dtype:
            return False
        return bool(np.array_equal(_to_numpy(tensor), self.value, equal_nan=self.value.dtype.kind in "fc"))


class _Arguments:
    """A call's arguments compiled to closures that rebuild the Python objects from the leaves' tensors."""

    def __init__(self, call: Call, precise: bool) -> None:
        self.precise = precise
        self.volatile = False  # a run changed a constant tensor: rebuild constants for every run
        paths = differentiated(call)
        self.leaf_paths: list[str] = []
        self.leaf_slots: list[_Slot] = []
        self.constants: list[tuple[_Slot, list[Tensor]]] = []
        self._leaf_index: dict[str, int] = {}
        self._wanted = set(paths)
        self._by_path: dict[str, Fill] = {}
        self.positional = [self._compile(item, f"args.{i}") for i, item in enumerate(call.args)]
        self.keywords = [(name, self._compile(item, f"kwargs.{name}")) for name, item in call.kwargs]
        self.init_positional: list[Fill] = []
        self.init_keywords: list[tuple[str, Fill]] = []
        if call.init is not None:
            self.init_positional = [self._compile(item, f"init.args.{i}") for i, item in enumerate(call.init.args)]
            self.init_keywords = [(name, self._compile(item, f"init.kwargs.{name}")) for name, item in call.init.kwargs]

    def _compile(self, argument: Argument, path: str) -> Fill:
        fill = self._compile_fresh(argument, path)
        self._by_path[path] = fill
        return fill

    def _compile_fresh(self, argument: Argument, path: str) -> Fill:
        if isinstance(argument, TensorArgument):
            return self._tensor(argument, path)
        if isinstance(argument, (ListArgument, TupleArgument)):
            items = [self._compile(item, f"{path}.{i}") for i, item in enumerate(argument.items)]
            if isinstance(argument, ListArgument):
                return lambda ts: [item(ts) for item in items]
            return lambda ts: tuple(item(ts) for item in items)
        if isinstance(argument, MappingArgument):
            pairs = [(key, self._compile(item, f"{path}.{key}")) for key, item in argument.items]
            return lambda ts: {key: item(ts) for key, item in pairs}
        if isinstance(argument, ObjectArgument):
            return self._object(argument, path)
        if isinstance(argument, SameArgument):
            if argument.path not in self._by_path:
                raise RefusedError(f"{path}: the same object as {argument.path}, which is not an earlier argument")
            return self._by_path[argument.path]
        constant = self._constant(argument, path)
        return lambda ts: constant

    def _constant(self, argument: Argument, path: str) -> Any:
        if isinstance(argument, DtypeArgument):
            name = _PRECISE.get(argument.name, argument.name) if self.precise else argument.name
            if not hasattr(torch, name):
                raise RefusedError(f"{path}: this torch has no dtype {name}")
            return getattr(torch, name)
        if isinstance(argument, ReferenceArgument):
            return resolve(argument.path)
        if isinstance(argument, SliceArgument):
            return slice(argument.start, argument.stop, argument.step)
        return argument

    def _object(self, argument: ObjectArgument, path: str) -> Fill:
        factory = _callable(argument.path)
        items = [self._compile(item, f"{path}.args.{i}") for i, item in enumerate(argument.args)]
        pairs = [(key, self._compile(item, f"{path}.kwargs.{key}")) for key, item in argument.kwargs]
        return lambda ts: factory(*[item(ts) for item in items], **{key: item(ts) for key, item in pairs})

    def _tensor(self, argument: TensorArgument, path: str) -> Fill:
        slot = _Slot(argument, self.precise)
        if path in self._wanted:
            index = len(self.leaf_slots)
            self.leaf_paths.append(path)
            self.leaf_slots.append(slot)
            return lambda ts: ts[index]
        held = [slot.build(slot.value)]
        self.constants.append((slot, held))
        return lambda ts: held[0]

    def refresh(self) -> None:
        """Rebuild the constant tensors, after a run that may have changed them."""
        for slot, held in self.constants:
            held[0] = slot.build(slot.value)

    def changed(self) -> bool:
        """Whether a constant tensor no longer holds its value."""
        return not all(slot.holds(held[0]) for slot, held in self.constants)


class _Object:
    """The object behind an API with constructor arguments: a module (kept, its parameters replaced for every run)
    or any other class (built afresh for every run)."""

    def __init__(self, factory: Callable[..., Any], arguments: _Arguments, seed: Callable[[], None]) -> None:
        self._factory, self._arguments, self._seed = factory, arguments, seed
        self.module: torch.nn.Module | None = None
        self.slots: list[tuple[str, torch.nn.Module, str]] = []
        self._buffers: list[tuple[torch.nn.Module, str, Tensor]] = []
        self._modes: list[tuple[torch.nn.Module, bool]] = []
        first = self.create()
        if isinstance(first, torch.nn.Module):
            self.module = first

    def create(self) -> Any:
        """A new instance, from the same random state each time."""
        self._seed()
        arguments = self._arguments
        return self._factory(
            *[fill([]) for fill in arguments.init_positional],
            **{name: fill([]) for name, fill in arguments.init_keywords},
        )

    def adopt_dtype(self, dtype: str, precise: bool) -> None:
        """Round the module's parameters and buffers to the dtype under test, then widen them if precise."""
        module = self.module
        if module is None:
            return
        module.to(getattr(torch, dtype))
        if precise:
            module.to(getattr(torch, _PRECISE.get(dtype, dtype)))
        seen = set()
        for prefix, part in module.named_modules():
            for name, parameter in part._parameters.items():
                if parameter is not None and parameter.requires_grad and id(parameter) not in seen:
                    seen.add(id(parameter))
                    self.slots.append((f"{prefix}.{name}" if prefix else name, part, name))
            self._buffers += [(part, name, b.clone()) for name, b in part._buffers.items() if b is not None]

    def parameters(self) -> list[Tensor]:
        """The parameters' present values, in the order of `slots`."""
        return [part._parameters[name].detach() for _, part, name in self.slots]

    def with_parameters(self, tensors: Sequence[Tensor]) -> Any:
        """The instance to call: for a module, with these parameters and fresh buffers in place of its own."""
        if self.module is None:
            return self.create()
        for (_, part, name), tensor in zip(self.slots, tensors):
            part._parameters[name] = tensor
        for part, name, buffer in self._buffers:
            part._buffers[name] = buffer.clone()
        return self.module


class TorchProgram:
    """A call of torch made ready to run in every mode."""

    def __init__(self, backend: TorchBackend, call: Call, precise: bool) -> None:
        self._backend = backend
        self._seed = int(call_hash(call)[:8], 16)
        self._arguments = _Arguments(call, precise)
        self._object: _Object | None = None
        target = _callable(call.api)
        is_module = inspect.isclass(target) and issubclass(target, torch.nn.Module)
        if call.init is not None or is_module:
            if not inspect.isclass(target):
                raise RefusedError(f"{call.api} takes no init: it is not a class")
            with backend.guard():
                self._object = _Object(target, self._arguments, lambda: backend.seed(self._seed))
        self._target = target
        self._under_test = self._dtype_under_test(call)
        slots = self._arguments.leaf_slots
        self.leaves = [
            Leaf(path, slot.value.shape, slot.dtype, slot.value, slot.memory.tied)
            for path, slot in zip(self._arguments.leaf_paths, slots)
        ]
        self._slots: list[_Slot | None] = list(slots)
        if self._object is not None:
            self._object.adopt_dtype(self._under_test, precise)
            self._add_parameters()
        self.stateful = self._object is not None
        self.random = True  # until the direct run shows otherwise
        self.lowest = min(
            (leaf.dtype for leaf in self.leaves), key=lambda name: _RANK.get(name, len(_RANK)), default="float64"
        )
        self._clone = False

    def _dtype_under_test(self, call: Call) -> str:
        names = [slot.dtype for slot in self._arguments.leaf_slots]
        names = [name for name in names if not name.startswith("float8")] or ["float64"]
        result = getattr(torch, names[0])
        for name in names[1:]:
            result = torch.promote_types(result, getattr(torch, name))
        return _dtype_name(result)

    def _add_parameters(self) -> None:
        assert self._object is not None
        for (name, _, _), tensor in zip(self._object.slots, self._object.parameters()):
            value = np.array(_to_numpy(tensor))
            self.leaves.append(Leaf(f"param:{name}", value.shape, _dtype_name(tensor.dtype), value, False))
            self._slots.append(None)

    # -- running -------------------------------------------------------------------------------------------------

    def tensors(self, values: Sequence[np.ndarray]) -> Tensors:
        """Fresh tensors of the leaves' layouts holding the given values."""
        made = []
        for leaf, slot, value in zip(self.leaves, self._slots, values):
            if slot is not None:
                made.append(slot.build(value))
            else:
                tensor = torch.from_numpy(np.array(value, order="C"))
                made.append(tensor.to(getattr(torch, leaf.dtype)) if leaf.dtype in _STORED_AS_FLOAT32 else tensor)
        return made

    def _run(self, tensors: Tensors) -> Any:
        """Call the API once on these tensors; everything else is built afresh."""
        arguments = self._arguments
        if self.random:
            self._backend.seed(self._seed)
        if arguments.volatile:
            arguments.refresh()
        if self._clone:
            tensors = [tensor.clone() for tensor in tensors]
        target = self._target
        if self._object is not None:
            target = self._object.with_parameters(tensors[len(arguments.leaf_slots) :])
            if self.random:
                self._backend.seed(self._seed)
        args = [fill(tensors) for fill in arguments.positional]
        kwargs = {name: fill(tensors) for name, fill in arguments.keywords}
        return target(*args, **kwargs)

    def apply(self, tensors: Tensors) -> Tensors:
        """The call's floating and complex outputs."""
        return [t for t in _flatten(self._run(tensors), []) if _is_differentiable(t)]

    def direct(self) -> Primal:
        backend = self._backend
        tensors = self.tensors([leaf.value for leaf in self.leaves])
        with backend.guard(), torch.no_grad():
            outputs = _flatten(self._run(tensors), [])
        changed = self._note_changes(tensors)
        if self.random:
            self.random = not backend.still(self._seed)
        floating = [t for t in outputs if _is_differentiable(t)]
        others = [t for t in outputs if not _is_differentiable(t)]
        self._note_precision(floating)
        with backend.guard():
            return Primal(
                [_to_numpy(t) for t in floating],
                [_describe(t) for t in floating],
                [_to_numpy(t) for t in others],
                changed,
            )

    def _note_changes(self, tensors: Tensors) -> bool:
        """Find out whether the run wrote into its arguments; from then on runs get copies."""
        changed = any(slot is not None and not slot.holds(tensor) for slot, tensor in zip(self._slots, tensors))
        self._clone = self._clone or changed
        if self._arguments.constants and not self._arguments.volatile and self._arguments.changed():
            self._arguments.volatile = True
        return changed

    def _note_precision(self, outputs: Tensors) -> None:
        for tensor in outputs:
            name = _dtype_name(tensor.dtype)
            if _RANK.get(name, len(_RANK)) < _RANK.get(self.lowest, len(_RANK)):
                self.lowest = name

    def project(self, leaf: int, array: np.ndarray) -> np.ndarray:
        slot = self._slots[leaf]
        return array if slot is None else slot.memory.project(array)

    def function(self, functional: bool = False) -> TapeFunction | FunctionalFunction | None:
        arity = len(self.leaves)
        if functional:
            return FunctionalFunction(self._backend, self, self.apply, arity, False) if _FUNC is not None else None
        return TapeFunction(self._backend, self, self.apply, arity)

    def replay(self, steps: Sequence[Sequence[np.ndarray]]) -> list[Arrays]:
        backend = self._backend
        tensors = self.tensors(steps[0])
        count = len(self._arguments.leaf_slots)
        results = []
        with backend.guard(), torch.no_grad():
            instance: Any = self._target
            if self._object is not None:
                instance = self._object.with_parameters(tensors[count:])
            for step in steps:
                for tensor, value in zip(tensors, self.tensors(step)):
                    tensor.copy_(value)
                backend.seed(self._seed)
                args = [fill(tensors) for fill in self._arguments.positional]
                kwargs = {name: fill(tensors) for name, fill in self._arguments.keywords}
                outputs = [t for t in _flatten(instance(*args, **kwargs), []) if _is_differentiable(t)]
                results.append([np.array(_to_numpy(t)) for t in outputs])
        return results


class _BaseFunction:
    """What the two kinds of function share: tensors from arrays, the call's leaves first, then cotangents.

    `arity` is the number of inputs; `reversed` says that a `reverse` step lies between this function and the call,
    so that evaluating it needs the tape.
    """

    def __init__(
        self, backend: TorchBackend, program: TorchProgram, apply: TensorFunction, arity: int, is_reversed: bool
    ) -> None:
        self.backend, self.program, self.apply = backend, program, apply
        self.arity, self.is_reversed = arity, is_reversed

    def inputs(self, xs: Sequence[np.ndarray]) -> Tensors:
        """Fresh tensors: the leaves in their layouts, further inputs (cotangents) contiguous."""
        count = len(self.program.leaves)
        return self.program.tensors(xs[:count]) + [self.backend.plain(x) for x in xs[count:]]


class TapeFunction(_BaseFunction):
    """A function differentiated by torch.autograd.grad and torch.autograd.forward_ad."""

    def __init__(
        self,
        backend: TorchBackend,
        program: TorchProgram,
        apply: TensorFunction,
        arity: int,
        is_reversed: bool = False,
        nested: TensorFunction | None = None,
        unrecorded: TensorFunction | None = None,
    ) -> None:
        super().__init__(backend, program, apply, arity, is_reversed)
        self._evaluate = unrecorded or apply  # the same values, without a graph to differentiate them once more
        self._nested = nested  # the same function under torch.func, where dual levels cannot nest

    def value(self, xs: Sequence[np.ndarray]) -> Arrays:
        tensors = self.inputs(xs)
        with self.backend.quiet(), torch.enable_grad() if self.is_reversed else torch.no_grad():
            outputs = self._evaluate(tensors)
        return [_to_numpy(t) for t in outputs]

    def pull(self, xs: Sequence[np.ndarray], us: Sequence[np.ndarray]) -> Pullback:
        tensors = [t.requires_grad_() for t in self.inputs(xs)]
        with self.backend.guard(), torch.enable_grad():
            outputs = self.apply(tensors)
            recorded = [t.requires_grad for t in outputs]
            cotangents = [self.backend.like(t, u) for t, u, kept in zip(outputs, us, recorded) if kept]
            gradients: Sequence[Tensor | None] = [None] * len(tensors)
            if cotangents:
                gradients = _gradients([t for t, kept in zip(outputs, recorded) if kept], tensors, cotangents)
            if all(g is None for g in gradients):
                _refuse_silent_error(outputs)
            described = not self.is_reversed
            return Pullback(
                [_to_numpy(t) for t in outputs],
                [_describe(t) for t in outputs] if described else [],
                [None if g is None else _to_numpy(g) for g in gradients],
                [None if g is None else _describe(g) for g in gradients] if described else [],
                recorded,
            )

    def push(self, xs: Sequence[np.ndarray], vs: Sequence[np.ndarray]) -> Pushforward:
        if self._nested is not None:
            return _functional_push(self.backend, self._nested, self.inputs(xs), self.inputs(vs))
        tensors = self.inputs(xs)
        with self.backend.guard(), torch.enable_grad() if self.is_reversed else torch.no_grad():
            if self.is_reversed:
                tensors = [t.requires_grad_() for t in tensors]
            with forward_ad.dual_level() as level:
                parts = _unpacked(self.apply(_duals(tensors, self.inputs(vs), level)), level)
                return _pushforward([p for p, _ in parts], [t for _, t in parts], described=not self.is_reversed)

    def reverse(self, outputs: int) -> TapeFunction:
        apply, count = self.apply, self.arity

        def gradients(tensors: Tensors, create_graph: bool = True) -> Tensors:
            # A dual or recorded input already carries its history; a plain one becomes a leaf of the tape here.
            xs = [t if t.requires_grad else t.requires_grad_() for t in tensors[:count]]
            with torch.enable_grad():
                outputs = apply(xs)
                pairs = [(t, u) for t, u in zip(outputs, tensors[count:]) if t.requires_grad]
                if not pairs:
                    return [torch.zeros_like(x) for x in xs]
                found = _gradients([t for t, _ in pairs], xs, [u for _, u in pairs], create_graph)
            return [torch.zeros_like(x) if g is None else g for x, g in zip(xs, found)]

        def unrecorded(tensors: Tensors) -> Tensors:
            return gradients(tensors, create_graph=False)

        return TapeFunction(self.backend, self.program, gradients, count + outputs, True, unrecorded=unrecorded)

    def forward(self, vs: Sequence[np.ndarray]) -> TapeFunction:
        apply, tangents = self.apply, list(vs)

        def pushed(tensors: Tensors) -> Tensors:
            with forward_ad.dual_level() as level:
                # In the primal's own memory layout: torch cannot give an expanded primal a contiguous tangent.
                parts = _unpacked(apply(_duals(tensors, self.inputs(tangents), level)), level)
                return [torch.zeros_like(primal) if tangent is None else tangent for primal, tangent in parts]

        def pushed_functionally(tensors: Tensors) -> Tensors:
            directions = tuple(self.inputs(tangents))
            return list(_FUNC.jvp(lambda *ts: tuple(apply(list(ts))), tuple(tensors), directions)[1])

        return TapeFunction(self.backend, self.program, pushed, self.arity, self.is_reversed, pushed_functionally)


def _refuse_silent_error(outputs: Tensors) -> None:
    """Raise for outputs whose derivative is not implemented or that may be differentiated once only: the node which
    would say so is never run, since no path leads through it to the inputs."""
    for tensor in outputs:
        node = type(tensor.grad_fn).__name__
        if node in ("Error", "NotImplemented"):
            raise ModeError("unsupported", f"the output comes from a node {node}: its derivative is not implemented")


class FunctionalFunction(_BaseFunction):
    """A function differentiated by torch.func.vjp and torch.func.jvp."""

    def value(self, xs: Sequence[np.ndarray]) -> Arrays:
        with self.backend.guard():
            return [_to_numpy(t) for t in self.apply(self.inputs(xs))]

    def pull(self, xs: Sequence[np.ndarray], us: Sequence[np.ndarray]) -> Pullback:
        tensors = self.inputs(xs)
        with self.backend.guard():
            outputs, pullback = _FUNC.vjp(lambda *ts: tuple(self.apply(list(ts))), *tensors)
            gradients = pullback(tuple(self.backend.like(t, u) for t, u in zip(outputs, us)))
            return Pullback(
                [_to_numpy(t) for t in outputs],
                [_describe(t) for t in outputs],
                [_to_numpy(g) for g in gradients],
                [_describe(g) for g in gradients],
                [True] * len(outputs),
            )

    def push(self, xs: Sequence[np.ndarray], vs: Sequence[np.ndarray]) -> Pushforward:
        return _functional_push(self.backend, self.apply, self.inputs(xs), self.inputs(vs))

    def reverse(self, outputs: int) -> FunctionalFunction:
        apply, count = self.apply, self.arity

        def gradients(tensors: Tensors) -> Tensors:
            _, pullback = _FUNC.vjp(lambda *ts: tuple(apply(list(ts))), *tensors[:count])
            return list(pullback(tuple(tensors[count:])))

        return FunctionalFunction(self.backend, self.program, gradients, count + outputs, True)

    def forward(self, vs: Sequence[np.ndarray]) -> FunctionalFunction:
        apply = self.apply

        def pushed(tensors: Tensors) -> Tensors:
            return list(_FUNC.jvp(lambda *ts: tuple(apply(list(ts))), tuple(tensors), tuple(self.inputs(vs)))[1])

        return FunctionalFunction(self.backend, self.program, pushed, self.arity, self.is_reversed)


def _functional_push(
    backend: TorchBackend, apply: TensorFunction, tensors: Tensors, directions: Tensors
) -> Pushforward:
    with backend.guard():
        if _FUNC is None:
            raise ModeError("unsupported", "nested forward mode needs torch.func")
        outputs, tangents = _FUNC.jvp(lambda *ts: tuple(apply(list(ts))), tuple(tensors), tuple(directions))
        return _pushforward(list(outputs), list(tangents))


def _pushforward(outputs: Tensors, tangents: Sequence[Tensor | None], described: bool = True) -> Pushforward:
    values: OptionalArrays = [None if t is None else _to_numpy(t) for t in tangents]
    return Pushforward(
        [_to_numpy(t) for t in outputs],
        [_describe(t) for t in outputs] if described else [],
        values,
        [None if t is None else _describe(t) for t in tangents] if described else [],
    )


class _Guard:
    """Times the library, has it observed, and turns its exceptions into ModeError.

    Repeated evaluations for differences are not observed: they run what the first ones ran.
    """

    def __init__(self, backend: TorchBackend, observed: bool) -> None:
        self._backend = backend
        self._observed = observed
        self._since = 0.0
        self._depth = 0

    def __enter__(self) -> None:
        if self._depth == 0:
            self._since = time.perf_counter()
            if self._observed:
                resume()
        self._depth += 1

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            if self._observed:
                pause()
            self._backend.clock.library += time.perf_counter() - self._since
        if error is None or isinstance(error, (ModeError, RefusedError)) or not isinstance(error, Exception):
            return
        raise ModeError(*self._backend.classify(error)) from error


class TorchBackend:
    """PyTorch in this interpreter, on the CPU."""

    name = "torch"

    def __init__(self) -> None:
        self.version = str(torch.__version__)
        self.package_folders = [str(Path(torch.__file__).parent)]
        self.clock = Clock()
        self.modes: tuple[str, ...] = ("direct", "reverse", "forward", "numerical")
        self.conventions = Conventions.of("torch")
        self._generator = torch.default_generator
        self._guard = _Guard(self, observed=True)
        self._quiet = _Guard(self, observed=False)
        self._default_dtype = torch.get_default_dtype()
        warnings.filterwarnings("ignore")
        torch.set_num_threads(1)
        with forward_ad.dual_level():
            # Its first use loads the decompositions that forward mode falls back on.
            forward_ad.make_dual(torch.zeros(1), torch.zeros(1))

    def guard(self) -> _Guard:
        """A context that times the library's work and classifies what it raises."""
        return self._guard

    def quiet(self) -> _Guard:
        """The same for evaluations that repeat earlier ones, without observing them."""
        return self._quiet

    def classify(self, error: Exception) -> tuple[str, str]:
        """(problem, message) of an exception: "internal", "unsupported" or "raised"."""
        text = str(error).strip()
        message = f"{type(error).__name__}: {text}"
        if _INTERNAL.search(text):
            return "internal", message
        if isinstance(error, NotImplementedError) or self.conventions.is_unsupported(message):
            return "unsupported", message
        return "raised", message

    def prepare(self, call: Call, precise: bool = False) -> Program:
        return TorchProgram(self, call, precise)

    def seed(self, number: int) -> None:
        self._generator.manual_seed(number)
        random.seed(number)

    def still(self, seed: int) -> bool:
        """Whether nothing drew from the generators since they were seeded with `seed`."""
        drawn, python = self._generator.get_state(), random.getstate()
        self.seed(seed)
        return bool(torch.equal(drawn, self._generator.get_state())) and python == random.getstate()

    def plain(self, array: np.ndarray) -> Tensor:
        """A contiguous tensor of an array."""
        return torch.from_numpy(np.array(array, order="C"))

    def like(self, tensor: Tensor, array: np.ndarray) -> Tensor:
        """A contiguous tensor of an array's values with another tensor's shape and dtype."""
        made = torch.from_numpy(np.array(array, order="C"))
        if made.dtype != tensor.dtype:
            made = made.to(tensor.dtype)
        return made if made.shape == tensor.shape else made.reshape(tensor.shape)

    def reset(self) -> None:
        torch.set_default_dtype(self._default_dtype)
        torch.set_grad_enabled(True)
        if torch.get_num_threads() != 1:
            torch.set_num_threads(1)
