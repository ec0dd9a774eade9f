"""The ways of asking that tests/perf compares: HQM's, and what a harness does with plain
`generate`.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

import hqm
from hqm.respondents.base import RespondentName
from hqm.respondents.hf import TransformersRespondent
from hqm.respondents.hf_loading import Loaded
from hqm.text import storable

OBJECT_NAMES = (
    "dog cat car bus person chair table cup bottle book clock phone bird horse sheep cow bear kite"
    " boat train".split()
)
YES_NO_TOKENS = 2
CAMERA = ((640, 480),)
"""The width and height of a camera's picture."""
PARTS_OF_THREE = ((0, False), (1, False), (0, True))
"""The original, the original again, the parallel form: for each the run, and whether the form is
the parallel one.
"""


class Answer(NamedTuple):
    """An answer's text and its number of tokens, the end token included."""

    text: str
    tokens: int


def benchmark_folder(
    folder: Path,
    images: int,
    per_image: int,
    *,
    sizes: Sequence[tuple[int, int]] = CAMERA,
    caption_tokens: int = 0,
    questions: Sequence[Sequence[str]] = (),
) -> Path:
    """A benchmark of drawn pictures: yes/no questions, or one caption of so many tokens at most a
    picture.

    Parameters
    ----------
    sizes
        Widths and heights that the pictures take in turn.
    questions
        For each picture the questions to ask in place of made ones.
    """
    from PIL import Image, ImageDraw

    rng = np.random.default_rng(0)
    (folder / "images").mkdir(parents=True)
    rows = []
    for i in range(images):
        width, height = sizes[i % len(sizes)]
        picture = Image.fromarray(rng.integers(0, 255, (12, 16, 3), dtype=np.uint8)).resize(
            (width, height)
        )
        left, top = rng.integers(0, 300, 2) * (width, height) // (640, 480)
        right, bottom = rng.integers(310, 470, 2) * (width, height) // (640, 480)
        ImageDraw.Draw(picture).ellipse([left, top, right, bottom], fill="red")
        picture.save(folder / "images" / f"{i:04}.jpg", quality=90)
        if caption_tokens:
            rows.append(
                {
                    "id": str(i),
                    "prompt": "Describe this image.",
                    "image": f"{i:04}.jpg",
                    "objects": ["dog"],
                }
            )
            continue
        default_questions = [
            f"Is there a {noun} in the image?" for noun in rng.permutation(OBJECT_NAMES)[:per_image]
        ]
        for j, prompt in enumerate(questions[i] if questions else default_questions):
            rows.append(
                {
                    "id": f"{i}-{j}",
                    "prompt": prompt,
                    "target": "yes" if j % 2 else "no",
                    "image": f"{i:04}.jpg",
                }
            )
    task = "caption" if caption_tokens else "yes_no"
    (folder / "card.toml").write_text(
        f'name = "perf"\ntitle = "Perf"\nversion = "1"\ntask = "{task}"\n[data]\nitems ='
        ' "items.jsonl"\nimages = "images"\n[generation]\nmax_tokens ='
        f" {caption_tokens or YES_NO_TOKENS}\n"
    )
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


