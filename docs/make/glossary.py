"""The glossary: the terms that reports explain, in their words, and the terms of the field that the
documentation uses.
"""

from __future__ import annotations

from collections.abc import Mapping

from hqm.reports.pages.phrases import TERMS

from make.text import prose

FIELD: Mapping[str, str] = {
    "administration": (
        "one time that a test is taken: all items, put to all respondents under the same conditions"
        " (form, run, judge)"
    ),
    "benchmark": "a test for models: items, and a rule that scores answers",
    "cluster": (
        "items that share something, usually a picture, and therefore rise and fall together"
    ),
    "criterion": (
        "what a score should agree with; for hallucination, labels that people give to the same"
        " answers"
    ),
    "D study, cost": (
        "a forecast of the precision that another number of items, seeds or judges buys, and of its"
        " price"
    ),
    "facet": (
        "a condition that administrations can differ in: wording, run, judge, sight of the picture,"
        " its resolution"
    ),
    "fixed facet, random facet": (
        "a fixed facet's conditions are the only ones of interest; those of a random facet"
        " stand for others like them"
    ),
    "form": "one wording of all items; forms share their items",
    "hallucination": "an answer that the picture contradicts or does not support",
    "item": "one question of a benchmark, with its picture and right answer",
    "judge": "a model that decides whether an answer is right",
    "key": (
        "the right answer of an item, as the benchmark has it; a wrong key scores right answers as"
        " wrong"
    ),
    "metric": "the function that makes a score of scored answers: accuracy, F1, CHAIR",
    "respondent": "whatever answers: a local model, a model on a server, a file of answers",
    "run": "one repetition with another seed",
    "score matrix": "the scored answers of all respondents to all items in one administration",
    "test-retest": "the same items, asked the same respondents again with another seed",
    "type": (
        "the kind of hallucination that an item asks for: existence, attribute, counting and so on"
    ),
    "unscored": (
        "an answer that got no score (refused, cut, empty, unreadable, failed); it is counted and"
        " left out of the mean"
    ),
    "validity": "whether a score is about what its name says",
    "verdict": "a scored answer",
}
"""Terms that a report does not explain."""


def page() -> str:
    """All terms in alphabetical order."""
    terms = {**FIELD, **{term: sentence for term, (_, sentence) in TERMS.items()}}
    head = (
        "# Glossary\n\nThe terms of the reports, in the words in which a report explains them, and"
        " those of this documentation. The [coefficients' names in the"
        " literature](which_coefficient.md#names-in-the-literature) are listed apart, and each"
        " [indicator](indicators/index.md) has a page.\n\nIn Python, the reports' terms are a table:\n\n```python\n>>> from"
        ' hqm.reports.pages.phrases import TERMS\n>>> TERMS["yes-ratio"][1].partition(";")[0]\n\'the'
        " share of answers that say yes'\n```\n"
    )
    lines = [
        f"**{prose(term)}**\n:   {prose(sentence[0].upper() + sentence[1:])}.\n"
        for term, sentence in sorted(terms.items(), key=lambda pair: pair[0].casefold())
    ]
    return "\n".join([head, *lines])
