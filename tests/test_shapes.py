"""The embedded benchmark: reproducible, balanced, held out; its oracle; its respondents."""

import hashlib
import itertools
import json
import math
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hqm.benchmarks.shapes.oracle import claims, kinds_in, mentioned
from hqm.benchmarks.shapes.scene import (
    ACTIONS,
    GROUNDS,
    SHAPES,
    SIDE,
    SIZES,
    SKIES,
    Scene,
    SceneObject,
    draw,
)

import hqm
from hqm.respondents.hf_loading import find_model
from hqm.types import HALLUCINATION_TYPES as TYPES
from tests.conftest import NIGHTLY, Run, counts, needs_torch
from training.items import build_rows
from training.questions import caption, choice, open_question, random_scene, yes_no

ROOT = Path(__file__).resolve().parent.parent / "benchmarks"
RESPONDENTS = sorted(path.name for path in (ROOT / "shapes" / "respondents").iterdir())


def false_claims(scene: Scene, text: str) -> list[str]:
    return [words for words, holds in claims(text) if not holds(scene)]


def test_the_shipped_files_are_what_the_seed_gives() -> None:
    for name, rows in build_rows().items():
        path = (
            ROOT / "shapes" / "scenes.jsonl"
            if name == "scenes"
            else ROOT / f"shapes_{name}" / "items.jsonl"
        )
        assert [json.loads(line) for line in path.read_text().splitlines()] == json.loads(
            json.dumps(rows)
        ), name


def test_counts_first_tenth_last() -> None:
    items = hqm.load("shapes_yesno").original.items
    assert len(items) == 1008
    assert len({item.image for item in items}) == 293
    assert (items[0].id, items[9].id, items[-1].id) == ("y0000", "y0009", "y1007")
    assert Counter(item.type for item in items) == dict.fromkeys(TYPES, 126)
    assert Counter((item.type, item.target) for item in items) == {
        (t, y): 63 for t in TYPES for y in ("yes", "no")
    }
    for name, n in (("shapes_choice", 1008), ("shapes_vqa", 1008), ("shapes_caption", 1008)):
        assert len(hqm.load(name).original) == n
    letters = Counter(item.target for item in hqm.load("shapes_choice").original.items)
    assert set(letters) == set("ABCD")
    assert min(letters.values()) > 200, "the right answer stands in every slot"


def test_every_shapes_item_has_a_parallel() -> None:
    for name in ("shapes_yesno", "shapes_choice", "shapes_vqa", "shapes_caption"):
        benchmark = hqm.load(name)
        assert benchmark.parallel(benchmark.original).left_out == ()


def test_pictures_are_drawn_the_same_twice_and_differ(tmp_path: Path) -> None:
    rows = [
        json.loads(line) for line in (ROOT / "shapes" / "scenes.jsonl").read_text().splitlines()
    ]
    scenes = [Scene.from_dict({k: v for k, v in row.items() if k != "image"}) for row in rows]
    assert len(set(scenes)) == 307
    first, second = (draw(scenes[0]).tobytes() for _ in range(2))
    assert first == second
    assert len({draw(scene).tobytes() for scene in scenes}) == 307
    benchmark = hqm.load("shapes_yesno", images=tmp_path / "pictures")
    benchmark.prepare_images(benchmark.original)
    from PIL import Image

    with Image.open(tmp_path / "pictures" / "scene-000.png") as picture:
        assert picture.size == (SIDE, SIDE)
        assert picture.convert("RGB").tobytes() == first


def test_every_picture_is_that_on_which_the_models_were_trained() -> None:
    """All shapes, actions, skies, grounds and a sign, pixel for pixel."""
    digest = hashlib.sha256()
    for shape, action in zip(SHAPES, ACTIONS, strict=True):
        for (size, sky), ground in zip(itertools.product(SIZES, SKIES), GROUNDS, strict=True):
            things = (SceneObject(shape, "red", size, 4), SceneObject(shape, "blue", size, 6))
            scene = Scene(sky, ground, things, action, 2, "STOP", 0)
            digest.update(draw(scene).tobytes())
    assert digest.hexdigest()[:16] == "7111551f6966da17"


def test_pictures_that_cannot_be_drawn_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    benchmark = hqm.load("shapes_yesno", images=tmp_path / "file")
    with pytest.raises(hqm.DataError, match="cannot be drawn"):
        benchmark.prepare_images(benchmark.original)


