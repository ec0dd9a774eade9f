"""P(yes), P(no) and P(letters) from servers: against the local model's own, and what `--set expected=true`
makes of them.
"""

import base64
import copy
import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import hqm
from hqm import Request, Sampling
from hqm.cli import program
from hqm.respondents import make_respondent
from hqm.respondents.server_replies import ListedTokens, read_reply
from tests.conftest import needs_torch
from tests.messages import tells
from tests.servers import JSON, PlannedServer, failure, question

MODEL = "hf/shapes:half-trained"
WORDS = {"shapes_yesno": ("yes", "no"), "shapes_choice": ("A", "B", "C", "D")}
ROUNDING = 1e-5
"""Scores of a first token are sums in single precision, near ten: those behind a shared prefix differ
from those of a whole prompt by some units in the last place (1e-6), and by more where a processor
adds in another order.
"""
SAMPLINGS = ((1.0, 1.0), (0.5, 1.0), (1.5, 1.0), (1.0, 0.8), (0.7, 0.5), (0.0, 1.0))
"""Temperature and top-p."""


RECORDED = json.loads(
    (Path(__file__).parent / "replies" / "vllm_0.32.json").read_text(encoding="utf-8")
)
"""What a vLLM on this project's machine said of the first yes/no question, to the byte
(`tests/perf/vllm_cpu.py --record`).
"""


def completion_of_vllm(
    answer: str, first: list[tuple[str, float]], sampled: tuple[str, float] | None = None
) -> dict[str, Any]:
    """The recorded reply with another answer and another list of first tokens.

    Log probabilities are the model's own, before temperature (`--logprobs-mode raw_logprobs`), and
    never below -9999.
    """

    def entry(token: str, logprob: float) -> dict[str, Any]:
        return {"token": token, "logprob": max(logprob, -9999.0), "bytes": list(token.encode())}

    reply: dict[str, Any] = copy.deepcopy(RECORDED["reply"])
    choice = reply["choices"][0]
    choice["message"]["content"] = answer
    top = [entry(token, logprob) for token, logprob in first]
    choice["logprobs"]["content"] = [{**entry(*(sampled or first[0])), "top_logprobs": top}]
    return {**reply, "model": "tiny"}


def shape_requests(name: str, sampling: Sampling, n: int = 6) -> list[Request]:
    benchmark = hqm.load(name)
    benchmark.prepare_images(benchmark.original)
    return [
        Request(
            benchmark.question_text(item),
            benchmark.images / str(item.image),
            sampling,
            7,
            item=item.id,
            words=WORDS[name],
        )
        for item in benchmark.original.items[:n]
    ]


def key(text: str, picture: bytes) -> str:
    return f"{text} {hashlib.sha256(picture).hexdigest()}"


@pytest.fixture(scope="module")
def logits() -> tuple[Any, Mapping[str, Any]]:
    """The local respondent, and the scores of every first token, by plain forward passes of whole
    prompts.
    """
    import torch
    from PIL import Image

    local: Any = make_respondent(MODEL)
    scores = {}
    for request in (r for name in WORDS for r in shape_requests(name, Sampling())):
        assert request.image is not None
        inputs = local._loaded.processor(
            images=Image.open(request.image).convert("RGB"),
            text=local._prompt(request),
            return_tensors="pt",
            add_special_tokens=False,
        )
        with torch.inference_mode():
            scores[key(request.prompt, request.image.read_bytes())] = (
                local._loaded.model(**inputs).logits[0, -1].double()
            )
    return local, scores


def as_vllm_does(tokenizer: Any, scores: Any, listed: int) -> dict[str, Any]:
    """The likeliest tokens, each decoded by itself."""
    import torch

    values, tokens = torch.log_softmax(scores, -1).topk(listed)
    texts = [tokenizer.decode([token]) for token in tokens.tolist()]
    return completion_of_vllm("Yes", list(zip(texts, values.tolist(), strict=True)))


