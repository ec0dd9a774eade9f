"""Reliability at another length: Spearman-Brown."""

from __future__ import annotations

import math

from hqm.psychometrics.result import Bounds, Coefficient


def spearman_brown(reliability: float, factor: float) -> float:
    """The reliability of a test `factor` times as long (Spearman 1910, Brown 1910): f r / (1 + (f -
    1) r).

    Added items must be as good as the ones there are. It is NaN where the denominator is not
    positive.

    >>> round(spearman_brown(0.6, 2), 12)
    0.75
    """
    below = 1 + (factor - 1) * reliability
    return factor * reliability / below if below > 0 else math.nan


def standardized_reliability(
    reliability: Coefficient | float, n_items: int, n_standard: int = 1000
) -> Coefficient:
    """A reliability brought to a common number of items, so that benchmarks of different length can
    be compared.

    Long benchmarks repeat better merely because they are long: 4,000 items of the quality of
    MMHal's 96 would reach the test-retest of the best. Compare the items' quality at one length,
    and choose the length afterwards.

        rho_std = f rho / (1 + (f - 1) rho),   f = n_standard / n

    The formula of Spearman and Brown takes all items as equally good; for ratios over a corpus
    (CHAIR) it approximates.

    - `reliability`: A bare number, or a coefficient, whose intervals are carried along.
    - `n_items, n_standard`: The number of items it belongs to, and the common one.

    The status is `insufficient` for a length below 1 and `not_applicable` for a number outside -1
    to 1. A coefficient without a number is handed on as it is.

    >>> round(standardized_reliability(0.9962, 4000, 96).value, 3)
    0.863
    """
    given = reliability if isinstance(reliability, Coefficient) else Coefficient(float(reliability))
    if given.status not in ("ok", "not_informative"):
        return given
    if n_items < 1 or n_standard < 1:
        reason = f"both lengths must be 1 item or more, got {n_items} and {n_standard}"
        return Coefficient.absent("insufficient", reason, given.n)
    factor = n_standard / n_items
    value = spearman_brown(given.value, factor)
    if not -1 <= given.value <= 1 or not math.isfinite(value):
        reason = f"a reliability of {given.value:.4g} has no value at {n_standard} items"
        return Coefficient.absent("not_applicable", reason, given.n)
    low, high = (spearman_brown(end, factor) for end in (given.low, given.high))
    fixed = given.fixed
    if fixed is not None:
        ends = spearman_brown(fixed.low, factor), spearman_brown(fixed.high, factor)
        fixed = Bounds(*ends, f"{fixed.method}, Spearman-Brown", fixed.level)
    method = f"{given.method}, Spearman-Brown to {n_standard} items".removeprefix(", ")
    return Coefficient(
        value,
        low,
        high,
        given.n,
        given.level,
        method,
        given.status,
        given.reason,
        fixed,
        flags=given.flags,
    )


def items_needed(reliability: Coefficient | float, n_items: int, target: float) -> Coefficient:
    """How many items of the same quality a target reliability takes.

        n' = n t (1 - rho) / (rho (1 - t))

    - `reliability`: A coefficient or a bare number; its upper bound gives the lower bound of the
      length.
    - `n_items`: The number of items it belongs to.
    - `target`: The reliability wanted, between 0 and 1.

    A number of items, not rounded. The status is `not_applicable` for a target outside 0 to 1;
    `degenerate` for a reliability of 0 or less (no length helps). The upper bound is infinite when
    the reliability's lower bound is 0 or less.

    From .80 with 100 items to .90:

    >>> round(items_needed(0.8, 100, 0.9).value, 6)
    225.0
    """
    given = reliability if isinstance(reliability, Coefficient) else Coefficient(float(reliability))
    if given.status not in ("ok", "not_informative"):
        return given
    if not 0 < target < 1:
        return Coefficient.absent(
            "not_applicable", f"a target between 0 and 1 is needed, got {target:.4g}", given.n
        )
    if n_items < 1:
        return Coefficient.absent(
            "insufficient", f"the length must be 1 item or more, got {n_items}", given.n
        )
    if not 0 < given.value <= 1:
        reason = f"with a reliability of {given.value:.4g} no number of items reaches {target:.4g}"
        return Coefficient.absent("degenerate", reason, given.n)

    def length(rho: float) -> float:
        if math.isnan(rho):
            return math.nan
        return n_items * target * (1 - rho) / (rho * (1 - target)) if rho > 0 else math.inf

    return Coefficient(
        length(given.value),
        length(given.high),
        length(given.low),
        given.n,
        given.level,
        given.method,
        given.status,
        given.reason,
    )
