"""Sampling of tokens: one random stream a request, and the first token's probabilities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, product
from typing import TYPE_CHECKING

import numpy as np
import torch

from hqm.respondents.attention import tensor_on
from hqm.respondents.batching import QueuedPrompt
from hqm.respondents.server_replies import SPACES, forms

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class TokenSampler:
    """Draws each row's next token with that row's own random stream.

    Token t of a request uses number t of the Philox stream keyed by the request's seed; the token
    is the one where the cumulative distribution, in vocabulary order, passes that number. So an
    answer depends on its request alone: not on the batch, the place in it, the order, or the number
    of workers. With temperature 0 it is the likeliest token.

    Examples
    --------
    >>> import torch
    >>> chooser = TokenSampler(temperature=1.0, top_p=1.0)
    >>> chooser.enter(7, seed=1, words={"yes": (0,)})
    >>> int(chooser.choose(torch.tensor([[0.0, 0.0]]), [7])[0]), chooser.first[7]
    (0, {'yes': 0.5})
    """

    def __init__(self, temperature: float, top_p: float) -> None:
        self.temperature = temperature
        self.top_p = top_p
        self.first: dict[int, dict[str, float]] = {}
        """The probability of each watched word as the first token, by row."""
        self.watched: dict[int, torch.Tensor] = {}
        """The whole distribution of the first token, by watched row."""
        self._streams: dict[int, np.random.Generator] = {}
        self._words: dict[int, Mapping[str, Sequence[int]]] = {}
        self._watch: set[int] = set()

    def enter(
        self,
        row: int,
        seed: int,
        words: Mapping[str, Sequence[int]] | None = None,
        *,
        watch: bool = False,
    ) -> None:
        """Start a row, or start it again.

        Parameters
        ----------
        words
            The answers whose probability as a first token is wanted, each with its tokens
            (`FirstTokens`); it is found in `first`.
        watch
            Keep the whole distribution of the first token in `watched`.
        """
        if self.temperature > 0:
            self._streams[row] = np.random.Generator(np.random.Philox(key=seed))
        if words:
            self._words[row] = words
        if watch:
            self._watch.add(row)

    def leave(self, row: int) -> dict[str, float]:
        """Forget a row, and return the probabilities of its first token."""
        self._streams.pop(row, None)
        return self.first.pop(row, {})

    def choose(self, scores: torch.Tensor, rows: Sequence[int]) -> torch.Tensor:
        """Draw the next token of each row of `scores`; `rows` names their random streams.

        Raises
        ------
        FloatingPointError
            A row has NaN among its scores: no token follows from them.
        """
        noted_indices = [
            index for index, row in enumerate(rows) if row in self._words or row in self._watch
        ]
        if self.temperature == 0:
            if noted_indices:
                self._note(torch.softmax(_wide(scores), dim=-1), rows, noted_indices)
            # -1 stands for NaN: `read_tokens` raises, where the device is waited for anyway
            tokens = scores.argmax(dim=-1)  # that of a NaN where there is any
            return tokens.masked_fill(scores.gather(-1, tokens[:, None])[:, 0].isnan(), -1)
        chances = torch.softmax(_wide(scores) / self.temperature, dim=-1)
        if self.top_p < 1:
            # Equal probabilities keep the order of the vocabulary on every device.
            ranked, order = chances.sort(dim=-1, descending=True, stable=True)
            # kept until the mass before a token passes top-p
            is_dropped = ranked.cumsum(dim=-1) - ranked > self.top_p
            chances = chances.masked_fill(
                torch.zeros_like(is_dropped).scatter(-1, order, is_dropped), 0.0
            )
        if noted_indices:
            self._note(chances / chances.sum(dim=-1, keepdim=True), rows, noted_indices)
        passed = chances.cumsum(dim=-1)
        numbers = tensor_on(
            [self._streams[row].random() for row in rows], passed.device, passed.dtype
        )
        # a token of probability 0 spans nothing, so the number never falls on it
        tokens = torch.searchsorted(passed, (numbers * passed[:, -1])[:, None], right=True)[:, 0]
        # Rounding may put the number at the very end.
        tokens = tokens.clamp(max=scores.shape[-1] - 1).masked_fill(passed[:, -1].isnan(), -1)
        return tokens.to(scores.device)

    def _note(
        self, chances: torch.Tensor, rows: Sequence[int], noted_indices: Sequence[int]
    ) -> None:
        """Store the wanted probabilities of the first token."""
        for index in noted_indices:
            if rows[index] in self._watch:
                self._watch.discard(rows[index])
                self.watched[rows[index]] = chances[index].cpu()
        indices = [index for index in noted_indices if rows[index] in self._words]
        if not indices:
            return
        # one look-up for all rows: the tokens of all words, then each row's own
        words = [self._words.pop(rows[index]) for index in indices]
        token_ids = sorted(set().union(*(chain.from_iterable(row.values()) for row in words)))
        probabilities = chances[indices][:, token_ids].tolist()
        for index, word_tokens, values in zip(indices, words, probabilities, strict=True):
            by_token = dict(zip(token_ids, values, strict=True))
            by_word = {}
            for word, tokens in word_tokens.items():
                if tokens:
                    by_word[word] = sum(by_token[token] for token in tokens)
            self.first[rows[index]] = by_word


def read_tokens(token_tensor: torch.Tensor) -> list[int]:
    """Read drawn tokens back from the device, in one wait for it.

    Raises
    ------
    FloatingPointError
        Some scores were NaN.
    """
    tokens: list[int] = token_tensor.tolist()
    if min(tokens, default=0) < 0:
        raise FloatingPointError("the model's scores of the next token are NaN")
    return tokens


def _wide(scores: torch.Tensor) -> torch.Tensor:
    """Convert scores to double precision, which Apple's GPUs lack."""
    return scores.cpu().double() if scores.device.type == "mps" else scores.double()


