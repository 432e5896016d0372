"""Imported by every Python interpreter that `evo-nabla coverage run` starts: waits for the library to be imported.

Nothing else happens until then, so that a program which never imports the library runs as it always does. Whatever
goes wrong here is said on standard error and never stops the program.
"""

import importlib.machinery
import importlib.util
import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Dict


def _run_the_real_one() -> None:
    """Import the sitecustomize that this one stands in front of, if there is one."""
    here = str(Path(__file__).resolve().parent)
    others = [entry for entry in sys.path if not entry or str(Path(entry).resolve()) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


class _Waiting:
    """Finds the library as the finders behind it do, and begins to measure when its import has ended."""

    def __init__(self, library: str, settings: Dict[str, Any]) -> None:
        self._library, self._settings = library, settings
        self._asking = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The library's spec, with a loader that begins to measure; None for any other name."""
        if name != self._library or self._asking:
            return None
        # Programs ask for the spec to learn whether the library is there, and import it later.
        self._asking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._asking = False
        if spec is not None and spec.loader is not None:
            _begin_after(spec.loader, self._settings)
        return spec


def _begin_after(loader: Any, settings: Dict[str, Any]) -> None:
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        execute(module)
        sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Waiting)]
        try:
            _load_package()
            from evo_nabla.target.program.measure import begin

            begin(module, settings)
        except Exception as error:
            print(f"evo-nabla: not measured: {type(error).__name__}: {error}", file=sys.stderr)

    loader.exec_module = exec_module


def _load_package() -> None:
    """Make the `evo_nabla` that this file belongs to importable, wherever it is installed."""
    if "evo_nabla" in sys.modules:
        return
    folder = Path(__file__).resolve().parents[3]
    spec = importlib.util.spec_from_file_location(
        "evo_nabla", str(folder / "__init__.py"), submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load the package in {folder}")
    package = importlib.util.module_from_spec(spec)
    sys.modules["evo_nabla"] = package
    spec.loader.exec_module(package)


_text = os.environ.get("EVO_NABLA_MEASURE")
if _text:
    _settings = json.loads(_text)
    sys.meta_path.insert(0, _Waiting(_settings["library"], _settings))
_run_the_real_one()
