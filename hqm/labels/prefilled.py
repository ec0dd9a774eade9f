"""The facts with which people begin who label facts: those that a judge of the benchmark already
made of the answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hqm.administration.asks import Asks
from hqm.administration.holdings import respondents_in
from hqm.benchmark.asking import AskJudge, Part, Prompts
from hqm.benchmark.interface import Benchmark
from hqm.benchmark.registry import load
from hqm.errors import DataError, NoReply, UnreadableReply
from hqm.judges.brought import judges_of, stored
from hqm.labels.facts import Fact, Sentence
from hqm.labels.plan import LabelPlan
from hqm.store.questions import ask as asked
from hqm.types import Cell, Item, Response

_PROMPTS: tuple[Prompts, ...] = ("hqm", "official")


class StoredFacts:
    """What the stored replies of judges say about the parts and facts of answers; nobody is asked.

    A judge may have been asked in any mode of the benchmark, and in its own or in HQM's words: the
    first way in which the store holds all replies that an answer needs is taken. Judgements that a
    file brought are looked at too.
    """

    def __init__(self, plan: LabelPlan, benchmark: Benchmark, asks: Asks) -> None:
        self._asks = asks
        self._ways = (
            tuple(_ways(plan, benchmark)) if type(benchmark).parts is not Benchmark.parts else ()
        )
        self._replies: dict[str, Response] | None = None

    def of(
        self, item: Item, response: Response, respondent: str, cell: Cell
    ) -> tuple[Sentence, ...]:
        """The parts of an answer with their facts; empty where no judge's replies are stored, or
        they cannot be read.
        """
        for benchmark in self._ways:
            for ask in self._askers(benchmark, item, respondent, cell):
                parts = asyncio.run(_parts(benchmark, item, response, ask))
                if any(part.facts for part in parts):
                    # which parts describe the picture is for people to say: what the judge decided
                    # is not shown
                    return tuple(
                        Sentence(part.text, facts=tuple(map(Fact, part.facts))) for part in parts
                    )
        return ()

    def _askers(
        self, benchmark: Benchmark, item: Item, respondent: str, cell: Cell
    ) -> Iterator[AskJudge]:
        async def from_store(
            role: str, prompt: str, image: str | None = None, schema: Any = None
        ) -> str:
            picture, _, _ = self._asks.picture(benchmark, image)
            reply = self._known(benchmark).get(asked(prompt, image, picture).digest)
            if reply is None or reply.outcome != "ok":
                raise NoReply("no reply is stored", place=role)
            return reply.text

        yield from_store
        for judge in judges_of(benchmark, stored(self._asks.store, benchmark)):
            yield judge.ask_about(respondent, cell)(item)

    def _known(self, benchmark: Benchmark) -> Mapping[str, Response]:
        """Digest of the question -> the reply, of everybody who did not answer the benchmark
        itself.
        """
        if self._replies is None:
            store = self._asks.store
            answering = {who.number for who in respondents_in(self._asks, benchmark)}
            self._replies = {}
            for number, _, _ in reversed(store.respondents()):
                if number not in answering:
                    self._replies |= store.replies(number, 0)
        return self._replies


def _ways(plan: LabelPlan, benchmark: Benchmark) -> Iterator[Benchmark]:
    """The benchmark in each mode, and with each wording of its judge's questions."""
    # what is official of the reading of marks are its slips
    scoring = "paper" if "paper" in benchmark.scorings else benchmark.scoring
    for mode in benchmark.modes or (None,):
        for prompts in _PROMPTS:
            yield load(
                plan.benchmark,
                data=plan.data or None,
                images=plan.images or None,
                mode=mode,
                prompts=prompts,
                scoring=scoring,
            )


async def _parts(
    benchmark: Benchmark, item: Item, response: Response, ask: AskJudge
) -> Sequence[Part]:
    try:
        return await benchmark.parts(item, response, ask)
    except (NoReply, UnreadableReply, DataError):  # a release's own prompts need not be there
        return ()
