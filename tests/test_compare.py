"""Comparisons whose truth is known: simulated respondents, and one store read in several ways."""

import json
import math
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hqm.reports.latex.latex_tables import latex
from hqm.reports.pages.compare_page import comparison_tables, render
from scipy import stats
from statsmodels.stats.multitest import multipletests

import hqm
from hqm import Audit, BenchmarkAudit, Comparison, DataError, DesignError, Store, UsageError
from hqm.auditing.study_records import JackknifeRecord, jackknife_rows, read_jackknife_records
from hqm.commands.options import RunOptions
from hqm.commands.rescoring import audit_readings
from hqm.comparison import compare
from hqm.comparison.compare import compare_audits
from hqm.comparison.measure_tests import (
    agreements,
    by_types,
    respondent_tests,
    separations,
    williams_comparisons,
)
from hqm.comparison.measures import Measure, _count_tests
from hqm.psychometrics import (
    difference_over_clusters,
    holm,
    holm_in_order,
    icc,
    reliability_difference,
    shared_variance,
    signal_detection,
    weighted_reliability,
)
from hqm.psychometrics.reliability.compare_reliability import LeaveOneOutScores, reliability_of_sets
from hqm.scoring.metrics import YES_NO
from tests.conftest import Run, administered, recorded
from tests.messages import tells, text_of
from tests.test_paper_tables import HOSTILE, compiled, needs_pdflatex

Array = np.ndarray


def draws(
    rng: np.random.Generator, n: int, reliabilities: tuple[float, float], common: float = 0.8
) -> tuple[Array, Array]:
    """Two measures of correlated traits, each in two administrations of the given reliability."""
    trait = rng.uniform(-1.7, 1.7, n)
    other_trait = common * trait + math.sqrt(1 - common**2) * rng.uniform(-1.7, 1.7, n)
    measures = []
    for x, rho in zip((trait, other_trait), reliabilities, strict=True):
        measures.append(
            x
            + math.sqrt(1 / rho - 1) * np.std([-1.7, 1.7]) / math.sqrt(3) * rng.normal(size=(2, n))
        )
    return measures[0], measures[1]


# --- the statistics ---


def test_weighted_reliabilities_are_those_of_the_repeated_respondents() -> None:
    rng = np.random.default_rng(0)
    scores, noise = rng.normal(size=(2, 12)) + rng.normal(size=12), rng.uniform(0.1, 0.3, 12)
    weights = rng.multinomial(12, np.full(12, 1 / 12), size=20)
    for row, r, a, g in zip(
        weights,
        weighted_reliability(weights, scores),
        weighted_reliability(weights, scores, "icc_a1"),
        weighted_reliability(weights, scores, "rho_g", noise),
        strict=True,
    ):
        index = np.repeat(np.arange(12), row)
        x = scores[:, index]
        assert r == pytest.approx(stats.pearsonr(x[0], x[1]).statistic)
        assert a == pytest.approx(icc(x.T).a1.value)
        assert g == pytest.approx(1 - noise[index].mean() / x.var(axis=1, ddof=1).mean())


@pytest.mark.parametrize("statistic", ["pearson", "icc_a1", "rho_g"])
def test_the_test_holds_its_size_and_the_interval_its_cover(statistic: str) -> None:
    """Under equality about 5% of 400 comparisons reject (binomial limits of 99.9%: 2 to 9%)."""
    rng = np.random.default_rng(1)
    rejected = 0
    for _ in range(400):
        first, second = draws(rng, 20, (0.9, 0.9))
        noise = (
            tuple((x[0] - x[1]) ** 2 / 2 for x in (first, second)) if statistic == "rho_g" else None
        )
        difference = reliability_difference(
            first, second, rng, statistic=statistic, noise=noise, replicates=300
        )  # type: ignore[arg-type]
        rejected += difference.p < 0.05
        assert (difference.p < 0.05) == (difference.low > 0 or difference.high < 0), (
            "interval and test agree"
        )
    assert 0.02 <= rejected / 400 <= 0.09


def test_a_planted_difference_is_found() -> None:
    rng = np.random.default_rng(2)
    differences = [
        reliability_difference(*draws(rng, 20, (0.97, 0.85), 0.9), rng, replicates=300)
        for _ in range(100)
    ]
    assert np.mean([d.p < 0.05 for d in differences]) > 0.6
    assert np.mean([d.difference for d in differences]) == pytest.approx(0.97 - 0.85, abs=0.02)


