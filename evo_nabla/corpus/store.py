"""The store of a campaign: calls, features, findings, history and resumable state, one transaction a generation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Engine, create_engine, event, func, insert, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import InstrumentedAttribute, Session

from .errors import StoreError
from .existing import ADVICE, DAMAGED, damaged, require_ours
from .tables import Api, Base, Entry, Feature, Finding, History, Operator, Setting, State

SCHEMA_VERSION = 2
Json = Any
Row = TypeVar("Row", bound=Base)


@dataclass
class ApiTally:
    """What one API has had and given so far.

    `seconds` are the worker's, `reward` is the novelty it earned, `discrepancy` the largest that was seen.
    """

    name: str
    visits: int = 0
    calls: int = 0
    valid: int = 0
    differentiated: int = 0
    seconds: float = 0.0
    reward: float = 0.0
    discrepancy: float = 0.0


@dataclass(frozen=True)
class OperatorYield:
    """What one variation operator has yielded, a row of `Strategy.yields()`."""

    operator: str
    applied: int
    valid: int
    fruitful: int
    novelty: float
    climbed: int
    probability: float


@dataclass(frozen=True)
class KeptCall:
    """A call the corpus keeps, its `number`-th: `call` is its canonical text, `hash` that text's hash."""

    hash: str
    number: int
    api: str
    call: str
    features: int
    novelty: float
    discrepancy: float
    verdict: str
    parents: list[str]
    operator: str
    generation: int
    seconds: float


@dataclass(frozen=True)
class FirstReach:
    """A feature never seen before, its running number, and the mode and the hash of the kept call that reached it."""

    number: int
    kind: str
    name: str
    mode: str
    entry: str
    generation: int


@dataclass(frozen=True)
class FindingSummary:
    """A finding as the store knows it, by the signature that was seen.

    `status` is new (to be confirmed), confirmed, unconfirmed (it did not show again) or duplicate (it counts as another
    one's sighting). `folder` is relative to the campaign's, empty until written; `first_seen` is in ISO 8601.
    """

    signature: str
    api: str
    kind: str
    suspect: str
    order: int
    discrepancy: float | None
    message: str
    call: str
    folder: str
    status: str
    sightings: int
    generation: int
    first_seen: str


@dataclass(frozen=True)
class HistoryPoint:
    """The campaign at one moment; `seconds` counts fuzzing time over all its sessions."""

    number: int
    seconds: float
    generation: int
    calls: int
    valid: int
    differentiated: int
    visited: int
    entries: int
    findings: int
    features: dict[str, int]


@dataclass
class Generation:
    """Everything one generation adds or changes; the store takes it whole or not at all.

    `widened` names calls kept earlier that reached more features first when they ran again, with their new counts.
    """

    number: int
    apis: Sequence[ApiTally] = ()
    operators: Sequence[OperatorYield] = ()
    entries: Sequence[KeptCall] = ()
    widened: Mapping[str, int] = field(default_factory=dict)
    features: Sequence[FirstReach] = ()
    findings: Sequence[FindingSummary] = ()
    history: Sequence[HistoryPoint] = ()
    states: Mapping[str, Json] = field(default_factory=dict)


def sqlite_url(path: Path) -> str:
    """The URL of a SQLite store at `path`."""
    return f"sqlite:///{path}"


