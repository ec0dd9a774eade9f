"""Intervals against their formulas, with the quantiles of scipy and sums written out."""

import dataclasses
import importlib
import inspect
import math
import pkgutil

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

import hqm.benchmark
import hqm.indicators
import hqm.psychometrics as psy
import hqm.scoring
from hqm.psychometrics.inference.resampling import (
    aggregate,
    bootstrap_counts,
    cluster_labels,
    cluster_sums,
    jackknife_standard_error,
    jackknife_variance,
    label_order,
    mean_with_error,
    reliability_jackknife_interval,
)
from hqm.psychometrics.result import (
    effective_size,
    equal_shape_arrays,
    finite_mean,
    float_array,
    is_constant,
    normal_quantile,
    ratio,
)


def jackknifed(left: np.ndarray) -> float:
    """The standard error from values with one group left out each (Tukey 1958)."""
    n_values = len(left)
    return math.sqrt((n_values - 1) / n_values * float(((left - left.mean()) ** 2).sum()))


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
            theirs(automatic[pictures != cluster], human[pictures != cluster]).statistic
            for cluster in range(7)
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
        true = [scores.var(ddof=1) - v.mean() for scores, v in zip((x, y), noise, strict=True)]
        return float(np.cov(x, y)[0, 1] / math.sqrt(true[0] * true[1]))

    x, y = a.mean(axis=1), b.mean(axis=1)
    left = (
        [(x * 12 - a[:, k]) / 11 for k in range(12)],
        [(y * 12 - b[:, k]) / 11 for k in range(12)],
    )
    replicates = tuple(np.stack(pair, axis=1) for pair in left)
    true = psy.form_reliability(x, y, *noise, replicates=replicates).true  # type: ignore[arg-type]
    value = without_noise(x, y)
    half = stats.t.ppf(0.975, 11) * jackknifed(
        np.array([without_noise(*arguments) for arguments in zip(*left, strict=True)])
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
    for picture in range(12):
        retained = pictures != picture
        leave_one_out = psy.omega_of_types(
            x[:, retained], types[retained].tolist(), pictures[retained]
        )
        left.append(math.log(1 - leave_one_out.value))
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
    parts = psy.study_variance_components(scores, pictures)
    assert len(parts.covariance) == len(parts.effects) == 6
    sizes = np.bincount(pictures)
    assert parts.per_picture == pytest.approx(sizes.mean())
    assert parts.crowd == pytest.approx((sizes**2).sum() / sizes.sum()), "items beside an item"
    left = []
    for cluster in range(12):
        retained = pictures != cluster
        leave_one_out = psy.study_variance_components(
            scores[:, retained], pictures[retained], jackknife=False
        )
        assert leave_one_out.effects == parts.effects
        left.append(leave_one_out.values)
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

DEFAULTS_BY_NAME = {
    **dict.fromkeys(["StudySize.items", "StudySize.forms"], 1),
    **dict.fromkeys(["StudySize.runs", "StudySize.askings"], 1),
    **dict.fromkeys(
        ["StudyComponents.forms", "StudyComponents.runs", "StudyComponents.askings"], 1
    ),
    **dict.fromkeys(["StudyComponents.per_picture", "StudyComponents.crowd", "Parser.version"], 1),
    **dict.fromkeys(["TypeCoverage.labelled", "AnswerPart.descriptive", "Indicator.on_page"], True),
    "StudySize.pictures": 100,
    "StudySize.respondents": 10,
    "Influence.strongest": -1,
    "NeighbourPair.rivals": 1,
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
                        expected = DEFAULTS_BY_NAME.get(name, DEFAULTS.get(field.name))
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
                        if parameter.kind is parameter.POSITIONAL_ONLY:
                            # of those that a named tuple brings along, and of one of ours
                            assert function.__name__ in ("_replace", "result"), function
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


def test_items_are_sorted_by_their_labels_or_stand_so_already() -> None:
    for labels in ([], [3], [1, 1, 2], ["a", "b", "b"]):
        assert label_order(np.array(labels)) == slice(None)
    assert label_order(np.array([2, 1, 2, 1])).tolist() == [1, 3, 0, 2]
    assert cluster_labels(None, 3).tolist() == [0, 1, 2]
    assert cluster_labels(["b", "a"], 2).tolist() == ["b", "a"]
    for clusters, items in (([1, 2], 3), ([[1, 2]], 2), (5, 1)):
        with pytest.raises(ValueError, match="one label an item"):
            cluster_labels(clusters, items)


def test_sums_and_means_over_clusters_by_loops() -> None:
    rng = np.random.default_rng(31)
    labels = np.array([2, 0, 1, 2, 0, 2, 5])
    values = rng.random((2, 3, 7))
    scored = rng.random((3, 7)) < 0.7
    scored[2] = False
    for scored_cells in (scored, np.ones((3, 7), dtype=bool)):
        sums, sizes = cluster_sums(values * scored_cells, scored_cells, labels)
        for c, name in enumerate([0, 1, 2, 5]):
            in_cluster = labels == name
            assert sums[..., c] == pytest.approx(
                (values * scored_cells)[..., in_cluster].sum(axis=-1)
            )
            assert sizes[:, c].tolist() == scored_cells[:, in_cluster].sum(axis=1).tolist()
        mean, error = mean_with_error(sums[0], sizes)
        for m in range(3):
            n, clusters = sizes[m].sum(), np.flatnonzero(sizes[m])
            if n == 0:
                assert math.isnan(mean[m])
                assert math.isnan(error[m])
                continue
            middle = sums[0, m].sum() / n
            squares = sum((sums[0, m, c] - sizes[m, c] * middle) ** 2 for c in clusters)
            count = len(clusters)
            assert mean[m] == pytest.approx(middle)
            assert error[m] == pytest.approx(math.sqrt(count / (count - 1) * squares) / n)
    empty, empty_sizes = cluster_sums(np.zeros((2, 0)), np.ones((2, 0), dtype=bool), np.zeros(0))
    assert empty.shape == empty_sizes.shape == (2, 0)
    mean, error = mean_with_error(np.array([[0.3, 0.0], [0.1, 0.1]]), np.array([[1.0, 0], [1, 1]]))
    assert mean.tolist() == [0.3, 0.1]
    assert math.isnan(error[0]), "one cluster has no error"
    assert error[1] == 0
    # thirds that are all alike differ by rounding alone; a millionth is a difference
    thirds = np.full((1, 3), 0.1 + 0.2) - np.array([[0.0, 0.0, 1e-16]])
    assert mean_with_error(thirds, np.ones((1, 3)))[1].tolist() == [0.0]
    assert mean_with_error(thirds + np.array([[0, 0, 1e-10]]), np.ones((1, 3)))[1][0] > 0


def test_tallies_are_summed_in_the_order_of_the_labels() -> None:
    sums = aggregate([[1, 10], [2, 20], [4, 40], [8, 80]], [3, 1, 3, 2])
    assert sums.tolist() == [[2, 20], [8, 80], [5, 50]]
    for values, clusters in (([1, 2], [1, 2]), ([[1], [2]], [1]), ([[1], [2]], [[1], [2]])):
        with pytest.raises(ValueError, match="one cluster an item"):
            aggregate(values, clusters)


def test_the_jackknife_of_a_mean_is_its_variance() -> None:
    x = np.random.default_rng(32).normal(size=(3, 9))
    leave_one_out = (x.sum(axis=1, keepdims=True) - x) / 8
    assert jackknife_variance(leave_one_out) == pytest.approx(x.var(axis=1, ddof=1) / 9)
    assert jackknife_standard_error(leave_one_out[0]) == pytest.approx(stats.sem(x[0]))


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_a_share_over_clusters_has_wilsons_interval(level: float) -> None:
    """Of statsmodels, with the number of independent items that the jackknife's error amounts to."""
    rng = np.random.default_rng(33)
    clusters = np.repeat(np.arange(8), [2, 3, 1, 4, 2, 2, 3, 3])
    right = (rng.random(20) < 0.7).astype(float)
    tallies = {"k": right, "n": np.ones(20)}

    def share(t):  # type: ignore[no-untyped-def]
        return t["k"] / t["n"]

    left = [right[clusters != c].mean() for c in range(8)]
    error = jackknifed(np.array(left))
    plain = psy.jackknife_interval(tallies, clusters, share, level=level)
    half = stats.norm.ppf((1 + level) / 2) * error
    value = right.mean()
    assert (plain.low, plain.high) == pytest.approx((value - half, value + half))
    assert (plain.value, plain.n, plain.level) == (value, 8, level)
    assert plain.method == "cluster jackknife"
    wilson = psy.jackknife_interval(tallies, clusters, share, is_proportion=True, level=level)
    n = value * (1 - value) / error**2
    theirs = proportion_confint(value * n, n, alpha=1 - level, method="wilson")
    assert (wilson.low, wilson.high) == pytest.approx(theirs)
    assert (wilson.value, wilson.n, wilson.level) == (value, 8, level)
    for end in (0.0, 1.0):
        sure = psy.jackknife_interval(
            {"k": np.full(20, end), "n": np.ones(20)},
            clusters,
            share,
            is_proportion=True,
            level=level,
        )
        theirs = proportion_confint(end * 8, 8, alpha=1 - level, method="wilson")
        assert (sure.low, sure.high) == pytest.approx(theirs, abs=1e-12)
    half_right = psy.jackknife_interval(
        {"k": np.tile([1.0, 0], 8), "n": np.ones(16)},
        np.repeat(np.arange(8), 2),
        share,
        is_proportion=True,
        level=level,
    )
    theirs = proportion_confint(4, 8, alpha=1 - level, method="wilson")
    assert (half_right.low, half_right.high) == pytest.approx(theirs), "no error, but few clusters"


def test_a_score_without_clusters_to_leave_out_has_no_interval() -> None:
    def odds(t):  # type: ignore[no-untyped-def]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.divide(t["a"], t["b"])

    def difference(a: list[float], b: list[float], clusters: list[int]) -> psy.Coefficient:
        tallies = {"a": np.array(a), "b": np.array(b)}
        return psy.jackknife_interval(tallies, np.array(clusters, dtype=np.int64), odds)

    empty_difference = difference([], [], [])
    assert (empty_difference.status, empty_difference.n) == ("degenerate", 0)
    assert difference([1.0, 1], [0, 0], [0, 1]).n == 2
    single_cluster = difference([1.0, 1], [1, 1], [0, 0])
    assert (single_cluster.value, single_cluster.n, single_cluster.status) == (1.0, 1, "ok")
    assert math.isnan(single_cluster.low)
    # without the first of two clusters nothing is left to divide by
    single = difference([1.0, 1], [2, 0], [0, 1])
    assert (single.value, single.n) == (1.0, 2)
    assert math.isnan(single.low)
    # of three, two are left: 4/3 and 1/3
    pair = difference([3.0, 1, 0], [3, 0, 0], [0, 1, 2])
    half = 1.959964 * math.sqrt(1 / 2 * 2 * (1 / 6) ** 2)
    assert (pair.low, pair.high) == pytest.approx((4 / 3 - half, 4 / 3 + half), rel=1e-6)


def test_respondents_are_drawn_with_their_families() -> None:
    counts = bootstrap_counts(4, np.random.default_rng(34), 300)
    assert counts.shape == (300, 4)
    assert (counts.sum(axis=1) == 4).all()
    assert counts.mean(axis=0) == pytest.approx([1] * 4, abs=0.2)
    assert counts.max() >= 3
    choices = np.random.default_rng(34).integers(0, 4, (300, 4))
    assert counts.tolist() == [np.bincount(row, minlength=4).tolist() for row in choices]
    related = bootstrap_counts(5, np.random.default_rng(35), 100, list("babcb"))
    choices = np.random.default_rng(35).integers(0, 3, (100, 3))
    for row, units in zip(related, choices, strict=True):
        times = np.bincount(units, minlength=3)
        assert row.tolist() == times[[1, 0, 1, 2, 1]].tolist()


def test_agreement_of_sets_by_pairs_and_tables() -> None:
    """Pearson of scipy, Lin's coefficient, and the intraclass ones from a two-way table."""
    rng = np.random.default_rng(36)
    x = rng.normal(size=(6, 3))
    y = 0.5 * x + rng.normal(0.4, 0.5, (6, 3))
    result = psy.agreement_coefficients(x, y)
    for s in range(3):
        a, b = x[:, s], y[:, s]
        assert result["pearson"][s] == pytest.approx(stats.pearsonr(a, b).statistic)
        assert result["mean_shift"][s] == pytest.approx((b - a).mean())
        covariance = np.cov(a, b, ddof=0)
        lin = 2 * covariance[0, 1] / (np.trace(covariance) + (a.mean() - b.mean()) ** 2)
        assert result["ccc"][s] == pytest.approx(lin)
        table = np.stack([a, b], axis=1)
        rows = 2 * ((table.mean(axis=1) - table.mean()) ** 2).sum() / 5
        columns = 6 * ((table.mean(axis=0) - table.mean()) ** 2).sum()
        residual = (5 * table.var() * 12 / 5 - 5 * rows - columns) / 5
        assert result["icc_c1"][s] == pytest.approx((rows - residual) / (rows + residual))
        assert result["icc_a1"][s] == pytest.approx(
            (rows - residual) / (rows + residual + 2 * (columns - residual) / 6)
        )
    lone = psy.agreement_coefficients([[0.5]], [[0.75]])
    assert lone["mean_shift"].tolist() == [0.25]
    assert all(np.isnan(lone[name]).all() for name in ("pearson", "icc_a1", "icc_c1", "ccc")[:3])
    for first, second in (([1.0, 2], [1.0, 2]), ([[1.0, 2]], [[1.0]])):
        with pytest.raises(ValueError, match="one shape"):
            psy.agreement_coefficients(first, second)


def test_a_reliability_has_the_jackknife_of_its_distance_from_one() -> None:
    left = np.random.default_rng(37).uniform(0.85, 0.92, 12)
    logs = np.log(1 - left)
    half = stats.norm.ppf(0.9) * jackknifed(logs)
    result = reliability_jackknife_interval(0.9, left, level=0.8)
    assert result is not None
    assert result == psy.ConfidenceInterval(
        pytest.approx(1 - 0.1 * math.exp(half)),
        pytest.approx(1 - 0.1 * math.exp(-half)),
        "cluster jackknife of log(1 - r)",
        0.8,
    )
    default = reliability_jackknife_interval(0.9, left)
    assert default is not None
    assert default.level == 0.95
    assert default.low < result.low
    for value, leave_one_out in (
        (1.0, left),
        (1.1, left),
        (math.nan, left),
        (0.9, np.append(left, 1.0)),
        (0.9, np.append(left, 1.2)),
        (0.9, np.append(left, math.nan)),
        (0.9, left[:9]),
    ):
        assert reliability_jackknife_interval(value, leave_one_out) is None
    assert reliability_jackknife_interval(-0.5, -left) is not None


def test_ends_are_moved_and_cut() -> None:
    interval = psy.ConfidenceInterval.symmetric(0.5, 0.25, "m", 0.9)
    assert interval == psy.ConfidenceInterval(0.25, 0.75, "m", 0.9)
    assert psy.ConfidenceInterval.symmetric(
        0.5, 2.0, "m", 0.9, minimum=0.1, maximum=0.7
    ) == psy.ConfidenceInterval(0.1, 0.7, "m", 0.9)
    assert psy.ConfidenceInterval(1.0, 2.0, "m").level == 0.95
    open_end = psy.ConfidenceInterval(1.0, math.inf, "m", 0.8).transformed(lambda v: v + 1)
    assert open_end == psy.ConfidenceInterval(2.0, math.inf, "m", 0.8)
    half_infinite = psy.ConfidenceInterval(-math.inf, 3.0, "m", 0.8).transformed(lambda v: v * 2)
    assert half_infinite == psy.ConfidenceInterval(-math.inf, 6.0, "m", 0.8)
    transformed = psy.Coefficient(0.5, 0.25, math.inf, n=7, level=0.9, fixed=interval).transformed(
        lambda v: 2 * v
    )
    assert (
        transformed.value,
        transformed.low,
        transformed.high,
        transformed.n,
        transformed.level,
    ) == (
        1.0,
        0.5,
        math.inf,
        7,
        0.9,
    )
    assert transformed.fixed == psy.ConfidenceInterval(0.5, 1.5, "m", 0.9)
    assert psy.Coefficient(0.5).transformed(lambda v: 2 * v).fixed is None


def test_a_coefficient_over_items_has_an_interval_where_something_varies() -> None:
    plain = psy.Coefficient.over_items(0.6, 0.1, 0.9, "m", n=4)
    half = stats.norm.ppf(0.95) * 0.1
    assert (plain.value, plain.n, plain.level, plain.se) == (0.6, 4, 0.9, 0.1)
    assert plain.fixed is not None
    assert (plain.fixed.low, plain.fixed.high) == pytest.approx((0.6 - half, 0.6 + half))
    assert (plain.fixed.method, plain.fixed.level) == ("m", 0.9)
    assert math.isnan(plain.low)
    wide = psy.Coefficient.over_items(0.6, 0.1, 0.9, "m", multiplier=7.0, minimum=0.0, maximum=1.0)
    assert wide.fixed == psy.ConfidenceInterval(0.0, 1.0, "m", 0.9)
    assert wide.n == 0
    estimate = psy.Coefficient.over_items(0.6, 0.1, 0.9, "m", multiplier=2.0)
    assert estimate.fixed == psy.ConfidenceInterval(
        pytest.approx(0.4), pytest.approx(0.8), "m", 0.9
    )
    for error in (0.0, -0.1, math.nan):
        without_interval = psy.Coefficient.over_items(0.6, error, 0.9, "m", n=4)
        assert without_interval == psy.Coefficient(0.6, n=4, level=0.9) or math.isnan(
            without_interval.se
        )
        assert without_interval.fixed is None
        assert (without_interval.value, without_interval.n, without_interval.level) == (0.6, 4, 0.9)


def test_a_coefficient_is_printed_with_what_is_known() -> None:
    nan = math.nan
    for coefficient, text in (
        (psy.Coefficient(0.12345), "0.123"),
        (psy.Coefficient(0.5, 0.25, 0.75), "0.500 [0.250, 0.750]"),
        (psy.Coefficient(0.5, 0.25, math.inf), "0.500, at least 0.250"),
        (psy.Coefficient.absent("insufficient", "too few"), "insufficient: too few"),
        (psy.Coefficient(1.0, status="not_informative", reason="sure"), "1.000"),
        (psy.Coefficient(nan), "nan"),
        (psy.Coefficient(0.5, nan, math.inf), "0.500"),
    ):
        assert str(coefficient) == text
        assert repr(coefficient) == f"Coefficient({text}, n=0)"


def test_small_numbers_are_judged_by_their_size() -> None:
    for values, constant in (
        ([0.0, 0.5e-12], True),
        ([0.0, 1.5e-12], False),
        ([1e6, 1e6 + 0.5e-6], True),
        ([1e6, 1e6 + 2e-6], False),
        ([-1e6, -1e6 - 0.5e-6], True),
        ([2.0], True),
        ([0.1, 0.2], False),
    ):
        assert is_constant(np.array(values)) == constant, values
    assert ratio([1.0, 0, -2], [4.0, 0, 0]).tolist()[0] == 0.25
    assert np.isnan(ratio([1.0, 0, -2], [4.0, 0, 0])[1:]).all()
    assert ratio([-1.0], [-0.5]).tolist() == [2.0]
    assert finite_mean(np.array([1.0, math.nan, 3.0, math.inf])) == 2.0
    assert math.isnan(finite_mean(np.array([math.nan])))
    assert math.isnan(finite_mean(np.zeros(0)))
    assert normal_quantile(0.95) == pytest.approx(1.959964)
    assert normal_quantile(0.0) == 0
    assert (effective_size(5, None), effective_size(5, 3.5), effective_size(5, 9.0)) == (
        5.0,
        3.5,
        5.0,
    )


def test_arrays_have_the_axes_that_are_named() -> None:
    assert float_array([[1, 2]], "respondents, items").tolist() == [[1.0, 2.0]]
    assert float_array([1, 2], "items").dtype == np.float64
    for values, shape in (([1], "respondents, items"), ([[1]], "items"), (1, "items")):
        with pytest.raises(ValueError, match=r"scores must have shape \(" + shape):
            float_array(values, shape)
    with pytest.raises(ValueError, match="weights must"):
        float_array([[1]], "items", "weights")
    a, b = equal_shape_arrays([1, 2], [3, 4], "items")
    assert (a.tolist(), b.tolist()) == ([1, 2], [3, 4])
    for x, y in (([1, 2], [1]), ([[1]], [[1]]), ([1], [[1]])):
        with pytest.raises(ValueError, match=r"two arrays of shape \(items\)"):
            equal_shape_arrays(x, y, "items")
