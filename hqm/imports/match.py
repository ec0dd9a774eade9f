"""Match the rows of another tool's log to a benchmark's items, by what a row says of its question.

A row says one thing or several: an id, a picture, the text that was asked, the part it belongs to.
An item fits when it contradicts none of them. A row's number in the tool's data decides only where
the row says nothing that tells items apart.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from operator import attrgetter, itemgetter
from pathlib import Path, PurePosixPath
from typing import Literal, NoReturn, Protocol

from hqm.errors import AnswerError, HQMError
from hqm.imports.intake import refuse_twice, take_rows
from hqm.imports.row import IMAGES, QUESTIONS, Row, first_text, ids_in, names_in, parts_of
from hqm.types import CLOSED_TASKS, LETTERS, Form, Item, Response, Verdict

# An instruction begins a sentence: "Which of these answers is right?" is none.
_INSTRUCTION = re.compile(r"(?<=[.?!:])\s*(?:please )?(?:answer|respond|reply)\b[^.?!]*[.?!]*$")
MAX_SHOWN_ROWS = 3
"""How many of the rows that match nothing are named."""


@lru_cache(maxsize=65536)  # each question stands in a row of every respondent
def normalised(text: str) -> str:
    """A question's text as it is compared: without differences of case, spaces and typographic
    forms.

    >>> normalised("Is there a  DOG in the image?")
    'is there a dog in the image?'
    """
    # NFKC makes full-width letters and ligatures the letters that they look like.
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def asks_same(question: str, item: Item, spelling: Callable[[str], str] = str) -> bool:
    """Whether a row's question is an item's: equal, or the item's with an instruction before or
    after it.

    >>> asks_same("Is there a dog?\\nAnswer yes or no.", Item("1", "Is there a dog?", "yes_no"))
    True
    """
    question_text = spelling(question)
    prompt = spelling(item.prompt)
    return _core(prompt) in normalised(question_text) or _core(prompt) == _core(question_text)


def picture_key(name: str) -> str:
    """A picture's name as it is compared: its number, without zeros in front, folder and suffix;
    else its stem.

    >>> picture_key("val2014/COCO_val2014_000000310196.jpg"), picture_key("310196")
    ('310196', '310196')
    """
    stem = PurePosixPath(name.replace("\\", "/")).name
    stem = re.sub(r"\.(?:jpe?g|png|webp|gif|bmp)$", "", stem, flags=re.IGNORECASE).lower()
    # COCO's names: val2014/COCO_val2014_000000310196.jpg, or the number alone
    number = re.fullmatch(r"(?:[a-z]+_[a-z]+\d*_)?0*(\d+)", stem)
    if number:
        return number[1]
    return stem


def contradict(wrong: Sequence[str], n_rows: int, path: Path, remedy: str) -> NoReturn:
    """Refuse a file whose rows contradict the questions; the first three are named."""
    raise AnswerError(
        f"{len(wrong)} of {n_rows} rows are about other questions: {summarize_rows(wrong)}",
        location=str(path),
        remedy=remedy,
    )


def check_questions(
    rows: Iterable[tuple[str, str, Item]], path: Path, spelling: Callable[[str], str] = str
) -> None:
    """Refuse rows whose own text is not the question of the item that they are joined to: (place,
    text, item).
    """
    rows = list(rows)
    wrong = []
    for location, question, item in rows:
        if question.strip() and not asks_same(question, item, spelling):
            wrong.append(
                f"{location.rpartition(': ')[2]} asks {question!r:.80}, and {item.id} asks"
                f" {item.prompt!r:.80}"
            )
    if wrong:
        contradict(wrong, len(rows), path, "Name the file, part or release that was answered.")


def check_keys(rows: Sequence[tuple[Row, Item]], path: Path | str) -> None:
    """Refuse yes/no and choice questions of which more than a quarter of the rows name another
    right answer than the benchmark. A few are corrected keys.
    """
    keyed = []
    contradicting = []
    for row, item in rows:
        if row.key and item.task in CLOSED_TASKS:
            keyed.append((row, item))
            if has_other_key(row, item):
                contradicting.append((row, item))
    # 1 and 0 may be codes of any meaning, but not where each says the opposite
    if {row.key for row, _ in keyed} == {"0", "1"} and all(
        item.target == {"1": "no", "0": "yes"}[row.key] for row, item in keyed
    ):
        contradicting = keyed
    # A release may correct some keys; of yes and no half would differ by chance.
    if 4 * len(contradicting) > len(keyed):
        row, item = contradicting[0]
        raise AnswerError(
            f"{len(contradicting)} of {len(keyed)} rows name another right answer than the"
            f" benchmark: to {item.id} it is {item.target!r:.80}, and {row.key!r:.80} in the file",
            location=str(path),
            remedy="Name the release that was answered, or leave its keys out of the rows.",
        )


def _check_pictures(rows: Sequence[tuple[Row, Item]], path: Path) -> None:
    """Refuse rows that name another picture than their item shows. A name that no item has may be
    another name of the picture where the question is given.
    """
    pictured = [(row, item, picture_key(item.image)) for row, item in rows if item.image]
    known_pictures = set(map(itemgetter(2), pictured))
    wrong = []
    for row, item, picture in pictured:
        named_picture = picture_key(row.image)
        if named_picture != picture and (named_picture in known_pictures or not row.question):
            wrong.append(
                f"{row.place.rpartition(': ')[2]} is about {row.image!r:.80}, and {item.id} shows"
                f" {item.image!r:.80}"
            )
    if wrong:
        contradict(wrong, len(rows), path, "Name the file, part or release that was answered.")


def check_rows(
    rows: Sequence[tuple[Row, Item]], path: Path, spelling: Callable[[str], str] = str
) -> None:
    """Refuse rows that say something else of the items that their ids name: another question, a
    picture of another item, or mostly other keys.
    """
    check_questions(
        [(row.place, row.question, item) for row, item in rows if item.prompt], path, spelling
    )
    _check_pictures([(row, item) for row, item in rows if row.image], path)
    check_keys(rows, path)


def join_by_picture(
    rows: Sequence[Row],
    items: Sequence[Item],
    path: Path,
    spelling: Callable[[str], str] = str,
) -> dict[str, Row]:
    """Item id -> the row about the same picture with the same question.

    Raises
    ------
    AnswerError
        A row is about no item, or two rows are about one.
    """
    index = FormIndex(Form("original", tuple(items)), spelling)
    joined: dict[str, Row] = {}
    wrong = []
    for row in rows:
        keys = index.pictured(row)
        if not keys:
            wrong.append(row.described)
        for key in keys:
            # A question that stands in several parts is one row here, and several items.
            join_once(joined, key, row)
    if wrong:
        contradict(wrong, len(rows), path, "Name the file, part or release that was answered.")
    return joined


def join_once(joined: dict[str, Row], key: str, row: Row, remedy: str = "Keep one.") -> None:
    """Join a row to the item of an id, and refuse a second row about it."""
    if key in joined:
        refuse_twice(f"{key} is answered", row.place, joined[key].place, remedy)
    joined[key] = row


def of_parts(rows: Sequence[Row], items: Sequence[Item]) -> list[Row]:
    """The rows about the parts of these items, where the rows name their parts; all of them
    otherwise.
    """
    # Where a row names no part, nobody knows which rows are about others: all are kept.
    if not all(map(attrgetter("parts"), rows)):
        return list(rows)
    part_names: set[str] = set()
    for item in items:
        part_names.update(_part_names(item))
    return [row for row in rows if part_names.intersection(row.parts)]


def _part_names(item: Item) -> tuple[str, str]:
    """The name of an item's part, and its end, which a tool may write alone."""
    # POPE's part `coco_random` is `random` in LLaVA's files, whose folder says the source.
    return item.part, item.part.rpartition("_")[2]


