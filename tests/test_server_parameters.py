"""Servers that refuse parameters: what is refused is left out, said, and noted with every answer."""

import json
import math
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import hqm
from hqm.respondents.base import Request, RespondentName, Sampling
from hqm.respondents.openai_server import OpenAIRespondent
from hqm.respondents.server_limits import Budget
from hqm.respondents.server_parameters import OPTIONAL, describe_left_out, refused_parameter
from hqm.respondents.server_search import MIN_REFUSALS
from hqm.types import Response
from tests.conftest import Run
from tests.messages import tells
from tests.servers import JSON, PlannedServer, completion, failure

Reply = tuple[int, dict[str, str], bytes]
Habit = Callable[[Mapping[str, Any]], Reply | None]


def plain(status: int, text: str) -> Reply:
    return status, {"content-type": "text/plain"}, text.encode()


def document(status: int, value: object) -> Reply:
    return status, JSON, json.dumps(value).encode()


def refuses(name: str, reply: Reply) -> Habit:
    """A habit of a server: a request that has the parameter gets the reply."""
    return lambda body: reply if name in body else None


def refuses_both(reply: Reply) -> Habit:
    return lambda body: reply if {"temperature", "top_p"} <= body.keys() else None


def forbids_extras(*allowed: str) -> Habit:
    """A server with a strict schema, as FastAPI and pydantic say it."""

    def habit(body: Mapping[str, Any]) -> Reply | None:
        extras = [name for name in body if name not in ("messages", "model", *allowed)]
        errors = [
            {
                "type": "extra_forbidden",
                "loc": ["body", name],
                "msg": "Extra inputs are not permitted",
            }
            for name in extras
        ]
        return document(422, {"detail": errors}) if errors else None

    return habit


def random_seed(body: Mapping[str, Any]) -> Reply | None:
    """Mistral's API."""
    if "seed" in body:
        detail = [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "not permitted"}]
        return document(422, {"object": "error", "message": {"detail": detail}})
    return None


def refuses_unnamed_seed(body: Mapping[str, Any]) -> Reply | None:
    """A server that takes `random_seed`, and says nothing of it."""
    return UNNAMED if "seed" in body else None


def refuses_seeds(reply: Callable[[str], Reply]) -> Habit:
    """A server that takes no seed, whatever it is called, and says so of the name that was sent."""

    def habit(body: Mapping[str, Any]) -> Reply | None:
        names = [name for name in ("seed", "random_seed") if name in body]
        return reply(names[0]) if names else None

    return habit


def says_no_more_than_asked(body: Mapping[str, Any]) -> Reply | None:
    """A server that takes one question of the user, with what samples its answer."""
    allowed = {"messages", "model", "temperature", "top_p", "max_tokens", "seed", "logprobs"}
    extras = sorted(body.keys() - allowed - {"top_logprobs"})
    roles = [message["role"] for message in body["messages"]]
    is_plain = extras == [] and roles == ["user"] and "detail" not in json.dumps(body["messages"])
    return None if is_plain else failure(400, f"{extras} {roles}: only one user message")


