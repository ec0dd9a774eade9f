"""Train the embedded respondents: tiny LLaVA models that look at drawn scenes and answer.

    python -m training                           every recipe, into benchmarks/shapes/respondents
    python -m training --only steady --out /tmp  one of them, elsewhere

Each model is a genuine `LlavaForConditionalGeneration` (CLIP tower, projector, Llama decoder) with
a tokenizer trained here, saved as half-precision safetensors under 1 MB. One thread, fixed seeds
and a fixed number of steps make a run repeatable. There are two stages. The first trains a model
with narrow heads from random weights, on pictures whose sides are halved by averaging; its result
is rounded to half precision. Then `widening` gives it the head size that servers know, and the
second stage, a twentieth as long, trains it on with pictures resampled as every image library can
(bicubic). With `--first-stage FOLDER` the results of the first stage are kept there, and read from
there the next time. `--onward FOLDER` trains respondents that exist on by questions as they are
worded today, a twelfth as long as the first stage.

Minutes on a CPU are enough because of three choices: weights are drawn at 1/sqrt(fan-in); a loss
makes each image token give, through the output matrix, the words of its cell (this is the only loss
for the first eighth of the first stage); and a loss makes the state at the end of the question, two
layers below the top, give the word that decides the question.

It is run in a checkout; what users get is the trained models.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hqm.benchmarks.shapes.scene import Scene, draw

from hqm.respondents.hf_loading import unpack
from training.packing import pack
from training.recipes import (
    RECIPES,
    Recipe,
    cell_words,
    make_rows,
    training_scenes,
)
from training.widening import narrowed, save, widened

SIZE, PATCH = 48, 16
IMAGE_TOKENS = (SIZE // PATCH) ** 2
SCENES, QUESTIONS_A_SCENE, BATCH = 20_000, 8, 64
BOX, BICUBIC = 4, 3
RESPONDENTS = Path(__file__).resolve().parents[1] / "benchmarks" / "shapes" / "respondents"
ONWARD = 12
"""Training on with another wording takes one step for so many of the first stage."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One stretch of training."""

    stream: int
    """Names the random stream of its questions and their order."""
    resample: int
    """How pictures are made smaller, as Pillow numbers it."""
    rate: float
    """The highest learning rate: a warm-up, then a cosine down to a fiftieth."""
    steps: int
    warm_up: int
    eyes: int
    """Steps with the loss of the image tokens alone."""


