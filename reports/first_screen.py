"""The first screen: the results of an audit in plain sentences, made from the estimates, their
intervals and their status.

A sentence says no more than the end of an interval supports, for whom (these respondents, or others
like them), and from how many. What was not measured is said with its reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hqm.reports import side_tables, verdicts
from hqm.reports.evidence_tables import SOURCES
from hqm.reports.phrases import Sentence, backed, counted, have, listed, say, used
from hqm.reports.screen_sentences import faults, repeatable, separates, wording
from hqm.reports.side_tables import stopped
from hqm.reports.tables import (
    Table,
    Text,
    by_people,
    capital,
    default_policy,
    estimate_text,
    families_source,
    find,
    leading,
    number,
    percent,
    rows,
    with_oracle,
)
from hqm.reports.verdicts import study_limits, to_fix

from hqm import (
    Audit,
    BenchmarkAudit,
    Cell,
    Estimate,
    Gate,
    Policy,
    hold_against,
    scored_answers,
    types_measured,
    who_labelled,
    wrong_keys,
)

NEED = "Where the variance comes from, and what you would need"
ORACLE = "the benchmark's oracle (a rule that knows the right answers)"


@dataclass(frozen=True, slots=True)
class Point:
    """One line of the first screen: a question a reader has, and the answer in sentences."""

    question: str
    sentences: tuple[Sentence, ...]
    verdict: str = ""
    """The answer in a few words; empty where there is no question of yes and no."""
    evidence: str = ""
    """The title of the part of the page that has the evidence."""


def in_short(audit: BenchmarkAudit, policy: Policy | None = None) -> list[Point]:
    """What a reader wants to know first; goals are those of the policy, of the default one unless
    given.
    """
    gate = hold_against(Audit((audit,)), policy or default_policy())
    lost = side_tables.what_was_lost(audit)
    short_form = Point(
        "What would the full benchmark say?", lost, evidence=side_tables.SHORT_FORM_TITLE
    )
    return [
        Point("What was audited?", audited(audit)),
        *([short_form] if lost else []),
        Point(
            "Do the scores repeat?",
            repeatable(audit, policy),
            verdicts.repeats(audit, policy),
            "Reliability by source of error",
        ),
        Point(
            "Does the wording change them?",
            wording(audit),
            verdicts.moved(audit),
            "First and other administrations compared",
        ),
        Point(
            "Do they agree with people?",
            criterion(audit),
            verdicts.follows(audit, policy),
            "People",
        ),
        Point(
            "Which respondents did it separate?",
            separates(audit),
            verdicts.separated(audit),
            "Leaderboard and tied sets",
        ),
        Point("Are items faulty?", faults(audit), verdicts.faulty(audit), "Read these items"),
        Point(
            "How many more items?",
            more_items(audit, policy),
            verdicts.more_items(audit, policy),
            NEED,
        ),
        Point("Can I quote it?", quotable(gate), verdicts.quotable(gate), "Quote this"),
        Point("Which types are covered?", types(audit), "", "Types of hallucination"),
        Point("What to fix first", to_fix(audit, policy)),
    ]


def more_items(audit: BenchmarkAudit, policy: Policy | None = None) -> tuple[Sentence, ...]:
    """What the goals take beyond what was asked: of items, or of runs, and of items of each
    type.
    """
    wanted = [
        sentence for kind, sentence in study_limits(audit, policy) if kind in ("repeat", "types")
    ]
    return tuple(wanted) or (say("No goal that this audit measured takes more items."),)


def quotable(gate: Gate) -> tuple[Sentence, ...]:
    """What the policy does not let pass, and what was not measured."""
    failed, missing = (
        [test.what for test in gate.tests if test.outcome == outcome]
        for outcome in ("FAIL", "NOT MEASURED")
    )
    sentences = [say("Failed: {names}.", names=listed(failed))] if failed else []
    sentences += [say("Not measured: {names}.", names=listed(missing))] if missing else []
    return (
        *sentences,
        say("Sentences to copy, with intervals and signatures, stand under Quote this."),
    )


def audited(audit: BenchmarkAudit) -> tuple[Sentence, ...]:
    """Items, pictures, respondents, forms, seeds, judges, and how much was not scored."""
    cells = [Cell.parse(name) for name in audit.cells]
    forms = list(dict.fromkeys(c.form for c in cells))
    runs = len({c.run for c in cells if c.form == Cell.parse(audit.reference).form})
    judges = list(dict.fromkeys(c.judge for c in cells if c.judge != "rule"))
    of = scored_answers(audit)
    total, lost = of.answers, of.unscored
    return (
        say(
            "{items}"
            + (" about {images}" if audit.images else " without pictures")
            + ", answered by {n} in {forms} ({names}); the original form was asked {runs}.",
            items=counted(audit.items, "item"),
            images=counted(audit.images, "picture"),
            n=_respondents(audit),
            forms=counted(len(forms), "form"),
            names=", ".join(forms),
            runs="once" if runs == 1 else f"in {counted(runs, 'run')}",
        ),
        say(
            "{total}, {by}; "
            + ("{lost} of them were not scored ({share})." if lost else "all of them were scored.")
            + "{labels}",
            total=counted(total, "answer"),
            by=f"judged by {listed(judges)}" if judges else "scored by a rule (not by a model)",
            lost=lost,
            share=percent(of.share_unscored, 1),
            labels=_labels(audit),
        ),
        *stopped(audit),
    )


def _respondents(audit: BenchmarkAudit) -> str:
    many = counted(len(audit.respondents), "respondent")
    families = len(set(audit.families.values()))
    if not families or families == len(audit.respondents):
        return many
    return (
        f"{many} of {families} {'family' if families == 1 else 'families'}"
        f" ({families_source(audit)})"
    )


def _labels(audit: BenchmarkAudit) -> str:
    who = who_labelled(audit)
    oracle = bool(who.by_oracles)
    if who.by_people:
        return (
            " People labelled answers too."
            if not oracle
            else f" People labelled answers too, and so did {ORACLE}."
        )
    return (
        f" No people labelled answers; {ORACLE} read them."
        if oracle
        else " No people labelled answers."
    )


def criterion(audit: BenchmarkAudit) -> tuple[Sentence, ...]:
    """How well the scores agree with people; what an oracle says, which is not people, stands
    apart.
    """
    metric = leading(audit)
    measured = [
        e for e in audit.estimates if e.indicator == "criterion.pearson" and e.metric == metric
    ]
    sentences: list[Sentence] = []
    for r in filter(by_people, measured):
        if r.value is None:
            sentences.append(
                say(
                    "The agreement with people's labels was not measured: {reason}.",
                    reason=r.reason,
                )
            )
            continue
        sentences.append(
            say("The scores correlate {r} with people's labels{of}.", r=r, of=backed(audit, r))
        )
        sentences += _who_labelled_what(audit, metric, r.other)
        freed = find(audit, "criterion.disattenuated", metric, r.other)
        if freed is not None and freed.value is not None and "CAPPED" not in freed.flags:
            sentences.append(
                say(
                    "Without the sampling noise on both sides, the correlation is estimated at"
                    " {freed} (disattenuated){of}.",
                    freed=freed,
                    of=backed(audit, freed),
                )
            )
    if not sentences:
        sentences.append(
            say(
                "Not measured: no people labelled answers. To measure it,"
                f" {SOURCES['criterion'][3]}."
            )
        )
    sentences += _stages(audit)
    oracle = with_oracle(audit, metric)
    if oracle is not None and oracle.value is not None:
        sentences.append(_second_reading(audit, oracle))
    return tuple(sentences)


def _stages(audit: BenchmarkAudit) -> Iterator[Sentence]:
    """How single stages of a judge decide, beside people."""
    for f1 in audit.estimates:
        if f1.indicator != "stages.f1" or f1.value is None:
            continue
        beside = {"metric": f1.metric, "other": f1.other}
        named = {
            name: find(audit, f"stages.{name}", **beside)
            for name in ("decided_alike", "precision", "recall")
        }
        known = {
            name: e
            for name, e in named.items()
            if e is not None and e.value is not None and e.first == f1.first
        }
        if len(known) == len(named):
            of = f1.detail
            yield say(
                f"Of {of['units']:,} {of['unit']}s that people labelled, the judge's {of['stage']}"
                f" decides {{alike}} as they do; for “{of['yes']}”, precision is {{precision}},"
                " recall {recall} and F1 {f1}.",
                alike=known["decided_alike"],
                precision=known["precision"],
                recall=known["recall"],
                f1=f1,
            )


def _who_labelled_what(audit: BenchmarkAudit, metric: str, other: str) -> list[Sentence]:
    """Who labelled what, how they agree, and what the labels allow to claim."""
    count = find(audit, "criterion.labelled_answers", metric, other)
    if count is None or count.value is None:
        return []
    raters: dict[str, int] = count.detail.get("raters") or {}
    who = (
        f"{counted(len(raters), 'rater')} ({listed(list(raters))})"
        if raters
        else "People whose names are not given"
    )
    pooled = ""
    if len(raters) > 1:
        pooled = f"; several labels of an answer were pooled by {count.detail['pool']}"
        pooled += (
            f", {count.detail['adjudicated']} were adjudicated"
            if count.detail["adjudicated"]
            else ""
        )
        pooled += (
            f", {count.detail['unresolved']} stayed unresolved"
            if count.detail["unresolved"]
            else ""
        )
    sentences = [say(f"{who} labelled {{n}} of the answers{pooled}.", n=count)]
    alpha = next((e for e in audit.estimates if e.indicator == "criterion.human_agreement"), None)
    if alpha is not None and alpha.value is not None:
        sentences.append(
            say(
                "The raters agree with Krippendorff's alpha {a}; their errors are in the"
                " intervals.",
                a=alpha,
            )
        )
    else:
        sentences.append(
            say("How far raters agree is not known, so their errors are in no interval.")
        )
    random = find(audit, "criterion.labels_at_random", metric, other)
    if count.detail["drawn"]:
        claim = (
            "The answers were chosen with known probabilities: what is corrected by the labels"
            " holds for all answers of these respondents."
        )
    elif "LABELS_NOT_RANDOM" in count.flags:
        claim = (
            "The labelled answers are no random sample: what the labels say holds for these answers"
            " alone, and no score is corrected."
        )
    elif random is not None and random.value is not None:
        claim = (
            "Nobody says how the answers were chosen: what is corrected by the labels holds for all"
            " answers only if chance chose them, and a test found nothing against that (p = {p})."
        )
        return [*sentences, say(claim, p=random)]
    else:
        claim = (
            "Every answer that was scored is labelled, so nothing has to be inferred from a sample."
        )
        if random is None or random.status != "not_applicable":
            claim = (
                "Nobody says how the answers were chosen: what is corrected by the labels holds for"
                " all answers only if chance chose them."
            )
    return [*sentences, say(claim)]


def _second_reading(audit: BenchmarkAudit, oracle: Estimate) -> Sentence:
    """What an oracle's reading of the same answers shows, and what it does not."""
    limit = "that checks how answers are read, and is no agreement with people."
    if (oracle.value or 0) > 1 - 1e-9:
        return say(
            f"Scores from a second reading by {ORACLE} lie on one line with the benchmark's (r"
            f" {{r}}; {{used}}); {limit}",
            r=oracle,
            used=used(audit, oracle),
        )
    return say(
        f"Scores from a second reading by {ORACLE} correlate {{r}} with the benchmark's{{of}};"
        f" {limit}",
        r=oracle,
        of=backed(audit, oracle),
    )


