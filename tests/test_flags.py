"""Every flag has one case where it is raised and one where it must not be; planted effects are
found.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from hqm.errors import DataError
from hqm.indicators import Protocol, case, compare, compare_runs, describe
from hqm.indicators.comparisons import expected
from hqm.indicators.flags import FLAGS, length_confound, warn
from hqm.labels.people_labels import FAITHFUL, PooledLabels
from hqm.psychometrics import expected_retest, family_dependence
from hqm.respondents.kinds import check_families, families_of
from hqm.scoring.matrix import ScoreMatrix
from hqm.scoring.metrics import YES_NO, Metric, mean_of, yes_no_tally
from hqm.types import STATES, Cell, Estimate, Form, Item
from tests.messages import pattern_of, text_of

ACCURACY = YES_NO[0]
PROTOCOL = Protocol("made@1", "b2:0", "official(strict)")
Array = np.ndarray


def items(n: int, flipped: bool = False, task: str = "yes_no", seed: int = 0) -> tuple[Item, ...]:
    """Questions whose words, places and ids say nothing of their answers."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(n) % 2)
    words = [f"w{k}" for k in range(40)]
    return tuple(
        Item(
            f"q{rng.integers(1 << 40):x}{i}",
            f"Is there a {words[rng.integers(40)]} near the {words[rng.integers(40)]} in the"
            " image?",
            task,
            ("yes" if (truth[i] == 1) != flipped else "no"),
            f"{i}.png",
            ("existence", "attribute")[int(rng.integers(2))],  # type: ignore[arg-type]
        )
        for i in range(n)
    )


def matrix(
    right: Array,
    cell: Cell | None = None,
    of: Sequence[Item] | None = None,
    names: Sequence[str] | None = None,
    unscored: Array | None = None,
) -> ScoreMatrix:
    """A score matrix of yes/no answers from who was right."""
    m, n = right.shape
    of = tuple(of or items(n))
    truth = np.array([item.target == "yes" for item in of])
    said_yes = np.where(truth, right, 1 - right).astype(bool)
    keys = yes_no_tally("yes", "no")
    tallies = {
        "tp": said_yes & truth,
        "fp": said_yes & ~truth,
        "tn": ~said_yes & ~truth,
        "fn": ~said_yes & truth,
    }
    assert set(tallies) == set(keys)
    unread = np.zeros(right.shape, dtype=bool) if unscored is None else unscored
    values = np.where(unread, np.nan, right.astype(float))
    scored = {key: np.where(unread, 0.0, v.astype(float)) for key, v in tallies.items()}
    states = np.where(unread, STATES.index("unparsed"), STATES.index("ok")).astype(np.uint8)
    names = tuple(names or [f"{chr(97 + k // 26)}{chr(97 + k % 26)}-model" for k in range(m)])
    kinds = {
        kind: np.array([item.type == kind for item in of]) for kind in ("existence", "attribute")
    }
    return ScoreMatrix(
        cell or Cell(),
        names,
        of,
        values,
        scored,
        states,
        np.full(right.shape, 1.0),
        kinds,
        f"{right.sum()}{cell}",
    )


def answers(rates: Sequence[float] | Array, n: int, rng: np.random.Generator) -> Array:
    return (rng.random((len(rates), n)) < np.asarray(rates)[:, None]).astype(float)


def stable(rates: Array, n: int, seed: int, spread: float = 2.5) -> tuple[Array, Array]:
    """Two runs of respondents whose answers to an item mostly repeat: probabilities near 0 and
    1.
    """
    rng = np.random.default_rng(seed)
    logit = (
        np.log(rates / (1 - rates))[:, None] * spread
        + rng.normal(0, 4, (1, n))
        + rng.normal(0, 1.5, (len(rates), n))
    )
    p = 1 / (1 + np.exp(-logit))
    return tuple((rng.random(p.shape) < p).astype(float) for _ in range(2))  # type: ignore[return-value]


GOOD = np.linspace(0.35, 0.75, 24)


