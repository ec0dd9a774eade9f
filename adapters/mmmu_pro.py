"""MMMU-Pro: college questions about pictures, asked in three ways.

Release: MMMU-Benchmark/MMMU, with 1,730 multiple-choice questions. The same question is asked with
ten options (`original`), with ten options inside a screenshot (`parallel`: nothing but the picture
is given), and with four (`four`); an answer may be asked for directly or after reasoning, which are
forms of their own (`cot`, `parallel_cot`, `four_cot`). The release's answers of seven models are
files `<model>_<direct or cot>_<standard10, standard4 or vision>.jsonl`.

Official and paper. The release draws a random option for an answer that it cannot read (`official`
counts it as wrong, under its state; the right answers that are read are the release's). `paper`
reads with `strict`, and leaves what cannot be read out of the mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

from hqm import Benchmark, DataError, Finding, Form, Item, Recording, Response, finding
from hqm.benchmark.findings import has_equal_options
from hqm.benchmark.released_files import files_in, records_by
from hqm.files.records import located_records, parse_value, required_field
from hqm.types import LETTERS

FORMS = {
    ("standard10", "direct"): "original",
    ("vision", "direct"): "parallel",
    ("standard4", "direct"): "four",
    ("standard10", "cot"): "cot",
    ("vision", "cot"): "parallel_cot",
    ("standard4", "cot"): "four_cot",
}
"""Wording and way of asking -> form."""
_FILE = re.compile(
    r"(.+)_(direct|cot)_(standard10|standard4|vision|Standard\(10opts\)|Standard\(4opts\)|Vision)"
    r"\.jsonl(?:\.gz)?$"
)
_SOURCE_FILES = (
    "gpt-4o-2024-08-06_direct_Standard(10opts).jsonl",
    "gpt-4o-2024-08-06_direct_Standard(4opts).jsonl",
)
_SCREENSHOT = "Answer the multiple-choice question that the picture shows."


def _form_of(match: re.Match[str]) -> str:
    """The form that a file of answers belongs to; the release writes `Standard(10opts)`."""
    wording = match[3].lower().replace("(", "").replace("opts)", "")
    return FORMS[wording, match[2]]


def _options(record: Mapping[str, object], name: str, location: str) -> tuple[str, ...]:
    """The options of a question, which the release writes as a Python list."""
    value = required_field(record, name, location)
    # the dataset's files have a list, the release's files of answers its text in Python
    if isinstance(value, str):
        value = parse_value(value)
    if not isinstance(value, list):
        raise DataError(f"{name} is no list", location=location)
    return tuple(map(str, value))


class MmmuPro(Benchmark):
    """The questions of MMMU-Pro, with ten options, with four, and in screenshots."""

    paper_parser = "strict"
    unread_is_wrong = True

    @classmethod
    def make_files(cls, inputs: Mapping[str, Path]) -> Mapping[str, object]:
        """The questions, out of a model's answers to both standard wordings, which repeat them."""
        # the two wordings are two files, and only the ids say which questions are the same
        ten, four = (records_by(inputs[f"answers/{name}"], "id") for name in _SOURCE_FILES)
        rows = []
        for key, record in ten.items():
            if key in four:
                # A question of one wording alone could not be compared between the forms.
                row = {
                    "id": key,
                    "question": required_field(record, "question", key),
                    "options": list(_options(four[key], "options", key)),
                    "answer": required_field(four[key], "answer", key),
                    "shuffled_options": list(_options(record, "options", key)),
                    "shuffled_options_answer": required_field(record, "answer", key),
                    "topic_difficulty": record.get("topic_difficulty"),
                    "subfield": record.get("subject"),
                    "image_1": f"images/{key}_1.png",
                }
                rows.append(row)
        return {"items.jsonl": rows}

    def read(self) -> Form:
        """The questions with ten options."""
        return self._form("original", "shuffled_options", "shuffled_options_answer")

    def _form(self, name: str, options: str, answer: str) -> Form:
        items = []
        for location, record in located_records(self.data / self.card.data.items):
            key = str(required_field(record, "id", location))
            image = str(record.get("image_1") or "") or None
            items.append(
                Item(
                    key,
                    str(required_field(record, "question", location)),
                    "choice",
                    str(required_field(record, answer, location)),
                    image,
                    str(record.get("subfield") or "") or None,
                    str(record.get("topic_difficulty") or ""),
                    image or key,
                    _options(record, options, location),
                    "" if name == "original" else "mmmu_pro.options",
                )
            )
        return Form(name, tuple(items))

    def parallel(self, form: Form) -> Form:
        """The same questions inside screenshots."""
        rule = "mmmu_pro.screenshot"
        items = []
        for item in form.items:
            # nothing but the screenshot is given: it has question and options in it
            image = f"vision/{item.id}.png"
            items.append(replace(item, prompt=_SCREENSHOT, image=image, rule=rule))
        return Form("parallel", tuple(items))

    def more_forms(self, form: Form) -> tuple[Form, ...]:
        """The questions with four options, and all three asked for reasoning first."""
        four = self._form("four", "options", "answer").restrict_to(form.by_id)
        parallel_cot = replace(self.parallel(form), name="parallel_cot")
        return (
            four,
            replace(form, name="cot"),
            parallel_cot,
            replace(four, name="four_cot"),
        )

    def rewording(self, form: Form, draw: int, earlier: Sequence[Form]) -> Form:
        """No rule rewords the text of a screenshot: the screenshot is the other wording."""
        raise DataError(
            "there are three wordings, and no rule makes a further one",
            location=self.name,
            remedy="Ask for them: --forms original,parallel,four.",
        )

    def recordings(self, path: Path) -> Sequence[Recording] | None:
        """The release's answers, one file for each model, wording and way of asking."""
        recordings = []
        for file in files_in(path):
            # The file's name alone says model, wording and way of asking.
            match = _FILE.fullmatch(file.name)
            if match:
                answers = self._answers(file)
                recordings.append(Recording(match[1], _form_of(match), 0, answers, file.name))
        # None, and no empty list: another reader is then asked.
        return recordings or None

    def _answers(self, path: Path) -> dict[str, Response]:
        """Item id -> answer; where no answer came, the release has an empty object."""
        answers = {}
        for location, record in located_records(path):
            text = required_field(record, "response", location)
            key = str(required_field(record, "id", location))
            # answers to questions that a part or a limit leaves out are passed over
            if key in self.original.by_id:
                answers[key] = Response(text if isinstance(text, str) else "")
        return answers

    def check(self, form: Form) -> Iterable[Finding]:
        """Options that stand twice, and options that are another option's letter."""
        yield from finding(
            "equal-options",
            "{n} questions have two equal options",
            list(map(attrgetter("id"), filter(has_equal_options, form.items))),
        )
        yield from finding(
            "letter-options",
            "{n} questions have an option that is another option's letter",
            _with_letters_of_others(form.items),
        )


def _with_letters_of_others(items: Iterable[Item]) -> list[str]:
    """The item of each option that is written as the letter of another option."""
    ids = []
    for item in items:
        letters = tuple(LETTERS[: len(item.options)])
        for letter, option in zip(letters, item.options, strict=True):
            if option.strip() in letters and option.strip() != letter:
                ids.append(item.id)
    return ids
