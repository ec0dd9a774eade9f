"""The limits of a policy are shares of a metric's scale: the same answers on another scale get the
same verdict, the same findings and the same sentences, in another unit.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hqm.reports.latex.latex_tables import format_tables
from hqm.reports.latex.paper import paper_tables
from hqm.reports.pages.phrases import plain_text
from hqm.reports.pages.report_page import render
from hqm.reports.pages.sentences import answer_questions, headline

import hqm
from hqm import Audit, BenchmarkAudit
from hqm.auditing.definitions import planned_contrasts, types_measured
from hqm.auditing.gate import check_against
from hqm.auditing.policy import Policy
from hqm.auditing.seven_questions import seven_answers
from hqm.benchmark.log_benchmark import scale_of_scores
from hqm.commands.in_python import from_logs

TYPES = ("existence", "counting", "relation")
Scale = Callable[[float], float]
ON_ANOTHER_SCALE: dict[str, tuple[str, int, Scale]] = {
    "right and wrong as 100 and 0": ("binary", 90, lambda score: 100 * score),
    "per cents": ("continuous", 60, lambda score: 100 * score),
    "levels from 1 to 5": ("graded", 60, lambda score: 1 + 4 * score),
    "levels from 0 to 10": ("graded", 400, lambda score: 8 * score + 2 * (score == 1)),
}


def scores_table(kind: str, items: int, scale: Scale, seed: int) -> pd.DataFrame:
    """Scores of seven models in two runs and another wording, of three types."""
    rng = np.random.default_rng(seed)
    ability, easiness = rng.normal(0, 0.5, 7), rng.normal(0, 0.8, items)
    own = rng.normal(0, 0.5, (7, items)) + rng.normal(0, 0.6, (7, 3))[:, np.arange(items) % 3]
    rows = []
    for form, run in (("original", 0), ("original", 1), ("reworded", 0)):
        noise = rng.normal(0, 0.4, (7, items)) - 0.2 * (form == "reworded")
        latent = ability[:, None] + easiness + own + noise
        scores = {
            "binary": (latent > 0).astype(float),
            "graded": np.clip(np.rint(2 + latent), 0, 4) / 4,
            "continuous": np.clip(0.5 + 0.3 * latent, 0, 1).round(4),
        }[kind]
        for m, i in np.ndindex(scores.shape):
            score = scale(float(scores[m, i]))
            rows.append((f"m{m}", f"q{i}", form, run, score, TYPES[i % 3], f"{i // 2}.png"))
    columns = ["model", "item", "form", "run", "score", "category", "image"]
    return pd.DataFrame(rows, columns=columns)


def audit_of(kind: str, items: int, scale: Scale, seed: int) -> BenchmarkAudit:
    """The audit of the scores on a scale."""
    (benchmark,) = from_logs(scores_table(kind, items, scale, seed))
    return hqm.audit(benchmark)


def without_numbers(text: str) -> str:
    """A text without its numbers and the words that agree with them."""
    return re.sub(r"points?\b", "points", re.sub(r"[-−]?[\d,]*\.?\d+", "#", text))


def codes(audit: BenchmarkAudit) -> tuple[object, ...]:
    """What is concluded: nothing in it has the unit of the scores."""
    answers, gate = seven_answers(audit), check_against(Audit((audit,)), Policy.load())
    contrasts = planned_contrasts(audit, Policy.load().limits.equal_within)
    return (
        answers.state,
        answers.codes,
        [(remedy.what, remedy.severity, remedy.count) for remedy in answers.mend],
        [(test.what, test.outcome) for test in gate.tests],
        [(row.type, row.standing, row.missing, row.measurable) for row in types_measured(audit)],
        [neighbours.outcome for neighbours in contrasts],
        [finding["name"] for finding in audit.findings],
        [(flag["flag"], flag["note"]) for flag in audit.flags],
    )


def sentences(audit: BenchmarkAudit) -> list[str]:
    """The sentences of the first page, the gate and the tables for papers, without numbers."""
    gate = check_against(Audit((audit,)), Policy.load())
    texts = [headline(audit).text, str(audit.verdict)]
    texts += [plain_text(answer.sentences) for answer in answer_questions(audit)]
    texts += [test.sentence for test in gate.tests]
    texts += [finding["sentence"] for finding in audit.findings]
    # without the signatures below the tables: answers on another scale have another hash
    texts += re.findall(r"^\| table.*", format_tables(paper_tables([Audit((audit,))]), ".md"), re.M)
    return list(map(without_numbers, texts))


@pytest.mark.parametrize("name", ON_ANOTHER_SCALE)
def test_another_unit_changes_no_conclusion(name: str) -> None:
    kind, items, scale = ON_ANOTHER_SCALE[name]
    seeds = (1,) if items < 100 else (3,)
    for seed in seeds:
        shares = audit_of(kind, items, lambda score: score, seed)
        scaled = audit_of(kind, items, scale, seed)
        if name == "levels from 0 to 10":
            # the highest level lies further off, so that only what is asked stays the same
            assert scaled.scale("score") == (0.0, 10.0)
            assert [row.measured for row in types_measured(scaled)] == [
                row.measured for row in types_measured(shares)
            ]
            continue
        assert codes(scaled) == codes(shares), seed
        assert sentences(scaled) == sentences(shares), seed


def test_the_limit_of_a_type_is_said_in_the_unit_of_its_score() -> None:
    scaled = audit_of("continuous", 400, lambda score: 100 * score, 4)
    types = types_measured(scaled)
    assert {row.measurable for row in types} == {True}
    assert all(1 < (row.error_high or 0) < 3 for row in types), "in points, and within three"
    page = render(Audit((scaled,))).evidence
    assert "score is at most 3," in page
    few = audit_of("continuous", 60, lambda score: 100 * score, 4)
    (answer,) = [a for a in answer_questions(few) if a.question == "more"]
    assert "at most 3 points" in plain_text(answer.sentences)
    stricter = types_measured(scaled, 0.01)
    assert not any(row.measurable for row in stricter)
    assert all(row.missing > 400 for row in stricter)


def test_a_scale_is_taken_from_scores_that_show_its_ends() -> None:
    assert scale_of_scores([0, 1]) == (0, 1)
    assert scale_of_scores([2, 3, 4]) == (1, 4)
    assert scale_of_scores([-1, 0, 1]) == (-1, 1)
    assert scale_of_scores([0, 0.3, 100]) == (0, 100)
    for scores in ([0, 55.5, 99], [1, 2.5], [3, 250]):
        assert scale_of_scores(scores) == (None, None)
        is_within = max(scores) <= 100
        for name in ("score (%)", "accuracy_pct", "Per cent right", "percentage"):
            assert scale_of_scores(scores, name) == ((0, 100) if is_within else (None, None))
        for name in ("percentile", "score", "spct"):
            assert scale_of_scores(scores, name) == (None, None)
