"""Numbers of single answers computed again by statsmodels: kappas, tests of paired answers, shifts
with pictures as clusters, and a mixed model by REML: items within pictures, crossed with
respondents.

`statsmodels.MixedLM` fits the model, which takes groups that are independent of one another.
Pictures are the groups; respondents are crossed with them, so that their means are fixed effects,
and their variance follows from the spread of these means. Whether a picture favours a respondent is
part of the residual: as a component of its own it is often near zero, where REML does not converge.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from hqm.auditing.answer_scores import AnswerPair, AnswerScores
from hqm.auditing.opinion import (
    EXACT,
    MANY_PICTURES,
    MAX_ERROR_SHARE,
    MAX_INTERVAL_SHIFT,
    MAX_UNSCORED,
    MAX_VARIANCE_SHARE,
    MIN_PICTURES,
    Array,
    Check,
    Study,
    to_number,
)
from hqm.types import Estimate

_LEVEL = 0.05
# The pairs of 25 respondents: statsmodels fits a model to each.
_MAX_PAIRS = 300


# --- statsmodels: kappas, tests of paired answers, shifts in clusters, and the mixed model ---


def compare_kappas(study: Study) -> Iterator[Check]:
    """Compare the mean of the respondents' kappas between two administrations."""
    from statsmodels.stats.inter_rater import cohens_kappa

    answers = study.answers
    if answers is None or not answers.is_binary:
        return
    for estimate in study.named("item_agreement"):
        ours = estimate.detail.get("mean_kappa")
        pair = answers.pair(estimate.first, estimate.other)
        if ours is None or pair is None:
            continue
        kappas = []
        for rows in zip(pair.first, pair.second, strict=True):
            counts = _count_pairs(*rows)
            # Without an answer that both administrations score there is no table of a respondent.
            if counts.any():
                kappas.append(cohens_kappa(counts, return_results=False))
        yield study.check(
            estimate,
            "mean of the respondents' kappas",
            "statsmodels cohens_kappa",
            # Kappa is 0/0 where a respondent answers alike throughout; ours leaves it out of the
            # mean too.
            float(np.nanmean(kappas)),
            ours=float(ours),
            tolerance=None if study.sampling_note(estimate) else EXACT,
            reason=study.sampling_note(estimate),
        )


def compare_shifts(study: Study) -> Iterator[Check]:
    """Compare the shift between two administrations, with pictures as clusters."""
    function = "statsmodels GEE (clusters: pictures)"
    if study.answers is None:
        return
    for estimate in study.named("mean_shift"):
        pair = study.answers.pair(estimate.first, estimate.other)
        if pair is None:
            continue
        fitted = _clustered_shift(pair)
        if fitted is None:
            continue
        value, low, high = fitted
        reason = study.sampling_note(estimate)
        yield study.check(
            estimate,
            "mean shift",
            function,
            value,
            tolerance=None if reason else EXACT,
            reason=reason,
        )
        if reason:
            continue
        for interval in estimate.intervals:
            # The clusters of GEE are pictures: its interval is of these respondents over other
            # items.
            if interval.inference != "fixed_models" or not math.isfinite(interval.low):
                continue
            for name, ours, theirs in (
                ("lower", interval.low, low),
                ("upper", interval.high, high),
            ):
                yield study.check(
                    estimate,
                    f"{name} end of the shift's interval",
                    function,
                    theirs,
                    ours=ours,
                    tolerance=MAX_INTERVAL_SHIFT * (interval.high - interval.low),
                    reason=(
                        "theirs is a normal interval from a sandwich estimator, ours a Student"
                        " interval from a jackknife"
                    ),
                )


