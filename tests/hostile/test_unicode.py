"""Text of every script through every command: nothing hangs, nothing is lost, nothing is asked for
that was not wanted.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hqm
from hqm.auditing.audit import Audit
from hqm.benchmark.adapter import Benchmark
from hqm.errors import NoRule
from hqm.forms.grammar import tag
from hqm.forms.make_forms import build_parallel
from hqm.forms.negate import flip
from hqm.forms.rephrase import rephrase_open
from hqm.scoring.words.interfaces import MAX_WORD_LETTERS, shorten_word
from hqm.scoring.words.offline import HantaNouns
from hqm.types import Form, Item
from tests.conftest import Run, write_benchmark

TEXTS = {
    "Chinese": "这张图片里有一只狗吗？请回答。",
    "Chinese without marks": "这张图片里有一只狗吗" * 80,
    "Japanese": "この画像に犬はいますか？はいかいいえで答えてください。",
    "Korean": "이미지에 개가 있습니까?",
    "Thai": "ในภาพนี้มีสุนัขหรือไม่" * 30,
    "Arabic": "هل يوجد كلب في الصورة؟",
    "Hebrew": "האם יש כלב בתמונה?",
    "right to left marks": "Is there a \u202eגוד\u202c dog \u200fin the image?",
    "Hindi": "क्या छवि में कुत्ता है?",
    "emoji": "Is there a 🐕‍🦺 or a 👩‍👩‍👧‍👦 in the image? 🏳️‍🌈",
    "only emoji": "🐕❓",
    "combining marks": "I\u0301s the\u0301re a dog in the image?" + "\u0301" * 50,
    "full width": "Ｉｓ ｔｈｅｒｅ ａ ｄｏｇ？",
    "mathematical": "𝐼𝑠 𝑡ℎ𝑒𝑟𝑒 𝑎 𝑑𝑜𝑔?",
    "zero width": "Is there a d\u200bo\u200cg in the\u2060 image?",
    "line separators": "Is there\u2028a dog\u2029in the image?",
    "German": "Ist das Straßenverkehrszulassungsordnungsschild größer als „Süß“?",
    "one long word": "Is there a " + "Donaudampfschifffahrts" * 60 + " in the image?",
    "an address": "Is https://example.org/" + "path/" * 80 + "a.png in the image?",
    "base64": "Is " + "iVBORw0KGgoAAAANSUhEUg" * 60 + " in the image?",
    "no space at all": "Isthereadogintheimage?" * 40,
    "many words": "Is there a dog in the image, " * 60 + "or not?",
    "private use": "Is there a \ue123 in the image?",
    "beyond the plane": "Is there a 𠜎𠜱𠝹𠱓 in the image?",
}  # fmt: skip


def texts() -> list[Any]:
    return [pytest.param(text, id=name) for name, text in TEXTS.items()]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The words that the taggers are given: their work grows with the cube of a word's letters, not
    with a clock.
    """
    tagged_words: list[str] = []
    for module in ("hqm.forms.grammar", "hqm.scoring.words.offline"):
        tagger = sys.modules[module].__dict__["english_tagger"]()

        class Counting:
            def __init__(self, real: Any) -> None:
                self.real = real

            def tag_sent(self, words: list[str], **settings: Any) -> Any:
                tagged_words.extend(words)
                return self.real.tag_sent(words, **settings)

            def tag_word(self, word: str) -> Any:
                tagged_words.append(word)
                return self.real.tag_word(word)

        monkeypatch.setattr(
            f"{module}.english_tagger",
            lambda tagger=tagger, counting_type=Counting: counting_type(tagger),
        )
    return tagged_words


@pytest.mark.parametrize("text", texts())
def test_no_tagger_is_given_a_sentence_for_a_word(counted: list[str], text: str) -> None:
    words = tag(text)
    assert [text[word.start : word.end] for word in words] == [word.text for word in words], (
        "what is capped is what is tagged only"
    )
    nouns = HantaNouns()(text)
    assert all(text[noun.start :].startswith(noun.text) for noun in nouns)
    for rewrite in (flip, rephrase_open):
        try:
            rewritten = rewrite(text).prompt
        except NoRule:
            continue
        assert rewritten != text
    assert max(map(len, counted)) <= MAX_WORD_LETTERS
    assert all(
        len(word) <= 4 for word in counted if not any(c.isascii() and c.isalpha() for c in word)
    )


