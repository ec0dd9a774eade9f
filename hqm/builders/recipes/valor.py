"""`valor`: captions of pictures in which a likely feature is missing and an unlikely one is there,
beside a control arm.

As VALOR-Bench (Qiu et al. 2024, arXiv 2404.13874) chooses its pictures: P(feature | object) over
all pictures; of each feature the objects whose share stands out by five statistics (max, mean, max
- mean, mean - min, max - min), and the most frequent objects. A picture is kept if it has such an
object (O), some of the object's least likely features (I), and none of its likeliest (H): there, a
model that goes by habit names what is not there. The control arm is pictures drawn at random with
the same numbers of objects; the paper's had 1.69 objects fewer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hqm.builders.balance import SKEWS, CoOccurrence, skew
from hqm.builders.graph import Chosen, Draft, Promise, Question, SceneGraph
from hqm.builders.measuring import Measured
from hqm.builders.recipes.openchair import (
    INSTRUCTIONS,
    inventory_of,
    vocabulary_file,
    vocabulary_of,
)
from hqm.builders.source import Order, Recipe
from hqm.errors import DataError

LEAST = 20
"""An object in fewer pictures has no shares worth the name."""
FREQUENCY = "frequency"
_SHARES = (0.0, 0.1, 0.34)
"""Which share of an object's features are its least likely ones: none but the rarest first, more
where pictures are wanting.
"""
ARMS = ("selected", "control")


@dataclass(frozen=True, slots=True, kw_only=True)
class Habit:
    """An object with its likeliest and least likely features, and the statistic that it was chosen
    by.
    """

    object: str
    likely: tuple[str, ...]
    unlikely: tuple[str, ...]
    statistic: str
    value: float
    pictures: int


def features_of(graph: SceneGraph) -> frozenset[str]:
    """What a picture has: the classes of its objects, and classes with a color."""
    names = {thing.name for thing in graph.objects}
    return frozenset(
        names
        | {f"{color} {thing.name}" for thing in graph.objects for color in thing.values("color")}
    )


def habits(seen: CoOccurrence, objects: Sequence[str], *, share: float = 0.0) -> tuple[Habit, ...]:
    """The objects that features go with most, each with the statistic by which such a feature
    stands out most.

    An object is chosen if a feature has its largest share of pictures, or its most pictures, with
    it. Its likeliest features are those of the largest share, its least likely ones those of the
    smallest, or the `share` of its features below the others.
    """
    often = [name for name in objects if seen.single.get(name, 0) >= LEAST]
    if len(often) < 2:
        return ()
    by_statistic: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for feature in sorted(seen.single):
        others = [name for name in often if name != feature and not feature.endswith(f" {name}")]
        if not others:
            continue
        shares = np.array([seen.share_given(feature, name) for name in others])
        strongest = others[int(shares.argmax())]
        for statistic, value in skew(shares).items():
            by_statistic[statistic].append((value, strongest))
        most = max(others, key=lambda name: seen.pairs.get(name, {}).get(feature, 0))
        by_statistic[FREQUENCY].append((seen.frequency(most), most))
    ranked = {
        statistic: sorted(rows, key=lambda row: (-row[0], row[1]))
        for statistic, rows in by_statistic.items()
    }
    chosen: dict[str, tuple[str, float]] = {}
    for statistics in (SKEWS, (FREQUENCY,)):
        for rows in zip(*(ranked.get(statistic, []) for statistic in statistics), strict=True):
            for statistic, (value, name) in zip(statistics, rows, strict=True):
                chosen.setdefault(name, (statistic, value))
    made = []
    for name, (statistic, value) in chosen.items():
        shares_by_feature = {
            f: seen.share_given(f, name)
            for f in seen.pairs.get(name, {})
            if not f.endswith(f" {name}")
        }
        features = sorted(shares_by_feature, key=lambda f: (shares_by_feature[f], f))
        likely = tuple(
            f for f in features if shares_by_feature[f] == max(shares_by_feature.values())
        )
        few = (
            [f for f in features if shares_by_feature[f] == shares_by_feature[features[0]]]
            if features
            else []
        )
        unlikely = tuple(
            f for f in features[: max(len(few), int(share * len(features)))] if f not in likely
        )
        if unlikely:
            made.append(
                Habit(
                    object=name,
                    likely=likely,
                    unlikely=unlikely,
                    statistic=statistic,
                    value=value,
                    pictures=seen.single[name],
                )
            )
    return tuple(made)


def habit_of(features: frozenset[str], known: Sequence[Habit]) -> Habit | None:
    """The habit that a picture goes against, the most skewed one first; None where it goes against
    none.
    """
    for habit in known:
        if (
            habit.object in features
            and features & set(habit.unlikely)
            and not features & set(habit.likely)
        ):
            return habit
    return None


def matched_arm(
    graphs: Sequence[SceneGraph], selected: Sequence[SceneGraph], rng: np.random.Generator
) -> tuple[list[SceneGraph], list[SceneGraph]]:
    """Pairs of a selected picture and a random one with as many objects; selected pictures without
    a partner are left out.
    """
    inside = {graph.image.id for graph in selected}
    by_number: dict[int, list[SceneGraph]] = defaultdict(list)
    for i in rng.permutation(len(graphs)):
        graph = graphs[int(i)]
        if graph.image.id not in inside and graph.objects:
            by_number[len(graph.objects)].append(graph)
    related, control = [], []
    for graph in selected:
        if by_number[len(graph.objects)]:
            related.append(graph)
            control.append(by_number[len(graph.objects)].pop())
    return related, control


def draft(order: Order) -> Draft:
    """Half of the items are selected pictures, half their controls."""
    graphs = order.source.graphs
    objects = sorted({thing.name for graph in graphs for thing in graph.objects})
    held = {graph.image.id: features_of(graph) for graph in graphs}
    seen = CoOccurrence.of(features for features in held.values() if features)
    if not habits(seen, objects):
        raise DataError(
            f"no two objects are in {LEAST} pictures or more",
            location=order.source.name,
            remedy="Take annotations of more pictures.",
        )
    order_of = [graphs[int(i)] for i in order.rng.permutation(len(graphs))]
    notes = []
    for share in _SHARES:
        known = habits(seen, objects, share=share)
        picked = {
            graph.image.id: habit
            for graph in graphs
            if (habit := habit_of(held[graph.image.id], known))
        }
        notes.append(
            f"{len(picked)} of {len(graphs)} pictures go against a habit of"
            f" {len({h.object for h in picked.values()})} of {len(known)} objects, where"
            f" {f'the least likely {share:.0%} of' if share else 'the rarest of'} an object's"
            " features are unlikely"
        )
        selected, control = matched_arm(
            graphs, [g for g in order_of if g.image.id in picked], order.rng
        )
        if 2 * len(selected) >= order.items:
            break
    many = min(len(selected), order.items // 2)
    vocabulary = vocabulary_of(graphs)
    chosen = [
        Chosen(question=_caption(graph, arm, picked, held, vocabulary), wording=place)
        for arm, arm_graphs in zip(ARMS, (selected[:many], control[:many]), strict=True)
        for place, graph in enumerate(arm_graphs)
    ]
    numbers = [
        float(np.mean([len(g.objects) for g in arm])) if arm else 0.0
        for arm in (selected[:many], control[:many])
    ]
    pictures = [picked[graph.image.id].pictures for graph in selected[:many]]
    return Draft(
        chosen=tuple(chosen),
        wanted={"": order.items},
        notes=tuple(notes),
        files=vocabulary_file(vocabulary),
        measures={
            "objects in selected pictures": numbers[0],
            "objects in control pictures": numbers[1],
            "fewest pictures of an object": float(min(pictures, default=0)),
        },
    )


def _caption(
    graph: SceneGraph,
    arm: str,
    picked: Mapping[str, Habit],
    held: Mapping[str, frozenset[str]],
    vocabulary: frozenset[str],
) -> Question:
    habit = picked.get(graph.image.id) if arm == "selected" else None
    there = inventory_of(graph, vocabulary)
    rule = "a picture drawn at random with as many objects as a selected one"
    competing: tuple[str, ...] = ()
    if habit is not None:
        against = sorted(held[graph.image.id] & set(habit.unlikely))
        rule = (
            f"it has {habit.object} with {', '.join(against)} and without {', '.join(habit.likely)}"
        )
        competing = habit.likely
    return Question(
        image=graph.image.id,
        file=graph.image.file,
        part=arm,
        type="existence",
        prompts=INSTRUCTIONS,
        target=list(there),
        key=graph.image.id,
        rule=rule,
        statistic=habit.statistic if habit else "number of objects",
        value=habit.value if habit else float(len(graph.objects)),
        objects=tuple(thing.id for thing in graph.objects),
        competing=competing,
    )


def promises(measured: Measured) -> tuple[Promise, ...]:
    """No object in fewer than 20 pictures; the arms have as many objects."""
    fewest = measured.draft.measures["fewest pictures of an object"]
    a, b = (measured.draft.measures[f"objects in {arm} pictures"] for arm in ARMS)
    return (
        Promise(
            name="pictures of an object",
            sentence=(
                f"the rarest object that pictures were selected by is in {fewest:.0f} pictures"
            ),
            value=fewest,
            limit=LEAST,
            kept=fewest >= LEAST,
        ),
        Promise(
            name="control arm",
            sentence=f"{a:.2f} objects a selected picture, {b:.2f} a control picture",
            value=abs(a - b),
            limit=0.05,
            kept=abs(a - b) <= 0.05,
        ),
    )


RECIPE = Recipe(
    name="valor",
    title="VALOR with a matched control arm",
    summary=(
        "Captions of pictures that go against what objects usually occur with, beside random"
        " pictures with as many objects."
    ),
    task="caption",
    must_not=(
        f"an object in fewer than {LEAST} pictures; arms that differ in their number of objects"
    ),
    needs="objects of many pictures (COCO, GQA, shapes)",
    lack="such pictures with a control of as many objects",
    draft=draft,
    promises=promises,
    adapter="inventory",
)
