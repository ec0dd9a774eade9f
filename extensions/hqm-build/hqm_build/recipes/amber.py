"""`amber`: existence, state, number, action and relation, each answered yes as often as no.

As AMBER's discriminative questions (Wang et al. 2023, arXiv 2311.07397), without what its release
gives away: it has no existence question whose answer is yes, the parity of an id gives the answers
of attributes, and the type of a relation is its answer. Here every question is asked about two
pictures, or with its two objects exchanged, with opposite answers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from operator import attrgetter

from hqm_build.balance import add_matches, balance_answers, split_items
from hqm_build.graph import (
    Draft,
    Object,
    Promise,
    Question,
    SceneGraph,
    SelectedQuestion,
    Values,
    phrase_for,
    share_of_picture,
    values_of,
    wrong_values,
)
from hqm_build.lexicon import NUMBERS, is_mass, plural, singular, verb_for
from hqm_build.measuring import Measured, words_alone
from hqm_build.recipes.pope import (
    LIMIT,
    WORDS_ALONE,
    absent_names,
    count_co_occurrences,
    presence_question,
    present_objects,
    wordings,
)
from hqm_build.source import Order, Recipe

PARTS = ("existence", "state", "number", "action", "relation")
_STATES = ("color", "size", "state", "material", "weather")
_OVERLAP = 0.5
_STATE = (
    "{Be} the {name} {value} in this image?",
    "{Be} the {name} in the image {value}?",
    "Is it true that the {name} {be} {value}?",
)
_NUMBER = (
    "{Are} there exactly {count} in this image?",
    "{Are} there exactly {count} in the picture?",
    "Is it true that there {are} exactly {count} in the image?",
)
_RELATION = (
    "Is the {a} {predicate} the {b}?",
    "Is the {a} {predicate} the {b} in this image?",
    "Is it true that the {a} is {predicate} the {b}?",
)
_CONTACT = (
    "Is there direct contact between the {a} and the {b}?",
    "Do the {a} and the {b} touch in this image?",
    "In this image, are the {a} and the {b} in direct contact?",
)
OPPOSITES = {
    "to the left of": "to the right of",
    "to the right of": "to the left of",
    "above": "below",
    "below": "above",
}


def unique_objects(graph: SceneGraph) -> list[Object]:
    """Return the objects that are the only one of their class; AMBER's plurals count as one."""
    return [
        obj
        for obj in graph.objects
        if graph.unique_object(obj.name) is obj and obj.name not in graph.image.doubtful
    ]


def _attributes(graphs: tuple[SceneGraph, ...], values: Values, part: str) -> Iterator[Question]:
    kinds = ("action",) if part == "action" else _STATES
    for graph in graphs:
        for obj in unique_objects(graph):
            for kind in kinds:
                object_values = obj.values(kind)
                if not object_values:
                    continue
                value_counts = values.get((obj.name, kind), {})
                competing = tuple(
                    sorted(value for value in value_counts if value not in object_values)
                )
                wrong = wrong_values(graph, obj, kind, value_counts)
                for value, answer in [
                    *((v, "yes") for v in object_values),
                    *((v, "no") for v in wrong),
                ]:
                    yield _attribute(
                        graph,
                        obj,
                        value,
                        answer,
                        part,
                        kind,
                        value_counts.get(value, 0) / len(graphs),
                        competing,
                    )


def _attribute(
    graph: SceneGraph,
    obj: Object,
    value: str,
    answer: str,
    part: str,
    kind: str,
    frequency: float,
    competing: tuple[str, ...],
) -> Question:
    verb = verb_for(obj.name)
    if answer == "yes":
        rule = f"the only {obj.name} has the {kind} {value}"
    elif (obj.name, value) in graph.denied:
        rule = f"the annotation denies that the {obj.name} is so; other pictures have one that is"
    else:
        rule = f"the only {obj.name} has another {kind}; other pictures have one that is {value}"
    return Question(
        image=graph.image.id,
        file=graph.image.file,
        part=part,
        type="action" if part == "action" else "attribute",
        prompts=tuple(
            text.format(Be=verb.capitalize(), be=verb, name=obj.name, value=value)
            for text in _STATE
        ),
        target=answer,
        key=f"{obj.name}: {value}",
        rule=rule,
        statistic="share of pictures with such an object",
        value=frequency,
        objects=(obj.id,),
        competing=competing,
        frequency=frequency,
        size=share_of_picture(graph, obj),
    )


def _numbers(graphs: tuple[SceneGraph, ...]) -> Iterator[Question]:
    picture_counts: dict[str, Counter[int]] = defaultdict(Counter)
    for graph in graphs:
        for name in graph.image.counted:
            picture_counts[name][graph.counts.get(name, 0)] += 1
    for graph in graphs:
        for name in sorted(graph.image.counted):
            number = graph.counts.get(name, 0)
            if not 1 <= number <= 6 or is_mass(name) or crowded(graph, name):
                continue
            wrong = [
                count
                for count in (number - 1, number + 1)
                if 1 <= count <= 6 and count in picture_counts[name]
            ]
            for count in (number, *wrong):
                share = picture_counts[name][count] / len(graphs)
                yield _number_question(graph, name, count, share, wrong)


