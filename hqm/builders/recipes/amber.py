"""`amber`: existence, state, number, action and relation, each answered yes as often as no.

As AMBER's discriminative questions (Wang et al. 2023, arXiv 2311.07397), without what its release
gives away: it has no existence question whose answer is yes, the parity of an id gives the answers
of attributes, and the type of a relation is its answer. Here every question is asked about two
pictures, or with its two objects exchanged, with opposite answers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from hqm.builders.balance import balanced, shares, with_matches
from hqm.builders.graph import (
    Chosen,
    Draft,
    Object,
    Promise,
    Question,
    SceneGraph,
    Values,
    phrase_for,
    share_of_picture,
    values_of,
    wrong_values,
)
from hqm.builders.lexicon import NUMBERS, be, is_mass, plural, singular
from hqm.builders.measuring import Measured, words_alone
from hqm.builders.recipes.pope import (
    LIMIT,
    WORDS_ALONE,
    absent_names,
    asked_about,
    co_occurrence,
    present_objects,
    wordings,
)
from hqm.builders.source import Order, Recipe

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
OPPOSITE = {
    "to the left of": "to the right of",
    "to the right of": "to the left of",
    "above": "below",
    "below": "above",
}


def alone(graph: SceneGraph) -> list[Object]:
    """Return the objects that are the only one of their class; AMBER's plurals count as one."""
    return [
        thing
        for thing in graph.objects
        if graph.only(thing.name) is thing and thing.name not in graph.image.doubtful
    ]


def _attributes(graphs: tuple[SceneGraph, ...], values: Values, part: str) -> Iterator[Question]:
    kinds = ("action",) if part == "action" else _STATES
    for graph in graphs:
        for thing in alone(graph):
            for kind in kinds:
                own = thing.values(kind)
                if not own:
                    continue
                others = values.get((thing.name, kind), {})
                competing = tuple(sorted(value for value in others if value not in own))
                wrong = wrong_values(graph, thing, kind, others)
                for value, answer in [*((v, "yes") for v in own), *((v, "no") for v in wrong)]:
                    yield _attribute(
                        graph,
                        thing,
                        value,
                        answer,
                        part,
                        kind,
                        others.get(value, 0) / len(graphs),
                        competing,
                    )


def _attribute(
    graph: SceneGraph,
    thing: Object,
    value: str,
    answer: str,
    part: str,
    kind: str,
    frequency: float,
    competing: tuple[str, ...],
) -> Question:
    verb = be(thing.name)
    if answer == "yes":
        rule = f"the only {thing.name} has the {kind} {value}"
    elif (thing.name, value) in graph.denied:
        rule = f"the annotation denies that the {thing.name} is so; other pictures have one that is"
    else:
        rule = f"the only {thing.name} has another {kind}; other pictures have one that is {value}"
    return Question(
        image=graph.image.id,
        file=graph.image.file,
        part=part,
        type="action" if part == "action" else "attribute",
        prompts=tuple(
            text.format(Be=verb.capitalize(), be=verb, name=thing.name, value=value)
            for text in _STATE
        ),
        target=answer,
        key=f"{thing.name}: {value}",
        rule=rule,
        statistic="share of pictures with such an object",
        value=frequency,
        objects=(thing.id,),
        competing=competing,
        frequency=frequency,
        size=share_of_picture(graph, thing),
    )


def _numbers(graphs: tuple[SceneGraph, ...]) -> Iterator[Question]:
    seen: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for graph in graphs:
        for name in graph.image.counted:
            seen[name][graph.counts.get(name, 0)] += 1
    for graph in graphs:
        for name in sorted(graph.image.counted):
            number = graph.counts.get(name, 0)
            if not 1 <= number <= 6 or is_mass(name) or crowded(graph, name):
                continue
            wrong = [
                other
                for other in (number - 1, number + 1)
                if 1 <= other <= 6 and other in seen[name]
            ]
            for count, answer in [(number, "yes"), *((other, "no") for other in wrong)]:
                base = singular(name)
                counted = f"{NUMBERS[count]} {base if count == 1 else plural(base)}"
                share = seen[name][count] / len(graphs)
                yield Question(
                    image=graph.image.id,
                    file=graph.image.file,
                    part="number",
                    type="counting",
                    prompts=tuple(
                        t.format(
                            Are="Is" if count == 1 else "Are",
                            are="is" if count == 1 else "are",
                            count=counted,
                        )
                        for t in _NUMBER
                    ),
                    target=answer,
                    key=f"{name}: {count}",
                    rule=f"every {base} is annotated, and there are {number}",
                    statistic="share of pictures with this number",
                    value=share,
                    frequency=share,
                    objects=tuple(thing.id for thing in graph.objects if thing.name == name),
                    competing=tuple(str(other) for other in wrong if other != count),
                )


def crowded(graph: SceneGraph, name: str) -> bool:
    """Whether two objects of a class overlap so much that they may be counted as one."""
    boxes = [thing.box for thing in graph.objects if thing.name == name and thing.box is not None]
    return any(a.overlap(b) >= _OVERLAP for i, a in enumerate(boxes) for b in boxes[:i])


def _relations(graphs: tuple[SceneGraph, ...]) -> Iterator[Question]:
    for graph in graphs:
        for relation in graph.relations:
            a, b = graph.by_id[relation.subject], graph.by_id[relation.object]
            first, second = phrase_for(graph, a), phrase_for(graph, b)
            if not first or not second or first == second:
                continue
            if relation.symmetric:
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
            elif relation.predicate in OPPOSITE and relation.holds:
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
                        competing=(OPPOSITE[relation.predicate],),
                    )


def _existence(graphs: tuple[SceneGraph, ...]) -> Iterator[Question]:
    seen = co_occurrence(graphs)
    for graph in graphs:
        for name, there in present_objects(graph).items():
            yield asked_about(graph, name, seen, "existence", there)
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
                frequency=seen.frequency(name),
                statistic="share of pictures with it",
                value=seen.frequency(name),
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
    there = [
        part for part in PARTS if {question.target for question in pools[part]} == {"yes", "no"}
    ]
    notes = [
        f"{part}: no item, the annotations have no questions with both answers"
        for part in PARTS
        if part not in there
    ]
    chosen: list[Chosen] = []
    wanted = shares(order.items, there or PARTS)
    for part, number in wanted.items():
        taken: set[tuple[str, str]] = set()
        made = balanced(pools[part], number, order.rng, taken=taken)
        chosen += with_matches(made, pools[part], taken)
    return Draft(chosen=tuple(chosen), wanted=wanted, notes=tuple(notes))


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
            kept=not codes,
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
