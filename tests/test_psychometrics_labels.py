"""Statistics of people's labels against scipy and statsmodels, and against sums by hand."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa

import hqm.psychometrics as psy


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
    alone = psy.weighted_agreement(automatic, human, np.arange(200))
    plain = np.array([[((automatic == a) & (human == h)).sum() for h in (0, 1)] for a in (0, 1)])
    theirs = cohens_kappa(plain)
    assert alone.kappa.fixed is not None
    assert alone.kappa.fixed.high - alone.kappa.fixed.low == pytest.approx(
        theirs.kappa_upp - theirs.kappa_low, rel=0.2
    )


def test_raters_widen_an_interval_by_their_own_variance() -> None:
    narrow = psy.Coefficient(0.5, low=0.4, high=0.7, fixed=psy.Bounds(0.47, 0.53, "pictures", 0.95))
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
        width = psy.expected_width(np.ones(2000), np.full(2000, 0.3), np.full(2000, p))
        assert width == pytest.approx(2 * 1.959964 * math.sqrt(0.3 * 0.7 / labels), rel=1e-6)
    scores = np.tile([1.0, 0.0], 1000)
    right = psy.expected_width(scores, np.zeros(2000), np.full(2000, 0.1))
    assert right == pytest.approx(2 * 1.959964 * math.sqrt(0.25 / 2000), rel=1e-6), (
        "scores that never err need no labels"
    )
    assert math.isnan(psy.expected_width([1.0], [0.1], [0.5]))


def test_doubtful_answers_are_labelled_more_often_up_to_certainty() -> None:
    """u = sqrt(q (1 - q)): of 0.5, 0.4 and 0.3 with labels for all but a tenth of an answer."""
    u = np.array([0.2, 0.8, 0.5])
    q = (1 - np.sqrt(1 - 4 * u**2 / 4)) / 2
    assert np.sqrt(q * (1 - q)) == pytest.approx(u / 2)
    share = 0.8 * u / 1.5 + 0.2 / 3
    for labels in (0.5, 1.9):
        assert psy.active_probabilities(q, labels) == pytest.approx(labels * share)
    # 2.1 x .4933 = 1.036 is cut at 1, and what is left goes to the other two by their shares
    cut = psy.active_probabilities(q, 2.1)
    assert cut[1] == 1.0
    assert cut[[0, 2]] == pytest.approx(1.1 * share[[0, 2]] / share[[0, 2]].sum())
    # 1.9 x .333 / .5067 = 1.25 is cut in its turn
    assert psy.active_probabilities(q, 2.9) == pytest.approx([0.9, 1.0, 1.0])
    assert psy.active_probabilities(q, 3).tolist() == [1.0] * 3
    assert psy.active_probabilities([0.3] * 3, 3).tolist() == [1.0] * 3
    assert psy.active_probabilities(q, 1.5, 0) == pytest.approx([0.5] * 3)
    assert psy.active_probabilities([math.nan] * 4, 1).tolist() == [0.25] * 4
    assert psy.active_probabilities([0.0, math.nan, 1.0], 1.5).tolist() == [0.5] * 3
    mixed = psy.active_probabilities([0.5, math.nan, 0.5], 1, 0.5)
    assert mixed == pytest.approx([1 / 3] * 3), "who is unknown is as doubtful as the others"
    for wrong in (([0.5], 0.0, 0.5), ([0.5], 1.01, 0.5), ([0.5], 1, 0.81), ([1.01], 1, 0.5)):
        with pytest.raises(ValueError, match="tau is 0 to 0.8, labels 1 to 1"):
            psy.active_probabilities(*wrong)


def test_a_systematic_sample_takes_an_answer_wherever_a_whole_number_is_passed() -> None:
    """Madow: of cumulative sums those steps that hold a start, the start plus 1, and so on."""
    p = np.array([0.5, 0.25, 0.75, 1.0, 0.1, 0.0, 0.4])
    for seed in range(20):
        start = np.random.default_rng(seed).random()
        ends = [0.0, 0.5, 0.75, 1.5, 2.5, 2.6, 2.6, 3.0]
        wanted = [
            any(low <= start + k < high for k in range(3)) for low, high in itertools.pairwise(ends)
        ]
        chosen = psy.systematic_sample(p, np.random.default_rng(seed))
        assert chosen.tolist() == wanted
        assert chosen.sum() == 3
    thirds = [psy.systematic_sample([1 / 3] * 9, np.random.default_rng(k)).sum() for k in range(9)]
    assert set(thirds) == {3}, "dust of a sum takes no answer away"
    assert psy.systematic_sample([], np.random.default_rng(0)).shape == (0,)


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
    assert psy.expected_width(a, q, p) == pytest.approx(math.sqrt(width), rel=1e-6)
    gap = np.append(a, [0.5, np.nan]), np.append(q, [np.nan, 0.5]), np.append(p, [0.5, 0.5])
    assert psy.expected_width(*gap) == psy.expected_width(a, q, p), "what is unknown is left out"
    sampled, whole = (psy.expected_width(a, q, p, **{k: 0.0}) for k in ("alike", "together"))
    assert math.hypot(sampled, whole) == pytest.approx(math.sqrt(width), rel=1e-6)
    narrow = psy.expected_width(a, q, p, level=0.5)
    assert narrow == pytest.approx(math.sqrt(width) * stats.norm.ppf(0.75) / stats.norm.ppf(0.975))


def test_two_answers_have_a_width_and_one_has_none() -> None:
    assert math.isnan(psy.expected_width([1.0], [0.5], [0.5]))
    assert math.isnan(psy.expected_width([1.0, np.nan], [0.5, 0.5], [0.5, 0.5]))
    # both labels are as likely 0 as 1: (1 - p) / p / 4 of each, and 1/4 of two
    pair = psy.expected_width([1.0, 0.0], [0.5, 0.5], [0.5, 0.2])
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
    apart = min(0.5, max(sum(differing) / sum(others), 1 / (2 * sum(others) + 2)))
    e = (1 - math.sqrt(1 - 2 * apart)) / 2
    expected = []
    for k, n in zip(differing, others, strict=True):
        wrong, right = math.log(e) * (1 + n - k) + math.log(1 - e) * k, 0.0
        right = math.log(1 - e) * (1 + n - k) + math.log(e) * k
        expected.append(1 / (1 + math.exp(min(700.0, right - wrong))))
    result = psy.errors_from_disagreement(differing, others)
    assert result == pytest.approx(expected)
    gap = psy.errors_from_disagreement([*differing, 0], [*others, 0])
    assert gap[:-1].tolist() == result.tolist()
    assert math.isnan(gap[-1])
    assert np.isnan(psy.errors_from_disagreement([0, 0], [0, 0])).all()


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
    weights, apart, parts = [], [], np.zeros(30)
    counts = [0, 0]
    for m in (0, 2):
        there = np.isfinite(scores[m])
        marked = there & np.isfinite(human[m])
        rest = there & ~marked
        n, u = marked.sum(), rest.sum()
        counts[0] += n
        counts[1] += u
        weights.append(n * u / (n + u))
        apart.append(scores[m, marked].mean() - scores[m, rest].mean())
        mean = scores[m, there].mean()
        parts[there] += (marked[there] - n / (n + u)) * (scores[m, there] - mean)
    sums = np.array([parts[clusters == name].sum() for name in np.unique(clusters)])
    z = sums.sum() / math.sqrt(11 / 10 * (sums**2).sum())
    assert (result.labelled, result.unlabelled) == tuple(counts)
    assert result.difference == pytest.approx(np.average(apart, weights=weights))
    assert (result.z, result.p) == pytest.approx((z, 2 * stats.t.sf(abs(z), 10)))
    assert (result.status, result.reason) == ("ok", "")
    for whole in (np.full((4, 30), np.nan), np.ones((4, 30))):
        none = psy.labels_at_random(scores, whole)
        assert (none.status, none.labelled, none.unlabelled) == ("not_applicable", 0, 0)
        assert math.isnan(none.difference)
        assert math.isnan(none.p)
    few = psy.labels_at_random(scores, human, np.arange(30) % 9)
    assert few.status == "insufficient"
    assert few.reason.endswith("there are 9")
    assert few.difference == pytest.approx(result.difference)
    assert (few.labelled, few.unlabelled) == tuple(counts)
    same = psy.labels_at_random(np.ones((4, 30)), human)
    assert (same.status, same.difference) == ("insufficient", 0.0)
    assert psy.labels_at_random(scores, human, np.zeros(30)).status == "insufficient"
