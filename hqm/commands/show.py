"""What the commands print: tables, or JSON with `--json`.

Rounding happens in `hqm.reports.tables`.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hqm.commands.terminal import print_json, print_report_table, print_table
from hqm.respondents.kinds import kind_of
from hqm.text import annotation

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
    from hqm.commands.session import Plan, Session
    from hqm.comparison.compare import KeyEffect
    from hqm.decisions.stopping import StoppedRun
    from hqm.imports.log_answers import Taken
    from hqm.judges.judgements import TakenJudgements
    from hqm.labels.study import StudyStatus
    from hqm.lint import Checked, Selection
    from hqm.psychometrics import Stratum
    from hqm.published.table_audit import TableAudit
    from hqm.types import Form


def _tables() -> Any:
    return importlib.import_module("hqm.reports.tables")


# --- expected=true ---

_WITHOUT = (
    "captions have none, recorded answers and some servers give none, and answers that were stored"
    " without are not asked again"
)


def probability_counts(session: Session) -> None:
    """Print how many of each respondent's answers carry a probability."""
    for benchmark in session.benchmarks:
        for respondent in session.stored_respondents(benchmark):
            chances = session.answers.probabilities(benchmark, benchmark.original, respondent, 0)
            known = sum(chance is not None for chance in chances)
            why = f" ({_WITHOUT})" if known < len(chances) else ""
            print(
                f"{benchmark.name}, {respondent.name}: {known:,} of {len(chances):,} answers carry"
                f" probabilities{why}"
            )


def expectations(result: Audit) -> None:
    """Print what the expected numbers rest on, or why there is none (`hqm audit --set
    expected=true`).
    """
    from hqm.indicators.flags import FLAGS

    for audited in result.audits:
        estimates = [e for e in audited.all_estimates if e.indicator.startswith("expected.")]
        for estimate in estimates:
            if estimate.value is None:
                print(
                    f"{audited.title}, {estimate.indicator} ({estimate.metric}) has no number:"
                    f" {estimate.reason}."
                )
        if any(estimate.value is not None for estimate in estimates):
            print(f"{audited.title}, expected from probabilities: {FLAGS['EXPECTED']}.")
        if not estimates:
            print(
                f"{audited.title}: nothing is expected of reruns, no answer carries probabilities"
                f" ({_WITHOUT})."
            )


# --- hqm label status ---


