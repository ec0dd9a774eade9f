"""Human labels of answers, read from a file, with how each answer was chosen for labelling."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from itertools import chain
from pathlib import Path
from typing import Any, Literal, Self

from hqm.errors import AnswerError, DataError
from hqm.files.dialect import finite_number, unguarded
from hqm.files.records import name_fields, required_field
from hqm.imports.intake import HEADINGS, Intake, refuse_twice, take_rows
from hqm.imports.match import match_rows
from hqm.imports.recordings import check_claims
from hqm.imports.row import ROLES, Row, count_in, first_field, name_in
from hqm.signature import canonical_json
from hqm.text import look_of
from hqm.types import Cell, Estimate, Form, Judgement

RATER = ":"
"""Stands between the name of the judge and that of the rater: `human:anna`."""

HUMAN = "human"
"""The judge of all labels that people gave.

Whoever else labels answers (an oracle, another parser of the key) has another name.
"""

ADJUDICATION = "adjudication"
"""The rater whose label is the decision about a disagreement: it stands in place of the raters'
labels and counts as none.
"""

BINARY = "binary"
"""The schema of labels of 1 and 0."""

LEAST_PROBABILITY = 1e-9
"""With which an answer is chosen for labelling at least: its label stands for 1 / probability."""

COLUMNS = (
    "item",
    "id",
    "respondent",
    "label",
    "rater",
    "form",
    "run",
    "answer_digest",
    "probability",
    "schema",
    "seconds",
    "uid",
    "stratum",
    "gold",
    "by",
    "note",
    "stages",
)
"""What a file of labels may say.

A column with nearly such a name is refused, since it may be a misspelt `probability`; others are
not read.
"""
_FREE_COLUMNS = ("note", "seconds", "uid")
"""Columns on which no number rests."""
LabelledBy = Literal["people", "oracle"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelContext:
    """What a file says of a label beside the label itself; it is kept in `Judgement.reply`."""

    answer_digest: str = ""
    """The digest of the answer that was labelled (`hqm label plan`); empty where nobody wrote it
    down.
    """
    probability: float | None = None
    """With which probability the answer was chosen for labelling."""
    schema: str = ""
    """What the rater was asked: `binary`, `likert`, `facts`, ..."""
    seconds: float | None = None
    stages: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Role of a judge procedure -> unit of the answer (a sub-sentence, a fact) -> 1 or 0, where
    people decided unit by unit.
    """

    def to_reply(self) -> str:
        """The context as a judgement's reply; empty where nothing is known."""
        values = {name: getattr(self, name) for name in _CONTEXT_FIELDS}
        set_fields = {name: value for name, value in values.items() if value not in ("", None, {})}
        if set_fields:
            return canonical_json({"label": set_fields})
        return ""

    @classmethod
    def from_judgement(cls, judgement: Judgement) -> Self:
        """The context of a stored label.

        >>> reply = LabelContext(probability=0.5).to_reply()
        >>> LabelContext.from_judgement(Judgement("human", "1", "m", 1.0, reply)).probability
        0.5
        """
        stored_fields: dict[str, Any] = {}
        # A judge's raw reply stands in the same field of the store, and is no context.
        if judgement.reply.startswith('{"label":'):
            with suppress(ValueError):
                stored_fields = json.loads(judgement.reply)["label"]
        return cls(
            **{name: stored_fields[name] for name in _CONTEXT_FIELDS if name in stored_fields}
        )


# a file has thousands of labels, and to list the fields takes longer than to write one
_CONTEXT_FIELDS = tuple(context_field.name for context_field in fields(LabelContext))


def labelled_by(judge: str) -> LabelledBy:
    """Who gave the labels of a judge: people, or an oracle or rule that reads the same key as the
    scorer.

    Gate, tables and sentences ask this function alone whether there were people.

    >>> labelled_by("human"), labelled_by("human:anna"), labelled_by("oracle")
    ('people', 'people', 'oracle')
    """
    if judge.partition(RATER)[0] == HUMAN:
        return "people"
    return "oracle"


def by_people(estimate: Estimate) -> bool:
    """Whether the other side of a comparison is people's labels, and not an oracle of the
    benchmark; of raters among themselves, whether they are people.
    """
    if not estimate.other:
        return estimate.detail.get("labelled_by") == "people"
    return labelled_by(Cell.parse(estimate.other.partition(" & ")[0]).judge) == "people"


