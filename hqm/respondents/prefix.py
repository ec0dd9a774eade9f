"""Questions behind a picture's prefix: its keys and values are made once, and every question reads them.

Two ways to put many questions behind one prefix give the same answers. *Packed*, the questions about a picture stand in one
sequence behind its prefix, each in a slot of its own, and a mask lets a token see the prefix, its own question and its own
answer: nothing is copied. In *rows*, the prefix's cache is repeated for every question; that costs memory and its
traffic, and works where a mask cannot say it (layers that look back a window only).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hqm.respondents.drawing import Chooser
from hqm.respondents.reading import Seen

_WASTE = 1.25
"""Tails run together while the longest is so many times their mean."""
_WIDEST = 8192
"""The most tokens that one picture's questions and answers may take side by side."""


@dataclass(frozen=True)
class Prefill:
    """The keys and values of several pictures' prefixes, all of one length."""

    cache: Any
    length: int
    owner: dict[int, int]
    """The place in the cache of every picture, by the identity of what is seen of it."""
    shift: Any
    """What has to be added to the positions behind each picture, shape (pictures, 1), or None."""

    @classmethod
    def of(cls, model: Any, seen: Sequence[Seen]) -> Prefill:
        """Run every distinct picture's prefix through the model once."""
        import torch

        ordered = list({id(picture): picture for picture in seen}.values())
        ids = torch.tensor([picture.prefix for picture in ordered], device=model.device)
        kinds = {key: torch.cat([picture.kinds[key] for picture in ordered]) for key in ordered[0].kinds}
        tensors = {key: torch.cat([picture.tensors[key] for picture in ordered]) for key in ordered[0].tensors}
        out = model(
            input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=True, logits_to_keep=1, **kinds, **tensors
        )
        # Qwen's positions run on from the picture's last one, not from its last token
        shift = getattr(model.base_model, "rope_deltas", None)
        owner = {id(picture): place for place, picture in enumerate(ordered)}
        return cls(out.past_key_values, len(ordered[0].prefix), owner, shift)

    def repeated(self, pictures: Sequence[int]) -> Any:
        """A cache of its own for rows that follow these pictures; keys and values are copied only where they must be."""
        import torch

        own = copy.copy(self.cache)
        own.layers = [copy.copy(layer) for layer in self.cache.layers]
        if list(pictures) != list(range(len(self.owner))):
            own.batch_select_indices(torch.tensor(pictures, device=own.layers[0].keys.device))
        return own

    @property
    def window(self) -> int | None:
        """How far the layer with the shortest sight looks back; None where all see everything."""
        windows = [layer.sliding_window for layer in self.cache.layers if getattr(layer, "is_sliding", False)]
        return min(windows) if windows else None

    def may_pack(self, tails: Sequence[Sequence[int]], max_tokens: int) -> bool:
        """Whether these questions and their answers can stand side by side."""
        width = sum(map(len, tails)) + len(tails) * max_tokens
        return width <= _WIDEST and (self.window is None or self.length + 2 * width <= self.window)

    def together(self, lengths: Sequence[int], max_tokens: int) -> list[list[int]]:
        """Which tails run together: those of like length; of one length where a layer looks back a window only.

        A window counts places in the cache, so that padding within it would push tokens out of sight.
        """
        exact = self.window is not None and self.length + max(lengths) + max_tokens > self.window
        parts: list[list[int]] = []
        for place in sorted(range(len(lengths)), key=lambda p: lengths[p]):
            part = parts[-1] if parts else []
            mean = (sum(lengths[p] for p in part) + lengths[place]) / (len(part) + 1)
            fits = lengths[place] == lengths[part[0]] if part and exact else lengths[place] <= _WASTE * mean + 4
            if part and fits:
                part.append(place)
            else:
                parts.append([place])
        return [sorted(part) for part in parts]


@dataclass(frozen=True)
class Questions:
    """Rows to answer: for each the place of its picture in the prefill, and its tokens."""

    model: Any
    prefill: Prefill
    pictures: Sequence[int]
    tails: Sequence[Sequence[int]]
    ends: frozenset[int]

    def positions(self, position: Any, shift: Any) -> Any:
        """Position ids as the model takes them: plain, or of the three kinds of Qwen."""
        return position if shift is None else (position + shift)[None].expand(3, -1, -1)


