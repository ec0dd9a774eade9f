"""The models of the matrix (`tests/perf/matrix.py`): real classes of about two million random
weights, at two numbers of picture tokens.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from hqm.respondents.hf_loading import Loaded, load
from tests import tiny_models
from tests.perf.ways import CAMERA, plain, prompt_of

Sizes = Sequence[tuple[int, int]]
DECODER: dict[str, Any] = {
    "hidden_size": 192,
    "intermediate_size": 512,
    "num_hidden_layers": 4,
    "num_attention_heads": 6,
    "num_key_value_heads": 6,
    "head_dim": 32,
    "initializer_range": 0.1,
    "max_position_embeddings": 4096,
}
TOWER: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "initializer_range": 0.1,
}
"""A vision tower of a twentieth of the decoder's weights, as LLaVA-1.5-7B's has: a larger one,
which HQM runs once a picture, would make every ratio larger."""
QWEN_TOWER: dict[str, Any] = {
    "depth": 2,
    "embed_dim": 32,
    "num_heads": 2,
    "mlp_ratio": 4,
    "initializer_range": 0.1,
}
"""Narrower, for it sees four patches a token, all at once."""
PATCH = 14
_SHAPES = ((640, 480), (480, 640), (640, 360), (640, 224))
"""Four shapes of pictures, which LLaVA-NeXT cuts into different tiles."""


@dataclass(frozen=True)
class Model:
    """A family at one number of picture tokens: how it is built, and the pictures it is shown."""

    family: str
    options: Mapping[str, Any] = field(default_factory=dict)
    sizes: Sizes = CAMERA
    """Widths and heights of the pictures, taken in turn."""

    def built(self, folder: Path) -> Loaded:
        """The model with weights from a seed, saved to a folder and loaded as HQM loads it."""
        transformers.utils.logging.disable_progress_bar()
        transformers.logging.set_verbosity_error()
        transformers.set_seed(0)
        tower = QWEN_TOWER if self.family == "qwen2_vl" else TOWER
        tiny_models.MODELS[self.family](
            folder, **{"patch": PATCH, "vision": tower, **DECODER, **self.options}
        )
        return load(
            str(folder),
            revision="",
            device="cpu",
            dtype="float32",
            attention="auto",
            name=self.family,
        )


def _units(*grid: tuple[int, int]) -> Sizes:
    """Pictures of so many rows and columns of Qwen2-VL's tokens, in pixels; a token is two patches
    wide and high.
    """
    return tuple((2 * PATCH * columns, 2 * PATCH * rows) for rows, columns in grid)


def _qwen(*grid: tuple[int, int]) -> Model:
    return Model("qwen2_vl", {"pixels": ((2 * PATCH) ** 2, 4096 * (2 * PATCH) ** 2)}, _units(*grid))


_TILES = ((1, 2), (2, 1), (2, 2), (1, 3), (3, 1))
_SMALL_TILES = (*_TILES, (2, 3), (3, 2), (3, 3))
_TWENTY_SMALL = (
    (2, 3), (3, 2), (2, 4), (4, 2), (2, 5), (5, 2), (2, 6), (6, 2), (2, 7), (7, 2),
    (3, 3), (3, 4), (4, 3), (3, 5), (5, 3), (4, 4), (1, 8), (8, 1), (1, 9), (9, 1),
)  # fmt: skip
_TWENTY_LARGE = (
    (18, 24),
    (24, 18),
    (20, 24),
    (24, 20),
    (21, 21),
    (20, 30),
    (30, 20),
    (18, 32),
    (32, 18),
    (24, 24),
    (23, 26),
    (26, 23),
    (22, 28),
    (28, 22),
    (21, 30),
    (30, 21),
    (24, 28),
    (28, 24),
    (26, 26),
    (20, 28),
)

MODELS: dict[str, dict[int, Model]] = {
    "llava": {10: Model("llava", {"size": 3 * PATCH}), 576: Model("llava", {"size": 24 * PATCH})},
    "llava_next": {
        10: Model("llava_next", {"size": PATCH, "tiles": _SMALL_TILES}, _SHAPES),
        576: Model("llava_next", {"size": 12 * PATCH, "tiles": _TILES}, _SHAPES),
    },
    "qwen2_vl_1": {10: _qwen((2, 5)), 576: _qwen((24, 24))},
    "qwen2_vl_4": {
        10: _qwen((2, 5), (5, 2), (2, 4), (3, 4)),
        576: _qwen((24, 24), (18, 32), (20, 24), (24, 28)),
    },
    "qwen2_vl_20": {10: _qwen(*_TWENTY_SMALL), 576: _qwen(*_TWENTY_LARGE)},
    "smolvlm": {
        10: Model("smolvlm", {"size": 6 * PATCH, "tiles": 1}),
        576: Model("smolvlm", {"size": 16 * PATCH, "tiles": 4}, ((640, 320),)),
    },
    "idefics3": {
        10: Model(
            "idefics3", {"size": 2 * PATCH, "tiles": 3}, ((640, 480), (480, 640), (640, 320))
        ),
        576: Model(
            "idefics3", {"size": 16 * PATCH, "tiles": 3}, ((640, 480), (480, 640), (640, 320))
        ),
    },
    "paligemma": {
        10: Model("paligemma", {"size": 3 * PATCH}),
        576: Model("paligemma", {"size": 24 * PATCH}),
    },
}
"""PaliGemma is the one that cannot share a prefix: its picture and question see each other both
ways. (BLIP-2 and InstructBLIP show their decoder a few features however large the picture is, so
that they have no column of 576.)"""
TITLES = {
    "llava": "LLaVA-1.5",
    "llava_next": "LLaVA-NeXT (4 shapes)",
    "qwen2_vl_1": "Qwen2-VL (1 size)",
    "qwen2_vl_4": "Qwen2-VL (4 sizes)",
    "qwen2_vl_20": "Qwen2-VL (20 sizes)",
    "smolvlm": "SmolVLM",
    "idefics3": "Idefics3 (3 shapes)",
    "paligemma": "PaliGemma (no prefix to share)",
}


def picture_tokens(loaded: Loaded, pictures: Sequence[Path]) -> list[int]:
    """The tokens of each picture in a prompt."""
    from PIL import Image

    mark = next(
        token
        for name in ("image_token_id", "image_token_index")
        if (token := getattr(loaded.model.config, name, None))
    )
    text = prompt_of(loaded)("?")
    encodings = (
        loaded.processor(
            images=[[Image.open(path).convert("RGB")]], text=[text], return_tensors="pt"
        )
        for path in pictures
    )
    return [int((inputs["input_ids"] == mark).sum()) for inputs in encodings]


def end_chances(loaded: Loaded, requests: Sequence[Any], tokens: int) -> Any:
    """The log odds of the end token at each of so many places of sampled answers that never end,
    shape (answers, places).
    """
    head, end = loaded.model.get_output_embeddings(), loaded.model.generation_config.eos_token_id
    log_odds: list[Any] = []

    def look(_module: Any, _inputs: Any, scores: Any) -> Any:
        scores = scores.clone()
        last = scores[:, -1].double()
        other_scores = last.clone()
        other_scores[:, end] = -math.inf
        log_odds.append((last[:, end] - other_scores.logsumexp(dim=-1)).cpu().numpy())
        scores[..., end] = -math.inf
        return scores

    handle = head.register_forward_hook(look)
    try:
        plain(loaded, requests, len(requests))
    finally:
        handle.remove()
    return np.stack(log_odds[:tokens], axis=1)


def mean_length(odds: Any, bias: float) -> float:
    """The expected number of tokens, the end included, where a bias is added to the end token's log
    odds.
    """
    going = 1 / (1 + np.exp(np.clip(odds + bias, -50, 50)))  # the chance not to end at each place
    return float(1 + going[:, :-1].cumprod(axis=1).sum(axis=1).mean())


def let_end(loaded: Loaded, odds: Any, share: float) -> None:
    """Give the end token's score a bias, in the model itself, by which sampled answers have this
    share of the longest length on average.
    """
    low, high = -60.0, 60.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (
            (middle, high) if mean_length(odds, middle) > share * odds.shape[1] else (low, middle)
        )
    head = loaded.model.get_output_embeddings()
    bias = torch.zeros_like(head.weight[:, 0]) if head.bias is None else head.bias.detach().clone()
    bias[loaded.model.generation_config.eos_token_id] = low
    head.bias = torch.nn.Parameter(bias, requires_grad=False)
