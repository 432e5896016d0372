"""Opens a campaign, new or to be resumed: folder, lock, store, settings, seeds, workers, strategy, findings."""

from __future__ import annotations

import platform
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from evo_nabla.call import Call
from evo_nabla.corpus.seeds import bundled_path, bundled_seeds, user_seeds
from evo_nabla.corpus.store import Store, sqlite_url
from evo_nabla.evolution.feedback import Strategy
from evo_nabla.evolution.randomness import restore_random_state
from evo_nabla.evolution.scheduler import Scheduler
from evo_nabla.evolution.signatures import Signatures
from evo_nabla.evolution.strategies import make_strategy
from evo_nabla.executor import Pool, WorkerAnswerError, WorkerSettings
from evo_nabla.findings import Versions

from .budget import Budget
from .campaign import SCHEDULER_STATE, STORE_NAME, STRATEGY_STATE, Campaign
from .desk import Desk
from .errors import CampaignError
from .lock import LOCK_NAME, CampaignLock
from .monitors import Monitor
from .selection import select_seeds
from .settings import CampaignSettings, new_settings, resumed_settings


@contextmanager
def open_campaign(
    folder: Path,
    library: str,
    given: Mapping[str, Any],
    *,
    fresh: bool = False,
    budget: Budget,
    monitor: Monitor,
) -> Iterator[Campaign]:
    """The campaign in `folder`, locked and ready to run; `given` are the settings the user named, None for the others.

    Raises LockedError, CampaignError, StoreError, CallError (seeds) or WorkerStartError.
    """
    if fresh:
        _move_aside(folder)
    with ExitStack() as opened:
        opened.enter_context(CampaignLock(folder))
        store = opened.enter_context(Store(sqlite_url(folder / STORE_NAME)))
        stored = store.settings()
        settings = resumed_settings(stored, library, given) if stored else new_settings(library, given)
        worker_settings = worker_settings_of(settings)
        # Importing the library and reading the seeds take seconds each, in different processes.
        starting = opened.enter_context(ThreadPoolExecutor(1)).submit(Pool, worker_settings, settings.workers)
        opened.callback(_close, starting)
        seeds = load_seeds(settings)
        pool = starting.result()
        recorded = {finding.signature: finding for finding in store.findings()}
        desk = opened.enter_context(Desk(folder, worker_settings, _versions(pool), recorded))
        random.seed(settings.seed)
        signatures, notices = _signatures(pool, list(seeds))
        strategy = make_strategy(settings.strategy, seeds, signatures)
        scheduler = Scheduler(strategy.apis)
        _restore(store, strategy, scheduler)
        if not stored:
            store.write_settings(settings.to_json())
        yield Campaign(
            settings,
            store,
            strategy,
            scheduler,
            pool,
            desk,
            target=_target_name(pool),
            notice="; ".join([*notices, *_notices(pool), *desk.problems]),
            budget=budget,
            monitor=monitor,
        )


def _close(starting: Future[Pool]) -> None:
    """Close a pool that may still be starting, or that could not start."""
    if starting.exception() is None:
        starting.result().close()


def worker_settings_of(settings: CampaignSettings) -> WorkerSettings:
    """How the campaign's workers are started."""
    return WorkerSettings(
        python=Path(settings.python),
        library=settings.library,
        paths=tuple(map(Path, settings.paths)),
        order=settings.order,
        seed=settings.seed,
        device=settings.device,
    )


def load_seeds(settings: CampaignSettings) -> dict[str, list[Call]]:
    """The seeds of every API the campaign is about: the library's own and the user's, the user's first.

    Raises CampaignError if no seed is of an API that was asked for.
    """
    calls: list[Call] = []
    if settings.seeds is not None:
        calls += user_seeds(Path(settings.seeds)).matching(settings.apis)
    if settings.seeds is None or bundled_path(settings.library).exists():
        calls += bundled_seeds(settings.library).matching(settings.apis)
    seeds = select_seeds(calls)
    for glob in settings.apis or ("*",):
        if not any(fnmatchcase(api, glob) for api in seeds):
            raise CampaignError(f"no seed call is of an API that matches {glob!r}; give some with --seeds CALLS.jsonl")
    return seeds


def _signatures(pool: Pool, apis: Sequence[str]) -> tuple[Signatures, list[str]]:
    """The signatures of all APIs as the target gives them, and what to tell the user if it cannot."""
    try:
        return pool.workers[0].describe(apis), []
    except WorkerAnswerError as error:
        return {}, [f"no signatures, so optional arguments are not added: {error}"]


def _restore(store: Store, strategy: Strategy, scheduler: Scheduler) -> None:
    """Go on from the last committed generation; a store without one leaves everything as it is."""
    states = store.states()
    if "random" not in states:
        return
    strategy.restore({"shared": states["strategy"], "apis": _by_api(states, STRATEGY_STATE)})
    scheduler.restore({**states["scheduler"], "apis": _by_api(states, SCHEDULER_STATE)})
    restore_random_state(states["random"])


def _by_api(states: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {key.removeprefix(prefix): value for key, value in states.items() if key.startswith(prefix)}


def _target_name(pool: Pool) -> str:
    info = pool.workers[0].info
    return f"{info.library} {info.version} (Python {info.python})"


def _versions(pool: Pool) -> Versions:
    """What findings say of where they were seen."""
    info = pool.workers[0].info
    return Versions(info.library, info.version, info.python, info.numpy, platform.platform(terse=True))


def _notices(pool: Pool) -> list[str]:
    """What the user should know of the workers from the start: what is not measured, and a missing sandbox."""
    info = pool.workers[0].info
    notices = [f"no {kind} coverage: {reason}" for kind, reason in info.missing.items()]
    if info.sandbox.startswith("none"):
        notices.append(f"no sandbox: {info.sandbox}")
    return notices


def _move_aside(folder: Path) -> None:
    """Give an existing campaign's folder a name with the time in it; its lock is held meanwhile."""
    if not folder.exists():
        return
    if not (folder / STORE_NAME).exists() and any(path.name != LOCK_NAME for path in folder.iterdir()):
        raise CampaignError(f"{folder} is no campaign's folder: not moved aside")
    with CampaignLock(folder):
        aside = folder.with_name(f"{folder.name}.{time.strftime('%Y%m%d-%H%M%S')}")
        folder.rename(aside)
