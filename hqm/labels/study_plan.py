"""A plan: the answers that people are to label, each with the probability with which it was chosen.

The file is JSON lines. Its first line holds what is true of all rows; each further line is one
answer. It names respondents, so it stays with the study's owner: raters see the uid of an answer
and nothing else of the row.
"""

from __future__ import annotations

import json
import math
import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from hqm.errors import DataError, UsageError
from hqm.files.records import read_records, take
from hqm.imports.human_labels import ADJUDICATION as ADJUDICATION
from hqm.imports.human_labels import LEAST_PROBABILITY
from hqm.psychometrics.bootstrap import stream
from hqm.signature import digest
from hqm.types import ORIGINAL, Item, Response

Design = Literal["uniform", "same-items", "active"]
DESIGNS: tuple[Design, ...] = get_args(Design)

VERSION = 1
"""The version of the file's layout, which its first line says."""
ENDINGS = {"labels": ".labels.sqlite"}
"""What takes the place of a plan's suffix in the names of files that belong to it."""


def answer_digest(response: Response) -> str:
    """Return the content hash of an answer, so that a label belongs to these words only.

    >>> answer_digest(Response("Yes.")) == answer_digest(Response("Yes!"))
    False
    """
    return digest(response.text)


def item_digest(item: Item) -> str:
    """The content hash of an item, for labels on a benchmark's own items."""
    return digest(item.to_dict())


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow:
    """One answer to label; in a review of a benchmark's own items, one item."""

    uid: str
    """The only name that raters see: drawn at random, so that nothing can be read out of it."""
    item: str
    respondent: str = ""
    form: str = ORIGINAL
    run: int = 0
    answer_digest: str = ""
    """`answer_digest` of the answer, or `item_digest` of an item under review."""
    probability: float | None = None
    """With which probability the plan chose the answer; None for one that was added and not drawn,
    as gold items are.
    """
    stratum: str = ""
    """The part of the answers within which it was drawn: the respondent, or empty."""
    raters: tuple[str, ...] = ()
    """Who is to label it."""
    gold: float | None = None
    """The label that is known to be right, where the answer is there to check the raters."""

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON data."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}


@dataclass(frozen=True, kw_only=True)
class LabelPlan:
    """The answers to be labelled, and how they were chosen.

    Parameters
    ----------
    benchmark
        The name, folder or file that the benchmark is loaded by.
    store, data, images
        Where answers, data and pictures are; empty where there is none. In the file they are
        relative to the plan's folder.
    design, seed, tau
        How the answers were drawn; `tau` is the share of an active design that follows the
        estimated errors.
    schema
        What raters are asked: the name of a schema of HQM, or a toml file.
    raters, overlap
        Who labels, and the share of the answers that all of them label.
    population
        From how many answers the plan was drawn.
    expected_width
        The width of the 95% interval that the plan expects for the corrected mean score; None where
        it has no forecast.
    errors_from
        What an active design took for the chance that an answer's score is wrong.
    form_file
        The file of a form, where its items are reviewed.
    rows
        The answers.
    """

    benchmark: str
    store: str = ""
    data: str = ""
    images: str = ""
    design: Design = "uniform"
    seed: int = 0
    tau: float = 0.0
    schema: str = "binary"
    form_file: str = ""
    raters: tuple[str, ...] = ()
    overlap: float = 0.0
    population: int = 0
    expected_width: float | None = None
    errors_from: str = ""
    rows: tuple[PlanRow, ...] = ()

    @cached_property
    def by_uid(self) -> Mapping[str, PlanRow]:
        """uid -> row."""
        return {row.uid: row for row in self.rows}

    def rows_of(self, rater: str) -> tuple[PlanRow, ...]:
        """What one rater is to label, in the order of the plan.

        Raises
        ------
        UsageError
            The plan has no such rater.
        """
        if rater not in self.raters:
            raise UsageError(
                f"the plan has no rater {rater!r}",
                remedy=f"It has {', '.join(self.raters) or 'none'}.",
                given=rater,
                known=self.raters,
            )
        return tuple(row for row in self.rows if rater in row.raters)


_HEADER = tuple(f.name for f in fields(LabelPlan) if f.name != "rows")
_ROW = tuple(f.name for f in fields(PlanRow))
_PLACES = ("store", "data", "images", "form_file")


def labels_path(plan: Path) -> Path:
    """Where the labels of a plan are kept: beside it.

    >>> labels_path(Path("study/plan.jsonl")).name
    'plan.labels.sqlite'
    """
    return plan.with_name(f"{plan.stem}{ENDINGS['labels']}")


def write_plan(plan: LabelPlan, path: Path) -> None:
    """Write a plan with paths relative to its folder, so that the study can be moved."""
    folder = path.absolute().parent
    header: dict[str, Any] = {"plan": "hqm labels", "version": VERSION}
    header |= {name: _plain(getattr(plan, name)) for name in _HEADER}
    header |= {name: _relative(str(header[name]), folder) for name in _PLACES if header[name]}
    if _is_path(plan.benchmark):
        header["benchmark"] = f"./{_relative(plan.benchmark, folder)}"
    lines = [header, *(row.to_dict() for row in plan.rows)]
    text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.part")
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise DataError(
            f"the plan cannot be written: {error.strerror}",
            place=str(path),
            remedy="Make room, or name another place.",
        ) from None


