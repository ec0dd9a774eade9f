"""`pope`: is there such an object? Absent objects are chosen at random, by frequency, and by what
they occur with.

As in POPE (Li et al. 2023, arXiv 2305.10355), with one difference: each object name is answered yes
as often as no, in each part and in each wording. In the release, popular objects are mostly absent
ones, so that the name alone gives .869 of the answers. Absent is only what the annotation is
complete about, and nothing that a present object, or a caption, may be called as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hqm.builders.balance import CoOccurrence, balanced, shares, with_matches
from hqm.builders.graph import Chosen, Draft, Promise, Question, SceneGraph, share_of_picture
from hqm.builders.lexicon import near_names, with_article
from hqm.builders.measuring import Measured, words_alone
from hqm.builders.source import Order, Recipe
from hqm.errors import DataError

PARTS = ("random", "popular", "adversarial")
LIMIT = 0.53
WORDS_ALONE = f"words-alone accuracy at or over {LIMIT} in a part"
_TOP = 6
"""Of the absent objects that are most frequent, or go best with the present ones, so many are
candidates.
"""
WORDINGS = (
    "Is there {a} in the image?",
    "Is {a} visible in the picture?",
    "Is there {a} in this picture?",
    "Is {a} in the image?",
    "Is it true that the image shows {a}?",
)


def wordings(name: str) -> tuple[str, ...]:
    """The question about one object name, in every wording.

    >>> wordings("umbrella")[0], wordings("sky")[0]
    ('Is there an umbrella in the image?', 'Is the sky visible in the picture?')
    """
    a = with_article(name)
    unfit = {"the": "there", "any": "Is {a} in"}.get(a.partition(" ")[0])
    return tuple(text.format(a=a) for text in WORDINGS if unfit is None or unfit not in text)


def absent_names(graph: SceneGraph) -> list[str]:
    """The classes that are absent, without those by whose name something present, or a word of a
    caption, may also go.
    """
    caption_text = " ".join(graph.captions).lower()
    doubtful = {other for name in graph.present for other in near_names(name)}
    return [
        name
        for name in sorted(graph.absent - doubtful)
        if not any(
            re.search(rf"\b{re.escape(word)}(?:s|es)?\b", caption_text)
            for word in (name, *near_names(name))
            if caption_text
        )
    ]


def present_objects(graph: SceneGraph) -> dict[str, list[str]]:
    """Class -> the ids of its objects, for classes that the annotation is complete about."""
    held: dict[str, list[str]] = {}
    for thing in graph.objects:
        if thing.name in graph.image.exhaustive:
            held.setdefault(thing.name, []).append(thing.id)
    return held


def asked_about(
    graph: SceneGraph, name: str, seen: CoOccurrence, part: str, there: list[str]
) -> Question:
    """The question whether a present class is there."""
    return Question(
        image=graph.image.id,
        file=graph.image.file,
        part=part,
        type="existence",
        prompts=wordings(name),
        target="yes",
        key=name,
        rule="the annotation has an object of this class",
        statistic="share of pictures with it",
        value=seen.frequency(name),
        objects=tuple(there),
        frequency=seen.frequency(name),
        size=max((share_of_picture(graph, graph.by_id[key]) for key in there), default=0.0),
    )


def absent_ranked(graph: SceneGraph, seen: CoOccurrence, part: str) -> list[tuple[float, str]]:
    """The absent classes of a picture with the number that they are chosen by, the likeliest
    first.
    """
    present = sorted(present_objects(graph))
    names = absent_names(graph)
    if part == "adversarial":
        ranked = [(seen.strongest(name, present), name) for name in names]
    else:
        ranked = [(seen.frequency(name), name) for name in names]
    ranked.sort(key=lambda pair: (-pair[0], pair[1]))
    return ranked if part == "random" else ranked[:_TOP]


_STATISTIC = {
    "random": "drawn at random; share of pictures with it",
    "popular": "share of pictures with it",
    "adversarial": "largest share of pictures with a present object that have it",
}


def candidates(graphs: tuple[SceneGraph, ...], seen: CoOccurrence, part: str) -> Iterator[Question]:
    """Every question of one part: all present classes, and the absent ones that the part is
    about.
    """
    for graph in graphs:
        held = present_objects(graph)
        for name, there in held.items():
            yield asked_about(graph, name, seen, part, there)
        ranked = absent_ranked(graph, seen, part) if held else []
        for value, name in ranked:
            yield Question(
                image=graph.image.id,
                file=graph.image.file,
                part=part,
                type="existence",
                prompts=wordings(name),
                target="no",
                key=name,
                rule="the annotation is complete about this class and has no object of it",
                statistic=_STATISTIC[part],
                value=value,
                competing=tuple(
                    f"{other} ({share:.4f})" for share, other in ranked[:_TOP] if other != name
                ),
                frequency=seen.frequency(name),
            )


def co_occurrence(graphs: tuple[SceneGraph, ...]) -> CoOccurrence:
    """Frequencies of the classes over the pictures that have any."""
    held = [sorted(present_objects(graph)) for graph in graphs]
    return CoOccurrence.of([names for names in held if names])


def draft(order: Order) -> Draft:
    """Three parts; no picture is asked about one class twice."""
    graphs = order.source.graphs
    if not any(graph.image.exhaustive for graph in graphs):
        raise DataError(
            f"{order.source.reader} annotations are complete about no class: nothing can be called"
            " absent",
            location=order.source.name,
            remedy="Take annotations that are, such as COCO's instances.",
        )
    seen = co_occurrence(graphs)
    taken: set[tuple[str, str]] = set()
    made: list[tuple[list[Chosen], list[Question]]] = []
    wanted = shares(order.items, PARTS)
    for part, number in wanted.items():
        pool = list(candidates(graphs, seen, part))
        made.append((balanced(pool, number, order.rng, taken=taken), pool))
    matched = [each for chosen, pool in made for each in with_matches(chosen, pool, taken)]
    return Draft(chosen=tuple(matched), wanted=wanted)


def promises(measured: Measured) -> tuple[Promise, ...]:
    """The words alone get fewer than .53 right in every part."""
    return words_alone(measured, LIMIT)


RECIPE = Recipe(
    name="pope",
    title="POPE, balanced",
    summary=(
        "Yes/no questions about objects that are there, and about absent ones that are random,"
        " frequent or expected."
    ),
    task="yes_no",
    must_not=WORDS_ALONE,
    needs="classes that are annotated to completeness (COCO, AMBER, shapes)",
    lack="names that are there and absent often enough",
    draft=draft,
    promises=promises,
)
