"""Signal detection: sensitivity apart from the criterion for saying yes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hqm.psychometrics.arrays import normal_quantile
from hqm.psychometrics.result import Bounds, Coefficient, Status


@dataclass(frozen=True, slots=True)
class SignalDetection:
    """Sensitivity and criterion of one respondent on one form.

    - `hit_rate, false_alarm_rate`: Share of yes among items whose truth is yes, and among the
      others, as used for `d_prime`.
    - `d_prime`: Sensitivity, with a normal interval over items where counts are known.
    - `criterion`: c: below 0 a lean towards yes, above 0 towards no.
    - `balanced_accuracy`: Mean of the shares right among true yes and true no (uncorrected); .5 is
      chance whatever the lean. The intervals are over items (`fixed`) and `n` counts items.
    - `status, reason`: `ok`, or why there are no numbers, in a sentence.
    """

    hit_rate: float
    false_alarm_rate: float
    d_prime: Coefficient
    criterion: Coefficient
    balanced_accuracy: Coefficient
    status: Status = "ok"
    reason: str = ""


def signal_detection(
    hits: float,
    misses: float,
    false_alarms: float,
    correct_rejections: float,
    *,
    level: float = 0.95,
) -> SignalDetection:
    """Sensitivity d' and criterion c from the four counts of yes/no answers.

    Accuracy mixes what a respondent can tell apart with how readily it says yes. Under the
    equal-variance normal model d' is the first alone and c the second. Half an answer is added to
    every cell (log-linear rule), so that rates of 0 and 1 have a finite place. Not valid when items
    are not independent (several about a picture): the interval is then too narrow.

        H = (hits + .5) / (n_yes + 1),  F = (false alarms + .5) / (n_no + 1)
        d' = z(H) - z(F),  c = -(z(H) + z(F)) / 2
        Var d' = H(1 - H) / ((n_yes + 1) phi(z(H))^2) + the same of F

    Green, D. M. and Swets, J. A. (1966). Signal Detection Theory and Psychophysics. Wiley. Hautus,
    M. J. (1995). Behavior Research Methods, 27, 46-51 (log-linear rule). Gourevitch, V. and
    Galanter, E. (1967). Psychometrika, 32, 25-33 (variance).

    - `hits, misses`: Items whose truth is yes: answered yes, answered otherwise.
    - `false_alarms, correct_rejections`: Items whose truth is no: answered yes, answered otherwise.

    The status is `insufficient` when one of the truths has no items, `not_applicable` for negative
    or missing counts.

    >>> result = signal_detection(20, 5, 10, 15)
    >>> round(result.d_prime.value, 4), round(result.criterion.value, 4), round(result.balanced_accuracy.value, 4)
    (1.0445, -0.2788, 0.7)
    """
    counts = (hits, misses, false_alarms, correct_rejections)
    if not all(math.isfinite(c) and c >= 0 for c in counts):
        return _absent("not_applicable", "the four counts must be numbers of 0 or more")
    yes, no = hits + misses, false_alarms + correct_rejections
    if yes == 0 or no == 0:
        return _absent(
            "insufficient", f"items of both truths are needed, there are {yes:g} yes and {no:g} no"
        )
    from scipy.special import ndtri

    h, f = (hits + 0.5) / (yes + 1), (false_alarms + 0.5) / (no + 1)
    zh, zf = float(ndtri(h)), float(ndtri(f))
    variance = _variance(h, zh, yes + 1) + _variance(f, zf, no + 1)
    z = normal_quantile(level)
    n = int(yes + no)

    def normal(value: float, error: float) -> Coefficient:
        ends = Bounds(value - z * error, value + z * error, "delta method", level)
        return Coefficient(value, n=n, level=level, fixed=ends, se=error)

    sensitivity, specificity = hits / yes, correct_rejections / no
    # the corrected rates keep the error above 0 where every answer is right
    error = math.sqrt(h * (1 - h) / yes + f * (1 - f) / no) / 2
    balanced = (sensitivity + specificity) / 2
    ends = Bounds(max(0.0, balanced - z * error), min(1.0, balanced + z * error), "normal", level)
    return SignalDetection(
        h,
        f,
        normal(zh - zf, math.sqrt(variance)),
        normal(-(zh + zf) / 2, math.sqrt(variance) / 2),
        Coefficient(balanced, n=n, level=level, fixed=ends, se=error),
    )


def signal_detection_from_rates(
    accuracy: float, yes: float, base: float, n_items: float | None = None, *, level: float = 0.95
) -> SignalDetection:
    """Sensitivity and criterion from what papers print: accuracy, yes rate and share of true yes.

    The three rates fix the four cells of the table, so a published accuracy can be taken apart into
    sensitivity and lean without the answers.

        TP = (accuracy + yes - (1 - base)) / 2,  FP = yes - TP,  H = TP / base,  F = FP / (1 - base)

    - `accuracy, yes, base`: Between 0 and 1: share right, share of yes, share of items whose truth
      is yes. Unparsed answers would have to count as no.
    - `n_items`: With it the counts are rebuilt and corrected (log-linear), with intervals; without
      it rates of 0 and 1 have no d'.

    The status is `not_applicable` when the rates contradict each other by more than rounding to
    three digits allows or all items have one truth; `degenerate` when H or F is 0 or 1 and the
    number of items is not known.

    MiniGPT4-LLaMA-2 on POPE (arXiv 2406.17115, Table 2) says yes to 74 % of what is not there:

    >>> result = signal_detection_from_rates(0.461, 0.783, 0.333)
    >>> round(result.hit_rate, 3), round(result.false_alarm_rate, 3), round(result.d_prime.value, 3)
    (0.866, 0.741, 0.462)
    """
    rates = (accuracy, yes, base)
    if not all(math.isfinite(r) and 0 <= r <= 1 for r in rates) or not 0 < base < 1:
        return _absent(
            "not_applicable",
            "accuracy, yes rate and a base rate strictly between 0 and 1 are needed",
        )
    true_yes = (accuracy + yes - (1 - base)) / 2
    hit, alarm = true_yes / base, (yes - true_yes) / (1 - base)
    # three rates rounded to .001 can miss a cell of 0 by .00075
    slack = 0.001 / min(base, 1 - base)
    if not (-slack <= hit <= 1 + slack and -slack <= alarm <= 1 + slack):
        reason = f"accuracy {accuracy:.4g}, yes {yes:.4g} and base {base:.4g} contradict each other"
        return _absent("not_applicable", reason)
    hit, alarm = min(max(hit, 0.0), 1.0), min(max(alarm, 0.0), 1.0)
    if n_items is not None:
        n_yes, n_no = base * n_items, (1 - base) * n_items
        return signal_detection(
            hit * n_yes, (1 - hit) * n_yes, alarm * n_no, (1 - alarm) * n_no, level=level
        )
    balanced = Coefficient((hit + 1 - alarm) / 2)
    if hit in (0.0, 1.0) or alarm in (0.0, 1.0):
        reason = "a rate of 0 or 1 has an infinite d'; give the number of items for a corrected one"
        none = Coefficient.absent("degenerate", reason)
        return SignalDetection(hit, alarm, none, none, balanced, "degenerate", reason)
    from scipy.special import ndtri

    zh, zf = float(ndtri(hit)), float(ndtri(alarm))
    return SignalDetection(hit, alarm, Coefficient(zh - zf), Coefficient(-(zh + zf) / 2), balanced)


def _variance(rate: float, z: float, n: float) -> float:
    return rate * (1 - rate) / (n * (math.exp(-z * z / 2) / math.sqrt(2 * math.pi)) ** 2)


def _absent(status: Status, reason: str) -> SignalDetection:
    none = Coefficient.absent(status, reason)
    return SignalDetection(math.nan, math.nan, none, none, none, status, reason)
