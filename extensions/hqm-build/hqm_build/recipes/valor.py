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

from hqm.errors import DataError
from hqm_build.balance import SKEWS, CoOccurrence, skew
from hqm_build.graph import Draft, Promise, Question, SceneGraph, SelectedQuestion
from hqm_build.measuring import Measured
from hqm_build.recipes.openchair import (
    INSTRUCTIONS,
    inventory_of,
    vocabulary_file,
    vocabulary_of,
)
from hqm_build.source import Order, Recipe

MIN_PICTURES = 20
"""Pictures that an object needs, so that its shares are no accident."""
FREQUENCY = "frequency"
_SHARES = (0.0, 0.1, 0.34)
"""Shares of an object's features that count as its least likely ones: at first only the rarest, and
more where there are too few pictures.
"""
ARMS = ("selected", "control")


@dataclass(frozen=True, slots=True, kw_only=True)
class Habit:
    """An object with its likeliest and least likely features, and the statistic that it was chosen
    by.
    """

    object: str
    likely_features: tuple[str, ...]
    unlikely_features: tuple[str, ...]
    statistic: str
    value: float
    pictures: int


def features_of(graph: SceneGraph) -> frozenset[str]:
    """What a picture has: the classes of its objects, and classes with a color."""
    names = {obj.name for obj in graph.objects}
    return frozenset(
        names | {f"{color} {obj.name}" for obj in graph.objects for color in obj.values("color")}
    )


def find_habits(
    co_occurrences: CoOccurrence, objects: Sequence[str], *, share: float = 0.0
) -> tuple[Habit, ...]:
    """The objects that features occur with most, each with the statistic by which such a feature
    stands out most.

    An object is chosen if a feature has its largest share of pictures, or its most pictures, with
    it. Its likeliest features are those of the largest share, its least likely ones those of the
    smallest, or the `share` of its features below the others.
    """
    frequent = [name for name in objects if co_occurrences.single.get(name, 0) >= MIN_PICTURES]
    if len(frequent) < 2:
        return ()
    habits = []
    for name, (statistic, value) in _habitual_objects(co_occurrences, frequent).items():
        likely_features, unlikely_features = _extreme_features(co_occurrences, name, share)
        if unlikely_features:
            habits.append(
                Habit(
                    object=name,
                    likely_features=likely_features,
                    unlikely_features=unlikely_features,
                    statistic=statistic,
                    value=value,
                    pictures=co_occurrences.single[name],
                )
            )
    return tuple(habits)


def _habitual_objects(
    co_occurrences: CoOccurrence, frequent: Sequence[str]
) -> dict[str, tuple[str, float]]:
    """Object -> the statistic by which it comes first for a feature, and its value."""
    by_statistic: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for feature in sorted(co_occurrences.single):
        # a colored object is no feature of itself
        candidates = [
            name for name in frequent if name != feature and not feature.endswith(f" {name}")
        ]
        if not candidates:
            continue
        shares = np.array([co_occurrences.share_given(feature, name) for name in candidates])
        strongest = candidates[int(shares.argmax())]
        for statistic, value in skew(shares).items():
            by_statistic[statistic].append((value, strongest))
        n_together = [co_occurrences.pairs.get(name, {}).get(feature, 0) for name in candidates]
        commonest = candidates[int(np.argmax(n_together))]
        by_statistic[FREQUENCY].append((co_occurrences.frequency(commonest), commonest))
    for rows in by_statistic.values():
        rows.sort(key=lambda row: (-row[0], row[1]))
    habitual: dict[str, tuple[str, float]] = {}
    for statistics in (SKEWS, (FREQUENCY,)):
        # the five statistics take turns: the first object of each, then the second of each, ...
        for ranks in zip(*(by_statistic[statistic] for statistic in statistics), strict=True):
            for statistic, (value, name) in zip(statistics, ranks, strict=True):
                habitual.setdefault(name, (statistic, value))
    return habitual


