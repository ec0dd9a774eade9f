"""What a judge procedure is given and gives back.

A procedure is an ordinary coroutine of a benchmark. It receives `ask`, which puts one prompt to the model that plays a
role and returns its raw reply. Who plays a role, where replies are kept, and whether this asking is the first or the
second, is none of its business; therefore resuming, sharing equal questions, reading stored replies anew and judging
again for judge noise need nothing from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, Protocol

ROLES: Mapping[str, str] = {
    "judge": "rates or classifies an answer",
    "recognizer": "tells which parts of an answer describe the picture",
    "decomposer": "breaks a description into atomic facts",
    "verifier": "sees the picture and says whether a statement is right",
    "extractor": "takes objects, attributes or relations out of a description",
    "matcher": "matches what was extracted with the annotation",
}
"""The roles that procedures ask for, with what each does."""

Prompts = Literal["hqm", "official"]
"""Whose words a judge is asked in: ours, or those of the benchmark's release."""


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
        A JSON schema that the reply should follow; a server that cannot enforce it is asked in words alone.

    Returns
    -------
    str
        The raw reply, stored before it is returned.

    Raises
    ------
    NoReply
        The model gave none (an error, a refusal of the server). A procedure lets it pass: the answer is then unscored.
    """

    async def __call__(
        self, role: str, prompt: str, image: str | None = None, schema: Mapping[str, Any] | None = None
    ) -> str: ...


def fill(template: str, **values: object) -> str:
    """Put values into the `{name}` places of a template; other braces stay, and no value is read as a template.

    >>> fill('Reply {"ok": true} to {question}', question="{answer}?", answer="no")
    'Reply {"ok": true} to {answer}?'
    """
    names = "|".join(map(re.escape, values))
    return re.sub(rf"\{{({names})\}}", lambda match: str(values[match[1]]), template) if values else template
