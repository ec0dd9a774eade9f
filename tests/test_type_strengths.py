"""Strengths in single types, and parts that favour a family, by loops over what they are made of."""

import math
from itertools import count
from typing import Any

import numpy as np
import pingouin as pg
import pytest
from scipy import stats
from scipy.special import expit

from hqm import psychometrics as psy
from hqm.psychometrics.items import type_strengths
from hqm.psychometrics.items.type_strengths import (
    DifferentialFunctioning,
    Favour,
    out_of_range_reason,
    rasch_residuals,
    welch,
)
from tests.conftest import nightly


def rasch_answers(seed: int, respondents: int, items: int, gaps: float = 0.0) -> np.ndarray:
    """Answers of respondents and items of a Rasch model, some of them missing."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(respondents, 1)) - rng.normal(size=items)
    scores = (rng.random(logits.shape) < expit(logits)).astype(float)
    scores[rng.random(logits.shape) < gaps] = np.nan
    return scores


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_abilities_and_difficulties_solve_their_equations(gaps: float) -> None:
    """Right answers are as many as expected; of an item but for the pull of its prior, (b - mean)
    / 1.5^2.
    """
    x = rasch_answers(1, 9, 30, gaps)
    x[:, 0] = np.where(np.isfinite(x[:, 0]), 1.0, np.nan)
    x[:, 1] *= 0.5
    fitted = rasch_residuals(x)
    p = expit(fitted.ability[:, None] - fitted.difficulty)
    finite = np.isfinite(x)
    assert fitted.residual == pytest.approx(np.where(finite, x - p, 0.0))
    assert fitted.information == pytest.approx(np.where(finite, p * (1 - p), 0.0))
    assert fitted.ability.mean() == pytest.approx(0, abs=1e-12)
    residual_sums = fitted.residual.sum(axis=1)
    # the mean is taken off the abilities, so that one and the same distance remains to all
    assert residual_sums / fitted.information.sum(axis=1) == pytest.approx([0] * 9, abs=2e-3)
    pull = (fitted.difficulty - fitted.difficulty.mean()) / 1.5**2
    assert fitted.residual.sum(axis=0) + pull == pytest.approx([0] * 30, abs=2e-3)
    subset = np.arange(30) % 3 == 0
    one_step = [
        a + fitted.residual[m, subset].sum() / fitted.information[m, subset].sum()
        for m, a in enumerate(fitted.ability)
    ]
    assert fitted.abilities(subset) == pytest.approx(one_step)
    assert not np.isfinite(fitted.abilities(np.zeros(30, dtype=bool))).any()


def test_no_step_is_longer_than_one_logit() -> None:
    """From 0: four right of four would move an ability by 2, one of four by -1."""
    x = np.array([[1.0, 1, 1, 1], [1, 0, 0, 0], [1, 1, 0, np.nan]])
    fitted = rasch_residuals(x, iterations=1)
    # 2 is cut at 1; -1; and half an answer over three quarters
    moved = np.array([1.0, -1.0, 0.5 / 0.75])
    ability = moved - moved.mean()
    assert fitted.ability == pytest.approx(ability, abs=1e-6)
    p = expit(ability)
    for i in range(4):
        finite = np.isfinite(x[:, i])
        step = (x[finite, i] - p[finite]).sum() / ((p * (1 - p))[finite].sum() + 1 / 1.5**2)
        assert fitted.difficulty[i] == pytest.approx(-np.clip(step, -1, 1), abs=1e-6)
    sure = rasch_residuals([[1.0, 0.0]] * 4, iterations=1)
    assert sure.difficulty.tolist() == [-1.0, 1.0]
    second_step = rasch_residuals([[1.0, 0.0]] * 4, iterations=2)
    assert second_step.difficulty[1] == pytest.approx(
        1 + (4 * expit(-1) - 1 / 2.25) / (4 * expit(-1) * expit(1) + 1 / 2.25)
    )


def test_shares_lie_between_none_and_all() -> None:
    for scores, outside_range in (
        ([0.0, 1.0], False),
        ([-0.01, 1.0], True),
        ([0.0, 1.01], True),
        ([np.nan], False),
        ([np.nan, 2.0], True),
        ([], False),
    ):
        assert bool(out_of_range_reason(np.array(scores))) == outside_range


def share_of_rotations(
    a: np.ndarray, b: np.ndarray, obstacles: np.ndarray, drawn: np.ndarray
) -> float:
    """The share of rotations of b at right angles to the obstacles, none at all among them, whose
    products with a sum to as much. Gram and Schmidt make columns of a rotation of drawn vectors;
    between the spaces of a and b, only a corner of it acts.
    """
    directions = np.linalg.qr(obstacles, mode="complete")[0][:, obstacles.shape[1] :].T
    assert directions @ obstacles == pytest.approx(0, abs=1e-9)
    (basis_a, first), (basis_b, second) = (np.linalg.qr(directions @ half) for half in (a, b))
    sums = []
    for vectors in drawn:
        units: list[np.ndarray] = []
        for vector in vectors.T:
            rest = vector - sum((vector @ unit) * unit for unit in units)
            units.append(rest / np.linalg.norm(rest))
        corner = np.array(units).T[: len(first)]
        sums.append((first * (corner @ second)).sum())
    observed = (basis_a @ first * (basis_b @ second)).sum() - 1e-12
    return (1 + sum(null_sum >= observed for null_sum in sums)) / (len(drawn) + 1)


def test_a_corner_does_what_the_whole_rotation_does() -> None:
    """The tail of the trace of A'RB, by scipy's rotations and by corners."""
    rng = np.random.default_rng(7)
    a, noise = rng.normal(size=(2, 9, 4))
    rotations = stats.special_ortho_group(9, seed=1).rvs(4000)
    shares = []
    for scale in (0.02, 0.1, 0.3):
        b = scale * a + noise
        p = float(type_strengths._p_values(a[None], b[None], rng, 4000)[0])
        sums = np.einsum("ik,rij,jk->r", a, rotations, b)
        assert p == pytest.approx((sums >= (a * b).sum()).mean(), abs=0.03)
        shares.append(p)
    assert max(shares) - min(shares) > 0.2
    # of one direction the rotations are the identity and its reverse, and the former is no less
    line = np.array([0.5, 1.0, 2.0]).reshape(3, 1, 1)
    p = type_strengths._p_values(line, line, rng, 999)
    assert p == pytest.approx(0.5, abs=0.08)


def relative_precision(fitted: type_strengths.RaschResiduals) -> np.ndarray:
    """(respondents, 1): the root of each one's information; its square has mean 1."""
    by_respondent = np.array([sum(row) for row in fitted.information])
    return np.sqrt(by_respondent / np.mean(by_respondent)).reshape(-1, 1)


