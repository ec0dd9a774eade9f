"""What is read of an item's record, and what is odd about items, on small cases counted by hand."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest
from pydantic import ValidationError

import hqm
from hqm.benchmark.card import Card
from hqm.benchmark.findings import (
    Finding,
    Selection,
    check_form,
    code_of,
    finding,
    findings_csv,
    group_by_type,
    row_of,
)
from hqm.benchmark.items import (
    item_of,
    item_type,
    names_pictures,
    option_letter,
    read_items,
    restrict_form,
    same_question,
    select_part,
    shown_picture,
)
from hqm.errors import CardError, DataError, FieldError, ImageError, UsageError
from hqm.types import LETTERS, Form, Item
from tests.messages import tells, text_of


def card(task: str = "yes_no", **fields: Any) -> Card:
    return Card.model_validate(
        {"name": "mine", "version": "1", "title": "Mine", "task": task, **fields}
    )


def read(task: str = "yes_no", custom_card: Card | None = None, **record: Any) -> Item:
    """The item of a record with an id, a question and a right answer, unless it says otherwise."""
    targets = {"yes_no": "yes", "choice": "A", "vqa": "red", "caption": None}
    complete = {"id": "q1", "prompt": "Is it?", "target": targets[task], **record}
    return item_of(complete, custom_card or card(task), "items.jsonl: record 1")


# --- items ---


def test_an_item_has_what_its_record_says() -> None:
    item = read(
        id=7,
        target=" YES ",
        image="a/b.png",
        type="Count",
        part="easy",
        options="red| blue ",
        height=3,
        list=[1, {"a": None}],
    )
    assert item == Item(
        "7",
        "Is it?",
        "yes_no",
        "yes",
        image="a/b.png",
        type="counting",
        part="easy",
        cluster="a/b.png",
        options=("red", "blue"),
        meta={"height": 3, "list": [1, {"a": None}]},
    )
    plain = read(image=None, type=None, part=None, cluster=None, options=None)
    assert plain == Item("q1", "Is it?", "yes_no", "yes")
    assert read(image="", type="", options="", cluster="c").cluster == "c"
    assert read(image="a.png", cluster="c").cluster == "c"
    assert read(image="http://x.org/a/../b.png").image == "http://x.org/a/../b.png"
    assert read(part=2.5).part == "2.5"
    custom_card = card(fields={"id": "key", "prompt": "prompt", "image": "picture"})
    item = read(custom_card=custom_card, key="k", picture="p.png", image="other")
    assert (item.id, item.image, item.meta) == ("k", "p.png", {"id": "q1", "image": "other"})


@pytest.mark.parametrize(
    ("record", "error"),
    [
        ({"id": None}, "'id' is null"),
        ({"id": " "}, "'id' is empty"),
        ({"prompt": ""}, "'prompt' is empty"),
        ({"prompt": True}, "'prompt' is true or false"),
        ({"id": ["a"]}, "'id' is a list"),
        ({"part": {"a": 1}}, "'part' is an object"),
        ({"part": b"a"}, "'part' is bytes"),
        ({"cluster": False}, "'cluster' is true or false"),
        ({"options": 3}, "which is no list"),
        ({"options": ["a", None]}, "'options' is null"),
        ({"options": ["a", " "]}, "'options' is empty"),
        ({"options": ["a", True]}, "'options' is true or false"),
        ({"options": [f"o{k}" for k in range(27)]}, "27 options"),
        ({"part": math.nan}, "'part' has the number nan"),
        ({"part": math.inf}, "'part' has the number inf"),
        ({"prompt": "a\0b"}, "'prompt' has a character"),
        ({"prompt": "a\ud800b"}, "'prompt' has a character"),
        ({"part": "\udfff"}, "'part' has a character"),
        ({"seen": [1.0, math.nan]}, "'seen' has the number nan"),
        ({"seen": {"deep": {"er": "\0"}}}, "'seen' has a character"),
        ({"a\0": 1}, "it has a character"),
        ({"seen": ("x", ["\udc00"])}, "'seen' has a character"),
        ({"promt": "?"}, None),
        ({"imagee": "?"}, "misspelt 'image'"),
        ({"optoins": "?"}, "misspelt 'options'"),
        ({"image": "../a.png"}, "outside"),
        ({"type": "smell"}, "no hallucination type"),
    ],
)
def test_a_field_that_holds_no_text_is_refused(record: dict[str, Any], error: str | None) -> None:
    if error is None:  # the record has the field that it is near to
        assert read(**record).meta == record
        return
    with pytest.raises((FieldError, ImageError, DataError), match=error) as refused:
        read(**record)
    assert refused.value.location == "items.jsonl: record 1"


def test_what_may_be_stored_is_taken() -> None:
    assert len(read(options=[f"o{k}" for k in range(26)]).options) == 26
    assert read(prompt="Größe \ue000 \ud7ff?").prompt == "Größe \ue000 \ud7ff?"
    assert read(seen=[1.5, "ü", {"ü": None}]).meta == {"seen": [1.5, "ü", {"ü": None}]}
    with pytest.raises(FieldError):
        read("caption", target={"of": math.inf})


@pytest.mark.parametrize(
    ("task", "target", "options", "expected"),
    [
        ("yes_no", "No ", (), "no"),
        ("yes_no", "maybe", (), None),
        ("yes_no", None, (), None),
        ("choice", "b", ("red", "blue"), "B"),
        ("choice", " blue ", ("red", "blue"), "B"),
        ("choice", "C", ("red", "blue"), None),
        ("choice", "AB", ("red", "blue"), None),
        ("choice", "", ("red", "blue"), None),
        ("choice", "A", ("red",), None),
        ("choice", "red", ("red",), "A"),
        ("choice", "A", (), None),
        ("choice", "A", ("A", "B"), "A"),
        ("choice", "B", ("A", "B"), "B"),
        ("choice", "A", ("B", "A"), None),
        ("choice", "C", ("C", "x"), "A"),
        ("choice", 2, ("1", "2"), "B"),
        ("vqa", "red", (), "red"),
        ("vqa", 7, (), 7),
        ("vqa", 0.5, (), 0.5),
        ("vqa", ["red", 7], (), ["red", 7]),
        ("vqa", None, (), None),
        ("vqa", "", (), None),
        ("vqa", " ", (), None),
        ("vqa", [], (), None),
        ("vqa", True, (), None),
        ("vqa", ["red", True], (), None),
        ("vqa", ["red", ""], (), None),
        ("vqa", {"a": 1}, (), None),
        ("caption", None, (), "nothing"),
    ],
)
def test_a_right_answer_fits_its_task(
    task: str, target: Any, options: tuple[str, ...], expected: Any
) -> None:
    if expected is None:
        with pytest.raises(DataError):
            read(task, target=target, options=list(options))
    else:
        expected_target = None if task == "caption" else expected
        assert read(task, target=target, options=list(options)).target == expected_target


def test_an_option_with_the_name_of_anothers_letter_is_no_answer() -> None:
    assert option_letter("A", ["A", "B"], "x") == "A"
    assert option_letter("C", ["C", "B"], "x") == "A", "there is no third option"
    assert option_letter("BA", ["x", "BA"], "x") == "B"
    with pytest.raises(DataError, match="letter of 'x'"):
        option_letter("B", ["B", "x"], "x")


@pytest.mark.parametrize(
    ("label", "own_types", "expected"),
    [
        ("", (), None),
        (" OCR ", (), "ocr"),
        ("number", (), "counting"),
        ("State", (), "attribute"),
        ("text", (), "ocr"),
        ("text", ("text",), "text"),
        (" Algebra ", ("Algebra",), "Algebra"),
    ],
)
def test_a_label_names_a_type(label: str, own_types: tuple[str, ...], expected: str | None) -> None:
    assert item_type(label, "x", own_types) == expected
    with pytest.raises(DataError, match="'algebra' is no hallucination type") as refused:
        item_type("algebra", "here", ("Algebra",))
    assert refused.value.location == "here"


def test_the_file_of_items_is_read_whole_and_ids_differ(tmp_path: Path) -> None:
    csv_card = card(data={"items": "items.csv", "encoding": "latin-1"})
    lines = ["id,prompt,target", "1,Größe?,yes", "a b,Is it?,no"]
    (tmp_path / "items.csv").write_text("\n".join(lines), "latin-1")
    form = read_items(csv_card, tmp_path)
    assert form.name == "original"
    assert [(item.id, item.prompt) for item in form.items] == [("1", "Größe?"), ("a b", "Is it?")]
    for twice, says in (("1", "'1' stands twice"), ("a  b", "'a b' and 'a  b' look the same")):
        (tmp_path / "items.csv").write_text("\n".join([*lines, f"{twice},x,no"]), "latin-1")
        with pytest.raises(DataError, match=says) as refused:
            read_items(csv_card, tmp_path)
        assert refused.value.location == f"{tmp_path / 'items.csv'}: record 3"
    with pytest.raises(DataError, match="names no items file"):
        read_items(card(), tmp_path)


def test_a_part_of_a_form_and_its_first_items() -> None:
    form = Form("original", tuple(Item(str(k), "?", "vqa", part="abc"[k % 3]) for k in range(7)))
    assert [item.id for item in restrict_form(form, "mine", "b", None).items] == ["1", "4"]
    assert [item.id for item in restrict_form(form, "mine", "a", 2).items] == ["0", "3"]
    assert [item.id for item in restrict_form(form, "mine", None, 2).items] == ["0", "1"]
    assert restrict_form(form, "mine", None, None) == form
    assert [item.id for item in select_part(form, "c", "mine").items] == ["2", "5"]
    with pytest.raises(UsageError, match=r"no part 'd'.*a, b, c"):
        restrict_form(form, "mine", "d", 1)
    with pytest.raises(UsageError, match="has no parts"):
        select_part(Form("original", (Item("1", "?", "vqa"),)), "d", "mine")


# --- findings ---


def make_form(*rows: tuple[str, ...], task: str = "yes_no", **fields: Any) -> Form:
    """A form of (question, right answer, picture, type, part)."""
    items = []
    for k, row in enumerate(rows):
        prompt, target, image, kind, part = (*row, *("", "", "", "")[len(row) - 1 :])
        items.append(
            Item(f"q{k}", prompt, task, target, image or None, kind or None, part, **fields)  # type: ignore[arg-type]
        )
    return Form("original", tuple(items))


def findings_named(form: Form, name: str) -> list[Finding]:
    return [match for match in check_form(form) if match.name == name]


def test_questions_that_are_repeated_are_counted() -> None:
    rows = [("Is  it?", "yes", "a"), ("Is it?", "yes", "a"), ("Is it ?", "yes", "a")]
    rows += [("Is it?", "yes", "b"), ("Is it?", "no", "a"), ("Or not?", "no", "b")]
    form = make_form(*rows)
    (twice,) = findings_named(form, "duplicate-question")
    assert twice.count == 2
    assert "2 rows repeat a picture and" in twice.sentence
    assert twice.sentence.startswith("6 rows ask 4 distinct")
    assert twice.examples == ("q0, q1, q4: Is  it?",)
    (row,) = twice.rows
    assert (row["items"], row["keys"], row["images"]) == (
        ["q0", "q1", "q4"],
        ["yes", "yes", "no"],
        ["a"],
    )
    assert row["question"] == "Is  it? / Is it?"
    (contradictory,) = findings_named(form, "contradictory-label")
    assert (contradictory.count, len(contradictory.rows)) == (1, 1)
    assert contradictory.examples == ("q0 [yes] and q1 [yes] and q4 [no]: Is  it?",)
    # of each finding three examples are shown, with three items of each
    large_form = make_form(*((f"Is it {k % 4}?", "yes" if k < 8 else "no", "a") for k in range(16)))
    (twice,), (contradictory,) = (
        findings_named(large_form, n) for n in ("duplicate-question", "contradictory-label")
    )
    assert (twice.count, contradictory.count) == (12, 4)
    assert len(twice.examples) == len(contradictory.examples) == 3
    assert twice.examples[0] == "q0, q4, q8: Is it 0?"
    assert contradictory.examples[2].startswith("q2 [yes] and q6 [yes] and q10 [no]:")
    assert len(twice.rows) == 4
    assert not list(check_form(make_form(("Is it?", "yes", "a"), ("Is it?", "no", "b"))))
    # two names of one picture, which the files show
    groups = same_question(make_form(("Is it?", "yes", "a"), ("Is it?", "no", "b")), {"b": "a"})
    assert [[item.id for item in group] for group in groups.values()] == [["q0", "q1"]]


@pytest.mark.parametrize(
    ("rows", "contradict"),
    [
        ([("A", ("x", "y")), ("B", ("x", "y"))], True),
        ([("A", ("x", "y")), ("B", ("y", "x"))], False),
        ([("A", ("x", "y")), ("A", ("z", "x"))], True),
        ([("A", ("z", "x")), ("A", ("x", "y"))], True),
        ([("A", ("x", "y")), ("A", ("z", "w"))], False),
        ([("A", ("x", "y")), ("A", ("x", "y"))], False),
        ([("A", ()), ("B", ())], True),
        ([("C", ("x", "y")), ("C", ("y", "x"))], False),
        ([("A", ("x", "y")), ("A", ("x", "y")), ("B", ("x", "y"))], True),
        ([("B", ("x", "y")), ("B", ("x", "w"))], False),
        ([("xx", ("ww", "xx")), ("ww", ("ww", "xx"))], True),
        ([("yes", ()), ("no", ())], True),
        ([("yes", ()), ("yes", ())], False),
    ],
)
def test_keys_contradict_where_both_cannot_be_right(
    rows: list[tuple[str, tuple[str, ...]]], contradict: bool
) -> None:
    items = [
        Item(f"q{k}", "Which?", "choice", target, "a", options=options)
        for k, (target, options) in enumerate(rows)
    ]
    assert bool(findings_named(Form("original", tuple(items)), "contradictory-label")) == contradict


@pytest.mark.parametrize(
    ("prompt", "picture_known", "image", "expected"),
    [
        ("Is it?", True, None, ""),
        ("Is it?", True, "a", "a"),
        ("Is it?", False, "a", "a"),
        ("Is it?", False, None, ""),
        ("Is it in the photos?", False, None, "item 1"),
        ("Is it in the Figure?", False, None, "item 1"),
        ("Is it a photographer?", False, None, ""),
        ("  ", False, None, "item 1"),
        ("Is it in the image?", True, None, ""),
    ],
)
def test_what_stands_for_a_picture(
    prompt: str, picture_known: bool, image: str | None, expected: str
) -> None:
    assert shown_picture(Item("1", prompt, "vqa", image=image), picture_known) == expected


def test_questions_without_pictures_repeat_in_their_words_alone() -> None:
    assert names_pictures(make_form(("Is it?", "yes", "a"), ("Is it?", "yes")))
    form = make_form(("What is 2 + 2?", "4"), ("What is 2 + 2?", "4"), task="vqa")
    assert not names_pictures(form)
    (twice,) = findings_named(form, "duplicate-question")
    assert twice.sentence.endswith("1 rows repeat a question")
    assert not findings_named(
        make_form(("What is shown?", "4"), ("What is shown?", "4"), task="vqa"),
        "duplicate-question",
    )


@pytest.mark.parametrize(
    ("n_questions", "n_contradicted", "n_single", "n_findings"),
    [
        (5, 5, 0, 0),  # all contradict: they are about pictures that the file does not name
        (15, 5, 0, 0),
        (16, 5, 0, 5),  # less than a third: the others agree, so that keys are wrong
        (4, 4, 0, 4),  # too few to tell
        (5, 5, 20, 0),
        (5, 5, 21, 5),  # most questions are asked once, so that keys are wrong
    ],
)
@pytest.mark.parametrize("ending", ["", " in the image"])
def test_questions_of_unnamed_pictures_do_not_contradict_each_other(
    n_questions: int, n_contradicted: int, n_single: int, n_findings: int, ending: str
) -> None:
    rows = [
        (f"Is there a number {100 + n}{ending}?", ("yes", "no")[n % 2]) for n in range(n_single)
    ]
    for number in range(n_questions):
        prompt = f"Is there a number {number}{ending}?"
        rows += [(prompt, "yes"), (prompt, "no" if number < n_contradicted else "yes")]
    n_findings = 0 if ending else n_findings
    form = make_form(*rows)
    findings = findings_named(form, "contradictory-label")
    assert sum(finding.count for finding in findings) == n_findings
    assert bool(findings_named(form, "duplicate-question")) == bool(n_findings)
    # the audit says the same of the items as the check does
    answers = [
        {
            "model": model,
            "item": item.id,
            "question": item.prompt,
            "answer": answer,
            "target": item.target,
        }
        for model, answer in (("a", "yes"), ("b", "no"))
        for item in form.items
    ]
    audit = hqm.audit(pandas.DataFrame(answers))
    estimates = audit.evidence.all_estimates
    (repeats,) = [e for e in estimates if e.indicator == "items.duplicate_items"]
    assert len(repeats.detail["contradictory"]) == n_findings


def test_equal_options_are_counted() -> None:
    items = [
        Item(f"q{k}", f"Which {k}?", "choice", "A", options=options)
        for k, options in enumerate([("x", "x"), ("x", "y"), ("x", "y", "x"), ()])
    ]
    (equal,) = findings_named(Form("original", tuple(items)), "equal-options")
    assert (equal.count, equal.examples) == (2, ("q0: Which 0?", "q2: Which 2?"))
    assert [row["items"] for row in equal.rows] == [["q0"], ["q2"]]


def yes_no(answers: str, kind: str = "", part: str = "") -> list[tuple[str, ...]]:
    """A question for each letter: y is yes, n is no."""
    words = {"y": "yes", "n": "no"}
    return [
        (f"{kind}{part}{k}?", words[letter], "", kind, part) for k, letter in enumerate(answers)
    ]


@pytest.mark.parametrize(
    ("answers", "counted"),
    [
        ("y" * 13 + "n" * 7, None),  # 65 % is not more than 65 %
        ("y" * 14 + "n" * 6, 14),
        ("y" * 18 + "n", None),  # of 19 nothing is said
        ("n" * 20, 20),
        ("y" * 20 + "n" * 10, 20),
    ],
)
def test_right_answers_of_a_type_are_balanced(answers: str, counted: int | None) -> None:
    for kind, task in (("ocr", "yes_no"), ("", "choice")):
        balance = findings_named(make_form(*yes_no(answers, kind), task=task), "unbalanced-labels")
        assert bool(balance) == (counted is not None)
        if counted is not None:
            (row,) = balance[0].rows
            assert row == {
                "type": kind,
                "answer": "yes" if "y" in answers else "no",
                "items with it": counted,
                "items in all": len(answers),
            }
            assert balance[0].count == len(answers)
            assert f"scores {counted / len(answers):.3f}" in balance[0].sentence
            assert (kind or "unlabelled") in balance[0].sentence
    assert not findings_named(make_form(*yes_no(answers), task="vqa"), "unbalanced-labels")
    mixed = make_form(*yes_no("y" * 20))
    vqa_item = Item("last", "Which?", "vqa", "red", type="ocr")
    assert findings_named(Form("original", (*mixed.items, vqa_item)), "unbalanced-labels")
    assert not findings_named(Form("original", (vqa_item, *mixed.items)), "unbalanced-labels")


@pytest.mark.parametrize(
    ("answers", "order"),
    [
        ("y" * 10 + "n" * 10, "are sorted by answer"),
        ("y" * 10 + "n" * 9, ""),
        ("y" * 19 + "n", "are sorted by answer"),
        ("yn" * 10, "alternate"),
        ("ny" * 10 + "n", "alternate"),
        ("yn" * 9 + "nn", ""),
        ("y" * 20, ""),
        ("y" * 10 + "n" * 10 + "y", ""),
    ],
)
def test_the_order_of_right_answers_gives_them_away(answers: str, order: str) -> None:
    orders = findings_named(make_form(*yes_no(answers)), "label-by-position")
    assert bool(orders) == bool(order)
    for order_finding in orders:
        assert order_finding.sentence.startswith(f"the right answers {order}")
        assert (order_finding.count, order_finding.rows) == (
            len(answers),
            ({"part": "", "items in all": len(answers)},),
        )


def test_the_order_is_looked_at_part_by_part_and_then_as_a_whole() -> None:
    rows = [*yes_no("yn" * 10, part="a"), *yes_no("ynnyynnyynnyynynynny", part="b")]
    (oddity,) = findings_named(make_form(*rows), "label-by-position")
    assert oddity.sentence.startswith("the right answers of a ")
    assert (oddity.count, oddity.rows[0]["part"]) == (20, "a")
    # no part is sorted, the file is: each part has one answer
    rows = [*yes_no("y" * 20, part="a"), *yes_no("n" * 15, part="b")]
    (oddity,) = findings_named(make_form(*rows), "label-by-position")
    assert (oddity.count, oddity.rows[0]["part"]) == (35, "")
    three = [(f"{k}?", "ABC"[k // 8]) for k in range(24)]
    (oddity,) = findings_named(make_form(*three, task="choice"), "label-by-position")
    assert "are sorted by answer" in oddity.sentence
    turns = [(f"{k}?", "ABC"[k % 3]) for k in range(24)]
    assert not findings_named(make_form(*turns, task="choice"), "label-by-position")


def test_a_finding_shows_some_items_and_lists_all() -> None:
    items = [Item(f"q{k}", "Is it?", "vqa", k, f"{k}.png", "ocr" if k else None) for k in range(5)]
    (repeated,) = finding("few-wordings", "{n} items share a wording", items)
    assert (repeated.sentence, repeated.count) == ("5 items share a wording", 5)
    assert repeated.examples == tuple(f"q{k}: Is it?" for k in range(3))
    assert repeated.rows == tuple(row_of(item) for item in items)
    assert "type" not in repeated.rows[0]
    assert repeated.rows[1] == {
        "items": ["q1"],
        "keys": [""],
        "question": "Is it?",
        "images": ["1.png"],
        "type": "ocr",
    }
    (repeated,) = finding("few-wordings", "{n}", ["a", "b"], show=1)
    assert (repeated.examples, repeated.rows) == (("a",), ({"what": "a"}, {"what": "b"}))
    assert not list(finding("few-wordings", "{n}", []))
    assert repeated.to_dict() == {
        "code": "W101",
        "name": "few-wordings",
        "severity": "warning",
        "sentence": "2",
        "remedy": code_of("few-wordings").remedy,
        "count": 2,
        "examples": ["a"],
        "place": "",
        "rows": [{"what": "a"}, {"what": "b"}],
    }
    assert Finding("shared-positives", "x").to_dict()["severity"] == "note"
    assert group_by_type(Form("original", tuple(items))) == {"": items[:1], "ocr": items[1:]}


def test_the_list_of_findings_has_a_line_for_every_row() -> None:
    finding_fields = {"code": "D101", "name": "duplicate-question", "severity": "warning"}
    rows = [{"items": ("a", "b"), "keys": None, "n": 3, "at": [1, 2]}, {"question": "?"}]
    csv_text = findings_csv(
        [("x", [{**finding_fields, "rows": rows}, {**finding_fields, "sentence": "All."}])]
    )
    head, *lines = csv_text.splitlines()
    assert head == (
        "benchmark,code,finding,severity,row,items,keys,images,question,type,part,what,place,more"
    )
    assert lines == [
        "x,D101,duplicate-question,warning,1,a|b,,,,,,,,n: 3; at: 1|2",
        "x,D101,duplicate-question,warning,2,,,,?,,,,,",
        "x,D101,duplicate-question,warning,1,,,,,,,All.,,",
    ]


def test_a_whole_name_counts_more_than_any_code() -> None:
    selection = Selection.from_options(["few-wordings, D101", " ,"], ["W101", "D1"])
    assert selection.select == ("few-wordings", "D101")
    assert selection.has("few-wordings")
    assert selection.has("duplicate-question")
    assert not Selection.from_options(["W101"], ["few-wordings"]).has("few-wordings")
    assert not Selection.from_options(["own-finding"], ["own-finding"]).has("own-finding")
    assert Selection.from_options(["own-finding"], ["B000"]).has("own-finding")
    assert not Selection.from_options(None, [""]).ignore
    assert Selection().has("anything")
    assert LETTERS[0] == "A"


CARDS: dict[str, Callable[[], Card]] = {
    "tokens": lambda: card(generation={"max_tokens": 0}),
    "true": lambda: card(generation={"max_tokens": True}),
    "negative": lambda: card(generation={"temperature": -0.1}),
    "infinite": lambda: card(generation={"temperature": math.inf}),
    "not a number": lambda: card(judging={"temperature": math.nan}),
    "no mass": lambda: card(generation={"top_p": 0.0}),
    "too much mass": lambda: card(generation={"top_p": 1.1}),
    "judge's tokens": lambda: card(judging={"max_tokens": 0}),
    "judge's mass": lambda: card(judging={"top_p": 0.0}),
    "judge's temperature": lambda: card(judging={"temperature": -1.0}),
    "size": lambda: card(source={"files": [{"path": "a", "size": -1}]}),
    "sum": lambda: card(source={"files": [{"path": "a", "sha256": "a" * 63}]}),
    "items": lambda: card(shortened={"items": -1}),
    "name": lambda: Card(name="x" * 101, title="X", version="1", task="vqa"),
    "no title": lambda: Card(name="x", title="", version="1", task="vqa"),
    "no version": lambda: Card(name="x", title="X", version="", task="vqa"),
    "NUL": lambda: card(summary="a\0b"),
    "outside": lambda: card(data={"items": "../items.jsonl"}),
    "absolute": lambda: card(data={"folder": "/data"}),
    "backwards": lambda: card(data={"checksums": "a\\..\\b"}),
    "encoding": lambda: card(data={"encoding": "klingon"}),
    "no text": lambda: card(data={"encoding": "hex"}),
    "one field": lambda: card(fields={"prompt": "text", "target": "text"}),
    "twice": lambda: card(types=["ocr", "ocr"]),
    "empty": lambda: card(types=["ocr", ""]),
    "misspelt": lambda: card(types=["countin"]),
    "unknown": lambda: card(colour="red"),
    "deeper": lambda: card(rai={"colour": "red"}),
}


@pytest.mark.parametrize("case", CARDS)
def test_a_card_refuses(case: str) -> None:
    with pytest.raises(ValidationError, match="1 validation error"):
        CARDS[case]()


def test_a_card_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    path = tmp_path / "card.toml"

    def says() -> str:
        with pytest.raises(CardError) as refused:
            Card.load(path)
        assert refused.value.location == str(path)
        return refused.value.message

    assert tells(says(), "card.none")
    path.mkdir()
    assert tells(says(), "silent.folder")
    path.rmdir()
    path.write_bytes(b'name = "\xff"')
    assert "is not utf-8" in says()
    path.write_text("name")
    assert "no TOML" in says()
    path.write_text("a = " + "[" * 10_000)
    assert "too deeply" in says()
    path.write_text('name = "x"')
    assert says().endswith("(and 2 more)")
    path.write_text('name = "x"\nversion = "1"\ntask = "vqa"')
    assert says() == text_of("card.missing", key="title")
    path.write_text('\ufeffname = "x"\nversion = "1"\ntask = "vqa"\ntitle = "X"', "utf-8")
    assert Card.load(str(path)).title == "X"


def test_a_card_takes_the_ends_of_its_ranges() -> None:
    full_card = card(
        generation={"max_tokens": 1, "temperature": 0.0, "top_p": 1.0},
        judging={"max_tokens": 1, "temperature": 0.0, "top_p": 1.0},
        source={"files": [{"path": "a", "size": 0, "sha256": "a" * 64}]},
        shortened={"items": 0},
        types=["ocr", "Accounting", "algebra"],
        data={"items": "a/b.jsonl", "encoding": "latin-1"},
    )
    assert full_card.types == ("ocr", "Accounting", "algebra")
    for encoding in ("klingon", "hex", "undefined"):
        with pytest.raises(ValidationError, match=f"no encoding '{encoding}'"):
            card(data={"encoding": encoding})
    with pytest.raises(ValidationError, match="frozen"):
        full_card.title = "Other"
    assert Card(name="x" * 100, title="X", version="1", task="vqa").name == "x" * 100
    plain = card()
    assert (plain.generation.max_tokens, plain.judging.max_tokens) == (64, 512)
    assert (plain.generation.temperature, plain.judging.temperature) == (1.0, 0.0)
    assert (plain.generation.top_p, plain.judging.top_p) == (1.0, 1.0)
    assert not plain.labelled
    assert not plain.source.files
    assert plain.digest == card().digest != full_card.digest
    unsaid = card(rai={"data_collection": "Drawn."}).rai
    assert unsaid is not None
    assert unsaid.unsaid == [
        "rai:dataAnnotationProtocol",
        "rai:personalSensitiveInformation",
        "rai:dataUseCases",
        "rai:dataSocialImpact",
        "rai:dataReleaseMaintenancePlan",
    ]
