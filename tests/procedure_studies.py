"""Every estimate of a frozen study: the answers of all administrations stand in the corpus.

A row of answers is a text with a character for each item: 1 right, 0 wrong, - not scored.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np
import pandas as pd

import hqm
from hqm.auditing.policy import Policy
from hqm.auditing.precision import more_items, total_precision
from hqm.benchmark.adapter import Calibration, FormLoss
from hqm.indicators import (
    Protocol,
    case,
    compare,
    compare_forms,
    compare_runs,
    compare_stage,
    describe,
    expected,
    people_agree,
)
from hqm.labels.people_labels import FAITHFUL, PooledLabels, StageEvidence
from hqm.scoring.matrix import ScoreMatrix
from hqm.scoring.metrics import ACCURACY, YES_NO, Metric, mean_of
from hqm.types import STATES, Cell, Estimate, Form, Item

PROTOCOL = Protocol("frozen@1", "b2:0", "official(strict)")
METRICS = {
    "accuracy": YES_NO[0],
    "f1": YES_NO[3],
    "wrong": Metric("wrong", mean_of("fp", "fn"), "lower", share=True),
}
KINDS = {"e": "existence", "a": "attribute", "c": "counting"}
MAX_RESPONDENTS = 12
NAMES = ("dog", "cat", "car", "cup", "hat", "key", "bus", "map", "tree", "boat", "lamp")


def estimate_study(study: Mapping[str, Any]) -> dict[str, Any]:
    """Statistic -> its estimates in every administration of a frozen study."""
    outcomes: dict[str, Any] = {}
    for estimate in _estimates(study):
        key = " ".join(filter(None, (estimate.metric, estimate.first, estimate.other)))
        by_key = outcomes.setdefault(f"statistic.{estimate.indicator}", {})
        while key in by_key:  # the same administrations with other settings
            key += "'"
        by_key[key] = _estimate_row(estimate)
    outcomes["audit.numbers"] = _audit_numbers(study)
    return outcomes


def _audit_numbers(study: Mapping[str, Any]) -> dict[str, Any]:
    """What an audit of a frozen study's first answers says besides its estimates.

    Twelve respondents and two forms are enough for nearly every branch, and take a second; several
    other wordings and people's labels have rows of their own in the budget.
    """
    cells = [("original", str(k), rows) for k, rows in enumerate(study["runs"])]
    cells.append(("reworded", "0", study["forms"][0]))
    audited = hqm.audit(_answer_table(study, cells))
    policy = Policy.load()
    numbers = {
        "budget": asdict(audited.budget["score"]),
        "components": audited.components,
        "remedies": [(remedy.what, remedy.count, remedy.cost) for remedy in audited.mend],
        "more": asdict(more_items(audited, policy)),
        "precision": asdict(total_precision(audited)),
    }
    cells = [("original", "0", study["runs"][0])]
    cells += [(f"parallel{k}", "0", rows) for k, rows in enumerate(study["forms"][:2], 2)]
    with NamedTemporaryFile("w", suffix=".csv") as labels:
        _label_table(study).to_csv(labels, index=False)
        labels.flush()
        labelled = hqm.audit(_answer_table(study, cells), criterion=labels.name)
    numbers["labelled budget"] = asdict(labelled.budget["score"])
    outcome = {name: [*map(rounded_number, numbers_in(value))] for name, value in numbers.items()}
    return {**outcome, "answers": dict(audited.answers)}


def _answer_table(
    study: Mapping[str, Any], cells: Sequence[tuple[str, str, Sequence[str]]]
) -> pd.DataFrame:
    """The answers of twelve respondents in some forms and runs."""
    rows: list[dict[str, object]] = []
    for form, run, answers in cells:
        for k, marks in enumerate(answers[:MAX_RESPONDENTS]):
            for index, mark in enumerate(marks):
                if mark != "-":
                    rows.append(
                        {
                            "model": f"model {k:02d}",
                            "item": f"q{index}",
                            "image": f"{index // study['items_per_picture']}.png",
                            "type": KINDS.get(study["types"][index], ""),
                            "form": form,
                            "run": run,
                            "score": int(mark),
                        }
                    )
    return pd.DataFrame(rows)


def _label_table(study: Mapping[str, Any]) -> pd.DataFrame:
    """People's labels on answers of the original form."""
    rows = []
    for k, marks in enumerate(study["labels"][:MAX_RESPONDENTS]):
        for index, (label, answer) in enumerate(zip(marks, study["runs"][0][k], strict=False)):
            if "-" not in (label, answer):
                rows.append({"respondent": f"model {k:02d}", "item": f"q{index}", "label": label})
    return pd.DataFrame(rows)


