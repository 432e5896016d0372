"""`evo-nabla doctor`: whether everything a campaign needs is there, and what to do about what is not."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import typer

from evo_nabla.campaign.settings import DEFAULT_ORDER
from evo_nabla.corpus.seeds import bundled_path
from evo_nabla.executor import Worker, WorkerInfo, WorkerStartError

from .exits import TARGET_CANNOT_START
from .options import JsonOption, LibraryArgument, PathOption, PythonOption, target_of
from .output import console, print_json

# A campaign of a day writes some hundred megabytes.
SMALL_DISK_MB = 2048
DRIVER_PACKAGES = ("coverage", "deap", "jinja2", "numpy", "psutil", "rich", "sqlalchemy", "typer")

OK, WARNING, MISSING = "ok", "warning", "missing"
_STYLES = {OK: "green", WARNING: "yellow", MISSING: "bold red"}


@dataclass(frozen=True)
class Examined:
    """One thing that was looked at: ok, warning (a campaign runs, with less) or missing (none runs)."""

    name: str
    state: str
    found: str
    advice: str = ""


def doctor(
    library: LibraryArgument = "torch", python: PythonOption = None, path: PathOption = None, json_: JsonOption = False
) -> None:
    """Look at everything a campaign needs and say what is missing; exit 4 if the target cannot be started."""
    examined = [*_driver(), *_target(library, python, path), _compiler(), _disk(), _seeds(library)]
    if json_:
        print_json([asdict(item) for item in examined])
    else:
        for item in examined:
            console.print(f"[{_STYLES[item.state]}]{item.state:<8}[/] {item.name:<16}", end=" ")
            console.print(item.found, markup=False, soft_wrap=True)
            if item.advice:
                console.print(f"{'':<26}{item.advice}", style="dim", markup=False, soft_wrap=True)
    if any(item.state == MISSING for item in examined):
        raise typer.Exit(TARGET_CANNOT_START)


def _driver() -> Iterator[Examined]:
    yield Examined("driver Python", OK, f"{platform.python_version()} at {sys.executable}")
    versions = [f"{name} {importlib.metadata.version(name)}" for name in DRIVER_PACKAGES]
    yield Examined("driver packages", OK, ", ".join(versions))
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        yield Examined("platform", WARNING, f"{platform.system()} {platform.machine()}", "tested on Linux x86-64 only")
    else:
        yield Examined("platform", OK, f"Linux {platform.release()} x86-64")


def _target(library: str, python: str | None, paths: list[Path] | None) -> list[Examined]:
    settings = target_of(library, python, paths, DEFAULT_ORDER)
    try:
        with Worker(settings) as worker:
            return _started(worker.info, settings.observers)
    except WorkerStartError as error:
        found, _, advice = str(error).rpartition("; ")
        return [Examined("target", MISSING, found, advice)]


def _started(info: WorkerInfo, wanted: tuple[str, ...]) -> list[Examined]:
    target = Examined("target", OK, f"{info.library} {info.version}, Python {info.python}, NumPy {info.numpy}")
    modes = Examined("modes", OK, ", ".join(info.modes))
    if info.sandbox.startswith("none"):
        advice = "fuzzed calls can write wherever you can; run in a container or as another user"
        sandbox = Examined("sandbox", WARNING, info.sandbox, advice)
    else:
        sandbox = Examined("sandbox", OK, info.sandbox)
    observers = [Examined(f"observer {kind}", OK, "measures") for kind in wanted if kind in info.observers]
    for kind, reason in info.missing.items():
        advice = "pip install coverage into the target's interpreter" if kind == "line" else ""
        observers.append(Examined(f"observer {kind}", WARNING, reason, advice))
    return [target, modes, sandbox, *observers]


def _compiler() -> Examined:
    found = next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)
    if found is None:
        advice = "only observers of native code need it; install gcc or clang for them"
        return Examined("C compiler", WARNING, "none found", advice)
    return Examined("C compiler", OK, found)


def _disk() -> Examined:
    free = shutil.disk_usage(Path.cwd()).free // 2**20
    if free < SMALL_DISK_MB:
        return Examined("disk", WARNING, f"{free:,} MB free here", "use --folder on a larger disk for long campaigns")
    return Examined("disk", OK, f"{free:,} MB free here")


def _seeds(library: str) -> Examined:
    file = bundled_path(library)
    if not file.is_file():
        return Examined("seeds", WARNING, f"none for {library}", f"evo-nabla seeds harvest {library}")
    return Examined("seeds", OK, f"{file}, {file.stat().st_size // 1024:,} KB")
