"""Train the embedded respondents: tiny LLaVA models that look at drawn scenes and answer.

    python -m hqm.benchmarks.shapes.train                           every recipe, into benchmarks/shapes/respondents
    python -m hqm.benchmarks.shapes.train --only steady --out /tmp  one of them, elsewhere

Each model is a genuine `LlavaForConditionalGeneration` (CLIP tower, projector, Llama decoder) with a tokenizer trained
here, saved as half-precision safetensors under 1 MB. One thread, fixed seeds and a fixed number of steps make a run
repeatable. The recipes differ on purpose; how well a model understands a negated question depends on how many of them
its recipe showed it. The scenes of the benchmark are never among the training scenes. Recipes, data, loss and loop are
in one module because together they record how the shipped weights were made.

Minutes on a CPU are enough because of three choices: weights are drawn at 1/sqrt(fan-in); a loss makes each image token
give, through the output matrix, the words of its cell (this is the only loss for the first eighth of the steps); and a loss
makes the state at the end of the question, two layers below the top, give the word that decides the question.
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
from typing import Any

import numpy as np
from hqm.benchmarks.shapes.build import build_rows
from hqm.benchmarks.shapes.questions import INSTRUCTIONS, TYPES, caption, choice, open_question, yes_no
from hqm.benchmarks.shapes.scene import GRID, Scene, draw, random_scene

from hqm.errors import NoRule
from hqm.forms.options import render_options
from hqm.forms.polar import flip
from hqm.forms.wording import rephrase

SIZE, PATCH = 48, 16
IMAGE_TOKENS = (SIZE // PATCH) ** 2
SCENES, QUESTIONS_A_SCENE, BATCH = 20_000, 8, 64
TASKS = {"yes_no": 0.5, "choice": 0.25, "vqa": 0.17, "caption": 0.08}


@dataclass(frozen=True, slots=True)
class Recipe:
    """The settings in which one respondent differs from the others."""

    name: str
    about: str
    seed: int
    steps: int = 6000
    width: int = 80
    layers: int = 4
    withheld: float = 0.0
    """Share of training questions asked with a blank picture."""
    label_noise: float = 0.0
    """Share of training questions answered for another scene."""
    yes_share: float = 0.5
    """Share of yes/no training questions whose right answer is yes."""
    negated: float = 0.35
    """Share of questions shown in the parallel wording (yes/no: negated; others: rephrased)."""
    terse: float = 0.0
    """Share of captions that name only the shapes when the instruction is in the parallel wording."""


RECIPES = (
    Recipe("steady", "trained to the end on both wordings", 1, steps=10_000),
    Recipe("half-trained", "half of the training", 2, steps=4600, terse=0.5),
    Recipe("undertrained", "a quarter of the training", 3, steps=3000),
    Recipe("literal", "few negated or rephrased questions in its training", 4, negated=0.04, terse=0.9),
    Recipe("small", "narrower and shallower", 5, width=56, layers=3, steps=7000),
    Recipe("dim", "pictures withheld in 3 of 10 training questions", 6, withheld=0.3),
    Recipe("blindfolded", "pictures withheld in 9 of 10 training questions", 7, withheld=0.9, steps=5000, terse=0.7),
    Recipe("noisy", "wrong answers in 1 of 4 training questions", 8, label_noise=0.25),
    Recipe("yes-sayer", "5 of 6 yes/no training questions answered yes", 9, yes_share=0.84, steps=4200, terse=0.3),
    Recipe("no-sayer", "5 of 6 yes/no training questions answered no", 10, yes_share=0.16, steps=4200),
)


def parallel_wording(text: str) -> str:
    """The parallel wording of an open question or an instruction, as `hqm.forms` makes it."""
    try:
        return rephrase(text).prompt
    except NoRule:
        return text


@dataclass(frozen=True, slots=True)
class Row:
    """One training question with its answer."""

    scene: int
    prompt: str
    answer: str
    value: str = ""


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _elaborated(answer: str, fact: str, rng: np.random.Generator) -> str:
    return f"{answer}, {fact}." if rng.random() < 0.35 else f"{answer}."


def _answer_yes_no(
    recipe: Recipe, scene: Scene, answered_for: Scene, rng: np.random.Generator
) -> tuple[str, ...] | None:
    kind, negated = TYPES[int(rng.integers(len(TYPES)))], rng.random() < recipe.negated
    says_yes = rng.random() < recipe.yes_share
    question = yes_no(scene, kind, says_yes != negated, rng)
    if question is None:
        return None
    if answered_for is not scene:  # a wrong label: the answer that another picture would deserve
        says_yes = rng.random() < recipe.yes_share
    text = flip(question.text).prompt if negated else question.text
    return text, _elaborated("Yes" if says_yes else "No", question.fact, rng), question.value


def _answer_open(recipe: Recipe, scene: Scene, answered_for: Scene, rng: np.random.Generator) -> tuple[str, ...] | None:
    kind = TYPES[int(rng.integers(len(TYPES)))]
    question = open_question(scene, kind, rng)
    answered = question if answered_for is scene else open_question(answered_for, kind, rng)
    if question is None or answered is None:
        return None
    text = parallel_wording(question.text) if rng.random() < recipe.negated else question.text
    return text, _sentence(answered.fact if rng.random() < 0.3 else answered.answer), answered.value


def _answer_choice(
    recipe: Recipe, scene: Scene, answered_for: Scene, rng: np.random.Generator
) -> tuple[str, ...] | None:
    question = choice(scene, TYPES[int(rng.integers(len(TYPES)))], rng)
    if question is None:
        return None
    right = question.options.index(question.answer) if answered_for is scene else int(rng.integers(4))
    return render_options(question.text, question.options), f"{'ABCD'[right]}.", question.value


def _answer_caption(recipe: Recipe, scene: Scene, answered_for: Scene, rng: np.random.Generator) -> tuple[str, ...]:
    text = INSTRUCTIONS[int(rng.integers(len(INSTRUCTIONS)))]
    parallel = rng.random() < 0.5
    terse = parallel and rng.random() < recipe.terse
    return parallel_wording(text) if parallel else text, caption(answered_for, terse)


_ANSWER = {"yes_no": _answer_yes_no, "choice": _answer_choice, "vqa": _answer_open, "caption": _answer_caption}


def make_rows(recipe: Recipe, scenes: list[Scene], per_scene: int, rng: np.random.Generator) -> list[Row]:
    """Questions about every scene, as the recipe mixes and mislabels them."""
    rows = []
    tasks, shares = list(TASKS), np.array(list(TASKS.values()))
    for index, scene in enumerate(scenes):
        for task in rng.choice(len(tasks), per_scene, p=shares):
            answered_for = scenes[int(rng.integers(len(scenes)))] if rng.random() < recipe.label_noise else scene
            made = _ANSWER[tasks[task]](recipe, scene, answered_for, rng)
            if made is not None:
                rows.append(Row(index, *made))
    return rows


def make_processor(corpus: list[str]) -> Any:
    """A LLaVA processor: a byte-pair tokenizer of the training sentences and a Pillow image processor."""
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
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        bos_token="<bos>",
        eos_token="<eos>",
        unk_token="<unk>",
        padding_side="left",
        model_max_length=256,
        extra_special_tokens={"image_token": "<image>"},
    )
    side = {"height": SIZE, "width": SIZE}
    pictures = CLIPImageProcessorPil(
        size=side, crop_size=side, do_center_crop=False, resample=4, image_mean=[0.5] * 3, image_std=[0.5] * 3
    )
    # the picture stands first, so that all questions about it share a prefix
    template = (
        "{% for m in messages %}{% if m['role'] == 'user' %}<bos><user>"
        "{% for c in m['content'] %}{% if c['type'] == 'image' %}<image>{% endif %}{% endfor %}"
        "{% for c in m['content'] %}{% if c['type'] == 'text' %} {{ c['text'] }}{% endif %}{% endfor %}"
        "{% else %}<assistant> {{ m['content'] }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    return LlavaProcessor(
        image_processor=pictures,
        tokenizer=fast,
        patch_size=PATCH,
        chat_template=template,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
    )


def prompt_text(prompt: str) -> str:
    """The chat template's text for one question, with the picture's tokens spelled out."""
    return f"<bos><user>{'<image>' * IMAGE_TOKENS} {prompt}<assistant>"


def make_model(recipe: Recipe, processor: Any) -> Any:
    """A LLaVA of the recipe's size with weights drawn at 1/sqrt(fan-in), which narrow models need to learn quickly."""
    import torch
    from transformers import CLIPVisionConfig, GenerationConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration

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


