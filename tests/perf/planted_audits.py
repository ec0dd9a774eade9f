"""Whether the first page names a fault that is planted in a benchmark: how often, with ten models.

    python -m tests.perf.planted_audits [FAULT ...] [--replicates 20] [--seed 0] [--models 10]

The other half of `sound_audits`, from the same generator of answers: every replicate is a new
benchmark with one kind of fault, through `hqm.audit` to the first page. Faults of the questions:
`priors` (in one type three of four keys are yes: the level of guessing is said, and that the keys
are unbalanced), `option priors` (one option text is right in .55
of the items), `longest` (the right option is the longest in .7 of them), `two types` (in one type
the first word tells the key, in another its length), `row order` (the file is sorted by the key:
files that may be sampled, and no leak that a model sees). Faults of the keys: `wrong keys` (a
twentieth), `reversed` and `reversed in types` (a tenth of graded items, anywhere or in two of four
types). Faults of the study: `hopeless` (fifteen models far below change no statement about the
others), `missing` (each model lacks a tenth of the answers: pairs are compared on what both
answered), `absent` (the other wording lacks a question: every command reads the audit).
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import hqm
from hqm import Audit, BenchmarkAudit, Policy
from hqm.auditing.definitions import guessing_level, planned_contrasts, shared_items
from hqm.auditing.seven_questions import seven_answers
from tests.audit_doors import pass_all_doors, written_and_read
from tests.conftest import write_benchmark
from tests.perf.sound_audits import NORMAL, Array, SoundWorld, draw_abilities, draw_scores
from tests.release_worlds import NAMES, OBJECT_NAMES, rows_of, write

Row = dict[str, Any]
OPPOSITE = {"yes": "no", "no": "yes"}
NUMBER_WORDS = ("one", "two", "three", "four")
LONGER = ("with a long handle", "beside the window", "on the left side", "of another colour")
GRADED = replace(NORMAL, kind="graded", items=120)


@dataclass(frozen=True)
class Study:
    """One drawn study, whose fault may be found."""

    folder: Path
    rng: np.random.Generator
    world: SoundWorld

    @property
    def names(self) -> list[str]:
        """The models' names."""
        return [
            f"{NAMES[m % len(NAMES)]}{m // len(NAMES) or ''}" for m in range(self.world.respondents)
        ]


def audit_answers(
    study: Study, rows: list[Row], scores: Array, folder: Path, *, lost: float = 0.0
) -> BenchmarkAudit:
    """The audit of the answers that get these scores by the keys of the rows."""
    lines = []
    for run, m, i in np.ndindex(*scores.shape):
        if study.rng.random() < lost:
            continue
        row = rows[i]
        key = str(row["target"])
        others = [key] if scores[run, m, i] else _wrong_answers(row)
        record = {"respondent": study.names[m], "form": "original", "run": run, "item": row["id"]}
        lines.append(json.dumps({**record, "answer": str(study.rng.choice(others))}))
    recorded = study.folder / "answers.jsonl"
    recorded.write_text("\n".join(lines), encoding="utf-8")
    audit = hqm.audit(
        str(folder), recorded=recorded, store=study.folder / "store.sqlite", partial=lost > 0
    )
    assert isinstance(audit, BenchmarkAudit)
    return audit


def _wrong_answers(row: Row) -> list[str]:
    """The answers that the key of a row does not score as right."""
    if "options" not in row:
        return [OPPOSITE[str(row["target"])]]
    letters = "ABCD"[: len(row["options"])]
    return [letter for letter in letters if letter != row["target"]]


def leaks_named(audit: BenchmarkAudit) -> bool:
    """Whether the verdict is red because answers leak."""
    answers = seven_answers(audit)
    return answers.state == "not_ready" and any(r.what == "leaks" for r in answers.mend)


