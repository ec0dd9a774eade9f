"""Servers that hang, drip, flood, redirect, echo keys, refuse and die; bounds on what is spent;
kills.
"""

import asyncio
import base64
import gzip
import json
import re
import sqlite3
import subprocess
import sys
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import pytest

from hqm import Request, RespondentError, Response, Sampling
from hqm.administration.costs import bounds, forecast
from hqm.respondents import make_respondent
from hqm.respondents.base import RespondentName
from hqm.respondents.openai_server import OpenAIRespondent
from hqm.respondents.server_client import Redaction, key_for
from hqm.respondents.server_limits import Budget, wanted_pause
from tests.conftest import NIGHTLY, KillableCommand, Run, counts, nightly, write_benchmark
from tests.counts_said import judge_counts, run_counts
from tests.hostile.raw import RawServer, Talk, http, says
from tests.messages import pattern_of, tells
from tests.quick_respondent import environment_with_quick
from tests.servers import JSON, PlannedServer, completion, failure, question

HQM = [sys.executable, "-m", "hqm.cli"]
OK = completion("Yes.")[2]
TYPE = "Content-Type: application/json"


def ask(url: str, questions: int = 1, settings: str = "", **options: Any) -> list[Response]:
    """The responses of a server to some questions, in the order they were begun."""
    respondent = OpenAIRespondent(
        RespondentName.parse(f"openai/tiny@{url}{settings}"), **{"backoff": 0.01, **options}
    )
    requests = [Request(f"q{i:03}", None, Sampling(max_tokens=8), i) for i in range(questions)]
    got = {
        request.prompt: response
        for batch in respondent.answer(requests)
        for request, response in batch
    }
    return [got[key] for key in sorted(got)]


@pytest.fixture
def yes_no(tmp_path: Path) -> Path:
    """Forty questions without pictures."""
    rows = [
        {"id": f"i{n}", "prompt": f"Is number {n} even?", "target": "no" if n % 2 else "yes"}
        for n in range(40)
    ]
    return write_benchmark(tmp_path / "mine", rows)


def command(benchmark: Path, name: str, *options: object) -> list[str]:
    """The arguments of a run that asks each question once."""
    store = benchmark.parent / "store.sqlite"
    arguments = [
        "audit",
        "--no-report",
        benchmark,
        "-r",
        name,
        "--forms",
        "original",
        "--runs",
        1,
        "--quiet",
        "--store",
        store,
        *options,
    ]
    return [str(argument) for argument in arguments]


def stored(benchmark: Path) -> list[tuple[str, str, dict[str, Any]]]:
    """State, reason and detail of every stored attempt."""
    with closing(sqlite3.connect(benchmark.parent / "store.sqlite")) as db:
        rows = db.execute("SELECT state, reason, detail FROM answers").fetchall()
    return [(state, reason, json.loads(detail)) for state, reason, detail in rows]


# --- whatever a server sends ends in time, with one sentence ---


def body(value: Any) -> bytes:
    return http("200 OK", json.dumps(value).encode(), TYPE)


def choice(**message: Any) -> dict[str, Any]:
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "tiny",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
        ],
    }


CHUNKED = http("200 OK", b"", TYPE, "Transfer-Encoding: chunked", length=False)
ENDLESS = http("200 OK", b"", TYPE, length=False)

