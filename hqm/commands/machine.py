"""`hqm doctor`: what this machine has for HQM, in one screen: libraries, GPUs, data, servers, room
for answers.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NotRequired, TypedDict

import typer

from hqm.commands.option_decorators import with_options
from hqm.commands.options import WHO_PANEL, RunOptions
from hqm.commands.terminal import print_json, width
from hqm.errors import StoreError
from hqm.extensions import GROUPS, unread_groups
from hqm.respondents.base import waiting
from hqm.version import __version__, installed_version

if TYPE_CHECKING:
    from hqm.benchmark.card import Card

EXTRAS = ("stats", "figures", "local", "parquet", "hub", "logs", "ray")
"""The extras that a command may ask for."""
_SCREEN_LIBRARIES = ("numpy", "scipy", "openai", "transformers")
"""The libraries whose versions stand on the screen; `--json` has all."""
PORTS = {8000: "vLLM", 30000: "SGLang", 11434: "Ollama"}
"""Default port -> the server that listens on it."""
_TIMEOUT_SECONDS = 3.0
_LOCAL_TIMEOUT_SECONDS = 0.5
"""Seconds that a server has to answer; one that nobody named has less."""
_MIN_FREE_BYTES = 1 << 30
"""Bytes of free disk below which a run may end for lack of room."""


@dataclass
class Report:
    """The findings of `hqm doctor`, as lines for the screen and as data, with the problems and
    their remedies.
    """

    lines: list[tuple[str, str]] = field(default_factory=list)
    """A heading (empty if it is the same as above) and a sentence."""
    data: dict[str, object] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


@with_options("data", "store", "as_json")
def doctor(
    *,
    servers: Annotated[
        list[str] | None,
        typer.Option(
            "--server",
            rich_help_panel=WHO_PANEL,
            metavar="URL",
            help=(
                "A server to check, besides those of this machine (http://HOST:PORT/v1). Repeat it."
            ),
        ),
    ] = None,
    options: RunOptions,
) -> None:
    """Say what this machine has for HQM, and what is wrong.

    Python and libraries, GPUs, the data of each benchmark, servers, room for answers. It ends with
    1 where something is wrong; an extra that is not installed, or data that were never fetched, are
    not.
    """
    report = Report()
    _libraries(report)
    _extensions(report)
    _models(report)
    _data(report, options.material.data)
    _servers(report, servers or ())
    _store(report, options.output.store)
    if options.output.as_json:
        print_json({**report.data, "problems": report.problems})
    else:
        _print(report)
    if report.problems:
        raise typer.Exit(1)


def _print(report: Report) -> None:
    # A narrower window would have every word on a line of its own.
    screen_width = max(width(), 30)
    problems = [("PROBLEM", problem) for problem in report.problems]
    for heading, text in [*report.lines, *problems]:
        print(
            textwrap.fill(
                text,
                screen_width,
                initial_indent=f"{heading:11} ",
                subsequent_indent=" " * 12,
                break_on_hyphens=False,
            )
        )
    if not report.problems:
        print("nothing is wrong")


# --- the program and what it imports ---


def _libraries(report: Report) -> None:
    """The requirements of HQM and of its extras, as the installed package states them."""
    folder = str(Path(__file__).resolve().parent.parent)
    python = platform.python_version()
    required = _requirements()
    # what is declared is compared with what is installed, without importing anything
    versions = {
        name: installed_version(name) for libraries in required.values() for name in libraries
    }

    def unmet_names(libraries: Mapping[str, bool]) -> list[str]:
        return [name for name, fits in libraries.items() if not fits]

    unmet = {extra: unmet_names(libraries) for extra, libraries in required.items()}
    complete = [extra for extra in EXTRAS if extra in unmet and not unmet[extra]]
    version_texts = (f"{name} {versions[name]}" for name in _SCREEN_LIBRARIES if versions.get(name))
    report.data |= {
        "hqm": {"version": __version__, "place": folder},
        "python": {"version": python, "place": sys.executable},
        "libraries": versions,
        "extras": {
            extra: {"installed": not unmet[extra], "missing": unmet[extra]}
            for extra in EXTRAS
            if extra in unmet
        },
    }
    report.lines += [
        ("hqm", f"{__version__} in {folder}"),
        ("python", f"{python}, {platform.system()} {platform.machine()}"),
        ("libraries", ", ".join(version_texts)),
        ("extras", ", ".join(complete) or "none"),
    ]
    for extra, names in unmet.items():
        if extra and names:
            install_command = f'pip install "hqm-audit[{extra}]"'
            report.lines.append(("", f"without {extra} ({', '.join(names)}): {install_command}"))
    for name in unmet.get("", ()):
        state = "is not installed"
        if versions[name]:
            state = f"{versions[name]} is too old or too new"
        report.problems.append(
            f'{name} {state}, and HQM needs it: pip install --upgrade "hqm-audit"'
        )


def _requirements() -> dict[str, dict[str, bool]]:
    """Extra (or nothing, for what every installation has) -> library -> whether a version that
    fits is installed.
    """
    from packaging.requirements import Requirement

    required: dict[str, dict[str, bool]] = {}
    for requirement in map(Requirement, importlib.metadata.requires("hqm-audit") or ()):
        marker = requirement.marker
        installed = installed_version(requirement.name)
        # A development build fits as well, which specifiers leave out unless they are told.
        fits = installed is not None and requirement.specifier.contains(installed, prereleases=True)
        for extra in ("", *EXTRAS):
            # a requirement that names no extra belongs to every installation
            needs_extra = marker is not None and "extra" in str(marker)
            if needs_extra == bool(extra) and (marker is None or marker.evaluate({"extra": extra})):
                required.setdefault(extra, {})[requirement.name] = fits
    return required


# --- where models run ---


def _models(report: Report) -> None:
    version, device, gpus = _torch()
    report.data["torch"] = {"version": version, "device": device, "gpus": gpus}
    gpu_counts = [f"{count} x {name}" for name, count in Counter(gpus).items()]
    runs = ", ".join(gpu_counts) or f"no GPU: models run on {device}"
    if version:
        state = f"{version}, {runs}"
    else:
        state = "not installed, so no hf/ model runs here"
    # vLLM often lives in an environment of its own, with other versions of torch than HQM's.
    program = os.environ.get("HQM_VLLM") or shutil.which("vllm")
    report.data["vllm"] = program
    report.lines += [
        ("torch", state),
        ("vllm", program or "not found (vllm/ models need it; name it with HQM_VLLM)"),
    ]
    # The program comes with the driver: where it is there and torch sees nothing, the build of
    # torch is the wrong one.
    if version and not gpus and shutil.which("nvidia-smi"):
        report.problems.append(
            f"this machine has a driver for GPUs and torch {version} sees none: install a build of"
            " torch for them"
        )
    if program and not Path(program).exists():
        report.problems.append(
            f"HQM_VLLM names {program}, which is not there: correct the variable"
        )


def _torch() -> tuple[str | None, str | None, list[str]]:
    """The version of torch, the device that models would take, and the names of the GPUs."""
    from hqm.respondents.hf_loading import suited_device

    try:
        with waiting("importing torch"):
            import torch

            gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
            return str(torch.__version__), suited_device(), gpus
    except ImportError:
        return None, None, []
    except (OSError, RuntimeError) as error:  # a library of the driver is missing or broken
        return (
            f"{installed_version('torch')} (broken: {str(error).splitlines()[0][:80]})",
            "none",
            [],
        )


# --- extensions ---


def _extensions(report: Report) -> None:
    """The groups of entry points that installed packages fill for nobody."""
    for group, package in unread_groups().items():
        report.problems.append(
            f"{package} brings {group!r}, which HQM does not look into"
            f" (the groups are {', '.join(GROUPS)})"
        )


# --- data ---


def _data(report: Report, option: Path | None) -> None:
    from hqm.benchmark.download import data_root
    from hqm.benchmark.registry import known_cards

    root = data_root(option)
    cards_by_name, errors = known_cards()
    report.problems += map(str, errors)
    rows = {name: _release_state(card, root) for name, card in cards_by_name.items()}
    report.data["data"] = {
        "root": str(root.absolute()),
        "exists": root.is_dir(),
        "benchmarks": rows,
    }
    root_source = "--data" if option else "HQM_DATA"
    # only a folder that somebody named can be missing
    if option is None and not os.environ.get(root_source):
        root_source = "neither HQM_DATA nor --data is given"
    elif not root.is_dir():
        report.problems.append(f"{root} is no folder: correct {root_source}")
    report.lines.append(
        ("data", f"{root} ({root_source}{'' if root.is_dir() else ', no such folder'})")
    )
    states = ("with HQM", "complete", "incomplete", "missing", "without pictures")
    names_by_state: dict[str, list[str]] = {state: [] for state in states}
    for name, row in rows.items():
        if row["state"] in names_by_state:
            names_by_state[row["state"]].append(name)
        if not row["pictures"]:
            names_by_state["without pictures"].append(name)
    for state, benchmark_names in names_by_state.items():
        if benchmark_names:
            report.lines.append(("", f"{state}: {', '.join(benchmark_names)}"))
    lacking = [*names_by_state["incomplete"], *names_by_state["missing"]]
    if lacking:
        fetch_names = " ".join(lacking) if len(lacking) < 4 else "all"
        report.lines.append(("", f"get them: `hqm fetch {fetch_names}`"))


class _ReleaseState(TypedDict):
    """What lies below the data root of a benchmark's release."""

    state: str
    folder: NotRequired[str]
    missing: list[str]
    pictures: bool


