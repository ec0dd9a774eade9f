"""Whether an administration exists: an answer to a form's question does not yet mean that the form
was put.

Answers are shared by what is asked. A benchmark that asks a question and its negation about one
picture therefore holds some answers to its parallel form as soon as the original form was answered.
What was put is recorded in the store.
"""

from __future__ import annotations

from collections.abc import Collection

from hqm.administration.asks import Asks
from hqm.administration.assignment import StoredRespondent
from hqm.benchmark.interface import Benchmark
from hqm.store.database import Store
from hqm.types import ORIGINAL, Form

_COMPLETE = 0.5
"""The share of a form's own questions that must be answered where no record says that the form was
put.
"""


def was_put(
    asks: Asks,
    benchmark: Benchmark,
    form: Form,
    respondent: StoredRespondent,
    run: int,
    answered: Collection[int] | None = None,
) -> bool:
    """Whether a respondent was put a form of a benchmark in a run.

    A record of just this form decides. Where the form was put under the same name but with other
    questions (fewer of them, or corrected ones), or where the store is older than such records, at
    least half of the questions that only this form asks must be answered, among the items that the
    respondent answered in the original form. Of the original form's first run, any answer is enough
    then. Smaller pictures were put only where a record says so.

    Parameters
    ----------
    answered
        The numbers of the asks that the respondent answered in this run, where they are known
        already.
    """
    store = asks.store
    if answered is None:
        answered = _answered(store, respondent, run)
    numbers = asks.numbers(benchmark, form, respondent.live)
    if not any(number in answered for number in numbers):
        return False
    sight = asks.sight
    records = store.administrations(respondent.number, benchmark.name)
    if (form.name, form.digest, run, sight) in records:
        return True
    if (store.whole or asks.resolution) and not any(
        (name, at, seen) == (form.name, run, sight) for name, _, at, seen in records
    ):
        return False
    if form.name == ORIGINAL and run == 0 and not asks.resolution:
        return True
    return _is_complete(asks, benchmark, form, respondent, numbers, answered)


def _is_complete(
    asks: Asks,
    benchmark: Benchmark,
    form: Form,
    respondent: StoredRespondent,
    numbers: list[int],
    answered: Collection[int],
) -> bool:
    """Whether the answers to what only this form asks are as many as a form that was put would
    have.
    """
    original = dict(
        zip(
            benchmark.original.by_id,
            asks.numbers(benchmark, benchmark.original, respondent.live),
            strict=True,
        )
    )
    first = _answered(asks.store, respondent, 0)
    reference = {item for item, number in original.items() if number in first}
    shared = set() if form.name == ORIGINAL else set(original.values())
    by_item = dict(zip(form.by_id, numbers, strict=True))
    wanted = {item: number for item, number in by_item.items() if item in reference} or by_item
    own = [number for number in wanted.values() if number not in shared]
    if own:
        return sum(number in answered for number in own) >= _COMPLETE * len(own)
    return all(number in answered for number in wanted.values())


def _answered(store: Store, respondent: StoredRespondent, run: int) -> set[int]:
    """The numbers of the asks that a respondent answered in a run; no text is read for that."""
    rows = store.select(
        "SELECT ask FROM answers WHERE respondent = ? AND run = ?", respondent.number, run
    )
    return {number for (number,) in rows}
