"""Several readings of one store: one benchmark under several metrics, scorings, parsers or judges,
with nothing asked.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
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
from hqm.respondents.kinds import check_families, families_of, read_families
from hqm.scoring.matrix import MatrixBuilder, ScoreMatrix
from hqm.signature import digest_file
from hqm.store.database import Store
from hqm.types import Cell, Response


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
            name=unknown[0],
            choices=known,
        )
    return audits


def _audits(
    session: Session, benchmark: Benchmark, metrics: Sequence[str], *, recorded: bool
) -> Iterator[BenchmarkAudit]:
    respondents = _respondents_read(session, benchmark)
    if not respondents:
        raise DesignError(
            f"the store has no answer to {benchmark.name}",
            remedy=f"Ask with `hqm audit {benchmark.name} --store FILE`, or name another store.",
        )
    _cut_to_asked(session, benchmark, respondents)
    evidence = session.evidence(benchmark, respondents, pictures=False, recorded=recorded)
    # one audit a metric: what an audit says by type is by its first metric
    for metric in metrics:
        yield audit(replace(evidence, metrics=(benchmark.metric(metric),)))


def _respondents_read(session: Session, benchmark: Benchmark) -> list[StoredRespondent]:
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


# --- short forms from the answers of an audit ---

_ALONE = "Shorten a benchmark whose answers are scored one by one."


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
    """Which items of a benchmark are enough, as `hqm shorten`: chosen by the families of an audit,
    with what is lost.

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
        if audit is not None or store is not None or options.who.families is not None:
            raise UsageError(
                "the evidence is gathered, and an audit is named beside it",
                remedy="Name one of the two.",
            )
        evidence = benchmark
        made = shorten_matrix(
            evidence.benchmark,
            evidence.first,
            evidence.families,
            evidence.metrics,
            items,
            forms=forms,
            seed=seed,
        )
        return made if out is None else write_short_forms(evidence.benchmark, made, Path(out))
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
    out: Path | None,
    forms: int,
    seed: int,
) -> Shortened:
    """Choose the items of a short form from an audit's answers, and write it to a folder."""
    whole = Audit.load(file)
    path = options.output.store or file.parent / "store.sqlite"
    if not path.is_file():
        raise DataError(
            "the audit's store is not there, and audit.json has no single answers",
            location=str(path),
            remedy="Name the file of stored answers with --store.",
        )
    with readable(path) as opened:
        session = Session([name], opened, _as_audited(options, whole), offline=True)
        (benchmark,) = session.benchmarks
        audited = _audit_of(whole, benchmark, file)
        who = _respondents(session, benchmark, audited)
        _check_same_items(session, benchmark, who, whole, file)
        matrix = _matrix(session, benchmark, audited, who)
        known = (
            read_families(options.who.families) if options.who.families else dict(audited.families)
        )
        check_families(known, matrix.respondents)
        source = Source(
            digest_file(file), next((e.signature for e in audited.all_estimates if e.signature), "")
        )
        metrics = [benchmark.metric(metric) for metric in audited.metrics]
        made = shorten_matrix(
            benchmark,
            matrix,
            families_of(matrix.respondents, known),
            metrics,
            items,
            forms=forms,
            seed=seed,
            source=source,
        )
        if out is None:
            return made
        made = write_short_forms(benchmark, made, out)
        try:
            for form in [out, *([out / "b"] if forms > 1 else [])]:
                _check_scores(session, benchmark, load(form), matrix, who, audited)
        except HQMError:
            shutil.rmtree(out, ignore_errors=True)
            raise
        return made


def _as_audited(options: groups.RunOptions, whole: Audit) -> groups.RunOptions:
    """Return the options with which the answers are scored as they were in the audit."""
    settings = whole.record.get("settings", {})
    reading = {
        key: settings[key]
        for key in ("scoring", "parser", "words", "withheld")
        if settings.get(key)
    }
    judging = {key: settings[key] for key in ("mode", "prompts") if settings.get(key)}
    judging |= {key: tuple(settings[key]) for key in ("judges", "roles") if settings.get(key)}
    return replace(
        options,
        reading=groups.Reading(**reading),
        judging=groups.Judging(**judging),
        asking=groups.Asking(blind=bool(settings.get("blind"))),
    )


