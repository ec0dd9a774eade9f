"""`hqm audit`: ask respondents and judges, then audit what they answered."""

from __future__ import annotations

import importlib
import shlex
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from hqm.commands import show
from hqm.commands.interrupt import interruption, report_failure
from hqm.commands.option_decorators import with_options
from hqm.commands.options import HOW_PANEL, OUTPUT_PANEL, WHAT_PANEL, RunOptions
from hqm.commands.shared import (
    benchmarks_named,
    command,
    labelled,
    readable,
    report_files,
    session_of,
    stem,
    store_path,
    writable,
)
from hqm.commands.terminal import bars, judging, print_lines, tell, tell_failures, width
from hqm.errors import HQMError, UsageError
from hqm.extensions import ASKING, load_extension, names_in
from hqm.files.whole import write_together
from hqm.respondents.base import RecordedRespondent, is_idle, waiting

if TYPE_CHECKING:
    from hqm.administration.administering import Outcome
    from hqm.administration.asks import Job
    from hqm.auditing.audit import Audit, BenchmarkAudit
    from hqm.commands.interrupt import Interruption
    from hqm.commands.session import Session
    from hqm.comparison.compare import KeyEffect
    from hqm.store.database import Store

FILE_AUDITS = "hqm.file_audits"
"""The group of entry points by which a package audits files that hold no answers: a function of
their names and `--columns`, which returns their audit, or None for other files."""
_PREFERENCES = "preferences"

_FIRST = (
    "benchmarks",
    "respondents",
    "recorded",
    "criterion",
    "judges",
    "metrics",
    "runs",
    "forms",
    "limit",
    "out",
    "dry_run",
)


@with_options(
    "material",
    "answering",
    "asking",
    "reading",
    "judging",
    "compute",
    "store",
    "as_json",
    "quiet",
    "dry_run",
    "no_wait",
    first=_FIRST,
    study=True,
)
def audit(
    *,
    benchmarks: Annotated[
        list[str] | None,
        typer.Argument(
            help=(
                "Names, folders with a card.toml, or Python files; or logs of other"
                " tools, tables of scores and pairwise preferences. Without one, the study in"
                " hqm.toml."
            ),
        ),
    ] = None,
    offline: Annotated[
        bool,
        typer.Option(
            "--offline", rich_help_panel=HOW_PANEL, help="Ask nobody: audit what the store holds."
        ),
    ] = False,
    columns: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=WHAT_PANEL,
            metavar="FIELD=COLUMN,...",
            help=(
                "Which columns of a table of answers or scores are model, item, score, run, form,"
                " judge, cluster, category, answer and target."
            ),
        ),
    ] = None,
    no_report: Annotated[
        bool,
        typer.Option(
            "--no-report",
            rich_help_panel=HOW_PANEL,
            help="Ask and store the answers, and end there.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="The folder to write into; out/<name> unless given."),
    ] = None,
    coefficients: Annotated[
        bool,
        typer.Option("--all", rich_help_panel=OUTPUT_PANEL, help="Print the coefficients too."),
    ] = False,
    options: RunOptions,
) -> None:
    """Ask what is missing, then audit the benchmark.

    Its reliability, validity and coverage are written as a report and as audit.json. What is stored
    already is not asked again.
    """
    from hqm.auditing.auditor import audit as audit_of

    if not benchmarks:
        raise UsageError(
            "no benchmark is named, and no hqm.toml holds a study",
            remedy=(
                "Name a benchmark: `hqm audit shapes`; or write [study] with benchmarks ="
                ' ["shapes"] into hqm.toml.'
            ),
        )
    # Before the names are looked up: a file of preferences is no benchmark, and would be refused as
    # one.
    if audit_files := _other_audit(benchmarks, columns):
        audit_files(out, options)
        return
    output = options.output
    judged = bool(options.judging.judgements)
    chosen_benchmarks = benchmarks_named(
        benchmarks,
        columns,
        partial=options.answering.partial,
        judged=judged,
        files=options.answering.files,
        title=options.answering.title,
    )
    names = [
        benchmark if isinstance(benchmark, str) else benchmark.name
        for benchmark in chosen_benchmarks
    ]
    # three names tell a folder well enough, and thirty would be none
    folder = out or Path("out") / stem(names[:3])
    path = store_path(names, output.store, folder)
    if not offline:
        _expect_workers(path, options)
    show.log_benchmarks(chosen_benchmarks)
    with _store(path, options, offline) as opened:
        session = session_of(chosen_benchmarks, opened, options, offline=offline)
        if not no_report and not output.dry_run:
            # before anything is asked: answers that nobody judges would have no scores
            session.judging.refuse_unjudged()
        session.check()
        # On the error stream, as the output may be JSON.
        tell(*session.notes)
        if not output.quiet:
            for name, answers in session.respondents.imported_answers.items():
                print_lines(f"{name}: {answers.sentence}", to=sys.stderr)
        complete, errors = (True, []) if offline else _administer_beside(session)
        if no_report and options.asking.expected and not output.dry_run:
            show.probability_counts(session)
        if not no_report and not output.dry_run:
            audits = []
            for benchmark in session.benchmarks:
                with waiting(f"scoring and estimating {benchmark.name}"):
                    audits.append(audit_of(session.evidence(benchmark)))
            _conclude(session, audits, folder, print_coefficients=coefficients)
    # what failed is said last, where a long output ends
    tell(*errors)
    if not complete:
        raise typer.Exit(1)


