"""The Rasch model: difficulties and abilities on one scale, and the fit of each item; and kinds of
items by slope and easiness, with how frequent each is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from hqm.psychometrics.inference.significance import benjamini_hochberg
from hqm.psychometrics.result import Array, ArrayLike, IntArray, Outcome, Status, float_array

# the fit ends when no parameter moves by more than the tolerance
MAX_ITERATIONS = 500
TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True, eq=False)
class Parameters:
    """Fitted parameters: P(pass) = sigmoid(slope theta + intercept), theta ~ N(0, 1)."""

    slope: float
    intercept: Array
    log_likelihood: float
    converged: bool


def fit(scores: Array, counts: Array) -> Parameters:
    """Slope and intercepts that make the observed patterns most probable.

    The posterior of each ability is computed on one grid, which is the finer the more items there
    are, as many items pin an ability down. After every step the ability scale is set back to mean 0
    and standard deviation 1 in the sample (parameter expansion), which speeds the convergence up.

    Bock, R. D. and Aitkin, M. (1981). Marginal maximum likelihood estimation of item parameters.
    Psychometrika, 46, 443-459. Liu, C., Rubin, D. B. and Wu, Y. N. (1998). Parameter expansion to
    accelerate EM. Biometrika, 85, 755-770.

    - `scores`: (patterns, items): 0, 1 or NaN.
    - `counts`: (patterns,): how many respondents have each pattern.
    """
    scored = np.isfinite(scores)
    x = np.where(scored, scores, 0.0)
    weight = scored.astype(np.float64)
    rate = counts @ x / (counts @ weight)
    a = 1.0
    # intercepts that give the observed rates at ability 0
    d = np.log(rate / (1 - rate))
    # points to either side of 0, in standard deviations of the ability
    theta = np.linspace(-6, 6, max(61, math.ceil(11 * math.sqrt(x.shape[1]))))
    log_prior = -0.5 * theta**2 - np.log(np.exp(-0.5 * theta**2).sum())
    full = bool(scored.all())
    max_change = math.inf
    iterations = 0
    while iterations < MAX_ITERATIONS and max_change >= TOLERANCE:
        iterations += 1
        # E step: expected answers and passes at each point of the grid (Bock and Aitkin 1981)
        post, _ = _posterior(x, weight, a, d, theta, log_prior, full)
        mass = post * counts[:, None]
        if full:
            expected_answers = mass.sum(axis=0)[:, None]
        else:
            expected_answers = mass.T @ weight
        new_a, new_d = _maximise(a, d, theta, expected_answers, mass.T @ x)
        mean = float((mass * theta).sum() / counts.sum())
        spread = math.sqrt(float((mass * (theta - mean) ** 2).sum() / counts.sum()))
        # parameter expansion: the abilities are set back to mean 0 and standard deviation 1
        new_d = new_d + new_a * mean
        new_a = new_a * spread
        max_change = max(abs(new_a - a), float(np.abs(new_d - d).max()))
        a = new_a
        d = new_d
    _, log_likelihood = _posterior(x, weight, a, d, theta, log_prior, full)
    total = float((counts * log_likelihood).sum())
    return Parameters(a, d, total, max_change < TOLERANCE)


def _logits(theta: Array, a: float, d: Array) -> Array:
    """(..., items): the logits at abilities, in one table: of thousands of items there is no room
    for a second.
    """
    z = (a * theta)[..., None] + d
    # at 35 the probability is 1 to the precision of a double
    return np.clip(z, -35, 35, out=z)


def _pass(theta: Array, a: float, d: Array) -> Array:
    """(..., items): the probability of passing, in the table of the logits."""
    p = _logits(theta, a, d)
    np.negative(p, out=p)
    np.exp(p, out=p)
    p += 1
    return np.divide(1, p, out=p)


def _posterior(
    x: Array, weight: Array, a: float, d: Array, theta: Array, log_prior: Array, full: bool
) -> tuple[Array, Array]:
    """Posterior weights (patterns, points) and marginal log likelihoods (patterns,)."""
    z = _logits(theta, a, d)
    log_failed = -np.log1p(np.exp(z))
    log = x @ z.T + (log_failed.sum(axis=1) if full else weight @ log_failed.T) + log_prior
    # log of the sum of exponentials, the largest taken off, so that nothing underflows
    top = log.max(axis=1, keepdims=True)
    post = np.exp(log - top)
    total = post.sum(axis=1, keepdims=True)
    return post / total, (top + np.log(total))[:, 0]


def _maximise(
    a: float, d: Array, theta: Array, expected_answers: Array, expected_passes: Array
) -> tuple[float, Array]:
    """Two steps of Newton's method on the slope and the intercepts."""
    for _ in range(2):
        p = _pass(theta, a, d)
        residual = expected_answers * p
        np.subtract(expected_passes, residual, out=residual)
        g_a = float((theta @ residual).sum())
        g_d = residual.sum(axis=0)
        # P (1 - P), the information of an answer
        w = np.multiply(expected_answers, p, out=residual)
        w *= np.subtract(1, p, out=p)
        i_aa = float(((theta * theta) @ w).sum())
        i_ad = theta @ w
        # the intercepts are eliminated from the two-by-two blocks (Schur complement)
        i_dd = w.sum(axis=0)
        schur = i_aa - float((i_ad**2 / i_dd).sum())
        # steps are bounded: far from the maximum Newton's may overshoot
        step_a = float(np.clip((g_a - float((i_ad * g_d / i_dd).sum())) / schur, -0.5, 0.5))
        step_d = np.clip((g_d - i_ad * step_a) / i_dd, -1, 1)
        a = max(a + step_a, 1e-4)
        d = d + step_d
    return a, d


