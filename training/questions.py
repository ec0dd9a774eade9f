"""Drawn scenes and questions about them, with their right answers and one true sentence each.

Every question belongs to one of the eight hallucination types and one of four tasks. The same
functions make the benchmark's items (fixed seed) and the respondents' training questions (other
scenes).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hqm.benchmarks.shapes.scene import (
    ACTIONS,
    COLORS,
    DIRECTIONS,
    GRID,
    GROUNDS,
    NUMBERS,
    SHAPES,
    SIZES,
    SKIES,
    Scene,
    SceneObject,
    relation,
)

WORDS = ("CAT", "DOG", "SUN", "BUS", "HAT", "KEY", "CUP", "MAP")
DIGITS = tuple("0123456789")
SHORT_DIRECTIONS = {
    "left": "to the left",
    "right": "to the right",
    "above": "above",
    "below": "below",
}
INSTRUCTIONS = (
    "Describe the image.",
    "What is in the image?",
    "Write a caption for the image.",
    "Tell me what you see in the image.",
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its right answer, and a true sentence about what it asks."""

    type: str
    text: str
    answer: str
    fact: str
    value: str
    """The word of the fact that decides the question; respondents are trained to represent it."""
    options: tuple[str, ...] = field(default=())


def _pick(rng: np.random.Generator, values: Any) -> Any:
    values = list(values)
    return values[int(rng.integers(len(values)))]


def random_scene(rng: np.random.Generator) -> Scene:
    """Draw a scene: 1 to 4 shapes, a figure and a sign three times out of four."""
    cells = iter(rng.permutation(GRID * GRID).tolist())
    scene_objects = tuple(
        sorted(
            (
                SceneObject(_pick(rng, SHAPES), _pick(rng, COLORS), _pick(rng, SIZES), next(cells))
                for _ in range(int(rng.integers(1, 5)))
            ),
            key=lambda scene_object: scene_object.cell,
        )
    )
    action = _pick(rng, ACTIONS) if rng.random() < 0.75 else None
    action_cell = next(cells) if action else None
    sign = None
    if rng.random() < 0.75:
        sign = _pick(rng, WORDS if rng.random() < 0.5 else DIGITS)
    sign_cell = next(cells) if sign else None
    return Scene(
        _pick(rng, SKIES), _pick(rng, GROUNDS), scene_objects, action, action_cell, sign, sign_cell
    )


def _single_object(scene: Scene, shape: str) -> SceneObject | None:
    """The thing of this shape if there is exactly one, otherwise None."""
    matches = [scene_object for scene_object in scene.things if scene_object.shape == shape]
    return matches[0] if len(matches) == 1 else None


def _single_objects(scene: Scene) -> list[SceneObject]:
    """The objects whose shape occurs once."""
    return [item for item in scene.things if _single_object(scene, item.shape)]


def _objects_named(scene: Scene, color: str, shape: str) -> list[SceneObject]:
    return [
        scene_object
        for scene_object in scene.things
        if (scene_object.color, scene_object.shape) == (color, shape)
    ]


def uniquely_named(scene: Scene) -> list[SceneObject]:
    """The things that colour and shape identify: there is only one red circle, for example."""
    return [
        scene_object
        for scene_object in scene.things
        if len(_objects_named(scene, scene_object.color, scene_object.shape)) == 1
    ]


def related_pairs(scene: Scene) -> list[tuple[SceneObject, SceneObject]]:
    """Ordered pairs of things, identified by colour and shape, that share a row or a column."""
    return [
        (a, b)
        for a, b in itertools.permutations(uniquely_named(scene), 2)
        if relation(a, b) is not None
    ]


def plural(shape: str) -> str:
    """The plural of a shape's name."""
    return f"{shape}s"


def counted(number: int, shape: str) -> str:
    """A number of shapes in words: 'no circles', 'one circle', 'two circles'."""
    return f"{'no' if number == 0 else NUMBERS[number]} {shape if number == 1 else plural(shape)}"


def _number(number: int) -> str:
    return "no" if number == 0 else NUMBERS[number]


def _count_fact(scene: Scene, shape: str) -> str:
    number = scene.count(shape)
    return f"there {'is' if number == 1 else 'are'} {counted(number, shape)}"


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _relation_fact(a: SceneObject, b: SceneObject) -> str:
    return f"the {a.name} is {DIRECTIONS[relation(a, b) or 'left']} the {b.name}"


