"""Attention by rows gives what torch's fused attention gives, and the models' decoders use it on a
CPU.
"""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hqm.respondents import make_respondent
from tests.conftest import needs_torch
from tests.test_families import answers, make_requests, pictures, texts, tiny_model

__all__ = ["pictures", "tiny_model"]
pytestmark = needs_torch


@pytest.mark.parametrize(
    ("heads", "shared", "tokens", "positions"),
    [(4, 4, 1, 40), (8, 2, 1, 64), (8, 2, 3, 33), (6, 3, 5, 21), (4, 1, 90, 100), (4, 4, 100, 90)],
)
def test_the_same_as_fused_attention(heads: int, shared: int, tokens: int, positions: int) -> None:
    import torch
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    from hqm.respondents.attention import by_rows

    random = torch.Generator().manual_seed(heads * tokens + positions)

    def random_tensor(*shape: int) -> Any:
        return torch.randn(*shape, generator=random, dtype=torch.float64)

    query, key, value = (
        random_tensor(7, tokens, heads, 8).transpose(1, 2),
        random_tensor(7, shared, positions + 9, 8),
        random_tensor(7, shared, positions + 9, 8),
    )
    lowest = torch.finfo(torch.float64).min
    unseen = random_tensor(7, 1, tokens, positions) > 0.3
    unseen[..., 0] = False
    mask = torch.zeros(unseen.shape, dtype=torch.float64).masked_fill_(unseen, lowest)
    module = SimpleNamespace(num_key_value_groups=heads // shared, is_causal=True)
    ours, _ = by_rows(module, query, key, value, mask, scaling=0.4)
    fused, _ = sdpa_attention_forward(
        module, query, key[:, :, :positions], value[:, :, :positions], mask, scaling=0.4
    )  # type: ignore[arg-type]
    assert ours.shape == fused.shape == (7, tokens, heads, 8)
    torch.testing.assert_close(ours, fused, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "name", ["llava", "llava_onevision", "qwen2_vl", "qwen3_vl", "internvl", "idefics3"]
)
def test_decoders_attend_by_rows_and_generate_does_not(
    name: str,
    tiny_model: Callable[[str], Path],
    pictures: list[Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every layer of every pass of the common loop is counted; afterwards the model is as it was
    loaded.
    """
    from hqm.respondents import attention

    layer_indices: list[int] = []

    def counting(module: Any, *arguments: Any, **settings: Any) -> Any:
        layer_indices.append(module.layer_idx)
        return original(module, *arguments, **settings)

    original = attention.by_rows
    monkeypatch.setattr(attention, "by_rows", counting)
    respondent = make_respondent(f"hf/{tiny_model(name)}")
    by_rows = texts(answers(respondent, make_requests(pictures, 0.0)))
    model = respondent._loaded.model  # type: ignore[attr-defined]
    layers = model.config.get_text_config().num_hidden_layers
    assert sorted(set(layer_indices)) == list(range(layers))
    assert all(
        layer_indices.count(layer) == len(layer_indices) // layers >= 3 for layer in range(layers)
    )
    assert model.get_decoder().config._attn_implementation == "sdpa"
    before = len(layer_indices)
    fused = make_respondent(f"hf/{tiny_model(name)}?attention=eager")
    assert texts(answers(fused, make_requests(pictures, 0.0))) == by_rows
    assert len(layer_indices) == before, "attention that was asked for is left alone"
    answers(make_respondent(f"hf/{tiny_model(name)}?dtype=bfloat16"), make_requests(pictures, 0.0))
    assert len(layer_indices) == before, "in 16 bits the fused form keeps its sums in 32"
