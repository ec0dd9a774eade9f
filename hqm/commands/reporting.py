"""`hqm report`: what is written, or quoted, of audits that exist."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from hqm.commands.option_decorators import with_options
from hqm.commands.options import OUTPUT_PANEL, WHAT_PANEL, EveryTable, PolicyFile, RunOptions
from hqm.commands.shared import check_output, command, find_audit, report_files
from hqm.commands.terminal import print_json, print_line, print_lines
from hqm.errors import HQMError, UsageError
from hqm.extensions import load_extension, names_in
from hqm.files.records import read_json
from hqm.files.whole import write_together
from hqm.signature import changed_procedures, parse_signature

if TYPE_CHECKING:
    from hqm.auditing.audit import Audit, BenchmarkAudit
    from hqm.auditing.budget import Statement
    from hqm.auditing.gate import Policy
    from hqm.auditing.verdict_records import Rereading
    from hqm.types import Estimate

PAGES = "hqm.pages"
"""The group of entry points by which an extension shows audits of another layout."""
_SIGNATURE_CHARS = 12
"""The characters of a short signature."""


@with_options("as_json", "store")
def report(
    *,
    audit_files: Annotated[
        list[Path],
        typer.Argument(
            rich_help_panel=WHAT_PANEL,
            metavar="AUDIT",
            help="One audit.json or several, or the folders that they lie in.",
        ),
    ],
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            rich_help_panel=OUTPUT_PANEL,
            metavar="FILE",
            help=(
                "A page (.html), the tables of a paper (.tex, .csv, .md, .json), or the file of the"
                " figure, card or badge; report.html unless given."
            ),
        ),
    ] = None,
    figure: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=WHAT_PANEL,
            metavar="NAME",
            help=(
                "One figure, into an .svg, .pdf or .png: error_budget, leaderboard, types,"
                " rank_flips or items."
            ),
        ),
    ] = None,
    card: Annotated[
        bool,
        typer.Option(
            "--card",
            rich_help_panel=WHAT_PANEL,
            help=("The quality card: one screen of Markdown, printed without --to."),
        ),
    ] = False,
    badge: Annotated[
        bool,
        typer.Option(
            "--badge",
            rich_help_panel=WHAT_PANEL,
            help="The badge for a README; badge.svg without --to.",
        ),
    ] = False,
    quote: Annotated[
        bool,
        typer.Option(
            "--quote",
            rich_help_panel=WHAT_PANEL,
            help=(
                "Print the statement for a caption, and sentences to copy; --to"
                " writes the statement as .tex, .md or text."
            ),
        ),
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            rich_help_panel=WHAT_PANEL,
            help=(
                "Compute the headline numbers again by pingouin, statsmodels and scipy, and print"
                " them beside the audit's; --to writes the table, or a page with it in the"
                " evidence. Status 1 if a number disagrees."
            ),
        ),
    ] = False,
    index: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=WHAT_PANEL,
            metavar="FOLDER",
            help="A site with a row for each benchmark, and a page behind each row.",
        ),
    ] = None,
    verify: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=WHAT_PANEL,
            metavar="TEXT",
            help=(
                "Compare a reliability statement with the audit, or print the number"
                " behind a signature; status 1 if they disagree. Where an earlier version signed,"
                " the stored answers are scored again, and --to FILE.json writes that audit."
            ),
        ),
    ] = None,
    all_tables: EveryTable = False,
    policy: PolicyFile = None,
    options: RunOptions,
) -> None:
    """Write the report of audits: a page, tables, a figure, the card, the badge, or a quotation.

    It asks nobody, and only --check estimates anew.
    """
    from hqm.auditing.audit import Audit
    from hqm.auditing.policy import Policy

    report_flags = {
        "--figure": figure,
        "--card": card,
        "--badge": badge,
        "--quote": quote,
        "--check": check,
        "--index": index,
    }
    given_flags = [flag for flag, value in {**report_flags, "--verify": verify}.items() if value]
    # each of them writes to --to
    if len(given_flags) > 1:
        raise UsageError(
            f"{' and '.join(given_flags)} are two reports", remedy="Ask for one at a time."
        )
    # With --verify the file is a further audit, which `Rescoring.write` makes of rescored answers
    # alone.
    if verify is None:
        check_output(to, audit_files)
    files = list(map(find_audit, audit_files))
    # an index has rows of printed tables and of extensions too, whose files are no `Audit`
    as_json = options.output.as_json
    if index is not None:
        _write_index(index, files, Policy.load(policy), as_json=as_json)
        return
    audits = list(map(Audit.load, files))
    joined = _join_audits(audits)
    loaded_policy = Policy.load(policy)
    if verify is not None:
        # Lazily: nothing is scored again where the signature is of this version.
        rescoring = Rescoring(tuple(zip(files, audits, strict=True)), options)
        _verify(joined, verify.strip(), rescoring)
        rescoring.write(to)
        return
    if check:
        _check_numbers(joined, to, loaded_policy, as_json=as_json)
        return
    pages: dict[Path, str | bytes]
    if quote:
        pages = _quotation(joined, to, as_json=as_json)
    elif card:
        pages = _quality_card(joined, loaded_policy, to, as_json=as_json)
    elif badge:
        cards = importlib.import_module("hqm.reports.pages.benchmark_card")
        pages = {to or Path("badge.svg"): str(cards.badge(joined, loaded_policy))}
    elif figure:
        path = to or Path(f"{figure}.svg")
        plots = importlib.import_module("hqm.reports.figures.plots")
        matplotlib_figure = plots.plot(joined.audits, figure)
        # The ending of the file chooses the format of the figure.
        pages = {path: plots.save(matplotlib_figure, path.suffix.lower().removeprefix("."))}
    elif to is None or to.suffix.lower() in (".html", ".htm"):
        pages = report_files(joined, to or Path("report.html"), loaded_policy)
    else:
        pages = {to: _tables_text(audits, to, all_tables=all_tables)}
    if pages:
        write_together(pages)
        _print_written(pages, as_json=as_json)


def _print_written(paths: Iterable[Path], *, as_json: bool) -> None:
    """Print which files were written."""
    if as_json:
        print_json({"wrote": list(map(str, paths))})
    else:
        print_line(f"wrote  {'  '.join(map(str, paths))}")


def _check_numbers(audit: Audit, path: Path | None, policy: Policy, *, as_json: bool) -> None:
    """Print the numbers that libraries compute again, or write them; the status is 1 where one
    disagrees.
    """
    from hqm.auditing.second_opinion import check_numbers

    opinions = tuple(map(check_numbers, audit.audits))
    layout = importlib.import_module("hqm.reports.tables.second_opinion_table")
    pages: dict[Path, str | bytes] = {}
    if not as_json:
        for opinion in opinions:
            print_lines(*layout.opinion_lines(opinion))
    if path is not None:
        if path.suffix.lower() in (".html", ".htm"):
            pages = report_files(audit, path, policy, opinions)
        else:
            tables = list(map(layout.opinion_table, opinions))
            latex = importlib.import_module("hqm.reports.latex.latex_tables")
            pages = {path: str(latex.format_tables(tables, path.suffix.lower()))}
        write_together(pages)
    if as_json:
        files = {"wrote": list(map(str, pages))} if pages else {}
        print_json({"audits": [opinion.to_dict() for opinion in opinions], **files})
    elif pages:
        _print_written(pages, as_json=False)
    # The status comes last, so that the file of numbers is written in either case.
    if any(opinion.findings for opinion in opinions):
        raise typer.Exit(1)


def _quotation(joined: Audit, path: Path | None, *, as_json: bool) -> dict[Path, str | bytes]:
    """Return the statements of audits as a file; without a path, print them with sentences."""
    cards = importlib.import_module("hqm.reports.pages.benchmark_card")
    if path is not None:
        statements = (_statement_text(audit.statement, path) for audit in joined.audits)
        return {path: "\n".join([*statements, ""])}
    rows = []
    for audit in joined.audits:
        quotations = cards.quotes(audit, joined.hqm_version)
        rows.append(
            {
                "benchmark": audit.title,
                "statement": str(audit.statement),
                "quotes": list(map(asdict, quotations)),
            }
        )
        if not as_json:
            print_lines(f"{audit.title}: {audit.statement}")
            for quotation in quotations:
                print_line(f"  {quotation.title}: {quotation.sentence}")
    if as_json:
        print_json({"audits": rows})
    return {}


def _quality_card(
    joined: Audit, policy: Policy, path: Path | None, *, as_json: bool
) -> dict[Path, str | bytes]:
    """Return the quality card as a file; without a path, print it."""
    cards = importlib.import_module("hqm.reports.pages.benchmark_card")
    text = str(cards.quality_card(joined, policy))
    if path is not None:
        return {path: text}
    if as_json:
        print_json({"card": text})
    else:
        print_line(text, end="")
    return {}


def _tables_text(audits: Sequence[Audit], path: Path, *, all_tables: bool) -> str:
    """Return the tables of a paper in the format of a file."""
    paper = importlib.import_module("hqm.reports.latex.paper")
    layout = importlib.import_module("hqm.reports.latex.latex_tables")
    tables = paper.paper_tables(audits, include_all=all_tables)
    return str(layout.format_tables(tables, path.suffix.lower()))


def _write_index(folder: Path, files: Sequence[Path], policy: Policy, *, as_json: bool) -> None:
    """Write the site of many audits, those of extensions too; a row's day is that of its file."""
    from hqm.auditing.audit import Audit

    pages = importlib.import_module("hqm.reports.pages.report_page")
    # Extensions are asked first: an audit of theirs is no `Audit`, and loading it as one would be
    # refused.
    describers = [load_extension(PAGES, name, "a page") for name in names_in(PAGES)]
    dated = []
    for file in files:
        data = read_json(file)
        day = datetime.fromtimestamp(file.stat().st_mtime, UTC)
        summaries = [describe(data) for describe in describers]
        audit = next(filter(None, summaries), None) or Audit.load(file)
        dated.append(pages.Dated(audit, f"{day:%Y-%m-%d}", file.absolute().parent.name))
    page_texts: dict[str, str] = pages.index_files(dated, policy)
    write_together({folder / name: text for name, text in page_texts.items()})
    _print_written((folder / "index.html", folder / "index.json"), as_json=as_json)


