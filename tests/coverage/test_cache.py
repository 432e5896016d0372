"""What the cache keeps comes back; what is damaged counts as missing."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from evo_nabla.coverage.cache import Cache, cache_folder

TEXT = (0x1000, 0x2000)
STARTS = np.array([0x1000, 0x1100, 0x1800], np.uint64)
LEADERS = {0x1000: (0x1010, 0x1020), 0x1100: ()}


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    assert cache.starts("ab", TEXT) is None
    assert cache.leaders("ab", TEXT) == {}
    cache.keep_starts("ab", STARTS)
    cache.keep_leaders("ab", TEXT, LEADERS)
    cache.keep_leaders("ab", TEXT, {0x1800: (0x1900,)})
    again = Cache(tmp_path)
    found = again.starts("ab", TEXT)
    assert found is not None
    assert found.tolist() == STARTS.tolist()
    assert again.leaders("ab", TEXT) == {**LEADERS, 0x1800: (0x1900,)}
    assert again.starts("cd", TEXT) is None


@pytest.mark.parametrize(
    "content",
    [b"", b"nonsense", b"\x93NUMPY\x01\x00\x10\x00{'descr': __import__}", b"\x93NUMPY\x01\x00"],
)
def test_damaged_files_count_as_missing_and_are_replaced(tmp_path: Path, content: bytes) -> None:
    cache = Cache(tmp_path)
    cache.keep_starts("ab", STARTS)
    cache.keep_leaders("ab", TEXT, LEADERS)
    for path in tmp_path.rglob("*.npy"):
        path.write_bytes(content)
    assert cache.starts("ab", TEXT) is None
    assert cache.leaders("ab", TEXT) == {}
    cache.keep_leaders("ab", TEXT, LEADERS)
    assert cache.leaders("ab", TEXT) == LEADERS


def test_arrays_that_cannot_be_right_count_as_missing(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.keep_starts("ab", STARTS)
    cache.keep_leaders("ab", TEXT, LEADERS)
    assert cache.starts("ab", (0x1000, 0x1400)) is None
    assert cache.leaders("ab", (0x1000, 0x1008)) == {}
    cache.keep_starts("ab", STARTS[::-1].copy())
    assert cache.starts("ab", TEXT) is None
    path = next(tmp_path.rglob("starts.npy"))
    np.save(path, np.array([{"a": 1}], object), allow_pickle=True)
    assert cache.starts("ab", TEXT) is None


def test_writers_at_once_leave_a_whole_file(tmp_path: Path) -> None:
    def write(base: int) -> None:
        for k in range(20):
            Cache(tmp_path).keep_leaders("ab", TEXT, {base + k: (base + k + 1,)})

    threads = [threading.Thread(target=write, args=(0x1000 + 0x100 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Cache(tmp_path).leaders("ab", TEXT)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["leaders.npy"]


def test_a_folder_that_cannot_be_written_to_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file")
    cache.keep_starts("ab", STARTS)
    assert cache.starts("ab", TEXT) is None


def test_the_cache_is_where_the_user_keeps_caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "evo_nabla"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "evo_nabla"
