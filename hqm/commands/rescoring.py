"""Several readings of one store: one benchmark under several metrics, scorings, parsers or judges,
with nothing asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Literal

from hqm.administration.asks import StoredRespondent
from hqm.administration.stored_answers import respondents_in
from hqm.auditing.audit import Audit, BenchmarkAudit
from hqm.auditing.auditor import audit
from hqm.benchmark.adapter import Benchmark, Scoring
from hqm.commands import options as groups
from hqm.commands.options import RunOptions
from hqm.commands.session import Session
from hqm.commands.shared import readable
from hqm.errors import DataError, DesignError, UsageError
from hqm.files.records import read_toml
from hqm.scoring.matrix import ScoreMatrix
from hqm.store.database import Store
from hqm.types import Cell, Form, names_of


def audit_readings(
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
    known_metrics: set[str] = set()
    has_recorded = False
    for scoring, reader, judge in product(
        scorings or (options.reading.scoring,),
        parsers or (options.reading.parser,),
        options.judging.judges or ("",),
    ):
        recorded = scoring == "recorded"
        # The scores of a tool are the same with every parser and judge of ours.
        if recorded and has_recorded:
            continue
        has_recorded = has_recorded or recorded
        # A session a reading: it caches the scores of one way to read, and may cut its benchmarks.
        session = Session(names, store, _reading_options(options, scoring, reader, judge))
        for benchmark in session.benchmarks:
            benchmark_metrics = set(names_of(benchmark.metrics))
            found_metrics = [metric for metric in metrics if metric in benchmark_metrics]
            used.update(found_metrics)
            known_metrics |= benchmark_metrics
            if metrics and not found_metrics:
                continue
            audited = found_metrics or names_of(benchmark.audited)
            audits += _audits(session, benchmark, audited, recorded=recorded)
    unknown = [metric for metric in metrics if metric not in used]
    if unknown:
        raise UsageError(
            f"{', '.join(names)} has no metric {unknown[0]!r}",
            remedy=f"It has {', '.join(sorted(known_metrics))}.",
            name=unknown[0],
            choices=known_metrics,
        )
    return audits


def _reading_options(
    options: RunOptions, scoring: Scoring | Literal["recorded"], parser: str | None, judge: str
) -> RunOptions:
    """Return the options of one reading; a log's own scores stand beside the official ones."""
    return replace(
        options,
        reading=replace(
            options.reading,
            scoring="official" if scoring == "recorded" else scoring,
            parser=parser,
        ),
        judging=replace(options.judging, judges=(judge,) if judge else ()),
    )


def _audits(
    session: Session, benchmark: Benchmark, metrics: Sequence[str], *, recorded: bool
) -> Iterator[BenchmarkAudit]:
    respondents = _reading_respondents(session, benchmark)
    if not respondents:
        raise DesignError(
            f"the store has no answer to {benchmark.name}",
            remedy=f"Ask with `hqm audit {benchmark.name} --store FILE`, or name another store.",
        )
    _drop_unasked_items(session, benchmark, respondents)
    evidence = session.evidence(benchmark, respondents, pictures=False, recorded=recorded)
    # One audit a metric: what an audit says by type is by its first metric.
    for metric in metrics:
        yield audit(replace(evidence, metrics=(benchmark.metric(metric),)))


def _reading_respondents(session: Session, benchmark: Benchmark) -> list[StoredRespondent]:
    """Those named; where none is named, all in the store, embedded or not."""
    if session.options.answering.respondents or session.options.answering.recorded:
        return session.stored_respondents(benchmark)
    return respondents_in(session.asks, benchmark)


def _answered_form(
    session: Session, benchmark: Benchmark, respondents: Sequence[StoredRespondent]
) -> Form:
    """The original form with the items that any respondent has an answer to."""
    form = benchmark.original
    rows = session.answers.by_respondent(benchmark, form, respondents, 0).values()
    answered = zip(form.items, *rows, strict=True)
    items = tuple(item for item, *answers in answered if answers.count(None) < len(answers))
    return replace(form, items=items)


def _drop_unasked_items(
    session: Session, benchmark: Benchmark, respondents: Sequence[StoredRespondent]
) -> None:
    """An item that no respondent was asked is no part of what was administered."""
    form = _answered_form(session, benchmark, respondents)
    if form.items and len(form) < len(benchmark.original):
        benchmark.original = form


# --- the answers of an audit that exists ---


@dataclass(frozen=True, slots=True, kw_only=True)
class ReopenedAudit:
    """The stored answers of an audit, and the session that scores them as they were scored."""

    session: Session
    benchmark: Benchmark
    audited: BenchmarkAudit
    respondents: Sequence[StoredRespondent]

    @property
    def matrix(self) -> ScoreMatrix:
        """The scores of the reference administration."""
        cell = Cell.parse(self.audited.reference)
        # Without gathering the evidence, which reads every form, run and judge of the store.
        if cell.judge == "rule":
            form = self.benchmark.original
            return self.session.answers.matrix(self.benchmark, cell, form, self.respondents)
        return self.session.evidence(self.benchmark, self.respondents, pictures=False).first


