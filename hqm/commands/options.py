"""The options that several commands share, each with its help, and the commands' access to them as one value."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_type_hints

import typer

from hqm.errors import UsageError

if TYPE_CHECKING:
    from hqm.commands.session import Wishes

Benchmarks = Annotated[list[str], typer.Argument(help="Names, folders with a card.toml, or Python files.")]
Respondents = Annotated[
    list[str] | None,
    typer.Option(
        "--respondent",
        "-r",
        help="hf/<folder or hub id>[@revision], vllm/<the same>, openai/<model>[@url] or recorded/<file>; repeat it.",
    ),
]
Recorded = Annotated[Path | None, typer.Option(help="A file or folder of recorded answers, in place of respondents.")]
StoreOption = Annotated[Path | None, typer.Option("--store", help="The store; out/<name>/store.sqlite unless given.")]
Runs = Annotated[int, typer.Option(min=1, help="How often the original form is put, each time with other seeds.")]
Forms = Annotated[str, typer.Option("--forms", help="The forms to put, joined by commas.")]
FormFiles = Annotated[
    list[str] | None, typer.Option("--form", help="NAME=FILE: a form that a person reviewed; repeat it.")
]
Part = Annotated[str | None, typer.Option(help="One part of the benchmark (POPE: coco_random, ...).")]
Limit = Annotated[int | None, typer.Option(min=1, help="The first so many items only, for a trial.")]
Data = Annotated[Path | None, typer.Option(help="The data root; the variable HQM_DATA unless given.")]
Images = Annotated[
    str | None,
    typer.Option(help="The pictures: a folder, a zip, parquet files or a web address; the card's unless given."),
]
ScoringOption = Annotated[
    str, typer.Option("--scoring", help="official (the released scorer) or paper (its definition).")
]
ParserOption = Annotated[
    str | None, typer.Option("--parser", help="The reader of yes/no answers; the card's unless given.")
]
Temperature = Annotated[float | None, typer.Option(help="Sampling temperature; 0 for the likeliest token.")]
TopP = Annotated[float | None, typer.Option("--top-p", help="Nucleus sampling.")]
MaxTokens = Annotated[int | None, typer.Option("--max-tokens", help="The longest answer, in tokens.")]
Seed = Annotated[int | None, typer.Option(help="The base seed that every request's seed is derived from.")]
Device = Annotated[str, typer.Option(help="auto (all GPUs there are, one process each), cpu, cuda, cuda:1, mps.")]
Dtype = Annotated[str, typer.Option(help="auto, float32, bfloat16, float16.")]
Batch = Annotated[
    int, typer.Option(min=0, help="Questions a forward pass; 0 finds a number. The answers do not depend on it.")
]
Workers = Annotated[
    int,
    typer.Option(
        min=0,
        help="Processes that share the work; 0: one a GPU, or one a core for tiny models. Ray: actors at most; 0: all.",
    ),
]
EngineOption = Annotated[str, typer.Option("--engine", help="local (this machine's processes) or ray (a cluster).")]
RayAddress = Annotated[
    str, typer.Option("--ray-address", help="auto or an address of a Ray cluster; one is started here unless given.")
]
RayCpus = Annotated[float, typer.Option("--ray-cpus", min=0, help="CPUs that one Ray actor takes.")]
RayGpus = Annotated[
    float | None,
    typer.Option("--ray-gpus", min=0, help="GPUs that one Ray actor takes; 1 where the cluster has any, unless given."),
]
Vllm = Annotated[
    str,
    typer.Option("--vllm", help="The program vllm, or the environment it is installed in; HQM_VLLM unless given."),
]
NoWait = Annotated[bool, typer.Option("--no-wait", help="Stop at once where another process is writing to the store.")]
Blind = Annotated[bool, typer.Option("--blind", help="Put the questions without their pictures.")]
Judges = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        help="The model that judges answers, named like a respondent; repeat it for further judges, the first leads.",
    ),
]
Roles = Annotated[
    list[str] | None,
    typer.Option(
        "--role", help="ROLE=NAME: another model for one role of the judge procedure (verifier=hf/...); repeat it."
    ),
]
Rejudge = Annotated[
    int, typer.Option(min=1, help="How often the judge is asked about the same answers; from 2 on, its consistency.")
]
PromptsOption = Annotated[
    str, typer.Option("--prompts", help="Whose words the judge is asked in: hqm, or official (the release's files).")
]
Mode = Annotated[str | None, typer.Option(help="The judge procedure, where a release knows several.")]
WordsOption = Annotated[
    str | None,
    typer.Option(
        "--words", help="Which parts find nouns and tell likeness and concreteness: offline, official, or PART=NAME."
    ),
]
Family = Annotated[
    Path | None, typer.Option("--family", help="A file of respondent, family; told from the names unless given.")
]
Probabilities = Annotated[
    bool,
    typer.Option("--probabilities", help="Record the probabilities of yes, no and the options' letters as first word."),
]
PriceIn = Annotated[
    float | None, typer.Option("--price-in", help="Money per million tokens read, for the cost estimate.")
]
PriceOut = Annotated[float | None, typer.Option("--price-out", help="Money per million tokens written.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be asked, and ask nothing.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def wishes(
    respondents: Respondents = None,
    recorded: Recorded = None,
    runs: Runs = 2,
    forms: Forms = "original,parallel",
    form_files: FormFiles = None,
    part: Part = None,
    limit: Limit = None,
    data: Data = None,
    images: Images = None,
    scoring: ScoringOption = "official",
    parser: ParserOption = None,
    temperature: Temperature = None,
    top_p: TopP = None,
    max_tokens: MaxTokens = None,
    seed: Seed = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    batch: Batch = 0,
    workers: Workers = 0,
    blind: Blind = False,
    engine: EngineOption = "local",
    ray_address: RayAddress = "",
    ray_cpus: RayCpus = 1,
    ray_gpus: RayGpus = None,
    vllm: Vllm = "",
    judges: Judges = None,
    roles: Roles = None,
    rejudge: Rejudge = 1,
    prompts: PromptsOption = "hqm",
    mode: Mode = None,
    family: Family = None,
    words: WordsOption = None,
    probabilities: Probabilities = False,
) -> Wishes:
    """The options of every command that asks respondents, as one value."""
    from hqm.commands.session import Wishes

    files = {}
    for text in form_files or ():
        name, equals, path = text.partition("=")
        if not equals:
            raise UsageError(f"--form {text!r} names no file", remedy="Write --form NAME=FILE.")
        files[name] = Path(path)
    sampling = {"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens, "seed": seed}
    return Wishes(
        respondents=tuple(respondents or ()),
        recorded=recorded,
        runs=runs,
        forms=tuple(name for name in forms.split(",") if name),
        form_files=files,
        part=part,
        limit=limit,
        data=data,
        images=images,
        scoring=cast(Any, scoring),
        parser=parser,
        sampling={key: value for key, value in sampling.items() if value is not None},
        device=device,
        dtype=dtype,
        batch=batch,
        workers=workers,
        blind=blind,
        engine=engine,
        ray_address=ray_address,
        ray_cpus=ray_cpus,
        ray_gpus=ray_gpus,
        vllm=vllm,
        judges=tuple(judges or ()),
        roles=tuple(roles or ()),
        rejudge=rejudge,
        prompts=cast(Any, prompts),
        mode=mode,
        families=family,
        words=words,
        probabilities=probabilities,
    )


def asks(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the shared options in place of its parameter `wishes`."""
    shared = _parameters(wishes)
    own = [parameter for parameter in _parameters(command) if parameter.name != "wishes"]

    @functools.wraps(command)
    def wrapped(**given: Any) -> None:
        collected = wishes(**{parameter.name: given.pop(parameter.name) for parameter in shared})
        command(**given, wishes=collected)

    wrapped.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *shared)}
    return wrapped


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """A function's parameters with their annotations as values, option texts included."""
    hints = get_type_hints(function, localns={"Wishes": Any}, include_extras=True)
    return [p.replace(annotation=hints[p.name]) for p in inspect.signature(function).parameters.values()]
