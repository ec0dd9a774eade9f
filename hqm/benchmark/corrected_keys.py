"""A corrected key: right answers that people have read again, in place of the release's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.released_files import files_in
from hqm.errors import DataError, UsageError
from hqm.files.records import name_fields, required_field
from hqm.imports.intake import Intake, refuse_twice, take_rows
from hqm.imports.layouts import first_row
from hqm.imports.match import check_questions, match_rows
from hqm.imports.recordings import check_own_benchmark
from hqm.imports.row import IMAGES, KEYS, QUESTIONS, Row, first_text, ids_in
from hqm.signature import digest_file
from hqm.types import ANOTHER_ITEM, CLOSED_TASKS, LETTERS, Form, Item

_TARGETS = tuple(dict.fromkeys(("target", "label", "answer", "key", *KEYS)))
_MARKS = {
    "keep": "keep",
    "wrong key": "wrong key",
    "ambiguous": "leave out",
    "bad picture": "leave out",
}
"""What a reader may mark in the column `mark`, as the report's list of items to read writes it."""
_OMISSION_WORDS = frozenset({"", "ambiguous", "unclear", "left out", "null", "none"})
_SUFFIXES = (".json", ".jsonl", ".csv")


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedKey:
    """The corrected targets of a form, and the items that are left out as ambiguous."""

    path: str
    digest: str
    targets: Mapping[str, str]
    """Item -> corrected target, for every item that the key names."""
    changed: tuple[str, ...]
    """The items whose target is another one than the release's."""
    left_out: tuple[str, ...]
    """The items that have no right answer by this key, as their picture or question is
    ambiguous.
    """

    def applied(self, form: Form, released: Form | None = None) -> Form:
        """The form by this key: targets replaced, ambiguous items left out, and so are items whose
        right option a wording with fewer options does not offer.

        `released` is the original form by the released key, where `form` may be another wording.
        """
        # an item that no rule could reword stays among those left out, unless the key drops it too
        omitted = set(self.left_out)
        originals = (released or form).by_id
        items = []
        for item in form.items:
            target = self._target(item, originals.get(item.id, item))
            if item.id not in omitted and target is not None:
                items.append(replace(item, target=target))
        return replace(
            form,
            items=tuple(items),
            left_out=tuple(item for item in form.left_out if item.id not in omitted),
        )

    def _target(self, item: Item, original: Item) -> object:
        """The target of an item, in words that may be others, or deny those of the original one;
        None where it is an option that these words do not have.
        """
        target = self.targets.get(item.id, original.target)
        if target == original.target or item.rule == ANOTHER_ITEM:
            return item.target
        if original.options:
            option = original.options[LETTERS.index(str(target))]
            if option in item.options:
                return LETTERS[item.options.index(option)]
            if len(item.options) != len(original.options):
                return None
        elif item.target != original.target:  # its words deny those of the original one
            return original.target
        return target

    def restricted_to(self, form: Form) -> CorrectedKey:
        """The key of the items of a form alone, as where one part is audited."""
        return replace(
            self,
            targets={key: target for key, target in self.targets.items() if key in form.by_id},
            changed=tuple(item_id for item_id in self.changed if item_id in form.by_id),
            left_out=tuple(item_id for item_id in self.left_out if item_id in form.by_id),
        )


def read_key(path: Path | str, benchmark: Benchmark, full_form: Form | None = None) -> CorrectedKey:
    """Read a corrected key of a benchmark's original form.

    `full_form` is the form with all items, where `benchmark.original` was cut to a part: a key
    answers all of them.

    Two shapes are read. Records `item,target` change the items that they name; an empty target, or
    `ambiguous`, leaves the item out; a column `mark` (keep, wrong key, ambiguous, bad picture) goes
    before the target. Records in the shape of the release (RePOPE: question_id, image, text,
    label), one file a part or a folder of them, replace the key of their parts; items of these
    parts that they do not have are ambiguous.

    Raises
    ------
    UsageError
        A model judges the benchmark, or its answers have no key.
    DataError
        A row names no item, or its target is none that the item can have.
    """
    if benchmark.roles or benchmark.card.task not in CLOSED_TASKS:
        raise UsageError(
            f"the answers to {benchmark.name} are not compared with a key of right answers",
            remedy=(
                "A corrected key is for yes/no and multiple-choice questions that a rule scores."
            ),
        )
    form = full_form or benchmark.original
    path = Path(path)
    targets: dict[str, str] = {}
    omitted: list[str] = []
    # RePOPE has a file a part, and each speaks of its own part only
    for file in files_in(path, *_SUFFIXES):
        intake = take_rows(file, names=())
        check_own_benchmark(intake, benchmark.name)
        if "item" in first_row(intake.records):
            file_targets, file_omitted = _by_item(intake, form, benchmark.spelled)
        else:
            file_targets, file_omitted = _by_release(intake, form, benchmark)
        targets |= file_targets
        omitted += file_omitted
    if not targets and not omitted:
        raise DataError(
            "it corrects no item", location=str(path), remedy="Write the columns item,target."
        )
    return CorrectedKey(
        path=str(path),
        digest=digest_file(path),
        targets=targets,
        changed=tuple(key for key, target in targets.items() if target != form.by_id[key].target),
        left_out=tuple(omitted),
    )


