"""The options that several commands share, and how they name a campaign."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from evo_nabla.campaign.campaign import STORE_NAME
from evo_nabla.campaign.errors import CampaignError
from evo_nabla.campaign.settings import (
    DEFAULT_HOME,
    DEFAULT_ORDER,
    LIBRARIES,
    MAX_ORDER,
    default_folder,
    require_library,
)
from evo_nabla.corpus.store import Store, sqlite_url
from evo_nabla.executor import WorkerSettings

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
PythonOption = Annotated[
    str | None,
    typer.Option("--python", metavar="PATH", help="Interpreter of the target. Default: the one evo-nabla runs in."),
]
PathOption = Annotated[
    list[Path] | None,
    typer.Option("--path", metavar="DIR", help="Folder to import your own operators from. Repeatable."),
]
LibraryOption = Annotated[str, typer.Option("--library", help=f"One of: {', '.join(LIBRARIES)}.")]
LibraryArgument = Annotated[str, typer.Argument(metavar="LIBRARY", help=f"One of: {', '.join(LIBRARIES)}.")]
OrderOption = Annotated[
    int | None,
    typer.Option("--order", min=1, max=MAX_ORDER, help=f"Highest order of derivatives. Default: {DEFAULT_ORDER}."),
]
CampaignArgument = Annotated[
    str | None,
    typer.Argument(metavar="[CAMPAIGN]", help="A campaign's folder, or a library's name. Default: the only campaign."),
]


def campaign_folder(name: str | None) -> Path:
    """The folder a CAMPAIGN argument means; raises CampaignError when there is none or more than one."""
    if name is not None:
        folder = default_folder(name) if name in LIBRARIES and not Path(name, STORE_NAME).is_file() else Path(name)
        if not (folder / STORE_NAME).is_file():
            raise CampaignError(f"no campaign in {folder}; start one with: evo-nabla fuzz LIBRARY --folder {folder}")
        return folder
    found = sorted(path.parent for path in DEFAULT_HOME.glob(f"*/{STORE_NAME}"))
    if not found:
        raise CampaignError(f"no campaign under {DEFAULT_HOME}/; start one with: evo-nabla fuzz torch")
    if len(found) > 1:
        raise CampaignError(f"several campaigns, name one: {', '.join(map(str, found))}")
    return found[0]


def open_campaign_store(folder: Path) -> Store:
    """The store of an existing campaign, for reading; a running campaign is not disturbed."""
    return Store(sqlite_url(folder / STORE_NAME), create=False)


def absolute_paths(paths: list[Path] | None) -> tuple[str, ...] | None:
    """The --path folders as absolute paths; raises CampaignError for one that is no folder."""
    if not paths:
        return None
    for path in paths:
        if not path.is_dir():
            raise CampaignError(f"--path {path}: no such folder")
    return tuple(str(path.resolve()) for path in paths)


def absolute_python(python: str | None) -> str | None:
    """The --python interpreter as an absolute path, links kept: a virtual environment's interpreter is a link."""
    if python is None:
        return None
    path = Path(python).absolute()
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "no such file"
        raise CampaignError(f"--python {python}: {what}; give the path of an interpreter, such as /usr/bin/python3")
    return str(path)


def absolute_seeds(seeds: Path | None) -> str | None:
    """The --seeds file as an absolute path."""
    if seeds is None:
        return None
    if not seeds.is_file():
        raise CampaignError(f"--seeds {seeds}: {'is a folder' if seeds.is_dir() else 'no such file'}")
    return str(seeds.resolve())


def target_of(library: str, python: str | None, paths: list[Path] | None, order: int) -> WorkerSettings:
    """The worker of a library's target, from the options that name it."""
    require_library(library)
    return WorkerSettings(
        python=Path(absolute_python(python) or sys.executable),
        library=library,
        paths=tuple(map(Path, absolute_paths(paths) or ())),
        order=order,
    )