def halves(abilities_of: Any, kinds: np.ndarray, names: str, side: np.ndarray) -> list[np.ndarray]:
    """(respondents, types) of both halves: strengths, freed of the line on other types' ability."""
    tables = []
    for half in (0, 1):
        columns = []
        for kind in names:
            strength = abilities_of((side == half) & (kinds == kind)) - abilities_of(side == half)
            ability = abilities_of((side == half) & (kinds != kind))
            line = stats.linregress(ability, strength)
            columns.append(strength - line.intercept - line.slope * ability)
        tables.append(np.array(columns).T)
    return tables


def test_types_with_enough_items_are_halved_by_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine items of d and five without a type are left out, and so is who is always right in the
    others.
    """
    monkeypatch.setattr(type_strengths, "_detectable_sd", lambda *_: 0.5)
    kinds = np.array(list("a" * 12 + "b" * 10 + "d" * 9 + "c" * 14) + [""] * 5)
    pictures = np.array([f"p{i // 2}" for i in range(50)])
    values = []
    for seed in range(6):
        x = rasch_answers(seed, 11, 50, 0.02)
        tested_items = np.isin(kinds, list("abc"))
        x[4, tested_items] = 1.0
        study = psy.dimensionality(
            x, kinds.tolist(), pictures, rng=np.random.default_rng(seed), permutations=19
        )
        if study.status != "ok":
            continue
        remaining = np.delete(x, 4, axis=0)[:, tested_items]
        numbers = np.unique(pictures[tested_items], return_inverse=True)[1]
        same_rng = np.random.default_rng(seed)
        side = same_rng.permutation(numbers.max() + 1)[numbers] % 2
        fitted = rasch_residuals(remaining)
        abilities_of = fitted.abilities
        tested_kinds = kinds[tested_items]
        first, second = halves(abilities_of, tested_kinds, "abc", side)
        drawn = same_rng.normal(size=(19, 8, 3))
        weights = relative_precision(fitted)
        line = weights * np.stack([np.ones(10), fitted.ability], axis=1)
        raw = [
            np.array([abilities_of((side == half) & (tested_kinds == kind)) for kind in "abc"]).T
            - abilities_of(side == half)[:, None]
            for half in (0, 1)
        ]
        assert study.p == share_of_rotations(weights * raw[0], weights * raw[1], line, drawn)
        type_variances = (first * second).sum(axis=0) / (8 * 2 / 3)
        assert study.type_sd == pytest.approx(math.sqrt(max(0.0, type_variances.mean())))
        assert study.by_type == tuple(
            (kind, size, pytest.approx(math.sqrt(max(0.0, value))))
            for kind, size, value in zip("abc", (12, 10, 14), type_variances, strict=True)
        )
        assert (study.n, study.n_items, study.visible, study.status) == (10, 36, 0.5, "ok")
        values.append(study.p)
    assert len(set(values)) >= 3


def test_why_types_cannot_be_told_apart() -> None:
    def status(scores: np.ndarray, kinds: list[str]) -> tuple[str, str]:
        study = psy.dimensionality(scores, kinds, rng=np.random.default_rng(0), permutations=9)
        assert math.isnan(study.type_sd)
        return study.status, study.reason

    kinds = ["a", "b"] * 12
    x = rasch_answers(3, 8, 24)
    assert status(x, ["a"] * 24)[1].endswith("there are 8 and 1")
    assert status(x[:4], kinds)[1].endswith("there are 4 and 2")
    assert status(x * 2, kinds)[0] == "not_applicable"
    always = np.vstack([x[:4], np.ones((3, 24)), np.full((1, 24), np.nan)])
    assert status(always, kinds)[0] == "insufficient"
    assert status(always, kinds)[1].startswith("only 4 respondents")
    even = (np.arange(10)[:, None] + np.arange(24)) // 2 % 2 == 0
    assert status(even.astype(float), kinds)[0] == "degenerate"
    gap = x.copy()
    gap[2, ::2] = np.nan
    assert status(gap, kinds)[0] == "insufficient"
    assert "half a type" in status(gap, kinds)[1]
    gap[2, 0] = 1.0  # of one half there is an answer now
    assert "half a type" in status(gap, kinds)[1]


def test_the_smallest_own_part_that_is_found_four_times_of_five() -> None:
    """Worlds drawn one by one with the errors of these halves, for one size after the other."""
    worlds, orders, m = 15, 39, 12
    sizes = []
    for seed, items in ((1, 60), (2, 30), (3, 300), (4, 12)):
        fitted = rasch_residuals(rasch_answers(seed, m, items))
        kinds, side = np.array(["a", "b", "c"] * (items // 3)), np.arange(items) // 3 % 2
        result = type_strengths._detectable_sd(
            fitted,
            kinds,
            ["a", "b", "c"],
            side,
            np.random.default_rng(seed),
            replicates=worlds,
            permutations=orders,
        )
        same_rng = np.random.default_rng(seed)
        type_effects = same_rng.normal(size=(worlds, m, 3)) * math.sqrt(2 / 3)
        noise = []
        for half in (0, 1):
            errors = [
                fitted.information[:, (side == half) & (kinds == kind)].sum(axis=1) ** -0.5
                for kind in "abc"
            ]
            noise.append(np.array(errors).T * same_rng.normal(size=(worlds, m, 3)))
        weights = relative_precision(fitted)
        line = weights * np.stack([np.ones(m), fitted.ability], axis=1)
        expected = math.inf
        for size in np.arange(1, 21) / 10:
            drawn = same_rng.normal(size=(orders, m - 2, 3))
            hits = [
                share_of_rotations(
                    weights * (size * type_effects[w] + noise[0][w]),
                    weights * (size * type_effects[w] + noise[1][w]),
                    line,
                    drawn,
                )
                <= 0.05
                for w in range(worlds)
            ]
            if np.mean(hits) >= 0.8:
                expected = size
                break
        assert result == pytest.approx(expected)
        sizes.append(result)
    assert len(set(sizes)) == 4
    assert math.inf in sizes


def test_welchs_test_is_scipys() -> None:
    rng = np.random.default_rng(5)
    for sizes in ((2, 2), (5, 9), (12, 3)):
        x, y = rng.normal(0.3, 2, sizes[0]), rng.normal(0, 0.5, sizes[1])
        test, error = welch(x, y)
        theirs = stats.ttest_ind(x, y, equal_var=False)
        assert (test.statistic, test.df, test.p) == pytest.approx(
            (theirs.statistic, theirs.df, theirs.pvalue)
        )
        assert error == pytest.approx(math.sqrt(x.var(ddof=1) / len(x) + y.var(ddof=1) / len(y)))
        assert test.n == sum(sizes)
    test, error = welch([1.0, 1], [2.0, 2, 2])
    assert (test.status, test.n, error) == ("degenerate", 5, 0.0)
    assert welch([1.0, 2, 3], [1.0, 2, 3])[0].p == 1


def test_a_favour_is_large_where_it_is_shown_and_two_thirds_of_a_logit() -> None:
    """1.5 on the scale of the Educational Testing Service, which is -2.35 times a logit."""
    edge = 1.5 / 2.35
    for logits, p, large in (
        (edge, 0.049, True),
        (-edge, 0.049, True),
        (edge - 1e-9, 0.049, False),
        (edge, 0.05, False),
        (edge, math.nan, False),
    ):
        row = Favour("a", "x", 10, 10, logits, 0.0, 1.0, p)
        assert row.large == large
        assert DifferentialFunctioning((row,), True).favours == ((row,) if large else ())


def favours(x: np.ndarray, parts: list[str], groups: list[str]) -> list[tuple[Any, ...]]:
    """Each part for each family: purified, tested and adjusted, as the documentation says."""
    part_of_item, names = np.array(parts), np.array(groups)
    abilities_of = rasch_residuals(x).abilities
    kinds = sorted(set(parts) - {""})
    sizes = {
        name: min((names == name).sum(), (names != name).sum()) for name in sorted(set(groups))
    }
    compared = [name for name, size in sizes.items() if size >= 5]
    if len(sizes) == len(compared) == 2:
        compared = compared[:1]
    rows = []
    for name in compared:
        in_family, excluded = names == name, set()
        for rounds in count(1):
            tests = []
            for kind in kinds:
                reference_parts = set(kinds) - excluded - {kind} or set(kinds) - {kind}
                differences = abilities_of(part_of_item == kind) - abilities_of(
                    np.isin(part_of_item, list(reference_parts))
                )
                tests.append(
                    stats.ttest_ind(
                        differences[in_family], differences[~in_family], equal_var=False
                    )
                )
            adjusted = pg.multicomp([test.pvalue for test in tests], method="holm")[1]
            significant = {kind for kind, p in zip(kinds, adjusted, strict=True) if p < 0.05}
            if (
                len(kinds) == 2
                or sizes[name] < 10
                or significant in (excluded, set(kinds))
                or rounds == 10
            ):
                break
            excluded = significant
        for kind, test in zip(kinds, tests, strict=True):
            interval = test.confidence_interval(0.95)
            p = test.pvalue if sizes[name] >= 10 else math.nan
            middle = (interval.low + interval.high) / 2
            members = int(in_family.sum())
            rows.append(
                [kind, name, members, len(x) - members, middle, interval.low, interval.high, p]
            )
    tested = [i for i, row in enumerate(rows) if math.isfinite(row[-1])]
    once = tested[::2] if len(kinds) == 2 else tested
    if once:
        adjusted = pg.multicomp([rows[i][-1] for i in once], method="holm")[1]
        for i, p in zip(once, adjusted, strict=True):
            rows[i][-1] = p
            if len(kinds) == 2:
                rows[i + 1][-1] = p
    return [tuple(row) for row in rows]


DESIGNS = {
    # family sizes, and by how many logits each part is easier for the first family
    "one part": ((14, 16), (0.0, 2.0, 0.0, 0.0)),
    "two of three parts": ((14, 14), (2.5, -2.5, 0.0)),
    "two parts": ((12, 11), (1.0, 0.0)),
    "two parts, three families": ((12, 11, 10), (1.0, 0.0)),
    "a small family": ((12, 7, 4, 5), (0.0, 0.0, 1.5)),
    "described": ((9, 10), (0.0, 1.5, 0.0)),
    "tested": ((10, 10), (0.0, 1.5, 0.0)),
    "all parts": ((25, 25), (3.0, -3.0, 3.0, -3.0)),
}


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=nightly)])
@pytest.mark.parametrize("design", DESIGNS)
def test_favours_of_families_by_loops(design: str, seed: int) -> None:
    sizes, easier = DESIGNS[design]
    rng = np.random.default_rng(seed)
    groups = [name for name, size in zip("xyzw", sizes, strict=False) for _ in range(size)]
    parts = [part for part in "abcd"[: len(easier)] for _ in range(14)] + [""] * 3
    logits = rng.normal(size=(len(groups), 1)) - rng.normal(size=len(parts))
    for k, part in enumerate("abcd"[: len(easier)]):
        logits[np.ix_(np.array(groups) == "x", np.array(parts) == part)] += easier[k]
    x = (rng.random(logits.shape) < expit(logits)).astype(float)
    x[:, 0], x[:, 1] = 1.0, 0.0
    x[0, 5] = np.nan
    order = rng.permutation(len(groups))
    x, groups = x[order], [groups[i] for i in order]
    study = psy.differential_functioning(x, parts, groups)
    rows = [
        (r.part, r.group, r.members, r.others, r.logits, r.low, r.high, r.p) for r in study.rows
    ]
    expected = favours(x, parts, groups)
    assert [row[:4] for row in rows] == [row[:4] for row in expected]
    assert np.array([row[4:] for row in rows]) == pytest.approx(
        np.array([row[4:] for row in expected]), nan_ok=True
    )
    assert study.tested == any(math.isfinite(row[-1]) for row in expected)
    assert study.status == "ok"


def test_why_families_cannot_be_compared() -> None:
    x, groups = rasch_answers(6, 12, 40), ["x"] * 6 + ["y"] * 6
    parts = ["a", "b"] * 20
    assert psy.differential_functioning(x, parts, groups).status == "ok"
    assert psy.differential_functioning(x * 2, parts, groups).status == "not_applicable"
    gap = x.copy()
    gap[3, ::2] = np.nan
    for scores, names, families, reason in (
        (gap, parts, groups, "has 6 of 12"),
        (x, ["a"] * 40, groups, "1 parts, and"),
        (x, ["a", ""] * 20, groups, "1 parts, and"),
        (x, parts, ["x"] * 8 + ["y"] * 4, "has 8 of 12"),
        (x, parts, ["x"] * 12, "has 12 of 12"),
        (np.ones((12, 40)), parts, groups, "has 0 of 0"),
    ):
        study = psy.differential_functioning(scores, names, families)
        assert (study.status, study.rows, study.tested) == ("insufficient", (), False)
        assert reason in study.reason
    always = np.vstack([x, np.ones((2, 40)), np.zeros((1, 40))])
    rows = psy.differential_functioning(always, parts, [*groups, "x", "y", "z"]).rows
    assert [(r.members, r.others) for r in rows] == [(6, 6)] * 2
