"""A measure: one benchmark under one metric, scoring and parser, as an audit of it has it."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from itertools import repeat
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING

from hqm.auditing.audit import BenchmarkAudit
from hqm.auditing.budget import ErrorBudget
from hqm.auditing.definitions import (
    TypeMeasured,
    score_in,
    type_scores_by_name,
    types_measured,
    unequal_answers,
)
from hqm.auditing.score_differences import ToolRow
from hqm.auditing.study_records import JackknifeRecord, read_jackknife_records
from hqm.imports.human_labels import by_people
from hqm.psychometrics import Coefficient
from hqm.psychometrics.agreement.ranks import BenchmarkAgreement
from hqm.psychometrics.reliability.compare_reliability import ReliabilityDifference
from hqm.psychometrics.validity.correlation import DependentCorrelations, Multitrait
from hqm.psychometrics.variance.study_forecast import Contest
from hqm.types import Cell, Estimate, json_data
from hqm.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Scores = Mapping[str, float]
"""Respondent -> score; who has none is not in it."""


@dataclass(frozen=True)
class Measure:
    """What is compared: one column of scores with what is known of its reliability and validity.

    Parameters
    ----------
    label
        Its name in the comparison, different for every measure.
    answers
        Measures with the same text here were scored from the same answers, so that they share their
        noise.
    scores
        In the reference administration.
    intervals
        Respondent -> its score's interval over pictures.
    pairs
        Family of estimates (`test_retest`, `criterion`, ...) -> respondent -> score in the other
        administration.
    noise
        Respondent -> variance of one run's score over seeds.
    by_type
        Hallucination type -> scores; empty where the audit has none of this metric.
    """

    label: str
    benchmark: str
    title: str
    metric: str
    better: str
    items: int
    answers: str
    scores: Scores
    intervals: Mapping[str, tuple[float, float]]
    pairs: Mapping[str, Scores]
    noise: Scores
    by_type: Mapping[str, Scores]
    estimates: tuple[Estimate, ...] = ()
    left_out: Mapping[str, JackknifeRecord] = field(default_factory=dict)
    """Family of estimates -> the scores of its administrations with each picture left out, where
    the audit has them.
    """
    components: Mapping[str, object] = field(default_factory=dict)
    """The variance components of all its administrations, where the audit has them."""
    budget: ErrorBudget | None = None
    """Its error budget, where the audit has one."""
    types_alone: tuple[int, int] | None = None
    """How many of its types may be scored alone, and of how many; of the leading metric."""
    unequal: str = ""
    """That its respondents answered different numbers of items, where they did."""
    words: Mapping[str, str] = field(default_factory=dict)
    """What tells it from other measures of its benchmark: scoring, parser, judge, ..."""
    scale: tuple[float | None, float | None] = (None, None)
    """The least and the greatest score, where it has them."""

    @property
    def sign(self) -> int:
        """+1 where a higher score is better, -1 where a lower one is."""
        if self.better == "lower":
            return -1
        return 1

    @property
    def key(self) -> str:
        """Its identity in any comparison, from which the seed of its resampling is made."""
        return " ".join([self.benchmark, *self.words.values()])

    def estimate(self, indicator: str) -> Estimate | None:
        """Return the first estimate of this indicator; of `criterion` one with people's labels."""
        people_only = indicator.startswith("criterion.")
        for e in self.estimates:
            if e.indicator == indicator and (not people_only or by_people(e)):
                return e
        return None


def measures_of(
    audits: Sequence[BenchmarkAudit], metrics: Iterable[str] = ()
) -> tuple[Measure, ...]:
    """Every audited metric of every audit as a measure, with names that tell them apart.

    Parameters
    ----------
    metrics
        The metrics to take; all audited ones unless given.
    """
    requested = set(metrics)
    measures: list[Measure] = []
    for audit in audits:
        names = list(audit.metrics)
        if requested:
            names = [name for name in names if name in requested]
        measures += map(_measure, repeat(audit), names)
    return _with_labels(measures)


def _alone_type_counts(types: Sequence[TypeMeasured]) -> tuple[int, int] | None:
    """How many of the types that have items may be scored alone, and of how many; None where there
    are no two, or where none was measured.
    """
    kinds = [kind for kind in types if kind.items]
    standings = {kind.standing for kind in kinds} - {"chance", "leaks"}
    if len(kinds) < 2 or standings == {"unmeasured"}:
        return None
    return sum(kind.stands_alone for kind in kinds), len(kinds)


