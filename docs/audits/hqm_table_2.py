"""Acquiescence and base rates in Table 2 of the HQM paper: python docs/audits/hqm_table_2.py TABLE
[FIGURE].
"""

import csv
import sys
from pathlib import Path

import draw

import hqm
from hqm.psychometrics import acquiescence, pearson

ROUNDING = 0.0005
NAMES = {"POPE": "pope", "AMBER-d": "amber_d", "HallusionBench": "hallusion_bench"}

with Path(sys.argv[1]).open(encoding="utf-8") as file:
    table = list(csv.DictReader(file))
lines = []
for name, known in NAMES.items():
    rows = [row for row in table if row["benchmark"] == name]
    released = [item.target for item in hqm.load(known).original.items]
    rate = {
        "original": released.count("yes") / len(released),
        "parallel": released.count("no") / len(released),
    }
    yes, accuracy = (
        {form: [float(row[f"{what}, {form}"]) for row in rows] for form in rate}
        for what in ("yes", "accuracy")
    )
    lean = acquiescence(yes["original"], yes["parallel"])
    print(
        f"{name}: r of accuracy over the two forms"
        f" {pearson(accuracy['original'], accuracy['parallel']).value:.3f}, of the yes-ratio"
        f" {pearson(yes['original'], yes['parallel']).value:.3f}"
    )
    print(
        f"{name}: acquiescence",
        ", ".join(
            f"{row['model']} {each.value:+.4f}"
            for row, each in zip(rows, lean.respondents, strict=True)
        ),
    )
    for form in rate:
        pairs = list(zip(accuracy[form], yes[form], strict=True))
        # where the shares of yes among answers and among keys differ by d, at least d of the
        # answers are wrong
        low = max(a + y - 1 for a, y in pairs) - 2 * ROUNDING
        high = min(1 + y - a for a, y in pairs) + 2 * ROUNDING
        stated = float(rows[0][f"truth, {form}"])
        fits = {True: "possible", False: "impossible"}
        print(
            f"{name}, {form}: the share of yes is between {low:.3f} and {high:.3f}; stated"
            f" {stated:.3f} is",
            f"{fits[low <= stated <= high]}, released {rate[form]:.3f} is"
            f" {fits[low <= rate[form] <= high]}",
        )
        lines.append(
            draw.Row(
                f"{name}, {form}",
                (max(low, 0), min(high, 1)),
                ((stated, "dot"), (rate[form], "cross")),
            )
        )
if sys.argv[2:]:
    draw.rows(
        Path(sys.argv[2]),
        "Which base rates do the rows of Table 2 allow?",
        "; ".join(
            f"{line.name}: between {line.ends[0]:.3f} and {line.ends[1]:.3f}, stated"
            f" {line.marks[0][0]:.3f}, released {line.marks[1][0]:.3f}"
            for line in lines
            if line.ends
        ),
        lines,
        (0, 0.2, 0.4, 0.6, 0.8, 1),
        axis="share of questions whose right answer is yes",
        key=(
            "line: what accuracy and yes-ratio allow; dot: stated in the paper; cross: in the"
            " released data"
        ),
    )
