"""Judgements in files, as sets of a judge, an asking and a respondent: read, matched to the items,
and accounted for.

A row says what was judged (an id, or a picture and a question), whose answer, who judged, and how
the judgement came out: the judge's raw `reply`, which the benchmark's own procedure reads, or a
`verdict` or `score` that somebody read out of it already.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hqm.administration.asks import StoredRespondent
from hqm.administration.stored_answers import Answers
from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.judge_api import AGAIN, parse_judge
from hqm.errors import AnswerError, DataError, UsageError
from hqm.files.records import read_records
from hqm.imports.detect import log_of_tool
from hqm.imports.human_labels import HUMAN, respondent_named, short_names
from hqm.imports.match import MatchReport, match_rows
from hqm.imports.row import (
    ANSWERS,
    IDS,
    IMAGES,
    PARTS,
    QUESTIONS,
    RESPONDENTS,
    ROLES,
    JudgeOutput,
    LogFile,
    Row,
    count_in,
    first_text,
    form_of,
    ids_in,
    no_field,
    one_of,
    parts_in,
    whole_reply,
)
from hqm.judges.file_judge import BroughtSet, top_of_scale
from hqm.signature import digest_file
from hqm.types import ORIGINAL, Form, Response

_JUDGES = ("judge", "judge_model", "judge_name")
_MARKS = ("verdict", "score", "rating", "judgement", "judgment")
_REPLIES = ("reply", "review", "judge_reply")
_ANSWERS = tuple(name for name in ANSWERS if name not in ("text", "caption"))
_SUFFIXES = (".json", ".jsonl", ".csv")
_RUN = re.compile(r"(?i)(?:^|[\W_])(?:run|asking)[-_ ]?(\d+)(?=$|[\W_])")

AnswerOf = Callable[[str, str, int, str], str | None]
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
        self.answers, self.benchmark, self.forms = answers, benchmark, forms
        self.respondents = {respondent.name: respondent for respondent in respondents}
        self._texts: dict[tuple[str, str, int], dict[str, str]] = {}

    def __call__(self, name: str, form: str, run: int, item: str) -> str | None:
        if name not in self.respondents:
            return None
        key = (name, form, run)
        if key not in self._texts:
            responses = self.answers.responses(
                self.benchmark, self.forms[form], self.respondents[name], run
            )
            items = self.forms[form].items
            self._texts[key] = {
                i.id: r.text for i, r in zip(items, responses, strict=True) if r is not None
            }
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
        named, equals, path = text.partition("=")
        if not equals or Path(text).exists():
            return cls(Path(text))
        judge, _, respondent = named.partition(",")
        label, asking = parse_judge(judge)
        return cls(
            Path(path), label or None, asking if label != judge else None, respondent or None
        )


@dataclass(frozen=True, slots=True)
class TakenJudgements:
    """What files of judgements gave."""

    sets: tuple[BroughtSet, ...]
    matchings: tuple[MatchReport, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Key:
    judge: str
    asking: int | None
    respondent: str
    form: str
    run: int


def take_judgements(
    benchmark: Benchmark,
    forms: Mapping[str, Form],
    sources: Sequence[JudgementSource],
    respondents: Sequence[str],
    answer: AnswerOf = lambda *_: None,
    *,
    partial: bool = False,
) -> TakenJudgements:
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
    answer
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
    files, notes = _files(sources)
    read = [(path, source, judged_rows(benchmark, path, forms[ORIGINAL])) for path, source in files]
    grouped: list[tuple[Path, _Key, list[Row]]] = []
    for path, source, rows in read:
        grouped += [
            (path, key, of_key)
            for key, of_key in _grouped(path, source, rows, respondents, forms).items()
        ]
    # those that say which asking they are come first, so that the others take what is free
    grouped.sort(key=lambda each: each[1].asking is None)
    sets: list[BroughtSet] = []
    matchings: list[MatchReport] = []
    taken: dict[_Key, set[str]] = {}
    for path, key, rows in grouped:
        form = forms[key.form]
        matching, outputs = _matched(benchmark, path, key, rows, form, respondents, answer)
        asking = key.asking if key.asking is not None else _free(taken, key, outputs)
        at = replace(key, asking=asking)
        twice = taken.get(at, set()) & outputs.keys()
        if twice:
            raise AnswerError(
                f"{sorted(twice)[0]} is judged twice by {key.judge}, its run {asking}",
                location=str(path),
                remedy=(
                    "Say which time each judgement is in a column `run`, or with --judgements"
                    " JUDGE#1=FILE."
                ),
            )
        taken.setdefault(at, set()).update(outputs)
        matchings.append(replace(matching, asking=asking))
        if outputs:
            sets.append(
                BroughtSet(
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
            location=", ".join(str(s.path) for s in sources),
            remedy="Check the benchmark.",
        )
    numbered = _numbered(sets)
    return TakenJudgements(
        tuple(numbered),
        tuple(_renumbered(matchings, sets)),
        (*notes, *_scales(benchmark, numbered), *_same(numbered)),
    )


def _files(
    sources: Sequence[JudgementSource],
) -> tuple[list[tuple[Path, JudgementSource]], list[str]]:
    """Every file with its source; a file that equals another is left out, unless the command line
    calls it another asking.
    """
    first: dict[tuple[str, str | None, int | None, str | None], Path] = {}
    kept, notes = [], []
    for source in sources:
        inside = [source.path]
        if source.path.is_dir():
            inside = sorted(
                p for p in source.path.rglob("*") if p.is_file() and p.suffix.lower() in _SUFFIXES
            )
            if not inside:
                raise AnswerError(
                    f"the folder has no file of judgements ({', '.join(_SUFFIXES)})",
                    location=str(source.path),
                    remedy="Name the files.",
                )
        for path in inside:
            if not path.is_file():
                raise AnswerError(
                    "there is no such file", location=str(path), remedy="Correct the path."
                )
            key = (digest_file(path), source.judge, source.asking, source.respondent)
            if key in first:
                notes.append(
                    f"{path} is left out: it equals {first[key]} byte for byte, so it is a copy"
                )
            else:
                first[key] = path
                kept.append((path, source))
    return kept, notes


def _grouped(
    path: Path,
    source: JudgementSource,
    rows: Sequence[Row],
    respondents: Sequence[str],
    forms: Mapping[str, Form],
) -> dict[_Key, list[Row]]:
    groups: dict[_Key, list[Row]] = defaultdict(list)
    names = {stem: _of_name(path, source, respondents, stem) for stem in {row.stem for row in rows}}
    for row in rows:
        judge_there, run_there, who_there = names[row.stem]
        label, asking = parse_judge(row.judge.replace("|", "/")) if row.judge else ("", 0)
        numbered = asking if label and label != row.judge else None
        judge = source.judge or label or judge_there
        time = next(
            (n for n in (source.asking, row.asking, numbered, run_there) if n is not None), None
        )
        who = source.respondent or row.respondent or who_there
        if not who:
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
        if judge.partition(":")[0] == HUMAN or judge == "rule":
            remedy = (
                "Bring people's labels with --criterion."
                if judge != "rule"
                else "Name the judge: --judgements JUDGE=FILE."
            )
            raise UsageError(
                f"a judge cannot be called {judge!r}", location=row.place, remedy=remedy
            )
        groups[_Key(judge, time, _respondent(who, respondents, row.place), form, row.run)].append(
            row
        )
    return groups


def _respondent(name: str, respondents: Sequence[str], place: str) -> str:
    """The respondent meant; a name that none has stays as it is, and its rows match nothing."""
    try:
        return respondent_named(name, respondents, place)
    except AnswerError:
        if sum(each.endswith(name) for each in respondents) > 1:
            raise
        return name


def _of_name(
    path: Path, source: JudgementSource, respondents: Sequence[str], stem: str | None
) -> tuple[str, int | None, str]:
    """Judge, asking and respondent as far as the file's name, and that of its folder within the
    source, say them.
    """
    stem = path.stem if stem is None else stem
    run = None
    if match := _RUN.search(stem):
        run, stem = int(match[1]), stem[: match.start()] + stem[match.end() :]
    within = path.parent.name if source.path.is_dir() else ""
    who, there = _who(stem, respondents)
    if who and there is not None:
        stem = f"{stem[: there[0]]} {stem[there[1] :]}"
    if not who and there is None:
        who = _who(within, respondents)[0] or (respondents[0] if len(respondents) == 1 else "")
    judge = re.sub(r"[\W_]*\s+[\W_]*", "-", stem.strip(" _-.")).strip("_-.")
    judge = judge or (within if not _who(within, respondents)[0] else "")
    return judge.replace("|", "/").replace(AGAIN, "-") or "judge", run, who


def _who(text: str, respondents: Sequence[str]) -> tuple[str, tuple[int, int] | None]:
    """The respondent whose name stands in a text, and where; no name where several do, or one
    stands there twice.
    """
    spans = {
        (match.start(), match.end()): name
        for name in respondents
        for short in _short(name)
        for match in re.finditer(rf"(?i)(?<![A-Za-z0-9]){re.escape(short)}(?![A-Za-z0-9])", text)
    }
    widest = [a for a in spans if not any(a != b and b[0] <= a[0] and a[1] <= b[1] for b in spans)]
    return (spans[widest[0]] if len(widest) == 1 else ""), (widest[0] if widest else None)


def _short(respondent: str) -> set[str]:
    """What a respondent may be called in the name of a file, where slashes and colons cannot
    stand.
    """
    ends = short_names(respondent.partition("?")[0])
    return {re.sub(r"[/:@]", sign, end) for end in ends for sign in ("_", "-", "__")} - {""}


def _matched(
    benchmark: Benchmark,
    path: Path,
    key: _Key,
    rows: Sequence[Row],
    form: Form,
    respondents: Sequence[str],
    answer: AnswerOf,
) -> tuple[MatchReport, dict[str, JudgeOutput]]:
    """The judgements by item, and how their rows were matched."""
    known = key.respondent in respondents
    matched = match_rows(rows, form, benchmark.spelled)
    outputs: dict[str, JudgeOutput] = {}
    unmatched = [rows[i].described for i in matched.unmatched]
    contradicting = [rows[i].described for i in matched.contradicting]
    taken = 0
    for i, keys in sorted(matched.items.items()):
        row = rows[i]
        other = (
            known
            and row.answer is not None
            and any(
                (there := answer(key.respondent, key.form, key.run, item)) is not None
                and there.split() != row.answer.text.split()
                for item in keys
            )
        )
        if not known or other:
            who = (
                "another answer than the audited one"
                if other
                else f"{key.respondent}, who is not audited"
            )
            unmatched.append(f"{row.described} judges {who}")
            continue
        taken += 1
        output = row.judgement or JudgeOutput()
        for item in keys:
            before = outputs.get(item)
            if before is not None and (before.mark is not None or output.mark is not None):
                raise AnswerError(
                    f"{item} is judged twice by {key.judge}",
                    location=row.place,
                    remedy="Say which time each judgement is in a column `run`.",
                )
            outputs[item] = output if before is None else before.joined(output)
    matching = MatchReport(
        path=str(path),
        judge=key.judge,
        asking=key.asking or 0,
        respondent=key.respondent,
        form=key.form,
        run=key.run,
        rows=len(rows),
        matched=taken,
        items=len(outputs),
        of=len(form),
        how=matched.how,
        contradicting=tuple(contradicting),
        unmatched=tuple(unmatched),
        ambiguous=tuple(rows[i].described for i in matched.ambiguous),
    )
    return matching, outputs


def _free(taken: Mapping[_Key, set[str]], key: _Key, outputs: Mapping[str, JudgeOutput]) -> int:
    asking = 0
    while taken.get(replace(key, asking=asking), set()) & outputs.keys():
        asking += 1
    return asking


def _times(sets: Sequence[BroughtSet]) -> dict[str, dict[int, int]]:
    """Judge -> the number in its files -> the number from 0, because files may count from 1."""
    times: dict[str, set[int]] = defaultdict(set)
    for each in sets:
        times[each.judge].add(each.asking)
    return {
        judge: {number: i for i, number in enumerate(sorted(numbers))}
        for judge, numbers in times.items()
    }


def _numbered(sets: Sequence[BroughtSet]) -> list[BroughtSet]:
    times = _times(sets)
    return [replace(each, asking=times[each.judge][each.asking]) for each in sets]


def _renumbered(matchings: Sequence[MatchReport], sets: Sequence[BroughtSet]) -> list[MatchReport]:
    times = _times(sets)
    return [replace(m, asking=times.get(m.judge, {}).get(m.asking, m.asking)) for m in matchings]


def _scales(benchmark: Benchmark, sets: Sequence[BroughtSet]) -> Iterator[str]:
    """Yield a note on every judge whose scores are divided by the end of their scale."""
    if benchmark.roles and not benchmark.brought:  # its own procedure reads them
        return
    marks: dict[str, list[str]] = defaultdict(list)
    for each in sets:
        marks[each.judge] += [output.mark for output in each.outputs.values() if output.mark]
    for judge, of_judge in marks.items():
        if (top := top_of_scale(of_judge)) > 1:
            yield f"{judge}: its highest score is taken for one of {top:g}, by which all are divided"


def _same(sets: Sequence[BroughtSet]) -> list[str]:
    """A note on every two sets about one respondent's answers in which all judgements are the
    same.
    """
    first: dict[tuple[object, ...], BroughtSet] = {}
    notes = []
    for each in sets:
        content = tuple(
            sorted((item, str(heard.to_dict())) for item, heard in each.outputs.items())
        )
        other = first.setdefault((each.respondent, each.form, each.run, content), each)
        if other is not each:
            who = f"{other.judge}, its run {other.asking}, and {each.judge}, its run {each.asking},"
            notes.append(
                f"{who} judge {each.respondent} alike in all {len(content)} judgements: a copy, or"
                " a judge that answers without chance"
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
    released = benchmark.read_judgements(path, form)
    if released is not None:
        return list(released)
    log = log_of_tool(LogFile(path))
    judged = [row for row in log.rows if row.judge] if log is not None else []
    if judged:
        return [replace(row, judgement=_of_score(row)) for row in judged]
    try:
        records = read_records(path)
    except DataError:
        # a release's own shape, such as a list of texts; its reader says what is wrong with it
        records = []
    if records and any(name in records[0] for name in (*_MARKS, *_REPLIES)):
        return [_row(record, f"{path}: record {i}", form) for i, record in enumerate(records, 1)]
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
    replies = benchmark.read_replies(path, form)
    if not replies:
        raise AnswerError(
            "it holds no judgement",
            location=str(path),
            remedy="See `--judgements` in docs/formats.md.",
        )
    return [
        Row(
            place=f"{path}: {key}",
            judgement=JudgeOutput({r: tuple(t) for r, t in rows.items()}),
            ids=(key,),
        )
        for key, rows in replies.items()
    ]


def _of_score(row: Row) -> JudgeOutput:
    return JudgeOutput(mark="" if row.score is None else f"{row.score:g}")


def holds_marks(path: Path) -> bool:
    """Whether a file has verdicts or scores in the plain layout, and no raw replies."""
    try:
        records = read_records(path)
    except DataError:
        return False
    return (
        bool(records)
        and any(n in records[0] for n in _MARKS)
        and not any(n in records[0] for n in _REPLIES)
    )


def _row(record: Mapping[str, Any], place: str, form: Form) -> Row:
    ids = ids_in(record, (*IDS, "image_id"))
    named = any(key in form.by_id for key in ids)  # then `image_id` is an id and not a picture
    images = [name for name in IMAGES if name != "image_id" or not named]
    asking = count_in(record, "run", place)
    answers = [record[name] for name in _ANSWERS if isinstance(record.get(name), str)]
    return Row(
        place=place,
        judgement=_output(record, place),
        ids=ids,
        own_ids=str(record.get("item")) in form.by_id,
        image=first_text(record, images),
        question=first_text(record, QUESTIONS),
        parts=parts_in(first_text(record, PARTS)),
        respondent=first_text(record, RESPONDENTS),
        judge=first_text(record, _JUDGES),
        asking=count_in(record, "asking", place) if asking is None else asking,
        form=first_text(record, ("form",)),
        run=count_in(record, "answer_run", place) or 0,
        answer=Response(answers[0]) if answers else None,
    )


def _output(record: Mapping[str, Any], place: str) -> JudgeOutput:
    """The raw reply, else the verdict or score; a value that is missing is kept as an empty one."""
    named = next((name for name in _REPLIES if name in record), None)
    if named is not None and (
        record[named] not in (None, "") or not any(name in record for name in _MARKS)
    ):
        role = one_of(str(record.get("role") or "judge"), ROLES, "role", place)
        text = "" if record[named] is None else str(record[named])
        return JudgeOutput({role: (whole_reply(text, record.get("state") or "ok", place),)})
    marks = [record[name] for name in _MARKS if name in record]
    if not marks:
        raise AnswerError(no_field((*_MARKS, *_REPLIES), record), location=place)
    mark = next((mark for mark in marks if mark not in (None, "")), "")
    if isinstance(mark, (dict, list)):
        raise AnswerError(
            f"the verdict is {mark!r:.60}, which is no text or number", location=place
        )
    return JudgeOutput(mark=str(mark).strip())
