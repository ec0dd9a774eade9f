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
from typing import Any

import torch

from hqm.respondents.attention import attending_by_rows, moved_to, tensor_on
from hqm.respondents.hf_inputs import EncodedPicture
from hqm.respondents.kv_cache import BufferPool, CacheRows, KeyValueBuffers
from hqm.respondents.step_graph import WORTH, RecordedStep
from hqm.respondents.token_sampling import read_tokens
from hqm.respondents.vision_cache import padding, positions

AHEAD = 32
"""Tokens of each row to reserve memory for at a time, until the lengths of answers are known."""
_LARGEST_WIDTH = 2
"""The largest size of a block's questions and answers, as a multiple of its prefix.

Beyond it, the prefix is repeated in another block.
"""
_REPACK_BELOW = 0.75
"""Repack the batch when fewer than this share of its rows still run."""

Choose = Callable[[Any, Sequence[int]], Any]
"""Draws the next token of each row from its scores: `TokenSampler.choose`."""


@dataclass
class Block:
    """Questions behind one picture; rows that ask the same question share its tokens."""

    seen: EncodedPicture
    slots: dict[tuple[int, ...], list[int]] = field(default_factory=dict)
    """The rows that ask each tail."""
    places: int = 0
    parts: bool = False
    """Whether its rows are split after their common question is read.

    Their answers would be too long to run side by side.
    """

    @property
    def rows(self) -> list[int]:
        """All rows, question by question."""
        return [row for tail in self.tails for row in self.slots[tail]]

    @property
    def tails(self) -> list[tuple[int, ...]]:
        """Its questions, the shortest first."""
        return sorted(self.slots, key=len)


def blocks_of(
    rows: Sequence[tuple[int, EncodedPicture, Sequence[int]]], max_tokens: int
) -> list[Block]:
    """Group rows (number, picture, question) into blocks."""
    blocks: list[Block] = []
    last: dict[int, Block] = {}
    asking: dict[tuple[int, tuple[int, ...]], Block] = {}
    for row, seen, tail in rows:
        key, block = tuple(tail), last.get(id(seen))
        if block is not None:
            further = max_tokens + (0 if key in block.slots else len(key))
            if block.places + further > _LARGEST_WIDTH * len(seen.prefix):
                block = asking.get((id(seen), key))
                if block is not None:
                    block.parts = True
        if block is None:
            block = last[id(seen)] = Block(seen)
            blocks.append(block)
        block.places += max_tokens + (0 if key in block.slots else len(key))
        block.slots.setdefault(key, []).append(row)
        if len(block.slots) == 1:
            asking[id(seen), key] = block
        else:
            for other in block.slots:
                asking.pop((id(seen), other), None)
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

    model: Any
    buffers: KeyValueBuffers
    hidden: Any
    position: Any
    tokens: Any
    shift: Any
    members: list[list[int | None]]
    begins: list[int]
    cache: Any = None
    recorded: RecordedStep | None = None
    first: int = 0
    """The number of rows at the start."""
    splitting: frozenset[int] = frozenset()
    """Blocks whose rows must be split before the next step, by `merge_batches`."""

    def __post_init__(self) -> None:
        self.first = self.alive

    @property
    def alive(self) -> int:
        """The number of rows that still run."""
        return sum(row is not None for members in self.members for row in members)

    @property
    def needs_repacking(self) -> bool:
        """Whether the batch should be repacked: many rows have finished, or some must be split."""
        return bool(self.splitting) or self.alive < _REPACK_BELOW * self.first

    def step(self, choose: Choose) -> dict[int, int]:
        """Draw the next token of every running row."""
        count, wide = self.tokens.shape
        length = self.buffers.length
        if self.full:
            raise IndexError("no memory for another token: merge_batches makes room")
        self.hidden[:, 0, :, length : length + wide].diagonal(dim1=1, dim2=2).zero_()
        logits = self._recorded_logits()
        if logits is None:
            logits = self._logits()
        self.buffers.length += wide
        self.position = self.position + 1
        at = [
            (b, q, row)
            for b, members in enumerate(self.members)
            for q, row in enumerate(members)
            if row is not None
        ]
        rows = [row for _, _, row in at]
        scores = logits.flatten(0, 1)
        if len(at) == count * wide:
            chosen = choose(scores.float(), rows)
            self.tokens = chosen.view(count, wide)
        else:
            places = tensor_on([b * wide + q for b, q, _ in at], self.tokens.device)
            chosen = choose(scores[places].float(), rows)
            self.tokens = self.tokens.flatten().index_copy(0, places, chosen).view(count, wide)
        return dict(zip(rows, read_tokens(chosen), strict=True))

    def _logits(self) -> Any:
        """What the model says of each row's next token."""
        with attending_by_rows(self.model) as whole:
            if self.cache is None:
                self.cache = self.buffers.cache(whole=whole)
            # memory is read fastest without gaps: what is not written yet is not seen
            end = self.buffers.capacity if whole else self.buffers.length + self.tokens.shape[1]
            return self._call(
                self.tokens,
                positions(self.position, self.shift),
                self.hidden[..., :end],
                self.cache,
            )

    def _recorded_logits(self) -> Any:
        """The same by a recording of the step; None where there is none."""
        graphs = self.buffers.graphs
        room = (self.buffers.capacity - self.buffers.length) // self.tokens.shape[1]
        # the first step is not recorded: it loads what the recording calls
        if not graphs.usable or (self.recorded is None and (self.cache is None or room < WORTH)):
            return None
        position = positions(self.position, self.shift)
        if self.recorded is None:
            try:
                self.recorded = RecordedStep(
                    graphs, self._step_at, self.tokens, position, self.buffers.length
                )
            except Exception as error:  # a model's forward pass may do what cannot be recorded
                graphs.stop(f"{type(error).__name__}: {error}")
                return None
            self.cache = None  # it does not follow what a recording writes
        logits = self.recorded.scores(self.tokens, position, self.buffers.length)
        if graphs.to_check:
            plain, self.cache = self._logits(), None
            logits = logits if graphs.agree(logits, plain) else plain
        return logits

    def _step_at(self, tokens: Any, position: Any, places: Any) -> Any:
        return self._call(tokens, position, self.hidden, self.buffers.cache(at=places))

    def _call(self, tokens: Any, position: Any, mask: Any, cache: Any) -> Any:
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
        self.members = [
            [None if row in finished else row for row in members] for members in self.members
        ]

    @property
    def full(self) -> bool:
        """Whether there is no memory for another token of every row."""
        return bool(self.buffers.length + self.tokens.shape[1] > self.buffers.capacity)


