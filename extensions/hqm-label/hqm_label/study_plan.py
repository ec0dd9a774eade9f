"""A plan: the answers that people are to label, each with the probability with which it was chosen.

The file is JSON lines. Its first line holds what is true of all rows; each further line is one
answer. It names respondents, so it stays with the study's owner: raters see the uid of an answer
and nothing else of the row.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import numpy as np
from pydantic import TypeAdapter, ValidationError

from hqm.errors import DataError, DesignError, UsageError
from hqm.files.records import read_records, required_field, write_records
from hqm.imports.human_labels import ADJUDICATION as ADJUDICATION
from hqm.imports.human_labels import LEAST_PROBABILITY
from hqm.imports.intake import find_alike, refuse_alike
from hqm.psychometrics import Array, stream
from hqm.psychometrics.result import Indices
from hqm.scoring.matrix import ScoreMatrix
from hqm.signature import digest
from hqm.text import check_name
from hqm.types import ORIGINAL, Cell, Item
from hqm_label.answer_sampling import (
    MAX_TAU,
    active_probabilities,
    errors_from_disagreement,
    expected_width,
    systematic_sample,
)

Design = Literal["uniform", "same-items", "active"]
DESIGNS: tuple[Design, ...] = get_args(Design)

_T = TypeVar("_T")

VERSION = 1
"""The version of the file's layout, which its first line says."""


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
        return {f.name: _json_value(getattr(self, f.name)) for f in fields(self)}


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


_HEADER_FIELDS = tuple(f.name for f in fields(LabelPlan) if f.name != "rows")
_ROW_FIELDS = tuple(f.name for f in fields(PlanRow))
_PATH_FIELDS = ("store", "data", "images", "form_file")


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
    header |= {name: _json_value(getattr(plan, name)) for name in _HEADER_FIELDS}
    header |= {name: _relative(str(header[name]), folder) for name in _PATH_FIELDS if header[name]}
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
    header_values = {name: header[name] for name in _HEADER_FIELDS if name in header}
    if unknown := set(header) - set(_HEADER_FIELDS) - {"plan", "version"}:
        raise DataError(
            f"its first line has the unknown key {min(unknown)!r}",
            location=str(path),
            remedy="Remove it.",
        )
    if header_values.get("design") not in DESIGNS:
        raise DataError(
            f"its design is {header_values.get('design')!r}",
            location=str(path),
            remedy=f"The designs are {', '.join(DESIGNS)}.",
        )
    plan = _validated(_PLAN_VALUES, header_values, f"{path}:1")
    named = [name for name in _PATH_FIELDS if getattr(plan, name)]
    if _is_path(plan.benchmark):
        named.append("benchmark")
    paths: dict[str, Any] = {name: str(path.parent / getattr(plan, name)) for name in named}
    rows = tuple(_read_rows(records[1:], path))
    uids = [row.uid for row in rows]
    if repeated := (
        next((uid for uid in uids if uids.count(uid) > 1), "") if len(set(uids)) < len(uids) else ""
    ):
        raise DataError(
            f"the uid {repeated!r} stands twice",
            location=str(path),
            remedy="Keep one of the two rows.",
        )
    return replace(plan, **paths, rows=rows)


# made once: that takes milliseconds, and a plan has thousands of rows
_PLAN_VALUES = TypeAdapter(LabelPlan)
_ROW_VALUES = TypeAdapter(PlanRow)


def _validated(adapter: TypeAdapter[_T], values: Mapping[str, Any], location: str) -> _T:
    """Return a plan or a row; DataError where a value is of another kind, as after an edit."""
    try:
        return adapter.validate_python(values)
    except ValidationError as error:
        fault = error.errors()[0]
        raise DataError(
            f"the field {fault['loc'][0]!r} is {fault['input']!r:.60}",
            location=location,
            remedy=f"{fault['msg']}: write it as `hqm label plan` does.",
        ) from None


def _read_rows(records: list[dict[str, Any]], path: Path) -> Iterator[PlanRow]:
    for line, record in enumerate(records, 2):
        location = f"{path}:{line}"
        if unknown := set(record) - set(_ROW_FIELDS):
            raise DataError(
                f"the row has the unknown field {min(unknown)!r}",
                location=location,
                remedy=f"A row has {', '.join(_ROW_FIELDS)}.",
            )
        required_field(record, "uid", location)
        required_field(record, "item", location)
        probability, gold = record.get("probability"), record.get("gold")
        for name, value, minimum in (
            ("probability", probability, LEAST_PROBABILITY),
            ("gold", gold, -math.inf),
        ):
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if value is not None and not (
                number and minimum <= value and (name == "gold" or value <= 1)
            ):
                if name == "probability":
                    remedy = f"Write a number from {LEAST_PROBABILITY:g} to 1."
                else:
                    remedy = "Write a number."
                raise DataError(f"the {name} is {value!r}", location=location, remedy=remedy)
        yield _validated(_ROW_VALUES, record, location)


