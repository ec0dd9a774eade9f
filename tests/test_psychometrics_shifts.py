"""Shifts between two administrations, whom they favour and how well forms agree, by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from hqm import psychometrics as psy
from hqm.psychometrics.form_effect import own_shifts
from hqm.psychometrics.resampling import FEWEST
from hqm.psychometrics.variance_components import linear_bounds, mean_variance


def test_shifts_that_cannot_differ_say_why() -> None:
    same = psy.shift_heterogeneity_of_scores([0.1, 0.1, 0.1], [0.0, 0.0, 0.0])
    assert (same.test.status, same.test.n) == ("not_informative", 3)
    assert same.shifts.tolist() == [0.1, 0.1, 0.1]
    certain = psy.shift_heterogeneity_of_scores([0.1, 0.2, 0.3, 0.4], [0.0, 0.0, 0.1, 0.1])
    assert (certain.test.status, certain.test.n) == ("insufficient", 4)
    apart = psy.shift_heterogeneity_of_scores([0.1, 0.2, 0.3], [0.0, 0.0, 0.0])
    assert apart.test.status == "insufficient"
    uneven = psy.shift_heterogeneity_of_scores([0.1, 0.1, 0.1, math.nan], [0.0, 0.0, 0.1, 0.1])
    assert (uneven.test.status, uneven.test.n) == ("insufficient", 4)
    few = psy.shift_heterogeneity_of_scores([0.1, 0.2, math.nan], [0.1, 0.1, 0.1])
    assert (few.test.status, few.test.n) == ("insufficient", 3)
    assert math.isnan(few.i2)
    assert math.isnan(few.deviation)
    blank = psy.shift_heterogeneity(np.full((4, 5), np.nan), np.ones((4, 5)))
    assert (blank.test.status, blank.test.n) == ("insufficient", 4)
    assert np.isnan(blank.shifts).all()
    assert blank.shifts.shape == (4,)
    scored = psy.shift_heterogeneity_of_scores([0.1, 0.2, 0.7, math.nan], [0.01, 0.02, 0.01, 1.0])
    assert (scored.test.n, scored.test.df) == (3, 2)


def disattenuated(a: np.ndarray, b: np.ndarray, noise: tuple[float, float]) -> float:
    true = [v.var(ddof=1) - n for v, n in zip((a, b), noise, strict=True)]
    return float(np.cov(a, b)[0, 1] / math.sqrt(true[0] * true[1]))


def test_the_correlation_of_forms_and_its_intervals_by_hand() -> None:
    rng = np.random.default_rng(44)
    items = rng.normal(size=(2, 14, 12)) * 0.3 + rng.normal(size=(14, 1))
    a, b = items.mean(axis=2)
    b = b + 0.4 * rng.normal(size=14)
    without = tuple((v.sum(axis=1, keepdims=True) - v) / 11 for v in items)
    v, w = rng.uniform(0.01, 0.03, (2, 14))
    v[2], b[9] = np.nan, np.nan
    kept = [i for i in range(14) if i not in (2, 9)]
    families = [str(i // 2) for i in range(14)]
    result = psy.form_reliability(a, b, v, w, without=without, families=families, level=0.9)
    noise = v[kept].mean(), w[kept].mean()
    value = disattenuated(a[kept], b[kept], noise)
    left = np.array([disattenuated(*(s[kept, c] for s in without), noise) for c in range(12)])
    bounds = linear_bounds(value, left, 0.9)
    observed = psy.pearson(a[kept], b[kept], families=[families[i] for i in kept], level=0.9)
    share = math.prod(1 - n / s[kept].var(ddof=1) for s, n in zip((a, b), noise, strict=True))
    assert (result.true.value, result.attenuation) == pytest.approx((value, math.sqrt(share)))
    assert result.true.fixed is not None
    assert bounds is not None
    assert (result.true.fixed.low, result.true.fixed.high) == pytest.approx(
        (bounds.low, bounds.high)
    )
    assert (result.observed.value, result.observed.low) == pytest.approx(
        (observed.value, observed.low)
    )
    stretched = observed.low * value / observed.value
    assert result.true.low == pytest.approx(min(stretched, bounds.low))
    assert (result.true.n, result.true.level, result.true.flags) == (12, 0.9, ())
    assert math.isnan(result.true.raw)
    for n in (FEWEST - 1, FEWEST):
        near = a[:n] + 0.1 * np.sin(np.arange(n))
        few = psy.form_reliability(
            a[:n], near, 0 * near, 0 * near, without=tuple(s[:n] for s in without)
        )
        assert (few.true.fixed is not None) == (n >= FEWEST)
    with pytest.raises(ValueError, match="one length"):
        psy.form_reliability(a, b, v, w[:3])
    with pytest.raises(ValueError, match="one length"):
        psy.form_reliability(*(each[None] for each in (a, b, v, w)))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_correlation_of_forms_beyond_its_ends(sign: int) -> None:
    a, b = np.array([1.0, 2, 3, 4]), sign * np.array([1.0, 2, 3, 4.1])
    result = psy.form_reliability(a, b, [0.2] * 4, [0.1] * 4)
    raw = disattenuated(a, b, (0.2, 0.1))
    assert abs(raw) > 1
    assert (result.true.value, result.true.raw) == (sign, pytest.approx(raw))
    assert result.true.flags == ("ABOVE_ONE",)
    for first, other in ((9.0, 0.1), (0.1, 9.0), (5 / 3, 0.1)):
        absent = psy.form_reliability(a, b, [first] * 4, [other] * 4)
        assert (absent.true.status, absent.true.n) == ("degenerate", 4)
        assert absent.observed.status == "ok"
        assert math.isnan(absent.attenuation)
    few = psy.form_reliability(a[:2], b[:2], [0.1] * 2, [0.1] * 2)
    assert few.true is few.observed
    assert few.true.status == "insufficient"


def test_a_mean_shift_over_respondents_and_items() -> None:
    rng = np.random.default_rng(45)
    x, y = rng.normal(size=(2, 9))
    x[1], y[2] = np.nan, np.inf
    kept = [i for i in range(9) if i not in (1, 2)]
    d = (y - x)[kept]
    plain = psy.mean_shift(x, y, level=0.9)
    interval = stats.t.interval(0.9, 6, d.mean(), stats.sem(d))
    assert (plain.value, plain.low, plain.high) == pytest.approx((d.mean(), *interval))
    assert (plain.n, plain.level, plain.method, plain.fixed) == (7, 0.9, "paired t", None)
    related = psy.mean_shift(x, y, n_effective=4, level=0.9)
    half = stats.t.ppf(0.95, 3) * d.std(ddof=1) / 2
    assert (related.low, related.high) == pytest.approx((d.mean() - half, d.mean() + half))
    assert related.method == "paired t, n_eff 4"
    assert psy.mean_shift(x, y, n_effective=7).method == "paired t"
    assert math.isnan(psy.mean_shift(x, y, n_effective=1).low)
    left = tuple(s[:, None] + 0.1 * rng.normal(size=(9, 12)) for s in (x, y))
    both = psy.mean_shift(x, y, without=left, n_effective=6, level=0.9)
    variance = mean_variance(d, (left[1] - left[0])[kept], n_effective=6)
    half = stats.t.ppf(0.95, variance.df_both) * math.sqrt(variance.both)
    own = stats.t.ppf(0.95, 11) * math.sqrt(variance.items)
    assert both.fixed is not None
    assert (both.low, both.high) == pytest.approx((d.mean() - half, d.mean() + half))
    assert (both.fixed.low, both.fixed.high) == pytest.approx((d.mean() - own, d.mean() + own))
    assert (both.fixed.level, both.method) == (0.9, "t, respondents and items, n_eff 6")
    assert both.n == 7
    single = psy.mean_shift([0.5, math.nan], [0.7, 0.1])
    assert (single.value, single.n, math.isnan(single.low)) == (pytest.approx(0.2), 1, True)
    none = psy.mean_shift([math.nan], [0.1])
    assert (none.status, none.n) == ("insufficient", 0)


def test_each_respondents_own_shift_by_hand() -> None:
    rng = np.random.default_rng(46)
    x, y = np.array([0.5, 0.6, math.nan, 0.4, 0.3]), np.array([0.7, 0.5, 0.3, 0.9, 0.2])
    left = tuple(s[:, None] + 0.1 * rng.normal(size=(5, 6)) for s in (x, y))
    left[0][1, :2] = np.nan
    left[1][3] = left[0][3]  # no picture moves the difference
    left[0][4, 1:] = np.nan
    made = own_shifts(x, y, left, level=0.9)
    for m, count in ((0, 6), (1, 4)):
        moved = (left[1] - left[0])[m]
        moved = moved[np.isfinite(moved)]
        error = math.sqrt((count - 1) / count * float(((moved - moved.mean()) ** 2).sum()))
        half = stats.t.ppf(0.95, count - 1) * error
        shift = y[m] - x[m]
        assert (made[m].value, made[m].low, made[m].high) == pytest.approx(
            (shift, shift - half, shift + half)
        )
        assert (made[m].n, made[m].level) == (count, 0.9)
    assert (made[2].status, made[2].n) == ("insufficient", 0)
    for m, count in ((3, 6), (4, 1)):
        assert (made[m].value, made[m].n) == (pytest.approx(y[m] - x[m]), count)
        assert math.isnan(made[m].low)
        assert math.isnan(made[m].high)


def test_tests_of_means_that_have_nothing_to_test() -> None:
    x = np.array([[0.5, 0.5], [0.6, 0.6], [0.4, 0.4], [math.nan, 0.1]])
    same = psy.bias_test(x)
    assert (same.status, same.n) == ("not_informative", 3)
    moved = psy.bias_test(np.array([[1.0, 2, 4], [2, 3, 5], [3, 4, 6], [5, 6, 8]]))
    assert (moved.statistic, moved.df, moved.p, moved.n) == (math.inf, 2, 0, 4)
    single = psy.bias_test(x, n_effective=1.5)
    assert (single.status, single.n) == ("not_applicable", 3)
    few = psy.bias_test(x[:2])
    assert (few.status, few.n) == ("insufficient", 2)


@pytest.mark.parametrize(
    ("n", "margin", "effective", "status"),
    [
        (3, 0.1, None, "ok"),
        (2, 0.1, None, "insufficient"),
        (5, 0.1, 2, "ok"),
        (5, 0.1, 1.9, "insufficient"),
        (5, 0.0, None, "not_applicable"),
        (5, math.inf, None, "not_applicable"),
        (2, -1.0, None, "not_applicable"),
    ],
)
def test_equivalence_of_relatives_by_hand(
    n: int, margin: float, effective: float | None, status: str
) -> None:
    x = np.array([0.5, 0.6, 0.7, 0.65, 0.2])[:n]
    y = np.array([0.52, 0.61, 0.73, 0.69, 0.21])[:n]
    result = psy.equivalence(x, y, margin, alpha=0.1, n_effective=effective)
    assert (result.status, result.margin, result.alpha) == (status, margin, 0.1)
    assert bool(result.reason) == (status != "ok")
    assert math.isfinite(result.p) == (status == "ok")
    assert (result.shift.value, result.shift.level) == pytest.approx(((y - x).mean(), 0.8))
    if status == "ok":
        size = effective or n
        d = y - x
        error = d.std(ddof=1) / math.sqrt(size)
        lower = stats.t.sf((d.mean() + margin) / error, size - 1)
        upper = stats.t.cdf((d.mean() - margin) / error, size - 1)
        assert (result.p_lower, result.p_upper) == pytest.approx((lower, upper))
        assert result.p == max(result.p_lower, result.p_upper)
        assert psy.equivalence(x, y, margin, n_effective=effective).alpha == 0.05


def test_equal_shifts_of_large_scores_have_no_error() -> None:
    """Scores of millions leave more dust than shares do."""
    large = np.array([3e6, 5e6, 7e6])
    for moved, status in ((1e-6, "degenerate"), (1e-4, "ok")):
        result = psy.equivalence(large, large + np.array([1.0, 1.0, 1.0 + moved]), 2.0)
        assert result.status == status
    for moved, status in ((1e-13, "degenerate"), (1e-11, "ok")):
        assert psy.equivalence([0.1, 0.2, 0.3], [0.1, 0.2, 0.3 + moved], 0.1).status == status


def test_the_margin_is_the_declared_one_or_that_of_the_seeds() -> None:
    assert psy.equivalence_margin(0.02, 0.09).method == "declared"
    seeds = psy.equivalence_margin(mdc95=0.09)
    assert (seeds.value, seeds.method) == (0.09, "seeds")
    for wrong in (0.0, -0.1, math.inf):
        assert psy.equivalence_margin(wrong, 0.09).status == "not_applicable"
    assert psy.equivalence_margin(mdc95=-0.1).status == "degenerate"


def test_who_lies_off_the_line_of_the_others() -> None:
    """Deleted residuals, and p of the externally studentised ones, by leaving each out."""
    rng = np.random.default_rng(47)
    y = rng.uniform(0.3, 0.9, 10)
    x = 0.1 + 0.8 * y + 0.02 * rng.normal(size=10)
    x[4] += 0.2
    x[1], y[7] = np.nan, np.nan
    kept = [i for i in range(10) if i not in (1, 7)]
    left = tuple(s[:, None] + 0.01 * rng.normal(size=(10, 12)) for s in (x, y))
    made = psy.advantages(x, y, left, n_effective=5)
    p = []
    for i in kept:
        others = [j for j in kept if j != i]
        line = stats.linregress(y[others], x[others])
        gap = x[i] - line.intercept - line.slope * y[i]
        rest = x[others] - line.intercept - line.slope * y[others]
        apart = y[others] - y[others].mean()
        spread = 1 + 1 / 7 + (y[i] - y[others].mean()) ** 2 / float(apart @ apart)
        error = math.sqrt(float(rest @ rest) / 5 * spread)
        assert made.beyond[i] == pytest.approx(gap)
        p.append(2 * stats.t.sf(abs(gap) / error, 5))
    assert [made.p[i] for i in kept] == pytest.approx(psy.holm(p))
    assert all(math.isnan(made.beyond[i]) and math.isnan(made.p[i]) for i in (1, 7))
    assert made.remembered == (4,)
    mean = psy.mean_shift(y, x, without=(left[1], left[0]), n_effective=5)
    assert (made.mean.value, made.mean.low) == pytest.approx((mean.value, mean.low))
    assert made.own[0].value == pytest.approx(x[0] - y[0])
    worse = psy.advantages(2 * y - x, y, left)
    assert worse.remembered == (), "who loses more than the others remembers nothing"
    assert worse.p[4] < 0.05
    for n, tested in ((6, False), (7, True)):
        some = psy.advantages(x[:n], y[:n], tuple(s[:n] for s in left))
        assert bool(some.beyond) == bool(some.p) == tested, "five and six have both"
    level = psy.advantages(x, 0 * y + 0.5, left)
    assert (level.beyond, level.p, level.remembered) == ((), (), ())


def test_who_alone_makes_the_line_is_not_compared_with_it() -> None:
    y = np.array([0.5, 0.5, 0.5, 0.5, 0.5, 0.9])
    x = np.array([0.5, 0.6, 0.55, 0.52, 0.58, 0.9])
    made = psy.advantages(x, y, (x[:, None] + np.zeros(4), y[:, None] + np.zeros(4)))
    assert math.isnan(made.beyond[5])
    assert made.beyond[1] == pytest.approx(0.6 - (0.5 + 0.55 + 0.52 + 0.58) / 4)
    # the others lie on a line exactly, so that nothing is left of them to compare with
    line = np.arange(7.0) / 10
    off = line + np.where(np.arange(7) == 3, 0.1, 0.0)
    exact = psy.advantages(off, line, (off[:, None] + np.zeros(4), line[:, None] + np.zeros(4)))
    assert exact.beyond[3] == pytest.approx(0.1)
    assert exact.p[3] == pytest.approx(0.0, abs=1e-6)


def test_older_items_beside_newer_ones_by_hand() -> None:
    rng = np.random.default_rng(48)
    right = (rng.random((7, 24)) < np.linspace(0.3, 0.8, 7)[:, None]).astype(float)
    right[2, :3] = np.nan
    older = np.arange(24) < 10
    labels = np.arange(24) // 2
    made = psy.older_advantages(right, older, labels, n_effective=4)
    sets = [np.nanmean(right[:, which], axis=1) for which in (older, ~older)]
    left = [
        np.stack([np.nanmean(right[:, which & (labels != c)], axis=1) for c in range(12)], axis=1)
        for which in (older, ~older)
    ]
    rival = psy.advantages(sets[0], sets[1], (left[0], left[1]), n_effective=4)
    for ours, other in zip((made.mean, *made.own), (rival.mean, *rival.own), strict=True):
        assert (ours.value, ours.low, ours.n) == pytest.approx((other.value, other.low, other.n))
    assert made.beyond == pytest.approx(rival.beyond)
    assert made.p == pytest.approx(rival.p)
    alone = psy.older_advantages(right[:, older], older[older])
    assert alone.mean.status == "insufficient"
