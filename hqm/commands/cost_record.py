"""What the answers of an audit took, for its record: `hqm design` prices another study with it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np

from hqm.administration.costs import prices_of
from hqm.auditing.evidence import Evidence
from hqm.benchmark.labels import LabelContext
from hqm.judges.brought import Judge
from hqm.judges.judging import Judging
from hqm.judges.panel import parse_judge
from hqm.respondents.base import Respondent
from hqm.respondents.budget import Prices
from hqm.store.database import Store


def study_costs(
    store: Store,
    evidence: Evidence,
    respondents: Sequence[Respondent],
    judges: Sequence[Judge],
    prices: Prices | None = None,
) -> dict[str, Any]:
    """What respondents, judges and people took for their answers, verdicts and labels, as far as
    the store has measured it.

    Parameters
    ----------
    respondents
        Those of the command: their names may have prices.
    prices
        Of every respondent, in place of its own.
    """
    named = {who.name: prices or prices_of(who) for who in respondents}
    each = {
        who.name: _used(store, who.number, named.get(who.name, prices))
        for who in evidence.respondents
    }
    costs: dict[str, Any] = {"respondents": {name: used for name, used in each.items() if used}}
    panel = next((judge for judge in judges if isinstance(judge, Judging)), None)
    number = (
        None
        if panel is None
        else store.find_respondent(panel.panel.main.name, panel.identity(panel.panel.main))
    )
    if panel is not None and number is not None:
        judged = [m for c, m in evidence.matrices.items() if parse_judge(c.judge)[0] == panel.label]
        verdicts = sum(int(np.isfinite(matrix.values).sum()) for matrix in judged)
        used = _used(store, number, prices or prices_of(panel.panel.main))
        replies = used.get("answers", 0) / verdicts if verdicts else 1.0
        costs["judge"] = {"name": panel.panel.main.name, **used, "replies_a_verdict": replies}
    times = [t for j in evidence.labels.judgements if (t := LabelContext.of(j).seconds) is not None]
    return {**costs, **({"label_seconds": median(times)} if times else {})}


def _used(store: Store, number: int, prices: Prices | None) -> dict[str, Any]:
    """Tokens, mean seconds and prices of whoever has this number; empty where nothing was
    measured.
    """
    usage = store.usage(number)
    timed, seconds = store.seconds(number)
    measured: dict[str, Any] = {}
    if usage.tokens_in:
        measured |= {"tokens_in": usage.tokens_in, "tokens_out": usage.tokens_out}
    if timed:
        measured["seconds"] = float(seconds) / timed
    if prices is not None:
        measured |= {"price_in": prices[0], "price_out": prices[1]}
    return {"answers": usage.answers, **measured} if measured else {}
