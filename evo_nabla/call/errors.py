"""The one error of this package: what is wrong with a call, and where in it."""

from __future__ import annotations


class CallError(ValueError):
    """A call that cannot be read, with the place and the problem: ``args.0.tensor.shape[1]: negative dimension -3``."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}" if self.path else self.problem
