"""The contents of a report as tables of text; numbers are rounded here and nowhere else."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any, Literal, TypeVar

from hqm import Audit, BenchmarkAudit, Cell, Estimate, Interval, Policy, indicator_named
from hqm.auditing.audit_rows import RespondentScores
from hqm.imports.human_labels import by_people
from hqm.indicators.indicator import INDICATOR_FAMILIES
from hqm.scoring.rules import withheld
from hqm.signature import short_signature
from hqm.text import DASH, decimal_text

_Value = TypeVar("_Value")


def drop_none(values: Iterable[_Value | None]) -> list[_Value]:
    """The values that exist, in their order."""
    return [value for value in values if value is not None]


# --- what estimates say beside their number ---


@cache
def default_policy() -> Policy:
    """The policy that comes with HQM."""
    return Policy.load()


def goal(indicator: str, policy: Policy | None = None) -> tuple[float, str]:
    """The minimum that a policy, or else the default one, requires of the lower end of an
    indicator's interval, and which interval.
    """
    # A policy that requires nothing of an indicator does not lower its goal: the default one then
    # says what is enough.
    for candidate in (policy or default_policy(), default_policy()):
        for requirement in candidate.require:
            if (
                requirement.indicator == indicator
                and requirement.at_least is not None
                and requirement.interval
            ):
                return requirement.at_least, requirement.interval
    return 0.9, "fixed_models"


def finite_number(value: object) -> float | None:
    """A finite number, or None for any other value that an edited audit may hold.

    >>> finite_number(0.5), finite_number(True), finite_number("0.5"), finite_number(float("nan"))
    (0.5, None, None, None)
    """
    # True is an int in Python, and an audit that was edited by hand may hold it where a number
    # stood.
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def is_by_oracle(estimate: Estimate) -> bool:
    """Whether a comparison is with an oracle, a rule of the benchmark with the right answers."""
    # Audits of version 0.1.0 call the comparison with an oracle `criterion` too.
    return estimate.indicator.partition(".")[0] in ("criterion", "oracle") and not by_people(
        estimate
    )


def expected_power(estimate: Estimate | None) -> float | None:
    """The share of planted wrong labels that this design would find; None where it was not
    estimated.
    """
    stated = estimate.detail.get("power") if estimate is not None else None
    return finite_number(stated.get("found") if isinstance(stated, Mapping) else stated)


# --- names in words ---

FAMILIES = {name: family.title for name, family in INDICATOR_FAMILIES.items()}
"""Family -> what reports call it, in the order in which they show it."""
TASKS = {
    "yes_no": "yes/no",
    "choice": "multiple choice",
    "caption": "captioning",
    "vqa": "short answers",
}


FLAG_WORDS = {
    "FEW_MODELS": "few respondents",
    "FAMILY_DEPENDENCE": "models of one family score alike",
    "DOMINANT_MODEL": "one or two respondents determine this",
    "RANGE_INFLATED": "the best are too close together for this reliability",
    "NOISE_FLOOR": "single answers repeat little better than chance",
    "MEAN_SHIFT": "the mean shifted",
    "DRIFT": "scores changed between runs",
    "DETERMINISTIC": "answers were drawn without chance",
    "PARAMETERS_REFUSED": "a server refused a parameter",
    "READ_WITH": "a model read what the reader left unread",
    "EXPECTED": "computed from probabilities, not observed",
    "NON_PARALLEL": "below chance on the other form",
    "CEILING": "the best models are not shown to differ",
    "FLOOR": "the weakest models are not shown to differ",
    "CHANCE": "no better than a blind answer",
    "ATTENUATION": "the judged sample is short",
    "LENGTH_CONFOUND": "benchmarks of different length",
    "AVERAGED_COEFFICIENTS": "coefficients that must not be averaged",
    "UNPARSED": "answers without a score",
    "WITHHELD": "refused or empty answers are scored",
    "REVERSED": "the direction of one score was reversed",
    "NEGATIVE_COMPONENT": "a variance below zero was taken as zero",
    "MISSING": "items without a score",
    "REDUNDANT": "more items than the order of these respondents needs",
    "CAPPED": "the correlation was cut at 1",
    "JUDGE_DIF": "errs differently for different respondents",
    "LABELS_NOT_RANDOM": "people labelled no random sample",
    "STALE_LABELS": "labels of answers that have changed since",
    "RANK_DEFICIENT": "more items than respondents",
    "ZERO_VARIANCE_ITEMS": "some items do not vary",
    "HEYWOOD": "the factor rests on one type",
    "NOT_ONE_THING": "the types do not make one score",
    "FAVOURS_FAMILY": "a part favours one family",
    "REMEMBERED": "a respondent may have met the questions",
    "UNBOUNDED": "an end of the interval does not exist",
}
"""Flag -> what reports say in its place; the constant stands behind it, for who looks it up."""


def flag_words(flag: str) -> str:
    """A flag in words.

    >>> flag_words("DOMINANT_MODEL"), flag_words("NEW_FLAG")
    ('one or two respondents determine this', 'new flag')
    """
    return FLAG_WORDS.get(flag, flag.replace("_", " ").lower())


def statistic_name(statistic: str) -> str:
    """A statistic in words.

    >>> statistic_name("icc_a1"), statistic_name("mean_shift")
    ('ICC(A,1), agreement', 'mean shift')
    """
    indicator = indicator_named(statistic)
    if indicator is not None:
        return indicator.title
    return statistic.replace("_", " ")


def meaning_of(statistic: str) -> str:
    """What a statistic is, in a sentence; nothing for one that is not listed."""
    indicator = indicator_named(statistic)
    if indicator is not None:
        return indicator.meaning
    return ""


def digits_of(statistic: str) -> int:
    """How many decimals a statistic is shown with.

    >>> digits_of("dead_items"), digits_of("pearson")
    (0, 3)
    """
    indicator = indicator_named(statistic)
    if indicator is not None:
        return indicator.digits
    return 3


def is_headline(family: str, statistic: str) -> bool:
    """Whether a terminal shows this statistic; it shows every statistic of a family that is not in
    the registry.

    >>> is_headline("test_retest", "rho_g"), is_headline("test_retest", "drift")
    (True, False)
    >>> is_headline("agreement", "pearson")
    True
    """
    # An audit of another version may have a family that this one does not know; it is shown rather
    # than dropped without a word.
    if family not in INDICATOR_FAMILIES:
        return True
    indicator = indicator_named(f"{family}.{statistic}")
    return indicator is not None and family in map(attrgetter("name"), indicator.headline)


def spelled_out(sentence: str) -> str:
    """A flag's sentence with the names of the indicators in words.

    >>> spelled_out("test_retest.gain is 0.272")
    'Test-retest, gain over coin flips is 0.272'
    """

    def words(match: re.Match[str]) -> str:
        family = match.group(1)
        statistic = match.group(2)
        if family in FAMILIES:
            return f"{FAMILIES[family]}, {statistic_name(statistic)}"
        return match.group(0)

    # The sentences of flags are stored with the names of indicators, which are stable, and so an
    # audit of any version is read in the words of this one.
    return re.sub(r"\b([a-z_]+)\.([a-z_0-9]+)\b", words, sentence)


def capital(text: str) -> str:
    """A text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def clause(words: str, value: object) -> str:
    """The words with the value in place of `{}`; empty where there is no value.

    >>> clause(", read by {}", "strict"), clause(", read by {}", "")
    (', read by strict', '')
    """
    if value:
        return words.format(value)
    return ""


