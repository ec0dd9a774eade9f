"""Wrong keys are told from a scorer that errs now and then, by people who err too; and what answers
alone say of keys.
"""

import math

import numpy as np
import pytest
from scipy import stats

from hqm import psychometrics as psy
from hqm.psychometrics.items import wrong_keys
from hqm.psychometrics.items.wrong_keys import ReadingList

nan = math.nan


def world(
    seed: int, *, wrong: int, misread: float, respondents: int = 10, items: int = 300
) -> tuple[np.ndarray, np.ndarray, set[int]]:
    """Verdicts and labels: some items are hard to read for the scorer, people err in 5% of answers,
    some keys are wrong.
    """
    rng = np.random.default_rng(seed)
    right = rng.random((respondents, items)) < np.linspace(0.6, 0.95, respondents)[:, None]
    errors = rng.beta(1, 1 / misread - 1, items)
    verdicts = np.where(rng.random(right.shape) < errors, ~right, right)
    keys = set(rng.choice(items, wrong, replace=False).tolist())
    verdicts[:, list(keys)] ^= True
    labels = np.where(rng.random(right.shape) < 0.05, ~right, right)
    return verdicts.astype(float), labels.astype(float), keys


def test_a_scorer_that_errs_now_and_then_has_no_wrong_keys() -> None:
    """Misreadings that pile up on some items, at most 5% of benchmarks with a false alarm by the
    rule: 100 of them.
    """
    alarms = 0
    for seed in range(100):
        verdicts, labels, _ = world(seed, wrong=0, misread=0.03)
        alarms += bool(psy.contradicted_items(verdicts, labels).items)
    assert alarms <= 10


def test_wrong_keys_are_listed() -> None:
    found_right = planted = listed = 0
    for seed in range(50):
        verdicts, labels, keys = world(seed, wrong=6, misread=0.03)
        items = {row.item for row in psy.contradicted_items(verdicts, labels).items}
        planted, listed, found_right = (
            planted + len(keys),
            listed + len(items),
            found_right + len(items & keys),
        )
    assert found_right / planted > 0.8
    assert found_right / listed > 0.95


def test_few_labels_cannot_tell() -> None:
    verdicts, labels, _ = world(1, wrong=6, misread=0.03, respondents=3)
    study = psy.contradicted_items(verdicts, labels)
    assert study.status == "insufficient"
    assert f"needs {study.min_labels} labels" in study.reason
    assert study.min_labels > 3
    unlabelled = psy.contradicted_items(verdicts, np.full_like(labels, np.nan))
    assert (unlabelled.status, unlabelled.tested, unlabelled.min_labels) == ("insufficient", 0, 0)
    assert math.isnan(unlabelled.usual)


def test_answers_and_labels_together_need_few_labels() -> None:
    """Two labels an item are too few by themselves; beside 12 respondents' answers they are not."""
    found_right = planted = listed = n_label_errors = clean = 0
    for seed in range(12):
        rng = np.random.default_rng([2, seed])
        for wrong in (9, 0):
            verdicts, labels, keys = world(seed, wrong=wrong, misread=0.01, respondents=12)
            labels[rng.random(labels.shape).argsort(axis=0) >= 2] = np.nan
            answers = psy.reading_list(verdicts, rng=rng, max_listed=300)
            chances = np.zeros(300)
            if not answers.doubt:
                chances[[row.item for row in answers.items]] = [r.expected for r in answers.items]
            assert psy.contradicted_items(verdicts, labels).status == "insufficient"
            items = {
                row.item for row in psy.contradicted_items(verdicts, labels, chances=chances).items
            }
            if not wrong:
                clean += bool(items)
                continue
            planted, listed, n_label_errors = (
                planted + len(keys),
                listed + len(items),
                n_label_errors + len(answers.named),
            )
            found_right += len(items & keys)
    assert found_right / planted > 0.5
    assert found_right > 1.2 * n_label_errors
    assert found_right / listed > 0.9
    assert clean <= 2


