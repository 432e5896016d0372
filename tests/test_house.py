"""The direction of imports between the packages, and the worker side's independence, as DESIGN asks."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import evo_nabla

ROOT = Path(evo_nabla.__file__).parent
# package → packages it may import
ALLOWED = {
    "call": set(),
    "target": {"call"},
    "executor": {"call"},
    "coverage": {"call"},
    "evolution": {"call", "coverage"},
    "corpus": {"call", "coverage"},
    "findings": {"call", "executor", "corpus"},
    "report": {"call", "corpus", "coverage", "findings"},
    "campaign": {"call", "executor", "evolution", "corpus", "findings", "coverage", "report"},
    "cli": {"call", "executor", "evolution", "corpus", "findings", "coverage", "report", "campaign"},
}
WORKER_SIDE = ("call", "target")
WORKER_MAY_IMPORT = {"numpy", "torch", "coverage", "evo_nabla", "expecttest"}


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Dotted names that a module imports, relative ones resolved."""
    parts = ("evo_nabla", *path.relative_to(ROOT).with_suffix("").parts)
    package = parts if path.name == "__init__.py" else parts[:-1]
    if path.name == "__init__.py":
        package = parts[:-1]
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            names.add(".".join((*base, *(node.module or "").split("."))).strip("."))
    return names


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_direction_of_imports(package: str) -> None:
    for path in modules(package):
        for name in imported(path):
            if name.startswith("evo_nabla."):
                other = name.split(".")[1]
                assert other == package or other in ALLOWED[package] or other == "__version__", f"{path}: {name}"


def test_every_package_has_its_rule() -> None:
    packages = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    assert packages <= set(ALLOWED)
    assert {"call", "target", "executor", "evolution", "corpus", "findings", "campaign", "cli"} <= packages


@pytest.mark.parametrize("package", WORKER_SIDE)
def test_worker_side_needs_numpy_and_the_library_alone(package: str) -> None:
    import sys

    for path in modules(package):
        roots = {name.split(".")[0] for name in imported(path)}
        assert roots <= set(sys.stdlib_module_names) | WORKER_MAY_IMPORT, f"{path}: {sorted(roots)}"


def test_every_module_opens_with_its_purpose() -> None:
    for path in ROOT.rglob("*.py"):
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), f"{path} has no docstring"