@needs_torch
@pytest.mark.parametrize("name", sorted(WORDS))
def test_probabilities_from_a_server_are_those_of_the_local_model(
    name: str, logits: tuple[Any, Mapping[str, Any]]
) -> None:
    """A server that lists the embedded model's true log probabilities, against what the local
    respondent records.
    """
    local, scores = logits

    def reply(_n: int, body: dict[str, Any], _h: dict[str, str]) -> Any:
        picture = base64.b64decode(
            body["messages"][0]["content"][0]["image_url"]["url"].partition("base64,")[2]
        )
        payload = as_vllm_does(
            local._loaded.tokenizer, scores[key(question(body), picture)], body["top_logprobs"]
        )
        payload["choices"][0]["message"]["content"] = payload["choices"][0]["logprobs"]["content"][
            0
        ]["token"].strip()
        return 200, JSON, json.dumps(payload).encode()

    open_by = []
    with PlannedServer(reply) as server:
        for temperature, top_p in SAMPLINGS:
            requests = shape_requests(name, Sampling(temperature, top_p, 4))
            # no chance moves by more than half of what two scores over the temperature move
            tolerance = ROUNDING / (temperature or 1.0)
            local_details = {id(r): a.detail for batch in local.answer(requests) for r, a in batch}
            served = make_respondent(f"openai/tiny@{server.url}")
            served_details = {
                id(r): a.detail for batch in served.answer(requests) for r, a in batch
            }
            for request in requests:
                local_detail, served_detail = (
                    local_details[id(request)],
                    served_details[id(request)],
                )
                for word in request.words:
                    gap = local_detail["p"][word] - served_detail["p"][word]
                    assert -tolerance <= gap <= served_detail["p_unseen"] + tolerance, (
                        temperature,
                        top_p,
                        word,
                        local_detail,
                        served_detail,
                    )
                assert served_detail["p_lost"] == pytest.approx(
                    1 - sum(served_detail["p"].values()), abs=1e-12
                )
                if temperature <= 1:
                    open_by.append(served_detail["p_unseen"])
                if temperature <= 1 and served_detail["p_unseen"] < 1e-7:
                    assert served_detail["p"] == pytest.approx(local_detail["p"], abs=tolerance)
    assert {body["top_logprobs"] for _, body in server.asked} == {20}
    assert np.median(open_by) < 0.005, "twenty tokens leave little open"
    assert min(open_by) < 1e-7, "and sometimes nothing, so that equality was tested"


@needs_torch
def test_a_reply_of_vllm_gives_the_probabilities_of_the_local_model(
    logits: tuple[Any, Mapping[str, Any]],
) -> None:
    """The reply that vLLM itself gave to this question about this picture, of the same weights."""
    import torch

    local, scores = logits
    (request,) = (
        r
        for r in shape_requests("shapes_yesno", Sampling(max_tokens=8))
        if r.item == RECORDED["item"]
    )
    assert request.image is not None
    assert f"hf/shapes:{RECORDED['model']}" == MODEL
    read = read_reply(RECORDED["reply"], 0.1, f"shapes:{RECORDED['model']}", request)
    assert (read.text, read.state) == ("No.", "ok")
    chances = torch.softmax(scores[key(request.prompt, request.image.read_bytes())], -1)
    tokens = local._loaded.tokenizer.convert_tokens_to_ids(["ĠYes", "ĠNo"])
    p = dict(zip(("yes", "no"), chances[tokens].tolist(), strict=True))
    assert read.detail["p"] == pytest.approx(p, abs=1e-4)
    assert read.detail["p_unseen"] < 1e-3
    assert read.detail["tokens_in"] == RECORDED["reply"]["usage"]["prompt_tokens"]
    assert read.detail["tokens_out"] == len(RECORDED["reply"]["choices"][0]["logprobs"]["content"])


def test_what_a_list_can_say() -> None:
    def distribution(
        tokens: dict[str, float] | list[tuple[str, float]],
        words: tuple[str, ...] = ("yes", "no"),
        **sampling: float,
    ) -> Any:
        entries = list(tokens.items()) if isinstance(tokens, dict) else tokens
        top = [{"token": token, "logprob": math.log(chance)} for token, chance in entries]
        listed = ListedTokens.read({**top[0], "top_logprobs": top})
        return listed.probabilities(words, **sampling) if listed is not None else None

    # by hand: .5 + .1 and .2; two tokens that read alike are two
    assert distribution([("Yes", 0.5), ("Yes", 0.1), (" NO", 0.2), ("Yess", 0.1)])[
        "p"
    ] == pytest.approx({"yes": 0.6, "no": 0.2})
    # at temperature .5 chances are squared: .64 / (.64 + .04), and nothing is hidden
    cold = distribution({"Yes": 0.8, "No": 0.2}, temperature=0.5)
    assert cold["p"] == pytest.approx({"yes": 16 / 17, "no": 1 / 17})
    assert cold["p_unseen"] == pytest.approx(0.0, abs=1e-9)
    # .1 is hidden, in tokens of at most .1 each: squared, .01 at most
    hidden = distribution({"Yes": 0.8, "No": 0.1}, temperature=0.5)
    assert hidden["p_unseen"] == pytest.approx(0.01 / (0.64 + 0.01 + 0.01))
    # above 1 the tail may gain: 300,000 equal tokens at most
    assert distribution({"Yes": 0.8, "No": 0.1}, temperature=2.0)["p_unseen"] > 0.9
    nucleus = distribution({"Yes": 0.6, "The": 0.3, "No": 0.1}, top_p=0.7)
    assert nucleus["p"] == pytest.approx({"yes": 2 / 3, "no": 0.0})
    assert nucleus["p_unseen"] == pytest.approx(0.0, abs=1e-9)
    # a word that is not listed may stand behind its beginning
    assert distribution({"Yes": 0.6, "n": 0.3, "x": 0.05})["p_unseen"] == pytest.approx(0.35)
    assert distribution({"Yes": 0.6, "No": 0.1, "n": 0.3})["p_unseen"] == pytest.approx(
        0.0, abs=1e-9
    )
    assert distribution({"B": 0.7, "a": 0.2, " A": 0.1}, ("A", "B"))["p"] == pytest.approx(
        {"A": 0.1, "B": 0.7}
    )
    assert distribution({"token_id:331": 0.9, "token_id:5": 0.1}) == {}, "numbers tell no word"
    assert distribution({"Yes": 0.9, "No": 0.4}) is None, "these are no probabilities"