def _measure(audit: BenchmarkAudit, metric: str) -> Measure:
    estimates = tuple(audit.select_estimates(metric=metric))
    errors: Mapping[str, float | None] = {}
    for retest in audit.select_estimates("test_retest.rho_g", metric)[:1]:
        errors = retest.detail.get("by_respondent", {})
    types: dict[str, None] = {}
    alone_counts = None
    # The audit has scores by type of its leading metric alone.
    if metric == next(iter(audit.metrics)):
        for row in audit.respondents:
            types |= dict.fromkeys(row.by_type)
        alone_counts = _alone_type_counts(types_measured(audit))
    reference = Cell.parse(audit.reference)
    return Measure(
        label=audit.title,
        benchmark=audit.benchmark,
        title=audit.title,
        metric=metric,
        better=audit.metrics[metric]["better"],
        items=next((e.n_items for e in estimates if e.n_items), audit.n_items),
        # Measures with the same text were scored from the same answers, whatever scored them:
        # scoring, parser and judge are left out.
        answers=(
            f"{audit.benchmark} {audit.version} {reference.form} {reference.run}"
            f" {reference.sight}{reference.until}{reference.resolution}"
        ),
        scores=_finite_scores(audit.scores_by_name(metric)),
        intervals=_intervals(audit, metric),
        pairs=_second_scores(audit, metric, estimates),
        # The detail has standard errors of one run; noise is their square.
        noise={name: error**2 for name, error in _finite_scores(errors).items()},
        by_type={kind: _finite_scores(type_scores_by_name(audit, kind)) for kind in types},
        estimates=estimates,
        left_out=read_jackknife_records(audit.left_out, metric),
        components=audit.components.get(metric, {}),
        budget=audit.budget.get(metric),
        types_alone=alone_counts,
        unequal=unequal_answers(audit),
        words={
            "metric": metric,
            "scoring": f"{audit.scoring} scoring",
            "parser": f"parser {audit.parser}" if audit.parser else "",
            "judge": reference.judge,
            "version": audit.version,
        },
        scale=audit.scale(metric),
    )


def _second_scores(
    audit: BenchmarkAudit, metric: str, estimates: Iterable[Estimate]
) -> dict[str, dict[str, float]]:
    """Return family of estimates -> respondent -> score in its second administration."""
    scores: dict[str, dict[str, float]] = {}
    for estimate in estimates:
        family, _, statistic = estimate.indicator.partition(".")
        # An estimate of several administrations joins their names by " & ".
        if statistic == "pearson" and family not in scores and " & " not in estimate.other:
            scores[family] = _finite_scores(
                {row.name: score_in(row, estimate.other, metric) for row in audit.respondents}
            )
    return scores


def _without_prefix(row: Mapping[str, object]) -> dict[str, object]:
    return {name.removeprefix("n_"): value for name, value in row.items()}


def _finite_scores(scores: Mapping[str, float | None]) -> dict[str, float]:
    finite = {}
    for name, score in scores.items():
        if score is not None and math.isfinite(score):
            finite[name] = float(score)
    return finite


def _intervals(audit: BenchmarkAudit, metric: str) -> dict[str, tuple[float, float]]:
    """Return respondent -> the interval of its score, where there is one."""
    intervals = {}
    for row in audit.respondents:
        low, high = row.intervals.get(metric, (None, None))
        if low is not None and high is not None:
            intervals[row.name] = (low, high)
    return intervals


