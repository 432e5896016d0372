"""Tests of the store: what is committed is read back, whole, and faults are found."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from evo_nabla.call import call_from_json, call_hash, canonical_text
from evo_nabla.corpus.errors import StoreError
from evo_nabla.corpus.integrity import check_store
from evo_nabla.corpus.store import (
    ApiTally,
    FindingSummary,
    FirstReach,
    Generation,
    HistoryPoint,
    KeptCall,
    OperatorYield,
    Store,
    sqlite_url,
)

CALL = call_from_json({"api": "torch.sin", "args": [{"tensor": {"shape": [2], "dtype": "float64", "fill": 0.5}}]})


def kept(features: int = 2, number: int = 1) -> KeptCall:
    return KeptCall(
        hash=call_hash(CALL),
        number=number,
        api=CALL.api,
        call=canonical_text(CALL),
        features=features,
        novelty=2.0,
        discrepancy=0.25,
        verdict="agree",
        parents=["00" * 16],
        operator="seed",
        generation=1,
        seconds=0.01,
    )


def first_generation() -> Generation:
    return Generation(
        number=1,
        apis=[ApiTally("torch.sin", visits=1, calls=3, valid=2, differentiated=1, seconds=0.5, reward=2.0)],
        operators=[OperatorYield("values.zero", 3, 2, 1, 2.0, 0, 0.5)],
        entries=[kept()],
        features=[FirstReach(i, "line", f"torch/f.py:{i}", "direct", kept().hash, 1) for i in (1, 2)],
        findings=[
            FindingSummary(
                "sig",
                "torch.sin",
                "gradient",
                "reverse",
                1,
                12.5,
                "off",
                canonical_text(CALL),
                "",
                "new",
                1,
                1,
                "2026-01-01",
            )
        ],
        history=[HistoryPoint(1, 1.5, 1, 3, 2, 1, 1, 1, 1, {"line": 2})],
        states={"random": [3, [1, 2], None]},
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "campaign.sqlite"


def test_a_generation_is_read_back_by_another_store(path: Path) -> None:
    generation = first_generation()
    with Store(sqlite_url(path)) as store:
        store.write_settings({"library": "torch", "paths": ["a"]})
        store.commit(generation)
    with Store(sqlite_url(path), create=False) as store:
        assert store.settings() == {"library": "torch", "paths": ["a"], "schema": 2}
        assert store.entries() == generation.entries
        assert store.apis() == generation.apis
        assert store.operators() == generation.operators
        assert store.findings() == generation.findings
        assert store.history() == generation.history
        assert store.features() == {"line": {"torch/f.py:1", "torch/f.py:2"}}
        assert store.states() == {"random": [3, [1, 2], None], "generation": 1}
        assert check_store(store) == []


def test_later_generations_update_tallies_and_add_entries_once(path: Path) -> None:
    with Store(sqlite_url(path)) as store:
        store.commit(first_generation())
    with Store(sqlite_url(path)) as store:
        again = ApiTally("torch.sin", visits=2, calls=6, valid=4, differentiated=2)
        wide = FirstReach(3, "line", "torch/f.py:3", "reverse", kept().hash, 2)
        store.commit(Generation(number=2, apis=[again], features=[wide], widened={kept().hash: 3}))
        assert store.apis() == [again]
        assert store.entry_features() == {kept().hash: 3}
        assert store.state("generation") == 2
        assert check_store(store) == []


def test_a_generation_that_cannot_be_written_leaves_nothing(path: Path) -> None:
    with Store(sqlite_url(path)) as store:
        store.commit(first_generation())
        orphan = FirstReach(3, "line", "torch/f.py:3", "reverse", "ff" * 16, 2)
        with pytest.raises(StoreError, match="FOREIGN KEY"):
            store.commit(Generation(number=2, apis=[ApiTally("torch.cos")], features=[orphan], states={"x": 1}))
        assert [tally.name for tally in store.apis()] == ["torch.sin"]
        assert store.states().keys() == {"random", "generation"}
        assert store.state("generation") == 1
        store.commit(Generation(number=2, apis=[ApiTally("torch.cos")], states={"x": 1}))
        assert store.state("x") == 1


def test_state_that_is_no_json_is_refused(path: Path) -> None:
    with Store(sqlite_url(path)) as store, pytest.raises(StoreError, match="JSON"):
        store.commit(Generation(number=1, states={"rate": float("nan")}))


def test_a_missing_store_is_named(path: Path) -> None:
    with pytest.raises(StoreError, match=r"no campaign store at .*campaign\.sqlite"):
        Store(sqlite_url(path), create=False)


def test_a_file_that_is_no_store_is_named(path: Path) -> None:
    path.write_text("not a database, but long enough to be taken for one" * 40)
    with pytest.raises(StoreError, match=r"campaign\.sqlite is damaged.*file is not a database"):
        Store(sqlite_url(path))


def test_a_store_of_another_schema_is_refused(path: Path) -> None:
    with Store(sqlite_url(path)) as store:
        store.write_settings({"library": "torch"})
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE setting SET value = '99' WHERE key = 'schema'")
    connection.close()
    with pytest.raises(StoreError, match="schema version 99"):
        Store(sqlite_url(path))


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        ("UPDATE entry SET features = 7", "says 7 features, has 2"),
        ("UPDATE entry SET call = replace(call, '0.5', '0.25')", "its call's hash is"),
        ("UPDATE entry SET call = '{'", "not a call"),
        ("UPDATE entry SET number = 5", "1 rows, the last has number 5"),
        ("UPDATE state SET value = '0' WHERE key = 'generation'", "the last committed one is 0"),
        ("UPDATE api SET valid = 9", "3 calls, 9 valid"),
        ("DELETE FROM entry", "points to no row of table entry"),
    ],
)
def test_the_integrity_check_finds_damage(path: Path, damage: str, fault: str) -> None:
    with Store(sqlite_url(path)) as store:
        store.commit(first_generation())
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(damage)
    connection.close()
    with Store(sqlite_url(path)) as store:
        assert any(fault in line for line in check_store(store)), check_store(store)


def test_the_integrity_check_finds_a_damaged_page(path: Path) -> None:
    with Store(sqlite_url(path)) as store:
        store.commit(first_generation())
        many = [FirstReach(i, "line", f"torch/g.py:{i}", "direct", kept().hash, 2) for i in range(3, 3000)]
        store.commit(Generation(number=2, features=many, widened={kept().hash: 2999}))
        assert check_store(store) == []
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 4096] = bytes(4096)
    path.write_bytes(content)
    with Store(sqlite_url(path)) as store:
        assert check_store(store) != []


def test_a_reader_sees_the_store_while_it_is_written(path: Path) -> None:
    with Store(sqlite_url(path)) as writer:
        writer.commit(first_generation())
        with Store(sqlite_url(path), create=False) as reader:
            writer.commit(Generation(number=2, states={"late": json.loads("[1]")}))
            assert reader.state("late") == [1]
