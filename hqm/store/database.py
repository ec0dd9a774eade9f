"""The store: every answer and every judgement, append-only, in one SQLite file for many benchmarks.

An answer is addressed by who was asked (a respondent's identity, settings included), what was asked
(the text and the picture's bytes) and in which run. Rows that ask the same share it; a benchmark's
scores are computed from it whenever they are wanted. An answer that came back as an error is kept
and asked again as a further attempt. Nothing is ever changed: triggers refuse updates and
deletions.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hqm.errors import StoreError
from hqm.signature import canonical_json, digest
from hqm.store.sqlite import Kept, StoreFile, connect, connect_alone, use_wal
from hqm.text import storable
from hqm.types import Judgement, Response, Row, Usage
from hqm.version import __version__

# Answers that cannot be stored together are stored one by one, so that one of them loses neither
# the others nor the run.

Asked = TypeVar("Asked")
_OF_A_VALUE = (ValueError, TypeError, OverflowError, RecursionError)
_OF_A_ROW = (
    sqlite3.DataError,
    sqlite3.IntegrityError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
)


def append_each(
    append: Callable[[Sequence[tuple[Asked, Response]]], None],
    answers: Sequence[tuple[Asked, Response]],
) -> list[Response]:
    """Append all answers, or each by itself where together they cannot be stored; the responses as
    they are stored.

    An answer that cannot be stored as it came is stored without its detail or, failing that, as an
    error.

    Raises
    ------
    StoreError
        The store cannot be written, or does not even take an error in place of an answer.
    """
    if _stored(append, answers) is None:
        return [response for _, response in answers]
    return [_kept(append, asked, response) for asked, response in answers]


def _kept(
    append: Callable[[Sequence[tuple[Asked, Response]]], None], asked: Asked, response: Response
) -> Response:
    fault = _stored(append, [(asked, response)])
    if fault is None:
        return response
    note = f"it could not be stored as it came: {type(fault.__cause__ or fault).__name__}"
    for instead in (response._replace(detail={"replaced": note}), Response("", "error", note)):
        fault = _stored(append, [(asked, instead)])
        if fault is None:
            return instead
    raise StoreError(
        f"an answer cannot be stored ({fault})", remedy="The answers stored so far are safe."
    )


def _stored(
    append: Callable[[Sequence[tuple[Asked, Response]]], None],
    answers: Sequence[tuple[Asked, Response]],
) -> Exception | None:
    """Append; what is wrong with an answer, if something is.

    What is wrong with the store is raised.
    """
    try:
        append(answers)
    except _OF_A_VALUE as error:
        return error
    except StoreError as error:
        if not isinstance(error.__cause__, _OF_A_ROW):
            raise
        return error
    return None


# The numbers that rows of a store get: those of asks that are there, and those of further
# attempts at them.

_MARKS = 500
"""Values in one query at most."""


def ids_of(db: sqlite3.Connection, digests: Sequence[str]) -> dict[str, int]:
    """Digest -> number, of those asks that are there."""
    ids: dict[str, int] = {}
    for start in range(0, len(digests), _MARKS):
        part = digests[start : start + _MARKS]
        marks = ",".join("?" * len(part))
        ids.update(
            db.execute(f"SELECT digest, id FROM asks WHERE digest IN ({marks})", part).fetchall()
        )
    return ids


def attempts_of(
    db: sqlite3.Connection, respondent: int, run: int, numbers: Sequence[int]
) -> list[int]:
    """Which attempt each of these further answers to asks is, from 0."""
    # of many asks those between the first and the last are counted too, which is one look for all
    # of them
    some = len(numbers) < _MARKS
    chosen = f"ask IN ({','.join('?' * len(numbers))})" if some else "ask BETWEEN ? AND ?"
    query = (
        f"SELECT ask, COUNT(*) FROM answers WHERE respondent = ? AND run = ? AND {chosen} GROUP"
        " BY ask"
    )
    values = numbers if some else (min(numbers), max(numbers))
    before: dict[int, int] = dict(db.execute(query, (respondent, run, *values)).fetchall())
    if not before and len(set(numbers)) == len(numbers):
        return [0] * len(numbers)
    attempts = []
    for number in numbers:
        attempts.append(before.get(number, 0))
        before[number] = attempts[-1] + 1
    return attempts


# What is asked, addressed by its content.


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked: a text, and the picture it is asked about."""

    digest: str
    prompt: str
    image: str | None = None
    image_digest: str | None = None


