"""Packed decoding: many questions behind each picture, many pictures in one batch.

A *block* is one picture's prefix, followed by its questions side by side and then their answers. A
mask lets each token attend to the prefix, its own question and its own answer. All blocks end at
the same position, so pictures of any size run together; finished rows leave, and other blocks join.
The keys of a block are ordered: padding, prefix, questions, and then one position for each row of
the block per step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from operator import attrgetter
from typing import TYPE_CHECKING

import torch

from hqm.respondents.attention import attending_by_rows, moved_to, tensor_on
from hqm.respondents.hf_inputs import EncodedPicture
from hqm.respondents.kv_cache import BufferPool, CacheRows, KeyValueBuffers
from hqm.respondents.step_graph import WORTH, RecordedStep
from hqm.respondents.token_sampling import read_tokens
from hqm.respondents.vision_cache import padding, positions

if TYPE_CHECKING:
    from transformers import Cache, PreTrainedModel

AHEAD = 32
"""Tokens of each row to reserve memory for at a time, until the lengths of answers are known."""
_MAX_WIDTH_RATIO = 2
"""The largest size of a block's questions and answers, as a multiple of its prefix.

Beyond it, the prefix is repeated in another block.
"""
_REPACK_BELOW = 0.75
"""Repack the batch when fewer than this share of its rows still run."""

Choose = Callable[[torch.Tensor, Sequence[int]], torch.Tensor]
"""Draws the next token of each row from its scores: `TokenSampler.choose`."""


@dataclass
class Block:
    """Questions behind one picture; rows that ask the same question share its tokens."""

    encoded: EncodedPicture
    slots: dict[tuple[int, ...], list[int]] = field(default_factory=dict)
    """The rows that ask each tail."""
    width: int = 0
    must_split: bool = False
    """Whether its rows are split after their common question is read.

    Their answers would be too long to run side by side.
    """

    @property
    def rows(self) -> list[int]:
        """All rows, question by question."""
        return list(chain.from_iterable(map(self.slots.__getitem__, self.tails)))

    @property
    def tails(self) -> list[tuple[int, ...]]:
        """Its questions, the shortest first."""
        return sorted(self.slots, key=len)


def group_into_blocks(
    rows: Sequence[tuple[int, EncodedPicture, Sequence[int]]], max_tokens: int
) -> list[Block]:
    """Group rows (number, picture, question) into blocks."""
    blocks: list[Block] = []
    last: dict[int, Block] = {}
    single_question: dict[tuple[int, tuple[int, ...]], Block] = {}
    for row, encoded, tail in rows:
        key = tuple(tail)
        # By identity, since the reader has one object for each picture.
        block = last.get(id(encoded))
        if block is not None:
            n_positions = max_tokens + (0 if key in block.slots else len(key))
            # Attention over other rows' answers grows with their number; a second prefix is cheaper
            # then.
            if block.width + n_positions > _MAX_WIDTH_RATIO * len(encoded.prefix):
                block = single_question.get((id(encoded), key))
                if block is not None:
                    block.must_split = True
        if block is None:
            block = last[id(encoded)] = Block(encoded)
            blocks.append(block)
        block.width += max_tokens + (0 if key in block.slots else len(key))
        block.slots.setdefault(key, []).append(row)
        if len(block.slots) == 1:
            single_question[id(encoded), key] = block
        else:
            for question in block.slots:
                single_question.pop((id(encoded), question), None)
    return blocks


@dataclass
class DecodingBatch:
    """A batch of blocks whose rows are being answered.

    Parameters
    ----------
    hidden
        The attention mask, added to the scores: 0 where a row sees a position, shape (blocks, 1,
        rows of a block, capacity).
    position
        The position of each row's next token, before the shift, shape (blocks, rows of a block).
    tokens
        Each row's latest token, of the same shape.
    members
        The rows of each block; None where one is finished, or a block has fewer rows than another.
    begins
        Each block's first place.
    """

    model: PreTrainedModel
    buffers: KeyValueBuffers
    hidden: torch.Tensor
    position: torch.Tensor
    tokens: torch.Tensor
    shift: torch.Tensor | None
    members: list[list[int | None]]
    begins: list[int]
    cache: Cache | None = None
    recorded: RecordedStep | None = None
    first: int = 0
    """The number of rows at the start."""
    splitting: frozenset[int] = frozenset()
    """Blocks whose rows must be split before the next step, by `merge_batches`."""

    def __post_init__(self) -> None:
        # Compared with later, to see when enough rows have finished for a repacking.
        self.first = self.alive

    @property
    def alive(self) -> int:
        """The number of rows that still run."""
        return sum(row is not None for row in chain.from_iterable(self.members))

    @property
    def needs_repacking(self) -> bool:
        """Whether the batch should be repacked: many rows have finished, or some must be split."""
        return bool(self.splitting) or self.alive < _REPACK_BELOW * self.first

    def step(self, choose: Choose) -> dict[int, int]:
        """Draw the next token of every running row."""
        count, wide = self.tokens.shape
        length = self.buffers.length
        if self.full:
            # There is no place to write to, and slices of the memory would be cut short without an
            # error.
            raise IndexError("no memory for another token: call merge_batches first")
        # each row sees the position that its own token takes, and none of another row's
        self.hidden[:, 0, :, length : length + wide].diagonal(dim1=1, dim2=2).zero_()
        logits = self._recorded_logits()
        if logits is None:
            logits = self._logits()
        # Every step takes a position for each row of a block, also of those that have finished.
        self.buffers.length += wide
        self.position = self.position + 1
        rows: list[int] = []
        running: list[int] = []
        for index, row in enumerate(chain.from_iterable(self.members)):
            if row is not None:
                rows.append(row)
                running.append(index)
        scores = logits.flatten(0, 1)
        if len(running) == count * wide:
            tokens = choose(scores.float(), rows)
            self.tokens = tokens.view(count, wide)
        else:
            indices = tensor_on(running, self.tokens.device)
            tokens = choose(scores[indices].float(), rows)
            self.tokens = self.tokens.flatten().index_copy(0, indices, tokens).view(count, wide)
        return dict(zip(rows, read_tokens(tokens), strict=True))

    def _logits(self) -> torch.Tensor:
        """The logits of each row's next token."""
        with attending_by_rows(self.model) as whole_memory:
            if self.cache is None:
                self.cache = self.buffers.cache(whole_memory=whole_memory)
            # memory is read fastest without gaps; the mask hides positions not written yet
            if whole_memory:
                end = self.buffers.capacity
            else:
                end = self.buffers.length + self.tokens.shape[1]
            return self._call(
                self.tokens,
                positions(self.position, self.shift),
                self.hidden[..., :end],
                self.cache,
            )

    def _recorded_logits(self) -> torch.Tensor | None:
        """The logits by a recording of the step; None where there is none."""
        graphs = self.buffers.graphs
        n_steps = (self.buffers.capacity - self.buffers.length) // self.tokens.shape[1]
        # the first step is not recorded: it loads what the recording calls
        if not graphs.usable or (self.recorded is None and (self.cache is None or n_steps < WORTH)):
            return None
        position = positions(self.position, self.shift)
        if self.recorded is None:
            try:
                self.recorded = RecordedStep(
                    graphs, self._step_writing_to, self.tokens, position, self.buffers.length
                )
            except Exception as error:  # some operations cannot be recorded
                graphs.stop(f"{type(error).__name__}: {error}")
                return None
            self.cache = None  # it does not follow what a recording writes
        logits = self.recorded.scores(self.tokens, position, self.buffers.length)
        if graphs.to_check:
            # a recording is compared with the plain step before it is trusted
            plain = self._logits()
            self.cache = None
            logits = logits if graphs.agree(logits, plain) else plain
        return logits

    def _step_writing_to(
        self, tokens: torch.Tensor, position: torch.Tensor, write_positions: torch.Tensor
    ) -> torch.Tensor:
        return self._call(
            tokens, position, self.hidden, self.buffers.cache(write_positions=write_positions)
        )

    def _call(
        self, tokens: torch.Tensor, position: torch.Tensor, mask: torch.Tensor, cache: Cache
    ) -> torch.Tensor:
        return self.model(
            input_ids=tokens,
            attention_mask=mask,
            position_ids=position,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=0,
        ).logits

    def drop(self, finished: set[int]) -> None:
        """Drop finished rows; their memory is freed when the batch is repacked."""

        def without_finished(members: Sequence[int | None]) -> list[int | None]:
            return [None if row in finished else row for row in members]

        self.members = list(map(without_finished, self.members))

    @property
    def full(self) -> bool:
        """Whether there is no memory for another token of every row."""
        return bool(self.buffers.length + self.tokens.shape[1] > self.buffers.capacity)


