"""The evidence behind a report: every table, figure, list and signature, folded by section; and the
templates and scripts of all pages.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, zip_longest
from operator import attrgetter, itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from hqm.reports.figures import drawings
from hqm.reports.figures.drawings import Figure, administration_figures, figure_list
from hqm.reports.pages.benchmark_card import bibtex, gate_of_benchmark, gate_table, quotes
from hqm.reports.pages.phrases import Terms
from hqm.reports.pages.sentences import remedy_lines
from hqm.reports.tables import (
    evidence_tables,
    item_tables,
    score_tables,
    second_opinion_table,
    side_tables,
    type_tables,
)
from hqm.reports.tables import table as tables
from hqm.reports.tables.evidence_tables import estimates_by_family
from hqm.reports.tables.item_tables import (
    FACETS,
    REVIEW_MARKS,
    example_for_page,
    finding_lists,
    reading_list,
)
from hqm.reports.tables.table import Table, short_name
from markupsafe import Markup, escape

from hqm import Audit, BenchmarkAudit, Estimate, Gate, Policy, indicator_named
from hqm.auditing.gate import check_against
from hqm.auditing.seven_questions import find_remedies
from hqm.types import CLOSED_TASKS

if TYPE_CHECKING:
    import jinja2

    from hqm.auditing.opinion import SecondOpinion

_TEMPLATES = Path(__file__).parents[1] / "templates"
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*(?: (?:[A-Z]+|[0-9]+)\b)?")


@cache
def environment(style: str = "evidence.css") -> jinja2.Environment:
    """The templates of all pages, compiled once however many are written."""
    import jinja2

    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        # Questions and answers come from anybody: nothing of them is HTML.
        autoescape=True,
        # A misspelt name in a template is an error, and no empty place on the page.
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["options"] = _unbroken
    templates.filters["short_name"] = short_name

    @jinja2.pass_context
    def explain_terms(context: jinja2.runtime.Context, text: str) -> Markup:
        return Markup(context["terms_met"].explain(text))  # escaped there

    templates.filters["terms"] = explain_terms
    # our own file, no data in it
    templates.globals["style"] = Markup((_TEMPLATES / style).read_text(encoding="utf-8"))
    return templates


@dataclass(frozen=True, slots=True)
class Script:
    """A script of ours, and the hash by which alone a page lets it run."""

    text: Markup
    hash: str


def script(name: str) -> Script:
    """A script among the templates."""
    text = (_TEMPLATES / name).read_text(encoding="utf-8")
    # The Content-Security-Policy of a page allows scripts by hash alone, so that nothing that
    # stands in an audit can run.
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
    return Script(Markup(text), digest)  # our own file, no data in it


def _unbroken(text: str) -> Markup:
    """Text for the page whose options of the command line (`--criterion FILE`) stay on one line."""
    # escaped first
    return Markup(_OPTION.sub(r'<span class="option">\g<0></span>', str(escape(text))))


# --- the page of the evidence ---

BRIEF = {
    "Reliability by source of error": "Reliability",
    side_tables.SHORT_FORM_TITLE: "Full scale",
    "First and other administrations compared": "First and other",
    "Length of the answers": "Length",
    type_tables.TITLE: "Analyses",
    "Where the variance comes from, and what you would need": "What you would need",
    "What the questions alone give away": "Questions alone",
    "Unscored answers": "Unscored",
    "HQM and the tools that recorded the answers": "Tools' scores",
}
"""Shorter headings for the list of sections."""


@dataclass(frozen=True, slots=True)
class Subsection:
    """One subsection of a benchmark's evidence: a heading, drawings and tables."""

    title: str
    tables: Sequence[Table | None] = ()
    """None stands for a table that this audit has not."""
    figures: Sequence[Figure] = ()
    remarks: Sequence[str] = ()
    anchor: str = ""
    """A name by which the report links to it, where it does."""
    pairs: Sequence[Mapping[str, object]] = ()
    """An item of each type, with its picture."""

    @property
    def brief(self) -> str:
        """The title in the list of sections."""
        return BRIEF.get(self.title, self.title)


@dataclass(frozen=True)
class Section:
    """The evidence on one benchmark: its anchors, and what the template shows by name."""

    anchor: str
    anchors: Mapping[str, str]
    shown: Mapping[str, object]


def sections_of(
    audit: Audit, policy: Policy, opinions: Sequence[SecondOpinion] = ()
) -> list[Section]:
    """The evidence on each benchmark, without the estimates that only `audit.json` has; with the
    second opinion on each, where there is one.
    """
    gate = check_against(audit, policy)
    sections = []
    for i, (benchmark, opinion) in enumerate(zip_longest(audit.audits, opinions), 1):
        estimates = tuple(filter(_is_on_page, benchmark.all_estimates))
        # Before tables are made, so that no table or link names an estimate that the page lacks.
        benchmark = replace(benchmark, all_estimates=estimates)
        section = _section(benchmark, i, gate=gate, version=audit.hqm_version, opinion=opinion)
        sections.append(section)
    return sections


