"""A short form takes its adapter's scoring, and has items and pictures of its own where the adapter
reads a release.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hqm.benchmark.card import Card
from hqm.benchmark.findings import Finding
from hqm.benchmark.interface import Benchmark
from hqm.benchmark.items import read_items
from hqm.types import Form


class _Own(Benchmark):
    """What a short form has of its own; whatever scores answers comes from the adapter behind
    it.
    """

    def __init__(
        self, card: Card, data: Path, *, images: Path | str | None = None, **settings: Any
    ) -> None:
        super().__init__(card, data, images=images, **settings)
        if images is None:
            # an adapter may have named the folder of its release
            self._images, self._web = None, ""

    def read(self) -> Form:
        """The items of its folder."""
        return read_items(self.card, self.data)

    def more_forms(self, form: Form) -> tuple[Form, ...]:
        """None: those of a release are of all its items."""
        return ()

    def check(self, form: Form) -> Iterable[Finding]:
        """Nothing: what a release is checked for is not to be had of a part of it."""
        return ()

    def prepare_images(self, form: Form) -> None:
        """Nothing: they lie in its folder."""

    def judges(self) -> Mapping[str, Any]:
        """None: they look things up in a release."""
        return {}


def for_short_form(adapter: type[Benchmark]) -> type[Benchmark]:
    """An adapter for a short form of its benchmark."""
    return type(f"Short{adapter.__name__}", (_Own, adapter), {"__module__": adapter.__module__})
