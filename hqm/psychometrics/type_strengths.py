"""Strengths in single types: whether respondents have any beside one ability, and whether a family
shares one, so that the type favours it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import expit, stdtr, stdtrit

from hqm.psychometrics.resampling import jackknife_error, labels_of
from hqm.psychometrics.result import Array, Flags, Numbers, Outcome, is_constant, shaped
from hqm.psychometrics.significance import SignificanceTest, holm

FEWEST_RESPONDENTS = 5
"""Fewer have too few orders for a test at .05."""
FEWEST_ITEMS = 10
"""Items of a type, and abilities from fewer are noise."""
POWER = 0.8
LEVEL = 0.05
_SIZES = np.arange(0.1, 2.01, 0.1)
_PRIOR = 1.5
"""Standard deviation of difficulties, without which an item that all pass has none."""


@dataclass(frozen=True, slots=True)
class RaschResiduals:
    """What each answer is beyond expectation, and how much it says.

    - `ability`: (respondents,): in logits, with mean 0.
    - `difficulty`: (items,).
    - `residual, information`: (respondents, items): x - P and P (1 - P), 0 where an answer is
      missing.
    """

    ability: Array
    difficulty: Array
    residual: Array
    information: Array

    def abilities(self, items: Flags) -> Array:
        """(respondents,): abilities from some of the items alone, by one step from all items."""
        with np.errstate(invalid="ignore", divide="ignore"):
            step = self.residual[:, items].sum(axis=1) / self.information[:, items].sum(axis=1)
        return np.asarray(self.ability + step)


def rasch_residuals(scores: npt.ArrayLike, iterations: int = 100) -> RaschResiduals:
    """Fit abilities and difficulties together, which few respondents and many items allow.

    Difficulties have a normal prior about their mean, with standard deviation 1.5. Scores between 0
    and 1 count as shares.

    >>> fitted = rasch_residuals([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]])
    >>> fitted.ability.round(2).tolist(), fitted.difficulty.argsort().tolist()
    ([1.41, 0.0, -1.41], [0, 1, 2, 3])
    """
    x = shaped(scores, "respondents, items")
    known = np.isfinite(x)
    ability, difficulty = np.zeros(len(x)), np.zeros(x.shape[1])
    for _ in range(iterations):
        residual, information = _beyond(x, known, ability, difficulty)
        step = residual.sum(axis=1) / (information.sum(axis=1) + 1e-9)
        ability = ability + np.clip(step, -1, 1)
        ability -= ability.mean()
        residual, information = _beyond(x, known, ability, difficulty)
        pull = (difficulty - difficulty.mean()) / _PRIOR**2
        harder = (residual.sum(axis=0) + pull) / (information.sum(axis=0) + 1 / _PRIOR**2)
        difficulty = difficulty - np.clip(harder, -1, 1)
        if max(np.abs(step).max(), np.abs(harder).max()) < 1e-4:
            break
    return RaschResiduals(ability, difficulty, *_beyond(x, known, ability, difficulty))


def _beyond(x: Array, known: Flags, ability: Array, difficulty: Array) -> tuple[Array, Array]:
    p = expit(ability[:, None] - difficulty)
    return np.where(known, x - p, 0.0), known * p * (1 - p)


def no_shares(scores: Array) -> str:
    """Why a Rasch model is not about these scores; empty where it is."""
    known = scores[np.isfinite(scores)]
    outside = known.size and (known.min() < 0 or known.max() > 1)
    return "scores lie outside 0 to 1" if outside else ""


@dataclass(frozen=True, slots=True)
class Dimensionality(Outcome):
    """How much respondents differ in single types beyond one ability, in logits.

    - `own`: The standard deviation of what is a type's own, over types and respondents; 0 where the
      halves of the types speak against any.
    - `shared`: The correlation of two types' true scores: the variance of ability divided by that
      of ability and `own` together.
    - `p`: How likely so much is by chance where one ability explains all.
    - `visible`: The smallest standard deviation that this design finds with 80 % power; infinite
      where not even 2 logits are found.
    - `by_type`: Each type's name, items, and standard deviation of what is its own.
    - `mostly_own`: Whether `shared` is shown to lie below .5 (jackknife over respondents, .05).
    """

    own: float = math.nan
    shared: float = math.nan
    p: float = math.nan
    visible: float = math.nan
    by_type: tuple[tuple[str, int, float], ...] = ()
    mostly_own: bool = False
    n: int = 0
    n_items: int = 0


def dimensionality(
    scores: npt.ArrayLike,
    types: Sequence[str],
    clusters: npt.ArrayLike | None = None,
    *,
    rng: np.random.Generator,
    permutations: int = 999,
) -> Dimensionality:
    """Whether types measure something of their own beside what all items measure.

    The pictures are halved. What a respondent scores in a type beyond the Rasch model's expectation
    is freed of the line on its ability in the other types, so that a type may discriminate more or
    less than others. What is left in both halves has only a strength in the type in common.

        A_mt = sum (x - P) / sum P (1 - P),    T = sum_mt A_mt B_mt
        own^2 = T / ((M - 2) K) * K / (K - 1)

    The test permutes the respondents of all B together. Types permuted between items (Yen's Q3
    without the line, parallel analysis) find types where there are none, or nothing at all, with so
    few respondents. Smith, E. V. (2002). Journal of Applied Measurement, 3, 205-231. Christensen,
    K. B., Makransky, G. and Horton, M. (2017). Applied Psychological Measurement, 41, 178-194.

    - `scores`: (respondents, items) from 0 to 1. `types`: (items,): the type of each.
    - `clusters`: (items,): the picture of each, which stays in one half.

    Respondents who are always right or always wrong are left out.

    The status is `insufficient` below 5 respondents or 2 types with 10 items.

    >>> rng, kinds = np.random.default_rng(0), np.repeat(["ocr", "action", "relation", "count"], 60)
    >>> strengths = np.repeat(rng.normal(size=(10, 4)), 60, axis=1)
    >>> scores = rng.random(strengths.shape) < 1 / (1 + np.exp(-strengths))
    >>> study = dimensionality(scores, kinds, rng=rng)
    >>> study.own > 0.5, study.p < 0.01
    (True, True)
    """
    x, labels = shaped(scores, "respondents, items"), np.asarray(types, dtype=str)
    pictures = labels_of(clusters, x.shape[1])
    sizes = {str(kind): int((labels == kind).sum()) for kind in np.unique(labels) if kind}
    kinds = [kind for kind, size in sizes.items() if size >= FEWEST_ITEMS]
    if len(x) < FEWEST_RESPONDENTS or len(kinds) < 2:
        return Dimensionality.absent(
            "insufficient",
            f"it takes {FEWEST_RESPONDENTS} respondents and 2 types of {FEWEST_ITEMS} items, there"
            f" are {len(x)} and {len(kinds)}",
        )
    if outside := no_shares(x):
        return Dimensionality.absent("not_applicable", outside)
    inside = np.isin(labels, kinds)
    x, labels = x[:, inside], labels[inside]
    x = x[_with_ability(x)]
    if len(x) < FEWEST_RESPONDENTS:
        return Dimensionality.absent(
            "insufficient", f"only {len(x)} respondents are neither always right nor always wrong"
        )
    numbers = np.unique(pictures[inside], return_inverse=True)[1]
    side = rng.permutation(numbers.max() + 1)[numbers] % 2
    fitted = rasch_residuals(x)
    if is_constant(fitted.ability):
        return Dimensionality.absent("degenerate", "all respondents have the same ability")
    first, other = (_left_over(fitted, labels, kinds, side == half) for half in (0, 1))
    if not (np.isfinite(first).all() and np.isfinite(other).all()):
        return Dimensionality.absent("insufficient", "a respondent has no answers in half a type")
    m, k = len(x), len(kinds)
    products = first @ other.T
    p = float(_p_values(products[None], rng, permutations)[0])
    scale = (m - 2) * (1 - 1 / k)
    own = (first * other).sum(axis=0) / scale
    variance = max(0.0, float(own.mean()))
    abilities = np.stack([fitted.abilities(side == half) for half in (0, 1)])
    common = max(0.0, float(np.cov(abilities)[0, 1]) - variance / k)
    # whether less is common than a type's own, with each respondent left out
    rows = (first * other).sum(axis=1) / (k - 1)
    less = np.array(
        [
            np.cov(np.delete(abilities, i, axis=1))[0, 1]
            - (1 + 1 / k) * np.delete(rows, i).sum() / (m - 3)
            for i in range(m)
        ]
    )
    highest = less.mean() + float(stdtrit(m - 1, 0.95)) * jackknife_error(less)
    return Dimensionality(
        math.sqrt(variance),
        common / (common + variance) if common + variance > 0 else math.nan,
        p,
        _visible(fitted, labels, kinds, side, rng),
        tuple(
            (kind, sizes[kind], math.sqrt(max(0.0, value)))
            for kind, value in zip(kinds, own.tolist(), strict=True)
        ),
        bool(highest < 0),
        m,
        len(labels),
    )


def _with_ability(x: Array) -> Flags:
    """(respondents,): who is neither always right nor always wrong: only they have an ability."""
    # a comparison with NaN is false, so that who answered nothing is left out
    return np.asarray((x < 1).any(axis=1) & (x > 0).any(axis=1))


def _left_over(
    fitted: RaschResiduals,
    labels: npt.NDArray[np.str_],
    kinds: Sequence[str],
    half: Flags,
) -> Array:
    """(respondents, types): strengths in one half, free of the line on the other types' ability."""
    columns = []
    for kind in kinds:
        strength = fitted.abilities(half & (labels == kind)) - fitted.abilities(half)
        ability = fitted.abilities(half & (labels != kind))
        strength, ability = strength - strength.mean(), ability - ability.mean()
        slope = (strength @ ability) / (ability @ ability)
        columns.append(strength - slope * ability)
    return np.stack(columns, axis=1)


