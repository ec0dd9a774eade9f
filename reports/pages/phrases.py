"""Sentences with numbers: each part is text, or a number that links to its signature; the terms
that are explained where they first appear; and the unit of every estimate, in words beside its
number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

from hqm.reports.tables.table import (
    Text,
    decimals_of,
    estimate_text,
    interval_text,
    number,
    percent,
    target_clause,
)

from hqm import BenchmarkAudit, Estimate, indicator_named
from hqm.auditing.score_points import is_share
from hqm.text import DASH

Sentence = tuple[Text, ...]


def compose(template: str, **values: Text | Estimate | str | int | float | None) -> Sentence:
    """A sentence from a template and its values; a number made from an estimate links to its
    signature.

    The template is a literal of the program; names and other texts are values, which may hold
    braces.

    >>> [piece.text for piece in compose("{model} has {n} items.", model="m{n}", n=1200)]
    ['m{n}', ' has ', '1,200', ' items.']
    """
    # Not `str.format`, which would read braces in a model's name, and loses which text a value came
    # from.
    pieces = enumerate(re.split(r"\{(\w+)\}", template))
    # every second piece is the name of a part
    texts = (_as_text(values[piece]) if i % 2 else Text(piece) for i, piece in pieces)
    return tuple(piece for piece in texts if piece.text)


def as_sentence(text: str) -> Sentence:
    """A sentence of a finished text, in which nothing is replaced.

    >>> [piece.text for piece in as_sentence("m{n} moves most.")]
    ['m{n} moves most.']
    """
    return (Text(text),)


def _as_text(value: Text | Estimate | str | int | float | None) -> Text:
    if isinstance(value, Text):
        return value
    if isinstance(value, Estimate):
        return estimate_text(value)
    if isinstance(value, str):
        return Text(value)
    return Text(f"{value:,}" if isinstance(value, int) else number(value))


def join_names(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> join_names(["a"]), join_names(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    if len(names) < 2:
        if names:
            return names[0]
        return "none"
    return f"{', '.join(names[:-1])} and {names[-1]}"


def pluralise(count: int, noun: str) -> str:
    """A count with its noun.

    >>> pluralise(1, "form"), pluralise(2, "form")
    ('1 form', '2 forms')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


def verb_form(count: int, singular: str, plural: str) -> str:
    """The form of a verb, or of a phrase, that agrees with a count.

    >>> verb_form(1, "is", "are"), verb_form(3, "is", "are")
    ('is', 'are')
    """
    if count == 1:
        return singular
    return plural


_NUMBER_WORDS = "no one two three four five six seven eight nine ten".split()


def number_word(count: int) -> str:
    """A small count as a word.

    >>> number_word(3), number_word(22)
    ('three', '22')
    """
    # Small numbers are words in a sentence, as style guides ask; in tables they are figures.
    if 0 <= count < len(_NUMBER_WORDS):
        return _NUMBER_WORDS[count]
    return f"{count:,}"


def pluralise_in_words(count: int, noun: str) -> str:
    """A small count as a word, with its noun."""
    return f"{number_word(count)} {noun}{'s' * (count != 1)}"


def capped_count(count: int) -> str:
    """A number of items to add; a million or more is no plan, and is not printed in full.

    >>> capped_count(1200), capped_count(745194009)
    ('1,200', 'over a million')
    """
    if count < 10**6:
        return f"{count:,}"
    return "over a million"


def plain_text(sentences: Iterable[Sentence]) -> str:
    """Sentences as plain text.

    >>> plain_text([compose("It has {n} items.", n=2), compose("It is short.")])
    'It has 2 items. It is short.'
    """
    return " ".join("".join(map(attrgetter("text"), sentence)) for sentence in sentences)


# --- terms, each explained in one sentence ---

