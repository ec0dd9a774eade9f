"""What a judge procedure is given and gives back.

A procedure is an ordinary coroutine of a benchmark. It receives `ask`, which puts one prompt to the
model that plays a role and returns its raw reply. The procedure does not know which model that is,
where replies are stored, or whether the question was asked before. It therefore need not do
anything so that judging can be resumed, that equal questions are asked once, that stored replies
are read again, or that a judge is asked twice to measure its noise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

ROLES: Mapping[str, str] = {
    "judge": "rates or classifies an answer",
    "recognizer": "tells which parts of an answer describe the picture",
    "decomposer": "breaks a description into atomic facts",
    "verifier": "sees the picture and says whether a statement is right",
    "extractor": "takes objects, attributes or relations out of a description",
    "matcher": "matches what was extracted with the annotation",
}
"""The roles that a procedure may ask for, and what each of them does."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What one role of a judge procedure decides of every unit that it is shown: yes or no."""

    unit: str
    """What it decides about, in the singular: `sub-sentence`, `fact`."""
    yes: str
    """What yes says of a unit: `descriptive`, `holds`."""
    no: str


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an answer as a judge procedure reads it: its words, whether they describe the
    picture, and the facts they state.
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
        schema: Mapping[str, Any] | None = None,
    ) -> str: ...


def fill(template: str, **values: object) -> str:
    """Put values into the `{name}` places of a template; other braces stay, and braces inside a
    value are not filled.

    >>> fill('Reply {"ok": true} to {question}', question="{answer}?", answer="no")
    'Reply {"ok": true} to {answer}?'
    """
    names = "|".join(map(re.escape, values))
    return (
        re.sub(rf"\{{({names})\}}", lambda match: str(values[match[1]]), template)
        if values
        else template
    )
