"""Operators that take the process down, or never come back."""

from __future__ import annotations

import ctypes
import itertools
import os
from typing import Any

from planted_rule import rules
from torch import Tensor


def read_address_zero(*_: Any) -> Tensor:
    """Die of SIGSEGV."""
    ctypes.string_at(0)
    raise AssertionError("unreachable")


def abort(*_: Any) -> Tensor:
    """Die of SIGABRT."""
    os.abort()


def leave(*_: Any) -> Tensor:
    """End the process without a signal, as native code that calls exit does."""
    os._exit(3)


def spin(*_: Any) -> Tensor:
    """Never return."""
    for _number in itertools.count():
        pass
    raise AssertionError("unreachable")


@rules(reverse=read_address_zero, forward=lambda v, x: v * x.cos())
def segfault_in_backward(x: Tensor) -> Tensor:
    """The backward reads address 0."""
    return x.sin()


@rules(reverse=abort, forward=lambda v, x: v * x.cos())
def abort_in_backward(x: Tensor) -> Tensor:
    """The backward aborts."""
    return x.sin()


@rules(reverse=leave, forward=lambda v, x: v * x.cos())
def exit_in_backward(x: Tensor) -> Tensor:
    """The backward ends the process."""
    return x.sin()


@rules(reverse=spin, forward=lambda v, x: v * x.cos())
def hang_in_backward(x: Tensor) -> Tensor:
    """The backward never ends."""
    return x.sin()


@rules(reverse=lambda g, x: g * x.cos(), forward=read_address_zero)
def segfault_in_forward_mode(x: Tensor) -> Tensor:
    """The forward-mode rule reads address 0."""
    return x.sin()


def segfault_in_the_call(x: Tensor) -> Tensor:
    """The plain call reads address 0."""
    return read_address_zero(x)