def _other_audit(
    names: Sequence[str], columns: str | None
) -> Callable[[Path | None, RunOptions], None] | None:
    """Return the audit, by an extension, of files that hold no answers; None for all others.

    Raises
    ------
    UsageError
        They hold pairwise preferences, and the extension that audits them is not installed.
    """
    from hqm.benchmark.registry import is_log

    files = list(filter(is_log, names))
    kinds = names_in(FILE_AUDITS) if files else ()
    for kind in kinds:
        find_audit = load_extension(FILE_AUDITS, kind, "an audit of files")
        audit_files: Callable[[Path | None, RunOptions], None] | None = find_audit(names, columns)
        if audit_files:
            return audit_files
    # without the extension that reads preferences, the error says how to install it
    may_be_preferences = _PREFERENCES not in kinds and (columns is None or "model_a" in columns)
    if may_be_preferences and any(_has_two_models(Path(file)) for file in files):
        load_extension(FILE_AUDITS, _PREFERENCES, "an audit of files")
    return None


def _has_two_models(path: Path) -> bool:
    """Whether the rows of a file name two models each."""
    from hqm.files.records import first_record

    records: Sequence[Mapping[str, object]] = ()
    if path.is_file():
        with suppress(HQMError):
            records = first_record(path)
    return bool(records) and {"model_a", "model_b"} <= records[0].keys()


def _conclude(
    session: Session, audits: list[BenchmarkAudit], folder: Path, *, print_coefficients: bool
) -> None:
    """Write what was audited, and print it."""
    for benchmark in session.benchmarks:
        show.judgements(session.judging.imported.get(benchmark.name))
    effects = _by_corrected_key(session, audits)
    audited = session.joined(audits, command())
    has_pages = _write(audited, folder)
    if session.options.output.as_json:
        print(audited.to_json(), end="")
        return
    if print_coefficients:
        show.coefficients(audited)
    print_summary(audited, folder, has_pages=has_pages)
    if session.options.asking.expected:
        show.expectations(audited)
    for effect in effects:
        show.key_effect(effect)


def _store(path: Path, options: RunOptions, offline: bool) -> AbstractContextManager[Store]:
    """The store of an audit, opened for what the audit does with it."""
    if options.output.dry_run:
        return readable(path)
    # nobody is asked, so that labels and judgements are all that may be added
    if offline and path.exists():
        judging = options.judging
        return labelled(path, judging.criterion, options.output.no_wait, judging.judgements)
    return writable(path, options.output.no_wait)


