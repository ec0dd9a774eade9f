"""Verdicts that somebody read out of a judge's reply already, as verdicts of the benchmark's own
scoring.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.judge_api import AGAIN, AskJudge, as_number, parse_judge, played_back, whole
from hqm.errors import NoReply
from hqm.imports.row import JudgeOutput
from hqm.judges.judge_models import Judging
from hqm.judges.procedure import NotAsked, Rows, judged_matrix, verdicts
from hqm.scoring.matrix import ScoreMatrix
from hqm.scoring.metrics import UNIT
from hqm.scoring.rules import settle, yes_no_truth
from hqm.signature import digest
from hqm.store.database import Store
from hqm.types import Cell, Form, Item, Judgement, Response, Verdict

_RIGHT = frozenset(("true", "correct", "right", "faithful", "without hallucination"))
_WRONG = frozenset(("false", "incorrect", "wrong", "hallucinated", "with hallucination"))
_OPPOSITE = {"yes": "no", "no": "yes"}


_TOPS = (1, 2, 3, 4, 5, 6, 7, 10, 100)
"""What scales of judges end in."""


def top_of_scale(marks: Iterable[str]) -> float:
    """The end of the scale of which a judge's marks are, which begins with 0: the lowest usual one
    that no mark exceeds.

    >>> top_of_scale(["0.5", "1", "yes"]), top_of_scale(["3", "8"]), top_of_scale(["250", "0"])
    (1.0, 10.0, 250.0)
    """
    highest = max((value for mark in marks if (value := as_number(mark)) is not None), default=1.0)
    return float(next((top for top in _TOPS if highest <= top), highest))


def share_right(mark: str, top: float = 1.0) -> float | None:
    """A mark as a share of right, 1 or 0 for a word; None for what is none.

    >>> share_right("Correct."), share_right("0"), share_right("7", 10), share_right("unclear")
    (1.0, 0.0, 0.7, None)
    """
    word = mark.strip().strip(".!*").lower()
    if word in _RIGHT or word in _WRONG:
        return float(word in _RIGHT)
    value = as_number(word)
    return value / top if value is not None and 0 <= value <= top else None


def verdict_of_share(benchmark: Benchmark, item: Item, share: float, read: str = "") -> Verdict:
    """The verdict that a share of right stands for, of a benchmark that a rule or a tool scores.

    A yes/no answer that is right says what the key says, and a wrong one the opposite: the tally
    counts it so.
    """
    if benchmark.tool_scored or (benchmark.brought and benchmark.roles):
        metric = benchmark.audited[0]
        if metric.scale == UNIT and metric.better == "higher":
            return benchmark.verdict_of_scores({metric.name: share}, read)
    elif item.task == "yes_no":
        truth = yes_no_truth(item)
        right, wrong = (
            benchmark.score(item, Response(word.capitalize())) for word in (truth, _OPPOSITE[truth])
        )
        if right.value == 1 and wrong.value == 0:
            names = dict.fromkeys([*right.tally, *wrong.tally])
            mixed = {
                n: share * right.tally.get(n, 0.0) + (1 - share) * wrong.tally.get(n, 0.0)
                for n in names
            }
            return Verdict(share, mixed, "ok", read)
    elif item.task in ("choice", "vqa"):
        return Verdict(share, {"right": share, "n": 1.0}, "ok", read)
    return Verdict.unscored(
        "unparsed", f"no tally of {benchmark.name} follows from a score of {share:g}"
    )


def verdict_of_mark(benchmark: Benchmark, item: Item, mark: str, top: float = 1.0) -> Verdict:
    """The verdict that a mark in a file stands for, of a benchmark that a rule scores; unscored
    where it says nothing.

    "yes" and "no" are what the judge read in the answer to a yes/no question; a share, true or
    false, correct or incorrect is whether the answer is right. A number is a share of `top`.
    """
    if not mark:
        return Verdict.unscored("missing", "the file leaves the judgement empty")
    word = mark.strip().strip(".!*").lower()
    if item.task == "yes_no" and word in _OPPOSITE:
        return benchmark.score(item, Response(word.capitalize()))
    share = share_right(mark, top)
    if share is None:
        return Verdict.unscored(
            "unparsed", f"the judgement {mark!r:.60} says neither right nor wrong"
        )
    return verdict_of_share(benchmark, item, share, mark)


# --- a judge whose judgements came in a file ---
#
# Judgements are stored as they came, under the hash of their file. Verdicts are read out of them
# whenever they are wanted, by the benchmark's own procedure, as the replies of a live judge are.

BROUGHT = "brought/"
"""Stands before the stored name of a judge whose judgements a file brought: they are no people's
labels.
"""
NOT_GIVEN = "the files hold no judgement of this answer"
_RECORD = "judgements"
"""The key of the store's records that name which judgements an audit took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BroughtSet:
    """What one file brings of one judge, asked once, about one respondent's answers in one
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
    def stored_as(self) -> str:
        """The judge's name in the store: a corrected file has another hash, so that its judgements
        never mix with these.
        """
        return f"{BROUGHT}{self.judge}{AGAIN}{self.asking}@{self.file}"

    @property
    def named(self) -> list[Any]:
        """What the store's record says of it."""
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

    def __init__(self, benchmark: Benchmark, label: str, sets: Sequence[BroughtSet]) -> None:
        self.benchmark, self.label, self.sets = benchmark, label, tuple(sets)
        outputs = (output for each in self.sets for output in each.outputs.values())
        self._top = top_of_scale(output.mark for output in outputs if output.mark)

    def askings(self) -> list[int]:
        """Which times the judge was asked, from 0."""
        return sorted({each.asking for each in self.sets})

    def sees(self, cell: Cell) -> bool:
        """Whether there are judgements about an administration, in the asking that its judge
        names.
        """
        label, asking = parse_judge(cell.judge)
        at = (cell.form, cell.run, asking if label == self.label else 0)
        return not cell.resolution and any(
            (each.form, each.run, each.asking) == at for each in self.sets
        )

    def _outputs(self, name: str, form: str, run: int, asking: int) -> dict[str, JudgeOutput]:
        """Item -> what was said of one respondent's answers; several files may each be about some
        of the items.
        """
        outputs: dict[str, JudgeOutput] = {}
        for each in self.sets:
            if (each.respondent, each.form, each.run, each.asking) == (name, form, run, asking):
                outputs.update(each.outputs)
        return outputs

    def ask_about(self, name: str, cell: Cell) -> Callable[[Item], AskJudge]:
        """The `ask` for the procedure on each of a respondent's answers: it gives what the file
        has.
        """
        outputs = self._outputs(name, cell.form, cell.run, parse_judge(cell.judge)[1])
        heard = whole if self.benchmark.withheld == "unscored" else (lambda ask: ask)

        def about(item: Item) -> AskJudge:
            output = outputs.get(item.id)
            if output is None or output.mark == "":
                return _without
            if output.mark is None:
                return heard(played_back(output.replies))
            return _marked(self.benchmark, output.mark)

        return about

    def words(self, name: str, cell: Cell, item: str) -> tuple[str, ...]:
        """What the judge said of one answer, for a reader."""
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
        return {name: self._of_one(cell, form, name, row) for name, row in rows.items()}

    def _of_one(
        self, cell: Cell, form: Form, name: str, row: Sequence[Response | None]
    ) -> list[Verdict]:
        outputs = self._outputs(name, cell.form, cell.run, parse_judge(cell.judge)[1])
        if self.benchmark.roles and not self.benchmark.brought:
            made = verdicts(self.benchmark, form, {name: row}, self.ask_about(name, cell))[name]
            reasons = {True: "the file leaves the judgement empty", False: NOT_GIVEN}
            return [
                (
                    replace(verdict, reason=reasons[item.id in outputs])
                    if verdict.state == "missing" and answer is not None
                    else verdict
                )
                for item, answer, verdict in zip(form.items, row, made, strict=True)
            ]
        return [
            self._by_mark(item, a, outputs.get(item.id))
            for item, a in zip(form.items, row, strict=True)
        ]

    def _by_mark(self, item: Item, answer: Response | None, output: JudgeOutput | None) -> Verdict:
        answer = answer or Response("", "missing", "not asked")
        if none := self.benchmark.no_answer(answer):
            return none
        if output is None:
            return Verdict.unscored("missing", NOT_GIVEN)
        texts = [text for texts in output.replies.values() for text in texts]
        return settle(
            verdict_of_mark(
                self.benchmark,
                item,
                (texts or [""])[0] if output.mark is None else output.mark,
                self._top,
            ),
            answer,
        )

    def matrix(self, cell: Cell, form: Form, rows: Rows, number: int = 0) -> ScoreMatrix:
        """The verdicts of one administration."""
        judged = self.verdicts(cell, form, rows)
        files = {
            digest([*s.named])
            for s in self.sets
            if (s.form, s.run, s.asking) == (cell.form, cell.run, number)
        }
        return judged_matrix(self.benchmark, cell, form, rows, judged, files)