MISBEHAVING: list[tuple[str, Talk, str]] = [
    ("hangs before a word", says(b"", pause=60), "Timeout"),
    ("hangs after the status", says(b"HTTP/1.1 200 OK\r\n", pause=60), "Timeout"),
    (
        "hangs after the headers",
        says(http("200 OK", b"", "Content-Length: 9", length=False), pause=60),
        "Timeout",
    ),
    ("hangs in the body", says(http("200 OK", OK, TYPE)[:-9], pause=60), "Timeout"),
    ("hangs in an error's body", says(http("500 X", b"Content" * 9)[:-9], pause=60), "Timeout"),
    (
        "drips the status",
        says(b"H", b"T", b"T", b"P", b"/", b"1", b".", pause=0.3, forever=True),
        "Timeout",
    ),
    (
        "drips headers",
        says(b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n", pause=0.2, forever=True),
        "Timeout",
    ),
    (
        "drips a body",
        says(
            http("200 OK", b"", "Content-Length: 999", length=False), b" ", pause=0.2, forever=True
        ),
        "Timeout",
    ),
    ("drips chunks", says(CHUNKED, b"1\r\n \r\n", pause=0.2, forever=True), "Timeout"),
    (
        "drips an error",
        says(
            http("429 X", b"", "Content-Length: 999", length=False), b" ", pause=0.2, forever=True
        ),
        "Timeout",
    ),
    ("drips without a length", says(ENDLESS, b" ", pause=0.2, forever=True), "Timeout"),
    (
        "continues for ever",
        says(b"HTTP/1.1 100 Continue\r\n\r\n", pause=0.05, forever=True),
        "Timeout",
    ),
    (
        "a gigabyte announced",
        says(http("200 OK", b"x", f"Content-Length: {1 << 30}", length=False)),
        "1073741824 bytes",
    ),
    (
        "a length of forty digits",
        says(http("200 OK", b"x", f"Content-Length: {'9' * 40}", length=False)),
        "",
    ),
    (
        "a gigabyte in chunks",
        says(CHUNKED, b"10000\r\n" + b" " * 65536 + b"\r\n", forever=True),
        "larger than",
    ),
    ("a gigabyte to the end", says(ENDLESS, b" " * 65536, forever=True), "larger than"),
    (
        "a gigabyte of an error",
        says(http("500 X", b"", TYPE, length=False), b" " * 65536, forever=True),
        "larger than",
    ),
    (
        "a gigabyte of a refusal",
        says(http("403 X", b"", TYPE, length=False), b" " * 65536, forever=True),
        "larger than",
    ),
    (
        "headers without end",
        says(b"HTTP/1.1 200 OK\r\n", b"X-A: " + b"b" * 65536 + b"\r\n", forever=True),
        "",
    ),
    (
        "a bomb of gzip",
        says(http("200 OK", gzip.compress(b" " * 9_000_000), TYPE, "Content-Encoding: gzip")),
        "larger than",
    ),
    (
        "gzip that breaks off",
        says(http("200 OK", gzip.compress(OK)[:-9], TYPE, "Content-Encoding: gzip")),
        "compressed",
    ),
    ("no gzip", says(http("200 OK", OK, TYPE, "Content-Encoding: gzip")), "compressed"),
    (
        "gzip twice",
        says(http("200 OK", gzip.compress(gzip.compress(OK)), "Content-Encoding: gzip, gzip")),
        "compressed",
    ),
    ("brotli", says(http("200 OK", b"x", TYPE, "Content-Encoding: br")), "compressed"),
    ("hangs up", says(b""), ""),
    ("garbage", says(b"\x16\x03\x01\x02\x00\x01\x00" * 20), ""),
    ("another protocol", says(b"220 mail ESMTP\r\n"), ""),
    ("a status of no number", says(b"HTTP/1.1 abc OK\r\n\r\n"), ""),
    ("two lengths", says(http("200 OK", OK, TYPE, "Content-Length: 5")), ""),
    ("a negative length", says(http("200 OK", OK, TYPE, "Content-Length: -5", length=False)), ""),
    (
        "a length that is too long",
        says(http("200 OK", OK, TYPE, f"Content-Length: {len(OK) + 5}", length=False)),
        "",
    ),
    (
        "a length that is too short",
        says(http("200 OK", OK, TYPE, "Content-Length: 50", length=False)),
        "",
    ),
    ("a broken chunk", says(CHUNKED + b"zz\r\nabc\r\n0\r\n\r\n"), ""),
    ("a header with a NUL", says(http("200 OK", OK, TYPE, "X-A: a\0b")), ""),
    ("empty", says(http("200 OK", b"", TYPE)), ""),
    ("no content", says(http("204 No Content", b"", length=False)), ""),
    ("a page to log in", says(http("200 OK", b"<html>log in", "Content-Type: text/html")), ""),
    ("half of an object", says(http("200 OK", OK[:40], TYPE)), ""),
    ("no UTF-8", says(http("200 OK", b'{"a": "\xff\xfe"}', TYPE)), "no UTF-8"),
    ("nested a hundred thousand deep", says(http("200 OK", b"[" * 100_000, TYPE)), ""),
    (
        "an integer of 5,000 digits",
        says(http("200 OK", b'{"created": ' + b"9" * 5000 + b"}", TYPE)),
        "",
    ),
    ("null", says(body(None)), ""),
    ("a number", says(body(7)), ""),
    ("a text", says(body("Yes.")), ""),
    ("a list", says(body([choice(content="Yes.")])), ""),
    ("an empty object", says(body({})), "no message"),
    ("choices null", says(body({"choices": None})), "no message"),
    ("choices empty", says(body({"choices": []})), "no message"),
    ("choices a text", says(body({"choices": "Yes."})), ""),
    ("choices a number", says(body({"choices": 5})), ""),
    ("a choice of null", says(body({"choices": [None]})), ""),
    ("a choice that is a text", says(body({"choices": ["Yes."]})), ""),
    ("a message of null", says(body({"choices": [{"message": None}]})), ""),
    ("a message that is a list", says(body({"choices": [{"message": ["Yes."]}]})), ""),
    ("content that is a number", says(body(choice(content=5))), ""),
    ("an error in a success", says(body({"error": {"message": "overloaded"}})), ""),
    (
        "status 302",
        says(http("302 Found", b"", "Location: http://127.0.0.1:9/v1")),
        "redirects to http://127.0.0.1:9/v1",
    ),
    (
        "status 301 to a file",
        says(http("301 Moved", b"", "Location: file:///etc/passwd")),
        "redirects to file:///etc/passwd",
    ),
    ("status 303", says(http("303 See Other", b"", "Location: /login")), "redirects to /login"),
    ("status 307", says(http("307 X", b"", "Location: http://example.org/")), "not followed"),
    (
        "status 308 to itself",
        says(http("308 X", b"", "Location: /v1/chat/completions")),
        "not followed",
    ),
    ("a redirection to nowhere", says(http("302 Found")), "not followed"),
    (
        "status 400",
        says(http("400 Bad", b'{"error": {"message": "context length"}}', TYPE)),
        "400.*context length",
    ),
    ("status 400 with a page", says(http("400 Bad", b"<html>" + b"a" * 5000)), "answered 400"),
    ("status 401", says(http("401 X", b"no")), "refuses the key"),
    ("status 402", says(http("402 X", b"pay")), "answered 402"),
    (
        "status 403",
        says(http("403 X", b'{"error": {"message": "moderated"}}', TYPE)),
        "answered 403.*moderated",
    ),
    ("status 404", says(http("404 X", b"no")), "knows no such model"),
    ("status 405", says(http("405 X", b"no")), "answered 405"),
    ("status 413", says(http("413 X", b"no")), "answered 413"),
    ("status 418", says(http("418 X", b"no")), "answered 418"),
    ("status 422 with a list", says(http("422 X", b'[{"loc": 1}]', TYPE)), "answered 422"),
    ("status 429", says(http("429 X", b"slow", "Retry-After: 0")), "answered 429"),
    ("status 500", says(http("500 X", b"\x1b[2J\x07bell")), "answered 500"),
    ("status 503 in a day", says(http("503 X", b"no", "Retry-After: 86400")), "answered 503"),
    ("status 529", says(http("529 X", b"no")), "answered 529"),
    ("status 999", says(http("999 X", b"no")), ""),
    ("an error that is a number", says(http("400 X", b'{"error": 5}', TYPE)), "answered 400"),
    (
        "an error with surrogates",
        says(http("400 X", b'{"error": {"message": "\\ud800\\u0000"}}', TYPE)),
        "answered 400",
    ),
    (
        "an error of a megabyte",
        says(http("400 X", b'{"error": {"message": "' + b"a" * 900_000 + b'"}}', TYPE)),
        "answered 400",
    ),
]


def patience(words: str) -> float:
    """Seconds to wait for a server: few where they must run out, and many where a busy machine must
    not let them run out.
    """
    return 0.6 if words == "Timeout" else 60


@pytest.mark.parametrize(
    ("talk", "words"), [row[1:] for row in MISBEHAVING], ids=[row[0] for row in MISBEHAVING]
)
def test_whatever_a_server_sends_ends_in_time_with_one_sentence(talk: Talk, words: str) -> None:
    began = time.monotonic()
    with RawServer(talk) as server:
        try:
            (response,) = ask(server.url, timeout=patience(words), retries=0)
            reason = response.reason
            # what is cut too short may still be a whole answer; everything else is an error
            assert response.state == "error", response
        except RespondentError as error:
            reason = str(error)
    assert time.monotonic() - began < 30
    assert reason
    assert len(reason) < 700
    assert "\n" not in reason
    assert reason.isprintable()
    assert re.search(words, reason), reason
    assert not re.match(r"\w+(Error|Exception|TooLarge)\b", reason), "a person reads it"


REPEATED_TALKS = (
    "hangs in the body",
    "a gigabyte announced",
    "a gigabyte in chunks",
    "headers without end",
    "a bomb of gzip",
    "hangs up",
    "garbage",
    "two lengths",
    "a length that is too short",
    "a broken chunk",
    "a header with a NUL",
    "empty",
    "null",
    "status 400",
    "status 429",
    "status 503 in a day",
    "an error with surrogates",
)


@pytest.mark.parametrize(
    ("talk", "words"),
    [row[1:] for row in MISBEHAVING if row[0] in REPEATED_TALKS],
    ids=REPEATED_TALKS,
)
def test_a_later_request_says_of_it_what_the_first_says(talk: Talk, words: str) -> None:
    """The first is written by the `openai` package, later ones repeat its head in the session of
    its transport.
    """
    before: list[str] = []

    async def after_an_answer(writer: asyncio.StreamWriter) -> None:
        before.append("")
        await (says(http("200 OK", OK, TYPE, "Connection: close")) if len(before) == 1 else talk)(
            writer
        )

    reasons = []
    for questions, server_talk in ((1, talk), (2, after_an_answer)):
        with RawServer(server_talk) as server:
            # the answer before comes within the same time, on a busy machine too
            response = ask(
                server.url, questions, "?concurrency=1", timeout=5 * patience(words), retries=0
            )[-1]
            assert response.state == "error"
            reasons.append(response.reason.replace(str(server.port), ""))
    assert reasons[0] == reasons[1]
    assert re.search(words, reasons[1])


GOOD = [
    ("a BOM", says(http("200 OK", b"\xef\xbb\xbf" + OK, TYPE))),
    ("no content type", says(http("200 OK", OK))),
    ("content that is a list", says(body(choice(content=[{"type": "text", "text": "Yes."}])))),
    (
        "chunks of one byte",
        says(CHUNKED + b"".join(b"1\r\n%c\r\n" % byte for byte in OK) + b"0\r\n\r\n"),
    ),
    ("identity", says(http("200 OK", OK, TYPE, "Content-Encoding: identity"))),
    ("gzip", says(http("200 OK", gzip.compress(OK), TYPE, "Content-Encoding: gzip"))),
    ("deflate", says(http("200 OK", zlib.compress(OK), TYPE, "Content-Encoding: deflate"))),
    ("upper case", says(http("200 OK", OK, "CONTENT-TYPE: APPLICATION/JSON"))),
]


@pytest.mark.parametrize("talk", [row[1] for row in GOOD], ids=[row[0] for row in GOOD])
def test_an_odd_reply_that_can_be_read_is_an_answer(talk: Talk) -> None:
    with RawServer(talk) as server:
        (response,) = ask(server.url, timeout=60, retries=0)
    if response.state == "error":  # a BOM is no JSON to every client
        assert "JSON" in response.reason or "Decode" in response.reason, response
    else:
        assert response.text == "Yes."


def test_what_is_no_reply_is_told_by_how_it_begins() -> None:
    page = http("200 OK", b"<html><body>Log in", "Content-Type: text/html")
    with RawServer(says(page)) as server:
        (response,) = ask(server.url, retries=0)
    assert tells(response.reason, "server.no-json", begin="<html><body>Log in")


@pytest.mark.parametrize("count", [-1, True, 10**30, 1.5, "many"])
def test_a_number_of_tokens_that_is_none_is_not_counted(
    yes_no: Path, run: Run, count: object
) -> None:
    """And a model that calls itself otherwise is named."""
    usage = {"prompt_tokens": count, "completion_tokens": count}
    reply = {**choice(content="Yes."), "usage": usage, "model": "another\x1b[2J"}
    with RawServer(says(body(reply))) as server:
        status, output, err = run(*command(yes_no, f"openai/tiny@{server.url}", "--limit", 2))
    assert status == 0, err
    assert tells(output, "server.counted", model="'another\\x1b[2J'")


@pytest.mark.parametrize(
    ("size", "limit", "state"),
    [
        (2000, 1000, "error"),
        (2000, 9000, "ok"),
        (1_200_000, 0, "error"),
        (1_200_000, 3_000_000, "ok"),
        (700_000, 0, "ok"),
    ],
)
def test_the_cap_on_a_reply_is_an_option(size: int, limit: int, state: str) -> None:
    with RawServer(says(http("200 OK", completion("a" * size)[2], TYPE))) as server:
        (response,) = ask(server.url, settings=f"?max_reply={limit}" if limit else "", retries=3)
        assert server.asked == 1, "what is too large is not asked for again"
    assert response.state == state
    assert len(response.text) == (size if state == "ok" else 0)


def test_a_slow_reply_within_the_time_is_an_answer_and_each_attempt_has_its_own() -> None:
    pieces = http("200 OK", OK, TYPE)[:-5], OK[-5:]
    with RawServer(says(*pieces, pause=0.3)) as server:
        assert ask(server.url, timeout=60)[0].text == "Yes."
    with RawServer(says(*pieces, pause=600)) as server:
        (response,) = ask(server.url, timeout=0.1, retries=2)
    assert (response.state, response.detail["retries"]) == ("error", 2)


PAUSES = [
    ("nan", 0.5),
    ("-5", 0.5),
    ("inf", None),
    ("1e999", None),
    ("601", None),
    ("600", 600.0),
    ("", 0.5),
    ("soon", 0.5),
    ("Wed, 21 Oct 2015 07:28:00 GMT", 0.5),
    ("0", 0.5),
    ("Wed, 21 Oct 99999 07:28:00 GMT", 0.5),
    ("Wed, 99 Foo 2015 99:99:99", 0.5),
    ("0x10", 0.5),
    ("3, 4", 0.5),
    ("٣", 3.0),
    ("-inf", 0.5),
    ("1" * 5000, None),
]


@pytest.mark.parametrize(("header", "seconds"), PAUSES, ids=[header[:30] for header, _ in PAUSES])
def test_what_a_server_says_to_wait_is_a_time_or_nothing(
    header: str, seconds: float | None
) -> None:
    wait = wanted_pause({"retry-after": header}, 0)
    # a date in a year that no calendar has may be read as long past, as far ahead, or not at all
    assert wait == seconds or ("99" in header and wait in (0.0, None, 0.5))


# --- 400 and 403 belong to their question ---


def turned_away(status: int, is_refused: Callable[[str], bool]) -> Callable[..., Any]:
    def reply(_number: int, payload: dict[str, Any], _headers: dict[str, str]) -> Any:
        return failure(status, "moderated") if is_refused(question(payload)) else completion("Yes.")

    return reply


@pytest.mark.parametrize(
    ("status", "concurrency", "numbers"),
    [
        (400, 1, ("0",)),
        (400, 16, ("0", "1")),
        (403, 1, ("0", "1")),
        (403, 4, ("3", "7")),
        (403, 16, ("38", "39")),
        (413, 4, ("0",)),
        (422, 16, ("3", "7")),
    ],
)
def test_a_question_that_is_turned_away_is_stored_and_not_asked_again(
    yes_no: Path, run: Run, status: int, concurrency: int, numbers: tuple[str, ...]
) -> None:
    bad = {f"Is number {n} even?" for n in numbers}
    with PlannedServer(turned_away(status, lambda text: text.split("\n")[0] in bad)) as server:
        name = f"openai/tiny@{server.url}?concurrency={concurrency}&retries=2"
        code, output, err = run(*command(yes_no, name))
        assert (code, run_counts(output)) == (0, (40, 0, len(bad))), err
        assert tells(err, "run.final-errors", final=len(bad))
        assert "--retry-errors" in err
        assert len(server.asked) == 40, "no second attempt at what is turned away"
        code, output, err = run(*command(yes_no, name))
        assert (code, len(server.asked)) == (0, 40), "nothing is asked again"
        assert run_counts(output)[:2] == (0, 40 - len(bad))
        assert tells(err, "run.final-errors", final=len(bad)), "it is said every time"
        code, output, _ = run(*command(yes_no, name, "--retry-errors"))
        assert (code, len(server.asked)) == (0, 40 + len(bad))
    reasons = [reason for state, reason, _ in stored(yes_no) if state == "error"]
    assert len(reasons) == 2 * len(bad)
    assert all(
        f"the server answered {status}" in reason and "moderated" in reason for reason in reasons
    )


def test_what_is_turned_away_no_more_is_an_answer(yes_no: Path, run: Run) -> None:
    bad = {"Is number 5 even?"}
    with PlannedServer(turned_away(403, lambda text: text in bad)) as server:
        name = f"openai/tiny@{server.url}"
        run(*command(yes_no, name))
        bad.clear()
        assert run_counts(run(*command(yes_no, name, "--retry-errors"))[1]) == (1, 39, 0)
        assert not tells(run(*command(yes_no, name))[2], "run.final-errors")


def test_403_after_an_answer_of_an_earlier_run_belongs_to_its_question(
    yes_no: Path, run: Run
) -> None:
    """A run that was killed has left one question, and that one is moderated."""
    with PlannedServer(turned_away(403, lambda text: "39" in text)) as server:
        name = f"openai/tiny@{server.url}"
        run(*command(yes_no, name, "--limit", 39))
        code, output, _ = run(*command(yes_no, name))
        assert (code, run_counts(output)) == (0, (1, 39, 1))
        assert "asked 0" in run(*command(yes_no, name))[1]


def test_fifty_moderated_questions_in_a_row_end_nothing_once_something_was_answered() -> None:
    with PlannedServer(turned_away(403, lambda text: text > "q000")) as server:
        states = Counter(response.state for response in ask(server.url, 60, concurrency=2))
    assert states == {"ok": 1, "error": 59}


@pytest.mark.parametrize("status", [400, 403])
def test_a_server_that_turns_everything_away_is_asked_again(
    yes_no: Path, run: Run, status: int
) -> None:
    """It may not take pictures, or refuse the key: that is no fault of the questions."""
    wrong = {"on": True}
    with PlannedServer(turned_away(status, lambda _: wrong["on"])) as server:
        name = f"openai/tiny@{server.url}?concurrency=2"
        code, _, err = run(*command(yes_no, name))
        assert (code, "20 requests in a row failed" in err) == (1, True)
        wrong["on"] = False
        code, output, _ = run(*command(yes_no, name))
        assert (code, run_counts(output)) == (0, (40, 0, 0))


@pytest.mark.parametrize("status", [401, 404])
def test_a_wrong_key_ends_a_respondent_whenever_it_comes(
    yes_no: Path, run: Run, status: int
) -> None:
    with PlannedServer(turned_away(status, lambda text: "9" in text)) as server:
        code, _, err = run(*command(yes_no, f"openai/tiny@{server.url}?concurrency=1"))
    assert (code, tells(err, "respondent.given-up")) == (1, True)


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_tried_again_and_asked_again(yes_no: Path, run: Run, status: int) -> None:
    with PlannedServer(turned_away(status, lambda text: "number 7 " in text)) as server:
        name = f"openai/tiny@{server.url}?retries=1"
        code, _, err = run(*command(yes_no, name))
        assert (code, tells(err, "run.errors-left", errors=1)) == (1, True)
        assert len(server.asked) == 41
        run(*command(yes_no, name))
        assert len(server.asked) == 43


# --- why answers are errors, and what is not paid for again ---


def test_the_last_sentence_says_why_and_what_is_not_asked_again(yes_no: Path, run: Run) -> None:
    """Of forty questions: reasoning, tool calls, 451 and another shape, which come again; a quota,
    which may not.
    """

    def reply(_number: int, payload: dict[str, Any], _headers: dict[str, str]) -> Any:
        kind = int(question(payload).split()[2]) % 8
        shapes = (
            choice(content=None, reasoning_content="yes"),
            choice(content=None, tool_calls=[{"type": "function"}]),
            {"answer": "yes"},
        )
        if kind < len(shapes):
            return 200, JSON, json.dumps(shapes[kind]).encode()
        refused = {3: failure(451, "by law"), 4: failure(402, "quota exhausted")}
        return refused.get(kind) or completion("Yes.")

    with PlannedServer(reply) as server:
        name = f"openai/tiny@{server.url}?concurrency=3&retries=0"
        code, _, err = run(*command(yes_no, name))
        last = err.strip().splitlines()[-1]
        assert (code, len(server.asked)) == (1, 40)
        assert tells(last, "run.errors-left", errors=5)
        assert tells(last, "run.final-errors", final=20)
        assert last.count("; 5 answers: ") == 2, last
        code, _, err = run(*command(yes_no, name))
        assert (code, len(server.asked)) == (1, 45), "only the quota is tried again"
        assert "5 answers: the server answered 402: quota exhausted." in err.splitlines()[-1]
        run(*command(yes_no, name, "--retry-errors"))
        assert len(server.asked) == 70


def test_paid_replies_without_an_answer_are_not_paid_again_where_nothing_was_answered(
    yes_no: Path, run: Run
) -> None:
    tool = choice(content=None, tool_calls=[{"type": "function"}])
    with PlannedServer(lambda *_: (200, JSON, json.dumps(tool).encode())) as server:
        name = f"openai/tiny@{server.url}?concurrency=1"
        for status, n_asked in ((1, 20), (1, 40), (0, 40)):
            assert run(*command(yes_no, name))[0] == status
            assert len(server.asked) == n_asked, "twenty in a row end a run"


@pytest.mark.parametrize(("option", "bound"), [("--max-tokens-total", 2_000), ("--max-cost", 0.5)])
@pytest.mark.parametrize("counts_of", ["prompt_tokens", "completion_tokens"])
def test_a_server_that_counts_more_than_the_bound_ends_this_run_and_the_next(
    yes_no: Path, run: Run, option: str, bound: float, counts_of: str
) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 1, counts_of: 1_000_000}
    reply = {**json.loads(OK), "usage": usage}
    with PlannedServer(lambda *_: (200, JSON, json.dumps(reply).encode())) as server:
        name = f"openai/tiny@{server.url}?concurrency=1&price_in=1"
        options = (option, bound, "--max-tokens", 8)
        code, _, err = run(*command(yes_no, name, *options))
        assert (
            code,
            len(server.asked),
            tells(err, "requests.reached", bound=f"{option} {bound:g}"),
        ) == (1, 1, True)
        code, _, err = run(*command(yes_no, name, *options))
        assert (code, len(server.asked)) == (1, 1)
        assert tells(err, "requests.bound-hopeless")
        assert run(*command(yes_no, name, "--limit", 1, *options))[0] == 0, "nothing is left to ask"