def _write(audited: Audit, folder: Path) -> bool:
    """Write audit.json and the findings, both or none; then the report. Return whether that could
    be drawn.
    """
    from hqm.benchmark.findings import findings_csv

    lists = findings_csv((audit.benchmark, audit.findings) for audit in audited.audits)
    write_together({folder / "audit.json": audited.to_json(), folder / "findings.csv": lists})
    try:
        with waiting("drawing the report"):
            pages = report_files(audited, folder / "report.html")
    # An error that HQM words names its remedy, and ends the command as everywhere.
    except HQMError:
        raise
    except Exception as error:  # what is audited is written, whatever a figure makes of it
        message = f"the report cannot be drawn; audit.json and findings.csv are in {folder}"
        print(f"hqm: {message}. {report_failure(error)}", file=sys.stderr)
        # pages of an earlier audit would be taken for those of this one
        for name in _PAGES:
            (folder / name).unlink(missing_ok=True)
        return False
    write_together(pages)
    return True


_PAGES = ("report.html", "evidence.html")


def _expect_workers(path: Path, options: RunOptions) -> None:
    """Start importing what the embedded models need, where an empty store says that they will be
    asked.
    """
    respondent_options = options.answering
    compute = options.compute
    # importing takes seconds, which the reading of the data hides
    if (
        path.exists()
        or options.output.dry_run
        or respondent_options.recorded
        or compute.engine != "local"
        or compute.workers
    ):
        return
    are_embedded = all(name.startswith("hf/shapes:") for name in respondent_options.respondents)
    if are_embedded and compute.device in ("auto", "cpu"):
        from hqm.administration.engines.local import import_ahead

        import_ahead()


def _by_corrected_key(session: Session, audits: list[BenchmarkAudit]) -> list[KeyEffect]:
    """Audit the same answers by the corrected key, and append those audits to the list."""
    effects = []
    # a copy of the pairs, because the list grows
    for benchmark, before in list(zip(session.benchmarks, audits, strict=True)):
        evidence = session.by_corrected_key(benchmark)
        if evidence is not None:
            from hqm.auditing.auditor import audit as audit_of
            from hqm.comparison.compare import key_effect

            # Of what was administered, so that changes to other parts are not counted.
            key = session.keys[benchmark.name].restricted_to(benchmark.original)
            after = audit_of(evidence)
            effects.append(key_effect(before, after, key))
            key_name = Path(key.path).stem
            audits.append(
                replace(
                    after,
                    benchmark=f"{after.benchmark} by {key_name}",
                    title=f"{after.title}, by the key {key_name}",
                )
            )
    return effects


def _administer_beside(session: Session) -> tuple[bool, list[str]]:
    """Ask what is missing, the counts beside the output where that is one JSON document; the result
    is that of `_administer`.
    """
    output = session.options.output
    is_document = output.as_json and not output.dry_run
    # extensions print as well
    with redirect_stdout(sys.stderr) if is_document else nullcontext():
        return _administer(session)


def _administer(session: Session) -> tuple[bool, list[str]]:
    """Ask what is missing. Return whether every question was answered, and the sentences on those
    that were not.
    """
    from hqm.administration.administering import administer
    from hqm.commands.run_plan import plan_run
    from hqm.commands.show_plan import print_plan

    output = session.options.output
    if output.dry_run:
        print_plan(plan_run(session), output.as_json)
        return True, []
    # Workers import their libraries while the questions are planned, which takes seconds as well.
    session.get_ready()
    session.fetch_images()
    if not session.options.asking.blind and any(map(session.has_live, session.benchmarks)):
        show.missing_images(session.missing_images())
    if session.options.asking.until:
        return _administer_until(session)
    jobs = session.jobs()
    with interruption(output.quiet, is_idle) as stop, bars(jobs, output.quiet) as progress:
        outcome = administer(
            session.store, jobs, progress, engine=session.engine(), stop=stop, budget=session.budget
        )
    complete, errors = _tell(session, outcome, jobs, stop, f", {outcome.left} are left")
    if complete:
        # judges are asked once, when the answers are complete
        complete, judge_errors = _judge(session)
        errors += judge_errors
    return complete, errors


