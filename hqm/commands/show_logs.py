"""What the commands print of logs and of corrected keys."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hqm.commands.terminal import print_all, print_json, terminal_table

if TYPE_CHECKING:
    from hqm.auditing.foreign import ScoreComparison
    from hqm.auditing.rekeyed import KeyEffect
    from hqm.benchmark.interface import Benchmark
    from hqm.benchmark.logged import Taken
    from hqm.judges.judgements import TakenJudgements


def key_effect(effect: KeyEffect) -> None:
    """`hqm audit --key`: what the corrected key changes."""
    tables = importlib.import_module("hqm.reports.tables")
    table = terminal_table(
        f"{effect.benchmark} by the key {effect.key}: {effect.changed} targets are others,"
        f" {effect.left_out} items are left out as ambiguous; {effect.moved} of"
        f" {len(effect.scores)} respondents change their rank",
        "respondent",
        f"{effect.metric}, release",
        f"{effect.metric}, corrected",
        "rank",
        "corrected",
        right=(1, 2, 3, 4),
    )
    for row in effect.scores:
        scores = (tables.number(row.score), tables.number(row.corrected))
        table.add_row(row.respondent, *scores, str(row.rank or "-"), str(row.corrected_rank or "-"))
    for name, (old, new) in effect.reliability.items():
        table.add_row(name, tables.number(old), tables.number(new), "", "")
    print_all(table)


def judgements(taken_files: TakenJudgements | None) -> None:
    """`hqm audit --judgements`: how the rows of the files were taken; beside the results, which may
    be JSON.
    """
    for matching in taken_files.matchings if taken_files else ():
        print(f"judgements: {matching.sentence}", file=sys.stderr)
    for note in taken_files.notes if taken_files else ():
        print(f"judgements: note: {note}", file=sys.stderr)


def taken(
    benchmark: Benchmark, logs: Taken, compared: Sequence[ScoreComparison], as_json: bool
) -> None:
    """`hqm import --benchmark`: how the rows found their items, and where the tools' scores differ
    from HQM's.
    """
    if as_json:
        matchings = [dataclasses.asdict(matching) for matching in logs.matchings]
        scores = [comparison.to_dict() for comparison in compared]
        print_json(
            {
                "benchmark": benchmark.name,
                "matched": matchings,
                "notes": list(logs.notes),
                "scores": scores,
            }
        )
        return
    for note in logs.notes:
        print(f"note: {note}")
    for matching in logs.matchings:
        how = ", ".join(f"{n} by {name}" for name, n in matching.how.items())
        print(
            f"{matching.path} ({matching.tool}): {matching.respondent}, form {matching.form}, run"
            f" {matching.run}: {matching.matched} of {matching.rows} rows matched"
            f" ({how or 'none'}), {matching.items} items answered, {len(matching.unmatched)}"
            f" unmatched, {len(matching.ambiguous)} ambiguous"
        )
        for what, places in (("unmatched", matching.unmatched), ("ambiguous", matching.ambiguous)):
            for place in places[:3]:
                print(f"    {what}: {place}")
    for comparison in compared:
        recorded_scores(comparison.to_dict())


def recorded_scores(compared: Mapping[str, Any]) -> None:
    """Where a tool's scores and HQM's differ: in total, by reason, and the first rows."""
    tables = importlib.import_module("hqm.reports.tables")
    means = [tables.number(compared[name], 4) for name in ("tool_mean", "hqm_mean")]
    print(
        f"{compared['respondent']}, form {compared['form']}, run {compared['run']}:"
        f" {compared['tool']} scores {means[0]}, HQM {means[1]} ({compared['hqm_scored']} of"
        f" {compared['compared']} scored); {len(compared['differences'])} answers differ"
    )
    for reason, n in compared["reasons"].items():
        print(f"    {n}: {reason}")
        for row in [row for row in compared["differences"] if row["reason"] == reason][:3]:
            hqm_score = "unscored" if row["hqm_score"] is None else f"{row['hqm_score']:g}"
            print(
                f"        {row['item']}: {row['answer']!r:.60} {compared['tool']}"
                f" {row['tool_score']:g} ({row['tool_read']!r:.30}), HQM {hqm_score}"
                f" ({row['hqm_read']!r:.30})"
            )