TERMS: Mapping[str, tuple[str, str]] = {
    "95% interval": (
        r"95% interval|these models, new items",
        (
            "a range made so that 95 of 100 such ranges contain the true value; “these models, new"
            " items” keeps the models and draws other items, “other models like these” draws other"
            " models too"
        ),
    ),
    "reliability": (
        r"[Rr]eliabilit",
        (
            "the share of the differences between scores that would remain if the named source of"
            " error (seed, wording, items, judge) were sampled again: 1 is all, 0 is none"
        ),
    ),
    "noise floor": (
        r"noise floor",
        (
            "the correlation that coin flips at each respondent's own rate would reach with as many"
            " items; how far a reliability exceeds it describes single answers, not whether the"
            " scores repeat well enough"
        ),
    ),
    "Pearson r": (
        r"Pearson r|correlat",
        (
            "how closely two sets of scores lie along a straight line, whatever its slope: 1 is"
            " exactly, 0 is not at all"
        ),
    ),
    "rho_G": (
        r"rho_G",
        "the reliability of one run, computed from the items whose outcome changed between runs",
    ),
    "ICC(A,1)": (
        r"ICC\(A,1\)",
        (
            "intraclass correlation for absolute agreement: it is 1 only if every respondent gets"
            " exactly the same score again, and a shift of the mean lowers it"
        ),
    ),
    "ICC(C,1)": (
        r"ICC\(C,1\)",
        (
            "intraclass correlation for consistency: a shift that is the same for all respondents"
            " does not lower it"
        ),
    ),
    "at 1,000 items": (
        r"[Aa]t 1,000 items",
        (
            "the same reliability converted to a test of 1,000 items (Spearman and Brown), so that"
            " long and short benchmarks can be compared"
        ),
    ),
    "unadjusted, adjusted": (
        r"Unadjusted",
        (
            "unadjusted is the coefficient as observed; adjusted is corrected for the known part"
            " of other measurement error, by the statistic named below the number"
        ),
    ),
    "smallest real difference": (
        r"smallest real difference|mdc95",
        (
            "the difference between two runs of a respondent that chance alone exceeds in 5 of 100"
            " pairs of runs; each respondent has its own"
        ),
    ),
    "standard error of measurement": (
        r"standard error of measurement|\bSEM\b",
        "the standard deviation of a respondent's score over repetitions; each respondent has its"
        " own",
    ),
    "parallel form": (
        r"[Pp]arallel form|\bparallel\b",
        "the same items in another wording whose right answers are known",
    ),
    "yes-ratio": (
        r"[Yy]es-ratio|[Ss]hare of yes answers",
        (
            "the share of answers that say yes; beside it is the share of questions whose right"
            " answer is yes"
        ),
    ),
    "acquiescence": (
        r"[Aa]cquiescence",
        (
            "the habit of saying yes whatever is asked: 0 means none, a positive value leans"
            " towards yes, a negative one towards no"
        ),
    ),
    "d′ and c": (
        r"d′",
        (
            "two numbers from signal detection: d′ says how well questions with the answer yes are"
            " distinguished from those with the answer no; c is the bias, positive towards no and"
            " negative towards yes"
        ),
    ),
    "elasticity": (
        r"[Ee]lasticity",
        "by how many percent the score changes when answers get one percent longer",
    ),
    "limits of agreement": (
        r"[Ll]imits of agreement",
        (
            "Bland and Altman's range, which contains 95% of the differences between the two"
            " administrations"
        ),
    ),
    "rank flow": (
        r"[Rr]ank flow",
        (
            "a chart with one line per respondent through its rank in each administration; lines"
            " cross where the order changes"
        ),
    ),
    "equal within": (
        r"equal within",
        (
            "two one-sided tests show that the difference on new items is smaller than this; the"
            " policy names the difference"
        ),
    ),
    "not known": (
        r"not known",
        "neither a difference nor equality is shown; more items would show one of them",
    ),
    "discrimination": (
        r"[Dd]iscrimination",
        (
            "the correlation of an item with the rest of the test: near 0 the item does not follow"
            " the rest, below 0 strong respondents do worse on it than weak ones"
        ),
    ),
    "difficulty": (
        r"[Dd]ifficulty",
        (
            "here the share of respondents that get the item right, so that a high value means an"
            " easy item"
        ),
    ),
    "blind solvability": (
        r"[Bb]lind solvab|words alone",
        (
            "the share of labels that a simple classifier predicts from the words of the question"
            " alone, on items it was not trained on"
        ),
    ),
    "leakage cue": (
        r"[Ll]eak",
        (
            "a feature that should carry no information (position, length, an article) but predicts"
            " the right answer"
        ),
    ),
    "G study": (
        r"G study",
        (
            "divides the variance of the scores into components for respondents, items, seeds,"
            " forms and judges, and for their combinations"
        ),
    ),
    "D-study": (
        r"D-study",
        (
            "computes from the shares of the G study what reliability another number of items,"
            " seeds, forms or judges would give"
        ),
    ),
    "Phi and G": (
        r"\bPhi\b",
        (
            "reliability over all facets at once, of absolute scores (Phi, dependability) and of"
            " differences between respondents (G)"
        ),
    ),
    "Cronbach's alpha": (
        r"Cronbach|\balpha\b(?! of| over)",
        (
            "reliability estimated from how strongly the items of one administration go together;"
            " many items raise it by themselves"
        ),
    ),
    "omega": (r"omega", "like alpha, for types that measure one thing with different strength"),
    "disattenuated": (
        r"[Dd]isattenuated",
        "the correlation that would be observed without sampling error on either side",
    ),
    "ceiling": (
        r"\bceiling\b",
        "the largest correlation that the measurement error of both sides allows",
    ),
    "sensitivity and specificity": (
        r"[Ss]ensitivity",
        (
            "sensitivity is the share scored as right among the answers that people called"
            " faithful; specificity is the share scored as wrong among those they called"
            " hallucinated"
        ),
    ),
    "kappa": (
        r"\b[Kk]appa\b",
        "agreement of single verdicts beyond chance: 0 is chance, 1 is full agreement",
    ),
    "Krippendorff's alpha": (
        r"Krippendorff",
        "agreement of judgements beyond chance, for any number of judges",
    ),
    "Gwet's AC1": (
        r"Gwet",
        "agreement beyond chance that does not collapse when one verdict is rare",
    ),
    "prediction-powered": (
        r"[Pp]rediction[- ]powered|corrected by people",
        "the score over all items, corrected with the labels that people gave to some of them",
    ),
    "Kendall's tau-b": (
        r"Kendall's tau|\btau_b",
        (
            "the pairs that two rankings put in the same order minus those they put in opposite"
            " orders, as a share of all pairs"
        ),
    ),
    "Spearman's rho": (r"Spearman's rho", "Pearson's correlation of the ranks"),
    "Kendall's W": (
        r"Kendall's W",
        "agreement of several rankings: 1 means the same order, 0 means no agreement",
    ),
    "Lin's concordance": (
        r"Lin's",
        "the correlation multiplied by how close the points are to the line of equality",
    ),
    "CHAIR": (
        r"chair_[is]|CHAIR",
        (
            "chair_i is the share of mentioned objects that are not in the picture; chair_s is the"
            " share of captions with at least one such object"
        ),
    ),
    "F1": (r"\bf1\b", "the harmonic mean of precision and recall for the answer yes"),
    "Rasch": (
        r"Rasch",
        (
            "a model in which one ability of the respondent and one difficulty of the item give the"
            " probability of a right answer"
        ),
    ),
    "oracle": (
        r"[Oo]racle",
        (
            "a rule of the benchmark that knows the right answers and reads the same answers a"
            " second time; it is not people, and agreement with it is no evidence of validity"
        ),
    ),
    "Holm": (
        r"Holm",
        "a correction that keeps the chance of any false difference among all pairs at 5%",
    ),
    "80% power": (
        r"80% power",
        "of 100 studies of models that differ so much, 80 would show the difference",
    ),
    "Haberman": (
        r"Haberman",
        (
            "compares how much of a type's true score its own items predict with how much the total"
            " predicts; only where its own items predict more is a separate score worth reporting"
        ),
    ),
    "measurable type": (
        r"[Mm]easurable",
        (
            "a type on which a respondent's score has a standard error of at most .03 of the scale"
            " in this audit"
            " (root mean square over the respondents)"
        ),
    ),
    "signature": (
        r"[Ss]ignature",
        (
            "one line that says what a number was made of (benchmark, data, scorer,"
            " administrations, answers); equal signatures mean equal numbers"
        ),
    ),
}
"""Term -> the pattern that finds it in a text, and what it means in one sentence."""