def raised(
    estimates: Sequence[Estimate],
    first: ScoreMatrix,
    families: Sequence[str] | None = None,
    metric: Metric = ACCURACY,
) -> set[str]:
    family = family_dependence(
        first.score(metric), families or list(first.respondents), np.random.default_rng(0)
    )
    single_case = case("", "", (first,), metric, PROTOCOL)
    warnings = list(warn(single_case, estimates, family))
    for warned in warnings:
        assert warned.flag in FLAGS
        assert len(warned.sentence) > 15
        assert warned.to_dict()["what_to_do"]
    return {warned.flag for warned in warnings}


def runs(x: Array, y: Array, **settings: object) -> tuple[list[Estimate], ScoreMatrix]:
    first, second = matrix(x), matrix(y, Cell(run=1))
    estimates = compare_runs([first, second], ACCURACY, PROTOCOL, **settings)
    return [*estimates, *compare("run", first, second, ACCURACY, PROTOCOL, **settings)], first


def forms(x: Array, y: Array) -> tuple[list[Estimate], ScoreMatrix]:
    n = x.shape[1]
    first = matrix(x, of=items(n))
    turned = tuple(
        Item(
            a.id,
            a.prompt.replace("a ", "no ", 1),
            a.task,
            "no" if a.target == "yes" else "yes",
            a.image,
            a.type,
        )
        for a in first.items
    )
    second = matrix(y, Cell(form="parallel"), of=turned)
    return compare("form", first, second, ACCURACY, PROTOCOL), first


def test_a_good_benchmark_raises_nothing() -> None:
    estimates, first = runs(*stable(GOOD, 1500, 1))
    described = list(
        describe(
            first, ACCURACY, PROTOCOL, Form("original", first.items), ("existence", "attribute")
        )
    )
    assert raised([*estimates, *described], first) <= {
        "REDUNDANT",
        "CHANCE",
        "NEGATIVE_COMPONENT",
        "RANGE_INFLATED",
        "RANK_DEFICIENT",
        "ZERO_VARIANCE_ITEMS",
    }


def test_few_models() -> None:
    estimates, first = runs(*stable(GOOD[::3], 400, 2))
    assert "FEW_MODELS" in raised(estimates, first)
    estimates, first = runs(*stable(GOOD, 400, 2))
    assert "FEW_MODELS" not in raised(estimates, first)


def test_family_dependence() -> None:
    rates = np.repeat(np.linspace(0.3, 0.8, 8), 3)
    _, first = runs(*stable(rates, 800, 3))
    families = [f"family{k // 3}" for k in range(24)]
    assert "FAMILY_DEPENDENCE" in raised([], first, families)
    rng = np.random.default_rng(0)
    assert "FAMILY_DEPENDENCE" not in raised([], first, list(rng.permutation(families)))


def test_dominant_model() -> None:
    rng = np.random.default_rng(4)
    rates = np.r_[np.full(11, 0.70), 0.05]
    estimates, first = runs(answers(rates, 300, rng), answers(rates, 300, rng))
    assert "DOMINANT_MODEL" in raised(estimates, first)
    estimates, first = runs(*stable(GOOD, 800, 4))
    assert "DOMINANT_MODEL" not in raised(estimates, first)


def test_a_respondent_that_changes_no_decision_does_not_dominate() -> None:
    """One respondent far from the others, whose scores agree as well without it: 1.000 with, .99 or
    more without.
    """
    rng = np.random.default_rng(44)
    rates = np.r_[np.linspace(0.4, 0.9, 11), 0.01]
    x = answers(rates, 4000, rng)
    rerun = np.where(rng.random(x.shape) < 0.002, 1 - x, x)
    estimates, first = runs(x, rerun)
    pearson = next(e for e in estimates if e.indicator == "test_retest.pearson")
    assert pearson.detail["without_low"] > 0.99, (
        "the respondent has a leverage above a half, and nothing hangs on it"
    )
    spread = (first.score(ACCURACY) - first.score(ACCURACY).mean()) ** 2
    assert (1 / 12 + spread / spread.sum()).max() > 0.5
    assert "DOMINANT_MODEL" not in raised(estimates, first)


