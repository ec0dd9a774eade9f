"""POPE: yes/no questions whether an object is in the picture, about objects that are there and
objects that are not.

Release: AoiDragon/POPE. There are up to nine question files: three ways of choosing the absent
objects (random, popular, adversarial) for each of COCO, A-OKVQA and GQA; those that are present are
read. An answer file is JSON lines of `question` and `answer` in the order of one question file;
rows that name a picture or an id are joined by these, whatever their order. LLaVA's released
answers name ids of LLaVA's own question file, which must lie beside them.

Official and paper: the paper does not mention answers that are neither yes nor no; the release
reads them as yes, matches answers and questions by row, and stops at the end of the shorter file
(`official`; here rows must not contradict the questions). `paper` reads with the parser `strict`,
leaves what cannot be read out of the mean, and counts it. Where a ratio divides by zero the release
stops with an error; here the metric is null.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

from hqm import (
    AnswerError,
    Benchmark,
    DataError,
    Finding,
    Form,
    HQMError,
    Item,
    Metric,
    Recording,
    Response,
    Verdict,
    finding,
    ratio,
)
from hqm.benchmark.corrected_keys import read_key
from hqm.benchmark.findings import asking
from hqm.benchmark.items import same_question
from hqm.files.records import first_record, located_records, required_field
from hqm.imports.match import (
    check_questions,
    check_rows,
    contradict,
    join_by_picture,
    join_once,
    normalised,
    of_parts,
    with_questions_beside,
)
from hqm.imports.row import Row
from hqm.scoring.metrics import YES_NO, Array, Tally
from hqm.types import group_by

SOURCES = ("coco", "aokvqa", "gqa")
SPLITS = ("random", "popular", "adversarial")
PARTS = tuple(map("_".join, itertools.product(SOURCES, SPLITS)))
_PART_NAMES = frozenset((*SPLITS, *PARTS))


def _released_yes_ratio(t: Tally) -> Array:
    # the release's yes-ratio divides by all lines of the answer file, also those past the questions
    yes = t["tp"] + t["fp"] + t["beyond_yes"]
    return ratio(yes, t["tp"] + t["fp"] + t["tn"] + t["fn"] + t["beyond"])


# A-OKVQA's and GQA's files say `seem`, after the segmenter that found their objects
_FILE = re.compile(r"(coco|aokvqa|gqa)_pope_(?:seem_)?(random|popular|adversarial)\.jsonl?$")


_LLAVA_FILE = 10_000_000
"""LLaVA numbers the questions of its n-th question file from n times this on."""
_UNCLEAR = "it does not show which question file it answers"


def _part_remedy(parts: Iterable[str]) -> str:
    return (
        f"Say --part, one of {', '.join(parts)}; if it answers several, as LLaVA's files do, put"
        " the questions with their pictures (llava_pope_test.jsonl) beside it."
    )


def _shared_positives(source: str, part_items: Sequence[Sequence[Item]]) -> Iterable[Finding]:
    """Whether the parts of a source share their questions that are answered yes."""

    def positive_questions(items: Sequence[Item]) -> frozenset[tuple[str | None, str]]:
        return frozenset((item.image, item.prompt) for item in items if item.target == "yes")

    positives = set(map(positive_questions, part_items))
    if len(part_items) > 1 and len(positives) == 1:
        n = len(positives.pop())
        yield Finding(
            "shared-positives",
            f"the {n} questions answered yes are the same in all {len(part_items)} {source}"
            f" parts: averaging the parts counts them {len(part_items)} times",
            n,
        )


def _spelled(text: str) -> str:
    """The question as other copies of it spell it: the release's own generator writes 'imange'
    behind 'an'.
    """
    return re.sub("imange", "image", text, flags=re.IGNORECASE)


def _plain(text: str) -> str:
    """A question as two copies of it compare: without its spelling, letter case and spaces."""
    return normalised(_spelled(text))


def _llava_numbered(rows: Sequence[Row], form: Form) -> dict[str, Row]:
    """Item id -> row, where the ids number the questions of several files as LLaVA does, and every
    file is, picture by picture, one part of the benchmark; empty otherwise.
    """
    if not all(map(attrgetter("question"), rows)):
        return {}
    if not all(map(str.isdecimal, map(attrgetter("id"), rows))):
        return {}
    blocks = group_by(rows, lambda row: int(row.id) // _LLAVA_FILE)
    if len(blocks) < 2:
        return {}
    joined: dict[str, Row] = {}
    for block in blocks.values():
        joins = [_join_in_order(block, form.select_part(part).items) for part in form.parts]
        fitting = list(filter(None, joins))
        if len(fitting) != 1 or not joined.keys().isdisjoint(fitting[0]):
            return {}
        joined |= fitting[0]
    return joined


def _join_in_order(rows: Sequence[Row], items: Sequence[Item]) -> dict[str, Row]:
    """Item id -> row, where there is one way to divide the rows among the items' pictures in their
    order; empty where there is none or several. Rows that end early leave the last pictures out.

    An older copy of a part lacks some questions and has others in another order, so that neither
    ids nor row numbers join them. The rows about a picture begin with its first question, and are
    questions of it, each once. Of LLaVA's released answers, all 8,910 rows join the picture that
    its question file names.
    """
    questions = list(map(_first_line, map(attrgetter("question"), rows)))
    pictures: list[dict[str, str]] = []
    for _, group in itertools.groupby(items, key=lambda item: item.image):
        pictures.append({_first_line(item.prompt): item.id for item in group})
    # where the rows about a picture may end -> in how many ways, and where they then begin
    ends = {0: (1, 0)}
    steps = []
    for picture in pictures:
        reached: dict[int, tuple[int, int]] = {}
        for start, (n_ways, _) in ends.items():
            for end in _possible_ends(questions, start, picture):
                reached[end] = (n_ways + reached.get(end, (0, 0))[0], start)
        steps.append(reached)
        ends = reached
    # rows that end early leave the last pictures out, so that any picture may be the last answered
    complete = [index for index, reached in enumerate(steps) if len(rows) in reached]
    if len(complete) != 1 or steps[complete[0]][len(rows)][0] != 1:
        return {}
    joined: dict[str, Row] = {}
    end = len(rows)
    answered = slice(complete[0] + 1)
    for picture, reached in zip(
        reversed(pictures[answered]), reversed(steps[answered]), strict=True
    ):
        start = reached[end][1]
        for i in range(start, end):
            joined[picture[questions[i]]] = rows[i]
        end = start
    return joined


def _possible_ends(
    questions: Sequence[str], start: int, picture: Mapping[str, str]
) -> Iterable[int]:
    """Where the rows about a picture may end that begin at `start` with its first question."""
    seen_questions = set[str]()
    for end in range(start, len(questions)):
        question = questions[end]
        if question not in picture or question in seen_questions:
            return
        # The rows about a picture begin with its first question: without that, every boundary
        # between pictures could be moved.
        if not seen_questions and question != next(iter(picture)):
            return
        seen_questions.add(question)
        yield end + 1


def _is_llava(path: Path) -> bool:
    """Whether a file's first record is laid out as LLaVA writes its answers."""
    try:
        records = first_record(path)
    except HQMError:
        return False
    return bool(records) and {"question_id", "prompt", "text"} <= records[0].keys()


