"""Every API first, then the time goes where it earns, and a restored scheduler chooses alike."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest

from evo_nabla.evolution.scheduler import Scheduler

APIS = [f"library.api{i}" for i in range(200)]


def run(scheduler: Scheduler, rounds: int, earnings: dict[str, float], seconds: dict[str, float]) -> Counter[str]:
    chosen: Counter[str] = Counter()
    for _ in range(rounds):
        api = scheduler.next()
        chosen[api] += 1
        scheduler.reward(api, earnings.get(api, 0.0), seconds.get(api, 0.05))
    return chosen


def test_every_api_comes_once_before_any_comes_twice() -> None:
    random.seed(1)
    scheduler = Scheduler(APIS)
    assert list(run(scheduler, len(APIS), {}, {})) == APIS


def test_first_visits_do_not_wait_for_rewards() -> None:
    random.seed(1)
    scheduler = Scheduler(APIS)
    assert [scheduler.next() for _ in APIS] == APIS


def test_what_was_rewarded_without_being_asked_for_counts_as_visited() -> None:
    random.seed(1)
    scheduler = Scheduler(APIS)
    scheduler.reward(APIS[0], 1.0, 0.1)
    assert scheduler.next() == APIS[1]
    assert scheduler.visits(APIS[0]) == 1


def test_time_goes_where_it_earns() -> None:
    random.seed(2)
    rich = APIS[20:30]
    chosen = run(Scheduler(APIS), 2000, dict.fromkeys(rich, 7.0), {})
    assert sum(chosen[api] for api in rich) > 0.6 * (2000 - 200)
    assert all(chosen[api] for api in APIS)


def test_the_same_novelty_in_less_time_is_worth_more() -> None:
    random.seed(3)
    chosen = run(Scheduler(APIS[:2]), 500, dict.fromkeys(APIS[:2], 1.0), {APIS[0]: 0.2, APIS[1]: 2.0})
    assert chosen[APIS[0]] > 3 * chosen[APIS[1]]


def test_an_api_that_is_used_up_is_left() -> None:
    random.seed(4)
    scheduler = Scheduler(APIS[:20])
    run(scheduler, 300, {APIS[0]: 15.0}, {})
    later = run(scheduler, 600, {APIS[1]: 3.0}, {})
    assert later[APIS[1]] > 5 * later[APIS[0]]


def test_parallel_requests_do_not_all_get_the_same_api() -> None:
    random.seed(5)
    scheduler = Scheduler(APIS[:20])
    run(scheduler, 200, dict.fromkeys(APIS[:20], 1.0), {})
    assert len({scheduler.next() for _ in range(8)}) > 2


def test_a_restored_scheduler_chooses_alike() -> None:
    random.seed(6)
    scheduler = Scheduler(APIS)
    earnings = {api: float(i % 5) for i, api in enumerate(APIS)}
    run(scheduler, 500, earnings, {})
    other = Scheduler(APIS)
    other.restore(json.loads(json.dumps(scheduler.state(), sort_keys=True)))
    generator = random.getstate()
    expected = run(scheduler, 300, earnings, {})
    random.setstate(generator)
    assert run(other, 300, earnings, {}) == expected


def test_apis_may_come_and_go_between_sessions() -> None:
    random.seed(7)
    scheduler = Scheduler(APIS[:3])
    run(scheduler, 30, {}, {})
    other = Scheduler([APIS[2], APIS[50]])
    other.restore(scheduler.state())
    assert other.next() == APIS[50]
    assert other.visits(APIS[2]) == scheduler.visits(APIS[2])


def test_misuse_is_named() -> None:
    with pytest.raises(ValueError, match="at least one API"):
        Scheduler([])
    with pytest.raises(ValueError, match=r"library\.missing"):
        Scheduler(APIS).reward("library.missing", 1.0, 1.0)