def _clustered_shift(pair: AnswerPair) -> tuple[float, float, float] | None:
    """Return the mean over respondents of their shifts, with its interval; None without one.

    The model has a mean for every respondent in either administration. A picture's answers of one
    respondent are one row, weighted by their number: the sums within pictures are the same.
    """
    from statsmodels.genmod.cov_struct import Independence
    from statsmodels.genmod.generalized_estimating_equations import GEE

    n_pictures = int(pair.pictures.max(initial=-1)) + 1
    # GEE has one mean for all answers of a row: one without an answer has none.
    if n_pictures < MIN_PICTURES or not np.isfinite(pair.scores).all():
        return None
    scores = np.concatenate([pair.first, pair.second])
    scored = np.isfinite(scores)
    counts = np.zeros((n_pictures, len(scores)))
    sums = np.zeros_like(counts)
    # Not `+=`, which adds once where several items share a picture.
    np.add.at(counts, pair.pictures, scored.T)
    np.add.at(sums, pair.pictures, np.where(scored, scores, 0.0).T)
    pictures, rows = np.nonzero(counts)
    weights = counts[pictures, rows]
    model = GEE(
        sums[pictures, rows] / weights,
        np.eye(len(scores))[rows],
        pictures,
        # Independence leaves the means as they are; the robust covariance allows for what answers
        # about one picture have in common (Liang and Zeger 1986, Biometrika 73).
        cov_struct=Independence(),
        weights=weights,
    )
    fit = model.fit(cov_type="robust")
    n_respondents = len(pair.first)
    # A column of the design is a respondent in one administration, the first administration before.
    contrast = np.repeat([-1.0, 1.0], n_respondents) / n_respondents
    tested = fit.t_test(contrast)
    low, high = np.ravel(tested.conf_int(0.05))
    return float(np.ravel(tested.effect)[0]), float(low), float(high)


def compare_pairs(study: Study) -> Iterator[Check]:
    """Compare tests of two respondents, and of all, over the same items."""
    adjacent = study.estimate("discriminability.separable_adjacent")
    separable = study.estimate("discriminability.separable_pairs")
    if study.answers is None or study.answers.n_pictures < MIN_PICTURES:
        return
    if adjacent is not None:
        yield from _first_two(study, study.answers, adjacent)
    if separable is not None:
        yield from _all_pairs(study, study.answers, separable)


def _first_two(study: Study, answers: AnswerScores, adjacent: Estimate) -> Iterator[Check]:
    """Compare the tests of the first respondent against the second."""
    from statsmodels.stats.contingency_tables import mcnemar

    contrast = next(iter(adjacent.detail.get("contrasts", ())), None)
    if contrast is None or contrast["error"] is None or contrast["p"] is None:
        return
    rows = [answers.respondents.index(contrast[name]) for name in ("first", "second")]
    first, second = answers.reference[rows]
    test = _clustered_difference(answers, first, second)
    error = float(contrast["error"])
    function = "statsmodels OLS (clusters: pictures)"
    yield study.check(
        adjacent,
        "difference of the first two",
        function,
        study.direction * test.difference,
        ours=contrast["difference"],
    )
    yield study.check(
        adjacent,
        "standard error of that difference",
        function,
        test.error,
        ours=error,
        tolerance=MAX_INTERVAL_SHIFT * error,
        reason="theirs is a sandwich estimator, ours a jackknife over pictures",
    )
    if not answers.is_binary:
        return
    yield study.check(
        adjacent,
        "p of that difference",
        "statsmodels mcnemar (exact)",
        float(mcnemar(_count_pairs(first, second), exact=True).pvalue),
        ours=contrast["p"],
        tolerance=None,
        reason="theirs takes items as independent, ours takes pictures as clusters",
    )


def _count_pairs(first: Array, second: Array) -> Array:
    """(2, 2): how often two rows of wrong and right answers have each pair of scores."""
    is_paired = np.isfinite(first) & np.isfinite(second)
    counts = np.zeros((2, 2))
    np.add.at(counts, (first[is_paired].astype(int), second[is_paired].astype(int)), 1)
    return counts


