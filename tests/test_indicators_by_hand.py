"""The details of the indicators, against numpy, scipy and the scores themselves."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from statsmodels.stats.multitest import multipletests

from hqm.indicators import case, compare, compare_runs
from hqm.indicators.comparisons import describe, expected
from hqm.scoring.metrics import YES_NO, Metric
from hqm.types import Cell, Estimate, Form
from tests.test_flags import ACCURACY, PROTOCOL, answers, items, matrix

RATES = np.linspace(0.3, 0.85, 8)
N = 120


def three_runs() -> list[np.ndarray]:
    """Three runs of eight respondents, half of whose answers are drawn anew."""
    rng = np.random.default_rng(5)
    base = answers(RATES, N, rng)
    redrawn = [answers(RATES, N, rng) for _ in range(3)]
    return [np.where(rng.random(base.shape) < 0.5, base, replacement) for replacement in redrawn]


RIGHT = three_runs()
RUNS = [matrix(right, Cell(run=k)) for k, right in enumerate(RIGHT)]
NAMES = list(RUNS[0].respondents)


def by_name(estimates: Any) -> dict[str, Estimate]:
    return {estimate.indicator: estimate for estimate in estimates}


@pytest.fixture(scope="module")
def of_runs() -> dict[str, Estimate]:
    return by_name(compare_runs(RUNS, ACCURACY, PROTOCOL))


@pytest.fixture(scope="module")
def of_pair() -> dict[str, Estimate]:
    return by_name(compare("run", RUNS[0], RUNS[1], ACCURACY, PROTOCOL))


def test_the_noise_of_reruns(of_runs: dict[str, Estimate]) -> None:
    noise = np.stack(RIGHT).var(axis=0, ddof=1).sum(axis=1) / N**2
    by_respondent = dict(zip(NAMES, np.sqrt(noise), strict=True))
    sem, mdc95 = of_runs["test_retest.sem"], of_runs["test_retest.mdc95"]
    assert sem.value == pytest.approx(math.sqrt(noise.mean()))
    assert sem.detail["by_respondent"] == pytest.approx(by_respondent)
    assert sem.detail["range"] == pytest.approx(
        [min(by_respondent.values()), max(by_respondent.values())]
    )
    assert sem.detail["pooled"] is True
    factor = 1.96 * math.sqrt(2)
    assert mdc95.value == pytest.approx(factor * math.sqrt(noise.mean()), rel=1e-4)
    assert mdc95.detail["by_respondent"] == pytest.approx(
        {name: factor * value for name, value in by_respondent.items()}, rel=1e-4
    )
    assert mdc95.detail["range"] == pytest.approx(
        [factor * min(by_respondent.values()), factor * max(by_respondent.values())], rel=1e-4
    )


def test_the_reliability_of_reruns_and_what_is_read_from_it(of_runs: dict[str, Estimate]) -> None:
    rho, gain = of_runs["test_retest.rho_g"], of_runs["test_retest.gain"]
    noise = np.stack(RIGHT).var(axis=0, ddof=1).sum(axis=1) / N**2
    assert rho.detail["runs"] == 3
    assert rho.detail["sem"] == pytest.approx(math.sqrt(noise.mean()))
    assert list(rho.detail["by_respondent"]) == NAMES
    value = rho.value
    average = 3 * value / (1 + 2 * value)
    assert rho.detail["average_of_runs"] == pytest.approx(average)
    lengthened = of_runs["test_retest.rho_g_1000"]
    factor = 1000 / N
    assert lengthened.value == pytest.approx(factor * value / (1 + (factor - 1) * value))
    assert lengthened.detail["length"] == 1000
    floor = of_runs["test_retest.noise_floor"].value
    assert gain.value == pytest.approx((value - floor) / (1 - floor))
    assert ("NOISE_FLOOR" in gain.flags) == (gain.value <= 0.5)
    drift = of_runs["test_retest.drift"]
    assert ("DRIFT" in rho.flags) == (drift.value < 0.05)
    assert drift.detail["statistic"] > 0


def test_the_ranks_of_reruns(of_runs: dict[str, Estimate]) -> None:
    top, flip = of_runs["test_retest.top_k"], of_runs["test_retest.pair_flip"]
    rows = {row["k"]: row for row in top.detail["rows"]}
    assert list(rows) == [1, 3, 5]
    for k, row in rows.items():
        assert row["chance"] == pytest.approx(k / 8)
        assert row["same_set"] <= row["overlap"]
    assert top.value == rows[3]["overlap"]
    assert top.detail["k"] == 3
    assert top.detail["chance"] == pytest.approx(3 / 8)
    assert of_runs["test_retest.same_winner"].value == pytest.approx(rows[1]["same_set"])
    tau = of_runs["test_retest.expected_tau"]
    assert tau.value == pytest.approx(1 - 2 * flip.value, abs=0.02)
    assert tau.detail["to_truth"] > tau.value, "one side has no noise"
    assert flip.detail["adjacent"] > flip.value, "neighbours turn more often"
    assert 0 < flip.detail["top5"] < 0.5


def test_the_agreement_of_three_runs(of_runs: dict[str, Estimate]) -> None:
    scores = np.stack([right.mean(axis=1) for right in RIGHT])
    a1 = of_runs["test_retest.icc_a1"]
    rows, columns = scores.mean(axis=0), scores.mean(axis=1)
    ms_r = 3 * rows.var(ddof=1)
    ms_c = 8 * columns.var(ddof=1)
    ms_e = ((scores - rows - columns[:, None] + scores.mean()) ** 2).sum() / 14
    assert a1.value == pytest.approx(
        (ms_r - ms_e) / (ms_r + 2 * ms_e + 3 * (ms_c - ms_e) / 8), abs=1e-9
    )
    assert a1.detail["runs"] == 3


def test_the_components_of_reruns(of_runs: dict[str, Estimate]) -> None:
    phi = of_runs["generalizability.phi"]
    detail = phi.detail
    assert (detail["varied"], detail["items"]) == ("run", N)
    assert "images" not in detail, "every item stands alone"
    assert sum(component["share"] for component in detail["components"]) == pytest.approx(1)
    for component in detail["components"]:
        assert component["low"] <= component["variance"] <= component["high"] <= 0.25
        assert component["variance"] == pytest.approx(max(component["raw"], 0), abs=1e-9)
    curve = {row["items"]: row for row in detail["curve"]}
    assert list(curve) == sorted(curve)
    assert min(curve) == round(0.05 * N)
    assert max(curve) == 20 * N
    assert curve[N]["phi"] == pytest.approx(phi.value, abs=1e-6)
    assert curve[N]["g"] == pytest.approx(of_runs["generalizability.g"].value, abs=1e-6)
    for before, after in itertools.pairwise(detail["curve"]):
        assert before["phi"] < after["phi"]
        assert before["error"] > after["error"]
    for row in curve.values():
        assert row["g"] >= row["phi"]
        assert row["phi_of_3"] > row["phi"]
        assert row["error_of_3"] < row["error"]
    plans = detail["d_study"]
    assert [plan["target"] for plan in plans] == [0.8, 0.9, 0.95]
    for plan in plans:
        if plan["answers"] is not None:
            assert plan["answers"] == plan["items"] * plan["runs"]
            assert plan["items"] in curve
        else:
            assert plan["reason"]


def test_two_runs_of_scores(of_pair: dict[str, Estimate]) -> None:
    x, y = (right.mean(axis=1) for right in RIGHT[:2])
    r = of_pair["test_retest.pearson"]
    assert r.value == pytest.approx(np.corrcoef(x, y)[0, 1])
    leave_one_out = [np.corrcoef(np.delete(x, k), np.delete(y, k))[0, 1] for k in range(8)]
    assert r.detail["without_low"] == pytest.approx(min(leave_one_out))
    assert r.detail["without_high"] == pytest.approx(max(leave_one_out))
    assert r.detail["if_all_wrong"] == r.detail["if_all_right"] == pytest.approx(x.mean())
    shift = float((y - x).mean())
    a1 = of_pair["test_retest.icc_a1"]
    assert abs(a1.detail["shift"]) == pytest.approx(abs(shift))
    assert a1.detail["mdc95"] == pytest.approx(1.96 * math.sqrt(2) * a1.detail["sem"], rel=1e-4)
    ccc = of_pair["test_retest.ccc"]
    expected_ccc = 2 * np.cov(x, y, ddof=0)[0, 1] / (x.var() + y.var() + (x.mean() - y.mean()) ** 2)
    assert ccc.value == pytest.approx(expected_ccc)
    assert ccc.detail["bias_correction"] == pytest.approx(expected_ccc / r.value)
    limits = of_pair["test_retest.limits_of_agreement"]
    deviation = (y - x).std(ddof=1)
    assert abs(limits.value) == pytest.approx(abs(shift))
    assert limits.detail["deviation"] == pytest.approx(deviation)
    for end, sign in (("lower", -1), ("upper", 1)):
        value, low, high = limits.detail[end]
        assert value == pytest.approx(limits.value + sign * 1.96 * deviation, rel=1e-4)
        assert low < value < high
    slope = scipy.stats.linregress((x + y) / 2, y - x).slope
    assert abs(limits.detail["slope"][0]) == pytest.approx(abs(slope))


def test_two_runs_of_answers(of_pair: dict[str, Estimate]) -> None:
    first, second = RIGHT[:2]
    agreement_shares = (first == second).mean(axis=1)
    a, b = first.mean(axis=1), second.mean(axis=1)
    by_luck = a * b + (1 - a) * (1 - b)
    kappa = (agreement_shares - by_luck) / (1 - by_luck)
    agreement = of_pair["test_retest.item_agreement"]
    assert agreement.value == pytest.approx(agreement_shares.mean())
    assert agreement.detail["worst"] == pytest.approx(agreement_shares.min())
    assert agreement.detail["mean_kappa"] == pytest.approx(kappa.mean())
    for name, share, k in zip(NAMES, agreement_shares, kappa, strict=True):
        assert agreement.detail["by_respondent"][name] == pytest.approx(
            {"agreement": share, "kappa": k}
        )


def test_unread_answers_bound_the_score() -> None:
    unread = np.zeros((8, N), dtype=bool)
    unread[:, :6] = True
    first = matrix(RIGHT[0], Cell(run=0), unscored=unread)
    second = matrix(RIGHT[1], Cell(run=1))
    r = by_name(compare("run", first, second, ACCURACY, PROTOCOL))["test_retest.pearson"]
    right = RIGHT[0][:, 6:].sum() / (8 * N)
    assert r.detail["if_all_wrong"] == pytest.approx(right)
    assert r.detail["if_all_right"] == pytest.approx(right + 6 / N)
    assert r.unscored == 48
    assert "UNPARSED" in r.flags


def chances() -> np.ndarray:
    rng = np.random.default_rng(6)
    centre = np.log(RATES / (1 - RATES))[:, None]
    return np.asarray(1 / (1 + np.exp(-centre - rng.normal(0, 3, (8, N)))))


def of_chances(p: np.ndarray, temperature: float | None) -> Estimate | None:
    single_run = case("expected", "", RUNS[:1], ACCURACY, PROTOCOL)
    return by_name(expected(single_run, p, temperature)).get("expected.reliability")


def test_the_reliability_to_expect_from_probabilities() -> None:
    p = chances()
    got = of_chances(p, 1.0)
    assert got is not None
    scores, noise = p.mean(axis=1), (p * (1 - p)).sum(axis=1) / N**2
    truth = scores.var(ddof=1)
    assert got.value == pytest.approx(truth / (truth + noise.mean()), abs=0.02)
    agreement = (p**2 + (1 - p) ** 2).mean(axis=1)
    by_luck = scores**2 + (1 - scores) ** 2
    kappa = (agreement - by_luck) / (1 - by_luck)
    for name, share, k in zip(NAMES, agreement, kappa, strict=True):
        assert got.detail["by_respondent"][name] == pytest.approx({"agreement": share, "kappa": k})
    curve = {row["temperature"]: row["reliability"] for row in got.detail["curve"]}
    assert curve[1.0] == pytest.approx(got.value)
    rescaled = of_chances(1 / (1 + np.exp(-np.log(p / (1 - p)) / 2.0)), 2.0)
    assert rescaled is not None
    assert curve[2.0] == pytest.approx(rescaled.value, abs=1e-6)
    curve_of_rescaled = {row["temperature"]: row["reliability"] for row in rescaled.detail["curve"]}
    assert curve_of_rescaled[1.0] == pytest.approx(got.value, abs=1e-6), (
        "the curve does not hang on its start"
    )
    assert 0 < got.detail["pair_flip"] < 0.15
    assert got.detail["expected_tau"] < 1 - 2 * got.detail["pair_flip"], "a tie is neither"
    assert "EXPECTED" in got.flags
    no_curve = of_chances(p, None)
    assert no_curve is not None
    assert no_curve.detail["curve"] == []


def test_probabilities_that_tell_too_little_are_not_used() -> None:
    p = chances()
    p[3, : N // 10 + 1] = np.nan
    p[4, : N // 10] = np.nan
    got = of_chances(p, 1.0)
    assert got is not None
    assert got.status == "ok"
    assert NAMES[3] not in got.detail["by_respondent"], "fewer than nine of ten are known"
    assert NAMES[4] in got.detail["by_respondent"], "nine of ten are"
    assert got.n_respondents == 7
    sparse = chances()
    sparse[2:] = np.nan
    lacking = of_chances(sparse, 1.0)
    assert lacking is not None
    assert lacking.status == "insufficient"
    assert "2 of 8 respondents" in lacking.reason
    assert "more than one word" not in lacking.reason
    assert of_chances(np.full((8, N), np.nan), 1.0) is None
    cold = of_chances(p, 0.0)
    assert cold is None or "temperature 0" in cold.reason


@pytest.mark.parametrize(
    "metric",
    [replace(ACCURACY, better="lower"), replace(ACCURACY, share=False)],
    ids=["less is better", "no mean of items"],
)
def test_probabilities_are_of_right_answers_alone(metric: Metric) -> None:
    single_run = case("expected", "", RUNS[:1], metric, PROTOCOL)
    assert "expected.reliability" not in by_name(expected(single_run, chances(), 1.0))


def test_several_questions_of_a_picture_stand_as_nested() -> None:
    paired_items = tuple(replace(item, cluster=f"{k // 2}.png") for k, item in enumerate(items(N)))
    pair = [matrix(right, Cell(run=k), of=paired_items) for k, right in enumerate(RIGHT)]
    phi = by_name(compare_runs(pair, ACCURACY, PROTOCOL))["generalizability.phi"]
    assert phi.detail["images"] == N // 2


@pytest.fixture(scope="module")
def single_estimates() -> dict[str, Estimate]:
    """One administration with one without pictures beside it, of eight unrelated respondents."""
    blind = matrix(answers(np.linspace(0.45, 0.6, 8), N, np.random.default_rng(9)))
    form = Form("original", RUNS[0].items)
    claimed = ("existence", "relation")
    return by_name(describe(RUNS[0], ACCURACY, PROTOCOL, form, claimed, blind=blind))


def alpha_of(x: np.ndarray) -> float:
    """Cronbach's alpha of (respondents, parts)."""
    k = x.shape[1]
    return float(k / (k - 1) * (1 - x.var(axis=0, ddof=1).sum() / x.sum(axis=1).var(ddof=1)))


