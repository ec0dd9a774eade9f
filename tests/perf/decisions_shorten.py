"""Short forms held against the full benchmark: simulated studies, the embedded models, and recorded
answers.

    python -m tests.perf.decisions_shorten [replicates] [--small N] [--shapes out/shapes/audit.json] [--data FOLDER]

The simulated answers come from no model that the methods fit. Each respondent has an ability, one
for each type and three hidden ones, most of which its family shares; a habit of saying yes;
something of its own with each picture; and its family has something with each item. Items have
slopes, places in the hidden dimensions, a chance of a lucky guess, and a ceiling of .98. 20
respondents of families of one to three (in every third study, one family of eight) choose the
items. Held out: their families in turn, nested. New: 40 further respondents of 40 further families,
who answer the form that was chosen.

Prints Markdown; docs/shortening.md holds the tables.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from hqm_study.shortening import Measure, Shortening, mean_measure, shorten_answers

Array = npt.NDArray[np.float64]
RESPONDENTS, NEW = 20, 40
AMBER = 14_216
GOALS = {"mean error": "at most .02", "tau": "at least .9", "coverage": ".93 to .97"}


@dataclass(frozen=True, eq=False)
class Study:
    """Simulated answers; the first respondents choose, the others are new."""

    values: Array
    families: tuple[str, ...]
    types: tuple[str, ...]
    right: tuple[str, ...]
    pictures: tuple[str, ...]


def simulate(
    rng: np.random.Generator, items: int, *, large_family: bool = False, new: int = NEW
) -> Study:
    """One study; `items` questions about a fourteenth as many pictures."""
    sizes = [8] if large_family else []
    while sum(sizes) < RESPONDENTS:
        sizes.append(min(int(rng.integers(1, 4)), RESPONDENTS - sum(sizes)))
    families = [f"family {k}" for k, size in enumerate(sizes) for _ in range(size)]
    families += [f"new {k}" for k in range(new)]
    family_index = np.unique(families, return_inverse=True)[1]
    n_families, n_respondents = int(family_index.max()) + 1, len(families)

    def mixed(common: float, respondent_sd: float, *shape: int) -> Array:
        return np.asarray(
            common * rng.normal(size=(n_families, *shape))[family_index]
            + respondent_sd * rng.normal(size=(n_respondents, *shape))
        )

    kind = rng.choice(5, items, p=(0.35, 0.25, 0.15, 0.13, 0.12))
    pictures = rng.integers(0, max(items // 14, 30), items)
    yes = rng.random(items) < 0.34
    hidden = mixed(0.7, 0.5, 3) @ (0.35 * rng.normal(size=(items, 3))).T
    slope = np.exp(0.3 * rng.normal(size=items))
    easy = (
        1.4 * rng.normal(size=items)
        + np.array([1.8, 1.2, 0.9, 1.2, 0.6])[kind]
        + 0.5 * rng.normal(size=pictures.max() + 1)[pictures]
    )
    logit = slope * (mixed(0.55, 0.45)[:, None] + mixed(0.35, 0.25, 5)[:, kind]) + hidden + easy
    logit += (
        0.5 * rng.normal(size=(n_families, items))[family_index]
        + 0.4 * rng.normal(size=(n_respondents, int(pictures.max()) + 1))[:, pictures]
    )
    logit += mixed(0.5, 0.3)[:, None] * np.where(yes, 1, -1)
    guess = rng.choice((0.0, 0.1, 0.25), items)
    values = (
        rng.random((n_respondents, items)) < guess + (0.98 - guess) / (1 + np.exp(-logit))
    ).astype(np.float64)
    names = ("existence", "attribute", "counting", "relation", "action")
    return Study(
        values,
        tuple(families),
        tuple(names[k] for k in kind),
        tuple("yes" if y else "no" for y in yes),
        tuple(map(str, pictures)),
    )


def f1(values: Array, right: Sequence[str]) -> Measure:
    """F1 of the answers yes, from whether each was right."""
    yes = np.array([r == "yes" for r in right])
    tallies = {"tp": values * yes, "fn": (1 - values) * yes, "fp": (1 - values) * ~yes}
    return Measure("F1", lambda t: 2 * t["tp"] / (2 * t["tp"] + t["fp"] + t["fn"]), tallies)


def tau(scores: Array, full_scores: Array) -> float:
    """Kendall's tau-b."""
    from scipy.stats import kendalltau

    return float(kendalltau(scores, full_scores).statistic)