def _comparison_fact(scene: Scene, a: str, b: str) -> str:
    count_a, count_b = scene.count(a), scene.count(b)
    if count_a == count_b:
        return f"there are as many {plural(a)} as {plural(b)}"
    return f"there are {'more' if count_a > count_b else 'fewer'} {plural(a)} than {plural(b)}"


def _sizes_differ(scene: Scene) -> list[tuple[SceneObject, SceneObject]]:
    """Ordered pairs (larger, smaller) of things that colour and shape identify."""
    scene_objects = uniquely_named(scene)
    return [
        (a, b)
        for a, b in itertools.permutations(scene_objects, 2)
        if (a.size, b.size) == ("large", "small")
    ]


def _absent(scene: Scene, rng: np.random.Generator, close_share: float = 0.5) -> tuple[str, str]:
    """A colour and a shape that no thing has together; half of the time one of the two occurs in
    the scene.
    """
    names = [(c, s) for c in COLORS for s in SHAPES if not _objects_named(scene, c, s)]
    close = [(c, s) for c, s in names if any(c == t.color or s == t.shape for t in scene.things)]
    color, shape = _pick(rng, close if close and rng.random() < close_share else names)
    return color, shape


# --- yes/no: each builder returns a question whose right answer is `truth`, or None when the scene
# allows none ---


def _yes_no_existence(scene: Scene, truth: bool, rng: np.random.Generator) -> Question | None:
    if rng.random() < 0.2:
        word, content = _pick(rng, [("person", scene.action), ("sign", scene.sign)])
        if (content is not None) == truth:
            return _polar(
                "existence",
                f"Is there a {word} in the image?",
                truth,
                fact=f"there is {'a' if truth else 'no'} {word}",
                value=word if truth else "no",
            )
    if truth:
        scene_object = _pick(rng, scene.things)
        color, shape = scene_object.color, scene_object.shape
    else:
        color, shape = _absent(scene, rng)
    return _polar(
        "existence",
        f"Is there a {color} {shape} in the image?",
        truth,
        fact=f"there is {'a' if truth else 'no'} {color} {shape}",
        value=shape if truth else "no",
    )


def _yes_no_attribute(scene: Scene, truth: bool, rng: np.random.Generator) -> Question | None:
    if rng.random() < 0.3 and uniquely_named(scene):
        scene_object = _pick(rng, uniquely_named(scene))
        size = (
            scene_object.size if truth else _pick(rng, [s for s in SIZES if s != scene_object.size])
        )
        return _polar(
            "attribute",
            f"Is the {scene_object.name} {size}?",
            truth,
            f"the {scene_object.name} is {scene_object.size}",
            scene_object.size,
        )
    single = _single_objects(scene)
    if not single:
        return None
    scene_object = _pick(rng, single)
    color = (
        scene_object.color if truth else _pick(rng, [c for c in COLORS if c != scene_object.color])
    )
    return _polar(
        "attribute",
        f"Is the {scene_object.shape} {color}?",
        truth,
        f"the {scene_object.shape} is {scene_object.color}",
        scene_object.color,
    )


def _yes_no_action(scene: Scene, truth: bool, rng: np.random.Generator) -> Question | None:
    if scene.action is None:
        return None
    action = scene.action if truth else _pick(rng, [a for a in ACTIONS if a != scene.action])
    return _polar(
        "action", f"Is the person {action}?", truth, f"the person is {scene.action}", scene.action
    )


MAX_ASKED_NUMBER = 3
"""The largest number that a yes/no question asks about."""


def exact_count_question(number: int, shape: str) -> str:
    """The question whether there are exactly so many of a shape."""
    verb = "Is" if number == 1 else "Are"
    return f"{verb} there exactly {counted(number, shape)} in the image?"


def _yes_no_counting(scene: Scene, truth: bool, rng: np.random.Generator) -> Question | None:
    shape = _pick(
        rng, [s for s in SHAPES if scene.count(s)] if truth or rng.random() < 0.7 else SHAPES
    )
    number = scene.count(shape)
    if not truth:
        number = _pick(rng, [n for n in (1, 2, 3) if n != number])
    if number > MAX_ASKED_NUMBER:
        return None
    return _polar(
        "counting",
        text=exact_count_question(number, shape),
        truth=truth,
        fact=_count_fact(scene, shape),
        value=_number(scene.count(shape)),
    )


