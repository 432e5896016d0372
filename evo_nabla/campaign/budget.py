"""The budget of a campaign's session: a time, a number of calls, or none."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .errors import CampaignError

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_CALLS = re.compile(r"(\d+)\s*(?:c|calls?)")
_TIME = re.compile(r"(?:\d+(?:\.\d+)?[smhd])+")
_TIME_PART = re.compile(r"(\d+(?:\.\d+)?)([smhd])")
_SECONDS = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Budget:
    """What a session may spend, in seconds or calls; both None: no end but Ctrl-C."""

    seconds: float | None = None
    calls: int | None = None

    def spent(self, seconds: float, calls: int) -> bool:
        """Whether a session of `seconds` and `calls` has used the budget up."""
        return (self.seconds is not None and seconds >= self.seconds) or (
            self.calls is not None and calls >= self.calls
        )

    def calls_left(self, calls: int) -> int | None:
        """How many more calls may be started after `calls`, or None for any number."""
        return None if self.calls is None else max(0, self.calls - calls)

    def __str__(self) -> str:
        if self.calls is not None:
            return f"{self.calls:,} calls"
        return "no end" if self.seconds is None else duration(self.seconds)


def parse_budget(text: str) -> Budget:
    """Read a budget: "60s", "5m", "1h30m", "2d", "90" (seconds), "10000 calls", "10000c".

    Raises CampaignError for anything else and for a budget of nothing.
    """
    plain = text.strip().lower().replace("_", "").replace(",", "")
    calls = _CALLS.fullmatch(plain)
    if calls and int(calls[1]) > 0:
        return Budget(calls=int(calls[1]))
    seconds = 0.0
    if _TIME.fullmatch(plain):
        seconds = sum(float(amount) * _UNITS[unit] for amount, unit in _TIME_PART.findall(plain))
    elif _SECONDS.fullmatch(plain):
        seconds = float(plain)
    if seconds <= 0:
        raise CampaignError(f"budget {text!r}: write a time such as 60s, 5m, 1h30m, or calls such as 10000c")
    return Budget(seconds=seconds)


def duration(seconds: float) -> str:
    """A time for people: "42s", "3m 05s", "2h 03m", "4d 01h"."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    if whole < 86400:
        return f"{whole // 3600}h {whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d {whole % 86400 // 3600:02d}h"