ORACLE_TITLE = "Oracle (no people)"


Mark = Literal["", "best", "second"]
Kind = Literal["text", "number", "interval"]


@dataclass(frozen=True, slots=True)
class Text:
    """One cell, or one part of a sentence, with what is shown on demand."""

    text: str
    tooltip: str = ""
    """A signature, a reason or a full name, shown when the pointer rests on the text."""
    muted: bool = False
    link: str = ""
    """The anchor that it links to: the signature of an estimate."""
    small: str = ""
    """A second line in small print, such as the name of the statistic or an interval."""
    heat: int | None = None
    """A step from 0 (worst) to 6 (best) that colours the cell."""
    bar: str = ""
    """The length of a bar behind the text, in percent."""
    mark: Mark = ""
    """`best` or `second` where tests separate the number from the rest of its column."""
    value: float | None = None
    """The number behind the text, not rounded; None where there is none."""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column: text, a number, or a number with its interval; columns of one group share a
    heading.
    """

    title: str
    kind: Kind = "number"
    group: str = ""

    @property
    def is_text(self) -> bool:
        """Whether it holds text, which is set to the left and wrapped."""
        return self.kind == "text"

    @property
    def heading(self) -> str:
        """What it is called where its group stands nowhere else."""
        return f"{clause('{}: ', self.group)}{self.title}"


_COLUMN_KINDS: Mapping[bool, Kind] = {True: "number", False: "text"}
"""Whether a column of a page is aligned to the right -> what it holds."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a page or of a paper, with a caption and notes."""

    name: str
    """By which LaTeX refers to it; empty for a table of a page."""
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Text, ...], ...]
    notes: tuple[str, ...] = ()
    fold: str = ""
    """The line that opens it, where the page shows it behind a fold."""
    signature: str = ""
    """What the numbers were made of, where they are not estimates with signatures of their own."""
    is_single_float: bool = False
    """Whether it is one float of a paper, however many rows it has."""

    @classmethod
    def for_page(
        cls,
        caption: str,
        columns: Sequence[str],
        rows: Sequence[tuple[Text, ...]],
        right: Sequence[int] = (),
        notes: tuple[str, ...] = (),
        signature: str = "",
    ) -> Table:
        """Return a table of a page; the columns at the indices `right` hold numbers, and are
        aligned to the right.
        """
        heads = tuple(Column(c, _COLUMN_KINDS[i in right]) for i, c in enumerate(columns))
        return cls("", caption, heads, tuple(rows), notes, signature=signature)

    def entries(self, index: int) -> list[Text]:
        """The cells of a column."""
        return list(map(itemgetter(index), self.rows))

    @property
    def text_columns(self) -> tuple[int, ...]:
        """The places of the columns that hold text."""
        return tuple(i for i, column in enumerate(self.columns) if column.is_text)

    @property
    def right(self) -> tuple[int, ...]:
        """The places of the columns that hold numbers."""
        return tuple(i for i, column in enumerate(self.columns) if not column.is_text)

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings, each with its group."""
        return tuple(map(attrgetter("heading"), self.columns))

    @property
    def titles(self) -> tuple[str, ...]:
        """The headings, with their group where a heading stands twice."""
        counts = Counter(map(attrgetter("title"), self.columns))
        return tuple(c.heading if counts[c.title] > 1 else c.title for c in self.columns)


def number(value: float | None, digits: int = 3) -> str:
    """A number with fixed digits and a typographic minus sign, or a dash where there is no number.

    >>> number(0.94328), number(-0.5, 1), number(None), number(0.99999999)
    ('0.943', '−0.5', '–', 'above 0.999999')
    """
    if value is None or not math.isfinite(value):
        return DASH
    # more digits where these would show 1 for a number below 1
    if digits >= 3 and abs(value) < 1:
        digits = next(
            (d for d in (digits, 4, 6) if d >= digits and float(f"{abs(value):.{d}f}") < 1),
            0,
        )
        if not digits:  # nearer to 1 than can be read
            if value > 0:
                return "above 0.999999"
            return "below −0.999999"
    return decimal_text(value, digits)


def number_texts(values: Iterable[float | None], digits: int = 3) -> list[Text]:
    """Cells with numbers."""
    return [Text(number(value, digits)) for value in values]


TARGETS: Mapping[str, str] = {
    "fixed_models": "these models, new items",
    "model_population": "other models like these",
    "items": "new items",
}
"""Interval -> what it generalises to, as every text names it."""


def target_clause(inference: str) -> str:
    """What an interval generalises to, in parentheses behind it; empty where that is not known.

    >>> target_clause("fixed_models"), target_clause("")
    (' (these models, new items)', '')
    """
    if inference in TARGETS:
        return f" ({TARGETS[inference]})"
    return ""


def threshold(value: float) -> str:
    """A threshold with all the decimals it was given, and at least two.

    >>> threshold(0.9), threshold(0.995)
    ('0.90', '0.995')
    """
    # `:g` drops trailing zeros, so that 0.9 and 0.995 both show what a policy's file says.
    return number(value, max(2, len(f"{value:g}".partition(".")[2])))


def interval_text(interval: Interval | None, digits: int = 3) -> str:
    """An interval in brackets, or its lower end where it is one-sided.

    >>> interval_text(Interval(0.9, 0.98, "fixed_models", ""))
    '[0.900, 0.980]'
    >>> interval_text(Interval(0.9, math.inf, "model_population", ""))
    'at least 0.900'
    >>> interval_text(Interval(0.9999999, 1 - 1e-9, "fixed_models", ""))
    'above 0.999999'
    """
    if interval is None:
        return ""
    return bracket_text(interval.low, interval.high, digits)


def lower_end(low: float, digits: int = 3) -> str:
    """A lower end without an upper one; -1 is no bound of a correlation.

    >>> lower_end(0.9), lower_end(-1.0)
    ('at least 0.900', 'no lower end')
    """
    # The end is compared as it would be printed: "at least -1.000" excludes no value of a
    # correlation.
    if round(low, digits) <= -1:
        return "no lower end"
    return f"at least {number(low, digits)}"


def interval_in_words(span: Interval, digits: int = 3) -> str:
    """An interval with its level.

    >>> interval_in_words(Interval(0.9, 0.98, "fixed_models", ""))
    '95% interval [0.900, 0.980]'
    >>> interval_in_words(Interval(0.9, math.inf, "model_population", ""))
    'at least 0.900 with 95% confidence'
    """
    if span.one_sided:
        return f"{interval_text(span, digits)} with {span.level:.0%} confidence"
    return f"{span.level:.0%} interval {interval_text(span, digits)}"


def bracket_text(low: float | None, high: float | None, digits: int = 3) -> str:
    """Two ends in brackets, or the lower one where the upper one is open; nothing without a lower
    end.
    """
    if low is None:
        return ""
    # JSON has no infinity: an open end is None in a file and infinite in memory.
    if high is None or high == math.inf:
        return lower_end(low, digits)
    ends = number(low, digits), number(high, digits)
    if ends[0] == ends[1] and " " in ends[0]:
        return ends[0]  # both nearer to 1 than can be read
    return f"[{ends[0]}, {ends[1]}]"


def short_name(name: str) -> str:
    """The name of a respondent without its kind, folder and address.

    >>> short_name("hf/shapes:steady"), short_name("hf/llava-hf/llava-1.5-7b-hf")
    ('steady', 'llava-1.5-7b-hf')
    >>> short_name("recorded/llava")
    'llava'
    >>> short_name("openai/Qwen/Qwen2-VL@http://127.0.0.1:8000/v1")
    'Qwen2-VL'
    """
    # kind/folder/model:revision?setting=value@address, of which the model is left.
    plain = name.partition("?")[0].partition("@http")[0]
    return plain.rpartition("/")[2].rpartition(":")[2] or name


def name_cell(respondent: RespondentScores) -> Text:
    """The cell that names a respondent, with its full name on demand."""
    return Text(short_name(respondent.name), respondent.name)


def administration_name(text: str) -> str:
    """An administration in a few words.

    >>> administration_name("form=original|run=1|judge=rule")
    'original, 2nd run'
    >>> administration_name("form=parallel|run=0|judge=rule")
    'parallel'
    """
    parsed = Cell.parse(text)
    words = [parsed.form]
    if parsed.run:
        words.append(f"{_ordinal(parsed.run + 1)} run")
    if parsed.judge != "rule":
        words.append(f"judged by {parsed.judge}")
    resolution = clause("pictures at {}%", parsed.resolution)
    words += (parsed.sight, resolution, clause("stopped ({})", parsed.until))
    return ", ".join(filter(None, words))


def _ordinal(count: int) -> str:
    """An ordinal number.

    >>> _ordinal(2), _ordinal(11), _ordinal(21)
    ('2nd', '11th', '21st')
    """
    # 11, 12 and 13 are the exceptions to 1st, 2nd and 3rd, in every hundred.
    if count % 100 in (11, 12, 13):
        return f"{count}th"
    return f"{count}{({1: 'st', 2: 'nd', 3: 'rd'}).get(count % 10, 'th')}"


def decimals_of(estimate: Estimate) -> int:
    """How many decimals print the two ends of an estimate's narrowest interval differently.

    >>> narrow = Interval(0.99760, 0.99835, "fixed_models", "")
    >>> decimals_of(Estimate("a.b", "m", "", "", "", 0.998, intervals=(narrow,)))
    4
    """
    decimals = digits_of(estimate.indicator.rpartition(".")[2])
    for interval in estimate.intervals:
        width = interval.high - interval.low
        if math.isfinite(width) and width > 0:
            # The last decimal is at most half the width, so that both ends differ in it. More than
            # 6 would be below the error of any estimate here.
            decimals = max(decimals, min(6, math.ceil(-math.log10(width / 2))))
    return decimals


def estimate_text(estimate: Estimate) -> Text:
    """An estimate's number with the decimals that its intervals call for and its signature on
    demand, or a dash with the reason.
    """
    tooltip = "\n".join(filter(None, (estimate.reason, estimate.signature)))
    statistic = estimate.indicator.rpartition(".")[2]
    # That a statistic is a p-value is said by its meaning alone, so that no list of them is kept
    # here, which a new one would be missing from.
    if meaning_of(statistic).startswith("P-value"):
        value = p_value(estimate.value)
    else:
        value = number(estimate.value, decimals_of(estimate))
    text = f"{value}{withheld_note(estimate)}"
    return Text(text, tooltip, estimate.status != "ok", link=anchor(estimate.signature))


def withheld_note(estimate: Estimate) -> str:
    """The flag WITHHELD and its count, for a number that scores refused or empty answers; else
    nothing.
    """
    if "WITHHELD" in estimate.flags:
        return f" WITHHELD {estimate.detail['withheld']:,}"
    return ""


def raised_flags(audit: BenchmarkAudit) -> set[str]:
    """The names of the flags that an audit raised."""
    return {str(flag["flag"]) for flag in audit.flags}


def withheld_score_note(audit: BenchmarkAudit, row: RespondentScores) -> str:
    """The flag WITHHELD and its count beside a respondent's score, where an audit scores withheld
    answers; else nothing.
    """
    count = withheld(row.states.get(audit.reference, {}))
    if count and "WITHHELD" in raised_flags(audit):
        return f" WITHHELD {count:,}"
    return ""


def official_score(audit: BenchmarkAudit, row: RespondentScores, metric: str) -> str:
    """A respondent's score as the release prints it, where it rounds, else with three digits;
    flagged if withheld.
    """
    score = row.printed.get(metric) or number(row.scores.get(metric))
    return f"{score}{withheld_score_note(audit, row)}"


def anchor(signature: str) -> str:
    """The anchor of a signature on the page.

    >>> anchor("benchmark:pope@1|answers:0")
    's-fb3dee031250'
    """
    return f"s-{short_signature(signature)}"


def percent(share: float | None, digits: int = 0) -> str:
    """A share in percent; only an exact 0 or 1 is shown as 0% or 100%.

    >>> percent(0.256), percent(0.0004), percent(0.9999), percent(None)
    ('26%', 'under 1%', 'over 99%', '–')
    """
    if share is None or not math.isfinite(share):
        return DASH
    text = f"{100 * share:.{digits}f}"
    # a share that is rounded to 0% or 100% would read as none or all
    if float(text) == 0 and share > 0:
        return "under 1%"
    if float(text) == 100 and share < 1:
        return "over 99%"
    return f"{text.replace('-', '−')}%"


def rough_percent(share: float) -> str:
    """A share that is known roughly, in percent.

    >>> rough_percent(0.256), rough_percent(0.9999)
    ('about 26%', 'over 99%')
    """
    text = percent(share)
    if text.startswith(("over", "under")):
        return text
    return f"about {text}"


def p_value(value: float | None) -> str:
    """A p-value, with a bound where three digits would show 0 or 1.

    >>> p_value(0.0213), p_value(0.00001), p_value(None)
    ('0.021', 'below 0.001', '–')
    """
    if value is not None and 0 <= value < 0.001:
        return "below 0.001"
    if value is not None and value > 0.999:
        return "above 0.999"
    return number(value)


def find_estimate(
    audit: BenchmarkAudit, indicator: str, metric: str = "", administration: str | None = None
) -> Estimate | None:
    """The first estimate of this indicator and metric, the leading one unless named, and of this
    other administration if one is named.

    Of `criterion` it is one with people's labels: what older audits call so of an oracle is no
    criterion.
    """
    metric = metric or leading_metric(audit)
    # older audits name estimates by an oracle `criterion` too
    people_only = indicator.startswith("criterion.")
    for estimate in audit.select_estimates(indicator, metric, administration):
        if not (people_only and is_by_oracle(estimate)):
            return estimate
    return None


def detail_of(audit: BenchmarkAudit, indicator: str, key: str, metric: str = "") -> Any:
    """What an estimate holds under a key of its detail; None where there is no such estimate."""
    estimate = find_estimate(audit, indicator, metric)
    if estimate is not None:
        return estimate.detail.get(key)
    return None


def cluster_noun(audit: BenchmarkAudit) -> str:
    """What is left out one by one for the intervals: pictures, or items where there are no
    pictures.
    """
    if audit.images:
        return "pictures"
    return "items"


def leading_metric(audit: BenchmarkAudit) -> str:
    """The first audited metric, which the first screen is about."""
    return next(iter(audit.metrics), "")


def family_title(estimate: Estimate) -> str:
    """The title of an estimate's family; an oracle's estimates have a title of their own."""
    family = estimate.indicator.partition(".")[0]
    if is_by_oracle(estimate):
        return ORACLE_TITLE
    return FAMILIES.get(family, family)


def shown_interval(estimate: Estimate, inference: str) -> Interval | None:
    """The interval that a table shows of an estimate.

    Pearson's interval for these respondents on reruns is left out: rho_G answers the same question
    from the items.
    """
    if estimate.indicator == "test_retest.pearson" and inference == "fixed_models":
        return None
    return estimate.interval(inference)


def lost_note(estimate: Estimate) -> str:
    """How many respondents and items an estimate used, and which share it left out; else empty."""
    notes = []
    for kind, n in (("respondents", estimate.n_respondents), ("items", estimate.n_items)):
        share = finite_number(estimate.detail.get(f"{kind}_left_out")) or 0.0
        if 0 < share < 1:
            notes.append(f"{n:,} {kind} used, {percent(share, 1)} left out")
    return "; ".join(notes)


def indicators_brief(audit: BenchmarkAudit) -> Table:
    """The main estimates in the width of a terminal, with the intervals for these models and for
    others like them.
    """
    rows = []
    reasons = []
    for estimate in audit.all_estimates:
        family, _, statistic = estimate.indicator.partition(".")
        if not is_headline(family, statistic) or estimate.status == "not_applicable":
            continue
        name = f"{family_title(estimate)}, {statistic_name(statistic)}"
        # A G study is estimated once for each facet that was varied, under one name.
        if family == "generalizability" and estimate.detail.get("varied"):
            name += f", over {estimate.detail['varied']}s"
        if estimate.facet == "resolution":
            name += f", at {Cell.parse(estimate.other).resolution}%"
        spans = [
            interval_text(shown_interval(estimate, kind), decimals_of(estimate))
            for kind in ("fixed_models", "model_population")
        ]
        rows.append(
            (Text(name, family), Text(estimate.metric), estimate_text(estimate), *map(Text, spans))
        )
        notes = "; ".join(filter(None, (estimate.reason, lost_note(estimate))))
        if notes:
            reasons.append(f"{estimate.indicator} ({estimate.metric}): {notes}")
    # Families that the registry of this version does not know stand last.
    order = dict(zip(FAMILIES, range(len(FAMILIES)), strict=True))
    rows.sort(key=lambda row: order.get(row[0].tooltip, len(order)))
    return Table.for_page(
        "Indicators",
        columns=("indicator", "metric", "value", "these models", "other models"),
        rows=tuple(rows),
        right=(2, 3, 4),
        notes=tuple(reasons),
    )


def record_table(audit: Audit) -> Table:
    """How the audit was made."""
    entries = dict(audit.record)
    # tokens and seconds of each respondent are for `hqm design`
    entries.pop("costs", None)
    stated = [("HQM", audit.hqm_version), ("command", audit.command), *_flatten("", entries)]
    rows = tuple((Text(key), Text(str(value))) for key, value in stated)
    return Table.for_page("How the audit was made", ("What", "Value"), rows)


def identity_table(audit: Audit) -> Table:
    """How every respondent was asked: weights, device, sampling, seed."""
    identity_by_name: dict[str, dict[str, object]] = {}
    for benchmark in audit.audits:
        for row in benchmark.respondents:
            identity = {key: value for key, value in row.identity.items() if value is not None}
            identity_by_name.setdefault(row.name, identity)
    keys = dict.fromkeys(chain.from_iterable(identity_by_name.values()))
    for key in ("kind", "max_tokens", "model"):
        keys.pop(key, None)
    rows = []
    for name, identity in identity_by_name.items():
        values = [Text(str(identity.get(key, DASH))) for key in keys]
        rows.append((Text(name), *values))
    titles = ("Respondent", *(key.replace("_", " ") for key in keys))
    return Table.for_page("How each respondent was asked", titles, rows)


def _flatten(prefix: str, data: object) -> Iterable[tuple[str, str]]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _flatten(f"{prefix}.{key}".removeprefix("."), value)
    elif isinstance(data, (list, tuple)):
        yield prefix, ", ".join(map(str, data))
    elif data is not None:
        yield prefix, str(data)
