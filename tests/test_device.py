"""What a GPU would meet, checked without one: 7B shapes and the engine's steps on `meta`, a
compiled step, who sees which GPU.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hqm import Request, RespondentError, Response, Sampling
from hqm.administration.engines import local
from hqm.respondents import hf_loading, make_respondent
from tests.conftest import NO_TORCH
from tests.messages import pattern_of, text_of

pytest.importorskip("transformers", reason=NO_TORCH)
from torch.fx.experimental.proxy_tensor import make_fx
from transformers import DynamicCache

from hqm.respondents.hf_inputs import device_options
from hqm.respondents.hf_loading import load
from hqm.respondents.plain_decoding import is_out_of_memory
from hqm.respondents.step_graph import StepGraphs
from tests.perf import large_models, respondents
from tests.perf.ways import respondent_of
from tests.synchronising import Watch
from tests.tiny_models import build

pytestmark = pytest.mark.usefixtures("threads")

SEVEN = list(large_models.SHAPES["7b"])
QUESTIONS = ("Is there a dog in the image?", "What color is the circle?", "How many?")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three pictures of three shapes."""
    import numpy as np
    from PIL import Image

    folder, rng = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0)
    for number, size in enumerate(((48, 32), (64, 64), (640, 480))):
        image = Image.fromarray(rng.integers(0, 255, (12, 16, 3), dtype=np.uint8))
        image.resize(size).save(folder / f"{number}.png")
    return sorted(folder.iterdir())


def make_requests(pictures: Sequence[Path], temperature: float, tokens: int) -> list[Request]:
    sampling = Sampling(temperature, 1.0, tokens, 0)
    return [
        Request(question, picture, sampling, n)
        for picture in pictures
        for n, question in enumerate(QUESTIONS)
    ]


# --- 7B shapes ---


@pytest.mark.parametrize("name", SEVEN)
def test_the_large_shapes_have_the_published_number_of_weights(name: str, tmp_path: Path) -> None:
    """7,063,427,072 and 8,291,375,616: the published numbers of the two models, from public code
    that counts them.
    """
    loaded = large_models.build_model("7b", name, tmp_path / "model", "meta", "bfloat16")
    assert {p.device.type for p in loaded.model.parameters()} == {"meta"}, "it takes no memory"
    published = {"llava": 7_063_427_072, "qwen2_vl": 8_291_375_616}
    assert (
        large_models.weights_of(loaded)
        == published[name]
        == large_models.SHAPES["7b"][name].weights
    )
    # keys and values of 32 layers with 32 heads, of 28 layers with 4: each 128 wide, two bytes a
    # number
    assert (
        large_models.place_bytes(loaded)
        == {"llava": 2 * 32 * 32 * 128 * 2, "qwen2_vl": 2 * 28 * 4 * 128 * 2}[name]
    )


def test_the_counted_operations_are_those_of_the_arithmetic(tmp_path: Path) -> None:
    """A question of 20 tokens for 2 rows behind 600 places, in LLaVA-1.5-7B: a multiplication and
    an addition for each weight of the linear layers and token, and for each pair of a token and a
    place, in scores and in values.
    """
    import torch

    from tests.perf.peak import Meter

    loaded = large_models.build_model("7b", "llava", tmp_path / "model", "meta", "bfloat16")
    rows, new, before, width, layers = 2, 20, 600, 4096, 32
    cache = DynamicCache()
    for layer in range(layers):
        cache.update(
            *(
                torch.empty(rows, 32, before, 128, dtype=torch.bfloat16, device="meta")
                for _ in range(2)
            ),
            layer,
        )
    meter = Meter(loaded.model, counts=True)
    settings = {
        "input_ids": torch.empty(rows, new, dtype=torch.long, device="meta"),
        "attention_mask": torch.empty(
            rows, 1, new, before + new, dtype=torch.bfloat16, device="meta"
        ),
        "position_ids": torch.empty(rows, new, dtype=torch.long, device="meta"),
    }
    with torch.inference_mode(), meter.watching():
        loaded.model(**settings, past_key_values=cache, use_cache=True, logits_to_keep=1)
    a_layer = 4 * width * width + 3 * width * 11008
    linear = 2 * rows * (new * layers * a_layer + width * 32064)
    attention = 2 * 2 * rows * layers * width * new * (before + new)
    assert meter.spent["questions"].operations == linear + attention
    # a decoding step reads the decoder's and the head's weights, and every place of the cache
    step = {key: value[:, :1] for key, value in settings.items() if key != "attention_mask"}
    mask = torch.empty(rows, 1, 1, before + new + 1, dtype=torch.bfloat16, device="meta")
    with torch.inference_mode(), meter.watching():
        loaded.model(
            **step, attention_mask=mask, past_key_values=cache, use_cache=True, logits_to_keep=1
        )
    decoder = (
        layers * (a_layer + 2 * width) + width + 32064 * width + 32064
    )  # norms, the head and its bias
    cache_bytes = rows * (before + new + 1) * large_models.place_bytes(loaded)
    assert meter.spent["answers"].bytes == 2 * decoder + cache_bytes


