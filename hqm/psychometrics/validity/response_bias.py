"""A lean towards yes or no, towards a place in a list of options, and towards long answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from hqm.psychometrics.agreement.intraclass import icc
from hqm.psychometrics.inference.families import Relatives
from hqm.psychometrics.inference.resampling import cluster_labels, cluster_sums, mean_with_error
from hqm.psychometrics.inference.significance import SignificanceTest, chi_square_test
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Coefficient,
    Outcome,
    Status,
    equal_shape_arrays,
    float_array,
    ratio,
)
from hqm.psychometrics.validity.correlation import paired, pearson


@dataclass(frozen=True, slots=True)
class ResponseBias:
    """Bias of every respondent, with its mean and standard deviation.

    Attributes
    ----------
    respondents
        One coefficient a respondent; the interval is over items (`fixed`) where items were given.
    mean
        Over respondents, with Student's interval; its `status` speaks for the whole.
    deviation
        Standard deviation over respondents; NaN below 2.
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
    """Estimate acquiescence: the share of yes over two opposite forms minus one half.

    A respondent who attends to the question says yes to exactly one of a question and its opposite.
    What is left over is a habit of saying yes (above 0) or no. It is invalid where the second
    form's truths are not the opposite ones.

    Parameters
    ----------
    yes_first, yes_second : array_like, shape (respondents,)
        Yes rates, or (respondents, items) answers: 1 yes, 0 no, NaN neither.
    clusters : array_like, shape (items,), optional
        Labels of what items share. Intervals of single respondents exist only for answers.
    level : float, default 0.95
        Confidence level of the interval.

    Returns
    -------
    ResponseBias
        The bias of every respondent, and its mean. The status is `insufficient` without a
        respondent on both forms, `not_applicable` for a rate outside 0 to 1.

    Raises
    ------
    ValueError
        An array has another shape.

    Examples
    --------
    >>> [round(c.value, 4) for c in acquiescence([0.783, 0.251], [0.706, 0.217]).respondents]
    [0.2445, -0.266]
    """
    a = np.asarray(yes_first, dtype=np.float64)
    b = np.asarray(yes_second, dtype=np.float64)
    if a.shape != b.shape or a.ndim not in (1, 2):
        raise ValueError(
            f"two vectors of rates or two matrices of answers are needed, got {a.shape} and"
            f" {b.shape}"
        )
    # without a lean a respondent says yes to half of the questions and their opposites
    return _bias((a + b) / 2 - 0.5, (a, b), clusters, level)


def _bias(
    values: Array, sources: tuple[Array, Array], clusters: ArrayLike | None, level: float
) -> ResponseBias:
    finite_rates = np.concatenate([np.ravel(s) for s in sources])
    finite_rates = finite_rates[np.isfinite(finite_rates)]
    if (finite_rates < 0).any() or (finite_rates > 1).any():
        undefined = Coefficient.absent("not_applicable", "a rate of yes is outside 0 to 1")
        return ResponseBias((), undefined)
    if values.ndim == 1:
        coefficients = tuple(
            (
                Coefficient(float(v), n=1)
                if math.isfinite(v)
                else Coefficient.absent("insufficient", "no rate of yes")
            )
            for v in values
        )
        means = values
    else:
        means, standard_errors = _clustered(values, clusters)
        coefficients = tuple(
            _item_coefficient(float(m), float(e), level, "no answered item")
            for m, e in zip(means, standard_errors, strict=True)
        )
    return ResponseBias(coefficients, *_mean_over_respondents(means, level))


def _clustered(values: Array, clusters: ArrayLike | None) -> tuple[Array, Array]:
    labels = cluster_labels(clusters, values.shape[1])
    scored = np.isfinite(values)
    if not scored.any():
        missing = np.full(len(values), np.nan)
        return missing, missing
    return mean_with_error(*cluster_sums(np.where(scored, values, 0.0), scored, labels))


def _item_coefficient(
    value: float, standard_error: float, level: float, reason: str
) -> Coefficient:
    if not math.isfinite(value):
        return Coefficient.absent("insufficient", reason)
    return Coefficient.over_items(value, standard_error, level, "cluster normal", n=1)


