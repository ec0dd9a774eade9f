"""Ask judges what is missing, store every raw reply, and read verdicts from the store.

A procedure is a function of the replies it got, so judging is a fixed point: run all procedures on what the store holds,
note what they asked that it does not, ask that, store it, and run them again, until nothing is missing. Killed in the
middle, it goes on where it was; asked a second time, it costs nothing; with another `asking` it asks anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from hqm.administration.administer import Desk
from hqm.administration.engines.local import answer_all
from hqm.benchmark.interface import Benchmark
from hqm.errors import HQMError, NoReply
from hqm.judges.panel import Panel, named
from hqm.judges.procedure import NotAsked, Rows, verdicts
from hqm.respondents.base import Request, Respondent, RespondentName, Sampling
from hqm.scoring.matrix import MatrixBuilder, ScoreMatrix
from hqm.signature import digest, digest_all, request_seed
from hqm.store.database import Ask, Store, ask
from hqm.types import Cell, Form, Response

WAVES = 200
"""How often a procedure may come back with new questions about one answer before it is taken to be stuck."""

Progress = Callable[[str, int, int], None]
"""Called with the judge's name, how many replies came in, and how many this wave asks for."""


@dataclass(frozen=True)
class _Call:
    """One question to one role."""

    respondent: Respondent
    ask: Ask
    request: Request


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of judging: how many questions were asked, how many replies are errors, and who had to be given up."""

    asked: int
    errors: int
    failed: tuple[tuple[str, HQMError], ...] = ()


class JudgeDesk:
    """A panel before one benchmark.

    Parameters
    ----------
    desk
        The desk at the store, which knows the pictures.
    benchmark
        Whose procedure is run.
    panel
        Who plays the roles.
    overrides
        Sampling that the command line asks for; a judge's own name goes before it, the card's `[judging]` after it.
    """

    def __init__(self, desk: Desk, benchmark: Benchmark, panel: Panel, overrides: Mapping[str, Any] | None = None):
        self.desk, self.benchmark, self.panel = desk, benchmark, panel
        given = {k: v for k, v in (overrides or {}).items() if v is not None}
        self._default = Sampling(**{**benchmark.card.judging.model_dump(), **given})

    @property
    def store(self) -> Store:
        return self.desk.store

    def sampling(self, respondent: Respondent) -> Sampling:
        """How a judge's replies are drawn."""
        return RespondentName.parse(respondent.name).sampling(self._default)

    def identity(self, respondent: Respondent) -> dict[str, Any]:
        """Who replied, in the store's terms."""
        return {**respondent.identity(), **asdict(self.sampling(respondent))}

    def asking(self, number: int, *, retry: bool = False) -> Asking:
        """The panel's n-th asking, as the store has it now; `retry`: what failed earlier counts as missing."""
        return Asking(self, number, retry)

    def askings(self) -> list[int]:
        """The askings of which the store holds any reply of the main judge."""
        who = self.store.find_respondent(self.panel.main.name, self.identity(self.panel.main))
        return [] if who is None else self.store.runs(who)

    def pending(self, form: Form, rows: Rows, number: int = 0) -> int:
        """How many questions are known to be missing; a later stage may ask more."""
        asking = self.asking(number, retry=True)
        verdicts(self.benchmark, form, rows, lambda _: asking)
        return len(asking.missing)

    def judge(self, form: Form, rows: Rows, number: int = 0, progress: Progress | None = None) -> Judged:
        """Ask until nothing is missing; every reply is stored as it comes in."""
        asked = errors = 0
        failed: dict[str, HQMError] = {}
        asking = self.asking(number, retry=True)
        for _ in range(WAVES):
            asking.missing.clear()
            verdicts(self.benchmark, form, rows, lambda _: asking)
            todo = [call for call in asking.missing.values() if call.respondent.name not in failed]
            if not todo:
                break
            for call, response in self._ask(todo, number, failed):
                asking.learn(call, response)
                asked += 1
                errors += response.state == "error"
                if progress:
                    progress(named(self.panel.label, number), asked, len(todo))
        # what failed, or still comes back with new questions, is counted: the command did not do what it was asked to
        left = sum(call.respondent.name not in failed for call in asking.missing.values())
        return Judged(asked, errors + left, tuple(failed.items()))

    def _ask(self, calls: Sequence[_Call], number: int, failed: dict[str, HQMError]) -> Any:
        by_model: dict[str, list[_Call]] = {}
        for call in calls:
            by_model.setdefault(call.respondent.name, []).append(call)
        groups = list(by_model.values())
        owner = {id(call.request): call for call in calls}
        for i, batch in answer_all([(mine[0].respondent, [c.request for c in mine]) for mine in groups], workers=1):
            judge = groups[i][0].respondent
            if isinstance(batch, HQMError):
                failed[judge.name] = batch
                continue
            who = self.store.respondent(judge.name, self.identity(judge))
            self.store.append(who, number, [(owner[id(request)].ask, response) for request, response in batch])
            for request, response in batch:
                yield owner[id(request)], response

    def matrix(self, cell: Cell, form: Form, rows: Rows, number: int = 0) -> ScoreMatrix:
        """The verdicts of one administration, from stored replies alone."""
        asking = self.asking(number)
        found = verdicts(self.benchmark, form, rows, lambda _: asking)
        made_by = self.benchmark
        builder = MatrixBuilder(cell, form, made_by.verdict, made_by.subsets, made_by.groupings, made_by.relate)
        hashes = []
        for name, row in rows.items():
            builder.add_verdicts(name, row, found[name])
            hashes.append(digest_all("" if r is None else f"{r.state} {r.text}" for r in row))
        return builder.build(digest_all([*hashes, *sorted(asking.used)]))


