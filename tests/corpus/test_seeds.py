"""Seed files: indexed without parsing, errors with file and line, and the bundled file itself."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evo_nabla.call import Call, CallError, call_from_json, call_to_json
from evo_nabla.corpus.seeds import Seeds, bundled_path, bundled_seeds, user_seeds, write_seeds

GOOD = '{"api": "torch.sin", "args": [{"tensor": {"shape": [1], "dtype": "float64", "values": [1.0]}}]}'


def call(api: str, number: int) -> Call:
    return Call(api, (number,), extra=(("x-from", "test"),))


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    calls=st.lists(st.builds(call, st.sampled_from(["torch.b", "torch.a", "é.f"]), st.integers(-5, 5))),
    ending=st.sampled_from([".jsonl", ".jsonl.gz"]),
)
def test_what_is_written_is_read(tmp_path: Path, calls: list[Call], ending: str) -> None:
    path = tmp_path / f"seeds{ending}"
    assert write_seeds(path, calls) == len(calls)
    first = path.read_bytes()
    seeds = Seeds(path)
    assert len(seeds) == len(calls)
    assert seeds.apis() == sorted({one.api for one in calls})
    for api in seeds.apis():
        assert seeds.calls(api) == [one for one in calls if one.api == api]
    assert [call_to_json(one) for one in seeds] == [call_to_json(one) for one in sorted(calls, key=lambda c: c.api)]
    write_seeds(path, seeds)
    assert path.read_bytes() == first


def test_only_matching_apis_are_parsed(tmp_path: Path) -> None:
    path = tmp_path / "seeds.jsonl"
    path.write_text(f'{{"api":"torch.broken","args":[{{"tensor":{{}}}}]}}\n\n{GOOD}\n')
    seeds = Seeds(path)
    assert [one.api for one in seeds.matching(["torch.s*"])] == ["torch.sin"]
    assert seeds.calls("torch.absent") == []
    with pytest.raises(CallError, match=rf"{path}:1: args"):
        list(seeds)


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (f"{GOOD}\n{GOOD[:-20]}\n".encode(), ":2: "),
        (b"[1, 2]\n", ":1: "),
        (b'{"args": []}\n', ":1"),
        (b"\xff\xfe\n", ":1: "),
        (GOOD.replace("[1]", "[-1]").encode(), ":1: args.0.tensor.shape"),
        (b"\n \n", ": holds no calls"),
    ],
)
def test_a_users_file_is_checked_whole(tmp_path: Path, content: bytes, place: str) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(content)
    with pytest.raises(CallError) as caught:
        user_seeds(path)
    assert str(caught.value).startswith(f"{path}{place}")
    assert "\n" not in str(caught.value)


def test_missing_and_damaged_files(tmp_path: Path) -> None:
    with pytest.raises(CallError, match="cannot be read: No such file"):
        user_seeds(tmp_path / "absent.jsonl")
    damaged = tmp_path / "calls.jsonl.gz"
    damaged.write_bytes(gzip.compress(GOOD.encode())[:-12])
    with pytest.raises(CallError, match="damaged gzip data"):
        Seeds(damaged)
    with pytest.raises(CallError, match="evo-nabla seeds harvest nolibrary"):
        bundled_seeds("nolibrary")


def test_the_bundled_seeds_of_torch_are_whole() -> None:
    path = bundled_path("torch")
    assert path.stat().st_size <= 6 * 2**20
    seeds = bundled_seeds("torch")
    apis = seeds.apis()
    assert len(apis) >= 1500
    kinds = (
        "torch.Tensor.",
        "torch.nn.functional.",
        "torch.linalg.",
        "torch.special.",
        "torch.fft.",
        "torch.ops.aten.",
    )
    for kind in (*kinds, "torch.nn.", "torch.distributions.transforms."):
        assert sum(api.startswith(kind) for api in apis) >= 18, kind
    for api in apis[::40]:
        for one in seeds.calls(api):
            assert call_from_json(json.loads(json.dumps(call_to_json(one)))) == one
            assert dict(one.extra)["x-from"]
