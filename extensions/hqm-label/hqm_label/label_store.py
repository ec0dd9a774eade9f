"""Labels, append-only, in one SQLite file beside the plan.

A killed process loses at most the label in flight.

A label is a few fields (`label`, `note`, `spans`, ...) that a rater gave for one uid at one time.
Each field is a row. Taking a label back adds rows that name the rows they take back, so that the
file keeps everything that was ever said.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args

from hqm.errors import StoreError, UsageError
from hqm.store.sqlite import StoreFile, connect, transaction, use_wal
from hqm.text import check_name, storable
from hqm.version import __version__

By = Literal["rater", "adjudication", "import"]
"""How a label came about: a rater gave it, somebody settled a disagreement of raters, or another
tool's file had it.
"""

LABEL, NOTE = "label", "note"
"""The field that every label has, and the rater's remark on it."""

_VERSION = "1"
_REFUSED = "BEGIN SELECT RAISE(ABORT, 'labels are append-only'); END"
_STATEMENTS = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE labels (id INTEGER PRIMARY KEY, entry INTEGER NOT NULL, uid TEXT NOT NULL, rater"
    " TEXT NOT NULL, field TEXT NOT NULL, value TEXT NOT NULL, milliseconds INTEGER, time REAL NOT"
    " NULL, by TEXT NOT NULL, undone INTEGER REFERENCES labels)",
    "CREATE INDEX labels_of_rater ON labels (rater, by)",
    "CREATE UNIQUE INDEX labels_undone ON labels (undone) WHERE undone IS NOT NULL",
    f"CREATE TRIGGER labels_no_update BEFORE UPDATE ON labels {_REFUSED}",
    f"CREATE TRIGGER labels_no_delete BEFORE DELETE ON labels {_REFUSED}",
)
"""What makes the tables of a new file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A rater's current label of one answer."""

    uid: str
    rater: str
    values: Mapping[str, Any]
    """Field -> value: `label` always; `note`, `spans`, `sentences`, `text` where the schema or the
    rater gave them.
    """
    milliseconds: int | None
    """How long it took; None where nobody measured it."""
    time: float
    """When it was stored, in seconds since 1970."""
    by: By = "rater"

    @property
    def label(self) -> Any:
        """The label itself, as its schema has it: 1, 0, a grade, a word; None for `cannot say`."""
        return self.values.get(LABEL)

    @property
    def decided(self) -> bool:
        return self.label is not None

    @property
    def note(self) -> str:
        return str(self.values.get(NOTE) or "")


