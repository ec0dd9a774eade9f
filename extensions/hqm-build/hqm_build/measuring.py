"""Measures of a built benchmark: items by part and label, leaks, duplicates, types, people's
decisions, and whether the recipe's promises are kept.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.findings import Finding, code_of
from hqm.errors import DataError
from hqm.files.dialect import unguarded
from hqm.files.records import located_records
from hqm.lint.answer_leaks import LARGEST_ERROR, can_leak, clusters_of, leaks_in
from hqm.lint.linter import findings_of, pictures_of
from hqm.psychometrics import (
    blind_solvability,
    items_for_error,
    length_cue,
    stream,
)
from hqm.psychometrics.items.leaks import Stratum
from hqm.psychometrics.items.solvability import unshared_word_counts
from hqm.signature import digest_file
from hqm.types import Form, Item
from hqm_build.graph import Draft, Promise

# --- decisions of people about built items ---

# Read are CSV and JSON lines with `item` and `decision`, and the CSV which the report's page
# "Read these items" downloads (`item`, `mark`, `target`). A text may be corrected in the column
# `text`.

Decision = Literal["keep", "ambiguous", "wrong key", "bad picture", "fixed text"]
DECISIONS: tuple[Decision, ...] = get_args(Decision)
_SYNONYMS: Mapping[str, Decision] = {
    "ok": "keep",
    "right": "keep",
    "ambiguous subject": "ambiguous",
    "unclear": "ambiguous",
    "wrong": "wrong key",
    "fix text": "fixed text",
    "fixed": "fixed text",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemDecision:
    """What was decided about one item."""

    decision: Decision
    target: str = ""
    """The right answer, where the key is wrong."""
    text: str = ""
    reviewer: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """The decisions of one file."""

    path: str
    digest: str
    by_item: Mapping[str, ItemDecision]

    @property
    def n_kept(self) -> int:
        """How many items were kept as they are."""
        return sum(reviewed.decision == "keep" for reviewed in self.by_item.values())


def read_review(path: Path) -> Review:
    """Read a file of decisions.

    Raises
    ------
    DataError
        A row has no item or no decision, an item stands twice with different decisions, or a fixed
        text is empty.
    """
    decisions: dict[str, ItemDecision] = {}
    for location, record in located_records(path):
        item = str(unguarded(record.get("item")) or "").strip()
        if not item:
            field_names = ", ".join(map(repr, record)) or "none"
            raise DataError(
                f"the field 'item' is missing or empty (there are {field_names})",
                location=location,
                remedy="Fill it.",
            )
        text = str(record.get("text") or record.get("fixed_text") or "").strip()
        mark = str(record.get("decision") or record.get("mark") or "")
        mark = mark.strip().lower().replace("_", " ")
        if not mark:
            continue  # a row of the page that nobody has marked
        decision = _SYNONYMS.get(mark, mark)
        if decision not in DECISIONS:
            raise DataError(
                f"the decision on {item} is {mark!r:.40}",
                location=location,
                remedy=f"Write {', '.join(DECISIONS)}.",
                name=mark,
                choices=DECISIONS,
            )
        if decision == "fixed text" and not text:
            raise DataError(
                f"the text of {item} is fixed, and none is given",
                location=location,
                remedy="Write it in 'text'.",
            )
        reviewed = ItemDecision(
            decision=decision,
            target=str(record.get("target") or "").strip(),
            text=text,
            reviewer=str(record.get("rater") or record.get("reviewer") or "").strip(),
            note=str(record.get("note") or "").strip(),
        )
        # who decided, and the note, may differ
        if item in decisions and _decided_values(decisions[item]) != _decided_values(reviewed):
            raise DataError(
                f"the item {item!r} has two different decisions",
                location=location,
                remedy="Adjudicate them, and keep one row.",
            )
        decisions[item] = reviewed
    if not decisions:
        raise DataError(
            "it decides on no item", location=str(path), remedy="Write the columns item,decision."
        )
    return Review(path=path.name, digest=digest_file(path), by_item=decisions)


def _decided_values(reviewed: ItemDecision) -> tuple[Any, ...]:
    return reviewed.decision, reviewed.target, reviewed.text


# --- what can be measured of a benchmark before anybody answers ---

_FOLDS = 5
"""Parts into which items are cut, to predict each part's answers from the other parts."""
MIN_REVIEWED = 100
"""Reviewed items from which the share of kept ones is worth a statement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartWords:
    """Accuracy from the words alone in one part, cross-validated, beside that of the commonest
    answer.
    """

    part: str
    items: int
    accuracy: float
    baseline: float
    interval: tuple[float, float] = (math.nan, math.nan)
    reason: str = ""
    """Why it was not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartLength:
    """Accuracy of the best threshold on the number of words in one part, cross-validated."""

    part: str
    accuracy: float
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """The share of reviewed items that were kept, with its 95% Wilson (1927) interval."""

    n_kept: int
    n_reviewed: int
    value: float
    low: float
    high: float

    @property
    def is_sufficient(self) -> bool:
        """Whether 100 items were reviewed, as the recipes ask for."""
        return self.n_reviewed >= MIN_REVIEWED


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A benchmark that was built, and what can be measured of it before anybody answers."""

    benchmark: Benchmark
    draft: Draft
    notes: tuple[str, ...]
    form: Form
    pictures_checked: bool
    precision: Precision | None = None

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What `hqm check` finds."""
        if self.pictures_checked:
            pictures = pictures_of(self.benchmark, self.form)
        else:
            pictures = None
        return tuple(
            findings_of(self.benchmark, self.form, pictures, forms=[self.benchmark.parallel_form])
        )

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the findings, sorted."""
        return tuple(sorted(code_of(finding.name).code for finding in self.findings))

    @cached_property
    def part_counts(self) -> Mapping[str, int]:
        """Part -> how many items."""
        return Counter(item.part for item in self.form.items)

    @cached_property
    def by_type(self) -> Mapping[str, int]:
        """Hallucination type -> how many items, whether or not the card claims it."""
        return Counter(str(item.type or item.meta.get("kind") or "") for item in self.form.items)

    @cached_property
    def by_label(self) -> Mapping[str, Mapping[str, int]]:
        """Part -> right answer -> how many items, where there is a handful of answers."""
        table: dict[str, Counter[str]] = {}
        for item in self.form.items:
            table.setdefault(item.part, Counter())[_label(item)] += 1
        return {part: answers for part, answers in table.items() if len(answers) <= 8}

    @cached_property
    def words(self) -> tuple[PartWords, ...]:
        """Return the accuracy of the words alone, part by part; open answers count as labels."""
        if self.benchmark.card.task == "caption":
            return ()
        return tuple(
            _measure_words(part_name, self._items_of(part_name)) for part_name in self.part_counts
        )

    @cached_property
    def lengths(self) -> tuple[PartLength, ...]:
        """What counting words gets right, part by part."""
        if not can_leak(self.form.items):
            return ()
        return tuple(
            length
            for part_name in self.part_counts
            if (length := _measure_length(part_name, self._items_of(part_name))) is not None
        )

    @property
    def cue(self) -> Stratum | None:
        """Return the strongest cue of position, numbering or surface, or None where none could be
        tried.
        """
        if not can_leak(self.form.items):
            return None
        cues = [
            stratum
            for stratum in leaks_in(self.form).cues.strata
            if stratum.status == "ok" and math.isfinite(stratum.gain)
        ]
        return max(cues, key=lambda stratum: stratum.gain, default=None)

    @property
    def measurable(self) -> tuple[str, ...]:
        """The types with enough items for a score of their own."""
        min_items = items_for_error(LARGEST_ERROR)
        return tuple(kind for kind, items in self.by_type.items() if kind and items >= min_items)

    def count(self, name: str) -> int:
        """Return the number of items or pictures that a finding concerns."""
        return sum(finding.count for finding in self.findings if finding.name == name)

    def _items_of(self, part_name: str) -> list[Item]:
        return [item for item in self.form.items if item.part == part_name]


def _label(item: Item) -> str:
    if isinstance(item.target, (list, tuple)):
        return ", ".join(map(str, item.target))
    return str(item.target)


def _measure_words(part_name: str, items: Sequence[Item]) -> PartWords:
    study = blind_solvability(
        [item.prompt for item in items],
        [_label(item) for item in items],
        rng=stream(0, f"build.words.{part_name}"),
        clusters=clusters_of(items),
        folds=_FOLDS,
    )
    return PartWords(
        part=part_name,
        items=len(items),
        accuracy=study.accuracy.value if study.status == "ok" else math.nan,
        baseline=study.baseline,
        interval=(study.accuracy.low, study.accuracy.high),
        reason=study.reason,
    )


def _measure_length(part_name: str, items: Sequence[Item]) -> PartLength | None:
    study = length_cue(
        unshared_word_counts([item.prompt for item in items]),
        [str(item.target) for item in items],
        rng=stream(0, f"build.length.{part_name}"),
        clusters=clusters_of(items),
        folds=_FOLDS,
    )
    if not study.rules:
        return None
    return PartLength(
        part=part_name, accuracy=study.strongest.accuracy.value, sentence=study.strongest.sentence
    )


def precision_of(review: Review | None) -> Precision | None:
    """The share of reviewed items that people kept; None without a review."""
    if review is None:
        return None
    from scipy.stats import binomtest

    n_kept = review.n_kept
    n_reviewed = len(review.by_item)
    low, high = binomtest(n_kept, n_reviewed).proportion_ci(method="wilson")
    return Precision(
        n_kept=n_kept,
        n_reviewed=n_reviewed,
        value=n_kept / n_reviewed,
        low=float(low),
        high=float(high),
    )


def words_alone(measured: Measured, limit: float) -> tuple[Promise, ...]:
    """Promise, for every part, that the words alone get neither more nor less right than chance.

    Less is as much of a cue as more: whoever knows other items would answer the reverse.
    """
    return tuple(
        Promise(
            name=f"words alone: {words.part}",
            sentence=(
                f"the words alone get {words.accuracy:.3f} of {words.items} items right in"
                f" {words.part} (95% interval {words.interval[0]:.2f} to {words.interval[1]:.2f})"
            ),
            value=words.accuracy,
            limit=limit,
            relation="as chance",
            interval=words.interval,
        )
        for words in measured.words
        if math.isfinite(words.accuracy)
    )


def lengths(measured: Measured, limit: float) -> tuple[Promise, ...]:
    """Promise that no threshold on the number of words gets more than a share right."""
    return tuple(
        Promise(
            name=f"length: {length.part}",
            sentence=(
                f"counting words gets {length.accuracy:.3f} right in {length.part}"
                f" ({length.sentence})"
            ),
            value=length.accuracy,
            limit=limit,
        )
        for length in measured.lengths
    )
