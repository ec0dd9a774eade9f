"""A hash of the code and files that make verdicts: verdicts that other code made are not used."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path

import hqm.forms.grammar
import hqm.scoring
import hqm.text
import hqm.types
from hqm.benchmark.adapter import Adapter, Benchmark
from hqm.signature import digest, digest_file

_MODULES = (hqm.forms.grammar, hqm.text, hqm.types)
"""What verdicts depend on beside the package of the rules: negated questions, words, types."""
# Tags and lemmas of words in captions come from these: another version may find other objects.
_LIBRARIES = ("HanTa", "lemminflect")


def scoring_digest(benchmark: Benchmark) -> str | None:
    """A hash of what makes the verdicts on answers to a benchmark, beside its items.

    Returns
    -------
    str or None
        None where a judge or another tool gives the verdicts, or where an adapter scores by a rule
        of its own and does not say which files it reads (`Adapter.scoring_files`).
    """
    files = benchmark.scoring_files
    if files is None and not _is_scored_by_rules(type(benchmark)):
        return None
    if benchmark.roles or benchmark.tool_scored or benchmark.recipes:
        return None
    modules = {module.__name__ for module in _MODULES}
    # The adapter's own module, and those of the classes that it inherits from.
    modules.update(base.__module__ for base in type(benchmark).__mro__)
    code = _code_digest(tuple(sorted(modules)))
    return digest([code, *map(digest_file, filter(Path.exists, files or ()))])


def _is_scored_by_rules(kind: type[Benchmark]) -> bool:
    """Whether the rules of HQM alone score the answers."""
    return (
        kind.score is Adapter.score
        and kind.reader is Adapter.reader
        and kind.verdict is Benchmark.verdict
        and kind.no_answer is Benchmark.no_answer
        and kind.judges is Adapter.judges
    )


@cache
def _code_digest(modules: tuple[str, ...]) -> str:
    """A hash of the rules, of further modules, and of the libraries with the words."""
    package = Path(str(hqm.scoring.__file__)).parent
    files = {*package.rglob("*.py"), *_module_files(modules)}
    # Sorted, as a set of paths has another order in every process.
    return digest([*map(version, _LIBRARIES), *map(digest_file, sorted(files))])


def _module_files(names: Iterable[str]) -> set[Path]:
    files = set()
    for name in names:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is not None:
            files.add(Path(file))
    return files
