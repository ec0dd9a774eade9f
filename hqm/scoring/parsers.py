"""Parsers of short answers. Each has a name, which is part of every signature and which `--parser`
chooses.

Released scorers disagree on what an answer says; each parser here reproduces one of them, so that a
score can be compared with the table it came from. A parser maps the text of an answer to "yes",
"no" or None (unparsed), and some read choices and short answers too; `strict` does so where the
chosen one does not.

    name                 yes/no                                                            not read
    strict               where the answer commits itself last; understands negated         unparsed
                         questions
    pope                 POPE's evaluate.py: "no" if the first sentence has No, not or no  "yes"
    amber                AMBER's inference.py: exactly `Yes` or `No`                       unparsed
    hal_eval             Hal-Eval's 5k_code.py: `no` before the first comma, else yes      unparsed
    vlmevalkit           VLMEvalKit: the word yes or the word no, not both                 unparsed
    lmms_eval            lmms-eval's POPE task: the whole answer is yes or no              unparsed
    lmms_eval_amber      lmms-eval's AMBER task: contains yes, else contains no            unparsed
    lmms_eval_hallusion  lmms-eval's HallusionBench task: contains yes                     "no"
    faithscore           FaithScore's verifier: contains yes                               "no"
    last                 the last yes or no, for answers that reason first                 unparsed

`strict`, `vlmevalkit`, `lmms_eval`, `mmmu`, `mmmu_pro`, `mathvista` and `inspect` read choices and
short answers: see `hqm.scoring.short_answers` and `hqm.scoring.released_readers`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from hqm.errors import UsageError
from hqm.scoring import polar_answers
from hqm.scoring.polar_answers import Polar
from hqm.signature import labelled
from hqm.types import Item, Task

if TYPE_CHECKING:
    from hqm.scoring.list_matching import ShortMatch


def _no_polar(text: str, question: str, negated: bool) -> Polar | None:
    raise UsageError(
        "this parser reads no yes/no answers",
        remedy="`hqm list parsers` names those that do.",
    )


@dataclass(frozen=True, slots=True)
class Parser:
    """A named parser of short answers."""

    name: str
    read: Callable[[str, str, bool], Polar | None] = _no_polar
    """Answer, question, and whether the question is negated -> "yes", "no" or None."""
    reads_negation: bool = False
    """Whether "Yes, there is no dog" is read as a yes to "Is there no dog?"."""
    source: str = ""
    kind: Callable[[str], Hashable] | None = None
    """Question -> all that the reading of a text takes from it, beside whether it is negated, for
    texts that are not read against its words; None where that is not said, so that every question
    is its own kind."""
    needs_question: Callable[[str], bool] = lambda _: False
    """Whether a text is read against the question's words."""

    reads: tuple[Task, ...] = ("yes_no",)
    """The tasks whose answers it reads."""

    @property
    def label(self) -> str:
        """Its name as a signature has it: with the version of what it reads
        (`hqm.signature.labelled`).
        """
        return labelled("reader", self.name)

    def for_task(self, task: Task) -> Parser:
        """The parser that reads the answers to items of a task: itself where it can.

        >>> parser("mmmu").for_task("choice").name, parser("mmmu").for_task("yes_no").name
        ('mmmu', 'strict')
        """
        return self if task in (*self.reads, "caption") else PARSERS["strict"]

    def choose(self, text: str, options: Sequence[str], question: str = "") -> str | None:
        """The letter of the option that an answer chose."""
        from hqm.scoring.released_readers import CHOICES

        return CHOICES[self.name](text, options, question)

    def match(self, text: str, item: Item) -> ShortMatch | None:
        """The value that a short answer states, and whether it is right."""
        from hqm.scoring.released_readers import SHORT_ANSWERS

        return SHORT_ANSWERS[self.name](text, item)

    def __call__(self, text: str, question: str = "", negated: bool = False) -> Polar | None:
        return self.read(text, question, negated)


def _pope(text: str, question: str, negated: bool) -> Polar | None:
    words = text.split(".")[0].replace(",", "").split(" ")
    if "No" in words or "not" in words or "no" in words:
        return "no"
    return "yes"


def _amber(text: str, question: str, negated: bool) -> Polar | None:
    # the release compares exactly: "yes" and "Yes." are unread
    return {"Yes": "yes", "No": "no"}.get(text)  # type: ignore[return-value]


