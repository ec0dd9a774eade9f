"""What in a piece of work would make the host wait for a GPU: found by running it on the device
`meta`, which has no numbers.

Whatever reads a number back from the device (`tolist`, `item`, `bool`, a copy to the host), or
needs one to know a shape (`nonzero`, a mask as an index), waits on a GPU until all that was asked
for is done; so does a copy of ordinary memory to it. `Watch` counts them, each with its place.

On `meta` nothing can be read. Whole numbers and masks are therefore computed a second time on the
host, as long as they follow from what the host sent: so a model gets the true sizes of its
pictures. What follows from weights is not known, and reading it gives zeros.
"""

from __future__ import annotations

import os
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map
from torch.utils.weak import WeakTensorKeyDictionary

import hqm

_WATCHED = tuple(f"{Path(package.__file__).parent}{os.sep}" for package in (hqm, transformers))
"""The folders of the code that is named where something waits: a checkout may lie in any folder."""
_READS = {
    torch.Tensor.tolist,
    torch.Tensor.item,
    torch.Tensor.__bool__,
    torch.Tensor.__int__,
    torch.Tensor.__float__,
    torch.Tensor.__index__,
    torch.Tensor.cpu,
    torch.Tensor.numpy,
}
_SHAPES = {
    torch.nonzero,
    torch.Tensor.nonzero,
    torch.masked_select,
    torch.Tensor.masked_select,
    torch.unique,
    torch.unique_consecutive,
    torch.Tensor.unique,
    torch.Tensor.unique_consecutive,
    torch.equal,
    torch.Tensor.equal,
}


def _on_device(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.device.type == "meta"


def _on_host(value: Any) -> Any:
    """A setting of a factory function, for the host."""
    return torch.device("cpu") if str(value) == "meta" else value


class Watch(TorchFunctionMode):  # type: ignore[misc]
    """Within it, what would wait for a GPU is counted."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: Counter[str] = Counter()
        """What waits -> how often: the operation, and the function of HQM or transformers that asks
        for it.
        """
        self.sent = 0
        """Tensors that were copied from the host to the device."""
        self._host_values: Any = WeakTensorKeyDictionary()
        """Whole numbers and masks of the device, as they are on the host."""

    def __torch_function__(
        self,
        func: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        device_leaves = [leaf for leaf in tree_leaves((args, kwargs)) if _on_device(leaf)]
        if func in _READS and device_leaves:
            self._note(func.__name__)
            host_value = self._host_values.get(args[0])
            zeros = torch.zeros(args[0].shape, dtype=args[0].dtype)
            return func(zeros if host_value is None else host_value, *args[1:], **kwargs)
        if getattr(func, "__name__", "") == "__get__":  # an attribute such as shape or device
            return func(*args, **kwargs)
        if func in _SHAPES and device_leaves:
            self._note(func.__name__)
        if func is torch.Tensor.__getitem__ and device_leaves:
            args = (args[0], self._without_masks(args[1]))
        if device_leaves and all(leaf in self._host_values for leaf in device_leaves):
            return self._compute_on_host(func, args, kwargs)
        if not device_leaves and str(kwargs.get("device")) == "meta":
            result = func(*args, **{**kwargs, "device": "cpu"})
            if func is torch.tensor and result.numel():
                self._note("torch.tensor(..., device=...)")
            return self._register(result) if _is_integral(result) else func(*args, **kwargs)
        output = func(*args, **kwargs)
        if func is torch.Tensor.to and not device_leaves and _on_device(output):
            self.sent += 1
            if _is_integral(args[0]):
                self._host_values[output] = args[0].clone()
        return output

    def _compute_on_host(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Compute on the host what is known there, and give it as if it were on the device."""
        flat, form = tree_flatten((args, kwargs))
        host_leaves = [
            self._host_values[leaf] if _on_device(leaf) else _on_host(leaf) for leaf in flat
        ]
        host_args, host_kwargs = torch.utils._pytree.tree_unflatten(host_leaves, form)
        result = func(*host_args, **host_kwargs)
        name = getattr(func, "__name__", "")
        if name == "__setitem__" or (name.endswith("_") and not name.endswith("__")):
            return args[0]
        leaves = tree_leaves(result)
        if all(not isinstance(leaf, torch.Tensor) or _is_integral(leaf) for leaf in leaves):
            return tree_map(
                lambda leaf: self._register(leaf) if isinstance(leaf, torch.Tensor) else leaf,
                result,
            )
        return func(*args, **kwargs)

    def _register(self, host_tensor: torch.Tensor) -> torch.Tensor:
        with torch._C.DisableTorchFunction():
            device_tensor = torch.empty_like(host_tensor, device="meta")
        self._host_values[device_tensor] = host_tensor
        return device_tensor

    def _without_masks(self, index: Any) -> Any:
        """An index with masks written as places, which on a GPU has to wait for their number."""
        parts = index if isinstance(index, tuple) else (index,)
        if not any(
            _on_device(axis_index) and axis_index.dtype == torch.bool for axis_index in parts
        ):
            return index
        self._note("a mask as an index")
        indices: list[Any] = []
        for axis_index in parts:
            if _on_device(axis_index) and axis_index.dtype == torch.bool:
                indices.extend(
                    self._register(positions)
                    for positions in self._host_values[axis_index].nonzero(as_tuple=True)
                )
            else:
                indices.append(axis_index)
        return tuple(indices)

    def _note(self, operation: str) -> None:
        frames = reversed(traceback.extract_stack(limit=14))
        watched = [frame for frame in frames if frame.filename.startswith(_WATCHED)]
        location = f"{Path(watched[0].filename).name}:{watched[0].name}" if watched else "?"
        self.waits[f"{operation} in {location}"] += 1


def _is_integral(value: Any) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and not value.dtype.is_floating_point
        and not value.dtype.is_complex
    )