def _all_pairs(study: Study, answers: AnswerScores, separable: Estimate) -> Iterator[Check]:
    """Compare how many pairs differ after Holm, beside one test of all respondents."""
    from statsmodels.stats.contingency_tables import cochrans_q
    from statsmodels.stats.multitest import multipletests

    is_complete = np.isfinite(answers.reference).all(axis=0)
    if answers.is_binary and is_complete.sum() > 1:
        yield study.check(
            separable,
            "p that all respondents score alike",
            "statsmodels cochrans_q",
            float(cochrans_q(answers.reference[:, is_complete].T).pvalue),
            ours=math.nan,
            tolerance=None,
            reason="one test of all respondents, of independent items: none of ours is the same",
        )
    pairs = list(combinations(range(len(answers.respondents)), 2))
    if not 2 <= len(pairs) <= _MAX_PAIRS:
        return
    p = np.array(
        [_clustered_difference(answers, *answers.reference[list(pair)]).p for pair in pairs]
    )
    if not np.isfinite(p).all():
        return
    rejected, adjusted, *_ = multipletests(p, alpha=_LEVEL, method="holm")
    n_pictures = answers.n_pictures
    tolerance = None
    reason = f"{n_pictures} pictures are few for the standard errors of either"
    # a pair at the level may fall on either side, since both standard errors are estimates
    at_level = int(((adjusted > _LEVEL / 2) & (adjusted < 2 * _LEVEL)).sum())
    if n_pictures >= MANY_PICTURES:
        tolerance = float(at_level)
        reason = f"{at_level} of {len(pairs)} lie near the level, where standard errors decide"
    yield study.check(
        separable,
        "pairs of respondents that differ after Holm",
        "statsmodels multipletests (holm)",
        float(rejected.sum()),
        ours=float(separable.detail["apart"]),
        tolerance=tolerance,
        reason=reason,
    )


@dataclass(frozen=True, slots=True)
class _Difference:
    difference: float
    error: float
    p: float


def _clustered_difference(answers: AnswerScores, first: Array, second: Array) -> _Difference:
    """Return the mean difference over the items that both answered, with pictures as clusters."""
    from statsmodels.regression.linear_model import OLS

    is_paired = np.isfinite(first) & np.isfinite(second)
    gaps = (first - second)[is_paired]
    pictures = np.unique(answers.pictures[is_paired], return_inverse=True)[1]
    # One cluster has no variance over clusters.
    if len(gaps) < 3 or pictures.max() < 1:
        return _Difference(math.nan, math.nan, math.nan)
    # With clusters, statsmodels takes Student's t with one degree of freedom less than there are
    # clusters.
    fit = OLS(gaps, np.ones((len(gaps), 1))).fit(
        cov_type="cluster", cov_kwds={"groups": pictures}, use_t=True
    )
    # Gaps that are all alike have a standard error of 0, by which nothing is divided.
    p = float(fit.pvalues[0]) if np.ptp(gaps) else 1.0
    return _Difference(float(fit.params[0]), float(fit.bse[0]), p)


_MIXED = "statsmodels MixedLM (REML)"
_SPARSE = "too many answers have no score in one of the two: ours uses those of the other"
Numbers = npt.NDArray[np.int64]

MAX_SCORES = 30_000
"""Scores of respondents and items beyond which a fit takes minutes."""
_MIN_SCORES = 20
_MIN_PICTURES = 3
_MIN_START = 1e-3
"""The least variance, as a share of the rest, from which a fit starts: at zero its slope is
zero.
"""
_MAX_FITS = 5
_MIN_GAIN = 0.01
"""A fit has converged where another one, from its end, raises the log likelihood by less."""


_OF_MOMENTS = "theirs is REML of a normal model, ours mean squares of all answers"


def compare_components(study: Study) -> Iterator[Check]:
    """Compare the variance components of answers, and G, with those of a mixed model."""
    answers = study.answers
    if answers is None or study.metric != next(iter(study.audit.metrics)):
        return
    for estimate in study.named("g"):
        components = _our_components(estimate)
        pair = answers.pair(estimate.first, estimate.other)
        if not estimate.indicator.startswith("generalizability.") or not components:
            continue
        if pair is None:
            continue
        try:
            # Half the sum and half the difference of two administrations are uncorrelated where
            # their errors are alike, so that each is looked at by itself.
            average = fit_pictures((pair.first + pair.second) / 2, pair.pictures)
        except ModelError as error:
            yield study.check(estimate, "variance components", _MIXED, math.nan, reason=str(error))
            continue
        changes = (pair.first - pair.second) / 2
        yield from _component_checks(study, estimate, components, average, changes)


def _our_components(estimate: Estimate) -> dict[str, float]:
    """Return our components, those of the varied facet under `* x facet`; empty where none."""
    suffix = f" x {estimate.detail.get('varied')}"
    components: dict[str, float] = {}
    for row in estimate.detail.get("components") or ():
        name = str(row["facet"])
        if name.endswith(suffix):
            name = f"{name.removesuffix(suffix)} x facet"
        components[name] = to_number(row.get("raw"))
    if all(map(math.isfinite, components.values())):
        return components
    return {}