MIN_RESPONDENTS = 30
MIN_RESPONDENTS_REASON = (
    "with so many a difficulty is known to within 1 logit at 95 % (Linacre 1994)"
)


@dataclass(frozen=True, slots=True)
class ItemResponseModel(Outcome):
    """Fitted item parameters: P(pass) = sigmoid(slope theta + intercept), theta with mean 0 and
    standard deviation 1.

    Attributes
    ----------
    intercept
        One entry an item. NaN for an item that everyone passes or fails, which has no finite
        parameter.
    flags
        `UNBOUNDED`: a slope above 10, the items pass or fail like steps; how steep the data do
        not say. `NOT_CONVERGED`.
    """

    slope: float = math.nan
    intercept: tuple[float, ...] = ()
    log_likelihood: float = math.nan
    n: int = 0
    flags: tuple[str, ...] = ()


def item_response(scores: ArrayLike, *, n_eff: float | None = None) -> ItemResponseModel:
    """Fit one slope for all items and an intercept for each, if there are respondents enough.

    A slope of its own for each item needs hundreds of respondents: with 20 the estimated slopes
    correlate .5 with the true ones, with 100 .8, with 400 .9.

    Parameters
    ----------
    scores : array_like, shape (respondents, items)
        Binary; NaN where an answer was not scored.
    n_eff : float, optional
        The number of independent respondents, where some are relatives; the gate uses it.

    Returns
    -------
    ItemResponseModel
        The status is `insufficient` below the gate; `degenerate` when fewer than 3 items vary;
        `not_applicable` when a score is not 0 or 1.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        P(x = 1 | theta) = 1 / (1 + exp(-(a theta + d)))

    Marginal maximum likelihood [1]_. Abilities are assumed normal; the scale is theirs in this
    sample.

    References
    ----------
    .. [1] Bock, R. D. and Aitkin, M. (1981). Marginal maximum likelihood estimation of item
       parameters. Psychometrika, 46, 443-459.
    .. [2] Linacre, J. M. (1994). Rasch Measurement Transactions, 7, 328 (30 respondents).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> theta, b = rng.normal(size=(300, 1)), np.linspace(-1.5, 1.5, 8)
    >>> x = (rng.random((300, 8)) < 1 / (1 + np.exp(-1.5 * theta + b))).astype(float)
    >>> float(np.round(np.corrcoef(item_response(x).intercept, -b)[0, 1], 2))
    1.0
    >>> item_response(np.zeros((20, 8))).reason.partition(":")[0]
    'a Rasch model needs 30 independent respondents, there are 20'
    """
    x = float_array(scores, "respondents, items")
    x = x[np.isfinite(x).any(axis=1)]
    n = len(x)
    size = float(n) if n_eff is None else min(float(n), n_eff)

    def absent(status: Status, reason: str) -> ItemResponseModel:
        return ItemResponseModel(n=n, status=status, reason=reason)

    if size < MIN_RESPONDENTS:
        return absent(
            "insufficient",
            f"a Rasch model needs {MIN_RESPONDENTS} independent respondents, there are"
            f" {size:.4g}: {MIN_RESPONDENTS_REASON}",
        )
    scored = np.isfinite(x)
    if not np.isin(x[scored], (0, 1)).all():
        return absent("not_applicable", "the item scores are not 0 or 1")
    n_passed = np.where(scored, x, 0).sum(axis=0)
    n_scored = scored.sum(axis=0)
    # an item that all pass, or fail, has an infinite difficulty
    varying = np.flatnonzero((n_passed > 0) & (n_passed < n_scored))
    if len(varying) < 3:
        return absent("degenerate", f"a scale needs 3 items that vary, there are {len(varying)}")
    if float(np.ptp(np.nanmean(np.where(scored, x, np.nan), axis=1))) <= 1e-12:
        return absent("degenerate", "the respondents do not differ")
    # respondents with one pattern share a posterior: they are counted, not repeated
    patterns, counts = np.unique(x[:, varying], axis=0, return_counts=True, equal_nan=False)
    fitted = fit(patterns, counts.astype(np.float64))
    if fitted.slope < 1e-3:
        return absent("degenerate", "the items do not measure one thing: the common slope is 0")
    flags = ["UNBOUNDED"] if fitted.slope > 10 else []
    flags += [] if fitted.converged else ["NOT_CONVERGED"]

    def fill_items(values: Array) -> tuple[float, ...]:
        column = np.full(x.shape[1], np.nan)
        column[varying] = values
        return tuple(column.tolist())

    return ItemResponseModel(
        fitted.slope,
        fill_items(fitted.intercept),
        fitted.log_likelihood,
        n,
        tuple(flags),
    )


