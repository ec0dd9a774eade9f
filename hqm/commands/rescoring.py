"""Several readings of one store: one benchmark under several metrics, scorings, parsers or judges,
with nothing asked.
"""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hqm.administration.asks import StoredRespondent
from hqm.administration.stored_answers import Answers, respondents_in
from hqm.auditing.audit import Audit, BenchmarkAudit
from hqm.auditing.auditor import audit
from hqm.auditing.evidence import Evidence
from hqm.benchmark.adapter import Benchmark, Scoring
from hqm.benchmark.registry import load
from hqm.commands import options as groups
from hqm.commands.options import RunOptions
from hqm.commands.session import Session
from hqm.commands.shared import find_audit, readable
from hqm.decisions.short_form_folder import Shortened, Source, shorten_matrix, write_short_forms
from hqm.errors import DataError, DesignError, HQMError, UsageError
from hqm.files.records import read_text
from hqm.respondents.kinds import check_families, families_of, read_families
from hqm.scoring.matrix import MatrixBuilder, ScoreMatrix
from hqm.signature import digest_file
from hqm.store.database import Store
from hqm.types import Cell, Response


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
        if recorded and has_recorded:
            continue
        has_recorded = has_recorded or recorded
        session = Session(names, store, _reading_options(options, scoring, reader, judge))
        for benchmark in session.benchmarks:
            benchmark_metrics = {metric.name for metric in benchmark.metrics}
            found_metrics = [name for name in metrics if name in benchmark_metrics]
            used.update(found_metrics)
            known_metrics |= benchmark_metrics
            if metrics and not found_metrics:
                continue
            audited = found_metrics or [metric.name for metric in benchmark.audited]
            audits += _audits(session, benchmark, audited, recorded=recorded)
    unknown = [name for name in metrics if name not in used]
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
    # one audit a metric: what an audit says by type is by its first metric
    for metric in metrics:
        yield audit(replace(evidence, metrics=(benchmark.metric(metric),)))


def _reading_respondents(session: Session, benchmark: Benchmark) -> list[StoredRespondent]:
    """Those named; where none is named, all in the store, embedded or not."""
    if session.options.answering.respondents or session.options.answering.recorded:
        return session.stored_respondents(benchmark)
    return respondents_in(session.asks, benchmark)


def _drop_unasked_items(
    session: Session, benchmark: Benchmark, respondents: Sequence[StoredRespondent]
) -> None:
    """An item that no respondent was asked is no part of what was administered."""
    form = benchmark.original
    rows = session.answers.by_respondent(benchmark, form, respondents, 0).values()
    asked_items = tuple(
        item
        for item, *answers in zip(form.items, *rows, strict=True)
        if any(answer is not None for answer in answers)
    )
    if asked_items and len(asked_items) < len(form.items):
        benchmark.original = replace(form, items=asked_items)


# --- short forms from the answers of an audit ---

_SINGLE_SCORING_REMEDY = "Shorten a benchmark whose answers are scored one by one."


