"""Parsers of yes/no answers. Each has a name, which is part of every signature and which `--parser`
chooses.

Released scorers disagree on what an answer says; each parser here reproduces one of them, so that a
score can be compared with the table it came from. A parser maps the text of an answer to "yes",
"no" or None (unparsed).

    name                 rule                                                              not read
    strict               the leading yes or no, or a restatement of the question;          unparsed
                         understands negated questions
    pope                 POPE's evaluate.py: "no" if the first sentence has No, not or no  "yes"
    amber                AMBER's inference.py: exactly `Yes` or `No`                       unparsed
    hal_eval             Hal-Eval's 5k_code.py: `no` before the first comma, else yes      unparsed
    vlmevalkit           VLMEvalKit: the word yes or the word no, not both                 unparsed
    lmms_eval            lmms-eval's POPE task: the whole answer is yes or no              unparsed
    lmms_eval_amber      lmms-eval's AMBER task: contains yes, else contains no            unparsed
    lmms_eval_hallusion  lmms-eval's HallusionBench task: contains yes                     "no"
    faithscore           FaithScore's verifier: contains yes                               "no"
    last                 the last yes or no, for answers that reason first                 unparsed
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

from hqm.errors import UsageError

Polar = Literal["yes", "no"]


@dataclass(frozen=True, slots=True)
class Parser:
    """A named parser of yes/no answers."""

    name: str
    read: Callable[[str, str, bool], Polar | None]
    """Answer, question, and whether the question is negated -> what was answered."""
    reads_negation: bool = False
    """Whether "Yes, there is no dog" is understood as a yes to "Is there no dog?"."""
    source: str = ""
    kind: Callable[[str], Hashable] | None = None
    """Question -> all that the reading of a text takes from it, beside whether it is negated, for
    texts that are not read against its words; None where that is not said, so that every question
    is its own kind."""
    against_words: Callable[[str], bool] = lambda _: False
    """Whether a text is read against the question's words."""

    def __call__(self, text: str, question: str = "", negated: bool = False) -> Polar | None:
        return self.read(text, question, negated)


def _pope(text: str, question: str, negated: bool) -> Polar | None:
    words = text.split(".")[0].replace(",", "").split(" ")
    return "no" if "No" in words or "not" in words or "no" in words else "yes"


def _amber(text: str, question: str, negated: bool) -> Polar | None:
    return {"Yes": "yes", "No": "no"}.get(text)  # type: ignore[return-value]


def _hal_eval(text: str, question: str, negated: bool) -> Polar | None:
    head = text.split(",")[0].lower()
    if "no" in head:
        return "no"
    return "yes" if "yes" in head or "match" in head else None


_VLMEVALKIT_MARKS = ';/[]"{}()=+\\_-><@`,?!'
"""The marks that its `process_punctuation` knows; quotation marks, colons and asterisks stay with
their word.
"""
_VLMEVALKIT_STOPS = 32
"""It removes this many full stops, because it gives the flag re.UNICODE where a count stands."""


def _vlmevalkit(text: str, question: str, negated: bool) -> Polar | None:
    said = text.lower()
    numbers = re.search(r"\d,\d", said) is not None
    plain = said
    for mark in _VLMEVALKIT_MARKS:
        beside_space = f"{mark} " in said or f" {mark}" in said
        plain = plain.replace(mark, "" if beside_space or numbers else " ")
    words = re.sub(r"\.(?!\d)", "", plain, count=_VLMEVALKIT_STOPS).split()
    if ("yes" in words) == ("no" in words):
        return None
    return "yes" if "yes" in words else "no"


def _lmms_eval(text: str, question: str, negated: bool) -> Polar | None:
    said = text.lower().strip()
    return said if said in ("yes", "no") else None  # type: ignore[return-value]


def _lmms_eval_amber(text: str, question: str, negated: bool) -> Polar | None:
    said = text.lower()
    return "yes" if "yes" in said else "no" if "no" in said else None


def _contains_yes(text: str, question: str, negated: bool) -> Polar | None:
    return "yes" if "yes" in text.lower() else "no"


