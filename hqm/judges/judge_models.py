"""Ask judges what is missing, store every raw reply, and read verdicts from the store.

A procedure is a function of the replies it got, so judging is a fixed point: run all procedures on
what the store holds, note what they asked that it does not, ask that, store it, and run them again,
until nothing is missing. Killed in the middle, it goes on where it was; asked a second time, it
costs nothing; with another `asking` it asks anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from hqm.administration.administering import Outcome, give_budget
from hqm.administration.asks import Asks
from hqm.administration.costs import prices_of
from hqm.administration.engines.local import Stop, answer_here, is_light, never_stop
from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.judge_api import judge_name
from hqm.errors import HQMError, NoReply
from hqm.judges.procedure import NotAsked, Panel, Rows, Unit, decisions, judged_matrix, verdicts
from hqm.respondents.base import Request, Respondent, RespondentName, Sampling, who_answers
from hqm.respondents.server_limits import Budget, Hold
from hqm.scoring.matrix import ScoreMatrix
from hqm.signature import digest, request_seed
from hqm.store.database import Ask, Store, ask, refused_asks
from hqm.types import Cell, Form, Response

# A procedure that is no function of its replies asks something new in every wave, and has to end
# somewhere.
WAVES = 200
"""How often a procedure may come back with new questions about one answer before it is taken to be
stuck.
"""

LIMIT = "max_tokens"
"""Where the detail of a reply keeps the tokens that it was allowed."""
_MAX_LIMIT_FACTOR = 16
"""How many times the tokens of the settings a cut reply is asked for at most."""

Progress = Callable[[str, int, int], None]
"""Called with the judge's name, how many replies came in, and how many this wave asks for."""


@dataclass(frozen=True)
class _Question:
    """One question to one role."""

    respondent: Respondent
    ask: Ask
    request: Request