def _relative(path: str, folder: Path) -> str:
    return Path(os.path.relpath(Path(path).absolute(), folder)).as_posix()


def _is_path(benchmark: str) -> bool:
    """Whether a benchmark is named by a folder or a file, and not by a name that HQM knows."""
    return "/" in benchmark or os.sep in benchmark


def _json_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return value


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
        return tuple(uid for picture_uids in waiting.values() for uid in picture_uids)
    return tuple(_interleave(waiting, len(uids), rng))


def _interleave(
    waiting: dict[str, deque[str]], count: int, rng: np.random.Generator
) -> Sequence[str]:
    """Draw the next picture in proportion to its remaining answers.

    Never the last one; the largest where its answers would not fit later.
    """
    # drawing in proportion keeps large pictures from being left over at the end
    order: list[str] = []
    names = list(waiting)
    counts = np.array([len(waiting[name]) for name in names], dtype=np.float64)
    last = -1
    for remaining in range(count, 0, -1):
        available = counts.copy()
        if last >= 0 and counts[last] < remaining:
            available[last] = 0
        largest = int(np.argmax(available))
        # of a picture with more than half of what is left, one must come now
        if 2 * available[largest] > remaining:
            picture = largest
        else:
            picture = int(rng.choice(len(names), p=available / available.sum()))
        order.append(waiting[names[picture]].popleft())
        counts[picture] -= 1
        last = picture
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
    """The expected width of a plan's intervals, and the assumption that it rests on."""

    width: float
    """Of the 95% interval of the mean corrected score."""
    width_of_one: float
    """Of that of a single respondent's score."""
    labels: int
    supposed_error: float
    """The mean chance that a score is wrong, on which the forecast rests."""
    labels_needed: int | None = None
    """The labels needed for the width that was asked for; None where no number of labels reaches
    it, or none was asked for.
    """


def estimate_errors(matrices: Mapping[Cell, ScoreMatrix], reference: Cell) -> ErrorSource:
    """Estimate the chance that each score is wrong from the first available source.

    They are: scores between 0 and 1 that a judge gave as probabilities; disagreement with other
    judges, or with the same judge asked a second time; disagreement of rule and judge; disagreement of
    runs.
    """
    reference_matrix = matrices[reference]
    values = reference_matrix.values
    scored = np.isfinite(values)
    # a judge that gives p is wrong with the chance min(p, 1 - p), if p is calibrated
    if reference.judge != "rule" and bool(((values[scored] > 0) & (values[scored] < 1)).any()):
        return ErrorSource(
            errors=np.where(scored, np.minimum(values, 1 - values), np.nan),
            name="the judge's probabilities",
            calibrated=True,
        )
    judge_cells = [cell for cell in matrices if reference.differing(cell) == ("judge",)]
    rule_cells = [cell for cell in judge_cells if "rule" in (cell.judge, reference.judge)]
    other_judge_cells = [cell for cell in judge_cells if cell not in rule_cells]
    run_cells = [cell for cell in matrices if reference.differing(cell) == ("run",)]
    for cells, name in (
        (other_judge_cells, "disagreement of judges or of a judge asked a second time"),
        (rule_cells, "disagreement of rule and judge"),
        (run_cells, "disagreement of runs"),
    ):
        if cells:
            n_different = np.zeros(values.shape)
            n_compared = np.zeros(values.shape)
            for cell in cells:
                other_matrix = matrices[cell].take(
                    reference_matrix.respondents, list(reference_matrix.ids)
                )
                other_values = other_matrix.values
                scored_twice = scored & np.isfinite(other_values)
                n_compared += scored_twice
                # scores on either side of 0.5 count as different, so that graded scores are comparable
                n_different += np.where(scored_twice, np.abs(other_values - values) > 0.5, 0)
            errors = errors_from_disagreement(n_different.ravel(), n_compared.ravel()).reshape(
                values.shape
            )
            if np.isfinite(errors).any():
                # runs that agree may be wrong together: they say where, not how often
                return ErrorSource(errors=errors, name=name, calibrated=cells is not run_cells)
    return ErrorSource(errors=np.full(values.shape, np.nan), name="")


def selection_probabilities(
    candidates: Sequence[Candidate], design: Design, labels: float, tau: float
) -> Array:
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


