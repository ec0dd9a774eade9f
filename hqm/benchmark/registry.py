"""Find a benchmark by its name, folder, Python file or entry point, and load it.

load("pope")                 a card in benchmarks/pope, scored by adapters/pope.py
load("my_benchmark/")        a folder with card.toml and items, no code; or its card.toml
load("my_benchmark.py")      one file: CARD = {...} and a subclass of Benchmark
load("theirs")               another package, by an entry point of the group `hqm.benchmarks`
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from hqm.benchmark.adapter import Benchmark, Scoring
from hqm.benchmark.card import Card
from hqm.benchmark.findings import Finding
from hqm.benchmark.items import read_items, select_part
from hqm.benchmark.judge_api import Prompts
from hqm.errors import CardError, DataError, HQMError, UsageError, meant
from hqm.extensions import load_extension, missing_extension, names_in
from hqm.files.datasets import hub_folder, is_hub
from hqm.scoring.rules import Withholding
from hqm.types import Form, Item, Response, Verdict

# --- whether all parts of HQM come from one copy of it ---
#
# `adapters`, `benchmarks` and `reports` lie beside `hqm` in a checkout and are mounted under it
# by the installation. In the folder of a second checkout Python takes `hqm` from there and the
# three mounted parts from the installed one: two versions would be mixed without a word.

MOUNTED = ("adapters", "benchmarks", "reports")
"""What is installed as `hqm.<name>` and lies beside `hqm` in a checkout."""


@cache
def check_origin() -> None:
    """Make sure that the mounted parts lie in the package `hqm` (a wheel) or beside it (a
    checkout).

    Raises
    ------
    UsageError
        A part comes from another copy of HQM.
    """
    # Links are resolved on both sides: an editable installation mounts the three parts by links.
    home = Path(__file__).resolve().parents[1]
    for name in MOUNTED:
        spec = importlib.util.find_spec(f"hqm.{name}")
        locations = spec.submodule_search_locations if spec else None
        folders = [Path(folder).resolve() for folder in locations or ()]
        if not folders:
            raise UsageError(
                f"hqm.{name} is not installed",
                location=str(home),
                remedy="Install hqm-audit again.",
            )
        if folders[0] not in (home / name, home.parent / name):
            raise UsageError(
                f"two copies of HQM are mixed: hqm is imported from {home}, but hqm.{name} from"
                f" {folders[0]}",
                remedy=(
                    f"Run `pip install --editable .` in {home.parent}, or work in"
                    f" {folders[0].parent}."
                ),
            )


# --- short forms: the adapter's scoring, with items and pictures of their own ---


class _ShortForm(Benchmark):
    """The members in which a short form differs from the benchmark whose adapter scores it."""

    def __init__(
        self, card: Card, data: Path, *, images: Path | str | None = None, **settings: Any
    ) -> None:
        super().__init__(card, data, images=images, **settings)
        if images is None:
            # an adapter may have named the folder of its release
            self._images = None
            self._web = ""

    def read(self) -> Form:
        """The items of its folder."""
        return read_items(self.card, self.data)

    def more_forms(self, form: Form) -> tuple[Form, ...]:
        """None: the forms of a release have all its items."""
        return ()

    def check(self, form: Form) -> Iterable[Finding]:
        """None: the checks of a release need all its items."""
        return ()

    def prepare_images(self, form: Form) -> None:
        """Nothing: they lie in its folder."""

    def judges(self) -> Mapping[str, Callable[[Item, Response], Verdict]]:
        """None: they read files of the release."""
        return {}


GROUP = "hqm.benchmarks"
ADAPTERS = "hqm.adapters"
"""The group of entry points by which an extension brings adapters that cards name."""
DATA_VARIABLE = "HQM_DATA"
EXAMPLE = "example"
"""The name of the log that ships with HQM."""
_ADAPTER_REMEDY = (
    "Remove the key `adapter`, or name a module of `hqm.adapters`; own code belongs into an"
    " adapter.py."
)


def shipped() -> Path:
    """The folder of the benchmarks that come with HQM."""
    check_origin()
    spec = importlib.util.find_spec("hqm.benchmarks")
    if spec is None or not spec.submodule_search_locations:
        raise DataError(
            "the folder of benchmarks is not installed", remedy="Install hqm-audit again."
        )
    return Path(next(iter(spec.submodule_search_locations)))


def names() -> tuple[str, ...]:
    """Return the names of all known benchmarks.

    Returns
    -------
    tuple of str
        Sorted: those that come with HQM, and those of installed packages.
    """
    return tuple(sorted({*_shipped_names(shipped()), *names_in(GROUP)}))


@cache
def _shipped_names(folder: Path) -> frozenset[str]:
    # By the folders alone: a list of names needs no card parsed.
    return frozenset(path.parent.name for path in folder.glob("*/card.toml"))


# what comes with HQM stays as it is while the program runs, and every command asks for it several
# times
_shipped_card = cache(Card.load)


def groups() -> dict[str, tuple[str, ...]]:
    """The names that stand for several benchmarks together."""
    members_of: dict[str, list[str]] = {}
    for name, known_card in known_cards()[0].items():
        if known_card.group:
            members_of.setdefault(known_card.group, []).append(name)
    return {group: tuple(members) for group, members in sorted(members_of.items())}


def known_cards() -> tuple[dict[str, Card], list[HQMError]]:
    """The cards of all known benchmarks by name, and the errors of those that cannot be loaded: a
    package that is broken concerns only whoever names its benchmark.
    """
    cards_by_name = {}
    errors = []
    for name in names():
        try:
            cards_by_name[name] = card(name)
        except HQMError as error:
            errors.append(error)
    return cards_by_name, errors


def card(name: str) -> Card:
    """The card of a benchmark known by name."""
    folder = shipped()
    if name in _shipped_names(folder):
        return _shipped_card(folder / name / "card.toml")
    return load(name).card


def cards(requested: Sequence[str]) -> list[Card]:
    """The cards that names stand for: benchmarks, groups, folders with a card.toml, or `all`."""
    selected: dict[str, Card] = {}
    for name in names() if "all" in requested else map(folder_of_card, requested):
        members = groups().get(name, (name,))
        path = Path(name) / "card.toml"
        member_cards: Iterable[Card] = [Card.load(path)] if path.is_file() else map(card, members)
        for member_card in member_cards:
            selected[member_card.name] = member_card
    return list(selected.values())


def folder_of_card(name: str) -> str:
    """The folder of a benchmark that is named by the path of its card; any other name as it is.

    >>> folder_of_card("signs/card.toml"), folder_of_card("pope")
    ('signs', 'pope')
    """
    path = Path(name)
    if path.name == "card.toml":
        return str(path.parent)
    return name


def load_all(name: str, *, fitting: bool = False, **settings: Any) -> list[Benchmark]:
    """The benchmarks that a name stands for: the members of a group, or the benchmark of that
    name. `fitting` is that of `load`.
    """
    members = groups().get(name)
    if not members:
        return [load(name, **settings, fitting=fitting)]
    # a mode or a choice of words goes to those members that know it
    return [load(member, **settings, fitting=True) for member in members]


def load(
    name: str | Path,
    *,
    part: str | None = None,
    data: Path | str | None = None,
    images: Path | str | None = None,
    scoring: Scoring = "official",
    parser: str | None = None,
    mode: str | None = None,
    prompts: Prompts = "hqm",
    words: str | None = None,
    withheld: Withholding = "unscored",
    fitting: bool = False,
) -> Benchmark:
    """Load a benchmark.

    Parameters
    ----------
    name
        A known name, a folder with a `card.toml`, or a Python file.
    part
        Only the items of this part (`coco_random` of POPE).
    data
        The folder of released data; `HQM_DATA` unless given. The card says which folder below it
        belongs to the benchmark.
    images, scoring, parser, mode, prompts, words, withheld
        As in `Benchmark`.
    fitting
        Ignore a mode or a choice of words that this benchmark does not have, as some members of a
        group may not.

    Returns
    -------
    Benchmark
        The benchmark; its items are read when they are first asked for.

    Raises
    ------
    UsageError
        There is no such benchmark, part, scoring or parser; or the name stands for several
        benchmarks.
    CardError
        Its card cannot be used.

    Examples
    --------
    >>> load("shapes_yesno").card.task
    'yes_no'
    """
    name = folder_of_card(str(name))
    path = Path(name)
    if path.suffix == ".py":
        adapter, its_card, folder = _from_file(path)
    elif (path / "card.toml").is_file():
        its_card = Card.load(path / "card.toml")
        folder = path
        adapter = _adapter_in_folder(its_card, path / "adapter.py")
    elif (shipped() / name / "card.toml").is_file():
        folder = shipped() / name
        its_card = Card.load(folder / "card.toml")
        adapter = adapter_of(its_card)
    else:
        adapter, its_card, folder = _from_entry_point(name)
    data_folder = _data_folder(its_card, folder, None if data is None else Path(data))
    if its_card.shortened.calibration:
        class_name = f"Short{adapter.__name__}"
        # The members of `_ShortForm` come first in the method resolution order and hide the
        # adapter's. The module stays the adapter's: it names the code that scores.
        adapter = type(class_name, (_ShortForm, adapter), {"__module__": adapter.__module__})
    # Asked of the class, as an adapter's `__init__` already refuses a mode that it does not have.
    if fitting and mode not in adapter.modes:
        mode = None
    if fitting and not adapter.recipes:
        words = None
    settings: dict[str, Any] = {
        "scoring": scoring,
        "reader": parser,
        "mode": mode,
        "prompts": prompts,
        "words": words,
    }
    if withheld != "unscored":  # an adapter with an `__init__` of its own need not know it
        settings["withheld"] = withheld
    benchmark = adapter(its_card, data_folder, images=images, home=folder, **settings)
    if part is not None:
        benchmark.original = select_part(benchmark.original, part, benchmark.name)
        benchmark.part = part
    return benchmark


def make(
    card: Card,
    folder: Path,
    *,
    data: Path | None = None,
    parser: str | None = None,
    **settings: Any,
) -> Benchmark:
    """The benchmark, without any code of its own, of a card that was read already."""
    return Benchmark(card, _data_folder(card, folder, data), home=folder, reader=parser, **settings)


def _data_folder(card: Card, folder: Path, data: Path | None) -> Path:
    if not card.data.folder:
        # The card of a benchmark of one's own names no folder: the data lie beside it.
        return data or folder
    if is_hub(card.data.folder) and data is None:
        return hub_folder(card.data.folder)
    message = f"the data of {card.name} do not come with HQM"
    if data or DATA_VARIABLE in os.environ:
        root = data or Path(os.environ[DATA_VARIABLE])
        # a root that is itself the benchmark's folder is taken as such
        for candidate in (root / card.data.folder, root):
            if candidate.is_dir():
                return candidate
        message = f"the data of {card.name} are not there (looked for {root / card.data.folder})"
    remedy = (
        f"Name the folder that holds {card.data.folder!r} with --data or the variable"
        f" {DATA_VARIABLE}."
    )
    if card.source.files:
        remedy += f" `hqm fetch {card.name}` gets what may be fetched."
    raise DataError(message, remedy=remedy)


def adapter_of(card: Card) -> type[Benchmark]:
    """The adapter that a card names, in `hqm.adapters` or of an extension, or that has the card's
    name; `Benchmark` where there is none.
    """
    name = card.adapter or card.name
    # Looked for and not tried: an ImportError inside of an adapter must not read as a missing one.
    if importlib.util.find_spec(f"hqm.adapters.{name}") is None:
        if not card.adapter:
            return Benchmark
        if name in names_in(ADAPTERS):
            extension_adapter: type[Benchmark] = load_extension(ADAPTERS, name, "an adapter")
            return extension_adapter
        raise missing_extension(name) or CardError(
            f"there is no adapter {name!r}", location=card.name, remedy=_ADAPTER_REMEDY
        )
    # imported only now: an adapter may need what its benchmark alone needs
    adapter = _class_of(importlib.import_module(f"hqm.adapters.{name}"))
    if card.adapter and adapter is Benchmark:
        raise CardError(
            f"the adapter {card.adapter!r} defines no benchmark",
            location=card.name,
            remedy=_ADAPTER_REMEDY,
        )
    return adapter


def _adapter_in_folder(card: Card, path: Path) -> type[Benchmark]:
    """The class in the adapter.py beside a card; without that file, the adapter that the card
    names.
    """
    if not card.adapter:
        if path.is_file():
            return _class_of(_import_file(path))
        return Benchmark
    if path.is_file():
        raise CardError(
            f"its card names the adapter {card.adapter!r}, and there is an adapter.py beside it",
            location=str(path.parent),
            remedy="Remove one of the two.",
        )
    return adapter_of(card)


def _from_file(path: Path) -> tuple[type[Benchmark], Card, Path]:
    if not path.is_file():
        raise UsageError(
            "there is no such file",
            location=str(path),
            remedy="Correct the path.",
            name=str(path),
            choices=sorted(map(str, path.parent.glob("*.py"))),
        )
    module = _import_file(path)
    data = getattr(module, "CARD", None)
    if not isinstance(data, dict):
        raise CardError(
            "it has no CARD",
            location=str(path),
            remedy="Define CARD = {...} with the keys of a card.toml.",
        )
    return _class_of(module), Card.parse(data, str(path)), path.parent


def _import_file(path: Path) -> ModuleType:
    # With the folder's name, as the code beside a card is always called adapter.py.
    name = f"hqm_user_{path.resolve().parent.name}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError("it is no Python file", location=str(path))
    module = importlib.util.module_from_spec(spec)
    # a dataclass of the file looks its module up in `sys.modules` while it is made
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise CardError(
            f"it cannot be imported: {type(error).__name__}: {error}", location=str(path)
        ) from error
    return module


def _class_of(module: ModuleType) -> type[Benchmark]:
    # Classes that the module only imports, as `Benchmark` itself, are not those that it defines.
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Benchmark)
        and value.__module__ == module.__name__
    ]
    if len(classes) > 1:
        raise CardError(
            f"it defines {len(classes)} benchmarks",
            location=module.__name__,
            remedy="Define one benchmark in each file.",
        )
    if classes:
        return classes[0]
    return Benchmark


def _from_entry_point(name: str) -> tuple[type[Benchmark], Card, Path]:
    has_entry_point = name in names_in(GROUP)
    if not has_entry_point and name in groups():
        members = ", ".join(groups()[name])
        raise UsageError(
            f"{name!r} stands for several benchmarks",
            remedy=f"Load one of {members}, or all by load_all.",
        )
    if not has_entry_point:
        raise unknown_benchmark(name)
    module = load_extension(GROUP, name, "a benchmark")
    if not isinstance(module, ModuleType):
        module = sys.modules[module.__module__]
    return _from_module(module, name)


def example_folder() -> Path:
    """The folder of the log that ships with HQM."""
    return shipped() / "shapes" / "log"


def log_path(name: str) -> Path:
    """The file or folder of a log; `example` is the log that ships with HQM, where the working
    folder has no such file.
    """
    path = Path(name)
    if name == EXAMPLE and not path.exists():
        return example_folder()
    return path


def is_log(name: str) -> bool:
    """Whether a name is no benchmark's, but that of a file or folder with answers of others.

    >>> is_log("pope"), is_log("no-such-file.jsonl")
    (False, False)
    """
    path = log_path(folder_of_card(name))
    if path.suffix == ".py" or (path / "card.toml").is_file():
        return False
    if path.is_file():
        return True
    if not path.is_dir() or name in (*names(), *groups()):
        return False
    from hqm.imports.log_file import files_in

    # A folder of benchmarks has files of items, which could be taken for answers.
    return bool(files_in(path)) and not any(path.glob("*/card.toml"))


def _folders_with_cards(folder: Path) -> list[str]:
    return sorted(str(card.parent) for card in folder.glob("*/card.toml"))


def unknown_benchmark(name: str) -> UsageError:
    """The error for a name of no benchmark; it names the nearest benchmark or folder with a card,
    and all benchmarks.
    """
    path = Path(name)
    if path.is_dir():
        subfolders = _folders_with_cards(path)
        if subfolders:
            remedy = f"Name {' or '.join(subfolders[:5])}."
        elif any(path.iterdir()):
            remedy = "Write one, or name another folder."
        else:
            remedy = f"Begin one with `hqm new {shlex.quote(name)}`."
        return UsageError("the folder has no card.toml", location=name, remedy=remedy)
    if path.name != name:
        return UsageError(
            "there is no such file or folder",
            location=name,
            remedy="Correct the path; `hqm list` has the benchmarks that are known by name.",
            name=name,
            # of two paths the names are compared, not the folders that they share
            choices=[
                candidate
                for candidate in _folders_with_cards(path.parent)
                if meant(path.name, [Path(candidate).name])
            ],
        )
    benchmark_names = sorted({*names(), *groups()})
    return UsageError(
        f"there is no benchmark {name!r}",
        remedy=(
            f"Known are {', '.join(benchmark_names)}; or name a folder with a card.toml, a Python"
            " file, a log or a table of scores."
        ),
        name=name,
        choices=[*benchmark_names, *_folders_with_cards(path.parent)],
    )


def _from_module(module: ModuleType, name: str) -> tuple[type[Benchmark], Card, Path]:
    folder = Path(module.__file__ or ".").parent
    data = getattr(module, "CARD", None)
    if isinstance(data, dict):
        its_card = Card.parse(data, name)
    else:
        its_card = Card.load(folder / "card.toml")
    return _class_of(module), its_card, folder