def yes_no_rows(study: Study) -> list[Row]:
    """Questions of yes and no of three types, without a fault."""
    return rows_of(study.rng, study.world.items // 3)


def audit_yes_no(study: Study, rows: list[Row], *, lost: float = 0.0) -> BenchmarkAudit:
    """The audit of questions of yes and no."""
    folder = write(study.folder / "planted", rows)
    return audit_answers(study, rows, draw_scores(study.world, study.rng), folder, lost=lost)


def priors(study: Study) -> bool:
    """In one type three of four keys are yes."""
    rows = yes_no_rows(study)
    for row in rows:
        if row["type"] == "counting":
            row["target"] = "yes" if study.rng.random() < 0.75 else "no"
    audit = audit_yes_no(study, rows)
    guessing = guessing_level(audit)
    is_said = guessing is not None and guessing.by_type["counting"] > 0.65
    return is_said and any(remedy.what == "balance" for remedy in seven_answers(audit).mend)


def two_types(study: Study) -> bool:
    """In one type the first word tells the key, in another the number of words: both are named."""
    rows = yes_no_rows(study)
    for row in rows:
        is_told = study.rng.random() < 0.9
        if row["type"] == "counting" and is_told:
            subject = row["prompt"].rpartition(" ")[0].split()[-4:]
            opening = "Does one see" if row["target"] == "yes" else "Might there be"
            row["prompt"] = f"{opening} {' '.join(subject)}?"
        elif row["type"] == "action" and is_told and row["target"] == "yes":
            row["prompt"] = row["prompt"].replace("?", ", somewhere in it or near its border?")
    audit = audit_yes_no(study, rows)
    leaking = {n for r in seven_answers(audit).mend if r.what == "leaks" for n in r.names}
    return leaks_named(audit) and {"counting", "action"} <= leaking


def row_order(study: Study) -> bool:
    """The file is sorted by the key: found by its place, and no leak."""
    rows = sorted(yes_no_rows(study), key=lambda row: str(row["target"]))
    audit = audit_yes_no(study, rows)
    names = {str(finding["name"]) for finding in audit.findings}
    return bool(names & {"label-by-position", "leakage-cue"}) and not leaks_named(audit)


def choice_rows(study: Study) -> list[Row]:
    """Questions of four options, without a fault."""
    rng, rows = study.rng, []
    for i in range(study.world.items):
        options = rng.choice(OBJECT_NAMES, 4, replace=False).tolist()
        rows.append(
            {
                "id": f"{int(rng.integers(1, 10**6)):06}-{i}",
                "prompt": f"Which of these is {rng.choice(['on the left', 'in front', 'red'])}?",
                "options": options,
                "target": str(rng.choice(list("ABCD"))),
                "type": ("existence", "attribute")[i % 2],
                "image": f"{i // 2:04}.png",
            }
        )
    return rows


def audit_choice(study: Study, rows: list[Row]) -> BenchmarkAudit:
    """The audit of questions of four options."""
    folder = write_benchmark(study.folder / "planted", rows, task="choice")
    return audit_answers(study, rows, draw_scores(study.world, study.rng), folder)


def option_priors(study: Study) -> bool:
    """One option text is right in .55 of the items."""
    rows = choice_rows(study)
    for row in rows:
        row["options"] = study.rng.permutation(NUMBER_WORDS).tolist()
        chances = np.where(np.array(row["options"]) == "one", 0.55, 0.15)
        row["target"] = "ABCD"[int(study.rng.choice(4, p=chances))]
    return leaks_named(audit_choice(study, rows))


def longest(study: Study) -> bool:
    """The right option is the longest in .7 of the items."""
    rows = choice_rows(study)
    for row in rows:
        key = "ABCD".index(row["target"])
        chances = np.where(np.arange(4) == key, 0.7, 0.1)
        index = int(study.rng.choice(4, p=chances))
        row["options"][index] += f" {study.rng.choice(LONGER)}"
    return leaks_named(audit_choice(study, rows))


def wrong_keys(study: Study) -> bool:
    """A twentieth of the keys are wrong: the first page has keys to check."""
    rows = yes_no_rows(study)
    scores = draw_scores(study.world, study.rng)
    faulty = study.rng.choice(len(rows), len(rows) // 20, replace=False)
    scores[:, :, faulty] = 1 - scores[:, :, faulty]
    audit = audit_answers(study, rows, scores, write(study.folder / "planted", rows))
    return any(remedy.what == "keys" for remedy in seven_answers(audit).mend)


def audit_graded(study: Study, scores: Array, kinds: npt.NDArray[np.str_]) -> BenchmarkAudit:
    """The audit of a table of scores with types."""
    path = study.folder / "scores.csv"
    with path.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened)
        writer.writerow(["item", "respondent", "run", "score", "category"])
        for run, m, i in np.ndindex(*scores.shape):
            writer.writerow([f"q{i}", study.names[m], run, f"{scores[run, m, i]:g}", kinds[i]])
    audit = hqm.audit(str(path), store=study.folder / "store.sqlite")
    assert isinstance(audit, BenchmarkAudit)
    return audit


def _reversed_in(study: Study, types: int) -> bool:
    """A tenth of graded items is reversed, in so many of four types: the page names reversed items,
    and most of those that it names are.
    """
    scores = draw_scores(replace(study.world, kind="graded"), study.rng)
    kinds = np.array(["existence", "counting", "relation", "ocr"])[np.arange(scores.shape[2]) % 4]
    candidates = np.flatnonzero(np.isin(kinds, np.unique(kinds)[:types]))
    faulty = study.rng.choice(candidates, scores.shape[2] // 10, replace=False)
    scores[:, :, faulty] = 6 - scores[:, :, faulty]
    audit = audit_graded(study, scores, kinds)
    listed = {n for r in seven_answers(audit).mend if r.what == "reversed" for n in r.names}
    return bool(listed) and len(listed & {f"q{i}" for i in faulty}) > len(listed) / 2


def reversed_items(study: Study) -> bool:
    """A tenth of the items, anywhere."""
    return _reversed_in(study, 4)


def reversed_in_types(study: Study) -> bool:
    """A tenth of all items, in two of four types: a fifth of each."""
    return _reversed_in(study, 2)


def hopeless(study: Study) -> bool:
    """Fifteen models that guess change no statement about the others."""
    rows = yes_no_rows(study)
    folder = write(study.folder / "planted", rows)
    scores = draw_scores(study.world, study.rng)
    guesses = (study.rng.random((2, 15, study.world.items)) < 0.5).astype(float)
    order = np.argsort(-scores[0].mean(axis=1))
    scores = scores[:, order]
    before = audit_answers(study, rows, scores, folder)
    joined = replace(study, world=replace(study.world, respondents=study.world.respondents + 15))
    after = audit_answers(joined, rows, np.concatenate([scores, guesses], axis=1), folder)
    limit = Policy.load().limits.equal_within
    statements = []
    for audit in (before, after):
        rest = [c for c in planned_contrasts(audit, limit) if c.second in study.names]
        statements.append([(c.first, c.second, c.outcome) for c in rest])
    return statements[0] == statements[1]


def missing(study: Study) -> bool:
    """Each model lacks a tenth of the answers: two share about .81 of the items."""
    audit = audit_yes_no(study, yes_no_rows(study), lost=0.1)
    shared = shared_items(audit)
    contrasts = planned_contrasts(audit, Policy.load().limits.equal_within)
    items = [contrast.items for contrast in contrasts]
    return shared is not None and min(items) > 0.7 * study.world.items


def absent(study: Study) -> bool:
    """One question of the other wording is not there: the audit is read by every command."""
    rows = yes_no_rows(study)
    rows[int(study.rng.integers(len(rows)))]["prompt"] = "Dog?"
    folder = write(study.folder / "planted", rows)
    benchmark = hqm.load(str(folder))
    forms = {"original": benchmark.original, "parallel": benchmark.parallel_form}
    abilities = draw_abilities(study.world, study.rng)
    lines = []
    for name, form in forms.items():
        for m, ability in enumerate(abilities):
            for item in form.items:
                key = str(item.target)
                is_right = study.rng.normal(ability, 1) > 0
                record = {"respondent": study.names[m], "form": name, "run": 0, "item": item.id}
                answer = key if is_right else OPPOSITE[key]
                lines.append(json.dumps({**record, "answer": answer}))
    recorded = study.folder / "answers.jsonl"
    recorded.write_text("\n".join(lines), encoding="utf-8")
    audit = hqm.audit(str(folder), recorded=recorded, store=study.folder / "store.sqlite")
    read = written_and_read(Audit((audit,)), study.folder / "audit.json")
    pass_all_doors(read, figures=False)
    return len(forms["parallel"]) == len(forms["original"]) - 1


FAULTS: dict[str, Callable[[Study], bool]] = {
    "priors": priors,
    "option priors": option_priors,
    "longest": longest,
    "two types": two_types,
    "row order": row_order,
    "wrong keys": wrong_keys,
    "reversed": reversed_items,
    "reversed in types": reversed_in_types,
    "hopeless": hopeless,
    "missing": missing,
    "absent": absent,
}


def share_found(name: str, replicates: int, seed: int, world: SoundWorld = NORMAL) -> float:
    """In how many studies the first page names the fault."""
    n_found = 0
    for k in range(replicates):
        with tempfile.TemporaryDirectory() as folder:
            rng = np.random.default_rng([17, seed + k])
            n_found += FAULTS[name](Study(Path(folder), rng, world))
    return n_found / replicates


def world_of(name: str) -> SoundWorld:
    """The world in which a fault is planted."""
    return GRADED if name.startswith("reversed") else NORMAL


def print_shares(faults: Iterable[str], replicates: int, seed: int, models: int) -> None:
    """Print the rows of a table in Markdown."""
    print("| fault | studies | found |")
    print("|---|---|---|")
    for name in faults:
        world = replace(world_of(name), respondents=models)
        share = share_found(name, replicates, seed, world)
        print(f"| {name} | {replicates} | {share:.2f} |", flush=True)


def main() -> None:
    """Print what came of the replicates."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("faults", nargs="*", default=list(FAULTS), metavar="FAULT")
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", type=int, default=10)
    options = parser.parse_args()
    started = time.perf_counter()
    print_shares(options.faults, options.replicates, options.seed, options.models)
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
