"""The values of F1 in Hal-Eval's Table 1 that P and R do not give: python
docs/audits/hal_eval_table.py TABLE [FIGURE].
"""

import csv
import sys
from pathlib import Path

import draw


def f1(precision: float, recall: float) -> float:
    """The harmonic mean."""
    return 2 * precision * recall / (precision + recall)


lines, off = [], []
with Path(sys.argv[1]).open(encoding="utf-8") as file:
    table = list(csv.DictReader(file))
for row in table:
    p, r, printed = (float(row[name]) for name in ("Precision", "Recall", "F1"))
    # what rounds to the printed P and R; F1 grows with both
    low, high = f1(p - 0.05, r - 0.05), f1(p + 0.05, r + 0.05)
    if not low <= printed + 0.05 or not printed - 0.05 <= high:
        off.append(abs(printed - f1(p, r)))
        name = f"{row['Model']}, {row['Type'].lower()}, {row['Dataset'].replace('-', ' ').lower()}"
        print(f"{name}: P {p}, R {r} give {f1(p, r):.2f}, printed {printed}, off by {off[-1]:.2f}")
        lines.append(draw.Row(name, (low, high), ((f1(p, r), "dot"), (printed, "cross"))))
print(
    f"{len(off)} of {len(table)} impossible, {sum(each > 0.3 for each in off)} of them by more"
    " than .3"
)
if sys.argv[2:]:
    draw.rows(
        Path(sys.argv[2]),
        "F1 in Hal-Eval's Table 1, where it is impossible",
        "; ".join(
            f"{line.name}: P and R give {line.marks[0][0]:.1f}, printed {line.marks[1][0]:.1f}"
            for line in lines
        ),
        lines,
        (40, 50, 60, 70, 80, 90),
        axis="F1",
        key="dot: what the printed precision and recall give; cross: the printed F1",
    )
