"""The numbers of `docs/other_benchmarks.md`: MMMU-Pro, MathVista, captions of other papers, MM-Vet,
POPE by two keys.

HQM_DATA=data python tests/perf/other_benchmarks.py [mmmu_pro] [mathvista] [captions] [mm_vet] [pope]

Intervals are percentiles of 4,000 resamples of questions (MMMU-Pro, MathVista) or pictures.
"""

from __future__ import annotations

import gzip
import itertools
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import kendalltau, norm

import hqm
from hqm.benchmark.corrected_keys import read_key

Array = npt.NDArray[np.float64]
DATA = Path(os.environ["HQM_DATA"])
DRAWS = 4000
LEVEL = [2.5, 97.5]


def weights(count: int) -> Array:
    """(DRAWS, count): how often each unit is drawn."""
    rng = np.random.default_rng(20261123)
    return rng.multinomial(count, np.full(count, 1 / count), size=DRAWS).astype(np.float64)


def ends(values: Array) -> str:
    low, high = np.percentile(values, LEVEL)
    return f"[{low:.3f}, {high:.3f}]"


def holm(tests: Mapping[Any, float]) -> set[Any]:
    """What remains significant at .05 among all tests, by Holm's procedure."""
    rejected = set()
    for i, (name, p) in enumerate(sorted(tests.items(), key=lambda entry: entry[1])):
        if p > 0.05 / (len(tests) - i):
            break
        rejected.add(name)
    return rejected


def p_value(difference: float, draws: Array) -> float:
    """Two-sided, from the bootstrap's standard error."""
    spread = float(draws.std(ddof=1))
    return 2 * float(norm.sf(abs(difference) / spread)) if spread else 1.0


def right(benchmark: hqm.Benchmark, folder: Path) -> dict[tuple[str, str], Array]:
    """(respondent, form) -> 1 where right, 0 where wrong, nan where unread."""
    forms = (benchmark.original, benchmark.parallel_form, *benchmark.further_forms)
    by_name = {form.name: form for form in forms}
    scores = {}
    for recording in benchmark.recordings(folder) or ():
        items = by_name[recording.form].items
        values = [benchmark.verdict(i, recording.answers[i.id]).value for i in items]
        scores[recording.respondent, recording.form] = np.array(
            [np.nan if value is None else value for value in values]
        )
    return scores


def mmmu_pro() -> None:
    resamples = weights(1730)
    names = ("original", "parallel", "four")
    orders: dict[tuple[str, str], Array] = {}
    for scoring in ("official", "paper"):
        benchmark = hqm.load("mmmu_pro", data=str(DATA), scoring=scoring)  # type: ignore[arg-type]
        answers = right(benchmark, DATA / "mmmu_pro" / "answers")
        models = sorted({model for model, _ in answers})
        print(
            f"\nMMMU-Pro, {benchmark.scorer}: share of right answers, unread and empty ones wrong"
        )
        table = {}
        for name in (*names, "cot", "four_cot", "parallel_cot"):
            for model in models:
                if (model, name) not in answers:
                    continue
                values = answers[model, name]
                table[model, name] = np.nan_to_num(values)
                mean = table[model, name].mean()
                interval = ends(resamples @ table[model, name] / 1730)
                print(f"  {name:13}{model:34}{mean:.3f} {interval} unread {np.isnan(values).sum()}")
        for name in names:
            orders[scoring, name] = np.stack([table[model, name] for model in models])
        for a, b in itertools.combinations(names, 2):
            first, second = orders[scoring, a], orders[scoring, b]
            tau = kendalltau(first.mean(1), second.mean(1)).statistic
            taus = [
                kendalltau(x, y).statistic
                for x, y in zip(resamples[:500] @ first.T, resamples[:500] @ second.T, strict=True)
            ]
            shift = second.mean(1) - first.mean(1)
            shifts = resamples @ (second - first).mean(0) / 1730
            print(
                f"  {a} and {b}: tau-b {tau:.3f} {ends(np.array(taus))}, mean shift"
                f" {shift.mean():+.3f} {ends(shifts)}, of models {np.round(shift, 3).tolist()}"
            )
        for model in models:
            for name in names:
                reasoned = {"original": "cot", "four": "four_cot", "parallel": "parallel_cot"}[name]
                if (model, reasoned) in table:
                    gain = table[model, reasoned] - table[model, name]
                    print(
                        f"  reasoning, {name}, {model}: {gain.mean():+.3f}"
                        f" {ends(resamples @ gain / 1730)}"
                    )
    for name in names:
        official, paper = (orders[scoring, name].mean(1) for scoring in ("official", "paper"))
        print(
            f"  {name}: ranks by the release {np.argsort(np.argsort(-official)) + 1}, by strict"
            f" {np.argsort(np.argsort(-paper)) + 1}, tau-b {kendalltau(official, paper).statistic:.3f}"
        )


