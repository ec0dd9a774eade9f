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
        self._known: Any = WeakTensorKeyDictionary()
        """Whole numbers and masks of the device, as they are on the host."""

    def __torch_function__(
        self,
        func: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        there = [leaf for leaf in tree_leaves((args, kwargs)) if _on_device(leaf)]
        if func in _READS and there:
            self._note(func.__name__)
            known = self._known.get(args[0])
            zeros = torch.zeros(args[0].shape, dtype=args[0].dtype)
            return func(zeros if known is None else known, *args[1:], **kwargs)
        if getattr(func, "__name__", "") == "__get__":  # an attribute such as shape or device
            return func(*args, **kwargs)
        if func in _SHAPES and there:
            self._note(func.__name__)
        if func is torch.Tensor.__getitem__ and there:
            args = (args[0], self._without_masks(args[1]))
        if there and all(leaf in self._known for leaf in there):
            return self._both(func, args, kwargs)
        if not there and str(kwargs.get("device")) == "meta":
            made = func(*args, **{**kwargs, "device": "cpu"})
            if func is torch.tensor and made.numel():
                self._note("torch.tensor(..., device=...)")
            return self._as_known(made) if _whole(made) else func(*args, **kwargs)
        out = func(*args, **kwargs)
        if func is torch.Tensor.to and not there and _on_device(out):
            self.sent += 1
            if _whole(args[0]):
                self._known[out] = args[0].clone()
        return out

    def _both(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Compute on the host what is known there, and give it as if it were on the device."""
        flat, form = tree_flatten((args, kwargs))
        own = [self._known[leaf] if _on_device(leaf) else _on_host(leaf) for leaf in flat]
        host_args, host_kwargs = torch.utils._pytree.tree_unflatten(own, form)
        made = func(*host_args, **host_kwargs)
        name = getattr(func, "__name__", "")
        if name == "__setitem__" or (name.endswith("_") and not name.endswith("__")):
            return args[0]
        leaves = tree_leaves(made)
        if all(not isinstance(leaf, torch.Tensor) or _whole(leaf) for leaf in leaves):
            return tree_map(
                lambda leaf: self._as_known(leaf) if isinstance(leaf, torch.Tensor) else leaf, made
            )
        return func(*args, **kwargs)

    def _as_known(self, made: torch.Tensor) -> torch.Tensor:
        with torch._C.DisableTorchFunction():
            out = torch.empty_like(made, device="meta")
        self._known[out] = made
        return out

    def _without_masks(self, index: Any) -> Any:
        """An index with masks written as places, which on a GPU has to wait for their number."""
        parts = index if isinstance(index, tuple) else (index,)
        if not any(_on_device(part) and part.dtype == torch.bool for part in parts):
            return index
        self._note("a mask as an index")
        places: list[Any] = []
        for part in parts:
            if _on_device(part) and part.dtype == torch.bool:
                places.extend(
                    self._as_known(place) for place in self._known[part].nonzero(as_tuple=True)
                )
            else:
                places.append(part)
        return tuple(places)

    def _note(self, what: str) -> None:
        frames = reversed(traceback.extract_stack(limit=14))
        places = [frame for frame in frames if frame.filename.startswith(_WATCHED)]
        where = f"{Path(places[0].filename).name}:{places[0].name}" if places else "?"
        self.waits[f"{what} in {where}"] += 1


def _whole(made: Any) -> bool:
    return (
        isinstance(made, torch.Tensor)
        and not made.dtype.is_floating_point
        and not made.dtype.is_complex
    )
