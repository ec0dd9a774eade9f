"""Judgements in files, as sets of a judge, an asking and a respondent: read, matched to the items,
and accounted for.

A row says what was judged (an id, or a picture and a question), whose answer, who judged, and how
the judgement came out: the judge's raw `reply`, which the benchmark's own procedure reads, or a
`verdict` or `score` that somebody read out of it already.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import NoReturn

from hqm.administration.asks import StoredRespondent
from hqm.administration.stored_answers import Answers
from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.judge_api import ASKING_SEPARATOR, parse_judge
from hqm.errors import AnswerError, DataError, UsageError
from hqm.files.records import name_fields
from hqm.imports.administrations import RUN_IN_NAME
from hqm.imports.detect import log_of_tool
from hqm.imports.human_labels import HUMAN, respondent_named, short_names
from hqm.imports.intake import (
    Intake,
    find_alike,
    read_rows,
    refuse_alike,
    refuse_twice,
    rename_headings,
    take_rows,
)
from hqm.imports.layouts import Record
from hqm.imports.log_file import LogFile
from hqm.imports.match import FormIndex, MatchReport, match_indexed
from hqm.imports.recordings import check_own_benchmark, check_stated_keys
from hqm.imports.row import (
    ANSWERS,
    IDS,
    IMAGES,
    JUDGES,
    OF_A_MODEL,
    QUESTIONS,
    RESPONDENTS,
    ROLES,
    JudgeOutput,
    Row,
    count_in,
    first_text,
    form_of,
    ids_in,
    no_field,
    parts_of,
    require_choice,
    whole_reply,
)
from hqm.imports.score_cells import number
from hqm.judges.file_judge import JudgementSet, marks_scale, share_right
from hqm.signature import digest_file
from hqm.text import check_name
from hqm.types import ORIGINAL, Form, Response

_JUDGE_FIELDS = ("judge", "judge_model", "judge_name")
_MARK_FIELDS = ("verdict", "score", "rating", "judgement", "judgment")
_REPLY_FIELDS = ("reply", "review", "judge_reply")
# In a file of judgements `text` and `caption` may be the judge's own words.
_ANSWER_FIELDS = tuple(name for name in ANSWERS if name not in ("text", "caption"))
_SUFFIXES = (".json", ".jsonl", ".csv")

AnswerLookup = Callable[[str, str, int, str], str | None]
"""(respondent, form, run, item) -> the text of the answer that is audited; None where there is
none.
"""


class AnswerTexts:
    """The texts of stored answers, read once for each respondent, form and run: an `AnswerOf`."""

    def __init__(
        self,
        answers: Answers,
        benchmark: Benchmark,
        forms: Mapping[str, Form],
        respondents: Sequence[StoredRespondent],
    ) -> None:
        self.answers = answers
        self.benchmark = benchmark
        self.forms = forms
        self.respondents = {respondent.name: respondent for respondent in respondents}
        # kept, because a file judges every answer of a respondent one after the other
        self._texts: dict[tuple[str, str, int], dict[str, str]] = {}

    def __call__(self, name: str, form: str, run: int, item: str) -> str | None:
        if name not in self.respondents:
            return None
        key = (name, form, run)
        if key not in self._texts:
            responses = self.answers.responses(
                self.benchmark, self.forms[form], self.respondents[name], run
            )
            texts = self._texts[key] = {}
            for i, response in zip(self.forms[form].items, responses, strict=True):
                if response is not None:
                    texts[i.id] = response.text
        return self._texts[key].get(item)


@dataclass(frozen=True, slots=True)
class JudgementSource:
    """A file or folder of judgements, with what the command line says of it.

    >>> JudgementSource.parse("gpt-4o#1,llava=review.json")
    JudgementSource(path=PosixPath('review.json'), judge='gpt-4o', asking=1, respondent='llava')
    """

    path: Path
    judge: str | None = None
    asking: int | None = None
    respondent: str | None = None

    @classmethod
    def parse(cls, text: str) -> JudgementSource:
        """Read `[JUDGE[#RUN]][,RESPONDENT]=PATH`, or a path alone."""
        names, equals, path = text.partition("=")
        # A path may hold an equals sign itself: a file that exists is meant.
        if not equals or Path(text).exists():
            return cls(Path(text))
        judge, _, respondent = names.partition(",")
        label, asking = parse_judge(judge)
        return cls(
            # Without a number `parse_judge` gives the name back as it was.
            Path(path),
            label or None,
            asking if label != judge else None,
            respondent or None,
        )


@dataclass(frozen=True, slots=True)
class ImportedJudgements:
    """The judgements that files hold, with how their rows were matched."""

    sets: tuple[JudgementSet, ...]
    matchings: tuple[MatchReport, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Key:
    judge: str
    asking: int | None
    respondent: str
    form: str
    run: int


def import_judgements(
    benchmark: Benchmark,
    forms: Mapping[str, Form],
    sources: Sequence[JudgementSource],
    respondents: Sequence[str],
    find_answer: AnswerLookup = lambda *_: None,
    *,
    partial: bool = False,
) -> ImportedJudgements:
    """Read files of judgements on the answers of these respondents.

    The judge, which time it was asked, and the respondent come from the source, else from the row,
    else from the file's name. Files of one judge on the same answers are askings, in the order
    given.

    Parameters
    ----------
    forms
        Those that may have been judged, by name.
    respondents
        Whose answers are audited.
    find_answer
        Gives an audited answer: a row that has another answer in it judges that one, and is
        refused.
    partial
        Take the rows that match and leave the others out.

    Raises
    ------
    AnswerError
        A row matches no item or several, judges another answer or another respondent, and `partial`
        is not set; or the files do not say who was judged.
    """
    sourced_files, notes = _unique_files(sources)
    # every file is read before any is grouped: what no reader knows is said first
    rows_by_file = [judged_rows(benchmark, path, forms[ORIGINAL]) for path, _ in sourced_files]
    grouped: list[tuple[Path, _Key, list[Row]]] = []
    for (path, source), file_rows in zip(sourced_files, rows_by_file, strict=True):
        for key, key_rows in _rows_by_key(path, source, file_rows, respondents, forms).items():
            grouped.append((path, key, key_rows))
    alike = find_alike({key.judge for _, key, _ in grouped})
    if alike:
        refuse_alike("judges", *alike[0], ", ".join(str(path) for path, _ in sourced_files[:2]))
    # those that say which asking they are come first, so that the others take what is free
    grouped.sort(key=lambda group: group[1].asking is None)
    sets: list[JudgementSet] = []
    matchings: list[MatchReport] = []
    judged_items: dict[_Key, set[str]] = {}
    names = {key.form for _, key, _ in grouped}
    indices = {name: FormIndex(forms[name], benchmark.spelled) for name in names}
    for path, key, rows in grouped:
        index = indices[key.form]
        matching, outputs = _match_judgements(path, key, rows, index, respondents, find_answer)
        asking = key.asking
        if asking is None:
            asking = _first_free_asking(judged_items, key, outputs)
        asking_key = replace(key, asking=asking)
        repeated = judged_items.get(asking_key, set()) & outputs.keys()
        if repeated:
            _refuse_judged_twice(f"{key.judge}, run {asking},", min(repeated), str(path))
        judged_items.setdefault(asking_key, set()).update(outputs)
        matchings.append(replace(matching, asking=asking))
        if outputs:
            sets.append(
                JudgementSet(
                    judge=key.judge,
                    asking=asking,
                    respondent=key.respondent,
                    form=key.form,
                    run=key.run,
                    file=digest_file(path),
                    outputs=outputs,
                )
            )
    refused = [matching for matching in matchings if not matching.complete]
    if refused and not partial:
        raise AnswerError(
            refused[0].counts,
            location=refused[0].path,
            remedy=(
                "Name the benchmark, part, release or respondents that were judged, or take what"
                " matches with --partial."
            ),
        )
    if not sets:
        raise AnswerError(
            "no row judges an answer",
            location=", ".join(str(source.path) for source in sources),
            remedy="Check the benchmark.",
        )
    numbered = _renumber_sets(sets)
    return ImportedJudgements(
        tuple(numbered),
        tuple(_renumber_matchings(matchings, sets)),
        (*notes, *_scale_notes(benchmark, numbered), *_copy_notes(numbered)),
    )


def _unique_files(
    sources: Sequence[JudgementSource],
) -> tuple[list[tuple[Path, JudgementSource]], list[str]]:
    """Every file with its source; a file that equals another is left out, unless the command line
    calls it another asking.
    """
    first_paths: dict[tuple[str, str | None, int | None, str | None], Path] = {}
    files = []
    notes = []
    for source in sources:
        paths = [source.path]
        if source.path.is_dir():
            files_inside = filter(Path.is_file, sorted(source.path.rglob("*")))
            paths = [path for path in files_inside if path.suffix.lower() in _SUFFIXES]
            if not paths:
                raise AnswerError(
                    f"the folder has no file of judgements ({', '.join(_SUFFIXES)})",
                    location=str(source.path),
                    remedy="Name the files.",
                )
        for path in paths:
            if not path.is_file():
                raise AnswerError(
                    "there is no such file", location=str(path), remedy="Correct the path."
                )
            # The same bytes twice are a copy, by which a judge would seem to agree with itself
            # perfectly.
            key = (digest_file(path), source.judge, source.asking, source.respondent)
            if key in first_paths:
                notes.append(
                    f"{path} is left out: it equals {first_paths[key]} byte for byte, so it is a"
                    " copy"
                )
            else:
                first_paths[key] = path
                files.append((path, source))
    return files, notes


def _rows_by_key(
    path: Path,
    source: JudgementSource,
    rows: Sequence[Row],
    respondents: Sequence[str],
    forms: Mapping[str, Form],
) -> dict[_Key, list[Row]]:
    """Return the rows of a file by judge, asking, respondent, form and run.

    The command line decides over a row, and a row over the file's name.
    """
    groups: dict[_Key, list[Row]] = defaultdict(list)
    names_in_path = cache(partial(_names_in_path, path, source, respondents))
    for row in rows:
        file_judge, file_run, file_respondent = names_in_path(row.stem)
        # A bar separates the facets of a cell, in which the judge's name will stand.
        label, label_asking = parse_judge(row.judge.replace("|", "/"))
        judge = source.judge or label or file_judge
        asking = file_run
        if source.asking is not None:
            asking = source.asking
        elif row.asking is not None:
            asking = row.asking
        elif label != row.judge:
            # `gpt-4o#1` in a row numbers its asking; a name without a number says nothing of it
            asking = label_asking
        respondent = source.respondent or row.respondent or file_respondent
        if not respondent:
            raise AnswerError(
                "neither its rows nor its name say plainly whose answers were judged",
                location=str(path),
                remedy=(
                    f"Write --judgements ,RESPONDENT={path.name}; there are"
                    f" {', '.join(respondents) or 'none'}."
                ),
            )
        form = row.form or ORIGINAL
        form_of(forms, form, row.place)
        _check_judge(judge, row.place)
        name = _find_respondent(respondent, respondents, row.place)
        groups[_Key(judge, asking, name, form, row.run)].append(row)
    return groups


def _check_judge(judge: str, location: str) -> None:
    """Refuse the names that people's labels and rules have, and those that no file can have."""
    check_name(judge, "judge's name", location)
    remedy = "Bring people's labels with --criterion."
    if judge == "rule":
        remedy = "Name the judge: --judgements JUDGE=FILE."
    elif judge.partition(":")[0] != HUMAN:
        return
    raise UsageError(f"a judge cannot be called {judge!r}", location=location, remedy=remedy)


