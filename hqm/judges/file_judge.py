"""Verdicts that somebody read out of a judge's reply already, as verdicts of the benchmark's own
scoring.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, starmap
from operator import attrgetter
from typing import Any

from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.judge_api import (
    ASKING_SEPARATOR,
    AskJudge,
    parse_judge,
    refuse_empty,
    replay,
)
from hqm.errors import NoReply
from hqm.files.dialect import finite_number
from hqm.imports.row import JudgeOutput
from hqm.judges.judge_models import Judging
from hqm.judges.procedure import NotAsked, Rows, judged_matrix, verdicts
from hqm.scoring.matrix import ScoreMatrix
from hqm.scoring.metrics import UNIT
from hqm.scoring.rules import settle, yes_no_truth
from hqm.signature import digest
from hqm.store.database import Store
from hqm.types import Cell, Form, Item, Judgement, Response, Verdict

_RIGHT_WORDS = frozenset(("true", "correct", "right", "faithful", "without hallucination"))
_WRONG_WORDS = frozenset(("false", "incorrect", "wrong", "hallucinated", "with hallucination"))
_OPPOSITE = {"yes": "no", "no": "yes"}


def marks_scale(marks: Iterable[str]) -> tuple[float, float]:
    """The ends of the scale of which a judge's marks are; 0 and 1 where none is a number.

    >>> marks_scale(["0.5", "1", "yes"]), marks_scale(["3", "5"]), marks_scale(["250", "0"])
    ((0.0, 1.0), (1.0, 5.0), (0.0, 250.0))
    """
    # few commands read judgements
    from hqm.imports.scales import scale_ends

    numbers = map(finite_number, marks)
    return scale_ends(value for value in numbers if value is not None)


def share_right(mark: str, scale: tuple[float, float] = (0.0, 1.0)) -> float | None:
    """A mark as a share of right, 1 or 0 for a word; None for what is none.

    >>> share_right("Correct."), share_right("0"), share_right("4", (1, 5)), share_right("unclear")
    (1.0, 0.0, 0.75, None)
    """
    word = mark.strip().strip(".!*").lower()
    if word in _RIGHT_WORDS or word in _WRONG_WORDS:
        return float(word in _RIGHT_WORDS)
    # a mark outside the scale is no share: clipping it would hide a wrong scale
    value = finite_number(word)
    low, high = scale
    if value is not None and low <= value <= high:
        return (value - low) / (high - low)
    return None


def verdict_of_share(benchmark: Benchmark, item: Item, share: float, reply: str = "") -> Verdict:
    """Return the verdict of a share of right, for a benchmark that a rule or a tool scores.

    A yes/no answer that is right says what the key says, and a wrong one the opposite: the tally
    counts it so.
    """
    if benchmark.tool_scored or (benchmark.included_recordings and benchmark.roles):
        metric = benchmark.audited[0]
        if metric.scale == UNIT and metric.better == "higher":
            return benchmark.verdict_of_scores({metric.name: share}, reply)
    elif item.task == "yes_no":
        truth = yes_no_truth(item)
        # the tally of a share lies between those of a right and of a wrong answer
        right = benchmark.score(item, Response(truth.capitalize()))
        wrong = benchmark.score(item, Response(_OPPOSITE[truth].capitalize()))
        if right.value == 1 and wrong.value == 0:
            names = dict.fromkeys([*right.tally, *wrong.tally])
            tally = {
                name: share * right.tally.get(name, 0.0) + (1 - share) * wrong.tally.get(name, 0.0)
                for name in names
            }
            return Verdict(share, tally, "ok", reply)
    elif item.task in ("choice", "vqa"):
        return Verdict(share, {"right": share, "n": 1.0}, "ok", reply)
    return Verdict.unscored(
        "unparsed", f"no tally of {benchmark.name} follows from a score of {share:g}"
    )


def verdict_of_mark(
    benchmark: Benchmark, item: Item, mark: str, scale: tuple[float, float] = (0.0, 1.0)
) -> Verdict:
    """The verdict that a mark in a file stands for, of a benchmark that a rule scores; unscored
    where it says nothing.

    "yes" and "no" are what the judge read in the answer to a yes/no question; a share, true or
    false, correct or incorrect is whether the answer is right. A number is on the scale of the
    judge.
    """
    if not mark:
        return Verdict.unscored("missing", _EMPTY)
    word = mark.strip().strip(".!*").lower()
    if item.task == "yes_no" and word in _OPPOSITE:
        return benchmark.score(item, Response(word.capitalize()))
    share = share_right(mark, scale)
    if share is None:
        return Verdict.unscored(
            "unparsed", f"the judgement {mark!r:.60} says neither right nor wrong"
        )
    return verdict_of_share(benchmark, item, share, mark)


# --- a judge whose judgements came in a file ---
#
# Judgements are stored as they came, under the hash of their file. Verdicts are read out of them
# whenever they are wanted, by the benchmark's own procedure, as the replies of a live judge are.

FILE_JUDGE_PREFIX = "brought/"
"""Stands before the stored name of a judge whose judgements a file brought: they are no people's
labels.
"""
_EMPTY = "the file leaves the judgement empty"
NOT_GIVEN = "the files hold no judgement of this answer"
_RECORD = "judgements"
"""The key of the store's records that name which judgements an audit took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgementSet:
    """The judgements of one file by one judge in one asking, about one respondent's answers in one
    administration.
    """

    judge: str
    asking: int
    respondent: str
    form: str
    run: int
    file: str
    """The hash of the file."""
    outputs: Mapping[str, JudgeOutput]
    """Item id -> what the judge said."""

    @property
    def store_name(self) -> str:
        """The judge's name in the store: a corrected file has another hash, so that its judgements
        never mix with these.
        """
        return f"{FILE_JUDGE_PREFIX}{self.judge}{ASKING_SEPARATOR}{self.asking}@{self.file}"

    @property
    def form_run_asking(self) -> tuple[str, int, int]:
        """The form, the run and the asking."""
        return (self.form, self.run, self.asking)

    @property
    def marks(self) -> list[str]:
        """The verdicts and scores that are not empty."""
        return [output.mark for output in self.outputs.values() if output.mark]

    @property
    def record_entry(self) -> list[str | int]:
        """The judgements' entry in the store's record."""
        return [self.judge, self.asking, self.respondent, self.form, self.run, self.file]


