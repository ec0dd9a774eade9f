"""Write docs/reference.md from the code: commands and options, card keys, indicators, parsers,
and states.

python docs/generate.py            writes it
python docs/generate.py --check    says whether it is up to date
"""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from typer.main import get_command

from hqm import types as values
from hqm.auditing.gate import Policy
from hqm.benchmark.card import Card
from hqm.cli import program
from hqm.commands.help import every_command
from hqm.lint import CODES
from hqm.scoring.parsers import PARSERS

TARGET = Path(__file__).with_name("reference.md")


def _commands() -> Iterator[str]:
    """Each command with the options that it alone has; those of several commands once, below."""
    commands = sorted(every_command(get_command(program())).items())
    takers = Counter(_row(parameter) for _, command in commands for parameter in command.params)
    yield "## Commands\n"
    for name, command in commands:
        yield f"### `hqm {name}`\n\n{command.help}\n"
        rows = {_row(parameter): parameter.opts[0] for parameter in command.params}
        yield from (row for row in rows if takers[row] == 1)
        shared = ", ".join(f"`{option}`" for row, option in rows.items() if takers[row] > 1)
        yield f"\n[And](#options-of-several-commands) {shared}.\n" if shared else ""
    yield "### Options of several commands\n"
    yield from sorted(row for row, count in takers.items() if count > 1)
    yield ""


def _row(parameter: Any) -> str:
    written = ", ".join(f"`{option}`" for option in parameter.opts)
    default = parameter.default not in (None, False, (), "")
    return f"- {written}: {parameter.help}{f' Default `{parameter.default}`.' if default else ''}"


def _codes() -> Iterator[str]:
    yield "## Findings of `hqm check`\n"
    yield (
        "A line is `code name: place: sentence`. A code is never given to another finding."
        " `--select` and `--ignore` take codes (`L202`), beginnings of codes (`L`, `L2`) and names;"
        " the longest entry that fits decides, a full name before any code. The status is 1 when an"
        " error is left; with `--strict` also when a warning is left. Under the counts stands how"
        " many answers the words and the strongest cue get right without the pictures (`leaks` in"
        " `--json`).\n"
    )
    yield "| code and name | meaning | severity |\n|---|---|---|"
    yield from (
        f"| `{code.code}` `{code.name}` | {code.meaning} | {code.severity} |"
        for code in CODES.values()
    )
    yield ""


def _policy() -> Iterator[str]:
    yield "## Keys of a policy (`hqm gate --policy`)\n"
    yield (
        "The default policy, with the source of every threshold, is"
        " [hqm/auditing/policy.toml](../hqm/auditing/policy.toml); `--policy release-small` is [for"
        " fewer than 1,000 items](../hqm/auditing/policy_release_small.toml).\n"
    )
    documented = _field_docs(Policy)
    for name, field in Policy.model_fields.items():
        section = field.annotation if hasattr(field.annotation, "model_fields") else None
        if name == "require":
            section, _ = get_args(field.annotation)
        if section is None:
            yield f"- `{name}`: {documented.get(name, '')}{_default(field)}"
            continue
        inside = _field_docs(section)
        yield from (
            f"- `{name}.{k}`: {inside.get(k, '')}{_default(f)}"
            for k, f in section.model_fields.items()
        )
    yield ""


def _field_docs(section: type) -> dict[str, str]:
    """The sentence under each field of a class."""
    body = ast.parse(inspect.getsource(section)).body[0].body  # type: ignore[attr-defined]
    sentences = {}
    for field, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            text = (
                after.value.value
                if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                else ""
            )
            sentences[field.target.id] = " ".join(str(text).split())
    return sentences


def _card() -> Iterator[str]:
    yield "## Keys of `card.toml`\n"
    documented = _field_docs(Card)
    sections: list[tuple[str, Any]] = []
    for name, field in Card.model_fields.items():
        kinds = (field.annotation, *get_args(field.annotation))
        section = next((kind for kind in kinds if hasattr(kind, "model_fields")), None)
        if section is not None:
            sections.append((name, section))
            continue
        yield f"- `{name}`: {documented.get(name, '')}{_default(field)}"
    yield ""
    for name, section in sections:
        yield f"### `[{name}]`\n\n{inspect.cleandoc(section.__doc__ or '').split(': ', 1)[-1]}\n"
        documented = _field_docs(section)
        for key, field in section.model_fields.items():
            yield f"- `{name}.{key}`: {documented.get(key, '')}{_default(field)}"
        yield ""


def _default(field: Any) -> str:
    if field.is_required():
        return " Required."
    empty = field.default in ("", ()) or field.default is None or field.default is False
    return "" if empty else f" Default `{field.default!r}`."


