"""Functions that other tests reach through an audit alone, each held whole: against numpy, scipy
and loops over its published formula, and at the ends of what it says.
"""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, stats

from hqm import psychometrics as psy
from hqm.psychometrics.items import type_strengths
from hqm.psychometrics.items.item_response_models import fit
from hqm.psychometrics.items.wrong_keys import USUAL_CONTRADICTION
from hqm.psychometrics.reliability import compare_reliability
from hqm.psychometrics.reliability.compare_reliability import LeaveOneOutScores
from hqm.psychometrics.reliability.consistency import relative_error
from hqm.psychometrics.validity.correction import ppi_scores
from hqm.psychometrics.validity.criterion import MIN_UNITS, with_raters
from hqm.psychometrics.variance.variance_components import (
    corrected_half_width,
    has_floor_or_ceiling_effect,
    solve_equations,
)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_equations_are_solved_in_any_unit(size: int) -> None:
    """Each row and each column may have its own unit, and a stack of systems is solved as one."""
    rng = np.random.default_rng(size)
    matrices, totals = rng.normal(size=(5, size, size)), rng.normal(size=(5, size))
    units = 10.0 ** np.linspace(-9, 9, size)
    expected = np.linalg.solve(matrices, totals[..., None])[..., 0]
    values, singular = solve_equations(matrices, totals)
    assert values == pytest.approx(expected, rel=1e-8)
    assert not singular
    for scaled, right, answers in (
        (matrices * units, totals, expected / units),
        (matrices * units[:, None], totals * units, expected),
    ):
        values, singular = solve_equations(scaled, right)
        assert not singular
        assert (values / answers) == pytest.approx(np.ones_like(answers), rel=1e-8)


def test_equations_without_a_solution_have_none() -> None:
    good, bad = np.array([[2.0, 1], [1, 3]]), np.array([[1.0, 2], [2, 4]])
    counts, totals = np.stack([good, bad]), np.array([[3.0, 5], [1, 1]])
    values, singular = solve_equations(counts, totals)
    assert singular
    assert np.isnan(values).all()
    values, singular = solve_equations(counts, totals, skip_singular=True)
    assert values[0] == pytest.approx([0.8, 1.4])
    assert np.isnan(values[1]).all()
    assert not singular
    values, singular = solve_equations(np.zeros((2, 2)), np.zeros(2), skip_singular=True)
    assert np.isnan(values).all()
    # what cancels to rounding is nothing
    values, _ = solve_equations(np.array([[1.0, 1], [1, -1]]), np.array([0.3, 0.1 + 0.2]))
    assert values[1] == 0


@pytest.mark.parametrize("min_share", [0.25, 0.5])
@pytest.mark.parametrize("twice", [0.0, 0.1, 0.3, 0.9])
@pytest.mark.parametrize("clusters", [3, 40])
def test_half_of_students_interval_without_the_noise_that_is_found_twice(
    twice: float, clusters: int, min_share: float
) -> None:
    left = max(0.4 - twice, 0.4 * min_share)
    freedom = max((clusters - 1) * (left / 0.4) ** 2, 2)
    for level in (0.8, 0.95):
        half = corrected_half_width(0.4, twice, clusters, level, min_share=min_share)
        assert half == pytest.approx(stats.t.ppf(0.5 + level / 2, freedom) * math.sqrt(left))
    assert corrected_half_width(0.0, 0.0, 5, 0.95) == 0


def test_omega_needs_more_respondents_than_types() -> None:
    kinds = list("aaaabbbbcccc")
    small_matrix = np.random.default_rng(0).random((3, 16))
    study = psy.omega_of_types(small_matrix, list("aaaabbbbccccdddd"))
    assert (study.status, study.n) == ("not_applicable", 3)
    assert psy.omega_of_types(small_matrix[:, :12], kinds).status == "not_applicable"
    assert psy.omega_of_types(small_matrix[:2, :12], kinds).status == "insufficient"
    assert psy.omega_of_types(small_matrix[:, :8], list("aaaabbbb")).status == "insufficient"
    with pytest.raises(ValueError, match="3"):
        psy.omega_of_types(small_matrix, list("abc"))


