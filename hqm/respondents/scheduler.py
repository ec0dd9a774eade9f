"""Scheduling rows: new questions join the running batch as answers finish."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch

from hqm.respondents.batching import QueuedPrompt
from hqm.respondents.hf_inputs import CannotSplit, EncodedPicture, Reader
from hqm.respondents.kv_cache import BufferPool, CacheRows
from hqm.respondents.packed_batch import (
    AHEAD,
    DecodingBatch,
    begin,
    blocks_of,
    merge_batches,
    start_read_prompts,
)
from hqm.respondents.token_sampling import TokenSampler
from hqm.respondents.vision_cache import Prefill, QuestionRows, decode_rows

TOKENS_CPU, _TOKENS_GPU = 4096, 16384
"""About how many tokens one forward pass reads: more gain nothing, and want more memory."""
_LONGEST_TO_SHORTEST = 1.25
"""Prefixes, and questions in rows, run together while the longest is so many times the shortest."""


class Scheduler:
    """Answer rows about pictures.

    Parameters
    ----------
    ends
        The tokens that end an answer.
    packs
        Whether questions may stand side by side behind their picture; otherwise the prefix is
        repeated for each.
    pool
        Memory of finished rows, for new ones.
    whole
        Given where prompts share no prefix, so that each whole prompt is read once for all its
        runs. It is a context for the prompts that run together, in which the vision tower returns
        its earlier outputs.
    first
        The position of a prompt's first token.
    """

    def __init__(
        self,
        model: Any,
        reader: Reader,
        ends: frozenset[int],
        chooser: TokenSampler,
        max_tokens: int,
        *,
        packs: bool,
        pool: BufferPool,
        whole: Callable[[Sequence[EncodedPicture]], AbstractContextManager[None]] | None = None,
        first: int = 0,
    ) -> None:
        self.model, self.reader, self.ends, self.packs = model, reader, ends, packs
        self.chooser, self.max_tokens = chooser, max_tokens
        self.whole, self.first = whole, first
        self.finished: list[tuple[int, list[int]]] = []
        self._asked: dict[int, QueuedPrompt] = {}
        self._tokens: dict[int, list[int]] = {}
        self._running: DecodingBatch | None = None
        self._pool = pool
        self._longest = 0
        """The tokens of the longest answer so far."""
        self._last_prefix: tuple[EncodedPicture, CacheRows, Any] | None = None
        """The prefix of a picture of which further questions wait."""
        self._most = _TOKENS_GPU if model.device.type == "cuda" else TOKENS_CPU
        self._window = _window(model.config.get_text_config())

    @property
    def alive(self) -> int:
        """How many rows are being answered."""
        return len(self._asked)

    @property
    def row_bytes(self) -> int:
        """The bytes of keys and values that a running row takes, its share of a prefix included."""
        running = self._running
        if running is None:
            return 1
        # rows that are to be split get a prefix of their own
        rows = len(running.members) if running.splitting else running.first
        return max(1, running.buffers.nbytes // rows)

    @property
    def _ahead(self) -> int:
        """The number of tokens to reserve memory for.

        Every step reads all of it, so it follows the longest answer so far.
        """
        longest = max(self._longest, max(map(len, self._tokens.values()), default=0))
        return min(AHEAD, longest if self._longest else self.max_tokens)

    @property
    def unfinished(self) -> list[QueuedPrompt]:
        """The rows that are being answered, with their prompts."""
        return list(self._asked.values())

    def collect(self) -> list[tuple[int, list[int]]]:
        """Return the number and tokens of each row that finished since the last call."""
        finished, self.finished = self.finished, []
        return finished

    def admit(self, taken: Sequence[QueuedPrompt], next_picture: object = None) -> None:
        """Read questions, and draw the first token of each.

        Parameters
        ----------
        next_picture
            The picture of the next questions in the queue; its prefix is kept for them.

        Raises
        ------
        CannotSplit
            A prompt cannot be split at its picture. No row has been started.
        """
        prompts = [prompt for _, prompt in taken]
        split = self.reader.split(prompts, one_head=self.whole is None)
        rows = [
            (number, seen, tail) for (number, _), (seen, tail) in zip(taken, split, strict=True)
        ]
        asked = {number: (number, prompt) for number, prompt in taken}
        if self.whole is not None:
            drawn, fresh = self._read(rows, self.whole)
            self._asked |= asked
            self._join(drawn, fresh)
            return
        self._asked |= asked
        beside = [row for row in rows if self._fits(row[1], row[2])]
        self._in_rows([row for row in rows if not self._fits(row[1], row[2])])
        if not beside:
            return
        # the widest last, so that those of like width are read together
        blocks = sorted(
            blocks_of(beside, self.max_tokens), key=lambda block: sum(map(len, block.tails))
        )
        prefixes = self._prefixes([block.seen for block in blocks])
        parts = [prefixes[id(block.seen)] for block in blocks]
        shift = None
        if parts[0][1] is not None:
            shift = torch.cat([shift for _, shift in parts])
        last = next(
            (
                seen
                for (_, prompt), (seen, _) in zip(taken, split, strict=True)
                if prompt.picture_key == next_picture
            ),
            None,
        )
        self._last_prefix = None
        if last is not None and id(last) in prefixes:
            part, own = prefixes[id(last)]
            self._last_prefix = last, part.copied(), own
        read = [part for part, _ in parts]
        drawn, fresh = begin(
            self.model,
            blocks,
            read,
            shift,
            self.chooser.choose,
            self._most,
            self._ahead,
            self._pool,
        )
        self._join(drawn, fresh)

    def _join(self, drawn: dict[int, int], fresh: DecodingBatch) -> None:
        """Merge rows whose first token is drawn into the running batch."""
        self._note(drawn, fresh)
        if self._running is None and not fresh.needs_repacking:
            self._running = fresh
        else:
            self._running = merge_batches(
                [part for part in (self._running, fresh) if part is not None],
                self._ahead,
                self._pool,
            )

    def _read(
        self,
        rows: Sequence[tuple[int, EncodedPicture, Sequence[int]]],
        whole: Callable[[Sequence[EncodedPicture]], AbstractContextManager[None]],
    ) -> tuple[dict[int, int], DecodingBatch]:
        """Read each whole prompt once, and draw the first token of every row."""
        prompts: dict[tuple[int, tuple[int, ...]], EncodedPicture] = {}
        for _, seen, tail in rows:
            if not self._fits(seen, tail):
                raise CannotSplit("a layer looks back a window only")
            prompts.setdefault((id(seen), tuple(tail)), seen.before(tail))
        asked: list[tuple[int, EncodedPicture, Sequence[int]]] = [
            (number, prompts[id(seen), tuple(tail)], ()) for number, seen, tail in rows
        ]
        parts: dict[int, tuple[CacheRows, Any, Any]] = {}
        for group in groups_of_like_shape(list(prompts.values()), self._most):
            with whole(group):
                prefill = Prefill.of(self.model, group)
            for place, prompt in enumerate(group):
                shift = None if prefill.shift is None else prefill.shift[place : place + 1]
                parts[id(prompt)] = prefill.part([place]), shift, prefill.scores[place]
        blocks = blocks_of(asked, self.max_tokens)
        read, shifts, scores = zip(*(parts[id(block.seen)] for block in blocks), strict=True)
        shift = None if shifts[0] is None else torch.cat(shifts)
        scored = torch.stack(scores)
        return start_read_prompts(
            self.model,
            blocks,
            read,
            shift,
            scored,
            self.chooser.choose,
            self.first,
            self._ahead,
            self._pool,
        )

    def step(self) -> None:
        """Draw another token of every row."""
        if self._running is not None and (self._running.full or self._running.needs_repacking):
            self._running = merge_batches([self._running], self._ahead, self._pool)
        if self._running is not None:
            self._note(self._running.step(self.chooser.choose), self._running)
            if not self._running.alive:
                self._pool.give(self._running.buffers)
                self._running = None

    def _note(self, drawn: dict[int, int], running: DecodingBatch) -> None:
        over = set()
        for row, token in drawn.items():
            tokens = self._tokens.setdefault(row, [])
            tokens.append(token)
            if token in self.ends or len(tokens) == self.max_tokens:
                over.add(row)
        for row in over:
            self._finish(row, self._tokens.pop(row))
        if over:
            running.drop(over)

    def _finish(self, row: int, tokens: list[int]) -> None:
        del self._asked[row]
        self._longest = max(self._longest, len(tokens))
        self.finished.append((row, tokens))

    def _fits(self, seen: EncodedPicture, tail: Sequence[int]) -> bool:
        """Whether a question can stand beside others: not where a layer would look back a window
        only.
        """
        length = len(seen.prefix) + len(tail) + self.max_tokens
        return self.packs and (self._window is None or length < self._window)

    def _prefixes(self, pictures: Sequence[EncodedPicture]) -> dict[int, tuple[CacheRows, Any]]:
        """Every picture's keys and values, and its shift: those that are not kept run through the
        model.
        """
        made: dict[int, tuple[CacheRows, Any]] = {}
        if self._last_prefix is not None:
            seen, part, shift = self._last_prefix
            made[id(seen)] = part, shift
        new = {id(seen): seen for seen in pictures if id(seen) not in made}
        for group in groups_of_like_shape(list(new.values()), self._most):
            prefill = Prefill.of(self.model, group)
            for place, seen in enumerate(group):
                shift = None if prefill.shift is None else prefill.shift[place : place + 1]
                made[id(seen)] = prefill.part([place]), shift
        return made

    def _in_rows(self, rows: Sequence[tuple[int, EncodedPicture, Sequence[int]]]) -> None:
        """Answer rows one length at a time, where they cannot stand side by side."""
        lengths: dict[tuple[object, ...], list[tuple[int, EncodedPicture, Sequence[int]]]] = {}
        for row in rows:
            lengths.setdefault((len(row[1].prefix), row[1].shape), []).append(row)
        for same in lengths.values():
            pictures = list({id(seen): seen for _, seen, _ in same}.values())
            place = {id(seen): at for at, seen in enumerate(pictures)}
            prefill = Prefill.of(self.model, pictures)
            for part in _of_like_length(same, exact=not prefill.pads):
                numbers, seen, tails = zip(*part, strict=True)
                asked = QuestionRows(
                    self.model, prefill, numbers, [place[id(s)] for s in seen], tails, self.ends
                )
                for number, tokens in decode_rows(asked, self.chooser, self.max_tokens).items():
                    self._finish(number, tokens)


def groups_of_like_shape(
    pictures: Sequence[EncodedPicture], most: int
) -> list[list[EncodedPicture]]:
    """Pictures that run together: their tensors are of one shape, their prefixes of like length,
    with `most` tokens in all.
    """
    groups: list[list[EncodedPicture]] = []
    for seen in sorted(pictures, key=lambda s: (str(s.shape[1]), len(s.prefix))):
        group = groups[-1] if groups else []
        if (
            group
            and group[0].shape[1] == seen.shape[1]
            and len(seen.prefix) <= _LONGEST_TO_SHORTEST * len(group[0].prefix) + 4
            and len(seen.prefix) * (len(group) + 1) <= most
        ):
            group.append(seen)
        else:
            groups.append([seen])
    return groups


def _of_like_length(rows: Sequence[Any], *, exact: bool) -> list[list[Any]]:
    """Rows whose questions run together."""
    groups: list[list[Any]] = []
    for row in sorted(rows, key=lambda row: len(row[2])):
        first = len(groups[-1][0][2]) if groups else 0
        if groups and len(row[2]) <= (first if exact else _LONGEST_TO_SHORTEST * first + 4):
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def _window(text: Any) -> int | None:
    """How far the layer with the shortest sight looks back; None where all see everything."""
    kinds = getattr(text, "layer_types", None)
    if kinds is not None and not any("sliding" in kind or "chunked" in kind for kind in kinds):
        return None
    sizes = [getattr(text, name, None) for name in ("sliding_window", "attention_chunk_size")]
    return min((size for size in sizes if isinstance(size, int)), default=None)
