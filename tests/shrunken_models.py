"""Tiny models of any class that transformers loads as image-text-to-text: its own config, made small by
the names of its settings.

Where `tests.tiny_models` builds a few families by hand, in the shapes that tests ask for, this one
takes what every class says of itself; a row of `CLASSES` holds only what a class needs besides.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.tiny_models import save, template, tokenizer

MARKS = {
    "image_token": "<image>",
    "video_token": "<video>",
    "audio_token": "<audio>",
    "boi_token": "<boi>",
    "eoi_token": "<eoi>",
    "boa_token": "<boa>",
    "eoa_token": "<eoa>",
    "vision_bos_token": "<vision_start>",
    "vision_eos_token": "<vision_end>",
    "vision_start_token": "<vision_start>",
    "vision_end_token": "<vision_end>",
    "start_image_token": "<img>",
    "end_image_token": "</img>",
    "image_wrapper_token": "<wrapper>",
    "context_image_token": "<image>",
    "sep_token": "<sep>",
}
"""Special tokens that some processor reads from its tokenizer."""
SMALL: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "depth": 2,
    "num_heads": 4,
    "embed_dim": 32,
    "image_size": 32,
    "image_grid_pinpoints": [[32, 64], [64, 32]],
    "patch_size": 8,
    "max_position_embeddings": 2048,
    "initializer_range": 0.3,
    "num_experts": 4,
    "num_local_experts": 4,
    "n_routed_experts": 4,
    "moe_num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32,
    "out_hidden_size": 32,
    "first_k_dense_replace": 1,
    "n_group": 1,
    "topk_group": 1,
    "n_shared_experts": 1,
    "sliding_window": 24,
    "vision_feature_layer": -1,
    "deepstack_visual_indexes": [0],
    "num_position_embeddings": 64,
    "fullatt_block_indexes": [1],
    "text_hidden_size": 32,
    "projection_dim": 32,
    "d_model": 32,
    "layer_types": None,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 8,
    "v_head_dim": 8,
    "hidden_size_per_layer_input": 8,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
}
"""Settings of a config, by name, wherever in it they stand."""


@dataclass(frozen=True)
class Shrunken:
    """What a class needs besides its own config and processor made small."""

    config: Mapping[str, Any] = field(default_factory=dict)
    """Settings of its config; those of a part of it under the part's name."""
    images: Mapping[str, Any] = field(default_factory=dict)
    """Settings of its image processor."""
    processor: Mapping[str, Any] = field(default_factory=dict)
    mark: str = "<image>"
    """How the chat template writes the picture."""
    marks: Mapping[str, str] = field(default_factory=dict)
    """Special tokens besides `MARKS`, or in their place."""
    processor_classes: tuple[str, str] = ("", "")
    """Classes of the processor and of the image processor, where transformers' tables name none."""


def rope(*sections: int, **extra: Any) -> dict[str, Any]:
    """Rotary positions of three kinds."""
    return {
        "rope_type": "default",
        "rope_theta": 10000.0,
        "mrope_section": list(sections or (2, 1, 1)),
        **extra,
    }


