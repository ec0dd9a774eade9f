"""Closed forms from probabilities for two forms and for a sampled judge."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.correlation import pearson
from hqm.psychometrics.probability import expected_retest
from hqm.psychometrics.result import Coefficient

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedForms:
    """What two forms would show, computed from one pass each.

    `observed` is the correlation of scores that runs would show, `form` the correlation of the expected scores (without
    seed noise): the form effect alone. `acquiescence` has one entry a respondent where probabilities of yes were given.
    """

    observed: Coefficient
    form: Coefficient
    acquiescence: Array | None = None


def expected_parallel_forms(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    yes_first: npt.ArrayLike | None = None,
    yes_second: npt.ArrayLike | None = None,
) -> ExpectedForms:
    """Parallel-forms reliability from probabilities, split into the form's part and the seeds' part.

    A low correlation of two forms may come from seeds (more items help) or from the wording (they do not). With
    probabilities the two come apart.

        E r_AB = cov(mu_A, mu_B) / sqrt((s2_A + v_A)(s2_B + v_B)),   form alone = cor(mu_A, mu_B)
        acquiescence = mean_i (P_A(yes) + P_B(yes)) / 2 - .5   (the forms' truths being opposite)

    Parameters
    ----------
    first, second
        (respondents, items): probability that the answer is scored 1 on each form.
    yes_first, yes_second
        (respondents, items): probability of yes on each form, the truths of the second being opposite.

    Returns
    -------
    ExpectedForms
        States as in `expected_retest`.

    Raises
    ------
    ValueError
        The forms have different respondents, or are no matrices.

    Examples
    --------
    >>> a = np.repeat([[0.9], [0.5], [0.1]], 100, axis=1)
    >>> found = expected_parallel_forms(a, a)
    >>> round(found.observed.value, 6), round(found.form.value, 6)
    (0.991121, 1.0)
    """
    a, b = expected_retest(first), expected_retest(second)
    if len(a.scores) != len(b.scores):
        raise ValueError(f"both forms need the same respondents, got {len(a.scores)} and {len(b.scores)}")
    bias = None
    if yes_first is not None and yes_second is not None:
        bias = (_row_means(yes_first) + _row_means(yes_second)) / 2 - 0.5
    both = np.isfinite(a.scores) & np.isfinite(b.scores)
    x, y = a.scores[both], b.scores[both]
    form = pearson(x, y)
    if form.status != "ok":
        return ExpectedForms(form, form, bias)
    spread = [float(z.var(ddof=1) + found.noise[both].mean()) for z, found in ((x, a), (y, b))]
    value = float(np.cov(x, y)[0, 1]) / math.sqrt(spread[0] * spread[1])
    observed = Coefficient(value, n=len(x), method="closed form")
    return ExpectedForms(observed, form, bias)


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedJudgeNoise:
    """(respondents,): variance of the score from judging again, from answering again, and from both; with the share.

    `share` is the judge's part of the whole, over all respondents together.
    """

    judge: Array
    response: Array
    total: Array
    share: Coefficient


def expected_judge_noise(passing: npt.ArrayLike) -> ExpectedJudgeNoise:
    """How much of the noise a sampled judge makes, from its probabilities of passing sampled responses.

    A judge at a temperature above 0 gives another verdict on the very same response. Its variance given the response
    and the variance of its probability over responses add up to the whole (law of total variance).

        judge = sum_i mean_k g (1 - g) / n^2,   response = sum_i s2_k(g) / n^2,   total = judge + response

    Parameters
    ----------
    passing
        (responses, respondents, items): the probability that the judge passes each sampled response; one response per
        item is enough for the judge's part.

    Returns
    -------
    ExpectedJudgeNoise
        `share` is `insufficient` below 2 responses, `not_informative` when nothing varies, `not_applicable` when a
        number is no probability.

    Raises
    ------
    ValueError
        `passing` has not three axes.

    Examples
    --------
    The judge passes one response with .5 and the other with .9, on every one of ten items:

    >>> g = np.broadcast_to(np.array([0.5, 0.9])[:, None, None], (2, 3, 10))
    >>> found = expected_judge_noise(g)
    >>> round(found.judge[0].item(), 6), round(found.response[0].item(), 6), round(found.share.value, 4)
    (0.017, 0.008, 0.68)
    """
    g = np.asarray(passing, dtype=np.float64)
    if g.ndim != 3:
        raise ValueError(f"passing must have shape (responses, respondents, items), got {g.shape}")
    responses, m, _ = g.shape
    there = np.isfinite(g).all(axis=0)
    n = there.sum(axis=1).astype(np.float64)
    known = g[:, there]
    missing = np.full(m, np.nan)
    if responses == 0 or not there.any():
        none = Coefficient.absent("insufficient", "no response has a probability of passing", m)
        return ExpectedJudgeNoise(missing, missing, missing, none)
    if (known < 0).any() or (known > 1).any():
        none = Coefficient.absent("not_applicable", "a number is outside 0 to 1 and no probability", m)
        return ExpectedJudgeNoise(missing, missing, missing, none)
    n[n == 0] = np.nan
    judge = np.where(there, (g * (1 - g)).mean(axis=0), 0.0).sum(axis=1) / n**2
    if responses < 2:
        reason = "the responses' part of the noise needs 2 responses an item, there is 1"
        return ExpectedJudgeNoise(judge, missing, missing, Coefficient.absent("insufficient", reason, m))
    response = np.where(there, g.var(axis=0, ddof=1), 0.0).sum(axis=1) / n**2
    total = judge + response
    rows = np.isfinite(total)
    whole = float(total[rows].sum())
    if whole == 0.0:
        share = Coefficient.absent("not_informative", "neither responses nor verdicts vary", m)
    else:
        share = Coefficient(float(judge[rows].sum()) / whole, n=int(rows.sum()), method="closed form")
    return ExpectedJudgeNoise(judge, response, total, share)


def _row_means(x: npt.ArrayLike) -> Array:
    p = np.asarray(x, dtype=np.float64)
    if p.ndim != 2:
        raise ValueError(f"probabilities must have shape (respondents, items), got {p.shape}")
    there = np.isfinite(p)
    n = there.sum(axis=1)
    sums = np.where(there, p, 0.0).sum(axis=1)
    return np.asarray(np.divide(sums, n, out=np.full(len(p), np.nan), where=n > 0))
