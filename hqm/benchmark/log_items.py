"""The items of a benchmark that is made from logs: which rows are about one question, and what they
say of it.
"""

from __future__ import annotations

import filecmp
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from itertools import chain, filterfalse, islice, takewhile
from operator import attrgetter, itemgetter
from pathlib import Path, PurePosixPath
from typing import Any, cast

from hqm.benchmark.items import letter_of
from hqm.benchmark.new_items import given_fields, task_of
from hqm.errors import AnswerError, DataError
from hqm.files.datasets import names_picture
from hqm.files.records import file_stem
from hqm.imports.answer_table import TABLE, refuse_no_items
from hqm.imports.intake import find_repeated, refuse_twice
from hqm.imports.match import has_other_key, normalised, picture_key
from hqm.imports.row import RECORDED_SCORES, Log, Row
from hqm.types import LETTERS, ORIGINAL, PICTURES, VIDEO, Form, Item, Task, group_by

_MOST_TYPES = 50


# --- the files of questions beside the answers ---


def rows_of(logs: Iterable[Log]) -> Iterator[Row]:
    """The rows of all logs, one log after another."""
    return chain.from_iterable(map(attrgetter("rows"), logs))


def are_tables(logs: Iterable[Log]) -> bool:
    """Whether all logs are tables of answers, and none was written by a tool."""
    return all(log.tool == TABLE for log in logs)


def with_questions(logs: Sequence[Log]) -> list[Log]:
    """The logs of answers, their rows filled from the files of questions beside them, and a note on
    each such file.

    Raises
    ------
    AnswerError
        Nobody's answers are there; or every right answer of a file contradicts those of the rows.
    """
    asking = list(filter(attrgetter("asks"), logs))
    answering = list(filterfalse(attrgetter("asks"), logs))
    if asking and not any(rows_of(answering)):
        raise AnswerError(
            "it has questions and right answers, and no answers of a respondent",
            location=asking[0].path,
            remedy="Name the files of answers beside it; or make a benchmark of it: `hqm new NAME"
            f" --from {asking[0].path}`.",
        )
    for log in asking:
        answering = _filled_logs(answering, log)
    return answering


def _filled_logs(answering: Sequence[Log], asking: Log) -> list[Log]:
    """The logs, their rows filled from a file of questions; and a log with a note on it."""
    questions: dict[str, Row] = {}
    for row in asking.rows:
        for name in row.ids:
            # a question has several names: its id, and others that the tool gives it
            if questions.setdefault(name, row) is not row:
                refuse_twice(f"the question {name!r} stands", row.place, questions[name].place)
    filled_logs = []
    items: set[str] = set()
    n_keyed = n_other = 0
    # numbers from 1 are ids of any benchmark: answers beside the file, or below, are of its own
    is_beside = [log.folder.is_relative_to(asking.folder) for log in answering]
    for log, beside in zip(answering, is_beside, strict=True):
        if any(is_beside) and not beside:
            filled_logs.append(log)
            continue
        rows = []
        for row in log.rows:
            question = next(filter(None, map(questions.get, row.ids)), None)
            if question is not None:
                items.add(question.id)
                # the row's own key stands, as it is what the tool scored by
                have_keys = bool(row.key and question.key)
                n_keyed += have_keys
                n_other += have_keys and normalised(row.key) != normalised(question.key)
                row = _filled(row, question)
            rows.append(row)
        filled_logs.append(replace(log, rows=tuple(rows)))
    # one contradiction may be an error of either file; all are a file of other questions
    if n_keyed and n_other == n_keyed:
        raise AnswerError(
            f"its right answers contradict all {n_keyed} that the rows of answers name",
            location=asking.path,
            remedy="Name the file of the same questions, or leave it out.",
        )
    note = f"{len(items)} of its {len(asking.rows)} questions are answered"
    if items:
        note += ", and their right answers are taken from it"
    if n_other:
        note += f"; {n_other} rows of answers name another"
    return [*filled_logs, replace(asking, rows=(), notes=(*asking.notes, note))]


