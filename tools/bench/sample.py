"""The calls that benchmarks run: seeds of a list of APIs, spread evenly over each API's seeds."""

from __future__ import annotations

from pathlib import Path

from evo_nabla.call import Call
from evo_nabla.corpus.seeds import bundled_seeds


def read_apis(path: Path) -> list[str]:
    """The APIs of a list file, one a line."""
    return path.read_text(encoding="utf-8").split()


def spread(library: str, apis: list[str], count: int) -> dict[str, list[Call]]:
    """Up to `count` seeds of each API, evenly spaced in the bundled order; an API without seeds gets an empty list."""
    seeds = bundled_seeds(library)
    chosen = {}
    for api in apis:
        calls = list(seeds.calls(api))
        step = max(1, len(calls) // count)
        chosen[api] = calls[::step][:count]
    return chosen
