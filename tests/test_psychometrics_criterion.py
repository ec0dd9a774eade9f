"""Criterion validity and corrected scores against published values, rivals and simulations of known
truth.
"""

import math
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from sklearn.metrics import cohen_kappa_score, f1_score, recall_score

from hqm import psychometrics as psy
from tests.conftest import counts
from tests.test_psychometrics_consistency import TABLE_5


def simulated(
    rng: np.random.Generator,
    *,
    m: int = 20,
    n: int = 600,
    labels: int = 100,
    spread: float = 0.1,
    errors: float = 0.07,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Automatic labels, human labels on the first items, and the true scores; judges err
    differently by respondent.
    """
    truth = np.clip(0.5 + spread * rng.normal(size=m), 0.05, 0.95)
    human = (rng.uniform(size=(m, n)) < truth[:, None]).astype(float)
    sensitivity = np.clip(0.85 + errors * rng.normal(size=(m, 1)), 0.5, 1)
    specificity = np.clip(0.85 + errors * rng.normal(size=(m, 1)), 0.5, 1)
    right = rng.uniform(size=(m, n)) < np.where(human == 1, sensitivity, specificity)
    automatic = np.where(right, human, 1 - human)
    human[:, labels:] = np.nan
    return automatic, human, truth


def test_the_table_90_5_5_0() -> None:
    """The prevalence paradox (Feinstein and Cicchetti 1990): Po .90, kappa -.0526, AC1 .8895, PA
    .947, NA 0.
    """
    agreement = psy.table_agreement(90, 5, 5, 0)
    values = (
        agreement.agreement,
        agreement.kappa,
        agreement.ac1,
        agreement.positive,
        agreement.negative,
    )
    assert values == pytest.approx((0.90, -0.0526, 0.8895, 0.947, 0.0), abs=5e-4)
    assert agreement.n == 100


def test_the_adjusted_interval_of_rogan_and_gladen() -> None:
    """Lee et al. (arXiv 2511.21140): p .75, sensitivity .90, specificity .85, n 1000, 100 + 100
    calibration items.
    """
    adjusted = psy.rogan_gladen(0.75, 1000, 0.90, 100, 0.85, 100)
    assert (adjusted.value, adjusted.low, adjusted.high) == pytest.approx(
        (0.800, 0.7316, 0.8869), abs=5e-5
    )


def test_labels_that_hqh_needs() -> None:
    """Table 5 with coin-flip answers: about 900 (21 models) to 1,220 (19 models) labels for .99;
    100 give .89 to .92.
    """
    needed, reached = [], []
    for m in (19, 21):
        x = TABLE_5[:m]
        true, flips = float(x.mean(axis=1).var(ddof=1)), float((x * (1 - x)).mean())
        needed.append(psy.labels_needed(0.99, flips, true))
        reached.append(true / (true + flips / 100))
    assert needed == pytest.approx([1220, 900], rel=0.02)
    assert reached == pytest.approx([0.89, 0.92], abs=0.005)


def test_the_disattenuated_value_is_near_the_truth() -> None:
    """r over the full score falls short of the true correlation; the corrected value is close on
    average.
    """
    rng = np.random.default_rng(0)
    full, corrected = [], []
    for _ in range(counts(500)):
        automatic, human, _ = simulated(rng, m=40, n=400, labels=60)
        validity = psy.criterion_validity(automatic, human)
        full.append(validity.full.value)
        corrected.append(
            validity.disattenuated.value
            if math.isnan(validity.disattenuated.raw)
            else validity.disattenuated.raw
        )
    # true judge score: t sens + (1 - t)(1 - spec) with t ~ (.5, .1), sens, spec ~ (.85, .07)
    t = np.clip(0.5 + 0.1 * rng.normal(size=400_000), 0.05, 0.95)
    sens, spec = np.clip(0.85 + 0.07 * rng.normal(size=(2, 400_000)), 0.5, 1)
    known = float(np.corrcoef(t, t * sens + (1 - t) * (1 - spec))[0, 1])
    assert np.mean(full) < known - 0.03
    assert np.mean(corrected) == pytest.approx(known, abs=0.025)
    assert abs(np.mean(corrected) - known) < abs(np.mean(full) - known) / 2


def test_the_correction_by_hand() -> None:
    """Residuals of both two-way tables built cell by cell."""
    automatic, human, _ = simulated(np.random.default_rng(1), m=8, n=30, labels=10, spread=0.3)
    a, h = automatic, human[:, :10]

    def residual(x: np.ndarray) -> np.ndarray:
        return x - x.mean(axis=1, keepdims=True) - x.mean(axis=0, keepdims=True) + x.mean()

    df = 7 * 9
    v_a = (residual(a) ** 2).sum() / (7 * 29) / 30
    v_h = (residual(h) ** 2).sum() / df / 10
    c = (residual(a[:, :10]) * residual(h)).sum() / df
    s = np.cov(a.mean(axis=1), h.mean(axis=1))
    validity = psy.criterion_validity(automatic, human)
    known = (s[0, 1] - c / 30) / math.sqrt((s[0, 0] - v_a) * (s[1, 1] - v_h))
    reached = (
        validity.disattenuated.value
        if math.isnan(validity.disattenuated.raw)
        else validity.disattenuated.raw
    )
    assert reached == pytest.approx(known)
    assert validity.reliability_automatic == pytest.approx(1 - v_a / s[0, 0])
    assert validity.reliability_automatic == pytest.approx(psy.cronbach_alpha(a).coefficient.value)
    assert validity.ceiling == pytest.approx(
        math.sqrt(validity.reliability_automatic * validity.reliability_human)
    )
    assert validity.full.value == pytest.approx(stats.pearsonr(a.mean(1), h.mean(1)).statistic)
    assert validity.same.value == pytest.approx(
        stats.pearsonr(a[:, :10].mean(1), h.mean(1)).statistic
    )
    assert "ATTENUATION" in validity.flags
    assert validity.influence.without[3] == pytest.approx(
        np.corrcoef(np.delete(a.mean(1), 3), np.delete(h.mean(1), 3))[0, 1]
    )


def test_the_interval_of_the_disattenuated_value() -> None:
    automatic, human, _ = simulated(np.random.default_rng(2), m=20, n=400, labels=200, spread=0.15)
    validity = psy.criterion_validity(automatic, human)
    corrected = validity.disattenuated
    assert -1 <= corrected.low < corrected.value <= 1
    assert corrected.low <= corrected.fixed.low
    assert corrected.high == math.inf
    family = psy.criterion_validity(automatic, human, n_eff=12)
    assert family.full.low < validity.full.low
    assert family.disattenuated.low < corrected.low
    few = psy.criterion_validity(automatic[:7], human[:7]).disattenuated
    assert math.isnan(few.low), "eight respondents are needed"
    # the interval for these respondents, with every item left out by hand
    left = []
    for i in range(400):
        kept = np.arange(400) != i
        x, y = automatic[:, kept].mean(axis=1), np.nanmean(human[:, kept], axis=1)
        left.append(np.log1p(-np.corrcoef(x, y)[0, 1]))
    error = np.sqrt(399 / 400 * ((np.array(left) - np.mean(left)) ** 2).sum())
    assert validity.full.fixed.high == pytest.approx(
        1 - (1 - validity.full.value) * np.exp(-1.959964 * error), abs=1e-6
    )


def test_pictures_are_counted_once() -> None:
    """Every item asked five times of one picture: the error variances are those of the pictures
    alone.
    """
    automatic, human, _ = simulated(np.random.default_rng(1), m=12, n=60, labels=30, spread=0.3)
    alone = psy.criterion_validity(automatic, human)
    again = psy.criterion_validity(
        np.repeat(automatic, 5, axis=1), np.repeat(human, 5, axis=1), np.repeat(np.arange(60), 5)
    )
    assert again.disattenuated.value == pytest.approx(alone.disattenuated.value)
    assert again.disattenuated.fixed.low == pytest.approx(alone.disattenuated.fixed.low)
    assert again.reliability_human == pytest.approx(alone.reliability_human)


labels = arrays(float, (3, 25), elements=st.sampled_from([0.0, 1.0, math.nan]))


@given(labels, labels)
@settings(max_examples=40, deadline=None)
def test_item_agreement_against_scikit_learn(a: np.ndarray, h: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        errors = psy.judge_errors(a, h)
    assume(errors.status == "ok")
    both = np.isfinite(a) & np.isfinite(h)
    x, y, table = a[both], h[both], errors.pooled
    assert table.n == len(x)
    if table.status != "ok":
        assert table.reason
        return
    assert table.agreement == pytest.approx(np.mean(x == y))
    assert table.kappa == pytest.approx(cohen_kappa_score(x, y))
    for value, truth, said in (
        (table.positive, y, x),
        (table.negative, 1 - y, 1 - x),
    ):
        if truth.any() or said.any():
            assert value == pytest.approx(f1_score(truth, said))
    if y.any():
        assert table.sensitivity == pytest.approx(recall_score(y, x))
    if not y.all():
        assert table.specificity == pytest.approx(recall_score(1 - y, 1 - x))


def test_gwets_coefficient_against_krippendorff_style_limits() -> None:
    """AC1 equals kappa for balanced margins and is 1 for full agreement."""
    even = psy.table_agreement(40, 10, 10, 40)
    assert even.ac1 == pytest.approx(even.kappa) == pytest.approx(0.6)
    assert psy.table_agreement(50, 0, 0, 50).ac1 == 1
    constant = psy.table_agreement(10, 0, 0, 0)
    assert (constant.status, constant.agreement, constant.n) == ("degenerate", 1.0, 10)
    assert "kappa" in constant.reason


def test_unequal_judges_are_found_and_equal_ones_pass() -> None:
    rng = np.random.default_rng(5)
    rejected = 0
    for _ in range(150):
        automatic, human, _ = simulated(rng, m=12, n=200, labels=200, errors=0.0)
        rejected += psy.judge_errors(automatic, human).homogeneous is False
    assert rejected / 150 < 0.1
    automatic, human, _ = simulated(rng, m=12, n=400, labels=400, errors=0.1)
    errors = psy.judge_errors(automatic, human)
    assert errors.homogeneous is False
    assert "JUDGE_DIF" in errors.flags
    cells = [
        [((automatic == said) & (human == true)).sum(axis=1) for said in (true, 1 - true)]
        for true in (1, 0)
    ]
    g, p, _, _ = stats.chi2_contingency(cells[0], lambda_="log-likelihood", correction=False)
    q = stats.chi2_contingency(cells[1], lambda_="log-likelihood", correction=False)[1]
    ranges = [np.ptp(table[0] / (table[0] + table[1])) for table in cells]
    assert (errors.range_sensitivity, errors.range_specificity) == pytest.approx(ranges)
    assert (errors.p_sensitivity, errors.p_specificity) == pytest.approx(
        psy.benjamini_hochberg([p, q])
    )
    assert g > 0
    assert {c.status for c in psy.rogan_gladen_scores(automatic, human)} == {"not_applicable"}


def test_rogan_gladen_recovers_the_truth_of_an_equal_judge() -> None:
    rng = np.random.default_rng(6)
    automatic, human, truth = simulated(rng, m=10, n=4000, labels=300, errors=0.0)
    errors = psy.judge_errors(automatic, human)
    adjusted = psy.rogan_gladen_scores(automatic, human, errors)
    assert {c.status for c in adjusted} == {"ok"}
    raw = automatic.mean(axis=1)
    assert np.abs([c.value for c in adjusted] - truth).mean() < np.abs(raw - truth).mean()
    assert sum(c.low <= t <= c.high for c, t in zip(adjusted, truth, strict=True)) >= 9


def test_prediction_powered_scores_against_their_definition() -> None:
    """Angelopoulos et al. 2023 with lambda 1, and PPI++ with the best lambda, written out with
    loops.
    """
    automatic, human, _ = simulated(np.random.default_rng(7), m=3, n=300, labels=80)
    plain, best = psy.ppi_scores(automatic, human, weight=1.0), psy.ppi_scores(automatic, human)
    for i in range(3):
        y, x, rest = human[i, :80], automatic[i, :80], automatic[i, 80:]
        assert plain.scores[i].value == pytest.approx(rest.mean() + (y - x).mean())
        assert plain.scores[i].se == pytest.approx(math.sqrt(rest.var() / 220 + (y - x).var() / 80))
        lam = np.cov(y, x)[0, 1] / ((1 + 80 / 220) * automatic[i].var(ddof=1))
        assert best.lambdas[i] == pytest.approx(lam)
        assert best.scores[i].value == pytest.approx(lam * rest.mean() + (y - lam * x).mean())
        assert best.scores[i].se < plain.scores[i].se
    clusters = np.arange(300) // 2
    twice = psy.ppi_scores(
        np.repeat(automatic, 2, axis=1), np.repeat(human, 2, axis=1), np.repeat(np.arange(300), 2)
    )
    assert [c.se for c in twice.scores] == pytest.approx([c.se for c in best.scores], rel=0.02)
    assert psy.ppi_scores(automatic, human, clusters).scores[0].value == best.scores[0].value


def test_corrected_scores_beat_the_judge_and_the_labels_alone() -> None:
    """20 models, 2,000 items, 100 labels, sensitivity and specificity with sd .07: error and
    correlation with the truth.
    """
    rng = np.random.default_rng(8)
    error = dict.fromkeys(("judge", "labels", "ppi"), 0.0)
    r = dict.fromkeys(("judge", "ppi"), 0.0)
    covered = 0
    for _ in range(30):
        automatic, human, truth = simulated(rng, n=2000)
        corrected = psy.ppi_scores(automatic, human)
        values = np.array([c.value for c in corrected.scores])
        for name, x in (
            ("judge", corrected.automatic),
            ("labels", corrected.human),
            ("ppi", values),
        ):
            error[name] += float(((np.array(x) - truth) ** 2).mean()) / 30
            if name in r:
                r[name] += float(np.corrcoef(x, truth)[0, 1]) / 30
        covered += sum(c.low <= t <= c.high for c, t in zip(corrected.scores, truth, strict=True))
    assert error["ppi"] < error["labels"] < error["judge"]
    assert r["ppi"] > r["judge"]
    assert covered / 600 == pytest.approx(0.95, abs=0.03)


def test_rank_changes_are_listed() -> None:
    rng = np.random.default_rng(9)
    human = (rng.uniform(size=(2, 400)) < np.array([[0.5], [0.7]])).astype(float)
    judge = human.copy()
    judge[0] = np.where(rng.uniform(size=400) < 0.6, 1.0, human[0])
    human[:, 150:] = np.nan
    corrected = psy.ppi_scores(judge, human)
    assert (corrected.ranks_automatic, corrected.ranks_corrected) == ((1, 2), (2, 1))
    assert corrected.rank_changes == ((0, 1, 2), (1, 2, 1))


def test_few_labels_are_not_mixed_with_the_judge() -> None:
    automatic, human, _ = simulated(np.random.default_rng(10), m=2, n=200, labels=49)
    corrected = psy.ppi_scores(automatic, human)
    assert corrected.lambdas == (0.0, 0.0)
    assert corrected.scores[0].flags == ("FEW_LABELS",)
    assert corrected.scores[0].value == pytest.approx(np.nanmean(human[0]))
    assert psy.ppi_scores(automatic, human, fewest=49).lambdas[0] > 0


@given(st.integers(0, 1000), st.permutations(range(60)), st.permutations(range(6)))
@settings(max_examples=20, deadline=None)
def test_order_does_not_matter(seed: int, items: list[int], rows: list[int]) -> None:
    automatic, human, _ = simulated(np.random.default_rng(seed), m=6, n=60, labels=55)
    a, h = automatic[rows][:, items], human[rows][:, items]
    original, other = psy.ppi_scores(automatic, human), psy.ppi_scores(a, h)
    assert [other.scores[i].value for i in range(6)] == pytest.approx(
        [original.scores[m].value for m in rows]
    )
    first, second = psy.criterion_validity(automatic, human), psy.criterion_validity(a, h)
    assert first.full.status == second.full.status
    assert second.full.value == pytest.approx(first.full.value, nan_ok=True)
    assert second.disattenuated.status == first.disattenuated.status
    assert second.disattenuated.value == pytest.approx(
        first.disattenuated.value, abs=1e-6, nan_ok=True
    )
    assert psy.judge_errors(a, h).pooled == psy.judge_errors(automatic, human).pooled


def test_degenerate_inputs_say_why_and_raise_no_warning() -> None:
    nan, rng = math.nan, np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for a, h in (
            (np.empty((0, 5)), np.empty((0, 5))),
            (np.ones((2, 5)), np.ones((2, 5))),
            (np.ones((4, 5)), np.full((4, 5), nan)),
            (np.full((4, 5), nan), np.ones((4, 5))),
            (np.ones((4, 1)), np.ones((4, 1))),
        ):
            validity = psy.criterion_validity(a, h)
            assert {
                validity.full.status,
                validity.disattenuated.status,
                validity.influence.status,
            } == {"insufficient"}
            assert validity.full.reason
        flat = psy.criterion_validity(np.ones((5, 6)), np.ones((5, 6)))
        assert {flat.full.status, flat.disattenuated.status} == {"degenerate"}
        noise = psy.criterion_validity(
            (rng.uniform(size=(12, 20)) < 0.5).astype(float),
            (rng.uniform(size=(12, 20)) < 0.5).astype(float),
        )
        assert noise.disattenuated.status in ("degenerate", "ok")
        exact = np.repeat(np.linspace(0.1, 0.9, 12)[:, None], 10, axis=1)
        assert psy.criterion_validity(exact, exact).disattenuated.value == pytest.approx(1)
        three = psy.criterion_validity(np.eye(3), np.eye(3)[:, [1, 0, 2]])
        assert three.influence.status == "insufficient"
        for a, h, status in (
            (np.full((2, 3), nan), np.ones((2, 3)), "insufficient"),
            (np.full((2, 3), 0.5), np.ones((2, 3)), "not_applicable"),
            (np.ones((2, 3)), np.ones((2, 3)), "ok"),
            (np.zeros((2, 3)), np.ones((2, 3)), "ok"),
        ):
            errors = psy.judge_errors(a, h)
            assert errors.status == status
            scores = psy.rogan_gladen_scores(a, h)
            assert all(c.status != "ok" and c.reason for c in scores)
            assert psy.ppi_scores(a, h).scores[0].status in ("ok", "insufficient")
        assert psy.judge_errors(np.ones((2, 3)), np.ones((2, 3))).specificity.status == "degenerate"
        assert psy.judge_errors(np.ones((1, 9)), np.ones((1, 9))).homogeneous is None
        assert psy.rogan_gladen(0.5, 100, 0.6, 50, 0.55, 50).status == "not_applicable"
        assert psy.rogan_gladen(0.5, 100, 0.9, 0, 0.9, 50).status == "insufficient"
        low = psy.rogan_gladen(0.05, 100, 0.9, 50, 0.9, 50)
        assert (low.value, low.flags) == (0.0, ("CAPPED",))
        assert low.raw < 0
        corrected = psy.ppi_scores([[1.0, 1, 1]], [[1.0, nan, nan]])
        assert (corrected.scores[0].status, corrected.automatic, corrected.ranks_corrected) == (
            "insufficient",
            (1.0,),
            (0,),
        )
        same = psy.ppi_scores(np.ones((1, 80)), np.where(np.arange(80) < 60, 1.0, nan)[None])
        assert same.scores[0].flags == ("NO_VARIANCE",)
        assert math.isnan(same.scores[0].low)
        assert psy.ppi_scores(np.empty((0, 3)), np.empty((0, 3))).scores == ()
        assert psy.labels_needed(0.9, 0.2, 0.0) == math.inf
        assert psy.table_agreement(0, 0, 0, 0).status == "insufficient"


def test_shapes_are_checked() -> None:
    for function in (
        psy.criterion_validity,
        psy.judge_errors,
        psy.ppi_scores,
        psy.rogan_gladen_scores,
    ):
        with pytest.raises(ValueError, match="respondents, items"):
            function(np.ones((2, 3)), np.ones((2, 4)))
    with pytest.raises(ValueError, match="clusters"):
        psy.criterion_validity(np.eye(4), np.eye(4), ["a"])
    with pytest.raises(ValueError, match="cluster"):
        psy.ppi_scores(np.eye(4), np.eye(4), [1])
    with pytest.raises(ValueError, match="between 0 and 1"):
        psy.labels_needed(1.0, 1, 1)
