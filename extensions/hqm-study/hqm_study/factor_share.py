"""What one factor explains of the scores on several benchmarks, also without the models' dates."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hqm.auditing.audit import BenchmarkAudit
from hqm.errors import DataError, DesignError
from hqm.psychometrics import Array, ArrayLike, stream
from hqm.psychometrics.result import is_constant

MIN_BENCHMARKS, MIN_MODELS = 8, 30
_N_REPLICATES = 400
_BY_CHANCE = "That is no more than chance: no common factor is shown."


@dataclass(frozen=True, slots=True)
class FactorShare:
    """The share of the variance of scores that one factor explains.

    Parameters
    ----------
    share
        The largest eigenvalue of the correlations, divided by the number of benchmarks.
    low, high
        Its 95 % interval over other models of the same families' kind.
    chance
        What one factor explains in 95 % of scores whose benchmarks are unrelated.
    loadings
        The correlation of each benchmark with the factor.
    """

    share: float
    low: float
    high: float
    chance: float
    loadings: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class OneFactor:
    """What one factor explains of several benchmarks.

    Parameters
    ----------
    benchmarks, n_models
        The benchmarks, and how many models have a score on all of them.
    raw
        Of the scores.
    undated
        Of the scores without their linear trend over release dates; None without dates.
    date_share
        The share of the factor's variance that release dates explain; None without dates.
    """

    benchmarks: tuple[str, ...]
    n_models: int
    raw: FactorShare
    undated: FactorShare | None = None
    date_share: float | None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is found, a number each."""
        lines = [
            f"{self.n_models} models have a score on all {len(self.benchmarks)} benchmarks.",
            f"One factor explains {_percent(self.raw)} of the variance of their scores.",
            f"Of unrelated benchmarks it would explain up to {self.raw.chance:.0%}.",
        ]
        if self.raw.share <= self.raw.chance:
            lines.append(_BY_CHANCE)
        if self.undated is not None and self.date_share is not None:
            lines += [
                f"Release dates explain {self.date_share:.0%} of that factor.",
                f"With the dates taken out, one factor explains {_percent(self.undated)}.",
            ]
            if self.undated.share <= self.undated.chance:
                lines.append(_BY_CHANCE)
        return tuple(lines)


def _percent(share: FactorShare) -> str:
    return f"{share.share:.0%} [{share.low:.0%}, {share.high:.0%}]"


def one_factor(
    scores: ArrayLike,
    benchmarks: Sequence[str],
    *,
    dates: ArrayLike | None = None,
    families: Sequence[str] = (),
    seed: int = 0,
) -> OneFactor:
    """Estimate what one factor explains of the scores of models on several benchmarks.

    Parameters
    ----------
    scores : array_like, shape (models, benchmarks)
        NaN where a model has no score; such models are left out.
    benchmarks
        Their names.
    dates : array_like, shape (models,), optional
        Release dates in days, or any other unit; a model without one (NaN) is left out.
    families
        Labels of relatives, which are resampled together; every model is its own unless given.
    seed
        Of the bootstrap and the permutations.

    Returns
    -------
    OneFactor
        The share that one factor explains, before and after dates are taken out.

    Raises
    ------
    DesignError
        Fewer than eight benchmarks or thirty models: so few correlations show no factor.

    Notes
    -----
    The factor is the first principal component, which has no improper solution on few models, as
    factors fitted by minimum residuals have (loadings above 1). The interval resamples families of
    models (percentiles of 400 replicates). Chance permutes each benchmark's scores over models, as
    in parallel analysis (Horn 1965, Psychometrika 30).

    Simulated (`python extensions/hqm-study/tests/test_factor_share.py 150`) with 40 models and nine
    benchmarks of binomial scores on a logit scale: a factor is shown in .07 of unrelated
    benchmarks, in 1.00 where dates alone relate them, and then in .08 once dates are taken out; in
    1.00 with an ability that all share (sd .5 against .5 of each benchmark's own). Intervals hold
    the truth in .94 to .97 where there is a factor; the share of unrelated benchmarks is
    overestimated, so that it is to be read beside chance.
    """
    x = np.asarray(scores, dtype=np.float64)
    days = None if dates is None else np.asarray(dates, dtype=np.float64)
    complete = np.isfinite(x).all(axis=1)
    if days is not None:
        complete &= np.isfinite(days)
    x = x[complete]
    n_models = int(complete.sum())
    if x.shape[1] < MIN_BENCHMARKS or n_models < MIN_MODELS:
        raise DesignError(
            f"too few for a factor: benchmarks {x.shape[1]}, models with a score on each"
            f"{' and a date' if days is not None else ''} {n_models}",
            remedy=f"Give {MIN_BENCHMARKS} benchmarks and {MIN_MODELS} models or more.",
        )
    constant = [name for name, column in zip(benchmarks, x.T, strict=True) if is_constant(column)]
    if constant:
        raise DesignError(
            f"all models have the same score on {constant[0]}", remedy="Leave it out."
        )
    labels: npt.NDArray[Any] = (
        np.array(families)[complete] if len(families) else np.arange(n_models)
    )
    raw = _factor_share(x, labels, seed)
    if days is None:
        return OneFactor(tuple(benchmarks), n_models, raw)
    trend = np.column_stack([np.ones(n_models), days[complete]])
    residuals = x - trend @ np.linalg.lstsq(trend, x, rcond=None)[0]
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    date_share = float(np.corrcoef(z @ np.array(raw.loadings), days[complete])[0, 1] ** 2)
    return OneFactor(
        tuple(benchmarks), n_models, raw, _factor_share(residuals, labels, seed), date_share
    )


