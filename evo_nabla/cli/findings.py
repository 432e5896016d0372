"""`evo-nabla findings`: the list of a campaign's findings, and one of them in full."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from evo_nabla.campaign.campaign import SHOWN
from evo_nabla.campaign.errors import CampaignError
from evo_nabla.corpus.store import FindingSummary

from .options import CampaignArgument, JsonOption, campaign_folder, open_campaign_store
from .output import console, print_json

app = typer.Typer(no_args_is_help=True, help="The findings of a campaign.")

NameArgument = Annotated[str, typer.Argument(metavar="FINDING", help="Its number in the list, its folder, or its API.")]
CampaignOption = Annotated[
    str | None, typer.Option("--campaign", help="A campaign's folder, or a library's name. Default: the only campaign.")
]
AllOption = Annotated[bool, typer.Option("--all", help="Also what could not be confirmed, and duplicates.")]


@app.command("list")
def list_(campaign: CampaignArgument = None, all_: AllOption = False, json_: JsonOption = False) -> None:
    """List a campaign's findings, oldest first."""
    folder = campaign_folder(campaign)
    rows = [(n, row) for n, row in enumerate(_stored(folder), 1) if all_ or row.status in SHOWN]
    if json_:
        print_json([_document(number, row, folder) for number, row in rows])
        return
    table = Table(box=None, header_style="bold")
    for column in ("#", "API", "kind", "suspect", "order", "discrepancy", "seen", "status", "folder"):
        table.add_column(column, justify="right" if column in ("#", "order", "discrepancy", "seen") else "left")
    for number, row in rows:
        size = "" if row.discrepancy is None else f"{row.discrepancy:.3g}"
        cells = (number, row.api, row.kind, row.suspect, row.order, size, row.sightings, row.status, row.folder)
        table.add_row(*map(str, cells))
    console.print(table if rows else "no findings yet")


@app.command("show")
def show(name: NameArgument, campaign: CampaignOption = None, json_: JsonOption = False) -> None:
    """Show one finding: its report, or with --json its finding.json."""
    folder = campaign_folder(campaign)
    number, row = _chosen(_stored(folder), name)
    if json_:
        print_json(_document(number, row, folder, full=True))
        return
    report = folder / row.folder / "report.md"
    if row.folder and report.is_file():
        console.print(report.read_text(encoding="utf-8"), markup=False, soft_wrap=True)
        console.print(
            f"In {folder / row.folder}; reproduce with: python {folder / row.folder / 'repro.py'}", markup=False
        )
    else:
        head = f"{row.kind} in {row.api}, suspect {row.suspect}, order {row.order}, {row.status}"
        console.print(head, row.message, row.call, sep="\n", markup=False, soft_wrap=True)


def _stored(folder: Path) -> list[FindingSummary]:
    with open_campaign_store(folder) as store:
        return store.findings()


def _chosen(rows: list[FindingSummary], name: str) -> tuple[int, FindingSummary]:
    """The finding a name means, with its number; raises CampaignError if it is none or several."""
    numbered = list(enumerate(rows, 1))
    wanted = name.rstrip("/")
    found = [
        (number, row)
        for number, row in numbered
        if wanted in (str(number), row.signature, row.folder, Path(row.folder).name if row.folder else None)
    ] or [(number, row) for number, row in numbered if row.api == wanted]
    if not found:
        raise CampaignError(f"no finding {name!r}; see: evo-nabla findings list --all")
    if len(found) > 1:
        raise CampaignError(f"{name!r} is several findings: {', '.join(str(number) for number, _ in found)}")
    return found[0]


def _document(number: int, row: FindingSummary, folder: Path, *, full: bool = False) -> dict[str, Any]:
    document = {"number": number, **asdict(row), "call": json.loads(row.call)}
    file = folder / row.folder / "finding.json"
    if full and row.folder and file.is_file():
        document["finding"] = json.loads(file.read_text(encoding="utf-8"))
    return document
