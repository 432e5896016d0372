"""Usage errors (an unknown option, a missing argument, a value that is no number) in one line each."""

from __future__ import annotations

import typer

from .output import complain

# The base of all that Typer raises for a wrong command line. It is looked up because it lives in Click with some
# versions of Typer and inside Typer with others.
UsageError: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "UsageError")


def explain(error: Exception) -> None:
    """Name the option or argument and the problem, and where help is; a command that is only a group's name shows its
    help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()  # type: ignore[attr-defined]
        return
    problem = error.format_message().rstrip(".?")  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "evo-nabla"
    complain(f"{problem[:1].lower()}{problem[1:]}; see: {command} --help")
