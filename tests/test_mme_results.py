"""Results of MME's evaluation tool: a folder for a model, a text file for a task."""

from pathlib import Path

import pytest

import hqm
from hqm.errors import HQMError
from tests.messages import tells

LINES = {
    "count": "a.jpg\tAre there two dogs?\tYes\t{}\nb.jpg\tAre there two cats?\tNo\t{}\n",
    "color": "a.jpg\tIs the dog red?\tNo\t{}\na.jpg\tIs the dog brown?\tYes\t{}\n",
}
ANSWERS = {"strong": ("Yes", "No", "no, it is brown.", "Yes"), "weak": ("yes", "Yes", "Yes", "")}


def write(folder: Path, suffix: str = "jpg") -> Path:
    for model, answers in ANSWERS.items():
        (folder / model).mkdir(parents=True)
        for i, (task, lines) in enumerate(LINES.items()):
            text = lines.format(*answers[2 * i : 2 * i + 2])
            if model == "weak":
                text = text.replace(".jpg", f".{suffix}")
            (folder / model / f"{task}.txt").write_text(text)
    (folder / "requirements.txt").write_text("numpy\n")
    return folder


@pytest.mark.parametrize("suffix", ["jpg", "txt"])
def test_the_folders_of_models_are_one_benchmark(tmp_path: Path, suffix: str) -> None:
    """LLaVA's converter writes the question's file for the picture."""
    (benchmark,) = hqm.from_logs(write(tmp_path / "eval_tool", suffix))
    assert [item.target for item in benchmark.original.items] == ["no", "yes", "yes", "no"]
    states = {
        recording.respondent: [answer.state for answer in recording.answers.values()]
        for recording in benchmark.included_recordings
    }
    assert states == {"strong": ["ok"] * 4, "weak": ["ok", "error", "ok", "ok"]}
    assert {item.type for item in benchmark.original.items} == {"color", "count"}


def test_a_line_without_an_answer_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "eval_tool")
    path = folder / "weak" / "count.txt"
    path.write_text(path.read_text() + "c.jpg\tIs it late?\tNo\n")
    with pytest.raises(HQMError) as error:
        hqm.from_logs(path)
    assert tells(str(error.value), "mme.cells", cells=3)
