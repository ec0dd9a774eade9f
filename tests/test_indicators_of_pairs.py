"""Every indicator of two administrations, of a judge, of people's labels and of wordings, against
numpy, scipy and scikit-learn on the same small tables; where an estimator has its own tests, against
the estimator on arrays that are made here.
"""

import math
from dataclasses import replace
from typing import Any

import krippendorff
import numpy as np
import pytest
import scipy.stats
from sklearn import metrics as rival
from statsmodels.stats.multitest import multipletests

from hqm import psychometrics as psy
from hqm.indicators import case, compare, compare_forms, compare_runs, describe, single_items
from hqm.indicators.indicator import all_indicators, is_on_page
from hqm.labels.people_labels import FAITHFUL, PooledLabels
from hqm.psychometrics.items.wrong_keys import PlantedFaults, ReadingList
from hqm.scoring.metrics import YES_NO
from hqm.types import Cell, Estimate, Form
from tests.indicator_answers import DIGITS, LOWER_BOUND_ONLY, OFF_PAGE, REPEATS
from tests.test_flags import ACCURACY, PROTOCOL, items, labelled, matrix
from tests.test_indicators_by_hand import NAMES, RIGHT, RUNS, N, by_name

Array = np.ndarray
M = 8
QUESTIONS = tuple(replace(item, cluster=f"{k // 2}.png") for k, item in enumerate(items(N)))
TURNED = tuple(
    replace(item, cluster=f"{k // 2}.png") for k, item in enumerate(items(N, flipped=True))
)
CLUSTERS = np.arange(N) // 2
TRUTH = np.array([item.target == "yes" for item in QUESTIONS])


def noisy(right: Array, share: float, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(right.shape) < share, 1 - right, right)


# --- people's labels ---

HUMAN = noisy(RIGHT[0], 0.15, 1)
HUMAN[:, 90:] = np.nan
HUMAN[np.random.default_rng(2).random(HUMAN.shape) < 0.3] = np.nan
CHANCES = np.random.default_rng(3).choice([0.3, 0.6, 0.9], HUMAN.shape)
RATERS = {
    f"human:{name}": {
        (NAMES[m], QUESTIONS[i].id): float(noisy(HUMAN, 0.1, seed)[m, i])
        for m, i in zip(*np.nonzero(np.isfinite(HUMAN)), strict=True)
        if i % 2 or name == "anna"
    }
    for name, seed in (("anna", 4), ("ben", 5))
}


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "weighted"])
def labelled_estimates(request: pytest.FixtureRequest) -> tuple[dict[str, Estimate], Array]:
    """The estimates beside people's labels, and the weight of each answer."""
    first = matrix(RIGHT[0], of=QUESTIONS)
    labels = labelled(HUMAN, first, 90)
    labelled_mask = np.isfinite(HUMAN[:, :90])
    labels = replace(
        labels,
        tallies={"faithful": np.nan_to_num(HUMAN[:, :90]), "n": labelled_mask.astype(float)},
    )
    probabilities = {
        (NAMES[m], QUESTIONS[i].id): float(CHANCES[m, i])
        for m, i in zip(*np.nonzero(np.isfinite(HUMAN)), strict=True)
    }
    sample = PooledLabels(
        judgements=(),
        pool="majority",
        raters=RATERS,
        probabilities=probabilities if request.param else {},
        unresolved=3,
        adjudicated=2,
        added=1,
        schemas=("a",),
    )
    estimates = compare(
        "judge",
        first,
        labels,
        ACCURACY,
        PROTOCOL,
        second_metric=FAITHFUL,
        sample=sample,
        levels=("model", "answer", "item"),
    )
    weights = 1 / CHANCES if request.param else np.ones(HUMAN.shape)
    return by_name(estimates), np.where(np.isfinite(HUMAN), weights, np.nan)


def item_means(weights: Array) -> tuple[Array, Array, Array]:
    """(items,) twice: weighted means over the labelled answers; and which items have some."""
    labelled_mask = np.isfinite(HUMAN)
    used = labelled_mask.any(axis=0)
    means = [
        [
            np.average(x[labelled_mask[:, i], i], weights=weights[labelled_mask[:, i], i])
            for i in np.flatnonzero(used)
        ]
        for x in (RIGHT[0], HUMAN)
    ]
    return np.array(means[0]), np.array(means[1]), used