def _has_part_of(row: Row, item: Item) -> bool:
    """Whether a row names an item's part."""
    return not set(row.parts).isdisjoint(_part_names(item))


def with_questions_beside(
    rows: Sequence[Row], path: Path, neighbours: Sequence[Path] = ()
) -> list[Row] | None:
    """The rows with the pictures of the question file that lies beside the answers, one folder
    above, or beside the other files that are read with them; None without one.

    It is the file whose rows have the ids of all answers, and pictures (LLaVA:
    `llava_pope_test.jsonl`).

    Raises
    ------
    AnswerError
        It gives an id another question than the answers do.
    """
    # LLaVA keeps pope/answers/MODEL.jsonl below pope/llava_pope_test.jsonl
    parent_folder = path.resolve().parent.parent
    candidates = [*path.parent.glob("*.json*"), *parent_folder.glob("*question*.json*")]
    candidates += parent_folder.glob("*test*.json*")
    candidates.sort()
    for folder in dict.fromkeys(map(attrgetter("parent"), neighbours)):
        if folder != path.parent:
            candidates += sorted(folder.glob("*.json*"))
    row_ids = set(map(attrgetter("id"), rows))
    for question_file in candidates:
        if question_file != path:
            question_rows = _questions(question_file)
            if question_rows and question_rows.keys() >= row_ids:
                return _with_questions(rows, question_rows, path, question_file.name)
    return None