@contextmanager
def reopened(
    file: Path,
    options: groups.RunOptions,
    *,
    name: Benchmark | str = "",
    audited: BenchmarkAudit | None = None,
) -> Iterator[ReopenedAudit]:
    """Open the store of an audit, with the options by which its answers were scored.

    Parameters
    ----------
    file
        The audit.json.
    options
        Name the store, unless it is `store.sqlite` beside the audit.
    name, audited
        The benchmark, or its part of the audit; one of the two.

    Yields
    ------
    ReopenedAudit
        The answers; the store is closed at the end of the block.

    Raises
    ------
    DataError
        The store is not there, or the audit is of other items.
    """
    full_audit = Audit.load(file)
    with readable(_store_of(file, options)) as opened:
        if audited is not None:
            name = _audited_name(full_audit, audited)
        session = Session([name], opened, _audited_options(options, full_audit), offline=True)
        (benchmark,) = session.benchmarks
        audited = audited or _find_audit_of(full_audit, benchmark, file)
        respondents = _audited_respondents(session, benchmark, audited)
        _check_same_items(session, benchmark, respondents, full_audit, file)
        yield ReopenedAudit(
            session=session, benchmark=benchmark, audited=audited, respondents=respondents
        )


def rescored(file: Path, audited: BenchmarkAudit, options: groups.RunOptions) -> BenchmarkAudit:
    """Score the stored answers of an audit again, by the procedures of this version.

    Parameters
    ----------
    file
        The audit.json.
    audited
        The benchmark's part of it.
    options
        Name the store, unless it is `store.sqlite` beside the audit.

    Raises
    ------
    DataError
        The store is not there, or the audit is of other items.
    """
    with reopened(file, options, audited=audited) as answers:
        benchmark = answers.benchmark
        evidence = answers.session.evidence(benchmark, answers.respondents, pictures=False)
        metrics = tuple(map(benchmark.metric, audited.metrics))
        return audit(replace(evidence, metrics=metrics))


def _store_of(file: Path, options: groups.RunOptions) -> Path:
    """The store of an audit's answers: the one that is named, else `store.sqlite` beside it."""
    path = options.output.store or file.parent / "store.sqlite"
    if not path.is_file():
        raise DataError(
            "the audit's store is not there, and audit.json has no single answers",
            location=str(path),
            remedy="Name the file of stored answers with --store.",
        )
    return path


def _audited_name(full_audit: Audit, audited: BenchmarkAudit) -> str:
    """The benchmark as the audit's command named it: a folder where it was one."""
    # the benchmark's name does not say in which folder its card lies
    for word in full_audit.command.split():
        card = Path(word.strip("'\"")) / "card.toml"
        # another word of the command may be longer than any path
        with suppress(OSError):
            if card.is_file() and read_toml(card).get("name") == audited.benchmark:
                return str(card.parent)
    return audited.benchmark


def _audited_options(options: groups.RunOptions, full_audit: Audit) -> groups.RunOptions:
    """Return the options with which the answers are scored as they were in the audit."""
    # An audit of an older version lacks some keys: what is not recorded has its default.
    settings = full_audit.record.get("settings", {})
    reading = {
        key: settings[key]
        for key in ("scoring", "parser", "words", "withheld")
        if settings.get(key)
    }
    judging = {key: settings[key] for key in ("mode", "prompts") if settings.get(key)}
    judging |= {key: tuple(settings[key]) for key in ("judges", "roles") if settings.get(key)}
    return replace(
        options,
        reading=groups.ReadingOptions(**reading),
        judging=groups.JudgingOptions(**judging),
        # Runs and forms are those that the store holds; only blind answers are filed apart.
        asking=groups.AskingOptions(blind=bool(settings.get("blind"))),
    )


def _find_audit_of(full_audit: Audit, benchmark: Benchmark, file: Path) -> BenchmarkAudit:
    for audited in full_audit.audits:
        if audited.benchmark == benchmark.name:
            # Nothing that HQM could run again made these scores.
            foreign_scorings = {
                "recorded": "the tools that recorded the answers",
                "people": "people",
            }
            if audited.scoring in foreign_scorings:
                raise DesignError(
                    f"its scores are those of {foreign_scorings[audited.scoring]}",
                    location=str(file),
                    remedy="Audit it by the benchmark's own scoring.",
                )
            return audited
    audited_names = [audited.benchmark for audited in full_audit.audits]
    raise UsageError(
        f"it has no audit of {benchmark.name}, but of {', '.join(audited_names)}",
        location=str(file),
        remedy="Name the benchmark that was audited.",
        name=benchmark.name,
        choices=audited_names,
    )


def _audited_respondents(
    session: Session, benchmark: Benchmark, audited: BenchmarkAudit
) -> list[StoredRespondent]:
    """The audit's respondents as the store knows them."""
    stored = respondents_in(session.asks, benchmark)
    respondents = []
    for row in audited.respondents:
        # By identity first, since one name may stand for several, as with another temperature.
        matches = [
            candidate for candidate in stored if dict(candidate.identity) == dict(row.identity)
        ] or [candidate for candidate in stored if candidate.name == row.name]
        if not matches:
            raise DataError(
                f"the store has no answer of {row.name} to {benchmark.name}",
                location=str(session.store.path),
                remedy="Name the store of this audit with --store.",
            )
        # The name of the audit stays, as its estimates call the respondent so.
        respondents.append(replace(matches[0], name=row.name))
    return respondents


def _check_same_items(
    session: Session,
    benchmark: Benchmark,
    respondents: Sequence[StoredRespondent],
    full_audit: Audit,
    file: Path,
) -> None:
    """Restrict the benchmark to the items of the audit. Refuse another version of the benchmark."""
    items_digest = full_audit.record.get("benchmarks", {}).get(benchmark.name, {}).get("items", "")
    # What was administered may be a part of the benchmark: it is compared without its unanswered
    # items.
    if items_digest in ("", benchmark.original.digest):
        return
    answered = _answered_form(session, benchmark, respondents)
    if answered.digest != items_digest:
        raise DataError(
            f"it is of other items than {benchmark.label} has now",
            location=str(file),
            remedy="Make the audit again, or name the version that was audited.",
        )
    benchmark.original = answered