def _p_values(products: Array, rng: np.random.Generator, orders: int) -> Array:
    """(worlds,): the share of orders of the respondents in which the halves go together as much.

    `products` has (worlds, respondents, respondents): the sums over types of A_m B_m'.
    """
    m = products.shape[-1]
    order: Numbers = np.argsort(rng.random((orders, m)), axis=1)
    # an order puts B's line elsewhere, so that A and B meet in M - 1 directions and not in M - 2
    drawn = products[:, np.arange(m), order].sum(axis=2) * math.sqrt((m - 1) / (m - 2))
    observed = np.trace(products, axis1=1, axis2=2)[:, None]
    return np.asarray((1 + (drawn >= observed - 1e-12).sum(axis=1)) / (orders + 1))


def _visible(
    fitted: RaschResiduals,
    labels: npt.NDArray[np.str_],
    kinds: Sequence[str],
    side: Numbers,
    rng: np.random.Generator,
    *,
    replicates: int = 200,
    permutations: int = 199,
) -> float:
    """The smallest own standard deviation that is found with 80 % power, from halves with the
    errors of these.
    """
    m, k = len(fitted.ability), len(kinds)
    errors = [
        1 / np.sqrt([fitted.information[:, (side == h) & (labels == t)].sum(axis=1) for t in kinds])
        for h in (0, 1)
    ]
    # ability is estimated from the type as well, and takes its part of the strength
    own = math.sqrt(1 - 1 / k) * rng.normal(size=(replicates, k, m))
    noise = [error * rng.normal(size=(replicates, k, m)) for error in errors]
    # centring and the line leave M - 2 of M degrees of freedom
    basis = np.linalg.qr(np.stack([np.ones(m), fitted.ability], axis=1))[0]
    for size in _SIZES:
        a, b = (size * own + each for each in noise)
        a, b = (each - (each @ basis) @ basis.T for each in (a, b))
        p = _p_values(np.einsum("wkm,wkn->wmn", a, b), rng, permutations)
        if (p <= LEVEL).mean() >= POWER:
            return float(size)
    return math.inf


