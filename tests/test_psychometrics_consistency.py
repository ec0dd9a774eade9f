"""Internal consistency and families of respondents against published values and rival
implementations.
"""

import math
import warnings
from dataclasses import replace
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pingouin
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from statsmodels.stats.multitest import multipletests

from hqm import psychometrics as psy
from hqm.psychometrics.inference.resampling import bootstrap_counts
from hqm.psychometrics.reliability.consistency import lengthening, varying_columns
from tests.printed import printed_rows

# Brennan 2001, Generalizability Theory, synthetic data set 1: ten persons, twelve items
BRENNAN_1 = np.array(
    [
        [int(c) for c in row]
        for row in """
101000000000 111001000000 111110000000 110110010000 111110100000
111011100000 111111100000 111101111100 111111111110 111111111111""".split()
    ],
    dtype=float,
)
# covariances of the five agreeableness items (A1 reversed) of 2,709 complete respondents: data set
# `bfi` of R's psych
BFI_A = np.array([
    [1.9728316847, 0.5644871600, 0.4915843463, 0.3098170222, 0.3237103413],
    [0.5644871600, 1.3839515745, 0.7470138926, 0.5862302910, 0.5755421367],
    [0.4915843463, 0.7470138926, 1.7018603670, 0.7023032531, 0.8314337896],
    [0.3098170222, 0.5862302910, 0.7023032531, 2.2095084332, 0.5751548670],
    [0.3237103413, 0.5755421367, 0.8314337896, 0.5751548670, 1.5916429343]])  # fmt: skip
# correlations of nine ability tests of 213 people (Thurstone and Thurstone 1941; Bechtoldt 1961):
# `Thurstone` of psych
THURSTONE = np.array(
    [
        [1, 0.828, 0.776, 0.439, 0.432, 0.447, 0.447, 0.541, 0.380],
        [0.828, 1, 0.779, 0.493, 0.464, 0.489, 0.432, 0.537, 0.358],
        [0.776, 0.779, 1, 0.460, 0.425, 0.443, 0.401, 0.534, 0.359],
        [0.439, 0.493, 0.460, 1, 0.674, 0.590, 0.381, 0.350, 0.424],
        [0.432, 0.464, 0.425, 0.674, 1, 0.541, 0.402, 0.367, 0.446],
        [0.447, 0.489, 0.443, 0.590, 0.541, 1, 0.288, 0.320, 0.325],
        [0.447, 0.432, 0.401, 0.381, 0.402, 0.288, 1, 0.555, 0.598],
        [0.541, 0.537, 0.534, 0.350, 0.367, 0.320, 0.555, 1, 0.452],
        [0.380, 0.358, 0.359, 0.424, 0.446, 0.325, 0.598, 0.452, 1],
    ]
)
# hallucination rates by type: attribute, action, counting, environment, comparison, relation, OCR,
# existence
TABLE_5 = np.array([row[:-1] for row in printed_rows("HQM", "Table 5")])
TABLE_5_FAMILY = (
    "blip2 blip2 blip2 instructblip instructblip instructblip instructblip internlm llava llava"
    " minigpt4 minigpt4 minigpt4 minigpt-v2 minigpt-v2 otter qwen shikra shikra gemini gpt"
).split()


def with_covariance(covariance: np.ndarray, n: int) -> np.ndarray:
    """Scores of n respondents whose sample covariances are exactly these."""
    x = np.random.default_rng(0).normal(size=(n, len(covariance)))
    x -= x.mean(axis=0)
    sample_root = np.linalg.cholesky(np.cov(x.T))
    return x @ np.linalg.inv(sample_root).T @ np.linalg.cholesky(covariance).T


@pytest.fixture
def lsat(data: Path) -> dict[str, np.ndarray]:
    return {
        n: np.loadtxt(data / "psychometrics" / f"{n}.csv", delimiter=",", skiprows=1)
        for n in ("lsat6", "lsat7")
    }


