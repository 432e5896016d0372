"""`evo-nabla seeds`: rebuild the seed calls from what a library itself ships."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from evo_nabla.call import Call, call_from_json
from evo_nabla.campaign.settings import DEFAULT_ORDER
from evo_nabla.corpus.seeds import bundled_path, write_seeds
from evo_nabla.executor import Worker

from .options import JsonOption, LibraryArgument, PythonOption, target_of
from .output import console, messages, print_json

app = typer.Typer(no_args_is_help=True, help="The seed calls a campaign starts from.")

OutputOption = Annotated[
    Path | None, typer.Option("--output", metavar="FILE", help="Default: the seeds that come with evo-nabla.")
]


@app.callback()
def seeds() -> None:
    """The seed calls a campaign starts from."""


@app.command("harvest")
def harvest(
    library: LibraryArgument, python: PythonOption = None, output: OutputOption = None, json_: JsonOption = False
) -> None:
    """Collect the calls in a library's own sample databases and write them as JSONL (.gz: compressed)."""
    target = target_of(library, python, None, DEFAULT_ORDER)
    place = output or bundled_path(library)
    calls: list[Call] = []

    def keep(document: dict[str, Any]) -> None:
        calls.append(call_from_json(document))

    with messages.status(f"Harvesting {library} ..."), Worker(target) as worker:
        counts = worker.harvest(keep)
        version = worker.info.version
    write_seeds(place, calls)
    if json_:
        print_json({"library": library, "version": version, "file": str(place), **counts})
    else:
        apis = len({call.api for call in calls})
        console.print(f"{len(calls):,} calls of {apis:,} APIs from {library} {version}: {place}", soft_wrap=True)
