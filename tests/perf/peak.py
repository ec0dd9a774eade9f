"""What a device reaches at best, and what a model makes of it: operations a second of prefill,
bytes a second of decoding.

*Operations* are those that `torch.utils.flop_counter` counts of matrix products, convolutions and
attention, masked places included. *Bytes* of a decoding step are what it cannot do without: the
decoder's weights once, and the keys and values of every place in the cache. The peak of operations
is that of one large `torch.matmul` in the model's number format; the peak of bytes is a copy within
the device, which reads and writes each byte.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import torch
from torch.utils.flop_counter import FlopCounterMode

from hqm.respondents.step_graph import StepGraphs

KINDS = ("pictures", "questions", "answers")
"""The calls of a model: with pictures, with several new tokens a row, with one."""


def synchronised(device: torch.device) -> float:
    """The time when all that was asked of the device is done."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def fastest(work: Callable[[], object], device: torch.device, min_seconds: float) -> float:
    """The seconds of one run at its best, tried for so many seconds."""
    work()
    best, deadline = float("inf"), time.perf_counter() + min_seconds
    while time.perf_counter() < deadline:
        began = synchronised(device)
        work()
        best = min(best, synchronised(device) - began)
    return best


@dataclass(frozen=True)
class Peaks:
    """What the device reaches at best."""

    operations: float
    """A second, of a matrix product."""
    bytes: float
    """A second, read and written, of a copy."""

    @classmethod
    def measure(cls, device: torch.device, dtype: torch.dtype, min_seconds: float = 1.0) -> Peaks:
        """Measure them: the product of two matrices of 8192 x 8192 (on a CPU 1536), a copy of 2 GiB
        (on a CPU 256 MiB).
        """
        large = device.type == "cuda"
        size = 8192 if large else 1536
        a, b = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
        product = fastest(lambda: torch.matmul(a, b), device, min_seconds)
        source = torch.zeros(2 << 30 if large else 256 << 20, dtype=torch.uint8, device=device)
        target = torch.empty_like(source)
        copy = fastest(lambda: target.copy_(source), device, min_seconds)
        return cls(2 * size**3 / product, 2 * source.numel() / copy)


@dataclass
class Spent:
    """What one kind of calls took."""

    calls: int = 0
    seconds: float = 0.0
    operations: int = 0
    bytes: int = 0


class Meter:
    """What a model's calls take, by kind, counted at the outermost call.

    Parameters
    ----------
    counts
        Count operations, which makes every call slower: the seconds then say nothing.
    """

    def __init__(self, model: Any, *, counts: bool) -> None:
        self.model, self.counts = model, counts
        self.spent = {kind: Spent() for kind in KINDS}
        self._within = False
        tower = next(t for t in ("vision_tower", "visual") if hasattr(model.model, t))
        total_bytes = sum(p.numel() * p.element_size() for p in model.parameters())
        other_modules = [
            getattr(model.model, tower),
            model.get_input_embeddings(),
            getattr(model.model, "multi_modal_projector", None),
        ]
        self.decoder = total_bytes - sum(
            p.numel() * p.element_size()
            for module in other_modules
            if module is not None
            for p in module.parameters()
        )
        """The bytes of the weights that a decoding step reads: all but the tower's and the table of
        tokens.
        """

    @contextmanager
    def watching(self) -> Iterator[Meter]:
        """Within it the model's calls are measured, each step among them: none is recorded."""
        inner = self.model.base_model
        plain, look = self.model.forward, inner.get_image_features

        @functools.wraps(plain)  # generate looks at the parameters
        def forward(*args: Any, **settings: Any) -> Any:
            kind = _kind(settings)
            output = self._measured(kind, plain, args, settings)
            if kind == "answers":
                layers = settings["past_key_values"].layers
                cache_bytes = sum(
                    t.numel() * t.element_size()
                    for layer in layers
                    for t in (layer.keys, layer.values)
                )
                self.spent[kind].bytes += self.decoder + cache_bytes
            return output

        @functools.wraps(look)
        def features(*args: Any, **settings: Any) -> Any:
            return self._measured("pictures", look, args, settings)

        # generate lets the tower look before it calls the model
        self.model.forward, inner.get_image_features = forward, features
        try:
            with patch.object(StepGraphs, "for_model", return_value=StepGraphs()):
                yield self
        finally:
            del self.model.forward, inner.get_image_features

    def _measured(self, kind: str, call: Callable[..., Any], args: Any, settings: Any) -> Any:
        if self._within:
            return call(*args, **settings)
        spent = self.spent[kind]
        spent.calls += 1
        self._within = True
        try:
            if self.counts:
                with FlopCounterMode(display=False) as counter:
                    output = call(*args, **settings)
                spent.operations += counter.get_total_flops()
            else:
                began = synchronised(self.model.device)
                output = call(*args, **settings)
                spent.seconds += synchronised(self.model.device) - began
        finally:
            self._within = False
        return output


def _kind(settings: Any) -> str:
    """Which kind a call is, from its settings."""
    if settings.get("pixel_values") is not None or settings.get("mm_encoder_outputs"):
        return "pictures"
    # HQM's step has a column for every row of a block, and keeps the scores of all
    keep = settings.get("logits_to_keep")
    is_decoding = settings["input_ids"].shape[1] == 1 or (isinstance(keep, int) and keep == 0)
    return "answers" if is_decoding else "questions"
