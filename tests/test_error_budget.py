"""The bands of the error budget hold .92 to .97 of the moves they are about, in worlds that are not
the formulas' own: probit answers, skewed abilities, pictures with several items, Laplace effects.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm, t

import hqm
from hqm.psychometrics import paired_differences
from hqm.psychometrics.inference.pairwise import rank_contrasts
from hqm.psychometrics.variance.error_budget import (
    MIN_MOVES,
    change_band,
    item_band,
    metric_band,
    outlying_move,
    rerun_band,
    wording_band,
)
from tests.conftest import counts, write_benchmark

Array = np.ndarray
REPLICATES = counts(4000)
ITEMS, A_PICTURE = 300, 4
_LARGE = np.random.default_rng(0)
MANY_EASES = _LARGE.normal(0, 0.6, 20_000) + 0.7 * _LARGE.standard_t(6, 20_000)
"""Difficulties of very many items: the scores that a respondent has in the end."""


class World:
    """Respondents with skewed abilities, and items that share pictures."""

    def __init__(self, rng: np.random.Generator, respondents: int) -> None:
        self.rng = rng
        self.ability = 1.4 - rng.gamma(2.0, 0.5, respondents)

    def chances(self, *, lift: float | Array = 0.0) -> Array:
        """(respondents, items): chances of right answers to new items about new pictures."""
        rng = self.rng
        pictures = np.repeat(rng.normal(0, 0.6, ITEMS // A_PICTURE), A_PICTURE)
        hard = rng.standard_t(6, ITEMS) * 0.7 + pictures
        return np.asarray(norm.cdf(self.ability[:, None] + lift - hard))

    def answers(self, chances: Array) -> Array:
        return (self.rng.random(chances.shape) < chances).astype(float)


def without_pictures(right: Array) -> Array:
    """(respondents, pictures): the share right with each picture left out."""
    sums = right.reshape(len(right), -1, A_PICTURE).sum(axis=2)
    total = right.sum(axis=1, keepdims=True)
    return np.asarray((total - sums) / (right.shape[1] - A_PICTURE))


def reruns(rng: np.random.Generator) -> Array:
    """Whether another two runs of each respondent lie within its own band."""
    world = World(rng, 8)
    chances = world.chances()
    first, rerun = world.answers(chances), world.answers(chances)
    noise = ((first - rerun) ** 2).sum(axis=1) / 2 / ITEMS**2
    band = rerun_band(noise, np.full(8, ITEMS))
    moved = world.answers(chances).mean(axis=1) - world.answers(chances).mean(axis=1)
    return np.abs(moved) <= band.moves


def items(rng: np.random.Generator) -> Array:
    """Whether scores on other items lie within each respondent's band."""
    world = World(rng, 8)
    scores = world.answers(world.chances())
    moved = world.answers(world.chances()).mean(axis=1) - scores.mean(axis=1)
    return np.abs(moved) <= item_band(without_pictures(scores)).moves


def change(respondents: int) -> Callable[[np.random.Generator], Array]:
    """Whether a further respondent's move by a wording lies within the band about the mean move."""

    def band_holds(rng: np.random.Generator) -> Array:
        world = World(rng, respondents + 1)
        shifts = rng.laplace(0, 0.2, respondents + 1) - 0.2
        chances = world.chances()
        turned = norm.cdf(norm.ppf(chances) + shifts[:, None] + rng.normal(0, 0.4, ITEMS))
        moves = world.answers(turned).mean(axis=1) - world.answers(chances).mean(axis=1)
        band = change_band(moves[:-1])
        return np.array([abs(moves[-1] - moves[:-1].mean()) <= band.half])

    return band_holds


def any_wording(wordings: int) -> Callable[[np.random.Generator], Array]:
    """Whether the whole move between two further wordings lies within the wide band."""

    def band_holds(rng: np.random.Generator) -> Array:
        scores = rng.normal(0.7, 0.1, 10) + rng.normal(0, 0.02, (wordings + 2, 1))
        scores = scores + rng.laplace(0, 0.012, (wordings + 2, 10))
        moved = scores[-1] - scores[-2]
        return np.abs(moved) <= wording_band(scores[:-2]).any_wording

    return band_holds


