"""The ledger: each printed number of the five papers that HQM claims, with ours beside it.

    HQM_DATA=data python docs/ledger.py

docs/ledger.toml holds the printed numbers, how they are obtained and by how much ours may differ.
This writes ours into docs/make/ledger.json, which docs/ledger.md shows, and prints each number that
differs by more; without HQM_DATA, the numbers of released data stay as they are. Status 1: a number
differs that the ledger does not name, or one that it names no longer does.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

import hqm

HERE = Path(__file__).resolve().parent
PRINTED = HERE / "ledger.toml"
OURS = HERE / "make" / "ledger.json"


@dataclass(frozen=True)
class PrintedTable:
    """Numbers of one table of a paper."""

    paper: str
    name: str
    what: str
    status: str
    """recomputed, transcribed or out of reach."""
    command: str = ""
    rule: str = ""
    """How ours are obtained."""
    columns: tuple[str, ...] = ()
    """The cells that the rule takes."""
    tolerance: float = 0.0
    why: str = ""
    """Why numbers differ by more than the tolerance, or are out of reach."""
    beyond: tuple[str, ...] = ()
    """The rows that differ by more."""
    rows: Sequence[Sequence[str | float]] = field(default_factory=tuple)

    @property
    def printed(self) -> dict[str, float]:
        """Row -> the printed number."""
        return {str(row[0]): float(row[-1]) for row in self.rows}

    @property
    def cells(self) -> dict[str, list[float]]:
        """Row -> the cells that the rule takes."""
        return {str(row[0]): [float(cell) for cell in row[1:-1]] for row in self.rows}

    def differing(self, ours: Mapping[str, float]) -> list[str]:
        """Return the rows whose number differs from ours by more than the tolerance."""
        # a printed number such as 83.45 has no exact binary form
        limit = self.tolerance + 1e-9
        return [row for row, number in self.printed.items() if abs(ours[row] - number) > limit]


def read_tables() -> list[PrintedTable]:
    """Return the tables of the ledger."""
    documents = tomllib.loads(PRINTED.read_text(encoding="utf-8"))["table"]
    return [PrintedTable(**document) for document in documents]


def printed_table(paper: str, name: str) -> PrintedTable:
    """Return one table of the ledger, for tests that hold its numbers."""
    return next(t for t in read_tables() if (t.paper, t.name) == (paper, name))


# --- what a table's own cells give ---


def f1(cells: Sequence[float]) -> float:
    """Return F1 of precision and recall."""
    precision, recall = cells
    return 2 * precision * recall / (precision + recall)


def amber_score(cells: Sequence[float]) -> float:
    """Return the AMBER score of CHAIR and F1, all in percent."""
    chair, f1_percent = cells
    return (100 - chair + f1_percent) / 2


OF_CELLS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": fmean,
    "f1": f1,
    "amber_score": amber_score,
}


# --- what released data give ---


def _annotated_answers() -> list[dict[str, dict[str, int]]]:
    path = Path(os.environ["HQM_DATA"]) / "faithscore" / "annotation.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def faithscore_people() -> dict[str, float]:
    """Return the mean share of faithful facts, by model, as people labelled them."""
    benchmark = hqm.load("faithscore")
    path = Path(os.environ["HQM_DATA"]) / "faithscore" / "annotation.jsonl"
    labels = {"LLaVA": [], "InstructBLIP": []}  # type: dict[str, list[float]]
    for judgement in benchmark.read_criterion(path, benchmark.original, list(labels)):
        labels[judgement.respondent].append(judgement.label or 0.0)
    return {model: fmean(values) for model, values in labels.items()}


def faithscore_counts() -> dict[str, float]:
    """Return how many sub-sentences and facts people labelled."""
    answers = _annotated_answers()
    return {
        "sub-sentences": sum(len(answer["stage 1"]) for answer in answers),
        "atomic facts": sum(len(answer["stage 2"]) for answer in answers),
    }


def hal_eval_counts() -> dict[str, float]:
    """Return the number of captions of each part."""
    parts = Counter(item.part for item in hqm.load("hal_eval_d").original.items)
    return {"in-domain": parts["in_domain"], "out-of-domain": parts["out_of_domain"]}


_NAMES = {
    "POPE": "pope",
    "AMBER-d": "amber_d",
    "HallusionBench": "hallusion_bench",
    "AMBER-g": "amber_g",
    "OpenCHAIR": "open_chair",
    "MMHal": "mmhal",
    "HQH": "hqh",
}


def types() -> dict[str, float]:
    """Return how many types the items of each benchmark are labelled with."""
    counts: dict[str, float] = {}
    for name, benchmark in _NAMES.items():
        labels = {item.type for item in hqm.load(benchmark).original.items}
        counts[name] = len(labels - {None})
    return counts


def yes_share() -> dict[str, float]:
    """Return the share of questions whose right answer is yes."""
    shares: dict[str, float] = {}
    for name in ("POPE", "AMBER-d", "HallusionBench"):
        targets = [item.target for item in hqm.load(_NAMES[name]).original.items]
        shares[name] = targets.count("yes") / len(targets)
    return shares


def hqh_counts() -> dict[str, float]:
    """Return the number of questions of HQH, and of its smallest type."""
    items = hqm.load("hqh").original.items
    return {"all": len(items), "of each type": min(Counter(i.type for i in items).values())}


def valor_counts() -> dict[str, float]:
    """Return the number of pictures of each part."""
    return dict(Counter(item.part for item in hqm.load("valor").original.items))


def amber_counts() -> dict[str, float]:
    """Return the numbers of AMBER's pictures and questions."""
    questions = hqm.load("amber_d").original.items
    n_by_type = Counter(item.type for item in questions)
    n_named = n_by_type["existence"] + n_by_type["relation"]
    return {
        "pictures": len({item.image for item in questions}),
        "generative": len(hqm.load("amber_g").original.items),
        "existence": n_by_type["existence"],
        # HQM's types separate AMBER's attributes into state, number and action
        "attribute": len(questions) - n_named,
        "relation": n_by_type["relation"],
    }


