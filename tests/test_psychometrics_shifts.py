"""Shifts between two administrations, whom they favour and how well forms agree, by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from hqm import psychometrics as psy
from hqm.psychometrics.inference.resampling import MIN_UNITS
from hqm.psychometrics.reliability.form_effect import respondent_shifts
from hqm.psychometrics.variance.variance_components import correlation_interval, mean_variance


def test_shifts_that_cannot_differ_say_why() -> None:
    equal_shifts = psy.shift_heterogeneity_of_scores([0.1, 0.1, 0.1], [0.0, 0.0, 0.0])
    assert (equal_shifts.test.status, equal_shifts.test.n) == ("not_informative", 3)
    assert equal_shifts.shifts.tolist() == [0.1, 0.1, 0.1]
    certain = psy.shift_heterogeneity_of_scores([0.1, 0.2, 0.3, 0.4], [0.0, 0.0, 0.1, 0.1])
    assert (certain.test.status, certain.test.n) == ("insufficient", 4)
    varying_shifts = psy.shift_heterogeneity_of_scores([0.1, 0.2, 0.3], [0.0, 0.0, 0.0])
    assert varying_shifts.test.status == "insufficient"
    uneven = psy.shift_heterogeneity_of_scores([0.1, 0.1, 0.1, math.nan], [0.0, 0.0, 0.1, 0.1])
    assert (uneven.test.status, uneven.test.n) == ("insufficient", 4)
    small_study = psy.shift_heterogeneity_of_scores([0.1, 0.2, math.nan], [0.1, 0.1, 0.1])
    assert (small_study.test.status, small_study.test.n) == ("insufficient", 3)
    assert math.isnan(small_study.i2)
    assert math.isnan(small_study.deviation)
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
    replicates = tuple((v.sum(axis=1, keepdims=True) - v) / 11 for v in items)
    v, w = rng.uniform(0.01, 0.03, (2, 14))
    v[2], b[9] = np.nan, np.nan
    complete = [i for i in range(14) if i not in (2, 9)]
    families = [str(i // 2) for i in range(14)]
    result = psy.form_reliability(a, b, v, w, replicates=replicates, families=families, level=0.9)
    noise = v[complete].mean(), w[complete].mean()
    value = disattenuated(a[complete], b[complete], noise)
    left = np.array(
        [disattenuated(*(s[complete, c] for s in replicates), noise) for c in range(12)]
    )
    bounds = correlation_interval(value, left, 0.9)
    observed = psy.pearson(
        a[complete], b[complete], families=[families[i] for i in complete], level=0.9
    )
    share = math.prod(1 - n / s[complete].var(ddof=1) for s, n in zip((a, b), noise, strict=True))
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
    for n in (MIN_UNITS - 1, MIN_UNITS):
        correlated = a[:n] + 0.1 * np.sin(np.arange(n))
        small_study = psy.form_reliability(
            a[:n],
            correlated,
            0 * correlated,
            0 * correlated,
            replicates=tuple(s[:n] for s in replicates),
        )
        assert (small_study.true.fixed is not None) == (n >= MIN_UNITS)
    with pytest.raises(ValueError, match="one length"):
        psy.form_reliability(a, b, v, w[:3])
    with pytest.raises(ValueError, match="one length"):
        psy.form_reliability(*(values[None] for values in (a, b, v, w)))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_correlation_of_forms_beyond_its_ends(sign: int) -> None:
    a, b = np.array([1.0, 2, 3, 4]), sign * np.array([1.0, 2, 3, 4.1])
    result = psy.form_reliability(a, b, [0.2] * 4, [0.1] * 4)
    raw = disattenuated(a, b, (0.2, 0.1))
    assert abs(raw) > 1
    assert (result.true.value, result.true.raw) == (sign, pytest.approx(raw))
    assert result.true.flags == ("ABOVE_ONE",)
    for first, second in ((9.0, 0.1), (0.1, 9.0), (5 / 3, 0.1)):
        absent = psy.form_reliability(a, b, [first] * 4, [second] * 4)
        assert (absent.true.status, absent.true.n) == ("degenerate", 4)
        assert absent.observed.status == "ok"
        assert math.isnan(absent.attenuation)
    small_study = psy.form_reliability(a[:2], b[:2], [0.1] * 2, [0.1] * 2)
    assert small_study.true is small_study.observed
    assert small_study.true.status == "insufficient"


def test_a_mean_shift_over_respondents_and_items() -> None:
    rng = np.random.default_rng(45)
    x, y = rng.normal(size=(2, 9))
    x[1], y[2] = np.nan, np.inf
    complete = [i for i in range(9) if i not in (1, 2)]
    d = (y - x)[complete]
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
    shift = psy.mean_shift(x, y, replicates=left, n_effective=6, level=0.9)
    variance = mean_variance(d, (left[1] - left[0])[complete], n_effective=6)
    half = stats.t.ppf(0.95, variance.df_total) * math.sqrt(variance.total)
    fixed_half = stats.t.ppf(0.95, 11) * math.sqrt(variance.items)
    assert shift.fixed is not None
    assert (shift.low, shift.high) == pytest.approx((d.mean() - half, d.mean() + half))
    assert (shift.fixed.low, shift.fixed.high) == pytest.approx(
        (d.mean() - fixed_half, d.mean() + fixed_half)
    )
    assert (shift.fixed.level, shift.method) == (0.9, "t, respondents and items, n_eff 6")
    assert shift.n == 7
    single = psy.mean_shift([0.5, math.nan], [0.7, 0.1])
    assert (single.value, single.n, math.isnan(single.low)) == (pytest.approx(0.2), 1, True)
    absent = psy.mean_shift([math.nan], [0.1])
    assert (absent.status, absent.n) == ("insufficient", 0)


def test_each_respondents_own_shift_by_hand() -> None:
    rng = np.random.default_rng(46)
    x, y = np.array([0.5, 0.6, math.nan, 0.4, 0.3]), np.array([0.7, 0.5, 0.3, 0.9, 0.2])
    left = tuple(s[:, None] + 0.1 * rng.normal(size=(5, 6)) for s in (x, y))
    left[0][1, :2] = np.nan
    left[1][3] = left[0][3]  # no picture moves the difference
    left[0][4, 1:] = np.nan
    shifts = respondent_shifts(x, y, left, level=0.9)
    for m, count in ((0, 6), (1, 4)):
        moved = (left[1] - left[0])[m]
        moved = moved[np.isfinite(moved)]
        error = math.sqrt((count - 1) / count * float(((moved - moved.mean()) ** 2).sum()))
        half = stats.t.ppf(0.95, count - 1) * error
        shift = y[m] - x[m]
        assert (shifts[m].value, shifts[m].low, shifts[m].high) == pytest.approx(
            (shift, shift - half, shift + half)
        )
        assert (shifts[m].n, shifts[m].level) == (count, 0.9)
    assert (shifts[2].status, shifts[2].n) == ("insufficient", 0)
    for m, count in ((3, 6), (4, 1)):
        assert (shifts[m].value, shifts[m].n) == (pytest.approx(y[m] - x[m]), count)
        assert math.isnan(shifts[m].low)
        assert math.isnan(shifts[m].high)


def test_tests_of_means_that_have_nothing_to_test() -> None:
    x = np.array([[0.5, 0.5], [0.6, 0.6], [0.4, 0.4], [math.nan, 0.1]])
    equal_means = psy.bias_test(x)
    assert (equal_means.status, equal_means.n) == ("not_informative", 3)
    moved = psy.bias_test(np.array([[1.0, 2, 4], [2, 3, 5], [3, 4, 6], [5, 6, 8]]))
    assert (moved.statistic, moved.df, moved.p, moved.n) == (math.inf, 2, 0, 4)
    single = psy.bias_test(x, n_effective=1.5)
    assert (single.status, single.n) == ("not_applicable", 3)
    small_study = psy.bias_test(x[:2])
    assert (small_study.status, small_study.n) == ("insufficient", 2)


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
    complete = [i for i in range(10) if i not in (1, 7)]
    left = tuple(s[:, None] + 0.01 * rng.normal(size=(10, 12)) for s in (x, y))
    study = psy.advantages(x, y, left, n_effective=5)
    p = []
    for i in complete:
        peers = [j for j in complete if j != i]
        line = stats.linregress(y[peers], x[peers])
        gap = x[i] - line.intercept - line.slope * y[i]
        residuals = x[peers] - line.intercept - line.slope * y[peers]
        deviations = y[peers] - y[peers].mean()
        spread = 1 + 1 / 7 + (y[i] - y[peers].mean()) ** 2 / float(deviations @ deviations)
        error = math.sqrt(float(residuals @ residuals) / 5 * spread)
        assert study.excess[i] == pytest.approx(gap)
        p.append(2 * stats.t.sf(abs(gap) / error, 5))
    assert [study.p[i] for i in complete] == pytest.approx(psy.holm(p))
    assert all(math.isnan(study.excess[i]) and math.isnan(study.p[i]) for i in (1, 7))
    assert study.remembered == (4,)
    mean = psy.mean_shift(y, x, replicates=(left[1], left[0]), n_effective=5)
    assert (study.mean.value, study.mean.low) == pytest.approx((mean.value, mean.low))
    assert study.by_respondent[0].value == pytest.approx(x[0] - y[0])
    worse = psy.advantages(2 * y - x, y, left)
    assert worse.remembered == (), "who loses more than the others remembers nothing"
    assert worse.p[4] < 0.05
    for n, tested in ((6, False), (7, True)):
        subset = psy.advantages(x[:n], y[:n], tuple(s[:n] for s in left))
        assert bool(subset.excess) == bool(subset.p) == tested, "five and six have both"
    level = psy.advantages(x, 0 * y + 0.5, left)
    assert (level.excess, level.p, level.remembered) == ((), (), ())


def test_who_alone_makes_the_line_is_not_compared_with_it() -> None:
    y = np.array([0.5, 0.5, 0.5, 0.5, 0.5, 0.9])
    x = np.array([0.5, 0.6, 0.55, 0.52, 0.58, 0.9])
    study = psy.advantages(x, y, (x[:, None] + np.zeros(4), y[:, None] + np.zeros(4)))
    assert math.isnan(study.excess[5])
    assert study.excess[1] == pytest.approx(0.6 - (0.5 + 0.55 + 0.52 + 0.58) / 4)
    # the others lie on a line exactly, so that nothing is left of them to compare with
    line = np.arange(7.0) / 10
    shifted = line + np.where(np.arange(7) == 3, 0.1, 0.0)
    exact = psy.advantages(
        shifted, line, (shifted[:, None] + np.zeros(4), line[:, None] + np.zeros(4))
    )
    assert exact.excess[3] == pytest.approx(0.1)
    assert exact.p[3] == pytest.approx(0.0, abs=1e-6)


def test_older_items_beside_newer_ones_by_hand() -> None:
    rng = np.random.default_rng(48)
    right = (rng.random((7, 24)) < np.linspace(0.3, 0.8, 7)[:, None]).astype(float)
    right[2, :3] = np.nan
    older = np.arange(24) < 10
    labels = np.arange(24) // 2
    study = psy.older_advantages(right, older, labels, n_effective=4)
    sets = [np.nanmean(right[:, item_mask], axis=1) for item_mask in (older, ~older)]
    left = [
        np.stack(
            [np.nanmean(right[:, item_mask & (labels != c)], axis=1) for c in range(12)], axis=1
        )
        for item_mask in (older, ~older)
    ]
    rival = psy.advantages(sets[0], sets[1], (left[0], left[1]), n_effective=4)
    for ours, expected in zip(
        (study.mean, *study.by_respondent), (rival.mean, *rival.by_respondent), strict=True
    ):
        assert (ours.value, ours.low, ours.n) == pytest.approx(
            (expected.value, expected.low, expected.n)
        )
    assert study.excess == pytest.approx(rival.excess)
    assert study.p == pytest.approx(rival.p)
    older_only = psy.older_advantages(right[:, older], older[older])
    assert older_only.mean.status == "insufficient"
