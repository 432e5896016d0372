"""Findings: confirmed in a fresh worker, deduplicated by signature, shrunk, and written as folders ready to file."""

from .collector import CAP, Case, Findings
from .confirm import Confirmation, confirm, showing
from .document import Finding, FindingError, read_finding
from .folder import FindingsFolder
from .reproducer import Versions, reproducer
from .shrink import Budget, Shrinker, Shrunk
from .signature import Signature, observations, signatures_of

__all__ = [
    "CAP",
    "Budget",
    "Case",
    "Confirmation",
    "Finding",
    "FindingError",
    "Findings",
    "FindingsFolder",
    "Shrinker",
    "Shrunk",
    "Signature",
    "Versions",
    "confirm",
    "observations",
    "read_finding",
    "reproducer",
    "showing",
    "signatures_of",
]
