"""`evo-nabla coverage`: measure any program in a campaign's units; report, compare and export what was reached."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from evo_nabla.campaign.campaign import BUILDS, ROOT, STORE_NAME, VERSIONS
from evo_nabla.campaign.errors import CampaignError
from evo_nabla.campaign.settings import LIBRARIES, require_library
from evo_nabla.corpus.store import Store
from evo_nabla.coverage import datafile, lcov
from evo_nabla.coverage.areas import Row, by_area
from evo_nabla.coverage.errors import MeasurementError
from evo_nabla.coverage.measurement import Build, Measurement, load, merge_all, save
from evo_nabla.coverage.nativemap import FUNCTION, RULE, NativeMap
from evo_nabla.coverage.unreached import by_reason
from evo_nabla.executor.program import Reached, run_measured
from evo_nabla.report.coverage_page import Denominators, coverage_page

from .options import JsonOption, LibraryOption, campaign_folder, open_campaign_store
from .output import console, note, print_json

app = typer.Typer(no_args_is_help=True, help="What was reached inside the library: measure, report, compare, export.")

DEFAULT_FILE = Path("coverage.json.gz")

MeasuredArgument = Annotated[
    str, typer.Argument(metavar="MEASURED", help="A file that `coverage run` saved, a campaign's folder or a library.")
]
OutputOption = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to save it.")]


@app.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def run(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND", help="Any program that runs Python.")],
    library: LibraryOption = LIBRARIES[0],
    output: OutputOption = DEFAULT_FILE,
    append: Annotated[bool, typer.Option("--append", help="Add to what the file holds already.")] = False,
    lines: Annotated[bool, typer.Option("--lines/--no-lines", help="Trace Python lines too.")] = True,
) -> None:
    """Run a program and its child processes, and save what it reached in the library after its import.

    Exits with the program's own code.
    """
    require_library(library)
    before = load(output) if append and output.exists() else None
    if before is not None and before.library != library:
        raise MeasurementError(f"{output} measured {before.library}: {library} cannot be added to it")
    with NativeMap() as native:
        reached = run_measured(command, library, native, lines=lines)
        measurement = _measured(reached, library, shlex.join(command))
        measurement.missing.update(native.skipped)
    save(measurement if before is None else merge_all([before, measurement]), output)
    if not reached.processes:
        note(
            f"nothing was measured: no Python process imported {library}, or none that reads PYTHONPATH and the "
            "environment (-I, -E and -S prevent it)"
        )
    for kind, reason in measurement.missing.items():
        note(f"no {kind} coverage: {reason}")
    if -reached.exit_code in (signal.SIGTRAP, signal.SIGILL):
        note(
            "ended by a probe, it seems: a thread that blocks SIGTRAP dies of one; what was reached until then is kept"
        )
    counts = ", ".join(f"{count:,} {kind}" for kind, count in measurement.counts().items()) or "nothing"
    note(f"reached {counts}; saved in {output}")
    raise typer.Exit(reached.exit_code if reached.exit_code >= 0 else 128 - reached.exit_code)


@app.command("report")
def report(
    measured: MeasuredArgument,
    rows: Annotated[int, typer.Option("--rows", min=1, help="Areas shown of each kind.")] = 15,
    json_: JsonOption = False,
) -> None:
    """Show what was reached, by kind and source area."""
    measurement = _load(measured)
    with _named(measurement) as native:
        areas = by_area(measurement.features, native)
        of = _denominators(native)
    if json_:
        print_json(
            {
                "title": measurement.title,
                "library": measurement.library,
                "features": measurement.counts(),
                "of": dict(of.totals),
                "areas": [row._asdict() for row in areas],
                "rules_not_executed": by_reason(set(of.rules) - measurement.features.get(RULE, frozenset())),
                "missing": dict(measurement.missing),
            }
        )
        return
    console.print(f"{measurement.library} {', '.join(measurement.versions)}: {measurement.title}", markup=False)
    for kind, count in measurement.counts().items():
        total = of.totals.get(kind)
        share = f" of {total:,} ({count / total:.1%})" if total else ""
        console.print(f"\n{kind}: {count:,}{share}", markup=False)
        own = [row for row in areas if row.kind == kind]
        if kind == RULE:
            for reason, names in by_reason(set(of.rules) - measurement.features[RULE]).items():
                console.print(f"  {len(names):6,}  not executed: {reason}", markup=False)
            continue
        _print_areas(own, rows)


@app.command("html")
def html(measured: MeasuredArgument, output: OutputOption = Path("coverage.html")) -> None:
    """Write what was reached as one HTML page that works offline."""
    measurement = _load(measured)
    with _named(measurement) as native:
        page = coverage_page(measurement, by_area(measurement.features, native), _denominators(native))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page, encoding="utf-8")
    note(f"written to {output}")


@app.command("diff")
def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="As MEASURED of `report`.")],
    b: Annotated[str, typer.Argument(metavar="B")],
    rows: Annotated[int, typer.Option("--rows", min=1, help="Areas shown of each kind.")] = 15,
    json_: JsonOption = False,
) -> None:
    """List what A reached and B did not, and the other way round, by source area."""
    first, second = _load(a), _load(b)
    only_first, only_second = first.minus(second), second.minus(first)
    with _named(first.merged(second)) as native:
        sides = [(first, by_area(only_first, native)), (second, by_area(only_second, native))]
    if json_:
        print_json(
            {
                side: {"title": measurement.title, "areas": [row._asdict() for row in areas]}
                for side, (measurement, areas) in zip(("only_a", "only_b"), sides, strict=True)
            }
        )
        return
    for letter, (measurement, areas) in zip("AB", sides, strict=True):
        console.print(f"\nonly {letter}: {measurement.title}", markup=False)
        for kind in dict.fromkeys(row.kind for row in areas):
            own = [row for row in areas if row.kind == kind]
            console.print(f"  {kind}: {sum(row.features for row in own):,}", markup=False)
            _print_areas(own, rows)


@app.command("export")
def export(
    measured: MeasuredArgument,
    lcov_file: Annotated[Path | None, typer.Option("--lcov", metavar="FILE", help="Native functions.")] = None,
    data_file: Annotated[
        Path | None, typer.Option("--coveragepy", metavar="FILE", help="Python lines, for coverage.py's reports.")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Everything.")] = None,
) -> None:
    """Write what was reached in the formats of other tools."""
    if lcov_file is None and data_file is None and json_file is None:
        raise CampaignError("name at least one of --lcov FILE, --coveragepy FILE, --json FILE")
    measurement = _load(measured)
    if lcov_file is not None:
        with _named(measurement) as native, lcov_file.open("w", encoding="utf-8") as stream:
            count = lcov.write(measurement, native, stream)
        note(f"{count:,} functions in {lcov_file}")
    if data_file is not None:
        count = datafile.write(measurement, data_file)
        note(f"{count:,} lines in {data_file}; report with: coverage report --data-file {data_file}")
    if json_file is not None:
        save(measurement, json_file)
        note(f"everything in {json_file}")


def _measured(reached: Reached, library: str, title: str) -> Measurement:
    return Measurement(
        title=title,
        library=library,
        versions=tuple(sorted(reached.versions)),
        builds=tuple(Build(module.name, module.path, module.build_id) for module in reached.modules.values()),
        features={kind: frozenset(names) for kind, names in sorted(reached.features.items())},
        missing=dict(reached.missing),
        root=reached.root,
    )


def _load(measured: str) -> Measurement:
    """A saved file's measurement, or a campaign's."""
    if Path(measured).is_file():
        return load(Path(measured))
    folder = campaign_folder(measured)
    with open_campaign_store(folder) as store:
        return _campaign(store, folder)


def _campaign(store: Store, folder: Path) -> Measurement:
    settings = store.settings()
    return Measurement(
        title=f"campaign {folder / STORE_NAME}",
        library=settings["library"],
        versions=tuple(settings.get(VERSIONS, ())),
        builds=tuple(Build(**build) for build in settings.get(BUILDS, ())),
        features={kind: frozenset(names) for kind, names in sorted(store.features().items())},
        missing={},
        root=settings.get(ROOT, ""),
    )


@contextmanager
def _named(measurement: Measurement) -> Iterator[NativeMap]:
    """The map that knows the names of a measurement's native code, as far as the builds are still there."""
    with NativeMap() as native:
        native.load(measurement.builds)
        for name, reason in native.skipped.items():
            note(f"no names for {name}: {reason}")
        yield native


def _denominators(native: NativeMap) -> Denominators:
    rules = native.rules()
    functions = sum(total.all_functions for total in native.totals().values())
    return Denominators({FUNCTION: functions, RULE: len(rules)}, rules)


def _print_areas(areas: list[Row], limit: int) -> None:
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", min_width=8)
    table.add_column(overflow="fold")
    for row in areas[:limit]:
        table.add_row(f"{row.features:,}", row.area)
    if len(areas) > limit:
        table.add_row(f"{sum(row.features for row in areas[limit:]):,}", f"in {len(areas) - limit:,} more")
    console.print(table, markup=False)
