"""The words that an answer may begin with, and their probabilities from the tokens that a server
lists.

A model that runs here gives the probability of every token (`hqm.respondents.drawing`). A server
lists the likeliest tokens of each position with their log probabilities, 20 at most as a rule: a
word's probability is the sum over its spellings in the list of the first position, and what the
list leaves out is a bound on what the sum may lack.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SPACES = ("", " ", "Ġ", "▁")
"""How vocabularies write a word with nothing, or with a space, before it."""
_LARGEST_VOCABULARY = 300_000
"""More tokens than a model's vocabulary has; above temperature 1 it bounds what the unlisted ones
gain.
"""
_NO_TEXT = re.compile(r"token_id:\d+|<0x[0-9A-F]{2}>")
"""Tokens written as numbers, or as bytes of a character."""


def forms(word: str) -> tuple[str, ...]:
    """The spellings of a word, without the space before it.

    >>> forms("yes"), forms("A")
    (('yes', 'Yes', 'YES'), ('A',))
    """
    # an option's letter is asked for in capitals; "a" is a word of its own
    return (word,) if len(word) == 1 else (word.lower(), word.capitalize(), word.upper())


@dataclass(frozen=True, slots=True)
class Listed:
    """The tokens that a server lists for the first position of an answer, and the probability of
    each.
    """

    tokens: tuple[tuple[str, float], ...]
    least: float
    """No token that is not listed has a higher probability."""

    @classmethod
    def read(cls, position: Mapping[str, Any]) -> Listed | None:
        """The first of `choices[0].logprobs.content`; None where it lists nothing, or no
        probabilities.

        Raises
        ------
        AttributeError, KeyError, TypeError, ValueError
            It is not what the interface describes.
        """
        top = [
            (str(entry["token"]), float(entry["logprob"]))
            for entry in position.get("top_logprobs") or ()
        ]
        if not top:
            return None
        text, logprob = str(position["token"]), float(position["logprob"])
        # two tokens may read alike; the one that was drawn is told by its number, and need not be
        # among the likeliest
        known = any(
            text == other and math.isclose(logprob, value, abs_tol=1e-4) for other, value in top
        )
        entries = top if known else [*top, (text, logprob)]
        chances = [math.exp(value) if value < 1 else math.inf for _, value in entries]
        if any(math.isnan(value) for _, value in entries) or sum(chances) > 1.001:
            return None
        texts = (text for text, _ in entries)
        return cls(tuple(zip(texts, chances, strict=True)), min(chances[: len(top)]))

    def probabilities(
        self,
        words: Sequence[str],
        temperature: float = 1.0,
        top_p: float = 1.0,
        *,
        processed: bool = False,
    ) -> dict[str, Any]:
        """What an answer's `detail` keeps of its first token: `p`, `p_lost` and `p_unseen`.

        `p` is each word's probability in the distribution that the answer is drawn from; at
        temperature 0 it is the model's own. `p_lost` is what `p` lacks to 1. `p_unseen` is the part
        of it that could belong to the words all the same: tokens that are not listed, and listed
        ones with which a word begins that is itself not listed. Nothing is kept where the tokens
        are given as numbers.

        Parameters
        ----------
        words
            The words that an answer may be, in lower case, or options' letters.
        temperature, top_p
            How the answer is drawn. What is listed is taken to be the model's own distribution, at
            temperature 1.
        processed
            What is listed has temperature and top-p in it already.

        Examples
        --------
        >>> first = Listed((("Yes", 0.6), (" yes", 0.1), ("No", 0.2)), 0.1)
        >>> {name: value if name == "p" else round(value, 6) for name, value in first.probabilities(["yes", "no"]).items()}
        {'p': {'yes': 0.7, 'no': 0.2}, 'p_lost': 0.1, 'p_unseen': 0.1}
        """
        if not words or any(_NO_TEXT.fullmatch(text) for text, _ in self.tokens):
            return {}
        own = processed or temperature == 0
        chances, unseen = self._model() if own else self._drawn(temperature, top_p)
        listed = [(text, chance) for (text, _), chance in zip(self.tokens, chances, strict=True)]
        spelt = {word: {space + form for space in SPACES for form in forms(word)} for word in words}
        p = {
            word: math.fsum(chance for text, chance in listed if text in spelt[word])
            for word in words
        }
        missing = [
            word for word in words if not any(text in spelt[word] for text, _ in self.tokens)
        ]
        begun = math.fsum(chance for text, chance in listed if _begins(text, missing))
        return {
            "p": p,
            "p_lost": max(0.0, 1.0 - sum(p.values())),
            "p_unseen": min(1.0, unseen + begun),
        }

    def _model(self) -> tuple[list[float], float]:
        chances = [chance for _, chance in self.tokens]
        return chances, max(0.0, 1.0 - math.fsum(chances))

    def _drawn(self, temperature: float, top_p: float) -> tuple[list[float], float]:
        """The listed tokens' probabilities as they are drawn, and what all others can have together
        at most.
        """
        chances, rest = self._model()
        power = 1 / temperature
        # of weights x with a given sum, the sum of x ** power is largest with few large ones above
        # 1, with many equal ones below
        hidden = (
            rest * self.least ** (power - 1)
            if power >= 1
            else _LARGEST_VOCABULARY ** (1 - power) * rest**power
        )
        if power != 1:
            chances = [chance**power for chance in chances]
        whole = math.fsum(chances) + hidden
        chances, hidden = [chance / whole for chance in chances], hidden / whole
        if top_p == 1:
            return chances, hidden
        before, kept = 0.0, [False] * len(chances)
        for place in sorted(range(len(chances)), key=lambda i: -chances[i]):
            kept[place] = (
                before <= top_p
            )  # as in `drawing`: kept until the mass before a token passes top-p
            before += chances[place]
        hidden = 0.0 if before > top_p else hidden
        nucleus = (
            math.fsum(chance for chance, keep in zip(chances, kept, strict=True) if keep) + hidden
        )
        return [
            chance / nucleus if keep else 0.0 for chance, keep in zip(chances, kept, strict=True)
        ], hidden / nucleus


def _begins(text: str, words: Iterable[str]) -> bool:
    """Whether a token is a part of a word, from its beginning."""
    core = text.lstrip("".join(SPACES))
    return bool(core) and any(
        form.startswith(core) and form != core for word in words for form in forms(word)
    )
