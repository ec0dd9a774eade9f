"""How often `hqm compare` calls equal measures different, and how much an audit's smallest
differences are worth.

    python tests/perf/compare_errors.py [replicates] [reruns] [forms] [families] [power] [pairs]

Prints Markdown tables with their Monte Carlo error, all of them or those named: false alarms of
`hqm compare` (any test of a comparison, after the one adjustment) with reruns, with forms and three
measures, and with families; the power of the smallest differences that an audit states; and what
else an audit says of pairs.

The answers come from none of the models that the tests use: abilities have the tails of Student's
t, respondents guess, pictures have 1 to 5 questions that are easy or hard together, respondents see
pictures differently, and one respondent answers with more chance than another. Verdicts go through
`hqm.indicators`, what `audit.json` keeps, and the tests of `compare_audits`.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from hqm import BenchmarkAudit, Cell, Estimate, Item
from hqm.auditing.audit_rows import RespondentScores
from hqm.auditing.study_records import jackknife_record, jackknife_rows
from hqm.comparison.compare import _effective, adjust_differences
from hqm.comparison.measure_tests import tested_differences, williams_comparisons
from hqm.comparison.measures import Difference, WilliamsComparison, measures_of
from hqm.indicators import Protocol, case, indicator_named
from hqm.psychometrics import jackknife_interval, paired_differences, rho_g
from hqm.scoring.matrix import ScoreMatrix
from hqm.scoring.metrics import YES_NO

ACCURACY = YES_NO[0]
PROTOCOL = Protocol("simulated", "", "")
PICTURES = 120


@dataclass(frozen=True)
class World:
    """Respondents in families of `relatives` whose abilities correlate by `alike`, and measures of
    one quality.

    `traits` is the correlation of the abilities that two measures look at: at 1 they are equal for
    these respondents too, below it only for a population. With `forms` the second administration
    has another wording, which moves every question for all and for each respondent.
    """

    respondents: int
    relatives: int = 1
    alike: float = 0.7
    measures: int = 2
    forms: bool = False
    traits: float = 1.0


def abilities(world: World, rng: np.random.Generator) -> np.ndarray:
    """(respondents,): heavy tails, relatives alike."""
    count = -(-world.respondents // world.relatives)
    common, individual = (
        rng.standard_t(6, size) / math.sqrt(1.5) for size in (count, count * world.relatives)
    )
    share = world.alike if world.relatives > 1 else 0.0
    mixed = (
        math.sqrt(share) * np.repeat(common, world.relatives) + math.sqrt(1 - share) * individual
    )
    return np.asarray(mixed[: world.respondents])


def pictures(count: int = PICTURES) -> np.ndarray:
    """(items,): the picture of each question."""
    return np.repeat(np.arange(count), np.random.default_rng(count).integers(1, 6, count))


def chances(
    ability: np.ndarray, picture: np.ndarray, rng: np.random.Generator, spread: float = 0.7
) -> np.ndarray:
    """(respondents, items): on the logit scale, how sure a respondent is of the right answer."""
    rows, count = len(ability), int(picture.max()) + 1
    item = 0.8 * rng.standard_normal(len(picture)) + 0.6 * rng.standard_normal(count)[picture]
    picture_effects = spread * rng.standard_normal((rows, count))[:, picture]
    return np.asarray(0.6 + 0.8 * ability[:, None] + item + picture_effects)


def answered(
    sure: np.ndarray, rng: np.random.Generator, calm: np.ndarray | float = 1.0
) -> np.ndarray:
    """(respondents, items): right or wrong, with a tenth of guesses."""
    chance = 0.1 * 0.5 + 0.9 / (1 + np.exp(-np.asarray(calm) * sure))
    return (rng.random(sure.shape) < chance).astype(float)


@cache
def items_of(key: tuple[int, ...], name: str) -> tuple[Item, ...]:
    return tuple(
        Item(f"{name}{i}", "Is there?", "yes_no", "yes", f"{name}{p}.png", cluster=f"{name}{p}")
        for i, p in enumerate(key)
    )


def matrix(right: np.ndarray, items: tuple[Item, ...], cell: Cell) -> ScoreMatrix:
    names = tuple(f"r{i}" for i in range(len(right)))
    tallies = {"tp": right, "fn": 1 - right, "fp": np.zeros_like(right), "tn": np.zeros_like(right)}
    states = np.zeros(right.shape, dtype=np.uint8)
    answers = str(hash((right.tobytes(), str(cell))))
    return ScoreMatrix(
        cell, names, items, right, tallies, states, np.full(right.shape, np.nan), {}, answers
    )


def measured(
    world: World, ability: np.ndarray, calm: np.ndarray, name: str, rng: np.random.Generator
) -> BenchmarkAudit:
    """What `hqm compare` reads of an audit: scores with intervals, the noise of a run, scores
    without each picture.
    """
    picture = pictures()
    items = items_of(tuple(picture.tolist()), name)
    sure = chances(ability, picture, rng)
    cells = [Cell(), Cell(run=1), *([Cell(form="parallel")] if world.forms else [])]
    matrices = []
    for cell in cells:
        worded = sure
        if cell.form != "original":
            worded = (
                sure
                - 0.2
                + 0.5 * rng.standard_normal(sure.shape[1])
                + 0.5 * rng.standard_normal(sure.shape)
            )
        matrices.append(matrix(answered(worded, rng, calm[:, None]), items, cell))
    retest_case = case("test_retest", "run", matrices[:2], ACCURACY, PROTOCOL, is_joint=True)
    records = [jackknife_record(retest_case)]
    if world.forms:
        forms_case = case("parallel_forms", "form", (matrices[0], matrices[2]), ACCURACY, PROTOCOL)
        records.append(jackknife_record(forms_case))
    study = rho_g(retest_case.item_scores, retest_case.clusters)
    noise = dict(zip(retest_case.respondents, study.sem.tolist(), strict=True))
    estimate = Estimate(
        "test_retest.rho_g",
        "accuracy",
        "run",
        str(cells[0]),
        str(cells[1]),
        study.rho.value,
        study.rho.status,
        n_respondents=world.respondents,
        n_items=len(items),
        detail={"by_respondent": noise},
    )
    rows = []
    for i, respondent in enumerate(retest_case.respondents):
        tallies = {key: values[i] for key, values in matrices[0].tallies.items()}
        span = jackknife_interval(tallies, matrices[0].clusters, ACCURACY, is_proportion=True)
        scores = {"accuracy": float(span.value)}
        rows.append(
            RespondentScores(
                respondent, scores, {"accuracy": [span.low, span.high]}, {}, {}, {}, {}, {}
            )
        )
    # what is written into a file is read back from it
    jackknife_json = json.loads(
        json.dumps(jackknife_rows([record for record in records if record is not None]))
    )
    return BenchmarkAudit(
        benchmark=name,
        title=name,
        version="1",
        task="yes_no",
        scoring="official",
        parser="",
        summary="",
        reference=str(cells[0]),
        n_items=len(items),
        images=PICTURES,
        metrics={"accuracy": {"about": "", "better": "higher"}},
        forms={},
        truth_yes={},
        cells=tuple(map(str, cells)),
        respondents=tuple(rows),
        all_estimates=(estimate,),
        coverage={},
        findings=(),
        left_out=jackknife_json,
    )


def audits_of(
    world: World, rng: np.random.Generator
) -> tuple[list[BenchmarkAudit], dict[str, str]]:
    """Audits of measures of one quality over the same respondents, and the respondents'
    families.
    """
    first = abilities(world, rng)
    calm = np.exp(0.3 * rng.standard_normal(world.respondents))
    audits = []
    for k in range(world.measures):
        ability = first
        if world.traits < 1 and k:
            ability = world.traits * first + math.sqrt(1 - world.traits**2) * abilities(world, rng)
        audits.append(measured(world, ability, calm, "abc"[k], rng))
    return audits, {f"r{i}": f"family{i // world.relatives}" for i in range(world.respondents)}


def adjusted_tests(
    audits: Sequence[BenchmarkAudit], families: Mapping[str, str], seed: int
) -> tuple[tuple[Difference, ...], tuple[WilliamsComparison, ...]]:
    """The tests of `compare_audits`, without what else it computes (`tests/test_compare_errors.py`
    holds them equal).
    """
    measures = measures_of(audits)
    names = list(measures[0].scores)
    related = [families[name] for name in names]
    effective = _effective(measures, names, related)
    length = min(m.items for m in measures)
    differences = tested_differences(measures, names, related, effective, length, seed)
    return adjust_differences(differences, williams_comparisons(measures, names, effective))


def alarms(world: World, replicates: int, rng: np.random.Generator) -> dict[str, float]:
    """The share of comparisons with a false alarm after the adjustment, and the size of the single
    tests.
    """
    family = 0
    counts = {"these": [0, 0], "others": [0, 0]}
    for _ in range(replicates):
        differences, goes_with = adjusted_tests(*audits_of(world, rng), int(rng.integers(2**31)))
        wrong = any(d.adjusted_others < 0.05 for d in differences) or any(
            c.adjusted < 0.05 for c in goes_with
        )
        if world.traits == 1:  # otherwise these respondents differ
            wrong = wrong or any(d.adjusted_these < 0.05 for d in differences)
        family += wrong
        for d in differences:
            for inference, test in (("these", d.these), ("others", d.others)):
                if math.isfinite(test.p):
                    counts[inference][0] += test.p < 0.05
                    counts[inference][1] += 1
    size = {
        inference: hits / tests if tests else math.nan
        for inference, (hits, tests) in counts.items()
    }
    fixed_size = size["these"] if world.traits == 1 else math.nan
    return {"family": family / replicates, "these": fixed_size, "others": size["others"]}


WORLDS = {
    "reruns": (
        *(World(n) for n in (5, 6, 10, 20, 40)),
        *(World(n, traits=0.7) for n in (10, 20, 40)),
    ),
    "forms": tuple(World(n, measures=3, forms=True) for n in (5, 6, 10, 20, 40)),
    "families": (
        World(20, relatives=4),
        World(40, relatives=4),
        World(40, relatives=4, traits=0.7),
    ),
}


# --- what an audit says of pairs of respondents ---


@cache
def quadrature() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss and Hermite; their computation takes longer than all else here."""
    return np.polynomial.hermite_e.hermegauss(41)


