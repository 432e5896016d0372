"""Native functions and blocks of the library's own shared objects, by one-shot probes in their machine code.

This side plants where the driver says and tells which addresses were hit, by mode; what they are called and where else
to plant is the driver's business. A hit costs microseconds, once; code that was hit before runs at full speed.
"""

from __future__ import annotations

import bisect
import os
import platform
import re
import signal
import sys
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .protocol import Features

HARNESS = "harness"  # the mode of what the oracle itself reaches: making tensors, reading values, tidying up
# Runtimes and mathematics of other makers that wheels bring along under the library's folder.
_VENDORED = re.compile(
    r"lib(gomp|iomp|omp|mkl|tbb|openblas|blas|lapack|gfortran|quadmath|gcc_s|stdc\+\+|cu(dart|blas|dnn|fft|rand|solver"
    r"|sparse|pti|file|tensor)|nccl|nv|caffe2_nvrtc|hip|roc|amd)"
)
_OWN = "_probe.abi3.so"
_TABLES_MB = 96  # reserved by probe.c for its log and for three million probes

_Object = Tuple[str, int, bytes, List[Tuple[int, int]]]  # path, bias, build-id, extents of code


class Module(NamedTuple):
    """One shared object in this process."""

    name: str
    path: str
    build_id: str
    bias: int  # added to the file's addresses
    code: List[Tuple[int, int]]  # where its executable segments are

    def to_json(self) -> Dict[str, Any]:
        """As the driver is told."""
        return {"name": self.name, "path": self.path, "build_id": self.build_id, "bias": self.bias}


class NativeObserver:
    """Hits named "module index:hexadecimal address in the file"."""

    kind = "native"

    def __init__(self, packages: Sequence[str], folders: Sequence[str]) -> None:
        """`packages`: the library's package folders; `folders`: the user's folders of modules. Call it when the
        library has been imported. Raises ImportError where its code cannot be probed."""
        self._probe = _import_probe()
        self.modules = _own_modules(self._probe.objects(), [*packages, *folders])
        if not self.modules:
            raise ImportError(f"no shared object with a build-id is loaded from {', '.join(packages)}")
        self._by_name = {module.name: module for module in self.modules}
        _refuse_blocked_traps()
        self._make_writable()
        spans = sorted((low, high, index) for index, module in enumerate(self.modules) for low, high in module.code)
        self._lows = [low for low, _, _ in spans]
        self._owners = [index for _, _, index in spans]
        self._numbers: Dict[str, int] = {HARNESS: 0}
        self._names: List[str] = [HARNESS]
        self._number = 0
        self._measuring = False
        self._running = False

    def plant(self, command: Dict[str, Any]) -> int:
        """Plant in one module, at `offsets` or at those in `file` (NumPy's format); how many were new. `how` may be
        "rearm" (what was hit can be hit once more) or "remove" instead. Raises ValueError for a module or an address
        that is not there, OSError for a file that cannot be read."""
        module = self._by_name.get(str(command.get("name")))
        if module is None:
            raise ValueError(f"no module is called {command.get('name')!r}")
        offsets = np.load(command["file"], allow_pickle=False) if "file" in command else command["offsets"]
        addresses = np.asarray(offsets).astype(np.uint64) + np.uint64(module.bias)
        act = {"plant": self._probe.plant, "rearm": self._probe.rearm, "remove": self._probe.remove}
        return int(act[command.get("how", "plant")](addresses.tobytes()))

    def start(self) -> None:
        """Nothing: the driver says where to plant."""

    def begin(self) -> None:
        """A call begins. Whatever a call before did to the handler is undone."""
        self._probe.enable()
        self._measuring = True

    def resume(self) -> None:
        """What is reached from here on is the present mode's."""
        if self._measuring:
            self._running = True
            self._probe.set_mode(self._number)

    def pause(self) -> None:
        """What is reached from here on is the harness's."""
        self._running = False
        self._probe.set_mode(0)

    def enter(self, mode: str) -> None:
        """A mode begins."""
        number = self._numbers.get(mode)
        if number is None:
            number = self._numbers[mode] = len(self._names)
            self._names.append(mode)
        self._number = number
        if self._running:
            self._probe.set_mode(number)

    def drain(self) -> Features:
        """The hits since the last drain, sorted, by mode."""
        self.pause()
        self._measuring = False
        features: Features = {}
        if self._probe.count():
            for address, number in self._probe.drain():
                features.setdefault(self._names[number], []).append(self._name(address))
            for names in features.values():
                names.sort()
        return features

    def rearm(self) -> int:
        """Plant again all that was hit; how many."""
        return int(self._probe.rearm(None))

    def remove(self) -> int:
        """Take all probes away for now; how many. Planting again is as cheap as the first time."""
        return int(self._probe.remove(None))

    def stop(self) -> None:
        """Take all probes away."""
        self._probe.stop()

    def _make_writable(self) -> None:
        for module in self.modules:
            for low, high in module.code:
                try:
                    self._probe.make_writable(low, high)
                except OSError as error:
                    raise ImportError(f"the code of {module.name} cannot be made writable: {error.strerror}") from None
        self._probe.enable()

    def _name(self, address: int) -> str:
        index = self._owners[bisect.bisect_right(self._lows, address) - 1]
        return f"{index}:{address - self.modules[index].bias:x}"


def probes_megabytes(packages: Sequence[str], folders: Sequence[str]) -> int:
    """Private memory that probes may take in this process once the library is imported: its code, which becomes
    writable, and the probes' own tables; 0 where there can be none."""
    try:
        modules = _own_modules(_import_probe().objects(), [*packages, *folders])
    except ImportError:
        return 0
    return (sum(high - low for module in modules for low, high in module.code) >> 20) + _TABLES_MB


def _import_probe() -> Any:
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise ImportError(f"probes are made for Linux on x86-64, not for {sys.platform} on {platform.machine()}")
    try:
        from . import _probe  # type: ignore[attr-defined]
    except ImportError as error:
        if (Path(__file__).parent / _OWN).exists():
            raise ImportError(f"the probe extension cannot be loaded: {error}") from None
        raise ImportError(
            "the probe extension was not built: install a C compiler, then this package once more"
        ) from None
    return _probe


def _own_modules(
    objects: Sequence[Tuple[str, int, bytes, List[Tuple[int, int]]]], folders: Sequence[str]
) -> List[Module]:
    """What is loaded from these folders and was built there, each under a name of its own."""
    roots = [os.path.realpath(folder) + os.sep for folder in folders]
    modules: Dict[str, Module] = {}
    for path, bias, build_id, code in objects:
        real = os.path.realpath(path) if path else ""
        root = next((root for root in roots if real.startswith(root)), None)
        base = Path(real).name
        if root is None or not build_id or not code or base == _OWN or _VENDORED.match(base):
            continue
        name = base if base not in modules else os.path.relpath(real, root)
        modules[name] = Module(name, real, build_id.hex(), bias, code)
    return list(modules.values())


def _refuse_blocked_traps() -> None:
    """A thread that blocks SIGTRAP is killed by the kernel when it runs into a probe."""
    for status in Path("/proc/self/task").glob("*/status"):
        text = _read(status)
        blocked = re.search(r"^SigBlk:\s*([0-9a-f]+)", text or "", re.MULTILINE)
        if blocked and int(blocked.group(1), 16) >> (signal.SIGTRAP - 1) & 1:
            name = re.search(r"^Name:\s*(.+)", text or "")
            raise ImportError(
                f"a thread of the library blocks SIGTRAP ({name.group(1) if name else status.parent.name})"
            )


def _read(path: Path) -> Optional[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None  # the thread has ended meanwhile
