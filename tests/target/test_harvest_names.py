"""What is found to fuzz in the installed torch, and what is known of its parameters."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evo_nabla.call import argument_from_json
from evo_nabla.target import harvest
from evo_nabla.target.harvest.names import PublicNames, resolve


@pytest.fixture(scope="module")
def apis() -> list[str]:
    return harvest.discover("torch")


@pytest.fixture(scope="module")
def signatures(apis: list[str]) -> dict[str, Any]:
    return harvest.signatures(apis)


@pytest.mark.parametrize(
    "api",
    [
        "torch.sin", "torch.std_mean", "torch.where", "torch.sin_", "torch.nn.functional.gelu",
        "torch.nn.functional.max_pool2d",
        "torch.linalg.svd", "torch.special.erfcx", "torch.fft.rfftn", "torch.Tensor.add", "torch.Tensor.add_",
        "torch.Tensor.__rsub__", "torch.Tensor.__getitem__",
        "torch.nn.Conv2d", "torch.nn.BCEWithLogitsLoss",
        "torch.distributions.transforms.TanhTransform", "torch.ops.aten.convolution", "torch.ops.aten.sin",
    ],
)  # fmt: skip
def test_what_can_be_differentiated_is_found(apis: list[str], api: str) -> None:
    assert api in apis


@pytest.mark.parametrize(
    "api",
    [
        "torch.save", "torch.load", "torch.set_default_dtype", "torch.manual_seed", "torch.is_tensor",
        "torch.compile",
        "torch.empty_like", "torch.nn.Module", "torch.nn.Sequential", "torch.nn.LazyLinear", "torch.Tensor.size",
        "torch.Tensor.backward", "torch.Tensor.numpy", "torch.Tensor._version",
        "torch.distributions.transforms.Transform",
        "torch.nn.functional.Optional", "torch.nn.functional.handle_torch_function", "torch.cudnn_convolution",
    ],
)  # fmt: skip
def test_what_cannot_is_left_out(apis: list[str], api: str) -> None:
    assert api not in apis


def test_names_are_sorted_unique_and_lead_to_callables(apis: list[str]) -> None:
    assert apis == sorted(set(apis))
    assert len(apis) > 2000
    assert all(callable(resolve(api)) for api in apis)


def test_a_name_and_its_object_lead_to_each_other() -> None:
    names = PublicNames()
    for api in ("torch.sin", "torch.nn.functional.gelu", "torch.linalg.svd", "torch.Tensor.add_", "torch.ops.aten.sin"):
        assert names.path(resolve(api)) == api
    assert names.path(lambda x: x) is None
    with pytest.raises((ImportError, AttributeError)):
        resolve("torch.nn.functional.no_such_function")


def test_nearly_all_signatures_are_known(signatures: dict[str, Any]) -> None:
    unknown = [api for api, signature in signatures.items() if signature is None]
    assert len(unknown) <= 5
    assert json.loads(json.dumps(signatures)) == signatures


def test_parameters_are_well_formed(signatures: dict[str, Any]) -> None:
    for api, signature in signatures.items():
        for parameter in [] if signature is None else signature["parameters"] + signature.get("init", []):
            assert parameter["kind"] in ("positional", "keyword", "var"), api
            assert parameter["name"].isidentifier(), api
            assert parameter["type"] is None or isinstance(parameter["type"], str), api
            if "default" in parameter:
                argument_from_json(parameter["default"])
            if "choices" in parameter:
                assert len(parameter["choices"]) > 1, api
                default = parameter.get("default")
                assert not isinstance(default, str) or default in parameter["choices"], api


def parameter(signature: dict[str, Any], name: str, where: str = "parameters") -> dict[str, Any]:
    return next(parameter for parameter in signature[where] if parameter["name"] == name)


def test_a_function_known_by_schema(signatures: dict[str, Any]) -> None:
    total = signatures["torch.sum"]
    assert [parameter["name"] for parameter in total["parameters"]] == ["input", "dim", "keepdim", "dtype"]
    assert parameter(total, "keepdim") == {"name": "keepdim", "kind": "positional", "type": "bool", "default": False}
    assert parameter(total, "dtype") == {
        "name": "dtype", "kind": "keyword", "type": "Optional[dtype]", "default": None,
    }  # fmt: skip
    assert parameter(total, "dim")["type"] == "Optional[int[]]"


def test_functions_methods_modules_and_transforms(signatures: dict[str, Any]) -> None:
    assert parameter(signatures["torch.nn.functional.gelu"], "approximate")["choices"] == ["none", "tanh"]
    assert parameter(signatures["torch.nn.functional.max_pool2d"], "ceil_mode")["default"] is False
    assert parameter(signatures["torch.nn.functional.cross_entropy"], "reduction")["choices"] == ["mean", "none", "sum"]
    assert signatures["torch.Tensor.add_"]["method"]
    assert signatures["torch.Tensor.add_"]["parameters"][0]["name"] == "self"
    convolution = signatures["torch.nn.Conv2d"]
    assert convolution["module"]
    assert [parameter["name"] for parameter in convolution["parameters"]] == ["input"]
    assert parameter(convolution, "groups", "init")["default"] == 1
    assert parameter(convolution, "padding_mode", "init")["choices"] == ["circular", "reflect", "replicate", "zeros"]
    assert parameter(signatures["torch.distributions.transforms.AffineTransform"], "scale", "init")


def test_unknown_apis_have_no_signature_and_users_functions_have_one() -> None:
    read = harvest.signatures(["torch.no_such_function", "nowhere.at_all", "json.dumps", "numpy.linalg.norm"])
    assert read["torch.no_such_function"] is None
    assert read["nowhere.at_all"] is None
    assert parameter(read["json.dumps"], "indent")["kind"] == "keyword"
    assert parameter(read["numpy.linalg.norm"], "keepdims")["default"] is False


def test_another_library_is_refused() -> None:
    with pytest.raises(harvest.UnavailableError, match="nothing to harvest from oneflow"):
        harvest.discover("oneflow")
