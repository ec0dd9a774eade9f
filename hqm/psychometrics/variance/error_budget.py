"""The error budget: how far each change of a study moves scores, in the units of the score.

A change (another seed, other items, another wording, another judge, ...) moves all respondents
together by a shift, and each of them against the others by a further move. The two are reported
separately: a shift spoils comparisons between papers and changes no order, and what changes an
order spoils no mean. The half-width of a band is also the smallest gap between two respondents that
exceeds that change, because 95 % of the differences that it alone makes between two equal
respondents are smaller. Changes are not added up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from hqm.psychometrics.agreement.intraclass import mean_squares
from hqm.psychometrics.inference.resampling import jackknife_standard_error, jackknife_variance
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    ConfidenceInterval,
    Outcome,
    float_array,
    is_constant,
    normal_quantile,
)

MIN_MOVES = 4
"""Fewer respondents have their moves shown, but no band."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ErrorBand(Outcome):
    """How far one change moves scores.

    Attributes
    ----------
    half
        95 % of the moves of one respondent against the others are smaller; NaN where too few
        respondents were seen.
    moves
        (respondents,): the observed moves with their sign; of reruns and items, where many
        moves are known, each respondent's own half-width.
    factor
        The quantile that `half` was made with; it carries the small number of respondents.
    shift
        The interval of the mean move where this module makes it; None elsewhere.
    any_wording
        95 % of the moves by any wording, shift included; NaN for other changes.
    """

    half: float
    moves: Array
    factor: float = math.nan
    shift: ConfidenceInterval | None = None
    any_wording: float = math.nan


def rerun_band(noise: ArrayLike, items: ArrayLike | None = None) -> ErrorBand:
    """Return the band of another seed: 1.96 sqrt(2 (v + .5 / n^2)), in the mean square for all.

    - `noise`: (respondents,): the variance of one run's score over seeds.
    - `items`: (respondents,): how many answers the score is a share of; None for no such term.
    """
    variance = float_array(noise, "respondents", "noise")
    if items is not None:
        # one whose few reruns happened to agree has no band of nothing
        variance = variance + 0.5 / float_array(items, "respondents", "items") ** 2
    # a difference of two runs has twice the variance of one
    return _from_variances(2 * variance, normal_quantile(0.95))


def item_band(replicates: ArrayLike) -> ErrorBand:
    """Return the band of as many other items: t(J - 1) sqrt(2 SE^2), pictures as clusters.

    SE^2 is the delete-one-picture jackknife of each score; the shift is 0, give or take what other
    items do to the mean score.

    - `replicates`: (respondents, pictures): the scores with each picture left out.
    """
    score_replicates = float_array(replicates, "respondents, pictures", "without")
    pictures = score_replicates.shape[1]
    complete = np.isfinite(score_replicates).all(axis=1)
    if pictures < 2 or not complete.any():
        return _absent(
            np.full(len(score_replicates), np.nan),
            "other items need scores on two pictures or more",
        )
    factor = _student_quantile(pictures - 1)
    # other items move all respondents together by the error of their mean
    half_width = (
        factor * math.sqrt(2) * jackknife_standard_error(score_replicates[complete].mean(axis=0))
    )
    # two sets of items, so twice the variance of one
    band = _from_variances(2 * jackknife_variance(score_replicates), factor)
    shift = ConfidenceInterval(-half_width, half_width, "cluster jackknife")
    return ErrorBand(half=band.half, moves=band.moves, factor=factor, shift=shift)


def change_band(moves: ArrayLike, *, n_effective: float | None = None) -> ErrorBand:
    """Return the band of a change that each respondent saw once: t(n - 1) s sqrt(1 + 1 / n).

    It is the prediction interval of a further respondent's move about the mean move, so it holds
    the noise of the seeds too.

    - `moves`: (respondents,): score after the change minus score before it.
    - `n_effective`: The number of independent respondents, where some are relatives.

    >>> round(change_band([0.01, -0.02, 0.03, 0.0]).half, 4)
    0.0741
    """
    observed = float_array(moves, "respondents", "moves")
    finite_moves = observed[np.isfinite(observed)]
    n = min(n_effective or math.inf, len(finite_moves))
    if len(finite_moves) < MIN_MOVES or n < 2:
        return _absent(observed, _TOO_FEW_RESPONDENTS)
    # n independent moves estimate the spread on n - 1 degrees of freedom
    factor = _student_quantile(n - 1)
    # a prediction interval: spread of a further move, and error of the mean move
    half = factor * float(finite_moves.std(ddof=1)) * math.sqrt(1 + 1 / n)
    return ErrorBand(half=half, moves=observed, factor=factor)


