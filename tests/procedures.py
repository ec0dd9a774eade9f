"""What the procedures behind every number do on frozen cases, and the versions that stand for it.

    python -m tests.procedures                          # which procedures behave otherwise
    python -m tests.procedures raise reader.strict ...  # their new versions; no name: of all
    python -m tests.procedures coverage                 # the branches that each corpus covers

A corpus is a file of JSON lines in `tests/corpora`, a case a line, which only grows: lines are
added at its end. Beside it, `tests/corpora/<corpus>/<procedure>.jsonl` has the outcome of each case
in the same order. `hqm/procedures.json` has the versions. Nobody edits outcomes and versions by
hand: `raise` writes them, prints the changed cases, and names the versions in CHANGELOG.md.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

from hqm.signature import PROCEDURES, Procedure, digest_all
from tests import procedure_constants, procedure_runs

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "tests" / "corpora"
CHANGELOG = ROOT / "CHANGELOG.md"
_VERSIONS = "- Results may differ by these procedures, whose versions audits name: "
_VERSIONS_LINE = re.compile(re.escape(_VERSIONS.rstrip()) + r".*\n(?:  .*\n)*")
_VERSION = re.compile(r"`(\S+)`\s+(\d+)\s+\(was\s+(\d+)\)")
_MOST_STATISTICS = "most of `statistic.*`"
NOT_ASKED = ""
"""The line of a case that a procedure is not asked about."""
MAX_SHOWN = 10
MAX_CASE_CHARS = 200
_TOLERANCE = 1e-6
"""Numbers agree to six digits: further ones differ between processors and releases of numpy."""
_MIN_NUMBER = 1e-9
"""Below it a number is rounding error of zero."""


@dataclass(frozen=True)
class Change:
    """A case that came out otherwise than when the version was given."""

    procedure: str
    case: str
    before: str
    now: str

    def __str__(self) -> str:
        return f"{self.case}: {_differing(self.before, self.now)}"


@dataclass(frozen=True)
class Corpus:
    """Frozen cases, and the function that puts one before every procedure that it concerns.

    `run` gives procedure -> outcome, a JSON value.
    """

    name: str
    run: Callable[[Any], Mapping[str, Any]]
    sources: tuple[str, ...]
    """The files whose branches it is to cover."""

    @property
    def file(self) -> Path:
        """Its cases."""
        return FOLDER / f"{self.name}.jsonl"

    @cached_property
    def cases(self) -> list[str]:
        """The lines of its file."""
        return self.file.read_text(encoding="utf-8").splitlines()

    @cached_property
    def outcomes(self) -> dict[str, list[str]]:
        """Procedure -> the outcome of every case, as the procedures behave now."""
        by_procedure: dict[str, list[str]] = {}
        for index, case in enumerate(self.cases):
            for procedure, outcome in self.run(json.loads(case)).items():
                lines = by_procedure.setdefault(procedure, [NOT_ASKED] * len(self.cases))
                lines[index] = json.dumps(outcome, ensure_ascii=False)
        return by_procedure

    def case_text(self, index: int) -> str:
        """A case in a sentence: its line, or its number where that is long."""
        case = self.cases[index]
        return case if len(case) <= MAX_CASE_CHARS else f"case {index + 1} of {self.name}"

    def outcome_file(self, procedure: str) -> Path:
        """Where the outcomes of a procedure lie."""
        return FOLDER / self.name / f"{procedure}.jsonl"

    @cached_property
    def held_outcomes(self) -> dict[str, list[str]]:
        """Procedure -> the outcomes for which its version stands."""
        files = sorted((FOLDER / self.name).glob("*.jsonl"))
        return {file.stem: file.read_text(encoding="utf-8").split("\n")[:-1] for file in files}

    def changes(self, procedure: str) -> list[Change]:
        """The cases that come out otherwise than before; a new case is no change."""
        held = self.held_outcomes.get(procedure, [])
        now = self.outcomes.get(procedure, [NOT_ASKED] * len(self.cases))
        return [
            Change(procedure, self.case_text(index), before, after)
            for index, (before, after) in enumerate(zip(held, now, strict=False))
            if not agrees(before, after)
        ]


CORPORA = tuple(Corpus(*row) for row in procedure_runs.CORPORA)


def agrees(before: str, now: str) -> bool:
    """Whether two outcomes are the same, numbers to six digits."""
    return before == now or (
        NOT_ASKED not in (before, now) and _agree(json.loads(before), json.loads(now))
    )


def _agree(before: Any, now: Any) -> bool:
    if isinstance(before, dict) and isinstance(now, dict):
        return before.keys() == now.keys() and all(_agree(before[k], now[k]) for k in before)
    if isinstance(before, list) and isinstance(now, list):
        return len(before) == len(now) and all(map(_agree, before, now))
    if isinstance(before, float) or isinstance(now, float):
        is_number = all(isinstance(value, (int, float)) for value in (before, now))
        return is_number and math.isclose(before, now, rel_tol=_TOLERANCE, abs_tol=_MIN_NUMBER)
    return bool(before == now)


def _differing(before: str, now: str) -> str:
    """Both outcomes; of two records or lists the first values that differ, with where they stand."""
    if NOT_ASKED not in (before, now):
        first, second = json.loads(before), json.loads(now)
        if isinstance(first, (dict, list)):
            differences = islice(_differences(first, second), 2)
            return "; ".join(map(_difference_text, differences))
    return f"{_shortened(before) or 'not listed'} before, {_shortened(now) or 'not listed'} now"


def _difference_text(difference: tuple[str, Any, Any]) -> str:
    path, old, new = difference
    if any(str(value).startswith("b2:") for value in (old, new)):
        return f"{path} has other words"  # a content hash says nothing to a reader
    return f"{path or 'all'}: {_shortened(str(old))} before, {_shortened(str(new))} now"


def _differences(before: Any, now: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The values in which two outcomes differ, each with its path."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in {**before, **now}:
            yield from _differences(before.get(key), now.get(key), f"{path}[{key}]")
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for index, pair in enumerate(zip(before, now, strict=True)):
            yield from _differences(*pair, f"{path}[{index}]")
    elif not _agree(before, now):
        yield path, before, now


def _shortened(text: str, limit: int = 160) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def versions() -> dict[str, Procedure]:
    """The procedures as `hqm/procedures.json` has them now."""
    rows = json.loads(PROCEDURES.read_text(encoding="utf-8"))
    return {name: Procedure(name, **row) for name, row in rows.items()}


def held_digest(procedure: str) -> tuple[int, str]:
    """The number of the outcomes that are held for a procedure, and their hash."""
    lines: list[str] = []
    for corpus in CORPORA:
        file = corpus.outcome_file(procedure)
        if file.is_file():
            outcomes = file.read_text(encoding="utf-8").split("\n")[:-1]
            cases = corpus.cases[: len(outcomes)]
            # the hash holds the cases too: a frozen case that is edited changes it
            lines += (f"{case}\t{outcome}" for case, outcome in zip(cases, outcomes, strict=False))
    asked = [line for line in lines if not line.endswith("\t")]
    outcomes = (json.loads(line.rpartition("\t")[2]) for line in asked)
    # a study has an outcome for each pair of administrations
    n_cases = sum(len(outcome) if isinstance(outcome, dict) else 1 for outcome in outcomes)
    return n_cases, digest_all(asked)


def failures(corpus: Corpus) -> list[str]:
    """A paragraph for every procedure that behaves otherwise, or has no version."""
    known = versions()
    paragraphs = []
    for procedure in sorted({*corpus.outcomes, *corpus.held_outcomes}):
        version = known.get(procedure)
        if version is None or procedure not in corpus.held_outcomes:
            paragraphs.append(f"{procedure} has no outcomes of the corpus {corpus.name}.")
            continue
        changes = corpus.changes(procedure)
        if changes:
            shown = "".join(f"\n    {change}" for change in changes[:MAX_SHOWN])
            rest = len(changes) - MAX_SHOWN
            paragraphs.append(
                f"{procedure} decides {len(changes):,} of {version.cases:,} frozen cases otherwise,"
                f" and its version is still {version.version}:{shown}"
                + (f"\n    and {rest:,} more" if rest > 0 else "")
            )
        elif len(corpus.held_outcomes[procedure]) < len(corpus.cases):
            paragraphs.append(f"{procedure} has no outcomes of the newest cases of {corpus.name}.")
        elif (version.cases, version.outcomes) != held_digest(procedure):
            paragraphs.append(
                f"The frozen cases or outcomes of {procedure} in tests/corpora were edited by hand:"
                f" its version {version.version} stands for others."
            )
    return paragraphs


def advice(paragraphs: Sequence[str]) -> str:
    """The paragraphs with what to do."""
    names = " ".join(paragraph.split(" ", 1)[0] for paragraph in paragraphs)
    if len(paragraphs) > MAX_SHOWN:
        listed = ", ".join(paragraph.split(" ", 1)[0] for paragraph in paragraphs[MAX_SHOWN:])
        paragraphs = [*paragraphs[:MAX_SHOWN], f"The same of {listed}."]
        names = ""
    command = f"python -m tests.procedures raise {names}".strip()
    return (
        "\n".join(paragraphs)
        + "\n\nEqual signatures must mean equal numbers. Where the change is meant, run"
        f" `{command}` (or `make versions` for all) and commit what it writes:"
        " hqm/procedures.json, tests/corpora and a line of CHANGELOG.md. Where it is not meant,"
        " mend the change."
    )


def raise_versions(names: Sequence[str] = ()) -> list[str]:
    """Give the procedures that behave otherwise their next version, and hold what they do now.

    Returns
    -------
    list[str]
        A sentence for each version that was raised or begun.
    """
    known = versions()
    changes: dict[str, list[Change]] = {}
    written: dict[str, None] = {}
    for corpus in CORPORA:
        for procedure in sorted({*corpus.outcomes, *corpus.held_outcomes}):
            if names and procedure not in names:
                continue
            changed = corpus.changes(procedure)
            changes.setdefault(procedure, []).extend(changed)
            now = corpus.outcomes.get(procedure, [NOT_ASKED] * len(corpus.cases))
            held = corpus.held_outcomes.get(procedure)
            if changed or held is None or len(held) < len(now) or procedure not in known:
                file = corpus.outcome_file(procedure)
                file.parent.mkdir(exist_ok=True)
                # outcomes that agree stay as they are, so that a difference shows what changed
                lines = list(now)
                for index, line in enumerate(held or ()):
                    if agrees(line, now[index]):
                        lines[index] = line
                file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
                written[procedure] = None
    for procedure, change in list(_computed_otherwise(changes)):
        changes.setdefault(procedure, []).append(change)
        written[procedure] = None
    raised = {}
    for procedure in written:
        cases, digest = held_digest(procedure)
        before = known.get(procedure)
        version = 1 if before is None else before.version + bool(changes[procedure])
        known[procedure] = Procedure(procedure, version, cases, digest)
        if before is not None and changes[procedure]:
            raised[procedure] = (before.version, version)
    rows = (f"{json.dumps(name)}: {json.dumps(_row(known[name]))}" for name in sorted(known))
    PROCEDURES.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    write_changelog(raised)
    if not raised:
        return [f"{len(written)} procedures got outcomes; no version was raised"]
    return [_describe_raise(known[name], *raised[name], changes[name]) for name in raised]


def _describe_raise(procedure: Procedure, before: int, now: int, changes: Sequence[Change]) -> str:
    examples = "".join(f"\n  - {change}" for change in changes[:3])
    return (
        f"- `{procedure.name}` is version {now} (was {before}): {len(changes):,} of"
        f" {procedure.cases:,} frozen cases come out otherwise, such as{examples}"
    )


def _computed_otherwise(changes: Mapping[str, list[Change]]) -> Iterator[tuple[str, Change]]:
    """The procedures behind which a number or a table in the code is another one."""
    (corpus,) = (corpus for corpus in CORPORA if corpus.name == "constants")
    if numbers := changes.get(procedure_constants.NUMBERS):
        held = corpus.held_outcomes[procedure_constants.NUMBERS]
        pairs = filter(all, zip(corpus.cases, held, strict=False))
        before = {json.loads(case): json.loads(outcome) for case, outcome in pairs}
        for procedure in procedure_constants.changed_statistics(before):
            yield procedure, numbers[0]
    texts = (procedure_constants.WORDS, procedure_constants.PATTERNS)
    for change in chain.from_iterable(changes.get(kind, ()) for kind in texts):
        for procedure in procedure_constants.changed_readings(json.loads(change.case)):
            # a reader whose own cases changed has its next version by them
            if not changes.get(procedure):
                yield procedure, change


def _row(procedure: Procedure) -> dict[str, Any]:
    row = asdict(procedure)
    del row["name"]
    return row


def write_changelog(raised: Mapping[str, tuple[int, int]]) -> None:
    """Name the raised versions in the first "Changed", each beside that of the last release.

    Parameters
    ----------
    raised
        Procedure -> its version before and now.
    """
    if not raised:
        return
    text = CHANGELOG.read_text(encoding="utf-8")
    heading = "### Changed\n\n"
    start = text.index(heading) + len(heading)
    line = _VERSIONS_LINE.search(text, start, text.index("\n## ", start))
    start, end = line.span() if line else (start, start)
    versions = {
        name: (int(before), int(now)) for name, now, before in _VERSION.findall(text, start, end)
    }
    statistics = [name for name in raised if name.startswith("statistic.")]
    # a constant of a common function raises the versions of most statistics
    are_most_raised = len(statistics) > 5 or _MOST_STATISTICS in text[start:end]
    for name, (before, now) in raised.items():
        # the constants of a package change no result by themselves
        is_hidden = name.startswith("constants.") or (are_most_raised and name in statistics)
        if not is_hidden:
            versions[name] = (versions.get(name, (before, now))[0], now)
    entries = [f"`{name}` {now} (was {before})" for name, (before, now) in sorted(versions.items())]
    if are_most_raised:
        entries.append(_MOST_STATISTICS)
    lines = textwrap.wrap(
        _VERSIONS + "; ".join(entries), 160, subsequent_indent="  ", break_on_hyphens=False
    )
    new = "".join(f"{line}\n" for line in lines)
    CHANGELOG.write_text(text[:start] + new + text[end:], encoding="utf-8")


def branch_coverage(names: Sequence[str] = ()) -> None:
    """Print the share of lines and branches of its sources that each corpus covers."""
    for corpus in CORPORA:
        if names and corpus.name not in names:
            continue
        # a process of its own, so that what runs while modules are loaded is counted too
        sources = ",".join(corpus.sources)
        program = [sys.executable, "-m", "coverage"]
        with tempfile.TemporaryDirectory() as folder:
            data = f"--data-file={folder}/coverage"
            script = ["-m", "tests.procedures", "run", corpus.name]
            subprocess.run(
                [*program, "run", data, "--branch", f"--include={sources}", *script], check=True
            )
            print(f"{corpus.name}: {len(corpus.cases):,} cases")
            sys.stdout.flush()
            subprocess.run([*program, "report", data, "--show-missing"], check=True)


def main(arguments: Sequence[str]) -> int:
    """Do what the command line says."""
    command, *names = arguments or ["check"]
    if command == "raise":
        sentences = raise_versions(names)
        print("\n".join(sentences[:MAX_SHOWN]))
        if len(sentences) > MAX_SHOWN:
            print(f"and {len(sentences) - MAX_SHOWN:,} more")
    elif command == "coverage":
        branch_coverage(names)
    elif command == "run":
        for corpus in CORPORA:
            if corpus.name in names:
                print(f"{len(corpus.outcomes)} procedures, {len(corpus.cases):,} cases")
    else:
        paragraphs = [paragraph for corpus in CORPORA for paragraph in failures(corpus)]
        print(advice(paragraphs) if paragraphs else "every procedure behaves as its version says")
        return bool(paragraphs)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
