"""Sentences with numbers: each part is text, or a number that links to its signature."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hqm.reports.details import families_source, independent, used_by
from hqm.reports.tables import Text, estimate_text, interval, number, percent, places

from hqm import BenchmarkAudit, Estimate

Sentence = tuple[Text, ...]


def say(template: str, **parts: Text | Estimate | str | int | float | None) -> Sentence:
    """A sentence with numbers; a number made from an estimate links to its signature.

    >>> [part.text for part in say("It has {n} items.", n=1200)]
    ['It has ', '1,200', ' items.']
    """
    sentence = []
    for i, piece in enumerate(re.split(r"\{(\w+)\}", template)):
        if i % 2 == 0:
            if piece:
                sentence.append(Text(piece))
            continue
        part = parts[piece]
        if isinstance(part, Estimate):
            sentence.append(estimate_text(part))
        elif isinstance(part, Text):
            sentence.append(part)
        elif isinstance(part, int):
            sentence.append(Text(f"{part:,}"))
        else:
            sentence.append(Text(part if isinstance(part, str) else number(part)))
    return tuple(sentence)


def spans(estimate: Estimate) -> str:
    """The intervals in words; empty where there is none.

    >>> from hqm import Interval
    >>> spans(Estimate("a.b", "m", "", "", "", .9, intervals=(Interval(.8, .95, "model_population", ""),)))
    '95% interval [0.800, 0.950] for others like them'
    """
    named = (
        ("for these respondents", "fixed_models"),
        ("for others like them", "model_population"),
        ("over items", "items"),
    )
    known = [(name, span) for name, kind in named if (span := estimate.interval(kind)) is not None]
    if not known:
        return ""
    ranges = ", ".join(f"{interval(span, places(estimate))} {name}" for name, span in known)
    return f"{known[0][1].level:.0%} interval {ranges}"


def backed(audit: BenchmarkAudit, estimate: Estimate, after: Estimate | None = None) -> Text:
    """What stands behind a number, in parentheses: its intervals, or that it has none, and what it
    was made from.

    What it was made from is left out where the estimate said just before was made from as much.
    """
    absent = estimate.detail.get("no_interval_for_others")
    parts = [spans(estimate) or "no interval", f"none for others: {absent}" if absent else ""]
    if after is None or used(audit, after) != used(audit, estimate):
        parts.append(used(audit, estimate))
    return Text(f" ({'; '.join(filter(None, parts))})", muted=True)


def used(audit: BenchmarkAudit, estimate: Estimate) -> str:
    """How many respondents and items an estimate was made from, with the shares that were left
    out.
    """
    of = used_by(estimate)
    respondents = _part(of.respondents, of.respondents_left_out, "respondent")
    count = independent(estimate)
    if count is not None:
        respondents += (
            f" that count as {count:.1f} independent ones (families {families_source(audit)})"
        )
    return f"{respondents}, {_part(of.items, of.items_left_out, 'item')}"


def _part(count: int, left_out: float, what: str) -> str:
    """A count with its noun, and of how many where a share was left out.

    >>> _part(830, 178 / 1008, "item"), _part(1, 0, "item")
    ('830 of 1,008 items (17.7% left out)', '1 item')
    """
    if not left_out:
        return counted(count, what)
    return (
        f"{count:,} of {counted(round(count / (1 - left_out)), what)} ({percent(left_out, 1)} left"
        " out)"
    )


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return (
        names[0]
        if len(names) == 1
        else f"{', '.join(names[:-1])} and {names[-1]}"
        if names
        else "none"
    )


def counted(count: int, what: str) -> str:
    """A count with its noun.

    >>> counted(1, "form"), counted(2, "form")
    ('1 form', '2 forms')
    """
    return f"{count:,} {what}{'s' * (count != 1)}"


def have(count: int) -> str:
    """The verb for a count: `has` for 1, else `have`."""
    return "has" if count == 1 else "have"


def in_words(sentences: Iterable[Sentence]) -> str:
    """Sentences as plain text.

    >>> in_words([say("It has {n} items.", n=2), say("It is short.")])
    'It has 2 items. It is short.'
    """
    return " ".join("".join(part.text for part in sentence) for sentence in sentences)
