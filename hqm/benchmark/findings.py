"""Findings about a benchmark's items, and the checks for duplicates, balance and order that every
benchmark goes through.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter, ne
from typing import Any, Literal, get_args

from hqm.benchmark.items import (
    NO_COPIES,
    contradict,
    names_pictures,
    same_question,
)
from hqm.errors import UsageError
from hqm.files.dialect import csv_text
from hqm.text import agreeing
from hqm.types import CLOSED_TASKS, Form, Item, group_by

# --- the registry of what the linter finds: code, name, severity, meaning ---
#
# A code is never used again for another finding. Its letter says what the finding is about: S
# schema and encoding, C card, D duplicates, L labels and leaks, W wording, F forms, T types, I
# images, B what one benchmark knows of its own data.

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of finding: its stable code and name, how serious it is, what it means, and what to
    do.
    """

    code: str
    name: str
    severity: Severity
    meaning: str

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return _REMEDIES.get(
            self.code, "Read in the sentence what the benchmark says of its own data."
        )


ADAPTER_CODE = "B000"
"""The code of every finding that only one benchmark's adapter makes, under a name of its own."""

_ALL = (
    Code(
        "S101",
        "card-unreadable",
        "error",
        "The card is missing or is not TOML; nothing else can be checked.",
    ),
    Code(
        "S102",
        "card-key",
        "error",
        "A key of the card is unknown, missing, or has a value of the wrong kind.",
    ),
    Code(
        "S103",
        "items-unreadable",
        "error",
        "The items cannot be read: there is no file, it is not JSON or CSV, or it has no item.",
    ),
    Code(
        "S104",
        "encoding",
        "error",
        "A file is not in the encoding that its card names (UTF-8 unless it says so).",
    ),
    Code(
        "S105",
        "record-broken",
        "error",
        "A record is not a JSON object, or a CSV row has too many or too few fields.",
    ),
    Code(
        "S106",
        "field-missing",
        "error",
        "A record lacks its id or its question, or one of them is empty.",
    ),
    Code(
        "S107",
        "target-invalid",
        "error",
        "The right answer is missing, or is not among the answers of the task or the options.",
    ),
    Code("S108", "type-unknown", "error", "A label is not one of the eight hallucination types."),
    Code("S109", "image-outside", "error", "A picture's path leaves the image folder."),
    Code(
        "S110",
        "field-invalid",
        "error",
        "A field is misspelt, or its value is not text: an object, a repeated option.",
    ),
    Code(
        "S201",
        "id-twice",
        "error",
        "Two items have one id; the second is left out of the rest of the check.",
    ),
    Code(
        "S202",
        "id-odd",
        "warning",
        "An id has spaces or control characters, which files of answers easily lose.",
    ),
    Code(
        "S301",
        "mojibake",
        "warning",
        "A question shows signs of a wrong decoding, or holds control characters.",
    ),
    Code("C101", "no-licence", "warning", "The card names no licence: nobody may use the data."),
    Code("C102", "no-citation", "warning", "The card names nothing to cite."),
    Code("C103", "no-summary", "note", "The card has no sentence that says what is measured."),
    Code(
        "C104",
        "no-responsible-ai",
        "note",
        "The section `[rai]` of the card is incomplete: NeurIPS asks for it, and only the authors"
        " can write it.",
    ),
    Code(
        "D101",
        "duplicate-question",
        "warning",
        "The same question is asked about the same picture more than once.",
    ),
    Code(
        "D102",
        "near-duplicate-question",
        "warning",
        "Questions about one picture are identical apart from letter case, punctuation, articles"
        " and spaces.",
    ),
    Code(
        "D103",
        "contradictory-label",
        "error",
        "The same question about the same picture has different right answers.",
    ),
    Code(
        "D104",
        "contradictory-twins",
        "error",
        "Near-duplicates have different right answers, or a question and its negation have the same"
        " one.",
    ),
    Code(
        "D105",
        "paraphrased-question",
        "warning",
        "Questions about one picture ask the same in other words: their content words have the same"
        " lemmas.",
    ),
    Code(
        "D106",
        "equal-options",
        "warning",
        "Two options of a question are equal, so that an answer by its words names both.",
    ),
    Code("D107", "option-nan", "warning", "An option is nan: its cell was empty or said None."),
    Code(
        "L101",
        "unbalanced-labels",
        "warning",
        "More than 65% of a type's 20 items or more have one right answer.",
    ),
    Code(
        "L102",
        "option-position",
        "warning",
        "In a type or part, the right option has one position significantly more often than the"
        " others.",
    ),
    Code(
        "L201",
        "label-by-position",
        "note",
        "The right answers alternate in the file, or are sorted: its first items (--limit) are"
        " not a representative sample.",
    ),
    Code(
        "L202",
        "leakage-cue",
        "warning",
        "In a type or part, the wording of the question, its options or the frequency of an"
        " answer predicts right answers of held-out items better than chance.",
    ),
    Code(
        "L203",
        "giveaway-phrase",
        "warning",
        "Nearly all questions that share a word or a beginning have one right answer.",
    ),
    Code(
        "L204",
        "answer-in-question",
        "error",
        'A question says, or is, its right answer: "(correct answer: yes)".',
    ),
    Code(
        "L205",
        "order-cue",
        "note",
        "In a type or part, the position or the number of an item in the file predicts right"
        " answers: respondents do not see it, but the first items (--limit) are not a"
        " representative sample.",
    ),
    Code(
        "L301",
        "blind-solvable",
        "warning",
        "In a type or part, question and options together predict right answers without the"
        " picture, better than chance and than the more frequent of yes and no.",
    ),
    Code(
        "W101",
        "few-wordings",
        "warning",
        "20 items or more of a type share fewer than three distinct wordings.",
    ),
    Code(
        "W102",
        "template-monotony",
        "warning",
        "More than 80% of a type's 20 items or more follow one template: the words outside one slot"
        " are the same.",
    ),
    Code(
        "W103",
        "options-refer",
        "note",
        'An option refers to other options of its question ("Both A and B", "None of the above"): a'
        " shuffle keeps its place, and its letters follow the options.",
    ),
    Code(
        "W104",
        "options-misplaced",
        "warning",
        "An option refers to those above it but is not the last, or names itself by its letter:"
        " the options were reordered.",
    ),
    Code(
        "F101",
        "negation-affirms",
        "error",
        'A form\'s negated question asks for the same yes as the plain one: "Isn\'t this ...?", "Is'
        ' this not ...?", "Are there not two ...?".',
    ),
    Code(
        "F102",
        "negation-split",
        "error",
        'In a form, "not" stands inside the subject: "the square not root of 2".',
    ),
    Code("F103", "negation-doubled", "error", "A form's question is negated twice."),
    Code(
        "F104",
        "negation-scope",
        "warning",
        'It is open what a form\'s negation denies: "not only", "not the largest, followed by ...",'
        ' "no dog and a cat".',
    ),
    Code(
        "F105",
        "negation-same-answer",
        "error",
        "A form's question is negated, and its right answer is that of the original.",
    ),
    Code(
        "F106",
        "form-same-words",
        "warning",
        "A form asks items in the words, and the order of options, of the original.",
    ),
    Code(
        "F107",
        "form-mode",
        "note",
        "A form turns questions into commands, or commands into statements.",
    ),
    Code(
        "F108",
        "form-option-reference",
        "error",
        'In a form, an option such as "Both A and B" means other options than in the original.',
    ),
    Code(
        "T101",
        "type-without-items",
        "warning",
        "The card claims a type that no item is labelled with.",
    ),
    Code(
        "T102",
        "type-not-measurable",
        "warning",
        "A type's score has a standard error above .03: in the answers of an audit, or by its items"
        " before (278 at a rate of .5).",
    ),
    Code(
        "T103",
        "type-not-claimed",
        "warning",
        "Items are labelled with a type that the card does not claim.",
    ),
    Code("T104", "items-unlabelled", "warning", "Some items of a benchmark with labels have none."),
    Code(
        "I101",
        "image-missing",
        "error",
        "A picture that is asked about is not in the image folder.",
    ),
    Code(
        "I102", "image-broken", "error", "A picture is empty or cannot be decoded to its last row."
    ),
    Code("I103", "image-twice", "warning", "Two files hold the same picture, byte for byte."),
    Code(
        "I104",
        "near-duplicate-image",
        "warning",
        "Two pictures look the same, apart from cropping or brightness (at most 20,000 similar"
        " pairs are compared).",
    ),
    Code("I105", "image-unused", "note", "The image folder has pictures that no item asks about."),
    Code(
        "I106",
        "images-not-checked",
        "note",
        "The pictures are not on this machine, so they were not checked.",
    ),
    Code("I107", "image-blank", "warning", "A picture has a single colour."),
    Code(
        "I108",
        "image-unusual",
        "note",
        "A picture can be shown in more ways than one: 16 bits a pixel, CMYK, transparency, a"
        " rotation in its EXIF data, several frames.",
    ),
    Code(
        ADAPTER_CODE,
        "benchmark-specific",
        "note",
        "What only the benchmark's adapter knows about its data; it gives the finding its name.",
    ),
)

