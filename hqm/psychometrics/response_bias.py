"""A lean towards yes or no, towards a place in a list of options, and towards long answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from hqm.psychometrics.agreement import icc
from hqm.psychometrics.correlation import paired, pearson
from hqm.psychometrics.families import Relatives
from hqm.psychometrics.resampling import cluster_sums, labels_of, mean_with_error
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Coefficient,
    Outcome,
    Status,
    ratio,
    shaped,
    shaped_alike,
)
from hqm.psychometrics.significance import SignificanceTest, chi_square_test


@dataclass(frozen=True, slots=True)
class ResponseBias:
    """A bias of every respondent with its mean and spread.

    - `respondents`: One coefficient a respondent; the interval is over items (`fixed`) where items
      were given.
    - `mean`: Over respondents, with Student's interval; its `status` speaks for the whole.
    - `deviation`: Standard deviation over respondents; NaN below 2.
    """

    respondents: tuple[Coefficient, ...]
    mean: Coefficient
    deviation: float = math.nan


def acquiescence(
    yes_first: ArrayLike,
    yes_second: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    level: float = 0.95,
) -> ResponseBias:
    """How far the share of yes over two opposite forms lies above or below one half: (yes_A +
    yes_B) / 2 - 1/2.

    A respondent who attends to the question says yes to exactly one of a question and its opposite.
    What is left over is a habit of saying yes (above 0) or no. It is invalid where the second
    form's truths are not the opposite ones.

    - `yes_first, yes_second`: (respondents,) yes rates, or (respondents, items) answers: 1 yes, 0
      no, NaN neither.
    - `clusters`: (items,): labels of what items share. Intervals of single respondents exist only
      for answers.
    The status is `insufficient` without a respondent on both forms, `not_applicable` for a rate
    outside 0 to 1.
    >>> [round(c.value, 4) for c in acquiescence([0.783, 0.251], [0.706, 0.217]).respondents]
    [0.2445, -0.266]
    """
    a, b = np.asarray(yes_first, dtype=np.float64), np.asarray(yes_second, dtype=np.float64)
    if a.shape != b.shape or a.ndim not in (1, 2):
        raise ValueError(
            f"two vectors of rates or two matrices of answers are needed, got {a.shape} and"
            f" {b.shape}"
        )
    return _bias((a + b) / 2 - 0.5, (a, b), clusters, level)


def _bias(
    values: Array, sources: tuple[Array, Array], clusters: ArrayLike | None, level: float
) -> ResponseBias:
    known = np.concatenate([np.ravel(s) for s in sources])
    known = known[np.isfinite(known)]
    if (known < 0).any() or (known > 1).any():
        none = Coefficient.absent("not_applicable", "a rate of yes is outside 0 to 1")
        return ResponseBias((), none)
    if values.ndim == 1:
        each = tuple(
            (
                Coefficient(float(v), n=1)
                if math.isfinite(v)
                else Coefficient.absent("insufficient", "no rate of yes")
            )
            for v in values
        )
        means = values
    else:
        means, error = _clustered(values, clusters)
        each = tuple(
            _normal(float(m), float(e), level, "no answered item")
            for m, e in zip(means, error, strict=True)
        )
    return ResponseBias(each, *_over_respondents(means, level))


def _clustered(values: Array, clusters: ArrayLike | None) -> tuple[Array, Array]:
    labels = labels_of(clusters, values.shape[1])
    scored = np.isfinite(values)
    if not scored.any():
        none = np.full(len(values), np.nan)
        return none, none
    return mean_with_error(*cluster_sums(np.where(scored, values, 0.0), scored, labels))


def _normal(value: float, error: float, level: float, reason: str) -> Coefficient:
    if not math.isfinite(value):
        return Coefficient.absent("insufficient", reason)
    return Coefficient.over_items(value, error, level, "cluster normal", n=1)


def _over_respondents(values: Array, level: float) -> tuple[Coefficient, float]:
    known = values[np.isfinite(values)]
    n = len(known)
    if n == 0:
        return Coefficient.absent("insufficient", "no respondent has answers"), math.nan
    mean = float(known.mean())
    if n < 2:
        return Coefficient(mean, n=n, level=level), math.nan
    deviation = float(known.std(ddof=1))
    half = float(stdtrit(n - 1, 0.5 + level / 2)) * deviation / math.sqrt(n)
    return Coefficient(mean, mean - half, mean + half, n, level, "t"), deviation


@dataclass(frozen=True, slots=True)
class PairCoherence:
    """How often a respondent answers the two opposite forms of an item coherently.

    `coherent`, `chance` and `corrected` have one entry a respondent: the share of pairs with
    exactly one yes (interval over items in `fixed`), what a respondent who ignores the question
    would reach at the same rates of yes, and the share beyond chance, (coherent - chance) / (1 -
    chance), NaN where chance is 1.
    """

    coherent: tuple[Coefficient, ...]
    chance: tuple[float, ...]
    corrected: tuple[float, ...]
    mean: Coefficient


def pair_coherence(
    yes_first: ArrayLike,
    yes_second: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    level: float = 0.95,
) -> PairCoherence:
    """The share of item pairs answered without contradiction: yes to exactly one of an item and its
    opposite.

    A contradiction needs no truth to be seen as one. Scores on one form can be high by luck of the
    base rate; coherence cannot. Saying yes at random with rate y is coherent with 2 y (1 - y), at
    most one half.

        coherent = mean(yes_A != yes_B),   chance = y_A (1 - y_B) + (1 - y_A) y_B

    - `yes_first, yes_second`: (respondents, items): 1 for yes, 0 for no, NaN for neither (the pair
      is left out).
    - `clusters`: (items,): labels of what items share.

    `mean` is `insufficient` without any pair, `not_applicable` when an answer is not 0 or 1.

    >>> result = pair_coherence([[1, 1, 0, 1]], [[0, 0, 1, 1]])
    >>> result.coherent[0].value, result.chance[0]
    (0.75, 0.5)
    """
    a, b = shaped_alike(yes_first, yes_second, "respondents, items")
    both = np.isfinite(a) & np.isfinite(b)
    if not np.isin(np.concatenate([a[both], b[both]]), (0.0, 1.0)).all():
        return PairCoherence(
            (), (), (), Coefficient.absent("not_applicable", "an answer is not 0 or 1")
        )
    mean, error = _clustered(np.where(both, a != b, np.nan), clusters)
    n = both.sum(axis=1)
    rates = [ratio(np.where(both, x, 0).sum(axis=1), n) for x in (a, b)]
    chance = rates[0] * (1 - rates[1]) + (1 - rates[0]) * rates[1]
    corrected = ratio(mean - chance, 1 - chance)
    return PairCoherence(
        tuple(
            _normal(float(m), float(e), level, "no pair is answered")
            for m, e in zip(mean, error, strict=True)
        ),
        tuple(chance.tolist()),
        tuple(corrected.tolist()),
        _over_respondents(mean, level)[0],
    )


@dataclass(frozen=True, slots=True)
class BalancedScore:
    """The mean of two opposite forms: a score in which a lean towards yes cancels.

    `scores` has one entry a respondent (NaN without both forms); `reliability` is that of the mean
    for absolute values, ICC(A,2), with the single form's ICC(A,1) stepped up.
    """

    scores: tuple[float, ...]
    reliability: Coefficient


def balanced_score(
    first: ArrayLike,
    second: ArrayLike,
    *,
    n_effective: float | None = None,
    families: Sequence[str] = (),
    level: float = 0.95,
) -> BalancedScore:
    """The mean score over two opposite forms, in which a habit of saying yes cancels, and its
    reliability.

        score = (S_A + S_B) / 2,   reliability = ICC(A,2)

    A respondent who always says yes gets one half. The reliability is that of `icc`, and
    `insufficient` or `degenerate` with it.

    - `first, second`: (respondents,): scores on each form.

    >>> [round(s, 4) for s in balanced_score([0.461, 0.595, 0.622, 0.761],
    ...     [0.538, 0.438, 0.398, 0.440]).scores]
    [0.4995, 0.5165, 0.51, 0.6005]
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    x, y = paired(a, b)
    scores = tuple(((a + b) / 2).tolist())
    relatives = Relatives.of_pairs(a, b, families, n_effective)
    forms = icc(
        np.stack([x, y], axis=1),
        n_effective=n_effective,
        families=relatives.families,
        level=level,
    )
    return BalancedScore(scores, forms.ak)


