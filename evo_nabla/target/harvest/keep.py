"""From sample calls to seeds: one of each structure, few enough of each API, shortened, and proven to run."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any, Dict, Hashable, Iterator, List, Mapping, Sequence, Set, Tuple

import numpy as np
import torch

from evo_nabla.call import Call, call_from_json, call_to_json
from evo_nabla.target.backends.protocol import Backend, ModeError, Primal, RefusedError
from evo_nabla.target.deny import DenyList

from .apis import is_helper
from .encode import Encoder, UnencodableError, dtype_name, layout_of
from .isolate import Send
from .names import PublicNames
from .torch_samples import FEW, FULL, Sample, tensors_in

MAX_ELEMENTS = 4096
"""The most elements that a seed's tensors may have together; its results may have sixteen times as many."""

MAX_SECONDS = 0.05
"""The longest that a seed may take to run plainly, in seconds of processor time."""

# How many samples of one entry and dtype become seeds.
QUOTA = {FULL: {"float64": 48, "complex128": 16}, FEW: {"float64": 6}}
OTHERWISE = {FULL: 24, FEW: 2}
# Samples that fail are replaced by others, but not for ever.
TRIES_PER_SEED = 3

Group = Tuple[str, str, str]
"""An API, a dtype and how many of them are wanted."""


class DroppedError(Exception):
    """A sample that does not become a seed; the message says why in a few words."""


class Keeper:
    """Chooses among the samples of one entry of a database and sends those that become seeds."""

    def __init__(self, backend: Backend, names: PublicNames) -> None:
        self._backend = backend
        self._denied = DenyList("torch")
        self._exact = Encoder(names)
        self._rounded = Encoder(names, rounded=True)
        self._drawn = Encoder(names, rounded=True, drawn=True)
        self._seconds = 0.0  # processor time of the last run

    def keep(self, samples: Iterator[Sample], room: Mapping[Group, int], send: Send) -> List[Sample]:
        """Sends {"seed": call JSON, "group": […]} for each seed, then {"dropped": {reason: count}}; gives those kept.

        `room` says for which groups how many seeds are still wanted, where fewer than the quota.
        """
        dropped: Counter[str] = Counter()
        groups: Dict[Group, Dict[Hashable, Sample]] = {}
        for sample in samples:
            if is_helper(sample.api.rpartition(".")[2]):
                dropped["an API that has nothing to differentiate"] += 1
                continue
            if sample.init is None and not any(True for _ in tensors_in((sample.args, sample.kwargs))):
                dropped["no tensor among the arguments"] += 1
                continue
            if _elements(sample) > MAX_ELEMENTS:
                dropped["more elements than a seed may have"] += 1
                continue
            group = (sample.api, dtype_name(sample.dtype), sample.wanted)
            same = groups.setdefault(group, {}).setdefault(structure(sample), sample)
            if same is not sample:
                dropped["same structure as another"] += 1
        kept: List[Sample] = []
        for group, distinct in groups.items():
            quota = min(quota_of(group), room.get(group, quota_of(group)))
            kept.extend(self._keep_some(group, list(distinct.values()), quota, dropped, send))
        send({"dropped": dict(dropped)})
        return kept

    def _keep_some(
        self, group: Group, candidates: Sequence[Sample], quota: int, dropped: Counter[str], send: Send
    ) -> Iterator[Sample]:
        left, tries = quota, quota * TRIES_PER_SEED
        for sample in spread(candidates, quota):
            if left == 0 or tries == 0:
                dropped["enough of this API and dtype"] += 1
                continue
            tries -= 1
            try:
                call = self.seed(sample)
            except DroppedError as reason:
                dropped[str(reason)] += 1
                continue
            left -= 1
            send({"seed": call_to_json(call), "group": list(group)})
            yield sample

    def seed(self, sample: Sample) -> Call:
        """The shortest form of a sample that runs as its exact form does. Raises DroppedError."""
        try:
            exact = self._encoded(self._exact, sample)
            expected = self._run(exact)
            for encoder in (self._drawn, self._rounded):  # the same call when no tensor is large
                shorter = self._encoded(encoder, sample)
                if self._runs_like(shorter, expected):
                    return self._within_time(shorter)
        except UnencodableError as reason:
            raise DroppedError(f"no form in a call: {reason}") from reason
        return self._within_time(exact)

    def checked(self, document: Mapping[str, Any]) -> Call:
        """A call given as JSON, if it runs within the limits. Raises DroppedError."""
        call = call_from_json(dict(document))
        self._run(call)
        return self._within_time(call)

    def _encoded(self, encoder: Encoder, sample: Sample) -> Call:
        call = encoder.call(sample.api, sample.args, sample.kwargs, sample.init, sample.origin)
        return call_from_json(call_to_json(call))  # what is written must be what is read

    def _run(self, call: Call) -> Primal:
        if self._denied.refusal(call) is not None:
            raise DroppedError("on the deny list")
        self._backend.reset()
        started = time.process_time()
        try:
            result = self._backend.prepare(call).direct()
        except ModeError as error:
            raise DroppedError("does not run: " + error.problem) from error
        except RefusedError as error:
            raise DroppedError("refused by the backend") from error
        except Exception as error:  # what a backend lets through, it would let through in a campaign too
            raise DroppedError(f"the backend raised {type(error).__name__}") from error
        finally:
            self._seconds = time.process_time() - started
        if sum(array.size for array in (*result.values, *result.others)) > 16 * MAX_ELEMENTS:
            raise DroppedError("more results than a seed may have")
        return result

    def _runs_like(self, call: Call, expected: Primal) -> bool:
        try:
            return alike(self._run(call), expected)
        except DroppedError:
            return False

    def _within_time(self, call: Call) -> Call:
        """The call that has just run, if it was fast enough or is now: a first run may pay for what is done once."""
        for _ in range(2):
            if self._seconds <= MAX_SECONDS:
                return call
            self._run(call)
        raise DroppedError("slow")


