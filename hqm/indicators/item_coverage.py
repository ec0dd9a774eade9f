"""What a benchmark's items cover."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import compress
from typing import TypedDict

import numpy as np

from hqm.indicators.cases import Case, leave_one_out_scores
from hqm.indicators.indicator import (
    LOGITS,
    MEAN_OF_ITEMS,
    SHARE,
    TYPE_COUNT,
    TYPES,
    Indicator,
    Result,
    need,
    need_study,
    result,
)
from hqm.lint.answer_leaks import LARGEST_ERROR
from hqm.psychometrics import (
    Coefficient,
    cronbach_alpha,
    differential_functioning,
    subscore_value,
    type_coverage,
)
from hqm.psychometrics.inference.distributions import binomial_above
from hqm.psychometrics.items.coverage import (
    MIN_CLUSTERS,
    Coverage,
    StandardError,
    Subscore,
    cluster_standard_error,
)
from hqm.psychometrics.items.type_strengths import DifferentialFunctioning
from hqm.types import CLOSED_TASKS, Count, Form, finite, types_in


class CoverageRow(TypedDict):
    """What a benchmark has of one type (`TypeCoverage`)."""

    type: str
    claimed: bool
    items: int
    images: int
    wordings: int
    labelled: bool
    state: str


@dataclass(frozen=True, slots=True)
class TypeCoverage:
    """What a benchmark has of one hallucination type."""

    type: str
    claimed: bool
    items: Count
    images: Count
    wordings: Count
    labelled: bool = True

    @property
    def state(self) -> str:
        """`labelled`, `by design` (no labels, but nothing else is asked), `claimed` (said, but no
        item), or `absent`.
        """
        if self.items:
            if self.labelled:
                return "labelled"
            return "by design"
        if self.claimed:
            return "claimed"
        return "absent"


def coverage(form: Form, claimed: Iterable[str], labelled: bool = True) -> tuple[TypeCoverage, ...]:
    """The types of a benchmark with their items, pictures and distinct wordings.

    A type that the card claims but no item has counts as claimed, never as covered. `labelled` says
    whether the release itself carries the labels.
    """
    claimed_types = set(claimed)
    rows = []
    for kind in types_in(form.items, claimed_types):
        items = [item for item in form.items if item.type == kind]
        images = {item.image for item in items if item.image}
        # Case and spare blanks make no other wording.
        wordings = {" ".join(item.prompt.lower().split()) for item in items}
        is_claimed = kind in claimed_types
        rows.append(
            TypeCoverage(kind, is_claimed, len(items), len(images), len(wordings), labelled)
        )
    return tuple(rows)


def _coverage(case: Case) -> Coverage:
    """The types by their errors as shares of the scale; without a scale by their items alone."""
    items = case.items
    # only a mean of shares has the binomial error of independent items as its forecast
    plain = case.metric.share and case.additive and not case.metric.group
    return type_coverage(
        [item.type for item in items],
        types_in(items, case.claimed),
        images=[item.cluster or item.id for item in items],
        questions=[item.prompt for item in items],
        claimed=set(case.claimed),
        sem=LARGEST_ERROR,
        scores=case.first_scores if plain else None,
        errors=None if plain else _errors(case),
    )


def _errors(case: Case) -> dict[str, StandardError]:
    """Type -> the standard error of its score by the metric, as a share of the scale, clusters left
    out in turn; root mean square over respondents.
    """
    errors: dict[str, StandardError] = {}
    if None in case.metric.ends:
        return errors
    width = case.scale[1]
    method = "clusters left out, root mean square over respondents"
    types = np.array([item.type or "" for item in case.first.items])
    for kind in _kinds(case):
        units = case.first.units(case.metric, types == kind)
        replicates = leave_one_out_scores(units, case.metric) / width
        count = replicates.shape[1]
        if count < MIN_CLUSTERS:
            continue
        with np.errstate(invalid="ignore"):
            deviations = replicates - replicates.mean(axis=1, keepdims=True)
            # The summands of the jackknife variance: `cluster_standard_error` adds them, clusters
            # in the place of items.
            variances = (count - 1) / count * deviations**2
        finite_variances = variances[np.isfinite(variances).all(axis=1)]
        if len(finite_variances):
            errors[kind] = cluster_standard_error(finite_variances.mean(axis=0), method)
    return errors


def _index(case: Case) -> Result:
    """The row of a type says whether it is measurable here and, where its own score was looked at,
    what it adds to the total.
    """
    study = case.cached(_coverage)
    # Errors are shares of the scale in the study, and in the unit of the scores in the report.
    width = case.scale[1]
    subscores: dict[str, dict[str, float | None]] = {}
    if MEAN_OF_ITEMS.check(case) is None and len(_kinds(case)) >= 2:
        for subscore in _estimated(case.cached(_subscores)):
            subscores[subscore.name] = {
                "adds_value": subscore.adds,
                "adds_value_certainly": subscore.certain,
                "prmse": finite(subscore.by_subscore),
                "prmse_of_total": finite(subscore.by_total),
                "gain_low": finite(subscore.gain.low),
                "gain_high": finite(subscore.gain.high),
            }
    rows = []
    for t in study.types:
        at_chance = _at_chance(case, t.name)
        rows.append(
            {
                "type": t.name,
                "items": t.items,
                "images": t.images,
                "wordings": t.wordings,
                "share": finite(t.share),
                **_reliability(case, t.name),
                "sem": finite(t.sem * width),
                "sem_high": finite(t.sem_high * width),
                "measured": t.measured,
                # Where everybody guesses, more items measure nothing more exactly.
                "missing_items": 0 if at_chance else t.missing_items,
                "at_chance": at_chance,
                "state": t.state,
                # Every row has the same fields: the reader of audits takes `types` for a table, and
                # refuses others.
                **subscores.get(t.name, _NO_SUBSCORE),
            }
        )
    return result(
        study.index,
        types=rows,
        n_min=study.n_min,
        unlabelled=study.unlabelled,
        largest_error=LARGEST_ERROR * width,
    )


_NO_SUBSCORE: dict[str, float | None] = dict.fromkeys(
    ("adds_value", "adds_value_certainly", "prmse", "prmse_of_total", "gain_low", "gain_high")
)


def _at_chance(case: Case, kind: str) -> bool:
    """Whether no respondent is shown above chance in a type, and their mean is within .05 of it.

    Chance is a guess among the options, or always the commonest key. One-sided binomial tests,
    Bonferroni over respondents.
    """
    # a binomial test needs scores that count right answers
    if not case.metric.share or MEAN_OF_ITEMS.check(case) is not None:
        return False
    in_type = case.types == kind
    items = list(compress(case.items, in_type))
    if not items or not all(item.task in CLOSED_TASKS for item in items):
        return False
    keys = Counter(compress(case.keys, in_type))
    # a guess among the options; of open or two-sided questions one half
    guess = np.mean([1 / max(len(item.options), 2) for item in items])
    chance = max(float(guess), max(keys.values()) / len(items))
    right = case.oriented[:, in_type]
    n_answers = np.isfinite(right).sum(axis=1)
    if not n_answers.any():
        # where nothing was read, nothing is known of chance
        return False
    total = np.nansum(right, axis=1)
    # P(X >= right) under chance; scores of shares are rounded to whole answers
    p_values = binomial_above(np.round(total) - 1, n_answers, chance)
    mean = total.sum() / max(int(n_answers.sum()), 1)
    # Bonferroni: the least of the p-values times their number
    return bool(p_values.min() * len(right) >= 0.05 and mean <= chance + 0.05)


def _reliability(case: Case, kind: str) -> dict[str, float | None]:
    """Cronbach's alpha of a type's items, pictures being the parts of the test, with its interval
    over respondents.
    """
    in_type = case.types == kind
    if MEAN_OF_ITEMS.check(case) is not None or in_type.sum() < 2:
        return {"alpha": None, "alpha_low": None, "alpha_high": None}
    study = cronbach_alpha(
        case.first_scores[:, in_type],
        case.clusters[in_type],
        **case.dependence,
        drop="answers",
    )
    alpha = study.coefficient
    return {
        "alpha": finite(alpha.value),
        "alpha_low": finite(alpha.low),
        "alpha_high": finite(alpha.high),
    }


def _effective(case: Case) -> Result:
    study = case.cached(_coverage)
    return result(study.effective, evenness=finite(study.evenness.value))


def _kinds(case: Case) -> set[str]:
    """The different types of the items."""
    return set(case.types.tolist()) - {""}


def _subscores(case: Case) -> tuple[Subscore, ...]:
    typed = case.types != ""
    return subscore_value(case.first_scores[:, typed], case.types[typed].tolist())


def _estimated(subscores: Iterable[Subscore]) -> list[Subscore]:
    return [subscore for subscore in subscores if subscore.status == "ok"]


def _added_value(case: Case) -> Result:
    """The number of types of which the own score is shown to say more than the total: the 95 %
    interval of the gain lies above 0.
    """
    scores = case.cached(_subscores)
    rows = [
        {
            "type": s.name,
            "items": s.items,
            "by_subscore": finite(s.by_subscore),
            "by_total": finite(s.by_total),
            "gain": finite(s.gain.value),
            "gain_low": finite(s.gain.low),
            "gain_high": finite(s.gain.high),
            "adds": s.adds,
            "certain": s.certain,
            "status": s.status,
            "reason": s.reason,
        }
        for s in scores
    ]
    # Haberman (2008): a subscore is worth reporting where its PRMSE is above that of the total.
    estimated = _estimated(scores)
    if not estimated:
        return result(Coefficient.absent(scores[0].status, scores[0].reason), types=rows)
    # certain: the lower end of the gain is above 0
    return result(float(sum(subscore.certain for subscore in estimated)), types=rows)


_FAMILY = (TYPES,)
_TWO_TYPES = need(
    "two types",
    lambda case: len(_kinds(case)) >= 2,
    "there are fewer than two types",
)


def _type_functioning(case: Case) -> DifferentialFunctioning:
    return _functioning(case, case.types.tolist())


def _key_functioning(case: Case) -> DifferentialFunctioning:
    # other keys than yes and no are no part of the comparison
    keys = np.array(case.keys)
    return _functioning(case, np.where(np.isin(keys, ("yes", "no")), keys, "").tolist())


def _functioning(case: Case, parts: list[str]) -> DifferentialFunctioning:
    # Logits are of shares of the scale, of which more is better.
    return differential_functioning(case.shares(case.oriented), parts, case.families)


def _largest(study: DifferentialFunctioning) -> Result:
    """The largest difference of a part and a family, without its sign."""
    rows = [{**asdict(row), "p": finite(row.p), "large": row.large} for row in study.rows]
    return result(
        max(abs(row.logits) for row in study.rows),
        flags=("FAVOURS_FAMILY",) if study.favours else (),
        tested=study.tested,
        favours=[f"{row.part}: {row.group}" for row in study.favours],
        parts=rows,
    )


def _family_types(case: Case) -> Result:
    """As `_largest` says, of the types."""
    return _largest(case.cached(_type_functioning))


def _family_keys(case: Case) -> Result:
    """As `_largest` says, of yes-keys and no-keys, which are one difference."""
    return _largest(case.cached(_key_functioning))


_FAMILIES = need("the families of the respondents", lambda case: len(set(case.families)) > 1)


indicators = (
    Indicator(
        name="index",
        unit=SHARE,
        family=_FAMILY,
        compute=_index,
        explains=(type_coverage,),
        headline=_FAMILY,
        meaning=(
            "Share of the eight types whose score has a standard error of at most .03 of the scale"
            " in these answers."
        ),
    ),
    Indicator(
        name="effective",
        unit=TYPE_COUNT,
        family=_FAMILY,
        compute=_effective,
        explains=(type_coverage,),
        headline=_FAMILY,
        meaning="Effective number of types (exponential of the entropy).",
    ),
    Indicator(
        name="added_value",
        unit=TYPE_COUNT,
        family=_FAMILY,
        needs=(MEAN_OF_ITEMS, _TWO_TYPES),
        compute=_added_value,
        digits=0,
        meaning=(
            "Types whose own score is shown to predict the type better than the total does"
            " (Haberman)."
        ),
        explains=(subscore_value,),
    ),
    Indicator(
        name="family_types",
        unit=LOGITS,
        title="types that favour a family",
        family=(TYPES,),
        needs=(MEAN_OF_ITEMS, _FAMILIES, need_study("two families to compare", _type_functioning)),
        compute=_family_types,
        explains=(differential_functioning,),
        better="lower",
        digits=2,
        meaning=(
            "How much easier a type is for one family than its answers to the other types predict,"
            " at most, in logits; tested from 10 respondents against 10."
        ),
    ),
    Indicator(
        name="family_keys",
        unit=LOGITS,
        title="keys that favour a family",
        family=(TYPES,),
        needs=(
            MEAN_OF_ITEMS,
            need(
                "yes/no questions",
                lambda case: {"yes", "no"} <= set(case.keys),
            ),
            _FAMILIES,
            need_study("two families to compare", _key_functioning),
        ),
        compute=_family_keys,
        explains=(differential_functioning,),
        better="lower",
        digits=2,
        meaning=(
            "How much easier questions with the key yes are for one family than those with the key"
            " no predict, in logits: whether a family leans to an answer."
        ),
    ),
)
