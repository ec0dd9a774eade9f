"""What the errors of a whole study are made of: respondents, pictures, items, wordings and runs in
one analysis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, product

import numpy as np

from hqm.psychometrics.result import Array, ArrayLike, IntArray, Labels, Status, float_array
from hqm.psychometrics.variance.variance_components import MIN_CLUSTERS, Design, solve_equations

Effect = tuple[str, ...]
FACETS = ("respondent", "item", "form", "run")
_RESPONDENT: Effect = ("respondent",)
MIN_RESPONDENTS = 3
"""With fewer respondents the interactions with them rest on too little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyComponents:
    """Variance components of single answers, and the study in which they were estimated.

    Attributes
    ----------
    effects, values
        Facets that interact -> variance, 0 or more. The last effect is that of single answers: with
        runs it is the noise from run to run, without them it holds the interactions of highest
        order too.
    covariance
        (effects, effects): of the values, by leaving out each picture; empty where it was not asked
        for.
    per_picture
        Items a picture; `crowd` the same as the error of a mean has it, sum n_c^2 / n.
    judge
        Of the last effect, the part that a judge who is asked again makes; None where nobody was
        asked again.
    labels
        Variance of an answer's score minus its label by people, within a respondent; None without
        labels.
    """

    effects: tuple[Effect, ...] = ()
    values: tuple[float, ...] = ()
    covariance: tuple[tuple[float, ...], ...] = ()
    respondents: int = 0
    families: int = 0
    items: int = 0
    pictures: int = 0
    forms: int = 1
    runs: int = 1
    per_picture: float = 1.0
    crowd: float = 1.0
    judge: float | None = None
    askings: int = 1
    labels: float | None = None
    labelled: int = 0
    status: Status = "ok"
    reason: str = ""

    def value(self, *effect: str) -> float:
        """Return the variance of an effect (facets in any order); 0 if it was not estimated."""
        facets = set(effect)
        return next(
            (v for e, v in zip(self.effects, self.values, strict=True) if set(e) == facets), 0.0
        )

    @property
    def respondent_variance(self) -> float:
        """The variance between respondents, with that between families."""
        return self.value("respondent") + self.value("family")


def study_variance_components(
    scores: ArrayLike,
    pictures: ArrayLike | None = None,
    families: ArrayLike | None = None,
    *,
    jackknife: bool = True,
) -> StudyComponents:
    """Estimate the variance components of all administrations of a benchmark together.

    Each wording need not be asked in each run. The components are those of `crossed_components`,
    with items in pictures, respondents in families and runs as independent repetitions. A component
    that comes out negative is left out and the others are estimated anew, so that the errors which
    were seen keep their sum (Searle, Casella and McCulloch 1992, section 4.4).

    Parameters
    ----------
    scores : array_like, shape (respondents, items, forms, runs)
        NaN where there is no score.
    pictures, families : array_like, shape (items,), (respondents,), optional
        Labels; None where each stands alone.
    jackknife : bool, default True
        Whether the covariance of the components is wanted.

    Returns
    -------
    StudyComponents
        The components and their covariance. The status is `insufficient` below 3 respondents or 10
        pictures, `degenerate` where all scores are equal.

    Raises
    ------
    ValueError
        An array has another shape.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> right = rng.random((8, 300, 1, 2)) < np.linspace(0.3, 0.9, 8)[:, None, None, None]
    >>> parts = study_variance_components(right)
    >>> parts.runs, [round(v, 2) for v in parts.values]
    (2, [0.05, 0.2])
    """
    x = float_array(scores, "respondents, items, forms, runs")
    picture_index: IntArray = np.asarray(_label_index(pictures, x.shape[1]), dtype=np.int64)
    family_index: IntArray = np.asarray(_label_index(families, x.shape[0]), dtype=np.int64)
    x, picture_index, family_index = _drop_unscored(x, picture_index, family_index)
    picture_sizes = np.bincount(picture_index)
    picture_sizes = picture_sizes[picture_sizes > 0]
    n = int(picture_sizes.sum())
    sizes = {
        "respondents": x.shape[0],
        "items": n,
        "pictures": len(picture_sizes),
        "forms": x.shape[2],
        "runs": x.shape[3],
        "families": len(np.unique(family_index)),
    }
    if reason := _size_problem(sizes):
        return StudyComponents(**sizes, status="insufficient", reason=reason)
    if float(np.nanmax(x) - np.nanmin(x)) <= 1e-12:
        return StudyComponents(
            **sizes, status="degenerate", reason="every answer has the same score"
        )
    # the variance of a mean over pictures of unequal size depends on sum n_c^2 / n
    weighted_picture_size = float((picture_sizes**2).sum()) / n
    design = _design(x, picture_index, family_index, sizes)
    # a facet with one level cannot be told from the mean
    # its levels' variance would be part of the grand mean
    varied_facets = {name for name, size in zip(FACETS, x.shape, strict=True) if size > 1}
    varied_facets |= {"picture", "family"}

    def varied(effect: Sequence[str]) -> tuple[str, ...]:
        return tuple(name for name in effect if name in varied_facets)

    effects = list(map(varied, design.effects))
    included = list(range(len(effects)))
    equations = design.equations
    values, singular = solve_equations(
        equations[np.ix_(included, included)], equations[included, -1]
    )
    # one at a time: a component may be negative only because of another one
    while (
        not singular
        and (negative := _most_negative([effects[i] for i in included], values)) is not None
    ):
        del included[negative]
        values, singular = solve_equations(
            equations[np.ix_(included, included)], equations[included, -1]
        )
    if singular:
        return StudyComponents(
            **sizes, status="insufficient", reason="the answers do not tell the facets apart"
        )
    covariance: tuple[tuple[float, ...], ...] = ()
    if jackknife:
        # the chosen effects stay: the covariance is that of the equations that were solved
        block_equations = design.jackknife_equations("item")[:, included]
        replicates = solve_equations(
            block_equations[:, :, included], block_equations[..., -1], skip_singular=True
        )[0]
        covariance = tuple(tuple(row) for row in _jackknife_covariance(replicates).tolist())
    return StudyComponents(
        effects=tuple(effects[i] for i in included),
        values=tuple(max(0.0, v) for v in values.tolist()),
        covariance=covariance,
        **sizes,
        per_picture=n / len(picture_sizes),
        crowd=weighted_picture_size,
    )


