"""`evo-nabla stats`: what a campaign has reached, running or not."""

from __future__ import annotations

from typing import Any

import typer
from rich.table import Table

from evo_nabla.campaign.budget import duration
from evo_nabla.corpus.integrity import check_store
from evo_nabla.corpus.store import Store

from .exits import BAD_INPUT
from .options import CampaignArgument, JsonOption, campaign_folder, open_campaign_store
from .output import complain, console, print_json

TOP = 15


def stats(
    campaign: CampaignArgument = None,
    json_: JsonOption = False,
    verify: bool = typer.Option(False, "--verify", help="Check the store's integrity first; exit 2 if it is damaged."),
) -> None:
    """Show what a campaign has reached: totals, coverage, operators, the APIs that gave most."""
    folder = campaign_folder(campaign)
    with open_campaign_store(folder) as store:
        faults = check_store(store) if verify else []
        for fault in faults:
            complain(f"{folder}: {fault}")
        if faults:
            raise typer.Exit(BAD_INPUT)
        document = summary(store)
    document["folder"] = str(folder)
    if json_:
        print_json(document)
    else:
        _print(document)


def summary(store: Store) -> dict[str, Any]:
    """A campaign's numbers as one JSON object."""
    totals = {"calls": 0, "valid": 0, "differentiated": 0, "crashes": 0, "hangs": 0, "inconclusive": {}}
    totals |= store.state("totals") or {}
    history = store.history()
    findings: dict[str, int] = {}
    for finding in store.findings():
        findings[finding.status] = findings.get(finding.status, 0) + 1
    apis = store.apis()
    return {
        "settings": store.settings(),
        "seconds": round(history[-1].seconds, 1) if history else 0.0,
        "generation": store.state("generation") or 0,
        **totals,
        "entries": store.counts()["entry"],
        "features": store.feature_counts(),
        "findings": findings,
        "operators": [vars(row) for row in sorted(store.operators(), key=lambda row: -row.novelty)],
        "visited": len(apis),
        "apis": [vars(tally) for tally in sorted(apis, key=lambda tally: (-tally.reward, tally.name))],
        "history": [vars(point) for point in history],
    }


def _print(document: dict[str, Any]) -> None:
    calls = max(1, document["calls"])
    totals = Table.grid(padding=(0, 2))
    settings = document["settings"]
    rows = [
        ("campaign", f"{document['folder']} ({settings.get('library')}, {settings.get('strategy')})"),
        ("run time", duration(document["seconds"])),
        ("calls", f"{document['calls']:,}, {document['calls'] / max(1.0, document['seconds']):,.0f} a second"),
        ("valid", f"{document['valid'] / calls:.1%}"),
        ("differentiated", f"{document['differentiated'] / calls:.1%}"),
        ("APIs visited", f"{document['visited']:,}"),
        ("generation", f"{document['generation']:,}"),
        ("corpus", f"{document['entries']:,} calls"),
        ("features", ", ".join(f"{kind} {count:,}" for kind, count in document["features"].items()) or "none"),
        ("findings", ", ".join(f"{count} {status}" for status, count in document["findings"].items()) or "none"),
        ("crashes / hangs", f"{document['crashes']:,} / {document['hangs']:,}"),
    ]
    for name, value in rows:
        totals.add_row(name, value)
    console.print(totals)
    console.print(_table("operator", document["operators"], ("operator", "applied", "fruitful", "novelty")))
    console.print(_table("API", document["apis"], ("name", "visits", "calls", "valid", "reward")))


def _table(title: str, rows: list[dict[str, Any]], columns: tuple[str, ...]) -> Table:
    table = Table(box=None, header_style="bold")
    for column in columns:
        table.add_column(title if column == columns[0] else column, justify="left" if column == columns[0] else "right")
    for row in rows[:TOP]:
        table.add_row(*(f"{row[c]:,.0f}" if isinstance(row[c], float) else str(row[c]) for c in columns))
    return table
