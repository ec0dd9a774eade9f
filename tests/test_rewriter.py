"""A model rephrases what no rule fits; its words are checked, kept, and not asked for twice."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hqm
from hqm.cli import main
from hqm.forms.make_forms import read_form
from tests.conftest import write_benchmark
from tests.judge_server import JudgeServer

QUESTIONS = {
    "a": 'Whither goes the man with the number 7 and the sign "EXIT"?',
    "b": "Wherefore the second umbrella?",
    "c": "Describe the image.",
    "d": "Perchance, whither and wherefore?",
}
REPLIES = {
    "a": 'To where does the man with the number 7 and the sign "EXIT" go?',
    "b": "Tell about umbrella 3?",
    "d": "perchance whither and wherefore?",
}


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    def reply(prompt: str, _: dict[str, Any]) -> str:
        question = prompt.rpartition("Question: ")[2]
        return next(REPLIES[key] for key, text in QUESTIONS.items() if text == question)

    running = JudgeServer(reply)
    yield running
    running.stop()


def test_left_out_questions_are_rephrased_checked_and_kept(
    server: JudgeServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [
        {"id": key, "prompt": text, "target": "x", "image": f"{key}.png"}
        for key, text in QUESTIONS.items()
    ]
    folder = write_benchmark(tmp_path / "mine", rows, task="vqa")
    command = [
        "hqm",
        "forms",
        folder,
        "--rewriter",
        server.name(),
        "--out",
        tmp_path / "form.jsonl",
    ]
    command += ["--store", tmp_path / "store.sqlite"]
    for _ in range(2):
        monkeypatch.setattr(sys, "argv", list(map(str, command)))
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
    capsys.readouterr()
    assert len(server.prompts) == 3, "asked once, found in the store the second time"
    benchmark = hqm.load(str(folder))
    form = read_form(tmp_path / "form.jsonl", benchmark.original)
    assert {item.id: item.rule for item in form.items} == {
        "a": f"rewriter.{server.name()}",
        "c": "wording.bank",
    }
    assert form.by_id["a"].prompt == REPLIES["a"]
    reasons = {omitted.id: omitted.reason for omitted in form.left_out}
    assert "number" in reasons["b"]
    assert "same question" in reasons["d"]
    assert json.loads((tmp_path / "form.jsonl").read_text().splitlines()[0])["id"] == "a"


def test_yes_no_questions_are_left_to_the_rules(
    dogs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "hqm",
        "forms",
        dogs,
        "--rewriter",
        "openai/x@http://127.0.0.1:9/v1",
        "--store",
        tmp_path / "s.sqlite",
    ]
    monkeypatch.setattr(sys, "argv", list(map(str, command)))
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert "rephrases open questions" in capsys.readouterr().err
