"""The first screen: the results of an audit in plain sentences, made from the estimates, their intervals and their status.

A sentence says no more than the end of an interval supports, for whom (these respondents, or others like them), and from how
many. What was not measured is said with its reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hqm.reports.advice import to_fix
from hqm.reports.details import (
    by_people,
    families_source,
    is_people,
    labelled_by_people,
    rows,
    type_rows,
    with_oracle,
)
from hqm.reports.evidence import SOURCES
from hqm.reports.phrases import Sentence, backed, counted, have, listed, say, used
from hqm.reports.repeating import repeatable, wording
from hqm.reports.score_tables import shares
from hqm.reports.separating import faults, separates
from hqm.reports.tables import (
    estimate_text,
    find,
    leading,
    number,
    percent,
)

from hqm import BenchmarkAudit, Cell, Estimate, Policy

ORACLE = "the benchmark's oracle (a rule that knows the right answers)"


@dataclass(frozen=True, slots=True)
class Point:
    """One line of the first screen: a question a reader has, and the answer in sentences."""

    question: str
    sentences: tuple[Sentence, ...]


def in_short(audit: BenchmarkAudit, policy: Policy | None = None) -> list[Point]:
    """What a reader wants to know first; goals are those of the policy, of the default one unless given."""
    return [
        Point("What was audited?", audited(audit)),
        Point("Do the scores repeat?", repeatable(audit, policy)),
        Point("Does the wording change them?", wording(audit)),
        Point("Do they agree with people?", criterion(audit)),
        Point("Which types are covered?", types(audit)),
        Point("Which respondents did it separate?", separates(audit)),
        Point("Are items faulty?", faults(audit)),
        Point("What to fix first", to_fix(audit, policy)),
    ]


def audited(audit: BenchmarkAudit) -> tuple[Sentence, ...]:
    """Items, pictures, respondents, forms, seeds, judges, and how much was not scored."""
    cells = [Cell.parse(name) for name in audit.cells]
    forms = list(dict.fromkeys(c.form for c in cells))
    runs = len({c.run for c in cells if c.form == Cell.parse(audit.reference).form})
    judges = list(dict.fromkeys(c.judge for c in cells if c.judge != "rule"))
    total, lost = shares(audit)
    scored_by = f"judged by {listed(judges)}" if judges else "scored by a rule (not by a model)"
    return (
        say(
            "{items}" + (" about {images}" if audit.images else " without pictures")
            + ", answered by {n} in {forms} ({names}); the original form was asked {runs}.",
            items=counted(audit.items, "item"), images=counted(audit.images, "picture"), n=_respondents(audit),
            forms=counted(len(forms), "form"), names=", ".join(forms), runs="once" if runs == 1 else f"in {counted(runs, 'run')}",
        ),
        say(
            "{total}, {by}; " + ("{lost} of them were not scored ({share})." if lost else "all of them were scored.") + "{labels}",
            total=counted(total, "answer"), by=scored_by, lost=lost, share=percent(lost / total if total else 0.0, 1),
            labels=_labels(audit),
        ),
    )  # fmt: skip


def _respondents(audit: BenchmarkAudit) -> str:
    many = counted(len(audit.respondents), "respondent")
    families = len(set(audit.families.values()))
    if not families or families == len(audit.respondents):
        return many
    return f"{many} of {families} {'family' if families == 1 else 'families'} ({families_source(audit)})"


def _labels(audit: BenchmarkAudit) -> str:
    judges = [Cell.parse(name).judge for name in (audit.respondents[0].judged if audit.respondents else ())]
    oracle = not all(map(is_people, judges))
    if labelled_by_people(audit):
        return " People labelled answers too." if not oracle else f" People labelled answers too, and so did {ORACLE}."
    return f" No people labelled answers; {ORACLE} read them." if oracle else " No people labelled answers."


def criterion(audit: BenchmarkAudit) -> tuple[Sentence, ...]:
    """How well the scores agree with people; what an oracle says, which is not people, stands apart."""
    metric = leading(audit)
    measured = [e for e in audit.estimates if e.indicator == "criterion.pearson" and e.metric == metric]
    sentences: list[Sentence] = []
    for r in filter(by_people, measured):
        if r.value is None:
            sentences.append(say("The agreement with people's labels was not measured: {reason}.", reason=r.reason))
            continue
        sentences.append(say("The scores correlate {r} with people's labels{of}.", r=r, of=backed(audit, r)))
        freed = find(audit, "criterion.disattenuated", metric, r.other)
        if freed is not None and freed.value is not None and "CAPPED" not in freed.flags:
            sentences.append(say("Without the sampling noise on both sides, the correlation is estimated at {freed} (disattenuated){of}.", freed=freed, of=backed(audit, freed)))  # fmt: skip
    if not sentences:
        sentences.append(say(f"Not measured: no people labelled answers. To measure it, {SOURCES['criterion'][3]}."))
    oracle = with_oracle(audit, metric)
    if oracle is not None and oracle.value is not None:
        sentences.append(_second_reading(audit, oracle))
    return tuple(sentences)


def _second_reading(audit: BenchmarkAudit, oracle: Estimate) -> Sentence:
    """What an oracle's reading of the same answers shows, and what it does not."""
    limit = "that checks how answers are read, and is no agreement with people."
    if (oracle.value or 0) > 1 - 1e-9:
        return say(f"Scores from a second reading by {ORACLE} lie on one line with the benchmark's (r {{r}}; {{used}}); {limit}", r=oracle, used=used(audit, oracle))  # fmt: skip
    return say(f"Scores from a second reading by {ORACLE} correlate {{r}} with the benchmark's{{of}}; {limit}", r=oracle, of=backed(audit, oracle))  # fmt: skip


