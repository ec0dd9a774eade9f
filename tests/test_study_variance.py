"""The components of whole studies against mean squares, and what a study of too little says."""

import numpy as np
import pytest

from hqm import psychometrics as psy
from hqm.psychometrics.variance.study_variance import _effects, _most_negative


def with_parts(seed: int, shape: tuple[int, ...], *names: str) -> np.ndarray:
    """Scores of (respondents, items, forms, runs), to which the named effects add."""
    rng = np.random.default_rng(seed)
    axes = {"m": 0, "i": 1, "f": 2, "r": 3}
    scores = rng.normal(size=shape)
    for name in names:
        size = tuple(n if k in {axes[c] for c in name} else 1 for k, n in enumerate(shape))
        scores = scores + 2 * rng.normal(size=size)
    return scores


def test_components_of_respondents_and_items_are_those_of_a_table() -> None:
    """By mean squares: (MSm - MSmi) / n, (MSi - MSmi) / m, and MSmi."""
    x = with_parts(1, (6, 14, 1, 1), "m", "i")
    parts = psy.study_variance_components(x)
    table = x[:, :, 0, 0]
    rows, columns = table.mean(axis=1, keepdims=True), table.mean(axis=0)
    msm, msi = 14 * rows.var(ddof=1), 6 * columns.var(ddof=1)
    residual = ((table - rows - columns + table.mean()) ** 2).sum() / (5 * 13)
    assert parts.effects == (("respondent",), ("item",), ("respondent", "item"))
    assert parts.values == pytest.approx(((msm - residual) / 14, (msi - residual) / 6, residual))
    assert parts.value("respondent") == parts.respondent_variance == parts.values[0]
    assert parts.value("item", "respondent") == parts.values[2]
    assert parts.value("form") == parts.value("family") == parts.value() == 0
    assert np.array(parts.covariance).shape == (3, 3)
    sizes = parts.respondents, parts.families, parts.items, parts.pictures, parts.forms, parts.runs
    assert sizes == (6, 6, 14, 14, 1, 1)
    assert (parts.per_picture, parts.crowd, parts.judge, parts.labels) == (1.0, 1.0, None, None)
    plain = psy.study_variance_components(x, jackknife=False)
    assert (plain.values, plain.covariance) == (parts.values, ())
    # of runs the last effect is what differs between them
    run_scores = with_parts(2, (6, 14, 1, 3), "m", "i", "mi")
    parts = psy.study_variance_components(run_scores)
    cells = run_scores.mean(axis=3)[:, :, 0]
    noise = run_scores.var(axis=3, ddof=1).mean()
    rows, columns = cells.mean(axis=1, keepdims=True), cells.mean(axis=0)
    interaction = 3 * ((cells - rows - columns + cells.mean()) ** 2).sum() / (5 * 13)
    assert parts.effects[-1] == ("respondent", "item", "run")
    assert parts.value("respondent", "item", "run") == pytest.approx(noise)
    assert parts.value("respondent", "item") == pytest.approx((interaction - noise) / 3)
    assert parts.value("item") == pytest.approx((3 * 6 * columns.var(ddof=1) - interaction) / 18)


@pytest.mark.parametrize("seed", range(4))
def test_studies_do_not_depend_on_order_or_unit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = with_parts(seed, (7, 30, 2, 2), "m", "i", "mi", "f", "mf")
    pictures = np.array([f"p{i // 2}" for i in range(30)])
    families = np.array(list("aabbccd"))
    parts = psy.study_variance_components(x, pictures, families)
    assert (parts.items, parts.pictures, parts.families) == (30, 15, 4)
    assert (parts.per_picture, parts.crowd) == (2.0, 2.0)
    rows, items, forms = rng.permutation(7), rng.permutation(30), [1, 0]
    turned = psy.study_variance_components(
        3 * x[rows][:, items][:, :, forms] + 5, pictures[items], families[rows]
    )
    assert turned.effects == parts.effects
    assert turned.values == pytest.approx([9 * v for v in parts.values])
    assert np.array(turned.covariance) == pytest.approx(81 * np.array(parts.covariance))
    # who, what and which wording has no score at all is left out
    wide = np.full((8, 31, 3, 3), np.nan)
    wide[:7, :30, :2, :2] = x
    widened = psy.study_variance_components(wide, [*pictures, "new"], [*families, "e"])
    assert widened == parts
    assert min(parts.values) >= 0


