"""A benchmark's scored answers as the tables that items are chosen from, and what was chosen as
calibrations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hqm.benchmark.interface import Benchmark
from hqm.benchmark.shortened import Calibration, FormLoss
from hqm.decisions.choosing import METHODS, Array, Numbers
from hqm.decisions.held_out import Measure
from hqm.decisions.shortening import Shortening, shorten_answers
from hqm.errors import DesignError
from hqm.scoring.matrix import ScoreMatrix, Sums
from hqm.scoring.metrics import Metric
from hqm.types import Item, finite

FORM_NAMES = ("a", "b")
"""What the short forms are called."""


@dataclass(frozen=True, slots=True)
class Source:
    """Which audit items are chosen by: its content hash, and the signature of one of its
    estimates.
    """

    audit: str = ""
    signature: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shortened:
    """Short forms of a benchmark.

    Parameters
    ----------
    benchmark
        The full benchmark's name and version.
    shortening
        How the items were chosen, and what is lost on held-out families.
    forms
        The items of each form; the k-th items of two forms belong together.
    calibrations
        Each form's weights and losses, as its folder holds them.
    metrics
        The metrics that were calibrated, the leading one first.
    folder
        Where the forms were written; None where they were not. The second form lies in `b` below
        it.
    without_pictures
        How many pictures could not be copied because they are not there.
    """

    benchmark: str
    shortening: Shortening
    forms: tuple[tuple[Item, ...], ...]
    calibrations: tuple[Calibration, ...]
    metrics: tuple[str, ...]
    folder: Path | None = None
    without_pictures: int = 0

    @property
    def loss(self) -> FormLoss:
        """What the first form loses of the leading metric."""
        return self.calibrations[0].loss[self.metrics[0]]


def shorten_matrix(
    benchmark: Benchmark,
    matrix: ScoreMatrix,
    families: Sequence[str],
    metrics: Sequence[Metric],
    items: str | float = "10%",
    *,
    forms: int = 1,
    seed: int = 0,
    source: Source | None = None,
    methods: Sequence[str] = tuple(METHODS),
) -> Shortened:
    """Choose short forms of a benchmark from the scored answers of one administration.

    Raises
    ------
    DesignError
        No metric is a function of sums over single items, or `shorten_answers` refuses.
    """
    usable = [metric for metric in metrics if not metric.group]
    if not usable:
        what = (
            f"{', '.join(metric.name for metric in metrics)} counts groups of items as right or"
            " wrong, and a short form cuts groups"
        )
        known = [metric.name for metric in benchmark.metrics if not metric.group]
        raise DesignError(
            what, remedy=f"Audit it by another metric: --metric {known[0]}." if known else ""
        )
    chosen = shorten_answers(
        matrix.values,
        items,
        families=families,
        types=[item.type or "" for item in matrix.items],
        pictures=[item.cluster or item.id for item in matrix.items],
        strata=[_stratum(item) for item in matrix.items],
        respondents=matrix.respondents,
        measures=[measure_of(matrix, metric) for metric in usable],
        forms=forms,
        seed=seed,
        methods=methods,
    )
    order = np.argsort(chosen.forms[0].items).astype(np.int64)
    picked = tuple(tuple(matrix.items[int(i)] for i in form.items[order]) for form in chosen.forms)
    calibrations = tuple(
        _calibration(benchmark, matrix, chosen, k, order, source or Source()) for k in range(forms)
    )
    names = tuple(metric.name for metric in usable)
    return Shortened(
        benchmark=benchmark.label,
        shortening=chosen,
        forms=picked,
        calibrations=calibrations,
        metrics=names,
    )


def _stratum(item: Item) -> str:
    """What a form keeps the share of within a type: the part, and the right answer of a yes/no
    question.
    """
    return f"{item.part}|{item.target}" if item.task == "yes_no" else item.part


def measure_of(matrix: ScoreMatrix, metric: Metric) -> Measure:
    """A metric as a statistic of tallies; answers to items that it does not look at count for
    nothing.
    """
    inside = matrix.mask(metric)

    def statistic(sums: Mapping[str, Array]) -> Any:
        return metric(Sums(sums, *np.shape(next(iter(sums.values()), 0.0))))

    return Measure(
        metric.name, statistic, {key: values * inside for key, values in matrix.tallies.items()}
    )


def _calibration(
    benchmark: Benchmark,
    matrix: ScoreMatrix,
    chosen: Shortening,
    k: int,
    order: Numbers,
    source: Source,
) -> Calibration:
    form, held = chosen.forms[k], chosen.held_out
    parallel = {
        name: {
            "reliability": finite(each.reliability),
            "mean_shift": finite(each.mean_shift),
            "respondents": each.respondents,
        }
        for name, each in held.parallel.items()
    }
    return Calibration(
        of=benchmark.name,
        version=benchmark.card.version,
        of_items=chosen.of_items,
        form=FORM_NAMES[k],
        audit=source.audit,
        answers=matrix.answers,
        signature=source.signature,
        method=chosen.method,
        words=METHODS[chosen.method].words,
        errors=dict(chosen.errors),
        respondents=chosen.respondents,
        families=chosen.families,
        seed=chosen.seed,
        ids=tuple(matrix.items[int(i)].id for i in form.items[order]),
        weights=form.weights[order],
        auxiliary=form.auxiliary[order],
        loss={name: _written(losses[k]) for name, losses in held.loss.items()},
        parallel=parallel,
    )


def _written(loss: Any) -> FormLoss:
    known = {name: getattr(loss, name) for name in FormLoss.__slots__}
    if any(not math.isfinite(value) for name, value in known.items() if name != "tau"):
        what = (
            "the error on held-out families cannot be measured: too few of their answers to the"
            " items are scored"
        )
        raise DesignError(
            what, remedy="Audit respondents whose answers can be scored, or ask for more items."
        )
    return FormLoss(**{**known, "tau": finite(loss.tau)})