@dataclass(frozen=True)
class _RunningBlocks:
    """The blocks of a batch that still have running rows."""

    batch: DecodingBatch
    end: int
    """Where its positions end."""
    blocks: list[int]
    """The number of each block; several times, if its rows are to be split."""
    queries: list[list[int]]
    """The running rows of each block, by their index in it."""

    @classmethod
    def select(cls, batch: DecodingBatch) -> _RunningBlocks:
        blocks: list[int] = []
        queries: list[list[int]] = []
        for block, members in enumerate(batch.members):
            running = [query for query, row in enumerate(members) if row is not None]
            if block in batch.splitting:
                blocks += [block] * len(running)
                queries += [[query] for query in running]
            elif running:
                blocks.append(block)
                queries.append(running)
        return cls(batch, batch.buffers.length, blocks, queries)

    @property
    def cache_rows(self) -> CacheRows:
        """The keys and values of the blocks."""
        begins = [self.batch.begins[block] for block in self.blocks]
        return CacheRows(self.batch.buffers.layers, self.blocks, begins, [self.end] * len(begins))


def merge_batches(
    batches: Sequence[DecodingBatch], ahead: int, pool: BufferPool
) -> DecodingBatch | None:
    """Merge the running rows of several batches, with memory for `ahead` more tokens of each.

    A block that must be split becomes one block per row. Returns None where no row runs.
    """
    first = batches[0]
    selections = [running for running in map(_RunningBlocks.select, batches) if running.blocks]
    if not selections:
        return None
    wide = max(map(len, chain.from_iterable(map(attrgetter("queries"), selections))))
    sources = list(map(attrgetter("cache_rows"), selections))
    buffers = KeyValueBuffers.from_rows(sources, wide * ahead, pool)
    for batch in batches:
        # After the copy above: the memory may be given to the next batch at once.
        pool.take_back(batch.buffers)
    n_blocks = sum(len(selection.blocks) for selection in selections)
    device = first.tokens.device
    hidden = _all_hidden((n_blocks, 1, wide, buffers.capacity), first.hidden.dtype, device)
    columns: dict[str, list[torch.Tensor]] = {"position": [], "tokens": [], "shift": []}
    members: list[list[int | None]] = []
    begins: list[int] = []
    for selection in selections:
        batch = selection.batch
        block_index = tensor_on(selection.blocks, device)
        # a block with fewer rows than another repeats its first one, whose tokens nobody reads
        padded = [queries + [queries[0]] * (wide - len(queries)) for queries in selection.queries]
        query = tensor_on(padded, device)
        n_copied = min(selection.end, buffers.length)
        rows = slice(len(members), len(members) + len(selection.blocks))
        hidden[rows, 0, :, buffers.length - n_copied : buffers.length] = batch.hidden[
            block_index[:, None], 0, query, selection.end - n_copied : selection.end
        ]
        columns["position"].append(batch.position[block_index[:, None], query])
        columns["tokens"].append(batch.tokens[block_index[:, None], query])
        columns["shift"].append(None if batch.shift is None else batch.shift[block_index])
        for block, queries in zip(selection.blocks, selection.queries, strict=True):
            running = [batch.members[block][query] for query in queries]
            members.append([*running, *[None] * (wide - len(queries))])
            begins.append(buffers.length - (selection.end - batch.begins[block]))
    return DecodingBatch(
        first.model,
        buffers,
        hidden,
        torch.cat(columns["position"]),
        torch.cat(columns["tokens"]),
        None if columns["shift"][0] is None else torch.cat(columns["shift"]),
        members,
        begins,
    )