LINEAR = ["linear_attention", "full_attention"]
SLICES = {
    "image_start_token": "<is>",
    "image_end_token": "<ie>",
    "slice_start_token": "<ss>",
    "slice_end_token": "<se>",
    "image_id_start_token": "<ds>",
    "image_id_end_token": "<de>",
}
"""The marks of MiniCPM's slices of a picture."""
CLASSES: dict[str, Shrunken] = {
    "aria": Shrunken(
        {
            "vision_config": {
                "model_type": "idefics3_vision",
                "image_size": 980,
                "patch_size": 70,
            },
            "projector_patch_to_query_dict": {"196": 16},
        },
        processor={"size_conversion": {490: 16, 980: 16}},
    ),
    "cohere_compass": Shrunken(
        {
            "text_config": {
                "rope_parameters": {"full_attention": rope(), "sliding_attention": rope()}
            }
        },
        mark="<|IMAGE_PAD|>",
        marks={"image_token": "<|IMAGE_PAD|>"},
    ),
    "cosmos3_edge": Shrunken(),
    "cosmos3_omni": Shrunken(processor_classes=("Qwen3VLProcessor", "Qwen2VLImageProcessorPil")),
    "deepseek_vl": Shrunken(),
    "deepseek_vl_hybrid": Shrunken(
        {
            "high_res_vision_config": {
                "image_size": 64,
                "output_channels": 32,
                "global_attn_indexes": [1],
                "window_size": 4,
            }
        },
        images={"high_res_size": {"height": 64, "width": 64}},
    ),
    "exaone4_5": Shrunken(),
    "glm46v": Shrunken({"text_config": {"rope_parameters": rope()}}),
    "glm4v": Shrunken({"text_config": {"rope_parameters": rope()}}),
    "glm4v_moe": Shrunken(
        {"text_config": {"rope_parameters": rope(partial_rotary_factor=1.0)}},
        processor_classes=("Glm4vProcessor", "Glm4vImageProcessorPil"),
    ),
    "glm5_next": Shrunken(
        {
            "text_config": {
                "layer_types": ["linear_attention", "indexed_attention"],
                "mlp_layer_types": ["dense", "sparse"],
                "indexer_types": ["full", "full"],
                "num_key_value_heads": 4,
                "head_dim": 0,
                "qk_rope_head_dim": 0,
                "index_topk": 64,
                "index_kpool": 4,
                "index_head_dim": 8,
                "index_n_heads": 2,
                "linear_head_dim": 8,
                "linear_num_heads": 4,
            }
        }
    ),
    "glm_ocr": Shrunken(
        {"text_config": {"rope_parameters": rope()}},
        processor_classes=("Glm46VProcessor", "Glm46VImageProcessorPil"),
    ),
    "got_ocr2": Shrunken(),
    "granite_docling": Shrunken(processor={"image_seq_len": 1}),
    "hyperclovax_vision_v2": Shrunken(),
    "hunyuan_vl": Shrunken(
        {
            "text_config": {
                "head_dim": 8,
                "rope_parameters": {
                    "rope_type": "default",
                    "rope_theta": 10000.0,
                    "mrope_section": [1, 1, 1, 1],
                },
            },
            "vision_config": {"text_hidden_size": 32},
        },
        mark="<is><image><ie>",
        marks={
            "image_start_token": "<is>",
            "image_end_token": "<ie>",
            "image_newline_token": "<nl>",
        },
    ),
    "idefics2": Shrunken(
        {"perceiver_config": {"resampler_n_latents": 16}},
        processor={"image_seq_len": 16},
        marks={"image_boundary_token": "<fake>"},
    ),
    "janus": Shrunken(
        {
            "vq_config": {
                "base_channels": 32,
                "latent_channels": 8,
                "num_embeddings": 16,
                "image_token_embed_dim": 8,
                "channel_multiplier": [1, 1],
            }
        }
    ),
    "lfm3_vl": Shrunken({"text_config": {"layer_types": ["conv", "full_attention"]}}),
    "lighton_ocr": Shrunken(marks={"image_break_token": "<ib>", "image_end_token": "<ie>"}),
    "llava_next_video": Shrunken(),
    "minicpmv4_6": Shrunken(
        {"text_config": {"layer_types": LINEAR}},
        images={"scale_resolution": 64},
        marks=SLICES,
    ),
    "minicpmv4_7": Shrunken(
        {"text_config": {"layer_types": LINEAR}},
        images={"scale_resolution": 64},
        marks=SLICES,
    ),
    "ovis2": Shrunken(
        {"visual_indicator_token_ids": [5, 6, 7, 8, 9]},
        marks={
            "image_token": "<IMG_ATOM>",
            "plain": "<image>",
            "a": "<IMG_START>",
            "b": "<IMG_GRID>",
            "c": "<IMG_COL>",
            "d": "<IMG_ROW>",
            "e": "<IMG_END>",
        },
    ),
    "paddleocr_vl": Shrunken({"text_config": {"rope_parameters": rope()}}),
    "qianfan_ocr": Shrunken(
        processor={"image_seq_length": 4},
        marks={
            "image_token": "<IMG_CONTEXT>",
            "context_image_token": "<IMG_CONTEXT>",
            "plain": "<image>",
        },
    ),
    "qwen3_5_moe": Shrunken({"text_config": {"layer_types": LINEAR}}),
    "qwen3_vl_moe": Shrunken(processor_classes=("Qwen3VLProcessor", "Qwen2VLImageProcessorPil")),
    "qwen4_exp": Shrunken(
        {
            "text_config": {
                "layer_types": LINEAR,
                "indexer_n_heads": 2,
                "indexer_kv_heads": 1,
                "indexer_head_dim": 8,
                "indexer_budget": 64,
                "indexer_compress_ratio": 4,
                "ngram_vocab_size_base": 100,
                "split_ngram_parts": 4,
                "hc_lowrank": 8,
            }
        }
    ),
    "t5gemma2": Shrunken(
        {"mm_tokens_per_image": 4, "encoder": {"mm_tokens_per_image": 4}},
        processor={"image_seq_length": 4},
        mark="<boi>",
    ),
    "video_llama_3": Shrunken(),
    "video_llava": Shrunken(processor={"vision_feature_select_strategy": "default"}),
}
"""What each class needs besides; those of `tests.tiny_models` are not repeated."""