@dataclass(frozen=True, slots=True)
class Rasch(Outcome):
    """A Rasch scale. What is said of items has an entry for each: NaN for an item that everyone who
    answered passes, or fails.

    Attributes
    ----------
    difficulty
        In logits, mean 0 over the items; the ability that passes half the time.
    infit, outfit
        Mean squared residuals, weighted by information and plain: 1 as the model expects, above
        1.3 erratic (a wrong key, a lucky guess), below .7 too regular (it repeats other items).
    misfit
        The numbers of the items outside .7 to 1.3 of which the more extreme of both, as a
        normal deviate (Wilson and Hilferty), has a two-sided p below alpha, after Bonferroni
        for two and Benjamini and Hochberg over items.
    ability
        One entry a respondent, in logits: Warm's weighted likelihood estimate, finite even for
        all passes or none.
    separation
        Reliability of the abilities: 1 - mean(se^2) / variance.
    """

    difficulty: tuple[float, ...] = ()
    infit: tuple[float, ...] = ()
    outfit: tuple[float, ...] = ()
    misfit: tuple[int, ...] = ()
    ability: tuple[float, ...] = ()
    separation: float = math.nan
    n: int = 0
    flags: tuple[str, ...] = ()


def rasch(scores: ArrayLike, *, alpha: float = 0.05, n_eff: float | None = None) -> Rasch:
    """Estimate difficulties, abilities and item fit of the Rasch model.

    All items discriminate equally, so items differ by difficulty alone; the fit statistics show
    which items do not follow the model.

    Parameters
    ----------
    scores : array_like, shape (respondents, items)
        Binary; NaN where an answer was not scored.
    alpha : float, default 0.05
        False discovery rate of `misfit`.
    n_eff : float, optional
        The number of independent respondents, where some are relatives.

    Returns
    -------
    Rasch
        The status is `insufficient` for fewer than 30 respondents; `degenerate` when the items do
        not vary or measure nothing in common.

    Notes
    -----
        P(x = 1) = 1 / (1 + exp(-(theta - b)))        z = (x - P) / sqrt(P (1 - P))
        outfit = mean z^2        infit = sum (x - P)^2 / sum P (1 - P)

    Difficulties are estimated by marginal maximum likelihood, abilities by weighted likelihood
    [1]_. The fit statistics are those of [2]_; they treat abilities as known, so with few items
    they are conservative.

    References
    ----------
    .. [1] Warm, T. A. (1989). Weighted likelihood estimation of ability. Psychometrika, 54,
       427-450.
    .. [2] Wright, B. D. and Masters, G. N. (1982). Rating scale analysis, chapter 5.

    Examples
    --------
    >>> rng = np.random.default_rng(2)
    >>> theta, b = rng.normal(size=(200, 1)), np.linspace(-2, 2, 20)
    >>> x = (rng.random((200, 20)) < 1 / (1 + np.exp(-(theta - b)))).astype(float)
    >>> x[:, 7] = rng.random(200) < 0.5
    >>> result = rasch(x)
    >>> result.misfit
    (7,)
    """
    model = item_response(scores, n_eff=n_eff)
    if model.status != "ok":
        return Rasch(n=model.n, status=model.status, reason=model.reason)
    x = np.asarray(scores, dtype=np.float64)
    b = -np.asarray(model.intercept)
    bounded = np.isfinite(b)
    # difficulties with mean 0; abilities are on the same scale
    centre = float(b[bounded].mean())
    scored = np.isfinite(x) & bounded
    filled = np.where(scored, x, 0.0)
    weight = scored.astype(np.float64)
    difficulty_of = np.where(bounded, b - centre, 0.0)
    theta, information = _weighted_likelihood(filled, weight, difficulty_of)
    answered = scored.any(axis=1)
    p = 1 / (1 + np.exp(-(theta[:, None] - difficulty_of)))
    # the variance of each answer, by which residuals are weighted
    w = p * (1 - p) * weight
    squared = ((filled - p) * weight) ** 2
    n = np.maximum(weight.sum(axis=0), 1)
    ratio = np.divide(squared, w, out=np.zeros_like(w), where=w > 0)
    total = np.maximum(w.sum(axis=0), 1e-100)
    outfit = ratio.sum(axis=0) / n
    infit = squared.sum(axis=0) / total
    # Wright and Masters (1982), ch. 5: variances of the mean squares, from the fourth moments
    # E (x - P)^4 = P (1 - P) (1 - 3 P (1 - P))
    fourth = w * (1 - 3 * p * (1 - p))
    outfit_variance = (
        np.divide(fourth, w * w, out=np.zeros_like(w), where=w > 0).sum(axis=0) / n**2 - 1 / n
    )
    infit_variance = (fourth - w * w).sum(axis=0) / total**2
    t_in = _deviate(infit, infit_variance)
    t_out = _deviate(outfit, outfit_variance)
    worst = np.fmax(np.abs(t_in), np.abs(t_out))
    # two-sided, and Bonferroni for the two statistics
    q = benjamini_hochberg(np.where(bounded, 4 * ndtr(-worst), np.nan))
    in_range = (infit >= 0.7) & (infit <= 1.3) & (outfit >= 0.7) & (outfit <= 1.3)
    misfit = np.flatnonzero(~in_range & (q < alpha))
    difficulty, infit, outfit = np.where(bounded, [difficulty_of, infit, outfit], np.nan).tolist()
    error = 1 / np.sqrt(np.where(answered, information, np.nan))
    theta = np.where(answered, theta, np.nan)
    ability_variance = float(np.nanvar(theta, ddof=1))
    if ability_variance > 0:
        # Wright and Masters (1982): the share of the abilities' variance that is no error
        separation = 1 - float(np.nanmean(error**2)) / ability_variance
    else:
        separation = math.nan
    return Rasch(
        tuple(difficulty),
        tuple(infit),
        tuple(outfit),
        tuple(misfit.tolist()),
        tuple(theta.tolist()),
        separation,
        model.n,
        model.flags,
    )