# --- the logs of one benchmark ---


_QuestionNames = tuple[set[Hashable], ...]
_MIN_SHARED = 0.75
"""Of two sets of questions, the share of the smaller one from which they are one benchmark's."""


def logs_of_same_questions(logs: Sequence[Log]) -> list[list[Log]]:
    """The logs, those with the same questions together, and those of one folder that may be parts
    of one benchmark.
    """
    if len(logs) < 2:
        return [list(logs)] * len(logs)
    folders = sorted(map(attrgetter("folder"), logs))
    # of sorted paths, what the first and the last have in common is common to all
    pairs = zip(folders[0].parts, folders[-1].parts, strict=False)
    depth = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    # most logs of one benchmark have the same rows, and then one of them says what is asked
    groups = [(same, _question_names(same[0])) for same in group_by(logs, _questions_in).values()]
    share_folder = partial(_share_folder, depth=depth)
    for may_be_one in (_share_questions, share_folder):
        merged: list[_LogsOfQuestions] = []
        for group in groups:
            related: list[_LogsOfQuestions] = []
            unrelated: list[_LogsOfQuestions] = []
            for before in merged:
                (related if may_be_one(before, group) else unrelated).append(before)
            # what may belong to several benchmarks of a folder is of none
            if may_be_one is share_folder and len(related) > 1:
                merged.append(group)
            else:
                merged = [*unrelated, _merged_groups([*related, group])]
        groups = merged
    return [group_logs for group_logs, _ in groups]


_LogsOfQuestions = tuple[list[Log], _QuestionNames]


def _merged_groups(groups: Sequence[_LogsOfQuestions]) -> _LogsOfQuestions:
    logs = list(chain.from_iterable(map(itemgetter(0), groups)))
    kinds = zip(*map(itemgetter(1), groups), strict=True)
    return logs, tuple(set().union(*names) for names in kinds)


def _share_questions(first: _LogsOfQuestions, second: _LogsOfQuestions) -> bool:
    """Whether most questions of the logs that have fewer are also asked by the others."""
    for names, further_names in zip(first[1], second[1], strict=True):
        if names and further_names:
            n_shared = len(names & further_names)
            return n_shared >= _MIN_SHARED * min(len(names), len(further_names))
    return False


def _share_folder(first: _LogsOfQuestions, second: _LogsOfQuestions, depth: int) -> bool:
    """Whether logs of different questions lie in one folder of those `depth` below the root, and
    may be parts of one benchmark: not where several respondents answered each, and each has a
    file's name or ids of its own.
    """
    branch = partial(_branch, depth=depth)
    folders = [set(map(branch, logs)) for logs in (first[0], second[0])]
    if folders[0].isdisjoint(folders[1]):
        return False
    stems = [set(map(_stem, logs)) for logs in (first[0], second[0])]
    n_respondents = min(_count_respondents(first[0]), _count_respondents(second[0]))
    are_by_stem = min(map(len, folders)) > 1 == max(map(len, stems)) and stems[0] != stems[1]
    have_equal_ids = not first[1][_IDS].isdisjoint(second[1][_IDS])
    return n_respondents < 2 or not (are_by_stem or have_equal_ids)


def _branch(log: Log, depth: int) -> tuple[str, ...]:
    """The folder of all logs, or the one below it in which the log lies."""
    return log.folder.parts[: depth + 1]


def _stem(log: Log) -> str:
    return file_stem(log.path)


def _count_respondents(logs: Iterable[Log]) -> int:
    return sum(len(log.respondents) for log in logs)


_IDS = 2


def _questions_in(log: Log) -> tuple[object, ...]:
    """The questions as they stand in the rows."""
    return tuple((row.ids, row.image, row.question, row.key) for row in log.rows)


