"""Forecasts, corrections, coverage and bands of small examples, from their formulas term by term."""

import math
import re

import numpy as np
import pytest
from hqm_label.answer_sampling import active_probabilities, errors_from_disagreement, expected_width
from scipy import stats

from hqm import psychometrics as psy
from hqm.psychometrics.inference.cross_validation import split_folds
from hqm.psychometrics.items.coverage import cluster_standard_error
from hqm.psychometrics.items.solvability import unshared_word_counts
from hqm.psychometrics.reliability.retest import drift_test
from hqm.psychometrics.reliability.score_dependability import fixed_score_variances
from hqm.psychometrics.variance.study_forecast import (
    ALIASES,
    PRECISIONS,
    StudySize,
    component_gradient,
    effective_respondents,
    error_components,
)
from hqm.psychometrics.variance.study_variance import StudyComponents

EFFECTS = (
    ("family",),
    ("respondent",),
    ("picture",),
    ("item",),
    ("form",),
    ("respondent", "picture"),
    ("respondent", "item"),
    ("respondent", "form"),
    ("respondent", "item", "form", "run"),
)
VALUES = (0.005, 0.02, 0.01, 0.04, 0.003, 0.006, 0.03, 0.004, 0.1)


def parts(**changes: object) -> StudyComponents:
    fields: dict[str, object] = {
        "effects": EFFECTS,
        "values": VALUES,
        "respondents": 12,
        "families": 6,
        "items": 120,
        "pictures": 40,
        "forms": 5,
        "runs": 2,
        "per_picture": 3.0,
        "crowd": 3.6,
        "judge": 0.02,
        "labels": 0.05,
        **changes,
    }
    return StudyComponents(**fields)  # type: ignore[arg-type]


SIZE = StudySize(pictures=50, items=2, forms=3, runs=4, askings=2, respondents=8, labels=60)


def terms() -> dict[str, float]:
    """What each effect adds to the variance of a score in a study of that size."""
    # pictures of two items are half as uneven as those of three
    pictures = 50 / (1 + (3.6 / 3 - 1) * (2 - 1) / (3 - 1))
    return {
        "picture": 0.01 / pictures,
        "item": 0.04 / 100,
        "form": 0.003 / 3,
        "m picture": 0.006 / pictures,
        "m item": 0.03 / 100,
        "m form": 0.004 / 3,
        "noise": (0.1 - 0.02) / (100 * 3 * 4),
        "judge": 0.02 / (100 * 3 * 4 * 2),
    }


def test_every_forecast_is_a_ratio_of_its_terms() -> None:
    t, u = terms(), 0.025
    noise = t["noise"] + t["judge"]
    relative = noise + t["m picture"] + t["m item"] + t["m form"]
    absolute = relative + t["picture"] + t["item"] + t["form"]
    worded = noise + t["m form"]
    of_pictures = noise + t["m picture"] + t["m item"] + t["picture"] + t["item"]
    difference_variance = noise + t["m picture"] + t["m item"]
    critical = stats.t.ppf(0.975, 49)
    powers = stats.nct.sf(critical, 49, np.array([2.5, 3.2]))
    assert powers[0] < 0.8 < powers[1]
    mdd = psy.forecast(parts(), "mdd", SIZE) / math.sqrt(2 * difference_variance)
    assert stats.nct.sf(critical, 49, mdd) == pytest.approx(0.8, abs=1e-6)
    labelled = of_pictures + 0.05 * (1 / 60 - 1 / 100)
    mean = 0.02 / 8 + 0.005 / (8 * 6 / 12) + t["picture"] + t["item"] + relative / 8
    alike = 0.005 / 0.025
    kish = 12 / (1 + (12 / 6 - 1) * alike)
    free = 8 * kish / 12 - 1
    span = (stats.chi2.ppf(0.975, free) - stats.chi2.ppf(0.025, free)) / free
    expected = {
        "rho_g": 1 - noise / (u + relative),
        "g": 1 - relative / (u + relative),
        "phi": u / (u + absolute),
        "forms": 1 - worded / (u + relative),
        "sem": math.sqrt(of_pictures),
        "half_width": stats.norm.ppf(0.975) * math.sqrt(of_pictures),
        "labelled_sem": math.sqrt(labelled),
        "mean_sem": math.sqrt(mean),
        "rho_g_half_width": noise / (u + relative) * span / 2,
    }
    for name, value in expected.items():
        assert float(psy.forecast(parts(), name, SIZE)) == pytest.approx(value), name
    assert effective_respondents(parts()) == pytest.approx(kish)
    assert set(expected) | {"mdd"} == set(PRECISIONS)
    for alias, name in ALIASES.items():
        values = psy.forecast(parts(), alias, SIZE), psy.forecast(parts(), name, SIZE)
        assert values[0] == values[1]
    # four wordings do not tell what a wording does to everybody
    four = u / (u + absolute - t["form"])
    assert float(psy.forecast(parts(forms=4), "phi", SIZE)) == pytest.approx(four)
    assert float(psy.forecast(parts(), "labelled_sem", StudySize(labels=0))) == math.inf
    lacking = StudyComponents(status="insufficient", reason="none")
    assert math.isnan(psy.forecast(lacking, "g", SIZE))
    independent_families = parts(families=12)
    assert effective_respondents(independent_families) == 12
    assert effective_respondents(parts(effects=EFFECTS[2:], values=VALUES[2:])) == pytest.approx(6)


