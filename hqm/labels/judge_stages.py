"""The stages of a judge, each compared with people: its decisions on the units that people
labelled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.judge_api import AskJudge
from hqm.imports.human_labels import ADJUDICATION, HUMAN, RATER, LabelContext
from hqm.judges.file_judge import BroughtJudge, Judge
from hqm.judges.judge_models import Judging
from hqm.judges.procedure import NotAsked, Unit, decisions, verdicts
from hqm.labels.people_labels import Labels
from hqm.psychometrics import pooled_labels
from hqm.psychometrics.result import Array
from hqm.types import ORIGINAL, Cell, Form, Item, Judgement, Response

Answers = Mapping[tuple[str, str], Response]
"""(respondent, item) -> the stored answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledUnit:
    """A sub-sentence or a fact of an answer, with its label by people."""

    role: str
    item: Item
    respondent: str
    text: str
    label: float
    """1 or 0; NaN where as many raters said the one as the other."""

    @property
    def answer(self) -> tuple[str, str]:
        """The respondent and the item."""
        return (self.respondent, self.item.id)


@dataclass(frozen=True, kw_only=True, eq=False)
class StageEvidence:
    """One stage of one judge beside people, unit by unit.

    - `judge, human`: (units,): 1, 0, or NaN where there is no decision.
    - `clusters`: (units,): the picture of each unit's item. `weights`: (units,): 1 / probability of
      the answer's being labelled.
    - `not_asked`: units about which the judge holds no reply; `unread`: units whose reply says
      neither yes nor no, or failed; `unresolved`: units on which people do not agree; `unit, yes,
      no`: what is decided, in words.
    """

    role: str
    label: str
    """What cells call the judge."""
    unit: str
    yes: str
    no: str
    judge: Array
    human: Array
    clusters: Sequence[str]
    weights: Array
    not_asked: int
    unread: int
    unresolved: int


def labelled_units(benchmark: Benchmark, form: Form, labels: Labels) -> list[LabelledUnit]:
    """Return the units that people labelled, by stage; several raters' labels by majority.

    What was adjudicated takes the place of the raters' own. A unit that one rater alone wrote, as a
    fact that this rater added, has that rater's label.
    """
    by_answer: dict[tuple[str, str], list[Judgement]] = {}
    for judgement in labels.judgements:
        if judgement.judge.partition(RATER)[0] == HUMAN and benchmark.stages:
            by_answer.setdefault((judgement.respondent, judgement.item), []).append(judgement)
    units = []
    for (respondent, item), judgements_of_answer in by_answer.items():
        own = [j for j in judgements_of_answer if RATER in j.judge] or judgements_of_answer
        settled = [
            j
            for j in own
            if j.judge.endswith(f"{RATER}{ADJUDICATION}") and LabelContext.of(j).stages
        ]
        stages_said = [LabelContext.of(j).stages for j in settled or own]
        for role in benchmark.stages:
            texts = dict.fromkeys(text for stages in stages_said for text in stages.get(role, {}))
            for text in texts if item in form.by_id else ():
                votes = [[float(s[role][text])] for s in stages_said if text in s.get(role, {})]
                (label,) = pooled_labels(votes)
                units.append(
                    LabelledUnit(
                        role=role,
                        item=form.by_id[item],
                        respondent=respondent,
                        text=text,
                        label=float(label),
                    )
                )
    return units


def stage_evidence(
    benchmark: Benchmark,
    judges: Sequence[Judge],
    cell: Cell,
    units: Sequence[LabelledUnit],
    answers: Answers,
    probabilities: Mapping[tuple[str, str], float],
) -> tuple[StageEvidence, ...]:
    """Compare each judge's stored decisions with people's labels, judge by judge and stage by
    stage.

    Units of answers that are not there are left out, and with probabilities those of answers that
    have none.
    """
    used = [
        u for u in units if u.answer in answers and (not probabilities or u.answer in probabilities)
    ]
    asked = units_asked(used, answers)
    evidence = []
    for judge in judges if used else ():
        stages_said = decisions(benchmark, asked, _asks(benchmark, judge, cell, used, answers))
        for role, stage in benchmark.stages.items():
            own = [
                (unit, verdict)
                for unit, verdict in zip(used, stages_said, strict=True)
                if unit.role == role
            ]
            if not own:
                continue
            evidence.append(
                StageEvidence(
                    role=role,
                    label=judge.label,
                    unit=stage.unit,
                    yes=stage.yes,
                    no=stage.no,
                    judge=np.array([np.nan if v.value is None else v.value for _, v in own]),
                    human=np.array([unit.label for unit, _ in own]),
                    clusters=tuple(u.item.cluster or u.item.image or u.item.id for u, _ in own),
                    weights=np.array(
                        [1 / probabilities[u.answer] if probabilities else 1.0 for u, _ in own]
                    ),
                    not_asked=sum(v.state == "missing" for _, v in own),
                    unread=sum(not v.scored and v.state != "missing" for _, v in own),
                    unresolved=sum(unit.label != unit.label for unit, _ in own),
                )
            )
    return tuple(evidence)


def units_asked(units: Sequence[LabelledUnit], answers: Answers) -> list[Unit]:
    """Prepare the units as a judge is asked about them, leaving out those of missing answers."""
    return [Unit(u.role, u.item, answers[u.answer], u.text) for u in units if u.answer in answers]


def _asks(
    benchmark: Benchmark, judge: Judge, cell: Cell, units: Sequence[LabelledUnit], answers: Answers
) -> Callable[[int], AskJudge]:
    """Return an `ask` that replays stored replies and asks nobody."""
    if isinstance(judge, Judging):
        asking = judge.asking(0)
        return lambda _: asking
    heard = {u.answer: _heard(benchmark, judge, cell, u, answers[u.answer]) for u in units}
    return lambda i: heard[units[i].answer]


def _heard(
    benchmark: Benchmark, judge: BroughtJudge, cell: Cell, unit: LabelledUnit, answer: Response
) -> AskJudge:
    """What a file says that a judge replied about one answer, by what it was asked.

    The file has replies in their order: the judge procedure is run on them, and what it asks is
    noted beside each. A question is known by its words, so that a full stop more or less makes no
    other one of it.
    """
    source = judge.ask_about(unit.respondent, replace(cell, judge=judge.label))(unit.item)
    known: dict[tuple[str, str], str] = {}

    async def noted(role: str, prompt: str, image: str | None = None, schema: Any = None) -> str:
        reply = await source(role, prompt, image, schema)
        known[role, _words(prompt)] = reply
        return reply

    async def ask(role: str, prompt: str, image: str | None = None, schema: Any = None) -> str:
        if (role, _words(prompt)) not in known:
            raise NotAsked("the files hold no reply about it", place=role)
        return known[role, _words(prompt)]

    verdicts(benchmark, Form(ORIGINAL, (unit.item,)), {unit.respondent: [answer]}, lambda _: noted)
    return ask


def _words(prompt: str) -> str:
    return " ".join(re.findall(r"\w+", prompt.lower()))