def decode_packed(asked: Questions, chooser: Chooser, max_tokens: int) -> list[list[int]]:
    """Answer with the questions about a picture side by side behind its prefix.

    The keys stand in the order: prefix (L), slots of the questions (S of width W, padded on the left), then, for every
    token drawn, one for each row (Q). A token sees the prefix, its own slot, and its own row's tokens.
    """
    import torch

    model, prefill = asked.model, asked.prefill
    device, dtype = model.device, model.dtype
    shown = sorted(set(asked.pictures))
    batch = {picture: b for b, picture in enumerate(shown)}
    slots: list[dict[tuple[int, ...], int]] = [{} for _ in shown]
    rows: list[list[int]] = [[] for _ in shown]
    place: list[tuple[int, int]] = []
    """For every row its picture in the batch and its question's slot: one that several runs ask stands in one."""
    for row, (picture, tail) in enumerate(zip(asked.pictures, asked.tails, strict=True)):
        b = batch[picture]
        place.append((b, slots[b].setdefault(tuple(tail), len(slots[b]))))
        rows[b].append(row)
    count, width, length = max(map(len, slots)), max(map(len, asked.tails)), prefill.length
    ids = torch.full((len(shown), count, width), int(_padding(model)), dtype=torch.long)
    real = torch.zeros((len(shown), count, width), dtype=torch.bool)
    for b, tails in enumerate(slots):
        for tail, slot in tails.items():
            ids[b, slot, width - len(tail) :] = torch.tensor(tail)
            real[b, slot, width - len(tail) :] = True
    ids, real = ids.to(device), real.to(device)
    position = (length + real.long().cumsum(dim=-1) - 1).clamp(min=0)
    # who sees whom among the slots: the same slot, a real token, not a later one
    causal = torch.ones((width, width), dtype=torch.bool, device=device).tril()
    within = (real[:, :, None, :] & causal).unsqueeze(3) & torch.eye(count, dtype=torch.bool, device=device)[
        :, None, :, None
    ]
    sees = torch.ones((len(shown), count * width, length + count * width), dtype=torch.bool, device=device)
    sees[:, :, length:] = within.reshape(len(shown), count * width, count * width)
    shift = None if prefill.shift is None else prefill.shift[torch.tensor(shown, device=device)]
    cache = prefill.repeated(shown)
    last = torch.arange(width - 1, count * width, width, device=device)
    out = model(
        input_ids=ids.flatten(1),
        attention_mask=_additive(sees, dtype),
        position_ids=asked.positions(position.flatten(1), shift),
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=last,
    )
    answers: list[list[int]] = [[] for _ in asked.tails]
    alive = list(range(len(asked.tails)))
    where = torch.tensor(place, device=device)
    scores = out.logits[where[:, 0], where[:, 1]].float()
    sees_last, position_last = sees[:, last], position[:, :, -1]
    for step in range(max_tokens):
        chosen = chooser.choose(scores, alive)
        drawn = dict(zip(alive, chosen.tolist(), strict=True))
        for row, token in drawn.items():
            answers[row].append(token)
        alive = [row for row, token in drawn.items() if token not in asked.ends]
        if not alive or step + 1 == max_tokens:
            break
        # the rows that go on, picture by picture; those of pictures that are done are let go
        going = [[row for row in members if drawn.get(row, -1) not in asked.ends and row in drawn] for members in rows]
        kept = [b for b, members in enumerate(going) if members]
        if step == 0:
            source = [[place[row][1] for row in going[b]] for b in kept]
        else:
            source = [[rows[b].index(row) for row in going[b]] for b in kept]
        most = max(len(going[b]) for b in kept)
        pick = torch.tensor([members + [members[0]] * (most - len(members)) for members in source], device=device)
        from_batch = torch.tensor(kept, device=device)
        sees_last = sees_last[from_batch[:, None], pick]
        position_last = position_last[from_batch[:, None], pick] + 1
        if len(kept) < len(rows):
            cache.batch_select_indices(from_batch)
            shift = None if shift is None else shift[from_batch]
        rows = [going[b] for b in kept]
        tokens = [[drawn[row] for row in members] + [drawn[members[0]]] * (most - len(members)) for members in rows]
        own = torch.eye(most, dtype=torch.bool, device=device).expand(len(rows), -1, -1)
        sees_last = torch.cat([sees_last, own], dim=-1)
        out = model(
            input_ids=torch.tensor(tokens, device=device),
            attention_mask=_additive(sees_last, dtype),
            position_ids=asked.positions(position_last, shift),
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=0,
        )
        at = {row: (b, q) for b, members in enumerate(rows) for q, row in enumerate(members)}
        where = torch.tensor([at[row] for row in alive], device=device)
        scores = out.logits[where[:, 0], where[:, 1]].float()
    return answers


