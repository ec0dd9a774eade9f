"""Pairwise preferences: ratings of models that were compared two by two, and what the preferences
say of their own reliability.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import expit, stdtr, stdtrit

from hqm.psychometrics.inference.pairwise import PairwiseDifferences, pairwise_tests
from hqm.psychometrics.inference.resampling import jackknife_interval, mean_with_error
from hqm.psychometrics.inference.significance import holm
from hqm.psychometrics.result import Array, BoolArray, Coefficient, IntArray, Outcome


@dataclass(frozen=True, slots=True)
class Preferences:
    """Comparisons of two models each.

    Attributes
    ----------
    first, second
        The numbers of the model that was shown first and of the other, a comparison each.
    outcome
        1 where the first won, 0 where the second did, 0.5 for a tie.
    clusters
        The number of each comparison's question, 0 to C - 1.
    n_models
        The number of models.
    """

    first: IntArray
    second: IntArray
    outcome: Array
    clusters: IntArray
    n_models: int

    def __len__(self) -> int:
        return len(self.outcome)

    def select(self, mask: BoolArray) -> Preferences:
        """Return some of the comparisons, under the same numbers of models."""
        _, clusters = np.unique(self.clusters[mask], return_inverse=True)
        return Preferences(
            self.first[mask],
            self.second[mask],
            self.outcome[mask],
            clusters.astype(np.int64),
            self.n_models,
        )

    def wins(self) -> Array:
        """Return how often each model (rows) won against each other; a tie is half a win."""
        table = np.zeros((self.n_models, self.n_models))
        np.add.at(table, (self.first, self.second), self.outcome)
        np.add.at(table, (self.second, self.first), 1 - self.outcome)
        return table


@dataclass(frozen=True, slots=True)
class BradleyTerry(Outcome):
    """Ratings of models by their preferences.

    Attributes
    ----------
    models
        The numbers of the rated models, in the order of `ratings`. The others won or lost all
        comparisons with these, or were never compared with them, and have no finite rating.
    ratings
        In logits around the mean of the rated models, with intervals over other questions.
    differences
        Every pair of rated models, tested.
    first_place_share
        The probability that the model shown first wins against an equal one; absent where the
        order cannot be distinguished from the models.
    expected
        The expected outcome of each comparison between rated models, and what it would be without
        an advantage of the first place; NaN for the other comparisons.
    """

    models: tuple[int, ...] = ()
    ratings: tuple[Coefficient, ...] = ()
    differences: PairwiseDifferences | None = None
    first_place_share: Coefficient = field(default_factory=lambda: Coefficient(math.nan))
    expected: tuple[Array, Array] = field(default_factory=lambda: (np.empty(0), np.empty(0)))


MIN_QUESTIONS = 10
"""With fewer questions a standard error over questions says nothing."""


def bradley_terry(preferences: Preferences, *, level: float = 0.95) -> BradleyTerry:
    """Rate models from comparisons of two each, with errors over other questions.

    Parameters
    ----------
    preferences : Preferences
        The comparisons.
    level : float, default 0.95
        Confidence level of the intervals and tests.

    Returns
    -------
    BradleyTerry
        The status is `insufficient` with fewer than 10 questions or 2 models that can be rated.

    Raises
    ------
    ModuleNotFoundError
        `statsmodels` is not installed.

    Notes
    -----
        logit E(y) = b_first - b_second + g,   y = 1, 1/2 (tie) or 0

    is fitted by `statsmodels` as a binomial generalized linear model, with the sandwich variance
    over questions and Student's t on one degree of freedom fewer than there are questions (of a
    pair: questions about either). Models in the largest set whose members all beat one another
    directly or through others have finite ratings (Ford's condition).

    In 48 worlds that no Bradley-Terry model made (a Thurstone model with skewed effects of model
    and question that judges share, ties within a threshold and an advantage of the first place; 4
    and 8 models, 20 to 200 questions, 1 to 28 pairs a question, 200 draws each) the intervals
    cover .93 to .98 of the ratings by all questions of the population; where models are equal, any
    pair is shown to differ in .01 to .055 (Holm), and no cycle of three is shown.

    References
    ----------
    .. [1] Bradley, R. A. and Terry, M. E. (1952). Biometrika, 39, 324-345.
    .. [2] Ford, L. R. (1957). American Mathematical Monthly, 64, 28-33.
    .. [3] Liang, K.-Y. and Zeger, S. L. (1986). Biometrika, 73, 13-22.
    """
    models = _rateable_models(preferences)
    is_rated = np.isin(preferences.first, models) & np.isin(preferences.second, models)
    rated = preferences.select(is_rated)
    n_questions = int(rated.clusters.max(initial=-1)) + 1
    if len(models) < 2 or n_questions < MIN_QUESTIONS:
        reason = (
            f"ratings need 2 models that win and lose against each other and {MIN_QUESTIONS}"
            f" questions, there are {len(models) if len(models) > 1 else 0} and {n_questions}"
        )
        return BradleyTerry.absent("insufficient", reason)
    import statsmodels.api as sm

    first, second = (np.searchsorted(models, side) for side in (rated.first, rated.second))
    rows = np.arange(len(rated))
    design = np.zeros((len(rated), len(models)))
    np.add.at(design, (rows, first), 1.0)
    np.add.at(design, (rows, second), -1.0)
    design = np.column_stack([design[:, 1:], np.ones(len(rated))])
    has_order = np.linalg.matrix_rank(design.T @ design) == design.shape[1]
    if not has_order:
        design = design[:, :-1]
    fit = sm.GLM(rated.outcome, design, family=sm.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": rated.clusters}
    )
    n_contrasts = len(models) - 1
    # ratings around their mean: the first model is the reference of the fit
    centring = (np.eye(len(models)) - 1 / len(models))[:, 1:]
    values = centring @ fit.params[:n_contrasts]
    covariance = centring @ fit.cov_params()[:n_contrasts, :n_contrasts] @ centring.T
    errors = np.sqrt(np.diag(covariance))
    questions = [
        np.unique(rated.clusters[(first == index) | (second == index)])
        for index in range(len(models))
    ]
    n_questions_of = np.array([len(ids) for ids in questions])
    multipliers = stdtrit(np.maximum(n_questions_of - 1, 1), 0.5 + level / 2)
    method = "Bradley-Terry, clustered by question"
    ratings = tuple(
        Coefficient.over_items(value, error, level, method, n=n, multiplier=multiplier)
        for value, error, n, multiplier in zip(
            values.tolist(),
            errors.tolist(),
            n_questions_of.tolist(),
            multipliers.tolist(),
            strict=True,
        )
    )
    first_place_share = Coefficient.absent(
        "not_applicable", "the order of the two cannot be distinguished from the models"
    )
    first_advantage = 0.0
    if has_order:
        first_advantage = float(fit.params[-1])
        half_width = float(stdtrit(n_questions - 1, 0.5 + level / 2)) * float(fit.bse[-1])
        low, high = expit([first_advantage - half_width, first_advantage + half_width]).tolist()
        first_place_share = Coefficient(
            float(expit(first_advantage)), low, high, n_questions, level, method
        )
    logits = values[first] - values[second]
    expected = np.full((2, len(preferences)), np.nan)
    expected[:, is_rated] = expit([logits + first_advantage, logits])
    return BradleyTerry(
        tuple(int(model) for model in models),
        ratings,
        _tested_differences(values, covariance, questions, rated, level),
        first_place_share,
        (expected[0], expected[1]),
    )


def _rateable_models(preferences: Preferences) -> IntArray:
    """Return the largest set of models of which each has beaten each other, directly or through
    others.
    """
    from scipy.sparse.csgraph import connected_components

    _, component = connected_components(preferences.wins() > 0, connection="strong")
    return np.flatnonzero(component == np.bincount(component).argmax())


def _tested_differences(
    values: Array,
    covariance: Array,
    questions: Sequence[IntArray],
    rated: Preferences,
    level: float,
) -> PairwiseDifferences:
    """Return the tested differences of all pairs of rated models."""
    variances = np.diag(covariance)
    variance = variances[:, None] + variances[None, :] - 2 * covariance
    n_comparisons = np.zeros_like(variance, dtype=np.int64)
    n_questions = n_comparisons.copy()
    for a, b in combinations(range(len(values)), 2):
        n_questions[a, b] = n_questions[b, a] = len(np.union1d(questions[a], questions[b]))
    return pairwise_tests(
        values,
        values[:, None] - values[None, :],
        np.sqrt(np.maximum(variance, 0.0)),
        items=n_comparisons + len(rated),
        clusters=n_questions,
        level=level,
    )


# --- intransitive triples ---


@dataclass(frozen=True, slots=True)
class Cycles(Outcome):
    """Triples of models of which the first beats the second, that the third, and that the first.

    Attributes
    ----------
    n_triples
        Triples whose three pairs were all compared.
    by_majority
        The triples in which each beats the next in more than half of their comparisons.
    significant
        Those of them that are no accident of the questions.
    """

    n_triples: int = 0
    by_majority: tuple[tuple[int, int, int], ...] = ()
    significant: tuple[tuple[int, int, int], ...] = ()


def preference_cycles(
    preferences: Preferences, fit: BradleyTerry, *, level: float = 0.95
) -> Cycles:
    """Search intransitive triples among the rated models.

    Parameters
    ----------
    preferences : Preferences
        The comparisons.
    fit : BradleyTerry
        Their ratings; the advantage of the first place is taken off each outcome.
    level : float, default 0.95
        1 minus the probability that any triple is shown where none is intransitive.

    Returns
    -------
    Cycles
        The triples, each from its lowest number on.

    Notes
    -----
    A cycle is shown where all three of its pairs are: its p-value is the largest of three one-sided
    ones (Student's t of the mean outcome over questions; with C questions none below 2^-C), and
    Holm's correction is over both directions of all triples.

    References
    ----------
    .. [1] Berger, R. L. (1982). Technometrics, 24, 295-300; tests of an intersection.
    """
    expected, neutral = fit.expected
    if not len(expected):
        return Cycles.absent(fit.status, fit.reason)
    m = preferences.n_models
    share, p = np.full((m, m), np.nan), np.full((m, m), np.nan)
    adjusted = preferences.outcome - (expected - neutral)
    low, high = np.sort([preferences.first, preferences.second], axis=0)
    oriented = np.where(preferences.first == low, adjusted, 1 - adjusted)
    pair_codes, pair_rows = np.unique(low * m + high, return_inverse=True)
    order = np.argsort(pair_rows, kind="stable")
    bounds = np.searchsorted(pair_rows[order], np.arange(len(pair_codes) + 1))
    for code, start, end in zip(pair_codes.tolist(), bounds[:-1], bounds[1:], strict=True):
        rows = order[start:end]
        a, b = divmod(code, m)
        mean, p_above, p_below = _mean_above_half(oriented[rows], preferences.clusters[rows])
        share[a, b], share[b, a] = mean, 1 - mean
        p[a, b], p[b, a] = p_above, p_below
    triples: list[tuple[int, int, int]] = []
    values: list[float] = []
    n_triples = 0
    for a, b, c in combinations(fit.models, 3):
        if not np.isfinite([share[a, b], share[b, c], share[a, c]]).all():
            continue
        n_triples += 1
        for x, y, z in ((a, b, c), (a, c, b)):
            triples.append((x, y, z))
            values.append(max(p[x, y], p[y, z], p[z, x]))
    corrected = holm(values)
    by_majority = tuple(
        (x, y, z) for x, y, z in triples if min(share[x, y], share[y, z], share[z, x]) > 0.5
    )
    significant = tuple(
        triple
        for triple, value in zip(triples, corrected, strict=True)
        if value <= 1 - level and triple in by_majority
    )
    return Cycles(n_triples, by_majority, significant)


def _mean_above_half(outcome: Array, clusters: IntArray) -> tuple[float, float, float]:
    """Return a mean outcome, and the p-values of its lying above and below one half."""
    _, labels = np.unique(clusters, return_inverse=True)
    sums = np.bincount(labels, outcome).astype(np.float64)
    sizes = np.bincount(labels).astype(np.float64)
    mean, error = (float(value[0]) for value in mean_with_error(sums[None], sizes[None]))
    n = len(sizes)
    if n < 2:
        return mean, 1.0, 1.0
    if error > 0:
        statistic = (mean - 0.5) / error
    else:
        statistic = math.copysign(math.inf, mean - 0.5)
    if mean == 0.5:
        statistic = 0.0
    minimum = 0.5**n
    return (
        mean,
        max(float(stdtr(n - 1, -statistic)), minimum),
        max(float(stdtr(n - 1, statistic)), minimum),
    )


# --- two judgements of one comparison ---


def outcome_agreement(
    first: Array, second: Array, clusters: IntArray, *, level: float = 0.95
) -> tuple[Coefficient, Coefficient]:
    """How often two judgements of the same comparison agree, and how far beyond chance.

    Parameters
    ----------
    first, second : Array, shape (pairs,)
        Two outcomes of one comparison each (1, 0.5 or 0 for the same model).
    clusters : IntArray, shape (pairs,)
        The number of each comparison's question.
    level : float, default 0.95
        Confidence level of the intervals.

    Returns
    -------
    tuple of Coefficient
        The share of equal outcomes, and Scott's pi; `degenerate` without pairs.

    Notes
    -----
        pi = (A - E) / (1 - E),   E = t^2 + (1 - t)^2 / 2

    with A the share that agrees and t the share of ties. Which of two models is called the first is
    arbitrary, so that both win equally often by chance.

    References
    ----------
    .. [1] Scott, W. A. (1955). Public Opinion Quarterly, 19, 321-325.

    Examples
    --------
    >>> share, pi = outcome_agreement(np.array([1.0, 0, 0.5, 1]), np.array([1.0, 0, 0.5, 0]),
    ...     np.arange(4))
    >>> round(share.value, 3), round(pi.value, 3)
    (0.75, 0.619)
    """
    _, labels = np.unique(clusters, return_inverse=True)
    tallies = {
        "agree": (first == second).astype(np.float64),
        "ties": ((first == 0.5).astype(np.float64) + (second == 0.5)) / 2,
        "n": np.ones(len(first)),
    }
    share = jackknife_interval(
        tallies,
        labels,
        lambda t: t["agree"] / t["n"] if len(first) else math.nan,
        is_proportion=True,
        level=level,
    )

    def scott_pi(totals: Mapping[str, Any]) -> Array:
        ties, agree = totals["ties"] / totals["n"], totals["agree"] / totals["n"]
        chance = ties**2 + (1 - ties) ** 2 / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((agree - chance) / (1 - chance))

    if not len(first):
        return share, replace(share)
    return share, jackknife_interval(tallies, labels, scott_pi, level=level)
