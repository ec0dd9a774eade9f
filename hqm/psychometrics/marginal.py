"""Marginal maximum likelihood of logistic item response models by expectation and maximisation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hqm.psychometrics.arrays import Array

# standard deviations of the priors of log slope and intercept, where priors are asked for
PRIOR_LOG_SLOPE = 0.5
PRIOR_INTERCEPT = 2.0
# the fit ends when no parameter moves by more than the tolerance
MAX_ITERATIONS = 500
TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True, eq=False)
class Parameters:
    """Item parameters and how they were found.

    `slope` and `intercept` have one entry an item: P(pass) = sigmoid(slope theta + intercept),
    theta ~ N(0, 1).
    """

    slope: Array
    intercept: Array
    se_slope: Array
    se_intercept: Array
    log_likelihood: float
    iterations: int
    converged: bool
    se_method: str


@dataclass(slots=True)
class _Points:
    """Abilities at which the posterior is computed: one grid for all (shared), or a few of each
    respondent's own.
    """

    theta: Array  # (points,) or (respondents, points)
    log_weight: Array
    shared: bool


def fit(
    scores: Array,
    counts: Array,
    *,
    common_slope: bool = False,
    priors: bool = False,
) -> Parameters:
    """Slopes and intercepts that make the observed patterns most probable.

    Few items leave each ability uncertain: the posterior is computed on one grid for all
    respondents. Thousands of items pin an ability between two points of any affordable grid: then
    every respondent has quadrature points of its own, centred at the posterior mode. After every
    step the ability scale is set back to mean 0 and standard deviation 1 in the sample (parameter
    expansion), which speeds the convergence up.

    Bock, R. D. and Aitkin, M. (1981). Marginal maximum likelihood estimation of item parameters.
    Psychometrika, 46, 443-459. Liu, C., Rubin, D. B. and Wu, Y. N. (1998). Parameter expansion to
    accelerate EM. Biometrika, 85, 755-770. Standard errors: inverse cross-product of the
    respondents' scores with ten respondents a parameter, else each item's own observed information
    (Louis, T. A. (1982). Journal of the Royal Statistical Society B, 44, 226-233).

    - `scores`: (patterns, items): 0, 1 or NaN.
    - `counts`: (patterns,): how many respondents have each pattern.
    - `common_slope`: One slope for all items (Rasch).
    - `priors`: log slope ~ N(0, 0.5), intercept ~ N(0, 2) (standard deviations): for few
      respondents; slopes stay positive.
    """
    seen = np.isfinite(scores)
    x = np.where(seen, scores, 0.0)
    full = bool(seen.all())
    weight = seen.astype(np.float64)
    items = x.shape[1]
    rate = ((x * counts[:, None]).sum(axis=0) + 0.5) / ((weight * counts[:, None]).sum(axis=0) + 1)
    a, d = np.ones(items), np.log(rate / (1 - rate))
    grid_size = max(61, math.ceil(11 * math.sqrt(items)))
    shared = len(x) * 9 >= grid_size
    if shared:
        theta = np.linspace(-6, 6, grid_size)
        points = _Points(theta, -0.5 * theta**2 - np.log(np.exp(-0.5 * theta**2).sum()), True)
    else:
        points = _own_points(x, weight, a, d, np.zeros(len(x)), steps=20)
    moved, iterations = math.inf, 0
    while iterations < MAX_ITERATIONS and moved >= TOLERANCE:
        iterations += 1
        if not shared:
            points = _own_points(x, weight, a, d, points.theta.mean(axis=1), steps=2)
        post, _ = _posterior(x, weight, a, d, points, full)
        new_a, new_d = _maximise(x, weight, counts, a, d, points, post, common_slope, priors, full)
        mean = float((counts[:, None] * post * points.theta).sum() / counts.sum())
        spread = math.sqrt(
            float((counts[:, None] * post * (points.theta - mean) ** 2).sum() / counts.sum())
        )
        new_a, new_d = new_a * spread, new_d + new_a * mean
        moved = max(float(np.abs(new_a - a).max()), float(np.abs(new_d - d).max()))
        a, d = new_a, new_d
        if not shared:
            points.theta = (points.theta - mean) / spread
    if not shared:
        points = _own_points(x, weight, a, d, points.theta.mean(axis=1), steps=20)
    post, log_likelihood = _posterior(x, weight, a, d, points, full)
    se_a, se_d, method = _errors(x, weight, counts, a, d, points, post, common_slope, priors)
    total = float((counts * log_likelihood).sum())
    return Parameters(a, d, se_a, se_d, total, iterations, moved < TOLERANCE, method)


def modes(
    x: Array, weight: Array, a: Array, d: Array, theta: Array, steps: int = 50
) -> tuple[Array, Array]:
    """Posterior modes of abilities and their information (standard normal prior), by Newton's
    method.

    - `x, weight`: (respondents, items): scores, and 1 where there is one.
    - `theta`: (respondents,): where to start.
    """
    for _ in range(steps):
        p = _pass(theta, a, d)
        slope = ((x - p) * weight) @ a - theta
        information = (p * (1 - p) * weight) @ (a * a) + 1
        step = np.clip(slope / information, -1, 1)
        theta = theta + step
        if np.abs(step).max(initial=0.0) < 1e-10:
            break
    p = _pass(theta, a, d)
    return theta, np.asarray((p * (1 - p) * weight) @ (a * a) + 1, dtype=np.float64)


def _logits(theta: Array, a: Array, d: Array) -> Array:
    """(..., items): the logits at abilities, in one table: of thousands of items there is no room
    for a second.
    """
    z = theta[..., None] * a
    z += d
    return np.clip(z, -35, 35, out=z)


def _pass(theta: Array, a: Array, d: Array) -> Array:
    """(..., items): the probability of passing, in the table of the logits."""
    p = _logits(theta, a, d)
    np.negative(p, out=p)
    np.exp(p, out=p)
    p += 1
    return np.divide(1, p, out=p)


def _own_points(x: Array, weight: Array, a: Array, d: Array, start: Array, steps: int) -> _Points:
    theta, information = modes(x, weight, a, d, start, steps)
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    scale = 1 / np.sqrt(information)
    at = theta[:, None] + scale[:, None] * nodes
    # Gauss-Hermite weight over its normal kernel, times the prior density
    log_weight = (
        np.log(weights)
        + 0.5 * nodes**2
        + np.log(scale)[:, None]
        - 0.5 * at**2
        - 0.5 * math.log(2 * math.pi)
    )
    return _Points(at, log_weight, False)


def _posterior(
    x: Array, weight: Array, a: Array, d: Array, points: _Points, full: bool
) -> tuple[Array, Array]:
    """(patterns, points) posterior weights and (patterns,) marginal log likelihoods."""
    if points.shared:
        z = _logits(points.theta, a, d)
        log_failed = -np.log1p(np.exp(z))
        log = x @ z.T + (log_failed.sum(axis=1) if full else weight @ log_failed.T)
    else:
        z = _logits(points.theta, a, d)
        log = np.einsum("mi,mqi->mq", x, z)
        softplus = np.log1p(np.exp(z, out=z), out=z)
        log -= softplus.sum(axis=2) if full else np.einsum("mi,mqi->mq", weight, softplus)
    log = log + points.log_weight
    top = log.max(axis=1, keepdims=True)
    post = np.exp(log - top)
    total = post.sum(axis=1, keepdims=True)
    return post / total, (top + np.log(total))[:, 0]


def _expected(
    x: Array, weight: Array, counts: Array, points: _Points, post: Array, full: bool
) -> tuple[Array, Array, Array]:
    """(points,) abilities, (points, items or 1) expected respondents and (points, items) expected
    passes.
    """
    mass = post * counts[:, None]
    if points.shared:
        asked = mass.sum(axis=0)[:, None] if full else mass.T @ weight
        return points.theta, asked, mass.T @ x
    theta, flat = points.theta.ravel(), mass.ravel()[:, None]
    rows = np.repeat(np.arange(len(x)), points.theta.shape[1])
    passed = x[rows]
    passed *= flat
    return theta, flat if full else flat * weight[rows], passed


def _maximise(
    x: Array,
    weight: Array,
    counts: Array,
    a: Array,
    d: Array,
    points: _Points,
    post: Array,
    common_slope: bool,
    priors: bool,
    full: bool,
) -> tuple[Array, Array]:
    theta, asked, passed = _expected(x, weight, counts, points, post, full)
    for _ in range(2):
        p = _pass(theta, a, d)
        residual = asked * p
        np.subtract(passed, residual, out=residual)
        g_a, g_d = theta @ residual, residual.sum(axis=0)
        w = np.multiply(asked, p, out=residual)
        w *= np.subtract(1, p, out=p)
        i_aa, i_ad, i_dd = (theta * theta) @ w, theta @ w, w.sum(axis=0)
        if priors:
            g_d, i_dd = g_d - d / PRIOR_INTERCEPT**2, i_dd + 1 / PRIOR_INTERCEPT**2
        if common_slope:
            schur = i_aa.sum() - (i_ad**2 / i_dd).sum()
            step_a = np.full_like(
                a, np.clip((g_a.sum() - (i_ad * g_d / i_dd).sum()) / schur, -0.5, 0.5)
            )
            step_d = np.clip((g_d - i_ad * step_a) / i_dd, -1, 1)
            a, d = np.maximum(a + step_a, 1e-4), d + step_d
            continue
        if priors:
            # on log a: the gradient and information of a carry a factor a and a^2
            g_a, i_aa, i_ad = (
                a * g_a - np.log(a) / PRIOR_LOG_SLOPE**2,
                a * a * i_aa + 1 / PRIOR_LOG_SLOPE**2,
                a * i_ad,
            )
        determinant = np.maximum(i_aa * i_dd - i_ad**2, 1e-12)
        step_a = np.clip((i_dd * g_a - i_ad * g_d) / determinant, -0.5, 0.5)
        step_d = np.clip((i_aa * g_d - i_ad * g_a) / determinant, -1, 1)
        a, d = a * np.exp(step_a) if priors else a + step_a, d + step_d
    return a, d


def _errors(
    x: Array,
    weight: Array,
    counts: Array,
    a: Array,
    d: Array,
    points: _Points,
    post: Array,
    common_slope: bool,
    priors: bool,
) -> tuple[Array, Array, str]:
    items = len(a)
    theta, asked, passed = _expected(x, weight, counts, points, post, bool(weight.all()))
    p = _pass(theta, a, d)
    if points.shared:
        mean_p, mean_tp = post @ p, (post * theta) @ p
        mean_t = (post @ theta)[:, None]
    else:
        shaped = p.reshape(*post.shape, items)
        mean_p = np.einsum("mq,mqi->mi", post, shaped)
        mean_tp = np.einsum("mq,mqi->mi", post * points.theta, shaped)
        mean_t = (post * points.theta).sum(axis=1, keepdims=True)
    s_d, s_a = (x - mean_p) * weight, (x * mean_t - mean_tp) * weight
    size = items + 1 if common_slope else 2 * items
    if counts.sum() >= 10 * size and not priors:
        stacked = np.hstack([s_a.sum(axis=1, keepdims=True) if common_slope else s_a, s_d])
        information = stacked.T @ (stacked * counts[:, None])
        variance = np.diag(np.linalg.pinv(information, hermitian=True)).copy()
        errors = np.sqrt(np.where(variance > 0, variance, np.nan))
        return np.resize(errors[:-items], items), errors[-items:], "cross-product"
    square = passed * (1 - 2 * p)
    square += asked * p * p
    lost = asked * p
    lost *= 1 - p
    lost -= square
    c = counts[:, None]
    i_aa = (theta * theta) @ lost + (c * s_a * s_a).sum(axis=0)
    i_ad = theta @ lost + (c * s_a * s_d).sum(axis=0)
    i_dd = lost.sum(axis=0) + (c * s_d * s_d).sum(axis=0)
    if priors:
        i_dd = i_dd + 1 / PRIOR_INTERCEPT**2
        i_aa = i_aa + 1 / (PRIOR_LOG_SLOPE * a) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        if common_slope:
            pooled = 1 / (i_aa.sum() - (i_ad**2 / i_dd).sum())
            return np.full(items, np.sqrt(pooled)), np.sqrt(1 / i_dd), "item information"
        determinant = i_aa * i_dd - i_ad**2
        return np.sqrt(i_dd / determinant), np.sqrt(i_aa / determinant), "item information"
