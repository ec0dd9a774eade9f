"""Statistics of people's labels against scipy and statsmodels, and against sums by hand."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hqm_label.answer_sampling import (
    active_probabilities,
    errors_from_disagreement,
    expected_width,
    systematic_sample,
)
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa

import hqm.psychometrics as psy
from tests.fields import fields_of

nan = math.nan


def test_correlations_over_answers_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    human = rng.integers(1, 6, 400).astype(float)
    automatic = np.round(human + rng.normal(0, 1.5, 400))
    study = psy.answer_correlations(automatic, human)
    assert study.pearson.value == pytest.approx(stats.pearsonr(automatic, human).statistic)
    assert study.spearman.value == pytest.approx(stats.spearmanr(automatic, human).statistic)
    assert study.tau_b.value == pytest.approx(stats.kendalltau(automatic, human).statistic)
    theirs = stats.pearsonr(automatic, human).confidence_interval()
    assert study.pearson.fixed is not None
    assert study.pearson.fixed.low == pytest.approx(theirs.low, abs=0.02)
    assert study.pearson.fixed.high == pytest.approx(theirs.high, abs=0.02)


def test_an_answer_of_weight_three_counts_as_three_answers() -> None:
    rng = np.random.default_rng(1)
    human = rng.integers(1, 6, 120).astype(float)
    automatic = np.round(human + rng.normal(0, 1.5, 120))
    weights = rng.integers(1, 4, 120)
    weighted = psy.answer_correlations(automatic, human, weights=weights)
    alike = psy.answer_correlations(np.repeat(automatic, weights), np.repeat(human, weights))
    for statistic in ("pearson", "spearman", "tau_b"):
        assert getattr(weighted, statistic).value == pytest.approx(
            getattr(alike, statistic).value
        ), statistic


def test_correlations_of_one_picture_have_no_interval() -> None:
    study = psy.answer_correlations([1, 2, 3, 4, 5], [1, 3, 2, 4, 5], clusters=[0, 0, 0, 0, 0])
    assert study.spearman.value == pytest.approx(0.9)
    assert study.spearman.fixed is None
    hardly = psy.answer_correlations([0, 0, 1e-11], [0, 1e-11, 0])
    assert hardly.pearson.status == "degenerate", "no correlation is known where the squares vanish"


def test_weighted_agreement_has_the_kappa_of_statsmodels() -> None:
    rng = np.random.default_rng(2)
    human = (rng.random((5, 200)) < 0.6).astype(float)
    automatic = np.where(rng.random(human.shape) < 0.15, 1 - human, human)
    human[:, 150:] = np.nan
    weights = rng.integers(1, 5, human.shape).astype(float)
    study = psy.weighted_agreement(automatic, human, np.arange(200), weights)
    table = np.array(
        [[(weights * ((automatic == a) & (human == h))).sum() for h in (0, 1)] for a in (0, 1)]
    )
    assert study.agreement.value == pytest.approx(np.trace(table) / table.sum())
    assert study.kappa.value == pytest.approx(cohens_kappa(table).kappa)
    by_answer = psy.weighted_agreement(automatic, human, np.arange(200))
    plain = np.array([[((automatic == a) & (human == h)).sum() for h in (0, 1)] for a in (0, 1)])
    theirs = cohens_kappa(plain)
    assert by_answer.kappa.fixed is not None
    assert by_answer.kappa.fixed.high - by_answer.kappa.fixed.low == pytest.approx(
        theirs.kappa_upp - theirs.kappa_low, rel=0.2
    )


def test_raters_widen_an_interval_by_their_own_variance() -> None:
    narrow = psy.Coefficient(
        0.5, low=0.4, high=0.7, fixed=psy.ConfidenceInterval(0.47, 0.53, "pictures", 0.95)
    )
    replicates = np.r_[np.tile([0.48, 0.52], 50), np.nan]
    wide = psy.with_raters(narrow, replicates)
    half = 1.959964 * np.std(replicates[:-1], ddof=1)
    assert wide.value == 0.5
    assert (wide.low, wide.high) == pytest.approx(
        (0.5 - math.hypot(0.1, half), 0.5 + math.hypot(0.2, half))
    )
    assert wide.fixed is not None
    assert wide.fixed.high == pytest.approx(0.5 + math.hypot(0.03, half))
    assert psy.with_raters(narrow, np.full(50, 0.5)) == narrow, (
        "raters who never differ add nothing"
    )


def test_replicates_change_an_answer_as_often_as_a_draw_of_three_raters_does() -> None:
    """One of three raters differs: among three drawn, that one has the majority with chance
    P(Bin(3, 1/3) >= 2) = 7/27.
    """
    labels = np.array([[1, 1, 1], [1, 1, 1], [1, 0, 1.0]])
    rows = psy.rater_replicates(labels, "majority", np.random.default_rng(3), replicates=4000)
    assert rows.shape == (4000, 3)
    assert (rows[:, [0, 2]] == 1).all()
    assert (rows[:, 1] == 0).mean() == pytest.approx(7 / 27, abs=0.03)
    single = psy.rater_replicates([[1, 0, 1]], "majority", np.random.default_rng(3), replicates=5)
    assert (single == [1, 0, 1]).all(), "nothing is known of the error of a single rater"


def test_the_expected_width_is_that_of_a_proportion_where_scores_say_nothing() -> None:
    """All scores are 1, so they correct nothing: N p labels give the width of a proportion; all
    labels that of N.
    """
    for p, labels in ((0.2, 400), (1.0, 2000)):
        width = expected_width(np.ones(2000), np.full(2000, 0.3), np.full(2000, p))
        assert width == pytest.approx(2 * 1.959964 * math.sqrt(0.3 * 0.7 / labels), rel=1e-6)
    scores = np.tile([1.0, 0.0], 1000)
    right = expected_width(scores, np.zeros(2000), np.full(2000, 0.1))
    assert right == pytest.approx(2 * 1.959964 * math.sqrt(0.25 / 2000), rel=1e-6), (
        "scores that never err need no labels"
    )
    assert math.isnan(expected_width([1.0], [0.1], [0.5]))


def test_doubtful_answers_are_labelled_more_often_up_to_certainty() -> None:
    """u = sqrt(q (1 - q)): of 0.5, 0.4 and 0.3 with labels for all but a tenth of an answer."""
    u = np.array([0.2, 0.8, 0.5])
    q = (1 - np.sqrt(1 - 4 * u**2 / 4)) / 2
    assert np.sqrt(q * (1 - q)) == pytest.approx(u / 2)
    share = 0.8 * u / 1.5 + 0.2 / 3
    for labels in (0.5, 1.9):
        assert active_probabilities(q, labels) == pytest.approx(labels * share)
    # 2.1 x .4933 = 1.036 is cut at 1, and what is left goes to the other two by their shares
    cut = active_probabilities(q, 2.1)
    assert cut[1] == 1.0
    assert cut[[0, 2]] == pytest.approx(1.1 * share[[0, 2]] / share[[0, 2]].sum())
    # 1.9 x .333 / .5067 = 1.25 is cut in its turn
    assert active_probabilities(q, 2.9) == pytest.approx([0.9, 1.0, 1.0])
    assert active_probabilities(q, 3).tolist() == [1.0] * 3
    assert active_probabilities([0.3] * 3, 3).tolist() == [1.0] * 3
    assert active_probabilities(q, 1.5, 0) == pytest.approx([0.5] * 3)
    assert active_probabilities([math.nan] * 4, 1).tolist() == [0.25] * 4
    assert active_probabilities([0.0, math.nan, 1.0], 1.5).tolist() == [0.5] * 3
    mixed = active_probabilities([0.5, math.nan, 0.5], 1, 0.5)
    assert mixed == pytest.approx([1 / 3] * 3), "who is unknown is as doubtful as the others"
    for wrong in (([0.5], 0.0, 0.5), ([0.5], 1.01, 0.5), ([0.5], 1, 0.81), ([1.01], 1, 0.5)):
        with pytest.raises(ValueError, match="tau is 0 to 0.8, labels 1 to 1"):
            active_probabilities(*wrong)


def test_a_systematic_sample_takes_an_answer_wherever_a_whole_number_is_passed() -> None:
    """Madow: of cumulative sums those steps that hold a start, the start plus 1, and so on."""
    p = np.array([0.5, 0.25, 0.75, 1.0, 0.1, 0.0, 0.4])
    for seed in range(20):
        start = np.random.default_rng(seed).random()
        ends = [0.0, 0.5, 0.75, 1.5, 2.5, 2.6, 2.6, 3.0]
        expected = [
            any(low <= start + k < high for k in range(3)) for low, high in itertools.pairwise(ends)
        ]
        sample = systematic_sample(p, np.random.default_rng(seed))
        assert sample.tolist() == expected
        assert sample.sum() == 3
    thirds = [systematic_sample([1 / 3] * 9, np.random.default_rng(k)).sum() for k in range(9)]
    assert set(thirds) == {3}, "dust of a sum takes no answer away"
    assert systematic_sample([], np.random.default_rng(0)).shape == (0,)


@pytest.mark.parametrize(
    ("scores", "wrong", "trust"),
    [
        # the label is what the score is not: nothing of the score is used
        ([1.0, 0, 1, 0, 1], [0.9, 0.8, 0.7, 0.9, 0.6], 0.0),
        # labels differ by more than the scores do: all of it is used, and no more
        ([0.9, 0.8, 0.9, 0.8, 0.9], [0.0, 1.0, 0.0, 0.9, 0.1], 1.0),
        ([0.7] * 5, [0.1, 0.2, 0.3, 0.2, 0.1], 0.0),
    ],
)
def test_scores_are_trusted_from_not_at_all_to_in_full(
    scores: list[float], wrong: list[float], trust: float
) -> None:
    a, q, p = np.array(scores), np.array(wrong), np.array([0.2, 0.5, 0.4, 0.8, 0.3])
    h = a * (1 - q) + (1 - a) * q
    left = h - trust * a
    squares = h * (1 - h) + (left - left.mean()) ** 2
    width = 4 * 1.959964**2 * (((1 - p) / p * squares).sum() / 25 + h.mean() * (1 - h.mean()) / 5)
    assert expected_width(a, q, p) == pytest.approx(math.sqrt(width), rel=1e-6)
    gap = np.append(a, [0.5, np.nan]), np.append(q, [np.nan, 0.5]), np.append(p, [0.5, 0.5])
    assert expected_width(*gap) == expected_width(a, q, p), "what is unknown is left out"
    sampled, complete = (
        expected_width(a, q, p, **{k: 0.0}) for k in ("answer_design_effect", "label_design_effect")
    )
    assert math.hypot(sampled, complete) == pytest.approx(math.sqrt(width), rel=1e-6)
    narrow = expected_width(a, q, p, level=0.5)
    assert narrow == pytest.approx(math.sqrt(width) * stats.norm.ppf(0.75) / stats.norm.ppf(0.975))


def test_two_answers_have_a_width_and_one_has_none() -> None:
    assert math.isnan(expected_width([1.0], [0.5], [0.5]))
    assert math.isnan(expected_width([1.0, np.nan], [0.5, 0.5], [0.5, 0.5]))
    # both labels are as likely 0 as 1: (1 - p) / p / 4 of each, and 1/4 of two
    pair = expected_width([1.0, 0.0], [0.5, 0.5], [0.5, 0.2])
    assert pair == pytest.approx(2 * 1.959964 * math.sqrt((0.25 + 1) / 4 + 0.125), rel=1e-6)


@pytest.mark.parametrize(
    ("differing", "others"),
    [
        ([0, 1, 2, 3, 0], [3, 3, 3, 3, 3]),
        ([0, 1, 0, 1], [1, 2, 4, 3]),
        ([1, 0], [6, 400]),
        ([0, 0, 0], [2, 3, 1]),
    ],
)
def test_verdicts_that_differ_tell_how_likely_each_is_wrong(
    differing: list[int], others: list[int]
) -> None:
    """By Bayes' theorem, from the share of pairs that differ, at most one half of them."""
    differing_share = min(0.5, max(sum(differing) / sum(others), 1 / (2 * sum(others) + 2)))
    e = (1 - math.sqrt(1 - 2 * differing_share)) / 2
    expected = []
    for k, n in zip(differing, others, strict=True):
        wrong, right = math.log(e) * (1 + n - k) + math.log(1 - e) * k, 0.0
        right = math.log(1 - e) * (1 + n - k) + math.log(e) * k
        expected.append(1 / (1 + math.exp(min(700.0, right - wrong))))
    result = errors_from_disagreement(differing, others)
    assert result == pytest.approx(expected)
    gap = errors_from_disagreement([*differing, 0], [*others, 0])
    assert gap[:-1].tolist() == result.tolist()
    assert math.isnan(gap[-1])
    assert np.isnan(errors_from_disagreement([0, 0], [0, 0])).all()