def types(audit: BenchmarkAudit) -> tuple[Sentence, ...]:
    """Which types have items, which were measured well enough, and whose own score says more than the total."""
    covered = [kind for kind, row in audit.coverage.items() if row["items"]]
    absent = [kind for kind in audit.coverage if kind not in covered]
    claimed = [kind for kind in absent if audit.coverage[kind]["claimed"]]
    sentences = [
        say("{n} of {all} types {have} items: {names}.", n=len(covered), all=len(audit.coverage), have=have(len(covered)), names=listed(covered))
    ]  # fmt: skip
    if not covered:
        sentences = [say("No item is known to be of any of the {all} types.", all=len(audit.coverage))]
    index = find(audit, "types.index", leading(audit))
    measured = type_rows(index)
    if index is None or index.value is None or not measured:
        sentences.append(say("Whether the types are measurable was not measured."))
    else:
        fit = [row.name for row in measured if row.measurable]
        count = replace(estimate_text(index), text=str(len(fit)))
        names = f": {listed(fit)}" if fit and len(fit) < len(measured) else ""
        where = "in this audit" if any(row.error is not None for row in measured) else "by their number of items"
        said = "{count} of them {are} measurable {where}, with a standard error of at most .03 for a respondent's score on the type{names}"
        errors = [row.error for row in measured if row.error is not None and not row.measurable]
        more = f"; for the {counted(len(errors), 'other')} it is {_between(errors)}" if errors else ""
        sentences.append(say(said + more + ".", count=count, are="is" if len(fit) == 1 else "are", where=where, names=names))  # fmt: skip
    sentences += _added(audit)
    if absent:
        sentences.append(say("Not covered: {names}" + (" (claimed without items: {claimed})." if claimed else "."), names=listed(absent), claimed=listed(claimed)))  # fmt: skip
    return tuple(sentences)


def _between(errors: Sequence[float]) -> str:
    """The smallest and the largest error, with four decimals, so that what lies just above .03 is not shown as .03."""
    low, high = number(min(errors), 4), number(max(errors), 4)
    return low if low == high else f"{low} to {high}"


def _added(audit: BenchmarkAudit) -> list[Sentence]:
    """Whether a type's own score says more about the type than the total does (Haberman)."""
    estimate = find(audit, "types.added_value", leading(audit))
    tested = [row for row in rows(estimate, "types") if row.get("status") == "ok"]
    if estimate is None or not tested:
        return []
    better = sum(bool(row.get("adds")) for row in tested)
    shown = [str(row.get("type")) for row in tested if row.get("adds") and row.get("certain")]
    count = replace(estimate_text(estimate), text=str(better))
    return [
        say("That a type's own score says more about it than the total does (Haberman) is shown for {shown} of {all} types (95% interval over respondents); the estimates favour it for {count}.",
            shown=f"{len(shown)} ({listed(shown)})" if shown else "none", all=len(tested), count=count)
    ]  # fmt: skip
