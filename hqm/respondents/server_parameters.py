"""Parameters of a request that a server refuses: which one a refusal is about.

A server says so in its own words: in OpenAI's `param`, in pydantic's `loc`, or in a sentence that
names it beside others. Where it names none, `hqm.respondents.server_search` finds it. What is
left out changes what was asked, and every answer notes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator

from hqm.respondents.base import Respondent

MAX_TEXT = 4_000
"""Characters of a refusal that are searched."""
SEED_NAMES = ("seed", "random_seed", "")
"""What the seed is called, one after another where a server refuses the first: Mistral's API has
the second. At last none is sent.
"""
FULL_SEED = 2**63 - 1
SHORT_SEED = 2**31 - 1
"""The largest seed, and that of servers that refuse it: they are sent its lower 31 bits."""
LIMIT_NAMES = ("max_tokens", "max_completion_tokens", "")
"""What the limit of an answer's tokens is called, in the same way."""
OPTIONAL = (*SEED_NAMES[:2], "top_p", "temperature")
"""Parameters that an answer depends on, and that are left out where a server refuses them."""
_DROPPED = (*OPTIONAL, *LIMIT_NAMES[:2], "top_logprobs", "logprobs", "response_format")
_PARAMETERS = (*_DROPPED, "messages", "model")
_SPELLINGS = {
    "max_tokens": "max_tokens|max_completion_tokens",
    "response_format": "response_format|json_schema|schema",
    "top_p": "top[_ -]?p",
}
"""Words that stand for a parameter, where they are more than its name."""
_NAME_REFUSED = (
    r"unsupported|does ?n.t support|unknown|unrecogni[sz]ed|unexpected|extra|forbidden|deprecated"
    r"|not (a )?(supported|recogni[sz]ed|valid|permitted|allowed|accepted|available|implemented)"
)
# vLLM names both limits where the value of either is too large.
_OTHER_LIMIT = r"\buse\W+max_completion_tokens"
_UNKNOWN = re.compile(
    rf"{_NAME_REFUSED}|invalid (option|param|field|arg)|{_OTHER_LIMIT}", re.IGNORECASE
)
"""Words about a parameter's name: a limit whose value is refused is not left out."""
_REFUSAL = re.compile(
    rf"{_NAME_REFUSED}|invalid|no such|may not|cannot|can ?not|must not|only|both|remove|ignored"
    r"|disallow|reject|must be|should be|greater than|less than|between|at most|maximum"
    rf"|{_OTHER_LIMIT}",
    re.IGNORECASE,
)
"""Words of a refusal; a text without any names a parameter for another reason."""

_OUT_OF_RANGE = re.compile(
    r"less than|greater than|too (large|big|high)|at most|maximum|between|range|exceed|overflow"
    r"|int(eger)?[ _-]?32|32[ -]?bit|2147483647|4294967295|2(\^|\*\*)3[12]",
    re.IGNORECASE,
)
"""Words about the value of a seed, whatever else is said of it."""
UNEXPLAINED_STATUSES = frozenset({400, 422})
"""Refusals that are about a parameter where they say nothing else."""
_ABOUT_CONTENT = re.compile(
    r"image|picture|too (long|large)|context (length|window|size)|content[ _](policy|filter)"
    r"|safety|max_\w*tokens|inappropriate",
    re.IGNORECASE,
)


def is_unexplained(status: int, content: bytes) -> bool:
    """Whether a refusal says neither which parameter nor what else it is about.

    >>> is_unexplained(400, b"Bad Request"), is_unexplained(400, b'{"param": "messages"}')
    (True, False)
    >>> is_unexplained(400, b"the image is too large"), is_unexplained(503, b"Bad Request")
    (False, False)
    """
    if status not in UNEXPLAINED_STATUSES:
        return False
    text = content[:MAX_TEXT].decode("utf-8", "replace")
    try:
        has_name = not set(_PARAMETERS).isdisjoint(_named_fields(json.loads(text)))
    except ValueError:
        has_name = False
    return not has_name and not _ABOUT_CONTENT.search(text)


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
    # A character has at most four bytes.
    text = content[: 4 * MAX_TEXT].decode("utf-8", "replace")
    try:
        body: object = json.loads(text)
    except ValueError:
        body = None
    text = text[:MAX_TEXT]
    if prompt:
        # A server may quote the question as it is, or as JSON writes it.
        text = text.replace(prompt, " ").replace(json.dumps(prompt)[1:-1], " ")
    dropped = [name for name in _DROPPED if name in sent]
    if not _UNKNOWN.search(text):
        dropped = [name for name in dropped if name not in LIMIT_NAMES]
    for name in _named_fields(body):
        if name in dropped:
            return _of_pair(name, text, sent)
        if name in _PARAMETERS:  # the refusal is about another parameter
            return ""
    if not _REFUSAL.search(text):
        return ""
    offsets = {}
    for name in dropped:
        pattern = rf"(?<![a-z_])({_SPELLINGS.get(name, name)})(?![a-z_])"
        match = re.search(pattern, text, re.IGNORECASE)
        if match:
            offsets[name] = match.start()
    if not offsets:
        return ""
    return _of_pair(min(offsets, key=lambda name: offsets[name]), text, sent)


def refuses_value(content: bytes) -> bool:
    """Whether the refusal of a seed may be about its value, and not about its name.

    >>> refuses_value(b"seed: 9223372036854775807 is not a valid int32")
    True
    >>> refuses_value(b"Unknown field: seed")
    False
    """
    text = content[:MAX_TEXT].decode("utf-8", "replace")
    return bool(_OUT_OF_RANGE.search(text)) or not _UNKNOWN.search(text)


def describe_left_out(respondents: Iterable[Respondent]) -> list[str]:
    """Sentences on the respondents whose servers refused parameters or the size of seeds."""
    sentences = []
    for respondent in respondents:
        if parameters := getattr(respondent, "left_out", ()):
            refused = " and ".join(parameters)
            sentences.append(
                f"{respondent.name}: the server refuses {refused}, left out of its requests."
            )
        if getattr(respondent, "has_short_seeds", False):
            sentences.append(
                f"{respondent.name}: the server refuses seeds of 63 bits, and is sent their lower"
                " 31 bits."
            )
    # one respondent stands once for each benchmark
    return list(dict.fromkeys(sentences))


def _of_pair(name: str, text: str, sent: Collection[str]) -> str:
    """Of temperature and top-p, which some servers refuse together, leave out top-p."""
    if name == "temperature" and "top_p" in sent and re.search(r"\btop_p\b", text):
        return "top_p"
    return name


def _named_fields(body: object) -> Iterator[str]:
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
