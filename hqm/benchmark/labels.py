"""Human labels of answers, read from a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from hqm.benchmark.recorded import first_field
from hqm.errors import AnswerError
from hqm.files.records import read_records, take
from hqm.types import Form, Judgement

RATER = ":"
"""Stands between the name of the judge and that of the rater: `human:anna`."""

HUMAN = "human"
"""The judge of all labels that people gave. Whoever else labels answers (an oracle, another parser of the key) has another name."""

LabelledBy = Literal["people", "oracle"]


def labelled_by(judge: str) -> LabelledBy:
    """Who gave the labels of a judge: people, or an oracle or rule that reads the same key as the scorer.

    Gate, tables and sentences ask this function alone whether there were people.

    >>> labelled_by("human"), labelled_by("human:anna"), labelled_by("oracle")
    ('people', 'people', 'oracle')
    """
    return "people" if judge.partition(RATER)[0] == HUMAN else "oracle"


def read_criterion(path: Path, form: Form, respondents: Sequence[str] | None, judge: str = HUMAN) -> list[Judgement]:
    """Human labels: records with `item`, `respondent` and `label` (CSV or JSON lines).

    A label is 1 for a faithful answer, 0 for a hallucinated one, or a share between them where several people judged. An
    empty label means that the rater did not decide. When `respondents` is None, the field `respondent` may hold any name
    and may be missing. Several raters may label the same answer if a field `rater` names them: the judge's label is then
    their mean, and each rater's own labels are kept as the judge `human:<rater>`, so that their agreement can be estimated.

    Raises
    ------
    AnswerError
        An item or respondent is unknown, a name could mean several respondents, a label is no number between 0 and 1, or
        a pair is labelled twice.
    """
    labels: dict[tuple[str, str, str], Judgement] = {}
    for i, record in enumerate(read_records(path), 1):
        place = f"{path}: record {i}"
        item = str(first_field(record, ("item", "id"), place))
        name = str(record.get("respondent", "") if respondents is None else take(record, "respondent", place))
        if item not in form.by_id:
            raise AnswerError(f"the benchmark has no item {item!r}", place=place)
        name = name if respondents is None else respondent_named(name, respondents, place)
        rater = str(record.get("rater") or "")
        if (item, name, rater) in labels:
            raise AnswerError(
                f"{item!r} of {name!r} is labelled twice", place=place, remedy="Name who labelled in a field 'rater'."
            )
        who = f"{judge}{RATER}{rater}" if rater else judge
        labels[item, name, rater] = Judgement(who, item, name, _label(take(record, "label", place), place))
    if not labels:
        raise AnswerError("it holds no label", place=str(path))
    return _pooled(list(labels.values()), judge)


def respondent_named(name: str, respondents: Sequence[str], place: str) -> str:
    """The respondent that a file means: its whole name, or as much of its end as no other respondent shares.

    The kind in front (`recorded/`, `hf/`, `openai/`), an owner and a folder may be left out, and so may the settings behind
    a question mark.

    >>> respondent_named("llava", ["recorded/llava", "hf/org/instructblip"], "labels.csv")
    'recorded/llava'

    Raises
    ------
    AnswerError
        No respondent has this name, or several do.
    """
    if name in respondents:
        return name
    meant = [respondent for respondent in respondents if name in _short_names(respondent)]
    if len(meant) == 1:
        return meant[0]
    if meant:
        what = f"the respondent {name!r} could be {', '.join(meant[:-1])} or {meant[-1]}"
        raise AnswerError(what, place=place, remedy="Write the whole name.")
    raise AnswerError(f"there is no respondent {name!r}", place=place, remedy=f"There are {', '.join(respondents)}.")


def _short_names(respondent: str) -> set[str]:
    """What a respondent may be called: every end of its name behind a slash or a colon, with and without its settings."""
    names = {respondent, respondent.partition("?")[0]}
    return names | {name[i + 1 :] for name in names for i, character in enumerate(name) if character in "/:"}


def _pooled(labels: Sequence[Judgement], judge: str) -> list[Judgement]:
    """The labels of each rater, preceded by their mean for every answer as the label of the judge itself."""
    if all(label.judge == judge for label in labels):
        return list(labels)
    by_answer: dict[tuple[str, str], list[Judgement]] = {}
    for label in labels:
        by_answer.setdefault((label.item, label.respondent), []).append(label)
    means = []
    for (item, name), of_answer in by_answer.items():
        decided = [label.label for label in of_answer if label.label is not None]
        means.append(Judgement(judge, item, name, sum(decided) / len(decided) if decided else None))
    return [*means, *(label for label in labels if label.judge != judge)]


def _label(value: object, place: str) -> float | None:
    if value is None or value == "":
        return None
    try:
        label = float(str(value))
    except ValueError:
        label = -1.0
    if not 0 <= label <= 1:
        raise AnswerError(
            f"the label is {value!r}", place=place, remedy="Write 1 (faithful), 0 (hallucinated) or a share."
        )
    return label
