"""Parameters of a request that a server refuses: which one a refusal is about.

A server says so in its own words: in OpenAI's `param`, in pydantic's `loc`, or in a sentence that
names it beside others. Where it names none, the parameter is found by a search. What is left out
changes what was asked, and every answer notes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from hqm.respondents.base import Respondent

MAX_TEXT = 4_000
"""Characters of a refusal that are searched."""
SEED_NAMES = ("seed", "random_seed", "")
"""What the seed is called, one after another where a server refuses the first: Mistral's API has
the second. At last none is sent.
"""
LIMIT_NAMES = ("max_tokens", "max_completion_tokens", "")
"""What the limit of an answer's tokens is called, in the same way."""
OPTIONAL = (*SEED_NAMES[:2], "top_p", "temperature")
"""Parameters that an answer depends on, and that are left out where a server refuses them."""
SAMPLING_NAMES = frozenset((*OPTIONAL, *LIMIT_NAMES[:2], "response_format"))
"""Parameters that an answer depends on, by every name."""
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
_UNKNOWN = re.compile(
    rf"{_NAME_REFUSED}|invalid (option|param|field|arg)|max_completion_tokens", re.IGNORECASE
)
"""Words about a parameter's name: a limit whose value is refused is not left out."""
_REFUSAL = re.compile(
    rf"{_NAME_REFUSED}|invalid|no such|may not|cannot|can ?not|must not|only|both|remove|ignored"
    r"|disallow|reject|must be|should be|greater than|less than|between|at most|maximum"
    r"|max_completion_tokens",
    re.IGNORECASE,
)
"""Words of a refusal; a text without any names a parameter for another reason."""


UNEXPLAINED_STATUSES = frozenset({400, 422})
"""Refusals that are about a parameter where they say nothing else."""
MAX_REFUSED_SEARCHES = 2
"""Requests of a server that are refused with every optional parameter left out; then none is
searched for any more.
"""
SEARCHED = {
    "logprobs": ("logprobs", "top_logprobs"),
    "seed": SEED_NAMES[:2],
    "top_p": ("top_p",),
    "max_tokens": LIMIT_NAMES[:2],
    "response_format": ("response_format",),
    "temperature": ("temperature",),
}
"""The optional parameters and their names, in the order in which they are left out: those first
without which an answer is most nearly the same.
"""
_ABOUT_CONTENT = re.compile(
    r"image|picture|too (long|large)|context (length|window)|content[ _](policy|filter)|safety",
    re.IGNORECASE,
)


@dataclass
class ParameterSearch:
    """A binary search for the parameter that a server refuses without naming it.

    The first parameters in the order of `SEARCHED` are left out, half of them at first and then
    all: the last of the shortest list without which the server answers is the refused one. Its
    other name, or fewer log probabilities, is tried before it is given up. A request that is
    refused without any of them was refused for another reason.
    """

    _units: tuple[str, ...] = ()
    """The parameters of the requests that are searched; empty between searches."""
    _n_omitted: int = 0
    _n_refused: int = 0
    """Leaving out the first so many was refused."""
    _n_answered: int = 0
    """Leaving out the first so many was answered; 0 while none was."""
    _culprit: str = ""
    """The parameter that was found, while its other name is tried."""
    _is_checking: bool = False
    """Whether the next attempt leaves nothing out, to see whether what was found is all."""
    _n_refused_searches: int = 0
    _answered_names: set[frozenset[str]] = field(default_factory=set)

    @property
    def is_open(self) -> bool:
        """Whether a search has begun and not ended."""
        return bool(self._units)

    def note_answered(self, sent: Collection[str]) -> None:
        """Note that the server takes these parameters, which ends a search."""
        self._answered_names.add(frozenset(sent))
        self._close()

    def omission(self, sent: Collection[str]) -> tuple[str, ...] | None:
        """Return the names to leave out of the next attempt; None where there is no search.

        Parameters
        ----------
        sent
            The parameters of the request as it is sent now.
        """
        is_accepted = any(names.issuperset(sent) for names in self._answered_names)
        if is_accepted or self._n_refused_searches >= MAX_REFUSED_SEARCHES:
            self._close()
            return None
        if not self._culprit:
            units = [unit for unit, names in SEARCHED.items() if not set(names).isdisjoint(sent)]
            if tuple(units) != self._units and not self._is_checking:
                self._close()
            self._units = tuple(units)
            n_units = len(units)
            n_half = (n_units + 1) // 2
            if self._is_checking:
                self._n_omitted = 0
            elif self._n_answered:
                self._n_omitted = (self._n_refused + self._n_answered) // 2
            elif self._n_refused < n_half:
                self._n_omitted = n_half
            else:
                self._n_omitted = n_units
        omitted: list[str] = []
        for unit in self._units[: self._n_omitted]:
            omitted += set(SEARCHED[unit]).intersection(sent)
        return tuple(sorted(omitted))

    def note_attempt(self, sent: Collection[str], *, is_answered: bool) -> str:
        """Note what came of leaving them out; return the name that is refused, once it is found.

        Parameters
        ----------
        sent
            The parameters of the request as it is sent otherwise.
        is_answered
            Whether the server answered without them.
        """
        if self._culprit:
            refused_names = set(SEARCHED[self._culprit]).intersection(sent)
            if is_answered or not refused_names:
                self._check()
                return ""
            return min(refused_names)
        if self._is_checking:
            self._is_checking = False
            if is_answered:
                self.note_answered(sent)
            return ""
        if is_answered:
            self._n_answered = self._n_omitted
        elif self._n_omitted == len(self._units):
            self._n_refused_searches += 1
            self._close()
            return ""
        else:
            self._n_refused = self._n_omitted
        if self._n_answered - self._n_refused != 1:
            return ""
        self._culprit = self._units[self._n_refused]
        self._n_omitted = self._n_refused
        return min(set(SEARCHED[self._culprit]).intersection(sent))

    def note_simplified(self, sent: Collection[str]) -> None:
        """Note that the parameter that was found has another name, or is not sent any more."""
        if self._culprit and set(SEARCHED[self._culprit]).isdisjoint(sent):
            self._check()

    def _check(self) -> None:
        """Go on without what was found: is that all?"""
        units = self._units
        self._close()
        self._units = units
        self._is_checking = True

    def _close(self) -> None:
        self._units = ()
        self._n_omitted = self._n_refused = self._n_answered = 0
        self._culprit = ""
        self._is_checking = False


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
        names_parameter = not set(_PARAMETERS).isdisjoint(_named_fields(json.loads(text)))
    except ValueError:
        names_parameter = False
    return not names_parameter and not _ABOUT_CONTENT.search(text)


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
    text = text[:MAX_TEXT]
    if prompt:
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


def describe_left_out(respondents: Iterable[Respondent]) -> list[str]:
    """Sentences on each respondent whose server refused parameters, which were left out."""
    sentences: dict[str, list[str]] = {}
    for respondent in respondents:
        name = respondent.name
        sentences[name] = []
        left_out: Sequence[str] = getattr(respondent, "left_out", ())
        if left_out:
            sentences[name].append(
                f"{name}: the server refuses {' and '.join(left_out)}, left out of its requests."
            )
        searched: Sequence[Collection[str]] = getattr(respondent, "asked_without", ())
        if searched:
            names = " and ".join(sorted(set().union(*searched)))
            answers = "1 answer was" if len(searched) == 1 else f"{len(searched)} answers were"
            sentences[name].append(
                f"{name}: {answers} given without {names} too, while the refused parameter was"
                " searched for."
            )
    return [sentence for lines in sentences.values() for sentence in lines]


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
