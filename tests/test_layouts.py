"""Logs in every shape that people leave them in give the scores that they were written with, or a
refusal; never other scores.
"""

import csv
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openpyxl
import pytest

import hqm
from hqm.errors import HQMError
from hqm.imports.answer_table import parse_table_columns
from tests.conftest import Run, counts
from tests.messages import pattern_of, tells

MODELS = ("gpt-4", "llava_1.5", "Qwen VL", "blip2", "otter9B", "model-x")
ID_FORMS = ("q{}", "{}", "val_Jigsaw_{}", "v1_{}", "00{}.png", "item {}")


@dataclass(frozen=True)
class World:
    """Answers whose scores are known."""

    models: tuple[str, ...]
    keys: dict[str, str]
    """Item -> yes or no."""
    answers: dict[tuple[str, str], str]
    """(Model, item) -> yes or no."""

    def score(self, model: str) -> float:
        """The share of right answers."""
        right = [self.answers[model, item] == key for item, key in self.keys.items()]
        return sum(right) / len(right)


def world_of(seed: int) -> World:
    draw = random.Random(seed)
    models = tuple(draw.sample(MODELS, draw.randint(2, 4)))
    id_form = draw.choice(ID_FORMS)
    items = [id_form.format(i) for i in range(draw.randint(7, 15))]
    keys = {item: draw.choice(("yes", "no")) for item in items}
    keys |= dict(zip(items, ("yes", "no"), strict=False))  # both occur
    answers = {(model, item): draw.choice(("yes", "no")) for model in models for item in items}
    return World(models, keys, answers)


def rows_of(world: World, model: str, *, key: bool, score: bool) -> list[dict[str, Any]]:
    rows = []
    for item, right in world.keys.items():
        answer = world.answers[model, item]
        row: dict[str, Any] = {"id": item, "response": answer.title() + "."}
        if key:
            row["target"] = right
        if score:
            row["correct"] = int(answer == right)
        rows.append(row)
    return rows