def _release_state(card: Card, root: Path) -> _ReleaseState:
    """Return the state of a benchmark's release below the data root.

    Sizes are compared; checksums are left to `hqm fetch`.
    """
    from hqm.files.datasets import is_hub

    # Neither lies below the data root.
    if not card.data.folder or is_hub(card.data.folder):
        state = "on the hub" if card.data.folder else "with HQM"
        return {"state": state, "missing": [], "pictures": True}
    folder = root / card.data.folder
    missing = []
    for file in card.source.files:
        path = folder / file.path
        alternative = path.with_name(file.instead or path.name)
        if not (
            file.optional or _is_complete(path, file.size) or _is_complete(alternative, file.size)
        ):
            missing.append(file.path)
    if not folder.is_dir():
        return {"state": "missing", "folder": str(folder), "missing": missing, "pictures": True}
    pictures = folder / card.data.images
    if pictures.is_dir():
        has_pictures = any(pictures.iterdir())
    else:
        has_pictures = pictures.is_file()
    state = "incomplete" if missing else "complete"
    return {"state": state, "folder": str(folder), "missing": missing, "pictures": has_pictures}


def _is_complete(path: Path, size: int) -> bool:
    any_size = not size or path.suffix == ".parquet"
    return path.is_file() and (any_size or path.stat().st_size == size)


