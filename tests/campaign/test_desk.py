"""Tests of the findings desk: a finding counts as confirmed before it is small, and is not forgotten in between."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from evo_nabla.call import Call, call_from_json
from evo_nabla.campaign import desk as desk_module
from evo_nabla.campaign.desk import Desk
from evo_nabla.corpus.store import FindingSummary
from evo_nabla.evolution.feedback import Offspring
from evo_nabla.executor import Finding, Report, WorkerSettings
from evo_nabla.findings import Versions

SETTINGS = WorkerSettings(Path(sys.executable), "torch")
VERSIONS = Versions("torch", "2.13.0", "3.11.7", "2.4.6", "Linux x86_64")
WRONG = Report("ok", "finding", findings=(Finding("gradient", "reverse", 1, 2.0, {}, "", {}),))
CALL = call_from_json({"api": "torch.some", "args": [{"tensor": {"shape": [3], "dtype": "float64", "fill": 0.5}}]})


class FakeWorker:
    """In which every call shows the bug."""

    def __init__(self, settings: WorkerSettings) -> None:
        assert settings.observers == ()

    def __enter__(self) -> FakeWorker:
        return self

    def __exit__(self, *_: object) -> None: ...

    def abort(self) -> None: ...

    def run_apart(self, calls: Sequence[Call], *, thorough: bool = False) -> list[Report]:
        return [WRONG for _ in calls]


def test_a_confirmed_finding_is_recorded_before_it_is_shrunk_and_shrunk_in_the_next_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk_module, "Worker", FakeWorker)
    ticks = iter(range(10**9))
    monkeypatch.setattr("evo_nabla.findings.collector.time", SimpleNamespace(monotonic=lambda: next(ticks)))
    one_step = 1.5
    rows: dict[str, FindingSummary] = {}

    def keep(changed: list[FindingSummary]) -> list[tuple[str, bool]]:
        rows.update({row.signature: row for row in changed})
        return [(row.status, bool(row.folder)) for row in rows.values()]

    with Desk(tmp_path, SETTINGS, VERSIONS, {}) as desk:
        assert keep(desk.consider(Offspring(CALL, (), ()), WRONG, 1)) == [("new", False)]
        assert keep(desk.turn(one_step)) == [("new", False)]
        assert keep(desk.turn(0.0, wait=30.0)) == [("confirmed", False)]
        assert (desk.pending, desk.unshrunk, desk.unfinished) == (0, 1, True)
    with Desk(tmp_path, SETTINGS, VERSIONS, rows) as desk:
        assert (desk.pending, desk.unshrunk) == (0, 1)
        desk.turn(30.0)
        assert keep(desk.turn(0.0, wait=30.0)) == [("confirmed", True)]
        assert not desk.unfinished