def pearson(x: Array, y: Array, weights: Array | None = None) -> float:
    c = np.cov(x, y, aweights=weights)
    return float(c[0, 1] / math.sqrt(c[0, 0] * c[1, 1]))


def weighted_ranks(x: Array, w: Array) -> Array:
    """Half of what ties with a value, and all below it."""
    return np.array([w[x < v].sum() + w[x == v].sum() / 2 for v in x])


def test_agreement_with_people(labelled_estimates: tuple[dict[str, Estimate], Array]) -> None:
    estimates, weights = labelled_estimates
    labelled_mask = np.isfinite(HUMAN)
    a, h, w = RIGHT[0][labelled_mask], HUMAN[labelled_mask], weights[labelled_mask]
    accuracy = estimates["criterion.accuracy"]
    assert accuracy.value == pytest.approx(np.average(a == h, weights=w))
    assert accuracy.detail["answers"] == labelled_mask.sum()
    kappa = estimates["criterion.kappa"]
    assert kappa.value == pytest.approx(rival.cohen_kappa_score(a, h, sample_weight=w))
    assert kappa.detail["agreement"] == pytest.approx(np.average(a == h, weights=w))
    for name, side in (("sensitivity", 1), ("specificity", 0)):
        expected = rival.recall_score(h, a, pos_label=side, sample_weight=w)
        assert estimates[f"criterion.{name}"].value == pytest.approx(expected)
    assert kappa.detail["positive"] == pytest.approx(rival.f1_score(h, a, sample_weight=w))
    assert kappa.detail["negative"] == pytest.approx(
        rival.f1_score(h, a, pos_label=0, sample_weight=w)
    )
    over_answers = estimates["criterion.answers_pearson"]
    assert over_answers.value == pytest.approx(pearson(a, h, w))
    assert over_answers.detail["answers"] == labelled_mask.sum()
    ranks = [weighted_ranks(x, w) for x in (a, h)]
    assert estimates["criterion.answers_spearman"].value == pytest.approx(pearson(*ranks, w))
    automatic, human, _ = item_means(weights)
    for name, function in (
        ("pearson", scipy.stats.pearsonr),
        ("spearman", scipy.stats.spearmanr),
        ("tau_b", scipy.stats.kendalltau),
    ):
        expected = function(automatic, human).statistic
        assert estimates[f"criterion.items_{name}"].value == pytest.approx(expected), name
    if (w == 1).all():
        tau = scipy.stats.kendalltau(a, h).statistic
        assert estimates["criterion.answers_tau_b"].value == pytest.approx(tau)
    labelled_means = [
        [np.average(x[m, labelled_mask[m]], weights=weights[m, labelled_mask[m]]) for m in range(M)]
        for x in (RIGHT[0], HUMAN)
    ]
    flattering = estimates["criterion.pearson_same_items"]
    assert flattering.value == pytest.approx(scipy.stats.pearsonr(*labelled_means).statistic)


