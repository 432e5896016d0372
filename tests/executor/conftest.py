"""One worker for all tests of calls, since an import of torch takes seconds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evo_nabla.executor import Limits, Worker, WorkerSettings

HOSTILE = Path(__file__).with_name("hostile_path")


@pytest.fixture(scope="session")
def settings() -> WorkerSettings:
    limits = Limits(seconds=20.0, memory_mb=600)
    return WorkerSettings(Path(sys.executable), "torch", paths=(HOSTILE,), observers=(), limits=limits)


@pytest.fixture(scope="session")
def worker(settings: WorkerSettings) -> Iterator[Worker]:
    with Worker(settings) as started:
        yield started