@pytest.mark.parametrize("kind", TYPES)
def test_questions_agree_with_the_oracle(kind: str) -> None:
    """Two independent readings of a scene: the questions' facts are all true to the oracle; other
    scenes' are often not.
    """
    rng = np.random.default_rng(7)
    n_asked = strange = 0
    for _ in range(400):
        scene, second_scene = random_scene(rng), random_scene(rng)
        questions = [yes_no(scene, kind, truth, rng) for truth in (True, False)] + [
            open_question(scene, kind, rng),
            choice(scene, kind, rng),
        ]
        for question in questions:
            if question is None:
                continue
            n_asked += 1
            assert claims(question.fact), question.fact
            assert false_claims(scene, question.fact) == [], (question.fact, scene)
            strange += bool(false_claims(second_scene, question.fact))
        for terse in (True, False):
            assert false_claims(scene, caption(scene, terse)) == []
            assert set(mentioned(caption(scene, terse))) <= kinds_in(scene)
    assert n_asked > 300
    assert strange > 0.2 * n_asked


SCENE = Scene.from_dict(
    {
        "sky": "night",
        "ground": "snow",
        "action": "running",
        "action_cell": 8,
        "sign": "CAT",
        "sign_cell": 0,
        "things": [
            {"shape": "circle", "color": "red", "size": "large", "cell": 3},
            {"shape": "star", "color": "blue", "size": "small", "cell": 5},
        ],
    }
)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Yes, the circle is red.", 0),
        ("Yes, the circle is blue.", 1),
        ("No, there are two circles.", 1),
        ("The red circle is to the left of the blue star.", 0),
        ("The red circle is to the right of the blue star.", 1),
        ("The red circle is not above the blue star.", 0),
        ("The red circle is larger than the blue star.", 0),
        ("There are more stars than circles.", 1),
        ("There are as many stars as circles.", 0),
        ("The sign says CAT. It is night.", 0),
        ("The sign says DOG. It is day.", 2),
        ("There is a large red circle, a small blue star and a green square.", 1),
        ("There is no person.", 1),
        ("There is no triangle.", 0),
        ("The person is jumping. The ground is covered with sand.", 2),
        ("Yes.", 0),
    ],
)
def test_the_oracle_checks_every_claim(text: str, wrong: int) -> None:
    assert len(false_claims(SCENE, text)) == wrong


def test_the_oracle_reads_on_where_the_rule_stops() -> None:
    benchmark = hqm.load("shapes_yesno")
    item = next(i for i in benchmark.original.items if i.type == "attribute" and i.target == "yes")
    oracle = benchmark.judges()["oracle"]
    right = hqm.Response("Yes.")
    assert (benchmark.verdict(item, right).value, oracle(item, right).value) == (1.0, 1.0)
    lie = hqm.Response("Yes, there are three persons and there is no sign. It is day. It is night.")
    assert benchmark.verdict(item, lie).value == 1.0
    assert oracle(item, lie).value == 0.0


@pytest.mark.parametrize("name", RESPONDENTS)
def test_a_respondent_is_a_small_genuine_model(name: str) -> None:
    folder = Path(find_model(f"shapes:{name}"))
    weights = list(folder.glob("*.safetensors"))
    assert len(weights) == 1
    assert weights[0].stat().st_size < 1_000_000
    config = json.loads((folder / "config.json").read_text())
    assert config["architectures"] == ["LlavaForConditionalGeneration"]
    # what vLLM on CPUs and the image processors of torchvision can take
    assert config["text_config"]["head_dim"] == 32
    assert json.loads((folder / "processor_config.json").read_text())["image_processor"][
        "resample"
    ] in (2, 3)
    assert json.loads((folder / "recipe.json").read_text())["name"] == name


def test_the_family_is_ten_and_all_are_registered() -> None:
    assert len(RESPONDENTS) == 10
    for name in ("shapes_yesno", "shapes_choice", "shapes_vqa", "shapes_caption"):
        assert sorted(hqm.load(name).card.respondents.embedded) == [
            f"hf/shapes:{r}" for r in RESPONDENTS
        ]


@needs_torch
def test_a_respondent_loads_by_the_auto_classes_offline() -> None:
    from transformers import AutoModelForImageTextToText, AutoProcessor

    folder = find_model("shapes:steady")
    model = AutoModelForImageTextToText.from_pretrained(folder, local_files_only=True)
    processor = AutoProcessor.from_pretrained(folder, local_files_only=True)
    assert type(model).__name__ == "LlavaForConditionalGeneration"
    assert processor.chat_template
    assert math.isfinite(sum(float(p.detach().float().sum()) for p in model.parameters()))