def _question_names(log: Log) -> _QuestionNames:
    """Several kinds of names of the questions, the surest first; a set without names where the rows
    do not have this kind.
    """
    texts: set[Hashable] = set()
    keyed_ids: set[Hashable] = set()
    ids: set[Hashable] = set()
    positions: set[Hashable] = set()
    n_answers: Counter[tuple[object, ...]] = Counter()
    for position, row in enumerate(log.rows):
        n_answers[row.respondent, row.form, row.run] += 1
        key = normalised(row.key)
        positions.add((str(position), key))
        if row.question:
            texts.add((_picture_keys(row), normalised(row.question)))
        if row.ids:
            ids.add(row.id)
        if row.ids and key:
            keyed_ids.add((row.id, key))
    # one prompt for all pictures says nothing of the question where the pictures are not named
    are_distinct = 2 * len(texts) > max(n_answers.values())
    return (texts if are_distinct else set(), keyed_ids, ids, positions)


# --- the rows of one question ---

_MAX_NAME_CHARS = 120


def _short_name(text: str) -> str:
    """A name of an item by its question, without spaces: of a long one its end, where few examples
    end, and a digest of all.
    """
    if len(text) > _MAX_NAME_CHARS:
        text = f"...{text[-80:].strip()} ({sha256(text.encode()).hexdigest()[:8]})"
    return "_".join(text.split())


def _picture_keys(row: Row) -> str:
    """What the question of a row is about: its pictures or its video."""
    return " ".join(map(picture_key, _picture_paths(row)))


def _picture_paths(row: Row) -> tuple[str, ...]:
    return row.pictures or (row.image or row.video,)


Key = Callable[[Row, int], str]
_KEYS: Mapping[str, Key] = {
    "id": lambda row, _: row.id,
    "id and category": lambda row, _: (
        f"{row.id}/{','.join(row.parts)}" if row.ids and row.parts else ""
    ),
    "row number in the tool's data": lambda row, _: (
        "" if row.position is None else str(row.position)
    ),
    "picture and question": lambda row, _: (
        _short_name(f"{_picture_keys(row)} {normalised(row.question)}") if row.question else ""
    ),
    # folders may have pictures of the same names
    "picture's path and question": lambda row, _: (
        _short_name(f"{' '.join(_picture_paths(row))} {normalised(row.question)}")
        if row.question
        else ""
    ),
    "picture": lambda row, _: _short_name(_picture_keys(row)),
    "row number": lambda _, number: f"row{number}",
}
"""Keys that may identify a question, the most specific first."""


def with_item_ids(logs: Sequence[Log]) -> tuple[list[Log], list[str]]:
    """The logs with one id for every row, and a note where it is no id of the rows.

    It is the first kind of key that every row has, and that no two rows of one administration
    share. Of a table, ids that stand twice are refused: another key would make other items.

    Raises
    ------
    AnswerError
        An item of a table is answered twice in one run.
    """
    is_table = are_tables(logs)
    has_ids = all(map(attrgetter("ids"), rows_of(logs)))
    if is_table:
        logs = list(map(_with_pictures_of_ids, logs))
        _check_answered_once(logs)
    names_answers = is_table and _names_answers(logs)
    key_name = ""
    keyed: list[list[tuple[Row, str]]] = []
    for name, key in _KEYS.items():
        # a table is no data of a tool, and the numbers of its rows are the last resort
        if is_table and name == "row number in the tool's data":
            continue
        if names_answers and name.startswith("id"):
            continue
        key_name = name
        keyed = []
        for log in logs:
            rows = [(row, key(row, number)) for number, row in enumerate(log.rows)]
            keyed.append(rows)
        # each log by itself: respondents of several logs share the names of items
        if all(map(_is_unique_key, keyed)) and not _joins_parts(chain.from_iterable(keyed)):
            break
    notes = []
    if key_name.startswith("row number") and is_table:
        _check_positions(logs)
    if names_answers:
        notes.append(f"no two answers have one id, so items are named by their {key_name}")
    elif key_name != "id" and has_ids:
        notes.append(f"ids of the rows are not unique, so items are named by their {key_name}")
    with_ids = list(map(_with_names, logs, keyed))
    if key_name.startswith("picture"):
        _check_same_pictures(with_ids)
    return with_ids, notes