class Judging:
    """A panel that judges the answers to one benchmark.

    Parameters
    ----------
    asks
        What is asked: it knows the store and the pictures.
    benchmark
        Whose procedure is run.
    panel
        Which models play the roles.
    overrides
        Sampling that the command line asks for; a judge's own name goes before it, the card's
        `[judging]` after it.
    budget
        What may be spent; when a bound is reached, nothing more is asked.
    retry_errors
        Ask again what a server turned away for good.
    """

    def __init__(
        self,
        asks: Asks,
        benchmark: Benchmark,
        panel: Panel,
        overrides: Mapping[str, object] | None = None,
        *,
        budget: Budget | None = None,
        retry_errors: bool = False,
    ) -> None:
        self.asks = asks
        self.benchmark = benchmark
        self.panel = panel
        self.budget = budget or Budget()
        self.retry_errors = retry_errors
        sampling_overrides = {
            name: value for name, value in (overrides or {}).items() if value is not None
        }
        self._default = Sampling(**{**benchmark.card.judging.model_dump(), **sampling_overrides})
        self._loaded: Respondent | None = None
        """The model that needs much memory and is loaded; the next wave begins with it."""

    @property
    def store(self) -> Store:
        return self.asks.store

    @property
    def label(self) -> str:
        """The name of the panel in cells."""
        return self.panel.label

    def covers(self, cell: Cell) -> bool:
        """Whether it can be asked about an administration: about every one."""
        return True

    def sampling(self, judge: Respondent) -> Sampling:
        """Return the sampling settings of a judge."""
        return RespondentName.parse(judge.name).sampling(self._default)

    def identity(self, judge: Respondent) -> dict[str, object]:
        """Return the identity of a judge in the store: its model and its sampling settings."""
        return {**judge.identity(), **asdict(self.sampling(judge))}

    def asking(self, number: int, *, retry: bool = False) -> Asking:
        """The panel's n-th asking, as the store has it now; with `retry`, what failed earlier
        counts as missing.
        """
        return Asking(self, number, retry)

    def askings(self) -> list[int]:
        """The askings of which the store holds any reply of the main judge, or of the model of the
        first role where others play all roles.
        """
        players = list(map(self.panel.respondent, self.benchmark.roles))
        main = self.panel.main
        judge = main if main in players or not players else players[0]
        number = self.store.find_respondent(judge.name, self.identity(judge))
        if number is None:
            return []
        return self.store.runs(number)

    def prepare(self, form: Form, rows: Rows) -> None:
        """Choose what is asked of an administration, before it is judged; nothing to choose
        here.
        """

    def pending(self, form: Form, rows: Rows, units: Sequence[Unit] = ()) -> int:
        """Count the questions that are known to lack a reply, about answers and about labelled
        units.

        A later stage of the procedure may ask more.
        """
        asking = self.asking(0, retry=True)
        self.find_missing(asking, form, rows)
        self.find_undecided(asking, units)
        return len(asking.missing)

    def find_missing(self, asking: Asking, form: Form, rows: Rows) -> None:
        """Note what an asking would be asked about the answers of one administration."""
        self.prepare(form, rows)
        verdicts(self.benchmark, form, rows, lambda _: asking)

    def find_undecided(self, asking: Asking, units: Sequence[Unit]) -> None:
        """Note what an asking would be asked about labelled units."""
        decisions(self.benchmark, units, lambda _: asking)

    def first_requests(self, form: Form, row: Sequence[Response]) -> list[Request]:
        """Return what the first stage would ask about a row of answers; nothing is asked."""
        asking = replace(self.asking(0, retry=True), is_plan=True)
        verdicts(self.benchmark, form, {"": list(row)}, lambda _: asking)
        return [question.request for question in asking.missing.values()]

    def judge(
        self,
        form: Form,
        rows: Rows,
        number: int = 0,
        progress: Progress | None = None,
        stop: Stop = never_stop,
    ) -> Outcome:
        """Ask until nothing is missing; every reply is stored as it comes in. Once `stop` is true,
        nothing new is asked.

        A judge that was loaded or started stays so for the next call, until `close`.
        """

        self.prepare(form, rows)

        def run(asking: Asking) -> None:
            verdicts(self.benchmark, form, rows, lambda _: asking)

        return self._ask_until_complete(run, number, progress, stop)

    def decide(
        self, units: Sequence[Unit], progress: Progress | None = None, stop: Stop = never_stop
    ) -> Outcome:
        """Ask what each stage says of units that people labelled, until nothing is missing."""

        def run(asking: Asking) -> None:
            decisions(self.benchmark, units, lambda _: asking)

        return self._ask_until_complete(run, 0, progress, stop)

    def close(self) -> None:
        """Close the models that play the roles; one that is asked again is loaded or started
        again.
        """
        self._loaded = None
        members = (self.panel.main, *self.panel.role_models.values())
        # One model may play several roles, and is closed once.
        for respondent in {id(member): member for member in members}.values():
            respondent.close()

    def _ask_until_complete(
        self, run: Callable[[Asking], None], number: int, progress: Progress | None, stop: Stop
    ) -> Outcome:
        """Run a procedure on stored replies, ask what it missed, and run it again."""
        n_replies = n_errors = n_refused = 0
        reasons: Counter[str] = Counter()
        failed: dict[str, HQMError] = {}
        # What failed in an earlier command is asked once more by each command, and not again by the
        # waves of the same one.
        asking = self.asking(number, retry=True)
        for _ in range(WAVES):
            asking.missing.clear()
            run(asking)
            questions = asking.missing_but_of(failed)
            if not questions or self.budget.reached or stop():
                break
            for question, response in self._ask(questions, number, failed, stop):
                asking.learn(question, response)
                n_replies += 1
                if response.outcome != "ok":
                    n_errors += 1
                    reasons[response.reason or f"the reply is {response.outcome}"] += 1
                # A `final` error is one that the same request would meet again, such as a picture
                # that is too large for the server.
                n_refused += response.state == "error" and "final" in response.detail
                if progress:
                    progress(judge_name(self.panel.label, number), n_replies, len(questions))
        # what failed, or still comes back with new questions, is counted: the command did not do
        # what it was asked to
        n_missing = len(asking.missing_but_of(failed))
        return Outcome(
            n_replies,
            n_errors + n_missing,
            tuple(failed.items()),
            refused=n_refused,
            reasons=reasons,
        )

    def _ask(
        self, questions: Sequence[_Question], number: int, failed: dict[str, HQMError], stop: Stop
    ) -> Iterator[tuple[_Question, Response]]:
        """Yield each question with its reply, once that is stored; judges that fail go to
        `failed`.
        """
        by_judge: dict[str, list[_Question]] = {}
        for question in questions:
            by_judge.setdefault(question.respondent.name, []).append(question)
        # the judge that is loaded already is asked first
        groups = sorted(
            by_judge.values(), key=lambda group: group[0].respondent is not self._loaded
        )
        heavy = [g[0].respondent for g in groups if not is_light(g[0].respondent)]
        # two models may not have room beside each other
        if heavy and self._loaded is not None and self._loaded is not heavy[0]:
            self._loaded.close()
        self._loaded = heavy[-1] if heavy else self._loaded
        # Requests are matched by identity, since two questions may have equal ones.
        questions_by_request = {id(question.request): question for question in questions}
        holds: dict[int, Hold] = {}
        work = []
        for group in groups:
            judge = group[0].respondent
            requests = [question.request for question in group]
            work.append((judge, self._admit(judge, requests, holds)))
        # a judge that is loaded, or a server that is started, serves the next waves, unless another
        # one needs its room
        for i, batch in answer_here(
            work, range(len(work)), stop, lambda judge: judge in heavy[:-1]
        ):
            judge = groups[i][0].respondent
            if isinstance(batch, HQMError):
                failed[judge.name] = batch
                continue
            respondent = self.store.respondent(judge.name, self.identity(judge))
            replies = [
                (questions_by_request[id(request)], request, _with_limit(request, response))
                for request, response in batch
            ]
            # Stored before it is used: a command that is killed here has lost nothing that was paid
            # for.
            stored = self.store.append(
                respondent, number, [(question.ask, response) for question, _, response in replies]
            )
            # A reply that cannot be stored unchanged comes back as an error, and counts as one.
            for (question, request, _), response in zip(replies, stored, strict=True):
                if id(request) in holds:
                    self.budget.end(holds.pop(id(request)), request, response)
                yield question, response
        # what was held for requests that nobody answered is free again
        for hold in holds.values():
            self.budget.cancel(hold)

    def _admit(
        self, judge: Respondent, requests: list[Request], holds: dict[int, Hold]
    ) -> list[Request]:
        """The requests that the bounds allow. A server checks each of its requests itself."""
        counts = give_budget(judge, self.budget, self.store, [self.identity(judge)])
        if not counts and self.budget.bounded:
            requests, request_holds = self.budget.admit(requests, prices_of(judge))
            holds.update(zip(map(id, requests), request_holds, strict=True))
        return requests

    def matrix(self, cell: Cell, form: Form, rows: Rows, number: int = 0) -> ScoreMatrix:
        """The verdicts of one administration, from stored replies alone."""
        self.prepare(form, rows)
        asking = self.asking(number)
        benchmark = self.benchmark
        judged = verdicts(benchmark, form, rows, lambda _: asking)
        return judged_matrix(benchmark, cell, form, rows, judged, asking.used)


