"""The build-id, code, function starts and symbols of real libraries and of small ones; damaged files are refused."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evo_nabla.coverage.elf import ElfFile, Image
from evo_nabla.coverage.errors import ImageError
from evo_nabla.coverage.names import SymbolNames
from tests.native import build

NAMES = {"leaf", "choose", "count", "spin"}


def addresses(path: Path) -> dict[str, int]:
    """What the linker says of the functions."""
    done = subprocess.run(["nm", str(path)], capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    return {row[2]: int(row[0], 16) for row in rows if len(row) == 3 and row[2] in NAMES}


def test_starts_and_names_of_a_small_library(tmp_path: Path) -> None:
    path = build(tmp_path)
    file = ElfFile(path)
    image = file.image()
    expected = addresses(path)
    assert set(expected) == NAMES
    assert set(expected.values()) <= set(image.starts.tolist())
    assert len(image.build_id) == 40
    names = SymbolNames(file.symbols())
    assert {names.at(address) for address in expected.values()} == NAMES
    assert names.at(expected["leaf"] + 1) is None
    assert image.text[1] - image.text[0] == len(file.code())


def test_a_stripped_library_keeps_its_starts_and_exported_names(tmp_path: Path) -> None:
    path = build(tmp_path)
    before, where = ElfFile(path).image(), addresses(path)
    subprocess.run(["strip", "--strip-all", str(path)], check=True)
    after = ElfFile(path)
    assert after.image().starts.tolist() == before.starts.tolist()
    assert SymbolNames(after.symbols()).at(where["leaf"]) == "leaf"


def test_the_linkage_table_is_no_function(tmp_path: Path) -> None:
    source = "int puts(const char *); int greet(void) { return puts(0); }"
    image = ElfFile(build(tmp_path, source=source)).image()
    low, high = image.text
    assert ((image.starts >= low) & (image.starts < high)).all()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["-Wl,--no-eh-frame-hdr"], "no section .eh_frame_hdr"),
        (["-Wl,--build-id=none"], "no section .note.gnu.build-id"),
    ],
)
def test_a_library_without_what_is_needed_is_refused_in_words(tmp_path: Path, options: list[str], problem: str) -> None:
    path = build(tmp_path, *options)
    with pytest.raises(ImageError, match=problem) as caught:
        ElfFile(path).image()
    assert f"{caught.value}".startswith(f"{path}: ")


def test_an_unknown_encoding_is_refused(tmp_path: Path) -> None:
    path = build(tmp_path)
    data = bytearray(path.read_bytes())
    head = data.find(bytes([1, 0x1B, 0x03, 0x3B]))
    data[head + 3] = 0x1B
    path.write_bytes(data)
    with pytest.raises(ImageError, match=r"encoded as 0x1b and not 0x3b"):
        ElfFile(path).image()


@pytest.mark.parametrize(
    ("content", "problem"), [(b"", "empty"), (b"#!/bin/sh\n" * 20, "not a sound ELF file"), (None, "No such file")]
)
def test_what_is_no_library_is_refused(tmp_path: Path, content: bytes | None, problem: str) -> None:
    path = tmp_path / "libnone.so"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ImageError, match=problem):
        ElfFile(path)


def read_all(path: Path) -> Image | None:
    """Everything the map would ask of a file; None where it is refused."""
    try:
        file = ElfFile(path)
        image = file.image()
        names = SymbolNames(file.symbols())
        for start in image.starts[:50].tolist():
            names.at(start)
        names.beginning_with("_ZN")
        return image
    except ImageError:
        return None


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("small"))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_file_gives_an_answer_or_the_one_error(small: Path, tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(small.read_bytes())
    headers = len(content) - 64 * int.from_bytes(content[60:62], "little")
    path = tmp_path / "libdamaged.so"
    for _ in range(data.draw(st.integers(0, 12))):
        # Where damage matters: the header, the program and note tables, the section headers; and anywhere.
        low, high = data.draw(st.sampled_from([(0, 1024), (headers, len(content)), (0, len(content))]))
        content[data.draw(st.integers(low, high - 1))] = data.draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]))
    path.write_bytes(content[: data.draw(st.one_of(st.just(len(content)), st.integers(0, len(content))))])
    read_all(path)


def test_torch_libraries(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    folder = Path(torch.__file__).parent / "lib"
    if not (folder / "libtorch_cpu.so").exists():
        pytest.skip("this torch keeps its code elsewhere")
    for name, at_least in (("libtorch_cpu.so", 100_000), ("libtorch_python.so", 10_000), ("libc10.so", 1_000)):
        file = ElfFile(folder / name)
        image = file.image()
        assert len(image.starts) >= at_least
        if torch.__version__.startswith("2.13.0") and name == "libtorch_cpu.so":
            assert len(image.starts) == 335_119
        symbols = file.symbols()
        assert len(symbols.addresses) >= at_least
        assert (symbols.addresses[1:] >= symbols.addresses[:-1]).all()


def test_a_cut_torch_library_is_refused(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    whole = Path(torch.__file__).parent / "lib" / "libc10.so"
    path = tmp_path / "libc10.so"
    shutil.copy(whole, path)
    for size in (10, 64, 5000, whole.stat().st_size // 2, whole.stat().st_size - 1):
        with path.open("r+b") as stream:
            stream.truncate(size)
        with pytest.raises(ImageError):
            ElfFile(path).image()
        shutil.copy(whole, path)
