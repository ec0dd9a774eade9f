"""A table of an audit's numbers beside those computed by pingouin, statsmodels and scipy."""

from __future__ import annotations

from hqm.reports.pages.phrases import join_names
from hqm.reports.tables.table import Column, Table, Text, number

from hqm.auditing.opinion import Check, Outcome, SecondOpinion

OUTCOMES: dict[Outcome, str] = {
    "agrees": "agrees",
    "differs": "DIFFERS",
    "other_definition": "other definition",
    "not_computed": "no number",
}


def opinion_table(opinion: SecondOpinion) -> Table:
    """Return a row for each number: ours, the library's, the difference and what is tolerated."""
    columns = (
        Column("number", "text"),
        Column("metric", "text"),
        Column("computed by", "text"),
        Column("HQM"),
        Column("library"),
        Column("difference"),
        Column("tolerance"),
        Column("outcome", "text"),
        Column("definitions", "text"),
    )
    rows = tuple(map(_row, opinion.checks))
    caption = f"{opinion.title}: numbers computed again from the recorded answers"
    return Table("tab:check", caption, columns, rows, tuple(_sentences(opinion)))


def _row(check: Check) -> tuple[Text, ...]:
    return (
        Text(check.quantity),
        Text(check.metric),
        Text(check.library),
        Text(number(check.ours, 4), value=check.ours),
        Text(number(check.theirs, 4), value=check.theirs),
        Text(_small(check.difference), value=check.difference),
        Text(_small(check.tolerance), value=check.tolerance),
        Text(OUTCOMES[check.outcome]),
        Text(check.reason),
    )


def _small(value: float | None) -> str:
    """Return a difference: in powers of ten where it is only rounding."""
    if value is not None and 0 < abs(value) < 5e-5:
        return f"{value:.0e}".replace("-", "−")
    return number(value, 4)


def opinion_lines(opinion: SecondOpinion) -> list[str]:
    """Return what the comparison comes to, a sentence a line, the disagreements first."""
    n_judged = len(opinion.judged)
    n_agreeing = n_judged - len(opinion.findings)
    versions = join_names(list(map(" ".join, opinion.versions.items())))
    line = f"{opinion.title}: no number was computed again."
    if n_judged:
        line = f"{opinion.title}: {n_agreeing} of {n_judged} numbers agree with {versions}."
    return [line, *map(_disagreement, opinion.findings), *_sentences(opinion)]


def _disagreement(check: Check) -> str:
    return (
        f"{check.quantity} of {check.metric} differs: {number(check.ours, 4)} here,"
        f" {number(check.theirs, 4)} by {check.library}; the tolerance is"
        f" {_small(check.tolerance)}."
    )


def _sentences(opinion: SecondOpinion) -> list[str]:
    sentences = [f"{remark}." for remark in opinion.remarks]
    n_other = 0
    for check in opinion.checks:
        n_other += check.outcome == "other_definition"
        if check.outcome == "not_computed":
            sentences.append(f"{check.quantity} by {check.library} has no value: {check.reason}.")
    if n_other:
        sentences.append(f"{n_other} further numbers are defined otherwise; the table says how.")
    return sentences
