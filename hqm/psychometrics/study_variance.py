"""What the errors of a whole study are made of: respondents, pictures, items, wordings and runs in
one analysis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hqm.psychometrics.result import Array, ArrayLike, Labels, Numbers, Status, shaped
from hqm.psychometrics.variance_components import FEWEST_CLUSTERS, Design, solved

Effect = tuple[str, ...]
FACETS = ("respondent", "item", "form", "run")
_RESPONDENT: Effect = ("respondent",)
FEWEST_RESPONDENTS = 3
"""With fewer respondents the interactions with them rest on too little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyParts:
    """The variance of single answers, effect by effect, and the study in which it was measured.

    - `effects, values`: Facets that interact -> variance, 0 or more. The last effect is that of
      single answers: with runs it is the noise from run to run, without them it holds the
      interactions of highest order too.
    - `covariance`: (effects, effects): of the values, by leaving out each picture; empty where it
      was not asked for.
    - `per_picture`: Items a picture; `crowd` the same as the error of a mean has it, sum n_c^2 / n.
    - `judge`: Of the last effect, the part that a judge who is asked again makes; None where nobody
      was asked again.
    - `labels`: Variance of an answer's score minus its label by people, within a respondent; None
      without labels.
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
        """The variance of an effect, its facets in any order; 0 for one that is not there."""
        wanted = set(effect)
        return next(
            (v for e, v in zip(self.effects, self.values, strict=True) if set(e) == wanted), 0.0
        )

    @property
    def between(self) -> float:
        """The variance between respondents, relatives and others together."""
        return self.value("respondent") + self.value("family")


def study_parts(
    scores: ArrayLike,
    pictures: ArrayLike | None = None,
    families: ArrayLike | None = None,
    *,
    jackknife: bool = True,
) -> StudyParts:
    """The variance components of all administrations of a benchmark together.

    Each wording need not be asked in each run. The components are those of `crossed_components`,
    with items in pictures, respondents in families and runs as independent repetitions. A component
    that comes out negative is left out and the others are estimated anew, so that the errors which
    were seen keep their sum (Searle, Casella and McCulloch 1992, section 4.4).

    - `scores`: (respondents, items, forms, runs): NaN where there is no score.
    - `pictures, families`: (items,), (respondents,): labels; None where each stands alone.
    - `jackknife`: Whether the covariance of the components is wanted.

    The status is `insufficient` below 3 respondents or 10 pictures, `degenerate` where all scores
    are equal.

    >>> rng = np.random.default_rng(0)
    >>> right = rng.random((8, 300, 1, 2)) < np.linspace(0.3, 0.9, 8)[:, None, None, None]
    >>> parts = study_parts(right)
    >>> parts.runs, [round(v, 2) for v in parts.values]
    (2, [0.05, 0.2])
    """
    x = shaped(scores, "respondents, items, forms, runs")
    where: Numbers = np.asarray(_numbered(pictures, x.shape[1]), dtype=np.int64)
    relatives: Numbers = np.asarray(_numbered(families, x.shape[0]), dtype=np.int64)
    x, where, relatives = _with_scores(x, where, relatives)
    counts = np.bincount(where)
    counts = counts[counts > 0]
    n = int(counts.sum())
    sizes = {
        "respondents": x.shape[0],
        "items": n,
        "pictures": len(counts),
        "forms": x.shape[2],
        "runs": x.shape[3],
        "families": len(np.unique(relatives)),
    }
    if reason := _too_few(sizes):
        return StudyParts(**sizes, status="insufficient", reason=reason)
    if float(np.nanmax(x) - np.nanmin(x)) <= 1e-12:
        return StudyParts(**sizes, status="degenerate", reason="every answer has the same score")
    crowd = float((counts**2).sum()) / n
    design = _design(x, where, relatives, sizes)
    several = {name for name, size in zip(FACETS, x.shape, strict=True) if size > 1}
    several |= {"picture", "family"}
    effects = [tuple(name for name in effect if name in several) for effect in design.effects]
    included = list(range(len(effects)))
    whole = design.equations
    values, singular = solved(whole[np.ix_(included, included)], whole[included, -1])
    while (
        not singular and (negative := _negative([effects[i] for i in included], values)) is not None
    ):
        del included[negative]
        values, singular = solved(whole[np.ix_(included, included)], whole[included, -1])
    if singular:
        return StudyParts(
            **sizes, status="insufficient", reason="the answers do not tell the facets apart"
        )
    covariance: tuple[tuple[float, ...], ...] = ()
    if jackknife:
        blocks = design.equations_without("item")[:, included]
        left = solved(blocks[:, :, included], blocks[..., -1], tolerant=True)[0]
        covariance = tuple(tuple(row) for row in _jackknifed(left).tolist())
    return StudyParts(
        effects=tuple(effects[i] for i in included),
        values=tuple(max(0.0, v) for v in values.tolist()),
        covariance=covariance,
        **sizes,
        per_picture=n / len(counts),
        crowd=crowd,
    )


def _design(x: Array, pictures: Numbers, families: Numbers, sizes: dict[str, int]) -> Design:
    """The equations of the effects, with runs as repetitions: everything that differs between runs
    is the last effect.
    """
    nested = {"item": ("picture", pictures), "respondent": ("family", families)}
    if sizes["families"] < 2:
        del nested["respondent"]
    return Design(x, FACETS, nested, _effects(sizes))


def _numbered(labels: ArrayLike | None, count: int) -> Labels:
    return (
        np.arange(count)
        if labels is None
        else np.unique(np.asarray(labels), return_inverse=True)[1]
    )


def _with_scores(x: Array, pictures: Numbers, families: Numbers) -> tuple[Array, Numbers, Numbers]:
    """What has a score at all."""
    there = np.isfinite(x)
    axes = [
        np.flatnonzero(there.any(axis=tuple(i for i in range(4) if i != axis))) for axis in range(4)
    ]
    return x[np.ix_(*axes)], pictures[axes[1]], families[axes[0]]


def _too_few(sizes: dict[str, int]) -> str:
    if sizes["respondents"] < FEWEST_RESPONDENTS:
        return (
            f"there are {sizes['respondents']} respondents with scores, and {FEWEST_RESPONDENTS}"
            " are needed"
        )
    if sizes["pictures"] < FEWEST_CLUSTERS:
        return (
            f"there are {sizes['pictures']} pictures with scores, and {FEWEST_CLUSTERS} are needed"
        )
    return ""


def _effects(sizes: dict[str, int]) -> list[list[str]]:
    """The effects to tell apart beside that of single answers; relatives differ in their level
    alone.
    """
    of_items = [["picture"], ["item"]] if sizes["pictures"] < sizes["items"] else [["item"]]
    inner = [[], *([["form"]] if sizes["forms"] > 1 else [])]
    effects = [
        [*who, *what, *wording]
        for who in ([], ["respondent"])
        for what in ([], *of_items)
        for wording in inner
    ]
    single = {"respondent", "item", "form"} if sizes["forms"] > 1 else {"respondent", "item"}
    effects = [
        effect for effect in effects if effect and (set(effect) != single or sizes["runs"] > 1)
    ]
    related = 1 < sizes["families"] < sizes["respondents"]
    return [*([["family"]] if related else []), *effects]


def _negative(effects: list[Effect], values: Array) -> int | None:
    """The place of the component that lies farthest below 0, of those that may be left out."""
    free = [
        (v, i)
        for i, (v, e) in enumerate(zip(values[:-1].tolist(), effects, strict=False))
        if e != _RESPONDENT
    ]
    lowest, position = min(free, default=(0.0, 0))
    return position if lowest < 0 else None


def _jackknifed(left: Array) -> Array:
    left = left[np.isfinite(left).all(axis=1)]
    if len(left) < 2:
        return np.zeros((0, 0))
    moved = left - left.mean(axis=0)
    return np.asarray((len(left) - 1) / len(left) * (moved.T @ moved))
