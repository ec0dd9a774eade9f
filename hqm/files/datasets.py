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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import ModuleType

from hqm.errors import DataError, UsageError, missing_library
from hqm.files.records import SUFFIXES, read_json, read_text

PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff")
"""The ends of the names of pictures."""


def names_picture(text: str) -> bool:
    """Return whether a text ends as the name of a picture's file does, of any format.

    >>> names_picture("/t2i/cor/0.JFIF"), names_picture("logs/run.json")
    (True, False)
    """
    return text.strip().lower().endswith((*PICTURES, ".jfif", ".jpe", ".avif", ".heic"))


# In this order: where a folder has a table in two formats, the typed one is read.
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
        names = sorted(path.as_posix() for path in paths if "/." not in f"/{path.as_posix()}")
        return cls(str(folder), tuple(names), lambda requested: folder)

    @property
    def tables(self) -> list[str]:
        """The files that may hold rows, by the ends of their names."""
        return [name for name in self.names if name.lower().endswith(SUFFIXES)]

    def names_below(self, prefix: str) -> list[str]:
        """The files whose paths begin so."""
        return [name for name in self.names if name.startswith(prefix)]

    def path(self, name: str) -> Path:
        return self.bring([name]) / name


@dataclass(frozen=True, slots=True)
class Shard:
    """One file of rows, below the folder of its tree."""

    split: str
    name: str
    pictures: tuple[str, ...] = ()
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
    from hqm.files.parquet import check_shards

    shards = _shards(tree, config)
    check_shards({shard.name for shard in shards}, tree.label)
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
    prefix = f"{config}/" if config else ""
    names = tree.names_below(prefix)
    if config and not names:
        folders = ", ".join(sorted(_top_folders(tree.names))) or "none"
        raise DataError(
            f"it has no configuration {config!r}",
            location=tree.label,
            remedy=f"Its folders are {folders}.",
        )
    for reader in (_saved_dataset, _imagefolder, _one_kind):
        if shards := reader(tree, prefix, names):
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


def _top_folders(names: Iterable[str], prefix: str = "") -> set[str]:
    """The first folder below a prefix on the way to each of these files."""
    folders = set()
    for name in names:
        folder, slash, _ = name.removeprefix(prefix).partition("/")
        if slash:
            folders.add(folder)
    return folders


def _is_picture(name: str) -> bool:
    return name.lower().endswith(PICTURES)


def split_of(name: str) -> str:
    """The split that a file's path tells; empty where it tells none.

    >>> split_of("data/test-00000-of-00002.parquet"), split_of("Full/random/0000.parquet")
    ('test', 'random')
    >>> split_of("pope.csv"), split_of("part-00000-of-00002.parquet")
    ('', '')
    """
    path = PurePosixPath(name)
    stem = path.name.partition(".")[0]
    # the file's own name first, then the nearest folder
    for text in (stem, *reversed(path.parts[:-1])):
        # Whole words: `latest` is no `test`.
        for word in re.split(r"[^a-z0-9]+", text.lower()):
            if word in _SPLITS:
                return word
    numbered = re.fullmatch(r"(.+?)[-_]\d{5}[-_]of[-_]\d{5}.*", stem)
    if numbered:
        # Writers call the shards of any data set data-00000-of-00002 or part-00000-of-00002.
        if numbered[1] in ("data", "part"):
            return ""
        return numbered[1]
    # The hub's own conversion to Parquet names files 0000.parquet, in a folder for each split.
    if stem.isdecimal() and len(path.parts) > 1 and path.parts[-2] != "data":
        return path.parts[-2]
    return ""


def _saved_dataset(tree: Tree, prefix: str, names: Sequence[str]) -> list[Shard]:
    """Return the files that state.json of `save_to_disk` names, of one data set or all splits."""
    if f"{prefix}dataset_dict.json" in names:
        path = tree.path(f"{prefix}dataset_dict.json")
        splits = _required_list(read_json(path), "splits", tree, f"{prefix}dataset_dict.json")
        shards = []
        for split in map(str, splits):
            shards += _state(tree, f"{prefix}{split}/", split)
        return shards
    if f"{prefix}state.json" in names:
        return _state(tree, prefix, "")
    return []