def test_labels_are_compared_within_respondents_of_whom_some_answers_are_labelled() -> None:
    """Respondents all of whose scored answers are labelled, or none, say nothing; of the others the
    labelled less the unlabelled mean, weighted by n_l n_u / n.
    """
    rng = np.random.default_rng(4)
    scores = rng.random((4, 30))
    scores[0, :3], scores[2, 5] = np.nan, np.nan
    human = np.where(rng.random((4, 30)) < 0.4, 1.0, np.nan)
    human[1], human[3] = np.nan, 0.5
    clusters = np.array([f"p{i % 11}" for i in range(30)])
    result = psy.labels_at_random(scores, human, clusters)
    weights, differences, parts = [], [], np.zeros(30)
    counts = [0, 0]
    for m in (0, 2):
        scored = np.isfinite(scores[m])
        marked = scored & np.isfinite(human[m])
        unmarked = scored & ~marked
        n, u = marked.sum(), unmarked.sum()
        counts[0] += n
        counts[1] += u
        weights.append(n * u / (n + u))
        differences.append(scores[m, marked].mean() - scores[m, unmarked].mean())
        mean = scores[m, scored].mean()
        parts[scored] += (marked[scored] - n / (n + u)) * (scores[m, scored] - mean)
    sums = np.array([parts[clusters == name].sum() for name in np.unique(clusters)])
    z = sums.sum() / math.sqrt(11 / 10 * (sums**2).sum())
    assert (result.labelled, result.unlabelled) == tuple(counts)
    assert result.difference == pytest.approx(np.average(differences, weights=weights))
    assert (result.z, result.p) == pytest.approx((z, 2 * stats.t.sf(abs(z), 10)))
    assert (result.status, result.reason) == ("ok", "")
    for uniform_labels in (np.full((4, 30), np.nan), np.ones((4, 30))):
        absent = psy.labels_at_random(scores, uniform_labels)
        assert (absent.status, absent.labelled, absent.unlabelled) == ("not_applicable", 0, 0)
        assert math.isnan(absent.difference)
        assert math.isnan(absent.p)
    few_clusters = psy.labels_at_random(scores, human, np.arange(30) % 9)
    assert few_clusters.status == "insufficient"
    assert few_clusters.reason.endswith("there are 9")
    assert few_clusters.difference == pytest.approx(result.difference)
    assert (few_clusters.labelled, few_clusters.unlabelled) == tuple(counts)
    equal_scores = psy.labels_at_random(np.ones((4, 30)), human)
    assert (equal_scores.status, equal_scores.difference) == ("insufficient", 0.0)
    assert psy.labels_at_random(scores, human, np.zeros(30)).status == "insufficient"


