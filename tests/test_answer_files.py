"""One check of who is asked what, and one reader of answer files, behind every door."""

import base64
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import hqm
from hqm.errors import AnswerError
from hqm.imports.log_answers import LogSettings, read_recorded, take_logs
from hqm.imports.match import asks_same, has_other_key, match_rows
from hqm.imports.recordings import Recording
from hqm.imports.row import Row
from hqm.types import Form, Item, Response
from tests.conftest import Run, write_benchmark
from tests.messages import pattern_of, tells

YES_NO = " Please answer yes or no."
WORD = "\nAnswer the question using a single word or phrase."


def png(shade: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (4, 4), (shade, 0, 0)).save(file, "PNG")
    return file.getvalue()


def from_tsv(folder: Path, run: Run, suffix: str) -> Path:
    """The benchmark that `hqm new` makes of a TSV as VLMEvalKit has it, two questions a picture."""
    lines = ["index\timage\tquestion\tanswer\tcategory"]
    for i in range(24):
        packed = base64.b64encode(png(i // 2)).decode()
        answer = ("Yes", "No")[i % 2]
        lines.append(f"{i}\t{packed}\tIs thing {i} in this image?{suffix}\t{answer}\tcode")
    (folder / "MME.tsv").write_text("\n".join(lines) + "\n")
    status, _, err = run("new", folder / "mme", "--from", folder / "MME.tsv")
    assert status == 0, err
    return folder / "mme"


@pytest.mark.parametrize("suffix", [YES_NO, ""], ids=["MME", "AMBER"])
def test_predictions_find_a_benchmark_made_of_the_same_tsv(
    suffix: str, tmp_path: Path, run: Run
) -> None:
    """Its pictures are named by their content, and the predictions name files."""
    folder = from_tsv(tmp_path, run, suffix)
    rows = [
        {
            "index": i,
            "question": f"Is thing {i} in this image?{suffix}",
            "answer": ("Yes", "No")[i % 2],
            "category": "code",
            "image_path": f"code/{i // 2:04}.png",
            "prediction": "Yes",
        }
        for i in range(24)
    ]
    path = tmp_path / "m_MME.json"
    path.write_text(json.dumps(rows))
    benchmark = hqm.load(folder)
    logs = take_logs({"original": benchmark.original}, [path])
    assert tells(logs.sentence, "log.last", matched=24, rows=24, missing=0)


def test_lmms_eval_writes_the_instruction_in_another_place(tmp_path: Path, run: Run) -> None:
    """Its MME task takes the instruction out of the question and puts its own behind it."""
    benchmark = hqm.load(from_tsv(tmp_path, run, YES_NO))
    rows = [
        {
            "doc_id": i,
            "target": ("Yes", "No")[i % 2],
            "filtered_resps": "Yes",
            "mme_score": {"question_id": f"code/{i // 2:04}.png", "score": 1.0 - i % 2},
            "input": f"Is thing {i} in this image?{WORD}",
        }
        for i in range(24)
    ]
    path = tmp_path / "20260101_120000_samples_mme.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    logs = take_logs({"original": benchmark.original}, [path])
    assert tells(logs.sentence, "log.last", matched=24, rows=24, missing=0)


@pytest.mark.parametrize(
    ("question", "prompt", "expected"),
    [
        (f"Red?{YES_NO}", "Red?", True),
        ("Red?", f"Red?{YES_NO}", True),
        (f"Red?{WORD}", f"Red?{YES_NO}", True),
        ("Blue?", f"Red?{YES_NO}", False),
        (YES_NO, YES_NO, True),
    ],
)
def test_an_instruction_does_not_make_another_question(
    question: str, prompt: str, expected: bool
) -> None:
    assert asks_same(question, Item("1", prompt, "yes_no", "yes")) is expected


def test_a_row_of_other_options_is_another_question() -> None:
    item = Item("1", "Which?", "choice", "A", options=("red", "blue"))
    form = Form("original", (item,))

    def row(**fields: Any) -> Row:
        return Row(place="f: record 1", ids=("1",), question="Which?", **fields)

    assert not match_rows([row(options=("red", "green"))], form).items
    turned = row(options=("blue", "red"), key="B")
    assert match_rows([turned], form).items
    assert not has_other_key(turned, item)
    assert has_other_key(row(options=("blue", "red"), key="A"), item)


def test_answers_to_other_questions_are_refused_though_their_ids_exist(
    dogs: Path, tmp_path: Path, run: Run
) -> None:
    rows = [
        {"item": f"q{i}", "question": f"How many birds are in picture {i}?", "answer": "yes"}
        for i in range(12)
    ]
    path = tmp_path / "other.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(AnswerError, match=pattern_of("answers.other-questions", wrong=12, rows=12)):
        hqm.audit(dogs, recorded=path)
    assert run("score", dogs, "--answers", path)[0] == 1


def test_a_file_that_is_scored_is_audited(data: Path, tmp_path: Path) -> None:
    """Official answer files of releases, each by its own keys."""
    pope = hqm.load("pope")
    part = [item for item in pope.original.items if item.part == "coco_random"]
    path = tmp_path / "model.jsonl"
    path.write_text(
        "".join(json.dumps({"question": i.prompt, "answer": "Yes"}) + "\n" for i in part)
    )
    audit = hqm.audit("pope", recorded=path, part="coco_random")
    assert audit.respondents[0].scores["accuracy"] == 0.5


def test_captions_need_no_parallel_form(
    make_benchmark: Callable[..., Path], tmp_path: Path, run: Run
) -> None:
    items = [{"id": str(i), "prompt": "Zzz.", "target": "x", "image": f"{i}.png"} for i in range(4)]
    folder = make_benchmark(items, task="vqa", name="captions")
    path = tmp_path / "a.csv"
    path.write_text("item,respondent,answer\n" + "".join(f"{i},m,x\n" for i in range(4)))
    assert run("import", path, "--benchmark", folder, "--store", tmp_path / "s.sqlite")[0] == 0


def test_what_nobody_answered_is_missing(tmp_path: Path) -> None:
    """Five models answer 6 of 20 questions: 14 are missing of every one, and no score is of 6."""
    items = [
        {"id": f"q{i}", "prompt": f"Is {i} even?", "target": ("yes", "no")[i % 2]}
        for i in range(20)
    ]
    folder = write_benchmark(tmp_path / "b", items)
    rows = [f"q{i},m{m},{('yes', 'no')[(i + m) % 2]}" for m in range(5) for i in range(6)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["item,respondent,answer", *rows]))
    audit = hqm.audit(folder, recorded=path)
    assert audit.n_items == 20
    assert {respondent.states[audit.reference]["missing"] for respondent in audit.respondents} == {
        14
    }


def test_pictures_and_keys_of_recorded_answers_are_held_against_the_items(
    tmp_path: Path, run: Run
) -> None:
    items = hqm.load("shapes_yesno").original.items[:40]
    turned = {"yes": "no", "no": "yes"}
    answers = [{"item": item.id, "answer": "Yes."} for item in items]

    def audited(rows: list[dict[str, Any]]) -> tuple[int, str]:
        path = tmp_path / "model.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)))
        options = ("--no-report", "--forms", "original", "--store", tmp_path / "s.sqlite")
        status, _, err = run("audit", "shapes_yesno", "--recorded", path, *options)
        return status, err

    shifted = [{**row, "image": i.image} for row, i in zip(answers, items[::-1], strict=True)]
    status, err = audited(shifted)
    assert status != 0
    assert tells(err, "answers.other-questions", wrong=40, rows=40)
    keyed = [
        {**row, "target": turned[i.target] if n < 3 else i.target, "image": i.image}
        for n, (row, i) in enumerate(zip(answers, items, strict=True))
    ]
    status, err = audited(keyed)
    assert status == 0
    assert tells(err, "silent.other-keys", count=3, rows=40)
    n_items = len(hqm.load("shapes_yesno").original.items)
    counts = {"matched": 40, "rows": 40, "contradicting": 0, "unmatched": 0}
    assert tells(err, "log.last", **counts, missing=n_items - 40, answers=n_items)


def test_recordings_of_a_form_that_is_not_asked_are_no_fault() -> None:
    """A release may hold answers to more wordings than an audit compares."""

    class Released:
        name = "released"
        has_own_answer_files = True

        def recordings(self, path: Path) -> list[Recording]:
            answers = {"a": Response("yes")}
            return [Recording("m", name, 0, answers) for name in ("original", "four")]

    form = Form(
        "original", (Item("a", "Is it?", "yes_no", "yes"), Item("b", "Or?", "yes_no", "no"))
    )
    forms = {"original": form}
    recorded = read_recorded(Released(), [Path("release")], forms, LogSettings())  # type: ignore[arg-type]
    assert [recording.form for recording in recorded.recordings] == ["original", "four"]
    assert [recording.form for recording in recorded.select_items(forms).recordings] == ["original"]
    counts = {"matched": 1, "rows": 1, "contradicting": 0, "unmatched": 0}
    assert tells(recorded.sentence, "log.last", **counts, missing=1, answers=2)


def test_score_counts_the_rows_that_name_another_right_answer(
    dogs: Path, tmp_path: Path, run: Run
) -> None:
    items = hqm.load(dogs).original.items
    opposite = {"yes": "no", "no": "yes"}
    rows = [
        {
            "item": item.id,
            "question": item.prompt,
            "target": opposite[item.target] if i < 2 else item.target,
            "response": "yes",
        }
        for i, item in enumerate(items)
    ]
    path = tmp_path / "turned.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    status, _, err = run("score", dogs, "--answers", path)
    assert status == 0
    assert tells(err, "silent.other-keys", count=2, rows=len(items))
