"""What was read from a store and is asked for again, kept for as long as nobody writes to the
store.

A command asks for the answers of one respondent and run many times: for every benchmark, form,
judge and example. Read once, they take a twentieth of the time of the whole command.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Hashable, Sized
from typing import Any, TypeVar, cast

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
