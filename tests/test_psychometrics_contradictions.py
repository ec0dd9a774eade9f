"""Wrong keys are told from a scorer that errs now and then, by people who err too."""

import numpy as np

from hqm import psychometrics as psy


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
    assert f"needs {study.fewest} labels" in study.reason
    assert study.fewest > 3
    none = psy.contradicted_items(verdicts, np.full_like(labels, np.nan))
    assert (none.status, none.tested) == ("insufficient", 0)


def test_answers_and_labels_together_need_few_labels() -> None:
    """Two labels an item are too few by themselves; beside 12 respondents' answers they are not."""
    found_right = planted = listed = alone = clean = 0
    for seed in range(12):
        rng = np.random.default_rng([2, seed])
        for wrong in (9, 0):
            verdicts, labels, keys = world(seed, wrong=wrong, misread=0.01, respondents=12)
            labels[rng.random(labels.shape).argsort(axis=0) >= 2] = np.nan
            answers = psy.reading_list(verdicts, rng=rng, most=300)
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
            planted, listed, alone = (
                planted + len(keys),
                listed + len(items),
                alone + len(answers.named),
            )
            found_right += len(items & keys)
    assert found_right / planted > 0.5
    assert found_right > 1.5 * alone
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
