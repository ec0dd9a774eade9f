"""Definitions that the gate and all texts share: scored answers, labellers, types, leaks, wrong
keys and findings.

Each is one function of an audit. Whoever shows or judges an audit asks here and counts nothing by
itself.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Literal, TypedDict

from hqm.auditing.audit import BenchmarkAudit
from hqm.auditing.audit_rows import (
    FindingRow,
    PairRow,
    ReadingRow,
    RespondentScores,
)
from hqm.benchmark.findings import SEVERITIES, Finding, Severity
from hqm.imports.human_labels import labelled_by
from hqm.indicators.separation import Neighbours, contrast_detail, contrasts_in
from hqm.psychometrics.items.cues import HIDDEN_CUES, PLAIN_CUES, compares_with_chance
from hqm.scoring.rules import unscored
from hqm.types import Cell, Estimate, Form, Item, types_in

MEASURABLE = 0.03
"""The standard error that makes a type measurable, as a share of the metric's scale."""
_MIN_ITEMS_FOR_CHANCES = 100
FEW_FAULTS = 5.0
"""From how many wrong keys on, that a list of items to read expects, its advice is given: lists of
sound keys expect under 3.
"""


@dataclass(frozen=True, slots=True)
class Scored:
    """How many answers of an audit are scored."""

    answers: int
    unscored: int
    by_administration: Mapping[str, tuple[int, int]]
    """Administration -> answers, and how many of them are not scored."""

    @property
    def share_unscored(self) -> float:
        """The share of all answers; 0 without any."""
        if self.answers:
            return self.unscored / self.answers
        return 0.0

    @property
    def worst(self) -> tuple[str, float] | None:
        """The administration with the largest share of unscored answers, and that share; None
        without answers.
        """
        shares = {
            cell: lost / total for cell, (total, lost) in self.by_administration.items() if total
        }
        return max(shares.items(), key=itemgetter(1), default=None)


def scored_answers(audit: BenchmarkAudit) -> Scored:
    """Answers and unscored answers of all respondents: unscored is every state but `ok` and
    `truncated`.
    """
    counts = {}
    n_answers = 0
    n_unscored = 0
    for cell, states in audit.state_counts.items():
        counts[cell] = (sum(states.values()), unscored(states))
        n_answers += counts[cell][0]
        n_unscored += counts[cell][1]
    return Scored(n_answers, n_unscored, counts)


def type_scores_by_name(audit: BenchmarkAudit, kind: str) -> dict[str, float | None]:
    """Respondent -> its score in a type, by the first audited metric; None where it has none."""
    return {row.name: row.by_type.get(kind) for row in audit.respondents}


def scored_types(audit: BenchmarkAudit) -> list[str]:
    """The types of which some respondent has a score, in the order of the coverage."""
    scored = set()
    for respondent in audit.respondents:
        for kind, score in respondent.by_type.items():
            if score is not None:
                scored.add(kind)
    return [kind for kind in audit.coverage if kind in scored]


def score_in(respondent: RespondentScores, administration: str, metric: str) -> float | None:
    """A score in an administration; under another judge, the share of answers that it found
    faithful.
    """
    if administration in respondent.judged:
        return respondent.judged[administration]
    return respondent.cells.get(administration, {}).get(metric)


_COMPLETE_SHARE = 0.98
"""The share of the most answers of a respondent that counts as as many."""


def answered_in_part(audit: BenchmarkAudit) -> dict[str, float]:
    """Respondents that answered fewer items than others, each with the share of all items; those
    with at most 2 % fewer are not among them.
    """
    shares = {}
    for name, states in _reference_states(audit).items():
        # Fewer answers are not a smaller benchmark: five models that answered 6 of 20 items were
        # once an audit of 6 items.
        shares[name] = 1 - states.get("missing", 0) / max(1, sum(states.values()))
    max_share = max(shares.values(), default=0.0)
    return {name: share for name, share in shares.items() if share < _COMPLETE_SHARE * max_share}


def _reference_states(audit: BenchmarkAudit) -> dict[str, Mapping[str, int]]:
    """Respondent -> state -> number of its answers in the reference administration."""
    return {
        respondent.name: respondent.states[audit.reference]
        for respondent in audit.respondents
        if respondent.states.get(audit.reference)
    }


