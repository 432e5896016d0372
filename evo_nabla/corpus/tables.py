"""The tables of a campaign's store, as SQLAlchemy typed declarative classes."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, BigInteger, Float, ForeignKey, Integer, String, Text, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

# SQLite numbers rows itself only for a column declared INTEGER; PostgreSQL needs the wider type for long campaigns.
RowNumber = BigInteger().with_variant(Integer(), "sqlite")


class Base(DeclarativeBase):
    """Base of all tables."""


class Setting(Base):
    """One setting the campaign was started with."""

    __tablename__ = "setting"

    key: Mapped[str] = mapped_column(String, primary_key=True)
    value: Mapped[Any] = mapped_column(JSON)


class State(Base):
    """One piece of resumable state (generator, strategy, scheduler, counters), as plain JSON."""

    __tablename__ = "state"

    key: Mapped[str] = mapped_column(String, primary_key=True)
    value: Mapped[Any] = mapped_column(JSON)


class Api(Base):
    """What was spent on one API and what it gave; `seconds` are the worker's."""

    __tablename__ = "api"

    name: Mapped[str] = mapped_column(String, primary_key=True)
    visits: Mapped[int] = mapped_column(Integer, default=0)
    calls: Mapped[int] = mapped_column(BigInteger, default=0)
    valid: Mapped[int] = mapped_column(BigInteger, default=0)
    differentiated: Mapped[int] = mapped_column(BigInteger, default=0)
    seconds: Mapped[float] = mapped_column(Float, default=0.0)
    reward: Mapped[float] = mapped_column(Float, default=0.0)
    discrepancy: Mapped[float] = mapped_column(Float, default=0.0)


class Entry(Base):
    """One kept call; `call` is its canonical text, `hash` that text's hash, `features` how many it reached first."""

    __tablename__ = "entry"

    hash: Mapped[str] = mapped_column(String(32), primary_key=True)
    number: Mapped[int] = mapped_column(RowNumber, unique=True)
    api: Mapped[str] = mapped_column(ForeignKey("api.name"), index=True)
    call: Mapped[str] = mapped_column(Text)
    features: Mapped[int] = mapped_column(Integer)
    novelty: Mapped[float] = mapped_column(Float)
    discrepancy: Mapped[float] = mapped_column(Float)
    verdict: Mapped[str] = mapped_column(String)
    parents: Mapped[list[str]] = mapped_column(JSON)
    operator: Mapped[str] = mapped_column(String)
    generation: Mapped[int] = mapped_column(Integer)
    seconds: Mapped[float] = mapped_column(Float)


class Feature(Base):
    """One feature, and the kept call and the mode of it ("direct", "reverse", "fr" …) that reached it first."""

    __tablename__ = "feature"
    __table_args__ = (UniqueConstraint("kind", "name"),)

    number: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    kind: Mapped[str] = mapped_column(String)
    name: Mapped[str] = mapped_column(String)
    mode: Mapped[str] = mapped_column(String)
    entry: Mapped[str] = mapped_column(ForeignKey("entry.hash"))
    generation: Mapped[int] = mapped_column(Integer)


class Finding(Base):
    """One distinct disagreement or crash; `status` is new, confirmed, unconfirmed or duplicate."""

    __tablename__ = "finding"

    signature: Mapped[str] = mapped_column(String, primary_key=True)
    api: Mapped[str] = mapped_column(String, index=True)
    kind: Mapped[str] = mapped_column(String)
    suspect: Mapped[str] = mapped_column(String)
    order: Mapped[int] = mapped_column(Integer)
    discrepancy: Mapped[float | None] = mapped_column(Float)
    message: Mapped[str] = mapped_column(Text)
    call: Mapped[str] = mapped_column(Text)
    folder: Mapped[str] = mapped_column(String)
    status: Mapped[str] = mapped_column(String)
    sightings: Mapped[int] = mapped_column(Integer)
    generation: Mapped[int] = mapped_column(Integer)
    first_seen: Mapped[str] = mapped_column(String)


class History(Base):
    """One row of the time series; `seconds` counts fuzzing time over all sessions of the campaign."""

    __tablename__ = "history"

    number: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    seconds: Mapped[float] = mapped_column(Float)
    generation: Mapped[int] = mapped_column(Integer)
    calls: Mapped[int] = mapped_column(BigInteger)
    valid: Mapped[int] = mapped_column(BigInteger)
    differentiated: Mapped[int] = mapped_column(BigInteger)
    visited: Mapped[int] = mapped_column(Integer)
    entries: Mapped[int] = mapped_column(Integer)
    findings: Mapped[int] = mapped_column(Integer)
    features: Mapped[dict[str, int]] = mapped_column(JSON)


class Operator(Base):
    """What one variation operator yielded, as the strategy counts it."""

    __tablename__ = "operator"

    operator: Mapped[str] = mapped_column(String, primary_key=True)
    applied: Mapped[int] = mapped_column(BigInteger, default=0)
    valid: Mapped[int] = mapped_column(BigInteger, default=0)
    fruitful: Mapped[int] = mapped_column(BigInteger, default=0)
    novelty: Mapped[float] = mapped_column(Float, default=0.0)
    climbed: Mapped[int] = mapped_column(BigInteger, default=0)
    probability: Mapped[float] = mapped_column(Float, default=0.0)
