"""Do items favour one family of respondents, and which options do respondents choose?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.multiple import benjamini_hochberg
from hqm.psychometrics.result import Status


@dataclass(frozen=True, slots=True)
class MantelHaenszel:
    """The common odds ratio of a set of 2 x 2 tables.

    Parameters
    ----------
    odds_ratio
        Odds of passing in the reference group over the odds in the focal group, at equal score.
    delta
        -2.35 ln(odds ratio): negative when the item is harder for the focal group.
    se
        Standard error of `delta` (Robins, Breslow and Greenland).
    chi2, p
        Mantel and Haenszel's test with continuity correction, 1 degree of freedom.
    grade
        ETS class: `A` below 1 or not different from 0; `C` 1.5 or more and significantly above 1; `B` between.
    strata
        Tables that inform the odds ratio.
    """

    odds_ratio: float
    delta: float
    se: float
    chi2: float
    p: float
    grade: Literal["A", "B", "C", ""]
    strata: int
    q: float = math.nan
    status: Status = "ok"
    reason: str = ""


def mantel_haenszel(tables: npt.ArrayLike, *, alpha: float = 0.05) -> MantelHaenszel:
    """The odds ratio common to several 2 x 2 tables, on the scale of differential item functioning.

        OR = sum(a d / n) / sum(b c / n)        chi2 = (|sum(a - E a)| - 1/2)^2 / sum Var a

    Parameters
    ----------
    tables
        (strata, 2, 2): for each level of the matching score, rows reference and focal group, columns passed and failed.
    alpha
        Level of the tests behind the class.

    Returns
    -------
    MantelHaenszel
        `insufficient` when no stratum has both groups and both outcomes; `degenerate` when a product sum is 0, so that the
        odds ratio is 0 or infinite (the test is given, the class is not).

    Notes
    -----
    Mantel, N. and Haenszel, W. (1959). Journal of the National Cancer Institute, 22, 719-748. Robins, J., Breslow, N. and
    Greenland, S. (1986). Biometrics, 42, 311-323. Classes: Zwick, R. (2012). ETS Research Report RR-12-08.

    Examples
    --------
    Admission to six departments of Berkeley, men and women (Bickel, Hammel and O'Connell 1975, Science 187, 398-404):

    >>> men = [[512, 313], [353, 207], [120, 205], [138, 279], [53, 138], [22, 351]]
    >>> women = [[89, 19], [17, 8], [202, 391], [131, 244], [94, 299], [24, 317]]
    >>> found = mantel_haenszel([[m, w] for m, w in zip(men, women)])
    >>> round(found.odds_ratio, 4), found.grade
    (0.9047, 'A')
    """
    t = np.asarray(tables, dtype=np.float64)
    if t.ndim != 3 or t.shape[1:] != (2, 2):
        raise ValueError(f"tables must have shape (strata, 2, 2), got {t.shape}")
    t = t[(t.sum(axis=2) > 0).all(axis=1) & (t.sum(axis=1) > 0).all(axis=1)]
    count = len(t)

    def absent(status: Status, reason: str, chi2: float = math.nan, p: float = math.nan) -> MantelHaenszel:
        return MantelHaenszel(math.nan, math.nan, math.nan, chi2, p, "", count, status=status, reason=reason)

    if count == 0:
        return absent("insufficient", "no score level has respondents of both groups and both outcomes")
    from scipy.special import ndtr
    from scipy.stats import chi2 as chi2_law

    a, b, c, d = t[:, 0, 0], t[:, 0, 1], t[:, 1, 0], t[:, 1, 1]
    n = a + b + c + d
    variance = ((a + b) * (c + d) * (a + c) * (b + d) / (n * n * np.maximum(n - 1, 1))).sum()
    gap = max(0.0, abs(float((a - (a + b) * (a + c) / n).sum())) - 0.5)
    chi2 = gap * gap / float(variance)
    p = float(chi2_law.sf(chi2, 1))
    r, s = a * d / n, b * c / n
    total_r, total_s = float(r.sum()), float(s.sum())
    if total_r == 0 or total_s == 0:
        side = "reference" if total_s == 0 else "focal"
        reason = f"at every score level only the {side} group does better: the odds ratio has no finite value"
        return absent("degenerate", reason, chi2, p)
    ratio = total_r / total_s
    f, g = (a + d) / n, (b + c) / n
    error = math.sqrt(
        float((f * r).sum()) / (2 * total_r**2)
        + float((f * s + g * r).sum()) / (2 * total_r * total_s)
        + float((g * s).sum()) / (2 * total_s**2)
    )
    delta, se = -2.35 * math.log(ratio), 2.35 * error
    grade: Literal["A", "B", "C"] = "B"
    if abs(delta) < 1 or p >= alpha:
        grade = "A"
    elif abs(delta) >= 1.5 and 1 - float(ndtr((abs(delta) - 1) / se)) < alpha:
        grade = "C"
    return MantelHaenszel(ratio, delta, se, chi2, p, grade, count)


def item_functioning(
    scores: npt.ArrayLike, focal: npt.ArrayLike, *, levels: int | None = None, alpha: float = 0.05
) -> tuple[MantelHaenszel, ...]:
    """Whether each item is harder for one family of respondents than their other answers explain.

    Respondents are matched on the total score (the item included, as is the custom), so a better family is no
    reason; an item that remains harder for one of them measures something besides.

    Parameters
    ----------
    scores
        (respondents, items), binary; respondents with a missing score are left out.
    focal
        (respondents,): True for the family in question.
    levels
        Into how many levels of about equal size the totals are cut; by default every total for up to 20 items, else a
        fifth of the smaller group, 2 to 10.
    alpha
        Level of the classes.

    Returns
    -------
    tuple of MantelHaenszel
        One an item, `q` by Benjamini and Hochberg; an item whose q is not below alpha has class A.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> ability, focal = rng.normal(size=400), np.arange(400) % 2 == 1
    >>> chance = 1 / (1 + np.exp(-(ability[:, None] + np.zeros(12))))
    >>> chance[focal, 5] = 1 / (1 + np.exp(-(ability[focal] - 2)))
    >>> found = item_functioning((rng.random((400, 12)) < chance).astype(float), focal)
    >>> [i for i, item in enumerate(found) if item.grade == "C"]
    [5]
    """
    x, group = np.asarray(scores, dtype=np.float64), np.asarray(focal, dtype=bool)
    if x.ndim != 2 or group.shape != x.shape[:1]:
        raise ValueError(f"scores (respondents, items) and one group each are needed, got {x.shape}, {group.shape}")
    whole = np.isfinite(x).all(axis=1)
    x, group = x[whole], group[whole]
    if not np.isin(x, (0, 1)).all():
        reason = "the item scores are not 0 or 1"
        none = MantelHaenszel(*(math.nan,) * 5, "", 0, status="not_applicable", reason=reason)
        return tuple(none for _ in range(x.shape[1]))
    total = x.sum(axis=1)
    if levels is None and x.shape[1] > 20:
        levels = int(np.clip(min(group.sum(), (~group).sum()) // 5, 2, 10))
    if levels is not None and len(total):
        cuts = np.unique(np.quantile(total, np.linspace(0, 1, levels + 1)[1:-1]))
        total = np.searchsorted(cuts, total, side="right")
    number = np.unique(total, return_inverse=True)[1]
    count = int(number.max(initial=-1)) + 1
    tables = np.zeros((x.shape[1], count, 2, 2))
    for row, who in enumerate((~group, group)):
        for column, passed in enumerate((x, 1 - x)):
            for level in range(count):
                tables[:, level, row, column] = passed[who & (number == level)].sum(axis=0)
    found = [mantel_haenszel(table, alpha=alpha) for table in tables]
    q = benjamini_hochberg([item.p for item in found])
    return tuple(
        replace(item, q=float(value), grade=item.grade if value < alpha or not item.grade else "A")
        for item, value in zip(found, q, strict=True)
    )


@dataclass(frozen=True, slots=True)
class Option:
    """One option of one item.

    Parameters
    ----------
    share
        Share of the respondents that chose it.
    rest, point_biserial
        Mean score on the other items of those who chose it, and the correlation of choosing it with that score; NaN when
        nobody or everybody chose it.
    """

    option: str
    is_key: bool
    chosen: int
    share: float
    rest: float
    point_biserial: float


@dataclass(frozen=True, slots=True)
class OptionAnalysis:
    """The options of one item.

    `flags`: `UNUSED` (a wrong option nobody chose), `BETTER_THAN_KEY` (a wrong option draws the stronger respondents
    more than the key does; a sign of a wrong key, to be read with the number of respondents).
    """

    options: tuple[Option, ...]
    flags: tuple[str, ...]
    n: int
    status: Status = "ok"
    reason: str = ""


def option_analysis(
    choices: Sequence[str | None], key: str, options: Sequence[str], rest: npt.ArrayLike
) -> OptionAnalysis:
    """How often each option of an item is chosen, and by whom.

    Parameters
    ----------
    choices
        (respondents,): the option chosen; None where none was read.
    key
        The right option.
    options
        All options.
    rest
        (respondents,): score on the other items.

    Returns
    -------
    OptionAnalysis
        `insufficient` for fewer than 3 choices; `degenerate` when the respondents do not differ elsewhere.

    Examples
    --------
    >>> found = option_analysis(["A", "A", "B", "B"], "A", ["A", "B", "C"], [0.9, 0.8, 0.4, 0.3])
    >>> [option.share for option in found.options], found.flags
    ([0.5, 0.5, 0.0], ('UNUSED',))
    """
    score = np.asarray(rest, dtype=np.float64)
    if score.shape != (len(choices),):
        raise ValueError(f"one rest score a choice is needed, got {score.shape} for {len(choices)}")
    if key not in options:
        raise ValueError(f"the key {key!r} is not among the options {', '.join(options)}")
    kept = [i for i, choice in enumerate(choices) if choice is not None and math.isfinite(score[i])]
    if len(kept) < 3:
        return OptionAnalysis((), (), len(kept), "insufficient", f"3 choices are needed, there are {len(kept)}")
    score, made = score[kept], [choices[i] for i in kept]
    varies = bool(np.ptp(score) > 1e-12)
    rows = []
    for option in options:
        chosen = np.array([choice == option for choice in made])
        few, r = int(chosen.sum()), math.nan
        if varies and 0 < few < len(made):
            r = float(np.corrcoef(chosen.astype(float), score)[0, 1])
        rows.append(
            Option(option, option == key, few, few / len(made), float(score[chosen].mean()) if few else math.nan, r)
        )
    of_key = next(row.point_biserial for row in rows if row.is_key)
    flags = []
    if any(not row.is_key and row.chosen == 0 for row in rows):
        flags.append("UNUSED")
    if any(not row.is_key and row.point_biserial > max(0.0, of_key) for row in rows):
        flags.append("BETTER_THAN_KEY")
    if not varies:
        reason = "the respondents do not differ on the other items"
        return OptionAnalysis(tuple(rows), tuple(flags), len(made), "degenerate", reason)
    return OptionAnalysis(tuple(rows), tuple(flags), len(made))
