"""A study in progress: its plan, its rows, the labels so far, and each rater's next answer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

import numpy as np

from hqm.benchmark.adapter import Benchmark
from hqm.errors import HQMError
from hqm.files.images import check_picture
from hqm.psychometrics import Array, Coefficient, stream
from hqm.psychometrics.agreement.raters import (
    Pool,
    dawid_skene,
    fleiss_kappa,
    flip_rate,
    gwet_ac1,
    krippendorff_alpha,
    pooled_labels,
    rater_replicates,
)
from hqm.psychometrics.inference.resampling import aggregate, bootstrap_counts, mean_with_error
from hqm.types import Response
from hqm_label.label_schema import Schema, read_schema
from hqm_label.label_store import Label, LabelStore
from hqm_label.rater_view import RaterPage, benchmark_of, rater_pages, read_facts
from hqm_label.study_plan import (
    ADJUDICATION,
    Grouping,
    LabelPlan,
    PlanRow,
    labels_path,
    rater_order,
    read_plan,
)

_PACE_LABELS = 20
"""From how many of the latest labels the time left is reckoned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of a rater."""

    labelled: int
    count: int
    seconds_left: float | None
    """What the rest will take, by the rater's own pace; None before the first label."""

    @property
    def time_left(self) -> str:
        """The time left in words.

        >>> [Progress(labelled=1, count=9, seconds_left=s).time_left for s in (20, 95, 7300, None)]
        ['less than a minute left', 'about 2 minutes left', 'about 2 hours left', '']
        """
        if self.seconds_left is None or self.labelled >= self.count:
            return ""
        minutes = self.seconds_left / 60
        if minutes < 1:
            return "less than a minute left"
        if minutes < 100:
            number = round(minutes)
            unit = "minute"
        else:
            number = round(minutes / 60)
            unit = "hour"
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
        # a study without labels can be looked at, and no file is made by looking
        memory = readonly and not labels_path(path).is_file()
        self.labels = LabelStore(
            ":memory:" if memory else labels_path(path), readonly=readonly and not memory
        )
        self._orders: dict[str, tuple[str, ...]] = {}

    @cached_property
    def pages(self) -> Mapping[str, RaterPage]:
        """uid -> what its page shows."""
        return rater_pages(self.plan, self.schema, self.benchmark, self._facts)

    def order(self, rater: str) -> tuple[str, ...]:
        """The uids of a rater in the order in which they are shown."""
        if rater not in self._orders:
            uids = [row.uid for row in self.plan.rows_of(rater)]
            groups = {uid: self.pages[uid].group for uid in uids}
            self._orders[rater] = rater_order(
                uids, groups, seed=self.plan.seed, rater=rater, group=self.group
            )
        return self._orders[rater]

    @property
    def raters(self) -> tuple[str, ...]:
        """The raters of the plan, and those whose labels were imported."""
        labelling = [label.rater for label in self.labels.labels() if label.by != "adjudication"]
        return tuple(dict.fromkeys((*self.plan.raters, *labelling)))

    def rows_of(self, rater: str) -> tuple[PlanRow, ...]:
        """What a rater is to label; what one has labelled whom the plan does not name."""
        if rater in self.plan.raters:
            return self.plan.rows_of(rater)
        own_labels = self.labels_of(rater)
        return tuple(row for row in self.plan.rows if row.uid in own_labels)

    def labels_of(self, rater: str) -> dict[str, Label]:
        """Return uid -> the current label of a rater, adjudications left out."""
        return {
            label.uid: label for label in self.labels.labels(rater) if label.by != "adjudication"
        }

    def waiting(self, rater: str, own_labels: Mapping[str, Label]) -> list[str]:
        """Return the uids that a rater has not labelled yet, in order."""
        return [uid for uid in self.order(rater) if uid not in own_labels]

    def progress(self, rater: str, own_labels: Mapping[str, Label]) -> Progress:
        """Return the progress of a rater, and the time that the rest will take."""
        rows = self.rows_of(rater)
        n_labelled = sum(row.uid in own_labels for row in rows)
        latest = [
            label.milliseconds for label in own_labels.values() if label.milliseconds is not None
        ][-_PACE_LABELS:]
        if latest:
            seconds_left = median(latest) / 1000 * (len(rows) - n_labelled)
        else:
            seconds_left = None
        return Progress(labelled=n_labelled, count=len(rows), seconds_left=seconds_left)

    def labels_by_answer(self) -> dict[str, list[Label]]:
        """Return uid -> the current labels of its raters."""
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
        names = [page.image for page in self.pages.values() if page.image]
        self.benchmark.pictures.fetch(names, private=private)

    def picture(self, uid: str) -> Path | None:
        """Return the file of a picture, or None where it is missing or unusable."""
        image = self.pages[uid].image
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
        if self.gold_done:
            return self.gold_right / self.gold_done
        return None


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
    """The progress of a study, the raters' agreement, and the width of the interval so far."""

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
    labels_by_answer = study.labels_by_answer()
    settled = study.adjudicated()
    disagreements = study.disagreements()
    width = _interval_width(study, labels_by_answer, settled)
    choices: dict[str, int] = {study.schema.in_words(value): 0 for value in study.schema.values}
    for labels in labels_by_answer.values():
        for label in labels:
            words = study.schema.in_words(label.label)
            choices[words] = choices.get(words, 0) + 1
    return StudyStatus(
        raters=tuple(_rater_status(study, rater) for rater in study.raters),
        rows=len(study.plan.rows),
        labelled=len(labels_by_answer),
        overlapping=sum(len(labels) > 1 for labels in labels_by_answer.values()),
        disagreements=len(disagreements),
        adjudicated=len(settled.keys() & set(disagreements)),
        agreement=tuple(_agreements(study, labels_by_answer)),
        width=width,
        expected_width=study.plan.expected_width,
        choices=choices,
    )