def types(audit: BenchmarkAudit) -> tuple[Sentence, ...]:
    """Which types have items, which were measured well enough, and whose own score says more than
    the total.
    """
    covered = [kind for kind, row in audit.coverage.items() if row["items"]]
    absent = [kind for kind in audit.coverage if kind not in covered]
    claimed = [kind for kind in absent if audit.coverage[kind]["claimed"]]
    sentences = [
        say(
            "{n} of {all} types {have} items: {names}.",
            n=len(covered),
            all=len(audit.coverage),
            have=have(len(covered)),
            names=listed(covered),
        )
    ]
    if not covered:
        sentences = [
            say("No item is known to be of any of the {all} types.", all=len(audit.coverage))
        ]
    index = find(audit, "types.index", leading(audit))
    measured = [row for row in types_measured(audit) if row.items]
    if index is None or index.value is None or not measured:
        sentences.append(say("Whether the types are measurable was not measured."))
    else:
        fit = [row.type for row in measured if row.measurable]
        where = (
            "in this audit" if any(row.measured for row in measured) else "by their number of items"
        )
        said = (
            "{count} of them {are} measurable {where}, with a standard error of at most .03 for a"
            " respondent's score on the type{names}"
        )
        errors = [
            row.error
            for row in measured
            if row.error is not None and row.measured and not row.measurable
        ]
        more = (
            f"; for the {counted(len(errors), 'other')} it is {_between(errors)}" if errors else ""
        )
        sentences.append(
            say(
                said + more + ".",
                count=replace(estimate_text(index), text=str(len(fit))),
                are="is" if len(fit) == 1 else "are",
                where=where,
                names=f": {listed(fit)}" if fit and len(fit) < len(measured) else "",
            )
        )
    sentences += _added(audit)
    if absent:
        sentences.append(
            say(
                "Not covered: {names}"
                + (" (claimed without items: {claimed})." if claimed else "."),
                names=listed(absent),
                claimed=listed(claimed),
            )
        )
    return tuple(sentences)


