"""What the functions for Python do, once their keywords are read into `RunOptions`.

`hqm.commands.python_api` gives them the keywords.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from hqm.administration.administering import Outcome, administer, sum_outcomes
from hqm.auditing.audit import Audit, BenchmarkAudit
from hqm.auditing.auditor import audit as audit_of
from hqm.auditing.evidence import Evidence
from hqm.auditing.gate import Gate, Policy, check_against
from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.log_benchmark import LogBenchmark, benchmarks_of_logs
from hqm.benchmark.registry import is_log, load, log_path
from hqm.commands.comparing import Readings, comparison_of
from hqm.commands.options import RunOptions
from hqm.commands.run_plan import Plan, plan_run
from hqm.commands.session import Session
from hqm.commands.shared import find_audit, readable, report_files, writable
from hqm.commands.terminal import bars, is_notebook
from hqm.comparison.measures import Comparison
from hqm.errors import AnswerError, UsageError
from hqm.extensions import ASKING, load_extension
from hqm.files.whole import write_together
from hqm.imports.answer_table import fields_lacking, read_table
from hqm.imports.detect import read_logs
from hqm.imports.log_answers import LogSettings
from hqm.moved_names import with_renamed_keywords
from hqm.store.database import Store
from hqm.types import names_of

if TYPE_CHECKING:
    import pandas as pd

    from hqm.types import FileRole

    # a table in memory: a frame, rows, or columns
    Table: TypeAlias = (
        "pd.DataFrame | ToPandas | Sequence[Mapping[str, object]] | Mapping[str, Sequence[object]]"
    )

# A script that is no module of its own cannot start worker processes.
SCRIPT_DEFAULTS: dict[str, object] = {"workers": 1}


class ToPandas(Protocol):
    """A frame of another library, such as polars or pyarrow."""

    def to_pandas(self) -> pd.DataFrame:
        """Return the frame as one of pandas."""


def audit(
    benchmark: Evidence | Benchmark | str | Path | Table,
    *,
    store: Store | str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    options: RunOptions,
) -> BenchmarkAudit:
    r"""Audit a benchmark from recorded answers, respondents, a store, or gathered evidence.

    Parameters
    ----------
    benchmark
        A name, a folder with a card.toml, a Python file, what `hqm.load` gave; a log of another
        tool or a table of scores, as a file, a frame of pandas, polars or pyarrow, or a list of
        rows; or an `Evidence`, of which nothing more can be said.
    recorded, store
        As in `hqm.evidence_of`.
    columns
        Of a table: field (model, item, score, run, form, judge, ...) -> its column, where the
        names do not say it.

    Returns
    -------
    BenchmarkAudit
        Its `scores`, `estimates` and `items` are pandas frames; the estimates are those of `hqm
        audit` over the same files.

    Examples
    --------
    >>> import hqm
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("item,respondent,answer\ny0000,a,No\ny0000,b,Yes\n")
    ...     _ = file.write("y0008,a,No\ny0008,b,No\n")
    ...     file.flush()
    ...     scores = hqm.audit("shapes_yesno", recorded=file.name).to_frame("scores")
    >>> scores.query("metric == 'accuracy'")["score"].tolist()
    [0.5, 0.0]
    """
    if not isinstance(benchmark, Evidence):
        return audit_of(_gather_evidence(benchmark, store, options, columns))
    # The defaults of Python are not those of the command line: only what differs from them was
    # given.
    if store is not None or columns or options != RunOptions.from_values(SCRIPT_DEFAULTS):
        raise UsageError(
            "the evidence is gathered, and files or settings are given beside it",
            remedy="Give them to hqm.gather or hqm.evidence_of.",
        )
    return audit_of(benchmark)


def evidence_of(
    benchmark: Benchmark | str | Path | Table,
    *,
    store: Store | str | Path | None = None,
    options: RunOptions,
) -> Evidence:
    """Take in answers, score them, and gather what an audit of a benchmark looks at.

    Parameters
    ----------
    benchmark
        A name, a folder with a card.toml, a Python file, or what `hqm.load` gave; what says how a
        benchmark is loaded belongs there.
    recorded
        A file or folder, or several: answers in the benchmark's release format or HQM's, or logs of
        other tools.
    store
        A store, or its file. Answers of files and respondents are added to it; without either, what
        it holds is looked at, and no respondent is asked. Nothing is written to disk unless it is
        given.

    Returns
    -------
    Evidence
        The answers, scores, labels and tools that an audit looks at.

    Raises
    ------
    UsageError
        Neither files, respondents nor a store are given, or a name or value means nothing.
    AnswerError
        A file does not belong to the benchmark.
    """
    return _gather_evidence(benchmark, store, options)


def _gather_evidence(
    benchmark: Benchmark | str | Path | Table,
    store: Store | str | Path | None,
    options: RunOptions,
    columns: Mapping[str, str] | None = None,
) -> Evidence:
    respondent_options = options.answering
    judging = options.judging
    loaded, part = _load_full(benchmark, options, columns)
    has_answers = bool(
        respondent_options.recorded or respondent_options.respondents or loaded.included_recordings
    )
    if not has_answers and store is None:
        raise UsageError(
            "there are no answers to look at", remedy="Give recorded=FILE, or store=FILE."
        )
    options = replace(options, material=replace(options.material, part=part))
    # a look at a store writes nothing into it
    writes = bool(has_answers or judging.judges or judging.criterion or judging.judgements)
    with _open_store(store, writes) as opened:
        session = Session([loaded], opened, options, offline=not has_answers)
        session.check()
        if has_answers or judging.judges:
            session.fetch_images()
        if has_answers:
            _administer(session)
        if judging.judges:
            session.judging.ask()
        (member,) = session.benchmarks
        # One value is returned: by the corrected key where there is one. The command line audits by
        # both.
        return session.by_corrected_key(member) or session.evidence(member)


def _administer(session: Session) -> Outcome:
    """Ask what is missing; a notebook shows bars."""
    jobs = session.jobs()
    # A script prints nothing that its author did not ask for.
    with bars(jobs, quiet=not is_notebook()) as progress:
        return administer(
            session.store, jobs, progress, engine=session.engine(), budget=session.budget
        )


class StoppedRun(Protocol):
    """What a rule that stops early made of one benchmark; the extension has the rest."""

    @property
    def outcome(self) -> Outcome:
        """What was asked and stored."""


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """What came of asking: the sums over all benchmarks, and of each benchmark where a rule stopped
    it.
    """

    outcome: Outcome
    stopped: tuple[StoppedRun, ...] = ()


def run(
    benchmark: Benchmark | str | Path, *, store: Store | str | Path, options: RunOptions
) -> RunResult:
    r"""Ask respondents what a store does not have yet, as `hqm audit --no-report` does.

    Parameters
    ----------
    benchmark
        A name, a folder with a card.toml, a Python file, or what `hqm.load` gave. The name of a
        group asks all its members.
    respondents
        Their names, as `-r` takes them; the benchmark's own unless any is given, or `recorded`.
    store
        A store, or its file.

    Returns
    -------
    RunResult
        What was asked, what it cost, and where a rule ended it.

    Raises
    ------
    UsageError, DesignError
        A name or a rule means nothing, or the rule cannot be met by these respondents, items or
        metrics.

    Examples
    --------
    >>> import hqm
    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = tempfile.TemporaryDirectory()
    >>> answers, store = Path(folder.name, "answers.csv"), Path(folder.name, "store.sqlite")
    >>> rows = ["item,respondent,answer"]
    >>> for item in load("shapes_yesno").original.items:
    ...     rows += [f"{item.id},key,{item.target}", f"{item.id},yes,Yes"]
    >>> _ = answers.write_text("\n".join(rows))
    >>> hqm.run("shapes_yesno", recorded=answers, store=store, forms="original").outcome.read
    2016
    """
    with _open_store(store, True) as opened:
        session = Session([_benchmark_or_name(benchmark)], opened, options)
        session.fetch_images()
        if not options.asking.until:
            return RunResult(outcome=_administer(session))
        extension = load_extension(ASKING, "--until", "an option")
        stopped = tuple(extension.run_until(session))
        outcome = sum_outcomes(stopped_run.outcome for stopped_run in stopped)
        return RunResult(outcome=outcome, stopped=stopped)


def plan(
    benchmark: Benchmark | str | Path,
    *,
    store: Store | str | Path | None = None,
    options: RunOptions,
) -> Plan:
    """Say what a run would take, as `hqm audit --dry-run` does, and ask nothing.

    Parameters
    ----------
    benchmark, respondents
        As in `hqm.run`.
    store
        The store, or its file, that the run would add to; none unless given.

    Returns
    -------
    Plan
        Requests, tokens and costs of each respondent and benchmark.

    Examples
    --------
    >>> import hqm
    >>> name = "openai/my-model@http://localhost:8000/v1"
    >>> made = hqm.plan("shapes_yesno", [name], forms="original", runs=1)
    >>> made.forecasts[name, "shapes_yesno"].requests
    1008
    """
    with _open_store(store, False) as opened:
        return plan_run(Session([_benchmark_or_name(benchmark)], opened, options))


def compare(
    *sources: Audit | BenchmarkAudit | str | Path,
    store: str | Path | None = None,
    scorings: Sequence[str] = (),
    parsers: Sequence[str] = (),
    judges: Sequence[str] = (),
    length: int | None = None,
    forecast: bool = False,
    prices: str | Path | None = None,
    options: RunOptions,
) -> Comparison:
    """Compare audits, or readings of one store, over the same respondents, as `hqm compare` does.

    Parameters
    ----------
    sources
        Audits, their files or folders; or, with a store, benchmarks.
    store
        A store to read in several ways.
    scorings, parsers, judges
        The ways: `official`, `paper` or `recorded`; readers of yes/no answers; models that judged.
    length
        The common number of items; that of the shortest measure unless given.
    forecast
        Whether to forecast which of two measures to trust at equal cost.
    prices
        A prices.toml, for the forecast.

    Returns
    -------
    Comparison
        The measures side by side, with the tests of their differences.
    """
    return comparison_of(
        sources,
        options,
        Readings(tuple(scorings), tuple(parsers), tuple(judges)),
        store=None if store is None else Path(store),
        length=length,
        forecast=forecast,
        prices=None if prices is None else Path(prices),
    )


def gate(audit: Audit | BenchmarkAudit | str | Path, policy: str | Path | None = None) -> Gate:
    """Hold an audit against a policy, as `hqm gate` does.

    Parameters
    ----------
    audit
        An audit, its file, or its folder.
    policy
        A file, or `release-small`; the default policy unless given.

    Returns
    -------
    Gate
        The result of every test of the policy.
    """
    return check_against(_as_audit(audit), Policy.load(None if policy is None else Path(policy)))


def report(
    audit: Audit | BenchmarkAudit | str | Path,
    to: str | Path = "report.html",
    policy: str | Path | None = None,
) -> tuple[Path, ...]:
    """Write the report of an audit and the evidence beside it, as `hqm report` does.

    Parameters
    ----------
    audit, policy
        As in `hqm.gate`.
    to
        The page.

    Returns
    -------
    tuple of Path
        The files that were written, the page first.
    """
    loaded_policy = Policy.load(None if policy is None else Path(policy))
    pages = report_files(_as_audit(audit), Path(to), loaded_policy)
    write_together(pages)
    return tuple(pages)


def _as_audit(audit: Audit | BenchmarkAudit | str | Path) -> Audit:
    if isinstance(audit, BenchmarkAudit):
        # A policy is held against a whole audit, and so is a page made of one.
        return Audit((audit,))
    if isinstance(audit, Audit):
        return audit
    return Audit.load(find_audit(Path(audit)))


def _benchmark_or_name(benchmark: Benchmark | str | Path) -> Benchmark | str:
    if isinstance(benchmark, Benchmark):
        return benchmark
    return str(benchmark)


@with_renamed_keywords(what="logs")
def from_logs(
    logs: Table | str | Path | Sequence[str | Path],
    columns: Mapping[str, str] | None = None,
    *,
    partial: bool = False,
    judged: bool = False,
    files: FileRole = "respondents",
    title: str = "",
) -> list[LogBenchmark]:
    """Read the benchmarks of logs that other tools wrote, or of a table of answers or scores.

    Parameters
    ----------
    logs
        Files or folders; or a table with a row an answer (model, item, score) or a row a model: a
        frame of pandas, polars or pyarrow, or a list of rows.
    columns
        Field -> column of a table, where the names do not say it.
    partial
        Whether rows that contradict others are left out.
    judged
        Whether judgements of the answers are given to the audit.
    files
        What several files of one model about the same items are, where they do not say it.
    title
        What the benchmark is called, in place of the logs' own name for it.

    Returns
    -------
    list of LogBenchmark
        The benchmarks that the answers belong to, each with its recordings.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("a", 1, 0.5), ("a", 2, 1.0), ("b", 1, 0.0), ("b", 2, 0.5)]
    >>> (made,) = from_logs(pd.DataFrame(rows, columns=["model", "item", "f1"]))
    >>> [metric.name for metric in made.metrics], len(made.original), len(made.included_recordings)
    (['f1'], 2, 2)
    """
    settings = LogSettings(partial=partial, judged=judged, files=files, title=title)
    # a sequence of rows is a table
    paths = [logs] if isinstance(logs, (str, Path)) else logs
    if isinstance(paths, Sequence) and all(isinstance(path, (str, Path)) for path in paths):
        return benchmarks_of_logs(
            read_logs(
                [log_path(str(path)) for path in paths], columns=columns, with_questions=True
            ),
            settings,
        )
    # A frame takes the way of a file's rows from here on, with the same checks and sentences.
    records = _rows_of_frame(logs)
    if not records:
        raise AnswerError("the frame has no row", remedy="Give one with a row an answer.")
    if lacking := fields_lacking(records, columns):
        column_names = ", ".join(map(repr, records[0]))
        raise AnswerError(
            f"the frame has no column of {', '.join(lacking)} (its columns: {column_names:.300})",
            remedy="A row is an answer, with the columns model, item and score, and where they vary"
            f" run, form and judge. Rename yours, or write columns={{{lacking[0]!r}: NAME}}.",
        )
    return benchmarks_of_logs([read_table("table", records, columns)], settings)


def _rows_of_frame(logs: Table | str | Path | Sequence[str | Path]) -> list[dict[str, object]]:
    """The rows of a pandas frame, of one that becomes a pandas frame, or of records."""
    import pandas as pd

    if isinstance(logs, (Mapping, Sequence)):
        logs = pd.DataFrame(logs)
    elif not isinstance(logs, pd.DataFrame) and hasattr(logs, "to_pandas"):
        # polars, pyarrow, datasets
        logs = logs.to_pandas()
    if not isinstance(logs, pd.DataFrame):
        raise UsageError(
            f"{type(logs).__name__} is neither a frame nor the path of a file",
            remedy="Give a pandas frame with the columns model, item and score.",
        )
    # a named index holds models or items, as after a pivot
    frame = logs.reset_index() if any(logs.index.names) else logs
    # frames that were put together have whole numbers as floats where others have none
    cells = frame.convert_dtypes().astype(object)
    cells = cells.where(frame.notna(), None)
    return [dict(zip(map(str, cells.columns), row, strict=True)) for row in cells.to_numpy()]


def _load_full(
    benchmark: Benchmark | str | Path | Table,
    options: RunOptions,
    columns: Mapping[str, str] | None = None,
) -> tuple[Benchmark, str | None]:
    """The whole benchmark and the part that is asked for: logs are matched against all items."""
    part = options.material.part
    if not isinstance(benchmark, (Benchmark, str, Path)) or (
        not isinstance(benchmark, Benchmark) and is_log(str(benchmark))
    ):
        judged = bool(options.judging.judgements)
        log_benchmarks = from_logs(
            benchmark,
            columns,
            partial=options.answering.partial,
            judged=judged,
            files=options.answering.files,
            title=options.answering.title,
        )
        if len(log_benchmarks) > 1:
            names = ", ".join(names_of(log_benchmarks))
            raise UsageError(
                f"the logs hold {len(log_benchmarks)} benchmarks ({names})",
                remedy="Audit each of hqm.from_logs(...).",
            )
        return log_benchmarks[0], part
    if not isinstance(benchmark, Benchmark):
        return load(benchmark, **options.loading), part
    default = RunOptions().loading
    changed = [name for name, value in options.loading.items() if value != default[name]]
    if changed:
        raise UsageError(
            f"{benchmark.name} is loaded, and {changed[0]} is given beside it",
            remedy=f"Give {changed[0]} to hqm.load.",
        )
    # the caller's benchmark stays as it is; `original` is cached, and is read anew without it
    full_benchmark = copy.copy(benchmark)
    if benchmark.part is not None:
        del full_benchmark.original
    return full_benchmark, part or benchmark.part


def _open_store(store: Store | str | Path | None, writes: bool) -> AbstractContextManager[Store]:
    if isinstance(store, Store):
        # Whoever opened a store closes it.
        return nullcontext(store)
    if store is None:
        return Store(":memory:")
    if writes:
        # Read without the lock, so that one process may look while another asks.
        return writable(Path(store))
    return readable(Path(store))