def test_labels_that_are_turned_round_accuse_no_item() -> None:
    """All labels contradict all answers: no key is wrong, the labels say the opposite of 1 and 0."""
    rng = np.random.default_rng(1)
    scored = (rng.random((12, 60)) < 0.8).astype(float)
    study = psy.contradicted_items(scored, 1 - scored)
    assert (study.status, study.items) == ("degenerate", ())
    assert "100%" in study.reason
    # a judge that errs in a third of the cases is no such case
    wrong = rng.random(scored.shape) < 0.33
    assert psy.contradicted_items(scored, np.where(wrong, 1 - scored, scored)).status == "ok"


def test_what_half_of_the_labels_say_and_what_is_not_labelled() -> None:
    """An item is listed from half of its labels on, if that many are beyond what is usual."""
    scored, labels = np.ones((60, 40)), np.ones((60, 40))
    labels[:30, 0] = 0
    labels[:29, 1] = 0
    labels[:, 2] = nan
    scored[:, 3] = nan
    study = psy.contradicted_items(scored, labels)
    assert [(row.item, row.contradicted, row.answers) for row in study.items] == [(0, 30, 60)]
    assert (study.status, study.tested) == ("ok", 38)
    assert [row.item for row in psy.contradicted_items(scored, labels, alpha=1e-9).items] == []
    # what answers and labels say together does not ask for half of the labels
    chances = np.zeros(40)
    chances[1] = 1 - 1e-6
    items = psy.contradicted_items(scored, labels, chances=chances).items
    assert {row.item for row in items} == {0, 1}
    labels[1:, 1] = nan
    items = psy.contradicted_items(scored, labels, chances=chances).items
    assert [(row.item, row.answers) for row in items] == [(1, 1), (0, 60)]
    assert items[0].p == pytest.approx(1 / (1 + (1 - 1e-6) / 1e-6 * 4))


def test_contradictions_of_most_labels_are_no_wrong_keys() -> None:
    """Degenerate from where so many are beyond chance: 40 of 60 (p .0067), not 36 of 60 (p .077)."""
    scored = np.ones((6, 10))
    for wrong, status in ((36, "insufficient"), (40, "degenerate")):
        labels = (np.arange(60) >= wrong).astype(float).reshape(6, 10)
        assert psy.contradicted_items(scored, labels).status == status
    assert psy.contradicted_items(scored, labels, alpha=0.005).status == "insufficient"


def test_the_answers_under_wrong_keys() -> None:
    """A right answer is wrong, a wrong one meets the key as often as said, and a part is mirrored
    or lost.
    """
    x = [[1, 0, 0.25, nan], [0, 1, 0.75, 1]]
    rng = np.random.default_rng(0)
    for hit, expected in (
        (1.0, [[0, 1, 0.75, nan], [1, 0, 0.25, 0]]),
        (0.0, [[0, 0, 0, nan], [0, 0, 0, 0]]),
        ([1.0, 0.0, 1.0, 0.0], [[0, 0, 0.75, nan], [1, 0, 0.25, 0]]),
    ):
        assert np.array_equal(psy.with_wrong_keys(x, rng=rng, hit=hit), expected, equal_nan=True)
    chance_scores = psy.with_wrong_keys(np.zeros((50, 200)), rng=rng, hit=0.3)
    assert chance_scores.mean() == pytest.approx(0.3, abs=4 * math.sqrt(0.21 / 10_000))


def test_copies_hold_some_items_and_their_own_chances() -> None:
    """The score of item i is (i + 1) / 1000; under a wrong key odd items are mirrored, others 0."""
    scores = np.tile(np.arange(1, 101) / 1000, (3, 1))
    before, changed_items = scores.copy(), set()

    def search(copy: np.ndarray) -> list[int]:
        changed = (copy[0] > 0.5) | (copy[0] == 0)
        assert copy.shape == (3, 60)
        assert changed.sum() == 6
        assert (np.diff(copy[0, ~changed]) > 0).all(), "no item stands twice, and in their order"
        mirrored = np.round(1000 * (1 - copy[0, copy[0] > 0.5])) - 1
        assert (mirrored % 2 == 1).all()
        left = np.round(1000 * copy[0, ~changed]) - 1
        changed_items.update(left.astype(int).tolist())
        assert (left % 2 == 1).sum() + len(mirrored) <= 50
        return np.flatnonzero(changed).tolist()

    study = psy.planted_faults(
        scores,
        search,
        rng=np.random.default_rng(1),
        hit=np.arange(100) % 2,
        share=0.1,
        faults=45,
        max_items=60,
    )
    assert (study.planted, study.repeats, study.power, study.error) == (6, 8, 1, 0)
    assert changed_items == set(range(100))
    assert np.array_equal(scores, before)
    without_rows = psy.planted_faults(np.ones((0, 4)), search, rng=np.random.default_rng(1))
    assert (without_rows.planted, without_rows.repeats, without_rows.status) == (
        0,
        0,
        "insufficient",
    )
    assert math.isnan(without_rows.power)
    assert math.isnan(without_rows.error)


