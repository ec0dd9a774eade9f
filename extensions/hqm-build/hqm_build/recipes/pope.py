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

from hqm.errors import DataError
from hqm_build.balance import CoOccurrence, add_matches, balance_answers, split_items
from hqm_build.graph import (
    Draft,
    Promise,
    Question,
    SceneGraph,
    SelectedQuestion,
    share_of_picture,
)
from hqm_build.lexicon import near_names, with_article
from hqm_build.measuring import Measured, words_alone
from hqm_build.source import Order, Recipe

PARTS = ("random", "popular", "adversarial")
LIMIT = 0.53
WORDS_ALONE = f"words-alone accuracy under {1 - LIMIT:.2f} or over {LIMIT} in a part"
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
    # "is there the sky" and "is any grass in" are no English
    unfit = {"the": "there", "any": "Is {a} in"}.get(a.partition(" ")[0])
    return tuple(text.format(a=a) for text in WORDINGS if unfit is None or unfit not in text)


def absent_names(graph: SceneGraph) -> list[str]:
    """The absent classes, without those whose name, or a near one, a present object or a caption
    has.
    """
    caption_text = " ".join(graph.captions).lower()
    doubtful = frozenset().union(*map(near_names, graph.present))
    names = sorted(graph.absent - doubtful)
    if not caption_text:
        return names
    return [name for name in names if not _is_mentioned(name, caption_text)]


def _is_mentioned(name: str, text: str) -> bool:
    """Whether a text has a name, or one near to it, in the singular or plural."""
    words = "|".join(map(re.escape, (name, *near_names(name))))
    return re.search(rf"\b(?:{words})(?:s|es)?\b", text) is not None


def present_objects(graph: SceneGraph) -> dict[str, list[str]]:
    """Class -> the ids of its objects, for classes that the annotation is complete about."""
    object_ids: dict[str, list[str]] = {}
    for obj in graph.objects:
        if obj.name in graph.image.exhaustive:
            object_ids.setdefault(obj.name, []).append(obj.id)
    return object_ids


def presence_question(
    graph: SceneGraph, name: str, co_occurrences: CoOccurrence, part: str, object_ids: list[str]
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
        value=co_occurrences.frequency(name),
        objects=tuple(object_ids),
        frequency=co_occurrences.frequency(name),
        size=max((share_of_picture(graph, graph.by_id[key]) for key in object_ids), default=0.0),
    )


def ranked_absent(
    graph: SceneGraph, co_occurrences: CoOccurrence, part: str
) -> list[tuple[float, str]]:
    """The absent classes of a picture with the number that they are chosen by, the likeliest
    first.
    """
    present = sorted(present_objects(graph))
    names = absent_names(graph)
    if part == "adversarial":
        ranked = [(co_occurrences.strongest(name, present), name) for name in names]
    else:
        ranked = [(co_occurrences.frequency(name), name) for name in names]
    ranked.sort(key=lambda pair: (-pair[0], pair[1]))
    if part == "random":
        return ranked
    return ranked[:_TOP]


_STATISTIC = {
    "random": "drawn at random; share of pictures with it",
    "popular": "share of pictures with it",
    "adversarial": "largest share of pictures with a present object that have it",
}


def candidates(
    graphs: tuple[SceneGraph, ...], co_occurrences: CoOccurrence, part: str
) -> Iterator[Question]:
    """Every question of one part: all present classes, and the absent ones that the part is
    about.
    """
    for graph in graphs:
        present = present_objects(graph)
        for name, object_ids in present.items():
            yield presence_question(graph, name, co_occurrences, part, object_ids)
        ranked = ranked_absent(graph, co_occurrences, part) if present else []
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
                    f"{candidate} ({share:.4f})"
                    for share, candidate in ranked[:_TOP]
                    if candidate != name
                ),
                frequency=co_occurrences.frequency(name),
            )


def count_co_occurrences(graphs: tuple[SceneGraph, ...]) -> CoOccurrence:
    """Frequencies of the classes over the pictures that have any."""
    classes = [sorted(present_objects(graph)) for graph in graphs]
    return CoOccurrence.from_pictures([names for names in classes if names])


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
    co_occurrences = count_co_occurrences(graphs)
    used_questions: set[tuple[str, str]] = set()
    pools: dict[str, list[Question]] = {}
    pairs: dict[str, list[SelectedQuestion]] = {}
    groups: dict[str, str] = {}
    requested = split_items(order.items, PARTS)
    for part, number in requested.items():
        pools[part] = list(candidates(graphs, co_occurrences, part))
        pairs[part] = balance_answers(
            pools[part], number, order.rng, used_questions=used_questions, groups=groups
        )
    # matches come last: a matched question must not be one that another part asks
    matched: list[SelectedQuestion] = []
    for part, part_pairs in pairs.items():
        matched += add_matches(part_pairs, pools[part], used_questions)
    return Draft(selected=tuple(matched), requested=requested, groups=groups)


def promises(measured: Measured) -> tuple[Promise, ...]:
    """The words alone get .47 to .53 right in every part."""
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
