"""What a judge procedure is given and gives back.

A procedure is an ordinary coroutine of a benchmark. It receives `ask`, which puts one prompt to the
model that plays a role and returns its raw reply. The procedure does not know which model that is,
where replies are stored, or whether the question was asked before. It therefore need not do
anything so that judging can be resumed, that equal questions are asked once, that stored replies
are read again, or that a judge is asked twice to measure its noise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from hqm.errors import AnswerError, NoReply, UnreadableReply
from hqm.files.records import located_records, required_field
from hqm.imports.row import ROLES, Replies, first_field, require_choice, whole_reply
from hqm.text import has_words, storable
from hqm.types import Form

ASKING_SEPARATOR = "#"
"""Separates a judge's name from the number of its asking in a cell: `openai/gpt-4o#1` is the second
asking.
"""


def judge_name(label: str, asking: int) -> str:
    """A judge's name in a cell.

    >>> judge_name("openai/gpt-4o", 0), judge_name("openai/gpt-4o", 1)
    ('openai/gpt-4o', 'openai/gpt-4o#1')
    """
    if asking:
        return f"{label}{ASKING_SEPARATOR}{asking}"
    return label


def parse_judge(name: str) -> tuple[str, int]:
    """A judge's label and the number of its asking, from its name in a cell.

    >>> parse_judge("rule"), parse_judge("openai/gpt-4o#1")
    (('rule', 0), ('openai/gpt-4o', 1))
    """
    # From the right, as the name of a model may hold the separator.
    label, _, asking = name.rpartition(ASKING_SEPARATOR)
    if label and asking.isdecimal():
        return (label, int(asking))
    return (name, 0)


@dataclass(frozen=True, slots=True)
class Stage:
    """The yes/no decision of one role of a judge procedure about every unit that it is shown.

    Parameters
    ----------
    unit
        The noun for a unit, in the singular: `sub-sentence`, `fact`.
    yes, no
        The predicate of a unit with this answer: `descriptive`, `holds`.
    """

    unit: str
    yes: str
    no: str


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """A part of an answer as a judge procedure reads it.

    Parameters
    ----------
    text
        Its words.
    descriptive
        Whether they describe the picture.
    facts
        The facts that they state.
    """

    text: str
    descriptive: bool = True
    facts: tuple[str, ...] = ()


Prompts = Literal["hqm", "official"]
"""Whose prompts a judge is given: ours (`hqm`), or those of the benchmark's release
(`official`).
"""


class AskJudge(Protocol):
    """Put one prompt to the model that plays a role.

    Parameters
    ----------
    role
        One of `ROLES`.
    prompt
        The text.
    image
        The picture's name below the benchmark's image folder, for a role that sees it.
    schema
        A JSON schema that the reply should follow; a server that cannot enforce it is only asked
        for it in words.

    Returns
    -------
    str
        The raw reply, stored before it is returned.

    Raises
    ------
    NoReply
        The model gave no reply (an error, a refusal of the server). A procedure should not catch
        it: the answer is then unscored.
    """

    async def __call__(
        self,
        role: str,
        prompt: str,
        image: str | None = None,
        schema: Mapping[str, object] | None = None,
    ) -> str: ...


def fill(template: str, **values: object) -> str:
    """Put values into the `{name}` places of a template; other braces stay, and braces inside a
    value are not filled.

    >>> fill('Reply {"ok": true} to {question}', question="{answer}?", answer="no")
    'Reply {"ok": true} to {answer}?'
    """
    if not values:
        return template
    # all in one pass: braces in a value that was filled in are not filled again
    names = "|".join(map(re.escape, values))
    return re.sub(rf"\{{({names})\}}", lambda match: str(values[match[1]]), template)


# --- replies: reading one, and recorded ones, played back in the order in which they are asked ---


@contextmanager
def reading(reply: str) -> Iterator[None]:
    """Read a judge's reply inside this block; an answer whose reply cannot be read is unscored.

    Anything else that fails in `Benchmark.judge` is an error of the adapter and ends the command.

    Parameters
    ----------
    reply
        The reply, for the message.

    Yields
    ------
    None

    Examples
    --------
    >>> with reading("?"):  # doctest: +ELLIPSIS
    ...     mark = int("?".split("mark:")[1])
    Traceback (most recent call last):
    hqm.errors.UnreadableReply: the reply '?' could not be read (IndexError: list index ...)
    """
    try:
        yield
    # What code that takes a text apart raises; a NameError or an OSError is a fault of the adapter.
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        excerpt = reply if len(reply) <= 80 else f"{reply[:80]}..."
        raise UnreadableReply(
            f"the reply {excerpt!r} could not be read ({type(error).__name__}: {error})"
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
    for location, record in located_records(path):
        item = storable(str(first_field(record, ("item", "id"), location)))
        role = require_choice(str(record.get("role", "judge")), ROLES, "role", location)
        if item not in form.by_id:
            raise AnswerError(f"the benchmark has no item {item!r}", location=location)
        text = whole_reply(
            str(required_field(record, "reply", location)), record.get("state", "ok"), location
        )
        replies.setdefault(item, {}).setdefault(role, []).append(text)
    return replies


def replay(replies: Replies) -> AskJudge:
    """An `ask` that returns recorded replies, those of each role in their order.

    >>> import asyncio
    >>> ask = replay({"judge": ["correct", "same"]})
    >>> asyncio.run(ask("judge", "first?")), asyncio.run(ask("judge", "second?"))
    ('correct', 'same')
    """
    remaining = {role: iter(texts) for role, texts in replies.items()}

    async def ask(
        role: str, prompt: str, image: str | None = None, schema: Mapping[str, object] | None = None
    ) -> str:
        # The iterator keeps its place between calls: the loop takes one reply and leaves the rest.
        for reply in remaining.get(role, iter(())):
            return reply
        raise NoReply(
            f"no further reply of the {role} is recorded",
            remedy="Record every reply, in the order asked.",
        )

    return ask


def refuse_empty(ask: AskJudge) -> AskJudge:
    """The same `ask`, which refuses an empty reply."""

    async def ask_nonempty(
        role: str, prompt: str, image: str | None = None, schema: Mapping[str, object] | None = None
    ) -> str:
        reply = await ask(role, prompt, image, schema)
        if not has_words(reply):
            raise NoReply(f"the recorded reply of the {role} is empty")
        return reply

    return ask_nonempty
