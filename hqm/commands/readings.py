"""Several readings of one store: one benchmark under several metrics, scorings, parsers or judges,
with nothing asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Literal

from hqm.administration.assignment import StoredRespondent
from hqm.administration.holdings import respondents_in
from hqm.auditing.auditor import audit
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
    scorings: Sequence[Scoring | Literal["recorded"]] = (),
    parsers: Sequence[str] = (),
    metrics: Sequence[str] = (),
) -> list[BenchmarkAudit]:
    """Audit the stored answers once for every combination of scoring, parser, judge and metric.

    Parameters
    ----------
    names
        Benchmarks, as `hqm audit` takes them.
    store
        Where the answers are. Nothing is written into it but people's labels, where the options
        name a file of them and the store can be written.
    options
        Part, data, respondents, judges and the rest. Several judges are several readings.
    scorings, parsers, metrics
        The readings; those of `options` (of the card) unless given. The scoring `recorded` is the
        score that the tool gave whose log brought the answers; it is one reading, whatever the
        parsers and judges. A metric that a benchmark does not have is skipped where others have it.

    Raises
    ------
    UsageError
        No benchmark has one of the metrics.
    DesignError
        The store has no answer to a benchmark.
    """
    audits: list[BenchmarkAudit] = []
    used: set[str] = set()
    known: set[str] = set()
    done = False
    for scoring, reader, judge in product(
        scorings or (options.reading.scoring,),
        parsers or (options.reading.parser,),
        options.judging.judges or ("",),
    ):
        recorded = scoring == "recorded"
        if recorded and done:
            continue
        done = done or recorded
        reading = replace(
            options.reading, scoring="official" if scoring == "recorded" else scoring, parser=reader
        )
        judging = replace(options.judging, judges=(judge,) if judge else ())
        session = Session(names, store, replace(options, reading=reading, judging=judging))
        for benchmark in session.benchmarks:
            has = {metric.name for metric in benchmark.metrics}
            chosen = [name for name in metrics if name in has]
            used.update(chosen)
            known |= has
            if metrics and not chosen:
                continue
            audited = chosen or [metric.name for metric in benchmark.audited]
            audits += _audits(session, benchmark, audited, recorded=recorded)
    unknown = [name for name in metrics if name not in used]
    if unknown:
        raise UsageError(
            f"{', '.join(names)} has no metric {unknown[0]!r}",
            remedy=f"It has {', '.join(sorted(known))}.",
            given=unknown[0],
            known=known,
        )
    return audits


def _audits(
    session: Session, benchmark: Benchmark, metrics: Sequence[str], *, recorded: bool
) -> Iterator[BenchmarkAudit]:
    respondents = _respondents(session, benchmark)
    if not respondents:
        raise DesignError(
            f"the store has no answer to {benchmark.name}",
            remedy=f"Ask with `hqm run {benchmark.name} --store FILE`, or name another store.",
        )
    _cut_to_asked(session, benchmark, respondents)
    evidence = session.evidence(benchmark, respondents, pictures=False, recorded=recorded)
    # one audit a metric: what an audit says by type is by its first metric
    for metric in metrics:
        yield audit(replace(evidence, metrics=(benchmark.metric(metric),)))


def _respondents(session: Session, benchmark: Benchmark) -> list[StoredRespondent]:
    """Those named; where none is named, all in the store, embedded or not."""
    if session.options.who.respondents or session.options.who.recorded:
        return session.stored_respondents(benchmark)
    return respondents_in(session.asks, benchmark)


def _cut_to_asked(
    session: Session, benchmark: Benchmark, respondents: Sequence[StoredRespondent]
) -> None:
    """An item that no respondent was asked is no part of what was administered."""
    form = benchmark.original
    rows = session.answers.by_respondent(benchmark, form, respondents, 0).values()
    asked = tuple(
        item
        for item, *answers in zip(form.items, *rows, strict=True)
        if any(a is not None for a in answers)
    )
    if asked and len(asked) < len(form.items):
        benchmark.original = replace(form, items=asked)
