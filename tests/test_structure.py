"""What a total rests on: one thing or several, families treated alike, errors by score, and what
respondents have met before.
"""

from __future__ import annotations

import re
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hqm.reports.figures.drawings import DotRow, dots
from hqm.reports.tables.type_tables import structure_tables
from scipy import stats

import hqm
from hqm import psychometrics as psy
from hqm.commands.options import MaterialOptions
from hqm.errors import UsageError
from hqm.forms.grammar import AFFIRMATIONS, is_negated
from hqm.forms.make_forms import (
    MAX_WORDINGS,
    affirm,
    build_parallel,
    build_rewording,
    wordings_of,
)
from hqm.indicators import Case, compare_forms, describe, warn
from hqm.indicators.cases import case
from hqm.psychometrics.inference.discriminability import lord_error
from hqm.psychometrics.items.type_strengths import rasch_residuals, welch
from hqm.scoring.parsers import STRICT
from hqm.scoring.rules import score_yes_no
from hqm.types import Cell, Estimate, Form, Item, Response
from tests import test_flags as made
from tests.conftest import NIGHTLY, counts
from tests.messages import pattern_of
from tests.perf.structure import DESIGNS, Design, answers, functioning, strengths
from tests.test_gate import audit_of

GOOD = np.linspace(0.35, 0.75, 24)


def test_welchs_test_is_that_of_r_on_the_sleep_data() -> None:
    """R's `t.test(extra ~ group, data = sleep)`, as its documentation prints it."""
    first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    test, error = welch(first, second)
    assert (round(test.statistic, 4), round(test.df, 3), round(test.p, 5)) == (
        -1.8608,
        17.776,
        0.07939,
    )
    # its interval is -3.3654832 to 0.2054832
    half = (0.2054832 + 3.3654832) / 2
    from scipy.special import stdtrit

    assert stdtrit(test.df, 0.975) * error == pytest.approx(half, abs=5e-8)


def test_lords_error_of_a_score() -> None:
    """Lord's estimator x (k - x) / (k - 1) in items (Sage Encyclopedia of Educational Research,
    2018, "Conditional Standard Error of Measurement").
    """
    for right, items in ((25, 50), (40, 50), (18, 21)):
        variance = right * (items - right) / (items - 1)
        assert items * lord_error(right / items, items) == pytest.approx(variance**0.5)


def test_joint_difficulties_are_half_as_far_again_as_conditional_ones() -> None:
    """Of two items the joint estimates are twice the conditional log odds (Andersen 1973,
    Conditional inference and models for measuring, p. 66), here but for the prior.
    """
    pairs = [[1, 0]] * 300 + [[0, 1]] * 100 + [[1, 1]] * 100 + [[0, 0]] * 100
    first, second = rasch_residuals(np.array(pairs[:400], dtype=float)).difficulty
    assert second - first == pytest.approx(2 * np.log(3), rel=0.02)


def test_the_error_over_these_items_is_that_of_independent_answers() -> None:
    """A matrix drawn again and again from the fitted model has this spread."""
    rng = np.random.default_rng(2)
    scores = (rng.random((30, 60)) < np.linspace(0.2, 0.95, 60)).astype(float)
    study = psy.conditional_errors(scores, points=[0.6])
    fitted = rasch_residuals(scores)
    ability = np.interp(
        0.6, *zip(*((_mean(a, fitted.difficulty), a) for a in np.linspace(-3, 3, 601)), strict=True)
    )
    p = 1 / (1 + np.exp(fitted.difficulty - ability))
    simulated = (rng.random((20000, 60)) < p).mean(axis=1)
    assert study.these_items[0] == pytest.approx(simulated.std(), rel=0.03)
    assert study.these_items[0] < study.other_items[0] == pytest.approx(float(lord_error(0.6, 60)))


def _mean(ability: float, difficulty: np.ndarray) -> float:
    return float((1 / (1 + np.exp(difficulty - ability))).mean())


def test_pictures_widen_the_error_over_other_items() -> None:
    rng = np.random.default_rng(3)
    pictures = np.repeat(np.arange(50), 4)
    alike = np.repeat((rng.random((12, 50)) < 0.7).astype(float), 4, axis=1)
    independent, shared = (psy.conditional_errors(alike, c).other_items for c in (None, pictures))
    assert shared[5] == pytest.approx(2 * independent[5], rel=0.05)