def _component_checks(
    study: Study,
    estimate: Estimate,
    components: Mapping[str, float],
    average: PictureModel,
    changes: Array,
) -> Iterator[Check]:
    """Compare the components of the mean of two administrations, then of one, and G."""
    total = sum(max(value, 0.0) for value in components.values())

    def of_mean(*names: str) -> float:
        return sum(components.get(n, 0) + components.get(f"{n} x facet", 0) / 2 for n in names)

    is_sparse = np.isfinite(changes).mean() < 1 - MAX_UNSCORED
    # Half a difference has half of each component of the varied facet, as the mean has. Where ours
    # has no component of respondents by the facet, it is part of single answers.
    has_means = "respondent x facet" in components
    centres = np.nanmean(changes, axis=1, keepdims=True) if has_means else 0.0
    dof = np.isfinite(changes).sum() - (len(changes) if has_means else 0)
    spread = float(np.nansum((changes - centres) ** 2) / dof)
    # Half of the component of respondents by the facet: half a difference has half the variance.
    respondents = 0.0
    if has_means:
        respondents = float(np.nanmean(changes, axis=1).var(ddof=1)) - spread / average.n_items
    facet = "respondent x item", "respondent x picture", "item", "picture"
    rows = (
        ("items and pictures", of_mean("item", "picture"), average.item + average.picture, _MIXED),
        ("pictures", of_mean("picture"), average.picture, _MIXED),
        ("respondents by items", of_mean(*facet[:2]), average.residual, _MIXED),
        (
            f"single answers over the {estimate.detail['varied']} facet",
            sum(components.get(f"{name} x facet", 0.0) for name in facet),
            2 * spread,
            "numpy.mean",
        ),
    )
    for label, ours, theirs, function in rows:
        is_judged = label != "pictures" and not is_sparse
        yield study.check(
            estimate,
            f"variance of {label}",
            function,
            theirs,
            ours=ours,
            tolerance=MAX_VARIANCE_SHARE * total if is_judged else None,
            reason=_SPARSE if is_sparse else _OF_MOMENTS,
        )
    # G is of one administration, and the model is of the mean of two: what the facet changes counts
    # half in the mean, so it leaves the signal and is doubled in the noise.
    signal = average.respondent - max(respondents, 0.0)
    noise = average.error + spread / average.n_items + 2 * max(respondents, 0.0)
    has_favours = abs(of_mean("respondent x picture")) > MAX_VARIANCE_SHARE * total
    tolerance = MAX_ERROR_SHARE * (1 - float(estimate.value or 0.0))
    yield study.check(
        estimate,
        "generalizability coefficient",
        _MIXED,
        signal / (signal + noise),
        tolerance=None if has_favours or is_sparse else tolerance,
        reason=(
            "theirs has no component for pictures that favour a respondent"
            if has_favours
            else _OF_MOMENTS
        ),
    )


class ModelError(ValueError):
    """The model cannot be fitted to these scores."""


@dataclass(frozen=True, slots=True)
class PictureModel:
    """The variance components of one score for each respondent and item.

    Attributes
    ----------
    picture, item, residual : float
        Components of pictures, of items within them, and of respondents by items with the rest.
    means : tuple of float
        The mean of each respondent.
    n_items : float
        Scored items of each respondent, on average.
    """

    picture: float
    item: float
    residual: float
    means: tuple[float, ...]
    n_items: float

    @property
    def error(self) -> float:
        """The error variance of a respondent's mean over other items."""
        return self.residual / self.n_items

    @property
    def respondent(self) -> float:
        """The variance of respondents: the variance of their means minus the error variance."""
        return float(np.var(self.means, ddof=1)) - self.error


