"""Who answered what: columns that say it by another name, files whose names say it, and rows that
do not say it at all.
"""

from __future__ import annotations

import csv
import gzip
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from hqm import load
from hqm.auditing.one_file import score_file
from hqm.benchmark.log_benchmark import benchmarks_of_logs
from hqm.errors import HQMError
from hqm.imports.answer_table import parse_table_columns
from hqm.imports.detect import read_logs
from hqm.imports.intake import take_rows
from hqm.imports.log_answers import LogSettings, read_recorded
from hqm.imports.scales import check_numbers
from hqm.text import check_name
from tests.messages import pattern_of, tells

Sheet = Mapping[str, Sequence[Any]]
MODELS = ("a", "b")
N_ITEMS = 8
ROWS = [(model, item) for item in range(N_ITEMS) for model in MODELS]


def sheet(**columns: Callable[[str, int], Any]) -> dict[str, list[Any]]:
    """A row for each answer of two models to eight items; each column computed of both."""
    return {name: [value(*row) for row in ROWS] for name, value in columns.items()}


def write(path: Path, columns: Sheet) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(columns)
        rows.writerows(zip(*columns.values(), strict=True))
    return path


def taken(path: Path) -> tuple[set[str], set[str], set[int], str]:
    """The models, the items and the runs of a table, and what is said of its reading."""
    logs = read_logs([path])
    (benchmark,) = benchmarks_of_logs(logs)
    items = {item.id for form in benchmark.forms for item in form.items}
    recordings = benchmark.included_recordings
    models = {recording.respondent for recording in recordings}
    notes = [note for log in logs for note in log.notes] + list(benchmark.matched.notes)
    runs = {recording.run for recording in recordings}
    return models, items, runs, " ".join((*notes, *benchmark.notes))


def is_right(model: str, item: int) -> int:
    return int((item * 7 + ord(model)) % 3 > 0)


def by_model(model: str, item: int) -> str:
    return model


def by_item(model: str, item: int) -> str:
    return f"q{item}"


def vote(model: str, item: int) -> int:
    return (item + ord(model)) % 5