def test_alpha_of_brennans_first_data_set() -> None:
    alpha = psy.cronbach_alpha(BRENNAN_1)
    # Brennan 2001 prints .844; R's psych, which drops the item everybody passed, gives .8515
    assert alpha.coefficient.value == pytest.approx(0.844495, abs=5e-7)
    assert alpha.varying.value == pytest.approx(0.8515, abs=5e-5)
    assert (alpha.k, alpha.k_varying) == (12, 11)
    assert alpha.coefficient.flags == ("RANK_DEFICIENT", "ZERO_VARIANCE_ITEMS")


@pytest.mark.data
def test_alpha_of_the_law_school_tests(lsat: dict[str, np.ndarray]) -> None:
    """LSAT sections 6 and 7 (Bock and Lieberman 1970; R's psych::alpha)."""
    assert psy.cronbach_alpha(lsat["lsat7"]).coefficient.value == pytest.approx(0.453409, abs=5e-7)
    assert psy.cronbach_alpha(lsat["lsat6"]).coefficient.value == pytest.approx(0.294997, abs=5e-7)


def test_the_agreeableness_items() -> None:
    """R's psych: alpha(), guttman() and omega(nfactors = 1) of bfi[1:5]."""
    x = with_covariance(BFI_A, 2709)
    assert psy.cronbach_alpha(x).coefficient.value == pytest.approx(0.703756, abs=5e-7)
    assert psy.omega_t(x).value == pytest.approx(0.724664, abs=5e-7)


def test_omega_of_thurstones_tests() -> None:
    assert psy.omega_t(with_covariance(THURSTONE, 213)).value == pytest.approx(0.891455, abs=5e-7)


def test_split_halves_of_the_hqm_paper() -> None:
    halves = psy.split_half(TABLE_5, np.random.default_rng(0))
    assert (halves.splits, halves.exhaustive, halves.undefined) == (35, True, 0)
    assert (halves.mean, halves.minimum, halves.maximum) == pytest.approx(
        (0.9654, 0.8923, 0.9896), abs=5e-5
    )


def test_families_of_the_hqm_paper() -> None:
    """21 checkpoints of 11 families count as about ten."""
    overall = TABLE_5.mean(axis=1)
    dependence = psy.family_dependence(overall, TABLE_5_FAMILY, np.random.default_rng(0))
    assert dependence.icc.value == pytest.approx(0.762, abs=5e-4)
    assert dependence.n_eff == pytest.approx(10.06, abs=0.01)
    assert (dependence.n, dependence.families, dependence.flags) == (21, 11, ("FAMILY_DEPENDENCE",))


@pytest.mark.parametrize("sizes", [[4] * 5, [5, 3, 1, 1], [2] * 10])
def test_unrelated_respondents_raise_the_flag_of_dependence_in_five_of_a_hundred(
    sizes: list[int],
) -> None:
    """600 sets of unrelated scores, skewed as rates near a bound are; the binomial error of .05 is
    .009.
    """
    rng = np.random.default_rng(3)
    labels = [str(f) for f, size in enumerate(sizes) for _ in range(size)]
    raised = [
        bool(
            psy.family_dependence(rng.beta(9, 1, len(labels)), labels, rng, permutations=399).flags
        )
        for _ in range(600)
    ]
    assert 0.02 <= np.mean(raised) <= 0.08


def test_the_p_value_of_dependence_is_that_of_all_exchanges() -> None:
    x, labels = [0.1, 0.4, 0.35, 0.8, 0.9, 0.5], np.array(list("aabbcc"))

    def between_variance(order: tuple[int, ...]) -> float:
        moved = np.array(x)[list(order)]
        return sum(2 * (moved[labels == f].mean() - np.mean(x)) ** 2 for f in "abc")

    at_least_observed = [
        between_variance(order) >= between_variance(tuple(range(6))) - 1e-12
        for order in permutations(range(6))
    ]
    dependence = psy.family_dependence(
        x, labels.tolist(), np.random.default_rng(0), permutations=20_000
    )
    assert dependence.p == pytest.approx(np.mean(at_least_observed), abs=0.01)


def test_one_family_is_one_respondent() -> None:
    """However far apart its members score."""
    for x in ([0.1, 0.5, 0.9, 0.2, 0.7], [0.5] * 5):
        dependence = psy.family_dependence(x, ["a"] * 5, np.random.default_rng(0))
        assert (dependence.n_eff, dependence.families, dependence.flags) == (1.0, 1, ())
        assert "one family" in dependence.icc.reason


