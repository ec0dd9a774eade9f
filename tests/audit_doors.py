"""Every command that reads an `audit.json`, called one after another on the audit of one file."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from hqm.reports.figures import plots
from hqm.reports.latex import latex_tables, paper
from hqm.reports.pages import benchmark_card, compare_page, report_page

import hqm
from hqm.auditing.audit import Audit
from hqm.auditing.policy import Policy
from hqm.comparison.compare import compare_audits

TABLES = (".tex", ".csv", ".md", ".json")
POLICIES = ("default", "release-small")


def pass_all_doors(audit: Audit, *, figures: bool = True) -> list[str]:
    """Print an audit as every command does, and return the texts; nothing but `HQMError` where two
    measures cannot be compared may be raised.
    """
    texts = []
    for name in POLICIES:
        policy = Policy.load(name)
        texts.append(str(hqm.gate(audit, name).to_dict()))
        texts.append(str(benchmark_card.quality_card(audit, policy)))
        texts.append(str(benchmark_card.badge(audit, policy)))
    rendered = report_page.render(audit, Policy.load("default"), "evidence.html")
    texts += [str(rendered.report), str(rendered.evidence)]
    pages = report_page.index_files(
        [report_page.Dated(audit, "2026-01-01", "folder")], Policy.load("default")
    )
    texts += pages.values()
    for suffix in TABLES:
        texts.append(
            latex_tables.format_tables(paper.paper_tables([audit], include_all=True), suffix)
        )
    for member in audit.audits:
        texts += [str(member.statement), member.statement.latex, member.verdict, repr(member)]
        texts += [quotation.sentence for quotation in benchmark_card.quotes(member, "1")]
    for table in ("estimates", "scores", "states", "items"):
        texts.append(audit.to_frame(table).to_csv())
    for figure in ("error_budget", "leaderboard") if figures else ():
        try:
            ElementTree.fromstring(plots.save(plots.plot(audit.audits, figure), "svg"))
        except hqm.HQMError as error:
            texts.append(str(error))
    texts += compared(audit)
    return texts


def compared(audit: Audit) -> list[str]:
    """What `hqm compare` says of the metrics of an audit, or why it cannot."""
    try:
        comparison = compare_audits([audit])
    except hqm.HQMError as error:
        return [str(error)]
    tables = compare_page.comparison_tables(comparison, include_all=True)
    return [
        str(compare_page.render(comparison)),
        comparison.to_json(),
        *(latex_tables.format_tables(tables, suffix) for suffix in TABLES),
        compare_page.strongest_claim(comparison),
        *compare_page.test_sentences(comparison),
    ]


def written_and_read(audit: Audit, path: Path) -> Audit:
    """The audit after it was written to a file and read by its own reader."""
    path.write_text(audit.to_json(), encoding="utf-8")
    return Audit.load(path)
