"""Reading a server's reply: answer, token counts, and probabilities of the first token."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress, product
from typing import Any

from hqm.imports.row import finish_state, is_token_count
from hqm.respondents.base import Request
from hqm.respondents.server_limits import CHARACTERS_A_TOKEN
from hqm.types import Response

# The words that an answer may begin with, and their probabilities from the tokens that a server
# lists.
#
# A model that runs here gives the probability of every token (`hqm.respondents.token_sampling`). A
# server lists the likeliest tokens of each position with their log probabilities, 20 at most as a
# rule: a word's probability is the sum over its spellings in the list of the first position, and
# what the list leaves out is a bound on what the sum may lack.

SPACES = ("", " ", "Ġ", "▁")
"""How vocabularies write a word with nothing, or with a space, before it."""
_MAX_VOCABULARY = 300_000
"""More tokens than a model's vocabulary has; above temperature 1 it bounds what the unlisted ones
gain.
"""
_NO_TEXT = re.compile(r"token_id:\d+|<0x[0-9A-F]{2}>")
"""Tokens written as numbers, or as bytes of a character."""


def forms(word: str) -> tuple[str, ...]:
    """The spellings of a word, without the space before it.

    >>> forms("yes"), forms("A")
    (('yes', 'Yes', 'YES'), ('A',))
    """
    # an option's letter is asked for in capitals; "a" is a word of its own
    if len(word) == 1:
        return (word,)
    return (word.lower(), word.capitalize(), word.upper())


@dataclass(frozen=True, slots=True)
class ListedTokens:
    """The tokens that a server lists for the first position of an answer, and the probability of
    each.
    """

    tokens: tuple[tuple[str, float], ...]
    min_probability: float
    """No token that is not listed has a higher probability."""

    @classmethod
    def read(cls, position: Mapping[str, Any]) -> ListedTokens | None:
        """The first of `choices[0].logprobs.content`; None where it lists nothing, or no
        probabilities.

        Raises
        ------
        AttributeError, KeyError, TypeError, ValueError
            It is not what the interface describes.
        """
        top = [
            (str(entry["token"]), float(entry["logprob"]))
            for entry in position.get("top_logprobs") or ()
        ]
        if not top:
            return None
        text = str(position["token"])
        logprob = float(position["logprob"])
        # two tokens may read alike; the one that was drawn is told by its number, and need not be
        # among the likeliest
        is_listed = any(
            text == listed_text and math.isclose(logprob, value, abs_tol=1e-4)
            for listed_text, value in top
        )
        texts, values = zip(*(top if is_listed else [*top, (text, logprob)]), strict=True)
        # exp() of a large number would overflow; the check of the sum refuses it.
        chances = [math.exp(value) if value < 1 else math.inf for value in values]
        if any(map(math.isnan, values)) or sum(chances) > 1.001:
            return None
        return cls(tuple(zip(texts, chances, strict=True)), min(chances[: len(top)]))

    def probabilities(
        self,
        words: Sequence[str],
        temperature: float = 1.0,
        top_p: float = 1.0,
        *,
        processed: bool = False,
    ) -> dict[str, object]:
        """What an answer's `detail` keeps of its first token: `p`, `p_lost` and `p_unseen`.

        `p` is each word's probability in the distribution that the answer is drawn from; at
        temperature 0 it is the model's own. `p_lost` is what `p` lacks to 1. `p_unseen` is the part
        of it that could belong to the words all the same: tokens that are not listed, and listed
        ones with which a word begins that is itself not listed. Nothing is kept where the tokens
        are given as numbers.

        Parameters
        ----------
        words
            The words that an answer may be, in lower case, or options' letters.
        temperature, top_p
            How the answer is drawn. What is listed is taken to be the model's own distribution, at
            temperature 1.
        processed
            What is listed has temperature and top-p in it already.

        Examples
        --------
        >>> first = ListedTokens((("Yes", 0.6), (" yes", 0.1), ("No", 0.2)), 0.1)
        >>> kept = first.probabilities(["yes", "no"])
        >>> kept["p"], round(kept["p_lost"], 6), round(kept["p_unseen"], 6)
        ({'yes': 0.7, 'no': 0.2}, 0.1, 0.1)
        """
        texts = [text for text, _ in self.tokens]
        if not words or any(map(_NO_TEXT.fullmatch, texts)):
            return {}
        if processed or temperature == 0:
            chances, unseen = self._model_probabilities()
        else:
            chances, unseen = self._sampling_probabilities(temperature, top_p)
        listed = list(zip(texts, chances, strict=True))
        p: dict[str, float] = {}
        missing = []
        for word in words:
            spellings = set(map("".join, product(SPACES, forms(word))))
            p[word] = math.fsum(chance for text, chance in listed if text in spellings)
            if spellings.isdisjoint(texts):
                missing.append(word)
        begun = math.fsum(chance for text, chance in listed if _begins(text, missing))
        return {
            "p": p,
            "p_lost": max(0.0, 1.0 - sum(p.values())),
            "p_unseen": min(1.0, unseen + begun),
        }

    def _model_probabilities(self) -> tuple[list[float], float]:
        chances = [chance for _, chance in self.tokens]
        return chances, max(0.0, 1.0 - math.fsum(chances))

    def _sampling_probabilities(
        self, temperature: float, top_p: float
    ) -> tuple[list[float], float]:
        """The listed tokens' probabilities as they are drawn, and what all others can have together
        at most.
        """
        chances, unlisted = self._model_probabilities()
        power = 1 / temperature
        # of weights x with a given sum, the sum of x ** power is largest with few large ones above
        # 1, with many equal ones below
        if power >= 1:
            hidden = unlisted * self.min_probability ** (power - 1)
        else:
            hidden = _MAX_VOCABULARY ** (1 - power) * unlisted**power
        if power != 1:
            chances = [chance**power for chance in chances]
        total = math.fsum(chances) + hidden
        chances = [chance / total for chance in chances]
        hidden = hidden / total
        if top_p == 1:
            return chances, hidden
        cumulative = 0.0
        in_nucleus = [False] * len(chances)
        for index in sorted(range(len(chances)), key=lambda i: -chances[i]):
            # as in `drawing`: kept until the mass before a token passes top-p
            in_nucleus[index] = cumulative <= top_p
            cumulative += chances[index]
        hidden = 0.0 if cumulative > top_p else hidden
        nucleus = math.fsum(compress(chances, in_nucleus)) + hidden
        return [
            chance / nucleus if keep else 0.0
            for chance, keep in zip(chances, in_nucleus, strict=True)
        ], hidden / nucleus


def _begins(text: str, words: Iterable[str]) -> bool:
    """Whether a token is a part of a word, from its beginning."""
    core = text.lstrip("".join(SPACES))
    spellings = chain.from_iterable(map(forms, words))
    return bool(core) and any(form.startswith(core) and form != core for form in spellings)


def _member(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else None


def _first_choice(choices: object) -> object:
    """The first choice of a reply: that of the index 0, where choices have one."""
    if not isinstance(choices, list):
        return None
    return next((choice for choice in choices if _member(choice, "index") in (None, 0)), None)


def read_reply(
    reply: object,
    seconds: float,
    model: str,
    request: Request | None = None,
    *,
    processed: bool = False,
) -> Response:
    """Read a server's reply; one without an answer in it becomes an error that is final, because
    the same question brings it again.

    Where the request names the words that the answer may be, their probabilities are kept;
    `processed` says that the server's log probabilities have temperature and top-p in them. What a
    model reasons before it answers is counted, and never read as its answer.
    """
    choice = _first_choice(_member(reply, "choices"))
    message = _member(choice, "message")
    fault = _member(reply, "error")
    if fault:  # some servers say "overloaded" with a status of 200, and not the next time
        reason = f"the server's reply holds the error {_member(fault, 'message') or fault!r}"
        return Response("", "error", reason, _usage(_member(reply, "usage"), ""))
    if not isinstance(message, dict):
        return Response("", "error", "the server's reply holds no message", {"final": True})
    content, reasoning = _answer_and_reasoning(message)
    detail: dict[str, object] = {
        "seconds": round(seconds, 4),
        **_usage(_member(reply, "usage"), reasoning),
        **_logprobs(choice, request, processed),
    }
    if _member(reply, "model") not in (model, None, ""):
        detail["model"] = str(_member(reply, "model"))  # what a name that moves ("gpt-4o") is now
    text = content or ""
    refusal = message.get("refusal")
    state = finish_state(_member(choice, "finish_reason"))
    if isinstance(refusal, str) and refusal:
        return Response(text or refusal, "refused", "the model declined", detail)
    if state == "error":
        return Response(text, "error", "the server ended the answer with an error", detail)
    if state == "refused":
        return Response(text, "refused", "the server's filter withheld it", detail)
    if state == "truncated":
        return Response(text.strip(), "truncated", "it was cut at the limit of tokens", detail)
    tool_call = message.get("tool_calls") or message.get("function_call")
    if content is None or ((reasoning or tool_call) and not text.strip()):
        holds = "no text"
        if reasoning or tool_call:
            holds = f"{'reasoning' if reasoning else 'a call of a tool'} and no answer"
        detail["final"] = True
        return Response("", "error", f"the server's message holds {holds}", detail)
    return Response(text.strip(), "ok", "", detail)


def _answer_and_reasoning(message: Mapping[str, object]) -> tuple[str | None, str]:
    """The answer of a message, None where there is none; and what was reasoned before it.

    Servers give the reasoning beside the answer (`reasoning_content`, `reasoning`), or both as the
    parts of a list.
    """
    content = message.get("content")
    fields = (message.get("reasoning_content"), message.get("reasoning"))
    reasoning = next((text for text in fields if isinstance(text, str)), "")
    if not isinstance(content, list):
        return (content if isinstance(content, str) else None), reasoning
    texts: list[str] = []
    reasoning_entries: list[object] = []
    for entry in content:
        kind = _member(entry, "type")
        text = _member(entry, "text")
        if kind == "text" and isinstance(text, str):
            texts.append(text)
        elif kind in ("thinking", "reasoning"):
            reasoning_entries.append(entry)
        else:
            return None, reasoning
    return ("".join(texts) if texts else None), reasoning or "".join(map(str, reasoning_entries))


def _usage(usage: object, reasoning: str) -> dict[str, object]:
    """Numbers of tokens: input, input found in the server's cache, output, reasoning."""
    if not isinstance(usage, dict):
        usage = {}
    n_read = usage.get("prompt_tokens")
    n_written = usage.get("completion_tokens")
    total = usage.get("total_tokens")
    reasoned = _member(usage.get("completion_tokens_details"), "reasoning_tokens")
    # Gemini and xAI leave what was reasoned out of the answer's tokens, and charge for it.
    if is_token_count(n_read) and is_token_count(n_written) and is_token_count(total):
        n_written = max(n_written, total - n_read)
    counts = {
        "tokens_in": n_read,
        "tokens_out": n_written,
        "tokens_cached": _member(usage.get("prompt_tokens_details"), "cached_tokens"),
        "tokens_reasoning": reasoned or len(reasoning) // CHARACTERS_A_TOKEN or None,
    }
    return {name: count for name, count in counts.items() if is_token_count(count)}