def unequal_answers(audit: BenchmarkAudit) -> str:
    """Say that respondents answered unequal numbers of items; empty where they did not."""
    if not answered_in_part(audit):
        return ""
    counts = [
        sum(states.values()) - states.get("missing", 0)
        for states in _reference_states(audit).values()
    ]
    return (
        f"Not over the same items: models answered {min(counts):,} to {max(counts):,} of"
        f" {audit.n_items:,}."
    )


@dataclass(frozen=True, slots=True)
class Labellers:
    """Who labelled the answers: names of judges."""

    by_people: tuple[str, ...]
    by_oracles: tuple[str, ...]


def who_labelled(audit: BenchmarkAudit) -> Labellers:
    """Split the labellers into people and others (an oracle, or another parser of the same key)."""
    names: dict[str, list[str]] = {"people": [], "oracle": []}
    judges: dict[str, None] = {}
    for respondent in audit.respondents:
        for cell in respondent.judged:
            judges[Cell.parse(cell).judge] = None
    for judge in judges:
        names[labelled_by(judge)].append(judge)
    return Labellers(tuple(names["people"]), tuple(names["oracle"]))


def scale_width(audit: BenchmarkAudit, metric: str = "") -> float | None:
    """Return how wide the scale of a metric is, of which the limits of a policy are shares.

    The leading metric unless given; None where the scale has no two ends. Where an audit of an
    earlier version does not write it, that of the leading metric is 1, and others are not known.
    """
    name = metric or next(iter(audit.metrics), "")
    if name not in audit.scales and "scale" not in audit.metrics.get(name, {}):
        return None if metric else 1.0
    low, high = audit.scale(name)
    if low is None or high is None:
        return None
    return float(high) - float(low)


@dataclass(frozen=True, slots=True)
class TypeMeasured:
    """What an audit knows of one hallucination type.

    Parameters
    ----------
    type, claimed, items
        Its name, whether the card claims it, and how many items it has.
    error
        The standard error of its score, in the metric's units; None without items.
    error_high
        Its one-sided 95 % upper end, which decides.
    measured
        Whether the error is that of this audit's answers, and no forecast from the number of items.
    measurable
        Whether the upper end of the error is within the limit; a scale without two ends has none.
    missing
        How many more items it needs for that.
    """

    type: str
    claimed: bool
    items: int
    error: float | None
    measured: bool
    measurable: bool
    missing: int
    at_chance: bool = False
    """Whether no respondent is above chance in it, so that more items would show nothing."""
    error_high: float | None = None
    leaks: bool = False
    """Whether the questions give its answers away, so that its score may not measure seeing."""
    reliability: float | None = None
    """Cronbach's alpha of its items among these respondents."""
    gain_low: float | None = None
    gain_high: float | None = None
    """The 95 % interval over respondents of PRMSE by its own score minus that by the total
    (Haberman 2008); None where it was not estimated.
    """

    @property
    def standing(self) -> TypeStanding:
        """What its own score is worth: the one answer that verdict, grid and tables give."""
        # What a score is worth is no question where the answers leak, or where everybody guesses.
        if self.leaks:
            return "leaks"
        if self.at_chance:
            return "chance"
        if self.gain_low is None or self.gain_high is None:
            return "unmeasured"
        if self.gain_low > 0:
            if self.measurable:
                return "alone"
            return "imprecise"
        if self.gain_high < 0:
            return "as_total"
        return "open"

    @property
    def helped_by_items(self) -> bool:
        """Whether more items may give a reliable score."""
        # few items do not show that they correlate too little
        return not self.measured or self.reliability is None or self.reliability >= MIN_RELIABILITY

    @property
    def stands_alone(self) -> bool:
        """Whether its own score is shown to say more than the total, and is exact enough."""
        return self.standing == "alone"


MIN_RELIABILITY = 0.3
"""Reliability of a type over its items below which more items do not make a score of it."""
TypeStanding = Literal["alone", "imprecise", "as_total", "open", "chance", "leaks", "unmeasured"]
"""Its own score is shown to say more of the type than the total does (`alone`), but with a larger
error than is allowed (`imprecise`), or no more (`as_total`), or neither is shown (`open`); all are
at chance; its answers leak; or it was not measured.
"""