def _design(x: Array, pictures: IntArray, families: IntArray, sizes: dict[str, int]) -> Design:
    """Return the moment equations; what differs between runs is the residual effect."""
    nested = {"item": ("picture", pictures), "respondent": ("family", families)}
    if sizes["families"] < 2:
        del nested["respondent"]
    return Design(x, FACETS, nested, _effects(sizes))


def _label_index(labels: ArrayLike | None, count: int) -> Labels:
    if labels is None:
        return np.arange(count)
    return np.unique(np.asarray(labels), return_inverse=True)[1]


def _drop_unscored(
    x: Array, pictures: IntArray, families: IntArray
) -> tuple[Array, IntArray, IntArray]:
    """Return the scores and labels without levels that have no score."""
    scored = np.isfinite(x)

    def scored_levels(axis: int) -> IntArray:
        return np.flatnonzero(scored.any(axis=tuple(i for i in range(4) if i != axis)))

    axes = list(map(scored_levels, range(4)))
    return x[np.ix_(*axes)], pictures[axes[1]], families[axes[0]]


def _size_problem(sizes: dict[str, int]) -> str:
    if sizes["respondents"] < MIN_RESPONDENTS:
        return (
            f"there are {sizes['respondents']} respondents with scores, and {MIN_RESPONDENTS}"
            " are needed"
        )
    if sizes["pictures"] < MIN_CLUSTERS:
        return f"there are {sizes['pictures']} pictures with scores, and {MIN_CLUSTERS} are needed"
    return ""


def _effects(sizes: dict[str, int]) -> list[list[str]]:
    """Return the effects to estimate beside the residual; families have a main effect only."""
    item_effects = [["item"]]
    if sizes["pictures"] < sizes["items"]:
        item_effects = [["picture"], ["item"]]
    form_effects: list[list[str]] = [[]]
    residual_facets = {"respondent", "item"}
    if sizes["forms"] > 1:
        form_effects.append(["form"])
        residual_facets.add("form")
    effects: list[list[str]] = []
    if 1 < sizes["families"] < sizes["respondents"]:
        effects.append(["family"])
    for facets in product(([], ["respondent"]), ([], *item_effects), form_effects):
        effect = list(chain.from_iterable(facets))
        # with one run, the effect of all facets is the residual itself
        if effect and (set(effect) != residual_facets or sizes["runs"] > 1):
            effects.append(effect)
    return effects


def _most_negative(effects: list[Effect], values: Array) -> int | None:
    """Return the index of the most negative component, of those that may be left out."""
    # the residual, last, and the respondents' own variance always stay
    candidates = [
        (v, i)
        for i, (v, e) in enumerate(zip(values[:-1].tolist(), effects, strict=False))
        if e != _RESPONDENT
    ]
    lowest, position = min(candidates, default=(0.0, 0))
    if lowest < 0:
        return position
    return None


def _jackknife_covariance(replicates: Array) -> Array:
    replicates = replicates[np.isfinite(replicates).all(axis=1)]
    if len(replicates) < 2:
        return np.zeros((0, 0))
    deviations = replicates - replicates.mean(axis=0)
    # the factor of the jackknife's variance, for products of two components
    return np.asarray((len(replicates) - 1) / len(replicates) * (deviations.T @ deviations))