@pytest.mark.parametrize(
    "wrong",
    [
        ("openai/tiny@http://127.0.0.1:9/v1?price_in=-3", "--max-cost", 1),
        ("vllm/tiny?price_in=-3", "--max-cost", 1),
        ("vllm/tiny?price_out=nan", "--max-cost", 1),
        ("openai/tiny@http://127.0.0.1:9/v1", "--set", "price_in=-3"),
        ("openai/tiny@http://127.0.0.1:9/v1", "--set", "price_out=inf"),
        ("openai/tiny@http://127.0.0.1:9/v1?price_in=3", "--max-cost", "nan"),
        ("openai/tiny@http://127.0.0.1:9/v1?price_in=3", "--max-cost", -1),
        ("openai/tiny@http://127.0.0.1:9/v1", "--max-requests", -1),
    ],
    ids=lambda wrong: " ".join(map(str, wrong)),
)
def test_a_price_or_a_bound_below_nought_is_refused(
    yes_no: Path, run: Run, wrong: tuple[Any, ...]
) -> None:
    code, _, err = run(*command(yes_no, *wrong))
    assert (code, "Traceback" in err) == (2, False), err


# --- names ---

REFUSED_NAMES = [
    (
        "openai/m?temprature=0",
        pattern_of("setting.unknown", setting="temprature") + ".*Did you mean temperature",
    ),
    ("openai/m?concurency=4", "Did you mean concurrency"),
    ("openai/m?Temperature=0", "Did you mean temperature"),
    ("openai/m?top-p=0.5", "Did you mean top_p"),
    ("openai/m?maxtokens=5", "Did you mean max_tokens"),
    ("openai/m?price=3", "Did you mean price_in"),
    ("openai/m?request_per_minute=3", "Did you mean requests_per_minute"),
    ("openai/m?keyenv=A", "Did you mean key_env"),
    ("openai/m?time_out=3", "Did you mean timeout"),
    ("openai/m?zzz=3", "no setting 'zzz'.*The settings are"),
    ("openai/m?device=cuda", "no setting 'device'"),
    ("openai/m?=3", "no setting ''"),
    ("openai/m?seed=1&seed=2", "seed is given twice"),
    ("hf/m?temprature=0", "Did you mean temperature"),
    ("hf/m?atention=eager", "Did you mean attention"),
    ("hf/m?concurrency=3", "no setting 'concurrency'"),
    ("hf/m?key_env=A", "no setting 'key_env'"),
    ("vllm/m?temprature=0", "Did you mean temperature"),
    ("vllm/m?concurency=0", "Did you mean concurrency"),
    ("vllm/m?api_key=sk-planted-1", pattern_of("name.holds-a-key")),
    ("openai/m?api_key=sk-planted-1", pattern_of("name.holds-a-key") + ".*key_env"),
    ("openai/m?apikey=sk-planted-1", pattern_of("name.holds-a-key")),
    ("openai/m?API-KEY=sk-planted-1", pattern_of("name.holds-a-key")),
    ("openai/m?key=sk-planted-1", pattern_of("name.holds-a-key")),
    ("openai/m?token=sk-planted-1", pattern_of("name.holds-a-key")),
    ("openai/m?access_token=sk-planted-1", pattern_of("name.holds-a-key")),
    ("openai/m?password=sk-planted-1", pattern_of("name.holds-a-key")),
    ("openai/m?authorization=Bearer+sk-planted-1", pattern_of("name.holds-a-key")),
    ("openai/m@http://127.0.0.1:9/v1?api_key=sk-planted-1", pattern_of("name.holds-a-key")),
    ("openai/m@http://user:sk-planted-1@127.0.0.1:9/v1", "user's name or password"),
    ("openai/m@http://sk-planted-1@127.0.0.1:9/v1", "user's name or password"),
    ("openai/m@https://:sk-planted-1@host/v1", "user's name or password"),
    ("openai/m@x@http://a:sk-planted-1@host/v1", "user's name or password"),
    ("openai/m@http://a%40b:sk-planted-1@host/v1", "user's name or password"),
    ("openai/m@HTTP://sk-planted-1@host/v1", "user's name or password"),
    ("openai/m@ftp://host/v1", "cannot be used"),
    ("openai/m@file:///etc/passwd", "cannot be used"),
    ("openai/m@http://host:99999/v1", "cannot be used"),
    ("openai/m@http://host:abc/v1", "cannot be used"),
    ("openai/m@http://host:0/v1", "cannot be used"),
    ("openai/m@http://[::1/v1", "cannot be used"),
    ("openai/m@http:///v1", "cannot be used"),
    ("openai/m@http://ho st/v1", "cannot be used"),
    ("openai/m@http://host/v1#part", "cannot be used"),
    ("openai/m@http://host/\x1b[2J", "cannot be used"),
    ("openai/m?key_env=sk-planted-1", pattern_of("key.no-variable")),
    ("openai/m?key_env=A B", pattern_of("key.no-variable")),
    ("openai/m?key_env=$A", pattern_of("key.no-variable")),
    (
        "openai/m@https://example.org/v1?key_env=OPENAI_API_KEY",
        pattern_of("key.openai-only"),
    ),
    (
        "openai/m@http://10.0.0.8/v1?key_env=OPENAI_API_KEY",
        pattern_of("key.openai-only"),
    ),
    (
        "openai/m@http://api.openai.com/v1?key_env=OPENAI_API_KEY",
        pattern_of("key.openai-only"),
    ),
    ("openai/m@https://api.openai.com.evil.org/v1?key_env=OPENAI_API_KEY", "sent to OpenAI and"),
    ("openai/m@https://localhost.evil.org/v1?key_env=OPENAI_API_KEY", "sent to OpenAI and"),
    ("openai/m?temperature=nan", "cannot be used"),
    ("openai/m?temperature=inf", "cannot be used"),
    ("openai/m?top_p=nan", "cannot be used"),
    ("openai/m?timeout=nan", "no number from 0 up"),
    ("openai/m?max_reply=-1", "no number from 0 up"),
    ("opnai/m?api_key=sk-planted-1", "names no respondent"),
]


