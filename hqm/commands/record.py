"""The record of a command: what somebody who repeats it would need to know."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from hqm.benchmark.interface import Benchmark
from hqm.commands.options import RunOptions


def record_of(
    options: RunOptions, benchmarks: Sequence[Benchmark], label_files: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """What a repetition would need to know: versions, settings, hashes of data and cards."""
    packages = ("numpy", "pandas", "pillow", "scipy", "torch", "transformers", "openai")
    return {
        "python": platform.python_version(),
        "packages": {name: installed for name in packages if (installed := _version(name))},
        "settings": {
            "runs": options.asking.times,
            "forms": list(dict.fromkeys([*options.what.forms, *options.what.form_files])),
            **({"expected": True} if options.asking.expected else {}),
            "scoring": options.reading.scoring,
            "parser": options.reading.parser,
            "blind": options.asking.blind,
            "resolutions": list(options.asking.resolutions),
            "judges": list(options.judging.judges),
            "roles": list(options.judging.roles),
            "rejudge": options.judging.rejudge,
            "prompts": options.judging.prompts,
            "mode": options.judging.mode,
            "words": options.reading.words,
            "withheld": options.reading.withheld,
            "sampling": dict(options.asking.sampling),
        },
        "benchmarks": {
            b.name: {
                "version": b.card.version,
                "card": b.card.digest,
                "items": b.original.digest,
                **({"labels": files} if (files := label_files.get(b.name)) else {}),
            }
            for b in benchmarks
        },
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
