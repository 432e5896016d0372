"""Which of the user's own APIs the target cannot import, asked before a campaign is made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evo_nabla.call import Call
from evo_nabla.executor import Worker

from .errors import CampaignError

# How a worker's report begins when the API itself is what is wrong with a call.
_REFUSED = "refused: "
MOST_NAMED = 3


def unreachable(worker: Worker, library: str, seeds: Mapping[str, Sequence[Call]]) -> dict[str, str]:
    """The APIs outside the library that cannot be imported, with the reason.

    One seed of each is run, apart from the worker's own calls, since importing alone cannot tell a name that is missing
    from one that is found on an object only.
    """
    own = [api for api in seeds if not api.startswith(f"{library}.")]
    reports = worker.run_apart([seeds[api][0] for api in own])
    return {
        api: report.reason.removeprefix(_REFUSED).removeprefix(api).lstrip(": ")
        for api, report in zip(own, reports, strict=True)
        if report.status == "rejected" and report.reason.startswith((f"{_REFUSED}{api}: ", f"{_REFUSED}{api} "))
    }


def require_reachable(refused: Mapping[str, str], seeds: Mapping[str, Sequence[Call]], paths: Sequence[str]) -> str:
    """One line about the APIs that cannot be imported, "" if there are none; CampaignError if there are no others."""
    if not refused:
        return ""
    named = "; ".join(f"{api}: {reason}" for api, reason in list(refused.items())[:MOST_NAMED])
    more = f"; and {len(refused) - MOST_NAMED} more" if len(refused) > MOST_NAMED else ""
    module = next(iter(refused)).rpartition(".")[0]
    where = f"PYTHONPATH={':'.join(paths)} " if paths else ""
    line = f"cannot be imported: {named}{more} (try: {where}python -c 'import {module}')"
    if refused.keys() >= seeds.keys():
        raise CampaignError(f"{line}; --path names the folder to import from")
    return line