def read_plan(path: Path) -> LabelPlan:
    """Read a plan, and resolve its paths.

    Raises
    ------
    DataError
        The file is missing, is no plan, is of another version, or has a row that cannot be used;
        the sentence names it.
    """
    records = read_records(path)
    if not records or records[0].get("plan") != "hqm labels":
        raise DataError(
            "it is no plan of labels",
            place=str(path),
            remedy="Make one with `hqm label plan NAME --store FILE --out plan.jsonl`.",
        )
    header = records[0]
    if header.get("version") != VERSION:
        raise DataError(
            (
                f"it is a plan of version {header.get('version')}, and this program reads version"
                f" {VERSION}"
            ),
            place=str(path),
            remedy="Install the version of HQM that made it.",
        )
    known = {name: header[name] for name in _HEADER if name in header}
    if unknown := set(header) - set(_HEADER) - {"plan", "version"}:
        raise DataError(
            f"its first line has the unknown key {min(unknown)!r}",
            place=str(path),
            remedy="Remove it.",
        )
    if known.get("design") not in DESIGNS:
        raise DataError(
            f"its design is {known.get('design')!r}",
            place=str(path),
            remedy=f"The designs are {', '.join(DESIGNS)}.",
        )
    known["raters"] = tuple(map(str, known.get("raters") or ()))
    known |= {name: str(path.parent / str(known[name])) for name in _PLACES if known.get(name)}
    if _is_path(str(known.get("benchmark"))):
        known["benchmark"] = str(path.parent / str(known["benchmark"]))
    rows = tuple(_rows(records[1:], path))
    uids = [row.uid for row in rows]
    if twice := (
        next((uid for uid in uids if uids.count(uid) > 1), "") if len(set(uids)) < len(uids) else ""
    ):
        raise DataError(
            f"the uid {twice!r} stands twice", place=str(path), remedy="Keep one of the two rows."
        )
    return LabelPlan(**known, rows=rows)


def _rows(records: list[dict[str, Any]], path: Path) -> Iterator[PlanRow]:
    for line, record in enumerate(records, 2):
        place = f"{path}:{line}"
        if unknown := set(record) - set(_ROW):
            raise DataError(
                f"the row has the unknown field {min(unknown)!r}",
                place=place,
                remedy=f"A row has {', '.join(_ROW)}.",
            )
        take(record, "uid", place)
        take(record, "item", place)
        probability, gold = record.get("probability"), record.get("gold")
        for name, value, least in (
            ("probability", probability, LEAST_PROBABILITY),
            ("gold", gold, -math.inf),
        ):
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if value is not None and not (
                number and least <= value and (name == "gold" or value <= 1)
            ):
                remedy = (
                    f"Write a number from {LEAST_PROBABILITY:g} to 1."
                    if name == "probability"
                    else "Write a number."
                )
                raise DataError(f"the {name} is {value!r}", place=place, remedy=remedy)
        yield PlanRow(**{**record, "raters": tuple(map(str, record.get("raters") or ()))})


def _relative(place: str, folder: Path) -> str:
    return Path(os.path.relpath(Path(place).absolute(), folder)).as_posix()


def _is_path(benchmark: str) -> bool:
    """Whether a benchmark is named by a folder or a file, and not by a name that HQM knows."""
    return "/" in benchmark or os.sep in benchmark


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


# --- the order in which a rater sees the answers ---
#
# Random, a rater's own, and no two about one picture in a row.

Grouping = Literal["none", "picture"]


def rater_order(
    uids: Sequence[str],
    groups: Mapping[str, str],
    *,
    seed: int,
    rater: str,
    group: Grouping = "none",
) -> tuple[str, ...]:
    """Return the order in which a rater sees these uids; it is always the same.

    Parameters
    ----------
    groups
        uid -> what it shares with others, the picture.
    group
        `picture` puts the answers about one picture in a row; otherwise none follows another one
        about its picture, as far as there are enough pictures.

    >>> groups = {"a": "1.png", "b": "1.png", "c": "2.png", "d": "2.png", "e": "3.png"}
    >>> order = rater_order(list(groups), groups, seed=0, rater="anna")
    >>> any(groups[x] == groups[y] for x, y in zip(order, order[1:]))
    False
    >>> order == rater_order(list(groups), groups, seed=0, rater="ben")
    False
    """
    rng = stream(seed, f"order of {rater}")
    shuffled = [uids[i] for i in rng.permutation(len(uids))]
    waiting: dict[str, deque[str]] = {}
    for uid in shuffled:
        waiting.setdefault(groups[uid], deque()).append(uid)
    if group == "picture":
        return tuple(uid for of_picture in waiting.values() for uid in of_picture)
    return tuple(_spread(waiting, len(uids), rng))


def _spread(waiting: dict[str, deque[str]], count: int, rng: np.random.Generator) -> Sequence[str]:
    """Draw the next picture in proportion to its remaining answers.

    Never the last one; the largest where its answers would not fit later.
    """
    order: list[str] = []
    names = list(waiting)
    left = np.array([len(waiting[name]) for name in names], dtype=np.float64)
    last = -1
    for remaining in range(count, 0, -1):
        free = left.copy()
        if last >= 0 and left[last] < remaining:
            free[last] = 0
        largest = int(np.argmax(free))
        # of a picture with more than half of what is left, one must come now
        chosen = (
            largest
            if 2 * free[largest] > remaining
            else int(rng.choice(len(names), p=free / free.sum()))
        )
        order.append(waiting[names[chosen]].popleft())
        left[chosen] -= 1
        last = chosen
    return order