def shorten(
    benchmark: Evidence | Benchmark | str | Path,
    audit: str | Path | None = None,
    items: str | float = "10%",
    *,
    out: str | Path | None = None,
    forms: int = 1,
    seed: int = 0,
    store: str | Path | None = None,
    options: RunOptions,
) -> Shortened:
    """Choose the items of a benchmark that are enough, as `hqm shorten` does.

    They are chosen by the families of an audit, and what is lost is measured on others.

    Parameters
    ----------
    benchmark
        A name, a folder with a card.toml, a Python file, what `hqm.load` gave; or an `Evidence`,
        which needs no audit.
    audit
        The audit.json, or its folder. The answers are those in its store.
    items
        How many items each form has, as a share ("10%") or a number.
    out
        The folder to write the short form into, as a benchmark that `hqm check` and `hqm audit`
        take; nothing is written unless given.
    forms
        2 for two parallel forms without a common item, matched in type and difficulty.
    seed
        Where the items' random numbers begin: the same seed gives the same forms.
    store
        The audit's store; `store.sqlite` beside the audit unless given.

    Returns
    -------
    Shortened
        The forms, with their items and what they lose against all items.

    Raises
    ------
    UsageError
        A name or number means nothing.
    DataError
        The audit's store is not there, or the audit is of other items.
    DesignError
        There are too few respondents, families or items; the sentence says how many are needed.

    Examples
    --------
    >>> import hqm
    >>> hqm.shorten("shapes_yesno", "no-such-audit.json")
    Traceback (most recent call last):
    ...
    hqm.errors.DataError: no-such-audit.json: there is no such file. Correct the path, or make an
    audit: `hqm audit NAME --out FOLDER`.
    """
    if forms not in (1, 2):
        raise UsageError(
            f"{forms} short forms cannot be made", remedy="Ask for 1, or for 2 that are parallel."
        )
    if isinstance(benchmark, Evidence):
        if audit is not None or store is not None or options.answering.families is not None:
            raise UsageError(
                "the evidence is gathered, and an audit is named beside it",
                remedy="Name one of the two.",
            )
        evidence = benchmark
        shortened = shorten_matrix(
            evidence.benchmark,
            evidence.first,
            evidence.families,
            evidence.metrics,
            items,
            forms=forms,
            seed=seed,
        )
        return (
            shortened
            if out is None
            else write_short_forms(evidence.benchmark, shortened, Path(out))
        )
    if audit is None:
        raise UsageError(
            "no audit is named", remedy="Name the audit.json whose answers choose the items."
        )
    file = find_audit(Path(audit))
    loaded = benchmark if isinstance(benchmark, Benchmark) else None
    output = replace(options.output, store=None if store is None else Path(store))
    return from_audit(
        loaded or str(benchmark),
        file,
        replace(options, output=output),
        items,
        None if out is None else Path(out),
        forms,
        seed,
    )


def from_audit(
    name: Benchmark | str,
    file: Path,
    options: groups.RunOptions,
    items: str | float,
    folder: Path | None,
    forms: int,
    seed: int,
) -> Shortened:
    """Choose the items of a short form from an audit's answers, and write it to a folder."""
    full_audit = Audit.load(file)
    with readable(_store_of(file, options)) as opened:
        session = Session([name], opened, _audited_options(options, full_audit), offline=True)
        (benchmark,) = session.benchmarks
        audited = _find_audit_of(full_audit, benchmark, file)
        respondents = _audited_respondents(session, benchmark, audited)
        _check_same_items(session, benchmark, respondents, full_audit, file)
        matrix = _audited_matrix(session, benchmark, audited, respondents)
        families = (
            read_families(options.answering.families)
            if options.answering.families
            else dict(audited.families)
        )
        check_families(families, matrix.respondents)
        source = Source(
            digest_file(file),
            next(
                (estimate.signature for estimate in audited.all_estimates if estimate.signature), ""
            ),
        )
        metrics = [benchmark.metric(metric) for metric in audited.metrics]
        shortened = shorten_matrix(
            benchmark,
            matrix,
            families_of(matrix.respondents, families),
            metrics,
            items,
            forms=forms,
            seed=seed,
            source=source,
        )
        if folder is None:
            return shortened
        shortened = write_short_forms(benchmark, shortened, folder)
        try:
            for form in [folder, *([folder / "b"] if forms > 1 else [])]:
                _check_scores(session, benchmark, load(form), matrix, respondents, audited)
        except HQMError:
            # a folder whose scores differ from the audit's must not be taken for a short form
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return shortened


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
    full_audit = Audit.load(file)
    with readable(_store_of(file, options)) as opened:
        name = _audited_name(full_audit, audited)
        session = Session([name], opened, _audited_options(options, full_audit), offline=True)
        (benchmark,) = session.benchmarks
        respondents = _audited_respondents(session, benchmark, audited)
        _check_same_items(session, benchmark, respondents, full_audit, file)
        evidence = session.evidence(benchmark, respondents, pictures=False)
        metrics = tuple(benchmark.metric(metric) for metric in audited.metrics)
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
    for word in full_audit.command.split():
        card = Path(word.strip("'\"")) / "card.toml"
        # another word of the command may be longer than any path
        with suppress(OSError):
            if card.is_file() and tomllib.loads(read_text(card)).get("name") == audited.benchmark:
                return str(card.parent)
    return audited.benchmark


def _audited_options(options: groups.RunOptions, full_audit: Audit) -> groups.RunOptions:
    """Return the options with which the answers are scored as they were in the audit."""
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
        asking=groups.AskingOptions(blind=bool(settings.get("blind"))),
    )


