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
from tests.fields import fields_of
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
    n_needed, reached = [], []
    for m in (19, 21):
        x = TABLE_5[:m]
        true, flips = float(x.mean(axis=1).var(ddof=1)), float((x * (1 - x)).mean())
        n_needed.append(psy.labels_needed(0.99, flips, true))
        reached.append(true / (true + flips / 100))
    assert n_needed == pytest.approx([1220, 900], rel=0.02)
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
    expected = float(np.corrcoef(t, t * sens + (1 - t) * (1 - spec))[0, 1])
    assert np.mean(full) < expected - 0.03
    assert np.mean(corrected) == pytest.approx(expected, abs=0.025)
    assert abs(np.mean(corrected) - expected) < abs(np.mean(full) - expected) / 2


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
    expected = (s[0, 1] - c / 30) / math.sqrt((s[0, 0] - v_a) * (s[1, 1] - v_h))
    reached = (
        validity.disattenuated.value
        if math.isnan(validity.disattenuated.raw)
        else validity.disattenuated.raw
    )
    assert reached == pytest.approx(expected)
    assert validity.reliability_automatic == pytest.approx(1 - v_a / s[0, 0])
    assert validity.reliability_automatic == pytest.approx(psy.cronbach_alpha(a).coefficient.value)
    assert validity.ceiling == pytest.approx(
        math.sqrt(validity.reliability_automatic * validity.reliability_human)
    )
    assert validity.full.value == pytest.approx(stats.pearsonr(a.mean(1), h.mean(1)).statistic)
    assert validity.labelled_only.value == pytest.approx(
        stats.pearsonr(a[:, :10].mean(1), h.mean(1)).statistic
    )
    assert "ATTENUATION" in validity.flags
    assert validity.influence.leave_one_out[3] == pytest.approx(
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
    small_study = psy.criterion_validity(automatic[:7], human[:7]).disattenuated
    assert math.isnan(small_study.low), "eight respondents are needed"
    # the interval for these respondents, with every item left out by hand
    left = []
    for i in range(400):
        retained = np.arange(400) != i
        x, y = automatic[:, retained].mean(axis=1), np.nanmean(human[:, retained], axis=1)
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
    unreplicated = psy.criterion_validity(automatic, human)
    replicated = psy.criterion_validity(
        np.repeat(automatic, 5, axis=1), np.repeat(human, 5, axis=1), np.repeat(np.arange(60), 5)
    )
    assert replicated.disattenuated.value == pytest.approx(unreplicated.disattenuated.value)
    assert replicated.disattenuated.fixed.low == pytest.approx(unreplicated.disattenuated.fixed.low)
    assert replicated.reliability_human == pytest.approx(unreplicated.reliability_human)


labels = arrays(float, (3, 25), elements=st.sampled_from([0.0, 1.0, math.nan]))


@given(labels, labels)
@settings(max_examples=40, deadline=None)
def test_item_agreement_against_scikit_learn(a: np.ndarray, h: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        errors = psy.judge_errors(a, h)
    assume(errors.status == "ok")
    scored = np.isfinite(a) & np.isfinite(h)
    x, y, table = a[scored], h[scored], errors.pooled
    assert table.n == len(x)
    if table.status != "ok":
        assert table.reason
        return
    assert table.agreement == pytest.approx(np.mean(x == y))
    assert table.kappa == pytest.approx(cohen_kappa_score(x, y))
    for value, truth, predicted in (
        (table.positive, y, x),
        (table.negative, 1 - y, 1 - x),
    ):
        if truth.any() or predicted.any():
            assert value == pytest.approx(f1_score(truth, predicted))
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
        [((automatic == predicted) & (human == true)).sum(axis=1) for predicted in (true, 1 - true)]
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
        y, x, unlabelled = human[i, :80], automatic[i, :80], automatic[i, 80:]
        assert plain.scores[i].value == pytest.approx(unlabelled.mean() + (y - x).mean())
        assert plain.scores[i].se == pytest.approx(
            math.sqrt(unlabelled.var() / 220 + (y - x).var() / 80)
        )
        lam = np.cov(y, x)[0, 1] / ((1 + 80 / 220) * automatic[i].var(ddof=1))
        assert best.lambdas[i] == pytest.approx(lam)
        assert best.scores[i].value == pytest.approx(lam * unlabelled.mean() + (y - lam * x).mean())
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
    assert psy.ppi_scores(automatic, human, min_labels=49).lambdas[0] > 0


@given(st.integers(0, 1000), st.permutations(range(60)), st.permutations(range(6)))
@settings(max_examples=20, deadline=None)
def test_order_does_not_matter(seed: int, items: list[int], rows: list[int]) -> None:
    automatic, human, _ = simulated(np.random.default_rng(seed), m=6, n=60, labels=55)
    a, h = automatic[rows][:, items], human[rows][:, items]
    original, transformed = psy.ppi_scores(automatic, human), psy.ppi_scores(a, h)
    assert [transformed.scores[i].value for i in range(6)] == pytest.approx(
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
        constant = psy.ppi_scores(np.ones((1, 80)), np.where(np.arange(80) < 60, 1.0, nan)[None])
        assert constant.scores[0].flags == ("NO_VARIANCE",)
        assert math.isnan(constant.scores[0].low)
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


# -- by hand, where pictures have several items and some of them are labelled


@pytest.mark.parametrize("related", [False, True])
def test_a_study_of_pictures_by_hand(related: bool) -> None:
    """Residuals summed within pictures; of 15 pictures 12 have labels, on some of their items."""
    rng = np.random.default_rng(11)
    m, n = 14, 45
    pictures = np.repeat(np.arange(15), 3)
    human = (rng.random((m, n)) < np.linspace(0.1, 0.9, m)[:, None]).astype(float)
    judge = np.where(rng.random((m, n)) < 0.1, 1 - human, human)
    labelled = (pictures < 12) & (np.arange(n) % 3 != 1)
    human[:, ~labelled] = np.nan
    options: dict = {"families": list("aabbccddeeffgh"), "n_eff": 9.0} if related else {}
    study = psy.criterion_validity(judge, human, pictures, level=0.9, **options)

    def centred(x: np.ndarray) -> np.ndarray:
        return x - x.mean(axis=0) - x.mean(axis=1, keepdims=True) + x.mean()

    def cluster_totals(x: np.ndarray, clusters: np.ndarray, names: range) -> np.ndarray:
        return np.stack([x[:, clusters == name].sum(axis=1) for name in names], axis=1)

    of_judge = cluster_totals(centred(judge), pictures, range(15))
    of_people = cluster_totals(centred(human[:, labelled]), pictures[labelled], range(12))
    size = int(labelled.sum())
    v_a = (of_judge**2).sum() * 15 / 14 / (m - 1) / n**2
    v_h = (of_people**2).sum() * 12 / 11 / (m - 1) / size**2
    shared = (of_judge[:, :12] * of_people).sum() * 12 / 11 / (m - 1) / (n * size)

    def scores(stay: np.ndarray) -> np.ndarray:
        return np.stack([judge[:, stay].mean(axis=1), human[:, stay & labelled].mean(axis=1)])

    def corrected(x: np.ndarray) -> float:
        s = np.cov(x)
        return float((s[0, 1] - shared) / math.sqrt((s[0, 0] - v_a) * (s[1, 1] - v_h)))

    all_scores = scores(pictures >= 0)
    left = [scores(pictures != p) for p in range(15)]
    r, value = float(np.corrcoef(all_scores)[0, 1]), corrected(all_scores)
    plain = psy.pearson(
        *all_scores,
        level=0.9,
        families=options.get("families", ()),
        n_effective=options.get("n_eff"),
    )
    assert study.full.value == pytest.approx(r)
    gaps = np.array([math.log(1 - np.corrcoef(x)[0, 1]) for x in left])
    half = stats.norm.ppf(0.95) * math.sqrt(14 / 15 * ((gaps - gaps.mean()) ** 2).sum())
    assert study.full.fixed is not None
    assert (study.full.fixed.low, study.full.fixed.high) == pytest.approx(
        (1 - (1 - r) * math.exp(half), 1 - (1 - r) * math.exp(-half))
    )
    assert study.full.fixed.level == 0.9
    assert study.full.low == pytest.approx(min(plain.low, study.full.fixed.low))
    leave_one_out = np.array([corrected(x) for x in left])
    half = stats.t.ppf(0.95, 14) * math.sqrt(
        14 / 15 * ((leave_one_out - leave_one_out.mean()) ** 2).sum()
    )
    estimate = study.disattenuated
    assert estimate.fixed is not None
    assert (estimate.fixed.low, estimate.fixed.high) == pytest.approx(
        (np.clip(value - half, -1, 1), np.clip(value + half, -1, 1))
    )
    assert estimate.value == pytest.approx(min(1.0, value))
    assert estimate.raw == pytest.approx(value if value > 1 else math.nan, nan_ok=True)
    assert estimate.flags == (("CAPPED",) if value > 1 else ())
    assert (estimate.n, estimate.n_items, study.full.n_items, study.labelled_only.n_items) == (
        m,
        n,
        n,
        size,
    )
    assert study.labelled_only.value == pytest.approx(
        np.corrcoef(judge[:, labelled].mean(axis=1), all_scores[1])[0, 1]
    )
    s_a, s_h = all_scores.var(axis=1, ddof=1)
    assert (study.reliability_automatic, study.reliability_human) == pytest.approx(
        (1 - v_a / s_a, 1 - v_h / s_h)
    )
    assert (study.residual_human, study.true_human) == pytest.approx((v_h * size, s_h - v_h))
    assert (study.n, study.n_items, study.n_labelled, study.n_cells) == (m, n, size, m * size)


@pytest.mark.parametrize("weighted", [False, True])
def test_items_without_a_score_are_no_part_of_a_study(weighted: bool) -> None:
    rng = np.random.default_rng(12)
    automatic, human, _ = simulated(rng, m=9, n=40, labels=25, spread=0.3)
    pictures, weights = np.arange(40) // 2, rng.uniform(1, 2, (9, 40)) if weighted else None
    plain = psy.criterion_validity(automatic, human, pictures, weights)
    lost = rng.random((9, 1)) < 0.5
    wider = [np.hstack([x, np.full((9, 2), 1.0)]) for x in (automatic, human)]
    wider[0][:, -2:] = np.where(lost, np.nan, 0.3)
    extended = psy.criterion_validity(
        *wider,
        np.append(pictures, [0, 99]),
        None if weights is None else np.hstack([weights, np.ones((9, 2))]),
    )
    for name in ("full", "labelled_only", "disattenuated"):
        assert getattr(extended, name).value == pytest.approx(getattr(plain, name).value)
        assert getattr(extended, name).low == pytest.approx(getattr(plain, name).low)
    assert extended.disattenuated.fixed == plain.disattenuated.fixed
    assert (extended.n_items, extended.n_labelled) == (40, 25)


def test_respondents_need_labels_on_two_pictures() -> None:
    rng = np.random.default_rng(13)
    automatic, human, _ = simulated(rng, m=4, n=20, labels=20, spread=0.3)
    pictures = np.arange(20) // 2
    partial_labels = human.copy()
    partial_labels[0, 4:] = np.nan
    partial_labels[1, ::2] = np.nan
    families = list("aabc")
    study = psy.criterion_validity(automatic, partial_labels, pictures, families=families)
    assert (study.n, study.n_cells, study.n_labelled) == (4, 4 + 10 + 20 + 20, round(54 / 4))
    partial_labels[0, 2:] = np.nan
    fewer = psy.criterion_validity(automatic, partial_labels, pictures, families=families)
    refitted = psy.criterion_validity(
        automatic[1:], partial_labels[1:], pictures, families=families[1:]
    )
    assert (fewer.n, fewer.n_cells) == (3, 50)
    assert fields_of(fewer.full) == fields_of(refitted.full)
    partial_labels[1, 1:] = np.nan
    small_study = psy.criterion_validity(automatic, partial_labels, pictures)
    assert small_study.full.status == "insufficient"
    assert (small_study.n, small_study.n_items, small_study.n_labelled) == (2, 20, 20)
    assert small_study.influence.status == "insufficient"
    assert math.isnan(small_study.ceiling)
    nobody = psy.criterion_validity(automatic, np.full_like(human, np.nan), weights=automatic)
    assert (nobody.n, nobody.n_labelled) == (0, 0)
    unscored = psy.criterion_validity(np.full_like(human, np.nan), human, weights=automatic)
    assert (unscored.full.status, unscored.n, unscored.n_items) == ("insufficient", 0, 0)


def test_how_many_items_and_pictures_are_enough() -> None:
    automatic, human, _ = simulated(np.random.default_rng(14), m=6, n=8, labels=8, spread=0.4)
    for items, pictures, status in ((1, 1, "insufficient"), (2, 1, "insufficient"), (2, 2, "ok")):
        labels = np.arange(items) % pictures
        study = psy.criterion_validity(automatic[:, :items], human[:, :items], labels)
        assert study.full.status == status
        assert (study.n, study.n_items, study.n_labelled) == (6, items, items)
    single = np.where(np.arange(8) < 1, human, np.nan)
    assert psy.criterion_validity(automatic, single).full.status == "insufficient"
    two = np.where(np.arange(8) < 2, human, np.nan)
    assert psy.criterion_validity(automatic, two).full.status == "ok"
    level = psy.criterion_validity(np.ones((6, 8)), human)
    assert (level.full.status, level.disattenuated.status) == ("degenerate", "degenerate")
    assert np.isnan([level.reliability_automatic, level.ceiling]).all()
    assert level.reliability_human <= 1


def test_a_correction_beyond_1_is_cut_and_keeps_its_sign() -> None:
    """The same few items, scored alike: what is not error goes together wholly, or against."""
    rng = np.random.default_rng(15)
    true = np.linspace(0.2, 0.8, 12)[:, None] + 0.05 * rng.normal(size=(12, 1))
    first, second = true + 0.4 * rng.normal(size=(2, 12, 30))
    for sign in (1, -1):
        study = psy.criterion_validity(first, 0.5 + sign * (second - 0.5))
        estimate = study.disattenuated
        assert estimate.value == sign
        assert sign * estimate.raw > 1
        assert "CAPPED" in study.flags
        assert study.ceiling == pytest.approx(
            math.sqrt(study.reliability_automatic * study.reliability_human)
        )
    exact = psy.criterion_validity(np.tile(true, 30), np.tile(true, 30) + 0.01 * first)
    assert exact.reliability_human > 0.95
    assert "ATTENUATION" not in exact.flags


def test_what_is_all_error_or_varies_by_one_respondent_alone() -> None:
    rng = np.random.default_rng(19)
    true = np.linspace(0.1, 0.9, 9)[:, None]
    noise = rng.normal(size=(9, 20))
    noise -= noise.mean(axis=1, keepdims=True)
    nearly = noise + 1e-3 * true
    for pair in ((true + 0.1 * noise, nearly), (nearly, true + 0.1 * noise)):
        study = psy.criterion_validity(*pair)
        assert (study.full.status, study.disattenuated.status) == ("ok", "degenerate")
        assert study.disattenuated.n == 9
        assert (study.reliability_automatic < 0) != (study.reliability_human < 0)
        assert study.ceiling == 0
    single_nonzero = np.zeros((9, 20))
    single_nonzero[4] = 0.5
    for pair in ((single_nonzero, true + 0.1 * noise), (true + 0.1 * noise, single_nonzero)):
        leave_one_out = psy.criterion_validity(*pair).influence.leave_one_out
        assert [math.isnan(r) for r in leave_one_out] == [i == 4 for i in range(9)]


# -- corrected scores, in small cases


@pytest.mark.parametrize("certain", [False, True])
def test_weighted_scores_of_pictures_by_hand(certain: bool) -> None:
    """Labels of some pictures' answers; those that were certain add nothing to the design's part."""
    rng = np.random.default_rng(16)
    n = 60
    pictures = np.arange(n) // 3
    chance = np.ones(n) if certain else rng.choice([0.3, 0.6, 1.0], n)
    automatic = np.clip(rng.normal(0.6, 0.2, 20)[pictures] + rng.normal(0, 0.1, n), 0, 1)
    human = np.clip(automatic + rng.normal(0, 0.1, n), 0, 1)
    human[rng.random(n) > 0.6] = np.nan
    automatic[[3, 10]] = np.nan
    chance[5] = np.nan
    result = psy.ppi_scores(
        [automatic],
        [human],
        pictures,
        probabilities=[chance],
        min_labels=5,
        rater_variance=[0.002],
        level=0.9,
    )
    scored = np.isfinite(automatic)
    used = scored & np.isfinite(human) & np.isfinite(chance)
    size, total = int(used.sum()), int(scored.sum())
    a, h, p = automatic[used], human[used], chance[used]
    w = 1 / p
    w = w / w.sum()
    mean_h, mean_a = (w * h).sum(), (w * a).sum()
    counted = np.ones(size) if certain else w**2 * (1 - p)
    slope = (counted * (h - mean_h) * (a - mean_a)).sum() / (counted * (a - mean_a) ** 2).sum()
    trust = min(1.0, max(0.0, slope))
    left = h - trust * a
    parts = np.sqrt(1 - p) * w * (left - (w * left).sum())
    sums = [parts[pictures[used] == name].sum() for name in set(pictures[used].tolist())]
    design = len(sums) / (len(sums) - 1) * sum(s * s for s in sums)
    deviations = automatic[scored] - automatic[scored].mean()
    clusters = [
        deviations[pictures[scored] == name].sum() for name in set(pictures[scored].tolist())
    ]
    clustered_variance = len(clusters) / (len(clusters) - 1) * sum(s * s for s in clusters)
    alike = clustered_variance / (total / (total - 1) * (deviations**2).sum())
    spread = alike * (w * (h - mean_h) ** 2).sum() * size / (size - 1) / total
    error = math.sqrt(design + spread + 0.002)
    score = result.scores[0]
    value = mean_h + trust * (automatic[scored].mean() - mean_a)
    half = stats.norm.ppf(0.95) * error
    assert (score.value, score.se, score.n) == (
        pytest.approx(value),
        pytest.approx(error),
        size,
    )
    assert (score.low, score.high) == pytest.approx((value - half, value + half))
    assert (score.level, score.flags) == (0.9, ())
    assert result.lambdas == (pytest.approx(trust),)
    assert (result.automatic[0], result.human[0], result.labels) == (
        pytest.approx(automatic[scored].mean()),
        pytest.approx(mean_h),
        (size,),
    )
    assert score.method == "PPI++, weighted by 1 / probability, raters' errors"


@pytest.mark.parametrize("slope", [1.6, 1.0, -0.5])
@pytest.mark.parametrize("weight", [None, 0.4])
def test_the_weight_of_a_weighted_score_is_between_0_and_1(
    slope: float, weight: float | None
) -> None:
    rng = np.random.default_rng(17)
    automatic = rng.random(80)
    human = np.where(np.arange(80) < 60, slope * automatic, np.nan)
    result = psy.ppi_scores(
        [automatic], [human], probabilities=np.full((1, 80), 0.5), weight=weight
    )
    trust = min(1.0, max(0.0, slope)) if weight is None else weight
    assert result.lambdas == (pytest.approx(trust),)
    mean = human[:60].mean() + trust * (automatic.mean() - automatic[:60].mean())
    assert result.scores[0].value == pytest.approx(mean)
    words = "human labels" if trust == 0 else "PPI++"
    assert result.scores[0].method == f"{words}, weighted by 1 / probability"


@pytest.mark.parametrize("has_probabilities", [False, True])
def test_how_many_labels_a_score_needs(has_probabilities: bool) -> None:
    """None below two; their mean alone below the fewest; both where there are as many."""
    automatic = np.tile([1.0, 0, 1, 1, 0], 6)
    for labels, status, trusted in ((1, "insufficient", False), (2, "ok", False), (10, "ok", True)):
        human = np.where(np.arange(30) < labels, automatic, np.nan)
        human[:2] = [0.9, 0.2][: min(2, labels)] + [np.nan] * (2 - min(2, labels))
        result = psy.ppi_scores(
            [automatic],
            [human],
            min_labels=10,
            probabilities=np.full((1, 30), 0.5) if has_probabilities else None,
        )
        score = result.scores[0]
        assert (score.status, score.n, result.labels) == (status, labels, (labels,))
        assert result.automatic == (pytest.approx(0.6),)
        if status == "ok":
            assert (result.lambdas[0] > 0) == trusted
            assert score.flags == (() if trusted else ("FEW_LABELS",))
        else:
            assert math.isnan(result.human[0])
            assert math.isnan(result.lambdas[0])


def test_scores_that_cannot_help_are_not_used() -> None:
    """Where all are labelled, all but one, or every score is the same."""
    human = np.tile([1.0, 0, 1], 20)[:59]
    judge = np.where(np.arange(59) % 7 == 0, 1 - human, human)
    for n_unlabelled in (0, 1):
        a, h = np.append(judge, [1.0] * n_unlabelled), np.append(human, [np.nan] * n_unlabelled)
        result = psy.ppi_scores([a], [h])
        assert result.lambdas == (0,)
        assert (result.scores[0].value, result.scores[0].method) == (
            pytest.approx(human.mean()),
            "human labels",
        )
    two = psy.ppi_scores([np.append(judge, [1.0, 0])], [np.append(human, [np.nan] * 2)])
    assert two.lambdas[0] > 0
    padded_labels = np.append(human, [np.nan] * 9)
    for probabilities in (None, np.full((1, 68), 0.5)):
        assert psy.ppi_scores(
            np.full((1, 68), 0.4), [padded_labels], probabilities=probabilities
        ).lambdas == (0,)
    unlabelled = psy.ppi_scores([[np.nan] * 3], [[1, 0, 1]])
    assert math.isnan(unlabelled.automatic[0])
    assert unlabelled.scores[0].status == "insufficient"
    assert math.isnan(
        psy.ppi_scores([[np.nan] * 3], [[1, 0, 1]], probabilities=[[1.0] * 3]).automatic[0]
    )


@pytest.mark.parametrize("has_probabilities", [False, True])
def test_labels_of_one_picture_give_no_interval(has_probabilities: bool) -> None:
    human = np.array([[1, 0, 1, 1, np.nan, np.nan]])
    judge = np.array([[1.0, 1, 0, 1, 1, 0]])
    chance = np.full((1, 6), 0.5) if has_probabilities else None
    for pictures, is_estimable in (([0] * 4 + [1, 2], False), ([0, 0, 1, 1, 2, 2], True)):
        score = psy.ppi_scores(judge, human, pictures, min_labels=2, probabilities=chance).scores[0]
        assert math.isfinite(score.low) == math.isfinite(score.se) == is_estimable
        assert (score.n, math.isfinite(score.value)) == (4, True)
        assert ("one cluster" in score.method) == (not is_estimable)


def test_a_published_interval_divides_by_the_number_of_clusters() -> None:
    """With a fixed weight: sum of squares of the clusters' sums over n^2, unlabelled and labelled."""
    rng = np.random.default_rng(18)
    judge, human = rng.random((2, 90))
    human[60:] = np.nan
    pictures = np.arange(90) // 3

    def of_mean(values: np.ndarray) -> float:
        sums = (values - values.mean()).reshape(-1, 3).sum(axis=1)
        return float((sums**2).sum()) / len(values) ** 2

    score = psy.ppi_scores([judge], [human], pictures, weight=0.7).scores[0]
    variance = of_mean(human[:60] - 0.7 * judge[:60]) + 0.49 * of_mean(judge[60:])
    assert score.se == pytest.approx(math.sqrt(variance))


def test_equal_scores_share_a_rank_and_what_has_none_has_0() -> None:
    nan = math.nan
    judge = [[1.0, 1, 1, 0], [1, 1, 1, 0], [1, 0, 0, 0], [1, 1, 1, 1]]
    human = [[0.0, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1], [1, nan, nan, nan]]
    result = psy.ppi_scores(judge, human)
    assert result.ranks_automatic == (1, 1, 3, 0)
    assert result.ranks_corrected == (3, 2, 1, 0)
    assert result.rank_changes == ((0, 1, 3), (1, 1, 2), (2, 3, 1))


# -- Rogan and Gladen's correction of every respondent


def test_every_respondent_is_corrected_by_the_pooled_rates() -> None:
    human = np.tile([1.0, 0], (3, 50))
    judge = human.copy()
    judge[:, :20] = 1 - judge[:, :20]
    scored = np.hstack([judge, np.ones((3, 20)) * [[1], [0], [np.nan]]])
    labels = np.hstack([human, np.full((3, 20), np.nan)])
    scores = psy.rogan_gladen_scores(scored, labels, level=0.9)
    for row, score in zip(scored, scores, strict=True):
        scored_values = row[np.isfinite(row)]
        estimate = psy.rogan_gladen(
            scored_values.mean(), len(scored_values), 0.8, 150, 0.8, 150, level=0.9
        )
        assert fields_of(score) == fields_of(estimate)
        assert (score.status, score.level, score.n) == ("ok", 0.9, len(scored_values))
    silent = np.vstack([scored, np.full((1, 120), np.nan)])
    last = psy.rogan_gladen_scores(silent, np.vstack([labels, labels[:1]]))[-1]
    assert (last.status, last.n) == ("insufficient", 0)
    judge_errors = psy.judge_errors(scored, labels)
    supplied, estimated = (
        psy.rogan_gladen_scores(silent, silent * np.nan, judge_errors)[:3],
        psy.rogan_gladen_scores(scored, labels),
    )
    assert [fields_of(score) for score in supplied] == [fields_of(score) for score in estimated]


@pytest.mark.parametrize(("n", "yes", "no"), [(1, 1, 1), (0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_one_of_each_is_enough_for_a_correction(n: int, yes: int, no: int) -> None:
    result = psy.rogan_gladen(1.0, n, 1.0, yes, 1.0, no)
    assert result.status == ("ok" if n and yes and no else "insufficient")
    assert result.n == n
    uninformative = psy.rogan_gladen(0.5, 9, 0.7, 5, 0.5, 5)
    assert (uninformative.status, uninformative.n) == ("not_applicable", 9)
