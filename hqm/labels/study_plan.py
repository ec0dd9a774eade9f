"""A plan: the answers that people are to label, each with the probability with which it was chosen.

The file is JSON lines. Its first line holds what is true of all rows; each further line is one
answer. It names respondents, so it stays with the study's owner: raters see the uid of an answer
and nothing else of the row.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from hqm.errors import DataError, DesignError, UsageError
from hqm.files.records import read_records, take, write_records
from hqm.imports.human_labels import ADJUDICATION as ADJUDICATION
from hqm.imports.human_labels import LEAST_PROBABILITY
from hqm.psychometrics import (
    Array,
    Places,
    active_probabilities,
    errors_from_disagreement,
    expected_width,
    stream,
    systematic_sample,
)
from hqm.psychometrics.label_sampling import LARGEST_TAU
from hqm.scoring.matrix import ScoreMatrix
from hqm.signature import digest
from hqm.types import ORIGINAL, Cell, Item, Response

Design = Literal["uniform", "same-items", "active"]
DESIGNS: tuple[Design, ...] = get_args(Design)

VERSION = 1
"""The version of the file's layout, which its first line says."""


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
                name=rater,
                choices=self.raters,
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
    return plan.with_name(f"{plan.stem}.labels.sqlite")


def write_plan(plan: LabelPlan, path: Path) -> None:
    """Write a plan with paths relative to its folder, so that the study can be moved."""
    folder = path.absolute().parent
    header: dict[str, Any] = {"plan": "hqm labels", "version": VERSION}
    header |= {name: _plain(getattr(plan, name)) for name in _HEADER}
    header |= {name: _relative(str(header[name]), folder) for name in _PLACES if header[name]}
    if _is_path(plan.benchmark):
        header["benchmark"] = f"./{_relative(plan.benchmark, folder)}"
    write_records(path, [header, *(row.to_dict() for row in plan.rows)])


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
            location=str(path),
            remedy="Make one with `hqm label plan NAME --store FILE --out plan.jsonl`.",
        )
    header = records[0]
    if header.get("version") != VERSION:
        raise DataError(
            (
                f"it is a plan of version {header.get('version')}, and this program reads version"
                f" {VERSION}"
            ),
            location=str(path),
            remedy="Install the version of HQM that made it.",
        )
    known = {name: header[name] for name in _HEADER if name in header}
    if unknown := set(header) - set(_HEADER) - {"plan", "version"}:
        raise DataError(
            f"its first line has the unknown key {min(unknown)!r}",
            location=str(path),
            remedy="Remove it.",
        )
    if known.get("design") not in DESIGNS:
        raise DataError(
            f"its design is {known.get('design')!r}",
            location=str(path),
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
            f"the uid {twice!r} stands twice",
            location=str(path),
            remedy="Keep one of the two rows.",
        )
    return LabelPlan(**known, rows=rows)


