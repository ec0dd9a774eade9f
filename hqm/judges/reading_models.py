"""A model reads the answers that the reader leaves unread or in doubt (`--set read_with=MODEL`).

It is no judge of the answers: it says what an answer commits itself to, and the benchmark's own
rule scores that. It also reads some that the reader has read, which shows how far the two agree.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.judge_api import AskJudge
from hqm.errors import NoReply, UnreadableReply
from hqm.judges.judge_models import Judging
from hqm.judges.procedure import Rows
from hqm.respondents.base import Request
from hqm.scoring.commitments import is_doubtful
from hqm.scoring.parsers import refuses
from hqm.signature import digest
from hqm.types import LETTERS, ORIGINAL, Form, Item, Response, Verdict

VERSION = 1
"""Of the words in which a model is asked, and of what is sent to it."""
N_CHECKED = 200
"""Answers that the reader has read, and that the model reads as well."""
_NO_ANSWER = "none"


def reading_prompt(item: Item, text: str) -> str:
    """Return the request to say what an answer commits itself to."""
    options = [f"{letter}. {option}" for letter, option in zip(LETTERS, item.options, strict=False)]
    reply_forms = {"choice": "the letter of the option", "yes_no": "yes or no"}
    reply_form = reply_forms.get(item.task, "the value that it states, in its words")
    lines = [
        # A change of these words is another VERSION: the store finds replies by the text of the
        # request.
        "Somebody was asked the question below, and answered. Say what the answer commits itself"
        " to in the end. Do not answer the question, and do not correct the answer.",
        f"Question: {item.prompt}",
        *options,
        f"Answer: <answer>{text}</answer>",
        f"Reply with {reply_form} alone; with {_NO_ANSWER} where the answer commits itself to"
        " nothing or to several things.",
    ]
    return "\n".join(lines)


def read_reply(item: Item, reply: str) -> str:
    """Return what a reply says that an answer says; empty where that is nothing.

    Raises
    ------
    UnreadableReply
        The reply is no letter of an option, or neither yes nor no.
    """
    # Models put a letter into bold, brackets or quotation marks, however they are asked.
    value = reply.strip().strip(".*\"'() ")
    if value.casefold() == _NO_ANSWER or not value:
        return ""
    pattern = {"choice": f"[{LETTERS[: len(item.options)]}]", "yes_no": "yes|no"}.get(item.task)
    if pattern and not re.fullmatch(pattern, value, re.IGNORECASE):
        raise UnreadableReply(f"the reply says more than what was asked for: {reply!r:.60}")
    return value


class _ReadByModel(Benchmark):
    """A benchmark whose rule is given the words of a model where it reads nothing itself."""

    checked: frozenset[tuple[str, str]] = frozenset()
    """(item, text) of answers that the reader has read, and the model reads as well."""
    readings: dict[tuple[str, str], tuple[Verdict, Verdict | None]]
    """(item, text) -> the verdicts by the reader and by the model, of the answers sent to it."""

    @property
    def roles(self) -> tuple[str, ...]:
        return ("judge",)

    async def judge(self, item: Item, response: Response, ask: AskJudge) -> Verdict:
        """The verdict by the reader; by the model where that reads nothing, or is in doubt."""
        verdict = self.score(item, response)
        key = (item.id, response.text)
        is_unread = is_sent(verdict, response)
        if not is_unread and key not in self.checked:
            return verdict
        self.readings[key] = (verdict, None)
        try:
            reading = read_reply(item, await ask("judge", reading_prompt(item, response.text)))
        except (NoReply, UnreadableReply):
            return verdict  # what was not asked is noted, and asked by the next wave
        by_model = Verdict.unscored("unparsed", "the model reads no answer either")
        if reading:
            by_model = self.score(item, Response(reading))
        self.readings[key] = (verdict, by_model)
        if is_unread:
            return by_model
        return verdict


def is_sent(verdict: Verdict, response: Response) -> bool:
    """Whether an answer is unread, and no refusal, or its reading is doubtful."""
    if not verdict.scored:
        # A refusal says plainly that it says nothing: there is nothing to be read in it.
        return verdict.state == "unparsed" and not refuses(response.text)
    return is_doubtful(response.text)


@dataclass(frozen=True, slots=True)
class ReadingCheck:
    """How a model read the answers of one administration.

    Parameters
    ----------
    model
        Its name.
    n_sent
        Answers that were unread or doubtful.
    n_answers
        Answers in all.
    n_agreed, n_checked
        Of the answers that both read, those of the same verdict; and all.
    """

    model: str
    n_sent: int
    n_answers: int
    n_agreed: int
    n_checked: int

    @property
    def sentence(self) -> str:
        """What the report says of it."""
        sent = (
            f"{self.model} read {self.n_sent} of {self.n_answers} answers, which the reader left"
            " unread or in doubt"
        )
        if not self.n_checked:
            return f"{sent}; no other answer shows how far the two agree"
        from scipy.stats import binomtest

        # With no disagreement in 200 the observed rate is 0, which no one should believe: the lower
        # end of Wilson's interval bounds it.
        test = binomtest(self.n_agreed, self.n_checked)
        low = float(test.proportion_ci(method="wilson").low)
        points = 100 * (1 - low) * self.n_sent / max(self.n_answers, 1)
        return (
            f"{sent}; on answers that both read they agree in {self.n_agreed} of {self.n_checked}"
            f" (at least {low:.3f} by the 95% interval). If it errs no more often on the others,"
            f" its errors move a mean by at most {points:.1f} points"
        )


class ReadingModel(Judging):
    """The judge that stands for the rule: what the rule reads, and a model where it does not."""

    @property
    def label(self) -> str:
        """The name of the rule in cells."""
        return "rule"

    @property
    def version(self) -> str:
        """What a signature says of it."""
        return f"read_with:{VERSION}={self.panel.label}"

    @property
    def procedure(self) -> _ReadByModel:
        """The benchmark as this judge runs it."""
        return cast(_ReadByModel, self.benchmark)

    def askings(self) -> list[int]:
        """No repetition of the rule."""
        return []

    def first_requests(self, form: Form, row: Sequence[Response]) -> list[Request]:
        """Return what it would ask about a row of answers if the reader read none of them."""
        # All answers are marked as to be checked, so that the dry run counts each as a request.
        self.procedure.checked = frozenset(key for key, _, _ in _answers(form, {"": list(row)}))
        requests = super().first_requests(form, row)
        self.procedure.checked = frozenset()
        return requests

    def check(self, form: Form, rows: Rows) -> ReadingCheck:
        """Count what the model read in an administration of which `matrix` was made."""
        readings = self.procedure.readings
        checked = self.procedure.checked
        answers = _answers(form, rows)
        n_sent = sum(key in readings and key not in checked for key, _, _ in answers)
        n_compared = 0
        n_agreed = 0
        for key in checked & readings.keys():
            by_reader, by_model = readings[key]
            if by_model is not None:
                n_compared += 1
                n_agreed += by_reader.value == by_model.value
        return ReadingCheck(self.panel.label, n_sent, len(answers), n_agreed, n_compared)

    def prepare(self, form: Form, rows: Rows) -> None:
        """Choose the answers to the original form that the model reads beside the reader: those
        of the least hashes, the same in every command.
        """
        procedure = self.procedure
        if form.name != ORIGINAL or procedure.checked:
            return
        read = set()
        for key, item, response in _answers(form, rows):
            if procedure.no_answer(response) is None:
                verdict = procedure.score(item, response)
                if verdict.scored and not is_sent(verdict, response):
                    read.add(key)
        # By a hash, a later command with more answers asks about most of the same ones again, for
        # which replies are stored.
        procedure.checked = frozenset(sorted(read, key=digest)[:N_CHECKED])


def _answers(form: Form, rows: Rows) -> list[tuple[tuple[str, str], Item, Response]]:
    """The answers of an administration, each with its key and item."""
    return [
        ((item.id, response.text), item, response)
        for row in rows.values()
        for item, response in zip(form.items, row, strict=True)
        if response is not None
    ]


def reading_sentence(judges: Sequence[object], form: Form, read_rows: Callable[[], Rows]) -> str:
    """Return what the report says of the model among the judges that reads with the rule; nothing
    where there is none.
    """
    models = [judge for judge in judges if isinstance(judge, ReadingModel)]
    if models:
        return models[0].check(form, read_rows()).sentence
    return ""


def read_by_model(benchmark: Benchmark) -> Benchmark:
    """Return a benchmark whose judge procedure is the reader with a model behind it."""
    reader = with_procedure(benchmark, _ReadByModel)
    reader.readings = {}
    return reader


Procedure = TypeVar("Procedure", bound=Benchmark)


def with_procedure(benchmark: Benchmark, procedure: type[Procedure]) -> Procedure:
    """Return the benchmark with another judge procedure in place of its own."""
    kind = type(benchmark)
    copied = copy.copy(benchmark)
    # A class that inherits from both, so that the adapter's own `score` and data stay in force.
    copied.__class__ = type(kind.__name__, (procedure, kind), {})
    return cast(Procedure, copied)