def _with_limit(request: Request, response: Response) -> Response:
    """A truncated reply with its limit of tokens, so that the next attempt has a higher limit."""
    if response.outcome not in ("truncated", "cut"):
        return response
    return response._replace(detail={**response.detail, LIMIT: request.sampling.max_tokens})


class _StoredReplies(NamedTuple):
    """The stored replies of a judge in one asking."""

    replies: dict[str, Response]
    """Digest of the question -> the last reply."""
    allowed: dict[int, int]
    """Number of the question -> the tokens that its last reply was allowed, of those that were
    cut.
    """
    refused: set[str]
    """The questions that its server turned away for good, unless they are to be asked again."""


@dataclass
class Asking:
    """One asking of a panel: an `ask` that gives stored replies and notes what is missing."""

    judging: Judging
    number: int
    retry: bool = False
    is_plan: bool = False
    """Whether nothing is asked: a picture that is not there yet is taken to be there."""
    missing: dict[tuple[str, str], _Question] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    """Hashes of the replies that were given out."""
    _stored: dict[str, _StoredReplies] = field(default_factory=dict)
    _new_replies: set[tuple[str, str]] = field(default_factory=set)

    async def __call__(
        self,
        role: str,
        prompt: str,
        image: str | None = None,
        schema: Mapping[str, object] | None = None,
    ) -> str:
        """The stored reply; `NotAsked` where there is none yet, `NoReply` where the judge did not
        come to its end.

        An error, a refusal, and a reply that is empty or was cut at the limit of tokens say
        nothing, whatever can be read in them: they are asked again by the next command, a cut one
        with twice the tokens.
        """
        judging = self.judging
        judge = judging.panel.respondent(role)
        picture, path, reason = judging.asks.picture(judging.benchmark, image)
        if self.is_plan and image is not None and picture is None:
            path, reason = Path(image), ""
        if reason and picture is None:
            raise NoReply(reason, location=judge.name)
        # Another schema is another question, though its words are the same.
        schema_key = ("schema", digest(schema)) if schema is not None else ()
        question = ask(prompt, image, picture, salt=schema_key)
        stored = self._stored_replies(judge)
        response = stored.replies.get(question.digest)
        key = (judge.name, question.digest)
        is_retried = (
            self.retry and key not in self._new_replies and question.digest not in stored.refused
        )
        if response is None or (is_retried and response.outcome != "ok"):
            if reason:
                raise NoReply(reason, location=judge.name)
            sampling = judging.sampling(judge)
            # Half a reply may end in the opposite of what it would have said; asked again it gets
            # twice the room.
            if response is not None and response.outcome in ("truncated", "cut"):
                limit = stored.allowed.get(
                    judging.store.ask_ids([question])[question.digest], sampling.max_tokens
                )
                sampling = replace(
                    sampling, max_tokens=min(2 * limit, _MAX_LIMIT_FACTOR * sampling.max_tokens)
                )
            judge_identity = who_answers(judge.name, judging.identity(judge))
            seed = request_seed(sampling.seed, judge_identity, self.number, question.digest)
            request = Request(
                prompt, path, sampling, seed, judging.benchmark.name, "", self.number, role, schema
            )
            self.missing[key] = _Question(judge, question, request)
            raise NotAsked("no reply is stored", location=judge.name)
        if response.outcome != "ok":
            raise NoReply(
                response.reason or f"the reply is {response.outcome}", location=judge.name
            )
        # The matrix is signed with the replies that it rests on, and with no others that the store
        # holds.
        self.used.add(digest([judge.name, question.digest, self.number, response.text]))
        return response.text

    def missing_but_of(self, failed: Container[str]) -> list[_Question]:
        """The missing questions, without those to judges that failed."""
        return [q for q in self.missing.values() if q.respondent.name not in failed]

    def learn(self, question: _Question, response: Response) -> None:
        """Take in a reply that has just been stored."""
        self._stored_replies(question.respondent).replies[question.ask.digest] = response
        self._new_replies.add((question.respondent.name, question.ask.digest))

    def _stored_replies(self, judge: Respondent) -> _StoredReplies:
        """Return the stored replies of a judge; they are read once."""
        if judge.name not in self._stored:
            store = self.judging.store
            judging = self.judging
            number = store.find_respondent(judge.name, judging.identity(judge))
            stored = _StoredReplies({}, {}, set())
            if number is not None:
                cut = store.details(number, self.number, LIMIT)
                retries_refused = judging.retry_errors or not self.retry
                stored = _StoredReplies(
                    store.replies(number, self.number),
                    {
                        question: detail[LIMIT]
                        for question, detail in cut.items()
                        if LIMIT in detail
                    },
                    set() if retries_refused else refused_asks(store, number, self.number),
                )
            self._stored[judge.name] = stored
        return self._stored[judge.name]
