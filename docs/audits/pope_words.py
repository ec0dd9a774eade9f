"""How much of POPE is answered by the words of its questions: python docs/audits/pope_words.py
[FIGURE].
"""

import re
import sys
from collections import Counter
from pathlib import Path

import draw
import numpy as np

import hqm
from hqm.psychometrics import blind_solvability

NAMES = {
    "": "all three parts",
    "coco_random": "random",
    "coco_popular": "popular",
    "coco_adversarial": "adversarial",
}

items = hqm.load("pope").original.items
lines = []
for part, name in NAMES.items():
    asked = [item for item in items if part in ("", item.part)]
    studies = [
        blind_solvability(
            [item.prompt for item in asked],
            [str(item.target) for item in asked],
            rng=np.random.default_rng(seed),
            clusters=[str(item.cluster) for item in asked],
            folds=5,
        )
        for seed in range(5)
    ]
    study, right = studies[0], studies[0].accuracy
    ends = [extreme(each.accuracy.value for each in studies) for extreme in (min, max)]
    print(
        f"{name}: {draw.share(right.value)} right from words alone [{draw.share(right.low)},"
        f" {draw.share(right.high)}],",
        f"commonest answer {draw.share(study.baseline)}, {len(asked)} questions;",
        f"five divisions into folds give {draw.share(ends[0])} to {draw.share(ends[1])}",
    )
    lines.append(draw.Row(name, (right.low, right.high), ((right.value, "dot"),)))
for part, name in list(NAMES.items())[1:]:
    asked_no = Counter(
        re.sub(r"Is there an? (.+) in the image\?", r"\1", item.prompt)
        for item in items
        if item.part == part and item.target == "no"
    )
    commonest = asked_no.most_common(3)
    print(
        f"{name}: {asked_no.total()} questions with the answer no ask about {len(asked_no)}"
        " objects,",
        f"{sum(n for _, n in commonest)} of them about"
        f" {', '.join(thing for thing, _ in commonest)}",
    )
if sys.argv[1:]:
    draw.rows(
        Path(sys.argv[1]),
        "POPE without the pictures",
        "Share of right answers from the words of the questions: "
        + "; ".join(f"{line.name} {line.marks[0][0]:.3f}" for line in lines),
        lines,
        (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
        axis="share of right answers from the words alone",
        key=(
            "dot and line: share and 95% interval over pictures; dashed: always the commonest"
            " answer"
        ),
        at=0.5,
    )
