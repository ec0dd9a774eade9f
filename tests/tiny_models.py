"""Tiny randomly initialised models of real classes, with real processors, built without a network
and saved to a folder.

Their weights are drawn with a large spread, so that different questions get different answers.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

WORDS = (
    "yes no Yes No there is a the dog cat red blue circle in image Is What color many How A B C"
    " one two".split()
)
LLAVA_TEMPLATE = (
    "{% for m in messages %}USER: {% for c in m['content'] %}{% if c['type'] == 'image'"
    " %}<image>\n{% else %}{{ c['text'] }}{% endif %}{% endfor %} ASSISTANT:{% endfor %}"
)
"""LLaVA-1.5's form, written as a template."""


def template(image: str, turn: str = "{question}") -> str:
    """A chat template of the common kind: the picture's marks, the question, the call for an
    answer.
    """
    before, after = turn.split("{question}")
    return (
        "{% for m in messages %}"
        + before
        + "{% for c in m['content'] %}{% if c['type'] == 'image' %}"
        + image
        + "{% else %}{{ c['text'] }}{% endif %}{% endfor %}"
        + after
        + "{% endfor %}"
    )


def tokenizer(
    special: Mapping[str, str] | None = None, extra: tuple[str, ...] = (), *, begins: bool = False
) -> Any:
    """A byte-level BPE tokenizer that knows a few words and a family's special tokens.

    `begins` puts the first token before every text, as Llama's tokenizer does.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    special = dict(special or {})
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    marks = ["<pad>", "<s>", "</s>", "<unk>", *special.values(), *extra]
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=marks,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(
        [" ".join(WORDS), *(f" {word}" for word in WORDS), *WORDS], trainer
    )
    if begins:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A",
            pair="<s> $A $B",
            special_tokens=[("<s>", tokenizer.token_to_id("<s>"))],
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        padding_side="left",
        extra_special_tokens=special,
        model_max_length=4096,
    )


def text_settings(tok: Any, **overrides: Any) -> dict[str, Any]:
    """What every tiny decoder has in common."""
    return {
        "vocab_size": len(tok),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 2048,
        "pad_token_id": tok.pad_token_id,
        "bos_token_id": tok.bos_token_id,
        "eos_token_id": tok.eos_token_id,
        "initializer_range": 0.4,
        **overrides,
    }


def vision_settings(**overrides: Any) -> dict[str, Any]:
    """What every tiny vision tower has in common."""
    return {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "image_size": 32,
        "patch_size": 8,
        "initializer_range": 0.3,
        **overrides,
    }


def save(folder: Path, model: Any, processor: Any, tok: Any) -> Path:
    from transformers import GenerationConfig

    model.generation_config = GenerationConfig(
        pad_token_id=tok.pad_token_id,
        bos_token_id=tok.bos_token_id,
        eos_token_id=tok.eos_token_id,
        decoder_start_token_id=getattr(
            model.config.get_text_config(), "decoder_start_token_id", None
        ),
    )
    model.eval().save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def _without_video(cls: type) -> Any:
    """A processor class that takes no video processor: those need torchvision, pictures do not."""
    from functools import partial

    from hqm.respondents.hf_loading import pictures_only

    return (
        partial(processor_class, video_processor=None)
        if (processor_class := pictures_only(cls)) is not cls
        else cls
    )


def _rope(size: int, **overrides: Any) -> dict[str, Any]:
    """Rotary settings with the three sections of Qwen's positions."""
    half = size // 2
    return {
        "rope_type": "default",
        "rope_theta": 10000.0,
        "mrope_section": [half - 2, 1, 1],
        **overrides,
    }


def llava_parts(
    *,
    chat: str | None = LLAVA_TEMPLATE,
    size: int = 32,
    patch: int = 8,
    vision: Mapping[str, Any] | None = None,
    **text: Any,
) -> tuple[Any, Any, Any]:
    """The config, processor and tokenizer of a LLaVA-1.5: a CLIP tower before a Llama decoder."""
    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaProcessor
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    tok = tokenizer({"image_token": "<image>"}, begins=True)
    pixels = {"height": size, "width": size}
    processor = LlavaProcessor(
        CLIPImageProcessorPil(size=pixels, crop_size=pixels),
        tok,
        patch_size=patch,
        num_additional_image_tokens=1,
        vision_feature_select_strategy="default",
        chat_template=chat,
    )
    tower = vision_settings(image_size=size, patch_size=patch, projection_dim=32)
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(**{**tower, **(vision or {})}),
        image_token_index=tok.image_token_id,
        text_config=LlamaConfig(**text_settings(tok, **text)),
        vision_feature_layer=-1,
        vision_feature_select_strategy="default",
        image_seq_length=(size // patch) ** 2,
    )
    return config, processor, tok