def test_the_parts_of_an_error_add_up() -> None:
    components = error_components(parts(), SIZE)
    assert components["picture",] == pytest.approx(terms()["picture"])
    assert components["judge",] == pytest.approx(terms()["judge"])
    assert components["respondent",] == 0.02
    plain = error_components(parts(judge=None), SIZE)
    assert plain[EFFECTS[-1]] == pytest.approx(0.1 / 1200)
    greedy = error_components(parts(judge=0.3), SIZE)
    assert (greedy[EFFECTS[-1]], greedy["judge",]) == (0.0, pytest.approx(0.1 / 2400))
    single = error_components(parts(), StudySize(pictures=50, items=1))
    assert single["picture",] == pytest.approx(0.01 / 50), "pictures of one item are even"
    components = error_components(parts(), StudySize(pictures=50, items=9))
    assert components["picture",] == pytest.approx(0.01 / (50 / 1.2))


def test_the_interval_of_a_forecast_by_the_delta_method() -> None:
    covariance = np.diag([v**2 / 50 for v in VALUES]) + 1e-8
    components_with_covariance = parts(covariance=tuple(map(tuple, covariance.tolist())))
    for name in ("g", "sem"):

        def log(values: np.ndarray, name: str = name) -> float:
            figure = float(psy.forecast(parts(values=tuple(values)), name, SIZE))
            return math.log(1 - figure if name == "g" else figure)

        slope = []
        for i, value in enumerate(VALUES):
            increased, decreased = np.array(VALUES), np.array(VALUES)
            increased[i], decreased[i] = value * 1.0001, value * 0.9999
            slope.append((log(increased) - log(decreased)) / (0.0002 * value))
        half = stats.norm.ppf(0.975) * math.sqrt(slope @ covariance @ np.array(slope))
        middle = log(np.array(VALUES))
        ends = math.exp(middle - half), math.exp(middle + half)
        ends = (1 - ends[1], 1 - ends[0]) if name == "g" else ends
        assert psy.forecast_interval(components_with_covariance, name, SIZE) == pytest.approx(
            ends, rel=1e-3
        )
    assert all(map(math.isnan, psy.forecast_interval(parts(), "g", SIZE))), "no covariance"
    linear = component_gradient(parts(), lambda p: 3 * p.values[0] - p.values[8])
    assert linear == pytest.approx([3, 0, 0, 0, 0, 0, 0, 0, -1])