def _mean_over_respondents(values: Array, level: float) -> tuple[Coefficient, float]:
    finite_values = values[np.isfinite(values)]
    n = len(finite_values)
    if n == 0:
        return Coefficient.absent("insufficient", "no respondent has answers"), math.nan
    mean = float(finite_values.mean())
    if n < 2:
        return Coefficient(mean, n=n, level=level), math.nan
    deviation = float(finite_values.std(ddof=1))
    # other respondents are the population: Student's t over respondents
    half_width = float(stdtrit(n - 1, 0.5 + level / 2)) * deviation / math.sqrt(n)
    return Coefficient(mean, mean - half_width, mean + half_width, n, level, "t"), deviation


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
    """Compute the share of item pairs that are answered without contradiction.

    A contradiction needs no truth to be seen as one. Scores on one form can be high by luck of the
    base rate; coherence cannot. Saying yes at random with rate y is coherent with 2 y (1 - y), at
    most one half.

    Parameters
    ----------
    yes_first, yes_second : array_like, shape (respondents, items)
        1 for yes, 0 for no, NaN for neither (the pair is left out).
    clusters : array_like, shape (items,), optional
        Labels of what items share.
    level : float, default 0.95
        Confidence level of the interval.

    Returns
    -------
    PairCoherence
        The coherence of every respondent, and its mean. `mean` is `insufficient` without any pair,
        `not_applicable` when an answer is not 0 or 1.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        coherent = mean(yes_A != yes_B),   chance = y_A (1 - y_B) + (1 - y_A) y_B

    Examples
    --------
    >>> result = pair_coherence([[1, 1, 0, 1]], [[0, 0, 1, 1]])
    >>> result.coherent[0].value, result.chance[0]
    (0.75, 0.5)
    """
    a, b = equal_shape_arrays(yes_first, yes_second, "respondents, items")
    answered = np.isfinite(a) & np.isfinite(b)
    if not np.isin(np.concatenate([a[answered], b[answered]]), (0.0, 1.0)).all():
        return PairCoherence(
            (), (), (), Coefficient.absent("not_applicable", "an answer is not 0 or 1")
        )
    mean, standard_errors = _clustered(np.where(answered, a != b, np.nan), clusters)
    n = answered.sum(axis=1)
    # each form's own rate of yes, over the pairs that both forms answered
    rates = [ratio(np.where(answered, x, 0).sum(axis=1), n) for x in (a, b)]
    # answers given at random with these rates differ with this probability
    chance = rates[0] * (1 - rates[1]) + (1 - rates[0]) * rates[1]
    corrected = ratio(mean - chance, 1 - chance)
    return PairCoherence(
        tuple(
            _item_coefficient(float(m), float(e), level, "no pair is answered")
            for m, e in zip(mean, standard_errors, strict=True)
        ),
        tuple(chance.tolist()),
        tuple(corrected.tolist()),
        _mean_over_respondents(mean, level)[0],
    )