def test_the_consistency_of_one_administration(single_estimates: dict[str, Estimate]) -> None:
    x = RIGHT[0]
    varying = x[:, x.std(axis=0) > 0]
    alpha = single_estimates["consistency.alpha"]
    assert alpha.value == pytest.approx(alpha_of(x))
    assert alpha.detail["varying"] == pytest.approx(alpha_of(varying))
    assert alpha.detail["items_varying"] == varying.shape[1] < alpha.detail["items"] == N
    assert alpha.detail["of_items"] == pytest.approx(alpha.value)
    assert alpha.detail["parts"] == N
    r = np.corrcoef(varying.T)
    count = len(r)
    mean = r[~np.eye(count, dtype=bool)].mean()
    assert single_estimates["consistency.alpha_standardized"].value == pytest.approx(
        count * mean / (1 + (count - 1) * mean)
    )
    kinds = np.array([item.type for item in RUNS[0].items])
    of_types = np.stack([x[:, kinds == kind].mean(axis=1) for kind in ("attribute", "existence")])
    types = single_estimates["consistency.alpha_types"]
    assert types.value == pytest.approx(alpha_of(of_types.T))
    assert types.detail["types"] == ["attribute", "existence"]
    halves = single_estimates["consistency.split_half"]
    assert halves.value == pytest.approx(alpha.value, abs=0.02)
    assert halves.detail["low"] < halves.value < halves.detail["high"] < 1
    assert (halves.detail["splits"], halves.detail["parts"]) == (200, N)