def _join_audits(audits: Sequence[Audit]) -> Audit:
    """Several audits as one, with all their records."""
    from hqm.auditing.audit import Audit

    if len(audits) == 1:
        # One audit keeps the command and the record that made it.
        return audits[0]
    record = {
        f"audit {i}": {"command": audit.command, **audit.record}
        for i, audit in enumerate(audits, 1)
    }
    members: list[BenchmarkAudit] = []
    for audit in audits:
        members += audit.audits
    return Audit(tuple(members), command(), record)


def _statement_text(statement: Statement, to: Path) -> str:
    """The statement in the format of a file."""
    formats = {".tex": statement.latex, ".md": statement.markdown}
    return formats.get(to.suffix.lower(), str(statement))


def _verify_statement(audit: Audit, text: str, as_json: bool) -> None:
    """Hold a reliability statement against the audit; the status is 1 where they differ."""
    from hqm.auditing.budget import Statement

    statement = Statement.parse(text)
    by_benchmark = {
        benchmark_audit.title: statement.differences(benchmark_audit.statement)
        for benchmark_audit in audit.audits
    }
    # of several benchmarks, the one from which the statement differs least is meant
    title = min(by_benchmark, key=lambda name: len(by_benchmark[name]))
    differences = by_benchmark[title]
    if as_json:
        print_json(
            {"statement": str(statement), "benchmark": title, "differences": list(differences)}
        )
    elif differences:
        print_line(f"this is not the statement of {title}: it has")
        print_lines(*differences, prefix="  ")
    else:
        print_line(f"this is the statement of {title}: every number equals the audit's")
    if differences:
        raise typer.Exit(1)


