"""`hqm build halcaption` with a model as writer and one as filter, both behind a real server on
loopback.
"""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hqm_build.building import build
from hqm_build.caption_writers import MAX_LENGTH_DIFFERENCE, MAX_SPAN_WORDS

import hqm
from hqm.errors import UsageError
from tests.conftest import Run
from tests.messages import pattern_of, text_of
from tests.servers import PlannedServer, completion

NEXT = {
    "red": "green",
    "green": "blue",
    "blue": "yellow",
    "yellow": "purple",
    "purple": "red",
    "jumping": "sleeping",
    "sleeping": "reading",
    "reading": "waving",
    "waving": "running",
    "running": "jumping",
    "above": "below",
    "below": "above",
    "left": "right",
    "right": "left",
    "triangle": "square",
    "square": "circle",
    "circle": "star",
    "star": "triangle",
}
KINDS = {
    "color, size": ("red", "green", "blue", "yellow", "purple"),
    "do something else": ("jumping", "sleeping", "reading", "waving", "running"),
    "lie in another place": ("above", "below", "left", "right"),
    "another thing in the place": ("triangle", "square", "circle", "star"),
}


def prompt_of(body: dict[str, Any]) -> str:
    content = body["messages"][0]["content"]
    return content if isinstance(content, str) else str(content[-1]["text"])


def write(prompt: str) -> str:
    """A writer: it exchanges one word, refuses about triangles beside a person, and chats about
    some others.
    """
    sentence = prompt.rpartition("Sentence: ")[2]
    if "triangle" in sentence and "person" in sentence:
        return "I'm sorry, but I can't help with that."
    words = next(words for kind, words in KINDS.items() if kind in prompt)
    exchanged = re.sub(rf"\b({'|'.join(words)})\b", lambda m: NEXT[m[0]], sentence, count=1)
    if "star" in sentence and "above" in sentence:
        return f"Here is the changed sentence:\n{exchanged}"
    if "circle" in sentence and "below" in sentence:
        return exchanged.replace("A ", "Some ").replace(" a ", " some ")
    return exchanged


def check(prompt: str) -> str:
    """A filter that thinks two things may be running and sleeping at once, and is silent about
    waving and about what is yellow.
    """
    wrong = prompt.rpartition("Second: ")[2]
    if "running" in wrong:
        return "Unclear."
    return "Who knows" if "waving" in wrong or "yellow" in wrong else "False"


def reply(_: int, body: dict[str, Any], *__: Any) -> tuple[int, dict[str, str], bytes]:
    prompt = prompt_of(body)
    return completion(write(prompt) if "Sentence: " in prompt else check(prompt))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    home = tmp_path_factory.mktemp("models")
    with PlannedServer(reply) as server, hqm.Store(home / "store.sqlite") as store:
        names = {"writer": f"openai/writer@{server.url}", "checker": f"openai/filter@{server.url}"}
        first_build = build(
            "halcaption", "shapes", home / "first" / "mine", items=40, seed=3, store=store, **names
        )
        first = len(server.asked)
        second_build = build(
            "halcaption", "shapes", home / "second" / "mine", items=40, seed=3, store=store, **names
        )
        return {
            "made": first_build,
            "again": second_build,
            "first": first,
            "in all": len(server.asked),
            "home": home,
            **names,
        }


def rows(folder: Path, name: str = "items.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()]


def test_the_models_write_and_check_and_are_asked_once(built: dict[str, Any]) -> None:
    first_build = built["made"]
    assert built["first"] == built["in all"] > 160
    assert first_build.keeps_promises
    files = [
        {path.name: path.read_bytes() for path in build.folder.glob("*.jsonl")}
        for build in (first_build, built["again"])
    ]
    assert files[0] == files[1]
    labels = Counter((row["part"], row["target"]) for row in rows(first_build.folder))
    assert len(labels) == 8
    assert all(labels[part, "yes"] == labels[part, "no"] > 0 for part, _ in labels)


def test_every_wrong_caption_is_one_that_was_written_and_called_false(
    built: dict[str, Any],
) -> None:
    captions = rows(built["made"].folder, "captions.jsonl")
    assert len(captions) > 50
    for row in captions:
        for wrong in row["wrong"]:
            start, end = wrong["span"]
            assert wrong["caption"][start:end] == wrong["after"]
            assert row["caption"][start : start + len(wrong["before"])] == wrong["before"]
            assert row["caption"][:start] == wrong["caption"][:start]
            assert (
                abs(len(row["caption"].split()) - len(wrong["caption"].split()))
                <= MAX_LENGTH_DIFFERENCE
            )
            assert len(wrong["after"].split()) <= MAX_SPAN_WORDS
            assert NEXT[wrong["before"]] == wrong["after"]
            assert wrong["after"] not in ("running", "waving")
            assert "openai/writer" in wrong["why"]
            assert "openai/filter" in wrong["why"]


def test_what_the_models_did_not_do_is_counted(built: dict[str, Any]) -> None:
    notes = " ".join(built["made"].measured.notes)
    for reason in (
        "no reply, or a refusal",
        "it has several lines",
        text_of("writer.several-spans"),
        text_of("writer.may-be-true"),
        text_of("writer.verdict-missing"),
    ):
        assert re.search(rf"[1-9]\d*: {reason}", notes), notes
    assert re.search(
        pattern_of("writer.asked", writer=re.compile(r"openai/writer@\S+"), times=640), notes
    )


def test_a_model_needs_a_store_and_a_server_that_answers(run: Run, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="need a store"):
        build(
            "halcaption",
            "shapes",
            tmp_path / "mine",
            items=8,
            writer="openai/x@http://127.0.0.1:9/v1",
        )
    with PlannedServer(reply) as server:
        command = (
            "build",
            "halcaption",
            "--items",
            8,
            "--filter",
            f"openai/filter@{server.url}",
            "--out",
            tmp_path / "mine",
        )
        status, output, err = run(*command, "--store", tmp_path / "store.sqlite")
        assert status == 0, err
        assert "the filter openai/filter@" in output
        before = len(server.asked)
        rerun_command = (*command[:-1], tmp_path / "again", "--store", tmp_path / "store.sqlite")
        assert run(*rerun_command)[0] == 0
        assert len(server.asked) == before > 20
