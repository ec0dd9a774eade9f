"""Which files of a folder are the rows of a data set, and which split each belongs to.

Read are the folders that the `datasets` library writes (`save_to_disk`, of one data set or of a
dictionary of splits), its imagefolders (pictures with a `metadata.csv`, `.jsonl` or `.parquet`
beside them), and the layouts of the Hugging Face hub: `configs` in a README, or files of one kind
whose names or folders tell the split.
"""

from __future__ import annotations

import fnmatch
import glob
import importlib
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from hqm.errors import DataError, UsageError
from hqm.files.records import SUFFIXES, read_json, read_text

PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff")
"""The ends of the names of pictures."""
_KINDS = ((".parquet",), (".arrow",), (".csv", ".tsv"), (".jsonl", ".ndjson", ".json"))
_SPLITS = (
    "train",
    "training",
    "test",
    "testing",
    "validation",
    "valid",
    "val",
    "dev",
    "eval",
    "evaluation",
)
_METADATA = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
_NO_ROWS = frozenset(
    "state.json dataset_info.json dataset_infos.json dataset_dict.json dataset_info.jsonl"
    " package.json".split()
)


@dataclass(frozen=True, slots=True)
class Tree:
    """The files of a folder, here or on the hub, where they are fetched only when they are
    wanted.
    """

    label: str
    names: tuple[str, ...]
    """Paths below the folder, with slashes, sorted."""
    bring: Callable[[Sequence[str]], Path]
    """Has these files on this machine; gives the folder."""

    @classmethod
    def of(cls, folder: Path) -> Tree:
        """The files of a folder on this machine; hidden ones are left out."""
        paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
        names = sorted(
            path.as_posix()
            for path in paths
            if not any(part.startswith(".") for part in path.parts)
        )
        return cls(str(folder), tuple(names), lambda wanted: folder)

    def path(self, name: str) -> Path:
        return self.bring([name]) / name


@dataclass(frozen=True, slots=True)
class Shard:
    """One file of rows, below the folder of its tree."""

    split: str
    name: str
    beside: tuple[str, ...] = ()
    """The pictures that lie beside it."""


def shards_of(tree: Tree, config: str = "") -> list[Shard]:
    """The files with the rows of a data set, split by split.

    Parameters
    ----------
    config
        The configuration, of several: a name in the README, a folder, or one file.

    Raises
    ------
    DataError
        There is no file of rows, or there are several configurations and none is named.
    """
    if config and config in tree.names:
        return [Shard(split_of(config), config)]
    shards = _shards(tree, config)
    for shard in shards:
        numbered = re.search(r"-(\d{5})-of-(\d{5})", shard.name)
        if numbered:
            head = shard.name[: numbered.start()]
            # a hash may follow the numbers, another one in every file
            others = {
                each.name
                for each in shards
                if each.name.startswith(f"{head}-") and f"-of-{numbered[2]}" in each.name
            }
            if len(others) != int(numbered[2]):
                raise DataError(
                    f"{len(others)} of the {int(numbered[2])} files {head}-* are there",
                    location=tree.label,
                    remedy="Fetch or copy the others too.",
                )
    return shards


def _shards(tree: Tree, config: str) -> list[Shard]:
    if "card.toml" in tree.names:
        raise DataError(
            "the folder is a benchmark of HQM already: it has a card.toml",
            location=tree.label,
            remedy=f"Audit it as it is: `hqm audit {tree.label}`.",
        )
    if shards := _by_readme(tree, config):
        return shards
    inside = f"{config}/" if config else ""
    names = [name for name in tree.names if name.startswith(inside)]
    if config and not names:
        there = (
            ", ".join(sorted({name.partition("/")[0] for name in tree.names if "/" in name}))
            or "none"
        )
        raise DataError(
            f"it has no configuration {config!r}",
            location=tree.label,
            remedy=f"Its folders are {there}.",
        )
    for reader in (_saved, _imagefolder, _one_kind):
        if shards := reader(tree, inside, names):
            return shards
    raise DataError(
        (
            "it has no file of rows"
            + (
                ", only pictures: nobody knows what is asked about them"
                if any(map(_is_picture, names))
                else ""
            )
        ),
        location=tree.label,
        remedy=(
            f"Add one ({', '.join(SUFFIXES)}); beside pictures, metadata.csv with file_name,"
            " question and answer."
        ),
    )


def _is_picture(name: str) -> bool:
    return name.lower().endswith(PICTURES)