@pytest.fixture(scope="module")
def verbal() -> np.ndarray:
    """Verbal aggression (Vansteelandt 2000): 316 people, 24 items (12 of what one wants to do, 12
    of what one does) and, last, whether it is a man. The data `verbal` of R's difR 5.1, `VerbAgg` of
    lme4.
    """
    lines = (Path(__file__).parent / "tables" / "verbal_aggression.txt").read_text().split()
    return np.array([[int(digit) for digit in line] for line in lines], dtype=float)


WANT_OR_DO = ["want"] * 12 + ["do"] * 12


def test_two_types_correlate_as_lme4_finds(verbal: np.ndarray) -> None:
    """R's lme4 1.1-31, glmer(r2 ~ -1 + item + (mode - 1 | id), VerbAgg, binomial): standard
    deviations 1.435 and 1.662, correlation .785; against one ability chi-squared is 85.
    """
    want, do, r = 1.4346, 1.6621, 0.785
    own_sd = ((want**2 + do**2) / 2 - r * want * do) ** 0.5
    study = psy.dimensionality(verbal[:, :24], WANT_OR_DO, rng=np.random.default_rng(0))
    assert study.type_sd == pytest.approx(own_sd, rel=0.1)
    assert study.shared == pytest.approx(r, abs=0.05)
    assert study.p == 0.001
    assert study.n == 307  # four never agree, five always


def test_difficulty_for_groups_is_that_of_difr(verbal: np.ndarray) -> None:
    """alphaMH as `difMH(verbal, group = 25, focal.name = 1)` prints it in difR's help page."""
    odds = "1.7005 1.7702 1.4481 1.9395 1.9799 2.8804 .9439 .7194 1.5281 1.6849 1.0901 2.3458"
    odds += " .7967 .4995 1.1765 .3209 .3746 .7931 .4616 .4727 .6373 .6444 .6385 1.6053"
    published = np.log([float(value) for value in odds.split()])
    scores, women = verbal[:, :24], ["w" if man == 0 else "m" for man in verbal[:, 24]]

    def logits(parts: list[str]) -> dict[str, float]:
        rows = psy.differential_functioning(scores, parts, women).rows
        return {row.part: row.logits if row.group == "w" else -row.logits for row in rows}

    modes = logits(WANT_OR_DO)
    assert modes["want"] == pytest.approx(published[:12].mean() - published[12:].mean(), abs=0.05)
    assert modes["do"] == pytest.approx(-modes["want"])
    single = logits([f"{item:02}" for item in range(24)])
    # to a rare item, a man's or a woman's answer is worth several logits
    common = np.flatnonzero((scores.mean(axis=0) > 0.15) & (scores.mean(axis=0) < 0.85))
    ours = np.array([single[f"{item:02}"] for item in common])
    assert len(common) == 23
    assert np.corrcoef(ours, published[common])[0, 1] > 0.9
    assert np.abs(ours - published[common]).mean() < 0.25


def test_errors_by_score_are_those_of_erm(verbal: np.ndarray) -> None:
    """R's eRm 1.0-2, `person.parameter(RM(verbal[, 1:24]))`: standard errors of abilities, whose
    inverses are the errors of raw scores.
    """
    errors = {1: 1.0392867, 6: 0.5107241, 12: 0.4605842, 18: 0.5314960, 23: 1.0703526}
    study = psy.conditional_errors(verbal[:, :24], points=[right / 24 for right in errors])
    assert [24 * error for error in study.these_items] == pytest.approx(
        [1 / error for error in errors.values()], rel=0.01
    )


def test_who_is_always_right_hides_nothing() -> None:
    rng = np.random.default_rng(11)
    scores, types = answers(Design(12, type_sd=0.8), rng)
    scores[0] = 1
    study = psy.dimensionality(scores, types, rng=rng, permutations=99)
    assert (study.n, study.p) == (11, 0.01)
    assert study.visible < 0.6
    groups = ["a"] * 6 + ["b"] * 6
    rows = psy.differential_functioning(scores, types, groups).rows
    assert {row.members for row in rows} == {5}
    assert max(abs(row.logits) for row in rows) < 3