@pytest.mark.parametrize("has_item_rows", [True, False])
def test_the_rows_of_a_wide_parquet_file_are_not_counted_as_one_more(
    has_item_rows: bool, tmp_path: Path
) -> None:
    """The reader of Parquet numbers the rows, and the numbers are no model and no item."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    items = [f"q{item}" for item in range(N_ITEMS)]
    columns: dict[str, Sequence[Any]] = {"model": MODELS}
    columns |= {item: [is_right(m, n) for m in MODELS] for n, item in enumerate(items)}
    if has_item_rows:
        columns = {"question_id": items}
        columns |= {model: [is_right(model, n) for n in range(N_ITEMS)] for model in MODELS}
    path = tmp_path / "wide.parquet"
    parquet.write_table(pyarrow.table(columns), path)
    models, read_items, _, _ = taken(path)
    assert (models, read_items) == (set(MODELS), set(items))


def test_rows_that_may_be_named_by_a_column_are_not_counted(tmp_path: Path) -> None:
    """`Modell` and `Nr` are no names that HQM knows: both models would be one of sixteen items."""
    columns = sheet(Modell=by_model, Nr=by_item, score=is_right)
    path = write(tmp_path / "t.csv", columns)
    with pytest.raises(HQMError, match=pattern_of("door.unnamed-items")):
        read_logs([path])
    logs = read_logs([path], columns={"model": "Modell", "item": "Nr"})
    (benchmark,) = benchmarks_of_logs(logs)
    assert {recording.respondent for recording in benchmark.included_recordings} == set(MODELS)
    # what nothing can name is counted, and said to be
    path = write(tmp_path / "a.csv", {"prediction": ["yes", "no"], "target": ["yes", "yes"]})
    assert tells(taken(path)[3], "door.counted-rows")


def test_a_table_that_names_its_models_is_not_of_vlmevalkit(tmp_path: Path) -> None:
    """Its files have `index` and `prediction` too, and are of one model, whom the file names."""
    columns = sheet(
        model=by_model,
        index=lambda _, item: item,
        prediction=lambda model, item: "yes" if is_right(model, item) else "no",
        answer=lambda *_: "yes",
    )
    models, items, _, _ = taken(write(tmp_path / "t.csv", columns))
    assert (models, len(items)) == (set(MODELS), N_ITEMS)
    columns["seed"] = columns.pop("model")
    _, items, runs, _ = taken(write(tmp_path / "t.csv", columns))
    assert (len(items), runs) == (N_ITEMS, {0, 1})


def test_a_picture_names_the_item_where_nothing_else_does(tmp_path: Path) -> None:
    columns = sheet(model=by_model, image=lambda _, item: f"im{item}.jpg", score=is_right)
    models, items, _, _ = taken(write(tmp_path / "t.csv", columns))
    assert (models, items) == (set(MODELS), {f"im{item}" for item in range(N_ITEMS)})
    columns["image"] = ["im.jpg"] * len(ROWS)
    columns["seed"] = columns.pop("model")
    for names in (
        columns,
        {("model" if name == "seed" else name): columns[name] for name in columns},
    ):
        path = write(tmp_path / "t.csv", names)
        with pytest.raises(HQMError, match=pattern_of("layout.no-items")):
            read_logs([path])


def test_a_column_that_is_called_a_score_goes_before_one_of_another_number(tmp_path: Path) -> None:
    columns = sheet(
        model=by_model,
        question_id=by_item,
        votes=vote,
        quality=vote,
        judge_score=is_right,
        seen=lambda model, item: "yes" if vote(model, item) > 2 else "no",
        max_score=lambda model, item: 1,
    )
    (log,) = read_logs([write(tmp_path / "t.csv", columns)])
    assert list(log.rows[0].scores) == ["judge_score", "quality"]
    assert any(tells(note, "door.unread") and "'seen'" in note for note in log.notes)


def test_columns_that_are_not_read_are_named_with_what_they_may_group(tmp_path: Path) -> None:
    columns = sheet(
        model=by_model,
        question_id=by_item,
        scene=lambda model, item: f"s{item // 3}",
        level=lambda model, item: item % 2,
        comment=lambda model, item: "odd" if item == 2 else "",
        reviewer=lambda model, item: "",
        score=is_right,
    )
    path = write(tmp_path / "t.csv", columns)
    (benchmark,) = benchmarks_of_logs(read_logs([path]))
    names = "'scene', 'level', 'comment'"
    assert tells(taken(path)[3], "door.unread", names=names)
    assert tells(benchmark.card.summary.lower(), "door.unread", names=f"{names}.")
    choice = "cluster=scene,category=level"
    assert tells(
        benchmark.design, "door.grouping", columns=choice, aims="clusters of items and types"
    )
    logs = read_logs([path], columns=parse_table_columns([choice]))
    (benchmark,) = benchmarks_of_logs(logs)
    assert not tells(benchmark.design, "door.grouping")
    assert len({item.cluster for item in benchmark.original.items}) == len(set(columns["scene"]))


@pytest.mark.parametrize(
    "columns",
    [
        sheet(model=by_model, item=by_item, Punkte=is_right, agreement=vote),
        sheet(
            model=by_model,
            item=by_item,
            said=lambda model, item: "yes" if is_right(model, item) else "no",
            true=lambda model, item: "yes" if item % 2 else "no",
        ),
    ],
)
def test_columns_that_may_each_be_the_score_are_refused(columns: Sheet, tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", columns)
    with pytest.raises(HQMError, match=pattern_of("door.several-scores")):
        read_logs([path])


def test_ratings_on_one_scale_are_all_scores(tmp_path: Path) -> None:
    columns = sheet(
        model=by_model, item=by_item, clarity=vote, coherence=lambda m, n: 4 - vote(m, n)
    )
    (log,) = read_logs([write(tmp_path / "t.csv", columns)])
    assert set(log.rows[0].scores) == {"clarity", "coherence"}


def test_files_that_differ_in_the_number_of_a_run_are_runs(tmp_path: Path) -> None:
    """Also where no row names the model: the file's name does, without the number."""
    for model in MODELS:
        for run in range(2):
            rows = {
                "question_id": [f"q{n}" for n in range(N_ITEMS)],
                "prediction": ["yes" if is_right(model, n + run) else "no" for n in range(N_ITEMS)],
                "target": ["yes"] * N_ITEMS,
            }
            write(tmp_path / f"{model}_run{run}.csv", rows)
    models, _, runs, notes = taken(tmp_path)
    assert (models, runs) == (set(MODELS), {0, 1})
    assert tells(notes, "door.runs-by-name", names="a 2 and b 2")


