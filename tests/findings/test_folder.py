"""The folder of findings: whole or not at all, never overwritten, read back as it was written."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evo_nabla.call import call_from_json
from evo_nabla.executor import Crash
from evo_nabla.executor import Finding as Observation
from evo_nabla.findings import Finding, FindingError, FindingsFolder, Signature, Versions, read_finding
from evo_nabla.findings.folder import FINDING, REPORT, REPRO
from evo_nabla.findings.source import call_as_python, call_source

from .conftest import bug, written

SIGNATURE = Signature("torch.ldexp", "gradient", "reverse+forward", 1, "double", "")
FOUND = Finding(
    signature=SIGNATURE,
    call=call_from_json({"api": "torch.ldexp", "args": [written([1.0]), written([-1], "int64")]}),
    original=bug("ldexp"),
    observation=Observation(
        "gradient",
        "reverse+forward",
        1,
        1e7,
        {"reverse": 0.0, "forward": 0.0, "numerical": 0.5},
        "reverse and forward disagree with numerical",
        {"error_bar": 1e-12},
    ),
    versions=Versions("torch", "2.13.0", "3.11.7", "2.4.6", "Linux x86_64"),
    first_seen="2026-01-02T03:04:05+00:00",
    sightings=3,
    provenance={"seed": 0, "operator": "dtype", "parents": ["ab", "cd"]},
    seen=2,
    runs=2,
    shrinking_runs=41,
    shrunk_completely=True,
    float64="the call above is in double precision already.",
    evo_nabla="0.1.0",
)


def contents(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_finding_is_a_folder_of_three_files(tmp_path: Path) -> None:
    name = FindingsFolder(tmp_path).write(FOUND)
    assert name == f"0001-torch.ldexp-gradient-reverse+forward-o1-{SIGNATURE.hash}"
    assert contents(tmp_path) == {name} and contents(tmp_path / name) == {FINDING, REPORT, REPRO}


def test_it_is_read_back_as_it_was(tmp_path: Path) -> None:
    name = FindingsFolder(tmp_path).write(FOUND)
    assert FindingsFolder(tmp_path).read() == ({name: FOUND}, [])


def test_what_is_not_finite_survives(tmp_path: Path) -> None:
    observation = dataclasses.replace(FOUND.observation, discrepancy=math.inf, values={"reverse": -math.inf})
    crash = Crash("SIGSEGV", None, "tail", confirmed=True)
    found = dataclasses.replace(FOUND, observation=observation, aliases=(SIGNATURE.seen_with("half"),), crash=crash)
    name = FindingsFolder(tmp_path).write(found)
    assert read_finding(tmp_path / name / FINDING) == found


def test_numbers_go_on_and_nothing_is_overwritten(tmp_path: Path) -> None:
    first = FindingsFolder(tmp_path).write(FOUND)
    before = (tmp_path / first / REPORT).read_text()
    second = FindingsFolder(tmp_path).write(dataclasses.replace(FOUND, sightings=9))
    assert second.startswith("0002-") and (tmp_path / first / REPORT).read_text() == before


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    folder = FindingsFolder(tmp_path)
    with pytest.raises(TypeError):
        folder.write(dataclasses.replace(FOUND, provenance={"operator": object()}))
    assert contents(tmp_path) == set()


def test_what_a_kill_left_is_cleared(tmp_path: Path) -> None:
    (tmp_path / ".new-abc").mkdir()
    (tmp_path / ".new-abc" / REPORT).write_text("half")
    folder = FindingsFolder(tmp_path)
    assert contents(tmp_path) == set() and folder.read() == ({}, [])


def test_sightings_change_the_json_alone(tmp_path: Path) -> None:
    folder = FindingsFolder(tmp_path)
    name = folder.write(FOUND)
    report = (tmp_path / name / REPORT).read_bytes()
    folder.update(name, FOUND.sighted(8, ()))
    assert read_finding(tmp_path / name / FINDING).sightings == 8
    assert (tmp_path / name / REPORT).read_bytes() == report and len(contents(tmp_path / name)) == 3


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"format": 99}, "finding.format"),
        ({"sightings": "many"}, "finding.sightings"),
        ({"call": {"api": "torch.add", "args": [{"tensor": 3}]}}, "finding.call: args.0.tensor"),
        ({"signature": {"api": 1}}, "finding.signature: signature.api"),
        ({"versions": {}}, "finding.versions.library"),
        ({"observation": None}, "finding.observation"),
    ],
)
def test_a_broken_one_is_named_and_kept(change: dict[str, object], place: str, tmp_path: Path) -> None:
    folder = FindingsFolder(tmp_path)
    good, bad = folder.write(FOUND), folder.write(FOUND)
    file = tmp_path / bad / FINDING
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    damaged = file.read_text()
    findings, problems = folder.read()
    assert list(findings) == [good] and len(problems) == 1
    assert problems[0].startswith(f"{bad}/{FINDING}: ") and place in problems[0]
    assert file.read_text() == damaged


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.binary(max_size=60))
def test_any_file_is_read_or_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FINDING).write_bytes(content)
    with pytest.raises(FindingError, match=FINDING):
        read_finding(tmp_path / FINDING)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "0003-x").mkdir()
    _, problems = FindingsFolder(tmp_path).read()
    assert len(problems) == 1 and problems[0].startswith("0003-x/finding.json")


def test_names_of_apis_cannot_leave_the_folder(tmp_path: Path) -> None:
    signature = dataclasses.replace(SIGNATURE, api="../../x/y", suspect="a b/\n")
    name = FindingsFolder(tmp_path).write(dataclasses.replace(FOUND, signature=signature))
    assert contents(tmp_path) == {name} and "/" not in name


def test_a_call_that_cannot_be_written_still_gives_a_report(tmp_path: Path) -> None:
    call = call_from_json({"api": "torch.add", "args": [written([1.0])], "kwargs": {"größe": 1}})
    name = FindingsFolder(tmp_path).write(dataclasses.replace(FOUND, call=call))
    assert contents(tmp_path / name) == {FINDING, REPORT}
    assert "'größe' is not a name" in (tmp_path / name / REPORT).read_text()


def test_the_report_says_what_a_maintainer_asks(tmp_path: Path) -> None:
    name = FindingsFolder(tmp_path).write(FOUND)
    report = (tmp_path / name / REPORT).read_text()
    for expected in (
        "# torch.ldexp: first derivatives of different modes disagree",
        "| torch | 2.13.0 |",
        "y = torch.ldexp(a0, a1)",
        "| numerical | `0.5` |",
        "stands against numerical",
        "rtol = 1e-3 and atol = 1e-5",
        "double precision already",
        "python repro.py",
        "2026-01-02T03:04:05+00:00",
        "2 of 2 runs",
        "| operator | `dtype` |",
    ):
        assert expected in report


def test_text_cannot_leave_its_fence(tmp_path: Path) -> None:
    observation = dataclasses.replace(FOUND.observation, message="oops\n```\n# not a heading")
    name = FindingsFolder(tmp_path).write(dataclasses.replace(FOUND, observation=observation))
    assert (tmp_path / name / REPORT).read_text().count("```") == 4


@pytest.mark.parametrize(
    ("api", "tensor", "expected"),
    [
        ("mypkg.ops.f", written([1.0]), "from mypkg.ops import f\n"),
        ("torch.exp", {"tensor": {"shape": [1], "dtype": "float64", "values": [{"float": "nan"}]}}, "from math import"),
        ("torch.nanmean", written([1.0]), "import torch\n\na0"),
    ],
)
def test_the_code_in_the_report_stands_alone(api: str, tensor: object, expected: str) -> None:
    code = call_as_python(call_source(call_from_json({"api": api, "args": [tensor]})))
    assert expected in code and "locate" not in code and ("math" in code) == ("math" in expected)
