"""Observers of coverage: what a call reached for the first time, per kind of feature."""

from __future__ import annotations

from typing import Callable, Dict, List, Optional, Sequence, Tuple

from .protocol import Features, Observer

__all__ = ["Features", "Observer", "Observers", "enter", "listen", "pause", "resume"]

_listeners: List[Callable[[str], object]] = []
_resumed: List[Callable[[], None]] = []
_paused: List[Callable[[], None]] = []


def enter(mode: str) -> None:
    """The oracle says which mode of the call runs now; an observer may attribute features to it, and a crash is
    blamed on it."""
    for listener in _listeners:
        listener(mode)


def listen(listener: Callable[[str], object]) -> None:
    """Have every later `enter` call this too."""
    _listeners.append(listener)


def resume() -> None:
    """The backend is about to run the library's code for a mode that is measured."""
    for observer in _resumed:
        observer()


def pause() -> None:
    """The library's code has returned."""
    for observer in _paused:
        observer()


class Observers:
    """The observers that a campaign asked for and this interpreter can offer."""

    def __init__(self, kinds: Sequence[str], packages: Sequence[str], folders: Sequence[str]) -> None:
        """Load observers by kind; `packages` are the library's package folders, `folders` the user's own."""
        self.missing: Dict[str, str] = {}
        self._active: List[Observer] = []
        for kind in kinds:
            self._add(kind, packages, folders)
        for observer in self._active:
            observer.start()
            listen(observer.enter)
            _resumed.append(observer.resume)
            _paused.append(observer.pause)

    def _add(self, kind: str, packages: Sequence[str], folders: Sequence[str]) -> None:
        try:
            self._active.append(_load(kind, packages, folders))
        except ImportError as error:
            self.missing[kind] = f"{error}"

    @property
    def kinds(self) -> Tuple[str, ...]:
        """The kinds of features that are measured."""
        return tuple(observer.kind for observer in self._active)

    def find(self, kind: str) -> Optional[Observer]:
        """The observer of that kind, if it is active."""
        return next((observer for observer in self._active if observer.kind == kind), None)

    def begin(self) -> None:
        """A call begins; what the worker does between calls is not measured."""
        for observer in self._active:
            observer.begin()

    def drain(self) -> Dict[str, Features]:
        """New features by kind and mode; kinds without any are left out."""
        drained = ((observer.kind, observer.drain()) for observer in self._active)
        return {kind: features for kind, features in drained if features}

    def stop(self) -> None:
        """End all measuring."""
        for observer in self._active:
            observer.stop()


def _load(kind: str, packages: Sequence[str], folders: Sequence[str]) -> Observer:
    if kind == "line":
        # Here and not above: coverage.py is the one thing that the library's interpreter need not have.
        from .line import LineObserver

        return LineObserver(packages, folders)
    if kind == "native":
        from .native import NativeObserver

        return NativeObserver(packages, folders)
    if kind == "gcov":
        from .gcov import GcovObserver

        return GcovObserver(packages, folders)
    raise ValueError(f"no observer is called {kind!r}; there are: line, native, gcov")