def llava(folder: Path, **options: Any) -> Path:
    """LLaVA-1.5: a CLIP tower before a Llama decoder."""
    from transformers import LlavaForConditionalGeneration

    config, processor, tok = llava_parts(**options)
    return save(folder, LlavaForConditionalGeneration(config), processor, tok)


def llava_next(
    folder: Path,
    *,
    size: int = 32,
    patch: int = 8,
    tiles: Sequence[tuple[int, int]] = ((1, 2), (2, 1), (2, 2)),
    vision: Mapping[str, Any] | None = None,
    **text: Any,
) -> Path:
    """LLaVA-NeXT: tiles of the picture, as many rows and columns as its shape asks for."""
    from transformers import (
        CLIPVisionConfig,
        LlamaConfig,
        LlavaNextConfig,
        LlavaNextForConditionalGeneration,
        LlavaNextProcessor,
    )
    from transformers.models.llava_next.image_processing_pil_llava_next import (
        LlavaNextImageProcessorPil,
    )

    tok = tokenizer({"image_token": "<image>"}, begins=True)
    grid = [[size * rows, size * columns] for rows, columns in tiles]
    pixels = {"height": size, "width": size}
    processor = LlavaNextProcessor(
        LlavaNextImageProcessorPil(
            size={"shortest_edge": size}, crop_size=pixels, image_grid_pinpoints=grid
        ),
        tok,
        patch_size=patch,
        num_additional_image_tokens=1,
        vision_feature_select_strategy="default",
        chat_template=LLAVA_TEMPLATE,
    )
    tower = vision_settings(image_size=size, patch_size=patch, projection_dim=32)
    config = LlavaNextConfig(
        vision_config=CLIPVisionConfig(**{**tower, **(vision or {})}),
        text_config=LlamaConfig(**text_settings(tok, **text)),
        image_token_index=tok.image_token_id,
        vision_feature_layer=-1,
        vision_feature_select_strategy="default",
        image_seq_length=(size // patch) ** 2,
        image_grid_pinpoints=grid,
    )
    return save(folder, LlavaNextForConditionalGeneration(config), processor, tok)


def llava_onevision(folder: Path) -> Path:
    """LLaVA-OneVision: a SigLIP tower, tiles, a Qwen2 decoder."""
    from transformers import (
        LlavaOnevisionConfig,
        LlavaOnevisionForConditionalGeneration,
        LlavaOnevisionProcessor,
        Qwen2Config,
        SiglipVisionConfig,
    )
    from transformers.models.llava_onevision.image_processing_pil_llava_onevision import (
        LlavaOnevisionImageProcessorPil,
    )

    tok = tokenizer(
        {"image_token": "<image>", "video_token": "<video>"}, ("<|im_start|>", "<|im_end|>")
    )
    grid = [[32, 64], [64, 32], [64, 64]]
    processor = _without_video(LlavaOnevisionProcessor)(
        LlavaOnevisionImageProcessorPil(
            size={"height": 32, "width": 32}, image_grid_pinpoints=grid
        ),
        tok,
        num_image_tokens=16,
        vision_feature_select_strategy="full",
        chat_template=template(
            "<image>\n", "<|im_start|>user\n{question}<|im_end|><|im_start|>assistant\n"
        ),
    )
    config = LlavaOnevisionConfig(
        vision_config=SiglipVisionConfig(**vision_settings(vision_use_head=False)),
        text_config=Qwen2Config(**text_settings(tok)),
        image_token_index=tok.image_token_id,
        video_token_index=tok.video_token_id,
        image_grid_pinpoints=grid,
        vision_feature_layer=-1,
    )
    return save(folder, LlavaOnevisionForConditionalGeneration(config), processor, tok)


def _qwen_parts(
    processor_class: type, patch: int = 8, pixels: tuple[int, int] = (16 * 16, 64 * 64)
) -> tuple[Any, Any, dict[str, Any]]:
    """The processor and tokenizer of a Qwen-VL, and its config's token ids."""
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    tok = tokenizer(
        {
            "image_token": "<|image_pad|>",
            "video_token": "<|video_pad|>",
            "vision_bos_token": "<|vision_start|>",
            "vision_eos_token": "<|vision_end|>",
        },
        ("<|im_start|>", "<|im_end|>"),
    )
    chat = template(
        "<|vision_start|><|image_pad|><|vision_end|>",
        "<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n",
    )
    images = Qwen2VLImageProcessorPil(
        patch_size=patch, merge_size=2, size={"shortest_edge": pixels[0], "longest_edge": pixels[1]}
    )
    processor = _without_video(processor_class)(images, tok, chat_template=chat)
    ids = {
        "image_token_id": tok.image_token_id,
        "video_token_id": tok.video_token_id,
        "vision_start_token_id": tok.convert_tokens_to_ids("<|vision_start|>"),
        "vision_end_token_id": tok.convert_tokens_to_ids("<|vision_end|>"),
    }
    return processor, tok, ids


def _qwen(
    folder: Path, build_model: Callable[[Any, dict[str, Any]], Any], processor_class: type
) -> Path:
    processor, tok, ids = _qwen_parts(processor_class)
    return save(folder, build_model(tok, ids), processor, tok)


def qwen2_vl_parts(
    *,
    patch: int = 8,
    pixels: tuple[int, int] = (16 * 16, 64 * 64),
    vision: Mapping[str, Any] | None = None,
    **text: Any,
) -> tuple[Any, Any, Any]:
    """The config, processor and tokenizer of a Qwen2-VL."""
    from transformers import Qwen2VLConfig, Qwen2VLProcessor

    processor, tok, ids = _qwen_parts(Qwen2VLProcessor, patch, pixels)
    tower = {
        "depth": 2,
        "embed_dim": 32,
        "hidden_size": text.get("hidden_size", 32),
        "num_heads": 4,
        "patch_size": patch,
        "mlp_ratio": 2,
        "initializer_range": 0.3,
        **(vision or {}),
    }
    rope = {"rope_parameters": _rope(text.get("head_dim", 8))}
    decoder = text_settings(tok, **{**rope, **_plain_ids(tok), **text})
    return Qwen2VLConfig(vision_config=tower, text_config=decoder, **ids), processor, tok


def qwen2_vl(folder: Path, **options: Any) -> Path:
    """Qwen2-VL: pictures of any size between two numbers of pixels, positions of three kinds."""
    from transformers import Qwen2VLForConditionalGeneration

    config, processor, tok = qwen2_vl_parts(**options)
    return save(folder, Qwen2VLForConditionalGeneration(config), processor, tok)


def qwen2_5_vl(folder: Path) -> Path:
    """Qwen2.5-VL: as Qwen2-VL, with windows in the tower."""
    from transformers import (
        Qwen2_5_VLConfig,
        Qwen2_5_VLForConditionalGeneration,
        Qwen2_5_VLProcessor,
    )

    def qwen_model(tok: Any, ids: dict[str, Any]) -> Any:
        vision = {
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 4,
            "patch_size": 8,
            "window_size": 32,
            "out_hidden_size": 32,
            "fullatt_block_indexes": [1],
            "initializer_range": 0.3,
        }
        text = text_settings(tok, rope_parameters=_rope(8), **_plain_ids(tok))
        return Qwen2_5_VLForConditionalGeneration(
            Qwen2_5_VLConfig(vision_config=vision, text_config=text, **ids)
        )

    return _qwen(folder, qwen_model, Qwen2_5_VLProcessor)


def qwen3_vl(folder: Path) -> Path:
    """Qwen3-VL: features of several tower layers enter several decoder layers."""
    from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration, Qwen3VLProcessor

    def qwen_model(tok: Any, ids: dict[str, Any]) -> Any:
        vision = {
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 4,
            "patch_size": 8,
            "out_hidden_size": 32,
            "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0],
            "initializer_range": 0.3,
        }
        text = text_settings(
            tok, rope_parameters=_rope(8, mrope_interleaved=True), **_plain_ids(tok)
        )
        return Qwen3VLForConditionalGeneration(
            Qwen3VLConfig(vision_config=vision, text_config=text, **ids)
        )

    return _qwen(folder, qwen_model, Qwen3VLProcessor)


def qwen3_5(folder: Path) -> Path:
    """Qwen3.5: layers of linear attention between layers that look at every token."""
    from transformers import Qwen3_5Config, Qwen3_5ForConditionalGeneration, Qwen3VLProcessor

    def qwen_model(tok: Any, ids: dict[str, Any]) -> Any:
        vision = {
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 4,
            "patch_size": 8,
            "out_hidden_size": 32,
            "num_position_embeddings": 64,
            "initializer_range": 0.3,
        }
        rope = _rope(8, mrope_interleaved=True)
        text = text_settings(tok, rope_parameters=rope, **_plain_ids(tok), **LINEAR)
        return Qwen3_5ForConditionalGeneration(
            Qwen3_5Config(vision_config=vision, text_config=text, **ids)
        )

    return _qwen(folder, qwen_model, Qwen3VLProcessor)


LINEAR = {
    "layer_types": ["linear_attention", "full_attention"],
    "linear_num_value_heads": 4,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
}
EXPERTS = {
    "num_experts": 2,
    "num_experts_per_tok": 1,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32,
}
_MAMBA = {
    "mamba_n_heads": 8,
    "mamba_d_head": 8,
    "mamba_d_state": 8,
    "mamba_n_groups": 1,
    "mamba_chunk_size": 8,
}
DECODERS: dict[str, dict[str, Any]] = {
    "mistral": {"sliding_window": 16},
    "qwen2": {"use_sliding_window": True, "sliding_window": 16, "max_window_layers": 1},
    "qwen3": {},
    "gemma2": {"sliding_window": 16, "query_pre_attn_scalar": 8},
    "cohere2": {"sliding_window": 16},
    "phi3": {"sliding_window": 16},
    "exaone4": {"sliding_window": 16},
    "ministral3": {},
    "olmo2": {},
    "glm4": {},
    "gpt_neox": {},
    "smollm3": {},
    "hunyuan_v1_dense": {},
    "apertus": {},
    "mixtral": {"num_local_experts": 2},
    "qwen3_next": {**LINEAR, **EXPERTS, "decoder_sparse_step": 1},
    "qwen3_5_text": LINEAR,
    "olmo_hybrid": {"layer_types": ["linear_attention", "full_attention"]},
    "lfm2": {"layer_types": ["conv", "full_attention"], "block_auto_adjust_ff_dim": False},
    "falcon_h1": {**_MAMBA, "mamba_d_ssm": 32, "mamba_n_heads": 4},
    "bamba": {**_MAMBA, "attn_layer_indices": [1]},
    "granitemoehybrid": {
        **_MAMBA,
        "layer_types": ["mamba", "attention"],
        "num_local_experts": 0,
        "shared_intermediate_size": 32,
    },
    "jamba": {
        "attn_layer_offset": 1,
        "attn_layer_period": 2,
        "expert_layer_period": 2,
        "expert_layer_offset": 1,
        "num_experts": 2,
        "mamba_d_state": 4,
        "use_mamba_kernels": False,
    },
}
"""Decoders behind LLaVA's tower, by their `model_type`: with windows, chunks, experts, linear
attention, state spaces.
"""


def llava_before(decoder: str, folder: Path) -> Path:
    """LLaVA's tower before another decoder."""
    from transformers import AutoConfig, LlavaForConditionalGeneration

    config, processor, tok = llava_parts()
    config.text_config = AutoConfig.for_model(decoder, **text_settings(tok, **DECODERS[decoder]))
    return save(folder, LlavaForConditionalGeneration(config), processor, tok)


def vipllava(folder: Path) -> Path:
    """VipLLaVA: the features of several layers of the tower."""
    from transformers import VipLlavaConfig, VipLlavaForConditionalGeneration

    config, processor, tok = llava_parts()
    vip_config = VipLlavaConfig(
        vision_config=config.vision_config,
        text_config=config.text_config,
        image_token_index=tok.image_token_id,
        vision_feature_layers=[-2, -1],
        image_seq_length=17,
    )
    return save(folder, VipLlavaForConditionalGeneration(vip_config), processor, tok)


def mllama(folder: Path) -> Path:
    """Llama 3.2 Vision: the picture enters by cross-attention."""
    import torch
    from transformers import MllamaConfig, MllamaForConditionalGeneration, MllamaProcessor
    from transformers.models.mllama.image_processing_pil_mllama import MllamaImageProcessorPil

    tok = tokenizer({"image_token": "<|image|>"}, begins=True)
    images = MllamaImageProcessorPil(size={"height": 32, "width": 32}, max_image_tiles=2)
    processor = MllamaProcessor(images, tok, chat_template=template("<|image|>"))
    vision = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_global_layers": 1,
        "attention_heads": 4,
        "intermediate_size": 64,
        "vision_output_dim": 64,
        "image_size": 32,
        "patch_size": 8,
        "max_num_tiles": 2,
        "intermediate_layers_indices": [0],
        "supported_aspect_ratios": [[1, 1], [1, 2], [2, 1]],
        "initializer_range": 0.3,
    }
    rope = {"rope_type": "default", "rope_theta": 10000.0}
    text = text_settings(tok, cross_attention_layers=[1], rope_parameters=rope)
    config = MllamaConfig(
        vision_config=vision, text_config=text, image_token_index=tok.image_token_id
    )
    model = MllamaForConditionalGeneration(config)
    for name, weight in model.named_parameters():
        if "gate" in name and weight.numel() == 1:
            torch.nn.init.ones_(weight)  # they begin closed
    return save(folder, model, processor, tok)