def test_which_respondents_one_administration_separates(
    single_estimates: dict[str, Estimate],
) -> None:
    x, scores = RIGHT[0], RIGHT[0].mean(axis=1)
    pairs = list(itertools.combinations(range(8), 2))
    tests = [scipy.stats.ttest_rel(x[a], x[b]) for a, b in pairs]
    separated = multipletests([test.pvalue for test in tests], method="holm")[0]
    of_pairs = single_estimates["discriminability.separable_pairs"]
    assert of_pairs.value == pytest.approx(separated.mean())
    assert (of_pairs.detail["apart"], of_pairs.detail["pairs"]) == (separated.sum(), 28)
    tied = {frozenset(pair) for pair, decided in zip(pairs, separated, strict=True) if not decided}
    for group in of_pairs.detail["tied_sets"]:
        numbers = [NAMES.index(name) for name in group]
        assert all(frozenset(pair) in tied for pair in itertools.combinations(numbers, 2))
    order = np.argsort(-scores, kind="stable")
    assert of_pairs.detail["order"] == [NAMES[i] for i in order]
    for i, name in enumerate(NAMES):
        n_worse = sum(frozenset((i, j)) not in tied and scores[j] > scores[i] for j in range(8))
        n_better = sum(frozenset((i, j)) not in tied and scores[j] < scores[i] for j in range(8))
        assert of_pairs.detail["ranks"][name] == [1 + n_worse, 8 - n_better]
    neighbours = single_estimates["discriminability.separable_adjacent"]
    assert neighbours.detail["pairs"] == 7
    assert neighbours.value == neighbours.detail["apart"] / 7
    error = float(np.median([(x[a] - x[b]).std(ddof=1) / math.sqrt(N) for a, b in pairs]))

    def detectable_difference(level: float) -> float:
        """Found with 80 % power by a paired t-test (noncentral t)."""
        t = scipy.stats.t.ppf(1 - (1 - level) / 2, N - 1)
        power = lambda shift: scipy.stats.nct.sf(t, N - 1, shift) - 0.8  # noqa: E731
        return float(scipy.optimize.brentq(power, 0, 20)) * error

    planned = single_estimates["discriminability.minimum_difference"]
    assert planned.value == pytest.approx(detectable_difference(0.95), rel=1e-4)
    assert planned.detail["error"] == pytest.approx(error)
    all_pairs = single_estimates["discriminability.minimum_difference_holm"]
    number = all_pairs.detail["tests"]
    assert all_pairs.value == pytest.approx(detectable_difference(1 - 0.05 / number), rel=1e-4)
    assert planned.detail["any_pair"] == pytest.approx(all_pairs.value)
    assert 1 < number < 28
    lead = single_estimates["discriminability.lead"]
    assert lead.value == pytest.approx(scores[order[0]] - scores[order[1]])
    assert (lead.detail["best"], lead.detail["second"]) == (NAMES[order[0]], NAMES[order[1]])


