"""Imported by every Python interpreter that `evo-nabla coverage run` starts: waits for the library to be imported.

Nothing else happens until then, so that a program which never imports the library runs as it always does. Whatever
goes wrong here is said on standard error and never stops the program.
"""

import importlib.machinery
import importlib.util
import json
import os
import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Dict

_ENTRY = str(Path(__file__).resolve().parents[2] / "main.py")  # of a worker, which is loaded by path as well


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
            if "evo_nabla" not in sys.modules:
                runpy.run_path(_ENTRY)["load_package"]()
            from evo_nabla.target.program.measure import begin

            begin(module, settings)
        except Exception as error:
            print(f"evo-nabla: not measured: {type(error).__name__}: {error}", file=sys.stderr)

    loader.exec_module = exec_module


_text = os.environ.get("EVO_NABLA_MEASURE")
if _text:
    _settings = json.loads(_text)
    sys.meta_path.insert(0, _Waiting(_settings["library"], _settings))
_run_the_real_one()