def test_scores_corrected_by_people(labelled_estimates: tuple[dict[str, Estimate], Array]) -> None:
    estimates, weights = labelled_estimates
    plain = bool((weights[np.isfinite(weights)] == 1).all())
    chances = None if plain else np.where(np.isfinite(HUMAN), CHANCES, np.nan)
    corrected = estimates["criterion.prediction_powered"]
    by_respondent = psy.ppi_scores(RIGHT[0], HUMAN, CLUSTERS, probabilities=chances)
    pooled = psy.ppi_scores(
        RIGHT[0].reshape(1, -1),
        HUMAN.reshape(1, -1),
        np.tile(CLUSTERS, M),
        probabilities=None if plain else chances.reshape(1, -1),  # type: ignore[union-attr]
    ).scores[0]
    corrected_scores = [score.value for score in by_respondent.scores]
    assert corrected.value == pytest.approx(np.mean(corrected_scores) if plain else pooled.value)
    if not plain:
        (interval,) = corrected.intervals
        assert (interval.low, interval.high) == pytest.approx((pooled.low, pooled.high))
        assert corrected.detail["se"] == pytest.approx(pooled.se)
    assert list(corrected.detail["by_respondent"]) == NAMES
    for name, score in zip(NAMES, by_respondent.scores, strict=True):
        row = corrected.detail["by_respondent"][name]
        ends = score.fixed if score.fixed is not None else score
        assert row == pytest.approx({"score": score.value, "low": ends.low, "high": ends.high})
    assert corrected.detail["labels"] == np.isfinite(HUMAN).sum(axis=1).tolist()
    before, after = (
        scipy.stats.rankdata([-v for v in x], "min") for x in (RIGHT[0].mean(1), corrected_scores)
    )
    moved = [
        {"respondent": name, "before": a, "after": b}
        for name, a, b in zip(NAMES, before, after, strict=True)
        if a != b
    ]
    assert corrected.detail["rank_changes"] == moved
    w = None if plain else weights
    errors = psy.judge_errors(RIGHT[0], HUMAN, w)
    functioning = estimates["criterion.judge_functioning"]
    tests = errors.p_sensitivity, errors.p_specificity
    assert functioning.value == pytest.approx(min(1.0, 2 * min(tests)))
    assert functioning.detail["homogeneous"] == errors.homogeneous
    shares = psy.rogan_gladen_scores(RIGHT[0], HUMAN, errors)
    alike = estimates["criterion.rogan_gladen"]
    if all(score.status == "ok" for score in shares):
        assert alike.value == pytest.approx(np.mean([score.value for score in shares]))
        by = {n: row["score"] for n, row in alike.detail["by_respondent"].items()}
        assert by == pytest.approx({n: s.value for n, s in zip(NAMES, shares, strict=True)})
    validity = psy.criterion_validity(RIGHT[0], HUMAN, CLUSTERS, w)
    pure = estimates["criterion.disattenuated"]
    assert pure.value == pytest.approx(validity.disattenuated.value)
    assert pure.detail["raw_full"] == pytest.approx(validity.full.value)
    assert pure.detail["raw_same"] == pytest.approx(validity.labelled_only.value)
    assert pure.detail["paired"] == np.isfinite(HUMAN).sum()
    assert pure.detail["reliability"] == pytest.approx(validity.reliability_automatic)
    assert estimates["criterion.ceiling"].value == pytest.approx(validity.ceiling)
    n_labels = psy.labels_needed(0.9, validity.residual_human, validity.true_human)
    assert estimates["criterion.labels_needed"].value == n_labels
    assert estimates["criterion.labels_needed"].detail["target"] == 0.9
    random = estimates.get("criterion.labels_at_random")
    test = psy.labels_at_random(RIGHT[0], HUMAN, CLUSTERS)
    if plain:
        assert random is not None
        assert random.value == pytest.approx(test.p)
        assert random.detail["difference"] == pytest.approx(test.difference)
        assert random.detail["labelled"] == np.isfinite(HUMAN).sum()
        assert random.detail["unlabelled"] == np.isnan(HUMAN).sum()
    else:
        assert random is None or random.status == "not_applicable"


def test_who_labelled_what(labelled_estimates: tuple[dict[str, Estimate], Array]) -> None:
    estimates, weights = labelled_estimates
    counted = estimates["criterion.labelled_answers"]
    labelled_mask = np.isfinite(HUMAN)
    assert counted.value == labelled_mask.sum()
    detail = counted.detail
    assert detail["raters"] == {"anna": labelled_mask.sum(), "ben": labelled_mask[:, 1::2].sum()}
    by_two_raters = labelled_mask.copy()
    by_two_raters[:, ::2] = False
    split = (noisy(HUMAN, 0.1, 4) != noisy(HUMAN, 0.1, 5)) & by_two_raters
    assert detail["without_majority"] == split.sum() > 0
    assert detail["by_one_rater"] == labelled_mask[:, ::2].sum()
    assert (detail["unresolved"], detail["adjudicated"], detail["added"]) == (3, 2, 1)
    assert (detail["pool"], detail["schemas"], detail["stale"]) == ("majority", ["a"], 0)
    assert detail["drawn"] == bool((weights[labelled_mask] != 1).any())
    assert detail["labelled_respondents"] == M
    assert detail["labelled_by"] == "people"


@pytest.mark.parametrize("level", ["answer", "item"])
def test_agreement_is_correlated_over_the_levels_that_are_asked_for(level: str) -> None:
    first = matrix(RIGHT[0], of=QUESTIONS)
    labels = labelled(noisy(RIGHT[0], 0.1, 21), first, 60)
    settings = {"sample": PooledLabels(judgements=()), "levels": ("model", level)}
    estimates = by_name(
        compare("judge", first, labels, ACCURACY, PROTOCOL, second_metric=FAITHFUL, **settings)
    )
    for name in ("answer", "item"):
        is_reported = f"criterion.{name}s_pearson" in estimates
        assert is_reported == (name == level)