@pytest.mark.parametrize(("name", "words"), REFUSED_NAMES, ids=[name for name, _ in REFUSED_NAMES])
def test_a_name_with_a_mistake_or_a_secret_is_refused_without_repeating_it(
    dogs: Path, run: Run, name: str, words: str, tmp_path: Path
) -> None:
    code, output, err = run(
        "audit", "--dry-run", dogs, "-r", name, "--blind", "--store", tmp_path / "store.sqlite"
    )
    assert code == 2, output + err
    assert re.search(words, err, re.DOTALL), err
    assert "sk-planted" not in output + err
    assert "Traceback" not in err


TAKEN_NAMES = [
    "openai/m",
    "openai/org/m@cf?temperature=0.2",
    "openai/@cf/meta/llama?concurrency=2",
    "openai/m@http://[::1]:8000/v1",
    "openai/m@https://api.openai.com/v1?key_env=OPENAI_API_KEY",
    "openai/m@http://localhost:8/v1?key_env=OPENAI_API_KEY",
    "openai/m@https://example.org/v1?key_env=THEIRS",
    "openai/m@http://host/v1?logprobs=0&max_reply=5000000",
    "vllm/m?max_model_len=8192&tensor_parallel_size=2&enforce_eager=",
    "vllm/m?max_num_seqs=4&max_logprobs=20",
    "openai/m@http://127.0.0.1:8000/v1/?timeout=5",
    "openai/claude@20240620",
]


