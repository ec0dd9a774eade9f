"""Scores where a rule stopped the asking before all items (`hqm audit --until`).

An audit looks at the pictures that all respondents were asked, a random sample on which nothing
is missing because of the rule. A respondent that was asked more has a further score on all of
them, with an interval that holds whenever asking stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hqm.administration.asks import StoredRespondent
from hqm.administration.stops import Stopped, cluster_of
from hqm.errors import DesignError
from hqm.scoring.matrix import ScoreMatrix
from hqm.types import Cell, Form

if TYPE_CHECKING:
    pass


def common_items(stopped: Stopped, form: Form) -> npt.NDArray[np.bool_]:
    """(items,): whether an item of a form is about a picture that all respondents were asked.

    Raises
    ------
    DesignError
        There is none.
    """
    # The first pictures of the order, which is random and the same for all respondents
    # (`hqm.administration.stops`).
    asked_clusters = set(stopped.order.clusters[: stopped.pictures])
    common = np.array([cluster_of(item) in asked_clusters for item in form.items])
    if not common.any():
        raise DesignError(
            "the respondents stopped before they had a picture in common",
            location=stopped.order.benchmark,
            remedy="Ask them again, with the rule or without it.",
        )
    return common


def on_common_items(stopped: Stopped, matrix: ScoreMatrix) -> ScoreMatrix:
    """An administration cut to the pictures that all respondents were asked; its cell says so."""
    form = Form(matrix.cell.form, matrix.items)
    common = common_items(stopped, form)
    items = list(compress(matrix.ids, common))
    return replace(matrix.take(matrix.respondents, items), cell=stopped_cell(stopped, matrix.cell))


def stopped_cell(stopped: Stopped, cell: Cell) -> Cell:
    """The cell of the stopped administration."""
    return replace(cell, until=stopped.label)


def stopped_rows(
    stopped: Stopped, form: Form, respondents: Sequence[StoredRespondent]
) -> dict[str, object]:
    """What `audit.json` says of it: the rule, the order's seed, the pictures used, and a row for
    each respondent.

    `inclusion` is the probability that a picture was among those asked, the same for all pictures.
    """
    total = len(stopped.order.clusters)
    n_common = int(common_items(stopped, form).sum())
    rows: list[Mapping[str, object]] = []
    for respondent in respondents:
        stop = stopped.stops.get(respondent.number)
        n_answered = stopped.n_answered[respondent.number]
        row: dict[str, object] = {
            "respondent": respondent.name,
            "pictures": n_answered,
            "inclusion": n_answered / total,
        }
        row["items"] = len(stopped.order.items(form, 0, n_answered))
        if n_answered == total:
            row["why"] = "every item was asked"
        elif stop is None:
            row["why"] = "it was not asked further, and no rule had stopped it"
        else:
            row |= {"why": stop.why, "stopped_after": stop.items}
        if stop is not None:
            row |= {"rule": stop.rule, "metric": stop.metric, "level": stop.level}
            row |= {"score": stop.score, "low": stop.low, "high": stop.high}
        rows.append(row)
    return {
        "rule": stopped.rule,
        "seed": stopped.order.seed,
        "pictures": stopped.pictures,
        "of_pictures": total,
        "items": n_common,
        "of_items": len(form.items),
        "inclusion": stopped.pictures / total,
        "respondents": rows,
    }