def stages(recipe: Recipe) -> tuple[Stage, Stage]:
    """The two stages of a recipe."""
    first = Stage(
        stream=7, resample=BOX, rate=3e-3, steps=recipe.steps, warm_up=100, eyes=recipe.steps // 8
    )
    n_steps = max(1, recipe.steps // 20)
    return first, Stage(
        stream=8, resample=BICUBIC, rate=3e-4, steps=n_steps, warm_up=n_steps // 8 + 1, eyes=0
    )


def make_processor(corpus: list[str], resample: int = BICUBIC) -> Any:
    """A LLaVA processor: a byte-pair tokenizer of the training sentences and a Pillow image
    processor.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlavaProcessor, PreTrainedTokenizerFast
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=640,
        min_frequency=2,
        show_progress=False,
        special_tokens=["<pad>", "<bos>", "<eos>", "<unk>", "<image>", "<user>", "<assistant>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(corpus, trainer)
    side = {"height": SIZE, "width": SIZE}
    # the picture stands first, so that all questions about it share a prefix
    template = (
        "{% for m in messages %}{% if m['role'] == 'user' %}<bos><user>{% for c in m['content']"
        " %}{% if c['type'] == 'image' %}<image>{% endif %}{% endfor %}{% for c in m['content']"
        " %}{% if c['type'] == 'text' %} {{ c['text'] }}{% endif %}{% endfor %}{% else"
        " %}<assistant> {{ m['content'] }}{% endif %}{% endfor %}{% if add_generation_prompt"
        " %}<assistant>{% endif %}"
    )
    return LlavaProcessor(
        image_processor=CLIPImageProcessorPil(
            size=side,
            crop_size=side,
            do_center_crop=False,
            resample=resample,
            image_mean=[0.5] * 3,
            image_std=[0.5] * 3,
        ),
        tokenizer=PreTrainedTokenizerFast(
            tokenizer_object=tokenizer,
            pad_token="<pad>",
            bos_token="<bos>",
            eos_token="<eos>",
            unk_token="<unk>",
            padding_side="left",
            model_max_length=256,
            extra_special_tokens={"image_token": "<image>"},
        ),
        patch_size=PATCH,
        chat_template=template,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
    )


def prompt_text(prompt: str) -> str:
    """The chat template's text for one question, with the picture's tokens spelled out."""
    return f"<bos><user>{'<image>' * IMAGE_TOKENS} {prompt}<assistant>"


def make_model(recipe: Recipe, processor: Any) -> Any:
    """A LLaVA of the recipe's size with weights drawn at 1/sqrt(fan-in), which narrow models need
    to learn quickly.
    """
    import torch
    from transformers import (
        CLIPVisionConfig,
        GenerationConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
    )

    tokenizer = processor.tokenizer
    ends = {
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            image_size=SIZE,
            patch_size=PATCH,
            projection_dim=64,
        ),
        text_config=LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=recipe.width,
            intermediate_size=2 * recipe.width,
            num_hidden_layers=recipe.layers,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=256,
            tie_word_embeddings=True,
            **ends,
        ),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
        vision_feature_select_strategy="default",
        image_seq_length=IMAGE_TOKENS,
        tie_word_embeddings=True,
    )
    model = LlavaForConditionalGeneration(config)
    generator = torch.Generator().manual_seed(recipe.seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() >= 2:
                word = "embed_tokens" in name or "position_embedding" in name
                weight.normal_(0.0, 0.3 if word else weight[0].numel() ** -0.5, generator=generator)
    model.generation_config = GenerationConfig(max_new_tokens=64, **ends)
    return model


class Trainer:
    """Trains a model through one stage of a recipe, on a pool of scenes; each batch has questions
    of similar length.
    """

    def __init__(
        self,
        recipe: Recipe,
        stage: Stage,
        model: Any,
        processor: Any,
        scenes: list[Scene],
        pixels: Any,
    ) -> None:
        import torch

        self.recipe, self.stage, self.processor, self.pixels = recipe, stage, processor, pixels
        self.rng = np.random.default_rng([recipe.seed, stage.stream])
        tokenizer = processor.tokenizer
        rows = make_rows(recipe, scenes, QUESTIONS_A_SCENE, self.rng)
        prompts = tokenizer([prompt_text(row.prompt) for row in rows], add_special_tokens=False)[
            "input_ids"
        ]
        answers = tokenizer([f" {row.answer}<eos>" for row in rows], add_special_tokens=False)[
            "input_ids"
        ]
        self.rows = [(np.array(p + a), len(p)) for p, a in zip(prompts, answers, strict=True)]
        self.scene_of = np.array([row.scene for row in rows])
        self.length = np.array([len(ids) for ids, _ in self.rows])
        self.value = torch.tensor(
            [self._first_token(row.value) if row.value else -100 for row in rows]
        )
        first = {
            word: self._first_token(word)
            for scene in scenes
            for cell in cell_words(scene)
            for word in cell
        }
        self.cells = torch.tensor(
            [[[first[w] for w in cell] for cell in cell_words(scene)] for scene in scenes]
        )
        self.model = model
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=stage.rate, betas=(0.9, 0.98), weight_decay=0.01
        )

    def _first_token(self, word: str) -> int:
        return int(self.processor.tokenizer.encode(f" {word}", add_special_tokens=False)[0])

    def batches(self) -> Iterator[np.ndarray]:
        while True:
            order = self.rng.permutation(len(self.rows))
            for chunk in np.array_split(order, max(1, len(order) // (BATCH * 32))):
                chunk = chunk[np.argsort(self.length[chunk], kind="stable")]
                blocks = [chunk[i : i + BATCH] for i in range(0, len(chunk) - BATCH + 1, BATCH)]
                for j in self.rng.permutation(len(blocks)):
                    yield blocks[j]

    def _collate(self, indices: np.ndarray) -> tuple[Any, Any]:
        import torch

        width = int(self.length[indices].max())
        ids = np.full((len(indices), width), self.processor.tokenizer.pad_token_id)
        labels = np.full((len(indices), width), -100)
        for r, index in enumerate(indices):
            row, start = self.rows[index]
            ids[r, : len(row)] = row  # right padding does no harm under a causal mask
            labels[r, start : len(row)] = row[start:]
        return torch.from_numpy(ids), torch.from_numpy(labels)

    def _features(self, pixels: Any) -> Any:
        inner = self.model.model
        return inner.multi_modal_projector(inner.vision_tower(pixels).last_hidden_state[:, 1:])

    def _seeing_loss(self, scenes: np.ndarray) -> Any:
        """The loss for what each image token gives, through the output matrix, in place of the
        words of its cell.
        """
        import torch

        logp = torch.log_softmax(self.model.lm_head(self._features(self.pixels[scenes])), -1)
        return -logp.gather(2, self.cells[scenes]).mean()

    def _answering_loss(self, indices: np.ndarray) -> Any:
        """The loss of the answers, and of the word that decides each question, two layers below the
        top.
        """
        import torch
        import torch.nn.functional as F

        ids, labels = self._collate(indices)
        pixels = self.pixels[self.scene_of[indices]]
        if self.recipe.withheld:
            hidden = torch.from_numpy(self.rng.random(len(indices)) < self.recipe.withheld)
            pixels = torch.where(hidden[:, None, None, None], torch.ones(3, SIZE, SIZE), pixels)
        decoder = self.model.model.language_model
        words = self.model.get_input_embeddings()(ids)
        image_id = self.processor.tokenizer.convert_tokens_to_ids("<image>")
        words = words.masked_scatter(
            (ids == image_id)[..., None].expand_as(words), self._features(pixels)
        )
        states = decoder(inputs_embeds=words, use_cache=False, output_hidden_states=True)
        keep = labels[:, 1:] != -100
        loss = F.cross_entropy(
            self.model.lm_head(states.last_hidden_state[:, :-1][keep]), labels[:, 1:][keep]
        )
        value = self.value[indices]
        if (value >= 0).any():
            question_end = torch.tensor([self.rows[i][1] - 2 for i in indices])
            states_below = states.hidden_states[self.recipe.layers - 2][
                torch.arange(len(indices)), question_end
            ]
            loss = loss + 0.5 * F.cross_entropy(
                self.model.lm_head(decoder.norm(states_below)), value
            )
        return loss

    def train(self, log: Callable[[str], None]) -> Any:
        """Run all steps and return the trained model in evaluation mode."""
        import torch

        stage, batches = self.stage, self.batches()
        self.model.train()
        for step in range(stage.steps):
            for group in self.optimizer.param_groups:
                cosine = 0.5 * (1 + math.cos(math.pi * step / stage.steps))
                group["lr"] = (
                    stage.rate * min(1.0, (step + 1) / stage.warm_up) * (0.02 + 0.98 * cosine)
                )
            if step < stage.eyes:  # the eyes first: a label for every cell is dense supervision
                loss = self._seeing_loss(self.rng.integers(0, len(self.pixels), 2 * BATCH))
            else:
                indices = next(batches)
                loss = self._answering_loss(indices) + 0.3 * self._seeing_loss(
                    self.scene_of[indices]
                )
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            if (step + 1) % 500 == 0 or step + 1 == stage.steps:
                log(f"{self.recipe.name}: step {step + 1} of {stage.steps}, loss {loss.item():.3f}")
        return self.model.eval()


def _pixels(processor: Any, scenes: list[Scene]) -> Any:
    import torch

    pieces = [[draw(scene) for scene in scenes[i : i + 500]] for i in range(0, len(scenes), 500)]
    return torch.cat(
        [processor.image_processor(piece, return_tensors="pt")["pixel_values"] for piece in pieces]
    )


def train_one(
    recipe: Recipe,
    destination: Path,
    steps: int | None = None,
    pool: int = SCENES,
    first_stage: Path | None = None,
) -> None:
    """Train a recipe through both stages and save model, processor and recipe in `out/<name>`."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    import torch
    from transformers import LlavaForConditionalGeneration

    torch.set_num_threads(1)
    torch.manual_seed(recipe.seed)
    torch.use_deterministic_algorithms(True)
    if steps is not None:
        recipe = Recipe(**{**asdict(recipe), "steps": steps})
    scenes = training_scenes(pool)
    # one tokenizer for the whole family: its corpus does not depend on the recipe
    corpus = make_rows(RECIPES[0], scenes[:3000], QUESTIONS_A_SCENE, np.random.default_rng(1))
    texts = [f"{row.prompt} {row.answer}" for row in corpus]

    def trained(stage: Stage, model: Any) -> Any:
        processor = make_processor(texts, stage.resample)
        trainer = Trainer(recipe, stage, model, processor, scenes, _pixels(processor, scenes))
        return trainer.train(lambda line: print(line, flush=True))

    first, second = stages(recipe)
    with TemporaryDirectory() as nowhere:
        checkpoint = (first_stage or Path(nowhere)) / recipe.name
        if not (checkpoint / "model.safetensors").exists():
            trained(first, make_model(recipe, make_processor(texts))).half().save_pretrained(
                checkpoint
            )
        model = LlavaForConditionalGeneration.from_pretrained(checkpoint, dtype=torch.float32)
    batch = sample_batch(recipe, make_processor(texts, second.resample), scenes[:32])
    model = trained(second, narrowed(widened(model, recipe.seed), batch))
    folder = destination / recipe.name
    save(model, folder)
    make_processor(texts, second.resample).save_pretrained(
        folder
    )  # one that was never used: a use leaves traces in it
    (folder / "recipe.json").write_text(
        json.dumps(asdict(recipe), indent=2) + "\n", encoding="utf-8"
    )
    pack(folder)


def train_on(
    recipe: Recipe, folder: Path, destination: Path, steps: int | None = None, pool: int = SCENES
) -> None:
    """Train a model that was shipped on, with its own tokenizer, by questions as they are worded
    today; save it in `out/<name>`.
    """
    before = unpack(folder / recipe.name)
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    import torch
    from transformers import LlavaForConditionalGeneration, LlavaProcessor

    torch.set_num_threads(1)
    torch.manual_seed(recipe.seed)
    torch.use_deterministic_algorithms(True)
    scenes = training_scenes(pool)
    model = LlavaForConditionalGeneration.from_pretrained(before, dtype=torch.float32)
    processor = LlavaProcessor.from_pretrained(before)
    n_steps = steps or max(1, recipe.steps // ONWARD)
    stage = Stage(
        stream=9, resample=BICUBIC, rate=1e-3, steps=n_steps, warm_up=n_steps // 8 + 1, eyes=0
    )
    model = Trainer(recipe, stage, model, processor, scenes, _pixels(processor, scenes)).train(
        lambda line: print(line, flush=True)
    )
    save(model, destination / recipe.name)
    for (
        path
    ) in before.iterdir():  # the tokenizer, the processor and the recipe are those that it had
        if not (destination / recipe.name / path.name).exists():
            copyfile(path, destination / recipe.name / path.name)
    pack(destination / recipe.name)


def sample_batch(recipe: Recipe, processor: Any, scenes: list[Scene]) -> dict[str, Any]:
    """A few training questions with their answers, as a model takes them."""
    rows = make_rows(recipe, scenes, QUESTIONS_A_SCENE, np.random.default_rng([recipe.seed, 9]))
    texts = [f"{prompt_text(row.prompt)} {row.answer}<eos>" for row in rows]
    words = processor.tokenizer(texts, add_special_tokens=False, padding=True, return_tensors="pt")
    pixels = _pixels(processor, [scenes[row.scene] for row in rows])
    return {
        "input_ids": words["input_ids"],
        "attention_mask": words["attention_mask"],
        "pixel_values": pixels,
    }


def main() -> None:
    """Train the recipes, two processes at a time."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", help="names of recipes")
    parser.add_argument("--out", type=Path, default=RESPONDENTS)
    parser.add_argument("--steps", type=int, help="overrides every recipe's steps (for a trial)")
    parser.add_argument(
        "--scenes",
        type=int,
        default=SCENES,
        help="size of the pool of training scenes (for a trial)",
    )
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--first-stage",
        type=Path,
        help="a folder for the first stage's results; what is there is used",
    )
    parser.add_argument(
        "--onward",
        type=Path,
        help="a folder of trained respondents: train these on, with their own tokenizer",
    )
    options = parser.parse_args()
    unknown = set(options.only or ()) - {recipe.name for recipe in RECIPES}
    if unknown:
        parser.error(
            f"no recipe {', '.join(sorted(unknown))}; there are"
            f" {', '.join(r.name for r in RECIPES)}"
        )
    recipes = [recipe for recipe in RECIPES if not options.only or recipe.name in options.only]
    with ProcessPoolExecutor(options.processes, mp_context=get_context("spawn")) as pool:
        if options.onward is not None:
            futures = [
                pool.submit(
                    train_on, recipe, options.onward, options.out, options.steps, options.scenes
                )
                for recipe in recipes
            ]
        else:
            settings = (options.out, options.steps, options.scenes, options.first_stage)
            futures = [pool.submit(train_one, recipe, *settings) for recipe in recipes]
        for future in futures:
            future.result()
