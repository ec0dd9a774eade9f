"""The numbers that rows of a store get: those of asks that are there, and those of further attempts
at them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

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