def study_status(status: StudyStatus) -> None:
    """Print how a study with people stands: raters, agreement, labels, width."""
    print(
        f"{status.labelled} of {status.rows} have a label, {status.overlapping} have two or more."
    )
    print_table(
        "",
        "rater,labels,of,seconds,checks right,cannot say,notes,time left".split(","),
        (
            (
                rater.rater,
                str(rater.done),
                str(rater.count),
                "-" if rater.seconds is None else f"{rater.seconds:.1f}",
                f"{rater.gold_right} of {rater.gold_done}" if rater.gold_done else "-",
                str(rater.cannot_say),
                str(rater.notes),
                rater.time_left or ("done" if rater.done == rater.count else "-"),
            )
            for rater in status.raters
        ),
        right=range(1, 7),
    )
    rows = []
    for row in status.agreement:
        ends = "-" if row.low is None or row.high is None else f"{row.low:.3f} to {row.high:.3f}"
        value = "-" if row.value is None else f"{row.value:.3f}"
        rows.append((row.name, value, row.reason or ends, str(row.n)))
    print_table("", ("agreement", "value", "95% interval", "answers"), rows, right=(1, 3))
    print(f"disagreements: {status.disagreements}, settled {status.adjudicated}")
    print("labels: " + ", ".join(f"{words} {count}" for words, count in status.choices.items()))
    if status.width is None:
        print("width: not yet known; it needs labels of answers about two pictures")
        return
    width = status.width
    print(
        f"mean label {width.mean:.3f}, 95% interval {width.low:.3f} to {width.high:.3f}, width"
        f" {width.width:.3f}, by the labels alone"
    )
    if status.expected_width is not None:
        print(
            f"the plan expects {status.expected_width:.3f} for the corrected mean score, for which"
            " the audit uses the scores of all answers too"
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
    rows += [
        (name, number(old), number(new), "", "") for name, (old, new) in effect.reliability.items()
    ]
    print_table(
        f"{effect.benchmark} by the key {effect.key}: {effect.changed} targets are others,"
        f" {effect.left_out} items are left out as ambiguous; {effect.moved} of"
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


def judgements(taken_files: TakenJudgements | None) -> None:
    """Print how the rows of files of judgements were matched, on the error stream: the results may
    be JSON.
    """
    for matching in taken_files.matchings if taken_files else ():
        print(f"judgements: {matching.sentence}", file=sys.stderr)
    for note in taken_files.notes if taken_files else ():
        print(f"judgements: note: {note}", file=sys.stderr)


def taken(
    benchmark: Benchmark, logs: Taken, compared: Sequence[ScoreComparison], as_json: bool
) -> None:
    """Print how the rows of imported logs found their items, and where the tools' scores differ
    from HQM's.
    """
    scores = [comparison.to_dict() for comparison in compared]
    if as_json:
        print_json(
            {
                "benchmark": benchmark.name,
                "matched": [asdict(matching) for matching in logs.matchings],
                "notes": list(logs.notes),
                "scores": scores,
            }
        )
        return
    for note in logs.notes:
        print(f"note: {note}")
    for matching in logs.matchings:
        print(matching.sentence)
    for comparison in scores:
        recorded_scores(comparison)
    print(logs.sentence)


def logs_taken(benchmarks: Sequence[LogBenchmark | str]) -> None:
    """How the rows of logs found their questions, of the benchmarks that are made from logs."""
    for benchmark in benchmarks:
        if not isinstance(benchmark, str):
            for note in (*benchmark.taken.notes, *benchmark.notes):
                print(f"note: {note}", file=sys.stderr)
            print(f"{benchmark.card.title}: {benchmark.taken.sentence}", file=sys.stderr)


def recorded_scores(compared: Mapping[str, Any]) -> None:
    """Print where a tool's scores and HQM's differ: in total, by reason, and the first rows."""
    means = [_tables().number(compared[name], 4) for name in ("tool_mean", "hqm_mean")]
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


# --- hqm audit --until ---

_MOST = 20
"""Pairs that are listed at most; of a longer list, only those that are not separated."""


def stopped_run(run: StoppedRun) -> None:
    """Print the respondents that stopped, the pairs, and how many answers were saved."""
    tables = _tables()
    asked, of = run.items
    if run.note:
        print(f"{run.benchmark}: {run.note}")
    print_table(
        f"{run.benchmark} until {run.rule}: {run.metric} of the full benchmark",
        ("respondent", "items", "of", run.metric, "95% at any time", "stopped when"),
        (
            (
                at.respondent,
                f"{at.items:,}",
                f"{at.of_items:,}",
                "" if at.score is None else tables.number(at.score),
                f"{tables.number(at.low)} to {tables.number(at.high)}",
                at.why,
            )
            for at in run.stops
        ),
        right=(1, 2, 3, 4),
    )
    left = [name for name in run.names if name not in {at.respondent for at in run.stops}]
    if left:
        print(f"{run.benchmark}: not stopped by the rule yet: {', '.join(left)}")
    if run.pairs:
        states = Counter(pair.state for pair in run.pairs)
        print(f"pairs: {', '.join(f'{count} {state}' for state, count in states.items())}")
    shown = run.pairs
    if len(shown) > _MOST:
        shown = tuple(pair for pair in shown if pair.state != "separated")[:_MOST]
    for pair in shown:
        state: str = pair.state
        if state == "within":
            state = f"not separated by more than {run.rule.separated:g}"
        print(
            f"  {state}: {run.names[pair.first]} and"
            f" {run.names[pair.second]}, {tables.number(pair.difference)} after"
            f" {pair.pictures} pictures"
        )
    if of:
        print(
            f"{run.benchmark}: {asked:,} of {of:,} answers of the first run were asked for,"
            f" {tables.percent(1 - asked / of)} saved"
        )


# --- hqm check, hqm new ---


def findings(checked: Sequence[Checked], selection: Selection, as_json: bool) -> None:
    """Print what the linter found in benchmarks, and what the data hold."""
    reports = [report.to_dict(selection) for report in checked]
    if as_json:
        print_json(reports)
        return
    for report, linted in zip(reports, checked, strict=True):
        if report["readable"]:
            only = f" {report['part']}" if report["part"] else ""
            pictures = f" {report['images']} pictures," if report["images"] else ""
            print(
                f"{report['benchmark']}@{report['version']}{only}: {report['items']} items,"
                f"{pictures} data {report['digest']}"
            )
        else:
            print(f"{report['benchmark']}: it cannot be read")
        for name in ("parts", "types", "targets"):
            if report[name]:
                print(f"  {name}: " + ", ".join(f"{key} {n}" for key, n in report[name].items()))
        _leaks(linted.leaks)
        _print_findings(report["findings"])


_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}
"""Severity of a finding -> GitHub's word for it."""


def github_annotations(checked: Checked, selection: Selection, file: str) -> None:
    """Print an annotation of GitHub for every finding of a benchmark."""
    for row in (finding.to_dict() for finding in checked.wanted(selection)):
        title = f"{row['code']} {row['name']}"
        text = f"{checked.benchmark}: {row['sentence']}. {row['remedy']}"
        print(annotation(_LEVELS[row["severity"]], title, text, file))


def wordings(checked: Sequence[Finding]) -> None:
    """Print the linter's findings about the wordings of a form (`hqm forms`)."""
    _print_findings([finding.to_dict() for finding in checked])


def _print_findings(rows: Sequence[Mapping[str, Any]]) -> None:
    from hqm.benchmark.findings import SEVERITIES

    for finding in rows:
        place = f"{finding['place']}: " if finding["place"] else ""
        print(f"  {finding['code']} {finding['name']}: {place}{finding['sentence']}")
        for example in finding["examples"]:
            print(f"      {example}")
        if finding["code"].startswith("F"):
            print(f"      -> {finding['remedy']}")
    counts = Counter(finding["severity"] for finding in rows)
    tally = ", ".join(
        f"{counts[severity]} {severity}{'' if counts[severity] == 1 else 's'}"
        for severity in SEVERITIES
        if counts[severity]
    )
    print(f"  found: {tally}" if tally else "  nothing found")


def _leaks(strata: Sequence[Stratum]) -> None:
    """Print how many answers the words, or the strongest cue, get right without the pictures."""
    from hqm.lint.answer_leaks import WORDS

    for stratum in strata:
        if not stratum.type:
            by = "the words get" if stratum.cue == WORDS else f"the cue “{stratum.cue}” gets"
            gain = f"gain at least {stratum.low:.3f}"
            print(
                f"  the questions alone, {stratum.name}: {by} {stratum.accuracy:.3f} right, the"
                f" commonest answer {stratum.baseline:.3f}"
                f" ({gain if stratum.shown else 'no more than chance explains'})"
            )


def gate(result: Gate, github: bool, as_json: bool) -> None:
    """Print a line for each test of a policy, the reasons for what did not pass, and the
    outcome.
    """
    if as_json:
        print_json(result.to_dict())
        return
    for name in dict.fromkeys(test.benchmark for test in result.tests):
        print(f"{name}, policy {result.policy}:")
        for test in result.tests:
            if test.benchmark == name:
                spared = " (not required)" if not test.required else ""
                print(f"  {test.outcome:12}  {test.what}{spared}: {test.sentence}")
                if test.remedy:
                    print(f"  {'':12}    -> {test.remedy}")
    why = dict.fromkeys(
        (test.what, test.reason) for test in result.tests if test.outcome != "PASS" and test.reason
    )
    if why:
        print("why the policy asks for it:")
    for what, reason in why:
        print(f"  {what}: {reason}")
    counts = Counter(str(test.outcome) for test in result.tests)
    order = ("PASS", "FAIL", "UNDECIDED", "NOT MEASURED")
    outcomes = ", ".join(f"{counts[outcome]} {outcome}" for outcome in order)
    print(f"policy {result.policy}: {'passed' if result.passed else 'not passed'} ({outcomes})")
    for line in result.annotations() if github else ():
        print(line)


def forms(name: str, original: Form, parallel: Form, examples: int) -> None:
    """Print how many items have a parallel form, by which rules, and why others have none."""
    from hqm.forms.make_forms import count_modes, count_reasons, count_rules

    print(
        f"{name}, {parallel.name}: {len(parallel)} of {len(original)} items have this form,"
        f" {len(parallel.left_out)} are left out"
    )
    for rule, count in count_rules(parallel).items():
        print(f"  {rule}: {count}")
        shown: set[str] = set()
        for item in parallel.items:
            if item.rule == rule and item.prompt not in shown and len(shown) < examples:
                shown.add(item.prompt)
                before = original.by_id[item.id]
                print(
                    f"      {_question(before)}  [{before.target}]  ->  {_question(item)} "
                    f" [{item.target}]"
                )
    same = sum(
        item.prompt == original.by_id[item.id].prompt for item in parallel.items if item.options
    )
    if same:
        print(f"  of these, only the order of the options varies: {same}")
    for change, count in count_modes(original, parallel).items():
        print(f"  changed from {change}: {count}")
    for reason, count in count_reasons(parallel).items():
        print(f"  left out, {reason}: {count}")
    for out in parallel.left_out[:20]:
        print(f"  left out {out.id}: {out.prompt!r} ({out.reason})")
    if len(parallel.left_out) > 20:
        print(f"  ... and {len(parallel.left_out) - 20} more; --out writes all of them")


def _question(item: Any) -> str:
    return f"{item.prompt} ({' / '.join(item.options)})" if item.options else str(item.prompt)


# --- before and after asking ---


def plan(made: Plan, as_json: bool) -> None:
    """Print what a run would ask, take and cost (`hqm audit --dry-run`)."""
    forecasts = made.forecasts
    columns = [asdict(forecast) for forecast in forecasts.values()]
    totals: dict[str, Any] = {}
    for key in columns[0]:
        values = [column[key] for column in columns if column[key] is not None]
        totals[key] = sum(values) if values else None
    if sum(layout.engines > 0 for layout in made.layouts) > 1:  # at best all beside each other
        totals["seconds_least"] = max(column["seconds_least"] for column in columns)
    totals["measured"] = all(column["measured"] for column in columns)
    if as_json:
        limits = [{**asdict(bound), "ends_it": bound.ends_it} for bound in made.bounds]
        print_json(
            {
                "plan": [
                    {"respondent": who, "benchmark": what, **asdict(forecast)}
                    for (who, what), forecast in forecasts.items()
                ],
                "total": totals,
                "images": {n: {"missing": gone, "of": of} for n, (gone, of) in made.images.items()},
                "judging": dict(made.judging),
                "engines": [asdict(layout) for layout in made.layouts],
                **({"bounds": limits} if limits else {}),
            }
        )
        return
    rows = []
    for (who, what), forecast in forecasts.items():
        kind = kind_of(who.partition("/")[0])
        unpriced = "no price" if kind is not None and kind.price == "per token" else ""
        rows.append((who, what, *_numbers(asdict(forecast), unpriced)))
    print_table(
        "",
        "respondent,benchmark,rows,distinct,stored,to ask,minutes,tokens in,tokens out,cost".split(
            ","
        ),
        rows,
        right=range(2, 10),
        total=("total", "", *_numbers(totals)),
    )
    read = sum(
        forecast.distinct - forecast.stored
        for (who, _), forecast in forecasts.items()
        if who.startswith("recorded/")
    )
    if read:
        print(f"{read:,} recorded answers are to be read; nobody is asked for them.")
    if not totals["measured"]:
        print("? assumed: the store has not seen this respondent answer yet. Tokens out: at most.")
    if any(layout.gpus or layout.misfit for layout in made.layouts):
        engines = sum(layout.engines for layout in made.layouts)
        gpus = sum(layout.engines * layout.gpus for layout in made.layouts)
        print(f"{len(made.layouts)} models, {engines} engines on {gpus:g} GPUs:")
        for layout in made.layouts:
            print(layout.misfit or f"{layout.model.name}: {layout}")
    for judge, count in made.judging.items():
        print(
            f"judge {judge}: {count} questions about stored answers so far; a later stage, or new"
            " answers, ask more."
        )
    for bound in made.bounds:
        outcome = "could end the command" if bound.ends_it else "would not be reached"
        if bound.least > bound.limit:
            outcome = "would end the command"
        needed = f"{bound.needed:,.10g}"
        if bound.least != bound.needed:
            needed = f"{bound.least:,.10g} to {needed}"
        print(f"{bound.option} {bound.limit:,.10g} {outcome}: {needed} are planned.")
    if made.bounds and made.judging:
        print(
            "The judges' further questions, and their tokens and cost, come on top of what is"
            " planned."
        )
    last_words(errors(0, made.refused, {}))
    for name, (gone, all_) in made.images.items():
        if gone:
            print(
                f"{name}: {all_ - gone} of {all_} pictures are there; {gone} are to be fetched, and"
                " are counted as if they were there."
            )


def _numbers(of: Mapping[str, Any], unpriced: str = "") -> list[str]:
    """The numbers of a forecast as the table of a plan has them."""
    sure = "" if of["measured"] else "?"
    minutes = f"{of['seconds'] / 60:.1f}"
    if sure:
        places = 0 if of["seconds_most"] > 600 else 1
        ends = (of[f"seconds_{end}"] / 60 for end in ("least", "most"))
        minutes = f"{' to '.join(f'{end:,.{places}f}' for end in ends)}?"
    price = unpriced
    if of["cost"] is not None:
        price = f"{of['cost_least']:.2f} to {of['cost_most']:.2f}"
    return [
        *(f"{of[key]:,}" for key in ("rows", "distinct", "stored", "requests")),
        minutes,
        f"{of['tokens_in']:,}{sure}",
        f"{of['tokens_out']:,}",
        price,
    ]


def errors(again: int, final: int, why: Mapping[str, int]) -> list[str]:
    """The sentence on answers that are errors: how many are asked again, how many are not, and the
    reasons.

    >>> errors(0, 0, {})
    []
    """
    parts = []
    if again:
        parts.append(f"{again} answers are errors; run the same command again to ask them again.")
    if final:
        parts.append(
            f"{final} questions were turned away by the server for good, or replied to without an"
            " answer, and are not asked again; --retry-errors asks them."
        )
    if why:
        parts.append(f"{'; '.join(reasons(why))}.")
    return [" ".join(parts)] if parts else []


def last_words(sentences: Iterable[str]) -> None:
    """Print what a command has to say last."""
    for sentence in sentences:
        print(f"hqm: {sentence}", file=sys.stderr)


_VARYING = re.compile(
    r"\S*[/\\]\S*|\S+\.(?:jpe?g|png|webp|gif|bmp)\b|\b[0-9a-f]{8,}\b"
    r"|(?<!answered )\b\d+",
    re.I,
)
"""What differs between two errors of one kind: paths, pictures, hashes, numbers but for a status.
"""
_REASONS = 3
"""Kinds of errors that are shown; of further ones, only how many there are."""


def reasons(errors: Mapping[str, int]) -> Iterator[str]:
    """Why answers are errors: a line for each kind of reason, the commonest first.

    >>> list(reasons({"a/1.jpg: no such file": 1, "a/2.jpg: no such file": 1, "it timed out": 1}))
    ['2 answers: a/1.jpg: no such file', '1 answer: it timed out']
    """
    counts: Counter[str] = Counter()
    first: dict[str, str] = {}
    for reason, count in errors.items():
        kind = _VARYING.sub("", reason)
        counts[kind] += count
        first.setdefault(kind, reason)
    for kind, count in counts.most_common(_REASONS):
        yield f"{count:,} answer{'' if count == 1 else 's'}: {first[kind]}"
    if len(counts) > _REASONS:
        yield f"... and {len(counts) - _REASONS} other reasons; the report counts all of them"


def missing_images(missing: Mapping[str, tuple[int, int]]) -> None:
    """Print how many pictures are missing, before anything is asked."""
    for name, (gone, all_) in missing.items():
        if gone:
            print(
                f"{name}: {all_ - gone} of {all_} pictures are there; the questions on the {gone}"
                " others become errors."
            )


def spent(totals: Sequence[Spent]) -> None:
    """Print the tokens and the money that respondents have used so far."""
    for total in totals:
        print(total)


def fetched(results: Mapping[Card, Sequence[Fetched]], as_json: bool) -> None:
    """Print what became of the files of each release."""
    from hqm.benchmark.download import summary

    if as_json:
        print_json(
            [
                {**summary(card), "fetched": [{**asdict(f), "path": str(f.path)} for f in files]}
                for card, files in results.items()
            ]
        )
        return
    for card, files in results.items():
        if not files:
            why = "its card names no files" if card.data.folder else "it comes with HQM"
            print(f"{card.name}: nothing to fetch; {why}")
            continue
        about = summary(card)
        print(
            f"{card.name} {about['revision']} ({card.licence}), {len(files)} files,"
            f" {about['bytes'] / 1e6:.1f} MB"
        )
        for file in files:
            missing = file.state == "missing"
            print(f"  {file.state:10} {file.path}{' (optional)' * (file.optional and missing)}")
            if missing:
                print(f"             {file.how}")
        if about["images"]:
            print(
                f"  pictures   {about['images']} {about['images_url']} ({about['images_licence']})"
            )


# --- hqm score, hqm table, hqm audit --all ---


def file_score(score: FileScore, as_json: bool) -> None:
    """Print the scores of one file of answers."""
    from hqm.scoring.rules import advice_on_cut

    for note in score.notes:
        print(f"hqm: {note}", file=sys.stderr)
    if as_json:
        print_json(score.to_dict())
        return
    part = f" {score.part}" if score.part else ""
    reader = f", mode {score.mode}" if score.mode else ""
    if score.parser:
        reader = f", parser {score.parser}"
    states = ", ".join(f"{state} {n}" for state, n in score.states.items())
    print(
        f"{score.benchmark}{part}: {score.scoring} scoring{reader}, {score.n} items,"
        f" {score.unscored} unscored ({states})"
    )
    if score.scoring == "official" and not score.withheld:
        print(
            "official: answers are read and counted as the release does; refused and empty ones"
            " count with --set withheld=official only"
        )
    if advice := advice_on_cut(score.states):
        print(f"{score.benchmark}{part}: {advice}")
    flag = f"  WITHHELD {score.withheld}" if score.withheld else ""
    values = _by_name(score.metrics, score.by_part)
    wide = max(24, *map(len, values))
    corrected = _by_name(score.by_key.get("metrics", {}), score.by_key.get("by_part", {}))
    if score.by_key:
        print(
            f"by the key {score.by_key['key']}: {score.by_key['changed']} targets are others,"
            f" {score.by_key['left_out']} items are left out as ambiguous, {score.by_key['n']} are"
            " left"
        )
        print(f"  {'':{wide}} {'release':22} corrected key")
    for name, value in values.items():
        beside = f"{_exact(corrected[name])}" if name in corrected else ""
        print(f"  {name:{wide}} {_exact(value):{22 if beside else 0}} {beside}".rstrip() + flag)
    for name, value in score.criterion.items():
        print(f"  people.{name:17} {_exact(value)}{flag}")
    if score.recorded:
        recorded_scores(score.recorded)
    print(score.signature)


def _by_name(
    whole: Mapping[str, float | None], parts: Mapping[str, Mapping[str, float | None]]
) -> dict[str, float | None]:
    of_parts = {f"{part}.{name}": v for part, of in parts.items() for name, v in of.items()}
    return {**whole, **of_parts}


def _exact(value: float | None) -> str:
    return "undefined" if value is None else repr(value)


def table_audit(audit: TableAudit) -> None:
    """Print the audit of a published table."""
    tables = _tables()
    print_table(
        f"{audit.table}: {len(audit.respondents)} respondents",
        ("indicator", "of", "value", "95% interval", ""),
        (
            (
                e.indicator,
                e.metric,
                tables.number(e.value),
                tables.interval(e.interval("model_population")),
                ", ".join(e.flags)
                if e.status == "ok"
                else f"{e.status.replace('_', ' ')}: {e.reason}",
            )
            for e in audit.estimates
        ),
        right=(2, 3),
    )
    for flag in audit.flags:
        print(f"{flag['flag']}: {flag['sentence']}; {flag['what_to_do']}.")
    for note in audit.notes:
        print(f"note: {note}.")
    for each in audit.contradictions:
        v = each.violation
        cell = ", ".join(part for part in (v.row, v.column) if part)
        unless = f"; possible only if {each.unless}" if each.unless else ""
        print(f"{v.kind}: {cell} = {v.printed}: {v.reason}{unless}")
    print(audit.checked.sentence())


def coefficients(result: Audit) -> None:
    """Print the table of indicators of every benchmark, and what else was measured."""
    for audited in result.audits:
        n = len(audited.respondents)
        print(f"\n{audited.title}: {audited.n_items} items, {n} respondent{'' if n == 1 else 's'}")
        missing = audited.state_counts.get(audited.reference, {}).get("missing", 0)
        if missing:
            print(
                f"{missing} of {n * audited.n_items} answers are missing: every number is about the"
                " answers that there are."
            )
        side = importlib.import_module("hqm.reports.side_tables")
        if audited.stopped:
            print(side.stopped(audited))
        _indicators(audited)
        scores = [side.full_scores(audited), *side.resolution_tables(audited)]
        for table in (each for each in scores if each is not None):
            print_report_table(table)
        for sentence in side.remarks(audited):
            print(sentence)


def _indicators(audited: BenchmarkAudit) -> None:
    """Print the main estimates; with one respondent, those that say something of one."""
    tables = _tables()
    brief, alone = tables.indicators_brief(audited), len(audited.respondents) == 1
    rows = [row for row in brief.rows if not alone or row[2].text != tables.DASH]
    if alone:
        print(
            f"One respondent answered, so {len(brief.rows) - len(rows)} indicators that compare"
            " respondents (correlations, ICC, generalizability, discriminability) are not"
            " estimated; below is what one respondent's answers can say. Name further respondents"
            " with --respondent or --recorded."
        )
    texts = (tuple(cell.text for cell in row) for row in rows)
    print_table("", brief.titles, texts, right=brief.right)
    for note in () if alone else brief.notes:
        print(note)
