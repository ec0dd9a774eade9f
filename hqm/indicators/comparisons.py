"""Which administrations an audit looks at together: pairs, all runs of a form, and one
administration by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hqm.benchmark.adapter import Calibration
from hqm.imports.human_labels import HUMAN
from hqm.indicators.cases import Case, Protocol, case, family_of
from hqm.indicators.indicator import (
    CONSISTENCY,
    CRITERION,
    DISCRIMINABILITY,
    GENERALIZABILITY,
    ITEMS,
    ORACLE,
    SHORT_FORM,
    SOLVABILITY,
    TYPES,
    Absence,
    Indicator,
    Result,
    family_indicators,
)
from hqm.indicators.judged import say_who_labelled
from hqm.labels.people_labels import StageEvidence
from hqm.psychometrics import Coefficient, ConfidenceInterval, too_few_families, too_few_respondents
from hqm.scoring.matrix import ScoreMatrix
from hqm.scoring.metrics import Array, Metric, mean_of
from hqm.signature import digest, digest_bytes, labelled, sign
from hqm.types import Estimate, Form, Interval
from hqm.version import __version__

# --- estimates of one family ---

_MAX_UNSCORED_SHARE = 0.01
"""The share of unscored answers from which an estimate carries the flag UNPARSED."""
_MIN_RESPONDENTS = 20
_NO_LOWER_END = "it is 1, or has no value without one of the respondents"


def estimates(case: Case) -> list[Estimate]:
    """All estimates of a case, with the reason where there is no number."""
    signed = []
    for indicator in family_indicators(case.family):
        absence = _first_absence(case, indicator)
        if absence is None:
            result = _result(case, indicator, indicator.compute(case))
        elif absence.reason:
            result = Result(Coefficient.absent(absence.status, absence.reason))
        else:  # the indicator is not listed for this case
            continue
        signed.append(_signed(case, indicator, result))
    return signed


def _first_absence(case: Case, indicator: Indicator) -> Absence | None:
    """The first of the indicator's needs that the case lacks; later ones may rest on it."""
    for need in indicator.needs:
        absence = need.check(case)
        if absence is not None:
            return absence
    return None


def _result(case: Case, indicator: Indicator, value: float | Coefficient | Result) -> Result:
    """What an indicator computed, or why that is no number."""
    if isinstance(value, float):
        value = Coefficient(value)
    result = value if isinstance(value, Result) else Result(value)
    coefficient = result.coefficient
    # JSON has no NaN, and an estimate without a number must say why.
    if coefficient.status == "ok" and not math.isfinite(coefficient.value):
        reason = "too few answers were scored to determine it"
        return replace(result, coefficient=Coefficient.absent("degenerate", reason))
    unit = indicator.unit
    # rounding may leave a coefficient of 1 a little above it
    if coefficient.value < unit.minimum - 1e-9 or coefficient.value > unit.maximum + 1e-9:
        reason = (
            f"it is {coefficient.value:.3g}, outside of {unit.minimum:g} to {unit.maximum:g}: the"
            " scores go against one another, or hardly differ"
        )
        absent = Coefficient.absent("degenerate", reason)
        return replace(result, coefficient=absent, detail={})
    repeats = indicator.repeats and case.facet == "run" and case.deterministic
    if repeats and math.isfinite(coefficient.value):
        return replace(result, coefficient=_not_informative(coefficient))
    return result


def _not_informative(value: Coefficient) -> Coefficient:
    """A coefficient that is 1 by construction says nothing."""
    reason = (
        "the answers were drawn without chance (temperature 0 or identical answers): they repeat by"
        " construction"
    )
    return replace(
        value, status="not_informative", reason=reason, fixed=None, flags=("DETERMINISTIC",)
    )


