"""Datasets of the Hugging Face hub, named in a card as `hf://datasets/<owner>/<name>[@<revision>]`."""

from __future__ import annotations

from pathlib import Path

from hqm.errors import DataError

_PREFIX = "hf://datasets/"


def is_hub(text: str) -> bool:
    """Whether a card's folder names a dataset of the hub.

    >>> is_hub("hf://datasets/lmms-lab/POPE"), is_hub("pope")
    (True, False)
    """
    return text.startswith(_PREFIX)


def hub_folder(text: str) -> Path:
    """The folder with the parquet files of a dataset, fetched where the hub's own cache does not have them.

    Without a network, or with `HF_HUB_OFFLINE=1`, what the cache has is used.

    Raises
    ------
    DataError
        It cannot be fetched, or the package that fetches it is not installed.
    """
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError as error:
        raise DataError(
            "datasets of the hub need the package huggingface_hub, which is not installed",
            place=text,
            remedy='Install it: pip install "hqm-audit[local]"',
        ) from error

    name, _, revision = text.removeprefix(_PREFIX).partition("@")
    try:
        folder = snapshot_download(name, repo_type="dataset", revision=revision or None, allow_patterns="*.parquet")
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        remedy = "Correct the name, or fetch the dataset by hand and name its folder with --data."
        raise DataError(f"the dataset cannot be fetched: {first}", place=text, remedy=remedy) from error
    return Path(folder)