def test_range_inflated() -> None:
    rates = np.r_[np.linspace(0.05, 0.3, 12), np.linspace(0.6, 0.64, 12)]
    estimates, first = runs(*stable(rates, 800, 5))
    assert "RANGE_INFLATED" in raised(estimates, first), (
        "reliable over all, not among the best half"
    )
    assert "RANGE_INFLATED" not in raised([], first), (
        "without a reliability nothing hangs on the spread"
    )
    rates = np.r_[np.full(12, 0.5) + np.linspace(0, 0.01, 12), np.linspace(0.5, 0.75, 12)]
    estimates, first = runs(*stable(rates, 800, 5))
    assert "RANGE_INFLATED" not in raised(estimates, first)
    rates = np.r_[np.linspace(0.05, 0.1, 12), np.linspace(0.3, 0.8, 12)]
    estimates, first = runs(*stable(rates, 800, 5))
    assert first.score(ACCURACY).std() > 1.5 * np.sort(first.score(ACCURACY))[12:].std()
    assert "RANGE_INFLATED" not in raised(estimates, first), (
        "the best half is told apart as well as is asked for"
    )


def graded(
    estimates: Sequence[Estimate], first: ScoreMatrix, metric: Metric = ACCURACY
) -> dict[str, bool]:
    """Flag -> whether it is a note."""
    single_case = case("", "", (first,), metric, PROTOCOL)
    return {warned.flag: warned.note for warned in warn(single_case, estimates)}


def test_a_flag_on_which_no_decision_hangs_is_a_note() -> None:
    rng = np.random.default_rng(6)
    rates = np.linspace(0.2, 0.9, 24)
    estimates, first = runs(answers(rates, 2000, rng), answers(rates, 2000, rng))
    assert graded(estimates, first)["NOISE_FLOOR"] is True, (
        "coin flips on 2,000 items repeat well enough as scores"
    )
    rates = np.linspace(0.45, 0.55, 24)
    estimates, first = runs(answers(rates, 200, rng), answers(rates, 200, rng))
    assert graded(estimates, first)["NOISE_FLOOR"] is True, "models that are alike are no fault"
    x, y = stable(GOOD, 1500, 7)
    slightly = np.where(np.random.default_rng(7).random(y.shape) < 0.01, 0.0, y)
    estimates, first = forms(x, slightly)
    assert graded(estimates, first)["MEAN_SHIFT"] is True, "the scores agree all the same"
    worse = y * (np.random.default_rng(7).random(y.shape) > 0.5)
    estimates, first = forms(x, worse)
    assert graded(estimates, first)["MEAN_SHIFT"] is False


def test_a_flag_stands_once_a_family_with_all_that_carry_it() -> None:
    x, y = stable(GOOD, 300, 9)
    estimates, first = runs(x, x, deterministic=True)
    single_case = case("", "", (first,), ACCURACY, PROTOCOL)
    of_flag = [warned for warned in warn(single_case, estimates) if warned.flag == "DETERMINISTIC"]
    assert len(of_flag) == 1
    assert "test_retest.pearson" in of_flag[0].sentence
    assert "test_retest.spearman" in of_flag[0].sentence
    assert y.shape == x.shape


def test_noise_floor() -> None:
    rng = np.random.default_rng(6)
    estimates, first = runs(answers(GOOD, 600, rng), answers(GOOD, 600, rng))
    assert "NOISE_FLOOR" in raised(estimates, first), "coin flips are called coin flips"
    estimates, first = runs(*stable(GOOD, 600, 6))
    assert "NOISE_FLOOR" not in raised(estimates, first)


def test_mean_shift() -> None:
    x, y = stable(GOOD, 1000, 7)
    worse = y * (np.random.default_rng(7).random(y.shape) > 0.15)
    estimates, first = forms(x, worse)
    assert "MEAN_SHIFT" in raised(estimates, first)
    estimates, first = forms(x, y)
    assert "MEAN_SHIFT" not in raised(estimates, first)