def _administer_until(session: Session) -> tuple[bool, list[str]]:
    """Ask until the rule of `--until` is met; the result is that of `_administer`."""
    quiet = session.options.output.quiet
    extension = load_extension(ASKING, "--until", "an option")
    with interruption(quiet, is_idle) as stop:
        runs = extension.run_until(session, stop, quiet=quiet)
    complete = True
    errors = list[str]()
    for run in runs:
        all_answered, run_errors = _tell(session, run.outcome, run.jobs, stop, " so far")
        complete = complete and all_answered
        errors = errors + run_errors
        extension.print_run(run)
    return complete, errors


def _tell(
    session: Session, outcome: Outcome, jobs: Sequence[Job], stop: Interruption, left: str
) -> tuple[bool, list[str]]:
    """Print how many questions were asked; the result is that of `_administer`."""
    from hqm.administration.costs import spent
    from hqm.respondents.server_parameters import describe_left_out
    from hqm.scoring.rules import advice_on_cut

    # The respondents that failed come before the counts, which they explain.
    tell_failures("", outcome.failed)
    respondents = [job.assignment.respondent for job in jobs]
    # Jobs were planned before anything was asked: `stored` is what the store had then.
    stored = 0
    refused = outcome.refused
    for job in jobs:
        stored += job.stored
        refused += job.refused
    # Recorded answers are not asked again: an error among them stays one.
    has_live = any(respondent.live for respondent in respondents)
    n_retried = outcome.errors - outcome.refused if has_live else 0
    errors = show.errors(n_retried, refused, outcome.reasons)
    if advice := advice_on_cut(outcome.states):
        tell(f"{advice}.")
    tell(*describe_left_out(respondents))
    # Whether answers were asked for or read from files, or both: the sentence has one count of
    # each.
    kinds = set(map(type, respondents))
    counts = [f"read {outcome.read}"] if RecordedRespondent in kinds else []
    if kinds != {RecordedRespondent}:
        counts.insert(0, f"asked {outcome.asked}")
    print(f"{', '.join(counts)}, stored before {stored}, errors {outcome.errors}")
    show.spent(spent(session.store, jobs, session.options.compute.prices))
    state = (
        f"{stored + outcome.asked + outcome.read} answers are stored in {session.store.path}{left}"
    )
    if stop():
        tell(*errors)
        print(f"hqm: interrupted: {state}. Go on with\n  {command()}", file=sys.stderr)
        raise typer.Exit(stop.status)
    if session.budget.reached:
        tell(*errors)
        _end_at_the_bound(session, state)
    return not outcome.failed and outcome.errors == outcome.refused, errors


def _end_at_the_bound(session: Session, state: str) -> NoReturn:
    """End a command that has reached a bound; print what it spent and how to go on."""
    budget = session.budget
    if budget.is_hopeless:
        advice = "in"
    else:
        advice = "or continue with the same bound by"
    print(
        f"hqm: {budget.reached} is reached: this command took {budget.spent()}; {state}. "
        f"Raise the bound{'' if budget.is_hopeless else ','} {advice}\n  {command()}",
        file=sys.stderr,
    )
    raise typer.Exit(1)