def mathvista() -> None:
    resamples = weights(1000)
    benchmark = hqm.load("mathvista", data=str(DATA), withheld="official")
    answers = {
        name: np.nan_to_num(values)
        for (name, _), values in right(benchmark, DATA / "mathvista" / "answers").items()
    }
    for guess in ("frequent_guess", "random_guess"):
        tests, lines = {}, []
        for name, values in sorted(answers.items(), key=lambda entry: -entry[1].mean()):
            if name.endswith("_guess"):
                continue
            difference = values - answers[guess]
            draws = resamples @ difference / 1000
            tests[name] = p_value(difference.mean(), draws)
            lines.append((name, f"{values.mean():.3f} {difference.mean():+.3f} {ends(draws)}"))
        above_guess = {name for name in holm(tests) if answers[name].mean() > answers[guess].mean()}
        print(
            f"\nMathVista against {guess} ({answers[guess].mean():.3f}):"
            f" {len(above_guess)} of {len(tests)}"
            " systems are better (Holm)"
        )
        for name, line in lines:
            print(f"  {name:36}{line}{' *' if name in above_guess else ''}")


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.open(path, "rt", encoding="utf-8")]


def tallies(
    benchmark: Any, rows: Sequence[Mapping[str, Any]], objects: Mapping[str, Any]
) -> dict[str, Array]:
    """Picture -> made-up mentions, mentions, whether any is made up, words."""
    counts = {}
    for row in rows:
        key = str(row["image_id"]).rpartition("_")[2].removesuffix(".jpg").lstrip("0")
        text = str(row.get("caption", row.get("text")))
        mentioned = benchmark.mentioned(text)
        wrong = [name for name in mentioned if name not in set(objects[key])]
        counts[key] = np.array([len(wrong), len(mentioned), bool(wrong), len(text.split())], float)
    return counts


def pairs(title: str, systems: Mapping[str, Mapping[str, Array]]) -> None:
    """CHAIRi and CHAIRs of systems over the pictures that they share, and which pairs differ."""
    keys = sorted(set.intersection(*(set(pictures) for pictures in systems.values())))
    sums = {name: np.stack([pictures[key] for key in keys]) for name, pictures in systems.items()}
    resamples = weights(len(keys))
    print(f"\n{title}: {len(systems)} systems, {len(keys)} pictures")
    scores = {}
    for metric, (top, bottom) in {"chair_i": (0, 1), "chair_s": (2, None)}.items():
        value = {
            n: s[:, top].sum() / (s[:, bottom].sum() if bottom else len(keys))
            for n, s in sums.items()
        }
        draws = {
            n: (resamples @ s[:, top]) / ((resamples @ s[:, bottom]) if bottom else len(keys))
            for n, s in sums.items()
        }
        tests = {
            (a, b): p_value(value[a] - value[b], draws[a] - draws[b])
            for a, b in itertools.combinations(sums, 2)
        }
        separated = holm(tests)
        separated_gaps = [abs(value[a] - value[b]) for a, b in separated]
        other_gaps = [abs(value[a] - value[b]) for a, b in tests if (a, b) not in separated]
        scores[metric] = value, draws, separated
        print(
            f"  {metric}: {len(separated)} of {len(tests)} pairs separated (Holm);"
            " smallest separated gap"
            f" {min(separated_gaps, default=float('nan')):.3f}, largest gap not shown"
            f" {max(other_gaps, default=0):.3f}"
        )
    ordered = sorted(sums, key=lambda n: scores["chair_i"][0][n])
    for name in ordered:
        words = sums[name][:, 3].mean()
        print(
            f"    {name:20} CHAIRi {scores['chair_i'][0][name]:.3f} {ends(scores['chair_i'][1][name])}"
            f"  CHAIRs {scores['chair_s'][0][name]:.3f} {ends(scores['chair_s'][1][name])}  {words:.0f} words"
        )
    for a, b in itertools.pairwise(ordered):
        for metric in ("chair_i", "chair_s"):
            if tuple(sorted((a, b), key=list(sums).index)) in scores[metric][2]:
                print(f"    neighbours by CHAIRi told apart by {metric}: {a}, {b}")


