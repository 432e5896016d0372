"""Tests of `evo-nabla fuzz` and the commands that read its campaign: a user's own operators, end to end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from evo_nabla.corpus.store import Store, sqlite_url

from .conftest import COMMAND, ENVIRONMENT, Run, json_lines

FUZZ = ("fuzz", "torch", "--apis", "mypkg.ops.*", "--path", "code", "--seeds", "calls.jsonl", "--workers", "1")
SQUARE = ("--apis", "mypkg.ops.square", "--path", "code", "--seeds", "calls.jsonl", "--workers", "1")


@pytest.fixture(scope="module")
def campaign(run: Run, project: Path) -> Path:
    """A campaign of 64 calls on the user's operators, at corpus/torch."""
    done = run(*FUZZ, "--budget", "64c", "--json", folder=project)
    assert done.returncode == 0, done.stderr
    summary = json_lines(done.stdout)[-1]
    assert summary["event"] == "summary"
    assert summary["calls"] == 64
    assert summary["visited"] == summary["apis"] == 2
    assert summary["findings"]["gradient"] >= 1
    return project / "corpus" / "torch"


def test_stats_and_findings_read_the_campaign(run: Run, project: Path, campaign: Path) -> None:
    done = run("stats", "--json", "--verify", folder=project)
    assert done.returncode == 0, done.stderr
    stats = json.loads(done.stdout)
    assert stats["calls"] == 64
    assert stats["settings"]["apis"] == ["mypkg.ops.*"]
    assert {api["name"] for api in stats["apis"]} == {"mypkg.ops.cube", "mypkg.ops.square"}
    assert stats["history"][-1]["calls"] == 64
    listed = json.loads(run("findings", "list", "--json", folder=project).stdout)
    wrong = next(row for row in listed if row["kind"] == "gradient")
    assert (wrong["api"], wrong["suspect"]) == ("mypkg.ops.cube", "reverse")
    shown = run("findings", "show", str(wrong["number"]), folder=project)
    assert shown.returncode == 0
    assert "mypkg.ops.cube" in shown.stdout
    for command in (("stats",), ("findings", "list")):
        assert run(*command, str(campaign), folder=project).returncode == 0
    missing = run("findings", "show", "nothing", folder=project)
    assert (missing.returncode, missing.stderr.count("\n")) == (2, 1)


def test_the_same_command_goes_on_and_another_is_refused(run: Run, project: Path, campaign: Path) -> None:
    before = json.loads(run("stats", "--json", folder=project).stdout)
    done = run(*FUZZ, "--budget", "32c", "--json", folder=project)
    assert done.returncode == 0, done.stderr
    summary = json_lines(done.stdout)[-1]
    assert summary["session_calls"] == 32
    assert summary["calls"] == before["calls"] + 32
    assert summary["generation"] > before["generation"]
    refused = run(*FUZZ, "--seed", "5", folder=project)
    assert refused.returncode == 2
    assert "begun with seed 0, not 5" in refused.stderr


def test_ctrl_c_ends_in_order_and_a_second_writer_is_refused(run: Run, project: Path, tmp_path: Path) -> None:
    command = [*COMMAND, *FUZZ, "--folder", str(tmp_path / "c"), "--json"]
    with subprocess.Popen(command, cwd=project, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        while json.loads(driver.stdout.readline())["calls"] == 0:
            time.sleep(0.01)
        second = run(*FUZZ, "--folder", str(tmp_path / "c"), folder=project)
        assert second.returncode == 3
        assert f"process {driver.pid}" in second.stderr
        os.kill(driver.pid, signal.SIGINT)
        rest = driver.stdout.read()
    assert driver.returncode == 0
    assert json_lines(rest)[-1]["event"] == "summary"
    assert run("stats", str(tmp_path / "c"), "--verify", folder=project).returncode == 0


def test_one_worker_and_one_seed_give_the_same_calls(run: Run, project: Path, tmp_path: Path) -> None:
    entries = []
    for name in ("a", "b"):
        command = ("fuzz", "torch", *SQUARE, "--seed", "3", "--budget", "96c", "--folder", str(tmp_path / name))
        done = run(*command, folder=project)
        assert done.returncode == 0, done.stderr
        with Store(sqlite_url(tmp_path / name / "campaign.sqlite"), create=False) as store:
            entries.append(([entry.hash for entry in store.entries()], store.state("random"), store.state("totals")))
    assert entries[0] == entries[1]
    assert len(entries[0][0]) > 1


def test_fresh_moves_the_old_campaign_aside(run: Run, project: Path, tmp_path: Path) -> None:
    for fresh in ((), ("--fresh",)):
        done = run("fuzz", "torch", *SQUARE, *fresh, "--budget", "8c", "--folder", str(tmp_path / "c"), folder=project)
        assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("c.*/campaign.sqlite"))) == 1
    stats = json.loads(run("stats", str(tmp_path / "c"), "--json", folder=project).stdout)
    assert stats["calls"] == 8


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("fuzz", "numpy"), "numpy"),
        (("fuzz", "torch", "--budget", "soon"), "soon"),
        (("fuzz", "torch", "--apis", "no.such.*", "--folder", "elsewhere"), "no.such.*"),
        (("fuzz", "torch", "--strategy", "luck", "--folder", "elsewhere"), "luck"),
        (("stats", "nowhere"), "nowhere"),
    ],
)
def test_what_cannot_be_done_is_one_line(run: Run, tmp_path: Path, arguments: tuple[str, ...], word: str) -> None:
    done = run(*arguments, folder=tmp_path)
    assert done.returncode == 2
    assert word in done.stderr
    assert "Traceback" not in done.stderr
