"""The command line: one file per group of commands, and one place where errors become messages and exit codes."""

from __future__ import annotations

import os
import sys
from typing import TextIO, cast

import typer

from . import check, coverage, doctor, exits, findings, fuzz, seeds, stats, usage
from .output import OutputError, StandardOutput, complain, describe

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help=f"Fuzz the automatic differentiation of deep-learning libraries.\n\n{exits.EXPLANATION}",
)
app.command("fuzz")(fuzz.fuzz)
app.command("stats")(stats.stats)
app.add_typer(findings.app, name="findings")
app.command("check")(check.check)
app.add_typer(seeds.app, name="seeds")
app.add_typer(coverage.app, name="coverage")
app.command("doctor")(doctor.doctor)

DEBUG_VARIABLE = "EVO_NABLA_DEBUG"


def main() -> None:
    """Run the command line and exit with its code; an expected error is one line, and a traceback only on request."""
    output = StandardOutput(sys.stdout)
    sys.stdout = cast(TextIO, output)
    try:
        # Not standalone: Typer would draw a box around what is one line here.
        code = app(standalone_mode=False) or exits.OK
        sys.stdout.flush()
    except (*exits.EXPECTED_ERRORS, usage.UsageError) as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        code = _explain(error)
        if isinstance(error, OutputError):
            output.give_up()
    except (KeyboardInterrupt, typer.Abort):
        code = exits.INTERRUPTED
    if code == exits.INTERRUPTED:
        complain("interrupted")
    sys.exit(code)


def _explain(error: Exception) -> int:
    """Say in one line what is wrong; the exit code."""
    if isinstance(error, usage.UsageError):
        usage.explain(error)
        return exits.BAD_INPUT
    complain(describe(error) if isinstance(error, OSError) else str(error))
    return exits.code_of(error)