def metric(rng: np.random.Generator) -> Array:
    """Whether a further respondent's place under the other metric lies within the band."""
    score = 1 / (1 + np.exp(-1.2 - rng.normal(0, 0.7, 11)))
    second_score = 0.3 + 0.5 * score + rng.normal(0, 0.02, 11)
    band = metric_band(score[:-1], second_score[:-1])
    slope = score[:-1].std(ddof=1) / second_score[:-1].std(ddof=1)
    move = score[:-1].mean() + (second_score[-1] - second_score[:-1].mean()) * slope - score[-1]
    return np.array([abs(move) <= band.half])


def gaps(rng: np.random.Generator) -> Array:
    """Whether the gap on very many items lies within the interval from these."""
    world = World(rng, 2)
    true = norm.cdf(world.ability[:, None] - MANY_EASES).mean(axis=1)
    scores = world.answers(world.chances())
    (pair,) = paired_differences(scores, np.arange(ITEMS) // A_PICTURE).neighbour_pairs()
    (contrast,) = rank_contrasts([pair], margin=0.01)
    return np.array([contrast.low <= true[pair.first] - true[pair.second] <= contrast.high])


WORLDS: dict[str, Callable[[np.random.Generator], Array]] = {
    "another seed": reruns,
    "other items": items,
    "a change, 5 respondents": change(5),
    "a change, 12 respondents": change(12),
    "any wording from 3": any_wording(3),
    "any wording from 5": any_wording(5),
    "another metric": metric,
    "a gap": gaps,
}


@pytest.mark.parametrize("name", WORLDS)
def test_each_band_holds_the_moves_it_is_about(name: str) -> None:
    rng = np.random.default_rng(2026)
    coverage = np.array([WORLDS[name](rng).mean() for _ in range(REPLICATES)])
    error = float(coverage.std(ddof=1)) / np.sqrt(REPLICATES)
    assert 0.92 - 2 * error <= coverage.mean() <= 0.97 + 2 * error, (coverage.mean(), error)


def test_two_wordings_are_a_change_of_one() -> None:
    scores = np.array([[0.5, 0.6, 0.7, 0.8, 0.55], [0.52, 0.58, 0.75, 0.79, 0.5]])
    two, change_of_one = wording_band(scores), change_band(scores[1] - scores[0])
    assert two.half == pytest.approx(change_of_one.half)
    assert two.any_wording >= two.half
    shifted = wording_band([scores[0], scores[1] + 0.3])
    assert shifted.half == pytest.approx(two.half)
    assert shifted.any_wording > 10 * shifted.half


def test_a_respondent_that_happened_to_repeat_has_a_band() -> None:
    band = rerun_band([0.0, 0.0004], [100, 100])
    assert band.moves[0] == pytest.approx(1.96 * 0.01, abs=1e-4)
    assert rerun_band([0.0, 0.0]).half == 0


def test_what_cannot_be_told_is_refused_with_a_reason() -> None:
    for band in (
        change_band([0.1] * (MIN_MOVES - 1)),
        change_band([0.1, 0.2, 0.3, 0.4, 0.5], n_effective=1.5),
        wording_band([[0.1, 0.2, 0.3], [0.1, 0.2, 0.4]]),
        metric_band([0.5] * 6, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
        metric_band([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.1] * 6),
        metric_band([0.1, 0.2, 0.3, np.nan], [0.1, 0.3, 0.2, 0.5]),
        wording_band([[0.1, 0.2, 0.3, 0.5], [0.1, 0.2, np.nan, 0.4]]),
        item_band([[0.5, np.nan], [np.nan, 0.6]]),
        change_band([0.1, 0.2, 0.3, np.nan]),
        item_band([[0.5], [0.6]]),
        rerun_band([np.nan, np.nan]),
    ):
        assert band.status == "insufficient"
        assert band.reason
        assert np.isnan(band.half)


def test_relatives_widen_a_band() -> None:
    moves = [0.01, 0.02, -0.03, 0.0, 0.015, -0.01]
    assert change_band(moves, n_effective=3).half > change_band(moves).half


def test_scores_that_order_alike_need_no_second_metric() -> None:
    score = np.array([0.5, 0.6, 0.7, 0.9, 0.95])
    assert metric_band(score, 0.2 + score / 2).half == pytest.approx(0, abs=1e-12)


def test_a_change_is_predicted_for_a_further_respondent() -> None:
    moves = np.array([0.01, np.nan, -0.02, 0.03, 0.05])
    sd = np.std([0.01, -0.02, 0.03, 0.05], ddof=1)
    for counted, n in ((None, 4), (2.0, 2), (3.5, 3.5), (9.0, 4)):
        band = change_band(moves, n_effective=counted)
        factor = t.ppf(0.975, n - 1)
        assert band.factor == pytest.approx(factor)
        assert band.half == pytest.approx(factor * sd * math.sqrt(1 + 1 / n))
        assert band.moves == pytest.approx(moves, nan_ok=True)
        assert (band.status, band.shift) == ("ok", None)
        assert math.isnan(band.any_wording)


def test_two_independent_respondents_are_the_fewest_of_a_band() -> None:
    x = np.array([[0.5, 0.6, 0.7, 0.8], [0.52, 0.58, 0.75, 0.79], [0.4, 0.5, 0.75, 0.6]])
    for band in (change_band(x[1] - x[0], n_effective=2.0), wording_band(x, n_effective=2.0)):
        assert band.status == "ok"
    for band in (change_band(x[1] - x[0], n_effective=1.99), wording_band(x, n_effective=1.99)):
        assert band.status == "insufficient"


def test_wordings_are_bound_by_their_mean_squares() -> None:
    """Three wordings before five respondents and one who lacks an answer; sums of squares by
    loops.
    """
    for counted in [None, 3.5, 40.0]:
        for shift in [0.0, 0.4]:
            x = np.random.default_rng(3).normal(0.5, 0.1, (3, 6)) + shift * np.arange(3)[:, None]
            x[2, 4] = np.nan
            band = wording_band(x, n_effective=counted)
            observed = x[:, [0, 1, 2, 3, 5]]
            rows, columns, grand = observed.mean(axis=1), observed.mean(axis=0), observed.mean()
            ms_w = sum(5 * (row - grand) ** 2 for row in rows) / 2
            residuals = [
                (observed[w, m] - rows[w] - columns[m] + grand) ** 2
                for w in range(3)
                for m in range(5)
            ]
            n = min(counted or 5, 5)
            ms_e = sum(residuals) / 8
            factor = t.ppf(0.975, 2 * (n - 1))
            half = factor * math.sqrt(2 * ms_e * (1 + 1 / n))
            a, b = 2 * ms_w / 5, 2 * ms_e * (1 - 1 / n)
            freedom = (a + b) ** 2 / (a**2 / 2 + b**2 / (2 * (n - 1)))
            full_half = t.ppf(0.975, freedom) * math.sqrt(a + b)
            assert (band.half, band.factor) == pytest.approx((half, factor))
            assert band.any_wording == pytest.approx(max(half, full_half))
            assert (full_half > half) == (shift > 0), "both ends of the maximum are tried"
            assert band.moves == pytest.approx((x[1] + x[2]) / 2 - x[0], nan_ok=True)


def test_wordings_that_change_nothing_have_a_band_of_nothing() -> None:
    band = wording_band(np.tile([0.5, 0.6, 0.7, 0.8], (2, 1)))
    assert (band.status, band.half, band.any_wording) == ("ok", 0.0, 0.0)


def test_another_metric_is_given_the_mean_and_the_spread_of_the_first() -> None:
    x = np.array([0.5, 0.6, 0.75, np.nan, 0.9])
    y = np.array([10.0, 14.0, 12.0, 30.0, 19.0])
    band = metric_band(x, y)
    measured = [0, 1, 2, 4]
    slope = np.std(x[measured], ddof=1) / np.std(y[measured], ddof=1)
    moved = [np.mean(x[measured]) + (y[m] - np.mean(y[measured])) * slope - x[m] for m in measured]
    factor = t.ppf(0.975, 2)
    half = factor * math.sqrt(sum(move**2 for move in moved) / 2) * math.sqrt(1 + 2 / 4)
    assert band.moves[measured] == pytest.approx(moved)
    assert math.isnan(band.moves[3])
    assert (band.half, band.factor) == pytest.approx((half, factor))


def test_other_items_move_the_mean_score_by_its_jackknife() -> None:
    left = np.array([[0.5, 0.52, 0.47, 0.5], [0.8, 0.83, 0.85, 0.7], [np.nan, 0.3, 0.3, 0.3]])
    band = item_band(left)
    factor = t.ppf(0.975, 3)

    def square(row: np.ndarray) -> float:
        return float(3 / 4 * sum((v - row.mean()) ** 2 for v in row))

    squares = [square(left[0]), square(left[1])]
    assert band.moves[:2] == pytest.approx([factor * math.sqrt(2 * s) for s in squares])
    assert math.isnan(band.moves[2])
    assert (band.half, band.factor) == pytest.approx((factor * math.sqrt(sum(squares)), factor))
    reach = factor * math.sqrt(2 * square(left[:2].mean(axis=0)))
    assert band.shift is not None
    assert (band.shift.low, band.shift.high) == pytest.approx((-reach, reach))
    assert (band.shift.level, item_band(left[:, :1]).shift) == (0.95, None)
    two = item_band([[0.5, 0.6]])
    assert two.half == pytest.approx(t.ppf(0.975, 1) * math.sqrt(2 * 0.0025))


def test_the_mean_move_by_people_has_the_error_of_other_items(tmp_path: Path) -> None:
    """Six of a hundred keys are wrong, for all respondents. Of 60 such studies (20 respondents, .08
    of the keys) a t interval over the respondents' moves held .50 of the true shifts, one over
    items .90.
    """
    rng = np.random.default_rng(1)
    names, items = [f"m{m}" for m in range(10)], 100
    questions = [
        {"id": f"q{i}", "prompt": f"Is there a thing {i} in the image?", "target": "yes"}
        for i in range(items)
    ]
    benchmark = write_benchmark(tmp_path / "mine", questions)
    is_right = rng.random((10, items)) < 0.8
    wrong_keys = np.arange(items) < 6
    scores = np.where(wrong_keys, ~is_right, is_right)
    answers, labels = [], ["item,respondent,label"]
    for (m, i), score in np.ndenumerate(scores):
        answer = "yes" if score else "no"
        answers.append({"respondent": names[m], "item": f"q{i}", "answer": answer})
        labels.append(f"q{i},{names[m]},{int(is_right[m, i])}")
    recorded, criterion = tmp_path / "answers.jsonl", tmp_path / "labels.csv"
    recorded.write_text("\n".join(map(json.dumps, answers)))
    criterion.write_text("\n".join(labels))
    audit = hqm.audit(str(benchmark), recorded=recorded, criterion=criterion)
    row = audit.budget["accuracy"].row("people")
    by_item = (is_right.astype(float) - scores).mean(axis=0)
    half = t.ppf(0.975, items - 1) * by_item.std(ddof=1) / math.sqrt(items)
    assert row.inference == "fixed_models"
    assert row.shift == pytest.approx(by_item.mean())
    assert (row.low, row.high) == pytest.approx((by_item.mean() - half, by_item.mean() + half))


@pytest.mark.parametrize("n", [5, 6, 8, 20, 40])
def test_one_move_is_called_outlying_in_one_of_twenty_sound_studies(n: int) -> None:
    """Whatever the number of models, and one that moves farther by ten errors is found."""
    rng = np.random.default_rng(n)
    moves = rng.normal(0.01, 0.02, (REPLICATES, n))
    n_named = sum(outlying_move(row) is not None for row in moves)
    assert 0.03 < n_named / REPLICATES < 0.07
    moves[:, 2] -= 0.2
    assert sum(outlying_move(row) == 2 for row in moves) / REPLICATES > 0.8


def test_a_move_that_is_missing_or_one_of_four_is_no_outlier() -> None:
    assert outlying_move([0.0, 0.01, -0.01, 0.9]) is None
    assert outlying_move([0.0, math.nan, 0.01, -0.01, 0.0, 0.9]) == 5
    assert outlying_move([0.1, 0.1, 0.1, 0.1, 0.1]) is None
    assert outlying_move([0.1, 0.1, 0.1, 0.1, 0.1 + 1e-15]) is None