SEED, TOP_P, TEMPERATURE = ["seed"], ["top_p"], ["temperature"]
ALL = ["temperature", "top_p", "seed"]
HABITS: list[tuple[str, Habit, list[str]]] = [
    ("takes all", lambda _: None, []),
    ("random_seed", random_seed, []),
    ("openai param", lambda body: document(400, {"error": {"message": "Unsupported value", "param": next(n for n in body if "seed" in n)}}) if any("seed" in n for n in body) else None, SEED),
    ("unknown field", lambda body: failure(400, "Unknown field: random_seed" if "random_seed" in body else "Unknown field: seed") if any("seed" in n for n in body) else None, SEED),
    ("quoted in a list", lambda body: failure(400, "Unrecognized request arguments supplied: 'random_seed'" if "random_seed" in body else "Unrecognized request arguments supplied: 'seed'") if any("seed" in n for n in body) else None, SEED),
    ("only extras, not seed", forbids_extras("seed", "max_tokens", "temperature", "top_p", "logprobs", "top_logprobs"), []),
    ("extras: seed", forbids_extras("max_tokens", "temperature", "top_p", "logprobs", "top_logprobs"), SEED),
    ("extras: sampling", forbids_extras("max_tokens", "logprobs", "top_logprobs"), ALL),
    ("extras: everything", forbids_extras("max_tokens"), ALL),
    ("extras: top_p, random_seed", forbids_extras("max_tokens", "temperature", "random_seed"), TOP_P),
    ("text/plain", lambda body: plain(400, "parameter seed not allowed") if "seed" in body else plain(400, "parameter random_seed not allowed") if "random_seed" in body else None, SEED),
    ("422 sentence", refuses("top_p", failure(422, "top_p is not supported by this model")), TOP_P),
    ("names the allowed", refuses("top_p", failure(400, "Unexpected key top_p. Only temperature and seed may be given")), TOP_P),
    ("backticks", refuses("top_p", failure(400, "`top_p` is deprecated for this model.")), TOP_P),
    ("both", refuses_both(failure(400, "`temperature` and `top_p` cannot both be specified for this model. Please use only one.")), TOP_P),
    ("both, param", refuses_both(document(400, {"error": {"message": "use temperature or top_p, not both", "param": "temperature"}})), TOP_P),
    ("only default", refuses("temperature", document(400, {"error": {"message": "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.", "param": "temperature", "code": "unsupported_value"}})), TEMPERATURE),
    ("403", refuses("temperature", failure(403, "temperature is not allowed for your plan")), TEMPERATURE),
    ("415", refuses("temperature", failure(415, "Unsupported field temperature")), TEMPERATURE),
    ("500", refuses("top_p", failure(500, "TypeError: generate() got an unexpected keyword argument 'top_p'")), TOP_P),
    ("501", lambda body: failure(501, "seed not implemented") if "seed" in body else failure(501, "random_seed not implemented") if "random_seed" in body else None, SEED),
    ("array", refuses("top_p", document(400, [{"error": {"code": 400, "message": 'Invalid JSON payload received. Unknown name "top_p"', "status": "INVALID_ARGUMENT"}}])), TOP_P),
    ("no system message, n, stop, detail", says_no_more_than_asked, []),
    ("LM Studio", refuses_seeds(lambda name: document(400, {"error": f"'{name}' is not a supported field"})), SEED),
    ("Ollama", refuses_seeds(lambda name: document(400, {"error": f'json: unknown field "{name}"'})), SEED),
    ("SGLang", refuses_seeds(lambda name: document(400, {"object": "error", "message": f"[{{'type': 'extra_forbidden', 'loc': ('body', '{name}'), 'msg': 'Extra inputs are not permitted'}}]", "type": "BadRequest", "code": 400})), SEED),
    ("Gemini", refuses_seeds(lambda name: document(400, [{"error": {"code": 400, "message": f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.', "status": "INVALID_ARGUMENT", "details": [{"fieldViolations": [{"description": "x"}]}]}}])), SEED),
    ("LiteLLM", refuses_seeds(lambda name: failure(400, f"litellm.UnsupportedParamsError: openai does not support parameters: ['{name}'], for model=tiny.")), SEED),
    ("HTML", refuses_seeds(lambda name: (400, {"content-type": "text/html"}, f"<html><h1>Bad Request</h1><p>Unknown parameter: <code>{name}</code></p></html>".encode())), SEED),
    ("JSON in a message", refuses_seeds(lambda name: failure(400, json.dumps({"detail": [{"loc": ["body", name], "msg": "extra fields not permitted"}]}))), SEED),
    ("a sentence as detail", refuses_seeds(lambda name: document(422, {"detail": f"Unknown argument: {name}"})), SEED),
    ("a list of errors", refuses_seeds(lambda name: document(400, {"errors": [f"{name} is not allowed"]})), SEED),
    ("TGI", refuses("top_p", document(422, {"error": "Input validation error: `top_p` must be > 0.0 and < 0.9", "error_type": "validation"})), TOP_P),
    ("Mistral, greedy", refuses("top_p", document(400, {"object": "error", "message": "top_p must be 1 when using greedy sampling.", "type": "invalid_request_greedy_sampling_settings", "code": "3051"})), TOP_P),
    ("Anthropic", refuses("top_p", document(400, {"type": "error", "error": {"type": "invalid_request_error", "message": "top_p: Extra inputs are not permitted"}})), TOP_P),
    ("another spelling", refuses("top_p", failure(400, "Top-p is not available for this model")), TOP_P),
    ("llama.cpp", refuses("logprobs", document(400, {"error": {"code": 400, "message": "Unsupported param: logprobs", "type": "invalid_request_error"}})), []),
    ("logprobs, text/plain", refuses("logprobs", plain(400, "logprobs are not supported")), []),
    ("top_logprobs", refuses("top_logprobs", failure(400, "top_logprobs is not permitted")), []),
    ("three logprobs", lambda body: failure(400, "Requested sample logprobs of 5, which is greater than max allowed: 3") if body.get("top_logprobs", 0) > 3 else None, []),
    ("max_tokens, no other name", refuses("max_tokens", failure(400, "Unsupported parameter: 'max_tokens'")), []),
    ("max_tokens, text/plain", refuses("max_tokens", plain(400, "use max_completion_tokens")), []),
    ("max_tokens, param", refuses("max_tokens", document(400, {"error": {"message": "'max_tokens' is not supported with this model.", "param": "max_tokens", "code": "unsupported_parameter"}})), []),
    ("no limit", forbids_extras("seed", "temperature", "top_p"), ["max_tokens"]),
    ("logprobs", refuses("logprobs", failure(400, "logprobs is not supported")), []),
    ("completion tokens", refuses("max_tokens", failure(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")), []),
    ("o-series", lambda body: next((failure(400, f"Unsupported parameter: '{n}' is not supported with this model.") for n in ("temperature", "top_p", "logprobs") if n in body), None) or (failure(400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.") if "max_tokens" in body else None), ["temperature", "top_p"]),
]  # fmt: skip


def ask_all(
    server: PlannedServer,
    questions: list[str],
    options: str = "",
    respondent: OpenAIRespondent | None = None,
) -> tuple[dict[str, Response], OpenAIRespondent]:
    name = RespondentName.parse(f"openai/tiny@{server.url}{options}")
    respondent = respondent or OpenAIRespondent(name, retries=1, backoff=0.01)
    requests = [Request(text, None, Sampling(0.5, 0.9, 17), i) for i, text in enumerate(questions)]
    answers = {
        request.prompt: response
        for batch in respondent.answer(requests)
        for request, response in batch
    }
    return answers, respondent


@pytest.mark.parametrize(("name", "habit", "left_out"), HABITS, ids=[row[0] for row in HABITS])
def test_what_a_server_refuses_is_left_out_and_noted(
    name: str, habit: Habit, left_out: list[str]
) -> None:
    def reply(_number: int, body: dict[str, Any], _headers: dict[str, str]) -> Any:
        return habit(body) or completion("Yes.")

    # a question that has the words of parameters in it
    questions = [f"Is the temperature of seed {i} above top_p?" for i in range(12)]
    with PlannedServer(reply) as server:
        answers, respondent = ask_all(server, questions)
        n_asked = len(server.asked)
        later = [Request(f"q{i}", None, Sampling(0.5, 0.9, 17), i) for i in range(10)]
        assert sum(map(len, respondent.answer(later))) == 10
        assert len(server.asked) == n_asked + 10, "what is refused is learnt once"
    assert {(r.state, r.text) for r in answers.values()} == {("ok", "Yes.")}, name
    assert list(respondent.left_out) == left_out
    for response in answers.values():
        assert response.detail.get("left_out", []) == left_out
    final = server.asked[-1][1]
    assert not {"seed", "random_seed", "temperature", "top_p"}.intersection(left_out) & final.keys()
    # what is taken is sent still
    kept = [parameter for parameter in ("temperature", "top_p") if parameter not in left_out]
    assert all(parameter in final for parameter in kept)
    if "seed" not in left_out:
        assert final.get("seed", final.get("random_seed")) is not None


UNNAMED = failure(400, "Bad Request")
TOO_LARGE = {
    "pydantic": document(422, {"detail": [{"type": "less_than_equal", "loc": ["body", "seed"], "msg": "Input should be less than or equal to 2147483647"}]}),
    "a sentence": failure(400, "seed must be between 0 and 2147483647"),
    "Go": failure(400, "json: cannot unmarshal number 9223372036854775807 into Go struct field .seed of type int32"),
    "not a valid": failure(400, "seed: not a valid int32"),
    "param": document(400, {"error": {"message": "no", "param": "seed"}}),
    "without a word": UNNAMED,
}  # fmt: skip


@pytest.mark.parametrize("refusal", TOO_LARGE)
def test_a_server_of_short_seeds_is_sent_their_lower_bits(refusal: str) -> None:
    def reply(_number: int, body: dict[str, Any], _headers: dict[str, str]) -> Any:
        return TOO_LARGE[refusal] if body.get("seed", 0) >= 2**31 else completion("Yes.")

    seeds = {f"q{i}": 2**62 + 5 * i for i in range(12)}
    requests = [Request(text, None, Sampling(0.5), seed) for text, seed in seeds.items()]
    with PlannedServer(reply) as server:
        name = RespondentName.parse(f"openai/tiny@{server.url}")
        respondent = OpenAIRespondent(name, retries=1, backoff=0.01)
        responses = [response for batch in respondent.answer(requests) for _, response in batch]
        n_asked = len(server.asked)
        assert sum(map(len, respondent.answer(requests))) == 12
    assert [response.state for response in responses] == ["ok"] * 12
    assert respondent.left_out == ()
    assert all(response.detail["seed_bits"] == 31 for response in responses)
    later = server.asked[n_asked:]
    assert sorted(body["seed"] for _, body in later) == [5 * i for i in range(12)]
    (sentence,) = describe_left_out([respondent])
    assert tells(sentence, "server.short-seeds")


@pytest.mark.parametrize("habit", [random_seed, refuses_unnamed_seed])
def test_a_seed_of_another_name_keeps_its_bits(habit: Habit) -> None:
    def reply(_number: int, body: dict[str, Any], _headers: dict[str, str]) -> Any:
        return habit(body) or completion("Yes.")

    requests = [Request(f"q{i}", None, Sampling(0.5), 2**62 + i) for i in range(12)]
    with PlannedServer(reply) as server:
        respondent = OpenAIRespondent(RespondentName.parse(f"openai/tiny@{server.url}"))
        assert sum(map(len, respondent.answer(requests))) == 12
        n_asked = len(server.asked)
        assert sum(map(len, respondent.answer(requests))) == 12
    assert all(body["random_seed"] >= 2**62 for _, body in server.asked[n_asked:])


def refuses_unnamed(*names: str, reply: Reply = UNNAMED) -> Habit:
    """A server that says only that the request is bad."""
    return lambda body: reply if body.keys() & set(names) else None


def takes_at_most(name: str, limit: float) -> Habit:
    return lambda body: UNNAMED if body.get(name, 0) > limit else None


def takes_only(*names: str) -> Habit:
    reply = document(422, {"detail": [{"type": "extra_forbidden", "loc": ["body"], "msg": "no"}]})
    return lambda body: None if body.keys() <= {"messages", "model", *names} else reply


def refuses_questions(*numbers: int, without: str = "") -> Habit:
    """A server that refuses some questions for their own sake, and a parameter."""

    def habit(body: Mapping[str, Any]) -> Reply | None:
        text = json.dumps(body["messages"])
        return UNNAMED if without in body or any(f"q{n:02}" in text for n in numbers) else None

    return habit


PYDANTIC_LIST = document(422, {"detail": [{"loc": ["body", 3], "msg": "wrong", "type": "value"}]})
PAGE = (400, {"content-type": "text/html"}, b"<html><h1>400 Bad Request</h1><hr>nginx</html>")
SEEDS = ("seed", "random_seed")
LIMITS = ("max_tokens", "max_completion_tokens")
NOTHING: list[str] = []
# habit, what is left out, names that are refused in all, questions that are refused in the end
UNNAMED_HABITS: dict[str, tuple[Habit, list[str], int, int]] = {
    "seed": (refuses_unnamed(*SEEDS), SEED, 2, 0),
    "seed, not random_seed": (refuses_unnamed("seed"), NOTHING, 1, 0),
    "top_p": (refuses_unnamed("top_p"), TOP_P, 1, 0),
    "temperature": (refuses_unnamed("temperature"), TEMPERATURE, 1, 0),
    "temperature with top_p": (refuses_both(UNNAMED), TOP_P, 1, 0),
    "temperature and top_p": (refuses_unnamed("temperature", "top_p"), ["temperature", "top_p"], 2, 0),
    "seed and top_p": (refuses_unnamed("top_p", *SEEDS), ["top_p", "seed"], 3, 0),
    "logprobs": (refuses_unnamed("logprobs"), NOTHING, 1, 0),
    "top_logprobs": (refuses_unnamed("top_logprobs"), NOTHING, 1, 0),
    "three alternatives": (takes_at_most("top_logprobs", 3), NOTHING, 1, 0),
    "max_completion_tokens": (refuses_unnamed("max_tokens"), NOTHING, 1, 0),
    "no limit": (refuses_unnamed(*LIMITS), ["max_tokens"], 2, 0),
    "a limit of 10": (takes_at_most("temperature", 0.4), TEMPERATURE, 1, 0),
    "extras forbidden": (takes_only("max_tokens", "temperature", "seed"), TOP_P, 2, 0),
    "all forbidden": (takes_only(), ["temperature", "top_p", "max_tokens", "seed"], 7, 0),
    "422 without a word": (refuses_unnamed(*SEEDS, reply=plain(422, "")), SEED, 2, 0),
    "pydantic's list": (refuses_unnamed(*SEEDS, reply=PYDANTIC_LIST), SEED, 2, 0),
    "a page": (refuses_unnamed("top_p", reply=PAGE), TOP_P, 1, 0),
    "a code": (refuses_unnamed("top_p", reply=document(400, {"error": {"code": 1214}})), TOP_P, 1, 0),
    "Chinese": (refuses_unnamed("top_p", reply=failure(400, "\u53c2\u6570\u9519\u8bef")), TOP_P, 1, 0),
    "n, system, detail": (says_no_more_than_asked, NOTHING, 0, 0),
    "one question": (refuses_questions(0), NOTHING, 0, 1),
    "two questions": (refuses_questions(0, 1), NOTHING, 0, 2),
    "later questions": (refuses_questions(5, 6, 7, 8), NOTHING, 0, 4),
    "all questions": (refuses_unnamed("messages"), NOTHING, 1, 18),
    "three questions": (refuses_questions(0, 1, 2), NOTHING, 1, 3),
    "a question and top_p": (refuses_questions(0, without="top_p"), TOP_P, 1, 1),
    "a question, the seed": (refuses_questions(1, without="seed"), NOTHING, 1, 1),
}  # fmt: skip


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("habit", UNNAMED_HABITS)
def test_a_parameter_that_a_refusal_does_not_name_is_found(habit: str, concurrency: int) -> None:
    is_refused, left_out, n_names, n_final = UNNAMED_HABITS[habit]

    def reply(_number: int, body: dict[str, Any], _headers: dict[str, str]) -> Any:
        return is_refused(body) or completion("Yes.")

    with PlannedServer(reply) as server:
        questions = [f"q{i:02}" for i in range(18)]
        answers, respondent = ask_all(server, questions, f"?concurrency={concurrency}")
        n_asked = len(server.asked)
        ask_all(server, questions, respondent=respondent)
    assert len(server.asked) == n_asked + 18, "what is refused is searched for once"
    assert list(respondent.left_out) == left_out
    states = [answers[text].state for text in questions]
    assert states.count("error") == n_final
    assert all(answers[text].text == "Yes." for text in questions if answers[text].state == "ok")
    for response in answers.values():
        assert response.state == "ok" or response.reason.startswith("the server answered 4")
        assert response.state == "error" or response.detail.get("left_out", []) == left_out
        assert "unexplained" not in response.detail
    # for each set of five parameters a search, and the requests that waited for it once more
    n_waiting = max(MIN_REFUSALS, concurrency + 2)
    assert n_asked - 18 <= n_names * (math.ceil(math.log2(5)) + 2 + n_waiting)


BROKEN = (200, {}, b"no JSON")
HOSTILE: dict[str, list[Reply]] = {
    "broken": [BROKEN],
    "500": [failure(500, "crash")],
    "401": [failure(401, "no")],
    "404": [failure(404, "no")],
    "redirected": [(302, {"location": "http://127.0.0.1:9/"}, b"")],
    "403": [failure(403, "no")],
    "broken later": [completion("Yes."), BROKEN],
    "500 later": [completion("Yes."), UNNAMED, failure(500, "crash")],
}


@pytest.mark.parametrize("habit", HOSTILE)
@pytest.mark.parametrize("n_questions", [2, 3, 12])
def test_another_end_of_the_search_keeps_the_first_refusal(habit: str, n_questions: int) -> None:
    """A server that refuses whole requests, and does something else with smaller ones."""
    later = deque(HOSTILE[habit])

    def reply(_number: int, body: dict[str, Any], _headers: dict[str, str]) -> Any:
        return later.popleft() if later and "logprobs" not in body else UNNAMED

    with PlannedServer(reply) as server:
        questions = [f"q{i}" for i in range(n_questions)]
        answers, respondent = ask_all(server, questions, "?concurrency=8")
    assert respondent.left_out == ()
    reasons = {response.reason for response in answers.values()}
    assert reasons == {"the server answered 400: Bad Request"}
    n_probes = len(HOSTILE[habit]) if n_questions > 2 else 0
    assert len(server.asked) == n_questions + n_probes


def test_questions_that_are_asked_one_by_one_are_searched_from_the_third() -> None:
    def reply(_number: int, body: dict[str, Any], _headers: dict[str, str]) -> Any:
        return UNNAMED if "top_p" in body else completion("Yes.")

    states = []
    with PlannedServer(reply) as server:
        respondent = OpenAIRespondent(RespondentName.parse(f"openai/tiny@{server.url}"))
        for text in "abcd":
            answers, _ = ask_all(server, [text], respondent=respondent)
            states.append(answers[text].state)
    assert states == ["error", "error", "ok", "ok"]


def test_a_busy_server_is_asked_again_by_the_search() -> None:
    def reply(number: int, body: dict[str, Any], _headers: dict[str, str]) -> Any:
        if number > 2 and number % 2 == 0:
            return failure(429, "slow down")
        return UNNAMED if "top_p" in body else completion("Yes.")

    with PlannedServer(reply) as server:
        answers, respondent = ask_all(server, list("abcd"), "?concurrency=1")
    assert respondent.left_out == ("top_p",)
    assert {response.state for response in answers.values()} == {"ok"}


@pytest.mark.parametrize("bound", [3, 4, 6, 7])
def test_a_bound_that_ends_the_search_leaves_its_requests_to_the_next_run(bound: int) -> None:
    def reply(_number: int, body: dict[str, Any], _headers: dict[str, str]) -> Any:
        return UNNAMED if "top_p" in body else completion("Yes.")

    with PlannedServer(reply) as server:
        respondent = OpenAIRespondent(RespondentName.parse(f"openai/tiny@{server.url}"))
        respondent.budget = Budget(max_requests=bound)
        answers, _ = ask_all(server, list("abc"), respondent=respondent)
        assert len(server.asked) == bound
        assert {response.state for response in answers.values()} <= {"ok"}
        respondent.budget = Budget()
        answers, _ = ask_all(server, list("abc"), respondent=respondent)
    assert {response.state for response in answers.values()} == {"ok"}


def test_a_parameter_that_is_refused_later_is_left_out_from_then_on() -> None:
    """A server that was exchanged for another behind its address."""

    def reply(number: int, body: dict[str, Any], _headers: dict[str, str]) -> Any:
        refused = failure(400, "Unknown field: top_p")
        return refused if number and "top_p" in body else completion("Yes.")

    with PlannedServer(reply) as server:
        first, respondent = ask_all(server, ["first"])
        requests = [Request(f"q{i}", None, Sampling(0.5, 0.9, 17), i) for i in range(10)]
        later = [response for batch in respondent.answer(requests) for _, response in batch]
    assert "left_out" not in first["first"].detail
    assert [response.detail["left_out"] for response in later] == [TOP_P] * 10


def test_a_server_that_takes_no_picture_in_a_request_says_so_and_is_asked_the_rest(
    tmp_path: Path,
) -> None:
    picture = tmp_path / "a.png"
    Image.new("RGB", (4, 4)).save(picture)

    def reply(_number: int, body: dict[str, Any], _headers: dict[str, str]) -> Any:
        if "data:image/png;base64," in json.dumps(body):
            return failure(400, "Invalid image_url: only http and https are supported")
        return completion("Yes.")

    with PlannedServer(reply) as server:
        respondent = OpenAIRespondent(RespondentName.parse(f"openai/tiny@{server.url}"))
        requests = [Request(f"q{i}", picture if i % 2 else None, Sampling(), i) for i in range(12)]
        answers = [answer for batch in respondent.answer(requests) for answer in batch]
    assert len(server.asked) == 12
    assert respondent.left_out == ()
    for request, response in answers:
        assert response.state == ("error" if request.image else "ok")
        assert not request.image or "only http and https" in response.reason


@pytest.mark.parametrize(
    "text",
    [
        "the request is too long",
        "max_tokens is too large: 17. It must be at most 16 tokens",
        "maximum context length is 10 tokens: 9 in the messages, 17 in max_tokens",
        "the picture cannot be read",
        "Is the temperature above zero? was refused by the filter",
        "messages: at most one picture is supported",
        "model not supported",
    ],
)
def test_a_refusal_for_another_reason_leaves_nothing_out(text: str) -> None:
    def reply(_number: int, body: dict[str, Any], _headers: dict[str, str]) -> Any:
        if "above zero" in json.dumps(body):
            return failure(400, text)
        return completion("Yes.")

    with PlannedServer(reply) as server:
        answers, respondent = ask_all(server, ["Is it?", "Is the temperature above zero?"])
    assert answers["Is it?"].state == "ok"
    assert answers["Is the temperature above zero?"].state == "error"
    assert respondent.left_out == ()


@pytest.mark.parametrize(
    "text",
    [
        "'max_tokens' or 'max_completion_tokens' is too large: 17. This model's maximum context"
        " length is 10 tokens",  # vLLM
        "Input validation error: `max_new_tokens` must be <= 16. Given: 17",  # TGI
        "Could not finish the message because max_tokens was reached",  # OpenAI
        "max_tokens: 17 > 16, which is the maximum allowed number of output tokens",  # Anthropic
    ],
)
def test_answers_stay_limited_where_the_value_of_the_limit_is_refused(text: str) -> None:
    def reply(_number: int, body: dict[str, Any], _headers: dict[str, str]) -> Any:
        return failure(400, text) if body.keys() & set(LIMITS) else completion("Yes.")

    with PlannedServer(reply) as server:
        answers, respondent = ask_all(server, [f"q{i}" for i in range(MIN_REFUSALS)])
    assert {(r.state, text[:20] in r.reason) for r in answers.values()} == {("error", True)}
    assert respondent.left_out == ()
    assert all("max_tokens" in body for _, body in server.asked)


@pytest.mark.parametrize("parameter", OPTIONAL)
def test_a_field_of_the_refusal_decides_over_its_words(parameter: str) -> None:
    other = "model" if parameter != "model" else "messages"
    content = json.dumps({"error": {"param": other, "message": f"unsupported with {parameter}"}})
    assert refused_parameter(content.encode(), OPTIONAL) == ""
    located = json.dumps({"detail": [{"loc": ["body", parameter], "msg": "x"}]})
    expected = "top_p" if parameter == "temperature" and "top_p" in located else parameter
    assert refused_parameter(located.encode(), OPTIONAL) == expected
    assert refused_parameter(located.encode(), ("model",)) == ""


@pytest.mark.parametrize("sentence", ["Unknown parameter: '{}'.", "Bad Request"])
def test_the_report_says_what_a_rerun_without_a_seed_is(
    tmp_path: Path, run: Run, sentence: str
) -> None:
    def reply(number: int, body: dict[str, Any], _headers: dict[str, str]) -> Any:
        if "seed" in body or "random_seed" in body:
            name = "random_seed" if "random_seed" in body else "seed"
            return failure(400, sentence.format(name))
        return completion("yes" if number % 3 else "no")

    with PlannedServer(reply) as server:
        arguments = ("-r", f"openai/tiny@{server.url}", "-r", f"openai/other@{server.url}")
        status, _, errors = run(
            "audit", "shapes_yesno", *arguments, "--limit", 40, "-q", "--out", tmp_path / "out"
        )
    assert status == 0
    assert errors.count("the server refuses seed") == 2
    audit = hqm.Audit.load(tmp_path / "out" / "audit.json").audits[0]
    (flag,) = [flag for flag in audit.flags if flag["flag"] == "PARAMETERS_REFUSED"]
    assert flag["note"]
    assert "reruns measure its own randomness" in flag["sentence"]
    page = (tmp_path / "out" / "evidence.html").read_text(encoding="utf-8")
    assert "reruns measure its own randomness" in page
    assert tells(page, "server.no-draws")
