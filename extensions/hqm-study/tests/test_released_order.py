"""Whether a model knows the released order: false alarms and power, on models that are real ones of
counted words, and on a small transformer.
"""

import itertools
import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hqm_study.released_order import exchangeability, model_log_probability

from hqm.errors import DesignError

WORDS = [f"w{i}" for i in range(60)]


def draw_items(rng: np.random.Generator, n: int = 120) -> list[str]:
    """Questions of 6 to 12 words, of which frequent ones are frequent (Zipf)."""
    chance = 1 / np.arange(1, len(WORDS) + 1)
    chance /= chance.sum()
    return [" ".join(rng.choice(WORDS, size=rng.integers(6, 13), p=chance)) for _ in range(n)]


def trained(texts: Sequence[str]) -> Callable[[str], float]:
    """The log probability by a trigram model that was counted on texts (add .1)."""
    triples: Counter[tuple[str, ...]] = Counter()
    pairs: Counter[tuple[str, ...]] = Counter()
    for text in texts:
        tokens = text.replace("\n", " | ").split()
        triples.update(zip(tokens, tokens[1:], tokens[2:], strict=False))
        pairs.update(itertools.pairwise(tokens))

    def log_probability(text: str) -> float:
        tokens = text.replace("\n", " | ").split()
        total = 0.0
        for triple in zip(tokens, tokens[1:], tokens[2:], strict=False):
            total += math.log((triples[triple] + 0.1) / (pairs[triple[:2]] + 0.1 * 61))
        return total

    return log_probability


def simulate(n: int, seed: int) -> dict[str, float]:
    """The share of models accused: one that saw other text, one that saw the items in another
    order, and one that saw the file.
    """
    rng = np.random.default_rng(seed)
    accused: dict[str, list[bool]] = {"other text": [], "other order": [], "the file": []}
    for _ in range(n):
        items = draw_items(rng)
        background = ["\n".join(draw_items(rng)) for _ in range(3)]
        shuffled = [items[index] for index in rng.permutation(len(items))]
        texts = {"other text": [], "other order": shuffled, "the file": items}
        for name, seen in texts.items():
            model = trained([*background, "\n".join(seen)])
            result = exchangeability(items, model, n_shards=15, n_orders=6, seed=int(seed))
            accused[name].append(result.p < 0.05)
    return {name: float(np.mean(rows)) for name, rows in accused.items()}


def test_only_the_model_that_saw_the_file_is_accused() -> None:
    shares = simulate(25, 52)
    assert shares["other text"] <= 0.16
    assert shares["other order"] <= 0.16
    assert shares["the file"] >= 0.9


def test_few_items_are_refused() -> None:
    with pytest.raises(DesignError, match="39 items make 9 shards"):
        exchangeability(["a"] * 39, len)
    # a model to which order means nothing
    result = exchangeability([f"item {i:03d}" for i in range(40)], lambda text: -len(text))
    assert (result.p, result.preference, result.n_shards) == (1.0, 0.0, 10)


def test_the_log_probability_is_that_of_the_model() -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=32,
        n_positions=64,
        n_embd=16,
        n_layer=1,
        n_head=2,
        bos_token_id=0,
        eos_token_id=0,
    )
    model = transformers.GPT2LMHeadModel(config).eval()

    def tokenizer(text: str, return_tensors: str) -> dict[str, object]:
        assert return_tensors == "pt"
        return {"input_ids": torch.tensor([[ord(letter) % 32 for letter in text]])}

    text = "which is red"
    tokens = tokenizer(text, "pt")["input_ids"]
    # transformers' own loss is the mean negative log probability of all but the first token
    expected = -float(model(input_ids=tokens, labels=tokens).loss.detach()) * (len(text) - 1)
    assert model_log_probability(model, tokenizer)(text) == pytest.approx(expected, rel=1e-5)


if __name__ == "__main__":
    print(simulate(int(sys.argv[1]), 7))