def _state(tree: Tree, prefix: str, split: str) -> list[Shard]:
    name = f"{prefix}state.json"
    if name not in tree.names:
        raise DataError(
            f"the split {split!r} has no state.json",
            location=tree.label,
            remedy="Save the data set again with save_to_disk.",
        )
    files = _required_list(read_json(tree.path(name)), "_data_files", tree, name)
    shards = [
        f"{prefix}{file.get('filename') if isinstance(file, dict) else file}" for file in files
    ]
    for shard in shards:
        if shard not in tree.names:
            raise DataError(
                f"the file {shard!r}, which {name} names, is not there",
                location=tree.label,
                remedy="Copy the whole folder, or save the data set again.",
            )
    return [Shard(split, shard) for shard in shards]


def _required_list(value: object, key: str, tree: Tree, name: str) -> list[object]:
    entries = value.get(key) if isinstance(value, dict) else None
    if (
        not isinstance(entries, list)
        or not entries
        or not all(isinstance(entry, (str, dict)) for entry in entries)
    ):
        raise DataError(
            f"{name} has no list {key!r}",
            location=tree.label,
            remedy="Save the data set again with save_to_disk.",
        )
    return entries


def _imagefolder(tree: Tree, prefix: str, names: Sequence[str]) -> list[Shard]:
    """Return metadata files that have pictures beside them; the folder's name is the split."""
    shards = []
    for name in names:
        folder, _, base = name.rpartition("/")
        if base in _METADATA:
            folder_prefix = f"{folder}/" if folder else ""
            pictures = tuple(filter(_is_picture, tree.names_below(folder_prefix)))
            split = folder.removeprefix(prefix.rstrip("/")).strip("/").split("/")[-1]
            if split in ("data", "images"):
                split = ""
            if pictures:
                shards.append(Shard(split, name, pictures))
    return shards


def _one_kind(tree: Tree, prefix: str, names: Sequence[str]) -> list[Shard]:
    """Return the files of the first kind that the folder has."""
    for kind in _KINDS:
        files = [
            name
            for name in names
            if name.lower().endswith(kind) and name.rpartition("/")[2] not in _NO_ROWS
        ]
        if files:
            top_folders = {
                folder
                for folder in _top_folders(files, prefix)
                if folder != "data" and folder.lower() not in _SPLITS
            }
            if not prefix and len(top_folders) > 1:
                _refuse_ambiguous(tree, sorted(top_folders))
            # shards of Parquet are one table, but CSV files without a split may be anything
            if kind[0] in (".csv", ".jsonl") and len(files) > 1 and not all(map(split_of, files)):
                raise DataError(
                    f"it has {len(files)} files of rows: {', '.join(files[:4])}",
                    location=tree.label,
                    remedy="Name one of them.",
                )
            return [Shard(split_of(file), file) for file in files]
    return []


def _refuse_ambiguous(tree: Tree, configs: Sequence[str]) -> None:
    raise DataError(
        f"it has {len(configs)} configurations: {', '.join(configs[:8])}",
        location=tree.label,
        remedy=f"Name one behind a slash: .../{configs[0]}.",
    )


def _by_readme(tree: Tree, config: str) -> list[Shard]:
    """Return the files of a configuration that the README's heading lists."""
    selected = _selected_config(tree, config)
    if selected is None:
        return []
    shards: list[Shard] = []
    for split, patterns in _data_files(selected.get("data_files")):
        globs = [pattern.removeprefix("./") for pattern in patterns]
        for name in tree.tables:
            matches = (fnmatch.fnmatchcase(name, pattern) for pattern in globs)
            if any(matches):
                shards.append(Shard(split, name))
    if not shards and selected.get("data_dir"):
        prefix = f"{str(selected['data_dir']).strip('/')}/"
        shards = _one_kind(tree, prefix, tree.names_below(prefix))
    return shards


def _selected_config(tree: Tree, config: str) -> dict[str, object] | None:
    """Return the README's entry of a configuration, or of the default one; None where it has none.

    Raises
    ------
    DataError
        None is named, and none of several is the default.
    """
    configs = _configs(tree)
    by_name: dict[str, dict[str, object]] = {}
    # of two entries of one name the first counts
    for entry in reversed(configs):
        by_name[str(entry["config_name"])] = entry
    if config or not configs:
        return by_name.get(config)
    for entry in configs:
        if entry.get("default") is True:
            return entry
    if "default" in by_name:
        return by_name["default"]
    if len(configs) > 1:
        _refuse_ambiguous(tree, [str(entry["config_name"]) for entry in configs])
    return configs[0]


