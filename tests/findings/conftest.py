"""One worker for all tests of findings, and bugs that PyTorch 2.13 really has."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from evo_nabla.call import Call, call_from_json
from evo_nabla.executor import Limits, Worker, WorkerSettings
from evo_nabla.findings import Versions

PLANTED = Path(__file__).parents[1] / "planted"


def seeded(shape: list[int], seed: int, low: float = 0.0, high: float = 1.0) -> dict[str, Any]:
    return {"tensor": {"shape": shape, "dtype": "float64", "seed": seed, "range": [low, high]}}


def written(values: list[Any], dtype: str = "float64") -> dict[str, Any]:
    return {"tensor": {"shape": [len(values)], "dtype": dtype, "values": values}}


# vander: pytorch/pytorch#60197, ldexp: #196680, triangular_solve: #196707, scatter_add: #27614.
REAL_BUGS: dict[str, dict[str, Any]] = {
    "vander": {"api": "torch.vander", "args": [seeded([3], 1)]},
    "group_norm": {
        "api": "torch.nn.functional.group_norm",
        "args": [seeded([2, 3, 4], 1), 1, None, seeded([3], 2)],
    },
    "ldexp": {
        "api": "torch.ldexp",
        "args": [seeded([3], 1, 0.5, 2.0), written([1, -2, -1], "int32")],
        "diff": ["args.0"],
    },
    "triangular_solve": {"api": "torch.triangular_solve", "args": [seeded([3, 2], 1), seeded([3, 3], 2, 1.0, 2.0)]},
    "scatter_add": {
        "api": "torch.scatter_add",
        "args": [
            seeded([2, 3], 1),
            1,
            {"tensor": {"shape": [1, 2], "dtype": "int64", "values": [0, 2]}},
            seeded([2, 3], 3),
        ],
    },
}


def bug(name: str) -> Call:
    return call_from_json(REAL_BUGS[name])


@pytest.fixture(scope="session")
def settings() -> WorkerSettings:
    limits = Limits(seconds=20.0)
    return WorkerSettings(Path(sys.executable), "torch", paths=(PLANTED,), observers=(), limits=limits)


@pytest.fixture(scope="session")
def worker(settings: WorkerSettings) -> Iterator[Worker]:
    with Worker(settings) as started:
        yield started


@pytest.fixture
def factory(worker: Worker) -> Any:
    """A factory that lends the session's worker instead of starting one: an import of torch takes seconds."""

    @contextmanager
    def lend() -> Iterator[Worker]:
        yield worker

    return lend


@pytest.fixture(scope="session")
def versions(worker: Worker) -> Versions:
    return Versions("torch", worker.info.version, worker.info.python, worker.info.numpy, "Linux x86_64")
