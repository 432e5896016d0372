"""The deny list refuses what reaches outside or changes global state, under any name, and lets operators pass."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import torch

from evo_nabla.call import call_from_json
from evo_nabla.target import deny
from evo_nabla.target.deny import DenyList

LIST = json.loads(Path(deny.__file__).with_name("deny.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def torch_list() -> DenyList:
    return DenyList("torch")


@pytest.mark.parametrize(
    "path",
    [
        "torch.save",
        "torch.load",
        "torch.set_default_dtype",
        "torch.set_num_threads",
        "torch.multiprocessing.spawn",
        "torch.hub.load",
        "torch.distributed.init_process_group",
        "torch.from_file",
        "torch.FloatStorage.from_file",
        "torch.manual_seed",
        "torch.seed",
        "torch.random.fork_rng",
        "torch.use_deterministic_algorithms",
        "torch.set_grad_enabled",
        "torch._C._set_grad_enabled",
        "torch.compile",
        "torch.jit.script",
        "torch.onnx.export",
        "torch.export.export",
        "torch.utils.cpp_extension.load",
        "torch.cuda.synchronize",
        "torch.Tensor.share_memory_",
        "torch.Tensor.untyped_storage",
        "os.system",
        "sys.exit",
        "subprocess.run",
        "builtins.eval",
        "builtins.open",
        "ctypes.string_at",
        "pickle.loads",
        "io.open",
        "numpy.save",
        "numpy.ndarray.tofile",
        "torch.nn.functional.__builtins__",
        "torch.serialization.os.system",
        "torch.functional.torch.save",
        "torch.Tensor.__reduce_ex__",
        "evo_nabla.target.loop.serve",
        "threading.Thread",
    ],
)
def test_refused(torch_list: DenyList, path: str) -> None:
    assert torch_list.reason(path)


@pytest.mark.parametrize(
    "path",
    [
        "torch.add",
        "torch.Tensor.add",
        "torch.nn.Linear",
        "torch.nn.functional.gelu",
        "torch.linalg.svd",
        "torch.fft.fft",
        "torch.float32",
        "torch.special.expit",
        "torch.distributions.transforms.ExpTransform",
        "torch.ops.aten.add.Tensor",
        "torch.channels_last",
        "torch.autograd.functional.jacobian",
        "torch.Tensor.set_",
        "builtins.int",
        "math.sin",
        "numpy.float32",
        "mypackage.ops.mine",
        "torch.nn.LSTM",
        "torch.sparse.mm",
        "torch.testbed",
        "torch.savepoint",
    ],
)
def test_let_pass(torch_list: DenyList, path: str) -> None:
    assert torch_list.reason(path) is None


def test_an_alias_is_known_by_its_own_name(torch_list: DenyList, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.nn, "harmless", os.system, raising=False)
    assert torch_list.reason("torch.nn.harmless") is not None


@pytest.mark.parametrize("argument", [{"ref": "os.system"}, {"tuple": [{"dict": {"a": {"ref": "torch.os"}}}]}])
def test_named_objects_inside_arguments_are_refused(torch_list: DenyList, argument: object) -> None:
    reason = torch_list.refusal(call_from_json({"api": "torch.add", "args": [1, argument]}))
    assert reason is not None
    assert reason.startswith("args.1")


def test_every_rule_has_a_reason() -> None:
    groups = {name: group for name, group in LIST.items() if name != "about"}
    assert set(groups) == {"any", "torch", "jax", "tensorflow", "oneflow"}
    for group in groups.values():
        assert set(group) == {"allow", "deny"}
        assert all(isinstance(reason, str) and len(reason) > 5 for reason in group["deny"].values())
