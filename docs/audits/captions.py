"""CHAIRi of five models under two instructions, from an audit: python docs/audits/captions.py
AUDIT.json [FIGURE].
"""

import sys
from pathlib import Path

import draw

import hqm

audit = hqm.Audit.load(Path(sys.argv[1])).audits[0]
first, other = audit.reference, audit.reference.replace("form=original", "form=parallel")
points = [
    (row.name.removeprefix("recorded/"), row.cells[first]["chair_i"], row.cells[other]["chair_i"])
    for row in audit.respondents
]
for name, a, b in points:
    print(
        f"{name}: CHAIRi {draw.share(a)} under the first instruction, {draw.share(b)} under the"
        " other"
    )
for name, what in (
    ("pearson", "r"),
    ("icc_a1", "ICC(A,1)"),
    ("icc_c1", "ICC(C,1)"),
    ("tau_b", "tau-b"),
    ("mean_shift", "mean shift"),
):
    print(f"{what} {audit.estimate(f'parallel_forms.{name}', 'chair_i').value:.3f}")
print(
    f"captions are {-audit.estimate('parallel_forms.length_shift', 'chair_i').value:.1f} words"
    " shorter on average"
)
if sys.argv[2:]:
    draw.scatter(
        Path(sys.argv[2]),
        "CHAIRi of five models under two instructions",
        "; ".join(f"{name}: {a:.3f} and {b:.3f}" for name, a, b in points),
        points,
        (0, 0.08, 0.16, 0.24, 0.32),
        across="CHAIRi, first instruction",
        up="CHAIRi, other instruction",
    )
