"""Make the folder of a new benchmark: card, items, pictures, README, policy, CI workflow.

The items come from a file or data set of questions, or are a few of the embedded benchmark, which
the embedded respondents can answer.
"""

from __future__ import annotations

import importlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from itertools import compress, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import cast, get_args

from hqm.auditing.gate import default_text
from hqm.benchmark.card import Card, RaiSection
from hqm.benchmark.items import item_type, read_items
from hqm.benchmark.log_benchmark import questions_of_logs
from hqm.benchmark.new_columns import parse_columns
from hqm.benchmark.new_items import read_questions
from hqm.benchmark.new_sources import GatheredPictures, open_source
from hqm.commands.terminal import print_line, print_lines
from hqm.errors import DataError, UsageError, check_known
from hqm.files.cache import is_url
from hqm.files.dialect import csv_text
from hqm.files.images import ImageSource, open_images
from hqm.files.records import read_records, write_records
from hqm.files.toml_files import toml_value
from hqm.files.whole import atomic_folder, name_for, write_text, write_texts
from hqm.text import check_name
from hqm.types import Task
from hqm.version import REPOSITORY, __version__

_SCENES = 4
_MAX_UNUSED = 30
"""Columns that are listed as not read at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBenchmark:
    """The folder of a new benchmark: what was written, and what of the source was read."""

    folder: Path
    task: Task
    items: int
    pictures: int
    columns: Mapping[str, str] = field(default_factory=dict)
    """Field of an item -> the column that it was read from."""
    unused: tuple[str, ...] = ()
    """The columns that no field was read from."""
    parts: tuple[str, ...] = ()
    """The splits of the source that became parts."""
    web: int = 0
    """Pictures that are web addresses; they are fetched when they are first shown."""
    without_picture: int = 0
    """Items without a picture, where others have one."""
    n_left_out: int = 0
    """Rows of which no item could be made."""


@dataclass(frozen=True, slots=True)
class Description:
    """The texts of a benchmark's card."""

    title: str = ""
    licence: str = ""
    citation: str = ""
    summary: str = ""


def write_new_benchmark(
    folder: Path,
    questions: str | None = None,
    images: str | None = None,
    task: str | None = None,
    description: Description | None = None,
    *,
    columns: Sequence[str] = (),
    split: str | None = None,
    keep_going: bool = False,
) -> NewBenchmark:
    """Write the folder of a new benchmark.

    All is read, checked and written beside the folder first, so that the folder is there whole or
    not at all.

    Parameters
    ----------
    folder
        Where; its last part, in lower case, is the benchmark's name. It must not exist, or be
        empty.
    questions
        A source of questions, as `open_source` takes it; sample items without one.
    images
        The folder or zip that pictures are named from; the folder of the questions' file unless
        given.
    task
        `yes_no`, `choice`, `vqa` or `caption`; told from the answers and options unless given.
    columns
        Which columns are the fields of an item, as `FIELD=COLUMN`; told from their names unless
        given.
    split
        The splits to take, joined by commas; all, each as a part, unless given.
    keep_going
        Whether rows of which no item can be made are left out, and listed in `left_out.csv`.

    Raises
    ------
    UsageError
        The folder is there already, its name cannot be a benchmark's, or an option means nothing.
    DataError
        The source cannot be read, or something in it is wrong; the sentence names the file, row and
        column.
    """
    name = name_for(folder)
    if task is not None:
        check_known(task, get_args(Task), f"there is no task {task!r}", "The tasks are {}.")
    options = {"pictures": images, "columns": ", ".join(columns), "a split": split}
    extra_option = next((option for option, value in options.items() if value), None)
    if questions is None and extra_option:
        raise UsageError(
            f"{extra_option} without questions",
            location=options[extra_option] or "",
            remedy="Name a file with --from.",
        )
    description = description or Description()
    # Before the questions are read, which may take minutes.
    check_name(description.title, "title", "--title")
    with atomic_folder(folder) as draft_folder:
        if questions is not None:
            new, rows, description = _from_source(
                draft_folder, questions, images, task, description, columns, split, keep_going
            )
            respondents: tuple[str, ...] = ()
        else:
            sample_task = cast(Task, task) if task else "yes_no"
            rows, respondents = _samples(sample_task, draft_folder / "images")
            new = NewBenchmark(folder=folder, task=sample_task, items=len(rows), pictures=_SCENES)
        _write_files(draft_folder, name, new, rows, description, respondents)
    return replace(new, folder=folder)


