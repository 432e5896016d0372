"""Tests of what the command line says when it cannot do what it was told: one line, what to do, the documented code."""

from __future__ import annotations

import gzip
import json
import sqlite3
import subprocess
import venv
from pathlib import Path

import numpy
import pytest

from evo_nabla.campaign.errors import CampaignError
from evo_nabla.campaign.lock import CampaignLock
from evo_nabla.corpus.errors import StoreError
from evo_nabla.corpus.store import Store, sqlite_url

from .conftest import COMMAND, ENVIRONMENT, TENSOR, Run

CALL = json.dumps({"api": "torch.sin", "args": [TENSOR]})


def one_line(done: subprocess.CompletedProcess[str], code: int = 2) -> str:
    """The one line of an error; nothing else was printed."""
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert done.stderr.startswith("evo-nabla: ")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("fuzz", "torch", "--workers", "x"), ("'--workers'", "evo-nabla fuzz --help")),
        (("fuzz", "torch", "--budget"), ("'--budget'",)),
        (("check", "calls.jsonl"), ("'--library'",)),
        (("fuz",), ("'fuz'", "'fuzz'")),
    ],
)
def test_a_wrong_command_line_is_one_line(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    line = one_line(run(*arguments, folder=tmp_path))
    assert all(word in line for word in words), line


def test_a_full_output_is_no_traceback(tmp_path: Path) -> None:
    for environment in (ENVIRONMENT, {**ENVIRONMENT, "PYTHONUNBUFFERED": "1"}):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [*COMMAND, "--help"],
                cwd=tmp_path,
                env=environment,
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        assert done.returncode == 2
        assert done.stderr.startswith("evo-nabla: standard output cannot be written: No space left on device; ")
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("--strategy", "luck"),
        ("--seeds", "no.jsonl"),
        ("--seeds", "damaged.jsonl"),
        ("--python", "no/python"),
        ("--path", "no"),
        ("--folder", "file"),
        ("--folder", "file/below"),
    ],
)
def test_nothing_is_made_for_a_campaign_that_cannot_start(run: Run, tmp_path: Path, arguments: tuple[str, str]) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "damaged.jsonl").write_text(CALL[:-1])
    before = sorted(tmp_path.rglob("*"))
    folder = () if "--folder" in arguments else ("--folder", "new")
    done = run("fuzz", "torch", "--json", *folder, *arguments, folder=tmp_path)
    assert arguments[1].split("/")[0] in one_line(done)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(("place", "problem"), [("/proc/new", "No such file"), ("", r"Is a directory \(.*lock\)")])
def test_a_folder_that_cannot_be_locked_is_named(tmp_path: Path, place: str, problem: str) -> None:
    (tmp_path / "lock").mkdir()
    folder = Path(place or tmp_path)
    with pytest.raises(CampaignError, match=f"{folder} cannot be a campaign's folder: {problem}.*--folder"):
        CampaignLock(folder).acquire()


def foreign(file: Path, table: str = "person") -> None:
    connection = sqlite3.connect(file)
    connection.execute(f"CREATE TABLE {table} (name TEXT)")
    connection.commit()
    connection.close()


def test_another_programs_database_is_refused_and_left_alone(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "campaign.sqlite"
    foreign(file)
    before = file.read_bytes()
    for command in (("stats", "."), ("findings", "list", "."), ("fuzz", "torch", "--folder", ".", "--json")):
        line = one_line(run(*command, folder=tmp_path))
        assert "campaign.sqlite is another program's database" in line
        assert "sqlite:///" not in line
        assert "--fresh" in line
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["campaign.sqlite"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"This is no database, whatever its name says.", "damaged, or no campaign's store .file is not a database"),
        ("setting", "damaged, or no campaign's store"),
        ("person", "another program's database"),
    ],
)
def test_a_store_that_is_none_is_refused_whoever_opens_it(tmp_path: Path, content: bytes | str, message: str) -> None:
    file = tmp_path / "campaign.sqlite"
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        foreign(file, content)
    before = file.read_bytes()
    for create in (True, False):
        with pytest.raises(StoreError, match=message):
            Store(sqlite_url(file), create=create)
        if content != "setting":
            assert file.read_bytes() == before