def _rater_status(study: Study, rater: str) -> RaterStatus:
    own_labels = study.labels_of(rater)
    progress = study.progress(rater, own_labels)
    times = [
        label.milliseconds / 1000 for label in own_labels.values() if label.milliseconds is not None
    ]
    gold = [row for row in study.rows_of(rater) if row.gold is not None and row.uid in own_labels]
    return RaterStatus(
        rater=rater,
        done=progress.labelled,
        count=progress.count,
        cannot_say=sum(not label.decided for label in own_labels.values()),
        notes=sum(bool(label.note) for label in own_labels.values()),
        seconds=median(times) if times else None,
        gold_right=sum(study.schema.has_share(own_labels[row.uid].label, row.gold) for row in gold),
        gold_done=len(gold),
        time_left=progress.time_left,
    )


def ratings(study: Study, labels_by_answer: Mapping[str, Sequence[Label]]) -> Array:
    """(raters, answers): codes of the labels in the order of the schema; NaN where a rater gave
    none, or cannot say.
    """
    # grades in their order, then words; the ordinal coefficients need the order
    values = sorted(study.schema.values, key=lambda value: (isinstance(value, str), value))
    code = {value: i for i, value in enumerate(values)}
    raters = list(
        dict.fromkeys(label.rater for labels in labels_by_answer.values() for label in labels)
    )
    table = np.full((len(raters), len(labels_by_answer)), np.nan)
    for column, labels in enumerate(labels_by_answer.values()):
        for label in labels:
            if label.decided:
                table[raters.index(label.rater), column] = code.get(label.label, np.nan)
    return table


def _agreements(
    study: Study, labels_by_answer: Mapping[str, Sequence[Label]]
) -> Iterator[Agreement]:
    table = ratings(study, labels_by_answer)
    if table.size:
        n_overlapping = int((np.isfinite(table).sum(axis=0) >= 2).sum())
    else:
        n_overlapping = 0
    names = ("raw agreement", "Fleiss' kappa", "Krippendorff's alpha", "Gwet's AC1")
    if not n_overlapping:
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
    disagreement = flip_rate(table)
    yield _as_agreement(names[0], disagreement, n_overlapping, complement=True)
    yield _as_agreement(names[1], fleiss_kappa(table), n_overlapping)
    yield _as_agreement(
        names[2], krippendorff_alpha(table, "ordinal" if ordered else "nominal"), n_overlapping
    )
    yield _as_agreement(
        names[3], gwet_ac1(table, categories=len(study.schema.values)), n_overlapping
    )


def _as_agreement(
    name: str, coefficient: Coefficient, n: int, *, complement: bool = False
) -> Agreement:
    if not math.isfinite(coefficient.value):
        return Agreement(name=name, value=None, low=None, high=None, n=n, reason=coefficient.reason)
    value = coefficient.value
    low: float | None = None
    high: float | None = None
    if coefficient.fixed:
        low, high = coefficient.fixed.low, coefficient.fixed.high
    if complement:
        value = 1 - value
        if low is not None and high is not None:
            low, high = 1 - high, 1 - low
    return Agreement(name=name, value=value, low=low, high=high, n=n)


def _pooled_share(study: Study, labels: Sequence[Label], settled: Label | None) -> float | None:
    """Return an answer's share from 0 to 1: adjudicated, else the mean of its raters."""
    if settled is not None:
        return study.schema.share(settled.label)
    shares = [share for label in labels if (share := study.schema.share(label.label)) is not None]
    if shares:
        return fmean(shares)
    return None