@pytest.mark.parametrize(
    ("items", "options", "planted", "repeats"),
    [
        (100, {}, 2, 40),
        (100, {"faults": 7}, 2, 4),
        (500, {}, 10, 20),
        (3, {}, 1, 40),
        (2100, {"faults": 80}, 40, 2),
    ],
)
def test_how_many_faults_are_planted(
    items: int, options: dict[str, int], planted: int, repeats: int
) -> None:
    """One in fifty, at least one, of 2,000 items at most; 200 in all, in 40 copies at most."""
    sizes = []
    study = psy.planted_faults(
        np.ones((1, items)),
        lambda x: sizes.append(x.shape[1]) or [],
        rng=np.random.default_rng(2),
        **options,
    )
    assert (study.planted, study.repeats, study.power) == (planted, repeats, 0)
    assert sizes == [min(items, 2000)] * repeats


def passed(respondents: int, items: int, wrong: int, seed: int = 3) -> np.ndarray:
    """Answers of respondents from weak to able, the first of the items with wrong keys."""
    rng = np.random.default_rng(seed)
    x = (rng.random((respondents, items)) < np.linspace(0.5, 0.98, respondents)[:, None]) * 1.0
    x[:, :wrong] = 1 - x[:, :wrong]
    return x


def listed(x: np.ndarray, **options: object) -> ReadingList:
    return psy.reading_list(x, rng=np.random.default_rng(0), **options)  # type: ignore[arg-type]


def expected(study: ReadingList) -> list[float]:
    """By item: the chance that its key is wrong."""
    return [row.expected for row in sorted(study.items, key=lambda row: row.item)]


def test_scores_of_any_range_are_brought_to_0_and_1() -> None:
    x = passed(12, 60, 2)
    plain = listed(x)
    for transformed in (10 * x, 2 * x - 1, 3 * x - 2):
        assert expected(listed(transformed)) == pytest.approx(expected(plain), rel=1e-9)
    halves = listed(x / 2)
    assert {row.fails for row in listed(0.5 * x + 0.5).items} == {()}, "none is below the middle"
    assert expected(halves) != pytest.approx(expected(plain), abs=0.01), "a half is not in full"
    assert len(plain.items) == 50, "the length of the list where nobody says"
    assert plain.planted == 1
    assert listed(x, max_listed=7).items == plain.items[:7]


def test_few_items_of_a_type_or_side_share_abilities() -> None:
    """Sides of fewer than ten items count with their type, types of fewer with all such types."""
    x = passed(12, 60, 3)
    types = np.repeat(list("abcd"), [30, 16, 9, 5])
    sides = np.concatenate([np.repeat([0, 1, 2], [10, 11, 9]), np.repeat([0, 1], 8), [0, 1] * 7])
    alike = np.repeat([0, 1, 2, 3, 4], [10, 11, 9, 16, 14])
    alike[21:30] = 9  # of the type's sides only one is small: it stands with nothing of its type
    alike[46:] = 9
    from_sides = listed(x, types=types.tolist(), sides=sides.tolist(), max_listed=60)
    from_types = listed(x, types=alike.tolist(), max_listed=60)
    assert expected(from_sides) == pytest.approx(expected(from_types), rel=1e-9)
    assert from_sides.common_failure == pytest.approx(from_types.common_failure, rel=1e-9)
    assert expected(listed(x, types=["a"] * 60, sides=[1] * 60)) == expected(listed(x))
    assert expected(listed(x, types=types.tolist(), max_listed=60)) != pytest.approx(
        expected(from_types)
    )
    order = np.random.default_rng(1).permutation(60)
    turned = listed(
        x[:, order], types=types[order].tolist(), sides=sides[order].tolist(), max_listed=60
    )
    assert expected(turned) == pytest.approx(np.array(expected(from_sides))[order], abs=1e-6)


