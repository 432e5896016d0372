"""Opens a campaign, new or to be resumed: folder, lock, store, settings, seeds, workers, strategy, findings."""

from __future__ import annotations

import platform
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from evo_nabla.call import Call
from evo_nabla.corpus.existing import require_ours
from evo_nabla.corpus.seeds import bundled_path, bundled_seeds, user_seeds
from evo_nabla.corpus.store import SCHEMA_VERSION, Store, sqlite_url
from evo_nabla.coverage.measurement import Build
from evo_nabla.coverage.nativemap import NATIVE, NativeMap
from evo_nabla.evolution.feedback import Strategy
from evo_nabla.evolution.randomness import restore_random_state
from evo_nabla.evolution.scheduler import Scheduler
from evo_nabla.evolution.signatures import Signatures
from evo_nabla.evolution.strategies import make_strategy
from evo_nabla.executor import Pool, WorkerAnswerError, WorkerSettings
from evo_nabla.findings import Versions

from .budget import Budget
from .campaign import BUILDS, ROOT, SCHEDULER_STATE, STORE_NAME, STRATEGY_STATE, VERSIONS, Campaign
from .desk import Desk
from .errors import CampaignError
from .lock import LOCK_NAME, CampaignLock
from .monitors import Monitor
from .place import naming, require_usable
from .reachable import require_reachable, unreachable
from .selection import select_seeds
from .settings import CampaignSettings, new_settings, resumed_settings


@contextmanager
def open_campaign(
    folder: Path,
    library: str,
    given: Mapping[str, Any],
    *,
    fresh: bool = False,
    announce: Callable[[], None] = lambda: None,
    warn: Callable[[str], None] = lambda _: None,
    budget: Budget,
    monitor: Monitor,
) -> Iterator[Campaign]:
    """The campaign in `folder`, locked and ready to run; `given` are the settings the user named, None for the others.

    `announce` is called when all that can be seen at once is good and what takes seconds begins;
    `warn` is given what the user should know once.
    A folder is made, or an old campaign moved aside, only once everything else has proved good.
    Raises LockedError, CampaignError, StoreError, CallError (seeds) or WorkerStartError.
    """
    require_usable(folder)
    with ExitStack() as opened:
        file = folder / STORE_NAME
        resumed = not fresh and file.exists()
        if resumed:
            require_ours(file, SCHEMA_VERSION)  # before there is a lock beside another program's database
        store = _open_store(folder, opened) if resumed else None
        stored = {} if store is None else store.settings()
        settings = resumed_settings(stored, library, given) if stored else new_settings(library, given)
        old = _hold_old(folder, opened) if fresh else None
        worker_settings = worker_settings_of(settings)
        announce()
        # Importing the library and reading the seeds take seconds each, in different processes.
        native = opened.enter_context(NativeMap(seen=_seen_native(store)))
        starting = opened.enter_context(ThreadPoolExecutor(1)).submit(Pool, worker_settings, settings.workers, native)
        opened.callback(_close, starting)
        seeds = load_seeds(settings)
        pool = starting.result()
        refused = require_reachable(unreachable(pool.workers[0], library, seeds), seeds, settings.paths)
        if refused:
            warn(refused)
        if old is not None:
            _move_aside(folder, old)
        if store is None:
            store = _open_store(folder, opened)
            if store.settings():
                raise CampaignError(f"{folder}: another process began a campaign there just now; run the command again")
        recorded = {finding.signature: finding for finding in store.findings()}
        desk = opened.enter_context(Desk(folder, worker_settings, _versions(pool), recorded))
        random.seed(settings.seed)
        signatures, notices = _signatures(pool, list(seeds))
        strategy = make_strategy(settings.strategy, seeds, signatures)
        scheduler = Scheduler(strategy.apis)
        _restore(store, strategy, scheduler)
        if not stored:
            store.write_settings(settings.to_json())
        builds = _merged_builds(stored.get(BUILDS, ()), builds_of(pool), folder)
        info = pool.workers[0].info
        root = str(Path(info.packages[0]).parent) if info.packages else ""
        store.write_settings({BUILDS: [build._asdict() for build in builds], VERSIONS: [info.version], ROOT: root})
        yield Campaign(
            settings,
            store,
            strategy,
            scheduler,
            pool,
            desk,
            target=_target_name(pool),
            rules=native.rules(),
            notice="; ".join([*notices, *_notices(pool), *_skipped(native), *desk.problems]),
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
        observers=settings.observers,
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


def _seen_native(store: Store | None) -> Iterator[str]:
    """The names of native code that the campaign has reached in earlier sessions."""
    seen = {} if store is None else store.features()
    for kind in NATIVE:
        yield from seen.get(kind, ())


def builds_of(pool: Pool) -> list[Build]:
    """The shared objects whose native code is measured."""
    return [Build(module.name, module.path, module.build_id) for module in pool.workers[0].info.native]


def _merged_builds(stored: Sequence[Mapping[str, str]], present: Sequence[Build], folder: Path) -> list[Build]:
    """The builds that the names of the campaign's native features belong to: those stored, and new ones.

    Raises CampaignError where the library was replaced by another build: its functions lie elsewhere.
    """
    known = {build["name"]: Build(**build) for build in stored}
    for build in present:
        if known.setdefault(build.name, build).build_id != build.build_id:
            raise CampaignError(
                f"{folder} was begun with another build of {build.name}: its native features lie elsewhere there; "
                "use another --folder, or --fresh to start anew"
            )
    return list(known.values())


def _skipped(native: NativeMap) -> list[str]:
    return [f"no native coverage of {name}: {reason}" for name, reason in native.skipped.items()]


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


def _open_store(folder: Path, opened: ExitStack) -> Store:
    """Lock the folder, which is made if it is missing, and open the store in it."""
    opened.enter_context(CampaignLock(folder))
    return opened.enter_context(Store(sqlite_url(folder / STORE_NAME)))


def _hold_old(folder: Path, opened: ExitStack) -> CampaignLock | None:
    """Lock the campaign that is to be moved aside, so that nobody goes on with it meanwhile; None if there is none."""
    if not folder.exists():
        return None
    if not (folder / STORE_NAME).exists() and any(path.name != LOCK_NAME for path in folder.iterdir()):
        raise CampaignError(f"{folder} is no campaign's folder: not moved aside; use another --folder")
    return opened.enter_context(CampaignLock(folder))


def _move_aside(folder: Path, lock: CampaignLock) -> None:
    """Give an existing campaign's folder a name with the time in it, then let go of its lock."""
    with naming(folder):
        folder.rename(folder.with_name(f"{folder.name}.{time.strftime('%Y%m%d-%H%M%S')}"))
    lock.release()
