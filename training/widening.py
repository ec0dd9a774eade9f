"""Give a trained model the attention head size that servers know, without a change in what it
answers.

The decoders are trained with heads of 20 dimensions (`small`: 14), which no serving engine has a
kernel for. Here every head becomes one of 32 that computes the same: the old dimensions keep their
places in the rotation, and the added ones are read by nothing yet. The added dimensions cost more
bytes than a model may have, so each layer then gives up the few neurons that do least. What is
trained on from there is in `train`.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

HEAD = 32
"""The head size after widening: the smallest that vLLM's attention on CPUs knows."""
N_REMOVED = 8
"""Neurons that each decoder layer gives up, so that the wider heads fit into 1 MB."""


def widened(model: Any, seed: int, head: int = HEAD) -> Any:
    """The same LLaVA with decoder heads of `head` dimensions; its logits are equal up to rounding.

    Rotary positions turn dimensions i and i + d/2 of a head by theta^(-2i/d). With theta' =
    theta^(head/d), the pair (i, i + head/2) of the wider head turns as before, so old pair i
    becomes new pair i. The added rows of the queries and the added columns of the output are zero;
    those of keys and values are random, because a weight whose partner is zero as well would never
    be trained. Queries grow by sqrt(head/d), which undoes the attention's own scale.
    """
    import torch
    from transformers import LlavaForConditionalGeneration

    config = type(model.config).from_dict(model.config.to_dict())
    text = config.text_config
    old, heads = text.head_dim, text.num_attention_heads
    rope = dict(text.rope_parameters)
    text.head_dim, text.rope_parameters = (
        head,
        {**rope, "rope_theta": rope["rope_theta"] ** (head / old)},
    )
    wide = LlavaForConditionalGeneration(config)
    # where the old dimensions of all heads stand among the new ones
    half = torch.arange(old // 2)
    new_positions = torch.cat(
        [torch.cat([half, half + head // 2]) + h * head for h in range(heads)]
    )
    generator = torch.Generator().manual_seed(seed)
    weights = dict(model.state_dict())
    for name in [name for name in weights if ".self_attn." in name and ".language_model." in name]:
        before = weights[name]
        if name.endswith("o_proj.weight"):
            after = torch.zeros(before.shape[0], heads * head)
            after[:, new_positions] = before
        else:
            after = torch.zeros(heads * head, before.shape[1])
            if not name.endswith("q_proj.weight"):
                after.normal_(0.0, before.shape[1] ** -0.5, generator=generator)
            after[new_positions] = before * (
                math.sqrt(head / old) if name.endswith("q_proj.weight") else 1.0
            )
        weights[name] = after
    wide.load_state_dict(weights)
    wide.generation_config = model.generation_config
    return wide.eval()


def narrowed(model: Any, batch: dict[str, Any], n_removed: int = N_REMOVED) -> Any:
    """The model without the neurons of each decoder layer that do least in a batch.

    What a neuron does is the mean size of what it adds to the stream: its activation times the norm
    of its output weights.
    """
    import torch
    from transformers import LlavaForConditionalGeneration

    layers = model.model.language_model.layers
    words = batch["attention_mask"].bool()
    does: list[Any] = []
    hooks = [
        layer.mlp.down_proj.register_forward_pre_hook(
            lambda module, inputs: does.append(
                inputs[0][words].abs().mean(0) * module.weight.norm(dim=0)
            )
        )
        for layer in layers
    ]
    with torch.inference_mode():
        model(**batch)
    for hook in hooks:
        hook.remove()
    config = type(model.config).from_dict(model.config.to_dict())
    config.text_config.intermediate_size -= n_removed
    narrow = LlavaForConditionalGeneration(config)
    weights = dict(model.state_dict())
    for number, share in enumerate(does):
        keep = (
            share.argsort(descending=True, stable=True)[: config.text_config.intermediate_size]
            .sort()
            .values
        )
        prefix = f"model.language_model.layers.{number}.mlp"
        for projection in ("gate_proj", "up_proj"):
            weights[f"{prefix}.{projection}.weight"] = weights[f"{prefix}.{projection}.weight"][
                keep
            ]
        weights[f"{prefix}.down_proj.weight"] = weights[f"{prefix}.down_proj.weight"][:, keep]
    narrow.load_state_dict(weights)
    narrow.generation_config = model.generation_config
    return narrow.eval()


def save(model: Any, folder: Path) -> None:
    """Save a model in half precision under the weight names that transformers and vLLM both read.

    transformers writes `vision_tower.*` and reads `vision_tower.vision_model.*` too; vLLM reads the
    latter only.
    """
    from safetensors.torch import load_file
    from safetensors.torch import save as as_bytes

    model.half().save_pretrained(folder)
    file = folder / "model.safetensors"
    weights = load_file(file)
    prefix = "vision_tower.vision_model."
    renamed = {
        name if name.startswith(prefix) else name.replace("vision_tower.", prefix, 1): weight
        for name, weight in weights.items()
    }
    file.unlink()  # transformers lets its owner alone read it
    file.write_bytes(as_bytes(renamed, metadata={"format": "pt"}))