# --- two forms ---

# the other wording turns two respondents' answers round
REWORDED = np.where(np.isin(np.arange(M), (2, 5))[:, None], noisy(RIGHT[1], 0.4, 20), RIGHT[1])

WORDED = replace(
    matrix(REWORDED, Cell(form="parallel"), TURNED),
    words=np.random.default_rng(6).integers(2, 9, (M, N)).astype(float),
)
FIRST = replace(
    RUNS[0],
    items=QUESTIONS,
    words=np.random.default_rng(7).integers(2, 9, (M, N)).astype(float),
)


FIRST_RUNS = [FIRST, *(replace(run, items=QUESTIONS) for run in RUNS[1:])]


@pytest.fixture(scope="module")
def of_forms() -> dict[str, Estimate]:
    return by_name(compare("form", FIRST, WORDED, ACCURACY, PROTOCOL, runs=FIRST_RUNS))


def said_yes(right: Array, truth: Array) -> Array:
    return np.where(truth, right, 1 - right)


YES = said_yes(RIGHT[0], TRUTH), said_yes(REWORDED, ~TRUTH)


def test_a_form_is_equivalent_within_what_seeds_explain(of_forms: dict[str, Estimate]) -> None:
    x, y = (right.mean(axis=1) for right in (RIGHT[0], REWORDED))
    seeds = by_name(compare_runs(FIRST_RUNS, ACCURACY, PROTOCOL))
    noise = np.array(list(seeds["test_retest.sem"].detail["by_respondent"].values())) ** 2
    margin = seeds["test_retest.mdc95"].value
    equivalence = of_forms["parallel_forms.equivalence"]
    sides = [
        scipy.stats.ttest_1samp(y - x, end, alternative=side).pvalue
        for end, side in ((-margin, "greater"), (margin, "less"))
    ]
    assert equivalence.detail["margin"] == pytest.approx(margin)
    assert equivalence.value == pytest.approx(max(sides))
    assert abs(equivalence.detail["shift"]) == pytest.approx(abs((y - x).mean()))
    r = of_forms["parallel_forms.form_correlation"]
    observed = scipy.stats.pearsonr(x, y).statistic
    variances = [s.var(ddof=1) for s in (x, y)]
    shrink = math.sqrt(math.prod(max(0.0, v - noise.mean()) / v for v in variances))
    assert r.detail["observed"] == pytest.approx(observed)
    assert r.detail["attenuation"] == pytest.approx(shrink)
    assert r.value == pytest.approx(min(1.0, observed / shrink))
    moves = of_forms["parallel_forms.form_heterogeneity"]
    study = psy.shift_heterogeneity(RIGHT[0], REWORDED, CLUSTERS)
    assert moves.value == pytest.approx(study.deviation)
    assert moves.detail["i2"] == pytest.approx(study.i2)
    assert {n: abs(v) for n, v in moves.detail["by_respondent"].items()} == pytest.approx(
        dict(zip(NAMES, abs(x - y), strict=True))
    )


