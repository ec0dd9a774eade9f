"""The index: one site from many audits, a row a benchmark, a page behind each row.

A row says what was measured and what was not. There is no overall grade, and no benchmark stands
above another unless the reader sorts by a column.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, count

from hqm.reports.evidence_page import environment, script
from hqm.reports.phrases import counted, listed
from hqm.reports.report_figures import axis_end, budget_strip
from hqm.reports.report_page import SPOKEN, render
from hqm.reports.score_tables import first_place
from hqm.reports.sentences import MARKS, SOURCES, Points, headline, largest, several_benchmarks
from hqm.reports.svg import fitting
from hqm.reports.tables import find, leading, short

from hqm import Audit, BenchmarkAudit, Policy, Statement, leaks_shown, scored_answers

_WITHOUT = "there are no scored answers"


@dataclass(frozen=True, slots=True)
class Dated:
    """An audit with the day on which its file was written, and the name of the file's folder."""

    audit: Audit
    date: str
    name: str


@dataclass(frozen=True, slots=True)
class Count:
    """A count of a row with what was counted; or no number, and why there is none."""

    number: int | None
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRow:
    """A benchmark in the index."""

    folder: str
    title: str
    size: str
    code: str
    verdict: str
    statement: Statement
    strip: str
    error: float | None
    """The widest band of one model, in points."""
    unmeasured: str
    leaks: Count
    keys: Count
    tied: Count
    date: str
    command: str


def index_files(dated: Sequence[Dated], policy: Policy | None = None) -> dict[str, str]:
    """Return the files of the site by their names, with the audits and the rows as JSON."""
    files: dict[str, str] = {}
    rows: list[IndexRow] = []
    titles = [audit.title for each in dated for audit in each.audit.audits]
    for each in dated:
        whole = each.audit
        for audit in whole.audits:
            if titles.count(audit.title) > 1:
                # one benchmark with the answers of several papers: each is a row of its own
                audit = replace(audit, title=f"{audit.title}: {each.name}")
            own = Audit((audit,), whole.command, whole.record, whole.hqm_version)
            name = each.name if len(whole.audits) == 1 else audit.benchmark
            folder = _folder(name, [row.folder for row in rows])
            made = render(own, policy)
            files[f"{folder}/report.html"] = made.report
            files[f"{folder}/evidence.html"] = made.evidence
            files[f"{folder}/audit.json"] = own.to_json()
            rows.append(_row(audit, folder, each.date, whole.command, policy))
    audits = [audit for each in dated for audit in each.audit.audits]
    heads = [headline(audit, policy) for audit in audits]
    code = script("index.js")
    files["index.html"] = (
        environment("report.css")
        .get_template("index.html")
        .render(
            rows=rows,
            joint=several_benchmarks(audits, heads),
            marks=MARKS,
            spoken=SPOKEN,
            version=dated[0].audit.hqm_version,
            script=code.text,
            script_hash=code.hash,
        )
    )
    written = [_as_json(row) for row in rows]
    files["index.json"] = json.dumps({"rows": written}, indent=1, ensure_ascii=False) + "\n"
    return files


def _folder(name: str, taken: Sequence[str]) -> str:
    plain = re.sub(r"[^\w-]+", "-", name).strip("-") or "benchmark"
    numbered = (f"{plain}-{number}" for number in count(2))
    return next(each for each in chain([plain], numbered) if each not in taken)


def _row(
    audit: BenchmarkAudit, folder: str, date: str, command: str, policy: Policy | None
) -> IndexRow:
    head, points = headline(audit, policy), Points.of(audit)
    budget = audit.budget.get(leading(audit))
    widest = largest(budget)
    missing = [row for row in budget.rows if row.status == "not_measured"] if budget else []
    size = [counted(audit.items_used, "item"), counted(len(audit.respondents), "model")]
    strip, error = "", None
    if budget is not None:
        strip = budget_strip(audit.title, budget, points, axis_end(budget, points.factor))
    if widest is not None and widest.half is not None:
        error = widest.half * points.factor
    return IndexRow(
        folder=folder,
        title=audit.title,
        size=" · ".join((*size, leading(audit))),
        code=head.code,
        verdict=head.text,
        statement=audit.statement,
        strip=strip,
        error=error,
        unmeasured=listed([SOURCES[row.source][0].lower() for row in missing]),
        leaks=_leaks(audit),
        keys=_keys(audit),
        tied=_tied(audit),
        date=date,
        command=command,
    )


def _leaks(audit: BenchmarkAudit) -> Count:
    searched = find(audit, "solvability.blind_accuracy", leading(audit))
    if searched is None or searched.value is None:
        return Count(None, searched.reason if searched is not None else "nothing to predict")
    leaks = leaks_shown(audit)
    return Count(len(leaks), listed([leak.name for leak in leaks[:3]]))


def _keys(audit: BenchmarkAudit) -> Count:
    searched = find(audit, "items.label_errors", leading(audit))
    faults = [mend for mend in audit.mend if mend.what in ("keys", "two_keys")]
    if not faults and (searched is None or searched.value is None):
        return Count(None, searched.reason if searched is not None else "there are no keys")
    return Count(
        sum(mend.count for mend in faults), listed([n for m in faults for n in m.names[:3]])
    )


def _tied(audit: BenchmarkAudit) -> Count:
    if not scored_answers(audit):
        return Count(None, _WITHOUT)
    if len(audit.respondents) < 2:
        return Count(None, "one model")
    first = first_place(audit)
    return Count(len(first), listed([fitting(short(name)) for name in first[:4]]))


def _as_json(row: IndexRow) -> Mapping[str, object]:
    """A row without its picture; the statement in parts and as a line."""
    fields = {name: value for name, value in asdict(row).items() if name != "strip"}
    return {**fields, "line": str(row.statement), "audit": f"{row.folder}/audit.json"}