def aya_vision(folder: Path) -> Path:
    """Aya Vision: tiles, and a Cohere2 decoder whose layers look back a window only."""
    from transformers import (
        AyaVisionConfig,
        AyaVisionForConditionalGeneration,
        AyaVisionProcessor,
        Cohere2Config,
        SiglipVisionConfig,
    )
    from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import GotOcr2ImageProcessorPil

    marks = ("<|START_OF_IMG|>", "<|END_OF_IMG|>", "<|IMG_PATCH|>", "TILE", "TILE_GLOBAL")
    tok = tokenizer({"image_token": "<image>"}, marks)
    processor = AyaVisionProcessor(
        GotOcr2ImageProcessorPil(size={"height": 32, "width": 32}, max_patches=4),
        tok,
        patch_size=8,
        img_size=32,
        downsample_factor=2,
        chat_template=template("<image>"),
    )
    layers = ["sliding_attention", "full_attention"]
    config = AyaVisionConfig(
        vision_config=SiglipVisionConfig(**vision_settings(vision_use_head=False)),
        text_config=Cohere2Config(**text_settings(tok, sliding_window=16, layer_types=layers)),
        downsample_factor=2,
        image_token_index=tok.convert_tokens_to_ids("<|IMG_PATCH|>"),
        vision_feature_layer=-1,
        adapter_layer_norm_eps=1e-6,
    )
    return save(folder, AyaVisionForConditionalGeneration(config), processor, tok)


