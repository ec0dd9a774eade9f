"""What is asked: every item of every form, addressed as the store addresses it."""

from __future__ import annotations

from pathlib import Path

from hqm.benchmark.interface import Benchmark
from hqm.errors import ImageError
from hqm.files.images import check_picture
from hqm.files.names import is_url
from hqm.files.scaling import scaled
from hqm.signature import digest_file
from hqm.store.database import Ask, Store, ask
from hqm.types import Form


class Asks:
    """The asks of every form; each picture is read and hashed once.

    Parameters
    ----------
    store
        Numbers the asks that it has seen, and remembers the hashes of pictures that are no longer
        there.
    blind
        Ask without the pictures.
    resolution
        The percentage of their width and height to which pictures are scaled; empty shows them as
        they are.
    """

    def __init__(self, store: Store, *, blind: bool = False, resolution: str = "") -> None:
        self.store, self.blind, self.resolution = store, blind, resolution
        self._at: dict[str, Asks] = {resolution: self}
        self._digests: dict[str, dict[str, str | None]] = {}
        self._asks: dict[tuple[int, str, str], list[Ask]] = {}
        self._numbers: dict[int, list[int]] = {}
        self._distinct: dict[int, frozenset[str]] = {}
        self._files: dict[tuple[str, str], tuple[Path | None, str]] = {}

    @property
    def sight(self) -> str:
        """How the pictures are shown, as the store writes it: empty as they are, `blind` not at
        all, `50%` scaled.
        """
        return "blind" if self.blind else f"{self.resolution}%" if self.resolution else ""

    def at(self, resolution: str) -> Asks:
        """The same asks with pictures of another resolution."""
        if resolution not in self._at:
            other = Asks(self.store, blind=self.blind, resolution=resolution)
            other._at = self._at
            self._at[resolution] = other
        return self._at[resolution]

    def of(self, benchmark: Benchmark, form: Form, live: bool) -> list[Ask]:
        """The ask of every item; those of recorded respondents are kept apart by benchmark, form
        and item.
        """
        key = (id(benchmark), form.digest, "live" if live else f"recorded {form.name}")
        if key not in self._asks:
            self._asks[key] = [self._ask(benchmark, form, i, live) for i in range(len(form.items))]
        return self._asks[key]

    def distinct(self, benchmark: Benchmark, form: Form, live: bool) -> frozenset[str]:
        """The digests of all that is asked."""
        asks = self.of(benchmark, form, live)
        if id(asks) not in self._distinct:
            self._distinct[id(asks)] = frozenset(asked.digest for asked in asks)
        return self._distinct[id(asks)]

    def _ask(self, benchmark: Benchmark, form: Form, index: int, live: bool) -> Ask:
        item = form.items[index]
        text = benchmark.asked(item)
        if not live:
            scale = (f"resolution={self.resolution}",) if self.resolution else ()
            return ask(text, item.image, apart=(benchmark.name, form.name, item.id, *scale))
        if self.blind or item.image is None:
            return ask(text)
        return ask(text, self._shown(item.image), self._picture_digest(benchmark, item.image))

    def numbers(self, benchmark: Benchmark, form: Form, live: bool) -> list[int]:
        """The store's number of every item's ask; -1 for an ask that no respondent was ever put."""
        asks = self.of(benchmark, form, live)
        numbers = self._numbers.get(id(asks))
        if numbers is None or -1 in numbers:
            known = self.store.ask_ids(asks)
            numbers = self._numbers[id(asks)] = [known.get(asked.digest, -1) for asked in asks]
        return numbers

    def picture(
        self, benchmark: Benchmark, name: str | None
    ) -> tuple[str | None, Path | None, str]:
        """A picture that a judge sees: its digest, its file, and the reason where there is no file
        to show.
        """
        if name is None:
            return None, None, ""
        path, reason = self.file(benchmark, name)
        # without the file, what the store knows of it still finds the replies given earlier
        return self._picture_digest(benchmark, name), path, reason

    def file(self, benchmark: Benchmark, name: str) -> tuple[Path | None, str]:
        """A picture's file; None with the reason where it cannot be used."""
        key = (benchmark.name, name)
        if key not in self._files:
            try:
                path = benchmark.pictures.path(name)
                check_picture(path, name if is_url(name) else "")
                benchmark.checksums.check(name, path)
                self._files[key] = (self._scaled(path), "")
            except ImageError as error:
                self._files[key] = (None, str(error))
        return self._files[key]

    def _picture_digest(self, benchmark: Benchmark, name: str) -> str | None:
        """The hash of the bytes that are shown; where the file is missing, the hash that the store
        remembers.
        """
        known = self._digests.setdefault(benchmark.name, {})
        if name not in known:
            try:
                known[name] = digest_file(self._scaled(benchmark.pictures.path(name)))
            except ImageError:
                known[name] = self.store.images(benchmark.name).get(self._shown(name))
        return known[name]

    def _scaled(self, path: Path) -> Path:
        return scaled(path, int(self.resolution)) if self.resolution else path

    def _shown(self, name: str) -> str:
        """The name of a picture as it is shown: a scaled one is another picture."""
        return f"{name}@{self.resolution}%" if self.resolution else name