@dataclass
class Tally:
    """What the studies gave, score by score."""

    rows: dict[str, list[tuple[float, ...]]]

    def add(self, name: str, *numbers: float) -> None:
        self.rows.setdefault(name, []).append(numbers)

    def print(self, columns: Sequence[str]) -> None:
        print(f"\n| | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
        for name, numbers in self.rows.items():
            print(
                f"| {name} |"
                f" {' | '.join(f'{value:.3f}' for value in np.nanmean(numbers, axis=0))} |"
            )


COLUMNS = ("mean error", "Kendall's tau", "coverage", "half width")


def simulated(replicates: int, items: int, share: str, forms: int = 1, seed: int = 0) -> None:
    """Studies of one size: the loss that the command states, and the loss on new families."""
    tally, methods, seconds = Tally({}), [], []
    parallel: list[tuple[float, float]] = []
    worse = 0
    for replicate in range(replicates):
        study = simulate(
            np.random.default_rng((seed, items, replicate)), items, large_family=replicate % 3 == 2
        )
        old, new = study.values[:RESPONDENTS], study.values[RESPONDENTS:]
        began = time.perf_counter()
        short = shorten_answers(
            old,
            share,
            families=study.families[:RESPONDENTS],
            types=study.types,
            strata=study.right,
            pictures=study.pictures,
            measures=(mean_measure(old, "share right"), f1(old, study.right)),
            forms=forms,
            seed=replicate,
        )
        seconds.append(time.perf_counter() - began)
        methods.append(short.method)
        for measure in (mean_measure(new, "share right"), f1(new, study.right)):
            of_form = []
            for k, form in enumerate(short.forms):
                loss = short.held_out_scores.loss[measure.name][k]
                tally.add(
                    f"{measure.name}, held-out families",
                    loss.mean_error,
                    loss.tau,
                    loss.coverage,
                    loss.half_width,
                )
                got, full_scores = (
                    measure.scale_scores(form, factor=loss.factor, df=loss.freedom),
                    measure.full_scores(),
                )
                coverage = float(((got.low <= full_scores) & (full_scores <= got.high)).mean())
                error = float(np.abs(got.scores - full_scores).mean())
                tally.add(
                    f"{measure.name}, new families",
                    error,
                    tau(got.scores, full_scores),
                    coverage,
                    float((got.high - got.low).mean() / 2),
                )
                worse += error > 0.02
                of_form.append(got.scores)
            if forms > 1:
                held_out_reliability = short.held_out_scores.parallel[measure.name].reliability
                parallel.append(
                    (held_out_reliability, float(np.corrcoef(of_form[0], of_form[1])[0, 1]))
                )
        print(
            f"  study {replicate + 1}: {short.method}, {seconds[-1]:.0f} s",
            file=sys.stderr,
            flush=True,
        )
    print(
        f"\n### {items:,} items, {share}, {forms} form{'s' * (forms > 1)}, {replicates} studies\n"
    )
    print(
        f"methods chosen: {', '.join(f'{m} {methods.count(m)}' for m in dict.fromkeys(methods))};"
        f" median {np.median(seconds):.0f} s"
    )
    print(f"studies and scores whose mean error on new families is over .02: {worse}")
    if parallel:
        held_out_reliability, fresh = np.mean(parallel, axis=0)
        print(
            f"parallel-forms reliability: {held_out_reliability:.3f} on held-out families, {fresh:.3f} on new"
            " families"
        )
    tally.print(COLUMNS)


def print_study(title: str, short: Shortening) -> None:
    """One real study: what the command states."""
    print(
        f"\n### {title}\n\n{short.items:,} of {short.full_items:,} items from"
        f" {len(short.respondents)} respondents of {len(set(short.families))} families; method"
        f" {short.method}"
    )
    tally = Tally({})
    for name, losses in short.held_out_scores.loss.items():
        for k, loss in enumerate(losses):
            tally.add(
                f"{name}, form {'AB'[k]}", loss.mean_error, loss.tau, loss.coverage, loss.half_width
            )
    tally.print(COLUMNS)
    for name, agreement in short.held_out_scores.parallel.items():
        print(
            f"\nparallel-forms reliability of {name}: {agreement.reliability:.3f}, mean shift"
            f" {agreement.mean_shift:+.3f}"
        )


def caption_study(
    data: Path, rng: np.random.Generator
) -> tuple[Array, list[str], list[str], list[str]]:
    """POPE's question put to recorded captions: does the caption mention an object that is there,
    or one that is not?

    Three objects that are in the picture and three that are not, drawn by how common they are, for
    each of 2,000 pictures described by five models under two instructions.
    """
    objects: Mapping[str, Sequence[str]] = json.loads(
        (data / "coco" / "objects.json").read_text("utf-8")
    )
    synonyms: Mapping[str, str] = json.loads((data / "coco" / "synonyms.json").read_text("utf-8"))[
        "inverse"
    ]
    by_id = {int(key): frozenset(names) for key, names in objects.items()}
    words: dict[str, list[str]] = {}
    for word, name in ((word, name) for word, name in synonyms.items() if word):
        words.setdefault(name, []).append(word)
    patterns = {
        name: re.compile(rf"\b(?:{'|'.join(map(re.escape, synonyms))})s?\b")
        for name, synonyms in words.items()
    }
    captions: dict[str, dict[int, str]] = {}
    for path in sorted((data / "pope" / "captions").glob("*.json")):
        captions[path.stem] = _captions(path)
    order = next(captions_of_model for captions_of_model in captions.values() if captions_of_model)
    pictures = [
        key
        for key in order
        if key in by_id and all(key in captions_of_model for captions_of_model in captions.values())
    ]
    count = {name: sum(name in by_id[key] for key in pictures) for name in patterns}
    names = [name for name in patterns if count[name]]
    chance = np.array([count[name] for name in names], dtype=np.float64)
    rows: list[tuple[int, str, str]] = []
    for key in pictures:
        present = sorted(by_id[key] & set(names))
        absent_chances = np.where([name in by_id[key] for name in names], 0.0, chance)
        rows += [(key, name, "yes") for name in rng.permutation(present)[:3]]
        rows += [
            (key, names[i], "no")
            for i in rng.choice(
                len(names), 3, replace=False, p=absent_chances / absent_chances.sum()
            )
        ]
    values = np.array(
        [
            [
                float(
                    (patterns[name].search(captions_of_model[key].lower()) is not None)
                    == (right == "yes")
                )
                for key, name, right in rows
            ]
            for captions_of_model in captions.values()
        ]
    )
    return (
        values,
        [stem.partition("_")[2] for stem in captions],
        [right for *_, right in rows],
        [str(key) for key, *_ in rows],
    )


def _captions(path: Path) -> dict[int, str]:
    """Picture -> caption; the files are JSON lines or JSON values one after another, and one names
    no pictures.
    """
    text, offset, decoder, rows = path.read_text("utf-8"), 0, json.JSONDecoder(), []
    while offset < len(text):
        if text[offset] in " \n\r\t,[]":
            offset += 1
            continue
        row, offset = decoder.raw_decode(text, offset)
        rows.append(row)
    ids = (
        _ids(path.with_name("Instruction1_instructblip.json"))
        if rows and "image_id" not in rows[0]
        else {}
    )
    return {
        int(row.get("image_id", ids.get(row.get("question_id"), -1))): str(row["text"])
        for row in rows
    }


def _ids(path: Path) -> dict[int, int]:
    """The files number the same pictures alike."""
    return {
        row["question_id"]: row["image_id"]
        for row in map(json.loads, path.read_text("utf-8").splitlines())
    }


def pope(data: Path) -> None:
    """Recorded captions read as POPE reads answers, and simulated answers to POPE's own 9,000
    questions.
    """
    values, families, right, pictures = caption_study(data, np.random.default_rng(0))
    print_study(
        f"Recorded captions of {len(values)} respondents, read as answers to {values.shape[1]:,}"
        " questions of POPE's kind",
        shorten_answers(
            values,
            "10%",
            families=families,
            strata=right,
            pictures=pictures,
            forms=2,
            measures=(mean_measure(values, "share right"), f1(values, right)),
        ),
    )
    from hqm import load

    items = load("pope", data=data).original.items
    tally = Tally({})
    for replicate in range(5):
        study = simulate(np.random.default_rng((7, replicate)), len(items))
        old = study.values[:RESPONDENTS]
        short = shorten_answers(
            old,
            "10%",
            families=study.families[:RESPONDENTS],
            types=[item.part for item in items],
            strata=[str(item.target) for item in items],
            pictures=[str(item.image) for item in items],
            seed=replicate,
        )
        loss = short.held_out_scores.loss["mean"][0]
        tally.add(
            "share right, held-out families",
            loss.mean_error,
            loss.tau,
            loss.coverage,
            loss.half_width,
        )
        measure = mean_measure(study.values[RESPONDENTS:])
        got, full_scores = (
            measure.scale_scores(short.forms[0], factor=loss.factor, df=loss.freedom),
            measure.full_scores(),
        )
        coverage = float(((got.low <= full_scores) & (full_scores <= got.high)).mean())
        tally.add(
            "share right, new families",
            float(np.abs(got.scores - full_scores).mean()),
            tau(got.scores, full_scores),
            coverage,
            float((got.high - got.low).mean() / 2),
        )
    print(f"\n### POPE's own {len(items):,} questions, simulated answers, 10%, 5 studies")
    tally.print(COLUMNS)


def shapes(path: Path) -> None:
    """The embedded models, each a family of its own, from a stored audit."""
    from hqm import shorten

    for name in ("shapes_yesno", "shapes_choice", "shapes_vqa"):
        for share in ("10%", "30%"):
            print_study(f"{name}, {share}", shorten(name, path, share, forms=2).shortening)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what the arguments ask for."""
    reader = argparse.ArgumentParser()
    reader.add_argument("replicates", type=int, nargs="?", default=10)
    reader.add_argument("--small", type=int, default=0, help="studies of 1,000 items too")
    reader.add_argument("--pairs", type=int, default=0, help="studies with two forms too")
    reader.add_argument("--shapes", type=Path)
    reader.add_argument("--data", type=Path)
    args: Any = reader.parse_args(arguments)
    if args.replicates:
        simulated(args.replicates, AMBER, "10%")
    if args.pairs:
        simulated(args.pairs, AMBER, "10%", forms=2, seed=1)
    if args.small:
        simulated(args.small, 1_000, "30%")
        simulated(args.small, 1_000, "10%")
    if args.data:
        pope(args.data)
    if args.shapes:
        shapes(args.shapes)


if __name__ == "__main__":
    main()
