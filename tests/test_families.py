"""Every family of models answers through one path, shares what it can of a picture, and says what
plain generate says.
"""

import functools
import gc
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from hqm import Request, RespondentError, Response, Sampling
from hqm.respondents import make_respondent
from hqm.respondents.hf_families import FAMILIES, family_of
from hqm.text import storable
from tests.conftest import NIGHTLY, needs_torch, nightly
from tests.messages import pattern_of, tells, text_of
from tests.shrunken_models import CLASSES, build_class
from tests.tiny_models import DECODERS, MODELS, build

pytestmark = needs_torch
SHARED = {
    "llava": "prefix",
    "llava_next": "prefix",
    "llava_onevision": "prefix",
    "qwen2_vl": "prefix",
    "qwen2_5_vl": "prefix",
    "qwen3_vl": "prefix",
    "internvl": "prefix",
    "idefics3": "prefix",
    "smolvlm": "prefix",
    "gemma3": "prefix",
    "pixtral": "prefix",
    "llava_without_template": "prefix",
    "paligemma": "features",
    "blip2": "features",
    "blip2_t5": "features",
    "instructblip": "features",
    "instructblip_t5": "features",
    "internvl_question_first": "features",
    "qwen3_5": "prefix",
    "mllama": "nothing",
    "vipllava": "prefix",
    "aya_vision": "prefix",
    "gemma4": "prefix",
    **{f"llava before {decoder}": "prefix" for decoder in DECODERS},
    "llava before jamba": "features",
    **dict.fromkeys(CLASSES, "prefix"),
    "idefics2": "features",
    "qianfan_ocr": "features",
    "t5gemma2": "features",
    "minicpmv4_6": "features",
    "minicpmv4_7": "features",
    "hunyuan_vl": "nothing",
}
"""What each of the tiny models has to share."""
QUESTIONS = (
    "Is there a dog in the image?",
    "What color is the circle?",
    "Is a red circle there? Answer with one word, yes or no, and nothing else.",
)
Key = tuple[str, str, int]

NEEDS = {"pixtral": "torchvision", "smolvlm": "num2words"}
MODEL_VARIANTS = (
    "llava_without_template",
    "blip2_t5",
    "instructblip_t5",
    "internvl_question_first",
)
ALWAYS = {
    *(n for n in MODELS if not n.startswith("llava before") and n not in MODEL_VARIANTS),
    *(f"llava before {n}" for n in "exaone4 qwen3_next lfm2 jamba".split()),
}
"""The models that are tried in every run: one of each class, and a decoder for each way of
remembering; the others by night.
"""


def cases(always: Collection[str]) -> list[Any]:
    """All models, of which these are tried in every run."""
    return [
        pytest.param(
            n,
            marks=[
                pytest.mark.skipif(
                    n in NEEDS and not find_spec(NEEDS[n]), reason=f"needs {NEEDS.get(n)}"
                ),
                *([] if n in always else [nightly]),
            ],
        )
        for n in MODELS
    ]


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Builds a tiny model when it is first asked for."""
    root = tmp_path_factory.mktemp("models")

    def folder(name: str) -> Path:
        if not (root / name).exists():
            (build_class if name in CLASSES else build)(name, root / name)
            gc.freeze()  # nothing that was imported to build it is garbage
        return root / name

    return folder


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three pictures of three shapes."""
    from PIL import Image, ImageDraw

    root, paths = tmp_path_factory.mktemp("pictures"), []
    for color, size in (("red", (48, 32)), ("blue", (64, 64)), ("green", (40, 60))):
        picture = Image.new("RGB", size, "white")
        ImageDraw.Draw(picture).ellipse((5, 5, 30, 30), fill=color)
        picture.save(root / f"{color}.png")
        paths.append(root / f"{color}.png")
    return paths


def loaded_once(folder: Path, *batches: int) -> list[Any]:
    """Respondents of one model that is loaded once: one for each limit of rows."""
    respondents: list[Any] = [make_respondent(f"hf/{folder}", batch=batch) for batch in batches]
    for respondent in respondents[1:]:
        respondent._loaded = respondents[0]._loaded
    return respondents