def _first_line(question: str) -> str:
    """A question without the instruction that LLaVA writes on a second line."""
    return _plain(question.strip().partition("\n")[0])


def _answers(rows: Mapping[str, Row]) -> dict[str, Response]:
    """Item id -> the answer of its row."""
    return {key: row.answer or Response("", "missing") for key, row in rows.items()}


class Pope(Benchmark):
    """The yes/no questions of POPE, one part for each question file."""

    paper_parser = "strict"
    scoring_files = ()

    def read(self) -> Form:
        """Every question file that is present; ids are `<part>/<question_id>`."""
        files = {}
        # the release has a folder a source and copies lie flat: the name alone says the part
        for path in sorted(self.data.rglob("*")):
            match = _FILE.fullmatch(path.name)
            if match:
                files["_".join(match.groups())] = path
        if not files:
            raise DataError(
                "no POPE question file is there",
                location=str(self.data),
                remedy="They are called coco_pope_random.json and so on.",
            )
        items: list[Item] = []
        for part in sorted(files, key=PARTS.index):
            items += self._items(part, files[part])
        return Form("original", tuple(items))

    def _items(self, part: str, path: Path) -> Iterable[Item]:
        keys = set()
        for location, record in located_records(path):
            key = f"{part}/{required_field(record, 'question_id', location)}"
            truth = str(required_field(record, "label", location)).strip().lower()
            if key in keys or truth not in ("yes", "no"):
                if key in keys:
                    fault = f"the question_id of {key!r} stands twice"
                else:
                    fault = f"the label is {record['label']!r}"
                raise DataError(fault, location=location, remedy="Take the file of the release.")
            keys.add(key)
            image = str(required_field(record, "image", location))
            text = str(required_field(record, "text", location))
            yield Item(key, text, "yes_no", truth, image, "existence", part, image)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics of yes/no questions; the release's yes-ratio also counts answers beyond the
        last question.
        """
        if self.scoring == "paper":
            return YES_NO
        return (*YES_NO[:-1], replace(YES_NO[-1], of=_released_yes_ratio))

    def read_answers(self, path: Path, form: Form) -> tuple[Form, Mapping[str, Response]]:
        """Answers, joined by picture and question or by id; by row, as in the release, where the
        rows name neither.
        """
        rows = self._read_rows(path, form)
        # picture and question join rows whatever their order; ids and row numbers are for rows
        # without
        if rows and all(row.image and row.question for row in rows):
            form, pictured_rows = self._by_picture(rows, form, path)
            return form, _answers(pictured_rows)
        numbered_rows = _llava_numbered(rows, form)
        if numbered_rows:
            answered_parts = form.restrict_to(numbered_rows).parts
            return form.select_part(*answered_parts), _answers(numbered_rows)
        form = self._answered_part(rows, form, path)
        rows_by_item = self._by_id(rows, form)
        if rows_by_item is not None:
            pairs = [(row, form.by_id[item_id]) for item_id, row in rows_by_item.items()]
            check_rows(pairs, path, _spelled)
            return form, _answers(rows_by_item)
        rows_and_items = zip(rows, form.items, strict=False)
        check_questions(
            [(row.place, row.question, item) for row, item in rows_and_items], path, _spelled
        )
        return self._by_row(rows, form, path)

    @staticmethod
    def _read_rows(path: Path, form: Form) -> list[Row]:
        """The rows of a file, with the questions of a file beside it, of the form's parts alone."""
        rows = [Row.of(record, location) for location, record in located_records(path)]
        has_pictures = any(map(attrgetter("image"), rows))
        if rows and not has_pictures and all(map(attrgetter("id"), rows)):
            rows = with_questions_beside(rows, path) or rows

        # a column `category` may also name something that is no part
        def with_parts(row: Row) -> Row:
            return replace(row, parts=tuple(part for part in row.parts if part in _PART_NAMES))

        rows = list(map(with_parts, rows))
        return of_parts(rows, form.items) or rows

    def recordings(self, path: Path) -> Sequence[Recording] | None:
        """LLaVA's answers to several question files, where the file of their questions is not
        beside them.
        """
        if path.is_dir() or not _is_llava(path):
            return None
        rows = self._read_rows(path, self.original)
        joined: Mapping[str, Row] = {}
        if not any(map(attrgetter("image"), rows)):
            joined = _llava_numbered(rows, self.original)
        respondents = set(map(attrgetter("respondent"), rows))
        if not joined or len(respondents) != 1:
            return None
        name = respondents.pop() or path.name.split(".json")[0]
        return [Recording(name, "original", 0, _answers(joined), str(path))]

    def spelled(self, text: str) -> str:
        """The question without the typing error of the release's generator."""
        return _spelled(text)

    def _by_picture(
        self, rows: list[Row], form: Form, path: Path
    ) -> tuple[Form, Mapping[str, Row]]:
        if len(form.parts) < 2 or all(map(attrgetter("parts"), rows)):
            return form, join_by_picture(rows, form.items, path, _spelled)
        fitting = []
        for part in form.parts:
            part_form = form.select_part(part)
            # a part whose pictures or questions the rows contradict is none that they answer
            with suppress(AnswerError):
                joined = join_by_picture(rows, part_form.items, path, _spelled)
                fitting.append((part_form, joined))
        if len(fitting) != 1:
            raise AnswerError(_UNCLEAR, location=str(path), remedy=_part_remedy(form.parts))
        return fitting[0]

    @staticmethod
    def _by_id(rows: list[Row], form: Form) -> Mapping[str, Row] | None:
        """Item id -> row, where every row names an item of one part; None where the ids are not the
        benchmark's.
        """
        part = form.items[0].part
        joined: dict[str, Row] = {}
        for row in rows:
            key = row.id if row.id in form.by_id else f"{part}/{row.id}"
            if key not in form.by_id:
                return None
            join_once(joined, key, row)
        return joined or None

    def _by_row(
        self, rows: list[Row], form: Form, path: Path
    ) -> tuple[Form, Mapping[str, Response]]:
        if any(map(attrgetter("id"), rows)):
            # ids that name no question are of another file: its row numbers join other questions
            strange = [f"{row.place.rpartition(': ')[2]} answers {row.id!r}" for row in rows]
            contradict(
                strange,
                len(rows),
                path,
                "Put the file of the questions that were asked beside the answers.",
            )
        beyond = len(rows) - len(form.items)
        if beyond > 0:
            if self.scoring == "paper":
                raise AnswerError(
                    f"{len(rows)} answers for {len(form.items)} questions",
                    location=str(path),
                    remedy="The file must belong to one question file, row by row.",
                )
            part = form.items[0].part
            extra = (
                Item(f"{part}/beyond-{i}", "", "yes_no", None, part=part)
                for i in range(1, beyond + 1)
            )
            form = replace(form, items=(*form.items, *extra))
        # the last questions of a file that ends early stay without an answer
        return form, _answers(dict(zip(form.by_id, rows, strict=False)))

    def score(self, item: Item, response: Response) -> Verdict:
        """The four counts; an answer beyond the last question counts only for the release's
        yes-ratio.
        """
        if item.target is not None:
            return super().score(item, response)
        # no question, so no right answer: the release divides by these answers too
        reading = self.parser(response.text)
        return Verdict(
            0.0, {"beyond": 1.0, "beyond_yes": float(reading == "yes")}, "ok", reading or ""
        )

    def decides(self, item: Item) -> str | None:
        """The target; an answer beyond the last question is scored by itself."""
        if item.target is None:
            return None
        return str(item.target)

    @staticmethod
    def _answered_part(rows: list[Row], form: Form, path: Path) -> Form:
        """The part whose questions the answers repeat, if no part was named."""
        parts = form.parts
        if len(parts) < 2 or (rows and form.by_id.keys() >= set(map(attrgetter("id"), rows))):
            return form
        questions = [_plain(row.question) for row in rows]
        fitting = []
        for part in parts:
            # a file may end early, as the release stops at the end of the shorter of the two
            items = form.select_part(part).items[: len(rows)]
            if questions == [_plain(item.prompt) for item in items]:
                fitting.append(part)
        if len(fitting) != 1:
            raise AnswerError(_UNCLEAR, location=str(path), remedy=_part_remedy(parts))
        return form.select_part(fitting[0])

    def check(self, form: Form) -> Iterable[Finding]:
        """Known faults of the released files: misspelt copies, positives that subsets share, older
        sizes.
        """
        odd_sizes = []
        parts_by_source: dict[str, list[Sequence[Item]]] = defaultdict(list)
        for part, items in group_by(form.items, attrgetter("part")).items():
            parts_by_source[part.partition("_")[0]].append(items)
            if len(items) != 3000:
                odd_sizes.append(f"{part}: {len(items)}")
        yield from finding(
            "spelling",
            "{n} questions say 'imange', as the release's own generator writes 'image' behind 'an'",
            asking(form.items, "imange"),
        )
        yield from finding(
            "size",
            "{n} parts do not have the release's 3,000 questions (an older copy of random has"
            " 2,910)",
            odd_sizes,
        )
        for source in SOURCES:
            yield from _shared_positives(source, parts_by_source[source])
        yield from self._doubts(form)
        groups = same_question(form)
        # the three files of a source share their questions answered yes
        if len(groups) < len(form):
            n_yes = sum(group[0].target == "yes" for group in groups.values())
            yield Finding(
                "union",
                f"the union of the parts has {len(groups)} distinct questions, {n_yes} answered yes"
                f" and {len(groups) - n_yes} no",
                len(groups),
            )
        names = set[str]()
        for item in form.items:
            names.update(re.findall(r"\AIs there an? (.+) in the im", item.prompt))
        n_pictures = len(set(map(attrgetter("image"), form.items)))
        yield Finding(
            "objects",
            f"{len(names)} object names are asked about, {n_pictures} pictures",
            len(names),
        )
        share = Counter(map(attrgetter("target"), form.items))["yes"] / len(form)
        yield Finding(
            "paper-mismatch",
            f"the share of questions answered yes is {share:.3f}; the HQM paper's Table 2 states"
            " 0.333 (and 0.5 for AMBER-d, whose data give 0.337)",
            len(form),
        )

    def _doubts(self, form: Form) -> Iterable[Finding]:
        """The labels that RePOPE's readers doubt, where its files lie beside the release's."""
        folder = self.data / "repope"
        if not folder.is_dir():
            return
        key = read_key(folder, self, self.read()).restricted_to(form)
        yield from finding(
            "repope-label",
            f"{{n}} of {len(key.targets):,} labels that RePOPE read again are others; audit with"
            f" --key {folder}",
            [f"{name}: {form.by_id[name].prompt} {key.targets[name]}" for name in key.changed],
        )
        yield from finding(
            "repope-ambiguous",
            "{n} questions are ambiguous to RePOPE's readers",
            [form.by_id[item_id] for item_id in key.left_out],
        )
