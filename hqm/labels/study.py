"""A study in progress: its plan, its rows, the labels so far, and each rater's next answer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from hqm.benchmark.adapter import Benchmark
from hqm.errors import HQMError
from hqm.files.images import check_picture
from hqm.labels.label_schema import Schema, read_schema
from hqm.labels.label_store import Label, LabelStore
from hqm.labels.rater_view import Shown, benchmark_of, read_facts, shown_rows
from hqm.labels.study_plan import (
    ADJUDICATION,
    Grouping,
    LabelPlan,
    PlanRow,
    labels_path,
    rater_order,
    read_plan,
)
from hqm.psychometrics import Array, Coefficient, stream
from hqm.psychometrics.raters import (
    Pool,
    dawid_skene,
    fleiss_kappa,
    flip_rate,
    gwet_ac1,
    krippendorff_alpha,
    pooled_labels,
    rater_replicates,
)
from hqm.psychometrics.resampling import aggregate, mean_with_error, multiplicities
from hqm.types import Response

_LATEST = 20
"""From how many of the latest labels the time left is reckoned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a rater is."""

    done: int
    count: int
    seconds_left: float | None
    """What the rest will take, by the rater's own pace; None before the first label."""

    @property
    def time_left(self) -> str:
        """The time left in words.

        >>> [Progress(done=1, count=9, seconds_left=s).time_left for s in (20, 95, 7300, None)]
        ['less than a minute left', 'about 2 minutes left', 'about 2 hours left', '']
        """
        if self.seconds_left is None or self.done >= self.count:
            return ""
        minutes = self.seconds_left / 60
        if minutes < 1:
            return "less than a minute left"
        number, unit = (
            (round(minutes), "minute") if minutes < 100 else (round(minutes / 60), "hour")
        )
        return f"about {number} {unit}{'s' * (number != 1)} left"


class Study:
    """A plan opened together with its labels.

    Parameters
    ----------
    path
        The plan's file.
    group
        `picture` shows the answers about one picture in a row.
    facts
        A file of facts that a decomposer made of the answers, for the schema `facts`.
    readonly
        Open the labels for reading only.

    Raises
    ------
    HQMError
        The plan, its benchmark, its store or its labels cannot be used.
    """

    def __init__(
        self,
        path: Path,
        *,
        group: Grouping = "none",
        facts: Path | None = None,
        readonly: bool = False,
    ) -> None:
        self.path, self.group = path, group
        self.plan: LabelPlan = read_plan(path)
        self.schema: Schema = read_schema(self.plan.schema, path.parent)
        self.benchmark: Benchmark = benchmark_of(self.plan)
        self._facts = read_facts(facts) if facts is not None else {}
        memory = readonly and not labels_path(path).is_file()
        self.labels = LabelStore(
            ":memory:" if memory else labels_path(path), readonly=readonly and not memory
        )
        self._orders: dict[str, tuple[str, ...]] = {}

    @cached_property
    def shown(self) -> Mapping[str, Shown]:
        """uid -> what its page shows."""
        return shown_rows(self.plan, self.schema, self.benchmark, self._facts)

    def order(self, rater: str) -> tuple[str, ...]:
        """The uids of a rater in the order in which they are shown."""
        if rater not in self._orders:
            uids = [row.uid for row in self.plan.rows_of(rater)]
            groups = {uid: self.shown[uid].group for uid in uids}
            self._orders[rater] = rater_order(
                uids, groups, seed=self.plan.seed, rater=rater, group=self.group
            )
        return self._orders[rater]

    def labels_of(self, rater: str) -> dict[str, Label]:
        """uid -> a rater's own label that stands."""
        return {
            label.uid: label for label in self.labels.labels(rater) if label.by != "adjudication"
        }

    def waiting(self, rater: str, own_labels: Mapping[str, Label]) -> list[str]:
        """What a rater has not labelled yet, in order."""
        return [uid for uid in self.order(rater) if uid not in own_labels]

    def progress(self, rater: str, own_labels: Mapping[str, Label]) -> Progress:
        """How far a rater is, and what the rest will take."""
        order = self.order(rater)
        done = sum(uid in own_labels for uid in order)
        latest = [
            label.milliseconds for label in own_labels.values() if label.milliseconds is not None
        ][-_LATEST:]
        left = median(latest) / 1000 * (len(order) - done) if latest else None
        return Progress(done=done, count=len(order), seconds_left=left)

    def labels_by_answer(self) -> dict[str, list[Label]]:
        """uid -> what its raters said, as it stands."""
        labels_by_answer: dict[str, list[Label]] = {}
        for label in self.labels.labels():
            if label.by != "adjudication" and label.uid in self.plan.by_uid:
                labels_by_answer.setdefault(label.uid, []).append(label)
        return labels_by_answer

    def adjudicated(self) -> dict[str, Label]:
        """uid -> the label that settles a disagreement."""
        return {
            label.uid: label
            for label in self.labels.labels(ADJUDICATION)
            if label.by == "adjudication"
        }

    def disagreements(self) -> list[str]:
        """The uids on which raters disagree, settled or not, in the order of the plan."""
        labels_by_answer = self.labels_by_answer()
        return [row.uid for row in self.plan.rows if disagree(labels_by_answer.get(row.uid, []))]

    def fetch_pictures(self, *, private: bool = False) -> None:
        """Draw or download the pictures that raters will see; one that fails is shown as missing.

        With `private`, addresses of this machine and of private networks are connected to as well.
        """
        self.benchmark.prepare_images(self.benchmark.original)
        names = [shown.image for shown in self.shown.values() if shown.image]
        self.benchmark.pictures.fetch(names, private=private)

    def picture(self, uid: str) -> Path | None:
        """Return the file of a picture, or None where it is missing or unusable."""
        image = self.shown[uid].image
        if image is None:
            return None
        try:
            path = self.benchmark.pictures.path(image)
            check_picture(path)
        except (HQMError, OSError):
            return None
        return path

    def close(self) -> None:
        self.labels.close()


