"""The campaign's loop: scheduler, strategy, workers, ledger, store and findings, one generation after the other."""

from __future__ import annotations

import concurrent.futures
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass

from evo_nabla.corpus.store import HistoryPoint, OperatorYield, Store
from evo_nabla.evolution.feedback import Evaluated, Offspring, Strategy
from evo_nabla.evolution.randomness import random_state
from evo_nabla.evolution.scheduler import Scheduler
from evo_nabla.executor import Pool
from evo_nabla.executor.report import Report

from .budget import Budget
from .desk import CONFIRMED, NEW, Desk
from .ledger import Ledger
from .monitors import Monitor
from .progress import Progress
from .settings import CampaignSettings
from .visits import BATCH, Visits

STORE_NAME = "campaign.sqlite"
# The store's setting that says which builds of shared objects the names of native features belong to.
BUILDS = "builds"
VERSIONS = "versions"
# And the folder that the names of Python's files are relative to.
ROOT = "root"
# The store's keys of what the strategy and the scheduler keep of each API.
STRATEGY_STATE = "strategy.api."
SCHEDULER_STATE = "scheduler.api."

# Seconds between rows of the history.
HISTORY_PERIOD = 10.0
# Seconds that running batches get to end after Ctrl-C, and after the budget's time is spent.
STOP_PATIENCE = 1.0
END_PATIENCE = 10.0
# Findings are confirmed beside the fuzzing in slices of so many seconds; after the budget is spent they get some more.
FINDINGS_SLICE = 2.0
FINDINGS_PATIENCE = 20.0
# How often a wait looks whether to stop, in seconds.
GLANCE = 0.1
# Seconds over which the present speed is taken.
SPEED_WINDOW = 10.0
TOP_OPERATORS = 8
# Of findings, those that are not known to be nothing new.
SHOWN = frozenset({NEW, CONFIRMED})
# What a call is taken to cost where it must not be measured.
SECONDS_PER_CALL = 0.005


@dataclass
class Batch:
    """One generation in flight: the offspring, what they are called for, and their reports to come."""

    offspring: list[Offspring]
    reports: concurrent.futures.Future[list[Report]]

    def apis(self) -> list[str]:
        """The APIs of the batch, each once."""
        return list(dict.fromkeys(child.call.api for child in self.offspring))