def _find_respondent(name: str, respondents: Sequence[str], location: str) -> str:
    """The respondent meant; a name that none has stays as it is, and its rows match nothing."""
    try:
        return respondent_named(name, respondents, location)
    # An unknown name must not end the file: its rows are counted as matching nothing. One that
    # several have is ambiguous.
    except AnswerError:
        if sum(respondent.endswith(name) for respondent in respondents) > 1:
            raise
        return name


def _names_in_path(
    path: Path, source: JudgementSource, respondents: Sequence[str], stem: str | None
) -> tuple[str, int | None, str]:
    """Judge, asking and respondent as far as the file's name, and that of its folder within the
    source, say them.
    """
    stem = path.stem if stem is None else stem
    run = None
    if match := RUN_IN_NAME.search(stem):
        run = int(match[1])
        stem = stem[: match.start()] + stem[match.end() :]
    folder_name = path.parent.name if source.path.is_dir() else ""
    respondent, span = _respondent_in_text(stem, respondents)
    if respondent and span is not None:
        stem = f"{stem[: span[0]]} {stem[span[1] :]}"
    folder_respondent, _ = _respondent_in_text(folder_name, respondents)
    # A name that could mean several respondents is not settled by the folder.
    if not respondent and span is None:
        respondent = folder_respondent
        if not respondent and len(respondents) == 1:
            respondent = respondents[0]
    # what is left of the name, once the run and the respondent are cut out, names the judge
    judge = re.sub(r"[\W_]*\s+[\W_]*", "-", stem.strip(" _-.")).strip("_-.")
    if not judge and not folder_respondent:
        judge = folder_name
    return judge.replace("|", "/").replace(ASKING_SEPARATOR, "-") or "judge", run, respondent