@pytest.mark.parametrize("design", DESIGNS[:3], ids=lambda design: f"{design.respondents}")
def test_types_are_one_thing_where_they_are(design: Design) -> None:
    """The test's size, and its power where the study says it has some."""
    rng, repeats = np.random.default_rng(4), counts(300)
    share, _ = strengths(replace(design, type_sd=0.0), repeats, rng)
    assert share <= 0.05 + 3 * (0.05 * 0.95 / repeats) ** 0.5
    visible_sd = psy.dimensionality(*answers(design, rng), rng=rng, permutations=99).visible
    share, type_sd = strengths(replace(design, type_sd=2 * visible_sd), repeats, rng)
    assert share >= 0.8 - 3 * (0.8 * 0.2 / repeats) ** 0.5
    assert type_sd == pytest.approx(2 * visible_sd, rel=0.35)


def test_families_are_tested_from_ten_against_ten() -> None:
    rng, repeats = np.random.default_rng(5), counts(300)
    size, _ = functioning(Design(20), 0.0, repeats, rng)
    power, logits = functioning(Design(20), 1.0, repeats, rng)
    assert size <= 0.05 + 3 * (0.05 * 0.95 / repeats) ** 0.5
    assert power >= 0.8
    assert logits == pytest.approx(1, abs=0.25)
    small_study = psy.differential_functioning(*answers(Design(10), rng), ["a"] * 5 + ["b"] * 5)
    assert small_study.rows
    assert not small_study.tested
    assert not small_study.favours


def test_what_cannot_be_seen_is_refused() -> None:
    rng = np.random.default_rng(6)
    scores, types = answers(Design(4), rng)
    assert psy.dimensionality(scores, types, rng=rng).status == "insufficient"
    assert psy.differential_functioning(scores, types, list("aabb")).status == "insufficient"
    assert psy.conditional_errors(scores[:2]).status == "insufficient"
    large_scores = np.random.default_rng(0).random((12, 20_000)) < 0.6
    tracemalloc.start()
    assert psy.conditional_errors(large_scores).status == "ok"
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6, "a million answers are audited in a gigabyte"
    assert psy.conditional_errors(np.ones((4, 30))).status == "degenerate"
    first = made.matrix(made.answers(np.linspace(0.4, 0.6, 6), 60, rng))
    (own_strengths,) = [e for e in described(first) if e.indicator == "consistency.own_strengths"]
    assert own_strengths.status == "not_informative"
    assert re.search(pattern_of("strengths.missed"), own_strengths.reason)


def described(first: made.ScoreMatrix, **settings: object) -> list[Estimate]:
    form = Form("original", first.items)
    return list(describe(first, made.ACCURACY, made.PROTOCOL, form, (), **settings))


def flags_of(estimates: list[Estimate], first: made.ScoreMatrix) -> dict[str, str]:
    single_case: Case = case("", "", (first,), made.ACCURACY, made.PROTOCOL)
    return {warned.flag: warned.sentence for warned in warn(single_case, estimates)}


def by_type(design: Design, rng: np.random.Generator, favoured: float = 0.0) -> made.ScoreMatrix:
    scores, types = answers(design, rng, favoured)
    items = [
        replace(item, type=str(kind))
        for item, kind in zip(made.items(len(types)), types, strict=True)
    ]
    return made.matrix(scores.astype(int), of=items)


def test_a_flag_names_a_total_that_is_not_one_thing() -> None:
    rng = np.random.default_rng(7)
    distinct = by_type(Design(20, type_sd=1.5), rng)
    assert "NOT_ONE_THING" in flags_of(described(distinct), distinct)
    # as much of its own as is common, within what ten models can show
    even = answers(Design(10, type_sd=0.7), rng)
    assert not psy.dimensionality(*even, rng=rng, permutations=99).mostly_own
    uniform = by_type(Design(20), rng)
    assert "NOT_ONE_THING" not in flags_of(described(uniform), uniform)


def test_a_flag_names_a_type_that_favours_a_family() -> None:
    rng, families = np.random.default_rng(8), ["near"] * 12 + ["far"] * 12
    first = by_type(Design(24), rng, favoured=1.5)
    flags = flags_of(described(first, families=families), first)
    assert "0: " in flags["FAVOURS_FAMILY"]
    assert "FAVOURS_FAMILY" not in flags_of(described(by_type(Design(24), rng)), first)


