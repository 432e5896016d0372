"""Says why a worker did not start: which interpreter it was, what is wrong with it and what to do."""

from __future__ import annotations

import re

from .errors import WorkerStartError
from .settings import WorkerSettings

_MISSING = re.compile(r"No module named '(\w+)")
_ANOTHER = "name another interpreter with --python"
_ADVICE = {
    "Permission denied": f"make it executable, or {_ANOTHER}",
    "Exec format error": f"it is no program of this machine: {_ANOTHER}",
    "No such file or directory": _ANOTHER,
}


def not_started(settings: WorkerSettings, reason: str) -> WorkerStartError:
    """The error of a worker that did not start, from what the operating system or the worker said."""
    missing = _MISSING.search(reason)
    if missing is not None and missing[1] in ("numpy", settings.library):
        name = "NumPy" if missing[1] == "numpy" else missing[1]
        problem = f"it has no {name}"
        advice = f"install it there ({settings.python} -m pip install {missing[1]}), or {_ANOTHER}"
    else:
        problem = reason.rstrip(".")
        advice = next((advice for phrase, advice in _ADVICE.items() if phrase in reason), _ANOTHER)
    return WorkerStartError(f"{settings.library} cannot be run with {settings.python}: {problem}; {advice}")