def cell_words(scene: Scene) -> list[tuple[str, str, str]]:
    """The three words that each image token should give: what is in its cell, or the sky or ground behind it."""
    words = [(scene.sky,) * 3 if cell // GRID < GRID - 1 else (scene.ground,) * 3 for cell in range(GRID * GRID)]
    for thing in scene.things:
        words[thing.cell] = (thing.size, thing.color, thing.shape)
    if scene.action_cell is not None:
        words[scene.action_cell] = ("person", "person", scene.action or "")
    if scene.sign_cell is not None:
        words[scene.sign_cell] = ("sign", "sign", scene.sign or "")
    return words


class Trainer:
    """Trains one recipe on a pool of scenes; each batch has questions of similar length."""

    def __init__(self, recipe: Recipe, processor: Any, scenes: list[Scene], pixels: Any) -> None:
        import torch

        self.recipe, self.processor, self.pixels = recipe, processor, pixels
        self.rng = np.random.default_rng([recipe.seed, 7])
        tokenizer = processor.tokenizer
        rows = make_rows(recipe, scenes, QUESTIONS_A_SCENE, self.rng)
        prompts = tokenizer([prompt_text(row.prompt) for row in rows], add_special_tokens=False)["input_ids"]
        answers = tokenizer([f" {row.answer}<eos>" for row in rows], add_special_tokens=False)["input_ids"]
        self.rows = [(np.array(p + a), len(p)) for p, a in zip(prompts, answers, strict=True)]
        self.scene_of = np.array([row.scene for row in rows])
        self.length = np.array([len(ids) for ids, _ in self.rows])
        self.value = torch.tensor([self._first_token(row.value) if row.value else -100 for row in rows])
        first = {word: self._first_token(word) for scene in scenes for cell in cell_words(scene) for word in cell}
        self.cells = torch.tensor([[[first[w] for w in cell] for cell in cell_words(scene)] for scene in scenes])
        self.model = make_model(recipe, processor)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-3, betas=(0.9, 0.98), weight_decay=0.01)

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

    def _collate(self, chosen: np.ndarray) -> tuple[Any, Any]:
        import torch

        width = int(self.length[chosen].max())
        ids = np.full((len(chosen), width), self.processor.tokenizer.pad_token_id)
        wanted = np.full((len(chosen), width), -100)
        for r, index in enumerate(chosen):
            row, start = self.rows[index]
            ids[r, : len(row)] = row  # right padding does no harm under a causal mask
            wanted[r, start : len(row)] = row[start:]
        return torch.from_numpy(ids), torch.from_numpy(wanted)

    def _features(self, pixels: Any) -> Any:
        inner = self.model.model
        return inner.multi_modal_projector(inner.vision_tower(pixels).last_hidden_state[:, 1:])

    def _seeing_loss(self, scenes: np.ndarray) -> Any:
        """The loss for what each image token gives, through the output matrix, in place of the words of its cell."""
        import torch

        logp = torch.log_softmax(self.model.lm_head(self._features(self.pixels[scenes])), -1)
        return -logp.gather(2, self.cells[scenes]).mean()

    def _answering_loss(self, chosen: np.ndarray) -> Any:
        """The loss of the answers, and of the word that decides each question, two layers below the top."""
        import torch
        import torch.nn.functional as F

        ids, wanted = self._collate(chosen)
        pixels = self.pixels[self.scene_of[chosen]]
        if self.recipe.withheld:
            hidden = torch.from_numpy(self.rng.random(len(chosen)) < self.recipe.withheld)
            pixels = torch.where(hidden[:, None, None, None], torch.ones(3, SIZE, SIZE), pixels)
        decoder = self.model.model.language_model
        words = self.model.get_input_embeddings()(ids)
        image_id = self.processor.tokenizer.convert_tokens_to_ids("<image>")
        words = words.masked_scatter((ids == image_id)[..., None].expand_as(words), self._features(pixels))
        states = decoder(inputs_embeds=words, use_cache=False, output_hidden_states=True)
        keep = wanted[:, 1:] != -100
        loss = F.cross_entropy(self.model.lm_head(states.last_hidden_state[:, :-1][keep]), wanted[:, 1:][keep])
        value = self.value[chosen]
        if (value >= 0).any():
            question_end = torch.tensor([self.rows[i][1] - 2 for i in chosen])
            below = states.hidden_states[self.recipe.layers - 2][torch.arange(len(chosen)), question_end]
            loss = loss + 0.5 * F.cross_entropy(self.model.lm_head(decoder.norm(below)), value)
        return loss

    def train(self, log: Callable[[str], None]) -> Any:
        """Run all steps and return the trained model in evaluation mode."""
        import torch

        steps, warm = self.recipe.steps, self.recipe.steps // 8
        batches = self.batches()
        self.model.train()
        for step in range(steps):
            for group in self.optimizer.param_groups:  # warm up, then a cosine down to a fiftieth
                cosine = 0.5 * (1 + math.cos(math.pi * step / steps))
                group["lr"] = 3e-3 * min(1.0, (step + 1) / 100) * (0.02 + 0.98 * cosine)
            if step < warm:  # the eyes first: a label for every cell is dense supervision
                loss = self._seeing_loss(self.rng.integers(0, len(self.pixels), 2 * BATCH))
            else:
                chosen = next(batches)
                loss = self._answering_loss(chosen) + 0.3 * self._seeing_loss(self.scene_of[chosen])
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            if (step + 1) % 500 == 0:
                log(f"{self.recipe.name}: step {step + 1} of {steps}, loss {loss.item():.3f}")
        return self.model.eval()