@pytest.mark.parametrize("counted", [None, 20])
def test_the_order_of_each_pair_of_runs(counted: int | None) -> None:
    scores = np.array([0.5, 0.55, 0.5, 0.8, 0.8, math.nan])
    noise = np.array([0.002, 0.001, 0.003, 0.0, 0.0, 0.001])
    study = psy.pair_order(scores, noise, n_items=counted)
    step = 0.5 / counted if counted else 0.0
    squares, signs = [], []
    for a, b in itertools.permutations(range(6), 2):
        if 5 in (a, b):
            assert math.isnan(study.probability_above[a, b])
            assert math.isnan(study.flip[a, b])
            continue

        def probability_above(a: int, b: int) -> float:
            gap, error = scores[a] - scores[b], math.sqrt(noise[a] + noise[b])
            return float(stats.norm.cdf((gap - step) / error)) if error else float(gap > 0)

        assert study.probability_above[a, b] == pytest.approx(probability_above(a, b))
        assert study.flip[a, b] == pytest.approx(
            2 * probability_above(a, b) * probability_above(b, a)
        )
        if a < b:
            signed = probability_above(a, b) - probability_above(b, a)
            squares.append(signed**2)
            signs.append(signed * np.sign(scores[a] - scores[b]))
    assert (study.probability_above[3, 4], study.flip[3, 4]) == (0, 0), (
        "a tie without noise is no order"
    )
    assert np.isnan(np.diag(study.flip)).all()
    assert study.expected_tau == pytest.approx(np.mean(squares))
    assert study.tau_to_truth == pytest.approx(np.mean(signs))
    upper = study.flip[np.triu_indices(6, 1)]
    assert study.mean_flip == pytest.approx(upper[np.isfinite(upper)].mean())


@pytest.mark.parametrize("higher", [True, False])
def test_the_sizes_of_top_sets(higher: bool) -> None:
    """1, 3, 5 and 10 by default, as far as there are more respondents."""
    scores, noise = np.linspace(0.2, 0.8, 12), np.full(12, 0.002)
    for n, sizes in ((12, [1, 3, 5, 10]), (10, [1, 3, 5]), (3, [1])):
        study = psy.rank_stability(
            scores[:n], noise[:n], np.random.default_rng(0), draws=50, higher_is_better=higher
        )
        assert [top.k for top in study.top] == sizes
        assert [top.chance for top in study.top] == [k / n for k in sizes]
        assert study.top[0].overlap == study.top[0].same_set == study.same_winner
    # the best alone has noise enough to lose its place
    single_variance = np.where(np.arange(12) == (11 if higher else 0), 0.02, 1e-9)
    study = psy.rank_stability(
        scores, single_variance, np.random.default_rng(0), draws=200, higher_is_better=higher
    )
    assert study.same_winner < 0.9
    worst = psy.rank_stability(
        scores, single_variance[::-1], np.random.default_rng(0), draws=200, higher_is_better=higher
    )
    assert worst.same_winner == 1


@pytest.mark.parametrize("weight", [None, 0.4])
@pytest.mark.parametrize("size", [1.0, 0.1, -1.0])
def test_a_prediction_counts_from_nothing_to_in_full(size: float, weight: float | None) -> None:
    """Labels of a wider scale than the scores would have a weight above 1, contrary ones below 0."""
    rng = np.random.default_rng(1)
    human = (rng.random(200) < 0.6).astype(float)
    judge = 0.5 + size * (np.where(rng.random(200) < 0.9, human, 1 - human) - 0.5)
    labels = np.where(np.arange(200) < 80, human, np.nan)
    study = ppi_scores(judge[None], labels[None], weight=weight)
    slope = np.cov(human[:80], judge[:80])[0, 1] / (1 + 80 / 120) / judge.var(ddof=1)
    assert not 0 <= slope <= 1 or size == 1
    trust = float(np.clip(slope, 0, 1)) if weight is None else weight
    assert study.lambdas == (pytest.approx(trust),)
    value = (human[:80] - trust * judge[:80]).mean() + trust * judge[80:].mean()
    assert study.scores[0].value == pytest.approx(value)
    assert study.automatic == pytest.approx((judge.mean(),))


