"""The whole harvest of torch: each entry of its databases in isolation, and calls written by hand for the rest."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Sequence, Tuple

import torch

from evo_nabla.target.backends.protocol import Backend

from . import torch_samples as samples
from .apis import discover, tensor_operators
from .isolate import LostError, Message, Send, isolated
from .keep import DroppedError, Group, Keeper, quota_of
from .names import PublicNames

Document = Dict[str, Any]
Emit = Callable[[Document], None]
Entry = Tuple[str, Callable[[Send], None]]

BY_HAND = Path(__file__).with_name("torch_by_hand.json")
"""Calls of modules and transforms that no database of torch has samples of."""

ENTRY_SECONDS = 120.0
# How many small entries share one copy of the process: copying costs more than they do.
TOGETHER = 25
# Samples of each dtype whose underlying aten operators are recorded.
RECORDED_SAMPLES = 16
RECORDED_DTYPES = (torch.float64, torch.complex128)
# How many seeds of one API are put aside for its namesakes, how many of them a namesake gets at most, in which dtypes.
LOANS = 12
BORROWED = 8
LENT_DTYPES = ("float64", "complex128")


class Harvest:
    """One harvest: counts what was kept and dropped, and shares out the room for what many entries come down to."""

    def __init__(self, backend: Backend, emit: Emit) -> None:
        self._names = PublicNames()
        self._keeper = Keeper(backend, self._names)
        self._emit = emit
        self._room: Dict[Group, int] = {}
        self._texts: set[str] = set()
        self._apis: set[str] = set()
        self._lendable: Dict[str, List[Document]] = {}
        self._dropped: Counter[str] = Counter()
        self._kept: Counter[str] = Counter()
        self._operators = {name for name in tensor_operators() if not re.search(samples.INTERNAL_OPERATOR, name)}

    def run(self) -> Dict[str, Any]:
        """Harvests everything and gives the counts that `harvest` documents."""
        entries = list(self._entries())
        for name, work in entries:
            self._harvest(name, work)
        self._harvest_small(list(self._by_hand()))
        self._harvest_small([(f"borrowed:{api}", self._borrowing(api)) for api in self._bare()])
        return {
            "seeds": sum(self._kept.values()),
            "apis": len(self._apis),
            "entries": len(entries),
            "kept": dict(sorted(self._kept.items())),
            "dropped": dict(sorted(self._dropped.items())),
        }

    def _entries(self) -> Iterator[Entry]:
        for info in samples.operator_infos():
            yield "opinfo:" + samples.operator_name(info), self._operator(info)
        for info in samples.foreach_infos():
            yield "foreach:" + info.name, self._foreach(info)
        for info in samples.module_infos():
            yield "moduleinfo:" + info.name, self._module(info)

    def _by_hand(self) -> Iterator[Entry]:
        for document in json.loads(BY_HAND.read_text(encoding="utf-8")):
            yield "by-hand:" + document["api"], self._given(document)

    def _harvest(self, name: str, work: Callable[[Send], None]) -> None:
        try:
            for message in isolated(work, ENTRY_SECONDS):
                self._receive(name, message)
        except LostError as reason:
            self._dropped[f"entry lost: {reason}"] += 1

    def _harvest_small(self, entries: Sequence[Entry]) -> None:
        """Harvests many small entries, several in one copy of the process; each alone where one of them kills it."""
        for start in range(0, len(entries), TOGETHER):
            chunk = entries[start : start + TOGETHER]
            try:
                messages = list(isolated(_together(chunk), ENTRY_SECONDS))
            except LostError:
                for name, work in chunk:
                    self._harvest(name, work)
                continue
            for message in messages:
                self._receive(chunk[message["entry"]][0], message["message"])

    def _receive(self, name: str, message: Message) -> None:
        self._dropped.update(message.get("dropped", {}))
        document = message.get("seed")
        if document is None:
            return
        text = json.dumps({key: value for key, value in document.items() if key != "x-from"}, sort_keys=True)
        if text in self._texts:
            self._dropped["same as another entry's"] += 1
            return
        self._texts.add(text)
        self._apis.add(document["api"])
        self._kept[name.partition(":")[0]] += 1
        group: Group = tuple(message["group"])
        if group[0].startswith("torch.ops.aten."):
            self._room[group] = self._room.get(group, quota_of(group)) - 1
        if name.startswith("opinfo:"):
            self._lend(document, group)
        self._emit(document)

    def _lend(self, document: Document, group: Group) -> None:
        """Puts a seed aside for APIs of the same name that no database samples; a few of each API will do."""
        name = plain_name(document["api"])
        loans = self._lendable.setdefault(name, [])
        if sum(loan["api"] == document["api"] for loan in loans) < LOANS and group[1] in LENT_DTYPES:
            loans.append(document)

    def _bare(self) -> List[str]:
        return [api for api in discover() if api not in self._apis and plain_name(api) in self._lendable]

    def _borrowing(self, api: str) -> Callable[[Send], None]:
        """torch.relu, torch.relu_ and torch.Tensor.relu take what torch.nn.functional.relu takes, if they run."""

        def work(send: Send) -> None:
            left = BORROWED
            for loan in self._lendable[plain_name(api)]:
                try:
                    self._keeper.checked({**loan, "api": api})
                except DroppedError as reason:
                    send({"dropped": {f"borrowed: {reason}": 1}})
                    continue
                seed = {**loan, "api": api, "x-from": f"borrowed:{loan['api']}"}
                send({"seed": seed, "group": [api, "", samples.FEW]})
                left -= 1
                if left == 0:
                    return

        return work

    def _operator(self, info: Any) -> Callable[[Send], None]:
        def work(send: Send) -> None:
            for dtype, wanted in samples.dtypes_of(info):
                kept = self._keeper.keep(
                    _until_failure(samples.operator_samples(info, dtype, wanted, self._names), send), {}, send
                )
                own = [sample for sample in kept if sample.wanted == samples.FULL][:RECORDED_SAMPLES]
                if own and dtype in RECORDED_DTYPES:
                    underlying = samples.underlying_samples(info, own, self._operators)
                    self._keeper.keep(_until_failure(underlying, send), self._room, send)

        return work

    def _module(self, info: Any) -> Callable[[Send], None]:
        def work(send: Send) -> None:
            supported = set(info.dtypes)
            for dtype, wanted in (
                (torch.float64, samples.FULL),
                (torch.float32, samples.FEW),
                (torch.complex128, samples.FEW),
            ):
                if dtype in supported:
                    self._keeper.keep(_until_failure(samples.module_samples(info, dtype, wanted), send), {}, send)

        return work

    def _foreach(self, info: Any) -> Callable[[Send], None]:
        def work(send: Send) -> None:
            for dtype in (torch.float64, torch.float32, torch.complex128):
                found = samples.foreach_samples(info, dtype, samples.FEW)
                self._keeper.keep(_until_failure(found, send), {}, send)

        return work

    def _given(self, document: Document) -> Callable[[Send], None]:
        def work(send: Send) -> None:
            try:
                self._keeper.checked(document)
            except DroppedError as reason:
                send({"dropped": {f"by hand: {document['api']} {reason}": 1}})
                return
            send({"seed": {**document, "x-from": "by-hand"}, "group": [document["api"], "", samples.FEW]})

        return work


def _together(entries: Sequence[Entry]) -> Callable[[Send], None]:
    def work(send: Send) -> None:
        for place, (_, one) in enumerate(entries):
            one(lambda message, place=place: send({"entry": place, "message": message}))  # type: ignore[misc]

    return work


def plain_name(api: str) -> str:
    """What namesakes share: relu for torch.nn.functional.relu, torch.Tensor.relu_ and torch.ops.aten.relu."""
    return api.rpartition(".")[2].strip("_")


def _until_failure(found: Iterator[samples.Sample], send: Send) -> Iterator[samples.Sample]:
    """The samples up to where a database's own code fails, which is counted."""
    try:
        yield from found
    except Exception as error:
        send({"dropped": {f"the database's own code raised {type(error).__name__}": 1}})
