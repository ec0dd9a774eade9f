"""A million stored responses into a score matrix, against the plain way.

    python tests/perf/load_million.py [--respondents 20] [--items 50000]

HQM: `Answers.matrix` (one query a respondent; an item's equal short answers scored once). The named
alternative: the same rows read into a pandas table, scored row by row by the same scorer, and
pivoted, as a notebook would. Both in one run, each in a process of its own; seconds of processor
time and of the clock, peak memory, and their ratio are printed, the matrices compared. `matrix` is
the part of HQM's time from the open benchmark and store to the matrix.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import hqm
from hqm.administration.asks import StoredRespondent


def make(folder: Path, respondents: int, items: int) -> None:
    """A yes/no benchmark and a store with every respondent's answers."""
    rng = np.random.default_rng(0)
    truths = rng.random(items) < 0.5
    rows = (
        {
            "id": f"q{i}",
            "prompt": f"Is there a thing {i} in the image?",
            "target": "yes" if t else "no",
        }
        for i, t in enumerate(truths)
    )
    (folder / "card.toml").write_text(
        'name = "million"\ntitle = "Million"\nversion = "1"\ntask = "yes_no"\n[data]\nitems ='
        ' "items.jsonl"\n'
    )
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    benchmark = hqm.load(str(folder))
    texts = np.array(
        ["Yes", "No", "Yes, there is.", "No, there is no such thing.", "I cannot tell."]
    )
    with hqm.Store(folder / "store.sqlite") as store:
        asks = hqm.Asks(store).questions(benchmark, benchmark.original, True)
        for r in range(respondents):
            respondent = store.respondent(f"hf/model-{r}", {"kind": "hf"})
            sampled_texts = texts[rng.choice(5, items, p=[0.35, 0.35, 0.14, 0.14, 0.02])]
            # an answer is read as one to this form only where the form is on record as put
            form = benchmark.original
            store.record_administration(
                respondent, benchmark.name, form=form.name, digest=form.digest, run=0
            )
            store.append(
                respondent,
                0,
                [(a, hqm.Response(str(text))) for a, text in zip(asks, sampled_texts, strict=True)],
            )


def ours(folder: Path) -> tuple[np.ndarray, float]:
    """The score matrix as HQM loads it, and the processor seconds from the open store to the
    matrix.
    """
    benchmark = hqm.load(str(folder))
    with hqm.Store(folder / "store.sqlite", readonly=True) as store:
        respondents = [
            StoredRespondent(name, number, True) for number, name, _ in store.respondents()
        ]
        form, began = benchmark.original, time.process_time()
        matrix = hqm.Answers(hqm.Asks(store)).matrix(benchmark, hqm.Cell(), form, respondents)
        return matrix.values, time.process_time() - began


def plain(folder: Path) -> tuple[np.ndarray, float]:
    """The same by pandas: read, score each row, pivot."""
    import sqlite3

    import pandas as pd

    benchmark = hqm.load(str(folder))
    items = {benchmark.question_text(item): item for item in benchmark.original.items}
    query = "SELECT respondent, prompt, text, state FROM answers JOIN asks ON asks.id = answers.ask"
    table = pd.read_sql(query, sqlite3.connect(folder / "store.sqlite"))
    table["value"] = table.apply(
        lambda row: (
            benchmark.verdict(items[row["prompt"]], hqm.Response(row["text"], row["state"])).value
        ),
        axis=1,
    )
    wide = table.pivot_table(index="respondent", columns="prompt", values="value", dropna=False)
    return wide[list(items)].to_numpy(dtype=float), 0.0


def main() -> None:
    """Make the store, run both, print the ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--respondents", type=int, default=20)
    parser.add_argument("--items", type=int, default=50_000)
    parser.add_argument("--way", choices=("ours", "plain"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        began, worked = time.perf_counter(), time.process_time()
        values, matrix = {"ours": ours, "plain": plain}[options.way](options.folder)
        took = {
            "cpu": time.process_time() - worked,
            "seconds": time.perf_counter() - began,
            "matrix": matrix,
        }
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        checksum = [float(np.nansum(row)) for row in values]
        print(
            json.dumps(
                {**took, "mib": peak, "scored": int(np.isfinite(values).sum()), "sums": checksum}
            )
        )
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, options.respondents, options.items)
        measured = {}
        for variant in ("ours", "plain"):
            command = [sys.executable, __file__, "--way", variant, "--folder", name]
            measured[variant] = json.loads(
                subprocess.run(command, check=True, capture_output=True, text=True).stdout
            )
    a, b = measured["ours"], measured["plain"]
    if (a["scored"], a["sums"]) != (b["scored"], b["sums"]):
        sys.exit("the two ways do not give the same matrix")
    count = options.respondents * options.items
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"{count:,} responses, {a['scored']:,} scored; the same matrix both ways")
    for variant, took in measured.items():
        print(
            f"{variant:6} {took['cpu']:6.1f} s of processor time, {took['seconds']:6.1f} s,"
            f" {took['mib']:6.0f} MiB"
        )
    print(
        f"ratio  {b['cpu'] / a['cpu']:6.1f} x by processor time, {b['mib'] / a['mib']:.1f} x by"
        " memory"
    )
    print(
        f"matrix {a['matrix']:6.1f} s of processor time: {count / a['matrix']:,.0f} responses a"
        " second"
    )


if __name__ == "__main__":
    main()
