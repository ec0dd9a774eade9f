"""What one stage of a judge decides, yes or no, against people's decisions on the same units:
agreement, precision, recall, F1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array, normal_quantile
from hqm.psychometrics.jackknife import jackknife_interval
from hqm.psychometrics.result import Bounds, Coefficient

_Sums = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageAgreement:
    """A judge's yes and no against people's.

    - `agreement`: the share of units that both decide alike, which papers call accuracy.
    - `precision`: of the units to which the judge says yes, the share to which people do. `recall`:
      of those to which people say yes, the share to which the judge does. `f1`: their harmonic
      mean.
    - `precision_no, recall_no, f1_no`: the same of no.
    - `both, judge_only, people_only, neither`: the (weighted) numbers of units; `n`: how many units
      went in.
    """

    agreement: Coefficient
    precision: Coefficient
    recall: Coefficient
    f1: Coefficient
    precision_no: Coefficient
    recall_no: Coefficient
    f1_no: Coefficient
    both: float
    judge_only: float
    people_only: float
    neither: float
    n: int


def stage_agreement(
    judge: npt.ArrayLike,
    human: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    *,
    level: float = 0.95,
) -> StageAgreement:
    """Agreement, precision, recall and F1 of a judge's decisions, with intervals over pictures.

    Units of one answer, and answers about one picture, are not independent: whole clusters are left
    out. The interval is made on the scale of the logit, with Student's t of as many degrees of
    freedom as there are clusters, less one; at 0 and 1 it is Wilson's with the number of clusters.
    It says what these respondents' answers to other items of the same kind would show.

    - `judge, human`: (units,): 1 for yes, 0 for no, NaN where there is no decision; such units are
      left out.
    - `clusters`: (units,): what the units of a picture have in common; every unit stands alone
      without it.
    - `weights`: (units,): 1 / probability with which the unit's answer was chosen for labelling.

    All are `insufficient` without a unit that both decided; a share of nothing is `degenerate`.

    >>> study = stage_agreement([1, 1, 1, 0, 0, 0, 1, 1], [1, 1, 0, 0, 0, 1, 1, 1], np.arange(8) // 2)
    >>> round(study.agreement.value, 3), round(study.precision.value, 3), round(study.recall.value, 3), round(study.f1_no.value, 3)
    (0.75, 0.8, 0.8, 0.667)
    """
    x, y = (np.asarray(values, dtype=np.float64) for values in (judge, human))
    if x.shape != y.shape or x.ndim != 1:
        raise ValueError(
            f"judge and human must have one shape (units,), got {x.shape} and {y.shape}"
        )
    used = np.isfinite(x) & np.isfinite(y)
    if not np.isin(np.concatenate([x[used], y[used]]), (0, 1)).all():
        raise ValueError("decisions are 0, 1 or NaN")
    w = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=np.float64)
    names = np.arange(len(x)) if clusters is None else np.asarray(clusters)
    if w.shape != x.shape or names.shape != x.shape:
        raise ValueError(f"weights and clusters must have the shape {x.shape}")
    yes, true, w = x[used] == 1, y[used] == 1, w[used]
    cells = {
        "both": yes & true,
        "judge": yes & ~true,
        "human": ~yes & true,
        "neither": ~yes & ~true,
    }
    counts: dict[str, Array] = {name: w * inside for name, inside in cells.items()}
    member = np.unique(names[used], return_inverse=True)[1]

    def of(metric: Callable[[_Sums], Any]) -> Coefficient:
        if not len(w):
            return Coefficient.absent("insufficient", "people and judge decided no unit both")
        return _with_interval(counts, member, metric, level, len(w))

    return StageAgreement(
        agreement=of(lambda s: _share(s["both"] + s["neither"], sum(s[name] for name in cells))),
        precision=of(lambda s: _share(s["both"], s["both"] + s["judge"])),
        recall=of(lambda s: _share(s["both"], s["both"] + s["human"])),
        f1=of(lambda s: _share(2 * s["both"], 2 * s["both"] + s["judge"] + s["human"])),
        precision_no=of(lambda s: _share(s["neither"], s["neither"] + s["human"])),
        recall_no=of(lambda s: _share(s["neither"], s["neither"] + s["judge"])),
        f1_no=of(lambda s: _share(2 * s["neither"], 2 * s["neither"] + s["judge"] + s["human"])),
        both=float(counts["both"].sum()),
        judge_only=float(counts["judge"].sum()),
        people_only=float(counts["human"].sum()),
        neither=float(counts["neither"].sum()),
        n=len(w),
    )


def _share(part: Any, whole: Any) -> Any:
    return np.where(np.asarray(whole) > 1e-12, part / np.maximum(whole, 1e-12), np.nan)


def _with_interval(
    counts: Mapping[str, Array],
    clusters: npt.NDArray[np.int64],
    metric: Callable[[_Sums], Any],
    level: float,
    units: int,
) -> Coefficient:
    """A share with its interval for these respondents over other items."""
    plain = jackknife_interval(counts, clusters, metric, level=level)
    if plain.status != "ok":
        return Coefficient.absent(plain.status, "one of the two decisions never occurs", units)
    value, error = plain.value, (plain.high - plain.low) / 2 / normal_quantile(level)
    if not math.isfinite(error):
        return Coefficient(value, level=level)
    if error > 0 and 0 < value < 1:
        middle, half = math.log(value / (1 - value)), error / (value * (1 - value))
        from scipy.special import expit, stdtrit

        half *= float(stdtrit(int(clusters.max()), (1 + level) / 2))
        ends = Bounds(
            float(expit(middle - half)),
            float(expit(middle + half)),
            "pictures left out, logit, t",
            level,
        )
    else:
        whole = jackknife_interval(counts, clusters, metric, share=True, level=level)
        ends = Bounds(whole.low, whole.high, whole.method, level)
    return Coefficient(value, level=level, fixed=ends, se=error)
