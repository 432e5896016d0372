"""What can go wrong with a worker, other than a call going wrong."""


class WorkerStartError(RuntimeError):
    """A worker could not be started: the message says why and what to do."""


class WorkerAnswerError(RuntimeError):
    """A worker cannot answer a question about its library; the message says why."""


class WorkerLostError(Exception):
    """A worker process is lost; `status` is the report's status of the call to blame."""

    status = "crashed"


class WorkerDiedError(WorkerLostError):
    """The process ended by itself."""


class WorkerSilentError(WorkerLostError):
    """No report came within the limit."""

    status = "hung"


class WorkerGreedyError(WorkerLostError):
    """The process used more memory than it may."""

    status = "rejected"


class WorkerGarbledError(WorkerLostError):
    """What came over the pipe is not what the protocol says: a call has written over the worker's memory or pipe."""


class ProgramError(RuntimeError):
    """A program to be measured cannot be run: the message says why."""