def _configs(tree: Tree) -> list[dict[str, object]]:
    if "README.md" not in tree.names:
        return []
    # The heading of a card on the hub is YAML between two lines of three hyphens.
    heading = re.match(r"---[ \t]*\r?\n(.*?)\r?\n---", read_text(tree.path("README.md")), re.DOTALL)
    if heading is None or "configs:" not in heading[1]:
        return []
    try:
        yaml = importlib.import_module("yaml")  # comes with huggingface_hub
    except ImportError:
        return []
    try:
        metadata = yaml.safe_load(heading[1])
    except (yaml.YAMLError, RecursionError, ValueError):
        # A README whose heading is no YAML may still lie beside files that tell their splits.
        return []
    configs = metadata.get("configs") if isinstance(metadata, dict) else None
    return [
        entry
        for entry in configs or []
        if isinstance(entry, dict) and isinstance(entry.get("config_name"), str)
    ]


def _data_files(files: object) -> list[tuple[str, list[str]]]:
    """Split and patterns, of the shapes that `data_files` may have; a folder stands for all files
    in it.
    """
    if isinstance(files, str) or (isinstance(files, list) and set(map(type, files)) == {str}):
        files = {"": files}
    if isinstance(files, dict):
        # the short form: split -> files
        files = [{"split": split, "path": path} for split, path in files.items()]
    pairs = []
    for entry in files if isinstance(files, list) else []:
        if isinstance(entry, dict):
            paths = entry.get("path")
            patterns = filter(None, paths if isinstance(paths, list) else [paths])
            pairs.append((str(entry.get("split") or ""), list(map(str, patterns))))
    return pairs


def read_info(tree: Tree, shards: Sequence[Shard]) -> dict[str, object]:
    """Return the dataset_info.json beside the rows; empty where there is none."""
    folder = shards[0].name.rpartition("/")[0]
    name = f"{folder}/dataset_info.json" if folder else "dataset_info.json"
    if name not in tree.names:
        return {}
    try:
        info = json.loads(tree.path(name).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if isinstance(info, dict):
        return info
    return {}


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
        component = r"[A-Za-z0-9][\w.-]*"
        match = re.fullmatch(
            rf"{_PREFIX}({component}/{component})(?:/([^@#\0]+?))?/?"
            r"(?:@([^#\s\0]+))?(?:#([^\s\0]+))?",
            text,
        )
        if match is None:
            raise UsageError(
                f"{text[:200]!r} is no name of a dataset",
                remedy=(
                    "Write hf://datasets/OWNER/NAME, and behind it /CONFIGURATION, @REVISION and"
                    " #SPLIT as needed."
                ),
            )
        return cls(*match.groups(""))


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
    # At a revision that the user names, the converted files would be of another one.
    if not name.revision and not tree.tables:
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
            return Tree(text, Tree.of(folder).names, lambda requested: folder)
        info = hub.HfApi(endpoint=_endpoint()).dataset_info(name, revision=revision or None)
    names = tuple(
        sorted(
            sibling.rfilename
            for sibling in info.siblings or ()
            if not sibling.rfilename.startswith(".")
        )
    )
    fetched: set[str] = set()
    folder_of: list[Path] = []

    def fetch(requested: Sequence[str]) -> Path:
        missing = [file_name for file_name in requested if file_name not in fetched]
        if missing or not folder_of:
            with _fetching(text, remedy) as hub:
                # A name may hold brackets, which the client would take for a pattern.
                patterns = list(map(glob.escape, missing))
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
            fetched.update(missing)
        return folder_of[0]

    return Tree(text, names, fetch)


def _endpoint() -> str | None:
    return os.environ.get("HF_ENDPOINT") or None


def _offline(hub: ModuleType) -> bool:
    return bool(hub.constants.HF_HUB_OFFLINE) or os.environ.get("HF_HUB_OFFLINE", "") in (
        "1",
        "true",
        "TRUE",
    )


@contextmanager
def _fetching(text: str, remedy: str) -> Iterator[ModuleType]:
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
        missing = missing_library("datasets of the Hugging Face hub", ["huggingface_hub"], "hub")
        raise DataError(missing.message, location=text, remedy=missing.remedy) from error
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
        # The client's messages go on for lines, with addresses and advice.
        first_sentence = (
            (str(error).strip() or type(error).__name__).splitlines()[0].partition(". ")[0]
        )
        raise DataError(
            f"the dataset cannot be fetched: {first_sentence}", location=text, remedy=remedy
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