def select_compared(requests: list[Request]) -> list[Request]:
    """Requests to compare with one prompt at a time: every second one, and nightly all.

    Two runs of every question stand beside each other: each question, picture and run is there.
    """
    return requests if NIGHTLY else [r for r in requests if (r.seed // 10 + r.run) % 2 == 0]


def make_requests(
    pictures: list[Path],
    temperature: float,
    words: tuple[str, ...] = (),
    tokens: int = 6,
    questions: Sequence[str] = QUESTIONS,
) -> list[Request]:
    """Every question about every picture, in two runs."""
    sampling = Sampling(temperature, 1.0, tokens, 0)
    return [
        Request(
            question, picture, sampling, 1000 * p + 10 * q + run, run=run, item=str(q), words=words
        )
        for p, picture in enumerate(pictures)
        for q, question in enumerate(questions)
        for run in (0, 1)
    ]


def answers(respondent: Any, requests: list[Request]) -> dict[Key, Response]:
    by_key = {
        (r.prompt, str(r.image), r.run): a
        for batch in respondent.answer(requests)
        for r, a in batch
    }
    assert len(by_key) == len(requests)
    return by_key


def texts(by_key: dict[Key, Response]) -> dict[Key, tuple[str, str]]:
    return {key: (response.text, response.state) for key, response in by_key.items()}


@pytest.fixture(scope="module")
def greedy_answers() -> dict[str, dict[Key, tuple[str, str]]]:
    """The greedy answers of each model that was asked already, for tests that need them again."""
    return {}


@pytest.mark.parametrize("name", cases(ALWAYS))
def test_every_family_says_what_plain_generate_says(
    name: str,
    tiny_model: Callable[[str], Path],
    pictures: list[Path],
    greedy_answers: dict[str, dict[Key, tuple[str, str]]],
) -> None:
    """Greedy: transformers' own generate, written out here.

    Sampled: our draws within generate, one at a time.
    """

    respondent, unbatched = loaded_once(tiny_model(name), 0, 1)
    unbatched._engine.policy.share_less("asked for by a test", "nothing")
    pictures = pictures if NIGHTLY else pictures[::2]
    questions = QUESTIONS if NIGHTLY else QUESTIONS[1:]
    requests = make_requests(pictures, 1.0, questions=questions)
    sampled = answers(respondent, requests)
    assert {response.detail["shared"] for response in sampled.values()} == {SHARED[name]}, (
        respondent.how
    )
    unbatched_texts = texts(answers(unbatched, select_compared(requests)))
    assert len(unbatched_texts) >= len(sampled) // 2
    assert unbatched_texts == {key: texts(sampled)[key] for key in unbatched_texts}
    assert len({text for text, _ in texts(sampled).values()}) > 3, "the draws differ"

    greedy = texts(answers(respondent, make_requests(pictures, 0.0, questions=questions)))
    greedy_answers[name] = greedy if NIGHTLY else {}
    pairs = dict.fromkeys(key[:2] for key in greedy)
    plain = {pair: said_by_generate(respondent, *pair, 6) for pair in pairs}
    assert {key: text for key, (text, _) in greedy.items()} == {
        key: plain[key[:2]] for key in greedy
    }
    by_picture = {p: [t for (_, q, _), t in greedy.items() if q == str(p)] for p in pictures}
    assert len({str(row) for row in by_picture.values()}) > 1, "the pictures are seen"


def said_by_generate(respondent: Any, question: str, picture: str, tokens: int) -> str:
    """The greedy answer of transformers' own `generate` to one prompt."""
    import torch
    from PIL import Image

    loaded = respondent._loaded
    prompt = respondent._prompt(
        Request(question, None if picture == "None" else Path(picture), Sampling(), 0)
    )
    inputs = loaded.processor(
        images=None if picture == "None" else Image.open(picture).convert("RGB"),
        text=prompt,
        return_tensors="pt",
        add_special_tokens=not prompt.startswith("<s>"),
        **respondent._engine.reader._options,
    )
    inputs.pop("labels", None)
    with torch.inference_mode():
        token_ids = loaded.model.generate(**inputs, do_sample=False, max_new_tokens=tokens)[
            0
        ].tolist()
    read = inputs["input_ids"][0].tolist()
    token_ids = token_ids[len(read) :] if token_ids[: len(read)] == read else token_ids
    # a model of random weights may say NUL, which no store can hold
    return storable(loaded.tokenizer.decode(token_ids, skip_special_tokens=True).strip())


KINDS = {
    "yes/no": ("Is there a dog in the image? Answer yes or no.", 2),
    "choice": ("What color is the circle?\nA. red\nB. blue\nAnswer with the letter.", 2),
    "caption": ("Describe the image.", 20),
}
"""A question of each kind, and the number of tokens of its answer."""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[nightly] if n == "aria" else []) for n in CLASSES]
)
def test_every_class_answers_as_plain_generate(
    name: str, tiny_model: Callable[[str], Path], pictures: list[Path]
) -> None:
    """Questions of every kind by night, with and without a picture; in other runs yes/no and a
    choice about two pictures.
    """
    respondent: Any = make_respondent(f"hf/{tiny_model(name)}")
    kinds = dict(list(KINDS.items())[: None if NIGHTLY else 2])
    pictures = pictures if NIGHTLY else pictures[::2]
    with_picture = [
        Request(question, picture, Sampling(0.0, 1.0, tokens, 0), 1, words=("A", "B"))
        for question, tokens in kinds.values()
        for picture in pictures
    ]
    blind = [replace(request, image=None) for request in with_picture[:: len(pictures)]]
    if not NIGHTLY or name in LOOKING:
        blind = []
    got = answers(respondent, with_picture) | (answers(respondent, blind) if blind else {})
    for (question, picture, _), response in got.items():
        tokens = next(tokens for text, tokens in kinds.values() if text == question)
        assert response.text == said_by_generate(respondent, question, picture, tokens)
        assert picture == "None" or response.detail["shared"] == SHARED[name], respondent.how
    first = {str(got[with_picture[-1].prompt, str(p), 0].detail["p"]) for p in pictures}
    assert len(first) > 1, "the pictures are seen"


def test_the_page_says_what_every_tiny_model_shares() -> None:
    """The table of docs/respondents.md, which this file makes: `python -m tests.test_families`."""
    page = (Path(__file__).parent.parent / "docs" / "respondents.md").read_text(encoding="utf-8")
    assert table_of_sharing() in page
    assert len(classes()) >= 40


def classes() -> set[str]:
    """The classes of transformers that are asked, by their names."""
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES as NAMES,
    )

    types = {name.replace("blip2", "blip-2") for name in SHARED}
    return {NAMES[name] for name in types if name in NAMES}


