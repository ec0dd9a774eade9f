"""The scores that other tools recorded with stored answers: as one more scoring, and beside
HQM's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hqm.administration.answers import Answers
from hqm.administration.assignment import StoredRespondent
from hqm.auditing.foreign import ScoreComparison, compare_scores
from hqm.benchmark.interface import Benchmark
from hqm.benchmark.recorded import Recording
from hqm.errors import DesignError
from hqm.judges.marks import verdict_of_share
from hqm.scoring.filling import MatrixBuilder
from hqm.scoring.matrix import ScoreMatrix
from hqm.signature import digest, digest_all
from hqm.types import Cell, Form, Item, Response, Verdict

RECORDED = "recorded"
"""The scoring of the tool that recorded the answers, and the key under which an answer keeps it."""


def tool_matrices(
    benchmark: Benchmark,
    answers: Answers,
    cells: Sequence[Cell],
    forms: Mapping[str, Form],
    respondents: Sequence[StoredRespondent],
) -> dict[Cell, ScoreMatrix]:
    """The administrations as the tools scored them that recorded the answers; those with any score.

    Raises
    ------
    DesignError
        A model judges the benchmark, or no answer carries a tool's score.
    """
    if benchmark.roles:
        what = f"{benchmark.name} is judged by a model, so a tool's scores are judgements"
        raise DesignError(what, remedy="Bring them with `hqm audit NAME --judgements FILE`.")
    matrices = {
        cell: _matrix(benchmark, answers, cell, forms[cell.form], respondents) for cell in cells
    }
    scored = {
        cell: matrix for cell, matrix in matrices.items() if matrix.unscored() < matrix.values.size
    }
    if not scored:
        remedy = (
            "Bring the logs of the tool with `hqm import LOG --benchmark NAME --store FILE`; their"
            " scores are kept with the answers."
        )
        raise DesignError(
            f"no stored answer to {benchmark.name} carries a tool's score", remedy=remedy
        )
    return scored


def _matrix(
    benchmark: Benchmark,
    answers: Answers,
    cell: Cell,
    form: Form,
    respondents: Sequence[StoredRespondent],
) -> ScoreMatrix:
    builder = MatrixBuilder(
        cell, form, benchmark.verdict, benchmark.subsets, benchmark.groupings, benchmark.relate
    )
    hashes = []
    for who in respondents:
        there = answers.at(cell.resolution)
        row = there.responses(benchmark, form, who, cell.run)
        kept = [_recorded(detail) for detail in there.details(benchmark, form, who, cell.run)]
        verdicts = [_verdict(benchmark, *each) for each in zip(form.items, row, kept, strict=True)]
        builder.add_verdicts(who.name, row, verdicts)
        hashes.append(digest([None if v.value is None else repr(v.value) for v in verdicts]))
    return builder.build(digest_all(hashes))


def _recorded(detail: Mapping[str, Any]) -> Mapping[str, Any]:
    recorded = detail.get(RECORDED)
    return recorded if isinstance(recorded, Mapping) else {}


def _verdict(
    benchmark: Benchmark, item: Item, answer: Response | None, recorded: Mapping[str, Any]
) -> Verdict:
    score = recorded.get("score")
    if answer is None or not isinstance(score, (int, float)):
        return Verdict.unscored("missing", "no tool recorded a score of this answer")
    if not 0 <= score <= 1:
        return Verdict.unscored(
            "unparsed", f"the tool's score is {score:g}, which is no share of right"
        )
    return verdict_of_share(benchmark, item, float(score), str(recorded.get("read", "")))


def tool_comparisons(
    benchmark: Benchmark,
    answers: Answers,
    cells: Sequence[Cell],
    forms: Mapping[str, Form],
    respondents: Sequence[StoredRespondent],
) -> tuple[ScoreComparison, ...]:
    """Where the tools' scores and HQM's differ, for every respondent and administration that
    carries a tool's score.
    """
    recordings = []
    # only recorded answers can carry a tool's score, and a look at every detail of a large store
    # takes long
    for who in (respondent for respondent in respondents if not respondent.live):
        for form, run in dict.fromkeys(
            (cell.form, cell.run) for cell in cells if not cell.resolution
        ):
            details = answers.details(benchmark, forms[form], who, run)
            if not any(detail and "score" in _recorded(detail) for detail in details):
                continue
            row = answers.responses(benchmark, forms[form], who, run)
            given = {
                item.id: answer._replace(detail=detail)
                for item, answer, detail in zip(forms[form].items, row, details, strict=True)
                if answer is not None and "score" in _recorded(detail)
            }
            recordings += [Recording(who.name, form, run, given)] if given else []
    return tuple(compare_scores(benchmark, forms, recordings))
