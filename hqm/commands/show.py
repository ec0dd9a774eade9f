"""What the commands print: tables, or JSON with `--json`.

Rounding happens in `hqm.reports.tables.table`.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from hqm.commands.terminal import print_json, print_lines, print_report_table, print_table, tell
from hqm.text import DASH, annotation

if TYPE_CHECKING:
    from hqm.administration.costs import Spent
    from hqm.auditing.audit import Audit, BenchmarkAudit
    from hqm.auditing.gate import Gate
    from hqm.auditing.one_file import FileScore
    from hqm.auditing.score_differences import ScoreComparison
    from hqm.benchmark.adapter import Benchmark
    from hqm.benchmark.card import Card
    from hqm.benchmark.download import Fetched
    from hqm.benchmark.findings import Finding
    from hqm.benchmark.log_benchmark import LogBenchmark
    from hqm.commands.session import Session
    from hqm.comparison.compare import KeyEffect
    from hqm.imports.log_answers import ImportedLogs
    from hqm.judges.judgements import ImportedJudgements
    from hqm.lint import Checked, Selection
    from hqm.psychometrics.items.leaks import Stratum
    from hqm.types import Form, Item


def _tables() -> ModuleType:
    # By its name, since `reports` stands above and `hqm` imports none of it (ARCHITECTURE.md).
    return importlib.import_module("hqm.reports.tables.table")


# --- expected=true ---

_NO_PROBABILITY_REASONS = (
    "captions have none, recorded answers and some servers give none, and answers that were stored"
    " without are not asked again"
)


def probability_counts(session: Session) -> None:
    """Print how many of each respondent's answers carry a probability."""
    for benchmark in session.benchmarks:
        for respondent in session.stored_respondents(benchmark):
            chances = session.answers.probabilities(benchmark, benchmark.original, respondent, 0)
            n_present = len(chances) - chances.count(None)
            if n_present < len(chances):
                explanation = f" ({_NO_PROBABILITY_REASONS})"
            else:
                explanation = ""
            print(
                f"{benchmark.name}, {respondent.name}: {n_present:,} of {len(chances):,} answers"
                f" carry probabilities{explanation}"
            )


def expectations(result: Audit) -> None:
    """Print what the expected numbers rest on, or why there is none (`hqm audit --set
    expected=true`).
    """
    from hqm.indicators.flags import FLAGS

    for audited in result.audits:
        title = audited.title
        n_estimates = 0
        n_absent = 0
        for estimate in audited.all_estimates:
            if not estimate.indicator.startswith("expected."):
                continue
            n_estimates += 1
            if estimate.value is None:
                n_absent += 1
                name = f"{estimate.indicator} ({estimate.metric})"
                print(f"{title}, {name} has no number: {estimate.reason}.")
        # The assumption concerns numbers: where all are missing, only their reasons are printed.
        if n_absent < n_estimates:
            print(f"{title}, expected from probabilities: {FLAGS['EXPECTED']}.")
        if not n_estimates:
            print(
                f"{title}: the effect of reruns cannot be computed, because no answer has"
                f" probabilities ({_NO_PROBABILITY_REASONS})."
            )


# --- logs and corrected keys ---


def key_effect(effect: KeyEffect) -> None:
    """Print what a corrected key changes in scores, ranks and reliability."""
    number = _tables().number
    rows = [
        (
            row.respondent,
            number(row.score),
            number(row.corrected),
            str(row.rank or "-"),
            str(row.corrected_rank or "-"),
        )
        for row in effect.scores
    ]
    # Coefficients have no rank, so the last columns are empty.
    rows += [
        (name, number(old), number(new), "", "") for name, (old, new) in effect.reliability.items()
    ]
    print_table(
        f"{effect.benchmark} by the key {effect.key}: {effect.changed} right answers differ,"
        f" {effect.left_out} items are left out as ambiguous; {effect.n_changed_ranks} of"
        f" {len(effect.scores)} respondents change their rank",
        (
            "respondent",
            f"{effect.metric}, release",
            f"{effect.metric}, corrected",
            "rank",
            "corrected",
        ),
        rows,
        right=(1, 2, 3, 4),
    )


def judgements(taken_files: ImportedJudgements | None) -> None:
    """Print how the rows of files of judgements were matched, on the error stream: the results may
    be JSON.
    """
    if taken_files is not None:
        sentences = (matching.sentence for matching in taken_files.matchings)
        print_lines(*sentences, to=sys.stderr, prefix="judgements: ")
        print_lines(*taken_files.notes, to=sys.stderr, prefix="judgements: note: ")