def fit_pictures(scores: Array, pictures: Numbers) -> PictureModel:
    """Fit the model by REML.

    Parameters
    ----------
    scores : ndarray
        (respondents, items): NaN where there is none.
    pictures : ndarray
        (items,): the number of the picture of each item.

    Raises
    ------
    ModelError
        There are too few scores or too many, they do not vary, or the fit did not converge.
    """
    scored = np.isfinite(scores)
    items = np.nonzero(scored)[1]
    groups = pictures[items]
    n_pictures = len(np.unique(groups))
    if len(items) < _MIN_SCORES or n_pictures < _MIN_PICTURES or scored.sum(axis=1).min() < 2:
        raise ModelError("too few answers were scored in both administrations")
    if len(items) > MAX_SCORES:
        raise ModelError(f"a model of more than {MAX_SCORES:,} scores would take minutes")
    means = np.array([row[is_scored].mean() for row, is_scored in zip(scores, scored, strict=True)])
    centred = scores - means[:, None]
    variance = float(centred[scored].var())
    if not variance > 0:
        raise ModelError("the answers do not vary")
    # Scores of variance 1, whatever the unit of the metric: steps and tolerances of the search fit
    # them.
    components = _fit(centred[scored] / math.sqrt(variance), groups, items)
    picture, item, residual = (value * variance for value in components)
    return PictureModel(
        picture=picture,
        item=item,
        residual=residual,
        means=tuple(means.tolist()),
        n_items=len(items) / len(scores),
    )


def _fit(values: Array, pictures: Numbers, items: Numbers) -> tuple[float, float, float]:
    """Return the components of pictures, items and the rest, in the unit of the values."""
    from statsmodels.regression.mixed_linear_model import MixedLM, MixedLMParams, VCSpec

    # Where no picture has two items, both are one component, which the groups of MixedLM are.
    are_shared = len(np.unique(pictures)) < len(np.unique(items))
    shares = _moments(values, pictures, items)
    ones = np.ones((len(values), 1))
    if are_shared:
        vc_spec = VCSpec(["item"], *_designs(pictures, items))
        model = MixedLM(values, ones, pictures, exog_re=ones, exog_vc=vc_spec)
        variances = {"cov_re": np.array([[shares[0]]]), "vcomp": np.array([shares[1]])}
    else:
        model = MixedLM(values, ones, pictures, exog_re=ones)
        variances = {"cov_re": np.array([[shares[1]]])}
    start = MixedLMParams.from_components(np.zeros(1), **variances)
    likelihood = -math.inf
    for _ in range(_MAX_FITS):
        fit = model.fit(reml=True, method="lbfgs", start_params=start)
        if fit.converged and fit.llf - likelihood < _MIN_GAIN:
            break
        likelihood = fit.llf
        # From its own end again, since lbfgs may stop short of the maximum and report that it
        # converged.
        start = fit.params_object
    else:
        raise ModelError(f"the mixed model did not converge in {_MAX_FITS} fits")
    first = float(fit.cov_re[0, 0])
    if are_shared:
        return first, float(fit.vcomp[0]), float(fit.scale)
    return 0.0, first, float(fit.scale)


def _designs(pictures: Numbers, items: Numbers) -> tuple[list[list[list[str]]], list[list[Array]]]:
    """Return the items within each picture, and their indicators, as `VCSpec` takes them."""
    labels: list[list[str]] = []
    designs: list[Array] = []
    for picture in np.unique(pictures):
        levels, index = np.unique(items[pictures == picture], return_inverse=True)
        labels.append([str(level) for level in levels])
        designs.append(np.eye(len(levels))[index])
    return [labels], [designs]


def _moments(values: Array, pictures: Numbers, items: Numbers) -> tuple[float, float]:
    """Return rough components of pictures and items, as shares of the rest, from which the fit
    starts: from the start of statsmodels it often ends at a point that is no maximum.
    """
    # Mean squares within items, within pictures, and of pictures, as an analysis of variance takes
    # them.
    residual, item_means = _variance_within(values, items)
    n_items = len(item_means)
    item_pictures = np.empty(n_items, dtype=np.int64)
    item_pictures[np.unique(items, return_inverse=True)[1]] = pictures
    # What answers leave in the mean of an item: their variance over their number.
    noise = residual * n_items / len(values)
    item = _variance_within(item_means, item_pictures)[0] - noise
    picture = float(item_means.var()) - noise - item
    if n_items == len(np.unique(pictures)):
        item = picture + item
        picture = 0.0
    return max(picture / residual, _MIN_START), max(item / residual, _MIN_START)


def _variance_within(values: Array, groups: Numbers) -> tuple[float, Array]:
    """Return the variance within groups, and the mean of each."""
    index = np.unique(groups, return_inverse=True)[1]
    counts = np.bincount(index)
    means = np.bincount(index, weights=values) / counts
    deviations = values - means[index]
    return float((deviations**2).sum() / max(len(values) - len(counts), 1)), means
