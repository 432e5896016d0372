"""Files of calls: round trips, and errors that name file and line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evo_nabla.call import Call, CallError, read_calls, write_calls
from evo_nabla.corpus.seeds import Seeds

from .strategies import calls

GOOD = '{"api": "torch.add", "args": [1]}\n'
NEGATIVE = "args.0.tensor.shape[1]: negative dimension -3"


@pytest.mark.parametrize("name", ["calls.jsonl", "calls.jsonl.gz"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(found=st.lists(calls(), max_size=4))
def test_round_trip(tmp_path: Path, name: str, found: list[Call]) -> None:
    path = tmp_path / name
    assert write_calls(path, found) == len(found)
    assert list(read_calls(path)) == found
    first = path.read_bytes()
    write_calls(str(path), read_calls(str(path)))
    assert path.read_bytes() == first
    assert [item.name for item in tmp_path.iterdir()] == [name]


def test_blank_lines_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text(GOOD + "\n  \n" + GOOD.strip())
    assert len(list(read_calls(path))) == 2


@pytest.mark.parametrize("content", ["", GOOD])
def test_a_byte_order_mark_is_no_content(tmp_path: Path, content: str) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text(content, encoding="utf-8-sig")
    assert len(list(read_calls(path))) == len(content.splitlines()) == len(Seeds(path))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"api": "torch.add", "args": [{"tensor": {"shape": [2, -3]}}]}', "args.0.tensor.dtype: missing"),
        (b'{"api": "a.b", "args": [{"tensor": {"shape": [2, -3], "dtype": "bool"}}]}', NEGATIVE),
        (b'{"api": "torch.add", "args": [', "not JSON: Expecting value at column 31"),
        (b'{"api": "torch.add\xe9"}', "not UTF-8: byte 18 is 0xe9"),
        (b'{"api": "torch.ad', "not JSON: Unterminated string starting at column 9"),
        (b'{"api": "a.b", "args": [0, -' + b"7" * 5000 + b"]}", "args.1: integer of 16610 bits, more than 2048"),
        (b"[]", "a call is a JSON object, not a list of 0"),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, line: bytes, message: str) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(GOOD.encode() + b"\n" + line + b"\n" + GOOD.encode())
    calls = read_calls(path)
    assert next(calls).args == (1,)
    with pytest.raises(CallError) as caught:
        next(calls)
    assert str(caught.value) == f"{path}:3: {message}"


def test_damaged_and_missing_files(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl.gz"
    with pytest.raises(CallError, match=r"calls\.jsonl\.gz: cannot be read: No such file"):
        list(read_calls(path))
    path.write_bytes(b"not gzip at all")
    with pytest.raises(CallError, match=r"calls\.jsonl\.gz:1: damaged gzip data"):
        list(read_calls(path))
    whole = gzip.compress(GOOD.encode() * 1000)
    path.write_bytes(whole[:-9])
    with pytest.raises(CallError, match=r"calls\.jsonl\.gz:\d+: damaged gzip data"):
        list(read_calls(path))
    middle = len(whole) // 2
    path.write_bytes(whole[:middle] + b"\xff" * 20 + whole[middle + 20 :])
    with pytest.raises(CallError, match=r"calls\.jsonl\.gz:\d+: "):
        list(read_calls(path))
    with pytest.raises(CallError, match="cannot be read: Is a directory"):
        list(read_calls(tmp_path))


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text(GOOD)

    def failing() -> object:
        yield Call("torch.add")
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        write_calls(path, failing())  # type: ignore[arg-type]
    assert path.read_text() == GOOD
    assert list(tmp_path.iterdir()) == [path]