def _extreme_features(
    co_occurrences: CoOccurrence, name: str, share: float
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The likeliest and the least likely features of an object."""
    shares = {
        feature: co_occurrences.share_given(feature, name)
        for feature in co_occurrences.pairs.get(name, {})
        if not feature.endswith(f" {name}")
    }
    if not shares:
        return (), ()
    features = sorted(shares, key=lambda feature: (shares[feature], feature))
    largest = max(shares.values())
    smallest = min(shares.values())
    likeliest = tuple(feature for feature in features if shares[feature] == largest)
    n_rarest = sum(value == smallest for value in shares.values())
    n_unlikely = max(n_rarest, int(share * len(features)))
    unlikely = tuple(feature for feature in features[:n_unlikely] if feature not in likeliest)
    return likeliest, unlikely


def habit_of(features: frozenset[str], habits: Sequence[Habit]) -> Habit | None:
    """The habit that a picture goes against, the most skewed one first; None where it goes against
    none.
    """
    for habit in habits:
        if (
            habit.object in features
            and features & set(habit.unlikely_features)
            and not features & set(habit.likely_features)
        ):
            return habit
    return None


def matched_arm(
    graphs: Sequence[SceneGraph], selected: Sequence[SceneGraph], rng: np.random.Generator
) -> tuple[list[SceneGraph], list[SceneGraph]]:
    """Pairs of a selected picture and a random one with as many objects; selected pictures without
    a partner are left out.
    """
    selected_ids = {graph.image.id for graph in selected}
    by_size: dict[int, list[SceneGraph]] = defaultdict(list)
    for i in rng.permutation(len(graphs)):
        graph = graphs[int(i)]
        if graph.image.id not in selected_ids and graph.objects:
            by_size[len(graph.objects)].append(graph)
    paired = []
    control = []
    for graph in selected:
        if by_size[len(graph.objects)]:
            paired.append(graph)
            control.append(by_size[len(graph.objects)].pop())
    return paired, control


def draft(order: Order) -> Draft:
    """Half of the items are selected pictures, half their controls."""
    graphs = order.source.graphs
    objects = sorted({obj.name for graph in graphs for obj in graph.objects})
    features = {graph.image.id: features_of(graph) for graph in graphs}
    co_occurrences = CoOccurrence.from_pictures(filter(None, features.values()))
    if not find_habits(co_occurrences, objects):
        raise DataError(
            f"no two objects are in {MIN_PICTURES} pictures or more",
            location=order.source.name,
            remedy="Take annotations of more pictures.",
        )
    shuffled = [graphs[int(i)] for i in order.rng.permutation(len(graphs))]
    notes = []
    for share in _SHARES:
        candidates = find_habits(co_occurrences, objects, share=share)
        habits = {
            graph.image.id: habit
            for graph in graphs
            if (habit := habit_of(features[graph.image.id], candidates))
        }
        notes.append(_note(share, len(graphs), habits, len(candidates)))
        against_habit = [graph for graph in shuffled if graph.image.id in habits]
        selected, control = matched_arm(graphs, against_habit, order.rng)
        if 2 * len(selected) >= order.items:
            break
    n_pairs = min(len(selected), order.items // 2)
    arms = dict(zip(ARMS, (selected[:n_pairs], control[:n_pairs]), strict=True))
    vocabulary = vocabulary_of(graphs)
    questions = []
    measures = {}
    for arm, arm_graphs in arms.items():
        for index, graph in enumerate(arm_graphs):
            habit = habits.get(graph.image.id) if arm == "selected" else None
            question = _caption(graph, arm, habit, features[graph.image.id], vocabulary)
            questions.append(SelectedQuestion(question=question, wording=index))
        sizes = [len(graph.objects) for graph in arm_graphs]
        measures[f"objects in {arm} pictures"] = float(np.mean(sizes)) if sizes else 0.0
    pictures = [habits[graph.image.id].pictures for graph in arms["selected"]]
    measures["fewest pictures of an object"] = float(min(pictures, default=0))
    return Draft(
        selected=tuple(questions),
        requested={"": order.items},
        notes=tuple(notes),
        files=vocabulary_file(vocabulary),
        measures=measures,
    )


def _note(share: float, n_pictures: int, habits: Mapping[str, Habit], n_candidates: int) -> str:
    rarest = f"the least likely {share:.0%} of" if share else "the rarest of"
    n_objects = len({habit.object for habit in habits.values()})
    return (
        f"{len(habits)} of {n_pictures} pictures go against a habit of {n_objects} of"
        f" {n_candidates} objects, where {rarest} an object's features are unlikely"
    )


def _caption(
    graph: SceneGraph,
    arm: str,
    habit: Habit | None,
    features: frozenset[str],
    vocabulary: frozenset[str],
) -> Question:
    rule = "a picture drawn at random with as many objects as a selected one"
    statistic = "number of objects"
    value = float(len(graph.objects))
    competing: tuple[str, ...] = ()
    if habit is not None:
        against = sorted(features & set(habit.unlikely_features))
        rule = (
            f"it has {habit.object} with {', '.join(against)}"
            f" and without {', '.join(habit.likely_features)}"
        )
        statistic = habit.statistic
        value = habit.value
        competing = habit.likely_features
    return Question(
        image=graph.image.id,
        file=graph.image.file,
        part=arm,
        type="existence",
        prompts=INSTRUCTIONS,
        target=list(inventory_of(graph, vocabulary)),
        key=graph.image.id,
        rule=rule,
        statistic=statistic,
        value=value,
        objects=tuple(obj.id for obj in graph.objects),
        competing=competing,
    )


def promises(measured: Measured) -> tuple[Promise, ...]:
    """No object in fewer than 20 pictures; the arms have as many objects."""
    min_pictures = measured.draft.measures["fewest pictures of an object"]
    a, b = (measured.draft.measures[f"objects in {arm} pictures"] for arm in ARMS)
    return (
        Promise(
            name="pictures of an object",
            sentence=(
                "the rarest object that pictures were selected by is in"
                f" {min_pictures:.0f} pictures"
            ),
            value=min_pictures,
            limit=MIN_PICTURES,
            relation="at least",
        ),
        Promise(
            name="control arm",
            sentence=f"{a:.2f} objects a selected picture, {b:.2f} a control picture",
            value=abs(a - b),
            limit=0.05,
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
        f"an object in fewer than {MIN_PICTURES} pictures; arms that differ in their number of"
        " objects"
    ),
    needs="objects of many pictures (COCO, GQA, shapes)",
    lack="such pictures with a control of as many objects",
    draft=draft,
    promises=promises,
    adapter="inventory",
)
