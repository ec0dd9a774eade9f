"""Decoding with a shared image prefix: the picture is seen once, its keys and values serve every question about it.

A prompt that puts the picture first is a prefix (system text, picture) and a tail (the question). The prefix of each
picture runs through the model once; the tails of all its questions follow behind it (`hqm.respondents.prefix`), and tokens
are drawn row by row. A question asked in several runs is read once.

Where no prefix can be shared (the question stands first, the picture sees the question), the vision tower still runs once
a picture, and plain `generate` does the rest. What comes out is what plain `generate` gives: the first batch is checked
against it, and a model that disagrees shares less. `Engine.how` says what is shared, and why no more.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hqm.respondents.drawing import Chooser, Words
from hqm.respondents.families import Sharing
from hqm.respondents.loading import Loaded
from hqm.respondents.prefix import Prefill, Questions, decode_packed, decode_rows
from hqm.respondents.reading import Prompt, Reader, Unsplit

_LESS: dict[Sharing, Sharing] = {"prefix": "features", "features": "nothing"}
_IN_WORDS = {"prefix": "shared image prefix", "features": "shared vision features", "nothing": "plain generate"}
_CHECKED = 4
"""Rows of the first batch that are compared with plain `generate`."""
_NEAR = 0.1
"""In half precision, how far (total variation) a first token's distribution may be from that of plain `generate`."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """The new tokens of one prompt, the end token included where it came, and the first token's probabilities."""

    tokens: list[int]
    first: dict[str, float]


class Engine:
    """Generates answers to prompts, sharing as much of each picture as the model allows.

    Parameters
    ----------
    loaded
        A model with its processor.
    name
        The respondent, for what is said of it.
    """

    def __init__(self, loaded: Loaded, name: str = "") -> None:
        self.model, self.tokenizer = loaded.model, loaded.tokenizer
        self.reader, self.name = Reader(loaded), name
        settings, text = self.model.generation_config, self.model.config.get_text_config()
        ends = settings.eos_token_id if settings.eos_token_id is not None else getattr(text, "eos_token_id", None)
        ends = self.tokenizer.eos_token_id if ends is None else ends
        self.ends = frozenset(ends if isinstance(ends, list) else [ends])
        start = settings.decoder_start_token_id
        self._start = getattr(text, "decoder_start_token_id", None) if start is None else start
        self.sharing: Sharing = loaded.family.sharing
        self.why = loaded.family.why
        self._words = Words(self.tokenizer)
        self._tower = next((t for t in loaded.family.towers if t in dict(self.model.named_modules())), "")
        self._towers: dict[Any, Any] = {}
        self.packs = True
        """Whether the questions about a picture run as one sequence; no longer once a model gave other answers so."""
        self._checked: set[Sharing] = {"nothing"}
        if self.sharing != "prefix":
            self._say()

    @property
    def how(self) -> str:
        """What is shared, and why no more."""
        return f"{_IN_WORDS[self.sharing]}: {self.why}" if self.why else _IN_WORDS[self.sharing]

    def _say(self) -> None:
        logging.getLogger("hqm").warning("hqm: %s: %s", self.name, self.how)

    def look_ahead(self, prompts: Sequence[Prompt]) -> None:
        """Prepare the next batch's pictures while this one runs; only a shared prefix uses them."""
        if self.sharing == "prefix" and "prefix" in self._checked:
            self.reader.look_ahead(prompts)

    def release(self) -> None:
        """Let go of what is kept between batches, after memory ran out."""
        import torch

        self.reader.forget()
        self._towers.clear()
        gc.collect()
        if self.model.device.type == "cuda":
            torch.cuda.empty_cache()

    def share_less(self, why: str, sharing: Sharing | None = None) -> None:
        """Share less from now on, for a reason."""
        self.sharing, self.why = sharing or _LESS[self.sharing], why
        self._say()

    def generate(self, prompts: Sequence[Prompt], temperature: float, top_p: float, max_tokens: int) -> list[Drawn]:
        """Answer every prompt."""
        import torch

        words = [self._words.of(p.words) for p in prompts]

        def chooser(count: int = len(prompts), watch: Sequence[int] = ()) -> Chooser:
            return Chooser([p.seed for p in prompts[:count]], temperature, top_p, words[:count], watch)

        compared = range(min(_CHECKED, len(prompts)))

        with torch.inference_mode():
            if any(p.picture is None for p in prompts):
                return self._plain(prompts, chooser(), max_tokens)
            while True:
                ways: dict[Sharing, Callable[..., list[Drawn]]] = {
                    "prefix": self._shared, "features": self._with_features, "nothing": self._plain,
                }  # fmt: skip
                level = self.sharing
                drawing = chooser(watch=() if level in self._checked else compared)
                try:
                    drawn = ways[level](prompts, drawing, max_tokens)
                except Unsplit as unsplit:
                    self.share_less(unsplit.why)
                    continue
                if level not in self._checked:
                    again = chooser(len(compared), compared)
                    if not self._same(drawn, drawing, self._plain(prompts[:_CHECKED], again, max_tokens), again):
                        if level == "prefix" and self.packs:
                            self.packs = False
                            continue
                        self.share_less(f"with {_IN_WORDS[level]} the answers are not those of plain generate")
                        continue
                    self._checked.add(level)
                return drawn

    def _same(self, drawn: list[Drawn], drawing: Chooser, again: list[Drawn], plain: Chooser) -> bool:
        """Whether answers are those of plain `generate`; in half precision, whether their distributions are near."""
        import torch

        if self.model.dtype == torch.float32:
            return all(a.tokens == b.tokens for a, b in zip(again, drawn, strict=False))
        return all(float((drawing.watched[row] - plain.watched[row]).abs().sum()) / 2 < _NEAR for row in plain.watched)

    # --- plain ---

    def _plain(self, prompts: Sequence[Prompt], chooser: Chooser, max_tokens: int, inputs: Any = None) -> list[Drawn]:
        from transformers import GenerationConfig, LogitsProcessorList

        inputs = self.reader.inputs(prompts) if inputs is None else inputs
        settings = self.model.generation_config
        # the model's own distribution: no penalties, no habits of its generation_config
        config = GenerationConfig(
            max_new_tokens=max_tokens,
            do_sample=False,
            num_beams=1,
            eos_token_id=sorted(self.ends),
            bos_token_id=settings.bos_token_id,
            pad_token_id=self.tokenizer.pad_token_id,
            decoder_start_token_id=self._start,
        )
        tokens = self.model.generate(
            **inputs, generation_config=config, logits_processor=LogitsProcessorList([chooser])
        )
        asked = inputs["input_ids"]
        begin = asked.shape[1]
        # an encoder-decoder gives its first token back, some families nothing of the prompt
        if tokens.shape[1] < begin or not bool((tokens[:, :begin] == asked).all()):
            begin = int(self._start is not None and bool((tokens[:, 0] == self._start).all()))
        return self._drawn(tokens[:, begin:].tolist(), chooser)

    def _drawn(self, rows: list[list[int]], chooser: Chooser) -> list[Drawn]:
        first = chooser.first or [{} for _ in rows]
        return [Drawn(self._until_end(row), chances) for row, chances in zip(rows, first, strict=True)]

    def _until_end(self, row: list[int]) -> list[int]:
        stop = next((i + 1 for i, token in enumerate(row) if token in self.ends), len(row))
        return row[:stop]

    # --- vision features ---

    def _with_features(self, prompts: Sequence[Prompt], chooser: Chooser, max_tokens: int) -> list[Drawn]:
        """Plain `generate` with the vision tower's output put in its place."""
        if not self._tower:
            raise Unsplit("its vision tower is not where it is looked for")
        known = {p.picture_key: self._towers.get(p.picture_key) for p in prompts}
        for prompt in prompts:
            if known[prompt.picture_key] is None:
                known[prompt.picture_key] = self._look(prompt)
        self._towers = known
        try:
            inputs = self.reader.joined(self.reader.split(prompts, one_head=False))
        except Unsplit:
            inputs = None
        with self._replayed([known[p.picture_key] for p in prompts]):
            return self._plain(prompts, chooser, max_tokens, inputs)

    def _look(self, prompt: Prompt) -> Any:
        """The vision tower's output for one picture; nothing else runs."""

        def catch(_module: Any, _inputs: Any, output: Any) -> None:
            raise _Caught(output)

        handle = self.model.get_submodule(self._tower).register_forward_hook(catch)
        try:
            self.model.generate(**self.reader.inputs([prompt]), max_new_tokens=1)
        except _Caught as caught:
            return caught.output
        finally:
            handle.remove()
        raise Unsplit("its vision tower is not asked for a picture")

    @contextmanager
    def _replayed(self, outputs: Sequence[Any]) -> Iterator[None]:
        tower = self.model.get_submodule(self._tower)
        tower.forward = lambda *_args, **_settings: _joined(outputs)
        try:
            yield
        finally:
            del tower.forward

    # --- prefix ---

    def _shared(self, prompts: Sequence[Prompt], chooser: Chooser, max_tokens: int) -> list[Drawn]:
        if getattr(self.model.config, "is_encoder_decoder", False):
            raise Unsplit("an encoder-decoder has no prefix to share")
        split = self.reader.split(prompts)
        # pictures whose prefixes are of one length run together
        by_shape: dict[Any, list[int]] = {}
        for row, (seen, _) in enumerate(split):
            by_shape.setdefault(seen.shape, []).append(row)
        answers: list[list[int]] = [[] for _ in prompts]
        first: list[dict[str, float]] = [{} for _ in prompts]
        for rows in by_shape.values():
            prefill = Prefill.of(self.model, [split[row][0] for row in rows])
            for places in prefill.together([len(split[row][1]) for row in rows], max_tokens):
                members = [rows[place] for place in places]
                part = chooser.part(members)
                pictures = [prefill.owner[id(split[row][0])] for row in members]
                tails = [split[row][1] for row in members]
                decode = decode_packed if self.packs and prefill.may_pack(tails, max_tokens) else decode_rows
                drawn = decode(Questions(self.model, prefill, pictures, tails, self.ends), part, max_tokens)
                for row, answer in zip(members, drawn, strict=True):
                    answers[row] = answer
                for row, chances in zip(members, part.first, strict=False):
                    first[row] = chances
                chooser.watched |= {members[place]: chances for place, chances in part.watched.items()}
        chooser.first = first if any(first) else []
        return self._drawn(answers, chooser)


class _Caught(Exception):  # noqa: N818 (no error: it carries a vision tower's output out of a forward pass)
    def __init__(self, output: Any) -> None:
        self.output = output
        super().__init__()


def _joined(outputs: Sequence[Any]) -> Any:
    """Several outputs of one module as one: tensors one behind the other, whatever holds them."""
    import torch

    first = outputs[0]
    if first is None:
        return None
    if isinstance(first, torch.Tensor):
        return torch.cat(list(outputs))
    if hasattr(first, "keys"):
        return type(first)(**{key: _joined([output[key] for output in outputs]) for key in first})
    return type(first)(_joined(part) for part in zip(*outputs, strict=True))
