"""Measurements survive being saved, merge like sets, and are refused with the place when they are damaged."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import coverage
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evo_nabla.coverage import datafile, lcov
from evo_nabla.coverage.areas import Row, by_area
from evo_nabla.coverage.errors import MeasurementError
from evo_nabla.coverage.measurement import Build, Measurement, load, merge_all, save
from evo_nabla.coverage.nativemap import Named
from evo_nabla.coverage.unreached import OTHER, by_reason

BUILD = Build("libsmall.so", "/somewhere/torch/lib/libsmall.so", "ab12")
SMALL = Measurement(
    title="a run",
    library="torch",
    versions=("2.13.0",),
    builds=(BUILD,),
    features={"function": frozenset({"libsmall.so:0x10"}), "line": frozenset({"torch/a.py:3", "torch/a.py:4"})},
    missing={},
    root="/somewhere",
)

native = st.builds("libsmall.so:{:#x}".format, st.integers(0, 2**48))
lines = st.builds("{}:{}".format, st.text(min_size=1, max_size=8), st.integers(1, 99999))
KINDS = {"function": native, "block": native, "line": lines, "rule": st.text(max_size=8)}
measurements = st.builds(
    Measurement,
    title=st.text(max_size=8),
    library=st.just("torch"),
    versions=st.lists(st.text(max_size=5), max_size=2).map(tuple),
    builds=st.just((BUILD,)),
    features=st.fixed_dictionaries({}, optional={k: st.frozensets(n, max_size=5) for k, n in KINDS.items()}),
    missing=st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2),
    root=st.text(max_size=5),
)


class SmallNames:
    """Knows the one function of the small library."""

    def describe(self, feature: str) -> Named:
        if feature != "libsmall.so:0x10":
            raise ValueError(feature)
        return Named("libsmall.so", "at::native::choose(int)", "at::native", 0)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(measurement=measurements, packed=st.booleans())
def test_a_saved_measurement_is_read_back(tmp_path: Path, measurement: Measurement, packed: bool) -> None:
    path = tmp_path / ("m.json.gz" if packed else "m.json")
    save(measurement, path)
    assert load(path) == measurement


@given(measurements, measurements)
def test_merging_is_a_union_and_what_is_missing_is_the_difference(a: Measurement, b: Measurement) -> None:
    both = a.merged(b)
    for kind in {*a.features, *b.features}:
        ours, theirs = a.features.get(kind, frozenset()), b.features.get(kind, frozenset())
        assert both.features[kind] == ours | theirs
        assert a.minus(b).get(kind, frozenset()) == ours - theirs
    assert merge_all([a, b, a]).features == both.features


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_damage_is_an_error_that_names_the_file(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "m.json"
    save(SMALL, path)
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    path.write_bytes(data.draw(st.sampled_from([whole[:at], whole[:at] + b"\xff" + whole[at + 1 :], b"[]", b"{}"])))
    try:
        load(path)
    except MeasurementError as error:
        assert str(path) in str(error)
    path.unlink()


def test_the_place_of_a_wrong_value_is_named(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    save(SMALL, path)
    document = json.loads(path.read_text())
    document["features"]["line"] = ["a.py:1", 7]
    path.write_text(json.dumps(document))
    with pytest.raises(MeasurementError, match=r"m\.json: features\.line: a list of texts expected"):
        load(path)
    document["features"]["line"], document["features"]["function"] = [], ["libsmall.so:-0x1"]
    path.write_text(json.dumps(document))
    with pytest.raises(MeasurementError, match=r"features\.function: 'libsmall\.so:-0x1' is no name of a function"):
        load(path)
    with pytest.raises(MeasurementError, match="cannot be read: No such file"):
        load(tmp_path / "none.json")
    (tmp_path / "plain.gz").write_text("not packed")
    with pytest.raises(MeasurementError, match="cannot be read"):
        load(tmp_path / "plain.gz")


def test_other_builds_are_not_compared() -> None:
    other = replace(SMALL, title="another", builds=(BUILD._replace(build_id="cd34"),))
    with pytest.raises(MeasurementError, match=r"different builds of libsmall\.so"):
        SMALL.minus(other)
    with pytest.raises(MeasurementError, match="measured torch, another jax"):
        SMALL.merged(replace(other, library="jax"))


def test_areas_are_namespaces_files_and_libraries() -> None:
    features = {"function": ["libsmall.so:0x10", "libsmall.so:0x99"], "line": SMALL.features["line"], "rule": ["Sin"]}
    assert by_area(features, SmallNames()) == [
        Row("function", "at::native", 1),
        Row("function", "libsmall.so", 1),
        Row("line", "torch/a.py", 2),
        Row("rule", "differentiation rules", 1),
    ]


def test_lcov_names_every_function_in_its_area() -> None:
    stream = io.StringIO()
    assert lcov.write(SMALL, SmallNames(), stream) == 1
    assert stream.getvalue().splitlines() == [
        "TN:",
        "SF:libsmall.so/at/native",
        "FN:16,at::native::choose(int)",
        "FNDA:1,at::native::choose(int)",
        "FNF:1",
        "FNH:1",
        "end_of_record",
    ]


def test_coverage_py_reads_its_own_format(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "a.py").write_text("x = 1\ny = 2\nz = 3\nw = 4\n")
    assert datafile.write(replace(SMALL, root=str(tmp_path)), tmp_path / "data") == 2
    report = io.StringIO()
    measured = coverage.Coverage(data_file=str(tmp_path / "data"), config_file=False)
    measured.load()
    assert measured.report(file=report) == 50.0
    assert "a.py" in report.getvalue()


def test_rules_are_sorted_by_what_their_names_say() -> None:
    found = by_reason(["ForeachAddBackward0", "CudnnRnnBackward0", "SinBackward0", "SparseMaskBackward0"])
    assert found[OTHER] == ["SinBackward0"]
    assert sorted(name for group in found.values() for name in group) == [
        "CudnnRnnBackward0",
        "ForeachAddBackward0",
        "SinBackward0",
        "SparseMaskBackward0",
    ]
