"""`hqm audit FILE` of pairwise preferences: read, audited, printed and written."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from hqm.benchmark.registry import is_log
from hqm.commands.options import RunOptions
from hqm.commands.shared import command, stem
from hqm.commands.terminal import print_json, print_line, print_lines, print_report_table, tell
from hqm.errors import UsageError
from hqm.files.whole import write_together
from hqm.version import __version__
from hqm_preferences.preference_log import holds_preferences, read_preferences


def audit_of_files(
    names: Sequence[str], columns: str | None
) -> Callable[[Path | None, RunOptions], None] | None:
    """Return the audit of the files and folders that a command names, if they hold pairwise
    preferences.

    Raises
    ------
    UsageError
        Some of them hold preferences and others do not.
    """
    preferences = [
        Path(name) for name in names if is_log(name) and holds_preferences(Path(name), columns)
    ]
    if not preferences:
        return None
    if len(preferences) < len(names):
        first = next(name for name in names if Path(name) not in preferences)
        raise UsageError(
            f"{preferences[0]} holds pairwise preferences, and {first} does not",
            remedy="Audit them in two commands.",
        )
    return partial(_audit_files, preferences, columns)


def _audit_files(
    paths: Sequence[Path], columns: str | None, folder: Path | None, options: RunOptions
) -> None:
    """Audit files of pairwise preferences; print the findings, and write audit.json and the page.

    Raises
    ------
    UsageError
        Respondents, judges or labels are named, which preferences have no use for.
    """
    from hqm_preferences import preference_page as page
    from hqm_preferences.preference_audit import audit_preferences

    _refuse_others(paths, options)
    name = stem([str(path) for path in paths[:3]])
    folder = folder or Path("out") / name
    audited = audit_preferences(read_preferences(paths, columns), name, options.reading.margin)
    audit = audited.to_dict()
    data = {"hqm_version": __version__, "command": command(), "audits": [audit]}
    if not options.output.dry_run:
        text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        report = page.render(audit, command())
        write_together({folder / "audit.json": text, folder / "report.html": report})
    if options.output.as_json:
        print_json(data)
        return
    tell(*audit["notes"])
    print_lines(f"{name}: {page.describe_material(audit)}", *page.findings(audit))
    print_report_table(next(page.tables(audit)))
    if not options.output.dry_run:
        print_line(f"wrote  {folder / 'report.html'}  audit.json")


def _refuse_others(paths: Sequence[Path], options: RunOptions) -> None:
    """Refuse options that name respondents, judges or labels."""
    answering, judging = options.answering, options.judging
    option_values = {
        "--respondent": answering.respondents,
        "--recorded": answering.recorded,
        "--judge": judging.judges,
        "--judgements": judging.judgements,
        "--criterion": judging.criterion,
    }
    for option, value in option_values.items():
        if value:
            raise UsageError(
                f"{paths[0]} holds pairwise preferences, and {option} is about answers",
                remedy=f"Leave out {option}.",
            )
