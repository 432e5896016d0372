"""`evo-nabla fuzz`: start a campaign or go on with it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from evo_nabla.campaign.budget import Budget, duration, parse_budget
from evo_nabla.campaign.interrupt import Interrupt
from evo_nabla.campaign.monitors import JsonMonitor, Monitor, PlainMonitor, ScreenMonitor
from evo_nabla.campaign.opening import open_campaign
from evo_nabla.campaign.progress import Progress
from evo_nabla.campaign.settings import (
    DEFAULT_OBSERVERS,
    MAX_WORKERS,
    OBSERVERS,
    STRATEGIES,
    chosen_observers,
    default_folder,
    require_library,
)

from .options import (
    JsonOption,
    LibraryArgument,
    OrderOption,
    PathOption,
    PythonOption,
    absolute_paths,
    absolute_python,
    absolute_seeds,
)
from .output import console, messages, note, print_json

BudgetOption = Annotated[
    str | None, typer.Option("--budget", help="How long: 60s, 5m, 2h, 10000c (calls). Default: until Ctrl-C.")
]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", min=1, max=MAX_WORKERS, help="Worker processes. Default: one a core.")
]
ApisOption = Annotated[
    list[str] | None,
    typer.Option("--apis", metavar="GLOB", help="Only APIs that match, e.g. 'torch.linalg.*'. Repeatable."),
]
SeedOption = Annotated[int | None, typer.Option("--seed", min=0, help="Seed of all randomness. Default: 0.")]
StrategyOption = Annotated[
    str | None, typer.Option("--strategy", help=f"One of: {', '.join(STRATEGIES)}. Default: {STRATEGIES[0]}.")
]
ObserveOption = Annotated[
    list[str] | None,
    typer.Option(
        "--observe",
        metavar="KIND",
        help=f"Coverage to measure: {', '.join(OBSERVERS)}. Repeatable. Default: {' and '.join(DEFAULT_OBSERVERS)}.",
    ),
]
SeedsOption = Annotated[
    Path | None, typer.Option("--seeds", metavar="CALLS.jsonl", help="Seed calls, added to the library's own.")
]
FolderOption = Annotated[
    Path | None, typer.Option("--folder", metavar="DIR", help="Where the campaign lives. Default: corpus/LIBRARY.")
]
PlainOption = Annotated[bool, typer.Option("--plain", help="Lines for a log instead of the live screen.")]
FreshOption = Annotated[bool, typer.Option("--fresh", help="Start anew; the old folder is moved aside, not deleted.")]


def fuzz(
    library: LibraryArgument,
    budget: BudgetOption = None,
    workers: WorkersOption = None,
    apis: ApisOption = None,
    order: OrderOption = None,
    seed: SeedOption = None,
    strategy: StrategyOption = None,
    python: PythonOption = None,
    path: PathOption = None,
    seeds: SeedsOption = None,
    observe: ObserveOption = None,
    folder: FolderOption = None,
    plain: PlainOption = False,
    json_: JsonOption = False,
    fresh: FreshOption = False,
) -> None:
    """Fuzz a library's automatic differentiation; Ctrl-C stops safely, the same command goes on.

    What was given when the campaign began is remembered. With --workers 1, one seed always gives the same calls.
    """
    given: dict[str, Any] = {
        "workers": workers,
        "apis": tuple(apis) if apis else None,
        "order": order,
        "seed": seed,
        "strategy": strategy,
        "python": absolute_python(python),
        "paths": absolute_paths(path),
        "seeds": absolute_seeds(seeds),
        "observers": chosen_observers(observe),
    }
    limit = parse_budget(budget) if budget is not None else Budget()
    require_library(library)  # before a folder is made for it
    place = folder or default_folder(library)
    monitor = _monitor(plain, json_)

    def announce() -> None:
        if not json_:
            messages.print(f"Opening {place}: starting workers, loading seeds ...", style="dim", markup=False)

    opened = open_campaign(
        place, library, given, fresh=fresh, announce=announce, warn=note, budget=limit, monitor=monitor
    )
    with Interrupt() as interrupt, opened as campaign, monitor:
        interrupt.stop = campaign.stop
        last = campaign.run()
    if json_:
        print_json({"event": "summary", "folder": str(place), **last.to_json()}, indent=None)
    else:
        _summarise(last, place)


def _monitor(plain: bool, json_: bool) -> Monitor:
    """The live screen needs a terminal to draw on; without one, lines do."""
    if json_:
        return JsonMonitor()
    if plain or not sys.stdout.isatty() or console.is_dumb_terminal:
        return PlainMonitor()
    return ScreenMonitor(console)


def _summarise(last: Progress, folder: Path) -> None:
    features = ", ".join(f"{count:,} {kind}" for kind, count in sorted(last.features.items())) or "none"
    found = ", ".join(f"{count} {kind}" for kind, count in sorted(last.findings.items())) or "none"
    console.print(
        f"{duration(last.session_seconds)}, {last.session_calls:,} calls ({last.overall_per_second:,.0f} a second); "
        f"in all {duration(last.seconds)}, {last.calls:,} calls, {last.valid_rate:.0%} valid, "
        f"{last.differentiated_rate:.0%} differentiated",
        f"APIs visited {last.visited:,} of {last.apis:,}; corpus {last.entries:,} calls; features: {features}",
        f"findings: {found}; {last.confirmed} confirmed ({last.unshrunk} of them to be shrunk and written), "
        f"{last.pending} to be confirmed; in {folder / 'findings'}",
        sep="\n",
        soft_wrap=True,
        markup=False,
    )
