"""Cards, items, recorded answers, labels and released answer files that say something wrong: one
sentence with the place.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hqm
from hqm import AnswerError, CardError, DataError
from hqm.administration.stored_answers import respondents_in
from hqm.auditing.one_file import score_file
from hqm.imports.human_labels import respondent_named
from tests.conftest import Run, administered, recorded, write_benchmark
from tests.messages import pattern_of, text_of

ITEM = {"id": "q1", "prompt": "Is there a dog?", "target": "yes", "image": "a.png"}
CHOICE = {"id": "q1", "prompt": "Which colour?", "target": "red", "options": ["red", "blue"]}
VQA = {"id": "q1", "prompt": "Which colour?", "target": "red"}
DEEP: Any = json.loads("[" * 50 + "]" * 50)

ITEMS: list[tuple[str, str, dict[str, Any], str]] = [
    ("prompt null", "yes_no", {"prompt": None}, "the field 'prompt' is null"),
    ("prompt empty", "yes_no", {"prompt": " "}, "the field 'prompt' is empty"),
    (
        "prompt an object",
        "yes_no",
        {"prompt": {"text": "Is it?"}},
        "the field 'prompt' is an object",
    ),
    ("prompt a list", "yes_no", {"prompt": ["Is it?"]}, "the field 'prompt' is a list"),
    ("prompt true", "yes_no", {"prompt": True}, "the field 'prompt' is true or false"),
    (
        "prompt with half a character",
        "yes_no",
        {"prompt": "Is it \ud800?"},
        "a character that cannot be stored",
    ),
    ("prompt with NUL", "yes_no", {"prompt": "Is it \0?"}, "a character that cannot be stored"),
    (
        "prompt not a number",
        "yes_no",
        {"prompt": float("nan")},
        "the field 'prompt' has the number nan",
    ),
    ("id null", "yes_no", {"id": None}, "the field 'id' is null"),
    ("id empty", "yes_no", {"id": ""}, "the field 'id' is empty"),
    ("id an object", "yes_no", {"id": {"$oid": "1"}}, "the field 'id' is an object"),
    ("id a list", "yes_no", {"id": [1]}, "the field 'id' is a list"),
    ("id false", "yes_no", {"id": False}, "the field 'id' is true or false"),
    ("image an object", "yes_no", {"image": {"path": "a.png"}}, "the field 'image' is an object"),
    ("image a list", "yes_no", {"image": ["a.png"]}, "the field 'image' is a list"),
    ("image true", "yes_no", {"image": True}, "the field 'image' is true or false"),
    ("image outside", "yes_no", {"image": "../a.png"}, "lies outside the image folder"),
    ("image with NUL", "yes_no", {"image": "a\0.png"}, "a character that cannot be stored"),
    (
        "imgae",
        "yes_no",
        {"image": ..., "imgae": "a.png"},
        "the field 'imgae' looks like a misspelt 'image'",
    ),
    (
        "images",
        "yes_no",
        {"image": ..., "images": "a.png"},
        "the field 'images' looks like a misspelt 'image'",
    ),
    (
        "Image",
        "yes_no",
        {"image": ..., "Image": "a.png"},
        "the field 'Image' looks like a misspelt 'image'",
    ),
    (
        "promt",
        "yes_no",
        {"prompt": ..., "promt": "Is it?"},
        "the field 'promt' looks like a misspelt 'prompt'",
    ),
    (
        "tagret",
        "yes_no",
        {"target": ..., "tagret": "yes"},
        "the field 'tagret' looks like a misspelt 'target'",
    ),
    ("types", "yes_no", {"types": "existence"}, "the field 'types' looks like a misspelt 'type'"),
    ("tpye", "yes_no", {"tpye": "existence"}, "the field 'tpye' looks like a misspelt 'type'"),
    (
        "clusters",
        "yes_no",
        {"clusters": "a"},
        "the field 'clusters' looks like a misspelt 'cluster'",
    ),
    ("parts", "yes_no", {"parts": "a"}, "the field 'parts' looks like a misspelt 'part'"),
    (
        "option",
        "choice",
        {"options": ..., "option": ["red", "blue"]},
        "the field 'option' looks like a misspelt",
    ),
    ("no id", "yes_no", {"id": ...}, "the field 'id' is missing"),
    ("no prompt", "yes_no", {"prompt": ...}, "the field 'prompt' is missing"),
    ("type unknown", "yes_no", {"type": "colour"}, "is no hallucination type"),
    ("type a list", "yes_no", {"type": ["existence"]}, "the field 'type' is a list"),
    ("type an object", "yes_no", {"type": {"name": "existence"}}, "the field 'type' is an object"),
    ("part a list", "yes_no", {"part": ["test"]}, "the field 'part' is a list"),
    ("cluster an object", "yes_no", {"cluster": {}}, "the field 'cluster' is an object"),
    ("target null", "yes_no", {"target": None}, "the target is None"),
    ("target true", "yes_no", {"target": True}, "the target is True"),
    ("target 1", "yes_no", {"target": 1}, "the target is 1"),
    ("target perhaps", "yes_no", {"target": "perhaps"}, "the target is 'perhaps'"),
    ("target a list", "yes_no", {"target": ["yes"]}, "the target is ['yes']"),
    ("meta with NaN", "yes_no", {"score": float("nan")}, "the field 'score' has the number nan"),
    (
        "meta with infinity inside",
        "yes_no",
        {"box": [1, {"x": float("inf")}]},
        "the field 'box' has the number inf",
    ),
    (
        "meta with half a character",
        "yes_no",
        {"note": ["\udfff"]},
        "a character that cannot be stored",
    ),
    ("options a mapping", "choice", {"options": {"A": "red", "B": "blue"}}, "which is no list"),
    ("options a number", "choice", {"options": 5}, "the options are 5, which is no list"),
    ("options true", "choice", {"options": True}, "which is no list"),
    ("options with null", "choice", {"options": ["red", None]}, "the field 'options' is null"),
    (
        "options with an empty one",
        "choice",
        {"options": "red||blue"},
        "the field 'options' is empty",
    ),
    (
        "options with a list",
        "choice",
        {"options": ["red", ["blue"]]},
        "the field 'options' is a list",
    ),
    (
        "options with an object",
        "choice",
        {"options": ["red", {"text": "blue"}]},
        "the field 'options' is an object",
    ),
    (
        "options with true",
        "choice",
        {"options": ["red", True]},
        "the field 'options' is true or false",
    ),
    (
        "40 options",
        "choice",
        {"options": [f"red {i}" for i in range(40)], "target": "A"},
        "it has 40 options",
    ),
    ("one option", "choice", {"options": ["red"], "target": "A"}, "A choice needs two options"),
    ("no options", "choice", {"options": ...}, "A choice needs two options"),
    ("target beyond the options", "choice", {"target": "C"}, "the target is 'C'"),
    ("target two letters", "choice", {"target": "AB"}, "the target is 'AB'"),
    (
        "target both letter and option",
        "choice",
        {"options": ["B", "A"], "target": "A"},
        "is the option B and the letter of",
    ),
    ("target an index", "choice", {"target": 0}, "the target is 0"),
    ("no short target", "vqa", {"target": None}, "it has no target"),
    ("empty short target", "vqa", {"target": ""}, "it has no target"),
    ("short target an object", "vqa", {"target": {"a": 1}}, "the target is {'a': 1}"),
    ("short target true", "vqa", {"target": True}, "the target is True"),
    ("short targets with null", "vqa", {"target": ["red", None]}, "the target is ['red', None]"),
    ("no short targets", "vqa", {"target": []}, "it has no target"),
]


def item(task: str, changes: dict[str, Any]) -> dict[str, Any]:
    plain = {"yes_no": ITEM, "choice": CHOICE, "vqa": VQA}[task]
    return {key: value for key, value in {**plain, **changes}.items() if value is not ...}


@pytest.mark.parametrize(
    ("task", "changes", "sentence"), [row[1:] for row in ITEMS], ids=[row[0] for row in ITEMS]
)
def test_a_wrong_item_is_an_error_with_its_line(
    tmp_path: Path, task: str, changes: dict[str, Any], sentence: str
) -> None:
    first = {**item(task, {}), "id": "q0"}
    folder = write_benchmark(tmp_path / "mine", [first, item(task, changes)], task=task)
    with pytest.raises(DataError) as caught:
        _ = hqm.load(str(folder)).original
    assert sentence in str(caught.value)
    assert "items.jsonl: record 2" in str(caught.value)


SOUND: list[tuple[str, str, dict[str, Any], tuple[str, Any]]] = [
    ("a number as id", "yes_no", {"id": 7}, ("id", "7")),
    (
        "further fields",
        "yes_no",
        {"score": 0.5, "source": "coco", "deep": DEEP},
        ("prompt", "Is there a dog?"),
    ),
    ("images beside image", "yes_no", {"images": "b.png"}, ("image", "a.png")),
    ("no picture", "yes_no", {"image": ...}, ("image", None)),
    ("null picture", "yes_no", {"image": None}, ("image", None)),
    ("a target with spaces", "yes_no", {"target": " Yes "}, ("target", "yes")),
    ("options as a text", "choice", {"options": "red | blue"}, ("options", ("red", "blue"))),
    ("options as numbers", "choice", {"options": [1, 2], "target": 2}, ("target", "B")),
    (
        "options that are letters in order",
        "choice",
        {"options": ["A", "B"], "target": "A"},
        ("target", "A"),
    ),
    ("several short targets", "vqa", {"target": ["red", "blue"]}, ("target", ["red", "blue"])),
    ("a number as short target", "vqa", {"target": 3}, ("target", 3)),
    ("right-to-left text", "yes_no", {"prompt": "هل يوجد كلب؟"}, ("prompt", "هل يوجد كلب؟")),
    ("a family of emoji", "yes_no", {"prompt": "Is it 👨‍👩‍👧?"}, ("prompt", "Is it 👨‍👩‍👧?")),
]


@pytest.mark.parametrize(
    ("task", "changes", "expected"), [row[1:] for row in SOUND], ids=[row[0] for row in SOUND]
)
def test_an_unusual_item_is_read(
    tmp_path: Path, task: str, changes: dict[str, Any], expected: tuple[str, Any]
) -> None:
    folder = write_benchmark(tmp_path / "mine", [item(task, changes)], task=task)
    assert getattr(hqm.load(str(folder)).original.items[0], expected[0]) == expected[1]


FILES: dict[str, tuple[str, bytes, str]] = {
    "a column twice": (
        "items.csv",
        b"id,prompt,target,target\nq1,Is it?,yes,no\n",
        "the column 'target' stands twice",
    ),
    "a column without name twice": (
        "items.csv",
        b"id,prompt,target,,\nq1,Is it?,yes,1,2\n",
        "'1' stands in a column without a name",
    ),
    "a key twice": (
        "items.jsonl",
        b'{"id": "q1", "prompt": "Is it?", "target": "yes", "target": "no"}',
        "'target' stands twice",
    ),
    "a key twice in a list": (
        "items.jsonl",
        b'[{"id": 1, "prompt": "a", "prompt": "b"}]',
        "the key 'prompt' stands twice",
    ),
    "a key twice inside": (
        "items.jsonl",
        b'{"id": "q1", "meta": {"a": 1, "a": 2}}',
        "the key 'a' stands twice",
    ),
    "a row too short": (
        "items.csv",
        b"id,prompt,target\nq1,Is it?\n",
        "items.csv:2: the row does not have 3 fields",
    ),
    "a row too long": (
        "items.csv",
        b"id,prompt,target\nq1,Is it?,yes,no\n",
        "items.csv:2: the row does not have 3 fields",
    ),
    "no heading": ("items.csv", b"", "it has no items"),
    "nested deeply": (
        "items.jsonl",
        b'{"id": "q1"}\n{"a": ' + b"[" * 200_000,
        "items.jsonl:2: it is nested too deeply",
    ),
    "nested deeply in a list": ("items.jsonl", b"[" * 200_000, "it is nested too deeply"),
    "5,000 digits": (
        "items.jsonl",
        b'{"id": ' + b"9" * 5000 + b"}",
        "items.jsonl:1: it cannot be read",
    ),
    "not UTF-8": ("items.jsonl", b'{"id": "caf\xe9"}', "is not utf-8"),
    "an id twice": (
        "items.jsonl",
        b'{"id": 1, "prompt": "a", "target": "no"}\n' * 2,
        "the id '1' stands twice",
    ),
    "an id twice in two types": (
        "items.jsonl",
        b'{"id": 1, "prompt": "a", "target": "no"}\n{"id": "1", "prompt": "a", "target": "no"}',
        "the id '1' stands twice",
    ),
    "a list of lists": ("items.jsonl", b"[[1]]", "a record must be a JSON object, not list"),
    "half a record": ("items.jsonl", b'{"id": "q1", "prompt"', "it is not JSON"),
}


@pytest.mark.parametrize(("name", "content", "sentence"), FILES.values(), ids=list(FILES))
def test_a_wrong_items_file_is_one_sentence(
    tmp_path: Path, run: Run, name: str, content: bytes, sentence: str
) -> None:
    folder = write_benchmark(tmp_path / "mine", [], data={"items": name})
    (folder / name).write_bytes(content)
    status, _, err = run("audit", "--dry-run", folder, "-r", "hf/shapes:steady")
    assert (status, err.count("\n")) == (1, 1)
    assert sentence in err
    status, output, err = run("check", folder)
    assert status in (0, 1)
    assert "Traceback" not in output + err


def test_a_field_of_a_csv_may_be_longer_than_128_kilobytes(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "mine", [], data={"items": "items.csv"})
    (folder / "items.csv").write_text(f"id,prompt,target,note\nq1,Is it?,yes,{'x' * 200_000}\n")
    assert len(hqm.load(str(folder)).original.items[0].meta["note"]) == 200_000


CARD = 'name = "mine"\ntitle = "Mine"\nversion = "1"\ntask = "yes_no"\n'
CARDS: dict[str, tuple[bytes, str]] = {
    "an adapter that is a module of Python": (
        f'{CARD}adapter = "os"'.encode(),
        "there is no adapter 'os'",
    ),
    "an adapter that is nothing": (
        f'{CARD}adapter = "nothing_at_all"'.encode(),
        "there is no adapter",
    ),
    "an adapter with a path": (f'{CARD}adapter = "../pope"'.encode(), "the key 'adapter' is wrong"),
    "an adapter with a dot": (
        f'{CARD}adapter = "pope.Pope"'.encode(),
        "the key 'adapter' is wrong",
    ),
    "an adapter that is a number": (f"{CARD}adapter = 1".encode(), "the key 'adapter' is wrong"),
    "an unknown encoding": (
        f'{CARD}[data]\nitems = "i"\nencoding = "klingon"'.encode(),
        "there is no encoding 'klingon'",
    ),
    "an encoding of no text": (
        f'{CARD}[data]\nencoding = "base64"'.encode(),
        "there is no encoding 'base64'",
    ),
    "an empty encoding": (f'{CARD}[data]\nencoding = ""'.encode(), "there is no encoding ''"),
    "temperature nan": (
        f"{CARD}[generation]\ntemperature = nan".encode(),
        "generation.temperature",
    ),
    "temperature inf": (
        f"{CARD}[generation]\ntemperature = inf".encode(),
        "generation.temperature",
    ),
    "temperature negative": (
        f"{CARD}[generation]\ntemperature = -1.0".encode(),
        "generation.temperature",
    ),
    "top_p above 1": (f"{CARD}[generation]\ntop_p = 1.5".encode(), "generation.top_p"),
    "max_tokens true": (
        f"{CARD}[generation]\nmax_tokens = true".encode(),
        "generation.max_tokens",
    ),
    "max_tokens 0": (f"{CARD}[generation]\nmax_tokens = 0".encode(), "generation.max_tokens"),
    "the judge's temperature nan": (
        f"{CARD}[judging]\ntemperature = nan".encode(),
        "judging.temperature",
    ),
    "a name of 300 characters": (
        CARD.replace("mine", "m" * 300).encode(),
        "the key 'name' is wrong",
    ),
    "a name with a slash": (CARD.replace("mine", "a/b").encode(), "the key 'name' is wrong"),
    "an empty name": (CARD.replace("mine", "").encode(), "the key 'name' is wrong"),
    "no name": (CARD.replace('name = "mine"\n', "").encode(), "the key 'name' is missing"),
    "a title that is a number": (CARD.replace('"Mine"', "1").encode(), "the key 'title' is wrong"),
    "an unknown task": (CARD.replace("yes_no", "essay").encode(), "the key 'task' is wrong"),
    "an unknown key": (f'{CARD}imgae = "a"'.encode(), "unknown key 'imgae'"),
    "an unknown key below": (f'{CARD}[data]\nitem = "a"'.encode(), "unknown key 'data.item'"),
    "an unknown type": (f'{CARD}types = ["existense"]'.encode(), "unknown existense"),
    "types that are a text": (f'{CARD}types = "existence"'.encode(), "the key 'types' is wrong"),
    "a question that is the answer": (
        f'{CARD}[fields]\nprompt = "q"\ntarget = "q"'.encode(),
        "both the field 'q'",
    ),
    "a key twice": (f'{CARD}name = "other"'.encode(), "it is no TOML"),
    "no TOML": (b"name = ", "it is no TOML"),
    "not UTF-8": (b'name = "caf\xe9"', "byte 11 (0xe9) is not utf-8"),
    "5,000 digits": (
        f"{CARD}labelled = {'9' * 5000}".encode(),
        "it holds a value that cannot be read",
    ),
    "nested deeply": (f"{CARD}types = {'[' * 100_000}".encode(), "nested too deeply"),
    "a checksum that is none": (
        f'{CARD}[[source.files]]\npath = "a"\nsha256 = "12"'.encode(),
        "sha256",
    ),
    "a negative size": (f'{CARD}[[source.files]]\npath = "a"\nsize = -1'.encode(), "size"),
}


@pytest.mark.parametrize(("content", "sentence"), CARDS.values(), ids=list(CARDS))
def test_a_wrong_card_is_one_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    folder = write_benchmark(tmp_path / "mine", [ITEM])
    (folder / "card.toml").write_bytes(content)
    with pytest.raises(CardError) as caught:
        hqm.load(str(folder))
    assert sentence in str(caught.value)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_card_may_begin_with_a_byte_order_mark(tmp_path: Path, encoding: str) -> None:
    folder = write_benchmark(tmp_path / "mine", [ITEM])
    text = (folder / "card.toml").read_text("utf-8")
    (folder / "card.toml").write_text(text, encoding=encoding)
    assert len(hqm.load(str(folder)).original) == 1


def test_a_card_names_an_adapter_of_hqm_or_has_its_own(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "mine", [ITEM], adapter="gavie")
    assert type(hqm.load(str(folder))).__name__ == "Gavie"
    (folder / "adapter.py").write_text("import hqm\nclass Own(hqm.Benchmark):\n    pass\n")
    with pytest.raises(CardError, match=pattern_of("card.adapter-beside", adapter="gavie")):
        hqm.load(str(folder))


# --- recorded answers and labels ---

RECORDED: list[tuple[str, dict[str, Any], str]] = [
    ("run in words", {"run": "one"}, "the run is 'one', which is no count"),
    ("run null", {"run": None}, "the run is None"),
    ("run infinite", {"run": float("inf")}, "the run is inf"),
    ("run not a number", {"run": float("nan")}, "the run is nan"),
    ("run negative", {"run": -1}, "the run is -1"),
    ("run 1.5", {"run": 1.5}, "the run is 1.5"),
    ("run true", {"run": True}, "the run is True"),
    ("run of 30 digits", {"run": 10**30}, "which is no count"),
    ("run in Arabic digits", {"run": "١"}, "which is no count"),
    ("run a list", {"run": [0]}, "the run is [0]"),
    ("respondent null", {"respondent": None}, "the respondent is None"),
    ("respondent empty", {"respondent": " "}, "the respondent is ''"),
    ("respondent an object", {"respondent": {"name": "a"}}, "the respondent is {'name': 'a'}"),
    ("form null", {"form": None}, "the form is None"),
    ("form unknown", {"form": "paralel"}, "there is no form 'paralel'"),
    ("item null", {"item": None}, "the item is None"),
    ("item unknown", {"item": "q99"}, "the benchmark has no item 'q99'"),
    ("item a list", {"item": ["q1"]}, "the item is ['q1']"),
    ("no item", {"item": ...}, "none of the fields 'item', 'id', 'question_id' is there"),
    (
        "answer an object",
        {"answer": {"text": "Yes"}},
        "the answer is {'text': 'Yes'}, which is no text",
    ),
    ("answer a list", {"answer": ["Yes"]}, "the answer is ['Yes'], which is no text"),
    ("answer true", {"answer": True}, "the answer is True, which is no text"),
    ("no answer", {"answer": ...}, "none of the fields 'answer'"),
    ("state unknown", {"state": "fine"}, "the state 'fine' is unknown"),
    ("state null", {"state": None}, "the state None is unknown"),
    ("state a list", {"state": ["ok"]}, "the state ['ok'] is unknown"),
    ("detail a text", {"detail": "fast"}, "the detail is 'fast', which is no object"),
    ("detail a list", {"detail": [1]}, "the detail is [1], which is no object"),
    ("detail with NaN", {"detail": {"seconds": float("nan")}}, "a number that is none"),
]


@pytest.mark.parametrize(
    ("changes", "sentence"), [row[1:] for row in RECORDED], ids=[row[0] for row in RECORDED]
)
def test_a_wrong_recorded_answer_is_one_sentence(
    tmp_path: Path, run: Run, dogs: Path, changes: dict[str, Any], sentence: str
) -> None:
    rows: list[dict[str, Any]] = [
        {"respondent": "a", "form": "original", "run": 0, "item": f"q{i}", "answer": "Yes"}
        for i in range(3)
    ]
    rows[2] = {key: value for key, value in {**rows[2], **changes}.items() if value is not ...}
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    status, _, err = run(
        "audit",
        "--no-report",
        dogs,
        "--recorded",
        tmp_path / "answers.jsonl",
        "--store",
        tmp_path / "s.sqlite",
        "-q",
    )
    assert (status, err.count("\n")) == (1, 1)
    assert sentence in err
    assert "answers.jsonl: record 3" in err


NAMES: list[tuple[str, str, list[str], str]] = [
    ("the whole name", "recorded/llava", ["recorded/llava", "hf/llava"], "recorded/llava"),
    ("without recorded/", "llava", ["recorded/llava", "recorded/other"], "recorded/llava"),
    (
        "with an owner",
        "org1/llava",
        ["openai/org1/llava", "openai/org2/llava"],
        "openai/org1/llava",
    ),
    (
        "behind the kind",
        "shapes:steady",
        ["hf/shapes:steady", "hf/shapes:chance"],
        "hf/shapes:steady",
    ),
    ("behind the colon", "steady", ["hf/shapes:steady", "hf/shapes:chance"], "hf/shapes:steady"),
    (
        "without settings",
        "openai/gpt",
        ["openai/gpt?temperature=0", "hf/a"],
        "openai/gpt?temperature=0",
    ),
    (
        "short, without settings",
        "gpt",
        ["openai/gpt?temperature=0", "hf/a"],
        "openai/gpt?temperature=0",
    ),
    ("a whole name that ends another", "llava", ["llava", "recorded/llava"], "llava"),
    (
        "two owners",
        "llava",
        ["recorded/org1/llava", "recorded/org2/llava"],
        "could be recorded/org1/llava or recorded/org2/llava",
    ),
    ("two kinds", "llava", ["recorded/llava", "hf/llava"], "could be recorded/llava or hf/llava"),
    (
        "two settings",
        "openai/gpt",
        ["openai/gpt?seed=1", "openai/gpt?seed=2"],
        "could be openai/gpt?seed=1 or",
    ),
    ("three", "a", ["x/a", "y/a", "z/a"], "could be x/a, y/a or z/a"),
    ("unknown", "lava", ["recorded/llava"], "there is no respondent 'lava'"),
    ("a part of a name", "ava", ["recorded/llava"], "there is no respondent 'ava'"),
    ("empty", "", ["recorded/llava"], "there is no respondent ''"),
    ("another case", "LLaVA", ["recorded/llava"], "there is no respondent 'LLaVA'"),
]


@pytest.mark.parametrize(
    ("name", "names", "expected"), [row[1:] for row in NAMES], ids=[row[0] for row in NAMES]
)
def test_a_name_in_a_file_of_labels_means_one_respondent(
    name: str, names: list[str], expected: str
) -> None:
    if expected in names:
        assert respondent_named(name, names, "labels.csv: record 1") == expected
    else:
        with pytest.raises(AnswerError) as caught:
            respondent_named(name, names, "labels.csv: record 1")
        assert expected in str(caught.value)


LABELS: list[tuple[str, str, str]] = [
    (
        "an ambiguous name",
        "item,respondent,label\nq1,llava,1\n",
        "'llava' could be recorded/org1/llava or recorded/org2/llava",
    ),
    ("an unknown name", "item,respondent,label\nq1,blip,1\n", "there is no respondent 'blip'"),
    (
        "an unknown item",
        "item,respondent,label\nq99,org1/llava,1\n",
        "the benchmark has no item 'q99'",
    ),
    ("a label above 1", "item,respondent,label\nq1,org1/llava,2\n", "the label is '2'"),
    ("a label below 0", "item,respondent,label\nq1,org1/llava,-1\n", "the label is '-1'"),
    (
        "a label that is no number",
        "item,respondent,label\nq1,org1/llava,inf\n",
        "the label is 'inf'",
    ),
    (
        "a label in words",
        "item,respondent,label\nq1,org1/llava,mostly\n",
        "the label is 'mostly'",
    ),
    (
        "a label twice",
        "item,respondent,label\nq1,org1/llava,1\nq1,org1/llava,0\n",
        "is labelled twice",
    ),
    (
        "the same label under two names",
        "item,respondent,label\nq1,org1/llava,1\nq1,recorded/org1/llava,0\n",
        "is labelled twice",
    ),
    ("no column of labels", "item,respondent\nq1,org1/llava\n", text_of("labels.no-column")),
    ("no column of respondents", "item,label\nq1,1\n", "the field 'respondent' is missing"),
    (
        "a column twice",
        "item,respondent,label,label\nq1,org1/llava,1,0\n",
        "the column 'label' stands twice",
    ),
    (
        "a probability whose weight overflows",
        "item,respondent,label,probability\nq1,org1/llava,1,1e-320\n",
        "the probability is '1e-320'",
    ),
    ("no label", "item,respondent,label\n", "it holds no label"),
    ("no file", "", "there is no such file"),
]


@pytest.mark.parametrize(
    ("content", "sentence"), [row[1:] for row in LABELS], ids=[row[0] for row in LABELS]
)
def test_labels_are_checked_before_anybody_is_asked(
    tmp_path: Path, run: Run, dogs: Path, content: str, sentence: str
) -> None:
    rows = [
        {"respondent": f"{organization}/llava", "item": f"q{i}", "answer": "Yes"}
        for organization in ("org1", "org2")
        for i in range(12)
    ]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if content:
        (tmp_path / "labels.csv").write_text(content)
    store = tmp_path / "s.sqlite"
    options = [
        "--recorded",
        tmp_path / "answers.jsonl",
        "--criterion",
        tmp_path / "labels.csv",
        "--store",
        store,
        "-q",
    ]
    status, _, err = run("audit", dogs, *options, "--out", tmp_path / "out")
    assert (status, err.count("\n")) == (1, 1)
    assert sentence in err
    with hqm.Store(store) as opened:
        assert (opened.count(), opened.judged("mine")) == (0, [])


def test_labels_go_to_the_model_that_they_name(tmp_path: Path, dogs: Path) -> None:
    benchmark = hqm.load(str(dogs))
    (tmp_path / "labels.csv").write_text(
        "item,respondent,label\nq1,org1/llava,1\nq1,org2/llava,0\nq2,blip,1\n"
    )
    names = ["recorded/org1/llava", "recorded/org2/llava", "recorded/blip"]
    labels = benchmark.read_criterion(tmp_path / "labels.csv", benchmark.original, names)
    assert [(label.respondent, label.label) for label in labels] == list(
        zip(names, (1, 0, 1), strict=True)
    )


# --- released answer files ---

QUESTIONS = [
    ("1.jpg", "Is there a dog in the image?", "yes"),
    ("1.jpg", "Is there a cat in the image?", "no"),
    ("2.jpg", "Is there a dog in the image?", "yes"),
    ("2.jpg", "Is there an imange in the imange?", "no"),
]
OTHER_QUESTIONS = [
    ("1.jpg", "Is there a dog in the image?", "yes"),
    ("1.jpg", "Is there a bus in the image?", "no"),
    ("2.jpg", "Is there a dog in the image?", "yes"),
    ("2.jpg", "Is there a hat in the image?", "no"),
]


@pytest.fixture
def pope(tmp_path: Path) -> hqm.Benchmark:
    """Two question files of POPE with four questions each; the positives are the same in both."""
    folder = tmp_path / "data" / "pope"
    folder.mkdir(parents=True)
    for part, questions in (("random", QUESTIONS), ("adversarial", OTHER_QUESTIONS)):
        rows = [
            {
                "question_id": i,
                "image": f"COCO_val2014_00000000000{image}",
                "text": text,
                "label": label,
            }
            for i, (image, text, label) in enumerate(questions, 1)
        ]
        (folder / f"coco_pope_{part}.json").write_text(
            "".join(json.dumps(row) + "\n" for row in rows)
        )
    return hqm.load("pope", data=tmp_path / "data")


def rows_of(
    *fields: str, order: tuple[int, ...] = (0, 1, 2, 3), questions: Any = QUESTIONS
) -> list[dict[str, Any]]:
    """Answers that are all right, in an order, with some fields that say which question they
    answer.
    """
    field_makers = {
        "image": lambda i: f"COCO_val2014_00000000000{questions[i][0]}",
        "number": lambda i: questions[i][0].removesuffix(".jpg"),
        "question": lambda i: questions[i][1],
        "prompt": lambda i: (
            questions[i][1].replace("imange", "image") + "\nAnswer with a single word."
        ),
        "question_id": lambda i: i + 1,
        "category": lambda i: "random" if questions is QUESTIONS else "adversarial",
    }
    rows = [
        {name.replace("number", "image_id"): field_makers[name](i) for name in fields}
        for i in order
    ]
    return [{**row, "answer": questions[i][2].title()} for row, i in zip(rows, order, strict=True)]


JOINED: list[tuple[str, list[dict[str, Any]], str | None, int]] = [
    ("neither text nor id: by row", rows_of(), "coco_random", 4),
    ("neither, and fewer", rows_of(order=(0, 1, 2)), "coco_random", 3),
    ("texts in order", rows_of("question"), "coco_random", 4),
    ("texts in order, part not named", rows_of("question"), None, 4),
    ("texts in order, and fewer", rows_of("question", order=(0, 1)), "coco_random", 2),
    ("empty texts: by row", [{**row, "question": ""} for row in rows_of()], "coco_random", 4),
    ("prompts in order", rows_of("prompt"), "coco_random", 4),
    (
        "picture and text, another order",
        rows_of("image", "question", order=(3, 0, 2, 1)),
        "coco_random",
        4,
    ),
    (
        "picture and prompt, another order",
        rows_of("image", "prompt", order=(2, 3, 1)),
        "coco_random",
        3,
    ),
    ("picture by number", rows_of("number", "prompt", order=(1, 0)), "coco_random", 2),
    ("picture and text, part not named", rows_of("image", "question", order=(1, 0, 3)), None, 3),
    (
        "another case",
        [{**r, "question": r["question"].upper()} for r in rows_of("image", "question")],
        "coco_random",
        4,
    ),
    (
        "other spaces",
        [{**r, "question": r["question"].replace(" ", "  ")} for r in rows_of("image", "question")],
        "coco_random",
        4,
    ),
    ("ids, another order", rows_of("question_id", order=(3, 1, 0)), "coco_random", 3),
    (
        "ids and texts, another order",
        rows_of("question_id", "question", order=(3, 2, 1, 0)),
        "coco_random",
        4,
    ),
    ("ids of HQM", [{"id": f"coco_random/{i + 1}", **rows_of()[i]} for i in (2, 0)], None, 2),
    (
        "both parts in one file, by category",
        rows_of("image", "question", "category")
        + rows_of("image", "question", "category", questions=OTHER_QUESTIONS),
        None,
        8,
    ),
    (
        "one part of a file of both",
        rows_of("image", "question", "category")
        + rows_of("image", "question", "category", questions=OTHER_QUESTIONS),
        "coco_adversarial",
        4,
    ),
    (
        "a category that is no part",
        [{**r, "category": "object"} for r in rows_of("image", "question")],
        "coco_random",
        4,
    ),
]


@pytest.mark.parametrize(
    ("rows", "part", "answered"), [row[1:] for row in JOINED], ids=[row[0] for row in JOINED]
)
def test_answers_are_joined_by_what_their_rows_say(
    tmp_path: Path, pope: hqm.Benchmark, rows: list[dict[str, Any]], part: str | None, answered: int
) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    scored = score_file(pope, path, part)
    assert (scored.metrics["accuracy"], scored.states["ok"]) == (1.0, answered)


REFUSED: list[tuple[str, list[dict[str, Any]], str | None, str]] = [
    (
        "texts of another part",
        rows_of("question", questions=OTHER_QUESTIONS),
        "coco_random",
        "2 of 4 rows are about other questions: record 2 asks 'Is there a bus in the image?'",
    ),
    (
        "pictures and texts of another part",
        rows_of("image", "question", questions=OTHER_QUESTIONS),
        "coco_random",
        (
            "2 of 4 rows are about other questions: record 2 asks 'Is there a bus in the image?'"
            " about COCO_val2014"
        ),
    ),
    (
        "texts in another order",
        rows_of("question", order=(1, 0, 3, 2)),
        "coco_random",
        "4 of 4 rows are about other questions: record 1 asks 'Is there a cat in the image?'",
    ),
    (
        "the first three and no more",
        rows_of("question", order=(1, 0, 3, 2)),
        "coco_random",
        "and 1 more",
    ),
    (
        "one row left out",
        rows_of("question", order=(0, 2, 3)),
        "coco_random",
        "rows are about other questions: record 2",
    ),
    (
        "ids of other questions",
        rows_of("question_id", "question", questions=OTHER_QUESTIONS),
        "coco_random",
        "record 2 asks",
    ),
    (
        "ids that nobody knows",
        [{**row, "question_id": 1000 + i} for i, row in enumerate(rows_of())],
        "coco_random",
        "record 1 answers '1000'",
    ),
    (
        "a picture that nobody knows",
        [{**rows_of("image", "question")[0], "image": "9.jpg"}],
        "coco_random",
        "record 1 asks 'Is there a dog in the image?' about 9.jpg",
    ),
    (
        "a question answered twice",
        rows_of("image", "question", order=(0, 0)),
        "coco_random",
        "is answered twice",
    ),
    ("positives only fit both parts", rows_of("image", "question", order=(0, 2)), None, "--part"),
    (
        "a category of another part",
        rows_of("image", "question", "category", questions=OTHER_QUESTIONS),
        "coco_random",
        "about other",
    ),
    ("no part fits", [{"question": "Is it?", "answer": "Yes"}], None, "--part"),
    ("no answer", [{"question": "Is it?"}], "coco_random", "none of the fields 'answer'"),
    ("an answer that is an object", [{"answer": {"yes": 1}}], "coco_random", "which is no text"),
    ("an answer that is a list", [{"answer": ["Yes", "No"]}], "coco_random", "which is no text"),
]


@pytest.mark.parametrize(
    ("rows", "part", "sentence"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_rows_about_other_questions_are_refused(
    tmp_path: Path, pope: hqm.Benchmark, rows: list[dict[str, Any]], part: str | None, sentence: str
) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(AnswerError) as caught:
        score_file(pope, path, part)
    # a remedy follows the sentence
    assert sentence in str(caught.value)


def test_the_questions_beside_the_answers_say_what_was_asked(
    tmp_path: Path, pope: hqm.Benchmark
) -> None:
    """As LLaVA lays them: answers in a folder below the questions, whose ids they name; no row says
    its picture.
    """
    questions_asked = [
        {"question_id": 70 + i, **row}
        for i, row in enumerate(rows_of("image", "prompt", order=(3, 1, 2)))
    ]
    questions = [
        {"question_id": r["question_id"], "image": r["image"], "text": r["prompt"]}
        for r in questions_asked
    ]
    answers = [
        {"question_id": r["question_id"], "prompt": r["prompt"], "text": r["answer"]}
        for r in questions_asked
    ]
    (tmp_path / "eval" / "answers").mkdir(parents=True)
    path = tmp_path / "eval" / "answers" / "model.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in answers))
    with pytest.raises(AnswerError, match="record 1 asks"):
        score_file(pope, path, "coco_random")
    questions_path = tmp_path / "eval" / "llava_pope_test.jsonl"
    questions_path.write_text("".join(json.dumps(row) + "\n" for row in questions))
    scored = score_file(pope, path, "coco_random")
    assert (scored.metrics["accuracy"], scored.states["ok"]) == (1.0, 3)
    questions_path.write_text(
        "".join(json.dumps({**row, "text": "Is there a bus?"}) + "\n" for row in questions)
    )
    with pytest.raises(
        AnswerError, match=pattern_of("rows.other-questions", wrong=3, rows=3, first="record 1")
    ):
        score_file(pope, path, "coco_random")


@pytest.mark.parametrize(
    ("part", "accuracy", "answered"), [("random", 0.8809, 2712), ("adversarial", 0.8513, 3000)]
)
def test_the_answers_that_llava_released(
    data: Path, part: str, accuracy: float, answered: int
) -> None:
    path = data / "logs" / "llava" / "llava-v1.5-7b_pope.jsonl"
    scored = score_file(hqm.load("pope", data=data), path, f"coco_{part}")
    assert round(scored.metrics["accuracy"] or 0, 4) == accuracy
    assert scored.states["ok"] == answered


# --- what was administered ---


@pytest.fixture
def twins(make_benchmark: Callable[..., Path]) -> hqm.Benchmark:
    """Twelve questions, of which the last is the negation that the parallel form makes of the
    first.
    """
    objects = ["dog", "cat", "car", "bus", "hat", "cup", "key", "map", "pen", "bag", "jug"]
    rows = [
        {"id": f"q{i}", "prompt": f"Is there a {subject} in the image?", "target": "yes"}
        for i, subject in enumerate(objects)
    ]
    plain = hqm.load(str(make_benchmark(rows)))
    negation = plain.parallel_form.items[0]
    last = {"id": "q11", "prompt": negation.prompt, "target": negation.target}
    return hqm.load(str(make_benchmark([*rows, last])))


class Live:
    """A respondent that answers "Yes" to everything, as one that is asked and not replayed."""

    live, name = True, "openai/a"

    def identity(self) -> dict[str, str]:
        return {"kind": "openai"}

    def answer(self, requests: Any) -> Any:
        yield [(request, hqm.Response("Yes")) for request in requests]

    def close(self) -> None:
        """Nothing is held."""


def administer_forms(
    store: hqm.Store, benchmark: hqm.Benchmark, *administrations: tuple[str, int]
) -> list[str]:
    """Put forms in runs to the live respondent; the administrations that the store then knows
    of.
    """
    from hqm.administration.stored_answers import cells_in, forms_of, respondents_in

    asks = hqm.Asks(store)
    forms = {form.name: form for form in forms_of(benchmark)}
    assignment = hqm.assign(Live(), benchmark)  # type: ignore[arg-type]
    hqm.administer(
        store,
        [
            hqm.plan_job(asks, assignment, hqm.Administration(forms[f], r))
            for f, r in administrations
        ],
    )
    respondents = respondents_in(hqm.Asks(store), benchmark)
    return [
        f"{cell.form} {cell.run}"
        for cell in cells_in(hqm.Asks(store), benchmark, list(forms.values()), respondents)
    ]


ADMINISTERED: list[tuple[tuple[tuple[str, int], ...], list[str]]] = [
    ((("original", 0),), ["original 0"]),
    ((("original", 0), ("original", 1)), ["original 0", "original 1"]),
    ((("original", 0), ("parallel", 0)), ["original 0", "parallel 0"]),
    (
        (("original", 0), ("original", 1), ("parallel", 0)),
        ["original 0", "original 1", "parallel 0"],
    ),
    ((("original", 0), ("parallel", 1)), ["original 0", "parallel 1"]),
    ((("parallel", 0),), []),
]


@pytest.mark.parametrize(("administrations", "expected"), ADMINISTERED)
@pytest.mark.parametrize("old", [False, True])
def test_an_administration_exists_where_it_was_put(
    store: hqm.Store,
    twins: hqm.Benchmark,
    administrations: tuple[tuple[str, int], ...],
    expected: list[str],
    old: bool,
) -> None:
    """Also in a store of HQM 0.1.0, which did not record it."""
    if old:
        store.mark_administrations_missing()
        store.record_administration = lambda *_, **__: None  # type: ignore[method-assign]
    cells = administer_forms(store, twins, *administrations)
    # in an old store, the one answer shared with the original form looks like a beginning of it
    assert cells == (["original 0", "parallel 0"] if old and not expected else expected)


def test_shared_answers_are_not_asked_again(store: hqm.Store, twins: hqm.Benchmark) -> None:
    assert administer_forms(store, twins, ("original", 0)) == ["original 0"]
    assert store.count() == 12
    assert administer_forms(store, twins, ("parallel", 0)) == ["original 0", "parallel 0"]
    assert store.count() < 24


def test_a_respondent_that_was_not_put_a_form_has_no_answers_to_it(
    store: hqm.Store, twins: hqm.Benchmark
) -> None:
    administer_forms(store, twins, ("original", 0))
    respondent = respondents_in(hqm.Asks(store), twins)[0]
    answers = hqm.Answers(hqm.Asks(store)).responses(twins, twins.parallel_form, respondent, 0)
    assert answers == [None] * len(twins.parallel_form.items)


def test_another_benchmark_with_the_same_questions_was_not_put(
    store: hqm.Store, twins: hqm.Benchmark, make_benchmark: Callable[..., Path]
) -> None:
    administer_forms(store, twins, ("original", 0))
    rows = [{"id": i.id, "prompt": i.prompt, "target": i.target} for i in twins.original.items[:5]]
    other_benchmark = hqm.load(str(make_benchmark(rows, name="other")))
    assert respondents_in(hqm.Asks(store), other_benchmark) == []
    assert administer_forms(store, other_benchmark, ("original", 0)) == ["original 0"]
    assert store.count() == 12, "its answers are shared"


def test_a_corrected_target_leaves_the_administration(store: hqm.Store, dogs: Path) -> None:
    benchmark = hqm.load(str(dogs))
    texts = {item.id: "Yes" for item in benchmark.original.items}
    administered(
        store, benchmark, [recorded("a", {("original", 0): texts, ("original", 1): texts})]
    )
    lines = (dogs / "items.jsonl").read_text().splitlines()
    lines[0] = json.dumps({**json.loads(lines[0]), "target": "no"})
    (dogs / "items.jsonl").write_text("\n".join(lines))
    corrected = hqm.load(str(dogs))
    assert corrected.original.digest != benchmark.original.digest
    evidence = hqm.gather(corrected, store)
    assert [str(cell) for cell in evidence.matrices] == [
        "form=original|run=0|judge=rule",
        "form=original|run=1|judge=rule",
    ]
