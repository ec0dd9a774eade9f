"""Faults planted in simulated studies: how many are found, how often a clean study is accused, and
what the report says of that.

    python -m tests.perf.planted_faults [replicates] [respondents ...] [items] [shared] [repope]
    [bounds] [judges] [leaks] [lean] [relatives]

Without names of parts, all are made but `repope`, which reads POPE with the keys that people
corrected (HQM_DATA has pope/, logs/llava/ and pope_answers/), and `bounds`, which ranks wrong keys for 12 respondents by what
nobody can know. `shared` has benchmarks on which respondents share weaknesses and every key is
right, and the same with wrong keys.

Answers come from a probit model that no detector assumes: graded abilities, difficulties and slopes
that differ by item, a share of lucky guesses and of slips, what a respondent and an item have
between them, and a common effect of each picture. Three worlds: plain, with guessing (four in ten
unknown answers are right), and with families whose members err together. Then one fault is planted.
"Found" is the share of planted faults that is named (wrong keys, negative items) or the share of
studies in which the detector speaks (judges, leaks, relatives); "clean" is the share of studies
without a fault in which it speaks. Prints Markdown; docs/planted_faults.md holds the tables.
"""

from __future__ import annotations

import gzip
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hqm.indicators import Protocol, case
from hqm.indicators.indicator import Result, family_indicators
from hqm.lint.answer_leaks import check_leaks
from hqm.psychometrics import (
    bias_test,
    blind_solvability,
    family_dependence,
    item_analysis,
    judge_errors,
    label_error_candidates,
    leakage_cues,
    position_bias,
    reading_list,
    with_wrong_keys,
)
from hqm.scoring.matrix import ScoreMatrix
from hqm.scoring.metrics import ACCURACY
from hqm.types import Cell, Form, Item
from tests.indicator_answers import answer

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
RESPONDENTS = (5, 6, 10, 12, 20, 40)
SHARES = (0.01, 0.02, 0.05, 0.10)
ITEMS = 500
WORDS = (
    "dog",
    "cat",
    "car",
    "bus",
    "hat",
    "cup",
    "tree",
    "bird",
    "lamp",
    "boat",
    "sign",
    "ball",
    "chair",
    "phone",
)