def _signed(case: Case, indicator: Indicator, result: Result) -> Estimate:
    name = indicator.name
    value = result.coefficient
    detail = dict(result.detail)
    detail |= _population_detail(case, indicator, result)
    # an estimator may know why it has no interval for others; then none is given
    if "no_interval_for_others" in detail:
        value = replace(value, low=math.nan, high=math.nan)
    respondents, items = _sample_sizes(case, value)
    detail |= _left_out_shares(case, respondents, items)
    # The order counts: the last interval is the one over other respondents, where there is one.
    spans = []
    if value.fixed is not None and math.isfinite(value.fixed.low):
        spans.append(_interval(value.fixed, "fixed_models"))
    if math.isfinite(value.low):
        spans.append(Interval(value.low, value.high, result.inference, value.method, value.level))
    intervals = [_clip_to_unit(span, indicator) for span in spans]
    flags = [*value.flags, *result.flags]
    if case.is_reversed:
        flags.append("REVERSED")
    if (
        value.status == "ok"
        and intervals
        and intervals[-1].inference == "model_population"
        # below 20 respondents an interval over respondents is read, not the number
        and value.n < _MIN_RESPONDENTS
    ):
        flags.append("FEW_MODELS")
    total = len(case.matrices) * len(case.respondents) * case.n_items
    if total and case.unscored / total > _MAX_UNSCORED_SHARE:
        flags.append("UNPARSED")
    if case.withheld:
        flags.append("WITHHELD")
        detail["withheld"] = case.withheld
    # `raw` is what the formula gave before it was cut to its range, where anything was cut.
    detail |= {key: number for key in ("raw", "se") if math.isfinite(number := getattr(value, key))}
    first, *compared = (str(matrix.cell) for matrix in case.matrices)
    return Estimate(
        indicator=f"{case.family}.{name}",
        metric=case.metric.name,
        facet=case.facet,
        first=first,
        other=" & ".join(compared),
        value=value.value if math.isfinite(value.value) else None,
        status=value.status,
        reason=value.reason,
        intervals=tuple(intervals),
        n_respondents=respondents,
        n_items=items,
        unscored=case.unscored,
        flags=tuple(dict.fromkeys(flags)),
        signature=_signature(case, indicator, value.method, respondents, items),
        detail=detail,
    )


def _sample_sizes(case: Case, value: Coefficient) -> tuple[int, int]:
    """How many respondents and items an estimate was computed from."""
    # n is what was used: alpha of 830 items was once printed as that of 1,008.
    respondents = len(case.respondents)
    items = case.n_items
    if value.status in ("ok", "not_informative"):
        # An estimator that does not say how many went in has 0 here.
        if 0 < value.n < respondents:
            respondents = value.n
        if 0 < value.n_items < items:
            items = value.n_items
    return respondents, items


def _left_out_shares(case: Case, respondents: int, items: int) -> dict[str, float]:
    """The shares of respondents and items that an estimate had to leave out."""
    shares = {}
    if respondents < len(case.respondents):
        shares["respondents_left_out"] = 1 - respondents / len(case.respondents)
    if items < case.n_items:
        shares["items_left_out"] = 1 - items / case.n_items
    return shares


def _population_detail(case: Case, indicator: Indicator, result: Result) -> dict[str, object]:
    """What relatives among the respondents mean for other respondents, and why nothing is said of
    those.
    """
    value = result.coefficient
    has_lower_end = math.isfinite(value.low)
    if result.inference != "model_population" or not (has_lower_end or indicator.one_sided):
        return {}
    if value.status != "ok" and not has_lower_end:
        return {}
    details: dict[str, object] = {}
    source = ""
    # without families each respondent is independent, and n_effective is their number
    if case.n_effective is not None and len(set(case.families)) < len(case.respondents):
        if case.families_from_names:
            source = "inferred from their names"
        else:
            source = "as given"
        details = {
            "n_effective": case.n_effective,
            "families": f"{len(set(case.families))}, {source}",
        }
    reason = too_few_families(case.families)
    # A one-sided bound is expected here: where there is none, the page says why.
    if indicator.one_sided and not has_lower_end:
        reason = (
            str(result.detail.get("no_interval_for_others", ""))
            or too_few_respondents(value.n or len(case.respondents), case.families)
            or _NO_LOWER_END
        )
    if reason:
        details["no_interval_for_others"] = f"{reason} (families {source})" if source else reason
    return details


