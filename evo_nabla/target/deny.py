"""The deny list: which APIs, and which objects handed to APIs, a worker refuses, and why."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Dict, List, Optional, Tuple

from evo_nabla.call import Call, ObjectArgument, ReferenceArgument, walk

_LIST = Path(__file__).with_name("deny.json")


class DenyList:
    """The patterns for one library. Answers are remembered by path."""

    def __init__(self, library: str) -> None:
        groups = json.loads(_LIST.read_text(encoding="utf-8"))
        self._deny: List[Tuple[str, str]] = []
        allow: List[str] = []
        for group in ("any", library):
            rules = groups.get(group, {"allow": [], "deny": {}})
            allow += rules["allow"]
            self._deny += rules["deny"].items()
        self._allowed = _alternatives(allow)
        self._denied = _alternatives([pattern for pattern, _ in self._deny])
        self._answers: Dict[str, Optional[str]] = {}

    def refusal(self, call: Call) -> Optional[str]:
        """Why this call is refused, or None: looks at its API and at every named object inside its arguments."""
        reason = self.reason(call.api)
        if reason is not None:
            return reason
        for where, argument in walk(call):
            if isinstance(argument, (ReferenceArgument, ObjectArgument)):
                reason = self.reason(argument.path)
                if reason is not None:
                    return f"{where}: {reason}"
        return None

    def reason(self, path: str) -> Optional[str]:
        """Why the object at a dotted path is refused ("torch.save: writes files"), or None.

        Every prefix of the path is looked up, by the name given and by the name its object calls itself, so that
        neither `torch.serialization.os.system` nor an alias slips through.
        """
        if path not in self._answers:
            self._answers[path] = self._look_up(path)
        return self._answers[path]

    def _look_up(self, path: str) -> Optional[str]:
        # The text first: a denied module must not even be imported.
        reason = self._match(path)
        if reason is not None:
            return f"{path}: {reason}"
        for name in _own_names(path):
            reason = self._match(name)
            if reason is not None:
                return f"{path} (that is {name}): {reason}"
        return None

    def _match(self, name: str) -> Optional[str]:
        if self._allowed.match(name) or not self._denied.match(name):
            return None
        return next(reason for pattern, reason in self._deny if _alternatives([pattern]).match(name))


def _alternatives(patterns: List[str]) -> re.Pattern[str]:
    """One expression that matches a name which a pattern matches, or which lies below such a name."""
    bodies = (".*".join(re.escape(part) for part in pattern.split("*")) for pattern in patterns)
    return re.compile("(?:" + "|".join(bodies) + r")(?:\.|\Z)")


def _own_names(path: str) -> List[str]:
    """The names that the objects along a path give themselves, as far as the path can be followed without importing."""
    parts = path.split(".")
    known = next((count for count in range(len(parts), 0, -1) if ".".join(parts[:count]) in sys.modules), 0)
    if not known:
        return []
    target: object = sys.modules[".".join(parts[:known])]
    names = [_own_name(target)]
    for part in parts[known:]:
        try:
            target = getattr(target, part)
        except Exception:
            break  # whatever a foreign attribute raises: the backend will say that there is no such API
        names.append(_own_name(target))
    return [name for name in names if name]


def _own_name(target: object) -> str:
    if isinstance(target, ModuleType):
        return target.__name__
    module, name = getattr(target, "__module__", None), getattr(target, "__qualname__", None)
    return f"{module}.{name}" if isinstance(module, str) and isinstance(name, str) else ""