def _interval_width(
    study: Study, labels_by_answer: Mapping[str, Sequence[Label]], settled: Mapping[str, Label]
) -> Width | None:
    """Return Hajek's mean of the drawn answers, with its error over pictures.

    Gold answers were added and not drawn, and do not count.
    """
    sampled: list[tuple[PlanRow, float]] = []
    for row in study.plan.rows:
        if row.probability is not None and (row.uid in labels_by_answer or row.uid in settled):
            share = _pooled_share(study, labels_by_answer.get(row.uid, ()), settled.get(row.uid))
            if share is not None:
                sampled.append((row, share))
    clusters = [study.pages[row.uid].group for row, _ in sampled]
    if len(set(clusters)) < 2:
        return None
    weights = np.array([1 / (row.probability or 1.0) for row, _ in sampled])
    shares = np.array([share for _, share in sampled])
    # Hajek's mean: sum of y / p over sum of 1 / p; its error is that of a ratio of picture totals
    sums = aggregate(np.stack([weights * shares, weights], axis=1), clusters)
    mean, error = mean_with_error(sums[:, :1].T, sums[:, 1:].T)
    from scipy.special import stdtrit

    # Student's t with one degree of freedom less than there are pictures
    half_width = float(stdtrit(len(sums) - 1, 0.975)) * float(error[0])
    estimate = float(mean[0])
    return Width(
        mean=estimate,
        low=max(0.0, estimate - half_width),
        high=min(1.0, estimate + half_width),
        n=len(sampled),
    )


# --- people beside the benchmark: the table of HQM's own protocol ---
#
# A hundred items, the answers of all respondents, several raters of each answer (Yan et al. 2024).

_REPLICATES = 400
_PICTURE_RESAMPLES = 100
"""In so many samples of the pictures the raters' errors are estimated anew."""
_MIN_RATERS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalEstimate:
    """A number with its 95% interval, over other pictures and, for answers, other raters."""

    name: str
    n: int
    value: float
    low: float
    high: float
    score: float | None = None
    """What the benchmark gives the same answers; None where a model judges them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleComparison:
    """People's and the benchmark's scores on the same answers, and each rater's share of errors."""

    respondents: tuple[IntervalEstimate, ...]
    raters: tuple[IntervalEstimate, ...]
    """The share of wrong labels of each rater (Dawid and Skene); empty below three raters."""
    correlation: IntervalEstimate | None
    """Of people's and the benchmark's scores over the respondents."""


def compare_people(study: Study) -> PeopleComparison | None:
    """Set people's scores beside the benchmark's; None before anything is labelled.

    An answer's label is the adjudicated one, else that of most raters (their mean, where labels are
    grades). Labels of other respondents about one picture are resampled together.
    """
    labels = study.labels_by_answer()
    rows = [row for row in study.plan.rows if row.uid in labels and row.probability is not None]
    if study.schema.reviews_items or not rows:
        return None
    shares = _rater_shares(study, rows, labels)
    is_binary = bool(np.isin(shares[np.isfinite(shares)], (0, 1)).all())
    rng = stream(study.plan.seed, "people beside the benchmark")
    pool: Pool = "majority" if is_binary else "mean"
    pooled = pooled_labels(shares, pool)
    rater_draws = rater_replicates(shares, pool, rng, replicates=_REPLICATES)
    adjudicated = study.adjudicated()
    for column, row in enumerate(rows):
        if row.uid in adjudicated:
            share = study.schema.share(adjudicated[row.uid].label)
            # nobody can say: the answer has no label, as in an audit
            pooled[column] = math.nan if share is None else share
            rater_draws[:, column] = pooled[column]
    groups = [study.pages[row.uid].group for row in rows]
    # people and the benchmark share the drawn pictures, so that their replicates are pairs
    pictures = bootstrap_counts(len(rows), rng, _REPLICATES, groups)
    names = list(dict.fromkeys(row.respondent for row in rows))
    respondents = np.array([row.respondent for row in rows])
    weights = (respondents == np.array(names)[:, None]).astype(float)
    weights /= np.array([row.probability for row in rows])
    human = _resampled_scores(pooled, rater_draws, pictures, weights)
    values = _benchmark_scores(study, rows)
    benchmark = _resampled_scores(values, np.tile(values, (_REPLICATES, 1)), pictures, weights)
    intervals = []
    for i, name in enumerate(names):
        score = float(benchmark.scores[i])
        intervals.append(
            IntervalEstimate(
                name=name,
                n=int((np.isfinite(pooled) & (weights[i] > 0)).sum()),
                value=float(human.scores[i]),
                **_percentile_interval(human.replicates[:, i]),
                score=score if math.isfinite(score) else None,
            )
        )
    rater_errors: tuple[IntervalEstimate, ...] = ()
    if is_binary:
        rater_errors = tuple(_rater_errors(shares, study.raters, groups, rng))
    return PeopleComparison(
        respondents=tuple(intervals),
        raters=rater_errors,
        correlation=_correlation(human, benchmark),
    )