def test_what_two_forms_do_to_yes_and_no(of_forms: dict[str, Estimate]) -> None:
    ratios = [yes.mean(axis=1) for yes in YES]
    shift = of_forms["parallel_forms.yes_ratio_shift"]
    assert shift.value == pytest.approx((ratios[1] - ratios[0]).mean())
    assert shift.detail["by_respondent"] == {
        name: pytest.approx(list(pair)) for name, *pair in zip(NAMES, *ratios, strict=True)
    }

    def deviates(yes: Array, truth: Array) -> list[Array]:
        return [
            scipy.stats.norm.ppf((yes[:, side].sum(axis=1) + 0.5) / (side.sum() + 1))
            for side in (truth, ~truth)
        ]

    signals = [deviates(yes, truth) for yes, truth in zip(YES, (TRUTH, ~TRUTH), strict=True)]
    d = [hits - alarms for hits, alarms in signals]
    c = [-(hits + alarms) / 2 for hits, alarms in signals]
    for name, values in (("d_prime_shift", d), ("criterion_shift", c)):
        moved = of_forms[f"parallel_forms.{name}"]
        assert moved.value == pytest.approx((values[1] - values[0]).mean())
        for m, respondent in enumerate(NAMES):
            pair = [values[0][m], values[1][m]]
            assert moved.detail["by_respondent"][respondent] == pytest.approx(pair)
    study = psy.acquiescence(*YES, CLUSTERS)
    lean = of_forms["parallel_forms.acquiescence"]
    assert lean.value == pytest.approx(study.mean.value)
    yes_excess = (YES[0] + YES[1]).mean(axis=1) / 2 - 0.5
    assert yes_excess == pytest.approx([excess.value for excess in study.respondents])
    assert lean.detail["by_respondent"] == pytest.approx(dict(zip(NAMES, yes_excess, strict=True)))
    coherent = of_forms["parallel_forms.coherence"]
    for m, name in enumerate(NAMES):
        p, q = YES[0][m].mean(), YES[1][m].mean()
        assert coherent.detail["by_respondent"][name] == pytest.approx(
            {"coherent": (YES[0][m] != YES[1][m]).mean(), "chance": p * (1 - q) + q * (1 - p)}
        )
    assert coherent.value == pytest.approx(np.mean(YES[0] != YES[1]))
    balanced = of_forms["parallel_forms.balanced_score"]
    mean_scores = (RIGHT[0].mean(axis=1) + REWORDED.mean(axis=1)) / 2
    assert balanced.detail["by_respondent"] == pytest.approx(
        dict(zip(NAMES, mean_scores, strict=True))
    )


def test_who_is_right_on_one_form_alone_lies_on_either_side_of_chance() -> None:
    """A respondent who always says yes to the first form's words is wrong on the other's."""
    turned = RIGHT[1].copy()
    turned[5] = noisy(1 - RIGHT[0][5], 0.05, 8)
    turned[6] = noisy(np.zeros(N), 0.1, 9)
    first = RIGHT[0].copy()
    first[6] = noisy(np.zeros(N), 0.1, 10)
    estimates = by_name(
        compare(
            "form",
            matrix(first, of=QUESTIONS),
            matrix(turned, Cell(form="parallel"), TURNED),
            ACCURACY,
            PROTOCOL,
        )
    )
    balanced = estimates["parallel_forms.balanced_score"]
    z = scipy.stats.norm.ppf(1 - 0.05 / 16)
    below_chance = []
    for m, name in enumerate(NAMES):
        ends = []
        for right, truth in ((first, TRUTH), (turned, ~TRUTH)):
            shares = [right[m, side].mean() for side in (truth, ~truth)]
            counts = [side.sum() for side in (truth, ~truth)]
            se = psy.signal_detection(
                *(
                    float(v)
                    for s, n in zip(shares, counts, strict=True)
                    for v in ((s * n, n - s * n) if n is counts[0] else (n - s * n, s * n))
                )
            ).balanced_accuracy.se
            ends.append((np.mean(shares) - z * se, np.mean(shares) + z * se))
        if min(high for _, high in ends) < 0.5 < max(low for low, _ in ends):
            below_chance.append(name)
    assert balanced.detail["below_chance"] == below_chance == [NAMES[5]]
    assert "NON_PARALLEL" in balanced.flags


