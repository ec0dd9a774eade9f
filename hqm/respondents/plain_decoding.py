"""Plain decoding: answers by the model's own `generate`, which every family of models supports."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from transformers import GenerationConfig, LogitsProcessorList

from hqm.respondents.batching import QueuedPrompt
from hqm.respondents.hf_inputs import CannotSplit, Reader
from hqm.respondents.hf_loading import Loaded
from hqm.respondents.token_sampling import TokenSampler, read_tokens
from hqm.respondents.vision_cache import VisionCache

if TYPE_CHECKING:
    from transformers import BatchFeature

NO_MEMORY = "out of memory"
_LONG_PROMPT = 1024
"""Tokens that a prompt is assumed to have before one was read."""


@dataclass(frozen=True, slots=True)
class Generated:
    """The new tokens of one prompt, its end token included, and the first token's probabilities."""

    tokens: list[int]
    first: dict[str, float]
    error: str = ""
    """Why there is no answer; empty where there is one."""


NumberedAnswers = list[tuple[int, Generated]]
"""The numbers of prompts, with their answers."""


class PlainDecoder:
    """Answers prompts by a model's `generate`.

    Parameters
    ----------
    loaded
        The model with its processor.
    reader
        Makes the model's inputs.
    vision_cache
        The vision tower's outputs, for `answer_with_features`.
    """

    def __init__(self, loaded: Loaded, reader: Reader, vision_cache: VisionCache) -> None:
        self.model = loaded.model
        self.tokenizer = loaded.tokenizer
        self.reader = reader
        self.vision_cache = vision_cache
        self.ends = _end_tokens(loaded)
        """The tokens that end an answer."""
        self._start = self.model.generation_config.decoder_start_token_id
        if self._start is None:
            text = self.model.config.get_text_config()
            self._start = getattr(text, "decoder_start_token_id", None)
        self.width = _LONG_PROMPT
        """The tokens of the longest prompt of the last call."""
        self.one_at_a_time = False
        """Whether each call gets one prompt, because the model answers several prompts otherwise,
        or not at all.
        """

    def answer(
        self, batch: Sequence[QueuedPrompt], chooser: TokenSampler, max_tokens: int
    ) -> NumberedAnswers:
        """Answer prompts together, where the model can."""
        if self.one_at_a_time:
            return self.answer_singly(batch, chooser, max_tokens)
        inputs = self.reader.inputs([prompt for _, prompt in batch])
        return self._generate(batch, chooser, max_tokens, inputs)

    def answer_singly(
        self, batch: Sequence[QueuedPrompt], chooser: TokenSampler, max_tokens: int
    ) -> NumberedAnswers:
        """Answer prompts one at a time; where that fails, the answer holds the error."""
        answers: NumberedAnswers = []
        for number, prompt in batch:
            try:
                inputs = self.reader.inputs([prompt])
                answers += self._generate([(number, prompt)], chooser, max_tokens, inputs)
            except Exception as error:  # a model's forward pass may fail in any way
                reason = NO_MEMORY if is_out_of_memory(error) else first_line(error)
                answers.append((number, Generated([], chooser.leave(number), reason)))
        return answers

    def answer_with_features(
        self, batch: Sequence[QueuedPrompt], chooser: TokenSampler, max_tokens: int
    ) -> NumberedAnswers:
        """Answer prompts together, with the cached outputs of the vision tower."""
        prompts = [prompt for _, prompt in batch]
        outputs = self.vision_cache.outputs_of(prompts)
        inputs = None
        with suppress(CannotSplit):  # the processor then makes the inputs of whole prompts
            inputs = self.reader.join(self.reader.split(prompts, one_head=False))
        if inputs is None:
            inputs = self.reader.inputs(prompts)
        with self.vision_cache.replay(outputs):
            return self._generate(batch, chooser, max_tokens, inputs)

    def generated(self, tokens: list[int], first: dict[str, float]) -> Generated:
        """The answer of a row: its tokens up to the end token."""
        for index, token in enumerate(tokens):
            if token in self.ends:
                return Generated(tokens[: index + 1], first)
        return Generated(tokens, first)

    def _generate(
        self,
        batch: Sequence[QueuedPrompt],
        chooser: TokenSampler,
        max_tokens: int,
        inputs: BatchFeature,
    ) -> NumberedAnswers:
        numbers = [number for number, _ in batch]

        def choose(_input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
            """Make all tokens but the drawn one impossible, as a logits processor."""
            tokens = chooser.choose(scores, numbers)
            read_tokens(tokens)  # raises where a score is NaN
            # The likeliest token is what `generate` takes of itself.
            if chooser.temperature == 0:
                return scores
            return scores.new_full(scores.shape, float("-inf")).scatter(-1, tokens[:, None], 0.0)

        # the model's own distribution, without the penalties of its generation_config
        config = GenerationConfig(
            max_new_tokens=max_tokens,
            # Tokens are drawn by `choose`, from each request's own stream: `generate` has one for
            # the batch.
            do_sample=False,
            num_beams=1,
            eos_token_id=sorted(self.ends),
            bos_token_id=self.model.generation_config.bos_token_id,
            pad_token_id=self.tokenizer.pad_token_id,
            decoder_start_token_id=self._start,
        )
        tokens = self.model.generate(
            **inputs, generation_config=config, logits_processor=LogitsProcessorList([choose])
        )
        prompt_tokens = inputs["input_ids"]
        n_prompt = self.width = prompt_tokens.shape[1]
        # an encoder-decoder returns its start token, some families nothing of the prompt
        if tokens.shape[1] < n_prompt or not bool((tokens[:, :n_prompt] == prompt_tokens).all()):
            has_start = self._start is not None and bool((tokens[:, 0] == self._start).all())
            n_prompt = int(has_start)
        answers: NumberedAnswers = []
        for number, row in zip(numbers, tokens[:, n_prompt:].tolist(), strict=True):
            answers.append((number, self.generated(row, chooser.leave(number))))
        return answers


def _end_tokens(loaded: Loaded) -> frozenset[int]:
    """The tokens that end an answer, by the model, its text model or the tokenizer."""
    ends = loaded.model.generation_config.eos_token_id
    if ends is None:
        ends = getattr(loaded.model.config.get_text_config(), "eos_token_id", None)
    if ends is None:
        ends = loaded.tokenizer.eos_token_id
    return frozenset(ends if isinstance(ends, list) else [ends])


def first_line(error: Exception) -> str:
    """The type of an error and the first line of its message."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


_MEMORY_ERRORS = (
    "out of memory",
    "can't allocate memory",
    "not enough memory",
    "status_alloc_failed",
)
"""Words in the errors of the CUDA driver, of torch's allocators on Linux and on Windows, and of
NVIDIA's libraries (cuBLAS, cuDNN).
"""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory ran out, on whatever device.

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
    return any(words in text for words in _MEMORY_ERRORS)
