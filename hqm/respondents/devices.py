"""Between host and device: small tensors that the host makes, and what it reads back.

A GPU works through a queue. Reading a number back waits until the queue is empty, and so does
copying ordinary memory to it; a copy from pinned memory takes its place in the queue, and nobody
waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def sent(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A tensor of the host on a device; on a GPU the host goes on before the copy is done."""
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def placed(values: Sequence[Any], device: torch.device, dtype: Any = None) -> torch.Tensor:
    """Numbers of the host as a tensor on a device, as `sent`.

    Examples
    --------
    >>> import torch
    >>> placed([[1, 2], [3, 4]], torch.device("cpu"))
    tensor([[1, 2],
            [3, 4]])
    """
    import torch

    return sent(torch.tensor(values, dtype=dtype), device)
