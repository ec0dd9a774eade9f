"""What the questions about a picture share: the policy, and the check against plain `generate`.

Three levels: the keys and values of the whole prefix, the output of the vision tower, or nothing.
The first batch of a level is compared with plain `generate`; a model that disagrees shares less.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from hqm.errors import RespondentError
from hqm.respondents.base import Sampling
from hqm.respondents.batching import QueuedPrompt
from hqm.respondents.hf_families import Family, Sharing
from hqm.respondents.hf_inputs import CannotSplit
from hqm.respondents.plain_decoding import (
    Generated,
    NumberedAnswers,
    PlainDecoder,
    first_line,
    is_out_of_memory,
)
from hqm.respondents.token_sampling import FirstTokens, TokenSampler, start_rows

SHARING_LABELS: dict[Sharing, str] = {
    "prefix": "shared image prefix",
    "features": "shared vision features",
    "nothing": "plain generate",
}
_NEXT_LEVEL: dict[Sharing, Sharing] = {"prefix": "features", "features": "nothing"}
_MIN_CHECKED_ROWS = 3
_MAX_CHECKED_ROWS = 4
"""Rows that are compared with plain `generate`."""
_CHECKED_TOKENS = 16
"""Tokens of each of these rows that are compared."""
_REQUESTS_A_ROW = 64
"""Requests for each of these rows."""
_MAX_DISTANCE = 0.1
"""Largest total variation distance, in half precision, between the distribution of a first token
and that of plain `generate`.
"""

Answer = Callable[[Sequence[QueuedPrompt], TokenSampler, int], NumberedAnswers]
"""Answers prompts, with a sampler and the limit of tokens."""


class SharingPolicy:
    """The level of sharing of a model, which falls when the check or a forward pass fails.

    Parameters
    ----------
    family
        The family, with the most that its questions can share.
    name
        The respondent, for messages.
    reads_once
        Whether a prompt that shares no prefix may be read once for all its runs.
    """

    def __init__(self, family: Family, name: str, reads_once: bool) -> None:
        self.name = name
        self.sharing: Sharing = family.sharing
        self.reason = family.reason
        """Why no more is shared."""
        self.packs = True
        """Whether the questions about a picture run as one sequence; False once that changed
        answers.
        """
        self.reads_once = reads_once
        """Whether prompts that share no prefix are read once for all runs; False once that changed
        answers.
        """
        self.is_useful = True
        """Whether sharing gains anything: two requests of the queue are about one picture, or their
        answers are long.
        """
        self.checked: set[Sharing] = set()
        """The levels that agreed with plain `generate`."""
        self.checked_plain: set[bool] = set()
        """With and without pictures: whether plain `generate` was tried with several prompts."""
        self._reported = ""

    @property
    def level(self) -> Sharing:
        """What the requests of the queue share."""
        return self.sharing if self.is_useful else "nothing"

    def can_join(self) -> bool:
        """Whether rows can join a running batch."""
        if self.level not in self.checked:
            return False
        return self.level == "prefix" or (self.level == "features" and self.reads_once)

    def is_checked(self, batch: Sequence[QueuedPrompt]) -> bool:
        """Whether it is known how such prompts can be answered."""
        if self.level == "nothing":
            return (batch[0][1].picture is not None) in self.checked_plain
        return self.level in self.checked

    def share_less(self, reason: str, sharing: Sharing | None = None) -> None:
        """Share less from now on, for a reason."""
        self.sharing = sharing or _NEXT_LEVEL[self.sharing]
        self.reason = reason

    def step_down(self, reason: str, *, final: bool = False) -> None:
        """Share less, or the same in a simpler way; `final` where no simpler way can help."""
        # First the same prefix with the questions one by one, which is still faster than none.
        if self.sharing == "prefix" and self.packs and not final:
            self.packs = False
        elif self.sharing == "features" and self.reads_once:
            self.reads_once = False
        else:
            self.share_less(reason)

    def report(self, description: str) -> None:
        """Log what is shared, once for each description."""
        if description != self._reported:
            logging.getLogger("hqm").warning("hqm: %s: %s", self.name, description)
            self._reported = description


class _Trial(NamedTuple):
    """A few answers that were begun, and the sampler that drew them."""

    answers: dict[int, Generated]
    chooser: TokenSampler


class SharingCheck:
    """Compares a few answers with those of plain `generate`.

    Parameters
    ----------
    policy
        The level of sharing, which is lowered where the answers differ.
    plain
        Plain `generate`.
    answer
        Answers prompts at the level of the policy.
    first_tokens
        The tokens of the words whose probability is wanted.
    length
        The length of a prompt, as far as it is known before it is processed.
    """

    def __init__(
        self,
        policy: SharingPolicy,
        plain: PlainDecoder,
        answer: Answer,
        first_tokens: FirstTokens,
        length: Callable[[QueuedPrompt], tuple[int, ...]],
    ) -> None:
        self.policy = policy
        self.plain = plain
        self._answer = answer
        self._first_tokens = first_tokens
        self._length = length
        self._n_rows = _MAX_CHECKED_ROWS

    def size_for(self, n_requests: int) -> None:
        """Set how many rows are compared, for a queue of so many requests."""
        n_rows = n_requests // _REQUESTS_A_ROW
        # The check answers its rows several times, which a small queue would feel.
        self._n_rows = max(_MIN_CHECKED_ROWS, min(_MAX_CHECKED_ROWS, n_rows))

    def choose_level(
        self, batch: Sequence[QueuedPrompt], sampling: Sampling
    ) -> dict[int, Generated]:
        """Find the highest level whose answers agree; return the answers that are complete.

        Raises
        ------
        RespondentError
            Plain `generate` answers none of the prompts, even one at a time.
        """
        policy = self.policy
        answered: dict[int, Generated] = {}
        while not policy.is_checked(batch) and policy.level != "nothing":
            level = policy.level
            label = f"with {SHARING_LABELS[level]}"
            try:
                shared = self._try(self._answer, batch, sampling)
                # of several prompts, some models read the padding even by plain `generate`
                agrees = any(
                    self._agree(shared, self._try(answer, batch, sampling))
                    for answer in (self.plain.answer, self.plain.answer_singly)
                )
            except Exception as error:  # a model's forward pass may fail in any way
                if is_out_of_memory(error):
                    # Memory says nothing of sharing: the caller tries the same with fewer rows.
                    raise
                if isinstance(error, CannotSplit):
                    policy.step_down(error.reason, final=True)
                else:
                    policy.step_down(f"{label} the model fails: {first_line(error)}")
                continue
            if agrees:
                policy.checked.add(level)
                answered = self._complete(shared, sampling.max_tokens)
            else:
                policy.step_down(f"{label} the answers are not those of plain generate")
        if policy.level == "nothing":
            answered = self._check_plain(batch, sampling)
        return answered

    def _check_plain(
        self, batch: Sequence[QueuedPrompt], sampling: Sampling
    ) -> dict[int, Generated]:
        """Find whether plain `generate` can read several prompts; return the complete answers.

        The shortest of several prompts, which is padded most, must be answered as it is alone.
        """
        policy = self.policy
        sample = _varied_sample(batch, self._n_rows)
        has_picture = sample[0][1].picture is not None
        if not self.plain.one_at_a_time:
            reason = "of several prompts at a time plain generate gives other answers"
            try:
                batched = self._try(self.plain.answer, sample, sampling)
                shortest = min(sample, key=self._length)
                single = self._try(self.plain.answer_singly, [shortest], sampling)
                agrees = self._agree(_restrict(batched, shortest[0]), single)
            except Exception as error:  # a model's forward pass may fail in any way
                if is_out_of_memory(error):
                    raise
                agrees = False
                reason = f"with several prompts the model fails: {first_line(error)}"
            if agrees:
                policy.checked_plain.add(has_picture)
                return self._complete(batched, sampling.max_tokens)
            self.plain.one_at_a_time = True
            policy.reason = reason
        single = self._try(self.plain.answer_singly, sample, sampling)
        errors = [answer.error for answer in single.answers.values() if answer.error]
        if len(errors) == len(single.answers):
            raise self._no_answer(errors[0], has_picture)
        policy.checked_plain.add(has_picture)
        return self._complete(single, sampling.max_tokens)

    def _no_answer(self, reason: str, has_picture: bool) -> RespondentError:
        """The error about a model that answers no question."""
        self.policy.report(describe(self.policy, self.plain))
        message = "it answers no question"
        remedy = "Another version of transformers may run it, or a server (vllm/)."
        if not has_picture:
            message = f"{message} without a picture"
            remedy = "Leave it out where pictures are not shown (--blind)."
        return RespondentError(f"{message}: {reason}", location=self.policy.name, remedy=remedy)

    def _try(self, answer: Answer, batch: Sequence[QueuedPrompt], sampling: Sampling) -> _Trial:
        """Begin a few answers in one way, to compare it with another."""
        sample = _varied_sample(batch, self._n_rows)
        chooser = TokenSampler(sampling.temperature, sampling.top_p)
        start_rows(chooser, sample, self._first_tokens, watch=True)
        # A fault of the shared prefix shows in the first tokens; more of them would only cost time.
        max_tokens = min(sampling.max_tokens, _CHECKED_TOKENS)
        return _Trial(dict(answer(sample, chooser, max_tokens)), chooser)

    def _complete(self, trial: _Trial, max_tokens: int) -> dict[int, Generated]:
        """The answers of a trial that ended, or are as long as the limit."""
        complete: dict[int, Generated] = {}
        for row, answer in trial.answers.items():
            if answer.error:
                continue
            # an answer that only the comparison cut short is drawn again
            if answer.tokens[-1] in self.plain.ends or len(answer.tokens) == max_tokens:
                complete[row] = answer
        return complete

    def _agree(self, shared: _Trial, plain: _Trial) -> bool:
        """Whether answers equal those of plain `generate`; in half precision, whether the
        distributions of their first tokens are close.
        """
        # In single precision both ways give the same sums but for their last bits, and so the same
        # tokens.
        if torch.finfo(self.plain.model.dtype).bits >= 32:
            return _texts(shared) == _texts(plain)
        # half precision rounds sums in another order otherwise, which may change a token
        distributions = plain.chooser.watched
        if distributions.keys() != shared.chooser.watched.keys():
            return False
        for row, distribution in distributions.items():
            distance = float((shared.chooser.watched[row] - distribution).abs().sum()) / 2
            if not distance < _MAX_DISTANCE:  # a NaN is no agreement
                return False
        return True


def describe(policy: SharingPolicy, plain: PlainDecoder) -> str:
    """What is shared, and why no more."""
    label = SHARING_LABELS[policy.sharing]
    if plain.one_at_a_time:
        label = f"{label}, one prompt at a time"
    return f"{label}: {policy.reason}" if policy.reason else label


def _texts(trial: _Trial) -> dict[int, tuple[list[int], str]]:
    """The tokens and the error of each answer of a trial."""
    return {row: (answer.tokens, answer.error) for row, answer in trial.answers.items()}


def _restrict(trial: _Trial, row: int) -> _Trial:
    """A trial with one of its rows."""
    # Nothing is drawn with it: only `watched` is read.
    chooser = TokenSampler(0.0, 1.0)
    chooser.watched = {row: trial.chooser.watched[row]}
    return _Trial({row: trial.answers[row]}, chooser)


def _varied_sample(batch: Sequence[QueuedPrompt], count: int) -> list[QueuedPrompt]:
    """A few rows: two different questions about a picture, where there are any, other pictures, and
    last the row whose size differs most from the first's, beside which a model meets padding.
    """
    texts_by_picture: dict[object, list[str]] = {}
    ranks = []
    for index, (_, prompt) in enumerate(batch):
        texts = texts_by_picture.setdefault(prompt.picture_key, [])
        ranks.append((prompt.text in texts, len(texts) > 1, index))
        texts.append(prompt.text)
    # words that stand for the first time come first, and of these two about each picture
    ranked = [batch[index] for _, _, index in sorted(ranks)]
    sample = ranked[: count - 1]
    remaining = ranked[count - 1 :]
    if not remaining:
        return sample
    pixels, letters = _extent(sample[0])

    def size_difference(queued: QueuedPrompt) -> tuple[int, int]:
        extent = _extent(queued)
        return abs(extent[0] - pixels), abs(extent[1] - letters)

    return [*sample, max(remaining, key=size_difference)]


def _extent(queued: QueuedPrompt) -> tuple[int, int]:
    """The pixels and the letters of a prompt."""
    prompt = queued[1]
    pixels = 0 if prompt.picture is None else prompt.picture.width * prompt.picture.height
    return pixels, len(prompt.text)