OF_DATA: Mapping[str, Callable[[], Mapping[str, float]]] = {
    function.__name__: function
    for function in (
        faithscore_people,
        faithscore_counts,
        hal_eval_counts,
        types,
        yes_share,
        hqh_counts,
        valor_counts,
        amber_counts,
    )
}


def compute(table: PrintedTable) -> dict[str, float]:
    """Return row -> our number."""
    if table.rule in OF_DATA:
        return dict(OF_DATA[table.rule]())
    rule = OF_CELLS[table.rule]
    return {row: rule(cells) for row, cells in table.cells.items()}


def main() -> int:
    """Compute, print what differs, and write our numbers; return the status."""
    has_data = "HQM_DATA" in os.environ
    stored = json.loads(OURS.read_text(encoding="utf-8")) if OURS.exists() else {}
    ours = {}
    status = 0
    for table in read_tables():
        key = f"{table.paper}: {table.name}"
        if table.rows and (has_data or table.rule in OF_CELLS):
            # half a unit of the sixth digit is far below every tolerance
            ours[key] = {row: float(f"{n:.6g}") for row, n in compute(table).items()}
        elif table.rows:
            ours[key] = stored[key]
        differing = table.differing(ours[key]) if table.rows else []
        for row in differing:
            print(f"{key}: {row}: printed {table.printed[row]:g}, ours {ours[key][row]:g}")
        if differing != list(table.beyond):
            print(f"{key}: the ledger names {list(table.beyond)}")
            status = 1
    OURS.write_text(f"{json.dumps(ours, indent=1, ensure_ascii=False)}\n", encoding="utf-8")
    return status


if __name__ == "__main__":
    raise SystemExit(main())
