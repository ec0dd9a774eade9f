"""A stopped administration as an audit sees it: the pictures that all respondents were asked, a
random sample of the benchmark's.

Every indicator is computed on these pictures, on which nothing is missing because of the rule. A
respondent that was asked more has a score of its own on all that it was asked, with an interval
that holds whenever asking stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hqm.administration.assignment import StoredRespondent
from hqm.administration.stops import Stopped, cluster_of
from hqm.errors import DesignError
from hqm.scoring.matrix import ScoreMatrix
from hqm.types import Cell, Form


def common_items(stopped: Stopped, form: Form) -> npt.NDArray[np.bool_]:
    """(items,): whether an item of a form is about a picture that all respondents were asked.

    Raises
    ------
    DesignError
        There is none.
    """
    asked = set(stopped.order.clusters[: stopped.pictures])
    chosen = np.array([cluster_of(item) in asked for item in form.items])
    if not chosen.any():
        raise DesignError(
            "the respondents stopped before they had a picture in common",
            place=stopped.order.benchmark,
            remedy="Ask them again, with the rule or without it.",
        )
    return chosen


def on_common_items(stopped: Stopped, matrix: ScoreMatrix) -> ScoreMatrix:
    """An administration cut to the pictures that all respondents were asked; its cell says so."""
    form = Form(matrix.cell.form, matrix.items)
    chosen = common_items(stopped, form)
    items = [item.id for item, inside in zip(matrix.items, chosen, strict=True) if inside]
    return replace(matrix.take(matrix.respondents, items), cell=stopped_cell(stopped, matrix.cell))


def stopped_cell(stopped: Stopped, cell: Cell) -> Cell:
    """The cell of the stopped administration."""
    return replace(cell, until=stopped.label)


def stopped_rows(
    stopped: Stopped, form: Form, respondents: Sequence[StoredRespondent]
) -> dict[str, Any]:
    """What `audit.json` says of it: the rule, the order's seed, the pictures used, and a row for
    each respondent.

    `inclusion` is the probability that a picture was among those asked, the same for all pictures.
    """
    total, inside = len(stopped.order.clusters), int(common_items(stopped, form).sum())
    rows: list[Mapping[str, Any]] = []
    for who in respondents:
        stop, asked = stopped.stops.get(who.number), stopped.asked[who.number]
        row: dict[str, Any] = {
            "respondent": who.name,
            "pictures": asked,
            "inclusion": asked / total,
        }
        row["items"] = len(stopped.order.items(form, 0, asked))
        if asked == total:
            row["why"] = "every item was asked"
        elif stop is None:
            row["why"] = "it was not asked further, and no rule had stopped it"
        else:
            row |= {"why": stop.why, "stopped_after": stop.items}
        if stop is not None:
            names = ("rule", "metric", "level", "score", "low", "high")
            row |= {name: getattr(stop, name) for name in names}
        rows.append(row)
    return {
        "rule": stopped.rule,
        "seed": stopped.order.seed,
        "pictures": stopped.pictures,
        "of_pictures": total,
        "items": inside,
        "of_items": len(form.items),
        "inclusion": stopped.pictures / total,
        "respondents": rows,
    }
