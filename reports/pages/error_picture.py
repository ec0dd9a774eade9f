"""The picture of an error budget: what is drawn, from which its title, marks and sentences are
made.

One value holds the bars and the gaps with their marks, so that no title names another largest error
than the longest bar, and no gap is larger in words than in colour.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hqm.reports.pages.phrases import number_word, pluralise_in_words, verb_form
from hqm.reports.tables.score_tables import count_reordered_pairs, shift_target
from hqm.reports.tables.table import capital, short_name, target_clause

from hqm import BenchmarkAudit, ErrorBudget, Policy
from hqm.auditing.budget import BudgetRow, Gap
from hqm.auditing.precision import total_precision
from hqm.auditing.score_points import Points
from hqm.auditing.seven_questions import shift_margin
from hqm.psychometrics.variance.error_budget import outlying_move

if TYPE_CHECKING:
    from hqm.comparison.measures import Measure

SOURCES: Mapping[str, tuple[str, str]] = {
    "seed": ("Another seed", "same questions, second run"),
    "items": ("Other items", "a new sample of the same size"),
    "wording": ("Another wording", "the same questions in other words"),
    "negation": ("Negated questions", "the same questions negated"),
    "judge": ("Another judge", "the same answers judged again"),
    "people": ("People instead of the scorer", "labels for the same answers"),
    "resolution": ("Smaller pictures", "the same questions"),
    "blind": ("Without the picture", "the drop should be large"),
    "metric": ("Another metric", "on the same scale"),
}
"""Source of error -> what a row of the error budget is called, and what changes."""
SOURCE_SHORT_NAMES: Mapping[str, str] = {
    "seed": "seed",
    "items": "items",
    "wording": "wording",
    "negation": "negation",
    "judge": "judge",
    "people": "people",
    "resolution": "picture size",
    "blind": "picture",
    "metric": "metric",
}
_CHANGES: Mapping[str, str] = {
    "negation": "Negating the questions",
    "people": "Scoring by people",
    "resolution": "Showing smaller pictures",
}
"""Sources of error that are called otherwise where they move something."""
NOTHING_MEASURED = "No source of error was measured"
IDENTICAL = "identical scores"
"""What stands for the numbers of a source that moved no score: equal values have no interval."""


@dataclass(frozen=True, slots=True)
class ErrorBar:
    """A bar: how far one model of a measure moves against the others, in points."""

    source: str
    half: float
    text: str
    measure: str = ""

    @property
    def claim(self) -> str:
        """What the bar says, in words."""
        change = change_of(self.source)
        model = f"one model of {self.measure}" if self.measure else "one model"
        return f"{change} can shift {model} by {self.text} points"


@dataclass(frozen=True, slots=True)
class GapMark:
    """A gap between neighbours of the leaderboard, with the measured errors above and below it.

    An error that is printed as 0 is neither: it was too small to be seen.
    """

    gap: Gap
    smaller_errors: tuple[str, ...]
    larger_errors: tuple[str, ...]
    is_undecided: bool = False
    """Whether the gap is longer than the bar of other items, and not shown to be above 0 on them:
    the test of neighbours allows for how many are compared.
    """

    @property
    def code(self) -> str:
        """`fine` above all measured errors, `look` above some, `not_measured` above none."""
        if not self.smaller_errors:
            return "not_measured"
        if self.larger_errors:
            return "look"
        return "fine"

    @property
    def words(self) -> str:
        """Which measured errors are smaller than the gap, or larger."""
        if not self.smaller_errors and not self.larger_errors:
            return "no error was measured"
        if not self.larger_errors:
            return "above every measured error"
        if not self.smaller_errors:
            return "undecided on new items" if self.is_undecided else "within every measured error"
        if self.is_undecided:
            larger = [source for source in self.larger_errors if source != "items"]
            names = ", ".join(short_source_names(larger))
            return f"smaller than {names}" if names else "undecided on new items"
        # The shorter list is named; one of both says all, since each measured error is on one side.
        if len(self.larger_errors) <= len(self.smaller_errors):
            return f"smaller than {', '.join(short_source_names(self.larger_errors))}"
        return f"larger only than {', '.join(short_source_names(self.smaller_errors))}"


@dataclass(frozen=True, slots=True)
class ErrorPicture:
    """The error budget of one measure as it is drawn."""

    points: Points
    rows: tuple[BudgetRow, ...]
    """The measured sources, of which those with a half-width have a bar."""
    gaps: tuple[GapMark, ...]
    measure: str = ""

    @classmethod
    def of_budget(cls, budget: ErrorBudget, points: Points, measure: str = "") -> ErrorPicture:
        """Return the picture of a budget whose scores are printed in these points."""
        rows = tuple(row for row in budget.rows if row.half is not None or row.moves)
        # Other items always count: their band is an interval, and can be small without being
        # nothing.
        # A band that is printed as 0 would put every gap above it without saying anything.
        visible = {row.source for row in rows if row.source == "items" or _is_seen(row, points)}
        items = next((row.half for row in rows if row.source == "items"), None)
        marks = []
        for gap in budget.gaps:
            smaller = tuple(source for source in gap.clear if source in visible)
            larger = tuple(source for source in gap.not_clear if source in visible)
            is_longer = items is not None and gap.gap is not None and abs(gap.gap) > items
            marks.append(GapMark(gap, smaller, larger, is_longer and "items" in larger))
        return cls(points, rows, tuple(marks), measure)

    @classmethod
    def of_audit(cls, audit: BenchmarkAudit, budget: ErrorBudget) -> ErrorPicture:
        """Return the picture of one of the budgets of an audit."""
        rows = tuple(replace(row, inference=shift_target(audit, row)) for row in budget.rows)
        points = Points.for_metric(audit, budget.metric)
        return cls.of_budget(replace(budget, rows=rows), points)

    @property
    def bars(self) -> tuple[ErrorBar, ...]:
        """All bars that are drawn."""
        return tuple(
            ErrorBar(
                row.source,
                row.half * self.points.factor,
                self.points.format(row.half),
                self.measure,
            )
            for row in self.rows
            # Without the picture the scores should drop: that is no error, and its bar would dwarf
            # all others.
            if row.half is not None and row.source != "blind"
        )

    @property
    def largest(self) -> ErrorBar | None:
        """The longest bar."""
        return max(self.bars, key=lambda bar: bar.half, default=None)

    @property
    def title(self) -> str:
        """What the picture shows, in one line: its longest bar, and the gaps above every bar."""
        if self.largest is None:
            return NOTHING_MEASURED
        # Relative, since a shift that all models share changes no order.
        claim = f"{self.largest.claim} relative to the others"
        if not self.gaps:
            return claim
        n_above = sum(mark.code == "fine" for mark in self.gaps)
        if n_above == len(self.gaps):
            subject = "The only gap is" if n_above == 1 else "Every gap is"
        elif not n_above:
            if len(self.gaps) == 1:
                subject = "The only gap is not"
            else:
                subject = "No gap is"
        else:
            count = capital(pluralise_in_words(n_above, "gap"))
            verb = verb_form(n_above, "is", "are")
            subject = f"{count} of {number_word(len(self.gaps))} {verb}"
        return f"{claim}. {subject} above every measured error"


def _is_seen(row: BudgetRow, points: Points) -> bool:
    """Return whether the half-width of a row is more than 0 in the decimals that are printed."""
    return row.half is not None and float(points.format(row.half)) > 0


@dataclass(frozen=True, slots=True)
class MeasuresPicture:
    """The error budgets of several measures, as they are drawn side by side."""

    pictures: tuple[ErrorPicture, ...]

    @classmethod
    def of_measures(cls, measures: Iterable[Measure]) -> MeasuresPicture:
        """Return the picture of measures, in their order; one without a budget has no bar."""
        pictures = []
        for measure in measures:
            points = Points.for_scores(measure.scale, measure.scores.values())
            # Each in its own points: a shared unit would make bars of different scales comparable
            # by length only.
            budget = measure.budget or ErrorBudget(metric=measure.metric, rows=())
            pictures.append(ErrorPicture.of_budget(budget, points, measure.label))
        return cls(tuple(pictures))

    @property
    def bars(self) -> list[ErrorBar]:
        """The bars of all measures."""
        bars: list[ErrorBar] = []
        for picture in self.pictures:
            bars += picture.bars
        return bars

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of error that at least one measure has a bar for, in their usual order."""
        measured = {bar.source for bar in self.bars}
        return tuple(source for source in SOURCES if source in measured)

    @property
    def largest(self) -> ErrorBar | None:
        """The longest bar of all measures."""
        return max(self.bars, key=lambda bar: bar.half, default=None)

    @property
    def title(self) -> str:
        """The longest bar, in one line."""
        if self.largest is None:
            return NOTHING_MEASURED
        claim = self.largest.claim
        return f"The largest error: {claim[0].lower()}{claim[1:]}"


