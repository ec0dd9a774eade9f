"""Decoding with a shared image prefix: the picture is seen once, its keys and values serve every question about it.

A prompt that puts the picture first is a prefix (system text, picture) and a tail (the question). The prefix of each
picture runs through the model once; its key-value cache is then repeated for the rows of a batch, the tails follow
left-padded between cache and answer, and tokens are drawn row by row. What comes out is what plain `generate` gives:
the first batch is checked against it, and a model that disagrees is run by plain `generate` (`Engine.why_plain` says
why).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_IMAGE_KEYS_KEPT_OUT = frozenset({"input_ids", "attention_mask", "token_type_ids", "mm_token_type_ids"})


class Chooser:
    """Draws each row's next token with that row's own random stream.

    Token t of a request uses number t of the Philox stream keyed by the request's seed; the token is the one where the
    cumulative distribution, in vocabulary order, passes that number. So an answer depends on its request alone: not on
    the batch, the place in it, the order, or the number of workers. With temperature 0 it is the likeliest token.
    """

    def __init__(self, seeds: Sequence[int], temperature: float, top_p: float) -> None:
        self.temperature, self.top_p = temperature, top_p
        self._streams = [np.random.Generator(np.random.Philox(key=seed)) for seed in seeds] if temperature > 0 else []

    def choose(self, scores: Any, rows: Sequence[int]) -> Any:
        """The next token of each row; `rows` says which streams the rows of `scores` belong to."""
        import torch

        if self.temperature == 0:
            return scores.argmax(dim=-1)
        chances = torch.softmax(scores.double() / self.temperature, dim=-1)
        if self.top_p < 1:
            ranked, order = chances.sort(dim=-1, descending=True, stable=True)
            spare = ranked.cumsum(dim=-1) - ranked > self.top_p  # kept until the mass before a token passes top-p
            chances = chances.masked_fill(torch.zeros_like(spare).scatter(-1, order, spare), 0.0)
        passed = chances.cumsum(dim=-1)
        numbers = torch.tensor([self._streams[row].random() for row in rows], dtype=passed.dtype, device=passed.device)
        # a token of probability 0 spans nothing, so the number never falls on it
        chosen = torch.searchsorted(passed, (numbers * passed[:, -1])[:, None], right=True)[:, 0]
        return chosen.clamp(max=scores.shape[-1] - 1)

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """As a logits processor of `generate`: everything but the chosen token becomes impossible."""
        import torch

        if self.temperature == 0:
            return scores
        chosen = self.choose(scores, range(len(scores)))
        return torch.full_like(scores, -torch.inf).scatter(-1, chosen[:, None], 0.0)


@dataclass(frozen=True)
class Prompt:
    """A prompt as the model sees it: the text with its picture, the seed, and the picture's key."""

    text: str
    picture: Any
    picture_key: Any
    seed: int


@dataclass(frozen=True)
class _Seen:
    """What the processor makes of one picture: the tokens up to the question, and the pixel tensors."""

    prefix: tuple[int, ...]
    tensors: dict[str, Any]