class Terms:
    """Remembers which terms a page has explained so far, from its top."""

    def __init__(self) -> None:
        self._explained: dict[str, str] = {}

    def explain(self, text: str) -> str:
        """A text with every term that appears for the first time marked with its meaning.

        >>> terms = Terms()
        >>> "<dfn" in terms.explain("its noise floor"), "<dfn" in terms.explain("its noise floor")
        (True, False)
        """
        # Terminal and LaTeX use this module too, and need no HTML.
        from markupsafe import escape

        marked = ""
        # Each term is explained where it first stands on the page; what follows it is searched
        # anew, for the remaining terms.
        remaining = text
        while hit := self._first_term(remaining):
            match, term = hit
            self._explained[term] = f"{term}: {TERMS[term][1]}."
            meaning = escape(self._explained[term])
            word = escape(match[0])
            before = escape(remaining[: match.start()])
            marked += f'{before}<dfn tabindex="0" data-means="{meaning}">{word}</dfn>'
            remaining = remaining[match.end() :]
        return f"{marked}{escape(remaining)}"

    @property
    def meanings(self) -> tuple[str, ...]:
        """The terms that were explained, each with its meaning, for a page on paper."""
        return tuple(self._explained.values())

    def _first_term(self, text: str) -> tuple[re.Match[str], str] | None:
        hits = []
        for term, (pattern, _) in TERMS.items():
            # Not inside a word or a name (`alpha-7b`), an option (`--criterion`) or a list of
            # setting names.
            match = re.search(rf"(?<![\w,-])(?:{pattern})\w*(?!\w|-\w)", text)
            if match and term not in self._explained:
                hits.append((match, term))
        # The earliest in the text; of two that begin together, the first of `TERMS`.
        return min(hits, key=lambda hit: hit[0].start(), default=None)