def test_drift() -> None:
    rng = np.random.default_rng(8)
    x, y = stable(GOOD, 1500, 8)
    moved = y.copy()
    for k, share in enumerate(rng.uniform(-0.2, 0.2, len(y))):
        hit = rng.random(y.shape[1]) < abs(share)
        moved[k, hit] = float(share > 0)
    estimates, first = runs(x, moved)
    assert "DRIFT" in raised(estimates, first)
    estimates, first = runs(x, y)
    assert "DRIFT" not in raised(estimates, first)


def test_deterministic() -> None:
    x, y = stable(GOOD, 300, 9)
    estimates, first = runs(x, x, deterministic=True)
    assert "DETERMINISTIC" in raised(estimates, first)
    assert (
        next(e for e in estimates if e.indicator == "test_retest.pearson").status
        == "not_informative"
    )
    estimates, first = runs(x, y)
    assert "DETERMINISTIC" not in raised(estimates, first)


def at_chance(seed: int) -> tuple[list[Estimate], ScoreMatrix]:
    """Two forms answered by flips of a fair coin."""
    rng = np.random.default_rng(seed)
    return forms(*(answers(np.full(24, 0.5), 400, rng) for _ in range(2)))


def test_non_parallel() -> None:
    x, y = stable(GOOD, 800, 10)
    deaf = x.copy()
    deaf[:3] = 1 - deaf[:3]  # three respondents answer the negated question as if it were not
    deaf[3:] = y[3:]
    assert "NON_PARALLEL" not in raised(*at_chance(10)), (
        "at chance half of the respondents lie below it by luck"
    )
    estimates, first = forms(np.maximum(x, x), deaf)
    estimates_high, first_high = forms(*stable(np.linspace(0.7, 0.9, 24), 800, 10))
    assert "NON_PARALLEL" in raised(estimates, first)
    assert "NON_PARALLEL" not in raised(estimates_high, first_high)


@pytest.mark.parametrize(
    ("flag", "rates"),
    [("CEILING", np.linspace(0.97, 0.999, 24)), ("FLOOR", np.linspace(0.001, 0.03, 24))],
)
def test_ceiling_and_floor(flag: str, rates: Array) -> None:
    rng = np.random.default_rng(11)

    def described(rates: Array) -> set[str]:
        first = matrix(answers(rates, 200, rng))
        form = Form("original", first.items)
        return raised(list(describe(first, ACCURACY, PROTOCOL, form, ("existence",))), first)

    assert flag in described(rates)
    assert flag not in described(GOOD)


def test_chance() -> None:
    rng = np.random.default_rng(12)

    def described(rates: Array) -> set[str]:
        first = matrix(answers(rates, 400, rng))
        return raised(
            list(
                describe(first, ACCURACY, PROTOCOL, Form("original", first.items), ("existence",))
            ),
            first,
        )

    assert "CHANCE" in described(np.linspace(0.3, 0.9, 20))
    assert "CHANCE" not in described(np.linspace(0.7, 0.95, 20))


def labelled(labels: Array, first: ScoreMatrix, judged: int) -> ScoreMatrix:
    """People's labels on the first so many items, as `labels_matrix` makes them."""
    n = judged
    tallies = {"faithful": labels[:, :n].astype(float), "n": np.ones((len(labels), n))}
    shape = (len(labels), n)
    return ScoreMatrix(
        Cell(judge="human"),
        first.respondents,
        first.items[:n],
        labels[:, :n].astype(float),
        tallies,
        np.zeros(shape, np.uint8),
        np.full(shape, np.nan),
        {},
        "people",
    )


def criterion(
    rates: Array, n: int, judged: int, seed: int, error: float = 0.1
) -> tuple[dict[str, Estimate], ScoreMatrix]:
    rng = np.random.default_rng(seed)
    truth = answers(rates, n, rng)
    noisy = np.where(rng.random(truth.shape) < error, 1 - truth, truth)
    first = matrix(noisy)
    estimates = compare(
        "judge", first, labelled(truth, first, judged), ACCURACY, PROTOCOL, second_metric=FAITHFUL
    )
    return {e.indicator: e for e in estimates}, first