def _logprobs(choice: object, request: Request | None, processed: bool) -> dict[str, object]:
    """The log probability of the whole answer, the first token's alternatives, and the
    probabilities of the words asked for.
    """
    tokens: Any = _member(_member(choice, "logprobs"), "content")
    try:
        if not tokens:
            return {}
        total = sum(float(token["logprob"]) for token in tokens)
        if not math.isfinite(total):
            return {}
        detail: dict[str, object] = {"logprob": round(total, 6)}
        first: dict[str, float] = {}
        for top in tokens[0].get("top_logprobs") or ():
            token = str(top["token"])
            value = round(float(top["logprob"]), 6)
            # several tokens may read alike, such as a word with and without the space before it
            first[token] = round(_log_of_sum(first[token], value), 6) if token in first else value
        listed = ListedTokens.read(tokens[0]) if request is not None and request.words else None
        if first:
            detail["first_token"] = first
        if (
            request is not None
            and listed is not None
            and _is_answers(tokens[0]["token"], _member(choice, "message"))
        ):
            sampling = request.sampling
            detail |= listed.probabilities(
                request.words, sampling.temperature, sampling.top_p, processed=processed
            )
        return detail
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        return {}


def _is_answers(token: str, message: object) -> bool:
    """Whether a token is the first of the answer, and not of a reasoning that comes before it."""
    text = str(_member(message, "content") or "").lstrip()
    token = token.strip()
    # A token may be a part of a character, which reads as U+FFFD.
    return "\ufffd" in token or not text or text.startswith(token)


def _log_of_sum(a: float, b: float) -> float:
    """The logarithm of the sum of two probabilities."""
    # The larger one is taken out of the sum, so that exp() neither overflows nor gives 0 for both.
    high = max(a, b)
    low = min(a, b)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))