def _signature(case: Case, indicator: Indicator, method: str, respondents: int, items: int) -> str:
    # A mean over runs rests on all of them, and equal signatures must mean equal numbers.
    matrices = case.run_matrices if indicator.over_runs else case.matrices

    def size_text(count: int, total: int) -> str:
        if count == total:
            return str(total)
        return f"{count}of{total}"

    def facet_levels(facet: str) -> str:
        return "~".join(dict.fromkeys(str(getattr(matrix.cell, facet)) for matrix in matrices))

    probabilities = ""
    # another device or library may give other probabilities with the same answers
    if case.probabilities is not None:
        probabilities = digest_bytes(case.probabilities.tobytes())
    return sign(
        {
            "benchmark": case.protocol.benchmark,
            "data": case.protocol.data,
            "scorer": case.protocol.scorer,
            "metric": "~".join(dict.fromkeys(metric.name for metric in case.metrics)),
            **{
                facet: facet_levels(facet)
                for facet in ("form", "run", "judge", "sight", "until", "resolution")
            },
            "rules": case.protocol.rules,
            "respondents": (
                f"{size_text(respondents, len(case.respondents))}#{digest(list(case.respondents))}"
            ),
            "items": len(case.first.items)
            if items == case.n_items
            else size_text(items, case.n_items),
            "answers": digest([matrix.answers for matrix in matrices]),
            "probabilities": probabilities,
            "statistic": labelled("statistic", f"{case.family}.{indicator.name}"),
            "interval": method.replace(" ", "_") or "none",
            "hqm": __version__,
        }
    )


def _clip_to_unit(interval: Interval, indicator: Indicator) -> Interval:
    """An interval without the values that the indicator cannot have; an open end stays open."""
    minimum = indicator.unit.minimum
    maximum = indicator.unit.maximum
    # a bound below the least possible value says no more than that value
    low = min(max(interval.low, minimum), maximum)
    if interval.high == math.inf:
        return replace(interval, low=low)
    return replace(interval, low=low, high=max(min(interval.high, maximum), minimum))


def _interval(bounds: ConfidenceInterval, inference: str) -> Interval:
    return Interval(bounds.low, bounds.high, inference, bounds.method, bounds.level)


_METRIC_FREE_FAMILIES = (SOLVABILITY, TYPES)
"""The families of one administration that do not depend on the metric."""


def compare(
    facet: str,
    first: ScoreMatrix,
    second: ScoreMatrix,
    metric: Metric,
    protocol: Protocol,
    *,
    second_metric: Metric | None = None,
    runs: Sequence[ScoreMatrix] = (),
    **settings: object,
) -> list[Estimate]:
    """All estimates of one pair of administrations.

    Parameters
    ----------
    facet
        The one facet in which they differ.
    first, second
        The administrations; the first is the reference.
    metric, second_metric
        The metric of the first, and of the second where it has its own (people's labels).
    protocol
        What stands in the signatures.
    runs
        All runs of the reference form, the reference first: they show the noise of the seeds when
        forms are compared.
    settings
        `deterministic`, `n_effective`, `families` (in the order of the first) and
        `families_from_names`, as in `Case`.
    """
    family = family_of(facet, first, second)
    # Of forms the runs tell the noise of the seeds, of judges that of the answers (`judge_share`).
    if facet in ("form", "judge"):
        repeats = _all_runs(runs, metric, protocol, settings)
    else:
        repeats = None
    pair = case(
        family,
        facet,
        (first, second),
        metric,
        protocol,
        second_metric=second_metric,
        repeats=repeats,
        **settings,
    )
    if family in (CRITERION.name, ORACLE.name):
        return say_who_labelled(estimates(pair), second.cell.judge)
    # Not of runs: `compare_runs` estimates their components from all of them at once.
    is_crossed = family in ("parallel_forms", "judge_consistency", "judge_agreement")
    return [*estimates(pair), *(_components(pair) if is_crossed else ())]


def compare_runs(
    runs: Sequence[ScoreMatrix], metric: Metric, protocol: Protocol, **settings: object
) -> list[Estimate]:
    """What all runs of one form together say of test-retest reliability."""
    joint_case = _all_runs(runs, metric, protocol, settings)
    if joint_case is None:
        return []
    return [*estimates(joint_case), *_components(joint_case)]


