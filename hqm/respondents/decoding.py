"""Decoding with a shared image prefix: the picture is seen once, its keys and values serve every
question about it.

A prompt that puts the picture first is a prefix (system text, picture) and a tail (the question).
The prefix of each picture runs through the model once; the tails of all its questions follow behind
it (`hqm.respondents.packed_batch`), and tokens are drawn row by row. A question asked in several runs is
read once. Rows that finish make room for others (`hqm.respondents.scheduler`).

Where no prefix can be shared (the question stands first, the picture sees the question), the vision
tower still runs once a picture, and plain `generate` does the rest. Prompts without a picture are
read whole. What comes out is what plain `generate` gives: the first batch is checked against it,
and a model that disagrees shares less. `Engine.how` says what is shared, and why no more.
"""

from __future__ import annotations

import gc
import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from transformers import GenerationConfig, LogitsProcessorList

from hqm.errors import RespondentError
from hqm.respondents.base import Request
from hqm.respondents.batching import MOST_ROWS, Prompt, QueuedPrompt, RequestQueue
from hqm.respondents.hf_families import Sharing
from hqm.respondents.hf_inputs import CannotSplit, Reader
from hqm.respondents.hf_loading import Loaded
from hqm.respondents.kv_cache import BufferPool
from hqm.respondents.scheduler import Scheduler
from hqm.respondents.step_graph import StepGraphs
from hqm.respondents.token_sampling import FirstTokens, TokenSampler, read_tokens
from hqm.respondents.vision_cache import VisionCache

_NEXT_LEVEL: dict[Sharing, Sharing] = {"prefix": "features", "features": "nothing"}
_IN_WORDS = {
    "prefix": "shared image prefix",
    "features": "shared vision features",
    "nothing": "plain generate",
}
_CHECKED_ROWS, _CHECKED_TOKENS, _REQUESTS_A_ROW = (3, 4), 16, 64
"""Rows that are compared with plain `generate`, at least and at most, how many of their tokens, and
requests for each of these rows.
"""
_NEAR = 0.1
"""In half precision, how far (total variation) a first token's distribution may be from that of
plain `generate`.
"""
_REFILL_ABOVE = 0.25
"""Further rows join when so large a share of the places is free."""
_SHORT_ANSWER, _PLAIN_BATCH = 16, 64
"""Rows that plain `generate` answers together at most, where answers may be longer than a few
tokens: the longest is waited for.
"""
_LONG_PROMPT = 1024
"""Tokens that a prompt is taken to have before one was read."""
_PLAIN_TOKENS = 2560
"""About how many tokens of prompts plain `generate` reads at a time on a CPU: more of them leave the
processor's cache.
"""
_FEW_TOKENS = 512
"""Tokens of a batch on a CPU to which prompts of other lengths are added."""
_HOLD_SECONDS = 0.25
"""Seconds for which answers are held, so that many are stored together; the first are not."""
_NO_MEMORY = "out of memory"
_FIRST_BATCH = 64
"""Rows at most that are taken up before there is an answer: somebody waits to see the first one."""


@dataclass(frozen=True, slots=True)
class Generated:
    """The new tokens of one prompt, the end token included where it came, and the first token's
    probabilities.
    """

    tokens: list[int]
    first: dict[str, float]
    error: str = ""
    """Why there is no answer; empty where there is one."""


class Trial(NamedTuple):
    """A few answers that were begun, and what drew them."""

    answers: dict[int, Generated]
    chooser: TokenSampler