def expected(sure: float, spread: float = 0.7) -> float:
    """The expected share of right answers of a respondent of this ability over new pictures."""
    nodes, weights = quadrature()
    total = math.sqrt(0.8**2 + 0.6**2 + spread**2)
    return float(
        (
            weights
            / weights.sum()
            * (0.05 + 0.9 / (1 + np.exp(-(0.6 + 0.8 * sure + total * nodes))))
        ).sum()
    )


def ability_for(share: float, spread: float = 0.7) -> float:
    from scipy.optimize import brentq

    return float(brentq(lambda a: expected(a, spread) - share, -20, 20))


def audited(
    ability: Sequence[float], rng: np.random.Generator, count: int = 200, spread: float = 0.7
) -> Any:
    """The case of one administration."""
    picture = pictures(count)
    right = answered(chances(np.asarray(ability), picture, rng, spread), rng)
    score_matrix = matrix(right, items_of(tuple(picture.tolist()), "a"), Cell())
    return case("discriminability", "", (score_matrix,), ACCURACY, PROTOCOL)


def estimate(name: str, case: Any) -> Any:
    """The result of an indicator of discriminability."""
    indicator = indicator_named(f"discriminability.{name}")
    assert indicator is not None
    return indicator.compute(case)


def power(
    respondents: int, spread: float, replicates: int, rng: np.random.Generator
) -> tuple[float, float]:
    """How often the two smallest differences that one audit states are found by another: planned,
    and after Holm.
    """
    hits = [0, 0]
    for _ in range(replicates):
        ability = spread * rng.uniform(-1.7, 1.7, respondents)
        audited_case = audited(ability, rng)
        for k, name in enumerate(("minimum_difference", "minimum_difference_holm")):
            minimum = estimate(name, audited_case).coefficient.value
            a, b = rng.choice(respondents, 2, replace=False)
            middle = min((expected(ability[a]) + expected(ability[b])) / 2, 0.94 - minimum / 2)
            changed_ability = ability.copy()
            changed_ability[a], changed_ability[b] = (
                ability_for(middle + minimum / 2),
                ability_for(middle - minimum / 2),
            )
            replication = audited(changed_ability, rng)
            study = paired_differences(replication.item_scores[0], replication.clusters)
            hits[k] += (study.adjusted if k else study.p)[a][b] <= 0.05
    return hits[0] / replicates, hits[1] / replicates