def test_pictures_of_unequal_size_are_counted_as_an_error_of_a_mean_has_them() -> None:
    """Sizes 1, 2 and 3, four times each: sum of squares 56 over 24 items."""
    sizes = np.tile([1, 2, 3], 4)
    x = with_parts(3, (5, 24, 1, 1), "m", "i")
    parts = psy.study_variance_components(x, np.repeat(np.arange(12), sizes))
    assert (parts.per_picture, parts.crowd) == (2.0, pytest.approx(56 / 24))
    assert ("picture",) in parts.effects or ("respondent", "picture") in parts.effects


def test_effects_are_those_that_a_study_tells_apart() -> None:
    def effects(**sizes: int) -> list[tuple[str, ...]]:
        study = {"respondents": 6, "families": 6, "items": 20, "pictures": 20, "forms": 1}
        return [tuple(e) for e in _effects({**study, "runs": 1, **sizes})]

    m, i, f, p = "respondent", "item", "form", "picture"
    assert effects() == [(i,), (m,)]
    assert effects(runs=2) == [(i,), (m,), (m, i)]
    assert effects(families=3) == [("family",), (i,), (m,)]
    assert effects(families=1) == [(i,), (m,)]
    assert effects(families=2)[0] == ("family",)
    assert effects(families=5)[0] == ("family",)
    assert effects(pictures=19) == [(p,), (i,), (m,), (m, p)]
    assert effects(forms=2) == [(f,), (i,), (i, f), (m,), (m, f), (m, i)]
    assert effects(forms=2, runs=2)[-1] == (m, i, f)
    assert set(effects(forms=2, pictures=10)) == {
        *[(f,), (p,), (p, f), (i,), (i, f), (m,), (m, f), (m, p), (m, p, f), (m, i)]
    }


def test_the_component_that_lies_farthest_below_zero_is_left_out_first() -> None:
    effects = [("item",), ("respondent",), ("form",), ("respondent", "item")]
    for values, index in (
        ([-1.0, -9.0, -2.0, -5.0], 2),
        ([-3.0, -9.0, -2.0, -5.0], 0),
        ([0.0, -9.0, 0.0, -5.0], None),
        ([1.0, 1.0, 2.0, 3.0], None),
        ([1.0, 1.0, -1e-3, 3.0], 2),
    ):
        assert _most_negative(effects, np.array(values)) == index
    assert _most_negative([("respondent",), ("respondent", "item")], np.array([-1.0, 1.0])) is None


def test_a_study_of_too_little_says_what_it_needs() -> None:
    x = with_parts(4, (6, 20, 1, 1), "m", "i")
    for scores, pictures, status, reason, sizes in (
        (x[:2], None, "insufficient", "there are 2 respondents", (2, 20, 20)),
        (x, np.arange(20) % 9, "insufficient", "there are 9 pictures", (6, 20, 9)),
        (np.full_like(x, 0.5), None, "degenerate", "same score", (6, 20, 20)),
        (x * np.nan, None, "insufficient", "there are 0 respondents", (0, 0, 0)),
    ):
        parts = psy.study_variance_components(scores, pictures)
        assert parts.status == status
        assert reason in parts.reason
        assert (parts.respondents, parts.items, parts.pictures) == sizes
        assert (parts.effects, parts.values, parts.covariance) == ((), (), ())
    assert psy.study_variance_components(x[:3], np.arange(20) % 10).status == "ok"
    # each respondent answers items of their own
    nested_scores = np.where(np.arange(20) // 4 == np.arange(5)[:, None], x[:5, :, 0, 0], np.nan)
    parts = psy.study_variance_components(nested_scores[:, :, None, None])
    assert (parts.status, parts.respondents) == ("insufficient", 5)
    assert "facets apart" in parts.reason