def imported_logs(
    benchmark: Benchmark, logs: ImportedLogs, compared: Sequence[ScoreComparison], as_json: bool
) -> None:
    """Print how the rows of imported logs found their items, and where the tools' scores differ
    from HQM's.
    """
    scores = [comparison.to_dict() for comparison in compared]
    if as_json:
        print_json(
            {
                "benchmark": benchmark.name,
                "matched": list(map(asdict, logs.matchings)),
                "notes": list(logs.notes),
                "scores": scores,
            }
        )
        return
    print_lines(*logs.notes, prefix="note: ")
    print_lines(*(matching.sentence for matching in logs.matchings))
    for comparison in scores:
        recorded_scores(comparison)
    print(logs.sentence)


def log_benchmarks(benchmarks: Sequence[LogBenchmark | str]) -> None:
    """Print how the rows of logs were matched to questions, of benchmarks made from logs."""
    for benchmark in benchmarks:
        if not isinstance(benchmark, str):
            title = f"{benchmark.card.title}: "
            print_lines(benchmark.design, to=sys.stderr, prefix=title)
            print_lines(*benchmark.matched.notes, *benchmark.notes, to=sys.stderr, prefix="note: ")
            print_lines(benchmark.matched.sentence, to=sys.stderr, prefix=title)


def recorded_scores(compared: Mapping[str, Any]) -> None:
    """Print where a tool's scores and HQM's differ: in total, by reason, and the first rows."""
    means = [_tables().number(compared[name], 4) for name in ("tool_mean", "hqm_mean")]
    print(
        f"{compared['respondent']}, form {compared['form']}, run {compared['run']}:"
        f" {compared['tool']} scores {means[0]}, HQM {means[1]} ({compared['hqm_scored']} of"
        f" {compared['compared']} scored); {len(compared['differences'])} answers differ"
    )
    for reason, count in compared["reasons"].items():
        print(f"    {count}: {reason}")
        for row in [row for row in compared["differences"] if row["reason"] == reason][:3]:
            if row["hqm_score"] is None:
                hqm_score = "unscored"
            else:
                hqm_score = f"{row['hqm_score']:g}"
            # An answer may have several lines: its repr has one.
            print(
                f"        {row['item']}: {row['answer']!r:.60} {compared['tool']}"
                f" {row['tool_score']:g} ({row['tool_read']!r:.30}), HQM {hqm_score}"
                f" ({row['hqm_read']!r:.30})"
            )


# --- hqm check, hqm new ---


class Readings(Protocol):
    """What a model read in the items of a benchmark."""

    def to_dict(self) -> dict[str, object]:
        """All of it, for JSON."""

    def sentences(self) -> Iterable[str]:
        """A sentence a line."""


def findings(
    checked: Sequence[Checked],
    selection: Selection,
    as_json: bool,
    readings: Mapping[str, Readings | None],
) -> None:
    """Print what the linter found in benchmarks, what the data hold, and what a model read."""
    reports = [report.to_dict(selection) for report in checked]
    for report in reports:
        item_readings = readings.get(report["benchmark"])
        if item_readings is not None:
            report["readings"] = item_readings.to_dict()
    if as_json:
        print_json(reports)
        return
    for report, linted in zip(reports, checked, strict=True):
        if report["readable"]:
            part_suffix = f" {report['part']}" if report["part"] else ""
            if report["images"]:
                pictures = f" {report['images']} pictures,"
            else:
                pictures = ""
            print(
                f"{report['benchmark']}@{report['version']}{part_suffix}: {report['items']} items,"
                f"{pictures} data {report['digest']}"
            )
        else:
            print(f"{report['benchmark']}: it cannot be read")
        print_lines(f"  {linted.design}" if linted.design else "")
        for name in ("parts", "types", "targets"):
            counts = [f"{key} {count}" for key, count in report[name].items()]
            print_lines(f"  {name}: {', '.join(counts)}" if counts else "")
        _leaks(linted.leaks, linted.task)
        _print_findings(report["findings"])
        item_readings = readings.get(linted.benchmark)
        if item_readings is not None:
            print_lines(*item_readings.sentences(), prefix="  ")


_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}
"""Severity of a finding -> GitHub's word for it."""


def github_annotations(checked: Checked, selection: Selection, file: str) -> None:
    """Print an annotation of GitHub for every finding of a benchmark."""
    for finding in checked.selected_findings(selection):
        row = finding.to_dict()
        title = f"{row['code']} {row['name']}"
        text = f"{checked.benchmark}: {row['sentence']}. {row['remedy']}"
        print(annotation(_LEVELS[row["severity"]], title, text, file))


