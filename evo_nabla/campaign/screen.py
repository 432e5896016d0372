"""The live screen: one snapshot drawn to fit the terminal, 80 by 24 or larger."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.layout import Layout
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from evo_nabla.coverage.nativemap import RULE

from .budget import duration
from .progress import Progress

Rows = Iterable[tuple[str, str]]


def render(progress: Progress, width: int, height: int) -> RenderableType:
    """Draw a snapshot on `width` columns and `height` lines; what does not fit is cut from the long lists."""
    lower = max(4, height - 15)
    layout = Layout()
    layout.split_column(
        Layout(_title(progress, width), size=1),
        Layout(name="upper", size=8),
        Layout(name="middle", size=lower + 2),
        Layout(_foot(progress, width), size=3),
    )
    layout["upper"].split_row(
        Layout(_panel("time and speed", _speed(progress))), Layout(_panel("progress", _reached(progress)))
    )
    layout["middle"].split_row(
        Layout(_panel("coverage and findings", _found(progress), lower)),
        Layout(_panel("operator yields", _operators(progress), lower)),
    )
    return layout


def _title(progress: Progress, width: int) -> RenderableType:
    title = Text(f" evo_nabla · {progress.target} · {progress.strategy} ", style="bold black on cyan")
    title.append(f" {progress.phase}", style="cyan")
    title.truncate(width, overflow="ellipsis")
    return title


def _speed(progress: Progress) -> Rows:
    return [
        ("run time", duration(progress.seconds)),
        ("this session", f"{duration(progress.session_seconds)} of {progress.budget}"),
        ("calls", f"{progress.calls:,}"),
        ("calls/s", f"{progress.calls_per_second:,.0f} now, {progress.overall_per_second:,.0f} overall"),
        ("valid", f"{progress.valid_rate:.1%}"),
        ("differentiated", f"{progress.differentiated_rate:.1%}"),
    ]


def _reached(progress: Progress) -> Rows:
    return [
        ("APIs visited", f"{progress.visited:,} of {progress.apis:,}"),
        ("generation", f"{progress.generation:,}"),
        ("corpus", f"{progress.entries:,} calls"),
        ("last new feature", f"{duration(progress.since_feature)} ago" if progress.features else "none yet"),
        ("worker restarts", f"{progress.restarts:,}"),
        ("crashes / hangs", f"{progress.crashes:,} / {progress.hangs:,}"),
    ]


def _found(progress: Progress) -> Rows:
    """Features and findings first, then why calls stayed inconclusive: the list that is cut when space is short."""
    rows = [
        (f"{kind} features", _reached_of(kind, count, progress)) for kind, count in sorted(progress.features.items())
    ]
    if progress.stability is not None:
        rows.append(("  stability", f"{progress.stability:.2%}"))
    total = sum(progress.findings.values())
    rows.append(("findings", f"{total:,}, {progress.confirmed:,} confirmed"))
    rows.append(("  to be confirmed", f"{progress.pending:,}"))
    rows.append(("  to be shrunk", f"{progress.unshrunk:,}"))
    rows += [(f"  {kind}", f"{count:,}") for kind, count in _largest_first(progress.findings)]
    rows.append(("inconclusive", f"{sum(progress.inconclusive.values()):,}"))
    rows += [(f"  {reason}", f"{count:,}") for reason, count in _largest_first(progress.inconclusive)]
    return rows


def _reached_of(kind: str, count: int, progress: Progress) -> str:
    return f"{count:,} of {progress.rules:,}" if kind == RULE and progress.rules else f"{count:,}"


def _operators(progress: Progress) -> Rows:
    rows = [("", "novelty/fruitful/calls")]
    rows += [(row.operator, f"{row.novelty:,.0f}/{row.fruitful:,}/{row.applied:,}") for row in progress.operators]
    return rows


def _foot(progress: Progress, width: int) -> RenderableType:
    now = Text(" now: " + ", ".join(progress.current), style="dim", no_wrap=True)
    now.truncate(width, overflow="ellipsis")
    notice = Text(f" {progress.notice}", style="yellow", no_wrap=True)
    notice.truncate(width, overflow="ellipsis")
    return Group(now, notice, Text(" Ctrl-C stops safely; the same command goes on from here", style="dim"))


def _panel(title: str, rows: Rows, limit: int | None = None) -> Panel:
    table = Table.grid(expand=True, padding=(0, 1))
    table.add_column(style="cyan", no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_column(justify="right", no_wrap=True, overflow="ellipsis")
    for name, value in list(rows)[:limit]:
        table.add_row(name, value)
    return Panel(table, title=title, title_align="left", border_style="bright_black", padding=(0, 0))


def _largest_first(counts: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
