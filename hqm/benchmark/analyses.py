"""Further tables of a benchmark's own paper: what an adapter makes of all scored answers, beside
the scores and their statistics.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TypedDict

from hqm.types import Item, Judgement, group_by

Entry = str | float | int | None
"""A cell of a table: a text, a number that is not rounded, or None for an empty cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredAnswer:
    """One answer of the reference administration, with its score and labels.

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


class AnalysisRow(TypedDict):
    """A further table of a benchmark (`Analysis.to_dict`)."""

    name: str
    title: str
    about: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Entry]]
    drawn: str


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

    def to_dict(self) -> AnalysisRow:
        """As `audit.json` has it."""
        return {
            "name": self.name,
            "title": self.title,
            "about": self.about,
            "columns": self.columns,
            "rows": self.rows,
            "drawn": self.drawn,
        }


def by_respondent(answers: Iterable[ScoredAnswer]) -> dict[str, list[ScoredAnswer]]:
    """Return the answers of each respondent, in the order in which respondents first occur."""
    return group_by(answers, attrgetter("respondent"))


def scored_answers(answers: Iterable[ScoredAnswer]) -> Iterator[ScoredAnswer]:
    """Return the answers that have a score."""
    return (answer for answer in answers if answer.value is not None)


def items_asked(answers: Sequence[ScoredAnswer]) -> list[Item]:
    """Return the items that are answered, each once."""
    return list({answer.item.id: answer.item for answer in answers}.values())


# --- which objects captions make up ---
#
# How often, of which category, and how often beside a person (AMBER's Figures 7 and 8).

TOP = 20
TOP_BESIDE = 5
"""How many objects of a respondent are listed: the paper's numbers."""


def made_up_objects(
    answers: Sequence[ScoredAnswer],
    extract_objects: Callable[[ScoredAnswer], Sequence[str]],
    has_person: Callable[[ScoredAnswer], bool],
    is_person: Callable[[str], bool],
    category: Callable[[str], str],
) -> tuple[Analysis, ...]:
    """Three tables of each respondent's made-up objects, the most frequent first.

    Parameters
    ----------
    extract_objects
        The made-up objects of an answer, as often as the scorer counts them.
    has_person
        Whether a person is in the picture of an answer.
    is_person
        Whether an object is a person.
    category
        The category of an object.
    """
    object_rows: list[tuple[Entry, ...]] = []
    category_rows: list[tuple[Entry, ...]] = []
    person_rows: list[tuple[Entry, ...]] = []
    for respondent, captions in by_respondent(scored_answers(answers)).items():
        # extracted once: an adapter scores the caption again to name its objects
        objects = list(map(extract_objects, captions))
        caption_counts = _caption_counts(objects)
        object_counts = Counter(itertools.chain.from_iterable(objects))
        total = object_counts.total()
        for word, n in _by_frequency(object_counts)[:TOP]:
            object_rows.append(
                (
                    respondent,
                    word,
                    category(word),
                    n,
                    n / total,
                    caption_counts[word],
                    len(captions),
                )
            )
        category_counts: Counter[str] = Counter()
        for word, n in object_counts.items():
            # several words are of one category, so that counts are added up
            category_counts[category(word)] += n
        for kind, n in _by_frequency(category_counts):
            category_rows.append((respondent, kind, n, n / total))
        with_person = [
            words
            for caption, words in zip(captions, objects, strict=True)
            if has_person(caption) or any(map(is_person, words))
        ]
        person_rows += _person_rows(
            respondent, with_person, caption_counts, len(captions), is_person
        )
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
            rows=tuple(object_rows),
            drawn="Share of made-up objects",
        ),
        Analysis(
            name="made_up_categories",
            title="Made-up objects by category",
            about="How a respondent's made-up objects are spread over categories.",
            columns=("Respondent", "Category", "Times", "Share of made-up objects"),
            rows=tuple(category_rows),
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
            rows=tuple(person_rows),
            drawn="Share with a person",
        ),
    )


def _caption_counts(objects: Sequence[Sequence[str]]) -> Counter[str]:
    """Object -> the number of captions that make it up."""
    return Counter(itertools.chain.from_iterable(map(set, objects)))


def _person_rows(
    respondent: str,
    with_person: Sequence[Sequence[str]],
    caption_counts: Counter[str],
    n_captions: int,
    is_person: Callable[[str], bool],
) -> list[tuple[Entry, ...]]:
    """The rows of one respondent about objects made up in captions with a person."""
    n_without = n_captions - len(with_person)
    person_caption_counts = _caption_counts(with_person)
    # a person is beside itself in every such caption
    for word in list(filter(is_person, person_caption_counts)):
        del person_caption_counts[word]
    rows: list[tuple[Entry, ...]] = []
    for word, n in _by_frequency(person_caption_counts)[:TOP_BESIDE]:
        share_without = None
        # where every caption has a person, there is nothing to compare with: an empty cell, not 0
        if n_without:
            share_without = (caption_counts[word] - n) / n_without
        rows.append((respondent, word, n, len(with_person), n / len(with_person), share_without))
    return rows


def _by_frequency(counts: Counter[str]) -> list[tuple[str, int]]:
    """The most frequent first, and equally frequent ones by their names."""
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