def merge_batches(
    parts: Sequence[DecodingBatch], ahead: int, pool: BufferPool
) -> DecodingBatch | None:
    """Merge the running rows of several batches, with memory for `ahead` more tokens of each.

    A block that must be split becomes one block per row. Returns None where no row runs.
    """
    blocks_left: list[list[int]] = []
    picks: list[list[list[int]]] = []
    for part in parts:
        going = [
            (b, [q for q, row in enumerate(members) if row is not None])
            for b, members in enumerate(part.members)
        ]
        split = [
            (b, p)
            for b, own in going
            if own
            for p in ([[q] for q in own] if b in part.splitting else [own])
        ]
        blocks_left.append([b for b, _ in split])
        picks.append([p for _, p in split])
    wide = max((len(pick) for chosen in picks for pick in chosen), default=0)
    if not wide:
        return None
    ends = [part.buffers.length for part in parts]
    taken = [
        CacheRows(
            part.buffers.layers,
            chosen,
            [part.begins[b] for b in chosen],
            [end] * len(chosen),
        )
        for part, chosen, end in zip(parts, blocks_left, ends, strict=True)
        if chosen
    ]
    buffers = KeyValueBuffers.of(taken, wide * ahead, pool)
    for part in parts:
        pool.give(part.buffers)
    first = parts[0]
    device, dtype = first.tokens.device, first.hidden.dtype
    count = sum(map(len, blocks_left))
    hidden = torch.full(
        (count, 1, wide, buffers.capacity), torch.finfo(dtype).min, dtype=dtype, device=device
    )
    made: dict[str, list[Any]] = {"position": [], "tokens": [], "shift": []}
    members: list[list[int | None]] = []
    begins: list[int] = []
    at = 0
    for part, chosen, pick, end in zip(parts, blocks_left, picks, ends, strict=True):
        if not chosen:
            continue
        which = tensor_on(chosen, device)
        query = tensor_on([p + [p[0]] * (wide - len(p)) for p in pick], device)
        shown = min(end, buffers.length)
        hidden[at : at + len(chosen), 0, :, buffers.length - shown : buffers.length] = part.hidden[
            which[:, None], 0, query, end - shown : end
        ]
        made["position"].append(part.position[which[:, None], query])
        made["tokens"].append(part.tokens[which[:, None], query])
        made["shift"].append(None if part.shift is None else part.shift[which])
        for b, p in zip(chosen, pick, strict=True):
            members.append([part.members[b][q] for q in p] + [None] * (wide - len(p)))
            begins.append(buffers.length - (end - part.begins[b]))
        at += len(chosen)
    position, tokens = torch.cat(made["position"]), torch.cat(made["tokens"])
    shift = None if made["shift"][0] is None else torch.cat(made["shift"])
    return DecodingBatch(first.model, buffers, hidden, position, tokens, shift, members, begins)


