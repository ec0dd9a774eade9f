"""Run a benchmark's judge procedure over answers, with whatever `ask` it is given."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from hqm.benchmark.asking import AskJudge
from hqm.benchmark.interface import Benchmark
from hqm.errors import NoReply
from hqm.scoring.rules import settle
from hqm.types import Form, Item, Response, Verdict

Rows = Mapping[str, Sequence[Response | None]]
"""Respondent -> its responses in the order of the form's items; None for what was never asked."""

_TOGETHER = 512
"""Answers whose procedures run at a time."""


class NotAsked(NoReply):
    """The reply is not in the store yet; the question was noted."""


AskAbout = Callable[[Item], AskJudge]
"""The `ask` for the procedure on one item."""


def verdicts(benchmark: Benchmark, form: Form, rows: Rows, ask_about: AskAbout) -> dict[str, list[Verdict]]:
    """The verdict on every answer, in the order of the form's items.

    An answer that is an error or missing is not put to the judge. Equal answers to one item are judged once, unless the
    procedure judges all answers to an item together.
    """
    return asyncio.run(_all(benchmark, form, rows, ask_about))


async def _all(benchmark: Benchmark, form: Form, rows: Rows, ask_about: AskAbout) -> dict[str, list[Verdict]]:
    found: dict[str, list[Verdict]] = {name: [] for name in rows}
    rows = {name: _beside(benchmark, form, row) for name, row in rows.items()}
    for start in range(0, len(form.items), _TOGETHER):
        part = range(start, min(start + _TOGETHER, len(form.items)))
        one = _together if benchmark.jointly else _one_by_one
        tasks = ((form.items[i], _answers(rows, i)) for i in part)
        done = await asyncio.gather(*(one(benchmark, item, given, ask_about(item)) for item, given in tasks))
        for by_name in done:
            for name, verdict in by_name.items():
                found[name].append(verdict)
    return found


def _beside(benchmark: Benchmark, form: Form, row: Sequence[Response | None]) -> Sequence[Response | None]:
    """One respondent's answers with those of its other answers that the procedure sees beside them."""
    if type(benchmark).beside is Benchmark.beside:
        return row
    given = {item.id: answer for item, answer in zip(form.items, row, strict=True) if answer is not None}
    return [
        None if answer is None else benchmark.with_beside(item, answer, given)
        for item, answer in zip(form.items, row, strict=True)
    ]


def _key(answer: Response) -> tuple[object, ...]:
    """Answers with equal keys get one verdict: the text, how it ended, and what is seen beside it."""
    return (answer.text, answer.state, *sorted(answer.detail.get("beside", {}).items()))


def _answers(rows: Rows, i: int) -> dict[str, Response]:
    never = Response("", "missing", "not asked")
    return {name: row[i] or never for name, row in rows.items()}


def _unasked(response: Response) -> Verdict | None:
    """The verdict on an answer that no judge need see."""
    if response.state in ("error", "missing"):
        return Verdict.unscored(response.state, response.reason)
    return None


async def _one_by_one(
    benchmark: Benchmark, item: Item, answers: Mapping[str, Response], ask: AskJudge
) -> dict[str, Verdict]:
    distinct = {_key(answer): answer for answer in answers.values() if _unasked(answer) is None}
    made = await asyncio.gather(*(_settled(benchmark.judge(item, one, ask), one) for one in distinct.values()))
    by_key = dict(zip(distinct, made, strict=True))
    return {name: _unasked(a) or by_key[_key(a)] for name, a in answers.items()}


async def _together(
    benchmark: Benchmark, item: Item, answers: Mapping[str, Response], ask: AskJudge
) -> dict[str, Verdict]:
    judged = {name: answer for name, answer in answers.items() if _unasked(answer) is None}
    try:
        made = await benchmark.judge_together(item, judged, ask) if judged else {}
    except Exception as error:
        made = dict.fromkeys(judged, _failed(error))
    left_out = Verdict.unscored("unparsed", "the joint reply does not speak of this answer")
    return {name: _unasked(a) or made.get(name, left_out) for name, a in answers.items()}


async def _settled(judging: Awaitable[Verdict], response: Response) -> Verdict:
    try:
        return settle(await judging, response)
    except Exception as error:
        return _failed(error)


def _failed(error: Exception) -> Verdict:
    """A procedure that could not finish leaves its answer unscored; it never takes the other answers with it."""
    if isinstance(error, NotAsked):
        return Verdict.unscored("missing", "no judge was asked")
    if isinstance(error, NoReply):
        return Verdict.unscored("error", str(error))
    if isinstance(error, (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)):
        return Verdict.unscored("unparsed", f"the reply could not be read ({type(error).__name__}: {error})")
    raise error