def disagree(labels: list[Label]) -> bool:
    """Whether raters disagree on an answer; `cannot say` against a label is a disagreement."""
    return len({repr(label.label) for label in labels}) > 1


# --- how a study stands ---
#
# Progress, pace and gold of each rater, agreement with its intervals, and the width reached.


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterStatus:
    """One rater so far."""

    rater: str
    done: int
    count: int
    cannot_say: int
    notes: int
    seconds: float | None
    """The median time of a label; None where none was measured."""
    gold_right: int
    gold_done: int
    """How many answers with a known label the rater has labelled, and how many of them as they
    are.
    """
    time_left: str = ""

    @property
    def gold_accuracy(self) -> float | None:
        return self.gold_right / self.gold_done if self.gold_done else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """One way of saying how far raters agree."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    """The answers that two raters or more have labelled."""
    reason: str = ""
    """Why there is no number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Width:
    """The weighted mean of the labels so far, and the width of its 95% interval.

    It is made of labels alone (Hajek's mean). An audit corrects the scores of all answers by the
    labels, with an interval that is as a rule no wider; that needs the scorer, and the page that
    asks every few seconds does without it.
    """

    mean: float
    low: float
    high: float
    n: int

    @property
    def width(self) -> float:
        return self.high - self.low


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyStatus:
    """How a study stands."""

    raters: tuple[RaterStatus, ...]
    rows: int
    labelled: int
    """The answers that anybody has labelled."""
    overlapping: int
    """The answers that two raters or more have labelled."""
    disagreements: int
    adjudicated: int
    agreement: tuple[Agreement, ...]
    width: Width | None
    expected_width: float | None
    choices: Mapping[str, int]
    """How often each label was given, in words."""

    def to_dict(self) -> dict[str, Any]:
        """The status as JSON data."""
        from dataclasses import asdict

        data = asdict(self)
        data["raters"] = [{**asdict(r), "gold_accuracy": r.gold_accuracy} for r in self.raters]
        if self.width is not None:
            data["width"] = {**asdict(self.width), "width": self.width.width}
        return data