@dataclass
class Asking:
    """One asking of a panel: an `ask` that gives stored replies and notes what is missing."""

    desk: JudgeDesk
    number: int
    retry: bool = False
    missing: dict[tuple[str, str], _Call] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    """Hashes of the replies that were given out."""
    _replies: dict[str, dict[str, Response]] = field(default_factory=dict)
    _asked_now: set[tuple[str, str]] = field(default_factory=set)

    async def __call__(
        self, role: str, prompt: str, image: str | None = None, schema: Mapping[str, Any] | None = None
    ) -> str:
        """The stored reply; `NotAsked` where there is none yet, `NoReply` where the judge failed."""
        judge = self.desk.panel.of(role)
        picture, path, reason = self.desk.desk.picture(self.desk.benchmark, image)
        if reason and picture is None:
            raise NoReply(reason, place=judge.name)
        apart = ("schema", digest(schema)) if schema is not None else ()
        one = ask(prompt, image, picture, apart=apart)
        response = self._known(judge).get(one.digest)
        key = (judge.name, one.digest)
        if response is None or (self.retry and response.state == "error" and key not in self._asked_now):
            if reason:
                raise NoReply(reason, place=judge.name)
            sampling = self.desk.sampling(judge)
            seed = request_seed(sampling.seed, self.number, one.digest)
            request = Request(prompt, path, sampling, seed, self.desk.benchmark.name, "", self.number, role, schema)
            self.missing[key] = _Call(judge, one, request)
            raise NotAsked("no reply is stored", place=judge.name)
        if response.state == "error":
            raise NoReply(response.reason, place=judge.name)
        self.used.add(digest([judge.name, one.digest, self.number, response.text]))
        return response.text

    def learn(self, call: _Call, response: Response) -> None:
        """Take in a reply that has just been stored."""
        self._known(call.respondent)[call.ask.digest] = response
        self._asked_now.add((call.respondent.name, call.ask.digest))

    def _known(self, judge: Respondent) -> dict[str, Response]:
        if judge.name not in self._replies:
            store = self.desk.store
            who = store.find_respondent(judge.name, self.desk.identity(judge))
            self._replies[judge.name] = {} if who is None else store.replies(who, self.number)
        return self._replies[judge.name]
