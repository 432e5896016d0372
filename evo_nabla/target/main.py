"""The worker's entry: started by path in the library's interpreter, it takes the pipes and hands over to the loop."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from pathlib import Path

_ASK = 0xFFFFFFFF
_NO_RANDOMISATION = 0x0040000  # ADDR_NO_RANDOMIZE of personality(2)


def load_package() -> None:
    """Import the `evo_nabla` package that this file belongs to.

    Putting its parent folder on sys.path would do it too, but would put the driver's site-packages (another
    Python's, with another NumPy) in front of the library's own dependencies.
    """
    folder = Path(__file__).resolve().parents[1]
    spec = importlib.util.spec_from_file_location(
        "evo_nabla", str(folder / "__init__.py"), submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load the package in {folder}")
    package = importlib.util.module_from_spec(spec)
    sys.modules["evo_nabla"] = package
    spec.loader.exec_module(package)


def _steady_addresses() -> None:
    """Load everything at the same addresses in every worker, where the kernel allows it: the library's hash tables of
    pointers then iterate alike, and a call takes the same branches in them. Takes effect with the next execution."""
    if sys.platform != "linux":
        return
    personality = ctypes.CDLL(None).personality
    present = personality(_ASK)
    if present == -1 or present & _NO_RANDOMISATION:
        return
    if personality(present | _NO_RANDOMISATION) != -1 and personality(_ASK) & _NO_RANDOMISATION:
        os.execv(sys.executable, [sys.executable, "-s", "-u", *sys.argv])


def main() -> int:
    """Serve the driver; argv: the descriptors of the command pipe, the report pipe and the page that shows the mode."""
    _steady_addresses()
    sys.path[:] = [entry for entry in sys.path if entry != str(Path(__file__).resolve().parent)]
    commands, reports, page = (int(argument) for argument in sys.argv[1:4])
    load_package()
    from evo_nabla.target.loop import serve

    return serve(commands, reports, page)


if __name__ == "__main__":
    sys.exit(main())
