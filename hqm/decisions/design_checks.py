"""What `hqm design` refuses, because the audit says nothing about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hqm.decisions.design_space import FEWEST_OTHERS, FREE
from hqm.decisions.prices import UnitPrices
from hqm.decisions.targets import Target
from hqm.errors import DesignError, UsageError
from hqm.psychometrics.study_forecast import independent
from hqm.psychometrics.study_variance import StudyParts

_MEASURED_WITH = {
    "runs": (
        "no second run was asked, so that the noise of runs is not known: ask one with `hqm run"
        " NAME --runs 2`"
    ),
    "forms": (
        "no second wording was asked, so that the part of wordings is not known: ask one with `hqm"
        " audit NAME --forms original,parallel`"
    ),
    "labels": (
        "nobody labelled answers, so that the part of labels is not known: plan them with `hqm"
        " label plan`"
    ),
    "judges": (
        "no judge was asked twice about the same answers: ask it again with `hqm audit NAME"
        " --rejudge 2`"
    ),
}


def may_vary(parts: StudyParts, targets: Sequence[Target], prices: UnitPrices) -> frozenset[str]:
    """What a design may vary: all that the audit has measured; labels and respondents where a
    target is about them.
    """
    varied = {"pictures", "items"}
    varied |= {"runs"} if parts.runs > 1 else set()
    varied |= {"forms"} if parts.forms > 1 else set()
    varied |= {"judges"} if parts.judge is not None else set()
    needs = {need for target in targets for need in target.precision.needs}
    varied |= {"labels"} if "labels" in needs and prices.label is not None else set()
    return frozenset(varied | ({"respondents"} if "others" in needs else set()))


def check_measured(
    benchmark: str,
    parts: StudyParts,
    types: Mapping[str, StudyParts],
    targets: Sequence[Target],
    prices: UnitPrices,
    free: Sequence[str],
) -> None:
    """Refuse what the audit says nothing about."""

    def refuse(what: str, remedy: str = "") -> None:
        raise DesignError(f"no design of {benchmark}: {what}", remedy=remedy)

    if unknown := [name for name in free if name not in FREE]:
        raise UsageError(
            f"--free does not know {unknown[0]!r}",
            remedy=f"It knows {', '.join(FREE)}.",
            given=unknown[0],
            known=FREE,
        )
    if parts.status != "ok":
        refuse(parts.reason, "Audit more respondents or more pictures first.")
    measured = {
        "runs": parts.runs > 1,
        "forms": parts.forms > 1,
        "judges": parts.judge is not None,
        "labels": parts.labels is not None,
    }
    needed = [(str(t), need) for t in targets for need in t.precision.needs] + [
        (f"--free {n}", n) for n in free
    ]
    for what, need in needed:
        if not measured.get(need, True):
            reason, _, remedy = _MEASURED_WITH[need].partition(": ")
            refuse(
                f"{what} cannot be forecast, because {reason}", f"{remedy[:1].upper()}{remedy[1:]}."
            )
    if "labels" in free and prices.label is None:
        raise UsageError(
            "labels may vary and have no price",
            remedy="Give minutes and hour under [labels] in prices.toml.",
        )
    if any("others" in t.precision.needs for t in targets):
        if 1 == parts.families < parts.respondents:
            refuse("all respondents are of one family, which says nothing of others")
        if independent(parts) < FEWEST_OTHERS:
            refuse(
                f"{independent(parts):.1f} independent respondents say too little of others;"
                f" {FEWEST_OTHERS} are needed"
            )
    between = ("rho_g", "g", "phi", "forms", "rho_g_half_width")
    if parts.between <= 0 and (about := next((t for t in targets if t.figure in between), None)):
        refuse(f"{about} cannot be forecast, because the respondents do not differ beyond chance")
    for target in targets:
        if target.kind:
            _check_type(benchmark, target, types)


def _check_type(benchmark: str, target: Target, types: Mapping[str, StudyParts]) -> None:
    if target.kind not in types:
        known = ", ".join(types) or "none"
        raise UsageError(
            f"{benchmark} has no hallucination type {target.kind!r}",
            remedy=f"It has {known}.",
            given=target.kind,
            known=tuple(types),
        )
    own = types[target.kind]
    if own.status != "ok":
        raise DesignError(
            f"no design of {benchmark}: of {target.kind}, {own.reason}",
            remedy="Leave this target out.",
        )
