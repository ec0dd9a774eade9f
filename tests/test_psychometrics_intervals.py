"""Intervals against their formulas, with the quantiles of scipy and sums written out."""

import dataclasses
import importlib
import inspect
import math
import pkgutil

import numpy as np
import pytest
from scipy import stats

import hqm.benchmark
import hqm.indicators
import hqm.psychometrics as psy
import hqm.scoring


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


def test_the_correlation_of_forms_has_the_jackknife_over_pictures() -> None:
    """Student's t with 11 degrees of freedom around cov / sqrt((s_a^2 - v_a) (s_b^2 - v_b))."""
    rng = np.random.default_rng(8)
    ability = rng.normal(0.6, 0.1, 11)
    a, b = (ability[:, None] + rng.normal(0, 0.2, (11, 12)) for _ in range(2))
    noise = rng.uniform(1e-5, 1e-4, (2, 11))

    def without_noise(x: np.ndarray, y: np.ndarray) -> float:
        true = [each.var(ddof=1) - v.mean() for each, v in zip((x, y), noise, strict=True)]
        return float(np.cov(x, y)[0, 1] / math.sqrt(true[0] * true[1]))

    x, y = a.mean(axis=1), b.mean(axis=1)
    left = (
        [(x * 12 - a[:, k]) / 11 for k in range(12)],
        [(y * 12 - b[:, k]) / 11 for k in range(12)],
    )
    without = tuple(np.stack(each, axis=1) for each in left)
    true = psy.form_reliability(x, y, *noise, without=without).true  # type: ignore[arg-type]
    value = without_noise(x, y)
    half = stats.t.ppf(0.975, 11) * jackknifed(
        np.array([without_noise(*each) for each in zip(*left, strict=True)])
    )
    assert true.value == pytest.approx(value)
    assert true.fixed is not None
    assert (true.fixed.low, true.fixed.high) == pytest.approx((value - half, min(1, value + half)))


def test_omega_of_types_has_the_jackknife_over_pictures() -> None:
    """Of log(1 - omega), to first order: within a few percent of omega without each picture."""
    rng = np.random.default_rng(0)
    pictures, types = np.repeat(np.arange(12), 6), np.tile(["a", "b", "c"], 24)
    centre = (
        rng.normal(size=(30, 1))
        + 0.7 * rng.normal(size=(30, 3))[:, [0, 1, 2] * 24]
        + rng.normal(size=72)
        + 0.8 * rng.normal(size=(30, 12))[:, pictures]
    )
    x = (rng.random((30, 72)) < 1 / (1 + np.exp(-centre))).astype(float)
    omega = psy.omega_of_types(x, types.tolist(), pictures)
    left = []
    for each in range(12):
        kept = pictures != each
        without = psy.omega_of_types(x[:, kept], types[kept].tolist(), pictures[kept])
        left.append(math.log(1 - without.value))
    assert omega.fixed is not None
    half = math.log((1 - omega.fixed.low) / (1 - omega.fixed.high)) / 2
    assert half == pytest.approx(stats.t.ppf(0.975, 11) * jackknifed(np.array(left)), rel=0.03)


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
    sizes = np.bincount(pictures)
    assert parts.per_picture == pytest.approx(sizes.mean())
    assert parts.crowd == pytest.approx((sizes**2).sum() / sizes.sum()), "items beside an item"
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


DEFAULTS = {"level": 0.95, "alpha": 0.05, "higher_is_better": True, "hit": 1.0}
"""What a parameter or field of this name is where nothing else is said."""

NAMED = {
    **dict.fromkeys(["StudySize.items", "StudySize.forms"], 1),
    **dict.fromkeys(["StudySize.runs", "StudySize.askings"], 1),
    **dict.fromkeys(["StudyParts.forms", "StudyParts.runs", "StudyParts.askings"], 1),
    **dict.fromkeys(["StudyParts.per_picture", "StudyParts.crowd", "Parser.version"], 1),
    **dict.fromkeys(["TypeCoverage.labelled", "Part.descriptive", "Indicator.on_page"], True),
    "StudySize.pictures": 100,
    "StudySize.respondents": 10,
    "Influence.strongest": -1,
    "Influence.pair": (-1, -1),
    "Indicator.digits": 3,
}
"""Fields of which one is meant where nothing is said."""


def says_nothing(default: object) -> bool:
    """Whether a number is none, a count 0, a list empty, and a statement not made."""
    if isinstance(default, tuple):
        return all(map(says_nothing, default))
    finite = isinstance(default, int | float) and math.isfinite(default)
    return default in (0, False) if finite else True


def test_results_cannot_be_changed_and_intervals_are_of_95_percent() -> None:
    """What every function promises, asked of all of them: a field that a result is not given says
    nothing, and a parameter of one name has one default.
    """
    results, parameters = 0, 0
    for package in (psy, hqm.indicators, hqm.scoring, hqm.benchmark):
        for entry in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(entry.name)
            for value in vars(module).values():
                if module.__name__ != getattr(value, "__module__", "") or not callable(value):
                    continue
                if inspect.isclass(value) and dataclasses.is_dataclass(value):
                    results += 1
                    for field in dataclasses.fields(value):
                        name, default = f"{value.__name__}.{field.name}", field.default
                        expected = NAMED.get(name, DEFAULTS.get(field.name))
                        if default is not dataclasses.MISSING and expected is not None:
                            assert default == expected, name
                        elif default is not dataclasses.MISSING:
                            assert says_nothing(default), name
                    if package is psy and not value.__name__.startswith("_"):
                        assert value.__dataclass_params__.frozen, value
                        assert not hasattr(value, "__dict__") or "__slots__" in vars(value), value
                members = vars(value).values() if inspect.isclass(value) else (value,)
                for function in filter(inspect.isfunction, members):
                    for parameter in inspect.signature(function).parameters.values():
                        if parameter.name in DEFAULTS and parameter.default is not parameter.empty:
                            parameters += 1
                            assert parameter.default == DEFAULTS[parameter.name], function
    assert results > 100
    assert parameters > 80


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