def status_of(study: Study) -> StudyStatus:
    """How a study stands now.

    Agreement is over what was decided: `cannot say` counts as no rating, and its number is given
    beside.
    """
    labels_by_answer, settled = study.labels_by_answer(), study.adjudicated()
    disagreements = study.disagreements()
    width = _width(study, labels_by_answer, settled)
    choices: dict[str, int] = {study.schema.in_words(value): 0 for value in study.schema.values}
    for label in (label for labels in labels_by_answer.values() for label in labels):
        words = study.schema.in_words(label.label)
        choices[words] = choices.get(words, 0) + 1
    return StudyStatus(
        raters=tuple(_rater(study, rater) for rater in study.plan.raters),
        rows=len(study.plan.rows),
        labelled=len(labels_by_answer),
        overlapping=sum(len(labels) > 1 for labels in labels_by_answer.values()),
        disagreements=len(disagreements),
        adjudicated=len(settled.keys() & set(disagreements)),
        agreement=tuple(_agreement(study, labels_by_answer)),
        width=width,
        expected_width=study.plan.expected_width,
        choices=choices,
    )


def _rater(study: Study, rater: str) -> RaterStatus:
    own_labels = study.labels_of(rater)
    progress = study.progress(rater, own_labels)
    times = [
        label.milliseconds / 1000 for label in own_labels.values() if label.milliseconds is not None
    ]
    gold = [
        row for row in study.plan.rows_of(rater) if row.gold is not None and row.uid in own_labels
    ]
    return RaterStatus(
        rater=rater,
        done=progress.done,
        count=progress.count,
        cannot_say=sum(not label.decided for label in own_labels.values()),
        notes=sum(bool(label.note) for label in own_labels.values()),
        seconds=median(times) if times else None,
        gold_right=sum(own_labels[row.uid].label == row.gold for row in gold),
        gold_done=len(gold),
        time_left=progress.time_left,
    )


def ratings(study: Study, labels_by_answer: Mapping[str, Sequence[Label]]) -> Array:
    """(raters, answers): codes of the labels in the order of the schema; NaN where a rater gave
    none, or cannot say.
    """
    code = {
        value: i
        for i, value in enumerate(
            sorted(study.schema.values, key=lambda v: (isinstance(v, str), v))
        )
    }
    raters = list(
        dict.fromkeys(label.rater for labels in labels_by_answer.values() for label in labels)
    )
    table = np.full((len(raters), len(labels_by_answer)), np.nan)
    for column, labels in enumerate(labels_by_answer.values()):
        for label in labels:
            if label.decided:
                table[raters.index(label.rater), column] = code.get(label.label, np.nan)
    return table


def _agreement(
    study: Study, labels_by_answer: Mapping[str, Sequence[Label]]
) -> Iterator[Agreement]:
    table = ratings(study, labels_by_answer)
    twice = int((np.isfinite(table).sum(axis=0) >= 2).sum()) if table.size else 0
    names = ("raw agreement", "Fleiss' kappa", "Krippendorff's alpha", "Gwet's AC1")
    if not twice:
        for name in names:
            yield Agreement(
                name=name,
                value=None,
                low=None,
                high=None,
                n=0,
                reason="no answer has labels of two raters yet",
            )
        return
    ordered = study.schema.kind == "facts" or study.schema.name == "likert"
    differ = flip_rate(table)
    yield _shown(names[0], differ, twice, turned=True)
    yield _shown(names[1], fleiss_kappa(table), twice)
    yield _shown(names[2], krippendorff_alpha(table, "ordinal" if ordered else "nominal"), twice)
    yield _shown(names[3], gwet_ac1(table, categories=len(study.schema.values)), twice)