def test_what_one_administration_leaves_to_be_solved(single_estimates: dict[str, Estimate]) -> None:
    scores, solved = RIGHT[0].mean(axis=1), RIGHT[0].mean(axis=0)
    assert single_estimates["discriminability.headroom"].value == pytest.approx(1 - scores.max())
    solved_by_all = single_estimates["discriminability.solved_by_all"]
    assert solved_by_all.value == pytest.approx((solved == 1).mean())
    ends = (solved_by_all.detail[name] for name in ("solved_by_none", "easy", "hard"))
    expected_ends = (solved == 0).mean(), (solved >= 0.95).mean(), (solved <= 0.05).mean()
    assert tuple(ends) == pytest.approx(expected_ends)
    dead = single_estimates["items.dead_items"]
    assert dead.value == dead.detail["count"] == ((solved == 0) | (solved == 1)).sum() > 0
    assert dead.detail["of"] == N
    assert dead.detail["items"] == [
        item.id for item, p in zip(RUNS[0].items, solved, strict=True) if p in (0, 1)
    ]
    item_rest = [
        scipy.stats.pearsonr(RIGHT[0][:, i], np.delete(RIGHT[0], i, axis=1).mean(axis=1)).statistic
        for i in range(N)
        if solved[i] not in (0, 1)
    ]
    assert single_estimates["items.discrimination"].value == pytest.approx(np.median(item_rest))
    assert single_estimates["items.discrimination"].n_items == len(item_rest)
    answered = single_estimates["discriminability.above_chance"].detail["strategies"]
    keys = np.array([item.target for item in RUNS[0].items])
    kinds = np.array([item.type for item in RUNS[0].items])
    commonest = sum(max((keys[kinds == k] == a).sum() for a in ("yes", "no")) for k in set(kinds))
    assert answered["one answer"] == max((keys == "yes").mean(), (keys == "no").mean())
    assert answered["each type's commonest answer"] == pytest.approx(commonest / N)
    above_chance = single_estimates["discriminability.above_chance"]
    blind = above_chance.detail["blind"]
    assert blind == max(answered.values()) == answered["the best respondent without pictures"]
    gains = (scores - blind) / (1 - blind)
    assert above_chance.value == pytest.approx(gains.mean())
    assert above_chance.detail["by_respondent"] == pytest.approx(
        dict(zip(NAMES, gains, strict=True))
    )
    assert above_chance.detail["not_above"] == [
        n for n, v in zip(NAMES, gains, strict=True) if v <= 0
    ]


