"""`hqh`: open questions of all eight hallucination types, by rules that are printed here.

HQH (Yan et al. 2024, arXiv 2406.17115) does not publish its rules. Ours, and what makes a question
ambiguous:

- attribute: the color of an object that its name alone can mean, and that has one color only.
- counting: a class of which every instance is annotated, 0 to 6 of them, no two of them overlapping
  by half or more (IoU).
- relation: where one object lies from another. Both are named so that they can mean nothing else,
  and the centres of their boxes agree with the annotation.
- comparison: which of two such objects takes up more of the picture; the area of one box is over
  1.5 times that of the other, or its width where no heights are known.
- action: what the only object of its class does, if it does one thing.
- environment: what the annotation says of the whole picture.
- ocr: what is written on a thing, if only one of its kind has a text.
- existence: which of four classes, some present and some absent, are there.

An answer is right if it names the right one before any other answer that the question has.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set

from hqm.types import HALLUCINATION_TYPES
from hqm_build.balance import add_open_matches, select_diverse
from hqm_build.graph import (
    Box,
    Draft,
    Object,
    Promise,
    Question,
    SceneGraph,
    SelectedQuestion,
    phrase_for,
    share_of_picture,
)
from hqm_build.lexicon import NUMBERS, near_names, plural, singular, verb_for
from hqm_build.measuring import Measured
from hqm_build.recipes.amber import crowded, unique_objects
from hqm_build.recipes.pope import absent_names, present_objects
from hqm_build.source import Order, Recipe

AREA_RATIO = 1.5
_LARGER = (
    "Which is larger in the image, the {x} or the {y}?",
    "Which takes up more of the image, the {x} or the {y}?",
    "Which covers more of the image, the {x} or the {y}?",
)
_WIDER = (
    "Which is wider in the image, the {x} or the {y}?",
    "Which takes up more of the image's width, the {x} or the {y}?",
    "Which covers more of the width of the image, the {x} or the {y}?",
)
MAX_COUNT = 6
_SHORT = {
    "to the left of": "to the left",
    "to the right of": "to the right",
    "above": "above",
    "below": "below",
}
_TRANSITIVE_VERBS = frozenset(
    "riding holding eating carrying pulling pushing throwing catching hitting reading cutting"
    " drinking".split()
)
_POSITIONS = frozenset(
    ("on", "on top of", "in", "under", "behind", "beside", "next to", "in front of")
)
_ENVIRONMENT = {
    "time of day": (
        "Is it day or night in the image?",
        "What time of day does the image show, day or night?",
        "Is it day or night in the picture?",
    ),
    "ground": (
        "What covers the ground?",
        "What is the ground covered with?",
        "What covers the ground in the image?",
    ),
    "weather": (
        "What is the weather like in the image?",
        "What weather does the image show?",
        "How is the weather in the image?",
    ),
    "place": (
        "Where was the image taken, indoors or outdoors?",
        "Is the place in the image indoors or outdoors?",
        "Does the image show a place indoors or outdoors?",
    ),
}
MIN_NOTED = 5
"""Items with one answer up to which a note on a common answer says nothing."""
_MAX_RIVALS = 60
"""More answers than this are not listed as rivals."""


def _question(
    graph: SceneGraph,
    kind: str,
    prompts: Sequence[str],
    target: object,
    key: str,
    rule: str,
    objects: Sequence[Object] = (),
    **details: object,
) -> Question:
    size = min((share_of_picture(graph, obj) for obj in objects), default=0.0)
    fields: dict[str, object] = {
        "objects": tuple(obj.id for obj in objects),
        "size": size,
        **details,
    }
    return Question(
        image=graph.image.id,
        file=graph.image.file,
        part=kind,
        type=kind,
        prompts=tuple(prompts),
        target=target,
        key=key,
        rule=rule,
        **fields,  # type: ignore[arg-type]
    )


def _attributes(graphs: Sequence[SceneGraph]) -> Iterator[Question]:
    colors = sorted(
        {value for graph in graphs for obj in graph.objects for value in obj.values("color")}
    )
    for graph in graphs:
        for obj in unique_objects(graph):
            object_colors = obj.values("color")
            if len(object_colors) == 1:
                name = obj.name
                verb = verb_for(name)
                yield _question(
                    graph,
                    "attribute",
                    prompts=(
                        f"What color {verb} the {name}?",
                        f"What is the color of the {name}?",
                        f"In the image, what color {verb} the {name}?",
                    ),
                    target=object_colors[0],
                    key=name,
                    rule=f"the only {name} of the picture has one color",
                    objects=[obj],
                    rivals=tuple(colors),
                    competing=tuple(colors),
                )


def _counts(graphs: Sequence[SceneGraph]) -> Iterator[Question]:
    for graph in graphs:
        for name in sorted(graph.image.counted):
            objects = [obj for obj in graph.objects if name in obj.names]
            if (
                len(objects) > MAX_COUNT
                or crowded(graph, name)
                or (not objects and name not in absent_names(graph))
            ):
                continue
            plural_name = plural(singular(name))
            yield _question(
                graph,
                "counting",
                prompts=(
                    f"How many {plural_name} are there in the image?",
                    f"What is the number of {plural_name} in the image?",
                    f"How many {plural_name} are in the image?",
                ),
                target=NUMBERS[len(objects)],
                key=name,
                rule=f"every instance is annotated: {len(objects)}, no two overlapping by half",
                objects=objects,
                rivals=NUMBERS[: MAX_COUNT + 1],
                competing=NUMBERS[: MAX_COUNT + 1],
                extra={"none": NUMBERS[0]},
            )


def direction(a: Box, b: Box) -> str:
    """Return the direction from one box to another, if only one of the four words fits.

    >>> direction(Box(x=0, y=0, width=9, height=9), Box(x=20, y=1, width=9, height=9))
    'to the left of'
    """
    (ax, ay), (bx, by) = a.center, b.center
    # side by side: the boxes share half of the height, or width, of the smaller one
    level = min(a.y + a.height, b.y + b.height) - max(a.y, b.y) >= 0.5 * min(a.height, b.height)
    upright = min(a.x + a.width, b.x + b.width) - max(a.x, b.x) >= 0.5 * min(a.width, b.width)
    if level and (a.x + a.width <= b.x or b.x + b.width <= a.x):
        if ax < bx:
            return "to the left of"
        return "to the right of"
    if upright and (a.y + a.height <= b.y or b.y + b.height <= a.y):
        if ay < by:
            return "above"
        return "below"
    return ""


def _relations(graphs: Sequence[SceneGraph]) -> Iterator[Question]:
    objects_of = _objects_by_predicate(graphs)
    for graph in graphs:
        phrases = [(obj, phrase) for obj in graph.objects if (phrase := phrase_for(graph, obj))]
        predicates: dict[tuple[str, str], str] = {}
        for relation in graph.relations:
            if relation.holds and relation.predicate in _SHORT:
                predicates[relation.subject, relation.object] = relation.predicate
        for a, first in phrases:
            for b, second in phrases:
                if a is b or not (a.box and b.box and a.box.area and b.box.area):
                    continue
                position = direction(a.box, b.box)
                if not position or predicates.get((a.id, b.id), position) != position:
                    continue
                yield _question(
                    graph,
                    "relation",
                    prompts=(
                        f"Where is the {first} relative to the {second}?",
                        f"Where is the {first} relative to the {second} in the image?",
                        f"Where is the {first} in the image relative to the {second}?",
                    ),
                    target=_SHORT[position],
                    key=f"{first} and {second}",
                    rule=(
                        "both are the only things of their names, and the centres of their boxes"
                        " agree"
                    ),
                    objects=[a, b],
                    relations=tuple(
                        r.id for r in graph.relations if (r.subject, r.object) == (a.id, b.id)
                    ),
                    rivals=tuple(_SHORT.values()),
                    competing=tuple(_SHORT.values()),
                )
        yield from _act_questions(graph, objects_of)


def _objects_by_predicate(graphs: Sequence[SceneGraph]) -> dict[str, set[str]]:
    """Predicate -> the names of the things that it is said of."""
    objects_of: dict[str, set[str]] = defaultdict(set)
    for graph in graphs:
        for relation in graph.relations:
            objects_of[relation.predicate].add(graph.by_id[relation.object].name)
    return objects_of


def _act_questions(graph: SceneGraph, objects_of: Mapping[str, Set[str]]) -> Iterator[Question]:
    by_act: dict[tuple[str, str], set[str]] = defaultdict(set)
    for relation in graph.relations:
        by_act[relation.subject, relation.predicate].add(relation.object)
    for relation in graph.relations:
        subject, target = graph.by_id[relation.subject], graph.by_id[relation.object]
        if (
            relation.predicate not in _TRANSITIVE_VERBS | _POSITIONS
            or len(by_act[relation.subject, relation.predicate]) > 1
            or not relation.holds
        ):
            continue
        phrase = phrase_for(graph, subject)
        if phrase and graph.unique_object(target.name) is target:
            # the answers of the same relation elsewhere, without what may mean the right one
            names = objects_of[relation.predicate] - near_names(target.name) - {phrase}
            rivals = tuple(sorted(names))
            if len(rivals) > _MAX_RIVALS:
                rivals = ()
            clause = f"what {verb_for(phrase)} the {phrase} {relation.predicate}"
            yield _question(
                graph,
                "relation",
                prompts=(f"W{clause[1:]}?", f"In the image, {clause}?"),
                target=target.name,
                key=f"{phrase} {relation.predicate}",
                rule=(
                    "the subject is the only thing of its name, and the annotation has one object"
                    " of the relation"
                ),
                objects=[subject, target],
                relations=(relation.id,),
                rivals=rivals,
                competing=rivals[:10],
            )


def _comparisons(graphs: Sequence[SceneGraph]) -> Iterator[Question]:
    for number, graph in enumerate(graphs):
        phrases = [
            (obj, phrase)
            for obj in graph.objects
            if obj.box is not None and (phrase := phrase_for(graph, obj))
        ]
        for i, (a, first) in enumerate(phrases):
            for b, second in phrases[i + 1 :]:
                # where no heights are known, the widths are compared
                flat = not (a.box and b.box and a.box.area and b.box.area)
                sizes = [box.width if flat else box.area for box in (a.box, b.box) if box]
                if min(sizes) <= 0 or max(sizes) / min(sizes) <= AREA_RATIO:
                    continue
                # the box of a figure or a sign is its cell: it is not compared with what has a size
                # of its own
                if bool(a.values("size")) != bool(b.values("size")):
                    continue
                # whose turn it is to be named first does not hang on which is larger
                x, y = (first, second) if (number + i) % 2 else (second, first)
                texts, measure = (_WIDER, "width") if flat else (_LARGER, "area")
                yield _question(
                    graph,
                    "comparison",
                    prompts=tuple(text.format(x=x, y=y) for text in texts),
                    target=first if sizes[0] > sizes[1] else second,
                    key=f"{first} and {second}",
                    rule=f"the {measure} of its box is much larger than that of the other",
                    objects=[a, b],
                    statistic=f"ratio of the {measure}s",
                    value=max(sizes) / min(sizes),
                    rivals=(first, second),
                    competing=(first, second),
                )


def _actions(graphs: Sequence[SceneGraph]) -> Iterator[Question]:
    values = Counter(
        (t.name, v) for graph in graphs for t in graph.objects for v in t.values("action")
    )
    for graph in graphs:
        for obj in unique_objects(graph):
            actions = obj.values("action")
            if len(actions) == 1:
                names = sorted(value for name, value in values if name == obj.name)
                if len(names) < 2:  # nothing else of its name acts otherwise
                    names = sorted({value for _, value in values})
                rivals = tuple(names) if len(names) <= _MAX_RIVALS else ()
                yield _question(
                    graph,
                    "action",
                    prompts=(
                        f"What {verb_for(obj.name)} the {obj.name} doing?",
                        f"What {verb_for(obj.name)} the {obj.name} in the image doing?",
                        f"Which action {verb_for(obj.name)} the {obj.name} performing?",
                    ),
                    target=actions[0],
                    key=obj.name,
                    rule=f"the only {obj.name} does one thing by the annotation",
                    objects=[obj],
                    rivals=rivals,
                    competing=rivals,
                )


def _environments(graphs: Sequence[SceneGraph]) -> Iterator[Question]:
    values = Counter((s.kind, s.value) for graph in graphs for s in graph.settings)
    for graph in graphs:
        for setting in graph.settings:
            if (
                setting.kind in _ENVIRONMENT
                and sum(s.kind == setting.kind for s in graph.settings) == 1
            ):
                rivals = tuple(sorted(value for kind, value in values if kind == setting.kind))
                if len(rivals) > 1:
                    yield _question(
                        graph,
                        "environment",
                        _ENVIRONMENT[setting.kind],
                        setting.value,
                        setting.kind,
                        f"the annotation gives the {setting.kind} of the whole picture",
                        rivals=rivals,
                        competing=rivals,
                    )


def _texts(graphs: Sequence[SceneGraph]) -> Iterator[Question]:
    # a model that names another text of the source first is wrong; of many texts none is listed
    strings = sorted({text.string for graph in graphs for text in graph.texts})
    rivals = tuple(strings) if len(strings) <= _MAX_RIVALS else ()
    for graph in graphs:
        for text in graph.texts:
            if sum(second.carrier == text.carrier for second in graph.texts) == 1:
                yield _question(
                    graph,
                    "ocr",
                    prompts=(
                        f"What does the {text.carrier} say?",
                        f"What is written on the {text.carrier}?",
                        f"What does the {text.carrier} in the image say?",
                    ),
                    target=text.string,
                    key=text.carrier,
                    rule=f"only one {text.carrier} of the picture has a text",
                    rivals=rivals,
                    competing=rivals[:10],
                )


def _existences(graphs: Sequence[SceneGraph]) -> Iterator[Question]:
    for number, graph in enumerate(graphs):
        present_names = sorted(present_objects(graph))
        absent_candidates = absent_names(graph)
        if not present_names or not absent_candidates:
            continue
        # one to three present classes of four, in turn: the number of right answers is no cue
        present = [
            present_names[(number + i) % len(present_names)]
            for i in range(min(len(present_names), 1 + number % 3))
        ]
        absent = [
            absent_candidates[(number * 7 + i) % len(absent_candidates)]
            for i in range(min(len(absent_candidates), 4 - len(present)))
        ]
        listed = sorted({*present, *absent})
        if len(listed) < 2:
            continue
        words = f"{', '.join(listed[:-1])} or {listed[-1]}"
        right = sorted(set(present))
        yield _question(
            graph,
            "existence",
            prompts=(
                f"Which of these are in the image: {words}?",
                f"Of these, what does the image show: {words}?",
                f"What can be seen in the image: {words}?",
            ),
            target=right if len(right) > 1 else right[0],
            key=words,
            rule="the annotation is complete about these classes",
            rivals=tuple(listed),
            competing=tuple(listed),
        )


_KINDS: dict[str, Callable[[Sequence[SceneGraph]], Iterator[Question]]] = {
    "attribute": _attributes,
    "action": _actions,
    "counting": _counts,
    "environment": _environments,
    "relation": _relations,
    "comparison": _comparisons,
    "ocr": _texts,
    "existence": _existences,
}


def draft(order: Order) -> Draft:
    """Each type has an eighth of the items; a note names those for which there are fewer."""
    graphs = order.source.graphs
    selected: list[SelectedQuestion] = []
    notes: list[str] = []
    requested = {
        kind: order.items // 8 + (i < order.items % 8) for i, kind in enumerate(HALLUCINATION_TYPES)
    }
    for kind, number in requested.items():
        # an answer that nothing competes with is right whatever the picture shows
        pool = [question for question in _KINDS[kind](graphs) if len(question.rivals) != 1]
        chosen = select_diverse(pool, number, order.rng)
        selected += add_open_matches(chosen, pool)
        answers = Counter(str(choice.question.target) for choice in chosen)
        for answer, n_items in answers.most_common(1):
            if n_items > max(len(chosen) / 2, MIN_NOTED):
                notes.append(
                    f"{n_items} of {len(chosen)} {kind} items are answered {answer!r}; the"
                    " annotations have no more with another answer"
                )
    return Draft(selected=tuple(selected), requested=requested, notes=tuple(notes))


def promises(measured: Measured) -> tuple[Promise, ...]:
    """No type is short of its number unless a note says so."""

    def is_noted(kind: str) -> bool:
        return any(note.startswith(f"{kind}:") for note in measured.notes)

    unsaid = [
        kind
        for kind in HALLUCINATION_TYPES
        if measured.part_counts.get(kind, 0) < measured.draft.requested[kind] and not is_noted(kind)
    ]
    return (
        Promise(
            name="types",
            sentence=f"types short of their number without a word: {', '.join(unsaid) or 'none'}",
            value=len(unsaid),
            limit=0,
        ),
    )


RECIPE = Recipe(
    name="hqh",
    title="HQH by published rules",
    summary=(
        "Open questions of eight hallucination types, made by published rules that leave out what"
        " is ambiguous."
    ),
    task="vqa",
    must_not="a type short of its number without saying so",
    needs="objects with boxes, attributes, relations, texts or settings: the more, the more types",
    lack="annotations that a rule fits",
    draft=draft,
    promises=promises,
    unread=0.4,
)
