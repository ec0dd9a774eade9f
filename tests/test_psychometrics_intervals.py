"""Intervals against their formulas, with the quantiles of scipy and sums written out."""

import dataclasses
import importlib
import inspect
import math
import pkgutil

import numpy as np
import pytest
from scipy import stats

import hqm.psychometrics as psy


def jackknifed(left: np.ndarray) -> float:
    """The standard error from values with one group left out each (Tukey 1958)."""
    many = len(left)
    return math.sqrt((many - 1) / many * float(((left - left.mean()) ** 2).sum()))


def test_correlations_over_answers_have_the_jackknife_over_pictures() -> None:
    """7 pictures of 3 to 9 answers: Student's t with 6 degrees of freedom on Fisher's scale."""
    rng = np.random.default_rng(0)
    pictures = np.repeat(np.arange(7), [3, 9, 4, 5, 6, 3, 8])
    human = rng.integers(1, 6, len(pictures)).astype(float)
    automatic = np.round(human + rng.normal(0, 1.5, len(pictures)))
    study = psy.answer_correlations(automatic, human, clusters=pictures, level=0.9)
    for name, theirs in (
        ("pearson", stats.pearsonr),
        ("spearman", stats.spearmanr),
        ("tau_b", stats.kendalltau),
    ):
        result = getattr(study, name)
        left = [
            theirs(automatic[pictures != each], human[pictures != each]).statistic
            for each in range(7)
        ]
        half = stats.t.ppf(0.95, 6) * jackknifed(np.arctanh(left))
        assert (result.fixed.low, result.fixed.high) == pytest.approx(
            (math.tanh(math.atanh(result.value) - half), math.tanh(math.atanh(result.value) + half))
        ), name


def test_the_mean_lean_has_students_interval() -> None:
    rng = np.random.default_rng(1)
    first, opposite = rng.random(6), rng.random(6)
    mean = psy.acquiescence(first, opposite, level=0.9).mean
    lean = (first + opposite - 1) / 2
    expected = stats.t.interval(0.9, 5, lean.mean(), stats.sem(lean))
    assert abs(mean.value) == pytest.approx(abs(lean.mean()))
    assert mean.high - mean.low == pytest.approx(expected[1] - expected[0])
    assert (mean.low + mean.high) / 2 == pytest.approx(mean.value)


def test_families_of_unequal_size_have_searles_interval() -> None:
    """One-way analysis of variance by scipy; n0 = (M - sum n^2 / M) / (F - 1)."""
    rng = np.random.default_rng(2)
    sizes = [2, 3, 4, 2, 5]
    scores = [
        rng.normal(mean, 0.6, size) for mean, size in zip(rng.normal(size=5), sizes, strict=True)
    ]
    result = psy.family_dependence(
        np.concatenate(scores), np.repeat(list("abcde"), sizes), level=0.9
    )
    ratio = stats.f_oneway(*scores).statistic
    n0 = (16 - sum(size**2 for size in sizes) / 16) / 4
    low, high = (
        (f - 1) / (f + n0 - 1)
        for f in (ratio / stats.f.ppf(0.95, 4, 11), ratio * stats.f.ppf(0.95, 11, 4))
    )
    value = (ratio - 1) / (ratio + n0 - 1)
    assert (result.icc.value, result.icc.low, result.icc.high) == pytest.approx((value, low, high))
    alike = sum(size**2 for size in sizes) / 16
    assert result.n_eff == pytest.approx(16 / (1 + (alike - 1) * value))


def test_the_correlation_of_forms_is_at_least_the_observed_one_stretched() -> None:
    rng = np.random.default_rng(3)
    first = rng.normal(size=12)
    second = first + rng.normal(size=12)
    noise = np.full(12, 0.1)
    result = psy.form_reliability(first, second, noise, noise)
    observed = psy.pearson(first, second)
    assert result.true.low == pytest.approx(observed.low / result.attenuation)
    assert result.true.high == math.inf


def test_the_covariance_of_components_is_that_of_studies_without_each_picture() -> None:
    """(C - 1) / C times the sums of products of what each left-out picture changes."""
    rng = np.random.default_rng(4)
    pictures = np.repeat(np.arange(12), [3, 2, 4, 3, 2, 3, 4, 3, 2, 2, 3, 4])
    count = len(pictures)
    picture, item = rng.normal(size=12)[pictures], rng.normal(size=count)
    scores = (
        rng.normal(size=(12, 1, 1, 1))
        + (picture + item)[None, :, None, None]
        + rng.normal(size=(12, 12))[:, pictures, None, None]
        + rng.normal(size=(12, count, 1, 1))
        + rng.normal(size=(12, count, 1, 2))
    )
    parts = psy.study_parts(scores, pictures)
    assert len(parts.covariance) == len(parts.effects) == 6
    left = []
    for each in range(12):
        kept = pictures != each
        without = psy.study_parts(scores[:, kept], pictures[kept], jackknife=False)
        assert without.effects == parts.effects
        left.append(without.values)
    changes = np.array(left) - np.mean(left, axis=0)
    assert np.array(parts.covariance) == pytest.approx(11 / 12 * changes.T @ changes, rel=1e-6)


def test_of_many_labels_by_unlike_raters_three_hundred_are_fitted() -> None:
    labels = np.tile([0.0, 1.0], (3, 120))
    labels[0, :30] = np.nan
    study = psy.rater_share(labels, np.random.default_rng(5))
    assert study.method == "REML"
    assert 298 <= study.n_labels <= 300
    assert (study.share.status, study.share.value) == ("not_informative", 0.0)


def test_results_cannot_be_changed_and_intervals_are_of_95_percent() -> None:
    """What every function of the package promises, asked of all of them."""
    results, levels = 0, 0
    for result in pkgutil.iter_modules(psy.__path__, "hqm.psychometrics."):
        module = importlib.import_module(result.name)
        for value in vars(module).values():
            own = getattr(value, "__module__", "") == module.__name__
            if not own or value.__name__.startswith("_"):
                continue
            if dataclasses.is_dataclass(value):
                results += 1
                field = value.__dataclass_fields__.get("level")
                assert field is None or field.default in (0.95, dataclasses.MISSING), value
                assert value.__dataclass_params__.frozen, value
                assert not hasattr(value, "__dict__") or "__slots__" in vars(value), value
            members = vars(value).values() if inspect.isclass(value) else (value,)
            for function in filter(inspect.isfunction, members):
                level = inspect.signature(function).parameters.get("level")
                if level is not None and level.default is not level.empty:
                    levels += 1
                    assert level.default == 0.95, function
    assert results > 50
    assert levels > 50


def test_edges_of_what_can_be_asked() -> None:
    x, y = [4.0, 3, 2, 1], [9.0, 8, 7, 1]
    assert psy.top_k_overlap(x, y, 0).status == psy.top_k_overlap(x, y, 4).status == "insufficient"
    assert psy.top_k_overlap(x, y, 3).value == 1
    tallies = {"right": np.array([[1.0, 0, 1]]), "n": np.ones((1, 3))}

    def share(sums):  # type: ignore[no-untyped-def]
        return sums["right"] / sums["n"]

    scaled = psy.scaled_scores(tallies, share, [0.5, 0.25, 1.25], np.ones((3, 1)))
    assert scaled.scores == pytest.approx([1.75 / 2])
    with pytest.raises(ValueError, match="positive weights"):
        psy.scaled_scores(tallies, share, [0.5, 0.0, 1.25], np.ones((3, 1)))
