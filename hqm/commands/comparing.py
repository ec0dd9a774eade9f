"""The command `hqm compare`: audits, or readings of one store, over the same respondents."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import typer

from hqm.commands.option_decorators import with_options
from hqm.commands.options import HOW_PANEL, JUDGES_PANEL, WHAT_PANEL, EveryTable, RunOptions, To
from hqm.commands.shared import (
    benchmarks_named,
    check_output,
    command,
    existing,
    find_audit,
    labelled,
)
from hqm.commands.terminal import print_line, print_lines, print_report_table, tell
from hqm.errors import UsageError
from hqm.files.whole import write_text

if TYPE_CHECKING:
    from hqm.auditing.audit import Audit, BenchmarkAudit
    from hqm.benchmark.adapter import Benchmark
    from hqm.comparison.measures import Comparison


COMPARED = (
    "part",
    "data",
    "respondents",
    "recorded",
    "families",
    "metrics",
    "words",
    "criterion",
    "pool",
    "stale",
    "levels",
    "judgements",
    "partial",
    "mode",
    "prompts",
    "roles",
)
"""The shared options of `hqm compare` and of `hqm.compare`."""


PricesFile = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        rich_help_panel=HOW_PANEL,
        metavar="FILE",
        help=(
            "Prices, in a prices.toml; else those that the audit measured, else answers are"
            " counted."
        ),
    ),
]


@with_options(*COMPARED)
def compare(
    *,
    what: Annotated[
        list[str],
        typer.Argument(
            rich_help_panel=WHAT_PANEL,
            help=(
                "Files audit.json, or their folders; with --store, benchmarks; with --criterion, a"
                " table with a column for each metric."
            ),
        ),
    ],
    store: Annotated[
        Path | None,
        typer.Option(
            "--store",
            rich_help_panel=WHAT_PANEL,
            metavar="FILE",
            help="A store to read in several ways.",
        ),
    ] = None,
    to: To = Path("compare.html"),
    scorings: Annotated[
        list[str] | None,
        typer.Option(
            "--scoring",
            rich_help_panel=HOW_PANEL,
            metavar="NAME",
            help=(
                "official, paper, or recorded (the score of the tool whose log brought the"
                " answers); repeat it to compare them."
            ),
        ),
    ] = None,
    parsers: Annotated[
        list[str] | None,
        typer.Option(
            "--parser",
            rich_help_panel=HOW_PANEL,
            metavar="NAME",
            help="A reader of yes/no answers; repeat it to compare readers.",
        ),
    ] = None,
    judges: Annotated[
        list[str] | None,
        typer.Option(
            "--judge",
            rich_help_panel=JUDGES_PANEL,
            metavar="NAME",
            help="A model that judged the answers; repeat it to compare judges.",
        ),
    ] = None,
    options: RunOptions,
    length: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=HOW_PANEL,
            min=1,
            metavar="N",
            help="The common number of items; that of the shortest measure unless given.",
        ),
    ] = None,
    forecast: Annotated[
        bool,
        typer.Option(
            "--forecast",
            rich_help_panel=HOW_PANEL,
            help=("Forecast which of two measures to trust at equal cost."),
        ),
    ] = False,
    prices: PricesFile = None,
    all_tables: EveryTable = False,
    scores: Annotated[
        list[Path] | None,
        typer.Option(
            rich_help_panel=JUDGES_PANEL,
            metavar="FILE",
            help=(
                "Scores of single answers by any metrics: item, respondent, a column each; with"
                " --criterion, how close each metric comes to people. Repeat it; --metric chair"
                " is computed."
            ),
        ),
    ] = None,
) -> None:
    """Compare benchmarks, metrics, scorings, parsers or judges over the same respondents.

    Nobody is asked anything: the numbers come from audits, or from the answers in a store.
    """
    check_output(to, [*what, *(scores or ()), *([store] if store else [])])
    # labels without a store compare metrics with people, not benchmarks with each other
    labelled_alone = options.judging.criterion is not None and store is None
    has_metrics = bool(options.reading.metrics) or (len(what) == 1 and _is_table(what[0]))
    if scores or (labelled_alone and has_metrics):
        _print_people_comparison(what, scores or (), scorings or (), options, to)
        return
    readings = Readings(tuple(scorings or ()), tuple(parsers or ()), tuple(judges or ()))
    comparison = comparison_of(
        what,
        options,
        readings,
        store=store,
        length=length,
        forecast=forecast,
        prices=prices,
        command=command(),
    )
    _write(comparison, to, all_tables=all_tables)


def _print_people_comparison(
    benchmarks: Sequence[str],
    scores: Sequence[Path],
    scorings: Sequence[str],
    options: RunOptions,
    to: Path,
) -> None:
    """Print, and write, how close metrics come to people."""
    from hqm.comparison.beside_people import compare_with_people, read_score_files

    criterion = options.judging.criterion
    if criterion is None or len(benchmarks) != 1 or len(scorings) > 1:
        raise UsageError(
            "--scores takes one benchmark in one scoring, and people's labels",
            remedy="Write `hqm compare NAME --criterion LABELS --scores FILE`.",
        )
    if _is_table(benchmarks[0]):
        scores = scores or [Path(benchmarks[0])]
    benchmark = _scored_benchmark(benchmarks[0], next(iter(scorings), "official"), options)
    recorded = list(map(Path, options.answering.recorded))
    answer_scores = read_score_files(scores, benchmark)
    tell(*answer_scores.notes)
    metrics = options.reading.metrics
    study = compare_with_people(benchmark, criterion, answer_scores, metrics, recorded)
    unit = "picture" if any(benchmark.original.images) else "item"
    tables = importlib.import_module("hqm.reports.pages.compare_page").people_tables(study, unit)
    for table in tables:
        print_report_table(table)
        print_lines(*table.notes)
    if to.suffix != ".html":
        layout = importlib.import_module("hqm.reports.latex.latex_tables")
        write_text(to, layout.format_tables(tables, to.suffix))
        print_line(f"wrote  {to}")


def _is_table(name: str) -> bool:
    """Whether a name is that of a file with a row for each answer, and not of an audit."""
    path = Path(name)
    return path.is_file() and path.suffix.lower() not in (".json", ".py", ".toml")


def _scored_benchmark(name: str, scoring: Any, options: RunOptions) -> Benchmark:
    """The benchmark of a name, or that of the answers which a table scores."""
    from hqm.benchmark.registry import load

    if not _is_table(name):
        return load(name, data=options.material.data, scoring=scoring)
    from hqm.comparison.beside_people import read_scores

    # Any of its columns says which answers there are.
    metric = next(iter(read_scores(Path(name)).columns))
    (benchmark,) = benchmarks_named([name], f"score={metric}")
    return cast("Benchmark", benchmark)


class Readings(NamedTuple):
    """The scorings, parsers and judges by which one store is read several times."""

    scorings: tuple[Any, ...] = ()
    parsers: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()


def comparison_of(
    sources: Sequence[Audit | BenchmarkAudit | str | Path],
    options: RunOptions,
    readings: Readings,
    *,
    store: Path | None,
    length: int | None,
    forecast: bool,
    prices: Path | None,
    command: str = "",
) -> Comparison:
    """Compare audits, or several readings of one store, and print nothing."""
    from hqm.comparison.compare import compare_audits
    from hqm.comparison.prices import read_prices
    from hqm.respondents.kinds import read_families

    # An option that did nothing would seem to have changed the numbers.
    if prices is not None and not forecast:
        raise UsageError(
            "--prices is for a forecast, and none is asked for", remedy="Add --forecast."
        )
    families = options.answering.families
    if store is not None:
        names = list(map(str, sources))
        audits = _reread_store(names, store, options, readings)
        # Each metric is an audit of its own there, so that none is left to choose from.
        metrics: Sequence[str] = ()
    else:
        _need_no_answers(options, readings)
        audits = list(map(_loaded, sources))
        metrics = options.reading.metrics
    return compare_audits(
        audits,
        metrics=metrics,
        length=length,
        families=read_families(families) if families else None,
        command=command,
        forecast=forecast,
        prices=None if prices is None else read_prices(prices),
    )


def _loaded(audit: Audit | BenchmarkAudit | str | Path) -> Audit | BenchmarkAudit:
    from hqm.auditing.audit import Audit

    if isinstance(audit, (str, Path)):
        if _is_table(str(audit)):
            raise UsageError(
                "it is a table, and benchmarks are compared by their audits",
                location=str(audit),
                remedy=f"Make its audit, `hqm audit {audit} --out FOLDER`; or compare its metrics"
                " with people, --criterion LABELS.",
            )
        return Audit.load(find_audit(Path(audit)))
    return audit


def _reread_store(
    names: Sequence[str], store: Path, options: RunOptions, readings: Readings
) -> Sequence[Audit | BenchmarkAudit]:
    from hqm.commands.rescoring import audit_readings

    judging = options.judging
    path = existing(store, names)
    with labelled(path, judging.criterion, options.output.no_wait, judging.judgements) as opened:
        return audit_readings(
            names,
            opened,
            # each of these judges is a reading of its own
            replace(options, judging=replace(judging, judges=readings.judges)),
            scorings=readings.scorings,
            parsers=readings.parsers,
            metrics=options.reading.metrics,
        )


def _need_no_answers(options: RunOptions, readings: Readings) -> None:
    """Refuse the options that need single answers, because an audit.json has only scores."""
    judging = options.judging
    # `--stale` has a default that is a value: only another one was asked for.
    answer_options = {
        "--scoring": readings.scorings,
        "--parser": readings.parsers,
        "--judge": readings.judges,
        "--criterion": judging.criterion,
        "--judgements": judging.judgements,
        "--pool": judging.pool,
        "--level": judging.levels,
        "--stale": judging.stale != "refuse",
    }
    extra = [name for name, value in answer_options.items() if value]
    if extra:
        raise UsageError(
            f"{extra[0]} needs the answers, and an audit.json has only scores",
            remedy="Name benchmarks and the store: `hqm compare NAME --store FILE`.",
        )


def _write(comparison: Comparison, to: Path, *, all_tables: bool) -> None:
    reports = importlib.import_module("hqm.reports.pages.compare_page")
    suffix = to.suffix.lower()
    if suffix in (".html", ".htm"):
        write_text(to, reports.render(comparison))
    elif suffix == ".json":
        write_text(to, comparison.to_json())
    else:
        # a paper prints Table 1; other formats are read by programs
        tables = reports.comparison_tables(comparison, include_all=all_tables or suffix != ".tex")
        layout = importlib.import_module("hqm.reports.latex.latex_tables")
        write_text(to, layout.format_tables(tables, suffix))
    _print_comparison(comparison)
    print_line(f"wrote  {to}")


_MAX_DIFFERENCES = 5
"""Differences that a terminal shows."""


def _print_comparison(comparison: Comparison) -> None:
    """Print the largest difference, Table 1, and the differences that are shown."""
    reports = importlib.import_module("hqm.reports.pages.compare_page")
    print_line(reports.strongest_claim(comparison))
    (table,) = reports.comparison_tables(comparison, include_all=False)
    # A caption is written for a paper; the sentence above has what it says.
    print_report_table(replace(table, caption=""))
    differences = reports.beyond_chance(comparison)
    n_hidden = len(differences) - _MAX_DIFFERENCES
    print_lines(
        *reports.test_sentences(comparison),
        *(f"  {sentence}" for sentence in differences[:_MAX_DIFFERENCES]),
        f"  and {n_hidden} smaller ones: --to FILE.html shows all" if n_hidden > 0 else "",
        *reports.forecast_sentences(comparison),
        *comparison.notes,
    )
