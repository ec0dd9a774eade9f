"""`hqm export STORE --to eee`: the answers of a store as records of Every Eval Ever."""

from __future__ import annotations

from pathlib import Path

from hqm.administration.stored_answers import (
    benchmarks_in,
    count_altered_administrations,
    forms_held,
)
from hqm.benchmark.registry import groups
from hqm.benchmark.registry import names as known_names
from hqm.commands.results import Export
from hqm.commands.shared import session_of
from hqm.commands.terminal import print_lines
from hqm.errors import UsageError
from hqm.store.database import Store
from hqm_eee.evaluation_records import Source, write_evaluations


def publish(export: Export) -> None:
    """Write the records of Every Eval Ever."""
    path = Path(export.source)
    folder = export.folder or Path(f"{path.stem}-eee")
    given_names = export.benchmarks
    with Store(path, readonly=True) as opened:
        names = [*given_names] or benchmarks_in(opened)
        if not names:
            raise UsageError(
                "the store does not say which benchmarks its answers belong to",
                location=str(path),
                remedy="Name one with --benchmark.",
            )
        unknown = [
            name for name in names if not given_names and name not in {*known_names(), *groups()}
        ]
        if unknown:
            raise UsageError(
                f"the store has answers to {unknown[0]!r}, and HQM knows no benchmark of that name",
                location=str(path),
                remedy="Name its folder or file with --benchmark.",
            )
        session = session_of(names, opened, export.options, offline=True)
        source = Source(export.organization, export.relationship)  # type: ignore[arg-type]
        records = []
        for benchmark in session.benchmarks:
            forms = forms_held(opened, benchmark, session.forms.from_files(benchmark)).values()
            for record in write_evaluations(
                benchmark,
                session.answers,
                tuple(forms),
                session.stored_respondents(benchmark),
                folder,
                judges=session.judging.judges(benchmark),
                source=source,
            ):
                records.append(record)
                print(
                    f"{record.benchmark}, {record.respondent}, form {record.form}, run"
                    f" {record.run}: {record.answers} answers, {record.unscored} not scored:"
                    f" {record.aggregate}"
                )
        n_left_out = sum(count_altered_administrations(opened, name) for name in names)
    answers = sum(record.answers for record in records)
    unscored = sum(record.unscored for record in records)
    print_lines(
        f"{n_left_out} administrations without pictures, or with smaller ones, are left out: the"
        " schema has no field for them"
        if n_left_out
        else "",
        f"{len(records)} evaluations, {answers} answers, {unscored} not scored: {folder}",
        f"next:\n  cd {folder} && every_eval_ever validate 'data/*/*/*/*'",
    )
