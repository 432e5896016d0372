"""Tests of `evo-nabla check`: verdicts, exit codes, and what is said about bad lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run, json_lines

FIELDS = {"id", "call", "verdict", "kind", "suspect", "order", "discrepancy", "values", "reason"}
OPTIONS = ("--library", "torch", "--path", "code", "--json")


def test_one_verdict_a_line_and_exit_1_for_a_finding(run: Run, project: Path) -> None:
    done = run("check", "calls.jsonl", *OPTIONS, folder=project)
    assert done.returncode == 1, done.stderr
    wrong, right = json_lines(done.stdout)
    assert wrong.keys() == right.keys() == FIELDS
    assert (wrong["id"], wrong["verdict"], wrong["kind"], wrong["order"]) == ("wrong", "finding", "gradient", 1)
    assert wrong["suspect"] == "reverse"
    assert wrong["discrepancy"] > 1
    assert wrong["values"]["reverse"] != pytest.approx(wrong["values"]["numerical"], rel=0.1)
    assert wrong["call"]["x-note"] == "kept"
    assert wrong["call"]["id"] == "wrong"
    assert (right["id"], right["verdict"], right["kind"], right["suspect"]) == ("right", "agree", None, None)


def test_standard_input_and_no_finding(run: Run, project: Path) -> None:
    given = (project / "right.jsonl").read_text()
    done = run("check", "-", *OPTIONS, "--order", "1", folder=project, given=given)
    assert done.returncode == 0, done.stderr
    assert [line["verdict"] for line in json_lines(done.stdout)] == ["agree"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"api": "torch.sin", "args": [{"tensor": {"shape": [-3], "dtype": "float64", "fill": 0}}]}', "args.0"),
        ('{"api": "torch.sin", "args": [{"tenser": {}}]}', "tenser"),
        ('{"api": "torch.sin", "args": [', "JSON"),
        ("\udcff\udcfe", "UTF-8"),
    ],
)
def test_a_bad_line_is_one_error_with_its_place(run: Run, project: Path, line: str, problem: str) -> None:
    good = (project / "right.jsonl").read_bytes()
    (project / "bad.jsonl").write_bytes(good + line.encode("utf-8", "surrogateescape") + b"\n")
    done = run("check", "bad.jsonl", *OPTIONS, folder=project)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("evo-nabla: bad.jsonl:2: ")
    assert done.stderr.count("\n") == 1
    assert problem in done.stderr


def test_missing_files_and_unknown_libraries_are_named(run: Run, project: Path) -> None:
    for arguments, word in (
        (("check", "none.jsonl", *OPTIONS), "none.jsonl"),
        (("check", "calls.jsonl", "--library", "numpy"), "numpy"),
        (("check", "calls.jsonl", "--library", "torch", "--path", "nowhere"), "nowhere"),
        (("check", "calls.jsonl", "--library", "torch", "--python", "no/python"), "no/python"),
    ):
        done = run(*arguments, folder=project)
        assert done.returncode == 2, arguments
        assert word in done.stderr
        assert "Traceback" not in done.stderr


def test_an_interpreter_that_is_none_exits_with_4(run: Run, project: Path) -> None:
    (project / "fake").write_text("#!/bin/sh\nexit 1\n")
    (project / "fake").chmod(0o755)
    done = run("check", "calls.jsonl", "--library", "torch", "--python", "fake", folder=project)
    assert done.returncode == 4
    assert done.stderr.count("\n") == 1