def change_of(source: str) -> str:
    """What changes, as the subject of a sentence about what it does to the scores."""
    return _CHANGES.get(source, SOURCES[source][0])


def shift_text(audit: BenchmarkAudit, row: BudgetRow) -> str:
    """The mean shift by a source, with its interval and what that generalises to."""
    points = Points.for_metric(audit)
    shift = f"{points.format(row.shift, sign=True)} points"
    interval = points.format_interval(row.low, row.high)
    return f"{shift} {interval}".rstrip() + target_clause(shift_target(audit, row))


def mean_change(audit: BenchmarkAudit, row: BudgetRow) -> str:
    """By how much a source shifts the mean, in a sentence."""
    return f"{change_of(row.source)} changes the mean by {shift_text(audit, row)}."


def shift_claim(audit: BenchmarkAudit, row: BudgetRow, model: str = "") -> str:
    """In which direction a source shifts the scores, or one model alone, and whether it changes
    their order.
    """
    shift = (row.moves[model] if model else row.shift) or 0.0
    verb = "lowers" if shift < 0 else "raises"
    size = Points.for_metric(audit).format(abs(shift))
    # One pair that changes places may be two equals; from two on the order is said to change.
    order = " and reorders models" if count_reordered_pairs(audit, row.other) > 1 else ""
    if not model:
        return f"{change_of(row.source)} {verb} scores by {size} points{order}."
    comma = "," if order else ""
    model_name = short_name(model)
    return f"{change_of(row.source)} {verb} {model_name} most, by {size} points{comma}{order}."