def alike(result: Primal, expected: Primal) -> bool:
    """Same shapes and dtypes, and not finite in the same places."""
    if result.descriptions != expected.descriptions or len(result.others) != len(expected.others):
        return False
    if any(ours.shape != theirs.shape for ours, theirs in zip(result.others, expected.others)):
        return False
    pairs = zip(result.values, expected.values)
    return all(np.array_equal(np.isfinite(ours), np.isfinite(theirs)) for ours, theirs in pairs)


def quota_of(group: Group) -> int:
    """How many seeds of one entry a group may give."""
    _, dtype, wanted = group
    return QUOTA[wanted].get(dtype, OTHERWISE[wanted])


def spread(candidates: Sequence[Sample], quota: int) -> Iterator[Sample]:
    """First `quota` candidates at even distances, then the others: databases enumerate products of options."""
    count = len(candidates)
    chosen = range(count) if count <= quota else [place * count // quota for place in range(quota)]
    yield from (candidates[place] for place in chosen)
    first: Set[int] = set(chosen)
    yield from (candidate for place, candidate in enumerate(candidates) if place not in first)


def structure(sample: Sample) -> Hashable:
    """What tells two samples of one API apart but for the values in their tensors."""
    init = None if sample.init is None else (_shape_of(sample.init[0]), _shape_of(sample.init[1]))
    return (_shape_of(sample.args), _shape_of(sample.kwargs), init)


def _shape_of(value: Any) -> Hashable:
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided or value.is_quantized:
            return str(value.layout)
        return (tuple(value.shape), dtype_name(value.dtype), layout_of(value), value.requires_grad)
    if isinstance(value, Mapping):
        return tuple(
            (str(name), _shape_of(item)) for name, item in sorted(value.items(), key=lambda item: str(item[0]))
        )
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, tuple(_shape_of(item) for item in value))
    return (type(value).__name__, repr(value))


def _elements(sample: Sample) -> int:
    init: Tuple[Any, ...] = () if sample.init is None else sample.init
    return sum(tensor.numel() for tensor in tensors_in((sample.args, sample.kwargs, *init)))
