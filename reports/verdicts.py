"""The answers of the first screen in a few words, each by the end of an interval and by the
policy's goal.
"""

from __future__ import annotations

import math

from hqm.reports.details import by_people, goal, known, rows
from hqm.reports.tables import estimate_text, find, leading, number, percent
from hqm.reports.units import in_units

from hqm import (
    BenchmarkAudit,
    Estimate,
    Gate,
    Policy,
    contradictory_keys,
    types_measured,
    wrong_keys,
)

NOT_MEASURED = "Not measured."


def repeats(audit: BenchmarkAudit, policy: Policy | None = None) -> str:
    """Whether the scores repeat."""
    rho = find(audit, "test_retest.rho_g", leading(audit))
    if rho is None or rho.value is None:
        return NOT_MEASURED
    if rho.status == "not_informative":
        return "This audit does not say."
    return _against(
        rho, goal("test_retest.rho_g", policy).at_least, f"rho_G {estimate_text(rho).text}"
    )


def moved(audit: BenchmarkAudit, policy: Policy | None = None) -> str:
    """Whether another wording moves the scores."""
    metric = leading(audit)
    shifts = [
        e
        for e in audit.estimates
        if e.indicator == "parallel_forms.mean_shift" and e.metric == metric and e.value is not None
    ]
    if not shifts:
        return NOT_MEASURED
    shift = max(shifts, key=lambda e: abs(e.value or 0.0))
    near = shift.interval("fixed_models") or shift.interval("model_population")
    if near is None or near.low <= 0 <= near.high:
        return "A shift of the mean is not shown."
    return f"Yes: the mean moves by {in_units(audit, metric, shift.value)}."


def follows(audit: BenchmarkAudit, policy: Policy | None = None) -> str:
    """Whether the scores follow people."""
    measured = [
        e
        for e in audit.estimates
        if e.indicator == "criterion.pearson" and e.metric == leading(audit) and by_people(e)
    ]
    known_ones = [e for e in measured if e.value is not None]
    if not known_ones:
        return NOT_MEASURED
    wanted = goal("criterion.pearson", policy)
    span = known_ones[0].interval(wanted.inference) or known_ones[0].interval("fixed_models")
    if span is None:
        return "Not shown: the correlation has no interval."
    shown = f"r {estimate_text(known_ones[0]).text}"
    if span.low >= wanted.at_least:
        return f"Yes ({shown}), as the policy asks."
    return (
        f"Too little for the policy ({shown})."
        if span.high < wanted.at_least
        else f"Not shown ({shown}): the interval contains the goal."
    )


def separated(audit: BenchmarkAudit, policy: Policy | None = None) -> str:
    """How many pairs of respondents were separated."""
    share = find(audit, "discriminability.separable_pairs", leading(audit))
    if share is None or share.value is None:
        return NOT_MEASURED
    apart, pairs = (known(share.detail.get(name)) for name in ("apart", "pairs"))
    return (
        f"{apart:,.0f} of {pairs:,.0f} pairs."
        if apart is not None and pairs
        else f"{percent(share.value)} of the pairs."
    )


def faulty(audit: BenchmarkAudit, policy: Policy | None = None) -> str:
    """Which items are bad."""
    of = wrong_keys(audit)
    against = len(contradictory_keys(audit))
    parts = (
        [f"{against:,} contradictory keys" if against != 1 else "1 contradictory key"]
        if against
        else []
    )
    if of.expected is not None and of.shown and of.expected >= 1:
        expected = number(of.expected, 0)
        parts.append(f"about {expected} items that able respondents fail and weak ones pass")
    elif of.count:
        parts.append(f"{of.count:,} items that able respondents fail and weak ones pass")
    if parts:
        return f"{'; '.join(parts).capitalize()}: read these first."
    tested = find(audit, "items.label_errors", leading(audit))
    if of.expected is None and (tested is None or tested.value is None):
        return NOT_MEASURED
    return "None that this audit shows."


def more_items(audit: BenchmarkAudit, policy: Policy | None = None) -> str:
    """How many more items the goals take."""
    metric = leading(audit)
    rho, wanted = (
        find(audit, "test_retest.rho_g", metric),
        goal("test_retest.rho_g", policy).at_least,
    )
    parts = []
    if rho is not None and rho.value is not None and rho.status == "ok":
        near = rho.interval("fixed_models") or rho.interval("model_population")
        start = rho.value if rho.value < wanted or near is None else near.low
        if near is None:
            pass
        elif near.low >= wanted:
            parts.append("none for the reliability")
        elif 0 < start < 1:
            factor = wanted / (1 - wanted) * (1 - start) / start
            more = math.ceil(rho.n_items * factor - 1e-9) - rho.n_items
            parts.append(
                f"{more:,} for the reliability (by its forecast), or {math.ceil(factor - 1e-9):,}"
                " runs"
            )
        else:
            parts.append("more items will not make the scores repeat")
    estimated = {row.get("type") for row in rows(find(audit, "types.index", metric), "types")}
    lacking = [
        row
        for row in types_measured(audit)
        if row.items and row.type in estimated and not (row.measurable or row.at_chance)
    ]
    if lacking:
        most = max(lacking, key=lambda row: row.missing)
        if len(lacking) == 1:
            parts.append(f"{most.missing:,} more of {most.type} for a score of its own")
        else:
            total = sum(row.missing for row in lacking)
            parts.append(f"{total:,} more for scores by type ({most.missing:,} of {most.type})")
    elif estimated:
        parts.append("none for scores by type")
    return f"{_capital('; '.join(parts))}." if parts else NOT_MEASURED


def quotable(gate: Gate) -> str:
    """Whether the policy lets the scores be quoted."""
    outcomes = [test.outcome for test in gate.tests]
    if gate.passed:
        return f"The policy “{gate.policy}” is passed."
    counts = [
        f"{outcomes.count(outcome)} {words}"
        for outcome, words in (("FAIL", "failed"), ("NOT MEASURED", "not measured"))
        if outcome in outcomes
    ]
    return (
        f"With intervals; the policy “{gate.policy}” is not passed: {', '.join(counts)}, of"
        f" {len(outcomes)} tests."
    )


def _against(estimate: Estimate, wanted: float, shown: str) -> str:
    """Where the ends of an estimate's intervals lie against a goal; `shown` is the number with its
    name.
    """
    these, others = estimate.interval("fixed_models"), estimate.interval("model_population")
    near = these or others
    if near is None:
        return f"Not shown ({shown}): there is no interval."
    if near.low >= wanted:
        for_others = others is not None and others.low >= wanted
        return (
            f"Yes ({shown}), for these"
            f" respondents{' and others like them' if for_others else '; not shown for others'}."
        )
    return (
        f"No ({shown}): the goal is missed."
        if near.high < wanted
        else f"Not shown ({shown}): the interval contains the goal."
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