class FileJudge:
    """One judge, from all sets that carry its name.

    Parameters
    ----------
    benchmark
        Whose procedure reads the raw replies.
    label
        What cells call the judge.
    sets
        Its judgements.
    """

    def __init__(self, benchmark: Benchmark, label: str, sets: Sequence[JudgementSet]) -> None:
        self.benchmark = benchmark
        self.label = label
        self.sets = tuple(sets)
        # one scale for all files of a judge: a file of low scores alone would seem to end earlier
        self._scale = marks_scale(chain.from_iterable(map(attrgetter("marks"), self.sets)))

    def askings(self) -> list[int]:
        """Return the numbers of the judge's askings, from 0."""
        return sorted(set(map(attrgetter("asking"), self.sets)))

    def covers(self, cell: Cell) -> bool:
        """Whether there are judgements about an administration, in the asking that its judge
        names.
        """
        label, asking = parse_judge(cell.judge)
        if label != self.label:
            asking = 0
        covered = map(attrgetter("form_run_asking"), self.sets)
        return not cell.resolution and (cell.form, cell.run, asking) in covered

    def _outputs(self, name: str, form: str, run: int, asking: int) -> dict[str, JudgeOutput]:
        """Return item -> output of the judge, for one respondent; files may each cover some of the
        items.
        """
        outputs: dict[str, JudgeOutput] = {}
        for judgement_set in self.sets:
            if judgement_set.respondent == name and judgement_set.form_run_asking == (
                form,
                run,
                asking,
            ):
                outputs.update(judgement_set.outputs)
        return outputs

    def ask_about(self, name: str, cell: Cell) -> Callable[[Item], AskJudge]:
        """The `ask` for the procedure on each of a respondent's answers: it gives what the file
        has.
        """
        outputs = self._outputs(name, cell.form, cell.run, parse_judge(cell.judge)[1])
        # A release that scores empty answers scores empty replies too; all others leave them
        # unscored.
        wrap_ask = refuse_empty if self.benchmark.withheld == "unscored" else (lambda ask: ask)

        def ask_about_item(item: Item) -> AskJudge:
            output = outputs.get(item.id)
            if output is None or output.mark == "":
                return _no_reply
            if output.mark is None:
                return wrap_ask(replay(output.replies))
            return _ask_with_mark(self.benchmark, output.mark)

        return ask_about_item

    def words(self, name: str, cell: Cell, item: str) -> tuple[str, ...]:
        """Return the judge's replies to one answer, for display."""
        output = self._outputs(name, cell.form, cell.run, parse_judge(cell.judge)[1]).get(item)
        if output is None:
            return ()
        if output.mark is not None:
            return (f"judge: {output.mark}",)
        return tuple(f"{role}: {text}" for role, texts in output.replies.items() for text in texts)

    def verdicts(self, cell: Cell, form: Form, rows: Rows) -> dict[str, list[Verdict]]:
        """The verdict on every answer, in the order of the form's items; respondent by respondent,
        as the files have them.
        """
        return {
            name: self._respondent_verdicts(cell, form, name, row) for name, row in rows.items()
        }

    def _respondent_verdicts(
        self, cell: Cell, form: Form, name: str, row: Sequence[Response | None]
    ) -> list[Verdict]:
        """Return the verdicts on one respondent's answers, in the order of the form's items."""
        outputs = self._outputs(name, cell.form, cell.run, parse_judge(cell.judge)[1])
        # A benchmark without a procedure has no prompts that a reply could answer: its mark is all
        # there is.
        if not self.benchmark.roles or self.benchmark.included_recordings:
            marks = map(outputs.get, map(attrgetter("id"), form.items))
            return list(starmap(self._mark_verdict, zip(form.items, row, marks, strict=True)))
        judged = verdicts(self.benchmark, form, {name: row}, self.ask_about(name, cell))[name]
        for i, (item, answer) in enumerate(zip(form.items, row, strict=True)):
            # `missing` would say that no judge was asked; here a file was read, and did not have
            # it.
            if judged[i].state == "missing" and answer is not None:
                reason = _EMPTY if item.id in outputs else NOT_GIVEN
                judged[i] = replace(judged[i], reason=reason)
        return judged

    def _mark_verdict(
        self, item: Item, answer: Response | None, output: JudgeOutput | None
    ) -> Verdict:
        answer = answer or Response("", "missing", "not asked")
        if no_answer := self.benchmark.no_answer(answer):
            return no_answer
        if output is None:
            return Verdict.unscored("missing", NOT_GIVEN)
        mark = output.mark
        if mark is None:
            mark = next(chain.from_iterable(output.replies.values()), "")
        return settle(verdict_of_mark(self.benchmark, item, mark, self._scale), answer)

    def matrix(self, cell: Cell, form: Form, rows: Rows, number: int = 0) -> ScoreMatrix:
        """The verdicts of one administration."""
        judged = self.verdicts(cell, form, rows)
        files = set()
        for judgement_set in self.sets:
            if judgement_set.form_run_asking == (cell.form, cell.run, number):
                files.add(digest(judgement_set.record_entry))
        return judged_matrix(self.benchmark, cell, form, rows, judged, files)


