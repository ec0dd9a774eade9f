"""Computations that run once per picture: the prefix's keys and values, and the vision tower."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

import torch

from hqm.respondents.attention import moved_to, tensor_on
from hqm.respondents.batching import Prompt
from hqm.respondents.hf_inputs import CannotSplit, EncodedPicture, Reader, batch_inputs
from hqm.respondents.kv_cache import STATES, CacheRows, Layers, layers_of
from hqm.respondents.token_sampling import TokenSampler, read_tokens

if TYPE_CHECKING:
    from transformers import BatchFeature, Cache, PreTrainedModel


@dataclass(frozen=True)
class Prefill:
    """The keys and values of several pictures' prefixes, padded on the right to one length."""

    cache: Cache
    lengths: Sequence[int]
    """The length of every picture's prefix."""
    shift: torch.Tensor | None
    """The offset of the positions behind each picture, shape (pictures, 1), or None."""
    scores: torch.Tensor
    """The logits of the token behind each prefix, shape (pictures, vocabulary)."""

    @classmethod
    def run(cls, model: PreTrainedModel, pictures: Sequence[EncodedPicture]) -> Prefill:
        """Run distinct pictures, whose tensors are of one shape, through the model."""
        prefixes = [picture.prefix for picture in pictures]
        lengths = list(map(len, prefixes))
        device = model.device
        ends = sorted(set(lengths))
        output = model(
            **batch_inputs(prefixes, pictures, [0] * len(prefixes), padding(model), device),
            use_cache=True,
            logits_to_keep=tensor_on(ends, device) - 1,
        )
        # Qwen's positions run on from the picture's last one, not from its last token
        has_tensors = bool(pictures[0].tensors)
        shift = getattr(model.base_model, "rope_deltas", None) if has_tensors else None
        row, end = tensor_on([range(len(pictures)), list(map(ends.index, lengths))], device)
        scores = output.logits[row, end]
        return cls(output.past_key_values, lengths, shift, scores)

    @cached_property
    def layers(self) -> Layers:
        """The cache's keys and values."""
        return layers_of(self.cache)

    def select(self, pictures: Sequence[int]) -> CacheRows:
        """Select the keys and values of these pictures."""
        return CacheRows(
            self.layers,
            pictures,
            [0] * len(pictures),
            [self.lengths[picture] for picture in pictures],
        )

    def repeat(self, pictures: Sequence[int]) -> Cache:
        """Return a cache for rows behind these pictures; it shares memory where it can."""
        cache = copy.copy(self.cache)
        cache.layers = list(map(copy.copy, self.cache.layers))
        for layer in cache.layers:
            # a recurrent layer writes its states where they are, keys and values it replaces
            for name in STATES & vars(layer).keys():
                setattr(layer, name, copy.deepcopy(getattr(layer, name)))
        if list(pictures) != list(range(len(self.lengths))):
            # other rows than the pictures in their order need memory of their own
            cache.reorder_cache(tensor_on(pictures, self.scores.device))
        return cache

    @property
    def window(self) -> int | None:
        """The shortest attention window of any layer, or None without windows."""
        windows = [
            layer.sliding_window
            for layer in self.cache.layers
            if getattr(layer, "is_sliding", False)
        ]
        return min(windows) if windows else None

    @property
    def pads(self) -> bool:
        """Whether shorter questions may be padded.

        A layer with a window counts padding as positions, and a recurrent layer reads it into its
        state.
        """
        recurrent = any(STATES & vars(layer).keys() for layer in self.cache.layers)
        return self.window is None and not recurrent


def positions(position: torch.Tensor, shift: torch.Tensor | None) -> torch.Tensor:
    """Return position ids as the model expects them: plain, or Qwen's three-part ones."""
    return position if shift is None else (position + shift)[None].expand(3, -1, -1)


def padding(model: PreTrainedModel) -> int:
    """Return a token for padding, which the mask hides."""
    token = model.generation_config.pad_token_id
    return 0 if token is None else int(token)


@dataclass(frozen=True)
class QuestionRows:
    """Rows to answer: number, picture (its index in the prefill) and question tokens of each."""

    model: PreTrainedModel
    prefill: Prefill
    rows: Sequence[int]
    pictures: Sequence[int]
    tails: Sequence[Sequence[int]]
    ends: frozenset[int]


