"""What an observer of coverage is: something that says which features a call reached for the first time."""

from __future__ import annotations

from typing import Dict, List, Protocol

Features = Dict[str, List[str]]  # the names of features by the mode that reached them


class Observer(Protocol):
    """Measures one kind of feature inside the worker."""

    kind: str  # the key of its features in a report: "line"

    def start(self) -> None:
        """Get ready; called once, after the library's import."""
        ...

    def begin(self) -> None:
        """A call begins: from now to the next drain, `resume` and `pause` have effect."""
        ...

    def resume(self) -> None:
        """The library's own code begins to run for this call: measure."""
        ...

    def pause(self) -> None:
        """The library's code has returned to the oracle, which is not to be measured (nor slowed by it)."""
        ...

    def enter(self, mode: str) -> None:
        """A mode of the current call begins: what is reached from now on is attributed to it."""
        ...

    def drain(self) -> Features:
        """End measuring the call; the features it reached that were never drained before, sorted, by mode."""
        ...

    def stop(self) -> None:
        """End measuring for good."""
        ...