def _last(text: str, question: str, negated: bool) -> Polar | None:
    words = re.findall(r"\b(?:yes|no)\b", text.lower())
    return words[-1] if words else None


_LEAD = re.compile(
    r"^\W*(?:(?:the\s+|my\s+)?(?:correct\s+|final\s+)?answer(?:\s+is)?\W*)?"
    r"\b(yes|yeah|yep|no|nope)\b[\s,.:;!*-]*",
    re.IGNORECASE,
)
_BOTH = re.compile(r"^(?:and|or|/|&)\s*(?:yes|no)\b", re.IGNORECASE)
_NEGATIVE = re.compile(
    r"\b(?:not|no|none|never|nobody|nothing|neither|cannot|without)\b|n't\b", re.IGNORECASE
)
# a clause that says what is the case: a subject, then a form of be, do, have or can
_STATEMENT = re.compile(
    r"^(?:(?:there|it|they|he|she|this|that|these|those|the|an?|no|one|two|three|all|both|some"
    r"|none)\b[^.;!?]*?\b(?:is|are|was|were|does|do|did|has|have|had|can|cannot|will|appears?"
    r"|seems?|shows?|contains?)(?:n't)?(?:\b|$)"
    r"|i\s+(?:can\s+|do\s+not\s+|don't\s+|cannot\s+|can't\s+)?see\b)",
    re.IGNORECASE,
)
# what follows one of these no longer restates the question
_ASIDE = re.compile(
    r"\b(?:but|because|since|so|although|though|however|which|who|while|whereas|instead"
    r"|and\s+not)\b|[,;]",
    re.IGNORECASE,
)
_PLAIN_WORDS = frozenset(
    (
        "a an the there is are was were be does do did has have had can cannot will not no none any"
        " it they he she this that these those i see seen visible present shown appear appears seem"
        " seems show shows contain contains image picture photo in of on one isn aren wasn weren"
        " doesn don didn hasn haven t s"
    ).split()
)


# questions that turn another one round, or repeat it as a whole (`hqm.forms.negate`)
_ABOUT_ANOTHER = re.compile(
    r'\bit (?:true|false|wrong to say) that\b|\bthe number of .* other than\b|["“](?:yes|no)["”]'
    r" the (?:right|wrong) answer to\b",
    re.IGNORECASE,
)


def _words(text: str) -> list[str]:
    return [word for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in _PLAIN_WORDS]


@lru_cache(maxsize=65536)
def _about_another(question: str) -> bool:
    return _ABOUT_ANOTHER.search(question) is not None


@lru_cache(maxsize=65536)
def _asked(question: str) -> tuple[str, ...]:
    """The content words of a question."""
    return tuple(_words(question))


@lru_cache(maxsize=4096)
def _said(text: str) -> tuple[Polar | None, bool, tuple[str, ...] | None, bool]:
    """What the text of an answer says, whatever was asked.

    The leading yes or no; whether it says both; the content words of the statement behind it, None
    where there is none; and whether that statement denies.
    """
    text = text.replace("’", "'").strip()
    lead = _LEAD.match(text)
    said: Polar | None = (
        None if lead is None else "yes" if lead.group(1).lower().startswith("y") else "no"
    )
    rest = text[lead.end() :] if lead else text
    clause = re.split(r"[.!?\n]", rest.lstrip(), maxsplit=1)[0]
    aside = _ASIDE.search(clause, 1)
    clause = clause[: aside.start()] if aside else clause
    words = tuple(_words(clause)) if _STATEMENT.match(clause) else None
    return said, _BOTH.match(rest) is not None, words, _NEGATIVE.search(clause) is not None


def _restates(clause: Sequence[str], question: str) -> bool:
    """Whether a clause repeats the question: all its content words are in the question, in the same
    order.

    "The star is larger than the circle" restates nothing of "Is the circle larger than the star?".
    """
    written = question.lower()
    if not all(word in written for word in clause):
        return False  # seen without taking the question apart
    asked = iter(_asked(question))
    return all(word in asked for word in clause)


