"""Local models and servers: seeds that belong to the request, errors that stay apart, names that
parse back.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

import hqm
from hqm import Request, RespondentError, Response, Sampling, UsageError
from hqm.respondents import make_respondent
from hqm.respondents.base import RespondentName
from hqm.signature import request_seed
from hqm.store.database import ask
from tests.conftest import needs_torch
from tests.servers import AppServer

MODEL = "hf/shapes:half-trained"


# --- names ---


@pytest.mark.parametrize(
    ("text", "target", "qualifier"),
    [
        ("hf/shapes:steady", "shapes:steady", ""),
        ("hf/llava-hf/llava-1.5-7b-hf@v1.0", "llava-hf/llava-1.5-7b-hf", "v1.0"),
        ("hf/./models/mine", "./models/mine", ""),
        ("hf//srv/models@2024/mine", "/srv/models@2024/mine", ""),
        ("openai/gpt-4o", "gpt-4o", ""),
        (
            "openai/Qwen/Qwen2-VL@http://127.0.0.1:8000/v1",
            "Qwen/Qwen2-VL",
            "http://127.0.0.1:8000/v1",
        ),
        ("openai/org@model", "org@model", ""),
        ("recorded/out/answers.jsonl", "out/answers.jsonl", ""),
        ("hf/shapes:dim?temperature=0.2&top_p=0.9", "shapes:dim", ""),
    ],
)
def test_a_name_parses_and_prints_back(text: str, target: str, qualifier: str) -> None:
    name = RespondentName.parse(text)
    assert (name.target, name.qualifier) == (target, qualifier)
    assert str(name) == text
    assert RespondentName.parse(str(name)) == name


def test_settings_in_a_name_are_sampling() -> None:
    sampling = RespondentName.parse("hf/x?temperature=0.2&max_tokens=7").sampling(Sampling(seed=3))
    assert sampling == Sampling(0.2, 1.0, 7, 3)
    with pytest.raises(UsageError, match="no number"):
        RespondentName.parse("hf/x?temperature=warm").sampling(Sampling())
    with pytest.raises(UsageError, match="cannot be used"):
        RespondentName.parse("hf/x?top_p=0").sampling(Sampling())


@pytest.mark.parametrize("text", ["steady", "gpt/x", "hf/", ""])
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="hf/<folder or hub id>.*recorded/<file"):
        RespondentName.parse(text)


# --- transformers ---


@pytest.fixture(scope="module")
def requests_() -> list[Request]:
    """Seventy requests of four tasks, original and parallel, in two runs."""
    requests = []
    for name in ("shapes_yesno", "shapes_choice", "shapes_vqa", "shapes_caption"):
        benchmark = hqm.load(name)
        benchmark.prepare_images(benchmark.original)
        sampling = Sampling(1.0, 1.0, benchmark.card.generation.max_tokens, 0)
        for form in (benchmark.original, benchmark.parallel(benchmark.original)):
            for run, item in enumerate(form.items[:9]):
                text = benchmark.question_text(item)
                path = benchmark.images / str(item.image)
                requests.append(
                    Request(
                        text,
                        path,
                        sampling,
                        request_seed(0, MODEL, run % 2, ask(text, item.image).digest),
                        item=item.id,
                        run=run % 2,
                    )
                )
    return requests


def answers(
    requests: list[Request], batch: int, name: str = MODEL
) -> dict[tuple[str, int, str], Response]:
    respondent = make_respondent(name, batch=batch)
    try:
        got = [pair for group in respondent.answer(requests) for pair in group]
    finally:
        respondent.close()
    assert len(got) == len(requests)
    return {
        (request.prompt, request.run, str(request.image)): response._replace(detail={})
        for request, response in got
    }


@needs_torch
def test_an_answer_does_not_depend_on_the_batch_or_the_order(requests_: list[Request]) -> None:
    singly = answers(requests_, 1)
    assert answers(requests_, 7) == singly
    assert answers(list(reversed(requests_)), 32) == singly
    assert answers(requests_[20:40], 0) == {
        key: singly[key] for key in answers(requests_[20:40], 0)
    }
    assert len({response.text for response in singly.values()}) > 10, "real answers differ"


@needs_torch
def test_sharing_the_picture_gives_what_plain_generate_gives(requests_: list[Request]) -> None:
    """The same model without prefix sharing: transformers' own generate, one question at a time and
    in batches.
    """
    shared = answers(requests_, 16)
    for batch in (1, 16):
        respondent = make_respondent(MODEL, batch=batch)
        respondent._engine.policy.share_less("asked for by a test", "nothing")  # type: ignore[attr-defined]
        plain = [pair for group in respondent.answer(requests_) for pair in group]
        assert {(r.prompt, r.run, str(r.image)): a._replace(detail={}) for r, a in plain} == shared
    respondent = make_respondent(MODEL)
    list(respondent.answer(requests_[:4]))
    assert respondent.how == "shared image prefix"  # type: ignore[attr-defined]


@needs_torch
def test_a_seed_acts_and_temperature_zero_needs_none(requests_: list[Request]) -> None:
    reseeded = [replace(r, seed=r.seed + 1) for r in requests_]
    assert answers(reseeded, 32) != answers(requests_, 32)
    greedy = [replace(r, sampling=replace(r.sampling, temperature=0.0)) for r in requests_]
    reseeded = [replace(r, seed=r.seed + 1) for r in greedy]
    assert answers(greedy, 32) == answers(reseeded, 5)


@needs_torch
def test_top_p_cuts_the_unlikely(requests_: list[Request]) -> None:
    sharp = [replace(r, sampling=replace(r.sampling, top_p=1e-9)) for r in requests_]
    greedy = [replace(r, sampling=replace(r.sampling, temperature=0.0)) for r in requests_]
    assert {k: v.text for k, v in answers(sharp, 32).items()} == {
        k: v.text for k, v in answers(greedy, 32).items()
    }


@needs_torch
def test_drawn_tokens_follow_the_distribution() -> None:
    """A thousand draws from one distribution against its probabilities (chi-square)."""
    import numpy as np
    import torch
    from scipy.stats import chisquare

    from hqm.respondents.token_sampling import TokenSampler

    chances = torch.tensor([0.5, 0.2, 0.2, 0.1, 0.0])
    scores = chances.log()[None].expand(4000, -1)

    def draws(top_p: float) -> Any:
        chooser = TokenSampler(1.0, top_p)
        for row in range(4000):
            chooser.enter(row, seed=row)
        return chooser.choose(scores, range(4000)).numpy()

    draw_indices = draws(1.0)
    counts = np.bincount(draw_indices, minlength=5)
    assert counts[4] == 0
    assert chisquare(counts[:4], 4000 * chances[:4].numpy()).pvalue > 0.001
    nucleus = draws(0.7)
    assert set(nucleus.tolist()) == {
        0,
        1,
    }, "0.5 + 0.2 reach 0.7; of two equal tokens the first counts"


@needs_torch
def test_a_long_answer_is_marked_truncated(requests_: list[Request]) -> None:
    caption = [
        replace(r, sampling=replace(r.sampling, max_tokens=3))
        for r in requests_
        if "aption" in r.prompt or "Describe" in r.prompt
    ]
    assert {a.state for a in answers(caption, 4).values()} == {"truncated"}


@needs_torch
def test_a_broken_picture_is_an_error_and_the_rest_goes_on(
    requests_: list[Request], tmp_path: Path
) -> None:
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nnot a picture at all")
    sent = [
        replace(requests_[0], image=tmp_path / "broken.png"),
        *requests_[1:5],
        replace(requests_[5], image=tmp_path / "none.png"),
    ]
    got = [pair for group in make_respondent(MODEL).answer(sent) for pair in group]
    states = [response.state for _, response in sorted(got, key=lambda pair: sent.index(pair[0]))]
    assert states[0] == states[-1] == "error"
    assert "error" not in states[1:-1]
    assert "broken.png" in next(r.reason for q, r in got if q is sent[0])


@needs_torch
def test_a_question_without_a_picture_is_answered(requests_: list[Request]) -> None:
    blind = [replace(r, image=None) for r in requests_[:6]] + list(requests_[:3])
    got = [pair for group in make_respondent(MODEL).answer(blind) for pair in group]
    assert len(got) == 9
    assert all(response.state in ("ok", "truncated") for _, response in got)


@needs_torch
def test_a_model_that_cannot_be_loaded_is_one_sentence(
    tmp_path: Path, requests_: list[Request]
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "config.json").write_text("{}")
    (tmp_path / "half" / "model.safetensors").write_bytes(b"\x00" * 16)
    for name, sentence in (
        (f"hf/{tmp_path}/empty", "holds no weights"),
        (f"hf/{tmp_path}/half", "cannot be loaded"),
        ("hf/nobody/no-such-model-anywhere", "cannot be loaded"),
        ("hf/shapes:nobody", "no embedded respondent 'nobody'.*steady"),
    ):
        with pytest.raises(RespondentError, match=sentence):
            list(make_respondent(name).answer(requests_[:1]))


@needs_torch
def test_the_identity_names_weights_device_and_type() -> None:
    identity = make_respondent(MODEL).identity()
    assert identity["weights"].startswith("b2:")
    assert (identity["device"], identity["dtype"]) == ("cpu", "float32")
    assert make_respondent(f"{MODEL}?dtype=bfloat16").identity()["dtype"] == "bfloat16"
    assert make_respondent("hf/shapes:steady").identity()["weights"] != identity["weights"]


# --- a real server that speaks the OpenAI interface, and misbehaves when told to ---


class Server(AppServer):
    """Answers with the question's first word; a question may ask for trouble by name."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self.tries: dict[str, int] = {}
        self.in_flight = self.most_in_flight = self.together = 0
        super().__init__([Route("/v1/chat/completions", self.complete, methods=["POST"])])
        self.url += "/v1"

    async def complete(self, http: HttpRequest) -> Any:
        import asyncio

        body = await http.json()
        self.seen.append(body)
        self.in_flight += 1
        self.most_in_flight = max(self.in_flight, self.most_in_flight)
        try:
            for _ in range(6_000):  # a minute
                await asyncio.sleep(0.01)
                if self.most_in_flight >= self.together:
                    break
            return self.reply(body["messages"][0]["content"][-1]["text"], body)
        finally:
            self.in_flight -= 1

    def reply(self, question: str, body: dict[str, Any]) -> Any:
        self.tries[question] = self.tries.get(question, 0) + 1
        first = self.tries[question] == 1
        if question.startswith("500"):
            return JSONResponse({"error": {"message": "internal <trouble>"}}, 500)
        if question.startswith("429") and first:
            return JSONResponse(
                {"error": {"message": "slow down"}}, 429, headers={"Retry-After": "0.01"}
            )
        if question.startswith("400"):
            return JSONResponse({"error": {"message": "the picture is too large"}}, 400)
        if question.startswith("nonsense"):
            return PlainTextResponse("<html>gateway</html>")
        if question.startswith("empty"):
            return JSONResponse({"id": "x", "object": "chat.completion", "choices": []})
        finish, content, refusal = "stop", f"{question.split()[0]} ü", None
        if question.startswith("long"):
            finish = "length"
        if question.startswith("filtered"):
            finish, content = "content_filter", ""
        if question.startswith("refused"):
            content, refusal = None, "I will not."
        message = {"role": "assistant", "content": content, "refusal": refusal}
        return JSONResponse(
            {
                "id": "x",
                "object": "chat.completion",
                "created": 1,
                "model": body["model"],
                "choices": [{"index": 0, "finish_reason": finish, "message": message}],
                "usage": {"prompt_tokens": 11, "completion_tokens": 2, "total_tokens": 13},
            }
        )


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.stop()