def _tables() -> Iterator[str]:
    yield (
        "## Indicators\n\nThe name of an estimate is a family and a statistic,"
        " `test_retest.pearson`; [each statistic](indicators/index.md) has a page, and"
        " `hqm list indicators` prints their meanings and those of the families.\n"
    )
    yield "\n## Parsers\n\n| name | reads | negated questions | rule of |\n|---|---|---|---|"
    yield from (
        f"| `{p.name}` | {', '.join(p.reads)} | {'yes' if p.reads_negation else 'no'} | {p.source} |"
        for p in PARSERS.values()
    )

    yield "\n## States of an answer\n"
    yield ", ".join(f"`{state}`" for state in values.STATES) + "\n"
    yield "## Hallucination types\n"
    yield ", ".join(f"`{kind}`" for kind in values.HALLUCINATION_TYPES) + "\n"
    yield "## Errors\n"
    yield "Every error that HQM raises is an `hqm.HQMError`; `help(hqm.errors)` lists the kinds."


def reference() -> str:
    """The text of docs/reference.md."""
    head = "# Reference\n\nMade from the code by `docs/generate.py`; a test keeps it true.\n"
    head += (
        "\n```python\n>>> import hqm\n>>>"
        " hqm.indicator_named(\"test_retest.rho_g\").better\n'higher'\n```\n"
    )
    return "\n".join([head, *_commands(), *_card(), *_codes(), *_policy(), *_tables()]) + "\n"


_IMPORTS = {
    "collections.abc": ("Mapping", "Sequence"),
    "pathlib": ("Path",),
    "typing": ("Any",),
    "pandas": ("DataFrame",),
    "hqm.auditing.audit": ("Audit", "BenchmarkAudit"),
    "hqm.auditing.evidence": ("Evidence",),
    "hqm.benchmark.adapter": ("Benchmark",),
    "hqm.commands.in_python": ("RunResult", "Table"),
    "hqm.commands.run_plan": ("Plan",),
    "hqm.comparison.measures": ("Comparison",),
    "hqm.store.database": ("Store",),
    "hqm.types": ("BatchSize", "FileRole"),
}
_TAKEN = {
    "tuple[str, ...]": "str | Sequence[str]",
    "tuple[pathlib.Path, ...]": (
        "str | Path | Sequence[str | Path] | Mapping[str, str | Path | Sequence[str | Path]]"
    ),
    "collections.abc.Mapping[str, pathlib.Path]": "Mapping[str, str | Path]",
    "pathlib.Path | None": "str | Path | None",
    "str | pathlib.Path | None": "str | Path | None",
    str(values.FileRole): "FileRole",
    str(values.BatchSize): "BatchSize",
}
"""The type of an option -> what a keyword takes, from which the option is read."""


def stub() -> str:
    """The text of hqm/commands/python_api.pyi."""
    from hqm.commands.python_api import FUNCTIONS

    body = "".join(_signature(function) for function in FUNCTIONS)
    lines = ["# Made from the options by docs/generate.py; a test keeps it true.", ""]
    for module, members in _IMPORTS.items():
        needed = [name for name in members if re.search(rf"(?<![.\w]){name}\b", body)]
        lines += [""] if module in ("pandas", "hqm.auditing.audit") else []
        lines += [f"from {module} import {', '.join(needed)}"] if needed else []
    text = "\n".join([*lines, "", body])
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", "python_api.pyi", "-"]
    root = Path(__file__).parent.parent
    formatted = subprocess.run(
        command, input=text, cwd=root, capture_output=True, encoding="utf-8", check=True
    )
    return formatted.stdout


def _signature(function: Any) -> str:
    signature = inspect.signature(function)
    parameters = []
    for parameter in signature.parameters.values():
        kind = parameter.annotation
        text = kind if isinstance(kind, str) else getattr(kind, "__name__", "")
        if not isinstance(kind, (str, type)) or "[" in str(kind):
            # Python 3.13 names the module in which it hides the class
            text = str(kind).replace("pathlib._local.", "pathlib.")
        text = _TAKEN.get(text, text).replace("pd.DataFrame", "DataFrame")
        if parameter.name == "resolutions":
            text = "str | int | Sequence[str | int]"
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        default = " = ..." if parameter.default is not parameter.empty else ""
        parameters.append((parameter.kind, f"{star}{parameter.name}: {text}{default}"))
    names = [text for _, text in parameters]
    kinds = [kind for kind, _ in parameters]
    first = next(i for i, kind in enumerate(kinds) if kind is inspect.Parameter.KEYWORD_ONLY)
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        names.insert(first, "*")
    inside = "".join(f"    {text},\n" for text in names)
    return f"def {function.__name__}(\n{inside}) -> {signature.return_annotation}: ...\n"


MADE = {
    TARGET: reference,
    Path(__file__).parent.parent / "hqm" / "commands" / "python_api.pyi": stub,
}
"""File -> the function that makes its text."""

if __name__ == "__main__":
    for path, made in MADE.items():
        if "--check" in sys.argv:
            if path.read_text(encoding="utf-8") != made():
                sys.exit(f"{path.name} is out of date: make docs")
        else:
            path.write_text(made(), encoding="utf-8")