def _strict(text: str, question: str, negated: bool) -> Polar | None:
    """The leading yes or no; where that is missing or ambiguous, a restatement of the question
    decides.
    """
    bare = _bare(text)
    if bare in ("yes", "no"):  # by far the commonest answers
        return bare  # type: ignore[return-value]
    said, both, words, denies = _said(text)
    if _about_another(question):
        return said  # a restatement would have to be read against what is denied
    if both:
        return None
    # a clause about something else ("No, the sky is cloudy") restates nothing
    if words is None or (question and not _restates(words, question)):
        return said
    meant: Polar = "yes" if denies == negated else "no"
    if said is None or said == meant:
        return meant
    if said == "no" and not negated:
        return "no"  # "No, the two cats are asleep": the lead stands
    # "No, there is no dog" to "Is there no dog?": the lead may agree with the negation; the
    # sentence says what is seen. To a plain question "Yes, there is no dog" says two things, and
    # nothing can be read from it.
    return meant if negated else None


def _bare(text: str) -> str:
    return text.strip(" \n.!,*\"'").lower()


def _against_words(text: str) -> bool:
    """Whether `_strict` reads a text against the question's words: it makes a statement that has
    words of its own.
    """
    return _bare(text) not in ("yes", "no") and bool(_said(text)[2])


def _ignored(question: str) -> None:
    """The kind of every question, for a parser that does not look at questions."""


PARSERS: Mapping[str, Parser] = MappingProxyType(
    {
        parser.name: parser
        for parser in (
            Parser("strict", _strict, True, "this project", _about_another, _against_words),
            Parser("pope", _pope, source="AoiDragon/POPE evaluate.py", kind=_ignored),
            Parser(
                "amber",
                _amber,
                reads_negation=True,
                source="junyangwang0410/AMBER inference.py",
                kind=_ignored,
            ),
            Parser("hal_eval", _hal_eval, source="WisdomShell/hal-eval 5k_code.py", kind=_ignored),
            Parser(
                "vlmevalkit",
                _vlmevalkit,
                source="open-compass/VLMEvalKit vlmeval/dataset/utils/yorn.py",
                kind=_ignored,
            ),
            Parser(
                "lmms_eval",
                _lmms_eval,
                reads_negation=True,
                source="EvolvingLMMs-Lab/lmms-eval tasks/pope/utils.py",
                kind=_ignored,
            ),
            Parser(
                "lmms_eval_amber",
                _lmms_eval_amber,
                source="EvolvingLMMs-Lab/lmms-eval AMBER discriminative task",
                kind=_ignored,
            ),
            Parser(
                "lmms_eval_hallusion",
                _contains_yes,
                source="EvolvingLMMs-Lab/lmms-eval tasks/hallusion_bench",
                kind=_ignored,
            ),
            Parser(
                "faithscore", _contains_yes, source="bcdnlp/FAITHSCORE framework.py", kind=_ignored
            ),
            Parser("last", _last, source="this project", kind=_ignored),
        )
    }
)


def parser(name: str) -> Parser:
    """The parser of this name.

    >>> parser("strict")("Yes, there is no dog.", negated=True)
    'yes'
    >>> parser("pope")("Yes, there is no dog.")
    'no'
    >>> parser("strict")("I cannot tell.") is None
    True
    """
    if name not in PARSERS:
        raise UsageError(
            f"there is no parser {name!r}",
            remedy=f"The parsers are {', '.join(sorted(PARSERS))}.",
            given=name,
            known=PARSERS,
        )
    return PARSERS[name]


_REFUSAL = re.compile(
    r"\b(?:i'?m sorry|i am sorry|i apologi[sz]e|as an ai|i (?:can'?t|cannot|am unable to|'m unable"
    r" to|am not able to)\s+"
    r"(?:assist|help|answer|provide|comply|see|view|determine|tell|process|identify))\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=65536)
def refuses(text: str) -> bool:
    """Whether an answer that could not be read is a refusal to answer.

    >>> refuses("I'm sorry, but I can't help with that.")
    True
    """
    return _REFUSAL.search(text.replace("’", "'")) is not None
