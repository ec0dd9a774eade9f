"""Answers that cannot be stored together are stored one by one, so that one of them loses neither
the others nor the run.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import TypeVar

from hqm.errors import StoreError
from hqm.types import Response

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
