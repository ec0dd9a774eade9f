"""Score one file of recorded answers without a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hqm.benchmark import Benchmark
from hqm.errors import UsageError
from hqm.scores import MatrixBuilder
from hqm.signature import digest_file, sign
from hqm.types import STATES, Cell, finite
from hqm.version import __version__


@dataclass(frozen=True, slots=True)
class FileScore:
    """Every metric of one answer file, with how the answers came out and a signature."""

    benchmark: str
    part: str | None
    scoring: str
    parser: str | None
    n: int
    """Items that the file should answer."""
    unscored: int
    """Answers that could not be read, are errors, or are missing; a scorer may still count them as wrong."""
    metrics: Mapping[str, float | None]
    states: Mapping[str, int]
    signature: str

    def to_dict(self) -> dict[str, Any]:
        """The value as `hqm score --json` prints it."""
        return {name: getattr(self, name) for name in self.__slots__}


def score_file(benchmark: Benchmark, answers: Path, part: str | None = None) -> FileScore:
    """Score a file in the benchmark's official answer format.

    Parameters
    ----------
    benchmark
        Loaded with the scoring and parser wanted.
    answers
        The file.
    part
        The part it answers; told from the file where the benchmark can.
    """
    form = benchmark.original
    if part is not None:
        form = form.only(part)
        if not form.items:
            known = ", ".join(dict.fromkeys(item.part for item in benchmark.original.items if item.part)) or "none"
            raise UsageError(f"{benchmark.name} has no part {part!r}", remedy=f"Its parts are {known}.")
    form, given = benchmark.read_answers(answers, form)
    builder = MatrixBuilder(Cell(), form, benchmark.verdict, benchmark.subsets, benchmark.groupings, benchmark.relate)
    builder.add("answers", [given.get(item.id) for item in form.items])
    matrix = builder.build()
    parts = {item.part for item in form.items}
    counts = matrix.state_counts()["answers"]
    reader = benchmark.parser.name if benchmark.card.task == "yes_no" else None
    metrics = [m for m in benchmark.metrics if not m.subset or m.subset in matrix.subsets]
    signature = {
        "benchmark": benchmark.label,
        "part": part or "",
        "data": form.digest,
        "scorer": benchmark.scoring + (f"({reader})" if reader else ""),
        "items": len(form),
        "answers": digest_file(answers),
        "hqm": __version__,
    }
    return FileScore(
        benchmark=benchmark.name,
        part=next(iter(parts)) or None if len(parts) == 1 else None,
        scoring=benchmark.scoring,
        parser=reader,
        n=len(form),
        unscored=matrix.unscored(),
        metrics={metric.name: finite(float(matrix.score(metric)[0])) for metric in metrics},
        states={state: counts[state] for state in STATES if counts[state]},
        signature=sign(signature),
    )