# --- units, and numbers that no reader can use ---

_MAX_SLOPE = 4.0
"""An interval of an elasticity that is wider than this contains every slope that anybody would act
on.
"""
_MAX_END_RATIO = 100.0
"""How many times an estimate the end of its interval may be; what lies further off is no end."""


def unit_of(audit: BenchmarkAudit, estimate: Estimate) -> str:
    """Return the unit that stands beside an estimate's number: points, percentage points, percent
    or that of its indicator; empty where there is no number.
    """
    indicator = indicator_named(estimate.indicator.rpartition(".")[2])
    if indicator is None or estimate.value is None:
        return ""
    unit = indicator.unit
    if unit.kind == "score":
        difference = difference_with_unit(audit, estimate.metric, estimate.value)
        if is_share(audit, estimate.metric):
            return difference
        return f"units of {estimate.metric}"
    if unit.kind == "share":
        # A share that is a difference is in percentage points; "3 %" of a shift would read as a
        # relative change.
        is_shift = estimate.indicator.endswith("_shift")
        if is_shift:
            return f"{number(100 * estimate.value, 1)} percentage points"
        return f"share, {percent(estimate.value)}"
    return unit.text


def reason_withheld(estimate: Estimate) -> str:
    """Why a number is not printed, because its uncertainty is too large for any use; empty where it
    is.
    """
    if estimate.value is None or not estimate.indicator.endswith(".length_elasticity"):
        return ""
    # One end says nothing of how wide an interval is.
    widths = [span.high - span.low for span in estimate.intervals if not span.one_sided]
    if max(widths, default=0.0) > _MAX_SLOPE or abs(estimate.value) > _MAX_SLOPE:
        return "the answers differ too little in length to say how the score follows it"
    return ""


def is_unbounded_end(estimate: Estimate, end: float) -> bool:
    """Whether an end of an interval is so far from the estimate that it bounds nothing."""
    # Near 0 a ratio says nothing: .05 is the least size that an end is compared with.
    return estimate.value is not None and abs(end) > _MAX_END_RATIO * max(abs(estimate.value), 0.05)


def text_with_unit(audit: BenchmarkAudit, estimate: Estimate) -> Text:
    """An estimate's number with its unit in small print, or `withheld` with the reason."""
    cell = estimate_text(estimate)
    reason = reason_withheld(estimate)
    if reason:
        return replace(
            cell, text=DASH, tooltip=f"{reason}\n{estimate.signature}", muted=True, small="withheld"
        )
    return replace(cell, small=unit_of(audit, estimate))


