"""The further tables of a benchmark, made of the reference administration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from hqm.benchmark.adapter import Adapter
from hqm.benchmark.analyses import Analysis, ScoredAnswer
from hqm.benchmark.interface import Benchmark
from hqm.judges.labels import Labels
from hqm.scoring.matrix import ScoreMatrix
from hqm.types import Form, Judgement, Response

Given = Callable[[], Mapping[str, Sequence[Response | None]]]


def analyses_of(
    benchmark: Benchmark, form: Form, first: ScoreMatrix, given: Given, labels: Labels
) -> tuple[Analysis, ...]:
    """What the adapter makes of all answers that were given, each table once; nothing where it has
    no tables of its own.

    Parameters
    ----------
    form
        The form of the answers.
    first
        The scored answers.
    given
        Reads respondent -> its responses, in the order of the form's items; called where the
        benchmark has tables.
    labels
        People's labels of the answers.
    """
    if type(benchmark).analyses is Adapter.analyses:
        return ()
    labelled: dict[tuple[str, str], list[Judgement]] = {}
    for judgement in labels.judgements:
        labelled.setdefault((judgement.respondent, judgement.item), []).append(judgement)
    place, responses = {item.id: i for i, item in enumerate(form.items)}, given()
    answers = [
        ScoredAnswer(
            respondent=name,
            item=item,
            text=response.text,
            value=float(first.values[row, column]) if first.scored[row, column] else None,
            tally=(
                {key: float(values[row, column]) for key, values in first.tallies.items()}
                if first.scored[row, column]
                else {}
            ),
            labels=tuple(labelled.get((name, item.id), ())),
        )
        for row, name in enumerate(first.respondents)
        for column, item in enumerate(first.items)
        if (response := responses[name][place[item.id]]) is not None
        and not np.isnan(first.words[row, column])
    ]
    return tuple(analysis for analysis in benchmark.analyses(answers) if analysis.rows)