def _is_on_page(estimate: Estimate) -> bool:
    """Whether the page shows an estimate; `audit.json` has all of them."""
    indicator = indicator_named(estimate.indicator)
    return indicator is None or indicator.on_page


def render(audit: Audit, sections: Iterable[Section]) -> str:
    """The page of the evidence as text."""
    code = script("evidence.js")
    return (
        environment()
        .get_template("evidence.html")
        .render(
            audit=audit,
            sections=list(map(attrgetter("shown"), sections)),
            marks=REVIEW_MARKS,
            record=tables.record_table(audit),
            identities=tables.identity_table(audit),
            signatures=_signatures(audit.audits),
            terms_met=Terms(),
            script=code.text,
            script_hash=code.hash,
        )
    )


def _signatures(audits: Iterable[BenchmarkAudit]) -> list[tuple[str, str, str]]:
    """Every signature once: its anchor on the page, the estimate it signs, and the signature
    itself.
    """
    signed: dict[str, str] = {}
    for audit in audits:
        for e in audit.all_estimates:
            # Estimates of several metrics may share a line: it is printed once.
            signed.setdefault(e.signature, f"{audit.benchmark} {e.indicator} {e.metric}")
    return [(tables.anchor(line), name, line) for line, name in signed.items()]


def _section(
    audit: BenchmarkAudit,
    i: int,
    *,
    gate: Gate,
    version: str,
    opinion: SecondOpinion | None,
) -> Section:
    groups = []
    anchors = {}
    for n, subsection in enumerate([*_subsections(audit), *_second_opinion(opinion)], 1):
        group = replace(
            subsection,
            # Named anchors are linked from the report; the number of the benchmark keeps them
            # apart.
            anchor=f"b{i}-{subsection.anchor or n}",
            tables=list(filter(None, subsection.tables)),
        )
        # An empty heading would say that something was measured.
        if group.tables or group.figures or group.remarks:
            groups.append(group)
            anchors[group.title] = group.anchor
    anchors["Quote this"] = f"b{i}-quote"
    facets: list[str] = []
    respondents: list[str] = []
    for example in audit.examples:
        facets += example["facets"]
        respondents += map(itemgetter("respondent"), example["answers"])
    facets = _distinct(facets)
    items = reading_list(audit)
    failing = chain.from_iterable(map(attrgetter("fails"), items))
    if items:
        anchors["Read these items"] = f"b{i}-read"
    metrics = [(name, row["about"]) for name, row in audit.metrics.items() if row.get("about")]
    shown = {
        "audit": audit,
        "anchor": f"b{i}",
        "anchors": anchors,
        "metrics": metrics,
        "groups": groups,
        "examples": [example_for_page(audit, example) for example in audit.examples],
        "facets": list(zip(facets, map(FACETS.get, facets, facets), strict=True)),
        "types": _distinct(str(example["type"]) for example in audit.examples),
        "respondents": _with_short_names(respondents),
        "gate": gate_table(gate_of_benchmark(gate, audit)),
        "remedies": remedy_lines(audit, find_remedies(audit)),
        "quotes": quotes(audit, version),
        "bibtex": bibtex(audit, version),
        "to_read": items,
        "reasons": _distinct(map(attrgetter("why"), items)),
        "read_types": _distinct(map(attrgetter("type"), items)),
        "failing": _with_short_names(failing),
        # whether the answers are compared with a key that a reader can correct
        "can_be_marked": audit.task in CLOSED_TASKS,
        "lists": finding_lists(audit, f"b{i}"),
        # a hash of what the scores were made of: marks on other data are other marks
        "made": tables.anchor(score_tables.score_signature(audit)),
    }
    return Section(f"b{i}", anchors, shown)


def _with_short_names(names: Iterable[str]) -> list[tuple[str, str]]:
    """Each name once, with its short form."""
    distinct_names = _distinct(names)
    return list(zip(distinct_names, map(short_name, distinct_names), strict=True))


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(filter(None, names)))


def _subsections(audit: BenchmarkAudit) -> list[Subsection]:
    """The subsections of a benchmark's evidence, in the order of the page."""
    metric = next(iter(audit.metrics))
    signature = score_tables.score_signature(audit)
    harness = side_tables.harness_tables(audit.tools)
    return [
        Subsection("Error budget", side_tables.budget_tables(audit), anchor="budget"),
        *_short_form(audit),
        Subsection(
            "Reliability by source of error",
            [evidence_tables.reliability(audit), score_tables.warnings(audit)],
        ),
        Subsection(
            "Leaderboard",
            [
                score_tables.leaderboard(audit),
                evidence_tables.family_table(
                    audit, ["discriminability"], "How well it separates respondents"
                ),
            ],
        ),
        Subsection(side_tables.STOPS_TITLE, [side_tables.stops_table(audit)]),
        Subsection(
            "Types",
            [
                type_tables.coverage(audit),
                type_tables.by_type(audit),
                type_tables.added_value(audit),
            ],
            anchor="types",
            pairs=audit.shown_items,
        ),
        Subsection(
            "What a total rests on", *type_tables.structure_tables(audit), anchor="structure"
        ),
        Subsection(
            type_tables.TITLE,
            type_tables.analysis_tables(audit),
            type_tables.analysis_figures(audit),
        ),
        Subsection(
            "First and other administrations compared", figures=list(administration_figures(audit))
        ),
        *_bias(audit),
        Subsection(side_tables.RESOLUTION_TITLE, side_tables.resolution_tables(audit)),
        Subsection("Length of the answers", [score_tables.lengths(audit)]),
        _people(audit),
        _judges(audit),
        _variance(audit),
        _items(audit, metric, signature),
        _questions_alone(audit),
        Subsection("Unscored answers", [score_tables.states(audit)], anchor="states"),
        Subsection(side_tables.TOOLS_TITLE, list(filter(attrgetter("rows"), harness))),
        Subsection("Forms and data", [score_tables.forms(audit), score_tables.findings(audit)]),
        Subsection("All estimates", estimates_by_family(audit)),
    ]


