"""Human labels of answers, read from a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hqm.benchmark.recorded import first_field
from hqm.errors import AnswerError
from hqm.files.records import read_records, take
from hqm.types import Form, Judgement

RATER = ":"
"""Stands between the name of the judge and that of the rater: `human:anna`."""


def read_criterion(path: Path, form: Form, respondents: Sequence[str] | None, judge: str = "human") -> list[Judgement]:
    """Human labels: records with `item`, `respondent` and `label` (CSV or JSON lines).

    A label is 1 for a faithful answer, 0 for a hallucinated one, or a share between them where several people judged. An
    empty label means that the rater did not decide. When `respondents` is None, the field `respondent` may hold any name
    and may be missing. Several raters may label the same answer if a field `rater` names them: the judge's label is then
    their mean, and each rater's own labels are kept as the judge `human:<rater>`, so that their agreement can be estimated.

    Raises
    ------
    AnswerError
        An item or respondent is unknown, a label is no number between 0 and 1, or a pair is labelled twice.
    """
    short = {name.rpartition("/")[2].rpartition(":")[2]: name for name in respondents or ()}
    labels: dict[tuple[str, str, str], Judgement] = {}
    for i, record in enumerate(read_records(path), 1):
        place = f"{path}: record {i}"
        item = str(first_field(record, ("item", "id"), place))
        name = str(record.get("respondent", "") if respondents is None else take(record, "respondent", place))
        name = short.get(name, name) if name not in (respondents or ()) else name
        if item not in form.by_id:
            raise AnswerError(f"the benchmark has no item {item!r}", place=place)
        if respondents is not None and name not in respondents:
            raise AnswerError(
                f"there is no respondent {name!r}", place=place, remedy=f"There are {', '.join(respondents)}."
            )
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
