"""Servers with the OpenAI interface, asked concurrently."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from hqm.errors import RespondentError
from hqm.respondents.base import Request, RespondentName, data_url, prices_in
from hqm.respondents.kinds import SERVER
from hqm.respondents.server_bodies import LOGPROBS_MODE, BodyWriter, Settings
from hqm.respondents.server_client import (
    AnswerQueue,
    Client,
    Redaction,
    RefusedRequest,
    ReplyTooLarge,
    SharedState,
    batches,
    check_variable,
    key_for,
    leave_account_out,
    one_line,
    release,
    remaining_answers,
)
from hqm.respondents.server_limits import (
    FIRST,
    Budget,
    Concurrency,
    Hold,
    Pace,
    says_when,
    tokens_in,
    wanted_pause,
)
from hqm.respondents.server_parameters import (
    SEED_NAMES,
    is_unexplained,
    refused_parameter,
    refuses_value,
)
from hqm.respondents.server_replies import read_reply
from hqm.respondents.server_search import MIN_REFUSALS, ParameterSearch
from hqm.types import Response

# A server with the OpenAI chat interface: OpenAI itself, vLLM, SGLang, `transformers serve`, ...
#
# Requests run concurrently, no more at a time than the server gains from
# (`hqm.respondents.server_limits`) and no faster than the limits allow. What may pass is tried
# again: 429, 5xx, dropped connections, replies that are no JSON. What was turned away waits for
# as long as the server says while the others go on; where the server turns away
# whatever it is asked, and at 503 with a time, nobody asks until then. What still fails comes
# back in the state `error`, with the reason; the others go on. What a server refuses to answer
# for good (400, 403, 413, 451, ...) is marked as final, and so is a reply that holds no answer. A
# refused key, an unknown model or a redirection ends the respondent at once, and twenty failures in
# a row end it, of whatever kind as long as nothing was answered. A parameter that the server
# refuses (`seed`, `top_p`, `temperature`, log probabilities) is left out from then on, and every
# answer notes it (`left_out`); a seed is first sent with 31 bits (`seed_bits`), where its value may
# be refused, and under its other name (`random_seed`). Where the first requests are refused and
# nothing says why, the parameter is searched for (`hqm.respondents.server_search`) before others
# are sent.
#
# Each answer is handed over as it comes, and the next request begins when that answer is stored:
# a killed run repeats no more than the requests in flight. Requests go out picture by picture,
# the picture before the question, so that the prefix cache of a server finds the picture again.
# Settings that may follow the name, none of which changes an answer:
#
#     concurrency              requests in flight at a time (as many as the server gains from: 8 at
#                              first, 256 at most)
#     requests_per_minute      and tokens_per_minute: the server's limits (none)
#     retries, timeout         further attempts a request (4), seconds for each attempt (120)
#     max_reply                bytes of a reply that are read at most (1,000,000)
#     logprobs                 alternatives of each token to ask for (20 with `--set
#                              probabilities=true`, else 5; 0 asks for no log probabilities)
#     logprobs_mode            what they are: raw_logprobs, the model's own (as vLLM's option has
#                              it), or processed_logprobs, after temperature and top-p
#     price_in, price_out      money per million tokens, for the cost
#     key_env                  the environment variable with the key (OPENAI_API_KEY for OpenAI,
#                              none for others)

_FATAL_STATUSES = {401: "refuses the key", 404: "knows no such model or address"}
_FINAL_STATUSES = frozenset({400, 403, 413, 414, 415, 422, 431, 451})
"""What a server says of one request and will say again: it is too long, its format is wrong, a
filter or a law refuses it.
"""
_TRANSIENT_STATUSES = frozenset({408, 409, 425, 429})
_BUSY_STATUSES = frozenset({429, 503})
_BROKEN_OFF = Response("", "error", "the request was broken off")
_FIRST_ANSWER_SECONDS = 0.05
"""Seconds without a first answer after which more requests are sent."""

OPERATION = frozenset((*SERVER, "key_env"))
"""Settings that say how a server is reached, not the respondent; they are no part of a respondent's
name in the store.
"""


class _Outcome(NamedTuple):
    """What came of sending a request once."""

    response: Response
    wait: float | None
    """Seconds before another attempt; None for no other."""
    sent: float
    """When it was sent."""
    settings: Settings


class OpenAIRespondent:
    """A model behind an OpenAI-compatible server.

    Parameters
    ----------
    name
        `openai/<model>[@<base url>]`; without an address, the client's own (`OPENAI_BASE_URL`, else
        OpenAI's).
    concurrency, retries, timeout
        Requests in flight at a time (0: it adapts), further attempts a request, seconds for each;
        the name's own come first.
    first, maximum
        Requests in flight at first, and at most, where their number adapts.
    give_up_after
        Failures in a row after which the server is given up.
    backoff
        Seconds before a second attempt where the server says nothing; twice as long before each
        further one.
    batch_api
        Send requests in files, by the server's Batch API (`hqm.respondents.batch_api`).
    """

    live = True

    def __init__(
        self,
        name: RespondentName,
        *,
        concurrency: int = 0,
        first: int = FIRST,
        maximum: int = 256,
        retries: int = 4,
        timeout: float = 120.0,
        give_up_after: int = 20,
        backoff: float = 0.5,
        batch_api: bool = False,
    ) -> None:
        remaining = tuple(
            (k, v) for k, v in name.settings if k not in OPERATION and k != LOGPROBS_MODE
        )
        self._name = replace(name, settings=remaining)
        self.model = name.target
        self.base_url = name.qualifier or None
        if name.option("concurrency"):
            fixed = max(1, int(name.number("concurrency", concurrency)))
        else:
            fixed = concurrency
        self.concurrency = Concurrency(fixed or first, fixed or maximum)
        self.retries = int(name.number("retries", retries))
        self.timeout = name.number("timeout", timeout)
        self.max_reply = int(name.number("max_reply", 1_000_000))
        self.pace = Pace(name.number("requests_per_minute", 0), name.number("tokens_per_minute", 0))
        self.bodies = BodyWriter(name)
        self.search = ParameterSearch()
        self.prices = prices_in(name)
        self.key_env = name.option("key_env")
        check_variable(self.base_url, self.key_env, self.name)
        self.give_up_after = give_up_after
        self.backoff = backoff
        self.budget = Budget()
        """The budget of the command; all its servers share one."""
        self.has_answered = False
        """Whether the server ever answered, in this run or, as the store knows, in an earlier
        one.
        """
        self.clean = Redaction("")
        self._stop = threading.Event()
        self.batch_api = batch_api
        self.batch_folder = Path("batches")
        """Where the records of batches lie; the store's folder, where there is a store."""

    @property
    def name(self) -> str:
        return str(self._name)

    def identity(self) -> Mapping[str, object]:
        return {"kind": "openai", "model": self.model, "base_url": self.base_url}

    def answer(self, requests: Sequence[Request]) -> Iterator[list[tuple[Request, Response]]]:
        """Ask the server; an empty batch is yielded after a second without answers."""
        # the event loop runs in another thread, so that the caller can store answers meanwhile
        answers: AnswerQueue = queue.SimpleQueue()
        self._stop.clear()
        thread = threading.Thread(target=self._run, args=(requests, answers), daemon=True)
        thread.start()
        try:
            yield from batches(answers)
        finally:
            self.finish()
            patience = time.monotonic() + self.timeout
            while thread.is_alive() and time.monotonic() < patience:
                release(list(remaining_answers(answers)))  # they are not stored any more
                thread.join(timeout=0.05)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The parameters that the server refused in this command, and that are left out."""
        return self.bodies.left_out

    @property
    def has_short_seeds(self) -> bool:
        """Whether the server refused seeds of 63 bits in this command, and took shorter ones."""
        return self.bodies.has_short_seeds

    def finish(self) -> None:
        """Begin no further request; those in flight still come."""
        self._stop.set()

    def _run(self, requests: Sequence[Request], answers: AnswerQueue) -> None:
        try:
            ask = self._ask_in_batches if self.batch_api else self._ask_all
            asyncio.run(ask(requests, answers))
            answers.put(None)
        except BaseException as error:
            answers.put(error)

    async def _ask_in_batches(self, requests: Sequence[Request], answers: AnswerQueue) -> None:
        import openai

        from hqm.respondents.batch_api import BatchRun

        key = key_for(self.base_url, self.key_env, self.name)
        self.clean = Redaction(key)
        state = SharedState(answers, asyncio.get_running_loop())
        run = BatchRun(
            respondent=self.name,
            bodies=self.bodies,
            folder=self.batch_folder,
            budget=self.budget,
            prices=self.prices,
            clean=self.clean,
            state=state,
            stop=self._stop,
        )
        client = openai.AsyncOpenAI(
            base_url=self.base_url,
            # a local server needs no key, but the package requires one
            api_key=key or "none",
            timeout=self.timeout,
            max_retries=self.retries,
        )
        leave_account_out(client)
        async with client:
            try:
                await run.answer(client, requests)
            finally:
                state.pass_on()

    async def _ask_all(self, requests: Sequence[Request], answers: AnswerQueue) -> None:
        import openai

        key = key_for(self.base_url, self.key_env, self.name)
        self.clean = Redaction(key)
        try:
            client = Client(
                self.base_url,
                key,
                largest=self.max_reply,
                connections=self.concurrency.maximum,
                timeout=self.timeout,
            )
        except (openai.OpenAIError, ValueError) as error:
            message = one_line(self.clean(str(error)))
            raise RespondentError(
                message, location=self.name, remedy="Correct the address."
            ) from None
        # by picture, so that a server's prefix cache is hit
        todo = deque(sorted(requests, key=lambda r: (str(r.image or ""), r.prompt)))
        state = SharedState(answers, asyncio.get_running_loop())
        self.search.abandon()
        self.concurrency.begin(time.monotonic())
        async with client:
            try:
                async with asyncio.TaskGroup() as group:
                    state.begin = lambda: group.create_task(self._work(client, todo, state))
                    self._start_workers(todo, state)
                    self._ask_more_unanswered(todo, state, first=True)
            except BaseExceptionGroup as errors:
                raise errors.exceptions[0] from None
            finally:
                state.timer.cancel()
                state.pass_on()

    def _start_workers(self, todo: Sequence[Request], state: SharedState) -> None:
        """Start as many workers as there may be requests in flight."""
        if self.search.is_due:
            return
        for _ in range(min(self.concurrency.limit - state.active, len(todo))):
            state.workers += 1
            state.begin()

    def _ask_more_unanswered(
        self, todo: Sequence[Request], state: SharedState, *, first: bool = False
    ) -> None:
        """Send more requests while the first answers are slow, a few more each time."""
        if not first:
            if state.failures or self._stop.is_set() or not self.concurrency.unanswered():
                return
            self._start_workers(todo, state)
        state.timer = asyncio.get_running_loop().call_later(
            _FIRST_ANSWER_SECONDS, self._ask_more_unanswered, todo, state
        )

    async def _work(self, client: Client, todo: deque[Request], state: SharedState) -> None:
        """Send one request after another, until there are none, the user stops, a bound is reached,
        or there are too many workers.
        """
        while todo and not self._stop.is_set() and state.active <= self.concurrency.limit:
            if self.search.is_due:
                break
            request = todo.popleft()
            await self.concurrency.enter()
            state.asking += 1
            try:
                response, sent = await self._ask(client, request, state)
                state.asking -= 1
                if response is None:
                    break
                if response.state != "error":
                    self.has_answered = True
                if "unexplained" not in response.detail:
                    await self._hand_over(request, response, state)
                if self.search.refusals:
                    await self._resolve_refusals(client, todo, state)
            finally:
                self.concurrency.leave()
            if response.state != "error" and todo:
                if self.concurrency.answered(sent, time.monotonic()):
                    self.pace.resume()
                self._start_workers(todo, state)
        state.workers -= 1

    async def _resolve_refusals(
        self, client: Client, todo: deque[Request], state: SharedState
    ) -> None:
        """Find out whether a parameter or the requests are refused, once none is in flight."""
        search = self.search
        while search.refusals and not search.is_running:
            refusals = search.refusals
            search.refusals = []
            are_few = search.n_refused < MIN_REFUSALS and not todo and not state.asking
            for refusal in refusals:
                if self.bodies.settings(refusal.request) != refusal.settings:
                    todo.appendleft(refusal.request)
                elif are_few or search.is_decided(refusal.settings):
                    await self._hand_over(refusal.request, refusal.response, state)
                else:
                    search.refusals.append(refusal)
            self._start_workers(todo, state)
            if not search.refusals or state.asking or (todo and not search.is_due):
                return
            request, _, settings = search.refusals[0]
            parameter = await search.find(partial(self._probe, client, state))
            if self._stop.is_set() or self.budget.reached:
                search.abandon()
            self.bodies.simplify(settings, parameter, request.seed)

    async def _hand_over(self, request: Request, response: Response, state: SharedState) -> None:
        """Hand an answer to the caller; raise after too many failures in a row."""
        # a request that is refused for good says nothing about the next one, once the server has
        # answered any; replies without an answer are paid for, and count as failures
        turned_away = "final" in response.detail and "status" in response.detail
        failed = response.state == "error" and not (self.has_answered and turned_away)
        failures = state.failures = state.failures + 1 if failed else 0
        await state.hand_over(request, response)
        if failures >= self.give_up_after:
            raise RespondentError(
                f"{failures} requests in a row failed; the last: {response.reason}",
                location=self.name,
                remedy=(
                    "Check the server, then run the same command again: what was answered is kept."
                ),
            )

    async def _reserve_budget(self, request: Request) -> Hold | None:
        """Wait until the bounds allow a request; None if they never will."""
        while (hold := self.budget.begin(request, self.prices)) is None and not self.budget.reached:
            if self._stop.is_set():
                return None
            await asyncio.sleep(0.01)
        return hold

    async def _ask(
        self, client: Client, request: Request, state: SharedState
    ) -> tuple[Response | None, float]:
        """Send one request with its retries, and return the response and when it was last sent.

        None where a bound does not allow the first.
        """
        began = time.monotonic()
        attempt = 0
        sent = began
        response = None
        try:
            content = self.bodies.content(request)
        except OSError as error:
            message = f"the picture {request.image} cannot be read: {error.strerror}"
            return Response("", "error", message), sent
        while True:
            outcome = await self._send(client, request, content, attempt, began)
            if outcome is None:
                return response, sent
            response, wait, sent, settings = outcome
            refused = response.detail.get("parameter", "")
            if self.bodies.simplify(settings, refused, response.detail.get("large_seed", 0)):
                continue
            if response.state != "error":
                self.search.note_answered(settings)
            elif "unexplained" in response.detail:
                self.search.note_refused(request, response, settings)
            if (notes := self.bodies.notes()) and response.state != "error":
                response = response._replace(detail={**response.detail, **notes})
            if attempt:
                response = response._replace(detail={**response.detail, "retries": attempt})
            if wait is None or attempt >= self.retries:
                return response, sent
            attempt += 1
            if not await self._sleep(wait, state):
                return response, sent

    async def _send(
        self,
        client: Client,
        request: Request,
        content: Sequence[bytes],
        attempt: int,
        began: float,
        settings: Settings | None = None,
    ) -> _Outcome | None:
        """Send a request once, within the limits; None where a bound or the user ends it."""
        await self.pace.turn(tokens_in(request) + request.sampling.max_tokens)
        if self._stop.is_set() and attempt:
            return None
        hold = await self._reserve_budget(request)
        if hold is None:
            return None
        settings = settings or self.bodies.settings(request)
        sent = time.monotonic()
        response = _BROKEN_OFF
        try:
            response, wait = await self._attempt(client, request, content, settings, attempt, began)
        finally:
            self.budget.end(hold, request, response)
        return _Outcome(response, wait, sent, settings)

    async def _probe(
        self, client: Client, state: SharedState, request: Request, settings: Settings
    ) -> Response | None:
        """Send a request with other parameters, again where the server is busy; None for no end."""
        try:
            content = self.bodies.content(request)
            for attempt in range(self.retries + 1):
                if self._stop.is_set():
                    return None
                began = time.monotonic()
                outcome = await self._send(client, request, content, attempt, began, settings)
                if outcome is None:
                    return None
                response = outcome.response
                is_busy = response.detail.get("status") in _BUSY_STATUSES
                if not is_busy or outcome.wait is None:
                    break
                if not await self._sleep(outcome.wait, state):
                    return None
        except (OSError, RespondentError):
            return None  # the refusal that is searched for says more
        return response

    async def _sleep(self, seconds: float, state: SharedState) -> bool:
        """Wait, and let others be in flight meanwhile; False if the user stops."""
        self.concurrency.leave()
        state.asleep += 1
        deadline = time.monotonic() + seconds
        ended = True
        try:
            while (left := deadline - time.monotonic()) > 0 and not self._stop.is_set():
                await asyncio.sleep(min(left, 0.2))
            ended = self._stop.is_set()
        finally:
            state.asleep -= 1
            await self.concurrency.enter(immediately=ended)
        return not ended

    async def _attempt(
        self,
        client: Client,
        request: Request,
        content: Sequence[bytes],
        settings: Settings,
        attempt: int,
        began: float,
    ) -> tuple[Response, float | None]:
        """Make one attempt; its response, and the seconds before another, or None for no other."""
        sent = time.monotonic()
        body = self.bodies.body(content, settings, request.seed)
        reply = b""
        try:
            reply = await client.post(body)
            took = time.monotonic() - began
            processed = self.bodies.processed
            read = read_reply(json.loads(reply), took, self.model, request, processed=processed)
            response = self.clean.response(read)
            if response.reason:  # an answer has none, and a copy is checked as a whole again
                response = response._replace(reason=one_line(response.reason))
            is_transient = response.state == "error" and "final" not in response.detail
            return response, self._pause(attempt) if is_transient else None
        except RefusedRequest as refusal:
            is_overloaded = refusal.status in _BUSY_STATUSES
            is_general = is_overloaded and self.concurrency.refused(sent, time.monotonic())
            response, wait = self._handle_refusal(refusal, attempt, is_general)
            parameter = refused_parameter(refusal.content, settings.names, request.prompt)
            if parameter and not is_overloaded:
                detail = {**response.detail, "parameter": parameter}
                if parameter in SEED_NAMES and refuses_value(refusal.content):
                    detail["large_seed"] = request.seed
                response = response._replace(detail=detail)
            elif not self.search.is_decided(settings) and is_unexplained(
                refusal.status, refusal.content
            ):
                response = response._replace(detail={**response.detail, "unexplained": True})
            return response, wait
        except TimeoutError:
            self.concurrency.refused(sent, time.monotonic())
            reason = f"Timeout: no whole reply came within {self.timeout:g} s"
            response = Response("", "error", one_line(self.clean(reason)), {"timed_out": True})
            return response, self._pause(attempt)
        except ReplyTooLarge as error:
            return Response("", "error", one_line(self.clean(str(error))), {"final": True}), None
        except Exception as error:  # whatever a server sends costs one answer and never the run
            reason = _fault_of_reply(error, self.clean(reply.decode("utf-8", "replace"))[:80])
        return Response("", "error", one_line(self.clean(reason))), self._pause(attempt)

    def _pause(self, attempt: int) -> float | None:
        """Seconds before another attempt where the server says nothing of them."""
        return wanted_pause({}, attempt, self.backoff)

    def _handle_refusal(
        self, refusal: RefusedRequest, attempt: int, is_general: bool
    ) -> tuple[Response, float | None]:
        """The response to a refusal, and the seconds to wait, for one request or in general.

        Some refusals end the respondent.
        """
        status = refusal.status
        message = one_line(self.clean(refusal.message))
        if status in _FATAL_STATUSES:
            reason = f"the server {_FATAL_STATUSES[status]} ({message})"
            raise RespondentError(reason, location=self.name, remedy="Correct the name or the key.")
        if 300 <= status < 400 and not self.has_answered:
            target = one_line(self.clean(refusal.headers.get("location", "another address")))
            reason = f"the server answers {status} and redirects to {target}, which is not followed"
            raise RespondentError(
                reason, location=self.name, remedy="Name the address that answers."
            )
        detail = {"status": status, **({"final": True} if status in _FINAL_STATUSES else {})}
        response = Response("", "error", f"the server answered {message}", detail)
        passing = status in _TRANSIENT_STATUSES or status >= 500
        passing = passing and refusal.code != "insufficient_quota"
        wait = wanted_pause(refusal.headers, attempt, self.backoff) if passing else None
        # 503 with a time is about the server, 429 about the request
        is_general = is_general or (status == 503 and says_when(refusal.headers))
        if wait is not None and is_general and attempt < self.retries:
            self.pace.pause(wait)
        return response, wait

    def close(self) -> None:
        data_url.cache_clear()


def _fault_of_reply(error: Exception, excerpt: str) -> str:
    """What is wrong with a reply, which begins so, in a sentence."""
    import aiohttp

    if isinstance(error, aiohttp.ClientConnectionError):
        number = getattr(error, "errno", None) or 0
        description = os.strerror(number).lower() if number > 0 else str(error)
        return f"the connection broke off: {description}"
    if isinstance(error, aiohttp.ClientError):
        return f"the server's reply is no HTTP: {error}"
    if isinstance(error, UnicodeDecodeError):
        return "the server's reply is no UTF-8, in which JSON is written"
    if isinstance(error, ValueError | RecursionError):
        return f"the server's reply is not JSON, it begins with {excerpt!r}"
    return f"the server's reply cannot be read ({type(error).__name__}: {error})"