def _shown(name: str, coefficient: Coefficient, n: int, *, turned: bool = False) -> Agreement:
    if not math.isfinite(coefficient.value):
        return Agreement(name=name, value=None, low=None, high=None, n=n, reason=coefficient.reason)
    ends = (coefficient.fixed.low, coefficient.fixed.high) if coefficient.fixed else (None, None)
    value = coefficient.value
    if turned:
        value = 1 - value
        ends = (None, None) if ends[0] is None or ends[1] is None else (1 - ends[1], 1 - ends[0])
    return Agreement(name=name, value=value, low=ends[0], high=ends[1], n=n)


def _pooled(study: Study, labels: Sequence[Label], settled: Label | None) -> float | None:
    """Return an answer's share from 0 to 1: adjudicated, else the mean of its raters."""
    if settled is not None:
        return study.schema.share(settled.label)
    shares = [share for label in labels if (share := study.schema.share(label.label)) is not None]
    return fmean(shares) if shares else None


def _width(
    study: Study, labels_by_answer: Mapping[str, Sequence[Label]], settled: Mapping[str, Label]
) -> Width | None:
    """Hajek's mean of what was drawn, with its error over pictures; gold answers were not drawn and
    do not count.
    """
    drawn: list[tuple[PlanRow, float]] = []
    for row in study.plan.rows:
        if row.probability is not None and (row.uid in labels_by_answer or row.uid in settled):
            share = _pooled(study, labels_by_answer.get(row.uid, ()), settled.get(row.uid))
            if share is not None:
                drawn.append((row, share))
    clusters = [study.shown[row.uid].group for row, _ in drawn]
    if len(set(clusters)) < 2:
        return None
    weights = np.array([1 / (row.probability or 1.0) for row, _ in drawn])
    shares = np.array([share for _, share in drawn])
    sums = aggregate(np.stack([weights * shares, weights], axis=1), clusters)
    mean, error = mean_with_error(sums[:, :1].T, sums[:, 1:].T)
    from scipy.special import stdtrit

    half = float(stdtrit(len(sums) - 1, 0.975)) * float(error[0])
    middle = float(mean[0])
    return Width(
        mean=middle, low=max(0.0, middle - half), high=min(1.0, middle + half), n=len(drawn)
    )


# --- people beside the benchmark: the table of HQM's own protocol ---
#
# A hundred items, the answers of all respondents, several raters of each answer (Yan et al. 2024).

_REPLICATES = 400
_RESAMPLED = 100
"""In so many samples of the pictures the raters' errors are estimated anew."""
_FEWEST_RATERS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A number with its 95% interval, over other pictures and, for answers, other raters."""

    name: str
    n: int
    value: float
    low: float
    high: float
    score: float | None = None
    """What the benchmark gives the same answers; None where a model judges them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleBeside:
    """What people and the benchmark say of the same answers, and how often each rater errs."""

    respondents: tuple[Measured, ...]
    raters: tuple[Measured, ...]
    """The share of wrong labels of each rater (Dawid and Skene); empty below three raters."""
    correlation: Measured | None
    """Of people's and the benchmark's scores over the respondents."""


