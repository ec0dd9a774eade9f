"""A model's inputs: prompts and pictures as tensors, and prompts split at their picture."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, groupby, product
from operator import add, attrgetter, itemgetter
from threading import Lock
from typing import TYPE_CHECKING

import torch

from hqm.files.images import picture_size
from hqm.respondents.attention import moved_to
from hqm.respondents.base import Request
from hqm.respondents.batching import Prompt
from hqm.respondents.hf_loading import Loaded

if TYPE_CHECKING:
    from PIL.Image import Image
    from transformers import BatchFeature

_TOKEN_KEYS = ("token_type_ids", "mm_token_type_ids")
"""Inputs that say something of every token."""
_PICTURES_A_CALL = 32
"""Pictures that a processor gets in one call; more make it no faster."""
_TEXT_KEYS = frozenset({"input_ids", "attention_mask", "labels", *_TOKEN_KEYS})


_Entry = tuple[Prompt, tuple[int, ...], list[int]]
"""A prompt, its tokens before the picture's, and those behind it."""


class CannotSplit(Exception):  # noqa: N818 (it says what a prompt is, and is always caught)
    """A prompt cannot be split at its picture; `reason` says why."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass(frozen=True)
class EncodedPicture:
    """A processed picture: the tokens up to the question, their type ids and the pixel tensors."""

    head: tuple[int, ...]
    """The tokens before the picture's."""
    prefix: tuple[int, ...]
    """The head and the picture's tokens."""
    kinds: dict[str, torch.Tensor]
    """Token kinds of the prefix, shape (1, length)."""
    tensors: dict[str, torch.Tensor]
    picture: Hashable
    """The picture's key."""

    def with_question(self, tail: Sequence[int]) -> EncodedPicture:
        """Append a question: the whole prompt."""
        kinds = {
            key: torch.cat([values, values.new_zeros((1, len(tail)))], dim=1)
            for key, values in self.kinds.items()
        }
        return EncodedPicture(self.head, (*self.prefix, *tail), kinds, self.tensors, self.picture)

    def with_head(self, head: tuple[int, ...]) -> EncodedPicture:
        """Return the same picture behind another head."""
        n_head = len(self.head)
        if self.prefix[:n_head] != self.head:
            raise CannotSplit(
                "the text before the picture is tokenised otherwise within the prompt"
            )
        kinds = {
            key: torch.cat([values.new_zeros((1, len(head))), values[:, n_head:]], dim=1)
            for key, values in self.kinds.items()
        }
        return EncodedPicture(
            head, (*head, *self.prefix[n_head:]), kinds, self.tensors, self.picture
        )

    @property
    def shape(self) -> tuple[Hashable, ...]:
        """A key that is equal for pictures that can run together."""
        return len(self.prefix), tuple(
            (key, tuple(value.shape[1:])) for key, value in self.tensors.items()
        )


def device_options(loaded: Loaded, device: torch.device) -> dict[str, object]:
    """Return the options that make a processor scale pictures on the model's GPU.

    Only torchvision's processors can, and not with Lanczos resampling.
    """
    from PIL.Image import Resampling

    pictures = getattr(loaded.processor, "image_processor", None)
    is_able = getattr(pictures, "backend", "") == "torchvision" and not loaded.family.reads_pixels
    if (
        device.type != "cuda"
        or not is_able
        or getattr(pictures, "resample", None) == Resampling.LANCZOS
    ):
        return {}
    return {"device": str(device)}


