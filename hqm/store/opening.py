"""Opening an SQLite file, in the one way in which HQM's stores are opened, and writing to it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
    if not readonly:
        path.parent.mkdir(parents=True, exist_ok=True)
        if private and not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    return _connected(f"{path.resolve().as_uri()}?mode={'ro' if readonly else 'rwc'}")


def connect_alone(path: Path) -> sqlite3.Connection:
    """A connection for reading a file that no process writes to, in a folder that cannot be
    written.
    """
    return _connected(f"{path.resolve().as_uri()}?mode=ro&immutable=1")


def _connected(target: str, *, uri: bool = True) -> sqlite3.Connection:
    return sqlite3.connect(
        target, uri=uri, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
    )


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """All that is written inside, or nothing of it."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")
