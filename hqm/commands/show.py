"""What the commands print: tables, or JSON with `--json`.

Rounding happens in `hqm.reports.tables`.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hqm.commands.terminal import print_json, print_lines, print_report_table, print_table, tell
from hqm.respondents.kinds import kind_of
from hqm.text import annotation

if TYPE_CHECKING:
    from hqm.administration.costs import Bound, Spent
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
    from hqm.published.table_contradictions import Contradiction
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
            known = len(chances) - chances.count(None)
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
        absent = [e for e in estimates if e.value is None]
        title = audited.title
        print_lines(
            *(f"{title}, {e.indicator} ({e.metric}) has no number: {e.reason}." for e in absent),
            f"{title}, expected from probabilities: {FLAGS['EXPECTED']}."
            if len(absent) < len(estimates)
            else "",
            ""
            if estimates
            else f"{title}: nothing is expected of reruns, no answer carries probabilities"
            f" ({_WITHOUT}).",
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
    width, expected = status.width, status.expected_width
    print_lines(
        f"disagreements: {status.disagreements}, settled {status.adjudicated}",
        f"labels: {', '.join(f'{words} {count}' for words, count in status.choices.items())}",
        "width: not yet known; it needs labels of answers about two pictures"
        if width is None
        else f"mean label {width.mean:.3f}, 95% interval {width.low:.3f} to {width.high:.3f}, width"
        f" {width.width:.3f}, by the labels alone",
        ""
        if width is None or expected is None
        else f"the plan expects {expected:.3f} for the corrected mean score, for which the audit"
        " uses the scores of all answers too",
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
    if taken_files is not None:
        matched = [matching.sentence for matching in taken_files.matchings]
        notes = [f"note: {note}" for note in taken_files.notes]
        print_lines(*(f"judgements: {line}" for line in (*matched, *notes)), to=sys.stderr)


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
    print_lines(*(f"note: {note}" for note in logs.notes), *(m.sentence for m in logs.matchings))
    for comparison in scores:
        recorded_scores(comparison)
    print(logs.sentence)


def logs_taken(benchmarks: Sequence[LogBenchmark | str]) -> None:
    """How the rows of logs found their questions, of the benchmarks that are made from logs."""
    for benchmark in benchmarks:
        if not isinstance(benchmark, str):
            notes = (f"note: {note}" for note in (*benchmark.taken.notes, *benchmark.notes))
            matched = f"{benchmark.card.title}: {benchmark.taken.sentence}"
            print_lines(*notes, matched, to=sys.stderr)


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
    tables, name = _tables(), run.benchmark
    asked, of = run.items
    print_lines(f"{name}: {run.note}" if run.note else "")
    print_table(
        f"{name} until {run.rule}: {run.metric} of the full benchmark",
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
    left = [who for who in run.names if who not in {at.respondent for at in run.stops}]
    states = Counter(pair.state for pair in run.pairs)
    shown = run.pairs
    if len(shown) > _MOST:
        shown = tuple(pair for pair in shown if pair.state != "separated")[:_MOST]
    words = {"within": f"not separated by more than {run.rule.separated or 0:g}"}
    counts = ", ".join(f"{count} {state}" for state, count in states.items())
    print_lines(
        f"{name}: not stopped by the rule yet: {', '.join(left)}" if left else "",
        f"pairs: {counts}" if counts else "",
        *(
            f"  {words.get(pair.state, pair.state)}: {run.names[pair.first]} and"
            f" {run.names[pair.second]}, {tables.number(pair.difference)} after"
            f" {pair.pictures} pictures"
            for pair in shown
        ),
        f"{name}: {asked:,} of {of:,} answers of the first run were asked for,"
        f" {tables.percent(1 - asked / of)} saved"
        if of
        else "",
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
        print_lines(
            f"  {finding['code']} {finding['name']}: {place}{finding['sentence']}",
            *(f"      {example}" for example in finding["examples"]),
            f"      -> {finding['remedy']}" if finding["code"].startswith("F") else "",
        )
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
                print_lines(
                    f"  {test.outcome:12}  {test.what}{spared}: {test.sentence}",
                    f"  {'':12}    -> {test.remedy}" if test.remedy else "",
                )
    why = dict.fromkeys(
        f"  {test.what}: {test.reason}"
        for test in result.tests
        if test.outcome != "PASS" and test.reason
    )
    counts = Counter(str(test.outcome) for test in result.tests)
    order = ("PASS", "FAIL", "UNDECIDED", "NOT MEASURED")
    outcomes = ", ".join(f"{counts[outcome]} {outcome}" for outcome in order)
    print_lines(
        "why the policy asks for it:" if why else "",
        *why,
        f"policy {result.policy}: {'passed' if result.passed else 'not passed'} ({outcomes})",
        *(result.annotations() if github else ()),
    )


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
    modes, reasons = count_modes(original, parallel), count_reasons(parallel)
    more = len(parallel.left_out) - 20
    print_lines(
        f"  of these, only the order of the options varies: {same}" if same else "",
        *(f"  changed from {change}: {count}" for change, count in modes.items()),
        *(f"  left out, {reason}: {count}" for reason, count in reasons.items()),
        *(f"  left out {out.id}: {out.prompt!r} ({out.reason})" for out in parallel.left_out[:20]),
        f"  ... and {more} more; --out writes all of them" if more > 0 else "",
    )


def _question(item: Any) -> str:
    return f"{item.prompt} ({' / '.join(item.options)})" if item.options else str(item.prompt)


# --- before and after asking ---


def plan(made: Plan, as_json: bool) -> None:
    """Print what a run would ask, take and cost (`hqm audit --dry-run`)."""
    forecasts = made.forecasts
    columns = [asdict(forecast) for forecast in forecasts.values()]
    known = {key: [c[key] for c in columns if c[key] is not None] for key in columns[0]}
    totals = {key: sum(values) if values else None for key, values in known.items()}
    totals |= {"measured": all(known["measured"])}
    if sum(layout.engines > 0 for layout in made.layouts) > 1:  # at best all beside each other
        totals |= {"seconds_least": max(known["seconds_least"])}
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
    layouts = made.layouts if any(own.gpus or own.misfit for own in made.layouts) else ()
    engines = sum(layout.engines for layout in layouts)
    gpus = sum(layout.engines * layout.gpus for layout in layouts)
    read = sum(
        forecast.distinct - forecast.stored
        for (who, _), forecast in forecasts.items()
        if who.startswith("recorded/")
    )
    print_lines(
        f"{read:,} recorded answers are to be read; nobody is asked for them." if read else "",
        ""
        if totals["measured"]
        else "? assumed: the store has not seen this respondent answer yet. Tokens out: at most.",
        f"{len(layouts)} models, {engines} engines on {gpus:g} GPUs:" if layouts else "",
        *(own.misfit or f"{own.model.name}: {own}" for own in layouts),
        *(
            f"judge {judge}: {count} questions about stored answers so far; a later stage, or new"
            " answers, ask more."
            for judge, count in made.judging.items()
        ),
        *map(_bound, made.bounds),
        "The judges' further questions, and their tokens and cost, come on top of what is planned."
        if made.bounds and made.judging
        else "",
    )
    tell(*errors(0, made.refused, {}))
    missing_images(made.images, "{gone} are to be fetched, and are counted as if they were there")


def _bound(bound: Bound) -> str:
    outcome = "could end the command" if bound.ends_it else "would not be reached"
    if bound.least > bound.limit:
        outcome = "would end the command"
    needed = f"{bound.needed:,.10g}"
    if bound.least != bound.needed:
        needed = f"{bound.least:,.10g} to {needed}"
    return f"{bound.option} {bound.limit:,.10g} {outcome}: {needed} are planned."


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
    sentences = (
        f"{again} answers are errors; run the same command again to ask them again."
        if again
        else "",
        f"{final} questions were turned away by the server for good, or replied to without an"
        " answer, and are not asked again; --retry-errors asks them."
        if final
        else "",
        f"{'; '.join(reasons(why))}." if why else "",
    )
    return [" ".join(filter(None, sentences))] if any(sentences) else []


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


def missing_images(
    images: Mapping[str, tuple[int, int]],
    what: str = "the questions on the {gone} others become errors",
) -> None:
    """Print how many pictures of each benchmark are missing, and what becomes of them."""
    print_lines(
        *(
            f"{name}: {all_ - gone} of {all_} pictures are there; {what.format(gone=gone)}."
            for name, (gone, all_) in images.items()
            if gone
        )
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
            print_lines(
                f"  {file.state:10} {file.path}{' (optional)' * (file.optional and missing)}",
                f"             {file.how}" if missing else "",
            )
        print_lines(
            f"  pictures   {about['images']} {about['images_url']} ({about['images_licence']})"
            if about["images"]
            else ""
        )


# --- hqm score, hqm table, hqm audit --all ---


def file_score(score: FileScore, as_json: bool) -> None:
    """Print the scores of one file of answers."""
    from hqm.scoring.rules import advice_on_cut

    tell(*score.notes)
    if as_json:
        print_json(score.to_dict())
        return
    about = f"{score.benchmark} {score.part or ''}".rstrip()
    reader = f", mode {score.mode}" if score.mode else ""
    if score.parser:
        reader = f", parser {score.parser}"
    states = ", ".join(f"{state} {n}" for state, n in score.states.items())
    advice, by_key = advice_on_cut(score.states), score.by_key
    values = _by_name(score.metrics, score.by_part)
    wide = max(24, *map(len, values))
    corrected = _by_name(by_key.get("metrics", {}), by_key.get("by_part", {}))
    flag = f"  WITHHELD {score.withheld}" if score.withheld else ""
    print_lines(
        f"{about}: {score.scoring} scoring{reader}, {score.n} items,"
        f" {score.unscored} unscored ({states})",
        "official: answers are read and counted as the release does; refused and empty ones count"
        " with --set withheld=official only"
        if score.scoring == "official" and not score.withheld
        else "",
        f"{about}: {advice}" if advice else "",
        *(
            (
                f"by the key {by_key['key']}: {by_key['changed']} targets are others,"
                f" {by_key['left_out']} items are left out as ambiguous, {by_key['n']} are left",
                f"  {'':{wide}} {'release':22} corrected key",
            )
            if by_key
            else ()
        ),
    )
    for name, value in values.items():
        beside = f"{_exact(corrected[name])}" if name in corrected else ""
        print(f"  {name:{wide}} {_exact(value):{22 if beside else 0}} {beside}".rstrip() + flag)
    labels = score.criterion.items()
    print_lines(*(f"  people.{name:17} {_exact(value)}{flag}" for name, value in labels))
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
    print_lines(
        *(f"{flag['flag']}: {flag['sentence']}; {flag['what_to_do']}." for flag in audit.flags),
        *(f"note: {note}." for note in audit.notes),
        *map(_contradiction, audit.contradictions),
        audit.checked.sentence(),
    )


def _contradiction(each: Contradiction) -> str:
    v = each.violation
    cell = ", ".join(part for part in (v.row, v.column) if part)
    unless = f"; possible only if {each.unless}" if each.unless else ""
    return f"{v.kind}: {cell} = {v.printed}: {v.reason}{unless}"


def coefficients(result: Audit) -> None:
    """Print the table of indicators of every benchmark, and what else was measured."""
    for audited in result.audits:
        side = importlib.import_module("hqm.reports.side_tables")
        n = len(audited.respondents)
        missing = audited.state_counts.get(audited.reference, {}).get("missing", 0)
        print_lines(
            f"\n{audited.title}: {audited.n_items} items, {n} respondent{'' if n == 1 else 's'}",
            f"{missing} of {n * audited.n_items} answers are missing: every number is about the"
            " answers that there are."
            if missing
            else "",
            side.stopped(audited),
        )
        _indicators(audited)
        scores = [side.full_scores(audited), *side.resolution_tables(audited)]
        for table in filter(None, scores):
            print_report_table(table)
        print_lines(*side.remarks(audited))


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
    print_lines(*(() if alone else brief.notes))
