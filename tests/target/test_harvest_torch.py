"""The harvest of a few entries of torch's own databases, end to end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import evo_nabla
from evo_nabla.call import TensorArgument, call_from_json, materialise
from evo_nabla.call.dtypes import DTYPES, INTEGER
from evo_nabla.target import harvest
from evo_nabla.target.backends.torch import TorchBackend
from evo_nabla.target.harvest import torch_harvest, torch_samples
from evo_nabla.target.harvest.keep import MAX_ELEMENTS, DroppedError, Keeper, spread, structure
from evo_nabla.target.harvest.names import PublicNames
from evo_nabla.target.harvest.torch_samples import FULL, Sample

ENTRIES = (
    "add", "cholesky", "nn.functional.elu", "linalg.eigh", "gather", "polygamma.polygamma_n_1", "T", "nn.Conv2d",
    "nn.NLLLoss", "clone",
)  # fmt: skip

Document = dict[str, Any]


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Only some entries, and a single call written by hand."""
    operators = [info for info in torch_samples.operator_infos() if torch_samples.operator_name(info) in ENTRIES]
    modules = [info for info in torch_samples.module_infos() if info.name in ENTRIES]
    by_hand = tmp_path_factory.mktemp("harvest") / "by_hand.json"
    by_hand.write_text(
        '[{"api": "torch.nn.Identity", "args": [0.5], "init": {"args": [], "kwargs": {}}},'
        ' {"api": "torch.os.abort", "args": []}]'
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch_samples, "operator_infos", lambda: operators)
        patch.setattr(torch_samples, "module_infos", lambda: modules)
        patch.setattr(torch_harvest, "BY_HAND", by_hand)
        yield patch


@pytest.fixture(scope="module")
def seeds(few: Any) -> tuple[list[Document], Document]:
    found: list[Document] = []
    counts = harvest.harvest("torch", found.append)
    return found, counts


def of(seeds: tuple[list[Document], Document], api: str) -> list[Document]:
    return [document for document in seeds[0] if document["api"] == api]


def dtypes(documents: list[Document]) -> set[str]:
    return {document["args"][0]["tensor"]["dtype"] for document in documents}


def test_a_function_its_methods_aliases_and_the_operator_below(seeds: tuple[list[Document], Document]) -> None:
    for api in ("torch.add", "torch.Tensor.add", "torch.Tensor.add_", "torch.Tensor.__add__", "torch.ops.aten.add"):
        assert of(seeds, api), api
    assert {"float64", "complex128", "float32", "float16", "bfloat16"} <= dtypes(of(seeds, "torch.add"))


def test_what_hides_behind_a_lambda_is_recorded(seeds: tuple[list[Document], Document]) -> None:
    assert {document["args"][0] for document in of(seeds, "torch.polygamma")} >= {1}
    assert of(seeds, "torch.Tensor.T")
    assert any(document.get("kwargs", {}).get("inplace") for document in of(seeds, "torch.nn.functional.elu"))


def test_namesakes_borrow(seeds: tuple[list[Document], Document]) -> None:
    borrowed = of(seeds, "torch.nn.functional.elu_")
    assert borrowed
    assert all(document["x-from"].startswith("borrowed:") for document in borrowed)


def test_modules_have_constructor_arguments(seeds: tuple[list[Document], Document]) -> None:
    convolution = of(seeds, "torch.nn.Conv2d")
    assert all(document["init"]["args"] or document["init"]["kwargs"] for document in convolution)
    assert all(document["x-from"] == "moduleinfo:nn.Conv2d" for document in convolution)


def test_structure_of_matrices_and_indices_survives(seeds: tuple[list[Document], Document]) -> None:
    for document in of(seeds, "torch.cholesky"):
        tensor = call_from_json(document).args[0]
        assert isinstance(tensor, TensorArgument)
        if tensor.dtype == "float64":
            torch.linalg.cholesky(torch.from_numpy(materialise(tensor)))
    indices = [document["args"][2]["tensor"] for document in of(seeds, "torch.gather")]
    assert all("values" in index and DTYPES[index["dtype"]].family == INTEGER for index in indices)


def test_no_seed_twice_none_too_large_and_all_of_them_run(seeds: tuple[list[Document], Document]) -> None:
    calls = [call_from_json(document) for document in seeds[0]]
    assert len(set(calls)) == len(calls)
    backend = TorchBackend()
    for call in calls:
        sizes = [torch.Size(node.shape).numel() for node in call.args if isinstance(node, TensorArgument)]
        assert sum(sizes) <= MAX_ELEMENTS
    for call in calls[::5]:
        backend.reset()
        backend.prepare(call).direct()