_REMEDIES = {
    "S101": "Correct the TOML of the card at the place named.",
    "S102": "Correct the key, or remove it from the card.",
    "S103": "Put the items file where the card says, as JSON lines, JSON or CSV.",
    "S104": "Save the file as UTF-8, or name its encoding in the card (data.encoding).",
    "S105": "Correct the record at the place named.",
    "S106": "Fill in the field, or remove the record.",
    "S107": "Write the right answer as the task asks for it, or remove the item.",
    "S108": "Use one of the eight types of docs/reference.md, or leave the type empty.",
    "S109": "Write the picture's path below the image folder.",
    "S110": "Correct the field's name or its value.",
    "S201": "Give each item an id of its own.",
    "S202": "Remove spaces and control characters from the ids.",
    "S301": "Decode the questions with the encoding they were written in.",
    "C101": 'Name the licence in the card: licence = "CC-BY-4.0".',
    "C102": 'Name what to cite in the card: citation = "...".',
    "C103": 'Say in the card in one sentence what is measured: summary = "...".',
    "C104": "Write a sentence for each under [rai] in card.toml: the metadata take it from there.",
    "D101": "Keep one of the duplicate rows.",
    "D102": "Keep one of the questions that are identical apart from case and spacing.",
    "D103": "Find the right answer, keep its row, and remove the other.",
    "D106": "Write the options so that no two are equal.",
    "D107": "Write the option as the release words it.",
    "D105": "Read the questions; keep one of those that ask the same.",
    "D104": ("Find the right answers, and correct the wrong one or remove one of the items."),
    "L101": (
        "Balance the right answers of the type, or report its score beside that of always giving"
        " the most frequent answer."
    ),
    "L102": "Shuffle the options of every question (with a seed that you publish).",
    "L201": "Shuffle the items of the file (with a seed that you publish).",
    "L202": "Give questions the same form whatever their answer, and wrong options the same length,"
    " style and positions as right ones.",
    "L203": "Use the phrase in questions with the other answer too.",
    "L204": "Remove the answer from the question.",
    "L205": "Shuffle the items of the file (with a seed that you publish), and renumber them.",
    "L301": ("Add questions in the same words with the other answer, until words predict nothing."),
    "W101": "Write at least three wordings for the type.",
    "W102": "Vary the wording of the type's questions.",
    "W103": "Nothing to do; when you shuffle options, keep its position and rewrite its letters.",
    "W104": 'Put the option last, or write "None of the other options"; correct its letters.',
    "F101": (
        'Ask "Is it false that ...?", "Is there no ...?" or "Is the number of ... other than two?".'
    ),
    "F102": 'Put "not" behind the whole subject, or ask "Is it false that ...?".',
    "F103": "Keep one negation, or omit the item from the form.",
    "F104": 'Deny the question as a whole: "Is it false that ...?".',
    "F105": "Reverse the right answer, or remove the negation.",
    "F106": "Write other words, or omit the item from the form.",
    "F107": (
        "Keep questions as questions, because answers to commands may differ in length, or report"
        " the form separately."
    ),
    "F108": "Keep the option's place, and write the letters that its options have in the form.",
    "T101": "Label items with the type, or drop the type from the card's `types`.",
    "T102": "Add as many items as the examples say, or do not report a score of the type.",
    "T103": "Add the type to the card's `types`, or correct the labels.",
    "T104": "Label the items.",
    "I101": "Put the pictures into the image folder, or name the folder with --images.",
    "I102": "Save the pictures again from their source.",
    "I103": "Keep one file of each picture and point the items to it.",
    "I104": "Look at the pairs; keep one of two copies, and give its items one cluster.",
    "I105": "Remove the pictures, or ask about them.",
    "I106": "Fetch the pictures, or name their folder with --images.",
    "I107": "Save the picture again from its source, or remove its items.",
    "I108": "Save the picture as 8-bit RGB without transparency, upright, one frame.",
}
"""Code -> what to do about it."""

