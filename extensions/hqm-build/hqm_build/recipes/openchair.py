"""`openchair`: captions compared with an inventory of objects with an open vocabulary.

As OpenCHAIR (Ben-Kish et al. 2024, arXiv 2312.03631) without a list of 80 classes: the vocabulary
is every name that the source has, and the inventory of a picture every name of its objects, with
the nouns that its captions say. A caption is scored as CHAIR scores it: of the names of the
vocabulary that it mentions, the share that the picture does not have.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from hqm.errors import DataError
from hqm_build.balance import select_diverse
from hqm_build.graph import Draft, Promise, Question, SceneGraph, SelectedQuestion
from hqm_build.lexicon import near_names, singular
from hqm_build.measuring import Measured
from hqm_build.source import Order, Recipe

INSTRUCTIONS = (
    "Describe the image.",
    "What is in the image?",
    "Write a caption for the image.",
    "Tell me what you see in the image.",
)
_MAX_NAME_WORDS = 3


def vocabulary_of(graphs: Sequence[SceneGraph]) -> frozenset[str]:
    """Every name that the source gives to an object, and every class that it is complete about."""
    names: set[str] = set()
    for graph in graphs:
        names |= graph.present | graph.image.exhaustive
    return frozenset(
        singular(name)
        for name in names
        if len(name.split()) <= _MAX_NAME_WORDS and re.fullmatch(r"[\w' -]+", name)
    )


def inventory_of(graph: SceneGraph, vocabulary: frozenset[str]) -> tuple[str, ...]:
    """The names that a caption may mention: those of the picture's objects, the nouns of its
    captions, and names near to both.
    """
    names = set(mentioned_names(graph.captions, vocabulary))
    for obj in graph.objects:
        names |= set(map(singular, obj.names))
    synonyms = frozenset().union(*map(near_names, names))
    return tuple(sorted(names | (synonyms & vocabulary)))


def vocabulary_file(vocabulary: frozenset[str]) -> dict[str, str]:
    """The file that the adapter reads."""
    return {"vocabulary.json": json.dumps(sorted(vocabulary), ensure_ascii=False, indent=0) + "\n"}


def mentioned_names(captions: Sequence[str], vocabulary: frozenset[str]) -> frozenset[str]:
    """The names of the vocabulary that captions mention."""
    words = [
        singular(word) for caption in captions for word in re.findall(r"[a-z']+", caption.lower())
    ]
    runs = {
        " ".join(words[i : i + n])
        for n in range(1, _MAX_NAME_WORDS + 1)
        for i in range(len(words) - n + 1)
    }
    return frozenset(runs & vocabulary)


def draft(order: Order) -> Draft:
    """An item for each picture with objects or captions, wordings in turn."""
    graphs = order.source.graphs
    vocabulary = vocabulary_of(graphs)
    if not vocabulary:
        raise DataError(
            "the annotations name no object",
            location=order.source.name,
            remedy="Take annotations with objects: COCO's instances, Visual Genome, GQA, AMBER.",
        )
    pool = []
    for graph in graphs:
        inventory = inventory_of(graph, vocabulary)
        if not inventory:
            continue
        pool.append(
            Question(
                image=graph.image.id,
                file=graph.image.file,
                part="",
                type="existence",
                prompts=INSTRUCTIONS,
                target=list(inventory),
                key=graph.image.id,
                rule="the inventory: names of its objects and nouns of its captions",
                statistic="objects annotated",
                value=float(len(graph.objects)),
                objects=tuple(t.id for t in graph.objects),
                extra={"references": list(graph.captions[:5])} if graph.captions else {},
            )
        )
    selected: list[SelectedQuestion] = select_diverse(pool, order.items, order.rng)
    return Draft(
        selected=tuple(selected),
        requested={"": order.items},
        notes=(f"{len(vocabulary)} names in the vocabulary",),
        files=vocabulary_file(vocabulary),
    )


def promises(measured: Measured) -> tuple[Promise, ...]:
    """No picture without an inventory."""
    empty = sum(not item.target for item in measured.form.items)
    return (
        Promise(
            name="inventories",
            sentence=f"pictures without an inventory: {empty}",
            value=empty,
            limit=0,
        ),
    )


RECIPE = Recipe(
    name="openchair",
    title="OpenCHAIR from annotations",
    summary=(
        "Captions compared with an inventory of objects whose vocabulary is that of the annotations."
    ),
    task="caption",
    must_not="a picture without an inventory",
    needs="objects (COCO, Visual Genome, GQA, AMBER, shapes)",
    lack="pictures",
    draft=draft,
    promises=promises,
    adapter="inventory",
)
