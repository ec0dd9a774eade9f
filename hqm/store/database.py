"""The store: every answer and every judgement, append-only, in one SQLite file for many benchmarks.

An answer is addressed by the respondent's identity (settings included), the question (its text and
the bytes of its picture) and the run. Items with the same question share it; the scores of a
benchmark are computed from the answers whenever they are needed. An answer that is an error is
kept, and its question is asked again as a further attempt. Nothing is ever changed: triggers refuse
updates and deletions.
"""

from __future__ import annotations

import sqlite3
import time
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hqm.errors import StoreError
from hqm.moved_names import RenamedAttributes
from hqm.signature import canonical_json, digest
from hqm.store.connection import ADMINISTRATIONS_KEY, StoreConnection, tables
from hqm.text import storable
from hqm.types import STATES, Judgement, Response, Row, Usage

# Answers that cannot be stored together are stored one by one, so that a single bad one costs
# neither the others nor the run.

AskT = TypeVar("AskT")
_VALUE_ERRORS = (ValueError, TypeError, OverflowError, RecursionError)
_ROW_ERRORS = (
    sqlite3.DataError,
    sqlite3.IntegrityError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
)


def append_each(
    append: Callable[[Sequence[tuple[AskT, Response]]], None],
    answers: Sequence[tuple[AskT, Response]],
) -> list[Response]:
    """Append all answers, one by one where they cannot be stored together; the stored responses.

    An answer that cannot be stored unchanged is stored without its detail or, failing that, as an
    error.

    Raises
    ------
    StoreError
        The store cannot be written, or does not even take an error in place of an answer.
    """
    if _append_error(append, answers) is None:
        return [response for _, response in answers]
    return [_append_one(append, question, response) for question, response in answers]


def _append_one(
    append: Callable[[Sequence[tuple[AskT, Response]]], None], question: AskT, response: Response
) -> Response:
    """Append one answer, if need be without its detail or as an error; the stored response."""
    error = _append_error(append, [(question, response)])
    if error is None:
        return response
    note = f"it could not be stored as it came: {type(error.__cause__ or error).__name__}"
    # A detail is the likeliest culprit, and the least loss.
    for substitute in (response._replace(detail={"replaced": note}), Response("", "error", note)):
        error = _append_error(append, [(question, substitute)])
        if error is None:
            return substitute
    raise StoreError(
        f"an answer cannot be stored ({error})", remedy="The answers stored so far are safe."
    )


def _append_error(
    append: Callable[[Sequence[tuple[AskT, Response]]], None],
    answers: Sequence[tuple[AskT, Response]],
) -> Exception | None:
    """Append the answers; the error of an answer that cannot be stored, or None.

    An error of the store itself is raised.
    """
    try:
        append(answers)
    except _VALUE_ERRORS as error:
        return error
    except StoreError as error:
        if not isinstance(error.__cause__, _ROW_ERRORS):
            raise
        return error
    return None


# The numbers of rows: those of stored asks, and of further attempts at them.

_MAX_PARAMETERS = 500
"""Placeholders in one query; SQLite before 3.32 allows 999."""


def ids_of(db: sqlite3.Connection, digests: Sequence[str]) -> dict[str, int]:
    """Digest -> number, of the asks that are stored."""
    ids: dict[str, int] = {}
    for start in range(0, len(digests), _MAX_PARAMETERS):
        batch = digests[start : start + _MAX_PARAMETERS]
        marks = ",".join("?" * len(batch))
        ids.update(
            db.execute(f"SELECT digest, id FROM asks WHERE digest IN ({marks})", batch).fetchall()
        )
    return ids


def attempts_of(
    db: sqlite3.Connection, respondent: int, run: int, numbers: Sequence[int]
) -> list[int]:
    """The attempt numbers, from 0, of one new answer to each of these asks."""
    values = numbers
    condition = f"ask IN ({','.join('?' * len(numbers))})"
    if len(numbers) >= _MAX_PARAMETERS:
        # One query over the whole range counts asks in between in vain, and is faster than many.
        values = (min(numbers), max(numbers))
        condition = "ask BETWEEN ? AND ?"
    query = (
        f"SELECT ask, COUNT(*) FROM answers WHERE respondent = ? AND run = ? AND {condition} GROUP"
        " BY ask"
    )
    n_attempts: dict[int, int] = dict(db.execute(query, (respondent, run, *values)).fetchall())
    # The usual case, of questions that nobody asked before, needs no count one by one.
    if not n_attempts and len(set(numbers)) == len(numbers):
        return [0] * len(numbers)
    attempts = []
    for number in numbers:
        attempts.append(n_attempts.get(number, 0))
        n_attempts[number] = attempts[-1] + 1
    return attempts


