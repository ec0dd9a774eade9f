"""The shapes of LLaVA-1.5-7B and Qwen2-VL-7B, with random weights made on the device, so that no
file of their size is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import LlavaForConditionalGeneration, Qwen2VLForConditionalGeneration, set_seed

from hqm.respondents.hf_loading import Loaded, family_of
from tests.perf.matrix_models import DECODER, QWEN_TOWER, TOWER
from tests.tiny_models import llava_parts, qwen2_vl_parts

PIXELS = (4 * 28 * 28, 1280 * 28 * 28)
"""Qwen2-VL's pictures: 4 to 1,280 tokens, as its model card suggests; a camera's 640 x 480 has
391.
"""


@dataclass(frozen=True)
class Shape:
    """A model's class, what makes its config and processor, and the numbers in them."""

    title: str
    model: Any
    parts: Callable[..., tuple[Any, Any, Any]]
    options: Mapping[str, Any]
    weights: int = 0
    """The published number of weights; 0 where there is none."""
    settings: Mapping[str, Any] | None = None
    """What is set on the config itself."""


SHAPES: dict[str, dict[str, Shape]] = {
    "7b": {
        "llava": Shape(
            "LLaVA-1.5-7B",
            LlavaForConditionalGeneration,
            llava_parts,
            {
                "size": 336,
                "patch": 14,
                "hidden_size": 4096,
                "intermediate_size": 11008,
                "num_hidden_layers": 32,
                "num_attention_heads": 32,
                "num_key_value_heads": 32,
                "head_dim": 128,
                "vocab_size": 32064,
                "initializer_range": 0.02,
                "max_position_embeddings": 4096,
                "vision": {
                    "hidden_size": 1024,
                    "intermediate_size": 4096,
                    "num_hidden_layers": 24,
                    "num_attention_heads": 16,
                    "projection_dim": 768,
                    "initializer_range": 0.02,
                },
            },
            7_063_427_072,
            {"vision_feature_layer": -2},
        ),
        "qwen2_vl": Shape(
            "Qwen2-VL-7B",
            Qwen2VLForConditionalGeneration,
            qwen2_vl_parts,
            {
                "patch": 14,
                "pixels": PIXELS,
                "hidden_size": 3584,
                "intermediate_size": 18944,
                "num_hidden_layers": 28,
                "num_attention_heads": 28,
                "num_key_value_heads": 4,
                "head_dim": 128,
                "vocab_size": 152064,
                "initializer_range": 0.02,
                "max_position_embeddings": 32768,
                "vision": {
                    "depth": 32,
                    "embed_dim": 1280,
                    "num_heads": 16,
                    "mlp_ratio": 4,
                    "initializer_range": 0.02,
                },
            },
            8_291_375_616,
        ),
    },
    "7b-small": {
        "llava": Shape(
            "LLaVA-1.5, small",
            LlavaForConditionalGeneration,
            llava_parts,
            {"size": 336, "patch": 14, "vision": TOWER, **DECODER},
            settings={"vision_feature_layer": -2},
        ),
        "qwen2_vl": Shape(
            "Qwen2-VL, small",
            Qwen2VLForConditionalGeneration,
            qwen2_vl_parts,
            {"patch": 14, "pixels": PIXELS, "vision": QWEN_TOWER, **DECODER},
        ),
    },
    "7b-tiny": {
        "llava": Shape(
            "LLaVA-1.5, tiny",
            LlavaForConditionalGeneration,
            llava_parts,
            {"size": 42, "patch": 14, "vision": TOWER, **DECODER},
        ),
        "qwen2_vl": Shape(
            "Qwen2-VL, tiny",
            Qwen2VLForConditionalGeneration,
            qwen2_vl_parts,
            {"patch": 14, "pixels": (4 * 28 * 28, 16 * 28 * 28), "vision": QWEN_TOWER, **DECODER},
        ),
    },
}
"""The sizes are those of config.json of llava-hf/llava-1.5-7b-hf and Qwen/Qwen2-VL-7B-Instruct; the
numbers of weights are what is published of their files, taken from public code that counts them.
The small ones take the same way through the code on a CPU, the tiny ones with few picture tokens in
the tests."""


def build_model(
    shape: str, name: str, folder: Path, device: str, dtype: str, **changes: Any
) -> Loaded:
    """The model, its weights from a seed, made on the device; the folder gets what HQM reads of a
    respondent's identity.

    On `meta` it takes no memory. `changes` to the decoder's numbers make it smaller. Tokens that
    the small tokenizer does not know are never drawn, so that every answer is text.
    """
    set_seed(0)
    spec = SHAPES[shape][name]
    config, processor, tok = spec.parts(**{**spec.options, **changes})
    for key, value in (spec.settings or {}).items():
        setattr(config, key, value)
    config._attn_implementation = "sdpa"
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        with torch.device(device):
            model = spec.model(config).eval()
            head = model.get_output_embeddings()
            bias = torch.zeros(head.weight.shape[0])
            bias[len(tok) :] = -1e4
    finally:
        torch.set_default_dtype(before)
    head.bias = torch.nn.Parameter(bias, requires_grad=False)
    settings = model.generation_config
    settings.pad_token_id, settings.eos_token_id, settings.bos_token_id = (
        tok.pad_token_id,
        tok.eos_token_id,
        tok.bos_token_id,
    )
    config.architectures = [type(model).__name__]  # without it vLLM takes the inner model
    config.save_pretrained(folder)
    processor.save_pretrained(folder)
    tok.padding_side = "left"
    return Loaded(model, processor, family_of(config.model_type))


def weights_of(loaded: Loaded) -> int:
    """The number of its weights, without the bias that `made` adds."""
    return (
        sum(p.numel() for p in loaded.model.parameters())
        - loaded.model.get_output_embeddings().bias.numel()
    )


def place_bytes(loaded: Loaded) -> int:
    """The bytes of keys and values that one token takes."""
    text = loaded.model.config.get_text_config()
    width = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    return int(
        2 * text.num_hidden_layers * text.num_key_value_heads * width * loaded.model.dtype.itemsize
    )
