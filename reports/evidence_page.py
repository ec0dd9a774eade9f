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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hqm.reports import (
    drawings,
    evidence_tables,
    item_tables,
    score_tables,
    side_tables,
    tables,
    type_tables,
)
from hqm.reports.benchmark_card import bibtex, gate_table, of_benchmark, quotes
from hqm.reports.drawings import Figure, administration_figures, drawn_if_any
from hqm.reports.evidence_tables import estimates_by_family
from hqm.reports.item_tables import FACETS, MARKS, as_shown, lists, to_read
from hqm.reports.phrases import Terms
from hqm.reports.sentences import mend_lines
from hqm.reports.tables import Table, short
from markupsafe import Markup, escape

from hqm import Audit, BenchmarkAudit, Gate, Policy, hold_against, indicator_named, to_mend

if TYPE_CHECKING:
    import jinja2

_TEMPLATES = Path(__file__).parent / "templates"
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*(?: (?:[A-Z]+|[0-9]+)\b)?")


@cache
def environment(style: str = "evidence.css") -> jinja2.Environment:
    """The templates of all pages, compiled once however many are written."""
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["options"] = _unbroken
    made.filters["short"] = short

    @jinja2.pass_context
    def explained(context: jinja2.runtime.Context, text: str) -> Markup:
        return Markup(context["terms_met"].explain(text))  # escaped there

    made.filters["terms"] = explained
    # our own file, no data in it
    made.globals["style"] = Markup((_TEMPLATES / style).read_text(encoding="utf-8"))
    return made


@dataclass(frozen=True, slots=True)
class Script:
    """A script of ours, and the hash by which alone a page lets it run."""

    text: Markup
    hash: str


def script(name: str) -> Script:
    """A script among the templates."""
    text = (_TEMPLATES / name).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
    return Script(Markup(text), digest)  # our own file, no data in it


def _unbroken(text: str) -> Markup:
    """Text for the page whose options of the command line (`--criterion FILE`) stay on one line."""
    # escaped first
    return Markup(_OPTION.sub(r'<span class="option">\g<0></span>', str(escape(text))))


# --- the page of the evidence ---

