"""A mixed model of answers by REML: items within pictures, crossed with respondents.

It is fitted by `statsmodels.MixedLM`, which takes groups that are independent of one another.
Pictures are the groups; respondents are crossed with them, so that their means are fixed effects,
and their variance follows from the spread of these means. Whether a picture favours a respondent is
part of the residual: as a component of its own it is often near zero, where REML does not converge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
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