def _find_audit_of(full_audit: Audit, benchmark: Benchmark, file: Path) -> BenchmarkAudit:
    for audited in full_audit.audits:
        if audited.benchmark == benchmark.name:
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
        matches = [
            candidate for candidate in stored if dict(candidate.identity) == dict(row.identity)
        ] or [candidate for candidate in stored if candidate.name == row.name]
        if not matches:
            raise DataError(
                f"the store has no answer of {row.name} to {benchmark.name}",
                location=str(session.store.path),
                remedy="Name the store of this audit with --store.",
            )
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
    if items_digest in ("", benchmark.original.digest):
        return
    rows = session.answers.by_respondent(benchmark, benchmark.original, respondents, 0).values()
    was_asked = [
        any(answer is not None for answer in answers) for answers in zip(*rows, strict=True)
    ]
    answered = replace(
        benchmark.original,
        items=tuple(
            item
            for item, is_answered in zip(benchmark.original.items, was_asked, strict=True)
            if is_answered
        ),
    )
    if answered.digest != items_digest:
        raise DataError(
            f"it is of other items than {benchmark.label} has now",
            location=str(file),
            remedy="Make the audit again, or name the version that was audited.",
        )
    benchmark.original = answered


def _audited_matrix(
    session: Session,
    benchmark: Benchmark,
    audited: BenchmarkAudit,
    respondents: Sequence[StoredRespondent],
) -> ScoreMatrix:
    cell = Cell.parse(audited.reference)
    if cell.judge == "rule":
        return session.answers.matrix(benchmark, cell, benchmark.original, respondents)
    return session.evidence(benchmark, respondents, pictures=False).first


def _check_scores(
    session: Session,
    benchmark: Benchmark,
    short: Benchmark,
    matrix: ScoreMatrix,
    respondents: Sequence[StoredRespondent],
    audited: BenchmarkAudit,
) -> None:
    """Refuse a short form that scores the audit's answers differently from the full benchmark."""
    cell = Cell.parse(audited.reference)
    if cell.judge != "rule":
        return
    ids = [item.id for item in short.original.items]
    columns = {item.id: i for i, item in enumerate(benchmark.original.items)}
    builder = MatrixBuilder(
        cell, short.original, short.verdict, short.subsets, short.groupings, short.relate
    )
    answers = Answers(session.asks)
    for respondent in respondents:
        row: list[Response | None] = answers.responses(
            benchmark, benchmark.original, respondent, cell.run
        )
        try:
            builder.add(respondent.name, [row[columns[key]] for key in ids])
        except HQMError as error:
            raise DesignError(
                f"its answers cannot be scored without the files of its release ({error})",
                location=benchmark.name,
                remedy=_SINGLE_SCORING_REMEDY,
            ) from None
    rescored, audited_matrix = builder.build(), matrix.take(matrix.respondents, ids)
    is_equal = (
        bool(audited_matrix.respondents)
        and np.array_equal(rescored.values, audited_matrix.values, equal_nan=True)
        and all(
            np.array_equal(rescored.tallies.get(key, np.zeros_like(values)), values)
            for key, values in audited_matrix.tallies.items()
        )
    )
    if not is_equal:
        raise DesignError(
            "some of its answers are scored otherwise without the other items, so that no part of"
            " it stands alone",
            location=benchmark.name,
            remedy=_SINGLE_SCORING_REMEDY,
        )


def shortened_data(shortened: Shortened) -> dict[str, Any]:
    """Return the chosen items and the loss of precision, as JSON data."""
    shortening = shortened.shortening
    return {
        "benchmark": shortened.benchmark,
        "folder": None if shortened.folder is None else str(shortened.folder),
        "items": shortening.items,
        "of_items": shortening.full_items,
        "forms": [list(calibration.ids) for calibration in shortened.calibrations],
        "respondents": list(shortening.respondents),
        "families": list(shortening.families),
        "method": shortening.method,
        "errors": dict(shortening.errors),
        "loss": [calibration.to_dict()["loss"] for calibration in shortened.calibrations],
        "parallel": shortened.calibrations[0].to_dict()["parallel"],
        "seed": shortening.seed,
    }