def gemma4(folder: Path) -> Path:
    """Gemma 4: its processor takes its parts, one for videos among them, by keyword."""
    from transformers import (
        Gemma4AudioFeatureExtractor,
        Gemma4Config,
        Gemma4ForConditionalGeneration,
        Gemma4Processor,
        Gemma4TextConfig,
        Gemma4VisionConfig,
    )
    from transformers.models.gemma4.image_processing_pil_gemma4 import Gemma4ImageProcessorPil

    from hqm.respondents.hf_loading import pictures_only

    special = {
        "image_token": "<image_soft_token>",
        "boi_token": "<start_of_image>",
        "eoi_token": "<end_of_image>",
        "audio_token": "<audio_soft_token>",
        "boa_token": "<start_of_audio>",
        "eoa_token": "<end_of_audio>",
    }
    tok = tokenizer(special, ("<start_of_turn>", "<end_of_turn>"), begins=True)
    images = Gemma4ImageProcessorPil(patch_size=8, max_soft_tokens=70, pooling_kernel_size=2)
    turn = "<start_of_turn>user\n{question}<end_of_turn>\n<start_of_turn>model\n"
    processor = pictures_only(Gemma4Processor).from_args_and_dict(
        [Gemma4AudioFeatureExtractor(), images, tok],
        {"chat_template": "<s>" + template("<image_soft_token>", turn), "image_seq_length": 70},
    )
    text = text_settings(
        tok,
        sliding_window=24,
        layer_types=["sliding_attention", "full_attention"],
        hidden_size_per_layer_input=0,
        global_head_dim=8,
        num_kv_shared_layers=0,
        vocab_size_per_layer_input=len(tok),
    )
    vision = vision_settings(
        num_key_value_heads=4, head_dim=8, pooling_kernel_size=2, position_embedding_size=64
    )
    config = Gemma4Config(
        text_config=Gemma4TextConfig(**text),
        vision_config=Gemma4VisionConfig(**vision),
        audio_config=None,
        image_token_id=tok.image_token_id,
        boi_token_id=tok.boi_token_id,
        eoi_token_id=tok.eoi_token_id,
    )
    return save(folder, Gemma4ForConditionalGeneration(config), processor, tok)