class Reader:
    """Makes a model's inputs.

    Parameters
    ----------
    loaded
        The model with its processor.
    """

    def __init__(self, loaded: Loaded) -> None:
        self.model = loaded.model
        self.processor = loaded.processor
        self.tokenizer = loaded.tokenizer
        self._nested = True
        """Whether the processor gets the pictures as one list a prompt; False once it refused."""
        self._options = device_options(loaded, loaded.model.device)
        if "mm_token_type_ids" in getattr(loaded.processor, "model_input_names", ()):
            # some processors make them in `apply_chat_template` only
            self._options["return_mm_token_type_ids"] = True
        self._encoded: dict[tuple[Hashable, tuple[int, ...]], EncodedPicture] = {}
        self._ahead: dict[tuple[Hashable, tuple[int, ...]], EncodedPicture] = {}
        self.lock = Lock()
        """Tokenizers are not thread-safe."""
        self._added: tuple[str, str] | None = None
        """What the processor adds to a text; None until it is known."""
        self._by_rows = True
        """Whether tensors come apart by pictures, so that several pictures can be processed in one
        call; False once they did not.
        """
        self._by_size = False
        """Whether only pictures of one size are processed in one call."""
        self._sound: set[int] = set()
        """First tokens of questions whose tokenization is the same behind a picture."""

    def inputs(self, prompts: Sequence[Prompt]) -> BatchFeature:
        """The whole prompts as tensors on the model's device, padded on the left."""
        return self._process(prompts).to(self.model.device, dtype=self.model.dtype)

    def _process(self, prompts: Sequence[Prompt]) -> BatchFeature:
        pictures = [p.picture for p in prompts if p.picture is not None]
        try:
            inputs = self._call_processor(
                prompts, [[p] for p in pictures] if self._nested else pictures
            )
        except Exception:  # a processor refuses in any way
            if not self._nested or not pictures:
                raise
            inputs = None
            with suppress(Exception):
                inputs = self._call_processor(prompts, pictures)
            if inputs is None:
                raise
            self._nested = False
        inputs.pop("labels", None)
        if "qformer_input_ids" in inputs:
            # the processor pads the Q-Former's text as the decoder's, on the left, where its
            # positions begin
            with self.lock:
                qformer = self.processor.qformer_tokenizer(
                    list(map(attrgetter("text"), prompts)),
                    padding=True,
                    padding_side="right",
                    return_tensors="pt",
                )
            inputs["qformer_input_ids"] = qformer["input_ids"]
            inputs["qformer_attention_mask"] = qformer["attention_mask"]
        return inputs

    def _call_processor(
        self, prompts: Sequence[Prompt], pictures: Sequence[Image | list[Image] | None]
    ) -> BatchFeature:
        with self.lock:
            return self.processor(
                images=pictures or None,
                text=list(map(attrgetter("text"), prompts)),
                return_tensors="pt",
                padding=True,
                add_special_tokens=self._adds_first_token(prompts[0].text),
                **self._options,
            )

    def _adds_first_token(self, text: str) -> bool:
        """Whether the tokenizer adds its first token: not where the chat template wrote it."""
        first = self.tokenizer.bos_token
        return not (first and text.startswith(first))

    def lengths(self, requests: Sequence[Request]) -> list[tuple[int, ...]]:
        """Return what the number of tokens of each prompt depends on: that number, or, where the
        processor does not say how many tokens a picture has, the picture's size and the question's.
        """
        with self.lock:
            texts = self.tokenizer(list(map(attrgetter("prompt"), requests)))["input_ids"]
        if requests[0].image is None:
            return [(len(text),) for text in texts]
        sizes = [picture_size(request.image) or (0, 0) for request in requests]
        try:
            # transformers has the height first
            image_sizes = [size[::-1] for size in sizes]
            counted = self.processor._get_num_multimodal_tokens(image_sizes=image_sizes)
            counts = counted["num_image_tokens"]
            return [(count + len(text),) for count, text in zip(counts, texts, strict=True)]
        except Exception:  # many processors cannot say it, and end in any way
            return [(*size, len(text)) for size, text in zip(sizes, texts, strict=True)]

    def mark(self) -> int | None:
        """Return the placeholder token of a picture, if there is one."""
        text = getattr(self.processor, "image_token", None)
        if text is not None:
            token = self.tokenizer.convert_tokens_to_ids(str(text))
            if isinstance(token, int) and token != self.tokenizer.unk_token_id:
                return token
        for name in ("image_token_id", "image_token_index"):
            token = getattr(self.model.config, name, None)
            if isinstance(token, int):
                return token
        return None

    def split(
        self, prompts: Sequence[Prompt], *, one_head: bool = True
    ) -> list[tuple[EncodedPicture, list[int]]]:
        """Split each prompt into its picture, which prompts share, and its own tail.

        Parameters
        ----------
        one_head
            Refuse prompts whose text before the picture differs, because they share no prefix.

        Raises
        ------
        CannotSplit
            A prompt has no single placeholder, or its tokens depend on what follows.
        """
        mark = self.mark()
        if mark is None:
            raise CannotSplit("its processor has no picture token to split a prompt at")
        if not one_head and self._added is None:
            self._added = self._added_by_processor(prompts[0], mark)
        rows = self._tokens(prompts)
        self._encode_ahead(prompts, rows, mark)
        parts = []
        heads: dict[Hashable, tuple[int, ...]] = {
            key: encoded.head for (key, _), encoded in self._encoded.items()
        }
        for prompt, ids in zip(prompts, rows, strict=True):
            if ids.count(mark) != 1:
                raise CannotSplit("its prompts do not show the picture's token")
            position = ids.index(mark)
            head = tuple(ids[:position])
            tail = ids[position + 1 :]
            if one_head and heads.setdefault(prompt.picture_key, head) != head:
                raise CannotSplit("the question stands before the picture in its prompts")
            encoded = self._encoded.get((prompt.picture_key, head))
            if encoded is None:
                encoded = self._new_picture(prompt, head, tail, one_head=one_head)
                self._encoded[prompt.picture_key, head] = encoded
            else:
                self._check_tail(prompt, encoded, tail)
            self._ahead.pop((prompt.picture_key, head), None)
            parts.append((encoded, tail))
        # requests come in the order of their pictures: an earlier one does not come back
        used = set(map(id, map(itemgetter(0), parts)))
        self._encoded = {
            key: encoded for key, encoded in self._encoded.items() if id(encoded) in used
        }
        return parts

    def _new_picture(
        self, prompt: Prompt, head: tuple[int, ...], tail: list[int], *, one_head: bool
    ) -> EncodedPicture:
        """The picture of a prompt: with another head, processed in advance, or processed now."""
        if not one_head:
            for (picture_key, _), encoded in self._encoded.items():
                if picture_key == prompt.picture_key:
                    return encoded.with_head(head)
        ahead = self._ahead.pop((prompt.picture_key, head), None)
        return ahead or self._encode(prompt, head, tail)

    def _check_tail(self, prompt: Prompt, encoded: EncodedPicture, tail: list[int]) -> None:
        """Check that a question is tokenised alone as it is after its picture.

        The text after a picture may be merged into the first token of the question.
        """
        if not tail or tail[0] in self._sound:
            return
        # nothing is merged into a special token
        if encoded.prefix[-1] in self.tokenizer.all_special_ids:
            return
        tokens = self._process([prompt])["input_ids"][0].tolist()
        # The whole prompt by the processor is the standard: what is put together must equal it.
        if tokens != [*encoded.prefix, *tail]:
            raise CannotSplit(
                "the text behind the picture is tokenised otherwise within the prompt"
            )
        self._sound.add(tail[0])

    def look_ahead(self, prompts: Sequence[Prompt]) -> None:
        """Process the next pictures in a background thread; errors are left to the later call."""
        mark = self.mark()
        first = {p.picture_key: p for p in prompts if p.picture is not None}
        if mark is not None:
            with suppress(CannotSplit):
                new = list(first.values())
                self._encode_ahead(new, self._tokens(new), mark, min_pictures=1)

    def _encode_ahead(
        self,
        prompts: Sequence[Prompt],
        rows: Sequence[Sequence[int]],
        mark: int,
        *,
        min_pictures: int = 2,
    ) -> None:
        """Process new pictures, several in one call where their tensors come apart.

        One call for 16 pictures takes less than half the time of 16 calls.
        """
        seen_pictures = set(map(itemgetter(0), chain(self._encoded, self._ahead)))
        entries: list[_Entry] = []
        for prompt, ids in zip(prompts, rows, strict=True):
            if prompt.picture_key not in seen_pictures and ids.count(mark) == 1:
                seen_pictures.add(prompt.picture_key)
                position = ids.index(mark)
                entries.append((prompt, tuple(ids[:position]), list(ids[position + 1 :])))
        if len(entries) < min_pictures:
            return

        def size(entry: _Entry) -> tuple[int, ...]:
            return entry[0].picture_size if self._by_size else ()

        for _, same_size in groupby(sorted(entries, key=size), size):
            pending = list(same_size)
            for start in range(0, len(pending), _PICTURES_A_CALL):
                group = pending[start : start + _PICTURES_A_CALL]
                if self._by_rows and len(group) > 1:
                    encoded_group = self._encode_group(group)
                else:
                    encoded_group = None
                for index, (prompt, head, tail) in enumerate(group):
                    if encoded_group:
                        encoded = encoded_group[index]
                    else:
                        encoded = self._encode(prompt, head, tail)
                    self._ahead[prompt.picture_key, head] = encoded

    def _encode_group(self, group: Sequence[_Entry]) -> list[EncodedPicture] | None:
        """Process pictures in one call; None where the tensors do not come apart by pictures."""
        prompts = list(map(itemgetter(0), group))
        inputs = self._process(prompts)
        # Texts were padded to the longest prompt: they are cut by their mask below.
        texts = {key: inputs.pop(key) for key in _TEXT_KEYS & set(inputs)}
        # tiles are padded to the most of any picture, so that sizes are kept apart from now on
        self._by_size = self._by_size or getattr(inputs.get("pixel_values"), "ndim", 0) > 4
        if self._by_size and len(set(map(attrgetter("picture_size"), prompts))) > 1:
            return None
        parts = _by_picture(inputs.to(self.model.device, dtype=self.model.dtype), len(group))
        if parts is None:
            self._by_rows = False
            return None
        encoded = []
        for row, ((prompt, head, tail), tensors) in enumerate(zip(group, parts, strict=True)):
            is_token = texts["attention_mask"][row].bool()
            tokens = texts["input_ids"][row][is_token].tolist()
            kinds = {key: texts[key][row][None, is_token] for key in _TOKEN_KEYS if key in texts}
            encoded.append(self._split_tokens(prompt, head, tail, tokens, kinds, tensors))
        return encoded

    def _tokens(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        if not prompts:
            return []
        added = self._added or ("", "")
        mark = str(getattr(self.processor, "image_token", ""))
        texts = list(map(attrgetter("text"), prompts))
        if any(added):
            texts = [text.replace(mark, mark + added[0]) + added[1] for text in texts]
        with self.lock:
            begins = self._adds_first_token(texts[0]) and not any(added)
            return list(self.tokenizer(texts, add_special_tokens=begins)["input_ids"])

    def _added_by_processor(self, prompt: Prompt, mark: int) -> tuple[str, str]:
        """Find the text that the processor adds behind the picture and behind the question.

        PaliGemma's processor adds some.
        """
        tokens = self._process([prompt])["input_ids"][0].tolist()
        # the processor writes the picture's token once for each of its patches, the text once
        while mark in tokens and tokens.count(mark) > 1:
            tokens.remove(mark)
        # What a processor adds is tried out, since none says it: a first token, a line break.
        for added in product(("", str(self.tokenizer.bos_token or "")), ("", "\n")):
            self._added = added
            if self._tokens([prompt])[0] == tokens:
                return added
        return "", ""

    def _encode(self, prompt: Prompt, head: tuple[int, ...], tail: list[int]) -> EncodedPicture:
        inputs = self._process([prompt])
        tokens = inputs["input_ids"][0].tolist()
        kinds = {key: inputs[key] for key in _TOKEN_KEYS if key in inputs}
        for key in _TEXT_KEYS & set(inputs):
            del inputs[key]
        tensors = dict(inputs.to(self.model.device, dtype=self.model.dtype))
        return self._split_tokens(prompt, head, tail, tokens, kinds, tensors)

    def _split_tokens(
        self,
        prompt: Prompt,
        head: tuple[int, ...],
        tail: list[int],
        tokens: list[int],
        kinds: dict[str, torch.Tensor],
        tensors: dict[str, torch.Tensor],
    ) -> EncodedPicture:
        """Split a processed prompt's tokens in front of its tail."""
        length = len(tokens) - len(tail)
        if not tail or tokens[length:] != tail:
            raise CannotSplit(
                "the text behind the picture is tokenised otherwise within the prompt"
            )
        self._sound.add(tail[0])
        # The kinds of the question are left out, as all of it is text.
        kinds = {key: values[:, :length] for key, values in kinds.items()}
        return EncodedPicture(head, tuple(tokens[:length]), kinds, tensors, prompt.picture_key)

    def forget(self) -> None:
        """Free the processed pictures."""
        self._encoded.clear()
        self._ahead.clear()

    def join(
        self, split: Sequence[tuple[EncodedPicture, list[int]]]
    ) -> dict[str, torch.Tensor] | None:
        """Build the inputs of whole prompts from processed pictures; None where shapes differ."""
        pictures = list(map(itemgetter(0), split))
        shapes = {picture.shape[1] for picture in pictures}
        # pictures of other shapes, or whose tiles are a list, make no batch
        if len(shapes) > 1 or not all(hasattr(t, "shape") for t in pictures[0].tensors.values()):
            return None
        rows = [[*encoded.prefix, *tail] for encoded, tail in split]
        width = max(map(len, rows))
        begins = [width - len(row) for row in rows]
        return batch_inputs(
            rows, pictures, begins, int(self.tokenizer.pad_token_id), self.model.device
        )


def batch_inputs(
    rows: Sequence[Sequence[int]],
    pictures: Sequence[EncodedPicture],
    begins: Sequence[int],
    pad_token: int,
    device: torch.device,
) -> dict[str, torch.Tensor]:
    """Return prompts, each from its `begin`, and the tensors of their pictures as one batch."""
    width = max(map(add, begins, map(len, rows)))
    ids = torch.full((len(rows), width), pad_token, dtype=torch.long)
    mask = torch.zeros_like(ids)
    # a question is text, whose kind is 0
    kinds = {key: torch.zeros_like(ids) for key in pictures[0].kinds}
    for r, (row, picture, begin) in enumerate(zip(rows, pictures, begins, strict=True)):
        ids[r, begin : begin + len(row)] = torch.tensor(row)
        mask[r, begin : begin + len(row)] = 1
        for key, values in picture.kinds.items():
            kinds[key][r, begin : begin + len(picture.prefix)] = values[0]
    texts = {"input_ids": ids, "attention_mask": mask, **kinds}
    inputs = {key: moved_to(value, device) for key, value in texts.items()}
    for key in pictures[0].tensors:
        inputs[key] = torch.cat([picture.tensors[key] for picture in pictures])
    return inputs


def _by_picture(inputs: BatchFeature, count: int) -> list[dict[str, torch.Tensor]] | None:
    """Take a processor's tensors apart: a row for each picture, or the patches that its grid
    counts; None where they are neither.
    """
    # Qwen2-VL and its kin: the patches of all pictures in one row, and how many each has.
    grid = inputs.get("image_grid_thw")
    patches = [] if grid is None else grid.prod(-1).tolist()
    columns = {}
    for name, values in inputs.items():
        if not isinstance(values, torch.Tensor):
            return None
        if name != "image_grid_thw" and len(patches) == count and len(values) == sum(patches):
            columns[name] = values.split(patches)
        elif len(values) == count:
            columns[name] = values.split(1)
        else:
            return None

    def tensors_of(row: int) -> dict[str, torch.Tensor]:
        return {name: parts[row] for name, parts in columns.items()}

    return list(map(tensors_of, range(count)))