@dataclass(frozen=True, slots=True)
class BalancedScore:
    """Mean score over two forms with opposite keys, in which a tendency towards yes cancels out.

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
    """Average the scores over two opposite forms, and estimate the mean's reliability.

    Parameters
    ----------
    first, second : array_like, shape (respondents,)
        Scores on each form.
    n_effective : float, optional
        Number of independent respondents, where some are relatives; all unless given.
    families : sequence of str, shape (respondents,), optional
        Labels of relatives; none unless given.
    level : float, default 0.95
        Confidence level of the interval.

    Returns
    -------
    BalancedScore
        The mean scores, and the reliability ICC(A,2).

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        score = (S_A + S_B) / 2,   reliability = ICC(A,2)

    A respondent who always says yes gets one half. The reliability is that of `icc`, and
    `insufficient` or `degenerate` with it.

    Examples
    --------
    >>> [round(s, 4) for s in balanced_score([0.461, 0.595, 0.622, 0.761],
    ...     [0.538, 0.438, 0.398, 0.440]).scores]
    [0.4995, 0.5165, 0.51, 0.6005]
    """
    a = np.asarray(first, dtype=np.float64)
    b = np.asarray(second, dtype=np.float64)
    x, y = paired(a, b)
    scores = tuple(((a + b) / 2).tolist())
    relatives = Relatives.from_pairs(a, b, families, n_effective)
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

    Attributes
    ----------
    hit_rate, false_alarm_rate
        Share of yes among items whose truth is yes, and among the others, as used for `d_prime`.
    d_prime
        Sensitivity, with a normal interval over items where counts are known.
    criterion
        c: below 0 a lean towards yes, above 0 towards no.
    balanced_accuracy
        Mean of the shares right among true yes and true no (uncorrected); .5 is chance whatever the
        lean. The intervals are over items (`fixed`) and `n` counts items.
    status, reason
        `ok`, or why there are no numbers, in a sentence.
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
    """Compute sensitivity d' and criterion c from the four counts of yes/no answers.

    Accuracy mixes what a respondent can separate with how readily it says yes. Under the
    equal-variance normal model d' is the first alone and c the second. Half an answer is added to
    every cell (log-linear rule), so that rates of 0 and 1 have a finite place. Not valid when items
    are not independent (several about a picture): the interval is then too narrow.

    Parameters
    ----------
    hits, misses : float
        Items whose truth is yes: answered yes, answered otherwise.
    false_alarms, correct_rejections : float
        Items whose truth is no: answered yes, answered otherwise.
    level : float, default 0.95
        Confidence level of the interval.

    Returns
    -------
    SignalDetection
        d', c and balanced accuracy, with intervals over items. The status is `insufficient` when
        one of the truths has no items, `not_applicable` for negative or missing counts.

    Notes
    -----
        H = (hits + .5) / (n_yes + 1),  F = (false alarms + .5) / (n_no + 1)
        d' = z(H) - z(F),  c = -(z(H) + z(F)) / 2
        Var d' = H(1 - H) / ((n_yes + 1) phi(z(H))^2) + the same of F

    References
    ----------
    .. [1] Green, D. M. and Swets, J. A. (1966). Signal Detection Theory and Psychophysics.
       Wiley.
    .. [2] Hautus, M. J. (1995). Behavior Research Methods, 27, 46-51 (log-linear rule).
    .. [3] Gourevitch, V. and Galanter, E. (1967). Psychometrika, 32, 25-33 (variance).

    Examples
    --------
    >>> result = signal_detection(20, 5, 10, 15)
    >>> round(result.d_prime.value, 4), round(result.criterion.value,
    ...     4), round(result.balanced_accuracy.value, 4)
    (1.0445, -0.2788, 0.7)
    """
    counts = (hits, misses, false_alarms, correct_rejections)
    if not all(math.isfinite(c) and c >= 0 for c in counts):
        return _absent("not_applicable", "the four counts must be numbers of 0 or more")
    yes = hits + misses
    no = false_alarms + correct_rejections
    if yes == 0 or no == 0:
        return _absent(
            "insufficient", f"items of both truths are needed, there are {yes:g} yes and {no:g} no"
        )
    # log-linear rule: half an answer more in every cell
    h = (hits + 0.5) / (yes + 1)
    f = (false_alarms + 0.5) / (no + 1)
    zh = float(ndtri(h))
    zf = float(ndtri(f))
    # Gourevitch and Galanter (1967): the delta method for z(H) and z(F), which are independent
    variance = _variance(h, zh, yes + 1) + _variance(f, zf, no + 1)
    n = int(yes + no)
    sensitivity = hits / yes
    specificity = correct_rejections / no
    # the corrected rates keep the error above 0 where every answer is right
    error = math.sqrt(h * (1 - h) / yes + f * (1 - f) / no) / 2
    over_items = Coefficient.over_items
    return SignalDetection(
        h,
        f,
        over_items(zh - zf, math.sqrt(variance), level, "delta method", n=n),
        # c is half a sum, so its error is half that of d'
        over_items(-(zh + zf) / 2, math.sqrt(variance) / 2, level, "delta method", n=n),
        over_items(
            (sensitivity + specificity) / 2, error, level, "normal", n=n, minimum=0.0, maximum=1.0
        ),
    )


def signal_detection_from_rates(
    accuracy: float,
    yes_rate: float,
    base_rate: float,
    n_items: float | None = None,
    *,
    level: float = 0.95,
) -> SignalDetection:
    """Compute sensitivity and criterion from accuracy, yes rate and base rate.

    The three rates fix the four cells of the table, so a published accuracy can be taken apart into
    sensitivity and lean without the answers.

    Parameters
    ----------
    accuracy, yes_rate, base_rate : float
        Between 0 and 1: share right, share of yes, share of items whose truth is yes. Unparsed
        answers would have to count as no.
    n_items : float, optional
        With it the counts are rebuilt and corrected (log-linear), with intervals; without it rates
        of 0 and 1 have no d'.
    level : float, default 0.95
        Confidence level of the interval.

    Returns
    -------
    SignalDetection
        d', c and balanced accuracy. The status is `not_applicable` when the rates contradict each
        other by more than rounding to three digits allows or all items have one truth; `degenerate`
        when H or F is 0 or 1 and the number of items is not known.

    Notes
    -----
        TP = (accuracy + yes - (1 - base)) / 2,  FP = yes - TP,  H = TP / base,  F = FP / (1 - base)

    Examples
    --------
    MiniGPT4-LLaMA-2 on POPE (arXiv 2406.17115, Table 2) says yes to 74 % of what is not there:

    >>> result = signal_detection_from_rates(0.461, 0.783, 0.333)
    >>> round(result.hit_rate, 3), round(result.false_alarm_rate, 3), round(result.d_prime.value, 3)
    (0.866, 0.741, 0.462)
    """
    rates = (accuracy, yes_rate, base_rate)
    if not all(math.isfinite(r) and 0 <= r <= 1 for r in rates) or not 0 < base_rate < 1:
        return _absent(
            "not_applicable",
            "accuracy, yes rate and a base rate strictly between 0 and 1 are needed",
        )
    # accuracy = TP + TN and yes = TP + FP, with TP + FN = base
    true_yes = (accuracy + yes_rate - (1 - base_rate)) / 2
    hit_rate = true_yes / base_rate
    false_alarm_rate = (yes_rate - true_yes) / (1 - base_rate)
    # three rates rounded to .001 can miss a cell of 0 by .00075
    slack = 0.001 / min(base_rate, 1 - base_rate)
    if max(abs(hit_rate - 0.5), abs(false_alarm_rate - 0.5)) > 0.5 + slack:
        return _absent(
            "not_applicable",
            f"accuracy {accuracy:.4g}, yes {yes_rate:.4g} and base {base_rate:.4g} contradict each"
            " other",
        )
    hit_rate, false_alarm_rate = np.clip([hit_rate, false_alarm_rate], 0.0, 1.0).tolist()
    if n_items is not None:
        n_yes = base_rate * n_items
        # counts need not be whole: the rates are rounded
        n_no = (1 - base_rate) * n_items
        return signal_detection(
            hit_rate * n_yes,
            (1 - hit_rate) * n_yes,
            false_alarm_rate * n_no,
            (1 - false_alarm_rate) * n_no,
            level=level,
        )
    balanced_accuracy = Coefficient((hit_rate + 1 - false_alarm_rate) / 2)
    if min(hit_rate, 1 - hit_rate, false_alarm_rate, 1 - false_alarm_rate) <= 1e-12:
        reason = "a rate of 0 or 1 has an infinite d'; give the number of items for a corrected one"
        undefined = Coefficient.absent("degenerate", reason)
        return SignalDetection(
            hit_rate,
            false_alarm_rate,
            undefined,
            undefined,
            balanced_accuracy,
            status="degenerate",
            reason=reason,
        )
    zh = float(ndtri(hit_rate))
    zf = float(ndtri(false_alarm_rate))
    return SignalDetection(
        hit_rate,
        false_alarm_rate,
        Coefficient(zh - zf),
        Coefficient(-(zh + zf) / 2),
        balanced_accuracy,
    )


def _variance(rate: float, z: float, n: float) -> float:
    # delta method: dz / dp = 1 / phi(z), the normal density
    return rate * (1 - rate) / (n * (math.exp(-z * z / 2) / math.sqrt(2 * math.pi)) ** 2)


def _absent(status: Status, reason: str) -> SignalDetection:
    undefined = Coefficient.absent(status, reason)
    return SignalDetection(
        math.nan, math.nan, undefined, undefined, undefined, status=status, reason=reason
    )


@dataclass(frozen=True, slots=True)
class PositionBias:
    """How unevenly one respondent chooses among positions.

    Attributes
    ----------
    shares
        Share of choices that fell on each position.
    test
        Chi-square of equal shares (or of the expected ones); its `status` speaks for the whole.
    cramer_v
        Effect size: 0 for equal shares, 1 when one position takes all.
    """

    test: SignificanceTest
    shares: tuple[float, ...] = ()
    cramer_v: float = math.nan


def position_bias(counts: ArrayLike, expected: ArrayLike | None = None) -> PositionBias:
    """Test whether a respondent prefers a position among the options of multiple-choice items.

    When right options are spread evenly over the positions, choices should be too. A preference
    shows as accuracy that depends on where the right option stands; shuffling the options is the
    parallel form that cancels it.

    Parameters
    ----------
    counts : array_like, shape (positions,)
        How often each position was chosen.
    expected : array_like, shape (positions,), optional
        Shares expected without a preference (the shares of right options); equal by default.

    Returns
    -------
    PositionBias
        The test, the shares and Cramer's V. The status is `insufficient` for fewer than 2 positions
        or fewer than 5 expected choices on one of them, `not_applicable` for negative counts or
        shares that are not positive.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        chi2 = sum (n_p - e_p)^2 / e_p,  df P - 1,   V = sqrt(chi2 / (n (1 / min share - 1)))

    Items must be independent. With equal shares V is the usual sqrt(chi2 / (n (P - 1))).

    References
    ----------
    .. [1] Pearson, K. (1900). Philosophical Magazine, 50, 157-175.

    Examples
    --------
    >>> result = position_bias([40, 20, 20, 20])
    >>> result.test.statistic, result.test.df, round(result.cramer_v, 4)
    (12.0, 3, 0.2)
    """
    n = float_array(counts, "positions", "counts")
    equal_shares = np.ones(len(n)) / len(n)
    if expected is None:
        p = equal_shares
    else:
        p = np.asarray(expected, dtype=np.float64)
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
    # expected shares may be given as counts
    p = p / p.sum()
    total = float(n.sum())
    shares = tuple((n / total).tolist()) if total else ()
    # Cochran's rule of thumb for the chi-square approximation
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
        # chi2 is largest, n (1 / min share - 1), where all choose the rarest position
        math.sqrt(chi2 / (total * (1 / float(p.min()) - 1))),
    )


@dataclass(frozen=True, slots=True)
class LengthElasticity:
    """Relation of a score to the length of the answers.

    Attributes
    ----------
    elasticity
        Per cent by which the score changes with one per cent of length, respondents' and forms'
        levels taken out: do respondents whose answers grow more also change more? Its `status`
        speaks for the whole.
    correlation
        Correlation of log score and log length over all respondents and forms, nothing taken out;
        its interval counts respondents, not cells.
    """

    elasticity: Coefficient
    correlation: Coefficient


def length_elasticity(
    scores: ArrayLike, lengths: ArrayLike, *, level: float = 0.95
) -> LengthElasticity:
    """Estimate how a score changes with length between forms, within respondents.

    A rate of hallucinated objects rises with every sentence written, so a form that changes the
    length changes the score. Comparing each respondent with itself takes out that talkative models
    may also be worse ones.

    Parameters
    ----------
    scores, lengths : array_like, shape (respondents, forms)
        Positive scores and mean lengths; other cells are left out.
    level : float, default 0.95
        Confidence level of the interval.

    Returns
    -------
    LengthElasticity
        The elasticity and the correlation. The status is `insufficient` below 3 respondents with 2
        forms and `degenerate` when lengths do not vary beyond the levels. There is no interval when
        the fit is exact.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        log score_mf = a_m + c_f + b log length_mf
        b = sum u v / sum u^2 over what the levels leave of both;  interval b +- t(df) SE

    Examples
    --------
    >>> round(length_elasticity([[0.15, 0.04], [0.08, 0.03], [0.1, 0.13]],
    ...     [[105, 10], [80, 11], [47, 63]]).elasticity.value, 3)
    0.58
    """
    s, w = equal_shape_arrays(scores, lengths, "respondents, forms")
    usable = np.isfinite(s) & np.isfinite(w) & (s > 0) & (w > 0)
    # a single form says nothing of changes within a respondent
    usable &= (usable.sum(axis=1) >= 2)[:, None]
    m = int(usable.any(axis=1).sum())
    if m < 3:
        undefined = Coefficient.absent(
            "insufficient", f"an elasticity needs 3 respondents with 2 forms, there are {m}", m
        )
        return LengthElasticity(undefined, undefined)
    respondent, form = np.nonzero(usable)
    y = np.log(s[usable])
    x = np.log(w[usable])
    return LengthElasticity(
        # respondents and forms have a level each, as dummy variables
        _slope(y, x, np.hstack([np.eye(len(s))[respondent], np.eye(s.shape[1])[form]]), m, level),
        pearson(x, y, level=level, n_effective=m),
    )


def _slope(y: Array, x: Array, dummies: Array, m: int, level: float) -> Coefficient:
    # levels of respondents and forms are collinear; lstsq gives their rank
    fitted, _, rank, _ = np.linalg.lstsq(dummies, np.stack([x, y], axis=1), rcond=None)
    # Frisch, Waugh and Lovell: the slope of the residuals is that of the whole regression
    u, v = (np.stack([x, y], axis=1) - dummies @ fitted).T
    sum_of_squares = float(np.dot(u, u))
    if sum_of_squares <= 1e-20 * len(x):
        return Coefficient.absent(
            "degenerate", "lengths do not vary beyond respondents' and forms' levels", m
        )
    value = float(np.dot(u, v)) / sum_of_squares
    # the levels that were fitted, and the slope
    df = len(x) - int(rank) - 1
    residual = v - value * u
    residual_sum_of_squares = float(np.dot(residual, residual))
    # a perfect fit has no residual to judge the slope by
    if residual_sum_of_squares <= 1e-24 * len(x):
        return Coefficient(value, n=m, level=level)
    standard_error = math.sqrt(residual_sum_of_squares / df / sum_of_squares)
    half_width = float(stdtrit(df, 0.5 + level / 2)) * standard_error
    return Coefficient(
        value, value - half_width, value + half_width, m, level, "t", se=standard_error
    )