def people_beside(study: Study) -> PeopleBeside | None:
    """Set people's scores beside the benchmark's; None before anything is labelled.

    An answer's label is the adjudicated one, else that of most raters (their mean, where labels are
    grades). Labels of other respondents about one picture are resampled together.
    """
    labels, settled = study.labels_by_answer(), study.adjudicated()
    rows = [row for row in study.plan.rows if row.uid in labels and row.probability is not None]
    if study.schema.reviews_items or not rows:
        return None
    raters = study.plan.raters
    x = np.full((len(raters), len(rows)), np.nan)
    for j, row in enumerate(rows):
        for label in labels[row.uid]:
            share = study.schema.share(label.label)
            if label.rater in raters and share is not None:
                x[raters.index(label.rater), j] = share
    binary = bool(np.isin(x[np.isfinite(x)], (0, 1)).all())
    rng = stream(study.plan.seed, "people beside the benchmark")
    pool: Pool = "majority" if binary else "mean"
    pooled = pooled_labels(x, pool)
    drawn = rater_replicates(x, pool, rng, replicates=_REPLICATES)
    for j, row in enumerate(rows):
        if row.uid in settled and (share := study.schema.share(settled[row.uid].label)) is not None:
            pooled[j] = drawn[:, j] = share
    groups = [study.shown[row.uid].group for row in rows]
    scores = _scores(study, rows)
    names = list(dict.fromkeys(row.respondent for row in rows))
    member = np.array([[row.respondent == name for row in rows] for name in names], dtype=float)
    member /= np.array([row.probability for row in rows])
    pictures = multiplicities(len(rows), rng, _REPLICATES, groups)
    ones = np.ones((1, len(rows)))
    by_people = _means(pooled[None], ones, member)[0]
    again = _means(drawn, pictures, member)
    scored = _means(scores[None], ones, member)[0]
    respondents = tuple(
        Measured(
            name=name,
            n=int((np.isfinite(pooled) & (member[i] > 0)).sum()),
            value=float(by_people[i]),
            **_ends(again[:, i]),
            score=float(scored[i]) if math.isfinite(scored[i]) else None,
        )
        for i, name in enumerate(names)
    )
    scores_again = _means(np.tile(scores, (_REPLICATES, 1)), pictures, member)
    both = [_pearson(a, b) for a, b in zip(scores_again, again, strict=True)]
    value = _pearson(scored, by_people)
    return PeopleBeside(
        respondents=respondents,
        raters=tuple(_errors(x, raters, groups, rng)) if binary else (),
        correlation=(
            Measured(name="r", n=len(names), value=value, **_ends(np.array(both)))
            if math.isfinite(value)
            else None
        ),
    )


def _scores(study: Study, rows: Sequence[PlanRow]) -> Array:
    """The benchmark's own values of the answers; NaN where a judge gives them."""
    if study.benchmark.roles:
        return np.full(len(rows), np.nan)
    items = study.benchmark.original.by_id
    verdicts = [
        study.benchmark.score(items[row.item], Response(study.shown[row.uid].answer))
        for row in rows
    ]
    return np.array([np.nan if v.value is None else v.value for v in verdicts], dtype=float)


def _means(values: Array, weights: Array, member: Array) -> Array:
    """(replicates, respondents): weighted means of what is there."""
    there = np.isfinite(values) * weights
    sums = (np.nan_to_num(values) * there) @ member.T
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Array = sums / (there @ member.T)
    return means


def _ends(values: Array) -> dict[str, float]:
    there = values[np.isfinite(values)]
    low, high = np.quantile(there, (0.025, 0.975)) if len(there) else (math.nan, math.nan)
    return {"low": float(low), "high": float(high)}


def _pearson(a: Array, b: Array) -> float:
    there = np.isfinite(a) & np.isfinite(b)
    if there.sum() < 3 or not np.ptp(a[there]) or not np.ptp(b[there]):
        return math.nan
    return float(np.corrcoef(a[there], b[there])[0, 1])


def _errors(
    x: Array, raters: Sequence[str], groups: Sequence[str], rng: np.random.Generator
) -> Iterator[Measured]:
    """How often each rater is wrong, by Dawid and Skene's model, over samples of the pictures."""
    there = np.isfinite(x)
    if there.any(axis=1).sum() < _FEWEST_RATERS or not (there.sum(axis=0) > 1).any():
        return

    def wrong(times: Array) -> Array:
        fit = dawid_skene(np.repeat(x, times.astype(int), axis=1))
        shares: Array = fit.prevalence * (1 - fit.sensitivity)
        return shares + (1 - fit.prevalence) * (1 - fit.specificity)

    value = wrong(np.ones(x.shape[1]))
    samples = multiplicities(x.shape[1], rng, _RESAMPLED, groups)
    again = np.array([wrong(times) for times in samples])
    for i, name in enumerate(raters):
        yield Measured(
            name=name, n=int(there[i].sum()), value=float(value[i]), **_ends(again[:, i])
        )