@pytest.mark.parametrize("name", TAKEN_NAMES)
def test_a_good_name_is_taken_and_prints_as_it_parses(name: str) -> None:
    parsed = RespondentName.parse(name)
    assert RespondentName.parse(str(parsed)) == parsed
    assert make_respondent(name).name == str(parsed) or "?" in name


# --- which key goes where ---

KEYS = [
    ("https://api.openai.com/v1", "", "sk-openai-key"),
    (None, "", "sk-openai-key"),
    ("https://eu.api.openai.com/v1", "", "sk-openai-key"),
    ("https://API.OPENAI.COM./v1", "", "sk-openai-key"),
    ("http://api.openai.com/v1", "", ""),
    ("https://api.openai.com.evil.org/v1", "", ""),
    ("https://notopenai.com/v1", "", ""),
    ("https://evil.org/api.openai.com", "", ""),
    ("http://127.0.0.1:8000/v1", "", ""),
    ("http://127.0.0.1:8000/v1", "OPENAI_API_KEY", "sk-openai-key"),
    ("http://127.8.9.1:8000/v1", "OPENAI_API_KEY", "sk-openai-key"),
    ("http://localhost:8000/v1", "OPENAI_API_KEY", "sk-openai-key"),
    ("http://[::1]:8000/v1", "OPENAI_API_KEY", "sk-openai-key"),
    ("http://localhost:8000/v1", "", ""),
    ("http://10.1.2.3/v1", "", ""),
    ("https://example.org/v1", "", ""),
    ("https://example.org/v1", "THEIR_KEY", "their-secret"),
    ("https://api.openai.com/v1", "THEIR_KEY", "their-secret"),
]