def asked(
    server: Server, questions: list[str], image: Path | None = None, **settings: Any
) -> dict[str, Response]:
    name = RespondentName.parse(f"openai/tiny@{server.url}")
    from hqm.respondents.openai_server import OpenAIRespondent

    respondent = OpenAIRespondent(name, retries=2, **settings)
    requests = [
        Request(question, image, Sampling(0.5, 0.9, 17), 1000 + i)
        for i, question in enumerate(questions)
    ]
    return {
        request.prompt: response
        for batch in respondent.answer(requests)
        for request, response in batch
    }


def test_a_server_is_asked_as_the_interface_says(server: Server, tmp_path: Path) -> None:
    from PIL import Image

    Image.new("RGB", (4, 4), "red").save(tmp_path / "a.png")
    got = asked(server, ["Yes it is", "No"], tmp_path / "a.png")
    assert {k: r.text for k, r in got.items()} == {"Yes it is": "Yes ü", "No": "No ü"}
    assert got["No"].detail["tokens_in"] == 11
    body = next(b for b in server.seen if b["messages"][0]["content"][-1]["text"] == "No")
    assert (
        body["model"],
        body["temperature"],
        body["top_p"],
        body["max_tokens"],
        body["seed"],
    ) == (
        "tiny",
        0.5,
        0.9,
        17,
        1001,
    )
    assert body["messages"][0]["content"][0]["image_url"]["url"].startswith(
        "data:image/png;base64,iVBOR"
    )


