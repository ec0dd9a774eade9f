"""`hqm doctor`: what this machine has for HQM, in one screen: libraries, GPUs, data, servers, room
for answers.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hqm.commands.option_decorators import with_options
from hqm.commands.options import WHO, RunOptions
from hqm.commands.terminal import print_json, width
from hqm.respondents.base import waiting
from hqm.version import __version__

if TYPE_CHECKING:
    from hqm.benchmark.card import Card

EXTRAS = ("stats", "figures", "local", "parquet", "hub", "logs", "label", "ray")
"""The extras that a command may ask for."""
PORTS = {8000: "vLLM", 30000: "SGLang", 11434: "Ollama"}
"""Default port -> the server that listens on it."""
_PATIENCE = 3.0
"""Seconds that a server has to answer."""
_LEAST_ROOM = 1 << 30
"""Bytes of free disk below which a run may end for lack of room."""


@dataclass
class Report:
    """What the doctor saw, as lines for the screen and as data, and the problems with their
    remedies.
    """

    lines: list[tuple[str, str]] = field(default_factory=list)
    """A heading (empty if it is the same as above) and a sentence."""
    data: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


@with_options("data", "store", "as_json")
def doctor(
    *,
    servers: Annotated[
        list[str] | None,
        typer.Option(
            "--server",
            rich_help_panel=WHO,
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
    _program(report)
    _libraries(report)
    _accelerators(report)
    _data(report, options.what.data)
    _servers(report, servers or ())
    _store(report, options.output.store)
    if options.output.as_json:
        print_json({**report.data, "problems": report.problems})
    else:
        _print(report)
    if report.problems:
        raise typer.Exit(1)


def _print(report: Report) -> None:

    room = max(width(), 30)
    problems = [("PROBLEM", problem) for problem in report.problems]
    for heading, text in [*report.lines, *problems]:
        print(
            textwrap.fill(
                text,
                room,
                initial_indent=f"{heading:11} ",
                subsequent_indent=" " * 12,
                break_on_hyphens=False,
            )
        )
    if not report.problems:
        print("nothing is wrong")


# --- the program and what it imports ---


def _program(report: Report) -> None:
    folder = str(Path(__file__).resolve().parent.parent)
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    memory = _memory()
    report.data |= {
        "hqm": {"version": __version__, "place": folder},
        "python": {"version": platform.python_version(), "place": sys.executable},
        "machine": {"system": platform.platform(), "cores": cores, "memory_bytes": memory},
    }
    held = f", {_size(memory)} memory" if memory else ""
    report.lines += [
        ("hqm", f"{__version__} in {folder}"),
        (
            "python",
            (
                f"{platform.python_version()}, {platform.system()} {platform.machine()}, {cores}"
                f" cores{held}"
            ),
        ),
    ]


def _memory() -> int | None:
    try:
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return None


def _libraries(report: Report) -> None:
    """The requirements of HQM and of its extras, as the installed package states them."""
    required = _requirements()
    versions = {name: _version(name) for names in required.values() for name, _ in names}
    unmet = {extra: [name for name, good in names if not good] for extra, names in required.items()}
    report.data["libraries"] = versions
    report.data["extras"] = {
        extra: {"installed": not unmet[extra], "missing": unmet[extra]}
        for extra in EXTRAS
        if extra in unmet
    }
    there = [extra for extra in EXTRAS if extra in unmet and not unmet[extra]]
    shown = ("numpy", "scipy", "openai", "transformers")
    versions_shown = ", ".join(f"{name} {versions[name]}" for name in shown if versions.get(name))
    report.lines.append(("libraries", versions_shown))
    report.lines.append(("extras", ", ".join(there) or "none"))
    lacking = {extra: names for extra, names in unmet.items() if extra and names}
    for extra, names in lacking.items():
        report.lines.append(
            ("", f'without {extra} ({", ".join(names)}): pip install "hqm-audit[{extra}]"')
        )
    for name in unmet.get("", ()):
        state = (
            f"{name} {versions[name]} is too old or too new"
            if versions[name]
            else f"{name} is not installed"
        )
        report.problems.append(f'{state}, and HQM needs it: pip install --upgrade "hqm-audit"')


def _requirements() -> Mapping[str, list[tuple[str, bool]]]:
    """Extra (or nothing, for what every installation has) -> library and whether a version that
    fits is installed.
    """
    import importlib.metadata

    from packaging.requirements import Requirement

    try:
        texts = importlib.metadata.requires("hqm-audit") or []
    except importlib.metadata.PackageNotFoundError:  # run from a folder without being installed
        return {"": []}
    required: dict[str, list[tuple[str, bool]]] = {"": []}
    for requirement in map(Requirement, texts):
        for extra in ("", *EXTRAS):
            asked = requirement.marker is None if not extra else "extra" in str(requirement.marker)
            if asked and (
                requirement.marker is None or requirement.marker.evaluate({"extra": extra})
            ):
                installed = _version(requirement.name)
                good = installed is not None and requirement.specifier.contains(
                    installed, prereleases=True
                )
                required.setdefault(extra, []).append((requirement.name, good))
    return required


def _version(name: str) -> str | None:
    import importlib.metadata

    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


# --- where models run ---


def _accelerators(report: Report) -> None:
    gpus, version, device = _gpus_by_torch()
    by_driver = _gpus_by_driver()
    report.data["torch"] = {"version": version, "device": device, "gpus": gpus}
    report.data["driver_gpus"] = by_driver
    if version is None:
        known = (
            f"; the driver knows {len(by_driver)}: {', '.join(sorted(set(by_driver)))}"
            if by_driver
            else ""
        )
        report.lines.append(("torch", f"not installed, so no hf/ model runs here{known}"))
    else:
        kinds = dict.fromkeys(gpu["name"] for gpu in gpus)
        each = [f"{sum(gpu['name'] == name for gpu in gpus)} x {name}" for name in kinds]
        memory = f", {_size(gpus[0]['memory_bytes'])} each" if gpus else ""
        report.lines.append(
            (
                "torch",
                (
                    f"{version},"
                    f" {', '.join(each) + memory if gpus else f'no GPU: models run on {device}'}"
                ),
            )
        )
        if by_driver and not gpus:
            report.problems.append(
                f"the driver knows {len(by_driver)} GPUs and torch {version} sees none: install a"
                " build of torch for them"
            )
    program = os.environ.get("HQM_VLLM") or shutil.which("vllm")
    report.data["vllm"] = program
    if program and not Path(program).exists():
        report.problems.append(
            f"HQM_VLLM names {program}, which is not there: correct the variable"
        )
    report.lines.append(
        ("vllm", program or "not found (vllm/ models need it; name it with HQM_VLLM)")
    )


def _gpus_by_torch() -> tuple[list[dict[str, Any]], str | None, str | None]:
    """The GPUs that torch sees, its version, and the device it would take."""
    from hqm.respondents.hf_loading import suited_device

    try:
        with waiting("importing torch"):
            import torch

            device = suited_device()
            names = [torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count())]
    except ImportError:
        return [], None, None
    except (OSError, RuntimeError) as error:  # a library of the driver is missing or broken
        return [], f"{_version('torch')} (broken: {str(error).splitlines()[0][:80]})", "none"
    return (
        [{"name": gpu.name, "memory_bytes": gpu.total_memory} for gpu in names],
        str(torch.__version__),
        device,
    )


def _gpus_by_driver() -> list[str]:
    import subprocess

    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    command = [program, "--query-gpu=name", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return (
        [line.strip() for line in done.stdout.splitlines() if line.strip()]
        if done.returncode == 0
        else []
    )


# --- data ---


def _data(report: Report, option: Path | None) -> None:
    from hqm.benchmark.registry import card, names

    named = option or (Path(os.environ["HQM_DATA"]) if os.environ.get("HQM_DATA") else None)
    root = named or Path("data")
    rows = {name: _state(card(name), root) for name in names()}
    report.data["data"] = {
        "root": str(root.absolute()),
        "exists": root.is_dir(),
        "benchmarks": rows,
    }
    how = "--data" if option else "HQM_DATA"
    if named is None:
        how = "neither HQM_DATA nor --data is given"
    report.lines.append(("data", f"{root} ({how}{'' if root.is_dir() else ', no such folder'})"))
    if named is not None and not root.is_dir():
        report.problems.append(f"{root} is no folder: correct {how}")
    for state in ("with HQM", "complete", "incomplete", "missing"):
        those = [name for name, row in rows.items() if row["state"] == state]
        if those:
            report.lines.append(("", f"{state}: {', '.join(those)}"))
    unseen = [
        name
        for name, row in rows.items()
        if row["state"] in ("complete", "incomplete") and not row["pictures"]
    ]
    if unseen:
        report.lines.append(("", f"without pictures: {', '.join(unseen)}"))
    lacking = [name for name, row in rows.items() if row["state"] in ("incomplete", "missing")]
    if lacking:
        report.lines.append(
            ("", f"get them: `hqm fetch {' '.join(lacking) if len(lacking) < 4 else 'all'}`")
        )


def _state(card: Card, root: Path) -> dict[str, Any]:
    """What of a benchmark's release lies below the data root; sizes are compared, checksums are
    left to `hqm fetch`.
    """
    from hqm.files.datasets import is_hub

    if not card.data.folder or is_hub(card.data.folder):
        return {
            "state": "with HQM" if not card.data.folder else "on the hub",
            "missing": [],
            "pictures": True,
        }
    folder = root / card.data.folder
    missing = []
    for file in card.source.files:
        candidates = [
            folder / file.path,
            *([(folder / file.path).with_name(file.instead)] if file.instead else []),
        ]
        if not file.optional and not any(
            candidate.is_file() and _whole(candidate, file.size) for candidate in candidates
        ):
            missing.append(file.path)
    pictures = folder / card.data.images if card.data.images else folder
    seen = any(pictures.iterdir()) if pictures.is_dir() else pictures.is_file()
    state = "incomplete" if missing else "complete"
    if not folder.is_dir():
        state = "missing"
    return {"state": state, "folder": str(folder), "missing": missing, "pictures": seen}


def _whole(path: Path, size: int) -> bool:
    return not size or path.stat().st_size == size or path.suffix == ".parquet"


# --- servers ---


def _servers(report: Report, urls: Sequence[str]) -> None:
    named = [
        *urls,
        *([os.environ["OPENAI_BASE_URL"]] if os.environ.get("OPENAI_BASE_URL") else []),
    ]
    seen = [{**_ask(url), "named": True} for url in dict.fromkeys(named)]
    local = [f"http://127.0.0.1:{port}/v1" for port in PORTS]
    seen += [
        {**row, "named": False}
        for url in local
        if url not in named and (row := _ask(url, 0.5))["reachable"]
    ]
    report.data["servers"] = seen
    report.data["keys"] = [name for name in ("OPENAI_API_KEY", "HF_TOKEN") if os.environ.get(name)]
    for row in seen:
        report.lines.append(("server", f"{row['url']}: {row['said']}"))
        if not row["reachable"]:
            report.problems.append(
                f"{row['url']} cannot be reached ({row['said']}): start the server, or correct the"
                " address"
            )
    if not seen:
        report.lines.append(
            (
                "servers",
                (
                    f"none at ports {', '.join(map(str, PORTS))} of this machine; look at others"
                    " with --server URL"
                ),
            )
        )


def _ask(url: str, patience: float = _PATIENCE) -> dict[str, Any]:
    """Which models a server has; no key is sent, so that one which wants a key says so."""
    import http.client
    import json
    from urllib.error import HTTPError, URLError
    from urllib.request import ProxyHandler, build_opener

    try:
        # a server is reached directly, as respondents reach it, and not by the proxy of a browser
        with build_opener(ProxyHandler({})).open(
            f"{url.rstrip('/')}/models", timeout=patience
        ) as reply:
            models = [str(model.get("id")) for model in json.load(reply)["data"]]
    except HTTPError as error:
        wants = error.code in (401, 403)
        answer = (
            "it is there, and wants a key"
            if wants
            else f"it answers {error.code}: does the address end in /v1?"
        )
        return {"url": url, "reachable": wants, "models": [], "said": answer}
    except (URLError, OSError, http.client.HTTPException) as error:
        return {
            "url": url,
            "reachable": False,
            "models": [],
            "said": f"no answer: {getattr(error, 'reason', error)}",
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return {
            "url": url,
            "reachable": False,
            "models": [],
            "said": "what answers there is no server of models",
        }
    more = f" and {len(models) - 3} more" if len(models) > 3 else ""
    return {
        "url": url,
        "reachable": True,
        "models": models,
        "said": f"it has {', '.join(models[:3]) or 'no model'}{more}",
    }


# --- room for answers ---


def _store(report: Report, option: Path | None) -> None:
    """Whether a store can be made and locked where commands put it."""
    import tempfile

    wanted = option.parent if option else Path("out")
    folder = next(parent for parent in _upwards(wanted) if parent.is_dir())
    row: dict[str, Any] = {"folder": str(wanted.absolute()), "writable": True, "locks": True}
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".hqm-doctor-") as file:
            row["locks"] = _locks(file.fileno())
    except OSError as error:
        row["writable"] = False
        report.problems.append(
            f"{folder} cannot be written ({error.strerror}): name a store elsewhere with --store"
            " FILE"
        )
    row["free_bytes"] = shutil.disk_usage(folder).free
    if row["writable"] and not row["locks"]:
        report.problems.append(
            f"files in {folder} cannot be locked: keep the store on a local disk, with --store FILE"
        )
    if row["free_bytes"] < _LEAST_ROOM:
        report.problems.append(
            f"{folder} has only {_size(row['free_bytes'])} free: make room, or name a store"
            " elsewhere with --store FILE"
        )
    report.data["store"] = row
    state = "writable" if row["writable"] else "not writable"
    report.lines.append(("answers", f"{wanted}/: {state}, {_size(row['free_bytes'])} free"))


def _upwards(folder: Path) -> Iterator[Path]:
    absolute = folder.absolute()
    yield from (absolute, *absolute.parents)


def _locks(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows: HQM takes no lock there
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GiB" if count < 10 * 2**30 else f"{count / 2**30:.0f} GiB"
