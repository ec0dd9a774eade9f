"""Only an answer is an answer: what is refused, empty, cut or cannot be stored is counted, and
never scored or lost.
"""

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import hqm
from hqm.auditing.definitions import scored_answers
from hqm.auditing.gate import check_against
from hqm.benchmark.judge_api import refuse_empty, replay
from hqm.errors import NoReply, UsageError
from hqm.judges.judge_models import Judging
from hqm.judges.procedure import Panel
from hqm.scoring.parsers import PARSERS
from hqm.scoring.rules import ANSWERED, WITHHELD, unscored
from hqm.store.database import ask
from hqm.text import has_words, storable
from hqm.types import STATES
from tests.conftest import Run, write_benchmark
from tests.counts_said import judge_counts, run_counts
from tests.messages import tells, text_of
from tests.servers import PlannedServer, completion, question

REFUSAL = "No, I cannot help with that."

# --- what is an answer ---

OUTCOMES: dict[str, tuple[tuple[str, str], str]] = {
    "a word": (("Yes", "ok"), "ok"),
    "a word between blanks": ((" \n no\t", "ok"), "ok"),
    "a letter": (("B", "ok"), "ok"),
    "a number": (("7", "ok"), "ok"),
    "a full stop": ((".", "ok"), "ok"),
    "Chinese": (("是", "ok"), "ok"),
    "Arabic": (("نعم", "ok"), "ok"),
    "an emoji": (("👍", "ok"), "ok"),
    "a combining mark after a letter": (("é", "ok"), "ok"),
    "cut in a sentence": (("Yes, there", "truncated"), "truncated"),
    "thoughts, then an answer": (("<think>It is red.</think>Yes", "ok"), "ok"),
    "thoughts, then a cut answer": (("<think>Hm</think>\n\nYes, it", "truncated"), "truncated"),
    "the word think": (("I think <think> is a tag", "ok"), "ok"),
    "nothing": (("", "ok"), "empty"),
    "blanks": (("   ", "ok"), "empty"),
    "line ends": (("\n\r\n\t", "ok"), "empty"),
    "a no-break space": (("\u00a0", "ok"), "empty"),
    "an ideographic space": (("\u3000", "ok"), "empty"),
    "a zero-width space": (("\u200b", "ok"), "empty"),
    "a byte order mark": (("\ufeff", "ok"), "empty"),
    "a right-to-left mark": (("\u200f\u202e", "ok"), "empty"),
    "a soft hyphen": (("\u00ad", "ok"), "empty"),
    "control characters": (("\x01\x1b\x7f", "ok"), "empty"),
    "half a surrogate pair": (("\ud800", "ok"), "empty"),
    "a NUL": (("\0", "ok"), "empty"),
    "thoughts and nothing else": (("<think>It is red.</think>", "ok"), "empty"),
    "thoughts that never ended": (("<think>It is", "ok"), "empty"),
    "cut before any word": (("", "truncated"), "cut"),
    "cut after a blank": ((" \n", "truncated"), "cut"),
    "cut in its thoughts": (("<think>Let me look at", "truncated"), "cut"),
    "cut behind its thoughts": (("<thinking>Let me</thinking>\n", "truncated"), "cut"),
    "a refusal": ((REFUSAL, "refused"), "refused"),
    "a refusal that begins with yes": (("Yes, but I will not say", "refused"), "refused"),
    "a refusal without words": (("", "refused"), "refused"),
    "an error with a text": (("Yes", "error"), "error"),
    "an error": (("", "error"), "error"),
    "never asked": (("", "missing"), "missing"),
    "a file that says empty": (("Yes", "empty"), "empty"),
    "a file that says cut": (("Yes", "cut"), "cut"),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_how_a_response_came_out(name: str) -> None:
    (text, state), outcome = OUTCOMES[name]
    assert hqm.Response(text, state).outcome == outcome  # type: ignore[arg-type]


NO_ANSWERS = {name: row for name, (row, outcome) in OUTCOMES.items() if outcome not in ANSWERED}


@pytest.mark.parametrize("reader", PARSERS)
def test_no_reader_scores_what_is_no_answer(reader: str, dogs: Path) -> None:
    benchmark = hqm.load(str(dogs), parser=reader)
    for name, (text, state) in NO_ANSWERS.items():
        verdict = benchmark.verdict(benchmark.original.items[0], hqm.Response(text, state))  # type: ignore[arg-type]
        assert not verdict.scored, name
        assert verdict.state == OUTCOMES[name][1]
        assert verdict.reason or state in ("error", "missing")


@pytest.mark.parametrize("reader", ["pope", "strict", "lmms_eval_hallusion", "faithscore"])
def test_the_release_may_score_what_was_withheld(reader: str, dogs: Path) -> None:
    benchmark = hqm.load(str(dogs), parser=reader, withheld="official")
    item = benchmark.original.items[0]
    for name, (text, state) in NO_ANSWERS.items():
        response = hqm.Response(text, state)  # type: ignore[arg-type]
        verdict = benchmark.verdict(item, response)
        official = benchmark.score(item, response)
        assert verdict.value == (None if state in ("error", "missing") else official.value), name
        assert verdict.state == OUTCOMES[name][1]
    assert "withheld=official" in benchmark.scorer


RULED = (
    "pope",
    "amber_d",
    "amber_g",
    "coco_chair",
    "shapes_yesno",
    "shapes_choice",
    "shapes_vqa",
    "shapes_caption",
)


@pytest.mark.parametrize("scoring", ["official", "paper"])
@pytest.mark.parametrize("name", RULED)
def test_no_benchmark_scores_what_is_no_answer(name: str, scoring: str, data: Path) -> None:
    benchmark = hqm.load(name, data=None if name.startswith("shapes") else data, scoring=scoring)  # type: ignore[arg-type]
    items = benchmark.original.items[:3]
    for item in items:
        for text, state in (
            ("", "ok"),
            ("", "truncated"),
            ("No, I cannot see a dog.", "refused"),
            ("Yes", "error"),
        ):
            response = hqm.Response(text, state)  # type: ignore[arg-type]
            assert not benchmark.verdict(item, response).scored
            assert all(
                not benchmark.oracle(judge)(item, response).scored for judge in benchmark.judges()
            )


def test_a_truncated_answer_is_scored_only_where_it_can_be_read(dogs: Path) -> None:
    benchmark = hqm.load(str(dogs))
    item = benchmark.original.items[0]
    assert benchmark.verdict(item, hqm.Response("Yes, there is", "truncated")).state == "truncated"
    unread = benchmark.verdict(item, hqm.Response("The picture", "truncated"))
    assert (unread.scored, unread.state) == (False, "unparsed")


# --- one definition: score, gate, tables, text ---


def answer_file(path: Path, answers: Sequence[tuple[str, str]]) -> Path:
    rows = [
        {"item": f"q{i}", "answer": text, "state": state} for i, (text, state) in enumerate(answers)
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


ENDINGS: dict[str, tuple[tuple[str, str], int, int]] = {
    "all answered": (("Yes", "ok"), 0, 0),
    "all truncated and read": (("Yes, there", "truncated"), 0, 0),
    "all unreadable": (("Maybe", "ok"), 12, 0),
    "all cut in a sentence, unreadable": (("Looking", "truncated"), 12, 0),
    "all empty": (("", "ok"), 12, 12),
    "all cut": (("", "truncated"), 12, 12),
    "all refused": ((REFUSAL, "refused"), 12, 12),
    "all refused by a filter": (("", "refused"), 12, 12),
    "all errors": (("", "error"), 12, 0),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_score_gate_table_and_text_count_alike(
    name: str, run: Run, dogs: Path, tmp_path: Path
) -> None:
    (text, state), lost, _ = ENDINGS[name]
    # one question of two is answered in words, so that the audit has something to compare
    answers = answer_file(tmp_path / "a.jsonl", [(text, state)] * 12)
    status, output, err = run("score", dogs, "--answers", answers, "--json")
    assert status == 0, err
    score = json.loads(output)
    assert score["unscored"] == lost == unscored(score["states"])
    status, _, err = run(
        "audit", dogs, "--recorded", answers, "--out", tmp_path / "out", "-q", "--forms", "original"
    )
    assert status in (0, 1), err
    audit = hqm.Audit.load(tmp_path / "out" / "audit.json")
    benchmark_audit = audit.audits[0]
    assert unscored(benchmark_audit.state_counts[benchmark_audit.reference]) == lost
    test = next(
        t for t in check_against(audit, hqm.Policy.load()).tests if t.what == "unscored answers"
    )
    assert test.end == lost / 12

    assert (
        scored_answers(benchmark_audit).answers,
        scored_answers(benchmark_audit).unscored,
    ) == (12, lost)
    assert {
        estimate.unscored
        for estimate in benchmark_audit.all_estimates
        if estimate.metric == "accuracy" and not estimate.other
    } <= {lost}


def test_a_gate_says_to_raise_max_tokens(run: Run, dogs: Path, tmp_path: Path) -> None:
    answers = answer_file(tmp_path / "a.jsonl", [("", "truncated")] * 5 + [("Yes", "ok")] * 7)
    advice = text_of("answers.cut", cut=5, answers=12)
    assert advice in run("score", dogs, "--answers", answers)[1]
    output = run(
        "audit", dogs, "--recorded", answers, "--out", tmp_path / "out", "-q", "--forms", "original"
    )[1]
    assert advice in output
    assert advice in run("gate", tmp_path / "out" / "audit.json")[1]
    page = (tmp_path / "out" / "evidence.html").read_text(encoding="utf-8")
    assert advice in re.sub("<[^>]+>", "", page)


@pytest.mark.parametrize("name", [name for name, row in ENDINGS.items() if row[2]])
def test_withheld_answers_that_are_scored_are_flagged(
    name: str, run: Run, dogs: Path, tmp_path: Path
) -> None:
    ending, _, flagged = ENDINGS[name]
    answers = answer_file(tmp_path / "a.jsonl", [ending] * 12)
    command = ("score", dogs, "--answers", answers, "--parser", "pope")
    assert json.loads(run(*command, "--json")[1])["metrics"]["accuracy"] is None
    status, output, _ = run(*command, "--set", "withheld=official")
    assert status == 0
    metrics = [line for line in output.splitlines() if line.startswith("  ")]
    assert metrics
    assert all(line.endswith(f"WITHHELD {flagged}") for line in metrics)
    score = json.loads(run(*command, "--set", "withheld=official", "--json")[1])
    assert (score["withheld"], score["unscored"]) == (flagged, flagged)
    assert score["metrics"]["accuracy"] == 0.5
    assert "withheld=official" in score["signature"]
    settings = ("--parser", "pope", "--set", "withheld=official", "--forms", "original")
    run("audit", dogs, "--recorded", answers, "--out", tmp_path / "out", "-q", *settings)
    audit = hqm.Audit.load(tmp_path / "out" / "audit.json").audits[0]
    accuracies = [
        estimate
        for estimate in audit.all_estimates
        if not estimate.other and estimate.metric == "accuracy"
    ]
    assert accuracies
    assert all(
        "WITHHELD" in estimate.flags and estimate.detail["withheld"] == flagged
        for estimate in accuracies
    )
    assert f"WITHHELD {flagged}" in (tmp_path / "out" / "evidence.html").read_text(encoding="utf-8")


WRONG_OPTIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "paper scoring": (("--set", "withheld=official", "--scoring", "paper"), "no release defines"),
    "an unknown word": (("--set", "withheld=yes"), "withheld takes unscored and official"),
    "nothing": (("--set", "withheld="), "withheld takes unscored and official"),
}


@pytest.mark.parametrize("name", WRONG_OPTIONS)
def test_an_option_that_means_nothing(name: str, run: Run, dogs: Path, tmp_path: Path) -> None:
    options, sentence = WRONG_OPTIONS[name]
    answers = answer_file(tmp_path / "a.jsonl", [("Yes", "ok")] * 12)
    status, _, err = run("score", dogs, "--answers", answers, *options)
    assert status == 2
    assert sentence in err


# --- what a server says ---


@dataclass(frozen=True)
class ServerReply:
    """A server's choice, and what becomes of it."""

    choice: Mapping[str, Any]
    state: str
    text: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
    reply: Mapping[str, Any] = field(default_factory=dict)


def chat(choice: Mapping[str, Any], **reply: Any) -> tuple[int, dict[str, str], bytes]:
    """A completion with this choice; what is no character goes out escaped, as servers write it."""
    status, headers, content = completion("")
    body = json.loads(content)
    body["choices"][0].update(choice)
    return status, headers, json.dumps({**body, **reply}).encode()


def message(content: Any, finish: str = "stop", **fields: Any) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": content, **fields}, "finish_reason": finish}


def top(token: str, **fields: Any) -> dict[str, Any]:
    first = {"token": token, "logprob": -0.1, "bytes": None}
    return {
        **message("Yes"),
        "logprobs": {"content": [{**first, "top_logprobs": [first]}], "refusal": None},
        **fields,
    }


NOTE = {"replaced": "what cannot be stored"}
SERVED: dict[str, ServerReply] = {
    "yes": ServerReply(message("Yes"), "ok", "Yes"),
    "stripped": ServerReply(message(" Yes \n"), "ok", "Yes"),
    "cut with words": ServerReply(message("Yes, there", "length"), "truncated", "Yes, there"),
    "empty, stop": ServerReply(message(""), "empty"),
    "empty, length": ServerReply(message("", "length"), "cut"),
    "null, length": ServerReply(message(None, "length"), "cut"),
    "reasoning only": ServerReply(message(None, "length", reasoning_content="Let me see"), "cut"),
    "reasoning in the text": ServerReply(
        message("<think>Let me see", "length"), "cut", "<think>Let me see"
    ),
    "reasoning beside": ServerReply(
        message("Yes", reasoning_content="No, no. " * 50), "ok", "Yes", {"tokens_reasoning": 100}
    ),
    "reasoning beside, by another name": ServerReply(
        message("Yes", reasoning="No " * 4), "ok", "Yes", {"tokens_reasoning": 3}
    ),
    "reasoning and an end": ServerReply(
        message("", reasoning_content="It is yes."), "error", "", {"final": True}
    ),
    "a call of a tool": ServerReply(
        message(None, "tool_calls", tool_calls=[{"type": "function", "function": {"name": "f"}}]),
        "error",
        "",
        {"final": True},
    ),
    "parts": ServerReply(
        message([{"type": "text", "text": "Ye"}, {"type": "text", "text": "s"}]), "ok", "Yes"
    ),
    "thinking in parts": ServerReply(
        message([{"type": "thinking", "thinking": "No"}, {"type": "text", "text": "Yes"}]),
        "ok",
        "Yes",
    ),
    "parts without text": ServerReply(
        message([{"type": "image", "data": ""}]), "error", "", {"final": True}
    ),
    "a number": ServerReply(message(7), "error", "", {"final": True}),
    "blank, length": ServerReply(message(" \n ", "length"), "cut"),
    "empty, content_filter": ServerReply(message("", "content_filter"), "refused"),
    "null, content_filter": ServerReply(message(None, "content_filter"), "refused"),
    "words, content_filter": ServerReply(message("Yes", "content_filter"), "refused", "Yes"),
    "refusal": ServerReply(message(None, refusal=REFUSAL), "refused", REFUSAL),
    "refusal beside words": ServerReply(message("Yes", refusal=REFUSAL), "refused", "Yes"),
    "refusal, length": ServerReply(message(None, "length", refusal="No"), "refused", "No"),
    "zero-width": ServerReply(message("\u200b"), "empty", "\u200b"),
    "surrogate": ServerReply(message("Yes \ud800"), "ok", "Yes \ufffd", NOTE),
    "surrogates": ServerReply(message("\udfff\ud800 no"), "ok", "\ufffd\ufffd no", NOTE),
    "a whole pair": ServerReply(message("Yes \U0001f600"), "ok", "Yes \U0001f600"),
    "NUL": ServerReply(message("Yes\0"), "ok", "Yes\ufffd", NOTE),
    "only a surrogate": ServerReply(message("\ud800"), "empty", "\ufffd", NOTE),
    "surrogate, refusal": ServerReply(
        message(None, refusal="No \ud83d"), "refused", "No \ufffd", NOTE
    ),
    "surrogate, length": ServerReply(
        message("Yes \ud83d", "length"), "truncated", "Yes \ufffd", NOTE
    ),
    "surrogate in top_logprobs": ServerReply(
        top("Y\ud800"), "ok", "Yes", {"first_token": {"Y\ufffd": -0.1}, **NOTE}
    ),
    "NUL in top_logprobs": ServerReply(
        top("\0"), "ok", "Yes", {"first_token": {"\ufffd": -0.1}, **NOTE}
    ),
    "surrogate in model": ServerReply(
        message("Yes"), "ok", "Yes", {"model": "m\ufffd", **NOTE}, {"model": "m\ud800"}
    ),
    "NUL in model": ServerReply(
        message("Yes"), "ok", "Yes", {"model": "m\ufffd", **NOTE}, {"model": "m\0"}
    ),
}


@dataclass(frozen=True)
class Served:
    """What a command made of the replies of a server, and what the same command did a second
    time.
    """

    store: Path
    n_asked: int
    n_asked_again: int
    output: str
    err: str
    audit: hqm.BenchmarkAudit


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One benchmark with a question for every reply of the table, put to one server twice."""
    import contextlib
    import io
    import sys

    from hqm.cli import main

    folder = tmp_path_factory.mktemp("served")
    names = list(SERVED)
    items = [
        {"id": name, "prompt": f"Is there number {i}?", "target": "yes"}
        for i, name in enumerate(names)
    ]
    benchmark = write_benchmark(folder / "served", items, name="served", scoring={"parser": "pope"})

    def reply(
        _: int, body: dict[str, Any], __: dict[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        served_reply = SERVED[names[int("".join(filter(str.isdigit, question(body))))]]
        return chat(served_reply.choice, **served_reply.reply)

    def command(*arguments: object) -> tuple[str, str]:
        output, err = io.StringIO(), io.StringIO()
        before, sys.argv = sys.argv, ["hqm", *map(str, arguments)]
        try:
            with ExitStack() as stack:
                stack.enter_context(contextlib.redirect_stdout(output))
                stack.enter_context(contextlib.redirect_stderr(err))
                stack.enter_context(contextlib.suppress(SystemExit))
                main()
        finally:
            sys.argv = before
        return output.getvalue(), err.getvalue()

    with PlannedServer(reply) as server:
        words = (
            "audit",
            benchmark,
            "-r",
            f"openai/tiny@{server.url}",
            "--runs",
            1,
            "--forms",
            "original",
            "-q",
        )
        output, err = command(*words, "--out", folder / "out")
        n_asked = len(server.asked)
        command(*words, "--out", folder / "out")
        audit = hqm.Audit.load(folder / "out" / "audit.json").audits[0]
        yield Served(
            folder / "out" / "store.sqlite",
            n_asked,
            len(server.asked) - n_asked,
            output,
            err,
            audit,
        )


@pytest.mark.parametrize("name", SERVED)
def test_a_reply_is_stored_for_what_it_is(name: str, served: Served) -> None:
    expected, index = SERVED[name], list(SERVED).index(name)
    request = ask(f"Is there number {index}?")
    with hqm.Store(served.store, readonly=True) as store:
        number = store.ask_ids([request])[request.digest]
        response, detail = store.answers(1, 0)[number], store.details(1, 0)[number]
    assert (response.outcome, response.text) == (expected.state, expected.text)
    assert {key: detail.get(key) for key in expected.detail} == expected.detail
    assert ("replaced" in detail) == ("replaced" in expected.detail)


def test_no_reply_is_paid_for_twice_and_none_ends_the_run(served: Served) -> None:
    assert (served.n_asked, served.n_asked_again) == (len(SERVED), 0)
    assert "Traceback" not in served.err
    counts = served.audit.state_counts[served.audit.reference]
    for state in ("ok", "truncated", *WITHHELD):
        assert counts[state] == sum(reply.state == state for reply in SERVED.values())
    cut = counts["cut"]
    assert tells(served.err, "answers.cut", cut=cut, answers=len(SERVED))


# --- judges ---

JUDGED = """
from hqm import Benchmark, Metric, Verdict, mean_of, reading

CARD = {"name": "rated", "title": "Rated", "version": "1", "task": "vqa", "data": {"items": "items.jsonl"},
        "scoring": {"audited": ["good"]}, "judging": {"max_tokens": 50}}

class Rated(Benchmark):
    '''Rated by a judge.'''

    metrics = (Metric("good", mean_of("good"), about="Share of good answers."),)
    roles = ("judge",)

    async def judge(self, item, response, ask):
        reply = await ask("judge", f"Rate number {item.id}: {response.text}")
        with reading(reply):
            rating = int(reply.split("Rating: ")[1][0])
        return Verdict(float(rating > 0), {"good": float(rating > 0), "n": 1.0})
"""

JUDGE_SAYS: dict[str, tuple[Mapping[str, Any], str]] = {
    "a rating": (message("Rating: 3"), "ok"),
    "a rating of nothing": (message("Rating: 0"), "ok"),
    "no rating": (message("I like it."), "unparsed"),
    "a rating behind thoughts": (message("<think>Hm</think>Rating: 2"), "ok"),
    "a refusal with a rating": (message(None, refusal="I cannot give a Rating: 0"), "error"),
    "a rating beside a refusal": (message("Rating: 0", refusal="I cannot"), "error"),
    "a filter's rating": (message("Rating: 0", "content_filter"), "error"),
    "a filter": (message("", "content_filter"), "error"),
    "cut in its thoughts": (message("I first consider Rating: 0", "length"), "error"),
    "cut before any word": (message("", "length"), "error"),
    "cut, null": (message(None, "length"), "error"),
    "empty": (message(""), "error"),
    "blank": (message(" \n"), "error"),
    "invisible": (message("\u200b\ufeff"), "error"),
    "thoughts only": (message("<think>Rating: 0"), "error"),
    "a surrogate": (message("Rating: 3 \ud800"), "ok"),
    "a NUL": (message("Rating: 3\0"), "ok"),
    "only a surrogate": (message("\ud800"), "error"),
}


def judged_states(out_dir: Path) -> dict[str, int]:
    audit = hqm.Audit.load(out_dir / "audit.json").audits[0]
    return {state: n for state, n in audit.state_counts[audit.reference].items() if n}


@pytest.mark.parametrize("name", JUDGE_SAYS)
def test_a_judge_that_does_not_reply_gives_no_verdict(name: str, run: Run, tmp_path: Path) -> None:
    choice, state = JUDGE_SAYS[name]
    (tmp_path / "rated.py").write_text(JUDGED)
    rows = [{"id": f"q{i}", "prompt": "What is it?", "target": "-"} for i in range(3)]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, rows)))
    answers = answer_file(tmp_path / "a.jsonl", [("a dog", "ok"), ("a cat", "ok"), ("a cup", "ok")])
    current: dict[str, Mapping[str, Any]] = {"choice": choice}

    def reply(
        _: int, body: dict[str, Any], __: dict[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        first = "number q0" in question(body)  # the other two are always rated
        return chat(current["choice"] if first else message("Rating: 5"))

    with PlannedServer(reply) as server:
        judge = f"openai/judge@{server.url}"
        words = (
            "audit",
            tmp_path / "rated.py",
            "--recorded",
            answers,
            "--judge",
            judge,
            "--forms",
            "original",
            "-q",
        )
        status, output, err = run(*words, "--out", tmp_path / "out")
        assert "Traceback" not in err
        assert judged_states(tmp_path / "out") == (
            {"ok": 3} if state == "ok" else {"ok": 2, state: 1}
        )
        assert len(server.asked) == 3
        assert status == (1 if state == "error" else 0)
        assert judge_counts(output) == (3, int(state == "error"))
        # what was no reply is asked again, and only that; where it was cut, with more tokens
        current["choice"] = message("Rating: 4")
        status, output, err = run(*words, "--out", tmp_path / "out")
        repeated = [body for _, body in server.asked[3:]]
        assert status == 0, err
        assert len(repeated) == (1 if state == "error" else 0)
        assert judged_states(tmp_path / "out") == (
            {"ok": 2, "unparsed": 1} if state == "unparsed" else {"ok": 3}
        )
        if repeated:
            assert repeated[0]["max_tokens"] == (100 if choice["finish_reason"] == "length" else 50)


def test_a_cut_reply_is_asked_again_with_twice_the_tokens_each_time(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "rated.py").write_text(JUDGED)
    (tmp_path / "items.jsonl").write_text(
        json.dumps({"id": "q0", "prompt": "What is it?", "target": "-"})
    )
    answers = answer_file(tmp_path / "a.jsonl", [("a dog", "ok")])
    with PlannedServer(lambda *_: chat(message("Rating: 0, or", "length"))) as server:
        words = (
            "audit",
            tmp_path / "rated.py",
            "--recorded",
            answers,
            "--judge",
            f"openai/judge@{server.url}",
        )
        for _ in range(7):
            assert run(*words, "--forms", "original", "-q", "--out", tmp_path / "out")[0] == 1
        assert [body["max_tokens"] for _, body in server.asked] == [
            50,
            100,
            200,
            400,
            800,
            800,
            800,
        ]


class Mute:
    """A judge whose every reply reads like a verdict and is none."""

    live = True
    name = "openai/mute"

    def __init__(self, response: hqm.Response) -> None:
        self.response, self.asked = response, 0

    def identity(self) -> Mapping[str, Any]:
        return {"kind": "mute"}

    def answer(
        self, requests: Sequence[hqm.Request]
    ) -> Iterator[list[tuple[hqm.Request, hqm.Response]]]:
        self.asked += len(requests)
        yield [(request, self.response) for request in requests]

    def close(self) -> None:
        """Nothing is held."""


WITH_JUDGE = (
    "faithscore",
    "gavie",
    "hal_eval_g",
    "hallusion_bench",
    "hqh",
    "mmhal",
    "open_chair",
    "valor",
)
MUTE = {
    "refused": hqm.Response("Yes. correct Rating: 0", "refused"),
    "cut": hqm.Response("No. incorrect Rating: 6", "truncated"),
    "empty": hqm.Response("", "ok"),
}


@pytest.mark.parametrize("mute_case", MUTE)
@pytest.mark.parametrize("name", WITH_JUDGE)
def test_no_benchmark_reads_a_reply_that_is_none(
    name: str, mute_case: str, data: Path, store: hqm.Store
) -> None:
    from dataclasses import replace

    from hqm.administration.asks import Asks

    benchmark = hqm.load(name, data=data)
    form = replace(benchmark.original, items=benchmark.original.items[:2])
    rows = {"a": [hqm.Response("There is a dog and a cat on the red chair.")] * len(form.items)}
    judge = Mute(MUTE[mute_case])
    judging = Judging(Asks(store), benchmark, Panel(judge))
    judged = judging.judge(form, rows)
    matrix = judging.matrix(hqm.Cell(judge=judge.name), form, rows)
    assert not matrix.scored.any()
    assert judged.errors == judged.asked == judge.asked
    assert judging.pending(form, rows) == judge.asked


@pytest.mark.parametrize("name", WITH_JUDGE)
def test_no_judge_is_asked_about_what_is_no_answer(name: str, data: Path, store: hqm.Store) -> None:
    from dataclasses import replace

    from hqm.administration.asks import Asks

    benchmark = hqm.load(name, data=data)
    form = replace(benchmark.original, items=benchmark.original.items[:1])
    rows = {key: [hqm.Response(text, state)] for key, (text, state) in NO_ANSWERS.items()}  # type: ignore[arg-type]
    judge = Mute(hqm.Response("Rating: 6"))
    judging = Judging(Asks(store), benchmark, Panel(judge))
    assert judging.judge(form, rows).asked == 0
    matrix = judging.matrix(hqm.Cell(judge=judge.name), form, rows)
    expected = [OUTCOMES[key][1] for key in NO_ANSWERS]
    assert [STATES[code] for code in matrix.states[:, 0]] == expected


RECORDED_REPLIES: dict[str, tuple[dict[str, Any], str]] = {
    "a rating": ({"reply": "Rating: 3"}, "ok"),
    "empty": ({"reply": ""}, "error"),
    "blank": ({"reply": " "}, "error"),
    "refused": ({"reply": "Rating: 0", "state": "refused"}, "error"),
    "cut": ({"reply": "Rating: 0", "state": "truncated"}, "error"),
    "an error": ({"reply": "Rating: 0", "state": "error"}, "error"),
    "a surrogate": ({"reply": "Rating: 3 \ud800"}, "ok"),
    "unreadable": ({"reply": "fine"}, "unparsed"),
}


@pytest.mark.parametrize("name", RECORDED_REPLIES)
def test_a_recorded_reply_that_is_none(name: str, run: Run, tmp_path: Path) -> None:
    record, state = RECORDED_REPLIES[name]
    (tmp_path / "rated.py").write_text(JUDGED)
    (tmp_path / "items.jsonl").write_text(
        json.dumps({"id": "q0", "prompt": "What is it?", "target": "-"})
    )
    answers = answer_file(tmp_path / "a.jsonl", [("a dog", "ok")])
    (tmp_path / "r.jsonl").write_text(json.dumps({"item": "q0", "role": "judge", **record}))
    words = (
        "score",
        tmp_path / "rated.py",
        "--answers",
        answers,
        "--judgements",
        tmp_path / "r.jsonl",
        "--json",
    )
    status, output, err = run(*words)
    assert status == 0, err
    assert json.loads(output)["states"] == {state: 1}


def test_replay_says_that_a_reply_is_empty() -> None:
    async def ask() -> str:
        return await refuse_empty(replay({"judge": [""]}))("judge", "?")

    with pytest.raises(NoReply, match="empty"):
        asyncio.run(ask())


# --- what cannot be stored ---

deep: Any = "end"
for _ in range(3000):
    deep = [deep]

DETAILS: dict[str, Any] = {
    "a surrogate": {"token": "\ud800"},
    "a surrogate in a key": {"\ud800": 1},
    "a NUL in a list": {"tokens": ["a", "b\0"]},
    "two keys that become one": {"\ud800": 1, "\0": 2},
    "not a number": {"seconds": float("nan")},
    "infinity": {"logprob": float("-inf")},
    "bytes": {"raw": b"\xff"},
    "a set": {"words": {"a"}},
    "a path": {"file": Path("a")},
    "a number with 5,000 digits": {"tokens_in": 10**4999},
    "a number over 64 bits": {"tokens_in": 2**64},
    "a key that is a number": {1: 2},
    "nested 3,000 deep": {"a": deep},
    "a list": ["a", "\ud800"],
    "a text": "\ud800",
}


@pytest.mark.parametrize("name", DETAILS)
def test_a_detail_that_cannot_be_stored_loses_nothing_else(name: str, store: hqm.Store) -> None:
    respondent_id = store.respondent("a", {})
    odd = hqm.Response("Yes", "ok", "", DETAILS[name])
    stored_responses = store.append(
        respondent_id, 0, [(ask("1"), hqm.Response("No")), (ask("2"), odd)]
    )
    assert [(response.text, response.state) for response in stored_responses] == [
        ("No", "ok"),
        ("Yes", "ok"),
    ]
    assert [response.text for response in store.answers(respondent_id, 0).values()] == ["No", "Yes"]
    assert store.usage(respondent_id).answers == 2


class Unclean:
    """A response as a respondent from elsewhere might make it, past every check."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def response(self) -> hqm.Response:
        return tuple.__new__(  # type: ignore[no-any-return, call-overload]
            hqm.Response,
            ({"text": "Yes", "state": "ok", "reason": "", "detail": {}} | self.fields).values(),
        )


UNCLEAN: dict[str, tuple[Unclean, str]] = {
    "a surrogate in the text": (Unclean(text="\ud800"), "ok"),
    "a surrogate in the reason": (Unclean(reason="\ud800"), "ok"),
    "a surrogate in the detail": (Unclean(detail={"a": "\ud800"}), "ok"),
    "no text": (Unclean(text=None), "error"),
    "a text that is a list": (Unclean(text=["Yes"]), "error"),
    "no detail": (Unclean(detail=None), "ok"),
    "a detail that is an object": (Unclean(detail={"a": object()}), "ok"),
    "a reason that is none": (Unclean(reason=None), "error"),
}


@pytest.mark.parametrize("name", UNCLEAN)
def test_a_batch_that_cannot_be_stored_becomes_errors_of_its_items(
    name: str, store: hqm.Store
) -> None:
    unclean, state = UNCLEAN[name]
    respondent_id = store.respondent("a", {})
    batch = [
        (ask("1"), hqm.Response("No")),
        (ask("2"), unclean.response()),
        (ask("3"), hqm.Response("Yes")),
    ]
    stored_responses = store.append(respondent_id, 0, batch)
    assert [response.state for response in stored_responses] == ["ok", state, "ok"]
    assert [response.state for response in store.answers(respondent_id, 0).values()] == [
        "ok",
        state,
        "ok",
    ]
    assert len(store.answered(respondent_id, 0)) == (3 if state == "ok" else 2)


TEXTS: dict[str, tuple[Any, Any]] = {
    "plain": ("Yes", "Yes"),
    "accents": ("Sí, é", "Sí, é"),
    "an emoji": ("\U0001f600", "\U0001f600"),
    "a high surrogate": ("a\ud83d", "a\ufffd"),
    "a low surrogate": ("\ude00a", "\ufffda"),
    "a pair in two halves": ("\ud83d\ude00", "\ufffd\ufffd"),
    "a NUL": ("a\0b", "a\ufffdb"),
    "surrogate escapes of bytes": ("\udcff\udcfe", "\ufffd\ufffd"),
    "a number": (1.5, 1.5),
    "true": (True, True),
    "none": (None, None),
    "a tuple": (("a", "\0"), ["a", "\ufffd"]),
    "a mapping that is no dict": (MappingProxyType({"a": "\0"}), {"a": "\ufffd"}),
}


@pytest.mark.parametrize("name", TEXTS)
def test_what_no_store_holds_is_replaced(name: str) -> None:
    text, stored_text = TEXTS[name]
    assert storable(text) == stored_text
    if text == stored_text:
        assert storable(text) is text
        assert hqm.Response("Yes", detail={"a": text}).detail == {"a": text}
    else:
        assert hqm.Response("Yes", detail={"a": text}).detail == {"a": stored_text, **NOTE}


def test_a_response_is_checked_however_it_is_made() -> None:
    response = hqm.Response("Yes")._replace(text="\ud800")
    assert (response.text, dict(response.detail)) == ("\ufffd", NOTE)
    assert hqm.Response(*response) == response
    assert not has_words(response.text)


@pytest.mark.parametrize("field", ["answer", "reason", "detail", "respondent"])
@pytest.mark.parametrize("odd", ["\ud800", "\0", "a\udcff"])
def test_a_recorded_file_with_what_cannot_be_stored(
    field: str, odd: str, run: Run, tmp_path: Path, make_benchmark: Callable[..., Path]
) -> None:
    item = {"id": "q0", "prompt": "Is there a dog?", "target": "yes"}
    benchmark = make_benchmark([item, {"id": "q1", "prompt": "Is there a cat?", "target": "no"}])
    rows: list[dict[str, Any]] = [
        {"item": item["id"], "answer": "Yes"},
        {"item": "q1", "answer": "No"},
    ]
    for row in rows:
        row |= {"respondent": f"r{odd}"} if field == "respondent" else {}
    if field in ("answer", "reason"):
        rows[0][field] = f"Yes {odd}"
    if field == "detail":
        rows[0][field] = {"token": odd}
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = (
        "audit",
        benchmark,
        "--recorded",
        tmp_path / "a.jsonl",
        "--forms",
        "original",
        "-q",
        "--out",
        tmp_path / "o",
    )
    status, _, err = run(*words)
    assert status == 0, err
    status, output, err = run(*words)
    assert (status, run_counts(output)[:2]) == (0, (0, 2)), err
    audit = hqm.Audit.load(tmp_path / "o" / "audit.json").audits[0]
    assert audit.respondents[0].scores["accuracy"] == 1.0


@pytest.mark.parametrize("field", ["prompt", "part", "id"])
@pytest.mark.parametrize("odd", ["\ud800", "\0", "a\udcff"])
def test_an_item_with_what_cannot_be_stored_is_refused_before_anybody_is_asked(
    field: str, odd: str, run: Run, tmp_path: Path, make_benchmark: Callable[..., Path]
) -> None:
    item = {"id": "q0", "prompt": "Is there a dog?", "target": "yes"}
    item[field] = item.get(field, "") + odd
    benchmark = make_benchmark([item, {"id": "q1", "prompt": "Is there a cat?", "target": "no"}])
    (tmp_path / "a.jsonl").write_text(json.dumps({"item": "q1", "answer": "No"}))
    status, _, err = run(
        "audit", benchmark, "--recorded", tmp_path / "a.jsonl", "-q", "--out", tmp_path / "o"
    )
    assert status == 1
    assert tells(err, "field.unstorable", record=1, field=field)


def test_labels_with_what_cannot_be_stored(store: hqm.Store) -> None:
    store.judge("b", "original", 0, [hqm.Judgement("human", "q0", "a", 1.0, "fine \ud800", "\0")])
    assert [j.reply for j in store.judgements("b", "human", "original", 0)] == ["fine \ufffd"]


def test_an_unknown_way_is_refused_in_python(dogs: Path) -> None:
    with pytest.raises(UsageError, match="unscored and official"):
        hqm.load(str(dogs), withheld="all")  # type: ignore[arg-type]
