"""Whether a model knows the order in which a benchmark was released: a test of contamination."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import ttest_1samp

from hqm.errors import DesignError
from hqm.psychometrics import stream

MIN_SHARDS = 10
MIN_ITEMS_PER_SHARD = 4


@dataclass(frozen=True, slots=True)
class OrderTest:
    """The test whether a model prefers the released order of items.

    Parameters
    ----------
    p
        One-sided: the chance of such a preference where the model never saw the order.
    preference
        The mean gain of the log probability of a shard in its released order over other orders.
    n_items, n_shards, n_orders
        The items, the shards that they were divided into, and the other orders of each.
    """

    p: float
    preference: float
    n_items: int
    n_shards: int
    n_orders: int

    @property
    def sentence(self) -> str:
        """What is found."""
        if self.p < 0.05:
            return (
                f"The model prefers the released order of the items (p = {self.p:.2g}). A model that"
                " never saw the file has no such preference."
            )
        return (
            f"No preference for the released order of the items is shown (p = {self.p:.2g}). That"
            " does not show that the model never saw them."
        )


def exchangeability(
    items: Sequence[str],
    log_probability: Callable[[str], float],
    *,
    n_shards: int = 50,
    n_orders: int = 25,
    separator: str = "\n",
    seed: int = 0,
) -> OrderTest:
    """Test whether a model prefers the released order of items to other orders.

    Parameters
    ----------
    items
        The text of each item as released, in the order of the release.
    log_probability
        The log probability that the model gives a text, as `model_log_probability` does.
    n_shards
        Into how many runs of neighbours the items are divided; fewer where items are few.
    n_orders
        How many other orders of each shard are compared.
    separator
        Stands between two items in the released file.
    seed
        Of the orders.

    Returns
    -------
    OrderTest
        With a one-sided p value over shards.

    Raises
    ------
    DesignError
        Fewer than 40 items: ten shards of four are needed.

    Notes
    -----
    Oren et al. (2023), Proving Test Set Contamination in Black Box Language Models,
    arXiv:2310.17623, the sharded likelihood comparison: of each shard the log probability in its
    order less its mean over random orders, and a t test of the mean over shards. Items must be
    exchangeable: a release that is sorted, or whose neighbours share a picture, has an order that
    a model may prefer without having seen it; shuffle such items within what they share.

    Simulated with trigram models (`python extensions/hqm-study/tests/test_released_order.py 400`), 120
    items in 15 shards: accused are .058 of models of other text, .048 of models that saw the items
    in another order, and all that saw the file once among three others.
    """
    n_shards = min(n_shards, len(items) // MIN_ITEMS_PER_SHARD)
    if n_shards < MIN_SHARDS:
        raise DesignError(
            f"{len(items)} items make {n_shards} shards of {MIN_ITEMS_PER_SHARD}",
            remedy=f"Give {MIN_SHARDS * MIN_ITEMS_PER_SHARD} items or more.",
        )
    generator = stream(seed, "exchangeability")
    gains = []
    for rows in np.array_split(np.arange(len(items)), n_shards):
        shard = [items[row] for row in rows]
        in_order = log_probability(separator.join(shard))
        shuffled = []
        for _ in range(n_orders):
            order = generator.permutation(len(shard))
            shuffled.append(log_probability(separator.join(shard[index] for index in order)))
        gains.append(in_order - float(np.mean(shuffled)))
    p = float(ttest_1samp(gains, 0.0, alternative="greater").pvalue)
    return OrderTest(
        1.0 if math.isnan(p) else p, float(np.mean(gains)), len(items), n_shards, n_orders
    )


def model_log_probability(model: Any, tokenizer: Any) -> Callable[[str], float]:
    """Return the log probability that a causal model of transformers gives a text.

    Parameters
    ----------
    model, tokenizer
        As `AutoModelForCausalLM` and `AutoTokenizer` load them; a vision-language model takes its
        language model.
    """
    import torch

    def log_probability(text: str) -> float:
        tokens = tokenizer(text, return_tensors="pt")["input_ids"].to(model.device)
        with torch.inference_mode():
            logits = model(input_ids=tokens).logits[0, :-1].float()
        chosen = torch.log_softmax(logits, dim=-1).gather(1, tokens[0, 1:, None])
        return float(chosen.double().sum())

    return log_probability
