"""Differentiation rules that are native functions of their own: which function executes which rule.

PyTorch generates one class a derivative formula from derivatives.yaml, torch::autograd::generated::<Name>, and its
`apply` computes the gradients: executing the rule is reaching that function. `apply_with_saved` (the same rule for
compiled autograd) and generated::details (helpers of the formulas) are no rules. The rules written by hand
(torch::autograd::AccumulateGrad, CopySlices …) are not generated and not counted.
"""

from __future__ import annotations

import re

from .names import SymbolNames

_PREFIX = "_ZN5torch8autograd9generated"
# The Itanium ABI's mangling: the class's name after its length, then apply, by value of whatever parameters. A suffix
# (.cold) marks a part of the function that the compiler moved away.
_APPLY = re.compile(r"(?P<length>\d+)(?P<rest>\w+)")
_METHOD = "5applyE"
_HELPERS = "details"


def rules_of(names: SymbolNames) -> dict[int, str]:
    """Names of rules by the address of the function that executes them; empty for a library without."""
    rules = {}
    for address, symbol in names.beginning_with(_PREFIX):
        match = _APPLY.fullmatch(symbol, len(_PREFIX))
        if match is None:
            continue
        rest, length = match["rest"], int(match["length"])
        if rest[length:].startswith(_METHOD) and rest[:length] != _HELPERS:
            rules[address] = rest[:length]
    return rules
