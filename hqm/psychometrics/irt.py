"""Item response models, as far as the number of respondents carries them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.marginal import fit, modes
from hqm.psychometrics.result import Status

Array = npt.NDArray[np.float64]
Model = Literal["auto", "rasch", "2pl with priors", "2pl"]
LEAST = {"rasch": 30, "2pl with priors": 30, "2pl": 200}


@dataclass(frozen=True, slots=True)
class Abilities:
    """Where the respondents stand on the scale of an item response model.

    `theta` and `se` have one entry a respondent; NaN for a respondent without a score.
    """

    theta: tuple[float, ...]
    se: tuple[float, ...]
    status: Status = "ok"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ItemResponseModel:
    """Fitted item parameters: P(pass) = sigmoid(slope theta + intercept), theta with mean 0 and standard deviation 1.

    Parameters
    ----------
    slope, intercept, difficulty
        One entry an item; difficulty is -intercept / slope, the ability that passes half the time. NaN for an item that
        everyone passes or fails, which has no finite parameters.
    se_slope, se_intercept
        Standard errors by `se_method`.
    left_out
        Numbers of the items without variance.
    flags
        `FEW_RESPONDENTS`: fewer than 200, the slopes are what the priors make of noise. `NOT_IDENTIFIED`: fewer than 30, fitted
        only because the gate was lifted. `UNBOUNDED`: a slope above 10, an item that passes or fails like a step; how steep the
        data do not say. `NOT_CONVERGED`.
    """

    model: Model
    slope: tuple[float, ...] = ()
    intercept: tuple[float, ...] = ()
    difficulty: tuple[float, ...] = ()
    se_slope: tuple[float, ...] = ()
    se_intercept: tuple[float, ...] = ()
    log_likelihood: float = math.nan
    n: int = 0
    left_out: tuple[int, ...] = ()
    iterations: int = 0
    se_method: str = ""
    flags: tuple[str, ...] = ()
    status: Status = "ok"
    reason: str = ""

    def information(self, theta: npt.ArrayLike) -> Array:
        """Fisher information of each item at each ability, a^2 P (1 - P).

        Parameters
        ----------
        theta
            (abilities,)

        Returns
        -------
        numpy.ndarray
            (abilities, items); its sum over items is the test's, and 1 / sqrt(sum) the standard error of an ability. NaN
            for an item without parameters.
        """
        a, d = np.asarray(self.slope), np.asarray(self.intercept)
        p = 1 / (1 + np.exp(-np.clip(np.atleast_1d(np.asarray(theta, dtype=np.float64))[:, None] * a + d, -35, 35)))
        return np.asarray(a * a * p * (1 - p), dtype=np.float64)

    def abilities(self, scores: npt.ArrayLike) -> Abilities:
        """Posterior modes of the respondents' abilities (normal prior), by Newton's method; SE = 1 / sqrt(information + 1).

        A fixed grid of abilities would be too coarse: thousands of items pin an ability between two of its points.

        Parameters
        ----------
        scores
            (respondents, items): the items of the fit, in order; NaN where an answer was not scored.

        Raises
        ------
        ValueError
            Another number of items.
        """
        if self.status != "ok":
            return Abilities((), (), self.status, self.reason)
        x = np.asarray(scores, dtype=np.float64)
        if x.ndim != 2 or x.shape[1] != len(self.slope):
            raise ValueError(f"scores of the model's {len(self.slope)} items are needed, got shape {x.shape}")
        a, d = np.asarray(self.slope), np.asarray(self.intercept)
        usable = np.isfinite(x) & np.isfinite(a)
        filled = np.where(usable, x, 0.0)
        theta, information = modes(
            filled, usable.astype(np.float64), np.nan_to_num(a), np.nan_to_num(d), np.zeros(len(x))
        )
        known = usable.any(axis=1)
        return Abilities(
            tuple(np.where(known, theta, np.nan).tolist()),
            tuple(np.where(known, 1 / np.sqrt(information), np.nan).tolist()),
        )


def item_response(
    scores: npt.ArrayLike, *, model: Model = "auto", n_eff: float | None = None, gate: bool = True
) -> ItemResponseModel:
    """Fit an item response model if there are respondents enough for it.

    A model with one slope an item needs hundreds of respondents: with 20 the estimated slopes correlate .5 with the true
    ones, with 100 .8, with 400 .9. So nothing is fitted below 30, one slope for all (Rasch) or slopes held by priors from 30
    on, and free slopes from 200 on.

        P(x = 1 | theta) = 1 / (1 + exp(-(a theta + d)))

    Parameters
    ----------
    scores
        (respondents, items), binary; NaN where an answer was not scored.
    model
        `auto`: `rasch` for 30 to 199 respondents, `2pl` from 200 on. `2pl with priors`: log a ~ N(0, 0.5), d ~ N(0, 2).
    n_eff
        The number of independent respondents, where some are relatives; the gates use it.
    gate
        False fits the model however few respondents there are and sets the flag `NOT_IDENTIFIED`.

    Returns
    -------
    ItemResponseModel
        `insufficient` below the gate; `degenerate` when fewer than 3 items vary; `not_applicable` when a score is not 0
        or 1.

    Notes
    -----
    Marginal maximum likelihood (Bock and Aitkin 1981). Abilities are assumed normal; the scale is theirs in this sample.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> theta, b = rng.normal(size=(300, 1)), np.linspace(-1.5, 1.5, 8)
    >>> found = item_response((rng.random((300, 8)) < 1 / (1 + np.exp(-1.5 * (theta - b)))).astype(float))
    >>> found.model, float(np.round(np.corrcoef(found.difficulty, b)[0, 1], 1))
    ('2pl', 1.0)
    >>> item_response(np.zeros((20, 8))).reason
    'rasch needs 30 independent respondents, there are 20'
    """
    x = np.asarray(scores, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(f"scores must have shape (respondents, items), got {x.shape}")
    x = x[np.isfinite(x).any(axis=1)]
    n = len(x)
    size = float(n) if n_eff is None else min(float(n), n_eff)
    if model == "auto":
        model = "2pl" if size >= LEAST["2pl"] else "rasch"

    def absent(status: Status, reason: str) -> ItemResponseModel:
        return ItemResponseModel(model, n=n, status=status, reason=reason)

    if size < LEAST[model] and (gate or n < 3):
        return absent("insufficient", f"{model} needs {LEAST[model]} independent respondents, there are {size:.4g}")
    seen = np.isfinite(x)
    if not np.isin(x[seen], (0, 1)).all():
        return absent("not_applicable", "the item scores are not 0 or 1")
    passed, asked = np.where(seen, x, 0).sum(axis=0), seen.sum(axis=0)
    kept = np.flatnonzero((passed > 0) & (passed < asked))
    if len(kept) < 3:
        return absent("degenerate", f"a scale needs 3 items that vary, there are {len(kept)}")
    if float(np.ptp(np.nanmean(np.where(seen, x, np.nan), axis=1))) <= 1e-12:
        return absent("degenerate", "the respondents do not differ")
    patterns, counts = np.unique(x[:, kept], axis=0, return_counts=True, equal_nan=False)
    found = fit(patterns, counts.astype(np.float64), common_slope=model == "rasch", priors=model == "2pl with priors")
    flags = ["NOT_IDENTIFIED"] if size < LEAST[model] else []
    if model == "2pl with priors" and size < LEAST["2pl"]:
        flags.append("FEW_RESPONDENTS")
    if float(np.abs(found.slope).max()) > 10:
        flags.append("UNBOUNDED")
    if not found.converged:
        flags.append("NOT_CONVERGED")
    if model == "rasch" and found.slope[0] < 1e-3:
        return absent("degenerate", "the items do not measure one thing: the common slope is 0")

    def spread(values: Array) -> tuple[float, ...]:
        whole = np.full(x.shape[1], np.nan)
        whole[kept] = values
        return tuple(whole.tolist())

    left_out = tuple(sorted(set(range(x.shape[1])) - set(kept.tolist())))
    with np.errstate(divide="ignore"):
        difficulty = -found.intercept / found.slope
    return ItemResponseModel(
        model, spread(found.slope), spread(found.intercept), spread(difficulty), spread(found.se_slope),
        spread(found.se_intercept), found.log_likelihood, n, left_out, found.iterations, found.se_method, tuple(flags),
    )  # fmt: skip
