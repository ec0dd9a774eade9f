"""What an audit warns of by itself: each flag has a test that raises it and a sentence that says
what to do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hqm.indicators.cases import Case
from hqm.indicators.indicator import is_on_page
from hqm.psychometrics import range_restriction
from hqm.psychometrics.inference.families import FamilyDependence
from hqm.psychometrics.inference.significance import holm
from hqm.types import Estimate

FLAGS: Mapping[str, str] = {
    "FEW_MODELS": (
        "fewer than 20 respondents (or 10 independent ones): read the interval, not the number"
    ),
    "FAMILY_DEPENDENCE": (
        "respondents of one family score alike: intervals count the independent ones"
    ),
    "DOMINANT_MODEL": (
        "one or two respondents lie far from all others, and without them the coefficient changes"
        " by more than .1: read that value"
    ),
    "RANGE_INFLATED": (
        "among the best half of the respondents, whose scores lie closer together, the reliability"
        " misses the goal: read the top ranks as sets"
    ),
    "NOISE_FLOOR": (
        "single answers repeat little better than coin flips at each respondent's own rate would:"
        " the reliability comes from the number of items"
    ),
    "MEAN_SHIFT": "the mean changed: read ICC(A,1), not the correlation",
    "DRIFT": (
        "scores changed between runs by more than random changes of single answers explain: read"
        " ICC(A,1), not rho_G"
    ),
    "DETERMINISTIC": "the answers were drawn without chance: they repeat by construction",
    "PARAMETERS_REFUSED": (
        "a server refuses a parameter, which was left out: without a seed, a rerun is the server's"
        " own draw and no answer can be drawn again; without a temperature or top-p, the server's"
        " own hold"
    ),
    "READ_WITH": "a model read the answers that the reader left unread or in doubt",
    "EXPECTED": (
        "the number is expected and not observed: nobody was asked twice. It holds where the answer"
        " is its first word alone, drawn at a temperature above 0"
    ),
    "NON_PARALLEL": (
        "some respondents are below chance on one form and above it on the other, both by more"
        " than the standard error of the items: read the forms side by side"
    ),
    "CEILING": (
        "many respondents are not shown to differ from a full score: add harder items, or more"
    ),
    "FLOOR": (
        "many respondents are not shown to differ from a score of 0: add easier items, or more"
    ),
    "CHANCE": (
        "a respondent did not score above an answer that ignores what was asked: rank without it"
    ),
    "ATTENUATION": (
        "the judged sample is short: read the disattenuated correlation beside the raw one"
    ),
    "LENGTH_CONFOUND": (
        "the benchmarks compared differ in length: compare them at the common length"
    ),
    "AVERAGED_COEFFICIENTS": (
        "coefficients of different error sources are never averaged: read them one by one"
    ),
    "UNPARSED": (
        "more than 1% of the answers are not scored, or their share differs between administrations"
    ),
    "WITHHELD": (
        "refused or empty answers are scored, as the release scores them: leave out --set"
        " withheld=... official to count answers only"
    ),
    "REVERSED": "the two scores have opposite directions by definition; the second was reversed",
    "NEGATIVE_COMPONENT": (
        "a variance was estimated below zero and taken as zero; the raw value is kept"
    ),
    "MISSING": "more than 1% of the items are not scored in every administration",
    "REDUNDANT": (
        "alpha is above .95, which many items reach by themselves: fewer such items would keep the"
        " order of these respondents"
    ),
    "CAPPED": (
        "the disattenuated correlation exceeded 1 and was set to 1: the sample is too small for it"
    ),
    "JUDGE_DIF": (
        "the benchmark errs differently for different respondents: correct each by its own labels"
    ),
    "LABELS_NOT_RANDOM": (
        "people labelled answers that score differently from the rest, and the labels do not say"
        " with which probability: what they say holds for these answers alone"
    ),
    "STALE_LABELS": (
        "some labels are about other words than the answers that are stored: label the new answers"
    ),
    "RANK_DEFICIENT": (
        "there are more items than respondents: covariances of items are not well known"
    ),
    "ZERO_VARIANCE_ITEMS": (
        "some items do not vary; they count, and the value without them is shown beside it"
    ),
    "HEYWOOD": "the factor rests on one type: read alpha beside omega",
    "NOT_ONE_THING": (
        "types measure more of their own than they share: report a score for each type, and no"
        " total"
    ),
    "FAVOURS_FAMILY": (
        "a part of the benchmark is much easier for one family of models than its other answers"
        " predict: report the parts separately"
    ),
    "REMEMBERED": (
        "a respondent gains more than the others on questions it may have been trained on: ask what"
        " it was trained on, and rank it by what is new"
    ),
    "UNBOUNDED": "an end of the interval does not exist",
}
"""Every flag with what it means and what to do."""

GOAL = 0.9
"""The reliability from which a leaderboard is read model by model; the default policy asks the
same.
"""
NOTE_FLAGS = frozenset(
    {
        "REVERSED",
        "NEGATIVE_COMPONENT",
        "RANK_DEFICIENT",
        "ZERO_VARIANCE_ITEMS",
        "REDUNDANT",
        "DETERMINISTIC",
        "EXPECTED",
        "RANGE_INFLATED",
        "NON_PARALLEL",
        "CHANCE",
        "FEW_MODELS",
        "FAMILY_DEPENDENCE",
        "NOISE_FLOOR",
        "HEYWOOD",
    }
)
"""Flags that say how a number was made, or describe the respondents, and change no decision: a
sound benchmark has weak respondents, a close top, some who lean towards yes, and few who are alike.
"""
_LEVEL = 0.05
"""The chance that a sound benchmark has any warning that rests on a test."""
_DETAIL_LISTS = {
    "CEILING": ("in that range", "in_top"),
    "FLOOR": ("in that range at the lower end", "in_bottom"),
    "FAVOURS_FAMILY": ("favoured, or at a disadvantage", "favours"),
    "REMEMBERED": ("more than the others", "remembered"),
}
"""Flags whose sentence names what raised them, from the detail of the estimate."""
_RANGE_ENDS = ("CEILING", "FLOOR")
_MAX_END_RANGE = 0.12
"""How far from an end scores may lie that are not told from it, for items to be too easy or too
hard; the default policy names the same as the difference to be shown.
"""
_GOOD_AGREEMENT = 0.75
"""The agreement up to which a shift of the mean changes what the scores may be used for (Koo and Li
2016: good).
"""


@dataclass(frozen=True, slots=True)
class Warned:
    """A flag raised by an audit: of which metric, by which comparison, with the numbers in a
    sentence.
    """

    flag: str
    metric: str
    sentence: str
    about: str = ""
    """The family of estimates it concerns; empty for the whole benchmark."""
    numbers: Mapping[str, float | None] = field(default_factory=dict)
    note: bool = False
    """Whether it only describes a number: no decision hangs on it here."""

    def to_dict(self) -> dict[str, object]:
        return {
            "flag": self.flag,
            "metric": self.metric,
            "about": self.about,
            "sentence": self.sentence,
            "what_to_do": FLAGS[self.flag],
            "numbers": dict(self.numbers),
            "note": self.note,
        }


def warn(
    case: Case, estimates: Sequence[Estimate], family: FamilyDependence | None = None
) -> Iterable[Warned]:
    """The flags of one metric: of its reference administration, and of every comparison among the
    estimates.

    A flag on which a decision hangs is a warning; one that only describes a number is a note.
    """
    metric_estimates = [estimate for estimate in estimates if estimate.metric == case.metric.name]
    yield from _sample_size_flags(case, family)
    yield from _range_flags(case, metric_estimates)
    yield from _estimate_flags(case, metric_estimates)


def _sample_size_flags(case: Case, family: FamilyDependence | None) -> Iterable[Warned]:
    n = len(case.respondents)
    metric = case.metric.name
    if family is not None and math.isfinite(family.n_eff):
        n_eff = family.n_eff
    else:
        n_eff = float(n)
    if n < 20 or n_eff < 10:
        # Nearer than that, one decimal would print the number of respondents again.
        if n_eff > n - 0.05:
            relatives = ""
        else:
            relatives = f", which count as {n_eff:.1f} independent ones"
        sentence = f"{_respondent_count(n)} answered{relatives}"
        sizes = {"n": n, "n_effective": n_eff}
        yield Warned("FEW_MODELS", metric, sentence, "", sizes, note=True)
    if family is not None and "FAMILY_DEPENDENCE" in family.flags:
        sentence = (
            f"scores within a family correlate {family.icc.value:.2f}: {n} respondents count as"
            f" {n_eff:.1f}"
        )
        yield Warned(
            "FAMILY_DEPENDENCE",
            metric,
            sentence,
            "",
            {"icc": family.icc.value, "n_effective": n_eff},
            note=True,
        )


def _respondent_count(n: int) -> str:
    return f"{n} respondent{'s' * (n != 1)}"


def _range_flags(case: Case, estimates: Sequence[Estimate]) -> Iterable[Warned]:
    """Where the reliability reaches the goal over all respondents, and would not among the best
    half of them.
    """
    estimate = _estimate(estimates, "test_retest.rho_g")
    restriction = range_restriction(case.scores[0], higher_is_better=case.metric.better != "lower")
    # the coefficient is inflated by the range only where the best half is much closer together
    if restriction.status != "ok" or "RANGE_INFLATED" not in restriction.flags:
        return
    if estimate is None or estimate.value is None or estimate.value < GOAL:
        return
    rho = estimate.value
    # with the same error variance, 1 - rho grows with the inverse of the variance of the scores
    top = 1 - (1 - rho) / restriction.u**2
    if top < GOAL:
        numbers = {
            "sd": restriction.sd,
            "sd_top": restriction.sd_top,
            "rho": rho,
            "rho_top": top,
        }
        sentence = (
            f"the scores spread {restriction.sd:.3f} over all {restriction.n} respondents and"
            f" {restriction.sd_top:.3f} over the best {restriction.n_top}; with the same error,"
            f" rho_G is {rho:.3f} over all and {max(0.0, top):.3f} among the best"
        )
        yield Warned("RANGE_INFLATED", case.metric.name, sentence, "", numbers, note=True)


def _estimate(estimates: Sequence[Estimate], indicator: str) -> Estimate | None:
    """The first estimate of an indicator that has a value."""
    for estimate in estimates:
        if estimate.indicator == indicator and estimate.status == "ok":
            return estimate
    return None


def _estimate_flags(case: Case, estimates: Sequence[Estimate]) -> Iterable[Warned]:
    """Each flag of a family once, with the first estimate that carries it and the names of the
    others.
    """
    carriers: dict[tuple[str, str], list[Estimate]] = {}
    for estimate in estimates:
        if not is_on_page(estimate.indicator):
            continue
        family = estimate.indicator.partition(".")[0]
        for flag in estimate.flags:
            # Few respondents are said once of the metric, and not of each number that rests on
            # them.
            if flag in FLAGS and flag != "FEW_MODELS":
                carriers.setdefault((flag, family), []).append(estimate)
    for (flag, family), carrier_estimates in carriers.items():
        first = carrier_estimates[0]
        names = dict.fromkeys(estimate.indicator for estimate in carrier_estimates)
        del names[first.indicator]
        sentence = _sentence(flag, first)
        # These two sentences count answers, which are the same whatever was estimated from them.
        if names and flag not in ("UNPARSED", "WITHHELD"):
            sentence += f" (also: {', '.join(names)})"
        is_note = _is_note(flag, first, case)
        yield Warned(flag, case.metric.name, sentence, family, note=is_note)


def _is_note(flag: str, estimate: Estimate, case: Case) -> bool:
    """Whether no decision hangs on a flag of an estimate."""
    if flag in _RANGE_ENDS:
        # a range that is wide because items are few is the imprecision that the verdict names
        if flag == "CEILING":
            end = estimate.value
        else:
            end = estimate.detail.get("bottom")
        low, width = case.scale
        share = None if end is None else (end - low) / width
        # a range that begins far from its end leaves room in between: items few, not too easy
        return share is not None and min(share, 1 - share) > _MAX_END_RANGE
    # good agreement at its lower end: the shift of the mean changes no reading
    if flag == "MEAN_SHIFT":
        interval = estimate.interval("fixed_models")
        return (
            estimate.indicator.endswith(".icc_a1")
            and interval is not None
            and interval.low >= _GOOD_AGREEMENT
        )
    return flag in NOTE_FLAGS


def _sentence(flag: str, estimate: Estimate) -> str:
    value = "no number" if estimate.value is None else f"{estimate.value:.3f}"
    detail = estimate.detail
    if flag == "UNPARSED":
        sentence = f"{estimate.unscored} answers are not scored"
        wrong = detail.get("if_all_wrong")
        right = detail.get("if_all_right")
        if wrong is not None and right is not None:
            low, high = sorted((wrong, right))
            sentence += f"; the mean score lies between {low:.3f} and {high:.3f} whatever they were"
        return sentence
    if flag == "WITHHELD":
        return (
            f"{detail.get('withheld')} refused or empty answers are scored as if they were answers"
        )
    if flag == "DOMINANT_MODEL":
        correlation = detail.get("without_strongest")
        if correlation is None:
            correlation_text = "undefined"
        else:
            correlation_text = f"{correlation:.3f}"
        return (
            f"without {detail.get('strongest')} the coefficient is {correlation_text}, with all"
            f" {value} ({_respondent_count(estimate.n_respondents)})"
        )
    if flag == "MEAN_SHIFT":
        return f"ICC(A,1) is {value}, and the mean moved by {detail.get('shift') or 0.0:+.3f}"
    if flag in _DETAIL_LISTS:
        description, key = _DETAIL_LISTS[flag]
        names = ", ".join(map(str, detail.get(key) or ()))
        return f"{estimate.indicator} is {value}; {description}: {names}"
    return f"{estimate.indicator} is {value}"


# --- multiplicity: all tests behind the warnings of an audit share one level ---


def flag_p_values(estimates: Iterable[Estimate]) -> Mapping[tuple[str, str, str], float]:
    """Return (flag, metric, family) -> the p-value of the test behind it, also where it is not
    raised; the least one where several estimates are tested for the same.
    """
    values: dict[tuple[str, str, str], float] = {}
    for estimate in estimates:
        family, _, statistic = estimate.indicator.partition(".")
        # What no page shows warns of nothing, so that its test takes no part in Holm's correction.
        if statistic not in _TESTED or not is_on_page(estimate.indicator):
            continue
        flag, p_of = _TESTED[statistic]
        p = p_of(estimate)
        if p is not None:
            key = (flag, estimate.metric, family)
            # a flag that several estimates may raise is tested once, by the least of their p-values
            values[key] = min(p, values.get(key, 1.0))
    return values


def adjust_warnings(
    warnings: Sequence[Warned], estimates: Sequence[Estimate]
) -> tuple[Warned, ...]:
    """Return the warnings of an audit, those as notes that the number of tests explains (Holm).

    An audit tests some ten things for which it may warn. Each holds .05 by itself, and without a
    correction most sound benchmarks would have a warning of one or the other.
    """
    values = flag_p_values(estimates)
    # Holm over all flags of the audit: each holds .05 by itself
    adjusted = dict(zip(values, holm(list(values.values())), strict=True))
    return tuple(
        replace(warning, note=True)
        # a flag without a test has no p-value and stays a warning
        if adjusted.get((warning.flag, warning.metric, warning.about), 0.0) > _LEVEL
        else warning
        for warning in warnings
    )


def _detail_p(name: str) -> Callable[[Estimate], float | None]:
    """The function that reads a p-value from the detail of an estimate."""
    return lambda estimate: _probability(estimate.detail.get(name))


def _least_p(name: str) -> Callable[[Estimate], float | None]:
    """The function that reads the least p-value of the rows of a detail, each adjusted for all."""

    def least(estimate: Estimate) -> float | None:
        rows = estimate.detail.get(name) or ()
        if isinstance(rows, Mapping):
            rows = rows.values()
        values = [p for row in rows if (p := _probability(row.get("p"))) is not None]
        return min(values, default=None)

    return least


def _probability(value: object) -> float | None:
    if isinstance(value, float | int) and math.isfinite(value):
        return float(value)
    return None


_TESTED: Mapping[str, tuple[str, Callable[[Estimate], float | None]]] = {
    "drift": ("DRIFT", lambda estimate: estimate.value),
    "icc_a1": ("MEAN_SHIFT", _detail_p("shift_p")),
    "pearson": ("DOMINANT_MODEL", _detail_p("far_p")),
    "rho_g": ("DOMINANT_MODEL", _detail_p("far_p")),
    "phi_of_forms": ("DOMINANT_MODEL", _detail_p("far_p")),
    "own_strengths": ("NOT_ONE_THING", _detail_p("p")),
    "family_types": ("FAVOURS_FAMILY", _least_p("parts")),
    "family_keys": ("FAVOURS_FAMILY", _least_p("parts")),
    "released_advantage": ("REMEMBERED", _least_p("by_respondent")),
    "older_advantage": ("REMEMBERED", _least_p("by_respondent")),
    "labels_at_random": ("LABELS_NOT_RANDOM", lambda estimate: estimate.value),
}
"""Statistic -> the flag that rests on its test, and where the p-value stands."""


def refused_parameters(refused: Mapping[str, Sequence[str]]) -> Iterable[Warned]:
    """The parameters that servers refused, by respondent; a note where it is the seed alone.

    Parameters
    ----------
    refused
        Respondent -> the parameters that were left out of its requests.
    """
    respondents_by_parameter: dict[str, list[str]] = {}
    for respondent, parameters in refused.items():
        for parameter in parameters:
            respondents_by_parameter.setdefault(parameter, []).append(respondent)
    for parameter, respondents in sorted(respondents_by_parameter.items()):
        server = "server refuses" if len(respondents) == 1 else "servers refuse"
        if parameter == "seed":
            effect = "reruns measure its own randomness"
        else:
            effect = f"its own {parameter} was in force, and not the study's"
        sentence = f"{', '.join(respondents)}: the {server} {parameter}; {effect}"
        # Without a seed reruns still show the server's own randomness; other parameters change what
        # is studied.
        note = parameter == "seed"
        yield Warned("PARAMETERS_REFUSED", "", sentence, note=note)


def length_confound(items: Mapping[str, int]) -> Mapping[str, Warned]:
    """Benchmarks whose number of items differs from another's by more than half: benchmark -> its
    warning.
    """
    if len(items) < 2:
        return {}
    low = min(items, key=lambda name: items[name])
    high = max(items, key=lambda name: items[name])
    if items[high] <= 1.5 * max(items[low], 1):
        return {}
    sentence = (
        f"{low} has {items[low]:,} items and {high} {items[high]:,}: reliability grows with length"
    )
    counts: dict[str, float | None] = {"fewest": items[low], "most": items[high]}
    return {name: Warned("LENGTH_CONFOUND", "", sentence, "", counts) for name in items}