def test_a_long_list_is_learnt_from_some_of_its_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those drawn are nearly in the order of a list of them alone, which learns the variance of
    slopes from fewer items.
    """
    x = passed(30, 90, 3)
    assert len(np.unique(x, axis=1).T) == 90
    monkeypatch.setattr(wrong_keys, "_MAX_FITTED_KINDS", 50)
    study = listed(x, max_listed=90)
    sampled_items = np.sort(np.random.default_rng(0).choice(90, 50, replace=False))
    subset = listed(x[:, sampled_items], max_listed=50)
    members = [row.item for row in study.items if row.item in sampled_items]
    members_alone = [int(sampled_items[row.item]) for row in subset.items]
    places = stats.spearmanr(np.argsort(members), np.argsort(members_alone)).statistic
    assert members[:10] == members_alone[:10]
    assert places > 0.99
    monkeypatch.setattr(wrong_keys, "_MAX_FITTED_KINDS", 90)
    full_list = listed(x, max_listed=90)
    assert [row.item for row in full_list.items] != [row.item for row in study.items]
    monkeypatch.undo()
    assert listed(x, max_listed=90) == full_list


def test_items_that_are_answered_alike_count_each() -> None:
    """Twice the same items: the same chances of a wrong key, and twice as many are expected. The
    variance of slopes is learnt from twenty items more, whose share halves.
    """
    x = passed(14, 60, 3)
    once, twice = listed(x, max_listed=60), listed(np.hstack([x, x]), max_listed=120)
    chance = expected(twice)
    assert chance[:60] == pytest.approx(chance[60:], abs=1e-12)
    assert sum(chance) == pytest.approx(2 * sum(expected(once)), rel=0.1)
    assert twice.evidence == pytest.approx(2 * once.evidence, rel=0.02)


def test_what_is_equally_sure_is_ordered_by_the_other_items() -> None:
    """With 200 respondents wrong keys are certain; the lower correlation stands first."""
    x = passed(200, 24, 4)
    study = listed(x)
    first = study.items[:4]
    assert {row.item for row in first} == {0, 1, 2, 3}
    assert {row.expected for row in first} == {first[0].expected}
    assert [row.item_rest for row in first] == sorted(row.item_rest for row in first)
    assert len({row.item_rest for row in first}) == 4


@pytest.mark.parametrize("respondents", [9, 10])
def test_a_number_is_said_from_ten_respondents_on(respondents: int) -> None:
    study = listed(passed(respondents, 80, 8))
    assert bool(study.doubt) == (respondents < 10)
    assert math.isnan(study.faults) == (respondents < 10)
    assert bool(study.named) == (respondents == 10)
    assert study.stands_out
    assert (study.power_named > 0) == (respondents == 10)


@pytest.mark.parametrize(
    ("sizes", "wrong", "doubted"),
    [
        ((20, 20, 20), (6, 0, 0), True),  # (1/3)^6 is below .01 / 3
        ((20, 20, 20), (4, 1, 1), False),
        ((20, 20, 20), (2, 2, 2), False),
        ((10, 50), (5, 0), True),
        ((9, 51), (5, 0), False),
        ((60,), (5,), False),
    ],
)
def test_a_number_that_rests_on_a_type_of_ten_items_is_doubted(
    sizes: tuple[int, ...], wrong: tuple[int, ...], doubted: bool
) -> None:
    """How many are gone without the type, against its share of the items."""
    x = passed(40, 60, 0, seed=4)
    types = np.repeat(np.arange(len(sizes)), sizes)
    for kind, count in enumerate(wrong):
        turned = np.flatnonzero(types == kind)[:count]
        x[:, turned] = 1 - x[:, turned]
    study = listed(x, types=types.tolist())
    assert ("one type" in study.doubt) == bool(study.doubt) == doubted
    assert math.isnan(study.faults) == doubted
    assert bool(study.named) == (not doubted)
    if not doubted:
        assert round(study.faults) == sum(wrong)
