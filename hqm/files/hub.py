"""Datasets of the Hugging Face hub.

A card names one as `hf://datasets/<owner>/<name>[@<revision>]`, and `hqm new --from` as
`hf://datasets/<owner>/<name>[/<configuration>][@<revision>][#<split>]`. The variable `HF_ENDPOINT`
names another hub.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hqm.errors import DataError, UsageError
from hqm.files.dataset_folders import Tree
from hqm.files.tables import SUFFIXES

_PREFIX = "hf://datasets/"
_CLIENTS = ("httpx", "httpx2", "httpcore", "requests", "urllib3", "aiohttp")
_CONVERTED = "refs/convert/parquet"
"""The revision at which the hub keeps every data set that it could read as Parquet."""


def is_hub(text: str) -> bool:
    """Whether a card's folder names a dataset of the hub.

    >>> is_hub("hf://datasets/lmms-lab/POPE"), is_hub("pope")
    (True, False)
    """
    return text.startswith(_PREFIX)


@dataclass(frozen=True, slots=True)
class HubName:
    """A dataset of the hub, one of its configurations, a revision and a split; empty where the name
    does not say.

    >>> HubName.parse("hf://datasets/lmms-lab/POPE/Full@main#random")
    HubName(name='lmms-lab/POPE', config='Full', revision='main', split='random')
    """

    name: str
    config: str = ""
    revision: str = ""
    split: str = ""

    @classmethod
    def parse(cls, text: str) -> HubName:
        """Read a name.

        Raises
        ------
        UsageError
            It is none.
        """
        part = r"[A-Za-z0-9][\w.-]*"
        match = re.fullmatch(
            rf"{_PREFIX}({part}/{part})(?:/([^@#\0]+?))?/?(?:@([^#\s\0]+))?(?:#([^\s\0]+))?", text
        )
        if match is None:
            remedy = (
                "Write hf://datasets/OWNER/NAME, and behind it /CONFIGURATION, @REVISION and #SPLIT"
                " as needed."
            )
            raise UsageError(f"{text[:200]!r} is no name of a dataset", remedy=remedy)
        return cls(match[1], *(match[k] or "" for k in (2, 3, 4)))


def hub_folder(text: str) -> Path:
    """The folder with the parquet files of a dataset, fetched where the hub's own cache does not
    have them.

    Without a network, or with `HF_HUB_OFFLINE=1`, what the cache has is used.

    Raises
    ------
    DataError
        The dataset is not in the cache and cannot be fetched, or the library that fetches it is not
        installed.
    """
    name, _, revision = text.removeprefix(_PREFIX).partition("@")
    with _fetching(
        text, "Correct the name, or fetch the dataset by hand and name its folder with --data."
    ) as hub:
        return Path(
            hub.snapshot_download(
                name,
                repo_type="dataset",
                revision=revision or None,
                allow_patterns="*.parquet",
                endpoint=_endpoint(),
            )
        )


def hub_tree(text: str, name: HubName) -> Tree:
    """The files of a dataset at its revision; the hub's own Parquet files where it has no file of
    rows itself.

    Raises
    ------
    DataError
        The dataset cannot be reached, or the library that fetches it is not installed.
    """
    tree = _tree(text, name.name, name.revision)
    if not name.revision and not any(
        each.lower().endswith(SUFFIXES) and "." in each for each in tree.names
    ):
        try:
            return _tree(text, name.name, _CONVERTED)
        except DataError:
            return tree
    return tree


def _tree(text: str, name: str, revision: str) -> Tree:
    remedy = (
        "Correct the name or revision, log in with `hf auth login` where it is gated, or fetch it"
        " by hand."
    )
    with _fetching(text, remedy) as hub:
        if _offline(hub):
            # without a pattern, the client wants every file of the dataset; `shards_of` says which
            # are needed
            folder = Path(
                hub.snapshot_download(
                    name,
                    repo_type="dataset",
                    revision=revision or None,
                    local_files_only=True,
                    allow_patterns="README.md",
                    endpoint=_endpoint(),
                )
            )
            return Tree(text, Tree.of(folder).names, lambda wanted: folder)
        about = hub.HfApi(endpoint=_endpoint()).dataset_info(name, revision=revision or None)
    names = tuple(
        sorted(
            each.rfilename for each in about.siblings or () if not each.rfilename.startswith(".")
        )
    )
    brought: set[str] = set()
    folder_of: list[Path] = []

    def bring(wanted: Sequence[str]) -> Path:
        missing = [each for each in wanted if each not in brought]
        if missing or not folder_of:
            with _fetching(text, remedy) as hub:
                patterns = [glob.escape(each) for each in missing]
                folder_of[:] = [
                    Path(
                        hub.snapshot_download(
                            name,
                            repo_type="dataset",
                            revision=revision or None,
                            allow_patterns=patterns,
                            endpoint=_endpoint(),
                        )
                    )
                ]
            brought.update(missing)
        return folder_of[0]

    return Tree(text, names, bring)


def _endpoint() -> str | None:
    return os.environ.get("HF_ENDPOINT") or None


def _offline(hub: Any) -> bool:
    return bool(hub.constants.HF_HUB_OFFLINE) or os.environ.get("HF_HUB_OFFLINE", "") in (
        "1",
        "true",
        "TRUE",
    )


@contextmanager
def _fetching(text: str, remedy: str) -> Iterator[Any]:
    """The library that fetches, and its errors as one sentence."""
    try:
        import huggingface_hub
        import huggingface_hub.constants
        from huggingface_hub.errors import (
            GatedRepoError,
            HfHubHTTPError,
            LocalEntryNotFoundError,
            RepositoryNotFoundError,
            RevisionNotFoundError,
        )
    except ImportError as error:
        what = (
            "datasets of the Hugging Face hub need the library huggingface_hub, which is not"
            " installed"
        )
        raise DataError(what, place=text, remedy="Run: pip install 'hqm-audit[hub]'.") from error
    try:
        yield huggingface_hub
    except GatedRepoError as error:
        raise DataError(
            "its owner gives it only to those who accept the terms", place=text, remedy=remedy
        ) from error
    except RevisionNotFoundError as error:
        raise DataError("the dataset has no such revision", place=text, remedy=remedy) from error
    except RepositoryNotFoundError as error:
        raise DataError(
            "there is no such dataset, or it is private", place=text, remedy=remedy
        ) from error
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0].partition(". ")[0]
        raise DataError(
            f"the dataset cannot be fetched: {first}", place=text, remedy=remedy
        ) from error
    except Exception as error:
        # whatever the library's client of the day raises where no server answers
        if not any(kind.__module__.partition(".")[0] in _CLIENTS for kind in type(error).__mro__):
            raise
        what = f"the dataset cannot be fetched: {str(error) or type(error).__name__}"
        raise DataError(what, place=text, remedy=remedy) from error