def test_the_error_of_a_type_by_loops() -> None:
    rng = np.random.default_rng(1)
    images = [i // 3 for i in range(36)]
    right = (rng.random((6, 36)) < np.linspace(0.2, 0.9, 6)[:, None]).astype(float)
    right[0] = 1.0
    right[1, :12] = np.nan
    result = psy.type_coverage(
        ["a"] * 33 + ["b"] * 3, ["a", "b", "c"], images=images, scores=right, sem=0.06
    )
    squares, shares = [], []
    for row in right[:, :33]:
        pictures = [
            [row[i] for i in range(33) if images[i] == c and math.isfinite(row[i])]
            for c in range(11)
        ]
        pictures = [labels for labels in pictures if labels]
        n, count = sum(map(len, pictures)), len(pictures)
        if count < 10:
            continue
        rate = sum(map(sum, pictures)) / n
        share = [
            count / (count - 1) * (sum(labels) - len(labels) * rate) ** 2 / n**2
            for labels in pictures
        ]
        total = sum(map(sum, pictures))
        square = sum(share)
        if min(total, n - total) < 5:
            p = (total + 2) / (n + 4)
            square = max(square, p * (1 - p) / (n + 4))
        squares.append(square)
        shares.append(share)
    assert len(squares) == 5, "one respondent answered about too few pictures"
    value = math.sqrt(np.mean(squares))
    mean = np.mean(shares, axis=0)
    relative = mean.std(ddof=1) * math.sqrt(11) / mean.sum()
    high = value * math.sqrt(math.exp(stats.norm.ppf(0.95) * relative))
    a, b, c = result.types
    assert (a.sem, a.sem_high) == pytest.approx((value, high))
    assert a.measured
    assert a.missing_items == max(0, math.ceil(33 * (high / 0.06) ** 2) - 33) > 0
    assert (a.items, a.images, a.wordings, a.share) == (33, 11, 33, 33 / 36)
    assert a.state == "labelled, not measurable"
    # one picture tells nothing of an error: the number of items forecasts it
    assert (b.sem, b.sem_high, b.measured) == (math.sqrt(0.25 / 3),) * 2 + (False,)
    assert b.missing_items == math.ceil(0.25 / 0.06**2) - 3
    assert (c.items, c.state, c.missing_items) == (0, "absent", 70)
    assert math.isnan(c.sem)
    entropy = -sum(p * math.log(p) for p in (33 / 36, 3 / 36))
    assert result.effective.value == pytest.approx(math.exp(entropy))
    assert result.evenness.value == pytest.approx(entropy / math.log(3))
    assert (result.index.value, result.n_items, result.n_min, result.unlabelled) == (0, 36, 70, 0)
    single = cluster_standard_error([0.04], "one")
    assert (single.value, single.high) == (0.2, 0.2)
    fixed = cluster_standard_error([0.01, 0.03], "two", squared=0.09)
    spread = math.sqrt(2e-4) * math.sqrt(2) / 0.04
    assert fixed.high == pytest.approx(0.3 * math.sqrt(math.exp(stats.norm.ppf(0.95) * spread)))


def test_bands_of_an_error_budget_by_hand() -> None:
    from hqm.psychometrics.variance import error_budget as budget

    moves = np.array([0.01, -0.02, 0.03, 0.0, 0.05])
    band = budget.change_band(moves)
    t = stats.t.ppf(0.975, 4)
    assert (band.half, band.factor) == pytest.approx((t * moves.std(ddof=1) * math.sqrt(1.2), t))
    fewer = budget.change_band(moves, n_effective=3.5)
    t = stats.t.ppf(0.975, 2.5)
    assert fewer.half == pytest.approx(t * moves.std(ddof=1) * math.sqrt(1 + 1 / 3.5))
    assert budget.change_band(moves, n_effective=1.9).status == "insufficient"
    noise = np.array([1e-4, 2e-4, np.nan])
    rerun = budget.rerun_band(noise, [100, 50, 100])
    judged_variance = noise + 0.5 / np.array([100, 50, 100]) ** 2
    assert rerun.moves == pytest.approx(
        1.959964 * np.sqrt(2 * judged_variance), rel=1e-6, nan_ok=True
    )
    assert rerun.half == pytest.approx(
        1.959964 * math.sqrt(2 * np.nanmean(judged_variance)), rel=1e-6
    )
    rng = np.random.default_rng(2)
    left = rng.normal(0.6, 0.01, (4, 12))
    items = budget.item_band(left)
    square = 11 / 12 * ((left - left.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    t = stats.t.ppf(0.975, 11)
    assert items.moves == pytest.approx(t * np.sqrt(2 * square))
    assert items.half == pytest.approx(t * math.sqrt(2 * square.mean()))
    mean = left.mean(axis=0)
    reach = t * math.sqrt(2 * 11 / 12 * ((mean - mean.mean()) ** 2).sum())
    assert items.shift is not None
    assert (items.shift.low, items.shift.high) == pytest.approx((-reach, reach))
    x = rng.normal(size=(3, 7))
    wording = budget.wording_band(x, n_effective=5.0)
    study = psy.g_study(x.T, ["m", "w"])
    of_wordings, residual = (study.component(*e).mean_square for e in (["w"], ["m", "w"]))
    t = stats.t.ppf(0.975, 2 * 4)
    half = t * math.sqrt(2 * residual * (1 + 1 / 5))
    a, b = 2 * of_wordings / 7, 2 * residual * (1 - 1 / 5)
    any_wording = stats.t.ppf(0.975, (a + b) ** 2 / (a**2 / 2 + b**2 / 8)) * math.sqrt(a + b)
    assert (wording.half, wording.any_wording) == pytest.approx((half, max(half, any_wording)))
    assert wording.moves == pytest.approx(x[1:].mean(axis=0) - x[0])
    assert budget.wording_band(x, n_effective=1.9).status == "insufficient"
    reference, rescaled = rng.normal(size=6), rng.normal(size=6)
    metric = budget.metric_band(reference, rescaled)
    scaled = reference.mean() + (rescaled - rescaled.mean()) * reference.std(ddof=1) / rescaled.std(
        ddof=1
    )
    s = math.sqrt(((scaled - reference) ** 2).sum() / 4)
    assert metric.moves == pytest.approx(scaled - reference)
    assert metric.half == pytest.approx(stats.t.ppf(0.975, 4) * s * math.sqrt(1 + 2 / 6))
    assert budget.metric_band(reference, np.ones(6)).status == "insufficient"


@pytest.mark.parametrize("clusters", [None, np.arange(120) // 2])
def test_scores_corrected_by_labels_by_hand(clusters: np.ndarray | None) -> None:
    rng = np.random.default_rng(3)
    human = (rng.random((2, 120)) < 0.6).astype(float)
    judge = np.where(rng.random(human.shape) < 0.85, human, 1 - human)
    labels = human.copy()
    labels[:, 60:] = np.nan
    labels[1, 20:] = np.nan
    result = psy.ppi_scores(judge, labels, clusters)
    names = np.arange(120) if clusters is None else clusters
    for m, n_labels in ((0, 60), (1, 20)):
        a, h, unlabelled = judge[m, :n_labels], human[m, :n_labels], judge[m, n_labels:]
        trust = np.cov(h, a)[0, 1] / ((1 + n_labels / len(unlabelled)) * judge[m].var(ddof=1))
        trust = min(1.0, max(0.0, trust)) if n_labels >= 50 else 0.0

        def of_mean(values: np.ndarray, scored: np.ndarray) -> float:
            deviations = values - values.mean()
            sums = [deviations[scored == name].sum() for name in set(scored)]
            return len(sums) / (len(sums) - 1) * sum(s * s for s in sums) / len(values) ** 2

        value = trust * unlabelled.mean() + (h - trust * a).mean()
        variance = of_mean(h - trust * a, names[:n_labels])
        variance += trust**2 * of_mean(unlabelled, names[n_labels:])
        half = stats.norm.ppf(0.975) * math.sqrt(variance)
        score = result.scores[m]
        assert (score.value, score.low, score.high) == pytest.approx(
            (value, value - half, value + half)
        )
        assert (score.n, score.se) == (n_labels, pytest.approx(math.sqrt(variance)))
        assert result.lambdas[m] == pytest.approx(trust)
        assert (result.automatic[m], result.human[m]) == pytest.approx((judge[m].mean(), h.mean()))
        assert result.labels[m] == n_labels
    assert result.scores[0].flags == ()
    assert result.scores[1].flags == ("FEW_LABELS",)
    assert (result.scores[0].method, result.scores[1].method) == ("PPI++", "human labels")
    order = [1, 2] if judge[0].mean() > judge[1].mean() else [2, 1]
    assert list(result.ranks_automatic) == order
    wider = psy.ppi_scores(judge, labels, clusters, rater_variance=[0.01, 0.0]).scores[0]
    assert wider.se == pytest.approx(math.sqrt(result.scores[0].se ** 2 + 0.01))
    assert wider.method == "PPI++, raters' errors"
    constant = psy.ppi_scores(np.ones((1, 8)), [[1, 1, 1, np.nan, np.nan, np.nan, np.nan, np.nan]])
    assert constant.scores[0].flags == ("FEW_LABELS", "NO_VARIANCE")
    assert math.isnan(constant.scores[0].low)
    uncorrected = psy.ppi_scores(np.ones((1, 8)), np.full((1, 8), np.nan))
    assert uncorrected.scores[0].status == "insufficient"
    assert uncorrected.ranks_corrected == (0,)


def test_the_interval_of_rho_g_for_these_respondents_by_loops() -> None:
    """The spread is noncentral chi-square, the noise a cluster jackknife, and both go together."""
    rng = np.random.default_rng(4)
    right = (rng.random((3, 10, 40)) < np.linspace(0.3, 0.9, 10)[:, None]).astype(float)
    right[:, :, ::2] = right[:, :, 1::2]  # items of one picture are answered alike
    labels = np.arange(40) // 2
    study = psy.rho_g(right, labels)
    totals = right.reshape(3, 10, 20, 2).sum(axis=3)
    changes = totals.var(axis=0, ddof=1)
    noise = changes.sum(axis=1) / 40**2
    scores = right.mean(axis=2)
    spread = scores.var(axis=1, ddof=1).mean()
    assert study.noise == pytest.approx(noise)
    assert study.rho.value == pytest.approx(1 - noise.mean() / spread)
    assert study.sem == pytest.approx(np.sqrt(noise))
    assert study.mdc95_pooled == pytest.approx(1.96 * math.sqrt(2 * noise.mean()))
    leave_one_out = (right.sum(axis=2)[:, :, None] - totals) / 38
    left_noise = (changes.sum(axis=1)[:, None] - changes) / 38 / 38
    mean = scores.mean(axis=0)
    leave_one_out_mean = leave_one_out.mean(axis=0)
    centred = leave_one_out_mean - leave_one_out_mean.mean(axis=0)
    centred = centred - centred.mean(axis=1, keepdims=True)
    error = (centred**2).sum() * 19 / 20 / 9
    deviations = mean - mean.mean()
    directional_error = ((deviations @ centred) ** 2).sum() * 19 / 20 / (deviations**2).sum()
    logs = np.log(left_noise.mean(axis=0)), np.log(leave_one_out_mean.var(axis=0, ddof=1))
    doubt = math.sqrt(19 / 20 * ((logs[0] - logs[0].mean()) ** 2).sum())
    r = np.corrcoef(logs)[0, 1]
    fixed_variances = fixed_score_variances(
        mean.var(ddof=1), error, 10, directional_error=directional_error
    )[:, 0]
    normal = stats.norm.ppf((np.arange(1, 200) - 0.5) / 199)
    student = stats.t.ppf((np.arange(1, 16) - 0.5) / 15, 19)
    normal, student = normal / normal.std(), student / student.std() * math.sqrt(19 / 17)
    quantiles = []
    for variance, z in zip(fixed_variances, normal, strict=True):
        for t in student:
            level = noise.mean() * math.exp(doubt * (r * z + math.sqrt(1 - r * r) * t))
            quantiles.append(min(max(1 - level / (variance + level * 2 / 3), 0.0), 1.0))
    low, high = np.quantile(quantiles, [0.025, 0.975])
    assert study.rho.fixed is not None
    ends = study.rho.fixed.low, study.rho.fixed.high
    assert ends == pytest.approx((min(low, study.rho.value), max(high, study.rho.value)))


def test_drift_is_tested_with_orthogonal_contrasts_of_runs() -> None:
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(3, 6)) * 0.05
    parts = rng.normal(size=(3, 6, 15)) * 0.01
    parts -= parts.mean(axis=2, keepdims=True)
    test = drift_test(scores, parts)
    contrasts = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
    statistic = 0.0
    for m in range(6):
        moved = contrasts @ parts[:, m]
        covariance = 15 / 14 * moved @ moved.T
        shift = contrasts @ scores[:, m]
        statistic += shift @ np.linalg.solve(covariance, shift)
    assert (test.statistic, test.df, test.n) == (pytest.approx(statistic), 12, 6)
    assert test.p == pytest.approx(stats.chi2.sf(statistic, 12))
    still = drift_test(np.zeros((2, 3)), np.zeros((2, 3, 12)))
    assert still.status == "not_informative"
    moved = drift_test(np.array([[0.1], [0.2]]), np.zeros((2, 1, 12)))
    assert (moved.statistic, moved.p) == (math.inf, 0.0)
    for runs, clusters, status in ((1, 12, "insufficient"), (2, 9, "insufficient"), (2, 10, "ok")):
        drift = drift_test(rng.normal(size=(runs, 3)), rng.normal(size=(runs, 3, clusters)))
        assert drift.status == status


@pytest.mark.parametrize("scale", [None, 1.0, 0.1])
def test_scores_of_respondents_with_labels_of_their_own_by_hand(scale: float | None) -> None:
    """Hajek's means, their errors within pictures, and the error that both scores share."""
    rng = np.random.default_rng(6)
    m, n = 9, 40
    human = (rng.random((m, n)) < np.linspace(0.2, 0.9, m)[:, None]).astype(float)
    judge = np.where(rng.random((m, n)) < 0.85, human, 1 - human)
    labels = np.arange(n) // 2
    weights = np.ones((m, n)) if scale is None else scale * rng.uniform(1, 4, (m, n))
    human_labels = np.where(rng.random((m, n)) < 0.5, human, np.nan)
    study = psy.criterion_validity(judge, human_labels, labels, None if scale is None else weights)
    centred = judge - judge.mean(axis=0)
    centred = centred - centred.mean(axis=1, keepdims=True)
    v_a = v_h = shared = 0.0
    means, judge_means = [], []
    for i in range(m):
        labelled = np.isfinite(human_labels[i])
        w = np.where(labelled, weights[i], 0.0) / weights[i][labelled].sum()
        mean = (w[labelled] * human_labels[i][labelled]).sum()
        means.append(mean)
        judge_means.append((w * judge[i]).sum())
        clusters = [c for c in range(20) if labelled[labels == c].any()]
        count = len(clusters)
        for c in range(20):
            in_cluster = labels == c
            residual = centred[i][in_cluster].sum() * math.sqrt(20 / 19) / n
            v_a += m / (m - 1) * residual**2 / m
            if c in clusters:
                residual_sum = (
                    w[in_cluster & labelled] * (human_labels[i][in_cluster & labelled] - mean)
                ).sum()
                v_h += count / (count - 1) * residual_sum**2 / m
                shared += count / (count - 1) * residual * residual_sum / m
    x, y = judge.mean(axis=1), np.array(means)
    s_a, s_h, s_ah = x.var(ddof=1), y.var(ddof=1), np.cov(x, y)[0, 1]
    value = (s_ah - shared) / math.sqrt((s_a - v_a) * (s_h - v_h))
    assert study.full.value == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert study.labelled_only.value == pytest.approx(np.corrcoef(judge_means, y)[0, 1])
    assert study.disattenuated.raw == pytest.approx(value) or study.disattenuated.value == (
        pytest.approx(value)
    )
    assert study.reliability_automatic == pytest.approx(1 - v_a / s_a)
    assert study.reliability_human == pytest.approx(1 - v_h / s_h)
    assert study.ceiling == pytest.approx(math.sqrt((1 - v_a / s_a) * (1 - v_h / s_h)))
    cells = int(np.isfinite(human_labels).sum())
    assert (study.n, study.n_items, study.n_cells) == (m, n, cells)
    assert study.n_labelled == round(cells / m)
    assert study.residual_human == pytest.approx(v_h * round(cells / m))
    assert study.true_human == pytest.approx(s_h - v_h)
    assert ("ATTENUATION" in study.flags) == (1 - v_h / s_h < 0.95)


def test_phrases_that_give_a_label_away_by_counting() -> None:
    rng = np.random.default_rng(8)
    nouns = ["dog", "cat", "boat", "tree"]
    texts = [
        f"Is there {'a' if i % 3 else 'any'} {nouns[k]} on the left?"
        for i, k in enumerate(rng.integers(0, 4, 160))
    ]
    answers = ["yes" if "boat" in t or (" a " in t and rng.random() < 0.5) else "no" for t in texts]
    kinds = ["x" if i < 120 else "y" for i in range(160)]
    answers = [a if k == "x" else "no" for a, k in zip(answers, kinds, strict=True)]
    study = psy.leakage_cues(answers, rng=rng, questions=texts, types=kinds)
    assert study.constant_types == (("y", "no"),)

    def phrases(text: str) -> set[str]:
        words = re.findall(r"[\w']+", text.lower())
        begins = {" ".join(words[:n]) + " ..." for n in (2, 3) if len(words) > n}
        return {*words, *begins}

    indices = [i for i in range(160) if kinds[i] == "x"]
    rows = []
    for phrase in sorted(set().union(*(phrases(texts[i]) for i in indices))):
        having = [answers[i] for i in indices if phrase in phrases(texts[i])]
        if len(having) < 20:
            continue
        label = max(sorted(set(having), key=having.index), key=having.count)
        share = sum(answers[i] == label for i in indices) / len(indices)
        k = having.count(label)
        p = min(1.0, 2 * stats.binom.sf(k - 1, len(having), share))
        rows.append((phrase, label, len(having), k / len(having), p))
    q = stats.false_discovery_control([row[-1] for row in rows])
    expected = [
        (*row[:-1], value)
        for row, value in zip(rows, q, strict=True)
        if value < 0.05 and row[3] >= 0.95
    ]
    expected.sort(key=lambda row: (-row[2], row[0]))
    assert [(g.phrase, g.label, g.items) for g in study.giveaways] == [row[:3] for row in expected]
    assert [g.share for g in study.giveaways] == pytest.approx([row[3] for row in expected])
    assert [g.q for g in study.giveaways] == pytest.approx([row[4] for row in expected])
    assert {g.type for g in study.giveaways} == {"x"}
    assert expected


def test_cues_stand_for_places_and_surfaces() -> None:
    """How many values each cue takes in 40 questions that are written down here."""
    texts = [
        ("Is it a dog?", "Are there 3 dogs?", "is the cat not here ?", "Isn't it an owl?")[i % 4]
        for i in range(40)
    ]
    ids = [f"img{i:03d}_a" for i in range(40)]
    answers = np.random.default_rng(9).permutation(["yes", "no"] * 20).tolist()
    study = psy.leakage_cues(
        answers,
        rng=np.random.default_rng(0),
        questions=texts,
        ids=ids,
        clusters=[i // 3 for i in range(40)],
    )
    levels = {cue.name: cue.levels for cue in study.cues}
    words = [re.findall(r"[\w']+", t.lower()) for t in texts]
    lengths = [len(t) for t in texts]
    cuts = sorted(set(np.quantile(lengths, np.linspace(0.1, 0.9, 9)).tolist()))
    assert levels == {
        "odd or even place": 2,
        "place within the cluster": 3,
        "tenth of the file": 10,
        "label before": 3,
        "tenth of the number": 10,
        "odd or even number": 2,
        "last digit": 10,
        "first word": len({w[0] for w in words}),
        "first two words": len({tuple(w[:2]) for w in words}),
        "first three words": len({tuple(w[:3]) for w in words}),
        "last word": len({w[-1] for w in words}),
        "articles": 4,
        "punctuation": 2,
        "number of words": len({len(w) for w in words}),
        "length": len({sum(n > cut for cut in cuts) for n in lengths}),
        "digits and number words": 2,
        "negation": 2,
        "capital letter": 2,
    } | ({"spare spaces": 2} if any(t != " ".join(t.split()) for t in texts) else {})


def test_one_threshold_of_length_by_trying_all() -> None:
    rng = np.random.default_rng(10)
    lengths = rng.integers(3, 15, 80)
    answers = ["yes" if (n <= 8) ^ (rng.random() < 0.2) else "no" for n in lengths]
    clusters = [i // 2 for i in range(80)]
    study = psy.length_cue(lengths, answers, rng=np.random.default_rng(1), clusters=clusters)
    (rule,) = study.rules

    def learnt(rows: list[int]) -> tuple[int, str, str]:
        best = (-1, 0, "", "")
        for short, long_label in (("yes", "no"), ("no", "yes")):
            for threshold in range(int(lengths[rows].max()) + 1):
                right = sum(
                    answers[i] == (short if lengths[i] <= threshold else long_label) for i in rows
                )
                if right > best[0]:
                    best = (right, threshold, short, long_label)
        return best[1:]

    assert (rule.threshold, rule.short_label, rule.long_label) == learnt(list(range(80)))
    items = split_folds(answers, clusters, None, np.random.default_rng(1), 5)
    hits = 0
    for i in range(80):
        threshold, short_label, long_label = learnt(
            [j for j in range(80) if items.fold[j] != items.fold[i]]
        )
        hits += answers[i] == (short_label if lengths[i] <= threshold else long_label)
    assert rule.accuracy.value == pytest.approx(hits / 80)
    assert rule.baseline == max(answers.count("yes"), answers.count("no")) / 80
    assert rule.stratum.shown
    assert unshared_word_counts(["the dog here", "the big dog here", "the here"]) == [1, 2, 0]


def test_where_to_label_by_hand() -> None:
    q = np.array([0.5, 0.2, 0.0, np.nan, 0.9])
    u = np.sqrt([0.25, 0.16, 0.0, 0.0, 0.09])
    u[3] = np.mean([u[0], u[1], u[2], u[4]])
    p = active_probabilities(q, 2, 0.6)
    assert p == pytest.approx(2 * (0.6 * u / u.sum() + 0.4 / 5))
    probabilities = active_probabilities(q, 4, 0.8)
    share = 0.8 * u / u.sum() + 0.2 / 5
    full = np.zeros(5, dtype=bool)
    while True:
        left = np.where(full, 1.0, (4 - full.sum()) * share / share[~full].sum())
        if not (left[~full] > 1).any():
            break
        full |= left >= 1
    assert probabilities == pytest.approx(left)
    assert probabilities.sum() == pytest.approx(4)
    assert active_probabilities([0.0, 1.0], 1).tolist() == [0.5, 0.5]
    for wrong in (
        (q, 0, 0.5),
        (q, 6, 0.5),
        (q, 2, 0.9),
        (q, 2, -0.1),
        ([1.1], 1, 0.5),
        ([-0.1], 1, 0.5),
    ):
        with pytest.raises(ValueError, match="tau"):
            active_probabilities(*wrong)
    differing, n_labels = np.array([0, 1, 2, 0]), np.array([2, 2, 2, 0])
    disagreement = 3 / 6
    error = (1 - math.sqrt(1 - 2 * disagreement)) / 2
    expected = []
    for k, total in zip(differing, n_labels, strict=True):
        wrong = error * error ** (total - k) * (1 - error) ** k
        right = (1 - error) * (1 - error) ** (total - k) * error**k
        expected.append(wrong / (wrong + right) if total else math.nan)
    chances = errors_from_disagreement(differing, n_labels)
    assert chances == pytest.approx(expected, nan_ok=True)
    rare = errors_from_disagreement([0, 0, 0, 1], [1, 1, 1, 1])
    error = (1 - math.sqrt(1 - 2 / 4)) / 2
    assert rare[0] == pytest.approx(error**2 / (error**2 + (1 - error) ** 2))
    disagreement_free = errors_from_disagreement([0, 0], [1, 1])
    error = (1 - math.sqrt(1 - 2 / 6)) / 2
    assert disagreement_free == pytest.approx([error**2 / (error**2 + (1 - error) ** 2)] * 2)
    rng = np.random.default_rng(11)
    a, wrong, sampling_probabilities = (
        rng.random(50),
        rng.uniform(0.05, 0.4, 50),
        rng.uniform(0.2, 0.9, 50),
    )
    truth = a * (1 - wrong) + (1 - a) * wrong
    w = (1 - sampling_probabilities) / sampling_probabilities
    slope = np.cov(a, truth, aweights=w)[0, 1] / np.cov(a, aweights=w)
    residual = truth - min(1.0, max(0.0, float(slope))) * a
    squares = truth * (1 - truth) + (residual - residual.mean()) ** 2
    sampled = (w * squares).sum() / 50**2
    sampling_variance = truth.mean() * (1 - truth.mean()) / 50
    width = expected_width(
        a, wrong, sampling_probabilities, label_design_effect=1.5, answer_design_effect=2.0
    )
    assert width == pytest.approx(
        2 * stats.norm.ppf(0.975) * math.sqrt(1.5 * sampled + 2 * sampling_variance)
    )
    assert math.isnan(expected_width([0.5], [0.1], [0.5]))