def _audit_of(whole: Audit, benchmark: Benchmark, file: Path) -> BenchmarkAudit:
    for audited in whole.audits:
        if audited.benchmark == benchmark.name:
            others = {"recorded": "the tools that recorded the answers", "people": "people"}
            if audited.scoring in others:
                raise DesignError(
                    f"its scores are those of {others[audited.scoring]}",
                    location=str(file),
                    remedy="Audit it by the benchmark's own scoring.",
                )
            return audited
    known = [audited.benchmark for audited in whole.audits]
    raise UsageError(
        f"it has no audit of {benchmark.name}, but of {', '.join(known)}",
        location=str(file),
        remedy="Name the benchmark that was audited.",
        name=benchmark.name,
        choices=known,
    )


def _respondents(
    session: Session, benchmark: Benchmark, audited: BenchmarkAudit
) -> list[StoredRespondent]:
    """The audit's respondents as the store knows them."""
    stored = respondents_in(session.asks, benchmark)
    chosen = []
    for row in audited.respondents:
        same = [who for who in stored if dict(who.identity) == dict(row.identity)] or [
            who for who in stored if who.name == row.name
        ]
        if not same:
            raise DataError(
                f"the store has no answer of {row.name} to {benchmark.name}",
                location=str(session.store.path),
                remedy="Name the store of this audit with --store.",
            )
        chosen.append(replace(same[0], name=row.name))
    return chosen


def _check_same_items(
    session: Session,
    benchmark: Benchmark,
    who: Sequence[StoredRespondent],
    whole: Audit,
    file: Path,
) -> None:
    """Restrict the benchmark to the items of the audit. Refuse another version of the benchmark."""
    wanted = whole.record.get("benchmarks", {}).get(benchmark.name, {}).get("items", "")
    if wanted in ("", benchmark.original.digest):
        return
    rows = session.answers.by_respondent(benchmark, benchmark.original, who, 0).values()
    asked = [any(answer is not None for answer in answers) for answers in zip(*rows, strict=True)]
    answered = replace(
        benchmark.original,
        items=tuple(item for item, put in zip(benchmark.original.items, asked, strict=True) if put),
    )
    if answered.digest != wanted:
        raise DataError(
            f"it is of other items than {benchmark.label} has now",
            location=str(file),
            remedy="Make the audit again, or name the version that was audited.",
        )
    benchmark.original = answered


def _matrix(
    session: Session, benchmark: Benchmark, audited: BenchmarkAudit, who: Sequence[StoredRespondent]
) -> ScoreMatrix:
    cell = Cell.parse(audited.reference)
    if cell.judge == "rule":
        return session.answers.matrix(benchmark, cell, benchmark.original, who)
    return session.evidence(benchmark, who, pictures=False).first


def _check_scores(
    session: Session,
    benchmark: Benchmark,
    short: Benchmark,
    matrix: ScoreMatrix,
    who: Sequence[StoredRespondent],
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
    for respondent in who:
        row: list[Response | None] = answers.responses(
            benchmark, benchmark.original, respondent, cell.run
        )
        try:
            builder.add(respondent.name, [row[columns[key]] for key in ids])
        except HQMError as error:
            raise DesignError(
                f"its answers cannot be scored without the files of its release ({error})",
                location=benchmark.name,
                remedy=_ALONE,
            ) from None
    again, before = builder.build(), matrix.take(matrix.respondents, ids)
    same = (
        bool(before.respondents)
        and np.array_equal(again.values, before.values, equal_nan=True)
        and all(
            np.array_equal(again.tallies.get(key, np.zeros_like(values)), values)
            for key, values in before.tallies.items()
        )
    )
    if not same:
        raise DesignError(
            "some of its answers are scored otherwise without the other items, so that no part of"
            " it stands alone",
            location=benchmark.name,
            remedy=_ALONE,
        )


def settings_of(made: Shortened) -> dict[str, Any]:
    """What was chosen and lost, as JSON data."""
    chosen = made.shortening
    return {
        "benchmark": made.benchmark,
        "folder": None if made.folder is None else str(made.folder),
        "items": chosen.items,
        "of_items": chosen.of_items,
        "forms": [list(calibration.ids) for calibration in made.calibrations],
        "respondents": list(chosen.respondents),
        "families": list(chosen.families),
        "method": chosen.method,
        "errors": dict(chosen.errors),
        "loss": [made_of.to_dict()["loss"] for made_of in made.calibrations],
        "parallel": made.calibrations[0].to_dict()["parallel"],
        "seed": chosen.seed,
    }
