"""A cache of tagging results between commands: tagging ten thousand questions takes seconds.

What is kept belongs to the rules that made it: their source and the versions of the libraries with
the words are part of the file's name. The cache may be deleted at any time; where it cannot be
written, everything is only made again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Generic, TypeVar

from hqm.files.cache import cache_folder, replacing
from hqm.signature import digest, digest_file

RULES = Path(__file__).parent
"""The folder of the rules by which forms are made."""
_MAX_RESULTS = 100_000


_Result = TypeVar("_Result")


class RuleCache(Generic[_Result]):
    """A function of a text, whose results are kept.

    Parameters
    ----------
    name
        Of the file in the cache.
    rule
        What is made of a text: a value that JSON has, which nobody may change.
    sources, libraries
        The files and folders, and the libraries, that `rule` depends on.
    min_new
        New texts below which nothing is written: reading them again takes no time.
    """

    def __init__(
        self,
        name: str,
        rule: Callable[..., _Result],
        sources: Sequence[Path] = (RULES,),
        libraries: Sequence[str] = ("HanTa", "lemminflect"),
        min_new: int = 100,
    ) -> None:
        self.name = name
        self._rule = rule
        self._sources = tuple(sources)
        self._new = 0
        self._min_new = min_new
        self._libraries = tuple(libraries)

    def __call__(self, text: str, *arguments: object) -> _Result:
        """Return the rule's result for a text, computed now or in an earlier command."""
        if text not in self._results:
            self._results[text] = self._rule(text, *arguments)
            self._new += 1
        return self._results[text]

    def keep(self) -> None:
        """Write new results to the cache where there are enough of them."""
        # a small file is not worth its writing, and a large one not its reading
        if self._new < self._min_new or len(self._results) > _MAX_RESULTS:
            return
        self._new = 0
        with suppress(OSError):
            with replacing(self._file) as file:
                file.write(json.dumps(self._results).encode())
            for stale in self._file.parent.glob(f"{self.name}-*.json"):
                if stale != self._file:  # of other rules
                    stale.unlink(missing_ok=True)

    @cached_property
    def _file(self) -> Path:
        return (
            cache_folder()
            / "readings"
            / f"{self.name}-{_rules_digest(self._sources, self._libraries)}.json"
        )

    @cached_property
    def _results(self) -> dict[str, _Result]:
        try:
            results = json.loads(self._file.read_text())
        except (OSError, ValueError):
            return {}
        if isinstance(results, dict):
            return results
        return {}


@cache
def _rules_digest(sources: tuple[Path, ...], libraries: tuple[str, ...]) -> str:
    # Without the hash's name: Windows refuses the colon in a file's name.
    return digest([*map(digest_file, sources), *map(version, libraries)]).partition(":")[2]