def _plain_ids(tok: Any) -> dict[str, Any]:
    return {
        "bos_token_id": tok.bos_token_id,
        "eos_token_id": tok.eos_token_id,
        "pad_token_id": tok.pad_token_id,
    }


QUESTION_FIRST = (
    "{% for m in messages %}{% for c in m['content'] %}{% if c['type'] == 'text' %}{{ c['text'] }}"
    " {% endif %}{% endfor %}<IMG_CONTEXT> answer:{% endfor %}"
)
"""InternVL's picture behind the question."""


def internvl(folder: Path, *, chat: str | None = None) -> Path:
    """InternVL (HF): a picture's patches, shuffled four into one, before a Qwen2 decoder."""
    from transformers import (
        InternVLConfig,
        InternVLForConditionalGeneration,
        InternVLProcessor,
        Qwen2Config,
    )
    from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import GotOcr2ImageProcessorPil

    tok = tokenizer(
        {
            "start_image_token": "<img>",
            "end_image_token": "</img>",
            "context_image_token": "<IMG_CONTEXT>",
            "video_token": "<video>",
        },
        ("<|im_start|>", "<|im_end|>"),
    )
    processor = _without_video(InternVLProcessor)(
        GotOcr2ImageProcessorPil(size={"height": 32, "width": 32}),
        tok,
        image_seq_length=4,
        chat_template=chat
        or template(
            "<IMG_CONTEXT>\n", "<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
        ),
    )
    config = InternVLConfig(
        vision_config=vision_settings(image_size=[32, 32], patch_size=[8, 8]),
        text_config=Qwen2Config(**text_settings(tok)),
        image_token_id=tok.context_image_token_id,
        image_seq_length=4,
    )
    return save(folder, InternVLForConditionalGeneration(config), processor, tok)


