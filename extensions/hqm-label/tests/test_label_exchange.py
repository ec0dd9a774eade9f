"""Tasks for other labelling tools and labels from them, in the layouts that those tools
document.
"""

from __future__ import annotations

import csv
import html
import json
import os
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml
from hqm_label.label_export import LAYOUTS, export_labels
from hqm_label.label_import import import_labels
from hqm_label.label_store import LabelStore
from hqm_label.labelling import _pairs
from hqm_label.study import Study, compare_people, status_of
from hqm_label.study_plan import LabelPlan, labels_path, read_plan, write_plan
from typer.testing import CliRunner

from hqm.cli import program
from hqm.errors import HQMError
from tests.messages import pattern_of, tells

HOSTILE = 'Yes, <script>alert("1")</script> \u202egod\u202c, "quoted"\nand a second line'
NAMES = ("secret-model-a", "secret-model-b")


def run(*arguments: object) -> str:
    return (
        CliRunner()
        .invoke(program(), [str(argument) for argument in arguments], catch_exceptions=False)
        .stdout
    )


@pytest.fixture(scope="module")
def plan_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan of six answers to a benchmark with pictures, by two raters."""
    from PIL import Image

    folder = tmp_path_factory.mktemp("exchange")
    quiz = folder / "quiz"
    (quiz / "images").mkdir(parents=True)
    (quiz / "card.toml").write_text(
        'name = "quiz"\ntitle = "Quiz"\nversion = "1"\ntask = "yes_no"\nsummary = "A quiz."\n'
        '[data]\nitems = "items.jsonl"\nimages = "images"\n'
    )
    items = []
    for i in range(3):
        Image.new("RGB", (8, 8), (i, 0, 0)).save(quiz / "images" / f"{i}.png")
        items.append(
            {
                "id": f"q{i}",
                "prompt": f"Is there a <b>thing</b> {i}?",
                "target": "yes",
                "image": f"{i}.png",
            }
        )
    (quiz / "items.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in items))
    answers = [
        {"item": item["id"], "respondent": name, "answer": HOSTILE}
        for name in NAMES
        for item in items
    ]
    (folder / "answers.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in answers))
    run(
        "audit",
        "--no-report",
        quiz,
        "--recorded",
        folder / "answers.jsonl",
        "--forms",
        "original",
        "--store",
        folder / "s.sqlite",
        "-q",
    )
    run(
        "label",
        "plan",
        quiz,
        "--store",
        folder / "s.sqlite",
        "--labels",
        6,
        "--raters",
        "a,b",
        "--overlap",
        1,
        "--out",
        folder / "plan.jsonl",
    )
    return folder


@pytest.fixture
def plan(plan_folder: Path, tmp_path: Path) -> tuple[LabelPlan, Path]:
    """The plan without labels, in a folder of its own."""
    path = tmp_path / "plan.jsonl"
    write_plan(read_plan(plan_folder / "plan.jsonl"), path)
    return read_plan(path), path


def labels(path: Path) -> dict[tuple[str, str], Any]:
    with LabelStore(labels_path(path), readonly=True) as store:
        return {(label.rater, label.uid): label.label for label in store.labels()}


def test_tasks_are_blind_and_complete_in_every_layout(
    plan: tuple[LabelPlan, Path], tmp_path: Path
) -> None:
    rows, path = plan
    for layout in LAYOUTS:
        to = tmp_path / layout / ("tasks.csv" if layout == "mturk" else "tasks.json")
        run("label", "export", path, "--as", layout, "--to", to)
        pictures = sorted(p.stem for p in (to.parent / "tasks_pictures").iterdir())
        assert pictures == sorted(row.uid for row in rows.rows)
        for file in to.parent.glob("*.*"):
            text = file.read_text()
            assert not any(name in text for name in NAMES), file
            assert "q0" not in text, file
        assert all(row.uid in to.read_text() for row in rows.rows)


def test_label_studio(plan: tuple[LabelPlan, Path], tmp_path: Path) -> None:
    """labelstud.io/guide/task_format: tasks with `data`; annotations with `result`, `lead_time`,
    `completed_by`.
    """
    rows, path = plan
    run(
        "label",
        "export",
        path,
        "--as",
        "label-studio",
        "--to",
        tmp_path / "t.json",
        "--pictures",
        "/data/local-files/?d=",
    )
    tasks = json.loads((tmp_path / "t.json").read_text())
    config = ET.fromstring((tmp_path / "t_config.xml").read_text())
    (choices,) = config.iter("Choices")
    assert choices.get("toName") in {tag.get("name") for tag in config if tag.get("name")}
    assert [c.get("alias") for c in choices] == ["1", "0", "cannot say"]
    assert {tag.get("value", "").removeprefix("$") for tag in config.iter("Text")} <= tasks[0][
        "data"
    ].keys()
    assert tasks[0]["data"]["image"].startswith("/data/local-files/?d=")
    assert HOSTILE in {task["data"]["answer"] for task in tasks}
    words = ["1", "0", "Hallucinated", "cannot say", "Faithful", "1"]
    for i, (task, word) in enumerate(zip(tasks, words, strict=True)):
        task |= {
            "id": i,
            "project": 83,
            "created_at": "2021-03-09T21:52:49.513742Z",
            "annotations": [
                {
                    "id": 1000 + i,
                    "completed_by": {"id": 10, "email": "anna@example.org"},
                    "was_cancelled": False,
                    "ground_truth": False,
                    "lead_time": 4.288,
                    "result": [
                        {
                            "from_name": "label",
                            "id": "Dx_aB91ISN",
                            "to_name": "answer",
                            "type": "choices",
                            "value": {"choices": [word]},
                        },
                        {
                            "from_name": "note",
                            "id": "n",
                            "to_name": "answer",
                            "type": "textarea",
                            "value": {"text": ["dark"]},
                        },
                    ],
                },
                {"id": 2000 + i, "completed_by": 11, "was_cancelled": True, "result": []},
            ],
        }
    (tmp_path / "out.json").write_text(json.dumps(tasks))
    assert tells(
        run("label", "import", tmp_path / "out.json", "--from", "label-studio", "--plan", path),
        "labels.counted",
        labels=6,
        rater="anna@example.org",
        undecided=1,
    )
    assert list(labels(path).values()) == [1, 0, 0, None, 1, 1]
    with LabelStore(labels_path(path), readonly=True) as store:
        first = store.labels()[0]
    assert (first.milliseconds, first.note, first.by, first.uid) == (
        4288,
        "dark",
        "import",
        tasks[0]["data"]["uid"],
    )
    reimported = import_labels(tmp_path / "out.json", "label-studio", path)
    assert reimported.already_stored == 6
    assert len(labels(path)) == 6
    assert rows.population == 6


def user_states(folder: Path, states: dict[str, dict[str, Any]]) -> Path:
    """What Potato 2 keeps: rater -> uid -> labels, as docs/data-export/export_formats.md of
    davidjurgens/potato has it.
    """
    for rater, labels in states.items():
        (folder / rater).mkdir(parents=True)
        state = {
            "user_id": rater,
            "instance_id_ordering": list(labels),
            "instance_id_to_label_to_value": labels,
            "instance_id_to_span_to_value": {},
            "instance_id_to_behavioral_data": {
                uid: {"total_time_ms": 2500, "annotation_changes": []} for uid in labels
            },
        }
        (folder / rater / "user_state.json").write_text(json.dumps(state))
    return folder


def test_potato_2_nests_labels_in_three_ways(plan: tuple[LabelPlan, Path], tmp_path: Path) -> None:
    """The documentation's way, that of the tool's own tests of `potato export`, and the pairs that
    its code writes.
    """
    rows, path = plan
    uids = [row.uid for row in rows.rows]
    states: dict[str, Any] = {
        "anna": {
            "label": {"labels": {"1": True, "0": False}},
            "note": {"labels": {"text_box": "dark"}},
        },
        "ben": {"label": {"0": "true"}},
        "cid": [
            [{"schema": "label", "name": "1"}, "1"],
            [{"schema": "note", "name": "text_box"}, "so"],
        ],
    }
    folder = user_states(
        tmp_path / "output", {rater: dict.fromkeys(uids, state) for rater, state in states.items()}
    )
    imported = import_labels(folder, "potato", path)
    assert (imported.labels, imported.raters) == (18, ("anna", "ben", "cid"))
    assert labels(path) == {
        (r, uid): v for r, v in (("anna", 1), ("ben", 0), ("cid", 1)) for uid in uids
    }
    with LabelStore(labels_path(path), readonly=True) as store:
        label_times = {label.rater: (label.milliseconds, label.note) for label in store.labels()}
    assert label_times == {"anna": (2500, "dark"), "ben": (2500, ""), "cid": (2500, "so")}
    # exported: potato/export/tabular_exporter.py
    line = {
        "instance_id": uids[0],
        "user_id": "dora",
        "labels": {"label": {"0": "true"}},
        "spans": {},
        "links": {},
    }
    (tmp_path / "annotations.jsonl").write_text(json.dumps(line))
    assert import_labels(tmp_path / "annotations.jsonl", "potato", path).raters == ("dora",)


def test_two_choices_of_one_rater_are_settled_by_the_last_change_or_refused(
    plan: tuple[LabelPlan, Path], tmp_path: Path
) -> None:
    """Older versions of Potato 2 kept the choice that a rater took back
    (docs/data-export/single-select-integrity.md).
    """
    rows, path = plan
    uid = rows.rows[0].uid
    two_choices = [[{"schema": "label", "name": "1"}, "1"], [{"schema": "label", "name": "0"}, "0"]]
    folder = user_states(tmp_path / "output", {"anna": {uid: two_choices}})
    with pytest.raises(HQMError, match="several labels are chosen"):
        import_labels(folder, "potato", path)
    state = json.loads((folder / "anna" / "user_state.json").read_text())
    changes = [
        {"schema_name": "label", "label_name": name, "action": "select"} for name in ("0", "1", "0")
    ]
    state["instance_id_to_behavioral_data"][uid]["annotation_changes"] = changes
    (folder / "anna" / "user_state.json").write_text(json.dumps(state))
    import_labels(folder, "potato", path)
    assert labels(path) == {("anna", uid): 0}


def test_potato_1(plan: tuple[LabelPlan, Path], tmp_path: Path) -> None:
    """Instances with `id` and `text`; `annotation_output/RATER/annotated_instances.jsonl` comes
    back.
    """
    rows, path = plan
    run("label", "export", path, "--as", "potato", "--to", tmp_path / "t.jsonl")
    instances = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    settings = yaml.safe_load((tmp_path / "t_config.yaml").read_text())
    assert settings["data_files"] == ["t.jsonl"]
    assert {settings["item_properties"][key] for key in ("id_key", "text_key")} <= instances[
        0
    ].keys()
    scheme = settings["annotation_schemes"][0]
    for rater, word in (("anna", "1"), ("ben", "0")):
        instances_path = tmp_path / "annotation_output" / rater / "annotated_instances.jsonl"
        instances_path.parent.mkdir(parents=True)
        lines = [
            {
                "id": instance["id"],
                "displayed_text": instance["text"],
                "label_annotations": {scheme["name"]: {word: "1"}},
                "span_annotations": {},
                "behavioral_data": {"time_string": "Time spent: 0d 0h 1m 7s "},
            }
            for instance in instances
        ]
        instances_path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    imported = import_labels(tmp_path / "annotation_output", "potato", path)
    assert (imported.labels, imported.raters) == (12, ("anna", "ben"))
    assert labels(path) == {
        (r, row.uid): v for r, v in (("anna", 1), ("ben", 0)) for row in rows.rows
    }
    with LabelStore(labels_path(path), readonly=True) as store:
        assert store.labels()[0].milliseconds == 67000


def test_argilla(plan: tuple[LabelPlan, Path], tmp_path: Path) -> None:
    """Records as `dataset.records.to_json` writes them (argilla/records/_io/_json.py): `responses`
    by question, each with value and user.
    """
    _, path = plan
    run("label", "export", path, "--as", "argilla", "--to", tmp_path / "t.json")
    records = json.loads((tmp_path / "t.json").read_text())
    settings = json.loads((tmp_path / "t_settings.json").read_text())
    assert {field["name"] for field in settings["fields"]} == records[0]["fields"].keys()
    for record in records:
        record["responses"] = {
            "label": [
                {"value": "0", "user_id": "5b1c"},
                {"value": "1", "user_id": "9f0d", "status": "draft"},
            ],
            "note": [{"value": "too dark", "user_id": "5b1c"}],
        }
    (tmp_path / "out.json").write_text(json.dumps(records))
    import_labels(tmp_path / "out.json", "argilla", path)
    assert labels(path) == {("5b1c", record["id"]): 0 for record in records}
    with LabelStore(labels_path(path), readonly=True) as store:
        assert {label.note for label in store.labels()} == {"too dark"}


_THEIR_CLASSES = """
import json, sys
from pathlib import Path
from unittest import mock
folder = Path(sys.argv[1])