def test_a_store_whose_making_was_cut_short_is_finished(tmp_path: Path) -> None:
    file = tmp_path / "campaign.sqlite"
    with Store(sqlite_url(file)) as store, store.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE operator")
    with Store(sqlite_url(file)) as store:
        assert store.operators() == []


INTERPRETERS = {
    "no NumPy": ("echo \"ModuleNotFoundError: No module named 'numpy'\" >&2; exit 1", "it has no NumPy; install it"),
    "no torch": ("echo \"ModuleNotFoundError: No module named 'torch'\" >&2; exit 1", "-m pip install torch"),
    "not executable": ("", "Permission denied; make it executable"),
}


@pytest.mark.parametrize("kind", INTERPRETERS)
def test_an_interpreter_that_cannot_run_the_library_is_named(run: Run, tmp_path: Path, kind: str) -> None:
    text, advice = INTERPRETERS[kind]
    file = tmp_path / "python"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755 if text else 0o644)
    (tmp_path / "calls.jsonl").write_text(CALL)
    line = one_line(run("check", "calls.jsonl", "--library", "torch", "--python", "python", folder=tmp_path), 4)
    assert f"torch cannot be run with {file}: " in line
    assert advice in line
    assert "--python" in line


def test_an_interpreter_without_the_library_leaves_no_folder(run: Run, tmp_path: Path) -> None:
    """A virtual environment that has NumPy, but not torch."""
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    (packages,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    for folder in Path(numpy.__file__).parents[1].glob("numpy*"):
        (packages / folder.name).symlink_to(folder)
    command = ("fuzz", "torch", "--apis", "torch.sin", "--folder", "new", "--json", "--budget", "1c")
    line = one_line(run(*command, "--python", "env/bin/python", folder=tmp_path), 4)
    assert f"torch cannot be run with {tmp_path}/env/bin/python: it has no torch; install it there" in line
    assert not (tmp_path / "new").exists()


def test_an_operator_that_cannot_be_imported_is_named_once(run: Run, tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text("def double(x):\n    return 2 * x\n")
    (tmp_path / "broken.py").write_text("import nowhere_to_be_found\n")
    calls = [{"api": api, "args": [TENSOR]} for api in ("good.double", "good.missing", "broken.f")]
    (tmp_path / "calls.jsonl").write_text("".join(json.dumps(call) + "\n" for call in calls))
    options = ("--path", ".", "--seeds", "calls.jsonl", "--folder", "new", "--workers", "1", "--json")
    line = one_line(run("fuzz", "torch", "--apis", "broken.*", *options, folder=tmp_path))
    assert "broken.f: cannot import broken: No module named 'nowhere_to_be_found'" in line
    assert "python -c 'import broken'" in line
    assert not (tmp_path / "new").exists()
    every = ("--apis", "broken.*", "--apis", "good.*", "--budget", "8c")
    done = run("fuzz", "torch", *every, *options, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("nowhere_to_be_found") == 1
    assert "good.missing: good has no 'missing'" in done.stderr
    assert "good.double" not in done.stderr


@pytest.mark.parametrize("name", ["calls.jsonl", "calls.jsonl.gz", "-"])
def test_a_file_without_calls_is_no_success(run: Run, tmp_path: Path, name: str) -> None:
    if name != "-":
        (tmp_path / name).write_bytes(gzip.compress(b"\n") if name.endswith(".gz") else b"\n")
    line = one_line(run("check", name, "--library", "torch", folder=tmp_path, given="\n"))
    assert f"{'standard input' if name == '-' else name}: holds no calls" in line
