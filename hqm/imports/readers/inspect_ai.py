"""Logs of inspect: `.eval` archives and their `.json` form.

The members of an archive are compressed with Zstandard (zip method 93), which Python reads from
3.14 on; before, pyarrow decompresses them. A run that was killed has samples but no header.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from hqm.errors import DataError, missing_library
from hqm.files.records import file_stem
from hqm.imports.layouts import objects_in
from hqm.imports.log_file import LogFile
from hqm.imports.row import Log, Row, key_in, names_in, parts_of, stopped, tokens_in
from hqm.imports.score_cells import number
from hqm.types import Response

_ZSTANDARD = 93
_MAX_MEMBER_BYTES = 1 << 28
"""Bytes of the largest member that is unfolded; a sample has a few thousand."""
# The fixed part of a local file header of a zip (APPNOTE 4.3.7); the last two numbers are the
# lengths of the name and of the extra field, which the central directory may have otherwise.
_HEADER = struct.Struct("<4s5H3I2H")


SOURCE = "inspect"


def is_log(file: LogFile) -> bool:
    """Whether a file is such an archive or its JSON form."""
    if file.suffix == ".eval":
        return True
    return "eval" in file.document and not file.document.keys().isdisjoint(("samples", "plan"))


def read_log(file: LogFile) -> Log:
    """The samples of a log, whatever became of its run."""
    if file.suffix == ".eval":
        return _read_archive(file.path)
    samples = file.document.get("samples") or []
    located_samples = [(f"sample {i}", sample) for i, sample in enumerate(samples, 1)]
    return _log(file.path, file.document, located_samples, crashed=False)


def _read_archive(path: Path) -> Log:
    from hqm.files.archives import ZIP_ERRORS, check_unfolding

    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            members = dict(zip(archive.namelist(), archive.infolist(), strict=True))
            start = next(iter(names_in(members, ("header.json", "_journal/start.json"))), None)
            if start is None:
                raise DataError(
                    "it has neither header.json nor _journal/start.json", location=str(path)
                )
            check_unfolding(archive, path)
            header = _document(file, archive, members[start], path)
            samples = [
                (name, _document(file, archive, info, path))
                for name, info in sorted(members.items())
                if name.startswith("samples/") and name.endswith(".json")
            ]
    except ZIP_ERRORS as error:
        raise DataError(
            f"it is no archive that inspect wrote: {error}", location=str(path)
        ) from None
    return _log(path, header, samples, crashed=start != "header.json")


def _document(file: BinaryIO, archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> Any:
    if info.file_size > _MAX_MEMBER_BYTES:
        raise DataError(
            f"its member {info.filename} unfolds to {info.file_size >> 20:,} MiB, more than"
            f" {_MAX_MEMBER_BYTES >> 20}",
            location=str(path),
            remedy="Take the pictures out of the log (`inspect eval --no-log-images`).",
        )
    if info.compress_type == _ZSTANDARD:
        raw = _zstandard(file, info, path)
    else:
        raw = archive.read(info)
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"its member {info.filename} is not JSON: {error}", location=str(path)
        ) from None


def _zstandard(file: BinaryIO, info: zipfile.ZipInfo, path: Path) -> bytes:
    file.seek(info.header_offset)
    header = _HEADER.unpack(file.read(_HEADER.size))
    file.seek(header[-2] + header[-1], io.SEEK_CUR)
    # `zipfile` refuses method 93 before Python 3.14, so that the member is found by its header.
    packed = file.read(info.compress_size)
    try:
        import pyarrow
    except ModuleNotFoundError:
        missing = missing_library("members in Zstandard", ["pyarrow"], "logs")
        remedy = f"{missing.remedy} Or convert it: inspect log convert --to json."
        raise DataError(missing.message, location=str(path), remedy=remedy) from None
    try:
        # a member may have several frames, which the stream reads one after another
        with pyarrow.CompressedInputStream(pyarrow.BufferReader(packed), "zstd") as stream:
            content = bytes(stream.read(info.file_size + 1))
    except OSError as error:
        raise DataError(
            f"its member {info.filename} cannot be decompressed: {error}", location=str(path)
        ) from None
    if len(content) != info.file_size:
        raise DataError(
            f"its member {info.filename} has {len(content)} bytes in place of {info.file_size}",
            location=str(path),
            remedy="Copy the file again.",
        )
    return content


def _log(
    path: Path, header: Mapping[str, Any], samples: list[tuple[str, Any]], *, crashed: bool
) -> Log:
    run = header.get("eval") or {}
    config = (header.get("plan") or {}).get("config") or {}
    settings = {**config, **(run.get("model_generate_config") or {})}
    status = str(header.get("status") or "started")
    notes = []
    if crashed:
        notes.append(f"the run was killed before it ended; {len(samples)} samples had been written")
    elif status != "success":
        error = (header.get("error") or {}).get("message", "")
        notes.append(f"the run ended with the status {status}{f': {error}' if error else ''}")
    # HQM's own tasks pass the form on (`hqm/benchmark -T form=...`).
    form = str((run.get("task_args") or {}).get("form") or "")
    model = str(run.get("model") or file_stem(path))
    task = str(run.get("task") or file_stem(path)).rpartition("/")[2]
    rows: list[Row] = []
    for name, sample in samples:
        run_row = Row(place="", respondent=model, form=form, task=task)
        rows += _rows(f"{path}: {name}", sample, run_row)
    return Log(
        path=str(path),
        tool=f"inspect_ai {(run.get('packages') or {}).get('inspect_ai', '')}".strip(),
        rows=tuple(rows),
        notes=tuple(notes),
        settings=settings,
        totals=_totals(header.get("results") or {}),
        # `inspect eval-retry` keeps it, and copies the samples that it need not ask again
        run_id=str(run.get("task_id") or ""),
    )


def _totals(results: Mapping[str, Any]) -> dict[str, float]:
    """Score -> the mean that the log prints of it."""
    totals: dict[str, float] = {}
    for printed in results.get("scores") or ():
        metrics = printed.get("metrics") or {}
        for name in names_in(metrics, ("accuracy", "mean"))[:1]:
            value = number(metrics[name].get("value"))
            if value is not None:
                totals.setdefault(str(printed.get("name") or printed.get("scorer")), value)
    return totals


def _rows(location: str, sample: object, run: Row) -> Iterator[Row]:
    """The rows of a sample, of a run that says what all its rows share: one, and one more for each
    judge.
    """
    if not isinstance(sample, Mapping) or "id" not in sample:
        raise DataError("it is no sample: it has no id", location=location)
    metadata = sample.get("metadata") or {}
    question, image = _question_and_picture(sample)
    scored = sample.get("scores") or {}
    row = replace(
        run,
        place=location,
        answer=_answer(sample),
        ids=tuple(
            str(value) for value in (metadata.get("item"), sample["id"]) if value is not None
        ),
        image=str(metadata.get("image") or image),
        question=question,
        key=key_in(sample),
        options=tuple(map(str, sample.get("choices") or ())),
        parts=parts_of(metadata),
        form=str(metadata.get("form") or run.form),
        # inspect counts epochs from 1
        run=max(int(sample.get("epoch") or 1) - 1, 0),
    )
    judges = _judges(scored)
    # A row for each judge, so that two graders of one answer can be compared.
    for judge, of_judge in judges.items() if judges else (("", scored),):
        scores, read = _scores(of_judge)
        first = next(iter(scores.values()), None)
        yield replace(row, score=first, scores=scores, read=read, judge=judge)


def _answer(sample: Mapping[str, Any]) -> Response:
    output = sample.get("output") or {}
    choices = output.get("choices") or []
    first = choices[0] if choices else {}
    message = first.get("message") or {}
    text = _text(message.get("content", output.get("completion") or ""), sample)
    reason = str(output.get("error") or "")
    error = sample.get("error")
    if error:
        reason = str(error.get("message") if isinstance(error, Mapping) else error)
    detail = tokens_in(output.get("usage"))
    if reason or not choices:
        return Response(text, "error", reason or "the tool recorded no answer", detail)
    return stopped(text, first.get("stop_reason"), detail)


def _question_and_picture(sample: Mapping[str, object]) -> tuple[str, str]:
    """The text that was asked, and the name of its picture where the log has one."""
    messages = sample.get("input")
    if not isinstance(messages, list):
        return str(messages or ""), ""
    texts = []
    pictures = []
    for message in objects_in(messages):
        if message.get("role") not in (None, "user"):
            continue
        content = message.get("content")
        texts.append(_text(content, sample))
        for segment in _segments(content, "image"):
            name = segment["image"]
            # a picture inside the log has no name that an item could have
            if isinstance(name, str) and not name.startswith(("attachment://", "data:")):
                pictures.append(name)
    return "\n".join(filter(None, texts)), next(iter(pictures), "")


def _segments(content: object, kind: str) -> list[Mapping[str, object]]:
    """The segments of one kind that a message has; none where it is a text."""
    if not isinstance(content, list):
        return []
    return [segment for segment in objects_in(content) if segment.get("type") == kind]


def _text(content: object, sample: Mapping[str, Any]) -> str:
    if isinstance(content, list):
        parts = _segments(content, "text")
        return "\n".join(_text(segment.get("text", ""), sample) for segment in parts)
    text = "" if content is None else str(content)
    if text.startswith("attachment://"):
        return str((sample.get("attachments") or {}).get(text.removeprefix("attachment://"), ""))
    return text


def _scores(scored: Mapping[str, Any]) -> tuple[dict[str, float], str]:
    """Every score of a sample by its scorer, and what the first one read; a scorer of several
    values gives each its name.
    """
    scores: dict[str, float] = {}
    read = ""
    for scorer, score in scored.items():
        value = score.get("value") if isinstance(score, Mapping) else None
        parts = value if isinstance(value, Mapping) else {"": value}
        for name, component in parts.items():
            number_value = number(component)
            if number_value is not None:
                scores[name or scorer] = number_value
                read = read or str(score.get("answer") or "")
    return scores, read


def _judges(scored: Mapping[str, object]) -> dict[str, dict[str, Any]]:
    """Judge -> its score, where every scorer put the answer to a model; else nothing.

    inspect keeps the conversation with the model. Two scores of one kind have one name, `grade`.
    """
    scores_by_judge = {}
    for name, score in scored.items():
        metadata = score.get("metadata") or {} if isinstance(score, Mapping) else {}
        if "grading" not in metadata:
            return {}
        scores_by_judge[str(metadata.get("grader") or name)] = score
    # two scorers with one model: the scorers' names tell them apart
    if len(scores_by_judge) < len(scored):
        scores_by_judge = dict(scored)
    if len(scores_by_judge) == 1:
        return {judge: dict(scored) for judge in scores_by_judge}
    return {judge: {"grade": score} for judge, score in scores_by_judge.items()}