Judge = Judging | FileJudge
"""Whoever judges answers: a panel of models that is asked, or a judge whose judgements came in
files.
"""


async def _without(
    role: str, prompt: str, image: str | None = None, schema: Mapping[str, Any] | None = None
) -> str:
    raise NotAsked(NOT_GIVEN, location=role)


def _marked(benchmark: Benchmark, mark: str) -> AskJudge:
    """An `ask` that gives a mark as the procedure reads it; a mark that says nothing leaves the
    answer unscored.
    """
    left: dict[str, list[str]] = {}

    async def ask(
        role: str, prompt: str, image: str | None = None, schema: Mapping[str, Any] | None = None
    ) -> str:
        if not left:
            left.update(
                {name: list(texts) for name, texts in benchmark.replies_saying(mark).items()}
            )
        if not left.get(role):
            raise NoReply(f"the verdict {mark!r:.60} says nothing more of the {role}")
        return left[role].pop(0)

    return ask


# --- in the store ---


def keep(store: Store, benchmark: Benchmark, sets: Sequence[BroughtSet]) -> tuple[BroughtSet, ...]:
    """Store judgements, and that they are the ones of their judges from now on; all sets that hold
    now.

    A judge's earlier judgements of the same respondents stay in the store and are no longer looked
    at; those of other respondents, and of other judges, still hold. A store that is open for
    reading only stays as it is.
    """
    judged = {(each.judge, each.respondent) for each in sets}
    earlier = [
        each for each in stored(store, benchmark) if (each.judge, each.respondent) not in judged
    ]
    hold = (*earlier, *sets)
    if not store.readonly:
        for each in sets:
            rows = [
                Judgement(
                    each.stored_as,
                    item,
                    each.respondent,
                    None,
                    json.dumps(heard.to_dict(), ensure_ascii=False),
                )
                for item, heard in each.outputs.items()
            ]
            store.judge(benchmark.name, each.form, each.run, rows)
        named = [each.named for each in hold]
        if _latest(store, benchmark) != named:
            store.record({_RECORD: {"benchmark": benchmark.name, "sets": named}})
    return hold


