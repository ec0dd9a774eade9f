"""Short forms of a benchmark, chosen by the answers of an audit."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np

from hqm.administration.stored_answers import Answers
from hqm.auditing.evidence import Evidence
from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.registry import load
from hqm.commands.options import RunOptions
from hqm.commands.rescoring import ReopenedAudit, reopened
from hqm.commands.shared import find_audit
from hqm.errors import DesignError, HQMError, UsageError
from hqm.respondents.kinds import check_families, families_of, read_families
from hqm.scoring.matrix import MatrixBuilder, ScoreMatrix
from hqm.signature import digest_file
from hqm.types import Cell, Response
from hqm_study.short_form_folder import Shortened, Source, shorten_matrix, write_short_forms

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
    families: str | Path | None = None,
    data: str | Path | None = None,
    images: str | Path | None = None,
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
    families
        A file of the respondents' families; those of the audit unless given.
    data, images
        Where the files and the pictures of the benchmark are, as `hqm.load` takes them.

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
    >>> from hqm_study import shorten
    >>> shorten("shapes_yesno", "no-such-audit.json")
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
        if audit is not None or store is not None or families is not None:
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
        if out is None:
            return shortened
        return write_short_forms(evidence.benchmark, shortened, Path(out))
    if audit is None:
        raise UsageError(
            "no audit is named", remedy="Name the audit.json whose answers choose the items."
        )
    file = find_audit(Path(audit))
    loaded = benchmark if isinstance(benchmark, Benchmark) else None
    return from_audit(
        loaded or str(benchmark),
        file,
        RunOptions.from_values(
            {"store": store, "families": families, "data": data, "images": images}
        ),
        items,
        None if out is None else Path(out),
        forms,
        seed,
    )


def from_audit(
    name: Benchmark | str,
    file: Path,
    options: RunOptions,
    items: str | float,
    folder: Path | None,
    forms: int,
    seed: int,
) -> Shortened:
    """Choose the items of a short form from an audit's answers, and write it to a folder."""
    with reopened(file, options, name=name) as answers:
        benchmark, audited, matrix = answers.benchmark, answers.audited, answers.matrix
        if options.answering.families:
            families = read_families(options.answering.families)
        else:
            families = dict(audited.families)
        check_families(families, matrix.respondents)
        source = Source(
            digest_file(file),
            next(
                (estimate.signature for estimate in audited.all_estimates if estimate.signature), ""
            ),
        )
        shortened = shorten_matrix(
            benchmark,
            matrix,
            families_of(matrix.respondents, families),
            [benchmark.metric(metric) for metric in audited.metrics],
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
                _check_scores(answers, load(form), matrix)
        except HQMError:
            # a folder whose scores differ from the audit's must not be taken for a short form
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return shortened


def _check_scores(audited: ReopenedAudit, short: Benchmark, matrix: ScoreMatrix) -> None:
    """Refuse a short form that scores the audit's answers differently from the full benchmark."""
    cell = Cell.parse(audited.audited.reference)
    benchmark = audited.benchmark
    if cell.judge != "rule":
        return
    ids = [item.id for item in short.original.items]
    columns = {item.id: i for i, item in enumerate(benchmark.original.items)}
    builder = MatrixBuilder(
        cell, short.original, short.verdict, short.subsets, short.groupings, short.relate
    )
    answers = Answers(audited.session.asks)
    for respondent in audited.respondents:
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
    rescored = builder.build()
    audited_matrix = matrix.take(matrix.respondents, ids)
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
            "some of its answers get other scores without the other items, so that no part of it"
            " can be scored alone",
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