def test_replies_that_tell_no_probability_tell_none() -> None:
    request = Request("Is it?", None, Sampling(), 1, words=("yes", "no"))
    first = [("Yes", math.log(0.75)), ("No", math.log(0.25))]

    def detail(reply: dict[str, Any], request: Request | None = request) -> Mapping[str, Any]:
        return read_reply(reply, 0.1, "tiny", request).detail

    assert detail(completion_of_vllm("Yes.", first))["p"] == pytest.approx(
        {"yes": 0.75, "no": 0.25}
    )
    rare = detail(
        completion_of_vllm(
            "Maybe", [("Yes", math.log(0.7)), ("No", math.log(0.2))], ("Maybe", math.log(0.1))
        )
    )
    assert rare["p_unseen"] == pytest.approx(0.0, abs=1e-9), "what was drawn counts, listed or not"
    assert "p" not in detail(completion_of_vllm("Yes.", first), None)
    reasoned = completion_of_vllm("No.", [("Let", math.log(0.9)), ("Yes", math.log(0.1))])
    assert "p" not in detail(reasoned), "the first token is of a reasoning, not of the answer"
    for spoilt in ({"logprob": "much"}, {"logprob": math.nan}, {"token": None, "logprob": 5.0}):
        reply = completion_of_vllm("Yes", first)
        reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"][1].update(spoilt)
        assert "p" not in detail(reply)
    silent = completion_of_vllm("Yes", first)
    silent["choices"][0]["logprobs"] = None
    assert read_reply(silent, 0.1, "tiny", request).text == "Yes"
    assert "p" not in detail(silent)


def test_a_server_that_lists_fewer_is_asked_for_fewer() -> None:
    def reply(_n: int, body: dict[str, Any], _h: dict[str, str]) -> Any:
        if body.get("top_logprobs", 0) > 5:
            return failure(
                400, "Requested sample logprobs of 20, which is greater than max allowed: 5"
            )
        return (
            200,
            JSON,
            json.dumps(completion_of_vllm("Yes", [("Yes", -0.1), ("No", -3.0)])).encode(),
        )

    requests = [Request(f"q{i}", None, Sampling(), i, words=("yes", "no")) for i in range(30)]
    with PlannedServer(reply, delay=0.01) as server:
        respondent = make_respondent(f"openai/tiny@{server.url}?concurrency=4")
        got = [answer for batch in respondent.answer(requests) for _, answer in batch]
    assert all(answer.detail["p"]["yes"] == pytest.approx(math.exp(-0.1)) for answer in got)
    assert sum(body["top_logprobs"] == 20 for _, body in server.asked) <= 4, "it is told once"
    with pytest.raises(hqm.UsageError, match="raw_logprobs or processed_logprobs"):
        make_respondent("openai/tiny@http://127.0.0.1:9/v1?logprobs_mode=raw_logits")


# --- expected ---