class Clock:
    """The seconds spent within the model, counted at its outermost call."""

    def __init__(self, model: Any) -> None:
        self.spent: dict[str, float] = {}
        self.depth, self.device = 0, model.device
        self.calls = 0
        plain = model.forward

        @functools.wraps(plain)  # generate looks at the parameters
        def forward(*args: Any, **settings: Any) -> Any:
            kind = (
                "pictures"
                if settings.get("pixel_values") is not None
                else ("questions" if settings["input_ids"].shape[1] > 1 else "answers")
            )
            began = self.read()
            output = plain(*args, **settings)
            self.spent[kind] = self.spent.get(kind, 0.0) + self.read() - began
            self.calls += 1
            return output

        model.forward = forward

    def read(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()


def prompt_of(loaded: Loaded) -> Callable[[str], str]:
    """How a harness writes a question for this model: its chat template, or the family's documented
    form.
    """
    if loaded.form:
        return loaded.family.fill_form
    mark = "QUESTION"
    content = [{"type": "image"}, {"type": "text", "text": mark}]
    turn = [{"role": "user", "content": content}]
    text = str(
        loaded.processor.apply_chat_template(turn, add_generation_prompt=True, tokenize=False)
    )
    return lambda question: text.replace(mark, question)


def plain(
    loaded: Loaded, requests: Sequence[Any], size: int, *, greedy: bool = False
) -> list[Answer]:
    """What a harness does: batches in the given order, every question with its own picture, at the
    benchmark's sampling.
    """
    from PIL import Image

    text, tokenizer = prompt_of(loaded), loaded.tokenizer
    answers = []
    for start in range(0, len(requests), size):
        batch = requests[start : start + size]
        sampling = batch[0].sampling
        pictures = [[Image.open(r.image).convert("RGB")] for r in batch]
        inputs = loaded.processor(
            images=pictures, text=[text(r.prompt) for r in batch], return_tensors="pt", padding=True
        ).to(loaded.model.device, dtype=loaded.model.dtype)
        inputs.pop("labels", None)
        drawing = {
            "do_sample": True,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": 0,
        }
        with torch.inference_mode():
            tokens = loaded.model.generate(
                **inputs,
                max_new_tokens=sampling.max_tokens,
                **({"do_sample": False} if greedy else drawing),
            )
        new = tokens[:, inputs["input_ids"].shape[1] :]
        texts = tokenizer.batch_decode(new, skip_special_tokens=True)
        ended = new == loaded.model.generation_config.eos_token_id
        lengths = torch.where(
            ended.any(dim=1), ended.int().argmax(dim=1) + 1, new.shape[1]
        ).tolist()
        # a model of random weights may say NUL, which no store can hold
        answers += [
            Answer(storable(text.strip()), length)
            for text, length in zip(texts, lengths, strict=True)
        ]
    return answers


def respondent_of(model_folder: Path, loaded: Loaded, batch: int = 0) -> TransformersRespondent:
    """HQM's respondent round a model that is loaded already, as it is for the rivals; batch 0 is as
    HQM finds it.
    """
    name = RespondentName.parse(f"hf/{model_folder}")
    respondent = TransformersRespondent(name, device=str(loaded.model.device), batch=batch)
    respondent.__dict__["_loaded"] = loaded
    return respondent


def jobs_of(
    store: hqm.Store,
    folder: Path,
    respondent: TransformersRespondent,
    parts: Sequence[tuple[int, bool]] = PARTS_OF_THREE,
) -> list[Any]:
    """What HQM plans of a benchmark: a job for every part."""
    benchmark = hqm.load(str(folder))
    asks, assignment = hqm.Asks(store), hqm.assign(respondent, benchmark)
    forms = {False: benchmark.original, True: benchmark.parallel(benchmark.original)}
    return [
        hqm.plan_job(asks, assignment, hqm.Administration(forms[parallel], run))
        for run, parallel in parts
    ]


def requests_of(jobs: Sequence[Any]) -> list[Any]:
    """Everything that jobs ask, part by part in the benchmark's order, as a harness would ask
    it.
    """
    return [request for job in jobs for _, request in job.todo.values()]


def administered(
    folder: Path,
    model_folder: Path,
    loaded: Loaded,
    batch: int,
    parts: Sequence[tuple[int, bool]] = PARTS_OF_THREE,
) -> dict[str, Any]:
    """HQM's way, into a store on disk: the seconds of planning, asking and storing, what was asked,
    and what was stored.
    """
    for leftover in folder.glob("store.sqlite*"):
        leftover.unlink()
    began, worked = time.perf_counter(), time.process_time()
    with hqm.Store(folder / "store.sqlite") as store:
        jobs = jobs_of(store, folder, respondent_of(model_folder, loaded, batch), parts)
        requests = requests_of(jobs)
        planned = time.perf_counter() - began
        outcome = hqm.administer(store, jobs)
        seconds, worked = time.perf_counter() - began, time.process_time() - worked
        stored = [
            detail["tokens_out"]
            for number, _, _ in store.respondents()
            for run in store.runs(number)
            for detail in store.details(number, run).values()
        ]
    if outcome.errors or outcome.failed:
        raise RuntimeError(f"{outcome.errors} answers are errors: {outcome.failed}")
    return {
        "asked": outcome.asked,
        "seconds": seconds,
        "planned": planned,
        "worked": worked,
        "requests": requests,
        "tokens": float(np.mean(stored)),
    }


def answers_of(respondent: TransformersRespondent, requests: Sequence[Any]) -> list[str]:
    """HQM's greedy answers to these requests, in their order."""
    greedy_requests = [replace(r, sampling=replace(r.sampling, temperature=0.0)) for r in requests]
    replies: Mapping[int, str] = {
        id(request): response.text
        for batch in respondent.answer(greedy_requests)
        for request, response in batch
    }
    return [replies[id(request)] for request in greedy_requests]