def _with_questions(
    rows: Sequence[Row], question_rows: Mapping[str, Row], path: Path, question_file: str
) -> list[Row]:
    """The rows with the pictures, texts and parts that a file of questions gives their ids."""
    joined = []
    wrong = []
    for row in rows:
        question_row = question_rows[row.id]
        joined.append(
            replace(
                row,
                image=question_row.image,
                question=question_row.question,
                parts=question_row.parts,
            )
        )
        if row.question and normalised(row.question) != normalised(question_row.question):
            wrong.append(
                f"{row.record} asks {row.question!r:.80}, and {question_file} asks"
                f" {question_row.question!r:.80}"
            )
    if wrong:
        remedy = f"Put the answers beside the questions that were asked, not {question_file}."
        contradict(wrong, len(rows), path, remedy)
    return joined


def _questions(path: Path) -> Mapping[str, Row]:
    """Id -> question, of a file of questions with pictures; empty for any other file."""
    return _questions_of(path, path.stat().st_mtime_ns)


# beside many files of answers, a file is looked at once for each of them and each benchmark
@lru_cache(maxsize=256)
def _questions_of(path: Path, _modified: int) -> Mapping[str, Row]:
    by_id: dict[str, Row] = {}
    try:
        records = take_rows(path, names=()).records
    except HQMError:
        return {}
    for record in records:
        row = Row(
            place="",
            ids=ids_in(record)[:1],
            image=first_text(record, IMAGES),
            question=first_text(record, ("text", *QUESTIONS)),
            parts=parts_of(record),
        )
        if not (row.ids and row.image and row.question) or row.id in by_id:
            return {}
        by_id[row.id] = row
    return by_id