@dataclass(frozen=True, slots=True)
class SignalDetection(Outcome):
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
    >>> round(result.d_prime.value, 4), round(result.criterion.value,
    ...     4), round(result.balanced_accuracy.value, 4)
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
    h, f = (hits + 0.5) / (yes + 1), (false_alarms + 0.5) / (no + 1)
    zh, zf = float(ndtri(h)), float(ndtri(f))
    variance = _variance(h, zh, yes + 1) + _variance(f, zf, no + 1)
    n = int(yes + no)
    sensitivity, specificity = hits / yes, correct_rejections / no
    # the corrected rates keep the error above 0 where every answer is right
    error = math.sqrt(h * (1 - h) / yes + f * (1 - f) / no) / 2
    made = Coefficient.over_items
    return SignalDetection(
        h,
        f,
        made(zh - zf, math.sqrt(variance), level, "delta method", n=n),
        made(-(zh + zf) / 2, math.sqrt(variance) / 2, level, "delta method", n=n),
        made((sensitivity + specificity) / 2, error, level, "normal", n=n, least=0.0, most=1.0),
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
    if max(abs(hit - 0.5), abs(alarm - 0.5)) > 0.5 + slack:
        return _absent(
            "not_applicable",
            f"accuracy {accuracy:.4g}, yes {yes:.4g} and base {base:.4g} contradict each other",
        )
    hit, alarm = np.clip([hit, alarm], 0.0, 1.0).tolist()
    if n_items is not None:
        n_yes, n_no = base * n_items, (1 - base) * n_items
        return signal_detection(
            hit * n_yes, (1 - hit) * n_yes, alarm * n_no, (1 - alarm) * n_no, level=level
        )
    balanced = Coefficient((hit + 1 - alarm) / 2)
    if min(hit, 1 - hit, alarm, 1 - alarm) <= 1e-12:
        reason = "a rate of 0 or 1 has an infinite d'; give the number of items for a corrected one"
        none = Coefficient.absent("degenerate", reason)
        return SignalDetection(hit, alarm, none, none, balanced, status="degenerate", reason=reason)
    zh, zf = float(ndtri(hit)), float(ndtri(alarm))
    return SignalDetection(hit, alarm, Coefficient(zh - zf), Coefficient(-(zh + zf) / 2), balanced)


def _variance(rate: float, z: float, n: float) -> float:
    return rate * (1 - rate) / (n * (math.exp(-z * z / 2) / math.sqrt(2 * math.pi)) ** 2)


def _absent(status: Status, reason: str) -> SignalDetection:
    none = Coefficient.absent(status, reason)
    return SignalDetection(math.nan, math.nan, none, none, none, status=status, reason=reason)


@dataclass(frozen=True, slots=True)
class PositionBias:
    """How unevenly one respondent chooses among positions.

    - `shares`: Share of choices that fell on each position.
    - `test`: Chi-square of equal shares (or of the expected ones); its `status` speaks for the
      whole.
    - `cramer_v`: Effect size: 0 for equal shares, 1 when one position takes all.
    """

    test: SignificanceTest
    shares: tuple[float, ...] = ()
    cramer_v: float = math.nan


def position_bias(counts: ArrayLike, expected: ArrayLike | None = None) -> PositionBias:
    """Whether a respondent prefers a position among the options of multiple-choice items.

    When right options are spread evenly over the positions, choices should be too. A preference
    shows as accuracy that depends on where the right option stands; shuffling the options is the
    parallel form that cancels it.

        chi2 = sum (n_p - e_p)^2 / e_p,  df P - 1,   V = sqrt(chi2 / (n (1 / min share - 1)))

    Pearson, K. (1900). Philosophical Magazine, 50, 157-175. Items must be independent. With equal
    shares V is the usual sqrt(chi2 / (n (P - 1))).

    - `counts`: (positions,): how often each position was chosen.
    - `expected`: (positions,): shares expected without a preference (the shares of right options);
      equal by default.

    The status is `insufficient` for fewer than 2 positions or fewer than 5 expected choices on one
    of them, `not_applicable` for negative counts or shares that are not positive.

    >>> result = position_bias([40, 20, 20, 20])
    >>> result.test.statistic, result.test.df, round(result.cramer_v, 4)
    (12.0, 3, 0.2)
    """
    n = shaped(counts, "positions", "counts")
    even = np.ones(len(n)) / len(n)
    p = even if expected is None else np.asarray(expected, dtype=np.float64)
    if p.shape != n.shape:
        raise ValueError(f"expected must have shape {n.shape}, got {p.shape}")
    if len(n) < 2:
        return PositionBias(
            SignificanceTest.absent(
                "insufficient", f"a preference needs 2 positions, there are {len(n)}"
            )
        )
    if not (np.isfinite(n).all() and (n >= 0).all() and np.isfinite(p).all() and (p > 0).all()):
        return PositionBias(
            SignificanceTest.absent(
                "not_applicable", "counts must be 0 or more and expected shares above 0"
            )
        )
    p, total = p / p.sum(), float(n.sum())
    shares = tuple((n / total).tolist()) if total else ()
    if total * float(p.min()) < 5:
        reason = (
            f"chi-square needs 5 expected choices of every position, {total:g} choices give"
            f" {total * p.min():.3g}"
        )
        return PositionBias(SignificanceTest.absent("insufficient", reason, n=int(total)), shares)
    chi2 = float(((n - total * p) ** 2 / (total * p)).sum())
    return PositionBias(
        chi_square_test(chi2, len(n) - 1, int(total)),
        shares,
        math.sqrt(chi2 / (total * (1 / float(p.min()) - 1))),
    )


@dataclass(frozen=True, slots=True)
class LengthElasticity:
    """How a score moves with the length of the answers.

    - `elasticity`: Per cent by which the score changes with one per cent of length, respondents'
      and forms' levels taken out: do respondents whose answers grow more also change more? Its
      `status` speaks for the whole.
    - `correlation`: Correlation of log score and log length over all respondents and forms, nothing
      taken out; its interval counts respondents, not cells.
    """

    elasticity: Coefficient
    correlation: Coefficient


def length_elasticity(
    scores: ArrayLike, lengths: ArrayLike, *, level: float = 0.95
) -> LengthElasticity:
    """How much of a score's change between forms goes with a change of length, within respondents.

    A rate of hallucinated objects rises with every sentence written, so a form that changes the
    length changes the score. Comparing each respondent with itself takes out that talkative models
    may also be worse ones.

        log score_mf = a_m + c_f + b log length_mf
        b = sum u v / sum u^2 over what the levels leave of both;  interval b +- t(df) SE

    - `scores, lengths`: (respondents, forms): positive scores and mean lengths; other cells are
      left out.

    The status is `insufficient` below 3 respondents with 2 forms and `degenerate` when lengths do
    not vary beyond the levels. There is no interval when the fit is exact.
    >>> round(length_elasticity([[0.15, 0.04], [0.08, 0.03], [0.1, 0.13]],
    ...     [[105, 10], [80, 11], [47, 63]]).elasticity.value, 3)
    0.58
    """
    s, w = shaped_alike(scores, lengths, "respondents, forms")
    there = np.isfinite(s) & np.isfinite(w) & (s > 0) & (w > 0)
    there &= (there.sum(axis=1) >= 2)[:, None]
    m = int(there.any(axis=1).sum())
    if m < 3:
        none = Coefficient.absent(
            "insufficient", f"an elasticity needs 3 respondents with 2 forms, there are {m}", m
        )
        return LengthElasticity(none, none)
    respondent, form = np.nonzero(there)
    y, x = np.log(s[there]), np.log(w[there])
    return LengthElasticity(
        _slope(y, x, np.hstack([np.eye(len(s))[respondent], np.eye(s.shape[1])[form]]), m, level),
        pearson(x, y, level=level, n_effective=m),
    )


def _slope(y: Array, x: Array, levels: Array, m: int, level: float) -> Coefficient:
    fitted, _, rank, _ = np.linalg.lstsq(levels, np.stack([x, y], axis=1), rcond=None)
    u, v = (np.stack([x, y], axis=1) - levels @ fitted).T
    spread = float(np.dot(u, u))
    if spread <= 1e-20 * len(x):
        return Coefficient.absent(
            "degenerate", "lengths do not vary beyond respondents' and forms' levels", m
        )
    value = float(np.dot(u, v)) / spread
    df, residual = len(x) - int(rank) - 1, v - value * u
    squares = float(np.dot(residual, residual))
    if squares <= 1e-24 * len(x):
        return Coefficient(value, n=m, level=level)
    error = math.sqrt(squares / df / spread)
    half = float(stdtrit(df, 0.5 + level / 2)) * error
    return Coefficient(value, value - half, value + half, m, level, "t", se=error)