def _estimate_row(estimate: Estimate) -> list[Any]:
    """What an estimate says, with one number for all numbers of its detail."""
    spans = [
        [rounded_number(span.low), rounded_number(span.high), span.inference[:5], span.level]
        for span in estimate.intervals
    ]
    sample = [estimate.n_respondents, estimate.n_items, estimate.unscored]
    flags = "+".join(estimate.flags)
    value = rounded_number(math.nan if estimate.value is None else estimate.value)
    return [value, estimate.status, flags, spans, sample, *summary(estimate.detail)]


def summary(detail: object) -> tuple[int, float | str]:
    """How many numbers there are, and their sum; later ones weigh more, so that two that change
    places are seen.
    """
    numbers = list(numbers_in(detail))
    total = sum(value * (1 + index / 100) for index, value in enumerate(numbers))
    return len(numbers), rounded_number(total)


def rounded_number(value: float) -> float | str:
    """A number to ten digits; of one that is none its name."""
    return float(f"{value:.10g}") if math.isfinite(value) else str(value)


def numbers_in(detail: Any) -> Iterator[float]:
    """Every finite number of a detail, however deep."""
    if isinstance(detail, Mapping):
        for key in sorted(detail, key=str):
            yield from numbers_in(detail[key])
    elif isinstance(detail, (list, tuple, np.ndarray)):
        for value in detail:
            yield from numbers_in(value)
    elif isinstance(detail, (int, float, np.number)) and math.isfinite(detail):
        yield float(detail)