def _verify(audit: Audit, signature: str, rescoring: Rescoring) -> None:
    """Print the estimates with a signature, or that there is none; then the status is 1."""
    as_json = rescoring.options.output.as_json
    # A statement is a sentence; only a whole signature has blanks too, behind the benchmark's name.
    if " " in signature and not signature.startswith("benchmark:"):
        _verify_statement(audit, signature, as_json)
        return
    estimates = _signed_estimates(audit, signature)
    if as_json:
        rows = [
            {"benchmark": name, **estimate.to_dict(), **rescoring.to_dict(name, estimate)}
            for name, estimate in estimates
        ]
        print_json({"signature": signature, "estimates": rows})
    elif not estimates:
        print(
            f"this audit has no number with the signature {signature}: it is another audit, or"
            " another version of it."
        )
    else:
        for name, estimate in estimates:
            _print_estimate(name, estimate)
            sentence = rescoring.sentence(name, estimate)
            if sentence:
                print_lines(f"  {sentence}")
    if not estimates:
        raise typer.Exit(1)


def _print_estimate(name: str, estimate: Estimate) -> None:
    """Print the number that a signature stands for."""
    tables = importlib.import_module("hqm.reports.tables.table")
    # As many digits as the report prints, so that a reader finds the number there.
    digits = tables.decimals_of(estimate)
    spans = "; ".join(
        f"{tables.interval_in_words(interval, digits)} ({interval.inference})"
        for interval in estimate.intervals
    )
    value_text = tables.estimate_text(estimate).text
    print_lines(
        f"{name}: {estimate.indicator} of {estimate.metric} is"
        f" {value_text}{f' ({spans})' if spans else ''}",
        f"  from {estimate.n_respondents:,} respondents and {estimate.n_items:,} items;"
        f" status {estimate.status}",
        f"  {estimate.signature}",
    )


class _Rescored(NamedTuple):
    """What became of an estimate whose answers were scored again."""

    signed: str
    """Who signed it, and who this is."""
    reason: str
    """Why they cannot be scored again."""
    rereading: Rereading | None = None
    estimate: Estimate | None = None