def _between(errors: Sequence[float]) -> str:
    """The smallest and the largest error, with four decimals, so that what lies just above .03 is
    not shown as .03.
    """
    low, high = number(min(errors), 4), number(max(errors), 4)
    return low if low == high else f"{low} to {high}"


def _added(audit: BenchmarkAudit) -> list[Sentence]:
    """Whether a type's own score says more about the type than the total does (Haberman)."""
    estimate = find(audit, "types.added_value", leading(audit))
    tested = [row for row in rows(estimate, "types") if row.get("status") == "ok"]
    if estimate is None or not tested:
        return []
    better = sum(bool(row.get("adds")) for row in tested)
    shown = [str(row.get("type")) for row in tested if row.get("adds") and row.get("certain")]
    return [
        say(
            "That a type's own score says more about it than the total does (Haberman) is shown for"
            " {shown} of {all} types (95% interval over respondents); the estimates favour it for"
            " {count}.",
            shown=f"{len(shown)} ({listed(shown)})" if shown else "none",
            all=len(tested),
            count=replace(estimate_text(estimate), text=str(better)),
        )
    ]


# --- what a page of several benchmarks opens with ---

_OUTCOMES = {"PASS": "passed", "FAIL": "failed", "NOT MEASURED": "not measured"}


def comparison(
    audit: Audit, points: Sequence[Sequence[Point]], places: Sequence[Mapping[str, str]]
) -> Table:
    """A row for each benchmark of a group, with the answer to each question in a few words, which
    links to its evidence.
    """
    questions = [point.question for point in points[0] if point.verdict]
    rows = []
    for i, (benchmark, own, parts) in enumerate(zip(audit.audits, points, places, strict=True), 1):
        by_question = {
            point.question: Text(point.verdict, link=parts.get(point.evidence, f"b{i}"))
            for point in own
        }
        first = Text(
            benchmark.title,
            link=f"b{i}",
            small=(
                f"{benchmark.items_used:,} items,"
                f" {counted(len(benchmark.respondents), 'respondent')}; {leading(benchmark)}"
            ),
        )
        rows.append((first, *(by_question.get(question, Text("")) for question in questions)))
    return Table("The benchmarks of this audit", ("Benchmark", *questions), tuple(rows))