# -- agreement of several raters


@pytest.mark.parametrize("scale", ["nominal", "interval", "ratio"])
def test_alpha_of_gaps_has_the_jackknife_over_units_rated_twice(scale: str) -> None:
    rng = np.random.default_rng(4)
    truth = rng.integers(1, 4, 20)
    x = np.where(rng.random((3, 20)) < 0.7, truth, rng.integers(1, 4, (3, 20))).astype(float)
    x[0, :6], x[1, 4:9], x[2, 5] = nan, nan, nan
    result = psy.krippendorff_alpha(x, scale, level=0.9)  # type: ignore[arg-type]
    twice = np.flatnonzero(np.isfinite(x).sum(axis=0) >= 2)
    assert result.n == len(twice) < 19
    left = [psy.krippendorff_alpha(np.delete(x, u, axis=1), scale).value for u in twice]  # type: ignore[arg-type]
    spread = ((np.array(left) - np.mean(left)) ** 2).sum()
    error = math.sqrt((len(twice) - 1) / len(twice) * spread)
    half = stats.norm.ppf(0.95) * error
    assert result.fixed is not None
    assert result.se == pytest.approx(error)
    assert (result.fixed.low, result.fixed.high) == pytest.approx(
        (result.value - half, min(1.0, result.value + half))
    )
    assert (result.level, result.fixed.level) == (0.9, 0.9)


