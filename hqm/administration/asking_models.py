"""Ask a named model for texts: each prompt once, stored, found again the next time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from hqm.respondents.base import Request, Respondent, RespondentName, Sampling, who_answers
from hqm.signature import request_seed
from hqm.store.database import Ask, Store
from hqm.types import Response


def stored_replies(
    asks: Iterable[Ask], respondent: Respondent, store: Store
) -> dict[str, Response]:
    """What a model replies to prompts without a picture, by the digest of the prompt; greedy unless
    its name says otherwise.

    A reply that the store has is not asked for again, unless it was an error. The respondent is
    closed afterwards.
    """
    sampling = RespondentName.parse(respondent.name).sampling(
        Sampling(temperature=0.0, max_tokens=200)
    )
    identity = {**respondent.identity(), **asdict(sampling)}
    number, who = (
        store.respondent(respondent.name, identity),
        who_answers(respondent.name, identity),
    )
    known = {
        key: response
        for key, response in store.replies(number, 0).items()
        if response.state != "error"
    }
    missing = {question.digest: question for question in asks if question.digest not in known}
    requests = [
        Request(question.prompt, None, sampling, request_seed(sampling.seed, who, 0, key))
        for key, question in missing.items()
    ]
    owner = dict(zip(map(id, requests), missing.values(), strict=True))
    try:
        for batch in respondent.answer(requests) if requests else ():
            store.append(number, 0, [(owner[id(request)], response) for request, response in batch])
            known |= {owner[id(request)].digest: response for request, response in batch}
    finally:
        respondent.close()
    return known