def _idefics(
    folder: Path,
    name: str,
    *,
    size: int = 32,
    patch: int = 8,
    tiles: int = 2,
    vision: Mapping[str, Any] | None = None,
    **text: Any,
) -> Path:
    import transformers
    from transformers import LlamaConfig
    from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
    from transformers.models.smolvlm.image_processing_pil_smolvlm import SmolVLMImageProcessorPil

    rows = tuple(f"<row_{r}_col_{c}>" for r in range(1, 5) for c in range(1, 5))
    tok = tokenizer(
        {
            "image_token": "<image>",
            "fake_image_token": "<fake_token_around_image>",
            "global_image_token": "<global-img>",
            "end_of_utterance_token": "<end_of_utterance>",
            "video_token": "<video>",
        },
        ("<|im_start|>", *rows),
    )
    chat = template("<image>", "<|im_start|>User:{question}<end_of_utterance>\nAssistant:")
    images = {"SmolVLM": SmolVLMImageProcessorPil, "Idefics3": Idefics3ImageProcessorPil}[name]
    processor = _without_video(getattr(transformers, f"{name}Processor"))(
        images(
            size={"longest_edge": size * tiles},
            max_image_size={"longest_edge": size},
            resample=3,
            do_image_splitting=tiles > 1,
        ),
        tok,
        image_seq_len=(size // patch // 2) ** 2,
        chat_template=chat,
    )
    tower = vision_settings(image_size=size, patch_size=patch)
    config = getattr(transformers, f"{name}Config")(
        vision_config={**tower, **(vision or {})},
        text_config=LlamaConfig(**text_settings(tok, **text)),
        scale_factor=2,
        image_token_id=tok.image_token_id,
        pad_token_id=tok.pad_token_id,
    )
    return save(
        folder, getattr(transformers, f"{name}ForConditionalGeneration")(config), processor, tok
    )


def idefics3(folder: Path, **options: Any) -> Path:
    """Idefics3: the picture in tiles with row and column marks, then as a whole."""
    return _idefics(folder, "Idefics3", **options)


def smolvlm(folder: Path, **options: Any) -> Path:
    """SmolVLM: Idefics3's way with small decoders."""
    return _idefics(folder, "SmolVLM", **options)


def gemma3(folder: Path) -> Path:
    """Gemma 3: picture tokens see each other both ways; some layers look back a window only."""
    import torch
    from transformers import (
        Gemma3Config,
        Gemma3ForConditionalGeneration,
        Gemma3Processor,
        Gemma3TextConfig,
    )
    from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil

    tok = tokenizer(
        {
            "image_token": "<image_soft_token>",
            "boi_token": "<start_of_image>",
            "eoi_token": "<end_of_image>",
        },
        ("<start_of_turn>", "<end_of_turn>"),
        begins=True,
    )
    chat = "<s>" + template(
        "<start_of_image>", "<start_of_turn>user\n{question}<end_of_turn>\n<start_of_turn>model\n"
    )
    processor = Gemma3Processor(
        Gemma3ImageProcessorPil(size={"height": 32, "width": 32}),
        tok,
        chat_template=chat,
        image_seq_length=4,
    )
    text = Gemma3TextConfig(
        **text_settings(
            tok,
            query_pre_attn_scalar=8,
            sliding_window=24,
            layer_types=["sliding_attention", "full_attention"],
        )
    )
    config = Gemma3Config(
        tie_word_embeddings=False,
        vision_config=vision_settings(),
        text_config=text,
        mm_tokens_per_image=4,
        image_token_index=tok.image_token_id,
        boi_token_index=tok.boi_token_id,
        eoi_token_index=tok.eoi_token_id,
    )
    model = Gemma3ForConditionalGeneration(config)
    torch.nn.init.normal_(model.model.multi_modal_projector.mm_input_projection_weight)
    return save(folder, model, processor, tok)


def paligemma(
    folder: Path,
    *,
    size: int = 32,
    patch: int = 8,
    vision: Mapping[str, Any] | None = None,
    **text: Any,
) -> Path:
    """PaliGemma: the picture's tokens and the question see each other both ways."""
    from transformers import (
        GemmaConfig,
        PaliGemmaConfig,
        PaliGemmaForConditionalGeneration,
        PaliGemmaProcessor,
    )
    from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil

    tok = tokenizer({"image_token": "<image>"})
    count = (size // patch) ** 2
    images = SiglipImageProcessorPil(size={"height": size, "width": size}, image_seq_length=count)
    images.image_seq_length = count
    processor = PaliGemmaProcessor(images, tok)
    decoder = text_settings(tok, **text)
    width = decoder["hidden_size"]
    tower = vision_settings(
        image_size=size, patch_size=patch, projection_dim=width, vision_use_head=False
    )
    config = PaliGemmaConfig(
        vision_config={**tower, **(vision or {}), "model_type": "siglip_vision_model"},
        text_config=GemmaConfig(**decoder),
        projection_dim=width,
        hidden_size=width,
        vocab_size=len(tok),
        image_token_index=tok.image_token_id,
    )
    return save(folder, PaliGemmaForConditionalGeneration(config), processor, tok)


def pixtral(folder: Path) -> Path:
    """Pixtral: LLaVA's class round Pixtral's tower, pictures in their own shape with marks at the
    ends of rows.
    """
    from transformers import (
        LlavaConfig,
        LlavaForConditionalGeneration,
        MistralConfig,
        PixtralVisionConfig,
    )
    from transformers.models.pixtral.image_processing_pil_pixtral import PixtralImageProcessorPil
    from transformers.models.pixtral.processing_pixtral import PixtralProcessor

    tok = tokenizer({"image_token": "[IMG]"}, ("[IMG_BREAK]", "[IMG_END]", "[INST]", "[/INST]"))
    images = PixtralImageProcessorPil(
        size={"longest_edge": 32}, patch_size={"height": 8, "width": 8}
    )
    processor = PixtralProcessor(
        images, tok, patch_size=8, chat_template=template("[IMG]", "<s>[INST]{question}[/INST]")
    )
    vision = vision_settings()
    config = LlavaConfig(
        vision_config=PixtralVisionConfig(**vision),
        text_config=MistralConfig(**text_settings(tok, sliding_window=None)),
        image_token_index=tok.image_token_id,
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
    )
    return save(folder, LlavaForConditionalGeneration(config), processor, tok)


def _blip_parts(tok: Any) -> dict[str, Any]:
    former = {
        "vocab_size": len(tok),
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "encoder_hidden_size": 32,
        "initializer_range": 0.3,
        "max_position_embeddings": 128,
    }
    return {
        "vision_config": vision_settings(),
        "qformer_config": former,
        "num_query_tokens": 4,
        "image_token_index": tok.convert_tokens_to_ids("<image>"),
    }


def _opt(tok: Any) -> Any:
    from transformers import OPTConfig

    return OPTConfig(
        vocab_size=len(tok),
        hidden_size=32,
        ffn_dim=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        init_std=0.4,
        word_embed_proj_dim=32,
        max_position_embeddings=256,
        **_plain_ids(tok),
    )


def _t5(tok: Any) -> Any:
    from transformers import T5Config

    return T5Config(
        vocab_size=len(tok),
        d_model=32,
        d_ff=64,
        d_kv=8,
        num_layers=2,
        num_heads=4,
        initializer_factor=2.0,
        pad_token_id=tok.pad_token_id,
        eos_token_id=tok.eos_token_id,
        decoder_start_token_id=tok.pad_token_id,
    )


def _blip_images() -> Any:
    from transformers.models.blip.image_processing_pil_blip import BlipImageProcessorPil

    return BlipImageProcessorPil(size={"height": 32, "width": 32})


def blip2(folder: Path, decoder: Callable[[Any], Any] = _opt) -> Path:
    """BLIP-2: a Q-Former reads the tower; its features stand before the question."""
    import torch
    from transformers import Blip2Config, Blip2ForConditionalGeneration, Blip2Processor

    tok = tokenizer(begins=True)
    processor = Blip2Processor(_blip_images(), tok, num_query_tokens=4)  # adds its picture token
    model = Blip2ForConditionalGeneration(Blip2Config(text_config=decoder(tok), **_blip_parts(tok)))
    torch.nn.init.normal_(model.query_tokens)
    return save(folder, model, processor, tok)


def blip2_t5(folder: Path) -> Path:
    """BLIP-2 before an encoder-decoder."""
    return blip2(folder, _t5)


def instructblip(folder: Path, decoder: Callable[[Any], Any] | None = None) -> Path:
    """InstructBLIP: its Q-Former reads the question too."""
    import torch
    from transformers import (
        InstructBlipConfig,
        InstructBlipForConditionalGeneration,
        InstructBlipProcessor,
        LlamaConfig,
    )

    tok = tokenizer(begins=True)
    processor = InstructBlipProcessor(_blip_images(), tok, tokenizer(), num_query_tokens=4)
    text = decoder(tok) if decoder else LlamaConfig(**text_settings(tok))
    model = InstructBlipForConditionalGeneration(
        InstructBlipConfig(text_config=text, **_blip_parts(tok))
    )
    torch.nn.init.normal_(model.query_tokens)
    return save(folder, model, processor, tok)


def instructblip_t5(folder: Path) -> Path:
    """InstructBLIP before an encoder-decoder."""
    return instructblip(folder, _t5)


def internvl_question_first(folder: Path) -> Path:
    """InternVL asked with the picture behind the question."""
    return internvl(folder, chat=QUESTION_FIRST)


def llava_without_template(folder: Path) -> Path:
    """LLaVA-1.5 saved without a chat template, as older checkpoints are."""
    return llava(folder, chat=None)


MODELS: dict[str, Callable[[Path], Path]] = {
    builder.__name__: builder
    for builder in (
        llava,
        llava_next,
        llava_onevision,
        qwen2_vl,
        qwen2_5_vl,
        qwen3_vl,
        internvl,
        idefics3,
        smolvlm,
        gemma3,
        paligemma,
        pixtral,
        blip2,
        blip2_t5,
        instructblip,
        instructblip_t5,
        internvl_question_first,
        llava_without_template,
        qwen3_5,
        mllama,
        vipllava,
        aya_vision,
        gemma4,
    )
} | {f"llava before {decoder}": functools.partial(llava_before, decoder) for decoder in DECODERS}
"""How to build each."""


SEEDS = {"gemma4": 1, "llava before jamba": 1}
"""Weights with which another picture gets another answer, where the first ones have none."""


def build(name: str, folder: Path, seed: int | None = None, **options: Any) -> Path:
    """Build one by its name, with weights from a seed."""
    from transformers import set_seed

    set_seed(SEEDS.get(name, 0) if seed is None else seed)
    builder = MODELS[name]
    return builder(
        folder, **{k: v for k, v in options.items() if k in inspect.signature(builder).parameters}
    )
