"""Which public callables of torch can be fuzzed: functions, tensor methods, modules, transforms and aten operators."""

from __future__ import annotations

import inspect
from typing import Any, Iterator, List, Set

import torch

from .names import members

FUNCTION_NAMESPACES = ("torch", "torch.nn.functional", "torch.linalg", "torch.special", "torch.fft")

# Classes of torch.nn that only hold other modules, or are bases without a forward of their own.
STRUCTURAL_MODULES = frozenset(
    ("Module", "Container", "Sequential", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "DataParallel",
     "RNNBase", "RNNCellBase")
)  # fmt: skip
# Overridable callables that answer a question about a tensor, move it between containers or steer dispatch.
HELPERS = frozenset(
    ("align_as", "align_to", "apply_", "as_subclass", "backward", "broadcast_shapes", "can_cast", "ccol_indices",
     "coalesce", "col_indices", "compile", "const_data_ptr", "crow_indices", "cuda", "data_ptr", "dense_dim",
     "dequantize", "detach_", "dim", "dim_order", "element_size", "from_dlpack", "get_device", "handle_torch_function",
     "hpu", "import_ir_module", "indices", "int_repr", "ipu", "item", "map2_", "map_", "module_load", "mtia", "name",
     "names", "ndimension", "nelement", "new", "new_tensor", "numel", "numpy", "pin_memory", "qscheme", "record_stream",
     "refine_names", "register_hook", "register_post_accumulate_grad_hook", "reinforce", "rename", "rename_",
     "requires_grad_", "resize", "resize_as", "result_type", "retain_grad", "row_indices", "share_memory_", "size",
     "storage", "storage_offset", "storage_type", "stride", "to_dlpack", "to_mkldnn", "to_sparse_bsc", "to_sparse_bsr",
     "to_sparse_csc", "to_sparse_csr", "tolist", "type", "typename", "untyped_storage", "values", "vmap", "while_loop",
     "xpu")
)  # fmt: skip
# Questions about a tensor, symbolic shapes, memory that nobody wrote to, and what a dense CPU tensor cannot reach.
HELPER_PREFIXES = (
    "is_", "has_", "set_", "get_", "sym_", "q_", "cudnn_", "miopen_", "mkldnn_", "mps_", "quantize_",
    "quantized_", "fbgemm_", "sparse_", "ccol_", "crow_", "col_indices", "row_indices",
    "empty", "new_empty", "resize_",
)  # fmt: skip


def discover() -> List[str]:
    """Dotted paths of the public callables of this torch that take tensors, sorted and without repeats."""
    operators, overridable = tensor_operators(), _overridable_identities()
    found: Set[str] = set()
    for namespace in FUNCTION_NAMESPACES:
        found.update(_functions(namespace, operators, overridable))
    found.update(_methods(operators, overridable))
    found.update(_modules())
    found.update(_transforms())
    found.update("torch.ops.aten." + name for name in operators if _is_public_operator(name))
    return sorted(found)


def _functions(namespace: str, operators: Set[str], overridable: Set[int]) -> Iterator[str]:
    for name, member in members(namespace):
        if not inspect.isroutine(member) and type(member).__name__ != "ScriptFunction":
            continue
        if is_helper(name):
            continue
        if id(member) in overridable or name in operators:
            yield f"{namespace}.{name}"


def _methods(operators: Set[str], overridable: Set[int]) -> Iterator[str]:
    for name, member in members("torch.Tensor"):
        if not callable(member) or isinstance(member, type) or is_helper(name):
            continue
        # Python's own operators live in torch._tensor or in slots; the others must be known to dispatch.
        if id(member) in overridable or name in operators or name.startswith("__"):
            yield "torch.Tensor." + name


def _modules() -> Iterator[str]:
    for name, member in members("torch.nn"):
        if isinstance(member, type) and issubclass(member, torch.nn.Module) and _is_operation(name):
            yield "torch.nn." + name


def _is_operation(name: str) -> bool:
    """Lazy modules are left out as well: they have no parameters to differentiate before their first call."""
    return name not in STRUCTURAL_MODULES and not name.startswith("Lazy")


def _transforms() -> Iterator[str]:
    transforms = torch.distributions.transforms
    for name in transforms.__all__:
        member = getattr(transforms, name)
        if isinstance(member, type) and issubclass(member, transforms.Transform) and member is not transforms.Transform:
            yield "torch.distributions.transforms." + name


def _is_public_operator(name: str) -> bool:
    return not name.startswith("_") and not is_helper(name) and hasattr(torch.ops.aten, name)


def is_helper(name: str) -> bool:
    """Whether a callable of this name answers a question or steers dispatch, and gives nothing to differentiate."""
    return name in HELPERS or name.startswith(HELPER_PREFIXES)


def _overridable_identities() -> Set[int]:
    functions = torch.overrides.get_overridable_functions()
    return {id(member) for namespace in functions.values() for member in namespace}


def tensor_operators() -> Set[str]:
    """Names of aten operators with an overload that takes a tensor and returns one, apart from `out` variants."""
    return {schema.name[len("aten::") :] for schema in torch._C._jit_get_all_schemas() if _maps_tensors(schema)}


def _maps_tensors(schema: Any) -> bool:
    if not schema.name.startswith("aten::"):
        return False
    takes = any("Tensor" in str(argument.type) for argument in schema.arguments)
    gives = any("Tensor" in str(result.type) for result in schema.returns)
    return takes and gives and all(argument.name != "out" for argument in schema.arguments)