def draw_rows(
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
        sampled = _draw_items(candidates, labels, rng)
    else:
        p = selection_probabilities(candidates, plan.design, labels, plan.tau)
        if plan.design == "uniform":
            order = _order_by_pictures(candidates, rng)
        else:
            order = rng.permutation(len(candidates))
        indices = systematic_sample(p[order], rng)
        sampled = [(candidates[i], float(p[i])) for i in order[indices]]
    rng.shuffle(sampled)
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
        for c, p in sampled
    ]
    return tuple(_assign_raters(rows, plan, rng))


def _order_by_pictures(candidates: Sequence[Candidate], rng: np.random.Generator) -> Indices:
    """Order the answers by respondent, each with its own random order of pictures."""
    respondents: dict[str, int] = {}
    pictures: dict[str, int] = {}
    for candidate in candidates:
        respondents.setdefault(candidate.respondent, len(respondents))
        pictures.setdefault(candidate.cluster, len(pictures))
    # a systematic sample of this order takes each respondent's answers evenly over the pictures
    picture_ranks = np.array([rng.permutation(len(pictures)) for _ in respondents])
    respondent_index = np.array([respondents[c.respondent] for c in candidates])
    order = picture_ranks[respondent_index, [pictures[c.cluster] for c in candidates]]
    return np.lexsort((rng.random(len(candidates)), order, respondent_index))


def _draw_items(
    candidates: Sequence[Candidate], labels: int, rng: np.random.Generator
) -> list[tuple[Candidate, float]]:
    by_item: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        by_item.setdefault(candidate.item, []).append(candidate)
    answers_per_item = len(candidates) / len(by_item)
    count = round(labels / answers_per_item)
    if not 1 <= count <= len(by_item):
        raise DesignError(
            (
                f"{labels:,} labels make {labels / answers_per_item:,.1f} items with the answers of"
                f" all respondents, of {len(by_item):,}"
            ),
            remedy=f"Ask for {math.ceil(answers_per_item):,} to {len(candidates):,} with --labels.",
        )
    firsts = [replace(item_candidates[0], respondent="") for item_candidates in by_item.values()]
    order = _order_by_pictures(firsts, rng)
    p = count / len(by_item)
    drawn_items = order[systematic_sample(np.full(len(firsts), p), rng)]
    return [(candidate, p) for i in drawn_items for candidate in by_item[firsts[i].item]]


def _assign_raters(
    rows: Sequence[PlanRow], plan: LabelPlan, rng: np.random.Generator
) -> list[PlanRow]:
    """Assign raters: all of them to a random share of the rows, the other rows evenly."""
    names = plan.raters
    # the rows that all raters label are drawn at random, so that their agreement is that of all
    shared = set(rng.permutation(len(rows))[: round(plan.overlap * len(rows))].tolist())
    n_single = 0
    assigned = []
    for i, row in enumerate(rows):
        if i in shared or len(names) <= 1:
            assigned.append(replace(row, raters=names))
        else:
            assigned.append(replace(row, raters=(names[n_single % len(names)],)))
            n_single += 1
    return assigned


def add_gold(
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
    drawn_answers = {(row.respondent, row.item) for row in rows}
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
        if (respondent, item) not in drawn_answers
    ]
    # gold answers lie at random positions, so that a rater cannot know them from the others
    all_rows = [*marked, *added]
    return tuple(all_rows[i] for i in rng.permutation(len(all_rows)))


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
    finite = np.isfinite(assigned)
    mean = float(assigned[finite].mean()) if finite.any() else SUPPOSED_ERROR
    target_error = mean if supposed_error is None else supposed_error
    # an answer of unknown error has the mean one; no binary score is wrong more often than not
    errors = np.where(finite, assigned, mean)
    errors = np.clip(errors * (target_error / mean if mean > 0 else 1.0), 0.0, 0.5)
    label_effect = _label_design_effect(scored, scores, design, labels)
    score_effect = _score_design_effect(scored, scores)

    def width_at(count: float) -> float:
        p = selection_probabilities(scored, design, min(count, len(scored)), tau)
        return expected_width(
            scores, errors, p, label_design_effect=label_effect, answer_design_effect=score_effect
        )

    n_respondents = max(1, len({c.respondent for c in scored}))
    n_needed = None
    if width is not None and width_at(len(scored)) <= width:
        # the width falls with the number of labels, so that the number is found by bisection
        low = 1
        high = len(scored)
        while low < high:
            middle = (low + high) // 2
            if width_at(middle) <= width:
                high = middle
            else:
                low = middle + 1
        n_needed = low
    return Forecast(
        width=width_at(labels),
        width_of_one=_single_respondent_width(scores, errors, n_respondents, labels),
        labels=labels,
        supposed_error=float(errors.mean()),
        labels_needed=n_needed,
    )