def _additive(sees: Any, dtype: Any) -> Any:
    """What is added to attention scores: nothing where a token sees another, the least number where it does not."""
    import torch

    hidden = torch.zeros(sees.shape, dtype=dtype, device=sees.device)
    return hidden.masked_fill_(~sees, torch.finfo(dtype).min)[:, None]


def _padding(model: Any) -> int:
    """A token for places that nobody sees."""
    token = model.generation_config.pad_token_id
    return 0 if token is None else token


def decode_rows(asked: Questions, chooser: Chooser, max_tokens: int) -> list[list[int]]:
    """Answer with the prefix's cache repeated for every question; tails stand left-padded between cache and answer."""
    import torch

    model, prefill = asked.model, asked.prefill
    device = model.device
    # a question that several runs ask is read once
    distinct: dict[tuple[int, tuple[int, ...]], int] = {}
    keys = zip(asked.pictures, map(tuple, asked.tails), strict=True)
    owner = [distinct.setdefault(key, len(distinct)) for key in keys]
    pictures = [picture for picture, _ in distinct]
    tails = [tail for _, tail in distinct]
    cache = prefill.repeated(pictures)
    shift = None if prefill.shift is None else prefill.shift[torch.tensor(pictures, device=device)]
    length, width = prefill.length, max(map(len, tails))
    ids = torch.full((len(tails), width), int(_padding(model)), dtype=torch.long)
    mask = torch.zeros((len(tails), length + width), dtype=torch.long)
    mask[:, :length] = 1
    for r, tail in enumerate(tails):
        ids[r, width - len(tail) :] = torch.tensor(tail)
        mask[r, length + width - len(tail) :] = 1
    ids, mask = ids.to(device), mask.to(device)
    position = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, length:]
    answers: list[list[int]] = [[] for _ in owner]
    alive = list(range(len(owner)))
    place = owner
    for step in range(max_tokens):
        out = model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=asked.positions(position, shift),
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        scores = out.logits[:, -1].float()
        if step == 0:
            scores = scores[torch.tensor(owner, device=device)]
        chosen = chooser.choose(scores, alive)
        going = []
        for at, (row, token) in enumerate(zip(alive, chosen.tolist(), strict=True)):
            if not answers[row] or answers[row][-1] not in asked.ends:
                answers[row].append(token)
            if answers[row][-1] not in asked.ends:
                going.append(at)
        if not going or step + 1 == max_tokens:
            break
        # finished rows are let go once they are a quarter of the batch
        if step == 0 or len(going) <= 0.75 * len(alive):
            source = [place[at] for at in going]
            if source != list(range(len(mask))):
                keep = torch.tensor(source, device=device)
                cache.batch_select_indices(keep)
                mask, position = mask[keep], position[keep]
                shift = None if shift is None else shift[keep]
            chosen = chosen[torch.tensor(going, device=device)]
            alive = [alive[at] for at in going]
            place = list(range(len(alive)))
        ids = chosen[:, None]
        mask = torch.cat([mask, mask.new_ones((len(mask), 1))], dim=1)
        position = position[:, -1:] + 1
    return answers