BRIEF = {
    "Reliability by source of error": "Reliability",
    "Leaderboard and tied sets": "Leaderboard",
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
class Part:
    """A part of a benchmark's section: a heading, drawings and tables."""

    title: str
    tables: Sequence[Table | None] = ()
    """None stands for a table that this audit has not."""
    figures: Sequence[Figure] = ()
    remarks: Sequence[str] = ()
    anchor: str = ""
    """A name by which the report links to it, where it does."""
    pairs: Sequence[Mapping[str, Any]] = ()
    """An item of each type, with its picture."""

    @property
    def brief(self) -> str:
        """The title in the list of sections."""
        return BRIEF.get(self.title, self.title)


def sections_of(audit: Audit, policy: Policy) -> list[dict[str, Any]]:
    """The evidence on each benchmark, as the template shows it by name,
    without the estimates that only the data hold.
    """
    held = hold_against(audit, policy)
    return [
        _section(_on_page(benchmark), i, held=held, version=audit.hqm_version)
        for i, benchmark in enumerate(audit.audits, 1)
    ]


def _on_page(audit: BenchmarkAudit) -> BenchmarkAudit:
    named = ((e, indicator_named(e.indicator)) for e in audit.all_estimates)
    return replace(
        audit, all_estimates=tuple(e for e, kind in named if kind is None or kind.on_page)
    )


def render(audit: Audit, sections: Sequence[Mapping[str, Any]]) -> str:
    """The page of the evidence as text."""
    code = script("evidence.js")
    return (
        environment()
        .get_template("evidence.html")
        .render(
            audit=audit,
            sections=sections,
            marks=MARKS,
            record=tables.record(audit),
            identities=tables.identities(audit),
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
            signed.setdefault(e.signature, f"{audit.benchmark} {e.indicator} {e.metric}")
    return [(tables.anchor(line), name, line) for line, name in signed.items()]


def _section(
    audit: BenchmarkAudit,
    i: int,
    *,
    held: Gate,
    version: str,
) -> dict[str, Any]:
    numbered = [
        replace(part, anchor=f"b{i}-{part.anchor or n}", tables=list(filter(None, part.tables)))
        for n, part in enumerate(_parts(audit), 1)
    ]
    groups = [part for part in numbered if part.tables or part.figures or part.remarks]
    facets = dict.fromkeys(facet for example in audit.examples for facet in example["facets"])
    answerers = [a["respondent"] for example in audit.examples for a in example["answers"]]
    reading = to_read(audit)
    failing = [name for read in reading for name in read["fails"]]
    places = {group.title: group.anchor for group in groups} | {"Quote this": f"b{i}-quote"}
    return {
        "audit": audit,
        "anchor": f"b{i}",
        "places": places | ({"Read these items": f"b{i}-read"} if reading else {}),
        "metrics": [(name, of["about"]) for name, of in audit.metrics.items() if of.get("about")],
        "groups": groups,
        "examples": [as_shown(audit, example) for example in audit.examples],
        "facets": [(facet, FACETS.get(facet, facet)) for facet in facets],
        "types": _distinct(str(example["type"]) for example in audit.examples),
        "respondents": [(name, short(name)) for name in _distinct(answerers)],
        "gate": gate_table(of_benchmark(held, audit)),
        "mend": mend_lines(audit, to_mend(audit)),
        "quotes": quotes(audit, version),
        "bibtex": bibtex(audit, version),
        "to_read": reading,
        "reasons": _distinct(read["why"] for read in reading),
        "read_types": _distinct(read["type"] for read in reading),
        "failing": [(name, short(name)) for name in _distinct(failing)],
        # whether the answers are held against a key that a reader can correct
        "can_be_marked": audit.task in ("yes_no", "choice"),
        "lists": lists(audit, f"b{i}"),
        # a hash of what the scores were made of: marks on other data are other marks
        "made": tables.anchor(score_tables.made_of(audit)),
    }


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(filter(None, names)))


def _parts(audit: BenchmarkAudit) -> list[Part]:
    """The parts of a benchmark's section, in the order of the page."""
    metric, made_of = next(iter(audit.metrics)), score_tables.made_of(audit)
    harness = side_tables.harness_tables(audit.tools)
    return [
        Part("Error budget", evidence_tables.budget_tables(audit), anchor="budget"),
        *_short_form(audit),
        Part(
            "Reliability by source of error",
            [evidence_tables.reliability(audit), score_tables.warnings(audit)],
        ),
        Part(
            "Leaderboard and tied sets",
            [
                score_tables.leaderboard(audit),
                evidence_tables.family_table(
                    audit, ["discriminability"], "How well it separates respondents"
                ),
            ],
        ),
        Part(side_tables.STOPS_TITLE, [side_tables.stops_table(audit)]),
        Part(
            "Types",
            [
                type_tables.coverage(audit),
                type_tables.by_type(audit),
                type_tables.added_value(audit),
            ],
            anchor="types",
            pairs=audit.pairs,
        ),
        Part("What a total rests on", *type_tables.rests_on(audit), anchor="structure"),
        Part(
            type_tables.TITLE,
            type_tables.analysis_tables(audit),
            type_tables.analysis_figures(audit),
        ),
        Part(
            "First and other administrations compared", figures=list(administration_figures(audit))
        ),
        *_bias(audit),
        Part(side_tables.RESOLUTION_TITLE, side_tables.resolution_tables(audit)),
        Part("Length of the answers", [score_tables.lengths(audit)]),
        _people(audit),
        _judges(audit),
        _variance(audit),
        _items(audit, metric, made_of),
        _questions_alone(audit),
        Part("Unscored answers", [score_tables.states(audit)], anchor="states"),
        Part(side_tables.TOOLS_TITLE, [table for table in harness if table.rows]),
        Part("Forms and data", [score_tables.forms(audit), score_tables.findings(audit)]),
        Part("All estimates", estimates_by_family(audit)),
    ]


def _short_form(audit: BenchmarkAudit) -> list[Part]:
    lost = side_tables.remarks(audit)
    both = [side_tables.full_scores(audit), side_tables.losses(audit)]
    return [Part(side_tables.SHORT_FORM_TITLE, both, remarks=lost)] if lost else []


def _bias(audit: BenchmarkAudit) -> list[Part]:
    if audit.task not in ("yes_no", "choice"):
        return []
    bias = score_tables.response_bias(audit)
    lacking = (
        "d′, c and acquiescence were not measured: they need a form whose right answers are"
        " reversed."
    )
    both = [score_tables.yes_ratios(audit), bias]
    return [Part("Response bias", both, remarks=[] if bias else [lacking])]


def _questions_alone(audit: BenchmarkAudit) -> Part:
    blind = tables.find(audit, "solvability.blind_accuracy")
    known = blind is not None and blind.value is not None
    return Part(
        "What the questions alone give away",
        evidence_tables.blind(audit),
        remarks=[] if known else [evidence_tables.not_measured(blind, "Blind solvability was")],
        anchor="blind",
    )


def _people(audit: BenchmarkAudit) -> Part:
    compared = evidence_tables.criterion(audit)
    remark = score_tables.scored_by_people(audit) or (
        "No people labelled answers; to compare the scores with people,"
        f" {evidence_tables.SOURCES['criterion'][3]}."
    )
    return Part(
        "People",
        [score_tables.judged(audit), compared, evidence_tables.oracle(audit)],
        remarks=[] if compared else [remark],
    )


def _judges(audit: BenchmarkAudit) -> Part:
    if not any("judge=" in name and "judge=rule" not in name for name in audit.cells):
        remark = (
            "No model judges this benchmark. A rule scores it and gives the same verdict every"
            " time."
        )
        return Part("Judges", remarks=[remark])
    again = evidence_tables.family_table(
        audit,
        ["judge_consistency", "judge_agreement"],
        "The judge asked again, and another judge",
    )
    return Part("Judges", [again, evidence_tables.stages(audit)])


def _items(audit: BenchmarkAudit, metric: str, made_of: str) -> Part:
    item_map, count = drawings.item_map(audit, metric)
    discrimination = tables.find(audit, "items.discrimination", metric)
    what = "Difficulty and discrimination were"
    return Part(
        "Items",
        [
            item_tables.flagged_items(audit),
        ],
        [
            *drawn_if_any(
                item_map,
                f"Item map: {count:,} items by difficulty and discrimination. A larger point"
                " stands for several items, a diamond for a flagged item.",
                made_of,
            ),
        ],
        [] if item_map else [evidence_tables.not_measured(discrimination, what)],
    )


def _variance(audit: BenchmarkAudit) -> Part:
    studies = [
        made(e)
        for e in evidence_tables.crossed(audit)
        for made in (evidence_tables.components, evidence_tables.decision)
    ]
    reasons = (
        e.reason
        for e in audit.all_estimates
        if e.indicator.startswith("generalizability.") and e.reason
    )
    reason = next(reasons, "they need a second seed, form or judge")
    return Part(
        "Where the variance comes from, and what you would need",
        [*studies, evidence_tables.family_table(audit, ["consistency"], "Internal consistency")],
        remarks=[] if studies else [f"The G study and the D-study were not measured: {reason}."],
    )