def test_the_types_of_one_administration(single_estimates: dict[str, Estimate]) -> None:
    kinds = np.array([item.type for item in RUNS[0].items])
    index = single_estimates["types.index"]
    rows = {row["type"]: row for row in index.detail["types"]}
    assert list(rows) == [row["type"] for row in index.detail["types"]]
    shares = []
    for kind in ("attribute", "existence"):
        type_answers = RIGHT[0][:, kinds == kind]
        row, count = rows[kind], type_answers.shape[1]
        shares.append(count / N)
        assert (row["items"], row["images"], row["wordings"]) == (count, count, count)
        assert row["share"] == pytest.approx(count / N)
        assert row["alpha"] == pytest.approx(alpha_of(type_answers))
        error = math.sqrt((type_answers.var(axis=1, ddof=1) / count).mean())
        assert row["sem"] == pytest.approx(error)
        assert row["sem"] < row["sem_high"]
        n_needed = math.ceil(count * (row["sem_high"] / 0.03) ** 2)
        assert (row["measured"], row["missing_items"]) == (True, n_needed - count)
        assert (row["state"], row["at_chance"]) == ("labelled, not measurable", False)
        added = {row["type"]: row for row in single_estimates["types.added_value"].detail["types"]}[
            kind
        ]
        assert added["by_subscore"] == pytest.approx(alpha_of(type_answers))
        assert added["adds"] == (added["by_subscore"] > added["by_total"])
    worst_case = math.ceil(0.5**2 / 0.03**2)
    assert (index.value, index.detail["n_min"], index.detail["unlabelled"]) == (0, worst_case, 0)
    for kind, state in (("relation", "claimed, no evidence"), ("action", "absent")):
        row = rows[kind]
        assert (row["items"], row["missing_items"], row["state"]) == (0, worst_case, state)
        assert (row["share"], row["measured"], row["alpha"], row["sem"]) == (0, False, None, None)
    effective = single_estimates["types.effective"]
    entropy = scipy.stats.entropy(shares)
    assert effective.value == pytest.approx(math.exp(entropy))
    assert effective.detail["evenness"] == pytest.approx(entropy / math.log(len(rows)))


def test_the_error_of_a_type_by_a_ratio_leaves_out_every_picture() -> None:
    """F1 without each item in turn; the root mean square over respondents."""
    form = Form("original", RUNS[0].items)
    index = by_name(describe(RUNS[0], YES_NO[3], PROTOCOL, form, ()))["types.index"]
    truth = np.array([item.target == "yes" for item in RUNS[0].items])
    kinds = np.array([item.type for item in RUNS[0].items])
    yes = np.where(truth, RIGHT[0], 1 - RIGHT[0])

    def f1(columns: np.ndarray) -> np.ndarray:
        hits = yes[:, columns] @ truth[columns]
        return np.asarray(2 * hits / (yes[:, columns].sum(axis=1) + truth[columns].sum()))

    for row in index.detail["types"]:
        columns = np.flatnonzero(kinds == row["type"])
        if len(columns):
            left = np.stack([f1(np.delete(columns, k)) for k in range(len(columns))], axis=1)
            spread = ((left - left.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
            square = (len(columns) - 1) / len(columns) * spread
            assert row["sem"] == pytest.approx(math.sqrt(square.mean()))
            assert row["measured"]
