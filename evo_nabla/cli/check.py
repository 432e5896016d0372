"""`evo-nabla check`: given calls through the oracle, one verdict a line."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from evo_nabla.call import Call, CallError, call_from_text, call_to_json, read_calls
from evo_nabla.call.jsonl import bare_line
from evo_nabla.campaign.settings import DEFAULT_ORDER
from evo_nabla.executor import Finding, Report, Worker
from evo_nabla.executor.reading import numbers_to_json

from .exits import FINDINGS
from .options import JsonOption, LibraryOption, OrderOption, PathOption, PythonOption, target_of
from .output import console, messages, print_json

STANDARD_INPUT = "-"
# Calls a message: verdicts appear as they are reached, not only at the end.
BATCH = 16

CallsArgument = Annotated[
    str, typer.Argument(metavar="CALLS.jsonl", help="Calls, one a line (.gz too); - reads them from standard input.")
]

_STYLES = {"agree": "green", "inconclusive": "yellow", "finding": "bold red"}


def check(
    calls: CallsArgument,
    library: LibraryOption,
    python: PythonOption = None,
    path: PathOption = None,
    order: OrderOption = None,
    json_: JsonOption = False,
) -> None:
    """Run given calls through the oracle and print one verdict a line.

    Exits with 1 if any verdict is a finding. With --json each line is an object with id, call, verdict, kind,
    suspect, order, discrepancy, values and reason.
    """
    batch = list(read(calls))
    if not batch:
        place = "standard input" if calls == STANDARD_INPUT else calls
        raise CallError(place, "holds no calls, so nothing was checked; write one call a line")
    target = target_of(library, python, path, order or DEFAULT_ORDER)
    counts = dict.fromkeys(_STYLES, 0)
    with Worker(replace(target, observers=())) as worker:
        for start in range(0, len(batch), BATCH):
            some = batch[start : start + BATCH]
            for call, report in zip(some, worker.run(some, thorough=True), strict=True):
                line = verdict_line(call, report)
                counts[line["verdict"]] += 1
                if json_:
                    print_json(line, indent=None)
                else:
                    _print(line)
    if not json_:
        messages.print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()), style="dim")
    if counts["finding"]:
        raise typer.Exit(FINDINGS)


def read(source: str) -> Iterator[Call]:
    """The calls of a JSONL file or of standard input; raises CallError naming source and line."""
    if source != STANDARD_INPUT:
        yield from read_calls(Path(source))
        return
    for number, line in enumerate(sys.stdin.buffer, start=1):
        if bare_line(line):
            yield _call(line, f"standard input:{number}")


def _call(line: bytes, place: str) -> Call:
    try:
        return call_from_text(line)
    except CallError as error:
        raise CallError(f"{place}: {error.path}" if error.path else place, error.problem) from None


def verdict_line(call: Call, report: Report) -> dict[str, Any]:
    """One call's verdict as JSON; `kind`, `suspect` and `order` are null unless it is a finding.

    `discrepancy` is null where it is not a finite number: a crash, or NaN against a number.
    """
    document = call_to_json(call)
    worst: Finding | None = report.findings[0] if report.findings else None
    discrepancy = worst.discrepancy if worst else report.discrepancy
    return {
        "id": document.get("id"),
        "call": document,
        "verdict": report.verdict,
        "kind": worst.kind if worst else None,
        "suspect": worst.suspect if worst else None,
        "order": worst.order if worst else None,
        "discrepancy": discrepancy if math.isfinite(discrepancy) else None,
        "values": numbers_to_json(worst.values if worst and worst.values else report.values),
        "reason": (worst.message if worst else report.reason) or report.reason,
    }


def _printable(text: str) -> str:
    """The text with what a terminal cannot show, or should not obey, written as escapes: it comes from the library."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _print(line: dict[str, Any]) -> None:
    name = line["id"] or line["call"]["api"]
    parts = [f"[{_STYLES[line['verdict']]}]{line['verdict']:<12}[/]", escape(_printable(str(name)))]
    if line["verdict"] == "finding":
        parts.append(f"{line['kind']}, suspect {line['suspect']}, order {line['order']}")
    if line["discrepancy"]:
        parts.append(f"discrepancy {line['discrepancy']:.3g}")
    if line["reason"]:
        parts.append(escape(_printable(line["reason"])))
    console.print("  ".join(parts), soft_wrap=True)