CODES: dict[str, Code] = {code.code: code for code in _ALL}
"""Every code."""
_BY_NAME = {code.name: code for code in _ALL}


def code_of(name: str) -> Code:
    """The code of a finding's name; `B000` for a name that only one benchmark uses.

    >>> code_of("few-wordings").code, code_of("shared-positives").code
    ('W101', 'B000')
    """
    return _BY_NAME.get(name, CODES[ADAPTER_CODE])


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection of findings: by code (`L202`), by the prefix of one (`L`, `L2`) or by name.

    The longest entry that fits a finding decides; where both have an entry of that length, `ignore`
    decides.

    >>> leaks = Selection(select=("L",), ignore=("L2",))
    >>> leaks.has("unbalanced-labels"), leaks.has("leakage-cue"), leaks.has("few-wordings")
    (True, False, False)

    Raises
    ------
    UsageError
        From `Selection.from_options`: an entry fits no code and is written like no name.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    @classmethod
    def from_options(cls, select: Sequence[str] | None, ignore: Sequence[str] | None) -> Selection:
        """The selection of two options, each of which may be repeated and may hold several entries
        between commas.
        """
        return cls(_entries(select, "--select"), _entries(ignore, "--ignore"))

    def has(self, name: str) -> bool:
        """Whether a finding of this name is selected."""
        code = code_of(name).code
        # without --select everything is selected, with an entry of no length
        selected_length = _longest_match(self.select or ("",), code, name)
        return selected_length > _longest_match(self.ignore, code, name)