def _respondent_in_text(
    text: str, respondents: Sequence[str]
) -> tuple[str, tuple[int, int] | None]:
    """Return the respondent that a text names, and its span; no name where it names several."""
    names: dict[tuple[int, int], str] = {}
    for name in respondents:
        for spelling in _file_spellings(name):
            pattern = rf"(?i)(?<![A-Za-z0-9]){re.escape(spelling)}(?![A-Za-z0-9])"
            for match in re.finditer(pattern, text):
                names[match.span()] = name
    # a name may be a part of a longer one, which is then the one that is meant
    widest = [span for span in names if not _lies_within(span, names)]
    if len(widest) == 1:
        return names[widest[0]], widest[0]
    return "", widest[0] if widest else None


def _lies_within(span: tuple[int, int], spans: Iterable[tuple[int, int]]) -> bool:
    """Return whether a span lies within another one."""
    return any(wider != span and wider[0] <= span[0] and span[1] <= wider[1] for wider in spans)


def _file_spellings(respondent: str) -> set[str]:
    """Return the spellings of a respondent in a file's name, which has no slash or colon."""
    names = short_names(respondent.partition("?")[0])
    # Slash and colon are no characters of file names on every system; programs write `_`, `-` or
    # `__` for them.
    spelled = {re.sub(r"[/:@]", mark, name) for mark in ("_", "-", "__") for name in names}
    return spelled - {""}