def test_attenuation() -> None:
    short, first = criterion(np.linspace(0.4, 0.8, 24), 2000, 60, 13)
    assert "ATTENUATION" in raised(list(short.values()), first)
    long_study, first = criterion(np.linspace(0.2, 0.95, 24), 2000, 2000, 13)
    assert "ATTENUATION" not in raised(list(long_study.values()), first)


def test_what_people_say_is_used() -> None:
    """Known truth: a judge wrong 10% of the time for everybody; 300 labelled items."""
    estimates, first = criterion(np.linspace(0.3, 0.9, 24), 2000, 300, 14)
    for name in ("sensitivity", "specificity"):
        assert estimates[f"criterion.{name}"].value == pytest.approx(0.9, abs=0.02)
    assert estimates["criterion.judge_functioning"].value > 0.01  # type: ignore[operator]
    assert estimates["criterion.disattenuated"].value >= estimates["criterion.pearson"].value  # type: ignore[operator]
    corrected = estimates["criterion.prediction_powered"].detail["by_respondent"]
    raw = first.score(ACCURACY)
    truth = np.linspace(0.3, 0.9, 24)
    ppi = np.array([corrected[name]["score"] for name in first.respondents])
    assert np.sqrt(((ppi - truth) ** 2).mean()) < np.sqrt(((raw - truth) ** 2).mean())
    assert estimates["criterion.rogan_gladen"].status == "ok", (
        "errors are alike, so the pooled correction is allowed"
    )


def test_a_judge_that_errs_differently_forbids_the_pooled_correction() -> None:
    rng = np.random.default_rng(15)
    truth = answers(np.linspace(0.3, 0.9, 24), 2000, rng)
    error = np.linspace(0.02, 0.35, 24)[:, None]
    first = matrix(np.where(rng.random(truth.shape) < error, 1 - truth, truth))
    estimates = {
        e.indicator: e
        for e in compare(
            "judge", first, labelled(truth, first, 400), ACCURACY, PROTOCOL, second_metric=FAITHFUL
        )
    }
    assert estimates["criterion.judge_functioning"].value < 0.001  # type: ignore[operator]
    assert estimates["criterion.rogan_gladen"].value is None


def by_people(
    rates: Array, uniforms: Array, stale: int = 0, probability: float | None = None
) -> tuple[list[Estimate], ScoreMatrix]:
    """People's labels, all of them right, of the answers that are chosen."""
    rng = np.random.default_rng(23)
    truth = answers(rates, uniforms.shape[1], rng)
    first = matrix(np.where(rng.random(truth.shape) < 0.1, 1 - truth, truth))
    labelled_answers = uniforms < np.where(
        first.values == 1, 0.3, 0.7 if probability is None else 0.3
    )
    complete = labelled(truth, first, truth.shape[1])
    values = np.where(labelled_answers, complete.values, np.nan)
    tallies = {
        "faithful": np.where(labelled_answers, truth, 0.0),
        "n": labelled_answers.astype(float),
    }
    labels = replace(complete, values=values, tallies=tallies)
    sample = PooledLabels(
        judgements=(),
        probabilities=(
            {}
            if probability is None
            else {
                (first.respondents[k], first.items[i].id): probability
                for k, i in np.argwhere(labelled_answers)
            }
        ),
        stale=stale,
    )
    estimates = compare(
        "judge", first, labels, ACCURACY, PROTOCOL, second_metric=FAITHFUL, sample=sample
    )
    return estimates, first