@dataclass(frozen=True, slots=True)
class Ask:
    """A question as it is asked: its text and its picture, addressed by their content."""

    digest: str
    prompt: str
    image: str | None = None
    image_digest: str | None = None


def ask(
    prompt: str,
    image: str | None = None,
    image_digest: str | None = None,
    *,
    salt: Sequence[str] = (),
) -> Ask:
    """Address a question by its content: the text and the picture's bytes, not the picture's name.

    Parameters
    ----------
    prompt
        The text.
    image, image_digest
        The picture's name, and the content hash of its bytes where they are known.
    salt
        Texts that enter the hash beside the question, so that equal questions differ. A file of
        recorded answers may hold different answers for items with the same question.

    Returns
    -------
    Ask
        The question, without characters that cannot be stored.

    Examples
    --------
    >>> ask("Is it red?", "a.png", "b2:00").digest == ask("Is it red?", "b.png", "b2:00").digest
    True
    """
    prompt = storable(prompt)
    image = storable(image)
    return Ask(digest([prompt, image_digest or image, *salt]), prompt, image, image_digest)


_NO_DETAIL = "{}"


def _columns(response: Response) -> tuple[str, str, str, str]:
    """The columns of a response in the table of answers: state, text, reason, detail."""
    if response.detail:
        detail = canonical_json(dict(response.detail))
    else:
        detail = _NO_DETAIL
    return (response.state, response.text, response.reason, detail)