Judge = Judging | FileJudge
"""Whoever judges answers: a panel of models that is asked, or a judge whose judgements came in
files.
"""


async def _no_reply(
    role: str, prompt: str, image: str | None = None, schema: Mapping[str, object] | None = None
) -> str:
    raise NotAsked(NOT_GIVEN, location=role)


def _ask_with_mark(benchmark: Benchmark, mark: str) -> AskJudge:
    """Return an `ask` that gives a mark as the procedure reads it; a mark that says nothing leaves
    the answer unscored.
    """
    remaining: dict[str, list[str]] = {}

    async def ask(
        role: str, prompt: str, image: str | None = None, schema: Mapping[str, object] | None = None
    ) -> str:
        if not remaining:
            # A procedure may ask several roles in turn: each call takes the next reply that says
            # what the mark says.
            for name, texts in benchmark.replies_saying(mark).items():
                remaining[name] = list(texts)
        if not remaining.get(role):
            raise NoReply(f"the verdict {mark!r:.60} says nothing more of the {role}")
        return remaining[role].pop(0)

    return ask


# --- in the store ---


def store_judgements(
    store: Store, benchmark: Benchmark, sets: Sequence[JudgementSet]
) -> tuple[JudgementSet, ...]:
    """Store judgements, and that they are the ones of their judges from now on; all sets that hold
    now.

    A judge's earlier judgements of the same respondents stay in the store and are no longer looked
    at; those of other respondents, and of other judges, still hold. A store that is open for
    reading only stays as it is.
    """
    judge_and_judged = attrgetter("judge", "respondent")
    replaced = set(map(judge_and_judged, sets))
    stored = stored_judgements(store, benchmark)
    current = (*(old for old in stored if judge_and_judged(old) not in replaced), *sets)
    if not store.readonly:
        for judgement_set in sets:
            rows = []
            for item, output in judgement_set.outputs.items():
                reply = json.dumps(output.to_dict(), ensure_ascii=False)
                respondent = judgement_set.respondent
                rows.append(Judgement(judgement_set.store_name, item, respondent, None, reply))
            store.judge(benchmark.name, judgement_set.form, judgement_set.run, rows)
        entries = list(map(attrgetter("record_entry"), current))
        # an unchanged record is not written again: a repeated command leaves the store alone
        if _latest_entries(store, benchmark) != entries:
            store.record({_RECORD: {"benchmark": benchmark.name, "sets": entries}})
    return current