def decode_rows(
    questions: QuestionRows, chooser: TokenSampler, max_tokens: int
) -> dict[int, list[int]]:
    """Answer with the prefix's cache repeated for every question, and the model's own masks.

    For models with attention windows or recurrent layers. All prefixes have one length; where
    padding would count (`Prefill.pads`), all questions have one length too.
    """
    model = questions.model
    prefill = questions.prefill
    device = model.device
    # a question that several runs ask is read once
    distinct: dict[tuple[int, tuple[int, ...]], int] = {}
    keys = zip(questions.pictures, map(tuple, questions.tails), strict=True)
    owner = [distinct.setdefault(key, len(distinct)) for key in keys]
    pictures = list(map(itemgetter(0), distinct))
    cache = prefill.repeat(pictures)
    shift = None if prefill.shift is None else prefill.shift[tensor_on(pictures, device)]
    length = prefill.lengths[0]
    ids, mask = _pad_tails(model, list(map(itemgetter(1), distinct)), length)
    position = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, length:]
    answers: dict[int, list[int]] = {row: [] for row in questions.rows}
    alive = list(questions.rows)
    source_rows = owner
    for step in range(max_tokens):
        output = model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions(position, shift),
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        scores = output.logits[:, -1].float()
        if step == 0:
            # every row that asks a question goes on from its one reading
            scores = scores[tensor_on(owner, device)]
        new_tokens = chooser.choose(scores, alive)
        continuing = []
        for index, (row, token) in enumerate(zip(alive, read_tokens(new_tokens), strict=True)):
            if not answers[row] or answers[row][-1] not in questions.ends:
                answers[row].append(token)
            if answers[row][-1] not in questions.ends:
                continuing.append(index)
        if not continuing or step + 1 == max_tokens:
            break
        # finished rows leave once they are a quarter of the batch
        if step == 0 or len(continuing) <= 0.75 * len(alive):
            source = [source_rows[row] for row in continuing]
            if source != list(range(len(mask))):
                keep = tensor_on(source, device)
                cache.reorder_cache(keep)
                mask = mask[keep]
                position = position[keep]
                shift = None if shift is None else shift[keep]
            new_tokens = new_tokens[tensor_on(continuing, device)]
            alive = [alive[row] for row in continuing]
            source_rows = list(range(len(alive)))
        ids = new_tokens[:, None]
        mask = torch.cat([mask, mask.new_ones((len(mask), 1))], dim=1)
        position = position[:, -1:] + 1
    return answers