def split_of(name: str) -> str:
    """The split that a file's path tells; empty where it tells none.

    >>> split_of("data/test-00000-of-00002.parquet"), split_of("Full/random/0000.parquet")
    ('test', 'random')
    >>> split_of("pope.csv")
    ''
    """
    path = PurePosixPath(name)
    stem = path.name.partition(".")[0]
    for text in (stem, *(part for part in reversed(path.parts[:-1]))):
        for word in re.split(r"[^a-z0-9]+", text.lower()):
            if word in _SPLITS:
                return word
    numbered = re.fullmatch(r"(.+?)[-_]\d{5}[-_]of[-_]\d{5}.*", stem)
    if numbered:
        return "" if numbered[1] in ("data", "part") else numbered[1]
    return (
        path.parts[-2]
        if stem.isdecimal() and len(path.parts) > 1 and path.parts[-2] != "data"
        else ""
    )


def _saved(tree: Tree, inside: str, names: Sequence[str]) -> list[Shard]:
    """What `save_to_disk` wrote: the files that a state.json names, of one data set or of every
    split.
    """
    if f"{inside}dataset_dict.json" in names:
        path = tree.path(f"{inside}dataset_dict.json")
        splits = _listed(read_json(path), "splits", tree, f"{inside}dataset_dict.json")
        return [shard for split in splits for shard in _state(tree, f"{inside}{split}/", split)]
    return _state(tree, inside, "") if f"{inside}state.json" in names else []


def _state(tree: Tree, inside: str, split: str) -> list[Shard]:
    name = f"{inside}state.json"
    if name not in tree.names:
        raise DataError(
            f"the split {split!r} has no state.json",
            location=tree.label,
            remedy="Save the data set again with save_to_disk.",
        )
    files = _listed(read_json(tree.path(name)), "_data_files", tree, name)
    shards = [
        f"{inside}{file.get('filename') if isinstance(file, dict) else file}" for file in files
    ]
    for shard in shards:
        if shard not in tree.names:
            raise DataError(
                f"the file {shard!r}, which {name} names, is not there",
                location=tree.label,
                remedy="Copy the whole folder, or save the data set again.",
            )
    return [Shard(split, shard) for shard in shards]


def _listed(value: Any, key: str, tree: Tree, name: str) -> list[Any]:
    listed = value.get(key) if isinstance(value, dict) else None
    if (
        not isinstance(listed, list)
        or not listed
        or not all(isinstance(each, (str, dict)) for each in listed)
    ):
        raise DataError(
            f"{name} has no list {key!r}",
            location=tree.label,
            remedy="Save the data set again with save_to_disk.",
        )
    return listed


def _imagefolder(tree: Tree, inside: str, names: Sequence[str]) -> list[Shard]:
    """Files of metadata that have pictures beside them; the folder's name is the split."""
    shards = []
    for name in names:
        folder, _, base = name.rpartition("/")
        if base in _METADATA:
            below = f"{folder}/" if folder else ""
            beside = tuple(
                other for other in tree.names if other.startswith(below) and _is_picture(other)
            )
            split = folder.removeprefix(inside.rstrip("/")).strip("/").split("/")[-1]
            shards += (
                [Shard("" if split in ("data", "images") else split, name, beside)]
                if beside
                else []
            )
    return shards


def _one_kind(tree: Tree, inside: str, names: Sequence[str]) -> list[Shard]:
    """The files of the first kind that there is any of."""
    for kind in _KINDS:
        files = [
            name
            for name in names
            if name.lower().endswith(kind) and name.rpartition("/")[2] not in _NO_ROWS
        ]
        if files:
            tops = {
                name.removeprefix(inside).partition("/")[0]
                for name in files
                if "/" in name.removeprefix(inside)
            }
            tops = {top for top in tops if top != "data" and top.lower() not in _SPLITS}
            if not inside and len(tops) > 1:
                _which(tree, sorted(tops))
            if kind[0] in (".csv", ".jsonl") and len(files) > 1 and not all(map(split_of, files)):
                raise DataError(
                    f"it has {len(files)} files of rows: {', '.join(files[:4])}",
                    location=tree.label,
                    remedy="Name one of them.",
                )
            return [Shard(split_of(name), name) for name in files]
    return []


def _which(tree: Tree, configs: Sequence[str]) -> None:
    raise DataError(
        f"it has {len(configs)} configurations: {', '.join(configs[:8])}",
        location=tree.label,
        remedy=f"Name one behind a slash: .../{configs[0]}.",
    )


