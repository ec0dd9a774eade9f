"""Several readings of one store: one benchmark under several metrics, scorings, parsers or judges, with nothing asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from hqm.administration.administer import StoredRespondent
from hqm.administration.holdings import people_in
from hqm.auditing.auditor import audit
from hqm.auditing.families import read_families
from hqm.auditing.value import BenchmarkAudit
from hqm.benchmark.interface import Benchmark, Scoring
from hqm.commands.options import RunOptions
from hqm.commands.session import Session
from hqm.errors import DesignError, UsageError
from hqm.store.database import Store


def read_again(
    names: Sequence[str],
    store: Store,
    options: RunOptions,
    *,
    scorings: Sequence[Scoring] = (),
    parsers: Sequence[str] = (),
    metrics: Sequence[str] = (),
) -> list[BenchmarkAudit]:
    """Audit the stored answers once for every combination of scoring, parser, judge and metric.

    Parameters
    ----------
    names
        Benchmarks, as `hqm audit` takes them.
    store
        Where the answers are; nothing is written into it unless people's labels are read from a file.
    options
        Part, data, respondents, judges and the rest. Several judges are several readings.
    scorings, parsers, metrics
        The readings; those of `options` (of the card) unless given. A metric that a benchmark does not have is skipped
        where others have it.

    Raises
    ------
    UsageError
        No benchmark has one of the metrics.
    DesignError
        The store has no answer to a benchmark.
    """
    found: list[BenchmarkAudit] = []
    used: set[str] = set()
    for scoring, reader, judge in product(
        scorings or (options.reading.scoring,), parsers or (options.reading.parser,), options.judging.judges or ("",)
    ):
        reading = replace(options.reading, scoring=scoring, parser=reader)
        judging = replace(options.judging, judges=(judge,) if judge else ())
        session = Session(names, store, replace(options, reading=reading, judging=judging))
        for benchmark in session.benchmarks:
            has = {metric.name for metric in benchmark.metrics}
            chosen = [name for name in metrics if name in has]
            used.update(chosen)
            if metrics and not chosen:
                continue
            found += _audits(session, benchmark, chosen or [metric.name for metric in benchmark.audited])
    unknown = [name for name in metrics if name not in used]
    if unknown:
        raise UsageError(
            f"{', '.join(names)} has no metric {unknown[0]!r}", remedy="See `hqm score --json` for its metrics."
        )
    return found


def _audits(session: Session, benchmark: Benchmark, metrics: Sequence[str]) -> Iterator[BenchmarkAudit]:
    options = session.options
    people = _people(session, benchmark)
    if not people:
        raise DesignError(
            f"the store has no answer to {benchmark.name}", remedy="Ask with `hqm run`, or name another store."
        )
    _cut_to_asked(session, benchmark, people)
    # one audit a metric: what an audit says by type is by its first metric
    for metric in metrics:
        yield audit(
            benchmark,
            session.desk,
            people,
            forms=session.brought(benchmark),
            criterion=options.judging.criterion,
            metrics=(metric,),
            judges=session.panels(benchmark),
            families=read_families(options.who.families) if options.who.families else None,
        )


def _people(session: Session, benchmark: Benchmark) -> list[StoredRespondent]:
    """Those named; without any, everyone in the store, embedded or not."""
    if session.options.who.respondents or session.options.who.recorded:
        return session.people(benchmark)
    return people_in(session.store, session.desk, benchmark)


def _cut_to_asked(session: Session, benchmark: Benchmark, people: Sequence[StoredRespondent]) -> None:
    """What nobody was asked is no part of what was administered."""
    form = benchmark.original
    rows = session.desk.rows(benchmark, form, people, 0).values()
    asked = tuple(item for item, *answers in zip(form.items, *rows, strict=True) if any(a is not None for a in answers))
    if asked and len(asked) < len(form.items):
        benchmark.original = replace(form, items=asked)
