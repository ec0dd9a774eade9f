"""Further tables of a benchmark's own paper: what an adapter makes of all scored answers, beside
the scores and their statistics.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hqm.types import Item, Judgement

Entry = str | float | int | None
"""What stands in a table: a text, a number that is never rounded here, or None where there is
none.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredAnswer:
    """One answer of the reference administration, with what was made of it.

    Parameters
    ----------
    respondent
        Who gave it.
    item
        What was asked.
    text
        What was answered.
    value
        The score; None of an answer that was not scored.
    tally
        What the metrics sum; empty of an answer that was not scored.
    labels
        What people said of it, rater by rater.
    """

    respondent: str
    item: Item
    text: str
    value: float | None
    tally: Mapping[str, float]
    labels: tuple[Judgement, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """A table of an audit that is about this benchmark alone.

    Parameters
    ----------
    name
        Its name in `audit.json`.
    title
        Its heading.
    about
        What was counted, of what, and where the idea comes from.
    columns
        The headings.
    rows
        A row has an entry for each column.
    drawn
        The column of numbers that the report also draws; empty for none.
    """

    name: str
    title: str
    about: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    drawn: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As `audit.json` has it."""
        return asdict(self)


# --- which objects captions make up ---
#
# How often, of which category, and how often beside a person (AMBER's Figures 7 and 8).

TOP, TOP_BESIDE = 20, 5
"""How many objects of a respondent are listed: the paper's numbers."""


def made_up_objects(
    answers: Sequence[ScoredAnswer],
    made_up: Callable[[ScoredAnswer], Sequence[str]],
    has_person: Callable[[ScoredAnswer], bool],
    is_person: Callable[[str], bool],
    category: Callable[[str], str],
) -> tuple[Analysis, ...]:
    """Three tables of each respondent's made-up objects, the most frequent first.

    Parameters
    ----------
    made_up
        The made-up objects of an answer, as often as the scorer counts them.
    has_person
        Whether a person is in the picture of an answer.
    is_person
        Whether an object is a person.
    category
        The category of an object.
    """
    scored = [(answer, made_up(answer)) for answer in answers if answer.value is not None]
    objects: list[tuple[Entry, ...]] = []
    kinds: list[tuple[Entry, ...]] = []
    beside: list[tuple[Entry, ...]] = []
    for who in dict.fromkeys(answer.respondent for answer, _ in scored):
        own = [(answer, words) for answer, words in scored if answer.respondent == who]
        times = Counter(word for _, words in own for word in words)
        captions = Counter(word for _, words in own for word in set(words))
        total = sum(times.values())
        for word, n in _most(times)[:TOP]:
            objects.append((who, word, category(word), n, n / total, captions[word], len(own)))
        of_kind: Counter[str] = Counter()
        for word, n in times.items():
            of_kind[category(word)] += n
        kinds += [(who, kind, n, n / total) for kind, n in _most(of_kind)]
        with_person = [w for answer, w in own if has_person(answer) or any(map(is_person, w))]
        without = len(own) - len(with_person)
        near = Counter(word for words in with_person for word in set(words) if not is_person(word))
        for word, n in _most(near)[:TOP_BESIDE]:
            elsewhere = (captions[word] - n) / without if without else None
            beside.append((who, word, n, len(with_person), n / len(with_person), elsewhere))
    return (
        Analysis(
            name="made_up_objects",
            title="Objects made up most often",
            about=(
                f"The {TOP} objects that each respondent makes up most often: how often, as a share"
                " of all objects it makes up, and in how many of its captions (AMBER, Figure 7)."
            ),
            columns=(
                "Respondent",
                "Object",
                "Category",
                "Times",
                "Share of made-up objects",
                "Captions with it",
                "Captions",
            ),
            rows=tuple(objects),
            drawn="Share of made-up objects",
        ),
        Analysis(
            name="made_up_categories",
            title="Made-up objects by category",
            about="How a respondent's made-up objects are spread over categories.",
            columns=("Respondent", "Category", "Times", "Share of made-up objects"),
            rows=tuple(kinds),
            drawn="Share of made-up objects",
        ),
        Analysis(
            name="made_up_beside_person",
            title="Objects made up where there is a person",
            about=(
                f"The {TOP_BESIDE} objects that each respondent makes up in most captions where a"
                " person is in the picture, or is itself made up; the last column is the share of"
                " its other captions that make up the same object (AMBER, Figure 8)."
            ),
            columns=(
                "Respondent",
                "Object",
                "Captions with it",
                "Captions with a person",
                "Share with a person",
                "Share without a person",
            ),
            rows=tuple(beside),
            drawn="Share with a person",
        ),
    )


def _most(counts: Counter[str]) -> list[tuple[str, int]]:
    """The most frequent first, and equally frequent ones by their names."""
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
