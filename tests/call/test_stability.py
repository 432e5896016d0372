"""A call has the same hash and the same bytes in every process, Python and NumPy."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evo_nabla.call import call_from_json, write_calls
from evo_nabla.call.dtypes import DTYPES
from evo_nabla.call.kinds import KINDS

DIGEST = Path(__file__).with_name("digest.py")


def _tensor(**members: Any) -> dict[str, Any]:
    return {"tensor": members}


def _kinds() -> list[Any]:
    """Every kind in every dtype that it suits."""
    return [
        _tensor(shape=[2, 6, 6], dtype=name, seed=11, kind=kind, **_range(kind, dtype.family))
        for kind, families in KINDS.items()
        for name, dtype in DTYPES.items()
        if dtype.family in families
    ]


def _range(kind: str, family: str) -> dict[str, Any]:
    if family == "integer":
        return {} if kind == "distinct" else {"range": [1, 101]}
    return {"range": [-3, 8.5]}


def _values() -> list[Any]:
    return [
        _tensor(shape=[6], dtype=name, values=[0.1, -0.0, 5e-324, {"float": "nan"}, {"float": "-inf"}, 70000])
        for name, dtype in DTYPES.items()
        if dtype.family in ("floating", "complex")
    ]


@pytest.fixture(scope="module")
def calls_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Calls that touch every kind, dtype and layout, and what is awkward to write."""
    layouts = ["transposed", "strided", "expanded", "channels_last", {"strides": [1, 0, 2, 1], "offset": 4}]
    documents: list[dict[str, Any]] = [{"api": "torch.foo", "args": [item]} for item in _kinds() + _values()]
    documents += [
        {"api": "torch.foo", "args": [_tensor(shape=[2, 3, 2, 2], dtype="float32", seed=1, layout=layout)]}
        for layout in layouts
    ]
    odd = [
        2**200,
        -0.0,
        5e-324,
        1e16,
        1e22,
        123456789.123,
        {"float": "nan"},
        {"complex": [-0.0, {"float": "inf"}]},
        "ß∇\x00",
    ]
    members = {f"{random.Random(0).random()}{index}": index for index in range(20)}
    documents.append(
        {"api": "torch.foo", "args": [*odd, {"dict": members}], "kwargs": {"b": 1, "a": {"same": "args.9"}}}
    )
    path = tmp_path_factory.mktemp("calls") / "calls.jsonl.gz"
    write_calls(path, map(call_from_json, documents))
    return path


def digests(python: str, path: Path, hash_seed: str) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [python, str(DIGEST), str(path)]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.splitlines()


def other_pythons() -> list[str]:
    """Other interpreters with NumPy: on the path, or of installed targets."""
    data = Path(os.environ.get("XDG_DATA_HOME", Path.home() / ".local/share"))
    found = [shutil.which(f"python3.{minor}") for minor in range(9, 15)]
    found += [str(path) for path in sorted(data.glob("evo_nabla/targets/*/bin/python"))]
    return [path for path in found if path and _has_numpy(path)]


def _has_numpy(python: str) -> bool:
    check = "import sys, numpy; assert (3, 9) <= sys.version_info[:2]"
    return subprocess.run([python, "-c", check], capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def expected(calls_file: Path) -> list[str]:
    return digests(sys.executable, calls_file, "1")


def test_another_process(calls_file: Path, expected: list[str]) -> None:
    assert len(expected) > 150
    assert digests(sys.executable, calls_file, "2") == expected


def test_other_pythons(calls_file: Path, expected: list[str]) -> None:
    pythons = other_pythons()
    if not pythons:
        pytest.skip("no other interpreter with NumPy")
    for python in pythons:
        assert digests(python, calls_file, "3") == expected, python


def test_bytes_recorded_once(expected: list[str]) -> None:
    """The digests of a fixed set of calls: a change here would silently change every stored corpus."""
    assert (
        hashlib.sha256("\n".join(expected).encode()).hexdigest()
        == "ae6032068d666ce5bd457656d7e47315ea8d7334689f5d5624740b5c26dbd9cf"
    )