def _hal_eval(text: str, question: str, negated: bool) -> Polar | None:
    head = text.split(",")[0].lower()
    # a part of a word counts, as in the release: "know" is a no
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
    lowered = text.lower()
    has_thousands = re.search(r"\d,\d", lowered) is not None
    stripped = lowered
    for mark in _VLMEVALKIT_MARKS:
        beside_space = f"{mark} " in lowered or f" {mark}" in lowered
        stripped = stripped.replace(mark, "" if beside_space or has_thousands else " ")
    words = re.sub(r"\.(?!\d)", "", stripped, count=_VLMEVALKIT_STOPS).split()
    # as in the release, which gives up on an answer with both
    if ("yes" in words) == ("no" in words):
        return None
    return "yes" if "yes" in words else "no"


def _lmms_eval(text: str, question: str, negated: bool) -> Polar | None:
    lowered = text.lower().strip()
    return lowered if lowered in ("yes", "no") else None  # type: ignore[return-value]


def _lmms_eval_amber(text: str, question: str, negated: bool) -> Polar | None:
    lowered = text.lower()
    if "yes" in lowered:
        return "yes"
    return "no" if "no" in lowered else None


def _contains_yes(text: str, question: str, negated: bool) -> Polar | None:
    return "yes" if "yes" in text.lower() else "no"


def _last(text: str, question: str, negated: bool) -> Polar | None:
    words = re.findall(r"\b(?:yes|no)\b", text.lower())
    return words[-1] if words else None


def _same_kind(question: str) -> None:
    """The kind of every question, for a parser that does not look at questions."""


_SHORT_TASKS: tuple[Task, ...] = ("choice", "vqa")
_ALL_TASKS: tuple[Task, ...] = ("yes_no", *_SHORT_TASKS)
PARSERS: Mapping[str, Parser] = MappingProxyType(
    {
        parser.name: parser
        for parser in (
            Parser(
                "strict",
                lru_cache(maxsize=65536)(polar_answers.read_polar),
                True,
                "this project",
                polar_answers.quotes_question,
                polar_answers.needs_question,
                reads=_ALL_TASKS,
            ),
            Parser("pope", _pope, source="AoiDragon/POPE evaluate.py", kind=_same_kind),
            Parser(
                "amber",
                _amber,
                reads_negation=True,
                source="junyangwang0410/AMBER inference.py",
                kind=_same_kind,
            ),
            Parser(
                "hal_eval",
                _hal_eval,
                source="WisdomShell/hal-eval 5k_code.py",
                kind=_same_kind,
            ),
            Parser(
                "vlmevalkit",
                _vlmevalkit,
                source="open-compass/VLMEvalKit vlmeval/dataset/utils/yorn.py, matching_util.py",
                kind=_same_kind,
                reads=_ALL_TASKS,
            ),
            Parser(
                "lmms_eval",
                _lmms_eval,
                reads_negation=True,
                source="EvolvingLMMs-Lab/lmms-eval tasks/pope/utils.py, mmmu_mcq_utils.py",
                kind=_same_kind,
                reads=_ALL_TASKS,
            ),
            Parser(
                "lmms_eval_amber",
                _lmms_eval_amber,
                source="EvolvingLMMs-Lab/lmms-eval AMBER discriminative task",
                kind=_same_kind,
            ),
            Parser(
                "lmms_eval_hallusion",
                _contains_yes,
                source="EvolvingLMMs-Lab/lmms-eval tasks/hallusion_bench",
                kind=_same_kind,
            ),
            Parser(
                "faithscore",
                _contains_yes,
                source="bcdnlp/FAITHSCORE framework.py",
                kind=_same_kind,
            ),
            Parser("last", _last, source="this project", kind=_same_kind),
            Parser(
                "mmmu",
                source="MMMU-Benchmark/MMMU mmmu/utils/eval_utils.py",
                reads=_SHORT_TASKS,
            ),
            Parser(
                "mmmu_pro",
                source="MMMU-Benchmark/MMMU mmmu-pro/evaluate.py",
                reads=_SHORT_TASKS,
            ),
            Parser(
                "mathvista",
                source="lupantech/MathVista evaluation/calculate_score.py",
                reads=_SHORT_TASKS,
            ),
            Parser(
                "inspect",
                source="UKGovernmentBEIS/inspect_ai solver/_multiple_choice.py, scorer/_match.py",
                reads=_SHORT_TASKS,
            ),
        )
    }
)


STRICT = PARSERS["strict"]
"""The reader of HQM, for benchmarks whose card names none."""


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
            name=name,
            choices=PARSERS,
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
