"""Let a model rephrase the questions that no rule fits; its words are stored, checked, and meant to
be reviewed.

The rules come first, since they give everybody the same form. What a model wrote carries the
model's name as its rule. It goes into the form's file with the rest, and can be corrected there and
used with `--form`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, replace
from itertools import count

from hqm.benchmark.judge_api import fill
from hqm.errors import UsageError
from hqm.forms.find_question import NEGATIONS
from hqm.forms.languages import foreign_language
from hqm.forms.make_forms import keeps_answers
from hqm.respondents.base import Request, Respondent, RespondentName, Sampling, who_answers
from hqm.scoring.polar_words import language_of
from hqm.signature import request_seed
from hqm.store.database import Ask, Store, ask
from hqm.types import Form, Item, LeftOut, Response

# Ask a named model for texts: each prompt once, stored, found again the next time.


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
    number = store.respondent(respondent.name, identity)
    respondent_key = who_answers(respondent.name, identity)
    replies = store.replies(number, 0)
    missing: dict[str, Ask] = {}
    for question in asks:
        if question.digest not in replies or replies[question.digest].state == "error":
            missing[question.digest] = question
    requests: list[Request] = []
    for key, question in missing.items():
        seed = request_seed(sampling.seed, respondent_key, 0, key)
        requests.append(Request(question.prompt, None, sampling, seed))
    # requests are values, and two may be equal: an answer is matched to its request by identity
    owner = dict(zip(map(id, requests), missing.values(), strict=True))
    try:
        for batch in respondent.answer(requests) if requests else ():
            answers = [(owner[id(request)], response) for request, response in batch]
            store.append(number, 0, answers)
            for question, response in answers:
                replies[question.digest] = response
    finally:
        respondent.close()
    return replies


PROMPT = """Put the question below in other words, so that it asks for exactly the same thing \
about the same picture.
Keep every name, number, quotation and coordinate as it is. If the question takes something for \
granted, keep that too,
whether or not it is true. If an instruction on how to answer stands at the end, keep it at the end.
Reply with the new question alone, on one line.

Question: {question}"""

_SAME_LANGUAGE = "\n\nThe question is in {language}; write the new question in the same language."
_INVARIANTS = re.compile(
    r"\d+(?:\.\d+)?|\"[^\"]+\"|'[^']{2,}'(?!\w)|\[[^\]]*\]|「[^」]*」|«[^»]*»|„[^“”]*[“”]"
)
_NEGATION = re.compile(rf"\b(?:{'|'.join(sorted(NEGATIONS))})\b|n['’]t\b", re.IGNORECASE)
_A_NOT_A = re.compile(r"(\w)[没不]\1")
"""A Chinese question without a negation: 有没有, 是不是."""
_QUESTION_MARK = re.compile("[?？؟]")


def rephrase_left_out(original: Form, parallel: Form, respondent: Respondent, store: Store) -> Form:
    """The parallel form with what was left out rephrased by a model, where its words pass the
    checks.

    Parameters
    ----------
    original, parallel
        The original form, and the one that the rules made of it.
    respondent
        The model.
    store
        Where its replies are kept, and found again.

    Raises
    ------
    UsageError
        The form turns right answers, or orders options: that is not left to a model.
    """
    task = original.items[0].task if original.items else "vqa"
    if not keeps_answers(task, parallel.name):
        raise UsageError(
            f"a model rephrases questions, and the form {parallel.name!r} changes right answers or"
            " the order of options",
            remedy="Leave out --rewriter, or ask for a form that keeps them: --form parallel2.",
        )
    asks = {omitted.id: _request(original.by_id[omitted.id]) for omitted in parallel.left_out}
    replies = stored_replies(asks.values(), respondent, store)
    items = list(parallel.items)
    omissions = []
    for omitted in parallel.left_out:
        item = original.by_id[omitted.id]
        response = replies[asks[omitted.id].digest]
        reason = _objection(item.prompt, response)
        # the item stays left out, with both reasons, for whoever reviews the form
        if reason:
            omissions.append(
                LeftOut(
                    omitted.id,
                    omitted.prompt,
                    f"{omitted.reason}; {respondent.name} wrote {response.text!r}: {reason}",
                )
            )
        else:
            items.append(
                replace(item, prompt=response.text.strip(), rule=f"rewriter.{respondent.name}")
            )
    position = dict(zip(original.by_id, count()))
    items.sort(key=lambda item: position[item.id])
    return Form(parallel.name, tuple(items), tuple(omissions))


def _request(item: Item) -> Ask:
    """The request to rephrase a question; one that is not English names its language."""
    language = foreign_language(item.prompt)
    instruction, before, slot = PROMPT.rpartition("\n\nQuestion: {question}")
    if language:
        instruction += fill(_SAME_LANGUAGE, language=language)
    return ask(fill(instruction + before + slot, question=item.prompt))


def _objection(question: str, response: Response) -> str:
    """Why a model's wording cannot stand for the question; empty when it can."""
    text = response.text.strip()
    if response.state != "ok" or not text:
        return response.reason or "it is empty"
    if "\n" in text:
        return "it has several lines"
    if _plain(text) == _plain(question):
        return "it is the same question"
    if Counter(_INVARIANTS.findall(text)) != Counter(_INVARIANTS.findall(question)):
        return "a number, quotation or coordinate was changed"
    if bool(_QUESTION_MARK.search(text)) != bool(_QUESTION_MARK.search(question)):
        return "a question became an instruction, or the reverse"
    if foreign_language(text) != foreign_language(question):
        return "it is in another language"
    if _is_negated(text) != _is_negated(question):
        return "a negation was added, or taken out"
    return ""


def _is_negated(text: str) -> bool:
    """Whether a question has a word of denial of its language."""
    language = language_of(text) if foreign_language(text) else None
    if language is not None:
        return language.denial.search(_A_NOT_A.sub("", text)) is not None
    return _NEGATION.search(text) is not None


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))
