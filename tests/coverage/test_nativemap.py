"""The map says where to plant, and turns hits into features named for good."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from evo_nabla.coverage.cache import Cache
from evo_nabla.coverage.elf import ElfFile
from evo_nabla.coverage.nativemap import NativeMap
from tests.native import build

from .test_elf import addresses

CPLUSPLUS = """
namespace torch { namespace autograd { namespace generated {
struct SinBackward0 { int apply(int x); int apply_with_saved(int x); };
int SinBackward0::apply(int x) { return x + 1; }
int SinBackward0::apply_with_saved(int x) { return x + 2; }
namespace details { int apply(int x) { return x + 3; } }
}}}
"""


class Module(NamedTuple):
    name: str
    path: str
    build_id: str


@pytest.fixture
def library(tmp_path: Path) -> Module:
    path = build(tmp_path / "library")
    return Module(path.name, str(path), ElfFile(path).build_id())


def planned(the_map: NativeMap, module: Module) -> list[int]:
    addresses: list[int] = np.load(the_map.plan([module])[module.name], allow_pickle=False).tolist()
    return addresses


def test_functions_first_then_the_blocks_of_those_reached(tmp_path: Path, library: Module) -> None:
    where = addresses(Path(library.path))
    with NativeMap(cache=Cache(tmp_path)) as the_map:
        assert set(where.values()) <= set(planned(the_map, library))
        hit = where["choose"]
        features, plant = the_map.translate([library], {"reverse": [f"0:{hit:x}"]})
        assert features == {"function": {"reverse": [f"libsmall.so:{hit:#x}"]}}
        blocks = plant["libsmall.so"]
        assert blocks
        assert all(hit < block < where["count"] or block > hit for block in blocks)
        features, more = the_map.translate([library], {"direct": [f"0:{blocks[0]:x}"]})
        assert features == {"block": {"direct": [f"libsmall.so:{blocks[0]:#x}"]}}
        assert more == {}
        left = planned(the_map, library)
        assert hit not in left
        assert blocks[0] not in left
        assert set(blocks[1:]) <= set(left)
        totals = the_map.totals()["libsmall.so"]
        assert (totals.functions, totals.blocks, totals.known_blocks) == (1, 1, len(blocks))
        named = the_map.describe(f"libsmall.so:{blocks[0]:#x}")
        assert (named.function, named.area, named.offset) == ("choose", "", blocks[0] - hit)
    assert list(tmp_path.rglob("leaders.npy"))


def test_a_campaign_that_goes_on_does_not_plant_what_it_has_seen(tmp_path: Path, library: Module) -> None:
    hit = addresses(Path(library.path))["count"]
    with NativeMap(cache=Cache(tmp_path)) as first:
        planned(first, library)
        _, plant = first.translate([library], {"direct": [f"0:{hit:x}"]})
    seen = [f"libsmall.so:{hit:#x}", f"libsmall.so:{plant['libsmall.so'][0]:#x}"]
    with NativeMap(seen, Cache(tmp_path)) as second:
        left = planned(second, library)
        assert hit not in left
        assert plant["libsmall.so"][0] not in left
        assert set(plant["libsmall.so"][1:]) <= set(left)


def test_rules_are_the_apply_functions_of_generated_classes(tmp_path: Path) -> None:
    path = build(tmp_path, "-x", "c++", source=CPLUSPLUS)
    module = Module(path.name, str(path), ElfFile(path).build_id())
    with NativeMap(cache=Cache(tmp_path)) as the_map:
        starts = planned(the_map, module)
        assert the_map.rules() == ["SinBackward0"]
        features, _ = the_map.translate([module], {"rr": [f"0:{start:x}" for start in starts]})
        assert features["rule"] == {"rr": ["SinBackward0"]}
        areas = {the_map.describe(name).area for name in features["function"]["rr"]}
        assert "torch::autograd" in areas


def test_a_library_that_cannot_be_mapped_is_skipped_with_its_reason(tmp_path: Path, library: Module) -> None:
    bare = build(tmp_path / "bare", "-Wl,--no-eh-frame-hdr", name="libbare.so")
    other = library._replace(name="libother.so", build_id="00")
    gone = Module("libgone.so", str(tmp_path / "libgone.so"), "ab")
    modules = [Module("libbare.so", str(bare), ElfFile(bare).build_id()), other, gone, library]
    with NativeMap(cache=Cache(tmp_path)) as the_map:
        assert set(the_map.plan(modules)) == {"libsmall.so"}
        assert the_map.skipped == {
            "libbare.so": "no section .eh_frame_hdr",
            "libother.so": "replaced by another build since the worker loaded it",
            "libgone.so": "No such file or directory",
        }


@pytest.mark.parametrize("hit", ["", "0", "7:1000", "0:zz", "0:ffffffffffff", "x:1000"])
def test_what_cannot_be_a_hit_is_refused(tmp_path: Path, library: Module, hit: str) -> None:
    with NativeMap(cache=Cache(tmp_path)) as the_map:
        the_map.plan([library])
        with pytest.raises(ValueError):
            the_map.translate([library], {"direct": [hit]})


def test_torch_has_711_rules(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    path = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    if not torch.__version__.startswith("2.13.0") or not path.exists():
        pytest.skip("the number is that of the CPU wheel of torch 2.13")
    with NativeMap(cache=Cache(tmp_path)) as the_map:
        the_map.plan([Module(path.name, str(path), ElfFile(path).build_id())])
        rules = the_map.rules()
    assert len(rules) == 711
    assert "AddmmBackward0" in rules
