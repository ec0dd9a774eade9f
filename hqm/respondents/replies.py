"""What a server's reply says: the answer, the tokens it took, and the probabilities of its first token."""

from __future__ import annotations

import json
from typing import Any

from hqm.types import Response


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else None


def read_reply(reply: Any, seconds: float, model: str) -> Response:
    """What a server's reply says; nonsense is an error, not an answer."""
    choice = _first(_member(reply, "choices"))
    message = _member(choice, "message")
    if not isinstance(message, dict):
        return Response("", "error", "the server's reply holds no message")
    detail = {"seconds": round(seconds, 4), **_usage(_member(reply, "usage")), **_logprobs(_member(choice, "logprobs"))}
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


def _logprobs(logprobs: Any) -> dict[str, Any]:
    """The log probability of the whole answer, and the first token's alternatives: enough for a yes/no question."""
    tokens = _member(logprobs, "content")
    try:
        if not tokens:
            return {}
        first = {str(top["token"]): round(float(top["logprob"]), 6) for top in tokens[0].get("top_logprobs") or ()}
        detail: dict[str, Any] = {"logprob": round(sum(float(token["logprob"]) for token in tokens), 6)}
        json.dumps(detail, allow_nan=False)
        return {**detail, "first_token": first} if first else detail
    except (AttributeError, KeyError, TypeError, ValueError):
        return {}