class _TypeIndexRow(TypedDict, total=False):
    """What `types.index` found of one type; an audit of an earlier version has fewer fields."""

    items: int
    missing_items: int | None
    sem: float | None
    sem_high: float | None
    measured: bool
    at_chance: bool
    alpha: float | None
    gain_low: float | None
    gain_high: float | None


def types_measured(audit: BenchmarkAudit, limit: float = MEASURABLE) -> tuple[TypeMeasured, ...]:
    """The types that have items or are claimed, in the order of the taxonomy, by the leading
    metric.

    Parameters
    ----------
    limit
        The standard error that is allowed, as a share of the scale, which a policy names.
    """
    width = scale_width(audit)
    rows: dict[str, _TypeIndexRow] = {}
    for estimate in audit.select_estimates("types.index")[:1]:
        for row in estimate.detail.get("types") or ():
            if "type" in row:
                rows[str(row["type"])] = row
    # A leak in one part does not decide about the whole type.
    leaking = {leak.type for leak in leaks_shown(audit) if not leak.part}
    types = []
    for kind in dict.fromkeys((*audit.coverage, *rows)):
        covered = audit.coverage.get(kind)
        row = rows.get(kind, {})
        items = int(covered["items"] if covered is not None else row.get("items") or 0)
        claimed = covered is not None and bool(covered["claimed"])
        if items or claimed:
            measured_type = _type_measured(kind, claimed, items, row, limit, width)
            types.append(
                replace(
                    measured_type,
                    leaks=kind in leaking,
                    reliability=row.get("alpha"),
                    gain_low=row.get("gain_low"),
                    gain_high=row.get("gain_high"),
                )
            )
    return tuple(types)


def _type_measured(
    kind: str,
    claimed: bool,
    items: int,
    row: _TypeIndexRow,
    limit: float,
    width: float | None,
) -> TypeMeasured:
    """Return what a row of `types.index` says of a type, by a limit that is a share of the
    scale.
    """
    missing = int(row.get("missing_items") or 0)
    error = row.get("sem")
    if width is None and items:
        # The limit and the forecast are shares of the scale: without two ends there is neither.
        return TypeMeasured(kind, claimed, items, None, False, True, 0, bool(row.get("at_chance")))
    if error is None and (row or not items):
        return TypeMeasured(kind, claimed, items, None, False, bool(row) and not missing, missing)
    is_measured = bool(row.get("measured", row))
    if error is None:
        # The largest standard error that a share of n items can have: the root of .25 / n.
        error = 0.5 / items**0.5 * (width or 1.0)
    high = row.get("sem_high")
    # An audit of version 0.1.0 has no upper end.
    high = error if high is None else high
    # The squared error shrinks with the number of items; 1e-9 is rounding.
    ratio = high / (limit * (width or 1.0))
    n_missing = max(0, math.ceil(items * ratio**2 - 1e-9) - items)
    at_chance = bool(row.get("at_chance"))
    return TypeMeasured(
        kind,
        claimed,
        items,
        error,
        is_measured,
        n_missing == 0,
        0 if at_chance else n_missing,
        at_chance,
        high,
    )


MIN_LEAK = 0.05
"""The gain from which on a leak that is shown makes a score wrong: of thousands of items a gain is
shown that moves no rank."""
_CUE_TOLERANCE = 0.05
"""By how much less a single cue may get right than all together, to be named in their place."""


class StratumRow(TypedDict):
    """What a search for leaks found in a type, a part, or a type of a part, by one cue."""

    name: str
    type: str
    part: str
    cue: str
    items: int
    accuracy: float
    baseline: float
    low: float | None
    leak: bool
    detectable: float | None
    status: str
    reason: str


