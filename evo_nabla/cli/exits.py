"""Exit codes, and which error ends the program with which."""

from __future__ import annotations

from evo_nabla.call import CallError
from evo_nabla.campaign.errors import CampaignError, LockedError
from evo_nabla.corpus.errors import StoreError
from evo_nabla.coverage.errors import MeasurementError
from evo_nabla.executor import WorkerAnswerError, WorkerStartError
from evo_nabla.executor.errors import ProgramError

OK = 0
FINDINGS = 1
BAD_INPUT = 2
LOCKED = 3
TARGET_CANNOT_START = 4
INTERRUPTED = 130

EXPLANATION = """Exit codes: 0 done, 1 findings (check), 2 bad input or usage, 3 the campaign is locked by another
process, 4 the target cannot be started, 130 interrupted."""

# The first class that fits decides.
_CODES: tuple[tuple[type[Exception], int], ...] = (
    (LockedError, LOCKED),
    (WorkerStartError, TARGET_CANNOT_START),
    (WorkerAnswerError, TARGET_CANNOT_START),
    (CampaignError, BAD_INPUT),
    (CallError, BAD_INPUT),
    (StoreError, BAD_INPUT),
    (MeasurementError, BAD_INPUT),
    (ProgramError, BAD_INPUT),
    (OSError, BAD_INPUT),
)

EXPECTED_ERRORS = tuple(kind for kind, _ in _CODES)


def code_of(error: Exception) -> int:
    """The exit code of an expected error."""
    return next(code for kind, code in _CODES if isinstance(error, kind))
