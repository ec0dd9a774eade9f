"""Whatever a study leaves out, its audit passes its own reader and every command that prints it, and a
claim is one claim: page, terminal, statement, quote, tables for papers, gate, index and
`audit.json` say the same number about the same target, whatever the design leaves out.

Each claim is collected from every place that makes it, as text; a number is compared with the
estimate by the digits that are printed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hqm.reports.latex.latex_tables import format_tables
from hqm.reports.latex.paper import paper_tables
from hqm.reports.pages.benchmark_card import quotes
from hqm.reports.pages.phrases import plain_text
from hqm.reports.pages.report_page import Dated, _grid, index_files
from hqm.reports.pages.sentences import STATE_LABELS, answer_questions, headline, wording_row
from hqm.reports.tables.type_tables import added_value

import hqm
from hqm import Audit, BenchmarkAudit
from hqm.auditing.audit import Audit as StoredAudit
from hqm.auditing.definitions import planned_contrasts, types_measured, wrong_keys
from hqm.auditing.gate import check_against
from hqm.auditing.policy import Policy
from hqm.auditing.precision import more_items, total_precision
from hqm.auditing.score_points import Points
from hqm.auditing.seven_questions import find_estimate, seven_answers
from hqm.commands.in_python import from_logs
from hqm.comparison.measures import measures_of
from tests.audit_designs import random_audit
from tests.audit_doors import pass_all_doors, written_and_read
from tests.conftest import NIGHTLY, counts
from tests.perf.graded_items import graded_study

SEED = int(np.random.SeedSequence().generate_state(1)[0]) % 10_000 if NIGHTLY else 7
N_DESIGNS = counts(300)
SMALL_WORDS = "no one two three four five six seven eight nine ten eleven twelve".split()
TARGETS = {
    "(these models, new items)": "fixed_models",
    "for these respondents on other items": "fixed_models",
    "of fixed_models (these respondents, other items)": "fixed_models",
    "(these respondents, other items)": "fixed_models",
    "(other models like these)": "model_population",
    "for other respondents like these": "model_population",
}


class Texts(NamedTuple):
    """What the places say of one audit."""

    page: dict[str, str]
    verdict: str
    terminal: str
    statement: hqm.Statement
    quotes: dict[str, str]
    paper: dict[str, str]
    gate: dict[str, str]
    index: dict[str, Any]
    measured: str


def texts_of(audit: BenchmarkAudit) -> Texts:
    """Collect what is said of an audit."""
    whole = Audit((audit,))
    files = index_files([Dated(whole, "2026-01-01", "made")])
    site = json.loads(files["index.json"])
    return Texts(
        {answer.question: plain_text(answer.sentences) for answer in answer_questions(audit)},
        headline(audit).text,
        " ".join(repr(audit).split()),
        audit.statement,
        {quote.title.partition(":")[0]: quote.sentence for quote in quotes(audit, "1")},
        paper_cells(whole),
        {test.what: test.sentence for test in check_against(whole, Policy.load()).tests},
        site["rows"][0],
        site["measured"],
    )


def paper_cells(audit: Audit) -> dict[str, str]:
    """The cells of the two tables of the quality of a measure, by the words of their columns."""
    cells: dict[str, str] = {}
    columns: list[str] = []
    for line in format_tables(paper_tables([audit]), ".md").splitlines():
        entries = [entry.strip() for entry in line.strip("|").split(" | ")]
        if line.startswith("| Measure"):
            columns = entries
        elif line.startswith("| ") and len(entries) == len(columns):
            cells |= dict(zip(columns, entries, strict=True))
    return {re.sub(r"^[^:]*: ", "", name).replace("\\", ""): cell for name, cell in cells.items()}


def numbers(text: str) -> list[float]:
    """The numbers of a text, with the half of the last printed digit that each may be off."""
    return [float(n.replace("−", "-").replace(",", "")) for n in re.findall(NUMBER, text)]


NUMBER = r"[−-]?(?:\d[\d,]*\.?\d*|\.\d+)"


def check_numbers(place: str, text: str, expected: Sequence[float | None]) -> None:
    """Every expected number stands in the text, rounded as it is printed, in this order."""
    printed = re.findall(NUMBER, text)
    values = [value for value in expected if value is not None]
    assert len(printed) >= len(values), (place, text, values)
    for shown, value in zip(printed, values, strict=False):
        digits = len(shown.partition(".")[2])
        number = float(shown.replace("−", "-").replace(",", ""))
        assert abs(number - value) <= 0.5 * 10.0**-digits * (1 + 1e-6) + 1e-12, (place, text, value)


def reliability(audit: BenchmarkAudit, texts: Texts) -> Iterator[tuple[str, str]]:
    """What each place says of rho_G, from its number on."""
    if match := re.search(r"Reliability (.*)", texts.page["repeat"]):
        yield "page", match[1]
    if match := re.search(r"rho_G ((?:at least )?[.−\d].*)", texts.statement.repeat):
        yield "statement", match[1]
    if match := re.search(r"\(rho_G\) is (.*)", texts.quotes.get("Repeatability", "")):
        yield "quote", match[1].replace("95% interval ", "")
    if re.search(r"\d", texts.paper.get("Test-retest rho_G", "")):
        yield "paper", texts.paper["Test-retest rho_G"]
    if re.search(r"\d", texts.paper.get("rho_G", "")):
        yield "paper, first table", texts.paper["rho_G"]


def check_reliability(audit: BenchmarkAudit, texts: Texts) -> bool:
    """rho_G with its interval for these models."""
    rho = find_estimate(audit, "test_retest.rho_g")
    said = dict(reliability(audit, texts))
    if rho is None or rho.value is None:
        assert not said
        return False
    interval = rho.interval("fixed_models")
    ends = (interval.low, interval.high) if interval is not None else ()
    assert said, rho
    for place, text in said.items():
        check_numbers(place, text, (rho.value, *(ends if "[" in text else ())))
        check_target(place, text, "fixed_models")
    if match := re.search(r"among these (\w+) models", said.get("page", "")):
        assert SMALL_WORDS.index(match[1]) == rho.n_respondents, said["page"]
    return True


def check_target(place: str, text: str, expected: str) -> None:
    """An interval is said to be for what it is for; in tables the note below says it."""
    if "[" not in text or place.startswith("paper"):
        return
    named = [target for words, target in TARGETS.items() if words in text]
    assert named, (place, text)
    assert named[0] == expected, (place, text)


def check_wording(audit: BenchmarkAudit, texts: Texts) -> bool:
    """The shift by another wording, its interval and its target."""
    match = re.match(r"(?:Reworded|Negated): (.*?)(?:\. |\.$)", texts.page["wording"] + " ")
    if match is None or not re.search(r"\d", match[1]):
        return False
    factor = Points.for_metric(audit).factor
    said = {"page": match[1], "statement": texts.statement.wording}
    if re.search(r"\d", texts.paper.get("Shift, points", "")):
        said["paper"] = texts.paper["Shift, points"]
    shifts = {}
    (row,) = [r for r in [wording_row(audit)] if r is not None]
    target = row.inference or "fixed_models"
    assert ("*" in said.get("paper", "")) == (target == "model_population"), said
    for place, text in said.items():
        shifts[place] = re.findall(NUMBER, text.replace("+", ""))[: 3 if "[" in text else 1]
        check_target(place, text, target)
    assert len({tuple(map(str, shown)) for shown in shifts.values()}) == 1, said
    name = f"parallel_forms.mean_shift ({next(iter(audit.metrics))})"
    test = texts.gate.get(name, "")
    if test.startswith("interval") and "[" in said["page"] and len(row.other) == 1:
        assert target == "fixed_models", "the gate has no interval for other models"
        assert re.findall(NUMBER, test)[:2] == shifts["page"][1:3], "one unit, one number"
        check_target("gate", test, "fixed_models")
    quote = texts.quotes.get("Shift by the wording")
    if quote is not None:
        # the quote has the shift as a difference of scores, with the interval of each target
        value = numbers(quote.partition(" by ")[2])[0]
        assert float(shifts["page"][0].replace("−", "-")) == pytest.approx(
            factor * value, abs=0.5e-3 * factor + 0.06
        )
    return True


def check_top(audit: BenchmarkAudit, texts: Texts) -> bool:
    """Whether the first two models differ, and of how many pairs that is shown."""
    contrasts = planned_contrasts(audit, Policy.load().limits.equal_within)
    if not contrasts:
        return False
    top = contrasts[0]
    frame = audit.to_frame("pairs")
    assert frame["outcome"].iloc[0] == top.outcome
    about = texts.index["lead"]["about"]
    assert ("not shown" in about) == (top.outcome == "not_known"), about
    sentences = {"differ": "differ by", "equal": "equal", "not_known": "is not known"}
    subjects = [line for line in re.split(r"(?<=\.) ", texts.verdict) if "two models" in line]
    for line in subjects:
        if "few for ranks" not in line:
            assert sentences[top.outcome] in line, (line, top.outcome)
    if texts.index["pairs"]["all"] == 1:
        of_two = {
            "differ": "models differ on",
            "equal": "are equal within",
            "not_known": "undecided",
        }
        assert of_two[top.outcome] in texts.page["separate"]
        return True
    counted = re.search(
        r"Of (\w+) pairs? of neighbours in rank, (.*?) on new items\.( |$)", texts.page["separate"]
    )
    assert counted is not None, texts.page["separate"]
    shown = {word.strip(): int(n) for n, word in re.findall(r"(\d+) ([a-z ]+)", counted[2])}
    n_differ = sum(contrast.outcome == "differ" for contrast in contrasts)
    assert sum(n for word, n in shown.items() if word.startswith("differ")) == n_differ
    assert sum(shown.values()) == len(contrasts)
    return True


def check_pairs(audit: BenchmarkAudit, texts: Texts) -> bool:
    """How many of all pairs differ."""
    pairs = find_estimate(audit, "discriminability.separable_pairs")
    if pairs is None or pairs.value is None:
        return False
    counts_of_pairs = {(int(pairs.detail["apart"]), int(pairs.detail["pairs"]))}
    if match := re.search(r"(\d+) of (\d+) pairs of models differ", texts.page["separate"]):
        counts_of_pairs.add((int(match[1]), int(match[2])))
    counts_of_pairs.add((texts.index["pairs"]["differ"], texts.index["pairs"]["all"]))
    if match := re.search(r"(\d+) of the (\d+) pairs", texts.quotes.get("Separation", "")):
        counts_of_pairs.add((int(match[1]), int(match[2])))
    assert len(counts_of_pairs) == 1
    return True


def check_types(audit: BenchmarkAudit, texts: Texts) -> bool:
    """How many types may be scored alone."""
    types = [row for row in types_measured(audit) if row.items]
    if not types:
        return False
    n_alone = sum(row.stands_alone for row in types)
    counted = {"definition": n_alone}
    (measure,) = [m for m in measures_of([audit]) if m.metric == next(iter(audit.metrics))]
    if measure.types_alone is not None:
        counted["compare"] = measure.types_alone[0]
    # two types or more of which one was measured are counted, and else there is a dash
    is_counted = len(types) > 1 and {row.standing for row in types} - {"chance", "leaks"} != {
        "unmeasured"
    }
    assert (measure.types_alone is not None) == is_counted
    assert "Types alone" not in texts.paper or is_counted == (texts.paper["Types alone"][0] != "–")
    if match := re.match(r"(\d+) of (\d+)", texts.paper.get("Types alone", "")):
        counted["paper"] = int(match[1])
        assert int(match[2]) == len(types)
    grid = _grid(audit, True, 0.03)
    if grid is not None and len(grid["kinds"]) == len(types):
        counted["grid"] = [kind["status"] for kind in grid["kinds"]].count("alone")
    table = added_value(audit)
    if table is not None:
        counted["evidence"] = [row[-1].text for row in table.rows].count("alone")
    if "No type" in texts.verdict:
        counted["verdict"] = 0
        standings = {row.standing for row in types} - {"chance", "leaks"}
        # that none adds information is said only where it is shown of every type
        assert ("No type adds" in texts.verdict) == (standings <= {"as_total"})
    elif "Whether types" in texts.verdict:
        assert {row.standing for row in types} - {"chance", "leaks"} == {"unmeasured"}
    elif match := re.search(r"(\w+) (?:of (\w+) )?types? adds? info", texts.verdict):
        word = match[1].lower()
        counted["verdict"] = len(types) if word == "every" else SMALL_WORDS.index(word)
    assert len(set(counted.values())) == 1, counted
    if not any(row.by_type for row in audit.respondents) or not any(
        score is not None for row in audit.respondents for score in row.by_type.values()
    ):
        assert not any(row.at_chance for row in types), "nobody answered"
    return True


def check_readiness(audit: BenchmarkAudit, texts: Texts) -> bool:
    """What the audit comes to."""
    answers = seven_answers(audit)
    state = STATE_LABELS[answers.state][0]
    assert texts.verdict.startswith(state)
    assert str(audit.verdict).startswith(state)
    assert state in texts.terminal
    assert texts.index["verdict"] == texts.verdict
    assert dict(audit.answers) == answers.codes
    assert [remedy.what for remedy in audit.mend] == [remedy.what for remedy in answers.mend]
    gate = check_against(Audit((audit,)), Policy.load())
    if match := re.search(r"Of (\d+) tests of the policy “default”, (.*)\.", texts.page["quote"]):
        assert int(match[1]) == len(gate.tests)
        outcomes = [test.outcome for test in gate.tests]
        fails = re.search(r"(\d+) fails?", match[2])
        assert (int(fails[1]) if fails else 0) == outcomes.count("FAIL")
    return True


def check_index(audit: BenchmarkAudit, texts: Texts) -> bool:
    """The sentence above an index counts the wordings that its rows have."""
    is_missing = "wording" in texts.index["unmeasured"].replace("negated", "wording")
    match = re.search(r"Another wording was asked in (\w+) of one", texts.measured)
    if match is None:
        return False
    asked = any(
        row.status in ("ok", "few")
        for budget in audit.budget.values()
        for row in budget.rows
        if row.source in ("wording", "negation")
    )
    assert (match[1] == "one") == asked
    assert not (asked and is_missing)
    return True


def check_errors(audit: BenchmarkAudit, texts: Texts) -> bool:
    """The errors of a score and of a run, in points wherever they stand."""
    precision, points = total_precision(audit), Points.for_metric(audit)
    limit = Policy.load().precision.error
    if precision.error is None or precision.error_high is None or precision.scale is None:
        return False
    end = points.format_beside(precision.error_high, limit * precision.scale)
    test = texts.gate["standard error of a score"]
    allowed = points.format_limit(limit * precision.scale)
    assert re.findall(NUMBER, test)[:2] == [end, allowed], test
    if match := re.search(r"standard errors are up to ([\d.]+) points", texts.verdict):
        assert match[1] == end, texts.verdict
    if match := re.search(r"SE of a run, points", " ".join(texts.paper)):
        check_numbers(
            "paper", texts.paper["SE over new items, points"], [precision.error * points.factor]
        )
        if precision.run_error is not None:
            run_error = precision.run_error * points.factor
            check_numbers("paper", texts.paper["SE of a run, points"], [run_error])
            if match := re.match(r"The standard error of one run is (.*)", texts.page["repeat"]):
                check_numbers("page", match[1], [run_error])
    return True


def check_gaps(audit: BenchmarkAudit, texts: Texts) -> bool:
    """A gap lies within its own interval: both are of the items that the two answered."""
    budget = audit.budget.get(next(iter(audit.metrics)))
    gaps = [gap for gap in budget.gaps if gap.low is not None] if budget is not None else []
    for gap in gaps:
        assert gap.gap is not None
        assert gap.high is not None
        assert gap.low is not None
        assert gap.low - 1e-9 <= gap.gap <= gap.high + 1e-9, gap
    return bool(gaps)


def check_more(audit: BenchmarkAudit, texts: Texts) -> bool:
    """What a half mark is for stands first, since a terminal may show no second sentence."""
    forecast = more_items(audit, Policy.load())
    if forecast.need("difference") is None:
        return False
    is_enough = texts.page["more"].startswith("No more are needed")
    assert is_enough == (seven_answers(audit).codes["more"] == "fine"), texts.page["more"]
    return True


CHECKS = {
    "errors": check_errors,
    "gaps": check_gaps,
    "more": check_more,
    "reliability": check_reliability,
    "wording": check_wording,
    "top two": check_top,
    "pairs": check_pairs,
    "types": check_types,
    "readiness": check_readiness,
    "index": check_index,
}


@pytest.fixture(scope="module")
def designed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], BenchmarkAudit]:
    """The audit of the design of this number, made once for all that is asked of it."""
    folder = tmp_path_factory.mktemp("designs")

    @cache
    def audit(case: int) -> BenchmarkAudit:
        seed = 1000 * SEED + case
        print(f"seed {seed}")
        return random_audit(seed, folder / str(case))

    return audit


def test_every_place_makes_the_same_claim(
    designed: Callable[[int], BenchmarkAudit], tmp_path: Path
) -> None:
    made = dict.fromkeys(CHECKS, 0)
    for case in range(N_DESIGNS):
        audit = designed(case)
        path = tmp_path / "audit.json"
        path.write_text(Audit((audit,)).to_json(), encoding="utf-8")
        (read,) = StoredAudit.load(path).audits
        texts = texts_of(audit)
        assert texts_of(read) == texts
        for name, check in CHECKS.items():
            made[name] += check(read, texts)
    print(made)
    assert min(made.values()) >= 5, made


def test_faulty_items_are_counted_alike_on_page_and_gate() -> None:
    """Those that are named, and those that are expected, each by its name."""
    rng = np.random.default_rng(3)
    slopes = rng.lognormal(0, 0.25, 90)
    latent = slopes * rng.normal(0, 1, (10, 1)) + rng.normal(0, 0.6, 90)
    scores = np.clip(np.rint(3 + latent + rng.normal(0, 1.2, (10, 90))), 1, 5)
    scores[:, :12] = 6 - scores[:, :12]
    rows = [(f"m{m}", f"q{i}", 0, scores[m, i]) for m, i in np.ndindex(*scores.shape)]
    (benchmark,) = from_logs(pd.DataFrame(rows, columns=["model", "item", "run", "score"]))
    audit = hqm.audit(benchmark)
    texts = texts_of(audit)
    gate = re.match(
        r"(\d+) faults almost surely, of about (\d+)", texts.gate["items.label_errors (score)"]
    )
    assert gate is not None, texts.gate
    named, expected = int(gate[1]), int(gate[2])
    assert 0 < named < expected
    (remedy,) = [row for row in audit.mend if row.what == "reversed"]
    assert remedy.count == expected
    words = re.search(r"(\w+) possibly reversed items, (\w+) of them almost surely", texts.verdict)
    assert words is not None, texts.verdict
    counted = [SMALL_WORDS.index(w) if w in SMALL_WORDS else int(w) for w in words.groups()]
    assert counted == [expected, named]
    # the answer names them where the verdict says how many are sure
    assert f"{words[1]} possibly reversed items. read " in texts.page["faulty"].lower()
    assert all(name in texts.page["faulty"] for name in remedy.names[:10])


def test_what_a_search_of_little_power_finds_is_counted_on_page_and_gate() -> None:
    scores, _ = graded_study(np.random.default_rng(2), 8, reversed_count=10, runs=2)
    rows = [(f"m{m}", f"q{i}", run, x) for (run, m, i), x in np.ndenumerate(scores)]
    (benchmark,) = from_logs(pd.DataFrame(rows, columns=["model", "item", "run", "score"]))
    audit = hqm.audit(benchmark)
    estimates = []
    for estimate in audit.all_estimates:
        if estimate.indicator == "items.label_errors":
            estimate = replace(estimate, status="not_informative", reason="it finds few")
        estimates.append(estimate)
    weak = replace(audit, all_estimates=tuple(estimates))
    named = int(wrong_keys(audit).count)
    assert named > 0
    assert wrong_keys(weak).count == named
    assert not wrong_keys(weak).beyond_doubt


@pytest.mark.parametrize("case", range(N_DESIGNS))
def test_every_audit_passes_its_own_reader_and_all_commands(
    case: int, designed: Callable[[int], BenchmarkAudit], tmp_path: Path
) -> None:
    audit = Audit((designed(case),))
    again = written_and_read(audit, tmp_path / "audit.json")
    assert again.to_json() == audit.to_json()
    pass_all_doors(again, figures=case % 4 == 0)