@pytest.mark.parametrize(
    ("rate", "sensitivity", "specificity"),
    [(0.97, 0.9, 0.9), (0.05, 0.9, 0.9), (0.5, 0.8, 0.7), (0.99, 0.99, 0.6)],
)
def test_a_corrected_share_stays_a_share(
    rate: float, sensitivity: float, specificity: float
) -> None:
    study = psy.rogan_gladen(rate, 50, sensitivity, 12, specificity, 15)
    z = stats.norm.ppf(0.975)
    raw = (rate + specificity - 1) / (sensitivity + specificity - 1)
    q1, q0 = (12 * sensitivity + 1) / 14, (15 * specificity + 1) / 17
    p = (50 * rate + z**2 / 2) / (50 + z**2)
    theta = (p + q0 - 1) / (q0 + q1 - 1)
    e1, e0 = q1 * (1 - q1) / 14, q0 * (1 - q0) / 17
    variance = p * (1 - p) / (50 + z**2) + theta**2 * e1 + (1 - theta) ** 2 * e0
    se = math.sqrt(variance) / (q0 + q1 - 1)
    middle = theta + 2 * z**2 * (theta * e1 - (1 - theta) * e0)
    assert study.value == pytest.approx(np.clip(raw, 0, 1))
    assert (study.low, study.high) == pytest.approx(
        np.clip([middle - z * se, middle + z * se], 0, 1)
    )
    assert study.se == pytest.approx(se)
    assert study.flags == (("CAPPED",) if not 0 <= raw <= 1 else ())


def test_items_that_answers_and_people_accuse_by_loops() -> None:
    rng = np.random.default_rng(2)
    scored = (rng.random((6, 30)) < 0.7).astype(float)
    labels = np.where(rng.random(scored.shape) < 0.05, 1 - scored, scored)
    labels[:, 20:] = np.nan
    labels[3:, :10] = np.nan
    labels[:, 4] = np.where(np.isfinite(labels[:, 4]), 1 - scored[:, 4], np.nan)
    labels[:, 12] = 1 - scored[:, 12]
    chances = np.full(30, 0.02)
    chances[[4, 7]] = 0.9, 0.5
    study = psy.contradicted_items(scored, labels, chances=chances)
    n = [sum(map(math.isfinite, column)) for column in labels.T]
    k = [int((np.abs(scored[:, i] - labels[:, i]) == 1).sum()) for i in range(30)]
    usual, p, error = [], [], []
    for i in range(30):
        other_rate = (sum(k) - k[i]) / (sum(n) - n[i])
        usual.append(min(0.5, max(2 * other_rate, USUAL_CONTRADICTION)))
        p.append(min(1.0, 20 * stats.binom.sf(k[i] - 1, n[i], usual[i])) if n[i] else 1.0)
        odds = chances[i] / (1 - chances[i]) * ((1 - usual[i]) / usual[i]) ** (2 * k[i] - n[i])
        # c' is the chance of a wrong key once the labels are read; what is left is that of none
        error.append(1 / (1 + odds) if k[i] else 1.0)
    by_labels = {i for i in range(30) if n[i] and p[i] < 0.05 and 2 * k[i] >= n[i]}
    order = sorted(range(30), key=lambda i: error[i])
    sure: set[int] = set()
    for count in range(1, 31):
        if sum(error[i] for i in order[:count]) <= 0.05 * count:
            sure = set(order[:count])
    assert by_labels == {12}
    assert sure == {4, 12}
    rows = {row.item: row for row in study.items}
    assert set(rows) == by_labels | sure
    for i, row in rows.items():
        assert (row.contradicted, row.answers) == (k[i], n[i])
        assert row.p == pytest.approx(min(p[i], error[i]) if i in sure else p[i])
    assert [row.p for row in study.items] == sorted(row.p for row in study.items)
    share = np.mean([u for u, n_items in zip(usual, n, strict=True) if n_items])
    assert study.usual == pytest.approx(share)
    assert study.min_labels == math.ceil(math.log(0.05 / 20) / math.log(share))
    assert study.tested == 20
    turned = psy.contradicted_items(scored, 1 - scored)
    assert (turned.status, turned.min_labels, turned.tested, turned.items) == (
        "degenerate",
        0,
        30,
        (),
    )
    assert math.isnan(turned.usual)


