"""Seeds and signatures that the tests of the evolution share: ordinary calls of well-known operators, as harvested."""

from __future__ import annotations

from typing import Any

from evo_nabla.call import Call, call_from_json
from evo_nabla.evolution.context import Context
from evo_nabla.evolution.pool import ArgumentPool
from evo_nabla.executor.signature import Signature


def tensor(*shape: int, dtype: str = "float64", seed: int = 1, low: float = 0.0, high: float = 1.0) -> dict[str, Any]:
    """A seeded tensor as JSON."""
    return {"tensor": {"shape": list(shape), "dtype": dtype, "seed": seed, "range": [low, high]}}


def index(values: list[Any], shape: list[int], dtype: str = "int64") -> dict[str, Any]:
    """A tensor of written-out values as JSON."""
    return {"tensor": {"shape": shape, "dtype": dtype, "values": values}}


def call(
    api: str, *args: Any, init: dict[str, Any] | None = None, diff: list[str] | None = None, **kwargs: Any
) -> Call:
    """A call from JSON arguments."""
    document: dict[str, Any] = {"api": api, "args": list(args), "kwargs": kwargs}
    if init is not None:
        document["init"] = init
    if diff is not None:
        document["diff"] = diff
    return call_from_json(document)


def parameter(name: str, kind: str = "positional", **more: Any) -> dict[str, Any]:
    return {"name": name, "kind": kind, **more}


SEEDS: dict[str, list[Call]] = {
    "torch.add": [call("torch.add", tensor(3, 4), tensor(3, 4, seed=2)), call("torch.add", tensor(3, 4), 2.0, alpha=2)],
    "torch.exp2": [call("torch.exp2", tensor(4, low=-1.0))],
    "torch.pow": [call("torch.pow", tensor(2, 3, low=0.5), tensor(2, 3, seed=2, low=0.5))],
    "torch.ldexp": [call("torch.ldexp", tensor(3, low=0.5), index([1, 2, 1], [3], "int32"))],
    "torch.sum": [
        call("torch.sum", tensor(2, 3)),
        call("torch.sum", tensor(2, 3), dim=1, keepdim=True),
        call("torch.sum", tensor(2, 3), dtype={"dtype": "float64"}),
    ],
    "torch.scatter_add": [
        call("torch.scatter_add", tensor(2, 3), 1, index([0, 1, 2, 2, 1, 0], [2, 3]), tensor(2, 3, seed=3)),
    ],
    "torch.cat": [call("torch.cat", [tensor(2, 5), tensor(3, 5, seed=2)], dim=0)],
    "torch.linalg.det": [call("torch.linalg.det", tensor(3, 3, low=-1.0))],
    "torch.cholesky_solve": [
        call("torch.cholesky_solve", tensor(2, 2), tensor(2, 2, seed=2, low=0.5), upper=False),
    ],
    "torch.nn.functional.group_norm": [
        call("torch.nn.functional.group_norm", tensor(2, 4, 3), 2, tensor(4, seed=2), tensor(4, seed=3)),
        call("torch.nn.functional.group_norm", tensor(2, 4, 3), 2),
    ],
    "torch.nn.functional.adaptive_avg_pool2d": [
        call("torch.nn.functional.adaptive_avg_pool2d", tensor(2, 3, 5, 5), [3, 2]),
    ],
    "torch.nn.functional.avg_pool1d": [call("torch.nn.functional.avg_pool1d", tensor(1, 2, 6), 3, stride=2)],
    "torch.nn.functional.gelu": [
        call("torch.nn.functional.gelu", tensor(2, 3), approximate="none"),
        call("torch.nn.functional.gelu", tensor(2, 3), approximate="tanh"),
    ],
    "torch.nn.Softsign": [call("torch.nn.Softsign", tensor(2, low=-1.0), init={"args": [], "kwargs": {}})],
    "torch.nn.Linear": [
        call("torch.nn.Linear", tensor(2, 3), init={"args": [3, 4], "kwargs": {"bias": True}}),
        call("torch.nn.Linear", tensor(5, 3), init={"args": [3, 1], "kwargs": {}}),
    ],
    "torch.clone": [
        call("torch.clone", tensor(2, 3, 4, 4), memory_format={"ref": "torch.channels_last"}),
        call("torch.clone", tensor(2, 3), memory_format={"ref": "torch.contiguous_format"}),
    ],
}

SIGNATURES: dict[str, Signature | None] = {
    api: Signature.from_json(document)
    for api, document in {
        "torch.add": {
            "parameters": [
                parameter("input", type="Tensor"),
                parameter("other", type="Tensor"),
                parameter("alpha", "keyword", default=1, type="Scalar"),
            ],
            "method": False,
            "module": False,
        },
        "torch.sum": {
            "parameters": [
                parameter("input", type="Tensor"),
                parameter("dim", default=None, type="Optional[int[]]"),
                parameter("keepdim", default=False, type="bool"),
                parameter("dtype", "keyword", default=None, type="Optional[dtype]"),
            ],
            "method": False,
            "module": False,
        },
        "torch.nn.functional.group_norm": {
            "parameters": [
                parameter("input", type="Tensor"),
                parameter("num_groups", type="int"),
                parameter("weight", default=None, type="Optional[Tensor]"),
                parameter("bias", default=None, type="Optional[Tensor]"),
                parameter("eps", default=1e-05, type="float"),
            ],
            "method": False,
            "module": False,
        },
        "torch.nn.functional.gelu": {
            "parameters": [
                parameter("input", type="Tensor"),
                parameter("approximate", "keyword", default="none", type="str", choices=["none", "tanh"]),
            ],
            "method": False,
            "module": False,
        },
        "torch.nn.Linear": {
            "parameters": [parameter("input", type="Tensor")],
            "method": False,
            "module": True,
            "init": [
                parameter("in_features", type="int"),
                parameter("out_features", type="int"),
                parameter("bias", default=True, type="bool"),
                parameter("dtype", default=None),
            ],
        },
    }.items()
}


def context() -> Context:
    """A mutators' context over these seeds."""
    return Context(ArgumentPool(SEEDS, SIGNATURES), SIGNATURES)
