"""The options that commands share, each stated once: a field of `RunOptions` with its type, its
default, its help and its group.

`hqm.commands.option_decorators` makes the options of the command line and the keywords of the
Python API from them, so that both have the same names, defaults and meanings. What seldom changes
from run to run is a setting: a line of `hqm.toml`, or `--set NAME=VALUE`, in place of an option.
"""

from __future__ import annotations

import copy
import inspect
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_args, get_type_hints

import typer

from hqm.errors import UsageError
from hqm.respondents.kinds import KINDS
from hqm.types import ORIGINAL, PARALLEL, BatchSize, FileRole, Task, is_scale

if TYPE_CHECKING:
    from hqm.benchmark.adapter import Scoring
    from hqm.benchmark.judge_api import Prompts
    from hqm.scoring.rules import Withholding


FIRST_PANEL, WHAT_PANEL, WHO_PANEL, HOW_PANEL, JUDGES_PANEL, MACHINE_PANEL, OUTPUT_PANEL = (
    HEADINGS
) = (
    "Most used",
    "What",
    "Who",
    "How",
    "Judges",
    "Machine",
    "Output",
)
"""The groups of `--help`, in the order they are shown."""

Benchmarks = Annotated[
    list[str],
    typer.Argument(
        rich_help_panel=WHAT_PANEL, help="Names, folders with a card.toml, or Python files."
    ),
]
EveryTable = Annotated[
    bool,
    typer.Option(
        "--all",
        rich_help_panel=OUTPUT_PANEL,
        help="Write every table of the numbers, not the two of Table 1 alone.",
    ),
]
PolicyFile = Annotated[
    Path | None,
    typer.Option(
        "--policy",
        rich_help_panel=HOW_PANEL,
        metavar="FILE",
        help=(
            "A policy file, or `release-small` for fewer than 1,000 items; the default policy"
            " unless given."
        ),
    ),
]
GitHub = Annotated[
    bool,
    typer.Option(
        "--github", rich_help_panel=OUTPUT_PANEL, help="Print annotations for GitHub's pages too."
    ),
]
To = Annotated[
    Path,
    typer.Option(
        "--to",
        rich_help_panel=OUTPUT_PANEL,
        metavar="FILE",
        help="A page (.html), or the numbers as .tex, .csv, .md or .json.",
    ),
]
"""Where `hqm report` and `hqm compare` write to."""


@dataclass(frozen=True, slots=True)
class OptionFormat:
    """The form of an option on the command line, where it is not that of its value.

    `type` is the type that typer reads; `read` makes a value of it, and `write` the reverse.
    """

    type: Any
    read: Callable[[Any], Any]
    write: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Setting:
    """An option that seldom changes: a line of a settings file, or `--set NAME=VALUE`.

    It is in no `--help`; `hqm list settings` has all of them.
    """

    help: str
    minimum: float | None = None
    """The smallest value that a number may have."""
    trusted: bool = False
    """Whether a settings file in the current folder may not have it, because a folder may come from
    somebody else: it starts a program, or opens an address."""


def _as_tuple(values: Any) -> tuple[Any, ...]:
    # A text is a sequence too, of its letters: it stands for a list of one.
    return (values,) if isinstance(values, (str, PathLike)) else tuple(values or ())


def _read_form_files(texts: Mapping[str, str | Path] | Sequence[str] | None) -> dict[str, Path]:
    if isinstance(texts, Mapping):
        # Python gives a dict, and the command line NAME=FILE for each.
        return {name: Path(path) for name, path in texts.items()}
    files = {}
    for text in texts or ():
        name, equals, path = text.partition("=")
        if not equals:
            raise UsageError(f"--form {text!r} names no file", remedy="Write --form NAME=FILE.")
        if name in files:
            raise UsageError(f"--form {name} is given twice", remedy="Give it once.")
        files[name] = Path(path)
    return files


def _percentages(texts: Sequence[str | int] | None) -> tuple[str, ...]:
    """The resolutions that texts name, without that of whole pictures, the largest first."""
    scales = []
    for text in ",".join(map(str, _as_tuple(texts))).split(","):
        scale = text.strip().removesuffix("%")
        if scale not in ("", "100") and not is_scale(scale):
            raise UsageError(
                f"--resolution {text!r:.40} is no percentage of the pictures' size",
                remedy="Write whole numbers from 1 to 100, such as --resolution 25,50,75.",
            )
        scales += [scale] if scale not in ("", "100") else []
    return tuple(sorted(dict.fromkeys(scales), key=int, reverse=True))