def _single_respondent_width(scores: Array, errors: Array, respondents: int, labels: int) -> float:
    """Return the width for one respondent of average score, of whom an equal share of the answers
    is labelled.
    """
    # every n-th of the sorted scores: a respondent with the distribution of all scores
    sample = np.sort(scores)[respondents // 2 :: respondents]
    if len(sample) < 2:
        return math.nan
    p = np.full(len(sample), min(1.0, max(labels / respondents, 1.0) / len(sample)))
    return expected_width(sample, np.full(len(sample), errors.mean()), p)


def _score_design_effect(candidates: Sequence[Candidate], scores: Array) -> float:
    """Estimate the design effect: answers about one picture are alike, which raises the
    variance.
    """
    _, picture = np.unique([c.cluster for c in candidates], return_inverse=True)
    deviations = scores - scores.mean()
    sums = np.bincount(picture, weights=deviations)
    count = len(sums)
    sum_of_squares = float((deviations**2).sum())
    if count <= 1 or sum_of_squares <= 0:
        return 1.0
    # variance of the mean from cluster totals, over that of as many independent answers
    return count / (count - 1) * float((sums**2).sum()) / sum_of_squares


def _label_design_effect(
    candidates: Sequence[Candidate], scores: Array, design: Design, labels: int
) -> float:
    """Return the design effect of labels about one picture: 1 + (labels of a picture - 1) rho.

    rho is the intraclass correlation of the scores, because that of the errors is not known before
    anybody labels.
    """
    # deff = 1 + (m - 1) rho (Kish 1965), m labels a picture; rho over all pairs of a picture
    _, respondent = np.unique([c.respondent for c in candidates], return_inverse=True)
    _, picture = np.unique([c.cluster for c in candidates], return_inverse=True)
    means = np.bincount(respondent, weights=scores) / np.bincount(respondent)
    deviations = scores - means[respondent]
    sizes = np.bincount(picture)
    sums = np.bincount(picture, weights=deviations)
    pairs = float((sizes * (sizes - 1)).sum())
    variance = float((deviations**2).mean())
    if pairs <= 0 or variance <= 0:
        return 1.0
    # sum over pairs = square of the sum - sum of the squares
    correlation = max(0.0, float((sums**2).sum() - (deviations**2).sum()) / pairs / variance)
    share = labels / len(candidates)
    if design == "same-items":
        _, item = np.unique([c.item for c in candidates], return_inverse=True)
        answers_per_item = len(candidates) / (int(item.max()) + 1)
        n_neighbours = (
            answers_per_item - 1 + share * (len(candidates) / len(sizes) - answers_per_item)
        )
    else:
        n_neighbours = share * (float((sizes**2).sum()) / len(candidates) - 1)
    return 1 + max(0.0, n_neighbours) * correlation


def check_raters(raters: Iterable[str]) -> None:
    """Refuse names that no file can have, that look the same, or that mean the owner's decisions.

    Raises
    ------
    UsageError
        A rater is called `adjudication`.
    DataError
        No file can have the name of a rater (`check_name`), or two names look the same.
    """
    names = {check_name(name, "rater's name") for name in raters}
    if ADJUDICATION in names:
        raise UsageError(
            f"no rater can be called {ADJUDICATION!r}",
            remedy="Name the person: this is how the owner's decisions are exported.",
        )
    for first, second in find_alike({*names, ADJUDICATION}):
        refuse_alike("raters", first, second, "")


def check_design(design: Design, raters: Sequence[str], overlap: float, tau: float) -> None:
    """Refuse a plan that cannot be meant.

    Raises
    ------
    UsageError
        A rater is named twice, or a share is none.
    DataError
        No file can have the name of a rater (`check_name`).
    """
    if not raters or any(not name.strip() for name in raters):
        raise UsageError("no rater is named", remedy="Name them with --raters anna,ben.")
    check_raters(raters)
    if len(set(raters)) < len(raters):
        repeated = next(name for name in raters if list(raters).count(name) > 1)
        raise UsageError(
            f"the rater {repeated!r} is named twice", remedy="Give every rater a name of their own."
        )
    if not 0 <= overlap <= 1:
        raise UsageError(f"the overlap is {overlap}", remedy="It is a share from 0 to 1.")
    if design == "active" and not 0 < tau <= MAX_TAU:
        raise UsageError(
            f"tau is {tau}",
            remedy=f"It is above 0 and at most {MAX_TAU}: the rest is drawn uniformly.",
        )