def wordings(checked: Sequence[Finding]) -> None:
    """Print the linter's findings about the wordings of a form (`hqm forms`)."""
    _print_findings([finding.to_dict() for finding in checked])


def _print_findings(rows: Sequence[Mapping[str, Any]]) -> None:
    from hqm.benchmark.findings import SEVERITIES

    for finding in rows:
        location = f"{finding['place']}: " if finding["place"] else ""
        print(f"  {finding['code']} {finding['name']}: {location}{finding['sentence']}")
        print_lines(*map(str, finding["examples"]), prefix="      ")
        if finding["code"].startswith("F"):
            print(f"      -> {finding['remedy']}")
    counts = Counter(row["severity"] for row in rows)
    tally = ", ".join(_counted(counts[name], name) for name in SEVERITIES if counts[name])
    print(f"  found: {tally}" if tally else "  nothing found")


def _counted(count: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{count} {noun}{'s' * (count != 1)}"


def _leaks(strata: Sequence[Stratum], task: str) -> None:
    """Print how many answers are guessed without the picture, and by the strongest cue alone."""
    from hqm.lint.answer_leaks import WORDS
    from hqm.psychometrics.items.cues import compares_with_chance

    for stratum in strata:
        if stratum.type:
            continue
        if stratum.cue == WORDS:
            subject = "words and options get"
        else:
            subject = f"“{stratum.cue}” alone gets"
        if compares_with_chance(stratum.cue, task):
            reference = "chance"
        else:
            reference = "the commonest answer"
        if stratum.shown:
            gain = f"gain at least {stratum.low:.3f}"
        else:
            gain = "no more than chance"
        print(
            f"  guessing without the picture, {stratum.name}: {subject} {stratum.accuracy:.3f}"
            f" right, {reference} {stratum.baseline:.3f} ({gain})"
        )


def gate(result: Gate, github: bool, as_json: bool) -> None:
    """Print a line for each test of a policy, the reasons for what did not pass, and the
    outcome.
    """
    if as_json:
        print_json(result.to_dict())
        return
    counts = Counter(str(test.outcome) for test in result.tests)
    order = ("FAIL", "UNDECIDED", "NOT MEASURED", "PASS")
    outcomes = ", ".join(f"{counts[outcome]} {outcome}" for outcome in order)
    print(f"policy {result.policy}: {'passed' if result.passed else 'not passed'} ({outcomes})")
    # tests are listed by benchmark, in the order in which these first appear
    for name in dict.fromkeys(test.benchmark for test in result.tests):
        print(f"{name}:")
        tests = [test for test in result.tests if test.benchmark == name]
        for test in sorted(tests, key=lambda test: order.index(test.outcome)):
            spared = " (not required)" if not test.required else ""
            print(f"  {test.outcome:12}  {test.what}{spared}: {test.sentence}")
            print_lines(f"  {'':12}    -> {test.remedy}" if test.remedy else "")
    # one reason may stand behind the tests of many types
    subjects: dict[str, list[str]] = {}
    for test in result.tests:
        if test.outcome != "PASS" and test.reason:
            subjects.setdefault(test.reason, []).append(test.what)
    if subjects:
        print("why the policy asks for it:")
    for reason, names in subjects.items():
        n_more = len(dict.fromkeys(names)) - 1
        print(f"  {names[0]}{f' and {n_more} more' if n_more else ''}: {reason}")
    if github:
        print_lines(*result.annotations())


def forms(name: str, original: Form, parallel: Form, examples: int) -> None:
    """Print how many items have a parallel form, by which rules, and why others have none."""
    from hqm.forms.make_forms import count_modes, count_reasons, count_rules, foreign_sentence

    print(
        f"{name}, {parallel.name}: {len(parallel)} of {len(original)} items have this form,"
        f" {len(parallel.left_out)} are left out"
    )
    for rule, count in count_rules(parallel).items():
        print(f"  {rule}: {count}")
        # A prompt that many items share, as of one template, is one example.
        printed: set[str] = set()
        for item in parallel.items:
            if item.rule == rule and item.prompt not in printed and len(printed) < examples:
                printed.add(item.prompt)
                original_item = original.by_id[item.id]
                print(
                    f"      {_question(original_item)}  [{original_item.target}]  -> "
                    f" {_question(item)}  [{item.target}]"
                )
    n_reordered = 0
    for item in parallel.items:
        n_reordered += bool(item.options) and item.prompt == original.by_id[item.id].prompt
    if n_reordered:
        print(f"  of these, only the order of the options varies: {n_reordered}")
    for change, count in count_modes(original, parallel).items():
        print(f"  changed from {change}: {count}")
    for reason, count in count_reasons(parallel).items():
        print(f"  left out, {reason}: {count}")
    for unworded in parallel.left_out[:_MAX_LEFT_OUT]:
        print(f"  left out {unworded.id}: {unworded.prompt!r} ({unworded.reason})")
    if note := foreign_sentence(parallel):
        print(f"  {note}")
    if (n_hidden := len(parallel.left_out) - _MAX_LEFT_OUT) > 0:
        print(f"  ... and {n_hidden} more; --out writes all of them")


_MAX_LEFT_OUT = 20
"""Items without a parallel form that are listed at most."""


def _question(item: Item) -> str:
    if item.options:
        return f"{item.prompt} ({' / '.join(item.options)})"
    return item.prompt


# --- before and after asking ---


def errors(n_retried: int, n_final: int, reason_counts: Mapping[str, int]) -> list[str]:
    """The sentence on answers that are errors: how many are asked again, how many are not, and the
    reasons.

    >>> errors(0, 0, {})
    []
    """
    sentences = []
    if n_retried:
        sentences.append(
            f"{n_retried} answers are errors; run the same command again to ask them again."
        )
    if n_final:
        sentences.append(
            f"{n_final} questions were refused by the server for good, or replied to without an"
            " answer, and are not asked again; --retry-errors asks them."
        )
    if reason_counts:
        sentences.append(f"{'; '.join(reasons(reason_counts))}.")
    if sentences:
        return [" ".join(sentences)]
    return []


_VARYING = re.compile(
    r"\S*[/\\]\S*|\S+\.(?:jpe?g|png|webp|gif|bmp)\b|\b[0-9a-f]{8,}\b"
    r"|(?<!answered )\b\d+",
    re.I,
)
"""What differs between two errors of one kind: paths, pictures, hashes, numbers but for a status.
"""
_NO_REASON = (
    "they are marked as errors, without a reason: ask again, or write what went wrong into the"
    " field `error`"
)
_MARKS = frozenset(("", "error"))
"""What stands as a reason where a file says only that there was an error."""
_REASONS = 3
"""Kinds of errors that are shown; of further ones, only how many there are."""


def reasons(errors: Mapping[str, int]) -> Iterator[str]:
    """Why answers are errors: a line for each kind of reason, the commonest first.

    >>> list(reasons({"a/1.jpg: no such file": 1, "a/2.jpg: no such file": 1, "it timed out": 1}))
    ['2 answers: a/1.jpg: no such file', '1 answer: it timed out']
    """
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for reason, count in errors.items():
        # A thousand missing pictures are one fault, and their paths a thousand sentences.
        # errors that differ in a path or a number alone are one kind
        kind = _VARYING.sub("", reason)
        counts[kind] += count
        examples.setdefault(kind, reason)
    for kind, count in counts.most_common(_REASONS):
        reason = examples[kind].strip().rstrip(".")
        if reason.lower() in _MARKS:
            reason = _NO_REASON
        yield f"{count:,} answer{'s' * (count != 1)}: {reason}"
    if len(counts) > _REASONS:
        yield f"... and {len(counts) - _REASONS} other reasons; the report counts all of them"


def missing_images(
    images: Mapping[str, tuple[int, int]],
    consequence: str = "the questions on the {n_missing} others become errors",
) -> None:
    """Print how many pictures of each benchmark are missing, and what becomes of them."""
    for name, (n_missing, n_pictures) in images.items():
        if n_missing:
            print(
                f"{name}: {n_pictures - n_missing} of {n_pictures} pictures are there;"
                f" {consequence.format(n_missing=n_missing)}."
            )


def spent(totals: Sequence[Spent]) -> None:
    """Print the tokens and the money that respondents have used so far."""
    for total in totals:
        print(total)


def fetched(results: Mapping[Card, Sequence[Fetched]], as_json: bool) -> None:
    """Print what became of the files of each release."""
    from hqm.benchmark.download import summary

    def row(file: Fetched) -> dict[str, object]:
        return {**asdict(file), "path": str(file.path)}

    if as_json:
        print_json(
            [{**summary(card), "fetched": list(map(row, files))} for card, files in results.items()]
        )
        return
    for card, files in results.items():
        if not files:
            if card.data.folder:
                explanation = "its card names no files"
            else:
                explanation = "it comes with HQM"
            print(f"{card.name}: nothing to fetch; {explanation}")
            continue
        source = card.source
        n_bytes = sum(file.size for file in source.files)
        print(
            f"{card.name} {source.revision} ({card.licence}), {len(files)} files,"
            f" {n_bytes / 1e6:.1f} MB"
        )
        for file in files:
            missing = file.state == "missing"
            print(f"  {file.state:10} {file.path}{' (optional)' * (file.optional and missing)}")
            if missing:
                print_lines(f"             {file.how}")
        if source.images:
            address = f"{source.images} {source.images_url}"
            print(f"  pictures   {address} ({source.images_licence})")


# --- hqm score, hqm audit --all ---


def file_score(score: FileScore, as_json: bool) -> None:
    """Print the scores of one file of answers."""
    from hqm.scoring.rules import advice_on_cut

    tell(*score.notes)
    if as_json:
        print_json(score.to_dict())
        return
    reader = ""
    if score.parser:
        reader = f", parser {score.parser}"
    elif score.mode:
        reader = f", mode {score.mode}"
    states = ", ".join(f"{state} {n}" for state, n in score.states.items())
    values = _by_name(score.metrics, score.by_part)
    name_width = max(24, *map(len, values))
    print(
        f"{score.title}: {score.scoring} scoring{reader}, {score.n} items,"
        f" {score.unscored} unscored ({states})"
    )
    if score.scoring == "official" and not score.withheld:
        print(
            "official: answers are read and counted as the release does; refused and empty ones"
            " count with --set withheld=official only"
        )
    if advice := advice_on_cut(score.states):
        print(f"{score.title}: {advice}")
    by_key = score.by_key
    if by_key:
        print(
            f"by the key {by_key['key']}: {by_key['changed']} right answers differ,"
            f" {by_key['left_out']} items are left out as ambiguous, {by_key['n']} are left"
        )
        print(f"  {'':{name_width}} {'release':22} corrected key")
    corrected = _by_name(by_key.get("metrics", {}), by_key.get("by_part", {}))
    flag = f"  WITHHELD {score.withheld}" if score.withheld else ""
    for name, value in values.items():
        text = _exact(value)
        if name in corrected:
            text = f"{text:22} {_exact(corrected[name])}"
        print(f"  {name:{name_width}} {text}".rstrip() + flag)
    for name, value in score.criterion.items():
        print(f"  people.{name:17} {_exact(value)}{flag}")
    if score.recorded:
        recorded_scores(score.recorded)
    print(score.signature)


def _by_name(
    totals: Mapping[str, float | None], parts: Mapping[str, Mapping[str, float | None]]
) -> dict[str, float | None]:
    """Return the metrics of all items, and those of each part under `PART.METRIC`."""
    values = dict(totals)
    for part, metrics in parts.items():
        for name, value in metrics.items():
            values[f"{part}.{name}"] = value
    return values


def _exact(value: float | None) -> str:
    if value is None:
        return "undefined"
    # Every digit: the score is held against that of the release's own program.
    return repr(value)


def coefficients(result: Audit) -> None:
    """Print the table of indicators of every benchmark, and what else was measured."""
    from hqm.types import Cell

    side = importlib.import_module("hqm.reports.tables.side_tables")
    for audited in result.audits:
        n = len(audited.respondents)
        judge = Cell.parse(audited.reference).judge
        counts: Counter[str] = Counter()
        for cell, states in audited.state_counts.items():
            # another judge reads the same answers
            if Cell.parse(cell).judge == judge:
                counts.update(states)
        print(f"\n{audited.title}: {audited.n_items} items, {_counted(n, 'respondent')}")
        if missing := counts["missing"]:
            print(
                f"{missing} of {counts.total()} answers are missing: every number is computed from"
                " the available answers."
            )
        print_lines(side.stop_note(audited))
        _indicators(audited)
        scores = [side.full_scores(audited), *side.resolution_tables(audited)]
        for table in filter(None, scores):
            print_report_table(table)
        print_lines(*side.remarks(audited))


def _indicators(audited: BenchmarkAudit) -> None:
    """Print the main estimates; with one respondent, those that say something of one."""
    tables = _tables()
    brief = tables.indicators_brief(audited)
    is_single = len(audited.respondents) == 1
    rows = []
    for row in brief.rows:
        texts = [cell.text for cell in row]
        if not is_single or texts[2] != DASH:
            rows.append(texts)
    if is_single:
        # A table full of dashes would look like a failure.
        print(
            f"One respondent answered, so {len(brief.rows) - len(rows)} indicators that compare"
            " respondents (correlations, ICC, generalizability, discriminability) are not"
            " estimated; below is what one respondent's answers can say. Name further respondents"
            " with --respondent or --recorded."
        )
    print_table("", brief.titles, rows, right=brief.right)
    if not is_single:
        print_lines(*brief.notes)