@pytest.mark.parametrize(("url", "variable", "key"), KEYS)
def test_a_key_goes_where_it_belongs(
    url: str | None, variable: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai-key")
    monkeypatch.setenv("THEIR_KEY", " their-secret\n")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert key_for(url, variable, "openai/m") == key


@pytest.mark.parametrize("name", ["", "?key_env=THEIR_KEY", "?key_env=OPENAI_API_KEY"])
@pytest.mark.parametrize("source", ["name", "environment"])
def test_what_a_server_of_this_machine_is_sent(
    name: str, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai-key")
    monkeypatch.setenv("THEIR_KEY", "their-secret")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-mine")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-mine")
    sent_headers: list[dict[str, str]] = []

    def reply(_n: int, _body: dict[str, Any], headers: dict[str, str]) -> Any:
        sent_headers.append(headers)
        return completion("Yes.")

    with PlannedServer(reply) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        address = f"@{server.url}" if source == "name" else ""
        respondent = make_respondent(f"openai/m{address}{name}")
        list(respondent.answer([Request("q", None, Sampling(), 1)]))
    sent = {
        "": "none",
        "?key_env=THEIR_KEY": "their-secret",
        "?key_env=OPENAI_API_KEY": "sk-openai-key",
    }[name]
    assert sent_headers[0]["authorization"] == f"Bearer {sent}"
    assert "org-mine" not in str(sent_headers)
    assert "proj-mine" not in str(sent_headers)
    assert sent_headers[0]["accept-encoding"] == "identity"


@pytest.mark.parametrize("value", ["", "   ", "a\nb", "schlüssel", "a\0b"])
def test_a_variable_that_holds_no_key_is_one_sentence(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "\0" not in value:
        monkeypatch.setenv("THEIR_KEY", value)
    with pytest.raises(RespondentError, match="THEIR_KEY (is not set|holds characters)"):
        list(
            make_respondent("openai/m@http://127.0.0.1:9/v1?key_env=THEIR_KEY").answer(
                [Request("q", None, Sampling(), 1)]
            )
        )


def test_a_key_does_not_follow_a_redirection() -> None:
    with PlannedServer(lambda *_: completion("Yes.")) as target_server:
        talk = says(http("307 X", b"", f"Location: {target_server.url}/chat/completions"))
        with RawServer(talk) as server, pytest.raises(RespondentError, match="not followed"):
            ask(server.url)
        assert target_server.asked == []


# --- a key that a server repeats ---

KEY = "sk-Pl4nted+Key/With=Signs-0123456789"
NEEDLES = [
    KEY,
    quote(KEY, safe=""),
    base64.b64encode(KEY.encode()).decode().rstrip("="),
    KEY.replace("/", "\\/"),
    KEY[::-1],
    KEY.lower(),
    KEY.upper(),
]


def spellings(text: str) -> dict[str, str]:
    return {
        "plain": text,
        "bearer": f"Authorization: Bearer {text}",
        "quoted": quote(text, safe=""),
        "base64": base64.b64encode(text.encode()).decode(),
        "escaped": text.replace("/", "\\/"),
        "lower": text.lower(),
        "far": "x" * 290 + text,
        "twice": f"{text} {text}",
        "backwards": text[::-1],
    }


def echo(location: str, text: str) -> Any:
    """A reply that repeats a text in one place."""
    logprobs = {
        "content": [
            {"token": text, "logprob": -0.1, "top_logprobs": [{"token": text, "logprob": -0.1}]}
        ]
    }
    message = {"error": {"message": text, "code": text, "type": text, "param": text}}
    header = text.encode("ascii", "replace").decode()
    replies: dict[str, Any] = {
        "content": completion(f"Yes. {text}"),
        "refusal": completion("", message={"role": "assistant", "content": None, "refusal": text}),
        "finish": completion("Yes.", finish_reason=text),
        "logprobs": completion("Yes.", logprobs=logprobs),
        "model": (200, JSON, completion("Yes.")[2].replace(b'"tiny"', json.dumps(text).encode())),
        "header": (
            200,
            {**JSON, "X-Key": header, "Set-Cookie": f"key={header}"},
            completion("Yes.")[2],
        ),
        "400": (400, JSON, json.dumps(message).encode()),
        "401": (401, JSON, json.dumps(message).encode()),
        "403": (403, JSON, json.dumps(message).encode()),
        "500": (500, JSON, json.dumps(message).encode()),
        "plain 400": (400, {}, text.encode()),
        "plain 500": (500, {}, f"<html>{text}</html>".encode()),
        "redirection": (302, {"Location": f"http://127.0.0.1:9/{header}"}, b""),
        "no JSON": (200, JSON, text.encode()),
        "retry": (429, {**JSON, "Retry-After": header}, json.dumps(message).encode()),
    }
    return replies[location]


LOCATIONS = [
    "content",
    "refusal",
    "finish",
    "logprobs",
    "model",
    "header",
    "400",
    "401",
    "403",
    "500",
    "plain 400",
    "plain 500",
    "redirection",
    "no JSON",
    "retry",
]


def planted(text: str) -> list[str]:
    return [needle for needle in NEEDLES if needle in text]


@pytest.mark.parametrize("location", LOCATIONS)
@pytest.mark.parametrize("spelling", list(spellings("")))
def test_a_key_that_a_server_repeats_is_in_no_response(
    location: str, spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THEIR_KEY", KEY)
    with PlannedServer(lambda *_: echo(location, spellings(KEY)[spelling])) as server:
        try:
            (response,) = ask(server.url, settings="?key_env=THEIR_KEY", retries=0)
            serialized = json.dumps(response, default=dict, ensure_ascii=False)
        except RespondentError as error:
            serialized = str(error)
        assert len(server.asked) == 1
    assert planted(serialized) == []
    assert KEY[:24] not in serialized, "nor is the key's beginning, cut off"


@pytest.mark.parametrize("location", ["content", "400", "401", "model", "redirection"])
def test_a_key_that_a_server_repeats_is_in_no_file(
    location: str, tmp_path: Path, yes_no: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THEIR_KEY", KEY)
    turn = iter(range(10_000))

    def reply(*_: Any) -> Any:
        # a few answers first, so that there is something to audit
        return (
            completion("Yes.")
            if next(turn) < 12
            else echo(location, f"{KEY} {quote(KEY, safe='')}")
        )

    with PlannedServer(reply) as server:
        name = f"openai/tiny@{server.url}?key_env=THEIR_KEY&concurrency=1&retries=0"
        folder = tmp_path / "out"
        common = ["--forms", "original", "--runs", 1, "--quiet"]
        outcomes = [run("audit", yes_no, "-r", name, *common, "--out", folder)]
        outcomes.append(run("export", folder / "store.sqlite", "--to", folder / "answers.jsonl"))
        outcomes.append(run("report", folder / "audit.json", "--to", folder / "tables.md"))
    assert all(planted(output + err) == [] for _, output, err in outcomes)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"audit.json", "report.html", "store.sqlite", "answers.jsonl"} <= {
        path.name for path in files
    }
    for path in files:
        content = path.read_bytes().decode("latin-1")
        assert planted(content) == [], path
        assert KEY[:24] not in content, path
    assert "[key removed]" in (folder / "store.sqlite").read_bytes().decode(
        "latin-1"
    ) or location in (
        "401",
        "redirection",
    )


@pytest.mark.parametrize("key", ["", "none", "EMPTY", "x"])
def test_a_word_that_stands_for_no_key_is_left_in_answers(key: str) -> None:
    text = "There are none, it is EMPTY, x."
    assert Redaction(key)(text) == text


def test_a_judge_that_repeats_its_key_stores_none(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THEIR_KEY", KEY)
    judged_benchmark(tmp_path)
    with PlannedServer(lambda *_: completion(f"yes {KEY}")) as server:
        run(*judged(tmp_path, f"openai/judge@{server.url}?key_env=THEIR_KEY"))
        assert server.asked
    assert all(
        planted(p.read_bytes().decode("latin-1")) == [] for p in tmp_path.rglob("*") if p.is_file()
    )


# --- bounds ---


def judged_benchmark(folder: Path) -> None:
    (folder / "judged.py").write_text("""
'''Answers that a model checks.'''
from hqm import Benchmark, Metric, Verdict, mean_of

CARD = {
    "name": "judged", "title": "Judged", "version": "1", "task": "vqa", "types": ["existence"],
    "data": {"items": "items.jsonl"}, "judging": {"max_tokens": 8},
}

class Judged(Benchmark):
    '''Share of answers that the model confirms.'''

    metrics = (Metric("confirmed", mean_of("yes"), share=True, about="Share confirmed."),)
    roles = ("verifier",)

    async def judge(self, item, response, ask):
        reply = (await ask("verifier", f"Is this right: {item.prompt} {response.text}")).lower()
        yes = float("yes" in reply)
        return Verdict(yes, {"yes": yes, "n": 1.0}, "ok", reply)
""")
    rows = [{"id": f"i{n}", "prompt": f"Name the number {n}.", "target": "-"} for n in range(20)]
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, rows)))
    answers = [{"respondent": "a", "item": f"i{n}", "answer": f"It is {n}."} for n in range(20)]
    (folder / "answers.jsonl").write_text("\n".join(map(json.dumps, answers)))


def judged(folder: Path, judge: str, *options: object) -> list[object]:
    return [
        "audit",
        "--no-report",
        folder / "judged.py",
        "--recorded",
        folder / "answers.jsonl",
        "--forms",
        "original",
        "--judge",
        judge,
        "--store",
        folder / "store.sqlite",
        "--quiet",
        *options,
    ]


@pytest.mark.parametrize("bound", [0, 1, 2, 7, 15, 16, 17, 39])
@pytest.mark.parametrize("concurrency", [1, 16])
def test_no_more_requests_go_out_than_allowed(
    yes_no: Path, run: Run, bound: int, concurrency: int
) -> None:
    with PlannedServer(lambda *_: completion("Yes."), delay=0.005) as server:
        name = f"openai/tiny@{server.url}?concurrency={concurrency}"
        code, output, err = run(*command(yes_no, name, "--max-requests", bound))
        assert (code, len(server.asked)) == (1, bound)
        assert run_counts(output) == (bound, 0, 0)
        state = re.compile(rf"{bound} answers are stored in \S+, {40 - bound} are left")
        spent = {"requests": bound, "tokens": f"{bound * 107:,}"}
        assert tells(err, "requests.bound-reached", bound=bound, state=state, **spent)
        code, output, err = run(*command(yes_no, name, "--max-requests", 40))
        assert (code, len(server.asked), "is reached" in err) == (0, 40, False)


def test_further_attempts_count_as_requests(yes_no: Path, run: Run) -> None:
    with PlannedServer(lambda n, *_: failure(500, "no") if n % 2 else completion("Yes.")) as server:
        name = f"openai/tiny@{server.url}?concurrency=3"
        code, _, err = run(*command(yes_no, name, "--max-requests", 15))
        assert (code, len(server.asked)) == (1, 15)
        assert "this command took 15 requests" in err


@pytest.mark.parametrize(
    ("option", "bound", "min_spent"),
    [("--max-tokens-total", 2_000, 1200), ("--max-cost", 0.5, 0.2)],
)
@pytest.mark.parametrize("concurrency", [1, 16])
def test_tokens_and_money_stay_within_the_bound(
    yes_no: Path, run: Run, option: str, bound: float, min_spent: float, concurrency: int
) -> None:
    """A reply takes 100 tokens in and 7 out; at 100 and 200 money per million times 10, that is
    0.114 at most.
    """
    with PlannedServer(lambda *_: completion("Yes."), delay=0.005) as server:
        name = f"openai/tiny@{server.url}?concurrency={concurrency}&price_in=300&price_out=600"
        code, _, err = run(*command(yes_no, name, option, bound, "--max-tokens", 8))
        took = sum(detail["tokens_in"] + detail["tokens_out"] for _, _, detail in stored(yes_no))
        cost = sum(300 * d["tokens_in"] + 600 * d["tokens_out"] for _, _, d in stored(yes_no)) / 1e6
    assert (code, tells(err, "requests.reached", bound=f"{option} {bound:g}")) == (1, True), err
    spent = took if option == "--max-tokens-total" else cost
    assert min_spent <= spent
    # the first requests in flight are as long as nobody knew
    assert spent <= bound or concurrency > 1
    assert spent <= bound * 1.5
    assert f"{took:,} tokens" in err


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": -5, "completion_tokens": 10**30},
        {"prompt_tokens": "many"},
        {"prompt_tokens": True, "completion_tokens": 1.5},
        [],
    ],
)
def test_a_server_that_does_not_count_is_counted_by_estimate(
    yes_no: Path, run: Run, usage: Any
) -> None:
    reply = {**json.loads(completion("Yes, it is so.")[2]), "usage": usage}
    with PlannedServer(lambda *_: (200, JSON, json.dumps(reply).encode())) as server:
        name = f"openai/tiny@{server.url}?concurrency=2"
        code, _, err = run(*command(yes_no, name, "--max-tokens-total", 200, "--max-tokens", 8))
        assert (code, tells(err, "requests.reached", bound="--max-tokens-total 200")) == (1, True)
        assert 5 <= len(server.asked) <= 30