_REPEATED = OptionFormat(
    list[str] | None, lambda texts: tuple(map(str, _as_tuple(texts))), lambda _: None
)


def _read_recorded(value: object) -> tuple[Path, ...]:
    """Files and folders of recorded answers; of a mapping, each with its benchmark before it."""
    if not isinstance(value, Mapping):
        return tuple(map(Path, _as_tuple(value)))
    return tuple(Path(f"{name}={path}") for name in value for path in _as_tuple(value[name]))


_PATHS = OptionFormat(list[Path] | None, _read_recorded, lambda _: None)
_COMMAS = OptionFormat(
    str,
    lambda names: tuple(name for text in _as_tuple(names) for name in text.split(",") if name),
    ",".join,
)
_PAIRS = OptionFormat(list[str] | None, _read_form_files, lambda _: None)
_PERCENTAGES = OptionFormat(list[str] | None, _percentages, lambda _: None)


@dataclass(frozen=True, slots=True)
class MaterialOptions:
    """The items and forms to ask, and where their data are."""

    heading: ClassVar[str] = WHAT_PANEL
    part: Annotated[
        str | None,
        typer.Option(metavar="PART", help="One part of the benchmark (of POPE: coco_random, ...)."),
    ] = None
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the first N items, for a trial.")
    ] = None
    forms: Annotated[
        tuple[str, ...],
        typer.Option(
            "--forms",
            metavar="NAMES",
            help=(
                "The forms to ask, joined by commas: original, parallel, parallel2, ... (further"
                " wordings), or the benchmark's own; or a number: the original and so many"
                " rewordings that keep the right answers."
            ),
        ),
        _COMMAS,
    ] = (ORIGINAL, PARALLEL)
    form_files: Annotated[
        Mapping[str, Path],
        typer.Option(
            "--form",
            metavar="NAME=FILE",
            help="A form that somebody has reviewed, in a file; repeat it.",
        ),
        _PAIRS,
    ] = field(default_factory=dict)
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="The folder of the released data; the variable HQM_DATA unless given.",
        ),
    ] = None
    images: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE",
            help=(
                "The pictures: a folder, a zip, parquet files or a web address; the card's unless"
                " given."
            ),
        ),
    ] = None
    allow_private_images: Annotated[
        bool,
        Setting(
            "Fetch pictures from addresses of this machine and of private networks too.",
            trusted=True,
        ),
    ] = False

    def form_names(self, tasks: Collection[Task]) -> tuple[str, ...]:
        """Return the names of the forms to ask, of these tasks; a number stands for rewordings."""
        from hqm.forms.make_forms import wordings_of

        names: list[str] = []
        for form_name in self.forms:
            if form_name.isdigit():
                names += wordings_of(tasks, int(form_name))
            else:
                names.append(form_name)
        return tuple(names)