def captions() -> None:
    benchmark = hqm.load("coco_chair", data=str(DATA))
    packed = (DATA / "coco_objects" / "objects_all.json.gz").read_bytes()
    objects = json.loads(gzip.decompress(packed))
    folder = DATA / "less_is_more"
    pairs("Less is more, Table 1", {
        path.name.partition(".jsonl")[0]: tallies(benchmark, lines_of(path), objects)
        for path in sorted(folder.glob("*.gz"))})  # fmt: skip
    for sample in ("sample1", "sample2", "sample4"):
        pairs(f"HALC, {sample}", {
            path.name.removesuffix(f"_{sample}.jsonl.gz"): tallies(benchmark, lines_of(path), objects)
            for path in sorted((DATA / "halc").glob(f"*_{sample}.jsonl.gz"))})  # fmt: skip
    pairs("MARINE", {
        path.name.partition(".jsonl")[0]: tallies(benchmark, lines_of(path), objects)
        for path in sorted((DATA / "marine").glob("*.gz"))})  # fmt: skip


def mm_vet() -> None:
    """Three gradings of the same answers: how far they agree, and what they leave of a difference."""
    print("\nMM-Vet, three gradings by GPT-4 of 218 answers of each of two models")
    resamples = weights(218)
    scores = {}
    for model in ("llava-v1.5-13b", "llava-v1.5-7b"):
        graded = json.loads((DATA / "mm_vet" / f"{model}_gpt-4-grade-3runs.json").read_text())
        scores[model] = table = np.array([row["score"][:3] for row in graded.values()], float)
        ms_between = 3 * table.mean(1).var(ddof=1)
        ms_within = table.var(axis=1, ddof=1).mean()
        means = " ".join(f"{mean:.3f}" for mean in table.mean(0))
        print(
            f"  {model}: means of the gradings {means}, mean {table.mean():.3f}"
            f" {ends(resamples @ table.mean(1) / 218)}; answers graded alike three times"
            f" {(np.ptp(table, axis=1) == 0).mean():.3f}; ICC(1,1)"
            f" {(ms_between - ms_within) / (ms_between + 2 * ms_within):.3f}"
        )
    a, b = scores.values()
    difference = a.mean(1) - b.mean(1)
    print(f"  13B minus 7B: {difference.mean():+.3f} {ends(resamples @ difference / 218)}")


def pope() -> None:
    """LLaVA-1.5 with 13B and 7B parameters on the questions of POPE that both answered, by both
    keys.
    """
    files = [DATA / "pope_answers", DATA / "logs" / "llava" / "llava-v1.5-7b_pope.jsonl"]
    evidence = hqm.evidence_of("pope", files, data=DATA, metrics="accuracy")
    items, names = evidence.first.items, evidence.first.respondents
    large = next(i for i, name in enumerate(names) if name.endswith("13b"))
    right = evidence.first.values[[large, 1 - large]]
    key = read_key(DATA / "pope" / "repope", evidence.benchmark)
    pictures = {image: i for i, image in enumerate(dict.fromkeys(item.image for item in items))}
    of_item = np.array([pictures[item.image] for item in items])
    resamples = weights(len(pictures))
    print("\nPOPE, LLaVA-1.5-13B; and what it is ahead of 7B over the questions that both answered")
    for by in ("POPE", "RePOPE"):
        if by == "RePOPE":
            turned = np.array([key.targets.get(i.id, "") not in ("", i.target) for i in items])
            left = np.array([bool(key.targets.get(i.id)) for i in items])
            right = np.where(left, np.where(turned, 1 - right, right), np.nan)
        for part in ("", *dict.fromkeys(item.part for item in items)):
            part_mask = np.array([item.part.startswith(part) for item in items])
            line = [by, f"{part or 'all':18}"]
            for values in (right[0], right[0] - right[1]):
                scored = part_mask & np.isfinite(values)
                if not scored.any():
                    continue
                total, count = (
                    np.bincount(of_item[scored], weights=w, minlength=len(pictures))
                    for w in (values[scored], np.ones(scored.sum()))
                )
                draws = (resamples @ total) / (resamples @ count)
                line.append(f"{total.sum() / count.sum():+.4f} {ends(draws)} of {scored.sum()}")
            print("  ", *line)


if __name__ == "__main__":
    parts = {
        function.__name__: function for function in (mmmu_pro, mathvista, captions, mm_vet, pope)
    }
    for name in sys.argv[1:] or parts:
        parts[name]()
