"""A request's seed: respondents never share one, and one model has the same wherever it is
reached.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import hqm
from hqm.administration.asks import plan_job
from hqm.psychometrics import bias_test, cronbach_alpha, item_analysis, rho_g
from hqm.respondents import make_respondent
from hqm.respondents.base import Request, who_answers
from hqm.respondents.hf_loading import find_model
from hqm.signature import request_seed
from hqm.types import Response
from tests.conftest import NIGHTLY, needs_torch, write_benchmark
from tests.judge_server import JudgeServer

SHAPES = Path(__file__).parents[1] / "benchmarks" / "shapes" / "respondents"
Floats = npt.NDArray[np.float64]


def key_of(name: str) -> str:
    respondent = make_respondent(name)
    return who_answers(respondent.name, {**respondent.identity(), "temperature": 1.0, "seed": 0})


@needs_torch
def test_one_model_answers_wherever_it_is_reached(tmp_path: Path) -> None:
    copy = shutil.copytree(find_model("shapes:small"), tmp_path / "a-copy")
    specs = [
        "hf/shapes:small",
        f"hf/{copy}",
        f"vllm/{copy}",
        "hf/shapes:small?dtype=bfloat16&attention=eager&batch=7",
    ]
    assert len({key_of(spec) for spec in specs}) == 1
    servers = [
        "openai/llava@http://127.0.0.1:1/v1",
        "openai/llava@http://127.0.0.1:2/v1?concurrency=2",
        "openai/llava",
    ]
    servers += ["vllm/llava", "vllm/llava@main?tensor_parallel_size=2"]
    assert len({key_of(server) for server in servers}) == 1


@needs_torch
def test_two_models_never_share_a_seed(tmp_path: Path) -> None:
    copy = shutil.copytree(find_model("shapes:small"), tmp_path / "changed")
    weights = bytearray((copy / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (copy / "model.safetensors").write_bytes(bytes(weights))
    names = [f"hf/shapes:{folder.name}" for folder in sorted(SHAPES.iterdir())]
    names += [
        f"hf/{copy}",
        "openai/llava",
        "openai/qwen",
        "vllm/llava@v2",
        "vllm/llava?quantization=fp8",
    ]
    assert len({key_of(name) for name in names}) == len(names)


def test_another_sampling_is_another_respondent_and_the_base_seed_stands_beside_it() -> None:
    identity = {"kind": "openai", "model": "llava", "base_url": None, "temperature": 1.0, "seed": 0}
    assert who_answers("openai/llava", {**identity, "temperature": 0.5}) != who_answers(
        "openai/llava", identity
    )
    assert who_answers("openai/llava", {**identity, "seed": 1}) == who_answers(
        "openai/llava", identity
    )


def test_what_names_no_model_is_told_by_its_name() -> None:
    assert who_answers("echo/a", {"kind": "echo"}) != who_answers("echo/b", {"kind": "echo"})
    assert who_answers("echo/a", {"kind": "echo", "mode": "x"}) != who_answers(
        "echo/a", {"kind": "echo", "mode": "y"}
    )


def seeds_sent(server: JudgeServer, benchmark: hqm.Benchmark, *, model: str) -> list[int]:
    with hqm.Store(":memory:") as store:
        respondent = make_respondent(server.name(model))
        assignment = hqm.assign(respondent, benchmark, {"temperature": 1.0})
        sent = len(server.bodies)
        hqm.administer(
            store,
            [plan_job(hqm.Asks(store), assignment, hqm.Administration(benchmark.original, 0))],
        )
    return sorted(body["seed"] for body in server.bodies[sent:])


def test_two_servers_are_sent_the_same_seeds_for_one_model_and_others_for_another(
    two_questions: Path,
) -> None:
    benchmark = hqm.load(str(two_questions))
    first, second = (
        JudgeServer(lambda _prompt, _body: "Yes."),
        JudgeServer(lambda _prompt, _body: "No."),
    )
    try:
        first_seeds, second_seeds, qwen_seeds = (
            seeds_sent(server, benchmark, model=model)
            for server, model in ((first, "llava"), (second, "llava"), (second, "qwen"))
        )
    finally:
        first.stop()
        second.stop()
    assert len(first_seeds) == 2
    assert first_seeds == second_seeds
    assert not set(second_seeds) & set(qwen_seeds)


@pytest.fixture
def two_questions(tmp_path: Path) -> Path:
    prompts = ("Is there a dog?", "Is there a cat?")
    rows = [{"id": f"q{i}", "prompt": prompt, "target": "yes"} for i, prompt in enumerate(prompts)]
    return write_benchmark(tmp_path / "mine", rows)


class Drawing:
    """Answers yes with a probability of its own for each item, drawn from the request's seed as a
    model draws.
    """

    live = False

    def __init__(self, name: str, yes: Mapping[str, float]) -> None:
        self.name, self.yes = name, yes
        self.asked: list[Request] = []

    def identity(self) -> Mapping[str, Any]:
        return {"kind": "drawing", "model": self.name}

    def answer(self, requests: Sequence[Request]) -> Iterator[list[tuple[Request, Response]]]:
        self.asked += requests
        uniforms = (
            np.random.Generator(np.random.Philox(key=request.seed)).random() for request in requests
        )
        yield [
            (request, Response("Yes." if u < self.yes.get(request.item, 0.5) else "No."))
            for request, u in zip(requests, uniforms, strict=True)
        ]

    def close(self) -> None:
        """Nothing is held."""


def noise_correlations(runs: Floats) -> Floats:
    """The correlation of what changed between two runs, for every pair of respondents; runs x
    respondents x items.
    """
    changed = runs[1] - runs[0]
    return np.corrcoef(changed)[np.triu_indices(len(changed), 1)]


def test_what_changes_between_runs_is_each_respondents_own() -> None:
    """Eight simulated respondents of one ability, the whole way through plan, store and scoring."""
    benchmark = hqm.load("shapes_yesno")
    rng = np.random.default_rng(5)
    hard = {item.id: float(rng.uniform(0.2, 0.8)) for item in benchmark.original.items}
    with hqm.Store(":memory:") as store:
        asks = hqm.Asks(store)
        assignments = [hqm.assign(Drawing(f"model-{i}", hard), benchmark) for i in range(8)]
        for run in (0, 1):
            hqm.administer(
                store,
                [
                    plan_job(asks, a, hqm.Administration(benchmark.original, run))
                    for a in assignments
                ],
            )
        evidence = hqm.gather(benchmark, store, hqm.respondents_of(store, assignments))
    runs = np.array(
        [[[v == 1.0 for v in row] for row in m.values] for m in evidence.matrices.values()],
        dtype=float,
    )
    assert runs.shape == (2, 8, 1008)
    correlations = noise_correlations(runs)  # the standard error of each is .03, of their mean .006
    assert abs(correlations.mean()) < 0.02
    assert np.abs(correlations).max() < 0.12
    seeds = [{request.seed for request in a.respondent.asked} for a in assignments]  # type: ignore[attr-defined]
    assert len(set.union(*seeds)) == sum(map(len, seeds))


def drawn(right: Floats, base: int, *, shared: bool = False) -> Floats:
    """Right and wrong answers of two runs, drawn from the requests' seeds; `shared` gives all
    respondents one stream.
    """
    respondents, items = right.shape
    names = ["b2:all" if shared else f"b2:{m}" for m in range(respondents)]
    seeds = [
        request_seed(base, names[m], run, f"b2:{i}")
        for run in (0, 1)
        for m in range(respondents)
        for i in range(items)
    ]
    return (np.array(seeds).reshape(2, respondents, items) / 2**63 < right).astype(float)


def rasch(rng: np.random.Generator, respondents: int, items: int) -> Floats:
    """Chances to be right of random respondents on random items."""
    return np.asarray(
        1 / (1 + np.exp(rng.normal(0, 1.5, items) - rng.normal(0.5, 1, respondents)[:, None]))
    )


@pytest.mark.slow
def test_a_mere_rerun_raises_no_more_than_the_nominal_alarms() -> None:
    """MEAN_SHIFT and DRIFT at .05 fire on 3 to 7 % of pure reruns; with one stream for all,
    MEAN_SHIFT on half.
    """
    rng = np.random.default_rng(11)
    alarms = np.zeros((600 if NIGHTLY else 150, 2))
    for base in range(len(alarms)):
        runs = drawn(rasch(rng, 10, 100), base)
        alarms[base] = bias_test(runs.mean(axis=2).T).p < 0.05, rho_g(runs).drift.p < 0.05
    slack = 2.25 * np.sqrt(0.05 * 0.95 / len(alarms))  # 2 % of 600
    assert (abs(alarms.mean(axis=0) - 0.05) < slack).all(), alarms.mean(axis=0)
    shared = [
        bias_test(drawn(rasch(rng, 10, 100), b, shared=True).mean(axis=2).T).p < 0.05
        for b in range(60)
    ]
    assert np.mean(shared) > 0.3


@pytest.mark.slow
def test_discrimination_and_alpha_are_those_of_independent_draws() -> None:
    """Item-rest correlation and 1 - alpha agree with numpy's draws; from one stream for all they
    would not.
    """
    rng = np.random.default_rng(12)
    rows = []
    for base in range(60):
        right = rasch(rng, 12, 120)
        score_tables = (
            drawn(right, base)[0],
            (rng.random(right.shape) < right).astype(float),
            drawn(right, base, shared=True)[0],
        )
        for scores in score_tables:
            item_rest = item_analysis(scores).item_rest
            rows.append((np.nanmedian(item_rest), 1 - cronbach_alpha(scores).coefficient.value))
    ours, independent, shared = np.array(rows).reshape(60, 3, 2).transpose(1, 0, 2)
    error = (ours - independent).std(axis=0, ddof=1) / np.sqrt(60)
    assert (np.abs((ours - independent).mean(axis=0)) < 3 * error).all()
    assert (np.abs((shared - independent).mean(axis=0)) > 5 * error).all()
