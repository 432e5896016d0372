"""A few seed calls of simple functions, for campaigns that are small and quick."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

APIS = ("torch.sin", "torch.tanh", "torch.sigmoid", "torch.mul")


@pytest.fixture(scope="session")
def seeds_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A JSONL file with three seeds of each of APIS."""
    lines = []
    for api in APIS:
        for shape in ([3], [2, 2], []):
            tensor = {"tensor": {"shape": shape, "dtype": "float64", "seed": 1, "range": [-2, 2]}}
            lines.append(json.dumps({"api": api, "args": [tensor] * (2 if api == "torch.mul" else 1)}))
    path = tmp_path_factory.mktemp("seeds") / "calls.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path