def small_settings(config: type, tokens: int) -> dict[str, Any]:
    """The settings of a config, and of its parts, that make it tiny."""
    from transformers import CONFIG_MAPPING

    standard: dict[str, Any] = config().to_dict()
    parts = getattr(config, "sub_configs", None) or {}
    small: dict[str, Any] = {}
    for name, value in standard.items():
        if name in parts:
            kind = (value or {}).get("model_type")
            sub_config = CONFIG_MAPPING[kind] if kind in CONFIG_MAPPING else parts[name]
            small[name] = {"model_type": kind, **small_settings(sub_config, tokens)}
        elif name.startswith("vocab_size") and value is not None:
            small[name] = tokens
        elif name in SMALL and value is not None:
            small[name] = SMALL[name]
        elif name == "rope_parameters" and "mrope_section" in (value or {}):
            small[name] = {**value, "mrope_section": [2, 1, 1]}
    return small


def merged(settings: dict[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with others in their place, part by part."""
    for name, value in overrides.items():
        current = settings.get(name)
        settings[name] = merged(dict(current), value) if isinstance(current, dict) else value
    return settings


def small_images(kind: Any, overrides: Mapping[str, Any]) -> Any:
    """An image processor for pictures of few pixels."""
    processor = kind()
    settings: dict[str, Any] = {}
    size = dict(getattr(processor, "size", None) or {})
    if "height" in size:
        settings["size"] = {"height": 32, "width": 32}
    elif size.keys() == {"shortest_edge", "longest_edge"}:
        settings["size"] = {"shortest_edge": 16 * 16, "longest_edge": 64 * 64}
    elif size:
        settings["size"] = dict.fromkeys(size, 32)
    defaults = {
        "crop_size": {"height": 32, "width": 32},
        "patch_size": 8,
        "min_pixels": 16 * 16,
        "max_pixels": 64 * 64,
        "image_grid_pinpoints": [[32, 64], [64, 32]],
    }
    settings |= {
        n: value for n, value in defaults.items() if getattr(processor, n, None) is not None
    }
    return kind(**{**settings, **overrides})


def build_class(kind: str, folder: Path) -> Path:
    """Build a tiny model of the class that transformers loads for a `model_type`."""
    import torch
    import transformers
    from transformers import CONFIG_MAPPING
    from transformers.models.auto.image_processing_auto import IMAGE_PROCESSOR_MAPPING_NAMES
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES as MODELS,
    )
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES

    from hqm.respondents.hf_loading import pictures_only

    row = CLASSES.get(kind, Shrunken())
    transformers.set_seed(0)
    tok = tokenizer({**MARKS, **row.marks})
    settings = merged(small_settings(CONFIG_MAPPING[kind], len(tok)), row.config)
    ids = {name.removesuffix("_token"): getattr(tok, f"{name}_id") for name in [*MARKS, *row.marks]}
    ids |= {name: getattr(tok, f"{name}_token_id") for name in ("pad", "bos", "eos")}
    _put_tokens(settings, CONFIG_MAPPING[kind]().to_dict(), ids)
    config = CONFIG_MAPPING[kind](**settings)
    processor_name = row.processor_classes[0] or PROCESSOR_MAPPING_NAMES[kind]
    pictures = row.processor_classes[1] or IMAGE_PROCESSOR_MAPPING_NAMES[kind]["pil"]
    cls = pictures_only(getattr(transformers, processor_name))
    parts = {
        "image_processor": small_images(getattr(transformers, pictures), row.images),
        "tokenizer": tok,
    }
    offered = {
        "chat_template": template(row.mark, "<s>{question}<sep>"),
        "patch_size": 8,
        "num_image_tokens": 16,
        "image_seq_length": 16,
        "image_seq_len": 16,
        "vision_feature_select_strategy": "full",
    }
    parameters = inspect.signature(getattr(transformers, processor_name).__init__).parameters
    processor = cls.from_args_and_dict(
        [parts.get(attribute) for attribute in cls.get_attributes()],
        {name: value for name, value in offered.items() if name in parameters}
        | dict(row.processor),
    )
    if processor.chat_template is None:
        processor.chat_template = offered["chat_template"]
    model = getattr(transformers, MODELS[kind])(config)
    for weights in model.parameters():
        if weights.dim() > 1 and not weights.any():  # through nought no picture is seen
            torch.nn.init.normal_(weights)
    return save(folder, model, processor, tok)


def _put_tokens(
    settings: dict[str, Any], standard: Mapping[str, Any], ids: Mapping[str, int]
) -> None:
    """Put the tokenizer's numbers where a config, or a part of it, names a special token."""
    for name, value in standard.items():
        if not isinstance(name, str):
            continue
        stem = name.removesuffix("_id").removesuffix("_index").removesuffix("_token")
        if isinstance(value, dict) and isinstance(settings.get(name), dict):
            _put_tokens(settings[name], value, ids)
        elif stem != name and stem in ids and not isinstance(value, (dict, list)):
            settings.setdefault(name, ids[stem])