def leave_one_out_samples(seed: int, respondents: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores of halves of types, abilities of halves, and the information of an answer."""
    rng = np.random.default_rng(seed)
    kinds = np.repeat(["a", "b", "c"], 12)
    size = (0.3, 0.6, 1.0, 1.5, 2.5)[seed % 5]
    logits = size * np.repeat(rng.normal(size=(respondents, 3)), 12, axis=1)
    logits = logits + rng.normal(size=(respondents, 1)) + rng.normal(size=36)
    return (rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(float), kinds, logits


@pytest.mark.parametrize("respondents", [6, 14])
def test_what_types_have_of_their_own_by_loops(
    respondents: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type_strengths, "_detectable_sd", lambda *_: 0.25)
    decided = set()
    for seed in range(15):
        scores, kinds, _ = leave_one_out_samples(seed, respondents)
        scores = scores[[0 < row.mean() < 1 for row in scores]]
        m = len(scores)
        if m < 5:
            continue
        study = psy.dimensionality(scores, kinds, rng=np.random.default_rng(seed), permutations=9)
        side = np.random.default_rng(seed).permutation(36) % 2
        abilities_of = type_strengths.rasch_residuals(scores).abilities
        halves = []
        for half in (0, 1):
            columns = []
            for kind in "abc":
                strength = abilities_of((side == half) & (kinds == kind)) - abilities_of(
                    side == half
                )
                line = stats.linregress(abilities_of((side == half) & (kinds != kind)), strength)
                ability = abilities_of((side == half) & (kinds != kind))
                columns.append(strength - line.intercept - line.slope * ability)
            halves.append(np.array(columns))
        first, second = halves
        covariances = [first[k] @ second[k] / ((m - 2) * (1 - 1 / 3)) for k in range(3)]
        variance = max(0.0, float(np.mean(covariances)))
        half_abilities = [abilities_of(side == half) for half in (0, 1)]
        common = max(0.0, np.cov(*half_abilities)[0, 1] - variance / 3)
        assert study.type_sd == pytest.approx(math.sqrt(variance))
        assert study.by_type == tuple(
            (kind, 12, pytest.approx(math.sqrt(max(0.0, value))))
            for kind, value in zip("abc", covariances, strict=True)
        )
        if common + variance > 0:
            assert study.shared == pytest.approx(common / (common + variance))
        # what is common, less a type's own, without each respondent; the own part of both ability
        # and type is a third and a whole of (sum of products) / ((M - 3) (K - 1))
        leave_one_out = []
        for i in range(m):
            product = sum(np.delete(first[k], i) @ np.delete(second[k], i) for k in range(3))
            error_variance = product / ((m - 3) * 2)
            leave_one_out.append(
                np.cov(*(np.delete(abilities, i) for abilities in half_abilities))[0, 1]
                - error_variance
                - error_variance / 3
            )
        error = math.sqrt(
            (m - 1) / m * sum((x - np.mean(leave_one_out)) ** 2 for x in leave_one_out)
        )
        highest = np.mean(leave_one_out) + stats.t.ppf(0.95, m - 1) * error
        assert study.mostly_own == (highest < 0)
        decided.add(study.mostly_own)
        assert (study.n, study.n_items, study.visible) == (m, 36, 0.25)
    assert decided == {False, True} or respondents == 6


def test_the_own_part_that_a_design_finds_by_drawing_it() -> None:
    """Halves drawn with the errors of the types' answers: what is called visible is found four times
    of five, and less is found less often.
    """
    rng = np.random.default_rng(4)
    scores, kinds, _ = leave_one_out_samples(1, 10)
    fitted = type_strengths.rasch_residuals(scores)
    side = np.arange(36) % 2
    size = type_strengths._detectable_sd(fitted, kinds, ["a", "b", "c"], side, rng)
    assert 0.1 < size < 2
    line = np.stack([np.ones(10), fitted.ability], axis=1)
    directions = np.linalg.qr(line, mode="complete")[0][:, 2:].T
    power = {}
    for true_size in (size / 2, size):
        hits = 0
        for _ in range(150):
            strength = true_size * math.sqrt(2 / 3) * rng.normal(size=(3, 10))
            halves = []
            for half in (0, 1):
                noisy = []
                for k, kind in enumerate("abc"):
                    in_half = (side == half) & (kinds == kind)
                    error = 1 / np.sqrt(fitted.information[:, in_half].sum(axis=1))
                    value = strength[k] + error * rng.normal(size=10)
                    noisy.append(value)
                halves.append(np.array(noisy).T)
            first, second = (directions @ half for half in halves)
            hits += type_strengths._p_values(first[None], second[None], rng, 199)[0] <= 0.05
        power[true_size] = hits / 150
    assert power[size] == pytest.approx(0.83, abs=0.12)
    assert power[size / 2] < 0.65


def test_two_measures_of_unequal_numbers_of_administrations_are_drawn_apart() -> None:
    """The drawn part of each has its own administrations, first those of the first."""
    rng = np.random.default_rng(6)
    trait = rng.normal(size=9)
    measures = []
    for runs, names in ((2, range(12)), (3, range(6, 18))):
        scores = trait + 0.4 * rng.normal(size=(runs, 9))
        influence = 0.05 * rng.normal(size=(runs, 9, 12))
        measures.append(
            LeaveOneOutScores(
                scores,
                scores[:, :, None] - influence,
                [str(c) for c in names],
                None,
                None,
            )
        )
    first, second = measures
    error = compare_reliability._bootstrap_error(
        first, second, "icc_a1", (1.0, 1.0), np.random.default_rng(0), 2000
    )
    differences = []
    centres = [compare_reliability._shrink_scores(m.scores, m.influence) for m in measures]
    for _ in range(1000):
        g = dict(zip(map(str, range(18)), rng.standard_normal(18), strict=True))
        z = []
        for measure, centre in zip(measures, centres, strict=True):
            multipliers = np.array([g[name] for name in measure.clusters])
            moved = centre + measure.influence @ multipliers
            rows, columns = (moved.mean(axis=axis, keepdims=True) for axis in (0, 1))
            k, n = moved.shape
            msr, msc = k * rows.var(ddof=1), n * columns.var(ddof=1)
            residual_mean_square = ((moved - rows - columns + moved.mean()) ** 2).sum() / (
                (n - 1) * (k - 1)
            )
            a1 = (msr - residual_mean_square) / (
                msr + (k - 1) * residual_mean_square + k * (msc - residual_mean_square) / n
            )
            z.append(math.atanh(a1))
        differences.append(z[0] - z[1])
    assert error == pytest.approx(np.std(differences, ddof=1), rel=0.1)


@pytest.mark.parametrize(("respondents", "items"), [(60, 5), (5, 45)])
def test_a_model_of_answers_that_lack_some_is_the_likeliest(respondents: int, items: int) -> None:
    """On one grid and on each respondent's own points, by a rule with 60 points for the integral."""
    rng = np.random.default_rng(7)
    logits = rng.normal(size=(respondents, 1)) * 1.2 + np.linspace(-1, 1, items)
    x = (rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(float)
    x[rng.random(x.shape) < 0.25] = np.nan
    rate = np.nanmean(x, axis=0)
    x = x[:, (rate > 0) & (rate < 1)]
    counts = np.where(np.arange(len(x)) % 3 == 0, 2.0, 1.0)
    fitted = fit(x, counts)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)

    def likelihood(parameters: np.ndarray) -> float:
        p = 1 / (1 + np.exp(-(parameters[0] * nodes[:, None] + parameters[1:])))
        total = 0.0
        for row, count in zip(x, counts, strict=True):
            scored = np.isfinite(row)
            passed = np.where(row[scored] == 1, p[:, scored], 1 - p[:, scored]).prod(axis=1)
            total += count * math.log(passed @ weights / weights.sum())
        return total

    likeliest = np.array([fitted.slope, *fitted.intercept])
    assert fitted.log_likelihood == pytest.approx(likelihood(likeliest), abs=1e-3)
    slope = optimize.approx_fprime(likeliest, likelihood, 1e-5)
    assert np.abs(slope).max() < 0.02, "no parameter makes the answers likelier"
    assert fitted.converged


def test_cues_of_parts_are_looked_for_in_each_part() -> None:
    """Yes and no take turns in one part alone; a place is counted within its part."""
    rng = np.random.default_rng(8)
    fair = rng.permutation(["yes", "no"] * 60).tolist()
    labels = [*fair, *["yes", "no"] * 40]
    parts = ["first"] * 120 + ["second"] * 80
    ids = [f"q{i:04d}" for i in rng.permutation(200)]
    study = psy.leakage_cues(labels, rng=np.random.default_rng(0), parts=parts, ids=ids)
    shown_strata = {(s.part, s.cue) for s in study.strata if s.shown}
    assert ("second", "odd or even place") in shown_strata
    assert "first" not in {part for part, _ in shown_strata}
    cues = {s.cue for s in study.strata if s.part == "second"}
    assert {"odd or even place", "odd or even number", "last digit"} <= cues
    unpartitioned = psy.leakage_cues(labels, rng=np.random.default_rng(0))
    assert {s.part for s in unpartitioned.strata} == {""}


def test_nothing_is_solved_of_nothing() -> None:
    study = psy.blind_solvability([], [], rng=np.random.default_rng(0))
    assert study.status == "insufficient"
    assert study.reason.endswith("there are 0 in 0")
    assert study.accuracy.n == 0


def test_raters_who_disagree_evenly_leave_an_answer_open() -> None:
    assert np.isnan(psy.pooled_labels([[1], [0]], "dawid-skene")).all()
    pooled = psy.pooled_labels([[1, 0, 1, 1], [1, 0, 1, 0], [1, 0, 0, np.nan]], "dawid-skene")
    assert pooled[:3].tolist() == [1, 0, 1]
    assert psy.pooled_labels([[1, 0.5], [0, np.nan]], "mean").tolist() == [0.5, 0.5]


def test_scores_crowd_where_the_beta_of_their_moments_has_heavy_tails() -> None:
    rng, statuses, n_near_one = np.random.default_rng(10), set(), 0
    for _ in range(400):
        m = int(rng.integers(3, 12))
        scores = rng.beta(rng.uniform(2, 9), rng.uniform(0.3, 3), m)
        mean = scores.mean()
        variance = ((scores - mean) ** 2).sum() / stats.chi2.ppf(0.25, m - 1)
        total = mean * (1 - mean) / variance - 1
        if total <= 0:
            assert not has_floor_or_ceiling_effect(scores)
            continue
        excess = float(stats.beta.stats(mean * total, (1 - mean) * total, moments="k"))
        assert has_floor_or_ceiling_effect(scores) == (excess > 1)
        assert has_floor_or_ceiling_effect(1 - scores) == (excess > 1)
        statuses.add(excess > 1)
        n_near_one += 0.95 < excess < 1.05
    assert statuses == {False, True}
    assert n_near_one > 2
    assert not has_floor_or_ceiling_effect([0.9, 0.9, 0.9])
    assert not has_floor_or_ceiling_effect([0.99, 0.98, 1.02])
    assert not has_floor_or_ceiling_effect([0.99, 0.94])


@pytest.mark.parametrize("missing", [0.0, 0.08])
def test_residuals_of_respondents_and_items_are_those_of_least_squares(missing: float) -> None:
    rng = np.random.default_rng(11)
    scores = rng.normal(size=(9, 1)) + rng.normal(size=24) + rng.normal(size=(9, 24))
    scores[rng.random(scores.shape) < missing] = np.nan
    pictures = np.repeat(np.arange(12), 2)
    scored = np.isfinite(scores)
    m, i = np.nonzero(scored)
    design = np.hstack([i[:, None] == np.arange(24), m[:, None] == np.arange(9)]).astype(float)
    fitted = design @ np.linalg.lstsq(design, scores[m, i], rcond=None)[0]
    residual = np.zeros(scores.shape)
    residual[m, i] = scores[m, i] - fitted
    result = relative_error(scores, pictures)
    expected = residual.reshape(9, 12, 2).sum(axis=2) * math.sqrt(12 / 11)
    assert result.residuals == pytest.approx(expected, abs=1e-9 if not missing else 2e-3)
    assert result.sums == pytest.approx(np.nansum(scores.reshape(9, 12, 2), axis=2))
    assert result.sizes.tolist() == scored.reshape(9, 12, 2).sum(axis=2).tolist()
    assert result.factor == pytest.approx(9 / 8)


def test_omega_needs_three_respondents_and_three_items() -> None:
    rng = np.random.default_rng(12)
    assert psy.omega_t(rng.random((2, 4))).status == "insufficient"
    assert psy.omega_t(rng.random((9, 2))).status == "insufficient"
    assert psy.omega_t(rng.random((4, 4))).status == "not_applicable"
    x = rng.normal(size=(40, 1)) + 0.5 * rng.normal(size=(40, 4))
    x[:, 2] *= 3
    r = np.corrcoef(x.T)

    def misfit(loadings: np.ndarray) -> float:
        gap = r - np.outer(loadings, loadings)
        return float((gap[~np.eye(4, dtype=bool)] ** 2).sum())

    loadings = optimize.minimize(misfit, np.full(4, 0.8), tol=1e-12).x
    assert psy.omega_t(x).value == pytest.approx(loadings.sum() ** 2 / r.sum(), abs=1e-5)


@pytest.mark.parametrize("count", [19, 20])
def test_raters_widen_an_interval_from_twenty_replicates_on(count: int) -> None:
    replicates = np.append(np.random.default_rng(13).normal(0.6, 0.05, count), np.nan)
    plain = psy.Coefficient(
        0.6, 0.5, 0.75, level=0.9, fixed=psy.ConfidenceInterval(0.4, 0.8, "items", 0.9)
    )
    wider = with_raters(plain, replicates)
    if count < 20:
        assert wider == plain
        return
    extra = stats.norm.ppf(0.95) * np.nanstd(replicates, ddof=1)
    assert wider.fixed is not None
    for got, (low, high) in (
        ((wider.low, wider.high), (0.5, 0.75)),
        ((wider.fixed.low, wider.fixed.high), (0.4, 0.8)),
    ):
        ends = 0.6 - math.hypot(0.6 - low, extra), min(1.0, 0.6 + math.hypot(high - 0.6, extra))
        assert got == pytest.approx(ends)
    rated = with_raters(plain, np.full(30, 0.5))
    assert rated == plain


@pytest.mark.parametrize("higher", [True, False])
@pytest.mark.parametrize(("share", "flag"), [(0.5, False), (0.55, True)])
def test_items_that_hardly_anybody_solves_are_a_floor(
    higher: bool, share: float, flag: bool
) -> None:
    """More than half of them, although no respondent is near the end."""
    count = round(20 * share)
    scores = np.hstack([np.zeros((8, count)), np.tile([1.0, 1, 1, 1, 0.9], (8, 4))[:, count:]])
    study = psy.saturation(scores if higher else 1 - scores, higher_is_better=higher)
    assert study.hard == count / 20
    assert study.flags == (("FLOOR",) if flag else ())
    turned = psy.saturation(1 - scores if higher else scores, higher_is_better=higher)
    assert turned.flags == (("CEILING",) if flag else ())


def test_items_are_described_by_the_answers_that_are_there() -> None:
    x = np.array([[1, 1, 0, 1], [1, 0, np.nan, 1], [0, 1, 1, np.nan], [np.nan, 0, 0, 1]])
    study = psy.item_analysis(x)
    assert study.n.tolist() == [3, 4, 3, 3]
    assert study.difficulty.tolist() == pytest.approx([2 / 3, 1 / 2, 1 / 3, 1])
    assert np.isnan(study.item_rest[3]), "all score 1"
    without_item = psy.item_analysis(np.where(np.arange(4) == 1, np.nan, x))
    assert without_item.n[1] == 0
    assert np.isnan([without_item.difficulty[1], without_item.item_rest[1]]).all()


@pytest.mark.parametrize("respondents", [MIN_UNITS - 1, MIN_UNITS, MIN_UNITS + 1])
def test_a_corrected_correlation_has_an_interval_over_items_from_few_respondents_on(
    respondents: int,
) -> None:
    rng = np.random.default_rng(14)
    rates = np.linspace(0.1, 0.9, respondents)[:, None]
    automatic = (rng.random((respondents, 120)) < rates).astype(float)
    human = np.where(rng.random(automatic.shape) < 0.1, 1 - automatic, automatic)
    human[:, 60:] = np.nan
    study = psy.criterion_validity(automatic, human)
    assert (study.disattenuated.fixed is not None) == (respondents >= MIN_UNITS)


def test_shifts_that_are_all_alike_have_no_heterogeneity() -> None:
    study = psy.shift_heterogeneity_of_scores([0.2] * 5, [0.01] * 5)
    assert (study.i2, study.deviation) == (0, 0)
    assert study.test.p == 1


@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e6])
def test_a_correlation_does_not_depend_on_the_unit(unit: float) -> None:
    x, y = np.random.default_rng(15).normal(size=(2, 9)) + 3
    y[:3] = y[3]
    for ours, theirs in ((psy.pearson, stats.pearsonr), (psy.spearman, stats.spearmanr)):
        r = theirs(x, y).statistic
        assert ours(x * unit, y).value == pytest.approx(r)
        assert ours(x, y * unit).value == pytest.approx(r)