def pair_statements(replicates: int, rng: np.random.Generator) -> dict[str, float]:
    """Of equal respondents: any pair called apart.

    Of graded ones: ranks and the lead, held against the truth.
    """
    alarms = ranks = lead = 0
    for _ in range(replicates):
        alarms += estimate("separable_pairs", audited([0.3] * 10, rng)).detail["apart"] > 0
        ability = rng.uniform(-1.7, 1.7, 10)
        audited_case = audited(ability, rng)
        spans = estimate("separable_pairs", audited_case).detail["ranks"]
        true = {f"r{i}": 1 + int((ability > ability[i]).sum()) for i in range(10)}
        ranks += all(low <= true[name] <= high for name, (low, high) in spans.items())
        ahead = estimate("lead", audited_case)
        best, second = (int(ahead.detail[key][1:]) for key in ("best", "second"))
        gap, span = expected(ability[best]) - expected(ability[second]), ahead.coefficient.fixed
        lead += span.low <= gap <= span.high
    return {"alarms": alarms / replicates, "ranks": ranks / replicates, "lead": lead / replicates}


def table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> None:
    print("\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def main() -> None:
    """Print the tables."""
    count, selected, began = (
        int(sys.argv[1]) if len(sys.argv) > 1 else 500,
        sys.argv[2:],
        time.time(),
    )

    def format_share(share: float) -> str:
        return "–" if math.isnan(share) else f"{share:.3f}"

    def error(share: float) -> str:
        return f"{math.sqrt(share * (1 - share) / count):.3f}"

    def false_alarms(worlds: Sequence[World]) -> Iterator[Sequence[str]]:
        for k, world in enumerate(worlds):
            rates = alarms(world, count, np.random.default_rng(k))
            groups = (
                f"{world.respondents // world.relatives} families"
                if world.relatives > 1
                else "independent"
            )
            equal = "these and others" if world.traits == 1 else "others"
            yield (
                str(world.respondents),
                groups,
                str(world.measures),
                equal,
                format_share(rates["family"]),
                error(rates["family"]),
                format_share(rates["these"]),
                format_share(rates["others"]),
            )

    def powers() -> Iterator[Sequence[str]]:
        for k, (n, spread) in enumerate((n, spread) for n in (6, 10, 20) for spread in (0.0, 0.5)):
            planned, holm = power(n, spread, count, np.random.default_rng(100 + k))
            yield (
                str(n),
                "graded" if spread else "equal",
                format_share(planned),
                format_share(holm),
                error(0.8),
            )

    def pairs() -> Iterator[Sequence[str]]:
        stated = pair_statements(count, np.random.default_rng(200))
        yield (
            "any of 45 pairs of equal respondents called apart",
            format_share(stated["alarms"]),
            error(stated["alarms"]),
        )
        yield (
            "all ten true ranks inside the ranks stated",
            format_share(stated["ranks"]),
            error(stated["ranks"]),
        )
        yield (
            "the lead's interval holds the true lead",
            format_share(stated["lead"]),
            error(stated["lead"]),
        )

    print(f"{count} replicates a row.")
    for name, worlds in WORLDS.items():
        if not selected or name in selected:
            head = (
                "respondents",
                "related",
                "measures",
                "equal for",
                "any false alarm",
                "error",
                "a test, these",
                "a test, others",
            )
            table((f"{name}: {head[0]}", *head[1:]), false_alarms(worlds))
    if not selected or "power" in selected:
        table(
            ("power: respondents", "abilities", "planned comparison", "any pair, Holm", "error"),
            powers(),
        )
    if not selected or "pairs" in selected:
        table(("pairs: statement", "measured", "error"), pairs())
    print(f"\n{time.time() - began:.0f} s on one core.")


if __name__ == "__main__":
    main()