def test_the_range_of_the_hqm_paper() -> None:
    """Alpha over the types is .961 for all 21 models and .842 among the best eight."""
    rates = TABLE_5.mean(axis=1)
    best = np.argsort(rates, kind="stable")

    def alpha(rows: np.ndarray) -> float:
        return psy.cronbach_alpha(TABLE_5[rows]).coefficient.value

    assert (alpha(np.arange(21)), alpha(best[:8])) == pytest.approx((0.961, 0.842), abs=5e-4)
    restriction = psy.range_restriction(rates, higher_is_better=False)
    assert (restriction.n, restriction.n_top) == (21, 11)
    assert restriction.u == pytest.approx(rates[best[:11]].std(ddof=1) / rates.std(ddof=1))
    assert restriction.flags == ("RANGE_INFLATED",)


def test_leave_one_out_finds_the_outlier() -> None:
    rng = np.random.default_rng(1)
    x, y = np.append(rng.normal(size=15), 12), np.append(rng.normal(size=15), 12)
    influence = psy.leave_one_out(lambda i: psy.pearson(x[i], y[i]).value, 16, scores=x)
    assert (influence.strongest, influence.flags) == (15, ("DOMINANT_MODEL",))
    assert influence.leave_one_out[15] == pytest.approx(np.corrcoef(x[:15], y[:15])[0, 1])
    assert influence.low == min(influence.leave_one_out)
    line = np.arange(16.0)
    bent = line + 3 * np.sin(line)
    calm = psy.leave_one_out(lambda i: psy.pearson(line[i], bent[i]).value, 16, scores=line)
    assert calm.flags == ()


tables = arrays(
    float, st.tuples(st.integers(5, 12), st.integers(3, 6)), elements=st.floats(0, 1, width=16)
)


@given(tables)
@settings(max_examples=60, deadline=None)
def test_alpha_against_pingouin(x: np.ndarray) -> None:
    alpha = psy.cronbach_alpha(x).coefficient
    assume(alpha.status == "ok" and np.ptp(x.sum(axis=1)) >= 0.05)
    import pandas as pd

    value, _ = pingouin.cronbach_alpha(pd.DataFrame(x))
    assert alpha.value == pytest.approx(float(value), abs=1e-9)


varied = arrays(
    float,
    st.tuples(st.integers(8, 12), st.integers(3, 6)),
    elements=st.floats(0, 1, width=16),
    fill=st.nothing(),
)
"""More respondents than items, each cell drawn alone, so that hardly a column is constant."""


@given(varied, st.randoms(use_true_random=False), st.floats(0.1, 4), st.floats(-2, 2))
@settings(max_examples=40, deadline=None)
def test_order_shift_and_scale_do_not_matter(
    x: np.ndarray, random: object, scale: float, shift: float
) -> None:
    assume(np.ptp(x.sum(axis=1)) >= 0.05 and (np.ptp(x, axis=0) >= 1e-2).all())
    rows, columns = list(range(len(x))), list(range(x.shape[1]))
    random.shuffle(rows)  # type: ignore[attr-defined]
    random.shuffle(columns)  # type: ignore[attr-defined]
    moved = scale * x[rows][:, columns] + shift
    original, transformed = (psy.cronbach_alpha(y).coefficient for y in (x, moved))
    if original.status == transformed.status == "ok" and abs(original.value) < 50:
        assert transformed.value == pytest.approx(original.value, abs=1e-5)


def test_missing_scores_leave_out_the_respondent_or_the_item() -> None:
    x = np.vstack([BRENNAN_1, np.full(12, np.nan)])
    assert psy.cronbach_alpha(x).coefficient.value == pytest.approx(0.844495, abs=5e-7)
    y = BRENNAN_1.copy()
    y[3, 4] = np.nan
    assert (psy.cronbach_alpha(y).n, psy.cronbach_alpha(y, drop="items").k) == (9, 11)


