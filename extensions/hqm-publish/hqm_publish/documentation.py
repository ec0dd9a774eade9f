"""What an audit gives to a benchmark's documents: answers to the points of a checklist, texts for
the metadata of a data set, and a section for the Hub's README.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hqm.reports.pages.phrases import plain_text, pluralise, verb_form
from hqm.reports.pages.sentences import answer_questions
from hqm.reports.tables.score_tables import guessing_sentence, respondents_in_order
from hqm.reports.tables.table import capital, drop_none

from hqm import BenchmarkAudit
from hqm.auditing.definitions import findings_in_order, severity_of
from hqm.auditing.score_points import Points

PointState = Literal["ANSWERED", "NOT MEASURED", "TOOL", "AUTHOR"]
"""The audit answers a point, could answer it, HQM does it for every benchmark, or its author must
write it.
"""
_CHECKLIST = Path(__file__).with_name("betterbench.toml")
_MAX_LIMITS = 5
_MISSING = ("Not measured", "Not known")
_TASKS = {"caption": "image-to-text"}
"""Task -> the Hub's name of its category; every other task asks questions about pictures."""
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
SECTION_START = "<!-- hqm: made from an audit -->"
SECTION_END = "<!-- hqm: end -->"


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a checklist, with its answer or the author's task.

    Parameters
    ----------
    stage, id
        The part of the list, and the number in its source.
    text
        What is asked for.
    state
        Whether the audit answers it, in part or not.
    answer
        The answer of the audit, or the command that does it; empty where it is the author's.
    remainder
        What is left for the author of a point that the audit answers.
    """

    stage: str
    id: str
    text: str
    state: PointState
    answer: str = ""
    remainder: str = ""


@dataclass(frozen=True, slots=True)
class Checklist:
    """The points of a checklist for one audited benchmark."""

    title: str
    benchmark: str
    points: tuple[Point, ...]

    def count(self, state: PointState) -> int:
        """How many points are in this state."""
        return sum(point.state == state for point in self.points)

    @property
    def sentence(self) -> str:
        """How many points the audit answers, and how many it does not."""
        return (
            f"The audit answers {self.count('ANSWERED')} of {len(self.points)} points."
            f" It could measure {self.count('NOT MEASURED')} more."
            f" HQM does {self.count('TOOL')} for every benchmark."
            f" The author writes {self.count('AUTHOR')}."
        )


def fill_checklist(audit: BenchmarkAudit, command: str = "") -> Checklist:
    """Return the checklist of BetterBench with the answers of an audit.

    Parameters
    ----------
    command
        The command that made the audit.
    """
    source = tomllib.loads(_CHECKLIST.read_text(encoding="utf-8"))
    answers = _answers(audit)
    answers["command"] = f"`{command}` makes them again." if command else ""
    points = []
    for stage, rows in source["stages"].items():
        for row in rows:
            state, answer = _answer_point(row, answers)
            remainder = row.get("remainder", "") if state == "ANSWERED" else ""
            points.append(Point(stage, row["id"], row["text"], state, answer, remainder))
    return Checklist(source["title"], audit.benchmark, tuple(points))


def _answer_point(row: Mapping[str, str], answers: Mapping[str, str]) -> tuple[PointState, str]:
    if tool := row.get("tool"):
        return "TOOL", tool
    if "answer" not in row:
        return "AUTHOR", ""
    answer = answers[row["answer"]]
    # An answer is a sentence of the report, of which those about what is missing begin alike.
    is_missing = not answer or answer.startswith(_MISSING)
    return ("NOT MEASURED" if is_missing else "ANSWERED"), answer


def _answers(audit: BenchmarkAudit) -> dict[str, str]:
    """Return what an audit answers, by the names that a checklist uses."""
    answers: dict[str, str] = {}
    for answer in answer_questions(audit):
        text = plain_text(answer.sentences)
        is_missing = text.startswith(_MISSING)
        answers[answer.question] = text if is_missing else f"{answer.question_text} {text}"
    answers["guessing"] = guessing_sentence(audit)
    answers["range"] = " ".join(_ranges(audit))
    answers["metrics"] = " ".join(
        f"{capital(name)}: {row.get('about', '')}" for name, row in audit.metrics.items()
    )
    # Without labels, coverage still lists the types of the taxonomy, none of which has an item.
    counts = [row["items"] for row in audit.coverage.values() if row["items"] or row["claimed"]]
    sizes = sorted(set(counts))
    # One size, or the smallest and the largest of several.
    ends = " to ".join(f"{size:,}" for size in dict.fromkeys((*sizes[:1], *sizes[-1:])))
    count = len(counts)
    verb = verb_form(count, "has", "have")
    each = verb_form(count, "", " each")
    answers["types"] = f"{pluralise(count, 'type')} {verb} {ends} items{each}." if sizes else ""
    answers["limits"] = " ".join(_limits(audit)) or "The check of the data shows none."
    answers["licence"] = audit.release.get("licence", "")
    return answers


def _ranges(audit: BenchmarkAudit) -> Iterator[str]:
    """Yield the scale of each metric, and the lowest and the highest score."""
    for metric in audit.metrics:
        low, high = audit.scale(metric)
        points = Points.for_metric(audit, metric)
        if low is not None and high is not None:
            yield f"{capital(metric)} runs from {points.format(low)} to {points.format(high)}."
        measured = drop_none(row.scores.get(metric) for row in audit.respondents)
        if measured:
            ends = f"{points.format(min(measured))} to {points.format(max(measured))}"
            if len(measured) == 1:
                yield f"The only model reaches {points.format(measured[0])}."
            else:
                yield f"The {len(measured)} models reach {ends}."


def _limits(audit: BenchmarkAudit) -> list[str]:
    """Return the sentences of the findings about items and pictures that are no notes."""
    # Codes with C are about the card, which says nothing of the data.
    limits = [
        f"{capital(str(row['sentence']))}."
        for row in findings_in_order(audit)
        if not str(row["code"]).startswith("C") and severity_of(row) != "note"
    ]
    return limits[:_MAX_LIMITS]


def responsible_texts(audit: BenchmarkAudit) -> dict[str, str]:
    """Return what an audit says in the fields for responsible AI of Croissant (`rai:`)."""
    answers = _answers(audit)
    texts = {
        "data_limitations": ("wording", "separate", "more"),
        "data_biases": ("guessing",),
        "data_use_cases": ("quote",),
        "data_annotation_analysis": ("people",),
    }
    measured: dict[str, str] = {}
    for field, names in texts.items():
        sentences = [answers[name] for name in names if not answers[name].startswith(_MISSING)]
        if any(sentences):
            measured[field] = f"Measured by an audit: {' '.join(filter(None, sentences))}"
    return measured


def card_section(audit: BenchmarkAudit) -> str:
    """Return the section of a README on the Hub that an audit fills."""
    leaders = respondents_in_order(audit)
    lines = [
        SECTION_START,
        "## Measurement quality",
        "",
        audit.verdict,
        "",
        f"{audit.n_items:,} items, {len(leaders)} models. {audit.statement}",
        "",
        "| Question | Answer |",
        "|---|---|",
    ]
    for answer in answer_questions(audit):
        cell = plain_text(answer.sentences).replace("|", "\\|")
        lines.append(f"| {answer.question_text} | {cell} |")
    lines += ["", *(f"- {limit}" for limit in _limits(audit)), SECTION_END]
    return "\n".join(lines) + "\n"


def card_header(audit: BenchmarkAudit) -> str:
    """Return the YAML that begins a README on the Hub."""
    size = next((name for limit, name in _SIZES if audit.n_items < limit), "1M<n<10M")
    licence = audit.release.get("licence", "").lower()
    # The Hub takes identifiers such as cc-by-4.0 only; a licence in words is `other` there.
    is_identifier = licence.replace("-", "").replace(".", "").isalnum()
    lines = [
        "---",
        # A JSON string is a YAML string, whatever quotes and colons a title holds.
        f"pretty_name: {json.dumps(audit.title)}",
        f"license: {licence}" if is_identifier else "license: other",
        "task_categories:",
        f"- {_TASKS.get(audit.task, 'visual-question-answering')}",
        "size_categories:",
        f"- {size}",
        "tags:",
        "- benchmark",
        "- croissant",
        "---",
    ]
    return "\n".join(lines) + "\n\n"


def write_section(audit: BenchmarkAudit, text: str = "") -> str:
    """Return a README with the section of an audit: in place of an earlier one, behind the text of
    the author, or alone with its YAML.
    """
    section = card_section(audit)
    if not text:
        return f"{card_header(audit)}# {audit.title}\n\n{section}"
    head, start, tail = text.partition(SECTION_START)
    if not start:
        return f"{text.rstrip()}\n\n{section}"
    # The text behind the section stays as the author wrote it.
    return f"{head}{section}{tail.partition(SECTION_END)[2].lstrip(chr(10))}"