@pytest.mark.parametrize("text", texts())
@pytest.mark.parametrize("task", ["yes_no", "vqa", "caption", "choice"])
def test_a_parallel_form_takes_over_or_lists_every_text(task: Any, text: str) -> None:
    options = ("红", "أزرق", "🟢") if task == "choice" else ()
    item = Item("1", text, task, {"yes_no": "yes", "choice": "A"}.get(task, "犬"), options=options)
    form = build_parallel(Form("original", (item,)))
    assert len(form.items) + len(form.left_out) == 1
    for excluded in form.left_out:
        assert excluded.prompt == text
    for parallel_item in form.items:
        assert set(parallel_item.options) == set(options)


def test_a_word_of_a_language_with_spaces_is_whole() -> None:
    assert (
        shorten_word("Straßenverkehrszulassungsordnungsschild")
        == "Straßenverkehrszulassungsordnungsschild"
    )
    assert (
        shorten_word("https://cdn.pixabay.com/photo/2014/12/16/22/25/woman-570883")
        == "https://cdn.pixabay.com/photo/2014/12/16/22/25/woman-570883"
    )
    assert shorten_word("x" * 1_000) == "x" * MAX_WORD_LETTERS


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A yes/no benchmark with a question of every script, on pictures whose names are of every
    script.
    """
    rows = [
        {
            "id": f"q{i}-{name}",
            "prompt": text,
            "target": "yes" if i % 2 else "no",
            "image": f"图{i // 2}-كلب.png",
            "part": "部分",
        }
        for i, (name, text) in enumerate(TEXTS.items())
    ]
    folder = write_benchmark(
        tmp_path / "مجلد-世界", rows, name="world", title="TITLE", summary="SUMMARY"
    )
    # TOML has no pairs of surrogates, as which JSON escapes an emoji
    card = (
        (folder / "card.toml")
        .read_text()
        .replace("TITLE", "世界 عالم 🌍")
        .replace("SUMMARY", "右から左 שלום")
    )
    (folder / "card.toml").write_text(card, encoding="utf-8")
    answers = [
        {
            "respondent": name,
            "form": "original",
            "run": run,
            "item": row["id"],
            "answer": "Yes, 是的 نعم 👍" if (i + k + run) % 3 else "No.",
        }
        for k, name in enumerate(("模型", "نموذج", "🤖"))
        for run in (0, 1)
        for i, row in enumerate(rows)
    ]
    (tmp_path / "回答.jsonl").write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in answers), encoding="utf-8"
    )
    return folder


def test_every_command_takes_every_script(run: Run, world: Path, tmp_path: Path) -> None:
    answers, out_dir, store = (
        tmp_path / "回答.jsonl",
        tmp_path / "出力",
        tmp_path / "出力" / "商店.sqlite",
    )

    def ok(*arguments: object) -> str:
        status, output, err = run(*arguments)
        assert (status, err) == (0, ""), f"{arguments}: {err} {output[-2000:]}"
        return output

    ok("check", world, "--exit-zero")
    ok("forms", world, "--out", tmp_path / "形式.jsonl")
    ok("audit", "--dry-run", world, "--recorded", answers, "--store", store, "-q")
    asking = ("--recorded", answers, "--store", store, "-q")
    ok("audit", "--no-report", world, *asking)
    ok("audit", world, *asking, "--out", out_dir)
    audit = Audit.load(out_dir / "audit.json").audits[0]
    assert [row.name for row in audit.respondents] == [
        "recorded/模型",
        "recorded/نموذج",
        "recorded/🤖",
    ]
    assert audit.title == "世界 عالم 🌍"
    page = (out_dir / "evidence.html").read_text(encoding="utf-8")
    assert "世界 عالم 🌍" in page
    assert "右から左 שלום" in page
    for name in ("表.tex", "表.csv", "表.md", "表.json", "報告.html"):
        ok("report", out_dir / "audit.json", "--to", tmp_path / name)
    document = json.loads((out_dir / "audit.json").read_text(encoding="utf-8"))
    document["audits"][0]["title"] = "又"
    (out_dir / "又.json").write_text(json.dumps(document), encoding="utf-8")
    for name in ("比較.html", "比較.csv"):
        ok("compare", out_dir / "audit.json", out_dir / "又.json", "--to", tmp_path / name)
    assert run("gate", out_dir / "audit.json", "--junit", tmp_path / "門.xml", "--github")[0] == 1
    assert (tmp_path / "門.xml").read_text(encoding="utf-8").startswith("<?xml")
    ok("export", store, "--to", tmp_path / "出.jsonl")
    ok("import", tmp_path / "出.jsonl", "--store", tmp_path / "入.sqlite")
    ok("export", tmp_path / "入.sqlite", "--to", tmp_path / "出二.jsonl")
    assert (tmp_path / "出.jsonl").read_bytes() == (tmp_path / "出二.jsonl").read_bytes()
    answers = [{"item": f"q{i}-{name}", "answer": "نعم yes"} for i, name in enumerate(TEXTS)]
    (tmp_path / "一.jsonl").write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in answers), encoding="utf-8"
    )
    ok("score", world, "--answers", tmp_path / "一.jsonl", "--part", "部分")
    (tmp_path / "表格.csv").write_text(
        "模型,甲,乙\nنموذج,0.5,0.6\n🤖,0.7,0.4\n模型三,0.9,0.8\n", encoding="utf-8"
    )
    ok("table", tmp_path / "表格.csv")
    (tmp_path / "問.csv").write_text(
        "question,answer\n这是狗吗？,yes\nهل هذا كلب؟,no\n", encoding="utf-8"
    )
    ok("new", tmp_path / "new_one", "--from", tmp_path / "問.csv", "--title", "新しい 🌱")
    ok("check", tmp_path / "new_one", "--exit-zero")
    ok("list")


@pytest.mark.parametrize(
    ("forms", "built"),
    [("original", 0), ("original,parallel", 1), ("parallel", 1), ("original,nothing", 0)],
)
def test_the_parallel_form_is_made_only_when_it_is_asked_for(
    run: Run, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forms: str, built: int
) -> None:
    built_forms: list[Form] = []
    real: Callable[[Benchmark, Form], Form] = Benchmark.parallel
    monkeypatch.setattr(
        Benchmark, "parallel", lambda self, form: (built_forms.append(form), real(self, form))[1]
    )
    status, _, err = run(
        "audit",
        "--dry-run",
        world,
        "-r",
        "openai/x@http://127.0.0.1:9/v1",
        "--forms",
        forms,
        "--store",
        tmp_path / "s.sqlite",
    )
    assert len(built_forms) == built, err
    if "nothing" in forms:
        assert (status, "It has original, parallel" in err) == (2, True)


def test_a_terminal_that_knows_no_chinese_is_told_in_escapes(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("m,a,b\n模型,0.5,0.6\nx,0.1,0.2\ny,0.3,0.1\n", encoding="utf-8")
    completed = subprocess.run(
        [sys.executable, "-m", "hqm.cli", "check", "模型", "--exit-zero"],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONIOENCODING": "ascii", "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
    )
    assert (completed.returncode, "Traceback" in completed.stderr) == (2, False)
    assert "\\u6a21\\u578b" in completed.stderr


def test_one_respondent_is_told_in_one_sentence(run: Run, dogs: Path, tmp_path: Path) -> None:
    """Nothing of the kind `needs 3 respondents`, no warning of NumPy's, and what one respondent's
    answers can say.
    """
    rows = [
        {
            "respondent": "solo",
            "form": form,
            "run": r,
            "item": f"q{i}",
            "answer": "yes" if (i * 7 + r) % 3 else "no",
        }
        for form, r in (("original", 0), ("original", 1), ("parallel", 0))
        for i in range(12)
    ]
    (tmp_path / "solo.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = (
        "--recorded",
        tmp_path / "solo.jsonl",
        "--store",
        tmp_path / "s.sqlite",
        "--out",
        tmp_path / "out",
        "-q",
        "--all",
    )
    status, output, err = run("audit", dogs, *arguments)
    assert (status, err) == (0, "")
    assert output.count("One respondent answered") == 1
    assert " needs an" not in output
    assert "12 items, 1 respondent\n" in output
    for phrase in ("item agreement", "mean shift", "yes-ratio shift"):
        assert phrase in output, "what one respondent's answers can say"
    audit = Audit.load(tmp_path / "out" / "audit.json").audits[0]
    assert audit.respondents[0].scores["accuracy"] is not None
    assert hqm.BenchmarkAudit is type(audit)
    assert run("report", tmp_path / "out" / "audit.json", "--to", tmp_path / "t.tex")[0] == 0
    assert run("gate", tmp_path / "out" / "audit.json")[0] == 1