class Leaderboard:
    """Four models on one server, each with a probability of yes for every question, which it lists
    as vLLM does.
    """

    def __init__(self) -> None:
        rng = np.random.default_rng(5)
        self.chances: dict[str, dict[str, float]] = {}
        benchmark = hqm.load("shapes_yesno")
        self.items = benchmark.original.items[:48]
        for k in range(4):
            right = rng.beta(2 + k, 1.5, len(self.items))
            rows = zip(self.items, right, strict=True)
            self.chances[f"m{k}"] = {
                f"{item.prompt} {item.image}": p if item.target == "yes" else 1 - p
                for item, p in rows
            }
        self.by_picture: dict[str, dict[str, str]] = {
            benchmark.question_text(item): {} for item in self.items
        }
        benchmark.prepare_images(benchmark.original)
        for item in self.items:
            picture = (benchmark.images / str(item.image)).read_bytes()
            self.by_picture[benchmark.question_text(item)][hashlib.sha256(picture).hexdigest()] = (
                f"{item.prompt} {item.image}"
            )

    def reply(self, _n: int, body: dict[str, Any], _h: dict[str, str]) -> Any:
        picture = base64.b64decode(
            body["messages"][0]["content"][0]["image_url"]["url"].partition("base64,")[2]
        )
        p = self.chances[body["model"]][
            self.by_picture[question(body)][hashlib.sha256(picture).hexdigest()]
        ]
        u = np.random.default_rng(body["seed"]).random()
        first = [("Yes", math.log(p)), ("No", math.log(1 - p))]
        text = "Yes" if u < p else "No"
        return 200, JSON, json.dumps(completion_of_vllm(text, first, first[text == "No"])).encode()


def test_expected_asks_once_and_says_what_it_is(tmp_path: Path) -> None:
    board = Leaderboard()
    with PlannedServer(board.reply) as server:
        respondent_options = [
            option for name in board.chances for option in ("-r", f"openai/{name}@{server.url}")
        ]
        command = [
            "audit",
            "shapes_yesno",
            *respondent_options,
            "--limit",
            "48",
            "--forms",
            "original",
            "--out",
            str(tmp_path),
            "-q",
        ]
        result = CliRunner().invoke(program(), [*command, "--set", "expected=true"])
        assert result.exit_code == 0, result.output
        assert len(server.asked) == 4 * 48, "nobody is asked twice"
        single_command = [
            "audit",
            "shapes_yesno",
            *respondent_options[:2],
            "--limit",
            "8",
            "--forms",
            "original",
            "-q",
            "--set",
            "expected=true",
        ]
        cold = CliRunner().invoke(
            program(), [*single_command, "--temperature", "0", "--out", str(tmp_path / "cold")]
        )
    assert "expected and not observed" in " ".join(result.output.split())
    audit = json.loads((tmp_path / "audit.json").read_text())["audits"][0]
    estimate = next(e for e in audit["estimates"] if e["indicator"] == "expected.reliability")
    right = np.array(
        [
            [
                p if item.target == "yes" else 1 - p
                for item in board.items
                for p in [chances[f"{item.prompt} {item.image}"]]
            ]
            for chances in board.chances.values()
        ]
    )
    # s2_mu / (s2_mu + vbar), from the probabilities that the server gave
    spread, noise = right.mean(axis=1).var(ddof=1), (right * (1 - right)).sum(axis=1).mean() / 48**2
    assert estimate["value"] == pytest.approx(spread / (spread + noise), abs=1e-9)
    assert "EXPECTED" in estimate["flags"]
    assert not any(
        e["indicator"].startswith("test_retest.") and e["value"] is not None
        for e in audit["estimates"]
    )
    message = " ".join(cold.output.split())
    assert tells(message, "rerun.none-at-zero")
    refused = CliRunner().invoke(program(), [*command, "--set", "expected=true", "--runs", "3"])
    assert isinstance(refused.exception, hqm.UsageError)
    assert "--runs 3 asks it again" in str(refused.exception)


@needs_torch
def test_longer_answers_have_no_expected_reliability(tmp_path: Path) -> None:
    """Models that answer in sentences: nothing is expected of them, unless one token is all they
    are given.
    """
    respondent_options = [
        option
        for name in ("half-trained", "dim", "small")
        for option in ("-r", f"hf/shapes:{name}")
    ]
    asking = [
        "shapes_yesno",
        *respondent_options,
        "--limit",
        "16",
        "--forms",
        "original",
        "--set",
        "expected=true",
        "-q",
        "--set",
        "workers=1",
    ]
    measured = {}
    for tokens in ("1", "24"):
        options = ["--max-tokens", tokens, "--store", str(tmp_path / f"{tokens}.sqlite")]
        result = CliRunner().invoke(program(), ["audit", "--no-report", *asking, *options])
        assert result.exit_code == 0, result.output
        assert "16 of 16 answers carry probabilities" in " ".join(result.output.split())
        result = CliRunner().invoke(
            program(), ["audit", *asking, *options, "--offline", "--out", str(tmp_path / tokens)]
        )
        assert result.exit_code == 0, result.output
        audit = json.loads((tmp_path / tokens / "audit.json").read_text())["audits"][0]
        measured[tokens] = next(
            e for e in audit["estimates"] if e["indicator"] == "expected.reliability"
        )
    assert measured["1"]["status"] == "ok"
    assert measured["24"]["status"] == "insufficient"
    assert tells(measured["24"]["reason"], "first-token.longer", answers=3)
