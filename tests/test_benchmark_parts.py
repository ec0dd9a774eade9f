"""Parts of a benchmark that are otherwise seen with released data alone, on a few made records."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hqm.adapters.pope import Pope

import hqm
from hqm.benchmark.analyses import Entry, ScoredAnswer, made_up_objects
from hqm.benchmark.card import Card
from hqm.benchmark.corrected_keys import _by_release, _marked_target
from hqm.benchmark.log_benchmark import _first_form, _metrics
from hqm.benchmark.log_items import form_name
from hqm.benchmark.registry import adapter_of
from hqm.errors import AnswerError, CardError, DataError
from hqm.imports.intake import take_rows
from hqm.imports.row import Log, Row
from hqm.indicators import case
from hqm.indicators.single_items import _enough_for_rasch
from hqm.psychometrics import leave_one_out, ppi_scores
from hqm.scoring.parsers import parser
from hqm.types import Item
from tests.conftest import write_benchmark
from tests.test_flags import ACCURACY, PROTOCOL, items, matrix


def answered(texts: dict[str, str | None]) -> Iterator[ScoredAnswer]:
    """Answers whose words are what they name; without a text, answers that are not scored."""
    for index, (name, text) in enumerate(texts.items()):
        respondent, _, picture = name.partition(" ")
        item = Item(f"q{index}", "Describe it.", "caption", "", picture)  # type: ignore[arg-type]
        value = None if text is None else 0.5
        yield ScoredAnswer(
            respondent=respondent, item=item, text=text or "zebra", value=value, tally={}
        )


def test_objects_made_up_by_hand() -> None:
    kinds = {"dog": "animal", "car": "vehicle", "tie": "thing", "man": "person", "zebra": "animal"}
    texts = {
        "m park": "dog dog car",
        "m street": "man tie",
        "m office": "dog tie",
        "m sea": " ",
        "m lost": None,  # is not scored
        "n park": "car",
    }
    objects, categories, beside_person = made_up_objects(
        list(answered(texts)),
        lambda answer: answer.text.split(),
        lambda answer: answer.item.image == "office",
        lambda word: word == "man",
        lambda word: kinds[word],
    )

    def rows(table: Any) -> list[tuple[Entry, ...]]:
        return [tuple(row) for row in table.rows]

    assert rows(objects) == [
        ("m", "dog", "animal", 3, 3 / 7, 2, 4),
        ("m", "tie", "thing", 2, 2 / 7, 2, 4),
        ("m", "car", "vehicle", 1, 1 / 7, 1, 4),
        ("m", "man", "person", 1, 1 / 7, 1, 4),
        ("n", "car", "vehicle", 1, 1.0, 1, 1),
    ]
    assert rows(categories) == [
        ("m", "animal", 3, 3 / 7),
        ("m", "thing", 2, 2 / 7),
        ("m", "person", 1, 1 / 7),
        ("m", "vehicle", 1, 1 / 7),
        ("n", "vehicle", 1, 1.0),
    ]
    # somebody is in the office, and made up in the street
    assert rows(beside_person) == [("m", "tie", 2, 2, 1.0, 0.0), ("m", "dog", 1, 2, 0.5, 0.5)]
    everywhere = {f"m {k}": "man " + " ".join(sorted(set(kinds) - {"man"})) for k in range(2)}
    (*_, everywhere_table) = made_up_objects(
        list(answered(everywhere)),
        lambda answer: answer.text.split(),
        lambda answer: False,
        lambda word: word == "man",
        lambda word: kinds[word],
    )
    assert {row[-1] for row in everywhere_table.rows} == {None}, "there is no other caption"
    long_texts = {f"m {k}": " ".join(f"w{i:02d}" for i in range(k, 30)) for k in range(30)}
    first, _, capped_table = made_up_objects(
        list(answered(long_texts)),
        lambda answer: answer.text.split(),
        lambda answer: True,
        lambda word: False,
        lambda word: "thing",
    )
    assert [row[1] for row in first.rows] == [f"w{29 - i:02d}" for i in range(20)]
    assert [row[1] for row in capped_table.rows] == ["w29", "w28", "w27", "w26", "w25"]


@pytest.mark.parametrize(
    ("forms", "first"),
    [
        (["a", "b"], "a"),
        (["b", "a", "b"], "b"),
        (["a", ""], ""),
        (["a", "original"], ""),
        (["", "original"], ""),
        ([""], ""),
    ],
)
def test_the_form_of_a_log_that_stands_for_the_original(forms: list[str], first: str) -> None:
    rows = tuple(Row(place=f"a.csv: row {k}", form=name) for k, name in enumerate(forms))
    logs = [Log(path="a.csv", tool="t", rows=log_rows) for log_rows in (rows[:1], rows[1:])]
    assert _first_form(logs) == first
    form_names = [form_name(row, _first_form(logs)) for row in rows]
    assert form_names == ["original" if f in ("", "original", first) else f for f in forms]


def card(**fields: Any) -> Card:
    return Card.model_validate(
        {"name": "mine", "version": "1", "title": "Mine", "task": "yes_no", **fields}
    )


def test_the_adapter_of_a_card() -> None:
    assert adapter_of(card()) is hqm.Benchmark
    assert adapter_of(card(adapter="pope")) is adapter_of(card(name="pope")) is Pope
    with pytest.raises(CardError, match="'nobody'"):
        adapter_of(card(adapter="nobody"))


ROWS = [
    {
        "id": f"q{k}",
        "prompt": f"Is there a {noun}?",
        "target": "yes",
        "image": f"{k}.png",
        "type": "existence",
    }
    for k, noun in enumerate(("dog", "cat", "tie"))
]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> hqm.Benchmark:
    folder = write_benchmark(tmp_path_factory.mktemp("three") / "three", ROWS, name="three")
    return hqm.load(str(folder))


def test_a_mark_is_the_reply_of_the_only_role(
    three: hqm.Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(three), "roles", ("verifier",), raising=False)
    assert three.replies_saying("yes") == {"verifier": ("yes",)}
    for roles in ((), ("splitter", "verifier")):
        monkeypatch.setattr(type(three), "roles", roles, raising=False)
        with pytest.raises(AnswerError, match="three"):
            three.replies_saying("yes")


def test_a_corrected_key_is_named_by_its_record(three: hqm.Benchmark) -> None:
    records = [{"image": row["image"], "text": row["prompt"], "label": "no"} for row in ROWS[:2]]
    key = take_rows("key.jsonl", records, names=())
    targets, left = _by_release(key, three.original, three)
    assert targets == {"q0": "no", "q1": "no"}
    assert left == ["q2"]
    records[1]["label"] = "perhaps"
    key = take_rows("key.jsonl", records, names=())
    with pytest.raises(DataError) as refused:
        _by_release(key, three.original, three)
    assert refused.value.location == "key.jsonl: record 2"
    records[1] = {"image": "9.png", "text": "Is there a boat?", "label": "no"}
    key = take_rows("key.jsonl", records, names=())
    with pytest.raises(DataError, match=r"1 of 2 rows") as refused:
        _by_release(key, three.original, three)
    assert refused.value.location == "key.jsonl: record 2"
    item = three.original.items[0]
    assert _marked_target({"mark": "wrong key"}, item, "x") == "no"
    assert _marked_target({"mark": "wrong key"}, replace(item, target="no"), "x") == "yes"
    with pytest.raises(DataError, match="'odd'"):
        _marked_target({"mark": "odd"}, item, "x")


@pytest.mark.parametrize(("respondents", "graded"), [(29, False), (30, False), (30, True)])
def test_a_rasch_model_needs_thirty_respondents_and_right_or_wrong(
    respondents: int, graded: bool
) -> None:
    right = (np.random.default_rng(0).random((respondents, 12)) < 0.5).astype(float)
    items_case = case("items", "", (matrix(right, of=items(12)),), ACCURACY, PROTOCOL)
    if graded:
        vars(items_case)["cache"]["item_scores"] = right[None] * 0.5
    assert _enough_for_rasch(items_case) == (respondents == 30 and not graded)


def test_scores_of_a_log_become_metrics_those_of_all_questions_first() -> None:
    rows = [
        Row(
            place=f"a.csv: row {k}",
            answer=hqm.Response(
                "x", "ok", "", {"scores": {"j": {**({"hit": 1.0} if k < 2 else {}), **scores}}}
            ),
        )
        for k, scores in enumerate(
            [{"a": 0.0, "b": 2.0, "c": 0.0}, {"a": 1.0, "b": 0.5, "c": 1.0}] * 2
        )
    ]
    metrics, notes = _metrics(rows, {"b"}, "mine")
    summaries = [(m.name, m.better, m.subset, m.share) for m in metrics]
    assert summaries == [
        ("a", "higher", "", True),
        ("b", "lower", "", False),
        ("hit", "higher", "hit", True),
    ]
    assert [m.scale for m in metrics] == [(0, 1), (None, None), (0, 1)]
    assert len(notes) == 1
    assert notes[0].startswith("a stands for c")
    assert _metrics([Row(place="a.csv: row 0")], set(), "mine") == ((), [])


def test_a_negated_question_is_read_by_a_parser_that_reads_negation(
    three: hqm.Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = three.original.items[0]
    turned = replace(item, rule="polar.no")
    reader = three.reader(item)
    assert reader == three.parser.for_task("yes_no")
    assert three.reader(turned).reads_negation
    for reads in (True, False):
        monkeypatch.setattr(three, "parser", replace(reader, reads_negation=reads))
        expected = three.parser.for_task("yes_no")
        assert three.reader(item) == expected
        assert three.reader(turned) == (expected if expected.reads_negation else parser("strict"))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_two_labels_with_their_probability_are_enough(count: int) -> None:
    automatic = np.array([[1, 0, 1, 1, 0, 1.0]])
    human = np.where(np.arange(6) < count, 1 - automatic, np.nan)
    study = ppi_scores(automatic, human, probabilities=np.where(np.isfinite(human), 0.5, np.nan))
    assert study.scores[0].status == ("ok" if count > 1 else "insufficient")
    assert study.labels == (count,)
    if count > 1:
        assert study.scores[0].value == pytest.approx(human[0, :count].mean())


def test_one_respondent_that_lies_far_off_is_named_alone() -> None:
    x = np.array([0.1, 0.2, 0.15, 0.12, 0.18, 0.9])
    y = np.array([0.2, 0.1, 0.16, 0.19, 0.12, 0.95])

    def pearson(indices: np.ndarray) -> float:
        return float(np.corrcoef(x[indices], y[indices])[0, 1])

    study = leave_one_out(pearson, 6, scores=x)
    assert (study.strongest, study.far) == (5, (5,))
    assert study.without_far == pytest.approx(np.corrcoef(x[:5], y[:5])[0, 1])
    assert leave_one_out(pearson, 3).status == "insufficient"
