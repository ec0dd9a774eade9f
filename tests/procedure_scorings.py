"""One case of the corpus `scorings`: a release of a few made-up items, answers, and what its judges
reply to them.

The release is read, answers and replies become verdicts, and verdicts become every metric: all of
it is what `scorer` stands for in a signature.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import hqm
from hqm.benchmark.analyses import ScoredAnswer
from hqm.benchmark.judge_api import AskJudge, replay
from hqm.errors import HQMError
from hqm.judges.procedure import AskAbout, judged_matrix, verdicts
from hqm.types import Cell, Item, Response, Verdict

N_RESPONDENTS = 9


def score_release(case: Mapping[str, Any]) -> Mapping[str, Any]:
    """The verdicts and metrics of nine respondents, whose answers are taken in turn from a list, as
    the replies to each are. With `labels`, a file of people's labels is read as well, and with
    `tables` the tables of the benchmark's own paper are made.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name, text in case["files"].items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        name = case["benchmark"]
        if (Path(folder) / name / "card.toml").is_file():
            # a benchmark of the user's own
            benchmark = hqm.load(Path(folder) / name, **case["settings"])
            name = "plain"
        else:
            benchmark = hqm.load(name, data=folder, **case["settings"])
        outcome = {} if "labels" in case else _score_answers(benchmark, case)
        for file in case.get("labels", ()):
            outcome[file] = _read_labels(benchmark, Path(folder) / file, case["respondents"])
        return {f"scoring.{name}": outcome}


def _read_labels(
    benchmark: hqm.Benchmark, path: Path, respondents: Sequence[str] | None
) -> list[str] | str:
    """The labels of a file, as an audit takes them; why they are refused."""
    try:
        labels = benchmark.read_criterion(path, benchmark.original, respondents)
    except HQMError as error:
        return type(error).__name__
    items = benchmark.original.by_id
    lines = []
    for label in labels:
        verdict = benchmark.verdict_of_people(items[label.item], label)
        read = "" if verdict is None else _text(verdict)
        fields = (label.judge, label.item, label.respondent, label.label, label.reply, read)
        lines.append("|".join(map(str, fields)))
    return lines


def _score_answers(benchmark: hqm.Benchmark, case: Mapping[str, Any]) -> dict[str, Any]:
    form = benchmark.original
    texts = case["answers"]
    rows: dict[str, list[Response | None]] = {}
    for number in range(N_RESPONDENTS):
        answers = [texts[(number * 5 + i) % len(texts)] for i in range(len(form.items))]
        rows[f"m{number}"] = [Response(text) for text in answers]
    if benchmark.roles:
        judged = verdicts(benchmark, form, rows, _ask_in_turn(case["replies"]))
    else:
        judged = {
            name: [
                benchmark.verdict(item, response)
                for item, response in zip(form.items, row, strict=True)
                if response is not None
            ]
            for name, row in rows.items()
        }
    matrix = judged_matrix(benchmark, Cell(), form, rows, judged, ())
    outcome: dict[str, Any] = {}
    for metric in benchmark.metrics:
        outcome[metric.name] = _numbers(matrix.score(metric))
        if metric.rounds:
            outcome[f"{metric.name} printed"] = _numbers(matrix.printed(metric))
    for name, row in judged.items():
        for item, verdict in zip(form.items, row, strict=True):
            outcome[f"{name} {item.id}"] = _text(verdict)
    if case.get("tables"):
        scored = [
            ScoredAnswer(
                respondent=name,
                item=item,
                text=response.text,
                value=verdict.value if verdict.scored else None,
                tally=verdict.tally,
            )
            for name, row in judged.items()
            for item, response, verdict in zip(form.items, rows[name], row, strict=True)
            if response is not None
        ]
        return {
            table.name: [list(row) for row in table.rows] for table in benchmark.analyses(scored)
        }
    return outcome


def _ask_in_turn(replies: Mapping[str, Any]) -> AskAbout:
    """An `ask` for each answer, with the replies from another place of the lists on; those of a
    part where it has its own.
    """
    asked = 0

    def ask_about(item: Item) -> AskJudge:
        nonlocal asked
        asked += 1
        in_turn = {}
        for role, texts in replies.get(item.part, replies).items():
            start = asked % len(texts)
            in_turn[role] = texts[start:] + texts[:start]
        return replay(in_turn)

    return ask_about


def _text(verdict: Verdict) -> str:
    value = "" if verdict.value is None else f"{verdict.value:.6g}"
    counts = [f"{key}={number:.6g}" for key, number in sorted(verdict.tally.items()) if number]
    return f"{verdict.state} {value} {' '.join(counts)}"


def _numbers(values: npt.NDArray[np.float64]) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
