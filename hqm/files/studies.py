"""Studies of earlier commands: a result that takes seconds and depends on its arguments alone is
not computed again.

A study is found by a hash of its arguments, of the code that makes it, and of the versions of numpy
and scipy, so that a change of one of them is not overlooked. The cache may be deleted at any time;
where it cannot be written, everything is only made again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import hqm.psychometrics
from hqm.files.cache import cache_folder, replacing
from hqm.signature import digest, digest_file

T = TypeVar("T")
_LIBRARIES = ("numpy", "scipy")
MIN_KEPT_ITEMS = 200
"""Of fewer items, a study takes less time than the cache."""
MAX_STUDIES = 400
"""The newest studies, which stay in the cache."""


def kept_study(
    kind: type[T],
    name: str,
    arguments: object,
    study: Callable[[], T],
    *,
    n_items: int,
    sources: Sequence[Path] = (),
) -> T:
    """Return a study that an earlier command kept, or make it and keep it.

    Both are read from the same JSON, so that a first command and a second one calculate with the
    same numbers.

    Parameters
    ----------
    kind
        The class of the study: a dataclass of what JSON can hold.
    name
        Of its files in the cache.
    arguments
        All that the study depends on beside its code, as a JSON value.
    study
        Makes it, by numpy, scipy, `hqm.psychometrics` and `sources`.
    n_items
        How many items it is about; one of a few is not kept.
    sources
        Further files of code that decide what comes out.

    Returns
    -------
    T
        The study.
    """
    if n_items < MIN_KEPT_ITEMS:
        return study()
    from pydantic import TypeAdapter

    adapter = TypeAdapter(kind)
    key = digest([arguments, _code_digest(tuple(sources))]).partition(":")[2]
    path = cache_folder() / "studies" / f"{name}-{key}.json"
    # a file that bytes were changed in is made again
    with suppress(OSError, ValueError):
        return adapter.validate_python(json.loads(path.read_text()))
    text = json.dumps(adapter.dump_python(study()))
    with suppress(OSError):
        with replacing(path) as file:
            file.write(text.encode())
        _remove_oldest(path.parent)
    return adapter.validate_python(json.loads(text))


def _remove_oldest(folder: Path) -> None:
    """Delete all but the newest studies."""
    files = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in files[MAX_STUDIES:]:
        path.unlink(missing_ok=True)


@cache
def _code_digest(sources: tuple[Path, ...]) -> str:
    folder = Path(str(hqm.psychometrics.__file__)).parent
    files = sorted({*folder.rglob("*.py"), *sources})
    return digest([*map(version, _LIBRARIES), *map(digest_file, files)])