def _by_item(
    intake: Intake, form: Form, spelling: Callable[[str], str]
) -> tuple[dict[str, str], list[str]]:
    """Read a key in HQM's format, by item ids: the targets, and the ids of items to leave out."""
    targets: dict[str, str] = {}
    omitted = []
    questions = []
    for location, record in intake.located():
        key = str(required_field(record, "item", location))
        if key not in form.by_id:
            raise DataError(
                f"the benchmark has no item {key!r}",
                location=location,
                remedy="Check that the key belongs to it.",
            )
        if key in targets or key in omitted:
            refuse_twice(f"the item {key!r} stands", location)
        if str(record.get("mark") or "").strip():
            value = _marked_target(record, form.by_id[key], location)
        else:
            value = _target(record, location)
        # an empty cell is how a reader of the report's list leaves an item out
        if value.strip().lower() in _OMISSION_WORDS:
            omitted.append(key)
        else:
            targets[key] = _valid_target(value, form.by_id[key], location)
        questions.append((location, first_text(record, QUESTIONS), form.by_id[key]))
    check_questions(questions, Path(intake.path), spelling)
    return targets, omitted


def _marked_target(record: Mapping[str, object], item: Item, location: str) -> str:
    """The target that a reader's mark gives; empty to leave the item out.

    A wrong key of yes or no means the other one.
    """
    mark = str(record["mark"]).strip().lower()
    if mark not in _MARKS:
        raise DataError(
            f"the mark of {item.id} is {mark!r:.40}",
            location=location,
            remedy=f"Write {', '.join(_MARKS)}.",
        )
    target = str(next(filter(None, map(record.get, _TARGETS)), "")).strip()
    match _MARKS[mark]:
        case "leave out":
            return ""
        case "keep":
            return str(item.target)
    if not target and item.task == "yes_no":
        if item.target == "yes":
            return "no"
        return "yes"
    if not target or _valid_target(target, item, location) == item.target:
        raise DataError(
            f"the key of {item.id} is marked as wrong, and no other one is given",
            location=location,
            remedy="Write the right answer in the column target, or mark it ambiguous.",
        )
    return target


def _by_release(
    intake: Intake, form: Form, benchmark: Benchmark
) -> tuple[dict[str, str], list[str]]:
    """Read a key in a release's layout, whose rows are matched to items by picture and question.

    Such a key drops the rows that its authors found ambiguous: an item without a row, or with an
    empty target, is left out.
    """
    parts = _parts_of(Path(intake.path), form)
    rows = [_row(record, location, parts) for location, record in intake.located()]
    form_of_parts = form
    if parts:
        form_of_parts = form.select_part(*parts)
    # copies of a release are numbered otherwise: picture and question say which item is meant
    matched = match_rows(rows, form_of_parts, benchmark.spelled)
    # One row that fits no item is enough: a key of another version would correct the wrong items.
    if matched.refused:
        first = rows[matched.refused[0]]
        raise DataError(
            f"{len(matched.refused)} of {len(rows)} rows fit no item of their own, the first asks"
            f" {first.question!r:.80} about {first.image or 'no picture'}",
            location=first.place,
            remedy="Check that the key belongs to this benchmark.",
        )
    values: dict[str, tuple[str, str]] = {}
    # a row is about several items where a benchmark asks the same in several parts
    for i, keys in matched.items.items():
        location = rows[i].place
        for key in keys:
            if key in values:
                refuse_twice(f"the item {key!r} stands", location, values[key][1])
            values[key] = (_target(intake.records[i], location), location)
    targets = {
        key: _valid_target(value, form.by_id[key], location)
        for key, (value, location) in values.items()
        if value.strip().lower() not in _OMISSION_WORDS
    }
    # of parts that the key does not speak of, nothing is left out
    covered = {item.part for item in form.restrict_to(values).items}
    omitted = [item.id for item in form.items if item.part in covered and item.id not in targets]
    return targets, omitted


def _row(record: Mapping[str, object], location: str, parts: tuple[str, ...]) -> Row:
    return Row(
        place=location,
        ids=ids_in(record),
        image=first_text(record, IMAGES),
        question=first_text(record, ("text", *QUESTIONS)),
        parts=parts,
    )


def _parts_of(path: Path, form: Form) -> tuple[str, ...]:
    """The parts whose words are all in a file's name."""
    # coco_pope_random.json has the words of the part coco_random
    words = set(path.stem.lower().replace("-", "_").split("_"))
    return tuple(part for part in form.parts if words.issuperset(part.lower().split("_")))


def _target(record: Mapping[str, object], location: str) -> str:
    """The right answer that a record gives, as it is written; empty to leave the item out."""
    for name in _TARGETS:
        if name in record:
            # null is an answer too: the key has the item, and no right answer for it
            if record[name] is None:
                return ""
            return str(record[name])
    field_names = name_fields(record)
    raise DataError(
        f"none of the fields {name_fields(_TARGETS)} is there (there are {field_names})",
        location=location,
        remedy="Write the right answers in a column target.",
    )


def _valid_target(value: str, item: Item, location: str) -> str:
    """The right answer as the item's task spells it; anything else is refused."""
    plain = value.strip()
    if item.task == "yes_no" and plain.lower() in ("yes", "no"):
        return plain.lower()
    if item.task == "choice" and plain.upper() in tuple(LETTERS[: len(item.options)]):
        return plain.upper()
    possible = "yes or no"
    if item.task != "yes_no":
        possible = f"a letter from A to {LETTERS[len(item.options) - 1]}"
    raise DataError(
        f"the target of {item.id} is {value!r:.40}",
        location=location,
        remedy=f"It must be {possible}, or empty to leave the item out.",
    )