def _yes_no_environment(scene: Scene, truth: bool, rng: np.random.Generator) -> Question | None:
    if rng.random() < 0.5:
        sky = scene.sky if truth else _pick(rng, [s for s in SKIES if s != scene.sky])
        return _polar(
            "environment", f"Is it {sky} in the image?", truth, f"it is {scene.sky}", scene.sky
        )
    ground = scene.ground if truth else _pick(rng, [g for g in GROUNDS if g != scene.ground])
    return _polar(
        "environment",
        f"Is the ground covered with {ground}?",
        truth,
        fact=f"the ground is covered with {scene.ground}",
        value=scene.ground,
    )


def _yes_no_relation(scene: Scene, truth: bool, rng: np.random.Generator) -> Question | None:
    pairs = related_pairs(scene)
    if not pairs:
        return None
    a, b = _pick(rng, pairs)
    lies = relation(a, b)
    direction: str = lies if truth and lies else _pick(rng, [d for d in DIRECTIONS if d != lies])
    return _polar(
        "relation",
        text=f"Is the {a.name} {DIRECTIONS[direction]} the {b.name}?",
        truth=truth,
        fact=_relation_fact(a, b),
        value=str(lies),
    )


def _yes_no_comparison(scene: Scene, truth: bool, rng: np.random.Generator) -> Question | None:
    sized = _sizes_differ(scene)
    if sized and rng.random() < 0.5:
        large, small = _pick(rng, sized)
        a, b = (large, small) if truth else (small, large)
        fact = f"the {large.name} is larger than the {small.name}"
        return _polar(
            "comparison", f"Is the {a.name} larger than the {b.name}?", truth, fact, large.shape
        )
    pairs = [
        (a, b)
        for a, b in itertools.permutations(SHAPES, 2)
        if scene.count(a) + scene.count(b) and (scene.count(a) > scene.count(b)) == truth
    ]
    if not pairs:
        return None
    a, b = _pick(rng, pairs)
    fact = _comparison_fact(scene, a, b)
    return _polar(
        "comparison",
        text=f"Are there more {plural(a)} than {plural(b)} in the image?",
        truth=truth,
        fact=fact,
        value=next(w for w in ("more", "fewer", "many") if w in fact),
    )


def _yes_no_ocr(scene: Scene, truth: bool, rng: np.random.Generator) -> Question | None:
    if scene.sign is None:
        return None
    text = (
        scene.sign if truth else _pick(rng, [w for w in _texts_like(scene.sign) if w != scene.sign])
    )
    return _polar(
        "ocr", f"Does the sign say {text}?", truth, f"the sign says {scene.sign}", scene.sign
    )


def _texts_like(text: str) -> Sequence[str]:
    return WORDS if text in WORDS else DIGITS


def _polar(kind: str, text: str, truth: bool, fact: str, value: str) -> Question:
    return Question(kind, text, "yes" if truth else "no", fact, value)


_YES_NO: dict[str, Callable[[Scene, bool, np.random.Generator], Question | None]] = {
    "attribute": _yes_no_attribute,
    "action": _yes_no_action,
    "counting": _yes_no_counting,
    "environment": _yes_no_environment,
    "relation": _yes_no_relation,
    "comparison": _yes_no_comparison,
    "ocr": _yes_no_ocr,
    "existence": _yes_no_existence,
}


def yes_no(scene: Scene, kind: str, truth: bool, rng: np.random.Generator) -> Question | None:
    """A yes/no question of one type whose right answer is `truth`, or None when the scene allows
    none.
    """
    return _YES_NO[kind](scene, truth, rng)


# --- open questions: the answer is a word or two; the options are every answer of the same class
# ---


def _open_attribute(scene: Scene, rng: np.random.Generator) -> Question | None:
    single = _single_objects(scene)
    if not single:
        return None
    scene_object = _pick(rng, single)
    shape, color = scene_object.shape, scene_object.color
    text = f"What color is the {shape}?"
    return Question("attribute", text, color, f"the {shape} is {color}", color, tuple(COLORS))


def _open_action(scene: Scene, rng: np.random.Generator) -> Question | None:
    action = scene.action
    if not action:
        return None
    text = "What is the person doing?"
    return Question("action", text, action, f"the person is {action}", action, ACTIONS)


def count_question(shape: str) -> str:
    """The question how many of a shape there are."""
    return f"How many {plural(shape)} are there in the image?"


def _open_counting(scene: Scene, rng: np.random.Generator) -> Question | None:
    shape = _pick(rng, [s for s in SHAPES if scene.count(s)] if rng.random() < 0.8 else SHAPES)
    text = count_question(shape)
    number = scene.count(shape)
    fact = _count_fact(scene, shape)
    return Question("counting", text, NUMBERS[number], fact, _number(number), NUMBERS)