AGREEMENT = {
    "alpha": psy.krippendorff_alpha,
    "fleiss": psy.fleiss_kappa,
    "gwet": psy.gwet_ac1,
}


@pytest.mark.parametrize("name", AGREEMENT)
def test_three_units_have_an_interval_and_two_have_none(name: str) -> None:
    statistic = AGREEMENT[name]
    three = np.array([[1, 2, 1, 2], [1, 2, 2, 1], [1, 2, 1, 2.0]])[:, [0, 1, 2]]
    for ratings, has_interval in ((three, True), (three[:, :2], False)):
        result = statistic(ratings, level=0.9)
        assert (result.fixed is not None) == has_interval
        assert (result.status, result.n, result.level) == ("ok", ratings.shape[1], 0.9)
    assert statistic(three[:, :2]).value == 1
    nobody = statistic([[1.0, nan], [nan, 1.0]])
    assert nobody.status == "insufficient"
    assert nobody.n == (2 if name == "gwet" else 0)
    equal_ratings = statistic(np.ones((2, 5)))
    assert (equal_ratings.status, equal_ratings.n) == ("degenerate", 5)
    # systematic disagreement: the interval ends at -1 and 1
    opposed = np.array([[1, 2, 1, 2, 1], [2, 1, 2, 1, 2.0]])
    assert statistic(opposed).value < 0
    assert statistic(opposed).fixed is None or statistic(opposed).fixed.low >= -1  # type: ignore[union-attr]
    shaky = statistic(np.array([[1, 2, 1, 2], [2, 2, 1, 1.0]]), level=0.999)
    assert shaky.fixed is not None
    assert (shaky.fixed.low, shaky.fixed.high) == (-1, 1)


