"""How much of the variance of single labels comes from who gave them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array
from hqm.psychometrics.generalizability import g_study
from hqm.psychometrics.result import Coefficient, Status

_MOST = 300
"""The labels that the likelihood is computed from: its time grows with their cube (a second for
these).
"""
_FEWEST = 10
_ZERO = 1e-6
"""A share below this is where the search for the largest likelihood stops on its way to 0."""
_MOST_RATIO = 1e5
"""The largest ratio of a variance to the residual's that is searched: beyond, there is no residual
to compare with.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterVariance:
    """The variance of single labels, and where it comes from.

    - `share`: The raters' part of the sum of the three. It has no interval: two or three raters
      support none.
    - `answers, raters, residual`: The three variances; what a rater makes of one answer alone is in
      the residual.
    - `n_raters, n_answers, n_labels`: What they were estimated from.
    - `method`: `mean squares` or `REML`.
    """

    share: Coefficient
    answers: float = math.nan
    raters: float = math.nan
    residual: float = math.nan
    n_raters: int = 0
    n_answers: int = 0
    n_labels: int = 0
    method: str = ""


def rater_share(labels: npt.ArrayLike, rng: np.random.Generator) -> RaterVariance:
    """The share of the variance of single labels that strict and lenient raters make, by restricted
    likelihood.

    A label is the sum of a mean, an answer's effect, a rater's effect and a residual. Where raters
    make much of the variance, it matters who labelled which answer, and more raters help more than
    more answers.

        share = s2_rater / (s2_answer + s2_rater + s2_residual)

    Where all raters labelled the same answers, the restricted likelihood (REML) is largest at the
    mean squares, those that would make a variance negative pooled with the residual's; this is
    exact for any number of labels. Otherwise the largest restricted likelihood is searched for; of
    more than 300 labels, it is that of answers drawn at random, 300 labels or fewer, since its time
    grows with the cube of their number.

    Searle, S. R., Casella, G. and McCulloch, C. E. (1992). Variance Components, chapter 4. Wiley.
    Labels of 0 and 1 are taken as numbers: the variances are those of the labels, not of logits.

    - `labels`: (raters, answers); NaN where a rater did not label. Answers with a single label are
      left out.
    - `rng`: Draws the answers where there are too many labels.

    Returns
    -------
    RaterVariance
        `insufficient` for fewer than 2 raters or 10 answers that two raters labelled, `degenerate`
        when all labels are equal or no residual is left, `not_informative` with 0 when the variance
        of the raters is 0.

    Examples
    --------
    >>> anna = [1, 1, 0, 1, 0, 1, 1, 0, 1, 1]
    >>> ben = [1, 0, 0, 1, 0, 0, 1, 0, 0, 1]
    >>> round(rater_share([anna, ben], np.random.default_rng(0)).share.value, 3)
    0.118
    """
    x = np.asarray(labels, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(f"an array of shape (raters, answers) is needed, got {x.shape}")
    x = x[:, np.isfinite(x).sum(axis=0) >= 2]
    balanced = bool(np.isfinite(x[np.isfinite(x).any(axis=1)]).all())
    if not balanced and np.isfinite(x).sum() > _MOST:
        order = rng.permutation(x.shape[1])
        x = x[:, np.sort(order[np.isfinite(x[:, order]).sum(axis=0).cumsum() <= _MOST])]
    x = x[np.isfinite(x).any(axis=1)]
    study = RaterVariance(
        share=Coefficient(math.nan),
        n_raters=len(x),
        n_answers=x.shape[1],
        n_labels=int(np.isfinite(x).sum()),
        method="mean squares" if balanced else "REML",
    )

    def refused(status: Status, reason: str, value: float = math.nan) -> RaterVariance:
        return replace(study, share=Coefficient(value, status=status, reason=reason))

    if len(x) < 2 or x.shape[1] < _FEWEST:
        reason = f"the raters' share needs 2 raters and {_FEWEST} answers that two of them labelled"
        return refused("insufficient", f"{reason}, there are {len(x)} and {x.shape[1]}")
    if np.nanmax(x) == np.nanmin(x):
        return refused("degenerate", "all labels are equal")
    if (np.nanmax(x, axis=0) == np.nanmin(x, axis=0)).all():
        return refused("not_informative", "raters of the same answer never differ", 0.0)
    parts = _by_mean_squares(x) if balanced else _by_likelihood(x)
    if parts is None:
        return refused("degenerate", "an answer's and a rater's effect explain every label exactly")
    study = replace(study, answers=parts[0], raters=parts[1], residual=parts[2])
    value = parts[1] / sum(parts)
    if value < _ZERO:
        reason = (
            "the raters' means differ no more than the residual makes them: their variance is"
            " estimated as 0"
        )
        return refused("not_informative", reason, 0.0)
    return replace(study, share=Coefficient(value))


def _by_mean_squares(x: Array) -> tuple[float, float, float]:
    """The variances of answers, raters and residual of a full table."""
    study = g_study(x, ["rater", "answer"])
    rater, answer, rest = (
        study.component(*effect) for effect in (["rater"], ["answer"], ["rater", "answer"])
    )
    residual, df = rest.mean_square, rest.df
    for part in sorted((rater, answer), key=lambda part: part.mean_square):
        if part.mean_square < residual:
            residual = (residual * df + part.mean_square * part.df) / (df + part.df)
            df += part.df
    of_answers, of_raters = (
        (part.mean_square - residual) / n for part, n in zip((answer, rater), x.shape, strict=True)
    )
    return max(0.0, of_answers), max(0.0, of_raters), residual


def _by_likelihood(x: Array) -> tuple[float, float, float] | None:
    """The same of a table with empty cells; None where nothing is left for the residual.

    What is sought are the ratios of the two variances to the residual's, as log(1 + ratio): exact
    at 0, and even where the residual is small. The labels' covariance has no eigenvalue below the
    residual's, so that it has an inverse at the bound, too.
    """
    from scipy.linalg import solve_triangular
    from scipy.optimize import Bounds, minimize

    rater, answer = np.nonzero(np.isfinite(x))
    labels = x[rater, answer]
    same_answer, same_rater = (np.equal.outer(of, of).astype(float) for of in (answer, rater))

    def fitted(logs: Array) -> tuple[float, float]:
        """The best residual variance, and the deviance (twice the negative log-likelihood)."""
        ratios = np.expm1(logs)
        covariance = np.eye(len(labels)) + ratios[0] * same_answer + ratios[1] * same_rater
        root = np.linalg.cholesky(covariance)
        columns = np.column_stack([np.ones(len(labels)), labels])
        both: Array = solve_triangular(root, columns, lower=True)
        ones, whitened = both[:, 0], both[:, 1]
        left = whitened - ones * (ones @ whitened / (ones @ ones))
        dof = len(labels) - 1
        residual = float(left @ left / dof)
        deviance = 2 * np.log(np.diag(root)).sum() + np.log(ones @ ones) + dof * np.log(residual)
        return residual, float(deviance)

    most = math.log1p(_MOST_RATIO)
    best = minimize(
        lambda logs: fitted(logs)[1],
        np.ones(2),
        method="L-BFGS-B",
        bounds=Bounds(0.0, most),
        tol=1e-12,
    )
    if best.x.max() == most:
        return None
    residual = fitted(best.x)[0]
    of_answers, of_raters = map(float, residual * np.expm1(best.x))
    return of_answers, of_raters, residual