@dataclass(frozen=True, slots=True)
class LeakShown:
    """A type, part, or type of a part whose right answers can be predicted without the pictures,
    beyond chance.

    Accuracy and baseline are those of the first cue of `by`.
    """

    name: str
    type: str
    part: str
    by: tuple[str, ...]
    """`words` (all that is seen beside the picture), or names of cues; first the one to name."""
    accuracy: float
    baseline: float
    low: float
    """Lower end of the largest gain; the ends hold for all types, parts and cues together."""
    by_chance: bool = False
    """Whether the baseline is chance, and not the commonest answer."""
    items: int = 0


def leaks_shown(audit: BenchmarkAudit) -> tuple[LeakShown, ...]:
    """The types and parts that leak, the largest first.

    A type of a part is named only where neither the type nor the part leaks by itself, and all
    items only where no type does. Cues that no respondent sees are no leaks.
    """
    # Places in the file and numbers predict keys too, but no respondent sees them: `hqm check`
    # finds those.
    by_name: dict[str, list[StratumRow]] = {}
    for row in leak_rows(audit):
        if str(row.get("cue")) not in HIDDEN_CUES and row.get("low") is not None:
            by_name.setdefault(str(row["name"]), []).append(row)
    leaks = []
    for name, rows in by_name.items():
        if any(row.get("leak") and _gain_of(row) >= MIN_LEAK for row in rows):
            leaks.append(_leak_shown(name, rows, audit.task))
    marginal_names = {leak.name for leak in leaks if not (leak.type and leak.part)}
    has_types = any(leak.type for leak in leaks)
    independent_leaks = []
    for leak in sorted(leaks, key=lambda leak: -leak.low):
        is_implied = leak.type and leak.part and marginal_names & {leak.type, leak.part}
        is_all_items = not leak.type and not leak.part
        if not is_implied and not (is_all_items and has_types):
            independent_leaks.append(leak)
    return tuple(independent_leaks)


def _gain_of(row: StratumRow) -> float:
    """Return how much more a prediction gets right than what it is compared with."""
    return float(row["accuracy"]) - float(row["baseline"])


def _leak_shown(name: str, rows: list[StratumRow], task: str) -> LeakShown:
    """Return the leak of one type or part, by the simplest cue that gets nearly all of it right.

    That there is a leak is tested; which cue is named is not, so that a cue need not be shown
    alone.
    """
    rows = sorted(rows, key=itemgetter("low"), reverse=True)
    leak_rows = [row for row in rows if row.get("leak")]
    best = max(float(row["accuracy"]) for row in leak_rows)

    def precedence(row: StratumRow) -> tuple[bool, bool, int, float]:
        cue = str(row.get("cue") or "words")
        # The simplest cue is named that gets nearly as much right: a reader can mend that one.
        is_weak = float(row["accuracy"]) < best - _CUE_TOLERANCE
        order = PLAIN_CUES.index(cue) if cue in PLAIN_CUES else len(PLAIN_CUES)
        return is_weak, cue == "words", order, -float(row["accuracy"])

    first = min(rows, key=precedence)
    cues = dict.fromkeys(str(row.get("cue") or "words") for row in [first, *leak_rows])
    return LeakShown(
        name=name,
        type=str(first.get("type") or ""),
        part=str(first.get("part") or ""),
        by=tuple(cues),
        accuracy=float(first["accuracy"]),
        baseline=float(first["baseline"]),
        low=float(max(map(itemgetter("low"), leak_rows))),
        by_chance=compares_with_chance(next(iter(cues)), task),
        items=int(first.get("items") or 0),
    )


@dataclass(frozen=True, slots=True)
class Guessing:
    """What guessing without the picture gets right: where scores start from."""

    share: float
    low: float | None
    high: float | None
    by_type: Mapping[str, float]


def guessing_level(audit: BenchmarkAudit) -> Guessing | None:
    """What guessing without the picture gets right; None where it was not measured, or where the
    leading score is no share of right answers.
    """
    if next(iter(audit.metrics), "") != "accuracy":
        return None
    for estimate in audit.select_estimates("solvability.blind_accuracy"):
        if estimate.value is None:
            continue
        share = estimate.detail.get("guess")
        if share is None:
            return None
        by_type: dict[str, float] = {}
        for row in estimate.detail.get("by_type") or ():
            if row.get("guess") is not None:
                by_type[str(row["type"])] = float(row["guess"])
        interval = estimate.interval("items")
        # Where always giving the commonest answer gets more right than the model of words, that was
        # counted, and has no interval.
        if interval is None or share > estimate.value:
            return Guessing(float(share), None, None, by_type)
        return Guessing(float(share), interval.low, interval.high, by_type)
    return None