def test_what_goes_wrong_is_a_state_with_a_reason(server: Server) -> None:
    got = asked(
        server,
        ["good", "500", "400", "429 once", "nonsense", "empty", "long", "filtered", "refused"],
    )
    assert {question: response.state for question, response in got.items()} == {
        "good": "ok",
        "500": "error",
        "400": "error",
        "429 once": "ok",
        "nonsense": "error",
        "empty": "error",
        "long": "truncated",
        "filtered": "refused",
        "refused": "refused",
    }
    assert "500" in got["500"].reason
    assert "too large" in got["400"].reason
    assert server.tries["500"] == 3, "two retries"
    assert got["refused"].text == "I will not."


def test_no_more_requests_are_in_flight_than_allowed(server: Server) -> None:
    server.together = 5  # what the client begins together arrives together
    got = asked(server, [f"q{i}" for i in range(60)], concurrency=5)
    assert len(got) == 60
    assert server.most_in_flight == 5


def test_a_server_that_keeps_failing_is_given_up_and_the_answers_are_kept(
    server: Server, store: hqm.Store, dogs: Path
) -> None:
    from hqm.respondents.openai_server import OpenAIRespondent

    benchmark = hqm.load(str(dogs))
    respondent = OpenAIRespondent(
        RespondentName.parse(f"openai/tiny@{server.url}"), retries=0, concurrency=1, give_up_after=3
    )
    form = replace(
        benchmark.original,
        items=tuple(
            replace(i, prompt=f"{'a' if n < 4 else '500'} {n}")
            for n, i in enumerate(benchmark.original.items)
        ),
    )
    order = hqm.plan_job(
        hqm.Asks(store, blind=True), hqm.assign(respondent, benchmark), hqm.Administration(form, 0)
    )
    outcome = hqm.administer(store, [order])
    assert [name for name, _ in outcome.failed] == [respondent.name]
    assert "3 requests in a row failed" in str(outcome.failed[0][1])
    states = [row["state"] for row in store.rows("answers")]
    assert states.count("ok") + states.count("error") == len(states) <= 7


