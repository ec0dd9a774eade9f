"""What a page opens with: the answers in a few words, one table for a group of benchmarks, and what
a policy says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hqm.reports.phrases import counted
from hqm.reports.sentences import Point
from hqm.reports.tables import Table, Text, leading

from hqm import Audit, BenchmarkAudit, Gate, wrong_keys

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
    rows = tuple(
        (
            Text(
                _OUTCOMES[test.outcome] + ("" if test.required else ", not required"),
                muted=test.outcome == "PASS",
            ),
            Text(test.what.replace("_", " ")),
            Text(
                _first_capital(test.sentence), small=test.reason if test.outcome != "PASS" else ""
            ),
            Text(test.remedy),
        )
        for test in sorted(gate.tests, key=lambda test: order.index(test.outcome))
    )
    notes = (
        (
            "Thresholds are held against the unfavourable end of an interval. What was not measured"
            " is not passed. `hqm gate AUDIT` prints the same."
        ),
    )
    return Table(
        f"Policy “{gate.policy}”: {'passed' if gate.passed else 'not passed'}",
        ("Outcome", "Test", "What was held against what", "What to do"),
        rows,
        (),
        notes,
    )


def of_benchmark(gate: Gate, benchmark: BenchmarkAudit) -> Gate:
    """The tests of one benchmark."""
    return Gate(
        gate.policy, tuple(test for test in gate.tests if test.benchmark == benchmark.benchmark)
    )


def _first_capital(text: str) -> str:
    return text[:1].upper() + text[1:]
