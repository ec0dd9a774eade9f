"""What a shell offers at the Tab key: commands and options by typer, the values of options from the
tables of HQM.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from hqm.commands.options import WHAT
from hqm.errors import UsageError

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_HQM_COMPLETE"
"""The variable by which a shell asks what it may offer; typer reads it."""
_LINE = "_HQM_LINE"
"""The command line up to the cursor, as bash has it."""

_BASH = """_hqm_completion() {
    local IFS=$'\\n' line="${COMP_LINE:0:COMP_POINT}"
    local typed="${line##*[[:space:]]}"
    COMPREPLY=( $(_HQM_LINE="$line" _HQM_COMPLETE=complete_bash "$1" 2>/dev/null) )
    # bash takes hf/shapes:steady for three words: only what follows the last mark is replaced
    if [[ "$typed" == *[:=]* ]]; then
        COMPREPLY=( "${COMPREPLY[@]#"${typed%"${typed##*[:=]}"}"}" )
    fi
}
complete -o default -F _hqm_completion hqm"""
"""typer's own script for bash loses names with a colon."""


def completion(
    shell: Annotated[
        str | None,
        typer.Argument(rich_help_panel=WHAT, help="bash, zsh or fish; that of SHELL unless given."),
    ] = None,
) -> None:
    """Print the script by which a shell completes commands, options and names.

    bash: eval "$(hqm completion bash)" in ~/.bashrc. zsh: eval "$(hqm completion zsh)" in ~/.zshrc,
    behind compinit. fish: hqm completion fish > ~/.config/fish/completions/hqm.fish
    """
    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    if name not in SHELLS:
        remedy = f"Write one of {', '.join(f'`hqm completion {known}`' for known in SHELLS)}."
        raise UsageError(
            f"there is no completion for the shell {name!r}",
            remedy=remedy,
            given=name,
            known=SHELLS,
        )
    if name == "bash":
        print(_BASH)
        return
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    print(get_completion_script(prog_name="hqm", complete_var=VARIABLE, shell=name))


def prepare() -> None:
    """Make ready for a shell's question, where this program was started to answer one."""
    if VARIABLE not in os.environ:
        return
    from typer.completion import completion_init  # type: ignore[attr-defined]

    completion_init()
    if (line := os.environ.get(_LINE)) is not None:
        # typer wants the words and the place among them; bash splits at marks that stand inside our
        # names
        words = _words(line)
        place = len(words) if line[-1:].isspace() else len(words) - 1
        os.environ.update(COMP_WORDS=shlex.join(words), COMP_CWORD=str(place))


def _words(line: str) -> list[str]:
    for ending in ("", "'", '"'):
        try:
            return shlex.split(line + ending)
        except ValueError:  # a quotation that is still open
            continue
    return line.split()


# --- values ---


@dataclass(frozen=True, slots=True)
class Candidate:
    """A value that may stand where the cursor is."""

    value: str
    help: str = ""
    type: str = "plain"


def completions(
    command: str, name: str, flags: Sequence[str]
) -> Callable[[], list[Candidate]] | None:
    """What may stand as an argument of this name or behind an option of these flags; None where
    only files may.
    """
    values = next(
        (
            _VALUES[key]
            for key in (*(f"{command} {each}" for each in (name, *flags)), name, *flags)
            if key in _VALUES
        ),
        None,
    )
    return (
        None
        if values is None
        else lambda: [
            Candidate(*each) if isinstance(each, tuple) else Candidate(each) for each in values()
        ]
    )


def _benchmarks() -> Iterable[Any]:
    from hqm.benchmark.registry import groups, names

    return sorted({*names(), *groups()})


def _respondents() -> Iterable[Any]:
    from hqm.respondents.kinds import all_kinds, embedded

    return [*embedded(), *((f"{kind.name}/", kind.meaning) for kind in all_kinds())]


def _listed() -> Iterable[Any]:
    from hqm.commands.listing import KNOWN

    return KNOWN


def _parsers() -> Iterable[Any]:
    from hqm.scoring.parsers import PARSERS

    return [(name, parser.source) for name, parser in sorted(PARSERS.items())]


def _policies() -> Iterable[Any]:
    from hqm.auditing.policy import POLICIES

    return POLICIES


def _codes() -> Iterable[Any]:
    from hqm.benchmark.codes import CODES

    return [(code.code, code.name) for code in CODES.values()]


def _tasks() -> Iterable[Any]:
    return ("yes_no", "choice", "vqa", "caption")


_VALUES: dict[str, Callable[[], Iterable[Any]]] = {
    "benchmarks": _benchmarks,
    "benchmark": _benchmarks,
    "--respondent": _respondents,
    "--judge": _respondents,
    "--rewriter": _respondents,
    "shell": lambda: SHELLS,
    "--parser": _parsers,
    "--policy": _policies,
    "--select": _codes,
    "--ignore": _codes,
    "--task": _tasks,
    "--forms": lambda: ("original", "parallel", "original,parallel"),
    "--scoring": lambda: ("official", "paper"),
    "--withheld": lambda: ("unscored", "official"),
    "--prompts": lambda: ("hqm", "official"),
    "--engine": lambda: ("local", "ray"),
    "--device": lambda: ("auto", "cpu", "cuda", "mps"),
    "--dtype": lambda: ("auto", "float32", "bfloat16", "float16"),
    "--figure": lambda: ("retest_scatter", "forms_scatter", "criterion_scatter", "leaderboard"),
    "list what": _listed,
    "export what": _benchmarks,
    "export --to": lambda: ("inspect", "lmms-eval"),
}
"""The name of an argument, or the flag of an option, or one of them behind a command's name -> what
may stand there.
"""