def _refuse_judged_twice(judge: str, item: str, location: str) -> NoReturn:
    refuse_twice(
        f"{judge} judges {item}",
        location,
        remedy="Say which time each judgement is in a column `run`, or with --judgements"
        " JUDGE#1=FILE.",
    )


def _match_judgements(
    path: Path,
    key: _Key,
    rows: Sequence[Row],
    index: FormIndex,
    respondents: Sequence[str],
    find_answer: AnswerLookup,
) -> tuple[MatchReport, dict[str, JudgeOutput]]:
    """Return the judgements by item, and how their rows were matched."""
    matched = match_indexed(rows, index)
    outputs: dict[str, JudgeOutput] = {}

    def describe(indices: Iterable[int]) -> list[str]:
        return [rows[index].described for index in indices]

    unmatched = describe(matched.unmatched)
    n_matched = 0
    for i, keys in sorted(matched.items.items()):
        row = rows[i]
        subject = ""
        if key.respondent not in respondents:
            subject = f"{key.respondent}, who is not audited"
        elif row.answer is not None:
            words = row.answer.text.split()
            for item in keys:
                text = find_answer(key.respondent, key.form, key.run, item)
                # Programs differ in the white space that they keep; words are what was judged.
                if text is not None and text.split() != words:
                    subject = "another answer than the audited one"
        if subject:
            unmatched.append(f"{row.described} judges {subject}")
            continue
        n_matched += 1
        output = row.judgement or JudgeOutput()
        for item in keys:
            previous = outputs.get(item)
            # Two replies on one item may be those of two roles, and are joined; a mark is a whole
            # judgement.
            if previous is not None and (previous.mark is not None or output.mark is not None):
                _refuse_judged_twice(key.judge, item, row.place)
            outputs[item] = output if previous is None else previous.joined(output)
    matching = MatchReport(
        path=str(path),
        judge=key.judge,
        asking=key.asking or 0,
        respondent=key.respondent,
        form=key.form,
        run=key.run,
        rows=len(rows),
        matched=n_matched,
        items=len(outputs),
        n_items=len(index.form),
        cue_counts=matched.cue_counts,
        contradicting=tuple(describe(matched.contradicting)),
        unmatched=tuple(unmatched),
        ambiguous=tuple(describe(matched.ambiguous)),
    )
    return matching, outputs