def table_of_sharing() -> str:
    """What is shared, and by which of the tiny models, as rows of a table."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name, shared in SHARED.items():
        rows = name in HYBRID and shared == "prefix"
        words = {"prefix": "the image prefix", "features": "the vision features"}
        sharing = words.get(shared, shared) + (", a row for each question" if rows else "")
        kind, _, decoder = name.rpartition(" before ")
        groups.setdefault((sharing, kind), []).append(decoder)
    lines = ["| shared | tiny models |", "|---|---|"]
    for sharing in dict.fromkeys(sharing for sharing, _ in groups):
        classes = ", ".join(f"`{name}`" for name in groups.get((sharing, ""), []))
        decoders = ", ".join(f"`{name}`" for name in groups.get((sharing, "llava"), []))
        entries = [classes] if classes else []
        entries += [f"LLaVA's class before the decoders {decoders}"] if decoders else []
        lines.append(f"| {sharing} | {'; '.join(entries)} |")
    return "\n".join(lines)


def chat(processor: Any, question: str) -> str:
    content = [{"type": "image"}, {"type": "text", "text": question}]
    turns = [{"role": "user", "content": content}]
    return str(processor.apply_chat_template(turns, add_generation_prompt=True, tokenize=False))


@pytest.mark.parametrize(
    "name",
    ["llava", *(pytest.param(n, marks=nightly) for n in ("qwen2_5_vl", "idefics3")), "gemma3"],
)
def test_side_by_side_and_in_rows_are_one(
    name: str, tiny_model: Callable[[str], Path], pictures: list[Path]
) -> None:
    packed, rows = (
        make_respondent(f"hf/{tiny_model(name)}"),
        make_respondent(f"hf/{tiny_model(name)}", batch=5),
    )
    rows._engine.policy.packs = False  # type: ignore[attr-defined]
    requests = make_requests(pictures if NIGHTLY else pictures[:2], 1.0, tokens=20)
    assert texts(answers(packed, requests)) == texts(answers(rows, list(reversed(requests))))
    assert packed._engine.policy.packs  # type: ignore[attr-defined]


HYBRID = {
    "qwen3_5",
    "glm5_next",
    *(
        f"llava before {decoder}"
        for decoder in (
            "qwen3_next qwen3_5_text olmo_hybrid lfm2 falcon_h1 bamba granitemoehybrid"
            " jamba".split()
        )
    ),
}
"""Models with a layer that remembers by a state, or has a cache of its own: their questions stand in
rows.
"""
WINDOWED = {
    "gemma3",
    "gemma4",
    "aya_vision",
    *(f"llava before {decoder}" for decoder in "mistral qwen2 gemma2 cohere2 phi3 exaone4".split()),
}
"""Models with a layer that looks back a window only."""
LOOKING = (
    "paligemma",
    "blip2",
    "blip2_t5",
    "instructblip",
    "instructblip_t5",
    "internvl_question_first",
    "got_ocr2",
)
"""Those that answer no question without a picture: their class, their processor or their chat
template asks for one.
"""


BLIND = (
    "llava",
    "gemma3",
    "qwen3_5",
    "mllama",
    "paligemma",
    "llava before jamba",
)
"""Those that are asked without a picture in every run: of each way of remembering one."""


@pytest.mark.parametrize("name", cases(BLIND))
def test_questions_without_a_picture_get_the_answers_of_plain_generate(
    name: str, tiny_model: Callable[[str], Path], pictures: list[Path]
) -> None:
    """Also behind questions with pictures, whose positions a model may remember; at any number of
    rows.
    """
    with_picture = make_requests(pictures[:1], 1.0)
    first_pictures = pictures[: 2 if NIGHTLY else 1]
    twice = [r for r in make_requests(first_pictures, 1.0, tokens=12) for _ in (0, 1)]
    blind = [
        replace(r, image=None, run=n, seed=r.seed + 5000 * (n % 2)) for n, r in enumerate(twice)
    ]
    unlimited, batched, unbatched = loaded_once(tiny_model(name), 0, 5, 1)
    answers(unlimited, with_picture)
    if name in LOOKING:
        with pytest.raises(RespondentError, match=pattern_of("picture.needed")):
            answers(unlimited, blind)
        return
    plain = texts(answers(unbatched, select_compared(blind)))
    batched_texts = texts(answers(unlimited, blind))
    assert {key: batched_texts[key] for key in plain} == plain
    assert texts(answers(batched, blind)) == batched_texts
    assert texts(answers(unlimited, with_picture)) == texts(answers(batched, with_picture))
    assert len({text for text, _ in batched_texts.values()}) > 3, "the draws differ"


def test_single_questions_of_one_length_are_read_together(
    tiny_model: Callable[[str], Path], pictures: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One short question a picture: but for the check, no prompt is padded."""
    from hqm.respondents import decoding

    monkeypatch.setattr(decoding, "_MIN_CPU_TOKENS", 1)
    kinds = [(0, 0), (1, 2), (2, 0)]  # two of one length and one longer
    requests = [
        Request(
            QUESTIONS[question], pictures[picture_index], Sampling(1.0, 1.0, 6, 0), picture_index
        )
        for picture_index, question in kinds * 4
    ]
    requests = [replace(r, image=copied(r.image, n)) for n, r in enumerate(requests)]
    respondent, unbatched = loaded_once(tiny_model("llava"), 0, 1)
    padded: list[tuple[int, bool]] = []
    plain = respondent._loaded.model.generate

    def generate(**inputs: Any) -> Any:
        padded.append((len(inputs["input_ids"]), not bool(inputs["attention_mask"].all())))
        return plain(**inputs)

    monkeypatch.setattr(respondent._loaded.model, "generate", generate)
    got = texts(answers(respondent, requests))
    assert sum(rows for rows, _ in padded) == len(requests) + 1
    assert [rows for rows, is_padded in padded if is_padded] == [2], "the check alone"
    unbatched._engine.policy.share_less("asked for by a test", "nothing")
    assert got == texts(answers(unbatched, requests))


def test_padding_by_the_sizes_of_pictures_is_checked(
    tiny_model: Callable[[str], Path], pictures: list[Path]
) -> None:
    """A model that reads padding answers one prompt at a time, also where its questions are alike."""
    respondent: Any = make_respondent(f"hf/{tiny_model('minicpmv4_7')}")
    question, tokens = "Describe the image.", 12
    requests = [
        Request(question, picture, Sampling(0.0, 1.0, tokens, 0), 1) for picture in pictures
    ]
    for (_, picture, _), response in answers(respondent, requests).items():
        assert response.text == said_by_generate(respondent, question, picture, tokens)
    assert respondent._engine.plain.one_at_a_time


def test_a_saved_chat_template_is_used_where_the_processor_leaves_it_out(
    tmp_path: Path, pictures: list[Path]
) -> None:
    build_class("idefics", tmp_path)
    respondent: Any = make_respondent(f"hf/{tmp_path}")
    assert respondent._template(True).startswith("<s><image>")
    requests = [Request(QUESTIONS[0], picture, Sampling(0.0, 1.0, 2, 0), 1) for picture in pictures]
    assert all(response.text for response in answers(respondent, requests).values())


def copied(picture: Path | None, number: int) -> Path:
    """The same picture as another file."""
    import shutil

    assert picture is not None
    return Path(shutil.copy(picture, picture.with_name(f"{picture.stem}-{number}.png")))