import argilla as rg
from argilla.records._io import JsonIO
rg.Argilla._get_default = classmethod(lambda cls: mock.MagicMock())
settings = rg.Settings.from_json(folder / "argilla_settings.json")
assert [q.name for q in settings.questions] == ["label", "note"], settings
assert settings.questions["label"].labels == ["1", "0", "cannot say"], settings.questions["label"].labels
records = JsonIO._records_from_json(folder / "argilla.json")
assert all(set(record.fields.to_dict()) == {field.name for field in settings.fields} for record in records)
user = "00000000-0000-0000-0000-000000000001"
for record in records:
    record.responses.add(rg.Response("label", "0", user_id=user))
JsonIO.to_json(records, folder / "argilla_out.json")

from label_studio_sdk.label_interface import LabelInterface
interface = LabelInterface((folder / "studio_config.xml").read_text())
interface.validate()
tasks = json.loads((folder / "studio.json").read_text())
for task in tasks:
    assert interface.validate_task({"id": 1, **task}, validate_regions_only=False), task
    value = {"choices": ["0"]}  # the alias of a choice stands for its words
    result = {"from_name": "label", "to_name": "answer", "type": "choices", "value": value}
    task["annotations"] = [{"completed_by": 7, "lead_time": 3.5, "was_cancelled": False, "result": [result]}]
    assert interface.validate_annotation(task["annotations"][0]), task