def begin(
    model: Any,
    blocks: Sequence[Block],
    prefixes: Sequence[CacheRows],
    shift: Any,
    choose: Choose,
    most: int,
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
    most
        The approximate limit of tokens in one forward pass.
    ahead
        The number of tokens of each row to reserve memory for.
    """
    device, dtype = model.device, model.dtype
    tails = [block.tails for block in blocks]
    slots = max(map(len, tails))
    # the last question of every block stands last; each place is as wide as the longest question
    # that stands there
    widths = [
        max(len(t[s - slots]) if len(t) + s >= slots else 0 for t in tails) for s in range(slots)
    ]
    ends = [sum(widths[: s + 1]) for s in range(slots)]
    width, wide = ends[-1], max(len(block.rows) for block in blocks)
    texts = torch.zeros((3, len(blocks), width), dtype=torch.long)
    ids, slot, position = texts[0].fill_(padding(model)), texts[1].fill_(-1), texts[2]
    for b, own in enumerate(tails):
        length = len(blocks[b].seen.prefix)
        for s, tail in enumerate(own, slots - len(own)):
            place = slice(ends[s] - len(tail), ends[s])
            ids[b, place], slot[b, place] = torch.tensor(tail), s
            position[b, place] = torch.arange(length, length + len(tail))
    ids, slot, position = moved_to(texts, device)
    splitting = any(block.parts for block in blocks)
    buffers = KeyValueBuffers.of(prefixes, width if splitting else width + wide * ahead, pool)
    before = buffers.length
    begins = [before - len(block.seen.prefix) for block in blocks]
    places = torch.arange(before, device=device)
    prefix = _hidden(places < tensor_on(begins, device)[:, None], dtype)
    causal = torch.ones((width, width), dtype=torch.bool, device=device).tril()
    last = tensor_on(ends, device) - 1
    hidden = torch.full(
        (len(blocks), 1, wide, buffers.capacity), torch.finfo(dtype).min, dtype=dtype, device=device
    )
    # where each row's question ends: its slot, the last one again where a block has fewer rows
    source = [
        [s for s, tail in enumerate(own, slots - len(own)) for _ in block.slots[tail]]
        for own, block in zip(tails, blocks, strict=True)
    ]
    query = tensor_on([own + [own[-1]] * (wide - len(own)) for own in source], device)
    scores = []
    starts = [ends[slots - len(own)] - len(own[0]) for own in tails]
    for part in _cut([width - start for start in starts], most):
        gap = min(starts[part])
        same = (slot[part, gap:, None] == slot[part, None, gap:]) & (slot[part, gap:, None] >= 0)
        within = _hidden(~(same & causal[gap:, gap:]), dtype)
        seen = torch.cat(
            [prefix[part], torch.full_like(prefix[part, :1], _least(dtype)).expand(-1, gap)], dim=1
        )
        mask = torch.cat([seen[:, None, :].expand(-1, width - gap, -1), within], dim=2)[:, None]
        with attending_by_rows(model) as whole:
            out = model(
                input_ids=ids[part, gap:],
                attention_mask=mask,
                position_ids=positions(
                    position[part, gap:], None if shift is None else shift[part]
                ),
                past_key_values=buffers.cache(part, gap=gap, whole=whole),
                use_cache=True,
                logits_to_keep=(last - gap).clamp(min=0),
            )
        scores.append(out.logits)
        seen_by = mask[:, 0, (last - gap).clamp(min=0)]
        hidden[part, 0, :, : before + width] = seen_by[
            torch.arange(len(seen_by), device=device)[:, None], query[part]
        ]
    buffers.length = before + width
    logits = scores[0] if len(scores) == 1 else torch.cat(scores)
    following = position.gather(1, last[query]) + 1
    return _drawn(
        model,
        blocks,
        buffers,
        hidden,
        following,
        shift,
        before,
        lambda b, q: logits[b, query[b, q]],
        choose,
    )


def start_read_prompts(
    model: Any,
    blocks: Sequence[Block],
    prompts: Sequence[CacheRows],
    shift: Any,
    scores: Any,
    choose: Choose,
    first: int,
    ahead: int,
    pool: BufferPool,
) -> tuple[dict[int, int], DecodingBatch]:
    """Draw the first token of rows whose whole prompts have been read.

    Parameters
    ----------
    prompts
        The blocks' prompts, in their order.
    scores
        What the model says of the token behind each, shape (blocks, vocabulary).
    first
        The position of a prompt's first token.
    ahead
        For how many tokens of each row room is made.
    """
    device, dtype, wide = model.device, model.dtype, max(len(block.rows) for block in blocks)
    splitting = any(block.parts for block in blocks)
    buffers = KeyValueBuffers.of(prompts, 0 if splitting else wide * ahead, pool)
    lengths = tensor_on([len(block.seen.prefix) for block in blocks], device)[:, None]
    places = torch.arange(buffers.capacity, device=device)
    unseen = (places < buffers.length - lengths) | (places >= buffers.length)
    hidden = _hidden(unseen, dtype)[:, None, None].repeat(1, 1, wide, 1)
    following = (lengths + first).repeat(1, wide)
    return _drawn(
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


def _drawn(
    model: Any,
    blocks: Sequence[Block],
    buffers: KeyValueBuffers,
    hidden: Any,
    position: Any,
    shift: Any,
    read: int,
    scores: Callable[[Any, Any], Any],
    choose: Choose,
) -> tuple[dict[int, int], DecodingBatch]:
    """Draw the first token of every row of blocks whose prefixes end at position `read`."""
    device, wide = model.device, position.shape[1]
    begins = [read - len(block.seen.prefix) for block in blocks]
    members: list[list[int | None]] = [[*b.rows, *[None] * (wide - len(b.rows))] for b in blocks]
    at = [(b, q) for b, rows in enumerate(members) for q, row in enumerate(rows) if row is not None]
    rows = [row for block in blocks for row in block.rows]
    of_block, of_row = tensor_on(list(zip(*at, strict=True)), device)
    chosen = choose(scores(of_block, of_row).float(), rows)
    tokens = torch.full((len(blocks), wide), padding(model), dtype=torch.long, device=device)
    tokens[of_block, of_row] = chosen
    splitting = frozenset(b for b, block in enumerate(blocks) if block.parts)
    running = DecodingBatch(
        model, buffers, hidden, position, tokens, shift, members, begins, splitting=splitting
    )
    return dict(zip(rows, read_tokens(chosen), strict=True)), running


def _cut(widths: Sequence[int], most: int) -> list[slice]:
    """Divide blocks into forward passes of at most about `most` positions with little padding."""
    parts: list[slice] = []
    start = 0
    for end in range(1, len(widths) + 1):
        wide = max(widths[start:end])
        if end < len(widths):
            further = max(wide, widths[end])
            spared = (end - start) * further - sum(widths[start:end])
            if (end + 1 - start) * further <= most and spared < most // 8:
                continue
        parts.append(slice(start, end))
        start = end
    return parts


def _least(dtype: Any) -> float:
    return float(torch.finfo(dtype).min)


def _hidden(unseen: Any, dtype: Any) -> Any:
    """Turn a boolean mask into one that is added to attention scores."""
    return torch.zeros(unseen.shape, dtype=dtype, device=unseen.device).masked_fill_(
        unseen, _least(dtype)
    )
