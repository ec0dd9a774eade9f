"""What a server's reply says: the answer, the tokens it took, and the probabilities of its first
token.
"""

from __future__ import annotations

import math
from typing import Any

from hqm.respondents.base import Request
from hqm.respondents.first_token import Listed
from hqm.types import Response


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else None


def read_reply(
    reply: Any,
    seconds: float,
    model: str,
    request: Request | None = None,
    *,
    processed: bool = False,
) -> Response:
    """What a server's reply says; nonsense is an error, not an answer.

    Where the request names the words that the answer may be, their probabilities are kept;
    `processed` says that the server's log probabilities have temperature and top-p in them.
    """
    choice = _first(_member(reply, "choices"))
    message = _member(choice, "message")
    if not isinstance(message, dict):
        return Response("", "error", "the server's reply holds no message")
    detail = {
        "seconds": round(seconds, 4),
        **_usage(_member(reply, "usage")),
        **_logprobs(choice, request, processed),
    }
    if _member(reply, "model") not in (model, None, ""):
        detail["model"] = str(reply["model"])  # what a name that moves ("gpt-4o") stood for
    content = message.get("content")
    text: str = content if isinstance(content, str) else ""
    refusal, finish = message.get("refusal"), choice.get("finish_reason")
    if isinstance(refusal, str) and refusal:
        return Response(text or refusal, "refused", "the model declined", detail)
    if finish == "content_filter":
        return Response(text, "refused", "the server's filter withheld it", detail)
    if finish == "length":
        return Response(text.strip(), "truncated", "it was cut at the limit of tokens", detail)
    if not isinstance(content, str):
        return Response("", "error", "the server's message holds no text", detail)
    return Response(text.strip(), "ok", "", detail)


def _usage(usage: Any) -> dict[str, Any]:
    """Tokens read, of them found in the server's cache, and written."""
    counts = {
        "tokens_in": _member(usage, "prompt_tokens"),
        "tokens_out": _member(usage, "completion_tokens"),
        "tokens_cached": _member(_member(usage, "prompt_tokens_details"), "cached_tokens"),
    }
    return {name: count for name, count in counts.items() if isinstance(count, int)}


def _logprobs(choice: Any, request: Request | None, processed: bool) -> dict[str, Any]:
    """The log probability of the whole answer, the first token's alternatives, and the
    probabilities of the words asked for.
    """
    tokens = _member(_member(choice, "logprobs"), "content")
    try:
        if not tokens:
            return {}
        whole = sum(float(token["logprob"]) for token in tokens)
        if not math.isfinite(whole):
            return {}
        detail: dict[str, Any] = {"logprob": round(whole, 6)}
        first: dict[str, float] = {}
        for top in tokens[0].get("top_logprobs") or ():
            token, value = str(top["token"]), round(float(top["logprob"]), 6)
            # several tokens may read alike, such as a word with and without the space before it
            first[token] = round(_either(first[token], value), 6) if token in first else value
        listed = Listed.read(tokens[0]) if request is not None and request.words else None
        if first:
            detail["first_token"] = first
        if (
            request is not None
            and listed is not None
            and _is_answers(tokens[0]["token"], choice["message"])
        ):
            sampling = request.sampling
            detail |= listed.probabilities(
                request.words, sampling.temperature, sampling.top_p, processed=processed
            )
        return detail
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        return {}


def _is_answers(token: str, message: Any) -> bool:
    """Whether a token is the first of the answer, and not of a reasoning that comes before it."""
    text, token = str(message.get("content") or "").lstrip(), token.strip()
    return "\ufffd" in token or not text or text.startswith(token)


def _either(a: float, b: float) -> float:
    """The logarithm of the sum of two probabilities."""
    high, low = max(a, b), min(a, b)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))
