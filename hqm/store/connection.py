"""Opening the file of a store: its schema, its version, and what SQLite's errors mean."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from hqm.errors import StoreError
from hqm.store.sqlite import ReadCache, StoreFile, connect, connect_alone, use_wal
from hqm.version import __version__

VERSION = 1
TABLES = ("respondents", "asks", "images", "answers", "administrations", "judgements", "records")
ADMINISTRATIONS_KEY = "administrations"
"""The key in `meta` of a store that has recorded every administration. A store that HQM 0.1.0
created, or that imported answers without their administrations, does not have it."""
SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE respondents (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, name TEXT NOT NULL,\
 identity TEXT NOT NULL);
CREATE TABLE asks (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, prompt TEXT NOT NULL, image TEXT,
    image_digest TEXT);
CREATE TABLE images (
    id INTEGER PRIMARY KEY, benchmark TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL,
    UNIQUE (benchmark, name, digest));
CREATE TABLE answers (
    respondent INTEGER NOT NULL REFERENCES respondents, run INTEGER NOT NULL,
    ask INTEGER NOT NULL REFERENCES asks, attempt INTEGER NOT NULL, state TEXT NOT NULL,
    text TEXT NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL, time REAL NOT NULL,
    PRIMARY KEY (respondent, run, ask, attempt)) WITHOUT ROWID;
CREATE TABLE administrations (
    id INTEGER PRIMARY KEY, respondent INTEGER NOT NULL REFERENCES respondents,
    benchmark TEXT NOT NULL, form TEXT NOT NULL, digest TEXT NOT NULL, run INTEGER NOT NULL,
    sight TEXT NOT NULL, time REAL NOT NULL,
    UNIQUE (respondent, benchmark, form, digest, run, sight));
CREATE TABLE judgements (
    id INTEGER PRIMARY KEY, benchmark TEXT NOT NULL, judge TEXT NOT NULL, form TEXT NOT NULL,
    run INTEGER NOT NULL, respondent TEXT NOT NULL, item TEXT NOT NULL, label REAL,
    reply TEXT NOT NULL, reason TEXT NOT NULL, time REAL NOT NULL,
    UNIQUE (benchmark, judge, form, run, respondent, item));
CREATE TABLE records (id INTEGER PRIMARY KEY, time REAL NOT NULL, record TEXT NOT NULL);
CREATE TABLE verdicts (
    id INTEGER PRIMARY KEY, benchmark TEXT NOT NULL, scorer TEXT NOT NULL, code TEXT NOT NULL,
    batch TEXT NOT NULL);
"""
"""The tables. `verdicts` holds what can be made again from the others (`hqm.store.verdicts`)."""