def _open_environment(scene: Scene, rng: np.random.Generator) -> Question | None:
    ground = scene.ground
    fact = f"the ground is covered with {ground}"
    text = "What covers the ground?"
    return Question("environment", text, ground, fact, ground, tuple(GROUNDS))


def _open_relation(scene: Scene, rng: np.random.Generator) -> Question | None:
    pairs = related_pairs(scene)
    if not pairs:
        return None
    a, b = _pick(rng, pairs)
    direction = relation(a, b) or "left"
    text = f"Where is the {a.name} relative to the {b.name}?"
    answer = SHORT_DIRECTIONS[direction]
    options = tuple(SHORT_DIRECTIONS.values())
    return Question("relation", text, answer, _relation_fact(a, b), direction, options)


def _open_comparison(scene: Scene, rng: np.random.Generator) -> Question | None:
    pairs = _sizes_differ(scene)
    if not pairs:
        return None
    large, small = _pick(rng, pairs)
    first, second = (large, small) if rng.random() < 0.5 else (small, large)
    text = f"Which is larger, the {first.name} or the {second.name}?"
    fact = f"the {large.name} is larger than the {small.name}"
    return Question("comparison", text, large.name, fact, large.shape, (first.name, second.name))


def _open_ocr(scene: Scene, rng: np.random.Generator) -> Question | None:
    sign = scene.sign
    if not sign:
        return None
    rivals = tuple(_texts_like(sign))
    return Question("ocr", "What does the sign say?", sign, f"the sign says {sign}", sign, rivals)


def _open_existence(scene: Scene, rng: np.random.Generator) -> Question | None:
    present = [s for s in SHAPES if scene.count(s)]
    fact = f"there is {_listed(list(map(_article, present)))}"
    text = "Which shapes are in the image?"
    return Question("existence", text, _listed(present), fact, present[0], SHAPES)


_OPEN: dict[str, Callable[[Scene, np.random.Generator], Question | None]] = {
    "attribute": _open_attribute,
    "action": _open_action,
    "counting": _open_counting,
    "environment": _open_environment,
    "relation": _open_relation,
    "comparison": _open_comparison,
    "ocr": _open_ocr,
    "existence": _open_existence,
}


def open_question(scene: Scene, kind: str, rng: np.random.Generator) -> Question | None:
    """A short-answer question of one type; its options list the right answer and its rivals."""
    return _OPEN[kind](scene, rng)


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def choice(scene: Scene, kind: str, rng: np.random.Generator) -> Question | None:
    """A question with four options in random order, exactly one of them right."""
    if kind == "existence":
        scene_object = _pick(rng, scene.things)
        wrong = [f"{c} {s}" for c in COLORS for s in SHAPES if not _objects_named(scene, c, s)]
        text, right, value = (
            "Which of these is in the image?",
            scene_object.name,
            scene_object.shape,
        )
        fact = f"there is a {scene_object.name}"
    elif kind == "comparison":
        counts = sorted(((scene.count(s), s) for s in SHAPES), reverse=True)
        if counts[0][0] == counts[1][0]:
            return None
        text, right = "Which shape is there most of in the image?", counts[0][1]
        value = right
        wrong, fact = [s for s in SHAPES if s != right], _count_fact(scene, right)
    else:
        question = open_question(scene, kind, rng)
        if question is None:
            return None
        text, right, fact, value = question.text, question.answer, question.fact, question.value
        wrong = [option for option in question.options if option != right]
    drawn_options = [wrong[int(i)] for i in rng.permutation(len(wrong))[:3]] + [right]
    options = tuple(drawn_options[int(i)] for i in rng.permutation(4))
    return Question(kind, text, right, fact, value, options)


def caption(scene: Scene, terse: bool = False) -> str:
    """A true description of all shapes, the person, the sign, the light and the ground; of the
    shapes only if terse.
    """
    names = [
        f"{scene_object.size} {scene_object.name}" if not terse else scene_object.name
        for scene_object in scene.things
    ]
    first = f"There is {_listed([_article(name) for name in names])}."
    if terse:
        return first
    sentences = [f"The person is {scene.action}."] if scene.action else []
    sentences += [f"The sign says {scene.sign}."] if scene.sign else []
    sentences += [f"It is {scene.sky}.", f"The ground is covered with {scene.ground}."]
    return " ".join([first, *sentences])