def test_adjusted_p_values_against_statsmodels() -> None:
    p = np.random.default_rng(2).uniform(size=40) ** 2
    assert psy.benjamini_hochberg(p) == pytest.approx(multipletests(p, method="fdr_bh")[1])
    assert psy.holm(p) == pytest.approx(multipletests(p, method="holm")[1])
    with_gap = np.append(p, np.nan)
    assert psy.holm(with_gap)[:-1] == pytest.approx(psy.holm(p))
    assert math.isnan(psy.benjamini_hochberg(with_gap)[-1])


def test_minres_against_a_search() -> None:
    from scipy.optimize import least_squares

    r = np.corrcoef(
        np.random.default_rng(3).normal(size=(60, 6)).T + np.random.default_rng(4).normal(size=60)
    )
    upper = np.triu_indices(6, 1)
    rival = least_squares(
        lambda v: (np.outer(v, v) - r)[upper], np.full(6, 0.5), xtol=1e-14, ftol=1e-14
    ).x
    assert psy.minres_loadings(r) == pytest.approx(rival, abs=1e-6)


def test_all_halves_against_a_loop() -> None:
    x = np.random.default_rng(8).normal(size=(9, 5)) + np.random.default_rng(9).normal(size=(9, 1))
    values = []
    for half in combinations(range(5), 2):
        r = np.corrcoef(x[:, half].sum(1), np.delete(x, half, axis=1).sum(1))[0, 1]
        values.append(2 * r / (1 + r))
    halves = psy.split_half(x, np.random.default_rng(0))
    assert (halves.splits, halves.mean, halves.minimum) == pytest.approx(
        (10, np.mean(values), min(values))
    )


def test_a_family_is_drawn_as_a_whole() -> None:
    weights = bootstrap_counts(4, np.random.default_rng(0), 200, ["a", "a", "b", "c"])
    assert (weights[:, 0] == weights[:, 1]).all()
    assert weights.mean(axis=0) == pytest.approx(1, abs=0.15)


ABSENT = {
    "insufficient": [
        np.empty((0, 5)),
        np.empty((5, 0)),
        np.eye(2),
        np.ones((6, 1)),
        np.full((5, 4), np.nan),
    ],
    "degenerate": [
        np.ones((6, 4)),
        np.zeros((6, 4)),
        np.tile([1.0, 0, 1], (7, 1)),
        np.full((5, 3), 0.1),
    ],
}


