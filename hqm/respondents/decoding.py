"""Decoding with a shared image prefix: the keys and values of a picture serve all its questions.

A prompt that puts the picture first is a prefix (system text, picture) and a tail (the question).
The prefix of each picture runs through the model once; the tails of all its questions follow it
(`hqm.respondents.packed_batch`), and tokens are drawn row by row. A question asked in several runs
is read once. Rows that finish make room for others (`hqm.respondents.scheduler`).

Where no prefix can be shared (the question comes first, the picture attends to the question), the
vision tower still runs once a picture, and plain `generate` does the rest. Prompts without a
picture are read whole. The answers are those of plain `generate`: `hqm.respondents.sharing` checks
the first batch against it. `Engine.how` says what is shared, and why no more.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Iterator, Sequence

import torch

from hqm.errors import RespondentError
from hqm.respondents.base import Request, Sampling
from hqm.respondents.batching import MAX_ROWS, Prompt, QueuedPrompt, RequestQueue
from hqm.respondents.hf_families import Sharing
from hqm.respondents.hf_inputs import CannotSplit, Reader
from hqm.respondents.hf_loading import Loaded
from hqm.respondents.kv_cache import BufferPool
from hqm.respondents.plain_decoding import (
    NO_MEMORY,
    Generated,
    NumberedAnswers,
    PlainDecoder,
    first_line,
    is_out_of_memory,
)
from hqm.respondents.scheduler import Scheduler
from hqm.respondents.sharing import (
    SHARING_LABELS,
    Answer,
    SharingCheck,
    SharingPolicy,
    describe,
)
from hqm.respondents.step_graph import StepGraphs
from hqm.respondents.token_sampling import FirstTokens, TokenSampler, start_rows
from hqm.respondents.vision_cache import VisionCache

_REFILL_ABOVE = 0.25
"""Further rows join when so large a share of the rows is free."""
_SHORT_ANSWER = 16
"""Tokens of a short answer at most."""
_MAX_PLAIN_ROWS = 64
"""Rows that plain `generate` answers together at most, where answers may be longer: the longest is
waited for.
"""
_PLAIN_TOKENS = 2560
"""About how many tokens of prompts plain `generate` reads at a time on a CPU: more of them leave
the processor's cache.
"""
_MIN_CPU_TOKENS = 512
"""Tokens of a batch on a CPU up to which prompts of other lengths are added."""
_HOLD_SECONDS = 0.25
"""Seconds for which answers are held, so that many are stored together; the first are not."""
_FIRST_BATCH = 64
"""Rows at most that are taken up before there is an answer: somebody waits to see the first one."""


class Engine:
    """Generate answers to prompts, sharing as much of each picture as the model allows.

    Parameters
    ----------
    loaded
        A model with its processor.
    name
        The respondent, for messages.
    """

    def __init__(self, loaded: Loaded, name: str = "") -> None:
        self.model = loaded.model
        self.tokenizer = loaded.tokenizer
        self.reader = Reader(loaded)
        self._is_encoder_decoder = getattr(self.model.config, "is_encoder_decoder", False)
        self.vision_cache = VisionCache(self.model, self.reader, loaded.family.towers)
        self.plain = PlainDecoder(loaded, self.reader, self.vision_cache)
        self.policy = SharingPolicy(loaded.family, name, not self._is_encoder_decoder)
        self.first_tokens = FirstTokens(self.tokenizer)
        self.check = SharingCheck(
            self.policy, self.plain, self.answer_batch, self.first_tokens, self._length
        )
        self.max_rows: int | None = None
        """The most rows that are answered at a time, once memory ran out."""
        self._first_position = loaded.family.first_position
        self._pool = BufferPool(self.model.device.type == "cpu", StepGraphs.for_model(self.model))
        # cuDNN plans again for every length, which takes longer than the attention of many steps
        torch.backends.cuda.enable_cudnn_sdp(False)
        self._lengths: list[tuple[int, ...]] = []
        """The length of each request's prompt, where requests are ordered by it."""
        if self.policy.sharing != "prefix":
            self.policy.report(self.how)

    @property
    def ends(self) -> frozenset[int]:
        """The tokens that end an answer."""
        return self.plain.ends

    @property
    def how(self) -> str:
        """What is shared, and why no more."""
        return describe(self.policy, self.plain)

    @property
    def level(self) -> Sharing:
        """What the requests of the queue share."""
        return self.policy.level

    def ordered(self, requests: Sequence[Request]) -> list[Request]:
        """Put requests of one kind, ordered by picture, into the order in which they are answered.

        Where plain `generate` gets a short question about each picture, those of similar length
        come together, because attention is faster without padding. The first two are the longest
        and the shortest, so that the check meets the most padding.
        """
        has_picture = requests[0].image is not None
        repeats = len({request.image for request in requests}) < len(requests)
        # of long answers to single questions, others join where the first ones end
        has_long_answers = requests[0].sampling.max_tokens > _SHORT_ANSWER
        self.policy.is_useful = has_picture and (repeats or has_long_answers)
        self._lengths = []
        if self.policy.is_useful:
            return list(requests)
        lengths = self.reader.lengths(requests)
        descending = sorted(range(len(requests)), key=lengths.__getitem__, reverse=True)
        order = [*descending[:1], *descending[:0:-1][:1], *descending[1:-1]]
        self._lengths = [lengths[index] for index in order]
        return [requests[index] for index in order]

    def look_ahead(self, prompts: Sequence[Prompt]) -> None:
        """Process the next pictures in advance, where prompts can be split at them."""
        if self.policy.can_join():
            self.reader.look_ahead(prompts)

    def release(self) -> None:
        """Free what is stored between batches, after memory ran out."""
        self.reader.forget()
        self.vision_cache.forget()
        self._pool.forget()
        gc.collect()
        if self.model.device.type == "cuda":
            # torch keeps freed memory in pieces, of which none may be large enough for the next
            # batch.
            torch.cuda.empty_cache()

    def stream(
        self, queue: RequestQueue, sampling: Sampling, limit: int, memory: int = 0
    ) -> Iterator[NumberedAnswers]:
        """Answer the requests of a queue, and yield the answers that have finished.

        Where sharing fails, the prompts without an answer are answered by plain `generate` one at a
        time, and less is shared from then on.

        Parameters
        ----------
        limit
            The number of rows that may be answered at a time.
        memory
            The bytes that their keys and values may take together: once rows run, it replaces the
            limit. 0 where the limit stays.
        """
        self.check.size_for(len(queue.requests))
        yield from _Stream(self, queue, sampling, limit, memory).batches()

    def answer_batch(
        self, batch: Sequence[QueuedPrompt], chooser: TokenSampler, max_tokens: int
    ) -> NumberedAnswers:
        """Answer these prompts alone, at the level of the policy."""
        methods: dict[Sharing, Answer] = {
            "prefix": self._answer_shared,
            "features": self.plain.answer_with_features,
            "nothing": self.plain.answer,
        }
        if self.policy.reads_once:
            methods["features"] = self._answer_shared
        return methods[self.policy.level](batch, chooser, max_tokens)

    def scheduler(self, chooser: TokenSampler, max_tokens: int) -> Scheduler:
        """A scheduler of rows that share a prefix, or are read once for all their runs."""
        reuse = None if self.policy.level == "prefix" else self.vision_cache.reuse
        return Scheduler(
            self.model,
            self.reader,
            self.ends,
            chooser,
            max_tokens,
            packs=self.policy.packs,
            vision_context=reuse,
            first_position=self._first_position,
            pool=self._pool,
        )

    def count_of_one_length(self, batch: Sequence[QueuedPrompt]) -> int:
        """How many of these prompts to answer together: on a CPU, where a large batch gains little,
        long ones only while they are of one length.
        """
        if not self._lengths or self.model.device.type != "cpu":
            return len(batch)
        length = self._length(batch[0])
        for count, queued in enumerate(batch):
            if count * self.plain.width >= _MIN_CPU_TOKENS and self._length(queued) != length:
                return count
        return len(batch)

    def answer_after_failure(
        self,
        failure: str,
        unanswered: Sequence[QueuedPrompt],
        chooser: TokenSampler,
        max_tokens: int,
    ) -> NumberedAnswers:
        """Answer prompts one at a time, and share less where that helped: otherwise the prompts are
        at fault.
        """
        answers = self.plain.answer_singly(unanswered, chooser, max_tokens)
        # Alone some were answered, so that running together was the fault, and not the prompts.
        if any(not answer.error for _, answer in answers):
            if self.policy.level == "nothing":
                self.plain.one_at_a_time = True
                self.policy.reason = self.policy.reason or failure
            else:
                label = SHARING_LABELS[self.policy.sharing]
                self.policy.step_down(f"with {label} the model fails: {failure}")
            self.policy.report(self.how)
        return answers

    def _answer_shared(
        self, batch: Sequence[QueuedPrompt], chooser: TokenSampler, max_tokens: int
    ) -> NumberedAnswers:
        if self._is_encoder_decoder:
            raise CannotSplit("an encoder-decoder has no prefix to share")
        scheduler = self.scheduler(chooser, max_tokens)
        scheduler.admit(batch)
        while scheduler.alive:
            scheduler.step()
        return self.finished_answers(scheduler)

    def finished_answers(self, scheduler: Scheduler) -> NumberedAnswers:
        """The answers of the rows that finished since the last call."""
        answers: NumberedAnswers = []
        for row, tokens in scheduler.collect():
            answers.append((row, self.plain.generated(tokens, scheduler.chooser.leave(row))))
        return answers

    def _length(self, queued: QueuedPrompt) -> tuple[int, ...]:
        """The length of a prompt, as far as it is known before it is processed."""
        number, prompt = queued
        if self._lengths:
            return self._lengths[number]
        return (len(prompt.text),)