def test_a_picture_of_which_a_model_makes_no_numbers_spoils_no_other(
    tiny_model: Callable[[str], Path], pictures: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory of its rows is not used again, for unseen places are multiplied by nought, and nought
    times NaN is NaN.
    """
    import torch

    respondent: Any = make_respondent(f"hf/{tiny_model('llava')}", batch=6)
    blue = pictures[1]  # the first in the order in which they are asked
    other_pictures = [pictures[0], pictures[2]]
    sound = texts(answers(respondent, make_requests(other_pictures, 1.0, tokens=9)))
    tower, broken = type(respondent._loaded.model.model.vision_tower), []
    forward = tower.forward

    def spoiled(self: Any, pixel_values: Any, *args: Any, **kwargs: Any) -> Any:
        output = forward(self, pixel_values, *args, **kwargs)
        ill = pixel_values[:, 2].mean(dim=(1, 2)) > pixel_values[:, 0].mean(dim=(1, 2)) + 0.4
        broken.extend(ill.tolist())
        output.last_hidden_state[ill] = torch.nan
        return output

    monkeypatch.setattr(tower, "forward", spoiled)
    requests = make_requests([other_pictures[0], blue, other_pictures[1]], 1.0, tokens=9)
    seeds = {(r.prompt, r.image, r.run): r.seed for r in make_requests(other_pictures, 1.0)}
    requests = [replace(r, seed=seeds.get((r.prompt, r.image, r.run), r.seed)) for r in requests]
    answered = texts(answers(respondent, requests))
    assert any(broken)
    assert {answered[key] for key in answered if key not in sound} == {("", "error")}
    assert {key: answered[key] for key in sound} == sound


def test_the_tower_runs_once_a_picture(
    tiny_model: Callable[[str], Path], pictures: list[Path]
) -> None:
    for name, tower in (
        ("llava", "model.vision_tower"),
        ("paligemma", "model.vision_tower"),
        ("blip2", "vision_model"),
    ):
        respondent: Any = make_respondent(f"hf/{tiny_model(name)}")
        answers(
            respondent, make_requests(pictures[:1], 0.0)
        )  # checked against plain generate, which looks again
        encoded_counts: list[int] = []
        module = respondent._loaded.model.get_submodule(tower)
        # what is replayed is no run: the hook counts pictures by what goes in
        original = type(module).forward

        def count(
            self: Any,
            *args: Any,
            _original: Any = original,
            _encoded: list[int] = encoded_counts,
            **more: Any,
        ) -> Any:
            _encoded.append(len(args[0] if args else more["pixel_values"]))
            return _original(self, *args, **more)

        type(module).forward = count
        try:
            answers(respondent, make_requests(pictures, 0.0))
        finally:
            type(module).forward = original
        assert 2 <= sum(encoded_counts) <= 3, f"{name}: {encoded_counts}"


@pytest.mark.parametrize("name", ["llava", "qwen2_vl", "smolvlm"])
def test_new_pictures_are_processed_several_in_one_call(
    name: str,
    tiny_model: Callable[[str], Path],
    pictures: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where tensors come apart by pictures; the answers are those of one at a time."""
    from PIL import Image

    paths = [tmp_path / f"{n}.png" for n in range(12)]
    for n, path in enumerate(paths):
        Image.open(pictures[n % 3]).resize((40 + 40 * (n % 2), 60)).save(path)
    respondent: Any = make_respondent(f"hf/{tiny_model(name)}")
    requests = make_requests(paths, 0.0)
    kind, calls = type(respondent._loaded.processor.image_processor), []
    before = kind.__call__

    def count(self: Any, images: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(images)
        return before(self, images, *args, **kwargs)

    monkeypatch.setattr(kind, "__call__", count)
    batched_texts = texts(answers(respondent, requests))
    assert len(calls) <= 8, "one for the check, one for plain generate, and few for all others"
    assert respondent._engine.policy.sharing == "prefix", respondent.how
    unbatched: Any = make_respondent(f"hf/{tiny_model(name)}")
    unbatched._engine.reader._by_rows = False
    assert texts(answers(unbatched, requests)) == batched_texts


def test_a_question_before_the_picture_is_said(
    tiny_model: Callable[[str], Path], pictures: list[Path], caplog: pytest.LogCaptureFixture
) -> None:
    respondent: Any = make_respondent(f"hf/{tiny_model('internvl_question_first')}")
    with caplog.at_level(logging.WARNING, logger="hqm"):
        answers(respondent, make_requests(pictures, 0.0))
    assert tells(respondent.how, "vision.question-first-how")
    assert tells(caplog.text, "vision.question-first")


def test_the_documented_form_is_used_and_recorded(
    tiny_model: Callable[[str], Path], pictures: list[Path]
) -> None:
    with_template: Any = make_respondent(f"hf/{tiny_model('llava')}")
    without_template: Any = make_respondent(f"hf/{tiny_model('llava_without_template')}")
    form = "USER: <image>\n{question} ASSISTANT:"
    responses = answers(without_template, make_requests(pictures, 0.0))
    assert texts(responses) == texts(answers(with_template, make_requests(pictures, 0.0))), (
        "the template says the same"
    )
    assert {response.detail["prompt"] for response in responses.values()} == {form}
    assert without_template.identity()["prompt"] == form
    assert "prompt" not in with_template.identity()
    assert (
        make_respondent(f"hf/{tiny_model('blip2')}").identity()["prompt"]
        == "Question: {question} Answer:"
    )


# --- probabilities of the first token ---


def test_first_token_probabilities_are_those_of_the_model(
    tiny_model: Callable[[str], Path], pictures: list[Path]
) -> None:
    """Against a forward pass of the whole prompt, summed over the spellings by hand."""
    import torch
    from PIL import Image

    respondent: Any = make_respondent(f"hf/{tiny_model('llava')}")
    responses = answers(respondent, make_requests(pictures, 1.0, ("yes", "no")))
    cold = answers(respondent, make_requests(pictures, 0.5, ("yes", "no")))
    model, processor = respondent._loaded.model, respondent._loaded.processor
    vocabulary = processor.tokenizer.get_vocab()
    for (question, picture, run), response in responses.items():
        inputs = processor(
            images=Image.open(picture), text=chat(processor, question), return_tensors="pt"
        )
        with torch.inference_mode():
            scores = model(**inputs).logits[0, -1].double()
        for temperature, answer in ((1.0, response), (0.5, cold[question, picture, run])):
            chances = torch.softmax(scores / temperature, dim=-1)
            for word, spelt in (
                ("yes", ("yes", "Yes", "Ġyes", "ĠYes")),
                ("no", ("no", "No", "Ġno", "ĠNo")),
            ):
                total = sum(
                    float(chances[vocabulary[text]]) for text in spelt if text in vocabulary
                )
                assert answer.detail["p"][word] == pytest.approx(total, abs=1e-6)
            assert answer.detail["p_lost"] == pytest.approx(
                1 - sum(answer.detail["p"].values()), abs=1e-12
            )


def test_the_answer_stays_the_sampled_one(
    tiny_model: Callable[[str], Path], pictures: list[Path]
) -> None:
    respondent = make_respondent(f"hf/{tiny_model('llava')}")
    watched = answers(respondent, make_requests(pictures, 1.0, ("A", "B", "C")))
    assert texts(watched) == texts(answers(respondent, make_requests(pictures, 1.0)))
    assert set(next(iter(watched.values())).detail["p"]) == {"A", "B", "C"}
    assert "p" not in next(iter(answers(respondent, make_requests(pictures, 1.0)).values())).detail


def test_draws_follow_the_recorded_probabilities() -> None:
    """A trained respondent, one question, four hundred runs."""
    import hqm

    benchmark = hqm.load("shapes_yesno")
    benchmark.prepare_images(benchmark.original)
    item = benchmark.original.items[0]
    requests = [
        Request(
            benchmark.question_text(item),
            benchmark.images / str(item.image),
            Sampling(1.0, 1.0, 4, 0),
            7 + run,
            run=run,
            words=("yes", "no"),
        )
        for run in range(400)
    ]
    sampled_answers = [
        a for batch in make_respondent("hf/shapes:half-trained").answer(requests) for _, a in batch
    ]
    chance = sampled_answers[0].detail["p"]["yes"]
    assert all(a.detail["p"]["yes"] == pytest.approx(chance, abs=1e-5) for a in sampled_answers)
    share = sum(a.text.lower().startswith("yes") for a in sampled_answers) / len(sampled_answers)
    assert abs(share - chance) < 4 * (chance * (1 - chance) / len(sampled_answers)) ** 0.5 + 1e-9
    assert sampled_answers[0].detail["p_lost"] < 0.5


def test_words_without_a_token_of_their_own_are_not_confused() -> None:
    from hqm.respondents.token_sampling import FirstTokens

    class Tokenizer:
        def get_vocab(self) -> dict[str, int]:
            return {"y": 1, "n": 2, "Ġn": 3, "A": 4, "a": 5, "ĠA": 6}

        def __call__(self, text: str, add_special_tokens: bool) -> dict[str, list[int]]:
            return {"input_ids": [{"y": 1, "n": 2, "m": 9}.get(text.strip().lower()[:1], 7), 8]}

    words = FirstTokens(Tokenizer())
    assert words.tokens_of(("yes", "no")) == {
        "yes": (1,),
        "no": (2,),
    }, "by the first token of their spellings"
    assert words.tokens_of(("maybe", "most")) == {"maybe": (), "most": ()}, (
        "both begin with one token"
    )
    assert words.tokens_of(("A",)) == {"A": (4, 6)}, "a letter counts as it is asked for"


def test_a_word_that_no_token_tells_has_no_probability(
    tiny_model: Callable[[str], Path], pictures: list[Path]
) -> None:
    """Two made-up words that begin with one token."""
    responses = answers(
        make_respondent(f"hf/{tiny_model('llava')}"), make_requests(pictures, 1.0, ("qqx", "qqz"))
    )
    assert {str(response.detail["p"]) for response in responses.values()} == {"{}"}
    assert {response.detail["p_lost"] for response in responses.values()} == {1.0}


def test_probabilities_are_stored_with_the_answers(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    import hqm
    from hqm.cli import program

    command = [
        "audit",
        "--no-report",
        "shapes_yesno",
        "shapes_choice",
        "-r",
        "hf/shapes:steady",
        "--limit",
        "6",
        "--runs",
        "1",
    ]
    result = CliRunner().invoke(
        program(),
        [
            *command,
            "--set",
            "probabilities=true",
            "--store",
            str(tmp_path / "s.sqlite"),
            "-q",
            "--set",
            "workers=1",
        ],
    )
    assert result.exit_code == 0, result.output
    with hqm.Store(tmp_path / "s.sqlite", readonly=True) as store:
        details = [
            d for number, _, _ in store.respondents() for d in store.details(number, 0).values()
        ]
    assert {tuple(sorted(d["p"])) for d in details} >= {("no", "yes"), ("A", "B", "C", "D")}
    assert all(abs(sum(d["p"].values()) + d["p_lost"] - 1) < 1e-9 for d in details)


# --- processors and program code of other people ---


@pytest.mark.parametrize(
    "name", ["Gemma4Processor", "LlavaNextVideoProcessor", "Molmo2Processor", "Qwen3VLProcessor"]
)
def test_a_processor_is_made_without_its_part_for_videos(name: str) -> None:
    """Whether the class hands that part on by keyword, first, between the others or last."""
    import transformers
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    from hqm.respondents.hf_loading import pictures_only
    from tests.tiny_models import tokenizer

    marks = "image video vision_bos vision_eos boi eoi audio boa eoa".split()
    tok = tokenizer({f"{mark}_token": f"<|{mark}|>" for mark in marks})
    parts = {
        "feature_extractor": transformers.Gemma4AudioFeatureExtractor(),
        "image_processor": CLIPImageProcessorPil(),
        "tokenizer": tok,
    }
    cls = pictures_only(getattr(transformers, name))
    processor = cls.from_args_and_dict([parts[attribute] for attribute in cls.get_attributes()], {})
    assert processor.image_processor is parts["image_processor"]
    assert processor.tokenizer is tok
    assert "video_processor" not in processor.to_dict()


@pytest.mark.parametrize("trusted", [False, True])
def test_program_code_of_a_model_is_run_only_where_the_name_says_so(
    trusted: bool,
    tiny_model: Callable[[str], Path],
    pictures: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nobody is asked in the middle of a run."""
    import shutil

    folder = shutil.copytree(tiny_model("llava"), tmp_path / "own")
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own_code.OwnConfig"}}
    (folder / "config.json").write_text(json.dumps(config))
    code = "from transformers import LlavaConfig\n\nclass OwnConfig(LlavaConfig):\n"
    (folder / "own_code.py").write_text(code + '    model_type = "own"\n')
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("it asks"))
    name = f"hf/{folder}{'?trust_remote_code=yes' if trusted else ''}"
    with pytest.raises(RespondentError) as error:
        answers(make_respondent(name), make_requests(pictures, 0.0))
    if trusted:
        assert "OwnConfig" in str(error.value), "no class of models knows the config that was run"
        assert tells(caplog.text, "model.runs-code")
    else:
        assert tells(str(error.value), "model.own-code")


# --- batches, memory, devices ---


class Memory:
    """A model's forward pass with room for so many tokens and no more."""

    def __init__(self, respondent: Any, room: int) -> None:
        import functools

        import torch

        self.failures = 0
        model = respondent._loaded.model
        plain = model.forward

        @functools.wraps(plain)
        def forward(*args: Any, **settings: Any) -> Any:
            if settings["input_ids"].numel() > room:
                self.failures += 1
                raise torch.OutOfMemoryError("out of memory: a test's limit")
            return plain(*args, **settings)

        model.forward = forward


def test_out_of_memory_halves_the_batch_and_loses_nothing(
    tiny_model: Callable[[str], Path], pictures: list[Path]
) -> None:
    requests = make_requests(pictures, 1.0)
    expected = texts(answers(make_respondent(f"hf/{tiny_model('llava')}"), requests))
    respondent: Any = make_respondent(f"hf/{tiny_model('llava')}")
    memory = Memory(respondent, 150)
    assert texts(answers(respondent, requests)) == expected
    assert memory.failures > 0
    assert respondent._engine.max_rows < len(requests), "no more at a time from now on"
    before = memory.failures
    assert texts(answers(respondent, requests)) == expected
    assert memory.failures == before, "the size that fits was found"


def test_one_question_that_does_not_fit_is_an_error_and_the_rest_goes_on(
    tiny_model: Callable[[str], Path], pictures: list[Path]
) -> None:
    respondent: Any = make_respondent(f"hf/{tiny_model('llava')}")
    Memory(respondent, 150)
    long_request = Request("Is there a dog? " * 40, pictures[0], Sampling(1.0, 1.0, 6, 0), 1)
    got = {
        r.prompt: a
        for batch in respondent.answer([*make_requests(pictures, 1.0), long_request])
        for r, a in batch
    }
    assert got[long_request.prompt].state == "error"
    assert "out of memory" in got[long_request.prompt].reason
    assert "error" not in {got[question].state for question in QUESTIONS}


def failing(respondent: Any, fails: Callable[[Mapping[str, Any]], bool]) -> None:
    """Have a model's forward pass fail on some inputs."""
    model = respondent._loaded.model
    plain = model.forward

    @functools.wraps(plain)
    def forward(*args: Any, **settings: Any) -> Any:
        if fails(settings):
            raise AttributeError("no attribute 'keys'")
        return plain(*args, **settings)

    model.forward = forward


def test_a_model_that_always_fails_is_one_sentence(
    tiny_model: Callable[[str], Path], pictures: list[Path], caplog: pytest.LogCaptureFixture
) -> None:
    respondent: Any = make_respondent(f"hf/{tiny_model('llava')}")
    failing(respondent, lambda _: True)
    with pytest.raises(RespondentError, match=pattern_of("model.answers-nothing")):
        answers(respondent, make_requests(pictures, 1.0))
    assert len(caplog.records) == 1, "how it is run is said once"


@pytest.mark.parametrize(
    ("fails", "sharing"),
    [
        (
            lambda s: (
                "logits_to_keep" in s and "attention_mask" in s and s["attention_mask"].dim() == 4
            ),
            "shared image prefix",
        ),
        (lambda s: len(s["input_ids"]) > 1, text_of("model.one-at-a-time")),
    ],
    ids=["packed", "several prompts"],
)
def test_an_error_in_sharing_costs_no_answer(
    tiny_model: Callable[[str], Path],
    pictures: list[Path],
    fails: Callable[[Mapping[str, Any]], bool],
    sharing: str,
) -> None:
    """Plain `generate` is the floor, at worst with one prompt at a time."""
    requests = make_requests(pictures, 1.0)
    expected = texts(answers(make_respondent(f"hf/{tiny_model('llava')}"), requests))
    respondent: Any = make_respondent(f"hf/{tiny_model('llava')}")
    failing(respondent, fails)
    assert texts(answers(respondent, requests)) == expected
    assert respondent.how.partition(":")[0] == sharing


def test_an_error_after_the_check_costs_no_answer(
    tiny_model: Callable[[str], Path], pictures: list[Path], caplog: pytest.LogCaptureFixture
) -> None:
    """What was being answered is asked again one at a time, and the model shares less."""
    requests = make_requests(pictures, 1.0)
    respondent: Any = make_respondent(f"hf/{tiny_model('llava')}")
    expected = texts(answers(respondent, requests))
    respondent._engine.policy.packs = False
    failing(respondent, lambda s: len(s["input_ids"]) > 1)
    assert texts(answers(respondent, requests)) == expected
    assert respondent._engine.policy.sharing != "prefix"
    assert [r.message for r in caplog.records][-1].endswith(respondent.how)


def test_what_waits_is_of_one_kind_and_in_the_order_of_its_pictures() -> None:
    from hqm.respondents.batching import Prompt, RequestQueue, group_by_kind

    sampling = Sampling()
    requests = [
        Request("?" * (n % 3 + 1), Path(f"{p}.png"), sampling, n)
        for p in range(5)
        for n in range(6)
    ]
    requests.append(replace(requests[0], image=None))
    requests.append(replace(requests[0], sampling=replace(sampling, max_tokens=9)))
    split = list(group_by_kind(list(reversed(requests))))
    assert sorted(map(len, split)) == [1, 1, 30]
    assert all(len({(r.sampling, r.image is None) for r in kind}) == 1 for kind in split)
    pictures = [str(r.image) for r in max(split, key=len)]
    assert pictures == sorted(pictures)

    bad = Response("", "error", "it cannot be opened")
    coming: list[list[Any]] = []
    waiting = RequestQueue(
        requests[:12],
        lambda r: bad if r.seed == 1 else Prompt(r.prompt, None, r.image, r.seed),
        lambda following: coming.append([r.image for r in following]),
    )
    batch = waiting.take(4)
    assert [prompt.seed for _, prompt in batch] == [0, 2, 3, 4]
    assert waiting.next_picture == Path("0.png")
    assert coming == [[Path("0.png"), Path("1.png")]]
    waiting.put_back(batch[2:])
    assert [number for number, _ in waiting.take(100)] == [3, 4, 5, 6, 8, 9, 10, 11]
    assert [r.seed for r, _ in waiting.refused] == [1, 1]
    assert not waiting.has_requests


@pytest.mark.parametrize("batch", [*(pytest.param(n, marks=nightly) for n in (1, 7)), 4, 0])
def test_a_picture_runs_once_whatever_the_batch(
    tiny_model: Callable[[str], Path], pictures: list[Path], batch: int
) -> None:
    """Six questions a picture, one of them longer: a picture that two batches share keeps its
    prefix.
    """
    respondent: Any = make_respondent(f"hf/{tiny_model('llava_next')}", batch=batch)
    expected = texts(
        answers(respondent, make_requests(pictures, 1.0))
    )  # the first answers are compared with plain generate
    model, batch_sizes = respondent._loaded.model, []
    plain = model.forward

    def forward(*args: Any, **settings: Any) -> Any:
        if settings.get("pixel_values") is not None:
            batch_sizes.append(len(settings["input_ids"]))
        return plain(*args, **settings)

    model.forward = forward
    assert texts(answers(respondent, make_requests(pictures, 1.0))) == expected
    assert sum(batch_sizes) == len(pictures)


@pytest.mark.parametrize("name", ["llava", "paligemma", "blip2"])
def test_who_is_told_to_finish_answers_what_it_has_begun(
    name: str,
    tiny_model: Callable[[str], Path],
    pictures: list[Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from hqm.respondents import decoding
    from hqm.respondents.batching import RequestQueue

    monkeypatch.setattr(decoding, "_HOLD_SECONDS", 0.0)
    taken_numbers: list[int] = []
    plain = RequestQueue.take

    def take(self: RequestQueue, limit: int) -> Any:
        got = plain(self, limit)
        taken_numbers.extend(number for number, _ in got)
        return got

    monkeypatch.setattr(RequestQueue, "take", take)
    respondent: Any = make_respondent(f"hf/{tiny_model(name)}", batch=4)
    answering = respondent.answer(make_requests(pictures, 1.0))
    came = len(next(answering))
    respondent.finish()
    came += sum(len(batch) for batch in answering)
    assert came == len(taken_numbers) < len(make_requests(pictures, 1.0))
    assert len(answers(respondent, make_requests(pictures, 1.0))) == 18, (
        "another asking begins anew"
    )


@pytest.mark.parametrize(
    "name", [*(pytest.param(n, marks=nightly) for n in ("llava_next", "idefics3")), "qwen2_vl"]
)
def test_answers_of_many_lengths_join_and_leave(
    name: str, tiny_model: Callable[[str], Path], pictures: list[Path], tmp_path: Path
) -> None:
    """Pictures of many shapes, answers of 1 to 40 tokens, seven at a time: as one at a time by
    plain generate.
    """
    from PIL import Image

    shapes = [(40 + 9 * n, 90 - 5 * n) for n in range(0, 12, 1 if NIGHTLY else 4)]
    paths = []
    for n, size in enumerate(shapes):
        Image.open(pictures[n % 3]).resize(size).save(tmp_path / f"{n:02}.png")
        paths.append(tmp_path / f"{n:02}.png")
    batched: Any = make_respondent(f"hf/{tiny_model(name)}", batch=7)
    unbatched: Any = make_respondent(f"hf/{tiny_model(name)}", batch=1)
    ends = [*batched._engine.ends, *range(100, 112)]  # so that answers end soon and late
    for respondent in (batched, unbatched):
        respondent._engine.plain.ends = frozenset(ends)
        # among so many draws one would fall where rounding decides
        respondent._loaded.model.double()
    unbatched._engine.policy.share_less("asked for by a test", "nothing")
    requests = make_requests(paths, 1.0, tokens=40)
    got = texts(answers(batched, requests))
    assert (batched._engine.policy.packs, batched._engine.policy.sharing) == (True, "prefix"), (
        batched.how
    )
    assert got == texts(answers(unbatched, requests))
    states = [state for _, state in got.values()]
    assert len(states) / 7 < states.count("ok") < len(states) - 1, (
        "some answers end, others are cut"
    )


def test_a_mark_in_a_question_is_an_error_of_that_question(
    tiny_model: Callable[[str], Path], pictures: list[Path]
) -> None:
    bad = Request("What does <image> mean?", pictures[0], Sampling(1.0, 1.0, 6, 0), 1)
    got = [
        pair
        for b in make_respondent(f"hf/{tiny_model('llava')}").answer(
            [*make_requests(pictures, 1.0), bad]
        )
        for pair in b
    ]
    assert [r.prompt for r, a in got if a.state == "error"] == [bad.prompt]


def test_every_device_gets_a_process(
    tiny_model: Callable[[str], Path], pictures: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two GPUs by name (there are none, so that both workers take the CPU): the work is cut finely,
    the answers are the same.
    """
    from hqm.administration.engines import local as engine

    requests = [
        replace(r, seed=r.seed + 100 * n, run=r.run + 2 * n)
        for n in range(8)
        for r in make_requests(pictures, 1.0)
    ]
    single_process = texts(answers(make_respondent(f"hf/{tiny_model('llava')}"), requests))
    monkeypatch.setattr(engine, "local_gpus", lambda respondents: ("0", "1"))
    cuts: list[int] = []
    answer_on_workers = engine._answer_on_workers

    def spy(work: Any, shards: Any, count: int, stop: Any, gpus: Any) -> Any:
        cuts.extend([len(shards), count, len(gpus)])
        return answer_on_workers(work, shards, count, stop, gpus)

    monkeypatch.setattr(engine, "_answer_on_workers", spy)
    got: dict[Key, Response] = {}
    for _, batch in engine.answer_all([(make_respondent(f"hf/{tiny_model('llava')}"), requests)]):
        assert not isinstance(batch, Exception), batch
        got |= {(r.prompt, str(r.image), r.run): a for r, a in batch}
    assert cuts[0] >= 2
    assert cuts[1:] == [2, 2]
    assert texts(got) == single_process


def test_the_device_chooses_number_format_and_attention(tiny_model: Callable[[str], Path]) -> None:
    from hqm.respondents.hf_loading import suited_attention, suited_dtype

    assert (suited_dtype("cpu"), suited_dtype("cpu:0"), suited_dtype("mps")) == (
        "float32",
        "float32",
        "float16",
    )
    assert (suited_attention("cpu"), suited_attention("cuda:1"), suited_attention("mps")) == (
        "sdpa",
        "sdpa",
        "eager",
    )
    eager: Any = make_respondent(f"hf/{tiny_model('llava')}?attention=eager")
    assert eager._loaded.model.config._attn_implementation == "eager"
    assert eager.identity()["attention"] == "eager"
    numbered: Any = make_respondent(f"hf/{tiny_model('llava')}", device="cpu:0")
    assert (numbered.device, numbered.identity()["device"]) == ("cpu:0", "cpu")


def test_half_precision_is_near(tiny_model: Callable[[str], Path], pictures: list[Path]) -> None:
    """bfloat16 shares the prefix too: its first distributions are near those of plain generate."""
    respondent: Any = make_respondent(f"hf/{tiny_model('llava')}?dtype=bfloat16")
    answers(respondent, make_requests(pictures, 1.0))
    assert respondent.how == text_of("respondent.shared-image")


IN_A_WORKER = """
import json, sys
import hqm.administration.engines.warm
from pathlib import Path
from hqm import Request, Sampling
from hqm.respondents import make_respondent
folders, questions, picture = json.loads(sys.argv[1])
for folder in folders:
    respondent = make_respondent(f"hf/{folder}")
    requests = [Request(q, Path(picture), Sampling(0.0, 1.0, 6, 0), n) for n, q in enumerate(questions)]
    print(json.dumps({q.prompt: r.text for batch in respondent.answer(requests) for q, r in batch}))
"""


@nightly
@pytest.mark.skipif(sys.platform != "linux", reason="only there are workers forked")
def test_every_family_answers_in_a_worker_as_anywhere(
    tiny_model: Callable[[str], Path],
    pictures: list[Path],
    greedy_answers: dict[str, dict[Key, tuple[str, str]]],
) -> None:
    """A worker has left out what only training needs, and what spreads a model over machines."""
    names = [name for name in MODELS if name not in NEEDS or find_spec(NEEDS[name])]
    folders = [str(tiny_model(name)) for name in names]
    for name in set(names) - set(greedy_answers):
        (respondent,) = loaded_once(tiny_model(name), 0)
        greedy_answers[name] = texts(answers(respondent, make_requests(pictures[:1], 0.0)))
    expected = [
        {question: greedy_answers[name][question, str(pictures[0]), 0][0] for question in QUESTIONS}
        for name in names
    ]
    worker_input = json.dumps([folders, QUESTIONS, str(pictures[0])])
    command = [sys.executable, "-W", "ignore", "-c", IN_A_WORKER, worker_input]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert process.returncode == 0, process.stderr[-2000:]
    printed = [line for line in process.stdout.splitlines() if line.startswith("{")]
    assert list(map(json.loads, printed)) == expected
    assert len(names) > 10


# --- what cannot work says why ---


@pytest.mark.parametrize("family", [f for f in FAMILIES if f.refusal], ids=lambda f: f.name)
def test_a_family_that_cannot_work_says_why(
    family: Any, tmp_path: Path, pictures: list[Path]
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": family.types[0]}))
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(RespondentError) as error:
        list(make_respondent(f"hf/{tmp_path}").answer(make_requests(pictures, 0.0)))
    assert family.refusal in str(error.value)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("kind", ["llava", "mistral3"])
def test_a_processor_that_needs_torchvision_says_so(
    kind: str, tiny_model: Callable[[str], Path], pictures: list[Path], tmp_path: Path
) -> None:
    import shutil

    if find_spec("torchvision"):
        pytest.skip("torchvision is installed")
    folder = shutil.copytree(tiny_model("llava"), tmp_path / "pixtral")
    config = json.loads((folder / "config.json").read_text()) | {"model_type": kind}
    (folder / "config.json").write_text(json.dumps(config))
    settings = {"processor_class": "PixtralProcessor"}
    (folder / "processor_config.json").write_text(json.dumps(settings))
    with pytest.raises(RespondentError, match="needs torchvision") as error:
        list(make_respondent(f"hf/{folder}").answer(make_requests(pictures, 0.0)))
    assert "hqm-audit[vision]" in str(error.value)


def test_families_are_told_apart_and_listed(capsys: pytest.CaptureFixture[str]) -> None:
    from hqm.commands.data import list_kind

    kinds = [kind for family in FAMILIES for kind in family.types]
    assert len(kinds) == len(set(kinds))
    assert all("{question}" in f.form for f in FAMILIES if f.form)
    assert all(f.source for f in FAMILIES if f.form)
    assert family_of("never heard of").sharing == "prefix"
    list_kind("respondents")
    printed = capsys.readouterr().out
    for family in FAMILIES:
        assert family.types[0] in printed.replace("\n", "")


if __name__ == "__main__":
    print(table_of_sharing())
