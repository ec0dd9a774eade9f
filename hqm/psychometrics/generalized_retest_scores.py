"""rho_G of a metric that is no mean of item scores."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.generalized_retest import GeneralizedRetest, absent_retest, assemble_retest


def rho_g_of_scores(
    scores: npt.ArrayLike,
    *,
    noise: npt.ArrayLike | None = None,
    without: npt.ArrayLike | None = None,
    n_effective: float | None = None,
    level: float = 0.95,
) -> GeneralizedRetest:
    """rho_G of any metric (F1, CHAIR, a ratio of sums) from its scores with each cluster of items left out.

    A metric that is no mean of item scores has no item noise to add up, but every cluster has an influence on it: how
    far the score moves without the cluster. To first order the score is the sum of these influences, and the influence
    of one cluster in two runs differs by that cluster's noise alone. Adding up the variances of those differences gives
    the variance of the score over seeds, as for a mean.

        h_mkc = (C - 1) / C (S_mk - S_mk(c)),     v_m = C / (C - 1) sum_c s2_k(h_mkc)

    For a mean of items this is the estimate of `rho_g` up to the factor C / (C - 1) on the part of the noise that all
    items share. It is not valid for metrics that jump (a median, a maximum).

    Parameters
    ----------
    scores
        (runs, respondents): the metric's values.
    noise
        (respondents,): variance of one run's score over seeds, where it is known from elsewhere (probabilities). It
        replaces the estimate; without `without` there is then no interval for these respondents.
    without
        (runs, respondents, clusters): the metric with each cluster left out.
    n_effective, level
        As in `rho_g`.

    Returns
    -------
    GeneralizedRetest
        As `rho_g`; without a noise floor (`not_applicable`). `n_items` counts clusters here.

    Raises
    ------
    ValueError
        Neither `noise` nor `without` is given, or shapes do not fit.

    Notes
    -----
    Efron, B. and Tibshirani, R. J. (1993). An Introduction to the Bootstrap, ch. 11 and 21 (the jackknife as a
    linearisation).

    Examples
    --------
    Three respondents whose noise is known, two runs:

    >>> found = rho_g_of_scores([[0.2, 0.5, 0.8], [0.2, 0.5, 0.8]], noise=[0.01, 0.01, 0.01])
    >>> round(found.rho.value, 4)
    0.8889
    """
    s = np.asarray(scores, dtype=np.float64)
    if s.ndim != 2:
        raise ValueError(f"scores must have shape (runs, respondents), got {s.shape}")
    runs, respondents = s.shape
    if noise is None and without is None:
        raise ValueError("the noise of the scores or the scores without each cluster are needed")
    if noise is None and runs < 2:
        reason = f"test-retest needs 2 runs, there are {runs}"
        return absent_retest("insufficient", reason, runs, respondents, np.zeros(respondents, dtype=np.int64))
    known = None if noise is None else np.asarray(noise, dtype=np.float64)
    if known is not None and known.shape != (respondents,):
        raise ValueError(f"noise must have shape ({respondents},), got {known.shape}")
    kept = np.isfinite(s).all(axis=0)
    kept &= np.isfinite(known) & (known >= 0) if known is not None else True
    w = np.empty((runs, respondents, 0)) if without is None else np.asarray(without, dtype=np.float64)
    if w.shape[:2] != s.shape:
        raise ValueError(f"without must have shape {s.shape} and clusters, got {w.shape}")
    kept &= np.isfinite(w).all(axis=(0, 2))
    count = w.shape[2]
    n = np.full(respondents, count)
    if kept.sum() < 3 or (known is None and count < 2):
        reason = f"test-retest needs 3 respondents and 2 clusters, there are {int(kept.sum())} and {count}"
        return absent_retest("insufficient", reason, runs, respondents, n)
    index = np.flatnonzero(kept)
    s, w = s[:, index], w[:, index]
    h = noise_without = None
    v = known[index] if known is not None else np.empty(0)
    if count >= 2:
        h = (count - 1) / count * (s[:, :, None] - w)
        if known is None:
            # a repeated score leaves rounding dust in its influence
            h = np.where(np.abs(h) < 1e-15, 0.0, h)
            changes = h.var(axis=0, ddof=1) * count / (count - 1)
            v = changes.sum(axis=1)
            noise_without = (count / (count - 1)) ** 2 * (v[:, None] - changes)
        else:
            noise_without = np.repeat(v[:, None], count, axis=1)
    return assemble_retest(
        s, v, w if count >= 2 else None, noise_without, h, index, respondents, n, None, n_effective, level, ()
    )