def outlying_move(moves: ArrayLike) -> int | None:
    """Return the index of the one respondent whose move differs from all others; None without one.

    The test of Grubbs (1969) at 5 % for the largest deviation, of at least five moves: as a t with
    n - 2 degrees of freedom, the deviation from the others' mean, Bonferroni over n.

    >>> outlying_move([0.01, -0.02, 0.03, 0.0, -0.3])
    4
    """
    observed = float_array(moves, "respondents", "moves")
    finite_moves = observed[np.isfinite(observed)]
    n = len(finite_moves)
    if n <= MIN_MOVES:
        return None
    index = int(np.nanargmax(np.abs(observed - finite_moves.mean())))
    further_moves = np.delete(observed, index)
    further_moves = further_moves[np.isfinite(further_moves)]
    deviation = abs(float(observed[index] - further_moves.mean()))
    spread = float(further_moves.std(ddof=1)) * math.sqrt(n / (n - 1))
    limit = -float(stdtrit(n - 2, 0.025 / n)) * spread
    # rounding is no deviation
    if deviation > max(limit, 1e-12):
        return index
    return None


def wording_band(scores: ArrayLike, *, n_effective: float | None = None) -> ErrorBand:
    """Return the band of another wording, from two wordings or more of the same items.

    With the mean squares of wordings w and of the rest e, `half` is t(df_e) sqrt(2 MS_e (1 + 1/n)),
    a respondent's move against the others; for two wordings that is `change_band`. `any_wording` is
    t(df) sqrt(2 (MS_w / n + MS_e (1 - 1/n))) with Satterthwaite's df: the whole move to a wording
    that nobody asked. From two wordings it has about one degree of freedom and is very wide.

    - `scores`: (wordings, respondents), the original first.
    """
    x = float_array(scores, "wordings, respondents")
    moves = x[1:].mean(axis=0) - x[0]
    x = x[:, np.isfinite(x).all(axis=0)]
    wordings, respondents = x.shape
    n = min(n_effective or math.inf, respondents)
    if respondents < MIN_MOVES or n < 2:
        return _absent(moves, _TOO_FEW_RESPONDENTS)
    _, ms_w, ms_e = mean_squares(x.T).tolist()
    df_w = wordings - 1
    df_e = (wordings - 1) * (n - 1)
    factor = _student_quantile(df_e)
    # a: what a wording does to all; b: what it does to one respondent beyond that
    a = 2 * ms_w / respondents
    b = 2 * ms_e * (1 - 1 / n)
    half = factor * math.sqrt(2 * ms_e * (1 + 1 / n))
    # a wording that nobody asked moves no less than those that were asked
    any_wording = half
    if a + b > 0:
        # degrees of freedom of a sum of two mean squares (Satterthwaite 1946)
        satterthwaite_df = (a + b) ** 2 / (a**2 / df_w + b**2 / df_e)
        any_wording = max(half, _student_quantile(satterthwaite_df) * math.sqrt(a + b))
    return ErrorBand(half=half, moves=moves, factor=factor, any_wording=any_wording)


def metric_band(scores: ArrayLike, second_scores: ArrayLike) -> ErrorBand:
    """Return the band of another metric, after it is given the mean and the spread of the first.

    Two parameters are taken from the data, so the residual's variance has n - 2 degrees of freedom:
    t(n - 2) s sqrt(1 + 2 / n). There is no shift: the means are made equal.

    - `scores, second_scores`: (respondents,): both metrics, higher being better.
    """
    x = float_array(scores, "respondents")
    y = float_array(second_scores, "respondents")
    complete = np.isfinite(x) & np.isfinite(y)
    n = int(complete.sum())
    moves = np.full(len(x), np.nan)
    if n < MIN_MOVES:
        return _absent(moves, _TOO_FEW_RESPONDENTS)
    if is_constant(x[complete]) or is_constant(y[complete]):
        return _absent(moves, "all respondents score alike, so that no metric orders them")
    # linear equating: the second metric in mean and spread of the first (Kolen and Brennan 2014)
    moves = (
        x[complete].mean() + (y - y[complete].mean()) * x[complete].std() / y[complete].std() - x
    )
    factor = _student_quantile(n - 2)
    # two parameters, mean and spread, are estimated
    deviation = math.sqrt(float((moves[complete] ** 2).sum()) / (n - 2))
    return ErrorBand(half=factor * deviation * math.sqrt(1 + 2 / n), moves=moves, factor=factor)


_TOO_FEW_RESPONDENTS = f"a band needs {MIN_MOVES} respondents"


def _student_quantile(df: float) -> float:
    """How many standard errors Student's interval of 95 % reaches to either side."""
    return float(stdtrit(df, 0.975))


def _absent(moves: Array, reason: str) -> ErrorBand:
    return ErrorBand(half=math.nan, moves=moves, status="insufficient", reason=reason)


def _from_variances(variances: Array, factor: float) -> ErrorBand:
    finite_variances = variances[np.isfinite(variances)]
    # respondents without a variance are no part of the band
    if not len(finite_variances):
        return _absent(np.full(len(variances), np.nan), "nobody has a variance")
    half = factor * math.sqrt(float(finite_variances.mean()))
    return ErrorBand(half=half, moves=factor * np.sqrt(variances), factor=factor)
