"""A model reads what the reader leaves unread or in doubt: only that, said and signed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hqm
from hqm.errors import UnreadableReply
from hqm.judges.reading_models import N_CHECKED, ReadingCheck, read_reply
from hqm.types import Item
from tests.conftest import Run, write_benchmark
from tests.judge_server import JudgeServer

N_ITEMS = 24
UNREAD = {
    "3": ("Well, what is one to make of all these wheels and rails!", "yes"),
    "7": ("The furry friend on the left is smiling.", "no"),
    "11": ("Hard to put into words.", "none"),
}


def reply(prompt: str, _: dict[str, Any]) -> str:
    """What a careful person would say of the answers above; of the others, their first word."""
    answer = prompt.partition("<answer>")[2].partition("</answer>")[0]
    for text, said in UNREAD.values():
        if answer == text:
            return said
    return f"{answer.partition(',')[0].lower()}."


@pytest.fixture
def reader() -> Iterator[JudgeServer]:
    judge_server = JudgeServer(reply)
    try:
        yield judge_server
    finally:
        judge_server.stop()


def recorded_study(tmp_path: Path) -> tuple[Path, Path]:
    """A benchmark of yes/no questions, and a file of two respondents' answers to it."""
    items = [
        {"id": str(n), "prompt": f"Is there object {n}?", "target": ("yes", "no")[n % 2]}
        for n in range(N_ITEMS)
    ]
    rows = [
        {
            "item": str(n),
            "respondent": name,
            "answer": UNREAD[str(n)][0]
            if name == "a" and str(n) in UNREAD
            else f"{('Yes', 'No')[(n + (n % 5 == 0)) % 2]}, I think.",
        }
        for name in "ab"
        for n in range(N_ITEMS)
    ]
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return write_benchmark(tmp_path / "mine", items), answers


def estimates_of(folder: Path) -> list[dict[str, Any]]:
    """The estimates of the first benchmark of an audit."""
    audit = json.loads((folder / "audit.json").read_text(encoding="utf-8"))
    return list(audit["audits"][0]["estimates"])


def test_a_model_reads_what_is_unread_and_some_that_is_read(
    tmp_path: Path, run: Run, reader: JudgeServer
) -> None:
    folder, answers = recorded_study(tmp_path)
    arguments = ["audit", folder, "--recorded", answers, "--forms", "original", "-q"]
    arguments += ["--store", tmp_path / "store.sqlite"]
    status, _, errors = run(*arguments, "--out", tmp_path / "alone")
    assert status == 0, errors
    alone = hqm.Audit.load(tmp_path / "alone" / "audit.json").audits[0]
    with_model = [*arguments, "--set", f"read_with={reader.name()}"]
    status, plan, errors = run(*with_model, "--dry-run", "--json")
    assert status == 0, errors
    assert not reader.prompts, "a dry run asks nothing"
    n_distinct = N_ITEMS + len(UNREAD)
    assert json.loads(plan)["judging"] == {reader.name(): n_distinct}
    for _ in range(2):  # the second time nothing is asked
        status, _, errors = run(*with_model, "--out", tmp_path / "out")
        assert status == 0, errors
        assert len(reader.prompts) == n_distinct
    audit = hqm.Audit.load(tmp_path / "out" / "audit.json").audits[0]
    before, now = (next(iter(a.state_counts.values())) for a in (alone, audit))
    assert (before["unparsed"], now["unparsed"]) == (3, 1)
    (flag,) = [flag for flag in audit.flags if flag["flag"] == "READ_WITH"]
    assert "read 3 of 48 answers" in flag["sentence"]
    assert f"agree in {N_ITEMS} of {N_ITEMS}" in flag["sentence"]
    assert flag["note"]
    assert flag["sentence"] in (tmp_path / "out" / "evidence.html").read_text(encoding="utf-8")
    signatures = {estimate["signature"] for estimate in estimates_of(tmp_path / "out")}
    assert len(signatures) > 3
    assert all(f"read_with:1={reader.name()}" in signature for signature in signatures)
    assert "read_with" not in (tmp_path / "alone" / "audit.json").read_text(encoding="utf-8")


def test_a_reply_is_an_option_or_a_polarity_and_nothing_beside_it() -> None:
    choice = Item("1", "Which?", "choice", "A", options=("red", "blue"))
    assert [read_reply(choice, text) for text in ("B", "(a)", "None.")] == ["B", "a", ""]
    assert read_reply(Item("1", "How many?", "vqa", "3"), "three dogs") == "three dogs"
    for text in ("C", "A, I think"):
        with pytest.raises(UnreadableReply):
            read_reply(choice, text)


def test_the_error_follows_from_the_agreement_and_the_share_that_was_sent() -> None:
    sentence = ReadingCheck("m", 100, 1000, 196, N_CHECKED).sentence
    # Wilson's lower bound of 196 of 200 is .950, and a tenth of the answers was sent
    assert "at least 0.950 by the 95% interval" in sentence
    assert "at most 0.5 points" in sentence
