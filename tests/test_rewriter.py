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
from tests.messages import tells

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
    assert tells(capsys.readouterr().err, "form.no-rewriter", form="parallel")


FOREIGN = {
    "es": ("¿Hay un perro en la imagen?", "¿Se ve un perro en la imagen?"),
    "zh": ("图片中有狗吗？", "这张图片里有没有一只狗？"),
    "de": ("Ist auf dem Bild ein Hund zu sehen?", "Zeigt das Bild einen Hund?"),
    "fr": ("Y a-t-il un chien dans l'image ?", "Is there a dog in the picture?"),
    "pt": ("Há um cão na imagem?", "Não há um cão na imagem?"),
}


def test_questions_in_other_languages_are_rephrased_in_theirs_and_reviewed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def reply(prompt: str, _: dict[str, Any]) -> str:
        asked.append(prompt)
        return next(new for old, new in FOREIGN.values() if prompt.endswith(f"Question: {old}"))

    running = JudgeServer(reply)
    rows = [
        {"id": key, "prompt": old, "target": "yes", "image": f"{key}.png"}
        for key, (old, _) in FOREIGN.items()
    ]
    folder = write_benchmark(tmp_path / "mine", rows, task="yes_no")
    form_file = tmp_path / "form.jsonl"
    rephrase = ["forms", folder, "--form", "parallel2", "--rewriter", running.name()]
    rephrase += ["--out", form_file, "--store", tmp_path / "store.sqlite"]
    plan = ["label", "plan", folder, "--schema", "review_form", "--form", f"parallel={form_file}"]
    plan += ["--labels", "2", "--raters", "anna", "--out", tmp_path / "plan.jsonl"]
    plan += ["--store", tmp_path / "store.sqlite"]
    try:
        for command in (["forms", folder], rephrase, plan):
            monkeypatch.setattr(sys, "argv", ["hqm", *map(str, command)])
            with pytest.raises(SystemExit) as end:
                main()
            assert not end.value.code, capsys.readouterr().err
    finally:
        running.stop()
    assert tells(capsys.readouterr().out, "form.foreign", foreign=5, items=5)
    form = read_form(form_file, hqm.load(str(folder)).original)
    assert {item.id: item.prompt for item in form.items} == {
        key: FOREIGN[key][1] for key in ("es", "zh", "de")
    }
    assert {item.target for item in form.items} == {"yes"}
    reasons = {omitted.id: omitted.reason for omitted in form.left_out}
    assert "it is in another language" in reasons["fr"]
    assert "a negation was added" in reasons["pt"]
    assert any("The question is in Chinese" in prompt for prompt in asked)
    planned = (tmp_path / "plan.jsonl").read_text(encoding="utf-8")
    assert '"review_form"' in planned