def _joins_parts(keyed_rows: Iterable[tuple[Row, str]]) -> bool:
    """Whether a key names different questions of different parts: a tool that writes a file for
    each part counts its rows from the beginning in each.
    """
    first_rows: dict[str, Row] = {}
    for row, name in keyed_rows:
        first = first_rows.setdefault(name, row) if row.parts else row
        if first.parts != row.parts and normalised(first.question) != normalised(row.question):
            return True
    return False


def _names_answers(logs: Sequence[Log]) -> bool:
    """Whether the ids of a table name its answers, and no items: each stands once, and respondents
    who share none answer the same questions, once each, with the same right answers.
    """
    ids = set()
    questions = set()
    keyed_questions = set()
    units = set()
    n_rows = 0
    for row in rows_of(logs):
        question = (_picture_keys(row), normalised(row.question))
        ids.add(row.id)
        questions.add(question)
        keyed_questions.add((*question, normalised(row.key)))
        if row.question:
            units.add((row.respondent, row.form, row.run, *question))
        n_rows += 1
    return len(ids) == len(units) == n_rows and len(questions) == len(keyed_questions) < n_rows


def _with_pictures_of_ids(log: Log) -> Log:
    """The log, its ids taken as the pictures where they name files of pictures and stand with
    several questions: then they are no ids.
    """
    for row in log.rows:
        if not (row.question and names_picture(row.id) and row.image in ("", row.id)):
            return log
    pairs = {(row.id, row.question) for row in log.rows}
    # an id with one question is an id, even where it looks like a file
    if len(pairs) == len(dict(pairs)):
        return log
    return replace(log, rows=tuple(replace(row, image=row.id, ids=()) for row in log.rows))


def row_with(row: Row, **values: Any) -> Row:
    """Return a row with these values; itself where it has them, as most rows of a log do."""
    if all(getattr(row, name) == value for name, value in values.items()):
        return row
    return replace(row, **values)


def _with_names(log: Log, rows: Sequence[tuple[Row, str]]) -> Log:
    """The log with these names as the ids of its rows."""
    named_rows = (row_with(row, ids=(item,), own_ids=True, position=None) for row, item in rows)
    return replace(log, rows=tuple(named_rows))


def _check_positions(logs: Sequence[Log]) -> None:
    """Refuse files whose rows say nothing of their questions, unless the right answers show that
    those at one position are about the same.

    Raises
    ------
    AnswerError
        Rows at one position have other right answers, or none.
    """
    for log in logs:
        if len({row.respondent for row in log.rows}) > 1:
            refuse_no_items(log.path)
    for position in range(max(len(log.rows) for log in logs)):
        rows = [log.rows[position] for log in logs if position < len(log.rows)]
        keys = {normalised(row.key) for row in rows}
        if len(rows) > 1 and (len(keys) > 1 or "" in keys):
            raise AnswerError(
                "its rows name no items, and nothing shows that those at one position of"
                f" {len(logs)} files are about the same",
                location=rows[-1].place,
                remedy="Add a column item; or say which column names the items: --columns"
                " item=NAME.",
            )


_MAX_COMPARED_PICTURES = 200


