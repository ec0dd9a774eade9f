"""The Rasch model: difficulties on one ruler, and how far each item keeps to it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array
from hqm.psychometrics.irt import item_response
from hqm.psychometrics.multiple import benjamini_hochberg
from hqm.psychometrics.result import Status


@dataclass(frozen=True, slots=True)
class RaschItem:
    """One item of a Rasch scale.

    - `difficulty, se`: In logits, mean 0 over the items; the ability that passes half the time.
    - `infit, outfit`: Mean squared residuals, weighted by information and plain: 1 as the model
      expects, above 1.3 erratic (a wrong key, a lucky guess), below .7 too regular (it repeats
      other items).
    - `infit_t, outfit_t`: The same as approximately normal deviates (Wilson and Hilferty).
    - `q`: Two-sided p of the more extreme of both, after Bonferroni for two and Benjamini and
      Hochberg over items.
    - `misfit`: Outside .7 to 1.3 and q below alpha.
    """

    difficulty: float
    se: float
    infit: float
    outfit: float
    infit_t: float
    outfit_t: float
    q: float
    misfit: bool
    status: Status = "ok"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Rasch:
    """A Rasch scale.

    - `items`: In order.
    - `ability, ability_se`: One entry a respondent, in logits: Warm's weighted likelihood estimate,
      finite even for all passes or none.
    - `separation`: Reliability of the abilities: 1 - mean(se^2) / variance.
    - `sigma`: Standard deviation of the abilities in logits, as the marginal likelihood estimates
      it.
    """

    items: tuple[RaschItem, ...] = ()
    ability: tuple[float, ...] = ()
    ability_se: tuple[float, ...] = ()
    separation: float = math.nan
    sigma: float = math.nan
    log_likelihood: float = math.nan
    n: int = 0
    flags: tuple[str, ...] = ()
    status: Status = "ok"
    reason: str = ""


def rasch(
    scores: npt.ArrayLike, *, alpha: float = 0.05, n_eff: float | None = None, gate: bool = True
) -> Rasch:
    """Difficulties, abilities and item fit of the Rasch model.

    All items discriminate equally, so an item is told from the others by its difficulty alone; fit
    statistics then show which items do not behave so.

        P(x = 1) = 1 / (1 + exp(-(theta - b)))        z = (x - P) / sqrt(P (1 - P))
        outfit = mean z^2        infit = sum (x - P)^2 / sum P (1 - P)

    Difficulties by marginal maximum likelihood. Warm, T. A. (1989). Weighted likelihood estimation
    of ability. Psychometrika, 54, 427-450. Wright, B. D. and Masters, G. N. (1982). Rating scale
    analysis, chapter 5, for the fit statistics. They treat abilities as known: with few items they
    are conservative.

    - `scores`: (respondents, items), binary; NaN where an answer was not scored.
    - `alpha`: False discovery rate of `misfit`.
    - `n_eff`: The number of independent respondents, where some are relatives.
    - `gate`: False fits the model to fewer than 30 respondents, with a flag.

    The status is `insufficient` for fewer than 30 respondents; `degenerate` when the items do not
    vary or measure nothing in common.

    >>> rng = np.random.default_rng(2)
    >>> theta, b = rng.normal(size=(200, 1)), np.linspace(-2, 2, 20)
    >>> x = (rng.random((200, 20)) < 1 / (1 + np.exp(-(theta - b)))).astype(float)
    >>> x[:, 7] = rng.random(200) < 0.5
    >>> result = rasch(x)
    >>> [i for i, item in enumerate(result.items) if item.misfit]
    [7]
    """
    model = item_response(scores, model="rasch", n_eff=n_eff, gate=gate)
    if model.status != "ok":
        return Rasch(n=model.n, status=model.status, reason=model.reason)
    x = np.asarray(scores, dtype=np.float64)
    b = -np.asarray(model.intercept)
    known = np.isfinite(b)
    centre = float(b[known].mean())
    seen = np.isfinite(x) & known
    filled, weight, place = (
        np.where(seen, x, 0.0),
        seen.astype(np.float64),
        np.where(known, b - centre, 0.0),
    )
    theta, information = _weighted_likelihood(filled, weight, place)
    answered = seen.any(axis=1)
    p = 1 / (1 + np.exp(-(theta[:, None] - place)))
    w = p * (1 - p) * weight
    squared = ((filled - p) * weight) ** 2
    n = np.maximum(weight.sum(axis=0), 1)
    ratio = np.divide(squared, w, out=np.zeros_like(w), where=w > 0)
    total = np.maximum(w.sum(axis=0), 1e-100)
    outfit, infit = ratio.sum(axis=0) / n, squared.sum(axis=0) / total
    fourth = w * (1 - 3 * p * (1 - p))
    spread_out = (
        np.divide(fourth, w * w, out=np.zeros_like(w), where=w > 0).sum(axis=0) / n**2 - 1 / n
    )
    spread_in = (fourth - w * w).sum(axis=0) / total**2
    t_in, t_out = _deviate(infit, spread_in), _deviate(outfit, spread_out)
    from scipy.special import ndtr

    worst = np.fmax(np.abs(t_in), np.abs(t_out))
    q = benjamini_hochberg(np.where(known, np.minimum(1, 4 * ndtr(-worst)), np.nan))
    items = []
    for i in range(x.shape[1]):
        if not known[i]:
            reason = "everyone who answered has the same score"
            none = (math.nan, math.nan, math.nan, math.nan, math.nan, math.nan, math.nan)
            items.append(RaschItem(*none, False, "degenerate", reason))
            continue
        outside = not (0.7 <= infit[i] <= 1.3 and 0.7 <= outfit[i] <= 1.3)
        misfit = bool(outside and q[i] < alpha)
        fit = (float(infit[i]), float(outfit[i]), float(t_in[i]), float(t_out[i]), float(q[i]))
        items.append(RaschItem(float(place[i]), model.se_intercept[i], *fit, misfit))
    error = 1 / np.sqrt(np.where(answered, information, np.nan))
    theta = np.where(answered, theta, np.nan)
    spread = float(np.nanvar(theta, ddof=1))
    separation = 1 - float(np.nanmean(error**2)) / spread if spread > 0 else math.nan
    sigma = next(slope for slope in model.slope if math.isfinite(slope))
    return Rasch(
        tuple(items),
        tuple(theta.tolist()),
        tuple(error.tolist()),
        separation,
        sigma,
        model.log_likelihood,
        model.n,
        model.flags,
    )


def _deviate(mean_square: Array, variance: Array) -> Array:
    q = np.sqrt(np.maximum(variance, 1e-12))
    return np.asarray((np.cbrt(mean_square) - 1) * (3 / q) + q / 3, dtype=np.float64)


def _weighted_likelihood(x: Array, weight: Array, b: Array) -> tuple[Array, Array]:
    """Warm's estimates and the information there, one an row."""
    theta = np.zeros(len(x))
    information = np.ones(len(x))
    for _ in range(200):
        p = 1 / (1 + np.exp(-(theta[:, None] - b)))
        w = p * (1 - p) * weight
        information = np.maximum(w.sum(axis=1), 1e-12)
        skew = (w * (1 - 2 * p)).sum(axis=1)
        step = np.clip(
            (((x - p) * weight).sum(axis=1) + skew / (2 * information)) / information, -1, 1
        )
        theta = theta + step
        if np.abs(step).max(initial=0.0) < 1e-9:
            break
    return theta, information