def paragraph(audit: Audit, gates: Sequence[Gate]) -> str:
    """What the benchmarks of a group come to, in one paragraph."""
    n, passed = len(audit.audits), sum(gate.passed for gate in gates)
    policy = gates[0].policy if gates else "default"
    faulty = [benchmark.title for benchmark in audit.audits if wrong_keys(benchmark).shown]
    said = (
        f"{counted(n, 'benchmark')}, each audited by itself: numbers of different benchmarks are"
        f" never averaged. {_of(passed, n)} the policy “{policy}”."
    )
    said += (
        f" Items of {', '.join(faulty)} are to be read first, for their keys may be wrong."
        if faulty
        else " No item of any of them stands out as one whose key may be wrong."
    )
    return f"{said} Each benchmark folds open below, with its evidence."


def _of(passed: int, n: int) -> str:
    if passed == n:
        return "All pass"
    return "None passes" if not passed else f"{passed} of {n} pass{'es' if passed == 1 else ''}"


def gate_table(gate: Gate) -> Table:
    """Every test of the policy: what did not pass first, with what to do."""
    order = ("FAIL", "NOT MEASURED", "PASS")
    return Table(
        f"Policy “{gate.policy}”: {'passed' if gate.passed else 'not passed'}",
        ("Outcome", "Test", "What was held against what", "What to do"),
        rows=tuple(
            (
                Text(
                    _OUTCOMES[test.outcome] + ("" if test.required else ", not required"),
                    muted=test.outcome == "PASS",
                ),
                Text(test.what.replace("_", " ")),
                Text(
                    capital(test.sentence),
                    small=test.reason if test.outcome != "PASS" else "",
                ),
                Text(test.remedy),
            )
            for test in sorted(gate.tests, key=lambda test: order.index(test.outcome))
        ),
        right=(),
        notes=(
            (
                "Thresholds are held against the unfavourable end of an interval. What was not"
                " measured is not passed. `hqm gate AUDIT` prints the same."
            ),
        ),
    )


def of_benchmark(gate: Gate, benchmark: BenchmarkAudit) -> Gate:
    """The tests of one benchmark."""
    return Gate(
        gate.policy, tuple(test for test in gate.tests if test.benchmark == benchmark.benchmark)
    )