def read_criterion(
    path: Path,
    form: Form,
    respondents: Sequence[str] | None,
    judge: str = HUMAN,
    *,
    benchmark: str = "",
    spelling: Callable[[str], str] = str,
) -> list[Judgement]:
    """Human labels: records with `item`, `respondent` and `label` (CSV or JSON lines).

    A label is 1 for a faithful answer, 0 for a hallucinated one, or a share between them where
    several people judged. An empty label means that the rater did not decide. When `respondents` is
    None, the field `respondent` may hold any name and may be missing. Several raters may label the
    same answer if a field `rater` names them: the judge's label is then their mean, or what the
    rater `adjudication` decided, and each rater's own labels are kept as the judge `human:<rater>`,
    so that an audit can pool them in another way and estimate their agreement.

    `probability` says how likely the answer was to be chosen for labelling, `answer_digest` which
    answer it was, and `stages` what was said of its single sub-sentences and facts (JSON: role ->
    unit -> 1 or 0). Rows of another form, or of another run than the first, are left out.

    Raises
    ------
    AnswerError
        A column has an unknown name, an item or respondent is unknown, a name could mean several
        respondents, a label is no number between 0 and 1, a probability is none, a pair is
        labelled twice, or some rows name a rater and some do not.
    """
    intake = _take_labels(path)
    check_claims(intake, form, benchmark, spelling)
    rows = []
    for location, guarded in intake.located():
        # A spreadsheet keeps the apostrophe by which a sheet of labels guards cells that begin like
        # a formula.
        record = dict(zip(guarded, map(unguarded, guarded.values()), strict=True))
        if _is_about_form(record, form, location):
            rows.append(_row(record, location, respondents))
    if not rows:
        form_phrase = f" of the form {form.name}, run 0" if intake.records else ""
        raise AnswerError(f"it holds no label{form_phrase}", location=str(path))
    if all(row.score is None for row in rows):
        raise AnswerError(
            f"no label is filled in ({len(rows)} rows)",
            location=str(path),
            remedy="Write 1 (faithful), 0 (hallucinated) or a share in the column label.",
        )
    raters = [row.judge for row in rows]
    if any(raters) and not all(raters):
        # among raters, a label of nobody would count in no pool
        raise AnswerError(
            "the rater is empty, and other rows have one",
            location=rows[raters.index("")].place,
            remedy="Name who labelled in every row, or in none.",
        )
    matched = match_rows(rows, form)
    labels: dict[tuple[str, str, str], Judgement] = {}
    for i, row in enumerate(rows):
        if i not in matched.items:
            raise AnswerError(f"the benchmark has no item {row.id!r}", location=row.place)
        key = (row.id, row.respondent, row.judge)
        if key in labels:
            refuse_twice(
                f"{row.id!r} of {row.respondent!r} is labelled",
                row.place,
                remedy="Name who labelled in a field 'rater'.",
            )
        judge_name = f"{judge}{RATER}{row.judge}" if row.judge else judge
        labels[key] = Judgement(judge_name, row.id, row.respondent, row.score, row.context)
    return _pooled(list(labels.values()), judge)


def label_notes(path: Path) -> list[str]:
    """Say how the labels of a file are read, where it is not plain; nothing of a file of another
    layout, which a release may have.
    """
    try:
        return _take_labels(path).located_notes
    except DataError:
        return []


def _take_labels(path: Path) -> Intake:
    """The rows of a file of labels, each with its label as a number from 0 to 1."""
    # few commands read labels
    from hqm.imports.label_columns import LABEL_NAMES, check_columns, with_labels

    # the names in a file of labels that a spreadsheet may have been shown
    known_columns = HEADINGS.union(COLUMNS, LABEL_NAMES)
    intake = take_rows(path, headings=known_columns, other_columns=LABEL_NAMES)
    intake = intake.with_names({"model": "respondent", "item": "item", "rater": "rater"})
    if not intake.records:
        return intake
    intake = with_labels(intake)
    present = dict.fromkeys(chain.from_iterable(intake.records))
    unread = [name for name in present if name not in known_columns]
    if not unread:
        return intake
    check_columns(unread, [name for name in COLUMNS if name not in _FREE_COLUMNS], str(path))
    return intake.with_note(f"columns that are not read: {name_fields(unread)}")


def _is_about_form(record: Mapping[str, object], form: Form, location: str) -> bool:
    """Whether a record is about a form's first run."""
    # A sheet of labels for one form need not say so.
    # Labels are compared with the reference administration, which is the first run of a form.
    same_form = record.get("form") in (None, "", form.name)
    return same_form and not count_in(record, "run", location)


def _row(record: Mapping[str, object], location: str, respondents: Sequence[str] | None) -> Row:
    """A label as a row: its rater is the judge, and the label the score."""
    # an empty label is an answer of its own, a missing one is not
    required_field(record, "label", location)
    name = name_in(record, "respondent", location)
    if respondents is not None:
        name = respondent_named(
            str(required_field(record, "respondent", location)), respondents, location
        )
    rater = name_in(record, "rater", location)
    return Row(
        place=location,
        ids=(str(first_field(record, ("item", "id"), location)),),
        own_ids=True,
        respondent=name,
        judge=ADJUDICATION if ADJUDICATION in (record.get("by"), look_of(rater)) else rater,
        score=_number(
            record,
            "label",
            lambda value: 0 <= value <= 1,
            location,
            "Write 1 (faithful), 0 (hallucinated) or a share.",
        ),
        context=_context(record, location).to_reply(),
    )


