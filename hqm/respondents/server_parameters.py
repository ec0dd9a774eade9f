"""Parameters of a request that a server refuses: which one a refusal is about.

A server says so in its own words: in OpenAI's `param`, in pydantic's `loc`, or in a sentence that
names it beside others. What is left out changes what was asked, and every answer notes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from hqm.respondents.base import Respondent

MAX_TEXT = 4_000
"""Characters of a refusal that are searched."""
SEED_NAMES = ("seed", "random_seed", "")
"""What the seed is called, one after another where a server refuses the first: Mistral's API has
the second. At last none is sent.
"""
OPTIONAL = (*SEED_NAMES[:2], "top_p", "temperature")
"""Parameters that are left out where a server refuses them."""
_PARAMETERS = (*OPTIONAL, "max_tokens", "messages", "model", "logprobs", "response_format")
_REFUSAL = re.compile(
    r"unsupported|not supported|does ?n.t support|unknown|unrecogni[sz]ed|unexpected|extra"
    r"|not permitted|not allowed|forbidden|not accepted|invalid|no such|may not|cannot|can ?not"
    r"|must not|only|both|deprecated|not available|not implemented|remove|ignored|disallow|reject"
    r"|must be",
    re.IGNORECASE,
)
"""Words of a refusal; a text without any names a parameter for another reason."""


def refused_parameter(content: bytes, sent: Collection[str], prompt: str = "") -> str:
    """Return the parameter that a refusal is about; empty where it names none that was sent.

    Parameters
    ----------
    content
        The body of the server's reply.
    sent
        The parameters of the request.
    prompt
        The question, which a server may quote: what it says is no parameter.

    Examples
    --------
    >>> refused_parameter(b'{"error": {"param": "seed", "message": "no"}}', ("seed", "top_p"))
    'seed'
    >>> refused_parameter(b"temperature and top_p cannot both be set", ("temperature", "top_p"))
    'top_p'
    """
    text = content[: 4 * MAX_TEXT].decode("utf-8", "replace")
    try:
        body: Any = json.loads(text)
    except ValueError:
        body = None
    for name in _named_fields(body):
        if name in sent and name in OPTIONAL:
            return _of_pair(name, text, sent)
        if name in _PARAMETERS:  # the refusal is about another parameter
            return ""
    text = text[:MAX_TEXT]
    if prompt:
        text = text.replace(prompt, " ").replace(json.dumps(prompt)[1:-1], " ")
    if not _REFUSAL.search(text):
        return ""
    places = {}
    for name in OPTIONAL:
        match = re.search(rf"(?<![a-z_]){name}(?![a-z_])", text, re.IGNORECASE)
        if match and name in sent:
            places[name] = match.start()
    if not places:
        return ""
    return _of_pair(min(places, key=lambda name: places[name]), text, sent)


def describe_left_out(respondents: Iterable[Respondent]) -> list[str]:
    """A sentence on each respondent whose server refused parameters, which were left out."""
    names_by_respondent: dict[str, Sequence[str]] = {}
    for respondent in respondents:
        names_by_respondent[respondent.name] = getattr(respondent, "left_out", ())
    return [
        f"{respondent}: the server refuses {' and '.join(names)}, left out of its requests."
        for respondent, names in names_by_respondent.items()
        if names
    ]


def _of_pair(name: str, text: str, sent: Collection[str]) -> str:
    """Of temperature and top-p, which some servers refuse together, leave out top-p."""
    if name == "temperature" and "top_p" in sent and re.search(r"\btop_p\b", text):
        return "top_p"
    return name


def _named_fields(body: Any) -> Iterator[str]:
    """The names that a refusal gives in a field of its own: OpenAI's `param`, pydantic's `loc`."""
    if isinstance(body, list):
        for member in body:
            yield from _named_fields(member)
        return
    if not isinstance(body, dict):
        return
    for key in ("param", "parameter", "field"):
        if isinstance(body.get(key), str):
            yield body[key].rpartition(".")[2]
    location = body.get("loc")
    if isinstance(location, list) and location and isinstance(location[-1], str):
        yield location[-1]
    for key in ("error", "detail", "message", "errors"):
        yield from _named_fields(body.get(key))