def test_a_server_that_is_not_there_is_one_sentence(store: hqm.Store) -> None:
    from hqm.respondents.openai_server import OpenAIRespondent

    respondent = OpenAIRespondent(
        RespondentName.parse("openai/tiny@http://127.0.0.1:9/v1"), retries=0, give_up_after=2
    )
    with pytest.raises(RespondentError, match="2 requests in a row failed"):
        for batch in respondent.answer([Request(f"q{i}", None, Sampling(), i) for i in range(9)]):
            assert all(response.state == "error" for _, response in batch)


def test_a_key_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(RespondentError, match="OPENAI_API_KEY"):
        list(make_respondent("openai/gpt-4o").answer([Request("q", None, Sampling(), 1)]))


def test_recorded_answers_are_read_as_exported(
    dogs: Path, tmp_path: Path, make_benchmark: Callable[..., Path]
) -> None:
    from hqm.imports.recordings import read_recordings

    forms = {"original": hqm.load(str(dogs)).original}
    path = tmp_path / "answers.jsonl"
    rows = [
        {"respondent": r, "form": "original", "run": n, "item": "q0", "answer": f"{r}{n}"}
        for r in "ab"
        for n in (0, 1)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    recordings = read_recordings(path, forms)
    assert {(r.respondent, r.run): r.answers["q0"].text for r in recordings} == {
        ("a", 0): "a0",
        ("a", 1): "a1",
        ("b", 0): "b0",
        ("b", 1): "b1",
    }
    for row, sentence in (
        ({"item": "zz", "answer": "x"}, "no item 'zz'"),
        ({"item": "q0"}, "'answer'"),
        ({"answer": "x"}, "'item'"),
        ({"item": "q0", "answer": "x", "form": "upside"}, "no form 'upside'"),
        ({"item": "q0", "answer": "x", "state": "odd"}, "state 'odd'"),
    ):
        path.write_text(json.dumps(row))
        with pytest.raises(hqm.AnswerError, match=sentence):
            read_recordings(path, forms)
