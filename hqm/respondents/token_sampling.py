"""Drawing tokens: one random stream a request, and the first token's probabilities of the answers
that count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from hqm.respondents.attention import tensor_on
from hqm.respondents.server_replies import SPACES, forms


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
        self.temperature, self.top_p = temperature, top_p
        self.first: dict[int, dict[str, float]] = {}
        """The probability of each watched word as the first token, by row."""
        self.watched: dict[int, Any] = {}
        """The whole distribution of the first token, by watched row."""
        self._streams: dict[int, np.random.Generator] = {}
        self._wanted: dict[int, Mapping[str, Sequence[int]]] = {}
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
            self._wanted[row] = words
        if watch:
            self._watch.add(row)

    def leave(self, row: int) -> dict[str, float]:
        """Forget a row, and return the probabilities of its first token."""
        self._streams.pop(row, None)
        return self.first.pop(row, {})

    def choose(self, scores: Any, rows: Sequence[int]) -> Any:
        """Draw the next token of each row of `scores`; `rows` names their random streams.

        Raises
        ------
        FloatingPointError
            A row has NaN among its scores: no token follows from them.
        """
        noted = [
            place for place, row in enumerate(rows) if row in self._wanted or row in self._watch
        ]
        if self.temperature == 0:
            if noted:
                self._note(torch.softmax(_wide(scores), dim=-1), rows, noted)
            chosen = scores.argmax(dim=-1)  # that of a NaN where there is any
            return chosen.masked_fill(scores.gather(-1, chosen[:, None])[:, 0].isnan(), -1)
        chances = torch.softmax(_wide(scores) / self.temperature, dim=-1)
        if self.top_p < 1:
            ranked, order = chances.sort(dim=-1, descending=True, stable=True)
            spare = (
                ranked.cumsum(dim=-1) - ranked > self.top_p
            )  # kept until the mass before a token passes top-p
            chances = chances.masked_fill(torch.zeros_like(spare).scatter(-1, order, spare), 0.0)
        if noted:
            self._note(chances / chances.sum(dim=-1, keepdim=True), rows, noted)
        passed = chances.cumsum(dim=-1)
        numbers = tensor_on(
            [self._streams[row].random() for row in rows], passed.device, passed.dtype
        )
        # a token of probability 0 spans nothing, so the number never falls on it
        chosen = torch.searchsorted(passed, (numbers * passed[:, -1])[:, None], right=True)[:, 0]
        chosen = chosen.clamp(max=scores.shape[-1] - 1).masked_fill(passed[:, -1].isnan(), -1)
        return chosen.to(scores.device)

    def _note(self, chances: Any, rows: Sequence[int], noted: Sequence[int]) -> None:
        """Store the wanted probabilities of the first token."""
        for place in noted:
            if rows[place] in self._watch:
                self._watch.discard(rows[place])
                self.watched[rows[place]] = chances[place].cpu()
        places = [place for place in noted if rows[place] in self._wanted]
        if not places:
            return
        # one look-up for all rows: the tokens of all words, then each row's own
        words = [self._wanted.pop(rows[place]) for place in places]
        wanted = sorted({token for own in words for tokens in own.values() for token in tokens})
        column = {token: i for i, token in enumerate(wanted)}
        probabilities = chances[places][:, wanted].tolist()
        for place, own, values in zip(places, words, probabilities, strict=True):
            self.first[rows[place]] = {
                word: sum(values[column[token]] for token in tokens)
                for word, tokens in own.items()
                if tokens
            }


def read_tokens(chosen: Any) -> list[int]:
    """Read drawn tokens back from the device, in one wait for it.

    Raises
    ------
    FloatingPointError
        Some scores were NaN.
    """
    tokens: list[int] = chosen.tolist()
    if min(tokens, default=0) < 0:
        raise FloatingPointError("the model's scores of the next token are NaN")
    return tokens


def _wide(scores: Any) -> Any:
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
    >>> FirstTokens(Tokenizer()).of(("yes", "no"))
    {'yes': (5, 6), 'no': (7, 8)}
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._vocabulary: dict[str, int] = {}
        self._known: dict[tuple[str, ...], dict[str, tuple[int, ...]]] = {}

    def of(self, words: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
        """Return each word's tokens; no token belongs to two words."""
        if words not in self._known:
            whole = {word: self._whole(word) for word in words}
            begun = {word: tokens or self._begin(word) for word, tokens in whole.items()}
            self._known[words] = {
                word: tuple(
                    sorted(
                        t
                        for t in tokens
                        if not any(t in begun[other] for other in words if other != word)
                    )
                )
                for word, tokens in begun.items()
            }
        return self._known[words]

    def _whole(self, word: str) -> set[int]:
        self._vocabulary = self._vocabulary or self._tokenizer.get_vocab()
        spelt = (space + form for space in SPACES for form in forms(word))
        return {self._vocabulary[text] for text in spelt if text in self._vocabulary}

    def _begin(self, word: str) -> set[int]:
        rows = (
            self._tokenizer(space + form, add_special_tokens=False)["input_ids"]
            for space in ("", " ")
            for form in forms(word)
        )
        return {row[0] for row in rows if row}