def leak_rows(audit: BenchmarkAudit) -> tuple[StratumRow, ...]:
    """Return a row for every type and part that was searched for leaks."""
    rows: list[StratumRow] = []
    for estimate in audit.all_estimates:
        if estimate.indicator in ("solvability.blind_accuracy", "solvability.leakage_cues"):
            rows += estimate.detail.get("strata") or ()
    return tuple(rows)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Items that ask the same about the same picture, by its content, and whose keys cannot all be
    right.
    """

    items: tuple[str, ...]
    keys: tuple[str, ...]
    """The key of each item; empty where an older audit does not have them."""
    images: tuple[str, ...] = ()
    question: str = ""
    answers: str = ""
    """Which of the keys the respondents' answers favour, in words."""


def contradictory_keys(audit: BenchmarkAudit) -> tuple[Contradiction, ...]:
    """Return all contradictory keys, from the findings, or from the indicator in an older audit."""
    contradictions: dict[tuple[str, ...], Contradiction] = {}
    for finding in audit.findings:
        if finding.get("name") not in _CONTRADICTIONS:
            continue
        for row in finding.get("rows", ()):
            contradiction = Contradiction(
                tuple(map(str, row.get("items", ()))),
                tuple(map(str, row.get("keys", ()))),
                tuple(map(str, row.get("images", ()))),
                str(row.get("question", "")),
                str(row.get("answers", "")),
            )
            # The first of two alike is kept, where the last one stands.
            contradictions[contradiction.items] = contradictions.pop(
                contradiction.items, contradiction
            )
    if contradictions:
        return tuple(contradictions.values())
    for estimate in audit.select_estimates("items.duplicate_items")[:1]:
        # Audits of versions whose findings had no rows kept the groups in this indicator alone.
        for group in estimate.detail.get("contradictory") or ():
            items = tuple(map(str, group))
            contradictions[items] = Contradiction(items, ())
    return tuple(contradictions.values())


_CONTRADICTIONS = ("contradictory-label", "contradictory-twins")
"""The findings whose rows are items with contradictory keys."""


@dataclass(frozen=True, slots=True)
class WrongKeys:
    """What the answers show about wrong keys, by the leading metric.

    Parameters
    ----------
    items
        Items that a test names as mislabelled; empty where the test would find too few to say
        anything.
    expected
        How many wrong keys the list of items to read expects among all items; None without such a
        list.
    contradicted
        Items whose key nearly all labels by people contradict.
    beyond_doubt
        How many of those named an exact test names at a false discovery rate of 1 %, or have a key
        that is wrong with a chance of .995, which is believed from 100 items on: abilities from 30
        are noise, and one of thirty sound benchmarks had such a key.
    """

    items: tuple[str, ...]
    count: int
    expected: float | None
    contradicted: tuple[str, ...] = ()
    beyond_doubt: int = 0
    stands_out: bool = False
    """Whether the list is worth reading although it gives no number."""
    n_tested: int = 0
    """The number that an exact test finds at a false discovery rate of 5 %."""

    @property
    def has_wrong_keys(self) -> bool:
        """Whether there is something to repair: one name that the list calls likely is an alarm of
        one audit in twenty.
        """
        if self.expected is None:
            has_faults = self.stands_out
        else:
            has_faults = self.expected >= FEW_FAULTS
        has_tested_items = self.beyond_doubt or self.n_tested
        return bool(self.contradicted or has_tested_items or has_faults)