def stored(store: Store, benchmark: Benchmark) -> tuple[BroughtSet, ...]:
    """The judgements that hold, as the store has them."""
    sets = []
    for judge, asking, respondent, form, run, file in _latest(store, benchmark):
        each = BroughtSet(
            judge=judge,
            asking=asking,
            respondent=respondent,
            form=form,
            run=run,
            file=file,
            outputs={},
        )
        rows = store.judgements(benchmark.name, each.stored_as, form, run)
        outputs = {
            r.item: JudgeOutput.from_dict(json.loads(r.reply))
            for r in rows
            if r.respondent == respondent
        }
        sets.append(replace(each, outputs=outputs))
    return tuple(sets)


def _latest(store: Store, benchmark: Benchmark) -> list[list[Any]]:
    for record in reversed(store.records()):
        kept = record.get(_RECORD)
        if isinstance(kept, Mapping) and kept.get("benchmark") == benchmark.name:
            return [list(named) for named in kept["sets"]]
    return []


def judges_of(benchmark: Benchmark, sets: Sequence[BroughtSet]) -> list[FileJudge]:
    """A judge for every name, in the order in which the files were given."""
    return [
        FileJudge(benchmark, label, [each for each in sets if each.judge == label])
        for label in dict.fromkeys(each.judge for each in sets)
    ]