class Engine:
    """Generates token lists for prompts, sharing each picture's prefix where the model allows it."""

    def __init__(self, model: Any, processor: Any) -> None:
        self.model, self.processor = model, processor
        self.tokenizer = processor.tokenizer
        ends = model.generation_config.eos_token_id
        self.ends = frozenset(ends if isinstance(ends, list) else [ends])
        self.why_plain = ""
        """Why prompts run through plain `generate`; empty while prefixes are shared."""
        self._seen: dict[Any, _Seen] = {}
        self._checked = False
        if getattr(model.config, "is_encoder_decoder", False):
            self.why_plain = "an encoder-decoder has no prefix to share"

    def generate(self, prompts: Sequence[Prompt], temperature: float, top_p: float, max_tokens: int) -> list[list[int]]:
        """The new tokens of every prompt, the end token included where it came."""
        import torch

        chooser = Chooser([p.seed for p in prompts], temperature, top_p)
        with torch.inference_mode():
            if not self.why_plain and all(p.picture is not None for p in prompts):
                split = self._split(prompts)
                if split is not None:
                    return self._shared(prompts, split, chooser, max_tokens)
            return self._plain(prompts, chooser, max_tokens)

    # --- plain ---

    def _plain(self, prompts: Sequence[Prompt], chooser: Chooser, max_tokens: int) -> list[list[int]]:
        from transformers import GenerationConfig, LogitsProcessorList

        pictures = [[p.picture] for p in prompts if p.picture is not None]
        inputs = self._inputs([p.text for p in prompts], pictures or None)
        settings = self.model.generation_config
        # the model's own distribution: no penalties, no habits of its generation_config
        config = GenerationConfig(
            max_new_tokens=max_tokens,
            do_sample=False,
            num_beams=1,
            eos_token_id=settings.eos_token_id,
            bos_token_id=settings.bos_token_id,
            pad_token_id=self.tokenizer.pad_token_id,
        )
        tokens = self.model.generate(
            **inputs, generation_config=config, logits_processor=LogitsProcessorList([chooser])
        )
        start = 0 if getattr(self.model.config, "is_encoder_decoder", False) else inputs["input_ids"].shape[1]
        return [self._until_end(row) for row in tokens[:, start:].tolist()]

    def _inputs(self, texts: list[str], pictures: Any) -> Any:
        inputs = self.processor(
            images=pictures, text=texts, return_tensors="pt", padding=True, add_special_tokens=False
        )
        return inputs.to(self.model.device, dtype=self.model.dtype)

    def _until_end(self, row: list[int]) -> list[int]:
        stop = next((i + 1 for i, token in enumerate(row) if token in self.ends), len(row))
        return row[:stop]

    # --- shared ---

    def _split(self, prompts: Sequence[Prompt]) -> list[tuple[_Seen, list[int]]] | None:
        """Each prompt as the prefix of its picture and its own tail, or None when a prompt does not split so."""
        if len(self._seen) > 2048:
            self._seen.clear()
        image_id = self._image_token()
        if image_id is None:
            self.why_plain = "its processor has no picture token to split a prompt at"
            return None
        rows = self.tokenizer([p.text for p in prompts], add_special_tokens=False)["input_ids"]
        split = []
        for prompt, ids in zip(prompts, rows, strict=True):
            places = [i for i, token in enumerate(ids) if token == image_id]
            if not places:
                self.why_plain = "its prompts do not show the picture token"
                return None
            tail = ids[places[-1] + 1 :]
            seen = self._seen.get(prompt.picture_key)
            if seen is None:
                inputs = self._inputs([prompt.text], [[prompt.picture]])
                whole = inputs["input_ids"][0].tolist()
                if not tail or whole[len(whole) - len(tail) :] != tail:
                    self.why_plain = "the text behind the picture is tokenised otherwise within the prompt"
                    return None
                tensors = {key: value for key, value in inputs.items() if key not in _IMAGE_KEYS_KEPT_OUT}
                seen = self._seen[prompt.picture_key] = _Seen(tuple(whole[: len(whole) - len(tail)]), tensors)
                if image_id in tail or seen.prefix.count(image_id) == 0:
                    self.why_plain = "the picture does not stand before the question"
                    return None
            split.append((seen, tail))
        return split

    def _image_token(self) -> int | None:
        for holder, name in (
            (self.model.config, "image_token_id"),
            (self.model.config, "image_token_index"),
            (self.processor, "image_token_id"),
        ):
            found = getattr(holder, name, None)
            if isinstance(found, int):
                return found
        return None

    def _shared(
        self, prompts: Sequence[Prompt], split: list[tuple[_Seen, list[int]]], chooser: Chooser, max_tokens: int
    ) -> list[list[int]]:
        # pictures whose prefixes are of one length run together
        by_length: dict[int, list[int]] = {}
        for row, (seen, _) in enumerate(split):
            by_length.setdefault(len(seen.prefix), []).append(row)
        answers: list[list[int]] = [[] for _ in prompts]
        for rows in by_length.values():
            for row, answer in zip(rows, self._decode(rows, split, chooser, max_tokens), strict=True):
                answers[row] = answer
        if not self._checked:
            self._checked = True
            self._check(prompts[: min(4, len(prompts))], answers, chooser, max_tokens)
            if self.why_plain:
                return self._plain(
                    prompts, Chooser([p.seed for p in prompts], chooser.temperature, chooser.top_p), max_tokens
                )
        return answers

    def _check(self, prompts: Sequence[Prompt], answers: list[list[int]], chooser: Chooser, max_tokens: int) -> None:
        """Compare the first rows with plain `generate`; half precision may differ in a late token, never in the first."""
        import torch

        again = self._plain(prompts, Chooser([p.seed for p in prompts], chooser.temperature, chooser.top_p), max_tokens)
        exact = self.model.dtype == torch.float32
        same = all(a == b if exact else a[:1] == b[:1] for a, b in zip(again, answers, strict=False))
        if not same:
            self.why_plain = "sharing the prefix does not give the answers of plain generate"

    def _decode(
        self, rows: list[int], split: list[tuple[_Seen, list[int]]], chooser: Chooser, max_tokens: int
    ) -> list[list[int]]:
        import torch

        device = self.model.device
        cache, owner = self._prefill([split[row][0] for row in rows])
        cache.batch_select_indices(torch.tensor(owner, device=device))
        length = len(split[rows[0]][0].prefix)
        tails = [split[row][1] for row in rows]
        width = max(map(len, tails))
        ids = torch.full((len(rows), width), int(self.tokenizer.pad_token_id), dtype=torch.long)
        mask = torch.zeros((len(rows), length + width), dtype=torch.long)
        mask[:, :length] = 1
        for r, tail in enumerate(tails):
            ids[r, width - len(tail) :] = torch.tensor(tail)
            mask[r, length + width - len(tail) :] = 1
        ids, mask = ids.to(device), mask.to(device)
        position = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, length:]
        answers: list[list[int]] = [[] for _ in rows]
        alive = list(range(len(rows)))
        for step in range(max_tokens):
            out = self.model(
                input_ids=ids,
                attention_mask=mask,
                position_ids=position,
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=1,
            )
            chosen = chooser.choose(out.logits[:, -1].float(), [rows[i] for i in alive])
            going = []
            for place, (i, token) in enumerate(zip(alive, chosen.tolist(), strict=True)):
                answers[i].append(token)
                if token not in self.ends:
                    going.append(place)
            if not going or step + 1 == max_tokens:
                break
            # finished rows are let go once they are a quarter of the batch
            if len(going) <= 0.75 * len(alive):
                keep = torch.tensor(going, device=device)
                cache.batch_select_indices(keep)
                chosen, mask, position = chosen[keep], mask[keep], position[keep]
                alive = [alive[place] for place in going]
            ids = chosen[:, None]
            mask = torch.cat([mask, mask.new_ones((len(mask), 1))], dim=1)
            position = position[:, -1:] + 1
        return [self._until_end(answer) for answer in answers]

    def _prefill(self, seen: list[_Seen]) -> tuple[Any, list[int]]:
        """The cache of every distinct picture's prefix, and for each row which of them it follows."""
        import torch

        distinct: dict[int, int] = {}
        owner = [distinct.setdefault(id(one), len(distinct)) for one in seen]
        first = {distinct[id(one)]: one for one in seen}
        ordered = [first[i] for i in range(len(first))]
        ids = torch.tensor([one.prefix for one in ordered], device=self.model.device)
        tensors = {key: torch.cat([one.tensors[key] for one in ordered]) for key in ordered[0].tensors}
        out = self.model(
            input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=True, logits_to_keep=1, **tensors
        )
        return out.past_key_values, owner