def _first_free_asking(
    judged_items: Mapping[_Key, set[str]], key: _Key, outputs: Mapping[str, JudgeOutput]
) -> int:
    # files of one judge on other items share an asking; on the same items they are repetitions
    asking = 0
    while judged_items.get(replace(key, asking=asking), set()) & outputs.keys():
        asking += 1
    return asking


def _asking_numbers(sets: Sequence[JudgementSet]) -> dict[str, dict[int, int]]:
    """Return judge -> number in its files -> number from 0, because files may count from 1."""
    file_numbers: dict[str, set[int]] = defaultdict(set)
    for judgement_set in sets:
        file_numbers[judgement_set.judge].add(judgement_set.asking)
    numbers = {}
    for judge, judge_numbers in file_numbers.items():
        numbers[judge] = dict(zip(sorted(judge_numbers), range(len(judge_numbers)), strict=True))
    return numbers


def _renumber_sets(sets: Sequence[JudgementSet]) -> list[JudgementSet]:
    numbers = _asking_numbers(sets)
    return [
        replace(judgement_set, asking=numbers[judgement_set.judge][judgement_set.asking])
        for judgement_set in sets
    ]


def _renumber_matchings(
    matchings: Sequence[MatchReport], sets: Sequence[JudgementSet]
) -> list[MatchReport]:
    numbers = _asking_numbers(sets)
    renumbered = []
    for matching in matchings:
        # a file of which no row matched has a judge without numbers
        asking = numbers.get(matching.judge, {}).get(matching.asking, matching.asking)
        renumbered.append(replace(matching, asking=asking))
    return renumbered


def _scale_notes(benchmark: Benchmark, sets: Sequence[JudgementSet]) -> Iterator[str]:
    """Yield a note on every judge whose scores are brought to a scale from 0 to 1."""
    if benchmark.roles and not benchmark.included_recordings:  # its own procedure reads them
        return
    marks: dict[str, list[str]] = defaultdict(list)
    for judgement_set in sets:
        marks[judgement_set.judge] += judgement_set.marks
    for judge, judge_marks in marks.items():
        low, high = marks_scale(judge_marks)
        if high > 1:
            yield f"{judge}: its scores from {low:g} to {high:g} are taken as 0 to 1"


def _copy_notes(sets: Sequence[JudgementSet]) -> list[str]:
    """Return a note on every two sets about one respondent's answers with equal judgements."""
    sets_by_content: dict[tuple[object, ...], JudgementSet] = {}
    notes = []
    for judgement_set in sets:
        content = sorted(
            (item, str(output.to_dict())) for item, output in judgement_set.outputs.items()
        )
        key = (judgement_set.respondent, judgement_set.form, judgement_set.run, *content)
        equal_set = sets_by_content.setdefault(key, judgement_set)
        if equal_set is not judgement_set:
            notes.append(
                f"{equal_set.judge}, its run {equal_set.asking}, and {judgement_set.judge}, its run"
                f" {judgement_set.asking}, judge {judgement_set.respondent} alike in all"
                f" {len(content)} judgements: a copy, or a judge that answers without chance"
            )
    return notes


# --- one judgement in a file: in a release's layout, or in the plain one ---