def _with_labels(measures: Sequence[Measure]) -> tuple[Measure, ...]:
    """Label measures by title, metric, scoring, parser, judge and version where these differ."""
    titles = set(map(attrgetter("title"), measures))
    metrics = set(map(attrgetter("metric"), measures))
    labelled: list[Measure] = []
    for measure in measures:
        words = [sibling.words for sibling in measures if sibling.benchmark == measure.benchmark]
        qualifiers = []
        for word in ("scoring", "parser", "judge", "version"):
            variants = set(map(itemgetter(word), words))
            # An empty word, such as that of no parser, would leave empty parentheses.
            if measure.words[word] and len(variants) > 1:
                qualifiers.append(measure.words[word])
        head = []
        if len(titles) > 1:
            head.append(measure.title)
        if len(metrics) > 1:
            head.append(measure.metric)
        # Where measures differ in scoring alone, the scoring is the name; title and metric would
        # repeat.
        label = " ".join(head) or ", ".join(qualifiers) or f"{measure.title} {measure.metric}"
        if head and qualifiers:
            label = f"{label} ({', '.join(qualifiers)})"
        n_same = sum(
            earlier.label.rpartition(" #")[0] == label or earlier.label == label
            for earlier in labelled
        )
        labelled.append(replace(measure, label=f"{label} #{n_same + 1}" if n_same else label))
    return tuple(labelled)


# ----------------------------------------------------------------------
# What a comparison found, as values that reports are made from.
# ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Difference:
    """One indicator of two measures, compared over the respondents they share.

    `length` is the number of items both were brought to (None: each at its own). `these` tests the
    difference for these respondents over other pictures (fixed facet), `others` for other
    respondents (random facet). The adjusted p-values come from one procedure over everything that a
    comparison tests (`holm_in_order`); NaN where no test was made.
    """

    indicator: str
    first: str
    second: str
    length: int | None
    these: ReliabilityDifference
    others: ReliabilityDifference
    adjusted_these: float = math.nan
    adjusted_others: float = math.nan

    @property
    def p_values(self) -> tuple[float, float]:
        """The p-values for these respondents and for others, in the order of their tests."""
        return (self.these.p, self.others.p)


@dataclass(frozen=True, slots=True)
class TestCount:
    """The numbers of a population's tests that were made and that are significant, and why others
    were not made.
    """

    n_tests: int
    beyond: int
    not_made: Mapping[str, int]
    """Reason -> number of tests."""

    def to_dict(self) -> dict[str, int | dict[str, int]]:
        """Return the counts under the keys that `comparison.json` has."""
        return {"made": self.n_tests, "beyond": self.beyond, "not_made": dict(self.not_made)}


@dataclass(frozen=True, slots=True)
class Agreement:
    """How two measures order the respondents that both have, with signs such that higher is better.

    `corrected` is Pearson's r over the root of both reliabilities: what two measures without noise
    would correlate. It is absent where both were scored from the same answers, because then they
    share their noise.
    """

    first: str
    second: str
    pearson: Coefficient
    spearman: Coefficient
    tau: Coefficient
    subsets: BenchmarkAgreement
    corrected: float
    n: int


@dataclass(frozen=True, slots=True)
class WilliamsComparison:
    """Whether a measure (or a criterion) goes with one measure more than with another: Williams'
    test.

    It is about other respondents, and is adjusted together with the tests of the differences.
    """

    criterion: str
    first: str
    second: str
    test: DependentCorrelations
    adjusted: float = math.nan

    @property
    def p_values(self) -> tuple[float]:
        """The p-value of its one test."""
        return (self.test.p,)


@dataclass(frozen=True, slots=True)
class Separation:
    """Which pairs of respondents two measures separate, from the scores' intervals; Holm over
    pairs and measures.

    `opposed` names pairs that both separate, in opposite orders: (better by the first measure,
    better by the second).
    """

    first: str
    second: str
    pairs: int
    n_both: int
    opposed: tuple[tuple[str, str], ...]
    only_first: tuple[tuple[str, str], ...]
    only_second: tuple[tuple[str, str], ...]
    n_neither: int


@dataclass(frozen=True)
class ForecastPair:
    """Two measures in studies of equal cost, one run in one wording: which separates respondents
    better, and for whom.

    Parameters
    ----------
    cost, unit
        Of each study, in a currency or in `answers`.
    items, pictures
        Of the two studies.
    g, mdd
        How well differences between these respondents repeat on other pictures and runs, and the
        smallest that a test over pictures finds with 80 % power, each with its interval for these
        respondents.
    these, others
        Which of them to trust, for these respondents over other pictures and for other respondents.
    """

    first: str
    second: str
    cost: float
    unit: str
    items: tuple[int, int]
    pictures: tuple[int, int]
    g: tuple[Coefficient, Coefficient]
    mdd: tuple[Coefficient, Coefficient]
    these: Contest
    others: Contest

    def trusted(self, contest: Contest) -> str:
        """The measure that a contest shows to separate better; empty where it shows none."""
        return ("", self.first, self.second)[contest.choice]