def test_who_gains_more_than_the_others_on_the_released_wording_is_named() -> None:
    rng = np.random.default_rng(9)
    right = made.answers(GOOD, 400, rng)
    first = right.copy()
    reworded = [made.answers(GOOD, 400, rng) for _ in range(2)]
    first[3] = (rng.random(400) < 0.9).astype(int)  # the fourth has learnt the released ones
    forms = [
        made.matrix(right, Cell(form=name))
        for right, name in zip((first, *reworded), ("original", "b", "c"), strict=True)
    ]
    estimates = compare_forms(forms, made.ACCURACY, made.PROTOCOL)
    name = forms[0].respondents[3]
    sentence = flags_of(estimates, forms[0])["REMEMBERED"]
    assert name in sentence
    (advantage,) = [e for e in estimates if e.indicator.endswith("released_advantage")]
    assert advantage.detail["remembered"] == [name]
    remembered = advantage.detail["by_respondent"][name]
    assert remembered["low"] < remembered["own"] < remembered["high"]
    # a wording that is harder for all is no memory
    harder = [
        made.matrix(right, Cell()),
        made.matrix(right * (rng.random(400) < 0.8), forms[1].cell),
    ]
    assert "REMEMBERED" not in flags_of(
        compare_forms(harder, made.ACCURACY, made.PROTOCOL), harder[0]
    )


def test_who_lies_off_the_line_is_that_of_statsmodels() -> None:
    from statsmodels.api import OLS, add_constant

    rng = np.random.default_rng(12)
    parallel = rng.uniform(0.4, 0.9, 12)
    first = 0.2 + 0.8 * parallel + rng.normal(0, 0.02, 12)
    left = (np.tile(first, (3, 1)).T, np.tile(parallel, (3, 1)).T)
    table = OLS(first, add_constant(parallel)).fit().get_influence()
    t = table.resid_studentized_external
    study = psy.advantages(first, parallel, left)
    p = [2 * stats.t.sf(abs(value), 12 - 3) for value in t]
    assert study.p == pytest.approx(psy.holm(p))
    assert study.excess == pytest.approx(table.resid_press)


def test_older_items_are_compared_with_newer_ones() -> None:
    rng = np.random.default_rng(10)
    right = made.answers(GOOD, 400, rng)
    right[5, :200] = 1
    items = [
        replace(item, meta={"added": "2023-05" if i < 200 else "2025-01"})
        for i, item in enumerate(made.items(400))
    ]
    first = made.matrix(right, of=items)
    (age,) = [e for e in described(first) if e.indicator == "items.older_advantage"]
    scores = right.astype(float)
    assert age.value == pytest.approx((scores[:, :200] - scores[:, 200:]).mean())
    assert age.detail["remembered"] == [first.respondents[5]]
    older = np.arange(400) < 200
    assert psy.older_advantages(scores, older).by_respondent[5].value == pytest.approx(
        age.detail["by_respondent"][first.respondents[5]]["own"]
    )
    undated = described(made.matrix(right))
    assert not [e for e in undated if e.indicator == "items.older_advantage"]


@pytest.mark.parametrize("name", ["shapes_yesno", "shapes_choice", "shapes_vqa", "shapes_caption"])
def test_rules_make_five_rewordings_that_differ_and_keep_the_right_answer(name: str) -> None:
    """Nightly of all items, in every other run of every seventh, of each type and rule."""
    benchmark = hqm.load(name)
    original = replace(benchmark.original, items=benchmark.original.items[:: 1 if NIGHTLY else 7])
    names = wordings_of(original.tasks, 5)
    made = [benchmark.parallel(original)]
    while made[-1].name != names[-1]:
        made.append(benchmark.rewording(original, len(made) + 1, tuple(made)))
    form_by_name = {form.name: form for form in (original, *made)}
    forms = [form_by_name[name] for name in names]
    assert {item.type for item in original.items} == {*benchmark.card.types}
    for item in original.items:
        variants = [form.by_id[item.id] for form in forms]
        words = [re.sub("image|photo", "picture", variant.prompt.lower()) for variant in variants]
        assert (
            len({(wording, item.options) for wording, item in zip(words, variants, strict=True)})
            == 6
        )
        keys = {
            variant.options["ABCD".index(str(variant.target))]
            if variant.options
            else str(variant.target)
            for variant in variants
        }
        assert len(keys) == 1