def _by_readme(tree: Tree, config: str) -> list[Shard]:
    """The files of a configuration that the README's heading lists."""
    configs = _configs(tree)
    if not configs:
        return []
    names = [str(each["config_name"]) for each in configs]
    if not config:
        named = [each for each in configs if each.get("default") is True] or [
            each for each in configs if each["config_name"] == "default"
        ]
        chosen = (named or configs)[0]
        if not named and len(configs) > 1:
            _which(tree, names)
    elif config in names:
        chosen = configs[names.index(config)]
    else:
        return []
    shards = [
        Shard(split, name)
        for split, patterns in _data_files(chosen.get("data_files"))
        for name in tree.names
        if any(fnmatch.fnmatchcase(name, pattern.removeprefix("./")) for pattern in patterns)
        and name.lower().endswith(SUFFIXES)
    ]
    if not shards and chosen.get("data_dir"):
        inside = f"{str(chosen['data_dir']).strip('/')}/"
        shards = _one_kind(tree, inside, [name for name in tree.names if name.startswith(inside)])
    return shards


def _configs(tree: Tree) -> list[dict[str, Any]]:
    if "README.md" not in tree.names:
        return []
    heading = re.match(r"---[ \t]*\r?\n(.*?)\r?\n---", read_text(tree.path("README.md")), re.DOTALL)
    if heading is None or "configs:" not in heading[1]:
        return []
    try:
        yaml: Any = importlib.import_module("yaml")  # comes with huggingface_hub
    except ImportError:
        return []
    try:
        about = yaml.safe_load(heading[1])
    except (yaml.YAMLError, RecursionError, ValueError):
        return []
    configs = about.get("configs") if isinstance(about, dict) else None
    return [
        each
        for each in configs or []
        if isinstance(each, dict) and isinstance(each.get("config_name"), str)
    ]


def _data_files(files: Any) -> list[tuple[str, list[str]]]:
    """Split and patterns, of the shapes that `data_files` may have; a folder stands for all files
    in it.
    """
    if isinstance(files, str) or (
        isinstance(files, list) and files and all(isinstance(each, str) for each in files)
    ):
        files = {"": files}
    if isinstance(files, dict):
        files = [{"split": split, "path": path} for split, path in files.items()]
    pairs = []
    for each in files if isinstance(files, list) else []:
        if isinstance(each, dict):
            paths = each.get("path")
            patterns = [
                str(path) for path in (paths if isinstance(paths, list) else [paths]) if path
            ]
            pairs.append((str(each.get("split") or ""), patterns))
    return pairs


def read_info(tree: Tree, shards: Sequence[Shard]) -> dict[str, Any]:
    """What the data set says of itself in the dataset_info.json beside its rows; nothing where
    there is none.
    """
    folder = shards[0].name.rpartition("/")[0]
    name = f"{folder}/dataset_info.json" if folder else "dataset_info.json"
    if name not in tree.names:
        return {}
    try:
        info = json.loads(tree.path(name).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return info if isinstance(info, dict) else {}


# --- data sets of the Hugging Face hub ---
#
# A card names one as `hf://datasets/<owner>/<name>[@<revision>]`, and `hqm new --from` as
# `hf://datasets/<owner>/<name>[/<configuration>][@<revision>][#<split>]`. The variable
# `HF_ENDPOINT` names another hub.

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
            raise UsageError(
                f"{text[:200]!r} is no name of a dataset",
                remedy=(
                    "Write hf://datasets/OWNER/NAME, and behind it /CONFIGURATION, @REVISION and"
                    " #SPLIT as needed."
                ),
            )
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
        raise DataError(
            (
                "datasets of the Hugging Face hub need the library huggingface_hub, which is not"
                " installed"
            ),
            location=text,
            remedy="Run: pip install 'hqm-audit[hub]'.",
        ) from error
    try:
        yield huggingface_hub
    except GatedRepoError as error:
        raise DataError(
            "its owner gives it only to those who accept the terms", location=text, remedy=remedy
        ) from error
    except RevisionNotFoundError as error:
        raise DataError("the dataset has no such revision", location=text, remedy=remedy) from error
    except RepositoryNotFoundError as error:
        raise DataError(
            "there is no such dataset, or it is private", location=text, remedy=remedy
        ) from error
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0].partition(". ")[0]
        raise DataError(
            f"the dataset cannot be fetched: {first}", location=text, remedy=remedy
        ) from error
    except Exception as error:
        # whatever the library's client of the day raises where no server answers
        if not any(kind.__module__.partition(".")[0] in _CLIENTS for kind in type(error).__mro__):
            raise
        raise DataError(
            f"the dataset cannot be fetched: {str(error) or type(error).__name__}",
            location=text,
            remedy=remedy,
        ) from error
