"""The command line: one file per group of commands, and one place where errors become messages and exit codes."""

from __future__ import annotations

import os
import sys

import typer

from . import check, doctor, findings, fuzz, seeds, stats
from .exits import EXPECTED_ERRORS, EXPLANATION, INTERRUPTED, code_of
from .output import complain

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help=f"Fuzz the automatic differentiation of deep-learning libraries.\n\n{EXPLANATION}",
)
app.command("fuzz")(fuzz.fuzz)
app.command("stats")(stats.stats)
app.add_typer(findings.app, name="findings")
app.command("check")(check.check)
app.add_typer(seeds.app, name="seeds")
app.command("doctor")(doctor.doctor)

DEBUG_VARIABLE = "EVO_NABLA_DEBUG"


def main() -> None:
    """Run the command line and exit with its code; an expected error is one line, and a traceback only on request."""
    try:
        app()
    except EXPECTED_ERRORS as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        complain(str(error))
        sys.exit(code_of(error))
    except KeyboardInterrupt:
        complain("interrupted")
        sys.exit(INTERRUPTED)