def _number_question(
    graph: SceneGraph, name: str, count: int, share: float, wrong: list[int]
) -> Question:
    """The question whether a class has a number of objects, and no other."""
    noun = singular(name)
    number = graph.counts.get(name, 0)
    verb = "is" if count == 1 else "are"
    counted_noun = f"{NUMBERS[count]} {noun if count == 1 else plural(noun)}"
    return Question(
        image=graph.image.id,
        file=graph.image.file,
        part="number",
        type="counting",
        prompts=tuple(
            wording.format(Are=verb.capitalize(), are=verb, count=counted_noun)
            for wording in _NUMBER
        ),
        target="yes" if count == number else "no",
        key=f"{name}: {count}",
        rule=f"every {noun} is annotated, and there are {number}",
        statistic="share of pictures with this number",
        value=share,
        frequency=share,
        objects=tuple(obj.id for obj in graph.objects if obj.name == name),
        competing=tuple(str(alternative) for alternative in wrong if alternative != count),
    )


def crowded(graph: SceneGraph, name: str) -> bool:
    """Whether two objects of a class overlap so much that they may be counted as one."""
    boxes = [obj.box for obj in graph.objects if obj.name == name and obj.box is not None]
    return any(a.overlap(b) >= _OVERLAP for i, a in enumerate(boxes) for b in boxes[:i])


def _relations(graphs: tuple[SceneGraph, ...]) -> Iterator[Question]:
    for graph in graphs:
        for relation in graph.relations:
            a, b = graph.by_id[relation.subject], graph.by_id[relation.object]
            first, second = phrase_for(graph, a), phrase_for(graph, b)
            if not first or not second or first == second:
                continue
            if relation.symmetric:
                # contact has no direction: one key for both orders of the names
                low, high = sorted((first, second))
                yield Question(
                    image=graph.image.id,
                    file=graph.image.file,
                    part="relation",
                    type="relation",
                    prompts=tuple(text.format(a=low, b=high) for text in _CONTACT),
                    target="yes" if relation.holds else "no",
                    key=f"{low} {relation.predicate} {high}",
                    relations=(relation.id,),
                    objects=(a.id, b.id),
                    rule=(
                        f"the annotation {'says' if relation.holds else 'denies'} that they are"
                        f" {relation.predicate} each other"
                    ),
                )
            elif relation.predicate in OPPOSITES and relation.holds:
                # both orders of the names are asked, one answered yes and one no
                names = " and ".join(sorted((first, second)))
                for x, y, answer in ((first, second, "yes"), (second, first, "no")):
                    yield Question(
                        image=graph.image.id,
                        file=graph.image.file,
                        part="relation",
                        type="relation",
                        prompts=tuple(
                            text.format(a=x, b=y, predicate=relation.predicate)
                            for text in _RELATION
                        ),
                        target=answer,
                        key=f"{graph.image.id}: {relation.predicate}: {names}",
                        relations=(relation.id,),
                        objects=(a.id, b.id),
                        rule=f"the {first} is {relation.predicate} the {second}, by the annotation",
                        competing=(OPPOSITES[relation.predicate],),
                    )


def _existence(graphs: tuple[SceneGraph, ...]) -> Iterator[Question]:
    co_occurrences = count_co_occurrences(graphs)
    for graph in graphs:
        for name, object_ids in present_objects(graph).items():
            yield presence_question(graph, name, co_occurrences, "existence", object_ids)
        for name in absent_names(graph):
            yield Question(
                image=graph.image.id,
                file=graph.image.file,
                part="existence",
                type="existence",
                prompts=wordings(name),
                target="no",
                key=name,
                rule="the annotation says that it is not there",
                frequency=co_occurrences.frequency(name),
                statistic="share of pictures with it",
                value=co_occurrences.frequency(name),
            )


def draft(order: Order) -> Draft:
    """Five parts; where the annotations have nothing for one, the others share its items."""
    graphs = order.source.graphs
    values = values_of(graphs)
    pools = {
        "existence": list(_existence(graphs)),
        "state": list(_attributes(graphs, values, "state")),
        "number": list(_numbers(graphs)),
        "action": list(_attributes(graphs, values, "action")),
        "relation": list(_relations(graphs)),
    }
    filled_parts = [
        part for part in PARTS if set(map(attrgetter("target"), pools[part])) == {"yes", "no"}
    ]
    notes = [
        f"{part}: no item, the annotations have no questions with both answers"
        for part in PARTS
        if part not in filled_parts
    ]
    selected: list[SelectedQuestion] = []
    groups: dict[str, str] = {}
    requested = split_items(order.items, filled_parts or PARTS)
    for part, number in requested.items():
        used_questions: set[tuple[str, str]] = set()
        pairs = balance_answers(
            pools[part], number, order.rng, used_questions=used_questions, groups=groups
        )
        selected += add_matches(pairs, pools[part], used_questions)
    return Draft(selected=tuple(selected), requested=requested, notes=tuple(notes), groups=groups)


def promises(measured: Measured) -> tuple[Promise, ...]:
    """No finding about labels, neither L1xx nor L2xx, and nothing to be had from words alone."""
    codes = [code for code in measured.codes if code.startswith(("L1", "L2"))]
    return (
        *words_alone(measured, LIMIT),
        Promise(
            name="L1xx and L2xx",
            sentence=f"findings about the answers (L1xx, L2xx): {', '.join(codes) or 'none'}",
            value=len(codes),
            limit=0,
        ),
    )


RECIPE = Recipe(
    name="amber",
    title="AMBER, balanced",
    summary=(
        "Yes/no questions about existence, state, number, action and relation, each of them with"
        " both answers."
    ),
    task="yes_no",
    must_not=f"any finding L1xx or L2xx of `hqm check FOLDER`; {WORDS_ALONE}",
    needs="objects with attributes, counts or relations (AMBER, GQA, Visual Genome, shapes)",
    lack="questions with both answers",
    draft=draft,
    promises=promises,
)
