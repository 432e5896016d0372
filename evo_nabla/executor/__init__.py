"""Worker processes: started by path in any interpreter, held to limits, replaced when a call ends them."""

from .errors import WorkerAnswerError, WorkerLostError, WorkerStartError
from .planting import NativeModule, Planter
from .pool import Pool
from .report import Crash, Finding, Report, Seconds
from .settings import Limits, WorkerSettings
from .signature import Parameter, Signature
from .worker import Worker, WorkerInfo

__all__ = [
    "Crash",
    "Finding",
    "Limits",
    "NativeModule",
    "Parameter",
    "Planter",
    "Pool",
    "Report",
    "Seconds",
    "Signature",
    "Worker",
    "WorkerAnswerError",
    "WorkerInfo",
    "WorkerLostError",
    "WorkerSettings",
    "WorkerStartError",
]