@dataclass(frozen=True)
class _QuestionLayout:
    """The questions of blocks side by side, in slots.

    The last question of every block comes last; each slot is as wide as its longest question.
    """

    ids: torch.Tensor
    """The tokens, shape (blocks, width)."""
    slot: torch.Tensor
    """The slot of each token, or -1 for padding, of the same shape."""
    position: torch.Tensor
    """The position of each token, before the shift, of the same shape."""
    ends: list[int]
    """Where each slot ends."""
    starts: list[int]
    """Where each block's first question starts."""
    query: torch.Tensor
    """The slot of each row's question, shape (blocks, rows of a block); the last one again where a
    block has fewer rows.
    """

    @property
    def width(self) -> int:
        """The width of all slots together."""
        return self.ends[-1]


def _lay_out(model: PreTrainedModel, blocks: Sequence[Block]) -> _QuestionLayout:
    """Lay out the questions of blocks in slots."""
    tails: list[list[tuple[int, ...]]] = list(map(attrgetter("tails"), blocks))
    n_slots = max(map(len, tails))
    n_rows = max(len(block.rows) for block in blocks)
    widths = [0] * n_slots
    for questions in tails:
        for slot_number, tail in enumerate(questions, n_slots - len(questions)):
            widths[slot_number] = max(widths[slot_number], len(tail))
    ends = list(accumulate(widths))
    texts = torch.zeros((3, len(blocks), ends[-1]), dtype=torch.long)
    ids = texts[0].fill_(padding(model))
    slot = texts[1].fill_(-1)
    position = texts[2]
    queries = []
    starts = []
    for b, block in enumerate(blocks):
        length = len(block.encoded.prefix)
        row_slots: list[int] = []
        for slot_number, tail in enumerate(tails[b], n_slots - len(tails[b])):
            span = slice(ends[slot_number] - len(tail), ends[slot_number])
            ids[b, span] = torch.tensor(tail)
            slot[b, span] = slot_number
            position[b, span] = torch.arange(length, length + len(tail))
            row_slots += [slot_number] * len(block.slots[tail])
        starts.append(ends[n_slots - len(tails[b])] - len(tails[b][0]))
        queries.append(row_slots + [row_slots[-1]] * (n_rows - len(row_slots)))
    ids, slot, position = moved_to(texts, model.device)
    return _QuestionLayout(ids, slot, position, ends, starts, tensor_on(queries, model.device))