def _judge(session: Session) -> tuple[bool, list[str]]:
    """Ask the judges about the answers; the result is that of `_administer`."""

    if not any(map(session.judging.panels, session.benchmarks)):
        return True, []
    quiet = session.options.output.quiet
    with interruption(quiet, is_idle) as stop, judging(quiet) as progress:
        outcome = session.judging.ask(progress, stop)
    tell_failures("the judge ", outcome.failed)
    print(f"judges asked {outcome.asked}, errors {outcome.errors}")
    if stop():
        state = f"the judges' replies are stored in {session.store.path}"
        print(f"hqm: interrupted: {state}. Go on with\n  {command()}", file=sys.stderr)
        raise typer.Exit(stop.status)
    if session.budget.reached:
        # Later stages ask about replies that are not there yet, so that only the known questions
        # are counted.
        left = sum(session.judging.pending().values())
        _end_at_the_bound(
            session,
            f"the judges' replies are stored in {session.store.path}, {left} known ones are left",
        )
    n_failed = outcome.errors - outcome.refused
    return not outcome.failed and n_failed == 0, show.errors(
        n_failed, outcome.refused, outcome.reasons
    )


# --- the end of the output ---

# The end of `hqm audit`: the verdict, seven questions, what was written, and the next command.

_MAX_VERDICTS = 4
"""Benchmarks of which each has its verdict in the terminal; of more, each has a line of marks."""
_MAX_BENCHMARKS = 20
"""Benchmarks that are listed at most."""


def print_summary(result: Audit, folder: Path, *, has_pages: bool = True) -> None:
    """Print what a reader of the terminal alone needs to know, in the words of the report.

    It takes at most 15 lines for one benchmark, and 25 for several.
    """
    from hqm.scoring.rules import advice_on_cut

    cards = importlib.import_module("hqm.reports.pages.benchmark_card")
    advice: set[str] = set()
    for audited in result.audits:
        for cell, counts in audited.state_counts.items():
            sentence = advice_on_cut(counts)
            if sentence:
                advice.add(f"{audited.title}, {cell}: {sentence}.")
    # The first by its text, so that two runs print the same one.
    cut_note = min(advice, default="")
    if len(advice) > 1:
        cut_note += f" So with {len(advice) - 1} other administrations."
    files = [*(_PAGES if has_pages else ()), "audit.json", "findings.csv"]
    single = len(result.audits) == 1
    print_lines(
        f"\n{cards.brief(result.audits[0], width())}"
        if single
        else _benchmarks_summary(result.audits),
        cut_note,
        f"wrote  {folder / files[0]}  {'  '.join(files[1:])}",
        f"next:  hqm report {shlex.quote(str(folder))} --to table.tex",
    )


def _benchmarks_summary(audits: Sequence[BenchmarkAudit]) -> str:
    """Return the headline of several benchmarks together, and a line or verdict for each."""
    line_width = width()
    sentences = importlib.import_module("hqm.reports.pages.sentences")
    cards = importlib.import_module("hqm.reports.pages.benchmark_card")
    headlines = list(map(sentences.headline, audits))
    lines = [textwrap.fill(sentences.joint_sentence(audits), line_width)]
    title_width = max(len(audited.title) for audited in audits)
    if len(audits) <= _MAX_BENCHMARKS:
        n_shown = len(audits)
    else:
        # One line less, as the last one says how many more there are.
        n_shown = _MAX_BENCHMARKS - 1
    for audited, head in zip(audits[:n_shown], headlines, strict=False):
        marks = "  ".join(
            f"{sentences.STATUS_SYMBOLS[answer.code]} {cards.QUESTION_SHORT_NAMES[answer.question]}"
            for answer in sentences.answer_questions(audited)
        )
        if len(audits) <= _MAX_VERDICTS:
            verdict = f"{sentences.STATUS_SYMBOLS[head.code]} {audited.title}: {head.text}"
            lines += ["", textwrap.fill(verdict, line_width, subsequent_indent="  "), f"  {marks}"]
        else:
            title = audited.title.ljust(min(title_width, max(line_width - len(marks) - 4, 20)))
            lines.append(f"{sentences.STATUS_SYMBOLS[head.code]} {title}  {marks}"[:line_width])
    if n_shown < len(audits):
        lines.append(f"... and {len(audits) - n_shown} more, in the report")
    return "\n".join(lines)