# --- Does a benchmark treat families alike? ---

FEWEST_TO_DESCRIBE = 5
FEWEST_TO_TEST = 10
"""Members of either group: with 5, one logit is found half the time; with 10, nearly always."""
LARGE = 1.5 / 2.35
"""Logits from which the Educational Testing Service calls a difference large (class C)."""


def welch(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[SignificanceTest, float]:
    """The test whether two means are equal where variances may differ, and the error of their
    difference.

    Welch, B. L. (1947). Biometrika, 34, 28-35.

    >>> test, error = welch([1.0, 2, 3, 4], [2.0, 4, 6, 8])
    >>> round(test.statistic, 4), round(test.df, 3), round(test.p, 4)
    (-1.7321, 4.412, 0.1516)
    """
    a, b = (np.asarray(values, dtype=np.float64) for values in (x, y))
    parts = np.array([each.var(ddof=1) / len(each) for each in (a, b)])
    error = math.sqrt(parts.sum())
    n = len(a) + len(b)
    if error == 0:
        return SignificanceTest.absent("degenerate", "nobody differs within a group", n=n), error
    t = float(a.mean() - b.mean()) / error
    df = float(parts.sum() ** 2 / (parts**2 / np.array([len(a) - 1, len(b) - 1])).sum())
    return SignificanceTest(t, df, min(1.0, 2 * float(stdtr(df, -abs(t)))), n), error


@dataclass(frozen=True, slots=True)
class Favour:
    """How much easier a part is for one group than its other answers let expect, in logits.

    `p` is adjusted over all parts and groups (Holm), and NaN where the groups are too small for a
    test. `large` says that the difference is shown and would be called large.
    """

    part: str
    group: str
    members: int
    others: int
    logits: float
    low: float
    high: float
    p: float = math.nan

    @property
    def large(self) -> bool:
        return self.p < LEVEL and abs(self.logits) >= LARGE


@dataclass(frozen=True, slots=True)
class DifferentialFunctioning(Outcome):
    """Every part for every group that is large enough; `tested` where p-values can be had."""

    rows: tuple[Favour, ...] = ()
    tested: bool = False

    @property
    def favours(self) -> tuple[Favour, ...]:
        """What is shown and large."""
        return tuple(row for row in self.rows if row.large)


def differential_functioning(
    scores: npt.ArrayLike, parts: Sequence[str], groups: Sequence[str]
) -> DifferentialFunctioning:
    """Whether parts of a benchmark are easier for one group of respondents at equal ability.

        d_m = ability in the part - ability in other parts
        t = Welch's t of d, a group against all others

    Abilities are the Rasch model's, with difficulties from all respondents. The other parts are
    those in which the group is not favoured itself: parts that the test names leave the comparison,
    until it names the same again (purification; Holland, P. W. and Thayer, D. T. (1988).
    Differential item performance and the Mantel-Haenszel procedure). Respondents are the sample,
    and not their answers: over answers, the Mantel-Haenszel test names two fifths of the parts
    where nothing is. Single items are not tested: with 10 against 10 respondents, 3 logits would be
    missed.

    - `scores`: (respondents, items) from 0 to 1. `parts`: (items,): type or side of the key.
    - `groups`: (respondents,): families. One with 5 members against 5 others is described; from 10
      against 10, tested.

    The status is `insufficient` without 2 parts, or without such a group.

    Examples
    --------
    >>> scores = [[1, 0] * 5 + [1, 1] * 5] * 5 + [[1, 0] * 10] * 5
    >>> study = differential_functioning(scores, ["a"] * 10 + ["b"] * 10, ["x"] * 5 + ["y"] * 5)
    >>> [(row.part, row.group, round(row.logits, 2)) for row in study.rows], study.tested
    ([('a', 'x', -3.49), ('b', 'x', 3.49)], False)
    """
    x, names = shaped(scores, "respondents, items"), np.asarray(groups, dtype=str)
    labels = np.asarray(parts, dtype=str)
    known = _with_ability(x)
    x, names = x[known], names[known]
    kinds = [str(kind) for kind in np.unique(labels) if kind]
    places = [labels == kind for kind in kinds]
    answered = all(np.isfinite(x[:, place]).any(axis=1).all() for place in places)
    members = {str(name): names == name for name in np.unique(names)}
    least = {name: int(min(inside.sum(), (~inside).sum())) for name, inside in members.items()}
    compared = [name for name in members if least[name] >= FEWEST_TO_DESCRIBE]
    if len(members) == 2:
        compared = compared[:1]  # two groups are one comparison
    if len(kinds) < 2 or not compared or not answered:
        return DifferentialFunctioning.absent(
            "insufficient",
            f"it takes 2 parts that everybody answered, and {FEWEST_TO_DESCRIBE} respondents of one"
            f" family and {FEWEST_TO_DESCRIBE} others to describe ({FEWEST_TO_TEST} and"
            f" {FEWEST_TO_TEST} to test); there are {len(kinds)} parts, and the largest family has"
            f" {max((int(inside.sum()) for inside in members.values()), default=0)} of {len(x)}",
        )
    if outside := no_shares(x):
        return DifferentialFunctioning.absent("not_applicable", outside)
    fitted = rasch_residuals(x)
    rows: list[Favour] = []
    for name in compared:
        of_group = _purified(fitted, places, members[name], least[name] >= FEWEST_TO_TEST)
        rows += [replace(row, part=kinds[i], group=name) for i, row in enumerate(of_group)]
    # two parts are one comparison, seen from both ends
    once = rows[:: len(kinds)] if len(kinds) == 2 else rows
    adjusted = np.repeat(holm([row.p for row in once]), len(rows) // len(once)).tolist()
    made = [replace(row, p=p) for row, p in zip(rows, adjusted, strict=True)]
    return DifferentialFunctioning(tuple(made), any(np.isfinite(adjusted)))


def _purified(
    fitted: RaschResiduals,
    places: Sequence[Flags],
    inside: Flags,
    tested: bool,
    *,
    rounds: int = 10,
) -> list[Favour]:
    """One group against the others, with the parts that are named out of the comparison."""
    count = len(places)
    clean = np.ones(count, dtype=bool)
    for _ in range(rounds):
        rows = [_favour(fitted, places, inside, clean, part) for part in range(count)]
        named = holm([row.p for row in rows]) < LEVEL
        if not tested or (named == ~clean).all() or named.all():
            break
        clean = ~named
    return rows if tested else [replace(row, p=math.nan) for row in rows]


def _favour(
    fitted: RaschResiduals, places: Sequence[Flags], inside: Flags, clean: Flags, part: int
) -> Favour:
    others = clean.copy()
    others[part] = False
    if not others.any():
        others = np.arange(len(clean)) != part
    compared = np.any([place for place, use in zip(places, others, strict=True) if use], axis=0)
    apart = fitted.abilities(places[part]) - fitted.abilities(compared)
    test, error = welch(apart[inside], apart[~inside])
    logits = float(apart[inside].mean() - apart[~inside].mean())
    half = float(stdtrit(test.df, 0.975)) * error
    members = int(inside.sum())
    return Favour(
        "", "", members, len(inside) - members, logits, logits - half, logits + half, test.p
    )
