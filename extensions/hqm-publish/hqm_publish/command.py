"""What `hqm export` and `hqm gate --checklist` write for others to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from operator import attrgetter
from pathlib import Path

from hqm.auditing.audit import Audit, BenchmarkAudit
from hqm.benchmark.card import Card
from hqm.commands.results import Export
from hqm.commands.shared import AUDIT, benchmarks_named, find_audit, session_of
from hqm.commands.terminal import print_json, print_lines
from hqm.errors import UsageError
from hqm.files.records import read_text
from hqm.files.whole import write_text
from hqm.lint import lint_benchmarks
from hqm.store.database import Store
from hqm_publish.croissant import write_croissant
from hqm_publish.documentation import fill_checklist, responsible_texts, write_section
from hqm_publish.handoff import hand_over
from hqm_publish.item_responses import write_item_responses


def _one_audit(path: Path, names: Sequence[str], format_name: str) -> BenchmarkAudit:
    """The audit of one benchmark in a file or folder."""
    audits = Audit.load(find_audit(path)).audits
    named_audits = [audit for audit in audits if not names or audit.benchmark in names]
    # The formats hold one table, and its rows have no column for a benchmark.
    if len(named_audits) != 1:
        present = ", ".join(map(attrgetter("benchmark"), audits))
        raise UsageError(
            f"{format_name} holds one benchmark, and the audit has {present}",
            location=str(path),
            remedy="Name one with --benchmark.",
        )
    return named_audits[0]


def export_responses(export: Export) -> None:
    """Write the scores of one benchmark's audit as item responses."""
    audit = _one_audit(Path(export.source), export.benchmarks, "a table of responses")
    table = write_item_responses(audit, Path(export.to))
    unscored = f"; answers without a score, left out: {table.n_unscored:,}"
    print(
        f"wrote  {export.to}  {table.n_rows:,} responses to {table.n_items:,} items"
        f"{unscored if table.n_unscored else ''}"
    )


def export_section(export: Export) -> None:
    """Write what an audit says into a README, beside what its author wrote."""
    audit = _one_audit(Path(export.source), export.benchmarks, "a README")
    to = Path(export.to)
    text = read_text(to) if to.exists() else ""
    write_text(to, write_section(audit, text))
    print(f"wrote  {to}  {'a section of an existing file' if text else 'YAML and a section'}")


def export_metadata(export: Export) -> None:
    """Write the Croissant metadata of a benchmark, and the findings of an audit of it."""
    source = export.source
    data = export.options.material.data
    path = Path(source)
    # a folder with a card is the benchmark itself, and its audit lies below it
    if path.name == AUDIT or (path.is_dir() and not (path / "card.toml").is_file()):
        audit: BenchmarkAudit | None = _one_audit(path, export.benchmarks, "metadata")
    else:
        audit = _audit_of_folder(source)
    name = source
    measured = {}
    if audit is not None:
        measured = responsible_texts(audit)
        # A folder is the benchmark itself; the name in an audit may be in no registry of this
        # machine.
        name = source if (path / "card.toml").is_file() else audit.benchmark
    findings = [oddity for report in lint_benchmarks(name, data=data) for oddity in report.findings]
    statement = "" if audit is None else str(audit.statement)
    described = write_croissant(name, Path(export.to), data, findings, statement, measured)
    print(f"wrote  {export.to}  {described} files described")


def _audit_of_folder(folder: str) -> BenchmarkAudit | None:
    """The audit in a benchmark's folder, where there is one of its version."""
    path = Path(folder, "out", AUDIT)
    card = Path(folder, "card.toml")
    if not (path.is_file() and card.is_file()):
        return None
    loaded_card = Card.load(card)
    # An audit of another version is about other items, and describes nothing of these files.
    label = (loaded_card.name, loaded_card.version)
    audits = Audit.load(path).audits
    return next((audit for audit in audits if (audit.benchmark, audit.version) == label), None)


def export_forms(export: Export) -> None:
    """Write a benchmark's forms as a folder from which a tool asks them."""
    # a session needs a store, and nothing is stored here
    with Store(":memory:") as store:
        benchmarks = [
            benchmark if isinstance(benchmark, str) else benchmark.to_ask()
            for benchmark in benchmarks_named([export.source])
        ]
        session = session_of(benchmarks, store, export.options)
        for benchmark in session.benchmarks:
            folder = export.folder or Path(f"{Path(export.source).stem}-{export.to}")
            # A folder for each member of a group, since some of their files have one name.
            if len(session.benchmarks) > 1:
                folder = folder / benchmark.name
            forms = session.forms.named(benchmark)
            hand_over(benchmark, export.to, folder, forms)
            print(f"{', '.join(f'{form.name} ({len(form)} items)' for form in forms)}: {folder}")


def print_checklists(audit: Audit, as_json: bool) -> None:
    """Print each point of a checklist with its answer, or that it is left to the author."""
    filled = [fill_checklist(benchmark, audit.command) for benchmark in audit.audits]
    if as_json:
        print_json(list(map(asdict, filled)))
        return
    for checklist in filled:
        print(f"{checklist.benchmark}, {checklist.title}:")
        stage = ""
        for point in checklist.points:
            print_lines(f"{point.stage}:" if point.stage != stage else "")
            stage = point.stage
            print(f"  {point.state:12}  {point.id}  {point.text}")
            print_lines(
                f"  {'':12}    -> {point.answer}" if point.answer else "",
                f"  {'':12}    the author adds: {point.remainder}" if point.remainder else "",
            )
        print(checklist.sentence)