def judged_rows(benchmark: Benchmark, path: Path, form: Form) -> list[Row]:
    """The rows of a file of judgements, in the release's own layout or in the plain one.

    The plain layout is CSV or JSON lines of `item` (or what a log has: `id`, `question_id`, a
    picture with its `question`), with `verdict` or `score`, or with the raw `reply` and its `role`;
    and, where they differ within the file, `respondent`, `judge`, `run` (which time the judge was
    asked), `form` and `answer_run`.

    Raises
    ------
    AnswerError
        A row holds no judgement.
    """
    # a release's own layout first: only its adapter knows what its fields mean
    released = benchmark.read_judgements(path, form)
    if released is not None:
        return list(released)
    log = log_of_tool(LogFile(path))
    if log is not None and any(map(attrgetter("judge"), log.rows)):
        judged = filter(attrgetter("judge"), log.rows)
        return [replace(row, judgement=_score_output(row)) for row in judged]
    records = _plain_records(path)
    if records and not records[0].keys().isdisjoint((*_MARK_FIELDS, *_REPLY_FIELDS)):
        intake = take_rows(path, records)
        check_own_benchmark(intake, benchmark.name)
        check_stated_keys(intake, form)
        from hqm.imports.scales import with_plain_numbers

        records = with_plain_numbers(intake.records, _MARK_FIELDS, str(path))
        _check_marks(records, intake)
        rows_with_locations = zip(intake.located(), records, strict=True)
        return [_row(record, location, form) for (location, _), record in rows_with_locations]
    if records and "label" in records[0] and "item" in records[0]:
        raise AnswerError(
            "it holds labels, not judgements of a judge",
            location=str(path),
            remedy=(
                "Bring people's labels with --criterion; a judge's verdicts stand in a column"
                " 'verdict'"
                " or 'score'."
            ),
        )
    try:
        replies = benchmark.read_replies(path, form)
    except DataError:
        # a row for each answer, as in the plain layout, and no release's own
        names = set(records[0]) if records else set()
        if names.isdisjoint(IDS) or names.isdisjoint(RESPONDENTS):
            raise
        raise AnswerError(
            f"no column holds a judgement (there are {name_fields(records[0])})",
            location=str(path),
            remedy="Call the column 'verdict' or 'score'.",
        ) from None
    if not replies:
        raise AnswerError(
            "it holds no judgement",
            location=str(path),
            remedy="See `--judgements` in docs/formats.md.",
        )
    rows = []
    for key, texts_by_role in replies.items():
        output = JudgeOutput({role: tuple(texts) for role, texts in texts_by_role.items()})
        rows.append(Row(place=f"{path}: {key}", judgement=output, ids=(key,)))
    return rows


def _plain_records(path: Path) -> list[Record]:
    """The records of a file in the plain layout, its columns named in lower case; none of a
    release's own shape, such as a list of texts, whose reader says what is wrong with it.
    """
    try:
        records = read_rows(path)
    except DataError:
        return []
    return rename_headings(records, location=str(path))


def _check_marks(records: Sequence[Mapping[str, object]], intake: Intake) -> None:
    """Refuse verdicts and scores of one judgement that contradict each other, and marks on two
    scales.

    Two columns agree where they order the judgements alike, and are equal where both are 0 and 1.
    """
    marks: dict[str, list[float]] = {}
    for name in _MARK_FIELDS:
        numbers = [_mark_number(record.get(name)) for record in records]
        if any(map(_has_value, numbers)):
            marks[name] = numbers
            _check_mark_scales(name, records, numbers, intake.path)
    if len(marks) < 2:
        return
    from hqm.imports.rival_columns import find_contradiction

    first, *later_marks = marks
    for mark in later_marks:
        index = find_contradiction(marks[first], marks[mark])
        if index is not None:
            record = records[index]
            raise AnswerError(
                f"{first} {record[first]!r:.40} and {mark} {record[mark]!r:.40} contradict each"
                " other",
                location=f"{intake.path}: record {intake.numbers[index]}",
                remedy="Keep the column that is meant.",
            )


