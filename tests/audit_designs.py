"""Audits of random designs: what people leave out, in the ways in which they leave it out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import hqm
from hqm.commands.in_python import from_logs
from tests.conftest import write_benchmark

NAMES = (
    "m{k}",
    "org/model-{k}",
    "modèle {k} — α_β^{k} & Söhne 100%",
    'm "{k}" <b>',
    "{{x}} %s $x$ {k}",
    "模型{k}",
    "m_{k}~#",
)
TYPES = ("ocr", "existence", "counting", "a & b <i>")
OBJECTS = "dog cat bus hat cup key map tree boat lamp".split()
OPPOSITE = {"yes": "no", "no": "yes"}


def random_audit(seed: int, folder: Path) -> hqm.BenchmarkAudit:
    """The audit of a random design: of answers to yes/no questions, or of a table of scores."""
    rng = np.random.default_rng(seed)
    return scores_audit(rng) if rng.random() < 0.35 else answers_audit(rng, folder)


def scores_audit(rng: np.random.Generator) -> hqm.BenchmarkAudit:
    """The audit of a table of 0/1, graded or continuous scores, some of them missing."""
    import pandas as pd

    models, items = int(rng.choice([1, 2, 3, 6, 9])), int(rng.choice([1, 2, 7, 25, 60]))
    runs, lost = int(rng.choice([1, 1, 2, 3])), float(rng.choice([0, 0, 0.1, 0.5]))
    kind = str(rng.choice(["binary", "graded", "continuous", "wide", "percent", "constant"]))
    name = str(rng.choice(NAMES))
    ability, easiness = rng.normal(size=models), rng.normal(size=items)
    rows = []
    for run, model, item in np.ndindex(runs, models, items):
        latent = ability[model] + easiness[item] + rng.normal()
        score = {
            "binary": float(latent > 0),
            "graded": float(np.clip(np.rint(3 + latent), 1, 5)),
            "continuous": float(1 / (1 + np.exp(-latent))),
            "wide": float(np.clip(np.rint(5 + 2 * latent), 0, 10)),
            "percent": float(np.clip(np.rint(50 + 20 * latent), 0, 100)),
            "constant": 1.0,
        }[kind]
        if rng.random() >= lost or (run, item) == (0, 0):
            rows.append((name.format(k=model), f"q {item}", run, score))
    frame = pd.DataFrame(rows, columns=["model", "item", "run", "score"])
    (benchmark,) = from_logs(frame)
    return hqm.audit(benchmark)


def answers_audit(rng: np.random.Generator, folder: Path) -> hqm.BenchmarkAudit:
    """The audit of recorded answers: some items, forms, runs and respondents are missing."""
    n_items, models = int(rng.choice([1, 2, 9, 30, 80])), int(rng.choice([1, 2, 3, 5, 11]))
    name, n_types = str(rng.choice(NAMES)), int(rng.choice([0, 1, 2, 4]))
    has_clusters, is_choice = rng.random() < 0.5, rng.random() < 0.2
    items = [question(i, rng, n_types, has_clusters, is_choice) for i in range(n_items)]
    if rng.random() < 0.4:
        # a question that no rule can negate is absent from the parallel form
        items[int(rng.integers(n_items))]["prompt"] = "Dog?"
    settings: dict[str, Any] = {"task": "choice"} if is_choice else {}
    types = sorted({item["type"] for item in items if "type" in item})
    if types and (n_types == 4 or rng.random() < 0.7):
        settings |= {"types": types, "labelled": True}
    folder.mkdir(parents=True, exist_ok=True)
    benchmark = hqm.load(str(write_benchmark(folder / "mine", items, **settings)))
    recordings = folder / "answers.jsonl"
    rows = list(recorded_rows(benchmark, rng, models, name))
    recordings.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    options: dict[str, Any] = {"partial": True}
    if rng.random() < 0.3 and not is_choice:
        labels = folder / "labels.csv"
        labels.write_text(label_lines(rows, rng), encoding="utf-8")
        options["criterion"] = labels
    return hqm.audit(str(folder / "mine"), recorded=recordings, **options)


def question(
    i: int, rng: np.random.Generator, n_types: int, has_clusters: bool, is_choice: bool
) -> dict[str, Any]:
    """A random item."""
    item = {"id": f"q{i}", "prompt": f"Is there a {OBJECTS[i % 10]} in the image number {i}?"}
    item["target"] = str(rng.choice(["yes", "no"]))
    if is_choice:
        item |= {"options": ["red", "blue", f"green {i}"], "target": str(rng.choice(list("ABC")))}
    if n_types and rng.random() < 0.9:
        item["type"] = TYPES[int(rng.integers(n_types))]
    if has_clusters:
        item["cluster"] = f"c{i // 3}"
    return item


def recorded_rows(
    benchmark: hqm.Benchmark, rng: np.random.Generator, models: int, name: str
) -> list[dict[str, Any]]:
    """Answers to the forms and runs that a random part of the respondents was asked."""
    forms = {"original": benchmark.original}
    parallel = benchmark.parallel(benchmark.original)
    if len(parallel) and rng.random() < 0.6:
        forms["parallel"] = parallel
    runs, lost = int(rng.choice([1, 2, 3])), float(rng.choice([0, 0, 0.02, 0.3]))
    unread = float(rng.choice([0, 0, 0.1, 1]))
    rows = []
    for model in range(models):
        for form_name, form in forms.items():
            for run in range(runs):
                is_first = (form_name, run) == ("original", 0)
                if not is_first and rng.random() < 0.15:
                    continue
                for item in form.items:
                    if rng.random() < lost:
                        continue
                    wrong = OPPOSITE.get(str(item.target), "A")
                    reply = str(item.target) if rng.random() < 0.5 + 0.04 * model else wrong
                    if rng.random() < unread:
                        reply = str(rng.choice(["", "I cannot see it", "hmm"]))
                    row = {"item": item.id, "respondent": name.format(k=model), "answer": reply}
                    rows.append({**row, "form": form_name, "run": run})
    return rows


def label_lines(rows: list[dict[str, Any]], rng: np.random.Generator) -> str:
    """Labels of some first answers as CSV."""
    lines = ["item,respondent,label"]
    for row in rows:
        if (row["form"], row["run"]) == ("original", 0) and rng.random() < 0.5:
            quoted = row["respondent"].replace('"', '""')
            lines.append(f'{row["item"]},"{quoted}",{int(rng.random() < 0.7)}')
    return "\n".join(lines) + "\n"