def _rater_shares(
    study: Study, rows: Sequence[PlanRow], labels: Mapping[str, Sequence[Label]]
) -> Array:
    """(raters, answers): labels as shares from 0 to 1; NaN where a rater gave none."""
    raters = study.raters
    shares = np.full((len(raters), len(rows)), np.nan)
    for column, row in enumerate(rows):
        for label in labels[row.uid]:
            share = study.schema.share(label.label)
            if share is not None:
                shares[raters.index(label.rater), column] = share
    return shares


class _ResampledScores(NamedTuple):
    """(respondents,): scores; (replicates, respondents): scores over other pictures."""

    scores: Array
    replicates: Array


def _resampled_scores(
    values: Array, draws: Array, pictures: Array, weights: Array
) -> _ResampledScores:
    """Return weighted means by respondent: of the values, and of their draws by picture."""
    ones = np.ones((1, len(values)))
    return _ResampledScores(
        _respondent_means(values[None], ones, weights)[0],
        _respondent_means(draws, pictures, weights),
    )


def _correlation(human: _ResampledScores, benchmark: _ResampledScores) -> IntervalEstimate | None:
    """Return Pearson's r of the respondents' scores; None where it is not determined."""
    value = _pearson(benchmark.scores, human.scores)
    if not math.isfinite(value):
        return None
    replicates = list(map(_pearson, benchmark.replicates, human.replicates))
    interval = _percentile_interval(np.array(replicates))
    return IntervalEstimate(name="r", n=len(human.scores), value=value, **interval)


def _benchmark_scores(study: Study, rows: Sequence[PlanRow]) -> Array:
    """The benchmark's own values of the answers; NaN where a judge gives them."""
    if study.benchmark.roles:
        return np.full(len(rows), np.nan)
    items = study.benchmark.original.by_id
    verdicts = [
        study.benchmark.score(items[row.item], Response(study.pages[row.uid].answer))
        for row in rows
    ]
    return np.array([np.nan if v.value is None else v.value for v in verdicts], dtype=float)


def _respondent_means(values: Array, weights: Array, respondent_weights: Array) -> Array:
    """(replicates, respondents): weighted means of the values that are not NaN."""
    answer_weights = np.isfinite(values) * weights
    sums = (np.nan_to_num(values) * answer_weights) @ respondent_weights.T
    # a replicate may hold no answer of a respondent; its mean is then NaN, and left out
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Array = sums / (answer_weights @ respondent_weights.T)
    return means


def _percentile_interval(values: Array) -> dict[str, float]:
    finite = values[np.isfinite(values)]
    low, high = np.quantile(finite, (0.025, 0.975)) if len(finite) else (math.nan, math.nan)
    return {"low": float(low), "high": float(high)}


def _pearson(a: Array, b: Array) -> float:
    paired = np.isfinite(a) & np.isfinite(b)
    if paired.sum() < 3 or not np.ptp(a[paired]) or not np.ptp(b[paired]):
        return math.nan
    return float(np.corrcoef(a[paired], b[paired])[0, 1])


def _rater_errors(
    ratings_table: Array, raters: Sequence[str], groups: Sequence[str], rng: np.random.Generator
) -> Iterator[IntervalEstimate]:
    """Yield each rater's share of wrong labels (Dawid and Skene), over resampled pictures."""
    rated = np.isfinite(ratings_table)
    if rated.any(axis=1).sum() < _MIN_RATERS or not (rated.sum(axis=0) > 1).any():
        return

    def error_rates(multiplicity: Array) -> Array:
        fit = dawid_skene(np.repeat(ratings_table, multiplicity.astype(int), axis=1))
        # P(wrong) = P(1) P(0 | 1) + P(0) P(1 | 0)
        shares: Array = fit.prevalence * (1 - fit.sensitivity)
        return shares + (1 - fit.prevalence) * (1 - fit.specificity)

    # each picture has weight 1; then pictures are resampled with all their answers
    value = error_rates(np.ones(ratings_table.shape[1]))
    samples = bootstrap_counts(ratings_table.shape[1], rng, _PICTURE_RESAMPLES, groups)
    replicates = np.array([error_rates(multiplicity) for multiplicity in samples])
    for i, name in enumerate(raters):
        yield IntervalEstimate(
            name=name,
            n=int(rated[i].sum()),
            value=float(value[i]),
            **_percentile_interval(replicates[:, i]),
        )