def test_alpha_of_what_is_left() -> None:
    """A category of units rated once is none; a unit that alone varies leaves no interval."""
    assert psy.krippendorff_alpha([[1, 1, 2], [1, 1, nan]]).status == "degenerate"
    assert psy.krippendorff_alpha([[1, 1, 2], [1, 1, nan]]).n == 2
    one_deviant = psy.krippendorff_alpha([[1, 1, 1, 2], [1, 1, 1, 1]])
    assert (one_deviant.status, one_deviant.fixed) == ("ok", None)
    kappa = psy.fleiss_kappa([[1, 1, 1, 2], [1, 1, 1, 1]])
    assert (kappa.status, kappa.fixed) == ("ok", None)
    negative = [[-1, 2, 3], [1, 2, 3]]
    assert psy.krippendorff_alpha(negative, "ratio").status == "not_applicable"
    assert psy.krippendorff_alpha(negative, "ratio").n == 3
    assert psy.krippendorff_alpha(negative, "interval").status == "ok"
    # 0 and 2 are 1 apart on a ratio scale, 1 and 3 a half; of equal ones nothing
    value = psy.krippendorff_alpha([[0, 0, 1], [0, 2, 3]], "ratio").value
    ratings = [0, 0, 0, 2, 1, 3]
    distances = [
        ((a - b) / (a + b)) ** 2 if a + b else 0.0
        for i, a in enumerate(ratings)
        for j, b in enumerate(ratings)
        if i != j
    ]
    assert value == pytest.approx(1 - (2 * (1 + 1 / 4) / 6) / (sum(distances) / 30))


def test_fleiss_kappa_takes_the_commonest_number_of_ratings() -> None:
    """Of numbers that are equally common the larger one; single ratings do not count."""
    two, three = [[1, 2, 1], [1, 2, 2], [nan] * 3], [[1, 2, 2], [1, 2, 1], [1, 1, 2]]
    single = [[1] * 7, [nan] * 7, [nan] * 7]
    combined = np.hstack([two, three, single])
    assert psy.fleiss_kappa(combined).value == pytest.approx(psy.fleiss_kappa(three).value)
    extended = np.hstack([two, three, [[1], [2], [nan]], single])
    two_raters = [[1, 2, 1, 1], [1, 2, 2, 2]]
    assert psy.fleiss_kappa(extended).value == pytest.approx(psy.fleiss_kappa(two_raters).value)
    assert psy.fleiss_kappa(extended).n == 4


@pytest.mark.parametrize(("categories", "q"), [(None, 2), (1, 2), (2, 2), (5, 5)])
def test_gwets_chance_knows_the_categories_that_nobody_used(categories: int | None, q: int) -> None:
    """Of four units rated by two, one differs: pi = 5/8 and 3/8."""
    ratings = [[1, 1, 2, 1], [1, 1, 2, 2]]
    chance = 2 * 5 / 8 * 3 / 8 / (q - 1)
    result = psy.gwet_ac1(ratings, categories=categories)
    assert result.value == pytest.approx((3 / 4 - chance) / (1 - chance))
    assert result.fixed is not None
    assert result.fixed.method == "Gwet"