def read_questions(
    model: PreTrainedModel,
    blocks: Sequence[Block],
    prefixes: Sequence[CacheRows],
    shift: torch.Tensor | None,
    choose: Choose,
    pass_tokens: int,
    ahead: int,
    pool: BufferPool,
) -> tuple[dict[int, int], DecodingBatch]:
    """Read the questions of blocks behind their prefixes, and draw each row's first token.

    Parameters
    ----------
    prefixes
        The blocks' prefixes, in their order.
    shift
        Of shape (blocks, 1), or None.
    pass_tokens
        The approximate limit of tokens in one forward pass.
    ahead
        The number of tokens of each row to reserve memory for.
    """
    device = model.device
    dtype = model.dtype
    layout = _lay_out(model, blocks)
    width = layout.width
    wide = layout.query.shape[1]
    must_split = any(map(attrgetter("must_split"), blocks))
    # Rows that are split next get memory of their own, and need none here.
    n_free = width if must_split else width + wide * ahead
    buffers = KeyValueBuffers.from_rows(prefixes, n_free, pool)
    prefix_end = buffers.length
    begins = tensor_on([prefix_end - len(block.encoded.prefix) for block in blocks], device)
    prefix_mask = _additive_mask(torch.arange(prefix_end, device=device) < begins[:, None], dtype)
    # A question sees its own earlier tokens only; the prefix is added to the mask below.
    causal = torch.ones((width, width), dtype=torch.bool, device=device).tril()
    last = tensor_on(layout.ends, device) - 1
    hidden = _all_hidden((len(blocks), 1, wide, buffers.capacity), dtype, device)
    scores = []
    for rows in _split_passes([width - start for start in layout.starts], pass_tokens):
        # blocks of one pass skip the positions in front of all their questions
        gap = min(layout.starts[rows])
        slot = layout.slot[rows, gap:]
        same_question = (slot[:, :, None] == slot[:, None, :]) & (slot[:, :, None] >= 0)
        question_mask = _additive_mask(~(same_question & causal[gap:, gap:]), dtype)
        skipped = torch.full_like(prefix_mask[rows, :1], _min_score(dtype)).expand(-1, gap)
        seen_prefix = torch.cat([prefix_mask[rows], skipped], dim=1)
        seen_prefix = seen_prefix[:, None, :].expand(-1, width - gap, -1)
        mask = torch.cat([seen_prefix, question_mask], dim=2)[:, None]
        ends = (last - gap).clamp(min=0)
        with attending_by_rows(model) as whole_memory:
            output = model(
                input_ids=layout.ids[rows, gap:],
                attention_mask=mask,
                position_ids=positions(
                    layout.position[rows, gap:], None if shift is None else shift[rows]
                ),
                past_key_values=buffers.cache(rows, gap=gap, whole_memory=whole_memory),
                use_cache=True,
                logits_to_keep=ends,
            )
        scores.append(output.logits)
        # an answer sees what the last token of its question sees
        end_masks = mask[:, 0, ends]
        block_index = torch.arange(len(end_masks), device=device)[:, None]
        hidden[rows, 0, :, : prefix_end + width] = end_masks[block_index, layout.query[rows]]
    buffers.length = prefix_end + width
    logits = scores[0] if len(scores) == 1 else torch.cat(scores)
    return _start_batch(
        model,
        blocks,
        buffers,
        hidden,
        layout.position.gather(1, last[layout.query]) + 1,
        shift,
        prefix_end,
        lambda b, q: logits[b, layout.query[b, q]],
        choose,
    )