MatchCue = Literal["id", "picture and question", "question", "row number"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """Which item each row is about, and the rows for which that is not known."""

    items: Mapping[int, tuple[str, ...]]
    """Row number -> the items that the row is about; several where the benchmark asks the same
    question in several parts.
    """
    contradicting: tuple[int, ...] = ()
    """Rows that name an item by its id and ask another question, or show another picture."""
    unmatched: tuple[int, ...] = ()
    """Rows that fit no item."""
    ambiguous: tuple[int, ...] = ()
    """Rows that fit several items which are different questions."""
    cue_counts: Mapping[MatchCue, int] = field(default_factory=dict)
    """How many rows were matched by what."""

    def pairs(self, rows: Sequence[Row], form: Form) -> list[tuple[Row, Item]]:
        """Every matched row with its item, the first of several."""
        return [(rows[i], form.by_id[keys[0]]) for i, keys in self.items.items()]

    @property
    def refused(self) -> tuple[int, ...]:
        """The rows that no item was found for, in their order."""
        return tuple(sorted((*self.contradicting, *self.unmatched, *self.ambiguous)))


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchReport:
    """How the rows of one file found their items, for one respondent, form and run."""

    path: str
    respondent: str
    form: str
    run: int
    rows: int
    matched: int
    items: int
    """Items that the matched rows are about; more than rows where a row stands for a question of
    several parts.
    """
    n_items: int
    """Items of the form."""
    cue_counts: Mapping[MatchCue, int]
    contradicting: tuple[str, ...] = ()
    """The rows that contradict the item which they name: record and question."""
    unmatched: tuple[str, ...] = ()
    """The rows that fit no item."""
    ambiguous: tuple[str, ...] = ()
    """The rows that fit several different questions."""
    other_keys: int = 0
    """Matched rows that name another right answer than the item has."""
    tool: str = ""
    """Which tool wrote the file; of judgements none."""
    judge: str = ""
    """Whose judgements the file holds; of answers none."""
    asking: int = 0
    """Which time the judge was asked."""

    @property
    def complete(self) -> bool:
        """Whether every row was matched."""
        return self.matched == self.rows

    @property
    def counts(self) -> str:
        """How many rows matched, and the first that did not."""
        cues = ", ".join(f"{n} by {name}" for name, n in self.cue_counts.items()) or "none"
        refused = {
            "contradicting": self.contradicting,
            "unmatched": self.unmatched,
            "ambiguous": self.ambiguous,
        }
        numbers = ", ".join(f"{len(records)} {category}" for category, records in refused.items())
        verb = "judged" if self.judge else "answered"
        parts = [f"{self.matched} of {self.rows} rows matched ({cues}), {numbers}"]
        if self.other_keys:
            parts.append(f"{self.other_keys} rows name another right answer than the benchmark")
        parts.append(
            f"{self.items} of {self.n_items} items {verb}, {self.n_items - self.items} not"
        )
        for category, records in refused.items():
            if records:
                parts.append(f"{category}: {summarize_rows(records)}")
        return "; ".join(parts)

    @property
    def sentence(self) -> str:
        """The counts, with the file and the administration that they are about."""
        if self.judge:
            subject = f": judge {self.judge}, its run {self.asking}, about {self.respondent}"
        else:
            subject = f" ({self.tool or 'a table'}): {self.respondent}"
        return f"{self.path}{subject}, form {self.form}, run {self.run}: {self.counts}"


def has_other_key(row: Row, item: Item) -> bool:
    """Whether a row names another right answer than an item has; of options, in whatever order.

    A right answer that the question cannot have is another one; a number may count options or be a
    code, and says neither.

    >>> item = Item("1", "Is there a dog?", "yes_no", "yes")
    >>> [has_other_key(Row(place="", key=key), item) for key in ("No", "Yes", "Maybe", "1", "")]
    [True, False, True, False, False]
    """
    key = normalised(_KEY_FRAME.sub("", row.key)).rstrip(".")
    if not key:
        return False
    if item.task == "yes_no":
        # tools that score write the truth of a statement
        key = {"true": "yes", "false": "no"}.get(key, key)
        return key != item.target and _is_word(key)
    if item.task == "choice":
        right = _option(str(item.target), item.options)
        stated_option = _option(_KEY_FRAME.sub("", row.key.strip()), row.options or item.options)
        if not right or not stated_option:
            return bool(right) and _is_word(key)
        return right != stated_option
    if item.task != "vqa" or not isinstance(item.target, str):
        return False
    return key != normalised(_KEY_FRAME.sub("", item.target)).rstrip(".")


def count_other_keys(pairs: Iterable[tuple[Row, Item]]) -> int:
    """How many rows name another right answer than their item has."""
    return sum(has_other_key(row, item) for row, item in pairs)


_KEY_FRAME = re.compile(r"""^[\s(\['"]+|[\s)\]'":.]+$""")
"""What tools write around a right answer: `(A)`, `A.`, `['yes']`."""


def _is_word(key: str) -> bool:
    """Whether a right answer is a word or several, and neither a number nor a list."""
    return key.replace(" ", "").isalpha()


def _option(key: str, options: Sequence[str]) -> str:
    """The text of the option that a letter or a text names; empty where none is named."""
    texts = list(map(normalised, options))
    if key in LETTERS[: len(texts)]:
        return texts[LETTERS.index(key)]
    if normalised(key) in texts:
        return normalised(key)
    # a small letter goes last: the text of an option may be one
    if len(key) == 1 and key.upper() in LETTERS[: len(texts)]:
        return texts[LETTERS.index(key.upper())]
    lettered = re.fullmatch(r"(?s)([A-Z])\s*[.):]\s*(.+)", key)
    if lettered and normalised(lettered[2]) == _option(lettered[1], options):
        return normalised(lettered[2])
    return ""


def describe_rows(rows: Sequence[Row], indices: Iterable[int]) -> tuple[str, ...]:
    """What some of the rows say of their questions, for a list of rows that match nothing."""
    return tuple(rows[i].described for i in indices)


def summarize_rows(records: Sequence[str]) -> str:
    """The first of many, and how many more there are.

    >>> summarize_rows(["a", "b", "c", "d"])
    'a; b; c, and 1 more'
    """
    shown_rows = "; ".join(records[:MAX_SHOWN_ROWS])
    n_more = len(records) - MAX_SHOWN_ROWS
    if n_more > 0:
        return f"{shown_rows}, and {n_more} more"
    return shown_rows


def match_rows(rows: Sequence[Row], form: Form, spelling: Callable[[str], str] = str) -> Matched:
    """Match the rows about one respondent, form and run.

    `spelling` maps a text to how the benchmark's copies agree on it. Rows that ask one and the same
    question (the same picture and text) which the benchmark asks as often are given to these items
    in their order: the items are exchangeable.
    """
    return match_indexed(rows, FormIndex(form, spelling))


def match_indexed(rows: Sequence[Row], index: FormIndex) -> Matched:
    """Match rows as `match_rows` does, to a form that is indexed once for many files."""
    form = index.form
    candidates = list(map(index.fitting, rows))
    _keep_answered_parts(candidates, form)
    items: dict[int, tuple[str, ...]] = {}
    cues: Counter[MatchCue] = Counter()
    open_rows: dict[tuple[str, ...], list[int]] = defaultdict(list)
    contradicting: list[int] = []
    unmatched: list[int] = []
    for i, (row, (fitting, cue)) in enumerate(zip(rows, candidates, strict=True)):
        if not fitting:
            # an id that some item has is a claim, and the row says something else
            (contradicting if index.knows_id(row) else unmatched).append(i)
        elif len(fitting) == 1 or (
            row.parts and index.have_distinct_parts(fitting) and index.are_identical(fitting)
        ):
            items[i] = fitting
            cues[cue] += 1
        else:
            open_rows[fitting].append(i)
    # rows that fit several items, now that it is known which of these other rows are about
    matched_keys = set(chain.from_iterable(items.values()))
    numbered = _by_row_number(rows, form)
    ambiguous: list[int] = []
    for fitting, waiting in open_rows.items():
        free = tuple(key for key in fitting if key not in matched_keys)
        cue = candidates[waiting[0]][1]
        # In the order of the file, since rows and items that ask the same are exchangeable.
        shared = _share_items(index, fitting, waiting, free)
        numbered_keys = [numbered.get(i, "") for i in waiting]
        # only where nothing else tells the items apart: a tool may count in another order
        if shared is None and set(numbered_keys) <= set(fitting):
            cue = "row number"
            shared = _pair_rows(waiting, numbered_keys)
        if shared is None:
            ambiguous += waiting
        else:
            items.update(shared)
            cues[cue] += len(waiting)
    return Matched(
        items=items,
        contradicting=tuple(contradicting),
        unmatched=tuple(unmatched),
        ambiguous=tuple(sorted(ambiguous)),
        cue_counts=dict(cues),
    )


def _share_items(
    index: FormIndex, fitting: Sequence[str], waiting: Sequence[int], free: tuple[str, ...]
) -> dict[int, tuple[str, ...]] | None:
    """Row -> items, for rows that fit the same exchangeable items; None where they are not, or are
    not as many as the rows.
    """
    if not index.are_identical(fitting):
        return None
    # A tool may keep one row for a question that stands in several parts.
    if len(waiting) == 1 and free:
        return {waiting[0]: free}
    if len(waiting) == len(free):
        return _pair_rows(waiting, free)
    return None


def _pair_rows(rows: Sequence[int], keys: Sequence[str]) -> dict[int, tuple[str, ...]]:
    """Row -> its one item, of as many rows as items."""
    return {i: (key,) for i, key in zip(rows, keys, strict=True)}


def _keep_answered_parts(candidates: list[tuple[tuple[str, ...], MatchCue]], form: Form) -> None:
    """Leave out the parts of which the rows answer less than half: their items share a text with
    what was answered.
    """
    sizes = Counter(map(attrgetter("part"), form.items))
    if len(sizes) < 2:
        return
    fitting = {key for keys, _ in candidates for key in keys}
    covered = Counter(form.by_id[key].part for key in fitting)
    for i, (keys, cue) in enumerate(candidates):
        answered_keys = []
        for key in keys:
            part = form.by_id[key].part
            # Half: a log that was stopped in the middle of a part still belongs to it.
            if covered[part] * 2 >= sizes[part]:
                answered_keys.append(key)
        if answered_keys and len(answered_keys) < len(keys):
            candidates[i] = (tuple(answered_keys), cue)


def _by_row_number(rows: Sequence[Row], form: Form) -> dict[int, str]:
    """Row -> the item of the same number, where the tool's row numbers can be the benchmark's."""
    numbered = {}
    for i, row in enumerate(rows):
        # numbers beyond the form, or that come twice, count something else than its items
        if row.position is None or row.position >= len(form.items):
            return {}
        numbered[i] = form.items[row.position].id
    if len(set(numbered.values())) < len(rows):
        return {}
    return numbered


class FormIndex:
    """The items of a form by what a row may say of them."""

    def __init__(self, form: Form, spelling: Callable[[str], str]) -> None:
        self.form = form
        self.spelling = spelling
        self.tails: dict[str, list[str]] = defaultdict(list)
        self.pictures: dict[str, list[str]] = defaultdict(list)
        self.questions: dict[str, list[str]] = defaultdict(list)
        for item in form.items:
            # tools write the id without the part that stands before it
            self.tails[item.id.rpartition("/")[2]].append(item.id)
            if item.image:
                self.pictures[picture_key(item.image)].append(item.id)
            # each question also without its instruction, which tools leave out or put elsewhere
            for text in dict.fromkeys(
                (_without_stop(spelling(item.prompt)), _core(spelling(item.prompt)))
            ):
                self.questions[text].append(item.id)

    def fitting(self, row: Row) -> tuple[tuple[str, ...], MatchCue]:
        """The items that contradict nothing the row says."""
        named_keys = self._named_items(row)
        # an id of the benchmark's own names one item; the tail of another's may be the same
        if row.own_ids:
            return tuple(names_in(row.ids, named_keys)), "id"
        if named_keys:
            return named_keys, "id"
        if self._knows_picture(row):
            return self.pictured(row), "picture and question"
        # no item has the picture, and no question says more
        if row.image and self.pictures and not row.question:
            return (), "picture and question"
        if row.question:
            for text in _possible_questions(self.spelling(row.question)):
                if text in self.questions:
                    keys = self._fitting_keys(_same_options, row, self.questions[text])
                    return self._of_parts(keys, row), "question"
            return (), "question"
        if row.ids and row.position is None:
            return (), "id"
        # What says nothing fits every item: its number decides, if it can.
        return tuple(self.form.by_id), "row number"

    def _fitting_keys(
        self, fits: Callable[[Row, Item], bool], row: Row, keys: Iterable[str]
    ) -> list[str]:
        """Those of these items that fit a row in one respect."""
        return [key for key in keys if fits(row, self.form.by_id[key])]

    def pictured(self, row: Row) -> tuple[str, ...]:
        """The items with the row's picture whose question is the longest that the row holds."""
        keys = self._fitting_keys(self._asks, row, self.pictures.get(picture_key(row.image), ()))
        if row.question:
            # a short question may be a part of a longer one about the same picture
            max_length = max((len(self.form.by_id[key].prompt) for key in keys), default=0)
            keys = [key for key in keys if len(self.form.by_id[key].prompt) == max_length]
        return self._of_parts(keys, row)

    def knows_id(self, row: Row) -> bool:
        """Whether an item has one of the row's ids."""
        return any(map(self._of_id, row.ids))

    def _named_items(self, row: Row) -> tuple[str, ...]:
        for name in row.ids:
            # The most telling id first; one whose item contradicts the row may be a number of the
            # tool's own.
            keys = self._fitting_keys(self._agrees, row, self._of_id(name))
            if keys:
                return self._of_parts(keys, row)
        return ()

    def _of_id(self, name: str) -> Sequence[str]:
        if name in self.form.by_id:
            return [name]
        return self.tails.get(name, [])

    def _agrees(self, row: Row, item: Item) -> bool:
        """Whether an item of the row's id has the row's picture, text and options; ids of other
        tools may be numbers of their own.

        Where the question is equal, a picture of a name that the benchmark does not know is another
        name of the same picture.
        """
        another = row.image and item.image and picture_key(row.image) != picture_key(item.image)
        if another and (self._knows_picture(row) or not row.question):
            return False
        return _same_options(row, item) and self._asks(row, item)

    def _knows_picture(self, row: Row) -> bool:
        return bool(row.image) and picture_key(row.image) in self.pictures

    def _asks(self, row: Row, item: Item) -> bool:
        """Whether a row asks an item's question; true where one of them has no text."""
        return not row.question or not item.prompt or asks_same(row.question, item, self.spelling)

    def _of_parts(self, keys: Iterable[str], row: Row) -> tuple[str, ...]:
        """The items of the row's parts; all where it names none of theirs."""
        keys = tuple(keys)
        # a row may call its parts otherwise than the benchmark does
        return tuple(self._fitting_keys(_has_part_of, row, keys)) or keys

    def are_identical(self, keys: Sequence[str]) -> bool:
        """Whether these items ask the same: one picture, one text, one right answer."""
        questions = set()
        for key in keys:
            item = self.form.by_id[key]
            questions.add((item.image, normalised(item.prompt), str(item.target)))
        return len(questions) == 1

    def have_distinct_parts(self, keys: Sequence[str]) -> bool:
        return len({self.form.by_id[key].part for key in keys}) == len(keys)


def _same_options(row: Row, item: Item) -> bool:
    """Whether a row has an item's options, in whatever order; true where one of them has none."""
    if not row.options or not item.options:
        return True
    return sorted(map(normalised, row.options)) == sorted(map(normalised, item.options))


def _without_stop(text: str) -> str:
    return normalised(text).rstrip(" .")


def _core(text: str) -> str:
    """A question without the instruction on how to answer it, which one tool writes into the
    question, another behind it, and a third leaves out.

    >>> _core("Is there a dog? Please answer yes or no."), _core("Answer yes.")
    ('is there a dog?', 'answer yes')
    """
    core = _without_stop(text)
    # Several instructions may stand one behind the other.
    while (shorter := _INSTRUCTION.sub("", core).rstrip(" .")) not in ("", core):
        core = shorter
    return core


def _possible_questions(question: str) -> list[str]:
    """What a prompt may ask, without the instruction that a tool puts behind or before it."""
    lines = [line for line in question.splitlines() if line.strip()]
    texts = [question, "\n".join(lines[:-1]), "\n".join(lines[1:]), *lines[:1], *lines[-1:]]
    # Chinese text ends a question with a full-width mark.
    cut = re.match(r"(?s)(.*[?？])", question)
    texts += [cut[1]] if cut else []
    texts.append(_core(question))
    return list(dict.fromkeys(filter(None, map(_without_stop, texts))))


# --- the form that answers fit ---

# A benchmark may ask its questions with fewer options in another form. A letter then means another
# option, and answers that are scored by the wrong form's keys get a wrong score without any error.

MIN_LETTERS = 50
"""Answers with a letter below which nothing is said of their form."""
MAX_SHARE_BEYOND = 0.08
"""The largest share of letters beyond another form's options, where they are answers to it.

Of the 27 released files of answers to MMMU-Pro, the 10 to four options have at most .06, and the 17
to ten options at least .15; letters drawn evenly from ten options would have .6.
"""
MIN_EXPECTED_BEYOND = 0.3
"""The smallest share that would be beyond if letters were drawn evenly from all options."""


class ReadBenchmark(Protocol):
    """What is asked of a benchmark: its other forms, and its reading of an answer."""

    @property
    def further_forms(self) -> Sequence[Form]:
        """The benchmark's own forms beside the original and the parallel one."""

    def verdict(self, item: Item, response: Response) -> Verdict:
        """The verdict on an answer, with the letter that was read."""


def check_options(
    benchmark: ReadBenchmark, answers: Mapping[str, Response], form: Form, location: str
) -> None:
    """Refuse answers whose letters are all but few among the fewer options of another form.

    Parameters
    ----------
    answers
        Item id -> answer, of a file that names no form.
    form
        The form by whose options they would be scored.

    Raises
    ------
    AnswerError
        They may be answers to another form.
    """
    rivals = [rival for rival in benchmark.further_forms if _has_fewer_options(rival, form)]
    if not rivals:
        return
    letters: dict[str, str] = {}
    for key, answer in answers.items():
        letter = benchmark.verdict(form.by_id[key], answer).read
        if len(letter) == 1 and letter in LETTERS:
            letters[key] = letter
    for rival in rivals:
        keys = names_in(rival.by_id, letters)
        n_beyond = 0
        expected_shares = []
        for key in keys:
            n_options = len(rival.by_id[key].options)
            n_beyond += LETTERS.index(letters[key]) >= n_options
            expected_shares.append(1 - n_options / len(form.by_id[key].options))
        if (
            len(keys) >= MIN_LETTERS
            and sum(expected_shares) >= MIN_EXPECTED_BEYOND * len(keys)
            and n_beyond <= MAX_SHARE_BEYOND * len(keys)
        ):
            raise AnswerError(
                f"{len(keys) - n_beyond:,} of {len(keys):,} letters are among the fewer options of"
                f" the form {rival.name!r}, so that {form.name!r} may not be the form that was"
                " answered",
                location=location,
                remedy=(
                    f"Name the form: --form {rival.name} or --form {form.name}; for an audit, write"
                    " it into a column `form`."
                ),
            )


def _has_fewer_options(rival: Form, form: Form) -> bool:
    """Whether some item has fewer options in another form."""
    return any(
        item.id in form.by_id and 0 < len(item.options) < len(form.by_id[item.id].options)
        for item in rival.items
    )