def test_verdicts_flip_by_picture() -> None:
    """Mean and error of items from sums and sizes of clusters: C / (C - 1) sum (t - n m)^2 / n^2."""
    verdicts = np.array([[1, 1, 0, 0, 2, 1, 0], [1, 0, 0, 1, 2, 1, 1], [0, 0, 0, 1, 2, nan, nan]])
    verdicts[:, 6] = [nan, 1, nan]
    pictures = [0, 0, 1, 1, 1, 2, 2]
    flip_rates = np.array([2 / 3, 2 / 3, 0, 2 / 3, 0, 0])
    result = psy.flip_rate(verdicts, pictures, level=0.9)
    mean = flip_rates.mean()
    sums = [
        (flip_rates[:2] - mean).sum(),
        (flip_rates[2:5] - mean).sum(),
        (flip_rates[5:] - mean).sum(),
    ]
    error = math.sqrt(3 / 2 * sum(s**2 for s in sums)) / 6
    half = stats.norm.ppf(0.95) * error
    assert (result.value, result.se, result.n) == (pytest.approx(mean), pytest.approx(error), 6)
    assert result.fixed is not None
    assert (result.fixed.low, result.fixed.high) == pytest.approx(
        (max(0.0, mean - half), min(1.0, mean + half))
    )
    assert result.fixed.level == 0.9
    wide = psy.flip_rate([[1, 0, 1], [1, 1, 1]], level=0.9999)
    assert wide.fixed is not None
    assert (wide.fixed.low, wide.fixed.high) == (0, 1)
    unpaired = psy.flip_rate([[1, nan], [nan, 1]])
    assert (unpaired.status, unpaired.n) == ("insufficient", 0)


# -- raters' part of the variance, and labels made of theirs


def test_raters_who_labelled_nothing_twice_are_none() -> None:
    """The fourth labelled only what nobody else did: the table of the others is full."""
    rng = np.random.default_rng(5)
    labels = rng.normal(size=(3, 12)) + np.array([[0], [1], [3]])
    wider = np.full((4, 14), nan)
    wider[:3, :12] = labels
    wider[3, 12:], wider[0, 12] = 1.0, nan
    plain, extended = (psy.rater_share(table, rng) for table in (labels, wider))
    assert fields_of(extended) == fields_of(plain)
    assert (extended.n_raters, extended.n_answers, extended.n_labels) == (3, 12, 36)
    total = plain.answers + plain.raters + plain.residual
    assert plain.share.value == pytest.approx(plain.raters / total)
    for subset, raters, answers in ((labels[:, :9], 3, 9), (labels[:1], 0, 0)):
        study = psy.rater_share(subset, rng)
        assert (study.share.status, study.n_raters, study.n_answers) == (
            "insufficient",
            raters,
            answers,
        )
        assert math.isnan(study.residual)


def test_two_way_mean_squares_by_hand() -> None:
    """(MS - MSE) / n of both effects."""
    x = np.random.default_rng(6).normal(size=(4, 15)) + np.arange(15) + 5 * np.arange(4)[:, None]
    answers, raters = x.mean(axis=0), x.mean(axis=1)
    residuals = x - answers - raters[:, None] + x.mean()
    residual = (residuals**2).sum() / (3 * 14)
    study = psy.rater_share(x, np.random.default_rng(0))
    assert study.residual == pytest.approx(residual)
    assert study.raters == pytest.approx(raters.var(ddof=1) - residual / 15)
    assert study.answers == pytest.approx(answers.var(ddof=1) - residual / 4)


def test_labels_are_pooled_by_counting() -> None:
    labels = [[1, 1, 2, 1, nan, 5], [1, 0, 2, nan, nan, 6], [0, nan, 3, nan, nan, 7]]
    assert psy.pooled_labels(labels) == pytest.approx([1, nan, 2, 1, nan, nan], nan_ok=True)
    means = [2 / 3, 1 / 2, 7 / 3, 1, nan, 6]
    assert psy.pooled_labels(labels, "mean") == pytest.approx(means, nan_ok=True)
    for wrong in (labels, [[0.5]], [[-1, 1]]):
        with pytest.raises(ValueError, match="0 or 1"):
            psy.pooled_labels(wrong, "dawid-skene")
    nobody = psy.dawid_skene([[nan, nan]])
    assert np.isnan(nobody.truth).all()
    assert (nobody.prevalence, nobody.sensitivity[0], nobody.specificity[0]) == (0.5, 0.8, 0.8)


def test_replicates_of_labels_that_are_no_yes_or_no() -> None:
    """What a single rater said stays; of two raters one, the other or both are drawn."""
    labels = np.array([[1, 4, nan], [3, nan, nan]])
    rows = psy.rater_replicates(labels, "mean", np.random.default_rng(7))
    assert rows.shape == (200, 3)
    assert set(rows[:, 0]) == {1, 2, 3}
    assert (rows[:, 1] == 4).all()
    assert np.isnan(rows[:, 2]).all()
    assert (rows[:, 0] == 2).mean() == pytest.approx(0.5, abs=4 * math.sqrt(0.25 / 200))
    majority_replicates = psy.rater_replicates(
        labels, "majority", np.random.default_rng(7), replicates=9
    )
    assert np.isnan(majority_replicates[:, 0]).all(), (
        "without a majority there is no label to change"
    )
    assert (majority_replicates[:, 1] == 4).all()