def _longest_match(entries: Sequence[str], code: str, name: str) -> int:
    """The length of the longest entry that matches, or -1; a full name exceeds any code."""
    matches = (entry for entry in entries if code.startswith(entry) or entry == name)
    # As in ruff, the longest entry decides between --select and --ignore.
    return max(map(len, matches), default=-1)


def _entries(texts: Sequence[str] | None, option: str) -> tuple[str, ...]:
    entries = tuple(filter(None, map(str.strip, ",".join(texts or ()).split(","))))
    for entry in entries:
        # a name that only an adapter knows cannot be looked up here; a name has a small letter
        # first
        if entry[0].isupper() and not any(code.startswith(entry) for code in CODES):
            raise UsageError(
                f"{option} {entry!r} fits no code",
                remedy="The codes are in docs/reference.md: S101, D, few-wordings.",
            )
    return entries


@dataclass(frozen=True, slots=True)
class Finding:
    """One oddity of the data: a stable name, a sentence, a count, examples and the place.

    The name has a code and a severity in `hqm.lint.CODES`; a name that only one benchmark uses has
    the code `B000`.

    Parameters
    ----------
    name, sentence
        The stable name of the kind, and what was found.
    count, examples, rows
        How many items are affected, some of them, and a row of fields for each.
    place
        The file and line, for a fault at one place of a file.
    """

    name: str
    sentence: str
    count: int = 0
    examples: tuple[str, ...] = ()
    place: str = ""
    rows: tuple[Mapping[str, Any], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON data, with its code and severity."""
        code = code_of(self.name)
        return {
            "code": code.code,
            "name": self.name,
            "severity": code.severity,
            "sentence": self.sentence,
            "remedy": code.remedy,
            "count": self.count,
            "examples": list(self.examples),
            "place": self.place,
            "rows": list(map(dict, self.rows)),
        }


def finding(
    name: str, sentence: str, items: Sequence[Item | str], show: int = 3
) -> Iterable[Finding]:
    """Return a finding about these items, or nothing when there are none.

    Parameters
    ----------
    name, sentence
        The stable name of the kind, and what was found; `{n}` is the number of items.
    items, show
        The items that are affected, or texts that name them, and how many are examples.

    Returns
    -------
    iterable of Finding
        One finding; none without items.
    """
    if items:
        examples = []
        rows = []
        for item in items:
            if isinstance(item, Item):
                examples.append(f"{item.id}: {item.prompt}")
                rows.append(row_of(item))
            else:
                examples.append(item)
                rows.append({"what": item})
        # one item has, several have
        text = agreeing(sentence.format(n=len(items)))
        yield Finding(name, text, len(items), tuple(examples[:show]), rows=tuple(rows))


def asking(items: Iterable[Item], pattern: str | re.Pattern[str]) -> list[Item]:
    """Return the items with a question in which a pattern is found."""
    return [item for item in items if re.search(pattern, item.prompt)]


def row_of(*items: Item) -> dict[str, object]:
    """The row of a finding's list about one item, or about several that belong together: ids, keys,
    pictures, question.
    """
    questions = dict.fromkeys(item.prompt for item in items)
    images = dict.fromkeys(item.image for item in items if item.image)
    row: dict[str, object] = {
        "items": [item.id for item in items],
        "keys": [item.target if isinstance(item.target, str) else "" for item in items],
        "question": " / ".join(questions),
        "images": list(images),
    }
    if items[0].type:
        row["type"] = items[0].type
    return row


def _keyed_ids(items: Sequence[Item]) -> str:
    return " and ".join(f"{item.id} [{item.target}]" for item in items)


def check_form(form: Form, copies: Mapping[str, str] = NO_COPIES) -> Iterable[Finding]:
    """The findings about duplicates, balance and order, which are looked for in every benchmark."""
    groups = same_question(form, copies)
    repeated = [group for group in groups.values() if len(group) > 1]
    extra = sum(map(len, repeated)) - len(repeated)
    if repeated:
        yield Finding(
            "duplicate-question",
            f"{len(form)} rows ask {len(groups)} distinct questions: {extra} rows repeat"
            f" a {'picture and ' if names_pictures(form) else ''}question",
            extra,
            tuple(
                f"{', '.join(map(attrgetter('id'), group[:3]))}: {group[0].prompt}"
                for group in repeated[:3]
            ),
            rows=tuple(itertools.starmap(row_of, repeated)),
        )
    contradictory = list(filter(contradict, repeated))
    if contradictory:
        n = len(contradictory)
        sentence = f"{n} repeated questions have different right answers"
        examples = tuple(f"{_keyed_ids(g[:3])}: {g[0].prompt}" for g in contradictory[:3])
        yield Finding(
            "contradictory-label",
            sentence,
            n,
            examples,
            rows=tuple(itertools.starmap(row_of, contradictory)),
        )
    equal: list[Item] = list(filter(has_equal_options, form.items))
    yield from finding("equal-options", "{n} questions have two equal options", equal)
    lost = [item for item in form.items if "nan" in map(str.lower, item.options)]
    yield from finding("option-nan", "{n} questions have the option nan", lost)
    if form.items[0].task in CLOSED_TASKS:
        yield from _balance(form)
        yield from _pattern(form)


def has_equal_options(item: Item) -> bool:
    """Return whether two options of a question are equal."""
    return len(set(item.options)) < len(item.options)


def _targets(items: Sequence[Item]) -> list[str]:
    return [str(item.target) for item in items]


def _balance(form: Form) -> Iterable[Finding]:
    for kind, items in group_by_type(form).items():
        # of equally common answers the first in the file, so that the finding does not change
        top, n = Counter(_targets(items)).most_common(1)[0]
        # fewer items than 20 are unbalanced by chance too often
        if n / len(items) > 0.65 and len(items) >= 20:
            name = kind or "unlabelled"
            sentence = (
                f"{n} of {len(items)} {name} items have the answer {top!r}: always giving it scores"
                f" {n / len(items):.3f}"
            )
            row = {"type": kind, "answer": top, "items with it": n, "items in all": len(items)}
            yield Finding("unbalanced-labels", sentence, len(items), rows=(row,))


def _pattern(form: Form) -> Iterable[Finding]:
    """A finding for each part in which the position of an item predicts its answer; without one,
    for the whole file.
    """
    groups = group_by(form.items, attrgetter("part"))
    patterns = {part: _order(items) for part, items in groups.items()}
    if not any(patterns.values()):
        # no part has a pattern of its own: the whole file may have one
        groups = {"": list(form.items)}
        patterns = {"": _order(form.items)}
    for part, pattern in patterns.items():
        if pattern:
            scope = f" of {part}" if part else ""
            count = len(groups[part]) if part else len(form)
            yield Finding(
                "label-by-position",
                f"the right answers{scope} {pattern}: the position predicts the label",
                count,
                rows=({"part": part, "items in all": count},),
            )


def _order(items: Sequence[Item]) -> str:
    """The order of right answers that makes them predictable, in words; empty for any other."""
    targets = _targets(items)
    n_labels = len(set(targets))
    # sorted answers change once fewer than there are labels, alternating ones at every step
    n_changes = sum(map(ne, targets, targets[1:]))
    if len(targets) < 20 or n_labels < 2:
        return ""
    if n_changes == n_labels - 1:
        return "are sorted by answer"
    if n_labels == 2 and n_changes == len(targets) - 1:
        return "alternate"
    return ""


def group_by_type(form: Form) -> dict[str, list[Item]]:
    """The items of each hallucination type; those without a label under the empty name."""
    return group_by(form.items, lambda item: item.type or "")


# --- the complete lists of findings as CSV: a line for every row of every finding ---

_COLUMNS = ("items", "keys", "images", "question", "type", "part", "what", "place")
"""The columns that many findings share; the other values of a row are in the last column."""


def findings_csv(benchmarks: Iterable[tuple[str, Iterable[Mapping[str, Any]]]]) -> str:
    """The findings of benchmarks, as `to_dict` has them, as CSV; several items, keys or pictures of
    a row are joined by `|`.

    >>> rows = [{"items": ["a", "b"], "keys": ["yes", "no"]}]
    >>> finding = {"code": "D103", "name": "contradictory-label", "severity": "error"}
    >>> print(findings_csv([("mine", [{**finding, "rows": rows}])]).splitlines()[1])
    mine,D103,contradictory-label,error,1,a|b,yes|no,,,,,,,
    """
    lines: list[tuple[object, ...]] = [
        ("benchmark", "code", "finding", "severity", "row", *_COLUMNS, "more")
    ]
    for benchmark, findings in benchmarks:
        for finding in findings:
            # A finding about the whole file has no rows, and must not be lost in the table.
            rows = finding.get("rows") or [{"what": finding.get("sentence", "")}]
            for i, row in enumerate(rows, 1):
                further_cells = "; ".join(
                    f"{key}: {_text(value)}" for key, value in row.items() if key not in _COLUMNS
                )
                cells = (*(_text(row.get(name)) for name in _COLUMNS), further_cells)
                names = (benchmark, finding["code"], finding["name"], finding["severity"])
                lines.append((*names, i, *cells))
    return csv_text(lines)


def _text(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return "|".join(map(str, value))
    if value is None:
        return ""
    return str(value)