def stored_judgements(store: Store, benchmark: Benchmark) -> tuple[JudgementSet, ...]:
    """Return the judgements that hold, as the store has them."""
    sets = []
    for judge, asking, respondent, form, run, file in _latest_entries(store, benchmark):
        outputs: dict[str, JudgeOutput] = {}
        judgement_set = JudgementSet(
            judge=judge,
            asking=asking,
            respondent=respondent,
            form=form,
            run=run,
            file=file,
            outputs=outputs,
        )
        for row in store.judgements(benchmark.name, judgement_set.store_name, form, run):
            if row.respondent == respondent:
                outputs[row.item] = JudgeOutput.from_dict(json.loads(row.reply))
        sets.append(judgement_set)
    return tuple(sets)


def _latest_entries(store: Store, benchmark: Benchmark) -> list[list[Any]]:
    # The store only appends: the latest record is the one that holds.
    for record in reversed(store.records()):
        payload = record.get(_RECORD)
        if isinstance(payload, Mapping) and payload.get("benchmark") == benchmark.name:
            return list(map(list, payload["sets"]))
    return []


def file_judges(benchmark: Benchmark, sets: Sequence[JudgementSet]) -> list[FileJudge]:
    """Return a judge for every name, in the order in which the files were given."""
    by_judge: dict[str, list[JudgementSet]] = {}
    for judgement_set in sets:
        by_judge.setdefault(judgement_set.judge, []).append(judgement_set)
    return [FileJudge(benchmark, label, own_sets) for label, own_sets in by_judge.items()]