# -- correlations over answers, and agreement in one study


def leave_out_each(picture: np.ndarray, statistic: Callable[[np.ndarray], float]) -> np.ndarray:
    return np.array([statistic(picture != p) for p in np.unique(picture)])


CORRELATIONS = {
    "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
    "spearman": lambda x, y: stats.spearmanr(x, y).statistic,
    "tau_b": lambda x, y: stats.kendalltau(x, y).statistic,
}


@pytest.mark.parametrize("pictures", [4, 120])
@pytest.mark.parametrize("name", CORRELATIONS)
def test_a_correlation_is_left_out_by_picture_or_group_of_pictures(
    name: str, pictures: int
) -> None:
    """Student's interval on Fisher's scale; of more than a hundred pictures, over a hundred groups."""
    rng = np.random.default_rng(8)
    member = np.repeat(np.arange(pictures), 5 if pictures == 4 else 2)
    human = rng.integers(0, 5, len(member)).astype(float)
    automatic = np.round(human + rng.normal(0, 2, len(member)))
    order = rng.permutation(len(member))
    a, h, labels = automatic[order], human[order], 7 * member[order]
    result = getattr(psy.answer_correlations(a, h, labels, level=0.9), name)
    groups = min(pictures, 100)
    group = member[order] * groups // pictures
    statistic = CORRELATIONS[name]
    z = np.arctanh(leave_out_each(group, lambda stay: statistic(a[stay], h[stay])))
    error = math.sqrt((groups - 1) / groups * ((z - z.mean()) ** 2).sum())
    value = statistic(a, h)
    half = stats.t.ppf(0.95, groups - 1) * error
    ends = [math.tanh(math.atanh(value) + side * half) for side in (-1, 1)]
    assert result.value == pytest.approx(value)
    assert result.fixed is not None
    assert (result.fixed.low, result.fixed.high) == pytest.approx(ends)
    assert (result.level, result.fixed.level) == (0.9, 0.9)
    three = psy.answer_correlations(a, h, member[order] % 3)
    assert getattr(three, name).fixed is None