class LabelStore(StoreFile):
    """The labels of one plan, in one SQLite file.

    Parameters
    ----------
    path
        The file; it is made when it does not exist.
    readonly
        Open an existing file for reading only.

    Raises
    ------
    StoreError
        The file is no store of labels, cannot be written, or does not exist although it is only to
        be read.

    Examples
    --------
    >>> with LabelStore(":memory:") as store:
    ...     store.add("u1", "anna", {"label": 0}, 2100)
    ...     store.add("u2", "anna", {"label": 1, "note": "hard to see"}, 5400)
    ...     _ = store.undo("anna")
    ...     [(label.uid, label.label) for label in store.labels()]
    [('u1', 0)]
    """

    def __init__(self, path: Path | str, *, readonly: bool = False) -> None:
        self.path = Path(path)
        self.readonly = readonly
        if readonly and not self.path.is_file():
            raise StoreError(
                "there are no labels yet",
                location=str(path),
                remedy="Collect labels first: `hqm label serve PLAN`, or `hqm label import`.",
            )
        with self._guard():
            # what raters say is for the owner of the study alone
            self._db = connect(path, readonly=readonly, private=True)
            try:
                self._open()
            except BaseException:
                self._db.close()
                raise

    def _open(self) -> None:
        tables = {
            row[0]
            for row in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        # two processes may make the file at once: the second finds the tables in the transaction
        if not tables and not self.readonly:
            use_wal(self._db)
            with transaction(self._db):
                if not self._db.execute("SELECT 1 FROM sqlite_master").fetchone():
                    for statement in _STATEMENTS:
                        self._db.execute(statement)
                    self._db.execute("INSERT INTO meta VALUES ('version', ?)", (_VERSION,))
        elif not {"meta", "labels"} <= tables:
            raise StoreError(
                "it is no store of labels", location=str(self.path), remedy="Name another plan."
            )
        version = self._db.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
        if version != (_VERSION,):
            raise StoreError(
                f"another version of HQM made it, and {__version__} does not read it",
                location=str(self.path),
                remedy="Install that version, or a later one.",
            )
        # a label is minutes of somebody's life, and there are few: each is written to the disk
        self._db.execute("PRAGMA synchronous=FULL")

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"SQLite says: {error}",
                location=str(self.path),
                remedy=(
                    "Make room, or correct the permissions of the folder. The labels stored so far"
                    " are safe."
                ),
            ) from error
        except OSError as error:
            raise StoreError(
                f"it cannot be written: {error.strerror}", location=str(self.path)
            ) from error

    def add(
        self,
        uid: str,
        rater: str,
        values: Mapping[str, Any],
        milliseconds: int | None = None,
        *,
        by: By = "rater",
        timestamp: float | None = None,
    ) -> None:
        """Store a label; it supersedes the rater's earlier one on this uid, which stays in the
        file.

        Parameters
        ----------
        values
            Field -> value, as JSON has it. `label` is one of them; None says `cannot say`.
        by
            A rater's own label, given or imported, and an adjudicated one stand beside each other.
        timestamp
            Seconds since 1970, for a label that was given elsewhere; now unless given.

        Raises
        ------
        UsageError
            There is no field `label`, or `by` is no known way.
        DataError
            No file can have the rater's name (`check_name`).
        """
        label = Label(
            uid=uid,
            rater=rater,
            values=values,
            milliseconds=milliseconds,
            time=time.time() if timestamp is None else timestamp,
            by=by,
        )
        self.add_all([label])

    def add_all(self, labels: Sequence[Label]) -> None:
        """Store labels as `add` does, all of them or none."""
        for label in labels:
            check_name(label.rater, "rater's name")
            if LABEL not in label.values or label.by not in get_args(By):
                fields = ", ".join(label.values) or "none"
                raise UsageError(
                    f"a label by {label.by!r} with the fields {fields} cannot be stored",
                    remedy=(
                        f"Give the field {LABEL!r} (None for `cannot say`) and one of"
                        f" {', '.join(get_args(By))}."
                    ),
                )
        with self._transaction():
            # one number for the fields of a label, taken inside the transaction that writes them
            first = self._db.execute("SELECT COALESCE(MAX(entry), 0) + 1 FROM labels").fetchone()[0]
            rows = []
            for entry, label in enumerate(labels, first):
                identity = (entry, label.uid, label.rater)
                measured = (label.milliseconds, label.time, label.by)
                for field, value in label.values.items():
                    rows.append((*identity, field, json.dumps(storable(value)), *measured))
            self._db.executemany(
                "INSERT INTO labels (entry, uid, rater, field, value, milliseconds, time, by)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )

    def _read_value(self, field: str, text: str) -> Any:
        """Return a field's value; StoreError of one that no store writes."""
        try:
            value = json.loads(text)
        except ValueError:
            value = []
        if field == LABEL and isinstance(value, (list, dict)):
            self._refuse("a label is no text and no number")
        return value

    def _refuse(self, fault: str) -> NoReturn:
        """Raise that a row is one that no store writes."""
        raise StoreError(
            f"it is damaged: {fault}", location=str(self.path), remedy="Restore it from a copy."
        )

    def undo(self, rater: str, *, uid: str | None = None, by: By = "rater") -> str | None:
        """Undo a rater's latest label, or that on one uid; the uid, or None where there is none."""
        query = (
            "SELECT uid FROM labels WHERE rater = ? AND by = ? AND uid = COALESCE(?, uid) AND"
            " undone IS NULL AND id NOT IN (SELECT undone FROM labels WHERE undone IS NOT NULL)"
            " ORDER BY entry DESC LIMIT 1"
        )
        with self._guard():
            row = self._db.execute(query, (rater, by, uid)).fetchone()
        if row is not None:
            self.take_back(row[0], rater, by=by)
        if row is None:
            return None
        return str(row[0])

    def take_back(self, uid: str, rater: str, *, by: By = "rater") -> None:
        """Undo every label of a rater on one uid."""
        undone_at = time.time()
        with self._transaction():
            self._db.execute(
                "INSERT INTO labels (entry, uid, rater, field, value, milliseconds, time, by,"
                " undone) SELECT (SELECT MAX(entry) + 1 FROM labels), uid, rater, field, 'null',"
                " NULL, ?, by, id FROM labels WHERE uid = ? AND rater = ? AND by = ? AND undone IS"
                " NULL AND id NOT IN (SELECT undone FROM labels WHERE undone IS NOT NULL)",
                (undone_at, uid, rater, by),
            )

    def labels(self, rater: str | None = None) -> list[Label]:
        """Return the latest label of each rater on each uid, in the order they were given.

        Labels that were undone are left out.

        Adjudicated labels (`by="adjudication"`) stand beside the raters' own. With `rater`, only
        those under this name.
        """
        query = (
            "SELECT entry, uid, rater, field, value, milliseconds, time, by FROM labels WHERE"
            " undone IS NULL AND id NOT IN (SELECT undone FROM labels WHERE undone IS NOT NULL) AND"
            " (? IS NULL OR rater = ?) ORDER BY id"
        )
        with self._guard():
            rows = self._db.execute(query, (rater, rater)).fetchall()
        entries: dict[int, Label] = {}
        for entry, uid, rater, field, value, milliseconds, timestamp, by in rows:
            # SQLite keeps a text in a column of numbers
            if not isinstance(milliseconds, int | None) or not isinstance(timestamp, float):
                self._refuse("the time of a label is no number")
            earlier_values = entries[entry].values if entry in entries else {}
            values = {**earlier_values, field: self._read_value(field, value)}
            entries[entry] = Label(
                uid=uid,
                rater=rater,
                values=values,
                milliseconds=milliseconds,
                time=timestamp,
                by=by,
            )
        # later entries overwrite earlier ones of the same rater and uid, on the page or imported
        latest = {
            (label.uid, label.rater, label.by == "adjudication"): entry
            for entry, label in entries.items()
        }
        return [entries[entry] for entry in sorted(latest.values())]