def outlying_model(row: BudgetRow) -> str:
    """The one model that a source moves unlike all others; empty without one."""
    moves = [math.nan if move is None else move for move in row.moves.values()]
    index = outlying_move(moves)
    return "" if index is None else list(row.moves)[index]


def far_moves_sentence(audit: BenchmarkAudit, row: BudgetRow, policy: Policy) -> Iterator[str]:
    """That single models may move farther than a policy allows, where their mean does not."""
    scale = total_precision(audit).scale
    if scale is None:
        return
    limit = policy.precision.difference * scale
    if row.half is not None and row.half > limit:
        points = Points.for_metric(audit)
        yield (
            f"{change_of(row.source)} can shift one model by"
            f" {points.format_beside(row.half, limit)} points, the limit is"
            f" {points.format_limit(limit)}."
        )
    elif row.half is None:
        yield "How far single models can shift is not known."


def limit_sentence(audit: BenchmarkAudit, row: BudgetRow, policy: Policy) -> Iterator[str]:
    """On which side of the policy's limit the interval of a shift lies; nothing without a limit."""
    scale = total_precision(audit).scale
    if scale is None or row.low is None or row.high is None:
        return
    limit = shift_margin(policy) * scale
    # As for a test of equivalence, "within" needs the whole interval inside the limit.
    side = "not shown to be within"
    if -limit <= row.low and row.high <= limit:
        side = "within"
    elif row.low > limit or row.high < -limit:
        side = "beyond"
    yield f"This is {side} the limit of {Points.for_metric(audit).format_limit(limit)} points."


def largest_row(rows: Sequence[BudgetRow]) -> BudgetRow | None:
    """The row with the longest bar."""
    measured = [row for row in rows if row.half is not None and row.source != "blind"]
    return max(measured, key=lambda row: row.half or 0.0, default=None)


def short_source_names(sources: Iterable[str]) -> list[str]:
    """Sources of error by their short names."""
    return [SOURCE_SHORT_NAMES[source] for source in sources]