def test_a_file_that_gzip_packed_names_the_same_model(tmp_path: Path) -> None:
    rows = {"question_id": ["q0", "q1"], "prediction": ["yes", "no"], "target": ["yes", "yes"]}
    for model in MODELS:
        path = write(tmp_path / f"{model}.csv", rows)
        path.with_name(f"{model}.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert taken(tmp_path)[0] == set(MODELS)


@pytest.mark.parametrize("heading", ["qid", "idx", "Item ID", "question"])
def test_a_recorded_file_names_its_items_as_a_table_does(
    heading: str, dogs: Path, tmp_path: Path
) -> None:
    benchmark = load(str(dogs))
    items = benchmark.original.items
    names = [item.prompt if heading == "question" else item.id for item in items]
    path = write(
        tmp_path / "m.csv", {heading: names, "prediction": [item.target for item in items]}
    )
    forms = {"original": benchmark.original}
    (recording,) = read_recorded(benchmark, [path], forms, LogSettings()).recordings
    assert {item.id: recording.answers[item.id].text for item in items} == {
        item.id: item.target for item in items
    }
    assert score_file(benchmark, path).metrics["accuracy"] == 1


def test_a_constant_is_no_other_spelling_of_the_right_answer(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = {"item": ["q0", "q1"], "response": ["A", "B"], "label": ["good"] * 2, "gold": ["A", "A"]}
    write(path, rows)
    read_logs([path])
    write(path, {**rows, "gold": ["A", "B"]})
    with pytest.raises(HQMError, match=pattern_of("odd.rivals", field="target")):
        read_logs([path])


def test_a_folder_without_answers_is_said_with_what_a_file_of_it_has(tmp_path: Path) -> None:
    for model in MODELS:
        write(tmp_path / f"{model}.csv", {"Nr": ["q0", "q1"], "Punkte": [1, 0]})
    with pytest.raises(HQMError) as refusal:
        read_logs([tmp_path])
    said = str(refusal.value)
    assert tells(said, "layout.fields-in-folder", file="a.csv", fields="'Nr', 'Punkte'", n=1)


def test_a_zip_archive_is_called_one(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "t.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t.csv", "model,item,score\n" + "a,q,1\n" * 99)
    with pytest.raises(HQMError, match=pattern_of("door.zip")):
        read_logs([tmp_path / "t.zip"])


def test_a_name_with_a_password_is_refused_and_not_repeated() -> None:
    with pytest.raises(HQMError, match=pattern_of("door.credentials")) as refusal:
        check_name("http://anna:secret@host/v1", "respondent's name")
    assert "secret" not in str(refusal.value)
    assert check_name("openai/m@http://127.0.0.1:8000/v1", "name").startswith("openai")


def test_messages_count_the_rows_that_were_left_out_before(tmp_path: Path) -> None:
    rows = "model,item,score\n,,\n,,\na,q0,1\na,q1,4/5\n"
    (tmp_path / "t.csv").write_text(rows)
    with pytest.raises(HQMError) as refusal:
        read_logs([tmp_path / "t.csv"])
    assert refusal.value.location.endswith("record 4")
    (tmp_path / "t.csv").write_text(f"model,item,score\n,,\n{'x' * 201},q0,1\n")
    with pytest.raises(HQMError) as refusal:
        take_rows(tmp_path / "t.csv")
    assert refusal.value.location.endswith("record 2")
    with pytest.raises(HQMError) as refusal:
        check_numbers([{"score": "1"}, {"score": "x1"}], "score", "t", [3, 7])
    assert refusal.value.location == "t: record 7"


@pytest.mark.parametrize("id_column", ["index", "question_id"])
@pytest.mark.parametrize(
    ("pattern", "respondents"),
    [
        ("run{run}/{model}.jsonl", ("llava", "qwen")),
        ("{model}/run{run}.jsonl", ("llava", "qwen")),
        ("run{run}/answers.jsonl", ("answers",)),
        ("log/run{run}.jsonl", ("log",)),
    ],
)
def test_files_that_differ_in_a_run_are_runs_of_one_benchmark(
    pattern: str, respondents: tuple[str, ...], id_column: str, tmp_path: Path
) -> None:
    folder = tmp_path / "all"
    for run, model in product(range(2), respondents):
        path = folder / pattern.format(run=run, model=model)
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = []
        for item in range(N_ITEMS):
            prediction = ("yes", "no")[(item * 7 + run + len(model)) % 2]
            row = {id_column: item, "prediction": prediction, "target": ("yes", "no")[item % 2]}
            lines.append(f"{json.dumps(row)}\n")
        path.write_text("".join(lines))
    (benchmark,) = benchmarks_of_logs(read_logs([folder]))
    read = [(r.respondent, r.run, len(r.answers)) for r in benchmark.included_recordings]
    assert sorted(read) == [(name, run, N_ITEMS) for name, run in product(respondents, range(2))]