def _check_same_pictures(logs: Sequence[Log]) -> None:
    """Refuse files that call different pictures by one name, as where each stands in a folder of
    its own with its pictures beside it.

    Raises
    ------
    AnswerError
        Two pictures of one name are on this disk, and their bytes differ.
    """
    first: dict[tuple[str, int], tuple[Path, Row]] = {}
    pairs: dict[tuple[Path, Path], tuple[Row, Row]] = {}
    for log in logs:
        folder = Path(log.path).parent
        for row in log.rows:
            for number, name in enumerate(_picture_paths(row)):
                path = folder / name
                before, before_row = first.setdefault((row.id, number), (path, row))
                if name and before != path:
                    pairs.setdefault((before, path), (before_row, row))
    unseen: list[tuple[Row, Row]] = []
    for (before, path), (before_row, row) in islice(pairs.items(), _MAX_COMPARED_PICTURES):
        try:
            are_equal = filecmp.cmp(before, path, shallow=False)
        except (OSError, ValueError):
            unseen.append((before_row, row))  # one of them is not on this disk
            continue
        if not are_equal:
            raise AnswerError(
                f"the pictures {str(before)!r:.200} and {str(path)!r:.200} have one name, and"
                " differ",
                location=row.place,
                remedy=f"Name the items of both files in a column item; the first is in"
                f" {before_row.place}.",
            )
    _check_unseen_pictures(unseen)


_MIN_AGREEING_KEYS = 10


def _check_unseen_pictures(pairs: Sequence[tuple[Row, Row]]) -> None:
    """Refuse pictures of one name that two files write in two folders, and that are not on this
    disk, unless the right answers show that the questions are the same.

    Raises
    ------
    AnswerError
        Relative paths differ in a folder, and fewer than ten right answers, or none, agree.
    """
    other_folders = []
    for first, second in pairs:
        paths = [PurePosixPath(row.image.replace("\\", "/")) for row in (first, second)]
        # an absolute path is that of a machine, and a bare name says no folder
        says_folders = all(path.parent.name and not path.is_absolute() for path in paths)
        if says_folders and paths[0].parent != paths[1].parent:
            other_folders.append((first, second))
    keys = [(normalised(first.key), normalised(second.key)) for first, second in other_folders]
    agree = all(a == b != "" for a, b in keys)
    if not other_folders or (agree and len(keys) >= _MIN_AGREEING_KEYS and len(set(keys)) > 1):
        return
    first, second = other_folders[0]
    raise AnswerError(
        f"the pictures {first.image!r:.200} and {second.image!r:.200} have one name in two folders,"
        " and nothing shows that they are one picture",
        location=second.place,
        remedy=f"Name the items of both files in a column item, or put the pictures beside the"
        f" files; the first is in {first.place}.",
    )


def _check_answered_once(logs: Sequence[Log]) -> None:
    """Refuse a table in which a respondent answers an item twice in one run."""
    for log in logs:
        by_id = all(map(attrgetter("ids"), log.rows))
        key = _KEYS["id"] if by_id else _KEYS["picture's path and question"]
        if by_id and all(map(attrgetter("parts"), log.rows)):
            key = _KEYS["id and category"]
        units = []
        for number, row in enumerate(log.rows):
            item = key(row, number)
            if item:
                # Several judges of one answer, or one that is asked again, are rows of one
                # administration.
                units.append((item, row.respondent, row.form, row.run, row.judge, row.asking))
        repeated = find_repeated(units)
        if repeated is None:
            continue
        if len(units) < len(log.rows):
            continue  # rows that say nothing of their question are counted
        first, second = (log.rows[row] for row in repeated)
        item = first.id
        column = "item"
        if not by_id:
            item = repr(first.question[:60])
            column = "item" if first.image else "image"
        refuse_twice(
            f"{item} of {first.respondent} is answered",
            second.place,
            first.place,
            "Keep one of the two; or say what tells them apart: --columns run=NAME,"
            f" --columns form=NAME or --columns {column}=NAME.",
        )


def _is_unique_key(rows: Sequence[tuple[Row, str]]) -> bool:
    keys = {(row.respondent, row.form, row.run, name) for row, name in rows if name}
    return len(keys) == len(rows)


# --- items ---


