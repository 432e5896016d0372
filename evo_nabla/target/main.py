"""The worker's entry: started by path in the library's interpreter, it takes the pipes and hands over to the loop."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path


def _load_package() -> None:
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


def main() -> int:
    """Serve the driver; argv: the descriptors of the command pipe, the report pipe and the page that shows the mode."""
    commands, reports, page = (int(argument) for argument in sys.argv[1:4])
    _load_package()
    from evo_nabla.target.loop import serve

    return serve(commands, reports, page)


if __name__ == "__main__":
    sys.exit(main())