def test_a_bound_on_money_wants_a_price(yes_no: Path, run: Run) -> None:
    code, _, err = run(*command(yes_no, "openai/tiny@http://127.0.0.1:9/v1", "--max-cost", 1))
    assert (code, tells(err, "requests.no-price"), "price_in" in err) == (2, True, True)


def test_a_bound_holds_for_judges(tmp_path: Path, run: Run) -> None:
    judged_benchmark(tmp_path)
    with PlannedServer(lambda *_: completion("yes")) as server:
        name = f"openai/judge@{server.url}?concurrency=4"
        code, output, err = run(*judged(tmp_path, name, "--max-requests", 8))
        assert (code, len(server.asked)) == (1, 8)
        assert judge_counts(output)[0] == 8
        assert tells(err, "requests.bound-reached", bound=8, requests=8)
        assert tells(err, "requests.judges-left", left=12)
        code, _, _ = run(*judged(tmp_path, name, "--max-requests", 12))
        assert (code, len(server.asked)) == (0, 20)


def test_a_bound_is_shared_by_respondents_and_judges(tmp_path: Path, run: Run) -> None:
    judged_benchmark(tmp_path)
    with PlannedServer(lambda *_: completion("yes")) as server:
        common = [
            "audit",
            "--no-report",
            tmp_path / "judged.py",
            "--forms",
            "original",
            "--runs",
            1,
            "--quiet",
            "--store",
            tmp_path / "s.sqlite",
            "-r",
            f"openai/a@{server.url}",
            "--judge",
            f"openai/j@{server.url}",
        ]
        code, _, err = run(*common, "--max-requests", 25)
        assert (code, len(server.asked)) == (1, 25)
        assert "took 25 requests" in err
        assert run(*common, "--max-requests", 25)[0] == 0
        assert len(server.asked) == 40


def test_a_judges_question_that_is_turned_away_is_not_asked_again(tmp_path: Path, run: Run) -> None:
    judged_benchmark(tmp_path)
    with PlannedServer(turned_away(400, lambda text: "number 7." in text)) as server:
        name = f"openai/judge@{server.url}?concurrency=4"
        code, output, _ = run(*judged(tmp_path, name))
        assert (code, judge_counts(output)) == (0, (20, 1))
        assert judge_counts(run(*judged(tmp_path, name))[1]) == (0, 0)
        assert len(server.asked) == 20
        assert judge_counts(run(*judged(tmp_path, name, "--retry-errors"))[1]) == (1, 1)