def compare_forms(
    forms: Sequence[ScoreMatrix], metric: Metric, protocol: Protocol, **settings: Any
) -> list[Estimate]:
    """What all wordings, the reference first, together say of how far scores survive another.

    From two alone nothing can be said of others, and the estimate gives that as its reason.
    """
    if len(forms) < 2:
        return []
    joint_case = case("parallel_forms", "form", forms, metric, protocol, is_joint=True, **settings)
    # Of two forms `compare` has the components already.
    return [*estimates(joint_case), *(_components(joint_case) if len(forms) > 2 else ())]


def _components(crossed: Case) -> list[Estimate]:
    return estimates(replace(crossed, family=GENERALIZABILITY.name))


def _all_runs(
    runs: Sequence[ScoreMatrix], metric: Metric, protocol: Protocol, settings: Mapping[str, Any]
) -> Case | None:
    if len(runs) < 2:
        return None
    return case("test_retest", "run", runs, metric, protocol, is_joint=True, **settings)


def compare_stage(
    stage: StageEvidence,
    first: ScoreMatrix,
    labels: ScoreMatrix,
    protocol: Protocol,
    **settings: Any,
) -> list[Estimate]:
    """What one stage of a judge says of the units that people labelled; the stage's role stands in
    the place of the metric.

    `first` holds the judge's verdicts on the answers, `labels` people's labels of them.
    """
    # A metric of no benchmark, made so that a stage goes the way of every other comparison.
    metric = Metric(stage.role, mean_of("faithful"), share=True)
    stage_case = case("stages", "judge", (first, labels), metric, protocol, stage=stage, **settings)
    return say_who_labelled(estimates(stage_case), HUMAN)


def describe(
    first: ScoreMatrix,
    metric: Metric,
    protocol: Protocol,
    form: Form,
    claimed: Iterable[str],
    *,
    leading: bool = True,
    families: Sequence[str] = (),
    blind: ScoreMatrix | None = None,
    runs: Sequence[ScoreMatrix] = (),
    n_effective: float | None = None,
    families_from_names: bool = False,
    seed: int = 0,
    copies: Mapping[str, str] | None = None,
    calibration: Calibration | None = None,
) -> Iterable[Estimate]:
    """All estimates of one administration under one metric.

    `families` names every respondent's family, `blind` is the same administration without pictures,
    where there is one. `runs` are all runs of its form, itself first: graded scores of items are
    means over them. `copies` says which pictures are one picture under several names. `leading`
    says whether this is the first audited metric: what does not depend on the metric is estimated
    once. `calibration` is that of a short form.
    """
    single_case = case(
        "",
        "",
        (first,),
        metric,
        protocol,
        n_effective=n_effective,
        seed=seed,
        families=tuple(families),
        families_from_names=families_from_names,
        blind=blind,
        repeats=_all_runs(runs, metric, protocol, {}),
        form=form,
        claimed=frozenset(claimed),
        copies=copies or {},
        calibration=calibration,
    )
    short_form_families = (SHORT_FORM,) if calibration is not None else ()
    for family in (
        *short_form_families,
        CONSISTENCY,
        DISCRIMINABILITY,
        ITEMS,
        *(_METRIC_FREE_FAMILIES if leading else ()),
    ):
        yield from estimates(replace(single_case, family=family.name))


def expected(
    reference: Case, probabilities: Array, temperature: float | None
) -> Iterable[Estimate]:
    """The expected test-retest reliability of a share of right answers.

    Parameters
    ----------
    reference
        The reference administration.
    probabilities
        (respondents, items): the probability that the answer is right, as it was drawn; NaN where
        it is not known.
    temperature
        The one temperature at which all respondents answered; None where they differ, and there is
        no curve.
    """
    return estimates(replace(reference, probabilities=probabilities, temperature=temperature))


def people_agree(
    reference: Case, raters: Mapping[str, Mapping[tuple[str, str], float]]
) -> list[Estimate]:
    """How far the people who labelled agree, which bounds what any score can reach against them,
    and what they differ in.
    """
    return say_who_labelled(estimates(replace(reference, raters=raters)), HUMAN)
