"""Three things that must stay quick, each with the processor time it may take.

    HQM_DATA=... python -m tests.perf.budgets

Prints the processor seconds of each beside its budget; the exit status is 1 where one is exceeded.
No test does this: how long something takes depends on the machine and on what else runs there.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import hqm
from hqm import psychometrics
from hqm.auditing.one_file import score_file
from tests.perf.score_amber_g import descriptions
from tests.test_psychometrics_irt import simulate

DATA = Path(os.environ["HQM_DATA"])


def load_fifty_thousand_questions() -> None:
    """Hal-Eval's discriminative half."""
    assert len(hqm.load("hal_eval_d", data=DATA).original) == 50_000


def score_a_thousand_descriptions(folder: Path) -> Callable[[], None]:
    """AMBER's 1,004 pictures, eighty words each; the tagger is loaded beforehand."""
    benchmark: Any = hqm.load("amber_g", data=DATA)
    path = folder / "answers.json"
    path.write_text(json.dumps(descriptions(benchmark, 80, np.random.default_rng(1))))
    benchmark.words.nouns("A dog.")
    return lambda: print(score_file(benchmark, path).n, "descriptions scored")


def estimate_four_thousand_difficulties() -> Callable[[], None]:
    """Forty respondents, the Rasch model, which takes 30 at least."""
    answers, _, _ = simulate(11, 40, 4000)
    return lambda: print(psychometrics.item_response(answers).n, "respondents fitted")


def main() -> int:
    """Run each once."""
    exceeded = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, budget, run in (
            ("50,000 questions loaded", 5, load_fifty_thousand_questions),
            ("1,004 descriptions scored", 5, score_a_thousand_descriptions(Path(folder))),
            ("40 x 4,000 answers fitted", 6, estimate_four_thousand_difficulties()),
        ):
            began = time.process_time()
            run()
            seconds = time.process_time() - began
            exceeded += seconds > budget
            print(f"{name:30} {seconds:6.2f} s of {budget} s")
    return int(exceeded > 0)


if __name__ == "__main__":
    sys.exit(main())
