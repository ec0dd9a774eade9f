"""Replies of judges: reading one, and recorded ones, played back to a procedure in the order in
which it asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hqm.benchmark.asking import ROLES, AskJudge
from hqm.benchmark.recorded import first_field
from hqm.errors import AnswerError, NoReply, UnreadableReply
from hqm.files.records import read_records, take
from hqm.text import has_words, storable
from hqm.types import STATES, Form, Response

Replies = Mapping[str, Sequence[str]]
"""Role -> replies, in the order in which they are asked for."""


@contextmanager
def reading(reply: str) -> Iterator[None]:
    """Read a judge's reply inside this block: where reading fails, the answer is unscored, with the
    reason.

    Anything else that fails in `Benchmark.judge` is an error of the adapter and ends the command.

    >>> reply = "I like it."
    >>> with reading(reply):
    ...     mark = int(reply.split("mark:")[1])
    Traceback (most recent call last):
    hqm.errors.UnreadableReply: the reply 'I like it.' could not be read (IndexError: list index out of range)
    """
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        shown = reply if len(reply) <= 80 else f"{reply[:80]}..."
        raise UnreadableReply(
            f"the reply {shown!r} could not be read ({type(error).__name__}: {error})"
        ) from error


def read_replies(path: Path | str, form: Form) -> dict[str, dict[str, list[str]]]:
    """Replies in HQM's format: records with `item`, `role` (`judge` when missing) and `reply`, in
    the order asked.

    Raises
    ------
    AnswerError
        An item or role is unknown, or a field is missing.
    """
    replies: dict[str, dict[str, list[str]]] = {}
    for i, record in enumerate(read_records(path), 1):
        place = f"{path}: record {i}"
        item = storable(str(first_field(record, ("item", "id"), place)))
        role = str(record.get("role", "judge"))
        if item not in form.by_id:
            raise AnswerError(f"the benchmark has no item {item!r}", place=place)
        if role not in ROLES:
            raise AnswerError(
                f"the role {role!r} is unknown",
                place=place,
                remedy=f"It is one of {', '.join(ROLES)}.",
            )
        replies.setdefault(item, {}).setdefault(role, []).append(_reply(record, place))
    return replies


def _reply(record: dict[str, Any], place: str) -> str:
    """The text of a recorded reply; none where its `state` says that it is no whole reply."""
    response = Response(str(take(record, "reply", place)), record.get("state", "ok"))
    if response.state not in STATES:
        raise AnswerError(
            f"the state {response.state!r} is unknown",
            place=place,
            remedy=f"It is one of {', '.join(STATES)}.",
        )
    return response.text if response.outcome == "ok" else ""


def played_back(replies: Replies) -> AskJudge:
    """An `ask` that returns recorded replies, those of each role in their order.

    >>> import asyncio
    >>> ask = played_back({"judge": ["correct", "same"]})
    >>> asyncio.run(ask("judge", "first?")), asyncio.run(ask("judge", "second?"))
    ('correct', 'same')
    """
    left = {role: iter(texts) for role, texts in replies.items()}

    async def ask(
        role: str, prompt: str, image: str | None = None, schema: Mapping[str, Any] | None = None
    ) -> str:
        for reply in left.get(role, iter(())):
            return reply
        raise NoReply(
            f"no further reply of the {role} is recorded",
            remedy="Record every reply, in the order asked.",
        )

    return ask


def whole(ask: AskJudge) -> AskJudge:
    """The same `ask`, to which an empty reply is none."""

    async def ask_whole(
        role: str, prompt: str, image: str | None = None, schema: Mapping[str, Any] | None = None
    ) -> str:
        reply = await ask(role, prompt, image, schema)
        if not has_words(reply):
            raise NoReply(f"the recorded reply of the {role} is empty")
        return reply

    return ask_whole
