"""How far scores and answers move over several forms."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.form_effect import mean_with_error
from hqm.psychometrics.generalized_retest import cluster_sums
from hqm.psychometrics.result import Bounds, Coefficient


@dataclass(frozen=True, slots=True)
class FormSpread:
    """Spread of each respondent's scores over forms, with means over respondents.

    Parameters
    ----------
    spread
        (respondents,): highest minus lowest score; NaN for a respondent without 2 forms.
    saturation
        (respondents,): 1 - (highest - mean score): how close the average form comes to the best.
    mean_spread, mean_saturation
        Over respondents; the `status` of the first speaks for the whole.
    worst
        The largest spread.
    """

    spread: tuple[float, ...]
    saturation: tuple[float, ...]
    mean_spread: Coefficient
    mean_saturation: Coefficient
    worst: float = math.nan


def form_spread(scores: npt.ArrayLike, *, level: float = 0.95) -> FormSpread:
    """FormatSpread: the gap between a respondent's best and worst form.

    A leaderboard made with one wording hides that another wording would have given another number. The gap grows with
    the number of forms and contains seed noise, so compare only designs with equally many forms and runs.

        spread_m = max_f S_mf - min_f S_mf,   saturation_m = 1 - (max_f S_mf - mean_f S_mf)

    Parameters
    ----------
    scores
        (respondents, forms); NaN where a form was not given.
    level
        Confidence level of Student's intervals over respondents.

    Returns
    -------
    FormSpread
        `insufficient` without a respondent on 2 forms.

    Raises
    ------
    ValueError
        `scores` is not a matrix.

    Notes
    -----
    Sclar, M. et al. (2024). Quantifying language models' sensitivity to spurious features in prompt design. ICLR.
    Mizrahi, M. et al. (2024). State of what art? TACL, 12 (saturation).

    Examples
    --------
    >>> found = form_spread([[0.5, 0.7, 0.6], [0.8, 0.8, 0.5]])
    >>> [round(s, 6) for s in found.spread], round(found.mean_saturation.value, 6)
    ([0.2, 0.3], 0.9)
    """
    x = np.asarray(scores, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(f"scores must have shape (respondents, forms), got {x.shape}")
    there = np.isfinite(x)
    kept = there.sum(axis=1) >= 2
    spread, saturation = np.full(len(x), np.nan), np.full(len(x), np.nan)
    if not kept.any():
        none = Coefficient.absent("insufficient", "no respondent has scores on 2 forms")
        return FormSpread(tuple(spread.tolist()), tuple(saturation.tolist()), none, none)
    best = np.where(there, x, -np.inf).max(axis=1)[kept]
    spread[kept] = best - np.where(there, x, np.inf).min(axis=1)[kept]
    saturation[kept] = 1 - (best - np.where(there, x, 0.0).sum(axis=1)[kept] / there.sum(axis=1)[kept])
    return FormSpread(
        tuple(spread.tolist()),
        tuple(saturation.tolist()),
        _mean(spread[kept], level),
        _mean(saturation[kept], level),
        float(spread[kept].max()),
    )


def item_sensitivity(
    values: npt.ArrayLike, clusters: npt.ArrayLike | None = None, *, level: float = 0.95
) -> tuple[Coefficient, ...]:
    """How much single answers move between forms: mean absolute difference over pairs of forms.

    Scores can stay while answers change; this looks at the answers. For scores of 0 and 1 it is the probability that two
    forms give an item different scores. Seed noise is part of it: compare with the same number between runs of one form.

        PSS_m = mean_i mean over pairs of forms |x_mip - x_miq|

    Parameters
    ----------
    values
        (forms, respondents, items): item scores; an item counts for a respondent when it is scored on every form.
    clusters
        (items,): labels of what items share.
    level
        Confidence level of the normal interval over items (`fixed`); `n` counts items.

    Returns
    -------
    tuple of Coefficient
        One a respondent; `insufficient` below 2 forms or without items.

    Raises
    ------
    ValueError
        Shapes do not fit.

    Notes
    -----
    Zhuo, J. et al. (2024). ProSA: assessing and understanding the prompt sensitivity of LLMs. Findings of EMNLP.

    Examples
    --------
    Three forms, two items; the second item is answered otherwise on one form, in two of three pairs:

    >>> round(item_sensitivity([[[1, 1]], [[1, 0]], [[1, 1]]])[0].value, 6)
    0.333333
    """
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 3:
        raise ValueError(f"values must have shape (forms, respondents, items), got {x.shape}")
    labels = np.arange(x.shape[2]) if clusters is None else np.asarray(clusters)
    if labels.shape != x.shape[2:]:
        raise ValueError(f"clusters must have one label an item ({x.shape[2]}), got shape {labels.shape}")
    forms = x.shape[0]
    scored = np.asarray(np.isfinite(x).all(axis=0))
    if forms < 2 or not scored.any():
        reason = f"sensitivity needs 2 forms and a scored item, there are {forms} forms"
        return tuple(Coefficient.absent("insufficient", reason) for _ in range(x.shape[1]))
    from scipy.special import ndtri

    # the sum over pairs of |a - b| of sorted numbers is a weighted sum of them
    weight = 2 * np.arange(forms) - forms + 1
    ordered = np.sort(np.where(scored, x, 0.0), axis=0)
    moved = np.tensordot(weight.astype(np.float64), ordered, axes=1) / (forms * (forms - 1) / 2)
    mean, error = mean_with_error(*cluster_sums(moved, scored, labels))
    z = float(ndtri(0.5 + level / 2))
    found = []
    for m, e, n in zip(mean.tolist(), error.tolist(), scored.sum(axis=1).tolist(), strict=True):
        if not n:
            found.append(Coefficient.absent("insufficient", "no item is scored on every form"))
        elif e > 0:
            ends = Bounds(max(0.0, m - z * e), m + z * e, "cluster normal", level)
            found.append(Coefficient(m, n=n, level=level, fixed=ends, se=e))
        else:
            found.append(Coefficient(m, n=n, level=level))
    return tuple(found)


def _mean(x: npt.NDArray[np.float64], level: float) -> Coefficient:
    n, value = len(x), float(x.mean())
    if n < 2:
        return Coefficient(value, n=n, level=level)
    from scipy.special import stdtrit

    half = float(stdtrit(n - 1, 0.5 + level / 2)) * float(x.std(ddof=1)) / math.sqrt(n)
    return Coefficient(value, value - half, value + half, n, level, "t")