def _deviate(mean_square: Array, variance: Array) -> Array:
    # Wilson and Hilferty's cube root makes a mean square nearly normal
    q = np.sqrt(np.maximum(variance, 1e-12))
    return np.asarray((np.cbrt(mean_square) - 1) * (3 / q) + q / 3, dtype=np.float64)


def _weighted_likelihood(x: Array, weight: Array, b: Array) -> tuple[Array, Array]:
    """(rows,): Warm's estimates of ability, and the information at them."""
    theta = np.zeros(len(x))
    information = np.ones(len(x))
    for _ in range(200):
        p = 1 / (1 + np.exp(-(theta[:, None] - b)))
        w = p * (1 - p) * weight
        information = np.maximum(w.sum(axis=1), 1e-12)
        # the derivative of the information, whose half is Warm's correction of the bias
        skew = (w * (1 - 2 * p)).sum(axis=1)
        step = np.clip(
            (((x - p) * weight).sum(axis=1) + skew / (2 * information)) / information, -1, 1
        )
        theta = theta + step
        if np.abs(step).max() < 1e-9:
            break
    return theta, information


# --- kinds of items, by slope and easiness on a grid ---

_SLOPES = np.exp(np.linspace(-1.2, 1.2, 9))
_EASES = np.linspace(-7, 7, 25)
SLOPE = np.repeat(_SLOPES, len(_EASES))
EASE = np.tile(_EASES, len(_SLOPES))
"""(kinds,): the slope and the easiness of each kind of item."""
_SLOPE_SD = 0.3
_SLOPE_ITEMS = 20
"""The standard deviation of log slopes before any item is seen, and how many items it is worth."""
_EASE_SD = 2.0
_BORROWED_ITEMS = 250
"""How many items of all the weights of a block borrow."""