@needs_torch
@pytest.mark.parametrize("name", RESPONDENTS)
def test_weights_have_the_names_that_vllm_reads_and_transformers_misses_none(name: str) -> None:
    from safetensors import safe_open
    from transformers import AutoModelForImageTextToText

    folder = Path(find_model(f"shapes:{name}"))
    with safe_open(folder / "model.safetensors", "pt") as file:
        names = list(file.keys())
    beginnings = {
        "language_model.model.": 0,
        "multi_modal_projector.": 0,
        "vision_tower.vision_model.": 0,
    }
    for weight in names:
        beginnings[next(begins for begins in beginnings if weight.startswith(begins))] += 1
    assert all(beginnings.values())
    _, info = AutoModelForImageTextToText.from_pretrained(
        folder, local_files_only=True, output_loading_info=True
    )
    assert not any(info.values()), info


@needs_torch
def test_wider_heads_answer_the_same() -> None:
    """Every logit of a model with heads of 14 dimensions, whose weights are random, at every
    position of a sequence.
    """
    import torch

    from training import make_model, make_processor
    from training.recipes import Recipe
    from training.widening import widened

    model = make_model(
        Recipe("tiny", "random", 3, width=56, layers=3), make_processor(["Is the circle red?"])
    ).eval()
    wide = widened(model, seed=1)
    assert (model.config.text_config.head_dim, wide.config.text_config.head_dim) == (14, 32)
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(7, model.config.text_config.vocab_size, (4, 200), generator=generator)
    with torch.inference_mode():
        before, after = (
            m.model.language_model(ids).last_hidden_state @ m.lm_head.weight.T
            for m in (model, wide)
        )
    assert before.std() > 0.5
    torch.testing.assert_close(before, after, atol=2e-4, rtol=0)
    added = wide.model.language_model.layers[0].self_attn
    assert (added.k_proj.weight != 0).all(), (
        "an added dimension whose query and key are both zero would never be trained"
    )


@needs_torch
def test_neurons_that_do_nothing_are_given_up_first() -> None:
    import torch

    from training import make_model, make_processor, sample_batch
    from training.recipes import RECIPES, training_scenes
    from training.widening import N_REMOVED, narrowed

    processor = make_processor(["Is the circle red?"])
    model = make_model(RECIPES[4], processor).eval()
    idle = torch.randperm(112, generator=torch.Generator().manual_seed(2))[:N_REMOVED]
    with torch.no_grad():
        for layer in model.model.language_model.layers:
            layer.mlp.down_proj.weight[:, idle] = 0.0
    batch = sample_batch(RECIPES[4], processor, training_scenes(2))
    narrow = narrowed(model, batch)
    assert narrow.config.text_config.intermediate_size == 112 - N_REMOVED
    with torch.inference_mode():
        torch.testing.assert_close(model(**batch).logits, narrow(**batch).logits, atol=2e-4, rtol=0)


@needs_torch
@pytest.mark.slow
def test_training_repeats_bit_for_bit_from_nothing_and_from_the_kept_first_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The same bytes from nothing and from the kept half-precision first stage; nightly in fresh
    processes, and from nothing again.
    """
    import torch

    from training import main, train_one
    from training.recipes import RECIPES

    steps, scenes = counts(20), counts(100)
    runs = {"nothing": "first", "again": "other", "kept": "first"}
    if not NIGHTLY:
        del runs["again"]
    for run, first in runs.items():
        folders = (tmp_path / run, tmp_path / first)
        if NIGHTLY:
            command = f"train --only small --steps {steps} --scenes {scenes}".split()
            command += ["--out", str(folders[0]), "--first-stage", str(folders[1])]
            monkeypatch.setattr(sys, "argv", command)
            main()
        else:
            (recipe,) = (recipe for recipe in RECIPES if recipe.name == "small")
            monkeypatch.setenv("TRANSFORMERS_VERBOSITY", "error")
            try:
                train_one(recipe, folders[0], steps, scenes, folders[1])
            finally:  # what a process of its own would have taken with it
                torch.use_deterministic_algorithms(False)
        printed = capfd.readouterr().out
        assert (f"step {steps} of {steps}" in printed) == (run != "kept")
        assert "step 1 of 1" in printed
    files = ("model.safetensors.xz", "config.json", "tokenizer.json", "processor_config.json")
    for file in files:
        contents = {(tmp_path / run / "small" / file).read_bytes() for run in runs}
        assert len(contents) == 1, file


def test_pictures_that_are_drawn_are_never_called_missing(run: Run, tmp_path: Path) -> None:
    words = ("audit", "shapes_choice", "-r", "hf/shapes:steady", "--limit", "3", "--quiet")
    elsewhere = ("--images", tmp_path / "pictures", "--store", tmp_path / "store.sqlite")
    _, planned, _ = run(*words, *elsewhere, "--dry-run")
    _, printed, _ = run(*words, *elsewhere, "--out", tmp_path / "out")
    assert "pictures are there" not in planned + printed