class Store(StoreConnection, RenamedAttributes):
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
    >>> from hqm import Response, Store
    >>> from hqm.store.database import ask
    >>> with Store(":memory:") as store:
    ...     number = store.respondent("hf/tiny", {"temperature": 1.0})
    ...     _ = store.append(number, 0, [(ask("Is it red?", "a.png"), Response("Yes."))])
    ...     [response.text for response in store.answers(number, 0).values()]
    ['Yes.']
    """

    def __init__(self, path: Path | str, *, readonly: bool = False) -> None:
        self._ask_ids: dict[str, int] = {}
        self._stored_ask_ids: dict[str, int] = {}
        super().__init__(path, readonly=readonly)

    # --- respondents, questions, pictures ---

    def respondent(self, name: str, identity: Mapping[str, object]) -> int:
        """Return the number of the respondent with this identity, inserted where it is new."""
        # The name is part of who it is: two models may run with equal settings.
        key = digest({"name": name, **identity})
        row = self._first("SELECT id FROM respondents WHERE digest = ?", key)
        if row is None:
            with self._transaction():
                self._db.execute(
                    "INSERT OR IGNORE INTO respondents (digest, name, identity) VALUES (?, ?, ?)",
                    (key, name, canonical_json(identity)),
                )
            row = self._first("SELECT id FROM respondents WHERE digest = ?", key)
        return self._respondent_number(row)

    def find_respondent(self, name: str, identity: Mapping[str, object]) -> int | None:
        """Return the number of a respondent, or None if the store does not have it."""
        row = self._first(
            "SELECT id FROM respondents WHERE digest = ?", digest({"name": name, **identity})
        )
        if row is None:
            return None
        return self._respondent_number(row)

    def _respondent_number(self, row: Sequence[object]) -> int:
        """Return the number in a row; a damaged index may lead to a row without one."""
        number = row[0] if row else None
        if not isinstance(number, int):
            raise self.damage("a respondent has no number")
        return number

    def respondents(self) -> list[tuple[int, str, dict[str, Any]]]:
        """All respondents: number, name, identity."""
        rows = self.select("SELECT id, name, identity FROM respondents ORDER BY id")
        return [
            (number, name, self.read_json(identity, "respondent's identity"))
            for number, name, identity in rows
        ]

    def ask_ids(self, asks: Iterable[Ask]) -> dict[str, int]:
        """Digest -> number, of the asks that are stored."""
        if not self._ask_ids:
            self._ask_ids = dict(self.select("SELECT digest, id FROM asks"))
        digests = [question.digest for question in asks]
        missing = [key for key in digests if key not in self._ask_ids]
        with self._guard():
            self._ask_ids.update(ids_of(self._db, missing))
        return {key: self._ask_ids[key] for key in digests if key in self._ask_ids}

    def remember_images(
        self, benchmark: str, digests: Mapping[str, str], *, replace_rows: bool = True
    ) -> None:
        """Record the content hash of each picture, so that the store can be read without them.

        A picture that is again what it was earlier becomes the latest, but not by an import, which
        replaces no rows.
        """
        conflict = "REPLACE" if replace_rows else "IGNORE"
        rows = [(benchmark, name, digest) for name, digest in digests.items()]
        with self._transaction():
            self._db.executemany(
                f"INSERT OR {conflict} INTO images (benchmark, name, digest) VALUES (?, ?, ?)", rows
            )

    def images(self, benchmark: str) -> dict[str, str]:
        """Return the pictures of a benchmark: name -> digest, the latest where one changed."""
        query = "SELECT name, digest FROM images WHERE benchmark = ? ORDER BY id"
        return dict(self.select(query, benchmark))

    # --- answers ---

    def append(
        self, respondent: int, run: int, answers: Sequence[tuple[Ask, Response]]
    ) -> list[Response]:
        """Store answers in one transaction; the responses as stored, some of them as errors."""
        return append_each(lambda batch: self._append(respondent, run, batch), answers)

    def _append(self, respondent: int, run: int, answers: Sequence[tuple[Ask, Response]]) -> None:
        timestamp = time.time()
        with self._transaction():
            # Rows are never deleted, so the asks of this process's earlier batches are still
            # stored.
            stored_ids = self._stored_ask_ids
            new_asks = {a.digest: a for a, _ in answers if a.digest not in stored_ids}
            self._insert_asks(new_asks.values())
            new_ids = ids_of(self._db, list(new_asks))
            ids = ChainMap(new_ids, stored_ids)
            numbers = [ids[question.digest] for question, _ in answers]
            attempts = attempts_of(self._db, respondent, run, numbers)
            rows = []
            for number, attempt, (_, response) in zip(numbers, attempts, answers, strict=True):
                content = _columns(response)
                rows.append((respondent, run, number, attempt, *content, timestamp))
            self._db.executemany("INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        # After the commit: of a batch that was rolled back, no ask is stored.
        stored_ids.update(new_ids)

    def restore(
        self, respondent: int, run: int, answers: Sequence[tuple[int, Ask, Response, float]]
    ) -> int:
        """Store exported answers with their attempts and times; the number of new ones."""
        count = self.count()
        rows = []
        for attempt, question, response, timestamp in answers:
            content = _columns(response)
            rows.append((respondent, run, attempt, *content, timestamp, question.digest))
        with self._transaction():
            self._insert_asks(question for _, question, _, _ in answers)
            self._db.executemany(
                "INSERT OR IGNORE INTO answers SELECT ?, ?, a.id, ?, ?, ?, ?, ?, ? FROM asks a"
                " WHERE a.digest = ?",
                rows,
            )
        return self.count() - count

    def _insert_asks(self, asks: Iterable[Ask]) -> None:
        self._db.executemany(
            "INSERT OR IGNORE INTO asks (digest, prompt, image, image_digest) VALUES (?, ?, ?, ?)",
            [(ask.digest, ask.prompt, ask.image, ask.image_digest) for ask in asks],
        )

    def answers(self, respondent: int, run: int) -> dict[int, Response]:
        """Ask number -> the response of the last attempt, without its detail."""
        rows = self.answer_rows(respondent, run)
        return {number: Response(*row[:3]) for number, row in rows.items()}

    def answer_rows(self, respondent: int, run: int) -> Mapping[int, Row]:
        """Ask number -> text, state, reason and number: `answers` without a `Response` for each."""
        query = (
            "SELECT text, state, reason, ask FROM answers WHERE respondent = ? AND run = ? ORDER BY"
            " ask, attempt"
        )

        def read() -> Mapping[int, Row]:
            rows = self.select(query, respondent, run)
            if not {row[1] for row in rows} <= set(STATES):
                raise self.damage("an answer has a state that there is not")
            return {row[3]: row for row in rows}

        return self._cache.get_or_read(("rows", respondent, run), read)

    def replies(self, respondent: int, run: int) -> dict[str, Response]:
        """Digest of the ask -> the response of the last attempt, for the replies of a judge."""
        query = (
            "SELECT a.digest, text, state, reason FROM answers JOIN asks a ON a.id = answers.ask "
            "WHERE respondent = ? AND run = ? ORDER BY ask, attempt"
        )
        return {row[0]: Response(*row[1:]) for row in self.select(query, respondent, run)}

    def answered(self, respondent: int, run: int) -> frozenset[int]:
        """Return the numbers of the asks whose last attempt is no error."""
        query = (
            "SELECT ask, state FROM answers WHERE respondent = ? AND run = ? ORDER BY ask, attempt"
        )

        def read() -> frozenset[int]:
            rows = dict(self.select(query, respondent, run))
            return frozenset(number for number, state in rows.items() if state != "error")

        return self._cache.get_or_read(("answered", respondent, run), read)

    def runs(self, respondent: int) -> list[int]:
        """Return the runs in which a respondent has answers."""
        query = "SELECT DISTINCT run FROM answers WHERE respondent = ? ORDER BY run"
        return [row[0] for row in self.select(query, respondent)]

    def details(self, respondent: int, run: int, name: str = "") -> dict[int, dict[str, Any]]:
        """Ask number -> the detail of the last attempt, where it has one that may hold `name`."""
        # most recorded answers are first attempts without a detail, which need not be read
        query = (
            "SELECT ask, detail FROM answers WHERE respondent = ? AND run = ? AND "
            "(attempt > 0 OR detail <> ? AND instr(detail, ?)) ORDER BY ask, attempt"
        )
        rows = self.select(query, respondent, run, _NO_DETAIL, f'"{name}":' if name else "{")
        return {number: self.read_json(detail, "detail") for number, detail in rows}

    def usage(self, respondent: int) -> Usage:
        """Return the tokens that a respondent's answers used, summed over runs and attempts."""
        kinds = ("tokens_in", "tokens_out", "tokens_cached")
        sums = ", ".join(f"COALESCE(SUM(json_extract(detail, '$.{kind}')), 0)" for kind in kinds)
        names = (
            "SELECT DISTINCT substr(json_extract(detail, '$.model'), 1, 80) AS name FROM answers"
            " WHERE respondent = ? AND instr(detail, '\"model\":') AND name IS NOT NULL LIMIT 4"
        )
        models = f"(SELECT COALESCE(GROUP_CONCAT(name, ', '), '') FROM ({names}))"
        query = f"SELECT COUNT(*), {sums}, {models} FROM answers WHERE respondent = ?"
        row = self._cache.get_or_read(
            ("usage", respondent), lambda: self._first(query, respondent, respondent)
        )
        return Usage(*row)

    def seconds(self, respondent: int) -> tuple[int, float]:
        """Return how many answers of a respondent were timed, and their seconds.

        Attempts are included.
        """
        timed = "SELECT json_extract(detail, '$.seconds') AS s FROM answers WHERE respondent = ?"
        query = f"SELECT COUNT(s), COALESCE(SUM(s), 0) FROM ({timed})"
        row = self._cache.get_or_read(
            ("seconds", respondent), lambda: self._first(query, respondent)
        )
        return tuple(row)

    def count(self) -> int:
        """Return the number of answers, attempts included."""
        return int(self._first("SELECT COUNT(*) FROM answers")[0])

    # --- administrations ---

    def record_administration(
        self,
        respondent: int,
        benchmark: str,
        *,
        form: str,
        digest: str,
        run: int,
        sight: str = "",
        timestamp: float = 0.0,
    ) -> None:
        """Record that a form, by its name and content hash, was administered to a respondent."""
        with self._transaction():
            self._db.execute(
                "INSERT OR IGNORE INTO administrations (respondent, benchmark, form, digest, run,"
                " sight, time) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (respondent, benchmark, form, digest, run, sight, timestamp or time.time()),
            )

    def administrations(self, respondent: int, benchmark: str) -> set[tuple[str, str, int, str]]:
        """Return what was asked of a respondent: form, content hash, run and sight."""
        if "administrations" not in tables(self._db):
            return set()
        query = (
            "SELECT form, digest, run, sight FROM administrations WHERE respondent = ? AND"
            " benchmark = ?"
        )
        return set(self.select(query, respondent, benchmark))

    @property
    def has_all_administrations(self) -> bool:
        """Whether the store has recorded every administration, so that no other took place."""
        return self._first("SELECT 1 FROM meta WHERE key = ?", ADMINISTRATIONS_KEY) is not None

    def mark_administrations_missing(self) -> None:
        """Record that the store holds answers whose administrations are not recorded."""
        with self._transaction():
            self._db.execute("DELETE FROM meta WHERE key = ?", (ADMINISTRATIONS_KEY,))

    # --- judgements and records ---

    def judge(
        self,
        benchmark: str,
        form: str,
        run: int,
        judgements: Sequence[Judgement],
        timestamp: float | None = None,
    ) -> None:
        """Store judgements; one that is stored already stays unchanged."""
        recorded_at = time.time() if timestamp is None else timestamp
        rows = []
        for j in judgements:
            content = (j.respondent, j.item, j.label, j.reply, j.reason)
            rows.append((benchmark, j.judge, form, run, *content, recorded_at))
        with self._transaction():
            self._db.executemany(
                "INSERT OR IGNORE INTO judgements (benchmark, judge, form, run, respondent, item,"
                " label, reply, reason, time) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )

    def judgements(self, benchmark: str, judge: str, form: str, run: int) -> list[Judgement]:
        """Return the judgements of one judge on one administration."""
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
        """Return the judged administrations as judge, form and run; the latest comes last."""
        query = (
            "SELECT judge, form, run FROM judgements WHERE benchmark = ? GROUP BY judge, form, run "
            "ORDER BY MAX(time), MAX(id)"
        )
        return self.select(query, benchmark)

    # --- verdicts ---

    def verdict_batches(self, benchmark: str, scorer: str, code: str) -> list[str]:
        """Return the batches of verdicts that a scorer gave; empty of a store that has none."""
        if "verdicts" not in tables(self._db):
            return []
        query = "SELECT batch FROM verdicts WHERE benchmark = ? AND scorer = ? AND code = ?"
        return [row[0] for row in self.select(f"{query} ORDER BY id", benchmark, scorer, code)]

    def keep_verdicts(self, benchmark: str, scorer: str, code: str, batch: str) -> None:
        """Keep a batch of verdicts, and delete those of the benchmark that other code gave."""
        row = (benchmark, scorer, code, batch)
        with self._transaction():
            self._db.execute(
                "DELETE FROM verdicts WHERE benchmark = ? AND code <> ?", (benchmark, code)
            )
            self._db.execute(
                "INSERT INTO verdicts (benchmark, scorer, code, batch) VALUES (?, ?, ?, ?)", row
            )

    def record(self, record: Mapping[str, object], timestamp: float | None = None) -> None:
        """Store the record of a command: versions, settings, data hashes."""
        row = (time.time() if timestamp is None else timestamp, canonical_json(record))
        query = (
            "INSERT INTO records (time, record) SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM records"
            " WHERE time = ? AND record = ?)"
        )
        with self._transaction():
            self._db.execute(query, (*row, *row))

    def records(self) -> list[dict[str, Any]]:
        """Return the records of all commands, the oldest first."""
        rows = self.select("SELECT record FROM records ORDER BY id")
        return [self.read_json(row[0], "record") for row in rows]


# Questions that a server refused for good, and will refuse again.


def has_answered(store: Store, respondent: int) -> bool:
    """Whether a respondent has an answer that is no error, in any run."""
    query = "SELECT 1 FROM answers WHERE respondent = ? AND state <> 'error' LIMIT 1"
    return bool(store.select(query, respondent))


def refused_asks(store: Store, respondent: int, run: int) -> set[str]:
    """The digests of the asks whose last attempt a server refused for good.

    Of a respondent that never answered, a refusal by its HTTP status is not counted, because it may
    have other reasons than the question; a reply without an answer is, because it was paid for.
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