def _pad_tails(
    model: PreTrainedModel, tails: Sequence[Sequence[int]], length: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The tokens of questions, padded on the left, and their mask after a prefix of this length."""
    width = max(map(len, tails))
    ids = torch.full((len(tails), width), padding(model), dtype=torch.long)
    mask = torch.zeros((len(tails), length + width), dtype=torch.long)
    mask[:, :length] = 1
    for row, tail in enumerate(tails):
        ids[row, width - len(tail) :] = torch.tensor(tail)
        mask[row, length + width - len(tail) :] = 1
    return moved_to(ids, model.device), moved_to(mask, model.device)


# A model's vision tower: it runs once a picture, and its output is replayed for every question.

_MAX_OUTPUTS = 256
"""Pictures whose output is kept."""


class VisionCache:
    """Run a model's vision tower once per picture, and replay its output for every question.

    Parameters
    ----------
    names
        Where it may be within the model.
    """

    def __init__(self, model: PreTrainedModel, reader: Reader, names: Sequence[str]) -> None:
        self.model = model
        self.reader = reader
        modules = dict(model.named_modules())
        self.name = next((name for name in names if name in modules), "")
        self._outputs: dict[Hashable, object] = {}

    def forget(self) -> None:
        """Free the outputs."""
        self._outputs.clear()

    def _forget_others(self, pictures: Sequence[Hashable]) -> None:
        """Free the outputs of all but these pictures."""
        self._outputs = {key: self._outputs[key] for key in pictures if key in self._outputs}

    def outputs_of(self, prompts: Sequence[Prompt]) -> list[object]:
        """Return the tower's outputs for prompts that cannot be split at their picture."""
        keys = list(map(attrgetter("picture_key"), prompts))
        self._forget_others(keys)
        by_key = dict(zip(keys, prompts, strict=True))
        new = [prompt for key, prompt in by_key.items() if key not in self._outputs]
        outputs: list[object] = []
        try:
            if new:
                outputs = _split_by_picture(self._output(self.reader.inputs(new)), [1] * len(new))
        except CannotSplit:  # several rows of a picture went in
            outputs = [self._output(self.reader.inputs([prompt])) for prompt in new]
        self._outputs.update(zip(map(attrgetter("picture_key"), new), outputs, strict=True))
        return [self._outputs[key] for key in keys]

    @contextmanager
    def reuse(self, prompts: Sequence[EncodedPicture]) -> Iterator[None]:
        """Replay the outputs for these prompts' pictures; new pictures run through the tower
        first.
        """
        keys = list(map(attrgetter("picture"), prompts))
        by_key = dict(zip(keys, prompts, strict=True))
        new = [prompt for key, prompt in by_key.items() if key not in self._outputs]
        if new:
            sizes = [len(prompt.tensors["pixel_values"]) for prompt in new]
            inputs = self.reader.join([(prompt, []) for prompt in new])
            outputs = _split_by_picture(self._output(inputs), sizes)
            if len(self._outputs) > _MAX_OUTPUTS:
                self._forget_others(keys)
            self._outputs.update(zip(map(attrgetter("picture"), new), outputs, strict=True))
        with self.replay([self._outputs[key] for key in keys]):
            yield

    @contextmanager
    def replay(self, outputs: Sequence[object]) -> Iterator[None]:
        """Make the tower return these outputs within the context."""
        module = self.model.get_submodule(self.name)
        # an attribute of the object hides the method of its class until it is deleted
        module.forward = lambda *_args, **_settings: _concatenate(outputs)
        try:
            yield
        finally:
            del module.forward

    def _output(self, inputs: BatchFeature) -> object:
        """Run the tower alone on these inputs."""
        if not self.name:
            raise CannotSplit("its vision tower is not where it is looked for")

        def catch(_module: object, _inputs: object, output: object) -> None:
            raise _TowerOutput(output)

        # the exception ends the pass behind the tower, so that the language model does not run
        handle = self.model.get_submodule(self.name).register_forward_hook(catch)
        try:
            self.model.generate(**inputs, max_new_tokens=1)
        except _TowerOutput as caught:
            return caught.output
        finally:
            handle.remove()
        raise CannotSplit("its vision tower is not asked for a picture")


class _TowerOutput(Exception):  # noqa: N818 (it carries a result out of a forward pass)
    def __init__(self, output: object) -> None:
        self.output = output
        super().__init__()


def _concatenate(outputs: Sequence[Any]) -> Any:
    """Concatenate several outputs of one module, in any structure of tensors."""
    first = outputs[0]
    if first is None:
        return None
    if isinstance(first, torch.Tensor):
        return torch.cat(list(outputs))
    if hasattr(first, "keys"):
        return type(first)(
            **{key: _concatenate(list(map(itemgetter(key), outputs))) for key in first}
        )
    return type(first)(_concatenate(components) for components in zip(*outputs, strict=True))


def _split_by_picture(output: Any, sizes: Sequence[int]) -> list[Any]:
    """Split one module's output by picture; `sizes` are the pictures' rows in the input."""
    if output is None:
        return [None] * len(sizes)
    if isinstance(output, torch.Tensor):
        if len(output) != sum(sizes):
            raise CannotSplit("its vision tower's output does not come apart by pictures")
        return list(output.split(list(sizes)))
    if hasattr(output, "keys"):
        columns = {key: _split_by_picture(output[key], sizes) for key in output}

        def fields_of(index: int) -> dict[str, Any]:
            return {key: column[index] for key, column in columns.items()}

        return [type(output)(**fields_of(index)) for index in range(len(sizes))]
    rows = zip(*(_split_by_picture(component, sizes) for component in output), strict=True)
    return [type(output)(row) for row in rows]