def _from_source(
    draft_folder: Path,
    questions: str,
    images: str | None,
    task: str | None,
    description: Description,
    columns: Sequence[str],
    split: str | None,
    keep_going: bool,
) -> tuple[NewBenchmark, Sequence[Mapping[str, object]], Description]:
    named_columns = parse_columns(columns)
    # A log is asked about first: its rows would also pass as a table of questions. Who names
    # columns has such a table.
    source = questions_of_logs(
        questions, with_pictures=images is not None, also_tables=not named_columns
    )
    source = source or open_source(questions)
    if split:
        source = source.select_splits([split_name.strip() for split_name in split.split(",")])
    # all is written beside the folder, which is there whole or not at all
    (draft_folder / "images").mkdir()
    gathered = GatheredPictures(draft_folder / "images", _open_pictures(images) if images else None)
    read = read_questions(
        source, named_columns, gathered, cast("Task | None", task), keep_going=keep_going
    )
    if read.faults:
        faults = [(fault.location, fault.message) for fault in read.faults.values()]
        write_text(draft_folder / "left_out.csv", csv_text([("place", "fault"), *faults]))
    n_pictured = sum("image" in row for row in read.rows)
    # Pictures that were named and never found are a misread column, and no benchmark of texts.
    if images and not n_pictured:
        raise UsageError(
            "no column names the pictures"
            f" (not read: {', '.join(map(repr, read.unused)) or 'none'})",
            location=questions,
            remedy="Say which it is, --columns image=NAME, or leave out --images.",
        )
    new = NewBenchmark(
        folder=draft_folder,
        task=read.task,
        items=len(read.rows),
        pictures=len(gathered),
        columns=read.columns,
        unused=read.unused,
        parts=read.parts,
        web=len(gathered.web),
        without_picture=len(read.rows) - n_pictured if n_pictured else 0,
        n_left_out=len(read.faults),
    )
    # a data set of the hub may say whom to cite and under which licence
    source_values = {
        key: str(source.dataset_info.get(key) or "").strip() for key in ("citation", "license")
    }
    description = replace(
        description,
        citation=description.citation or source_values["citation"],
        licence=description.licence or source_values["license"],
    )
    return new, read.rows, description


def _open_pictures(images: str) -> ImageSource:
    if is_url(images):
        raise UsageError(
            "pictures are copied from this machine only",
            location=images,
            remedy="Fetch the pictures and name their folder, or write whole addresses into their"
            " column.",
        )
    if not Path(images).exists():
        raise UsageError(
            "there is no such folder or zip", location=images, remedy="Correct --images."
        )
    return open_images(Path(images))


def _write_files(
    folder: Path,
    name: str,
    new: NewBenchmark,
    rows: Sequence[Mapping[str, object]],
    description: Description,
    respondents: Sequence[str],
) -> None:
    write_records(folder / "items.jsonl", rows)
    # The action is pinned to the version that wrote the workflow: a later one may judge otherwise.
    action = f"{REPOSITORY.removeprefix('https://github.com/')}@v{__version__}"
    workflow = _template("workflow.yml").replace("OWNER/hqm@REVISION", action)
    write_texts(
        folder,
        {
            "card.toml": _card(name, new.task, rows, description, respondents),
            "README.md": _readme(name, new.task, rows, description),
            # A copy, with its comments and sources, which the author may change.
            "policy.toml": default_text(),
            ".gitignore": "out/\n",
            ".github/workflows/hqm.yml": workflow,
        },
    )
    read_items(Card.load(folder / "card.toml"), folder)  # what was written is what can be read


def _samples(task: Task, images: Path) -> tuple[list[dict[str, object]], tuple[str, ...]]:
    """Copy two questions about each of four drawn pictures of the embedded benchmark. Return them
    with respondents that can answer.
    """
    scenes = importlib.import_module("hqm.benchmarks.shapes.scene")
    registry = importlib.import_module("hqm.benchmark.registry")
    # The embedded benchmarks are named by their tasks, such as shapes_yesno.
    shapes = registry.load(f"shapes_{task.replace('_', '')}")
    images.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, object]] = []
    records = read_records(shapes.data / "items.jsonl")
    for picture, picture_records in groupby(records, itemgetter("image")):
        if len(rows) == 2 * _SCENES:
            break
        picture_rows = list(islice(picture_records, 2))
        if len(picture_rows) < 2:
            # Every picture has as many questions, so that a sample has clusters of two.
            continue
        scene = shapes.scenes[picture]
        # Two rows stand before each further picture.
        name = f"sample-{len(rows) // 2 + 1}.png"
        scenes.draw(scene).save(images / name)
        picture_fields = {
            "image": name,
            **({"target": scene.things[0].name} if task == "caption" else {}),
        }
        for row in picture_rows:
            rows.append({**row, "id": f"q{len(rows) + 1:04}", **picture_fields})
    return rows, tuple(registry.card("shapes_yesno").respondents.embedded)