class _Stream:
    """Answers the requests of one queue: its running rows, and the answers held back so far."""

    def __init__(
        self, engine: Engine, queue: RequestQueue, sampling: Sampling, limit: int, memory: int
    ) -> None:
        self._engine = engine
        self._queue = queue
        self._sampling = sampling
        self._limit = limit
        self._memory = memory
        self._scheduler = self._new_scheduler()
        self._batch: list[QueuedPrompt] = []
        """The prompts taken from the queue in this step."""
        self._held: NumberedAnswers = []
        self._handed_over = -math.inf
        """When answers were yielded last."""
        self._largest = 0
        """The most rows that ran at a time without a failure."""

    def batches(self) -> Iterator[NumberedAnswers]:
        """Yield the answers as they finish."""
        while self._queue.has_requests or self._scheduler.alive:
            self._batch = self._take()
            failure = ""
            is_memory = False
            try:
                with torch.inference_mode():
                    self._advance()
            except RespondentError:
                yield self._held
                # What was answered is handed over before the error ends the respondent.
                raise
            except CannotSplit as error:
                self._queue.put_back(self._batch)
                # No row was started: the same prompts are tried again at the next level.
                self._engine.policy.step_down(error.reason, final=True)
            except Exception as error:  # a model's forward pass may fail in any way
                failure = first_line(error)
                is_memory = is_out_of_memory(error)
            finished = self._engine.finished_answers(self._scheduler)
            self._held += finished
            # outside of the handler, whose traceback holds the tensors that did not fit
            if failure:
                self._recover(failure, is_memory, {number for number, _ in finished})
            else:
                self._largest = max(self._largest, self._scheduler.alive, len(self._batch))
            if self._held and time.monotonic() - self._handed_over > _HOLD_SECONDS:
                yield self._held
                self._held = []
                self._handed_over = time.monotonic()
        if self._held:
            yield self._held

    def _new_scheduler(self) -> Scheduler:
        chooser = TokenSampler(self._sampling.temperature, self._sampling.top_p)
        return self._engine.scheduler(chooser, self._sampling.max_tokens)

    def _new_chooser(self, batch: Sequence[QueuedPrompt]) -> TokenSampler:
        """A sampler for these prompts alone."""
        chooser = TokenSampler(self._sampling.temperature, self._sampling.top_p)
        start_rows(chooser, batch, self._engine.first_tokens)
        return chooser

    def _take(self) -> list[QueuedPrompt]:
        """Take as many prompts from the queue as may run beside the rows that run already."""
        n_running = self._scheduler.alive
        # rows that run tell what a row takes
        if self._memory and n_running:
            self._limit = min(MAX_ROWS, max(1, self._memory // self._scheduler.row_bytes))
        joins = self._engine.policy.can_join()
        limit = min(self._limit, self._row_limit(joins))
        # Few free rows are left free: joining copies all memory, which one row is not worth.
        n_free = limit - n_running
        if self._queue.has_requests and (
            not n_running or (joins and n_free >= _REFILL_ABOVE * limit)
        ):
            return self._queue.take(n_free)
        return []

    def _row_limit(self, joins: bool) -> int:
        """The most rows at a time, whatever memory there is for their keys and values."""
        engine = self._engine
        limit = engine.max_rows or self._limit
        # Nobody has seen an answer yet.
        if self._handed_over == -math.inf:
            limit = min(limit, _FIRST_BATCH)
        if not joins and self._sampling.max_tokens > _SHORT_ANSWER:
            limit = min(limit, _MAX_PLAIN_ROWS)
        if engine.level == "nothing" and engine.model.device.type == "cpu":
            limit = min(limit, max(1, _PLAIN_TOKENS // engine.plain.width))
        return limit

    def _advance(self) -> None:
        """Answer the batch, or let it join the running rows; draw a token where there is none."""
        engine = self._engine
        if self._batch and not engine.policy.is_checked(self._batch):
            answered = engine.check.choose_level(self._batch, self._sampling)
            if engine.policy.reason:
                engine.policy.report(engine.how)
            # what was compared need not be answered again, as far as it came to its end
            self._held += answered.items()
            self._batch = [queued for queued in self._batch if queued[0] not in answered]
            self._scheduler = self._new_scheduler()
        if self._batch and not engine.policy.can_join():
            count = engine.count_of_one_length(self._batch)
            self._queue.put_back(self._batch[count:])
            self._batch = self._batch[:count]
            chooser = self._new_chooser(self._batch)
            self._held += engine.answer_batch(self._batch, chooser, self._sampling.max_tokens)
        elif self._batch:
            start_rows(self._scheduler.chooser, self._batch, engine.first_tokens)
            self._scheduler.admit(self._batch, self._queue.next_picture)
        else:
            self._scheduler.step()

    def _recover(self, failure: str, is_memory: bool, finished: set[int]) -> None:
        """Answer the prompts that a failed step lost, or put them back where memory ran out."""
        engine = self._engine
        by_number: dict[int, QueuedPrompt] = {}
        # A prompt is in both where the step failed after it was admitted.
        for number, prompt in (*self._scheduler.unfinished, *self._batch):
            if number not in finished:
                by_number[number] = (number, prompt)
        lost = [by_number[number] for number in sorted(by_number)]
        self._scheduler = self._new_scheduler()
        engine.release()
        if not is_memory:
            chooser = self._new_chooser(lost)
            with torch.inference_mode():
                self._held += engine.answer_after_failure(
                    failure, lost, chooser, self._sampling.max_tokens
                )
        # This one does not fit alone; others run as many at a time as did before.
        elif len(lost) == 1:
            self._held.append((lost[0][0], Generated([], {}, NO_MEMORY)))
            engine.max_rows = self._largest or 1
        else:
            self._queue.put_back(lost)
            engine.max_rows = max(1, min(len(lost) // 2, engine.max_rows or len(lost)))