def _second_opinion(opinion: SecondOpinion | None) -> list[Subsection]:
    if opinion is None:
        return []
    lines = second_opinion_table.opinion_lines(opinion)
    return [
        Subsection(
            "Second opinion",
            [second_opinion_table.opinion_table(opinion)],
            remarks=lines,
            anchor="check",
        )
    ]


def _short_form(audit: BenchmarkAudit) -> list[Subsection]:
    remarks = side_tables.remarks(audit)
    form_tables = [side_tables.full_scores(audit), side_tables.losses(audit)]
    if remarks:
        return [Subsection(side_tables.SHORT_FORM_TITLE, form_tables, remarks=remarks)]
    return []


_BIAS_NOT_MEASURED = MappingProxyType(
    {
        "yes_no": (
            "d′, c and acquiescence were not measured: they need a form whose right answers are"
            " reversed."
        ),
        "choice": "Position bias was not measured: it needs a form with options in another order.",
    }
)
"""Task -> what is said where its response bias was not measured."""


def _bias(audit: BenchmarkAudit) -> list[Subsection]:
    remark = _BIAS_NOT_MEASURED.get(audit.task)
    if remark is None:
        return []
    bias = score_tables.response_bias(audit)
    bias_tables = [score_tables.yes_ratios(audit), bias]
    return [Subsection("Response bias", bias_tables, remarks=[] if bias else [remark])]


def _questions_alone(audit: BenchmarkAudit) -> Subsection:
    blind = tables.find_estimate(audit, "solvability.blind_accuracy")
    remarks = []
    if blind is None or blind.value is None:
        remarks.append(evidence_tables.not_measured_remark(blind, "Blind solvability was"))
    return Subsection(
        "What the questions alone give away",
        evidence_tables.blind_tables(audit),
        remarks=remarks,
        anchor="blind",
    )


def _people(audit: BenchmarkAudit) -> Subsection:
    compared = evidence_tables.criterion_table(audit)
    remark = score_tables.people_scores_note(audit) or (
        "No people labelled answers; to compare the scores with people,"
        f" {evidence_tables.SOURCES['criterion'][3]}."
    )
    return Subsection(
        "People",
        [score_tables.judged_table(audit), compared, evidence_tables.oracle_table(audit)],
        # What was not measured says so, in the place where a reader looks for it.
        remarks=[] if compared else [remark],
    )


def _judges(audit: BenchmarkAudit) -> Subsection:
    if not any("judge=" in name and "judge=rule" not in name for name in audit.cells):
        remark = (
            "No model judges this benchmark. A rule scores it and gives the same verdict every"
            " time."
        )
        return Subsection("Judges", remarks=[remark])
    judge_table = evidence_tables.family_table(
        audit,
        ["judge_consistency", "judge_agreement"],
        "The judge asked a second time, and another judge",
    )
    return Subsection("Judges", [judge_table, evidence_tables.stages_table(audit)])


def _items(audit: BenchmarkAudit, metric: str, signature: str) -> Subsection:
    item_map, count = drawings.item_map(audit, metric)
    discrimination = tables.find_estimate(audit, "items.discrimination", metric)
    subject = "Difficulty and discrimination were"
    return Subsection(
        "Items",
        [
            item_tables.flagged_items(audit),
        ],
        [
            *figure_list(
                item_map,
                f"Item map: {count:,} items by difficulty and discrimination. A larger point"
                " stands for several items, a diamond for a flagged item.",
                signature,
            ),
        ],
        [] if item_map else [evidence_tables.not_measured_remark(discrimination, subject)],
    )


def _variance(audit: BenchmarkAudit) -> Subsection:
    studies: list[Table | None] = []
    for design in evidence_tables.crossed(audit):
        studies.append(evidence_tables.components_table(design))
        studies.append(evidence_tables.d_study_table(design))
    reason = evidence_tables.first_reason(audit, "generalizability")
    reason = reason or "they need a second seed, form or judge"
    return Subsection(
        "Where the variance comes from, and what you would need",
        [*studies, evidence_tables.family_table(audit, ["consistency"], "Internal consistency")],
        remarks=[] if studies else [f"The G study and the D-study were not measured: {reason}."],
    )
