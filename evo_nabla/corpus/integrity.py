"""The integrity check of a store: the database's own, and the campaign's invariants."""

from __future__ import annotations

import json

from sqlalchemy import func, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from evo_nabla.call import CallError, call_from_json, call_hash

from .store import Store
from .tables import Api, Entry, Feature, History, State


def check_store(store: Store) -> list[str]:
    """Every fault found in `store`, one line each; an empty list means that it is whole."""
    try:
        with Session(store.engine) as session:
            faults = _check_database(session)
            if not faults:
                faults += _check_entries(session) + _check_features(session) + _check_counters(session)
            return faults
    except SQLAlchemyError as error:
        return [f"the store cannot be read: {error}".splitlines()[0]]


def _check_database(session: Session) -> list[str]:
    if session.get_bind().dialect.name != "sqlite":
        return []
    faults = [f"SQLite: {row[0]}" for row in session.execute(text("PRAGMA integrity_check")) if row[0] != "ok"]
    broken = session.execute(text("PRAGMA foreign_key_check")).all()
    return faults + [f"table {row[0]}, row {row[1]}: points to no row of table {row[2]}" for row in broken]


def _check_entries(session: Session) -> list[str]:
    """Each kept call can be rebuilt, is the call its hash says, and belongs to the API its row says."""
    faults = []
    for entry in session.scalars(select(Entry)).yield_per(1000):
        try:
            call = call_from_json(json.loads(entry.call))
        except (CallError, ValueError) as error:
            faults.append(f"entry {entry.hash}: not a call: {error}")
            continue
        if call_hash(call) != entry.hash:
            faults.append(f"entry {entry.hash}: its call's hash is {call_hash(call)}")
        if call.api != entry.api:
            faults.append(f"entry {entry.hash}: its call is of {call.api}, its row says {entry.api}")
    return faults


def _check_features(session: Session) -> list[str]:
    """Each kept call has as many first-reached features as its row says, none before its own generation."""
    reached = (
        select(Feature.entry, func.count().label("count"), func.min(Feature.generation).label("first"))
        .group_by(Feature.entry)
        .subquery()
    )
    statement = select(Entry.hash, Entry.features, Entry.generation, reached.c.count, reached.c.first).outerjoin(
        reached, reached.c.entry == Entry.hash
    )
    faults = []
    for name, expected, generation, count, first in session.execute(statement):
        if expected != (count or 0):
            faults.append(f"entry {name}: says {expected} features, has {count or 0}")
        if first is not None and first < generation:
            faults.append(f"entry {name}: of generation {generation}, with features of {first}")
    return faults


def _check_counters(session: Session) -> list[str]:
    """Numbers run without gaps, tallies add up, and nothing is younger than the last committed generation."""
    faults = []
    for table in (Entry, Feature, History):
        count, last = session.execute(select(func.count(), func.max(table.number))).one()
        if count != (last or 0):
            faults.append(f"table {table.__tablename__}: {count} rows, the last has number {last}")
    generation = session.scalar(select(State.value).where(State.key == "generation")) or 0
    youngest = session.scalar(select(func.max(Entry.generation))) or 0
    if youngest > generation:
        faults.append(f"an entry of generation {youngest}, the last committed one is {generation}")
    return faults + [
        f"API {api.name}: {api.calls} calls, {api.valid} valid, {api.differentiated} differentiated"
        for api in session.scalars(select(Api))
        if not 0 <= api.differentiated <= api.valid <= api.calls
    ]
