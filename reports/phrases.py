"""Sentences with numbers: each part is text, or a number that links to its signature."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hqm.reports.tables import Text, digits, estimate_text, interval, number

from hqm import Estimate

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


def spans(estimate: Estimate) -> Text:
    """Both intervals in words and in parentheses; empty where there is none.

    >>> from hqm import Interval
    >>> spans(Estimate("a.b", "m", "", "", "", .9, intervals=(Interval(.8, .95, "model_population", ""),))).text
    ' (95% interval [0.800, 0.950] for others like them)'
    """
    named = (
        ("for these respondents", "fixed_models"),
        ("for others like them", "model_population"),
        ("over items", "items"),
    )
    named_spans = [
        f"{interval(estimate.interval(kind), digits(estimate))} {name}"
        for name, kind in named
        if estimate.interval(kind)
    ]
    return Text(f" (95% interval {', '.join(named_spans)})" if named_spans else "", muted=True)


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"


def counted(count: int, what: str) -> str:
    """A count with its noun.

    >>> counted(1, "form"), counted(2, "form")
    ('1 form', '2 forms')
    """
    return f"{count:,} {what}{'s' * (count != 1)}"


def have(count: int) -> str:
    """The verb for a count: `has` for 1, else `have`."""
    return "has" if count == 1 else "have"