class Campaign:
    """One session of a campaign: everything it needs is open already, and `run` goes on until the budget or `stop`.

    Results are folded in the order in which batches were submitted, whatever worker is first: with one seed the
    calls are the same, however many workers there are.
    """

    def __init__(
        self,
        settings: CampaignSettings,
        store: Store,
        strategy: Strategy,
        scheduler: Scheduler,
        pool: Pool,
        findings: Desk,
        *,
        target: str,
        rules: Sequence[str],
        notice: str,
        budget: Budget,
        monitor: Monitor,
    ) -> None:
        self._settings = settings
        self._store = store
        self._strategy = strategy
        self._scheduler = scheduler
        self._pool = pool
        self._findings = findings
        self._target = target
        self._rules = len(rules)
        self._budget = budget
        self._monitor = monitor
        self._ledger = Ledger(store)
        self._visits = Visits(strategy, scheduler, {name: tally.visits for name, tally in self._ledger.apis.items()})
        self._flying: deque[Batch] = deque()
        self._stopping = False
        self._started_calls = 0
        self._folded_calls = 0
        self._seconds_before: float = store.state("seconds") or 0.0
        self._start = self._last_feature = time.monotonic()
        self._speed: deque[tuple[float, int]] = deque([(self._start, 0)])
        self._history_length = store.counts()["history"]
        self._history_due = 0.0
        self._notice = notice

    def stop(self) -> None:
        """Ask the loop to end soon; safe to call from a signal handler."""
        self._stopping = True

    def run(self) -> Progress:
        """Fuzz until the budget is spent, `stop` is called or nothing is left to propose; the last snapshot."""
        self._start = self._last_feature = time.monotonic()
        while self._fill():
            if not self._fold_oldest(self._flight_deadline()):
                break
            self._confirm()
            self._show()
        if self._flying:
            self._flying.clear()
            self._pool.abort()
        self._confirm_rest()
        self._write_end()
        self._monitor.show(self.progress())
        return self.progress()

    # flying

    def _fill(self) -> bool:
        """Keep one generation more in flight than there are workers; whether any is in flight."""
        while len(self._flying) <= self._settings.workers and not self._over():
            left = self._budget.calls_left(self._started_calls)
            offspring = self._visits.next_batch(BATCH if left is None else min(BATCH, left))
            if not offspring:
                break
            self._started_calls += len(offspring)
            self._flying.append(Batch(offspring, self._pool.submit([child.call for child in offspring])))
        return bool(self._flying)

    def _over(self) -> bool:
        return self._stopping or self._budget.spent(self._session_seconds(), self._started_calls)

    def _flight_deadline(self) -> float | None:
        """Until when a batch is waited for: a spent budget of time ends the wait, one of calls is folded whole."""
        if self._budget.seconds is None:
            return None
        return self._start + self._budget.seconds + END_PATIENCE

    def _fold_oldest(self, deadline: float | None) -> bool:
        """Wait for the oldest batch and take it in; False if it was given up."""
        batch = self._flying[0]
        while not concurrent.futures.wait([batch.reports], timeout=GLANCE).done:
            self._show()
            now = time.monotonic()
            if self._stopping:
                stop = now + STOP_PATIENCE
                deadline = stop if deadline is None else min(deadline, stop)
            if deadline is not None and now >= deadline:
                return False
        self._flying.popleft()
        self._fold(batch, batch.reports.result())
        return True

    # folding

    def _fold(self, batch: Batch, reports: Sequence[Report]) -> None:
        """Take one generation in: ledger, strategy, scheduler, findings, and one commit."""
        results: dict[str, list[Evaluated]] = {api: [] for api in batch.apis()}
        for child, report in zip(batch.offspring, reports, strict=True):
            results[child.call.api].append(self._ledger.fold(child, report))
            for finding in self._findings.consider(child, report, self._ledger.generation + 1):
                self._ledger.record(finding)
        for api, evaluated in results.items():
            self._ledger.visit(api)
            self._strategy.learn(api, evaluated)
            novelty = sum(result.feedback.novelty for result in evaluated)
            self._scheduler.reward(api, novelty, self._cost(evaluated))
            if novelty:
                self._last_feature = time.monotonic()
        self._folded_calls += len(reports)
        self._commit()

    def _cost(self, evaluated: Sequence[Evaluated]) -> float:
        """What a visit cost, in seconds: measured, but with one worker counted in calls.

        No two runs measure the same seconds, and one worker and one seed shall give the same calls.
        """
        if self._settings.workers == 1:
            return SECONDS_PER_CALL * len(evaluated)
        return sum(result.feedback.seconds for result in evaluated)

    def _commit(self) -> None:
        generation = self._ledger.close_generation()
        strategy, scheduler = self._strategy.changes(), self._scheduler.state()
        visits = scheduler.pop("apis")
        states = {f"{STRATEGY_STATE}{api}": state for api, state in strategy["apis"].items()}
        states |= {f"{SCHEDULER_STATE}{tally.name}": visits[tally.name] for tally in generation.apis}
        states |= {
            "strategy": strategy["shared"],
            "scheduler": scheduler,
            "random": random_state(),
            "seconds": self._seconds_before + self._session_seconds(),
        }
        generation.states = {**generation.states, **states}
        if time.monotonic() >= self._history_due:
            self._history_due = time.monotonic() + HISTORY_PERIOD
            generation.history = [self._history_point()]
            generation.operators = [OperatorYield(**row) for row in self._strategy.yields()]
        self._store.commit(generation)

    def _write_end(self) -> None:
        """Commit what no generation carries any more: the last confirmed findings and the history's last row."""
        generation = self._ledger.unsaved()
        generation.states = {**generation.states, "seconds": self._seconds_before + self._session_seconds()}
        generation.history = [self._history_point()]
        generation.operators = [OperatorYield(**row) for row in self._strategy.yields()]
        self._store.commit(generation)

    # findings

    def _confirm(self, wait: float = 0.0) -> None:
        """Take confirmed findings in, and keep the desk at work."""
        for finding in self._findings.turn(FINDINGS_SLICE, wait):
            self._ledger.record(finding)
            if finding.folder:
                self._notice = f"{finding.kind} in {finding.api}: {finding.folder}"

    def _confirm_rest(self) -> None:
        """After the budget, give pending findings a last while; after Ctrl-C they wait for the next session."""
        deadline = time.monotonic() + FINDINGS_PATIENCE
        while (
            (self._findings.pending or self._findings.unshrunk) and not self._stopping and time.monotonic() < deadline
        ):
            self._confirm(GLANCE)
            self._show()

    # showing

    def progress(self) -> Progress:
        """A snapshot of this moment."""
        ledger, totals = self._ledger, self._ledger.totals
        findings = [finding for finding in ledger.findings.values() if finding.status in SHOWN]
        yields = sorted((OperatorYield(**row) for row in self._strategy.yields()), key=lambda row: -row.novelty)
        return Progress(
            target=self._target,
            strategy=self._settings.strategy,
            phase=self._phase(),
            seconds=self._seconds_before + self._session_seconds(),
            calls=totals.calls,
            session_seconds=self._session_seconds(),
            session_calls=self._folded_calls,
            calls_per_second=self._speed_now(),
            valid=totals.valid,
            differentiated=totals.differentiated,
            visited=len(ledger.apis),
            apis=len(self._strategy.apis),
            generation=ledger.generation,
            entries=ledger.entries,
            since_feature=time.monotonic() - self._last_feature,
            features=ledger.feature_counts(),
            rules=self._rules,
            stability=1.0 - totals.unstable / totals.native if totals.native else None,
            findings=dict(Counter(finding.kind for finding in findings)),
            confirmed=sum(finding.status == CONFIRMED for finding in findings),
            pending=self._findings.pending,
            unshrunk=self._findings.unshrunk,
            inconclusive=dict(totals.inconclusive),
            restarts=self._pool.restarts,
            crashes=totals.crashes,
            hangs=totals.hangs,
            operators=tuple(yields[:TOP_OPERATORS]),
            current=tuple(dict.fromkeys(api for batch in self._flying for api in batch.apis())),
            budget=str(self._budget),
            notice=self._notice,
        )

    def _show(self) -> None:
        if self._monitor.due():
            self._monitor.show(self.progress())

    def _phase(self) -> str:
        if self._stopping:
            return "stopping"
        return self._visits.phase if self._flying else "confirming findings"

    def _session_seconds(self) -> float:
        return time.monotonic() - self._start

    def _speed_now(self) -> float:
        """Calls per second over the last seconds, measured between snapshots."""
        now = time.monotonic()
        self._speed.append((now, self._folded_calls))
        while len(self._speed) > 2 and now - self._speed[0][0] > SPEED_WINDOW:
            self._speed.popleft()
        start, calls = self._speed[0]
        return (self._folded_calls - calls) / (now - start) if now > start else 0.0

    def _history_point(self) -> HistoryPoint:
        totals = self._ledger.totals
        self._history_length += 1
        return HistoryPoint(
            number=self._history_length,
            seconds=self._seconds_before + self._session_seconds(),
            generation=self._ledger.generation,
            calls=totals.calls,
            valid=totals.valid,
            differentiated=totals.differentiated,
            visited=len(self._ledger.apis),
            entries=self._ledger.entries,
            findings=sum(finding.status in SHOWN for finding in self._ledger.findings.values()),
            features=self._ledger.feature_counts(),
        )
