"""Scheduling rows: new questions join the running batch as answers finish."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import torch

from hqm.respondents.batching import QueuedPrompt
from hqm.respondents.hf_inputs import CannotSplit, EncodedPicture, Reader
from hqm.respondents.kv_cache import BufferPool, CacheRows
from hqm.respondents.packed_batch import (
    AHEAD,
    DecodingBatch,
    group_into_blocks,
    merge_batches,
    read_questions,
    start_from_prompts,
)
from hqm.respondents.token_sampling import TokenSampler
from hqm.respondents.vision_cache import Prefill, QuestionRows, decode_rows

if TYPE_CHECKING:
    from transformers import PreTrainedModel

TOKENS_CPU = 4096
_TOKENS_GPU = 16384
"""About how many tokens one forward pass reads: more gain nothing, and want more memory."""
_MAX_LENGTH_RATIO = 1.25
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
    vision_context
        Given where prompts share no prefix, so that each whole prompt is read once for all its
        runs. It is a context for the prompts that run together, in which the vision tower returns
        its earlier outputs.
    first_position
        The position of a prompt's first token.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        reader: Reader,
        ends: frozenset[int],
        chooser: TokenSampler,
        max_tokens: int,
        *,
        packs: bool,
        pool: BufferPool,
        vision_context: Callable[[Sequence[EncodedPicture]], AbstractContextManager[None]]
        | None = None,
        first_position: int = 0,
    ) -> None:
        self.model = model
        self.reader = reader
        self.ends = ends
        self.packs = packs
        self.chooser = chooser
        self.max_tokens = max_tokens
        self.vision_context = vision_context
        self.first_position = first_position
        self.finished: list[tuple[int, list[int]]] = []
        self._unanswered: dict[int, QueuedPrompt] = {}
        self._tokens: dict[int, list[int]] = {}
        self._running: DecodingBatch | None = None
        self._pool = pool
        self._longest = 0
        """The tokens of the longest answer so far."""
        self._last_prefix: tuple[EncodedPicture, CacheRows, torch.Tensor] | None = None
        """The prefix of a picture of which further questions wait."""
        if model.device.type == "cuda":
            self._pass_tokens = _TOKENS_GPU
        else:
            self._pass_tokens = TOKENS_CPU
        self._window = _window(model.config.get_text_config())

    @property
    def alive(self) -> int:
        """How many rows are being answered."""
        return len(self._unanswered)

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
        longest_answer = max(self._longest, max(map(len, self._tokens.values()), default=0))
        return min(AHEAD, longest_answer if self._longest else self.max_tokens)

    @property
    def unfinished(self) -> list[QueuedPrompt]:
        """The rows that are being answered, with their prompts."""
        return list(self._unanswered.values())

    def collect(self) -> list[tuple[int, list[int]]]:
        """Return the number and tokens of each row that finished since the last call."""
        finished = self.finished
        self.finished = []
        return finished

    def admit(self, queued: Sequence[QueuedPrompt], next_picture: object = None) -> None:
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
        prompts = [prompt for _, prompt in queued]
        split = self.reader.split(prompts, one_head=self.vision_context is None)
        rows = [
            (number, encoded, tail)
            for (number, _), (encoded, tail) in zip(queued, split, strict=True)
        ]
        by_number = {number: (number, prompt) for number, prompt in queued}
        if self.vision_context is not None:
            first_tokens, new_batch = self._read_prompts(rows, self.vision_context)
            self._unanswered |= by_number
            self._join(first_tokens, new_batch)
            return
        self._unanswered |= by_number
        # A layer with a window would look back over the questions of others, which stand in
        # between.
        packable = [row for row in rows if self._fits(row[1], row[2])]
        self._decode_in_rows([row for row in rows if not self._fits(row[1], row[2])])
        if not packable:
            return
        # the widest last, so that those of like width are read together
        blocks = sorted(
            group_into_blocks(packable, self.max_tokens),
            key=lambda block: sum(map(len, block.tails)),
        )
        prefixes = self._prefixes([block.encoded for block in blocks])
        block_prefixes = [prefixes[id(block.encoded)] for block in blocks]
        shift = None
        if block_prefixes[0][1] is not None:
            shift = torch.cat([shift for _, shift in block_prefixes])
        last = next(
            (
                encoded
                for (_, prompt), (encoded, _) in zip(queued, split, strict=True)
                if prompt.picture_key == next_picture
            ),
            None,
        )
        self._last_prefix = None
        if last is not None and id(last) in prefixes:
            prefix, prefix_shift = prefixes[id(last)]
            # A copy, since reading the questions empties the memory that the prefix lies in.
            self._last_prefix = last, prefix.copy(), prefix_shift
        prefix_rows = [prefix for prefix, _ in block_prefixes]
        first_tokens, new_batch = read_questions(
            self.model,
            blocks,
            prefix_rows,
            shift,
            self.chooser.choose,
            self._pass_tokens,
            self._ahead,
            self._pool,
        )
        self._join(first_tokens, new_batch)

    def _join(self, first_tokens: dict[int, int], new_batch: DecodingBatch) -> None:
        """Merge rows whose first token is drawn into the running batch."""
        self._record_tokens(first_tokens, new_batch)
        # Without a copy where nothing runs yet, since a copy moves all keys and values.
        if self._running is None and not new_batch.needs_repacking:
            self._running = new_batch
        else:
            self._running = merge_batches(
                [batch for batch in (self._running, new_batch) if batch is not None],
                self._ahead,
                self._pool,
            )

    def _read_prompts(
        self,
        rows: Sequence[tuple[int, EncodedPicture, Sequence[int]]],
        vision_context: Callable[[Sequence[EncodedPicture]], AbstractContextManager[None]],
    ) -> tuple[dict[int, int], DecodingBatch]:
        """Read each whole prompt once, and draw the first token of every row."""
        prompts: dict[tuple[int, tuple[int, ...]], EncodedPicture] = {}
        for _, encoded, tail in rows:
            if not self._fits(encoded, tail):
                raise CannotSplit("a layer looks back a window only")
            # Runs of one question read its prompt once; each draws from a random stream of its own.
            prompts.setdefault((id(encoded), tuple(tail)), encoded.with_question(tail))
        question_rows: list[tuple[int, EncodedPicture, Sequence[int]]] = [
            (number, prompts[id(encoded), tuple(tail)], ()) for number, encoded, tail in rows
        ]
        prefills: dict[int, tuple[CacheRows, torch.Tensor | None, torch.Tensor]] = {}
        for group in group_by_shape(list(prompts.values()), self._pass_tokens):
            with vision_context(group):
                prefill = Prefill.run(self.model, group)
            for index, prompt in enumerate(group):
                if prefill.shift is None:
                    shift = None
                else:
                    shift = prefill.shift[index : index + 1]
                prefills[id(prompt)] = prefill.select([index]), shift, prefill.scores[index]
        blocks = group_into_blocks(question_rows, self.max_tokens)
        cache_rows, shifts, scores = zip(
            *(prefills[id(block.encoded)] for block in blocks), strict=True
        )
        shift = None if shifts[0] is None else torch.cat(shifts)
        stacked_scores = torch.stack(scores)
        return start_from_prompts(
            self.model,
            blocks,
            cache_rows,
            shift,
            stacked_scores,
            self.chooser.choose,
            self.first_position,
            self._ahead,
            self._pool,
        )

    def step(self) -> None:
        """Draw another token of every row."""
        if self._running is not None and (self._running.full or self._running.needs_repacking):
            self._running = merge_batches([self._running], self._ahead, self._pool)
        if self._running is not None:
            self._record_tokens(self._running.step(self.chooser.choose), self._running)
            if not self._running.alive:
                self._pool.take_back(self._running.buffers)
                self._running = None

    def _record_tokens(self, new_tokens: dict[int, int], running: DecodingBatch) -> None:
        finished = set()
        for row, token in new_tokens.items():
            tokens = self._tokens.setdefault(row, [])
            tokens.append(token)
            # A row at the limit ends without an end token, by which it is later called truncated.
            if token in self.ends or len(tokens) == self.max_tokens:
                finished.add(row)
        for row in finished:
            self._finish(row, self._tokens.pop(row))
        if finished:
            running.drop(finished)

    def _finish(self, row: int, tokens: list[int]) -> None:
        del self._unanswered[row]
        # How long answers are is known by the first that ended: memory is reserved for such.
        self._longest = max(self._longest, len(tokens))
        self.finished.append((row, tokens))

    def _fits(self, encoded: EncodedPicture, tail: Sequence[int]) -> bool:
        """Whether a question can stand beside others: not where a layer would look back a window
        only.
        """
        length = len(encoded.prefix) + len(tail) + self.max_tokens
        return self.packs and (self._window is None or length < self._window)

    def _prefixes(
        self, pictures: Sequence[EncodedPicture]
    ) -> dict[int, tuple[CacheRows, torch.Tensor]]:
        """Every picture's keys and values, and its shift: those that are not kept run through the
        model.
        """
        prefixes: dict[int, tuple[CacheRows, torch.Tensor]] = {}
        if self._last_prefix is not None:
            encoded, prefix, shift = self._last_prefix
            prefixes[id(encoded)] = prefix, shift
        new = {id(encoded): encoded for encoded in pictures if id(encoded) not in prefixes}
        for group in group_by_shape(list(new.values()), self._pass_tokens):
            prefill = Prefill.run(self.model, group)
            for index, encoded in enumerate(group):
                if prefill.shift is None:
                    shift = None
                else:
                    shift = prefill.shift[index : index + 1]
                prefixes[id(encoded)] = prefill.select([index]), shift
        return prefixes

    def _decode_in_rows(self, rows: Sequence[tuple[int, EncodedPicture, Sequence[int]]]) -> None:
        """Answer rows one length at a time, where they cannot stand side by side."""
        lengths: dict[tuple[object, ...], list[tuple[int, EncodedPicture, Sequence[int]]]] = {}
        for row in rows:
            lengths.setdefault((len(row[1].prefix), row[1].shape), []).append(row)
        for group in lengths.values():
            pictures = list({id(encoded): encoded for _, encoded, _ in group}.values())
            index_of = {id(encoded): index for index, encoded in enumerate(pictures)}
            prefill = Prefill.run(self.model, pictures)
            # Where a model cannot be padded, only questions of one length run together.
            for batch in _group_by_length(group, exact=not prefill.pads):
                numbers, batch_pictures, tails = zip(*batch, strict=True)
                question_rows = QuestionRows(
                    self.model,
                    prefill,
                    numbers,
                    [index_of[id(s)] for s in batch_pictures],
                    tails,
                    self.ends,
                )
                for number, tokens in decode_rows(
                    question_rows, self.chooser, self.max_tokens
                ).items():
                    self._finish(number, tokens)


def group_by_shape(
    pictures: Sequence[EncodedPicture], max_tokens: int
) -> list[list[EncodedPicture]]:
    """Pictures that run together: their tensors are of one shape, their prefixes of like length,
    with `max_tokens` tokens in all.
    """
    groups: list[list[EncodedPicture]] = []
    for encoded in sorted(pictures, key=lambda s: (str(s.shape[1]), len(s.prefix))):
        group = groups[-1] if groups else []
        if (
            group
            and group[0].shape[1] == encoded.shape[1]
            # Four more, because a quarter of a short one is no token.
            and len(encoded.prefix) <= _MAX_LENGTH_RATIO * len(group[0].prefix) + 4
            and len(encoded.prefix) * (len(group) + 1) <= max_tokens
        ):
            group.append(encoded)
        else:
            groups.append([encoded])
    return groups


_EncodedRow = tuple[int, EncodedPicture, Sequence[int]]


def _group_by_length(rows: Sequence[_EncodedRow], *, exact: bool) -> list[list[_EncodedRow]]:
    """Rows whose questions run together."""
    groups: list[list[_EncodedRow]] = []
    for row in sorted(rows, key=lambda row: len(row[2])):
        shortest = len(groups[-1][0][2]) if groups else 0
        if groups and len(row[2]) <= (shortest if exact else _MAX_LENGTH_RATIO * shortest + 4):
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def _window(text: object) -> int | None:
    """How far the layer with the shortest sight looks back; None where all see everything."""
    # Without a list of layers, a window counts for all; Llama 4 calls its windows chunks.
    kinds = getattr(text, "layer_types", None)
    if kinds is not None and not any("sliding" in kind or "chunked" in kind for kind in kinds):
        return None
    sizes = [getattr(text, name, None) for name in ("sliding_window", "attention_chunk_size")]
    return min((size for size in sizes if isinstance(size, int)), default=None)