PLANS = [
    ("--max-requests", 39, True),
    ("--max-requests", 40, False),
    ("--max-requests", 0, True),
    ("--max-tokens-total", 100, True),
    ("--max-tokens-total", 1_000_000, False),
    ("--max-cost", 0.0001, True),
    ("--max-cost", 100, False),
]


@pytest.mark.parametrize(("option", "limit", "ends"), PLANS)
def test_a_plan_says_whether_a_bound_would_end_the_command(
    yes_no: Path, run: Run, option: str, limit: float, ends: bool
) -> None:
    name = "openai/tiny@http://127.0.0.1:9/v1?price_in=3&price_out=15"
    arguments = command(yes_no, name, option, limit)
    planned = ["audit", "--dry-run", *[w for w in arguments[2:] if w != "--quiet"]]
    code, output, _ = run(*planned)
    assert code == 0
    assert (
        f"{option} {limit:,.10g} {'would end the command' if ends else 'would not be reached'}"
        in output
    )
    code, output, _ = run(*planned, "--json")
    (bound,) = json.loads(output)["bounds"]
    assert (bound["option"], bound["limit"], bound["ends_it"]) == (option, limit, ends)


def test_recorded_answers_spend_nothing(tmp_path: Path, run: Run) -> None:
    judged_benchmark(tmp_path)
    arguments = [
        "audit",
        "--no-report",
        tmp_path / "judged.py",
        "--recorded",
        tmp_path / "answers.jsonl",
        "--forms",
        "original",
        "--quiet",
    ]
    code, output, err = run(*arguments, "--store", tmp_path / "s.sqlite", "--max-requests", 0)
    assert (code, "read 20" in output, "reached" in err) == (0, True, False)


def test_a_budget_gives_back_what_was_not_asked() -> None:
    request = Request("a" * 400, None, Sampling(max_tokens=100), 0)
    budget = Budget(max_tokens=1000)
    admitted, holds = budget.admit([request] * 9, None)
    assert (len(admitted), budget.reached) == (5, "--max-tokens-total 1000")
    for hold in holds[:2]:
        budget.end(hold, request, Response("Yes.", "ok", "", {"tokens_in": 90, "tokens_out": 2}))
    for hold in holds[2:]:
        budget.cancel(hold)
    assert (budget.requests, budget.tokens, budget._held_tokens) == (2, 184, 0)
    assert bounds(budget, [], 3)[0].needed == 0
    assert forecast.__name__ == "forecast"


# --- killed ---


class Counts:
    """How often each question was begun, with answers that take a while."""

    def __init__(self) -> None:
        self.begun: Counter[str] = Counter()
        self.lock = threading.Lock()

    def __call__(self, _n: int, payload: dict[str, Any], _h: dict[str, str]) -> Any:
        with self.lock:
            self.begun[question(payload)] += 1
        return completion("Yes.")


@pytest.fixture
def large_benchmark(tmp_path: Path) -> Path:
    rows = [{"id": f"i{n}", "prompt": f"Is number {n} even?", "target": "no"} for n in range(300)]
    return write_benchmark(tmp_path / "mine", rows)


def rows_in(benchmark: Path) -> int:
    """How many attempts are stored, which is asked many times a second."""
    try:
        with closing(sqlite3.connect(benchmark.parent / "store.sqlite")) as db:
            return int(db.execute("SELECT COUNT(*) FROM answers").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


@pytest.mark.parametrize(
    "concurrency",
    [pytest.param(1, marks=nightly), 8, pytest.param(16, marks=nightly)],
)
def test_a_killed_run_repeats_no_more_than_was_in_flight(
    large_benchmark: Path, concurrency: int, forked_program: Path
) -> None:
    tally = Counts()
    kills = counts(3)
    with PlannedServer(tally, delay=0.04 if concurrency > 1 else 0.005) as server:
        argv = command(large_benchmark, f"openai/tiny@{server.url}?concurrency={concurrency}")
        n_stored = 0
        for _ in range(kills):
            killable = KillableCommand(forked_program, argv, large_benchmark.parent)
            deadline = time.monotonic() + 240
            while (
                rows_in(large_benchmark) < n_stored + 40
                and killable.process.poll() is None
                and time.monotonic() < deadline
            ):
                time.sleep(0.01)
            killable.kill()
            killable.process.communicate()
            n_stored = rows_in(large_benchmark)
            assert sum(tally.begun.values()) - n_stored <= kills * concurrency
        completed = subprocess.run([*HQM, *argv], capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
    assert run_counts(completed.stdout) == (300 - n_stored, n_stored, 0)
    assert len(tally.begun) == 300
    assert sum(tally.begun.values()) - 300 <= kills * concurrency
    assert [state for state, *_ in stored(large_benchmark)] == ["ok"] * 300


def test_each_answer_is_handed_over_as_it_comes() -> None:
    with PlannedServer(lambda number, *_: completion(str(number)), delay=0.01) as server:
        respondent = make_respondent(f"openai/tiny@{server.url}?concurrency=1")
        batches: Iterator[Any] = iter(
            respondent.answer([Request(f"q{i}", None, Sampling(), i) for i in range(3)])
        )
        for answered in (1, 2, 3):
            batch = next(b for b in batches if b)
            assert len(batch) == 1
            time.sleep(0.2)
            assert len(server.asked) == answered, (
                "the next request begins when the answer before it is stored"
            )
        assert list(batches) == []


@pytest.mark.slow
def test_what_killed_workers_had_not_sent_is_answered_by_the_others_or_by_the_next_run(
    tmp_path: Path,
) -> None:
    """Both workers are killed in the middle, so that the next run goes on; there one of the two is
    killed. Nightly a real model answers.
    """
    environment = None if NIGHTLY else environment_with_quick(tmp_path / "site")
    store = tmp_path / "store.sqlite"
    argv = [
        *HQM,
        "audit",
        "--no-report",
        "shapes_yesno",
        "-r",
        "hf/shapes:half-trained" if NIGHTLY else "quick/model",
        "--forms",
        "original",
        "--runs",
        "1",
        "--set",
        "batch=2",
        "--limit",
        "300",
        "--set",
        "workers=2",
        "--quiet",
        "--store",
        str(store),
    ]

    def killing(number: int, min_rows: int) -> tuple[int, str, str]:
        process = subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        deadline = time.monotonic() + 300
        while (
            rows_in(tmp_path / "x") < min_rows
            and process.poll() is None
            and time.monotonic() < deadline
        ):
            time.sleep(0.05)
        children = psutil.Process(process.pid).children(recursive=True)
        # on Linux they are forked from a server, elsewhere spawned
        forked = [child for child in children if child.ppid() != process.pid]
        workers = forked or [
            child for child in children if "spawn_main" in " ".join(child.cmdline())
        ]
        assert len(workers) == 2
        for worker in workers[:number]:
            worker.kill()
        output, err = process.communicate(timeout=300)
        return process.returncode, output, err

    status, _, err = killing(2, 40)
    assert status == 1
    assert tells(err, "run.workers-died")
    n_stored = rows_in(tmp_path / "x")
    status, output, err = killing(1, n_stored + 20)
    assert (status, run_counts(output)) == (0, (300 - n_stored, n_stored, 0)), err
    with closing(sqlite3.connect(store)) as db:
        asks = db.execute(
            "SELECT COUNT(*), COUNT(DISTINCT ask), MAX(attempt) FROM answers"
        ).fetchone()
    assert asks == (300, 300, 0)