@dataclass(frozen=True, slots=True)
class AnsweringOptions:
    """The respondents, asked or recorded."""

    heading: ClassVar[str] = WHO_PANEL
    respondents: Annotated[
        tuple[str, ...],
        typer.Option(
            "--respondent",
            "-r",
            metavar="NAME",
            help=(
                f"{', '.join(kind.form for kind in KINDS)}, or a kind that another package brings;"
                " repeat it."
            ),
        ),
        _REPEATED,
    ] = ()
    recorded: Annotated[
        tuple[Path, ...],
        typer.Option(
            metavar="[BENCHMARK=]PATH",
            help=(
                "Recorded answers, or logs of lmms-eval, VLMEvalKit or inspect: a file or a folder,"
                " of one or several benchmarks; repeat it."
            ),
        ),
        _PATHS,
    ] = ()
    partial: Annotated[
        bool,
        typer.Option(
            "--partial",
            help="Leave out rows of logs and judgements that match no item.",
        ),
    ] = False
    files: Annotated[
        FileRole,
        Setting(
            "What several files of one model about the same items are, where they do not say it:"
            " respondents (named by the files), or runs."
        ),
    ] = "respondents"
    title: Annotated[
        str,
        Setting(
            "What the benchmark of logs and tables is called, in place of their folder's name."
        ),
    ] = ""
    families: Annotated[
        Path | None,
        typer.Option(
            "--family",
            metavar="FILE",
            help=(
                "A file of respondent and family; by default families are guessed from the names."
            ),
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class AskingOptions:
    """The number and the manner of the requests, and the bounds on them."""

    heading: ClassVar[str] = HOW_PANEL
    runs: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="How often the original form is asked, each time with other seeds.",
        ),
    ] = 2
    blind: Annotated[
        bool, typer.Option("--blind", help="Ask the questions without their pictures.")
    ] = False
    resolutions: Annotated[
        tuple[str, ...],
        typer.Option(
            "--resolution",
            metavar="PERCENT",
            help=(
                "Ask the original form once more with pictures scaled to that percentage of their"
                " width and height; several joined by commas, such as 25,50,75."
            ),
        ),
        _PERCENTAGES,
    ] = ()
    temperature: Annotated[
        float | None,
        typer.Option(
            metavar="T", help="The sampling temperature; at 0 the likeliest token is taken."
        ),
    ] = None
    top_p: Annotated[
        float | None,
        Setting("Nucleus sampling: the share of probability kept."),
    ] = None
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", metavar="N", help="The longest answer, in tokens.")
    ] = None
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="The base seed, from which every request's own seed is derived."
        ),
    ] = None
    probabilities: Annotated[
        bool,
        Setting("Record the probabilities of yes, no and the options' letters as first word."),
    ] = False
    expected: Annotated[
        bool,
        Setting(
            "Ask the original form once, and compute from the probabilities of the first word"
            " what reruns would show."
        ),
    ] = False
    retry_errors: Annotated[
        bool,
        typer.Option(
            "--retry-errors",
            help=("Ask again what a server turned away for good, or replied to without an answer."),
        ),
    ] = False
    until: Annotated[
        tuple[str, ...],
        typer.Option(
            "--until",
            metavar="RULE",
            help=(
                "Ask pictures in random order until separated (every pair of"
                " respondents differs), separated>=.02 (or differs by less), or"
                " half_width<=.01 (of each score's interval). Repeat it for both."
            ),
        ),
        _REPEATED,
    ] = ()
    max_requests: Annotated[
        int | None,
        typer.Option(
            "--max-requests",
            min=0,
            metavar="N",
            help="End the command after N requests, those to judges included.",
        ),
    ] = None
    max_tokens_total: Annotated[
        int | None,
        typer.Option(
            "--max-tokens-total",
            min=0,
            metavar="N",
            help="End the command before it has taken N tokens, read and written, judges included.",
        ),
    ] = None
    max_cost: Annotated[
        float | None,
        typer.Option(
            "--max-cost",
            min=0,
            metavar="MONEY",
            help="End the command before it has cost more, judges included.",
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.expected and self.runs > 2:
            raise UsageError(
                f"expected=true asks the original form once, and --runs {self.runs} asks it again",
                remedy="Leave out one of the two.",
            )

    @property
    def times(self) -> int:
        """The number of runs of the original form."""
        return 1 if self.expected else self.runs

    @property
    def sampling(self) -> dict[str, float]:
        """The settings of sampling that were given; the benchmark's card has the rest."""
        sampling = {
            key: getattr(self, key) for key in ("temperature", "top_p", "max_tokens", "seed")
        }
        return {key: value for key, value in sampling.items() if value is not None}


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """The reading and scoring of answers."""

    heading: ClassVar[str] = HOW_PANEL
    metrics: Annotated[
        tuple[str, ...],
        typer.Option("--metric", metavar="NAME", help="A metric of the benchmark; repeat it."),
        _REPEATED,
    ] = ()
    scoring: Annotated[
        Scoring,
        typer.Option(
            "--scoring",
            metavar="NAME",
            help="official: as the released scorer counts; paper: as the paper defines it.",
        ),
    ] = "official"
    withheld: Annotated[
        Withholding,
        Setting("Refused and empty answers: unscored, or official (as the release, flagged)."),
    ] = "unscored"
    key: Annotated[
        Path | None,
        typer.Option(
            "--key",
            metavar="PATH",
            help=(
                "A corrected key (item,target, or the release's rows), whose results"
                " are shown beside the release's."
            ),
        ),
    ] = None
    parser: Annotated[
        str | None,
        typer.Option(
            "--parser",
            metavar="NAME",
            help="The reader of short answers; the card's unless given.",
        ),
    ] = None
    read_with: Annotated[
        str | None,
        Setting(
            "A model that reads the answers that the reader leaves unread or in doubt, and 200"
            " others to show its agreement; named like a judge."
        ),
    ] = None
    margin: Annotated[
        float | None,
        Setting(
            "The largest difference of two means that does not matter, in score units, decided"
            " beforehand; without it, only the noise of the seeds can set it."
        ),
    ] = None
    words: Annotated[
        str | None,
        Setting(
            "How nouns are found, and likeness and concreteness measured: offline, official, or"
            " PART=NAME."
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class JudgingOptions:
    """The judges, and people's labels with which they are compared."""

    heading: ClassVar[str] = JUDGES_PANEL
    judges: Annotated[
        tuple[str, ...],
        typer.Option(
            "--judge",
            metavar="NAME",
            help=(
                "A model that judges answers, named like a respondent. Repeat it for"
                " others, which are compared with the first."
            ),
        ),
        _REPEATED,
    ] = ()
    criterion: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Labels that people gave: item, respondent, label (CSV or JSON lines).",
        ),
    ] = None
    pool: Annotated[
        str | None,
        Setting(
            "How several raters' labels of an answer become one: majority (of 0 and 1, unless"
            " given), mean (of others), dawid-skene, adjudicated."
        ),
    ] = None
    stale: Annotated[
        str,
        Setting(
            "Labels about other words than the stored answer's: refuse them, or keep them, flagged."
        ),
    ] = "refuse"
    levels: Annotated[
        tuple[str, ...],
        Setting(
            "Correlate with people over the respondents' scores (model), and also over single"
            " answers (answer) or items' means (item); stage: ask a judge about each fact that"
            " people labelled. Several joined by commas."
        ),
        _COMMAS,
    ] = ()
    judgements: Annotated[
        tuple[str, ...],
        typer.Option(
            "--judgements",
            metavar="SOURCE",
            help=(
                "Recorded judgements: a file or a folder, as"
                " [JUDGE#RUN,RESPONDENT=]PATH where the file does not name them."
                " Repeat it."
            ),
        ),
        _REPEATED,
    ] = ()
    mode: Annotated[
        str | None,
        Setting("The judge procedure, where a release has several."),
    ] = None
    prompts: Annotated[
        Prompts,
        Setting("Whose words the judge is asked in: hqm, or official (the release's files)."),
    ] = "hqm"
    roles: Annotated[
        tuple[str, ...],
        Setting(
            "Other models for roles of the judge procedure (verifier=hf/...), joined by commas."
        ),
        _COMMAS,
    ] = ()
    rejudge: Annotated[
        int,
        Setting(
            "How often the judge is asked about the same answers; its consistency needs 2.",
            minimum=1,
        ),
    ] = 1


@dataclass(frozen=True, slots=True)
class ComputeOptions:
    """The devices and processes that models run on, and the prices of servers."""

    heading: ClassVar[str] = MACHINE_PANEL
    device: Annotated[
        str,
        Setting(
            "Where local models run: auto (all GPUs, one process each), cpu, cuda, cuda:1, mps."
        ),
    ] = "auto"
    dtype: Annotated[
        str,
        Setting("The numbers that local models compute with: auto, float32, bfloat16, float16."),
    ] = "auto"
    batch: Annotated[
        BatchSize,
        Setting(
            "Questions in a forward pass; 0 finds a number. The answers do not depend on it. yes:"
            " servers are asked by their Batch API, at half the price and within a day.",
            minimum=0,
        ),
    ] = 0
    workers: Annotated[
        int,
        Setting(
            "Processes that share the work, never two on a GPU; 0 is one for each GPU, or one"
            " for each core with tiny models. With Ray: the most actors; 0 is all that fit.",
            minimum=0,
        ),
    ] = 0
    vllm: Annotated[
        str,
        Setting(
            "The program vllm, or the environment it is installed in; the variable HQM_VLLM"
            " unless given.",
            trusted=True,
        ),
    ] = ""
    engine: Annotated[
        str,
        Setting("What runs the requests: local (processes of this machine) or ray (a cluster)."),
    ] = "local"
    ray_address: Annotated[
        str,
        Setting(
            "The address of a Ray cluster, or auto; Ray is started on this machine unless given.",
            trusted=True,
        ),
    ] = ""
    ray_cpus: Annotated[
        float,
        Setting(
            "The CPUs that one Ray actor takes.",
            minimum=0,
        ),
    ] = 1
    ray_gpus: Annotated[
        float | None,
        Setting(
            "The GPUs that one Ray actor takes; 1 where the cluster has any, unless given.",
            minimum=0,
        ),
    ] = None
    concurrency: Annotated[
        int,
        Setting(
            "Requests to a server that are in flight at a time; 0 finds a number for each server.",
            minimum=0,
        ),
    ] = 0
    price_in: Annotated[
        float | None,
        Setting("The price of a million tokens read, for the cost estimate.", minimum=0),
    ] = None
    price_out: Annotated[
        float | None,
        Setting("The price of a million tokens written.", minimum=0),
    ] = None

    @property
    def running(self) -> dict[str, Any]:
        """The arguments of `make_engine`."""
        return {
            "name": self.engine,
            "workers": self.workers,
            "address": self.ray_address,
            "cpus": self.ray_cpus,
            "gpus": self.ray_gpus,
        }

    @property
    def prices(self) -> tuple[float, float] | None:
        """Money per million tokens read and written, if either was given."""
        if self.price_in is None and self.price_out is None:
            return None
        # Some servers charge for one of the two alone.
        return self.price_in or 0.0, self.price_out or 0.0


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """The store, and the form of the output."""

    heading: ClassVar[str] = OUTPUT_PANEL
    store: Annotated[
        Path | None,
        typer.Option(
            "--store",
            metavar="FILE",
            help="The file of stored answers; out/<name>/store.sqlite unless given.",
        ),
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress bars.")] = False
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", rich_help_panel=HOW_PANEL, help="Say what would be asked, and ask nothing."
        ),
    ] = False
    no_wait: Annotated[
        bool,
        Setting("Stop at once when another process is writing to the store."),
    ] = False


@dataclass(frozen=True)
class RunOptions:
    """The values of a command's options, or of a Python function's keywords.

    >>> RunOptions.from_values({"temperature": 0.2, "forms": "original"}).asking.sampling
    {'temperature': 0.2}
    """

    material: MaterialOptions = MaterialOptions()
    answering: AnsweringOptions = AnsweringOptions()
    asking: AskingOptions = AskingOptions()
    reading: ReadingOptions = ReadingOptions()
    judging: JudgingOptions = JudgingOptions()
    compute: ComputeOptions = ComputeOptions()
    output: OutputOptions = OutputOptions()

    @classmethod
    def from_values(cls, values: Mapping[str, object]) -> RunOptions:
        """Read values by the names of their options; the others keep their defaults."""
        # Names are the same on the command line, in files and in Python; groups are where they are
        # kept.
        groups: dict[str, dict[str, Any]] = defaultdict(dict)
        for name, value in values.items():
            option = OPTIONS[name]
            groups[option.group][name] = option.read(value)
        # Annotations are texts in this module, and are resolved to the classes of the groups.
        kinds = get_type_hints(cls)
        return cls(**{group: kinds[group](**members) for group, members in groups.items()})

    @property
    def loading(self) -> dict[str, Any]:
        """The arguments of `hqm.load`."""
        return {
            "data": self.material.data,
            "images": self.material.images,
            "scoring": self.reading.scoring,
            "withheld": self.reading.withheld,
            "parser": self.reading.parser,
            "words": self.reading.words,
            "mode": self.judging.mode,
            "prompts": self.judging.prompts,
        }


@dataclass(frozen=True, slots=True)
class Option:
    """A field of a group, as a parameter of a command and as a keyword of Python."""

    group: str
    name: str
    help: str
    keyword: inspect.Parameter
    read: Callable[[Any], Any]
    parameter: inspect.Parameter | None = None
    """What typer makes an option from; None of a setting."""
    setting: Setting | None = None


def _options() -> dict[str, Option]:
    options = {}
    kinds = get_type_hints(RunOptions)
    for group in fields(RunOptions):
        kind = kinds[group.name]
        # The benchmark checks these texts; importing their types would load all of its modules.
        hints = get_type_hints(
            kind, localns={"Scoring": str, "Prompts": str, "Withholding": str}, include_extras=True
        )
        for member in fields(kind):
            options[member.name] = _option(group.name, member.name, hints[member.name], kind())
    return options


def _option(group: str, name: str, hint: object, defaults: Any) -> Option:
    # The first is the type, then typer's option or a `Setting`, then a form for the command line.
    kind, info, *formats = get_args(hint)
    if formats:
        option_format = formats[0]
    else:
        option_format = OptionFormat(kind, lambda value: value, lambda value: value)
    # A keyword of Python may be a text; the command line gives a path already.
    if kind == Path | None:
        option_format = OptionFormat(
            kind, lambda path: None if path is None else Path(path), lambda path: path
        )
    default = getattr(defaults, name)
    keyword = inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind
    )
    if isinstance(info, Setting):
        return Option(group, name, info.help, keyword, option_format.read, setting=info)
    # typer's objects are shared by all commands that have the option.
    info = copy.copy(info)
    info.rich_help_panel = info.rich_help_panel or defaults.heading
    parameter = keyword.replace(
        default=option_format.write(default), annotation=Annotated[option_format.type, info]
    )
    return Option(group, name, info.help, keyword, option_format.read, parameter)


OPTIONS: Mapping[str, Option] = _options()
"""Every shared option and setting by the name of its field."""