def test_labels_not_random() -> None:
    """Wrong answers are labelled more than twice as often as right ones; then all with one
    probability.
    """
    chance = np.random.default_rng(22).random((24, 400))
    estimates, first = by_people(GOOD, chance)
    assert "LABELS_NOT_RANDOM" in raised(estimates, first)
    by = {e.indicator: e for e in estimates}
    assert by["criterion.prediction_powered"].value is None, "nothing is corrected by such labels"
    by_chance, first = by_people(GOOD, chance, probability=0.3)
    assert "LABELS_NOT_RANDOM" not in raised(by_chance, first)
    assert {e.indicator: e for e in by_chance}["criterion.prediction_powered"].value is not None


def test_stale_labels() -> None:
    chance = np.random.default_rng(22).random((24, 400))
    assert "STALE_LABELS" in raised(*by_people(GOOD, chance, stale=3, probability=0.3))
    assert "STALE_LABELS" not in raised(*by_people(GOOD, chance, probability=0.3))


def test_unparsed() -> None:
    rng = np.random.default_rng(16)
    x, y = stable(GOOD, 400, 16)
    lost = rng.random(x.shape) < 0.05
    first, second = matrix(x, unscored=lost), matrix(y, Cell(run=1))
    estimates = compare("run", first, second, ACCURACY, PROTOCOL)
    assert "UNPARSED" in raised(estimates, first)
    (pearson,) = [e for e in estimates if e.indicator == "test_retest.pearson"]
    assert pearson.detail["if_all_wrong"] < pearson.detail["if_all_right"]
    estimates, first = runs(x, y)
    assert "UNPARSED" not in raised(estimates, first)


def test_reversed() -> None:
    lower = Metric("rate", mean_of("bad"), "lower", share=True, about="A rate.")
    rng = np.random.default_rng(17)
    truth = answers(np.linspace(0.3, 0.9, 24), 500, rng)
    base = matrix(truth)
    first = (
        ScoreMatrix(**{**base.__dict__, "tallies": {"bad": 1 - truth, "n": np.ones(truth.shape)}})
        if hasattr(base, "__dict__")
        else base
    )
    estimates = compare(
        "judge", first, labelled(truth, first, 500), lower, PROTOCOL, second_metric=FAITHFUL
    )
    assert graded(estimates, first, lower)["REVERSED"] is True, "a note, no warning"
    assert estimates[0].value == pytest.approx(1.0)
    straight, first = criterion(np.linspace(0.3, 0.9, 24), 500, 500, 17)
    assert "REVERSED" not in raised(list(straight.values()), first)


def test_averages_are_refused() -> None:
    import hqm
    from hqm.auditing.audit import BenchmarkAudit

    empty = BenchmarkAudit.__new__(BenchmarkAudit)
    for name in ("average", "reliability.average", "grade"):
        with pytest.raises(hqm.DesignError, match="AVERAGED_COEFFICIENTS"):
            empty.estimate(name)


