"""Commands on answers that exist already: score a file, export a store, import logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hqm.commands import show
from hqm.commands.option_decorators import with_options
from hqm.commands.options import (
    HOW_PANEL,
    JUDGES_PANEL,
    OUTPUT_PANEL,
    WHAT_PANEL,
    WHO_PANEL,
    RunOptions,
)
from hqm.commands.shared import (
    check_output,
    session_of,
    writable,
)
from hqm.commands.terminal import print_lines
from hqm.errors import UsageError
from hqm.extensions import load_extension, missing_extension, names_in

if TYPE_CHECKING:
    from hqm.imports.log_answers import LogSettings

EXPORTS = "hqm.exports"
"""The group of entry points by which a package writes what others read: the name of a tool or
format, or the ending of a file, -> a function of an `Export`.
"""


@dataclass(frozen=True, slots=True)
class Export:
    """What `hqm export` was asked to write."""

    source: str
    """A store, a benchmark, an audit, or a log."""
    to: str
    """The tool or format, or the file."""
    folder: Path | None
    """The folder of `--out`."""
    benchmarks: tuple[str, ...]
    organization: str
    relationship: str
    options: RunOptions


@with_options(
    "part",
    "data",
    "partial",
    "scoring",
    "withheld",
    "key",
    "parser",
    "words",
    "criterion",
    "mode",
    "prompts",
    "as_json",
)
def score(
    *,
    benchmark: Annotated[
        str,
        typer.Argument(
            rich_help_panel=WHAT_PANEL, help="A name, a folder with a card.toml, or a Python file."
        ),
    ],
    answers: Annotated[
        Path,
        typer.Option(
            rich_help_panel=WHAT_PANEL,
            metavar="FILE",
            help=(
                "The answers, in the benchmark's official format, or a log of lmms-eval, VLMEvalKit"
                " or inspect."
            ),
        ),
    ],
    judgements: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=JUDGES_PANEL,
            metavar="FILE",
            help=(
                "The recorded judgements: raw replies, verdicts or scores, in the release's format"
                " or in HQM's."
            ),
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=WHAT_PANEL,
            metavar="NAME",
            help="The form that the file answers; that which the file names unless given.",
        ),
    ] = None,
    options: RunOptions,
) -> None:
    """Score one file of recorded answers without a store, by every metric of the benchmark."""
    # Here and below, not at the top: `hqm score` loads few modules (`tests/test_house.py` counts).
    from hqm.auditing.one_file import score_file, score_group
    from hqm.benchmark.registry import groups, load, load_all

    part = options.material.part
    criterion = options.judging.criterion
    # a part, a form, labels and a key belong to one benchmark of a group
    if benchmark in groups() and not (part or form or criterion or options.reading.key):
        scored = score_group(
            benchmark, load_all(benchmark, **options.loading), answers, judgements=judgements
        )
    else:
        loaded = load(benchmark, **options.loading)
        key = None
        if options.reading.key:
            from hqm.benchmark.corrected_keys import read_key

            key = read_key(options.reading.key, loaded)
        scored = score_file(
            loaded,
            answers,
            part,
            judgements=judgements,
            criterion=criterion,
            partial=options.answering.partial,
            key=key,
            form=form,
        )
    show.file_score(scored, options.output.as_json)


@with_options(
    "part",
    "limit",
    "data",
    "images",
    "forms",
    "form_files",
    "scoring",
    "withheld",
    "parser",
    "words",
    "judges",
    "roles",
    "mode",
    "prompts",
)
def export(
    *,
    what: Annotated[
        str,
        typer.Argument(
            rich_help_panel=WHAT_PANEL,
            metavar="STORE|NAME|AUDIT",
            help=(
                "A store, a benchmark, an audit.json or its folder, or a log whose questions are to"
                " be asked again."
            ),
        ),
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            rich_help_panel=OUTPUT_PANEL,
            metavar="FILE|TOOL",
            help=(
                "Of a store, a .jsonl or .parquet file, or eee; of a benchmark, a .json file, or"
                " inspect or lmms-eval; of an audit, a .csv file."
            ),
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=OUTPUT_PANEL,
            metavar="FOLDER",
            help="The folder for a tool; NAME-TOOL unless given.",
        ),
    ] = None,
    benchmarks: Annotated[
        list[str] | None,
        typer.Option(
            "--benchmark",
            rich_help_panel=WHAT_PANEL,
            metavar="NAME",
            help=(
                "With eee or an audit, a benchmark whose answers are written; by default all in"
                " the store. Repeat it."
            ),
        ),
    ] = None,
    organization: Annotated[
        str,
        typer.Option(
            rich_help_panel=OUTPUT_PANEL, metavar="NAME", help="With eee, who ran the evaluation."
        ),
    ] = "not named",
    relationship: Annotated[
        str,
        typer.Option(
            rich_help_panel=OUTPUT_PANEL,
            metavar="WORD",
            help=(
                "With eee, how they stand to the model: first_party, third_party, collaborative or"
                " other."
            ),
        ),
    ] = "other",
    options: RunOptions,
) -> None:
    """Write a store, an audit's scores, the metadata of a benchmark, or its forms for another tool.

    A store becomes JSON lines, Parquet, or records of Every Eval Ever (eee); the scores of an audit
    become CSV in the long format of the Item Response Warehouse; the metadata, of a benchmark or of
    the one of an audit, become JSON in the Croissant format; a README.md gets a section with the
    answers of an audit. For inspect and lmms-eval, the forms become a folder from which
    the tool asks them; `hqm import` takes its logs and the records of Every Eval Ever back.
    """
    if Path(to).suffix != ".md":  # a section is written into what is there
        check_output(to, [what])
    request = Export(what, to, out, tuple(benchmarks or ()), organization, relationship, options)
    # by the name of a tool or format, else by the ending of the file
    for kind in filter(None, (to, Path(to).suffix)):
        if kind in names_in(EXPORTS):
            publish = load_extension(EXPORTS, kind, "an export")
            publish(request)
            return
        if error := missing_extension(kind):
            raise error
    from hqm.store.database import Store
    from hqm.store.exchange import export_store

    # Read-only, so that a store can be exported while an audit writes into it.
    with Store(Path(what), readonly=True) as opened:
        rows = export_store(opened, Path(to))
    print(f"wrote  {to}  {rows} rows: answers, and the administrations that they belong to")


# --- hqm import ---


@with_options("part", "data", "scoring", "parser", "partial", "files", "as_json", "no_wait")
def import_(
    *,
    files: Annotated[
        list[Path],
        typer.Argument(
            rich_help_panel=WHAT_PANEL,
            metavar="FILE",
            help=(
                "Exports of other stores; with --benchmark, logs of other tools, or folders of"
                " them."
            ),
        ),
    ],
    store: Annotated[
        Path,
        typer.Option(
            rich_help_panel=OUTPUT_PANEL,
            metavar="FILE",
            help="The store to add to; made when it does not exist.",
        ),
    ],
    benchmark: Annotated[
        str | None,
        typer.Option(
            "--benchmark",
            rich_help_panel=WHAT_PANEL,
            metavar="NAME",
            help="The benchmark that the logs answer.",
        ),
    ] = None,
    source: Annotated[
        str,
        typer.Option(
            "--from",
            rich_help_panel=WHAT_PANEL,
            metavar="TOOL",
            help="Which tool wrote the logs, such as lmms-eval or table; auto recognises it.",
        ),
    ] = "auto",
    respondent: Annotated[
        str | None,
        typer.Option(
            "--respondent",
            rich_help_panel=WHO_PANEL,
            metavar="NAME",
            help="The respondent's name, in place of the log's.",
        ),
    ] = None,
    run: Annotated[
        int | None,
        typer.Option(
            "--run",
            rich_help_panel=HOW_PANEL,
            min=0,
            max=999_999_999,
            metavar="N",
            help="The first run to store under, in place of the log's.",
        ),
    ] = None,
    options: RunOptions,
) -> None:
    """Add answers to a store: from exports of other stores, or from the logs of other tools.

    Logs are matched to the benchmark's items by id, or by picture and question. What the store has
    already is left as it is.
    """
    from hqm.imports.log_answers import LogSettings

    if benchmark is not None:
        answering = options.answering
        settings = LogSettings(source, respondent, run, answering.partial, files=answering.files)
        _import_logs(benchmark, files, store, settings, options)
        return
    # An export names respondents and runs itself: an option that did nothing would seem to have
    # worked.
    if (source, respondent, run, options.answering.partial) != ("auto", None, None, False):
        raise UsageError(
            "--from, --respondent, --run and --partial are for logs",
            remedy="Name what they answer with --benchmark.",
        )
    from hqm.store.exchange import import_store

    with writable(store, options.output.no_wait) as opened:
        for file in files:
            print(f"{import_store(file, opened)} new answers: {store}")


def _import_logs(
    name: str, files: Sequence[Path], path: Path, settings: LogSettings, options: RunOptions
) -> None:
    from hqm.administration.administering import administer
    from hqm.administration.stored_answers import forms_by_name
    from hqm.auditing.score_differences import compare_scores

    log_options = replace(options, answering=replace(options.answering, recorded=tuple(files)))
    with writable(path, options.output.no_wait) as opened:
        session = session_of([name], opened, log_options)
        # the settings of `hqm import` take the place of those of an audit
        session.respondents.logs = settings
        outcome = administer(opened, session.jobs())
        for benchmark in session.benchmarks:
            answers = session.respondents.imported_answers.get(benchmark.name)
            if answers is not None:
                forms = forms_by_name(session.forms.named(benchmark))
                show.imported_logs(
                    benchmark,
                    answers,
                    compare_scores(benchmark, forms, answers.recordings),
                    options.output.as_json,
                )
    if not options.output.as_json:
        next_step = f"next:\n  hqm audit {name} --offline --store {path}"
        print_lines(f"{outcome.read} new answers: {path}", next_step)