@dataclass(frozen=True)
class World:
    """Where answers come from; abilities go evenly from `weakest` to `ablest` (probits)."""

    weakest: float = -0.3
    ablest: float = 2.0
    guessing: float = 0.0
    families: int = 0
    family_sd: float = 0.0
    types: int = 1
    abilities: int = 1
    """The types draw on so many in turn; the others differ from the first by
    `ability_offset_sd`."""
    hidden: float = 0.0
    """A share of the items, whatever their type, that draws on an ability of its own."""
    ability_offset_sd: float = 0.6
    against: float = 0.0
    """In the first type abilities run the other way, as steeply as this."""
    lean: float = 0.0
    """Spread of the respondents' leans to "yes"; `by_ability`, how much less the abler lean."""
    by_ability: float = 0.0
    at_chance: bool = False
    """In the last type everybody guesses."""
    options: int = 2

    def layout(self, items: int) -> tuple[Numbers, Numbers]:
        """(items,) each: the type, and whether the key is the first answer."""
        index = np.arange(items)
        return index % self.types, (index // self.types) % self.options


WORLDS = {
    "plain": World(),
    "guessing": World(-1.0, 1.5, 0.4),
    "families": World(families=4, family_sd=0.8),
}
_TYPED = World(types=5)
SHARED = {
    "one ability": _TYPED,
    "two abilities": replace(_TYPED, abilities=2),
    "three abilities": replace(_TYPED, abilities=3, ability_offset_sd=1.0),
    "a second ability in a quarter of all items": replace(
        _TYPED, hidden=0.25, ability_offset_sd=1.0
    ),
    "a type against the others": replace(_TYPED, against=0.7),
    "lean to yes": replace(_TYPED, lean=0.6),
    "lean to yes, the abler less": replace(_TYPED, lean=0.3, by_ability=0.8),
    "a type at chance": replace(_TYPED, at_chance=True),
    "four options, a type at chance": replace(_TYPED, at_chance=True, options=4),
    "five families": replace(_TYPED, families=5, family_sd=0.8),
    "families, three abilities, lean": replace(
        _TYPED, families=5, family_sd=0.5, abilities=3, lean=0.4
    ),
}


def chances(world: World, respondents: int, rng: np.random.Generator, items: int = ITEMS) -> Array:
    """(respondents, items): the probability of a right answer under a right key."""
    ability = np.linspace(world.weakest, world.ablest, respondents) + rng.normal(
        0, 0.05, respondents
    )
    difficulty, slope = rng.normal(0, 0.9, items), np.exp(rng.normal(0, 0.3, items))
    interaction = (
        rng.normal(0, 0.3, (respondents, items))
        + rng.normal(0, 0.3, items // 4 + 1)[np.arange(items) // 4]
    )
    if world.families:
        member = rng.permutation(np.arange(respondents) % world.families)
        interaction += rng.normal(0, world.family_sd, (world.families, items))[member]
    from scipy.special import ndtr, ndtri

    p = ndtr(slope * (shared_abilities(world, ability, items, rng) - difficulty) + interaction)
    p = p * 0.98 + (1 - p) * (world.guessing if world.options == 2 else 1 / world.options)
    kind, first = world.layout(items)
    if world.at_chance:
        p[:, kind == world.types - 1] = 1 / world.options
    if world.lean:
        lean = rng.normal(0, world.lean, respondents) - world.by_ability * (
            ability - ability.mean()
        )
        p = ndtr(ndtri(p.clip(1e-6, 1 - 1e-6)) + np.where(first == 0, 1, -1) * lean[:, None])
    return np.asarray(p, dtype=np.float64)


def shared_abilities(world: World, ability: Array, items: int, rng: np.random.Generator) -> Array:
    """(respondents, items): the ability that each item draws on."""
    kind, _ = world.layout(items)
    item_abilities = np.tile(ability[:, None], (1, items))
    if world.abilities > 1:
        offsets = rng.normal(0, world.ability_offset_sd, (len(ability), world.abilities))
        offsets[:, 0] = 0
        item_abilities += offsets[:, kind % world.abilities]
    if world.hidden:
        hidden_ability = rng.normal(0, world.ability_offset_sd, len(ability))
        item_abilities += np.where(rng.random(items) < world.hidden, hidden_ability[:, None], 0)
    if world.against:
        reversed_ability = ability.mean() - world.against * (ability - ability.mean())
        item_abilities = np.where(kind == 0, reversed_ability[:, None], item_abilities)
    return item_abilities


def draw_scores(p: Array, rng: np.random.Generator) -> Array:
    return (rng.random(p.shape) < p).astype(np.float64)


def with_faults(
    kind: str,
    share: float,
    world: World,
    respondents: int,
    rng: np.random.Generator,
    items: int = ITEMS,
) -> tuple[Array, set[int]]:
    """Scores, and the items with a fault: a wrong key (a yes/no item is scored the other way
    round), or a trap.

    A trap is an item that respondents fall for the more, the abler they are.
    """
    return planted(kind, share, world, respondents, rng, items)[1:]


def planted(
    kind: str,
    share: float,
    world: World,
    respondents: int,
    rng: np.random.Generator,
    items: int = ITEMS,
) -> tuple[Array, Array, set[int]]:
    """The chances of a right answer under a right key, before `with_faults`' scores and faults."""
    p = chances(world, respondents, rng, items)
    faults = rng.choice(items, round(share * items), replace=False)
    if kind == "trap":
        # the respondents stand in the order of their abilities
        p[:, faults] = np.sort(p[:, faults], axis=0)[::-1]
    x = draw_scores(p, rng)
    if kind == "wrong key":
        x[:, faults] = with_wrong_keys(x[:, faults], rng=rng, hit=1 / (world.options - 1))
    return p, x, set(faults.tolist())


def indicators(x: Array, families: Sequence[str] = ()) -> dict[str, Result]:
    """What an audit says of the items: indicator -> its result."""
    items = tuple(
        Item(f"q{i}", f"Is there a thing {i}?", "yes_no", "yes", f"{i // 4}.png")
        for i in range(x.shape[1])
    )
    names = tuple(f"model{m}" for m in range(len(x)))
    tallies = {"right": x, "n": np.ones(x.shape)}
    matrix = ScoreMatrix(
        Cell(),
        names,
        items,
        x,
        tallies,
        np.zeros(x.shape, dtype=np.uint8),
        np.ones(x.shape),
        {},
        "simulated",
    )
    effective = (
        family_flag(x.mean(axis=1), families, np.random.default_rng(0))[1] if families else None
    )
    study = case(
        "items",
        "",
        (matrix,),
        ACCURACY[0],
        Protocol("simulated@1", "b2:0", "official"),
        n_effective=effective,
    )
    indicator_names = ("negative_items", "label_errors", "reading_list")
    answers = {
        i.name: answer(study, i) for i in family_indicators("items") if i.name in indicator_names
    }
    return {name: result for name, result in answers.items() if result is not None}


def family_flag(
    scores: Array, families: Sequence[str], rng: np.random.Generator
) -> tuple[bool, float]:
    """Whether the flag of dependence is raised, and the effective number of respondents."""
    # the test of the flag draws permutations where it is one
    drawing = {"rng": rng} if "rng" in inspect.signature(family_dependence).parameters else {}
    dependence = family_dependence(scores, families, **drawing)
    return "FAMILY_DEPENDENCE" in dependence.flags, dependence.n_eff


@dataclass(frozen=True)
class Detections:
    """One study: what was named, and what the report says that it would find."""

    planted: int
    n_named: int
    true: int
    stated: float
    status: str


def run_detectors(x: Array, faults: set[int]) -> dict[str, Detections]:
    """Detector -> what it made of one study; of the reading list, as many items as there are
    faults.
    """
    detections = {}
    for name, result in indicators(x).items():
        detail, status = result.detail, result.coefficient.status
        if name == "reading_list":
            named_items = [
                int(row["item"][1:]) for row in detail.get("reading_list", ())[: len(faults)]
            ]
            stated = detail.get("power", {}).get("true_among_first")
        else:
            rows = detail.get("items") or [row["item"] for row in detail.get("candidates", ())]
            named_items = [int(item[1:]) for item in rows]
            stated = detail.get("power", {}).get("found")
        detections[name] = Detections(
            len(faults),
            len(named_items),
            len(set(named_items) & faults),
            float("nan") if stated is None else stated,
            status,
        )
    return detections


def best_hits(x: Array, faults: set[int], world: World, rng: np.random.Generator) -> float:
    """Share of wrong keys among the first n of the best list there can be: of who knows how the
    items were made.

    The likelihood under either key is averaged over 4,000 items drawn anew; abilities and all
    distributions are known.
    """
    ability = np.linspace(world.weakest, world.ablest, len(x))
    difficulty, slope, picture = (
        rng.normal(0, 0.9, 4000),
        np.exp(rng.normal(0, 0.3, 4000)),
        rng.normal(0, 0.3, 4000),
    )
    from scipy.special import ndtr

    # what a respondent and an item have between them has variance .09 and flattens the curve
    p_knows = ndtr((slope * (ability[:, None] - difficulty) + picture) / np.sqrt(1.09))
    p = np.clip(p_knows * 0.98 + (1 - p_knows) * world.guessing, 1e-9, 1 - 1e-9)
    right, wrong = (
        np.exp(y.T @ np.log(p) + (1 - y).T @ np.log(1 - p)).mean(axis=1) for y in (x, 1 - x)
    )
    order = np.argsort(-wrong / (wrong + right), kind="stable")[: len(faults)]
    return len(set(order.tolist()) & faults) / len(faults)


def hits_of_chances(p: Array, x: Array, faults: set[int]) -> float:
    """Share of wrong keys among the first n by the exact posterior of who knows every respondent's
    chance at every item.

    Nobody can: what is known of one item's difficulty comes from the same answers. It is a ceiling
    above `best_hits`.
    """
    right, wrong = (np.log(y.clip(1e-9, 1 - 1e-9)) for y in (p, 1 - p))
    odds = (x * (wrong - right) + (1 - x) * (right - wrong)).sum(axis=0)
    order = np.argsort(-odds, kind="stable")[: len(faults)]
    return len(set(order.tolist()) & faults) / len(faults)


def bounds_table(
    replicates: int, respondents: int = 12, shares: Sequence[float] = SHARES[:2]
) -> Iterator[str]:
    """Rows: world, share; true among the first n for each list over the same studies, with Monte
    Carlo errors.
    """
    yield (
        "| world | wrong keys | reading list | distributions and abilities known | every chance"
        " known |"
    )
    yield "|---|---|---|---|---|"
    for name in ("plain", "guessing"):
        for share in shares:
            rng = np.random.default_rng([respondents, round(1000 * share)])
            hits = []
            for _ in range(replicates):
                p, x, faults = planted("wrong key", share, WORLDS[name], respondents, rng)
                listed = {
                    row.item for row in reading_list(x, rng=rng, max_listed=len(faults)).items
                }
                best = best_hits(x, faults, WORLDS[name], rng)
                hits.append(
                    (len(listed & faults) / len(faults), best, hits_of_chances(p, x, faults))
                )
            cells = [
                f"{np.mean(h):.3f} ± {np.std(h) / np.sqrt(replicates):.3f}"
                for h in zip(*hits, strict=True)
            ]
            yield f"| {name} | {share:.0%} | {' | '.join(cells)} |"


def accused(x: Array, rng: np.random.Generator) -> tuple[bool, bool]:
    """Whether `label_errors` and `negative_items` name any item: what these indicators count."""
    sure = reading_list(x, rng=rng).named or label_error_candidates(x, rng=rng).candidates
    return bool(sure), bool(item_analysis(x).reversed)


def items_table(
    world: World, respondents: Sequence[int], replicates: int, shares: Sequence[float] = SHARES
) -> Iterator[str]:
    """Rows: fault, share, respondents; found by each detector, what it states, and accusations of
    clean studies.
    """
    yield (
        "| fault | respondents | label errors: found | stated | negative items: found | stated |"
        " list: true among first n | stated | best possible |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for m in respondents:
        rng = np.random.default_rng(m)
        clean = [with_faults("none", 0.0, world, m, rng)[0] for _ in range(5 * replicates)]
        accusation_rates = np.mean([accused(x, rng) for x in clean], axis=0)
        clean_detections = [run_detectors(x, set()) for x in clean[: max(1, replicates // 2)]]
        stated = [
            _mean(study[name].stated for study in clean_detections)
            for name in ("label_errors", "negative_items", "reading_list")
        ]
        yield (
            f"| none: studies accused | {m} | **{accusation_rates[0]:.3f}** | {stated[0]:.2f} |"
            f" **{accusation_rates[1]:.3f}** | {stated[1]:.2f} | | {stated[2]:.2f} | |"
        )
        for kind, share in (*(("wrong key", share) for share in shares), ("trap", 0.02)):
            datasets = [with_faults(kind, share, world, m, rng) for _ in range(replicates)]
            studies = [run_detectors(*study) for study in datasets]
            best = ""
            if kind == "wrong key" and not world.families:
                best = f"{np.mean([best_hits(*study, world, rng) for study in datasets]):.2f}"
            cells = []
            for name in ("label_errors", "negative_items", "reading_list"):
                share_named = sum(s[name].true for s in studies) / sum(
                    s[name].planted for s in studies
                )
                cells.append(f"{share_named:.2f} | {_mean(s[name].stated for s in studies):.2f}")
            yield f"| {kind}, {share:.0%} | {m} | {' | '.join(cells)} | {best} |"


def _mean(values: Iterator[float]) -> float:
    finite = [value for value in values if np.isfinite(value)]
    return float(np.mean(finite)) if finite else float("nan")


def calibration(
    world: World, respondents: int, replicates: int, shares: Sequence[float] = (0.02, 0.05)
) -> list[tuple[float, float, int]]:
    """Of the items whose chance of a wrong key is said to be .1 to .3, .3 to .5 and so on: mean
    said, true share, items.
    """
    rng = np.random.default_rng(100 + respondents)
    expected, true = [], []
    for share in shares:
        for _ in range(replicates):
            x, faults = with_faults("wrong key", share, world, respondents, rng)
            for row in reading_list(x, rng=rng, max_listed=ITEMS).items:
                expected.append(row.expected)
                true.append(row.item in faults)
    p, y = np.array(expected), np.array(true)
    rows = []
    for low in (0.1, 0.3, 0.5, 0.65, 0.8, 0.9):
        high = {0.1: 0.3, 0.3: 0.5, 0.5: 0.65, 0.65: 0.8, 0.8: 0.9, 0.9: 1.01}[low]
        in_bin = (p >= low) & (p < high)
        if in_bin.sum() >= 20:
            rows.append((float(p[in_bin].mean()), float(y[in_bin].mean()), int(in_bin.sum())))
    return rows


# --- weaknesses that respondents share ---


@dataclass(frozen=True)
class StudyReading:
    """What the list and the count make of one study of a world with types."""

    n_named: int
    n_true_named: int
    expected_faults: float
    """Wrong keys to be expected, a thousand items; NaN where that is not said."""
    true: float
    """Share of wrong keys among as many items from the top."""
    stated: float


def read_study(
    world: World, share: float, respondents: int, rng: np.random.Generator
) -> StudyReading:
    """Draw a study of 800 items and read it as an audit does."""
    x, faults = with_faults("wrong key", share, world, respondents, rng, 800)
    kind, first = (labels.tolist() for labels in world.layout(800))
    listed = reading_list(
        x,
        rng=rng,
        hit=1 / (world.options - 1),
        types=kind,
        sides=first,
        max_listed=max(len(faults), 1),
    )
    tested = label_error_candidates(x, rng=rng, groups=list(zip(kind, first, strict=True)))
    named_items = {row.item for row in listed.named}
    if not listed.doubt:
        named_items |= {row.item for row in tested.candidates}
    true = sum(row.item in faults for row in listed.items) / max(len(faults), 1)
    return StudyReading(
        len(named_items), len(named_items & faults), listed.faults / 0.8, true, listed.power
    )


def shared_table(replicates: int, respondents: Sequence[int]) -> Iterator[str]:
    """Rows: world, respondents; what is said of sound studies, and of 1% and 2% wrong keys."""
    yield (
        "| world | respondents | sound: studies that name a key | a number is said | most of 1,000 |"
        " 1%: true among first n | stated | number said, of 10 | 2%: true among first n | stated |"
        " number said, of 20 | named | of these true |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    for name, world in SHARED.items():
        for m in respondents:
            rng = np.random.default_rng([m, len(name)])
            sound = [read_study(world, 0.0, m, rng) for _ in range(2 * replicates)]
            expected = [
                study.expected_faults for study in sound if np.isfinite(study.expected_faults)
            ]
            cells = [
                f"**{np.mean([study.n_named > 0 for study in sound]):.3f}**",
                f"{len(expected) / len(sound):.2f}",
                f"**{max(expected, default=0.0):.1f}**",
            ]
            for share in (0.01, 0.02):
                studies = [read_study(world, share, m, rng) for _ in range(replicates)]
                stated = [
                    study.expected_faults for study in studies if np.isfinite(study.expected_faults)
                ]
                cells += [
                    f"{np.mean([study.true for study in studies]):.2f}",
                    f"{np.mean([study.stated for study in studies]):.2f}",
                    f"{np.mean(stated):.1f} in {len(stated) / len(studies):.2f}"
                    if stated
                    else "none",
                ]
            n_named = sum(study.n_named for study in studies)
            cells += [
                f"{n_named / len(studies):.1f}",
                f"{sum(study.n_true_named for study in studies) / n_named:.2f}" if n_named else "",
            ]
            yield f"| {name} | {m} | {' | '.join(cells)} |"


def shared_part(replicates: int, respondents: Sequence[int]) -> None:
    print(
        f"\n## Weaknesses that respondents share, 800 items, {2 * replicates} sound studies and"
        f" {replicates} with wrong keys a row\n"
    )
    for line in shared_table(replicates, respondents):
        print(line, flush=True)


def repope_table(data: Path, part: str = "adversarial") -> Iterator[str]:
    """Rows: side of POPE's key, how many of LLaVA-1.5 7B and 13B fail; of these items, how many
    have a wrong or an ambiguous key by RePOPE.
    """
    question_ids = {
        (row["image"], row["text"].split("\n")[0]): row["question_id"]
        for row in _lines(data / "logs/llava/llava_pope_test.jsonl")
        if row["category"] == part
    }
    yes_answers = [
        {row["question_id"]: row["text"].strip().lower().startswith("yes") for row in _lines(path)}
        for path in (
            data / "logs/llava/llava-v1.5-7b_pope.jsonl",
            data / "pope_answers/llava-v1.5-13b.jsonl.gz",
        )
    ]
    corrected = {
        (row["image"], row["text"]): row["label"]
        for row in _lines(data / f"pope/repope/coco_repope_{part}.json")
    }
    cells: dict[tuple[str, int], list[str]] = {}
    for row in _lines(data / f"pope/coco_pope_{part}.json"):
        question, key = (row["image"], row["text"]), row["label"]
        if all(question_ids.get(question) in answers for answers in yes_answers):
            fails = sum(
                answers[question_ids[question]] != (key == "yes") for answers in yes_answers
            )
            corrected_key = corrected.get(question, "ambiguous")
            cells.setdefault((key, fails), []).append(
                "right" if corrected_key == key else corrected_key
            )
    yield "| key | failed by | items | wrong key | ambiguous |"
    yield "|---|---|---|---|---|"
    for (key, fails), truth in sorted(cells.items(), reverse=True):
        unclear = truth.count("ambiguous") / len(truth)
        wrong = 1 - unclear - truth.count("right") / len(truth)
        yield f"| {key} | {fails} of 2 | {len(truth):,} | {wrong:.3f} | {unclear:.3f} |"


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    text = path.read_bytes()
    yield from map(
        json.loads, (gzip.decompress(text) if path.suffix == ".gz" else text).splitlines()
    )


# --- judges ---


def judged(
    bias: float, drift: float, respondents: int, rng: np.random.Generator, labels: int = 100
) -> tuple[bool, bool]:
    """Whether the test of equal errors speaks, and the test of a shift between two judgings of the
    same answers.

    The judge misses 8 % of the right answers and passes 15 % of the wrong ones; of the first
    respondent's right answers it misses `bias` more, and the second time it fails `drift` more of
    all answers.
    """
    p = chances(WORLDS["plain"], respondents, rng, labels)
    truth = draw_scores(p, rng)
    hard = rng.normal(0, 0.5, labels)
    from scipy.special import ndtr, ndtri

    def verdicts(shift: float) -> Array:
        missed = np.tile(ndtr(ndtri(0.08) + hard), (respondents, 1)) + shift
        missed[0] += bias
        passed = ndtr(ndtri(0.15) + hard) - shift
        return draw_scores(np.where(truth == 1, 1 - missed, passed).clip(0, 1), rng)

    first, second = verdicts(0.0), verdicts(drift)
    moved = bias_test(np.stack([first.mean(axis=1), second.mean(axis=1)], axis=1))
    return "JUDGE_DIF" in judge_errors(first, truth).flags, moved.status == "ok" and moved.p < 0.05


# --- leaks ---


def questions(leak: str, strength: float, rng: np.random.Generator, items: int = 600) -> list[Item]:
    """Yes/no questions, two a picture, in which a cue goes with the label in a share `strength` of
    the items.
    """
    label = rng.permutation(np.arange(items) % 2)
    drawn_items = []
    for i in range(items):
        word, position = (
            WORDS[rng.integers(len(WORDS))],
            rng.choice(["left", "right", "middle", "front"]),
        )
        yes = bool(label[i])
        cued = yes if rng.random() < strength else bool(rng.integers(2))
        prompt = f"Is there a {word} on the {position} of the picture?"
        number = int(rng.integers(10**6))
        if leak == "position":
            yes = i % 2 == 0 if rng.random() < strength else yes
        if leak == "length":
            prompt += " Please answer with yes or no." if cued else ""
        if leak == "wording":
            prompt = prompt.replace("Is there a", "Is there any" if cued else "Is there a")
        if leak == "id":
            number = number // 2 * 2 + int(cued)
        drawn_items.append(
            Item(
                f"q{number}",
                prompt,
                "yes_no",
                "yes" if yes else "no",
                f"{i // 2}.png",
                "existence",
                cluster=f"{i // 2}",
            )
        )
    return drawn_items


def leaks(items: Sequence[Item], rng: np.random.Generator) -> tuple[bool, bool, bool]:
    """Whether the cues, the blind guesser and the linter speak."""
    labels, prompts = [str(item.target) for item in items], [item.prompt for item in items]
    clusters = [item.cluster or item.id for item in items]
    cues = leakage_cues(
        labels,
        rng=rng,
        questions=prompts,
        ids=[item.id for item in items],
        clusters=clusters,
    )
    blind = blind_solvability(prompts, labels, rng=rng, clusters=clusters, folds=5)
    return (
        bool(cues.leaks),
        blind.status == "ok" and blind.p < 0.05,
        any(True for _ in check_leaks(Form("original", tuple(items)))),
    )


def chosen_positions(lean: float, rng: np.random.Generator, items: int = 400) -> bool:
    """Whether the test of a lean towards a place among four options speaks."""
    counts = rng.multinomial(items, [0.25 + lean, *[(0.75 - lean) / 3] * 3])
    test = position_bias(counts).test
    return test.status == "ok" and test.p < 0.05


# --- relatives ---


def relatives(correlation: float, respondents: int, rng: np.random.Generator) -> bool:
    """Whether the flag of dependence is raised; families have four members."""
    member = np.arange(respondents) // 4
    scores = np.sqrt(correlation) * rng.normal(size=member.max() + 1)[member]
    scores = scores + np.sqrt(1 - correlation) * rng.normal(size=respondents)
    return family_flag(scores, [f"f{k}" for k in member], rng)[0]


def share(speaks: Callable[[np.random.Generator], bool], replicates: int, seed: int) -> float:
    return float(np.mean([speaks(np.random.default_rng([seed, k])) for k in range(replicates)]))


PARTS = ("items", "shared", "judges", "leaks", "lean", "relatives")


def main() -> None:
    """Print the tables."""
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    sections = [word for word in sys.argv[1:] if not word.isdigit()] or list(PARTS)
    replicates, respondents = numbers[0] if numbers else 20, numbers[1:] or list(RESPONDENTS)
    makers = {
        "items": items_part,
        "shared": shared_part,
        "repope": lambda *_: print(*repope_table(Path(os.environ["HQM_DATA"])), sep="\n"),
        "bounds": lambda replicates, _: show_bounds(replicates),
        "judges": judges_part,
        "leaks": leaks_part,
        "lean": lean_part,
        "relatives": relatives_part,
    }
    for section in sections:
        makers[section](replicates, respondents)


def items_part(replicates: int, respondents: Sequence[int]) -> None:
    for name, world in WORLDS.items():
        print(
            f"\n## Items, world {name}: {ITEMS} items, {replicates} studies a row ({5 * replicates}"
            " clean ones)\n"
        )
        for line in items_table(
            world, [m for m in respondents if not world.families or m >= 10], replicates
        ):
            print(line, flush=True)
        print("\n| respondents | chance said: share true (items) |\n|---|---|")
        for m in respondents:
            if not world.families or m >= 10:
                rows = calibration(world, m, replicates)
                print(
                    f"| {m} | {', '.join(f'{p:.2f}: **{y:.2f}** ({n})' for p, y, n in rows)} |",
                    flush=True,
                )


def show_bounds(replicates: int) -> None:
    print(
        f"\n## The reading list and what could be known, 12 respondents, {replicates} studies a"
        " row\n"
    )
    for line in bounds_table(replicates):
        print(line, flush=True)


def judges_part(replicates: int, respondents: Sequence[int]) -> None:
    n_studies = 10 * replicates
    print(f"\n## Judges, 100 labels a respondent, {n_studies} studies a row\n")
    print(
        "| respondents | biased against one by .15 | by .30 | clean | second judging fails .05 more"
        " | clean |\n|---|---|---|---|---|---|"
    )
    for m in respondents:
        cells = [
            share(lambda r, b=b, m=m: judged(b, 0.0, m, r)[0], n_studies, m)
            for b in (0.15, 0.30, 0.0)
        ]
        cells += [
            share(lambda r, d=d, m=m: judged(0.0, d, m, r)[1], n_studies, 50 + m)
            for d in (0.05, 0.0)
        ]
        print(f"| {m} | " + " | ".join(f"{c:.3f}" for c in cells) + " |", flush=True)


def leaks_part(replicates: int, _: Sequence[int]) -> None:
    print(f"\n## Leaks, 600 items, two a picture, {3 * replicates} studies a row\n")
    print("| leak | strength | cues | words alone | hqm check |\n|---|---|---|---|---|")
    for leak, strength in (
        ("none", 0.0),
        *((k, s) for k in ("position", "length", "wording", "id") for s in (0.15, 0.3)),
    ):
        detected = []
        for k in range(3 * replicates):
            rng = np.random.default_rng([7, k])
            detected.append(leaks(questions(leak, strength, rng), rng))
        print(
            f"| {leak} | {strength:.2f} | "
            + " | ".join(f"{c:.3f}" for c in np.mean(detected, axis=0))
            + " |",
            flush=True,
        )


def lean_part(replicates: int, _: Sequence[int]) -> None:
    n_studies = 10 * replicates
    print(
        f"\n## A lean towards the first of four options, 400 answers, {n_studies} studies"
        "\n\n| lean |"
        " speaks |\n|---|---|"
    )
    for lean in (0.0, 0.05, 0.10):
        print(
            f"| {lean:.2f} |"
            f" {share(lambda r, lean=lean: chosen_positions(lean, r), n_studies, 3):.3f} |"
        )


def relatives_part(replicates: int, respondents: Sequence[int]) -> None:
    n_studies = 10 * replicates
    print(
        f"\n## Relatives, families of four, {n_studies} studies"
        "\n\n| respondents | correlation .7 | .3 |"
        " unrelated |\n|---|---|---|---|"
    )
    for m in (m for m in respondents if m >= 8):
        cells = [
            share(lambda r, c=c, m=m: relatives(c, m, r), n_studies, m) for c in (0.7, 0.3, 0.0)
        ]
        print(f"| {m} | " + " | ".join(f"{c:.3f}" for c in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