def items_of(logs: Sequence[Log], first_form: str) -> tuple[dict[str, tuple[Item, ...]], list[str]]:
    """Form -> its items, each from the first row about it, with what further rows add; and a note
    on right answers that differ between rows.
    """
    rows: dict[str, dict[str, Row]] = {ORIGINAL: {}}
    names: dict[str, set[str]] = defaultdict(set)
    other_keys: list[tuple[Row, Row]] = []
    for log in logs:
        for row in log.rows:
            form_rows = rows.setdefault(form_name(row, first_form), {})
            before = form_rows.get(row.id)
            form_rows[row.id] = row if before is None else _filled(before, row)
            names[row.id] |= row.scores.keys()
            if before is not None and row.key and before.key and row.key != before.key:
                other_keys.append((before, row))
    all_rows = list(chain.from_iterable(form_rows.values() for form_rows in rows.values()))
    letters = _letters_of(all_rows)
    task = _task(all_rows)
    if letters:
        task = "choice"
    is_scored = all(map(attrgetter("scores"), rows_of(logs)))
    notes = _check_one_key(other_keys, task, letters, n_questions=len(names), is_scored=is_scored)
    types = {",".join(row.parts) for row in all_rows}
    # one label for all is no type, and very many are rather names of items
    labelled = 1 < len(types - {""}) <= _MOST_TYPES
    # a score that every question has is no subset of them
    common_scores = set.intersection(*names.values())
    items_by_form = {}
    for form, form_rows in rows.items():
        if form_rows:
            items = [
                _item(row, task, labelled, sorted(names[row.id] - common_scores), letters)
                for row in form_rows.values()
            ]
            items_by_form[form] = _with_shared_pictures(items)
    notes += _picture_notes(next(iter(items_by_form.values())))
    return items_by_form, notes


def _picture_notes(items: Sequence[Item]) -> Iterator[str]:
    """Say how many questions are about several pictures or a video."""
    n_several = sum(len(item.pictures) > 1 for item in items)
    n_videos = sum(VIDEO in item.meta for item in items)
    if n_several:
        yield f"{n_several} of {len(items)} questions are about several pictures"
    if n_videos:
        yield f"{n_videos} of {len(items)} questions are about a video"


def _with_shared_pictures(items: Sequence[Item]) -> tuple[Item, ...]:
    """The items, those in one cluster that share a picture, directly or through others."""
    if not any(len(item.pictures) > 1 for item in items):
        return tuple(items)
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    numbers: dict[str, int] = {}
    rows: list[int] = []
    columns: list[int] = []
    for item in items:
        for name in (item.cluster, *item.pictures):
            columns.append(numbers.setdefault(name, len(numbers)))
            rows.append(numbers[item.cluster])
    _, group = connected_components(
        coo_array(([1] * len(rows), (rows, columns)), shape=(len(numbers), len(numbers)))
    )
    labels: dict[int, str] = {}
    for name, number in numbers.items():
        # a cluster is named after its first member, which no other cluster has
        labels.setdefault(int(group[number]), name)
    return tuple(replace(item, cluster=labels[int(group[numbers[item.cluster]])]) for item in items)


_WRITTEN_OPTION = re.compile(r"\s*\(?([A-H])[.):]\s+(\S.*)")
_OPTION_LETTER = re.compile(r"\s*\(?[A-H][.):]\s+")


def with_written_options(logs: Sequence[Log]) -> list[Log]:
    """Logs whose questions list their options in lines, `A. red`, with these as options.

    They do where no row has options, and nine tenths of the right answers are one of the lines, or
    the text of one. A model that answers with the letter alone would else be wrong everywhere.
    Where all right answers are letters, they do if runs ask the options in another order.
    """
    rows = [row for row in rows_of(logs) if row.key]
    by_letter = bool(rows and _letters_of(rows))
    if not rows or _task(rows) != "vqa" or (by_letter and not _are_reordered(rows)):
        return list(logs)
    changed_logs = []
    for log in logs:
        changed_rows = (_with_written_options(row, by_letter) for row in log.rows)
        changed_logs.append(replace(log, rows=tuple(changed_rows)))
    pairs = zip(rows_of(logs), rows_of(changed_logs), strict=True)
    n_listed = sum(changed is not row for row, changed in pairs if row.key)
    return list(logs) if n_listed < 0.9 * len(rows) else changed_logs