@dataclass(frozen=True)
class Comparison:
    """Measures over the same respondents, side by side.

    Parameters
    ----------
    respondents
        Those that every measure scored.
    length
        The common number of items of the tests at one length.
    """

    measures: tuple[Measure, ...]
    respondents: tuple[str, ...]
    families: Mapping[str, str]
    n_effective: float | None
    length: int
    indicators: Mapping[str, Mapping[str, Coefficient]] = field(default_factory=dict)
    """Indicator -> measure -> its coefficient over the shared respondents."""
    differences: tuple[Difference, ...] = ()
    agreements: tuple[Agreement, ...] = ()
    closer: tuple[WilliamsComparison, ...] = ()
    types: Multitrait | None = None
    distinct: Mapping[str, Coefficient] = field(default_factory=dict)
    """Two types -> their heterotrait-monotrait ratio."""
    separations: tuple[Separation, ...] = ()
    ranks: Mapping[str, Mapping[str, tuple[int, int]]] = field(default_factory=dict)
    """Measure -> respondent -> the best and the worst rank that the tests of all pairs of
    respondents leave.
    """
    command: str = ""
    protocol: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    tools: tuple[ToolRow, ...] = ()
    """Where the tools that recorded answers score them differently from HQM, by respondent, form,
    run and scoring.
    """
    forecasts: tuple[ForecastPair, ...] = ()
    """Pairs of measures at equal cost, where a forecast was asked for."""
    hqm_version: str = field(default=__version__)

    def plot(self) -> Figure:
        """Return the error budgets side by side for a paper, as an object of matplotlib.

        Raises
        ------
        UsageError
            matplotlib is not installed.
        DesignError
            No measure has an error budget.
        """
        plots = import_module("hqm.reports.figures.plots")
        figure: Figure = plots.plot_measures(self.measures)
        return figure

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the measures."""
        return tuple(map(attrgetter("label"), self.measures))

    def adjusted_for_others(self, indicator: str, first: str, second: str) -> float:
        """Return the adjusted p-value of a difference, for other respondents; NaN without a test.

        The difference is that at the measures' own lengths.

        Coefficients of the same runs share the test of test-retest reliability.
        """
        retest = indicator.startswith("test_retest.")
        for d in self.differences:
            matches = d.indicator == indicator or (
                retest and d.indicator.startswith("test_retest.")
            )
            if matches and d.length is None and {d.first, d.second} == {first, second}:
                return d.adjusted_others
        return math.nan

    @property
    def tests(self) -> Mapping[str, TestCount]:
        """Return by population how many tests of differences were made, and why not more.

        The populations are `fixed_models` and `model_population`.
        """
        fixed_tests = [(d.these.reason, d.adjusted_these) for d in self.differences]
        random_tests = [(d.others.reason, d.adjusted_others) for d in self.differences]
        random_tests += [(c.test.reason, c.adjusted) for c in self.closer]
        return {
            "fixed_models": _count_tests(fixed_tests),
            "model_population": _count_tests(random_tests),
        }

    def to_json(self) -> str:
        """Everything as JSON; a number that does not exist is null."""
        # The audits hold the scores without each picture.
        measures = tuple(replace(m, left_out={}, components={}, budget=None) for m in self.measures)
        data = asdict(replace(self, measures=measures))
        for measure in data["measures"]:
            del measure["components"], measure["budget"]
            signed = map(itemgetter("indicator", "signature"), measure.pop("estimates"))
            measure["signatures"] = dict(signed)
        # The keys of the file are those of version 0.2.0.
        data["separations"] = list(map(_without_prefix, data["separations"]))
        data["tests"] = {population: count.to_dict() for population, count in self.tests.items()}
        return json.dumps(json_data(data), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _count_tests(tests: Sequence[tuple[str, float]]) -> TestCount:
    reasons = Counter(reason for reason, p in tests if not math.isfinite(p))
    # The p-value of a test that was not made is NaN, which is not below any level.
    return TestCount(len(tests) - reasons.total(), sum(p < 0.05 for _, p in tests), dict(reasons))
