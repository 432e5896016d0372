"""The decorator that gives a planted operator its hand-written derivative rules, on every PyTorch since 1.11."""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, Optional, TypeVar

import torch

Value = TypeVar("Value", bound=Callable[..., Any])
Rule = Callable[..., Any]


def rules(
    reverse: Optional[Rule] = None, forward: Optional[Rule] = None, transformable: bool = False
) -> Callable[[Value], Value]:
    """Replace the derivative of a function of n tensors and one result by hand-written rules.

    `reverse(cotangent, *inputs)` returns one cotangent, or a tuple of n; `forward(*tangents, *inputs)` returns the
    result's tangent. Both stay differentiable as far as the operations they are written in are. A rule left out does
    not exist, and PyTorch's own message for that is raised.

    The context goes to `forward`, not to a `setup_context`: functional transforms then refuse the operator instead of
    differentiating it twice in forward mode, which PyTorch gets wrong for every split function (pytorch#197867).
    `transformable` asks for the split form nevertheless, where PyTorch has it (since 2.0).
    """

    def decorate(value: Value) -> Value:
        def remember(context: Any, inputs: Any, output: Any) -> None:
            context.save_for_backward(*inputs)
            context.save_for_forward(*inputs)

        def remember_and_call(context: Any, *inputs: Any) -> Any:
            remember(context, inputs, None)
            return value(*inputs)

        namespace: Dict[str, Any] = {"forward": staticmethod(remember_and_call)}
        if transformable and hasattr(torch.autograd.Function, "setup_context"):
            namespace = {"forward": staticmethod(value), "setup_context": staticmethod(remember)}
        if reverse is not None:
            namespace["backward"] = staticmethod(lambda context, cotangent: reverse(cotangent, *context.saved_tensors))
        if forward is not None:
            namespace["jvp"] = staticmethod(lambda context, *tangents: forward(*tangents, *context.saved_tensors))
        function: Any = type(value.__name__, (torch.autograd.Function,), namespace)

        @functools.wraps(value)
        def operator(*inputs: Any) -> Any:
            return function.apply(*inputs)

        return operator  # type: ignore[return-value]

    return decorate