@pytest.mark.parametrize(
    ("question", "draw", "expected"),
    [
        ("Is the star blue?", 3, "The star is blue. Is that right?"),
        ("Is the star blue?", 5, "Somebody says that the star is blue. Is that so?"),
        ("In 2020, did Japan lead?", 4, "In 2020, Japan led. Do you agree?"),
        ("Is it red? Yes or No", 3, "It is red. Is that right? Yes or No"),
        (
            "Is there any milk?",
            3,
            'The answer is "yes" to "Is there any milk?" Is that right?',
        ),
    ],
)
def test_statements_are_laid_before_the_respondent(question: str, draw: int, expected: str) -> None:
    assert affirm(question, draw).prompt == expected


@pytest.mark.parametrize("prompt", ["Is there a dog in the image?", "Are there any dogs?"])
def test_a_wording_is_read_as_negated_where_its_answer_is_turned(prompt: str) -> None:
    item = Item("1", prompt, "yes_no", "yes")
    form = Form("original", (item,))
    variants = [build_parallel(form)]
    while len(variants) < MAX_WORDINGS:
        variants.append(build_rewording(form, len(variants) + 1, variants))
    worded = [variant.items[0] for variant in variants if variant.items]
    affirmed = [item for item in worded if not is_negated(item)]
    assert {item.rule.rpartition("_")[2].rpartition(".")[2] for item in affirmed} <= {*AFFIRMATIONS}
    assert [item.target for item in worded] == [
        "no" if is_negated(item) else "yes" for item in worded
    ]
    for item in affirmed:
        # the statement of an answer is that of the question, and not its opposite
        said = score_yes_no(item, Response("Yes, there is a dog."), STRICT, is_negated(item))
        assert said.read in ("yes", ""), item.prompt


def test_every_affirmation_has_a_name_that_readers_know() -> None:
    rules = [affirm("Is there a dog?", draw).rule for draw in range(len(AFFIRMATIONS))]
    assert rules == [f"polar.{name}" for name in AFFIRMATIONS]


def test_two_options_have_their_question_reworded_where_orders_end() -> None:
    item = Item("1", "What color is it?", "choice", "A", options=("red", "blue"))
    form = Form("original", (item,))
    variants = [build_parallel(form)]
    for draw in (2, 3):
        variants.append(build_rewording(form, draw, variants))
    assert [variant.items[0].prompt for variant in variants[1:]] == [
        "Which color does it have?",
        "Could you tell me what color it is?",
    ]
    assert variants[0].items[0].options == ("blue", "red")


def test_more_rewordings_than_rules_make_are_refused() -> None:
    with pytest.raises(UsageError, match=pattern_of("form.rewordings", most=7, number=8)):
        wordings_of(["yes_no"], 8)
    # short answers and choices in one benchmark: `parallel` is another order of options alone
    assert wordings_of(["vqa", "choice"], 2) == ("original", "parallel2", "parallel3")
    assert len(MaterialOptions(forms=("7",)).form_names(["yes_no"])) == 8
    assert MaterialOptions(forms=("original", "parallel3")).form_names(["vqa"]) == (
        "original",
        "parallel3",
    )


def test_every_question_has_a_figure_with_each_of_its_numbers() -> None:
    rng = np.random.default_rng(13)
    first = by_type(Design(24), rng, favoured=1.5)
    parallel = [by_type(Design(24), rng) for _ in range(2)]
    forms = [
        first,
        *(replace(form, cell=Cell(form=name)) for form, name in zip(parallel, "bc", strict=True)),
    ]
    estimates = described(first, families=["near"] * 12 + ["far"] * 12)
    estimates += compare_forms(forms, made.ACCURACY, made.PROTOCOL)
    tables, figures = structure_tables(audit_of(*estimates).audits[0])
    titles = [table.caption for table in tables]
    svg_by_title = dict(zip(titles, (figure.svg for figure in figures), strict=True))
    assert len(titles) == 5  # one thing, types and keys of families, where, the released wording
    for table in tables:
        svg = svg_by_title[table.caption]
        if table.caption == "Where does it measure?":
            assert "at 0.98" in svg
            continue
        assert svg.count("<circle") == len(table.rows)
        for row in table.rows:
            assert row[-1].text in svg or row[0].text in svg


def test_more_than_two_wordings_share_one_figure() -> None:
    svg = dots([DotRow("original", (0.5, 0.75)), DotRow("b", (0.6,))], "accuracy", "two wordings")
    assert svg.count("<circle") == 3
    assert "original: 0.500, 0.750; b: 0.600" in svg
    assert ">0.0<" not in svg, "several numbers a row are scores, whose axis need not begin at 0"
