"""Which seeds a campaign uses: of each API a bounded number, structurally different ones first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evo_nabla.call import Call, TensorArgument, walk

SEEDS_PER_API = 64


def select_seeds(calls: Iterable[Call], limit: int = SEEDS_PER_API) -> dict[str, list[Call]]:
    """The seeds by API, in the order of the APIs' names, at most `limit` each."""
    by_api: dict[str, list[Call]] = {}
    for call in calls:
        by_api.setdefault(call.api, []).append(call)
    return {api: diverse(by_api[api], limit) for api in sorted(by_api)}


def diverse(calls: Sequence[Call], limit: int) -> list[Call]:
    """At most `limit` of `calls`, next always the one that adds most traits not seen before; earlier ones win ties."""
    waiting = [(call, traits(call)) for call in calls]
    chosen: list[Call] = []
    seen: set[str] = set()
    while waiting and len(chosen) < limit:
        best = max(range(len(waiting)), key=lambda index: (len(waiting[index][1] - seen), -index))
        call, gained = waiting.pop(best)
        if gained <= seen:
            seen = set(gained)  # all traits are covered: cover them a second time
        seen |= gained
        chosen.append(call)
    return chosen


def traits(call: Call) -> frozenset[str]:
    """What a call's structure is made of: each argument's kind, of a tensor its dtype, rank, emptiness and layout."""
    found = set()
    for path, node in walk(call):
        found.add(f"{path} {type(node).__name__}")
        if isinstance(node, TensorArgument):
            found.add(f"{path} dtype {node.dtype}")
            found.add(f"{path} rank {len(node.shape)}")
            found.add(f"{path} layout {node.layout.kind}")
            if 0 in node.shape:
                found.add(f"{path} empty")
        elif isinstance(node, (str, bool)):
            found.add(f"{path} {node}")
    return frozenset(found)