def tables(db: sqlite3.Connection) -> set[str]:
    """The names of the tables of a database."""
    return {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def create(db: sqlite3.Connection) -> None:
    """Make the tables that are missing, each with triggers that refuse updates and deletions."""
    existing = tables(db)
    for statement in filter(str.strip, SCHEMA.split(";")):
        name = statement.split()[2]
        if name in existing:
            continue
        db.execute(statement)
        # Not of `meta` and `verdicts`, of which rows are deleted on purpose.
        for verb in ("UPDATE", "DELETE") if name in TABLES else ():
            db.execute(
                f"CREATE TRIGGER {name}_no_{verb.lower()} BEFORE {verb} ON {name} "
                "BEGIN SELECT RAISE(ABORT, 'the store is append-only'); END"
            )
    if not existing:
        db.executemany(
            "INSERT INTO meta VALUES (?, ?)",
            [("version", str(VERSION)), (ADMINISTRATIONS_KEY, "recorded")],
        )


_SAFE = "The answers stored so far are safe."


def _explain(text: str) -> tuple[str, str]:
    """The message and the remedy for an error text of SQLite."""
    disk_remedy = f"Make room and run the same command again. {_SAFE}"
    unwritable = f"it cannot be written ({text})"
    readonly = (unwritable, "Name a writable place with --store.")
    locked = ("another process is writing to it", f"Wait for it, then run again. {_SAFE}")
    damaged = (f"it is no SQLite file, or damaged ({text})", "Name another file with --store.")
    explanations = {
        "full": ("the disk is full", disk_remedy),
        "disk I/O": (unwritable, disk_remedy),  # SQLite's error where a quota is used up
        "readonly": readonly,
        "unable to open": readonly,
        "locked": locked,
        "busy": locked,
        "not a database": damaged,
        "malformed": damaged,
    }
    for words, explanation in explanations.items():
        if words in text:
            return explanation
    return f"SQLite says: {text}", _SAFE


class StoreConnection(StoreFile):
    """An open store: its file is made, its version checked, and its rows can be selected."""

    def __init__(self, path: Path | str, *, readonly: bool = False) -> None:
        self.path = Path(path)
        self.readonly = readonly
        if readonly and str(path) != ":memory:" and not self.path.exists():
            command = f"hqm audit --no-report NAME --store {path}"
            remedy = f"Correct the path, or make one with `{command}`."
            raise StoreError("there is no such store", location=str(path), remedy=remedy)
        with self._guard():
            self._db = connect(path, readonly=readonly)
            try:
                self._open(readonly)
            except BaseException:
                self._db.close()
                raise
            self._cache = ReadCache(self._db, self.select)

    def _open(self, readonly: bool) -> None:
        """Create the tables of a new file, and refuse a file of another version."""
        version = self._version_of_any_folder(readonly)
        if version is None and not readonly:
            use_wal(self._db)
            with self._transaction():
                create(self._db)
            version = self._version()
        if version != str(VERSION):
            raise self._version_error(version)
        # With a write-ahead log, a kill of the process loses no commit at this level; a power cut
        # may lose the last ones and leaves the file whole.
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.execute("PRAGMA foreign_keys=ON")
        if not readonly and not {"administrations", "verdicts"} <= tables(self._db):
            with self._transaction():
                create(self._db)

    def _version_of_any_folder(self, readonly: bool) -> str | None:
        """The version of the store, which may lie in a folder that cannot be written."""
        try:
            return self._version()
        except sqlite3.OperationalError:
            # SQLite writes files beside the store even to read it. Where the folder forbids that,
            # and no other process has left a log to merge, the file alone is complete.
            log = self.path.with_name(f"{self.path.name}-wal")
            has_log = log.exists() and log.stat().st_size > 0
            if not readonly or not self.path.is_file() or has_log:
                raise
        self._db.close()
        self._db = connect_alone(self.path)
        return self._version()

    def _version(self) -> str | None:
        """The version that a store records; "none" of another database, None of an empty one."""
        existing = tables(self._db)
        if not existing:
            return None
        if "meta" not in existing:
            return "none"
        row = self._db.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
        if row is None:
            return "none"
        return str(row[0])

    def _version_error(self, version: str | None) -> StoreError:
        """The error about a file that is no store of this version."""
        remedy = "Name another file with --store."
        if version is None:
            message = "it holds nothing"
        elif version == "none":
            message = "it is no store of HQM"
        else:
            message = (
                f"it is a store of version {version:.9}, and HQM {__version__} reads version"
                f" {VERSION}"
            )
            remedy = f"Install the HQM that made it, or a later one; otherwise: {remedy}"
        return StoreError(message, location=str(self.path), remedy=remedy)

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """Turn the errors of SQLite and of the disk into a `StoreError`."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            # sqlite3 has no error of its own for a text that is no UTF-8.
            if "decode" in str(error):
                raise self.damage("a text is no UTF-8") from error
            message, remedy = _explain(str(error))
            raise StoreError(message, location=str(self.path), remedy=remedy) from error
        except UnicodeDecodeError as error:
            raise self.damage("a text is no UTF-8") from error
        except OSError as error:
            raise StoreError(
                f"it cannot be written: {error.strerror}", location=str(self.path)
            ) from error

    def damage(self, reason: str) -> StoreError:
        """The error about a value that no store writes, as after bytes of the file were changed."""
        return StoreError(
            f"it is damaged: {reason}",
            location=str(self.path),
            remedy="Restore it from a copy, or name another file with --store and record anew.",
        )

    def read_json(self, text: Any, column: str) -> Any:
        """The value of a column that holds an object of JSON."""
        try:
            value = json.loads(text)
        except (TypeError, ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise self.damage(f"a {column} is no object of JSON")
        return value

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        """All rows of a table, for export."""
        if table not in TABLES:
            raise StoreError(
                f"there is no table {table!r}",
                location=str(self.path),
                remedy=f"It has {', '.join(TABLES)}.",
            )
        # A store of HQM 0.1.0 has no administrations until it is opened for writing.
        if table not in tables(self._db):
            return
        with self._guard():
            cursor = self._db.execute(f"SELECT * FROM {table}")
            columns = [column[0] for column in cursor.description]
            for row in cursor:
                self._check_texts(row)
                yield dict(zip(columns, row, strict=True))

    def select(self, query: str, *values: object) -> list[Any]:
        """The rows of a query that changes nothing."""
        with self._guard():
            rows = self._db.execute(query, values).fetchall()
        self._check_texts(chain.from_iterable(rows))
        return rows

    def _first(self, query: str, *values: object) -> Any:
        """The first row of a query, or None."""
        with self._guard():
            row = self._db.execute(query, values).fetchone()
        self._check_texts(row or ())
        return row

    def _check_texts(self, cells: Iterable[object]) -> None:
        """Refuse bytes among the cells of rows, for no column of a store has them."""
        if bytes in set(map(type, cells)):
            raise self.damage("bytes stand where a text is")
