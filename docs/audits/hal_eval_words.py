"""How many of Hal-Eval's captions are separated by counting words: python
docs/audits/hal_eval_words.py [FIGURE].
"""

import sys
from pathlib import Path
from statistics import mean

import draw

import hqm
from hqm.lint.answer_leaks import leaks_in

TYPES = {"existence": "object", "attribute": "attribute", "relation": "relation", "action": "event"}
PARTS = {"in_domain": "in domain", "out_of_domain": "out of domain"}

form = hqm.load("hal_eval_d").original
lines = []
for rule in leaks_in(form).lengths.rules:
    if not rule.stratum.part:
        continue
    name, right = f"{TYPES[rule.stratum.type]}, {PARTS[rule.stratum.part]}", rule.accuracy
    print(
        f"{name}: {draw.share(right.value)} right [{draw.share(right.low)},"
        f" {draw.share(right.high)}], {rule.sentence}"
    )
    lines.append(draw.Row(name, (right.low, right.high), ((right.value, "dot"),)))
for part, place in PARTS.items():
    words = {
        kind: [
            len(i.meta["caption"].split())
            for i in form.items
            if i.part == part and i.meta["kind"] == kind
        ]
        for kind in ("truth", "event")
    }
    longer = sum(event > truth for truth, event in zip(words["truth"], words["event"], strict=True))
    print(
        f"{place}: true captions have {mean(words['truth']):.1f} words, event captions"
        f" {mean(words['event']):.1f};",
        f"the event caption is the longer in {longer} of {len(words['truth'])} pairs",
    )
if sys.argv[1:]:
    draw.rows(
        Path(sys.argv[1]),
        "Hal-Eval by counting the words of the caption",
        "Share of right answers of one threshold of the number of words: "
        + "; ".join(f"{line.name} {line.marks[0][0]:.3f}" for line in lines),
        lines,
        (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
        axis="share of true and false captions separated",
        key="dot and line: share and its interval, for all eight together; dashed: guessing",
        at=0.5,
    )