def _rows(records: list[dict[str, Any]], path: Path) -> Iterator[PlanRow]:
    for line, record in enumerate(records, 2):
        place = f"{path}:{line}"
        if unknown := set(record) - set(_ROW):
            raise DataError(
                f"the row has the unknown field {min(unknown)!r}",
                location=place,
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
                raise DataError(f"the {name} is {value!r}", location=place, remedy=remedy)
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


# --- which answers are drawn for a plan, and how wide its intervals will be ---


SUPPOSED_ERROR = 0.1
"""Where nothing is known about the scorer's errors, one score of ten is supposed to be wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An answer that may be chosen for labelling."""

    item: str
    respondent: str
    cluster: str
    digest: str
    score: float = math.nan
    """The benchmark's score of it, 0 to 1; NaN where it has none."""
    error: float = math.nan
    """The chance that this score is wrong, where anything is known about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSource:
    """The chance that each score is wrong, (respondents, items), before anybody labels, and its
    source.
    """

    errors: Array
    name: str
    """In words; empty where there is no source."""
    calibrated: bool = False
    """Whether the chances may be taken for what they say, and not only for which answers are
    doubtful.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a plan is expected to give."""

    width: float
    """Of the 95% interval of the mean corrected score."""
    width_of_one: float
    """Of that of a single respondent's score."""
    labels: int
    supposed_error: float
    """The mean chance that a score is wrong, on which the forecast rests."""
    needed: int | None = None
    """The labels needed for the width that was asked for; None where no number of labels reaches
    it, or none was asked for.
    """


def errors_known(matrices: Mapping[Cell, ScoreMatrix], reference: Cell) -> ErrorSource:
    """Estimate the chance that each score is wrong from the first available source.

    They are: scores between 0 and 1 that a judge gave as probabilities; disagreement with other
    judges, or with the same judge asked again; disagreement of rule and judge; disagreement of
    runs.
    """
    first = matrices[reference]
    values = first.values
    there = np.isfinite(values)
    if reference.judge != "rule" and bool(((values[there] > 0) & (values[there] < 1)).any()):
        return ErrorSource(
            errors=np.where(there, np.minimum(values, 1 - values), np.nan),
            name="the judge's probabilities",
            calibrated=True,
        )
    of_judges = [cell for cell in matrices if reference.differing(cell) == ("judge",)]
    by_rule = [cell for cell in of_judges if "rule" in (cell.judge, reference.judge)]
    by_judges = [cell for cell in of_judges if cell not in by_rule]
    of_runs = [cell for cell in matrices if reference.differing(cell) == ("run",)]
    for cells, name in (
        (by_judges, "disagreement of judges or of a judge asked again"),
        (by_rule, "disagreement of rule and judge"),
        (of_runs, "disagreement of runs"),
    ):
        if cells:
            differing, others = np.zeros(values.shape), np.zeros(values.shape)
            for cell in cells:
                other = (
                    matrices[cell].take(first.respondents, [item.id for item in first.items]).values
                )
                both = there & np.isfinite(other)
                others += both
                differing += np.where(both, np.abs(other - values) > 0.5, 0)
            errors = errors_from_disagreement(differing.ravel(), others.ravel()).reshape(
                values.shape
            )
            if np.isfinite(errors).any():
                return ErrorSource(
                    errors=errors, name=name, calibrated=name != "disagreement of runs"
                )
    return ErrorSource(errors=np.full(values.shape, np.nan), name="")


def chances(candidates: Sequence[Candidate], design: Design, labels: float, tau: float) -> Array:
    """(candidates,): with which probability each is chosen; of `same-items`, that of its item.

    Raises
    ------
    DesignError
        There are more labels than answers, or an active design has nothing to go by.
    """
    size = len(candidates)
    if not 1 <= labels <= size:
        raise DesignError(
            f"{labels:,.0f} labels cannot be had of {size:,} answers",
            remedy=f"Ask for 1 to {size:,} with --labels.",
        )
    if design != "active":
        return np.full(size, labels / size)
    errors = np.array([candidate.error for candidate in candidates])
    if not np.isfinite(errors).any():
        raise DesignError(
            (
                "an active design needs to know which scores are doubtful, and the store has one"
                " administration by one scorer"
            ),
            remedy=(
                "Store a second run or a second judge (--judge, --set rejudge=2), or choose"
                " --design uniform."
            ),
        )
    return active_probabilities(errors, labels, tau)


def draw(
    candidates: Sequence[Candidate], plan: LabelPlan, labels: int, rng: np.random.Generator
) -> tuple[PlanRow, ...]:
    """Draw the answers of a plan, and assign each to its raters.

    `uniform` draws every answer with one probability, as many of each respondent, and spread over
    the pictures. `same-items` draws items, spread over the pictures, and takes the answers of all
    respondents to them. `active` draws with the probabilities of `active_probabilities`. The sample
    has the size that was asked for, or in `same-items` the nearest full number of items. The order
    of the candidates does not matter.
    """
    # a store lists respondents as their first answers came, which is by chance where several answer
    # at a time
    candidates = sorted(candidates, key=lambda candidate: (candidate.respondent, candidate.item))
    if plan.design == "same-items":
        chosen = _same_items(candidates, labels, rng)
    else:
        p = chances(candidates, plan.design, labels, plan.tau)
        order = (
            _spread_over_pictures(candidates, rng)
            if plan.design == "uniform"
            else rng.permutation(len(candidates))
        )
        drawn = systematic_sample(p[order], rng)
        chosen = [(candidates[i], float(p[i])) for i in order[drawn]]
    rng.shuffle(chosen)
    stratified = plan.design == "uniform"
    rows = [
        PlanRow(
            uid=rng.bytes(6).hex(),
            item=c.item,
            respondent=c.respondent,
            answer_digest=c.digest,
            probability=p,
            stratum=c.respondent if stratified else "",
        )
        for c, p in chosen
    ]
    return tuple(_given_out(rows, plan, rng))


def _spread_over_pictures(candidates: Sequence[Candidate], rng: np.random.Generator) -> Places:
    """Order the answers by respondent, each with its own random order of pictures."""
    respondents = {
        name: i for i, name in enumerate(dict.fromkeys(c.respondent for c in candidates))
    }
    pictures = {name: i for i, name in enumerate(dict.fromkeys(c.cluster for c in candidates))}
    places = np.array([rng.permutation(len(pictures)) for _ in respondents])
    who = np.array([respondents[c.respondent] for c in candidates])
    order = places[who, [pictures[c.cluster] for c in candidates]]
    return np.lexsort((rng.random(len(candidates)), order, who))


def _same_items(
    candidates: Sequence[Candidate], labels: int, rng: np.random.Generator
) -> list[tuple[Candidate, float]]:
    by_item: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        by_item.setdefault(candidate.item, []).append(candidate)
    each = len(candidates) / len(by_item)
    count = round(labels / each)
    if not 1 <= count <= len(by_item):
        raise DesignError(
            (
                f"{labels:,} labels make {labels / each:.1f} items with the answers of all"
                f" respondents, of {len(by_item):,}"
            ),
            remedy=f"Ask for {math.ceil(each):,} to {len(candidates):,} with --labels.",
        )
    firsts = [replace(of_item[0], respondent="") for of_item in by_item.values()]
    order = _spread_over_pictures(firsts, rng)
    p = count / len(by_item)
    drawn = order[systematic_sample(np.full(len(firsts), p), rng)]
    return [(candidate, p) for i in drawn for candidate in by_item[firsts[i].item]]


def _given_out(rows: Sequence[PlanRow], plan: LabelPlan, rng: np.random.Generator) -> list[PlanRow]:
    """Assign raters: all of them to a random share of the rows, the other rows evenly."""
    names = plan.raters
    shared = set(rng.permutation(len(rows))[: round(plan.overlap * len(rows))].tolist())
    dealt = 0
    assigned = []
    for i, row in enumerate(rows):
        if i in shared or len(names) <= 1:
            assigned.append(replace(row, raters=names))
        else:
            assigned.append(replace(row, raters=(names[dealt % len(names)],)))
            dealt += 1
    return assigned


def with_gold(
    rows: Sequence[PlanRow],
    gold: Mapping[tuple[str, str], float],
    candidates: Sequence[Candidate],
    raters: tuple[str, ...],
    rng: np.random.Generator,
) -> tuple[PlanRow, ...]:
    """Mix in gold answers, which all raters label.

    One that the design drew as well keeps its probability.
    """
    by_answer = {(c.respondent, c.item): c for c in candidates}
    marked = [
        (
            replace(row, gold=gold[row.respondent, row.item], raters=raters)
            if (row.respondent, row.item) in gold
            else row
        )
        for row in rows
    ]
    drawn = {(row.respondent, row.item) for row in rows}
    added = [
        PlanRow(
            uid=rng.bytes(6).hex(),
            item=item,
            respondent=respondent,
            raters=raters,
            gold=label,
            answer_digest=by_answer[respondent, item].digest,
        )
        for (respondent, item), label in gold.items()
        if (respondent, item) not in drawn
    ]
    every = [*marked, *added]
    return tuple(every[i] for i in rng.permutation(len(every)))


def forecast(
    candidates: Sequence[Candidate],
    design: Design,
    labels: int,
    *,
    tau: float = 0.0,
    supposed_error: float | None = None,
    width: float | None = None,
) -> Forecast:
    """Forecast the width of the intervals, and the number of labels that a width needs.

    `supposed_error` is the share of wrong scores where the answers' own chances of error are not
    known or not to be believed: with an active design they are then scaled to it.
    """
    scored = [c for c in candidates if math.isfinite(c.score)]
    if len(scored) < 2:
        raise DesignError(
            "no two answers have a score", remedy="Score them, or plan without a forecast."
        )
    scores = np.clip(np.array([c.score for c in scored]), 0, 1)
    assigned = np.array([c.error for c in scored])
    known = np.isfinite(assigned)
    mean = float(assigned[known].mean()) if known.any() else SUPPOSED_ERROR
    wanted = mean if supposed_error is None else supposed_error
    errors = np.where(known, assigned, mean)
    errors = np.clip(errors * (wanted / mean if mean > 0 else 1.0), 0.0, 0.5)
    together, alike = _together(scored, scores, design, labels), _alike(scored, scores)

    def of(count: float) -> float:
        p = chances(scored, design, min(count, len(scored)), tau)
        return expected_width(scores, errors, p, together=together, alike=alike)

    each = max(1, len({c.respondent for c in scored}))
    needed = None
    if width is not None and of(len(scored)) <= width:
        low, high = 1, len(scored)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if of(middle) <= width else (middle + 1, high)
        needed = low
    return Forecast(
        width=of(labels),
        width_of_one=_of_single(scores, errors, each, labels),
        labels=labels,
        supposed_error=float(errors.mean()),
        needed=needed,
    )


def _of_single(scores: Array, errors: Array, respondents: int, labels: int) -> float:
    """The width for one respondent of average score, of whom an equal share of the answers is
    labelled.
    """
    some = np.sort(scores)[respondents // 2 :: respondents]
    if len(some) < 2:
        return math.nan
    p = np.full(len(some), min(1.0, max(labels / respondents, 1.0) / len(some)))
    return expected_width(some, np.full(len(some), errors.mean()), p)


def _alike(candidates: Sequence[Candidate], scores: Array) -> float:
    """Estimate the design effect: answers about one picture are alike, which raises the
    variance.
    """
    _, picture = np.unique([c.cluster for c in candidates], return_inverse=True)
    left = scores - scores.mean()
    sums = np.bincount(picture, weights=left)
    count, alone = len(sums), float((left**2).sum())
    return count / (count - 1) * float((sums**2).sum()) / alone if count > 1 and alone > 0 else 1.0


def _together(candidates: Sequence[Candidate], scores: Array, design: Design, labels: int) -> float:
    """The design effect of labels about one picture, as far as the scores show it: 1 + (labels of a
    picture - 1) of their correlation.

    The errors' own correlation is not known beforehand; that of the scores stands in for it.
    """
    _, who = np.unique([c.respondent for c in candidates], return_inverse=True)
    _, picture = np.unique([c.cluster for c in candidates], return_inverse=True)
    means = np.bincount(who, weights=scores) / np.bincount(who)
    left = scores - means[who]
    sizes = np.bincount(picture)
    sums = np.bincount(picture, weights=left)
    pairs = float((sizes * (sizes - 1)).sum())
    variance = float((left**2).mean())
    if pairs <= 0 or variance <= 0:
        return 1.0
    correlation = max(0.0, float((sums**2).sum() - (left**2).sum()) / pairs / variance)
    share = labels / len(candidates)
    if design == "same-items":
        _, item = np.unique([c.item for c in candidates], return_inverse=True)
        of_item = len(candidates) / (int(item.max()) + 1)
        others = of_item - 1 + share * (len(candidates) / len(sizes) - of_item)
    else:
        others = share * (float((sizes**2).sum()) / len(candidates) - 1)
    return 1 + max(0.0, others) * correlation


def check_design(design: Design, raters: Sequence[str], overlap: float, tau: float) -> None:
    """Refuse a plan that cannot be meant.

    Raises
    ------
    UsageError
        A rater is named twice, or a share is none.
    """
    if not raters or any(not name.strip() for name in raters):
        raise UsageError("no rater is named", remedy="Name them with --raters anna,ben.")
    if len(set(raters)) < len(raters):
        twice = next(name for name in raters if list(raters).count(name) > 1)
        raise UsageError(
            f"the rater {twice!r} is named twice", remedy="Give every rater a name of their own."
        )
    if not 0 <= overlap <= 1:
        raise UsageError(f"the overlap is {overlap}", remedy="It is a share from 0 to 1.")
    if design == "active" and not 0 < tau <= LARGEST_TAU:
        raise UsageError(
            f"tau is {tau}",
            remedy=f"It is above 0 and at most {LARGEST_TAU}: the rest is drawn uniformly.",
        )
