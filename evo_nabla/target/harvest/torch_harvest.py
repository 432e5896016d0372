"""The whole harvest of torch: each entry of its databases in isolation, and calls written by hand for the rest."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Tuple

import torch

from evo_nabla.target.backends.protocol import Backend

from . import torch_samples as samples
from .discover import tensor_operators
from .isolate import LostError, Message, Send, isolated
from .keep import DroppedError, Group, Keeper, quota_of
from .names import PublicNames

Emit = Callable[[Dict[str, Any]], None]

BY_HAND = Path(__file__).with_name("torch_by_hand.json")
"""Calls of modules and transforms that no database of torch has samples of."""

ENTRY_SECONDS = 120.0
# Samples of each dtype whose underlying aten operators are recorded.
RECORDED_SAMPLES = 16
RECORDED_DTYPES = (torch.float64, torch.complex128)


class Harvest:
    """One harvest: counts what was kept and dropped, and shares out the room for what many entries come down to."""

    def __init__(self, backend: Backend, emit: Emit) -> None:
        self._names = PublicNames()
        self._keeper = Keeper(backend, self._names)
        self._emit = emit
        self._room: Dict[Group, int] = {}
        self._texts: set[str] = set()
        self._apis: set[str] = set()
        self._dropped: Counter[str] = Counter()
        self._kept: Counter[str] = Counter()
        self._operators = {name for name in tensor_operators() if not re.search(samples.INTERNAL_OPERATOR, name)}

    def run(self) -> Dict[str, Any]:
        """Harvests everything and gives the counts that `harvest` documents."""
        entries = list(self._entries())
        for name, work in entries:
            self._harvest(name, work)
        return {
            "seeds": sum(self._kept.values()),
            "apis": len(self._apis),
            "entries": len(entries),
            "kept": dict(sorted(self._kept.items())),
            "dropped": dict(sorted(self._dropped.items())),
        }

    def _entries(self) -> Iterator[Tuple[str, Callable[[Send], None]]]:
        for info in samples.operator_infos():
            yield "opinfo:" + samples.operator_name(info), self._operator(info)
        for info in samples.module_infos():
            yield "moduleinfo:" + info.name, self._module(info)
        for document in json.loads(BY_HAND.read_text(encoding="utf-8")):
            yield "by-hand:" + document["api"], self._by_hand(document)

    def _harvest(self, name: str, work: Callable[[Send], None]) -> None:
        try:
            for message in isolated(work, ENTRY_SECONDS):
                self._receive(name, message)
        except LostError as reason:
            self._dropped[f"entry lost: {reason}"] += 1

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
        self._emit(document)

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

    def _by_hand(self, document: Dict[str, Any]) -> Callable[[Send], None]:
        def work(send: Send) -> None:
            try:
                self._keeper.checked(document)
            except DroppedError as reason:
                send({"dropped": {f"by hand: {document['api']} {reason}": 1}})
                return
            send({"seed": {**document, "x-from": "by-hand"}, "group": [document["api"], "", samples.FEW]})

        return work


def _until_failure(found: Iterator[samples.Sample], send: Send) -> Iterator[samples.Sample]:
    """The samples up to where a database's own code fails, which is counted."""
    try:
        yield from found
    except Exception as error:
        send({"dropped": {f"the database's own code raised {type(error).__name__}": 1}})