class Store:
    """One campaign's store, SQLite or any other database SQLAlchemy can reach by `url`.

    A store has one writer (the campaign's lock sees to that) and any number of readers. With `create` a missing
    store is made; without it, a missing store is an error.
    """

    def __init__(self, url: str, *, create: bool = True) -> None:
        self.url = url
        self._file = Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite:///") else None
        if self._file is not None:
            if self._file.is_file():
                require_ours(self._file, SCHEMA_VERSION)
            elif not create:
                raise StoreError(f"no campaign store at {self._file}")
        with self._errors("open"):
            self._engine = _engine(url)
        with self._errors("open"), Session(self._engine) as session:
            if create:
                Base.metadata.create_all(self._engine)
            self._known: dict[type[Base], set[str]] = {
                Api: set(session.scalars(select(Api.name))),
                Operator: set(session.scalars(select(Operator.operator))),
                Finding: set(session.scalars(select(Finding.signature))),
                State: set(session.scalars(select(State.key))),
                Setting: set(session.scalars(select(Setting.key))),
            }
        version = self.settings().get("schema", SCHEMA_VERSION)
        if version != SCHEMA_VERSION:
            raise StoreError(f"{self._name}: schema version {version}, this evo_nabla reads {SCHEMA_VERSION}; {ADVICE}")

    @property
    def _name(self) -> str:
        """The store as the user knows it."""
        return self.url if self._file is None else str(self._file)

    def close(self) -> None:
        """Let go of every connection; SQLite folds its write-ahead log into the file."""
        self._engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # writing

    def write_settings(self, settings: Mapping[str, Json]) -> None:
        """Store the campaign's settings; each named key takes its new value."""
        rows = [{"key": key, "value": value} for key, value in {"schema": SCHEMA_VERSION, **settings}.items()]
        with self._errors("write"), Session(self._engine) as session, session.begin():
            self._upsert(session, Setting, "key", rows)
        self._learn_keys(Setting, "key", rows)

    def commit(self, generation: Generation) -> None:
        """Write one generation in one transaction: after it returns, a killed process loses none of it."""
        states = [{"key": key, "value": value} for key, value in generation.states.items()]
        states.append({"key": "generation", "value": generation.number})
        changed: list[tuple[type[Base], str, list[dict[str, Json]]]] = [
            (Api, "name", [asdict(tally) for tally in generation.apis]),
            (Operator, "operator", [asdict(row) for row in generation.operators]),
            (Finding, "signature", [asdict(finding) for finding in generation.findings]),
            (State, "key", states),
        ]
        added: list[tuple[type[Base], list[dict[str, Json]]]] = [
            (Entry, [vars(entry) for entry in generation.entries]),
            (Feature, [vars(feature) for feature in generation.features]),
            (History, [vars(point) for point in generation.history]),
        ]
        with self._errors("write"), Session(self._engine) as session, session.begin():
            for table, key, rows in changed:
                self._upsert(session, table, key, rows)
            for table, rows in added:
                if rows:
                    # Core, not ORM: a first generation brings tens of thousands of features.
                    session.execute(insert(Base.metadata.tables[table.__tablename__]), rows)
            if generation.widened:
                session.execute(update(Entry), [{"hash": k, "features": n} for k, n in generation.widened.items()])
        for table, key, rows in changed:
            self._learn_keys(table, key, rows)

    def _upsert(self, session: Session, table: type[Base], key: str, rows: Sequence[dict[str, Json]]) -> None:
        """Insert rows whose key is new and update the others: the same SQL on every database."""
        known = self._known[table]
        fresh = [row for row in rows if row[key] not in known]
        changed = [row for row in rows if row[key] in known]
        if fresh:
            session.execute(insert(table), fresh)
        if changed:
            session.execute(update(table), changed)

    def _learn_keys(self, table: type[Base], key: str, rows: Sequence[dict[str, Json]]) -> None:
        self._known[table].update(row[key] for row in rows)

    # reading

    def settings(self) -> dict[str, Json]:
        """The stored settings; empty for a store that was only just made."""
        return {row.key: row.value for row in self._rows(Setting)}

    def states(self) -> dict[str, Json]:
        """Every piece of resumable state, with `generation`, the last committed one."""
        return {row.key: row.value for row in self._rows(State)}

    def state(self, key: str) -> Json:
        """One piece of resumable state, or None."""
        with self._errors("read"), Session(self._engine) as session:
            row = session.get(State, key)
            return row.value if row else None

    def apis(self) -> list[ApiTally]:
        """Every API that was ever visited."""
        return [_plain(row, ApiTally) for row in self._rows(Api, Api.name)]

    def operators(self) -> list[OperatorYield]:
        """Every operator that ever made a call."""
        return [_plain(row, OperatorYield) for row in self._rows(Operator, Operator.operator)]

    def entries(self) -> list[KeptCall]:
        """The corpus, oldest first."""
        return [_plain(row, KeptCall) for row in self._rows(Entry, Entry.number)]

    def entry_features(self) -> dict[str, int]:
        """How many features each kept call, by its hash, reached first."""
        with self._errors("read"), Session(self._engine) as session:
            return {row.hash: row.features for row in session.execute(select(Entry.hash, Entry.features))}

    def features(self) -> dict[str, set[str]]:
        """The names of all features seen, by kind."""
        found: dict[str, set[str]] = {}
        with self._errors("read"), Session(self._engine) as session:
            for kind, name in session.execute(select(Feature.kind, Feature.name)):
                found.setdefault(kind, set()).add(name)
        return found

    def feature_counts(self) -> dict[str, int]:
        """How many features of each kind were seen."""
        with self._errors("read"), Session(self._engine) as session:
            counted = select(Feature.kind, func.count()).group_by(Feature.kind).order_by(Feature.kind)
            return {row.kind: row[1] for row in session.execute(counted)}

    def findings(self) -> list[FindingSummary]:
        """Every distinct finding, oldest first."""
        rows = self._rows(Finding, Finding.generation, Finding.signature)
        return [_plain(row, FindingSummary) for row in rows]

    def history(self) -> list[HistoryPoint]:
        """The time series, oldest first."""
        return [_plain(row, HistoryPoint) for row in self._rows(History, History.number)]

    def counts(self) -> dict[str, int]:
        """How many rows each of entry, feature, finding and history holds."""
        with self._errors("read"), Session(self._engine) as session:
            return {
                table.__tablename__: session.scalar(select(func.count()).select_from(table)) or 0
                for table in (Entry, Feature, Finding, History)
            }

    def _rows(self, table: type[Row], *order: InstrumentedAttribute[Any]) -> list[Row]:
        with self._errors("read"), Session(self._engine) as session:
            rows = list(session.scalars(select(table).order_by(*order)))
            session.expunge_all()
            return rows

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        """Turn the database's errors into one line that names the store."""
        try:
            yield
        except SQLAlchemyError as error:
            problem = str(getattr(error, "orig", None) or error).splitlines()[0]
            if self._file is not None and any(phrase in problem for phrase in DAMAGED):
                raise StoreError(damaged(self._file, problem)) from error
            raise StoreError(f"cannot {doing} the store {self._name}: {problem}") from error
        except json.JSONDecodeError as error:
            raise StoreError(f"cannot {doing} the store {self._name}: a value in it is not JSON ({error})") from error

    @property
    def engine(self) -> Engine:
        """The database engine, for queries this class has no method for."""
        return self._engine


Plain = TypeVar("Plain", ApiTally, OperatorYield, KeptCall, FindingSummary, HistoryPoint)


def _plain(row: Base, kind: type[Plain]) -> Plain:
    """The dataclass of a row: the campaign works on plain values, tied to no session."""
    return kind(**{name: getattr(row, name) for name in kind.__dataclass_fields__})


def _engine(url: str) -> Engine:
    """An engine whose JSON is strict, and whose SQLite writes ahead and checks foreign keys."""
    engine = create_engine(url, json_serializer=_dump)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _set_up_sqlite)
    return engine


def _dump(value: Json) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def _set_up_sqlite(connection: Any, _record: object) -> None:
    """Write-ahead log with synchronous=NORMAL: a commit is in the kernel's hands when it returns, so killing the
    process loses nothing; only a power cut may lose the last commits, and even that never corrupts the file."""
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "busy_timeout=10000"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
