"""Every made page of the site, by its path."""

from __future__ import annotations

from collections.abc import Mapping

from hqm.benchmark.registry import names
from hqm.indicators import statistics
from hqm.indicators.flags import FLAGS, NOTE_FLAGS
from make import benchmarks, glossary, indicators


def made() -> Mapping[str, str]:
    """Path below `docs` -> Markdown."""
    pages = {
        "benchmarks/index.md": benchmarks.index(),
        "indicators/index.md": indicators.index(),
        "flags.md": flags(),
        "glossary.md": glossary.page(),
    }
    pages |= {f"benchmarks/{name}.md": benchmarks.page(name) for name in names()}
    return pages | {
        indicators.path(each.name): indicators.page(each) for each in statistics().values()
    }


def flags() -> str:
    """What an audit warns of by itself."""
    lines = [
        "# Flags\n",
        (
            "An audit raises a flag where a number would be read wrongly without a warning. Flags"
            " stand in the report, beside"
        ),
        (
            "each estimate in `audit.json`, and with a sentence of numbers under `flags` of each"
            " audit. A warning may change what the"
        ),
        (
            "scores are used for; a note (`note` under `flags`) only describes a number."
            " `NOISE_FLOOR` is a note where the reliability"
        ),
        (
            "reaches its goal, `MEAN_SHIFT` where the scores of these respondents agree all the"
            " same (ICC(A,1) of .75 or more).\n"
        ),
        '```python\n>>> import hqm\n>>> "NOISE_FLOOR" in hqm.FLAGS\nTrue\n```\n',
        "| flag | what it means, and what to do | |\n|---|---|---|",
        *(
            f"| `{flag}` | {about[0].upper()}{about[1:]}. |"
            f" {'note' if flag in NOTE_FLAGS else 'warning'} |"
            for flag, about in sorted(FLAGS.items())
        ),
    ]
    return "\n".join(lines) + "\n"