(folder / "studio_out.json").write_text(json.dumps(tasks))
"""


@pytest.mark.skipif(
    not os.environ.get("HQM_LABEL_TOOLS"),
    reason="HQM_LABEL_TOOLS names a Python with argilla and label-studio-sdk",
)
def test_the_tools_own_classes_take_the_tasks_and_write_what_is_taken_back(
    plan: tuple[LabelPlan, Path], tmp_path: Path
) -> None:
    """`pip install argilla label-studio-sdk` in an environment of its own (2.8.0 and 2.1.2)."""
    rows, path = plan
    run("label", "export", path, "--as", "argilla", "--to", tmp_path / "argilla.json")
    run("label", "export", path, "--as", "label-studio", "--to", tmp_path / "studio.json")
    script = tmp_path / "their_classes.py"
    script.write_text(_THEIR_CLASSES)
    process = subprocess.run(
        [os.environ["HQM_LABEL_TOOLS"], script, tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    import_labels(tmp_path / "argilla_out.json", "argilla", path)
    import_labels(tmp_path / "studio_out.json", "label-studio", path)
    users = ("00000000-0000-0000-0000-000000000001", "7")
    assert labels(path) == {(user, row.uid): 0 for user in users for row in rows.rows}


def test_mechanical_turk(plan: tuple[LabelPlan, Path], tmp_path: Path) -> None:
    """A batch has a column for each variable of the layout; results repeat it as `Input.` and have
    `Answer.`.
    """
    _, path = plan
    run("label", "export", path, "--as", "mturk", "--to", tmp_path / "t.csv")
    batch = list(csv.DictReader((tmp_path / "t.csv").open(newline="")))
    page = (tmp_path / "t_layout.html").read_text()
    assert {name for name in batch[0] if f"${{{name}}}" in page} == {"question", "answer", "image"}
    # the page puts the cell into its HTML as it stands
    assert "<script>" not in batch[0]["answer"]
    assert html.unescape(batch[0]["answer"]) == HOSTILE
    names = [
        "HITId",
        "AssignmentId",
        "WorkerId",
        "AssignmentStatus",
        "WorkTimeInSeconds",
        *(f"Input.{n}" for n in batch[0]),
        "Answer.taskAnswers",
    ]
    with (tmp_path / "out.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        for i, row in enumerate(batch):
            common = {f"Input.{n}": v for n, v in row.items()} | {
                "HITId": f"3{i}",
                "AssignmentId": f"A{i}",
                "WorkTimeInSeconds": 12,
            }
            answers = json.dumps(
                [{"label": {"1": i % 2 == 0, "0": i % 2 == 1, "cannot say": False}}]
            )
            writer.writerow(
                {
                    **common,
                    "WorkerId": "W1",
                    "AssignmentStatus": "Approved",
                    "Answer.taskAnswers": answers,
                }
            )
            writer.writerow(
                {
                    **common,
                    "WorkerId": "W2",
                    "AssignmentStatus": "Rejected",
                    "Answer.taskAnswers": answers,
                }
            )
    import_labels(tmp_path / "out.csv", "mturk", path)
    assert labels(path) == {("W1", row["uid"]): 1 - i % 2 for i, row in enumerate(batch)}


def test_csv_with_a_map_of_columns_and_the_way_to_an_audit(
    plan: tuple[LabelPlan, Path], tmp_path: Path
) -> None:
    rows, path = plan
    lines = [
        f"{row.uid},{rater},{word}"
        for row in rows.rows
        for rater, word in (("x", "Good"), ("y", "Bad"))
    ]
    (tmp_path / "l.csv").write_text("\n".join(["task,worker,verdict", *lines]))
    run(
        "label",
        "import",
        tmp_path / "l.csv",
        "--plan",
        path,
        "--columns",
        "uid=task,rater=worker,label=verdict",
        "--values",
        "Good=1,Bad=0",
    )
    with LabelStore(labels_path(path)) as store:
        store.add(rows.rows[0].uid, "owner", {"label": 1}, 500, by="adjudication")
    exported = list(csv.DictReader(export_labels(path).text.splitlines()))
    assert len(exported) == 13
    by = {(row["uid"], row["rater"]): row for row in exported}
    for row in rows.rows:
        assert by[row.uid, "x"]["label"] == "1"
        assert by[row.uid, "y"]["label"] == "0"
        assert float(by[row.uid, "x"]["probability"]) == row.probability == 1.0
        assert by[row.uid, "x"]["answer_digest"] == row.answer_digest
    assert by[rows.rows[0].uid, "adjudication"]["seconds"] == "0.5"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("uid,rater,label\nnone,a,1\n", {}, "no answer 'none'"),
        ("uid,rater,label\nUID,a,7\n", {}, pattern_of("labels.not-of-schema", label="7")),
        ("uid,rater,verdict\nUID,a,1\n", {}, "no field 'label'"),
        ("uid,label\nUID,1\n", {}, "does not say the rater"),
        ("uid,rater,label\nUID,a,1\n", {"columns": {"label": "verdict"}}, "no field 'verdict'"),
        ("uid,rater,label\nUID,a,1\n", {"columns": {"lable": "verdict"}}, "labels have no 'lable'"),
        ("uid,rater,label\n", {}, "holds no label"),
    ],
)
def test_a_file_that_does_not_fit_changes_nothing(
    plan: tuple[LabelPlan, Path], tmp_path: Path, text: str, options: dict[str, Any], message: str
) -> None:
    rows, path = plan
    (tmp_path / "l.csv").write_text(text.replace("UID", rows.rows[1].uid))
    with pytest.raises(HQMError, match=message):
        import_labels(tmp_path / "l.csv", "csv", path, **options)
    assert not labels_path(path).exists()


def test_a_word_has_one_meaning() -> None:
    with pytest.raises(HQMError, match=pattern_of("labels.two-meanings", word="good")):
        _pairs("good=1,good=0", "--values")
    assert _pairs("good=1,bad=0", "--values") == {"good": "1", "bad": "0"}


def table_of(rows: LabelPlan, values: list[object], rater: str = "a") -> str:
    """A table of labels by one rater."""
    lines = [f"{row.uid},{rater},{value}" for row, value in zip(rows.rows, values, strict=True)]
    return "\n".join(["uid,rater,label", *lines, ""])


def test_codes_of_the_schema_may_be_turned_round(
    plan: tuple[LabelPlan, Path], tmp_path: Path
) -> None:
    rows, path = plan
    (tmp_path / "l.csv").write_text(table_of(rows, [1, 0] * 3))
    with pytest.raises(HQMError, match="twice"):
        import_labels(tmp_path / "l.csv", "csv", path, values={"No": "1", "no": "0"})
    import_labels(tmp_path / "l.csv", "csv", path, values={"1": "0", "0": "1"})
    assert list(labels(path).values()) == [0, 1] * 3


def test_a_file_in_which_no_label_is_found_is_refused(
    plan: tuple[LabelPlan, Path], tmp_path: Path
) -> None:
    rows, path = plan
    uid = rows.rows[0].uid
    result = {"from_name": "rating", "value": {"choices": ["1"]}}
    annotation = {"completed_by": {"email": "a"}, "result": [result]}
    task = {"data": {"uid": uid}, "annotations": [annotation]}
    line = {"id": uid, "user": "a", "label_annotations": {"rating": {"1": True}}}
    for layout, name, content in (
        ("label-studio", "l.json", json.dumps([task])),
        ("potato", "annotated_instances.jsonl", json.dumps(line)),
        ("mturk", "l.csv", f"Input.uid,WorkerId,Answer.rating\n{uid},a,1\n"),
        ("csv", "e.csv", f"uid,rater,label\n{uid},a,\n"),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(HQMError, match="it holds no label"):
            import_labels(tmp_path / name, layout, path)
    (tmp_path / "e.csv").write_text(f"uid,rater,label\n{uid},a,cannot say\n")
    assert import_labels(tmp_path / "e.csv", "csv", path).undecided == 1


def test_several_choices_in_label_studio_are_refused(
    plan: tuple[LabelPlan, Path], tmp_path: Path
) -> None:
    rows, path = plan

    def result(*choices: str) -> dict[str, Any]:
        return {"from_name": "label", "value": {"choices": choices}}

    for results in ([result("1", "0")], [result("1"), result("0")]):
        annotation = {"completed_by": {"email": "a"}, "result": results}
        task = {"data": {"uid": rows.rows[0].uid}, "annotations": [annotation]}
        (tmp_path / "l.json").write_text(json.dumps([task]))
        with pytest.raises(HQMError, match="several labels are chosen"):
            import_labels(tmp_path / "l.json", "label-studio", path)


def test_a_rater_has_one_name_in_plan_page_and_imports(
    plan: tuple[LabelPlan, Path], tmp_path: Path
) -> None:
    rows, path = plan
    for rater in ("A", "\u0430", "B\u200b"):
        (tmp_path / "l.csv").write_text(table_of(rows, [1] * 6, rater))
        with pytest.raises(HQMError, match="look the same"):
            import_labels(tmp_path / "l.csv", "csv", path)
    with pytest.raises(HQMError, match="adjudication"):
        (tmp_path / "l.csv").write_text(table_of(rows, [1] * 6, "adjudication"))
        import_labels(tmp_path / "l.csv", "csv", path)
    # columns that the user names are found as the file writes them
    text = table_of(rows, [1] * 6, "zoe ").replace("uid,rater,label", "Task,Worker,Verdict")
    (tmp_path / "l.csv").write_text(text)
    columns = {"uid": "Task", "rater": "Worker", "label": "Verdict"}
    assert import_labels(tmp_path / "l.csv", "csv", path, columns).raters == ("zoe",)
    (tmp_path / "l.csv").write_text(table_of(rows, [1] * 6, "Zoe"))
    with pytest.raises(HQMError, match="look the same"):
        import_labels(tmp_path / "l.csv", "csv", path)


def test_an_import_stands_in_place_of_the_raters_label_on_the_page(
    plan: tuple[LabelPlan, Path], tmp_path: Path
) -> None:
    rows, path = plan
    with LabelStore(labels_path(path)) as store:
        for row in rows.rows:
            store.add(row.uid, "a", {"label": 1}, 900)
    (tmp_path / "l.csv").write_text(table_of(rows, [0] * 6))
    import_labels(tmp_path / "l.csv", "csv", path)
    study = Study(path, readonly=True)
    status = status_of(study)
    study.close()
    assert (status.overlapping, status.disagreements) == (0, 0)
    assert export_labels(path).text.count(",a,0,") == 6
    assert export_labels(path).labels == 6


def test_raters_of_imports_have_a_status_and_scores(
    plan: tuple[LabelPlan, Path], tmp_path: Path
) -> None:
    rows, path = plan
    (tmp_path / "l.csv").write_text(table_of(rows, [1] * 6, "worker"))
    import_labels(tmp_path / "l.csv", "csv", path)
    study = Study(path, readonly=True)
    raters = [(rater.rater, rater.done, rater.count) for rater in status_of(study).raters]
    comparison = compare_people(study)
    study.close()
    assert raters == [("a", 0, 6), ("b", 0, 6), ("worker", 6, 6)]
    assert comparison is not None
    assert [(row.n, row.value) for row in comparison.respondents] == [(3, 1.0), (3, 1.0)]