def _context(record: Mapping[str, object], location: str) -> LabelContext:
    return LabelContext(
        answer_digest=str(record.get("answer_digest") or ""),
        schema=str(record.get("schema") or ""),
        stages=_stages(record.get("stages"), location),
        probability=_number(
            record,
            "probability",
            lambda value: LEAST_PROBABILITY <= value <= 1,
            location,
            f"Write a number from {LEAST_PROBABILITY:g} to 1, or nothing.",
        ),
        seconds=_number(
            record, "seconds", lambda value: 0 <= value < math.inf, location, "Write seconds."
        ),
    )


def _number(
    record: Mapping[str, object],
    name: str,
    fits: Callable[[float], bool],
    location: str,
    remedy: str,
) -> float | None:
    """A field that is a number in a range; None where it is missing or empty."""
    cell = record.get(name)
    # few commands read labels
    from hqm.imports.scales import is_missing

    if is_missing(cell):
        return None
    value = finite_number(str(cell))
    if value is None or not fits(value):
        raise AnswerError(f"the {name} is {cell!r}", location=location, remedy=remedy)
    return value


def _stages(cell: object, location: str) -> Mapping[str, Mapping[str, int]]:
    """Role -> unit -> 1 or 0, from a JSON object or its text."""
    try:
        if isinstance(cell, str) and cell.strip():
            stages = json.loads(cell)
        else:
            stages = cell or {}
    except ValueError:
        stages = None
    if not isinstance(stages, Mapping) or not all(map(_is_stage, stages.items())):
        raise AnswerError(
            f"the stages are {str(cell)[:80]!r}",
            location=location,
            remedy=(
                f'Write {{"verifier": {{"There is a dog.": 1}}}}; the roles are {", ".join(ROLES)}.'
            ),
        )
    labels = {}
    for role, units in stages.items():
        labels[role] = {str(unit): int(label) for unit, label in units.items()}
    return labels


def _is_stage(stage: tuple[object, object]) -> bool:
    """Whether a role is known, and its units have labels of 1 or 0."""
    role, units = stage
    if role not in ROLES or not isinstance(units, Mapping):
        return False
    # True equals 1, and is no label
    labels = units.values()
    return set(map(type, labels)) <= {int} and set(labels) <= {0, 1}


def respondent_named(name: str, respondents: Sequence[str], location: str) -> str:
    """The respondent that a file means: its whole name, or as much of its end as no other
    respondent shares.

    The kind in front (`recorded/`, `hf/`, `openai/`), an owner and a folder may be left out, and so
    may the settings behind a question mark; by the file, or by the respondents.

    >>> respondent_named("llava", ["recorded/llava", "hf/org/instructblip"], "labels.csv")
    'recorded/llava'
    >>> respondent_named("recorded/llava", ["llava", "instructblip"], "labels.csv")
    'llava'

    Raises
    ------
    AnswerError
        No respondent has this name, or several do.
    """
    if name in respondents:
        return name
    # the file may name less than the respondent is called, or more
    matches = [respondent for respondent in respondents if name in short_names(respondent)]
    if not matches:
        whole_names = short_names(name)
        matches = [respondent for respondent in respondents if respondent in whole_names]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise AnswerError(
            f"the respondent {name!r} could be {', '.join(matches[:-1])} or {matches[-1]}",
            location=location,
            remedy="Write the whole name.",
        )
    raise AnswerError(
        f"there is no respondent {name!r}",
        location=location,
        remedy=f"There are {', '.join(respondents)}.",
        name=name,
        choices=respondents,
    )


def short_names(respondent: str) -> set[str]:
    """What a respondent may be called: every end of its name behind a slash or a colon, with and
    without its settings.
    """
    names = {respondent, respondent.partition("?")[0]}
    return names | {
        name[i + 1 :] for name in names for i, character in enumerate(name) if character in "/:"
    }


def _pooled(labels: Sequence[Judgement], judge: str) -> list[Judgement]:
    """The labels of each rater, preceded by their mean for every answer as the label of the judge
    itself.
    """
    # labels of nobody in particular are the judge's own: there is nothing to pool
    of_raters = [label for label in labels if label.judge != judge]
    if not of_raters:
        return list(labels)
    by_answer: dict[tuple[str, str], list[Judgement]] = {}
    for label in labels:
        by_answer.setdefault((label.item, label.respondent), []).append(label)
    means = []
    for (item, name), of_answer in by_answer.items():
        settled = [label for label in of_answer if label.judge == f"{judge}{RATER}{ADJUDICATION}"]
        # what was decided about a disagreement stands in place of the raters' labels
        decided = [label.label for label in settled or of_answer if label.label is not None]
        mean = sum(decided) / len(decided) if decided else None
        means.append(Judgement(judge, item, name, mean, of_answer[0].reply))
    return [*means, *of_raters]