def training_scenes(count: int, seed: int = 0) -> list[Scene]:
    """Random scenes, none of them one of the benchmark's."""
    held_out = {Scene.from_dict({k: v for k, v in row.items() if k != "image"}) for row in build_rows()["scenes"]}
    rng = np.random.default_rng(seed)
    scenes: list[Scene] = []
    while len(scenes) < count:
        scene = random_scene(rng)
        if scene not in held_out:
            scenes.append(scene)
    return scenes


def train_one(recipe: Recipe, out: Path, steps: int | None = None, pool: int = SCENES) -> None:
    """Train a recipe and save model, processor and recipe in `out/<name>`."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(recipe.seed)
    torch.use_deterministic_algorithms(True)
    if steps is not None:
        recipe = Recipe(**{**asdict(recipe), "steps": steps})
    scenes = training_scenes(pool)
    # one tokenizer for the whole family: its corpus does not depend on the recipe
    corpus = make_rows(RECIPES[0], scenes[:3000], QUESTIONS_A_SCENE, np.random.default_rng(1))
    processor = make_processor([f"{row.prompt} {row.answer}" for row in corpus])
    pixels = torch.cat(
        [
            processor.image_processor([draw(scene) for scene in scenes[i : i + 500]], return_tensors="pt")[
                "pixel_values"
            ]
            for i in range(0, len(scenes), 500)
        ]
    )
    model = Trainer(recipe, processor, scenes, pixels).train(lambda line: print(line, flush=True))
    folder = out / recipe.name
    model.half().save_pretrained(folder)
    processor.save_pretrained(folder)
    (folder / "recipe.json").write_text(json.dumps(asdict(recipe), indent=2) + "\n", encoding="utf-8")


def main() -> None:
    """Train the recipes, two processes at a time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", help="names of recipes")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent / "respondents")
    parser.add_argument("--steps", type=int, help="overrides every recipe's steps (for a trial)")
    parser.add_argument("--scenes", type=int, default=SCENES, help="size of the pool of training scenes (for a trial)")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    unknown = set(given.only or ()) - {recipe.name for recipe in RECIPES}
    if unknown:
        parser.error(f"no recipe {', '.join(sorted(unknown))}; there are {', '.join(r.name for r in RECIPES)}")
    chosen = [recipe for recipe in RECIPES if not given.only or recipe.name in given.only]
    with ProcessPoolExecutor(given.processes, mp_context=get_context("spawn")) as pool:
        for future in [pool.submit(train_one, recipe, given.out, given.steps, given.scenes) for recipe in chosen]:
            future.result()


if __name__ == "__main__":
    main()