class _Frozen:
    """The administrations of a study as score matrices."""

    def __init__(self, study: Mapping[str, Any]) -> None:
        self.study = study
        self.items = tuple(self._item(index) for index in range(len(study["targets"])))
        self.respondents = tuple(f"model {k:02d}" for k in range(len(study["runs"][0])))
        self.families = tuple(study["families"])

    def _item(self, index: int) -> Item:
        study = self.study
        first, second = NAMES[index * 7 % 11], NAMES[(index * 5 + index // 11) % 11]
        return Item(
            f"q{index * 7919 % 1000:03d}x{index}",
            f"Is there a {first} near the {second} in the image?",
            "yes_no",
            {"y": "yes", "n": "no"}[study["targets"][index]],
            f"{index // study['items_per_picture']}.png",
            KINDS.get(study["types"][index]),
            part=study["parts"][index] if "parts" in study else "",
            cluster=f"{index // study['items_per_picture']}",
            meta={"added": 2023 + index % 2},
        )

    def matrix(
        self, rows: Sequence[str], cell: Cell | None = None, *, is_turned: bool = False
    ) -> ScoreMatrix:
        """The scores of one administration; where it is turned, its keys are the others."""
        right = np.array([list(row) for row in rows])
        items = self.items
        if is_turned:
            keys = {"yes": "no", "no": "yes"}
            items = tuple(replace(item, target=keys[str(item.target)]) for item in items)
        is_yes = np.array([item.target == "yes" for item in items])
        scored = right != "-"
        tallies = {
            "tp": (right == "1") & is_yes,
            "fp": (right == "0") & ~is_yes,
            "tn": (right == "1") & ~is_yes,
            "fn": (right == "0") & is_yes,
        }
        respondent, item = np.indices(right.shape)
        return ScoreMatrix(
            cell or Cell(),
            self.respondents,
            items,
            np.where(scored, (right == "1").astype(float), np.nan),
            {key: values.astype(float) for key, values in tallies.items()},
            np.where(scored, STATES.index("ok"), STATES.index("unparsed")).astype(np.uint8),
            1.0 + (respondent * 5 + item * 3) % 7 + 2.0 * is_turned,
            {kind: np.array([i.type == kind for i in items]) for kind in KINDS.values()},
            f"{cell}",
        )

    def labels(self, rows: Sequence[str]) -> ScoreMatrix:
        """People's labels on the first items."""
        marks = np.array([list(row) for row in rows])
        is_labelled = marks != "-"
        faithful = (marks == "1").astype(float)
        return ScoreMatrix(
            Cell(judge="human"),
            self.respondents,
            self.items[: marks.shape[1]],
            np.where(is_labelled, faithful, np.nan),
            {"faithful": faithful, "n": is_labelled.astype(float)},
            np.zeros(marks.shape, np.uint8),
            np.full(marks.shape, np.nan),
            {},
            "labels",
        )

    def stage(self) -> StageEvidence:
        """One stage of a judge with people's labels on what it decides."""
        judge, human = self.study["stage"]
        marks = {"1": 1.0, "0": 0.0, "-": math.nan}
        return StageEvidence(
            role="verifier",
            label="a@1",
            unit="fact",
            yes="holds",
            no="does not hold",
            judge=np.array([marks[mark] for mark in judge]),
            human=np.array([marks[mark] for mark in human]),
            clusters=[f"p{i // 3}" for i in range(len(judge))],
            weights=1.0 + np.arange(len(judge)) % 3,
            not_asked=1,
            unread=2,
            unresolved=3,
        )

    def sample(self, labels: ScoreMatrix) -> PooledLabels:
        """How the labels came about: two raters, and answers drawn with known probabilities."""
        answers = [(name, item.id) for name in self.respondents for item in labels.items]
        raters = {
            f"human:{rater}": {
                answer: float(mark) for answer, mark in zip(answers, marks, strict=False)
            }
            for rater, marks in self.study["raters"].items()
        }
        drawn = {answer: (0.25, 0.5, 1.0)[k % 3] for k, answer in enumerate(answers)}
        return PooledLabels(
            judgements=(),
            pool="majority",
            raters=raters,
            probabilities=drawn if self.study["is_drawn"] else {},
        )

    def choices(self, rows: Sequence[str]) -> ScoreMatrix:
        """The same answers as choices of two options, with the slots that were chosen."""
        first = self.matrix(rows)
        is_a = np.array([k % 2 == 0 for k in range(len(self.items))])
        right = np.nan_to_num(first.values)
        options = tuple(
            replace(item, task="choice", target="AB"[k % 2], options=("x", "y"))
            for k, item in enumerate(self.items)
        )
        slots = {"slot_A": (right == 1) == is_a, "slot_B": (right == 1) != is_a}
        tallies = {key: values.astype(float) for key, values in slots.items()}
        tallies |= {"right": right, "n": np.ones(right.shape)}
        return replace(first, items=options, tallies=tallies)


def _estimates(study: Mapping[str, Any]) -> Iterator[Estimate]:
    """All estimates of an audit of a frozen study."""
    frozen = _Frozen(study)
    metric = METRICS[study["metric"]]
    related = {"families": frozen.families, "n_effective": study["n_effective"]}
    arguments = (metric, PROTOCOL)
    runs = [frozen.matrix(rows, Cell(run=k)) for k, rows in enumerate(study["runs"])]
    first = runs[0]
    settings = {**related, "deterministic": study["is_deterministic"]}
    yield from compare_runs(runs, *arguments, **settings)
    yield from compare("run", first, runs[1], *arguments, **settings)
    forms = [
        frozen.matrix(rows, Cell(form=f"parallel{k}"))
        for k, rows in enumerate(study["forms"], start=2)
    ]
    turned = frozen.matrix(study["turned"], Cell(form="parallel"), is_turned=True)
    yield from compare("form", first, turned, *arguments, runs=runs, **related)
    margin = replace(PROTOCOL, margin=0.05)
    yield from compare("form", first, forms[0], metric, margin, runs=runs, **related)
    for count in (2, 1 + len(forms)):
        yield from compare_forms([first, *forms[: count - 1]], *arguments, **related)
    judged = [frozen.matrix(study["runs"][0], Cell(judge="a@1"))]
    for name, rows in study["judges"].items():
        judged.append(frozen.matrix(rows, Cell(judge=name)))
        repeats = [replace(run, cell=replace(run.cell, judge="a@1")) for run in runs]
        yield from compare("judge", judged[0], judged[-1], *arguments, runs=repeats, **related)
        ids = [item.id for item in first.items[: 2 * len(first.items) // 3]]
        sampled = judged[-1].take(first.respondents, ids)
        yield from compare("judge", judged[0], sampled, *arguments, **related)
    blind = frozen.matrix(study["blind"], Cell(sight="blind"))
    yield from compare("sight", first, blind, *arguments, **related)
    small = frozen.matrix(study["small"], Cell(resolution="50"))
    yield from compare("resolution", first, small, *arguments, **related)
    yield from _labelled(frozen, first, metric)
    yield from describe(
        first,
        *arguments,
        Form("original", first.items),
        ("existence", "ocr"),
        families=frozen.families,
        blind=blind,
        n_effective=study["n_effective"],
        copies={"1.png": "0.png"},
        calibration=_calibration(first, metric),
    )
    chances = np.array([[int(digit) / 10 + 0.05 for digit in row] for row in study["chances"]])
    single = case("expected", "", (first,), *arguments, **related)
    yield from expected(single, chances, study["temperature"])
    choices = frozen.choices(study["runs"][0])
    shuffled = replace(frozen.choices(study["forms"][0]), cell=Cell(form="parallel"))
    yield from compare("form", choices, shuffled, ACCURACY[0], PROTOCOL, **related)


def _labelled(frozen: _Frozen, first: ScoreMatrix, metric: Metric) -> Iterator[Estimate]:
    """The estimates beside people's labels, an oracle's, and those of a judge's stage."""
    labels = frozen.labels(frozen.study["labels"])
    sample = frozen.sample(labels)
    for settings in ({"sample": sample, "levels": ("model", "answer", "item")}, {}):
        yield from compare(
            "judge", first, labels, metric, PROTOCOL, second_metric=FAITHFUL, **settings
        )
    oracle = replace(labels, cell=Cell(judge="oracle"))
    yield from compare("judge", first, oracle, metric, PROTOCOL, second_metric=FAITHFUL)
    yield from compare_stage(frozen.stage(), first, labels, PROTOCOL, sample=sample)
    labels_case = case("criterion", "judge", (first,), metric, PROTOCOL, sample=sample)
    yield from people_agree(labels_case, sample.raters)


def _calibration(first: ScoreMatrix, metric: Metric) -> Calibration:
    """How the items stand for a longer benchmark."""
    n_items = len(first.items)
    loss = FormLoss(
        mean_error=0.02,
        bias=0.01,
        tau=0.8,
        coverage=0.93,
        half_width=0.1,
        factor=1.5,
        freedom=6.0,
        respondents=12,
    )
    return Calibration(
        of="long",
        version="2",
        of_items=4 * n_items,
        form="a",
        audit="b2:1",
        answers="b2:2",
        signature="s",
        method="m",
        words="w",
        errors={},
        respondents=("x", "y"),
        families=("f", "g"),
        seed=0,
        ids=tuple(item.id for item in first.items),
        weights=2.0 + np.arange(n_items) % 5,
        auxiliary=np.ones((n_items, 1)),
        loss={metric.name: loss},
        parallel={metric.name: {"reliability": 0.9, "mean_shift": -0.01, "respondents": 12}},
    )
