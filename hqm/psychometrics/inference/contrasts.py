"""The planned contrasts of a leaderboard: each respondent and the next in rank."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from scipy.special import stdtr, stdtrit

from hqm.psychometrics.inference.pairwise import NeighbourPair
from hqm.psychometrics.inference.significance import fallback

ContrastOutcome = Literal["differ", "equal", "not_known"]
"""Shown to differ, shown to be equal within the margin, or neither."""


@dataclass(frozen=True, slots=True)
class RankContrast:
    """The difference between a respondent and the next in rank, over new items.

    Attributes
    ----------
    difference, low, high
        By how much the higher one leads over the items that both answered, with the interval of
        this pair alone.
    p, adjusted
        Of the test that the two do not differ; adjusted over the contrasts from the first rank on.
    equal_p, equal_adjusted
        Of the two one-sided tests that they lie further apart than the margin.
    margin
        The difference within which two scores count as equal.
    level
        The confidence level of the outcome.
    """

    difference: float
    low: float
    high: float
    p: float
    adjusted: float
    equal_p: float
    equal_adjusted: float
    margin: float
    level: float = 0.95

    @property
    def outcome(self) -> ContrastOutcome:
        """What the tests show: a difference, else equality within the margin, else neither."""
        if self.adjusted <= 1 - self.level:
            return "differ"
        return "equal" if self.equal_adjusted <= 1 - self.level else "not_known"


def rank_contrasts(
    pairs: Sequence[NeighbourPair],
    *,
    margin: float,
    width: float | None = 1.0,
    level: float = 0.95,
) -> tuple[RankContrast, ...]:
    """Test each respondent against the next in rank: do they differ, or are they equal?

    The contrasts are planned, and are a family of their own, in order from the first rank on.
    Respondents that join far below change no outcome above them.

    Parameters
    ----------
    pairs : sequence of NeighbourPair
        The neighbours from the first rank on (`PairwiseDifferences.neighbour_pairs`).
    margin : float
        The difference within which two scores count as equal, in the unit of the score.
    width : float, optional
        The width of the score's scale; None where it has no ends.
    level : float, default 0.95
        Confidence level of intervals and outcomes.

    Returns
    -------
    tuple of RankContrast
        A contrast of two that share fewer than 2 clusters is `not_known`.

    Notes
    -----
    Equality is shown by two one-sided tests [1]_, d +- t SE within +-margin. Where hardly any
    answer differs, SE is not known well: a difference of the margin needs answers that differ, so
    SE is at least what they give, as in the score test for matched pairs [2]_:

        SE_0^2 >= margin (width - margin) / C

    Of many respondents the two next to each other are the closest: the p-value of equality is
    multiplied by the pairs that could have stood there (`NeighbourPair.rivals`). That the closest
    ones differ is not claimed too often: ranking makes differences between neighbours smaller.

    Both kinds of p-values are adjusted by the fallback procedure (`fallback`), so that the chance
    of any false "differ" is at most 1 - level, and so is that of any false "equal".

    References
    ----------
    .. [1] Schuirmann, D. J. (1987). Journal of Pharmacokinetics and Biopharmaceutics, 15, 657-680.
    .. [2] Tango, T. (1998). Equivalence test and confidence interval for the difference in
       proportions for the paired-sample design. Statistics in Medicine, 17, 891-908.

    Examples
    --------
    >>> pairs = [NeighbourPair(0, 1, 0.06, 0.02, 0.003, 400, 400),
    ...     NeighbourPair(1, 2, 0.001, 0.003, 0.74, 4000, 4000)]
    >>> [contrast.outcome for contrast in rank_contrasts(pairs, margin=0.01)]
    ['differ', 'equal']
    """
    equal_p = [_equality_p(pair, margin, width) for pair in pairs]
    adjusted = fallback([pair.p for pair in pairs])
    equal_adjusted = fallback(equal_p)
    contrasts = []
    for k, pair in enumerate(pairs):
        df = pair.clusters - 1 if pair.clusters > 1 else math.nan
        half_width = float(stdtrit(df, 0.5 + level / 2)) * pair.se
        contrasts.append(
            RankContrast(
                difference=pair.difference,
                low=pair.difference - half_width,
                high=pair.difference + half_width,
                p=pair.p,
                adjusted=float(adjusted[k]),
                equal_p=equal_p[k],
                equal_adjusted=float(equal_adjusted[k]),
                margin=margin,
                level=level,
            )
        )
    return tuple(contrasts)


def _equality_p(pair: NeighbourPair, margin: float, width: float | None) -> float:
    """Return the p-value of two one-sided tests, for as many pairs as could stand there."""
    if pair.clusters < 2:
        return math.nan
    floor = 0.0 if width is None else margin * max(0.0, width - margin) / pair.clusters
    error = math.sqrt(max(pair.se**2, floor))
    if not error > 0:
        return math.nan
    p = float(stdtr(pair.clusters - 1, (abs(pair.difference) - margin) / error))
    return min(1.0, pair.rivals * p)
