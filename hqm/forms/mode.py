"""The mode of a prompt: a question, a command, or a statement.

A rewording that turns a question into a command ("Tell me who ...") asks for the same in another
mode, which may change how long a model answers. Such changes are counted beside the rules.
"""

from __future__ import annotations

import re
from typing import Literal

from hqm.forms.asked import sentences
from hqm.forms.grammar import AUXILIARIES

Mode = Literal["question", "command", "statement"]

_WH = frozenset("what what's who whom whose which where when why how".split())
_COMMANDS = frozenset(
    (
        "analyse analyze answer ask assess check choose combine compare complete compose consider"
        " count craft create define describe design detect determine discover discuss draw estimate"
        " evaluate examine explain express figure find focus generate give guess identify imagine"
        " indicate infer list locate look make mention name narrate notice observe outline please"
        " point predict propose provide rate read recognize report say segment select separate show"
        " specify spot state suggest summarize take tell think translate understand use verify"
        " write"
    ).split()
)


def mode_of(prompt: str) -> Mode:
    """The mode of the sentence that asks: a question anywhere in the prompt is what it asks.

    >>> mode_of("Who is on the bench?"), mode_of("Tell me who is on the bench."), mode_of("I would like a caption.")
    ('question', 'command', 'statement')
    """
    texts = [prompt[a:b].rstrip("\"'”’` ") for a, b in sentences(prompt)]
    opens = [
        match[0].lower() if (match := re.search(r"[A-Za-z']+", text)) else "" for text in texts
    ]
    # "Say who he is. Answer yes or no?": a command at the head decides
    if opens and opens[0] in _COMMANDS and not any(text.endswith(("?", "？")) for text in texts):
        return "command"
    if any(text.endswith(("?", "？")) for text in texts) or (
        opens and opens[0] in _WH | AUXILIARIES
    ):
        return "question"
    led = [re.search(r", (?:please )?([a-z]+)", text) for text in texts]
    commands = [
        word in _COMMANDS or (match is not None and match[1] in _COMMANDS)
        for word, match in zip(opens, led, strict=True)
    ]
    return "command" if any(commands) else "statement"