class FirstTokens:
    """The tokens by which an answer may begin.

    A word counts in every case (yes, Yes, YES) with and without a space before it, as far as one
    token says it: the probabilities of these tokens are summed. A word that no single token says is
    counted by the first token of its spellings, as long as no other word of the same question
    begins so; otherwise it has no tokens, and its probability is not recorded.

    Parameters
    ----------
    tokenizer
        A tokenizer of transformers.

    Examples
    --------
    >>> class Tokenizer:
    ...     def get_vocab(self):
    ...         return {"yes": 5, "ĠYes": 6, "ĠNo": 7, "no": 8, "A": 9}
    ...     def __call__(self, text, add_special_tokens):
    ...         return {"input_ids": [1, 2]}
    >>> FirstTokens(Tokenizer()).tokens_of(("yes", "no"))
    {'yes': (5, 6), 'no': (7, 8)}
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        self._vocabulary: dict[str, int] = {}
        self._tokens: dict[tuple[str, ...], dict[str, tuple[int, ...]]] = {}

    def tokens_of(self, words: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
        """Return each word's tokens; no token belongs to two words."""
        if words not in self._tokens:
            counts: Counter[int] = Counter()
            first_tokens: dict[str, set[int]] = {}
            # A word that is named twice shares no token with itself.
            for word in set(words):
                first_tokens[word] = self._single_tokens(word) or self._first_tokens(word)
                counts.update(first_tokens[word])
            self._tokens[words] = {}
            for word in words:
                unshared = sorted(token for token in first_tokens[word] if counts[token] == 1)
                self._tokens[words][word] = tuple(unshared)
        return self._tokens[words]

    def _single_tokens(self, word: str) -> set[int]:
        self._vocabulary = self._vocabulary or self._tokenizer.get_vocab()
        spelt = map("".join, product(SPACES, forms(word)))
        return {self._vocabulary[text] for text in spelt if text in self._vocabulary}

    def _first_tokens(self, word: str) -> set[int]:
        first_tokens = set()
        for spelt in map("".join, product(("", " "), forms(word))):
            if row := self._tokenizer(spelt, add_special_tokens=False)["input_ids"]:
                first_tokens.add(row[0])
        return first_tokens


def start_rows(
    chooser: TokenSampler,
    batch: Sequence[QueuedPrompt],
    first_tokens: FirstTokens,
    *,
    watch: bool = False,
) -> None:
    """Start the rows of a batch in a sampler, each with its seed and the words that are wanted."""
    for number, prompt in batch:
        words = first_tokens.tokens_of(prompt.words)
        chooser.enter(number, prompt.seed, words, watch=watch)
