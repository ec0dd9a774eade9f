"""Opening an SQLite file, in the one way in which HQM's stores are opened, and writing to it."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import sys
import time
from collections.abc import Callable, Hashable, Iterator, Sized
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from hqm.errors import StoreError

_PATIENCE = 60
"""Seconds to wait while another process writes."""


def connect(
    path: Path | str, *, readonly: bool = False, private: bool = False
) -> sqlite3.Connection:
    """A connection that begins no transaction by itself; `:memory:` is a database of its own.

    Parameters
    ----------
    readonly
        Open an existing file for reading only; otherwise the file and its folder are made where
        they are missing.
    private
        Whether a file that is made can be read by its owner alone.
    """
    if str(path) == ":memory:":
        return _connected(":memory:", uri=False)
    path = Path(path)
    try:
        leads_to = path.resolve()
    except (OSError, RuntimeError):  # Python 3.13 leaves a circle of links as it is
        leads_to = path
    if path.is_dir() or (path.is_symlink() and leads_to.is_symlink()):
        what = "it is a folder" if path.is_dir() else "it is a link to itself"
        raise StoreError(what, location=str(path), remedy="Name the store's file with --store.")
    if not readonly:
        path.parent.mkdir(parents=True, exist_ok=True)
        if private and not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    return _connected(f"{leads_to.as_uri()}?mode={'ro' if readonly else 'rwc'}")


def connect_alone(path: Path) -> sqlite3.Connection:
    """A connection for reading a file that no process writes to, in a folder that cannot be
    written.
    """
    return _connected(f"{path.resolve().as_uri()}?mode=ro&immutable=1")


def _connected(target: str, *, uri: bool = True) -> sqlite3.Connection:
    return sqlite3.connect(
        target, uri=uri, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
    )


def use_wal(database: sqlite3.Connection) -> None:
    """Let others read while one writes; where another process makes the same new file, it does."""
    with suppress(sqlite3.OperationalError):
        database.execute("PRAGMA journal_mode=WAL")


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """All that is written inside, or nothing of it."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")  # where this finds no room, the next transaction begins anew
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


class StoreFile:
    """An open SQLite file; closed at the end of a `with` block."""

    _db: sqlite3.Connection

    def _guard(self) -> AbstractContextManager[None]:
        """Turn errors of SQLite and of the disk into a `StoreError` that names the remedy."""
        raise NotImplementedError

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._guard(), transaction(self._db):
            yield

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


# One writer at a time: a command that fills a store holds its lock; a second command waits, or
# ends with the name of the first.
#
# The lock is the operating system's, on a file beside the store, so that it ends with the process
# that holds it, however that ends. SQLite alone would keep the file whole; the lock keeps two
# commands from asking, and paying for, the same questions.

_LOOK = 0.2
"""Seconds between two looks at a lock that another process holds."""


@contextmanager
def writing(store: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock of a store while the block runs.

    Parameters
    ----------
    store
        The store's file; the lock is the file `<store>.lock`, which stays and holds nothing worth
        keeping.
    wait
        Wait for the process that has it, saying once who that is; without, that is an error.

    Raises
    ------
    StoreError
        Another process has it and `wait` is false, or the lock's file cannot be made.

    Notes
    -----
    Where the operating system has no `flock` (Windows) nothing is held: the store stays whole
    all the same.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    path = store.with_name(f"{store.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise StoreError(
            f"it cannot be written: {error.strerror}",
            location=str(store),
            remedy="Name a writable place with --store, or audit what it holds with --offline.",
        ) from error
    try:
        announced = False
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                who = _holder(descriptor)
                if not wait:
                    raise StoreError(
                        f"{who} is writing to it",
                        location=str(store),
                        remedy=(
                            "Wait for it, or leave out --set no_wait=true. The answers stored"
                            " so far are safe."
                        ),
                    ) from None
                if not announced:
                    waiting = f"hqm: {store}: {who} is writing to it; waiting for it to end."
                    print(waiting, file=sys.stderr, flush=True)
                    announced = True
                time.sleep(_LOOK)
        holder = {
            "pid": os.getpid(),
            "host": platform.node(),
            # the other words may hold a key, and everybody may read the lock
            "command": " ".join(["hqm", *sys.argv[1:2]]),
        }
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(holder).encode(), 0)
        yield
    finally:
        os.close(descriptor)  # which gives the lock back


def _holder(descriptor: int) -> str:
    """Who wrote the lock's file, in words; a name is there a moment after the lock."""
    try:
        who = json.loads(os.pread(descriptor, 4096, 0))
        return f"process {who['pid']} on {who['host']} ({who['command']})"
    except (ValueError, KeyError, TypeError):
        return "another process"


def can_be_written(path: Path) -> bool:
    """Whether a store can be added to: its file where there is one, and the folder that it lies
    in.
    """
    return os.access(path, os.W_OK) and os.access(path.resolve().parent, os.W_OK)


# What was read from a store and is asked for again, kept for as long as nobody writes to the
# store.
#
# A command asks for the answers of one respondent and run many times: for every benchmark, form,
# judge and example. Read once, they take a twentieth of the time of the whole command.

MOST = 1 << 18
"""Rows that are kept in all, some 60 MB of short answers; in a larger store, the first ones that
were asked for.
"""
_T = TypeVar("_T", bound=Sized)


class Kept:
    """Results of reading one database: what was asked for -> what was read.

    Values are shared by all who ask, so nobody may change one.

    Parameters
    ----------
    db
        The connection that is read from. What it writes, or another connection or process commits,
        ends what was kept.
    select
        Gives the rows of a query.

    Examples
    --------
    >>> db = sqlite3.connect(":memory:")
    >>> kept = Kept(db, lambda query: db.execute(query).fetchall())
    >>> rows = kept.once("one", lambda: db.execute("SELECT 1").fetchall())
    >>> kept.once("one", lambda: []) is rows
    True
    """

    def __init__(self, db: sqlite3.Connection, select: Callable[[str], list[Any]]) -> None:
        self._db, self._select = db, select
        self._state: tuple[int, int] | None = None
        self._values: dict[Hashable, Any] = {}
        self._size = 0

    def once(self, key: Hashable, read: Callable[[], _T]) -> _T:
        """What is kept under a key; else it is read, and kept where there is room."""
        # the first number changes with what others commit, the second with what this connection
        # does
        state = (int(self._select("PRAGMA data_version")[0][0]), self._db.total_changes)
        if state != self._state:
            self._values.clear()
            self._state, self._size = state, 0
        if key in self._values:
            return cast("_T", self._values[key])
        value = read()
        if self._size + len(value) <= MOST:
            self._values[key] = value
            self._size += len(value)
        return value