def test_which_answers_have_a_correlation() -> None:
    x, y = [1.0, 2, 3, nan, 4], [1.0, 3, 2, 4, nan]
    two_answers = psy.answer_correlations(x[:2], y[:2])
    assert (two_answers.tau_b.status, two_answers.tau_b.n) == ("insufficient", 2)
    three = psy.answer_correlations(x, y)
    assert (three.pearson.value, three.tau_b.value) == pytest.approx((0.5, 1 / 3))
    lost = psy.answer_correlations(x, y, weights=[1, 1, nan, 1, 1])
    assert (lost.spearman.status, lost.spearman.n) == ("insufficient", 2)
    for a, h in (([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [2, 2, 2])):
        level = psy.answer_correlations(a, h)
        assert (level.pearson.status, level.tau_b.status, level.spearman.n) == (
            "degenerate",
            "degenerate",
            3,
        )
    perfect = psy.answer_correlations([1, 2, 3, 4, 5], [2, 4, 6, 8, 10])
    assert (perfect.tau_b.value, perfect.tau_b.fixed, perfect.pearson.fixed) == (1, None, None)
    large_study = psy.answer_correlations(np.arange(20_001.0), np.arange(20_001.0))
    assert (large_study.pearson.status, large_study.pearson.n) == ("insufficient", 20_001)


def test_the_difference_of_two_metrics_by_leaving_out_pictures() -> None:
    """t = z / SE(z) with pictures left out; p by Holm over the three pairs of a correlation."""
    rng = np.random.default_rng(9)
    labels, pictures = rng.normal(size=60), np.repeat(np.arange(20), 3)
    metrics = {name: labels + rng.normal(0, s, 60) for name, s in (("c", 2), ("a", 0.5), ("b", 1))}
    study = psy.metrics_beside_people(metrics, labels, pictures)
    assert (study.n, study.pictures, study.status) == (60, 20, "ok")
    rows = iter(study.differences)
    for statistic, correlation in CORRELATIONS.items():
        r = {name: correlation(values, labels) for name, values in metrics.items()}
        left = {
            name: leave_out_each(
                pictures,
                lambda stay, v=values, correlation=correlation: correlation(v[stay], labels[stay]),
            )
            for name, values in metrics.items()
        }
        order = sorted(r, key=lambda name: -r[name])
        expected = []
        for first, second in ((0, 1), (0, 2), (1, 2)):
            first_name, second_name = order[first], order[second]

            def error(values: np.ndarray) -> float:
                return math.sqrt(19 / 20 * ((values - values.mean()) ** 2).sum())

            z = math.atanh(r[first_name]) - math.atanh(r[second_name])
            p = 2 * stats.t.sf(
                abs(z) / error(np.arctanh(left[first_name]) - np.arctanh(left[second_name])), 19
            )
            half = stats.t.ppf(0.975, 19) * error(left[first_name] - left[second_name])
            expected.append((first_name, second_name, r[first_name] - r[second_name], half, p))
        sorted_p = sorted(comparison[-1] for comparison in expected)
        steps = np.minimum(np.maximum.accumulate(np.array(sorted_p) * [3, 2, 1]), 1)
        for first_name, second_name, gap, half, p in expected:
            row = next(rows)
            assert (row.statistic, row.first, row.second) == (statistic, first_name, second_name)
            assert (row.difference.value, row.difference.low, row.difference.high) == (
                pytest.approx((gap, gap - half, gap + half))
            )
            assert row.p == pytest.approx(steps[sorted_p.index(p)])
    assert next(rows, None) is None


def test_metrics_that_cannot_be_told_apart_have_no_p() -> None:
    labels = np.random.default_rng(10).normal(size=12)
    noisy_labels = labels + np.random.default_rng(11).normal(size=12)
    twice = psy.metrics_beside_people({"a": noisy_labels, "b": noisy_labels.copy()}, labels)
    row = twice.differences[0]
    assert (row.difference.value, row.first) == (0, "a")
    assert math.isnan(row.p)
    assert math.isnan(row.difference.low)
    three_pictures = psy.metrics_beside_people(
        {"a": noisy_labels, "b": labels**3}, labels, np.arange(12) % 3
    )
    assert math.isnan(three_pictures.differences[0].p)
    assert three_pictures.pictures == 3
    four_pictures = psy.metrics_beside_people(
        {"a": noisy_labels, "b": labels**3}, labels, np.arange(12) % 4
    )
    assert math.isfinite(four_pictures.differences[0].p)
    level = psy.metrics_beside_people({"a": noisy_labels, "b": np.ones(12)}, labels)
    assert (level.status, level.n, level.pictures) == ("degenerate", 12, 12)
    assert level.correlations["a"].pearson.status == "ok"


def test_a_score_that_one_picture_alone_moves_has_no_interval() -> None:
    labels = np.random.default_rng(13).normal(size=12)
    single_picture = np.where(np.arange(12) < 2, labels, 0.0)
    study = psy.metrics_beside_people(
        {"a": labels**3, "b": single_picture}, labels, np.arange(12) // 2
    )
    assert [math.isnan(row.p) for row in study.differences] == [True] * 3
    for name, has_interval in (("a", True), ("b", False)):
        correlations = study.correlations[name]
        assert (correlations.pearson.fixed is not None) == has_interval
        assert (correlations.tau_b.fixed is not None, correlations.spearman.value > 0) == (
            False,
            True,
        )


def test_raters_widen_what_is_known_and_no_end_beyond_1() -> None:
    values = np.random.default_rng(12).normal(0.2, 0.4, 30)
    extra = stats.norm.ppf(0.975) * values.std(ddof=1)
    open_end = psy.Coefficient(0.2, low=-0.3, high=math.inf)
    wide = psy.with_raters(open_end, values)
    assert (wide.low, wide.high) == (
        pytest.approx(max(-1.0, 0.2 - math.hypot(0.5, extra))),
        math.inf,
    )
    assert wide.fixed is None
    wide_interval = psy.Coefficient(
        0.2, low=-0.9, high=0.95, fixed=psy.ConfidenceInterval(-0.95, 0.9, "items", 0.95)
    )
    cut = psy.with_raters(wide_interval, values)
    assert (cut.low, cut.high) == (-1, 1)
    assert cut.fixed is not None
    assert (cut.fixed.low, cut.fixed.high, cut.fixed.level) == (-1, 1, 0.95)
    assert cut.fixed.method == "items, raters' errors"
    without_interval = psy.with_raters(psy.Coefficient(0.2), values)
    assert np.isnan([without_interval.low, without_interval.high]).all()
    absent = psy.Coefficient.absent("insufficient", "why")
    assert psy.with_raters(absent, values) is absent
