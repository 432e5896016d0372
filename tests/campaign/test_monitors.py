"""Tests of the monitors: the screen fits its terminal, the log's lines and the JSON say the same."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from evo_nabla.campaign.monitors import JsonMonitor, PlainMonitor, ScreenMonitor
from evo_nabla.campaign.progress import Progress
from evo_nabla.campaign.screen import render
from evo_nabla.corpus.store import OperatorYield

PROGRESS = Progress(
    target="torch 2.13.0+cpu",
    strategy="evo",
    phase="evolving",
    seconds=7383.0,
    calls=1_234_567,
    session_seconds=63.0,
    session_calls=20_000,
    calls_per_second=311.4,
    valid=1_000_000,
    differentiated=900_000,
    visited=512,
    apis=702,
    generation=4711,
    entries=3456,
    since_feature=12.5,
    features={"line": 23456, "native": 98765},
    findings={"gradient": 7, "crash": 2},
    confirmed=8,
    pending=1,
    inconclusive={f"reason {i}": 100 - i for i in range(20)},
    restarts=3,
    crashes=2,
    hangs=1,
    operators=tuple(OperatorYield(f"values.op{i}", 1000, 900, 80, 70.0, 6, 0.1) for i in range(8)),
    current=("torch.nn.functional.gelu",) * 6,
    budget="2m 00s",
)


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (200, 60)])
def test_the_screen_fits_and_shows_what_matters(width: int, height: int) -> None:
    console = Console(file=io.StringIO(), width=width, height=height, record=True, force_terminal=False)
    console.print(render(PROGRESS, width, height), height=height - 1)
    lines = console.export_text().splitlines()
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for shown in ("2h 03m", "1,234,567", "311 now", "317 overall", "81.0%", "72.9%", "512 of 702", "4,711", "3,456"):
        assert shown in text
    for shown in (
        "12s ago",
        "23,456",
        "98,765",
        "9, 8 confirmed",
        "line features",
        "inconclusive",
        "2 / 1",
        "values.op7",
        "gelu",
        "Ctrl-C",
    ):
        assert shown in text


def test_the_screen_survives_a_small_terminal_and_an_empty_campaign() -> None:
    empty = replace(PROGRESS, features={}, findings={}, inconclusive={}, operators=(), current=(), calls=0, valid=0)
    for width, height in ((20, 5), (1, 1), (80, 24)):
        console = Console(file=io.StringIO(), width=width, height=height)
        console.print(render(empty, width, height))


def test_the_live_screen_draws_and_leaves() -> None:
    console = Console(file=io.StringIO(), width=80, height=24, force_terminal=True)
    with ScreenMonitor(console) as monitor:
        assert monitor.due()
        assert not monitor.due()
        monitor.show(PROGRESS)
    assert "512 of 702" in console.file.getvalue()  # type: ignore[attr-defined]


def test_plain_and_json_lines_say_the_same() -> None:
    plain, lines = io.StringIO(), io.StringIO()
    with PlainMonitor(file=plain) as first, JsonMonitor(file=lines) as second:
        first.show(PROGRESS)
        second.show(PROGRESS)
    assert plain.getvalue().count("\n") == lines.getvalue().count("\n") == 1
    document = json.loads(lines.getvalue())
    assert document["event"] == "progress"
    assert document["valid_rate"] == 0.81
    assert document["operators"][0]["operator"] == "values.op0"
    for part in ("calls=1234567", "valid=81.0%", "apis=512/702", "line=23456", "findings=9", "crashes=2"):
        assert part in plain.getvalue()
