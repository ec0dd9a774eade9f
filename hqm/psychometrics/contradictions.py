"""Items on which people contradict the scorer whoever answered: their right answers are probably
wrong.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import shaped_alike
from hqm.psychometrics.distributions import binomial_above
from hqm.psychometrics.result import Status

USUAL = 0.2
"""A share of contradicted answers up to which an item may be hard to judge without a wrong right
answer.
"""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """An item: how many of its labelled answers people judged against the scorer, and p times the
    number of items, or the chance that its key is right by answers and labels where that is less.
    """

    item: int
    contradicted: int
    answers: int
    p: float


@dataclass(frozen=True, slots=True)
class Contradictions:
    """The items that people contradict beyond the scorer's usual errors, the surest first.

    - `usual`: The share of contradicted answers that counts as usual.
    - `fewest`: How many labels an item needs before it could be among them at all.
    """

    items: tuple[Contradiction, ...]
    usual: float
    fewest: int
    tested: int
    status: Status = "ok"
    reason: str = ""


def contradicted_items(
    automatic: npt.ArrayLike,
    human: npt.ArrayLike,
    *,
    alpha: float = 0.05,
    chances: npt.ArrayLike | None = None,
) -> Contradictions:
    """Which items have answers that people judge against the scorer, nearly all of them?

    A scorer that misreads an answer now and then is contradicted on some answers of many items; a
    wrong right answer is contradicted on all answers of one item. Binomial test of each item's
    contradicted labels against the usual share, which is twice the share of all other items, at
    least .2; Bonferroni over items. Half of the labels must contradict. Where the answers already
    speak of a wrong key, few labels do: an item is listed too while the mean of 1 - c' is at most
    alpha over the items from the greatest c' on,

        c' / (1 - c') = c / (1 - c) ((1 - u) / u)^(2 k - n),    k of n labels contradict, u = usual

    - `automatic, human`: (respondents, items), 0 or 1, NaN where an answer is not scored or not
      labelled.
    - `alpha`: The chance that any sound item is listed.
    - `chances`: (items,): c, the chance of a wrong key by the answers alone (`reading_list`).

    The status is `insufficient` where no item has labels enough to be listed, and none is.

    >>> scored = np.ones((8, 50))
    >>> labels = scored.copy()
    >>> labels[:, 7] = 0
    >>> [(row.item, row.contradicted) for row in contradicted_items(scored, labels).items]
    [(7, 8)]
    """
    a, h = shaped_alike(automatic, human, "respondents, items")
    known = np.isfinite(a) & np.isfinite(h)
    n = known.sum(axis=0)
    k = (known & (np.where(known, a, 0) != np.where(known, h, 0))).sum(axis=0)
    tested = int((n > 0).sum())
    other = (k.sum() - k) / np.maximum(n.sum() - n, 1)
    usual = np.clip(2 * other, USUAL, 0.5)
    share = float(usual[n > 0].mean()) if tested else math.nan
    fewest = math.ceil(math.log(alpha / max(tested, 1)) / math.log(share)) if tested else 0
    p = np.where(n > 0, binomial_above(k - 1, n, usual), np.nan)
    adjusted = np.minimum(1.0, p * tested)
    found = (adjusted < alpha) & (2 * k >= n)
    if chances is not None and tested:
        c = np.clip(np.asarray(chances, dtype=np.float64), 1e-9, 1 - 1e-9)
        error = np.where(k > 0, 1 / (1 + c / (1 - c) * (1 / usual - 1) ** (2 * k - n)), 1.0)
        order = np.argsort(error, kind="stable")
        sure = order[np.cumsum(error[order]) <= alpha * np.arange(1, len(order) + 1)]
        adjusted[sure] = np.fmin(adjusted[sure], error[sure])
        found[sure] = True
    if not found.any() and (not tested or int(n.max()) < fewest):
        most = int(n.max()) if tested else 0
        reason = (
            f"an item needs {fewest} labels before people can contradict its right answer, the most"
            f" have {most}"
        )
        return Contradictions(
            (), share, fewest, tested, "insufficient", reason if tested else "no answer is labelled"
        )
    rows = [
        Contradiction(int(i), int(k[i]), int(n[i]), float(adjusted[i]))
        for i in np.flatnonzero(found)
    ]
    return Contradictions(tuple(sorted(rows, key=lambda row: row.p)), share, fewest, tested)