# --- servers ---


def _servers(report: Report, urls: Sequence[str]) -> None:
    named_urls = dict.fromkeys(filter(None, [*urls, os.environ.get("OPENAI_BASE_URL")]))
    local_urls = [f"http://127.0.0.1:{port}/v1" for port in PORTS]
    servers: list[_Server] = []
    for url in dict.fromkeys([*named_urls, *local_urls]):
        server = _probe_server(url, named=url in named_urls)
        # a port of this machine where nobody listens is no news
        if server.named or server.reachable:
            servers.append(server)
    report.data["servers"] = list(map(asdict, servers))
    report.data["keys"] = list(filter(os.environ.get, ("OPENAI_API_KEY", "HF_TOKEN")))
    for server in servers:
        report.lines.append(("server", f"{server.url}: {server.said}"))
        if not server.reachable:
            report.problems.append(
                f"{server.url} cannot be reached ({server.said}): start the server, or correct the"
                " address"
            )
    if not servers:
        ports = ", ".join(map(str, PORTS))
        message = f"none at ports {ports} of this machine; look at others with --server URL"
        report.lines.append(("servers", message))


@dataclass(frozen=True, slots=True)
class _Server:
    """A server that somebody named, or that listens at a port of this machine."""

    url: str
    reachable: bool
    models: list[str]
    said: str
    """What it answers, or why it does not."""
    named: bool


def _probe_server(url: str, *, named: bool) -> _Server:
    """Return which models a server has.

    No key is sent, so that a server which needs a key says so.
    """
    import http.client
    import json
    from urllib.error import HTTPError
    from urllib.request import ProxyHandler, build_opener

    reachable = False
    models = list[str]()
    # a server is reached directly, as respondents reach it, and not by the proxy of a browser
    opener = build_opener(ProxyHandler({}))
    try:
        timeout = _TIMEOUT_SECONDS if named else _LOCAL_TIMEOUT_SECONDS
        with opener.open(f"{url.rstrip('/')}/models", timeout=timeout) as reply:
            models = [str(model.get("id")) for model in json.load(reply)["data"]]
        suffix = f" and {len(models) - 3} more" if len(models) > 3 else ""
        reachable = True
        state = f"it has {', '.join(models[:3]) or 'no model'}{suffix}"
    except HTTPError as error:
        # Unauthorized and forbidden: a server of models is there, since no key was sent.
        reachable = error.code in (401, 403)
        state = "it needs an API key"
        if not reachable:
            state = f"it answers {error.code}: does the address end in /v1?"
    except (OSError, http.client.HTTPException) as error:
        state = f"no answer: {getattr(error, 'reason', error)}"
    except (ValueError, KeyError, TypeError, AttributeError):
        state = "the program at this address is not a model server"
    return _Server(url, reachable, models, state, named)


# --- room for answers ---


def _store(report: Report, option: Path | None) -> None:
    """Whether a store can be made and locked where commands put it."""
    import tempfile

    from hqm.store.sqlite import writing

    store_folder = (option.parent if option else Path("out")).absolute()
    # the folder of a store is made when needed: the nearest one that exists is tried
    folder = next(parent for parent in (store_folder, *store_folder.parents) if parent.is_dir())
    writable = True
    free = shutil.disk_usage(folder).free
    free_space = f"{free / 2**30:.1f} GiB free"
    advice = "name a store elsewhere with --store FILE"
    try:
        # some network drives refuse locks, which only a try can tell
        with (
            tempfile.TemporaryDirectory(dir=folder, prefix=".hqm-doctor-") as probe_folder,
            writing(Path(probe_folder, "store.sqlite"), wait=False),
        ):
            pass
    except (OSError, StoreError) as error:
        writable = False
        report.problems.append(
            f"{folder} cannot be written, or files in it cannot be locked ({error}): {advice}"
        )
    if free < _MIN_FREE_BYTES:
        report.problems.append(f"{folder} has only {free_space}: make room, or {advice}")
    report.data["store"] = {"folder": str(store_folder), "writable": writable, "free_bytes": free}
    state = "writable" if writable else "not writable"
    report.lines.append(("answers", f"{store_folder}/: {state}, {free_space}"))