def _are_reordered(rows: Iterable[Row]) -> bool:
    """Whether most questions have another letter as right answer in another row."""
    letters: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        letters[row.id].add(row.key)
    n_reordered = sum(len(letters_of_item) > 1 for letters_of_item in letters.values())
    return 2 * n_reordered > len(letters)


def _with_written_options(row: Row, by_letter: bool) -> Row:
    """A row with the options that its question lists last, if its right answer, where it has one,
    is one of them; `by_letter`: right answers are letters alone.
    """
    lines = row.question.splitlines()
    starts = [i for i, line in enumerate(lines) if _WRITTEN_OPTION.fullmatch(line)]
    letters = [cast(re.Match[str], _WRITTEN_OPTION.fullmatch(lines[i]))[1] for i in starts]
    # a question may list something else first
    first = len(letters) - 1 - letters[::-1].index("A") if "A" in letters else len(letters)
    starts, letters = starts[first:], letters[first:]
    if len(letters) < 2 or letters != list(LETTERS[: len(letters)]):
        return row
    # an option goes on to the next one, and the last one to a blank line
    blanks = (i for i in range(starts[-1], len(lines)) if not lines[i].strip())
    end = next(blanks, len(lines))
    option_texts = ["\n".join(lines[i:j]) for i, j in zip(starts, [*starts[1:], end], strict=True)]
    options = tuple(_OPTION_LETTER.sub("", text, count=1).strip() for text in option_texts)
    key = normalised(row.key)
    key_letters = []
    for letter, text, option in zip(letters, option_texts, options, strict=True):
        names = [letter] if by_letter else [letter, text, option]
        if key in map(normalised, names):
            key_letters.append(letter)
    # two options of one text leave open which is right
    if key and len(key_letters) != 1:
        return row
    question = "\n".join([*lines[: starts[0]], *lines[end:]]).strip()
    return replace(row, question=question, options=options, key=key_letters[0] if key else "")


_LETTER_KEY = re.compile(r"\(?([A-H])\)?\.?")
_MIN_LETTERS = 4
_MIN_OTHER_KEYS = 5
"""How many short answers worded otherwise are no chance."""


def _letters_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """The letters that stand for options where the rows have no options, and nine tenths of their
    right answers are one letter; none elsewhere.

    An answer is then read for the letter that it commits to, as an `a` stands in most sentences.
    """
    keys = [row.key for row in rows if row.key]
    key_letters = [match[1] for key in keys if (match := _LETTER_KEY.fullmatch(key))]
    if len(key_letters) < 0.9 * len(keys) or any(len(row.options) > 1 for row in rows):
        return ()
    # one letter for all may be anything, such as the name of a grade
    if len(set(key_letters)) < 2:
        return ()
    return tuple(LETTERS[: max(_MIN_LETTERS, LETTERS.index(max(key_letters)) + 1)])


def _check_one_key(
    pairs: Sequence[tuple[Row, Row]],
    task: Task,
    letters: tuple[str, ...],
    *,
    n_questions: int,
    is_scored: bool,
) -> list[str]:
    """Refuse rows that name different right answers of one question; where the tool scored all
    answers it is a note. Short answers may be worded in several ways: it takes half of the
    questions, whose names then stand for other questions in other rows.
    """
    strict: list[tuple[Row, Row]] = []
    worded: dict[str, tuple[Row, Row]] = {}
    n_rows = 0
    for first, second in pairs:
        item = _item(first, task, False, (), letters)
        if not has_other_key(second, item):
            continue
        n_rows += 1
        if item.task == "vqa":
            worded.setdefault(first.id, (first, second))
        else:
            strict.append((first, second))
    if len(worded) >= _MIN_OTHER_KEYS and 2 * len(worded) > n_questions:
        strict += worded.values()
    if strict and not is_scored:
        first, second = strict[0]
        raise AnswerError(
            f"{first.id} has two right answers: {first.key!r:.80} in {first.record}, and"
            f" {second.key!r:.80}",
            location=second.place,
            remedy="Write the same right answer in all rows of a question.",
        )
    if not n_rows:
        return []
    return [f"{n_rows} rows name another right answer than an earlier row of their question"]