def wrong_keys(audit: BenchmarkAudit) -> WrongKeys:
    """Find the keys that the answers or people's labels contradict."""
    metric = next(iter(audit.metrics), "")
    listed = _first_estimate(audit, "items.reading_list", metric)
    label_errors = _first_estimate(audit, "items.label_errors", metric)
    tested = _if_ok(label_errors)
    rows: Sequence[object] = ()
    if tested is not None:
        rows = tested.detail.get("candidates") or ()
    expected = None
    if listed is not None and listed.status == "ok":
        expected = listed.detail.get("faults")
    contradicted = _first_estimate(audit, "criterion.contradicted_items", metric)
    return WrongKeys(
        # what a search of little power has found is found, and the gate counts it too
        items=_items_of(label_errors),
        count=int(label_errors.value or 0) if label_errors is not None else 0,
        expected=expected,
        contradicted=_items_of(_if_ok(contradicted)),
        beyond_doubt=sum(_is_beyond_doubt(row, audit.n_items) for row in rows),
        n_tested=sum(isinstance(row, Mapping) and "expected" not in row for row in rows),
        stands_out=listed is not None and bool(listed.detail.get("stands_out")),
    )


def _first_estimate(audit: BenchmarkAudit, indicator: str, metric: str) -> Estimate | None:
    """Return the first estimate of an indicator by a metric, or None."""
    return next(iter(audit.select_estimates(indicator, metric)), None)


def _if_ok(estimate: Estimate | None) -> Estimate | None:
    """Return an estimate whose number says something, or None.

    A search that would find too little has another status than `ok`, and names nothing.
    """
    if estimate is None or estimate.status != "ok":
        return None
    return estimate


def has_graded_items(audit: BenchmarkAudit) -> bool:
    """Return whether the items were searched for reversed scales, and not for wrong keys."""
    return any(row.get("why") == "reversed" for row in audit.to_read)


def _is_beyond_doubt(row: object, n_items: int) -> bool:
    """Return whether an exact test names an item at a false discovery rate of 1 %, or its key is
    wrong with a chance of .995 among items enough to know that.
    """
    if not isinstance(row, Mapping):
        return False
    # Rows of the list of items to read have the chance of a wrong key, those of the exact test a
    # q-value of the false discovery rate.
    if "expected" in row:
        return float(row["expected"] or 0) >= 0.995 and n_items >= _MIN_ITEMS_FOR_CHANCES
    return float(row.get("q") or 0.0) <= 0.01


def _items_of(estimate: Estimate | None) -> tuple[str, ...]:
    """Return the items that an estimate names; none where there is no estimate or it is 0."""
    if estimate is None or not estimate.value:
        return ()
    rows = estimate.detail.get("candidates") or estimate.detail.get("items") or ()
    return tuple(str(row["item"] if isinstance(row, Mapping) else row) for row in rows)


def findings_in_order(audit: BenchmarkAudit) -> tuple[FindingRow, ...]:
    """All findings of `hqm check` that the audit holds, the gravest first."""
    return tuple(sorted(audit.findings, key=lambda finding: SEVERITIES.index(severity_of(finding))))


def findings_counted(audit: BenchmarkAudit) -> dict[Severity, int]:
    """Severity -> number of findings, the gravest first; severities without a finding count 0."""
    counts = Counter(map(severity_of, audit.findings))
    return {severity: counts[severity] for severity in SEVERITIES}


def severity_of(finding: FindingRow) -> Severity:
    """How grave a finding is."""
    return finding.get("severity", "note")


# ----------------------------------------------------------------------
# One item of each hallucination type, as a reader of a paper wants to see what the type asks.
# ----------------------------------------------------------------------

_MAX_SEARCHED = 20
"""Items of a type that are searched for a picture that was not shown before."""


def pair_of_each_type(form: Form, thumbnail: Callable[..., str]) -> Iterator[PairRow]:
    """The first item of each type whose picture can be shown, one that no other type shows if there
    is one.

    Nothing is chosen by what respondents answered: the pair shows what is asked, not what is hard.
    """
    shown_images: set[str] = set()
    for kind in types_in(form.items):
        items = [item for item in form.items if item.type == kind][:_MAX_SEARCHED]
        if not items:
            continue
        # The sort is stable: of items whose picture is new the first one comes first.
        items.sort(key=lambda item: not item.image or item.image in shown_images)
        item, picture = _first_with_picture(items, thumbnail)
        shown_images.add(item.image or "")
        yield {
            "type": kind,
            "item": item.id,
            "prompt": item.prompt,
            "options": list(item.options),
            "target": item.target if isinstance(item.target, str) else "",
            "image": item.material,
            "thumbnail": picture,
        }


