"""What to do about a test of the gate that did not pass, with the number that it takes where the
audit tells it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hqm.auditing.definitions import LeakShown
from hqm.auditing.policy import Requirement
from hqm.types import Estimate

_GROWS = frozenset(
    ("rho_g", "pearson", "icc_a1", "icc_c1", "ccc", "alpha", "omega_total", "split_half")
)
"""Statistics of a score's reliability: they grow with its items as Spearman and Brown's formula
says.
"""
_FISHER = _GROWS | {
    "spearman",
    "tau_b",
    "disattenuated",
    "pearson_same_items",
    "pearson_given_length",
    "kappa",
}
"""Statistics between -1 and 1 whose interval is judged on Fisher's scale."""
_LARGEST = 1e7
"""A number beyond this is no advice."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """What to do, in a sentence, and the number of what must be raised."""

    text: str
    needed: float | None = None
    """Items, respondents or answers that the policy takes in all."""


_PLACES = frozenset(
    ("odd or even place", "place within the cluster", "tenth of the file", "label before")
)
_NUMBERS = frozenset(("odd or even number", "last digit"))
_MORE = {"model_population": "respondents", "fixed_models": "items", "items": "items"}
_OTHERWISE = {
    "test_retest": "average several seeds, or drop the claim that one run ranks the respondents",
    "parallel_forms": (
        "report each wording by itself, and drop the claim that a score holds for other wordings"
    ),
    "criterion": (
        "read the answers on which scorer and people disagree, correct the scorer, or drop the"
        " claim that it follows people"
    ),
    "oracle": "read the answers on which scorer and oracle disagree, and correct one of them",
    "consistency": "report the types by themselves, or drop the claim of one total",
    "discriminability": "drop the claim that respondents this close are separated",
}
_FACETS = {
    "run": "Ask the original form again with another seed: --runs 2",
    "form": "Ask a parallel form too: --forms original,parallel",
    "judge": "Give labels by people (--criterion FILE), or let another model judge (--judge)",
    "sight": "Ask without the pictures too: `hqm run NAME --blind`",
    "resolution": "Ask with smaller pictures too: --resolution 50",
}


def of_facet(facet: str) -> Remedy:
    """A facet was not varied."""
    return Remedy(f"{_FACETS[facet]}; or take it out of the policy key `required.facets`")


def of_count(n: int, least: int, what: str, key: str) -> Remedy:
    """There are too few of something."""
    return Remedy(
        f"Raise the number of {what} from {n:,} to {least:,}; or change the policy key `{key}`",
        float(least),
    )


def of_unscored(total: int, lost: int, most: float, advice: str) -> Remedy:
    """Too many answers of an administration are not scored."""
    allowed = math.floor(most * total + 1e-9)
    first = f"{advice}; then r" if advice else "R"
    text = (
        f"{first}ead the unscored answers and get at least {lost - allowed:,} of the {lost:,}"
        " scored (a parser that accepts them, or asking again); or change the policy key"
        " `limits.unscored`"
    )
    return Remedy(text, float(total - allowed))


def of_threshold(estimate: Estimate, wanted: Requirement, value: float, end: float) -> Remedy:
    """The end of an interval misses its threshold."""
    key = f"or change `{wanted.rule}` of `{wanted.indicator}` in the policy"
    family, _, statistic = estimate.indicator.partition(".")
    if wanted.exact:
        named = [
            str(row["item"]) for row in estimate.detail.get("candidates") or () if "item" in row
        ]
        named = named or [str(item) for item in _listed(estimate.detail.get("items"))]
        such = f" ({', '.join(named[:8])}{', ...' if len(named) > 8 else ''})" if named else ""
        return Remedy(f"Read the items{such}, correct their right answers or take them out; {key}")
    what = _MORE.get(wanted.interval, "")
    n = estimate.n_respondents if what == "respondents" else estimate.n_items
    if wanted.rule == "within":
        value, end = abs(value), abs(end)
    needed = _needed(statistic, family, what, n, value, end, wanted)
    otherwise = _OTHERWISE.get(family, "drop the claim")
    if needed is None:
        missed = value < wanted.bound if wanted.at_least is not None else value > wanted.bound
        first = (
            f"More {what or 'data'} will not do, for the number itself misses it"
            if missed
            else f"Raise the number of {what or 'items'}"
        )
        return Remedy(f"{first}; {otherwise}; {key}")
    also = (
        f" (or average {math.ceil(needed / max(n, 1)):,} seeds)"
        if family == "test_retest" and what == "items"
        else ""
    )
    return Remedy(
        f"Raise the number of {what} from {n:,} to about {needed:,}{also}; {otherwise}; {key}",
        float(needed),
    )


def _listed(items: object) -> tuple[object, ...]:
    return tuple(items) if isinstance(items, list | tuple) else ()


def _needed(
    statistic: str, family: str, what: str, n: int, value: float, end: float, wanted: Requirement
) -> int | None:
    """How many items or respondents bring the end to the threshold; None where no number does."""
    bound = wanted.bound
    if not what or n < 1:
        return None
    if (
        what == "items"
        and family in ("test_retest", "consistency")
        and statistic in _GROWS
        and wanted.at_least is not None
    ):
        # the end's own reliability, lengthened until it reaches the threshold
        if not 0 < end < 1 or not 0 < bound < 1:
            return None
        return _whole(n * bound * (1 - end) / (end * (1 - bound)))
    inside = statistic in _FISHER and all(-1 < x < 1 for x in (value, end, bound))
    v, e, b = (math.atanh(x) if inside else x for x in (value, end, bound))
    room, reach = (v - b, v - e) if wanted.at_least is not None else (b - v, e - v)
    # the half-width shrinks with the root of the number
    return _whole(n * (reach / room) ** 2) if room > 0 else None


def _whole(number: float) -> int | None:
    return math.ceil(number - 1e-9) if number < _LARGEST else None


def of_missing_interval(estimate: Estimate, interval: str) -> Remedy:
    """An estimate has a number, and no interval of the kind that the policy names."""
    key = f"or ask for another interval of `{estimate.indicator}` in the policy"
    if interval == "model_population" and estimate.n_respondents < 10:
        text = (
            "An interval over other respondents needs about 10 of them, in several families: raise"
            f" the number from {estimate.n_respondents} to 10"
        )
        return Remedy(f"{text}; {key}", 10.0)
    return Remedy(
        "A point estimate is no evidence: see the estimate's reason and methods in audit.json;"
        f" {key}"
    )


def of_unmeasured(family: str, indicator: str) -> Remedy:
    """The audit has no such number."""
    facets = {
        "test_retest": "run",
        "parallel_forms": "form",
        "blindness": "sight",
        "resolution": "resolution",
    }
    if family == "criterion":
        text = "Have people label a few hundred answers: --criterion FILE"
    elif family in facets:
        text = _FACETS[facets[family]]
    else:
        text = "Read its reason in audit.json and give what it lacks"
    return Remedy(f"{text}; or take `{indicator}` out of the policy")


def of_leak(leak: LeakShown) -> Remedy:
    """A type or part can be answered without its pictures."""
    # what the words give away, single features of the words give away too
    placed = [cue for cue in leak.by if cue in _PLACES or cue in _NUMBERS]
    ways = dict.fromkeys(
        _way(cue) for cue in (["words", *placed] if "words" in leak.by else leak.by[:4])
    )
    return Remedy(
        f"{'; '.join(ways)}; or take {leak.name} out, or drop the claim on it; or change the policy"
        " key `limits.leak`"
    )


def _way(cue: str) -> str:
    if cue == "words":
        return (
            "Ask the same questions about pictures with the other answer, until the words say"
            " nothing"
        )
    if cue in _PLACES:
        return "Shuffle the items of the file with a seed that you publish"
    if cue in _NUMBERS:
        return "Number the items anew after shuffling them"
    return f"Give questions of all answers the same {cue}"


def of_weak_search(name: str, items: int, detectable: float, most: float) -> Remedy:
    """A type or part has too few items for a leak of this size to be shown."""
    needed = math.ceil(items * (detectable / most) ** 2)
    text = (
        f"Raise the number of items in {name} from {items:,} to about {needed:,}; or change the"
        " policy key `limits.leak_found`"
    )
    return Remedy(text, float(needed))