def _filled(first: Row, second: Row) -> Row:
    """A row with its missing fields from another one about the same question."""
    fields = ("question", "image", "pictures", "video", "parts", "key", "options", "cluster")
    lacking = {name: getattr(second, name) for name in fields if not getattr(first, name)}
    if any(lacking.values()):
        return replace(first, **lacking)
    return first


def _task(rows: Sequence[Row]) -> Task:
    tasks: Counter[Task] = Counter()
    for row in rows:
        # one option is no choice
        options = row.options if len(row.options) > 1 else ()
        tasks[task_of([given_fields(row.key or None, options)])] += 1
    # One question with another right answer makes all of them short answers.
    if tasks["yes_no"] == sum(tasks.values()) - tasks["caption"] > 0:
        return "yes_no"
    # Rows without options among others with them are short answers one by one, see `_item`.
    if tasks["choice"]:
        return "choice"
    if tasks["vqa"] or tasks["yes_no"]:
        return "vqa"
    return "caption"


def _item(
    row: Row, task: Task, labelled: bool, scores: Sequence[str], letters: tuple[str, ...] = ()
) -> Item:
    target: str | None = row.key or None
    options = row.options or letters
    if task == "yes_no" and target:
        target = normalised(row.key).rstrip(".")
    elif task == "choice":
        # without options that have the key, the item is scored as a short answer or not at all
        task = "caption"
        if target:
            try:
                target = letter_of(row.key, options, (), False, row.place, row.place)
                task = "choice"
            except DataError:
                task = "vqa"
    part = ",".join(row.parts)
    meta = {RECORDED_SCORES: list(scores), PICTURES: list(row.pictures), VIDEO: row.video}
    return Item(
        id=row.id,
        prompt=row.question,
        task=task,
        target=target,
        image=row.image or None,
        type=part if labelled and part else None,
        part="" if labelled else part,
        cluster=row.cluster or row.image or row.video,
        options=options if task == "choice" else (),
        meta={name: value for name, value in meta.items() if value},
    )


_MIN_ALIKE = 20


def check_targets(form: Form, rows: Sequence[Row]) -> None:
    """Refuse a right answer that many items share and no answer holds, such as `see paper`.

    Raises
    ------
    AnswerError
        At least 20 items, and a tenth of all, have it.
    """
    items: dict[str, list[str]] = defaultdict(list)
    for item in form.items:
        if item.task == "vqa" and item.target:
            items[normalised(str(item.target))].append(item.id)
    for target, names in items.items():
        if len(names) < max(_MIN_ALIKE, len(form) / 10) or len(target) < _MIN_WORD_CHARS:
            continue
        answers = [normalised(row.answer.text) for row in rows if row.answer is not None]
        if not any(target in answer for answer in answers):
            raise AnswerError(
                f"{len(names)} items have the right answer {target!r:.60}, and no answer holds it",
                location=rows[0].place,
                remedy="Say which column names the right answers, --columns target=NAME; or leave"
                " the cell empty where none is known.",
            )


_MIN_WORD_CHARS = 4


def form_name(row: Row, first_form: str) -> str:
    """Return the name of the form that a row was asked in."""
    if row.form in ("", ORIGINAL, first_form):
        return ORIGINAL
    return row.form