def ask(
    prompt: str,
    image: str | None = None,
    image_digest: str | None = None,
    *,
    apart: Sequence[str] = (),
) -> Ask:
    """Address what is asked by its content: the text and the picture's bytes, whatever the
    picture's name.

    `apart` holds questions apart that would otherwise be one; recorded answers use it, since a file
    may hold different answers for rows that ask the same.

    >>> ask("Is it red?", "a.png", "b2:00").digest == ask("Is it red?", "b.png", "b2:00").digest
    True
    """
    prompt, image = storable(prompt), storable(image)
    return Ask(digest([prompt, image_digest or image, *apart]), prompt, image, image_digest)


# The tables of a store, and how they are made.

VERSION = 1
TABLES = ("respondents", "asks", "images", "answers", "administrations", "judgements", "records")
WHOLE = "administrations"
"""The key in `meta` that says: every administration in this store is recorded as one. A store that
was begun by HQM 0.1.0, or that took in answers without their administrations, does not have it."""
SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE respondents (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, name TEXT NOT NULL, identity TEXT NOT NULL);
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
"""


def tables(db: sqlite3.Connection) -> set[str]:
    """The names of the tables that there are."""
    return {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def create(db: sqlite3.Connection) -> None:
    """Make the tables that are missing, each with triggers that refuse updates and deletions."""
    there = tables(db)
    for statement in filter(str.strip, SCHEMA.split(";")):
        name = statement.split()[2]
        if name in there:
            continue
        db.execute(statement)
        for verb in ("UPDATE", "DELETE") if name in TABLES else ():
            db.execute(
                f"CREATE TRIGGER {name}_no_{verb.lower()} BEFORE {verb} ON {name} "
                "BEGIN SELECT RAISE(ABORT, 'the store is append-only'); END"
            )
    if not there:
        db.executemany(
            "INSERT INTO meta VALUES (?, ?)", [("version", str(VERSION)), (WHOLE, "recorded")]
        )


_NO_DETAIL = "{}"


def _written(detail: Mapping[str, Any]) -> str:
    return canonical_json(dict(detail)) if detail else _NO_DETAIL


class Store(StoreFile):
    """One SQLite file of answers and judgements.

    Parameters
    ----------
    path
        The file; it is made when it does not exist.
    readonly
        Open an existing file for reading only; it may then lie in a folder that cannot be written.

    Raises
    ------
    StoreError
        The file is no store of this version, cannot be written, the disk is full, or another
        process holds it too long.

    Examples
    --------
    >>> from hqm import Response, Store, ask
    >>> with Store(":memory:") as store:
    ...     who = store.respondent("hf/tiny", {"temperature": 1.0})
    ...     _ = store.append(who, 0, [(ask("Is it red?", "a.png"), Response("Yes."))])
    ...     [response.text for response in store.answers(who, 0).values()]
    ['Yes.']
    """

    def __init__(self, path: Path | str, *, readonly: bool = False) -> None:
        self.path, self.readonly = Path(path), readonly
        self._ask_ids: dict[str, int] = {}
        self._kept_asks: dict[str, int] = {}
        memory = str(path) == ":memory:"
        if readonly and not memory and not self.path.exists():
            raise StoreError(
                "there is no such store",
                location=str(path),
                remedy=(
                    f"Correct the path, or make one with `hqm audit --no-report NAME --store"
                    f" {path}`."
                ),
            )
        with self._guard():
            self._db = connect(path, readonly=readonly)
            try:
                self._open(readonly)
            except BaseException:
                self._db.close()
                raise
            self._kept = Kept(self._db, self.select)

    def _open(self, readonly: bool) -> None:
        try:
            version = self._version()
        except sqlite3.OperationalError:
            # SQLite wants to write beside the file even to read it; where the folder forbids that,
            # and no other process has left anything to merge, the file is all there is
            merged = self.path.with_name(f"{self.path.name}-wal")
            if (
                not readonly
                or not self.path.is_file()
                or (merged.exists() and merged.stat().st_size)
            ):
                raise
            self._db.close()
            self._db = connect_alone(self.path)
            version = self._version()
        if version is None and not readonly:
            use_wal(self._db)
            with self._transaction():
                create(self._db)
            version = self._version()
        if version != str(VERSION):
            what = {None: "it holds nothing", "none": "it is no store of HQM"}.get(version)
            remedy = "Name another file with --store."
            if what is None:
                made = f"it is a store of version {version:.9}"
                what = f"{made}, and HQM {__version__} reads version {VERSION}"
                remedy = f"Install the HQM that made it, or a later one; otherwise: {remedy}"
            raise StoreError(what, location=str(self.path), remedy=remedy)
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.execute("PRAGMA foreign_keys=ON")
        if not readonly and "administrations" not in tables(self._db):
            with self._transaction():
                create(self._db)

    def _version(self) -> str | None:
        """The version that a store says; "none" of another database, None of an empty one."""
        there = tables(self._db)
        if not there:
            return None
        row = (
            self._db.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
            if "meta" in there
            else None
        )
        return "none" if row is None else str(row[0])

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """Turn SQLite's errors into one sentence; what is committed stays."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            text, safe = str(error), "The answers stored so far are safe."
            room = f"Make room and run the same command again. {safe}"
            unwritable = f"it cannot be written ({text})"
            readonly = unwritable, "Name a writable place with --store."
            locked = "another process is writing to it", f"Wait for it, then run again. {safe}"
            other = f"it is no SQLite file, or damaged ({text})", "Name another file with --store."
            faults = {
                "full": ("the disk is full", room),
                "disk I/O": (unwritable, room),  # where a quota is used up
                "readonly": readonly,
                "unable to open": readonly,
                "locked": locked,
                "busy": locked,
                "not a database": other,
                "malformed": other,
            }
            known = (fault for words, fault in faults.items() if words in text)
            what, remedy = next(known, (f"SQLite says: {text}", safe))
            raise StoreError(what, location=str(self.path), remedy=remedy) from error
        except OSError as error:
            raise StoreError(
                f"it cannot be written: {error.strerror}", location=str(self.path)
            ) from error

    # --- who and what ---

    def respondent(self, name: str, identity: Mapping[str, Any]) -> int:
        """The number of a respondent with this identity; made when it is new."""
        key = digest({"name": name, **identity})
        row = self._first("SELECT id FROM respondents WHERE digest = ?", key)
        if row is None:
            with self._transaction():
                self._db.execute(
                    "INSERT OR IGNORE INTO respondents (digest, name, identity) VALUES (?, ?, ?)",
                    (key, name, canonical_json(identity)),
                )
            row = self._first("SELECT id FROM respondents WHERE digest = ?", key)
        return int(row[0])

    def find_respondent(self, name: str, identity: Mapping[str, Any]) -> int | None:
        """The number of a respondent, or None when it never answered."""
        row = self._first(
            "SELECT id FROM respondents WHERE digest = ?", digest({"name": name, **identity})
        )
        return None if row is None else int(row[0])

    def respondents(self) -> list[tuple[int, str, dict[str, Any]]]:
        """All respondents: number, name, identity."""
        rows = self.select("SELECT id, name, identity FROM respondents ORDER BY id")
        return [(number, name, json.loads(identity)) for number, name, identity in rows]

    def ask_ids(self, asks: Iterable[Ask]) -> dict[str, int]:
        """Digest -> number, of those asks that the store has seen."""
        if not self._ask_ids:
            self._ask_ids = dict(self.select("SELECT digest, id FROM asks"))
        wanted = [asked.digest for asked in asks]
        missing = [key for key in wanted if key not in self._ask_ids]
        with self._guard():
            self._ask_ids.update(ids_of(self._db, missing))
        return {key: self._ask_ids[key] for key in wanted if key in self._ask_ids}

    def remember_images(self, benchmark: str, digests: Mapping[str, str]) -> None:
        """Keep which bytes each picture's name stood for, so that the store can be read where the
        pictures are not.
        """
        with self._transaction():
            self._db.executemany(
                "INSERT OR IGNORE INTO images (benchmark, name, digest) VALUES (?, ?, ?)",
                [(benchmark, name, digest) for name, digest in digests.items()],
            )

    def images(self, benchmark: str) -> dict[str, str]:
        """A benchmark's pictures: name -> digest, the latest where one changed."""
        return dict(
            self.select(
                "SELECT name, digest FROM images WHERE benchmark = ? ORDER BY id", benchmark
            )
        )

    # --- answers ---

    def append(
        self, respondent: int, run: int, answers: Sequence[tuple[Ask, Response]]
    ) -> list[Response]:
        """Store answers in one transaction; the responses as stored, with errors for those that no
        store can hold.
        """
        return append_each(lambda part: self._append(respondent, run, part), answers)

    def _append(self, respondent: int, run: int, answers: Sequence[tuple[Ask, Response]]) -> None:
        now, kept = time.time(), self._kept_asks
        with self._transaction():
            # nothing is ever deleted, so what one batch of this process has stored stays stored
            fresh = {a.digest: a for a, _ in answers if a.digest not in kept}
            self._insert_asks(fresh.values())
            added = ids_of(self._db, list(fresh))
            numbers = [added[a.digest] if a.digest in added else kept[a.digest] for a, _ in answers]
            attempts = attempts_of(self._db, respondent, run, numbers)
            self._db.executemany(
                "INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        respondent,
                        run,
                        number,
                        attempt,
                        r.state,
                        r.text,
                        r.reason,
                        _written(r.detail),
                        now,
                    )
                    for number, attempt, (_, r) in zip(numbers, attempts, answers, strict=True)
                ],
            )
        kept.update(added)

    def restore(
        self, respondent: int, run: int, answers: Sequence[tuple[int, Ask, Response, float]]
    ) -> int:
        """Store exported answers under their own attempt and time; the number that were new."""
        before = self.count()
        with self._transaction():
            self._insert_asks(a for _, a, _, _ in answers)
            self._db.executemany(
                "INSERT OR IGNORE INTO answers SELECT ?, ?, a.id, ?, ?, ?, ?, ?, ? FROM asks a"
                " WHERE a.digest = ?",
                [
                    (
                        respondent,
                        run,
                        attempt,
                        r.state,
                        r.text,
                        r.reason,
                        _written(r.detail),
                        when,
                        a.digest,
                    )
                    for attempt, a, r, when in answers
                ],
            )
        return self.count() - before

    def _insert_asks(self, asks: Iterable[Ask]) -> None:
        self._db.executemany(
            "INSERT OR IGNORE INTO asks (digest, prompt, image, image_digest) VALUES (?, ?, ?, ?)",
            [(a.digest, a.prompt, a.image, a.image_digest) for a in asks],
        )

    def answers(self, respondent: int, run: int) -> dict[int, Response]:
        """Ask number -> the last attempt's response, details left out."""
        return {
            number: Response(*row[:3]) for number, row in self.answer_rows(respondent, run).items()
        }

    def answer_rows(self, respondent: int, run: int) -> Mapping[int, Row]:
        """Ask number -> text, state, reason and the number again: `answers` without a value made
        for each of millions.
        """
        query = (
            "SELECT text, state, reason, ask FROM answers WHERE respondent = ? AND run = ? ORDER BY"
            " ask, attempt"
        )
        key = ("rows", respondent, run)
        return self._kept.once(
            key, lambda: {row[3]: row for row in self.select(query, respondent, run)}
        )

    def replies(self, respondent: int, run: int) -> dict[str, Response]:
        """Digest of the ask -> the last attempt's response; how a judge's replies are found."""
        query = (
            "SELECT a.digest, text, state, reason FROM answers JOIN asks a ON a.id = answers.ask "
            "WHERE respondent = ? AND run = ? ORDER BY ask, attempt"
        )
        return {row[0]: Response(*row[1:]) for row in self.select(query, respondent, run)}

    def answered(self, respondent: int, run: int) -> frozenset[int]:
        """The asks that need not be asked again: the last attempt was no error."""
        query = (
            "SELECT ask, state FROM answers WHERE respondent = ? AND run = ? ORDER BY ask, attempt"
        )

        def read() -> frozenset[int]:
            rows = dict(self.select(query, respondent, run))
            return frozenset(number for number, state in rows.items() if state != "error")

        return self._kept.once(("answered", respondent, run), read)

    def runs(self, respondent: int) -> list[int]:
        """The runs in which a respondent answered anything."""
        return [
            n
            for (n,) in self.select(
                "SELECT DISTINCT run FROM answers WHERE respondent = ? ORDER BY run", respondent
            )
        ]

    def details(self, respondent: int, run: int, name: str = "") -> dict[int, dict[str, Any]]:
        """Ask number -> what was measured of the last attempt, where anything was; with a `name`,
        where that may be in it.
        """
        # of a first attempt without a detail there is nothing to read, and most recorded answers
        # are that
        query = (
            "SELECT ask, detail FROM answers WHERE respondent = ? AND run = ? AND "
            "(attempt > 0 OR detail <> ? AND instr(detail, ?)) ORDER BY ask, attempt"
        )
        rows = self.select(query, respondent, run, _NO_DETAIL, f'"{name}":' if name else "{")
        return {number: json.loads(detail) for number, detail in rows}

    def usage(self, respondent: int) -> Usage:
        """The tokens that a respondent's answers used, summed over runs and attempts."""
        kinds = ("tokens_in", "tokens_out", "tokens_cached")
        sums = ", ".join(f"COALESCE(SUM(json_extract(detail, '$.{kind}')), 0)" for kind in kinds)
        names = (
            "SELECT DISTINCT substr(json_extract(detail, '$.model'), 1, 80) AS name FROM answers"
            " WHERE respondent = ? AND instr(detail, '\"model\":') AND name IS NOT NULL LIMIT 4"
        )
        models = f"(SELECT COALESCE(GROUP_CONCAT(name, ', '), '') FROM ({names}))"
        query = f"SELECT COUNT(*), {sums}, {models} FROM answers WHERE respondent = ?"
        twice = respondent, respondent
        return Usage(*self._kept.once(("usage", respondent), lambda: self._first(query, *twice)))

    def seconds(self, respondent: int) -> tuple[int, float]:
        """How many answers of a respondent were timed, over runs and attempts, and the sum of their
        seconds.
        """
        timed = "SELECT json_extract(detail, '$.seconds') AS s FROM answers WHERE respondent = ?"
        query = f"SELECT COUNT(s), COALESCE(SUM(s), 0) FROM ({timed})"
        return tuple(
            self._kept.once(("seconds", respondent), lambda: self._first(query, respondent))
        )

    def count(self) -> int:
        """How many answers there are, attempts included."""
        return int(self._first("SELECT COUNT(*) FROM answers")[0])

    # --- administrations ---

    def administered(
        self,
        respondent: int,
        benchmark: str,
        *,
        form: str,
        digest: str,
        run: int,
        sight: str = "",
        when: float = 0.0,
    ) -> None:
        """Record that a respondent was put a form (by its name and content hash) of a benchmark in
        a run.
        """
        with self._transaction():
            self._db.execute(
                "INSERT OR IGNORE INTO administrations (respondent, benchmark, form, digest, run,"
                " sight, time) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (respondent, benchmark, form, digest, run, sight, when or time.time()),
            )

    def administrations(self, respondent: int, benchmark: str) -> set[tuple[str, str, int, str]]:
        """What a respondent was put of a benchmark: form's name, its content hash, run, sight."""
        if "administrations" not in tables(self._db):
            return set()
        query = (
            "SELECT form, digest, run, sight FROM administrations WHERE respondent = ? AND"
            " benchmark = ?"
        )
        return set(self.select(query, respondent, benchmark))

    @property
    def whole(self) -> bool:
        """Whether every administration in the store is recorded as one, so that what is not
        recorded was not put.
        """
        return self._first("SELECT 1 FROM meta WHERE key = ?", WHOLE) is not None

    def not_whole(self) -> None:
        """Note that the store now holds answers whose administrations are not recorded."""
        with self._transaction():
            self._db.execute("DELETE FROM meta WHERE key = ?", (WHOLE,))

    # --- judgements and records ---

    def judge(
        self,
        benchmark: str,
        form: str,
        run: int,
        judgements: Sequence[Judgement],
        when: float | None = None,
    ) -> None:
        """Store judgements; one that is there already is left as it is."""
        now = time.time() if when is None else when
        with self._transaction():
            self._db.executemany(
                "INSERT OR IGNORE INTO judgements (benchmark, judge, form, run, respondent, item,"
                " label, reply, reason, time) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        benchmark,
                        j.judge,
                        form,
                        run,
                        j.respondent,
                        j.item,
                        j.label,
                        j.reply,
                        j.reason,
                        now,
                    )
                    for j in judgements
                ],
            )

    def judgements(self, benchmark: str, judge: str, form: str, run: int) -> list[Judgement]:
        """The judgements of one judge on one administration."""
        rows = self.select(
            "SELECT judge, item, respondent, label, reply, reason FROM judgements "
            "WHERE benchmark = ? AND judge = ? AND form = ? AND run = ? ORDER BY id",
            benchmark,
            judge,
            form,
            run,
        )
        return [Judgement(*row) for row in rows]

    def judged(self, benchmark: str) -> list[tuple[str, str, int]]:
        """The judged administrations of a benchmark: judge, form, run; the one judged last stands
        last.
        """
        query = (
            "SELECT judge, form, run FROM judgements WHERE benchmark = ? GROUP BY judge, form, run "
            "ORDER BY MAX(time), MAX(id)"
        )
        return [(judge, form, run) for judge, form, run in self.select(query, benchmark)]

    def record(self, record: Mapping[str, Any], when: float | None = None) -> None:
        """Keep the record of a command: versions, settings, data hashes."""
        row = (time.time() if when is None else when, canonical_json(record))
        with self._transaction():
            query = "INSERT INTO records (time, record) SELECT ?, ? WHERE NOT EXISTS "
            query += "(SELECT 1 FROM records WHERE time = ? AND record = ?)"
            self._db.execute(query, (*row, *row))

    def records(self) -> list[dict[str, Any]]:
        return [json.loads(row[0]) for row in self.select("SELECT record FROM records ORDER BY id")]

    # --- plain access ---

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        """All rows of a table, for export."""
        if table not in TABLES:
            raise StoreError(
                f"there is no table {table!r}",
                location=str(self.path),
                remedy=f"It has {', '.join(TABLES)}.",
            )
        if table not in tables(
            self._db
        ):  # a store of HQM 0.1.0 that was never opened for writing since
            return
        cursor = self._db.execute(f"SELECT * FROM {table}")
        columns = [column[0] for column in cursor.description]
        for row in cursor:
            yield dict(zip(columns, row, strict=True))

    def select(self, query: str, *values: Any) -> list[Any]:
        """The rows of a query that only reads."""
        with self._guard():
            return self._db.execute(query, values).fetchall()

    def _first(self, query: str, *values: Any) -> Any:
        with self._guard():
            return self._db.execute(query, values).fetchone()


# What servers turned away for good: questions that the same server will turn away again.


def has_answered(store: Store, respondent: int) -> bool:
    """Whether a respondent ever answered anything, in any run."""
    query = "SELECT 1 FROM answers WHERE respondent = ? AND state <> 'error' LIMIT 1"
    return bool(store.select(query, respondent))


def refused(store: Store, respondent: int, run: int) -> set[str]:
    """The digests of the asks whose last attempt a server turned away for good.

    Where a respondent never answered anything, a status may have other reasons than the question;
    a reply without an answer was paid for all the same.
    """
    query = (
        "SELECT a.digest FROM answers x JOIN asks a ON a.id = x.ask WHERE respondent = ? AND run ="
        " ? AND state = 'error' AND json_extract(detail, '$.final') AND (? OR"
        " json_extract(detail, '$.status') IS NULL) AND attempt = (SELECT"
        " MAX(attempt) FROM answers y WHERE y.respondent = x.respondent AND y.run = x.run"
        " AND y.ask = x.ask)"
    )
    answered = has_answered(store, respondent)
    return {row[0] for row in store.select(query, respondent, run, answered)}


__all__ = ["Ask", "Store", "ask"]