def start_from_prompts(
    model: PreTrainedModel,
    blocks: Sequence[Block],
    prompts: Sequence[CacheRows],
    shift: torch.Tensor | None,
    scores: torch.Tensor,
    choose: Choose,
    first_position: int,
    ahead: int,
    pool: BufferPool,
) -> tuple[dict[int, int], DecodingBatch]:
    """Draw the first token of rows whose whole prompts have been read.

    Parameters
    ----------
    prompts
        The blocks' prompts, in their order.
    scores
        The logits of the token after each, shape (blocks, vocabulary).
    first_position
        The position of a prompt's first token.
    ahead
        The number of tokens of each row to reserve memory for.
    """
    device = model.device
    wide = max(len(block.rows) for block in blocks)
    splitting = any(map(attrgetter("must_split"), blocks))
    buffers = KeyValueBuffers.from_rows(prompts, 0 if splitting else wide * ahead, pool)
    lengths = tensor_on([len(block.encoded.prefix) for block in blocks], device)[:, None]
    indices = torch.arange(buffers.capacity, device=device)
    unseen = (indices < buffers.length - lengths) | (indices >= buffers.length)
    hidden = _additive_mask(unseen, model.dtype)[:, None, None].repeat(1, 1, wide, 1)
    following = (lengths + first_position).repeat(1, wide)
    return _start_batch(
        model,
        blocks,
        buffers,
        hidden,
        following,
        shift,
        buffers.length,
        lambda b, _q: scores[b],
        choose,
    )


def _start_batch(
    model: PreTrainedModel,
    blocks: Sequence[Block],
    buffers: KeyValueBuffers,
    hidden: torch.Tensor,
    position: torch.Tensor,
    shift: torch.Tensor | None,
    prefix_end: int,
    scores: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    choose: Choose,
) -> tuple[dict[int, int], DecodingBatch]:
    """Draw the first token of every row of blocks whose prefixes end at position `prefix_end`."""
    device = model.device
    wide = position.shape[1]
    begins = [prefix_end - len(block.encoded.prefix) for block in blocks]
    members: list[list[int | None]] = []
    rows: list[int] = []
    indices: tuple[list[int], list[int]] = ([], [])
    for b, block in enumerate(blocks):
        members.append([*block.rows, *[None] * (wide - len(block.rows))])
        rows += block.rows
        indices[0].extend([b] * len(block.rows))
        indices[1].extend(range(len(block.rows)))
    block_index, row_index = tensor_on(indices, device)
    first_tokens = choose(scores(block_index, row_index).float(), rows)
    # Places without a row hold padding, whose scores nobody reads.
    tokens = torch.full((len(blocks), wide), padding(model), dtype=torch.long, device=device)
    tokens[block_index, row_index] = first_tokens
    splitting = frozenset(b for b, block in enumerate(blocks) if block.must_split)
    running = DecodingBatch(
        model, buffers, hidden, position, tokens, shift, members, begins, splitting=splitting
    )
    return dict(zip(rows, read_tokens(first_tokens), strict=True)), running


def _split_passes(widths: Sequence[int], max_tokens: int) -> list[slice]:
    """Divide blocks into passes of at most about `max_tokens` positions with little padding."""
    passes: list[slice] = []
    start = 0
    for end in range(1, len(widths) + 1):
        wide = max(widths[start:end])
        if end < len(widths):
            next_width = max(wide, widths[end])
            n_padding = (end - start) * next_width - sum(widths[start:end])
            # an eighth of a pass may be padding
            if (end + 1 - start) * next_width <= max_tokens and n_padding < max_tokens // 8:
                continue
        passes.append(slice(start, end))
        start = end
    return passes


def _min_score(dtype: torch.dtype) -> float:
    """The score of a position that is not seen; minus infinity would give NaN for a row of it."""
    return float(torch.finfo(dtype).min)


def _all_hidden(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """A mask that hides all positions."""
    return torch.full(shape, _min_score(dtype), dtype=dtype, device=device)


def _additive_mask(unseen: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Turn a boolean mask into one that is added to attention scores."""
    return torch.zeros(unseen.shape, dtype=dtype, device=unseen.device).masked_fill_(
        unseen, _min_score(dtype)
    )