def _first_with_picture(items: Sequence[Item], thumbnail: Callable[..., str]) -> tuple[Item, str]:
    """Return the first item whose picture can be shown, with it; else the first item."""
    for item in items:
        picture = thumbnail(*item.pictures)
        if picture:
            return item, picture
    return items[0], ""


# ----------------------------------------------------------------------
# The items that a person should read first: contradictory keys, then those whose answers speak
# against their key.
# ----------------------------------------------------------------------

_MAX_CONTRADICTIONS = 50
"""How many items with contradictory keys are shown with their pictures; the list of the finding has
all.
"""


def items_to_read(
    form: Form,
    estimates: Iterable[Estimate],
    findings: Iterable[Finding],
    metric: str,
    thumbnail: Callable[..., str],
) -> list[ReadingRow]:
    """A row for each item to read, in the order of reading.

    Of items with contradictory keys, one key in each group is wrong: they stand first. The others
    are ranked by the chance that their key is wrong, or that their scale is reversed
    (`items.reading_list` of this metric).
    """
    rows: list[ReadingRow] = []
    for group in _contradictory(form, findings):
        # The slice is empty once the list is full.
        for name in group[: _MAX_CONTRADICTIONS - len(rows)]:
            row = _item_row(form.by_id[name], "contradiction", thumbnail)
            row["beside"] = [item_id for item_id in group if item_id != name]
            rows.append(row)
    listed_ids = {row["item"] for row in rows}
    for estimate in estimates:
        if estimate.indicator != "items.reading_list" or estimate.metric != metric:
            continue
        for listed in estimate.detail.get("reading_list") or ():
            if listed["item"] in form.by_id and listed["item"] not in listed_ids:
                item = form.by_id[listed["item"]]
                is_graded = estimate.detail.get("graded")
                row = _item_row(item, "reversed" if is_graded else "answers", thumbnail)
                row["rank"] = listed["rank"]
                row["fails"] = list(listed["fails"])
                row["expected"] = listed["expected"]
                rows.append(row)
    return rows


def _contradictory(form: Form, findings: Iterable[Finding]) -> list[Sequence[str]]:
    """Return the groups of items with contradictory keys, each once."""
    groups: dict[tuple[str, ...], None] = {}
    for finding in findings:
        if finding.name not in _CONTRADICTIONS:
            continue
        for row in finding.rows:
            group = tuple(row["items"])
            if form.by_id.keys() >= set(group):
                groups[group] = None
    return list(groups)


def _item_row(
    item: Item,
    reason: Literal["contradiction", "answers", "reversed"],
    thumbnail: Callable[..., str],
) -> ReadingRow:
    return {
        "item": item.id,
        "type": item.type or "",
        "part": item.part,
        "question": item.prompt,
        "options": list(item.options),
        "key": item.target if isinstance(item.target, str) else "",
        "image": item.material,
        "thumbnail": thumbnail(*item.pictures),
        "why": reason,
    }


def planned_contrasts(
    audit: BenchmarkAudit, equal_within: float, metric: str = ""
) -> tuple[Neighbours, ...]:
    """Return the planned contrasts from the first rank on; none in an audit of version 0.2.0.

    Parameters
    ----------
    audit
        The audit of a benchmark.
    equal_within
        Within what difference two scores count as equal, as a share of the scale: a policy's
        `limits.equal_within`.
    metric
        The leading metric unless given.
    """
    metric = metric or next(iter(audit.metrics), "")
    estimates = audit.select_estimates(metric=metric)
    return contrasts_in(estimates, equal_within, scale_width(audit, metric))


def shared_items(audit: BenchmarkAudit) -> tuple[int, int] | None:
    """Return how many items a pair of respondents shares at least and at most, by the leading
    metric; None where that was not counted.
    """
    metric = next(iter(audit.metrics), "")
    counts = contrast_detail(audit.select_estimates(metric=metric)).get("shared_items")
    if counts:
        return (int(counts[0]), int(counts[1]))
    return None
