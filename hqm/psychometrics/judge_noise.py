"""How much of the noise between runs comes from the judge."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array, Numbers, normal_quantile
from hqm.psychometrics.clusters import cluster_sums, labels_of
from hqm.psychometrics.result import Bounds, Coefficient, Status


@dataclass(frozen=True, slots=True, eq=False)
class JudgeNoise:
    """Variance of a score over verdicts, over responses and over both.

    - `share`: The judge's part of the run-to-run variance over all respondents; its interval,
      `fixed`, is over items. Above 1 by sampling error it is kept as it is and flagged
      `NEGATIVE_COMPONENT` (the responses' part is negative then).
    - `judge, total, response`: (respondents,): variance of one run's score from judging the same
      response again, from a new response with a new verdict, and their difference (may be
      negative).
    - `n_items`: (respondents,): items with all verdicts and all runs.
    """

    share: Coefficient
    judge: Array
    total: Array
    response: Array
    n_items: tuple[int, ...]


def judge_share(
    rejudged: npt.ArrayLike,
    rerun: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    level: float = 0.95,
) -> JudgeNoise:
    """The judge's share of the noise between runs.

    A score that does not repeat may be the model's doing (another answer) or the judge's (another
    verdict on the same answer). The cures differ: more runs, or another judge. Judging the same
    responses twice isolates the second.

        v_judge = sum_c s2_j / n^2  (same response)      v_total = sum_c s2_k / n^2  (new response, new verdict)
        v_response = v_total - v_judge,    share = sum_m v_judge / sum_m v_total
        interval: leave-one-cluster-out jackknife of log v_judge - log v_total, both on the same items

    Items count when they have all verdicts and all runs. The coverage of the interval has not been
    simulated.

    - `rejudged`: (verdicts, respondents, items): scores of the same responses judged again.
    - `rerun`: (runs, respondents, items): scores of independent runs, each judged once.
    - `clusters`: (items,): labels of what items share (the image).

    The status is `insufficient` for fewer than 2 verdicts, 2 runs or 2 clusters, `not_informative`
    when no run differs. A judge who never changes a verdict gives 0 without an interval. The share
    speaks of these respondents only.

    One respondent, eight items; the judge changes one verdict, a new run changes two:

    >>> same = [[[1, 1, 1, 1, 0, 0, 0, 0]], [[1, 1, 1, 0, 0, 0, 0, 0]]]
    >>> new = [[[1, 1, 1, 1, 0, 0, 0, 0]], [[1, 1, 1, 0, 1, 0, 0, 0]]]
    >>> result = judge_share(same, new)
    >>> result.share.value, result.judge[0].item()
    (0.5, 0.0078125)
    """
    j, k = np.asarray(rejudged, dtype=np.float64), np.asarray(rerun, dtype=np.float64)
    if j.ndim != 3 or k.ndim != 3 or j.shape[1:] != k.shape[1:]:
        raise ValueError(
            f"two arrays (repetitions, respondents, items) are needed, got {j.shape} and {k.shape}"
        )
    labels = labels_of(clusters, j.shape[2])
    scored = np.asarray(np.isfinite(j).all(axis=0) & np.isfinite(k).all(axis=0))
    count = scored.sum(axis=1)
    if len(j) < 2 or len(k) < 2 or not scored.any():
        reason = (
            f"a judge's share needs 2 verdicts and 2 runs on common items, there are {len(j)} and"
            f" {len(k)}"
        )
        return _absent("insufficient", reason, count)
    n = count.astype(np.float64)
    n[n == 0] = np.nan
    parts = []
    for x in (j, k):
        sums, sizes = cluster_sums(np.where(scored, x, 0.0), scored, labels)
        parts.append(sums.var(axis=0, ddof=1))
    judge, total = (p.sum(axis=1) / n**2 for p in parts)
    kept = np.isfinite(n)
    if int((sizes > 0).any(axis=0).sum()) < 2:
        return _absent(
            "insufficient", "a judge's share needs 2 clusters of items, there is 1", count
        )
    whole = float(total[kept].sum())
    m = int(kept.sum())
    if whole == 0.0:
        reason = "no run differs from another, so there is no noise to share"
        share = Coefficient.absent("not_informative", reason, m)
        return JudgeNoise(share, judge, total, total - judge, tuple(count.tolist()))
    value = float(judge[kept].sum()) / whole
    fixed = _jackknife(value, [p[kept] for p in parts], sizes[kept], n[kept], level)
    flags = ("NEGATIVE_COMPONENT",) if value > 1 else ()
    share = Coefficient(value, n=m, level=level, fixed=fixed, flags=flags)
    return JudgeNoise(share, judge, total, total - judge, tuple(count.tolist()))


def _jackknife(
    value: float, parts: list[Array], sizes: Array, n: Array, level: float
) -> Bounds | None:

    left = n[:, None] - sizes
    if value == 0.0 or (left <= 0).any():
        return None
    judge, total = (((p.sum(axis=1)[:, None] - p) / left**2).sum(axis=0) for p in parts)
    if not ((judge > 0).all() and (total > 0).all()):
        return None
    log = np.log(judge / total)
    c = len(log)
    error = math.sqrt((c - 1) / c * float(((log - log.mean()) ** 2).sum()))
    half = normal_quantile(level) * error
    return Bounds(
        value * math.exp(-half),
        value * math.exp(half),
        "paired cluster jackknife on the log ratio",
        level,
    )


def _absent(status: Status, reason: str, count: Numbers) -> JudgeNoise:
    none = np.full(len(count), np.nan)
    return JudgeNoise(
        Coefficient.absent(status, reason, len(count)), none, none, none, tuple(count.tolist())
    )
