"""The pool lends by name, by API and by type, and stays small; paths have their parameters' names."""

from __future__ import annotations

from evo_nabla.call import TensorArgument
from evo_nabla.evolution.pool import KEPT, ArgumentPool, type_tag
from evo_nabla.evolution.signatures import absent_parameters, parameter_at, parameter_name

from .material import SEEDS, SIGNATURES, call, tensor

POOL = ArgumentPool(SEEDS, SIGNATURES)


def test_arguments_by_parameter_name_whether_given_by_position_or_by_keyword() -> None:
    assert {lent.api for lent in POOL.named("input")} >= {"torch.add", "torch.sum", "torch.nn.functional.group_norm"}
    assert [lent.argument for lent in POOL.named("dim")] == [1, 0]
    assert POOL.apis_with("dim") == ("torch.sum", "torch.cat")
    assert POOL.named("no_such_parameter") == ()


def test_positions_without_a_name_are_lent_within_their_api_only() -> None:
    assert POOL.slotted("torch.pow", "#1")
    assert POOL.named("#1") == ()


def test_arguments_by_api_and_parameter() -> None:
    assert POOL.slotted("torch.nn.functional.gelu", "approximate") == ("none", "tanh")
    assert POOL.keywords("torch.sum") == ("dim", "keepdim", "dtype")


def test_equal_numbers_of_different_types_are_kept_apart() -> None:
    seeds = {"a.f": [call("a.f", flag=value) for value in (1, 1.0, True)]}
    lent = ArgumentPool(seeds, {}).slotted("a.f", "flag")
    assert [type(argument) for argument in lent] == [int, float, bool]


def test_arguments_by_type() -> None:
    assert all(isinstance(argument, TensorArgument) for argument in POOL.typed("tensor:integer"))
    assert POOL.typed(type_tag(True))
    assert POOL.typed(type_tag(1))
    assert not any(isinstance(argument, bool) for argument in POOL.typed(type_tag(1)))


def test_the_pool_is_bounded_and_takes_no_large_tensor() -> None:
    many = {"a.f": [call("a.f", n=i, x=tensor(100, 100)) for i in range(500)]}
    pool = ArgumentPool(many, {})
    assert len(pool.named("n")) == KEPT
    assert pool.named("x") == ()


def test_names_of_paths() -> None:
    linear, add = SIGNATURES["torch.nn.Linear"], SIGNATURES["torch.add"]
    assert parameter_name("args.1", add) == "other"
    assert parameter_name("args.2", add) == "#2"
    assert parameter_name("kwargs.alpha", add) == "alpha"
    assert parameter_name("args.0", linear) == "input"
    assert parameter_name("init.args.1", linear) == "out_features"
    assert parameter_name("init.kwargs.bias", None) == "bias"
    found = parameter_at("kwargs.alpha", add)
    assert found is not None and found.default == 1


def test_parameters_that_a_call_leaves_out() -> None:
    def absent(seed: int, api: str) -> list[str]:
        signature = SIGNATURES[api]
        assert signature is not None
        return [path for path, _ in absent_parameters(SEEDS[api][seed], signature)]

    assert absent(0, "torch.nn.functional.group_norm") == ["kwargs.eps"]
    assert absent(1, "torch.nn.functional.group_norm") == ["kwargs.weight", "kwargs.bias", "kwargs.eps"]
    assert absent(1, "torch.sum") == ["kwargs.dtype"]
    assert absent(0, "torch.nn.Linear") == ["init.kwargs.dtype"]
