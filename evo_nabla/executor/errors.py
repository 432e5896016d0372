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


class ChildDiedError(WorkerDiedError):
    """The child that a worker ran a batch in ended before its time; the worker lives.

    `signal_name` is "" and `exit_code` None where the other one says how it ended.
    """

    def __init__(self, signal_name: str, exit_code: "int | None") -> None:
        super().__init__(f"ended by {signal_name}" if signal_name else f"ended with exit status {exit_code}")
        self.signal_name = signal_name
        self.exit_code = exit_code


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