def test_forms_are_compared_by_a_ratio_with_pictures_left_out(
    of_forms: dict[str, Estimate],
) -> None:
    estimates = by_name(compare("form", FIRST, WORDED, YES_NO[3], PROTOCOL))
    moves = estimates["parallel_forms.form_heterogeneity"]

    def f1(side: int, included: Array) -> Array:
        truth = (TRUTH if side == 0 else ~TRUTH)[included]
        yes = YES[side][:, included]
        return np.asarray(2 * (yes @ truth) / (yes.sum(axis=1) + truth.sum()))

    all_items = np.ones(N, dtype=bool)
    left = np.stack([f1(0, c != CLUSTERS) - f1(1, c != CLUSTERS) for c in range(N // 2)], axis=1)
    count = N // 2
    spread = (count - 1) / count * ((left - left.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    study = psy.shift_heterogeneity_of_scores(f1(0, all_items) - f1(1, all_items), spread)
    assert moves.value == pytest.approx(study.deviation)
    assert moves.detail["p"] == pytest.approx(study.test.p)
    assert of_forms["parallel_forms.form_heterogeneity"].value != moves.value


def test_length_and_score_within_respondents(of_forms: dict[str, Estimate]) -> None:
    words = np.stack([m.words.mean(axis=1) for m in (FIRST, WORDED)], axis=1)
    scores = np.stack([right.mean(axis=1) for right in (RIGHT[0], REWORDED)], axis=1)
    x, y = (np.diff(np.log(v), axis=1)[:, 0] for v in (words, scores))
    x, y = x - x.mean(), y - y.mean()  # what a form does to everybody is no elasticity
    assert of_forms["parallel_forms.length_elasticity"].value == pytest.approx((x @ y) / (x @ x))
    longer = of_forms["parallel_forms.length_shift"]
    assert abs(longer.value) == pytest.approx(abs((words[:, 1] - words[:, 0]).mean()))


def test_three_wordings_together() -> None:
    wordings = [
        matrix(right, Cell(form=name), of=QUESTIONS)
        for name, right in zip(("original", "second", "third"), RIGHT, strict=True)
    ]
    estimates = by_name(compare_forms(wordings, ACCURACY, PROTOCOL))
    scores = np.stack([right.mean(axis=1) for right in RIGHT], axis=1)
    ms_r, ms_c = 3 * scores.mean(axis=1).var(ddof=1), 8 * scores.mean(axis=0).var(ddof=1)
    residuals = scores - scores.mean(axis=1, keepdims=True) - scores.mean(axis=0) + scores.mean()
    ms_e = (residuals**2).sum() / 14
    a1 = estimates["parallel_forms.icc_a1_of_forms"]
    assert a1.value == pytest.approx((ms_r - ms_e) / (ms_r + 2 * ms_e + 3 * (ms_c - ms_e) / 8))
    ak = (ms_r - ms_e) / (ms_r + (ms_c - ms_e) / 8)
    assert a1.detail["mean_of_all"] == pytest.approx(ak)
    assert a1.detail["means"] == pytest.approx(
        dict(zip(("original", "second", "third"), scores.mean(axis=0), strict=True))
    )
    assert a1.detail["sem"] == pytest.approx(math.sqrt(ms_e + max(0.0, (ms_c - ms_e) / 8)))
    phi = estimates["parallel_forms.phi_of_forms"]
    assert phi.value == pytest.approx(ak, abs=1e-6)
    assert (phi.detail["forms"], phi.detail["goal"], phi.detail["decides"]) == (3, 0.75, False)
    two = by_name(compare_forms(wordings[:2], ACCURACY, PROTOCOL))
    assert two["parallel_forms.phi_of_forms"].status == "insufficient"
    assert "parallel_forms.icc_a1_of_forms" not in two


# --- judges, and no pictures ---


def test_another_judge() -> None:
    first = matrix(RIGHT[0], Cell(judge="a@1"), of=QUESTIONS)
    second = matrix(noisy(RIGHT[0], 0.1, 11), Cell(judge="b@1"), of=QUESTIONS)
    x, y = first.values, second.values
    estimates = by_name(compare("judge", first, second, ACCURACY, PROTOCOL))
    alpha = krippendorff.alpha(np.stack([x.ravel(), y.ravel()]), level_of_measurement="nominal")
    assert estimates["judge_agreement.krippendorff_alpha"].value == pytest.approx(alpha)
    share, p = (x == y).mean(), (x.mean() + y.mean()) / 2
    by_luck = 2 * p * (1 - p)
    gwet = estimates["judge_agreement.gwet_ac1"]
    assert gwet.value == pytest.approx((share - by_luck) / (1 - by_luck))
    assert estimates["judge_agreement.flip_rate"].value == pytest.approx(1 - share)


def test_the_same_judge_again() -> None:
    first = matrix(RIGHT[0], Cell(judge="a@1"), of=QUESTIONS)
    rejudged = matrix(noisy(RIGHT[0], 0.1, 12), Cell(judge="a@1#1"), of=QUESTIONS)
    runs = [replace(run, cell=replace(run.cell, judge="a@1"), items=QUESTIONS) for run in RUNS]
    estimates = by_name(compare("judge", first, rejudged, ACCURACY, PROTOCOL, runs=runs))
    study = psy.judge_share(np.stack([first.values, rejudged.values]), np.stack(RIGHT), CLUSTERS)
    share = estimates["judge_consistency.judge_share"]
    assert share.value == pytest.approx(study.share.value)
    for m, name in enumerate(NAMES):
        assert share.detail["by_respondent"][name] == pytest.approx(
            {"judge": study.judge[m], "answers": study.response[m], "total": study.total[m]}
        )


def test_what_is_lost_without_the_picture() -> None:
    blind = matrix(noisy(RIGHT[0], 0.4, 13), Cell(sight="blind"), of=QUESTIONS)
    estimates = by_name(compare("sight", matrix(RIGHT[0], of=QUESTIONS), blind, ACCURACY, PROTOCOL))
    x, y = RIGHT[0].mean(axis=1), blind.values.mean(axis=1)
    shift = estimates["blindness.mean_shift"]
    assert abs(shift.value) == pytest.approx(abs((y - x).mean()))
    for m, name in enumerate(NAMES):
        row = shift.detail["by_respondent"][name]
        assert (row["whole"], row["scaled"]) == pytest.approx((x[m], y[m]))
        assert abs(row["difference"]) == pytest.approx(abs(x[m] - y[m]))
        moved = (RIGHT[0][m] - blind.values[m]).reshape(N // 2, 2).sum(axis=1)
        se = math.sqrt(N / 2 / (N / 2 - 1) * ((moved - moved.mean()) ** 2).sum()) / N
        assert row["high"] - row["low"] == pytest.approx(2 * 2 * se, rel=0.03)
    r = estimates["blindness.pearson"]
    assert r.value == pytest.approx(scipy.stats.pearsonr(x, y).statistic)
    assert estimates["blindness.spearman"].value == pytest.approx(
        scipy.stats.spearmanr(x, y).statistic
    )
    for name, icc in (
        ("icc_11", "icc_11"),
        ("icc_1k", "icc_1k"),
    ):
        scores = np.stack([x, y], axis=1)
        ms_r, ms_w = 2 * scores.mean(axis=1).var(ddof=1), scores.var(axis=1, ddof=1).mean()
        expected = (ms_r - ms_w) / (ms_r + ms_w) if name == "icc_11" else (ms_r - ms_w) / ms_r
        assert estimates[f"blindness.{icc}"].value == pytest.approx(expected)


# --- one administration: what families favour, and how wrong keys are counted ---


def test_what_favours_a_family() -> None:
    families, right = ["a", "b"] * 8, np.vstack(RIGHT[:2])
    form = Form("original", QUESTIONS)
    estimates = by_name(
        describe(matrix(right, of=QUESTIONS), ACCURACY, PROTOCOL, form, (), families=families)
    )
    kinds = [item.type or "" for item in QUESTIONS]
    keys = [item.target for item in QUESTIONS]
    for name, parts in (("family_types", kinds), ("family_keys", keys)):
        study = psy.differential_functioning(right, parts, families)
        estimate = estimates[f"types.{name}"]
        assert estimate.value == pytest.approx(max(abs(row.logits) for row in study.rows))
        assert estimate.detail["tested"] == study.tested
        rows = [(row["part"], row["group"]) for row in estimate.detail["parts"]]
        assert rows == [(row.part, row.group) for row in study.rows]


@pytest.mark.parametrize("typed", [True, False])
def test_items_are_grouped_by_type_or_by_how_they_begin(typed: bool) -> None:
    some_items = [
        replace(item, type=("existence" if k % 3 else None) if typed else None)
        for k, item in enumerate(QUESTIONS[:6])
    ]
    some_items[1] = replace(some_items[1], prompt="How  MANY dogs are there?")
    expected = (
        ["", *["existence"] * 2] * 2 if typed else ["is there", "how many"] + ["is there"] * 4
    )
    assert single_items._types(some_items) == expected
    typeless = [replace(item, task="choice") for item in some_items[:2]] + [
        replace(some_items[2], task="number")  # type: ignore[arg-type]
    ]
    assert single_items._sides(typeless) == [
        str(some_items[0].target),
        str(some_items[1].target),
        "",
    ]
    options = [replace(some_items[0], options=("a",) * k) for k in (0, 2, 3, 5)]
    assert single_items._hits(options).tolist() == [1, 1, 1 / 2, 1 / 4]


@pytest.mark.parametrize(
    ("status", "doubt", "by_list", "by_test", "best_power"),
    [
        ("ok", "", 0.9, 0.3, 0.9),
        ("ok", "", 0.3, 0.9, 0.9),
        ("ok", "many", 0.0, 0.9, 0.0),
        ("ok", "many", 0.4, 0.9, 0.9),
        ("insufficient", "", 0.9, 0.3, 0.3),
        ("insufficient", "many", 0.0, 0.1, 0.1),
    ],
)
def test_the_power_of_two_searches_is_that_of_the_better(
    monkeypatch: pytest.MonkeyPatch,
    status: Any,
    doubt: str,
    by_list: float,
    by_test: float,
    best_power: float,
) -> None:
    listed = ReadingList(
        (),
        doubt=doubt,
        planted=7,
        power_named=by_list,
        status=status,
        reason="" if status == "ok" else "few",
    )
    planted = PlantedFaults(by_test, 0.01, 5, 40)
    monkeypatch.setattr(single_items, "list_to_read", lambda *_: listed)
    monkeypatch.setattr(single_items, "_power", lambda *_, **__: planted)
    single_case = case("items", "", (matrix(RIGHT[0], of=QUESTIONS),), ACCURACY, PROTOCOL)
    errors = single_items._label_errors(single_case)
    power = errors.detail["power"]
    assert power["found"] == best_power
    assert power["planted"] == (7 if best_power == by_list else 5)
    assert power["repeats"] == 40
    assert errors.coefficient.status == ("ok" if best_power >= 0.2 else "not_informative")
    if doubt:
        assert errors.detail["tested"] == 0


RANGES: dict[str, tuple[float | None, float | None]] = {
    "pearson": (-1, 1),
    "kappa": (-1, 1),
    "krippendorff_alpha": (-1, 1),
    "gwet_ac1": (-1, 1),
    "icc_a1": (-1, 1),
    "accuracy": (0, 1),
    "equivalence": (0, 1),
}


@pytest.mark.parametrize("name", RANGES)
def test_what_a_number_can_be(name: str) -> None:
    units = {i.unit for i in all_indicators() if i.name == name}
    assert {(unit.minimum, unit.maximum) for unit in units} == {RANGES[name]}


def test_how_indicators_are_shown() -> None:
    """Reliabilities have a lower end alone, counts no decimals, and what says again what another
    says is on no page.
    """
    listed = all_indicators()
    for indicator in listed:
        name = indicator.name
        assert indicator.one_sided == (name in LOWER_BOUND_ONLY), name
        assert indicator.on_page == (name not in OFF_PAGE), name
        assert indicator.repeats == (name in REPEATS), name
        assert indicator.digits == DIGITS.get(name, 3), name
    assert is_on_page("consistency.alpha")
    assert not is_on_page("consistency.split_half")
    assert is_on_page("nobody.knows")


def test_respondents_are_separated_by_a_ratio_over_pseudo_values() -> None:
    """A respondent's pseudo-value of a picture: C times its F1 less C - 1 times that without it."""
    form = Form("original", QUESTIONS)
    first = matrix(RIGHT[0], of=QUESTIONS)
    estimates = by_name(describe(first, YES_NO[3], PROTOCOL, form, ()))

    def f1(included: Array) -> Array:
        yes, truth = YES[0][:, included], TRUTH[included]
        return np.asarray(2 * (yes @ truth) / (yes.sum(axis=1) + truth.sum()))

    count, full_scores = N // 2, f1(np.ones(N, dtype=bool))
    left = np.stack([f1(CLUSTERS != c) for c in range(count)], axis=1)  # noqa: SIM300
    pseudo = count * full_scores[:, None] - (count - 1) * left
    pairs = [(a, b) for a in range(M) for b in range(a)]
    p = [scipy.stats.ttest_rel(pseudo[a], pseudo[b]).pvalue for a, b in pairs]
    separated = multipletests(p, method="holm")[0]
    of_pairs = estimates["discriminability.separable_pairs"]
    assert (of_pairs.detail["apart"], of_pairs.detail["pairs"]) == (separated.sum(), len(pairs))
    error = np.median([(pseudo[a] - pseudo[b]).std(ddof=1) for a, b in pairs]) / math.sqrt(count)
    planned = estimates["discriminability.minimum_difference"]
    assert planned.detail["error"] == pytest.approx(error)
    lead = estimates["discriminability.lead"]
    best, second = sorted(full_scores)[-1:-3:-1]
    assert lead.value == pytest.approx(best - second)