def difference_with_unit(audit: BenchmarkAudit, metric: str, value: float | None) -> str:
    """A difference of scores with its unit: percentage points where the scores are shares, else the
    metric's own units.
    """
    if value is None:
        return number(value)
    if is_share(audit, metric):
        return f"{number(100 * value, 1)} percentage points"
    return f"{number(value)} in units of {metric}"


# --- coefficients ---


def coefficient(estimate: Estimate, inference: str = "", *, named: bool = True) -> Text:
    """A coefficient with its interval and, if `named`, what that generalises to, without the zero
    before the point.

    An interval for other respondents has no upper end, so it is said as the least.
    """
    # The interval that the question asks for stands first, then the narrower populations.
    kinds = (inference, "fixed_models", "items", "model_population")
    span = next((s for kind in kinds if kind and (s := estimate.interval(kind))), None)
    cell = estimate_text(estimate)
    text = without_zero(cell.text)
    # An interval whose lower end does not exist would be printed as a dash beside a number.
    if span is not None and math.isfinite(span.low):
        ends = without_zero(interval_text(span, decimals_of(estimate)))
        text += f", {ends}" if span.one_sided else f" {ends}"
        text += target_clause(span.inference) if named else ""
    return replace(cell, text=text, muted=False)


def without_zero(text: str) -> str:
    """Numbers below 1 without the zero before the point."""
    # APA style leaves the zero out of what cannot exceed 1; a digit or a point before it would make
    # it another number.
    return re.sub(r"(?<![\d.])0\.", ".", text)


FINDING_NAMES: Mapping[str, str] = {
    "card-unreadable": "a card that cannot be read",
    "card-key": "a wrong key in the card",
    "items-unreadable": "items that cannot be read",
    "encoding": "wrong text encoding",
    "record-broken": "broken rows",
    "field-missing": "items without id or question",
    "target-invalid": "keys that are none of the answers",
    "type-unknown": "unknown types",
    "image-outside": "pictures outside the folder",
    "field-invalid": "fields with wrong values",
    "id-twice": "item ids used twice",
    "id-odd": "item ids with spaces or control characters",
    "mojibake": "garbled text",
    "no-licence": "no licence",
    "no-citation": "no citation",
    "no-summary": "no summary",
    "no-responsible-ai": "an incomplete section on responsible AI",
    "duplicate-question": "repeated questions",
    "near-duplicate-question": "nearly equal questions",
    "contradictory-label": "questions with several keys",
    "contradictory-twins": "near-duplicates with several keys",
    "paraphrased-question": "paraphrased questions",
    "equal-options": "equal options",
    "option-nan": "options that say nan",
    "unbalanced-labels": "unbalanced keys",
    "option-position": "keys that favour a position",
    "label-by-position": "keys in an order",
    "leakage-cue": "cues that give answers away",
    "giveaway-phrase": "phrases that give answers away",
    "answer-in-question": "answers within questions",
    "order-cue": "an order that gives answers away",
    "blind-solvable": "questions that need no picture",
    "few-wordings": "few wordings",
    "template-monotony": "few question templates",
    "options-refer": "options that refer to others",
    "options-misplaced": "options out of order",
    "negation-affirms": "negations that affirm",
    "negation-split": "negations within a phrase",
    "negation-doubled": "double negations",
    "negation-scope": "negations of unclear scope",
    "negation-same-answer": "negations with the original's key",
    "form-same-words": "a wording with the words of the original",
    "form-mode": "questions turned into commands",
    "form-option-reference": "options that refer to moved options",
    "type-without-items": "types without items",
    "type-not-measurable": "types that cannot be measured",
    "type-not-claimed": "types that the card does not claim",
    "items-unlabelled": "items without a type",
    "image-missing": "missing pictures",
    "image-broken": "broken pictures",
    "image-twice": "pictures under several names",
    "near-duplicate-image": "nearly equal pictures",
    "image-unused": "unused pictures",
    "images-not-checked": "pictures that were not checked",
    "image-blank": "pictures of a single colour",
    "image-unusual": "pictures that programs show differently",
}
"""What the linter finds, as a sentence names it."""


def finding_in_words(name: str) -> str:
    """The name of a finding in words; one of a benchmark's own has its own words.

    >>> finding_in_words("image-blank"), finding_in_words("moved-boxes")
    ('pictures of a single colour', 'moved boxes')
    """
    return FINDING_NAMES.get(name, name.replace("-", " "))