class Engine:
    """Generate answers to prompts, sharing as much of each picture as the model allows.

    Parameters
    ----------
    loaded
        A model with its processor.
    name
        The respondent, for what is said of it.
    """

    def __init__(self, loaded: Loaded, name: str = "") -> None:
        self.model, self.tokenizer = loaded.model, loaded.tokenizer
        self.reader, self.name = Reader(loaded), name
        settings, text = self.model.generation_config, self.model.config.get_text_config()
        ends = (
            settings.eos_token_id
            if settings.eos_token_id is not None
            else getattr(text, "eos_token_id", None)
        )
        ends = self.tokenizer.eos_token_id if ends is None else ends
        self.ends = frozenset(ends if isinstance(ends, list) else [ends])
        start = settings.decoder_start_token_id
        self._start = getattr(text, "decoder_start_token_id", None) if start is None else start
        self.sharing: Sharing = loaded.family.sharing
        self.why = loaded.family.why
        self._words = FirstTokens(self.tokenizer)
        self.vision_cache = VisionCache(self.model, self.reader, loaded.family.towers)
        self.packs = True
        """Whether the questions about a picture run as one sequence; False once that changed
        answers.
        """
        self.most: int | None = None
        """The most rows that are answered at a time, once memory ran out."""
        self.whole = not getattr(self.model.config, "is_encoder_decoder", False)
        """Whether prompts that share no prefix are read once for all runs; False once that changed
        answers.
        """
        self._shares = True
        """Whether there is anything to gain: two questions in hand are about one picture, or their
        answers are long.
        """
        self._plain_checked: set[bool] = set()
        """With and without pictures: whether plain `generate` can read several prompts is known."""
        self._first = loaded.family.first_position
        self._pool = BufferPool(self.model.device.type == "cpu", StepGraphs.of(self.model))
        # cuDNN plans anew for every length, which takes longer than the attention of many steps
        torch.backends.cuda.enable_cudnn_sdp(False)
        self._width = _LONG_PROMPT
        """The tokens of the longest prompt that plain `generate` read last."""
        self._lengths: list[tuple[int, ...]] = []
        """What the number of tokens of each request depends on, where they are in that order."""
        self.one_at_a_time = False
        """Whether plain `generate` gets one prompt at a time, as a model needs that answers
        otherwise, or not at all, when it reads several.
        """
        self._checked: set[Sharing] = set()
        self._checked_rows = _CHECKED_ROWS[1]
        self._reported = ""
        if self.sharing != "prefix":
            self._say()

    @property
    def how(self) -> str:
        """What is shared, and why no more."""
        way = _IN_WORDS[self.sharing]
        if self.one_at_a_time:
            way = f"{way}, one prompt at a time"
        return f"{way}: {self.why}" if self.why else way

    @property
    def level(self) -> Sharing:
        """What the questions in hand share."""
        return self.sharing if self._shares else "nothing"

    def _joins(self) -> bool:
        """Whether rows can join a running batch."""
        return self.level in self._checked and (
            self.level == "prefix" or (self.level == "features" and self.whole)
        )

    def _flow(self, chooser: TokenSampler, max_tokens: int) -> Scheduler:
        return Scheduler(
            self.model,
            self.reader,
            self.ends,
            chooser,
            max_tokens,
            packs=self.packs,
            whole=None if self.level == "prefix" else self.vision_cache.reused,
            first=self._first,
            pool=self._pool,
        )

    def _say(self) -> None:
        """Report what is shared, once for each way that is settled on."""
        if self.how != self._reported:
            logging.getLogger("hqm").warning("hqm: %s: %s", self.name, self.how)
            self._reported = self.how

    def ordered(self, requests: Sequence[Request]) -> list[Request]:
        """Put requests of one kind, which come in the order of their pictures, into the order in
        which they are answered.

        Where plain `generate` gets a short question about each picture, those of like length stand
        together, for without padding attention is faster. The first two are the longest and the
        shortest, so that the check sees the most padding.
        """
        pictured = requests[0].image is not None
        repeated = len({request.image for request in requests}) < len(requests)
        # of long answers to single questions, others join where the first ones end
        long = requests[0].sampling.max_tokens > _SHORT_ANSWER
        self._shares, self._lengths = pictured and (repeated or long), []
        if self._shares:
            return list(requests)
        lengths = self.reader.lengths(requests)
        falling = sorted(range(len(requests)), key=lengths.__getitem__, reverse=True)
        order = [*falling[:1], *falling[:0:-1][:1], *falling[1:-1]]
        self._lengths = [lengths[place] for place in order]
        return [requests[place] for place in order]

    def look_ahead(self, prompts: Sequence[Prompt]) -> None:
        """Process the next pictures in advance, where prompts can be split at them."""
        if self._joins():
            self.reader.look_ahead(prompts)

    def release(self) -> None:
        """Free what is stored between batches, after memory ran out."""
        self.reader.forget()
        self.vision_cache.forget()
        self._pool.forget()
        gc.collect()
        if self.model.device.type == "cuda":
            torch.cuda.empty_cache()

    def share_less(self, why: str, sharing: Sharing | None = None) -> None:
        """Share less from now on, for a reason."""
        self.sharing, self.why = sharing or _NEXT_LEVEL[self.sharing], why

    def stream(
        self,
        waiting: RequestQueue,
        temperature: float,
        top_p: float,
        max_tokens: int,
        limit: int,
        room: int = 0,
    ) -> Iterator[list[tuple[int, Generated]]]:
        """Answer what waits, and give what has finished, with its number.

        Where sharing fails, what was lost is answered by plain `generate` one at a time, and less
        is shared from then on.

        Parameters
        ----------
        limit
            How many rows may be answered at a time.
        room
            Bytes that their keys and values may take together: once rows run, it counts in place of
            the limit. 0 where the limit stands.
        """

        def flow() -> Scheduler:
            return self._flow(TokenSampler(temperature, top_p), max_tokens)

        least, most = _CHECKED_ROWS
        self._checked_rows = max(least, min(most, len(waiting.requests) // _REQUESTS_A_ROW))
        running, largest = flow(), 0
        held: list[tuple[int, Generated]] = []
        handed_over = -math.inf
        while waiting.more or running.alive:
            joins = self._joins()
            if room and running.alive:
                limit = min(MOST_ROWS, max(1, room // running.row_bytes))
            most = min(
                limit, self.most or limit, _FIRST_BATCH if handed_over == -math.inf else limit
            )
            if not joins and max_tokens > _SHORT_ANSWER:
                most = min(most, _PLAIN_BATCH)
            if self.level == "nothing" and self.model.device.type == "cpu":
                most = min(most, max(1, _PLAIN_TOKENS // self._width))
            free, taken = most - running.alive, list[QueuedPrompt]()
            if waiting.more and (not running.alive or (joins and free >= _REFILL_ABOVE * most)):
                taken = waiting.take(free)
            failure, no_memory = "", False
            try:
                with torch.inference_mode():
                    if taken and not self._is_checked(taken):
                        answered = self._choose_sharing(taken, temperature, top_p, max_tokens)
                        held += answered.items()
                        taken = [each for each in taken if each[0] not in answered]
                        running = flow()
                    if taken and not self._joins():
                        alike = self._of_one_length(taken)
                        waiting.back(taken[alike:])
                        taken = taken[:alike]
                        chooser = self._chooser(taken, temperature, top_p)
                        held += self._answer_batch(taken, chooser, max_tokens)
                    elif taken:
                        self._start_rows(running.chooser, taken)
                        running.admit(taken, waiting.next_picture)
                    else:
                        running.step()
            except RespondentError:
                yield held
                raise
            except CannotSplit as unsplit:
                waiting.back(taken)
                self._step_down(unsplit.why, final=True)
            except Exception as error:  # a model's forward pass may fail in any way
                failure, no_memory = _first_line(error), is_out_of_memory(error)
            done = [
                (row, self._drawn(tokens, running.chooser.leave(row)))
                for row, tokens in running.collect()
            ]
            held += done
            if not failure:
                largest = max(largest, running.alive, len(taken))
            else:  # outside of the handler, whose traceback holds the tensors that did not fit
                known = {number for number, _ in done}
                by_number = {
                    number: (number, prompt)
                    for number, prompt in (*running.unfinished, *taken)
                    if number not in known
                }
                lost = [by_number[number] for number in sorted(by_number)]
                running = flow()
                self.release()
                if not no_memory:
                    chooser = self._chooser(lost, temperature, top_p)
                    with torch.inference_mode():
                        held += self._after_failure(failure, lost, chooser, max_tokens)
                elif len(lost) == 1:
                    held.append((lost[0][0], Generated([], {}, _NO_MEMORY)))
                    self.most = largest or 1
                else:
                    waiting.back(lost)
                    self.most = max(1, min(len(lost) // 2, self.most or len(lost)))
            if held and time.monotonic() - handed_over > _HOLD_SECONDS:
                yield held
                held, handed_over = [], time.monotonic()
        if held:
            yield held

    def _length(self, asked: QueuedPrompt) -> tuple[int, ...]:
        """How long a prompt is, as far as it is known before it is processed."""
        number, prompt = asked
        return self._lengths[number] if self._lengths else (len(prompt.text),)

    def _of_one_length(self, taken: Sequence[QueuedPrompt]) -> int:
        """How many of these prompts to answer together: on a CPU, where a large batch gains little,
        long ones only while they are of one length.
        """
        if not self._lengths or self.model.device.type != "cpu":
            return len(taken)
        first = self._length(taken[0])
        return next(
            (
                count
                for count, each in enumerate(taken)
                if count * self._width >= _FEW_TOKENS and self._length(each) != first
            ),
            len(taken),
        )

    def _after_failure(
        self, failure: str, lost: Sequence[QueuedPrompt], chooser: TokenSampler, max_tokens: int
    ) -> list[tuple[int, Generated]]:
        """Answer one at a time what was lost, and share less where that helped: otherwise the
        prompts are at fault.
        """
        answers = self._alone(lost, chooser, max_tokens)
        if any(not answer.error for _, answer in answers):
            if self.level == "nothing":
                self.one_at_a_time, self.why = True, self.why or failure
            else:
                self._step_down(f"with {_IN_WORDS[self.sharing]} the model fails: {failure}")
            self._say()
        return answers

    def _start_rows(
        self, chooser: TokenSampler, taken: Sequence[QueuedPrompt], *, watch: bool = False
    ) -> None:
        for number, prompt in taken:
            chooser.enter(number, prompt.seed, self._words.of(prompt.words), watch=watch)

    def _chooser(
        self,
        taken: Sequence[QueuedPrompt],
        temperature: float,
        top_p: float,
        *,
        watch: bool = False,
    ) -> TokenSampler:
        chooser = TokenSampler(temperature, top_p)
        self._start_rows(chooser, taken, watch=watch)
        return chooser

    def _answer_batch(
        self, taken: Sequence[QueuedPrompt], chooser: TokenSampler, max_tokens: int
    ) -> list[tuple[int, Generated]]:
        """Answer these and no others, sharing what can be shared."""
        ways: dict[Sharing, Callable[..., list[tuple[int, Generated]]]] = {
            "prefix": self._shared,
            "features": self._shared if self.whole else self._with_features,
            "nothing": self._plain,
        }
        return ways[self.level](taken, chooser, max_tokens)

    def _trial(
        self,
        way: Callable[[Sequence[QueuedPrompt], TokenSampler, int], list[tuple[int, Generated]]],
        taken: Sequence[QueuedPrompt],
        temperature: float,
        top_p: float,
        max_tokens: int,
    ) -> Trial:
        """Begin a few answers in one way, to compare it with another."""
        few = _spread(taken, self._checked_rows)
        chooser = self._chooser(few, temperature, top_p, watch=True)
        return Trial(dict(way(few, chooser, min(max_tokens, _CHECKED_TOKENS))), chooser)

    def _is_checked(self, taken: Sequence[QueuedPrompt]) -> bool:
        """Whether it is known how such prompts can be answered."""
        if self.level == "nothing":
            return (taken[0][1].picture is not None) in self._plain_checked
        return self.level in self._checked

    def _choose_sharing(
        self, taken: Sequence[QueuedPrompt], temperature: float, top_p: float, max_tokens: int
    ) -> dict[int, Generated]:
        """Find out what can be shared: a few answers are begun with it, and by plain `generate`.
        Return those that came to their end.

        Raises
        ------
        RespondentError
            Plain `generate` answers none of them, one at a time.
        """
        asked = taken, temperature, top_p, max_tokens
        answered: dict[int, Generated] = {}
        while not self._is_checked(taken) and self.level != "nothing":
            level = self.level
            try:
                shared = self._trial(self._answer_batch, *asked)
                # some models read padding, so that of several prompts plain `generate` errs itself
                agree = any(
                    self._agree(shared, self._trial(way, *asked))
                    for way in (self._plain, self._alone)
                )
            except Exception as error:  # a model's forward pass may fail in any way
                if is_out_of_memory(error):
                    raise
                if isinstance(error, CannotSplit):
                    self._step_down(error.why, final=True)
                else:
                    why = f"with {_IN_WORDS[level]} the model fails: {_first_line(error)}"
                    self._step_down(why)
                continue
            if agree:
                self._checked.add(level)
                answered = self._complete(shared, max_tokens)
            else:
                self._step_down(
                    f"with {_IN_WORDS[level]} the answers are not those of plain generate"
                )
        if self.level == "nothing":
            answered = self._check_plain(*asked)
        if self.why:
            self._say()
        return answered

    def _complete(self, trial: Trial, max_tokens: int) -> dict[int, Generated]:
        """The answers of a trial that are as long as they can be."""
        return {
            row: answer
            for row, answer in trial.answers.items()
            if not answer.error
            and (answer.tokens[-1] in self.ends or len(answer.tokens) == max_tokens)
        }

    def _step_down(self, why: str, *, final: bool = False) -> None:
        """Share less, or the same in a simpler way; `final` where no simpler way can help."""
        if self.sharing == "prefix" and self.packs and not final:
            self.packs = False
        elif self.sharing == "features" and self.whole:
            self.whole = False
        else:
            self.share_less(why)

    def _check_plain(
        self, taken: Sequence[QueuedPrompt], temperature: float, top_p: float, max_tokens: int
    ) -> dict[int, Generated]:
        """Find out whether plain `generate` can read several prompts: the shortest of them, which
        it pads, is answered as it is alone. Return the answers that came to their end.
        """
        asked = temperature, top_p, max_tokens
        few = _spread(taken, self._checked_rows)
        pictured = few[0][1].picture is not None
        if not self.one_at_a_time:
            why = "of several prompts at a time plain generate gives other answers"
            try:
                together = self._trial(self._plain, few, *asked)
                shortest = min(few, key=self._length)
                alone = self._trial(self._alone, [shortest], *asked)
                agree = self._agree(_only(together, shortest[0]), alone)
            except Exception as error:  # a model's forward pass may fail in any way
                if is_out_of_memory(error):
                    raise
                agree, why = False, f"with several prompts the model fails: {_first_line(error)}"
            if agree:
                self._plain_checked.add(pictured)
                return self._complete(together, max_tokens)
            self.one_at_a_time, self.why = True, why
        alone = self._trial(self._alone, few, *asked)
        reasons = [answer.error for answer in alone.answers.values() if answer.error]
        if len(reasons) == len(alone.answers):
            remedy = "Another version of transformers may run it, or a server (vllm/)."
            what = "it answers no question"
            self._say()
            if not pictured:
                what = f"{what} without a picture"
                remedy = "Leave it out where pictures are not shown (--blind)."
            raise RespondentError(f"{what}: {reasons[0]}", location=self.name, remedy=remedy)
        self._plain_checked.add(pictured)
        return self._complete(alone, max_tokens)

    def _agree(self, shared: Trial, plain: Trial) -> bool:
        """Whether answers are those of plain `generate`; in half precision, whether their
        distributions are near.
        """
        if torch.finfo(self.model.dtype).bits >= 32:
            return {n: (a.tokens, a.error) for n, a in shared.answers.items()} == {
                n: (a.tokens, a.error) for n, a in plain.answers.items()
            }
        watched = plain.chooser.watched
        return watched.keys() == shared.chooser.watched.keys() and all(
            float((shared.chooser.watched[row] - watched[row]).abs().sum()) / 2 < _NEAR
            for row in watched
        )

    # --- plain ---

    def _plain(
        self, taken: Sequence[QueuedPrompt], chooser: TokenSampler, max_tokens: int
    ) -> list[tuple[int, Generated]]:
        if self.one_at_a_time:
            return self._alone(taken, chooser, max_tokens)
        inputs = self.reader.inputs([prompt for _, prompt in taken])
        return self._generate(taken, chooser, max_tokens, inputs)

    def _alone(
        self, taken: Sequence[QueuedPrompt], chooser: TokenSampler, max_tokens: int
    ) -> list[tuple[int, Generated]]:
        """Plain `generate` with one prompt at a time; where it fails, the answer says why."""
        answers: list[tuple[int, Generated]] = []
        for number, prompt in taken:
            try:
                inputs = self.reader.inputs([prompt])
                answers += self._generate([(number, prompt)], chooser, max_tokens, inputs)
            except Exception as error:  # a model's forward pass may fail in any way
                reason = _NO_MEMORY if is_out_of_memory(error) else _first_line(error)
                answers.append((number, Generated([], chooser.leave(number), reason)))
        return answers

    def _generate(
        self, taken: Sequence[QueuedPrompt], chooser: TokenSampler, max_tokens: int, inputs: Any
    ) -> list[tuple[int, Generated]]:
        numbers = [number for number, _ in taken]

        def choose(_input_ids: Any, scores: Any) -> Any:
            """As a logits processor of `generate`: everything but the chosen token becomes
            impossible.
            """
            chosen = chooser.choose(scores, numbers)
            read_tokens(chosen)  # a NaN ends it
            if chooser.temperature == 0:
                return scores
            return scores.new_full(scores.shape, float("-inf")).scatter(-1, chosen[:, None], 0.0)

        settings = self.model.generation_config
        # the model's own distribution: no penalties, no habits of its generation_config
        config = GenerationConfig(
            max_new_tokens=max_tokens,
            do_sample=False,
            num_beams=1,
            eos_token_id=sorted(self.ends),
            bos_token_id=settings.bos_token_id,
            pad_token_id=self.tokenizer.pad_token_id,
            decoder_start_token_id=self._start,
        )
        tokens = self.model.generate(
            **inputs, generation_config=config, logits_processor=LogitsProcessorList([choose])
        )
        asked = inputs["input_ids"]
        begin = self._width = asked.shape[1]
        # an encoder-decoder gives its first token back, some families nothing of the prompt
        if tokens.shape[1] < begin or not bool((tokens[:, :begin] == asked).all()):
            begin = int(self._start is not None and bool((tokens[:, 0] == self._start).all()))
        rows = zip(numbers, tokens[:, begin:].tolist(), strict=True)
        return [(number, self._drawn(row, chooser.leave(number))) for number, row in rows]

    def _drawn(self, row: list[int], first: dict[str, float]) -> Generated:
        stop = next((i + 1 for i, token in enumerate(row) if token in self.ends), len(row))
        return Generated(row[:stop], first)

    # --- vision features ---

    def _with_features(
        self, taken: Sequence[QueuedPrompt], chooser: TokenSampler, max_tokens: int
    ) -> list[tuple[int, Generated]]:
        """Plain `generate` with the vision tower's output put in its place."""
        prompts = [prompt for _, prompt in taken]
        outputs = self.vision_cache.outputs_of(prompts)
        try:
            inputs = self.reader.joined(self.reader.split(prompts, one_head=False))
        except CannotSplit:
            inputs = None
        inputs = self.reader.inputs(prompts) if inputs is None else inputs
        with self.vision_cache.replaying(outputs):
            return self._generate(taken, chooser, max_tokens, inputs)

    # --- prefix ---

    def _shared(
        self, taken: Sequence[QueuedPrompt], chooser: TokenSampler, max_tokens: int
    ) -> list[tuple[int, Generated]]:
        if getattr(self.model.config, "is_encoder_decoder", False):
            raise CannotSplit("an encoder-decoder has no prefix to share")
        flow = self._flow(chooser, max_tokens)
        flow.admit(taken)
        while flow.alive:
            flow.step()
        return [(row, self._drawn(tokens, chooser.leave(row))) for row, tokens in flow.collect()]


def _only(trial: Trial, row: int) -> Trial:
    """A trial as if only this row had been asked."""
    chooser = TokenSampler(0.0, 1.0)
    chooser.watched = {row: trial.chooser.watched[row]}
    return Trial({row: trial.answers[row]}, chooser)


def _first_line(error: Exception) -> str:
    """The first line of what an error says, with its type."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _spread(taken: Sequence[QueuedPrompt], count: int) -> list[QueuedPrompt]:
    """A few rows: two different questions of a picture, where there are any, other pictures, and last
    the row that is most unlike the first in size, beside which a model meets padding.
    """
    asked: dict[object, list[str]] = {}
    ranks = []
    for place, (_, prompt) in enumerate(taken):
        texts = asked.setdefault(prompt.picture_key, [])
        ranks.append((prompt.text in texts, len(texts) > 1, place))
        texts.append(prompt.text)
    ranked = [taken[place] for _, _, place in sorted(ranks)]
    few, others = ranked[: count - 1], ranked[count - 1 :]
    first = _extent(few[0])

    def unlike(each: QueuedPrompt) -> tuple[int, ...]:
        return tuple(abs(a - b) for a, b in zip(_extent(each), first, strict=True))

    return [*few, max(others, key=unlike)] if others else few


def _extent(asked: QueuedPrompt) -> tuple[int, int]:
    """The pixels and the letters of a prompt."""
    prompt = asked[1]
    pixels = 0 if prompt.picture is None else prompt.picture.width * prompt.picture.height
    return pixels, len(prompt.text)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on whatever device.

    >>> is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory"))
    True
    >>> is_out_of_memory(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED"))
    True
    >>> is_out_of_memory(RuntimeError("shapes do not match"))
    False
    """
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    text = str(error).lower()
    return any(sign in text for sign in _OUT_OF_MEMORY)


_OUT_OF_MEMORY = (
    "out of memory",
    "can't allocate memory",
    "not enough memory",
    "status_alloc_failed",
)
"""What the CUDA driver, torch's allocators on Linux and on Windows, and NVIDIA's libraries (cuBLAS,
cuDNN) say of it.
"""