def _check_mark_scales(
    name: str, records: Sequence[Mapping[str, object]], numbers: Sequence[float], path: str
) -> None:
    """Refuse marks of one judge on two scales, or on one that does not begin with 0; each judge may
    have a scale of its own.
    """
    from hqm.imports.scales import check_scales

    marks: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for record, value in zip(records, numbers, strict=True):
        if _has_value(value):
            respondent = first_text(record, RESPONDENTS)
            marks[first_text(record, JUDGES)].append((respondent, value))
    for judge_marks in marks.values():
        check_scales(name, judge_marks, path)
    lowest = min(filter(_has_value, numbers))
    if lowest < 0:
        raise DataError(
            f"{lowest:g} stands in the column {name!r}, and the scale of a judge begins with 0",
            location=path,
            remedy="Write a wrong answer as 0.",
        )


def _mark_number(mark: object) -> float:
    """A mark as a number; NaN where it is none."""
    if mark in (None, ""):
        return math.nan
    value = number(mark)
    if value is None:
        value = share_right(str(mark))
    if value is None:
        return math.nan
    return value


def _has_value(value: float) -> bool:
    return not math.isnan(value)


def _score_output(row: Row) -> JudgeOutput:
    # A row of a tool without a score was judged, and came to nothing: it is kept as an empty mark.
    if row.score is None:
        return JudgeOutput(mark="")
    return JudgeOutput(mark=f"{row.score:g}")


def has_marks(path: Path) -> bool:
    """Whether a file has verdicts or scores in the plain layout, and no raw replies."""
    records = _plain_records(path)
    if not records:
        return False
    names = records[0].keys()
    return not names.isdisjoint(_MARK_FIELDS) and names.isdisjoint(_REPLY_FIELDS)


def _row(record: Record, location: str, form: Form) -> Row:
    ids = ids_in(record, (*IDS, "image_id"))
    images = list(IMAGES)
    if not form.by_id.keys().isdisjoint(ids):
        # with a known id, `image_id` is an id and not a picture
        images.remove("image_id")
    run = count_in(record, "run", location)
    asking = count_in(record, "asking", location)
    if None not in (run, asking) and run != asking:
        raise AnswerError(
            f"its run is {run} and its asking {asking}: both say which time the judge was asked",
            location=location,
            remedy="Keep one of the two; the run of the answer is `answer_run`.",
        )
    # beside what a model wrote, the field `answer` has the right answer
    has_output = not OF_A_MODEL.isdisjoint(record)
    answer = None
    for text in map(record.get, _ANSWER_FIELDS[has_output:]):
        if isinstance(text, str):
            answer = Response(text)
            break
    return Row(
        place=location,
        judgement=_output(record, location),
        ids=ids,
        own_ids=str(record.get("item")) in form.by_id,
        image=first_text(record, images),
        question=first_text(record, QUESTIONS),
        parts=parts_of(record),
        respondent=first_text(record, RESPONDENTS),
        judge=first_text(record, _JUDGE_FIELDS),
        asking=asking if run is None else run,
        form=first_text(record, ("form",)),
        run=count_in(record, "answer_run", location) or 0,
        answer=answer,
    )


def _output(record: Mapping[str, object], location: str) -> JudgeOutput:
    """The raw reply, else the verdict or score; a value that is missing is kept as an empty one."""
    reply_field = next((field for field in _REPLY_FIELDS if field in record), None)
    marks = [record[field] for field in _MARK_FIELDS if field in record]
    if reply_field is not None and (record[reply_field] not in (None, "") or not marks):
        role = require_choice(str(record.get("role") or "judge"), ROLES, "role", location)
        text = "" if record[reply_field] is None else str(record[reply_field])
        return JudgeOutput({role: (whole_reply(text, record.get("state") or "ok", location),)})
    if not marks:
        raise AnswerError(no_field((*_MARK_FIELDS, *_REPLY_FIELDS), record), location=location)
    # Of several columns the first that is filled: `_check_marks` has compared them.
    mark = next((mark for mark in marks if mark not in (None, "")), "")
    if isinstance(mark, (dict, list)):
        raise AnswerError(
            f"the verdict is {mark!r:.60}, which is no text or number", location=location
        )
    return JudgeOutput(mark=str(mark).strip())