def _factor_share(x: Array, labels: npt.NDArray[Any], seed: int) -> FactorShare:
    """Return the share of one factor, with its interval and that of chance."""
    eigenvalues, vectors = np.linalg.eigh(np.corrcoef(x.T))
    loadings = vectors[:, -1] * math.sqrt(eigenvalues[-1]) * np.sign(vectors[:, -1].sum())
    generator = stream(seed, "one_factor")
    names, members = np.unique(labels, return_inverse=True)
    rows_of = [np.flatnonzero(members == index) for index in range(len(names))]
    replicates: list[Array] = []
    permuted: list[Array] = []
    while len(replicates) < _N_REPLICATES:
        drawn = generator.integers(len(names), size=len(names))
        rows = np.concatenate([rows_of[index] for index in drawn])
        if (x[rows].std(axis=0) > 0).all():
            replicates.append(np.corrcoef(x[rows].T))
        permuted.append(np.corrcoef(generator.permuted(x, axis=0).T))
    low, high = np.quantile(_shares(np.array(replicates)), [0.025, 0.975])
    chance = float(np.quantile(_shares(np.array(permuted)), 0.95))
    share = float(eigenvalues[-1] / x.shape[1])
    return FactorShare(share, float(low), float(high), chance, tuple(map(float, loadings)))


def _shares(correlations: Array) -> Array:
    return np.asarray(np.linalg.eigvalsh(correlations)[:, -1] / correlations.shape[-1])


def one_factor_of_audits(
    audits: Sequence[BenchmarkAudit], dates: Path | None = None, seed: int = 0
) -> OneFactor:
    """Estimate what one factor explains of the leading scores of audits of several benchmarks.

    Parameters
    ----------
    audits
        An audit of each benchmark.
    dates
        A CSV file of `model` and `date` (2026-11-28).

    Raises
    ------
    DesignError
        As `one_factor`.
    DataError
        A date is none.
    """
    names = list(dict.fromkeys(row.name for audit in audits for row in audit.respondents))
    scores = np.full((len(names), len(audits)), math.nan)
    for column, audit in enumerate(audits):
        metric = next(iter(audit.metrics), "")
        for row in audit.respondents:
            value = row.scores.get(metric)
            scores[names.index(row.name), column] = math.nan if value is None else value
    family_of = {name: family for audit in audits for name, family in audit.families.items()}
    families = [family_of.get(name, name) for name in names]
    days = None
    if dates is not None:
        read = read_dates(dates)
        days = np.array([read.get(name, math.nan) for name in names])
    titles = [audit.benchmark for audit in audits]
    return one_factor(scores, titles, dates=days, families=families, seed=seed)


def read_dates(path: Path) -> dict[str, float]:
    """Return the release date of each model, in days.

    Raises
    ------
    DataError
        The file has no column `model` or `date`, or a date is none.
    """
    days: dict[str, float] = {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        for number, row in enumerate(csv.DictReader(file), 2):
            try:
                days[row["model"]] = float(date.fromisoformat(row["date"].strip()).toordinal())
            except (KeyError, ValueError) as error:
                raise DataError(
                    f"it has no model and date of the kind 2026-11-28: {error}",
                    location=f"{path}:{number}",
                    remedy="Give a CSV file with the columns model and date.",
                ) from None
    return days