def test_planted_items_are_found() -> None:
    """Five wrong labels among 400 items, in answers of 60 respondents."""
    x, _ = stable(np.linspace(0.3, 0.8, 60), 400, 18)
    # items in the middle, which both strong and weak respondents could fail
    middling = np.flatnonzero(np.abs(x.mean(axis=0) - 0.5) < 0.25)
    planted = [int(i) for i in middling[:: max(1, len(middling) // 5)][:5]]
    x[:, planted] = 1 - x[:, planted]
    first = matrix(x)
    estimates = {
        e.indicator: e
        for e in describe(first, ACCURACY, PROTOCOL, Form("original", first.items), ("existence",))
    }
    candidates = {row["item"] for row in estimates["items.label_errors"].detail["candidates"]}
    wrong = {first.items[i].id for i in planted}
    assert len(candidates & wrong) >= 3
    assert len(candidates - wrong) <= 1


@pytest.mark.parametrize(("able", "at_chance"), [(0.0, True), (0.35, False)])
def test_a_type_at_chance_is_said_to_be(able: float, at_chance: bool) -> None:
    """All guess at what is asked of attributes, or the best is right in 85%: in the other type all
    are able.
    """
    rng = np.random.default_rng(21)
    all_items = items(400)
    rates = np.where([item.type == "attribute" for item in all_items], 0.5, 0.8) * np.ones((10, 1))
    rates[0] += np.where(rates[0] == 0.5, able, 0)
    first = matrix((rng.random(rates.shape) < rates).astype(float), of=all_items)
    estimates = describe(first, ACCURACY, PROTOCOL, Form("original", first.items), ())
    (index,) = [e for e in estimates if e.indicator == "types.index"]
    rows = {row["type"]: row for row in index.detail["types"]}
    assert rows["attribute"]["at_chance"] is at_chance
    assert (rows["attribute"]["missing_items"] == 0) is at_chance
    assert rows["existence"]["at_chance"] is False


def test_judge_noise_is_split_from_the_answers() -> None:
    """Verdicts wrong at random 10% of the time, answers that change 20% of the time: known shares
    of the variance.
    """
    rng = np.random.default_rng(19)
    n, m = 3000, 24
    quality = answers(GOOD, n, rng)

    def judged(true: Array) -> Array:
        return np.where(rng.random(true.shape) < 0.1, 1 - true, true)

    redrawn = np.where(rng.random(quality.shape) < 0.2, 1 - quality, quality)
    all_items = items(n)
    first, rejudged = (
        matrix(judged(quality), Cell(judge="j"), all_items),
        matrix(judged(quality), Cell(judge="j#1"), all_items),
    )
    rerun = matrix(judged(redrawn), Cell(run=1, judge="j"), all_items)
    estimates = {
        e.indicator: e
        for e in compare("judge", first, rejudged, ACCURACY, PROTOCOL, runs=[first, rerun])
    }
    # judge: 2 * .1 * .9 = .18 of pairs differ; rerun: .18 (1 - .2) + (1 - .18) .2 = .308
    assert estimates["judge_consistency.flip_rate"].value == pytest.approx(0.18, abs=0.01)
    assert estimates["judge_consistency.judge_share"].value == pytest.approx(0.18 / 0.308, abs=0.03)
    assert "judge_consistency.krippendorff_alpha" in estimates
    assert m == len(first.respondents)


def test_the_design_that_is_advised_reaches_its_target() -> None:
    estimates, _ = runs(*stable(np.linspace(0.45, 0.6, 24), 300, 20))
    phi = next(e for e in estimates if e.indicator == "generalizability.phi")
    assert {row["facet"] for row in phi.detail["components"]} >= {"respondent", "item"}
    rows = {row["target"]: row for row in phi.detail["d_study"]}
    assert (
        rows[0.8]["items"] is None
        or rows[0.9]["items"] is None
        or rows[0.8]["answers"] <= rows[0.9]["answers"]
    )
    curve = [row["phi"] for row in phi.detail["curve"]]
    assert curve == sorted(curve), "more items never make it worse"


def test_tied_respondents_stand_together() -> None:
    rng = np.random.default_rng(21)
    rates = np.r_[0.30, 0.30, 0.60, 0.60, 0.90]
    first = matrix(answers(rates, 3000, rng), names=list("abcde"))
    estimates = {
        e.indicator: e
        for e in describe(first, ACCURACY, PROTOCOL, Form("original", first.items), ("existence",))
    }
    pairs = estimates["discriminability.separable_pairs"]
    assert pairs.value == pytest.approx(0.8)
    assert {frozenset(group) for group in pairs.detail["tied_sets"]} >= {
        frozenset("ab"),
        frozenset("cd"),
    }
    assert pairs.detail["ranks"]["e"] == [1, 1]
    lead = estimates["discriminability.lead"]
    assert lead.detail["best"] == "e"
    interval = lead.interval("fixed_models")
    assert interval is not None
    assert interval.low < 0.3 < interval.high
    assert interval.low > 0.2


def test_length_confound() -> None:
    warnings = length_confound({"short": 96, "long": 4000})
    assert {warned.flag for warned in warnings.values()} == {"LENGTH_CONFOUND"}
    assert set(warnings) == {"short", "long"}
    assert length_confound({"a": 1000, "b": 1200}) == {}
    assert length_confound({"a": 1000}) == {}


@pytest.mark.parametrize(
    ("names", "families"),
    [
        ("hf/x/llava-1.5-7b hf/x/llava-v1.6-34b recorded/LLaVA-NeXT", ["llava"] * 3),
        ("Qwen2-VL-7B Qwen2.5-VL-72B QVQ-72B-Preview", ["qwen"] * 3),
        ("gemini-1.5-pro paligemma-3b philosopher-2", ["google", "google", "philosopher"]),
        ("otter-9b otter-image-9b otter2", ["otter", "otter-image", "otter"]),
        ("ovis-base ovis-large", ["ovis", "ovis"]),
    ],
)
def test_relatives_share_a_vendor_or_a_name_before_size_and_version(
    names: str, families: list[str]
) -> None:
    assert families_of(names.split()) == families


@pytest.mark.parametrize(
    "names",
    ["model-a model-b model-c model-d model-e model-f", "r1 r2 r3", "model_1 model_2", "7 8"],
)
def test_names_that_say_nothing_make_no_relatives(names: str) -> None:
    assert families_of(names.split()) == names.split()
    numbered = [f"recorded/sys-{k:02}" for k in range(1, 9)]
    assert families_of(numbered) == [name.partition("/")[2] for name in numbered]
    for gaps in (numbered[:4], numbered[1:], ["gpt-1", "gpt-2", "gpt-3", "gpt-4", "gpt-5"]):
        assert len(set(families_of(gaps))) == 1, gaps


def test_families_are_looked_up_by_names_as_they_look() -> None:
    by_file = {"mod\u00e8le": "a", "x": "b"}
    assert families_of(["mode\u0300le", "hf/some/x", "gpt-4 "], by_file) == ["a", "b", "gpt"]
    with pytest.raises(
        DataError, match=pattern_of("families.nobody", count=2, names="mod\u00e8le, x")
    ):
        check_families(by_file, ["y", "z"])


def test_what_is_expected_is_said_to_be() -> None:
    """Probabilities of nine respondents, drawn at temperature 1, at 0, and before answers of three
    words.
    """
    chances = (
        np.random.default_rng(3).uniform(0.05, 0.95, (9, 200)) * np.linspace(0.4, 1.0, 9)[:, None]
    )
    first = matrix((chances > 0.5).astype(float))
    single_case = case("expected", "", (first,), ACCURACY, PROTOCOL)
    (estimate,) = expected(single_case, chances, 1.0)
    assert estimate.value == pytest.approx(expected_retest(chances).rho.value)
    (note,) = [warned for warned in warn(single_case, [estimate]) if warned.flag == "EXPECTED"]
    assert note.note, "it says how a number was made"
    for unsuitable, temperature, reason in (
        (single_case, 0.0, "a rerun repeats the answers"),
        (
            replace(single_case, matrices=(replace(first, words=first.words * 3),)),
            1.0,
            text_of("first-token.longer", answers=9),
        ),
    ):
        (absent,) = expected(unsuitable, chances, temperature)
        assert absent.value is None
        assert reason in absent.reason
        assert "EXPECTED" not in absent.flags


def test_every_flag_is_tested_here() -> None:
    from pathlib import Path

    text = Path(__file__).read_text()
    # raised by the coefficients themselves, and WITHHELD by the scores; their own tests hold them
    elsewhere = {
        "FAVOURS_FAMILY",
        "NOT_ONE_THING",
        "PARAMETERS_REFUSED",
        "READ_WITH",
        "REMEMBERED",
        "NEGATIVE_COMPONENT",
        "MISSING",
        "REDUNDANT",
        "CAPPED",
        "JUDGE_DIF",
        "RANK_DEFICIENT",
        "ZERO_VARIANCE_ITEMS",
        "HEYWOOD",
        "UNBOUNDED",
        "WITHHELD",
    }
    assert {flag for flag in FLAGS if f'"{flag}"' not in text and flag not in text} <= elsewhere
