"""Several workers of one target, used from one thread: batches go in, reports come out in the order of submission."""

from __future__ import annotations

import queue
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

from evo_nabla.call import Call

from .planting import Planter
from .report import Report
from .settings import WorkerSettings
from .worker import Worker


class Pool:
    """N workers, each driven by a thread that waits on its pipes."""

    def __init__(self, settings: WorkerSettings, workers: int, planter: Planter | None = None) -> None:
        """Start all workers at once; with a planter they observe native code.

        Raises WorkerStartError if one does not start, and then leaves none running.
        """
        if workers < 1:
            raise ValueError(f"a pool needs at least one worker, not {workers}")
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="worker")
        starting = [self._threads.submit(Worker, settings, planter) for _ in range(workers)]
        problems = [problem for future in starting if (problem := future.exception()) is not None]
        self.workers = [future.result() for future in starting if future.exception() is None]
        if problems:
            self.close()
            raise problems[0]
        self._idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        for worker in self.workers:
            self._idle.put(worker)

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def restarts(self) -> int:
        """How often a worker's process was replaced, over all workers."""
        return sum(worker.restarts for worker in self.workers)

    def submit(self, calls: Sequence[Call], *, thorough: bool = False) -> Future[list[Report]]:
        """Run a batch on the next idle worker; the future's result is that of Worker.run."""
        return self._threads.submit(self._run, calls, thorough)

    def map(self, batches: Iterable[Sequence[Call]], *, thorough: bool = False) -> Iterator[list[Report]]:
        """The reports of every batch, in the order of the batches; all batches are submitted at once."""
        futures = [self.submit(batch, thorough=thorough) for batch in batches]
        return (future.result() for future in futures)

    def memory_mb(self) -> float:
        """Resident size of all workers in MB."""
        return sum(worker.memory_mb() for worker in self.workers)

    def abort(self) -> None:
        """End what runs now: the futures of unfinished batches raise, and only `close` may follow."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self.workers:
            worker.abort()

    def close(self) -> None:
        """Drop the batches not yet begun, end all workers and remove their folders."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in self.workers:
            worker.close()

    def _run(self, calls: Sequence[Call], thorough: bool) -> list[Report]:
        worker = self._idle.get()
        try:
            return worker.run(calls, thorough=thorough)
        finally:
            self._idle.put(worker)