def test_the_comparison_of_large_shapes_runs_on_a_cpu(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command for a GPU with a tiny model: the same way through the code, shares of this CPU's
    peaks.
    """
    words = (
        "--shape 7b-tiny --device cpu --models llava --images 1 --per-image 2 --captions 8"
        " --batches 2 --part 2"
    )
    words += " --compared 2 --rounds 1 --threads 1 --peak-seconds 0.05"
    respondents.main(
        [
            *words.split(),
            "--json",
            str(tmp_path / "cells.json"),
            "--markdown",
            str(tmp_path / "cells.md"),
        ]
    )
    measured = json.loads((tmp_path / "cells.json").read_text())
    yes_no, caption = measured["cells"]
    assert (yes_no["requests"], caption["requests"]) == (6, 3)
    assert (yes_no["equal"], caption["equal"]) == (1.0, 1.0)
    for cell in (yes_no, caption):
        for engine in ("hqm", "plain"):
            reading = [cell[engine]["spent"][kind] for kind in ("pictures", "questions")]
            share = (
                sum(r["operations"] for r in reading)
                / sum(r["seconds"] for r in reading)
                / measured["peaks"]["operations"]
            )
            assert cell[engine]["reading_in_model"] == pytest.approx(share)
            # of another run, so that neither share need be the larger
            answers = {"hqm": cell["requests"], "plain": 2}[engine]
            operations = sum(r["operations"] for r in reading) / measured["peaks"]["operations"]
            share_of_total = operations * cell[engine]["rate"] / answers
            assert cell[engine]["reading_of_whole"] == pytest.approx(share_of_total)
    assert min(caption[engine]["spent"]["answers"]["bytes"] for engine in ("hqm", "plain")) > 0
    assert min(caption[engine]["decoding_in_model"] for engine in ("hqm", "plain")) > 0
    assert caption["plain"]["spent"]["questions"]["calls"] == 0, (
        "plain generate reads a question with its picture"
    )
    assert caption["plain"]["spent"]["pictures"]["calls"] == 2, "the tower, then the decoder"
    assert caption["hqm"]["spent"]["questions"]["calls"] > 0
    text = (tmp_path / "cells.md").read_text()
    assert "50% of operations of reading" in text
    assert "50% of bytes of decoding" in text
    assert text in capsys.readouterr().out


# --- waiting for the device ---


@pytest.mark.parametrize("name", SEVEN)
def test_a_step_waits_for_the_device_once(
    name: str, tmp_path: Path, pictures: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shapes of 7B models on `meta` (with two of the decoder's layers): what waits for the
    device, and in whose code.
    """
    from hqm.respondents.packed_batch import DecodingBatch

    loaded = large_models.build_model(
        "7b", name, tmp_path / "model", "meta", "bfloat16", num_hidden_layers=2
    )
    respondent: Any = respondent_of(tmp_path / "model", loaded, batch=6)
    respondent._engine.policy.checked.add("prefix")  # plain generate needs real numbers
    watch, steps = Watch(), list[tuple[dict[str, int], int]]()
    plain = DecodingBatch.step

    def step(self: DecodingBatch, choose: Any) -> dict[int, int]:
        before, sent = watch.waits.copy(), watch.sent
        chosen_tokens = plain(self, choose)
        steps.append((dict(watch.waits - before), watch.sent - sent))
        return chosen_tokens

    monkeypatch.setattr(DecodingBatch, "step", step)
    # answers of two lengths: some rows go on while others are finished
    requests = [*make_requests(pictures[1:2], 1.0, 5), *make_requests(pictures[2:], 1.0, 3)]
    with watch:
        answers = [answer for batch in respondent.answer(requests) for _, answer in batch]
    assert [answer.state for answer in answers] == ["truncated"] * 6
    assert len(steps) == 4 + 2
    assert {tuple(waits.items()) for waits, _ in steps} == {
        (("tolist in token_sampling.py:read_tokens", 1),)
    }, "the drawn tokens"
    assert {sent for _, sent in steps} == {1}, "the numbers by which tokens are drawn"
    ours = {
        wait for wait in watch.waits if wait.rpartition(" ")[2].partition(":")[0] in _our_modules()
    }
    assert ours == {
        "tolist in token_sampling.py:read_tokens",
    }, "no other place of HQM waits"


def _our_modules() -> set[str]:
    return {path.name for path in Path(hf_loading.__file__).parent.glob("*.py")}


def test_whatever_waits_is_seen() -> None:
    """Each way of reading a number back, of needing one for a shape, and of sending ordinary
    memory.
    """
    import torch

    with Watch() as watch:
        mask = torch.tensor([1, 0, 1]).to("meta") > 0
        weights = torch.zeros(3, 2, device="meta")
        assert weights[mask].shape == (2, 2), "what follows from what was sent is known"
        assert mask.nonzero().flatten().tolist() == [0, 2]
        assert int(mask.sum()) == 2
        assert float(weights.sum()) == 0.0, "what follows from weights is not"
        assert not bool(weights.any())
        weights.cpu()
        torch.tensor([1.0], device="meta")
    wait_kinds = {wait.partition(" in ")[0] for wait in watch.waits}
    assert wait_kinds == {
        "a mask as an index",
        "nonzero",
        "tolist",
        "__int__",
        "__float__",
        "__bool__",
        "cpu",
        "torch.tensor(..., device=...)",
    }
    assert watch.sent == 1


# --- recorded steps ---


class Traced(StepGraphs):
    """Recordings as graphs of torch.fx, which fix what a CUDA graph fixes: all that Python computed,
    and the memory.
    """

    recordings: int = 0
    turned: float = 0.0
    """What is added to the scores of one token."""

    def record(self, step: Callable[[], Any]) -> Callable[[], Any]:
        self.recordings += 1
        graph = make_fx(step)()

        def replay() -> Any:
            scores = graph()
            scores[..., 5] += self.turned
            return scores

        return replay


@pytest.mark.parametrize(
    ("name", "turned"), [("llava", 0.0), ("qwen2_vl", 0.0), ("idefics3", 0.0), ("llava", 99.0)]
)
def test_recorded_steps_draw_what_plain_steps_draw(
    name: str, turned: float, tmp_path: Path, pictures: list[Path]
) -> None:
    """With memory that is freed as it is copied, as on a GPU; a recording that says something else
    is found and not used.
    """
    folder = build(name, tmp_path / "model")
    loaded = load(
        str(folder), revision="", device="cpu", dtype="float32", attention="auto", name=name
    )
    requests = make_requests(pictures, 1.0, 40)
    answers = []
    for graphs in (StepGraphs(), Traced(usable=True)):
        respondent: Any = respondent_of(folder, loaded)
        pool = respondent._engine._pool
        pool.graphs, pool.reuses = graphs, not graphs.usable
        graphs.turned = turned
        answers.append(
            {
                (request.image, request.prompt): (answer.text, answer.state)
                for batch in respondent.answer(requests)
                for request, answer in batch
            }
        )
        assert respondent.how == "shared image prefix"
        assert respondent._engine.policy.packs
    assert answers[0] == answers[1]
    assert (graphs.to_check, graphs.usable) == (1, False) if turned else (0, True)
    assert graphs.recordings == 1 if turned else graphs.recordings > 1


# --- pictures ---


@pytest.mark.skipif(not find_spec("torchvision"), reason="needs torchvision")
@pytest.mark.parametrize("name", ["llava", "qwen2_vl", "idefics3", "paligemma"])
def test_torchvisions_pictures_are_a_step_of_a_byte_away(
    name: str, tmp_path: Path, pictures: list[Path]
) -> None:
    """Scaled by torchvision, a pixel differs by one of 255 steps at most; greedy answers are equal,
    but where that decides.
    """
    from PIL import Image
    from transformers import AutoImageProcessor

    folder, by_backend = build(name, tmp_path / "model"), {}
    for backend in ("pil", "torchvision"):
        loaded = load(
            str(folder), revision="", device="cpu", dtype="float32", attention="auto", name=name
        )
        loaded.processor.image_processor = AutoImageProcessor.from_pretrained(
            str(folder), backend=backend
        )
        answers = [
            (r.prompt, r.image, a.text)
            for b in respondent_of(folder, loaded).answer(make_requests(pictures, 0.0, 6))
            for r, a in b
        ]
        pixels = loaded.processor.image_processor(Image.open(pictures[2]), return_tensors="pt")[
            "pixel_values"
        ]
        by_backend[backend] = set(answers), pixels
    step = (
        1 / 255 / 0.2613
    )  # the least deviation by which CLIP's, SigLIP's and ImageNet's processors divide
    assert float((by_backend["pil"][1] - by_backend["torchvision"][1]).abs().max()) <= 1.001 * step
    assert len(by_backend["pil"][0] & by_backend["torchvision"][0]) >= 8


@pytest.mark.parametrize("name", ["llava", "qwen2_vl", "llava_next"])
def test_pictures_are_made_on_the_gpu_where_that_can_be(name: str, tmp_path: Path) -> None:
    import torch

    loaded = load(
        str(build(name, tmp_path / "model")),
        revision="",
        device="cpu",
        dtype="float32",
        attention="auto",
        name=name,
    )
    assert device_options(loaded, torch.device("cpu")) == {}
    fast = (
        find_spec("torchvision") is not None and name != "llava"
    )  # LLaVA's processor reads the pixels back
    assert device_options(loaded, torch.device("cuda", 1)) == ({"device": "cuda:1"} if fast else {})


# --- one process a GPU ---


class Seer:
    """A respondent that answers with the GPUs that its process sees, as torch reads them there."""

    live, movable, device_wanted, device = True, True, "auto", "cuda"
    name = "seer"

    def answer(self, requests: Sequence[Request]) -> Iterator[list[tuple[Request, Response]]]:
        import torch

        for request in requests:
            environment = {"process": os.getpid(), "listed": os.environ.get("CUDA_VISIBLE_DEVICES")}
            yield [
                (
                    request,
                    Response(
                        json.dumps({**environment, "seen": torch.cuda._parse_visible_devices()}),
                        "ok",
                        "",
                        {},
                    ),
                )
            ]

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize("listed", ["4,6", "GPU-8f6c,GPU-02ab", None])
def test_every_worker_sees_a_gpu_of_its_own(
    listed: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list comes from the variable alone; four workers are wanted for two GPUs, and two
    start.
    """
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if listed:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", listed)
    gpus = hf_loading.gpu_names(2, os.environ.get("CUDA_VISIBLE_DEVICES"))
    assert gpus == tuple((listed or "0,1").split(","))
    seer: Any = Seer()
    assert local.worker_count(4, [seer], gpus) == local.worker_count(0, [seer], gpus) == 2
    assert local.worker_count(1, [seer], gpus) == 1
    requests = [Request("?", Path(f"{n}.png"), Sampling(), n) for n in range(8)]
    work = [(seer, requests)]
    shards = [(0, shard) for shard in local.shards_of(requests, 1)]
    reports = [
        json.loads(answer.text)
        for _, batch in local._answer_on_workers(work, shards, 2, local.never_stop, gpus)
        if not isinstance(batch, Exception)
        for _, answer in batch
    ]
    assert len(reports) == 8
    gpus_by_process = {answer["process"]: (answer["listed"], answer["seen"]) for answer in reports}
    assert len(gpus_by_process) == 2
    assert {name for name, _ in gpus_by_process.values()} == set(gpus), "none is shared"
    assert all(
        len(visible) == 1 and str(visible[0]) == name for name, visible in gpus_by_process.values()
    )
    assert os.environ.get("CUDA_VISIBLE_DEVICES") == listed, "this process's own list stays"


@pytest.mark.skipif("__import__('torch').cuda.is_available()", reason="there is a GPU")
def test_without_a_gpu_the_cpu_is_taken_and_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from hqm.respondents import hf_loading

    hf_loading._say_no_gpu.cache_clear()
    with caplog.at_level(logging.WARNING, logger="hqm"):
        for listed in ("", "-1"):
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", listed)
            assert hf_loading.suited_device() == "cpu"
        assert not caplog.records, "nobody expects one"
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
        assert (hf_loading.suited_device(), hf_loading.suited_device()) == ("cpu", "cpu")
    assert [record.getMessage() for record in caplog.records] == [
        text_of("device.cpu-taken", variable="CUDA_VISIBLE_DEVICES", value="0,1")
    ]
    assert hf_loading.visible_gpus() == ()
    seer: Any = Seer()
    assert local.local_gpus([seer]) == ()


@pytest.mark.skipif("__import__('torch').cuda.is_available()", reason="there is a GPU")
def test_a_gpu_that_is_asked_for_and_not_there_is_one_sentence(tmp_path: Path) -> None:
    respondent: Any = make_respondent(
        f"hf/{build('llava', tmp_path / 'model')}", device="cuda:1", dtype="bfloat16"
    )
    with pytest.raises(
        RespondentError, match=pattern_of("device.not-reached", device="cuda:1")
    ) as caught:
        next(respondent.answer([Request("?", None, Sampling(), 0)]))
    assert "device=cpu" in str(caught.value)


# --- what is different on a GPU, as far as it runs without one ---


def test_memory_that_runs_out_is_told_from_other_errors() -> None:
    """Torch's own errors: an allocation of an exabyte, and shapes that do not fit."""
    import torch

    with pytest.raises(RuntimeError) as large:
        torch.empty(1 << 60, dtype=torch.uint8)
    assert is_out_of_memory(large.value)
    with pytest.raises(RuntimeError) as mismatched:
        torch.zeros(2, 3) @ torch.zeros(2, 3)
    assert not is_out_of_memory(mismatched.value)
    assert is_out_of_memory(
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
    )


def test_memory_is_given_back_between_batches(tmp_path: Path, pictures: list[Path]) -> None:
    """On `meta` as on a GPU: nothing of the pictures is kept, and answers go on."""
    loaded = large_models.build_model("7b-tiny", "llava", tmp_path / "model", "meta", "bfloat16")
    respondent: Any = respondent_of(tmp_path / "model", loaded, batch=2)
    respondent._engine.policy.checked.add("prefix")
    with Watch():
        for _ in range(2):
            assert (
                sum(len(batch) for batch in respondent.answer(make_requests(pictures[:1], 1.0, 3)))
                == 3
            )
            assert respondent._engine.reader._encoded
            respondent._engine.release()
            assert not respondent._engine.reader._encoded
            assert not respondent._engine.reader._ahead


@pytest.mark.skipif("__import__('torch').cuda.is_available()", reason="there is a GPU")
def test_what_is_asked_of_torch_has_an_answer_without_a_gpu() -> None:
    """A driver without a GPU that says `--device cuda` for others gets a number format that every
    GPU has.
    """
    import torch

    assert hf_loading.suited_dtype("cuda") == hf_loading.suited_dtype("cuda:3") == "float16"
    assert (torch.cuda.device_count(), hf_loading.visible_gpus()) == (0, ())
    torch.cuda.empty_cache()  # `Engine.release` calls it after a model on a GPU


def test_a_worker_with_a_shard_that_is_silent_is_named_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    notices: list[bool] = []
    monkeypatch.setattr(local, "tell", lambda _, waits: notices.append(waits))
    process: Any = SimpleNamespace(pid=7)
    pipe: Any = None
    worker = local._Worker(process, pipe, last_message=-1e9)
    worker.report_silence()
    worker.shard, worker.waits = (0, []), ["a model"]  # type: ignore[assignment]
    worker.report_silence()
    assert notices == []
    worker.waits = []
    worker.report_silence()
    worker.report_silence()
    assert notices == [True]
    worker.note_message()
    worker.report_silence()
    assert notices == [True, False]
