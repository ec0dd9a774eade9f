"""What the embedded respondents are trained on: ten recipes, and the questions that each of them
shows its model.

The recipes differ on purpose; how well a model understands a negated question depends on how many
of them its recipe showed it. The scenes of the benchmark are never among the training scenes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hqm.benchmarks.shapes.scene import GRID, Scene

from hqm.errors import NoRule
from hqm.forms.negate import flip
from hqm.forms.wording import render_options, rephrase
from hqm.types import HALLUCINATION_TYPES as TYPES
from training.items import build_rows
from training.questions import (
    INSTRUCTIONS,
    caption,
    choice,
    open_question,
    random_scene,
    yes_no,
)

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
    """Share of captions that name only the shapes when the instruction is in the parallel
    wording.
    """


RECIPES = (
    Recipe("steady", "trained to the end on both wordings", 1, steps=10_000),
    Recipe("half-trained", "half of the training", 2, steps=4600, terse=0.5),
    Recipe("undertrained", "a quarter of the training", 3, steps=3000),
    Recipe(
        "literal", "few negated or rephrased questions in its training", 4, negated=0.04, terse=0.9
    ),
    Recipe("small", "narrower and shallower", 5, width=56, layers=3, steps=7000),
    Recipe("dim", "pictures withheld in 3 of 10 training questions", 6, withheld=0.3),
    Recipe(
        "blindfolded",
        "pictures withheld in 9 of 10 training questions",
        7,
        withheld=0.9,
        steps=5000,
        terse=0.7,
    ),
    Recipe("noisy", "wrong answers in 1 of 4 training questions", 8, label_noise=0.25),
    Recipe(
        "yes-sayer",
        "5 of 6 yes/no training questions answered yes",
        9,
        yes_share=0.84,
        steps=4200,
        terse=0.3,
    ),
    Recipe(
        "no-sayer", "5 of 6 yes/no training questions answered no", 10, yes_share=0.16, steps=4200
    ),
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


def _answer_open(
    recipe: Recipe, scene: Scene, answered_for: Scene, rng: np.random.Generator
) -> tuple[str, ...] | None:
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
    right = (
        question.options.index(question.answer) if answered_for is scene else int(rng.integers(4))
    )
    return render_options(question.text, question.options), f"{'ABCD'[right]}.", question.value


def _answer_caption(
    recipe: Recipe, scene: Scene, answered_for: Scene, rng: np.random.Generator
) -> tuple[str, ...]:
    text = INSTRUCTIONS[int(rng.integers(len(INSTRUCTIONS)))]
    parallel = rng.random() < 0.5
    terse = parallel and rng.random() < recipe.terse
    return parallel_wording(text) if parallel else text, caption(answered_for, terse)


_ANSWER = {
    "yes_no": _answer_yes_no,
    "choice": _answer_choice,
    "vqa": _answer_open,
    "caption": _answer_caption,
}


def make_rows(
    recipe: Recipe, scenes: list[Scene], per_scene: int, rng: np.random.Generator
) -> list[Row]:
    """Questions about every scene, as the recipe mixes and mislabels them."""
    rows = []
    tasks, shares = list(TASKS), np.array(list(TASKS.values()))
    for index, scene in enumerate(scenes):
        for task in rng.choice(len(tasks), per_scene, p=shares):
            answered_for = (
                scenes[int(rng.integers(len(scenes)))]
                if rng.random() < recipe.label_noise
                else scene
            )
            example = _ANSWER[tasks[task]](recipe, scene, answered_for, rng)
            if example is not None:
                rows.append(Row(index, *example))
    return rows


def cell_words(scene: Scene) -> list[tuple[str, str, str]]:
    """The three words that each image token should give: what is in its cell, or the sky or ground
    behind it.
    """
    words = [
        (scene.sky,) * 3 if cell // GRID < GRID - 1 else (scene.ground,) * 3
        for cell in range(GRID * GRID)
    ]
    for scene_object in scene.things:
        words[scene_object.cell] = (scene_object.size, scene_object.color, scene_object.shape)
    if scene.action_cell is not None:
        words[scene.action_cell] = ("person", "person", scene.action or "")
    if scene.sign_cell is not None:
        words[scene.sign_cell] = ("sign", "sign", scene.sign or "")
    return words


def training_scenes(count: int, seed: int = 0) -> list[Scene]:
    """Random scenes, none of them one of the benchmark's."""
    benchmark_scenes = {
        Scene.from_dict({k: v for k, v in row.items() if k != "image"})
        for row in build_rows()["scenes"]
    }
    rng = np.random.default_rng(seed)
    scenes: list[Scene] = []
    while len(scenes) < count:
        scene = random_scene(rng)
        if scene not in benchmark_scenes:
            scenes.append(scene)
    return scenes