@pytest.mark.parametrize(
    ("status", "x"), [(s, x) for s, matrices in ABSENT.items() for x in matrices], ids=repr
)
def test_what_does_not_exist_says_why(status: str, x: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        coefficients = [psy.cronbach_alpha(x).coefficient, psy.omega_t(x)]
        halves = psy.split_half(x, rng)
    assert all(c.status != "ok" and c.reason and math.isnan(c.value) for c in coefficients), (
        coefficients
    )
    assert coefficients[0].status == status
    assert halves.status == status


def test_borderline_inputs_raise_no_warning() -> None:
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert psy.omega_t(BRENNAN_1).status == "not_applicable"
        assert psy.omega_t(np.random.default_rng(0).normal(size=(9, 2))).status == "insufficient"
        three = psy.cronbach_alpha([[1, 2], [2, 1], [3, 3]])
        assert three.coefficient.status == "ok"
        assert math.isnan(three.coefficient.low)
        identical_items = psy.cronbach_alpha(np.tile(np.arange(6.0)[:, None], (1, 3)))
        assert identical_items.coefficient.value == pytest.approx(1)
        assert math.isnan(identical_items.coefficient.low)
        assert identical_items.coefficient.flags == ("REDUNDANT",)
        opposed = np.array([[1.0, 0], [0, 1], [1, 0], [0, 1.001]])
        assert psy.cronbach_alpha(opposed).coefficient.value < 0, (
            "a negative alpha is printed, not cut"
        )
        assert psy.split_half([[1.0, 0], [0, 1.1], [1, 0]], rng).status in ("ok", "degenerate")
        assert psy.family_dependence([1, 2, 3], list("abc")).icc.status == "not_applicable"
        assert psy.family_dependence([1, 2, 3], list("abc")).n_eff == 3
        assert psy.family_dependence([1, 2, 3], list("aaa")).icc.status == "not_applicable"
        assert psy.family_dependence([1, 2, 3], list("aaa")).n_eff == 1
        assert psy.family_dependence([1, 1, 1], list("aab")).icc.status == "degenerate"
        assert psy.family_dependence([1, 1, 2], list("aab")).icc.value == 1
        assert psy.range_restriction([1, 2, 3]).status == "insufficient"
        assert psy.range_restriction([1, 2, 3, 5, 5, 5]).status == "degenerate"
        assert psy.leave_one_out(lambda i: 0.0, 3).status == "insufficient"
        assert psy.leave_one_out(lambda i: math.nan, 5).status == "degenerate"
        assert psy.leave_one_out(lambda i: 1.0, 5, scores=[1, 1, 1, 1, 1]).flags == ()


def test_shapes_are_checked() -> None:
    with pytest.raises(ValueError, match="respondents, items"):
        psy.cronbach_alpha([1, 2, 3])
    with pytest.raises(ValueError, match="family"):
        psy.family_dependence([1, 2], ["a"])
    with pytest.raises(ValueError, match="family"):
        psy.omega_t(TABLE_5, families=["a"])


def test_alpha_recovers_the_planted_reliability() -> None:
    rng, k = np.random.default_rng(10), 40
    truth = 1 / (1 + 4 / k)
    reached, covered = [], 0
    for _ in range(300):
        x = rng.normal(size=(20, 1)) + 2 * rng.normal(size=(20, k))
        alpha = psy.cronbach_alpha(x).coefficient
        reached.append(alpha.value)
        covered += alpha.low <= truth <= alpha.high
    assert np.mean(reached) == pytest.approx(truth, abs=0.02)
    assert covered / 300 > 0.92


def clustered(
    seed: int, respondents: int = 12, clusters: int = 11
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of respondents who differ, in clusters of one to three items that move together."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(clusters), np.arange(clusters) % 3 + 1)
    shared = rng.normal(size=(respondents, clusters))[:, labels]
    unique_scores = rng.normal(size=(respondents, len(labels)))
    return rng.normal(size=(respondents, 1)) + 0.5 * shared + unique_scores, labels


def error_and_spread(
    x: np.ndarray, labels: np.ndarray, left: int | None = None
) -> tuple[float, float]:
    """What clusters make of the variance of scores, and that variance, by loops; the means are
    those of all items, the sums those of all clusters but one.
    """
    residual = x - x.mean(axis=1, keepdims=True) - x.mean(axis=0) + x.mean()
    retained_clusters = [c for c in np.unique(labels) if c != left]
    in_clusters = np.isin(labels, retained_clusters)
    m, n, c = len(x), int(in_clusters.sum()), len(np.unique(labels))
    squares = [
        sum(float(row[labels == cluster].sum()) ** 2 for cluster in retained_clusters) / n**2
        for row in residual
    ]
    error = c / (c - 1) * m / (m - 1) * float(np.mean(squares))
    return error, float(x[:, in_clusters].mean(axis=1).var(ddof=1))


def test_alpha_over_clusters_and_its_intervals_by_loops() -> None:
    x, labels = clustered(11)
    result = psy.cronbach_alpha(x, labels, level=0.9)
    error, spread = error_and_spread(x, labels)
    assert result.coefficient.value == pytest.approx(1 - error / spread)
    left = np.array([math.log(np.divide(*error_and_spread(x, labels, c))) for c in range(11)])
    se = math.sqrt(10 / 11 * float(((left - left.mean()) ** 2).sum()))
    half = stats.t.ppf(0.95, 10) * se
    fixed = result.coefficient.fixed
    assert fixed is not None
    assert (fixed.low, fixed.high) == pytest.approx(
        tuple(1 - error / spread * math.exp(side * half) for side in (1, -1))
    )

    def alpha_of(rows: np.ndarray) -> tuple[float, float]:
        error, spread = error_and_spread(x[rows], labels)
        return 1 - error / spread, spread

    unbounded = psy.Coefficient(1 - error / spread, n=12, level=0.9, fixed=fixed)
    lower_bound = psy.add_lower_bound(unbounded, alpha_of, x.mean(axis=1), minimum=-math.inf)
    assert result.coefficient.low == pytest.approx(lower_bound.low)
    assert (result.coefficient.high, result.coefficient.method) == (math.inf, lower_bound.method)
    assert (result.coefficient.n, result.coefficient.n_items, result.coefficient.level) == (
        (12, 21, 0.9)
    )
    assert (result.n, result.k, result.k_varying, result.n_clusters) == (12, 21, 21, 11)
    alpha = psy.cronbach_alpha(x)
    assert result.item_alpha == pytest.approx(alpha.coefficient.value)
    assert alpha.item_alpha == pytest.approx(alpha.coefficient.value)
    assert result.varying.value == pytest.approx(result.coefficient.value)
    assert (alpha.n_clusters, alpha.coefficient.flags[0]) == (21, "RANK_DEFICIENT")


def numbers(value: psy.Coefficient) -> tuple[float, ...]:
    fixed = value.fixed or psy.ConfidenceInterval(math.nan, math.nan, "")
    return value.value, value.low, value.high, value.n, value.n_items, fixed.low, fixed.high


@pytest.mark.parametrize("drop", ["respondents", "items", "answers"])
def test_what_is_left_out_of_alpha_leaves_no_trace(drop: Any) -> None:
    """The labels of items and the families of respondents go with what is left out."""
    x, labels = clustered(12, 18)
    families = [str(i // 2) for i in range(18)]
    x[:, 4] *= 3
    x[0] += 4
    gap = x.copy()
    rows, columns = np.arange(18) > 0, np.arange(21) != 4
    if drop != "items":
        gap[0, 3] = np.nan
    if drop == "answers":
        gap[0] = np.nan
    if drop != "respondents":
        gap[2:5, 4] = np.nan
    if drop == "answers":
        gap[:, 4] = np.nan
    rows, columns = rows | (drop == "items"), columns | (drop == "respondents")
    ours = psy.cronbach_alpha(gap, labels, families=families, drop=drop)
    complete = psy.cronbach_alpha(
        x[rows][:, columns],
        labels[columns],
        families=[
            family for family, is_retained in zip(families, rows, strict=True) if is_retained
        ],
    )
    assert math.isfinite(complete.coefficient.low)
    assert numbers(ours.coefficient) == pytest.approx(numbers(complete.coefficient))
    assert numbers(ours.varying) == pytest.approx(numbers(complete.varying))
    assert (ours.n, ours.k, ours.n_clusters) == (
        complete.n,
        complete.k,
        complete.n_clusters,
    )


def test_alpha_with_answers_left_out_is_near_that_of_all() -> None:
    """A residual is what is left of the answers that are there after the means of both sides."""
    rng = np.random.default_rng(13)
    x = rng.normal(size=(20, 1)) + 0.3 * np.linspace(-5, 5, 15) + rng.normal(size=(20, 15))
    x[rng.random(x.shape) < 0.1] = np.nan
    scored = np.isfinite(x)
    rows, columns = np.nonzero(scored)
    design = np.hstack([np.eye(20)[rows], np.eye(15)[columns]])
    fitted = design @ np.linalg.lstsq(design, x[scored], rcond=None)[0]
    squares = np.zeros(20)
    np.add.at(squares, rows, (x[scored] - fitted) ** 2)
    n = scored.sum(axis=1)
    error = 15 / 14 * 20 / 19 * (squares / n**2).mean()
    value = 1 - error / np.nanmean(x, axis=1).var(ddof=1)
    result = psy.cronbach_alpha(x, drop="answers").coefficient
    assert result.value == pytest.approx(value, abs=1e-6)


def test_items_that_do_not_vary_are_counted_apart() -> None:
    x, _ = clustered(14, 10, 4)
    flat = np.hstack([x, np.full((10, 2), 3.0)])
    result = psy.cronbach_alpha(flat)
    assert (result.k, result.k_varying) == (9, 7)
    assert result.coefficient.flags == ("ZERO_VARIANCE_ITEMS",)
    assert result.varying.value == pytest.approx(psy.cronbach_alpha(x).coefficient.value)
    assert result.coefficient.value == pytest.approx(
        9 / 8 * (1 - x.var(axis=0, ddof=1).sum() / x.sum(axis=1).var(ddof=1))
    )
    single = psy.cronbach_alpha(np.hstack([x[:, :1], np.ones((10, 2))]))
    assert (single.varying.status, single.varying.n, single.k_varying) == ("insufficient", 10, 1)
    assert single.coefficient.value == pytest.approx(0)
    shared = psy.cronbach_alpha(flat, [0, 0, 0, 0, 0, 0, 0, 1, 1])
    assert (shared.varying.status, shared.n_clusters) == ("insufficient", 2)
    refused = psy.cronbach_alpha(flat[:2])
    assert (refused.n, refused.k, refused.k_varying) == (2, 9, 7)
    assert (refused.n_clusters, refused.coefficient.n) == (0, 2)
    assert math.isnan(refused.item_alpha)
    nobody = psy.cronbach_alpha(np.empty((0, 4)))
    assert (nobody.n, nobody.k, nobody.k_varying) == (0, 4, 0)


@pytest.mark.parametrize(
    ("column", "varies"),
    [
        ([0.0, 0.5e-12, 0.0], False),
        ([0.0, 1.5e-12, 0.0], True),
        ([5e6, 5e6 + 1e-6, 5e6], False),
        ([-5e6, -5e6, 1e-5 - 5e6], True),
        ([math.nan, 1.0, 2.0], True),
        ([math.nan, 2.0, 2.0], False),
    ],
    ids=["dust", "more than dust", "dust of millions", "more than that", "a gap", "a gap in ones"],
)
def test_what_varies_beyond_rounding(column: list[float], varies: bool) -> None:
    table = np.array([column, [1.0, 2.0, 3.0], [4.0, 4.0, 4.0]]).T
    assert varying_columns(table).tolist() == [varies, True, False]


def test_flags_beside_a_coefficient_of_consistency() -> None:
    x = BRENNAN_1[:, 1:10]
    for items, flags in ((9, ()), (10, ("RANK_DEFICIENT", "ZERO_VARIANCE_ITEMS"))):
        scores = np.hstack([x, np.ones((10, 1))])[:, :items]
        assert psy.cronbach_alpha(scores).coefficient.flags == flags
    line = np.arange(8.0)[:, None] + 0.01 * np.sin(np.arange(24.0)).reshape(8, 3)
    result = psy.standardized_alpha(line)
    assert (result.flags, result.n) == (("REDUNDANT",), 8)


def test_alpha_of_standardised_items_is_that_of_their_mean_correlation() -> None:
    x, _ = clustered(15, 10, 3)
    r = np.corrcoef(x.T)[np.triu_indices(6, 1)].mean()
    gap = np.vstack([np.hstack([x, np.ones((10, 1))]), np.full(7, np.nan)])
    result = psy.standardized_alpha(gap)
    assert result.value == pytest.approx(6 * r / (1 + 5 * r))
    assert (result.n, result.method, result.flags) == (10, "standardised alpha", ())
    assert math.isnan(result.low)
    opposed = psy.standardized_alpha(np.stack([np.arange(5.0), -np.arange(5.0)], axis=1))
    assert (opposed.status, opposed.n) == ("degenerate", 5)
    single = psy.standardized_alpha(np.stack([np.arange(5.0), np.ones(5)], axis=1))
    assert (single.status, single.n) == ("insufficient", 5)


def halves_of(x: np.ndarray) -> list[float]:
    """Stepped-up correlations of all splits into halves that have one, each split once."""
    k = x.shape[1]
    values = []
    for half in combinations(range(k), k // 2):
        if k % 2 == 0 and 0 not in half:
            continue
        first, second = x[:, half].sum(axis=1), np.delete(x, half, axis=1).sum(axis=1)
        if np.ptp(first) and np.ptp(second):
            r = np.corrcoef(first, second)[0, 1]
            values += [2 * r / (1 + r)] if r > -1 + 1e-9 else []
    return values


@pytest.mark.parametrize(("items", "splits"), [(2, 1), (3, 3), (4, 3), (6, 10), (7, 35)])
def test_every_split_into_halves_counts_once(items: int, splits: int) -> None:
    x = np.random.default_rng(items).normal(size=(9, items)) + np.arange(9.0)[:, None] / 3
    rng = np.random.default_rng(0)
    result = psy.split_half(np.vstack([x, np.full(items, np.nan)]), rng, draws=splits)
    values = halves_of(x)
    assert (result.n, result.k, result.splits, result.undefined) == (9, items, splits, 0)
    assert result.exhaustive
    ends = result.mean, result.minimum, result.maximum, result.low, result.high
    quantiles = np.quantile(values, [0.025, 0.975])
    assert ends == pytest.approx((np.mean(values), min(values), max(values), *quantiles))
    if splits > 1:
        sampled = psy.split_half(x, rng, draws=splits - 1)
        assert (sampled.exhaustive, sampled.splits) == (False, splits - 1)
        ours = np.array([sampled.minimum, sampled.maximum])
        nearest = np.abs(ours[:, None] - np.array(values)).min(axis=1)
        assert nearest == pytest.approx(np.zeros(2), abs=1e-12)


def test_halves_that_do_not_vary_or_are_opposed_have_no_value() -> None:
    x = np.array([[0.0, 1, 2, 4], [0, 2, 1, 3], [0, 1, 1, 5], [0, 3, 2, 2]])
    x[:, 1] = 0.0
    result = psy.split_half(x, np.random.default_rng(0))
    values = halves_of(x)
    assert (result.splits, result.undefined, len(values)) == (3, 1, 2)
    assert result.mean == pytest.approx(np.mean(values))
    equal = psy.split_half(np.eye(4)[:, :1] * [1.0, 0.0], np.random.default_rng(0))
    assert (equal.status, equal.n, equal.k) == ("degenerate", 4, 2)
    assert (equal.splits, equal.undefined, equal.exhaustive) == (1, 1, True)
    small_study = psy.split_half(np.ones((2, 3)), np.random.default_rng(0))
    assert (small_study.status, small_study.n, small_study.k, small_study.splits) == (
        "insufficient",
        2,
        3,
        0,
    )


def test_a_reliability_at_another_length() -> None:
    """f r / (1 + (f - 1) r), with everything that is known beside it."""
    assert psy.spearman_brown(-1.0, 2) != psy.spearman_brown(-1.0, 2), "a division by zero"
    assert psy.spearman_brown(-0.5, 2) == pytest.approx(-2)
    assert psy.standardized_reliability(0.5, 250).value == pytest.approx(0.8), "1,000 by default"
    start = psy.Coefficient(
        0.6, 0.3, math.inf, 20, 0.9, "jackknife", se=0.1, raw=0.61, flags=("MISSING",)
    )
    longer = psy.standardized_reliability(start, 100, 200)
    assert (longer.value, longer.low) == pytest.approx((0.75, 0.6 / 1.3))
    assert (longer.high, longer.n, longer.level, longer.flags) == (math.inf, 20, 0.9, ("MISSING",))
    assert longer.method == "jackknife, Spearman-Brown to 200 items"
    assert math.isnan(longer.se)
    assert math.isnan(longer.raw)
    assert psy.standardized_reliability(0.6, 100, 200).method == "Spearman-Brown to 200 items"
    certain = replace(start, value=1.0, status="not_informative")
    longer_certain = psy.standardized_reliability(certain, 100, 200)
    assert (longer_certain.value, longer_certain.method) == (1, longer.method)
    absent = psy.Coefficient.absent("degenerate", "why", 7)
    assert psy.standardized_reliability(absent, 0, 200) is absent
    for refused in (
        psy.standardized_reliability(start, 0, 10),
        psy.standardized_reliability(replace(start, value=-1.0), 100, 200),
    ):
        assert (math.isnan(refused.value), refused.n) == (True, 20)
    assert lengthening(0.5, 0.75) == pytest.approx(3)
    assert lengthening(-0.1, 0.75) == math.inf
