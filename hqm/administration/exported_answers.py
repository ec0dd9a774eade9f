"""Recorded answers in an export of a store, beside those in files of other kinds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hqm.benchmark.adapter import Benchmark
from hqm.errors import AnswerError
from hqm.imports.log_answers import ImportedLogs, LogSettings, read_recorded, report_of
from hqm.imports.log_file import LogFile
from hqm.imports.recordings import Recording
from hqm.imports.row import form_of
from hqm.store.database import ask
from hqm.types import Form, Response

if TYPE_CHECKING:
    from hqm.store.exchange import ExportedStore

_PREFIX = "recorded/"
_EXPORT_FIELDS = frozenset(("kind", "respondent", "identity"))


class _Question(NamedTuple):
    """A question by its words and its picture."""

    prompt: str
    image: str | None


def read_recorded_answers(
    benchmark: Benchmark,
    paths: Sequence[Path],
    forms: Mapping[str, Form],
    settings: LogSettings,
) -> ImportedLogs:
    """The recorded administrations in files; those that `hqm export` wrote are among them.

    Raises
    ------
    HQMError
        A file fits no format, or an export has no answers to the benchmark.
    """
    exports = [path for path in paths if _is_export(path)]
    recorded_paths = [path for path in paths if path not in exports]
    imported = read_recorded(benchmark, recorded_paths, forms, settings)
    recordings: list[Recording] = []
    for path in exports:
        recordings += _recordings_in(benchmark, path, forms)
    return replace(
        imported,
        recordings=(*imported.recordings, *recordings),
        matchings=(
            *imported.matchings,
            *(report_of(recording, len(forms[recording.form])) for recording in recordings),
        ),
    )


def _is_export(path: Path) -> bool:
    """Whether the first row of a file is one of an export."""
    if path.suffix not in (".jsonl", ".json", ".parquet") or not path.is_file():
        return False
    first = LogFile(path).first
    return bool(first) and (first[0].get("kind") == "export" or first[0].keys() >= _EXPORT_FIELDS)


def _recordings_in(
    benchmark: Benchmark, path: Path, forms: Mapping[str, Form]
) -> Iterator[Recording]:
    """Yield the administrations of a benchmark in an export; those without a picture, or with
    smaller ones, are no recordings.
    """
    from hqm.store.exchange import read_export

    exported = read_export(path)
    names: dict[str, str] = {}
    has_answers = False
    for (respondent, identity), rows in exported.administrations.items():
        name = respondent.removeprefix(_PREFIX)
        for row in rows:
            if row["benchmark"] != benchmark.name or row.get("sight"):
                continue
            has_answers = True
            if names.setdefault(name, identity) != identity:
                raise AnswerError(
                    f"{name!r} was asked with two settings",
                    location=str(path),
                    remedy="Audit the store itself: --store STORE.",
                )
            form = form_of(forms, row["form"], str(path))
            answers = _answers_to(benchmark, form, exported, (respondent, identity, row["run"]))
            yield Recording(name, form.name, row["run"], answers, str(path))
    if not has_answers:
        all_rows = chain.from_iterable(exported.administrations.values())
        benchmarks = {str(row["benchmark"]) for row in all_rows}
        if benchmarks:
            alternatives = f"; it has those to {', '.join(sorted(benchmarks)[:5])}"
        else:
            alternatives = ""
        raise AnswerError(
            f"it has no answers to {benchmark.name!r}{alternatives}",
            location=str(path),
            remedy="Name the benchmark that was answered.",
        )


def _answers_to(
    benchmark: Benchmark, form: Form, exported: ExportedStore, key: tuple[str, str, int]
) -> Mapping[str, Response]:
    """The last answer of one respondent, in one run, to each item of a form."""
    items_by_digest: dict[str, str] = {}
    items_by_question: dict[_Question, list[str]] = defaultdict(list)
    for item in form.items:
        text = benchmark.question_text(item)
        recorded = ask(text, item.image, salt=(benchmark.name, form.name, item.id))
        items_by_digest[recorded.digest] = item.id
        items_by_question[_Question(recorded.prompt, recorded.image)].append(item.id)
    is_recorded = key[0].startswith(_PREFIX)
    last: dict[str, tuple[int, Response]] = {}
    for _, attempt, question, response, _ in exported.answers.get(key, ()):
        # a model was asked words and a picture, which several items may share; a recorded answer
        # belongs to its item
        item_ids = items_by_question[_Question(question.prompt, question.image)]
        if is_recorded:
            item_ids = [items_by_digest.get(question.digest, "")]
        for item_id in filter(None, item_ids):
            # an answer that is an error was asked for again: the last attempt counts
            if item_id not in last or attempt >= last[item_id][0]:
                last[item_id] = attempt, response
    return {item_id: response for item_id, (_, response) in last.items()}