@dataclass
class Rescoring:
    """The audits that a signature is looked up in, scored again where an earlier version signed.

    Parameters
    ----------
    audits
        Each audit with its file.
    options
        Where the store is.
    """

    audits: tuple[tuple[Path, Audit], ...]
    options: RunOptions
    # Benchmark -> its audit now, or the error that prevents it: every estimate would meet it again.
    _rescored: dict[str, BenchmarkAudit | HQMError] = field(default_factory=dict)

    def sentence(self, name: str, estimate: Estimate) -> str:
        """Who signed, who this is, how many answers are read otherwise, and the number now; empty
        where the same procedures signed.
        """
        changed = self._find(name, estimate)
        if changed is None:
            return ""
        if changed.rereading is None:
            return f"{changed.signed}: it cannot be scored again here, because {changed.reason}"
        tables = importlib.import_module("hqm.reports.tables.table")
        rescored = changed.estimate
        number = "none" if rescored is None else tables.estimate_text(rescored).text
        return f"{changed.signed}: {changed.rereading}; rescored: {number}"

    def to_dict(self, name: str, estimate: Estimate) -> dict[str, object]:
        """The same for JSON: empty where the same procedures signed."""
        changed = self._find(name, estimate)
        if changed is None:
            return {}
        if changed.rereading is None:
            return {"rescored": {"signed": changed.signed, "reason": changed.reason}}
        rescored = changed.estimate
        return {
            "rescored": {
                "signed": changed.signed,
                **asdict(changed.rereading),
                "estimate": None if rescored is None else rescored.to_dict(),
            }
        }

    def write(self, path: Path | None) -> None:
        """Write the audits that were scored again."""
        from hqm.auditing.audit import Audit

        audits = [audit for audit in self._rescored.values() if not isinstance(audit, HQMError)]
        if path is None or not audits:
            return
        # one file holds all of them, with the record of the first
        first = self.audits[0][1]
        record = {**first.record, "rescored": command()}
        write_together({path: Audit(tuple(audits), first.command, record).to_json()})
        print(f"wrote  {path}")

    def _origin(self, name: str, estimate: Estimate) -> tuple[Path, BenchmarkAudit]:
        """The file that has an estimate, and the benchmark's part of it."""
        for file, audit in self.audits:
            for audited in audit.audits:
                if audited.benchmark == name and estimate in audited.all_estimates:
                    return file, audited
        raise LookupError(name)

    def _find(self, name: str, estimate: Estimate) -> _Rescored | None:
        """What became of an estimate that other procedures signed; None of the same ones."""
        changed = changed_procedures(estimate.signature)
        if not changed:
            return None
        file, before = self._origin(name, estimate)
        version = parse_signature(estimate.signature).get("hqm", "")
        signers = []
        present_labels = []
        for kind, label, present_label in changed:
            signer = f"{kind} {label}"
            # A label without a version is that of a whole version of HQM.
            signers.append(signer if ":" in label else f"{signer} of HQM {version}")
            present_labels.append(present_label)
        signed = f"signed by {' and '.join(signers)}, this is {' and '.join(present_labels)}"
        if name not in self._rescored:
            from hqm.commands.rescoring import rescored

            try:
                self._rescored[name] = rescored(file, before, self.options)
            except HQMError as error:
                self._rescored[name] = error
        outcome = self._rescored[name]
        if isinstance(outcome, HQMError):
            return _Rescored(signed, str(outcome))
        from hqm.auditing.verdict_records import compare_verdicts

        rescored_estimate = _same_estimate(outcome, estimate)
        return _Rescored(signed, "", compare_verdicts(before, outcome), rescored_estimate)


def _same_estimate(audited: BenchmarkAudit, estimate: Estimate) -> Estimate | None:
    """The estimate of another audit that is of the same statistic and administrations."""
    # Not by the signature, which names the procedures that changed.
    identity = attrgetter("indicator", "metric", "first", "other")
    return next((e for e in audited.all_estimates if identity(e) == identity(estimate)), None)


def _signed_estimates(audit: Audit, signature: str) -> list[tuple[str, Estimate]]:
    """The estimates with this signature, whole or short, each with its benchmark.

    Raises
    ------
    UsageError
        The text is neither a whole signature nor 12 characters of one.
    """
    from hqm.signature import short_signature, statement_signature

    short = signature.lower()
    if "|" not in signature and not (
        len(short) == _SIGNATURE_CHARS and set(short) <= set("0123456789abcdef")
    ):
        raise UsageError(
            f"{signature[:40]!r} is no signature",
            remedy=(
                f"Copy the {_SIGNATURE_CHARS} characters that stand after “signature”, or the whole"
                " line."
            ),
        )
    estimates = []
    for benchmark in audit.audits:
        for estimate in benchmark.all_estimates:
            # a caption's line is signed for its further numbers too
            lines = {
                estimate.signature,
                statement_signature(estimate.signature, benchmark.procedure),
            }
            if signature in lines or short in map(short_signature, lines):
                estimates.append((benchmark.benchmark, estimate))
    return estimates