def test_a_longer_test_is_no_better_at_one_length() -> None:
    """The same quality of items in two lengths: different as they are, alike at the common
    length.
    """
    rng = np.random.default_rng(3)
    own_length, common = [], []
    for _ in range(200):
        longer, shorter = draws(rng, 20, (1 / (1 + 0.05), 1 / (1 + 0.5)), 0.9)
        own_length.append(reliability_difference(longer, shorter, rng, replicates=300).p < 0.05)
        common.append(
            reliability_difference(longer, shorter, rng, factors=(0.1, 1.0), replicates=300).p
            < 0.05
        )
    assert np.mean(own_length) > 0.9
    assert np.mean(common) < 0.1


def test_relatives_are_drawn_together_or_the_error_is_widened() -> None:
    rng = np.random.default_rng(4)
    first, second = draws(rng, 12, (0.95, 0.8))
    twice = [np.repeat(x, 2, axis=1) for x in (first, second)]
    families = [str(i // 2) for i in range(24)]
    independent = reliability_difference(*twice, np.random.default_rng(0))
    by_family = reliability_difference(*twice, np.random.default_rng(0), families=families)
    single = reliability_difference(first, second, np.random.default_rng(0))
    assert by_family.p == pytest.approx(single.p, rel=0.1)
    assert independent.p < by_family.p
    assert "families" in by_family.method
    sixes = [str(i // 4) for i in range(24)]
    few_families = reliability_difference(
        *twice, np.random.default_rng(0), families=sixes, n_effective=12.0
    )
    assert few_families.high - few_families.low > 1.2 * (independent.high - independent.low)
    assert "n_eff 12" in few_families.method
    for n_effective, families in ((9.9, sixes), (None, sixes), (1.0, ["one"] * 24)):
        untested = reliability_difference(*twice, rng, families=families, n_effective=n_effective)
        assert math.isnan(untested.p)
        assert untested.status == "insufficient"
    assert untested.reason == text_of("families.one")


def test_other_respondents_meet_other_items_too() -> None:
    """The error over respondents contains what items do to all of them, and is never below the
    error over items.
    """
    rng = np.random.default_rng(12)
    first, second = draws(rng, 20, (0.9, 0.9))
    plain, widened, bounded = (
        reliability_difference(
            first, second, np.random.default_rng(0), shared=shared, min_error=min_error
        )
        for shared, min_error in ((0.0, 0.0), (0.04, 0.0), (0.0, 3.0))
    )
    assert widened.error == pytest.approx(math.hypot(plain.error, 0.2))
    assert bounded.error == 3.0


def test_what_cannot_be_compared_is_said() -> None:
    rng = np.random.default_rng(5)
    first, second = draws(rng, 9, (0.9, 0.9))
    too_small = reliability_difference(first, second, rng)
    assert math.isfinite(too_small.difference)
    assert math.isnan(too_small.p)
    assert too_small.status == "insufficient"
    assert tells(too_small.reason, "compare.few-respondents", least=10, count=9)
    first, second = draws(rng, 20, (0.9, 0.9))
    assert (
        reliability_difference(np.stack([first[0], first[0]]), second, rng).status == "degenerate"
    )
    assert reliability_difference(np.zeros((2, 20)), second, rng).status == "degenerate"
    assert reliability_difference(first[:, :2], second[:, :2], rng).status == "insufficient"


# --- these respondents, over pictures ---


def leave_one_out(
    answers: Array, pictures: Sequence[str], *, noise: bool = False
) -> LeaveOneOutScores:
    """(administrations, respondents, pictures) values of one question a picture, as scores without
    each picture.
    """
    count = answers.shape[2]
    total = answers.sum(axis=2, keepdims=True)
    runs = answers.var(axis=0, ddof=1).sum(axis=1) / count**2 if noise else None
    return LeaveOneOutScores(
        total[:, :, 0] / count, (total - answers) / (count - 1), pictures, runs
    )


def test_pictures_of_both_measures_are_left_out_of_both() -> None:
    """The jackknife of the difference, by hand: together where pictures are shared, separately
    where they are not.
    """
    rng = np.random.default_rng(13)
    answers = [
        rng.normal(size=(1, 6, 40)) + rng.normal(size=(2, 6, 40)) + np.arange(6.0)[:, None]
        for _ in range(2)
    ]
    names = [str(i) for i in range(40)]

    def z(x: Array) -> float:
        changes = (
            x.var(axis=0, ddof=1).sum(axis=1) / x.shape[2] / 40
        )  # 40 pictures also where one is left out
        return math.atanh(1 - changes.mean() / x.mean(axis=2).var(axis=1, ddof=1).mean())

    def spread(left: Array) -> float:
        return math.sqrt(39 / 40 * float(((left - left.mean()) ** 2).sum()))

    lefts = [np.array([z(np.delete(x, i, axis=2)) for i in range(40)]) for x in answers]
    first, second = (leave_one_out(x, names, noise=True) for x in answers)
    shared = difference_over_clusters(first, second, rng, statistic="rho_g")
    assert shared.error == pytest.approx(spread(lefts[0] - lefts[1]), rel=1e-9)
    unshared = LeaveOneOutScores(
        second.scores, second.replicates, [f"b{i}" for i in range(40)], second.noise
    )
    separate = difference_over_clusters(first, unshared, rng, statistic="rho_g")
    assert separate.error == pytest.approx(math.hypot(*map(spread, lefts)), rel=1e-9), (
        "other pictures share nothing"
    )
    identical = difference_over_clusters(first, first, rng, statistic="rho_g")
    assert (identical.status, identical.reason) == ("degenerate", text_of("compare.same-scores"))


@pytest.mark.parametrize("statistic", ["pearson", "icc_a1", "rho_g"])
def test_sets_of_scores_have_the_reliability_of_each(statistic: str) -> None:
    rng = np.random.default_rng(14)
    scores, noise = (
        rng.normal(size=(2, 9, 7)) + rng.normal(size=(9, 1)),
        rng.uniform(0.1, 0.3, (9, 7)),
    )
    reliabilities = reliability_of_sets(scores, statistic, noise)  # type: ignore[arg-type]
    for i in range(7):
        expected = weighted_reliability(np.ones((1, 9)), scores[:, :, i], statistic, noise[:, i])  # type: ignore[arg-type]
        assert reliabilities[i] == pytest.approx(expected[0])


def test_what_pictures_do_to_everybody_is_seen() -> None:
    """Every respondent is moved alike by the wording of a picture: the variance that no draw of
    respondents shows.
    """
    rng = np.random.default_rng(15)
    ability, pictures = np.linspace(-1, 1, 12)[:, None], [str(i) for i in range(200)]
    residuals = rng.normal(size=(2, 12, 200))
    moved = residuals.copy()
    moved[1] += 3 * rng.normal(size=200)
    calm, restless = (leave_one_out(ability + x, pictures) for x in (residuals, moved))
    second = leave_one_out(ability + rng.normal(size=(2, 12, 200)), [f"b{i}" for i in range(200)])
    quiet = shared_variance(calm, second, statistic="icc_a1")
    assert shared_variance(restless, second, statistic="icc_a1") > 5 * quiet
    assert shared_variance(restless, second, statistic="pearson") < shared_variance(
        restless, second, statistic="icc_a1"
    )


def test_what_pictures_cannot_test_is_said() -> None:
    rng = np.random.default_rng(16)
    answers = rng.normal(size=(2, 5, 30)) + np.arange(5.0)[:, None]
    names = [str(i) for i in range(30)]
    complete = leave_one_out(answers, names)
    few_pictures = difference_over_clusters(
        leave_one_out(answers[:, :, :9], names[:9]), complete, rng
    )
    assert (few_pictures.status, few_pictures.reason) == (
        "insufficient",
        text_of("compare.few-pictures", needed=10, there=9),
    )
    two = difference_over_clusters(
        leave_one_out(answers[:, :2], names), leave_one_out(answers[:, :2], names), rng
    )
    assert two.status == "insufficient"
    identical = difference_over_clusters(
        leave_one_out(np.repeat(answers[:1], 2, axis=0), names), complete, rng
    )
    assert identical.status == "degenerate"
    undefined = LeaveOneOutScores(
        complete.scores, np.where(np.arange(30) == 3, np.nan, complete.replicates), names
    )
    assert "undefined" in difference_over_clusters(undefined, complete, rng).reason


def test_scores_without_each_picture_go_through_a_file() -> None:
    rng = np.random.default_rng(17)
    scores = {f"m{i}": rng.random(2) for i in range(3)}
    replicates = {name: rng.choice([0.25, math.nan, 1 / 3], (2, 40)) for name in scores}
    record = JackknifeRecord(
        "test_retest",
        "f1",
        ("run=0", "run=1"),
        tuple(map(str, range(40))),
        np.arange(1.0, 41),
        scores,
        replicates,
    )
    data = json.loads(json.dumps(jackknife_rows([record])))
    (reread,) = read_jackknife_records(data, "f1").values()
    assert (reread.family, reread.cells, reread.clusters) == (
        record.family,
        record.cells,
        record.clusters,
    )
    assert np.array_equal(reread.sizes, record.sizes)
    for name in scores:
        assert np.array_equal(reread.scores[name], scores[name])
        assert np.array_equal(reread.replicates[name], replicates[name], equal_nan=True)
    assert read_jackknife_records(data, "accuracy") == {}
    data["records"][0]["respondents"]["m0"][0]["places"] = "0 0 1"
    with pytest.raises(DataError, match="do not fit together"):
        read_jackknife_records(data, "f1")


# --- one adjustment ---


def test_holm_in_order_is_holm_for_single_tests_and_never_skips_a_step() -> None:
    rng = np.random.default_rng(18)
    p = rng.random(9)
    assert [steps[0] for steps in holm_in_order([[v] for v in p])] == pytest.approx(holm(p))
    p[:3] /= 100
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])
    assert np.isnan(holm([0.3, math.nan])[1])
    adjusted = holm_in_order([[0.4, 0.0001], [math.nan, 0.01], [0.002, 0.003]])
    assert adjusted[0][1] >= adjusted[0][0] == pytest.approx(0.4), (
        "others are asked only where these differ"
    )
    assert math.isnan(adjusted[1][0])
    assert adjusted[2] == pytest.approx([0.006, 0.009])
    assert adjusted[1][1] == pytest.approx(0.02)
    assert holm_in_order([[]]) == [[]]


def test_d_prime_is_that_of_signal_detection() -> None:
    metric = next(m for m in YES_NO if m.name == "d_prime")
    sums = {
        "tp": np.array([20.0, 0, 5]),
        "fn": np.array([5.0, 9, 0]),
        "fp": np.array([10.0, 0, 0]),
        "tn": np.array([15.0, 7, 0]),
    }
    values = metric(sums)
    assert values[0] == pytest.approx(signal_detection(20, 5, 10, 15).d_prime.value)
    assert values[1] == pytest.approx(stats.norm.ppf(0.5 / 10) - stats.norm.ppf(0.5 / 8))
    assert math.isnan(values[2]), "no question's answer is no"


# --- measures with a known truth ---


def measure(
    label: str,
    scores: Array,
    second: Array | None = None,
    *,
    better: str = "higher",
    **overrides: object,
) -> Measure:
    names = [f"m{i}" for i in range(len(scores))]
    settings: dict[str, object] = {
        "benchmark": label,
        "title": label,
        "metric": "accuracy",
        "items": 100,
        "answers": label,
        "intervals": {},
        "noise": {},
        "by_type": {},
        "words": {"metric": label},
        **overrides,
    }
    pairs = (
        {} if second is None else {"test_retest": dict(zip(names, second.tolist(), strict=True))}
    )
    scores_by_name = dict(zip(names, scores.tolist(), strict=True))
    return Measure(label=label, scores=scores_by_name, pairs=pairs, better=better, **settings)  # type: ignore[arg-type]


def test_agreement_turns_scores_and_counts_the_best() -> None:
    good = np.arange(12.0)
    names = [f"m{i}" for i in range(12)]
    (agreement,) = agreements(
        [measure("a", good), measure("b", 1 - good / 12, better="lower")], names, None, 0
    )
    values = agreement.pearson.value, agreement.spearman.value, agreement.tau.value
    assert values == pytest.approx((1, 1, 1))
    assert agreement.subsets.all is not None
    assert (agreement.subsets.all.top_k, agreement.subsets.all.chance) == (3, 9 / 12)


def test_types_of_two_benchmarks_are_traits_by_methods() -> None:
    """The ratio of two types by hand: mean r between them over the root of the r within each."""
    rng = np.random.default_rng(5)
    names = [f"m{i}" for i in range(12)]
    trait = rng.normal(size=(2, 12))
    columns = np.stack([trait + 0.3 * rng.normal(size=(2, 12)) for _ in range(2)])

    def typed(label: str, rows: Array, **overrides: object) -> Measure:
        kinds = {
            k: dict(zip(names, row.tolist(), strict=True))
            for k, row in zip(("count", "colour"), rows, strict=True)
        }
        return measure(label, rows.mean(axis=0), by_type=kinds, **overrides)  # type: ignore[arg-type]

    # the second benchmark counts errors; "again" reads the answers of the first by another metric
    first, second = typed("a", columns[0]), typed("b", -columns[1], better="lower")
    repeated = typed("again", rng.normal(size=(2, 12)), answers="a")
    table, ratios = by_types([first, repeated, second], names)
    assert table is not None
    assert (table.traits, table.methods) == (("count",) * 2 + ("colour",) * 2, ("a", "b") * 2)
    r = np.corrcoef([columns[0, 0], columns[1, 0], columns[0, 1], columns[1, 1]])
    assert np.array(table.correlations) == pytest.approx(r)
    assert (table.convergent, table.over_hetero_trait) == ((2, 2), (4, 4))
    ratio = r[:2, 2:].mean() / math.sqrt(r[0, 1] * r[2, 3])
    assert ratios["count ~ colour"].value == pytest.approx(ratio)
    assert list(ratios) == ["count ~ colour"]
    assert by_types([first, repeated], names) == (None, {})


def test_williams_finds_the_measure_that_goes_with_the_truth() -> None:
    rng = np.random.default_rng(6)
    truth = rng.normal(size=60)
    accurate, inaccurate = truth + 0.3 * rng.normal(size=60), truth + 2 * rng.normal(size=60)
    names = [f"m{i}" for i in range(60)]
    comparisons = williams_comparisons(
        [measure("truth", truth), measure("near", accurate), measure("far", inaccurate)], names
    )
    by_truth = next(c for c in comparisons if c.criterion == "truth")
    assert (by_truth.first, by_truth.second) == ("near", "far")
    assert by_truth.test.difference > 0.2
    assert by_truth.test.p < 0.001
    shared_answers = [
        measure("truth", truth),
        measure("near", accurate, answers="truth"),
        measure("far", inaccurate),
    ]
    assert not [c for c in williams_comparisons(shared_answers, names) if c.criterion == "truth"], (
        "its own answers are no independent judge"
    )


def test_separations_against_brute_force() -> None:
    scores = {"a": np.array([0.9, 0.7, 0.5]), "b": np.array([0.5, 0.52, 0.9])}
    names = ["m0", "m1", "m2"]
    spans = {
        k: {n: (s - 0.05, s + 0.05) for n, s in zip(names, v.tolist(), strict=True)}
        for k, v in scores.items()
    }
    measures = [measure(k, v, intervals=spans[k]) for k, v in scores.items()]
    (separation,) = separations(measures, names, respondent_tests(measures, names))
    assert (separation.pairs, separation.n_both, separation.n_neither) == (3, 2, 0)
    assert separation.opposed == (("m0", "m2"), ("m1", "m2"))
    assert separation.only_first == (("m0", "m1"),)
    assert separation.only_second == ()


# --- through a store ---


def quiz(make: Callable[..., Path], name: str, items: int, **card: object) -> hqm.Benchmark:
    rows = [
        {
            "id": f"q{i}",
            "prompt": f"Is there a {name} {i} in the image?",
            "target": "yes" if i % 2 else "no",
            "image": f"{i}.png",
            "type": ("existence", "ocr")[i // 2 % 2],
        }
        for i in range(items)
    ]
    card = {
        "name": name,
        "title": name.title(),
        "types": ["existence", "ocr"],
        "labelled": True,
        **card,
    }
    return hqm.load(str(make(rows, **card)))


FAMILIES = [
    "apple",
    "birch",
    "cedar",
    "dill",
    "elm",
    "fig",
    "grape",
    "hazel",
    "iris",
    "juniper",
    "kale",
    "lime",
    "maple",
    "nettle",
    "oak",
    "pine",
]


@pytest.fixture
def two(
    make_benchmark: Callable[..., Path], store: Store
) -> tuple[list[hqm.Benchmark], list[BenchmarkAudit]]:
    """The same sixteen abilities measured with 400 and with 40 coin flips, two runs each."""
    rng = random.Random(0)
    benchmarks = [quiz(make_benchmark, "long", 400), quiz(make_benchmark, "short", 40)]
    audits = []
    for benchmark in benchmarks:
        respondents = [
            recorded(
                name,
                {
                    ("original", run): {
                        item.id: (
                            str(item.target)
                            if rng.random() < 0.5 + 0.03 * k
                            else {"yes": "no", "no": "yes"}[item.target]
                        )
                        for item in benchmark.original.items
                    }
                    for run in (0, 1)
                },
            )
            for k, name in enumerate(FAMILIES)
        ]
        stored = administered(store, benchmark, respondents)
        audits.append(hqm.audit(hqm.gather(benchmark, store, stored)))
    return benchmarks, audits


def truth(items: int) -> float:
    """The reliability of a mean of coin flips at these rates."""
    p = 0.5 + 0.03 * np.arange(16)
    return float(p.var(ddof=1) / (p.var(ddof=1) + (p * (1 - p)).mean() / items))


def test_two_lengths_of_one_trait(two: tuple[list[hqm.Benchmark], list[BenchmarkAudit]]) -> None:
    comparison = compare_audits(two[1])
    assert [m.label for m in comparison.measures] == ["Long", "Short"]
    assert len(comparison.respondents) == 16
    assert comparison.length == 40
    by = comparison.indicators["test_retest.rho_g"]
    assert by["Long"].value == pytest.approx(truth(400), abs=0.02)
    assert by["Short"].value == pytest.approx(truth(40), abs=0.12)
    own_length, common = (
        next(
            d
            for d in comparison.differences
            if d.indicator == "test_retest.rho_g" and d.length == length
        )
        for length in (None, 40)
    )
    assert own_length.adjusted_these < 0.05, "a test of 400 items repeats better than one of 40"
    assert common.adjusted_these > 0.05, "item for item they are equally good"
    assert common.others.first == pytest.approx(truth(40), abs=0.15)
    (agreement,) = comparison.agreements
    assert agreement.corrected == pytest.approx(1, abs=0.15), "they measure one trait"
    assert agreement.pearson.value == pytest.approx(math.sqrt(truth(400) * truth(40)), abs=0.15)
    (separation,) = comparison.separations
    assert len(separation.only_first) > 10 * len(separation.only_second), (
        "the long one tells more respondents apart"
    )
    assert any("LENGTH_CONFOUND" in note for note in comparison.notes)


def test_readings_of_one_store_ask_nothing(
    two: tuple[list[hqm.Benchmark], list[BenchmarkAudit]], tmp_path: Path
) -> None:
    folder = str(tmp_path / "long")
    with Store(tmp_path / "store.sqlite", readonly=True) as store:
        audits = audit_readings(
            [folder], store, RunOptions(), metrics=("accuracy", "f1", "d_prime")
        )
    comparison = compare_audits(audits)
    assert [m.label for m in comparison.measures] == ["accuracy", "f1", "d_prime"]
    before = two[1][0].estimate("test_retest.pearson", "accuracy")
    repeated_estimate = comparison.measures[0].estimate("test_retest.pearson")
    assert repeated_estimate == before, "the same answers give the same estimate, signature and all"
    assert comparison.indicators["test_retest.pearson"]["accuracy"].value == pytest.approx(
        before.value
    )
    assert all(math.isnan(a.corrected) for a in comparison.agreements), (
        "shared noise cannot be taken out"
    )
    assert comparison.closer == ()
    with (
        Store(tmp_path / "store.sqlite", readonly=True) as store,
        pytest.raises(UsageError, match="no metric 'bleu'"),
    ):
        audit_readings([folder], store, RunOptions(), metrics=("bleu",))


def test_two_parsers_read_one_store(make_benchmark: Callable[..., Path], tmp_path: Path) -> None:
    """Every other respondent says "Hard to say." for no: one reader takes that for yes, the other
    for no answer.
    """
    rng = random.Random(1)
    benchmark = quiz(make_benchmark, "wordy", 60)
    respondents = []
    for k, name in enumerate(FAMILIES):
        wrong = {"yes": "no", "no": "yes"}
        sheet = {
            ("original", run): {
                i.id: (
                    str(i.target if rng.random() < 0.5 + 0.03 * k else wrong[i.target]).replace(
                        "no", "Hard to say." if k % 2 else "no"
                    )
                )
                for i in benchmark.original.items
            }
            for run in (0, 1)
        }
        respondents.append(recorded(name, sheet))
    path = tmp_path / "words.sqlite"
    with Store(path) as store:
        administered(store, benchmark, respondents)
    with Store(path, readonly=True) as store:
        audits = audit_readings(
            [str(tmp_path / "wordy")], store, RunOptions(), parsers=("pope", "strict")
        )
    comparison = compare_audits(audits)
    assert [m.label for m in comparison.measures] == ["parser pope", "parser strict"]
    lenient, strict = comparison.measures
    changed = [n for n in comparison.respondents if lenient.scores[n] != strict.scores[n]]
    assert set(changed) == {f"recorded/{name}" for name in FAMILIES[1::2]}


def test_only_shared_respondents_are_compared(
    two: tuple[list[hqm.Benchmark], list[BenchmarkAudit]],
) -> None:
    first, second = two[1]
    fewer = replace(second, respondents=second.respondents[:12])
    comparison = compare_audits([first, fewer])
    assert len(comparison.respondents) == 12
    assert any("Long 4" in note for note in comparison.notes)
    two_respondents = compare_audits([first, replace(second, respondents=second.respondents[:2])])
    assert (two_respondents.respondents, two_respondents.differences) == ((), ())
    page = render(two_respondents)
    assert tells(page, "compare.untested")
    assert tells(two_respondents.notes[0], "compare.share", shared=2)
    assert [row[0].text for row in comparison_tables(two_respondents)[0].rows] == ["Long", "Short"]
    with pytest.raises(DesignError, match="needs two measures"):
        compare_audits([first])


def test_a_measure_keeps_its_numbers_whatever_it_is_compared_with(
    two: tuple[list[hqm.Benchmark], list[BenchmarkAudit]],
) -> None:
    pair = compare_audits(two[1])
    third = replace(two[1][1], benchmark="third", title="Third")
    three = compare_audits([*two[1], third])
    # NaN is not equal to itself
    assert repr(pair.indicators["test_retest.rho_g"]["Long"]) == repr(
        three.indicators["test_retest.rho_g"]["Long"]
    )
    assert (pair.differences[0].these, pair.differences[0].others) == (
        three.differences[0].these,
        three.differences[0].others,
    )
    assert pair.to_json() == compare_audits(two[1]).to_json()
    data = json.loads(pair.to_json())
    assert {"types", "distinct"} <= set(data)
    assert data["agreements"][0]["subsets"]["all"]["n"] == len(pair.respondents)


def hostile(audits: list[BenchmarkAudit]) -> Comparison:
    respondents = tuple(
        replace(r, name=f"{r.name}{HOSTILE}<script>") for r in audits[0].respondents
    )
    hostile_respondents = tuple(
        replace(r, name=f"{r.name}{HOSTILE}<script>") for r in audits[1].respondents
    )
    return compare_audits(
        [
            replace(audits[0], title=f"A {HOSTILE}", respondents=respondents),
            replace(audits[1], respondents=hostile_respondents),
        ],
        command=f"hqm compare {HOSTILE}",
    )


def test_the_page_is_self_contained_and_escaped(
    two: tuple[list[hqm.Benchmark], list[BenchmarkAudit]],
) -> None:
    comparison = hostile(two[1])
    page = render(comparison)
    assert page == render(hostile(two[1]))
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/", ""), (
        "namespaces are no requests"
    )
    assert 'lang="en"' in page
    assert "prefers-color-scheme: dark" in page
    for table in comparison_tables(comparison):
        assert f">{escape(table.caption)}</caption>" in page


@needs_pdflatex
def test_the_comparison_compiles(
    two: tuple[list[hqm.Benchmark], list[BenchmarkAudit]], tmp_path: Path
) -> None:
    folder = tmp_path / "latex"
    folder.mkdir()
    text = compiled(latex(comparison_tables(hostile(two[1]))), folder)
    if shutil.which("pdftotext"):
        assert "Test-retest" in text


def test_the_command(
    two: tuple[list[hqm.Benchmark], list[BenchmarkAudit]],
    tmp_path: Path,
    run: Run,
) -> None:
    paths = []
    for audit in two[1]:
        paths.append(tmp_path / f"{audit.benchmark}.json")
        paths[-1].write_text(Audit((audit,)).to_json(), encoding="utf-8")
    for suffix in (".html", ".tex", ".csv", ".md", ".json"):
        status, output, _ = run("compare", *paths, "--to", tmp_path / f"c{suffix}")
        assert status == 0
        assert "Short" in (tmp_path / f"c{suffix}").read_text(encoding="utf-8")
    assert tells(output, "compare.beyond-chance")
    store = tmp_path / "store.sqlite"
    before = store.read_bytes()
    assert (
        run(
            "compare",
            tmp_path / "long",
            "--store",
            store,
            "--metric",
            "accuracy",
            "--metric",
            "f1",
            "--to",
            tmp_path / "m.json",
        )[0]
        == 0
    )
    assert [m["label"] for m in json.loads((tmp_path / "m.json").read_text())["measures"]] == [
        "accuracy",
        "f1",
    ]
    assert store.read_bytes() == before
    status, _, err = run("compare", *paths, "--parser", "strict")
    assert status == 2
    assert tells(err, "compare.needs-answers")
    assert run("compare", "long", "--store", tmp_path / "none.sqlite")[0] == 2


@pytest.mark.parametrize("statistic", ["pearson", "icc_a1"])
def test_differences_are_shrunk_by_the_noise_of_the_pictures(statistic: str) -> None:
    """The error drawn here from the formula: each part of the scores (respondents, administrations,
    what remains) keeps the square root of 1 - (its squares in the noise) / (its squares).
    """
    rng = np.random.default_rng(18)
    # each part stands out of the noise of its means (1 / 40) by about as much again
    true = np.linspace(-0.4, 0.4, 6) + [[0.1], [-0.1]] + 0.2 * rng.normal(size=(2, 6))
    first, second = (
        leave_one_out(
            true[:, :, None] + rng.normal(size=(2, 6, 40)), [f"{prefix}{i}" for i in range(40)]
        )
        for prefix in "ab"
    )

    def decompose(x: Array) -> list[Array]:
        grand_mean = np.full_like(x, x.mean())
        row_effects = np.broadcast_to(x.mean(axis=0), x.shape) - grand_mean
        column_effects = np.broadcast_to(x.mean(axis=1, keepdims=True), x.shape) - grand_mean
        return [row_effects, column_effects, x - grand_mean - row_effects - column_effects]

    def draw_scores(measure: LeaveOneOutScores) -> Array:
        # what a picture adds to a mean, as its leave-one-out values say
        added = math.sqrt(39 / 40) * (
            measure.replicates.mean(axis=2, keepdims=True) - measure.replicates
        )
        scores = np.full_like(measure.scores, measure.scores.mean())
        for index, component in enumerate(decompose(measure.scores)):
            noise = sum((decompose(added[:, :, c])[index] ** 2).sum() for c in range(40))
            scores = scores + math.sqrt(max(0.0, 1 - noise / (component**2).sum())) * component
        sets = scores[:, :, None] + added @ rng.standard_normal((40, 40_000))
        return np.arctanh(reliability_of_sets(sets, statistic))  # type: ignore[arg-type]

    expected = float((draw_scores(first) - draw_scores(second)).std())
    result = difference_over_clusters(first, second, rng, statistic=statistic, draws=40_000)  # type: ignore[arg-type]
    # the standard deviations of two times 40,000 draws differ by 0.5% (one standard error)
    assert result.error == pytest.approx(expected, rel=0.025)


def test_a_test_at_the_level_is_not_beyond_it_and_one_without_a_number_was_not_made() -> None:
    counted = _count_tests([("", 0.05), ("", 0.049), ("few", math.nan)])
    assert (counted.n_tests, counted.beyond, counted.not_made) == (2, 1, {"few": 1})


def test_a_verdict_costs_where_a_model_gave_it(monkeypatch: pytest.MonkeyPatch) -> None:
    costs: list[bool] = []
    monkeypatch.setattr(compare, "unit_prices", lambda *_, judged: costs.append(judged))
    monkeypatch.setattr(compare, "_components_of", lambda _: None)
    for words in ({}, {"judge": "rule"}, {"judge": "human"}, {"judge": "gpt@1"}):
        measured: Any = SimpleNamespace(words=words, benchmark="b", scores={})
        assert compare.forecasts([measured], ["m"], None, {}) == ()
    assert costs == [False, False, False, True]
