"""Attention of a few tokens of many rows on a CPU, as two batched matrix products.

Torch's fused attention is made for many tokens of a few rows. For one token of each of some hundred
rows it takes half again to twice as long as plain products where memory is not contiguous, because
gaps defeat the processor's prefetching.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_NAME = "hqm_rows"
"""What the function is called in transformers' table of attention functions."""
_SCORES = 8192
"""Scores per row and head above which the fused form is faster: they no longer fit the cache."""


def by_rows(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor,
    scaling: float | None = None,
    **settings: object,
) -> tuple[torch.Tensor, None]:
    """Attention as a model of transformers calls it, every row over its own keys and values.

    Parameters
    ----------
    query
        Of shape (rows, heads, tokens, width).
    key, value
        Of shape (rows, heads, places, width); fewer heads are shared by neighbouring heads of the
        query. Places behind those of the mask are left out.
    attention_mask
        What is added to the scores, shape (rows, 1, tokens, places).
    """
    rows, heads, tokens, width = query.shape
    shared = key.shape[1]
    n_positions = attention_mask.shape[-1]
    key = key[:, :, :n_positions]
    value = value[:, :, :n_positions]
    if tokens * n_positions > _SCORES:
        fused: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **settings
        )
        return fused
    scale = width**-0.5 if scaling is None else scaling
    scaled_query = (query * scale).reshape(rows * shared, -1, width)
    scores = torch.bmm(scaled_query, key.flatten(0, 1).transpose(1, 2))
    scores = scores.view(rows, heads, tokens, n_positions).add_(attention_mask).softmax(-1)
    attended = torch.bmm(scores.view(rows * shared, -1, n_positions), value.flatten(0, 1))
    return attended.view(rows, heads, tokens, value.shape[-1]).transpose(1, 2).contiguous(), None


@contextmanager
def attending_by_rows(model: PreTrainedModel) -> Iterator[bool]:
    """Use `by_rows` in a model's decoder within the context, and yield whether it is used.

    It is not on a GPU, without fused attention, or in 16 bits, where the fused form accumulates in
    32.
    """
    config = model.get_decoder().config
    before = config._attn_implementation
    if (
        model.device.type != "cpu"
        or before != "sdpa"
        or model.dtype not in (torch.float32, torch.float64)
    ):
        yield False
        return
    AttentionInterface.register(_NAME, by_rows)
    config._attn_implementation = _NAME
    try:
        yield True
    finally:
        config._attn_implementation = before


# Between host and device: small tensors that the host makes, and what it reads back.
#
# A GPU works through a queue. Reading a number back waits until the queue is empty, and so does
# copying ordinary memory to it; a copy from pinned memory takes its place in the queue, and
# nobody waits.


def moved_to(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Copy a tensor to a device; on a GPU without waiting for the copy."""
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def tensor_on(
    values: Sequence[object], device: torch.device, dtype: torch.dtype | None = None
) -> torch.Tensor:
    """Make a tensor of numbers on a device, copied as by `moved_to`.

    Examples
    --------
    >>> import torch
    >>> tensor_on([[1, 2], [3, 4]], torch.device("cpu"))
    tensor([[1, 2],
            [3, 4]])
    """
    return moved_to(torch.tensor(values, dtype=dtype), device)