def _types(rows: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the types of the items that HQM knows; `hqm check` reports the others."""
    types = []
    for row in rows:
        try:
            types.append(item_type(row.get("type")))
        except DataError:
            # A type that HQM does not know is no fault of a new folder: the card leaves it out.
            continue
    return list(dict.fromkeys(kind for kind in types if kind))


def _card(
    name: str,
    task: Task,
    rows: Sequence[Mapping[str, object]],
    description: Description,
    respondents: Sequence[str],
) -> str:
    types = _types(rows)
    embedded = [
        "",
        "[respondents]          # the sample items' own; leave them out with your own items",
        f"embedded = {toml_value(list(respondents))}",
    ]
    lines = [
        f"name = {toml_value(name)}",
        f"title = {toml_value(description.title or _title(name))}",
        'version = "1.0.0"            # change it whenever the items change',
        f"task = {toml_value(task)}",
        f"summary = {toml_value(description.summary)}                # one sentence: what is"
        " measured?",
        f"types = {toml_value(types)}",
        f"labelled = {toml_value(bool(types))}",
        f"citation = {toml_value(description.citation)}",
        f"licence = {toml_value(description.licence)}",
        "",
        "[data]",
        'items = "items.jsonl"',
        'images = "images"',
        *(embedded if respondents else []),
        "",
        "[rai]                  # what only you know; the linter names what is empty",
        *(f'{field} = ""' for field in RaiSection.model_fields),
    ]
    return "\n".join(lines) + "\n"


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _readme(
    name: str, task: Task, rows: Sequence[Mapping[str, object]], description: Description
) -> str:
    return _template("README.md").format(
        title=description.title or _title(name),
        summary=description.summary or "What is measured, in one sentence.",
        task=task,
        types=", ".join(_types(rows)) or "not labelled",
        licence=description.licence or "not chosen yet",
        citation=description.citation or "not written yet",
    )


def _template(name: str) -> str:
    return resources.files("hqm.commands").joinpath("templates", name).read_text("utf-8")


def print_new(new: NewBenchmark) -> None:
    """Print what was read and written for a new benchmark, and what to do next."""
    pictures = f", {new.pictures} pictures" if new.pictures else ""
    print_line(f"{new.folder}: {new.items} {new.task} items{pictures}")
    words = {"prompt": "question", "target": "answer"}
    columns_read = ", ".join(
        f"{words.get(name, name)} from {column}" for name, column in new.columns.items()
    )
    n_further = len(new.unused) - _MAX_UNUSED
    further_columns = f" and {n_further:,} more" if n_further > 0 else ""
    sentences = {
        f"read: {columns_read}": new.columns,
        f"not read: {', '.join(new.unused[:_MAX_UNUSED])}{further_columns}": new.unused,
        f"the splits {', '.join(new.parts)} are parts; --split takes some of them": new.parts,
        f"{new.without_picture} items have no picture": new.without_picture,
        f"{new.n_left_out} rows are left out, with the reasons in left_out.csv": new.n_left_out,
        f"{new.web} pictures are web addresses, which are fetched when they are first"
        " shown": new.web,
    }
    # A sentence is printed where what it is about is not empty, or not 0.
    print_lines(*compress(sentences, sentences.values()))
    folder = shlex.quote(str(new.folder))
    respondent_option = " -r hf/MODEL" if new.columns else ""
    print_line(
        f"next:\n  hqm check {folder}\n  hqm audit {folder}{respondent_option} --out {folder}/out"
    )
    print_line(f"  hqm gate {folder}/out/audit.json")
    if respondent_option:
        print_line("hf/MODEL is a folder or an id of the hub; openai/MODEL@ADDRESS asks a server")