def test_counts_add_up_and_denied_calls_are_dropped(seeds: tuple[list[Document], Document]) -> None:
    documents, counts = seeds
    assert counts["seeds"] == len(documents) == sum(counts["kept"].values())
    assert counts["apis"] == len({document["api"] for document in documents})
    assert counts["kept"]["by-hand"] == 1
    assert counts["dropped"]["by hand: torch.os.abort on the deny list"] == 1


@pytest.mark.slow
def test_the_same_wheel_gives_the_same_seeds(few: Any, seeds: tuple[list[Document], Document]) -> None:
    torch.manual_seed(12345)
    again: list[Document] = []
    harvest.harvest("torch", again.append)
    assert again == seeds[0]


SAMPLED_ELSEWHERE = """
import hashlib, json, sys
sys.path.insert(0, sys.argv[1])
from evo_nabla.target import harvest
from evo_nabla.target.harvest import torch_harvest, torch_samples
wanted = ("meshgrid", "nn.functional.rrelu", "nn.functional.dropout")
infos = [info for info in torch_samples.operator_infos() if info.name in wanted]
torch_samples.operator_infos, torch_samples.module_infos = lambda: infos, list
torch_harvest.Harvest._by_hand = lambda self: iter(())
found = []
harvest.harvest("torch", found.append)
print(len(found), hashlib.sha256(json.dumps(found).encode()).hexdigest())
"""


@pytest.mark.slow
def test_neither_hashes_nor_stale_memory_show() -> None:
    root = str(Path(evo_nabla.__file__).parents[1])
    runs = [
        subprocess.run(
            [sys.executable, "-c", SAMPLED_ELSEWHERE, root],
            env={**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    ]
    assert int(runs[0].split()[0]) > 50
    assert len(set(runs)) == 1


def test_a_crash_costs_one_entry(few: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sampled = torch_samples.operator_samples

    def crashing(info: Any, *rest: Any) -> Any:
        if info.name == "gather":
            os._exit(9)
        return sampled(info, *rest)

    infos = [info for info in torch_samples.operator_infos() if info.name in ("cholesky", "gather", "T")]
    monkeypatch.setattr(torch_samples, "operator_infos", lambda: infos)
    monkeypatch.setattr(torch_samples, "module_infos", list)
    monkeypatch.setattr(torch_samples, "operator_samples", crashing)
    found: list[Document] = []
    counts = harvest.harvest("torch", found.append)
    assert counts["dropped"]["entry lost: exit status 9"] == 1
    assert {"torch.cholesky", "torch.Tensor.T"} <= {document["api"] for document in found}


def sample(*args: Any, **kwargs: Any) -> Sample:
    return Sample("torch.add", args, kwargs, torch.float64, FULL, "test")


def test_structure_looks_past_values_only() -> None:
    x = torch.randn(2, 3)
    assert structure(sample(x, 1)) == structure(sample(torch.randn(2, 3), 1))
    others = [sample(x, 2), sample(x, 1.0), sample(x.double(), 1), sample(x.T.contiguous().T, 1), sample(x[:1], 1)]
    assert len({structure(other) for other in [sample(x, 1), sample(x, alpha=1), *others]}) == 7


def test_spread_takes_all_of_few_and_even_distances_of_many() -> None:
    samples = [sample(number) for number in range(10)]
    assert [one.args[0] for one in spread(samples, 20)] == list(range(10))
    assert [one.args[0] for one in spread(samples, 3)][:3] == [0, 3, 6]
    assert sorted(one.args[0] for one in spread(samples, 3)) == list(range(10))


def test_a_sample_that_rounding_would_change_keeps_its_values() -> None:
    keeper = Keeper(TorchBackend(), PublicNames())
    edge = torch.tensor([1 - 1e-12, 0.123456789], dtype=torch.float64)
    call = keeper.seed(Sample("torch.atanh", (edge,), {}, torch.float64, FULL, "test"))
    assert call.args[0].content.flat == (1 - 1e-12, 0.123456789)
    plain = keeper.seed(Sample("torch.atanh", (edge * 0.9,), {}, torch.float64, FULL, "test"))
    assert plain.args[0].content.flat == (0.9, 0.1111)


def test_what_does_not_run_is_dropped() -> None:
    keeper = Keeper(TorchBackend(), PublicNames())
    with pytest.raises(DroppedError, match="does not run"):
        keeper.seed(Sample("torch.mm", (torch.ones(2), torch.ones(2)), {}, torch.float32, FULL, "test"))
    with pytest.raises(DroppedError, match="no form in a call"):
        keeper.seed(Sample("torch.sin", (torch.eye(2).to_sparse(),), {}, torch.float32, FULL, "test"))
    with pytest.raises(DroppedError, match="deny list"):
        keeper.seed(Sample("torch.save", (torch.ones(2), "file"), {}, torch.float32, FULL, "test"))