def dump(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


Writer = Callable[[Path, World, str, random.Random], None]


def write_lines(folder: Path, world: World, model: str, draw: random.Random) -> None:
    rows = rows_of(world, model, key=True, score=draw.random() < 0.5)
    text = "".join(json.dumps({"model": model, **row}) + "\n" for row in rows)
    (folder / f"{model}.jsonl").write_text(text)


def write_keyed_rows(folder: Path, world: World, model: str, draw: random.Random) -> None:
    """LogicVista: item -> {answer, reasoning}."""
    rows = {
        item: {"answer": world.answers[model, item], "reasoning": "none"} for item in world.keys
    }
    dump(folder / f"{model}.json", rows)


def write_texts(folder: Path, world: World, model: str, draw: random.Random) -> None:
    """MM-Vet, BLINK: item -> answer."""
    dump(folder / f"{model}.json", {item: world.answers[model, item] for item in world.keys})


def write_columns(folder: Path, world: World, model: str, draw: random.Random) -> None:
    rows = rows_of(world, model, key=True, score=draw.random() < 0.5)
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    dump(folder / f"{model}.json", {"model": model, **columns, "accuracy": 0.99})


def write_frame(folder: Path, world: World, model: str, draw: random.Random) -> None:
    """What pandas writes by itself: column -> row number -> cell."""
    rows = rows_of(world, model, key=True, score=draw.random() < 0.5)
    frame = {name: {str(i): row[name] for i, row in enumerate(rows)} for name in rows[0]}
    dump(folder / f"{model}.json", frame)


def write_split_frame(folder: Path, world: World, model: str, draw: random.Random) -> None:
    rows = rows_of(world, model, key=True, score=draw.random() < 0.5)
    index = list(range(len(rows)))
    frame = {"columns": list(rows[0]), "index": index, "data": [list(row.values()) for row in rows]}
    dump(folder / f"{model}.json", frame)


def write_numbered_rows(folder: Path, world: World, model: str, draw: random.Random) -> None:
    rows = rows_of(world, model, key=True, score=draw.random() < 0.5)
    dump(folder / f"{model}.json", {str(i): row for i, row in enumerate(rows)})


def write_nested(folder: Path, world: World, model: str, draw: random.Random) -> None:
    rows = rows_of(world, model, key=True, score=draw.random() < 0.5)
    name = draw.choice(("results", "samples", "predictions", "outputs", "data"))
    settings = draw.choice(({"model": model}, {"config": {"model": model, "seed": 3}}, {}))
    dump(folder / f"{model}.json", {"acc": 12.5, "correct": 3, **settings, name: rows})


def write_nested_texts(folder: Path, world: World, model: str, draw: random.Random) -> None:
    answers = {item: world.answers[model, item] for item in world.keys}
    dump(folder / f"{model}.json", {"model": model, "answers": answers, "acc": 3.0})


def write_splits(folder: Path, world: World, model: str, draw: random.Random) -> None:
    """BLINK: rows below the names of splits."""
    rows = rows_of(world, model, key=True, score=draw.random() < 0.5)
    cut = draw.randint(1, len(rows) - 1)
    dump(folder / f"{model}.json", {"val": rows[:cut], "test": rows[cut:]})


def write_parts(folder: Path, world: World, model: str, draw: random.Random) -> None:
    """MMMU: a folder for each model, a file for each subject."""
    rows = rows_of(world, model, key=True, score=draw.random() < 0.5)
    for part in range(3):
        dump(folder / model / f"part{part}" / "output.json", rows[part::3])


def write_named_parts(folder: Path, world: World, model: str, draw: random.Random) -> None:
    """IgakuQA: files that are called by their part and their model."""
    rows = rows_of(world, model, key=True, score=draw.random() < 0.5)
    for part in range(3):
        dump(folder / f"part{part}_{model}.json", rows[part::3])


def write_helm(folder: Path, world: World, model: str, draw: random.Random) -> None:
    """HELM: the requests of a run, with the instances that they ask."""
    states = []
    for item, right in world.keys.items():
        tags = {right: ["correct"]}
        references = [{"output": {"text": t}, "tags": tags.get(t, [])} for t in ("yes", "no")]
        answer = "AB"[("yes", "no").index(world.answers[model, item])]
        question = {"input": {"text": f"Is it {item}?"}, "references": references, "id": item}
        state = {"instance": question, "output_mapping": {"A": "yes", "B": "no"}}
        states.append({**state, "result": {"completions": [{"text": f" {answer}"}]}})
    name = "scenario_state" if draw.random() < 0.5 else "part"
    spec = {"method": "multiple_choice_joint", "model": model}
    path = folder / f"part,model={model}" / f"{name}.json"
    dump(path, {"adapter_spec": spec, "request_states": states})


def write_sheet(folder: Path, world: World, model: str, draw: random.Random) -> None:
    """LogicVista: columns that carry the model's name, and the rows' numbers without a heading."""
    rows = [["", "id", "skill", "true answer", f"{model} answer raw", f"{model} answer extracted"]]
    is_scored = draw.random() < 0.5
    if is_scored:
        rows[0].append("match?")
    for i, (item, right) in enumerate(world.keys.items()):
        answer = world.answers[model, item]
        cells = [str(i), item, "['a', 'b']", f"['{right}']", f"{answer}, I think", f"['{answer}']"]
        rows.append([*cells, str(int(answer == right))] if is_scored else cells)
    if draw.random() < 0.5:
        with (folder / f"{model}-accuracy-results.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)
        return
    book = openpyxl.Workbook()
    for cells in rows:
        book.active.append(cells)
    book.save(folder / f"{model}-accuracy-results.xlsx")


KEYED: tuple[Writer, ...] = (
    write_lines,
    write_columns,
    write_frame,
    write_split_frame,
    write_numbered_rows,
    write_nested,
    write_splits,
    write_sheet,
)
"""Shapes that name the right answers."""
KEYLESS: tuple[Writer, ...] = (write_keyed_rows, write_texts, write_nested_texts)
"""Shapes beside which a file of right answers lies."""


def write_key(folder: Path, world: World, draw: random.Random) -> None:
    keys: dict[str, Any]
    if draw.random() < 0.5:
        keys = {
            item: {"question": f"Is it {item}?", "answer": key, "skill": ["x"]}
            for item, key in world.keys.items()
        }
        dump(folder / "dataset.json", keys)
    elif draw.random() < 0.5:
        keys = {item: {"ground_truth": key} for item, key in world.keys.items()}
        dump(folder / "answer_dict_val.json", keys)
    else:
        dump(folder / "key.json", world.keys)


def scores_of(path: Path) -> dict[str, float]:
    """Respondent -> mean score, as HQM reads the logs."""
    (benchmark,) = hqm.from_logs(path)
    items = {item.id: item for item in benchmark.original.items}
    scores = {}
    for recording in benchmark.included_recordings:
        assert recording.run == 0
        values = []
        for item, answer in recording.answers.items():
            recorded = answer.detail.get("scores", {}).get("")
            value = (
                next(iter(recorded.values()))
                if recorded
                else benchmark.verdict(items[item], answer).value
            )
            values.append(value)
        scores[recording.respondent] = sum(values) / len(values)
    return scores


def check(folder: Path, world: World) -> None:
    expected = {model: world.score(model) for model in world.models}
    scores = scores_of(folder)
    assert sorted(scores.values()) == pytest.approx(sorted(expected.values())), (scores, expected)
    for model, score in expected.items():
        respondents = [name for name in scores if model in name]
        assert any(scores[name] == pytest.approx(score) for name in respondents), (model, scores)


@pytest.mark.parametrize(
    "writer", [*KEYED, write_helm, *KEYLESS], ids=lambda writer: writer.__name__[6:]
)
def test_each_shape_has_the_scores_that_it_was_written_with(tmp_path: Path, writer: Writer) -> None:
    for seed in range(counts(40)):
        world = world_of(seed)
        draw = random.Random(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        for model in world.models:
            writer(folder, world, model, draw)
        if writer in KEYLESS:
            write_key(folder, world, draw)
        check(folder, world)


@pytest.mark.parametrize("writer", [write_parts, write_named_parts])
def test_parts_of_a_models_answers_are_one_respondent(tmp_path: Path, writer: Writer) -> None:
    for seed in range(counts(40)):
        world = world_of(seed)
        for model in world.models:
            writer(tmp_path / str(seed), world, model, random.Random(seed))
        check(tmp_path / str(seed), world)


def test_mixed_shapes_have_the_scores_that_they_were_written_with_or_are_refused(
    tmp_path: Path,
) -> None:
    n_refused = 0
    n_worlds = counts(300)
    for seed in range(1000, 1000 + n_worlds):
        world = world_of(seed)
        draw = random.Random(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        write_key(folder, world, draw)
        for model in world.models:
            draw.choice((*KEYED, *KEYLESS))(folder, world, model, draw)
        try:
            check(folder, world)
        except HQMError:
            n_refused += 1
    assert n_refused <= n_worlds // 3, n_refused


# --- what may be read in two ways, or is none ---


def two_models(folder: Path, **files: Any) -> Path:
    for name, value in files.items():
        dump(folder / f"{name}.json", value)
    return folder


ITEMS = [f"q{i}" for i in range(8)]
KEYS = {item: ("yes", "no")[i % 2] for i, item in enumerate(ITEMS)}


def refusal(path: Path, columns: dict[str, str] | None = None) -> HQMError:
    with pytest.raises(HQMError) as caught:
        hqm.from_logs(path, columns=columns)
    return caught.value


def test_an_object_of_objects_is_read_once_its_names_are_said(tmp_path: Path) -> None:
    answers = {"m": dict.fromkeys(ITEMS, "yes"), "n": KEYS}
    path = two_models(tmp_path, log=answers) / "log.json"
    error = refusal(path)
    assert tells(str(error), "layout.objects")
    assert tells(str(error), "layout.what", columns="model=key,item=name,answer=value")
    dump(tmp_path / "key.json", KEYS)
    # the folder's other file is a key, which has other columns
    columns = {"model": "key", "item": "name", "answer": "value"}
    (benchmark,) = hqm.from_logs([path, tmp_path / "key.json"], columns=columns)
    scores = {}
    for recording in benchmark.included_recordings:
        items = {item.id: item for item in benchmark.original.items}
        scores[recording.respondent] = [
            benchmark.verdict(items[item], answer).value
            for item, answer in recording.answers.items()
        ]
    assert {name: sum(values) for name, values in scores.items()} == {"m": 4, "n": 8}


def pairs_of(world: World, model: str) -> Any:
    """Video-ChatGPT: a pair of a grade and its question."""
    pairs = []
    for item, right in world.keys.items():
        grade = {"pred": "correct" if world.answers[model, item] == right else "incorrect"}
        pairs.append([grade, {"q": f"Is it {item}?", "pred": world.answers[model, item]}])
    return pairs


def results_of(world: World, model: str) -> Any:
    """UHGEval: what a run says once lies as deep as what it says of an item."""
    rows = []
    for item, right in world.keys.items():
        metrics = {"v1.5 accuracy": float(world.answers[model, item] == right)}
        rows.append({"id": item, "log": [{"said": world.answers[model, item]}], "metrics": metrics})
    return {"meta": {"model": {"name": model}}, "overall": {"num": 3}, "results": rows}


def two_lists_of(world: World, model: str) -> Any:
    """promptfoo: beside the rows, a list of what was asked, with a provider and a score too."""
    rows = []
    for item, right in world.keys.items():
        answer = world.answers[model, item]
        cells = {"vars": {"q": item}, "response": {"output": answer}, "score": answer == right}
        rows.append({"provider": {"id": model}, **cells})
    prompts = [{"raw": "{{q}}", "label": "a", "provider": model, "metrics": {"score": 3}}]
    return {"evalId": "e", "results": {"version": 3, "prompts": prompts, "results": rows}}


def reviews_of(world: World, model: str) -> Any:
    """EvalScope: an id and the right answer, and what the model said lies deeper."""
    rows = []
    for i, (item, right) in enumerate(world.keys.items()):
        answer = world.answers[model, item]
        score = {"value": {"acc": float(answer == right)}, "prediction": answer}
        rows.append({"index": i, "input": item, "target": right, "sample_score": {"score": score}})
    return rows


@pytest.mark.parametrize(
    ("document_of", "columns"),
    [
        (two_lists_of, "model=provider.id,item=vars.q,answer=response.output,score=score"),
        (
            reviews_of,
            "model=file,answer=sample_score.score.prediction,score=sample_score.score.value.acc",
        ),
        (pairs_of, "score=0.pred,question=1.q,answer=1.pred,item=row,model=file"),
        (pairs_of, "score=0.pred,item=folder2+row,model=folder"),
        (
            results_of,
            "model=meta.model.name,score=metrics.v1.5 accuracy,answer=log.0.said",
        ),
    ],
)
def test_a_column_may_lie_inside_another_or_be_where_the_row_lies(
    tmp_path: Path, document_of: Callable[[World, str], Any], columns: str
) -> None:
    for seed in range(counts(40)):
        world = world_of(seed)
        paths = [tmp_path / str(seed) / model / f"{model}.json" for model in world.models]
        for path, model in zip(paths, world.models, strict=True):
            dump(path, document_of(world, model))
        (benchmark,) = hqm.from_logs(paths, columns=parse_table_columns([columns]))
        scores = {}
        for recording in benchmark.included_recordings:
            recorded = [a.detail["scores"][""] for a in recording.answers.values()]
            scores[recording.respondent] = sum(next(iter(s.values())) for s in recorded)
        expected = {model: world.score(model) * len(world.keys) for model in world.models}
        assert scores == pytest.approx(expected)


def test_a_question_asked_twice_is_two_items_by_its_row(tmp_path: Path) -> None:
    rows = [{"question": "Is it red?", "target": key, "response": "yes"} for key in ("yes", "no")]
    for model in ("m", "n"):
        dump(tmp_path / f"{model}.json", rows)
    assert "twice" in str(refusal(tmp_path))
    (benchmark,) = hqm.from_logs(tmp_path, columns={"item": "row"})
    assert [item.target for item in benchmark.original.items] == ["yes", "no"]


@pytest.mark.parametrize(
    ("document", "pattern"),
    [
        ({"item": ITEMS, "answer": ["yes"] * 7}, pattern_of("layout.lengths")),
        (
            {"columns": ["id", "answer"], "data": [["q1", "yes"], ["q2"]]},
            pattern_of("layout.lengths"),
        ),
        (
            {"first": [{"id": "a", "answer": "x"}], "second": [{"id": "a", "answer": "x"}]},
            pattern_of("layout.two"),
        ),
        (
            {name: {"id": f"other {name}", "response": "yes", "answer": "yes"} for name in ITEMS},
            pattern_of("layout.names"),
        ),
        ({"gpt": {"accuracy": 0.8, "f1": 0.7}, "llava": {"accuracy": 0.6, "f1": 0.5}}, None),
        ({"average": {"accuracy": "26.1", "total": 10}, "grade": {"a": {"total": 3}}}, None),
        ({f"-level{i}": f"{i}/9={i}.0%" for i in range(9)}, None),
        ([{"model": "a", "aAcc": 0.5}, {"model": "b", "aAcc": 0.7}], pattern_of("layout.no-items")),
        (
            [{"id": i, "response": "a", "label": "good", "gold": i} for i in ITEMS],
            pattern_of("odd.rivals", field="target"),
        ),
    ],
)
def test_two_readings_and_tables_of_results_are_refused_in_a_sentence(
    tmp_path: Path, document: Any, pattern: str | None, run: Run
) -> None:
    dump(tmp_path / "log.json", document)
    status, _, err = run("audit", tmp_path / "log.json", "--out", tmp_path / "out", "--quiet")
    assert status in (1, 2)
    assert "\n" not in err.strip()
    if pattern:
        assert re.search(pattern, err)


def test_an_error_names_five_fields(tmp_path: Path) -> None:
    dump(tmp_path / "log.json", {f"field {i}": [i, [i]] for i in range(448)})
    message = str(refusal(tmp_path / "log.json"))
    assert message.count("'field ") == 5
    assert tells(message, "layout.more", n=443)


def test_tables_of_results_beside_answers_are_no_answers(tmp_path: Path) -> None:
    world = world_of(7)
    for model in world.models:
        write_texts(tmp_path, world, model, random.Random(7))
        dump(tmp_path / f"{model}_result.json", {f"-level{i}": f"{i}/9={i}.0%" for i in range(9)})
        dump(tmp_path / f"scores_{model}.json", {"average": {"accuracy": "26.1", "total": 10}})
    dump(tmp_path / "key.json", world.keys)
    check(tmp_path, world)


def test_rows_that_name_no_items_are_not_joined_by_their_places(tmp_path: Path) -> None:
    """BIG-Bench Hard: a file for each task, whose rows have neither an id nor a question."""
    for task in "ab":
        rows = [{"prediction": "yes", "target": f"{task}{i}"} for i in range(9)]
        dump(tmp_path / f"{task}.json", {"outputs": rows})
    assert tells(str(refusal(tmp_path)), "layout.positions")
    for task in "ab":  # with their questions they are parts of one respondent's answers
        rows = [
            {"input": f"{task}{i}?", "prediction": ("yes", "no")[i % 2], "target": "yes"}
            for i in range(9)
        ]
        dump(tmp_path / f"{task}.json", {"outputs": rows})
    assert list(scores_of(tmp_path).values()) == [pytest.approx(10 / 18)]


def test_a_sheet_of_several_models_has_a_row_for_each(tmp_path: Path) -> None:
    header = ["id", "question", "answer", "gpt-4 response", "Qwen VL response"]
    rows = [[item, f"Is it {item}?", KEYS[item], "Yes.", KEYS[item]] for item in ITEMS]
    path = tmp_path / "sheet.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    assert scores_of(path) == {"gpt-4": 0.5, "Qwen VL": 1.0}
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([[*header, "match?"], *([*row, "1"] for row in rows)])
    assert tells(str(refusal(path)), "layout.whose-column", n=2)


def test_numbers_beside_answers_are_scores_by_their_names_only(tmp_path: Path) -> None:
    rows = [
        {"id": item, "model": model, "response": "Yes.", "target": KEYS[item], "contains_dog": 1}
        for item in ITEMS
        for model in "mn"
    ]
    dump(tmp_path / "log.json", rows)
    (benchmark,) = hqm.from_logs(tmp_path / "log.json")
    assert not benchmark.tool_scored
    for name in ("precision", "parse_success", "correct_option", "figure_id", "image_quality"):
        dump(tmp_path / "log.json", [{**row, name: i % 3} for i, row in enumerate(rows)])
        (benchmark,) = hqm.from_logs(tmp_path / "log.json")
        assert not benchmark.tool_scored, name
    rows = [{**row, "true_false": i % 3 == 0} for i, row in enumerate(rows)]
    dump(tmp_path / "log.json", rows)
    (benchmark,) = hqm.from_logs(tmp_path / "log.json")
    assert [metric.name for metric in benchmark.metrics] == ["true_false"]


def test_a_key_that_contradicts_all_rows_is_refused(tmp_path: Path) -> None:
    rows = [{"id": item, "response": "Yes.", "target": KEYS[item]} for item in ITEMS]
    other = {item: {"ground_truth": "maybe"} for item in ITEMS}
    two_models(tmp_path, log=rows, answers_of_all=other)
    assert tells(str(refusal(tmp_path)), "layout.other-keys", n=8)


def test_several_right_letters_are_right_together(tmp_path: Path) -> None:
    questions = {
        item: {"question": f"Which of A to D, {item}?", "answer": "B, D" if i < 4 else "C"}
        for i, item in enumerate(ITEMS)
    }
    answers = ["B, D", "D and B", "B", "A, B, D", "C", "B, D", "(C)", "A"]
    log = {
        item: {"answer": text, "reasoning": "none"}
        for item, text in zip(ITEMS, answers, strict=True)
    }
    two_models(tmp_path, m=log, dataset=questions)
    (benchmark,) = hqm.from_logs(tmp_path)
    recorded = benchmark.included_recordings[0].answers
    right = [benchmark.verdict(item, recorded[item.id]).value for item in benchmark.original.items]
    assert right == [1, 1, 0, 0, 1, 0, 1, 0]


def test_wrong_is_minus_one_for_all_models_or_for_none(tmp_path: Path) -> None:
    rows = [
        {"item": item, "model": model, "score": wrong if KEYS[item] == "no" else 1}
        for item in ITEMS
        for model, wrong in (("m", -1), ("n", 0))
    ]
    dump(tmp_path / "log.json", rows)
    assert tells(str(refusal(tmp_path / "log.json")), "layout.signs", low="for 'm'", high="for 'n'")


def test_letters_are_read_for_what_an_answer_commits_to(tmp_path: Path) -> None:
    """LogicVista: keys are letters without options, and a weak model repeats the question."""
    questions = {
        item: {"question": "Which choice (A, B, C or D)?", "answer": "ABCD"[i % 4]}
        for i, item in enumerate(ITEMS)
    }
    echo = {
        item: {"answer": "what choice ( a, b, c, or d ) should be in place?. answer : d"}
        for item in ITEMS
    }
    plain = {item: {"answer": f"({'ABCD'[i % 4]})"} for i, item in enumerate(ITEMS)}
    two_models(tmp_path, echo=echo, plain=plain, dataset=questions)
    (benchmark,) = hqm.from_logs(tmp_path)
    assert {item.task for item in benchmark.original.items} == {"choice"}
    for recording in benchmark.included_recordings:
        values = [
            benchmark.verdict(item, recording.answers[item.id]).value
            for item in benchmark.original.items
        ]
        if recording.respondent == "plain":
            assert values == [1] * 8
        else:
            assert all(not value for value in values[:3])


def test_what_stands_for_a_withheld_key_is_none(tmp_path: Path) -> None:
    rows = [
        {"id": item, "answer": "(A)" if i < 4 else "hidden", "prediction": "(A)"}
        for i, item in enumerate(ITEMS)
    ]
    dump(tmp_path / "log.json", {"val": rows[:4], "test": rows[4:]})
    (benchmark,) = hqm.from_logs(tmp_path / "log.json")
    assert [bool(item.target) for item in benchmark.original.items] == [True] * 4 + [False] * 4
    many = [{"id": str(i), "prediction": f"dog {i}", "target": "see the paper"} for i in range(30)]
    dump(tmp_path / "log.json", many)
    assert tells(str(refusal(tmp_path / "log.json")), "layout.no-answer", n=30)


def test_a_file_of_two_folders_of_equal_content_is_of_two_respondents(tmp_path: Path) -> None:
    for model in ("instructblip_7b", "instructblip_13b"):
        rows = [{"id": item, "answer": KEYS[item], "prediction": "yes"} for item in ITEMS]
        dump(tmp_path / model / "Jigsaw.json", rows)
    assert scores_of(tmp_path) == {"instructblip_7b": 0.5, "instructblip_13b": 0.5}


def test_texts_of_a_data_set_are_no_answers(tmp_path: Path) -> None:
    """CharXiv: the captions of figures stand in a file of metadata beside the questions."""
    metadata = {
        item: {"caption": "A plot", "title": "On plots", "year": "2024", "figure_path": "1.jpg"}
        for item in ITEMS
    }
    questions = {item: {"query": f"Which line, {item}?", "answer": "red"} for item in ITEMS}
    two_models(tmp_path, image_metadata_val=metadata, reasoning_val=questions)
    assert tells(str(refusal(tmp_path)), "layout.none-in-folder")


def test_rows_of_means_in_hqms_own_format_are_left_out_with_a_count(
    tmp_path: Path, run: Run
) -> None:
    items = hqm.load("shapes_yesno").original.items
    rows = [
        {"respondent": name, "item": item.id, "answer": "yes"}
        for name in ("m", "n")
        for item in items
    ]
    rows += [{"respondent": "Average", "item": item.id, "answer": "yes"} for item in items[:3]]
    dump(tmp_path / "answers.json", rows)
    arguments = ("--recorded", tmp_path / "answers.json", "--out", tmp_path / "out", "--quiet")
    status, out, err = run("audit", "shapes_yesno", *arguments)
    assert status == 0, err
    assert tells(out + err, "layout.means", n=3, names="'Average'")


# --- objects of objects of rows, and cells that are objects ---


def write_nested_runs(path: Path, n_runs: dict[str, int]) -> None:
    """{item: {model: [row, ...]}}: a row a run, as a judge's grades lie."""
    dump(
        path,
        {
            item: {
                model: [{"reply": "x", "total_score": (i + run) % 2} for run in range(n)]
                for model, n in n_runs.items()
            }
            for i, item in enumerate(ITEMS)
        },
    )


def test_names_of_items_and_models_are_levels_and_a_list_below_them_is_runs(tmp_path: Path) -> None:
    path = tmp_path / "grades.json"
    write_nested_runs(path, {"m": 2, "n": 2})
    error = str(refusal(path, {"score": "total_score"}))
    assert tells(error, "layout.what", columns="model=key,item=name")
    columns = {"item": "key", "model": "name", "score": "total_score"}
    (benchmark,) = hqm.from_logs(path, columns=columns, title="Grades")
    assert benchmark.card.title == "Grades"
    recordings = benchmark.included_recordings
    assert sorted((r.respondent, r.run) for r in recordings) == [
        *(("m", 0), ("m", 1), ("n", 0), ("n", 1))
    ]
    assert {item.id for item in benchmark.original.items} == set(ITEMS)


def test_runs_that_few_respondents_have_are_left_out_with_a_count(tmp_path: Path) -> None:
    path = tmp_path / "grades.json"
    write_nested_runs(path, {"m": 4, "n": 2, "o": 2})
    columns = {"item": "key", "model": "name", "score": "total_score"}
    (benchmark,) = hqm.from_logs(path, columns=columns)
    assert {r.run for r in benchmark.included_recordings} == {0, 1}
    assert any(
        tells(note, "log.rare-runs", n=2 * len(ITEMS), names="'m'") for note in benchmark.notes
    )


def test_several_questions_below_an_item_are_items_of_their_own(tmp_path: Path) -> None:
    for model in ("m", "n"):
        document = {
            item: {
                "order": [
                    {"question": f"Is {item} first?", "answer": "yes", "prediction": "Yes"},
                    {"question": f"Is {item} last?", "answer": "no", "prediction": "Yes"},
                ]
            }
            for item in ITEMS
        }
        dump(tmp_path / f"{model}.json", document)
    columns = {"item": "path", "image": "key"}
    (benchmark,) = hqm.from_logs(tmp_path, columns=columns)
    assert len(benchmark.original) == 2 * len(ITEMS)
    items = {item.id: item for item in benchmark.original.items}
    assert items[f"{ITEMS[0]}/order/1"].image == ITEMS[0]
    assert {r.respondent for r in benchmark.included_recordings} == {"m", "n"}


def test_columns_whose_cells_are_objects_are_models(tmp_path: Path) -> None:
    path = tmp_path / "solutions.jsonl"
    rows = [
        {"question": item, "small": {"is_correct": False}, "large": {"is_correct": key == "yes"}}
        for item, key in KEYS.items()
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert scores_of(path) == {"small": 0.0, "large": 0.5}


def test_a_chosen_column_holds_for_rows_without_it(tmp_path: Path) -> None:
    """FinanceBench: gold answers are numbers and texts, and the column `label` is a grade."""
    path = tmp_path / "graded.jsonl"
    labels = ("Correct Answer", "Incorrect Answer", "Refusal", "Correct Answer")
    rows = [
        {
            "model": model,
            "id": i,
            "gold": (1577.5, "x", None, "y")[i],
            "label": label,
            "answer": "z",
        }
        for model in ("m", "n")
        for i, label in enumerate(labels)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (benchmark,) = hqm.from_logs(path, columns={"target": "gold", "score": "label"})
    assert [item.target for item in benchmark.original.items] == ["1577.5", "x", None, "y"]
    (first, _) = benchmark.included_recordings
    assert [a.detail["scores"][""]["label"] for a in first.answers.values()] == [1, 0, 0, 1]


def test_a_list_of_one_text_is_an_answer(tmp_path: Path) -> None:
    rows = [{"id": i, "output": [key], "target": key, "model": "m"} for i, key in KEYS.items()]
    dump(tmp_path / "m.json", rows)
    assert scores_of(tmp_path) == {"m": 1.0}


def test_an_actual_output_is_an_answer_of_no_model_called_actual(tmp_path: Path) -> None:
    for model, n_right in (("m", 7), ("n", 3)):
        cases = [
            {"input": f"Is it {i}?", "actualOutput": "yes" if k < n_right else "no"}
            | {"expectedOutput": "yes", "success": True}
            for k, i in enumerate(ITEMS)
        ]
        dump(tmp_path / f"{model}.json", {"testFile": None, "testCases": cases})
    assert scores_of(tmp_path) == pytest.approx({"m": 7 / len(ITEMS), "n": 3 / len(ITEMS)})
    assert list(scores_of(tmp_path / "m.json")) == ["m"]


@pytest.mark.parametrize("question", ["What is {}?", "What?"])
def test_ids_of_answers_are_no_items(tmp_path: Path, question: str) -> None:
    rows = [
        {"id": f"{model}{item}", "model": model, "question": question.format(item)}
        | {"target": key, "output": key}
        for model in ("m", "n")
        for item, key in KEYS.items()
    ]
    dump(tmp_path / "log.json", rows)
    (benchmark,) = hqm.from_logs(tmp_path / "log.json")
    # one question for all rows does not tell items apart
    n_items = len(KEYS) if "{}" in question else 2 * len(KEYS)
    assert len(benchmark.original.items) == n_items


def test_the_answers_of_a_split_are_the_key_of_files_beside_them(tmp_path: Path) -> None:
    """BLINK: `val_answers.json` beside a folder of predictions, all of them item to letter."""
    dump(tmp_path / "predictions" / "m.json", dict.fromkeys(ITEMS, "yes"))
    dump(tmp_path / "predictions" / "n.json", KEYS)
    dump(tmp_path / "val_answers.json", KEYS)
    assert scores_of(tmp_path) == {"m": 0.5, "n": 1.0}


def test_a_score_of_hallucinations_is_better_where_it_is_lower(tmp_path: Path) -> None:
    rows = [
        {"model": model, "id": item, "response": "x", "is_hallucination": model == "m"}
        for model in ("m", "n")
        for item in ITEMS
    ]
    dump(tmp_path / "log.json", rows)
    columns = {"score": "is_hallucination"}
    (benchmark,) = hqm.from_logs(tmp_path / "log.json", columns=columns)
    assert {metric.better for metric in benchmark.metrics} == {"lower"}


@pytest.mark.parametrize("key", ["line", "text", "spaced"])
def test_options_that_a_question_lists_are_options(tmp_path: Path, key: str) -> None:
    """TempCompass: the right answer is a line of the question, and models answer in letters."""
    colours = ("red", "blue", "green")
    right = [number % 3 for number in range(30)]
    keys = {
        "line": [f"{'ABC'[k]}. {colours[k]}" for k in right],
        "text": [colours[k] for k in right],
        "spaced": [f" {'ABC'[k]}.  {colours[k].upper()} " for k in right],
    }
    for model, answer in (
        ("letters", "{letter}"),
        ("lines", "{letter}. {text}"),
        ("words", "It is {text}."),
    ):
        rows = []
        for number, k in enumerate(right):
            # each model errs on every fifth question
            said = (k + 1) % 3 if number % 5 == 0 else k
            rows.append(
                {
                    "id": number,
                    "question": f"Which colour has ball {number}?\nA. red\nB. blue\nC. green",
                    "answer": keys[key][number],
                    "prediction": answer.format(letter="ABC"[said], text=colours[said]),
                }
            )
        (tmp_path / f"{model}.json").write_text(json.dumps(rows))
    audited = hqm.audit(tmp_path)
    assert audited.evidence.task == "choice"
    assert {row.scores["accuracy"] for row in audited.evidence.respondents} == {0.8}


def test_a_question_whose_key_is_none_of_its_lines_stays_as_it_was(tmp_path: Path) -> None:
    """Steps in a question are no options of its answer."""
    rows = [
        {
            "id": number,
            "question": f"What comes after {number}?\nA. Count.\nB. Write the number.",
            "answer": str(number + 1),
            "prediction": str(number + 1),
        }
        for number in range(20)
    ]
    for model in ("one", "two"):
        (tmp_path / f"{model}.json").write_text(json.dumps(rows))
    audited = hqm.audit(tmp_path)
    assert audited.evidence.task == "vqa"
    assert {row.scores["accuracy"] for row in audited.evidence.respondents} == {1.0}


def test_runs_that_ask_the_options_in_another_order_answer_the_same_items(tmp_path: Path) -> None:
    """GPQA: a file a run, its columns lists that only the user can name, options drawn anew."""
    colours = ["red", "blue", "green", "black"]
    for run in range(4):
        draw = random.Random(run)
        record: dict[str, Any] = {"model": f"m{run % 2}", "run_id": run // 2}
        record |= {name: [] for name in ("corrects", "prompts", "sampled_texts", "grading")}
        for number in range(12):
            options = draw.sample(colours, 4)
            lines = [f"({letter}) {text}" for letter, text in zip("ABCD", options, strict=True)]
            record["prompts"].append("\n".join([f"Which colour has ball {number}?", *lines]))
            record["corrects"].append("ABCD"[options.index(colours[number % 4])])
            record["sampled_texts"].append(f"The answer is ({'ABCD'[number % 4]}).")
            record["grading"].append(number % 3 > 0)
        dump(tmp_path / f"{run}.json", record)
    columns = {"item": "row", "question": "prompts", "target": "corrects", "score": "grading"}
    columns |= {"answer": "sampled_texts", "model": "model", "run": "run_id"}
    (benchmark,) = hqm.from_logs(tmp_path, columns=columns)
    assert benchmark.original.items[3].prompt == "Which colour has ball 3?"
    assert {item.options[ord(item.target) - 65] for item in benchmark.original.items} == {*colours}
    recorded = [(r.respondent, r.run, len(r.answers)) for r in benchmark.included_recordings]
    assert sorted(recorded) == [(f"m{model}", run, 12) for model in (0, 1) for run in (0, 1)]


def test_rows_below_splits_are_of_one_benchmark(tmp_path: Path) -> None:
    for model in ("tuned", "base"):
        splits = {
            split: {"n": 6, "items": [{"idx": i, "correct": i % 2 == 0} for i in range(6)]}
            for split in ("human", "augmented")
        }
        dump(tmp_path / f"{model}.json", {"model": model, "metric": "m", "splits": splits})
    columns = {"item": "idx", "category": "split", "score": "correct"}
    (benchmark,) = hqm.from_logs(tmp_path, columns=columns)
    assert len(benchmark.original.items) == 12
    assert {item.type for item in benchmark.original.items} == {"human", "augmented"}
