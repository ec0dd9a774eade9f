"""SQLite files as HQM opens, locks and caches them."""

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
from hqm.files.records import check_is_file

_TIMEOUT = 60
"""Seconds to wait while another process writes."""


def connect(
    path: Path | str, *, readonly: bool = False, private: bool = False
) -> sqlite3.Connection:
    """A connection that begins no transaction by itself; each `:memory:` is a new database.

    Parameters
    ----------
    readonly
        Open an existing file for reading only; otherwise a missing file and its folder are created.
    private
        Whether a new file can be read by its owner only.
    """
    if str(path) == ":memory:":
        return _connect(":memory:", uri=False)
    path = Path(path)
    try:
        resolved = path.resolve()
    except (OSError, RuntimeError):  # a circle of links; Python 3.13 raises nothing
        resolved = path
    if path.is_dir() or (path.is_symlink() and resolved.is_symlink()):
        if path.is_dir():
            message = "it is a folder"
        else:
            message = "it is a link to itself"
        raise StoreError(message, location=str(path), remedy="Name the store's file with --store.")
    check_is_file(path)
    if not readonly:
        path.parent.mkdir(parents=True, exist_ok=True)
        if private and not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    return _connect(f"{resolved.as_uri()}?mode={'ro' if readonly else 'rwc'}")


def connect_alone(path: Path) -> sqlite3.Connection:
    """A connection for reading a file in a folder that no process can write to."""
    return _connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1")


def _connect(target: str, *, uri: bool = True) -> sqlite3.Connection:
    # `isolation_level=None`: Python's own would begin transactions behind our back.
    return sqlite3.connect(
        target, uri=uri, timeout=_TIMEOUT, isolation_level=None, check_same_thread=False
    )


def use_wal(database: sqlite3.Connection) -> None:
    """Let other processes read while one writes."""
    # It fails while another process creates the same new file, and then that process has set the
    # mode.
    with suppress(sqlite3.OperationalError):
        database.execute("PRAGMA journal_mode=WAL")


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Commit the statements of the block together, or none of them."""
    # The lock is taken at once: a transaction that begins by reading may find it taken when it
    # writes.
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")  # may fail on a full disk, and is then rolled back
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


# One writer at a time: a command that writes to a store holds its lock; a second command waits, or
# ends with an error that names the first.
#
# The lock is the operating system's, on a file beside the store, so that it ends with the process
# that holds it, even with a killed one. SQLite alone would keep the file consistent; the lock keeps
# two commands from asking, and paying for, the same questions.

_POLL_INTERVAL = 0.2
"""Seconds between two attempts to take a lock that another process holds."""


@contextmanager
def writing(store: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock of a store while the block runs.

    Parameters
    ----------
    store
        The store's file; the lock is the file `<store>.lock`, which stays and may be deleted.
    wait
        Wait for the process that holds the lock, and print once which one; otherwise raise.

    Raises
    ------
    StoreError
        Another process holds the lock and `wait` is false, or the lock's file cannot be created.

    Notes
    -----
    Without `flock` (Windows) there is no lock; the store stays consistent all the same.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    path = store.with_name(f"{store.name}.lock")
    check_is_file(path)
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
                process = _lock_holder(descriptor)
                if not wait:
                    raise StoreError(
                        f"{process} is writing to it",
                        location=str(store),
                        remedy=(
                            "Wait for it, or leave out --set no_wait=true. The answers stored"
                            " so far are safe."
                        ),
                    ) from None
                if not announced:
                    waiting = f"hqm: {store}: {process} is writing to it; waiting for it to end."
                    print(waiting, file=sys.stderr, flush=True)
                    announced = True
                time.sleep(_POLL_INTERVAL)
        holder = {
            "pid": os.getpid(),
            "host": platform.node(),
            # The further arguments may hold a key, and everybody may read the lock's file.
            "command": " ".join(["hqm", *sys.argv[1:2]]),
        }
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(holder).encode(), 0)
        yield
    finally:
        os.close(descriptor)  # releases the lock


def _lock_holder(descriptor: int) -> str:
    """The process that holds the lock, in words; it writes its name a moment after locking."""
    try:
        holder = json.loads(os.pread(descriptor, 4096, 0))
        return f"process {holder['pid']} on {holder['host']} ({holder['command']})"
    except (ValueError, KeyError, TypeError):
        return "another process"


def can_be_written(path: Path) -> bool:
    """Whether a store's file and its folder, in which SQLite writes its log, are writable."""
    return os.access(path, os.W_OK) and os.access(path.resolve().parent, os.W_OK)


# A cache of the rows read from a store, valid until somebody writes to the store.
#
# A command reads the answers of one respondent and run many times: for every benchmark, form, judge
# and example. With the cache, reading takes a twentieth of the time of the whole command.

MAX_CACHED_ROWS = 1 << 18
"""Rows in the cache, some 60 MB of short answers; of a larger store, those that were read first."""
_T = TypeVar("_T", bound=Sized)


class ReadCache:
    """A cache of the results of queries, which is cleared when the database changes.

    Cached values are shared by all callers and must not be changed.

    Parameters
    ----------
    db
        The connection. Its own writes, and commits of another connection or process, clear the
        cache.
    select
        Returns the rows of a query.

    Examples
    --------
    >>> db = sqlite3.connect(":memory:")
    >>> cache = ReadCache(db, lambda query: db.execute(query).fetchall())
    >>> rows = cache.get_or_read("one", lambda: db.execute("SELECT 1").fetchall())
    >>> cache.get_or_read("one", lambda: []) is rows
    True
    """

    def __init__(self, db: sqlite3.Connection, select: Callable[[str], list[Any]]) -> None:
        self._db = db
        self._select = select
        self._state: tuple[int, int] | None = None
        self._values: dict[Hashable, object] = {}
        self._size = 0

    def get_or_read(self, key: Hashable, read: Callable[[], _T]) -> _T:
        """The cached value of a key; otherwise it is read, and cached if there is room."""
        # The first number changes with the commits of others, the second with this connection's.
        state = (int(self._select("PRAGMA data_version")[0][0]), self._db.total_changes)
        if state != self._state:
            self._values.clear()
            self._state = state
            self._size = 0
        if key in self._values:
            return cast("_T", self._values[key])
        value = read()
        if self._size + len(value) <= MAX_CACHED_ROWS:
            self._values[key] = value
            self._size += len(value)
        return value
