"""Differentiation rules that nothing executed, sorted by why that may be: what their names say of where they apply."""

from __future__ import annotations

import re
from collections.abc import Iterable

OTHER = "no reason known"
# The first that fits decides. PyTorch names a rule after its operator; these operators exist for one device, one layout
# or one caller alone, so that calls of public functions on dense CPU tensors do not come to their rules.
_REASONS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("lists of tensors (foreach)", re.compile(r"^Foreach|^AmpForeach")),
    (
        "another device or backend",
        re.compile(r"Mkldnn|Nnpack|Cudnn|Cuda|Miopen|Mps|Xpu|Hip|Flash|Efficient|Cutlass|ThnnFused|Fused(?!Dropout)"),
    ),
    (
        "sparse or nested layouts",
        re.compile(r"Sparse|Nested|Jagged|Coalesce|^Indices|^Values|Csr|Csc|ToPadded|ToDense"),
    ),
    ("copies of views, for functionalisation", re.compile(r"_copy$|Lift|Alias")),
    ("the derivative of a derivative", re.compile(r"BackwardBackward|Backward\d*Backward")),
    ("quantisation", re.compile(r"Quant|FakeQuantize")),
)


def by_reason(rules: Iterable[str]) -> dict[str, list[str]]:
    """Rule names by the reason that they were not executed, sorted."""
    found: dict[str, list[str]] = {reason: [] for reason in (*(reason for reason, _ in _REASONS), OTHER)}
    for rule in sorted(rules):
        found[next((reason for reason, pattern in _REASONS if pattern.search(rule)), OTHER)].append(rule)
    return {reason: names for reason, names in found.items() if names}