def weights_at_first() -> Array:
    """(kinds,): the weights of the kinds before any item is seen."""
    shares = np.exp(-(_EASES**2) / (2 * _EASE_SD**2))
    return np.outer(_slope_shares(_SLOPE_SD**2), shares / shares.sum()).ravel()


def kind_weights(counts: Array, sizes: Array | IntArray) -> Array:
    """(blocks, kinds): the weight of each kind of item, from how many items of each are expected in
    blocks of these sizes.

    A slope is as frequent whatever the easiness: if the two were free together, an easy item with a
    wrong key would be taken for a hard one with a slope of its own.
    """
    by_kind = counts.reshape(len(counts), len(_SLOPES), len(_EASES))
    n_by_slope = by_kind.sum(axis=(0, 2))
    variance = (n_by_slope @ np.log(_SLOPES) ** 2 + _SLOPE_ITEMS * _SLOPE_SD**2) / (
        n_by_slope.sum() + _SLOPE_ITEMS
    )
    n_by_ease = by_kind.sum(axis=1)
    shares_of_all = n_by_ease.sum(axis=0) / sizes.sum()
    eases = (n_by_ease + _BORROWED_ITEMS * shares_of_all) / (sizes + _BORROWED_ITEMS)[:, None]
    weights = _slope_shares(float(variance))[:, None] * eases[:, None, :]
    return np.asarray(weights.reshape(len(counts), -1))


def _slope_shares(variance: float) -> Array:
    """(slopes,): the share of items with each slope, where log slopes are normal around 0."""
    density = np.exp(-(np.log(_SLOPES) ** 2) / (2 * variance))
    return np.asarray(density / density.sum())
