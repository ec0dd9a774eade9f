"""A model's vision tower: it runs once a picture, and what it gave is put in its place for every
question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hqm.respondents.reading import Prompt, Reader, Seen, Unsplit

_KEPT = 256
"""Pictures of which the output is kept."""


class Tower:
    """The vision tower of a model.

    Parameters
    ----------
    names
        Where it may be within the model.
    """

    def __init__(self, model: Any, reader: Reader, names: Sequence[str]) -> None:
        self.model, self.reader = model, reader
        self.name = next((name for name in names if name in dict(model.named_modules())), "")
        self._known: dict[Any, Any] = {}

    def forget(self) -> None:
        """Let go of what is kept."""
        self._known.clear()

    def of_prompts(self, prompts: Sequence[Prompt]) -> list[Any]:
        """Its output for the pictures of prompts that do not come apart."""
        known = {
            p.picture_key: self._known[p.picture_key]
            for p in prompts
            if p.picture_key in self._known
        }
        new = list({p.picture_key: p for p in prompts if p.picture_key not in known}.values())
        try:
            parts = (
                _parted(self._output(self.reader.inputs(new, again=True)), [1] * len(new))
                if new
                else []
            )
        except Unsplit:  # several rows of a picture went in
            parts = [self._output(self.reader.inputs([prompt], again=True)) for prompt in new]
        self._known = known | {
            prompt.picture_key: part for prompt, part in zip(new, parts, strict=True)
        }
        return [self._known[prompt.picture_key] for prompt in prompts]

    @contextmanager
    def kept(self, prompts: Sequence[Seen]) -> Iterator[None]:
        """Within it the tower gives what it gave of the prompts' pictures; new pictures run through
        it together.
        """
        new = list({p.picture: p for p in prompts if p.picture not in self._known}.values())
        if new:
            sizes = [len(prompt.tensors["pixel_values"]) for prompt in new]
            parts = _parted(
                self._output(self.reader.joined([(prompt, []) for prompt in new])), sizes
            )
            if len(self._known) > _KEPT:
                self._known = {
                    p.picture: self._known[p.picture] for p in prompts if p.picture in self._known
                }
            self._known |= {prompt.picture: part for prompt, part in zip(new, parts, strict=True)}
        with self.replayed([self._known[prompt.picture] for prompt in prompts]):
            yield

    @contextmanager
    def replayed(self, outputs: Sequence[Any]) -> Iterator[None]:
        """Within it the tower gives these outputs."""
        module = self.model.get_submodule(self.name)
        module.forward = lambda *_args, **_settings: _joined(outputs)
        try:
            yield
        finally:
            del module.forward

    def _output(self, inputs: Any) -> Any:
        """What it makes of these inputs; nothing else runs."""
        if not self.name:
            raise Unsplit("its vision tower is not where it is looked for")

        def catch(_module: Any, _inputs: Any, output: Any) -> None:
            raise _Caught(output)

        handle = self.model.get_submodule(self.name).register_forward_hook(catch)
        try:
            self.model.generate(**inputs, max_new_tokens=1)
        except _Caught as caught:
            return caught.output
        finally:
            handle.remove()
        raise Unsplit("its vision tower is not asked for a picture")


class _Caught(Exception):  # noqa: N818 (no error: it carries a vision tower's output out of a forward pass)
    def __init__(self, output: Any) -> None:
        self.output = output
        super().__init__()


def _joined(outputs: Sequence[Any]) -> Any:
    """Several outputs of one module as one: tensors one behind the other, whatever holds them."""
    import torch

    first = outputs[0]
    if first is None:
        return None
    if isinstance(first, torch.Tensor):
        return torch.cat(list(outputs))
    if hasattr(first, "keys"):
        return type(first)(**{key: _joined([output[key] for output in outputs]) for key in first})
    return type(first)(_joined(part) for part in zip(*outputs, strict=True))


def _parted(output: Any, sizes: Sequence[int]) -> list[Any]:
    """One module's output as that of each picture; `sizes` are the pictures' rows in what went
    in.
    """
    import torch

    if output is None:
        return [None] * len(sizes)
    if isinstance(output, torch.Tensor):
        if len(output) != sum(sizes):
            raise Unsplit("its vision tower's output does not come apart by pictures")
        return list(output.split(list(sizes)))
    if hasattr(output, "keys"):
        columns = {key: _parted(output[key], sizes) for key in output}
        return [
            type(output)(**{key: column[place] for key, column in columns.items()})
            for place in range(len(sizes))
        ]
    rows = zip(*(_parted(part, sizes) for part in output), strict=True)
    return [type(output)(row) for row in rows]
